//! The names of MySQL's functions, to tell what Pelorus lacks from what nobody has.

const NAMES: &str = include_str!("names.txt");

/// Whether MySQL has a function of this name, given in upper case.
pub fn is_function(name: &str) -> bool {
    NAMES.lines().any(|line| line == name)
}

/// Whether MySQL has an aggregate of this name, in any case.
pub fn is_aggregate(name: &str) -> bool {
    const AGGREGATES: [&str; 22] = [
        "ANY_VALUE",
        "AVG",
        "BIT_AND",
        "BIT_OR",
        "BIT_XOR",
        "COUNT",
        "GROUP_CONCAT",
        "JSON_ARRAYAGG",
        "JSON_OBJECTAGG",
        "MAX",
        "MIN",
        "STD",
        "STDDEV",
        "STDDEV_POP",
        "STDDEV_SAMP",
        "ST_COLLECT",
        "SUM",
        "VARIANCE",
        "VAR_POP",
        "VAR_SAMP",
        "COUNT_MERGE",
        "SUM_MERGE",
    ];
    AGGREGATES.iter().any(|aggregate| aggregate.eq_ignore_ascii_case(name))
        || name.eq_ignore_ascii_case("AVG_MERGE")
}
