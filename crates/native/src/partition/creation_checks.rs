//! Partitionings that MySQL refuses when they are created. An existing table that has one can still
//! be read.

use std::collections::HashSet;

use pelorus_error::{Code, Error, Result};
use pelorus_functions::assignment::Target;
use pelorus_types::Flags;

use super::encode::Part;
use super::method::{same_name, wrong_type};
use super::{Kind, Partitioner, name_key};
use crate::expression::RowExpression;

impl Partitioner {
    /// Checks a new partitioning.
    ///
    /// # Errors
    /// Two names that differ in case alone (1517), a function of dates of a column that has none
    /// (1486), a negative constant for an unsigned column (1563), a column that is named twice
    /// (1652), ENUM and SET in `COLUMNS` (1659).
    pub(crate) fn check_new(&self, targets: &[Target]) -> Result<()> {
        let mut known = HashSet::with_capacity(self.named.len());
        if let Some(it) = self.named.iter().find(|it| !known.insert(name_key(&it.name))) {
            return Err(same_name(&it.name));
        }
        match &self.kind {
            Kind::Whole | Kind::Value(_) => Ok(()),
            Kind::Hash { expression, .. } => expression.check_dates(),
            Kind::Range { expression, bounds } => {
                expression.check_dates()?;
                check_signs(expression, bounds.iter().flatten())
            }
            Kind::List { expression, places } => {
                expression.check_dates()?;
                check_signs(expression, places.keys().flatten())
            }
            Kind::Key { parts, .. } => check_named_once(parts, targets),
            Kind::RangeColumns { parts, .. } | Kind::ListColumns { parts, .. } => {
                let is_listed =
                    |part: &&Part| part.ty.flags.has(Flags::ENUM) || part.ty.flags.has(Flags::SET);
                if let Some(part) = parts.iter().find(is_listed) {
                    return Err(wrong_type(&targets[part.column]));
                }
                check_named_once(parts, targets)
            }
        }
    }
}

fn check_signs<'a>(
    expression: &RowExpression,
    mut constants: impl Iterator<Item = &'a i128>,
) -> Result<()> {
    if !expression.ty().is_unsigned() || constants.all(|constant| *constant >= 0) {
        return Ok(());
    }
    let text = "Partition constant is out of partition function domain";
    Err(Error::new(Code::PartitionConstantDomain, text))
}

fn check_named_once(parts: &[Part], targets: &[Target]) -> Result<()> {
    for (at, part) in parts.iter().enumerate() {
        if parts[..at].iter().any(|other| other.column == part.column) {
            let name = &targets[part.column].name;
            let text = format!("Duplicate partition field name '{name}'");
            return Err(Error::new(Code::PartitionFieldTwice, text));
        }
    }
    Ok(())
}
