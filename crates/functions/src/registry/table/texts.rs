//! Functions of texts.

use crate::registry::fallibility;
use crate::registry::function::{Chooses, Function, Places, function, operator};
use crate::registry::mariadb::{
    self, compares, constant_text, has_binary_order, is_decided_by, is_literal_text, is_whole,
    texts_meet,
};
use crate::scalar::string::{build, codes, like, list, measure, part as text_part, search};
use crate::short_circuit::Flow;

/// The rows.
pub(super) static ROWS: &[Function] = &[
    function(&["LIKE"], like::like)
        .flow(Flow::First)
        .texts(Places::All)
        .mariadb(texts_meet)
        .infallible(fallibility::pattern)
        .says(
            "text LIKE pattern [ESCAPE character]",
            "1 if the pattern matches the whole text, otherwise 0; % stands for any \
             characters, _ for one, and backslash escapes both.",
        )
        .gives("'Pelorus' LIKE 'pel%'", "1"),
    function(&["NOT LIKE"], like::like).texts(Places::All).infallible(fallibility::pattern),
    function(&["REGEXP", "RLIKE"], like::regexp)
        .mariadb(mariadb::never)
        .says(
            "text REGEXP pattern",
            "1 if the regular expression matches a part of the text, otherwise 0; the \
             collation decides whether letter case counts.",
        )
        .gives("'abc123' REGEXP '[0-9]+$'", "1"),
    function(&["NOT REGEXP", "NOT RLIKE"], like::regexp).mariadb(mariadb::never),
    function(&["REGEXP_LIKE"], like::regexp)
        .mariadb(mariadb::never)
        .says(
            "REGEXP_LIKE(text, pattern[, flags])",
            "1 if the regular expression matches a part of the text, otherwise 0; flags are \
             letters such as c (case counts) and i (case ignored).",
        )
        .gives("REGEXP_LIKE('Abc', '^a', 'c')", "0"),
    function(&["CONCAT"], build::concat)
        .flow(Flow::First)
        .texts(Places::All)
        .infallible(fallibility::joined_texts)
        .says("CONCAT(text, ...)", "The texts one after the other; NULL if one of them is NULL.")
        .gives("CONCAT('a', 1, 'b')", "a1b"),
    function(&["CONCAT_WS"], build::concat_ws)
        .own_nulls()
        .texts(Places::All)
        .infallible(fallibility::joined_texts)
        .says(
            "CONCAT_WS(separator, text, ...)",
            "The texts one after the other with the separator between them; NULL texts are \
             left out, and a NULL separator gives NULL.",
        )
        .gives("CONCAT_WS('-', 'a', NULL, 'b')", "a-b"),
    function(&["UPPER", "UCASE"], build::letter_case)
        .filters()
        .texts(Places::At(&[0]))
        .infallible(fallibility::short_texts)
        .says("UPPER(text)", "The text in upper case; binary strings remain unchanged.")
        .gives("UPPER('Straße')", "STRAßE"),
    function(&["LOWER", "LCASE"], build::letter_case)
        .filters()
        .texts(Places::At(&[0]))
        .infallible(fallibility::short_texts)
        .says("LOWER(text)", "The text in lower case; binary strings remain unchanged.")
        .gives("LOWER('MySQL')", "mysql"),
    function(&["REVERSE"], build::reverse)
        .grammar()
        .texts(Places::At(&[0]))
        .infallible(fallibility::short_texts)
        .says("REVERSE(text)", "The characters of the text in reverse order.")
        .gives("REVERSE('abc')", "cba"),
    function(&["REPEAT"], build::repeat)
        .grammar()
        .flow(Flow::First)
        .numbers(Places::After(0))
        .says(
            "REPEAT(text, count)",
            "The text count times; an empty text if count is less than 1, NULL if the \
             result exceeds max_allowed_packet.",
        )
        .gives("REPEAT('ab', 3)", "ababab"),
    function(&["SPACE"], build::space)
        .numbers(Places::All)
        .mariadb(|args| !args.iter().any(|it| it.ty.is_temporal()))
        .says("SPACE(count)", "A text of count spaces; an empty text if count is less than 1.")
        .gives("CONCAT('a', SPACE(3), 'b')", "a   b"),
    function(&["LPAD"], build::pad)
        .flow(Flow::First)
        .numbers(Places::At(&[1]))
        .texts(Places::At(&[0]))
        .mariadb(|args| {
            args.get(2).is_some_and(|it| constant_text(it) != Some("")) && is_decided_by(args, 0)
        })
        .says(
            "LPAD(text, length, padding)",
            "The text with padding before it up to length characters; a longer text is cut \
             to length, and a negative length gives NULL.",
        )
        .gives("LPAD('7', 3, '0')", "007"),
    function(&["RPAD"], build::pad)
        .numbers(Places::At(&[1]))
        .texts(Places::At(&[0]))
        .mariadb(|args| {
            args.get(2).is_some_and(|it| constant_text(it) != Some("")) && is_decided_by(args, 0)
        })
        .says(
            "RPAD(text, length, padding)",
            "The text with padding after it up to length characters; a longer text is cut \
             to length, and a negative length gives NULL.",
        )
        .gives("RPAD('ab', 5, '.-')", "ab.-."),
    function(&["REPLACE"], build::replace)
        .grammar()
        .flow(Flow::First)
        .texts(Places::All)
        .mariadb(|args| is_decided_by(args, 0))
        .infallible(fallibility::short_texts)
        .says(
            "REPLACE(text, from, to)",
            "The text with every occurrence of from replaced by to; letter case always \
             counts.",
        )
        .gives("REPLACE('banana', 'an', 'AN')", "bANANa"),
    function(&["INSERT"], build::insert)
        .grammar()
        .numbers(Places::At(&[1, 2]))
        .mariadb(|args| is_decided_by(args, 0))
        .says(
            "INSERT(text, position, length, replacement)",
            "The text with length characters from position on, counted from 1, replaced; \
             unchanged if position is outside the text.",
        )
        .gives("INSERT('abcdef', 3, 2, 'XYZ')", "abXYZef"),
    function(&["QUOTE"], build::quote)
        .own_nulls()
        .texts(Places::At(&[0]))
        .says(
            "QUOTE(text)",
            "The text as a string literal in single quotes, with quotes, backslashes, NUL \
             and Ctrl-Z escaped; the word NULL for NULL.",
        )
        .gives("QUOTE('it\\'s')", "'it\\'s'"),
    function(&["SUBSTRING"], text_part::substring)
        .filters()
        .grammar()
        .flow(Flow::First)
        .numbers(Places::After(0))
        .texts(Places::At(&[0]))
        .infallible(fallibility::part_of_text)
        .says(
            "SUBSTRING(text, position[, length])",
            "The part of the text from position on, counted from 1, or from the end if \
             negative; empty if position is 0.",
        )
        .gives("SUBSTRING('database', 5, 3)", "bas"),
    function(&["SUBSTR"], text_part::substring)
        .filters()
        .numbers(Places::After(0))
        .texts(Places::At(&[0]))
        .infallible(fallibility::part_of_text)
        .says(
            "SUBSTR(text, position[, length])",
            "The part of the text from position on, at most length characters; the same as \
             SUBSTRING.",
        )
        .gives("SUBSTR('database', -4)", "base"),
    function(&["MID"], text_part::substring)
        .filters()
        .grammar()
        .numbers(Places::After(0))
        .texts(Places::At(&[0]))
        .infallible(fallibility::part_of_text)
        .says(
            "MID(text, position[, length])",
            "The part of the text from position on, at most length characters; the same as \
             SUBSTRING.",
        )
        .gives("MID('database', 3, 2)", "ta"),
    function(&["LEFT"], text_part::side)
        .filters()
        .grammar()
        .flow(Flow::First)
        .numbers(Places::After(0))
        .texts(Places::At(&[0]))
        .infallible(fallibility::part_of_text)
        .says(
            "LEFT(text, length)",
            "The first length characters of the text; empty if length is less than 1.",
        )
        .gives("LEFT('database', 4)", "data"),
    function(&["RIGHT"], text_part::side)
        .filters()
        .grammar()
        .flow(Flow::First)
        .numbers(Places::After(0))
        .texts(Places::At(&[0]))
        .infallible(fallibility::part_of_text)
        .says(
            "RIGHT(text, length)",
            "The last length characters of the text; empty if length is less than 1.",
        )
        .gives("RIGHT('database', 4)", "base"),
    function(&["TRIM"], text_part::trim)
        .grammar()
        .texts(Places::At(&[0]))
        .mariadb(|args| is_decided_by(args, 0))
        .infallible(fallibility::short_texts)
        .says(
            "TRIM([[LEADING | TRAILING | BOTH] [characters] FROM] text)",
            "The text without the characters, a space by default, repeated at its start, \
             its end or, by default, both.",
        )
        .gives("TRIM(BOTH 'x' FROM 'xxabcx')", "abc"),
    operator(&["TRIM LEADING"], text_part::trim)
        .mariadb(|args| is_decided_by(args, 0))
        .infallible(fallibility::short_texts),
    operator(&["TRIM TRAILING"], text_part::trim)
        .mariadb(|args| is_decided_by(args, 0))
        .infallible(fallibility::short_texts),
    function(&["LTRIM"], text_part::trim)
        .texts(Places::At(&[0]))
        .infallible(fallibility::short_texts)
        .says("LTRIM(text)", "The text without the spaces at its start.")
        .gives("LTRIM('  abc')", "abc"),
    function(&["RTRIM"], text_part::trim)
        .texts(Places::At(&[0]))
        .infallible(fallibility::short_texts)
        .says("RTRIM(text)", "The text without the spaces at its end.")
        .gives("CONCAT(RTRIM('abc  '), '.')", "abc."),
    function(&["SUBSTRING_INDEX"], text_part::substring_index)
        .flow(Flow::First)
        .numbers(Places::At(&[2]))
        .mariadb(|args| is_decided_by(args, 0))
        .says(
            "SUBSTRING_INDEX(text, delimiter, count)",
            "The text before occurrence number count of the delimiter; a negative count \
             counts from the end and returns the text after it.",
        )
        .gives("SUBSTRING_INDEX('a.b.c', '.', 2)", "a.b"),
    function(&["LENGTH", "OCTET_LENGTH"], measure::length)
        .filters()
        .texts(Places::At(&[0]))
        .bytes()
        .infallible(fallibility::of_texts)
        .says("LENGTH(text)", "The length of the text in bytes.")
        .gives("LENGTH(_utf8mb4'é')", "2"),
    function(&["BIT_LENGTH"], measure::length)
        .bytes()
        .infallible(fallibility::of_texts)
        .says("BIT_LENGTH(text)", "The length of the text in bits: eight for each byte.")
        .gives("BIT_LENGTH('abc')", "24"),
    function(&["CHAR_LENGTH", "CHARACTER_LENGTH"], measure::length)
        .filters()
        .texts(Places::At(&[0]))
        .infallible(fallibility::of_texts)
        .says(
            "CHAR_LENGTH(text)",
            "The length of the text in characters; in bytes for a binary string.",
        )
        .gives("CHAR_LENGTH(_utf8mb4'é')", "1"),
    function(&["ASCII"], measure::code)
        .grammar()
        .infallible(fallibility::of_texts)
        .says(
            "ASCII(text)",
            "The number of the first byte of the text, 0 to 255; 0 for an empty text.",
        )
        .gives("ASCII('A')", "65"),
    function(&["ORD"], measure::code)
        .infallible(fallibility::of_texts)
        .says(
            "ORD(text)",
            "The code of the first character of the text: its bytes read as one number, the \
             first byte highest; 0 for an empty text.",
        )
        .gives("ORD(_utf8mb4'é')", "50089"),
    function(&["CRC32"], measure::crc32)
        .filters()
        .bytes()
        .says(
            "CRC32(text)",
            "The CRC-32 checksum of the bytes of the text, an unsigned 32-bit number.",
        )
        .gives("CRC32('abc')", "891568578"),
    function(&["LOCATE"], search::locate)
        .numbers(Places::At(&[2]))
        .mariadb(|args| args.iter().all(has_binary_order) && is_decided_by(args, 1))
        .says(
            "LOCATE(part, text[, position])",
            "The position, counted from 1, of the first occurrence of part in the text at \
             or after position; 0 if there is none.",
        )
        .gives("LOCATE('a', 'banana', 3)", "4"),
    function(&["INSTR"], search::locate)
        .flow(Flow::First)
        .mariadb(|args| args.iter().all(has_binary_order) && is_decided_by(args, 0))
        .infallible(fallibility::of_texts)
        .says(
            "INSTR(text, part)",
            "The position, counted from 1, of the first occurrence of part in the text; 0 \
             if there is none.",
        )
        .gives("INSTR('banana', 'nan')", "3"),
    function(&["POSITION"], search::locate)
        .grammar()
        .numbers(Places::At(&[2]))
        .mariadb(|args| args.iter().all(has_binary_order) && is_decided_by(args, 1))
        .says(
            "POSITION(part IN text)",
            "The position, counted from 1, of the first occurrence of part in the text; 0 \
             if there is none.",
        )
        .gives("POSITION('nan' IN 'banana')", "3"),
    function(&["FIELD"], search::field)
        .own_nulls()
        .mariadb(|args| compares(args) && is_decided_by(args, 0))
        .says(
            "FIELD(value, candidate, ...)",
            "The number, counted from 1, of the first candidate that is equal to the value; \
             0 if none is equal or the value is NULL.",
        )
        .gives("FIELD('b', 'a', 'b', 'c')", "2"),
    function(&["FIND_IN_SET"], search::find_in_set)
        .flow(Flow::First)
        .mariadb(mariadb::never)
        .says(
            "FIND_IN_SET(text, list)",
            "The number, counted from 1, of the text among the parts of the list, which \
             commas separate; 0 if it is not among them.",
        )
        .gives("FIND_IN_SET('b', 'a,b,c')", "2"),
    function(&["ELT"], list::elt)
        .own_nulls()
        .flow(Flow::First)
        .chooses(Chooses::Argument)
        .numbers(Places::At(&[0]))
        .says(
            "ELT(number, text, ...)",
            "The text at that number, counted from 1; NULL if there are not so many texts.",
        )
        .gives("ELT(2, 'a', 'b', 'c')", "b"),
    function(&["MAKE_SET"], list::make_set)
        .own_nulls()
        .numbers(Places::At(&[0]))
        .mariadb(|args| args.first().is_none_or(is_whole))
        .says(
            "MAKE_SET(bits, text, ...)",
            "The texts whose bit is 1, separated by commas; the lowest bit stands for the \
             first text, and NULL texts are left out.",
        )
        .gives("MAKE_SET(5, 'a', 'b', 'c')", "a,c"),
    function(&["EXPORT_SET"], list::export_set)
        .own_nulls()
        .numbers(Places::At(&[0, 4]))
        .mariadb(|args| args.first().is_none_or(is_whole))
        .says(
            "EXPORT_SET(bits, on, off[, separator[, count]])",
            "The text on or off for each of count bits, 64 by default, from the lowest, \
             with the separator, a comma by default, between them.",
        )
        .gives("EXPORT_SET(6, 'Y', 'N', ',', 4)", "N,Y,Y,N"),
    function(&["HEX"], codes::hex)
        .bytes()
        .says(
            "HEX(value)",
            "The value in hexadecimal: two digits for each byte of a text, or a number as \
             an unsigned 64-bit integer.",
        )
        .gives("HEX(255)", "FF"),
    function(&["UNHEX"], codes::unhex)
        .says(
            "UNHEX(text)",
            "The bytes that pairs of hexadecimal digits stand for, a binary string; NULL if \
             the text has other characters.",
        )
        .gives("CONVERT(UNHEX('4D7953514C') USING utf8mb4)", "MySQL"),
    function(&["CONV"], codes::conv)
        .flow(Flow::First)
        .numbers(Places::All)
        .says(
            "CONV(number, from_base, to_base)",
            "The number, a 64-bit integer, rewritten from one base to another, each of 2 to \
             36; a negative to_base makes the result signed.",
        )
        .gives("CONV('ff', 16, 2)", "11111111"),
    function(&["BIN"], codes::conv)
        .numbers(Places::All)
        .says("BIN(number)", "The number as an unsigned 64-bit integer in binary digits.")
        .gives("BIN(10)", "1010"),
    function(&["OCT"], codes::conv)
        .numbers(Places::All)
        .says("OCT(number)", "The number as an unsigned 64-bit integer in octal digits.")
        .gives("OCT(64)", "100"),
    function(&["CHAR"], codes::char_of)
        .own_nulls()
        .grammar()
        .numbers(Places::All)
        .says(
            "CHAR(code, ... [USING charset])",
            "The bytes of the codes as a binary string, or as a text in the charset; NULL \
             codes are left out.",
        )
        .gives("CONVERT(CHAR(77, 121, 83) USING utf8mb4)", "MyS"),
    operator(&["CHAR USING"], codes::char_of),
    function(&["FORMAT"], codes::format)
        .grammar()
        .numbers(Places::All)
        .says(
            "FORMAT(number, digits[, locale])",
            "The number rounded to digits decimals as a text, with the locale's separators, \
             those of en_US by default.",
        )
        .gives("FORMAT(1234567.891, 2)", "1,234,567.89"),
    function(&["INET_ATON"], codes::inet_aton)
        .says(
            "INET_ATON(address)",
            "The IPv4 address as an unsigned integer; NULL if the address is not valid.",
        )
        .gives("INET_ATON('192.0.2.1')", "3221225985"),
    function(&["INET_NTOA"], codes::inet_ntoa)
        .numbers(Places::All)
        .mariadb(|args| !args.iter().any(|it| it.ty.is_temporal()))
        .says(
            "INET_NTOA(number)",
            "The IPv4 address of the number as a text; NULL if the number is outside 0 to \
             4294967295.",
        )
        .gives("INET_NTOA(3221225985)", "192.0.2.1"),
    function(&["IS_IPV4"], codes::is_address)
        .says("IS_IPV4(text)", "1 if the text is a valid IPv4 address, otherwise 0.")
        .gives("IS_IPV4('192.0.2.256')", "0"),
    function(&["IS_IPV6"], codes::is_address)
        .says("IS_IPV6(text)", "1 if the text is a valid IPv6 address, otherwise 0.")
        .gives("IS_IPV6('2001:db8::1')", "1"),
    function(&["CHARSET"], codes::about)
        .own_nulls()
        .grammar()
        .says(
            "CHARSET(value)",
            "The name of the character set of the value; binary for numbers, dates and \
             binary strings.",
        )
        .gives("CHARSET(_latin1'a')", "latin1"),
    function(&["COLLATION"], codes::about)
        .own_nulls()
        .grammar()
        .mariadb(|args| !args.iter().any(is_literal_text))
        .says(
            "COLLATION(value)",
            "The name of the collation of the value; binary for numbers, dates and binary \
             strings.",
        )
        .gives("COLLATION(_latin1'a' COLLATE latin1_bin)", "latin1_bin"),
    function(&["COERCIBILITY"], codes::about)
        .own_nulls()
        .mariadb(|args| !args.iter().any(is_literal_text))
        .says(
            "COERCIBILITY(value)",
            "The rank of the value's collation where collations meet, from 0 (COLLATE) and \
             2 (column) to 6 (NULL); lower ranks win.",
        )
        .gives("COERCIBILITY('a')", "4"),
    function(&["TO_BASE64"], codes::to_base64)
        .bytes()
        .says(
            "TO_BASE64(text)",
            "The bytes of the text in base64, with a line break after every 76 characters.",
        )
        .gives("TO_BASE64('MySQL')", "TXlTUUw="),
    function(&["FROM_BASE64"], codes::from_base64)
        .says(
            "FROM_BASE64(text)",
            "The bytes that the base64 text stands for, a binary string; NULL if the text \
             is not valid base64.",
        )
        .gives("CONVERT(FROM_BASE64('TXlTUUw=') USING utf8mb4)", "MySQL"),
];
