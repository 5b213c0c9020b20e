//! The secret store: encrypts the passwords of linked servers with a key from a separate file, so
//! that the servers file alone does not reveal them.
//!
//! A sealed text is a nonce of 12 random bytes followed by AES-256-GCM's output. The purpose (which
//! server) is authenticated too, so a sealed text cannot be moved to another server.

use std::path::Path;

use pelorus_env::Env;
use pelorus_error::{Error, Result};
use ring::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use serde::{Deserialize, Serialize};

/// The format of the key file.
const FORMAT: u32 = 1;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct KeyFile {
    format: u32,
    /// 32 bytes in hexadecimal digits.
    key: String,
}

/// The key of one data folder.
pub(crate) struct Seal {
    key: LessSafeKey,
    env: Env,
}

impl std::fmt::Debug for Seal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Seal")
    }
}

impl Seal {
    /// Reads the key file, or makes one.
    pub(crate) fn open(env: &Env, folder: &Path) -> Result<Self> {
        let path = folder.join("key.json");
        let failed = |what: &str| Error::internal(format!("cannot {what} {}", path.display()));
        let bytes = env.files.read(&path).map_err(|error| failed("read").caused_by(error))?;
        let key = match bytes {
            Some(bytes) => decode_key(&bytes).ok_or_else(|| {
                let help = "restore it from a copy; without it, the passwords in servers.json \
                            cannot be read";
                crate::files::unusable(&path, help, Error::internal("the key file is damaged"))
            })?,
            None => {
                let mut key = [0; 32];
                env.random.fill(&mut key);
                let file = KeyFile { format: FORMAT, key: crate::hex::encode(&key) };
                let bytes =
                    serde_json::to_vec(&file).map_err(|error| failed("write").caused_by(error))?;
                env.files
                    .replace(&path, &bytes)
                    .map_err(|error| failed("write").caused_by(error))?;
                key
            }
        };
        let key = UnboundKey::new(&AES_256_GCM, &key).map_err(|_| failed("use the key of"))?;
        Ok(Self { key: LessSafeKey::new(key), env: env.clone() })
    }

    /// Encrypts a text for one purpose.
    pub(crate) fn seal(&self, purpose: &str, text: &str) -> Result<Vec<u8>> {
        let mut nonce = [0; NONCE_LEN];
        self.env.random.fill(&mut nonce);
        let mut bytes = text.as_bytes().to_vec();
        self.key
            .seal_in_place_append_tag(
                Nonce::assume_unique_for_key(nonce),
                Aad::from(purpose),
                &mut bytes,
            )
            .map_err(|_| Error::internal("cannot encrypt a password"))?;
        Ok([nonce.as_slice(), &bytes].concat())
    }

    /// Decrypts the result of [`Self::seal`] for the same purpose.
    pub(crate) fn open_sealed(&self, purpose: &str, sealed: &[u8]) -> Result<String> {
        let wrong = || Error::internal("a stored password does not fit the key file key.json");
        let (nonce, bytes) = sealed.split_first_chunk::<NONCE_LEN>().ok_or_else(wrong)?;
        let mut bytes = bytes.to_vec();
        let text = self
            .key
            .open_in_place(Nonce::assume_unique_for_key(*nonce), Aad::from(purpose), &mut bytes)
            .map_err(|_| wrong())?;
        String::from_utf8(text.to_vec()).map_err(|_| wrong())
    }
}

fn decode_key(bytes: &[u8]) -> Option<[u8; 32]> {
    let file: KeyFile = serde_json::from_slice(bytes).ok()?;
    let key = crate::hex::decode(&file.key)?;
    (file.format == FORMAT).then(|| key.try_into().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sealed_texts_open_for_their_purpose_only() {
        let env = Env::in_memory(1);
        let seal = Seal::open(&env, Path::new("/data")).unwrap();
        let sealed = seal.seal("shop", "p\u{e4}ssword").unwrap();
        assert!(!sealed.windows(6).any(|part| part == b"ssword"));
        let again = Seal::open(&env, Path::new("/data")).unwrap();
        assert_eq!(again.open_sealed("shop", &sealed).unwrap(), "p\u{e4}ssword");
        assert!(again.open_sealed("other", &sealed).is_err());
        assert!(again.open_sealed("shop", &sealed[..5]).is_err());
    }

    #[test]
    fn a_damaged_key_file_is_an_error() {
        let env = Env::in_memory(1);
        env.files.replace(Path::new("/data/key.json"), b"{}").unwrap();
        assert!(Seal::open(&env, Path::new("/data")).is_err());
    }
}
