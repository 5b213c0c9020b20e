//! Parses operands: literals, names, variables, parentheses, `CASE`, `INTERVAL`.

use sqlparser::ast::helpers::attached_token::AttachedToken;
use sqlparser::ast::{
    BinaryOperator, CaseWhen, DataType, DateTimeField, Expr, Ident, Interval, ObjectName,
    TimezoneInfo, TypedString, Value, ValueWithSpan,
};

use super::cursor::{Parser, Result};
use super::expr::{OR, SIGN, binary};
use super::words;
use crate::Mode;
use crate::lexer::TokenKind;

/// Functions without parentheses.
const BARE: [&str; 9] = [
    "CURRENT_DATE",
    "CURRENT_TIME",
    "CURRENT_TIMESTAMP",
    "CURRENT_USER",
    "LOCALTIME",
    "LOCALTIMESTAMP",
    "UTC_DATE",
    "UTC_TIME",
    "UTC_TIMESTAMP",
];

/// Reserved words that are functions when a parenthesis follows.
const RESERVED_FUNCTIONS: [&str; 24] = [
    "CHAR",
    "CURRENT_DATE",
    "CURRENT_TIME",
    "CURRENT_TIMESTAMP",
    "CURRENT_USER",
    "DATABASE",
    "DEFAULT",
    "IF",
    "INSERT",
    "INTERVAL",
    "LEFT",
    "LOCALTIME",
    "LOCALTIMESTAMP",
    "MATCH",
    "MOD",
    "REPEAT",
    "REPLACE",
    "RIGHT",
    "SCHEMA",
    "SCHEMAS",
    "UTC_DATE",
    "UTC_TIME",
    "UTC_TIMESTAMP",
    "VALUES",
];

pub(super) fn value(value: Value) -> ValueWithSpan {
    value.with_empty_span()
}

impl Parser<'_> {
    /// An operand without signs.
    #[inline(never)]
    pub(crate) fn primary(&mut self) -> Result<Expr> {
        let Some(token) = self.peek() else { return self.unexpected() };
        let text = self.text(token);
        match token.kind {
            TokenKind::Text
            | TokenKind::National
            | TokenKind::Hex
            | TokenKind::Bits
            | TokenKind::Integer
            | TokenKind::Decimal
            | TokenKind::Float => Ok(Expr::Value(self.literal()?)),
            TokenKind::Introducer => self.introduced(),
            TokenKind::Placeholder => {
                self.advance();
                Ok(Expr::Value(value(Value::Placeholder("?".to_owned()))))
            }
            TokenKind::UserVariable => self.user_variable(),
            TokenKind::SystemVariable => {
                self.advance();
                Ok(Expr::Identifier(Ident::new(text)))
            }
            TokenKind::Symbol if text == "(" => self.parentheses(),
            TokenKind::Symbol if text == "{" => self.odbc(),
            TokenKind::Quoted => self.column(),
            TokenKind::Word => self.word(text),
            _ => self.unexpected(),
        }
    }

    /// A literal; strings side by side become one.
    pub(super) fn literal(&mut self) -> Result<ValueWithSpan> {
        let Some(token) = self.peek() else { return self.unexpected() };
        let text = self.text(token);
        let found = match token.kind {
            TokenKind::Text => return self.string().map(value),
            TokenKind::National => {
                self.advance();
                let first = text.get(1..).unwrap_or_default();
                let rest = self.more_strings();
                Value::NationalStringLiteral(single_quoted(first, self.mode) + &rest)
            }
            TokenKind::Hex if text.starts_with("0x") => Value::Number(text.to_owned(), false),
            TokenKind::Bits if text.starts_with("0b") => Value::Number(text.to_owned(), false),
            TokenKind::Hex => Value::HexStringLiteral(coded(text)),
            TokenKind::Bits => Value::SingleQuotedByteStringLiteral(coded(text)),
            TokenKind::Integer | TokenKind::Decimal | TokenKind::Float => {
                Value::Number(text.to_owned(), false)
            }
            _ => return self.unexpected(),
        };
        if token.kind != TokenKind::National {
            self.advance();
        }
        Ok(value(found))
    }

    /// A string literal.
    pub(super) fn string(&mut self) -> Result<Value> {
        if !self.peek().is_some_and(|token| token.kind == TokenKind::Text) {
            return self.unexpected();
        }
        Ok(Value::SingleQuotedString(self.more_strings()))
    }

    /// Concatenates the adjacent strings here, in the escapes of single quotes.
    fn more_strings(&mut self) -> String {
        let mut out = String::new();
        while let Some(token) = self.take_kind(TokenKind::Text) {
            out.push_str(&single_quoted(self.text(token), self.mode));
        }
        out
    }

    /// `_utf8mb4'x'`
    #[inline(never)]
    fn introduced(&mut self) -> Result<Expr> {
        let Some(token) = self.take_kind(TokenKind::Introducer) else { return self.unexpected() };
        let prefix = Ident::new(self.text(token));
        let is_string = |kind| matches!(kind, TokenKind::Text | TokenKind::Hex | TokenKind::Bits);
        if !self.peek().is_some_and(|token| is_string(token.kind)) {
            return self.unexpected();
        }
        let literal = Box::new(Expr::Value(self.literal()?));
        Ok(Expr::Prefixed { prefix, value: literal })
    }

    #[inline(never)]
    fn user_variable(&mut self) -> Result<Expr> {
        let Some(token) = self.take_kind(TokenKind::UserVariable) else {
            return self.unexpected();
        };
        let variable = Expr::Identifier(Ident::new(self.text(token)));
        if self.take_symbol(":=") {
            let right = self.expr_of(OR)?;
            return Ok(binary(variable, BinaryOperator::Assignment, right));
        }
        Ok(variable)
    }

    /// Whether the token `ahead` begins a query without parentheses.
    pub(crate) fn begins_query(&self, ahead: usize) -> bool {
        ["SELECT", "WITH", "TABLE"].iter().any(|word| self.is_word_at(ahead, word))
            || (self.is_word_at(ahead, "VALUES") && self.is_word_at(ahead + 1, "ROW"))
    }

    /// `(expr)`, `(a, b)` or `(query)`.
    #[inline(never)]
    fn parentheses(&mut self) -> Result<Expr> {
        if self.begins_query(1) {
            self.advance();
            let query = self.query_expression()?;
            self.expect_symbol(")")?;
            return Ok(Expr::Subquery(query));
        }
        self.expect_symbol("(")?;
        let mut list = self.list(Self::expr)?;
        // `((SELECT 1) UNION (SELECT 2))`: what looked like an operand begins a query.
        if let [Expr::Subquery(_)] = list.as_slice()
            && self.continues_query()
            && let Some(Expr::Subquery(first)) = list.pop()
        {
            let query = self.query_behind(first)?;
            self.expect_symbol(")")?;
            return Ok(Expr::Subquery(query));
        }
        self.expect_symbol(")")?;
        Ok(match list.pop() {
            Some(only) if list.is_empty() => Expr::Nested(Box::new(only)),
            Some(last) => {
                list.push(last);
                Expr::Tuple(list)
            }
            None => return self.unexpected(),
        })
    }

    /// `{d '2024-02-29'}`, `{fn NOW()}`
    #[inline(never)]
    fn odbc(&mut self) -> Result<Expr> {
        self.expect_symbol("{")?;
        let Some(kind) = self.take_kind(TokenKind::Word) else { return self.unexpected() };
        let data_type = match self.text(kind).to_ascii_lowercase().as_str() {
            "d" => DataType::Date,
            "t" => DataType::Time(None, TimezoneInfo::None),
            "ts" => DataType::Timestamp(None, TimezoneInfo::None),
            "fn" => {
                let expr = self.expr()?;
                self.expect_symbol("}")?;
                return Ok(match expr {
                    call @ Expr::Function(_) => call,
                    other => Expr::Nested(Box::new(other)),
                });
            }
            _ => return self.unexpected(),
        };
        let value = value(self.string()?);
        self.expect_symbol("}")?;
        Ok(Expr::TypedString(TypedString { data_type, value, uses_odbc_syntax: true }))
    }

    /// A column: `a`, `t.a`, `d.t.a`, also `t.a->'$.x'`.
    #[inline(never)]
    fn column(&mut self) -> Result<Expr> {
        let mut parts = vec![self.any_ident()?];
        while parts.len() < 3 && self.is_symbol(".") && !self.is_symbol_at(1, "*") {
            self.advance();
            parts.push(self.any_ident()?);
        }
        if self.is_symbol("(") {
            return if parts.len() < 3 { self.call(parts) } else { self.unexpected() };
        }
        let column = match parts.pop() {
            Some(only) if parts.is_empty() => Expr::Identifier(only),
            Some(last) => {
                parts.push(last);
                Expr::CompoundIdentifier(parts)
            }
            None => return self.unexpected(),
        };
        for (symbol, op) in [("->", BinaryOperator::Arrow), ("->>", BinaryOperator::LongArrow)] {
            if self.take_symbol(symbol) {
                let path = Expr::Value(value(self.string()?));
                return Ok(binary(column, op, path));
            }
        }
        Ok(column)
    }

    /// Whether the current token follows the one before without a gap.
    pub(super) fn glued(&self) -> bool {
        let before = self.position().checked_sub(1).and_then(|at| self.since(at).last().copied());
        matches!((before, self.peek()), (Some(before), Some(next)) if before.end == next.start)
    }

    /// An operand that begins with an unquoted word.
    #[inline(never)]
    fn word(&mut self, text: &str) -> Result<Expr> {
        let upper = text.to_ascii_uppercase();
        if self.is_symbol_at(1, ".") && !words::is_reserved(text) {
            return self.column();
        }
        match upper.as_str() {
            "NULL" => return self.constant(Value::Null),
            "TRUE" => return self.constant(Value::Boolean(true)),
            "FALSE" => return self.constant(Value::Boolean(false)),
            "CASE" => return self.case(),
            "EXISTS" => return self.exists(),
            "MATCH" => return self.match_against(),
            "INTERVAL" => return self.interval(),
            "ROW" if self.is_symbol_at(1, "(") => {
                self.advance();
                let list = self.parenthesised(Self::expr)?;
                return if list.len() > 1 { Ok(Expr::Tuple(list)) } else { self.unexpected() };
            }
            "DATE" | "TIME" | "TIMESTAMP"
                if self.peek_at(1).is_some_and(|next| next.kind == TokenKind::Text) =>
            {
                return self.typed_string(&upper);
            }
            _ => {}
        }
        if self.is_symbol_at(1, "(") {
            // Its frames are larger than those of other operands.
            if let Some(expr) = self.deeper(|parser| parser.special_call(&upper))? {
                return Ok(expr);
            }
            if !words::is_reserved(text) || RESERVED_FUNCTIONS.contains(&upper.as_str()) {
                let name = self.any_word()?;
                return self.call(vec![name]);
            }
            return self.unexpected();
        }
        if BARE.contains(&upper.as_str()) {
            let name = self.any_word()?;
            return Ok(super::function::bare_call(ObjectName::from(vec![name])));
        }
        if words::is_reserved(text) {
            return self.unexpected();
        }
        self.column()
    }

    /// Any word, reserved or not.
    pub(crate) fn any_word(&mut self) -> Result<Ident> {
        match self.take_kind(TokenKind::Word) {
            Some(token) => Ok(Ident::new(self.text(token))),
            None => self.unexpected(),
        }
    }

    fn constant(&mut self, constant: Value) -> Result<Expr> {
        self.advance();
        Ok(Expr::Value(value(constant)))
    }

    fn typed_string(&mut self, kind: &str) -> Result<Expr> {
        self.advance();
        let data_type = match kind {
            "DATE" => DataType::Date,
            "TIME" => DataType::Time(None, TimezoneInfo::None),
            _ => DataType::Timestamp(None, TimezoneInfo::None),
        };
        let value = value(self.string()?);
        Ok(Expr::TypedString(TypedString { data_type, value, uses_odbc_syntax: false }))
    }

    #[inline(never)]
    fn case(&mut self) -> Result<Expr> {
        self.advance();
        let operand = match self.is_word("WHEN") {
            true => None,
            false => Some(Box::new(self.expr()?)),
        };
        let mut conditions = Vec::new();
        while self.take_word("WHEN") {
            let condition = self.expr()?;
            self.expect_word("THEN")?;
            let result = self.expr()?;
            conditions.push(CaseWhen { condition, result });
        }
        let else_result = match self.take_word("ELSE") {
            true => Some(Box::new(self.expr()?)),
            false => None,
        };
        self.expect_word("END")?;
        if conditions.is_empty() {
            return self.unexpected();
        }
        Ok(Expr::Case {
            case_token: AttachedToken::empty(),
            end_token: AttachedToken::empty(),
            operand,
            conditions,
            else_result,
        })
    }

    #[inline(never)]
    fn exists(&mut self) -> Result<Expr> {
        self.advance();
        self.expect_symbol("(")?;
        let subquery = self.query_expression()?;
        self.expect_symbol(")")?;
        Ok(Expr::Exists { subquery, negated: false })
    }

    /// `INTERVAL expr unit + expr`, or the function `INTERVAL(a, b)`.
    #[inline(never)]
    fn interval(&mut self) -> Result<Expr> {
        let interval = self.interval_or_call()?;
        if !matches!(interval, Expr::Interval(_)) {
            return Ok(interval);
        }
        self.expect_symbol("+")?;
        let right = self.expr_of(SIGN)?;
        Ok(binary(interval, BinaryOperator::Plus, right))
    }

    /// After `+` or `-`: an interval, or an operand that begins with the function `INTERVAL`.
    pub(super) fn interval_operand(&mut self, precedence: u8) -> Result<Expr> {
        match self.interval_or_call()? {
            interval @ Expr::Interval(_) => Ok(interval),
            call => self.infix(call, u8::MAX, precedence + 1),
        }
    }

    /// `INTERVAL expr unit`, or the function `INTERVAL(a, b)`.
    #[inline(never)]
    pub(super) fn interval_or_call(&mut self) -> Result<Expr> {
        self.deeper(|parser| {
            let start = parser.position();
            parser.expect_word("INTERVAL")?;
            let value = if parser.is_symbol("(") && !parser.begins_query(1) {
                let first = parser.parentheses()?;
                if let Expr::Tuple(arguments) = first {
                    let name = parser.since(start).first().map(|&token| parser.text(token));
                    let name = Ident::new(name.unwrap_or("INTERVAL"));
                    return Ok(super::function::call_of(name, arguments));
                }
                parser.infix(first, u8::MAX, OR)?
            } else {
                parser.expr()?
            };
            let unit = parser.unit()?;
            Ok(Expr::Interval(Interval {
                value: Box::new(value),
                leading_field: Some(unit),
                leading_precision: None,
                last_field: None,
                fractional_seconds_precision: None,
            }))
        })
    }

    /// A unit of time: `DAY`, `HOUR_MINUTE`.
    pub(super) fn unit(&mut self) -> Result<DateTimeField> {
        let Some(token) = self.peek().filter(|token| token.kind == TokenKind::Word) else {
            return self.unexpected();
        };
        let upper = self.text(token).to_ascii_uppercase();
        let Some(unit) = unit_of(upper.strip_prefix("SQL_TSI_").unwrap_or(&upper)) else {
            return self.unexpected();
        };
        self.advance();
        Ok(unit)
    }
}

fn unit_of(word: &str) -> Option<DateTimeField> {
    Some(match word {
        "MICROSECOND" => DateTimeField::Microsecond,
        "SECOND" => DateTimeField::Second,
        "MINUTE" => DateTimeField::Minute,
        "HOUR" => DateTimeField::Hour,
        "DAY" => DateTimeField::Day,
        "WEEK" => DateTimeField::Week(None),
        "MONTH" => DateTimeField::Month,
        "QUARTER" => DateTimeField::Quarter,
        "YEAR" => DateTimeField::Year,
        "SECOND_MICROSECOND" | "MINUTE_MICROSECOND" | "MINUTE_SECOND" | "HOUR_MICROSECOND"
        | "HOUR_SECOND" | "HOUR_MINUTE" | "DAY_MICROSECOND" | "DAY_SECOND" | "DAY_MINUTE"
        | "DAY_HOUR" | "YEAR_MONTH" => DateTimeField::Custom(Ident::new(word)),
        _ => return None,
    })
}

/// The text between the quotes, as it must be written between single quotes.
fn single_quoted(token: &str, mode: Mode) -> String {
    let inner = token.get(1..token.len().saturating_sub(1)).unwrap_or_default();
    if !token.starts_with('"') {
        return inner.to_owned();
    }
    // Double quotes to single ones; what is escaped by a backslash stays so.
    let mut out = String::with_capacity(inner.len());
    let mut chars = inner.chars().peekable();
    while let Some(char) = chars.next() {
        match char {
            '\'' => out.push_str("''"),
            '"' => {
                chars.next_if_eq(&'"');
                out.push('"');
            }
            '\\' if !mode.no_backslash_escapes => {
                out.push('\\');
                out.extend(chars.next());
            }
            other => out.push(other),
        }
    }
    out
}

/// The digits of `x'..'` or `b'..'`.
fn coded(token: &str) -> String {
    token.get(2..token.len().saturating_sub(1)).unwrap_or_default().to_owned()
}
