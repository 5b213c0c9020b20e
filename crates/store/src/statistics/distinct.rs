//! Estimates the number of distinct values of a table from a sample of its rows.

/// Estimates the number of distinct values among `rows` rows, of which `sampled` were picked at
/// random and had `seen` distinct values, `once` of them a single time.
///
/// If all rows were read it is the number of seen values. Otherwise it is the estimator that Haas
/// and Stokes call Duj1 ("Estimating the number of classes in a finite population", IBM RJ 10025,
/// 1996), which PostgreSQL uses: `n d / (n - f1 + f1 n / N)`, between the seen and the possible
/// number.
pub fn distinct_of_sample(rows: u64, sampled: u64, seen: u64, once: u64) -> u64 {
    if sampled >= rows || sampled == 0 {
        return seen;
    }
    let (all, n, d, f1) = (rows as f64, sampled as f64, seen as f64, once as f64);
    let estimate = n * d / (n - f1 + f1 * n / all);
    // Each row that was not read can bring one value at most.
    let most = seen + (rows - sampled);
    super::rounded(estimate).clamp(seen, most)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_read_is_exact() {
        assert_eq!(distinct_of_sample(1000, 1000, 17, 3), 17);
        assert_eq!(distinct_of_sample(0, 0, 0, 0), 0);
    }

    #[test]
    fn values_that_all_came_once_are_unique() {
        assert_eq!(distinct_of_sample(1_000_000, 1000, 1000, 1000), 1_000_000);
    }

    #[test]
    fn values_that_all_came_often_are_all_there_are() {
        assert_eq!(distinct_of_sample(1_000_000, 1000, 12, 0), 12);
    }

    #[test]
    fn a_sample_of_evenly_spread_values_leads_near_their_number() {
        // 1,000,000 rows of 100,000 values, ten times each; a random sample of 100,000 rows has a
        // value k times with the binomial probability of 10 over k.
        let chance = |k: i32| {
            let ways = [1.0, 10.0, 45.0][usize::try_from(k).unwrap()];
            ways * 0.1_f64.powi(k) * 0.9_f64.powi(10 - k)
        };
        let seen = super::super::rounded(100_000.0 * (1.0 - chance(0)));
        let once = super::super::rounded(100_000.0 * chance(1));
        let found = distinct_of_sample(1_000_000, 100_000, seen, once);
        assert!((90_000..110_000).contains(&found), "{found}");
    }
}
