//! Why a table with foreign keys is not mirrored.

use pelorus_error::Error;

use crate::model::name::MirrorName;

/// Why a table is not mirrored that refers to another.
pub(crate) fn depends(database: &str, table: &str, how: &str) -> String {
    format!(
        "a foreign key changes its rows when those of '{database}.{table}' change, and that table \
         is {how}"
    )
}

/// Mirrors of a part of a table do not go with foreign keys that are followed here.
pub fn in_part(name: &MirrorName) -> Error {
    Error::unsupported(format_args!(
        "mirrors of a part of '{name}', where foreign keys change rows and this server does not \
         write that into its binlog; mirror all of it"
    ))
}
