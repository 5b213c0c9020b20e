//! Licences of the crates that are used: each must be in the list of `deny.toml`, or offer one that
//! is.

use anyhow::Context as _;
use cargo_metadata::{CargoOpt, MetadataCommand};

/// Where the list is.
pub(crate) const LIST: &str = "deny.toml";

/// The crates of others whose licences are not in the list.
pub(crate) fn check(list: &str) -> anyhow::Result<Vec<String>> {
    let allowed = allowed(list);
    let metadata = MetadataCommand::new().features(CargoOpt::AllFeatures).exec();
    let metadata = metadata.context("cargo metadata of all dependencies")?;
    let foreign = metadata.packages.iter().filter(|package| package.source.is_some());
    Ok(foreign
        .filter_map(|package| {
            let licence = package.license.as_deref().unwrap_or("none");
            (!is_allowed(licence, &allowed)).then(|| {
                format!("{LIST}: {} {} has the licence {licence}", package.name, package.version)
            })
        })
        .collect())
}

/// The licences in the section `[licenses]`.
fn allowed(list: &str) -> Vec<&str> {
    let section = list.split_once("allow = [").and_then(|(_, rest)| rest.split_once(']'));
    let (list, _) = section.unwrap_or_default();
    list.split('"').skip(1).step_by(2).collect()
}

/// Whether an SPDX expression can be met by licences of the list. (The older `/` is an OR.)
fn is_allowed(licence: &str, allowed: &[&str]) -> bool {
    let licence = licence.replace('/', " OR ");
    let tokens: Vec<String> = licence
        .replace('(', " ( ")
        .replace(')', " ) ")
        .split_whitespace()
        .map(str::to_owned)
        .collect();
    let mut reader = Reader { tokens: &tokens, allowed };
    reader.any() && reader.tokens.is_empty()
}

struct Reader<'a> {
    tokens: &'a [String],
    allowed: &'a [&'a str],
}

impl Reader<'_> {
    fn take(&mut self, word: &str) -> bool {
        match self.tokens.split_first() {
            Some((first, rest)) if first == word => {
                self.tokens = rest;
                true
            }
            _ => false,
        }
    }

    fn any(&mut self) -> bool {
        let mut met = self.all();
        while self.take("OR") {
            met |= self.all();
        }
        met
    }

    fn all(&mut self) -> bool {
        let mut met = self.one();
        while self.take("AND") {
            met &= self.one();
        }
        met
    }

    fn one(&mut self) -> bool {
        if self.take("(") {
            let met = self.any();
            return self.take(")") && met;
        }
        let Some((licence, rest)) = self.tokens.split_first() else { return false };
        self.tokens = rest;
        // An exception allows more.
        if self.take("WITH") {
            self.tokens = self.tokens.get(1..).unwrap_or_default();
        }
        self.allowed.contains(&licence.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_are_met_by_one_of_their_choices() {
        let list = "[licenses]\nallow = [\n    \"MIT\",\n    \"ISC\",\n]\n[advisories]\n";
        let allowed = allowed(list);
        assert_eq!(allowed, ["MIT", "ISC"]);
        for (licence, met) in [
            ("MIT", true),
            ("GPL-3.0", false),
            ("GPL-3.0 OR MIT", true),
            ("Apache-2.0/MIT", true),
            ("MIT AND GPL-3.0", false),
            ("MIT AND ISC", true),
            ("(GPL-3.0 OR MIT) AND ISC", true),
            ("(GPL-3.0 OR MIT) AND Zlib", false),
            ("MIT WITH LLVM-exception OR GPL-3.0", true),
            ("GPL-3.0 WITH LLVM-exception", false),
            ("none", false),
            ("", false),
        ] {
            assert_eq!(is_allowed(licence, &allowed), met, "{licence}");
        }
    }
}
