//! The byte format of statistics, as they are stored with the engine's values.

use pelorus_chunk::Scalar;
use pelorus_error::Result;

use super::{Bucket, COMMON_MAX, ColumnStatistics, Histogram, TableStatistics};
use crate::catalog::schema::{COLUMNS_MAX, read_type, write_type};
use crate::format::bytes::{Reader, Writer};

/// The first byte.
const FORMAT: u8 = 1;

/// Most buckets of a histogram, as in MySQL.
const BUCKETS_MAX: usize = 1024;

impl TableStatistics {
    /// The bytes that [`Self::from_bytes`] reads.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Writer::default();
        out.u8(FORMAT);
        out.count(self.columns.len());
        for column in &self.columns {
            column.write(&mut out);
        }
        out.0
    }

    /// Reads statistics.
    ///
    /// # Errors
    /// 1034 for bytes that are none.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let mut from = Reader::new(bytes, "the statistics of a table");
        let format = from.u8()?;
        if format != FORMAT {
            return Err(from.damaged(&format!("unknown format {format}")));
        }
        let mut columns = Vec::new();
        for _ in 0..from.count_up_to(COLUMNS_MAX)? {
            columns.push(ColumnStatistics::read(&mut from)?);
        }
        from.end()?;
        Ok(Self { columns })
    }
}

impl ColumnStatistics {
    fn write(&self, out: &mut Writer) {
        out.u32(self.column);
        write_type(&self.ty, out);
        out.u64(self.taken);
        out.u64(self.rows);
        out.u64(self.sampled);
        write_share(self.null_share, out);
        out.bool(self.distinct.is_some());
        if let Some(distinct) = self.distinct {
            out.u64(distinct);
        }
        write_shares(&self.common, out);
        match &self.histogram {
            None => out.u8(0),
            Some(Histogram::Singleton { asked, values }) => {
                out.u8(1);
                out.u32(*asked);
                write_shares(values, out);
            }
            Some(Histogram::EquiHeight { asked, buckets }) => {
                out.u8(2);
                out.u32(*asked);
                out.count(buckets.len());
                for bucket in buckets {
                    write_scalar(&bucket.low, out);
                    write_scalar(&bucket.high, out);
                    write_share(bucket.cumulative, out);
                    out.u64(bucket.distinct);
                }
            }
        }
    }

    fn read(from: &mut Reader<'_>) -> Result<Self> {
        Ok(Self {
            column: from.u32()?,
            ty: read_type(from)?,
            taken: from.u64()?,
            rows: from.u64()?,
            sampled: from.u64()?,
            null_share: read_share(from)?,
            distinct: if from.bool()? { Some(from.u64()?) } else { None },
            common: read_shares(from, COMMON_MAX)?,
            histogram: read_histogram(from)?,
        })
    }
}

fn read_histogram(from: &mut Reader<'_>) -> Result<Option<Histogram>> {
    Ok(match from.u8()? {
        0 => None,
        1 => Some(Histogram::Singleton {
            asked: from.u32()?,
            values: read_shares(from, BUCKETS_MAX)?,
        }),
        2 => {
            let asked = from.u32()?;
            let mut buckets = Vec::new();
            for _ in 0..from.count_up_to(BUCKETS_MAX)? {
                buckets.push(Bucket {
                    low: read_scalar(from)?,
                    high: read_scalar(from)?,
                    cumulative: read_share(from)?,
                    distinct: from.u64()?,
                });
            }
            Some(Histogram::EquiHeight { asked, buckets })
        }
        other => return Err(from.damaged(&format!("unknown histogram {other}"))),
    })
}

fn write_shares(values: &[(Scalar, f64)], out: &mut Writer) {
    out.count(values.len());
    for (value, share) in values {
        write_scalar(value, out);
        write_share(*share, out);
    }
}

fn read_shares(from: &mut Reader<'_>, most: usize) -> Result<Vec<(Scalar, f64)>> {
    let count = from.count_up_to(most)?;
    (0..count).map(|_| Ok((read_scalar(from)?, read_share(from)?))).collect()
}

fn write_share(share: f64, out: &mut Writer) {
    out.u64(share.to_bits());
}

fn read_share(from: &mut Reader<'_>) -> Result<f64> {
    let share = f64::from_bits(from.u64()?);
    // Sums of shares end up a little above 1.
    match (0.0..1.001).contains(&share) {
        true => Ok(share),
        false => Err(from.damaged(&format!("{share} is no share"))),
    }
}

fn write_scalar(value: &Scalar, out: &mut Writer) {
    match value {
        Scalar::Int(value) => {
            out.u8(1);
            out.0.extend_from_slice(&value.to_le_bytes());
        }
        Scalar::Wide(value) => {
            out.u8(2);
            out.0.extend_from_slice(&value.to_le_bytes());
        }
        Scalar::Float(value) => {
            out.u8(3);
            out.u64(value.to_bits());
        }
        Scalar::Bytes(value) => {
            out.u8(4);
            out.bytes(value);
        }
    }
}

fn read_scalar(from: &mut Reader<'_>) -> Result<Scalar> {
    Ok(match from.u8()? {
        1 => Scalar::Int(i128::from_le_bytes(from.array()?)),
        2 => Scalar::Wide(arrow::datatypes::i256::from_le_bytes(from.array()?)),
        3 => Scalar::Float(f64::from_bits(from.u64()?)),
        4 => Scalar::Bytes(from.bytes()?.to_vec()),
        other => return Err(from.damaged(&format!("unknown value {other}"))),
    })
}

#[cfg(test)]
mod tests {
    use arrow::datatypes::i256;
    use pelorus_types::ColumnType;

    use super::*;

    #[test]
    fn what_is_written_reads_and_rubbish_is_an_error() {
        let bucket = Bucket {
            low: Scalar::Float(-1.5),
            high: Scalar::Float(7.0),
            cumulative: 0.5,
            distinct: 4,
        };
        let plain = ColumnStatistics {
            column: 3,
            ty: ColumnType::bigint(),
            taken: 1,
            rows: 100,
            sampled: 50,
            null_share: 0.25,
            distinct: Some(9),
            common: vec![(Scalar::Bytes(b"ab".to_vec()), 0.5), (Scalar::Int(-7), 0.1)],
            histogram: Some(Histogram::EquiHeight { asked: 100, buckets: vec![bucket] }),
        };
        let values = vec![(Scalar::Wide(i256::MAX), 1.0)];
        let histogram = Some(Histogram::Singleton { asked: 4, values });
        let other = ColumnStatistics { column: 4, distinct: None, histogram, ..plain.clone() };
        let made = TableStatistics { columns: vec![plain, other] };
        let bytes = made.to_bytes();
        assert_eq!(TableStatistics::from_bytes(&bytes).unwrap(), made);
        for cut in 0..bytes.len() {
            TableStatistics::from_bytes(&bytes[..cut]).unwrap_err();
        }
        for at in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 0x55;
            // An error or something else, but never a panic.
            TableStatistics::from_bytes(&damaged).ok();
        }
    }
}
