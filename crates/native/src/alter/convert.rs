//! Whether the stored values of a column stay valid without change under another type.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, StringArray};
use pelorus_error::{Error, Result};
use pelorus_functions::EvalContext;
use pelorus_functions::assignment::Target;
use pelorus_types::collation::UTF8MB4_BIN;
use pelorus_types::{ColumnType, Flags, WireType};

/// Characters that the longest number takes: a DOUBLE of 309 digits with 30 more after the point.
const DIGITS_MAX: u32 = 345;

/// Whether every value of one column is a value of another. `fixed` says that the bytes of the
/// column decide where rows are, so that its collation cannot change.
pub(super) fn is_kept(old: &Target, new: &Target, fixed: bool) -> bool {
    let same_text = old.ty.collation == new.ty.collation
        || (!fixed && holds_charset(new.ty.collation.charset(), old.ty.collation.charset()));
    old.ty.arrow() == new.ty.arrow() && same_text && holds(old, new)
}

/// Whether MySQL's `ALTER TABLE` makes values of one type into the other in a way of its own, which
/// no assignment of an `INSERT` shows.
pub(super) fn is_odd(from: &ColumnType, to: &ColumnType) -> bool {
    let whole = |ty: &ColumnType| integer_bytes(ty.wire).is_some() || ty.wire == WireType::Bit;
    match to.wire {
        _ if is_listed(to) => from.wire != WireType::Bit && !from.is_string() && !is_exact(from),
        WireType::Bit => !whole(from),
        WireType::Year => !whole(from) && from.wire != WireType::Year && !is_text(from),
        _ => is_listed(from) && to.is_temporal(),
    }
}

/// Whether MySQL's `ALTER TABLE` converts a number by its text. It does so to a date or time, to
/// JSON and to a member of an ENUM or SET, where an `INSERT` uses the number. It also does so to a
/// text if an expression does not see how the column shows the number: with leading zeros, with the
/// digits of a FLOAT or with fixed digits.
pub(super) fn is_by_text(from: &ColumnType, to: &ColumnType) -> bool {
    let is_read = to.is_temporal() || to.wire == WireType::Json;
    if from.is_float() {
        return is_read || to.is_string() && !is_listed(to);
    }
    is_exact(from) && (is_read || is_listed(to) || to.is_string() && zeros(from) > 0)
}

/// Texts as times are made of them: an empty one is the time zero.
pub(super) fn without_empty(texts: &ArrayRef) -> Option<ArrayRef> {
    let texts = texts.as_string_opt::<i32>()?;
    let filled = texts.iter().map(|text| text.map(|it| if it.is_empty() { "0" } else { it }));
    Some(Arc::new(filled.collect::<StringArray>()))
}

/// The texts that numbers are shown as, and their type.
///
/// # Errors
/// Errors of making texts of numbers.
pub(super) fn texts(array: &ArrayRef, from: &ColumnType) -> Result<(ArrayRef, ColumnType)> {
    let to = ColumnType::varchar(DIGITS_MAX, UTF8MB4_BIN);
    let plain = pelorus_functions::convert(array, from, &to, &EvalContext::default())?;
    let texts = plain.as_string_opt::<i32>();
    let texts = texts.ok_or_else(|| Error::internal("numbers as texts that are none"))?;
    let width = zeros(from);
    let padded = texts.iter().map(|text| text.map(|text| format!("{text:0>width$}")));
    Ok((Arc::new(padded.collect::<StringArray>()), to))
}

/// How many characters zeros in front of a number fill up.
fn zeros(ty: &ColumnType) -> usize {
    if ty.flags.has(Flags::ZEROFILL) { usize::try_from(ty.length).unwrap_or(0) } else { 0 }
}

fn is_exact(ty: &ColumnType) -> bool {
    integer_bytes(ty.wire).is_some() || matches!(ty.wire, WireType::Year | WireType::NewDecimal)
}

fn is_text(ty: &ColumnType) -> bool {
    ty.is_string() && !ty.is_binary_string() && !is_listed(ty)
}

fn holds_charset(new: &str, old: &str) -> bool {
    new == old || new == "utf8mb4"
}

fn is_listed(ty: &ColumnType) -> bool {
    ty.flags.has(Flags::ENUM) || ty.flags.has(Flags::SET)
}

fn holds(old: &Target, new: &Target) -> bool {
    let (from, to) = (&old.ty, &new.ty);
    if is_listed(from) || is_listed(to) {
        let kind = |ty: &ColumnType| (ty.flags.has(Flags::ENUM), ty.flags.has(Flags::SET));
        let begins = new.members.get(..old.members.len());
        return kind(from) == kind(to) && begins == Some(old.members.as_slice());
    }
    match (integer_bytes(from.wire), integer_bytes(to.wire)) {
        (Some(from), Some(to)) => return from <= to,
        (None, None) => {}
        _ => return false,
    }
    if matches!(from.wire, WireType::Geometry | WireType::Vector) {
        return from.wire == to.wire && from.length <= to.length;
    }
    if let (Some(from), Some(to)) = (room(old), room(new)) {
        // A BINARY has zeros at its end, and a CHAR no spaces.
        let padded =
            |target: &Target| target.ty.wire == WireType::String && target.ty.is_binary_string();
        if padded(old) || padded(new) {
            return old.ty.wire == new.ty.wire && from == to;
        }
        let loses_spaces = new.ty.wire == WireType::String && old.ty.wire != WireType::String;
        let same_bytes = charset(old) == charset(new);
        return from.is_within(to, same_bytes) && !loses_spaces;
    }
    if from.wire != to.wire {
        return false;
    }
    match from.wire {
        WireType::NewDecimal => {
            from.decimals == to.decimals
                && from.precision() <= to.precision()
                && from.is_unsigned() == to.is_unsigned()
        }
        WireType::Float | WireType::Double => {
            from.decimals == to.decimals
                && from.length <= to.length
                && from.is_unsigned() == to.is_unsigned()
        }
        WireType::Bit => from.length <= to.length,
        WireType::Time | WireType::DateTime | WireType::Timestamp => from.decimals <= to.decimals,
        WireType::Date | WireType::Year | WireType::Json => true,
        _ => false,
    }
}

fn integer_bytes(wire: WireType) -> Option<u8> {
    Some(match wire {
        WireType::Tiny => 1,
        WireType::Short => 2,
        WireType::Int24 => 3,
        WireType::Long => 4,
        WireType::LongLong => 8,
        _ => return None,
    })
}

/// How much a text or byte string can hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Room {
    Chars(u64),
    Bytes(u64),
}

impl Room {
    /// Whether values of one length fit the other. A character takes from one byte to four.
    fn is_within(self, other: Self, same_bytes: bool) -> bool {
        match (self, other) {
            (Self::Chars(own), Self::Chars(other)) | (Self::Bytes(own), Self::Chars(other)) => {
                own <= other
            }
            (Self::Bytes(own), Self::Bytes(other)) if same_bytes => own <= other,
            (Self::Bytes(own) | Self::Chars(own), Self::Bytes(other)) => own * 4 <= other,
        }
    }
}

fn charset(target: &Target) -> &str {
    target.ty.collation.charset()
}

fn room(target: &Target) -> Option<Room> {
    Some(match target.ty.wire {
        WireType::String | WireType::VarString => {
            let length = u64::from(target.length.unwrap_or(0));
            if target.ty.is_binary_string() { Room::Bytes(length) } else { Room::Chars(length) }
        }
        WireType::TinyBlob => Room::Bytes(0xff),
        WireType::Blob => Room::Bytes(0xffff),
        WireType::MediumBlob => Room::Bytes(0xff_ffff),
        WireType::LongBlob => Room::Bytes(u64::from(u32::MAX)),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use arrow::array::UInt64Array;
    use pelorus_types::collation::{BINARY, UTF8MB4_0900_AI_CI, UTF8MB4_BIN};

    use super::*;

    fn number(wire: WireType) -> Target {
        Target::new("t", "c", ColumnType::new(wire, BINARY, 11, 0))
    }

    fn text(wire: WireType, chars: u32) -> Target {
        let ty = ColumnType::new(wire, UTF8MB4_0900_AI_CI, chars * 4, 0);
        Target::new("t", "c", ty).with_length(chars)
    }

    #[test]
    fn values_may_only_get_more_room() {
        let ok = |old: &Target, new: &Target| is_kept(old, new, false);
        assert!(ok(&number(WireType::Tiny), &number(WireType::LongLong)));
        assert!(!ok(&number(WireType::Long), &number(WireType::Short)));
        assert!(!ok(&number(WireType::Long), &number(WireType::Date)));
        assert!(ok(&text(WireType::VarString, 10), &text(WireType::VarString, 20)));
        assert!(!ok(&text(WireType::VarString, 20), &text(WireType::VarString, 10)));
        assert!(ok(&text(WireType::VarString, 20), &text(WireType::Blob, 0)));
        assert!(!ok(&text(WireType::Blob, 0), &text(WireType::VarString, 20)));
        // 255 bytes are up to 255 characters.
        assert!(!ok(&text(WireType::TinyBlob, 0), &text(WireType::VarString, 254)));
        assert!(ok(&text(WireType::TinyBlob, 0), &text(WireType::VarString, 255)));
        assert!(!ok(&text(WireType::VarString, 64), &text(WireType::TinyBlob, 0)));
        assert!(!ok(&text(WireType::VarString, 10), &text(WireType::String, 10)));
        assert!(ok(&text(WireType::String, 10), &text(WireType::VarString, 10)));
    }

    #[test]
    fn the_collation_of_a_key_stays() {
        let old = text(WireType::VarString, 10);
        let mut new = old.clone();
        new.ty.collation = UTF8MB4_BIN;
        assert!(is_kept(&old, &new, false));
        assert!(!is_kept(&old, &new, true));
    }

    #[test]
    fn members_are_added_at_the_end() {
        let mut ty = ColumnType::new(WireType::String, UTF8MB4_0900_AI_CI, 4, 0);
        ty.flags = Flags::ENUM;
        let listed = |members: &[&str]| {
            let members = members.iter().map(|it| (*it).to_owned()).collect();
            Target::new("t", "c", ty).with_members(members)
        };
        assert!(is_kept(&listed(&["a", "b"]), &listed(&["a", "b", "c"]), true));
        assert!(!is_kept(&listed(&["a", "b"]), &listed(&["b", "a"]), true));
        assert!(!is_kept(&listed(&["a", "b"]), &listed(&["a"]), true));
    }
    #[test]
    fn numbers_become_members_by_the_text_that_they_are_shown_as() {
        let mut padded = ColumnType::new(WireType::Long, BINARY, 5, 0);
        padded.flags = Flags::UNSIGNED.with(Flags::ZEROFILL);
        let numbers: ArrayRef = Arc::new(UInt64Array::from(vec![Some(12), None]));
        let (shown, ty) = texts(&numbers, &padded).unwrap();
        assert_eq!(shown.as_string::<i32>(), &StringArray::from(vec![Some("00012"), None]));
        let mut listed = ty;
        listed.flags = Flags::ENUM;
        let plain = number(WireType::Long).ty;
        assert!(is_by_text(&padded, &ty) && is_by_text(&padded, &listed));
        assert!(is_by_text(&plain, &listed) && !is_by_text(&plain, &ty));
        assert!(!is_by_text(&number(WireType::Bit).ty, &listed));
        assert!(is_by_text(&number(WireType::Float).ty, &ty));
        assert!(!is_by_text(&number(WireType::Double).ty, &plain));
        for to in [WireType::Date, WireType::Time, WireType::Json] {
            assert!(is_by_text(&plain, &number(to).ty));
        }
        assert!(!is_odd(&number(WireType::Year).ty, &listed));
        assert!(is_odd(&number(WireType::Double).ty, &listed));
    }
}
