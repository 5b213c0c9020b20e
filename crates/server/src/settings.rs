//! The table of settings of the configuration file: the file is read by it, and
//! `docs/reference/configuration.md` shows it.

use pelorus_engine::config::server_options;

/// One setting of the file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Setting {
    /// Its name.
    pub(crate) key: &'static str,
    /// Its valid values.
    pub(crate) kind: &'static str,
    /// Its default.
    pub(crate) default: &'static str,
    /// The option of `pelorus serve` that overrides it.
    pub(crate) option: &'static str,
    /// Its meaning.
    pub(crate) meaning: &'static str,
}

const fn setting(
    key: &'static str,
    kind: &'static str,
    default: &'static str,
    option: &'static str,
    meaning: &'static str,
) -> Setting {
    Setting { key, kind, default, option, meaning }
}

/// The settings at the top of the file; `[tls]`, `[variables]` and `[[link]]` are tables.
pub(crate) const SETTINGS: &[Setting] = &[
    setting(
        "data",
        "path",
        "`pelorus-data`",
        "`--data`",
        "folder of accounts, linked servers, keys and native tables",
    ),
    setting(
        "listen",
        "text or list",
        "`127.0.0.1:3307`",
        "`--listen`",
        "addresses and ports for clients, `host:port`",
    ),
    setting("socket", "path", "none", "`--socket`", "local socket for clients"),
    setting(
        "root_password_file",
        "path",
        "none",
        "`--root-password-file`",
        "file with the first password of root",
    ),
    setting(
        "root_host",
        "text or list",
        "none",
        "`--root-host`",
        "hosts other than `localhost` from which root may log in at first",
    ),
    setting(
        "secrets_folder",
        "path",
        "none",
        "`--secrets-folder`",
        "folder of the files that `PASSWORD_FILE` and `TLS_CA` of `CREATE SERVER` may name",
    ),
    setting(
        "secret_variables",
        "text or list",
        "none",
        "`--secret-variable`",
        "environment variables that `PASSWORD_ENV` of `CREATE SERVER` may name",
    ),
    setting(
        "require_secure_transport",
        "true or false",
        "`false`",
        "`--require-secure-transport`",
        "refuse TCP connections of clients that are not encrypted",
    ),
    setting("log", "`error`, `warn`, `info`, `debug`", "`info`", "`--log`", "how much is logged"),
    setting(
        "mirror",
        "text or list",
        "none",
        "`--mirror`",
        "what of the linked servers is mirrored: `all`, a database, or `database.table`",
    ),
    setting(
        "tls",
        "table",
        "a certificate of its own",
        "",
        "certificate and key of Pelorus, for its clients",
    ),
    setting("variables", "table", "none", "", "system variables and their global values"),
    setting("link", "list of tables", "none", "`--link`", "linked servers"),
];

/// The settings in `[tls]`.
pub(crate) const TLS_SETTINGS: [Setting; 3] = [
    setting(
        "mode",
        "`own` or `off`",
        "`own`",
        "",
        "`own` makes a certificate in the data folder, `off` encrypts nothing; left out with the other two",
    ),
    setting(
        "certificate",
        "path",
        "none",
        "",
        "certificates in PEM form, that of the server first",
    ),
    setting("key", "path", "none", "", "the key of the certificate in PEM form"),
];

/// The settings of `[[link]]` that are no options of `CREATE SERVER`.
pub(crate) const LINK_NAMES: [&str; 2] = ["name", "url"];

/// The settings of `[[link]]` that are options of `CREATE SERVER`.
pub(crate) fn link_settings() -> impl Iterator<Item = String> {
    server_options().iter().map(|(name, _)| name.to_ascii_lowercase())
}

/// All settings for people, a line each.
pub(crate) fn list() -> String {
    let line = |place: &str, it: &Setting| {
        let option = if it.option.is_empty() { String::new() } else { format!("; {}", it.option) };
        let (key, kind, default, meaning) = (it.key, it.kind, it.default, it.meaning);
        format!("{place}{key} ({kind}; when left out: {default}{option}): {meaning}\n")
            .replace('`', "")
    };
    let mut out: String = SETTINGS.iter().map(|it| line("", it)).collect();
    out.extend(TLS_SETTINGS.iter().map(|it| line("tls.", it)));
    for (name, meaning) in server_options() {
        out.push_str(&format!("link.{}: {meaning}\n", name.to_ascii_lowercase()).replace('`', ""));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::ServeOptions;
    use crate::config;

    const PAGE: &str = include_str!("../../../docs/reference/configuration.md");
    const SAMPLE: &str = include_str!("../../../docs/reference/pelorus.toml");

    fn rows(settings: &[Setting], with_option: bool) -> String {
        let row = |it: &Setting| {
            let option = if with_option { format!(" {} |", it.option) } else { String::new() };
            format!("| `{}` | {} | {} |{option} {} |\n", it.key, it.kind, it.default, it.meaning)
        };
        settings.iter().map(row).collect()
    }

    #[test]
    fn the_page_has_every_setting() {
        for expected in [rows(SETTINGS, true), rows(&TLS_SETTINGS, false)] {
            assert!(PAGE.contains(&expected), "the page must have these lines:\n{expected}");
        }
        let options: String = server_options()
            .iter()
            .map(|(name, meaning)| format!("| `{}` | {meaning} |\n", name.to_ascii_lowercase()))
            .collect();
        assert!(PAGE.contains(&options), "the page must have these lines:\n{options}");
    }

    /// The sample has each setting, as it is or after `#`, and is right either way.
    #[test]
    fn the_sample_is_right_and_has_every_setting() {
        let path = std::env::temp_dir().join(format!("pelorus-sample-{}.toml", std::process::id()));
        let load = |text: &str| {
            std::fs::write(&path, text).unwrap();
            let options = ServeOptions { config: Some(path.clone()), ..ServeOptions::default() };
            config::load(&options, Some("from the environment".to_owned()))
        };
        load(SAMPLE).unwrap();
        let is_setting = |line: &&str| !line.starts_with("# ");
        let all: Vec<&str> = SAMPLE
            .lines()
            .filter(is_setting)
            .map(|line| line.strip_prefix('#').unwrap_or(line))
            // A file that is not there on every machine, and what cannot stand together.
            .filter(|line| !line.starts_with("root_password_file") && !line.starts_with("mode"))
            .collect();
        let all = all.join("\n");
        let config = load(&all).unwrap();
        assert!(config.notes.is_empty(), "{:?}", config.notes);
        for key in SETTINGS.iter().map(|it| it.key.to_owned()).chain(link_settings()) {
            let is_there = |line: &str| {
                let line = line.trim_start_matches(['#', '[']);
                line.strip_prefix(&key).is_some_and(|rest| rest.starts_with([' ', ']']))
            };
            assert!(SAMPLE.lines().any(is_there), "the sample lacks {key}");
        }
        std::fs::remove_file(&path).unwrap();
    }
}
