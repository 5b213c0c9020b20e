//! The characters of the charsets beside Unicode's own: which bytes are which, as MySQL and MariaDB
//! convert them to `utf8mb4`.
//!
//! The tables were asked from servers (`scripts/pelorus_tools/record_charsets.py`, which also
//! describes the file). Bytes that are a character of a charset but none of Unicode's are a question
//! mark, as they are to whoever selects them.

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::Collation;

/// Bytes that are no character.
const NONE: u32 = u32::MAX;
/// Bytes that go on in the node of this number.
const NODE: u32 = 1 << 31;
/// In the file: bytes that are no character.
const NONE_IN_FILE: u16 = u16::MAX;
/// Behind GB 18030's characters of four bytes that are of the basic plane; the other planes begin at
/// the second number, in their order.
const FOURS: &str = "/4";
const SUPPLEMENT: u32 = 189_000;

static TABLES: LazyLock<HashMap<String, Table>> = LazyLock::new(|| {
    // The file is a constant that a test reads.
    let file = zstd::stream::decode_all(&include_bytes!("charset/tables.zst")[..]);
    file.ok().and_then(|file| read(&file)).unwrap_or_default()
});

/// Which bytes are which characters, for one charset.
pub struct Table {
    name: String,
    /// The first node is that of first bytes. A value is a code point, [`NONE`], or the number of the
    /// node of the next byte with [`NODE`].
    nodes: Vec<[u32; 256]>,
    /// Bytes below 128 are ASCII.
    is_ascii: bool,
    /// The characters of four bytes in their order; empty but for `gb18030`.
    fours: Vec<u16>,
}

impl std::fmt::Debug for Table {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Table").field(&self.name).finish()
    }
}

impl Table {
    /// The table of a charset; `None` for the forms of Unicode, `latin1`, `ascii` and `binary`, and for
    /// charsets that are not known.
    pub fn of(charset: &str) -> Option<&'static Table> {
        TABLES.get(charset)
    }

    /// The charset.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether bytes below 128 are ASCII (in `swe7` they are not).
    pub fn is_ascii(&self) -> bool {
        self.is_ascii
    }

    /// Appends a text as UTF-8; `false` when it is none of this charset.
    pub fn decode(&self, text: &[u8], out: &mut Vec<u8>) -> bool {
        let mut rest = text;
        while !rest.is_empty() {
            let Some((point, length)) = self.first(rest) else { return false };
            let Some(character) = char::from_u32(point) else { return false };
            out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
            rest = &rest[length..];
        }
        true
    }

    /// The bytes of all characters, but of those of GB 18030 that are beyond the basic plane.
    pub fn characters(&self) -> Vec<u8> {
        let mut out = Vec::new();
        self.characters_of(0, &mut Vec::new(), &mut out);
        for number in 0..u32::try_from(self.fours.len()).unwrap_or(0) {
            let digits = [(12_600, 0x81), (1260, 0x30), (10, 0x81), (1, 0x30)];
            let counts = [126, 10, 126, 10];
            let byte = |((unit, low), count)| u8::try_from(low + number / unit % count);
            out.extend(digits.into_iter().zip(counts).filter_map(|it| byte(it).ok()));
        }
        out
    }

    fn characters_of(&self, node: usize, prefix: &mut Vec<u8>, out: &mut Vec<u8>) {
        for (byte, next) in (0_u8..=255).zip(self.nodes.get(node).into_iter().flatten()) {
            if *next == NONE {
                continue;
            }
            prefix.push(byte);
            match next & NODE {
                0 => out.extend_from_slice(prefix),
                _ => {
                    let next = usize::try_from(next & !NODE).unwrap_or(usize::MAX);
                    self.characters_of(next, prefix, out);
                }
            }
            prefix.pop();
        }
    }

    /// The first character of a text: its code point and its bytes.
    fn first(&self, text: &[u8]) -> Option<(u32, usize)> {
        let mut node = self.nodes.first()?;
        for (at, &byte) in text.iter().enumerate() {
            match node[usize::from(byte)] {
                NONE => break,
                next if next & NODE == 0 => return Some((next, at + 1)),
                next => node = self.nodes.get(usize::try_from(next & !NODE).ok()?)?,
            }
        }
        match text {
            [a, b, c, d, ..] if !self.fours.is_empty() => Some((self.four([*a, *b, *c, *d])?, 4)),
            _ => None,
        }
    }

    /// A character of GB 18030 of four bytes: 126, 10, 126 and 10 values from the lowest on.
    fn four(&self, bytes: [u8; 4]) -> Option<u32> {
        let mut number = 0;
        for (byte, (low, count)) in
            bytes.into_iter().zip([(0x81, 126), (0x30, 10), (0x81, 126), (0x30, 10)])
        {
            let value = u32::from(byte).checked_sub(low).filter(|it| *it < count)?;
            number = number * count + value;
        }
        let supplement = number.checked_sub(SUPPLEMENT).map(|it| it + 0x1_0000);
        Some(match self.fours.get(usize::try_from(number).ok()?) {
            Some(point) => u32::from(*point),
            // What is neither is no character of Unicode.
            None => supplement.filter(|it| *it < 0x11_0000).unwrap_or(u32::from('?')),
        })
    }

    fn new(name: &str) -> Self {
        Self { name: name.to_owned(), nodes: vec![[NONE; 256]], is_ascii: false, fours: Vec::new() }
    }

    /// The node of the bytes that follow some.
    fn node(&mut self, prefix: &[u8]) -> Option<&mut [u32; 256]> {
        let mut at = 0;
        for byte in prefix {
            let fresh = NODE | u32::try_from(self.nodes.len()).ok()?;
            let next = &mut self.nodes[at][usize::from(*byte)];
            if *next == NONE {
                *next = fresh;
                self.nodes.push([NONE; 256]);
            }
            at = usize::try_from(self.nodes[at][usize::from(*byte)] & !NODE).ok()?;
        }
        self.nodes.get_mut(at)
    }
}

impl Collation {
    /// Whether all that there is to know of text of its charset is known here: how it compares under
    /// one collation or another, and its bytes. Of others text can be read and shown.
    pub fn has_plain_charset(self) -> bool {
        matches!(self.charset(), "utf8mb4" | "utf8mb3" | "utf8" | "latin1" | "ascii" | "binary")
    }
}

/// Reads the file; `None` when it is cut off.
fn read(mut file: &[u8]) -> Option<HashMap<String, Table>> {
    let mut tables: HashMap<String, Table> = HashMap::new();
    while !file.is_empty() {
        let length = *file.split_off_first()?;
        let name = std::str::from_utf8(take(&mut file, usize::from(length))?).ok()?;
        let pages = u16::from_be_bytes(take(&mut file, 2)?.try_into().ok()?);
        let (name, is_of_fours) = match name.strip_suffix(FOURS) {
            Some(name) => (name, true),
            None => (name, false),
        };
        let table = tables.entry(name.to_owned()).or_insert_with(|| Table::new(name));
        for _ in 0..pages {
            let length = *file.split_off_first()?;
            let prefix = take(&mut file, usize::from(length))?;
            let values = take(&mut file, 512)?;
            let node = if is_of_fours { None } else { Some(table.node(prefix)?) };
            let mut value = 0_u16;
            let mut points = [NONE; 256];
            for (point, step) in points.iter_mut().zip(values.as_chunks::<2>().0) {
                value = value.wrapping_add(u16::from_be_bytes(*step));
                if value != NONE_IN_FILE {
                    *point = u32::from(value);
                }
            }
            match node {
                // Sequences that go on are not characters, too.
                Some(node) => node
                    .iter_mut()
                    .zip(points)
                    .filter(|(_, point)| *point != NONE)
                    .for_each(|(place, point)| *place = point),
                None => table.fours.extend(points.iter().filter_map(|it| u16::try_from(*it).ok())),
            }
        }
        let is_same = |(at, point): (u32, &u32)| at == *point;
        table.is_ascii = (0..).zip(&table.nodes[0]).take(128).all(is_same);
    }
    Some(tables)
}

fn take<'a>(file: &mut &'a [u8], length: usize) -> Option<&'a [u8]> {
    let (taken, rest) = file.split_at_checked(length)?;
    *file = rest;
    Some(taken)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(charset: &str, bytes: &[u8]) -> Option<String> {
        let mut out = Vec::new();
        let is_text = Table::of(charset)?.decode(bytes, &mut out);
        is_text.then(|| String::from_utf8(out).unwrap())
    }

    #[test]
    fn tables_are_there_for_all_charsets() {
        for info in Collation::all() {
            let simple = info.id.has_plain_charset()
                || matches!(info.charset, "ucs2" | "utf16" | "utf16le" | "utf32");
            assert_eq!(Table::of(info.charset).is_none(), simple, "{}", info.name);
        }
        assert_eq!(TABLES.len(), 32);
        for table in TABLES.values() {
            let mut all = Vec::new();
            assert!(table.decode(&table.characters(), &mut all), "{}", table.name);
            assert!(String::from_utf8(all).unwrap().chars().count() >= 256, "{}", table.name);
        }
        let strange: Vec<_> = TABLES.values().filter(|it| !it.is_ascii).map(Table::name).collect();
        assert_eq!(strange, ["swe7"]);
    }

    #[test]
    fn texts_are_those_that_servers_show() {
        for (charset, bytes, shown) in [
            ("cp1251", &b"\xcf\xf0\xe8\x98"[..], "При?"),
            ("koi8r", b"\xf0\xd2", "Пр"),
            ("gbk", b"a\xd6\xd0\x81\x40", "a中丂"),
            ("sjis", b"\x83\x5c\\~", "ソ\\~"),
            ("cp932", b"\x87\x40\xfa\x54", "①￢"),
            ("ujis", b"\xa4\xa2\x8e\xb1\x8f\xb0\xa1", "あｱ丂"),
            ("swe7", b"[]x", "ÄÅx"),
            ("tis620", b"\xa1", "ก"),
            (
                "gb18030",
                b"\x81\x30\x81\x30\x81\x35\xf4\x37\x94\x39\xda\x33",
                "\u{80}\u{E7C7}\u{1F4A9}",
            ),
        ] {
            assert_eq!(text(charset, bytes).as_deref(), Some(shown), "{charset}");
        }
        assert_eq!(
            text("gb18030", b"\x90\x30\x81\x30\xe3\x32\x9a\x35").unwrap(),
            "\u{10000}\u{10FFFF}"
        );
        assert_eq!(text("gb18030", b"\x84\x31\xa5\x30").unwrap(), "?");
        for (charset, bytes) in [
            ("gbk", &b"\xd6"[..]),
            ("gbk", b"\x80"),
            ("sjis", b"a\xfd"),
            ("gb18030", b"\x81\x30\x81"),
        ] {
            assert_eq!(text(charset, bytes), None, "{charset}");
        }
    }
}
