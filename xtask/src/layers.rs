//! Keeps the dependencies between workspace crates pointing downward, and heavy or worldly crates
//! behind their fences.

use std::collections::BTreeMap;

use anyhow::Context as _;
use cargo_metadata::{DependencyKind, Metadata};

/// The layer of each crate. A crate may depend on strictly lower layers only.
const LAYERS: &[(&str, u8)] = &[
    ("pelorus-error", 0),
    ("pelorus-env", 0),
    ("pelorus-types", 1),
    ("pelorus-binlog", 2),
    ("pelorus-mysql-wire", 2),
    ("pelorus-functions", 2),
    ("pelorus-blockfile", 2),
    ("pelorus-chunk", 2),
    ("pelorus-fsck", 2),
    ("pelorus-index", 2),
    ("pelorus-log", 2),
    ("pelorus-store", 3),
    ("pelorus-sql", 3),
    ("pelorus-link", 3),
    ("pelorus-expression", 4),
    ("pelorus-query", 5),
    ("pelorus-mirror", 4),
    ("pelorus-result", 4),
    ("pelorus-native", 6),
    ("pelorus-engine", 7),
    ("pelorus-mysql-server", 8),
    ("pelorus-server", 9),
    ("pelorus-bench", 10),
    ("xtask", 10),
];

/// Crates by the beginning of their name, each with the crates that may depend on them.
const FENCES: &[(&str, &[&str])] = &[
    ("datafusion", &["pelorus-query", "pelorus-engine"]),
    (
        "sqlparser",
        &["pelorus-sql", "pelorus-expression", "pelorus-query", "pelorus-native", "pelorus-engine"],
    ),
    ("clap", &["pelorus-server", "pelorus-bench"]),
    ("toml", &["pelorus-server"]),
    ("rustls", &["pelorus-link", "pelorus-mysql-server", "pelorus-server"]),
    ("tokio-rustls", &["pelorus-link", "pelorus-mysql-server"]),
    // The edge speaks to the engine and its codec only, and native tables know no other server.
    ("pelorus-link", &["pelorus-query", "pelorus-mirror", "pelorus-engine", "pelorus-server"]),
    ("pelorus-mirror", &["pelorus-engine"]),
    ("pelorus-native", &["pelorus-engine"]),
    ("pelorus-query", &["pelorus-native", "pelorus-engine"]),
];

pub(crate) fn check(metadata: &Metadata) -> anyhow::Result<Vec<String>> {
    let layers: BTreeMap<&str, u8> = LAYERS.iter().copied().collect();
    let mut complaints = Vec::new();
    for package in metadata.workspace_packages() {
        let name = package.name.as_str();
        let layer =
            *layers.get(name).with_context(|| format!("{name} has no layer in xtask's table"))?;
        for dependency in &package.dependencies {
            // Tests may look from anywhere; what ships may not.
            if dependency.kind == DependencyKind::Development {
                continue;
            }
            complaints.extend(complaint(name, layer, &dependency.name, &layers));
        }
    }
    Ok(complaints)
}

/// What is wrong with one dependency, if anything.
fn complaint(
    name: &str,
    layer: u8,
    dependency: &str,
    layers: &BTreeMap<&str, u8>,
) -> Option<String> {
    if let Some(&below) = layers.get(dependency)
        && layer <= below
    {
        return Some(format!(
            "{name} (layer {layer}) must not depend on {dependency} (layer {below})"
        ));
    }
    let (_, owners) = FENCES.iter().find(|(fenced, _)| {
        dependency == *fenced || dependency.strip_prefix(fenced).is_some_and(|s| s.starts_with('-'))
    })?;
    (!owners.contains(&name))
        .then(|| format!("{name} must not depend on {dependency}; only {owners:?} may"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_upward_dependency_and_a_climbed_fence_are_seen() {
        let layers: BTreeMap<&str, u8> = LAYERS.iter().copied().collect();
        assert!(complaint("pelorus-types", 1, "pelorus-sql", &layers).is_some());
        assert!(complaint("pelorus-link", 3, "pelorus-sql", &layers).is_some());
        assert!(complaint("pelorus-sql", 3, "pelorus-types", &layers).is_none());
        assert!(complaint("pelorus-link", 3, "datafusion-common", &layers).is_some());
        assert!(complaint("pelorus-query", 4, "datafusion-common", &layers).is_none());
        assert!(complaint("pelorus-types", 1, "tomlish", &layers).is_none());
    }
}
