//! Finds the subqueries that an expression holds directly.

use std::ops::ControlFlow;

use sqlparser::ast::{self, Visit, Visitor};

/// Adds the outermost subqueries of an expression.
pub(crate) fn collect(expr: &ast::Expr, found: &mut Vec<ast::Query>) {
    let mut visitor = Outermost { depth: 0, found };
    // The visitor never breaks off.
    let _: ControlFlow<()> = expr.visit(&mut visitor);
}

struct Outermost<'a> {
    depth: usize,
    found: &'a mut Vec<ast::Query>,
}

impl Visitor for Outermost<'_> {
    type Break = ();

    fn pre_visit_query(&mut self, query: &ast::Query) -> ControlFlow<()> {
        if self.depth == 0 {
            self.found.push(query.clone());
        }
        self.depth += 1;
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &ast::Query) -> ControlFlow<()> {
        self.depth -= 1;
        ControlFlow::Continue(())
    }
}
