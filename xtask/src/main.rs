//! Chores of this repository that need more than one cargo command: `cargo xtask tidy`,
//! `cargo xtask planted`.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "this is a command-line tool")]

mod layers;
mod links;
mod planted;
mod text;
mod tree;

use std::process::ExitCode;

use anyhow::bail;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let done = match arguments.split_first() {
        Some((chore, [])) if chore == "tidy" => tidy(),
        Some((chore, names)) if chore == "planted" => planted::run(names),
        _ => Err(anyhow::anyhow!("usage: cargo xtask tidy | cargo xtask planted [NAME...]")),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // One level, without a backtrace: the complaints are for a person.
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// Checks what the compiler does not: the direction of dependencies, fenced crates, file headers,
/// leftovers, long files, links between documents.
fn tidy() -> anyhow::Result<()> {
    let tree = tree::Tree::read()?;
    let mut complaints = layers::check(&tree.metadata)?;
    complaints.extend(text::check(&tree));
    complaints.extend(links::check(&tree));
    if !complaints.is_empty() {
        bail!("the tree is not tidy:\n{}", complaints.join("\n"));
    }
    println!("tidy: {} files, {} crates", tree.files.len(), tree.metadata.packages.len());
    Ok(())
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_tree_is_tidy() {
        if let Err(error) = super::tidy() {
            panic!("{error}");
        }
    }
}
