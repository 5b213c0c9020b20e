//! The names of MySQL's functions, which distinguish a function that Pelorus lacks from an unknown
//! one.

const NAMES: &str = include_str!("names.txt");

/// Whether MySQL has a function of this name, given in upper case.
pub fn is_function(name: &str) -> bool {
    NAMES.lines().any(|line| line == name)
}
