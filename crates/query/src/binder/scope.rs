//! Name scopes: the names that an expression may use, and the columns that they resolve to.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use pelorus_error::{Code, Error, Result};
use pelorus_types::Column;
use sqlparser::ast;

use super::facts::Facts;
use super::native::dictionary_groups::GroupNumbers;
use super::typed_expression::TypedExpr;
use crate::datafusion_adapter::udf::Units;

/// A column that can be named.
#[derive(Clone, Debug)]
pub(crate) struct ScopeColumn {
    /// The database, where the table is a real one.
    pub(crate) schema: String,
    /// The table or its alias.
    pub(crate) table: String,
    /// Whether the table's name is found in any case, as on its server.
    pub(crate) folds: bool,
    /// The column's name.
    pub(crate) name: String,
    /// Named by USING or NATURAL: found by its bare name only through the left side.
    pub(crate) hidden: bool,
    /// `INVISIBLE`: no `*` means it.
    pub(crate) invisible: bool,
    /// Its forms in a derived table that MySQL merges into the enclosing block.
    pub(crate) merged: Option<Merged>,
    /// The expression that it represents.
    pub(crate) value: TypedExpr,
}

/// A column of a derived table that is merged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Merged {
    /// A column of a table within.
    Column,
    /// Something computed: in GROUP BY, HAVING and ORDER BY no column to a MySQL.
    Expression,
}

/// The columns of a FROM clause in order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scope {
    /// The columns.
    pub(crate) columns: Vec<ScopeColumn>,
    /// The places of those that `*` means, in its order.
    pub(crate) starred: Vec<usize>,
    /// Conditions of WHERE that every row fulfils already.
    pub(crate) tested: Vec<ast::Expr>,
    /// Which columns determine others.
    pub(crate) facts: Facts,
    /// Decimal columns that can be had in 64 bits.
    pub(crate) units: Vec<Units>,
    /// Text columns that can be grouped by their numbers.
    pub(crate) groups: Option<GroupNumbers>,
    /// The columns of the block around it.
    pub(crate) outer: Option<Arc<Scope>>,
    /// The places of columns by their names in lower case, once some were looked for among many.
    pub(super) places: OnceLock<HashMap<String, Vec<usize>>>,
}

/// Among so many columns names are looked for one by one.
const FEW_COLUMNS: usize = 32;

impl Scope {
    /// Adds the columns of a table or derived table under a name.
    pub(crate) fn push_relation(&mut self, schema: &str, table: &str, columns: Vec<TypedExpr>) {
        self.places.take();
        for value in columns {
            let name = value.origin.as_ref().map_or_else(String::new, |origin| origin.name.clone());
            let mut value = value;
            value.origin = value.origin.map(|origin| {
                Arc::new(Column {
                    schema: if schema.is_empty() { origin.schema.clone() } else { schema.into() },
                    table: table.to_owned(),
                    ..(*origin).clone()
                })
            });
            self.starred.push(self.columns.len());
            self.columns.push(ScopeColumn {
                schema: schema.to_owned(),
                table: table.to_owned(),
                folds: false,
                name,
                hidden: false,
                invisible: false,
                merged: None,
                value,
            });
        }
    }

    /// Finds `[[schema.]table.]name`. `Ok(None)` when there is no such column.
    ///
    /// # Errors
    /// 1052 when several columns fit.
    pub(crate) fn find(&self, path: &[&str], clause: &str) -> Result<Option<&ScopeColumn>> {
        Ok(self.place(path, clause)?.map(|at| &self.columns[at]))
    }

    /// The place of the column that a name means, as [`Scope::find`] finds it.
    ///
    /// # Errors
    /// 1052 when several columns fit.
    pub(crate) fn place(&self, path: &[&str], clause: &str) -> Result<Option<usize>> {
        let (name, table, schema) = parts(path)?;
        let mut hits = self.named(name).filter(|(_, column)| {
            column.name.eq_ignore_ascii_case(name)
                && match table {
                    Some(table) => column.is_of(schema, table),
                    None => !column.hidden,
                }
        });
        let first = hits.next();
        if first.is_some() && hits.next().is_some() {
            return Err(ambiguous(path, clause));
        }
        Ok(first.map(|(at, _)| at))
    }

    /// The columns that may have a name, with their places, in order.
    fn named(&self, name: &str) -> impl Iterator<Item = (usize, &ScopeColumn)> {
        let is_short = self.columns.len() <= FEW_COLUMNS;
        let few = if is_short { self.columns.as_slice() } else { &[] };
        let places = (!is_short).then(|| {
            let places = self.places.get_or_init(|| {
                let mut places: HashMap<String, Vec<usize>> = HashMap::new();
                for (at, column) in self.columns.iter().enumerate() {
                    places.entry(column.name.to_ascii_lowercase()).or_default().push(at);
                }
                places
            });
            places.get(&name.to_ascii_lowercase()).map(Vec::as_slice)
        });
        let many = places.flatten().unwrap_or_default();
        let many = many.iter().filter_map(|&at| Some((at, self.columns.get(at)?)));
        few.iter().enumerate().chain(many)
    }

    /// A name that leads to the column of a place only.
    pub(crate) fn path(&self, at: usize) -> ast::Expr {
        let column = &self.columns[at];
        let [schema, table, name] = [&*column.schema, &*column.table, &*column.name];
        let is_enough = matches!(self.place(&[table, name], ""), Ok(Some(found)) if found == at);
        let parts = if is_enough { vec![table, name] } else { vec![schema, table, name] };
        let quoted = parts.into_iter().map(|part| ast::Ident::with_quote('`', part));
        ast::Expr::CompoundIdentifier(quoted.collect())
    }

    /// The places of the columns of `[schema.]table.*`, or of `*` when no table is given.
    pub(crate) fn wildcard(&self, table: Option<(Option<&str>, &str)>) -> Result<Vec<usize>> {
        let is_shown = |at: &usize| self.columns.get(*at).is_some_and(|it| !it.invisible);
        let Some((schema, table)) = table else {
            return Ok(self.starred.iter().copied().filter(is_shown).collect());
        };
        let its = |at: &usize| self.columns[*at].is_of(schema, table);
        let hits: Vec<usize> = (0..self.columns.len()).filter(its).collect();
        if hits.is_empty() {
            return Err(Error::new(Code::UnknownTable, format!("Unknown table '{table}'")));
        }
        Ok(hits.into_iter().filter(is_shown).collect())
    }

    /// The scope of two joined sides.
    pub(crate) fn joined(mut self, other: Self) -> Self {
        let begin = self.columns.len();
        self.places.take();
        self.columns.extend(other.columns);
        self.starred.extend(other.starred.iter().map(|at| begin + at));
        self.tested.extend(other.tested);
        self.facts.extend(other.facts.moved(begin));
        self.units.extend(other.units);
        self
    }
}

impl ScopeColumn {
    /// Whether it is a column of a table of this name.
    pub(crate) fn is_of(&self, schema: Option<&str>, table: &str) -> bool {
        let same = |own: &str, name: &str| match self.folds {
            true => own.eq_ignore_ascii_case(name),
            false => own == name,
        };
        same(&self.table, table) && schema.is_none_or(|schema| same(&self.schema, schema))
    }

    /// The name in full, as errors show it.
    pub(crate) fn full_name(&self) -> String {
        let parts = [self.schema.as_str(), &self.table, &self.name];
        let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        parts.join(".")
    }
}

/// The parts of a name: the column's own, its table's, its database's.
///
/// # Errors
/// 1064 for more than three.
pub(crate) fn parts<'a>(path: &[&'a str]) -> Result<(&'a str, Option<&'a str>, Option<&'a str>)> {
    match *path {
        [name] => Ok((name, None, None)),
        [table, name] => Ok((name, Some(table), None)),
        [schema, table, name] => Ok((name, Some(table), Some(schema))),
        _ => Err(Error::new(Code::Syntax, "a column name has at most three parts")),
    }
}

/// Error 1052.
pub(crate) fn ambiguous(path: &[&str], clause: &str) -> Error {
    let text = format!("Column '{}' in {clause} is ambiguous", path.join("."));
    Error::new(Code::AmbiguousColumn, text)
}

/// The parts of a name in a tree; `None` for other expressions.
pub(crate) fn path_of(expr: &ast::Expr) -> Option<Vec<&str>> {
    let path = match expr {
        ast::Expr::Identifier(name) => std::slice::from_ref(name),
        ast::Expr::CompoundIdentifier(path) => path.as_slice(),
        _ => return None,
    };
    (!is_variable(path)).then(|| path.iter().map(|part| part.value.as_str()).collect())
}

/// Whether a name is that of a variable.
pub(crate) fn is_variable(path: &[ast::Ident]) -> bool {
    path.first().is_some_and(|it| it.quote_style.is_none() && it.value.starts_with('@'))
}
