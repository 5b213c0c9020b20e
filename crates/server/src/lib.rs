//! The `pelorus` command: command line, configuration, wiring, start and stop.
//!
//! | module | owns |
//! | --- | --- |
//! | [`cli`] | commands and options |
//! | [`config`] | the configuration file, and the settings from file and options together |
//! | `link_url` | `--link mysql://...` |
//! | `settings` | the table of the settings of the configuration file |
//! | `suggest` | "did you mean" |
//! | [`server`] | [`server::run`]: the server from its start to its end |

pub mod cli;
pub mod config;
mod link_url;
pub mod server;
mod settings;
mod suggest;
