//! Foreign keys that change rows of their table, as a mirror remembers them.

use pelorus_sql::ddl::ReferenceAction;
use serde::{Deserialize, Serialize};

/// The action of a foreign key on rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// They go too, or get the new values.
    Cascade,
    /// They refer to nothing any more.
    SetNull,
}

impl Action {
    pub(crate) fn of(action: Option<ReferenceAction>) -> Option<Self> {
        match action {
            Some(ReferenceAction::Cascade) => Some(Self::Cascade),
            Some(ReferenceAction::SetNull) => Some(Self::SetNull),
            // InnoDB does not run `SET DEFAULT`: the change is refused.
            _ => None,
        }
    }
}

/// A foreign key that changes rows of its table, as a mirror remembers it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForeignKey {
    /// The constraint's name.
    pub name: String,
    /// The columns that refer.
    pub columns: Vec<String>,
    /// The database of the table that is referred to.
    pub database: String,
    /// That table.
    pub table: String,
    /// Its columns.
    pub referred: Vec<String>,
    /// `ON DELETE`
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_delete: Option<Action>,
    /// `ON UPDATE`
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_update: Option<Action>,
}

impl ForeignKey {
    /// Whether it leaves rows there with other values.
    pub(crate) fn alters(&self) -> bool {
        self.on_update.is_some() || self.on_delete == Some(Action::SetNull)
    }

    /// Whether it refers to a table.
    pub(crate) fn refers_to(&self, database: &str, table: &str) -> bool {
        self.database == database && self.table == table
    }
}
