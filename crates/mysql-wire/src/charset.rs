//! Text in the charsets that clients send: the Unicode ones, and the simple one-byte ones.

use std::borrow::Cow;

use pelorus_error::{Code, Error, Result};
use pelorus_types::Collation;

/// Windows-1252 from 0x80 to 0x9F, as MySQL's `latin1` has it: bytes that Windows leaves open map
/// to the control characters of the same number.
const CP1252_HIGH: [char; 32] = [
    '\u{20AC}', '\u{81}', '\u{201A}', '\u{192}', '\u{201E}', '\u{2026}', '\u{2020}', '\u{2021}',
    '\u{2C6}', '\u{2030}', '\u{160}', '\u{2039}', '\u{152}', '\u{8D}', '\u{17D}', '\u{8F}',
    '\u{90}', '\u{2018}', '\u{2019}', '\u{201C}', '\u{201D}', '\u{2022}', '\u{2013}', '\u{2014}',
    '\u{2DC}', '\u{2122}', '\u{161}', '\u{203A}', '\u{153}', '\u{9D}', '\u{17E}', '\u{178}',
];

/// Reads text that a client sent under `collation`. Text that its charset does not allow, and
/// charsets beyond the simple ones (unless the text is plain ASCII), are refused.
pub fn decode(collation: Collation, bytes: &[u8]) -> Result<Cow<'_, str>> {
    let charset = collation.charset();
    match charset {
        "latin1" => Ok(decode_latin1(bytes)),
        "utf8mb4" | "utf8mb3" | "utf8" | "binary" => std::str::from_utf8(bytes)
            .map(Cow::Borrowed)
            .map_err(|error| invalid(charset, bytes, error.valid_up_to())),
        // MySQL does not allow UCS-2 and similar charsets as a client's charset either.
        _ if bytes.is_ascii() => {
            std::str::from_utf8(bytes).map(Cow::Borrowed).map_err(|_| invalid(charset, bytes, 0))
        }
        "ascii" => {
            let at = bytes.iter().position(|byte| !byte.is_ascii()).unwrap_or_default();
            Err(invalid(charset, bytes, at))
        }
        other => Err(Error::unsupported(format_args!("statements in character set {other}"))),
    }
}

fn decode_latin1(bytes: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(bytes) {
        Ok(text) if text.is_ascii() => Cow::Borrowed(text),
        _ => Cow::Owned(
            bytes
                .iter()
                .map(|&byte| match byte {
                    0x80..=0x9F => CP1252_HIGH[usize::from(byte - 0x80)],
                    other => char::from(other),
                })
                .collect(),
        ),
    }
}

/// MySQL's words for text that is not what its charset says (error 1300), with the first bytes.
fn invalid(charset: &str, bytes: &[u8], at: usize) -> Error {
    let shown: String =
        bytes.iter().skip(at).take(6).map(|byte| format!("\\x{byte:02X}")).collect();
    Error::new(
        Code::InvalidCharacterString,
        format!("Invalid {charset} character string: '{shown}'"),
    )
}

/// Writes text in the charset that a client wants results in (`character_set_results`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoder {
    /// UTF-8, as everything here is.
    AsIs,
    /// UTF-8 of up to three bytes.
    Utf8mb3,
    /// Windows-1252.
    Latin1,
    /// 7 bits.
    Ascii,
    /// A charset that is written only as far as it is ASCII; all else is refused.
    AsciiOrRefuse(&'static str),
}

impl Encoder {
    /// The encoder of a collation's charset; without conversion if the client wants that (`None`).
    /// Charsets that are not supersets of ASCII are refused.
    pub fn of(collation: Option<Collation>) -> Result<Self> {
        let Some(collation) = collation else { return Ok(Self::AsIs) };
        Ok(match collation.charset() {
            "utf8mb4" | "binary" => Self::AsIs,
            "utf8mb3" | "utf8" => Self::Utf8mb3,
            "latin1" => Self::Latin1,
            "ascii" => Self::Ascii,
            charset @ ("ucs2" | "utf16" | "utf16le" | "utf32") => {
                return Err(no_results_in(charset));
            }
            charset => Self::AsciiOrRefuse(charset),
        })
    }

    /// Writes text. Characters that the charset has not become `?`, as MySQL does it.
    pub fn encode(self, text: &[u8]) -> Result<Cow<'_, [u8]>> {
        if self == Self::AsIs || text.is_ascii() {
            return Ok(Cow::Borrowed(text));
        }
        let chars = String::from_utf8_lossy(text);
        Ok(Cow::Owned(match self {
            Self::AsIs => text.to_vec(),
            Self::Latin1 => chars.chars().map(|c| latin1_byte(c).unwrap_or(b'?')).collect(),
            Self::Ascii => chars
                .chars()
                .map(|c| u8::try_from(c).ok().filter(u8::is_ascii).unwrap_or(b'?'))
                .collect(),
            Self::Utf8mb3 => {
                let narrow = |c: char| if c.len_utf8() > 3 { '?' } else { c };
                chars.chars().map(narrow).collect::<String>().into_bytes()
            }
            Self::AsciiOrRefuse(charset) => return Err(no_results_in(charset)),
        }))
    }
}

fn no_results_in(charset: &str) -> Error {
    Error::unsupported(format_args!("results in character set {charset}"))
}

/// The byte of a character in MySQL's `latin1`.
fn latin1_byte(character: char) -> Option<u8> {
    let high = CP1252_HIGH.iter().position(|high| *high == character);
    match high {
        Some(at) => u8::try_from(0x80 + at).ok(),
        None => u8::try_from(character).ok().filter(|byte| !(0x80..=0x9F).contains(byte)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_written_in_the_clients_charset() {
        let write = |collation, text: &str| {
            Encoder::of(Some(Collation(collation)))?.encode(text.as_bytes()).map(Cow::into_owned)
        };
        assert_eq!(write(8, "café € 日").unwrap(), b"caf\xe9 \x80 ?");
        assert_eq!(write(11, "café").unwrap(), b"caf?");
        assert_eq!(write(33, "日😀").unwrap(), "日?".as_bytes());
        assert_eq!(write(255, "日😀").unwrap(), "日😀".as_bytes());
        assert_eq!(write(13, "plain").unwrap(), b"plain");
        assert_eq!(write(13, "日").unwrap_err().errno(), 1235);
        // ucs2
        assert_eq!(write(35, "plain").unwrap_err().errno(), 1235);
        for byte in 0_u8..=255 {
            let text = decode(Collation(8), &[byte]).unwrap().into_owned();
            assert_eq!(write(8, &text).unwrap(), [byte]);
        }
    }

    #[test]
    fn simple_charsets_are_read_and_broken_text_is_refused() {
        assert_eq!(decode(Collation(8), b"caf\xe9 \x80").unwrap(), "café €");
        assert_eq!(decode(Collation(255), "née".as_bytes()).unwrap(), "née");
        assert_eq!(decode(Collation(255), b"x\xff").unwrap_err().errno(), 1300);
        assert_eq!(decode(Collation(11), b"x\xff").unwrap_err().errno(), 1300);
        assert_eq!(decode(Collation(11), b"x").unwrap(), "x");
        // sjis
        assert_eq!(decode(Collation(13), b"select 1").unwrap(), "select 1");
        assert_eq!(decode(Collation(13), b"\x83\x5c").unwrap_err().errno(), 1235);
    }
}
