//! Characters of the charsets other than Unicode's: the bytes of each, as MySQL and MariaDB convert
//! them to `utf8mb4`.
//!
//! The tables were recorded from servers (`scripts/pelorus_tools/record_charsets.py`, which also
//! describes the file). Bytes that are a character of a charset but none of Unicode become a
//! question mark, as in a SELECT on the server.

use std::collections::HashMap;
use std::sync::{LazyLock, OnceLock};

use crate::Collation;

/// Bytes that are no character.
const NONE: u32 = u32::MAX;
/// Bytes that go on in the node of this number.
const NODE: u32 = 1 << 31;
/// In the file: bytes that are no character.
const NONE_IN_FILE: u16 = u16::MAX;
/// After GB 18030's characters of four bytes that are of the basic plane; the other planes begin at
/// the second number, in their order.
const FOURS: &str = "/4";
const SUPPLEMENT: u32 = 189_000;
/// Of each byte of such a character: by what its number is divided, the lowest value, and how many
/// there are.
const FOUR_BYTES: [(u32, u8, u32); 4] =
    [(12_600, 0x81, 126), (1260, 0x30, 10), (10, 0x81, 126), (1, 0x30, 10)];

/// First bytes of charsets that are read, but not written where others mean the same.
const NEVER_WRITTEN: [(&str, u8); 3] = [("cp932", 0xED), ("cp932", 0xEE), ("sjis", b'\\')];

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
    /// The bytes of characters, once they were asked for.
    bytes: OnceLock<HashMap<char, Bytes>>,
}

/// The bytes of one character, and how many they are.
type Bytes = ([u8; 4], u8);

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
            let Some((character, length)) = self.first(rest) else { return false };
            out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
            rest = &rest[length..];
        }
        true
    }

    /// Whether the charset has a character of Unicode's.
    pub fn has(&self, c: char) -> bool {
        c.is_ascii() && self.is_ascii || self.four_of(c).is_some() || self.bytes().contains_key(&c)
    }

    /// Appends the bytes of a text; `false` where the charset lacks a character.
    pub fn encode(&self, text: &str, out: &mut Vec<u8>) -> bool {
        text.chars().all(|c| {
            let found = self.four_of(c).or_else(|| self.bytes().get(&c).copied());
            if let Some((bytes, length)) = found {
                out.extend_from_slice(bytes.get(..usize::from(length)).unwrap_or_default());
            }
            found.is_some()
        })
    }

    /// Which bytes are those of characters, as MySQL writes them: of several the lowest, but for those
    /// of [`NEVER_WRITTEN`].
    fn bytes(&self) -> &HashMap<char, Bytes> {
        self.bytes.get_or_init(|| {
            let mut found: HashMap<char, Bytes> = HashMap::new();
            let all = self.characters();
            let mut rest = &all[..];
            while let Some((c, length)) = self.first(rest) {
                let (own, later) = rest.split_at(length);
                rest = later;
                let is_never = |(name, first): &(&str, u8)| *name == self.name && own[0] == *first;
                // Bytes that are no character of Unicode are shown by these.
                let is_sign = c == '?' && own != b"?" || c == char::REPLACEMENT_CHARACTER;
                if is_sign || NEVER_WRITTEN.iter().any(is_never) {
                    continue;
                }
                let mut bytes = [0; 4];
                bytes[..length].copy_from_slice(own);
                let length = u8::try_from(length).unwrap_or(0);
                let known = found.entry(c).or_insert((bytes, length));
                if (length, bytes) < (known.1, known.0) {
                    *known = (bytes, length);
                }
            }
            found
        })
    }

    /// A character of GB 18030 that is beyond the basic plane.
    fn four_of(&self, c: char) -> Option<Bytes> {
        let number = u32::from(c).checked_sub(0x1_0000).filter(|_| !self.fours.is_empty())?;
        Some((Self::four_bytes(SUPPLEMENT + number), 4))
    }

    /// The bytes of a character of four bytes by its number.
    fn four_bytes(number: u32) -> [u8; 4] {
        FOUR_BYTES.map(|(unit, low, count)| {
            u8::try_from(number / unit % count).unwrap_or(0).wrapping_add(low)
        })
    }

    /// The bytes of all characters, but of those of GB 18030 that are beyond the basic plane.
    pub fn characters(&self) -> Vec<u8> {
        let mut out = Vec::new();
        self.characters_of(0, &mut Vec::new(), &mut out);
        for number in 0..u32::try_from(self.fours.len()).unwrap_or(0) {
            out.extend(Self::four_bytes(number));
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

    /// The first character of a text, and how many bytes it takes; `None` where they are none.
    pub fn first(&self, text: &[u8]) -> Option<(char, usize)> {
        let mut node = self.nodes.first()?;
        for (at, &byte) in text.iter().enumerate() {
            match node[usize::from(byte)] {
                NONE => break,
                next if next & NODE == 0 => return Some((char::from_u32(next)?, at + 1)),
                next => node = self.nodes.get(usize::try_from(next & !NODE).ok()?)?,
            }
        }
        match text {
            [a, b, c, d, ..] if !self.fours.is_empty() => {
                Some((char::from_u32(self.four([*a, *b, *c, *d])?)?, 4))
            }
            _ => None,
        }
    }

    /// A character of GB 18030 of four bytes: 126, 10, 126 and 10 values from the lowest on.
    fn four(&self, bytes: [u8; 4]) -> Option<u32> {
        let mut number = 0;
        for (byte, (_, low, count)) in bytes.into_iter().zip(FOUR_BYTES) {
            let value = byte.checked_sub(low).map(u32::from).filter(|it| *it < count)?;
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
        Self {
            name: name.to_owned(),
            nodes: vec![[NONE; 256]],
            is_ascii: false,
            fours: Vec::new(),
            bytes: OnceLock::new(),
        }
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
    /// Whether the charset is fully supported: collations, and conversion of text to its bytes.
    /// Text in other charsets can be read and shown.
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

    /// What is written is read as the same, and every character that is read has bytes.
    #[test]
    fn characters_have_the_bytes_that_servers_write() {
        for table in TABLES.values() {
            let mut all = Vec::new();
            assert!(table.decode(&table.characters(), &mut all), "{}", table.name);
            let text = String::from_utf8(all).unwrap();
            let text: String = text.chars().filter(|c| *c != char::REPLACEMENT_CHARACTER).collect();
            let (mut bytes, mut again) = (Vec::new(), Vec::new());
            assert!(table.encode(&text, &mut bytes), "{}", table.name);
            assert!(text.chars().all(|c| table.has(c)), "{}", table.name);
            assert!(table.decode(&bytes, &mut again), "{}", table.name);
            assert_eq!(String::from_utf8(again).unwrap(), text, "{}", table.name);
        }
        for (charset, text, bytes) in [
            ("gbk", "a我", &b"a\xce\xd2"[..]),
            ("sjis", "\\", b"\x81\x5f"),
            ("cp932", "ⅰⅠ￢", b"\xfa\x40\x87\x54\x81\xca"),
            ("armscii8", "'(", b"'("),
            ("swe7", "Ä", b"["),
            ("gb18030", "\u{80}\u{10000}", b"\x81\x30\x81\x30\x90\x30\x81\x30"),
        ] {
            let mut found = Vec::new();
            assert!(Table::of(charset).unwrap().encode(text, &mut found), "{charset}");
            assert_eq!(found, bytes, "{charset}");
        }
        for (charset, c) in [("gbk", 'À'), ("swe7", '['), ("cp1251", 'é'), ("koi8r", '我')] {
            let table = Table::of(charset).unwrap();
            assert!(!table.has(c) && !table.encode(&c.to_string(), &mut Vec::new()), "{charset}");
        }
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
