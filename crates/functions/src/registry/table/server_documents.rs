//! Functions of JSON documents and geometries, which linked servers compute.

use crate::registry::function::{Function, elsewhere};

/// The rows.
pub(super) static ROWS: &[Function] = &[
    elsewhere(&["JSON_ARRAY"])
        .own_nulls()
        .says("JSON_ARRAY([value, ...])", "A JSON array of the values; NULL becomes JSON null.")
        .gives("JSON_ARRAY(1, 'a', NULL)", "[1, \"a\", null]"),
    elsewhere(&["JSON_ARRAY_APPEND"])
        .own_nulls()
        .says(
            "JSON_ARRAY_APPEND(document, path, value[, path, value] ...)",
            "The document with each value added at the end of the array at its path; a \
             scalar there becomes an array first.",
        )
        .gives("JSON_ARRAY_APPEND('[1, 2]', '$', 3)", "[1, 2, 3]"),
    elsewhere(&["JSON_ARRAY_INSERT"])
        .own_nulls()
        .says(
            "JSON_ARRAY_INSERT(document, path, value[, path, value] ...)",
            "The document with each value inserted before the array element at its path; \
             later elements move on.",
        )
        .gives("JSON_ARRAY_INSERT('[1, 3]', '$[1]', 2)", "[1, 2, 3]"),
    elsewhere(&["JSON_CONTAINS"])
        .says(
            "JSON_CONTAINS(document, candidate[, path])",
            "1 if the document, or the part at the path, contains the candidate, otherwise \
             0; NULL if the path does not exist.",
        )
        .gives("JSON_CONTAINS('[1, 2, 3]', '2')", "1"),
    elsewhere(&["JSON_CONTAINS_PATH"])
        .own_nulls()
        .says(
            "JSON_CONTAINS_PATH(document, 'one' | 'all', path, ...)",
            "1 if the document has one of the paths or all of them, otherwise 0.",
        )
        .gives("JSON_CONTAINS_PATH('{\"a\": 1}', 'one', '$.a', '$.b')", "1"),
    elsewhere(&["JSON_DEPTH"])
        .says(
            "JSON_DEPTH(document)",
            "The depth of the document: 1 for a scalar or an empty array or object, one \
             more for each level.",
        )
        .gives("JSON_DEPTH('[1, [2]]')", "3"),
    elsewhere(&["JSON_EXTRACT"])
        .says(
            "JSON_EXTRACT(document, path, ...)",
            "The part of the document at the path; an array of the parts found with several \
             paths or wildcards, NULL if nothing is found.",
        )
        .gives("JSON_EXTRACT('{\"a\": [10, 20]}', '$.a[1]')", "20"),
    elsewhere(&["JSON_INSERT"])
        .own_nulls()
        .says(
            "JSON_INSERT(document, path, value[, path, value] ...)",
            "The document with each value added at its path; paths that exist are left \
             unchanged.",
        )
        .gives("JSON_INSERT('{\"a\": 1}', '$.a', 2, '$.b', 3)", "{\"a\": 1, \"b\": 3}"),
    elsewhere(&["JSON_KEYS"])
        .says(
            "JSON_KEYS(document[, path])",
            "The keys of the object, or of the one at the path, as a JSON array; NULL if \
             there is no object.",
        )
        .gives("JSON_KEYS('{\"a\": 1, \"b\": 2}')", "[\"a\", \"b\"]"),
    elsewhere(&["JSON_LENGTH"])
        .says(
            "JSON_LENGTH(document[, path])",
            "The number of elements of the array or members of the object, or of the one at \
             the path; 1 for a scalar.",
        )
        .gives("JSON_LENGTH('[1, 2, [3, 4]]')", "3"),
    elsewhere(&["JSON_MERGE"])
        .says(
            "JSON_MERGE(document, document, ...)",
            "The documents merged as by JSON_MERGE_PRESERVE; the name is deprecated.",
        )
        .gives("JSON_MERGE('[1]', '[2]')", "[1, 2]"),
    elsewhere(&["JSON_MERGE_PATCH"])
        .says(
            "JSON_MERGE_PATCH(document, document, ...)",
            "The documents merged by RFC 7396: later members replace earlier ones of the \
             same key, and JSON null removes them.",
        )
        .gives("JSON_MERGE_PATCH('{\"a\": 1, \"b\": 2}', '{\"a\": 3, \"b\": null}')", "{\"a\": 3}"),
    elsewhere(&["JSON_MERGE_PRESERVE"])
        .says(
            "JSON_MERGE_PRESERVE(document, document, ...)",
            "The documents merged without loss: arrays are joined, and the values of equal \
             keys are collected in arrays.",
        )
        .gives("JSON_MERGE_PRESERVE('{\"a\": 1}', '{\"a\": 3}')", "{\"a\": [1, 3]}"),
    elsewhere(&["JSON_OBJECT"])
        .own_nulls()
        .says(
            "JSON_OBJECT([key, value[, key, value] ...])",
            "A JSON object of the keys and values; a NULL key is an error, a NULL value \
             becomes JSON null.",
        )
        .gives("JSON_OBJECT('a', 1, 'b', NULL)", "{\"a\": 1, \"b\": null}"),
    elsewhere(&["JSON_OVERLAPS"])
        .says(
            "JSON_OVERLAPS(document, other)",
            "1 if the documents have an array element or an object member in common, \
             otherwise 0.",
        )
        .gives("JSON_OVERLAPS('[1, 2]', '[2, 3]')", "1"),
    elsewhere(&["JSON_PRETTY"])
        .says("JSON_PRETTY(document)", "The document as a text with line breaks and indentation.")
        .gives("JSON_PRETTY('[]')", "[]"),
    elsewhere(&["JSON_QUOTE"])
        .says(
            "JSON_QUOTE(text)",
            "The text as a JSON string: in double quotes, with special characters escaped.",
        )
        .gives("JSON_QUOTE('say \"a\"')", "\"say \\\"a\\\"\""),
    elsewhere(&["JSON_REMOVE"])
        .says(
            "JSON_REMOVE(document, path, ...)",
            "The document without the parts at the paths; paths that do not exist are \
             ignored.",
        )
        .gives("JSON_REMOVE('[1, 2, 3]', '$[1]')", "[1, 3]"),
    elsewhere(&["JSON_REPLACE"])
        .own_nulls()
        .says(
            "JSON_REPLACE(document, path, value[, path, value] ...)",
            "The document with the value at each path replaced; paths that do not exist are \
             ignored.",
        )
        .gives("JSON_REPLACE('{\"a\": 1}', '$.a', 2, '$.b', 3)", "{\"a\": 2}"),
    elsewhere(&["JSON_SCHEMA_VALID"])
        .says(
            "JSON_SCHEMA_VALID(schema, document)",
            "1 if the document conforms to the JSON schema (draft 4), otherwise 0.",
        )
        .gives("JSON_SCHEMA_VALID('{\"type\": \"object\"}', '{\"a\": 1}')", "1"),
    elsewhere(&["JSON_SCHEMA_VALIDATION_REPORT"])
        .says(
            "JSON_SCHEMA_VALIDATION_REPORT(schema, document)",
            "A JSON object that says whether the document conforms to the JSON schema and, \
             if not, why and where.",
        )
        .gives(
            "JSON_SCHEMA_VALIDATION_REPORT('{\"type\": \"object\"}', '{\"a\": 1}')",
            "{\"valid\": true}",
        ),
    elsewhere(&["JSON_SEARCH"])
        .says(
            "JSON_SEARCH(document, 'one' | 'all', pattern[, escape[, path, ...]])",
            "The path of the first string that matches the LIKE pattern, or an array of all \
             such paths; NULL if no string matches.",
        )
        .gives("JSON_SEARCH('[\"abc\", \"xyz\"]', 'one', 'x%')", "\"$[1]\""),
    elsewhere(&["JSON_SET"])
        .own_nulls()
        .says(
            "JSON_SET(document, path, value[, path, value] ...)",
            "The document with the value at each path replaced, or added if the path does \
             not exist.",
        )
        .gives("JSON_SET('{\"a\": 1}', '$.a', 2, '$.b', 3)", "{\"a\": 2, \"b\": 3}"),
    elsewhere(&["JSON_STORAGE_FREE"])
        .says(
            "JSON_STORAGE_FREE(document)",
            "The bytes that in-place updates have left unused in a JSON column's value; 0 \
             for any other document.",
        )
        .gives("JSON_STORAGE_FREE('[1, 2]')", "0"),
    elsewhere(&["JSON_STORAGE_SIZE"])
        .says(
            "JSON_STORAGE_SIZE(document)",
            "The size in bytes of the document in the server's binary format.",
        )
        .gives("JSON_STORAGE_SIZE('[1, 2]')", "11"),
    elsewhere(&["JSON_TYPE"])
        .says(
            "JSON_TYPE(document)",
            "The type of the document as a word such as OBJECT, ARRAY, INTEGER, DOUBLE, \
             STRING, BOOLEAN or NULL.",
        )
        .gives("JSON_TYPE('[1]')", "ARRAY"),
    elsewhere(&["JSON_UNQUOTE"])
        .says(
            "JSON_UNQUOTE(document)",
            "The text of a JSON string without its quotes and escapes; any other document \
             as a text.",
        )
        .gives("JSON_UNQUOTE('\"abc\"')", "abc"),
    elsewhere(&["JSON_VALID"])
        .says("JSON_VALID(value)", "1 if the value is valid JSON, otherwise 0; NULL for NULL.")
        .gives("JSON_VALID('{\"a\": }')", "0"),
    elsewhere(&["JSON_VALUE"])
        .says(
            "JSON_VALUE(document, path [RETURNING type] [on_empty] [on_error])",
            "The part of the document at the path as a VARCHAR(512) or the type; by default \
             NULL if there is none or its conversion fails.",
        )
        .gives("JSON_VALUE('{\"a\": \"2.5\"}', '$.a' RETURNING DECIMAL(4,2))", "2.50"),
    elsewhere(&["ST_AREA"])
        .says(
            "ST_AREA(polygon)",
            "The area of the polygon or polygons, in square metres with a geographic \
             reference system; error 3516 for points and lines.",
        )
        .gives("ST_AREA(ST_GEOMFROMTEXT('POLYGON((0 0,2 0,2 2,0 2,0 0))'))", "4"),
    elsewhere(&["ST_ASBINARY", "ST_ASWKB"])
        .says(
            "ST_ASBINARY(geometry[, options])",
            "The geometry in well-known binary format (WKB), as a binary string.",
        )
        .gives(
            "HEX(ST_ASBINARY(ST_GEOMFROMTEXT('POINT(1 2)')))",
            "0101000000000000000000F03F0000000000000040",
        ),
    elsewhere(&["ST_ASGEOJSON"])
        .says(
            "ST_ASGEOJSON(geometry[, digits[, options]])",
            "The geometry as a GeoJSON document, with coordinates of at most digits decimals.",
        )
        .gives(
            "ST_ASGEOJSON(ST_GEOMFROMTEXT('POINT(1 2)'))",
            "{\"type\": \"Point\", \"coordinates\": [1.0, 2.0]}",
        ),
    elsewhere(&["ST_ASTEXT", "ST_ASWKT"])
        .says("ST_ASTEXT(geometry[, options])", "The geometry in well-known text format (WKT).")
        .gives("ST_ASTEXT(POINT(1, 2))", "POINT(1 2)"),
    elsewhere(&["ST_BUFFER"])
        .says(
            "ST_BUFFER(geometry, distance[, strategy, ...])",
            "The area of all points within the distance of the geometry; strategies decide \
             the shapes of its ends and corners.",
        )
        .gives("ST_ISEMPTY(ST_BUFFER(ST_GEOMFROMTEXT('POINT(0 0)'), 1))", "0"),
    elsewhere(&["ST_CENTROID"])
        .says(
            "ST_CENTROID(geometry)",
            "The centre of mass of the geometry as a point; only its parts of the highest \
             dimension count.",
        )
        .gives(
            "ST_ASTEXT(ST_CENTROID(ST_GEOMFROMTEXT('POLYGON((0 0,2 0,2 2,0 2,0 0))')))",
            "POINT(1 1)",
        ),
    elsewhere(&["ST_CONTAINS"])
        .says(
            "ST_CONTAINS(geometry, other)",
            "1 if the geometry contains the other completely and their interiors meet, \
             otherwise 0.",
        )
        .gives(
            "ST_CONTAINS(ST_GEOMFROMTEXT('POLYGON((0 0,2 0,2 2,0 2,0 0))'), \
             ST_GEOMFROMTEXT('POINT(1 1)'))",
            "1",
        ),
    elsewhere(&["ST_CONVEXHULL"])
        .says("ST_CONVEXHULL(geometry)", "The smallest convex geometry that contains the geometry.")
        .gives(
            "ST_ASTEXT(ST_CONVEXHULL(ST_GEOMFROMTEXT('MULTIPOINT(0 0,2 0,2 2,0 2,1 1)')))",
            "POLYGON((0 0,2 0,2 2,0 2,0 0))",
        ),
    elsewhere(&["ST_CROSSES"])
        .says(
            "ST_CROSSES(geometry, other)",
            "1 if a line crosses another in points or an area's edge, otherwise 0; NULL if \
             the first is an area or the other a point.",
        )
        .gives(
            "ST_CROSSES(ST_GEOMFROMTEXT('LINESTRING(0 0,2 2)'), \
             ST_GEOMFROMTEXT('LINESTRING(0 2,2 0)'))",
            "1",
        ),
    elsewhere(&["ST_DIFFERENCE"])
        .says(
            "ST_DIFFERENCE(geometry, other)",
            "The points of the geometry that are not in the other, as a geometry.",
        )
        .gives(
            "ST_ASTEXT(ST_DIFFERENCE(ST_GEOMFROMTEXT('LINESTRING(0 0,4 0)'), \
             ST_GEOMFROMTEXT('LINESTRING(2 0,4 0)')))",
            "LINESTRING(0 0,2 0)",
        ),
    elsewhere(&["ST_DIMENSION"])
        .says(
            "ST_DIMENSION(geometry)",
            "The dimension of the geometry: 0 for points, 1 for lines, 2 for areas; NULL \
             for an empty geometry.",
        )
        .gives("ST_DIMENSION(ST_GEOMFROMTEXT('POLYGON((0 0,2 0,2 2,0 2,0 0))'))", "2"),
    elsewhere(&["ST_DISJOINT"])
        .says(
            "ST_DISJOINT(geometry, other)",
            "1 if the geometries have no point in common, otherwise 0.",
        )
        .gives(
            "ST_DISJOINT(ST_GEOMFROMTEXT('POLYGON((0 0,2 0,2 2,0 2,0 0))'), \
             ST_GEOMFROMTEXT('POINT(5 5)'))",
            "1",
        ),
    elsewhere(&["ST_DISTANCE"])
        .says(
            "ST_DISTANCE(geometry, other[, unit])",
            "The shortest distance between the geometries; in metres, or the unit such as \
             'foot', with a geographic reference system.",
        )
        .gives("ST_DISTANCE(ST_GEOMFROMTEXT('POINT(0 0)'), ST_GEOMFROMTEXT('POINT(3 4)'))", "5"),
    elsewhere(&["ST_DISTANCE_SPHERE"])
        .says(
            "ST_DISTANCE_SPHERE(geometry, other[, radius])",
            "The shortest distance in metres between points on a sphere with the Earth's \
             radius, or the given one.",
        )
        .gives(
            "ROUND(ST_DISTANCE_SPHERE(ST_GEOMFROMTEXT('POINT(0 0)'), \
             ST_GEOMFROMTEXT('POINT(0 1)')))",
            "111195",
        ),
    elsewhere(&["ST_ENDPOINT"])
        .says("ST_ENDPOINT(line)", "The last point of the line; NULL for any other geometry.")
        .gives("ST_ASTEXT(ST_ENDPOINT(ST_GEOMFROMTEXT('LINESTRING(0 0,1 2)')))", "POINT(1 2)"),
    elsewhere(&["ST_ENVELOPE"])
        .says(
            "ST_ENVELOPE(geometry)",
            "The smallest rectangle along the axes that contains the geometry.",
        )
        .gives(
            "ST_ASTEXT(ST_ENVELOPE(ST_GEOMFROMTEXT('LINESTRING(0 0,1 2)')))",
            "POLYGON((0 0,1 0,1 2,0 2,0 0))",
        ),
    elsewhere(&["ST_EQUALS"])
        .says(
            "ST_EQUALS(geometry, other)",
            "1 if both geometries have the same points, in whatever order they are written; \
             otherwise 0.",
        )
        .gives(
            "ST_EQUALS(ST_GEOMFROMTEXT('LINESTRING(0 0,1 2)'), \
             ST_GEOMFROMTEXT('LINESTRING(1 2,0 0)'))",
            "1",
        ),
    elsewhere(&["ST_EXTERIORRING"])
        .says(
            "ST_EXTERIORRING(polygon)",
            "The outer ring of the polygon as a line; NULL for any other geometry.",
        )
        .gives(
            "ST_ASTEXT(ST_EXTERIORRING(ST_GEOMFROMTEXT('POLYGON((0 0,2 0,2 2,0 2,0 0))')))",
            "LINESTRING(0 0,2 0,2 2,0 2,0 0)",
        ),
    elsewhere(&["ST_GEOHASH"])
        .says(
            "ST_GEOHASH(longitude, latitude, length)",
            "The geohash of the position, of at most length characters (1 to 100); a point \
             can stand for both degrees.",
        )
        .gives("ST_GEOHASH(13.4, 52.5, 6)", "u33d8v"),
    elsewhere(&["ST_GEOMCOLLFROMTEXT"])
        .says(
            "ST_GEOMCOLLFROMTEXT(text[, srid[, options]])",
            "The geometry collection that the WKT text describes, in the spatial reference \
             system, 0 by default.",
        )
        .gives("ST_NUMGEOMETRIES(ST_GEOMCOLLFROMTEXT('GEOMETRYCOLLECTION(POINT(1 2))'))", "1"),
    elsewhere(&["ST_GEOMETRYN"])
        .says(
            "ST_GEOMETRYN(collection, number)",
            "The geometry at that number, counted from 1, in the collection; NULL if there \
             is none.",
        )
        .gives("ST_ASTEXT(ST_GEOMETRYN(ST_GEOMFROMTEXT('MULTIPOINT(1 2,3 4)'), 2))", "POINT(3 4)"),
    elsewhere(&["ST_GEOMETRYTYPE"])
        .says(
            "ST_GEOMETRYTYPE(geometry)",
            "The type of the geometry as a word such as POINT, LINESTRING or POLYGON.",
        )
        .gives("ST_GEOMETRYTYPE(POINT(1, 2))", "POINT"),
    elsewhere(&["ST_GEOMFROMGEOJSON"])
        .says(
            "ST_GEOMFROMGEOJSON(document[, options[, srid]])",
            "The geometry that the GeoJSON document describes, in the spatial reference \
             system, 4326 by default.",
        )
        .gives(
            "ST_ASTEXT(ST_GEOMFROMGEOJSON('{\"type\": \"Point\", \"coordinates\": [1, 2]}'))",
            "POINT(2 1)",
        ),
    elsewhere(&["ST_GEOMFROMTEXT"])
        .says(
            "ST_GEOMFROMTEXT(text[, srid[, options]])",
            "The geometry that the WKT text describes, in the spatial reference system, 0 \
             by default.",
        )
        .gives("ST_ASTEXT(ST_GEOMFROMTEXT('POINT(1 2)'))", "POINT(1 2)"),
    elsewhere(&["ST_GEOMFROMWKB"])
        .says(
            "ST_GEOMFROMWKB(binary[, srid[, options]])",
            "The geometry that the WKB string describes, in the spatial reference system, 0 \
             by default.",
        )
        .gives("ST_ASTEXT(ST_GEOMFROMWKB(ST_ASBINARY(POINT(1, 2))))", "POINT(1 2)"),
    elsewhere(&["ST_INTERSECTION"])
        .says(
            "ST_INTERSECTION(geometry, other)",
            "The points that both geometries have in common, as a geometry.",
        )
        .gives(
            "ST_ASTEXT(ST_INTERSECTION(ST_GEOMFROMTEXT('POLYGON((0 0,2 0,2 2,0 2,0 0))'), \
             ST_GEOMFROMTEXT('POLYGON((1 1,3 1,3 3,1 3,1 1))')))",
            "POLYGON((1 2,1 1,2 1,2 2,1 2))",
        ),
    elsewhere(&["ST_INTERSECTS"])
        .says(
            "ST_INTERSECTS(geometry, other)",
            "1 if the geometries have a point in common, otherwise 0.",
        )
        .gives(
            "ST_INTERSECTS(ST_GEOMFROMTEXT('POLYGON((0 0,2 0,2 2,0 2,0 0))'), \
             ST_GEOMFROMTEXT('POLYGON((1 1,3 1,3 3,1 3,1 1))'))",
            "1",
        ),
    elsewhere(&["ST_ISCLOSED"])
        .says(
            "ST_ISCLOSED(line)",
            "1 if the line, or each of several lines, ends at its first point, otherwise 0; \
             NULL for points and polygons.",
        )
        .gives("ST_ISCLOSED(ST_GEOMFROMTEXT('LINESTRING(0 0,1 1,1 0,0 0)'))", "1"),
    elsewhere(&["ST_ISEMPTY"])
        .says("ST_ISEMPTY(geometry)", "1 if the geometry is an empty collection, otherwise 0.")
        .gives("ST_ISEMPTY(ST_GEOMFROMTEXT('GEOMETRYCOLLECTION EMPTY'))", "1"),
    elsewhere(&["ST_ISSIMPLE"])
        .says(
            "ST_ISSIMPLE(geometry)",
            "1 if the geometry neither crosses nor touches its own path, otherwise 0.",
        )
        .gives("ST_ISSIMPLE(ST_GEOMFROMTEXT('LINESTRING(0 0,2 2,2 0,0 2)'))", "0"),
    elsewhere(&["ST_ISVALID"])
        .says(
            "ST_ISVALID(geometry)",
            "1 if the geometry is valid, otherwise 0; a polygon whose ring crosses its own \
             path, for example, is not.",
        )
        .gives("ST_ISVALID(ST_GEOMFROMTEXT('POLYGON((0 0,2 2,2 0,0 2,0 0))'))", "0"),
    elsewhere(&["ST_LATITUDE"])
        .says(
            "ST_LATITUDE(point[, latitude])",
            "The latitude in degrees of a point with a geographic reference system, or the \
             point with another latitude.",
        )
        .gives("ST_LATITUDE(ST_GEOMFROMTEXT('POINT(52.5 13.4)', 4326))", "52.5"),
    elsewhere(&["ST_LENGTH"])
        .says(
            "ST_LENGTH(line[, unit])",
            "The length of the line or lines, in metres or the unit with a geographic \
             reference system; NULL for other geometries.",
        )
        .gives("ST_LENGTH(ST_GEOMFROMTEXT('LINESTRING(0 0,3 4)'))", "5"),
    elsewhere(&["ST_LINEFROMTEXT"])
        .says(
            "ST_LINEFROMTEXT(text[, srid[, options]])",
            "The line that the WKT text describes, in the spatial reference system, 0 by \
             default.",
        )
        .gives("ST_NUMPOINTS(ST_LINEFROMTEXT('LINESTRING(0 0,1 2)'))", "2"),
    elsewhere(&["ST_LONGITUDE"])
        .says(
            "ST_LONGITUDE(point[, longitude])",
            "The longitude in degrees of a point with a geographic reference system, or the \
             point with another longitude.",
        )
        .gives("ST_LONGITUDE(ST_GEOMFROMTEXT('POINT(52.5 13.4)', 4326))", "13.4"),
    elsewhere(&["ST_MAKEENVELOPE"])
        .says(
            "ST_MAKEENVELOPE(point, other)",
            "The rectangle along the axes with the two points at opposite corners; a line \
             or a point if it has no area.",
        )
        .gives(
            "ST_ASTEXT(ST_MAKEENVELOPE(ST_GEOMFROMTEXT('POINT(0 0)'), \
             ST_GEOMFROMTEXT('POINT(1 2)')))",
            "POLYGON((0 0,1 0,1 2,0 2,0 0))",
        ),
    elsewhere(&["ST_NUMGEOMETRIES"])
        .says(
            "ST_NUMGEOMETRIES(collection)",
            "The number of geometries in the collection; NULL for any other geometry.",
        )
        .gives("ST_NUMGEOMETRIES(ST_GEOMFROMTEXT('MULTIPOINT(1 2,3 4)'))", "2"),
    elsewhere(&["ST_NUMPOINTS"])
        .says(
            "ST_NUMPOINTS(line)",
            "The number of points of the line; NULL for any other geometry.",
        )
        .gives("ST_NUMPOINTS(ST_GEOMFROMTEXT('LINESTRING(0 0,1 2,3 4)'))", "3"),
    elsewhere(&["ST_POINTFROMTEXT"])
        .says(
            "ST_POINTFROMTEXT(text[, srid[, options]])",
            "The point that the WKT text describes, in the spatial reference system, 0 by \
             default.",
        )
        .gives("ST_X(ST_POINTFROMTEXT('POINT(1 2)'))", "1"),
    elsewhere(&["ST_POINTN"])
        .says(
            "ST_POINTN(line, number)",
            "The point at that number, counted from 1, of the line; NULL if there is none.",
        )
        .gives("ST_ASTEXT(ST_POINTN(ST_GEOMFROMTEXT('LINESTRING(0 0,1 2,3 4)'), 2))", "POINT(1 2)"),
    elsewhere(&["ST_POLYFROMTEXT"])
        .says(
            "ST_POLYFROMTEXT(text[, srid[, options]])",
            "The polygon that the WKT text describes, in the spatial reference system, 0 by \
             default.",
        )
        .gives("ST_AREA(ST_POLYFROMTEXT('POLYGON((0 0,2 0,2 2,0 2,0 0))'))", "4"),
    elsewhere(&["ST_SIMPLIFY"])
        .says(
            "ST_SIMPLIFY(geometry, distance)",
            "The geometry with fewer points, which lie within about that distance of the \
             original (Douglas-Peucker algorithm).",
        )
        .gives(
            "ST_ASTEXT(ST_SIMPLIFY(ST_GEOMFROMTEXT('LINESTRING(0 0,1 0.1,2 0)'), 0.5))",
            "LINESTRING(0 0,2 0)",
        ),
    elsewhere(&["ST_SRID"])
        .says(
            "ST_SRID(geometry[, srid])",
            "The identifier of the geometry's spatial reference system, or the geometry \
             with another one and unchanged coordinates.",
        )
        .gives("ST_SRID(ST_GEOMFROMTEXT('POINT(0 0)', 4326))", "4326"),
    elsewhere(&["ST_STARTPOINT"])
        .says("ST_STARTPOINT(line)", "The first point of the line; NULL for any other geometry.")
        .gives("ST_ASTEXT(ST_STARTPOINT(ST_GEOMFROMTEXT('LINESTRING(0 0,1 2)')))", "POINT(0 0)"),
    elsewhere(&["ST_SYMDIFFERENCE"])
        .says(
            "ST_SYMDIFFERENCE(geometry, other)",
            "The points that are in exactly one of the geometries, as a geometry.",
        )
        .gives(
            "ST_AREA(ST_SYMDIFFERENCE(ST_GEOMFROMTEXT('POLYGON((0 0,2 0,2 2,0 2,0 0))'), \
             ST_GEOMFROMTEXT('POLYGON((1 1,3 1,3 3,1 3,1 1))')))",
            "6",
        ),
    elsewhere(&["ST_TOUCHES"])
        .says(
            "ST_TOUCHES(geometry, other)",
            "1 if the geometries have points in common but their interiors have none, \
             otherwise 0; NULL for two points.",
        )
        .gives(
            "ST_TOUCHES(ST_GEOMFROMTEXT('POLYGON((0 0,2 0,2 2,0 2,0 0))'), \
             ST_GEOMFROMTEXT('POINT(2 1)'))",
            "1",
        ),
    elsewhere(&["ST_TRANSFORM"])
        .says(
            "ST_TRANSFORM(geometry, srid)",
            "The geometry with its coordinates converted to another spatial reference system.",
        )
        .gives("ST_SRID(ST_TRANSFORM(ST_GEOMFROMTEXT('POINT(52.5 13.4)', 4326), 3857))", "3857"),
    elsewhere(&["ST_UNION"])
        .says(
            "ST_UNION(geometry, other)",
            "The points that are in one of the geometries or both, as a geometry.",
        )
        .gives(
            "ST_AREA(ST_UNION(ST_GEOMFROMTEXT('POLYGON((0 0,2 0,2 2,0 2,0 0))'), \
             ST_GEOMFROMTEXT('POLYGON((1 1,3 1,3 3,1 3,1 1))')))",
            "7",
        ),
    elsewhere(&["ST_VALIDATE"])
        .says("ST_VALIDATE(geometry)", "The geometry if it is valid, otherwise NULL.")
        .gives("ST_VALIDATE(ST_GEOMFROMTEXT('LINESTRING(0 0,0 0)'))", "NULL"),
    elsewhere(&["ST_WITHIN"])
        .says(
            "ST_WITHIN(geometry, other)",
            "1 if the geometry lies completely within the other and their interiors meet, \
             otherwise 0.",
        )
        .gives(
            "ST_WITHIN(ST_GEOMFROMTEXT('POINT(1 1)'), ST_GEOMFROMTEXT('POLYGON((0 0,2 0,2 \
             2,0 2,0 0))'))",
            "1",
        ),
    elsewhere(&["ST_X"])
        .says(
            "ST_X(point[, x])",
            "The first coordinate of the point as a DOUBLE, or the point with another first \
             coordinate.",
        )
        .gives("ST_X(POINT(1.5, 2))", "1.5"),
    elsewhere(&["ST_Y"])
        .says(
            "ST_Y(point[, y])",
            "The second coordinate of the point as a DOUBLE, or the point with another \
             second coordinate.",
        )
        .gives("ST_Y(POINT(1.5, 2))", "2"),
];
