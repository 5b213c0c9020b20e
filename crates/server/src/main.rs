//! The `pelorus` command.

use std::io::Write as _;
use std::process::ExitCode;

use pelorus_server::config::ROOT_PASSWORD_VARIABLE;

pelorus_env::use_jemalloc!();

/// Takes the first password of root out of the environment, where the processes that this one starts
/// and every option that names a variable would find it.
fn take_root_password() -> Option<String> {
    let password = std::env::var(ROOT_PASSWORD_VARIABLE).ok();
    // SAFETY: this is the first that the program does: it has started no thread yet, and that of the
    // allocator reads no environment.
    unsafe { std::env::remove_var(ROOT_PASSWORD_VARIABLE) };
    password
}

fn main() -> ExitCode {
    match pelorus_server::cli::run(take_root_password()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            // Nothing is left to do when even the error cannot be written.
            let error = pelorus_error::plain(format_args!("{:#}", failure.error));
            writeln!(std::io::stderr(), "pelorus: {error}").ok();
            ExitCode::from(failure.code)
        }
    }
}
