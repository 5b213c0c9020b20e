//! The configuration file, and the settings that result from file, environment and options
//! together.
//!
//! Settings are processed in two stages: everything is read and checked first, then resolved once
//! into a [`Config`]. An unknown key is an error.

use std::fmt::Write as _;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use pelorus_engine::config::{check_host, check_mirrors, check_variables};
use pelorus_engine::{LinkSpec, RootPassword, SecretSources, Settings};
use pelorus_mysql_server::TlsMode;
use toml::{Table, Value};
use tracing::level_filters::LevelFilter;

use crate::cli::ServeOptions;
use crate::settings::{LINK_NAMES, SETTINGS, TLS_SETTINGS, link_settings};
use crate::{link_url, suggest};

/// The environment variable with the first password of root.
pub const ROOT_PASSWORD_VARIABLE: &str = "PELORUS_ROOT_PASSWORD";
/// The environment variable with the hosts from which root may log in at first, by commas.
pub const ROOT_HOST_VARIABLE: &str = "PELORUS_ROOT_HOST";

/// Everything that [`crate::server::run`] needs.
#[derive(Clone, Debug)]
pub struct Config {
    /// The data folder.
    pub data: PathBuf,
    /// Addresses to listen on.
    pub listen: Vec<String>,
    /// The local socket.
    pub socket: Option<PathBuf>,
    /// Encryption of client connections.
    pub tls: TlsMode,
    /// Linked servers.
    pub links: Vec<LinkSpec>,
    /// The mirrors: `all`, databases, tables.
    pub mirrors: Vec<String>,
    /// The first password of root.
    pub root_password: RootPassword,
    /// Hosts other than `localhost` from which root may log in at first.
    pub root_hosts: Vec<String>,
    /// Files and variables to which servers defined by statements may refer.
    pub secrets: SecretSources,
    /// Limits for edges.
    pub settings: Settings,
    /// System variables by name.
    pub variables: Vec<(String, String)>,
    /// Messages about values that were adjusted to their bounds.
    pub notes: Vec<String>,
    /// How much is logged.
    pub log: LevelFilter,
}

/// Reads the file that the options name, and applies the options over it. `root_password` is the
/// value from the environment.
///
/// # Errors
/// The problem, its location, and valid values.
pub fn load(options: &ServeOptions, root_password: Option<String>) -> Result<Config> {
    let file = match &options.config {
        None => File::default(),
        Some(path) => {
            let text = read_text("configuration", path)?;
            File::parse(&text).with_context(|| format!("in {}", path.display()))?
        }
    };
    let hosts = std::env::var(ROOT_HOST_VARIABLE).unwrap_or_default();
    let environment = Environment { root_password, root_hosts: listed(&hosts) };
    check(options, resolve(options, file, environment)?)
}

/// What the environment says.
#[derive(Default)]
struct Environment {
    root_password: Option<String>,
    root_hosts: Vec<String>,
}

/// The parts of a text between commas.
fn listed(text: &str) -> Vec<String> {
    text.split(',').map(str::trim).filter(|part| !part.is_empty()).map(str::to_owned).collect()
}

/// Most bytes of a file that is read: some files have no end.
const BYTES_MAX: u64 = 16 << 20;

/// Reads a small text; `what` it is shows in errors.
fn read_text(what: &str, path: &Path) -> Result<String> {
    let failed = || format!("cannot read the {what} {}", path.display());
    let mut bytes = Vec::new();
    let file = std::fs::File::open(path).with_context(failed)?;
    file.take(BYTES_MAX + 1).read_to_end(&mut bytes).with_context(failed)?;
    if bytes.len() as u64 > BYTES_MAX {
        bail!("{}: it has more than {} MiB", failed(), BYTES_MAX >> 20);
    }
    String::from_utf8(bytes).with_context(failed)
}

/// Checks what only the engine understands.
fn check(options: &ServeOptions, mut config: Config) -> Result<Config> {
    let file = || match &options.config {
        Some(path) => path.display().to_string(),
        None => "the configuration".to_owned(),
    };
    config.notes = check_variables(&config.variables)
        .with_context(|| format!("in [variables] of {}", file()))?;
    check_mirrors(&config.mirrors).with_context(|| match options.mirror.is_empty() {
        true => format!("in mirror of {}", file()),
        false => "in --mirror".to_owned(),
    })?;
    Ok(config)
}

/// What the file says.
#[derive(Debug, Default)]
struct File {
    data: Option<PathBuf>,
    listen: Vec<String>,
    socket: Option<PathBuf>,
    root_password_file: Option<PathBuf>,
    root_hosts: Vec<String>,
    secrets_folder: Option<PathBuf>,
    secret_variables: Vec<String>,
    require_secure_transport: Option<bool>,
    log: Option<String>,
    tls: Option<TlsMode>,
    variables: Vec<(String, String)>,
    links: Vec<LinkSpec>,
    mirrors: Vec<String>,
}

impl File {
    fn parse(text: &str) -> Result<Self> {
        let table: Table = text.parse().context("it is not TOML")?;
        let mut file = File::default();
        for (key, value) in &table {
            match key.as_str() {
                "data" => file.data = Some(string(key, value)?.into()),
                "listen" => file.listen = strings(key, value)?,
                "socket" => file.socket = Some(string(key, value)?.into()),
                "root_password_file" => {
                    file.root_password_file = Some(string(key, value)?.into());
                }
                "root_host" => file.root_hosts = strings(key, value)?,
                "secrets_folder" => file.secrets_folder = Some(string(key, value)?.into()),
                "secret_variables" => file.secret_variables = strings(key, value)?,
                "require_secure_transport" => {
                    let on =
                        value.as_bool().context("require_secure_transport is true or false")?;
                    file.require_secure_transport = Some(on);
                }
                "log" => file.log = Some(string(key, value)?),
                "tls" => file.tls = Some(tls(table_of(key, value)?)?),
                "variables" => file.variables = variables(table_of(key, value)?)?,
                "link" => file.links = links(value)?,
                "mirror" => file.mirrors = strings(key, value)?,
                other => {
                    bail!("{}", unknown("setting", other, SETTINGS.iter().map(|it| it.key)))
                }
            }
        }
        Ok(file)
    }
}

fn unknown<'a>(kind: &str, key: &str, known: impl Iterator<Item = &'a str> + Clone) -> String {
    match suggest::nearest(key, known.clone()) {
        Some(nearest) => format!("there is no {kind} '{key}'; did you mean '{nearest}'?"),
        None => {
            let known: Vec<&str> = known.collect();
            format!("there is no {kind} '{key}'; there are {}", known.join(", "))
        }
    }
}

fn string(key: &str, value: &Value) -> Result<String> {
    value.as_str().map(str::to_owned).with_context(|| format!("'{key}' is a text in quotes"))
}

fn strings(key: &str, value: &Value) -> Result<Vec<String>> {
    match value {
        Value::Array(items) => items.iter().map(|item| string(key, item)).collect(),
        one => Ok(vec![string(key, one)?]),
    }
}

fn table_of<'a>(key: &str, value: &'a Value) -> Result<&'a Table> {
    value.as_table().with_context(|| format!("'{key}' is a table: [{key}]"))
}

/// A number, text or truth value as text.
fn scalar(key: &str, value: &Value) -> Result<String> {
    match value {
        Value::String(text) => Ok(text.clone()),
        Value::Integer(number) => Ok(number.to_string()),
        Value::Float(number) => Ok(number.to_string()),
        Value::Boolean(on) => Ok(if *on { "ON" } else { "OFF" }.to_owned()),
        Value::Array(items) => {
            let items: Vec<String> =
                items.iter().map(|item| scalar(key, item)).collect::<Result<_>>()?;
            Ok(items.join(","))
        }
        _ => bail!("'{key}' is a text or a number"),
    }
}

fn tls(table: &Table) -> Result<TlsMode> {
    let mut texts = [None, None, None];
    for (key, value) in table {
        let known = TLS_SETTINGS.map(|setting| setting.key);
        let at = known
            .iter()
            .position(|known| known == key)
            .with_context(|| unknown("setting in [tls]", key, known.into_iter()))?;
        texts[at] = Some(string(key, value)?);
    }
    let [mode, certificate, key] = texts;
    match (mode.as_deref(), certificate, key) {
        (None, Some(certificate), Some(key)) => {
            Ok(TlsMode::Files { certificate: certificate.into(), key: key.into() })
        }
        (None, Some(_), None) | (None, None, Some(_)) => {
            bail!("[tls] needs both certificate and key, or neither")
        }
        (Some("off"), None, None) => Ok(TlsMode::Off),
        (None | Some("own"), None, None) => Ok(TlsMode::Own),
        _ => bail!("mode in [tls] is own or off, or left out beside certificate and key"),
    }
}

fn variables(table: &Table) -> Result<Vec<(String, String)>> {
    table.iter().map(|(key, value)| Ok((key.clone(), scalar(key, value)?))).collect()
}

fn links(value: &Value) -> Result<Vec<LinkSpec>> {
    let items = value.as_array().context("links are written [[link]]")?;
    items.iter().map(|item| link(table_of("link", item)?)).collect()
}

fn link(table: &Table) -> Result<LinkSpec> {
    let mut spec = match table.get("url") {
        Some(url) => link_url::parse(&string("url", url)?).context("in url of [[link]]")?,
        None => LinkSpec { name: String::new(), options: Vec::new() },
    };
    for (key, value) in table {
        match key.as_str() {
            "url" => {}
            "name" => spec.name = string(key, value)?,
            key => match link_settings().find(|known| known == key) {
                Some(_) => spec.options.push((key.to_ascii_uppercase(), scalar(key, value)?)),
                None => {
                    let options: Vec<String> = link_settings().collect();
                    let known = LINK_NAMES.into_iter().chain(options.iter().map(String::as_str));
                    bail!("{}", unknown("setting in [[link]]", key, known))
                }
            },
        }
    }
    if spec.name.is_empty() {
        bail!("a [[link]] needs a name");
    }
    if !spec.options.iter().any(|(name, _)| name == "HOST" || name == "SOCKET") {
        bail!("link '{}' needs a host", spec.name);
    }
    Ok(spec)
}

/// Adds links that are given by their addresses, each under a name of its own.
fn with_urls(mut links: Vec<LinkSpec>, urls: &[String]) -> Result<Vec<LinkSpec>> {
    for url in urls {
        let mut spec = link_url::parse(url).context("in --link")?;
        let base = spec.name.clone();
        let mut number = 2;
        while links.iter().any(|other| other.name.eq_ignore_ascii_case(&spec.name)) {
            spec.name = format!("{base}_{number}");
            number += 1;
        }
        links.push(spec);
    }
    Ok(links)
}

/// Puts the options above the file and fills in what neither says.
fn resolve(options: &ServeOptions, file: File, environment: Environment) -> Result<Config> {
    let links = with_urls(file.links, &options.link)?;
    let mirrors = if options.mirror.is_empty() { file.mirrors } else { options.mirror.clone() };
    let listen = if !options.listen.is_empty() {
        options.listen.clone()
    } else if !file.listen.is_empty() {
        file.listen
    } else {
        vec!["127.0.0.1:3307".to_owned()]
    };
    for address in &listen {
        check_address(address)?;
    }
    let socket = options.socket.clone().or(file.socket);
    let password_file = options.root_password_file.clone().or(file.root_password_file);
    let tls = file.tls.unwrap_or(TlsMode::Own);
    let settings = Settings {
        require_secure_transport: options.require_secure_transport
            || file.require_secure_transport.unwrap_or(false),
        bind_address: listen.first().map(|address| host(address).to_owned()).unwrap_or_default(),
        port: listen.first().and_then(|address| port(address)).unwrap_or(0),
        socket: socket.as_ref().map(|path| path.display().to_string()).unwrap_or_default(),
        tls: tls != TlsMode::Off,
        ..Settings::default()
    };
    if settings.require_secure_transport && tls == TlsMode::Off && socket.is_none() {
        bail!(
            "require_secure_transport and mode = 'off' in [tls] let nobody in; leave one of them \
             out, or add a socket"
        );
    }
    let root_hosts = [options.root_host.clone(), file.root_hosts, environment.root_hosts]
        .into_iter()
        .find(|hosts| !hosts.is_empty())
        .unwrap_or_default();
    for host in &root_hosts {
        check_host(host).with_context(|| format!("root_host '{host}'"))?;
    }
    let folder = options.secrets_folder.clone().or(file.secrets_folder);
    let secrets = SecretSources {
        // Where the file may be named by its whole path, the folder must be as well.
        folder: folder.map(std::path::absolute).transpose().context("secrets_folder")?,
        variables: file
            .secret_variables
            .into_iter()
            .chain(options.secret_variable.clone())
            .collect(),
    };
    let log = options.log.clone().or(file.log).unwrap_or_else(|| "info".to_owned());
    Ok(Config {
        data: options.data.clone().or(file.data).unwrap_or_else(|| "pelorus-data".into()),
        listen,
        socket,
        tls,
        links,
        mirrors,
        root_password: root_password(password_file.as_deref(), environment.root_password)?,
        root_hosts,
        secrets,
        settings,
        variables: file.variables,
        notes: Vec::new(),
        log: log
            .parse()
            .ok()
            .with_context(|| format!("log is error, warn, info or debug, not '{log}'"))?,
    })
}

/// The first password of root: from the file, else from the environment, else made up.
fn root_password(file: Option<&Path>, environment: Option<String>) -> Result<RootPassword> {
    match (file, environment) {
        (Some(path), _) => password_of(path),
        (None, Some(password)) if !password.is_empty() => Ok(RootPassword::Given(password)),
        (None, _) => Ok(RootPassword::Generate),
    }
}

/// The password in a file, without its last line break.
///
/// # Errors
/// A file that cannot be read, or that is empty.
pub fn password_of(path: &Path) -> Result<RootPassword> {
    let text = read_text("password file", path)?;
    let password = text.trim_end_matches(['\r', '\n']);
    if password.is_empty() {
        bail!("the password file {} is empty", path.display());
    }
    Ok(RootPassword::Given(password.to_owned()))
}

fn host(address: &str) -> &str {
    address.rsplit_once(':').map_or(address, |(host, _)| host)
}

fn port(address: &str) -> Option<u16> {
    address.rsplit_once(':')?.1.parse().ok()
}

fn check_address(address: &str) -> Result<()> {
    if port(address).is_none() || host(address).is_empty() {
        bail!("'{address}' is no address to listen on; write host:port, as in 127.0.0.1:3307");
    }
    Ok(())
}

impl Config {
    /// The effective settings, a line each; passwords do not show.
    pub fn describe(&self) -> String {
        let mut out = String::new();
        let mut line = |name: &str, value: &dyn std::fmt::Display| {
            // A `String` accepts every write.
            writeln!(out, "{name} = {value}").ok();
        };
        line("data", &self.data.display());
        line("listen", &self.listen.join(", "));
        if let Some(socket) = &self.socket {
            line("socket", &socket.display());
        }
        let tls = match &self.tls {
            TlsMode::Off => "off".to_owned(),
            TlsMode::Own => "own certificate".to_owned(),
            TlsMode::Files { certificate, .. } => certificate.display().to_string(),
        };
        line("tls", &tls);
        line("require_secure_transport", &self.settings.require_secure_transport);
        if !self.root_hosts.is_empty() {
            line("root_host", &self.root_hosts.join(", "));
        }
        if let Some(folder) = &self.secrets.folder {
            line("secrets_folder", &folder.display());
        }
        if !self.secrets.variables.is_empty() {
            line("secret_variables", &self.secrets.variables.join(", "));
        }
        for (name, value) in &self.variables {
            line(&format!("variables.{name}"), value);
        }
        for link in &self.links {
            let options: Vec<String> =
                link.shown().map(|(name, value)| format!("{name} {value}")).collect();
            line(&format!("link {}", link.name), &options.join(", "));
        }
        for note in &self.notes {
            line("warning", note);
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load_text(text: &str) -> Result<Config> {
        let options = ServeOptions::default();
        check(&options, resolve(&options, File::parse(text)?, Environment::default())?)
    }

    #[test]
    fn a_full_file_is_read() {
        let config = load_text(
            r#"
            data = "/tmp/p"
            listen = ["127.0.0.1:3310", "[::1]:3310"]
            log = "debug"
            [variables]
            wait_timeout = 600
            sql_mode = "ANSI"
            [tls]
            certificate = "c.pem"
            key = "k.pem"
            [[link]]
            name = "shop"
            host = "db1"
            user = "reader"
            password_env = "SHOP"
            replicas = ["db2", "db3:3307"]
            connections = 4
            [[link]]
            name = "wiki"
            url = "mysql://u:pw@h/wiki"
            "#,
        )
        .unwrap();
        assert_eq!(config.listen.len(), 2);
        assert_eq!(config.settings.port, 3310);
        assert_eq!(config.variables[0], ("sql_mode".to_owned(), "ANSI".to_owned()));
        assert!(config.links[0].options.contains(&("REPLICAS".into(), "db2,db3:3307".into())));
        let text = config.describe();
        assert!(text.contains("link wiki") && !text.contains("pw,") && text.contains("***"));
    }

    #[test]
    fn mistakes_are_named() {
        for (text, says) in [
            ("lisen = 'x'", "did you mean 'listen'"),
            ("listen = 5", "'listen' is a text"),
            ("listen = 'localhost'", "host:port"),
            ("log = 'loud'", "not 'loud'"),
            ("[[link]]\nname = 'a'", "needs a host"),
            ("[[link]]\nhost = 'a'", "needs a name"),
            ("[[link]]\nname = 'a'\nhots = 'b'", "did you mean 'host'"),
            ("[tls]\ncertificate = 'c'", "both certificate and key"),
            ("[tls]\nmode = 'maybe'", "own or off"),
            ("[tls]\nmode = 'off'\ncertificate = 'c'\nkey = 'k'", "own or off"),
            ("[tls]\nmode = 'own'\ncertificate = 'c'\nkey = 'k'", "own or off"),
            ("[tls]\nmode = 'required'\ncertificate = 'c'\nkey = 'k'", "own or off"),
            ("require_secure_transport = true\n[tls]\nmode = 'off'", "let nobody in"),
            ("data = ", "not TOML"),
            ("[variables]\nnonsense = 5", "Unknown system variable 'nonsense'"),
            ("[variables]\npelorus_block_cache = '8GB'", "'pelorus_block_cache'"),
            ("[variables]\nsql_mode = 'FOO'", "'sql_mode' can't be set to the value of 'FOO'"),
            ("[variables]\nversion = '9'", "'version' is a read only variable"),
            ("root_host = 'db.example.com'", "host names are not looked up"),
            ("secret_variables = 5", "'secret_variables' is a text"),
            ("mirror = 'x.y.z'", "in mirror of the configuration: 'x.y.z' cannot be mirrored"),
        ] {
            let error = format!("{:#}", load_text(text).unwrap_err());
            assert!(error.contains(says), "{text}: {error}");
        }
    }

    #[test]
    fn the_file_is_named_and_values_that_are_cut_are_told() {
        let path = std::env::temp_dir().join(format!("pelorus-{}.toml", std::process::id()));
        let load_file = |text: &str| {
            std::fs::write(&path, text).unwrap();
            load(&ServeOptions { config: Some(path.clone()), ..ServeOptions::default() }, None)
        };
        let error = format!("{:#}", load_file("[variables]\nnonsense = 5").unwrap_err());
        assert!(error.contains(&path.display().to_string()), "{error}");
        let config = load_file("[variables]\npelorus_block_cache = -5").unwrap();
        let said = "warning = Truncated incorrect pelorus_block_cache value: '-5'; it is 1048576";
        assert!(config.describe().contains(said), "{}", config.describe());
        std::fs::remove_file(&path).unwrap();
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_file_without_end_is_refused() {
        let options = ServeOptions { config: Some("/dev/zero".into()), ..ServeOptions::default() };
        let error = format!("{:#}", load(&options, None).unwrap_err());
        assert!(error.contains("/dev/zero: it has more than 16 MiB"), "{error}");
    }

    #[test]
    fn options_stand_above_the_file() {
        let options = ServeOptions {
            listen: vec!["127.0.0.1:1".into()],
            link: vec!["mysql://u@h/shop".into(), "mysql://u@h2/shop".into()],
            ..ServeOptions::default()
        };
        let file = File::parse("listen = '127.0.0.1:2'\ndata = 'd'").unwrap();
        let config = resolve(&options, file, Environment::default()).unwrap();
        assert_eq!(
            (config.listen[0].as_str(), config.data.as_path()),
            ("127.0.0.1:1", Path::new("d"))
        );
        assert_eq!(config.links[1].name, "shop_2");
    }

    #[test]
    fn the_first_hosts_of_root_come_from_three_places() {
        let hosts = |option: &[&str], file: &str, environment: &str| {
            let options = ServeOptions {
                root_host: option.iter().map(ToString::to_string).collect(),
                ..ServeOptions::default()
            };
            let environment = Environment { root_password: None, root_hosts: listed(environment) };
            resolve(&options, File::parse(file).unwrap(), environment).unwrap().root_hosts
        };
        assert!(hosts(&[], "", "").is_empty());
        assert_eq!(hosts(&[], "", "%, 10.0.0.0/8"), ["%", "10.0.0.0/8"]);
        assert_eq!(hosts(&[], "root_host = '10.1.%'", "%"), ["10.1.%"]);
        assert_eq!(hosts(&["10.1.1.1", "::1"], "root_host = '10.1.%'", "%"), ["10.1.1.1", "::1"]);
    }
}
