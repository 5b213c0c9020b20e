//! Parses table references of `FROM`: tables, joins, derived tables, `JSON_TABLE`.

use sqlparser::ast::{
    DataType, Ident, Join, JoinConstraint, JoinOperator, JsonTableColumn,
    JsonTableColumnErrorHandling, JsonTableNamedColumn, JsonTableNestedColumn, ObjectName,
    TableAlias, TableAliasColumnDef, TableFactor, TableIndexHintForClause, TableIndexHintType,
    TableIndexHints, TableIndexType, TableVersion, TableWithJoins,
};

use super::cursor::{Parser, Result};
use super::expr::BITS;
use super::primary::value;
use super::words;
use crate::lexer::TokenKind;

/// Which join a join is, as MySQL's grammar tells them apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum JoinWord {
    Join,
    Inner,
    Cross,
    Straight,
    Left,
    Right,
}

impl Parser<'_> {
    /// The tables after `FROM`; none for `DUAL`.
    pub(crate) fn from(&mut self) -> Result<Vec<TableWithJoins>> {
        if self.take_word("DUAL") {
            return Ok(Vec::new());
        }
        self.list(Self::joined_table)
    }

    /// A table with everything that is joined to it.
    #[inline(never)]
    fn joined_table(&mut self) -> Result<TableWithJoins> {
        self.much_deeper(|parser| {
            let relation = parser.table_factor()?;
            let mut joins = Vec::new();
            while let Some((natural, word)) = parser.join_word()? {
                parser.join(natural, word, &mut joins)?;
            }
            Ok(TableWithJoins { relation, joins })
        })
    }

    /// Takes the words that begin a join.
    fn join_word(&mut self) -> Result<Option<(bool, JoinWord)>> {
        let natural = self.take_word("NATURAL");
        let word = if self.take_word("STRAIGHT_JOIN") {
            // MySQL has no NATURAL STRAIGHT_JOIN.
            return if natural { self.unexpected() } else { Ok(Some((false, JoinWord::Straight))) };
        } else if self.take_word("JOIN") {
            return Ok(Some((natural, JoinWord::Join)));
        } else if self.take_word("INNER") {
            JoinWord::Inner
        } else if self.is_word("CROSS") && !natural {
            self.advance();
            JoinWord::Cross
        } else if self.is_word("LEFT") || self.is_word("RIGHT") {
            let left = self.is_word("LEFT");
            self.advance();
            self.take_word("OUTER");
            if left { JoinWord::Left } else { JoinWord::Right }
        } else if natural {
            return self.unexpected();
        } else {
            return Ok(None);
        };
        self.expect_word("JOIN")?;
        Ok(Some((natural, word)))
    }

    /// Reads the right side of a join and its condition.
    #[inline(never)]
    fn join(&mut self, natural: bool, word: JoinWord, joins: &mut Vec<Join>) -> Result<()> {
        if natural {
            let relation = self.table_factor()?;
            joins.push(join(relation, word, JoinConstraint::Natural));
            return Ok(());
        }
        let relation = self.table_factor()?;
        if let Some(constraint) = self.join_constraint()? {
            joins.push(join(relation, word, constraint));
            return Ok(());
        }
        // `a JOIN b JOIN c ON x ON y`: the second join comes first when a condition for the first
        // one follows it. Without such a condition the joins are read from left to right.
        let mut inner = Vec::new();
        while inner.is_empty() || !self.is_any_word(&["ON", "USING"]) {
            let Some((natural, next)) = self.join_word()? else { break };
            self.deeper(|parser| parser.join(natural, next, &mut inner))?;
        }
        if let Some(constraint) = self.join_constraint()? {
            if inner.is_empty() {
                return self.unexpected();
            }
            let table_with_joins = Box::new(TableWithJoins { relation, joins: inner });
            let nested = TableFactor::NestedJoin { table_with_joins, alias: None };
            joins.push(join(nested, word, constraint));
            return Ok(());
        }
        if matches!(word, JoinWord::Left | JoinWord::Right) {
            return self.unexpected();
        }
        joins.push(join(relation, word, JoinConstraint::None));
        joins.append(&mut inner);
        Ok(())
    }

    fn join_constraint(&mut self) -> Result<Option<JoinConstraint>> {
        if self.take_word("ON") {
            return Ok(Some(JoinConstraint::On(self.expr()?)));
        }
        if self.take_word("USING") {
            let columns =
                self.parenthesised(|parser| Ok(ObjectName::from(vec![parser.ident()?])))?;
            return Ok(Some(JoinConstraint::Using(columns)));
        }
        Ok(None)
    }

    #[inline(never)]
    fn table_factor(&mut self) -> Result<TableFactor> {
        if self.is_symbol("(") {
            return self.parenthesised_table();
        }
        if self.is_word("LATERAL") && self.is_symbol_at(1, "(") {
            self.advance();
            return self.derived(true);
        }
        if self.is_word("JSON_TABLE") && self.is_symbol_at(1, "(") {
            return self.json_table();
        }
        if self.is_symbol("{") {
            return self.odbc_join();
        }
        self.plain_table()
    }

    /// `(query) alias`, `(a JOIN b ...)`, `(a, b)`.
    #[inline(never)]
    fn parenthesised_table(&mut self) -> Result<TableFactor> {
        let mut ahead = 0;
        while self.is_symbol_at(ahead, "(") {
            ahead += 1;
        }
        if self.begins_query(ahead) {
            // `((SELECT ...) AS a JOIN b)` is a join, `((SELECT ...) UNION ...) AS a` a query.
            if ahead == 1 || self.is_query_in_parentheses() {
                return self.derived(false);
            }
        }
        self.deeper(|parser| {
            parser.expect_symbol("(")?;
            let mut tables = parser.list(Self::joined_table)?;
            parser.expect_symbol(")")?;
            let mut first = tables.remove(0);
            for table in tables {
                // A comma within parentheses joins without a condition, from left to right.
                let relation = match table.joins.is_empty() {
                    true => table.relation,
                    false => nested(table),
                };
                first.joins.push(join(relation, JoinWord::Cross, JoinConstraint::None));
            }
            Ok(nested(first))
        })
    }

    /// Whether what follows the parenthesis that closes the second `(` goes on with a query.
    fn is_query_in_parentheses(&self) -> bool {
        let mut open = 0usize;
        let mut ahead = 1;
        while let Some(token) = self.peek_at(ahead) {
            if token.is_symbol(self.sql, "(") {
                open += 1;
            } else if token.is_symbol(self.sql, ")") {
                open = open.saturating_sub(1);
                if open == 0 {
                    let next = ahead + 1;
                    let goes_on = ["UNION", "EXCEPT", "INTERSECT", "ORDER", "LIMIT"];
                    return self.is_symbol_at(next, ")")
                        || goes_on.iter().any(|word| self.is_word_at(next, word));
                }
            }
            ahead += 1;
        }
        false
    }

    #[inline(never)]
    fn derived(&mut self, lateral: bool) -> Result<TableFactor> {
        self.expect_symbol("(")?;
        let subquery = self.query_expression()?;
        self.expect_symbol(")")?;
        let mut alias = self.table_alias()?;
        let Some(alias_) = &mut alias else { return self.derived_without_alias() };
        if self.is_symbol("(") {
            alias_.columns = self.alias_columns()?;
        }
        Ok(TableFactor::Derived { lateral, subquery, alias, sample: None })
    }

    /// `(a, b)` after the alias of a derived table or of a `WITH`.
    pub(super) fn alias_columns(&mut self) -> Result<Vec<TableAliasColumnDef>> {
        self.parenthesised(|parser| {
            Ok(TableAliasColumnDef { name: parser.ident()?, data_type: None })
        })
    }

    /// `{ OJ a LEFT JOIN b ON ... }`
    fn odbc_join(&mut self) -> Result<TableFactor> {
        self.deeper(|parser| {
            parser.expect_symbol("{")?;
            parser.expect_word("OJ")?;
            let table = parser.joined_table()?;
            parser.expect_symbol("}")?;
            Ok(nested(table))
        })
    }

    #[inline(never)]
    pub(crate) fn plain_table(&mut self) -> Result<TableFactor> {
        let name = self.object_name()?;
        let partitions = match self.is_word("PARTITION") && self.is_symbol_at(1, "(") {
            true => {
                self.advance();
                self.parenthesised(Self::ident)?
            }
            false => Vec::new(),
        };
        if self.is_symbol("(") || self.is_symbol("@") {
            return self.unexpected();
        }
        let mut version = self.table_version()?;
        let alias = self.table_alias()?;
        let mut index_hints = Vec::new();
        while self.is_any_word(&["USE", "FORCE", "IGNORE"]) {
            index_hints.push(self.index_hint()?);
        }
        // The printer puts the version here.
        if version.is_none() {
            version = self.table_version()?;
        }
        Ok(TableFactor::Table {
            name,
            alias,
            args: None,
            with_hints: Vec::new(),
            version,
            with_ordinality: false,
            partitions,
            json_path: None,
            sample: None,
            index_hints,
        })
    }

    /// `FOR SYSTEM_TIME AS OF [TIMESTAMP] x`, `FOR SYSTEM_TIME AS OF VERSION n`, which is printed as
    /// `VERSION AS OF n`.
    #[inline(never)]
    fn table_version(&mut self) -> Result<Option<TableVersion>> {
        if !(self.is_word("FOR") && self.is_word_at(1, "SYSTEM_TIME")) {
            if !self.versions || !self.take_words(&["VERSION", "AS", "OF"]) {
                return Ok(None);
            }
            return Ok(Some(TableVersion::VersionAsOf(self.expr_of(BITS)?)));
        }
        if !self.versions {
            return self.unsupported("FOR SYSTEM_TIME");
        }
        self.advance();
        self.advance();
        if !self.take_words(&["AS", "OF"]) {
            return self.unsupported("this FOR SYSTEM_TIME");
        }
        if self.take_word("VERSION") {
            return Ok(Some(TableVersion::VersionAsOf(self.expr_of(BITS)?)));
        }
        // `TIMESTAMP 'x'` is an operand; `TIMESTAMP(x)` a call.
        let operand = self
            .peek_at(1)
            .is_some_and(|next| next.kind == TokenKind::Text || next.is_symbol(self.sql, "("));
        if !operand {
            self.take_word("TIMESTAMP");
        }
        Ok(Some(TableVersion::ForSystemTimeAsOf(self.expr_of(BITS)?)))
    }

    /// `[AS] name`
    fn table_alias(&mut self) -> Result<Option<TableAlias>> {
        let explicit = self.take_word("AS");
        let is_alias = explicit
            || self.peek().is_some_and(|token| match token.kind {
                TokenKind::Quoted => true,
                TokenKind::Word => !words::is_reserved_for_alias(self.text(token)),
                _ => false,
            });
        if !is_alias {
            return Ok(None);
        }
        let name = self.ident()?;
        Ok(Some(TableAlias { explicit, name, columns: Vec::new(), at: None }))
    }

    /// `USE INDEX [FOR JOIN | ORDER BY | GROUP BY] (a, b)`
    fn index_hint(&mut self) -> Result<TableIndexHints> {
        let hint_type = if self.take_word("USE") {
            TableIndexHintType::Use
        } else if self.take_word("FORCE") {
            TableIndexHintType::Force
        } else {
            self.expect_word("IGNORE")?;
            TableIndexHintType::Ignore
        };
        let index_type = if self.take_word("INDEX") {
            TableIndexType::Index
        } else {
            self.expect_word("KEY")?;
            TableIndexType::Key
        };
        let for_clause = if !self.take_word("FOR") {
            None
        } else if self.take_word("JOIN") {
            Some(TableIndexHintForClause::Join)
        } else if self.take_words(&["ORDER", "BY"]) {
            Some(TableIndexHintForClause::OrderBy)
        } else if self.take_words(&["GROUP", "BY"]) {
            Some(TableIndexHintForClause::GroupBy)
        } else {
            return self.unexpected();
        };
        self.expect_symbol("(")?;
        let index_names = match self.is_symbol(")") {
            true => Vec::new(),
            false => self.list(|parser| match parser.is_word("PRIMARY") {
                true => parser.any_word(),
                false => parser.ident(),
            })?,
        };
        self.expect_symbol(")")?;
        Ok(TableIndexHints { hint_type, index_type, for_clause, index_names })
    }

    /// `JSON_TABLE(expr, path COLUMNS (...)) AS alias`
    #[inline(never)]
    fn json_table(&mut self) -> Result<TableFactor> {
        self.advance();
        self.expect_symbol("(")?;
        let json_expr = self.expr()?;
        self.expect_symbol(",")?;
        let json_path = value(self.string()?);
        self.expect_word("COLUMNS")?;
        let columns = self.parenthesised(Self::json_column)?;
        self.expect_symbol(")")?;
        let alias = self.table_alias()?;
        if alias.is_none() {
            return self.unexpected();
        }
        Ok(TableFactor::JsonTable { json_expr, json_path, columns, alias })
    }

    #[inline(never)]
    fn json_column(&mut self) -> Result<JsonTableColumn> {
        if self.take_word("NESTED") {
            self.take_word("PATH");
            let path = value(self.string()?);
            self.expect_word("COLUMNS")?;
            let columns = self.deeper(|parser| parser.parenthesised(Self::json_column))?;
            return Ok(JsonTableColumn::Nested(JsonTableNestedColumn { path, columns }));
        }
        let name = self.ident()?;
        if self.take_words(&["FOR", "ORDINALITY"]) {
            return Ok(JsonTableColumn::ForOrdinality(name));
        }
        let r#type = self.column_type()?;
        let exists = self.take_word("EXISTS");
        self.expect_word("PATH")?;
        let path = value(self.string()?);
        let (mut on_empty, mut on_error) = (None, None);
        while on_error.is_none() && self.is_any_word(&["NULL", "ERROR", "DEFAULT"]) {
            let handling = self.json_handling()?;
            self.expect_word("ON")?;
            if on_empty.is_none() && self.take_word("EMPTY") {
                on_empty = Some(handling);
            } else {
                self.expect_word("ERROR")?;
                on_error = Some(handling);
            }
        }
        Ok(JsonTableColumn::Named(JsonTableNamedColumn {
            name,
            r#type,
            path,
            exists,
            on_empty,
            on_error,
        }))
    }

    fn json_handling(&mut self) -> Result<JsonTableColumnErrorHandling> {
        if self.take_word("NULL") {
            Ok(JsonTableColumnErrorHandling::Null)
        } else if self.take_word("ERROR") {
            Ok(JsonTableColumnErrorHandling::Error)
        } else {
            self.expect_word("DEFAULT")?;
            Ok(JsonTableColumnErrorHandling::Default(value(self.string()?)))
        }
    }

    /// A column type as text: words and parentheses up to `EXISTS` or `PATH`.
    fn column_type(&mut self) -> Result<DataType> {
        let mut text = String::new();
        while !self.is_any_word(&["EXISTS", "PATH"]) {
            if let Some(token) = self.take_kind(TokenKind::Word) {
                if !text.is_empty() {
                    text.push(' ');
                }
                text.push_str(&self.text(token).to_ascii_uppercase());
            } else if self.is_symbol("(") {
                let numbers = self.parenthesised(Self::integer)?;
                let numbers: Vec<String> = numbers.iter().map(u64::to_string).collect();
                text.push_str(&format!("({})", numbers.join(",")));
            } else {
                return self.unexpected();
            }
        }
        if text.is_empty() {
            return self.unexpected();
        }
        Ok(DataType::Custom(ObjectName::from(vec![Ident::new(text)]), Vec::new()))
    }
}

fn nested(table: TableWithJoins) -> TableFactor {
    TableFactor::NestedJoin { table_with_joins: Box::new(table), alias: None }
}

fn join(relation: TableFactor, word: JoinWord, constraint: JoinConstraint) -> Join {
    let join_operator = match word {
        JoinWord::Join => JoinOperator::Join(constraint),
        JoinWord::Inner => JoinOperator::Inner(constraint),
        JoinWord::Cross => JoinOperator::CrossJoin(constraint),
        JoinWord::Straight => JoinOperator::StraightJoin(constraint),
        JoinWord::Left => JoinOperator::Left(constraint),
        JoinWord::Right => JoinOperator::Right(constraint),
    };
    Join { relation, global: false, join_operator }
}
