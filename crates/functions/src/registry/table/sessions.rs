//! Functions of the session, and those without a subject.

use crate::registry::fallibility;
use crate::registry::function::{Chooses, Function, Stored, Volatility, function};
use crate::registry::mariadb::extremes;
use crate::scalar::{greatest_least, session_info};
use crate::short_circuit::Flow;

/// The rows.
pub(super) static ROWS: &[Function] = &[
    function(&["GREATEST"], greatest_least::resolve)
        .flow(Flow::First)
        .chooses(Chooses::Common)
        .mariadb(extremes)
        .infallible(fallibility::alike)
        .says(
            "GREATEST(value, value, ...)",
            "The greatest value, compared in the common type of all; NULL if one of them is \
             NULL.",
        )
        .gives("GREATEST(3, 12, 7)", "12"),
    function(&["LEAST"], greatest_least::resolve)
        .flow(Flow::First)
        .chooses(Chooses::Common)
        .mariadb(extremes)
        .infallible(fallibility::alike)
        .says(
            "LEAST(value, value, ...)",
            "The smallest value, compared in the common type of all; NULL if one of them is \
             NULL.",
        )
        .gives("LEAST('b', 'a', 'c')", "a"),
    function(&["VERSION"], session_info::resolve)
        .volatile(Volatility::Session)
        .stored(Stored::Never)
        .says("VERSION()", "The version of the server as a text.")
        .example("VERSION()"),
    function(&["DATABASE"], session_info::resolve)
        .volatile(Volatility::Session)
        .stored(Stored::Defaults)
        .grammar()
        .says("DATABASE()", "The name of the session's default database; NULL if it has none.")
        .example("DATABASE()"),
    function(&["SCHEMA"], session_info::resolve)
        .volatile(Volatility::Session)
        .stored(Stored::Defaults)
        .says("SCHEMA()", "The name of the session's default database; the same as DATABASE.")
        .example("SCHEMA()"),
    function(&["USER"], session_info::resolve)
        .volatile(Volatility::Session)
        .stored(Stored::Defaults)
        .grammar()
        .says(
            "USER()",
            "The user name that the client sent and the host it connected from, as name@host.",
        )
        .example("USER()"),
    function(&["SESSION_USER", "SYSTEM_USER"], session_info::resolve)
        .volatile(Volatility::Session)
        .stored(Stored::Defaults)
        .says(
            "SESSION_USER()",
            "The user name that the client sent and the host it connected from; the same as \
             USER.",
        )
        .example("SESSION_USER()"),
    function(&["CURRENT_USER"], session_info::resolve)
        .volatile(Volatility::Session)
        .stored(Stored::Defaults)
        .grammar()
        .says(
            "CURRENT_USER[()]",
            "The account that the server authenticated the session as and checks privileges \
             of, as name@host.",
        )
        .example("CURRENT_USER()"),
    function(&["CONNECTION_ID"], session_info::resolve)
        .volatile(Volatility::Session)
        .stored(Stored::Defaults)
        .says(
            "CONNECTION_ID()",
            "The number of the session's connection, as SHOW PROCESSLIST lists it.",
        )
        .example("CONNECTION_ID()"),
];
