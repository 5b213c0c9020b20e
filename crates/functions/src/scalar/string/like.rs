//! Pattern matching: `LIKE` and `REGEXP`.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray};
use pelorus_error::{Code, Error, Result};
use pelorus_types::ColumnType;
use regex::Regex;

use super::{Str, compared, wrong_arguments};
use crate::call::{Batch, Call};
use crate::collation::sort_weights::Rules;
use crate::context::EvalContext;
use crate::kernels::vector::truths;
use crate::registry::errors::parameter_count;
use crate::types::result_type::null_if_any;
use crate::value::{Arg, Value};

/// A part of a LIKE pattern.
#[derive(Clone, Debug, PartialEq)]
enum Piece<T> {
    Just(T),
    One,
    Many,
}

/// Binds `LIKE` and `NOT LIKE`: text, pattern and, if given, the escape character.
pub(crate) fn like(name: &str, args: &[Arg], ctx: &Arc<EvalContext>) -> Result<Call> {
    let (text, pattern, escape) = match args {
        [text, pattern] => (text, pattern, default_escape(ctx)),
        [text, pattern, escape] => (text, pattern, escape_char(escape)?),
        _ => return Err(parameter_count(name)),
    };
    let negated = name == "NOT LIKE";
    let (mixed, binary) = compared(&[text, pattern], ctx, "like")?;
    let rules = Rules::of(mixed.collation);
    let ty = null_if_any(ColumnType::boolean(), &args[..2]);
    let word = if negated { "not like" } else { "like" };
    let shown = format!("({} {word} {})", text.text, pattern.text);
    let kernel = move |batch: &Batch<'_>| {
        let (text, pattern) = (&batch.inputs[0], &batch.inputs[1]);
        if !binary
            && pattern.is_one()
            && !pattern.is_null(0)
            && !text.is_one()
            && let Some(result) = like_column(batch, &rules, escape, negated)?
        {
            return Ok(result);
        }
        let result = truths(batch.rows, |row| {
            let (Some(text), Some(pattern)) =
                (Str::read(text, row, binary)?, Str::read(pattern, row, binary)?)
            else {
                return Ok(None);
            };
            Ok(Some(like_one(&text, &pattern, escape, &rules)? != negated))
        })?;
        Ok(Arc::new(result) as ArrayRef)
    };
    Ok(Call::new(name, args, ctx, ty, Box::new(kernel)).with_text(shown))
}

fn default_escape(ctx: &EvalContext) -> Option<char> {
    (!ctx.sql_mode.no_backslash_escapes).then_some('\\')
}

fn escape_char(escape: &Arg) -> Result<Option<char>> {
    let text = match &escape.constant {
        Some(Value::Text(text)) => text.clone(),
        Some(Value::Null) => return Ok(Some('\\')),
        Some(Value::Bytes(bytes)) => String::from_utf8_lossy(bytes).into_owned(),
        _ => return Err(wrong_arguments("ESCAPE")),
    };
    let mut chars = text.chars();
    match (chars.next(), chars.next()) {
        (one, None) => Ok(one),
        _ => Err(wrong_arguments("ESCAPE")),
    }
}

/// A column against one pattern, which is read once.
fn like_column(
    batch: &Batch<'_>,
    rules: &Rules,
    escape: Option<char>,
    negated: bool,
) -> Result<Option<ArrayRef>> {
    let Some(column) = batch.inputs[0].array.as_string_opt::<i32>() else { return Ok(None) };
    let Some(pattern) = batch.inputs[1].text(0)? else { return Ok(None) };
    let pieces = pieces(pattern.chars(), escape, '%', '_');
    let mut chars = Vec::new();
    let result = truths(batch.rows, |row| {
        if column.is_null(row) {
            return Ok(None);
        }
        chars.clear();
        chars.extend(column.value(row).chars());
        Ok(Some(matches(&chars, &pieces, &|a, b| rules.same_char(*a, *b))? != negated))
    })?;
    Ok(Some(Arc::new(result)))
}

fn like_one(
    text: &Str<'_>,
    pattern: &Str<'_>,
    escape: Option<char>,
    rules: &Rules,
) -> Result<bool> {
    match (text, pattern) {
        (Str::Text(text), Str::Text(pattern)) => {
            let pieces = pieces(pattern.chars(), escape, '%', '_');
            let chars: Vec<char> = text.chars().collect();
            matches(&chars, &pieces, &|a, b| rules.same_char(*a, *b))
        }
        _ => {
            let escape = escape.and_then(|escape| u8::try_from(u32::from(escape)).ok());
            let pieces = pieces(pattern.as_bytes().iter().copied(), escape, b'%', b'_');
            matches(text.as_bytes(), &pieces, &|a, b| Ok(a == b))
        }
    }
}

fn pieces<T: PartialEq + Copy>(
    pattern: impl Iterator<Item = T>,
    escape: Option<T>,
    many: T,
    one: T,
) -> Vec<Piece<T>> {
    let mut pieces = Vec::new();
    let mut pattern = pattern.peekable();
    while let Some(c) = pattern.next() {
        if Some(c) == escape && pattern.peek().is_some() {
            pieces.extend(pattern.next().map(Piece::Just));
        } else if c == many {
            if pieces.last() != Some(&Piece::Many) {
                pieces.push(Piece::Many);
            }
        } else if c == one {
            pieces.push(Piece::One);
        } else {
            pieces.push(Piece::Just(c));
        }
    }
    pieces
}

/// Matches with one point of return: the last `%` takes one character more and all goes on from
/// there.
fn matches<T>(
    text: &[T],
    pieces: &[Piece<T>],
    same: &impl Fn(&T, &T) -> Result<bool>,
) -> Result<bool> {
    let (mut at, mut piece) = (0, 0);
    let mut retry: Option<(usize, usize)> = None;
    loop {
        let fits = match pieces.get(piece) {
            None => at == text.len(),
            Some(Piece::Many) => {
                retry = Some((at, piece + 1));
                piece += 1;
                continue;
            }
            Some(Piece::One) => at < text.len(),
            Some(Piece::Just(c)) => at < text.len() && same(&text[at], c)?,
        };
        if fits {
            if piece == pieces.len() {
                return Ok(true);
            }
            at += 1;
            piece += 1;
            continue;
        }
        match retry {
            Some((from, resume)) if from < text.len() => {
                retry = Some((from + 1, resume));
                at = from + 1;
                piece = resume;
            }
            _ => return Ok(false),
        }
    }
}

/// Binds `REGEXP`, `NOT REGEXP` and `REGEXP_LIKE`, which may say how to match in a third argument.
pub(crate) fn regexp(name: &str, args: &[Arg], ctx: &Arc<EvalContext>) -> Result<Call> {
    let (text, pattern) = match args {
        [text, pattern] => (text, pattern),
        [text, pattern, _] if name == "REGEXP_LIKE" => (text, pattern),
        _ => return Err(parameter_count(name)),
    };
    let negated = name.starts_with("NOT ");
    let (mixed, binary) = compared(&[text, pattern], ctx, "regexp")?;
    if binary && !text.is_null() && !pattern.is_null() {
        return Err(Error::unsupported("regular expressions on bytes"));
    }
    let fold = !mixed.collation.is_binary_order() && !mixed.collation.name().contains("_cs");
    let usual = Matching { fold, ..Matching::default() };
    let ty = null_if_any(ColumnType::boolean(), args);
    let shown = format!("regexp_like({},{})", text.text, pattern.text);
    let kernel = move |batch: &Batch<'_>| {
        let (text, pattern) = (&batch.inputs[0], &batch.inputs[1]);
        let mut known: Option<(String, Pattern)> = None;
        let result = truths(batch.rows, |row| {
            let matching = match batch.inputs.get(2) {
                None => usual,
                Some(letters) => match letters.text(row)? {
                    Some(letters) => usual.with(&letters)?,
                    None => return Ok(None),
                },
            };
            let (Some(text), Some(pattern)) = (text.text(row)?, pattern.text(row)?) else {
                return Ok(None);
            };
            let is_known = |(text, compiled): &(String, Pattern)| {
                *text == pattern && compiled.matching == matching
            };
            if !known.as_ref().is_some_and(is_known) {
                known = Some((pattern.clone().into_owned(), Pattern::new(&pattern, matching)?));
            }
            let Some((_, compiled)) = &known else { return Ok(None) };
            Ok(Some(compiled.is_match(&text)? != negated))
        })?;
        Ok(Arc::new(result) as ArrayRef)
    };
    Ok(Call::new(name, args, ctx, ty, Box::new(kernel)).with_text(shown))
}

/// How a pattern is matched: the third argument of `REGEXP_LIKE`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Matching {
    /// `i` or `c`: letters of any case are the same, or not.
    fold: bool,
    /// `m`: `^` and `$` are the ends of lines.
    lines: bool,
    /// `n`: the point is any character.
    all: bool,
    /// `u`: only a line feed ends a line.
    unix: bool,
}

impl Matching {
    /// What letters make of it, of which the later ones win.
    fn with(mut self, letters: &str) -> Result<Self> {
        for letter in letters.chars() {
            match letter {
                'c' => self.fold = false,
                'i' => self.fold = true,
                'm' => self.lines = true,
                'n' => self.all = true,
                'u' => self.unix = true,
                _ => return Err(wrong_arguments("regexp_like")),
            }
        }
        Ok(self)
    }

    /// The letters that the engine here knows for it.
    fn letters(self) -> String {
        let letters = [(self.fold, 'i'), (self.lines, 'm'), (self.all, 's')];
        letters.into_iter().filter_map(|(is_set, letter)| is_set.then_some(letter)).collect()
    }
}

/// A pattern that means the same to ICU, which MySQL uses, and to the engine here.
struct Pattern {
    regex: Regex,
    matching: Matching,
    /// Whether it has a point, which stands for no end of a line.
    point: bool,
    /// Whether it asks about the ends of lines.
    ends: bool,
    /// Whether it names classes of characters, which here hold ASCII only.
    classes: bool,
}

impl Pattern {
    fn new(pattern: &str, matching: Matching) -> Result<Self> {
        if pattern.is_empty() {
            return Err(Error::new(
                Code::RegularExpression,
                "Illegal argument to a regular expression.",
            ));
        }
        if !is_portable(pattern) {
            return Err(Error::unsupported(format_args!("the regular expression '{pattern}'")));
        }
        let letters = matching.letters();
        let source = match letters.as_str() {
            "" => pattern.to_owned(),
            letters => format!("(?{letters}){pattern}"),
        };
        let regex = Regex::new(&source).map_err(|error| {
            Error::unsupported(format_args!("the regular expression '{pattern}'")).caused_by(error)
        })?;
        let (point, ends) = (pattern.contains('.'), pattern.contains(['$', '^']));
        let classes = pattern.contains("[:") || pattern.contains('\\') || pattern.contains("[^");
        Ok(Self { regex, matching, point, ends, classes })
    }

    fn is_match(&self, text: &str) -> Result<bool> {
        // The engine here takes a line feed alone for the end of a line; what ends the text is no
        // line to ICU.
        let line_end =
            |c: char| matches!(c, '\r' | '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}');
        let others = !self.matching.unix && text.contains(line_end);
        // With `n` the point takes both characters of such an end at once, whatever `u` says.
        let pairs = self.point && self.matching.all && text.contains("\r\n");
        let refused = ((self.point || self.ends) && others)
            || pairs
            || (self.ends && text.ends_with('\n'))
            || (!text.is_ascii() && (self.classes || (self.matching.fold && has_odd_case(text))));
        if refused {
            return Err(Error::unsupported("this regular expression on such a text"));
        }
        Ok(self.regex.is_match(text))
    }
}

/// Characters that fold to several, which ICU follows and the engine here does not.
fn has_odd_case(text: &str) -> bool {
    text.chars()
        .any(|c| !c.is_ascii() && (c.to_uppercase().count() != 1 || c.to_lowercase().count() != 1))
}

/// Only what both engines read alike: no look-around, possessive or lazy doubling, set operations,
/// Unicode properties or named groups, no `\<` and `\>`, which begin and end a word for one engine
/// alone, and no `[:punct:]`, of which signs like `+` are for one engine alone.
fn is_portable(pattern: &str) -> bool {
    let bytes = pattern.as_bytes();
    let (mut in_class, mut in_braces) = (false, false);
    let mut at = 0;
    while at < bytes.len() {
        let next = bytes.get(at + 1).copied();
        match bytes[at] {
            b'\\' => {
                let plain = next.is_some_and(|c| {
                    matches!(c, b'd' | b's' | b'w' | b'D' | b'S' | b'W')
                        || (c.is_ascii_punctuation() && !matches!(c, b'<' | b'>'))
                });
                if !plain {
                    return false;
                }
                at += 1;
            }
            b'(' if !in_class && next == Some(b'?') => return false,
            b'+' | b'*' | b'?' | b'}' if !in_class && next == Some(b'+') => return false,
            b'[' if in_class => {
                let Some(end) = pattern[at..].find(":]").filter(|_| next == Some(b':')) else {
                    return false;
                };
                if pattern[at..at + end].contains("punct") {
                    return false;
                }
                at += end + 1;
            }
            b'[' => {
                in_class = true;
                // A bracket that closes at once is a member to one engine, an error to the other.
                let after = if next == Some(b'^') { bytes.get(at + 2) } else { bytes.get(at + 1) };
                if after == Some(&b']') {
                    return false;
                }
            }
            // Alone it is a character to one engine, an error to the other.
            b']' if !in_class => return false,
            b'}' if !in_class && !in_braces => return false,
            b'{' | b'}' if !in_class => in_braces = bytes[at] == b'{',
            b']' => in_class = false,
            b'&' | b'~' | b'-' if in_class && next == Some(bytes[at]) => return false,
            _ => {}
        }
        at += 1;
    }
    !in_class
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn simple(text: &str, pattern: &str) -> bool {
        let pieces = pieces(pattern.chars(), Some('\\'), '%', '_');
        let chars: Vec<char> = text.chars().collect();
        matches(&chars, &pieces, &|a, b| Ok(a == b)).unwrap()
    }

    #[test]
    fn patterns() {
        assert!(simple("abc", "a%c"));
        assert!(simple("aab", "%ab"));
        assert!(simple("", "%"));
        assert!(!simple("", "_"));
        assert!(simple("a%", "a\\%"));
        assert!(!simple("ab", "a\\%"));
        assert!(simple("abcbcd", "a%bcd"));
    }

    /// As MySQL 9.7 says.
    #[test]
    fn letters_say_how_to_match() {
        let found = |text: &str, pattern: &str, letters: &str| {
            let matching = Matching { fold: true, ..Matching::default() }.with(letters)?;
            Pattern::new(pattern, matching)?.is_match(text)
        };
        let is = |text: &str, pattern: &str, letters: &str| found(text, pattern, letters).unwrap();
        assert!(is("aB", "^ab", "") && is("aB", "^ab", "ci") && is("aB", "^ab", "cci"));
        assert!(!is("aB", "^ab", "c") && !is("aB", "^ab", "ic"));
        assert!(is("a\nb", "^b", "m") && !is("a\nb", "^b", ""));
        assert!(is("a\nb", "a$", "mu") && !is("a\nb", "a$", "u"));
        assert!(is("a\nb", "a.b", "n") && !is("a\nb", "a.b", "u") && !is("a\nb", "a.b", ""));
        assert!(is("a\rb", "a.b", "u"));
        let errno = |text, pattern, letters| found(text, pattern, letters).unwrap_err().errno();
        assert_eq!(errno("a", "a", "ix"), 1210);
        assert_eq!(errno("a", "a", "I"), 1210);
        // The ends of lines that only ICU knows.
        assert_eq!(errno("a\rb", "^b", "m"), 1235);
        assert_eq!(errno("a\rb", "a.b", ""), 1235);
        assert_eq!(errno("a\n", "a$", ""), 1235);
        assert_eq!(errno("a\r\nb", "a.b", "nu"), 1235);
        assert_eq!(errno("a\r\nb", "a..b", "nu"), 1235);
        assert!(is("a\rb", "a.b", "nu") && is("a\n\rb", "a..b", "nu"));
    }

    #[test]
    fn what_the_engines_read_otherwise_is_refused() {
        for pattern in [r"\<a", r"a\>", "[[:punct:]]", "[^[:punct:]]", "[a[:^punct:]]", "a]", "a}"]
        {
            assert!(!is_portable(pattern), "{pattern}");
        }
        assert!(is_portable("a{1,2}b{3}") && is_portable("[}a]") && is_portable(r"\]\}"));
        assert!(is_portable("<a>") && is_portable("[[:alpha:]]") && is_portable(r"\."));
    }

    proptest! {
        #[test]
        fn a_text_is_like_itself_with_gaps(text in "[a-c]{0,12}", cut in 0_usize..12) {
            let cut = cut.min(text.len());
            let pattern = format!("{}%{}", &text[..cut], &text[cut..]);
            prop_assert!(simple(&text, &pattern));
        }

        #[test]
        fn any_pattern_is_read(pattern in ".{0,20}", text in ".{0,20}") {
            let _ = simple(&text, &pattern);
            let matching = Matching { fold: true, ..Matching::default() };
            if let Ok(compiled) = Pattern::new(&pattern, matching) {
                let _ = compiled.is_match(&text);
            }
        }
    }
}
