//! The names that an expression may use, and the columns that they lead to.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use pelorus_error::{Code, Error, Result};
use pelorus_sql::normalise::{Node, walk_expr};
use pelorus_types::Column;
use sqlparser::ast;

use super::dependent::TableKey;
use super::native::groups::GroupNumbers;
use super::typed::Typed;
use crate::udf::Units;

/// A column that can be named.
#[derive(Clone, Debug)]
pub(crate) struct ScopeColumn {
    /// The database, where the table is a real one.
    pub(crate) schema: String,
    /// The table or its alias.
    pub(crate) table: String,
    /// The column's name.
    pub(crate) name: String,
    /// Named by USING or NATURAL: found by its bare name only through the left side.
    pub(crate) hidden: bool,
    /// `INVISIBLE`: no `*` means it.
    pub(crate) invisible: bool,
    /// What it stands for.
    pub(crate) value: Typed,
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
    /// The primary keys of native tables.
    pub(crate) keys: Vec<TableKey>,
    /// Decimal columns that can be had in 64 bits.
    pub(crate) units: Vec<Units>,
    /// Text columns that can be grouped by their numbers.
    pub(crate) groups: Option<GroupNumbers>,
    /// The columns of the block around it.
    pub(crate) outer: Option<Arc<Scope>>,
    /// The places of columns by their names in lower case, once some were looked for among many.
    places: OnceLock<HashMap<String, Vec<usize>>>,
}

/// Among so many columns names are looked for one by one.
const FEW_COLUMNS: usize = 32;

impl Scope {
    /// Adds the columns of a table or derived table under a name.
    pub(crate) fn push_relation(&mut self, schema: &str, table: &str, columns: Vec<Typed>) {
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
                name,
                hidden: false,
                invisible: false,
                value,
            });
        }
    }

    /// Finds `[[schema.]table.]name`. `Ok(None)` when there is no such column.
    ///
    /// # Errors
    /// 1052 when several columns fit.
    pub(crate) fn find(&self, path: &[&str], clause: &str) -> Result<Option<&ScopeColumn>> {
        let (name, table, schema) = match *path {
            [name] => (name, None, None),
            [table, name] => (name, Some(table), None),
            [schema, table, name] => (name, Some(table), Some(schema)),
            _ => return Err(Error::new(Code::Syntax, "a column name has at most three parts")),
        };
        // Columns never care about case; aliases of tables do on servers whose names do, but a
        // statement that uses both spellings for different tables is beyond what we accept.
        let is_it = |column: &&ScopeColumn| {
            column.name.eq_ignore_ascii_case(name)
                && match table {
                    Some(table) => column.table.eq_ignore_ascii_case(table),
                    None => !column.hidden,
                }
                && schema.is_none_or(|schema| column.schema.eq_ignore_ascii_case(schema))
        };
        let mut hits = self.named(name).filter(is_it);
        let first = hits.next();
        if first.is_some() && hits.next().is_some() {
            return Err(Error::new(
                Code::AmbiguousColumn,
                format!("Column '{}' in {clause} is ambiguous", path.join(".")),
            ));
        }
        Ok(first)
    }

    /// The columns that may have a name, in order.
    fn named(&self, name: &str) -> impl Iterator<Item = &ScopeColumn> {
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
        few.iter().chain(many.iter().filter_map(|at| self.columns.get(*at)))
    }

    /// The columns of `table.*`, or of `*` when no table is given.
    pub(crate) fn wildcard(&self, table: Option<&str>) -> Result<Vec<&ScopeColumn>> {
        let Some(table) = table else {
            let starred = self.starred.iter().filter_map(|&at| self.columns.get(at));
            return Ok(starred.filter(|column| !column.invisible).collect());
        };
        let is_its = |column: &&ScopeColumn| column.table.eq_ignore_ascii_case(table);
        let hits: Vec<_> = self.columns.iter().filter(is_its).collect();
        if hits.is_empty() {
            return Err(Error::new(Code::UnknownTable, format!("Unknown table '{table}'")));
        }
        Ok(hits.into_iter().filter(|column| !column.invisible).collect())
    }

    /// The scope of two joined sides.
    pub(crate) fn joined(mut self, other: Self) -> Self {
        let begin = self.columns.len();
        self.places.take();
        self.columns.extend(other.columns);
        self.starred.extend(other.starred.iter().map(|at| begin + at));
        self.tested.extend(other.tested);
        self.keys.extend(other.keys);
        self.units.extend(other.units);
        self
    }
}

/// Adds the names without a table that an expression uses, its subqueries included.
pub(crate) fn bare_names(expr: &ast::Expr, names: &mut Vec<String>) {
    walk_expr(expr, &mut |node| {
        if let Node::Expr(ast::Expr::Identifier(name)) = node {
            names.push(name.value.clone());
        }
    });
}
