//! The servers file: JSON with a format number; passwords are encrypted.

use std::path::PathBuf;

use pelorus_error::{Error, Result};
use pelorus_link::Secret;
use serde::{Deserialize, Serialize};

use crate::secret_store::Seal;
use crate::servers::{Password, Server};

/// The format that is written.
const FORMAT: u32 = 1;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    format: u32,
    servers: Vec<Entry>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    name: String,
    wrapper: String,
    /// Options in the words of `CREATE SERVER`, those of the password excepted.
    options: Vec<(String, String)>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    password: Option<Reference>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum Reference {
    /// Sealed bytes in hexadecimal digits.
    Sealed(String),
    Environment(String),
    File(PathBuf),
}

#[derive(Deserialize)]
struct Version {
    format: u32,
}

/// Writes the file.
pub(crate) fn encode<'a>(
    servers: impl IntoIterator<Item = &'a Server>,
    seal: &Seal,
) -> Result<Vec<u8>> {
    let servers = servers.into_iter().map(|server| entry(server, seal)).collect::<Result<_>>()?;
    let mut bytes = serde_json::to_vec_pretty(&File { format: FORMAT, servers })
        .map_err(|error| Error::internal("cannot write servers").caused_by(error))?;
    bytes.push(b'\n');
    Ok(bytes)
}

fn entry(server: &Server, seal: &Seal) -> Result<Entry> {
    let options = super::OPTIONS
        .iter()
        .filter(|(name, _)| !name.starts_with("PASSWORD"))
        .filter_map(|(name, _)| Some(((*name).to_owned(), server.get(name)?)))
        .collect();
    let password = match &server.password {
        Password::Empty => None,
        Password::Kept(secret) => {
            let sealed = seal.seal(&purpose(&server.name), secret.reveal())?;
            Some(Reference::Sealed(crate::hex::encode(&sealed)))
        }
        Password::Environment(name) => Some(Reference::Environment(name.clone())),
        Password::File(path) => Some(Reference::File(path.clone())),
    };
    Ok(Entry { name: server.name.clone(), wrapper: server.wrapper.clone(), options, password })
}

/// Reads the file.
///
/// # Errors
/// When it is damaged, of a newer format, or sealed with another key.
pub(crate) fn decode(bytes: &[u8], seal: &Seal) -> Result<Vec<Server>> {
    let damaged = |error: serde_json::Error| {
        Error::internal(format!("the servers file is damaged: {error}")).caused_by(error)
    };
    let Version { format } = serde_json::from_slice(bytes).map_err(damaged)?;
    if format != FORMAT {
        return Err(Error::internal(format!(
            "the servers file has format {format}; this version reads format {FORMAT}"
        )));
    }
    let file: File = serde_json::from_slice(bytes).map_err(damaged)?;
    file.servers.into_iter().map(|entry| server(entry, seal)).collect()
}

fn server(entry: Entry, seal: &Seal) -> Result<Server> {
    let mut server = Server::new(&entry.name, &entry.wrapper)?;
    for (name, value) in &entry.options {
        server.set(name, value)?;
    }
    server.password = match entry.password {
        None => Password::Empty,
        Some(Reference::Sealed(digits)) => {
            let sealed = crate::hex::decode(&digits)
                .ok_or_else(|| Error::internal("the servers file is damaged: a password"))?;
            Password::Kept(Secret::new(seal.open_sealed(&purpose(&entry.name), &sealed)?))
        }
        Some(Reference::Environment(name)) => Password::Environment(name),
        Some(Reference::File(path)) => Password::File(path),
    };
    Ok(server)
}

fn purpose(name: &str) -> String {
    format!("password of server {name}")
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use pelorus_env::Env;

    use super::*;

    fn sample() -> Vec<Server> {
        let mut shop = Server::new("shop", "mysql").unwrap();
        for (name, value) in [
            ("HOST", "db1"),
            ("PORT", "3307"),
            ("USER", "reader"),
            ("PASSWORD", "secret"),
            ("DATABASES", "shop_v2 AS sales"),
            ("REPLICAS", "db2:3308"),
        ] {
            shop.set(name, value).unwrap();
        }
        let mut wiki = Server::new("wiki", "mariadb").unwrap();
        wiki.set("SOCKET", "/run/wiki.sock").unwrap();
        wiki.set("PASSWORD_ENV", "WIKI_PASSWORD").unwrap();
        vec![shop, wiki]
    }

    #[test]
    fn the_golden_file_reads() {
        // The key that the golden file was sealed with.
        let env = Env::in_memory(0);
        let key = include_bytes!("../../golden/key-1.json");
        env.files.replace(Path::new("/data/key.json"), key).unwrap();
        let seal = Seal::open(&env, Path::new("/data")).unwrap();
        let golden = include_bytes!("../../golden/servers-1.json");
        assert_eq!(decode(golden, &seal).unwrap(), sample());
    }

    #[test]
    fn what_is_written_reads_and_shows_no_password() {
        let seal = Seal::open(&Env::in_memory(7), Path::new("/data")).unwrap();
        let bytes = encode(&sample(), &seal).unwrap();
        let text = String::from_utf8(bytes.clone()).unwrap();
        assert!(!text.contains("secret"), "{text}");
        assert_eq!(decode(&bytes, &seal).unwrap(), sample());
        let other = Seal::open(&Env::in_memory(8), Path::new("/data")).unwrap();
        assert!(decode(&bytes, &other).unwrap_err().message().contains("key.json"));
    }
}
