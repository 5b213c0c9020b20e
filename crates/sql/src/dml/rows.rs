//! Reads the rows of `VALUES (...), (...)`, one after the other, as values and not as trees.
//!
//! There are two passes. The first ([`Rows::new`]) only looks for quotes and parentheses, to find
//! where the rows end and how many there are. The second ([`Rows::next_row`]) reads values:
//! numbers, strings and a few words by a scanner that borrows from the text. At the first character
//! that the scanner does not know, the expression parser reads the value from its beginning. The
//! scanner may therefore give up anywhere, but it must never accept a value that the parser reads
//! differently. It accepts a value only if a `,` or `)` follows, with nothing but blanks between.

use std::borrow::Cow;

use pelorus_error::Result;
use sqlparser::ast::Expr;

use crate::Mode;
use crate::lexer::{Lexer, TokenKind, syntax_error};
use crate::parse::cursor::Parser;

mod scan;

use scan::find_either;

/// A value of a row, borrowed from the statement as far as it can be.
#[derive(Clone, Debug, PartialEq)]
pub enum Value<'a> {
    /// `NULL`
    Null,
    /// `TRUE` or `FALSE`
    Boolean(bool),
    /// Digits, perhaps with a `-` in front.
    Integer(&'a str),
    /// Digits with a point, perhaps with a `-` in front: an exact DECIMAL.
    Decimal(&'a str),
    /// A number with an exponent, perhaps with a `-` in front: a DOUBLE.
    Float(&'a str),
    /// A string, escapes resolved.
    Text {
        /// The characters. With an introducer of another charset than that of the connection they
        /// are to be taken as bytes of that charset.
        text: Cow<'a, str>,
        /// The charset of an introducer (`_binary'x'`), without its underscore, as written; `N'x'`
        /// gives `utf8mb3`.
        charset: Option<&'a str>,
    },
    /// `x'4d'` or `0x4d`: the digits; see [`crate::literal::hex_bytes`].
    Hex {
        /// An even number of them in `x''`.
        digits: &'a str,
        /// As for text.
        charset: Option<&'a str>,
    },
    /// `b'101'` or `0b101`: the digits; see [`crate::literal::bit_bytes`].
    Bits {
        /// Zeros and ones.
        digits: &'a str,
        /// As for text.
        charset: Option<&'a str>,
    },
    /// `?`
    Placeholder,
    /// `DEFAULT`
    Default,
    /// Everything else.
    Expression(Box<Expr>),
}

/// A reader of rows. Also a place in the text: a clone reads the same rows again.
#[derive(Clone, Debug)]
pub struct Rows<'a> {
    sql: &'a str,
    mode: Mode,
    at: usize,
    in_comment: bool,
    end: usize,
    end_in_comment: bool,
    count: usize,
    read: usize,
}

/// The bytes that the first pass examines; it skips all others.
const LOOK: [bool; 256] = {
    let mut table = [false; 256];
    let bytes = b"'\"`()/-#*";
    let mut at = 0;
    while at < bytes.len() {
        table[bytes[at] as usize] = true;
        at += 1;
    }
    table
};

impl<'a> Rows<'a> {
    /// Rows from the byte `at` on, after the word `VALUES`.
    ///
    /// # Errors
    /// 1064 when the parentheses or quotes do not end.
    pub(super) fn new(sql: &'a str, mode: Mode, at: usize, in_comment: bool) -> Result<Self> {
        let start = Self {
            sql,
            mode,
            at,
            in_comment,
            end: sql.len(),
            end_in_comment: false,
            count: 0,
            read: 0,
        };
        let mut end = start.clone();
        let mut count = 0;
        loop {
            end.skip_blanks()?;
            end.pass_row()?;
            count += 1;
            let behind = (end.at, end.in_comment);
            end.skip_blanks()?;
            if end.peek() != b',' {
                return Ok(Self { end: behind.0, end_in_comment: behind.1, count, ..start });
            }
            end.at += 1;
        }
    }

    /// How many rows there are, those that were read included.
    pub fn count(&self) -> usize {
        self.count
    }

    /// How many rows were read.
    pub fn read(&self) -> usize {
        self.read
    }

    /// The text of all rows, from the first parenthesis that is still to be read to the last.
    pub fn text(&self) -> &'a str {
        self.sql.get(self.at..self.end).unwrap_or_default().trim()
    }

    /// The first byte after the rows, and whether it is inside an executable comment.
    pub(super) fn end(&self) -> (usize, bool) {
        (self.end, self.end_in_comment)
    }

    /// Reads the next row into `row`, whose old values are dropped; `false` after the last row. An
    /// empty row `()` gives no values.
    ///
    /// # Errors
    /// 1064 for a syntax error, 1235 for unsupported expressions. No row can be read after an
    /// error.
    pub fn next_row(&mut self, row: &mut Vec<Value<'a>>) -> Result<bool> {
        row.clear();
        if self.read == self.count {
            return Ok(false);
        }
        let result = self.row(row);
        match result {
            Ok(()) => self.read += 1,
            Err(_) => self.read = self.count,
        }
        result.map(|()| true)
    }

    fn row(&mut self, row: &mut Vec<Value<'a>>) -> Result<()> {
        self.skip_blanks()?;
        if self.read > 0 {
            self.expect(b',')?;
            self.skip_blanks()?;
        }
        self.expect(b'(')?;
        self.skip_blanks()?;
        if self.peek() == b')' {
            self.at += 1;
            return Ok(());
        }
        loop {
            let value = self.value()?;
            row.push(value);
            // Both ways of reading end at one of these.
            let byte = self.peek();
            self.at += 1;
            match byte {
                b',' => self.skip_blanks()?,
                b')' => return Ok(()),
                _ => return Err(syntax_error(self.sql, self.at - 1)),
            }
        }
    }

    fn bytes(&self) -> &'a [u8] {
        self.sql.as_bytes()
    }

    /// The current byte; 0 after the end.
    fn peek(&self) -> u8 {
        self.bytes().get(self.at).copied().unwrap_or(0)
    }

    fn expect(&mut self, byte: u8) -> Result<()> {
        if self.peek() != byte {
            return Err(syntax_error(self.sql, self.at));
        }
        self.at += 1;
        Ok(())
    }

    /// Goes to the next token. The lexer is asked where a comment may begin or end.
    #[inline]
    fn skip_blanks(&mut self) -> Result<()> {
        // Neither a blank nor a comment begins with what most values begin with.
        match self.peek() {
            b'\'' | b'0'..=u8::MAX => Ok(()),
            _ => self.skip_some_blanks(),
        }
    }

    fn skip_some_blanks(&mut self) -> Result<()> {
        let bytes = self.bytes();
        while bytes.get(self.at).is_some_and(|&byte| byte.is_ascii_whitespace() || byte == 0x0b) {
            self.at += 1;
        }
        if self.at_comment() { self.skip_comments() } else { Ok(()) }
    }

    /// Whether a comment may begin or end here.
    fn at_comment(&self) -> bool {
        let next = |byte| self.bytes().get(self.at + 1) == Some(&byte);
        match self.peek() {
            b'#' => true,
            b'-' => next(b'-'),
            b'/' => next(b'*'),
            b'*' => self.in_comment && next(b'/'),
            _ => false,
        }
    }

    #[cold]
    fn skip_comments(&mut self) -> Result<()> {
        let mut lexer = Lexer::starting_at(self.sql, self.mode, self.at, self.in_comment);
        let Some(token) = lexer.next() else {
            (self.at, self.in_comment) = (self.sql.len(), false);
            return Ok(());
        };
        if token.kind == TokenKind::Invalid {
            return Err(syntax_error(self.sql, token.start));
        }
        self.at = token.start;
        self.in_comment = lexer.in_comment();
        Ok(())
    }

    /// Passes over one row by quotes and parentheses only.
    fn pass_row(&mut self) -> Result<()> {
        self.expect(b'(')?;
        let bytes = self.bytes();
        let mut open = 1usize;
        while open > 0 {
            while bytes.get(self.at).is_some_and(|&byte| !LOOK[usize::from(byte)]) {
                self.at += 1;
            }
            match bytes.get(self.at) {
                None => return Err(syntax_error(self.sql, self.at)),
                Some(b'(') => open += 1,
                Some(b')') => open -= 1,
                Some(b'/' | b'-' | b'#' | b'*') if self.at_comment() => {
                    let before = self.at;
                    self.skip_comments()?;
                    if self.at > before {
                        continue;
                    }
                }
                Some(&quote @ (b'\'' | b'"' | b'`')) => {
                    self.pass_quoted(quote)?;
                    continue;
                }
                Some(_) => {}
            }
            self.at += 1;
        }
        Ok(())
    }

    /// Passes over a string or a quoted name; tells whether its inside is not its value.
    fn pass_quoted(&mut self, quote: u8) -> Result<bool> {
        let start = self.at;
        let bytes = self.bytes();
        let escapes = quote != b'`'
            && !(quote == b'"' && self.mode.ansi_quotes)
            && !self.mode.no_backslash_escapes;
        let escape = if escapes { b'\\' } else { quote };
        let mut escaped = false;
        self.at += 1;
        loop {
            let rest = bytes.get(self.at..).unwrap_or_default();
            let Some(next) = find_either(rest, quote, escape) else {
                return Err(syntax_error(self.sql, start));
            };
            self.at += next + 1;
            if rest.get(next) == Some(&quote) && rest.get(next + 1) != Some(&quote) {
                return Ok(escaped);
            }
            // A doubled quote, or a backslash with what it escapes.
            escaped = true;
            self.at += 1;
        }
    }

    /// Reads a value; the `,` or `)` after it is the current byte then.
    fn value(&mut self) -> Result<Value<'a>> {
        let start = (self.at, self.in_comment);
        if let Some(value) = self.scan()? {
            if !matches!(self.peek(), b',' | b')') {
                self.skip_blanks()?;
            }
            if matches!(self.peek(), b',' | b')') {
                return Ok(value);
            }
        }
        (self.at, self.in_comment) = start;
        self.expression()
    }

    /// Reads a value with the parser of expressions.
    #[cold]
    fn expression(&mut self) -> Result<Value<'a>> {
        let mut lexer = Lexer::starting_at(self.sql, self.mode, self.at, self.in_comment);
        let mut tokens = Vec::new();
        let mut open = 0usize;
        // The token that ends the value belongs to what the parser sees, for its errors.
        let mut before = self.in_comment;
        while let Some(token) = lexer.next() {
            before = lexer.in_comment();
            tokens.push(token);
            if token.is_symbol(self.sql, "(") {
                open += 1;
            } else if token.is_symbol(self.sql, ")") {
                let Some(next) = open.checked_sub(1) else { break };
                open = next;
            } else if open == 0 && token.is_symbol(self.sql, ",") {
                break;
            }
        }
        let mut parser = Parser::of_tokens(self.sql, self.mode, tokens)?;
        parser.versions = true;
        let default = parser.is_word("DEFAULT") && !parser.is_symbol_at(1, "(");
        let value = if default {
            parser.advance();
            Value::Default
        } else if parser.is_symbol(")") {
            return Err(syntax_error(self.sql, self.at));
        } else {
            Value::Expression(Box::new(parser.expr()?))
        };
        let end = parser.peek();
        parser.advance();
        match end {
            Some(end) if parser.peek().is_none() => {
                (self.at, self.in_comment) = (end.start, before);
                Ok(value)
            }
            end => {
                let at = end.map_or(self.sql.len(), |token| token.start);
                Err(syntax_error(self.sql, at))
            }
        }
    }
}
