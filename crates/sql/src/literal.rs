//! Conversion of values to literals, and of literals to values.

use std::fmt::Write as _;

use sqlparser::ast::{Expr, Value};

use crate::Mode;

/// The value of a literal in a statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Constant {
    /// `NULL`
    Null,
    /// `TRUE` or `FALSE`.
    Boolean(bool),
    /// Digits only; too large for a BIGINT it is a DECIMAL.
    Integer(String),
    /// Digits and a point: an exact DECIMAL.
    Decimal(String),
    /// With an exponent: a DOUBLE.
    Float(String),
    /// A string, with the charset of its introducer (`N'..'` gives `utf8mb3`).
    Text {
        /// The characters, escapes resolved. With an introducer of another charset than that of
        /// the connection they are to be taken as bytes of that charset.
        text: String,
        /// The introducer without its underscore, in lower case.
        charset: Option<String>,
    },
    /// `x'..'`, `0x..`: a binary string that is a number where a number is needed. With an
    /// introducer it is text of that charset.
    Hex {
        /// The bytes.
        bytes: Vec<u8>,
        /// The introducer without its underscore, in lower case.
        charset: Option<String>,
    },
    /// `b'..'`, `0b..`: likewise.
    Bits {
        /// The bytes, most significant first.
        bytes: Vec<u8>,
        /// The introducer without its underscore, in lower case.
        charset: Option<String>,
    },
    /// `?`
    Placeholder,
}

/// Reads a literal of a parsed tree; `None` for an expression that is not a literal.
///
/// Strings in a tree keep the escapes of the source, and only this function gives their value.
pub fn constant(expr: &Expr, mode: Mode) -> Option<Constant> {
    match expr {
        Expr::Value(value) => constant_value(&value.value, mode),
        Expr::Prefixed { prefix, value } => {
            let name = prefix.value.strip_prefix('_')?.to_ascii_lowercase();
            let Expr::Value(value) = value.as_ref() else { return None };
            Some(match constant_value(&value.value, mode)? {
                Constant::Text { text, .. } => Constant::Text { text, charset: Some(name) },
                Constant::Hex { bytes, .. } => Constant::Hex { bytes, charset: Some(name) },
                Constant::Bits { bytes, .. } => Constant::Bits { bytes, charset: Some(name) },
                _ => return None,
            })
        }
        _ => None,
    }
}

/// Reads a value of a parsed tree, see [`constant`].
pub fn constant_value(value: &Value, mode: Mode) -> Option<Constant> {
    Some(match value {
        Value::Null => Constant::Null,
        Value::Boolean(truth) => Constant::Boolean(*truth),
        Value::SingleQuotedString(raw) => {
            Constant::Text { text: unescape(raw, '\'', mode), charset: None }
        }
        Value::NationalStringLiteral(raw) => {
            Constant::Text { text: unescape(raw, '\'', mode), charset: Some("utf8mb3".to_owned()) }
        }
        Value::HexStringLiteral(digits) => {
            Constant::Hex { bytes: hex_bytes(digits), charset: None }
        }
        Value::SingleQuotedByteStringLiteral(digits) => {
            Constant::Bits { bytes: bit_bytes(digits), charset: None }
        }
        Value::Number(text, _) => number(text),
        Value::Placeholder(_) => Constant::Placeholder,
        _ => return None,
    })
}

fn number(text: &str) -> Constant {
    if let Some(digits) = text.strip_prefix("0x") {
        Constant::Hex { bytes: hex_bytes(digits), charset: None }
    } else if let Some(digits) = text.strip_prefix("0b") {
        Constant::Bits { bytes: bit_bytes(digits), charset: None }
    } else if text.contains(['e', 'E']) {
        Constant::Float(text.to_owned())
    } else if text.contains('.') {
        Constant::Decimal(text.to_owned())
    } else {
        Constant::Integer(text.to_owned())
    }
}

/// Digits of base 16 into bytes; an odd count has a zero in front.
pub fn hex_bytes(digits: &str) -> Vec<u8> {
    let nibble = |byte: u8| u8::try_from(char::from(byte).to_digit(16).unwrap_or(0)).unwrap_or(0);
    let (odd, even) = digits.as_bytes().split_at(digits.len() % 2);
    let first = odd.iter().map(|&byte| nibble(byte));
    first.chain(even.chunks_exact(2).map(|pair| nibble(pair[0]) << 4 | nibble(pair[1]))).collect()
}

/// Digits of base 2 into bytes, zeros in front.
pub fn bit_bytes(digits: &str) -> Vec<u8> {
    let bit = |byte: &u8| u8::from(*byte == b'1');
    let (short, even) = digits.as_bytes().split_at(digits.len() % 8);
    let byte = |bits: &[u8]| bits.iter().fold(0, |byte, next| byte << 1 | bit(next));
    let first = (!short.is_empty()).then(|| byte(short));
    first.into_iter().chain(even.chunks_exact(8).map(byte)).collect()
}

/// The value of the text between the quotes of a string.
pub fn unescape(raw: &str, quote: char, mode: Mode) -> String {
    let mut out = String::with_capacity(raw.len());
    let mut chars = raw.chars().peekable();
    while let Some(char) = chars.next() {
        if char == quote {
            // Within the quotes a quote stands doubled.
            chars.next_if_eq(&quote);
            out.push(quote);
        } else if char == '\\' && !mode.no_backslash_escapes {
            match chars.next() {
                Some('0') => out.push('\0'),
                Some('b') => out.push('\u{8}'),
                Some('n') => out.push('\n'),
                Some('r') => out.push('\r'),
                Some('t') => out.push('\t'),
                Some('Z') => out.push('\u{1a}'),
                // In front of the wildcards of LIKE the backslash stays.
                Some(wildcard @ ('%' | '_')) => {
                    out.push('\\');
                    out.push(wildcard);
                }
                Some(other) => out.push(other),
                None => out.push('\\'),
            }
        } else {
            out.push(char);
        }
    }
    out
}

/// The value of a whole string token: `'it''s'`, `"x"`, `N'x'`.
pub fn text_of_token(token: &str, mode: Mode) -> String {
    let token = token.strip_prefix(['n', 'N']).unwrap_or(token);
    let Some(quote) = token.chars().next() else { return String::new() };
    let inner = token.strip_prefix(quote).unwrap_or(token);
    unescape(inner.strip_suffix(quote).unwrap_or(inner), quote, mode)
}

/// A string as a literal that gives the same value in the given mode.
pub fn text(value: &str, mode: Mode) -> String {
    let mut out = String::with_capacity(value.len() + 2);
    out.push('\'');
    for char in value.chars() {
        match char {
            '\'' => out.push_str("''"),
            '\\' if !mode.no_backslash_escapes => out.push_str("\\\\"),
            '\0' if !mode.no_backslash_escapes => out.push_str("\\0"),
            '\u{1a}' if !mode.no_backslash_escapes => out.push_str("\\Z"),
            _ => out.push(char),
        }
    }
    out.push('\'');
    out
}

/// A string as a literal without line breaks, where the mode has words for them: as definitions
/// are shown, which clients read line by line.
pub fn on_one_line(value: &str, mode: Mode) -> String {
    let text = text(value, mode);
    match mode.no_backslash_escapes {
        true => text,
        false => text.replace('\n', "\\n").replace('\r', "\\r"),
    }
}

/// Bytes as a hexadecimal literal: `0x4142`.
pub fn hexadecimal(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(2 * bytes.len() + 2);
    out.push_str("0x");
    for byte in bytes {
        // A `String` accepts every write.
        write!(out, "{byte:02X}").ok();
    }
    out
}

/// Bytes as a literal: `x'00ff'`.
pub fn bytes(value: &[u8]) -> String {
    let mut out = String::with_capacity(2 * value.len() + 3);
    out.push_str("x'");
    for byte in value {
        // A `String` accepts every write.
        write!(out, "{byte:02x}").ok();
    }
    out.push('\'');
    out
}

/// A finite DOUBLE as a literal that reads back as the same number and is a DOUBLE for MySQL;
/// `None` for values without a literal in MySQL.
pub fn double(value: f64) -> Option<String> {
    value.is_finite().then(|| format!("{value:e}"))
}

/// A DATE literal of a text like `2024-02-29`.
pub fn date(value: &str) -> String {
    format!("DATE'{value}'")
}

/// A DATETIME literal of a text like `2024-02-29 10:00:00.5`.
pub fn datetime(value: &str) -> String {
    format!("TIMESTAMP'{value}'")
}

/// A TIME literal of a text like `-10:00:00`.
pub fn time(value: &str) -> String {
    format!("TIME'{value}'")
}

/// A name in backticks.
pub fn name(value: &str) -> String {
    format!("`{}`", value.replace('`', "``"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn digits_become_bytes() {
        assert_eq!(hex_bytes("abc"), [0x0a, 0xbc]);
        assert_eq!(hex_bytes(""), [0u8; 0]);
        assert_eq!(bit_bytes("101000001"), [1, 0x41]);
        assert_eq!(bytes(&[0, 255]), "x'00ff'");
    }

    #[test]
    fn escapes_are_resolved() {
        let mode = Mode::default();
        assert_eq!(text_of_token(r"'a\'b''c\\\n\%'", mode), "a'b'c\\\n\\%");
        assert_eq!(text_of_token("\"it\"\"s 'x'\"", mode), "it\"s 'x'");
        let raw = Mode { no_backslash_escapes: true, ..mode };
        assert_eq!(text_of_token(r"'a\'", raw), r"a\");
        assert_eq!(double(1.0).as_deref(), Some("1e0"));
    }

    proptest! {
        #[test]
        fn text_reads_back(value in "\\PC*", controls in "[\\x00-\\x1f'\\\\%_\"]*", flag: bool) {
            let mode = Mode { no_backslash_escapes: flag, ..Mode::default() };
            let value = value + &controls;
            let literal = text(&value, mode);
            prop_assert_eq!(text_of_token(&literal, mode), value.clone());
            let line = on_one_line(&value, mode);
            prop_assert!(flag || !line.contains(['\n', '\r']));
            prop_assert_eq!(text_of_token(&line, mode), value.clone());
            let tokens = crate::tokens(&literal, mode);
            prop_assert_eq!(tokens.len(), 1);
            prop_assert_eq!(tokens[0].end, literal.len());
        }
    }
}
