//! Cancellation of the lexer and the parser: a long text need not be read to its end after `KILL`.
//!
//! The lexer and the parser check every thousand tokens, and within tokens and comments every
//! mebibyte, which takes far less than 10 ms. The check is stored per thread, so that no function
//! needs it as a parameter.

use std::cell::RefCell;
use std::rc::Rc;

use pelorus_error::{Error, Result};

/// Bytes of a token or comment between two questions.
pub(crate) const BYTES: usize = 1 << 20;

/// Tokens, or levels of a tree, between two questions.
pub(crate) const TOKENS: u32 = 1024;

type Asked = Rc<dyn Fn() -> bool>;

thread_local! {
    /// The cancellation check of the text that this thread reads.
    static ASKED: RefCell<Option<Asked>> = const { RefCell::new(None) };
}

/// Restores the previous check.
struct Before(Option<Asked>);

impl Drop for Before {
    fn drop(&mut self) {
        let before = self.0.take();
        ASKED.with(|asked| *asked.borrow_mut() = before);
    }
}

/// Reads texts with `read`, which ends soon after `stop` returns true; from then on `stop` must not
/// return false.
///
/// # Errors
/// 1317 if it was stopped, whatever the result of `read`.
pub fn unless<T>(stop: impl Fn() -> bool + 'static, read: impl FnOnce() -> T) -> Result<T> {
    let stop: Asked = Rc::new(stop);
    let before = Before(ASKED.with(|asked| asked.borrow_mut().replace(Rc::clone(&stop))));
    let done = read();
    drop(before);
    if stop() { Err(Error::interrupted()) } else { Ok(done) }
}

/// Whether reading was cancelled.
pub(crate) fn is_asked() -> bool {
    ASKED.with(|asked| asked.borrow().as_ref().is_some_and(|stop| stop()))
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;
    use crate::{Mode, classify, parse_query, tokens};

    /// Counts questions, and says yes from one of them on.
    fn after(count: u32) -> (Rc<Cell<u32>>, impl Fn() -> bool + 'static) {
        let asked = Rc::new(Cell::new(0));
        let counter = Rc::clone(&asked);
        let stop = move || {
            counter.set(counter.get() + 1);
            counter.get() >= count
        };
        (asked, stop)
    }

    /// Statements whose parts, tokens or comments are long.
    fn long() -> Vec<String> {
        let many = |part: &str| format!("SELECT {}", vec![part; 200_000].join(", "));
        let large = 4 * BYTES;
        vec![
            many("1"),
            many("a.b"),
            many("1 + 2 * 3"),
            format!("INSERT INTO t VALUES {}", vec!["(1, 'a')"; 100_000].join(", ")),
            format!("SELECT 1 FROM t WHERE a IN ({})", vec!["1"; 200_000].join(",")),
            format!("SELECT '{}'", "a".repeat(large)),
            format!("SELECT 1 AS `{}`", "a".repeat(large)),
            format!("SELECT {}", "1".repeat(large)),
            format!("SELECT x'{}'", "61".repeat(large)),
            format!("SELECT /* {} */ 1", "a".repeat(large)),
            format!("SELECT /*!99999 {} */ 1", "a".repeat(large)),
            format!("SELECT 1 -- {}", "a".repeat(large)),
            format!("SELECT {} 1", "/**/".repeat(large / 4)),
            format!("SELECT {} 1", " ".repeat(large)),
            format!("SELECT {} 1", "-- a\n".repeat(large / 5)),
            format!("SELECT $a$ {} $a$", "a".repeat(large)),
        ]
    }

    #[test]
    fn reading_asks_often_and_ends_soon() {
        for sql in long() {
            let start = &sql[..20];
            let (asked, never) = after(u32::MAX);
            unless(never, || tokens(&sql, Mode::default())).unwrap();
            let questions = asked.get();
            assert!(questions > 3, "{start}: {questions}");
            for count in [1, 2, questions / 2] {
                let (asked, stop) = after(count.max(1));
                let stopped = unless(stop, || {
                    let last = tokens(&sql, Mode::default()).pop().unwrap();
                    assert_eq!(last.kind, crate::TokenKind::Invalid, "{start}");
                });
                assert_eq!(stopped.unwrap_err().errno(), 1317, "{start}");
                assert!(asked.get() <= count + 3, "{start}: {} of {count}", asked.get());
            }
        }
    }

    #[test]
    fn statements_and_queries_are_given_up_in_the_middle() {
        let items = format!("SELECT {}", vec!["1 + a"; 100_000].join(", "));
        let rows = format!("SELECT 1 IN ({})", vec!["(1)"; 100_000].join(", "));
        for sql in [items, rows] {
            let reads: [fn(&str) -> bool; 2] = [
                |sql| classify(sql, Mode::default()).is_err(),
                |sql| parse_query(sql, Mode::default()).is_err(),
            ];
            for read in reads {
                let (asked, never) = after(u32::MAX);
                unless(never, || read(&sql)).unwrap();
                let questions = asked.get();
                // After those of the lexer.
                let (asked, stop) = after(questions - 10);
                assert_eq!(unless(stop, || read(&sql)).unwrap_err().errno(), 1317);
                assert!(asked.get() <= questions, "{} of {questions}", asked.get());
            }
        }
    }

    #[test]
    fn what_asked_before_asks_again() {
        let (outer, yes) = after(1);
        let inner = |stop: bool| unless(move || stop, is_asked);
        let seen = unless(move || false, || (inner(true).is_err(), is_asked())).unwrap();
        assert_eq!(seen, (true, false));
        assert!(unless(yes, || inner(false).unwrap()).is_err());
        assert_eq!(outer.get(), 1);
        assert!(!is_asked());
    }
}
