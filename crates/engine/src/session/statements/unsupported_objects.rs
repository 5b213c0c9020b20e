//! Views, triggers, events and routines, which native databases do not have. Dumps drop them before
//! they create them, so `DROP` answers as a server without an object of that name does; `CREATE`
//! fails with an error that says how to leave the object out of the dump.

use pelorus_error::{Code, Error, Result};
use pelorus_sql::statement::{Ddl, TableName};

use super::done;
use crate::api::Outcome;
use crate::session::context::ReadContext;

/// `DROP VIEW`, `DROP TRIGGER` and similar statements.
///
/// # Errors
/// MySQL's error for an object that does not exist, unless the statement says `IF EXISTS`.
pub(crate) fn drop_absent(cx: ReadContext<'_>, ddl: &Ddl) -> Result<Outcome> {
    for name in &ddl.names {
        let error = missing(cx, ddl, name)?;
        if !ddl.if_exists {
            return Err(error);
        }
        cx.diagnostics().note(error.errno(), error.message());
    }
    Ok(done())
}

/// MySQL's error for an object that does not exist, and for a table that is not a view.
fn missing(cx: ReadContext<'_>, ddl: &Ddl, name: &TableName) -> Result<Error> {
    let database = cx.settings.database_of(name)?;
    let name = &name.name;
    Ok(match ddl.object.as_str() {
        "VIEW" if cx.engine.native().id_of(database, name).is_some() => {
            Error::new(Code::WrongObject, format!("'{database}.{name}' is not VIEW"))
        }
        "VIEW" => Error::new(Code::UnknownTable, format!("Unknown table '{database}.{name}'")),
        "TRIGGER" => Error::new(Code::NoSuchTrigger, "Trigger does not exist"),
        "EVENT" if !ddl.if_exists => {
            Error::new(Code::NoSuchEvent, format!("Unknown event '{name}'"))
        }
        "EVENT" => Error::new(Code::NoSuchFunction, format!("Event {name} does not exist")),
        kind => {
            let text = format!("{kind} {database}.{name} does not exist");
            Error::new(Code::NoSuchFunction, text)
        }
    })
}

/// Error 1235 for making or changing such an object.
pub(crate) fn refused(object: &str) -> Error {
    let advice = match object {
        "VIEW" => "; dump without views: mysqldump --ignore-table=database.view for each of them",
        "TRIGGER" => "; dump without triggers: mysqldump --skip-triggers",
        "EVENT" => "; dump without events: mysqldump without --events",
        "FUNCTION" | "PROCEDURE" => "; dump without routines: mysqldump without --routines",
        _ => "",
    };
    Error::unsupported(format_args!("{object} in native databases{advice}"))
}
