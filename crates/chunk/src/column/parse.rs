//! Parses the bytes of a sub-block into a column: checksum, header, and the content that reads rely
//! on.

use std::sync::Arc;

use arrow::array::{ArrayRef, BinaryArray, PrimitiveArray, StringArray};
use arrow::buffer::{BooleanBuffer, Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow::datatypes::{ArrowNativeType, ArrowPrimitiveType};
use pelorus_error::{Code, Error, Result};

use super::codes::Codes;
use super::ints::Ints;
use super::runs::Runs;
use super::{Column, Data};
use crate::format::{Header, Sections, damaged};
use crate::kind::{Kind, by_kind};
use crate::meta::ColumnMeta;
use crate::{Codec, packed};

impl Column {
    /// Opens the sub-block that a manifest describes. The column keeps its plain form.
    ///
    /// # Errors
    /// `FileDamaged` if the checksum or anything inside is wrong, `FileVersion` for a version or
    /// codec that this program does not know.
    pub fn parse(block: Buffer, meta: &ColumnMeta) -> Result<Self> {
        let checksum = crc32c::crc32c(&block);
        if block.len() as u64 != meta.length || checksum != meta.checksum {
            return Err(damaged(format!(
                "column of {} bytes at offset {} has checksum {checksum:08x}, not {:08x}",
                block.len(),
                meta.offset,
                meta.checksum,
            )));
        }
        Self::parse_unchecked(&packed::unpack(&block)?)
    }

    /// Opens a plain sub-block whose bytes are known to be those that were written.
    fn parse_unchecked(block: &Buffer) -> Result<Self> {
        let header = Header::parse(block)?;
        let sections = header.sections();
        let validity = parse_validity(&header, &sections, block)?;
        let nulls = validity.clone().map(|bits| {
            // Header::check has nulls < rows here, and a bitmap only if there are any.
            NullBuffer::new(BooleanBuffer::new(bits, 0, header.rows))
        });
        if let Some(nulls) = &nulls
            && nulls.null_count() != header.nulls
        {
            let (has, should) = (nulls.null_count(), header.nulls);
            return Err(damaged(format!("a column has {has} NULLs, not {should}")));
        }
        let values = |nulls| parse_values(&header, &sections, block, nulls);
        let codes = || Codes {
            width: header.width,
            bytes: block.slice_with_length(sections.codes.start, sections.codes.len()),
        };
        let data = match header.codec {
            Codec::Null => Data::Null,
            Codec::Constant => Data::Constant(values(None)?),
            Codec::Plain => Data::Plain(values(nulls.clone())?),
            Codec::Frame | Codec::Delta => Data::Ints(Ints {
                codes: codes(),
                bases: words(&block[sections.bases.clone()]),
                shift: header.group_shift,
                step: header.step,
                delta: header.codec == Codec::Delta,
                exponent: header.exponent,
            }),
            Codec::Runs => {
                let (ends, _) = block[sections.run_ends.clone()].as_chunks::<4>();
                let ends = ends.iter().map(|end| u32::from_le_bytes(*end)).collect();
                Data::Runs(Runs::new(ends, values(None)?, header.rows)?)
            }
            Codec::Dictionary => {
                let codes = codes();
                if !codes.all_below(header.entries as u64) {
                    let entries = header.entries;
                    return Err(damaged(format!("a code beyond the {entries} dictionary values")));
                }
                Data::Dictionary(codes, values(None)?)
            }
        };
        Ok(Self {
            kind: header.kind,
            codec: header.codec,
            rows: header.rows,
            length: block.len(),
            nulls,
            validity,
            data,
        })
    }
}

fn words(bytes: &[u8]) -> Vec<u64> {
    bytes.as_chunks::<8>().0.iter().map(|word| u64::from_le_bytes(*word)).collect()
}

/// The bitmap of a column in which some rows are NULL. Bits beyond the last row must be clear.
fn parse_validity(header: &Header, sections: &Sections, block: &Buffer) -> Result<Option<Buffer>> {
    if sections.validity.is_empty() {
        return Ok(None);
    }
    let bits = block.slice_with_length(sections.validity.start, sections.validity.len());
    let last = words(&bits).last().copied().unwrap_or(0);
    if !header.rows.is_multiple_of(64) && last >> (header.rows % 64) != 0 {
        return Err(damaged("bits beyond the last row of a column"));
    }
    Ok(Some(bits))
}

/// The sections `offsets` and `values` as an array.
fn parse_values(
    header: &Header,
    sections: &Sections,
    block: &Buffer,
    nulls: Option<NullBuffer>,
) -> Result<ArrayRef> {
    let bytes = block.slice_with_length(sections.values.start, sections.values.len());
    by_kind!(
        header.kind,
        T => Ok(numbers::<T>(header.kind, &bytes, nulls)),
        utf8 => {
            let offsets = parse_offsets(header, sections, block)?;
            let array = StringArray::try_new(offsets, bytes, nulls);
            Ok(Arc::new(array.map_err(|error| damaged("text of a column").caused_by(error))?))
        },
        binary => {
            let offsets = parse_offsets(header, sections, block)?;
            let array = BinaryArray::try_new(offsets, bytes, nulls);
            Ok(Arc::new(array.map_err(|error| damaged("bytes of a column").caused_by(error))?))
        },
    )
}

fn numbers<T: ArrowPrimitiveType>(
    kind: Kind,
    bytes: &Buffer,
    nulls: Option<NullBuffer>,
) -> ArrayRef {
    let array = PrimitiveArray::<T>::new(aligned::<T::Native>(bytes), nulls);
    Arc::new(array.with_data_type(kind.data_type()))
}

/// The bytes as values in place, or a copy if they do not lie at an address that allows it.
fn aligned<T: ArrowNativeType>(bytes: &Buffer) -> ScalarBuffer<T> {
    if bytes.as_ptr().cast::<T>().is_aligned() {
        return ScalarBuffer::from(bytes.clone());
    }
    ScalarBuffer::from(Buffer::from_slice_ref(bytes.as_slice()))
}

fn parse_offsets(
    header: &Header,
    sections: &Sections,
    block: &Buffer,
) -> Result<OffsetBuffer<i32>> {
    let bytes = block.slice_with_length(sections.offsets.start, sections.offsets.len());
    let offsets = aligned::<i32>(&bytes);
    let last = i64::try_from(header.text_bytes).unwrap_or(i64::MAX);
    let fit = offsets.first() == Some(&0)
        && offsets.is_sorted()
        && offsets.last().is_some_and(|&end| i64::from(end) == last);
    if !fit {
        return Err(Error::new(Code::FileDamaged, "damaged chunk: offsets of a text column"));
    }
    Ok(OffsetBuffer::new(offsets))
}
