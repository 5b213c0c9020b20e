//! Finds the first row of a table that violates a new definition. MySQL copies rows in the order of
//! partitions and of the primary key, and counts them.

use pelorus_error::{Error, Result};
use pelorus_functions::assignment::Failure;
use pelorus_store::TableSnapshot;

use super::rows::{Maker, PIECE_ROWS, Piece, Reader};
use crate::definition::NativeDef;
use crate::write::lookup::keys_of;

/// Up to so many rows the first one is looked for; of larger tables the row that was met first is
/// named, counted as it was read.
const SEARCHED_ROWS: u64 = 4 << 20;

/// A row by its place.
type Place = (usize, Vec<u8>);

/// The error for the first row that does not fit, by its number in MySQL. `met` is the failure that
/// ended the copy.
///
/// # Errors
/// Errors of reading.
pub(super) fn first(
    def: &NativeDef,
    table: &TableSnapshot,
    maker: &Maker<'_>,
    met: Failure,
) -> Result<Error> {
    let rows = table.count_rows()?;
    let one_piece = rows <= PIECE_ROWS as u64 && table.partitions().len() <= 1;
    if one_piece || rows > SEARCHED_ROWS {
        return Ok(met.error);
    }
    let mut found: Option<(Place, Piece)> = None;
    let mut reader = Reader::new(def, table, true)?;
    while let Some(piece) = reader.next()? {
        let Err(failure) = maker.make(&piece.columns, 1) else { continue };
        let row = usize::try_from(failure.row.saturating_sub(1)).unwrap_or(0);
        let place = (piece.partition, keys_of(def, &piece.columns)?.get(row).to_vec());
        if found.as_ref().is_none_or(|(known, _)| place < *known) {
            let columns = piece.columns.iter().map(|column| column.slice(row, 1)).collect();
            found = Some((place, Piece { partition: piece.partition, columns }));
        }
    }
    let Some((place, piece)) = found else { return Ok(met.error) };
    let number = rows_before(def, table, &place)? + 1;
    Ok(match maker.make(&piece.columns, number) {
        Err(failure) => failure.error,
        Ok(_) => met.error,
    })
}

fn rows_before(def: &NativeDef, table: &TableSnapshot, place: &Place) -> Result<u64> {
    let mut count = 0;
    let mut reader = Reader::new(def, table, false)?;
    while let Some(piece) = reader.next()? {
        count += match piece.partition.cmp(&place.0) {
            std::cmp::Ordering::Less => piece.columns.first().map_or(0, |it| it.len()),
            std::cmp::Ordering::Equal => {
                let keys = keys_of(def, &piece.columns)?;
                keys.iter().filter(|key| *key < &place.1[..]).count()
            }
            std::cmp::Ordering::Greater => 0,
        } as u64;
    }
    Ok(count)
}
