//! Whether MySQL would copy the rows of a table for an `ALTER TABLE`. Only the number of affected
//! rows that clients see depends on it, not the execution here.

use pelorus_functions::assignment::Target;
use pelorus_sql::ddl::{ColumnDefault, ColumnDefinition, TableDefinition};
use pelorus_types::{Flags, WireType};

use crate::definition::{Derived, NativeDef};

/// Most members of an ENUM that takes one byte.
const SMALL_ENUM: usize = 255;

/// Whether MySQL's InnoDB copies the rows for a change, and does not change the table in place.
pub(super) fn copies(
    def: &NativeDef,
    definition: &TableDefinition,
    derived: &Derived,
    origins: &[Option<usize>],
    strict: bool,
) -> bool {
    origins.iter().enumerate().any(|(at, origin)| {
        let (new, target) = (&definition.columns[at], &derived.targets[at]);
        let is_stored = |column: &ColumnDefinition| {
            column.generated.as_ref().is_some_and(|generated| generated.stored)
        };
        let Some(old) = *origin else {
            return is_stored(new) || matches!(new.default, Some(ColumnDefault::Expression(_)));
        };
        let (before, from) = (&def.definition.columns[old], &def.targets[old]);
        // In place NULLs are not replaced, which is what a lenient mode asks for.
        let loses_null = from.ty.is_nullable() && !target.ty.is_nullable();
        !is_equal(from, target)
            || before.auto_increment != new.auto_increment
            || (before.generated != new.generated && (is_stored(before) || is_stored(new)))
            || (loses_null && !strict)
    })
}

/// Whether a column of one type is one of the other as it lies in MySQL's pages.
fn is_equal(old: &Target, new: &Target) -> bool {
    let (from, to) = (&old.ty, &new.ty);
    let listed =
        |target: &Target| (target.ty.flags.has(Flags::ENUM), target.ty.flags.has(Flags::SET));
    if from.wire != to.wire
        || from.collation != to.collation
        || from.is_unsigned() != to.is_unsigned()
        || listed(old) != listed(new)
    {
        return false;
    }
    if listed(old) != (false, false) {
        let begins = new.members.get(..old.members.len()) == Some(old.members.as_slice());
        return begins && member_bytes(old) == member_bytes(new);
    }
    match from.wire {
        WireType::VarString => {
            let long = |length: u32| length > 255;
            from.length <= to.length && long(from.length) == long(to.length)
        }
        WireType::String | WireType::Bit => from.length == to.length,
        WireType::NewDecimal => (from.precision(), from.decimals) == (to.precision(), to.decimals),
        WireType::Time | WireType::DateTime | WireType::Timestamp => from.decimals == to.decimals,
        _ => true,
    }
}

/// Bytes of a value of an ENUM or SET.
fn member_bytes(target: &Target) -> usize {
    let members = target.members.len();
    if target.ty.flags.has(Flags::ENUM) {
        return if members <= SMALL_ENUM { 1 } else { 2 };
    }
    match members.div_ceil(8) {
        bytes @ 0..=4 => bytes,
        _ => 8,
    }
}
