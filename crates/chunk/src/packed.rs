//! Packed sub-blocks: the compressed form of columns on disk, used if it saves a good deal.
//!
//! In memory codes take whole bytes and texts are uncompressed, which scans need; on disk numbers
//! take as many bits as they need, and texts are compressed. The packed form is decoded once when a
//! column is read, so only [`pack`] and [`unpack`] depend on it. `docs/internals/format-chunk.md`
//! has the bytes.

mod bits;

use std::ops::Range;

use arrow::buffer::{Buffer, MutableBuffer};
use pelorus_error::{Error, Result};

use crate::format::{HEADER, Header, damaged};

/// Set in the codec of a packed sub-block.
const PACKED: u8 = 0x80;
/// Bytes of the directory after the header: the length of each section.
const DIRECTORY: usize = 6 * 4;
/// Smaller sub-blocks stay as they are.
const SMALL: usize = 4096;
/// A section is packed if that leaves at most so many sixteenths of it; so unpacking is not paid
/// for nothing.
const AT_MOST: usize = 14;
/// From so many bytes of a section its compression is tried before it is done.
const SAMPLE: usize = 32 << 10;
/// The effort of the compressor: a low one, since rows are merged several times.
const LEVEL: i32 = 1;

/// How a section is packed.
#[derive(Clone, Copy, Debug)]
enum Form {
    /// Compressed by zstd.
    Bytes,
    /// Numbers of so many bytes, in bits.
    Bits(usize),
    /// Numbers of 32 bits that rise: the distances between them, in bits.
    Rises,
}

/// The sections of a sub-block with their packed forms.
fn sections(header: &Header) -> [(Range<usize>, Form); 6] {
    let places = header.sections();
    [
        (places.validity, Form::Bytes),
        (places.bases, Form::Bits(8)),
        (places.run_ends, Form::Rises),
        (places.codes, Form::Bits(usize::from(header.width))),
        (places.offsets, Form::Rises),
        (places.values, Form::Bytes),
    ]
}

/// The packed form of a plain sub-block, if it is worth it.
#[expect(clippy::cast_possible_truncation, reason = "sections are smaller than 4 GiB")]
pub(crate) fn pack(block: &[u8], header: &Header) -> Option<Vec<u8>> {
    if block.len() < SMALL {
        return None;
    }
    let mut packed = block.first_chunk::<HEADER>()?.to_vec();
    packed[2] |= PACKED;
    packed.resize(HEADER + DIRECTORY, 0);
    for (at, (place, form)) in sections(header).into_iter().enumerate() {
        let (plain, start) = (&block[place], packed.len());
        let is_packed = form.pack(plain, &mut packed);
        if !is_packed || !is_worth(packed.len() - start, plain.len()) {
            packed.truncate(start);
            packed.extend_from_slice(plain);
        }
        let length = (packed.len() - start) as u32;
        packed[HEADER + at * 4..][..4].copy_from_slice(&length.to_le_bytes());
    }
    is_worth(packed.len(), block.len()).then_some(packed)
}

fn is_worth(packed: usize, plain: usize) -> bool {
    packed <= plain / 16 * AT_MOST
}

/// The plain form of a sub-block, which may be packed.
///
/// # Errors
/// `FileDamaged` for a packed form that is none.
pub(crate) fn unpack(block: &Buffer) -> Result<Buffer> {
    let Some(head) = block.first_chunk::<HEADER>().filter(|head| head[2] & PACKED != 0) else {
        return Ok(block.clone());
    };
    let mut head = *head;
    head[2] &= !PACKED;
    let header = Header::of(&head)?;
    let sections = sections(&header);
    let parts = parts(block, &sections)?;
    let mut plain = MutableBuffer::from_len_zeroed(header.length());
    plain[..HEADER].copy_from_slice(&head);
    for ((place, form), part) in sections.into_iter().zip(parts) {
        let section = &mut plain[place];
        if part.len() == section.len() {
            section.copy_from_slice(part);
        } else {
            form.unpack(part, section)?;
        }
    }
    Ok(plain.into())
}

/// The sections as they are stored. Nothing that the header claims without bytes to show for it is
/// believed, since memory is taken for all of it.
fn parts<'a>(block: &'a [u8], sections: &[(Range<usize>, Form); 6]) -> Result<[&'a [u8]; 6]> {
    let early = || damaged("a packed column ends too early");
    let directory = block.get(HEADER..HEADER + DIRECTORY).ok_or_else(early)?;
    let mut rest = &block[HEADER + DIRECTORY..];
    let mut parts: [&[u8]; 6] = [&[]; 6];
    let lengths = directory.as_chunks::<4>().0.iter().map(|it| u32::from_le_bytes(*it));
    for ((part, length), (place, form)) in parts.iter_mut().zip(lengths).zip(sections) {
        (*part, rest) = rest.split_at_checked(length as usize).ok_or_else(early)?;
        let is_packed = part.len() != place.len();
        if is_packed && matches!(form, Form::Bytes) && !is_frame(part, place.len()) {
            return Err(damaged("a compressed section of a column has another length"));
        }
    }
    if rest.is_empty() { Ok(parts) } else { Err(damaged("bytes follow a packed column")) }
}

/// Whether compressed bytes say that they are so many, and can be: a block of a frame has at most
/// 128 KiB and at least 4 bytes (RFC 8878).
fn is_frame(part: &[u8], length: usize) -> bool {
    let said = zstd::zstd_safe::get_frame_content_size(part).ok().flatten();
    said == u64::try_from(length).ok() && length >> 15 <= part.len()
}

impl Form {
    /// Appends the packed form of a section, if there is one that is worth a trial.
    fn pack(self, plain: &[u8], packed: &mut Vec<u8>) -> bool {
        match self {
            Self::Bits(width) if width > 0 => bits::pack(width, plain, packed),
            Self::Bits(_) => return false,
            Self::Rises => {
                let mut last = 0_u32;
                let rise = |number: &[u8; 4]| {
                    let number = u32::from_le_bytes(*number);
                    number.wrapping_sub(std::mem::replace(&mut last, number)).to_le_bytes()
                };
                let rises: Vec<[u8; 4]> = plain.as_chunks::<4>().0.iter().map(rise).collect();
                bits::pack(4, rises.as_flattened(), packed);
            }
            Self::Bytes => return compress(plain, packed).is_some(),
        }
        true
    }

    fn unpack(self, part: &[u8], section: &mut [u8]) -> Result<()> {
        let done = match self {
            Self::Bits(width) => bits::unpack(width, part, section),
            Self::Rises => bits::unpack(4, part, section).map(|()| {
                let mut sum = 0_u32;
                for number in section.as_chunks_mut::<4>().0 {
                    sum = sum.wrapping_add(u32::from_le_bytes(*number));
                    *number = sum.to_le_bytes();
                }
            }),
            Self::Bytes => match zstd::bulk::decompress_to_buffer(part, section) {
                Ok(length) if length == section.len() => Some(()),
                Ok(_) => None,
                Err(error) => {
                    let error = Error::internal("zstd").caused_by(error);
                    return Err(damaged("a compressed section of a column").caused_by(error));
                }
            },
        };
        done.ok_or_else(|| damaged("a packed section of a column has another length"))
    }
}

/// Appends bytes compressed; `None` if a sample shows that they cannot be.
fn compress(plain: &[u8], packed: &mut Vec<u8>) -> Option<()> {
    if plain.len() < SMALL {
        return None;
    }
    let frame = |bytes: &[u8]| zstd::bulk::compress(bytes, LEVEL).ok();
    if plain.len() > 2 * SAMPLE {
        let middle = plain.len() / 2;
        let sample = &plain[middle..middle + SAMPLE];
        frame(sample).filter(|frame| is_worth(frame.len(), sample.len()))?;
    }
    packed.extend_from_slice(&frame(plain)?);
    Some(())
}
