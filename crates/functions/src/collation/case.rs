//! Upper and lower case as MySQL's collations define them: one character maps to one character,
//! from tables recorded from servers (`record_weights.py`).

use std::collections::HashMap;
use std::sync::LazyLock;

use pelorus_error::{Error, Result};
use pelorus_types::Collation;

/// Upper and lower case of the characters beyond ASCII that have them; `None` where MySQL gives no
/// character at all.
type Table = HashMap<char, (Option<char>, Option<char>)>;

fn read(bytes: &[u8]) -> Table {
    let point = |at: &[u8]| match at {
        [a, b, c] => u32::from(*a) << 16 | u32::from(*b) << 8 | u32::from(*c),
        _ => 0,
    };
    let character = |at: &[u8]| char::from_u32(point(at)).filter(|c| *c != '\0');
    bytes
        .chunks_exact(9)
        .filter_map(|r| Some((character(&r[..3])?, (character(&r[3..6]), character(&r[6..])))))
        .collect()
}

static GENERAL: LazyLock<Table> = LazyLock::new(|| read(include_bytes!("case_general.bin")));
static UNICODE_1400: LazyLock<Table> = LazyLock::new(|| read(include_bytes!("case_1400.bin")));
static UNICODE_900: LazyLock<Table> = LazyLock::new(|| read(include_bytes!("case_900.bin")));

/// A text in upper or lower case.
pub(crate) fn change(text: &str, upper: bool, collation: Collation) -> Result<String> {
    if text.is_ascii() {
        return Ok(if upper { text.to_ascii_uppercase() } else { text.to_ascii_lowercase() });
    }
    let name = collation.name();
    let charset = collation.charset();
    let table: Option<&Table> = if charset == "latin1" {
        None
    } else if name.contains("_uca1400_") && charset.starts_with("utf8") {
        Some(&UNICODE_1400)
    } else if name.contains("_0900_") {
        Some(&UNICODE_900)
    } else if name.ends_with("_general_ci")
        || name.ends_with("_unicode_ci")
        || name.ends_with("_bin")
    {
        if !charset.starts_with("utf8") {
            return Err(refused(&name));
        }
        Some(&GENERAL)
    } else {
        return Err(refused(&name));
    };
    text.chars()
        .map(|c| {
            if c.is_ascii() {
                return Ok(if upper { c.to_ascii_uppercase() } else { c.to_ascii_lowercase() });
            }
            let Some(table) = table else { return Ok(latin1(c, upper)) };
            match table.get(&c) {
                None => Ok(c),
                Some((up, low)) => if upper { *up } else { *low }.ok_or_else(|| refused(&name)),
            }
        })
        .collect()
}

/// The letters of latin1 beyond ASCII; `ß` and `ÿ` have no partner there.
fn latin1(c: char, upper: bool) -> char {
    let moved = match (upper, c) {
        (true, 'à'..='þ') if c != '÷' => u32::from(c) - 32,
        (false, 'À'..='Þ') if c != '×' => u32::from(c) + 32,
        _ => return c,
    };
    char::from_u32(moved).unwrap_or(c)
}

fn refused(collation: &str) -> Error {
    Error::unsupported(format_args!(
        "upper and lower case of such text under collation {collation}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_character_for_one() {
        let ai = pelorus_types::collation::UTF8MB4_0900_AI_CI;
        assert_eq!(change("straße äöü", true, ai).unwrap(), "STRAßE ÄÖÜ");
        assert_eq!(change("İ", false, ai).unwrap(), "i");
        assert!(change("\u{250}", true, ai).is_err());
        let latin = Collation::by_name("latin1_swedish_ci").unwrap();
        assert_eq!(change("ÿþ÷µ", true, latin).unwrap(), "ÿÞ÷µ");
    }
}
