//! MySQL's JSON documents in rows: binary documents to text, and changes applied to them.
//!
//! A document is read into a tree that borrows its texts, changed if need be, and written as
//! `CAST(j AS CHAR)` writes it. Source: MySQL's `sql-common/json_binary.h`, `json_dom.cc` and
//! `json_diff.h`.

mod binary;
mod change;
mod path;
mod text;
mod write;

use std::borrow::Cow;

use pelorus_error::Result;

/// A value; texts and opaque bytes are those of the document or of a change.
#[derive(Clone, Debug, PartialEq)]
enum Json<'a> {
    Null,
    Bool(bool),
    Int(i64),
    UInt(u64),
    Double(f64),
    /// A number out of a text, as it is.
    Number(&'a str),
    Text(Cow<'a, [u8]>),
    /// A value of another SQL type: its type byte and its bytes.
    Opaque(u8, &'a [u8]),
    Array(Vec<Json<'a>>),
    /// Members in MySQL's order: shorter keys first, then by bytes.
    Object(Vec<(Cow<'a, [u8]>, Json<'a>)>),
}

/// The text of a binary document.
///
/// # Errors
/// When the bytes are no document.
pub(crate) fn to_text(document: &[u8]) -> Result<String> {
    write::text(&binary::read(document)?)
}

/// The text of a binary document after changes.
///
/// # Errors
/// When the bytes are no document or no changes of it.
pub(crate) fn patched(document: &[u8], changes: &[u8]) -> Result<String> {
    let mut json = binary::read(document)?;
    change::apply(&mut json, changes)?;
    write::text(&json)
}

/// Applies the changes of a document to its text: for [`crate::DocumentChange`]. Returns the new
/// text.
///
/// # Errors
/// When the text is no JSON, or the changes are none of it (1835).
pub fn apply_changes(document: &str, changes: &[u8]) -> Result<String> {
    let mut json = text::read(document.as_bytes())?;
    change::apply(&mut json, changes)?;
    write::text(&json)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn small_documents() {
        // [1, "a"] as a small array.
        let document = [2, 2, 0, 12, 0, 5, 1, 0, 12, 10, 0, 1, b'a'];
        assert_eq!(to_text(&document).unwrap(), "[1, \"a\"]");
        assert_eq!(to_text(&[4, 0]).unwrap(), "null");
        assert_eq!(to_text(&[]).unwrap(), "null");
        // An array that contains itself.
        let looped = [2, 1, 0, 7, 0, 2, 0, 0];
        assert_eq!(to_text(&looped).unwrap_err().errno(), 1835);
    }

    #[test]
    fn objects_in_circles_cost_no_more_than_their_size() {
        // A large object: so many empty keys, and values which are 1, but for the first.
        let object = |count: u32, first: [u8; 5]| {
            let mut document = vec![1];
            document.extend(count.to_le_bytes());
            document.extend((8 + 11 * count).to_le_bytes());
            document.extend((0..count).flat_map(|_| [0; 6]));
            document.extend(first);
            document.extend((1..count).flat_map(|_| [5, 1, 0, 0, 0]));
            document
        };
        assert_eq!(to_text(&object(2, [5, 1, 0, 0, 0])).unwrap(), r#"{"": 1, "": 1}"#);
        // The first value is the object itself, with all of its keys once more.
        let error = to_text(&object(1000, [1, 0, 0, 0, 0])).unwrap_err();
        assert!(error.message().contains("in circles"), "{error}");
    }

    #[test]
    fn changes() {
        let document = [2, 2, 0, 12, 0, 5, 1, 0, 12, 10, 0, 1, b'a'];
        let mut changes = vec![0, 4];
        changes.extend(b"$[1]");
        changes.extend([2, 4, 1]);
        changes.extend([1, 4]);
        changes.extend(b"$[0]");
        changes.extend([2, 4, 0]);
        changes.extend([2, 4]);
        changes.extend(b"$[1]");
        assert_eq!(patched(&document, &changes).unwrap(), "[null, true]");
        assert_eq!(apply_changes(r#"[1, "a"]"#, &changes).unwrap(), "[null, true]");
        let text = r#"{"a": 1.50, "b\"\n": [true, false, null, -1e20, ""], "é": {}}"#;
        assert_eq!(apply_changes(text, &[]).unwrap(), text);
        for broken in ["", "[", "[1", "{\"a\"}", "nul", "1 2", "\"", "[1,]"] {
            assert_eq!(apply_changes(broken, &[]).unwrap_err().errno(), 1835, "{broken}");
        }
        assert_eq!(patched(&document, b"\x02\x04$[9]").unwrap_err().errno(), 1835);
    }

    #[test]
    fn cells_from_the_end() {
        let change = |what: u8, path: &str, value: Option<u8>| {
            let mut change = vec![what, u8::try_from(path.len()).unwrap()];
            change.extend(path.as_bytes());
            // A number of two bytes.
            change.extend(value.iter().flat_map(|value| [3, 5, *value, 0]));
            change
        };
        let text = "[1, 2, [3, 4]]";
        for (changed, what, path, value) in [
            ("[1, 2, 9]", 0, "$[last]", Some(9)),
            ("[1, 9, [3, 4]]", 0, "$[last-1]", Some(9)),
            ("[1, 2, [9, 4]]", 0, "$[last][last-1]", Some(9)),
            ("[1, 2, 9, [3, 4]]", 1, "$[last]", Some(9)),
            ("[9, 1, 2, [3, 4]]", 1, "$[last-7]", Some(9)),
            ("[1, 2]", 2, "$[last]", None),
            ("[2, [3, 4]]", 2, "$[last-2]", None),
        ] {
            assert_eq!(apply_changes(text, &change(what, path, value)).unwrap(), changed, "{path}");
        }
        assert_eq!(apply_changes("[]", &change(1, "$[last]", Some(9))).unwrap(), "[9]");
        for (text, what, path, value) in [
            (text, 0, "$[last-3]", Some(9)),
            (text, 2, "$[last-3]", None),
            (text, 2, "$[3]", None),
            ("[]", 0, "$[last]", Some(9)),
            ("{}", 2, "$[last]", None),
            ("{}", 1, "$[last]", Some(9)),
        ] {
            let error = apply_changes(text, &change(what, path, value)).unwrap_err();
            assert_eq!(error.errno(), 1835, "{path}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_give_text_or_an_error(
            bytes: Vec<u8>, kind in 0_u8..16, changes: Vec<u8>, source: String,
        ) {
            let _ = apply_changes(&source, &changes);
            let mut document = vec![kind];
            document.extend(&bytes);
            let _ = to_text(&document);
            let _ = patched(&document, &changes);
        }
    }
}
