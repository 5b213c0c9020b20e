//! Converts text to the bytes of its charset. Arrays hold UTF-8 whatever the charset is.

use std::borrow::Cow;

use pelorus_error::{Error, Result};
use pelorus_types::charset::Table;
use pelorus_types::{Collation, collation};

/// The bytes that a text has in the charset of a collation.
pub(crate) fn encode(text: &str, collation: Collation) -> Result<Cow<'_, [u8]>> {
    let charset = collation.charset();
    match charset {
        "utf8mb4" | "utf8mb3" | "utf8" | "binary" => Ok(Cow::Borrowed(text.as_bytes())),
        "ucs2" | "utf16" => {
            Ok(Cow::Owned(text.encode_utf16().flat_map(u16::to_be_bytes).collect()))
        }
        "utf16le" => Ok(Cow::Owned(text.encode_utf16().flat_map(u16::to_le_bytes).collect())),
        "utf32" => Ok(Cow::Owned(text.chars().flat_map(|c| u32::from(c).to_be_bytes()).collect())),
        _ if text.is_ascii() && !matches!(charset, "swe7" | "sjis") => {
            Ok(Cow::Borrowed(text.as_bytes()))
        }
        _ => {
            let mut bytes = Vec::with_capacity(text.len());
            let is_whole = match Table::of(charset) {
                Some(table) => table.encode(text, &mut bytes),
                None if charset == "latin1" => text.chars().all(|c| {
                    bytes.extend(latin1(c));
                    latin1(c).is_some()
                }),
                None => false,
            };
            match is_whole {
                true => Ok(Cow::Owned(bytes)),
                false => Err(Error::unsupported(format_args!(
                    "a character that {charset} lacks, used as {charset}"
                ))),
            }
        }
    }
}

/// Bytes as text of the charset of a collation.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Decoded<'a> {
    /// The valid text.
    pub(crate) text: Cow<'a, str>,
    /// The bytes from the first on that are none.
    pub(crate) rest: Cow<'a, [u8]>,
}

/// Reads bytes as text of the charset of a collation. In a charset whose characters take two or four
/// bytes each, zeros in front make the first one whole.
///
/// # Errors
/// Characters that Unicode lacks (1235).
pub(crate) fn decode(bytes: &[u8], collation: Collation) -> Result<Decoded<'_>> {
    let charset = collation.charset();
    if matches!(charset, "utf8mb4" | "utf8mb3" | "utf8" | "binary" | "ascii") {
        let valid = match std::str::from_utf8(bytes) {
            Ok(text) => text,
            Err(error) => bytes
                .get(..error.valid_up_to())
                .and_then(|whole| std::str::from_utf8(whole).ok())
                .unwrap_or_default(),
        };
        let lacking = Repertoire::of(collation).and_then(|it| it.lacking(valid));
        let text = lacking.and_then(|at| valid.get(..at)).unwrap_or(valid);
        let rest = bytes.get(text.len()..).unwrap_or_default();
        return Ok(Decoded { text: Cow::Borrowed(text), rest: Cow::Borrowed(rest) });
    }
    let unit = match charset {
        "ucs2" | "utf16" | "utf16le" => 2,
        "utf32" => 4,
        _ => 1,
    };
    let mut padded = vec![0; bytes.len().next_multiple_of(unit) - bytes.len()];
    padded.extend_from_slice(bytes);
    let (mut text, mut at) = (String::with_capacity(padded.len()), 0);
    while let Some((c, length)) = first(padded.get(at..).unwrap_or_default(), charset)? {
        text.push(c);
        at += length;
    }
    padded.drain(..at);
    Ok(Decoded { text: Cow::Owned(text), rest: Cow::Owned(padded) })
}

/// The first character of bytes, and how many it takes; `None` where there is none.
fn first(bytes: &[u8], charset: &str) -> Result<Option<(char, usize)>> {
    let lost =
        || Err(Error::unsupported(format_args!("characters of {charset} that Unicode lacks")));
    let pair = |at: usize| bytes.get(at..)?.first_chunk::<2>();
    let found = match charset {
        "latin1" => bytes.first().map(|byte| (of_latin1(*byte), 1)),
        "ucs2" => match pair(0).map(|pair| u32::from(u16::from_be_bytes(*pair))) {
            Some(point) => match char::from_u32(point) {
                Some(c) => Some((c, 2)),
                None => return lost(),
            },
            None => None,
        },
        "utf16" | "utf16le" => {
            let is_big = charset == "utf16";
            let of = |pair: &[u8; 2]| match is_big {
                true => u16::from_be_bytes(*pair),
                false => u16::from_le_bytes(*pair),
            };
            let units = [pair(0), pair(2)].into_iter().flatten().map(of);
            let c = char::decode_utf16(units).next().and_then(std::result::Result::ok);
            c.map(|c| (c, c.len_utf16() * 2))
        }
        "utf32" => {
            let point = bytes.first_chunk::<4>().map(|four| u32::from_be_bytes(*four));
            point.and_then(char::from_u32).map(|c| (c, 4))
        }
        name => match Table::of(name).map(|table| table.first(bytes)) {
            None => return Err(Error::unsupported(format_args!("bytes as text of {name}"))),
            // What Unicode lacks is a question mark.
            Some(Some(('?', _))) if !bytes.starts_with(b"?") => return lost(),
            Some(Some((char::REPLACEMENT_CHARACTER, _))) => return lost(),
            Some(found) => found,
        },
    };
    Ok(found)
}

/// Windows code page 1252 from 128 to 159, with the five gaps kept as controls, which is what MySQL
/// calls latin1.
const HIGH: [char; 32] = [
    '\u{20AC}', '\u{81}', '\u{201A}', '\u{192}', '\u{201E}', '\u{2026}', '\u{2020}', '\u{2021}',
    '\u{2C6}', '\u{2030}', '\u{160}', '\u{2039}', '\u{152}', '\u{8D}', '\u{17D}', '\u{8F}',
    '\u{90}', '\u{2018}', '\u{2019}', '\u{201C}', '\u{201D}', '\u{2022}', '\u{2013}', '\u{2014}',
    '\u{2DC}', '\u{2122}', '\u{161}', '\u{203A}', '\u{153}', '\u{9D}', '\u{17E}', '\u{178}',
];

fn latin1(c: char) -> Option<u8> {
    let code = u32::from(c);
    if code < 0x80 || (0xA0..0x100).contains(&code) {
        return u8::try_from(code).ok();
    }
    let at = HIGH.iter().position(|high| *high == c)?;
    u8::try_from(0x80 + at).ok()
}

fn of_latin1(byte: u8) -> char {
    match byte {
        0x80..=0x9F => HIGH[usize::from(byte - 0x80)],
        other => char::from(other),
    }
}

/// The longest character of the collation's charset in bytes; text of numbers counts by it.
pub(crate) fn width(collation: Collation) -> u32 {
    if collation == collation::BINARY { 1 } else { u32::from(collation.bytes_per_char()) }
}

/// Which characters a charset has that has not all of them.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Repertoire {
    Latin1,
    Ascii,
    /// The basic plane.
    Basic,
    Table(&'static Table),
}

impl Repertoire {
    /// The characters of a collation's charset; `None` when it has all.
    pub(crate) fn of(collation: Collation) -> Option<Self> {
        match collation.charset() {
            "latin1" => Some(Self::Latin1),
            "ascii" => Some(Self::Ascii),
            "utf8mb3" | "utf8" | "ucs2" => Some(Self::Basic),
            other => Table::of(other).map(Self::Table),
        }
    }

    fn has(self, c: char) -> bool {
        match self {
            Self::Latin1 => latin1(c).is_some(),
            Self::Ascii => c.is_ascii(),
            Self::Basic => u32::from(c) < 0x1_0000,
            Self::Table(table) => table.has(c),
        }
    }

    /// The position of the first character that the charset lacks.
    pub(crate) fn lacking(self, text: &str) -> Option<usize> {
        let is_ascii = match self {
            Self::Table(table) => table.is_ascii(),
            _ => true,
        };
        if is_ascii && text.is_ascii() {
            return None;
        }
        text.char_indices().find(|(_, c)| !self.has(*c)).map(|(at, _)| at)
    }
}

/// The text with a question mark for each character that the collation's charset lacks.
pub(crate) fn limit(text: &str, collation: Collation) -> Cow<'_, str> {
    match Repertoire::of(collation) {
        Some(known) if known.lacking(text).is_some() => {
            Cow::Owned(text.chars().map(|c| if known.has(c) { c } else { '?' }).collect())
        }
        _ => Cow::Borrowed(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_text_of_their_charset_up_to_the_first_that_are_none() {
        for (collation, bytes, text, rest) in [
            ("latin1_bin", &b"\xe9\x81\x80"[..], "é\u{81}€", &b""[..]),
            ("ascii_bin", b"a\xe9b", "a", b"\xe9b"),
            ("utf8mb4_bin", b"a\xe9b", "a", b"\xe9b"),
            ("utf8mb4_bin", b"\xf0\x9f\x98\x80", "😀", b""),
            ("utf8mb3_bin", b"\xc3\xa9\xf0\x9f\x98\x80b", "é", b"\xf0\x9f\x98\x80b"),
            ("gbk_bin", b"a\xce\xd2\x80", "a我", b"\x80"),
            ("gbk_bin", b"\xce ", "", b"\xce "),
            ("ucs2_bin", b"ab", "慢", b""),
            ("ucs2_bin", b"a", "a", b""),
            ("utf16_bin", b"\0ab", "\0慢", b""),
            ("utf16_bin", b"\xd8\0\0b", "", b"\xd8\0\0b"),
            ("utf16_bin", b"\xd8\x3d\xde\0", "😀", b""),
            ("utf16le_bin", b"\0\xd8", "", b"\0\xd8"),
            ("utf32_bin", b"ab", "\u{6162}", b""),
            ("utf32_bin", b"\0\x11\0\0", "", b"\0\x11\0\0"),
        ] {
            let found = decode(bytes, Collation::by_name(collation).unwrap()).unwrap();
            assert_eq!((&*found.text, &*found.rest), (text, rest), "{collation} {bytes:x?}");
        }
        for (collation, bytes) in [("cp1251_bin", &b"\x98"[..]), ("ucs2_bin", b"\xd8\0")] {
            decode(bytes, Collation::by_name(collation).unwrap()).unwrap_err();
        }
    }

    #[test]
    fn texts_have_the_bytes_of_their_charset() {
        for (collation, text, bytes) in [
            ("latin1_bin", "é€", Some(&b"\xe9\x80"[..])),
            ("latin1_bin", "我", None),
            ("gbk_bin", "a我", Some(b"a\xce\xd2")),
            ("gbk_bin", "À", None),
            ("swe7_bin", "Ä", Some(b"[")),
            ("swe7_bin", "[", None),
            ("sjis_bin", "\\", Some(b"\x81\x5f")),
        ] {
            let collation = Collation::by_name(collation).unwrap();
            assert_eq!(encode(text, collation).ok().as_deref(), bytes, "{text}");
            let is_whole = Repertoire::of(collation).is_none_or(|it| it.lacking(text).is_none());
            assert_eq!(is_whole, bytes.is_some(), "{text}");
        }
    }
}
