//! Parses JSON documents from MySQL's text form, for partial updates of documents whose
//! before-image is not in the log. Numbers keep their text.

use std::borrow::Cow;

use pelorus_error::Result;

use super::{Json, path};
use crate::reader::malformed;

/// Deeper than any document that MySQL takes (100).
const MAX_DEPTH: usize = 128;

fn broken() -> pelorus_error::Error {
    malformed("a JSON text")
}

/// Reads a document.
pub(super) fn read(text: &[u8]) -> Result<Json<'_>> {
    let mut parser = Parser { text, at: 0 };
    let json = parser.value(0)?;
    parser.space();
    if parser.at == text.len() { Ok(json) } else { Err(broken()) }
}

struct Parser<'a> {
    text: &'a [u8],
    at: usize,
}

impl<'a> Parser<'a> {
    fn space(&mut self) {
        while matches!(self.text.get(self.at), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    /// Takes a byte if it comes next.
    fn eat(&mut self, byte: u8) -> bool {
        self.space();
        let found = self.text.get(self.at) == Some(&byte);
        self.at += usize::from(found);
        found
    }

    fn value(&mut self, depth: usize) -> Result<Json<'a>> {
        if depth > MAX_DEPTH {
            return Err(broken());
        }
        self.space();
        match self.text.get(self.at) {
            Some(b'"') => self.string().map(Json::Text),
            Some(b'[') => self.array(depth),
            Some(b'{') => self.object(depth),
            _ => self.word(),
        }
    }

    fn array(&mut self, depth: usize) -> Result<Json<'a>> {
        self.at += 1;
        let mut values = Vec::new();
        if self.eat(b']') {
            return Ok(Json::Array(values));
        }
        loop {
            values.push(self.value(depth + 1)?);
            if self.eat(b']') {
                return Ok(Json::Array(values));
            }
            if !self.eat(b',') {
                return Err(broken());
            }
        }
    }

    fn object(&mut self, depth: usize) -> Result<Json<'a>> {
        self.at += 1;
        let mut members = Vec::new();
        if self.eat(b'}') {
            return Ok(Json::Object(members));
        }
        loop {
            self.space();
            let key = self.string()?;
            if !self.eat(b':') {
                return Err(broken());
            }
            members.push((key, self.value(depth + 1)?));
            if self.eat(b'}') {
                return Ok(Json::Object(members));
            }
            if !self.eat(b',') {
                return Err(broken());
            }
        }
    }

    /// A text in quotes.
    fn string(&mut self) -> Result<Cow<'a, [u8]>> {
        let (text, left) = path::quoted(self.text.get(self.at..).unwrap_or_default())?;
        self.at = self.text.len() - left.len();
        Ok(text)
    }

    /// A literal or a number.
    fn word(&mut self) -> Result<Json<'a>> {
        let rest = &self.text[self.at..];
        let inside = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'+' | b'.');
        let end = rest.iter().position(|byte| !inside(byte)).unwrap_or(rest.len());
        let word = &rest[..end];
        self.at += end;
        match word {
            b"null" => Ok(Json::Null),
            b"true" => Ok(Json::Bool(true)),
            b"false" => Ok(Json::Bool(false)),
            [b'-' | b'0'..=b'9', ..] => {
                std::str::from_utf8(word).map(Json::Number).map_err(|_| broken())
            }
            _ => Err(broken()),
        }
    }
}
