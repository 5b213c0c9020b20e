//! Parses the bounds and lists of RANGE and LIST partitions.

use std::collections::HashMap;
use std::sync::Arc;

use pelorus_error::{Code, Error, Result};
use pelorus_functions::assignment::{Literal, literal_default};
use pelorus_functions::{EvalContext, array_of};
use pelorus_sql::ddl::{Expression, PartitionBound, PartitionDefinition, PartitionValues};
use pelorus_sql::literal::Constant;
use pelorus_sql::{ast_analysis, literal};
use sqlparser::ast::{Expr, Value as Sql};

use super::super::{expression, types};
use super::Named;
use super::encode::{self, ABOVE_ALL, Part};
use super::method::{Scope, integer_of, signed};

impl Scope<'_> {
    /// The bounds of RANGE.
    pub(super) fn integer_bounds(
        &self,
        partitions: &[PartitionDefinition],
        named: &mut [Named],
    ) -> Result<Vec<Option<i128>>> {
        let mut out: Vec<Option<i128>> = Vec::with_capacity(partitions.len());
        for (partition, named) in partitions.iter().zip(named) {
            let [bound] = less_than(partition)? else { return Err(inconsistent()) };
            let bound = match bound {
                PartitionBound::Maximum => None,
                PartitionBound::Value(value) => {
                    Some(self.integer(value, &partition.name)?.ok_or_else(null_bound)?)
                }
            };
            check_rising(out.last().map(|last| match (last, &bound) {
                (None, _) => Err(()),
                (Some(last), Some(bound)) => Ok(last < bound),
                (Some(_), None) => Ok(true),
            }))?;
            let shown = bound.map_or_else(|| "MAXVALUE".to_owned(), |bound| bound.to_string());
            named.description = Some(shown);
            out.push(bound);
        }
        Ok(out)
    }

    /// The values of LIST.
    pub(super) fn integer_lists(
        &self,
        partitions: &[PartitionDefinition],
        named: &mut [Named],
    ) -> Result<HashMap<Option<i128>, u32>> {
        let mut out = HashMap::new();
        for ((number, partition), named) in (0_u32..).zip(partitions).zip(named) {
            let mut shown = Vec::new();
            for value in list_of(partition)? {
                let [value] = value.as_slice() else { return Err(inconsistent()) };
                let value = self.integer(value, &partition.name)?;
                if out.insert(value, number).is_some() {
                    return Err(listed_twice());
                }
                shown.push(super::shown(value));
            }
            named.description = Some(shown.join(","));
        }
        Ok(out)
    }

    /// The bounds of RANGE COLUMNS.
    pub(super) fn tuple_bounds(
        &self,
        parts: &[Part],
        partitions: &[PartitionDefinition],
        named: &mut [Named],
    ) -> Result<Vec<Vec<u8>>> {
        let mut out: Vec<Vec<u8>> = Vec::with_capacity(partitions.len());
        for (partition, named) in partitions.iter().zip(named) {
            let bounds = less_than(partition)?;
            if bounds.len() != parts.len() {
                return Err(inconsistent());
            }
            let mut bytes = Vec::new();
            let mut shown = Vec::new();
            for (part, bound) in parts.iter().zip(bounds) {
                match bound {
                    PartitionBound::Maximum => {
                        bytes.push(ABOVE_ALL);
                        shown.push("MAXVALUE".to_owned());
                    }
                    PartitionBound::Value(value) => {
                        if is_null(value) {
                            return Err(null_bound());
                        }
                        bytes.extend(self.encoded(part, value)?);
                        shown.push(value.text.clone());
                    }
                }
            }
            check_rising(out.last().map(|last| Ok(*last < bytes)))?;
            named.description = Some(shown.join(","));
            out.push(bytes);
        }
        Ok(out)
    }

    /// The values of LIST COLUMNS.
    pub(super) fn tuple_lists(
        &self,
        parts: &[Part],
        partitions: &[PartitionDefinition],
        named: &mut [Named],
    ) -> Result<HashMap<Vec<u8>, u32>> {
        let mut out = HashMap::new();
        for ((number, partition), named) in (0_u32..).zip(partitions).zip(named) {
            let mut shown = Vec::new();
            for tuple in list_of(partition)? {
                if tuple.len() != parts.len() {
                    return Err(inconsistent());
                }
                let mut bytes = Vec::new();
                for (part, value) in parts.iter().zip(tuple) {
                    bytes.extend(self.encoded(part, value)?);
                }
                if out.insert(bytes, number).is_some() {
                    return Err(listed_twice());
                }
                let texts: Vec<&str> = tuple.iter().map(|value| value.text.as_str()).collect();
                shown.push(match texts.as_slice() {
                    [one] => (*one).to_owned(),
                    more => format!("({})", more.join(",")),
                });
            }
            named.description = Some(shown.join(","));
        }
        Ok(out)
    }

    /// A constant of RANGE and LIST; `None` is NULL.
    fn integer(&self, value: &Expression, partition: &str) -> Result<Option<i128>> {
        let (value, _) =
            expression::constant(&value.tree, self.mode, &Arc::new(EvalContext::default()))?;
        integer_of(&value, partition)
    }

    /// A constant of COLUMNS as its column would store it, encoded.
    fn encoded(&self, part: &Part, value: &Expression) -> Result<Vec<u8>> {
        let wrong = || {
            let text = "Partition column values of incorrect type";
            Error::new(Code::PartitionColumnType, text)
        };
        let target = &self.targets[part.column];
        let (tree, negative) = signed(&value.tree);
        let constant = literal::constant(tree, self.mode).ok_or_else(wrong)?;
        let text;
        let given = match &constant {
            Constant::Null => Literal::Null,
            Constant::Boolean(value) => Literal::Int(i64::from(*value)),
            Constant::Integer(digits) if !part.ty.is_string() && !part.ty.is_temporal() => {
                text = if negative { format!("-{digits}") } else { digits.clone() };
                Literal::Number(&text)
            }
            Constant::Text { text, .. } if part.ty.is_string() || part.ty.is_temporal() => {
                Literal::Text(text.as_bytes())
            }
            Constant::Hex { bytes, .. } | Constant::Bits { bytes, .. } => Literal::Hex(bytes),
            _ => return Err(wrong()),
        };
        let mut nullable = target.clone();
        nullable.ty = nullable.ty.nullable();
        let value =
            literal_default(&nullable, given, &types::definition_policy()).map_err(|_| wrong())?;
        let array = array_of(&value, &target.ty)?;
        let encoded = encode::encode(std::slice::from_ref(part), 1, &|_| &array)?;
        Ok(encoded.iter().next().unwrap_or_default().to_vec())
    }
}

fn is_null(value: &Expression) -> bool {
    matches!(ast_analysis::unnested(&value.tree), Expr::Value(value) if value.value == Sql::Null)
}

fn inconsistent() -> Error {
    let text = "Inconsistency in usage of column lists for partitioning";
    Error::new(Code::PartitionColumnLists, text)
}

fn null_bound() -> Error {
    Error::new(Code::NullPartitionBound, "Not allowed to use NULL value in VALUES LESS THAN")
}

fn listed_twice() -> Error {
    let text = "Multiple definition of same constant in list partitioning";
    Error::new(Code::PartitionListTwice, text)
}

/// `Err` says that the last bound was MAXVALUE, `Ok` whether the bounds rise.
fn check_rising(rises: Option<Result<bool, ()>>) -> Result<()> {
    match rises {
        None | Some(Ok(true)) => Ok(()),
        Some(Err(())) => Err(Error::new(
            Code::MaxvalueNotLast,
            "MAXVALUE can only be used in last partition definition",
        )),
        Some(Ok(false)) => Err(Error::new(
            Code::PartitionRangeNotIncreasing,
            "VALUES LESS THAN value must be strictly increasing for each partition",
        )),
    }
}

fn less_than(partition: &PartitionDefinition) -> Result<&[PartitionBound]> {
    match &partition.values {
        Some(PartitionValues::LessThan(bounds)) => Ok(bounds),
        Some(PartitionValues::In(_)) => Err(only("LIST", "IN")),
        None | Some(PartitionValues::Default) => Err(requires("RANGE", "LESS THAN")),
    }
}

fn list_of(partition: &PartitionDefinition) -> Result<&[Vec<Expression>]> {
    match &partition.values {
        Some(PartitionValues::In(values)) => Ok(values),
        Some(PartitionValues::LessThan(_)) => Err(only("RANGE", "LESS THAN")),
        None | Some(PartitionValues::Default) => Err(requires("LIST", "IN")),
    }
}

fn only(kind: &str, word: &str) -> Error {
    Error::new(
        Code::PartitionBound,
        format!("Only {kind} PARTITIONING can use VALUES {word} in partition definition"),
    )
}

fn requires(kind: &str, word: &str) -> Error {
    Error::new(
        Code::PartitionNeedsValues,
        format!(
            "Syntax error: {kind} PARTITIONING requires definition of VALUES {word} for each \
             partition"
        ),
    )
}
