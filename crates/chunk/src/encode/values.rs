//! Writes plain values: the arrays of plain columns, dictionaries and runs.

use arrow::array::{Array, ArrayRef, AsArray, GenericByteArray};
use arrow::datatypes::ByteArrayType;

use crate::kind::{Kind, by_kind};

/// The sections `offsets` (text and binary) and `values`; NULLs are zero or empty.
pub(super) fn write(array: &ArrayRef, kind: Kind) -> (Vec<u8>, Vec<u8>) {
    by_kind!(
        kind,
        T => {
            let array = array.as_primitive::<T>();
            let mut bytes = Vec::with_capacity(array.len() * kind.width().unwrap_or(0));
            match array.nulls() {
                None => array.values().iter().for_each(|v| bytes.extend_from_slice(&v.to_le_bytes())),
                Some(_) => array.iter().for_each(|value| {
                    bytes.extend_from_slice(&value.unwrap_or_default().to_le_bytes());
                }),
            }
            (Vec::new(), bytes)
        },
        utf8 => texts(array.as_string::<i32>()),
        binary => texts(array.as_binary::<i32>()),
    )
}

/// Bytes of all texts that are not NULL.
pub(super) fn text_bytes(array: &ArrayRef) -> usize {
    fn sum<T: ByteArrayType<Offset = i32>>(array: &GenericByteArray<T>) -> usize {
        if array.null_count() == 0 {
            let offsets = array.value_offsets();
            let (first, last) = (offsets[0], offsets[array.len()]);
            return usize::try_from(last - first).unwrap_or(0);
        }
        array.iter().flatten().map(|text| AsRef::<[u8]>::as_ref(text).len()).sum()
    }
    array
        .as_string_opt::<i32>()
        .map(sum)
        .or_else(|| array.as_binary_opt::<i32>().map(sum))
        .unwrap_or(0)
}

#[expect(clippy::cast_possible_truncation, reason = "the texts of an array fit 31 bits")]
fn texts<T: ByteArrayType<Offset = i32>>(array: &GenericByteArray<T>) -> (Vec<u8>, Vec<u8>) {
    let mut offsets = Vec::with_capacity((array.len() + 1) * 4);
    if array.null_count() == 0 {
        let (ends, data) = (array.value_offsets(), array.value_data());
        let first = ends[0];
        offsets.extend(ends.iter().flat_map(|end| (end - first).to_le_bytes()));
        let last = ends[array.len()];
        let place = usize::try_from(first).unwrap_or(0)..usize::try_from(last).unwrap_or(0);
        return (offsets, data[place].to_vec());
    }
    let mut bytes: Vec<u8> = Vec::new();
    offsets.extend_from_slice(&0u32.to_le_bytes());
    for text in array {
        bytes.extend_from_slice(text.map_or(&[], AsRef::<[u8]>::as_ref));
        offsets.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
    }
    (offsets, bytes)
}
