//! `LOAD DATA`: inserts the rows of a file into a table, piece by piece.
//!
//! A file whose rows take at most `PIECE_BYTES` in memory is loaded in one commit. A larger file
//! is committed in pieces of that size, so that memory stays bounded; inside a transaction, which
//! can only be one commit, a larger file is refused.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BinaryArray, BinaryBuilder, StringArray};
use pelorus_env::{Refused, Reservation};
use pelorus_error::{Code, Error, Result};
use pelorus_functions::assignment::{Literal, NullRule, Policy};
use pelorus_functions::{Value, value_at};
use pelorus_result::scalar::Typed;
use pelorus_sql::ast::{self, Expr, Ident};
use pelorus_sql::ast_analysis::{self, Variable};
use pelorus_sql::dml::fields::{ROW_BYTES_MAX, Splitter};
use pelorus_sql::dml::{Assigned, Assignment, Duplicates, LoadData, LoadTarget};
use pelorus_store::{Mode, bytes_of};
use pelorus_types::{Column, ColumnType, collation};

use super::assign::{Names, Source};
use super::default::{Default, defaults};
use super::insert::positions;
use super::values_fast_path::{Fill, NewRows};
use super::warnings::Warnings;
use super::{Plan, Report, Statement};
use crate::definition::NativeDef;
use crate::partition::explicit_selection::NamedPartitions;

/// Bytes of rows that are gathered for one commit.
const PIECE_BYTES: usize = 256 << 20;
/// Bytes of the file that are made into rows at once.
const FEED_BYTES: usize = 4 << 20;
/// Rows that columns have room for from the beginning.
const ROOM: usize = 1024;

/// Where a field goes.
#[derive(Clone, Copy, Debug)]
enum Slot {
    /// Into the column at this place of `given`.
    Column,
    /// Into the variable with this number.
    Variable(usize),
}

/// A `LOAD DATA` at work.
#[derive(Debug)]
pub struct Loader {
    def: Arc<NativeDef>,
    only: NamedPartitions,
    splitter: Splitter,
    slots: Vec<Slot>,
    /// The columns that fields go to, in the order of the fields.
    given: Vec<usize>,
    variables: Vec<String>,
    /// The last row's values of the variables.
    last: Vec<Typed>,
    /// `CHARACTER SET binary`: fields are bytes and no text.
    is_binary: bool,
    sources: Vec<(usize, Source)>,
    policy: Policy,
    defaults: Vec<Default>,
    mode: Mode,
    batches: Vec<Piece>,
    records: u64,
    bytes: usize,
    /// The memory of the rows, and as much again for carrying them out.
    held: Reservation,
    /// Why there is no memory for more of them.
    refused: Option<Refused>,
    /// So many bytes of rows are committed at once.
    pub piece_bytes: usize,
}

/// Rows that were read, with the variables of each.
#[derive(Debug)]
struct Piece {
    rows: NewRows,
    variables: Vec<ArrayRef>,
}

impl Statement<'_> {
    /// Begins to load a file.
    ///
    /// # Errors
    /// Unknown columns (1054) or partitions (1735), an unsupported charset (1235), and errors in
    /// the format.
    pub fn loader(&self, load: &LoadData) -> Result<Loader> {
        let def = self.table(&load.table)?;
        let only = NamedPartitions::of(&def, &load.partitions)?;
        let charset = load.charset.as_deref().unwrap_or("utf8mb4");
        if !["utf8mb4", "utf8mb3", "utf8", "binary", "ascii"].contains(&charset) {
            return Err(Error::unsupported(format_args!("LOAD DATA of a file in {charset}")));
        }
        let mut slots = Vec::new();
        let mut names: Vec<&str> = Vec::new();
        let mut variables: Vec<String> = Vec::new();
        for target in &load.targets {
            slots.push(match target {
                LoadTarget::Column(name) => {
                    names.push(name);
                    Slot::Column
                }
                LoadTarget::Variable(name) => {
                    variables.push(name.to_lowercase());
                    Slot::Variable(variables.len() - 1)
                }
            });
        }
        let mut given = positions(&def, names.into_iter())?;
        if load.targets.is_empty() {
            given = (0..def.columns.len()).filter(|&at| !def.invisible[at]).collect();
            slots = vec![Slot::Column; given.len()];
        }
        let assignments = without_variables(&load.assignments, &variables, self.context.mode);
        let names = Names { table: &def.name, new: None, given: &[] };
        let sources = self.sources(&def, &assignments, names)?;
        // LOCAL says IGNORE where nothing else is said.
        let ignore = match load.duplicates {
            None => load.local,
            Some(duplicates) => duplicates == Duplicates::Ignore,
        };
        let policy = Policy { nulls: NullRule::Load, ignore, ..self.policy };
        let mode = match load.duplicates {
            Some(Duplicates::Replace) => Mode::Replace,
            Some(Duplicates::Ignore) => Mode::Ignore,
            None if load.local => Mode::Ignore,
            None => Mode::Insert,
        };
        Ok(Loader {
            splitter: Splitter::new(&load.format)?,
            defaults: defaults(&def, &policy, self.context.mode),
            def,
            only,
            slots,
            given,
            variables,
            last: Vec::new(),
            is_binary: charset == "binary",
            sources,
            policy,
            mode,
            batches: Vec::new(),
            records: 0,
            bytes: 0,
            held: self.context.memory.empty(),
            refused: None,
            piece_bytes: PIECE_BYTES,
        })
    }

    /// Plans the rows that were read since the last plan.
    ///
    /// # Errors
    /// What assignments and checks give.
    pub async fn loaded(mut self, loader: &mut Loader) -> Result<Plan> {
        self.policy = loader.policy;
        let pieces = std::mem::take(&mut loader.batches);
        loader.bytes = 0;
        loader.held = self.context.memory.empty();
        loader.refused = None;
        let mut batches = Vec::with_capacity(pieces.len());
        let columns: Vec<Column> = loader
            .variables
            .iter()
            .map(|name| Column::computed(variable_name(name), variable_type(loader.is_binary)))
            .collect();
        for Piece { mut rows, variables } in pieces {
            if !loader.sources.is_empty() {
                let extra = (columns.as_slice(), variables.as_slice());
                let def = &loader.def;
                let mut warnings = Warnings::default();
                rows.columns = self
                    .assigned(def, &def.name, &rows.columns, extra, &loader.sources, &mut warnings)
                    .await?;
                rows.warnings.append(warnings);
            }
            batches.push(rows);
        }
        let report = Report::Load { records: loader.records, skipped: 0 };
        self.completed((&loader.def, &loader.only), batches, loader.mode, report).await
    }
}

impl Loader {
    /// Takes bytes of the file.
    ///
    /// # Errors
    /// The first row that does not fit.
    pub fn feed(&mut self, bytes: &[u8]) -> Result<()> {
        self.splitter.feed(bytes);
        if self.splitter.pending() >= FEED_BYTES { self.read() } else { Ok(()) }
    }

    /// The file is over.
    ///
    /// # Errors
    /// The first row that does not fit.
    pub fn finish(&mut self) -> Result<()> {
        self.splitter.finish();
        self.read()
    }

    /// The variables that fields went to, in lower case, with those of the last row.
    pub fn variables(&self) -> impl Iterator<Item = (&String, &Typed)> {
        self.variables.iter().zip(&self.last)
    }

    /// Sets another bound than [`ROW_BYTES_MAX`]; tests use it.
    pub fn limit_rows(&mut self, bytes: usize) {
        self.splitter.limit_rows(bytes);
    }

    /// Whether so many rows wait that they should be committed: as many as one commit is to have, or
    /// as there is memory for.
    pub fn is_full(&self) -> bool {
        self.bytes >= self.piece_bytes || self.refused.is_some()
    }

    /// Why there is no memory for more rows.
    pub fn refused(&self) -> Option<&Refused> {
        self.refused.as_ref()
    }

    fn read(&mut self) -> Result<()> {
        let policy = Policy { first_row: self.records + 1, ..self.policy };
        let given = self.given.clone();
        let assigned = self.sources.iter().map(|(column, _)| *column);
        let mut fill = Fill::new(&self.def, &self.defaults, policy, given, (ROOM, false))?
            .assigned_later(assigned);
        let mut variables: Vec<BinaryBuilder> =
            self.variables.iter().map(|_| BinaryBuilder::new()).collect();
        let mut warnings = Warnings::default();
        while let Some(row) = self.splitter.next_row() {
            self.records += 1;
            let number = self.records;
            for (field, slot) in self.slots.iter().enumerate() {
                let Slot::Variable(variable) = slot else { continue };
                let field = row.get(field).filter(|field| !field.null);
                variables[*variable].append_option(field.map(|field| field.bytes));
            }
            let columns = self.slots.iter().enumerate();
            let columns = columns.filter(|(_, slot)| matches!(slot, Slot::Column));
            let literals = columns.map(|(at, _)| {
                row.get(at).map(|field| match field.null {
                    true => Literal::Null,
                    false => Literal::Text(field.bytes),
                })
            });
            fill.fields(literals)?;
            if row.len() != self.slots.len() {
                check_fields(row.len(), self.slots.len(), number, &policy, &mut warnings)?;
            }
        }
        if self.splitter.is_row_too_long() {
            return Err(endless(self.records + 1));
        }
        if fill.len() == 0 {
            return Ok(());
        }
        let mut rows = fill.finish();
        rows.warnings.append(warnings);
        let variables: Vec<ArrayRef> = variables
            .into_iter()
            .map(|mut builder| variable(builder.finish(), self.is_binary))
            .collect::<Result<_>>()?;
        self.last = variables.iter().map(last_value).collect::<Result<_>>()?;
        self.bytes += bytes_of(&rows.columns) + bytes_of(&variables);
        self.refused = self.held.try_resize(self.bytes.saturating_mul(2)).err();
        self.batches.push(Piece { rows, variables });
        Ok(())
    }
}

/// Error 1118 for a row that does not end.
fn endless(row: u64) -> Error {
    let most = ROW_BYTES_MAX >> 20;
    let text = format!(
        "Row {row} of the file has no end in {most} MiB; LINES TERMINATED BY may not be what its \
         lines end with"
    );
    Error::new(Code::RowTooLarge, text)
}

/// Too few or too many fields are an error in strict mode and else a warning.
fn check_fields(
    fields: usize,
    wanted: usize,
    row: u64,
    policy: &Policy,
    warnings: &mut Warnings,
) -> Result<()> {
    let (code, text) = if fields < wanted {
        (Code::TooFewFields, format!("Row {row} doesn't contain data for all columns"))
    } else {
        let rest = "it contained more data than there were input columns";
        (Code::TooManyFields, format!("Row {row} was truncated; {rest}"))
    };
    if policy.strict && !policy.ignore {
        return Err(Error::new(code, text));
    }
    warnings.push(row, code.errno(), text);
    Ok(())
}

/// The name that a variable has among the columns of rows in memory.
fn variable_name(name: &str) -> String {
    format!("\u{1}variable.{name}")
}

fn variable_type(is_binary: bool) -> ColumnType {
    match is_binary {
        true => ColumnType::varchar(65_532, collation::BINARY),
        false => ColumnType::varchar(16_383, collation::UTF8MB4_0900_AI_CI),
    }
}

/// The last row's value of a variable, as `SET` would assign it.
fn last_value(fields: &ArrayRef) -> Result<Typed> {
    let is_binary = fields.as_string_opt::<i32>().is_none();
    let value = value_at(fields, &variable_type(is_binary), fields.len().saturating_sub(1))?;
    let ty = match &value {
        Value::Text(text) => {
            let chars = u32::try_from(text.chars().count()).unwrap_or(u32::MAX);
            ColumnType::varchar(chars, collation::UTF8MB4_0900_AI_CI)
        }
        _ => variable_type(is_binary),
    };
    Ok((value, ty))
}

/// The fields of a variable.
///
/// # Errors
/// Text that is no UTF-8 (1300): the original bytes would be lost.
fn variable(fields: BinaryArray, is_binary: bool) -> Result<ArrayRef> {
    if is_binary {
        return Ok(Arc::new(fields));
    }
    let wrong = fields.iter().flatten().find(|field| std::str::from_utf8(field).is_err());
    if let Some(wrong) = wrong {
        let text = format!(
            "Invalid utf8mb4 character string: '{}'; LOAD DATA ... CHARACTER SET binary takes \
             bytes as they are",
            wrong.escape_ascii()
        );
        return Err(Error::new(Code::InvalidCharacterString, text));
    }
    let text = StringArray::try_from_binary(fields)
        .map_err(|error| Error::internal("fields are no text").caused_by(error))?;
    Ok(Arc::new(text))
}

/// Assignments in which the variables of fields are columns of rows in memory.
fn without_variables(
    assignments: &[Assignment],
    variables: &[String],
    mode: pelorus_sql::Mode,
) -> Vec<Assignment> {
    let column = |name: &Ident| match ast_analysis::variable(name, mode) {
        Some(Variable::User(name)) if variables.contains(&name.to_lowercase()) => {
            Some(Ident::with_quote('`', variable_name(&name.to_lowercase())))
        }
        _ => None,
    };
    let mut assignments = assignments.to_vec();
    for assignment in &mut assignments {
        let Assigned::Expression(expr) = &mut assignment.value else { continue };
        let _ = ast::visit_expressions_mut(expr, |inner| {
            if let Expr::Identifier(name) = inner
                && let Some(column) = column(name)
            {
                *inner = Expr::Identifier(column);
            }
            std::ops::ControlFlow::<()>::Continue(())
        });
    }
    assignments
}
