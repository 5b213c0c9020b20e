//! The scanner of values: numbers, strings and a few words, borrowed from the text.

use std::borrow::Cow;

use pelorus_error::Result;

use super::{Rows, Value};
use crate::Mode;
use crate::lexer::{Lexer, TokenKind};

impl<'a> Rows<'a> {
    /// Reads a value by its first bytes; `None` for other expressions.
    pub(super) fn scan(&mut self) -> Result<Option<Value<'a>>> {
        Ok(match self.peek() {
            b'0' if matches!(self.bytes().get(self.at + 1), Some(b'x' | b'b')) => self.coded(2, 0),
            b'0'..=b'9' | b'.' => self.number(self.at),
            b'-' => {
                self.at += 1;
                self.number(self.at - 1)
            }
            b'\'' => self.string(None)?,
            b'"' if !self.mode.ansi_quotes => self.string(None)?,
            b'N' | b'n' if self.bytes().get(self.at + 1) == Some(&b'\'') => {
                self.at += 1;
                self.string(Some("utf8mb3"))?
            }
            b'x' | b'X' | b'b' | b'B' if self.bytes().get(self.at + 1) == Some(&b'\'') => {
                self.coded(2, 1)
            }
            b'?' => {
                self.at += 1;
                Some(Value::Placeholder)
            }
            b'_' => self.introduced()?,
            byte if byte.is_ascii_alphabetic() => self.word(),
            _ => None,
        })
    }

    /// The text from a byte to here.
    fn since(&self, start: usize) -> &'a str {
        self.sql.get(start..self.at).unwrap_or_default()
    }

    fn digits(&mut self) -> usize {
        let start = self.at;
        let bytes = self.bytes();
        while bytes.get(self.at).is_some_and(u8::is_ascii_digit) {
            self.at += 1;
        }
        self.at - start
    }

    /// A number whose sign, if it has one, was passed. What goes on as a word is no number.
    fn number(&mut self, start: usize) -> Option<Value<'a>> {
        let mut digits = self.digits();
        let point = self.peek() == b'.';
        if point {
            self.at += 1;
            digits += self.digits();
        }
        if digits == 0 {
            return None;
        }
        if matches!(self.peek(), b'e' | b'E') {
            self.at += 1;
            if matches!(self.peek(), b'+' | b'-') {
                self.at += 1;
            }
            return (self.digits() > 0).then(|| Value::Float(self.since(start)));
        }
        let text = self.since(start);
        Some(if point { Value::Decimal(text) } else { Value::Integer(text) })
    }

    fn string(&mut self, charset: Option<&'a str>) -> Result<Option<Value<'a>>> {
        let quote = self.peek();
        let start = self.at + 1;
        let escaped = self.pass_quoted(quote)?;
        let raw = self.sql.get(start..self.at - 1).unwrap_or_default();
        let text = match escaped {
            true => Cow::Owned(unescape(raw, quote, self.mode)),
            false => Cow::Borrowed(raw),
        };
        Ok(Some(Value::Text { text, charset }))
    }

    /// `x'..'`, `b'..'`, `0x..` and `0b..`: `before` bytes in front of the digits, `behind` after.
    fn coded(&mut self, before: usize, behind: usize) -> Option<Value<'a>> {
        let bytes = self.bytes();
        let letter = bytes.get(self.at + 1 - behind)?.to_ascii_lowercase();
        let start = self.at + before;
        let digit = |byte: &&u8| match letter {
            b'x' => byte.is_ascii_hexdigit(),
            _ => matches!(byte, b'0' | b'1'),
        };
        let length = bytes.get(start..)?.iter().take_while(digit).count();
        let end = start + length;
        let whole = match behind {
            0 => length > 0,
            _ => bytes.get(end) == Some(&b'\'') && (letter == b'b' || length % 2 == 0),
        };
        if !whole {
            return None;
        }
        self.at = end + behind;
        let digits = self.sql.get(start..end)?;
        Some(match letter {
            b'x' => Value::Hex { digits, charset: None },
            _ => Value::Bits { digits, charset: None },
        })
    }

    /// `_binary'x'`, with a blank between or none.
    fn introduced(&mut self) -> Result<Option<Value<'a>>> {
        // Which names are charsets the lexer knows.
        let mut lexer = Lexer::starting_at(self.sql, self.mode, self.at, self.in_comment);
        let Some(token) = lexer.next().filter(|token| token.kind == TokenKind::Introducer) else {
            return Ok(None);
        };
        let name = token.text(self.sql).get(1..);
        self.at = token.end;
        self.skip_blanks()?;
        let mut value = match self.peek() {
            b'\'' | b'"' | b'x' | b'X' | b'0' | b'b' | b'B' => self.scan()?,
            _ => None,
        };
        match &mut value {
            Some(
                Value::Text { charset, .. }
                | Value::Hex { charset, .. }
                | Value::Bits { charset, .. },
            ) => *charset = name,
            _ => return Ok(None),
        }
        Ok(value)
    }

    fn word(&mut self) -> Option<Value<'a>> {
        let start = self.at;
        let bytes = self.bytes();
        while bytes.get(self.at).is_some_and(u8::is_ascii_alphabetic) {
            self.at += 1;
        }
        let word = self.since(start);
        let is = |other: &str| word.eq_ignore_ascii_case(other);
        match word.len() {
            4 if is("NULL") => Some(Value::Null),
            4 if is("TRUE") => Some(Value::Boolean(true)),
            5 if is("FALSE") => Some(Value::Boolean(false)),
            7 if is("DEFAULT") => Some(Value::Default),
            _ => None,
        }
    }
}

/// The position of the first of two bytes, searched eight bytes at a time.
pub(super) fn find_either(bytes: &[u8], first: u8, second: u8) -> Option<usize> {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = ONES << 7;
    // The lowest byte that is zero gets its high bit; bytes above it may get theirs wrongly.
    let zero = |word: u64| word.wrapping_sub(ONES) & !word & HIGH;
    let (all_first, all_second) = (ONES * u64::from(first), ONES * u64::from(second));
    let mut at = 0;
    while let Some((chunk, _)) = bytes.get(at..).and_then(<[u8]>::split_first_chunk::<8>) {
        let word = u64::from_le_bytes(*chunk);
        let found = zero(word ^ all_first) | zero(word ^ all_second);
        if found != 0 {
            return usize::try_from(found.trailing_zeros() / 8).ok().map(|byte| at + byte);
        }
        at += 8;
    }
    let rest = bytes.get(at..).unwrap_or_default();
    rest.iter().position(|&byte| byte == first || byte == second).map(|byte| at + byte)
}

/// What [`crate::literal::unescape`] does, by the piece and not by the character.
fn unescape(raw: &str, quote: u8, mode: Mode) -> String {
    let escape = if mode.no_backslash_escapes { quote } else { b'\\' };
    let mut out = String::with_capacity(raw.len());
    let mut rest = raw;
    while let Some(at) = find_either(rest.as_bytes(), quote, escape) {
        let (before, from) = rest.split_at(at);
        out.push_str(before);
        let mut chars = from.chars();
        let escaped = (chars.next(), chars.next());
        rest = chars.as_str();
        match escaped {
            (Some('\\'), Some('0')) => out.push('\0'),
            (Some('\\'), Some('b')) => out.push('\u{8}'),
            (Some('\\'), Some('n')) => out.push('\n'),
            (Some('\\'), Some('r')) => out.push('\r'),
            (Some('\\'), Some('t')) => out.push('\t'),
            (Some('\\'), Some('Z')) => out.push('\u{1a}'),
            // In front of the wildcards of LIKE the backslash stays.
            (Some('\\'), Some(wildcard @ ('%' | '_'))) => out.extend(['\\', wildcard]),
            (_, Some(other)) => out.push(other),
            (last, None) => out.extend(last),
        }
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::lexer::Token;
    use crate::literal;

    proptest! {
        #[test]
        fn pieces_are_unescaped_as_characters_are(
            text in "([a-z]{0,12}|'|\"|\\\\|[0bnrtZ%_]|\\PC){0,12}",
            double: bool,
            no_backslash_escapes: bool,
        ) {
            let mode = Mode { no_backslash_escapes, ..Mode::default() };
            let quote = if double { '"' } else { '\'' };
            // What stands between the quotes of a string: they are doubled or escaped there.
            let token = format!("{quote}{text}{quote}");
            let tokens = crate::tokens(&token, mode);
            // A quote in the text may end the string, and a comment may hide the rest.
            let whole = |it: &Token| it.kind == TokenKind::Text && it.end == token.len();
            prop_assume!(matches!(tokens.as_slice(), [one] if whole(one)));
            let byte = if double { b'"' } else { b'\'' };
            prop_assert_eq!(unescape(&text, byte, mode), literal::unescape(&text, quote, mode));
        }

        #[test]
        fn either_byte_is_found(
            bytes in prop::collection::vec(0u8..6, 0..40),
            one in 0u8..6,
            two in 0u8..6,
        ) {
            let expected = bytes.iter().position(|&byte| byte == one || byte == two);
            prop_assert_eq!(find_either(&bytes, one, two), expected);
            let high: Vec<u8> = bytes.iter().map(|byte| byte + 0x7e).collect();
            prop_assert_eq!(find_either(&high, one + 0x7e, two + 0x7e), expected);
        }
    }
}
