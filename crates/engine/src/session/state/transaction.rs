//! [`Transaction`]: the open transaction of a session. It runs on one linked server or on native
//! tables, chosen by the first statement that needs a table.

use std::sync::Arc;

use pelorus_error::{Error, Result};
use pelorus_native::{NativeReads, NativeTransaction};
use pelorus_sql::statement::{Begin, Isolation};
use pelorus_store::Snapshot;

/// Whether a transaction is open, and what the next one is to be like.
#[derive(Debug, Default)]
pub(crate) struct Transaction {
    open: Option<OpenTransaction>,
    /// The link was requested to end it, and has not answered. If this is set when the next
    /// statement begins, the answer was not awaited.
    is_ending: bool,
    /// `SET TRANSACTION` without scope: for the next one only.
    next_isolation: Option<Isolation>,
    next_read_only: Option<bool>,
}

/// An open transaction.
#[derive(Debug, Default)]
pub(crate) struct OpenTransaction {
    pub(crate) begin: Begin,
    pub(crate) isolation: Option<Isolation>,
    /// The link that it is on, once a statement needed one.
    pub(crate) link: Option<String>,
    /// The transaction's part on native tables, once a statement has used one.
    pub(crate) native: Option<NativeTransaction>,
    /// Savepoints that were set before a link was chosen.
    pub(crate) savepoints: Vec<String>,
}

impl Transaction {
    /// Whether a transaction is open.
    pub(crate) fn is_open(&self) -> bool {
        self.open.is_some()
    }

    pub(crate) fn open(&self) -> Option<&OpenTransaction> {
        self.open.as_ref()
    }

    pub(crate) fn open_mut(&mut self) -> Option<&mut OpenTransaction> {
        self.open.as_mut()
    }

    /// The link that the open transaction is on.
    pub(crate) fn link(&self) -> Option<&str> {
        self.open.as_ref().and_then(|open| open.link.as_deref())
    }

    /// The open transaction's part on native tables.
    pub(crate) fn native(&self) -> Option<&NativeTransaction> {
        self.open.as_ref().and_then(|open| open.native.as_ref())
    }

    pub(crate) fn native_mut(&mut self) -> Option<&mut NativeTransaction> {
        self.open.as_mut().and_then(|open| open.native.as_mut())
    }

    /// Whether a transaction is open that a server takes part in.
    pub(crate) fn is_bound(&self) -> bool {
        self.link().is_some()
    }

    /// Whether the open transaction has written to native tables.
    pub(crate) fn has_written_native(&self) -> bool {
        self.native().is_some_and(NativeTransaction::has_written)
    }

    /// Whether the open transaction refuses writes; `by_default` is `transaction_read_only`.
    pub(crate) fn is_read_only(&self, by_default: bool) -> bool {
        self.open.as_ref().and_then(|open| open.begin.read_only).unwrap_or(by_default)
    }

    /// What the open transaction reads of native tables; `None` where it has not used any.
    pub(crate) fn native_reads(&self) -> Option<NativeReads> {
        self.native().map(NativeTransaction::reads)
    }

    /// Opens a transaction in the place of one that has ended. `native` is its part on native
    /// tables, if it already has a snapshot of them.
    pub(crate) fn begin(&mut self, begin: Begin, native: Option<NativeTransaction>) {
        let read_only = begin.read_only.or(self.next_read_only.take());
        self.open = Some(OpenTransaction {
            begin: Begin { read_only, ..begin },
            isolation: self.next_isolation.take(),
            native,
            ..OpenTransaction::default()
        });
    }

    /// With `autocommit` off, a statement that uses a table begins a transaction.
    pub(crate) fn begin_implicitly(&mut self, autocommit: bool) {
        if self.open.is_none() && !autocommit {
            self.begin(Begin::default(), None);
        }
    }

    /// Takes over a transaction that a stored procedure has begun on a link and left open.
    pub(crate) fn adopt(&mut self, link: &str) {
        if self.open.is_none() {
            let link = Some(link.to_owned());
            self.open = Some(OpenTransaction { link, ..OpenTransaction::default() });
        }
    }

    /// Lets the open transaction take part in native tables, from now on as of `pin`; without a
    /// transaction nothing happens.
    ///
    /// # Errors
    /// A transaction that is on a linked server (1235), when the statement writes; one that only
    /// reads sees the newest version.
    pub(crate) fn join_native(
        &mut self,
        pin: &Arc<Snapshot>,
        writes: bool,
        memory: &pelorus_env::Account,
    ) -> Result<()> {
        let Some(open) = &mut self.open else { return Ok(()) };
        match &open.link {
            Some(link) if writes => Err(Error::unsupported(format_args!(
                "a transaction on server '{link}' and in native tables at once"
            ))),
            Some(_) => Ok(()),
            None => {
                open.native.get_or_insert_with(|| {
                    NativeTransaction::new(Arc::clone(pin), &open.savepoints, memory)
                });
                Ok(())
            }
        }
    }

    /// Ends the open transaction; returns it.
    pub(crate) fn end(&mut self) -> Option<OpenTransaction> {
        self.open.take()
    }

    /// Ends the open transaction if it is on this link; whether it was.
    pub(crate) fn end_on(&mut self, link: &str) -> bool {
        let is_on_link = self.link() == Some(link);
        if is_on_link {
            self.open = None;
        }
        is_on_link
    }

    pub(crate) fn is_ending(&self) -> bool {
        self.is_ending
    }

    pub(crate) fn set_ending(&mut self, is_ending: bool) {
        self.is_ending = is_ending;
    }

    /// `SET TRANSACTION` without scope.
    pub(crate) fn set_next(&mut self, isolation: Option<Isolation>, read_only: Option<bool>) {
        self.next_isolation = isolation.or(self.next_isolation);
        self.next_read_only = read_only.or(self.next_read_only);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_set_transaction_says_holds_for_one_transaction() {
        let mut transaction = Transaction::default();
        transaction.set_next(Some(Isolation::ReadCommitted), None);
        transaction.set_next(None, Some(true));
        transaction.begin(Begin::default(), None);
        let open = transaction.end().unwrap();
        assert_eq!(open.isolation, Some(Isolation::ReadCommitted));
        assert_eq!(open.begin.read_only, Some(true));
        // What the statement itself says comes first, and uses the setting up all the same.
        transaction.set_next(None, Some(true));
        transaction.begin(Begin { read_only: Some(false), ..Begin::default() }, None);
        assert!(!transaction.is_read_only(true));
        transaction.begin(Begin::default(), None);
        assert_eq!(transaction.open().unwrap().isolation, None);
        assert!(transaction.is_read_only(true) && !transaction.is_read_only(false));
    }

    #[test]
    fn a_transaction_ends_only_with_the_link_that_it_is_on() {
        let mut transaction = Transaction::default();
        transaction.begin_implicitly(true);
        assert!(!transaction.is_open());
        transaction.begin_implicitly(false);
        assert!(transaction.is_open() && !transaction.is_bound());
        assert!(!transaction.end_on("shop"));
        // An open transaction is not replaced.
        transaction.adopt("shop");
        assert!(!transaction.is_bound());
        transaction.end();
        transaction.adopt("shop");
        assert_eq!(transaction.link(), Some("shop"));
        assert!(!transaction.end_on("other") && transaction.end_on("shop"));
        assert!(!transaction.is_open());
    }
}
