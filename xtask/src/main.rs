//! Chores of this repository that need more than one cargo command: `cargo xtask tidy`,
//! `cargo xtask planted`.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "this is a command-line tool")]

mod layers;
mod licences;
mod limits;
mod links;
mod modules;
mod pages;
mod planted;
mod source;
mod text;
mod tree;
mod words;

use std::process::ExitCode;

use anyhow::bail;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let done = match arguments.split_first() {
        Some((chore, [])) if chore == "tidy" => tidy(),
        Some((chore, [flag])) if chore == "tidy" && flag == "--lower" => lower(),
        Some((chore, [flag])) if chore == "tidy" && flag == "--circles" => circles(),
        Some((chore, [])) if chore == "pages" => pages::write(),
        Some((chore, names)) if chore == "planted" => planted::run(names),
        _ => Err(anyhow::anyhow!(
            "usage: cargo xtask tidy [--lower | --circles] | cargo xtask pages | cargo xtask planted [NAME...]"
        )),
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

/// Checks what the compiler does not: the direction of dependencies, fenced crates, licences, file headers,
/// leftovers, long files, links between documents, and that what may only shrink has not grown.
fn tidy() -> anyhow::Result<()> {
    let tree = tree::Tree::read()?;
    let mut complaints = layers::check(&tree.metadata)?;
    complaints.extend(licences::check(&tree.text(licences::LIST))?);
    complaints.extend(text::check(&tree));
    complaints.extend(links::check(&tree));
    complaints.extend(pages::check(&tree));
    let measured = limits::measure(&tree);
    complaints.extend(limits::check(&measured.counts, &tree.text(limits::PATH)));
    if !complaints.is_empty() {
        bail!("the tree is not tidy:\n{}", complaints.join("\n"));
    }
    println!("tidy: {} files, {} crates", tree.files.len(), tree.metadata.packages.len());
    let sizes: Vec<String> =
        measured.circles.iter().map(|(name, circle)| format!("{name} {}", circle.len())).collect();
    println!("largest circle of files that use each other: {}", sizes.join(", "));
    Ok(())
}

/// Writes down what has shrunk.
fn lower() -> anyhow::Result<()> {
    let tree = tree::Tree::read()?;
    let measured = limits::measure(&tree);
    let text = limits::lowered(&measured.counts, &tree.text(limits::PATH));
    std::fs::write(tree.root.join(limits::PATH), text)?;
    tidy()
}

/// Shows the files of each crate's largest circle.
fn circles() -> anyhow::Result<()> {
    for (name, circle) in limits::measure(&tree::Tree::read()?).circles {
        println!("{name} ({}): {}", circle.len(), circle.join(" "));
    }
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
