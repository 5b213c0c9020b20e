//! Histograms in MySQL's two forms.

use pelorus_chunk::Scalar;

/// How the values of a column are spread.
#[derive(Clone, Debug, PartialEq)]
pub enum Histogram {
    /// Every value that was seen with the share of the rows up to and with it.
    Singleton {
        /// The requested maximum number of buckets.
        asked: u32,
        /// Values, rising, with cumulative shares.
        values: Vec<(Scalar, f64)>,
    },
    /// Ranges of values that hold about as many rows each.
    EquiHeight {
        /// The requested maximum number of buckets.
        asked: u32,
        /// The ranges, rising and apart.
        buckets: Vec<Bucket>,
    },
}

/// A range of values.
#[derive(Clone, Debug, PartialEq)]
pub struct Bucket {
    /// The least value.
    pub low: Scalar,
    /// The greatest value.
    pub high: Scalar,
    /// The share of the rows up to and with this bucket.
    pub cumulative: f64,
    /// How many distinct values it has, estimated when not all rows were read.
    pub distinct: u64,
}

impl Histogram {
    /// Makes a histogram of the counted values of a sample, rising by value. `scale` says how many
    /// distinct values there are for each that was seen. `None` when there are no values.
    pub fn of(values: &[(Scalar, u64)], sampled: u64, scale: f64, asked: u32) -> Option<Self> {
        if values.is_empty() || asked == 0 {
            return None;
        }
        let share = |rows: u64| rows as f64 / sampled as f64;
        let most = asked as usize;
        if values.len() <= most {
            let mut rows = 0;
            let values = values
                .iter()
                .map(|(value, count)| {
                    rows += count;
                    (value.clone(), share(rows))
                })
                .collect();
            return Some(Self::Singleton { asked, values });
        }
        let mut rows = 0;
        let mut buckets = Vec::new();
        for range in ranges(values, height(values, most)) {
            rows += range.iter().map(|(_, count)| count).sum::<u64>();
            let (Some(first), Some(last)) = (range.first(), range.last()) else { continue };
            // A value that fills a bucket alone is one value.
            let distinct = match range.len() {
                1 if first.1 > 1 => 1.0,
                seen => seen as f64 * scale,
            };
            buckets.push(Bucket {
                low: first.0.clone(),
                high: last.0.clone(),
                cumulative: share(rows),
                distinct: super::rounded(distinct),
            });
        }
        Some(Self::EquiHeight { asked, buckets })
    }

    /// The requested maximum number of buckets.
    pub fn asked(&self) -> u32 {
        match self {
            Self::Singleton { asked, .. } | Self::EquiHeight { asked, .. } => *asked,
        }
    }
}

/// The least number of rows that buckets may have so that there are no more of them than wanted.
fn height(values: &[(Scalar, u64)], most: usize) -> u64 {
    let rows: u64 = values.iter().map(|(_, count)| count).sum();
    let (mut low, mut high) = (rows.div_ceil(most as u64).max(1), rows.max(1));
    while low < high {
        let middle = low + (high - low) / 2;
        match ranges(values, middle).count() <= most {
            true => high = middle,
            false => low = middle + 1,
        }
    }
    low
}

/// Cuts values into ranges of so many rows at most; a value with more rows is a range of its own.
fn ranges(mut values: &[(Scalar, u64)], height: u64) -> impl Iterator<Item = &[(Scalar, u64)]> {
    std::iter::from_fn(move || {
        let mut rows = 0;
        let fits = |(_, count): &(Scalar, u64)| {
            rows += count;
            rows <= height
        };
        let end = values.iter().map(fits).take_while(|it| *it).count().max(1);
        let (range, rest) = values.split_at_checked(end)?;
        values = rest;
        Some(range)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(counts: &[u64]) -> Vec<(Scalar, u64)> {
        (0..).map(Scalar::Int).zip(counts.iter().copied()).collect()
    }

    #[test]
    fn few_values_have_a_bucket_each() {
        let made = Histogram::of(&counted(&[1, 2, 1]), 8, 1.0, 3).unwrap();
        let Histogram::Singleton { asked: 3, values } = made else { panic!("{made:?}") };
        let shares: Vec<f64> = values.iter().map(|it| it.1).collect();
        assert_eq!(shares, [0.125, 0.375, 0.5]);
    }

    #[test]
    fn many_values_share_buckets_of_about_one_height() {
        let made = Histogram::of(&counted(&[1; 1000]), 1000, 1.0, 10).unwrap();
        let Histogram::EquiHeight { buckets, .. } = made else { panic!("{made:?}") };
        assert_eq!(buckets.len(), 10);
        assert_eq!((&buckets[3].low, &buckets[3].high), (&Scalar::Int(300), &Scalar::Int(399)));
        assert_eq!((buckets[3].cumulative, buckets[3].distinct), (0.4, 100));
    }

    #[test]
    fn a_heavy_value_stands_alone_and_no_bucket_too_many_comes() {
        let mut counts = vec![1; 500];
        counts[250] = 10_000;
        let made = Histogram::of(&counted(&counts), 10_499, 1.0, 7).unwrap();
        let Histogram::EquiHeight { buckets, .. } = made else { panic!("{made:?}") };
        assert!(buckets.len() <= 7);
        let heavy = buckets.iter().find(|it| it.low == Scalar::Int(250)).unwrap();
        assert_eq!((&heavy.high, heavy.distinct), (&Scalar::Int(250), 1));
        assert!((buckets.last().unwrap().cumulative - 1.0).abs() < 1e-12);
        assert!(Histogram::of(&[], 0, 1.0, 7).is_none());
    }
}
