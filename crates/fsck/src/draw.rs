//! Draws the layout of a data file as a map of characters.

use crate::blocks::FIRST_BLOCK;
use crate::view::{FileView, Kind, UsedBy};

/// Characters of the map in a line; the offset stands in front of them.
const COLUMNS: u64 = 80;
/// Lines of the map at most.
const LINES: u64 = 20;

/// The map: lines of [`COLUMNS`] cells, each as many KiB as keep it within [`LINES`].
///
/// A cell shows the content that takes most of it.
pub(crate) fn map(view: &FileView) -> Vec<String> {
    let ends = view.blocks.iter().map(|it| it.offset + it.taken);
    let holes = view.holes.iter().map(|it| it.offset + it.bytes);
    let end = ends.chain(holes).chain([FIRST_BLOCK]).max().unwrap_or(FIRST_BLOCK);
    let mut cell = 4096_u64;
    while end.div_ceil(cell) > COLUMNS * LINES {
        cell = cell.saturating_mul(2);
    }
    let cells = fill(view, cell, end.div_ceil(cell));
    let mut lines = vec![format!(
        "one character is {} KiB; H headers  C chunk  D deltas  M manifest  K catalog  T table of \
         blocks",
        cell / 1024
    )];
    lines.push(
        "small letters: only the fallback has it  ? another kind of block  . hole".to_owned(),
    );
    let width = usize::try_from(COLUMNS).unwrap_or(80);
    let mut offset = 0_u64;
    for line in cells.chunks(width) {
        let text: String = line.iter().collect();
        lines.push(format!("{:>12} K |{text}|", offset / 1024));
        offset = offset.saturating_add(cell.saturating_mul(COLUMNS));
    }
    lines
}

/// The character of each cell.
fn fill(view: &FileView, cell: u64, count: u64) -> Vec<char> {
    let count = usize::try_from(count).unwrap_or(0);
    // What takes most of the cell so far, and how many bytes.
    let mut cells = vec![('.', 0_u64); count];
    let header = std::iter::once((0, FIRST_BLOCK, 'H'));
    let blocks = view.blocks.iter().map(|block| {
        let large = letter(block.kind);
        let letter = match block.used_by {
            UsedBy::Fallback => large.to_ascii_lowercase(),
            UsedBy::Both | UsedBy::Newest => large,
        };
        (block.offset, block.offset + block.taken, letter)
    });
    let holes = view.holes.iter().map(|hole| (hole.offset, hole.offset + hole.bytes, '.'));
    for (begin, end, letter) in header.chain(blocks).chain(holes) {
        let last = end.div_ceil(cell);
        for at in begin / cell..last {
            let place = usize::try_from(at).ok().and_then(|at| cells.get_mut(at));
            let covered = end.min((at + 1).saturating_mul(cell)) - begin.max(at * cell);
            match place {
                Some(place) if covered > place.1 => *place = (letter, covered),
                _ => {}
            }
        }
    }
    cells.into_iter().map(|(letter, _)| letter).collect()
}

fn letter(kind: Kind) -> char {
    match kind {
        Kind::Table => 'T',
        Kind::Chunk => 'C',
        Kind::Deltas => 'D',
        Kind::Manifest => 'M',
        Kind::Catalog => 'K',
        Kind::Other(_) => '?',
    }
}
