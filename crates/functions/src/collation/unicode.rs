//! Collation weights of characters beyond ASCII, from tables recorded from servers
//! (`record_weights.py`). Only MariaDB's `uca1400` has contractions: some characters weigh
//! differently together than one after the other.

use std::collections::HashMap;
use std::sync::LazyLock;

use pelorus_error::{Error, Result};

/// The weights of the code points of a table.
struct Table {
    /// For each code point where its weights begin in `weights`, plus one; 0 for those not listed.
    index: Vec<u32>,
    /// The number of weights, then the weights.
    weights: &'static [u8],
}

impl Table {
    /// Reads a table; a record that is cut off ends it.
    fn read(bytes: &'static [u8]) -> Self {
        let mut index = Vec::new();
        let mut at = 0;
        while let Some([a, b, c, d, e]) = bytes.get(at..at + 5).and_then(|h| h.first_chunk::<5>()) {
            let start = usize::from(*a) << 16 | usize::from(*b) << 8 | usize::from(*c);
            let count = usize::from(*d) << 8 | usize::from(*e);
            at += 5;
            if index.len() < start + count {
                index.resize(start + count, 0);
            }
            for entry in index.iter_mut().skip(start).take(count) {
                *entry = u32::try_from(at + 1).unwrap_or(0);
                at += 1 + 2 * usize::from(bytes.get(at).copied().unwrap_or(0));
            }
        }
        Self { index, weights: bytes }
    }

    /// The weights of a character as bytes, if it is listed.
    fn of(&self, c: char) -> Option<&'static [u8]> {
        let point = usize::try_from(u32::from(c)).ok()?;
        let at = usize::try_from(*self.index.get(point).filter(|at| **at > 0)?).ok()? - 1;
        let count = usize::from(*self.weights.get(at)?);
        self.weights.get(at + 1..at + 1 + 2 * count)
    }
}

static GENERAL: LazyLock<Table> = LazyLock::new(|| Table::read(include_bytes!("general.bin")));
static UCA900: LazyLock<Table> = LazyLock::new(|| Table::read(include_bytes!("uca900.bin")));
static UCA1400: LazyLock<Table> = LazyLock::new(|| Table::read(include_bytes!("uca1400.bin")));
static PAIRS_1400: LazyLock<Pairs> = LazyLock::new(|| pairs(include_bytes!("uca1400_pairs.bin")));
static UCA400: LazyLock<Table> = LazyLock::new(|| Table::read(include_bytes!("uca400.bin")));

/// What two characters weigh together; `None` where a third one matters.
type Pairs = HashMap<(char, char), Option<&'static [u8]>>;

/// The first character that any pair begins with.
const FIRST_OF_PAIRS: char = '\u{418}';
/// The number of weights of a pair where a third character matters.
const THIRD_MATTERS: u8 = 255;

/// Reads a table of pairs; a record that is cut off ends it.
fn pairs(bytes: &'static [u8]) -> Pairs {
    let mut found = Pairs::new();
    let mut rest = bytes;
    let point = |at: &[u8]| {
        char::from_u32(at.iter().fold(0, |number, byte| number << 8 | u32::from(*byte)))
    };
    while let Some((head, tail)) = rest.split_at_checked(7) {
        let count = if head[6] == THIRD_MATTERS { 0 } else { 2 * usize::from(head[6]) };
        let Some((weights, tail)) = tail.split_at_checked(count) else { break };
        if let (Some(one), Some(other)) = (point(&head[..3]), point(&head[3..6])) {
            found.insert((one, other), (head[6] != THIRD_MATTERS).then_some(weights));
        }
        rest = tail;
    }
    found
}

/// What `general_ci` and version 4 of the algorithm give all characters beyond the basic plane.
const REPLACEMENT: u16 = 0xFFFD;

/// The weight of a character under `utf8mb4_general_ci`.
pub(super) fn general(c: char) -> u16 {
    let Ok(point) = u16::try_from(u32::from(c)) else { return REPLACEMENT };
    match GENERAL.of(c) {
        Some([high, low]) => u16::from_be_bytes([*high, *low]),
        _ => point,
    }
}

/// Appends the first-level weights of a character under `utf8mb4_unicode_ci`.
pub(super) fn uca400(c: char, out: &mut Vec<u8>) {
    let point = u32::from(c);
    if point > 0xFFFF {
        out.extend_from_slice(&REPLACEMENT.to_be_bytes());
        return;
    }
    match UCA400.of(c) {
        Some(weights) => out.extend_from_slice(weights),
        None => {
            implicit(point, matches!(point, 0x4E00..=0x9FA5), matches!(point, 0x3400..=0x4DB5), out)
        }
    }
}

/// Appends the first-level weights of a character under `utf8mb4_0900_ai_ci`.
pub(super) fn uca900(c: char, out: &mut Vec<u8>) -> Result<()> {
    if let Some(weights) = UCA900.of(c) {
        out.extend_from_slice(weights);
        return Ok(());
    }
    let point = u32::from(c);
    match point {
        0xAC00..=0xD7A3 => hangul(point, out),
        0x1_0000..=0x1_FFFF if !known_supplement(point) => {
            return Err(Error::unsupported(format_args!(
                "comparison of text with U+{point:X} under collation utf8mb4_0900_ai_ci"
            )));
        }
        _ => {
            let compatible = matches!(
                point,
                0xFA0E
                    | 0xFA0F
                    | 0xFA11
                    | 0xFA13
                    | 0xFA14
                    | 0xFA1F
                    | 0xFA21
                    | 0xFA23
                    | 0xFA24
                    | 0xFA27..=0xFA29
            );
            let common = compatible || matches!(point, 0x4E00..=0x9FD5);
            let rare = matches!(
                point,
                0x3400..=0x4DB5
                    | 0x2_0000..=0x2_A6D6
                    | 0x2_A700..=0x2_B734
                    | 0x2_B740..=0x2_B81D
                    | 0x2_B820..=0x2_CEA1
            );
            implicit(point, common, rare, out);
        }
    }
    Ok(())
}

/// Appends the first-level weights of a text under MariaDB's `uca1400_ai_ci`.
pub(super) fn uca1400(text: &str, out: &mut Vec<u8>) -> Result<()> {
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        if c >= FIRST_OF_PAIRS
            && let Some(next) = rest.clone().next()
            && let Some(pair) = PAIRS_1400.get(&(c, next))
        {
            let Some(weights) = pair else {
                return Err(Error::unsupported(format_args!(
                    "comparison of text with U+{:X} under collation uca1400_ai_ci",
                    u32::from(c)
                )));
            };
            out.extend_from_slice(weights);
            rest.next();
            continue;
        }
        match UCA1400.of(c) {
            Some(weights) => out.extend_from_slice(weights),
            None => {
                let point = u32::from(c);
                let rare = matches!(
                    point,
                    0x3400..=0x4DBF
                        | 0x2_0000..=0x2_A6DF
                        | 0x2_A700..=0x2_B738
                        | 0x2_B740..=0x2_B81D
                        | 0x2_B820..=0x2_CEA1
                        | 0x2_CEB0..=0x2_EBE0
                        | 0x3_0000..=0x3_134A
                );
                implicit(point, matches!(point, 0x4E00..=0x9FFF), rare, out);
            }
        }
    }
    Ok(())
}

/// The blocks beyond the basic plane whose weights the table lists.
fn known_supplement(point: u32) -> bool {
    matches!(point, 0x1_D400..=0x1_D7FF | 0x1_F000..=0x1_FFFF)
}

/// The formula of the Unicode collation algorithm for characters that no table lists.
fn implicit(point: u32, common: bool, rare: bool, out: &mut Vec<u8>) {
    let base = if common {
        0xFB40
    } else if rare {
        0xFB80
    } else {
        0xFBC0
    };
    for weight in [base + (point >> 15), (point & 0x7FFF) | 0x8000] {
        out.extend_from_slice(&weight.to_be_bytes()[2..]);
    }
}

/// A syllable weighs what its letters weigh.
fn hangul(point: u32, out: &mut Vec<u8>) {
    let number = point - 0xAC00;
    let letters = [0x1100 + number / 588, 0x1161 + number % 588 / 28, 0x11A7 + number % 28];
    let count = if letters[2] == 0x11A7 { 2 } else { 3 };
    for letter in letters.iter().take(count) {
        if let Some(weights) = char::from_u32(*letter).and_then(|letter| UCA900.of(letter)) {
            out.extend_from_slice(weights);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_read_to_their_ends() {
        assert_eq!(general('ß'), u16::from(b'S'));
        assert_eq!(general('я'), 0x042F);
        assert_eq!(UCA900.of('\u{1F600}').map(<[u8]>::len), Some(2));
        assert_eq!(UCA400.of('ß').map(<[u8]>::len), Some(4));
        for c in '\0'..=char::MAX {
            let mut out = Vec::new();
            let _ = uca900(c, &mut out);
            uca400(c, &mut out);
            let _ = general(c);
            uca1400(c.encode_utf8(&mut [0; 4]), &mut out).unwrap();
        }
        assert!(PAIRS_1400.len() > 900);
        assert!(PAIRS_1400.keys().all(|(one, _)| *one >= FIRST_OF_PAIRS));
    }

    #[test]
    fn pairs_weigh_what_the_server_says() {
        let weights = |text: &str| {
            let mut out = Vec::new();
            uca1400(text, &mut out).map(|()| out)
        };
        assert_eq!(weights("a ").unwrap(), [0x20, 0x75, 2, 9]);
        assert_eq!(weights("เก").unwrap(), [0x33, 0x39, 0x33, 0x73]);
        assert_eq!(weights("กเ").unwrap(), [0x33, 0x39, 0x33, 0x73]);
        assert_eq!(weights("и\u{306}").unwrap(), weights("й").unwrap());
        assert_ne!(weights("и").unwrap(), weights("й").unwrap());
        assert!(weights("\u{CC6}\u{CC2}").is_err());
    }
}
