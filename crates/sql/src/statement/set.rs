//! `SET`: variables, character sets, transactions.

/// Which variables a `SET` means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Scope {
    /// `SESSION`, `LOCAL`, or nothing said.
    #[default]
    Session,
    /// `GLOBAL`
    Global,
    /// `PERSIST`
    Persist,
    /// `PERSIST_ONLY`
    PersistOnly,
}

/// The value behind the `=`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SetValue {
    /// `DEFAULT`
    Default,
    /// A bare word such as `ON`, `utf8mb4` or `SYSTEM`: a name, not a column. Its text.
    Word(String),
    /// A string; its value.
    Text(String),
    /// The text of any other expression.
    Expression(String),
}

/// A charset or collation by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Charset {
    /// `DEFAULT`
    Default,
    /// The name as written.
    Name(String),
}

/// A transaction isolation level.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Isolation {
    /// `READ UNCOMMITTED`
    ReadUncommitted,
    /// `READ COMMITTED`
    ReadCommitted,
    /// `REPEATABLE READ`
    RepeatableRead,
    /// `SERIALIZABLE`
    Serializable,
}

/// Which transactions `SET TRANSACTION` means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Target {
    /// Only the next one.
    Next,
    /// All later ones of the session.
    Session,
    /// Those of new sessions.
    Global,
}

/// One part of a `SET`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Assignment {
    /// A system variable.
    Variable {
        /// Which one of the variables of this name.
        scope: Scope,
        /// The name as written; with a dot for those of components.
        name: String,
        /// The new value.
        value: SetValue,
    },
    /// `@name = ...`
    User {
        /// The name without its `@` and quotes.
        name: String,
        /// The text of the expression.
        expression: String,
    },
    /// `NAMES charset [COLLATE collation]`
    Names {
        /// The charset.
        charset: Charset,
        /// The collation.
        collation: Option<String>,
    },
    /// `CHARACTER SET charset`
    CharacterSet(Charset),
    /// `TRANSACTION ...`
    Transaction {
        /// Which transactions.
        target: Target,
        /// `ISOLATION LEVEL`
        isolation: Option<Isolation>,
        /// `READ ONLY` or `READ WRITE`
        read_only: Option<bool>,
    },
    /// `ROLE`, `DEFAULT ROLE`, `RESOURCE GROUP`, `STATEMENT ... FOR`: the words in upper case.
    Other(String),
}
