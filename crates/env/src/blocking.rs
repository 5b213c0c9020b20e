//! [`blocking`]: runs blocking work away from the threads that serve other sessions.

use tokio::runtime::{Handle, RuntimeFlavor};

/// Runs work that waits for the disk or for a lock, or takes long, away from the threads that serve
/// others where the runtime has several.
pub fn blocking<T>(work: impl FnOnce() -> T) -> T {
    match Handle::try_current() {
        Ok(handle) if handle.runtime_flavor() == RuntimeFlavor::MultiThread => {
            tokio::task::block_in_place(work)
        }
        _ => work(),
    }
}

/// Waits for work each step of which may take long, away from the threads that serve others.
pub async fn blocking_steps<T>(work: impl Future<Output = T>) -> T {
    let mut work = std::pin::pin!(work);
    std::future::poll_fn(|context| blocking(|| work.as_mut().poll(context))).await
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;
    use std::time::Duration;

    use tokio::runtime::Builder;

    use super::*;

    #[test]
    fn others_go_on_while_work_waits() {
        let patience = Duration::from_secs(20);
        let runtime = Builder::new_multi_thread().worker_threads(1).build().unwrap();
        let (say, hear) = channel();
        let waits = runtime.spawn(async move { blocking(|| hear.recv_timeout(patience)) });
        runtime.spawn(async move { say.send(7) });
        assert_eq!(runtime.block_on(waits).unwrap(), Ok(7));
        let (say, hear) = channel();
        let waits = runtime.spawn(blocking_steps(async move {
            tokio::task::yield_now().await;
            hear.recv_timeout(patience)
        }));
        runtime.spawn(async move { say.send(8) });
        assert_eq!(runtime.block_on(waits).unwrap(), Ok(8));
        // Where there are no others.
        assert_eq!(blocking(|| 8), 8);
        let alone = Builder::new_current_thread().build().unwrap();
        assert_eq!(alone.block_on(async { blocking(|| 9) }), 9);
    }
}
