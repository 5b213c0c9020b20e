//! JSON paths of partial updates: `$`, `.name`, `."name"` with JSON's escapes, `[number]`,
//! `[last]`, `[last-number]`.

use std::borrow::Cow;

use pelorus_error::Result;

use crate::reader::malformed;

/// One step of a path.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Leg<'a> {
    Member(Cow<'a, [u8]>),
    Cell(usize),
    /// So many cells before the last one.
    FromEnd(usize),
}

impl Leg<'_> {
    /// Which cell of an array of so many it is; `None` for one before the first, and for members.
    pub(super) fn cell(&self, length: usize) -> Option<usize> {
        match self {
            Self::Member(_) => None,
            Self::Cell(cell) => Some(*cell),
            Self::FromEnd(back) => length.checked_sub(1)?.checked_sub(*back),
        }
    }
}

fn broken() -> pelorus_error::Error {
    malformed("path of a JSON change")
}

/// Reads a path.
pub(super) fn read(path: &[u8]) -> Result<Vec<Leg<'_>>> {
    let mut rest = path.strip_prefix(b"$").ok_or_else(broken)?;
    let mut legs = Vec::new();
    while let Some((first, after)) = rest.split_first() {
        let (leg, left) = match first {
            b'[' => cell(after)?,
            b'.' if after.first() == Some(&b'"') => {
                let (name, left) = quoted(after)?;
                (Leg::Member(name), left)
            }
            b'.' => {
                let end = after.iter().position(|b| matches!(b, b'.' | b'['));
                let (name, left) = after.split_at(end.unwrap_or(after.len()));
                (Leg::Member(Cow::Borrowed(name)), left)
            }
            _ => return Err(broken()),
        };
        legs.push(leg);
        rest = left;
    }
    Ok(legs)
}

fn cell(after: &[u8]) -> Result<(Leg<'_>, &[u8])> {
    let end = after.iter().position(|b| *b == b']').ok_or_else(broken)?;
    let (inner, left) = after.split_at(end);
    let inner = std::str::from_utf8(inner).map_err(|_| broken())?;
    let number = |digits: &str| digits.parse::<usize>().map_err(|_| broken());
    let leg = match inner.strip_prefix("last") {
        None => Leg::Cell(number(inner)?),
        Some("") => Leg::FromEnd(0),
        Some(back) => Leg::FromEnd(number(back.strip_prefix('-').ok_or_else(broken)?)?),
    };
    Ok((leg, &left[1..]))
}

/// A text in JSON's quotes and the text after it.
pub(super) fn quoted(text: &[u8]) -> Result<(Cow<'_, [u8]>, &[u8])> {
    let inner = text.strip_prefix(b"\"").ok_or_else(broken)?;
    let plain = inner.iter().position(|byte| matches!(byte, b'"' | b'\\')).ok_or_else(broken)?;
    if inner[plain] == b'"' {
        return Ok((Cow::Borrowed(&inner[..plain]), &inner[plain + 1..]));
    }
    let (mut out, mut at) = (inner[..plain].to_vec(), plain);
    loop {
        match *inner.get(at).ok_or_else(broken)? {
            b'"' => return Ok((Cow::Owned(out), &inner[at + 1..])),
            b'\\' => {
                let escaped = *inner.get(at + 1).ok_or_else(broken)?;
                at += 2;
                match escaped {
                    b'b' => out.push(0x08),
                    b'f' => out.push(0x0C),
                    b'n' => out.push(b'\n'),
                    b'r' => out.push(b'\r'),
                    b't' => out.push(b'\t'),
                    b'u' => {
                        // Only control characters are written so.
                        let digits = inner.get(at..at + 4).ok_or_else(broken)?;
                        at += 4;
                        let digits = std::str::from_utf8(digits).map_err(|_| broken())?;
                        let code = u32::from_str_radix(digits, 16).map_err(|_| broken())?;
                        let c = char::from_u32(code).ok_or_else(broken)?;
                        out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
                    }
                    other => out.push(other),
                }
            }
            byte => {
                out.push(byte);
                at += 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths() {
        let member = |name: &str| Leg::Member(name.as_bytes().to_vec().into());
        assert_eq!(read(b"$").unwrap(), []);
        assert_eq!(
            read(br#"$.a[12]."x \"y\u0001"[0].b"#).unwrap(),
            [member("a"), Leg::Cell(12), member("x \"y\u{1}"), Leg::Cell(0), member("b")]
        );
        assert_eq!(
            read(b"$[last].a[last-2]").unwrap(),
            [Leg::FromEnd(0), member("a"), Leg::FromEnd(2)]
        );
        for broken in [
            &b""[..],
            b"a",
            b"$[",
            b"$[x]",
            b"$[last-]",
            b"$[last1]",
            b"$.\"a",
            b"$.\"\\u00",
            b"$x",
        ] {
            assert_eq!(read(broken).unwrap_err().errno(), 1835, "{broken:?}");
        }
    }
}
