//! Tests of the splitter against a reader that goes byte by byte, as MySQL's does.

use proptest::prelude::*;

use super::*;

type Plain = Vec<(Vec<u8>, bool, bool)>;

/// Splits a file that comes in pieces.
fn split(format: &FileFormat, pieces: &[&[u8]]) -> Vec<Plain> {
    let mut splitter = Splitter::new(format).unwrap();
    let mut out = Vec::new();
    let mut take = |splitter: &mut Splitter| {
        while let Some(row) = splitter.next_row() {
            assert!(!row.is_empty() && row.len() == row.fields().count());
            out.push(
                row.fields()
                    .map(|field| (field.bytes.to_vec(), field.null, field.enclosed))
                    .collect(),
            );
        }
    };
    for piece in pieces {
        splitter.feed(piece);
        take(&mut splitter);
    }
    splitter.finish();
    take(&mut splitter);
    out
}

/// The same by the most direct way: one byte at a time, going back where MySQL pushes back.
struct Naive<'a> {
    format: &'a FileFormat,
    bytes: &'a [u8],
    at: usize,
}

impl Naive<'_> {
    fn get(&mut self) -> Option<u8> {
        let byte = self.bytes.get(self.at).copied();
        self.at += 1;
        byte
    }

    /// Whether the terminator begins with the byte that was just read; takes it then.
    fn terminator(&mut self, terminator: &[u8]) -> bool {
        let found = self.bytes[self.at - 1..].starts_with(terminator);
        if found {
            self.at += terminator.len() - 1;
        }
        found
    }

    fn rows(mut self) -> Vec<Plain> {
        let escape = self.format.escaped.first().copied();
        for _ in 0..self.format.ignore_lines {
            while let Some(byte) = self.get() {
                if Some(byte) == escape {
                    self.get();
                } else if self.terminator(&self.format.lines_terminated) {
                    break;
                }
            }
        }
        let mut out = Vec::new();
        while let Some(row) = self.row() {
            out.push(row);
        }
        out
    }

    fn row(&mut self) -> Option<Plain> {
        let prefix = self.format.lines_starting.as_slice();
        while !prefix.is_empty() && !self.bytes.get(self.at..)?.starts_with(prefix) {
            self.at += 1;
        }
        self.at += prefix.len();
        let mut row = Vec::new();
        while self.at < self.bytes.len() {
            let last = self.field(&mut row);
            if last {
                break;
            }
        }
        (!row.is_empty()).then_some(row)
    }

    fn field(&mut self, row: &mut Plain) -> bool {
        let format = self.format;
        let escape = format.escaped.first().copied();
        let enclosing = format.enclosed.first().copied();
        let mut enclosed = enclosing.is_some() && self.bytes.get(self.at).copied() == enclosing;
        let mut value = Vec::new();
        let mut null_seen = false;
        if enclosed {
            self.at += 1;
        }
        let was = enclosed;
        let last = loop {
            let Some(byte) = self.get() else {
                if enclosed {
                    value.insert(0, enclosing.unwrap());
                    enclosed = false;
                }
                break true;
            };
            if Some(byte) == escape {
                match self.get() {
                    None if enclosed && escape == enclosing => break true,
                    None => {
                        value.push(byte);
                        continue;
                    }
                    Some(next) if escape != enclosing || Some(next) == escape => {
                        null_seen |= next == b'N';
                        value.push(match next {
                            b'n' => b'\n',
                            b't' => b'\t',
                            b'r' => b'\r',
                            b'b' => 8,
                            b'0' => 0,
                            b'Z' => 26,
                            other => other,
                        });
                        continue;
                    }
                    Some(_) => self.at -= 1,
                }
            }
            if !was && self.terminator(&format.lines_terminated) {
                break true;
            }
            if was && Some(byte) == enclosing {
                match self.get() {
                    Some(next) if Some(next) == enclosing => {
                        value.push(next);
                        continue;
                    }
                    None => break true,
                    Some(_) if self.terminator(&format.lines_terminated) => break true,
                    Some(_) if self.terminator(&format.terminated) => break false,
                    Some(_) => self.at -= 1,
                }
            } else if !was && self.terminator(&format.terminated) {
                break false;
            }
            value.push(byte);
        };
        let null = (null_seen && value.len() == 1)
            || (!enclosed && enclosing.is_some() && value == b"NULL");
        row.push((value, null, enclosed));
        last
    }
}

fn csv() -> FileFormat {
    FileFormat { terminated: b",".to_vec(), enclosed: b"\"".to_vec(), ..FileFormat::default() }
}

fn texts(rows: &[Plain]) -> Vec<Vec<&str>> {
    let text = |field: &'_ (Vec<u8>, bool, bool)| match field.1 {
        true => "<null>",
        false => std::str::from_utf8(Box::leak(field.0.clone().into_boxed_slice())).unwrap(),
    };
    rows.iter().map(|row| row.iter().map(text).collect()).collect()
}

#[test]
fn the_formats_of_the_manual() {
    let tabs = FileFormat::default();
    assert_eq!(
        texts(&split(&tabs, &[b"1\ta\\tb\t\\N\n\n2\tN\\\n\t\\NN\nlast\t"])),
        [vec!["1", "a\tb", "<null>"], vec![""], vec!["2", "N\n", "NN"], vec!["last"]]
    );
    assert_eq!(
        texts(&split(&csv(), &[b"1,\"a \"\"b\"\" c\",\"x,y\nz\",NULL,\"NULL\",\"q\"r\"\n\"open,"])),
        [vec!["1", "a \"b\" c", "x,y\nz", "<null>", "NULL", "q\"r"], vec!["\"open,"],]
    );
    let starting = FileFormat {
        lines_starting: b"xxx".to_vec(),
        terminated: b",".to_vec(),
        ..FileFormat::default()
    };
    assert_eq!(
        texts(&split(&starting, &[b"xxx\"abc\",1\nsomething xxx\"def\",2\n\"ghi\",3\n"])),
        [["\"abc\"", "1"], ["\"def\"", "2"]]
    );
    let windows = FileFormat {
        lines_terminated: b"\r\n".to_vec(),
        ignore_lines: 1,
        escaped: b"\"".to_vec(),
        ..csv()
    };
    assert_eq!(
        texts(&split(&windows, &[b"a,b\r\n\"1\",\"x\"\"y\"\r", b"\n\"2\",\"c:\\dir\""])),
        [["1", "x\"y"], ["2", "c:\\dir"]]
    );
}

#[test]
fn formats_that_are_not_read() {
    for (format, errno) in [
        (FileFormat { enclosed: b"ab".to_vec(), ..csv() }, 1083),
        (FileFormat { escaped: b"ab".to_vec(), ..csv() }, 1083),
        (FileFormat { terminated: Vec::new(), ..csv() }, 1235),
        (FileFormat { lines_terminated: Vec::new(), ..csv() }, 1235),
        (FileFormat { lines_terminated: b",".to_vec(), ..csv() }, 1235),
    ] {
        assert_eq!(Splitter::new(&format).unwrap_err().errno(), errno, "{format:?}");
    }
}

#[test]
fn a_long_row_in_small_pieces_is_not_read_again_and_again() {
    let mut splitter = Splitter::new(&FileFormat::default()).unwrap();
    let mut attempts = 0;
    for _ in 0..20_000 {
        splitter.feed(b"some bytes of a long field, ");
        if splitter.pending() >= splitter.wait_for {
            attempts += 1;
        }
        assert!(splitter.next_row().is_none());
    }
    assert!(attempts < 25, "{attempts}");
    splitter.finish();
    assert_eq!(splitter.next_row().unwrap().get(0).unwrap().bytes.len(), 28 * 20_000);
    assert!(splitter.next_row().is_none());
}

#[test]
fn a_row_without_end_is_found_out() {
    let mut splitter = Splitter::new(&FileFormat::default()).unwrap();
    splitter.limit_rows(100);
    splitter.feed(&[b'a'; 70]);
    assert!(splitter.next_row().is_none() && !splitter.is_row_too_long());
    // It ends at the last moment.
    splitter.feed(&[b'a'; 29]);
    splitter.feed(b"\n");
    assert_eq!(splitter.next_row().unwrap().get(0).unwrap().bytes.len(), 99);
    assert!(splitter.next_row().is_none() && !splitter.is_row_too_long());
    splitter.feed(&[b'a'; 99]);
    assert!(splitter.next_row().is_none() && !splitter.is_row_too_long());
    splitter.feed(b"a");
    assert!(splitter.next_row().is_none() && splitter.is_row_too_long());
    splitter.finish();
    assert!(!splitter.is_row_too_long());
}

fn some(of: &'static [&'static str]) -> impl Strategy<Value = Vec<u8>> {
    prop::sample::select(of).prop_map(|text| text.as_bytes().to_vec())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn splits_like_the_naive_reader(
        terminated in some(&["\t", ",", ",", "||", "ab", ",,a"]),
        enclosed in some(&["", "\"", "\"", "|"]),
        escaped in some(&["", "\\", "\\", "\""]),
        lines_starting in some(&["", "", "", "a", ">>", "aab"]),
        lines_terminated in some(&["\n", "\n", "\r\n", "|\n", "aa"]),
        ignore_lines in 0u64..3,
        content in "[ab,|\"\\\\N>\t\r\n]{0,60}|(NULL|\"NULL\"|,|\"|\n|\\\\N|a){0,20}",
        size in 1usize..20,
    ) {
        let format = FileFormat {
            terminated, enclosed, escaped, lines_starting, lines_terminated, ignore_lines,
        };
        let bytes = content.as_bytes();
        let expected = Naive { format: &format, bytes, at: 0 }.rows();
        let pieces: Vec<&[u8]> = bytes.chunks(size).collect();
        prop_assert_eq!(&split(&format, &pieces), &expected);
        prop_assert_eq!(&split(&format, &[bytes]), &expected);
    }
}
