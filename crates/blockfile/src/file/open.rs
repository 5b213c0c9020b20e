//! Opens a file: chooses the valid header, and computes the space of its state and of the
//! fallback's.

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;

use pelorus_env::{Disk, DiskFile, Open, read_exact_at};
use pelorus_error::{Code, Error, Result};

use super::BlockFile;
use super::read::{Expected, read_block};
use super::space::{FIRST, Space};
use crate::allocator::{Allocator, Extent};
use crate::format::{Header, Identity, KIND_TABLE, Places, SLOT, Table, UNIT, units_of};

/// A header with its translation table, which was verified.
struct State {
    header: Header,
    table: Table,
    table_extent: Option<Extent>,
}

impl State {
    fn extents(&self) -> impl Iterator<Item = Extent> {
        self.table.places.values().map(|place| place.extent()).chain(self.table_extent)
    }
}

/// Reads one header slot.
pub(super) fn read_slot(file: &dyn DiskFile, slot: u32) -> Result<[u8; SLOT]> {
    let mut bytes = [0; SLOT];
    read_exact_at(file, &mut bytes, u64::from(slot) * SLOT as u64).map_err(|error| {
        let code = match error.kind() {
            std::io::ErrorKind::UnexpectedEof => Code::FileDamaged,
            _ => Code::FileRead,
        };
        Error::new(code, format!("it cannot be read: {error}")).caused_by(error)
    })?;
    Ok(bytes)
}

/// Reads and verifies one header slot.
pub(super) fn read_header(file: &dyn DiskFile, slot: u32, identity: Identity) -> Result<Header> {
    Header::decode(&read_slot(file, slot)?, slot, identity)
}

/// Reads the translation table of a header and verifies that its blocks do not overlap.
fn read_state(file: &dyn DiskFile, header: Header) -> Result<State> {
    let Some(place) = header.table else {
        let table = Table { next_number: 1, checkpoint: header.number, places: Places::default() };
        return Ok(State { header, table, table_extent: None });
    };
    let expected = Expected {
        identity: header.identity,
        kind: KIND_TABLE,
        number: 0,
        generation: header.number,
        offset: place.offset,
        length: place.length,
        check: place.check,
    };
    let (_, payload) = read_block(file, &expected)?;
    let table = Table::decode(&payload, header.file_length)?;
    let unit = u32::try_from(place.offset / UNIT).ok();
    let (Some(start), true) = (unit, table.checkpoint == header.number) else {
        return Err(Error::new(Code::FileDamaged, "the translation table is another checkpoint's"));
    };
    // The header's decoder has limited the length.
    let units = units_of(u32::try_from(place.length).unwrap_or(u32::MAX));
    let state = State { header, table, table_extent: Some(Extent { start, units }) };
    Allocator::rebuild(FIRST, state.extents())?;
    Ok(state)
}

/// Verifies the root block of a state.
fn verify_root(file: &dyn DiskFile, state: &State) -> Result<()> {
    let root = state.header.root;
    if root == 0 {
        return Ok(());
    }
    let Some(place) = state.table.places.get(root) else {
        return Err(Error::new(
            Code::FileDamaged,
            format!("root block {root} is not in its table"),
        ));
    };
    let expected = Expected::of(state.header.identity, root, place);
    read_block(file, &expected).map(|_| ())
}

impl BlockFile {
    /// Opens a file at its newest usable checkpoint. Nothing is written.
    ///
    /// # Errors
    /// [`Code::FileNotFound`]; [`Code::FileRead`]; [`Code::FileVersion`] when the file was written
    /// by a version that this one does not know; [`Code::FileDamaged`] when neither header is
    /// usable, or both belong to another table.
    pub fn open(disk: &Arc<dyn Disk>, path: &Path, identity: Identity) -> Result<Self> {
        let read_error = |error: std::io::Error| {
            let code = match error.kind() {
                std::io::ErrorKind::NotFound => Code::FileNotFound,
                _ => Code::FileRead,
            };
            Error::new(code, format!("file {} cannot be opened", path.display())).caused_by(error)
        };
        let file = disk.open(path, Open::Write).map_err(read_error)?;
        let length = file.length().map_err(read_error)?;
        let (state, other) = choose(&*file, identity).map_err(|error| {
            Error::new(error.code(), format!("file {}: {error}", path.display())).caused_by(error)
        })?;

        let mut space = Space::new(state.header, length);
        let mut extents: Vec<Extent> = state.extents().collect();
        let kept: HashSet<Extent> = extents.iter().copied().collect();
        let mut fallback = None;
        match other.and_then(|other| retain(&other, &kept, &mut extents, &mut space)) {
            Ok(()) => {}
            Err(reason) => {
                fallback = Some(reason.message().to_owned());
                space.clear_slot = Some(1 - state.header.slot);
            }
        }
        space.allocator = Allocator::rebuild(FIRST, extents)?;
        space.table_extent = state.table_extent;
        space.next_number = state.table.next_number;
        Ok(Self::with(path, identity, file, space, state.table.places, fallback))
    }
}

/// Keeps what only the other header refers to.
fn retain(
    other: &State,
    kept: &HashSet<Extent>,
    extents: &mut Vec<Extent>,
    space: &mut Space,
) -> Result<()> {
    let only: Vec<Extent> = other.extents().filter(|extent| !kept.contains(extent)).collect();
    Allocator::rebuild(FIRST, extents.iter().chain(&only).copied())?;
    space.retired = only.iter().map(|extent| (other.header.number, *extent)).collect();
    extents.extend(only);
    Ok(())
}

/// Chooses the newest usable header; also returns the other one or why it is not usable.
fn choose(file: &dyn DiskFile, identity: Identity) -> Result<(State, Result<State>)> {
    let in_slot = |slot: u32, error: Error| {
        Error::new(error.code(), format!("header slot {slot}: {error}")).caused_by(error)
    };
    let headers =
        [0, 1].map(|slot| read_header(file, slot, identity).map_err(|error| in_slot(slot, error)));
    let (newer, older) = match headers {
        [Err(error), _] | [_, Err(error)] if error.code() == Code::FileVersion => {
            return Err(error);
        }
        [Ok(first), Ok(second)] if first.number > second.number => (Ok(first), Ok(second)),
        [first, second] => (second, first),
    };
    let state = |header: Result<Header>| {
        let header = header?;
        read_state(file, header).map_err(|error| in_slot(header.slot, error))
    };
    let usable = |header: Result<Header>| {
        let state = state(header)?;
        let slot = state.header.slot;
        verify_root(file, &state).map_err(|error| in_slot(slot, error))?;
        Ok::<_, Error>(state)
    };
    match usable(newer) {
        Ok(newest) => {
            let other = state(older).and_then(|other| {
                if other.header.number == newest.header.previous {
                    return Ok(other);
                }
                let reason = format!("it is not checkpoint {}", newest.header.previous);
                Err(in_slot(other.header.slot, Error::new(Code::FileDamaged, reason)))
            });
            Ok((newest, other))
        }
        Err(first) => match usable(older) {
            Ok(state) => Ok((state, Err(first))),
            Err(second) => {
                let code = match (first.code(), second.code()) {
                    (Code::FileRead, Code::FileRead) => Code::FileRead,
                    _ => Code::FileDamaged,
                };
                Err(Error::new(code, format!("no header is usable: {first}; {second}")))
            }
        },
    }
}
