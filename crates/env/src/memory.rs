//! The memory allocator of our binaries: jemalloc, as other databases have it.
//!
//! The system's gives memory back to the system whenever a flush or a query ends, and the next one
//! pays for every page of it again.

pub use tikv_jemallocator::Jemalloc;

/// Makes a binary use jemalloc, set up for a database: large buffers are kept for reuse like small
/// ones, and what nobody has used for ten seconds is given back by a thread in the background.
#[macro_export]
macro_rules! use_jemalloc {
    () => {
        #[global_allocator]
        static ALLOCATOR: $crate::Jemalloc = $crate::Jemalloc;

        /// Read by jemalloc when it starts.
        // SAFETY: no other symbol has the name, and its first word points to a C string.
        #[unsafe(export_name = "_rjem_malloc_conf")]
        static ALLOCATOR_OPTIONS: &[u8] =
            b"oversize_threshold:0,dirty_decay_ms:10000,muzzy_decay_ms:0,background_thread:true\0";
    };
}
