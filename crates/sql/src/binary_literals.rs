//! Binary literals: converts statements whose strings contain bytes that are not valid text.
//!
//! Dumps write binary columns as `_binary '...'` with the raw bytes, whatever the charset of the
//! connection is, and many drivers omit even the introducer. The parser reads text, so such strings
//! are first converted to hexadecimal literals: `_binary x'00ff'` is the same value. A string that
//! is not valid in the connection's charset becomes `_utf8mb4 x'00ff'`, whose bytes count where
//! bytes are required. Comments can contain any bytes.

use crate::Mode;
use crate::lexer::{CHARSETS, is_name_byte};

/// A statement of a client that writes in `charset`, in which strings with bytes beyond ASCII are
/// written in digits where they have an introducer or are no text; `None` if it has none. Nothing
/// else changes but comments that are no text, and nothing else need be text.
pub fn in_digits(statement: &[u8], charset: &str, mode: Mode) -> Option<Vec<u8>> {
    let mut out: Option<Vec<u8>> = None;
    let mut replace = |(from, to): (usize, usize), by: &str| {
        let made = out.get_or_insert_with(|| Vec::with_capacity(statement.len() * 2));
        made.extend_from_slice(&statement[from..to]);
        made.extend_from_slice(by.as_bytes());
    };
    let (mut at, mut copied) = (0, 0);
    while at < statement.len() {
        let rest = &statement[at..];
        match rest[0] {
            quote @ (b'\'' | b'"' | b'`') => {
                let is_name = quote == b'`' || quote == b'"' && mode.ansi_quotes;
                let Some((first, mut value)) = string(rest, quote, mode, !is_name) else { break };
                let before = &statement[copied..at];
                let mut length = first;
                if !is_name && introduced(before).is_some() {
                    // Strings side by side are one. (The rest of them has no introducer, so that
                    // none is read more than twice.)
                    while let Some((more, said)) = continued(&rest[length..], mode) {
                        value.extend(said);
                        length += more;
                    }
                }
                let (string, after) = rest.split_at(length);
                let is_candidate = !is_name && !string.is_ascii();
                let introducer =
                    if is_candidate { introducer(before, (string, after), charset) } else { None };
                match introducer {
                    Some(introducer) => {
                        replace((copied, at), &(introducer + &crate::literal::bytes(&value)));
                        at += length;
                        copied = at;
                    }
                    None => at += first,
                }
            }
            _ => match comment(rest) {
                Some(length) => {
                    let said = &rest[..length];
                    if is_unicode(charset) && std::str::from_utf8(said).is_err() {
                        replace((copied, at), &String::from_utf8_lossy(said));
                        copied = at + length;
                    }
                    at += length;
                }
                None => at += 1,
            },
        }
    }
    let mut out = out?;
    out.extend_from_slice(&statement[copied..]);
    Some(out)
}

/// The charset that an introducer at the end of a text names.
fn introduced(before: &[u8]) -> Option<&'static str> {
    let (rest, word) = last_word(before.trim_ascii_end());
    let of = word.strip_prefix(b"_")?;
    let of = CHARSETS.iter().find(|known| known.as_bytes().eq_ignore_ascii_case(of))?;
    let is_name = rest.last().is_some_and(|byte| matches!(byte, b'@' | b'.'));
    (!is_name).then_some(*of)
}

/// The word at the end of a text, and the text before it.
fn last_word(text: &[u8]) -> (&[u8], &[u8]) {
    let at = text.iter().rposition(|byte| !is_name_byte(*byte)).map_or(0, |at| at + 1);
    text.split_at(at)
}

/// A string that goes on with the one in front of it: how far it reaches, and what it says.
fn continued(text: &[u8], mode: Mode) -> Option<(usize, Vec<u8>)> {
    let mut at = 0;
    loop {
        let rest = text.get(at..)?;
        at += rest.len() - rest.trim_ascii_start().len();
        match comment(text.get(at..)?) {
            Some(length) => at += length,
            None => break,
        }
    }
    let quote = *text.get(at)?;
    if quote != b'\'' && (quote != b'"' || mode.ansi_quotes) {
        return None;
    }
    let (length, value) = string(&text[at..], quote, mode, true)?;
    Some((at + length, value))
}

/// What has to stand between what comes before a string and the digits of its bytes; `None` if the
/// string may stay. `string` is given with its quotes and what follows.
fn introducer(before: &[u8], (string, after): (&[u8], &[u8]), charset: &str) -> Option<String> {
    let is_text = std::str::from_utf8(string).is_ok();
    let trimmed = before.trim_ascii_end();
    if let Some(of) = introduced(before) {
        let is_same = is_unicode(charset) && is_unicode(of) && is_text;
        let gap = if trimmed.len() == before.len() { " " } else { "" };
        return (!is_same).then(|| gap.to_owned());
    }
    // `N'...'`, `@'...'`, and strings side by side, which are one.
    let is_glued = before.last().is_some_and(|byte| is_name_byte(*byte) || *byte == b'@');
    let is_quote = |byte: Option<&u8>| byte.is_some_and(|byte| matches!(byte, b'\'' | b'"'));
    if is_text || is_glued || is_quote(trimmed.last()) || is_quote(after.trim_ascii_start().first())
    {
        return None;
    }
    (is_unicode(charset) || charset == "binary").then(|| format!("_{charset} "))
}

/// Whether text of a charset is written in UTF-8.
fn is_unicode(charset: &str) -> bool {
    charset.starts_with("utf8")
}

/// The length of the string or name at the beginning, and its value; `None` if it has no end.
fn string(text: &[u8], quote: u8, mode: Mode, escapes: bool) -> Option<(usize, Vec<u8>)> {
    let escapes = escapes && !mode.no_backslash_escapes;
    let mut value = Vec::new();
    let mut at = 1;
    loop {
        let byte = *text.get(at)?;
        let next = text.get(at + 1).copied();
        at += match byte {
            b'\\' if escapes => {
                let next = next?;
                // In front of the wildcards of LIKE the backslash stays.
                if matches!(next, b'%' | b'_') {
                    value.push(b'\\');
                }
                value.push(escaped(next));
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

/// The byte that a backslash and a letter represent.
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

/// The length of the comment at the beginning. The content of `/*! */` is part of the statement.
fn comment(text: &[u8]) -> Option<usize> {
    match text.first()? {
        b'#' => Some(line(text)),
        b'-' if is_dash_comment(text) => Some(line(text)),
        b'/' if text.starts_with(b"/*") && !text.starts_with(b"/*!") => Some(block(text)),
        _ => None,
    }
}

fn block(text: &[u8]) -> usize {
    let end = text.get(2..).and_then(|rest| rest.windows(2).position(|two| two == b"*/"));
    end.map_or(text.len(), |at| at + 4)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn made(statement: &[u8]) -> Option<String> {
        made_of(statement, "utf8mb4")
    }

    fn made_of(statement: &[u8], charset: &str) -> Option<String> {
        let made = in_digits(statement, charset, Mode::default());
        made.map(|it| String::from_utf8_lossy(&it).into_owned())
    }

    #[test]
    fn byte_strings_become_digits() {
        let statement =
            b"INSERT INTO t VALUES (_binary '\xff\\0\\'\\\\x',_BINARY\"\xc3\",'a\\'',7)";
        let expected = "INSERT INTO t VALUES (_binary x'ff00275c78',_BINARY x'c3','a\\'',7)";
        assert_eq!(made(statement).as_deref(), Some(expected));
        assert_eq!(made(b"SELECT _binary'\xff\\%\\_'").unwrap(), "SELECT _binary x'ff5c255c5f'");
    }

    #[test]
    fn strings_that_are_no_text_become_digits() {
        let statement = b"INSERT INTO t VALUES('\xff\\'', \"\xc3\xa9\",'\xc3')";
        let expected = "INSERT INTO t VALUES(_utf8mb4 x'ff27', \"é\",_utf8mb4 x'c3')";
        assert_eq!(made(statement).as_deref(), Some(expected));
        assert_eq!(made_of(b"SELECT '\xff'", "binary").unwrap(), "SELECT _binary x'ff'");
        assert_eq!(made_of(b"SELECT '\xff'", "latin1"), None);
        assert_eq!(made(b"SELECT _latin1'\xe9'").unwrap(), "SELECT _latin1 x'e9'");
        assert_eq!(made(b"SELECT _utf8mb4'\xff'").unwrap(), "SELECT _utf8mb4 x'ff'");
        assert_eq!(made(b"SELECT _utf8mb4'\xc3\xa9'"), None);
        let utf8 = made_of(b"SELECT _utf8mb4'\xc3\xa9'", "latin1");
        assert_eq!(utf8.unwrap(), "SELECT _utf8mb4 x'c3a9'");
    }

    #[test]
    fn strings_side_by_side_are_one() {
        let cases: [(&[u8], &str); 4] = [
            (b"SELECT _binary '\xff' 'abc'", "SELECT _binary x'ff616263'"),
            (b"SELECT _binary '\xff'\n\"a\" /* \xff */ 'b', 'c'", "SELECT _binary x'ff6162', 'c'"),
            (b"SELECT _binary 'a' '\xff' AS b", "SELECT _binary x'61ff' AS b"),
            (b"SELECT _binary '\xff', 'abc'", "SELECT _binary x'ff', 'abc'"),
        ];
        for (statement, expected) in cases {
            assert_eq!(made(statement).as_deref(), Some(expected));
        }
        // In quotes like these stands a name then.
        let mode = Mode { ansi_quotes: true, ..Mode::default() };
        let named = in_digits(b"SELECT _binary '\xff' \"a\"", "utf8mb4", mode).unwrap();
        assert_eq!(named, b"SELECT _binary x'ff' \"a\"");
    }

    #[test]
    fn comments_hold_any_bytes() {
        let statement = b"SELECT /* \xe9 '\xff' */ 1 # \xff\n, 2 -- \xff";
        let expected = "SELECT /* \u{fffd} '\u{fffd}' */ 1 # \u{fffd}\n, 2 -- \u{fffd}";
        assert_eq!(made(statement).as_deref(), Some(expected));
        assert_eq!(made_of(statement, "latin1"), None);
        assert_eq!(made(b"SELECT /* \xc3\xa9 */ 1"), None);
    }

    #[test]
    fn nothing_else_changes() {
        let texts: [&[u8]; 9] = [
            b"SELECT _binary 'plain'",
            b"SELECT '\xff' 'x'",
            b"SELECT '_binary ' '\xff'",
            b"SELECT `_binary '\xff'`",
            b"SELECT N'\xff'",
            b"SELECT @'\xff'",
            b"SELECT 1 -- _binary '\xc3\xa9'",
            b"SELECT 1 /* _binary '\xc3\xa9' */",
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
            for charset in ["utf8mb4", "latin1", "binary"] {
                let _ = in_digits(&bytes, charset, Mode::default());
            }
        }
    }
}
