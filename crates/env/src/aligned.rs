//! [`AlignedBytes`]: bytes in memory aligned for direct I/O, so that they are written without a
//! copy.

use std::ops::{Deref, DerefMut};

/// Where direct writes begin and end, in memory and in the file, is a multiple of this: the largest
/// block of usual disks.
pub const ALIGNMENT: usize = 4096;

/// A vector of bytes that begins at a multiple of [`ALIGNMENT`].
#[derive(Debug, Default)]
pub struct AlignedBytes {
    /// Never given more than its capacity, so that it stays where it is.
    bytes: Vec<u8>,
    /// Where the bytes begin in it.
    from: usize,
}

impl AlignedBytes {
    /// None yet, with space for some.
    pub fn with_capacity(capacity: usize) -> Self {
        let mut bytes: Vec<u8> = Vec::with_capacity(capacity.saturating_add(ALIGNMENT));
        let from = bytes.as_ptr().align_offset(ALIGNMENT).min(ALIGNMENT);
        bytes.resize(from, 0);
        Self { bytes, from }
    }

    /// How many bytes there can be without moving them.
    pub fn capacity(&self) -> usize {
        self.bytes.capacity() - self.from
    }

    /// Adds bytes at the end.
    pub fn extend_from_slice(&mut self, more: &[u8]) {
        self.reserve(more.len());
        self.bytes.extend_from_slice(more);
    }

    /// Cuts the end off, or adds bytes of one value.
    pub fn resize(&mut self, length: usize, value: u8) {
        self.reserve(length.saturating_sub(self.len()));
        self.bytes.resize(self.from + length, value);
    }

    /// Removes all bytes and keeps their space.
    pub fn clear(&mut self) {
        self.bytes.truncate(self.from);
    }

    fn reserve(&mut self, more: usize) {
        if more <= self.bytes.capacity() - self.bytes.len() {
            return;
        }
        let wanted = self.len().saturating_add(more).max(self.capacity().saturating_mul(2));
        let mut other = Self::with_capacity(wanted);
        other.bytes.extend_from_slice(self);
        *self = other;
    }
}

impl Deref for AlignedBytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes[self.from..]
    }
}

impl DerefMut for AlignedBytes {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.bytes[self.from..]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_stay_aligned_and_whole_while_they_grow() {
        let mut bytes = AlignedBytes::default();
        let mut expected = Vec::new();
        assert!(bytes.is_empty());
        for round in 0..2000_usize {
            match round % 7 {
                0 => {
                    let length = expected.len() + round % 100;
                    bytes.resize(length, 7);
                    expected.resize(length, 7);
                }
                1 if round % 3 == 0 => {
                    bytes.resize(expected.len() / 2, 0);
                    expected.truncate(expected.len() / 2);
                }
                _ => {
                    let more = vec![round.to_le_bytes()[0]; round % 301];
                    bytes.extend_from_slice(&more);
                    expected.extend_from_slice(&more);
                }
            }
            assert_eq!(*bytes, *expected);
            assert!(bytes.is_empty() || bytes.as_ptr().align_offset(ALIGNMENT) == 0, "{round}");
            assert!(bytes.capacity() >= bytes.len());
        }
        let capacity = bytes.capacity();
        bytes.clear();
        assert!(bytes.is_empty());
        assert_eq!(bytes.capacity(), capacity);
    }
}
