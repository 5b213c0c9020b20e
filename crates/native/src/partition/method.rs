//! Parses the method of `PARTITION BY`: MySQL's methods with MySQL's rules and errors, and
//! Pelorus's own.

use std::collections::HashSet;

use pelorus_error::{Code, Error, Result};
use pelorus_functions::Value;
use pelorus_functions::assignment::Target;
use pelorus_sql::ddl::{
    Expression, PartitionMethod, PartitionValues, Partitioning, TableDefinition,
};
use pelorus_sql::{Mode, ast_analysis};
use pelorus_types::{Flags, WireType};
use sqlparser::ast::{Expr, UnaryOperator};

use super::super::expression::RowExpression;
use super::encode::Part;
use super::segment::key_function;
use super::{Kind, Named, PARTITIONS_MAX, name_key};

/// Columns and reading mode of the table whose partitioning is read.
pub(super) struct Scope<'a> {
    pub(super) targets: &'a [Target],
    key: &'a [usize],
    pub(super) mode: Mode,
}

/// Reads the partitioning of a definition.
///
/// # Errors
/// What MySQL says of partitionings that cannot be.
pub(super) fn read(
    definition: &TableDefinition,
    targets: &[Target],
    key: &[usize],
    mode: Mode,
) -> Result<(Kind, Vec<Named>)> {
    let Some(partitioning) = &definition.partitioning else {
        return Ok((Kind::Whole, Vec::new()));
    };
    if partitioning.subpartitioning.is_some() {
        return Err(Error::unsupported("SUBPARTITION BY in native tables"));
    }
    let scope = Scope { targets, key, mode };
    let mut named = names(partitioning)?;
    let kind = match &partitioning.method {
        PartitionMethod::Value(list) => scope.values(list)?,
        PartitionMethod::Hash { linear, expression } => {
            let expression = scope.expression(expression)?;
            Kind::Hash { linear: *linear, expression, count: count(&named)? }
        }
        PartitionMethod::Key { linear, columns, .. } => {
            let parts = match columns.as_slice() {
                [] => scope.key.iter().map(|&at| Part::identity(at, targets[at].ty)).collect(),
                columns => scope.parts(columns, true)?,
            };
            Kind::Key { linear: *linear, parts, count: count(&named)? }
        }
        PartitionMethod::Range(expression) => {
            let expression = scope.expression(expression)?;
            let bounds = scope.integer_bounds(&partitioning.partitions, &mut named)?;
            Kind::Range { expression, bounds }
        }
        PartitionMethod::List(expression) => {
            let expression = scope.expression(expression)?;
            let places = scope.integer_lists(&partitioning.partitions, &mut named)?;
            Kind::List { expression, places }
        }
        PartitionMethod::RangeColumns(columns) => {
            let parts = scope.parts(columns, false)?;
            let bounds = scope.tuple_bounds(&parts, &partitioning.partitions, &mut named)?;
            Kind::RangeColumns { parts, bounds }
        }
        PartitionMethod::ListColumns(columns) => {
            let parts = scope.parts(columns, false)?;
            let places = scope.tuple_lists(&parts, &partitioning.partitions, &mut named)?;
            Kind::ListColumns { parts, places }
        }
    };
    scope.check_key(&kind)?;
    Ok((kind, named))
}

fn count(named: &[Named]) -> Result<u32> {
    u32::try_from(named.len()).map_err(|_| too_many())
}

fn too_many() -> Error {
    Error::new(
        Code::TooManyPartitions,
        "Too many partitions (including subpartitions) were defined",
    )
}

/// Error 1504.
fn no_partitions() -> Error {
    Error::new(Code::NoPartitions, "Number of partitions = 0 is not an allowed value")
}

/// Removes the number of partitions next to a list of them, as MySQL does: it would become wrong
/// when partitions are added or dropped.
///
/// # Errors
/// A number other than the length of the list: 1504 and 1484.
pub(super) fn take_count(partitioning: &mut Partitioning) -> Result<()> {
    let listed = partitioning.partitions.len() as u64;
    if listed == 0 {
        return Ok(());
    }
    match partitioning.count.take() {
        Some(0) => Err(no_partitions()),
        Some(count) if count != listed => {
            let text = "Wrong number of partitions defined, mismatch with previous setting";
            Err(Error::new(Code::WrongNumberOfPartitions, text))
        }
        _ => Ok(()),
    }
}

/// Two partitions have one name.
pub(super) fn same_name(name: &str) -> Error {
    Error::new(Code::SamePartitionName, format!("Duplicate partition name {name}"))
}

/// Partitions by name. HASH and KEY number them.
fn names(partitioning: &Partitioning) -> Result<Vec<Named>> {
    if matches!(partitioning.method, PartitionMethod::Value(_)) {
        return Ok(Vec::new());
    }
    let is_numbered =
        matches!(partitioning.method, PartitionMethod::Hash { .. } | PartitionMethod::Key { .. });
    let list = &partitioning.partitions;
    let kind = match partitioning.method {
        PartitionMethod::Range(_) | PartitionMethod::RangeColumns(_) => "RANGE",
        _ => "LIST",
    };
    if !is_numbered && list.is_empty() {
        let text = format!("For {kind} partitions each partition must be defined");
        return Err(Error::new(Code::PartitionsNotDefined, text));
    }
    let count = match list.len() {
        0 => usize::try_from(partitioning.count.unwrap_or(1)).unwrap_or(usize::MAX),
        // A number next to a list adds nothing (`take_count`).
        listed => listed,
    };
    if count == 0 {
        return Err(no_partitions());
    }
    if count > PARTITIONS_MAX {
        return Err(too_many());
    }
    let mut out: Vec<Named> = Vec::with_capacity(count);
    let mut known = HashSet::with_capacity(count);
    for (number, place) in (0_u32..).zip(0..count) {
        let given = list.get(place);
        let name = given.map_or_else(|| format!("p{number}"), |it| it.name.clone());
        // Letters beyond ASCII: `check_new`.
        if !known.insert(name.to_ascii_lowercase()) {
            return Err(same_name(&name));
        }
        let key = match is_numbered {
            true => number.to_be_bytes().to_vec(),
            false => name_key(&name).into_bytes(),
        };
        let options = given.map_or(&[][..], |it| it.options.as_slice());
        let comment = pelorus_sql::ddl::option_value(options, "COMMENT").unwrap_or_default();
        if given.is_some_and(|it| !it.subpartitions.is_empty()) {
            return Err(Error::unsupported("subpartitions in native tables"));
        }
        if given.is_some_and(|it| it.values == Some(PartitionValues::Default)) {
            return Err(Error::unsupported("a DEFAULT partition"));
        }
        out.push(Named { name, key, description: None, comment: comment.to_owned() });
    }
    Ok(out)
}

impl Scope<'_> {
    fn expression(&self, expression: &Expression) -> Result<RowExpression> {
        RowExpression::of_partitioning(
            &expression.tree,
            "partition function",
            self.targets,
            self.mode,
        )
    }

    fn values(&self, list: &[Expression]) -> Result<Kind> {
        let part = |expression: &Expression| -> Result<Part> {
            let found = key_function(&expression.tree, self.targets, self.mode)?;
            let ty = self.targets[found.column].ty;
            if ty.is_float() || ty.is_decimal() {
                return Err(wrong_type(&self.targets[found.column]));
            }
            Ok(Part { column: found.column, function: found.function, ty })
        };
        list.iter().map(part).collect::<Result<Vec<_>>>().map(Kind::Value)
    }

    /// The columns of KEY, RANGE COLUMNS and LIST COLUMNS.
    fn parts(&self, columns: &[String], of_key: bool) -> Result<Vec<Part>> {
        let part = |name: &String| -> Result<Part> {
            let mut targets = self.targets.iter();
            let at =
                targets.position(|it| it.name.eq_ignore_ascii_case(name)).ok_or_else(|| {
                    let text = "Field in list of fields for partition function not found in table";
                    Error::new(Code::PartitionFieldMissing, text)
                })?;
            let ty = self.targets[at].ty;
            let is_date = matches!(ty.wire, WireType::Date | WireType::DateTime);
            let is_string = matches!(ty.wire, WireType::VarString | WireType::String);
            let is_integer = ty.is_integer() && ty.wire != WireType::Bit;
            if ty.flags.has(Flags::BLOB) && (of_key || ty.wire != WireType::Json) {
                let text = "A BLOB field is not allowed in partition function";
                return Err(Error::new(Code::BlobInPartition, text));
            }
            if !(of_key || is_date || is_string || is_integer) {
                return Err(wrong_type(&self.targets[at]));
            }
            Ok(Part::identity(at, ty))
        };
        columns.iter().map(part).collect()
    }

    /// Partitions must be functions of the primary key.
    fn check_key(&self, kind: &Kind) -> Result<()> {
        if kind.columns().iter().all(|column| self.key.contains(column)) {
            return Ok(());
        }
        Err(Error::new(
            Code::PartitionNotInKey,
            "A PRIMARY KEY must include all columns in the table's partitioning function (prefixed \
             columns are not considered).",
        ))
    }
}

/// Error 1659.
pub(super) fn wrong_type(column: &Target) -> Error {
    let name = &column.name;
    let text = format!("Field '{name}' is of a not allowed type for this type of partitioning");
    Error::new(Code::PartitionFieldType, text)
}

pub(super) fn signed(tree: &Expr) -> (&Expr, bool) {
    match ast_analysis::unnested(tree) {
        Expr::UnaryOp { op: UnaryOperator::Minus, expr } => (ast_analysis::unnested(expr), true),
        Expr::UnaryOp { op: UnaryOperator::Plus, expr } => (ast_analysis::unnested(expr), false),
        other => (other, false),
    }
}

pub(super) fn integer_of(value: &Value, partition: &str) -> Result<Option<i128>> {
    match value {
        Value::Null => Ok(None),
        Value::Int(value) => Ok(Some(i128::from(*value))),
        Value::UInt(value) => Ok(Some(i128::from(*value))),
        _ => Err(Error::new(
            Code::PartitionBoundNotInteger,
            format!("VALUES value for partition '{partition}' must have type INT"),
        )),
    }
}
