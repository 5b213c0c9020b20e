//! The memory allocator of our binaries: jemalloc, which other databases use as well.
//!
//! The system's allocator returns memory to the operating system whenever a flush or a query ends,
//! and the next one pays for every page of it again.

use std::cell::Cell;
use std::ffi::CStr;
use std::ptr;

pub use tikv_jemallocator::Jemalloc;

/// Returns freed pages to the operating system at once.
pub fn give_back_pages() {
    /// That of all arenas (`MALLCTL_ARENAS_ALL`).
    const PURGE: &CStr = c"arena.4096.purge";
    // SAFETY: the name is a C string, and the command reads and writes no value. It works on pages
    // that are not in use. Where it is not known it says so, and nothing happens.
    unsafe {
        tikv_jemalloc_sys::mallctl(
            PURGE.as_ptr(),
            ptr::null_mut(),
            ptr::null_mut(),
            ptr::null_mut(),
            0,
        );
    }
}

/// Bytes of memory that this process has; `None` where the system does not tell.
pub fn resident() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kibibytes: u64 = line.split_whitespace().next()?.parse().ok()?;
    kibibytes.checked_mul(1024)
}

/// Bytes that this thread has allocated less those that it has freed; zero in a program that does not
/// use jemalloc.
pub(crate) fn thread_balance() -> i64 {
    thread_local! {
        static COUNTERS: Cell<Option<[*const u64; 2]>> = const { Cell::new(None) };
    }
    /// Where the allocator counts the bytes of this thread.
    fn counter(name: &CStr) -> *const u64 {
        let mut counter: *const u64 = ptr::null();
        let mut size = size_of::<*const u64>();
        // SAFETY: the name is a C string, and the result a pointer of the size that is given. Where
        // the name is not known the pointer stays null.
        unsafe {
            tikv_jemalloc_sys::mallctl(
                name.as_ptr(),
                ptr::from_mut(&mut counter).cast(),
                &raw mut size,
                ptr::null_mut(),
                0,
            );
        }
        counter
    }
    let counters = COUNTERS.with(|known| match known.get() {
        Some(counters) => counters,
        None => {
            let counters = [counter(c"thread.allocatedp"), counter(c"thread.deallocatedp")];
            known.set(Some(counters));
            counters
        }
    });
    let [allocated, freed] = counters.map(|counter| {
        // SAFETY: it is null, or points to a counter of this thread, which lives as long as the
        // thread and is changed by it alone.
        unsafe { counter.as_ref() }.copied().unwrap_or(0)
    });
    allocated.wrapping_sub(freed).cast_signed()
}

/// Makes a binary use jemalloc, set up for a database: large buffers are kept for reuse like small
/// ones, and a background thread returns memory that has been unused for ten seconds.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_has_memory_and_gives_pages_back() {
        let before = resident();
        give_back_pages();
        assert!(before.is_none_or(|bytes| bytes > 1 << 20));
    }
}
