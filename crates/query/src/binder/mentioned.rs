//! The columns that a statement names: a table need not provide others.

use std::collections::HashSet;

use pelorus_sql::ast_analysis::{self, Node};
use sqlparser::ast::{
    self, JoinConstraint, SelectItem, SelectItemQualifiedWildcardKind, TableFactor,
};

use super::join_kind::constraint;

/// Every column that a statement names, in lower case.
#[derive(Debug, Default)]
pub(crate) struct Mentioned {
    bare: HashSet<String>,
    qualified: HashSet<(String, String)>,
    /// A join is `NATURAL`: every column can be meant.
    natural: bool,
}

impl Mentioned {
    /// Looks through a query and its subqueries.
    pub(crate) fn of(query: &ast::Query) -> Self {
        let mut this = Self::default();
        ast_analysis::walk_query(query, &mut |node| match node {
            Node::Expr(ast::Expr::Identifier(name)) => {
                this.bare.insert(name.value.to_ascii_lowercase());
            }
            Node::Expr(ast::Expr::CompoundIdentifier(path)) => {
                if let [.., table, column] = &path[..] {
                    this.qualified.insert((
                        table.value.to_ascii_lowercase(),
                        column.value.to_ascii_lowercase(),
                    ));
                }
            }
            Node::Expr(ast::Expr::MatchAgainst { columns, .. }) => {
                for column in columns {
                    let last = column.0.last().and_then(ast::ObjectNamePart::as_ident);
                    this.bare.extend(last.map(|name| name.value.to_ascii_lowercase()));
                }
            }
            Node::Query(query) => this.joins_of(&query.body),
            Node::Table(TableFactor::NestedJoin { table_with_joins, .. }) => {
                this.joins(&table_with_joins.joins);
            }
            _ => {}
        });
        this
    }

    fn joins_of(&mut self, body: &ast::SetExpr) {
        match body {
            ast::SetExpr::Select(select) => {
                select.from.iter().for_each(|item| self.joins(&item.joins));
            }
            ast::SetExpr::SetOperation { left, right, .. } => {
                self.joins_of(left);
                self.joins_of(right);
            }
            // What is in parentheses is a query of its own.
            _ => {}
        }
    }

    /// The names of `USING`.
    fn joins(&mut self, joins: &[ast::Join]) {
        for join in joins {
            match constraint(&join.join_operator) {
                Some(JoinConstraint::Natural) => self.natural = true,
                Some(JoinConstraint::Using(names)) => {
                    let names = names.iter().filter_map(|name| name.0.last()?.as_ident());
                    self.bare.extend(names.map(|name| name.value.to_ascii_lowercase()));
                }
                _ => {}
            }
        }
    }

    /// Whether a block may mean any column of a table.
    pub(crate) fn all(&self, select: &ast::Select, alias: &str) -> bool {
        self.natural || takes_all(select, alias)
    }

    pub(crate) fn column(&self, alias: &str, name: &str) -> bool {
        let name = name.to_ascii_lowercase();
        self.bare.contains(&name) || self.qualified.contains(&(alias.to_ascii_lowercase(), name))
    }
}

/// Whether a block takes all columns of a table.
fn takes_all(select: &ast::Select, alias: &str) -> bool {
    select.projection.iter().any(|item| match item {
        SelectItem::Wildcard(_) => true,
        SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(name), _) => {
            let table = name.0.last().and_then(|part| part.as_ident());
            table.is_none_or(|table| table.value.eq_ignore_ascii_case(alias))
        }
        SelectItem::QualifiedWildcard(..) => true,
        _ => false,
    })
}

/// Whether a block takes all columns of any table.
pub(crate) fn takes_all_of_any(select: &ast::Select) -> bool {
    let all = |item: &SelectItem| {
        matches!(item, SelectItem::Wildcard(_) | SelectItem::QualifiedWildcard(..))
    };
    select.projection.iter().any(all)
}
