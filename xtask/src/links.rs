//! Checks that links between Markdown files lead somewhere.

use std::path::{Component, Path, PathBuf};

use crate::tree::Tree;

pub(crate) fn check(tree: &Tree) -> Vec<String> {
    let mut complaints = Vec::new();
    for file in tree.files.iter().filter(|file| file.is("md")) {
        for link in links(&file.text) {
            if let Some(complaint) = broken(tree, &file.path, &link) {
                complaints.push(format!("{}: {complaint}", file.path));
            }
        }
    }
    complaints
}

/// The targets of `[text](target)` outside code.
fn links(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut in_code = false;
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            in_code = !in_code;
            continue;
        }
        if in_code {
            continue;
        }
        // Parts with an odd number stand between backticks.
        for plain in line.split('`').step_by(2) {
            let mut rest = plain;
            while let Some(at) = rest.find("](") {
                rest = &rest[at + 2..];
                if let Some(end) = rest.find(')') {
                    found.push(rest[..end].to_owned());
                }
            }
        }
    }
    found
}

fn broken(tree: &Tree, from: &str, link: &str) -> Option<String> {
    if link.contains("://") || link.starts_with("mailto:") {
        return None;
    }
    let (path, anchor) = link.split_once('#').unwrap_or((link, ""));
    let target = if path.is_empty() {
        from.to_owned()
    } else {
        let folder = Path::new(from).parent().unwrap_or(Path::new(""));
        normal(&folder.join(path))
    };
    if !tree.root.join(&target).try_exists().unwrap_or(false) {
        return Some(format!("the link to {link} leads nowhere"));
    }
    if anchor.is_empty() {
        return None;
    }
    let text = &tree.files.iter().find(|file| file.path == target)?.text;
    let known = text.lines().filter(|line| line.starts_with('#')).any(|line| slug(line) == anchor);
    (!known).then(|| format!("{target} has no heading for #{anchor}"))
}

/// The path without `.` and `..`, with `/`.
fn normal(path: &Path) -> String {
    let mut made = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                made.pop();
            }
            Component::CurDir => {}
            other => made.push(other),
        }
    }
    made.to_string_lossy().replace('\\', "/")
}

/// The anchor that readers of Markdown make of a heading.
fn slug(heading: &str) -> String {
    heading
        .trim_start_matches('#')
        .trim()
        .to_lowercase()
        .chars()
        .filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'))
        .map(|c| if c == ' ' { '-' } else { c })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_found_outside_code() {
        let text = "See [a](b.md) and [c](d.md#e).\n```\n[x](y)\n```\nNot `[p](q)` though.";
        assert_eq!(links(text), ["b.md", "d.md#e"]);
    }

    #[test]
    fn headings_become_anchors() {
        assert_eq!(slug("## Life of a query, in short"), "life-of-a-query-in-short");
        assert_eq!(normal(Path::new("docs/../a/./b.md")), "a/b.md");
    }
}
