//! The counters of `SHOW STATUS`, of the server and of each session.

use std::sync::atomic::{AtomicU64, Ordering};

macro_rules! counters {
    ($($(#[$doc:meta])* $field:ident = $name:literal;)*) => {
        /// Counters of one session or of the whole server.
        #[derive(Debug, Default)]
        pub(crate) struct Counters {
            $($(#[$doc])* pub(crate) $field: AtomicU64,)*
        }

        impl Counters {
            /// Names as in `SHOW STATUS`, with their values.
            pub(crate) fn list(&self) -> Vec<(&'static str, u64)> {
                // Ordering: counts are only looked at by people.
                vec![$(($name, self.$field.load(Ordering::Relaxed)),)*]
            }

            /// Adds the counts of a session that ends.
            pub(crate) fn absorb(&self, other: &Counters) {
                $(self.$field.fetch_add(other.$field.load(Ordering::Relaxed), Ordering::Relaxed);)*
            }

            /// Back to zero (`FLUSH STATUS`).
            pub(crate) fn clear(&self) {
                $(self.$field.store(0, Ordering::Relaxed);)*
            }
        }
    };
}

counters! {
    bytes_received = "Bytes_received";
    bytes_sent = "Bytes_sent";
    admin = "Com_admin_commands";
    begin = "Com_begin";
    commit = "Com_commit";
    delete = "Com_delete";
    insert = "Com_insert";
    kill = "Com_kill";
    replace = "Com_replace";
    rollback = "Com_rollback";
    select = "Com_select";
    set = "Com_set_option";
    show = "Com_show_any";
    stmt_close = "Com_stmt_close";
    stmt_execute = "Com_stmt_execute";
    stmt_prepare = "Com_stmt_prepare";
    update = "Com_update";
    /// Statements handed to a linked server as a whole.
    relayed = "Pelorus_relayed_statements";
    /// Rows sent to clients.
    rows_sent = "Pelorus_rows_sent";
    /// Statements, administrative ones included.
    queries = "Queries";
    /// Statements that clients sent.
    questions = "Questions";
}

/// One more.
pub(crate) fn count(counter: &AtomicU64) {
    // Ordering: counts are only looked at by people.
    counter.fetch_add(1, Ordering::Relaxed);
}
