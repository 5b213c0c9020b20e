//! The words of prose that the style page rules out, counted in documents, comments and messages.

use crate::tree::File;

/// A word or phrase, and what to write in its place.
pub(crate) const RULED_OUT: &[(&[&str], &str)] = &[
    (&["a", "new"], "again, from the start"),
    (&["be", "side"], "next to, together with, compared with"),
    (&["be", "hind"], "after"),
    (&["some", "body"], "a client, a user, a caller"),
    (&["no", "body"], "no client, no user, no caller"),
    (&["who", "ever"], "a caller that"),
    (&["to", "ld"], "passed, informed, reported"),
    (&["carried", " out"], "executed, run"),
    (&["by it", "self"], "separately, automatically"),
    (&["by ch", "ance"], "random"),
];

/// How often each word stands in the prose of the files, in the order of the table.
pub(crate) fn count(files: &[File]) -> Vec<(String, usize)> {
    let words: Vec<String> = RULED_OUT.iter().map(|(parts, _)| parts.concat()).collect();
    let mut counts = vec![0; words.len()];
    for file in files {
        for line in file.text.lines() {
            let prose = prose(file, line);
            for (count, word) in counts.iter_mut().zip(&words) {
                *count += prose.iter().map(|text| occurrences(text, word)).sum::<usize>();
            }
        }
    }
    words.into_iter().zip(counts).collect()
}

/// The parts of a line that people read: all of a document; comments and texts of code.
fn prose<'a>(file: &File, line: &'a str) -> Vec<&'a str> {
    if file.is("md") {
        return vec![line];
    }
    let mark = match file.path.rsplit('.').next() {
        Some("rs" | "java" | "js" | "mjs" | "go") => "//",
        Some("sql") => "-- ",
        _ => "#",
    };
    let (code, comment) = line.split_once(mark).unwrap_or((line, ""));
    let mut parts: Vec<&str> = code.split('"').skip(1).step_by(2).collect();
    parts.push(comment);
    parts
}

/// How often the word stands in the text as a word of its own.
fn occurrences(text: &str, word: &str) -> usize {
    let lower = text.to_ascii_lowercase();
    let joins = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == '`');
    lower
        .match_indices(word)
        .filter(|(at, _)| {
            !joins(lower[..*at].chars().next_back())
                && !joins(lower[at + word.len()..].chars().next())
        })
        .count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(path: &str, text: &str) -> usize {
        let file = File { path: path.to_owned(), text: text.to_owned() };
        count(&[file]).into_iter().map(|(_, count)| count).sum()
    }

    #[test]
    fn comments_texts_and_documents_are_prose_and_code_is_not() {
        let word = ["a", "new"].concat();
        assert_eq!(counted("a.md", &format!("Read {word}, and {word}.")), 2);
        assert_eq!(counted("a.rs", &format!("let {word} = 1; // {word}")), 1);
        assert_eq!(counted("a.rs", &format!("f(\"{word} text\", {word})")), 1);
        assert_eq!(counted("a.rs", &format!("// `{word}` and x{word}")), 0);
        assert_eq!(counted("a.py", &format!("# {word}")), 1);
    }
}
