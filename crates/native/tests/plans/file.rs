//! The form of the files: a head, and sections that begin with `---- KIND`.

/// A section of a file.
pub(crate) struct Section {
    /// The first line, without the mark.
    pub(crate) kind: String,
    /// The lines after it.
    pub(crate) body: String,
}

const MARK: &str = "---- ";

/// The head of a file and its sections.
pub(crate) fn parse(text: &str) -> (String, Vec<Section>) {
    let (mut head, mut sections) = (String::new(), Vec::<Section>::new());
    for line in text.lines() {
        if let Some(kind) = line.strip_prefix(MARK) {
            sections.push(Section { kind: kind.to_owned(), body: String::new() });
            continue;
        }
        let body = sections.last_mut().map_or(&mut head, |section| &mut section.body);
        body.push_str(line);
        body.push('\n');
    }
    (head, sections)
}

/// The text of a file; an empty line stands before each query.
pub(crate) fn write(head: &str, sections: &[Section]) -> String {
    let mut text = format!("{}\n", head.trim_end());
    for section in sections {
        let is_plan = ["native", "server", "query"].iter().all(|it| !section.kind.starts_with(it));
        if !is_plan {
            text.push('\n');
        }
        text.push_str(MARK);
        text.push_str(&section.kind);
        text.push('\n');
        let body = section.body.trim_end();
        text.push_str(body);
        if !body.is_empty() {
            text.push('\n');
        }
    }
    text
}
