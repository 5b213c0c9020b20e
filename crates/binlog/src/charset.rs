//! Converts text of the supported charsets to UTF-8.
//!
//! These are UTF-8 and the other forms of Unicode, ASCII, `latin1`, and those that have a
//! [`Table`].

use std::borrow::Cow;

use pelorus_error::{Code, Error, Result};
use pelorus_types::Collation;
use pelorus_types::charset::Table;

/// How text of a charset becomes UTF-8.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Charset {
    /// UTF-8 already (or bytes, which are taken for it).
    Utf8,
    Ascii,
    Latin1,
    /// Two bytes for each character, which may be halves of one of UTF-16: those are no text.
    Ucs2,
    Utf16Be,
    Utf16Le,
    Utf32,
    Table(&'static Table),
    /// Not known; the name is for the error.
    Unknown(&'static str),
}

impl Charset {
    pub(crate) fn of(collation: Collation) -> Self {
        match collation.charset() {
            "utf8mb4" | "utf8mb3" | "utf8" | "binary" => Charset::Utf8,
            "ascii" => Charset::Ascii,
            "latin1" => Charset::Latin1,
            "ucs2" => Charset::Ucs2,
            "utf16" => Charset::Utf16Be,
            "utf16le" => Charset::Utf16Le,
            "utf32" => Charset::Utf32,
            other => Table::of(other).map_or(Charset::Unknown(other), Charset::Table),
        }
    }

    /// Appends text as UTF-8.
    ///
    /// # Errors
    /// Bytes that are no text of this charset (1300), and a charset that is not known.
    pub(crate) fn append(self, text: &[u8], out: &mut Vec<u8>) -> Result<()> {
        match self {
            // Checked once for a whole array.
            Charset::Utf8 => out.extend_from_slice(text),
            _ if self.is_ascii_like() && text.is_ascii() => out.extend_from_slice(text),
            Charset::Latin1 => text.iter().for_each(|byte| push(latin1(*byte), out)),
            Charset::Ucs2 => {
                let (units, rest) = text.as_chunks::<2>();
                if !rest.is_empty() {
                    return Err(invalid("ucs2", text));
                }
                for unit in units {
                    let c = char::from_u32(u32::from(u16::from_be_bytes(*unit)));
                    push(c.ok_or_else(|| invalid("ucs2", text))?, out);
                }
            }
            Charset::Utf16Be => utf16(text, u16::from_be_bytes, out)?,
            Charset::Utf16Le => utf16(text, u16::from_le_bytes, out)?,
            Charset::Utf32 => {
                let (units, rest) = text.as_chunks::<4>();
                if !rest.is_empty() {
                    return Err(invalid("utf32", text));
                }
                for unit in units {
                    let c = char::from_u32(u32::from_be_bytes(*unit));
                    push(c.ok_or_else(|| invalid("utf32", text))?, out);
                }
            }
            Charset::Ascii => return Err(invalid("ascii", text)),
            Charset::Table(table) => {
                if !table.decode(text, out) {
                    return Err(invalid(table.name(), text));
                }
            }
            Charset::Unknown(name) => {
                return Err(Error::unsupported(format_args!("text in character set {name}")));
            }
        }
        Ok(())
    }

    fn is_ascii_like(self) -> bool {
        match self {
            Charset::Ascii | Charset::Latin1 => true,
            Charset::Table(table) => table.is_ascii(),
            _ => false,
        }
    }
}

/// Whether text of the charset of a collation can be read here.
pub fn reads(collation: Collation) -> bool {
    !matches!(Charset::of(collation), Charset::Unknown(_))
}

/// The text of a statement.
pub(crate) fn decode(collation: Collation, bytes: &[u8]) -> Result<Cow<'_, str>> {
    let charset = Charset::of(collation);
    if matches!(charset, Charset::Utf8) || (charset.is_ascii_like() && bytes.is_ascii()) {
        return std::str::from_utf8(bytes)
            .map(Cow::Borrowed)
            .map_err(|_| invalid(collation.charset(), bytes));
    }
    let mut out = Vec::with_capacity(bytes.len());
    charset.append(bytes, &mut out)?;
    String::from_utf8(out).map(Cow::Owned).map_err(|_| invalid(collation.charset(), bytes))
}

fn push(c: char, out: &mut Vec<u8>) {
    out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
}

fn utf16(text: &[u8], unit: impl Fn([u8; 2]) -> u16, out: &mut Vec<u8>) -> Result<()> {
    let (units, rest) = text.as_chunks::<2>();
    if !rest.is_empty() {
        return Err(invalid("utf16", text));
    }
    for c in char::decode_utf16(units.iter().map(|bytes| unit(*bytes))) {
        push(c.map_err(|_| invalid("utf16", text))?, out);
    }
    Ok(())
}

/// A byte of MySQL's `latin1`: Windows-1252, with control characters where Windows has none.
fn latin1(byte: u8) -> char {
    const HIGH: [char; 32] = [
        '\u{20AC}', '\u{81}', '\u{201A}', '\u{192}', '\u{201E}', '\u{2026}', '\u{2020}',
        '\u{2021}', '\u{2C6}', '\u{2030}', '\u{160}', '\u{2039}', '\u{152}', '\u{8D}', '\u{17D}',
        '\u{8F}', '\u{90}', '\u{2018}', '\u{2019}', '\u{201C}', '\u{201D}', '\u{2022}', '\u{2013}',
        '\u{2014}', '\u{2DC}', '\u{2122}', '\u{161}', '\u{203A}', '\u{153}', '\u{9D}', '\u{17E}',
        '\u{178}',
    ];
    match byte {
        0x80..=0x9F => HIGH[usize::from(byte - 0x80)],
        other => char::from(other),
    }
}

/// MySQL's words for text that is not what its charset says, with the first bytes.
fn invalid(charset: &str, bytes: &[u8]) -> Error {
    let shown: String = bytes.iter().take(6).map(|byte| format!("\\x{byte:02X}")).collect();
    Error::new(
        Code::InvalidCharacterString,
        format!("Invalid {charset} character string: '{shown}'"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_of_unicode_and_latin1() {
        let text =
            |collation, bytes: &[u8]| decode(Collation(collation), bytes).map(Cow::into_owned);
        assert_eq!(text(8, b"caf\xe9 \x80").unwrap(), "café €");
        assert_eq!(text(54, b"\0e\xd8\x3d\xde\x00").unwrap(), "e😀");
        assert_eq!(text(56, b"e\0").unwrap(), "e");
        assert_eq!(text(60, b"\0\0\0e").unwrap(), "e");
        assert_eq!(text(13, b"plain").unwrap(), "plain");
        assert_eq!(text(13, b"\x83\x5c").unwrap(), "ソ");
        assert_eq!(text(13, b"\x83").unwrap_err().errno(), 1300);
        assert_eq!(text(10, b"[plain]").unwrap(), "ÄplainÅ");
        assert_eq!(text(35, b"\xd8\x3d\xde\x00").unwrap_err().errno(), 1300);
        assert_eq!(text(11, b"\xe9").unwrap_err().errno(), 1300);
        assert_eq!(text(54, b"\xd8\x3d").unwrap_err().errno(), 1300);
        assert_eq!(text(54, b"\xd8").unwrap_err().errno(), 1300);
        assert_eq!(text(255, b"\xff").unwrap_err().errno(), 1300);
    }
}
