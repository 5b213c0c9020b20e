//! The low-water mark of a socket, for which the socket libraries have no call yet.

use std::io;
use std::os::fd::{AsRawFd as _, BorrowedFd};

/// Makes a socket readable only when so many bytes have arrived (`SO_RCVLOWAT`).
pub(super) fn set(socket: BorrowedFd<'_>, bytes: i32) -> io::Result<()> {
    let size = libc::socklen_t::try_from(size_of_val(&bytes)).map_err(io::Error::other)?;
    let value = std::ptr::from_ref(&bytes).cast();
    // SAFETY: the socket is open while it is borrowed, and `value` points to `size` bytes.
    let result = unsafe {
        libc::setsockopt(socket.as_raw_fd(), libc::SOL_SOCKET, libc::SO_RCVLOWAT, value, size)
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
