//! Decodes little-endian bytes, with bounds checks.
//!
//! No input causes a panic or an allocation of more memory than the input holds.

/// The result of a decoder: a value, or the problem in the bytes, without its location.
pub(crate) type Decoded<T> = Result<T, String>;

/// Bytes that are read from the front.
#[derive(Clone, Debug)]
pub(crate) struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// How many bytes are left.
    pub(crate) fn left(&self) -> usize {
        self.bytes.len() - self.at
    }

    pub(crate) fn take(&mut self, count: usize) -> Decoded<&'a [u8]> {
        let end = self.at.checked_add(count);
        match end.and_then(|end| Some((end, self.bytes.get(self.at..end)?))) {
            Some((end, taken)) => {
                self.at = end;
                Ok(taken)
            }
            None => Err(format!(
                "it ends at byte {} where {count} more bytes are due from byte {} on",
                self.bytes.len(),
                self.at
            )),
        }
    }

    fn array<const N: usize>(&mut self) -> Decoded<[u8; N]> {
        self.take(N)?.try_into().map_err(|_| String::from("it ends too early"))
    }

    pub(crate) fn u8(&mut self) -> Decoded<u8> {
        Ok(u8::from_le_bytes(self.array()?))
    }

    pub(crate) fn u16(&mut self) -> Decoded<u16> {
        Ok(u16::from_le_bytes(self.array()?))
    }

    pub(crate) fn u32(&mut self) -> Decoded<u32> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    pub(crate) fn u64(&mut self) -> Decoded<u64> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    pub(crate) fn i128(&mut self) -> Decoded<i128> {
        Ok(i128::from_le_bytes(self.array()?))
    }

    pub(crate) fn f64(&mut self) -> Decoded<f64> {
        Ok(f64::from_le_bytes(self.array()?))
    }

    pub(crate) fn wide(&mut self) -> Decoded<[u8; 32]> {
        self.array()
    }

    pub(crate) fn uuid(&mut self) -> Decoded<[u8; 16]> {
        self.array()
    }

    pub(crate) fn bool(&mut self) -> Decoded<bool> {
        match self.u8()? {
            0 => Ok(false),
            1 => Ok(true),
            other => Err(format!("byte {} is {other}, neither 0 nor 1", self.at - 1)),
        }
    }

    /// A number of things, at most `most`.
    pub(crate) fn count(&mut self, most: usize, of: &str) -> Decoded<usize> {
        let count = size(self.u32()?);
        if count > most {
            return Err(format!("it has {count} {of}, more than {most}"));
        }
        Ok(count)
    }

    /// A number of things that take at least one byte each.
    pub(crate) fn count_of_rest(&mut self, of: &str) -> Decoded<usize> {
        let most = self.left().saturating_sub(4);
        self.count(most, of)
    }

    /// A length of eight bytes, and that many bytes.
    pub(crate) fn bytes(&mut self) -> Decoded<&'a [u8]> {
        let length = self.u64()?;
        self.take(usize::try_from(length).unwrap_or(usize::MAX))
    }

    /// Checks that nothing is left.
    pub(crate) fn end(&self) -> Decoded<()> {
        match self.left() {
            0 => Ok(()),
            left => Err(format!("{left} bytes are left over behind byte {}", self.at)),
        }
    }
}

/// A `u32` as a size.
pub(crate) fn size(value: u32) -> usize {
    // Pelorus runs where `usize` has at least 32 bits.
    usize::try_from(value).unwrap_or(usize::MAX)
}

/// A size as a `u64`.
pub(crate) fn long(value: usize) -> u64 {
    u64::try_from(value).unwrap_or(u64::MAX)
}

/// The `N` bytes at a position, zeros where there are none.
pub(crate) fn array_at<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    let found = at.checked_add(N).and_then(|end| bytes.get(at..end));
    found.and_then(|it| it.try_into().ok()).unwrap_or([0; N])
}

/// The `u32` at a position, 0 where there is none.
pub(crate) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(array_at(bytes, at))
}
