//! Splits of partitioned tables: small partitions are read together, large ones are cut.

use std::sync::Arc;

use pelorus_error::Result;

use super::{KeyRange, Split, index_dive, join_cells};
use crate::link::Inner;
use crate::table::{RemoteKey, RemoteTable};

pub(super) async fn split(
    inner: &Arc<Inner>,
    table: &RemoteTable,
    key: Option<&RemoteKey>,
    count: usize,
) -> Result<Split> {
    let total: u64 = table.partitions.iter().map(|partition| partition.rows).sum();
    let share = (total / u64::try_from(count.max(1)).unwrap_or(1)).max(1);
    let mut ranges = Vec::new();
    let mut small: Vec<(u64, &str)> = Vec::new();
    let mut cut = 0;
    for partition in &table.partitions {
        let pieces = usize::try_from((partition.rows + share / 2) / share).unwrap_or(1);
        match key {
            Some(key) if pieces > 1 => {
                let mut connection = inner.lend_reader().await?;
                let name = Some(partition.name.as_str());
                let cells =
                    index_dive::cells(&mut connection, table, key, name, partition.rows, pieces)
                        .await?;
                let names = [partition.name.clone()];
                ranges.extend(join_cells(&cells, pieces, key, table, &names));
                cut += 1;
            }
            _ => small.push((partition.rows, &partition.name)),
        }
    }
    ranges.extend(together(small, share));
    let how = format!(
        "{} ranges of {} partitions, {cut} of them cut by key",
        ranges.len(),
        table.partitions.len()
    );
    let columns = match key {
        Some(key) if cut > 0 => key.parts.iter().map(|part| part.column.clone()).collect(),
        _ => Vec::new(),
    };
    let key = key.filter(|_| cut > 0).map(|key| key.name.clone());
    Ok(Split { columns, key, ranges, how })
}

/// Puts partitions together up to about a share.
fn together(small: Vec<(u64, &str)>, share: u64) -> Vec<KeyRange> {
    let mut ranges: Vec<KeyRange> = Vec::new();
    for (rows, name) in small {
        match ranges.last_mut() {
            Some(range) if range.est_rows + rows <= share => {
                range.partitions.push(name.to_owned());
                range.est_rows += rows;
            }
            _ => ranges.push(KeyRange {
                condition: None,
                partitions: vec![name.to_owned()],
                est_rows: rows,
            }),
        }
    }
    ranges
}
