//! [`Lexer`]: the scanner, an iterator over the tokens of a text.

use std::collections::HashMap;
use std::ops::Range;

use super::{Token, TokenKind};
use crate::{Mode, stop};

/// Reads tokens; an iterator.
#[derive(Clone, Debug)]
pub struct Lexer<'a> {
    sql: &'a str,
    bytes: &'a [u8],
    mode: Mode,
    at: usize,
    /// Inside an executable comment, whose `*/` is still to come.
    in_comment: bool,
    /// The last token was a dot, so that a name follows, whatever it begins with.
    after_dot: bool,
    /// A hint is allowed after the last token.
    hint_may_follow: bool,
    ended: bool,
    /// The comments in front of the last token, and the marks of executable ones.
    comments: Vec<Range<usize>>,
    /// The rest is not wanted; `bytes` ends here.
    stopped: bool,
    /// Tokens and comments until the next check of [`stop`].
    unasked: u32,
    /// The last position of each mark like `$tag$`, once one was found.
    marks: Option<HashMap<&'a [u8], usize>>,
}

/// Words after which `/*+` begins a hint rather than a comment.
const HINTED: [&str; 5] = ["SELECT", "INSERT", "REPLACE", "UPDATE", "DELETE"];

/// Symbols of more than one character, longest first.
const SYMBOLS: [&str; 13] =
    ["<=>", "->>", "<=", ">=", "<>", "!=", "<<", ">>", ":=", "&&", "||", "->", "\\N"];

/// Charsets that MySQL or MariaDB take as introducers.
pub(crate) const CHARSETS: [&str; 42] = [
    "armscii8", "ascii", "big5", "binary", "cp1250", "cp1251", "cp1256", "cp1257", "cp850",
    "cp852", "cp866", "cp932", "dec8", "eucjpms", "euckr", "gb18030", "gb2312", "gbk", "geostd8",
    "greek", "hebrew", "hp8", "keybcs2", "koi8r", "koi8u", "latin1", "latin2", "latin5", "latin7",
    "macce", "macroman", "sjis", "swe7", "tis620", "ucs2", "ujis", "utf16", "utf16le", "utf32",
    "utf8", "utf8mb3", "utf8mb4",
];

/// Whether a byte is allowed in an unquoted name. Every byte of a character above ASCII is.
pub(crate) fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$' || byte >= 0x80
}

impl<'a> Lexer<'a> {
    /// Starts at the beginning of the text.
    pub fn new(sql: &'a str, mode: Mode) -> Self {
        Self {
            sql,
            bytes: sql.as_bytes(),
            mode,
            at: 0,
            in_comment: false,
            after_dot: false,
            hint_may_follow: false,
            ended: false,
            comments: Vec::new(),
            stopped: false,
            unasked: stop::TOKENS,
            marks: None,
        }
    }

    /// Starts in the middle of a text, at the beginning of a token; `in_comment` tells that this
    /// place is inside an executable comment.
    pub(crate) fn starting_at(sql: &'a str, mode: Mode, at: usize, in_comment: bool) -> Self {
        Self { at, in_comment, ..Self::new(sql, mode) }
    }

    /// Whether the last token was inside an executable comment.
    pub(crate) fn in_comment(&self) -> bool {
        self.in_comment
    }

    /// The text between the last token and the one before it that is not blank: comments, and the
    /// `/*!50000` and `*/` around the text of executable ones.
    pub(crate) fn comments(&self) -> &[Range<usize>] {
        &self.comments
    }

    fn peek(&self, ahead: usize) -> u8 {
        self.bytes.get(self.at + ahead).copied().unwrap_or(0)
    }

    fn rest(&self) -> &'a [u8] {
        self.bytes.get(self.at..).unwrap_or_default()
    }

    fn skip_while(&mut self, test: impl Fn(u8) -> bool) {
        while self.at < self.bytes.len() && test(self.bytes[self.at]) {
            self.at += 1;
            self.ask_at_byte(self.at);
        }
    }

    /// Ends the text at a place if the rest is not wanted: no more than an invalid token comes then.
    fn ask(&mut self, at: usize) {
        if stop::is_asked() {
            self.stopped = true;
            self.bytes = self.bytes.get(..at).unwrap_or(self.bytes);
        }
    }

    fn ask_at_byte(&mut self, at: usize) {
        if at.is_multiple_of(stop::BYTES) {
            self.ask(at);
        }
    }

    fn ask_at_token(&mut self) {
        self.unasked -= 1;
        if self.unasked == 0 {
            self.unasked = stop::TOKENS;
            self.ask(self.at);
        }
    }

    /// The next position of a text, from a place on; as a distance from it.
    fn find(&mut self, from: usize, what: &[u8]) -> Option<usize> {
        let mut at = from;
        loop {
            let rest = self.bytes.get(at..)?;
            let part = &rest[..rest.len().min(stop::BYTES + what.len() - 1)];
            if let Some(found) = part.windows(what.len()).position(|window| window == what) {
                return Some(at - from + found);
            }
            if part.len() == rest.len() {
                return None;
            }
            at += stop::BYTES;
            self.ask(at);
        }
    }

    /// Passes over blanks and comments; `Some` is a hint or an unfinished comment.
    fn skip_blanks(&mut self) -> Option<Token> {
        self.comments.clear();
        loop {
            self.ask_at_token();
            self.skip_while(|byte| byte.is_ascii_whitespace() || byte == 0x0b);
            let start = self.at;
            if self.peek(0) == b'#' || self.at_dash_comment() {
                self.skip_while(|byte| byte != b'\n');
            } else if self.rest().starts_with(b"/*") {
                if let Some(token) = self.comment(start) {
                    return Some(token);
                }
            } else if self.in_comment && self.rest().starts_with(b"*/") {
                self.at += 2;
                self.in_comment = false;
            } else {
                return None;
            }
            self.comments.push(start..self.at);
        }
    }

    /// `--` begins a comment only before a blank, a control character or the end.
    fn at_dash_comment(&self) -> bool {
        self.rest().starts_with(b"--")
            && self.rest().get(2).is_none_or(|&byte| byte.is_ascii_whitespace() || byte < 0x20)
    }

    fn comment(&mut self, start: usize) -> Option<Token> {
        if self.rest().starts_with(b"/*+") && self.hint_may_follow {
            let token = self.finish_comment(start, TokenKind::Hint);
            // A hint that servers may read differently is a comment: hints are optional.
            let is_kept = token.kind == TokenKind::Invalid || is_plain_hint(token.text(self.sql));
            return is_kept.then_some(token);
        }
        let begins = match self.rest().starts_with(b"/*!") {
            true => 3,
            // MariaDB's alone.
            false if self.mode.version == u32::MAX && self.rest().starts_with(b"/*M!") => 4,
            false => 0,
        };
        if begins > 0 && !self.in_comment {
            self.at += begins;
            let digits = self.rest().iter().take_while(|byte| byte.is_ascii_digit()).count();
            // Five or six digits are a version; fewer belong to the text.
            if digits < 5 {
                self.in_comment = true;
                return None;
            }
            let digits = digits.min(6);
            let version = self.sql.get(self.at..self.at + digits).and_then(|v| v.parse().ok());
            if version.unwrap_or(u32::MAX) <= self.mode.version {
                self.at += digits;
                self.in_comment = true;
                return None;
            }
            // As on the servers, it may hold other comments.
            return self.finish_skipped(start);
        }
        let token = self.finish_comment(start, TokenKind::Hint);
        (token.kind == TokenKind::Invalid).then_some(token)
    }

    /// Passes over an executable comment that is not executed, with the comments within it; `Some`
    /// when it does not end.
    fn finish_skipped(&mut self, start: usize) -> Option<Token> {
        self.at = start + 2;
        while self.at < self.bytes.len() {
            if self.rest().starts_with(b"*/") {
                self.at += 2;
                return None;
            }
            if self.rest().starts_with(b"/*") {
                match self.find(self.at + 2, b"*/") {
                    Some(length) => self.at += length + 4,
                    None => break,
                }
                self.ask_at_token();
            } else {
                self.at += 1;
                self.ask_at_byte(self.at);
            }
        }
        Some(self.invalid(start))
    }

    fn finish_comment(&mut self, start: usize, kind: TokenKind) -> Token {
        match self.find(start + 2, b"*/") {
            Some(length) => {
                self.at = start + 2 + length + 2;
                Token { kind, start, end: self.at }
            }
            None => self.invalid(start),
        }
    }

    fn invalid(&mut self, start: usize) -> Token {
        self.ended = true;
        self.at = self.bytes.len();
        Token { kind: TokenKind::Invalid, start, end: self.at }
    }

    fn token(&self, kind: TokenKind, start: usize) -> Token {
        Token { kind, start, end: self.at }
    }

    /// A string or quoted name that begins at the current quote.
    fn quoted(&mut self, start: usize, kind: TokenKind) -> Token {
        let quote = self.peek(0);
        let escapes = quote != b'`' && kind != TokenKind::Quoted && !self.mode.no_backslash_escapes;
        self.at += 1;
        while self.at < self.bytes.len() {
            let byte = self.bytes[self.at];
            self.at += 1;
            self.ask_at_byte(self.at);
            if byte == b'\\' && escapes {
                self.at += 1;
            } else if byte == quote {
                if self.peek(0) != quote || self.at >= self.bytes.len() {
                    return self.token(kind, start);
                }
                self.at += 1;
            }
        }
        self.invalid(start)
    }

    /// `x'..'` and `b'..'`: only digits of the base are allowed between the quotes.
    fn coded(&mut self, start: usize, kind: TokenKind, digit: fn(u8) -> bool) -> Token {
        self.at += 2;
        self.skip_while(digit);
        let digits = self.at - start - 2;
        if self.peek(0) != b'\'' || (kind == TokenKind::Hex && digits % 2 == 1) {
            return self.invalid(start);
        }
        self.at += 1;
        self.token(kind, start)
    }

    fn number_or_name(&mut self, start: usize) -> Token {
        let (first, second) = (self.peek(0), self.peek(1));
        for (letter, kind, digit) in [
            (b'x', TokenKind::Hex, u8::is_ascii_hexdigit as fn(&u8) -> bool),
            (b'b', TokenKind::Bits, |byte: &u8| matches!(byte, b'0' | b'1')),
        ] {
            if first == b'0' && second == letter && digit(&self.peek(2)) {
                let mut end = self.at + 2;
                while self.bytes.get(end).is_some_and(digit) {
                    end += 1;
                }
                if !self.bytes.get(end).copied().is_some_and(is_name_byte) {
                    self.at = end;
                    return self.token(kind, start);
                }
            }
        }
        self.skip_while(|byte| byte.is_ascii_digit());
        if self.peek(0) == b'.' {
            return self.fraction(start);
        }
        if matches!(self.peek(0), b'e' | b'E') && self.exponent() {
            return self.token(TokenKind::Float, start);
        }
        if is_name_byte(self.peek(0)) && self.at < self.bytes.len() {
            return self.word(start);
        }
        self.token(TokenKind::Integer, start)
    }

    /// The part of a number from its point on.
    fn fraction(&mut self, start: usize) -> Token {
        self.at += 1;
        self.skip_while(|byte| byte.is_ascii_digit());
        if matches!(self.peek(0), b'e' | b'E') && self.exponent() {
            return self.token(TokenKind::Float, start);
        }
        self.token(TokenKind::Decimal, start)
    }

    fn exponent(&mut self) -> bool {
        let sign = usize::from(matches!(self.peek(1), b'+' | b'-'));
        if !self.peek(1 + sign).is_ascii_digit() {
            return false;
        }
        self.at += 1 + sign;
        self.skip_while(|byte| byte.is_ascii_digit());
        true
    }

    fn word(&mut self, start: usize) -> Token {
        self.skip_while(is_name_byte);
        let text = &self.sql[start..self.at];
        let introducer = text.strip_prefix('_').is_some_and(|charset| {
            CHARSETS.iter().any(|known| known.eq_ignore_ascii_case(charset))
        });
        if introducer && !self.after_dot && self.peek(0) != b'.' {
            return self.token(TokenKind::Introducer, start);
        }
        self.token(TokenKind::Word, start)
    }

    fn variable(&mut self, start: usize) -> Token {
        if self.peek(1) == b'@' {
            return self.system_variable(start);
        }
        self.at += 1;
        match self.peek(0) {
            quote @ (b'\'' | b'"') => {
                // Under ANSI_QUOTES `"x"` is a name, in which a backslash is an ordinary character.
                let is_name = quote == b'"' && self.mode.ansi_quotes;
                let kind = if is_name { TokenKind::Quoted } else { TokenKind::Text };
                let token = self.quoted(start, kind);
                match token.kind {
                    TokenKind::Invalid => token,
                    _ => self.token(TokenKind::UserVariable, start),
                }
            }
            b'`' => {
                let token = self.quoted(start, TokenKind::Quoted);
                match token.kind {
                    TokenKind::Invalid => token,
                    _ => self.token(TokenKind::UserVariable, start),
                }
            }
            byte if self.at < self.bytes.len() && (is_name_byte(byte) || byte == b'.') => {
                self.skip_while(|byte| is_name_byte(byte) || byte == b'.');
                self.token(TokenKind::UserVariable, start)
            }
            _ => self.token(TokenKind::Symbol, start),
        }
    }

    fn system_variable(&mut self, start: usize) -> Token {
        self.at += 2;
        loop {
            if self.peek(0) == b'`' {
                let token = self.quoted(start, TokenKind::Quoted);
                if token.kind == TokenKind::Invalid {
                    return token;
                }
            } else if self.at < self.bytes.len() && is_name_byte(self.peek(0)) {
                self.skip_while(is_name_byte);
            } else {
                return self.invalid(start);
            }
            let next = self.peek(1);
            if self.peek(0) == b'.' && (is_name_byte(next) || next == b'`') {
                self.at += 1;
            } else {
                return self.token(TokenKind::SystemVariable, start);
            }
        }
    }

    /// Skips `$tag$ ... $tag$`; `false`, without a step, if there is none.
    fn program(&mut self, start: usize) -> bool {
        let rest = self.rest().get(1..).unwrap_or_default();
        let Some(tag) = rest.iter().position(|&byte| byte == b'$' || !is_name_byte(byte)) else {
            return false;
        };
        if rest.get(tag) != Some(&b'$') {
            return false;
        }
        let mark = &self.rest()[..tag + 2];
        let bytes = self.bytes;
        // Else every mark without an end would be looked for up to the end of the text.
        let last = *self.marks.get_or_insert_with(|| last_marks(bytes)).get(mark).unwrap_or(&0);
        if last < start + mark.len() {
            return false;
        }
        match self.find(start + mark.len(), mark) {
            Some(length) => {
                self.at = start + length + 2 * mark.len();
                true
            }
            None => false,
        }
    }

    fn symbol(&mut self, start: usize) -> Token {
        for symbol in SYMBOLS {
            if self.rest().starts_with(symbol.as_bytes()) {
                self.at += symbol.len();
                return self.token(TokenKind::Symbol, start);
            }
        }
        match self.peek(0) {
            b'?' => {
                self.at += 1;
                self.token(TokenKind::Placeholder, start)
            }
            byte if b"()[]{},;.:=<>!+-*/%^&|~".contains(&byte) => {
                self.at += 1;
                self.token(TokenKind::Symbol, start)
            }
            _ => self.invalid(start),
        }
    }

    fn next_token(&mut self) -> Option<Token> {
        if self.ended {
            return None;
        }
        if let Some(token) = self.skip_blanks() {
            return Some(token);
        }
        let start = self.at;
        if start >= self.bytes.len() {
            self.ended = true;
            if self.in_comment || self.stopped {
                return Some(self.invalid(start));
            }
            return None;
        }
        let (byte, next) = (self.peek(0), self.peek(1));
        Some(match byte {
            b'\'' => self.quoted(start, TokenKind::Text),
            b'"' if self.mode.ansi_quotes => self.quoted(start, TokenKind::Quoted),
            b'"' => self.quoted(start, TokenKind::Text),
            b'`' => self.quoted(start, TokenKind::Quoted),
            b'n' | b'N' if next == b'\'' && !self.after_dot => {
                self.at += 1;
                self.quoted(start, TokenKind::National)
            }
            b'x' | b'X' if next == b'\'' && !self.after_dot => {
                self.coded(start, TokenKind::Hex, |byte| byte.is_ascii_hexdigit())
            }
            b'b' | b'B' if next == b'\'' && !self.after_dot => {
                self.coded(start, TokenKind::Bits, |byte| matches!(byte, b'0' | b'1'))
            }
            b'0'..=b'9' if !self.after_dot => self.number_or_name(start),
            b'.' if next.is_ascii_digit() && !self.joins_names() => self.fraction(start),
            b'@' => self.variable(start),
            b'$' if !self.after_dot && self.program(start) => self.token(TokenKind::Program, start),
            _ if is_name_byte(byte) => self.word(start),
            _ => self.symbol(start),
        })
    }

    /// Whether the dot here is directly after a name, as in `t.1a`.
    fn joins_names(&self) -> bool {
        self.at > 0
            && self
                .bytes
                .get(self.at - 1)
                .is_some_and(|&byte| is_name_byte(byte) || byte == b'`' || byte == b'"')
    }
}

impl Iterator for Lexer<'_> {
    type Item = Token;

    fn next(&mut self) -> Option<Token> {
        let token = self.next_token()?;
        let text = token.text(self.sql);
        self.after_dot = token.kind == TokenKind::Symbol && text == ".";
        self.hint_may_follow = token.kind == TokenKind::Word
            && HINTED.iter().any(|word| word.eq_ignore_ascii_case(text));
        Some(token)
    }
}

/// Whether every server finds the end of a hint where it is: at the first `*/`, which MySQL passes
/// over in quotes.
fn is_plain_hint(hint: &str) -> bool {
    let inner = hint.get(3..hint.len().saturating_sub(2)).unwrap_or_default();
    let mut open = None;
    for byte in inner.bytes() {
        match (byte, open) {
            (b'\\' | 0, _) => return false,
            (b'\'' | b'"' | b'`', None) => open = Some(byte),
            (byte, Some(quote)) if byte == quote => open = None,
            _ => {}
        }
    }
    open.is_none() && !inner.contains("/*")
}

/// The last position of each mark like `$tag$`.
fn last_marks(bytes: &[u8]) -> HashMap<&[u8], usize> {
    let mut marks = HashMap::new();
    let mut open = None;
    for (at, &byte) in bytes.iter().enumerate() {
        if byte == b'$' {
            if let Some(start) = open.replace(at) {
                marks.insert(&bytes[start..=at], start);
            }
        } else if !is_name_byte(byte) {
            open = None;
        }
    }
    marks
}
