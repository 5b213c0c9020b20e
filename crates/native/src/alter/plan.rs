//! The plan of an `ALTER TABLE`: how each column gets its values, and whether the rows must be
//! rewritten.

use pelorus_error::{Error, Result};
use pelorus_functions::assignment::Target;
use pelorus_functions::{TimeZone, Value, array_of};
use pelorus_sql::ddl::{Expression, TableDefinition};
use pelorus_store::StoredColumn;
use pelorus_types::{Flags, WireType};

use super::dates::OddDates;
use super::{added_column_default, convert, copies};
use crate::ddl::Definer;
use crate::definition::{DefaultValue, Derived, NativeDef};
use crate::{constraints, partition};

/// The source of a column's values.
#[derive(Clone, Debug)]
pub(super) enum Source {
    /// The values of a column of the old table, as they are.
    Kept(usize),
    /// The values of a column of the old table, assigned to the new type.
    Converted(usize),
    /// One value for all rows, in stored form.
    Constant(Value),
    /// An expression over the other columns of the new row.
    Computed(Expression),
    /// AUTO_INCREMENT numbers.
    Numbered,
}

/// The effect of an `ALTER TABLE` on rows.
#[derive(Debug)]
pub(super) struct Plan {
    /// By column of the new definition.
    pub(super) sources: Vec<Source>,
    /// The rows can stay where they are.
    pub(super) keeps_rows: bool,
    /// MySQL would copy all rows, and say so.
    pub(super) copies: bool,
    /// A column becomes AUTO_INCREMENT.
    pub(super) counts: bool,
    /// Columns of the old table that must have no NULL (1138).
    pub(super) not_null: Vec<usize>,
    /// Dates that rows must not have.
    pub(super) odd_dates: Option<OddDates>,
}

impl Plan {
    /// Makes a plan. `origins` are the columns of the old table that those of the new one come
    /// from.
    ///
    /// # Errors
    /// 1235 if the values cannot be computed here.
    pub(super) fn new(
        definer: &Definer,
        def: &NativeDef,
        definition: &TableDefinition,
        derived: &Derived,
        origins: &[Option<usize>],
    ) -> Result<Self> {
        let copies = copies::copies(def, definition, derived, origins, definer.strict);
        let fixed = fixed_columns(def);
        let mut not_null = Vec::new();
        let mut sources = Vec::with_capacity(origins.len());
        for (at, origin) in origins.iter().enumerate() {
            if let Some(generated) = &definition.columns[at].generated {
                sources.push(Source::Computed(generated.expression.clone()));
                continue;
            }
            let Some(old) = *origin else {
                sources.push(added(definer, derived, definition, at));
                continue;
            };
            let (from, to) = (&def.targets[old], &derived.targets[at]);
            let loses_null = from.ty.is_nullable() && !to.ty.is_nullable();
            if loses_null && !copies {
                not_null.push(old);
            }
            let kept = convert::is_kept(from, to, fixed.contains(&old));
            sources.push(match kept && !(loses_null && copies) {
                true => Source::Kept(old),
                false => Source::Converted(old),
            });
        }
        keep_generated(def, definition, (derived, origins), &fixed, &mut sources);
        let adds_check = constraints::adds_check(&def.definition, definition);
        let copies = copies || adds_check;
        let is_checked = adds_check || checks_anew(def, definition, derived, origins);
        let counts = definition.columns.iter().zip(origins).any(|(column, origin)| {
            let counted = |old: usize| def.definition.columns[old].auto_increment;
            column.auto_increment && !origin.is_some_and(counted)
        });
        let keeps_rows =
            sources.iter().all(|it| matches!(it, Source::Kept(_) | Source::Constant(_)))
                && same_places(def, definition, derived, &sources)?
                && !counts
                && !is_checked;
        Ok(Self { sources, keeps_rows, copies, counts, not_null, odd_dates: None })
    }

    /// The columns as the store has them; those that stay keep their numbers.
    ///
    /// # Errors
    /// A value that cannot be stored.
    pub(super) fn stored(&self, def: &NativeDef, derived: &Derived) -> Result<Vec<StoredColumn>> {
        let before = def.table.schema();
        let mut next = def.table.next_column_id();
        let mut column = |(source, at): (&Source, usize)| {
            let ty = derived.targets[at].ty;
            match source {
                Source::Kept(old) => Ok(StoredColumn { ty, ..before.columns[*old].clone() }),
                Source::Converted(old) => {
                    Ok(StoredColumn { id: before.columns[*old].id, ty, filler: None })
                }
                other => {
                    next += 1;
                    let filler = match other {
                        Source::Constant(value) if !value.is_null() => {
                            Some(added_column_default::encode(&array_of(value, &ty)?)?)
                        }
                        _ => None,
                    };
                    Ok(StoredColumn { id: next - 1, ty, filler })
                }
            }
        };
        self.sources.iter().zip(0..).map(&mut column).collect()
    }
}

/// Generated columns that say the same of columns that stay as they are stay as well.
fn keep_generated(
    def: &NativeDef,
    definition: &TableDefinition,
    (derived, origins): (&Derived, &[Option<usize>]),
    fixed: &[usize],
    sources: &mut [Source],
) {
    for (at, column) in definition.columns.iter().enumerate() {
        let (Some(generated), Some(old)) = (&column.generated, origins[at]) else { continue };
        let is_same = def.definition.columns[old].generated.as_ref() == Some(generated)
            && def.targets[old].ty.is_nullable() == derived.targets[at].ty.is_nullable()
            && convert::is_kept(&def.targets[old], &derived.targets[at], fixed.contains(&old));
        let is_kept = |name: &String| {
            let mut columns = definition.columns.iter();
            let place = columns.position(|it| it.name.eq_ignore_ascii_case(name));
            // Another type may give another result of the same values.
            place.is_some_and(|place| match &sources[place] {
                Source::Kept(old) => {
                    let (old, new) = (&def.targets[*old], &derived.targets[place]);
                    (old.ty, old.length, &old.members) == (new.ty, new.length, &new.members)
                }
                _ => false,
            })
        };
        if is_same && constraints::names(&generated.expression.tree).iter().all(is_kept) {
            sources[at] = Source::Kept(old);
        }
    }
}

/// Whether a CHECK may say something else of rows than before: it names a column of another type or
/// collation.
fn checks_anew(
    def: &NativeDef,
    definition: &TableDefinition,
    derived: &Derived,
    origins: &[Option<usize>],
) -> bool {
    let is_changed = |name: &String| {
        let at = definition.columns.iter().position(|it| it.name.eq_ignore_ascii_case(name));
        at.is_some_and(|at| {
            origins[at].is_none_or(|old| !reads_alike(&def.targets[old], &derived.targets[at]))
        })
    };
    let mut checks = definition.checks.iter().filter(|check| check.enforced);
    checks.any(|check| constraints::names(&check.expression.tree).iter().any(is_changed))
}

/// Whether expressions read a value of two columns in the same way, also where there is room for
/// longer texts or more members. Whether it can be NULL and which keys it is part of, they do not ask.
fn reads_alike(old: &Target, new: &Target) -> bool {
    let kind = |target: &Target| {
        let ty = target.ty;
        let flag = |flag: Flags| ty.flags.has(flag);
        let listed = (flag(Flags::ENUM), flag(Flags::SET), flag(Flags::ZEROFILL));
        (ty.wire, ty.collation, ty.decimals, ty.is_unsigned(), listed)
    };
    let has_room = |target: &Target| (target.ty.length, target.length);
    let grows = old.ty.wire == WireType::VarString
        && old.ty.length <= new.ty.length
        && old.length <= new.length;
    let is_listed = !old.members.is_empty();
    kind(old) == kind(new)
        && new.members.starts_with(&old.members)
        && (has_room(old) == has_room(new) || grows || is_listed)
}

/// Whether rows are found, sorted and put into partitions as before.
fn same_places(
    def: &NativeDef,
    definition: &TableDefinition,
    derived: &Derived,
    sources: &[Source],
) -> Result<bool> {
    let origin = |at: &usize| match &sources[*at] {
        Source::Kept(old) => Some(*old),
        _ => None,
    };
    let key: Vec<Option<usize>> = derived.key.iter().map(origin).collect();
    let same_key = key.iter().copied().eq(def.key.iter().copied().map(Some));
    let before = def.table.schema().segment;
    let segment = partition::segment(definition, &derived.targets, def.mode)?;
    let same_segment = before.len() == segment.len()
        && before.iter().zip(&segment).all(|(old, new)| {
            old.function == new.function && origin(&new.column) == Some(old.column)
        });
    let same_partitions = definition.partitioning == def.definition.partitioning;
    Ok(same_key && same_segment && same_partitions)
}

/// The value of a new column in existing rows.
fn added(definer: &Definer, derived: &Derived, definition: &TableDefinition, at: usize) -> Source {
    if definition.columns[at].auto_increment {
        return Source::Numbered;
    }
    match &derived.defaults[at] {
        DefaultValue::None => Source::Constant(derived.implicit[at].clone()),
        DefaultValue::Constant(value) => Source::Constant(value.clone()),
        DefaultValue::CurrentTimestamp(digits) => {
            let is_timestamp = derived.targets[at].ty.wire == WireType::Timestamp;
            let zone = match is_timestamp {
                true => TimeZone::Utc,
                false => definer.context.time_zone,
            };
            Source::Constant(Value::Date(moment(definer.context.now_micros, zone, *digits)))
        }
        DefaultValue::Expression(expression) => Source::Computed(expression.clone()),
    }
}

/// A moment as a packed DATETIME with so many digits after the seconds.
fn moment(micros: i64, zone: TimeZone, digits: u32) -> i64 {
    let step = 10_i64.pow(6_u32.saturating_sub(digits));
    let cut = micros - micros.rem_euclid(step);
    zone.local(cut).pack()
}

/// Columns whose bytes decide where rows are: those of the primary key, of partitions and segments.
fn fixed_columns(def: &NativeDef) -> Vec<usize> {
    let mut out = def.key.clone();
    out.extend(def.partitioner.columns());
    out.extend(def.table.schema().segment.iter().map(|function| function.column));
    out
}

/// Error 1235 for a default that `ALTER TABLE` cannot compute.
pub(super) fn not_computed(column: &str) -> Error {
    Error::unsupported(format_args!(
        "ALTER TABLE ADD COLUMN '{column}' with an expression as default that names functions or \
         columns which are not computed here; add it without a default, and UPDATE"
    ))
}
