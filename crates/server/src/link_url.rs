//! Linked servers on the command line:
//! `mysql://user:password@host:port/database?replicas=host2,host3:3307&name=shop`.

use anyhow::{Context as _, Result, bail};
use pelorus_engine::LinkSpec;

use crate::settings::link_settings;
use crate::suggest;

/// What may follow the `?`: the name, and options of `CREATE SERVER` that do not stand before it.
fn parameters() -> Vec<String> {
    let before = ["host", "port", "user", "database"];
    let options = link_settings().filter(|name| !before.contains(&name.as_str()));
    std::iter::once("name".to_owned()).chain(options).collect()
}

/// Parses the address of a linked server.
///
/// # Errors
/// The missing part of the address; the password is never repeated.
pub(crate) fn parse(url: &str) -> Result<LinkSpec> {
    const FORM: &str =
        "a link is written mysql://user[:password]@host[:port]/[database][?replicas=...]";
    let rest =
        url.strip_prefix("mysql://").or_else(|| url.strip_prefix("mariadb://")).context(FORM)?;
    let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
    let (authority, database) = rest.split_once('/').unwrap_or((rest, ""));
    // A password may hold an @ that was not encoded; a host cannot.
    let (account, address) = authority.rsplit_once('@').context(
        "a link names the account on the server: mysql://user@host; the user is missing",
    )?;
    let (user, password) = match account.split_once(':') {
        Some((user, password)) => (user, Some(decode(password)?)),
        None => (account, None),
    };
    if user.is_empty() {
        bail!("the user is missing; {FORM}");
    }
    let mut options: Vec<(String, String)> = Vec::new();
    let mut add = |name: &str, value: String| options.push((name.to_owned(), value));
    let (host, port) = host_and_port(address)?;
    add("HOST", if host.is_empty() { "localhost".to_owned() } else { decode(host)? });
    if let Some(port) = port {
        add("PORT", port.to_owned());
    }
    add("USER", decode(user)?);
    if let Some(password) = password {
        add("PASSWORD", password);
    }
    let database = decode(database)?;
    if !database.is_empty() {
        add("DATABASE", database.clone());
    }
    let mut name = None;
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        if !parameters().iter().any(|known| known == key) {
            bail!("{}", unknown_parameter(key));
        }
        match key {
            "name" => name = Some(decode(value)?),
            key => add(&key.to_ascii_uppercase(), decode(value)?),
        }
    }
    let name = name.unwrap_or_else(|| match (database.is_empty(), port) {
        (false, _) => database,
        (true, Some(port)) => format!("{host}_{port}"),
        (true, None) => host.to_owned(),
    });
    Ok(LinkSpec { name, options })
}

fn unknown_parameter(key: &str) -> String {
    let known = parameters();
    match suggest::nearest(key, known.iter().map(String::as_str)) {
        Some(known) => format!("a link has no parameter '{key}'; did you mean '{known}'?"),
        None => format!("a link has no parameter '{key}'; it has {}", known.join(", ")),
    }
}

/// Host and port of `host`, `host:port`, `[v6]` and `[v6]:port`.
fn host_and_port(address: &str) -> Result<(&str, Option<&str>)> {
    let (host, port) = match address.strip_prefix('[') {
        Some(rest) => {
            let (host, rest) = rest.split_once(']').context("the ] of the address is missing")?;
            (host, rest.strip_prefix(':'))
        }
        None => match address.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (address, None),
        },
    };
    if let Some(port) = port
        && port.parse::<u16>().is_err()
    {
        bail!("'{port}' is no port: a port is a number up to 65535");
    }
    Ok((host, port))
}

/// Replaces `%xx`.
fn decode(text: &str) -> Result<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        if *first != b'%' {
            bytes.push(*first);
            rest = after;
            continue;
        }
        let digits = after.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        let byte = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        bytes.push(byte.context("a % in a link is followed by two hexadecimal digits (%25 is %)")?);
        rest = &after[2..];
    }
    String::from_utf8(bytes).context("a link must be UTF-8")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(url: &str) -> Vec<(String, String)> {
        parse(url).unwrap().options
    }

    fn get(url: &str, option: &str) -> Option<String> {
        options(url).into_iter().find(|(name, _)| name == option).map(|(_, value)| value)
    }

    #[test]
    fn addresses_are_taken_apart() {
        let url = "mysql://re%40der:p@ss:w%25rd@db1:3307/shop?replicas=db2,db3:3308&name=main";
        let spec = parse(url).unwrap();
        assert_eq!(spec.name, "main");
        let expected = [
            ("HOST", "db1"),
            ("PORT", "3307"),
            ("USER", "re@der"),
            ("PASSWORD", "p@ss:w%rd"),
            ("DATABASE", "shop"),
            ("REPLICAS", "db2,db3:3308"),
        ];
        let found: Vec<(&str, &str)> =
            spec.options.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        assert_eq!(found, expected);
        assert_eq!(parse("mysql://u@[fd00::1]:33/").unwrap().name, "fd00::1_33");
        assert_eq!(
            get("mysql://u@/d?socket=/run/m.sock", "SOCKET").as_deref(),
            Some("/run/m.sock")
        );
        assert_eq!(get("mariadb://u@h", "HOST").as_deref(), Some("h"));
    }

    #[test]
    fn what_is_wrong_is_said_without_the_password() {
        for (url, says) in [
            ("http://x", "mysql://user"),
            ("mysql://host/db", "user is missing"),
            ("mysql://:pw-of-mine@host", "user is missing"),
            ("mysql://u:pw-of-mine@host:port", "port"),
            ("mysql://u:pw-of-mine%2@host", "hexadecimal"),
            ("mysql://u:pw-of-mine@host?replica=x", "did you mean 'replicas'"),
        ] {
            let error = format!("{:#}", parse(url).unwrap_err());
            assert!(error.contains(says), "{url}: {error}");
            assert!(!error.contains("pw-of-mine"), "{error}");
        }
    }
}
