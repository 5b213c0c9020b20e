//! [`Reader`]: a cursor over the bytes of an event. Every method fails rather than read past the
//! end, and none allocates.

use pelorus_error::{Code, Error, Result};

/// An error that says where an event's bytes stop making sense.
pub(crate) fn malformed(what: impl std::fmt::Display) -> Error {
    Error::new(Code::MalformedPacket, format!("malformed binlog event ({what})"))
}

/// A cursor over bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    pub(crate) fn rest(&self) -> &'a [u8] {
        self.rest
    }

    pub(crate) fn take_rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.rest)
    }

    pub(crate) fn remaining(&self) -> usize {
        self.rest.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    #[inline]
    pub(crate) fn bytes(&mut self, count: usize) -> Result<&'a [u8]> {
        let (taken, rest) =
            self.rest.split_at_checked(count).ok_or_else(|| malformed("ends too early"))?;
        self.rest = rest;
        Ok(taken)
    }

    #[inline]
    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let (taken, rest) =
            self.rest.split_first_chunk::<N>().ok_or_else(|| malformed("ends too early"))?;
        self.rest = rest;
        Ok(*taken)
    }

    #[inline]
    pub(crate) fn u8(&mut self) -> Result<u8> {
        Ok(u8::from_le_bytes(self.array()?))
    }

    #[inline]
    pub(crate) fn u16(&mut self) -> Result<u16> {
        Ok(u16::from_le_bytes(self.array()?))
    }

    #[inline]
    pub(crate) fn u24(&mut self) -> Result<u32> {
        let [a, b, c] = self.array()?;
        Ok(u32::from_le_bytes([a, b, c, 0]))
    }

    #[inline]
    pub(crate) fn u32(&mut self) -> Result<u32> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    /// Six bytes: the number of a table.
    #[inline]
    pub(crate) fn u48(&mut self) -> Result<u64> {
        let [a, b, c, d, e, f] = self.array()?;
        Ok(u64::from_le_bytes([a, b, c, d, e, f, 0, 0]))
    }

    /// Seven bytes: a time of commit.
    #[inline]
    pub(crate) fn u56(&mut self) -> Result<u64> {
        let [a, b, c, d, e, f, g] = self.array()?;
        Ok(u64::from_le_bytes([a, b, c, d, e, f, g, 0]))
    }

    #[inline]
    pub(crate) fn u64(&mut self) -> Result<u64> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    /// An unsigned number of up to 8 bytes, the lowest first.
    #[inline]
    pub(crate) fn uint_le(&mut self, width: usize) -> Result<u64> {
        Ok(self.bytes(width)?.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte)))
    }

    /// An unsigned number of up to 8 bytes, the highest first.
    #[inline]
    pub(crate) fn uint_be(&mut self, width: usize) -> Result<u64> {
        Ok(self.bytes(width)?.iter().fold(0, |value, byte| value << 8 | u64::from(*byte)))
    }

    /// A length-encoded integer of the protocol.
    #[inline]
    pub(crate) fn lenenc(&mut self) -> Result<u64> {
        match self.u8()? {
            0xFC => Ok(u64::from(self.u16()?)),
            0xFD => Ok(u64::from(self.u24()?)),
            0xFE => self.u64(),
            0xFB | 0xFF => Err(malformed("no length-encoded integer")),
            small => Ok(u64::from(small)),
        }
    }

    /// A length-encoded integer that counts bytes or things of this event.
    #[inline]
    pub(crate) fn lenenc_len(&mut self) -> Result<usize> {
        usize::try_from(self.lenenc()?).map_err(|_| malformed("ends too early"))
    }

    /// A string with its length-encoded length in front.
    #[inline]
    pub(crate) fn lenenc_bytes(&mut self) -> Result<&'a [u8]> {
        let length = self.lenenc_len()?;
        self.bytes(length)
    }

    /// A string with one byte of length in front.
    pub(crate) fn short_bytes(&mut self) -> Result<&'a [u8]> {
        let length = usize::from(self.u8()?);
        self.bytes(length)
    }

    /// A string up to a zero byte, which is taken too.
    pub(crate) fn nul_bytes(&mut self) -> Result<&'a [u8]> {
        let end = self
            .rest
            .iter()
            .position(|byte| *byte == 0)
            .ok_or_else(|| malformed("a string has no end"))?;
        let taken = self.bytes(end)?;
        self.bytes(1)?;
        Ok(taken)
    }

    /// Takes a byte that must be zero.
    pub(crate) fn zero(&mut self) -> Result<()> {
        if self.u8()? == 0 { Ok(()) } else { Err(malformed("a name does not end in zero")) }
    }
}

/// Text of an event that is UTF-8 by definition (names of files, databases, tables and columns).
pub(crate) fn utf8(bytes: &[u8], what: &str) -> Result<String> {
    String::from_utf8(bytes.to_vec()).map_err(|_| malformed(format_args!("{what} is not UTF-8")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_all_widths() {
        let bytes = [1, 2, 3, 4, 5, 6, 7, 8];
        assert_eq!(Reader::new(&bytes).u24().unwrap(), 0x03_0201);
        assert_eq!(Reader::new(&bytes).u48().unwrap(), 0x0605_0403_0201);
        assert_eq!(Reader::new(&bytes).u56().unwrap(), 0x07_0605_0403_0201);
        assert_eq!(Reader::new(&bytes).uint_le(3).unwrap(), 0x03_0201);
        assert_eq!(Reader::new(&bytes).uint_be(3).unwrap(), 0x01_0203);
        assert_eq!(Reader::new(&bytes[..2]).u24().unwrap_err().errno(), 1835);
        assert_eq!(
            Reader::new(&[0xFE, 255, 255, 255, 255, 255, 255, 255, 255])
                .lenenc_bytes()
                .unwrap_err()
                .errno(),
            1835
        );
    }
}
