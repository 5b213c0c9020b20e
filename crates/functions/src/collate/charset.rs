//! Text in the bytes of its charset. Arrays hold UTF-8 whatever the charset is.

use std::borrow::Cow;

use pelorus_error::{Error, Result};
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
        _ if text.is_ascii() && !matches!(charset, "swe7") => Ok(Cow::Borrowed(text.as_bytes())),
        "latin1" => text
            .chars()
            .map(latin1)
            .collect::<Option<Vec<u8>>>()
            .map(Cow::Owned)
            .ok_or_else(|| Error::unsupported("a character that latin1 lacks, used as latin1")),
        other => Err(Error::unsupported(format_args!(
            "bytes of non-ASCII text in character set {other}"
        ))),
    }
}

/// Windows code page 1252 with the five gaps kept as controls, which is what MySQL calls latin1.
fn latin1(c: char) -> Option<u8> {
    const HIGH: [u32; 32] = [
        0x20AC, 0x81, 0x201A, 0x0192, 0x201E, 0x2026, 0x2020, 0x2021, 0x02C6, 0x2030, 0x0160,
        0x2039, 0x0152, 0x8D, 0x017D, 0x8F, 0x90, 0x2018, 0x2019, 0x201C, 0x201D, 0x2022, 0x2013,
        0x2014, 0x02DC, 0x2122, 0x0161, 0x203A, 0x0153, 0x9D, 0x017E, 0x0178,
    ];
    let code = u32::from(c);
    if code < 0x80 || (0xA0..0x100).contains(&code) {
        return u8::try_from(code).ok();
    }
    let at = HIGH.iter().position(|high| *high == code)?;
    u8::try_from(0x80 + at).ok()
}

/// The longest character of the collation's charset in bytes; text of numbers counts by it.
pub(crate) fn width(collation: Collation) -> u32 {
    if collation == collation::BINARY { 1 } else { u32::from(collation.bytes_per_char()) }
}

/// Which characters the collation's charset has; `None` when it has all, or its table is not known
/// here.
pub(crate) fn keeps(collation: Collation) -> Option<fn(char) -> bool> {
    match collation.charset() {
        "latin1" => Some(|c| latin1(c).is_some()),
        "ascii" => Some(|c| c.is_ascii()),
        "utf8mb3" | "utf8" | "ucs2" => Some(|c| u32::from(c) < 0x1_0000),
        _ => None,
    }
}

/// The text with a question mark for each character that the collation's charset lacks.
pub(crate) fn limit(text: &str, collation: Collation) -> Cow<'_, str> {
    match keeps(collation) {
        Some(keeps) if !text.chars().all(keeps) => {
            Cow::Owned(text.chars().map(|c| if keeps(c) { c } else { '?' }).collect())
        }
        _ => Cow::Borrowed(text),
    }
}
