//! The `pelorus` command.

use std::io::Write as _;
use std::process::ExitCode;

pelorus_env::use_jemalloc!();

fn main() -> ExitCode {
    match pelorus_server::cli::run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            // Nothing is left to do when even the error cannot be written.
            writeln!(std::io::stderr(), "pelorus: {:#}", failure.error).ok();
            ExitCode::from(failure.code)
        }
    }
}
