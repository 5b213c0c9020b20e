//! `LIKE` patterns of `SHOW` statements, host names and column lists. They compare without regard to
//! ASCII case; columns of tables use the collations of the functions crate instead.

/// A `LIKE` pattern.
#[derive(Clone, Debug)]
pub struct Like {
    parts: Vec<Part>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Any,
    One,
    Char(char),
}

impl Like {
    /// Reads a pattern in which `escape` takes the meaning from `%` and `_`.
    pub fn new(pattern: &str, escape: Option<char>) -> Self {
        let mut parts = Vec::new();
        let mut chars = pattern.chars();
        while let Some(c) = chars.next() {
            let part = match c {
                c if Some(c) == escape => Part::Char(chars.next().unwrap_or(c)),
                '%' => Part::Any,
                '_' => Part::One,
                c => Part::Char(c),
            };
            if part != Part::Any || parts.last() != Some(&Part::Any) {
                parts.push(part);
            }
        }
        Self { parts }
    }

    /// A pattern of a `SHOW` statement, with `\` as its escape.
    pub fn show(pattern: &str) -> Self {
        Self::new(pattern, Some('\\'))
    }

    /// Whether the whole text matches.
    pub fn matches(&self, text: &str) -> bool {
        let text: Vec<char> = text.chars().collect();
        let (mut at, mut part) = (0, 0);
        // Where to go on when the last `%` must take one more character: no need for more than one
        // such place, so the time is the product of the lengths at worst.
        let mut retry: Option<(usize, usize)> = None;
        loop {
            let fits = match self.parts.get(part) {
                Some(Part::Any) => {
                    retry = Some((part, at));
                    part += 1;
                    continue;
                }
                None if at == text.len() => return true,
                None => false,
                Some(Part::One) => at < text.len(),
                Some(Part::Char(c)) => text.get(at).is_some_and(|t| same(*t, *c)),
            };
            if fits {
                (at, part) = (at + 1, part + 1);
                continue;
            }
            match retry {
                Some((any, from)) if from < text.len() => {
                    retry = Some((any, from + 1));
                    (at, part) = (from + 1, any + 1);
                }
                _ => return false,
            }
        }
    }
}

fn same(a: char, b: char) -> bool {
    a == b || a.to_lowercase().eq(b.to_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_as_in_show_statements() {
        for (pattern, text, expected) in [
            ("%", "", true),
            ("max%", "MAX_connections", true),
            ("max\\_%", "maxXconnections", false),
            ("max\\_%", "max_connections", true),
            ("a_c", "abc", true),
            ("a_c", "ac", false),
            ("%b%d", "abcbd", true),
            ("%b%d", "abcbde", false),
            ("", "x", false),
            ("a\\", "a\\", true),
        ] {
            assert_eq!(Like::show(pattern).matches(text), expected, "{pattern} {text}");
        }
    }

    #[test]
    fn many_wildcards_take_no_exponential_time() {
        let pattern = "%a".repeat(200) + "b";
        assert!(!Like::show(&pattern).matches(&"a".repeat(2_000)));
    }
}
