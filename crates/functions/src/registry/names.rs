//! The names of MySQL's functions, to tell what Pelorus lacks from what nobody has.

const NAMES: &str = include_str!("names.txt");

/// Whether MySQL has a function of this name, given in upper case.
pub fn is_function(name: &str) -> bool {
    NAMES.lines().any(|line| line == name)
}
