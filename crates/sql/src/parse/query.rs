//! Parses queries: `WITH`, set operations, `SELECT` with its clauses, `ORDER BY`, `LIMIT`, locking
//! clauses.

use sqlparser::ast::helpers::attached_token::AttachedToken;
use sqlparser::ast::{
    Cte, Distinct, Expr, GroupByExpr, GroupByWithModifier, Ident, LimitClause, LockClause,
    LockType, NonBlock, ObjectName, ObjectNamePart, Offset, OffsetRows, OptimizerHint,
    OptimizerHintStyle, OrderBy, OrderByExpr, OrderByKind, OrderByOptions, OrderBySort, Parens,
    Query, Select, SelectFlavor, SelectItem, SelectItemQualifiedWildcardKind, SelectModifiers,
    SetExpr, SetOperator, SetQuantifier, TableAlias, Values, WildcardAdditionalOptions, With,
};
use sqlparser::tokenizer::{Location, Span, Token as AstToken, TokenWithSpan};

use super::cursor::{Parser, Result};
use super::words;
use crate::column_names;
use crate::lexer::TokenKind;

/// How tightly set operations bind: `INTERSECT` before the others.
const UNION: u8 = 1;
const INTERSECT: u8 = 2;

/// How many common table expressions a `WITH` may define.
const MAX_DEFINITIONS: usize = 1024;

impl Parser<'_> {
    /// A query with all its clauses, as in a statement or in parentheses.
    #[inline(never)]
    pub(crate) fn query_expression(&mut self) -> Result<Box<Query>> {
        self.much_deeper(|parser| {
            let with = match parser.is_word("WITH") {
                true => Some(parser.with()?),
                false => None,
            };
            let body = parser.set_expr(UNION)?;
            parser.finish_query(with, body)
        })
    }

    /// Whether the next token continues the query before it.
    pub(super) fn continues_query(&self) -> bool {
        self.is_any_word(&["UNION", "EXCEPT", "INTERSECT", "ORDER", "LIMIT"])
    }

    /// Goes on after a query in parentheses.
    pub(super) fn query_behind(&mut self, first: Box<Query>) -> Result<Box<Query>> {
        let body = self.set_operations(Box::new(SetExpr::Query(first)), UNION)?;
        self.finish_query(None, body)
    }

    #[inline(never)]
    fn finish_query(&mut self, with: Option<With>, body: Box<SetExpr>) -> Result<Box<Query>> {
        let order_by = match self.take_words(&["ORDER", "BY"]) {
            true => Some(OrderBy {
                kind: OrderByKind::Expressions(self.list(Self::order_by_expr)?),
                interpolate: None,
            }),
            false => None,
        };
        let limit_clause = self.limit()?;
        if self.is_word("INTO") {
            return self.unsupported("INTO in a query");
        }
        if self.is_word("PROCEDURE") {
            return self.unsupported("PROCEDURE in a query");
        }
        let locks = self.locks()?;
        if self.is_word("INTO") {
            return self.unsupported("INTO in a query");
        }
        Ok(Box::new(Query {
            with,
            body,
            order_by,
            limit_clause,
            fetch: None,
            locks,
            for_clause: None,
            settings: None,
            format_clause: None,
            pipe_operators: Vec::new(),
        }))
    }

    #[inline(never)]
    pub(crate) fn with(&mut self) -> Result<With> {
        self.expect_word("WITH")?;
        let recursive = self.take_word("RECURSIVE");
        let cte_tables = self.list(|parser| {
            let name = parser.ident()?;
            let columns = match parser.is_symbol("(") {
                true => parser.alias_columns()?,
                false => Vec::new(),
            };
            parser.expect_word("AS")?;
            parser.expect_symbol("(")?;
            let query = parser.query_expression()?;
            parser.expect_symbol(")")?;
            if parser.is_word("CYCLE") {
                return parser.unsupported("CYCLE in WITH RECURSIVE");
            }
            Ok(Cte {
                alias: TableAlias { explicit: false, name, columns, at: None },
                query,
                from: None,
                materialized: None,
                closing_paren_token: AttachedToken::empty(),
            })
        })?;
        if cte_tables.len() > MAX_DEFINITIONS {
            return self.unsupported("so many common table expressions");
        }
        Ok(With { with_token: AttachedToken::empty(), recursive, cte_tables })
    }

    #[inline(never)]
    fn set_expr(&mut self, min: u8) -> Result<Box<SetExpr>> {
        let first = self.query_primary()?;
        self.set_operations(first, min)
    }

    #[inline(never)]
    fn set_operations(&mut self, first: Box<SetExpr>, min: u8) -> Result<Box<SetExpr>> {
        let mut left = first;
        let mut count = 0;
        loop {
            let (op, precedence) = if self.is_word("UNION") {
                (SetOperator::Union, UNION)
            } else if self.is_word("EXCEPT") {
                (SetOperator::Except, UNION)
            } else if self.is_word("INTERSECT") {
                (SetOperator::Intersect, INTERSECT)
            } else {
                return Ok(left);
            };
            if precedence < min {
                return Ok(left);
            }
            self.advance();
            let set_quantifier = if self.take_word("ALL") {
                SetQuantifier::All
            } else if self.take_word("DISTINCT") {
                SetQuantifier::Distinct
            } else {
                SetQuantifier::None
            };
            count += 1;
            if count > super::MAX_DEPTH {
                return self.unsupported("so many set operations");
            }
            let right = self.deeper(|parser| parser.set_expr(precedence + 1))?;
            left = Box::new(SetExpr::SetOperation { op, set_quantifier, left, right });
        }
    }

    #[inline(never)]
    fn query_primary(&mut self) -> Result<Box<SetExpr>> {
        if self.take_symbol("(") {
            let query = self.query_expression()?;
            self.expect_symbol(")")?;
            return Ok(Box::new(SetExpr::Query(query)));
        }
        if self.is_word("VALUES") {
            return self.values();
        }
        if self.take_word("TABLE") {
            return self.table_statement();
        }
        Ok(Box::new(SetExpr::Select(self.select()?)))
    }

    /// `VALUES ROW(1, 2), ROW(3, 4)`
    #[inline(never)]
    fn values(&mut self) -> Result<Box<SetExpr>> {
        self.expect_word("VALUES")?;
        let rows = self.list(|parser| {
            parser.expect_word("ROW")?;
            let content = parser.parenthesised(Self::expr)?;
            Ok(Parens {
                opening_token: AttachedToken::empty(),
                content,
                closing_token: AttachedToken::empty(),
            })
        })?;
        Ok(Box::new(SetExpr::Values(Values { explicit_row: true, value_keyword: false, rows })))
    }

    /// `TABLE t` as `SELECT * FROM t`.
    #[inline(never)]
    fn table_statement(&mut self) -> Result<Box<SetExpr>> {
        let block = self.begin_block();
        let name = self.object_name()?;
        let table = sqlparser::ast::TableFactor::Table {
            name,
            alias: None,
            args: None,
            with_hints: Vec::new(),
            version: None,
            with_ordinality: false,
            partitions: Vec::new(),
            json_path: None,
            sample: None,
            index_hints: Vec::new(),
        };
        let table = sqlparser::ast::TableWithJoins { relation: table, joins: Vec::new() };
        let everything = SelectItem::Wildcard(WildcardAdditionalOptions::default());
        self.names[block] = vec![None];
        let mut select = empty_select(block);
        select.projection = vec![everything];
        select.from = vec![table];
        Ok(Box::new(SetExpr::Select(Box::new(select))))
    }

    /// Makes room for the names of another `SELECT`.
    fn begin_block(&mut self) -> usize {
        self.names.push(Vec::new());
        self.names.len() - 1
    }

    #[inline(never)]
    fn select(&mut self) -> Result<Box<Select>> {
        self.expect_word("SELECT")?;
        let block = self.begin_block();
        let mut select = Box::new(empty_select(block));
        while let Some(token) = self.take_kind(TokenKind::Hint) {
            let text = self.text(token);
            let text = text.get(3..text.len().saturating_sub(2)).unwrap_or_default().to_owned();
            let style = OptimizerHintStyle::MultiLine;
            select.optimizer_hints.push(OptimizerHint { prefix: String::new(), text, style });
        }
        self.select_options(&mut select)?;
        let mut first = true;
        let mut names = Vec::new();
        select.projection = self.list(|parser| {
            let (item, name) = parser.select_item(std::mem::take(&mut first))?;
            names.push(name);
            Ok(item)
        })?;
        self.names[block] = names;
        if self.is_word("INTO") {
            return self.unsupported("INTO in a query");
        }
        if self.take_word("FROM") {
            select.from = self.from()?;
        }
        self.clauses(&mut select)?;
        Ok(select)
    }

    fn select_options(&mut self, select: &mut Select) -> Result<()> {
        let mut modifiers = SelectModifiers::default();
        let mut any = false;
        loop {
            if self.take_word("ALL") {
                if select.distinct.replace(Distinct::All).is_some() {
                    return self.unexpected();
                }
                continue;
            }
            if self.take_word("DISTINCT") || self.take_word("DISTINCTROW") {
                if select.distinct == Some(Distinct::All) {
                    return self.unexpected();
                }
                select.distinct = Some(Distinct::Distinct);
                continue;
            }
            let flag = if self.take_word("HIGH_PRIORITY") {
                &mut modifiers.high_priority
            } else if self.take_word("STRAIGHT_JOIN") {
                &mut modifiers.straight_join
            } else if self.take_word("SQL_SMALL_RESULT") {
                &mut modifiers.sql_small_result
            } else if self.take_word("SQL_BIG_RESULT") {
                &mut modifiers.sql_big_result
            } else if self.take_word("SQL_BUFFER_RESULT") {
                &mut modifiers.sql_buffer_result
            } else if self.take_word("SQL_NO_CACHE") {
                &mut modifiers.sql_no_cache
            } else if self.take_word("SQL_CALC_FOUND_ROWS") {
                &mut modifiers.sql_calc_found_rows
            } else {
                break;
            };
            *flag = true;
            any = true;
        }
        if any {
            select.select_modifiers = Some(modifiers);
        }
        Ok(())
    }

    /// An item of the select list with its name, which `*` does not have.
    #[inline(never)]
    pub(crate) fn select_item(&mut self, first: bool) -> Result<(SelectItem, Option<String>)> {
        if self.is_symbol("*") {
            // MySQL takes a bare `*` only in front.
            if !first {
                return self.unexpected();
            }
            self.advance();
            return Ok((SelectItem::Wildcard(WildcardAdditionalOptions::default()), None));
        }
        if let Some(name) = self.qualified_wildcard()? {
            let kind = SelectItemQualifiedWildcardKind::ObjectName(name);
            let options = WildcardAdditionalOptions::default();
            return Ok((SelectItem::QualifiedWildcard(kind, options), None));
        }
        let start = self.position();
        let expr = self.expr()?;
        let source = column_names::source(self.sql, self.since(start));
        if let Some(alias) = self.select_alias()? {
            let name = column_names::of_alias(&alias.value);
            return Ok((SelectItem::ExprWithAlias { expr, alias }, Some(name)));
        }
        let first_string = self
            .since(start)
            .iter()
            .find(|token| matches!(token.kind, TokenKind::Text | TokenKind::National));
        let first_string = first_string.map(|token| self.text(*token));
        let name = column_names::of_expression(&expr, &source, first_string, self.mode);
        Ok((SelectItem::UnnamedExpr(expr), Some(name)))
    }

    /// `t.*` or `d.t.*`
    fn qualified_wildcard(&mut self) -> Result<Option<ObjectName>> {
        let parts = if self.is_symbol_at(1, ".") && self.is_symbol_at(2, "*") {
            1
        } else if self.is_symbol_at(1, ".")
            && self.is_symbol_at(3, ".")
            && self.is_symbol_at(4, "*")
        {
            2
        } else {
            return Ok(None);
        };
        let mut name = vec![ObjectNamePart::Identifier(self.ident()?)];
        self.expect_symbol(".")?;
        if parts == 2 {
            name.push(ObjectNamePart::Identifier(self.any_ident()?));
            self.expect_symbol(".")?;
        }
        self.expect_symbol("*")?;
        Ok(Some(ObjectName(name)))
    }

    /// `[AS] name` or `[AS] 'name'`
    fn select_alias(&mut self) -> Result<Option<Ident>> {
        let explicit = self.take_word("AS");
        let Some(token) = self.peek() else {
            return if explicit { self.unexpected() } else { Ok(None) };
        };
        // Blanks in front of an alias are not part of it.
        match token.kind {
            TokenKind::Text => {
                self.advance();
                let name = crate::literal::text_of_token(self.text(token), self.mode);
                self.quoted_ident(column_names::of_alias(&name)).map(Some)
            }
            TokenKind::Quoted => {
                let name = self.ident()?.value;
                self.quoted_ident(column_names::of_alias(&name)).map(Some)
            }
            TokenKind::Word if explicit || !words::is_reserved_for_alias(self.text(token)) => {
                self.ident().map(Some)
            }
            _ if explicit => self.unexpected(),
            _ => Ok(None),
        }
    }

    #[inline(never)]
    fn clauses(&mut self, select: &mut Select) -> Result<()> {
        if self.take_word("WHERE") {
            select.selection = Some(self.expr()?);
        }
        if self.take_words(&["GROUP", "BY"]) {
            let keys = self.list(Self::expr)?;
            if self.is_any_word(&["ASC", "DESC"]) {
                return self.unsupported("an order in GROUP BY");
            }
            let modifiers = match self.take_words(&["WITH", "ROLLUP"]) {
                true => vec![GroupByWithModifier::Rollup],
                false => Vec::new(),
            };
            select.group_by = GroupByExpr::Expressions(keys, modifiers);
        }
        if self.take_word("HAVING") {
            select.having = Some(self.expr()?);
        }
        if self.take_word("WINDOW") {
            select.named_window = self.list(Self::named_window)?;
        }
        Ok(())
    }

    /// An expression with its order.
    pub(crate) fn order_by_expr(&mut self) -> Result<OrderByExpr> {
        let expr = self.expr()?;
        let sort = if self.take_word("ASC") {
            Some(OrderBySort::Asc)
        } else if self.take_word("DESC") {
            Some(OrderBySort::Desc)
        } else {
            None
        };
        let options = OrderByOptions { sort, nulls_first: None };
        Ok(OrderByExpr { expr, options, with_fill: None })
    }

    fn limit(&mut self) -> Result<Option<LimitClause>> {
        if !self.take_word("LIMIT") {
            return Ok(None);
        }
        let first = self.limit_value()?;
        Ok(Some(if self.take_symbol(",") {
            LimitClause::OffsetCommaLimit { offset: first, limit: self.limit_value()? }
        } else {
            let offset = match self.take_word("OFFSET") {
                true => Some(Offset { value: self.limit_value()?, rows: OffsetRows::None }),
                false => None,
            };
            if self.is_word("ROWS") {
                return self.unsupported("LIMIT ROWS EXAMINED");
            }
            LimitClause::LimitOffset { limit: Some(first), offset, limit_by: Vec::new() }
        }))
    }

    /// A number or a `?`.
    pub(crate) fn limit_value(&mut self) -> Result<Expr> {
        match self.peek().map(|token| token.kind) {
            Some(TokenKind::Integer | TokenKind::Placeholder) => self.primary(),
            _ => self.unexpected(),
        }
    }

    fn locks(&mut self) -> Result<Vec<LockClause>> {
        let mut locks = Vec::new();
        loop {
            if self.take_words(&["LOCK", "IN", "SHARE", "MODE"]) {
                locks.push(LockClause { lock_type: LockType::Share, of: None, nonblock: None });
                continue;
            }
            let lock_type = if self.take_words(&["FOR", "UPDATE"]) {
                LockType::Update
            } else if self.take_words(&["FOR", "SHARE"]) {
                LockType::Share
            } else {
                return Ok(locks);
            };
            let of = match self.take_word("OF") {
                true => Some(self.object_name()?),
                false => None,
            };
            if self.is_symbol(",") || self.is_word("WAIT") {
                return self.unsupported("this lock");
            }
            let nonblock = if self.take_word("NOWAIT") {
                Some(NonBlock::Nowait)
            } else {
                self.take_words(&["SKIP", "LOCKED"]).then_some(NonBlock::SkipLocked)
            };
            locks.push(LockClause { lock_type, of, nonblock });
        }
    }
}

/// A `SELECT` of nothing. Its first token carries which block of the source it is.
fn empty_select(block: usize) -> Select {
    let at = Location::new(0, u64::try_from(block).unwrap_or(u64::MAX).saturating_add(1));
    let token = TokenWithSpan::new(AstToken::EOF, Span::new(at, at));
    Select {
        select_token: AttachedToken(token),
        optimizer_hints: Vec::new(),
        distinct: None,
        select_modifiers: None,
        top: None,
        top_before_distinct: false,
        projection: Vec::new(),
        exclude: None,
        into: None,
        from: Vec::new(),
        lateral_views: Vec::new(),
        prewhere: None,
        selection: None,
        connect_by: Vec::new(),
        group_by: GroupByExpr::Expressions(Vec::new(), Vec::new()),
        cluster_by: Vec::new(),
        distribute_by: Vec::new(),
        sort_by: Vec::new(),
        having: None,
        named_window: Vec::new(),
        qualify: None,
        window_before_qualify: false,
        value_table_mode: None,
        flavor: SelectFlavor::Standard,
    }
}
