//! The base tables of a query: table names that no `WITH` hides.

use std::ops::ControlFlow;

use sqlparser::ast::{
    Expr, Ident, ObjectName, ObjectNamePart, Query, SelectItem, SelectItemQualifiedWildcardKind,
    SetExpr, TableFactor, VisitMut, VisitorMut,
};

use super::{Node, table_name, walk_query};
use crate::statement::name::TableName;

/// A table that a query reads.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TableReference {
    /// The table, as written.
    pub table: TableName,
    /// Its alias.
    pub alias: Option<String>,
}

/// All base tables of a query and its subqueries, once for every occurrence; names that a `WITH`
/// defines are left out where they hide a table.
pub fn table_references(query: &Query) -> Vec<TableReference> {
    let mut scopes = Scopes::default();
    let mut out = Vec::new();
    walk_query(query, &mut |node| match node {
        Node::Query(query) => scopes.enter(query),
        Node::End => scopes.leave(),
        Node::Table(TableFactor::Table { name, alias, .. }) => {
            let table = table_name(name);
            if !scopes.hides(&table) {
                let alias = alias.as_ref().map(|alias| alias.name.value.clone());
                out.push(TableReference { table, alias });
            }
        }
        _ => {}
    });
    out
}

/// Gives tables other names: `rename` sees each real table as written and gives the new name, or
/// `None` to keep it. Columns and wildcards that name the database as well (`d.t.a`, `d.t.*`)
/// follow. Aliases stay; a table whose own name changes should have one.
pub fn rename_tables(query: &mut Query, mut rename: impl FnMut(&TableName) -> Option<TableName>) {
    let mut renaming = Rename { scopes: Scopes::default(), rename: &mut rename };
    let _ = query.visit(&mut renaming);
}

/// The names that `WITH` defines, as far as they can be seen at a place in the tree.
#[derive(Debug, Default)]
struct Scopes {
    queries: Vec<Scope>,
}

/// One query with its `WITH`.
#[derive(Debug, Default)]
struct Scope {
    /// Each name, and the address of its definition.
    names: Vec<(String, usize)>,
    /// A definition sees itself.
    recursive: bool,
    /// How many of the names can be seen now.
    visible: usize,
}

fn address(query: &Query) -> usize {
    std::ptr::from_ref(query).addr()
}

impl Scopes {
    fn enter(&mut self, query: &Query) {
        // Within a definition only the names before it can be seen.
        if let Some(outer) = self.queries.last_mut() {
            let here = address(query);
            if let Some(index) = outer.names.iter().position(|(_, at)| *at == here) {
                outer.visible = index + usize::from(outer.recursive);
            }
        }
        let mut scope = Scope::default();
        if let Some(with) = &query.with {
            scope.recursive = with.recursive;
            scope.names = with
                .cte_tables
                .iter()
                .map(|cte| (cte.alias.name.value.clone(), address(&cte.query)))
                .collect();
            scope.visible = scope.names.len();
        }
        self.queries.push(scope);
    }

    fn leave(&mut self) {
        self.queries.pop();
        if let Some(outer) = self.queries.last_mut() {
            outer.visible = outer.names.len();
        }
    }

    fn hides(&self, table: &TableName) -> bool {
        table.database.is_none()
            && self.queries.iter().any(|scope| {
                let seen = scope.names.get(..scope.visible).unwrap_or_default();
                seen.iter().any(|(name, _)| name.eq_ignore_ascii_case(&table.name))
            })
    }
}

struct Rename<'r> {
    scopes: Scopes,
    rename: &'r mut dyn FnMut(&TableName) -> Option<TableName>,
}

impl Rename<'_> {
    fn object(&mut self, name: &mut ObjectName) {
        if let Some(new) = (self.rename)(&table_name(name)) {
            let parts = new.database.into_iter().chain([new.name]);
            *name = ObjectName(parts.map(quoted).map(ObjectNamePart::Identifier).collect());
        }
    }

    /// The wildcards of the select lists of a query.
    fn wildcards(&mut self, body: &mut SetExpr) {
        match body {
            SetExpr::Select(select) => {
                for item in &mut select.projection {
                    if let SelectItem::QualifiedWildcard(kind, _) = item
                        && let SelectItemQualifiedWildcardKind::ObjectName(name) = kind
                        && name.0.len() == 2
                    {
                        self.object(name);
                    }
                }
            }
            SetExpr::SetOperation { left, right, .. } => {
                self.wildcards(left);
                self.wildcards(right);
            }
            // A query in parentheses is visited separately.
            _ => {}
        }
    }
}

fn quoted(name: String) -> Ident {
    Ident::with_quote('`', name)
}

impl VisitorMut for Rename<'_> {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        self.scopes.enter(query);
        self.wildcards(&mut query.body);
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _query: &mut Query) -> ControlFlow<()> {
        self.scopes.leave();
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<()> {
        if let TableFactor::Table { name, .. } = factor
            && !self.scopes.hides(&table_name(name))
        {
            self.object(name);
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if let Expr::CompoundIdentifier(parts) = expr
            && let [database, table, _] = parts.as_slice()
        {
            let old =
                TableName { database: Some(database.value.clone()), name: table.value.clone() };
            if let Some(new) = (self.rename)(&old) {
                let column = parts.pop();
                *parts = new.database.into_iter().chain([new.name]).map(quoted).collect();
                parts.extend(column);
            }
        }
        ControlFlow::Continue(())
    }
}
