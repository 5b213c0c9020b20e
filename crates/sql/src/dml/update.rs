//! Parses `UPDATE` and `DELETE`, and the clauses that DML statements share.

use sqlparser::ast::{Expr, OrderByExpr, TableWithJoins, With};

use super::statement::{Assigned, Assignment, Delete, Returning, Update};
use crate::parse::cursor::{Parser, Result};
use crate::statement::name::TableName;

impl Parser<'_> {
    /// The part after `UPDATE`.
    pub(super) fn update(&mut self, with: Option<With>) -> Result<Update> {
        self.skip_hints();
        let low_priority = self.take_word("LOW_PRIORITY");
        let ignore = self.take_word("IGNORE");
        let tables = self.from()?;
        self.expect_word("SET")?;
        let assignments = self.list(Self::column_assignment)?;
        let selection = self.selection()?;
        let (order_by, limit) = self.order_and_limit()?;
        let single = is_single(&tables);
        if tables.is_empty() || (!single && (!order_by.is_empty() || limit.is_some())) {
            return self.unexpected();
        }
        Ok(Update { with, low_priority, ignore, tables, assignments, selection, order_by, limit })
    }

    /// The part after `DELETE`.
    pub(super) fn delete(&mut self, with: Option<With>) -> Result<Delete> {
        self.skip_hints();
        let (mut low_priority, mut quick, mut ignore) = (false, false, false);
        loop {
            let flag = match () {
                () if self.take_word("LOW_PRIORITY") => &mut low_priority,
                () if self.is_word("QUICK") && !self.is_symbol_at(1, ".") => {
                    self.advance();
                    &mut quick
                }
                () if self.take_word("IGNORE") => &mut ignore,
                () => break,
            };
            *flag = true;
        }
        let (targets, from) = self.delete_tables()?;
        let selection = self.selection()?;
        let (order_by, limit) = self.order_and_limit()?;
        let multiple = !targets.is_empty();
        if from.is_empty() || (multiple && (!order_by.is_empty() || limit.is_some())) {
            return self.unexpected();
        }
        let returning = self.returning()?;
        Ok(Delete {
            with,
            low_priority,
            quick,
            ignore,
            targets,
            from,
            selection,
            order_by,
            limit,
            returning,
        })
    }

    /// `a, b FROM refs`, `FROM a, b USING refs` or `FROM t`.
    fn delete_tables(&mut self) -> Result<(Vec<TableName>, Vec<TableWithJoins>)> {
        if !self.take_word("FROM") {
            let targets = self.list(Self::delete_target)?;
            self.expect_word("FROM")?;
            return Ok((targets, self.from()?));
        }
        let start = self.position();
        if let Ok(targets) = self.list(Self::delete_target)
            && self.take_word("USING")
        {
            return Ok((targets, self.from()?));
        }
        self.rewind(start);
        let relation = self.plain_table()?;
        Ok((Vec::new(), vec![TableWithJoins { relation, joins: Vec::new() }]))
    }

    /// `t`, `d.t`, `t.*` or `d.t.*`
    fn delete_target(&mut self) -> Result<TableName> {
        if self.is_symbol_at(1, ".") && self.is_symbol_at(2, "*") {
            let name = self.name_text()?;
            self.advance();
            self.advance();
            return Ok(TableName { database: None, name });
        }
        let table = self.table_name()?;
        if self.take_symbol(".") {
            self.expect_symbol("*")?;
        }
        Ok(table)
    }

    /// Optimizer hints, which concern MySQL's optimizer.
    pub(super) fn skip_hints(&mut self) {
        while self.take_kind(crate::lexer::TokenKind::Hint).is_some() {}
    }

    /// `WHERE`
    fn selection(&mut self) -> Result<Option<Expr>> {
        match self.take_word("WHERE") {
            true => self.expr().map(Some),
            false => Ok(None),
        }
    }

    /// `[ORDER BY ...] [LIMIT n]`
    fn order_and_limit(&mut self) -> Result<(Vec<OrderByExpr>, Option<Expr>)> {
        let order_by = match self.take_words(&["ORDER", "BY"]) {
            true => self.list(Self::order_by_expr)?,
            false => Vec::new(),
        };
        let limit = match self.take_word("LIMIT") {
            true => Some(self.limit_value()?),
            false => None,
        };
        Ok((order_by, limit))
    }

    /// `RETURNING ...`
    pub(super) fn returning(&mut self) -> Result<Returning> {
        if !self.take_word("RETURNING") {
            return Ok(Vec::new());
        }
        let mut first = true;
        self.list(|parser| parser.select_item(std::mem::take(&mut first)))
    }

    /// `column = value`, also with `:=`.
    pub(super) fn column_assignment(&mut self) -> Result<Assignment> {
        let mut column = vec![self.name_text()?];
        while column.len() < 3 && self.take_symbol(".") {
            column.push(self.any_name_text()?);
        }
        if !self.take_symbol("=") {
            self.expect_symbol(":=")?;
        }
        let value = match self.is_word("DEFAULT") && !self.is_symbol_at(1, "(") {
            true => {
                self.advance();
                Assigned::Default
            }
            false => Assigned::Expression(Box::new(self.expr()?)),
        };
        Ok(Assignment { column, value })
    }

    /// A name after a dot.
    pub(super) fn any_name_text(&mut self) -> Result<String> {
        let name = self.peek().and_then(|token| token.name(self.sql));
        let Some(name) = name else { return self.unexpected() };
        self.advance();
        Ok(name)
    }

    /// `PARTITION (a, b)`, if it is present.
    pub(super) fn partition_names(&mut self) -> Result<Vec<String>> {
        match self.take_word("PARTITION") {
            true => self.parenthesised(Self::name_text),
            false => Ok(Vec::new()),
        }
    }
}

/// Whether these are one table and nothing else.
fn is_single(tables: &[TableWithJoins]) -> bool {
    use sqlparser::ast::TableFactor;
    matches!(tables, [only] if only.joins.is_empty()
        && matches!(only.relation, TableFactor::Table { .. }))
}
