//! The select list: expansion of `*`, and the names of the items.

use pelorus_error::{Code, Error, Result};
use pelorus_sql::ast_analysis;
use sqlparser::ast::{self, SelectItem};

use super::plan_limits::check_columns;
use super::scope::{Scope, path_of};
use super::typed_expression::TypedExpr;

/// An item of the select list once `*` is spelt out.
#[derive(Clone, Debug)]
pub(crate) struct Item {
    /// The name that the client sees.
    pub(crate) name: String,
    /// The alias given in the text.
    pub(crate) alias: Option<String>,
    /// The expression; `None` for a column that `*` brought.
    pub(crate) expr: Option<ast::Expr>,
    /// The column that `*` brought.
    pub(crate) column: Option<TypedExpr>,
    /// The place in FROM of the column that the item is, if it is one.
    pub(crate) place: Option<usize>,
}

impl Item {
    /// The item as an expression over the columns of FROM.
    pub(crate) fn expression(&self, scope: &Scope) -> Result<ast::Expr> {
        match (&self.expr, self.place) {
            (_, Some(place)) => Ok(scope.path(place)),
            (Some(expr), None) => Ok(expr.clone()),
            (None, None) => Err(Error::internal("an item without expression")),
        }
    }

    /// A column that `*` brought.
    fn starred(scope: &Scope, place: usize) -> Self {
        let column = &scope.columns[place];
        let (name, value) = (column.name.clone(), column.value.clone());
        Self { name, alias: None, expr: None, column: Some(value), place: Some(place) }
    }
}

/// Expands the select list. `names` are MySQL's names of items without alias: their text.
pub(crate) fn items(
    select: &ast::Select,
    scope: &Scope,
    names: Option<&[Option<String>]>,
) -> Result<Vec<Item>> {
    let mut items = Vec::new();
    // Errors of names are raised where the expression is bound.
    let place = |expr: &ast::Expr| {
        scope.place(&path_of(ast_analysis::unnested(expr))?, "field list").ok().flatten()
    };
    for (at, item) in select.projection.iter().enumerate() {
        check_columns(items.len())?;
        match item {
            SelectItem::UnnamedExpr(expr) => {
                let place = place(expr);
                let name = place
                    .and_then(|place| defined_name(scope, place))
                    .or_else(|| names?.get(at)?.clone())
                    .unwrap_or_else(|| default_name(expr));
                items.push(Item {
                    name: in_basic_plane(name),
                    alias: None,
                    expr: Some(expr.clone()),
                    column: None,
                    place,
                });
            }
            SelectItem::ExprWithAlias { expr, alias } => items.push(Item {
                name: alias.value.clone(),
                alias: Some(alias.value.clone()),
                expr: Some(expr.clone()),
                column: None,
                place: place(expr),
            }),
            SelectItem::Wildcard(_) => {
                if select.from.is_empty() {
                    return Err(Error::new(Code::NoTablesUsed, "No tables used"));
                }
                let places = scope.wildcard(None)?.into_iter();
                items.extend(places.map(|place| Item::starred(scope, place)));
            }
            SelectItem::QualifiedWildcard(
                ast::SelectItemQualifiedWildcardKind::ObjectName(name),
                _,
            ) => {
                let mut parts = name.0.iter().rev().filter_map(|part| part.as_ident());
                let table = parts.next().map(|it| it.value.as_str()).unwrap_or_default();
                let schema = parts.next().map(|it| it.value.as_str());
                let places = scope.wildcard(Some((schema, table)))?.into_iter();
                items.extend(places.map(|place| Item::starred(scope, place)));
            }
            other => return Err(Error::unsupported(other)),
        }
    }
    check_columns(items.len())?;
    Ok(items)
}

/// MySQL keeps names in `utf8mb3`: what lies beyond becomes a question mark.
fn in_basic_plane(name: String) -> String {
    if name.chars().all(|c| c <= '\u{ffff}') {
        return name;
    }
    name.chars().map(|c| if c > '\u{ffff}' { '?' } else { c }).collect()
}

/// Tables of the information schema that are no views in MySQL.
const NO_VIEWS: [&str; 13] = [
    "APPLICABLE_ROLES",
    "COLLATIONS",
    "COLUMN_PRIVILEGES",
    "ENABLED_ROLES",
    "ENGINES",
    "PLUGINS",
    "PROCESSLIST",
    "ROLE_COLUMN_GRANTS",
    "ROLE_ROUTINE_GRANTS",
    "ROLE_TABLE_GRANTS",
    "SCHEMA_PRIVILEGES",
    "TABLE_PRIVILEGES",
    "USER_PRIVILEGES",
];

/// The name of a column of a view, which MySQL shows as the view has it and not as the query does:
/// `SELECT table_name FROM information_schema.tables` gives a column `TABLE_NAME`.
fn defined_name(scope: &Scope, place: usize) -> Option<String> {
    let column = &scope.columns[place];
    let origin = column.value.origin.as_ref()?;
    let is_of_view = origin.schema.eq_ignore_ascii_case("information_schema")
        && !NO_VIEWS.contains(&origin.org_table.as_str());
    is_of_view.then(|| column.name.clone())
}

fn default_name(expr: &ast::Expr) -> String {
    match expr {
        ast::Expr::Identifier(name) => name.value.clone(),
        ast::Expr::CompoundIdentifier(path) => {
            path.last().map_or_else(String::new, |name| name.value.clone())
        }
        other => other.to_string(),
    }
}
