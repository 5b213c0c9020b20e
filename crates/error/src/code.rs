//! The one table of error codes: name, MySQL number, SQL state, class.

/// What a caller can do about a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Class {
    /// The statement or request is at fault; repeating it fails the same way.
    InvalidInput,
    /// An object was named that does not exist.
    NotFound,
    /// Another write or an existing object stands in the way.
    Conflict,
    /// The user may not do this.
    Denied,
    /// A limit of memory, disk, time or count was reached.
    Resource,
    /// A server is away or stopping; the same input may work later.
    Unavailable,
    /// Somebody asked for the work to stop.
    Cancelled,
    /// An invariant does not hold.
    Internal,
}

/// Number and state of an error that a linked server raised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RemoteCode {
    /// The server's error number.
    pub errno: u16,
    /// The server's SQL state.
    pub sqlstate: [u8; 5],
}

macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $errno:literal, $state:literal, $class:ident;)*) => {
        /// A stable error code. Numbers and states are MySQL's own where it has the error.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[non_exhaustive]
        pub enum Code {
            $($(#[$doc])* $name,)*
            /// Raised by a linked server and handed on unchanged.
            Remote(RemoteCode),
        }

        impl Code {
            /// Every code that Pelorus raises itself, with its name.
            pub const ALL: &'static [(Code, &'static str)] =
                &[$((Code::$name, stringify!($name)),)*];

            /// The MySQL error number.
            pub fn errno(self) -> u16 {
                match self {
                    $(Code::$name => $errno,)*
                    Code::Remote(remote) => remote.errno,
                }
            }

            /// The five characters of the SQL state.
            pub fn sqlstate(self) -> [u8; 5] {
                match self {
                    $(Code::$name => *$state,)*
                    Code::Remote(remote) => remote.sqlstate,
                }
            }

            /// What a caller can do about it.
            pub fn class(self) -> Class {
                match self {
                    $(Code::$name => Class::$class,)*
                    Code::Remote(_) => Class::InvalidInput,
                }
            }
        }
    };
}

codes! {
    /// A query needs more memory than it may use.
    OutOfMemory = 1041, b"HY000", Resource;
    /// The server has as many connections as it allows.
    TooManyConnections = 1040, b"08004", Resource;
    /// The handshake was not understood.
    BadHandshake = 1043, b"08S01", InvalidInput;
    /// The account may not use this database.
    DatabaseAccessDenied = 1044, b"42000", Denied;
    /// Wrong user, host or password.
    AccessDenied = 1045, b"28000", Denied;
    /// A statement needs a current database.
    NoDatabase = 1046, b"3D000", InvalidInput;
    /// A protocol command that does not exist.
    UnknownCommand = 1047, b"08S01", InvalidInput;
    /// NULL where it is not allowed.
    ColumnCannotBeNull = 1048, b"23000", InvalidInput;
    /// No database of this name.
    UnknownDatabase = 1049, b"42000", NotFound;
    /// A table of this name is there already.
    TableExists = 1050, b"42S01", Conflict;
    /// No table of this name (in `DROP`).
    UnknownTable = 1051, b"42S02", NotFound;
    /// A column name that fits several tables.
    AmbiguousColumn = 1052, b"23000", InvalidInput;
    /// The server is stopping.
    ServerShutdown = 1053, b"08S01", Unavailable;
    /// No column of this name.
    UnknownColumn = 1054, b"42S22", NotFound;
    /// A selected column that GROUP BY does not determine.
    WrongFieldWithGroup = 1055, b"42000", InvalidInput;
    /// Grouping by something that cannot be grouped by.
    WrongGroupField = 1056, b"42000", InvalidInput;
    /// Two columns of one name in a derived table.
    DuplicateColumn = 1060, b"42S21", InvalidInput;
    /// The statement is not SQL.
    Syntax = 1064, b"42000", InvalidInput;
    /// An empty statement.
    EmptyQuery = 1065, b"42000", InvalidInput;
    /// Two tables of one alias.
    NonUniqueTable = 1066, b"42000", InvalidInput;
    /// No connection or query of this id.
    NoSuchThread = 1094, b"HY000", NotFound;
    /// The id belongs to somebody else.
    KillDenied = 1095, b"HY000", Denied;
    /// `*` without a FROM clause.
    NoTablesUsed = 1096, b"HY000", InvalidInput;
    /// Something of Pelorus's own is broken; the log has the details.
    Internal = 1105, b"HY000", Internal;
    /// A table name that no FROM clause gives.
    UnknownTableInFieldList = 1109, b"42S02", NotFound;
    /// An aggregate where none may stand.
    InvalidGroupFunction = 1111, b"HY000", InvalidInput;
    /// A row is too large.
    RowTooLarge = 1118, b"42000", Resource;
    /// The client's host may not connect.
    HostNotPrivileged = 1130, b"HY000", Denied;
    /// `SET PASSWORD` for an account that does not exist.
    PasswordNoMatch = 1133, b"42000", NotFound;
    /// The row's value count does not fit the column count.
    WrongValueCount = 1136, b"21S01", InvalidInput;
    /// Aggregates beside plain columns without GROUP BY.
    MixOfGroupFunctions = 1140, b"42000", InvalidInput;
    /// The account lacks a right on a table.
    TableAccessDenied = 1142, b"42000", Denied;
    /// No table of this name.
    NoSuchTable = 1146, b"42S02", NotFound;
    /// A packet above `max_allowed_packet`.
    PacketTooLarge = 1153, b"08S01", Resource;
    /// The bytes of a packet end or go on where they must not.
    NetReadError = 1158, b"08S01", InvalidInput;
    /// A client took too long to send.
    NetReadInterrupted = 1159, b"08S01", Unavailable;
    /// A client sent packets out of order.
    PacketsOutOfOrder = 1156, b"08S01", InvalidInput;
    /// No system variable of this name.
    UnknownSystemVariable = 1193, b"HY000", NotFound;
    /// The lock was not to be had in time.
    LockWaitTimeout = 1205, b"HY000", Conflict;
    /// Wrong arguments of a command.
    WrongArguments = 1210, b"HY000", InvalidInput;
    /// Two transactions stand in each other's way; roll back and try again.
    Deadlock = 1213, b"40001", Conflict;
    /// A subquery gave more columns than fit.
    OperandColumns = 1241, b"21000", InvalidInput;
    /// A subquery gave more than one row.
    SubqueryRows = 1242, b"21000", InvalidInput;
    /// The parts of a UNION differ in their number of columns.
    WrongColumnCountInUnion = 1222, b"21000", InvalidInput;
    /// No prepared statement of this id.
    UnknownStatement = 1243, b"HY000", NotFound;
    /// A statement needs a right that the account lacks.
    SpecificAccessDenied = 1227, b"42000", Denied;
    /// A global variable was set as if it were one of the session.
    GlobalVariable = 1229, b"HY000", InvalidInput;
    /// A value that the variable cannot take.
    WrongValueForVariable = 1231, b"42000", InvalidInput;
    /// A value of the wrong type for the variable.
    WrongTypeForVariable = 1232, b"42000", InvalidInput;
    /// A variable that cannot be read.
    VariableNotReadable = 1233, b"HY000", InvalidInput;
    /// MySQL has it, Pelorus refuses it rather than answer wrongly.
    NotSupportedYet = 1235, b"42000", InvalidInput;
    /// A variable that cannot be set.
    ReadOnlyVariable = 1238, b"HY000", InvalidInput;
    /// Every derived table must have its own alias.
    DerivedMustHaveAlias = 1248, b"42000", InvalidInput;
    /// The authentication protocol is not one that the server speaks.
    AuthPluginNotSupported = 1251, b"08004", InvalidInput;
    /// A value lies outside its column's range.
    OutOfRange = 1264, b"22003", InvalidInput;
    /// Two collations that cannot be compared.
    CollationMix = 1267, b"HY000", InvalidInput;
    /// No collation of this name.
    UnknownCollation = 1273, b"HY000", NotFound;
    /// A collation that does not belong to the charset.
    CollationCharsetMismatch = 1253, b"42000", InvalidInput;
    /// No charset of this name.
    UnknownCharset = 1115, b"42000", NotFound;
    /// The account runs with read-only rights.
    OptionPreventsStatement = 1290, b"HY000", Denied;
    /// A value that does not fit the type that it is used as.
    TruncatedWrongValue = 1292, b"22007", InvalidInput;
    /// A prepared statement with too many parameters.
    TooManyParameters = 1390, b"HY000", Resource;
    /// `CREATE USER` of an account that exists, `DROP USER` of one that does not.
    CannotUser = 1396, b"HY000", Conflict;
    /// Text that its charset does not allow.
    InvalidCharacterString = 1300, b"HY000", InvalidInput;
    /// No function of this name.
    NoSuchFunction = 1305, b"42000", NotFound;
    /// The statement was stopped by `KILL QUERY`.
    QueryInterrupted = 1317, b"70100", Cancelled;
    /// A table is not what the statement was planned for; plan again.
    TableChanged = 1412, b"HY000", Conflict;
    /// Data is too long for its column.
    DataTooLong = 1406, b"22001", InvalidInput;
    /// A list of column names does not fit the columns.
    ViewWrongList = 1353, b"HY000", InvalidInput;
    /// A linked server cannot be reached.
    ConnectToForeign = 1429, b"HY000", Unavailable;
    /// A linked server failed in the middle of a statement.
    QueryOnForeign = 1430, b"HY000", Unavailable;
    /// A server of this name is linked already.
    ServerExists = 1476, b"HY000", Conflict;
    /// No linked server of this name.
    NoSuchServer = 1477, b"HY000", NotFound;
    /// A change while the session itself holds the global read lock.
    ConflictingReadLock = 1223, b"HY000", Conflict;
    /// A warning: syntax that MySQL will give up.
    DeprecatedSyntax = 1287, b"HY000", InvalidInput;
    /// A function was called with the wrong number of arguments.
    WrongParameterCount = 1582, b"42000", InvalidInput;
    /// A function was called with arguments that it cannot take.
    WrongParametersToFunction = 1583, b"42000", InvalidInput;
    /// No authentication plugin of this name.
    PluginNotLoaded = 1524, b"HY000", NotFound;
    /// A number left the range of its type.
    DataOutOfRange = 1690, b"22003", InvalidInput;
    /// The statement writes, the transaction or account only reads.
    ReadOnlyTransaction = 1792, b"25006", Denied;
    /// The statement took longer than `max_execution_time`.
    ExecutionTimeout = 3024, b"HY000", Resource;
    /// A name that no user-level lock can have.
    UserLockWrongName = 3057, b"42000", InvalidInput;
    /// A name of a user-level lock with too many characters.
    UserLockLongName = 4163, b"42000", InvalidInput;
    /// Sessions wait for each other's user-level locks.
    UserLockDeadlock = 3058, b"HY000", Conflict;
    /// FETCH from a statement whose rows are not kept.
    StatementHasNoCursor = 1421, b"HY000", InvalidInput;
    /// A packet whose bytes do not add up.
    MalformedPacket = 1835, b"HY000", InvalidInput;
    /// An event of a linked server's binlog that is not what its checksum says.
    BinlogChecksum = 1744, b"HY000", Unavailable;
    /// The account may not log in.
    AccountLocked = 3118, b"HY000", Denied;
    /// The account is locked after failed logins.
    AccountBlocked = 3955, b"HY000", Denied;
    /// A window has no definition.
    NoSuchWindow = 3579, b"HY000", InvalidInput;
    /// Windows depend on each other.
    WindowCircularity = 3580, b"HY000", InvalidInput;
    /// A window that depends on another has partitions of its own.
    WindowChildPartitioning = 3581, b"HY000", InvalidInput;
    /// A window depends on one with a frame.
    WindowFrameInherited = 3582, b"HY000", InvalidInput;
    /// A window and the one that it depends on are both ordered.
    WindowOrderRedefined = 3583, b"HY000", InvalidInput;
    /// A frame begins at its end.
    WindowFrameStart = 3584, b"HY000", InvalidInput;
    /// A frame ends at its beginning.
    WindowFrameEnd = 3585, b"HY000", InvalidInput;
    /// A frame has bounds that cannot be.
    WindowFrameIllegal = 3586, b"HY000", InvalidInput;
    /// A frame by values whose window is not ordered by one number or time.
    WindowRangeOrder = 3587, b"HY000", InvalidInput;
    /// Two windows of a block have one name.
    WindowDuplicateName = 3591, b"HY000", InvalidInput;
    /// More windows in a block than there may be.
    TooManyWindows = 4086, b"HY000", InvalidInput;
    /// More arguments of a function than there may be.
    TooManyArguments = 3601, b"HY000", InvalidInput;
    /// More keys of GROUP BY than can be rolled up.
    TooManyRolledUp = 6034, b"HY000", InvalidInput;
    /// A window is ordered or partitioned by the number of a column.
    WindowLegacyOrder = 3592, b"HY000", InvalidInput;
    /// A window function stands where none may be.
    InvalidWindowFunctionUse = 3593, b"HY000", InvalidInput;
    /// The alias of a window function stands where none may be.
    WindowAliasMisplaced = 3594, b"HY000", InvalidInput;
    /// ORDER BY aggregates rows that nothing else aggregates.
    AggregateOrderNonAggregated = 3029, b"HY000", InvalidInput;
    /// DISTINCT is ordered by a column that is not selected.
    FieldInOrderNotSelected = 3065, b"HY000", InvalidInput;
    /// DISTINCT is ordered by an aggregate that is not selected.
    AggregateInOrderNotSelected = 3066, b"HY000", InvalidInput;
    /// A pattern that is not a regular expression.
    RegularExpression = 3685, b"HY000", InvalidInput;
    /// A database name that cannot be.
    WrongDatabaseName = 1102, b"42000", InvalidInput;
    /// `SHOW GRANTS` or `SHOW CREATE USER` of an account that does not exist.
    NoSuchGrant = 1141, b"42000", NotFound;
    /// A command that this server does not carry out.
    CommandNotAllowed = 1148, b"42000", Denied;
    /// Two clauses that do not go together.
    WrongUsage = 1221, b"HY000", InvalidInput;
    /// A session variable was set as if it were a global one.
    LocalVariable = 1228, b"HY000", InvalidInput;
    /// A statement that cannot be prepared.
    NotPreparable = 1295, b"HY000", InvalidInput;
    /// No time zone of this name.
    UnknownTimeZone = 1298, b"HY000", InvalidInput;
    /// A TIMESTAMP that no clock of the session's time zone showed.
    SkippedTimestamp = 1299, b"HY000", InvalidInput;
    /// The session holds as many prepared statements as it may.
    TooManyPrepared = 1461, b"42000", Resource;
    /// A transaction's traits were changed while it runs.
    TransactionInProgress = 1568, b"25001", Conflict;
    /// A password that no account can have.
    NotValidPassword = 1819, b"HY000", InvalidInput;
    /// A password hash that its plugin does not write.
    PasswordFormat = 1827, b"HY000", InvalidInput;
    /// A client was idle for longer than `wait_timeout`.
    ClientInteractionTimeout = 4031, b"HY000", Unavailable;
    /// Connections must be encrypted.
    SecureTransportRequired = 3159, b"HY000", Denied;
    /// Connections cannot be encrypted, and so need not be.
    NoSecureTransports = 3160, b"HY000", InvalidInput;
    /// `CREATE DATABASE` of one that exists.
    DatabaseExists = 1007, b"HY000", Conflict;
    /// `DROP DATABASE` of one that does not exist.
    DatabaseDropExists = 1008, b"HY000", NotFound;
    /// A file that a statement names is not there.
    FileNotFound = 1017, b"HY000", NotFound;
    /// The disk is full; what was acknowledged stays readable.
    DiskFull = 1021, b"HY000", Resource;
    /// The operating system failed to read a file.
    FileRead = 1024, b"HY000", Unavailable;
    /// The operating system failed to write or sync a file.
    FileWrite = 1026, b"HY000", Unavailable;
    /// Bytes of a data file or of the log are damaged.
    FileDamaged = 1034, b"HY000", Internal;
    /// A file was written by a version or configuration that this one cannot read.
    FileVersion = 1033, b"HY000", InvalidInput;
    /// A table cannot be written until the process restarts, since a write or sync failed.
    TableFailed = 1036, b"HY000", Unavailable;
    /// A name longer than MySQL allows.
    NameTooLong = 1059, b"42000", InvalidInput;
    /// Two keys of one name.
    DuplicateKeyName = 1061, b"42000", InvalidInput;
    /// A primary or unique key has the value already.
    DuplicateKey = 1062, b"23000", Conflict;
    /// A column definition that contradicts itself.
    WrongColumnDefinition = 1063, b"42000", InvalidInput;
    /// A default that its column cannot hold.
    InvalidDefault = 1067, b"42000", InvalidInput;
    /// Two primary keys.
    MultiplePrimaryKeys = 1068, b"42000", InvalidInput;
    /// A key names a column that the table lacks.
    KeyColumnMissing = 1072, b"42000", NotFound;
    /// A column longer than its type allows.
    ColumnTooLong = 1074, b"42000", InvalidInput;
    /// AUTO_INCREMENT where it cannot be.
    WrongAutoKey = 1075, b"42000", InvalidInput;
    /// All columns of a table would be dropped.
    CannotRemoveAllColumns = 1090, b"42000", InvalidInput;
    /// `DROP` of a column or key that is not there.
    CannotDropColumnOrKey = 1091, b"42000", NotFound;
    /// A table that is written is also read.
    UpdateTableUsed = 1093, b"HY000", InvalidInput;
    /// What encloses or escapes fields of a file is no single byte.
    WrongFieldSeparator = 1083, b"42000", InvalidInput;
    /// A TEXT or BLOB with a default.
    BlobCannotHaveDefault = 1101, b"42000", InvalidInput;
    /// A table name that cannot be.
    WrongTableName = 1103, b"42000", InvalidInput;
    /// A column named twice in an INSERT.
    ColumnSpecifiedTwice = 1110, b"42000", InvalidInput;
    /// A table without columns.
    TableWithoutColumns = 1113, b"42000", InvalidInput;
    /// A memory or disk budget is used up.
    TableFull = 1114, b"HY000", Resource;
    /// More tables than a join can have.
    TooManyTables = 1116, b"HY000", InvalidInput;
    /// More columns than a table or a result can have.
    TooManyColumns = 1117, b"HY000", InvalidInput;
    /// A column name that cannot be.
    WrongColumnName = 1166, b"42000", InvalidInput;
    /// A column whose type cannot be part of a key.
    WrongKeyColumn = 1167, b"42000", InvalidInput;
    /// A TEXT or BLOB in a key without a length.
    BlobKeyWithoutLength = 1170, b"42000", InvalidInput;
    /// A primary key column that can be NULL.
    PrimaryKeyNull = 1171, b"42000", InvalidInput;
    /// `sql_safe_updates` is on, and no condition uses a key.
    SafeUpdates = 1175, b"HY000", Denied;
    /// No key of this name.
    NoSuchKey = 1176, b"42000", NotFound;
    /// A row of a file has too few fields.
    TooFewFields = 1261, b"01000", InvalidInput;
    /// A row of a file has too many fields.
    TooManyFields = 1262, b"01000", InvalidInput;
    /// NULL for a NOT NULL column was replaced (a warning).
    NullToNotNull = 1263, b"22004", InvalidInput;
    /// A value was cut (a warning or, under strict mode, an error).
    DataTruncated = 1265, b"01000", InvalidInput;
    /// No storage engine of this name.
    UnknownEngine = 1286, b"42000", NotFound;
    /// The target cannot be changed by this statement.
    NonUpdatableTable = 1288, b"HY000", InvalidInput;
    /// A column without default that the INSERT left out.
    NoDefaultForColumn = 1364, b"HY000", InvalidInput;
    /// A value that its column cannot take.
    WrongValueForColumn = 1366, b"HY000", InvalidInput;
    /// A scale that is too large.
    ScaleTooBig = 1425, b"42000", InvalidInput;
    /// A precision that is too large.
    PrecisionTooBig = 1426, b"42000", InvalidInput;
    /// A scale that is larger than its precision.
    ScaleAbovePrecision = 1427, b"42000", InvalidInput;
    /// The row would break a foreign key of this table.
    ForeignKeyChild = 1452, b"23000", Conflict;
    /// A partition bound that is no constant or has the wrong type.
    PartitionBound = 1480, b"HY000", InvalidInput;
    /// Partitions of RANGE whose bounds do not rise.
    PartitionRangeNotIncreasing = 1493, b"HY000", InvalidInput;
    /// A value in two partitions of LIST.
    PartitionListTwice = 1495, b"HY000", InvalidInput;
    /// Too many partitions.
    TooManyPartitions = 1499, b"HY000", Resource;
    /// The partition expression is no function of the primary key.
    PartitionNotInKey = 1503, b"HY000", InvalidInput;
    /// Zero partitions.
    NoPartitions = 1504, b"HY000", InvalidInput;
    /// Partition management of a table without partitions.
    NotPartitioned = 1505, b"HY000", InvalidInput;
    /// `DROP PARTITION` of one that is not there.
    DropPartitionMissing = 1507, b"HY000", NotFound;
    /// `DROP PARTITION` of all partitions.
    DropLastPartition = 1508, b"HY000", InvalidInput;
    /// Partition management that this kind of partitioning does not have.
    OnlyOnRangeList = 1512, b"HY000", InvalidInput;
    /// Two partitions of one name.
    SamePartitionName = 1517, b"HY000", InvalidInput;
    /// A value that an option cannot have.
    WrongOptionValue = 1525, b"HY000", InvalidInput;
    /// A row fits no partition.
    NoPartitionForValue = 1526, b"HY000", InvalidInput;
    /// A function that a partition expression cannot use.
    PartitionFunction = 1564, b"HY000", InvalidInput;
    /// A partition that the statement names is not there.
    UnknownPartition = 1735, b"HY000", NotFound;
    /// A row lies outside the partitions that the statement names.
    RowOutsidePartitions = 1748, b"HY000", InvalidInput;
    /// A row breaks a CHECK constraint.
    CheckViolated = 3819, b"HY000", InvalidInput;
    /// A table without a primary key where one is required.
    PrimaryKeyRequired = 3750, b"HY000", InvalidInput;
    /// `LOAD DATA LOCAL` is switched off.
    LocalInfileDisabled = 3948, b"42000", Denied;
    /// A moment that lies before the table's history.
    HistoryTooOld = 9006, b"HY000", InvalidInput;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_has_a_number_of_its_own_and_a_well_formed_state() {
        let mut numbers = std::collections::HashMap::new();
        for &(code, name) in Code::ALL {
            if let Some(other) = numbers.insert(code.errno(), name) {
                panic!("{name} and {other} share error number {}", code.errno());
            }
            assert!(
                code.sqlstate()
                    .iter()
                    .all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit()),
                "{name} has a malformed SQL state"
            );
        }
    }

    #[test]
    fn remote_errors_keep_their_number_and_state() {
        let code = Code::Remote(RemoteCode { errno: 1644, sqlstate: *b"45000" });
        assert_eq!((code.errno(), code.sqlstate()), (1644, *b"45000"));
    }
}
