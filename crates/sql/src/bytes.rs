//! Statements that hold bytes which are no text.
//!
//! Dumps write binary columns as `_binary '...'` with the bytes as they are, whatever the charset of
//! the connection is. Everything else here reads text, so that such strings become digits first:
//! `_binary x'00ff'` is the same value.

use crate::Mode;

/// The introducer of byte strings.
const BINARY: &[u8] = b"_binary";

/// A statement in which byte strings with bytes beyond ASCII are written in digits; `None` if it has
/// none. Nothing else changes, and nothing else need be text.
pub fn in_digits(statement: &[u8], mode: Mode) -> Option<Vec<u8>> {
    let mut out: Option<Vec<u8>> = None;
    let (mut at, mut copied) = (0, 0);
    while at < statement.len() {
        let rest = &statement[at..];
        match rest[0] {
            quote @ (b'\'' | b'"' | b'`') => {
                let is_name = quote == b'`' || quote == b'"' && mode.ansi_quotes;
                let Some((length, value)) = string(rest, quote, mode, !is_name) else { break };
                let introducer = introducer(&statement[copied..at]).filter(|_| !is_name);
                if let (Some(_), false) = (introducer, value.is_ascii()) {
                    let made = out.get_or_insert_with(|| Vec::with_capacity(statement.len() * 2));
                    made.extend_from_slice(&statement[copied..at]);
                    made.extend_from_slice(crate::literal::bytes(&value).as_bytes());
                    copied = at + length;
                }
                at += length;
            }
            b'#' => at += line(rest),
            b'-' if is_dash_comment(rest) => at += line(rest),
            // What stands in `/*! */` is part of the statement.
            b'/' if rest.starts_with(b"/*") && !rest.starts_with(b"/*!") => at += comment(rest),
            _ => at += 1,
        }
    }
    let mut out = out?;
    out.extend_from_slice(&statement[copied..]);
    Some(out)
}

/// Whether a text ends with the introducer of byte strings, spaces behind it or not.
fn introducer(before: &[u8]) -> Option<()> {
    let before = before.trim_ascii_end();
    let (rest, last) = before.split_at_checked(before.len().checked_sub(BINARY.len())?)?;
    let is_part_of_word = |byte: &u8| {
        byte.is_ascii_alphanumeric()
            || matches!(byte, b'_' | b'$' | b'@' | b'.')
            || !byte.is_ascii()
    };
    (last.eq_ignore_ascii_case(BINARY) && !rest.last().is_some_and(is_part_of_word)).then_some(())
}

/// How long the string or name at the beginning is, and what it says; `None` if it has no end.
fn string(text: &[u8], quote: u8, mode: Mode, escapes: bool) -> Option<(usize, Vec<u8>)> {
    let escapes = escapes && !mode.no_backslash_escapes;
    let mut value = Vec::new();
    let mut at = 1;
    loop {
        let byte = *text.get(at)?;
        let next = text.get(at + 1).copied();
        at += match byte {
            b'\\' if escapes => {
                value.push(escaped(next?));
                2
            }
            _ if byte == quote && next == Some(quote) => {
                value.push(quote);
                2
            }
            _ if byte == quote => return Some((at + 1, value)),
            _ => {
                value.push(byte);
                1
            }
        };
    }
}

/// The byte that a backslash and a letter stand for.
fn escaped(letter: u8) -> u8 {
    match letter {
        b'0' => 0,
        b'b' => 8,
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'Z' => 0x1a,
        other => other,
    }
}

fn line(text: &[u8]) -> usize {
    text.iter().position(|byte| *byte == b'\n').map_or(text.len(), |at| at + 1)
}

fn is_dash_comment(text: &[u8]) -> bool {
    text.starts_with(b"--") && text.get(2).is_none_or(|byte| byte.is_ascii_whitespace())
}

fn comment(text: &[u8]) -> usize {
    let end = text.get(2..).and_then(|rest| rest.windows(2).position(|two| two == b"*/"));
    end.map_or(text.len(), |at| at + 4)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn made(statement: &[u8]) -> Option<String> {
        in_digits(statement, Mode::default()).map(|it| String::from_utf8_lossy(&it).into_owned())
    }

    #[test]
    fn byte_strings_become_digits() {
        let statement =
            b"INSERT INTO t VALUES (_binary '\xff\\0\\'\\\\x',_BINARY\"\xc3\",'a\\'',7)";
        let expected = "INSERT INTO t VALUES (_binary x'ff00275c78',_BINARYx'c3','a\\'',7)";
        assert_eq!(made(statement).as_deref(), Some(expected));
    }

    #[test]
    fn nothing_else_changes() {
        let texts: [&[u8]; 8] = [
            b"SELECT _binary 'plain'",
            b"SELECT '\xff'",
            b"SELECT '_binary ' '\xff'",
            b"SELECT `_binary '\xff'`",
            b"SELECT a_binary '\xff'",
            b"SELECT 1 -- _binary '\xff'",
            b"SELECT 1 /* _binary '\xff' */",
            b"SELECT _binary '\xff",
        ];
        for text in texts {
            assert_eq!(made(text), None, "{}", String::from_utf8_lossy(text));
        }
    }

    proptest! {
        #[test]
        fn what_a_byte_string_says_stays(value in prop::collection::vec(any::<u8>(), 0..40)) {
            let mut statement = b"SELECT _binary '".to_vec();
            for byte in &value {
                if matches!(byte, b'\'' | b'\\') {
                    statement.push(b'\\');
                }
                statement.push(*byte);
            }
            statement.extend_from_slice(b"' AS a");
            let digits = crate::literal::bytes(&value);
            let expected = (!value.is_ascii()).then(|| format!("SELECT _binary {digits} AS a"));
            prop_assert_eq!(made(&statement), expected);
        }

        #[test]
        fn rubbish_is_read(bytes in prop::collection::vec(any::<u8>(), 0..60)) {
            let _ = in_digits(&bytes, Mode::default());
        }
    }
}
