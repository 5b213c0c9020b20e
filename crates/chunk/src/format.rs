//! The header of a column's sub-block and where its sections lie (docs/internals/format-chunk.md).
//!
//! ```text
//! 0  version (1)    4  precision     8  rows u32            16  entries u32
//! 1  column type    5  scale i8     12  NULL count u32      20  bytes of text u32
//! 2  codec          6  exponent                             24  step u64
//! 3  code width     7  group shift
//! 32 sections, each from a multiple of 16: validity, bases, run ends, codes, offsets, values
//! ```
//! All numbers are little-endian. This is the form in memory; on the disk module `packed` may have
//! made it smaller. The length of every section follows from the header, and the
//! sub-block must have exactly the length that results, so no section can reach outside.

use std::ops::Range;

use pelorus_error::{Code, Error, Result};

use crate::kind::Kind;
use crate::{CHUNK_ROWS, Codec};

/// Version of the sub-block format; the first byte of every sub-block.
pub(crate) const VERSION: u8 = 1;
/// Bytes of the header.
pub(crate) const HEADER: usize = 32;
/// Sections start at multiples of this, so that 128-bit values can be used in place.
const ALIGN: usize = 16;
/// Group shift of one base a vector: 2^11 rows.
pub(crate) const VECTOR_SHIFT: u8 = 11;
/// Group shift of one base a chunk: 2^17 rows.
pub(crate) const CHUNK_SHIFT: u8 = 17;
/// Group shift of anchors in the delta codec: 2^7 rows.
pub(crate) const DELTA_SHIFT: u8 = 7;
/// The powers of ten that are exact in double precision, by exponent.
pub(crate) const POWERS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
    1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
];

const _: () = assert!(1 << VECTOR_SHIFT == crate::VECTOR_ROWS && 1 << CHUNK_SHIFT == CHUNK_ROWS);

/// The error of bytes that are not a chunk.
pub(crate) fn damaged(what: impl std::fmt::Display) -> Error {
    Error::new(Code::FileDamaged, format!("damaged chunk: {what}"))
}

/// The fixed fields of a sub-block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) kind: Kind,
    pub(crate) codec: Codec,
    /// Bytes of a code: 1, 2, 4, 8, or 0 where there are none.
    pub(crate) width: u8,
    /// Floats in frames: values are integers divided by ten to this power.
    pub(crate) exponent: u8,
    /// Rows that share a base are 2 to this power; 0 without bases.
    pub(crate) group_shift: u8,
    pub(crate) rows: usize,
    pub(crate) nulls: usize,
    /// Values in the sections `offsets` and `values`.
    pub(crate) entries: usize,
    /// Bytes of section `values` of text and binary.
    pub(crate) text_bytes: usize,
    /// The unit of a code in frames: value = base + code * step.
    pub(crate) step: u64,
}

/// Byte ranges of the sections within the sub-block; absent ones are empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Sections {
    pub(crate) validity: Range<usize>,
    pub(crate) bases: Range<usize>,
    pub(crate) run_ends: Range<usize>,
    pub(crate) codes: Range<usize>,
    pub(crate) offsets: Range<usize>,
    pub(crate) values: Range<usize>,
}

impl Header {
    /// Number of bases.
    pub(crate) fn groups(&self) -> usize {
        match self.codec {
            Codec::Frame | Codec::Delta => self.rows.div_ceil(1 << self.group_shift),
            _ => 0,
        }
    }

    /// Where the sections lie; the last one ends where the sub-block ends. All counts are at
    /// most 2^32 and widths at most 32, so the sums fit 64 bits.
    pub(crate) fn sections(&self) -> Sections {
        let mut end = HEADER;
        let mut place = |bytes: usize| {
            if bytes == 0 {
                return end..end;
            }
            let start = end.next_multiple_of(ALIGN);
            end = start + bytes;
            start..end
        };
        let partly_null = self.nulls > 0 && self.nulls < self.rows;
        let width = self.kind.width();
        Sections {
            validity: place(if partly_null { self.rows.div_ceil(64) * 8 } else { 0 }),
            bases: place(self.groups() * 8),
            run_ends: place(if self.codec == Codec::Runs { self.entries * 4 } else { 0 }),
            codes: place(self.rows * usize::from(self.width)),
            offsets: place(match width {
                None if self.entries > 0 => (self.entries + 1) * 4,
                _ => 0,
            }),
            values: place(width.map_or(self.text_bytes, |width| self.entries * width)),
        }
    }

    /// The 32 bytes of the header.
    #[expect(clippy::cast_possible_truncation, reason = "counts are bounded by chunk and offsets")]
    pub(crate) fn to_bytes(self) -> [u8; HEADER] {
        let (tag, precision, scale) = self.kind.to_tag();
        let mut bytes = [0; HEADER];
        bytes[0] = VERSION;
        bytes[1] = tag;
        bytes[2] = self.codec.tag();
        bytes[3] = self.width;
        bytes[4] = precision;
        bytes[5] = scale.to_le_bytes()[0];
        bytes[6] = self.exponent;
        bytes[7] = self.group_shift;
        bytes[8..12].copy_from_slice(&(self.rows as u32).to_le_bytes());
        bytes[12..16].copy_from_slice(&(self.nulls as u32).to_le_bytes());
        bytes[16..20].copy_from_slice(&(self.entries as u32).to_le_bytes());
        bytes[20..24].copy_from_slice(&(self.text_bytes as u32).to_le_bytes());
        bytes[24..32].copy_from_slice(&self.step.to_le_bytes());
        bytes
    }

    /// Bytes of the whole sub-block.
    pub(crate) fn length(&self) -> usize {
        self.sections().values.end
    }

    /// Reads and checks a header against the length of its sub-block.
    ///
    /// # Errors
    /// As [`Self::of`], and `FileDamaged` for another length.
    pub(crate) fn parse(block: &[u8]) -> Result<Self> {
        let Some(bytes) = block.first_chunk::<HEADER>() else {
            return Err(damaged(format!("a column of {} bytes has no header", block.len())));
        };
        let header = Self::of(bytes)?;
        let end = header.length();
        if end != block.len() {
            return Err(damaged(format!("a column of {} bytes should have {end}", block.len())));
        }
        Ok(header)
    }

    /// Reads a header.
    ///
    /// # Errors
    /// `FileVersion` for a version or codec that this program does not know, `FileDamaged` for
    /// fields that contradict each other.
    pub(crate) fn of(bytes: &[u8; HEADER]) -> Result<Self> {
        if bytes[0] != VERSION {
            return Err(Error::new(
                Code::FileVersion,
                format!("column format version {} is not {VERSION}", bytes[0]),
            ));
        }
        let (words, _) = bytes.as_chunks::<4>();
        let word = |index: usize| u32::from_le_bytes(words[index]);
        let header = Self {
            kind: Kind::from_tag(bytes[1], bytes[4], i8::from_le_bytes([bytes[5]]))?,
            codec: Codec::from_tag(bytes[2])?,
            width: bytes[3],
            exponent: bytes[6],
            group_shift: bytes[7],
            rows: word(2) as usize,
            nulls: word(3) as usize,
            entries: word(4) as usize,
            text_bytes: word(5) as usize,
            step: u64::from(word(6)) | u64::from(word(7)) << 32,
        };
        header.check()?;
        Ok(header)
    }

    /// Checks what no section's content can change.
    fn check(&self) -> Result<()> {
        let frame = matches!(self.codec, Codec::Frame | Codec::Delta);
        let entries_fit = match self.codec {
            Codec::Null | Codec::Frame | Codec::Delta => self.entries == 0,
            Codec::Constant => self.entries == 1,
            Codec::Plain => self.entries == self.rows,
            Codec::Runs | Codec::Dictionary => (1..=self.rows).contains(&self.entries),
        };
        let width_fits = match self.codec {
            Codec::Frame if self.kind.is_float() => matches!(self.width, 1 | 2 | 4),
            Codec::Frame => matches!(self.width, 1 | 2 | 4 | 8),
            Codec::Delta | Codec::Dictionary => matches!(self.width, 1 | 2 | 4),
            _ => self.width == 0,
        };
        let group_fits = match self.codec {
            Codec::Frame => matches!(self.group_shift, VECTOR_SHIFT | CHUNK_SHIFT),
            Codec::Delta => self.group_shift == DELTA_SHIFT,
            _ => self.group_shift == 0,
        };
        let nulls_fit = match self.codec {
            Codec::Null => self.nulls == self.rows,
            _ => self.nulls < self.rows,
        };
        let powers = if frame && self.kind.is_float() { POWERS.len() } else { 1 };
        let fits = self.rows <= CHUNK_ROWS
            && entries_fit
            && width_fits
            && group_fits
            && nulls_fit
            && (!frame || self.kind.width().is_some())
            && frame == (self.step > 0)
            && usize::from(self.exponent) < powers
            && (self.kind.width().is_none() || self.text_bytes == 0)
            && (self.entries > 0 || self.text_bytes == 0);
        if fits { Ok(()) } else { Err(damaged(format!("contradictory column header {self:?}"))) }
    }
}

/// Appends a sub-block to a chunk, in which it starts at a multiple of 64: the header, then the
/// sections in the order of [`Sections`], padded.
pub(crate) fn assemble(header: Header, sections: [&[u8]; 6], chunk: &mut Vec<u8>) {
    let start = chunk.len();
    let places = header.sections();
    chunk.reserve(header.length());
    chunk.extend_from_slice(&header.to_bytes());
    let places = [
        places.validity,
        places.bases,
        places.run_ends,
        places.codes,
        places.offsets,
        places.values,
    ];
    for (place, bytes) in places.into_iter().zip(sections) {
        assert_eq!(place.len(), bytes.len(), "a section of {header:?}");
        chunk.resize(start + place.start, 0);
        chunk.extend_from_slice(bytes);
    }
}
