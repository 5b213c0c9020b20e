//! CHAR, VARCHAR, the TEXT types, BINARY, VARBINARY and the BLOB types.
//!
//! Arrays hold text as UTF-8 whatever the column's charset is; characters that the charset lacks
//! are detected here. A CHAR is stored without its trailing spaces, a BINARY with zeros up to its
//! length.

use std::borrow::Cow;

use pelorus_types::number::{write_double, write_double_within};
use pelorus_types::temporal::{write_date, write_datetime, write_time};
use pelorus_types::{Collation, ColumnType, WireType};

use super::conversion_error::{Failure, Reporter};
use super::{Incoming, Target};
use crate::collation::charset::{self, Repertoire};
use crate::decimal::Decimal;
use crate::parse::is_space;

/// The most bytes of a TINYTEXT to LONGTEXT; `None` for other types.
fn blob_limit(wire: WireType) -> Option<usize> {
    Some(match wire {
        WireType::TinyBlob => 0xff,
        WireType::Blob => 0xffff,
        WireType::MediumBlob => 0xff_ffff,
        WireType::LongBlob => 0xffff_ffff,
        _ => return None,
    })
}

/// A column of characters.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Characters {
    /// The most characters of a CHAR or VARCHAR, of a TEXT none.
    max_chars: Option<usize>,
    /// The most bytes in the column's charset.
    max_bytes: usize,
    /// Trailing spaces go without a word (CHAR).
    strips: bool,
    keeps: Option<Repertoire>,
    collation: Collation,
}

impl Characters {
    pub(crate) fn of(target: &Target) -> Self {
        let limit = blob_limit(target.ty.wire);
        Self {
            max_chars: if limit.is_some() { None } else { Some(target.declared_length()) },
            max_bytes: limit.unwrap_or(usize::MAX),
            strips: target.ty.wire == WireType::String,
            keeps: Repertoire::of(target.ty.collation),
            collation: target.ty.collation,
        }
    }

    /// A TEXT of any size.
    pub(crate) fn is_blob(&self) -> bool {
        self.max_chars.is_none()
    }

    /// Whether values of another text type may lack nothing but length.
    pub(crate) fn has_charset_of(&self, from: &ColumnType) -> bool {
        self.keeps.is_none() || self.collation.charset() == from.collation.charset()
    }

    /// Whether a text whose characters the charset has is stored unchanged, by a quick test.
    pub(crate) fn holds(&self, text: &str) -> bool {
        let fits = match self.max_chars {
            Some(most) => text.len() <= most || text.chars().count() <= most,
            // A character of UTF-8 takes at most twice its bytes in a charset of MySQL's but
            // utf32, where one may take four.
            None => text.len() <= self.max_bytes / 4,
        };
        fits && !(self.strips && text.ends_with(' '))
    }

    pub(crate) fn convert<'a>(
        &self,
        value: Incoming<'a>,
        report: &mut Reporter,
    ) -> Result<Cow<'a, str>, Failure> {
        match value {
            Incoming::Text(bytes) => self.text(bytes, report),
            Incoming::Bytes(bytes) | Incoming::Hex(bytes) => self.bytes(bytes, report),
            Incoming::Double(value) => {
                let shown = double_text(value, self.max_chars, report)?;
                Ok(Cow::Owned(shown))
            }
            other => {
                let shown = plain_text(other);
                Ok(Cow::Owned(self.text(shown.as_bytes(), report)?.into_owned()))
            }
        }
    }

    /// Bytes without a charset are those of a text in the column's.
    fn bytes<'a>(&self, bytes: &'a [u8], report: &mut Reporter) -> Result<Cow<'a, str>, Failure> {
        let decoded = charset::decode(bytes, self.collation).map_err(|it| report.fail(it))?;
        let text = decoded.text;
        let end = self.end(&text);
        let left = text.get(end..).unwrap_or_default().as_bytes();
        if left.is_empty() && decoded.rest.is_empty() {
            return Ok(self.stripped(text));
        }
        if left.is_empty() && self.max_chars.is_none_or(|most| self.room(&text, most)) {
            report.incorrect_string(&decoded.rest)?;
        } else {
            self.report_rest(&[left, &*decoded.rest].concat(), report)?;
        }
        Ok(self.stripped(cut(text, end)))
    }

    /// Text in UTF-8.
    fn text<'a>(&self, bytes: &'a [u8], report: &mut Reporter) -> Result<Cow<'a, str>, Failure> {
        let (text, bad) = match std::str::from_utf8(bytes) {
            Ok(text) => (text, false),
            Err(error) => {
                let whole = bytes.get(..error.valid_up_to()).unwrap_or_default();
                (std::str::from_utf8(whole).unwrap_or_default(), true)
            }
        };
        let end = self.end(text);
        let mut kept = Cow::Borrowed(text.get(..end).unwrap_or(text));
        if bad && end == text.len() && self.max_chars.is_none_or(|most| self.room(text, most)) {
            report.incorrect_string(bytes.get(end..).unwrap_or_default())?;
        } else if let Some(at) = self.keeps.and_then(|keeps| keeps.lacking(&kept)) {
            report.incorrect_string(bytes.get(at..).unwrap_or_default())?;
            kept = Cow::Owned(charset::limit(&kept, self.collation).into_owned());
        } else if end < bytes.len() {
            self.report_rest(bytes.get(end..).unwrap_or_default(), report)?;
        }
        Ok(self.stripped(kept))
    }

    /// A text as the column stores it.
    fn stripped<'a>(&self, text: Cow<'a, str>) -> Cow<'a, str> {
        if !self.strips {
            return text;
        }
        let length = text.trim_end_matches(' ').len();
        cut(text, length)
    }

    /// Whether one more character fits.
    fn room(&self, text: &str, most: usize) -> bool {
        text.len() < most || text.chars().count() < most
    }

    /// Where the part ends that the column has room for.
    fn end(&self, text: &str) -> usize {
        if let Some(most) = self.max_chars {
            if text.len() <= most {
                return text.len();
            }
            return text.char_indices().nth(most).map_or(text.len(), |(at, _)| at);
        }
        // Bytes of UTF-8 bound those of the charset as in `holds`.
        if text.len() <= self.max_bytes / 4 {
            return text.len();
        }
        let mut bytes = 0;
        for (at, c) in text.char_indices() {
            bytes += char_bytes(c, self.collation);
            if bytes > self.max_bytes {
                return at;
            }
        }
        text.len()
    }

    fn report_rest(&self, rest: &[u8], report: &mut Reporter) -> Result<(), Failure> {
        if !rest.iter().all(|byte| is_space(*byte)) {
            return report.too_long();
        }
        if !self.strips {
            report.note_truncated();
        }
        Ok(())
    }
}

/// The beginning of a text.
fn cut(text: Cow<'_, str>, length: usize) -> Cow<'_, str> {
    match text {
        Cow::Borrowed(text) => Cow::Borrowed(text.get(..length).unwrap_or(text)),
        Cow::Owned(mut text) => {
            text.truncate(length);
            Cow::Owned(text)
        }
    }
}

/// The bytes that a character takes in the charset of a collation.
fn char_bytes(c: char, collation: Collation) -> usize {
    match collation.charset() {
        "utf32" => 4,
        "ucs2" | "utf16" | "utf16le" => c.len_utf16() * 2,
        _ if collation.bytes_per_char() == 1 => 1,
        _ => c.len_utf8(),
    }
}

/// A column of bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Binary {
    max: usize,
    /// Shorter values get zeros up to `max` (BINARY).
    pads: bool,
    /// A BLOB of any size.
    pub(crate) is_blob: bool,
}

impl Binary {
    pub(crate) fn of(target: &Target) -> Self {
        let max = blob_limit(target.ty.wire).unwrap_or_else(|| target.declared_length());
        let is_blob = blob_limit(target.ty.wire).is_some();
        Self { max, pads: target.ty.wire == WireType::String, is_blob }
    }

    /// The length of placeholder values: of a BINARY its own.
    pub(crate) fn empty_length(&self) -> usize {
        if self.pads { self.max } else { 0 }
    }

    /// Whether a value of this length is stored unchanged.
    pub(crate) fn holds(&self, length: usize) -> bool {
        if self.pads { length == self.max } else { length <= self.max }
    }

    pub(crate) fn convert<'a>(
        &self,
        value: Incoming<'a>,
        report: &mut Reporter,
    ) -> Result<Cow<'a, [u8]>, Failure> {
        let mut bytes = match value {
            Incoming::Text(bytes) | Incoming::Bytes(bytes) | Incoming::Hex(bytes) => {
                Cow::Borrowed(bytes)
            }
            Incoming::Double(value) => {
                Cow::Owned(double_text(value, Some(self.max), report)?.into_bytes())
            }
            other => Cow::Owned(plain_text(other).into_bytes()),
        };
        if bytes.len() > self.max {
            report.too_long()?;
            bytes = match bytes {
                Cow::Borrowed(bytes) => Cow::Borrowed(&bytes[..self.max]),
                Cow::Owned(mut bytes) => {
                    bytes.truncate(self.max);
                    Cow::Owned(bytes)
                }
            };
        } else if self.pads && bytes.len() < self.max {
            bytes.to_mut().resize(self.max, 0);
        }
        Ok(bytes)
    }
}

/// A number or date as MySQL prints it.
pub(crate) fn plain_text(value: Incoming<'_>) -> String {
    let mut out = String::new();
    match value {
        Incoming::Int(value) => return value.to_string(),
        Incoming::UInt(value) => return value.to_string(),
        Incoming::Decimal(value) => return Decimal::to_text(value),
        Incoming::Double(value) => write_double(&mut out, value),
        Incoming::Date { value, wire: WireType::Date, .. } => write_date(&mut out, value),
        Incoming::Date { value, decimals, .. } => write_datetime(&mut out, value, decimals),
        Incoming::Time { micros, decimals } => write_time(&mut out, micros, decimals),
        Incoming::Text(text) | Incoming::Bytes(text) | Incoming::Hex(text) => {
            return String::from_utf8_lossy(text).into_owned();
        }
    }
    out
}

/// A double in at most `width` characters, with fewer digits if that is what it takes.
fn double_text(value: f64, width: Option<usize>, report: &mut Reporter) -> Result<String, Failure> {
    let mut out = String::new();
    match width {
        None => write_double(&mut out, value),
        Some(width) => {
            if !write_double_within(&mut out, value, width) {
                report.too_long()?;
            }
        }
    }
    Ok(out)
}
