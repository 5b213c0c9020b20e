//! Every error that Pelorus raises itself: the rows of the table, by number.
//!
//! A row is `Name = number, state, class, remedy`, with its meaning above.

use super::{Class, RemoteCode};

codes! {
    /// `CREATE DATABASE` of one that exists.
    DatabaseExists = 1007, b"HY000", Conflict,
        "Choose another name, or write IF NOT EXISTS.";
    /// `DROP DATABASE` of one that does not exist.
    DatabaseDropExists = 1008, b"HY000", NotFound,
        "Check the name with SHOW DATABASES, or write IF EXISTS.";
    /// A file that a statement names is not there.
    FileNotFound = 1017, b"HY000", NotFound,
        "Check the path, and the folder that the configuration allows.";
    /// The disk is full; what was acknowledged stays readable.
    DiskFull = 1021, b"HY000", Resource,
        "Free space on the disk of the data folder: DROP TABLE and TRUNCATE have room even then.";
    /// The operating system failed to read a file.
    FileRead = 1024, b"HY000", Unavailable,
        "Check the disk and the system's log.";
    /// The operating system failed to write or sync a file.
    FileWrite = 1026, b"HY000", Unavailable,
        "Check the disk and the system's log; restart when it is well again.";
    /// A file was written by a version or configuration that this one cannot read.
    FileVersion = 1033, b"HY000", InvalidInput,
        "Start the version that wrote the folder, or upgrade as its notes say.";
    /// Bytes of a data file or of the log are damaged.
    FileDamaged = 1034, b"HY000", Internal,
        "Restore the table from a backup, or create the mirror again.";
    /// A table cannot be written until the process restarts, since a write or sync failed.
    TableFailed = 1036, b"HY000", Unavailable,
        "Check the disk, then restart the server.";
    /// The server has as many connections as it allows.
    TooManyConnections = 1040, b"08004", Resource,
        "Close connections that are idle, or raise `max_connections`. One connection stays free \
         for an administrator.";
    /// A query needs more memory than it may use.
    OutOfMemory = 1041, b"HY000", Resource,
        "Raise `pelorus_query_memory` or the limit that the message names, or make the query read \
         or keep less.";
    /// The handshake was not understood.
    BadHandshake = 1043, b"08S01", InvalidInput,
        "Check that the client speaks the MySQL protocol 4.1 or later, and that no proxy changes \
         its bytes.";
    /// The account may not use this database.
    DatabaseAccessDenied = 1044, b"42000", Denied,
        "Use an account that is not READ ONLY; on a linked server, GRANT the privilege to the \
         link's account there.";
    /// Wrong user, host or password.
    AccessDenied = 1045, b"28000", Denied,
        "Check user, host and password; `docs/guides/lost-password.md` shows how to set a lost \
         one.";
    /// A statement needs a current database.
    NoDatabase = 1046, b"3D000", InvalidInput,
        "Run `USE database`, or write `database.table`.";
    /// A protocol command that does not exist.
    UnknownCommand = 1047, b"08S01", InvalidInput,
        "Use a client that sends only commands of MySQL 5.7 or later.";
    /// NULL where it is not allowed.
    ColumnCannotBeNull = 1048, b"23000", InvalidInput,
        "Give the column a value, or leave it out so that its default is stored.";
    /// No database of this name.
    UnknownDatabase = 1049, b"42000", NotFound,
        "Check the name with SHOW DATABASES; databases of a linked server appear when its account \
         may see them.";
    /// A table of this name is there already.
    TableExists = 1050, b"42S01", Conflict,
        "Choose another name, drop the table, or write IF NOT EXISTS.";
    /// No table of this name (in `DROP`).
    UnknownTable = 1051, b"42S02", NotFound,
        "Check the name with SHOW TABLES, or write IF EXISTS.";
    /// A column name that fits several tables.
    AmbiguousColumn = 1052, b"23000", InvalidInput,
        "Write the table or alias before the column.";
    /// The server is stopping.
    ServerShutdown = 1053, b"08S01", Unavailable,
        "Connect again when the server has started.";
    /// No column of this name.
    UnknownColumn = 1054, b"42S22", NotFound,
        "Check the name with SHOW COLUMNS; an alias of the select list cannot be used in WHERE.";
    /// A selected column that GROUP BY does not determine.
    WrongFieldWithGroup = 1055, b"42000", InvalidInput,
        "Add the column to GROUP BY, aggregate it, wrap it in ANY_VALUE(), or take \
         ONLY_FULL_GROUP_BY out of `sql_mode`.";
    /// Grouping by something that cannot be grouped by.
    WrongGroupField = 1056, b"42000", InvalidInput,
        "Group by a column or by an expression without aggregates.";
    /// A name longer than MySQL allows.
    NameTooLong = 1059, b"42000", InvalidInput,
        "Shorten the name to 64 characters.";
    /// Two columns of one name in a derived table.
    DuplicateColumn = 1060, b"42S21", InvalidInput,
        "Give one of the columns another name or alias.";
    /// Two keys of one name.
    DuplicateKeyName = 1061, b"42000", InvalidInput,
        "Choose another name for the key.";
    /// A primary or unique key has the value already.
    DuplicateKey = 1062, b"23000", Conflict,
        "Change the value, or write INSERT IGNORE, REPLACE or ON DUPLICATE KEY UPDATE.";
    /// A column definition that contradicts itself.
    WrongColumnDefinition = 1063, b"42000", InvalidInput,
        "Correct the definition of the column.";
    /// The statement is not SQL.
    Syntax = 1064, b"42000", InvalidInput,
        "Look at the text after `near`: it begins where the statement could not be read.";
    /// An empty statement.
    EmptyQuery = 1065, b"42000", InvalidInput,
        "Send a statement; a comment alone is none.";
    /// Two tables of one alias.
    NonUniqueTable = 1066, b"42000", InvalidInput,
        "Give each table of the FROM clause an alias of its own.";
    /// A default that its column cannot hold.
    InvalidDefault = 1067, b"42000", InvalidInput,
        "Choose a default that the type can hold under the present `sql_mode`.";
    /// Two primary keys.
    MultiplePrimaryKeys = 1068, b"42000", InvalidInput,
        "Define one primary key.";
    /// More keys than a table can have.
    TooManyKeys = 1069, b"42000", InvalidInput,
        "Define at most 64 keys.";
    /// More columns than a key can have.
    TooManyKeyParts = 1070, b"42000", InvalidInput,
        "Use at most 16 columns in a key.";
    /// A key names a column that the table lacks.
    KeyColumnMissing = 1072, b"42000", NotFound,
        "Add the column, or correct its name in the key.";
    /// A column longer than its type allows.
    ColumnTooLong = 1074, b"42000", InvalidInput,
        "Choose a shorter length, or TEXT or BLOB.";
    /// AUTO_INCREMENT where it cannot be.
    WrongAutoKey = 1075, b"42000", InvalidInput,
        "Define one AUTO_INCREMENT column, as the first column of a key.";
    /// What encloses or escapes fields of a file is no single byte.
    WrongFieldSeparator = 1083, b"42000", InvalidInput,
        "Use one single-byte character.";
    /// A prefix of a key that its column cannot have.
    WrongPrefix = 1089, b"HY000", InvalidInput,
        "Use a prefix of a text or binary column that is not longer than the column.";
    /// All columns of a table would be dropped.
    CannotRemoveAllColumns = 1090, b"42000", InvalidInput,
        "Use DROP TABLE.";
    /// `DROP` of a column or key that is not there.
    CannotDropColumnOrKey = 1091, b"42000", NotFound,
        "Check the name with SHOW CREATE TABLE.";
    /// A table that is written is also read.
    UpdateTableUsed = 1093, b"HY000", InvalidInput,
        "Read the table in a derived table, or in a statement before.";
    /// No connection or query of this id.
    NoSuchThread = 1094, b"HY000", NotFound,
        "Check the id with SHOW PROCESSLIST.";
    /// The connection belongs to another account.
    KillDenied = 1095, b"HY000", Denied,
        "Connect as the same account, or as one that is not READ ONLY.";
    /// `*` without a FROM clause.
    NoTablesUsed = 1096, b"HY000", InvalidInput,
        "Add a FROM clause, or name the columns.";
    /// A SET with more than 64 members.
    TooManySetMembers = 1097, b"HY000", InvalidInput,
        "Use at most 64 members, or a table of its own.";
    /// A TEXT or BLOB with a default.
    BlobCannotHaveDefault = 1101, b"42000", InvalidInput,
        "Leave the default out, or write it as an expression in parentheses.";
    /// A database name that cannot be.
    WrongDatabaseName = 1102, b"42000", InvalidInput,
        "Use a name of 1 to 64 characters that does not end in a blank.";
    /// A table name that cannot be.
    WrongTableName = 1103, b"42000", InvalidInput,
        "Use a name of 1 to 64 characters that does not end in a blank.";
    /// A parameter of a prepared statement that was sent in parts is too long.
    LongDataTooLong = 1105, b"HY000", Resource,
        "Raise `max_allowed_packet` on the server, or send less.";
    /// An internal error; the log has the details.
    Internal = 1105, b"HY000", Internal,
        "Look into the server's log, and report what it says.";
    /// A table name that no FROM clause gives.
    UnknownTableInFieldList = 1109, b"42S02", NotFound,
        "Add the table to the FROM clause, or use the alias that it has there.";
    /// A column named twice in an INSERT.
    ColumnSpecifiedTwice = 1110, b"42000", InvalidInput,
        "Name each column once.";
    /// An aggregate where none may stand.
    InvalidGroupFunction = 1111, b"HY000", InvalidInput,
        "Move the condition with the aggregate to HAVING.";
    /// A table without columns.
    TableWithoutColumns = 1113, b"42000", InvalidInput,
        "Define at least one column.";
    /// A memory or disk budget is used up.
    TableFull = 1114, b"HY000", Resource,
        "Free disk space or memory, or raise the limit that the message names.";
    /// No charset of this name.
    UnknownCharset = 1115, b"42000", NotFound,
        "Check the name with SHOW CHARACTER SET.";
    /// More tables than a join can have.
    TooManyTables = 1116, b"HY000", InvalidInput,
        "Join at most 61 tables; compute a part in a derived table that is stored first.";
    /// More columns than a table or a result can have.
    TooManyColumns = 1117, b"HY000", InvalidInput,
        "Use at most 4,096 columns.";
    /// A row is too large.
    RowTooLarge = 1118, b"42000", Resource,
        "Use TEXT or BLOB columns, or fewer and shorter ones.";
    /// The client's host may not connect.
    HostNotPrivileged = 1130, b"HY000", Denied,
        "Create an account for the client's host.";
    /// `SET PASSWORD` for an account that does not exist.
    PasswordNoMatch = 1133, b"42000", NotFound,
        "Check the name and the host of the account.";
    /// The row's value count does not fit the column count.
    WrongValueCount = 1136, b"21S01", InvalidInput,
        "Give as many values as the statement names columns.";
    /// NULL in a column that becomes NOT NULL.
    InvalidUseOfNull = 1138, b"22004", InvalidInput,
        "Replace the NULLs first.";
    /// Aggregates and plain columns in one select list without GROUP BY.
    MixOfGroupFunctions = 1140, b"42000", InvalidInput,
        "Add GROUP BY, aggregate the column, or wrap it in ANY_VALUE().";
    /// `SHOW GRANTS` or `SHOW CREATE USER` of an account that does not exist.
    NoSuchGrant = 1141, b"42000", NotFound,
        "Check the name and the host of the account.";
    /// The account lacks a right on a table.
    TableAccessDenied = 1142, b"42000", Denied,
        "Use an account that is not READ ONLY; on a linked server, GRANT the privilege to the \
         link's account there.";
    /// No table of this name.
    NoSuchTable = 1146, b"42S02", NotFound,
        "Check the name with SHOW TABLES; a mirror or table may have been dropped.";
    /// A command that this server does not execute.
    CommandNotAllowed = 1148, b"42000", Denied,
        "Use another client or command.";
    /// A packet above `max_allowed_packet`.
    PacketTooLarge = 1153, b"08S01", Resource,
        "Raise `max_allowed_packet` on the server and in the client, or send less at once.";
    /// A client sent packets out of order.
    PacketsOutOfOrder = 1156, b"08S01", InvalidInput,
        "Check that no two threads of the client share one connection.";
    /// The bytes of a packet end too early or too late.
    NetReadError = 1158, b"08S01", InvalidInput,
        "Check the network and the client's library.";
    /// A client took too long to send.
    NetReadInterrupted = 1159, b"08S01", Unavailable,
        "Raise `net_read_timeout`, or look for what slows the client down.";
    /// A column name that cannot be.
    WrongColumnName = 1166, b"42000", InvalidInput,
        "Choose another name for the column.";
    /// A column whose type cannot be part of a key.
    WrongKeyColumn = 1167, b"42000", InvalidInput,
        "Leave the column out of the key.";
    /// A TEXT or BLOB in a key without a length.
    BlobKeyWithoutLength = 1170, b"42000", InvalidInput,
        "Give the length of the prefix: `KEY (column(20))`.";
    /// A primary key column that can be NULL.
    PrimaryKeyNull = 1171, b"42000", InvalidInput,
        "Declare the column NOT NULL, or use UNIQUE.";
    /// `sql_safe_updates` is on, and no condition uses a key.
    SafeUpdates = 1175, b"HY000", Denied,
        "Add a condition on a key, or LIMIT, or switch `sql_safe_updates` off.";
    /// No key of this name.
    NoSuchKey = 1176, b"42000", NotFound,
        "Check the name with SHOW INDEX.";
    /// No system variable of this name.
    UnknownSystemVariable = 1193, b"HY000", NotFound,
        "Check the name with SHOW VARIABLES.";
    /// The lock was not granted in time.
    LockWaitTimeout = 1205, b"HY000", Conflict,
        "Run the statement again, or raise `lock_wait_timeout`.";
    /// Wrong arguments of a command.
    WrongArguments = 1210, b"HY000", InvalidInput,
        "Correct the argument that the message names.";
    /// Two transactions conflict.
    Deadlock = 1213, b"40001", Conflict,
        "Run the transaction again from its start.";
    /// Two clauses that do not go together.
    WrongUsage = 1221, b"HY000", InvalidInput,
        "Leave out one of the two clauses.";
    /// The parts of a UNION differ in their number of columns.
    WrongColumnCountInUnion = 1222, b"21000", InvalidInput,
        "Select the same number of columns in each part of the UNION.";
    /// A change while the session itself holds the global read lock.
    ConflictingReadLock = 1223, b"HY000", Conflict,
        "Run UNLOCK TABLES first.";
    /// A statement needs a right that the account lacks.
    SpecificAccessDenied = 1227, b"42000", Denied,
        "Use an account that is not READ ONLY; on a linked server, GRANT the privilege to the \
         link's account there.";
    /// A session variable was set as if it were a global one.
    LocalVariable = 1228, b"HY000", InvalidInput,
        "Use SET SESSION.";
    /// A global variable was set as if it were one of the session.
    GlobalVariable = 1229, b"HY000", InvalidInput,
        "Use SET GLOBAL.";
    /// A value that the variable cannot take.
    WrongValueForVariable = 1231, b"42000", InvalidInput,
        "Use a value that the reference page of variables lists.";
    /// A value of the wrong type for the variable.
    WrongTypeForVariable = 1232, b"42000", InvalidInput,
        "Use a number or a text, as the variable takes.";
    /// A variable that cannot be read.
    VariableNotReadable = 1233, b"HY000", InvalidInput,
        "Use another variable; this one can only be set.";
    /// MySQL has it, Pelorus refuses it rather than answer wrongly.
    NotSupportedYet = 1235, b"42000", InvalidInput,
        "Run the statement on the linked server, or write it without the construct that the \
         message names.";
    /// A variable that cannot be set.
    ReadOnlyVariable = 1238, b"HY000", InvalidInput,
        "The value is fixed by the build or the configuration file.";
    /// A subquery gave more columns than fit.
    OperandColumns = 1241, b"21000", InvalidInput,
        "Select as many columns as the comparison has on its other side.";
    /// A subquery gave more than one row.
    SubqueryRows = 1242, b"21000", InvalidInput,
        "Make the subquery unique with a condition, LIMIT 1 or an aggregate.";
    /// No prepared statement of this id.
    UnknownStatement = 1243, b"HY000", NotFound,
        "Prepare the statement again: it was closed, or belongs to another connection.";
    /// Every derived table must have its own alias.
    DerivedMustHaveAlias = 1248, b"42000", InvalidInput,
        "Write an alias after the derived table's closing parenthesis.";
    /// The authentication protocol is not one that the server speaks.
    AuthPluginNotSupported = 1251, b"08004", InvalidInput,
        "Use a newer client library, or another plugin for the account.";
    /// A collation that does not belong to the charset.
    CollationCharsetMismatch = 1253, b"42000", InvalidInput,
        "Choose a collation of the charset that SHOW COLLATION lists.";
    /// A result of GROUP_CONCAT was cut (a warning; under strict mode an error of writes).
    CutGroupConcat = 1260, b"HY000", Resource,
        "Raise `group_concat_max_len`.";
    /// A row of a file has too few fields.
    TooFewFields = 1261, b"01000", InvalidInput,
        "Correct the line of the file, or set a default for the columns that are missing.";
    /// A row of a file has too many fields.
    TooManyFields = 1262, b"01000", InvalidInput,
        "Correct the line of the file, or the separators of the statement.";
    /// NULL for a NOT NULL column was replaced (a warning).
    NullToNotNull = 1263, b"22004", InvalidInput,
        "Nothing; give a value to avoid the warning.";
    /// A value lies outside its column's range.
    OutOfRange = 1264, b"22003", InvalidInput,
        "Use a value in the type's range, or a wider type.";
    /// A value was cut (a warning or, under strict mode, an error).
    DataTruncated = 1265, b"01000", InvalidInput,
        "Use a value that the type can hold.";
    /// Two collations that cannot be compared.
    CollationMix = 1267, b"HY000", InvalidInput,
        "Add COLLATE to one of the two sides.";
    /// No collation of this name.
    UnknownCollation = 1273, b"HY000", NotFound,
        "Check the name with SHOW COLLATION.";
    /// A key name that cannot be.
    WrongKeyName = 1280, b"42000", InvalidInput,
        "Choose a name other than PRIMARY.";
    /// A column whose type a FULLTEXT key cannot have.
    WrongFullTextColumn = 1283, b"HY000", InvalidInput,
        "Use CHAR, VARCHAR or TEXT columns.";
    /// No storage engine of this name.
    UnknownEngine = 1286, b"42000", NotFound,
        "Leave ENGINE out.";
    /// A warning: syntax that MySQL will give up.
    DeprecatedSyntax = 1287, b"HY000", InvalidInput,
        "Use the syntax that the message names.";
    /// The target cannot be changed by this statement.
    NonUpdatableTable = 1288, b"HY000", InvalidInput,
        "Name a base table.";
    /// A server option or the account's rights do not allow the statement.
    OptionPreventsStatement = 1290, b"HY000", Denied,
        "Run the statement without the option that the message names.";
    /// A member of ENUM or SET that stands there twice.
    DuplicatedMember = 1291, b"HY000", InvalidInput,
        "Name each member once.";
    /// A value that does not fit the type that it is used as.
    TruncatedWrongValue = 1292, b"22007", InvalidInput,
        "Correct the value, or CAST it.";
    /// ON UPDATE for a column that cannot have it.
    InvalidOnUpdate = 1294, b"HY000", InvalidInput,
        "Use it with TIMESTAMP and DATETIME columns.";
    /// A statement that cannot be prepared.
    NotPreparable = 1295, b"HY000", InvalidInput,
        "Send the statement as text.";
    /// No time zone of this name.
    UnknownTimeZone = 1298, b"HY000", InvalidInput,
        "Use a name such as `Europe/Berlin`, an offset such as `+02:00`, or SYSTEM.";
    /// A TIMESTAMP that does not exist in the session's time zone.
    SkippedTimestamp = 1299, b"HY000", InvalidInput,
        "Use a time that exists in the time zone of the session.";
    /// Text that its charset does not allow.
    InvalidCharacterString = 1300, b"HY000", InvalidInput,
        "Send text in the connection's charset (`SET NAMES`).";
    /// The result of a function is longer than `max_allowed_packet`.
    ResultTooLong = 1301, b"HY000", Resource,
        "Raise `max_allowed_packet`.";
    /// No function of this name.
    NoSuchFunction = 1305, b"42000", NotFound,
        "Check the function's name; stored functions are those of a linked server.";
    /// The statement was stopped by `KILL QUERY`.
    QueryInterrupted = 1317, b"70100", Cancelled,
        "Nothing: the statement was stopped on request.";
    /// An object of another kind: a view for a table, or the reverse.
    WrongObject = 1347, b"HY000", InvalidInput,
        "Use the statement for this kind of object.";
    /// A list of column names does not fit the columns.
    ViewWrongList = 1353, b"HY000", InvalidInput,
        "Name as many columns as the query selects.";
    /// No trigger of this name.
    NoSuchTrigger = 1360, b"HY000", NotFound,
        "Triggers exist on linked servers only; or write IF EXISTS.";
    /// A column without default that the INSERT left out.
    NoDefaultForColumn = 1364, b"HY000", InvalidInput,
        "Give the column a value or a default.";
    /// A division by zero (a warning; under strict mode an error of writes).
    DivisionByZero = 1365, b"22012", InvalidInput,
        "Test the divisor, or use NULLIF.";
    /// A value that its column cannot take.
    WrongValueForColumn = 1366, b"HY000", InvalidInput,
        "Use a value of the column's type and charset.";
    /// A literal that its type cannot have.
    IllegalValueForType = 1367, b"22007", InvalidInput,
        "Correct the literal.";
    /// A prepared statement with too many parameters.
    TooManyParameters = 1390, b"HY000", Resource,
        "Split the statement: it may have 65,535 parameters.";
    /// `CREATE USER` of an account that exists, `DROP USER` of one that does not.
    CannotUser = 1396, b"HY000", Conflict,
        "Check which accounts exist, or write IF EXISTS or IF NOT EXISTS.";
    /// Data is too long for its column.
    DataTooLong = 1406, b"22001", InvalidInput,
        "Shorten the value, or widen the column.";
    /// A value that a function cannot convert.
    WrongValueForType = 1411, b"HY000", InvalidInput,
        "Correct the value that the message names.";
    /// A table is not what the statement was planned for; plan again.
    TableChanged = 1412, b"HY000", Conflict,
        "Run the statement or the transaction again.";
    /// FETCH from a statement without a cursor.
    StatementHasNoCursor = 1421, b"HY000", InvalidInput,
        "Execute the statement with a cursor before FETCH.";
    /// A scale that is too large.
    ScaleTooBig = 1425, b"42000", InvalidInput,
        "Use a scale of at most 30.";
    /// A precision that is too large.
    PrecisionTooBig = 1426, b"42000", InvalidInput,
        "Use at most 65 digits, or 6 of fractional seconds.";
    /// A scale that is larger than its precision.
    ScaleAbovePrecision = 1427, b"42000", InvalidInput,
        "Make the precision at least as large as the scale.";
    /// A linked server cannot be reached.
    ConnectToForeign = 1429, b"HY000", Unavailable,
        "Check host, port and network of the linked server, and whether it runs.";
    /// A linked server failed in the middle of a statement.
    QueryOnForeign = 1430, b"HY000", Unavailable,
        "Check the linked server's log, and run the statement again.";
    /// A display width that is too large.
    TooBigDisplayWidth = 1439, b"42000", InvalidInput,
        "Leave the width out.";
    /// A date computation left the range of dates.
    DatetimeOverflow = 1441, b"22008", InvalidInput,
        "Use an interval whose result lies between the years 0 and 9999.";
    /// The row would break a foreign key of this table.
    ForeignKeyChild = 1452, b"23000", Conflict,
        "Insert the referenced row first.";
    /// The session holds as many prepared statements as it may.
    TooManyPrepared = 1461, b"42000", Resource,
        "Close prepared statements, or raise `max_prepared_stmt_count`.";
    /// AUTO_INCREMENT has no value left.
    AutoIncrementFailed = 1467, b"HY000", Resource,
        "Use a wider type for the column.";
    /// A server of this name is linked already.
    ServerExists = 1476, b"HY000", Conflict,
        "Choose another name, or ALTER SERVER.";
    /// No linked server of this name.
    NoSuchServer = 1477, b"HY000", NotFound,
        "Check the name with SHOW SERVERS.";
    /// A partition of RANGE or LIST without VALUES.
    PartitionNeedsValues = 1479, b"HY000", InvalidInput,
        "Give every partition its VALUES.";
    /// A partition bound that is no constant or has the wrong type.
    PartitionBound = 1480, b"HY000", InvalidInput,
        "Give a constant of the partitioning expression's type.";
    /// MAXVALUE before the last partition.
    MaxvalueNotLast = 1481, b"HY000", InvalidInput,
        "Use MAXVALUE in the last partition.";
    /// A number of partitions other than that of the partitions defined.
    WrongNumberOfPartitions = 1484, b"HY000", InvalidInput,
        "Make the two numbers equal, or leave PARTITIONS out.";
    /// A partitioning expression that is constant, random or depends on the time zone.
    PartitionExpressionNotDeterministic = 1486, b"HY000", InvalidInput,
        "Use an expression of the row's columns alone.";
    /// A partitioning column that the table lacks.
    PartitionFieldMissing = 1488, b"HY000", NotFound,
        "Correct the name of the column.";
    /// A partitioning expression that gives no integer.
    PartitionExpressionType = 1491, b"HY000", InvalidInput,
        "Use an expression of integer type, or RANGE COLUMNS or LIST COLUMNS.";
    /// RANGE or LIST without partitions.
    PartitionsNotDefined = 1492, b"HY000", InvalidInput,
        "Define the partitions.";
    /// Partitions of RANGE whose bounds do not rise.
    PartitionRangeNotIncreasing = 1493, b"HY000", InvalidInput,
        "Order the partitions by rising bounds.";
    /// A value in two partitions of LIST.
    PartitionListTwice = 1495, b"HY000", InvalidInput,
        "List each value in one partition.";
    /// Too many partitions.
    TooManyPartitions = 1499, b"HY000", Resource,
        "Use fewer partitions.";
    /// A TEXT or BLOB column in the partitioning expression.
    BlobInPartition = 1502, b"HY000", InvalidInput,
        "Use columns of other types.";
    /// The partition expression is no function of the primary key.
    PartitionNotInKey = 1503, b"HY000", InvalidInput,
        "Add the columns of the partitioning expression to every unique key.";
    /// Zero partitions.
    NoPartitions = 1504, b"HY000", InvalidInput,
        "Use at least one partition.";
    /// Partition management of a table without partitions.
    NotPartitioned = 1505, b"HY000", InvalidInput,
        "Partition the table with ALTER TABLE ... PARTITION BY.";
    /// `DROP PARTITION` of one that is not there.
    DropPartitionMissing = 1507, b"HY000", NotFound,
        "Check the names in information_schema.partitions.";
    /// `DROP PARTITION` of all partitions.
    DropLastPartition = 1508, b"HY000", InvalidInput,
        "Use DROP TABLE, or TRUNCATE TABLE.";
    /// COALESCE PARTITION of RANGE or LIST.
    CoalesceOnlyHash = 1509, b"HY000", InvalidInput,
        "Use DROP or REORGANIZE PARTITION.";
    /// REORGANIZE PARTITION without names for RANGE or LIST.
    ReorganizeNeedsNames = 1511, b"HY000", InvalidInput,
        "Name the partitions and define their successors.";
    /// Partition management that this kind of partitioning does not have.
    OnlyOnRangeList = 1512, b"HY000", InvalidInput,
        "Use COALESCE or ADD PARTITION PARTITIONS for HASH and KEY.";
    /// ADD PARTITION of zero partitions.
    NoPartitionsToAdd = 1514, b"HY000", InvalidInput,
        "Add at least one.";
    /// COALESCE PARTITION of zero partitions.
    NoPartitionsToRemove = 1515, b"HY000", InvalidInput,
        "Remove at least one.";
    /// Two partitions of one name.
    SamePartitionName = 1517, b"HY000", InvalidInput,
        "Give each partition a name of its own.";
    /// REORGANIZE of partitions that do not follow one another.
    ReorganizeNotConsecutive = 1519, b"HY000", InvalidInput,
        "Name partitions that are neighbours.";
    /// REORGANIZE that changes the range that the partitions cover.
    ReorganizeOutsideRange = 1520, b"HY000", InvalidInput,
        "Keep the total range; only the last partition may extend it.";
    /// No authentication plugin of this name.
    PluginNotLoaded = 1524, b"HY000", NotFound,
        "Use `caching_sha2_password` or `mysql_native_password`.";
    /// A value that an option cannot have.
    WrongOptionValue = 1525, b"HY000", InvalidInput,
        "Use a value that the message's option allows.";
    /// A row fits no partition.
    NoPartitionForValue = 1526, b"HY000", InvalidInput,
        "Add a partition for the value.";
    /// No event of this name.
    NoSuchEvent = 1539, b"HY000", NotFound,
        "Events exist on linked servers only; or write IF EXISTS.";
    /// A partition bound outside the domain of the partitioning expression.
    PartitionConstantDomain = 1563, b"HY000", InvalidInput,
        "Use a bound in the domain.";
    /// A function that a partition expression cannot use.
    PartitionFunction = 1564, b"HY000", InvalidInput,
        "Use a function that MySQL's manual lists for partitioning.";
    /// NULL in VALUES LESS THAN.
    NullPartitionBound = 1566, b"HY000", InvalidInput,
        "Use a value; rows with NULL lie in the first partition.";
    /// A characteristic of the transaction was changed while it runs.
    TransactionInProgress = 1568, b"25001", Conflict,
        "COMMIT or ROLLBACK first.";
    /// A function was called with the wrong number of arguments.
    WrongParameterCount = 1582, b"42000", InvalidInput,
        "Check the function's arguments in MySQL's manual.";
    /// A function was called with arguments that it cannot take.
    WrongParametersToFunction = 1583, b"42000", InvalidInput,
        "Check the types and values of the function's arguments in MySQL's manual.";
    /// A partitioning column that is named twice.
    PartitionFieldTwice = 1652, b"HY000", InvalidInput,
        "Name each column once.";
    /// Bounds that have another number of columns than the partitioning.
    PartitionColumnLists = 1653, b"HY000", InvalidInput,
        "Give one value for each partitioning column.";
    /// A bound of another type than its partitioning column.
    PartitionColumnType = 1654, b"HY000", InvalidInput,
        "Use a value of the column's type.";
    /// A column whose type a partitioning cannot have.
    PartitionFieldType = 1659, b"HY000", InvalidInput,
        "Use another column, or RANGE COLUMNS or LIST COLUMNS.";
    /// A number left the range of its type.
    DataOutOfRange = 1690, b"22003", InvalidInput,
        "Use a wider type: CAST an operand to DECIMAL or DOUBLE.";
    /// A bound that is no integer.
    PartitionBoundNotInteger = 1697, b"HY000", InvalidInput,
        "Use an integer, or RANGE COLUMNS or LIST COLUMNS.";
    /// A partition that the statement names is not there.
    UnknownPartition = 1735, b"HY000", NotFound,
        "Check the names in information_schema.partitions.";
    /// An event of a linked server's binlog that is not what its checksum says.
    BinlogChecksum = 1744, b"HY000", Unavailable,
        "Check the linked server's disk and network; the mirror reads the event again.";
    /// A PARTITION clause for a table without partitions.
    PartitionClauseOnUnpartitioned = 1747, b"HY000", InvalidInput,
        "Leave the clause out.";
    /// A row lies outside the partitions that the statement names.
    RowOutsidePartitions = 1748, b"HY000", InvalidInput,
        "Leave out the PARTITION clause, or name the row's partition.";
    /// The statement writes, the transaction or account only reads.
    ReadOnlyTransaction = 1792, b"25006", Denied,
        "End the READ ONLY transaction, or use an account that may write.";
    /// A password that no account can have.
    NotValidPassword = 1819, b"HY000", InvalidInput,
        "Choose a password that the policy allows.";
    /// A password hash that its plugin does not write.
    PasswordFormat = 1827, b"HY000", InvalidInput,
        "Give a hash that the plugin writes.";
    /// A column that a foreign key uses cannot be dropped.
    ForeignKeyNeedsColumn = 1828, b"HY000", Conflict,
        "Drop the foreign key first.";
    /// A packet whose lengths contradict its bytes.
    MalformedPacket = 1835, b"HY000", InvalidInput,
        "Check the client's library and the network.";
    /// The statement took longer than its `max_statement_time` (MariaDB).
    StatementTimeout = 1969, b"70100", Resource,
        "Raise `max_statement_time`, or make the query read less.";
    /// A logarithm of zero or of a negative number (a warning; under strict mode an error of
    /// writes).
    InvalidLogarithm = 3020, b"2201E", InvalidInput,
        "Test the argument.";
    /// The statement took longer than `max_execution_time`.
    ExecutionTimeout = 3024, b"HY000", Resource,
        "Raise `max_execution_time`, or make the query read less.";
    /// ORDER BY aggregates rows that nothing else aggregates.
    AggregateOrderNonAggregated = 3029, b"HY000", InvalidInput,
        "Aggregate the other columns too, or add GROUP BY.";
    /// A name that no user-level lock can have.
    UserLockWrongName = 3057, b"42000", InvalidInput,
        "Use a name of 1 to 64 characters.";
    /// Sessions wait for each other's user-level locks.
    UserLockDeadlock = 3058, b"HY000", Conflict,
        "Release a lock, and take the locks in one order everywhere.";
    /// DISTINCT is ordered by a column that is not selected.
    FieldInOrderNotSelected = 3065, b"HY000", InvalidInput,
        "Select the column, or order by one that is selected.";
    /// DISTINCT is ordered by an aggregate that is not selected.
    AggregateInOrderNotSelected = 3066, b"HY000", InvalidInput,
        "Select the aggregate, or order by a column that is selected.";
    /// A generated column with a construct that it cannot use.
    GeneratedColumnFunction = 3102, b"HY000", InvalidInput,
        "Use columns of the row and deterministic functions.";
    /// A value for a generated column.
    GeneratedColumnValue = 3105, b"HY000", InvalidInput,
        "Leave the column out, or write DEFAULT.";
    /// A clause that generated columns cannot have.
    GeneratedColumnUnsupported = 3106, b"HY000", InvalidInput,
        "Leave the clause out, or make the column a stored one.";
    /// A generated column that refers to a later generated column.
    GeneratedColumnNotPrior = 3107, b"HY000", InvalidInput,
        "Define the other column first.";
    /// A generated column depends on the column.
    DependsOnGeneratedColumn = 3108, b"HY000", Conflict,
        "Drop or change the generated column first.";
    /// A generated column that refers to an AUTO_INCREMENT column.
    GeneratedColumnAutoIncrement = 3109, b"HY000", InvalidInput,
        "Refer to another column.";
    /// The account may not log in.
    AccountLocked = 3118, b"HY000", Denied,
        "Ask an administrator for ALTER USER ... ACCOUNT UNLOCK.";
    /// Text that is no JSON.
    InvalidJsonText = 3140, b"22032", InvalidInput,
        "Correct the text at the position that the message names.";
    /// Bytes that have no charset, for a JSON column.
    InvalidJsonCharset = 3144, b"22032", InvalidInput,
        "CONVERT the value to utf8mb4.";
    /// A key of a JSON column.
    JsonKey = 3152, b"42000", InvalidInput,
        "Define a key of a generated column that extracts a value.";
    /// JSON with more than 100 levels.
    JsonTooDeep = 3157, b"22032", Resource,
        "Use fewer levels.";
    /// Connections must be encrypted.
    SecureTransportRequired = 3159, b"HY000", Denied,
        "Connect with TLS or through the local socket.";
    /// `require_secure_transport` cannot be set: connections cannot be encrypted.
    NoSecureTransports = 3160, b"HY000", InvalidInput,
        "Configure a certificate and key first.";
    /// FOR UPDATE OF a table that the query does not have.
    UnresolvedLockTable = 3568, b"HY000", NotFound,
        "Name a table or alias of the FROM clause.";
    /// A window has no definition.
    NoSuchWindow = 3579, b"HY000", InvalidInput,
        "Define the window in the WINDOW clause.";
    /// Windows depend on each other.
    WindowCircularity = 3580, b"HY000", InvalidInput,
        "Remove one of the references between the windows.";
    /// A window that depends on another has partitions of its own.
    WindowChildPartitioning = 3581, b"HY000", InvalidInput,
        "Leave out PARTITION BY: it comes from the window that is referenced.";
    /// A window depends on one with a frame.
    WindowFrameInherited = 3582, b"HY000", InvalidInput,
        "Leave the frame out of the window that is referenced.";
    /// A window and the one that it depends on are both ordered.
    WindowOrderRedefined = 3583, b"HY000", InvalidInput,
        "Leave ORDER BY out of one of the two windows.";
    /// A frame begins at its end.
    WindowFrameStart = 3584, b"HY000", InvalidInput,
        "Begin the frame before its end.";
    /// A frame ends at its beginning.
    WindowFrameEnd = 3585, b"HY000", InvalidInput,
        "End the frame after its beginning.";
    /// A frame has bounds that cannot be.
    WindowFrameIllegal = 3586, b"HY000", InvalidInput,
        "Write BETWEEN with a start that comes before the end.";
    /// A frame by values whose window is not ordered by one number or time.
    WindowRangeOrder = 3587, b"HY000", InvalidInput,
        "Order the window by one numeric or temporal expression.";
    /// Two windows of a block have one name.
    WindowDuplicateName = 3591, b"HY000", InvalidInput,
        "Give the windows different names.";
    /// A window is ordered or partitioned by the number of a column.
    WindowLegacyOrder = 3592, b"HY000", InvalidInput,
        "Order by the expression in place of its position.";
    /// A window function stands where none may be.
    InvalidWindowFunctionUse = 3593, b"HY000", InvalidInput,
        "Use the window function in the select list or in ORDER BY only.";
    /// The alias of a window function stands where none may be.
    WindowAliasMisplaced = 3594, b"HY000", InvalidInput,
        "Compute the window function in a derived table, and refer to it from outside.";
    /// More arguments of a function than it can have.
    TooManyArguments = 3601, b"HY000", InvalidInput,
        "Use fewer arguments.";
    /// A pattern that is not a regular expression.
    RegularExpression = 3685, b"HY000", InvalidInput,
        "Correct the regular expression at the place that the message names.";
    /// A table without a primary key where one is required.
    PrimaryKeyRequired = 3750, b"HY000", InvalidInput,
        "Add a primary key, or switch `sql_require_primary_key` off.";
    /// A primary key of expressions.
    FunctionalPrimaryKey = 3756, b"HY000", InvalidInput,
        "Use columns, or a stored generated column.";
    /// A FULLTEXT key of expressions.
    FunctionalFullTextKey = 3759, b"HY000", InvalidInput,
        "Use columns.";
    /// A function that generated columns cannot use.
    GeneratedColumnNamedFunction = 3763, b"HY000", InvalidInput,
        "Use a deterministic built-in function.";
    /// A row value in a generated column.
    GeneratedColumnRowValue = 3764, b"HY000", InvalidInput,
        "Compare columns one by one.";
    /// A default of another column depends on the column.
    DependsOnDefault = 3766, b"HY000", Conflict,
        "Change the default first.";
    /// A default that refers to a later column with a default by expression.
    DefaultNotPrior = 3767, b"HY000", InvalidInput,
        "Define the other column first.";
    /// A default that refers to an AUTO_INCREMENT column.
    DefaultAutoIncrement = 3768, b"HY000", InvalidInput,
        "Refer to another column.";
    /// A default with a construct that it cannot use.
    DefaultFunction = 3769, b"HY000", InvalidInput,
        "Use columns and built-in functions.";
    /// A function that defaults cannot use.
    DefaultNamedFunction = 3770, b"HY000", InvalidInput,
        "Use a built-in function.";
    /// A row value in a default.
    DefaultRowValue = 3771, b"HY000", InvalidInput,
        "Use single values.";
    /// A variable in a default or a generated column.
    DefaultVariable = 3772, b"HY000", InvalidInput,
        "Use a constant.";
    /// DEFAULT() of a column whose default is an expression.
    DefaultOfExpression = 3773, b"HY000", InvalidInput,
        "Write the expression.";
    /// A CHECK that is no condition.
    CheckNotBoolean = 3812, b"HY000", InvalidInput,
        "Write a comparison.";
    /// The CHECK of a column that refers to other columns.
    CheckOtherColumn = 3813, b"HY000", InvalidInput,
        "Define the constraint of the table.";
    /// A function that CHECK cannot use.
    CheckNamedFunction = 3814, b"HY000", InvalidInput,
        "Use a deterministic built-in function.";
    /// A CHECK with a construct that it cannot use.
    CheckFunction = 3815, b"HY000", InvalidInput,
        "Use columns of the row and deterministic functions.";
    /// A variable in a CHECK.
    CheckVariable = 3816, b"HY000", InvalidInput,
        "Use a constant.";
    /// A row value in a CHECK.
    CheckRowValue = 3817, b"HY000", InvalidInput,
        "Compare columns one by one.";
    /// A CHECK that refers to an AUTO_INCREMENT column.
    CheckAutoIncrement = 3818, b"HY000", InvalidInput,
        "Refer to another column.";
    /// A row breaks a CHECK constraint.
    CheckViolated = 3819, b"HY000", InvalidInput,
        "Correct the row, or the constraint.";
    /// A CHECK that refers to a column that the table lacks.
    CheckUnknownColumn = 3820, b"HY000", NotFound,
        "Correct the name of the column.";
    /// No CHECK constraint of this name.
    NoSuchCheck = 3821, b"HY000", NotFound,
        "Check the name with SHOW CREATE TABLE.";
    /// Two CHECK constraints of one name in a database.
    DuplicateCheck = 3822, b"HY000", InvalidInput,
        "Choose another name, or leave it out.";
    /// A key of an expression depends on the column.
    DependsOnFunctionalKey = 3837, b"HY000", Conflict,
        "Drop the key first.";
    /// The partitioning depends on the column.
    DependsOnPartitioning = 3855, b"HY000", Conflict,
        "Change the partitioning first.";
    /// No constraint of this name.
    NoSuchConstraint = 3940, b"HY000", NotFound,
        "Check the name with SHOW CREATE TABLE.";
    /// `LOAD DATA LOCAL` is switched off.
    LocalInfileDisabled = 3948, b"42000", Denied,
        "Set `local_infile` on the server and in the client.";
    /// The account is locked after failed logins.
    AccountBlocked = 3955, b"HY000", Denied,
        "Wait until the lock of the account ends, or ask an administrator for ACCOUNT UNLOCK.";
    /// A CHECK constraint depends on the column.
    DependsOnCheck = 3959, b"HY000", Conflict,
        "Drop the constraint first.";
    /// A table without a visible column.
    NoVisibleColumn = 4028, b"HY000", InvalidInput,
        "Leave at least one column visible.";
    /// A client was idle for longer than `wait_timeout`.
    ClientInteractionTimeout = 4031, b"HY000", Unavailable,
        "Connect again; pools should test connections or raise `wait_timeout`.";
    /// More windows in a block than it can have.
    TooManyWindows = 4086, b"HY000", InvalidInput,
        "Name windows in the WINDOW clause and use them several times.";
    /// A column has the name of the generated invisible primary key.
    InvisibleKeyColumnExists = 4108, b"HY000", Conflict,
        "Define a primary key, or rename the column.";
    /// An AUTO_INCREMENT column where an invisible primary key would be generated.
    InvisibleKeyAutoIncrement = 4109, b"HY000", Conflict,
        "Make that column the primary key.";
    /// A name of a user-level lock with too many characters.
    UserLockLongName = 4163, b"42000", InvalidInput,
        "Use a name of at most 64 characters.";
    /// More keys of GROUP BY than ROLLUP can have.
    TooManyRolledUp = 6034, b"HY000", InvalidInput,
        "Use at most 64 keys.";
    /// An argument of a date function is out of range (a warning; under strict mode an error of
    /// writes).
    ArgumentOutOfRange = 6527, b"22008", InvalidInput,
        "Use a smaller value.";
    /// A moment that lies before the table's history.
    HistoryTooOld = 9006, b"HY000", InvalidInput,
        "Name a later moment, or raise the table option `HISTORY`.";
}
