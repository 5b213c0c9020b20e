//! Little-endian bytes of manifests, catalogs and log records, written and read with bounds.
//!
//! Reading never panics and never reserves memory for more than the input can hold.

use std::ops::RangeInclusive;

use pelorus_env::sync::Mutex;
use pelorus_error::{Code, Error, Result};

/// Builds bytes.
#[derive(Debug, Default)]
pub(crate) struct Writer(pub(crate) Vec<u8>);

impl Writer {
    pub(crate) fn u8(&mut self, value: u8) {
        self.0.push(value);
    }

    pub(crate) fn bool(&mut self, value: bool) {
        self.0.push(u8::from(value));
    }

    pub(crate) fn u16(&mut self, value: u16) {
        self.0.extend_from_slice(&value.to_le_bytes());
    }

    pub(crate) fn u32(&mut self, value: u32) {
        self.0.extend_from_slice(&value.to_le_bytes());
    }

    pub(crate) fn u64(&mut self, value: u64) {
        self.0.extend_from_slice(&value.to_le_bytes());
    }

    /// A count or position; they all fit four bytes.
    pub(crate) fn count(&mut self, value: usize) {
        self.u32(u32::try_from(value).unwrap_or(u32::MAX));
    }

    /// A length of eight bytes and the bytes.
    pub(crate) fn bytes(&mut self, value: &[u8]) {
        self.u64(value.len() as u64);
        self.0.extend_from_slice(value);
    }
}

/// Large buffers that have been used, to be used again: memory that comes fresh from the system
/// costs a fault for each of its pages.
#[derive(Debug, Default)]
pub(crate) struct Spares(Mutex<Vec<Vec<u8>>>);

impl Spares {
    /// So many are kept,
    const MOST: usize = 4;
    /// of these capacities.
    const WORTH: RangeInclusive<usize> = 64 << 10..=16 << 20;

    /// An empty buffer.
    pub(crate) fn take(&self) -> Vec<u8> {
        self.0.lock().pop().unwrap_or_default()
    }

    /// Returns a buffer.
    pub(crate) fn give(&self, mut buffer: Vec<u8>) {
        if !Self::WORTH.contains(&buffer.capacity()) {
            return;
        }
        buffer.clear();
        let mut kept = self.0.lock();
        if kept.len() < Self::MOST {
            kept.push(buffer);
        }
    }
}

/// Takes bytes apart.
#[derive(Debug)]
pub(crate) struct Reader<'a> {
    rest: &'a [u8],
    /// The name of the input, for errors: `the log record at 4096`.
    what: &'a str,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8], what: &'a str) -> Self {
        Self { rest: bytes, what }
    }

    /// An error about these bytes.
    pub(crate) fn damaged(&self, how: &str) -> Error {
        Error::new(Code::FileDamaged, format!("{} is damaged: {how}", self.what))
    }

    /// An error about a format number of another version of the program.
    pub(crate) fn unknown_format(&self, format: u8) -> Error {
        let text = format!("{} has format {format}, which this version does not know", self.what);
        Error::new(Code::FileVersion, text)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    pub(crate) fn take(&mut self, count: usize) -> Result<&'a [u8]> {
        match self.rest.split_at_checked(count) {
            Some((taken, rest)) => {
                self.rest = rest;
                Ok(taken)
            }
            None => Err(self.damaged("it ends too early")),
        }
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let taken = self.take(N)?;
        taken.try_into().map_err(|_| self.damaged("it ends too early"))
    }

    pub(crate) fn u8(&mut self) -> Result<u8> {
        Ok(u8::from_le_bytes(self.array()?))
    }

    pub(crate) fn bool(&mut self) -> Result<bool> {
        match self.u8()? {
            0 => Ok(false),
            1 => Ok(true),
            other => Err(self.damaged(&format!("{other} is neither yes nor no"))),
        }
    }

    pub(crate) fn u16(&mut self) -> Result<u16> {
        Ok(u16::from_le_bytes(self.array()?))
    }

    pub(crate) fn u32(&mut self) -> Result<u32> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    pub(crate) fn u64(&mut self) -> Result<u64> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    /// A count of things that take a byte each at least.
    pub(crate) fn count(&mut self) -> Result<usize> {
        let count = self.u32()? as usize;
        if count > self.rest.len() {
            return Err(self.damaged("it ends too early"));
        }
        Ok(count)
    }

    /// A number that is bounded by something else than the bytes that follow.
    pub(crate) fn count_up_to(&mut self, most: usize) -> Result<usize> {
        let count = self.u32()? as usize;
        if count > most {
            return Err(self.damaged(&format!("{count} is more than {most}")));
        }
        Ok(count)
    }

    pub(crate) fn bytes(&mut self) -> Result<&'a [u8]> {
        let length = self.u64()?;
        match usize::try_from(length) {
            Ok(length) => self.take(length),
            Err(_) => Err(self.damaged("it ends too early")),
        }
    }

    /// Checks that nothing is left.
    pub(crate) fn end(self) -> Result<()> {
        if self.rest.is_empty() {
            return Ok(());
        }
        Err(self.damaged(&format!("{} bytes too many", self.rest.len())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_buffers_come_again_and_others_do_not() {
        let spares = Spares::default();
        for capacity in [0, 100, *Spares::WORTH.end() + 1] {
            spares.give(Vec::with_capacity(capacity));
            assert_eq!(spares.take().capacity(), 0);
        }
        for _ in 0..=Spares::MOST {
            spares.give(vec![7; 1 << 20]);
        }
        for _ in 0..Spares::MOST {
            let spare = spares.take();
            assert!(spare.is_empty() && spare.capacity() >= 1 << 20);
        }
        assert_eq!(spares.take().capacity(), 0);
    }
}
