//! A generic traversal of the syntax tree, which all analyses use.
//!
//! Every visitor type of `sqlparser` compiles its own copy of the traversal through all its nodes,
//! of which there are hundreds; calling one closure keeps that to one copy.

use std::ops::ControlFlow;

use sqlparser::ast::{Expr, Query, TableFactor, Visit, Visitor};

/// A node of the traversal, in the order of the text.
#[derive(Debug)]
pub enum Node<'a> {
    /// A query begins, with its `WITH` still to come.
    Query(&'a Query),
    /// The query that began last ends.
    End,
    /// A table, derived table or join in parentheses.
    Table(&'a TableFactor),
    /// An expression; its parts follow.
    Expr(&'a Expr),
}

/// Shows every node of a query.
pub fn walk_query(query: &Query, see: &mut dyn FnMut(Node<'_>)) {
    // The walker never breaks off.
    let _ = query.visit(&mut Walker { see });
}

/// Shows every node of an expression, itself first.
pub fn walk_expr(expr: &Expr, see: &mut dyn FnMut(Node<'_>)) {
    let _ = expr.visit(&mut Walker { see });
}

struct Walker<'s> {
    see: &'s mut dyn FnMut(Node<'_>),
}

impl Visitor for Walker<'_> {
    type Break = ();

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
        (self.see)(Node::Query(query));
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _query: &Query) -> ControlFlow<()> {
        (self.see)(Node::End);
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<()> {
        (self.see)(Node::Table(factor));
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        (self.see)(Node::Expr(expr));
        ControlFlow::Continue(())
    }
}
