//! The files of the working tree that the tidy check looks at.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use cargo_metadata::{Metadata, MetadataCommand};

/// Folders that hold nothing of ours.
const SKIPPED: &[&str] = &["target", ".git", "node_modules", "__pycache__", ".venv"];

/// Ends of names of the files that are read.
const READ: &[&str] = &["rs", "md", "py", "toml", "sql", "go", "java", "js", "mjs", "sh", "yml"];

/// A text file.
#[derive(Debug)]
pub(crate) struct File {
    /// Its path from the root, with `/`.
    pub(crate) path: String,
    /// What it holds.
    pub(crate) text: String,
}

impl File {
    /// Whether the name ends so.
    pub(crate) fn is(&self, extension: &str) -> bool {
        Path::new(&self.path).extension().is_some_and(|found| found == extension)
    }

    /// Whether it holds tests, such as `foo/tests.rs` and all below `tests/`.
    pub(crate) fn is_test(&self) -> bool {
        self.path.ends_with("/tests.rs") || self.path.contains("/tests/")
    }
}

/// The working tree.
#[derive(Debug)]
pub(crate) struct Tree {
    /// What cargo knows of the workspace.
    pub(crate) metadata: Metadata,
    /// The root of the workspace.
    pub(crate) root: PathBuf,
    /// Every text file, in order of path.
    pub(crate) files: Vec<File>,
}

impl Tree {
    /// Reads the tree around the current folder.
    pub(crate) fn read() -> anyhow::Result<Self> {
        let metadata = MetadataCommand::new().no_deps().exec()?;
        let root = metadata.workspace_root.clone().into_std_path_buf();
        let mut files = Vec::new();
        collect(&root, &root, &mut files)?;
        files.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(Self { metadata, root, files })
    }

    /// What a file holds; nothing where there is none.
    pub(crate) fn text(&self, path: &str) -> String {
        fs::read_to_string(self.root.join(path)).unwrap_or_default()
    }
}

fn collect(root: &Path, folder: &Path, files: &mut Vec<File>) -> anyhow::Result<()> {
    for entry in fs::read_dir(folder).with_context(|| format!("cannot list {folder:?}"))? {
        let entry = entry?;
        let path = entry.path();
        let name = entry.file_name().to_string_lossy().into_owned();
        let kind = entry.file_type()?;
        if kind.is_dir() {
            if !SKIPPED.contains(&name.as_str()) {
                collect(root, &path, files)?;
            }
        } else if kind.is_file() && wanted(&path) {
            let text =
                fs::read_to_string(&path).with_context(|| format!("cannot read {path:?}"))?;
            let path = path.strip_prefix(root).unwrap_or(&path);
            files.push(File { path: path.to_string_lossy().replace('\\', "/"), text });
        }
    }
    Ok(())
}

fn wanted(path: &Path) -> bool {
    path.extension().and_then(|end| end.to_str()).is_some_and(|end| READ.contains(&end))
}
