//! The number of cases that random tests try, scaled by an environment variable.

/// The variable that makes tests try more.
const VARIABLE: &str = "PELORUS_TEST_SCALE";

/// How many cases a test tries that usually tries so many: so many times more as the environment
/// variable `PELORUS_TEST_SCALE` says. What is not a number from 1 on counts as 1.
pub fn scaled(usual: u32) -> u32 {
    let factor = std::env::var(VARIABLE).ok().and_then(|text| text.parse().ok()).unwrap_or(1);
    usual.saturating_mul(u32::max(factor, 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_no_fewer_cases_than_usual() {
        assert!(scaled(7) >= 7 && scaled(7).is_multiple_of(7));
        assert_eq!(scaled(u32::MAX), u32::MAX);
        assert_eq!(scaled(0), 0);
    }
}
