//! The parts of a session. Each owns its fields and knows neither the session nor the other parts.
//!
//! | module | owns |
//! | --- | --- |
//! | `identity` | the login of the client, and its account |
//! | `client_settings` | system variables, user variables, the current database, the SQL mode |
//! | `user_variables` | values of user variables, with their memory |
//! | `statement_state` | diagnostics, row count, insert id and interruption of the statement at hand |
//! | `transaction` | the open transaction |
//! | `primary_connections` | the session's own connections to primaries |
//! | `held_locks` | locks of tables, user-level locks |
//! | `prepared_statements` | prepared statements by number and by name |

pub(crate) mod client_settings;
pub(crate) mod held_locks;
pub(crate) mod identity;
pub(crate) mod prepared_statements;
pub(crate) mod primary_connections;
pub(crate) mod statement_state;
pub(crate) mod transaction;
pub(crate) mod user_variables;
