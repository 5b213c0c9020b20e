//! Sort keys of text: byte strings that compare as the texts do under their collation.

use pelorus_error::{Error, Result};
use pelorus_types::{Collation, collation};

use crate::collation::{charset, unicode};

/// Primary weights of ASCII under `utf8mb4_0900_ai_ci`; zero is ignored in comparisons.
/// Obtained with `WEIGHT_STRING`.
const ASCII_900: [u16; 128] = [
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0x0201, 0x0202, 0x0203, 0x0204, 0x0205, 0, 0, //
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, //
    0x0209, 0x0260, 0x030C, 0x0398, 0x1C12, 0x0399, 0x0396, 0x0305, //
    0x0317, 0x0318, 0x038F, 0x0616, 0x0222, 0x020D, 0x0277, 0x0394, //
    0x1C3D, 0x1C3E, 0x1C3F, 0x1C40, 0x1C41, 0x1C42, 0x1C43, 0x1C44, //
    0x1C45, 0x1C46, 0x0239, 0x0234, 0x061A, 0x061B, 0x061C, 0x0266, //
    0x038E, 0x1C47, 0x1C60, 0x1C7A, 0x1C8F, 0x1CAA, 0x1CE5, 0x1CF4, //
    0x1D18, 0x1D32, 0x1D4C, 0x1D65, 0x1D77, 0x1DAA, 0x1DB9, 0x1DDD, //
    0x1E0C, 0x1E21, 0x1E33, 0x1E71, 0x1E95, 0x1EB5, 0x1EE3, 0x1EF5, //
    0x1EFF, 0x1F0B, 0x1F21, 0x0319, 0x0395, 0x031A, 0x0485, 0x020B, //
    0x0482, 0x1C47, 0x1C60, 0x1C7A, 0x1C8F, 0x1CAA, 0x1CE5, 0x1CF4, //
    0x1D18, 0x1D32, 0x1D4C, 0x1D65, 0x1D77, 0x1DAA, 0x1DB9, 0x1DDD, //
    0x1E0C, 0x1E21, 0x1E33, 0x1E71, 0x1E95, 0x1EB5, 0x1EE3, 0x1EF5, //
    0x1EFF, 0x1F0B, 0x1F21, 0x031B, 0x061E, 0x031C, 0x0620, 0,
];

/// How a collation compares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scheme {
    /// By the bytes of UTF-8, which order like the code points.
    Bytes,
    /// By the bytes of the charset.
    CharsetBytes,
    /// ASCII letters fold to upper case; there is nothing else in the charset.
    Ascii,
    /// One weight for each byte of latin1.
    Latin1Swedish,
    /// One weight for each character of the basic plane.
    General,
    /// Unicode collation algorithm 9.0.0, first level.
    Uca900,
    /// Unicode collation algorithm 4.0.0, first level.
    Uca400,
    /// Unicode collation algorithm 14.0.0 as MariaDB has it, first level.
    Uca1400,
    /// Not known at all.
    Unknown,
}

/// The rules of one collation, found once.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rules {
    collation: Collation,
    scheme: Scheme,
    pad: bool,
}

impl Rules {
    pub(crate) fn of(collation: Collation) -> Self {
        let info = collation.info();
        let name = info.map_or("", |info| info.name);
        let scheme = if collation == collation::BINARY {
            Scheme::Bytes
        } else if name.ends_with("_bin") {
            if collation.charset().starts_with("utf8") {
                Scheme::Bytes
            } else {
                Scheme::CharsetBytes
            }
        } else {
            match name {
                "utf8mb4_0900_ai_ci" => Scheme::Uca900,
                "utf8mb4_unicode_ci" | "utf8mb3_unicode_ci" => Scheme::Uca400,
                "utf8mb4_uca1400_ai_ci"
                | "utf8mb4_uca1400_nopad_ai_ci"
                | "utf8mb3_uca1400_ai_ci"
                | "utf8mb3_uca1400_nopad_ai_ci" => Scheme::Uca1400,
                "utf8mb4_general_ci" | "utf8mb3_general_ci" => Scheme::General,
                "latin1_swedish_ci" => Scheme::Latin1Swedish,
                "ascii_general_ci" => Scheme::Ascii,
                _ => Scheme::Unknown,
            }
        };
        let pad = collation != collation::BINARY && !collation.is_no_pad();
        Self { collation, scheme, pad }
    }

    /// Whether texts compare by their bytes as they are.
    pub(crate) fn is_plain_bytes(&self) -> bool {
        self.scheme == Scheme::Bytes && !self.pad
    }

    /// Appends the sort key of a text.
    pub(crate) fn key(&self, text: &str, out: &mut Vec<u8>) -> Result<()> {
        let text = if self.pad { text.trim_end_matches(' ') } else { text };
        let from = out.len();
        self.weights(text, out)?;
        if !self.pad {
            return Ok(());
        }
        // The other text's next character is compared with a space.
        self.weights(" ", out)?;
        let is_low = match self.scheme {
            Scheme::Uca400 | Scheme::Uca1400 => ends_with_one_space(from, out),
            _ => has_low_after_space(text),
        };
        if is_low {
            return Err(Error::unsupported(
                "comparison of text with control characters after spaces",
            ));
        }
        Ok(())
    }

    /// Appends the weights of a text, its padding left alone.
    pub(crate) fn weights(&self, text: &str, out: &mut Vec<u8>) -> Result<()> {
        match self.scheme {
            Scheme::Bytes => out.extend_from_slice(text.as_bytes()),
            Scheme::CharsetBytes => {
                out.extend_from_slice(&charset::encode(text, self.collation)?);
            }
            Scheme::Ascii | Scheme::Latin1Swedish if text.is_ascii() => {
                out.extend(text.bytes().map(|byte| byte.to_ascii_uppercase()));
            }
            Scheme::Latin1Swedish => {
                let bytes = charset::encode(text, self.collation)?;
                out.extend(bytes.iter().map(|byte| swedish(*byte)));
            }
            Scheme::General => {
                for c in text.chars() {
                    if c.is_ascii() {
                        out.extend_from_slice(&[0, (c as u8).to_ascii_uppercase()]);
                    } else {
                        out.extend_from_slice(&unicode::general(c).to_be_bytes());
                    }
                }
            }
            Scheme::Uca900 => {
                for c in text.chars() {
                    match ASCII_900.get(usize::try_from(u32::from(c)).unwrap_or(usize::MAX)) {
                        Some(0) => {}
                        Some(weight) => out.extend_from_slice(&weight.to_be_bytes()),
                        None => unicode::uca900(c, out)?,
                    }
                }
            }
            Scheme::Uca400 => text.chars().for_each(|c| unicode::uca400(c, out)),
            Scheme::Uca1400 => unicode::uca1400(text, out)?,
            Scheme::Ascii | Scheme::Unknown => {
                return Err(Error::unsupported(format_args!(
                    "comparison of text under collation {}",
                    self.collation.name()
                )));
            }
        }
        Ok(())
    }

    /// Checks whether a text can be searched for, or searched, by weights one after the other:
    /// MariaDB's `uca1400` finds whole characters only.
    pub(crate) fn check_search(&self, text: &str) -> Result<()> {
        if self.scheme == Scheme::Uca1400 && !text.is_ascii() {
            return Err(Error::unsupported(format_args!(
                "searching in such text under collation {}",
                self.collation.name()
            )));
        }
        Ok(())
    }

    /// Compares two texts.
    pub(crate) fn compare(
        &self,
        a: &str,
        b: &str,
        scratch: &mut (Vec<u8>, Vec<u8>),
    ) -> Result<std::cmp::Ordering> {
        if self.is_plain_bytes() {
            return Ok(a.as_bytes().cmp(b.as_bytes()));
        }
        if let Some(order) = self.compare_simple(a, b) {
            return Ok(order);
        }
        scratch.0.clear();
        scratch.1.clear();
        self.key(a, &mut scratch.0)?;
        self.key(b, &mut scratch.1)?;
        Ok(scratch.0.cmp(&scratch.1))
    }

    /// Compares texts of printable ASCII without making their keys, where the scheme has one weight
    /// for each of its characters; `None` for others. The order is that of the keys.
    #[inline]
    pub(crate) fn compare_simple(&self, a: &str, b: &str) -> Option<std::cmp::Ordering> {
        if !is_simple(a) || !is_simple(b) {
            return None;
        }
        let trimmed = |text| if self.pad { str::trim_end_matches(text, ' ') } else { text };
        let (a, b) = (trimmed(a).bytes(), trimmed(b).bytes());
        // What ends first is compared as if a space came next.
        let space = || self.pad.then_some(b' ');
        Some(match self.scheme {
            Scheme::Bytes => a.chain(space()).cmp(b.chain(space())),
            Scheme::Ascii | Scheme::Latin1Swedish | Scheme::General => {
                let fold = |byte: u8| byte.to_ascii_uppercase();
                a.chain(space()).map(fold).cmp(b.chain(space()).map(fold))
            }
            Scheme::Uca900 => {
                let weight = |byte: u8| ASCII_900[usize::from(byte & 0x7F)];
                a.chain(space()).map(weight).cmp(b.chain(space()).map(weight))
            }
            Scheme::CharsetBytes | Scheme::Uca400 | Scheme::Uca1400 | Scheme::Unknown => {
                return None;
            }
        })
    }

    /// Whether two texts have the same weights; spaces at the end count.
    fn same(&self, a: &str, b: &str) -> Result<bool> {
        if a == b {
            return Ok(true);
        }
        let (mut left, mut right) = (Vec::new(), Vec::new());
        self.weights(a, &mut left)?;
        self.weights(b, &mut right)?;
        Ok(left == right)
    }

    /// Whether two characters are the same under the collation, as LIKE compares them.
    pub(crate) fn same_char(&self, a: char, b: char) -> Result<bool> {
        if a == b {
            return Ok(true);
        }
        let ascii = |c: char| usize::try_from(u32::from(c)).ok().and_then(|c| ASCII_900.get(c));
        match self.scheme {
            Scheme::Bytes | Scheme::CharsetBytes => Ok(false),
            // Beyond the basic plane all have one weight, but LIKE tells them apart.
            Scheme::Uca400 if u32::from(a.max(b)) > 0xFFFF => Ok(false),
            Scheme::Uca900 if a.is_ascii() && b.is_ascii() => Ok(ascii(a) == ascii(b)),
            Scheme::Latin1Swedish | Scheme::General | Scheme::Ascii
                if a.is_ascii() && b.is_ascii() =>
            {
                Ok(a.eq_ignore_ascii_case(&b))
            }
            _ => {
                let (mut x, mut y) = ([0; 4], [0; 4]);
                self.same(a.encode_utf8(&mut x), b.encode_utf8(&mut y))
            }
        }
    }
}

/// The weights of latin1_swedish_ci.
fn swedish(byte: u8) -> u8 {
    const HIGH: &[u8; 64] = b"AAAA\\[\\CEEEEIIIIDNOOOO]\xD7\xD8UUUYY\xDE\xDF\
        AAAA\\[\\CEEEEIIIIDNOOOO]\xF7\xD8UUUYY\xDE\xFF";
    match byte {
        b'a'..=b'z' => byte.to_ascii_uppercase(),
        0xC0.. => HIGH[usize::from(byte - 0xC0)],
        _ => byte,
    }
}

/// Whether a text is of printable ASCII: none of its characters is ignored, or below a space.
fn is_simple(text: &str) -> bool {
    text.bytes().all(|byte| (b' '..0x7F).contains(&byte))
}

/// Takes the weights of spaces off the end of weights of two bytes from `from` on, all but the last
/// one: the text may end with other characters that weigh nothing, or as much as a space. Says
/// whether a space is followed by what is below it.
fn ends_with_one_space(from: usize, weights: &mut Vec<u8>) -> bool {
    let Some(&space) = weights.last_chunk::<2>() else { return false };
    while weights.len() >= from + 4 && weights[..weights.len() - 2].ends_with(&space) {
        weights.truncate(weights.len() - 2);
    }
    let (own, _) = weights[from..].as_chunks::<2>();
    own.windows(2).any(|pair| pair[0] == space && pair[1] < space)
}

/// A character below the space after a space would have to be compared with padding that never
/// ends.
fn has_low_after_space(text: &str) -> bool {
    text.as_bytes().windows(2).any(|pair| pair[0] == b' ' && pair[1] < b' ')
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cmp::Ordering;

    fn compare(name: &str, a: &str, b: &str) -> Ordering {
        let rules = Rules::of(Collation::by_name(name).unwrap());
        rules.compare(a, b, &mut Default::default()).unwrap()
    }

    #[test]
    fn case_and_padding() {
        assert_eq!(compare("utf8mb4_0900_ai_ci", "aB", "Ab"), Ordering::Equal);
        assert_eq!(compare("utf8mb4_0900_ai_ci", "a", "a "), Ordering::Less);
        assert_eq!(compare("utf8mb4_0900_ai_ci", "a_", "a-"), Ordering::Less);
        assert_eq!(compare("utf8mb4_general_ci", "a", "a  "), Ordering::Equal);
        assert_eq!(compare("utf8mb4_general_ci", "a", "a\t"), Ordering::Greater);
        assert_eq!(compare("utf8mb4_bin", "a", "A"), Ordering::Greater);
        assert_eq!(compare("binary", "a", "a "), Ordering::Less);
    }

    /// As MySQL 9.7 and MariaDB 10.11 say.
    #[test]
    fn what_weighs_nothing_does_not_hide_spaces_at_the_end() {
        for name in ["utf8mb4_unicode_ci", "utf8mb3_unicode_ci", "utf8mb4_uca1400_ai_ci"] {
            for nothing in ["\u{200B}", "\u{301}", "\u{1}", " \u{301} \u{200B} "] {
                for spaces in ["", " ", "   "] {
                    let text = format!("a{spaces}{nothing}");
                    assert_eq!(compare(name, &text, "A"), Ordering::Equal, "{name} {text:?}");
                    let longer = format!("{text}b");
                    let plain = format!("a{}b", longer.replace(|c: char| c != ' ', ""));
                    assert_eq!(compare(name, &longer, &plain), Ordering::Equal, "{name}");
                }
            }
            assert_eq!(compare(name, "a\u{A0}", "a"), Ordering::Equal);
            assert_eq!(compare(name, "a\u{200B}\t", "a"), Ordering::Less);
            assert_eq!(compare(name, "\u{301} ", ""), Ordering::Equal);
            let rules = Rules::of(Collation::by_name(name).unwrap());
            let hidden = rules.compare("a \u{200B}\t", "a", &mut Default::default());
            assert!(hidden.is_err(), "{name}");
        }
        assert_eq!(compare("utf8mb4_uca1400_nopad_ai_ci", "a \u{200B}", "a"), Ordering::Greater);
        assert_eq!(compare("utf8mb4_general_ci", "a \u{200B}", "a"), Ordering::Greater);
    }

    #[test]
    fn simple_texts_compare_as_their_keys() {
        // Every text of up to three of these: both cases, spaces, and what orders differently.
        let letters = [' ', 'a', 'A', 'b', '_', '-', '[', '~'];
        let mut texts = vec![String::new()];
        for from in [0, 1, 9] {
            for at in from..texts.len() {
                texts.extend(letters.map(|letter| format!("{}{letter}", texts[at])));
            }
        }
        texts.dedup();
        for name in [
            "utf8mb4_0900_ai_ci",
            "utf8mb4_general_ci",
            "utf8mb4_bin",
            "latin1_swedish_ci",
            "ascii_general_ci",
            "binary",
        ] {
            let rules = Rules::of(Collation::by_name(name).unwrap());
            let key = |text: &str| {
                let mut key = Vec::new();
                rules.key(text, &mut key).unwrap();
                key
            };
            for a in &texts {
                for b in texts.iter().step_by(3) {
                    let simple = rules.compare_simple(a, b);
                    assert_eq!(simple, Some(key(a).cmp(&key(b))), "{name}: {a:?} and {b:?}");
                }
            }
            assert_eq!(rules.compare_simple("a\t", "a"), None);
            assert_eq!(rules.compare_simple("a", "\u{e4}"), None);
        }
    }

    #[test]
    fn beyond_ascii() {
        assert_eq!(compare("utf8mb4_0900_ai_ci", "Ä", "a"), Ordering::Equal);
        assert_eq!(compare("utf8mb4_0900_ai_ci", "ß", "ss"), Ordering::Equal);
        assert_eq!(
            compare("utf8mb4_0900_ai_ci", "각", "\u{1100}\u{1161}\u{11a8}"),
            Ordering::Equal
        );
        assert_eq!(compare("utf8mb4_0900_ai_ci", "中", "丁"), Ordering::Greater);
        assert_eq!(compare("utf8mb4_general_ci", "ß", "s"), Ordering::Equal);
        assert_eq!(compare("utf8mb4_general_ci", "ä", "A"), Ordering::Equal);
        assert_eq!(compare("utf8mb4_general_ci", "😀", "😁"), Ordering::Equal);
        assert_eq!(compare("utf8mb4_unicode_ci", "ß", "ss"), Ordering::Equal);
        assert_eq!(compare("utf8mb4_uca1400_ai_ci", "Straße ", "STRASSE"), Ordering::Equal);
        assert_eq!(compare("utf8mb4_uca1400_nopad_ai_ci", "a ", "A"), Ordering::Greater);
        assert_eq!(compare("utf8mb3_uca1400_ai_ci", "й", "и"), Ordering::Greater);
        assert_eq!(compare("latin1_swedish_ci", "ü", "Y"), Ordering::Equal);
        assert_eq!(compare("latin1_swedish_ci", "ä", "a"), Ordering::Greater);
    }
}
