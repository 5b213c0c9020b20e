//! The protocol's basic units: little-endian integers, length-encoded integers and strings.

use bytes::{BufMut as _, BytesMut};
use pelorus_error::{Code, Error, Result};

/// An error that says where a packet's bytes stop making sense.
pub fn malformed(what: &str) -> Error {
    Error::new(Code::MalformedPacket, format!("Malformed communication packet ({what})"))
}

/// Reads a payload from front to back. Every method fails rather than read past the end.
#[derive(Clone, Copy, Debug)]
pub struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    /// Starts at the first byte.
    pub fn new(payload: &'a [u8]) -> Self {
        Self { rest: payload }
    }

    /// The bytes that have not been read yet.
    pub fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// Takes all that has not been read yet.
    pub fn take_rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.rest)
    }

    /// Bytes not read yet.
    pub fn remaining(&self) -> usize {
        self.rest.len()
    }

    /// Whether everything has been read.
    pub fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// Takes `count` bytes.
    #[inline]
    pub fn bytes(&mut self, count: usize) -> Result<&'a [u8]> {
        let (taken, rest) =
            self.rest.split_at_checked(count).ok_or_else(|| malformed("ends too early"))?;
        self.rest = rest;
        Ok(taken)
    }

    /// Takes `N` bytes as an array.
    #[inline]
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let (taken, rest) =
            self.rest.split_first_chunk::<N>().ok_or_else(|| malformed("ends too early"))?;
        self.rest = rest;
        Ok(*taken)
    }

    /// One byte.
    #[inline]
    pub fn u8(&mut self) -> Result<u8> {
        Ok(u8::from_le_bytes(self.array()?))
    }

    /// Two bytes.
    #[inline]
    pub fn u16(&mut self) -> Result<u16> {
        Ok(u16::from_le_bytes(self.array()?))
    }

    /// Three bytes.
    #[inline]
    pub fn u24(&mut self) -> Result<u32> {
        let [a, b, c] = self.array()?;
        Ok(u32::from_le_bytes([a, b, c, 0]))
    }

    /// Four bytes.
    #[inline]
    pub fn u32(&mut self) -> Result<u32> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    /// Eight bytes.
    #[inline]
    pub fn u64(&mut self) -> Result<u64> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    /// A length-encoded integer. The bytes 0xFB (NULL) and 0xFF start none.
    #[inline]
    pub fn lenenc_int(&mut self) -> Result<u64> {
        match self.u8()? {
            0xFC => Ok(u64::from(self.u16()?)),
            0xFD => Ok(u64::from(self.u24()?)),
            0xFE => self.u64(),
            0xFB | 0xFF => Err(malformed("no length-encoded integer")),
            small => Ok(u64::from(small)),
        }
    }

    /// A string with its length in front.
    #[inline]
    pub fn lenenc_bytes(&mut self) -> Result<&'a [u8]> {
        let length = self.lenenc_int()?;
        self.bytes(usize::try_from(length).map_err(|_| malformed("ends too early"))?)
    }

    /// A string with its length in front, or `None` for NULL: a value of a text row.
    #[inline]
    pub fn lenenc_bytes_or_null(&mut self) -> Result<Option<&'a [u8]>> {
        if let [0xFB, rest @ ..] = self.rest {
            self.rest = rest;
            return Ok(None);
        }
        self.lenenc_bytes().map(Some)
    }

    /// A string up to a zero byte, which is taken too.
    pub fn nul_bytes(&mut self) -> Result<&'a [u8]> {
        let end = self
            .rest
            .iter()
            .position(|byte| *byte == 0)
            .ok_or_else(|| malformed("a string has no end"))?;
        let taken = self.bytes(end)?;
        self.bytes(1)?;
        Ok(taken)
    }

    /// A string up to a zero byte or the end of the payload, as lenient servers read it.
    pub fn nul_or_rest(&mut self) -> &'a [u8] {
        self.nul_bytes().unwrap_or_else(|_| self.take_rest())
    }
}

/// How many bytes [`put_lenenc_int`] writes.
pub fn lenenc_int_size(value: u64) -> usize {
    match value {
        0..=0xFA => 1,
        0xFB..=0xFFFF => 3,
        0x1_0000..=0xFF_FFFF => 4,
        _ => 9,
    }
}

/// Appends a length-encoded integer.
#[inline]
pub fn put_lenenc_int(out: &mut BytesMut, value: u64) {
    let bytes = value.to_le_bytes();
    match lenenc_int_size(value) {
        1 => out.put_u8(bytes[0]),
        3 => {
            out.put_u8(0xFC);
            out.put_slice(&bytes[..2]);
        }
        4 => {
            out.put_u8(0xFD);
            out.put_slice(&bytes[..3]);
        }
        _ => {
            out.put_u8(0xFE);
            out.put_slice(&bytes);
        }
    }
}

/// Appends a string with its length in front.
#[inline]
pub fn put_lenenc_bytes(out: &mut BytesMut, bytes: &[u8]) {
    put_lenenc_int(out, bytes.len() as u64);
    out.put_slice(bytes);
}

/// Appends NULL, as a text row says it.
#[inline]
pub fn put_null(out: &mut BytesMut) {
    out.put_u8(0xFB);
}

/// Appends a string that ends at its first zero byte, and that zero.
pub fn put_nul_bytes(out: &mut BytesMut, bytes: &[u8]) {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    out.put_slice(&bytes[..end]);
    out.put_u8(0);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn integers_come_back(value in prop_oneof![0_u64..300, 65_000_u64..66_000, any::<u64>()]) {
            let mut out = BytesMut::new();
            put_lenenc_int(&mut out, value);
            prop_assert_eq!(out.len(), lenenc_int_size(value));
            let mut reader = Reader::new(&out);
            prop_assert_eq!(reader.lenenc_int().unwrap(), value);
            prop_assert!(reader.is_empty());
        }

        #[test]
        fn strings_come_back(text: Vec<u8>) {
            let mut out = BytesMut::new();
            put_lenenc_bytes(&mut out, &text);
            put_null(&mut out);
            let mut reader = Reader::new(&out);
            prop_assert_eq!(reader.lenenc_bytes_or_null().unwrap(), Some(&text[..]));
            prop_assert_eq!(reader.lenenc_bytes_or_null().unwrap(), None);
        }

        #[test]
        fn any_bytes_give_a_value_or_an_error(bytes: Vec<u8>) {
            let mut reader = Reader::new(&bytes);
            while reader.lenenc_bytes_or_null().is_ok() {}
            let _ = reader.lenenc_int();
            let _ = reader.nul_bytes();
            let _ = reader.u24();
        }
    }

    #[test]
    fn a_length_beyond_the_payload_is_refused() {
        let error = Reader::new(&[0xFE, 255, 255, 255, 255, 255, 255, 255, 255, 1])
            .lenenc_bytes()
            .unwrap_err();
        assert_eq!(error.errno(), 1835);
    }
}
