//! Parses column definitions with their attributes.

use sqlparser::ast::{Expr, UnaryOperator};

use super::definition::{
    Base, CheckDefinition, ColumnDefault, ColumnDefinition, Expression, Generated, TableOption,
    TypeName,
};
use crate::lexer::TokenKind;
use crate::parse::cursor::{Parser, Result};

impl ColumnDefinition {
    /// A column of a type, without attributes.
    pub fn new(name: String, data_type: TypeName) -> Self {
        Self {
            name,
            data_type,
            nullable: None,
            default: None,
            on_update: None,
            auto_increment: false,
            unique: false,
            primary: false,
            comment: None,
            invisible: false,
            generated: None,
            checks: Vec::new(),
            references: None,
            srid: None,
            options: Vec::new(),
        }
    }
}

impl Parser<'_> {
    /// `name type attributes`
    pub(super) fn column_definition(&mut self) -> Result<ColumnDefinition> {
        let name = self.name_text()?;
        if self.take_word("SERIAL") {
            let mut column = ColumnDefinition::new(name, TypeName::new(Base::BigInt));
            column.data_type.unsigned = true;
            serial(&mut column);
            self.column_attributes(&mut column)?;
            return Ok(column);
        }
        let data_type = self.type_name(&name)?;
        let mut column = ColumnDefinition::new(name, data_type);
        self.column_attributes(&mut column)?;
        Ok(column)
    }

    fn column_attributes(&mut self, column: &mut ColumnDefinition) -> Result<()> {
        while self.column_attribute(column)? {}
        Ok(())
    }

    /// Parses one attribute; `false` at another token.
    fn column_attribute(&mut self, column: &mut ColumnDefinition) -> Result<bool> {
        if self.take_words(&["NOT", "NULL"]) {
            column.nullable = Some(false);
        } else if self.take_words(&["NOT", "SECONDARY"]) {
            // Secondary engines do not load it; there are none here.
        } else if self.take_word("NULL") {
            column.nullable = Some(true);
        } else if self.take_word("DEFAULT") {
            column.default = Some(self.column_default()?);
        } else if self.take_words(&["NO", "DEFAULT"]) {
            column.default = Some(ColumnDefault::Dropped);
        } else if self.take_words(&["ON", "UPDATE"]) {
            let Some(digits) = self.current_timestamp()? else { return self.unexpected() };
            column.on_update = Some(digits);
        } else if self.take_word("AUTO_INCREMENT") {
            column.auto_increment = true;
        } else if self.take_words(&["SERIAL", "DEFAULT", "VALUE"]) {
            serial(column);
        } else if self.take_word("UNIQUE") {
            self.take_word("KEY");
            column.unique = true;
        } else if self.take_word("PRIMARY") {
            self.expect_word("KEY")?;
            column.primary = true;
        } else if self.take_word("KEY") {
            column.primary = true;
        } else if self.take_word("COMMENT") {
            column.comment = Some(self.string_value()?);
        } else if self.take_word("COLLATE") {
            column.data_type.collation = Some(self.charset_text()?);
        } else if self.take_word("VISIBLE") {
            column.invisible = false;
        } else if self.take_word("INVISIBLE") {
            column.invisible = true;
        } else if self.is_word("GENERATED") || self.is_word("AS") {
            column.generated = Some(self.generated()?);
        } else if self.take_word("REFERENCES") {
            column.references = Some(self.reference()?);
        } else if self.is_word("CHECK") || self.is_word("CONSTRAINT") {
            column.checks.push(self.column_check()?);
        } else if self.take_word("SRID") {
            column.srid = Some(self.integer_of_32_bits()?);
        } else if let Some(option) = self.column_option()? {
            column.options.push(option);
        } else {
            return Ok(false);
        }
        Ok(true)
    }

    fn column_option(&mut self) -> Result<Option<TableOption>> {
        let words = ["COLUMN_FORMAT", "STORAGE", "ENGINE_ATTRIBUTE", "SECONDARY_ENGINE_ATTRIBUTE"];
        if !self.is_any_word(&words) {
            return Ok(None);
        }
        let name = self.any_word()?.value.to_ascii_uppercase();
        self.option_of(name).map(Some)
    }

    /// The part after `DEFAULT`.
    pub(super) fn column_default(&mut self) -> Result<ColumnDefault> {
        if let Some(digits) = self.current_timestamp()? {
            return Ok(ColumnDefault::CurrentTimestamp(digits));
        }
        if self.is_symbol("(") {
            return self.expression_in_parentheses().map(ColumnDefault::Expression);
        }
        let position = self.position();
        if self.peek().is_some_and(|token| token.kind == TokenKind::Word)
            && self.is_symbol_at(1, "(")
        {
            // MariaDB takes and shows calls of functions without parentheses around them.
            let tree = Box::new(self.primary()?);
            return Ok(ColumnDefault::Expression(Expression {
                text: self.plain_since(position),
                tree,
            }));
        }
        let sign = match () {
            () if self.take_symbol("-") => Some(UnaryOperator::Minus),
            () if self.take_symbol("+") => Some(UnaryOperator::Plus),
            () => None,
        };
        let Some(token) = self.peek() else { return self.unexpected() };
        let literal = match token.kind {
            TokenKind::Integer | TokenKind::Decimal | TokenKind::Float => true,
            _ if sign.is_some() => false,
            TokenKind::Text | TokenKind::National | TokenKind::Introducer => true,
            TokenKind::Hex | TokenKind::Bits => true,
            TokenKind::Word if self.is_any_word(&["NULL", "TRUE", "FALSE"]) => true,
            TokenKind::Word if self.is_any_word(&["DATE", "TIME", "TIMESTAMP"]) => {
                self.peek_at(1).is_some_and(|next| next.kind == TokenKind::Text)
            }
            _ => false,
        };
        if !literal {
            return self.unexpected();
        }
        let operand = self.primary()?;
        let tree = match sign {
            Some(op) => Expr::UnaryOp { op, expr: Box::new(operand) },
            None => operand,
        };
        Ok(ColumnDefault::Literal(Expression {
            text: self.plain_since(position),
            tree: Box::new(tree),
        }))
    }

    /// `CURRENT_TIMESTAMP[(n)]`, `NOW([n])` and their synonyms: the digits after the seconds.
    fn current_timestamp(&mut self) -> Result<Option<u32>> {
        let words = ["CURRENT_TIMESTAMP", "NOW", "LOCALTIME", "LOCALTIMESTAMP"];
        if !self.is_any_word(&words) {
            return Ok(None);
        }
        let call = self.is_word("NOW");
        self.advance();
        if !self.take_symbol("(") {
            return if call { self.unexpected() } else { Ok(Some(0)) };
        }
        let digits = if self.is_symbol(")") { 0 } else { self.integer_of_32_bits()? };
        self.expect_symbol(")")?;
        Ok(Some(digits))
    }

    /// `[GENERATED ALWAYS] AS (expr) [VIRTUAL | STORED]`
    fn generated(&mut self) -> Result<Generated> {
        if self.take_word("GENERATED") {
            self.expect_word("ALWAYS")?;
        }
        self.expect_word("AS")?;
        let expression = self.expression_in_parentheses()?;
        let stored = self.take_word("STORED") || self.take_word("PERSISTENT");
        if !stored {
            self.take_word("VIRTUAL");
        }
        Ok(Generated { expression, stored })
    }

    fn column_check(&mut self) -> Result<CheckDefinition> {
        let name = self.constraint_name()?.flatten();
        self.expect_word("CHECK")?;
        self.check_behind(name)
    }

    /// An expression with its text.
    pub(super) fn expression(&mut self) -> Result<Expression> {
        let position = self.position();
        let tree = self.expr()?;
        Ok(Expression { text: self.plain_since(position), tree: Box::new(tree) })
    }

    /// `(expr)` without the parentheses.
    pub(super) fn expression_in_parentheses(&mut self) -> Result<Expression> {
        self.expect_symbol("(")?;
        let expression = self.expression()?;
        self.expect_symbol(")")?;
        Ok(expression)
    }

    /// The text from a position to here, with a blank between tokens for any white space or
    /// comment.
    pub(crate) fn plain_since(&self, position: usize) -> String {
        let mut out = String::new();
        let mut end = None;
        for token in self.since(position) {
            if end.is_some_and(|end| end < token.start) {
                out.push(' ');
            }
            out.push_str(token.text(self.sql));
            end = Some(token.end);
        }
        out
    }
}

/// `SERIAL DEFAULT VALUE`
fn serial(column: &mut ColumnDefinition) {
    column.nullable = Some(false);
    column.auto_increment = true;
    column.unique = true;
}
