//! Functions that linked servers compute: a query that calls one is sent to its tables' server.

use crate::registry::function::{Function, Stored, Volatility, elsewhere, of_mariadb};
use crate::registry::mariadb::{self, compares};

/// The rows.
pub(super) static ROWS: &[Function] = &[
    elsewhere(&["AES_DECRYPT"])
        .says(
            "AES_DECRYPT(data, key[, vector[, kdf_name[, salt[, info | iterations]]]])",
            "The bytes that AES_ENCRYPT encrypted with that key, a binary string; NULL if \
             decryption fails.",
        )
        .gives("CONVERT(AES_DECRYPT(AES_ENCRYPT('text', 'key'), 'key') USING utf8mb4)", "text"),
    elsewhere(&["AES_ENCRYPT"])
        .says(
            "AES_ENCRYPT(text, key[, vector[, kdf_name[, salt[, info | iterations]]]])",
            "The text encrypted with AES as a binary string; block_encryption_mode decides \
             the length of the key and the mode.",
        )
        .gives("HEX(AES_ENCRYPT('text', 'key'))", "15E36637363712FC2E699B9C95B75393"),
    elsewhere(&["BENCHMARK"])
        .own_nulls()
        .volatile(Volatility::Random)
        .stored(Stored::Never)
        .says(
            "BENCHMARK(count, expression)",
            "0, after the server has evaluated the expression count times; the time that \
             the statement takes is what counts.",
        )
        .gives("BENCHMARK(10, SQRT(2))", "0"),
    elsewhere(&["BIN_TO_UUID"])
        .mariadb(mariadb::never)
        .says(
            "BIN_TO_UUID(binary[, swap])",
            "The UUID of 16 bytes as a text; swap 1 restores the time parts that \
             UUID_TO_BIN swapped.",
        )
        .gives(
            "BIN_TO_UUID(UNHEX('00112233445566778899AABBCCDDEEFF'))",
            "00112233-4455-6677-8899-aabbccddeeff",
        ),
    elsewhere(&["COMPRESS"])
        .says(
            "COMPRESS(text)",
            "The text compressed with zlib, as a binary string that starts with the length \
             of the text in four bytes.",
        )
        .gives("LEFT(HEX(COMPRESS('abc')), 8)", "03000000"),
    elsewhere(&["CURRENT_ROLE"])
        .volatile(Volatility::Session)
        .stored(Stored::Defaults)
        .says(
            "CURRENT_ROLE()",
            "The active roles of the session, separated by commas; NONE if there is none.",
        )
        .example("CURRENT_ROLE()"),
    elsewhere(&["DEFAULT"]).own_nulls().says(
        "DEFAULT(column)",
        "The default value of the column; error 1364 if the column has none.",
    ),
    elsewhere(&["EXTRACTVALUE"])
        .says(
            "EXTRACTVALUE(xml, xpath)",
            "The text of the elements or attributes that the XPath expression finds in the \
             XML text, separated by spaces.",
        )
        .gives("EXTRACTVALUE('<a><b>x</b><b>y</b></a>', '/a/b')", "x y"),
    elsewhere(&["FORMAT_BYTES"])
        .own_nulls()
        .says(
            "FORMAT_BYTES(count)",
            "The number of bytes as a text with a unit: bytes, KiB, MiB, GiB, TiB, PiB or \
             EiB.",
        )
        .gives("FORMAT_BYTES(1572864)", "1.50 MiB"),
    elsewhere(&["FORMAT_PICO_TIME"])
        .says(
            "FORMAT_PICO_TIME(picoseconds)",
            "The time in picoseconds as a text with a unit: ps, ns, us, ms, s, min, h or d.",
        )
        .gives("FORMAT_PICO_TIME(2500000)", "2.50 us"),
    elsewhere(&["FOUND_ROWS"])
        .volatile(Volatility::Session)
        .stored(Stored::Never)
        .says(
            "FOUND_ROWS()",
            "The number of rows of the session's last SELECT, counted without its LIMIT if \
             it had SQL_CALC_FOUND_ROWS.",
        )
        .example("FOUND_ROWS()"),
    elsewhere(&["GET_LOCK"])
        .own_nulls()
        .volatile(Volatility::Effect)
        .stored(Stored::Never)
        .says(
            "GET_LOCK(name, timeout)",
            "1 if the session obtained the lock of that name within timeout seconds, 0 if \
             not; a negative timeout waits without limit.",
        )
        .gives("GET_LOCK('example', 0)", "1"),
    elsewhere(&["GROUPING"])
        .own_nulls()
        .says(
            "GROUPING(expression, ...)",
            "1 if the row of GROUP BY WITH ROLLUP is a total over the expression, otherwise \
             0; several expressions give a number of such bits.",
        )
        .gives(
            "(SELECT GROUPING(a) FROM (SELECT 1 AS a) AS t GROUP BY a WITH ROLLUP HAVING \
             GROUPING(a) = 1)",
            "1",
        ),
    elsewhere(&["ICU_VERSION"])
        .volatile(Volatility::Session)
        .stored(Stored::Never)
        .says(
            "ICU_VERSION()",
            "The version of the ICU library, which the server's regular expressions use.",
        )
        .example("ICU_VERSION()"),
    elsewhere(&["INET6_ATON"])
        .says(
            "INET6_ATON(address)",
            "The IPv4 or IPv6 address as a binary string of 4 or 16 bytes; NULL if the \
             address is not valid.",
        )
        .gives("HEX(INET6_ATON('2001:db8::1'))", "20010DB8000000000000000000000001"),
    elsewhere(&["INET6_NTOA"])
        .says(
            "INET6_NTOA(binary)",
            "The IPv4 or IPv6 address of 4 or 16 bytes as a text; NULL for any other length.",
        )
        .gives("INET6_NTOA(UNHEX('20010DB8000000000000000000000001'))", "2001:db8::1"),
    elsewhere(&["INTERVAL"])
        .own_nulls()
        .mariadb(compares)
        .says(
            "INTERVAL(number, limit, ...)",
            "The count of limits, in ascending order, that are not greater than the number; \
             -1 if the number is NULL.",
        )
        .gives("INTERVAL(5, 1, 4, 9)", "2"),
    elsewhere(&["IS_FREE_LOCK"])
        .volatile(Volatility::Effect)
        .stored(Stored::Never)
        .says("IS_FREE_LOCK(name)", "1 if no session holds the lock of that name, otherwise 0.")
        .gives("IS_FREE_LOCK('unused')", "1"),
    elsewhere(&["IS_IPV4_COMPAT"])
        .says(
            "IS_IPV4_COMPAT(binary)",
            "1 if the IPv6 address, as INET6_ATON returns it, has an IPv4 address in the \
             form ::192.0.2.1; otherwise 0.",
        )
        .gives("IS_IPV4_COMPAT(INET6_ATON('::192.0.2.1'))", "1"),
    elsewhere(&["IS_IPV4_MAPPED"])
        .says(
            "IS_IPV4_MAPPED(binary)",
            "1 if the IPv6 address, as INET6_ATON returns it, has an IPv4 address in the \
             form ::ffff:192.0.2.1; otherwise 0.",
        )
        .gives("IS_IPV4_MAPPED(INET6_ATON('::ffff:192.0.2.1'))", "1"),
    elsewhere(&["IS_USED_LOCK"])
        .volatile(Volatility::Effect)
        .stored(Stored::Never)
        .says(
            "IS_USED_LOCK(name)",
            "The connection number of the session that holds the lock of that name; NULL if \
             no session holds it.",
        )
        .gives("IS_USED_LOCK('unused')", "NULL"),
    elsewhere(&["IS_UUID"])
        .mariadb(mariadb::never)
        .says(
            "IS_UUID(text)",
            "1 if the text is a UUID with dashes, without dashes or in braces, otherwise 0.",
        )
        .gives("IS_UUID('00112233-4455-6677-8899-aabbccddeeff')", "1"),
    elsewhere(&["LAST_INSERT_ID"])
        .volatile(Volatility::Effect)
        .bare(Volatility::Session)
        .stored(Stored::Never)
        .own_nulls()
        .says(
            "LAST_INSERT_ID([value])",
            "The first AUTO_INCREMENT value that the session's last INSERT generated; with \
             an argument that value, which the next call returns.",
        )
        .gives("LAST_INSERT_ID(5)", "5"),
    elsewhere(&["LOAD_FILE"])
        .volatile(Volatility::Effect)
        .stored(Stored::Never)
        .says(
            "LOAD_FILE(path)",
            "The content of a file on the server's machine, a binary string; NULL without \
             the FILE privilege or outside secure_file_priv.",
        )
        .example("LOAD_FILE('/tmp/example.txt')"),
    elsewhere(&["MD5"])
        .says(
            "MD5(text)",
            "The MD5 checksum of the text as 32 hexadecimal digits; MySQL 9.7 needs the \
             component component_classic_hashing for it.",
        )
        .gives("MD5('abc')", "900150983cd24fb0d6963f7d28e17f72"),
    elsewhere(&["NAME_CONST"])
        .stored(Stored::Never)
        .says("NAME_CONST(name, value)", "The literal value, in a column of that name.")
        .gives("NAME_CONST('answer', 42)", "42"),
    elsewhere(&["PS_CURRENT_THREAD_ID"])
        .volatile(Volatility::Session)
        .says("PS_CURRENT_THREAD_ID()", "The session's thread number in the Performance Schema.")
        .example("PS_CURRENT_THREAD_ID()"),
    elsewhere(&["PS_THREAD_ID"])
        .volatile(Volatility::Session)
        .says(
            "PS_THREAD_ID(connection)",
            "The thread number in the Performance Schema of the connection with that \
             number; NULL if there is none.",
        )
        .example("PS_THREAD_ID(CONNECTION_ID())"),
    elsewhere(&["RAND"])
        .volatile(Volatility::Random)
        .stored(Stored::Defaults)
        .own_nulls()
        .says(
            "RAND([seed])",
            "A random DOUBLE from 0 up to, but not including, 1; calls with the same seed \
             give the same sequence.",
        )
        .gives("RAND(1)", "0.40540353712197724"),
    elsewhere(&["RANDOM_BYTES"])
        .volatile(Volatility::Random)
        .stored(Stored::Defaults)
        .says("RANDOM_BYTES(length)", "A binary string of 1 to 1024 random bytes.")
        .example("HEX(RANDOM_BYTES(4))"),
    elsewhere(&["REGEXP_INSTR"])
        .mariadb(mariadb::never)
        .says(
            "REGEXP_INSTR(text, pattern[, position[, occurrence[, after[, flags]]]])",
            "The position, counted from 1, of the match of the regular expression, or of \
             the character after it if after is 1; 0 without match.",
        )
        .gives("REGEXP_INSTR('abc123', '[0-9]')", "4"),
    elsewhere(&["REGEXP_REPLACE"])
        .mariadb(mariadb::never)
        .says(
            "REGEXP_REPLACE(text, pattern, replacement[, position[, occurrence[, flags]]])",
            "The text with all matches of the regular expression, or only the given \
             occurrence, replaced; $1 stands for the first group.",
        )
        .gives("REGEXP_REPLACE('a1b22', '[0-9]+', '#')", "a#b#"),
    elsewhere(&["REGEXP_SUBSTR"])
        .mariadb(mariadb::never)
        .says(
            "REGEXP_SUBSTR(text, pattern[, position[, occurrence[, flags]]])",
            "The part of the text that the regular expression matches, at its given \
             occurrence; NULL without match.",
        )
        .gives("REGEXP_SUBSTR('abc123def', '[0-9]+')", "123"),
    elsewhere(&["RELEASE_ALL_LOCKS"])
        .volatile(Volatility::Effect)
        .stored(Stored::Never)
        .says(
            "RELEASE_ALL_LOCKS()",
            "The number of locks obtained with GET_LOCK that the call has released.",
        )
        .example("RELEASE_ALL_LOCKS()"),
    elsewhere(&["RELEASE_LOCK"])
        .volatile(Volatility::Effect)
        .stored(Stored::Never)
        .says(
            "RELEASE_LOCK(name)",
            "1 if the call released the session's lock of that name, 0 if another session \
             holds it, NULL if no session holds it.",
        )
        .gives("RELEASE_LOCK('unused')", "NULL"),
    elsewhere(&["ROLES_GRAPHML"])
        .volatile(Volatility::Session)
        .stored(Stored::Defaults)
        .says("ROLES_GRAPHML()", "The roles and the accounts that have them as a GraphML document.")
        .example("ROLES_GRAPHML()"),
    elsewhere(&["ROW_COUNT"])
        .volatile(Volatility::Session)
        .stored(Stored::Never)
        .says(
            "ROW_COUNT()",
            "The number of rows that the session's last statement changed; -1 after a \
             statement with a result set.",
        )
        .example("ROW_COUNT()"),
    elsewhere(&["SHA", "SHA1"])
        .says(
            "SHA(text)",
            "The SHA-1 checksum of the text as 40 hexadecimal digits; MySQL 9.7 needs the \
             component component_classic_hashing for it.",
        )
        .gives("SHA('abc')", "a9993e364706816aba3e25717850c26c9cd0d89d"),
    elsewhere(&["SHA2"])
        .says(
            "SHA2(text, bits)",
            "The SHA-2 checksum of 224, 256, 384 or 512 bits in hexadecimal digits; 0 bits \
             means 256, any other length gives NULL.",
        )
        .gives("SHA2('abc', 224)", "23097d223405d8228642a477bda255b32aadbce4bda0b3f7e36c9da7"),
    elsewhere(&["SLEEP"])
        .volatile(Volatility::Random)
        .stored(Stored::Never)
        .says(
            "SLEEP(seconds)",
            "0 after a pause of so many seconds, which may have a fraction; 1 if KILL QUERY \
             ended the pause; error 1210 for NULL.",
        )
        .gives("SLEEP(0.01)", "0"),
    elsewhere(&["SOUNDEX"])
        .says(
            "SOUNDEX(text)",
            "A code of the text's sound in English: its first letter and at least three \
             digits, equal for similar words.",
        )
        .gives("SOUNDEX('Robert')", "R163"),
    elsewhere(&["STATEMENT_DIGEST"])
        .stored(Stored::Defaults)
        .says(
            "STATEMENT_DIGEST(statement)",
            "The SHA-256 checksum, in hexadecimal digits, of the statement with its \
             literals replaced; equal for statements that differ only in literals.",
        )
        .gives("STATEMENT_DIGEST('SELECT 1') = STATEMENT_DIGEST('SELECT 2')", "1"),
    elsewhere(&["STATEMENT_DIGEST_TEXT"])
        .stored(Stored::Defaults)
        .says(
            "STATEMENT_DIGEST_TEXT(statement)",
            "The normalised text of the statement, with a question mark in place of each \
             literal.",
        )
        .gives("STATEMENT_DIGEST_TEXT('select 1 + 2')", "SELECT ? + ?"),
    elsewhere(&["SYSDATE"])
        .volatile(Volatility::Random)
        .stored(Stored::Defaults)
        .grammar()
        .says(
            "SYSDATE([digits])",
            "The date and time at which the server evaluates the call, so that it can \
             change within a statement.",
        )
        .example("SYSDATE()"),
    elsewhere(&["UNCOMPRESS"])
        .says(
            "UNCOMPRESS(data)",
            "The bytes that COMPRESS compressed, a binary string; NULL and a warning if the \
             data is not compressed.",
        )
        .gives("CONVERT(UNCOMPRESS(COMPRESS('abc')) USING utf8mb4)", "abc"),
    elsewhere(&["UNCOMPRESSED_LENGTH"])
        .says("UNCOMPRESSED_LENGTH(data)", "The length in bytes that the data had before COMPRESS.")
        .gives("UNCOMPRESSED_LENGTH(COMPRESS('abc'))", "3"),
    elsewhere(&["UPDATEXML"])
        .stored(Stored::Never)
        .says(
            "UPDATEXML(xml, xpath, replacement)",
            "The XML text with the one element that the XPath expression finds replaced; \
             unchanged if it finds none or several.",
        )
        .gives("UPDATEXML('<a><b>x</b></a>', '/a/b', '<c>y</c>')", "<a><c>y</c></a>"),
    elsewhere(&["UUID"])
        .volatile(Volatility::Random)
        .stored(Stored::Defaults)
        .own_nulls()
        .says("UUID()", "A new UUID, of time and machine (version 1), as a text of 36 characters.")
        .example("UUID()"),
    elsewhere(&["UUID_SHORT"])
        .volatile(Volatility::Random)
        .stored(Stored::Defaults)
        .says(
            "UUID_SHORT()",
            "A unique unsigned 64-bit integer, made of the server's server_id and start \
             time and a counter.",
        )
        .example("UUID_SHORT()"),
    elsewhere(&["UUID_TO_BIN"])
        .mariadb(mariadb::never)
        .says(
            "UUID_TO_BIN(text[, swap])",
            "The UUID as a binary string of 16 bytes; swap 1 moves the time's slower parts \
             to the front, which suits indexes.",
        )
        .gives(
            "HEX(UUID_TO_BIN('00112233-4455-6677-8899-aabbccddeeff', 1))",
            "66774455001122338899AABBCCDDEEFF",
        ),
    elsewhere(&["VALIDATE_PASSWORD_STRENGTH"])
        .says(
            "VALIDATE_PASSWORD_STRENGTH(password)",
            "The strength of the password by the server's validate_password component, 0 \
             (weak) to 100 (strong); 0 without the component.",
        )
        .gives("VALIDATE_PASSWORD_STRENGTH('abc')", "0"),
    elsewhere(&["VALUES"]).stored(Stored::Never).own_nulls().says(
        "VALUES(column)",
        "The value that INSERT would store in the column, in its ON DUPLICATE KEY \
             UPDATE clause; NULL elsewhere. Deprecated.",
    ),
    elsewhere(&["WAIT_FOR_EXECUTED_GTID_SET"])
        .volatile(Volatility::Effect)
        .stored(Stored::Never)
        .says(
            "WAIT_FOR_EXECUTED_GTID_SET(gtid_set[, timeout])",
            "0 when the server has executed all transactions of the GTID set, 1 if timeout \
             seconds pass before; an error if gtid_mode is OFF.",
        )
        .gives("WAIT_FOR_EXECUTED_GTID_SET('00112233-4455-6677-8899-aabbccddeeff:1', 0.01)", "1"),
    elsewhere(&["GTID_SUBSET"])
        .volatile(Volatility::Session)
        .says(
            "GTID_SUBSET(gtid_set, other)",
            "1 if all GTIDs of the first set are in the other, otherwise 0.",
        )
        .gives(
            "GTID_SUBSET('00112233-4455-6677-8899-aabbccddeeff:2', \
             '00112233-4455-6677-8899-aabbccddeeff:1-3')",
            "1",
        ),
    elsewhere(&["GTID_SUBTRACT"])
        .says(
            "GTID_SUBTRACT(gtid_set, other)",
            "The GTIDs of the first set that are not in the other, as a GTID set.",
        )
        .gives(
            "GTID_SUBTRACT('00112233-4455-6677-8899-aabbccddeeff:1-3', \
             '00112233-4455-6677-8899-aabbccddeeff:2-3')",
            "00112233-4455-6677-8899-aabbccddeeff:1",
        ),
    elsewhere(&["SOURCE_POS_WAIT"])
        .volatile(Volatility::Effect)
        .says(
            "SOURCE_POS_WAIT(log, position[, timeout[, channel]])",
            "The number of events the replica executed until it reached the position of the \
             source's binlog; -1 after timeout seconds, NULL without replication.",
        )
        .example("SOURCE_POS_WAIT('bin.000001', 4)"),
    elsewhere(&["WEIGHT_STRING"])
        .own_nulls()
        .says(
            "WEIGHT_STRING(text [AS CHAR(length) | AS BINARY(length)])",
            "The bytes by which the text's collation compares and sorts it, a binary string.",
        )
        .gives("HEX(WEIGHT_STRING(_latin1'a' COLLATE latin1_swedish_ci))", "41"),
    // An aggregate that is a function of the row where nothing makes groups.
    of_mariadb(&["ANY_VALUE"]).own_nulls(),
    of_mariadb(&["LASTVAL"]).volatile(Volatility::Effect).says(
        "LASTVAL(sequence)",
        "The last value that NEXTVAL gave the session for the sequence; NULL if there \
             is none.",
    ),
    of_mariadb(&["MASTER_GTID_WAIT"])
        .volatile(Volatility::Effect)
        .says(
            "MASTER_GTID_WAIT(gtid_list[, timeout])",
            "0 when the replica has executed the GTIDs, -1 if timeout seconds pass before.",
        )
        .gives("MASTER_GTID_WAIT('0-1-1000', 0.01)", "-1"),
    of_mariadb(&["MASTER_POS_WAIT"])
        .volatile(Volatility::Effect)
        .stored(Stored::Never)
        .says(
            "MASTER_POS_WAIT(log, position[, timeout[, connection]])",
            "The number of events the replica executed until it reached the position of the \
             primary's binlog; -1 after timeout seconds, NULL without replication.",
        )
        .example("MASTER_POS_WAIT('bin.000001', 4)"),
    of_mariadb(&["NEXTVAL"]).volatile(Volatility::Effect).says(
        "NEXTVAL(sequence)",
        "The next value of the sequence; each call advances the sequence.",
    ),
    of_mariadb(&["NVL"])
        .own_nulls()
        .says(
            "NVL(value, other)",
            "The value if it is not NULL, otherwise the other value; the same as IFNULL.",
        )
        .gives("NVL(NULL, 'none')", "none"),
    of_mariadb(&["SETVAL"]).volatile(Volatility::Effect).says(
        "SETVAL(sequence, value[, is_used[, round]])",
        "The value, after which NEXTVAL goes on; NULL if the sequence has passed it \
             already.",
    ),
    of_mariadb(&["SYS_GUID"])
        .volatile(Volatility::Random)
        .says("SYS_GUID()", "A new UUID as 32 hexadecimal digits without dashes.")
        .example("SYS_GUID()"),
    of_mariadb(&["WAIT_UNTIL_SQL_THREAD_AFTER_GTIDS"]).volatile(Volatility::Effect).says(
        "WAIT_UNTIL_SQL_THREAD_AFTER_GTIDS(gtid_set[, timeout[, channel]])",
        "The number of transactions that the replica executed until it had all of the \
             GTID set; earlier versions of MySQL have the function.",
    ),
];
