//! JSON text: read strictly (RFC 8259) and written in MySQL's own form.
//!
//! MySQL keeps the members of an object by length of the name and then by its bytes, the last of
//! two with one name, and writes `, ` and `: ` between. Integers stay what they are up to 64 bits;
//! other numbers are doubles and always show a point or an exponent.

use std::fmt::Write as _;

use pelorus_error::{Code, Error};
use pelorus_types::number::write_double;

/// How deep arrays and objects may nest.
const MAX_DEPTH: usize = 100;

/// Why a text is no JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wrong {
    /// In MySQL's words, and at which byte.
    Syntax(&'static str, usize),
    /// Deeper than MySQL goes.
    TooDeep,
}

impl Wrong {
    /// The error for a column named `table.column`.
    pub(crate) fn error(self, column: &str) -> Error {
        match self {
            Wrong::Syntax(why, at) => Error::new(
                Code::InvalidJsonText,
                format!(
                    "Invalid JSON text: \"{why}\" at position {at} in value for column '{column}'."
                ),
            ),
            Wrong::TooDeep => {
                Error::new(Code::JsonTooDeep, "The JSON document exceeds the maximum depth.")
            }
        }
    }
}

/// The text in MySQL's form.
pub(crate) fn normalise(text: &[u8]) -> Result<String, Wrong> {
    let mut parser = Parser { text, at: 0, depth: 0 };
    parser.spaces();
    if parser.at == text.len() {
        return parser.wrong("The document is empty.");
    }
    let mut out = String::with_capacity(text.len() + text.len() / 8);
    parser.value(&mut out)?;
    parser.spaces();
    if parser.at < text.len() {
        return parser.wrong("The document root must not be followed by other values.");
    }
    Ok(out)
}

struct Parser<'a> {
    text: &'a [u8],
    at: usize,
    depth: usize,
}

impl Parser<'_> {
    fn wrong<T>(&self, why: &'static str) -> Result<T, Wrong> {
        Err(Wrong::Syntax(why, self.at))
    }

    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn take(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    fn spaces(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn value(&mut self, out: &mut String) -> Result<(), Wrong> {
        match self.peek() {
            Some(b'{') => self.nested(out, Self::object),
            Some(b'[') => self.nested(out, Self::array),
            Some(b'"') => {
                let text = self.string()?;
                write_string(out, &text);
                Ok(())
            }
            Some(b't') => self.word("true", out),
            Some(b'f') => self.word("false", out),
            Some(b'n') => self.word("null", out),
            _ => self.number(out),
        }
    }

    fn nested(
        &mut self,
        out: &mut String,
        parse: fn(&mut Self, &mut String) -> Result<(), Wrong>,
    ) -> Result<(), Wrong> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(Wrong::TooDeep);
        }
        self.at += 1;
        self.spaces();
        parse(self, out)?;
        self.depth -= 1;
        Ok(())
    }

    fn word(&mut self, word: &'static str, out: &mut String) -> Result<(), Wrong> {
        for byte in word.bytes() {
            if !self.take(byte) {
                return self.wrong("Invalid value.");
            }
        }
        out.push_str(word);
        Ok(())
    }

    fn array(&mut self, out: &mut String) -> Result<(), Wrong> {
        out.push('[');
        if !self.take(b']') {
            loop {
                self.value(out)?;
                self.spaces();
                if self.take(b']') {
                    break;
                }
                if !self.take(b',') {
                    return self.wrong("Missing a comma or ] after an array element.");
                }
                out.push_str(", ");
                self.spaces();
            }
        }
        out.push(']');
        Ok(())
    }

    fn object(&mut self, out: &mut String) -> Result<(), Wrong> {
        let mut members: Vec<(String, String)> = Vec::new();
        if !self.take(b'}') {
            loop {
                if self.peek() != Some(b'"') {
                    return self.wrong("Missing a name for object member.");
                }
                let name = self.string()?;
                self.spaces();
                if !self.take(b':') {
                    return self.wrong("Missing a colon after a name of object member.");
                }
                self.spaces();
                let mut value = String::new();
                self.value(&mut value)?;
                members.push((name, value));
                self.spaces();
                if self.take(b'}') {
                    break;
                }
                if !self.take(b',') {
                    return self.wrong("Missing a comma or } after an object member.");
                }
                self.spaces();
            }
        }
        // The sort is stable, so of one name the last member comes last.
        members.sort_by(|(a, _), (b, _)| a.len().cmp(&b.len()).then_with(|| a.cmp(b)));
        out.push('{');
        let mut first = true;
        for (at, (name, value)) in members.iter().enumerate() {
            if members.get(at + 1).is_some_and(|(next, _)| next == name) {
                continue;
            }
            if !first {
                out.push_str(", ");
            }
            first = false;
            write_string(out, name);
            out.push_str(": ");
            out.push_str(value);
        }
        out.push('}');
        Ok(())
    }

    /// A string, from its opening quotation mark on.
    fn string(&mut self) -> Result<String, Wrong> {
        let start = self.at;
        self.at += 1;
        let mut out = String::new();
        loop {
            let from = self.at;
            while self.peek().is_some_and(|byte| !matches!(byte, b'"' | b'\\' | 0..=0x1f)) {
                self.at += 1;
            }
            match std::str::from_utf8(&self.text[from..self.at]) {
                Ok(text) => out.push_str(text),
                Err(error) => {
                    self.at = from + error.valid_up_to();
                    return self.wrong("Invalid encoding in string.");
                }
            }
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(out);
                }
                Some(b'\\') => self.escape(&mut out)?,
                Some(_) => return self.wrong("Invalid encoding in string."),
                None => {
                    self.at = start;
                    return self.wrong("Missing a closing quotation mark in string.");
                }
            }
        }
    }

    fn escape(&mut self, out: &mut String) -> Result<(), Wrong> {
        let start = self.at;
        self.at += 1;
        let c = match self.peek() {
            Some(b'"') => '"',
            Some(b'\\') => '\\',
            Some(b'/') => '/',
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => {
                self.at += 1;
                let c = self.code_point(start)?;
                out.push(c);
                return Ok(());
            }
            _ => {
                self.at = start;
                return self.wrong("Invalid escape character in string.");
            }
        };
        self.at += 1;
        out.push(c);
        Ok(())
    }

    /// The character of `\uHHHH`, or of two of them, whose first digits come next.
    fn code_point(&mut self, start: usize) -> Result<char, Wrong> {
        const PAIR: &str = "The surrogate pair in string is invalid.";
        let first = self.hex(start)?;
        let code = match first {
            0xd800..=0xdbff => {
                if !(self.take(b'\\') && self.take(b'u')) {
                    self.at = start;
                    return self.wrong(PAIR);
                }
                let second = self.hex(start)?;
                if !(0xdc00..=0xdfff).contains(&second) {
                    self.at = start;
                    return self.wrong(PAIR);
                }
                0x1_0000 + ((first - 0xd800) << 10) + (second - 0xdc00)
            }
            code => code,
        };
        match char::from_u32(code) {
            Some(c) => Ok(c),
            None => {
                self.at = start;
                self.wrong(PAIR)
            }
        }
    }

    fn hex(&mut self, start: usize) -> Result<u32, Wrong> {
        let mut code = 0;
        for _ in 0..4 {
            let Some(digit) = self.peek().and_then(|byte| char::from(byte).to_digit(16)) else {
                self.at = start;
                return self.wrong("Incorrect hex digit after \\u escape in string.");
            };
            code = code << 4 | digit;
            self.at += 1;
        }
        Ok(code)
    }

    fn digits(&mut self) -> usize {
        let from = self.at;
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
        self.at - from
    }

    fn number(&mut self, out: &mut String) -> Result<(), Wrong> {
        let start = self.at;
        let negative = self.take(b'-');
        if !self.take(b'0') && self.digits() == 0 {
            return self.wrong("Invalid value.");
        }
        let mut whole = true;
        if self.take(b'.') {
            whole = false;
            if self.digits() == 0 {
                return self.wrong("Miss fraction part in number.");
            }
        }
        if self.take(b'e') || self.take(b'E') {
            whole = false;
            let _ = self.take(b'+') || self.take(b'-');
            if self.digits() == 0 {
                return self.wrong("Miss exponent in number.");
            }
        }
        let text = std::str::from_utf8(&self.text[start..self.at]).unwrap_or("0");
        if whole
            && negative
            && let Ok(value) = text.parse::<i64>()
        {
            write!(out, "{value}").ok();
            return Ok(());
        }
        if whole && let Ok(value) = text.parse::<u64>() {
            write!(out, "{value}").ok();
            return Ok(());
        }
        let value: f64 = text.parse().unwrap_or(0.0);
        if value.is_infinite() {
            self.at = start;
            return self.wrong("Number too big to be stored in double.");
        }
        let from = out.len();
        write_double(out, value);
        if !out[from..].contains(['.', 'e']) {
            out.push_str(".0");
        }
        Ok(())
    }
}

fn write_string(out: &mut String, text: &str) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\0'..='\u{1f}' => {
                // A `String` accepts every write.
                write!(out, "\\u{:04x}", u32::from(c)).ok();
            }
            _ => out.push(c),
        }
    }
    out.push('"');
}
