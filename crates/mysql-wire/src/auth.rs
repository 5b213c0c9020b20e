//! Authentication proofs: `caching_sha2_password`, `mysql_native_password`, and clear text for TLS.
//!
//! Passwords are never sent in clear text over an unencrypted connection, and the stored form never
//! suffices to log in. Comparisons of secrets take constant time.

use pelorus_env::Random;
use pelorus_error::{Code, Error, Result};
use ring::digest;
use rsa::pkcs8::{
    DecodePrivateKey as _, DecodePublicKey as _, EncodePrivateKey as _, EncodePublicKey as _,
    LineEnding,
};
use rsa::{Oaep, RsaPrivateKey, RsaPublicKey};

mod crypt;

pub use crypt::{CRYPT_SALT, sha256_crypt};

/// Bytes of a challenge.
pub const SCRAMBLE: usize = 20;

/// The longest password that MySQL takes for `caching_sha2_password`, in bytes.
pub const MAX_PASSWORD: usize = 256;

/// MySQL's default plugin.
pub const CACHING_SHA2: &str = "caching_sha2_password";
/// The plugin of older servers and of MariaDB.
pub const NATIVE: &str = "mysql_native_password";
/// The password in clear text, for encrypted connections.
pub const CLEAR: &str = "mysql_clear_password";

/// `caching_sha2_password`, server: the client's proof was right.
pub const FAST_OK: u8 = 3;
/// `caching_sha2_password`, server: send the password itself, protected.
pub const FULL_AUTH: u8 = 4;
/// `caching_sha2_password`, client: send the public key.
pub const REQUEST_KEY: u8 = 2;

/// A new challenge: no zero bytes (it is sent as a string) and no `$`, as MySQL does it.
pub fn new_scramble(random: &dyn Random) -> [u8; SCRAMBLE] {
    printable(random)
}

/// Random bytes from 1 to 127 without `$`.
fn printable<const N: usize>(random: &dyn Random) -> [u8; N] {
    let mut bytes = [0; N];
    random.fill(&mut bytes);
    for byte in &mut bytes {
        *byte &= 0x7F;
        if *byte == 0 || *byte == b'$' {
            *byte += 1;
        }
    }
    bytes
}

fn sha1(parts: &[&[u8]]) -> [u8; 20] {
    let mut out = [0; 20];
    hash(&digest::SHA1_FOR_LEGACY_USE_ONLY, parts, &mut out);
    out
}

fn sha256(parts: &[&[u8]]) -> [u8; 32] {
    let mut out = [0; 32];
    hash(&digest::SHA256, parts, &mut out);
    out
}

fn hash(algorithm: &'static digest::Algorithm, parts: &[&[u8]], out: &mut [u8]) {
    let mut context = digest::Context::new(algorithm);
    for part in parts {
        context.update(part);
    }
    out.copy_from_slice(context.finish().as_ref());
}

fn xor<const N: usize>(mut left: [u8; N], right: [u8; N]) -> [u8; N] {
    for (byte, other) in left.iter_mut().zip(right) {
        *byte ^= other;
    }
    left
}

/// Compares without telling by its time where the first difference is.
fn same(left: &[u8], right: &[u8]) -> bool {
    left.len() == right.len()
        && left.iter().zip(right).fold(0, |all, (left, right)| all | (left ^ right)) == 0
}

/// The proof of `mysql_native_password`; nothing for an empty password.
pub fn native_proof(password: &[u8], scramble: &[u8; SCRAMBLE]) -> Vec<u8> {
    if password.is_empty() {
        return Vec::new();
    }
    let once = sha1(&[password]);
    let twice = sha1(&[&once]);
    xor(once, sha1(&[scramble, &twice])).to_vec()
}

/// The stored form of `mysql_native_password`: `*` and 40 hexadecimal digits.
pub fn native_hash(password: &[u8]) -> String {
    let twice = sha1(&[&sha1(&[password])]);
    let digits: String = twice.iter().map(|byte| format!("{byte:02X}")).collect();
    format!("*{digits}")
}

/// Checks a proof of `mysql_native_password` against the stored form.
pub fn native_verify(stored: &[u8], scramble: &[u8; SCRAMBLE], proof: &[u8]) -> bool {
    let (Some(twice), Ok(proof)) = (parse_native(stored), <[u8; 20]>::try_from(proof)) else {
        return false;
    };
    let once = xor(proof, sha1(&[scramble, &twice]));
    same(&sha1(&[&once]), &twice)
}

fn parse_native(stored: &[u8]) -> Option<[u8; 20]> {
    let digits = stored.strip_prefix(b"*")?;
    let mut out = [0; 20];
    if digits.len() != 40 {
        return None;
    }
    for (byte, pair) in out.iter_mut().zip(digits.chunks_exact(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
    }
    Some(out)
}

/// The fast proof of `caching_sha2_password`; nothing for an empty password.
pub fn sha2_proof(password: &[u8], scramble: &[u8; SCRAMBLE]) -> Vec<u8> {
    if password.is_empty() {
        return Vec::new();
    }
    let once = sha256(&[password]);
    let twice = sha256(&[&once]);
    xor(once, sha256(&[&twice, scramble])).to_vec()
}

/// The double SHA-256 of a password that a server has seen, to check fast proofs.
pub type FastKey = [u8; 32];

/// The memory of a password for [`sha2_verify_fast`].
pub fn sha2_fast_key(password: &[u8]) -> FastKey {
    sha256(&[&sha256(&[password])])
}

/// Checks a fast proof of `caching_sha2_password`.
pub fn sha2_verify_fast(key: &FastKey, scramble: &[u8; SCRAMBLE], proof: &[u8]) -> bool {
    let Ok(proof) = <[u8; 32]>::try_from(proof) else { return false };
    let once = xor(proof, sha256(&[key, scramble]));
    same(&sha256(&[&once]), key)
}

/// The stored form of `caching_sha2_password`: `$A$005$`, a salt of 20 bytes and 43 characters.
/// Takes some milliseconds, which is its purpose.
pub fn sha2_hash(password: &[u8], random: &dyn Random) -> Vec<u8> {
    let salt: [u8; CRYPT_SALT] = printable(random);
    let mut stored = b"$A$005$".to_vec();
    stored.extend_from_slice(&salt);
    stored.extend_from_slice(&sha256_crypt(password, &salt, 5000));
    stored
}

/// Checks a password against the stored form of `caching_sha2_password`. Takes some milliseconds,
/// also if the stored form is invalid.
pub fn sha2_verify(stored: &[u8], password: &[u8]) -> bool {
    let (rounds, salt, digest) = parse_sha2(stored).unwrap_or((5000, [b'x'; CRYPT_SALT], b""));
    // The work grows with the square of the length.
    if password.len() > MAX_PASSWORD {
        return false;
    }
    same(&sha256_crypt(password, &salt, rounds), digest)
}

fn parse_sha2(stored: &[u8]) -> Option<(u32, [u8; CRYPT_SALT], &[u8])> {
    let rest = stored.strip_prefix(b"$A$")?;
    let (thousands, rest) = rest.split_first_chunk::<3>()?;
    let (salt, digest) = rest.strip_prefix(b"$")?.split_first_chunk::<CRYPT_SALT>()?;
    let thousands = u32::from_str_radix(std::str::from_utf8(thousands).ok()?, 16).ok()?;
    (thousands > 0 && digest.len() == 43).then_some((thousands * 1000, *salt, digest))
}

/// Whether bytes are something that [`sha2_verify`] can check passwords against.
pub fn is_sha2_hash(stored: &[u8]) -> bool {
    parse_sha2(stored).is_some()
}

/// Whether bytes are something that [`native_verify`] can check proofs against.
pub fn is_native_hash(stored: &[u8]) -> bool {
    parse_native(stored).is_some()
}

/// Takes off the zero byte that ends a password on the wire.
pub fn strip_zero(password: &[u8]) -> &[u8] {
    password.strip_suffix(&[0]).unwrap_or(password)
}

/// The password with its ending zero, mixed with the challenge, as it is encrypted by RSA.
fn mixed(password: &[u8], scramble: &[u8; SCRAMBLE]) -> Vec<u8> {
    password.iter().chain(&[0]).zip(scramble.iter().cycle()).map(|(a, b)| a ^ b).collect()
}

/// Encrypts a password with the server's public key (PEM) for `caching_sha2_password` over an
/// open line.
pub fn rsa_encrypt(
    password: &[u8],
    scramble: &[u8; SCRAMBLE],
    public_key: &[u8],
    random: &dyn Random,
) -> Result<Vec<u8>> {
    let text = std::str::from_utf8(public_key).map_err(bad_key)?;
    let key = RsaPublicKey::from_public_key_pem(text.trim()).map_err(bad_key)?;
    let padding = Oaep::new::<sha1::Sha1>();
    key.encrypt(&mut Dice(random), padding, &mixed(password, scramble)).map_err(bad_key)
}

fn bad_key(error: impl std::error::Error + Send + Sync + 'static) -> Error {
    Error::new(Code::BadHandshake, "the server's public key cannot be used").caused_by(error)
}

/// The key pair with which clients protect passwords on an open line.
#[derive(Debug)]
pub struct RsaKeys {
    private: RsaPrivateKey,
    public_pem: String,
}

impl RsaKeys {
    /// Makes a new pair of 2048 bits, which takes up to some seconds.
    pub fn generate(random: &dyn Random) -> Result<Self> {
        RsaPrivateKey::new(&mut Dice(random), 2048)
            .map_err(|error| Error::internal("cannot make an RSA key").caused_by(error))
            .and_then(Self::of)
    }

    /// Reads the private key from PEM (PKCS #8).
    pub fn from_pem(pem: &str) -> Result<Self> {
        RsaPrivateKey::from_pkcs8_pem(pem)
            .map_err(|error| Error::internal("cannot read the RSA key").caused_by(error))
            .and_then(Self::of)
    }

    fn of(private: RsaPrivateKey) -> Result<Self> {
        let public_pem = private
            .to_public_key()
            .to_public_key_pem(LineEnding::LF)
            .map_err(|error| Error::internal("cannot write the RSA key").caused_by(error))?;
        Ok(Self { private, public_pem })
    }

    /// Writes the private key as PEM (PKCS #8).
    pub fn to_pem(&self) -> Result<String> {
        let pem = self
            .private
            .to_pkcs8_pem(LineEnding::LF)
            .map_err(|error| Error::internal("cannot write the RSA key").caused_by(error))?;
        Ok(pem.to_string())
    }

    /// The public key as PEM, which clients ask for.
    pub fn public_pem(&self) -> &str {
        &self.public_pem
    }

    /// Decrypts a password that a client encrypted; `None` when it is none.
    pub fn decrypt(
        &self,
        encrypted: &[u8],
        scramble: &[u8; SCRAMBLE],
        random: &dyn Random,
    ) -> Option<Vec<u8>> {
        let padding = Oaep::new::<sha1::Sha1>();
        // Blinding keeps the time of the arithmetic from telling about the key.
        let mut plain = self.private.decrypt_blinded(&mut Dice(random), padding, encrypted).ok()?;
        for (byte, mask) in plain.iter_mut().zip(scramble.iter().cycle()) {
            *byte ^= mask;
        }
        plain.pop().filter(|last| *last == 0)?;
        Some(plain)
    }
}

/// Randomness of the environment for the RSA code.
struct Dice<'a>(&'a dyn Random);

impl rsa::rand_core::RngCore for Dice<'_> {
    fn next_u32(&mut self) -> u32 {
        let mut bytes = [0; 4];
        self.0.fill(&mut bytes);
        u32::from_le_bytes(bytes)
    }

    fn next_u64(&mut self) -> u64 {
        let mut bytes = [0; 8];
        self.0.fill(&mut bytes);
        u64::from_le_bytes(bytes)
    }

    fn fill_bytes(&mut self, buffer: &mut [u8]) {
        self.0.fill(buffer);
    }

    fn try_fill_bytes(&mut self, buffer: &mut [u8]) -> Result<(), rsa::rand_core::Error> {
        self.0.fill(buffer);
        Ok(())
    }
}

impl rsa::rand_core::CryptoRng for Dice<'_> {}

#[cfg(test)]
mod tests {
    use pelorus_env::Env;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn proofs_of_the_right_password_hold_and_others_do_not() {
        let env = Env::in_memory(1);
        let scramble = new_scramble(env.random.as_ref());
        let stored = native_hash(b"secret");
        assert!(native_verify(stored.as_bytes(), &scramble, &native_proof(b"secret", &scramble)));
        assert!(!native_verify(stored.as_bytes(), &scramble, &native_proof(b"other", &scramble)));
        assert!(!native_verify(stored.as_bytes(), &scramble, b""));
        let key = sha2_fast_key(b"secret");
        assert!(sha2_verify_fast(&key, &scramble, &sha2_proof(b"secret", &scramble)));
        assert!(!sha2_verify_fast(&key, &scramble, &sha2_proof(b"Secret", &scramble)));
        assert!(!sha2_verify_fast(&key, &scramble, b""));
    }

    #[test]
    fn the_native_hash_is_mysqls() {
        assert_eq!(native_hash(b"password"), "*2470C0C06DEE42FD1618BB99005ADCA2EC9D1E19");
    }

    #[test]
    fn a_hash_made_here_is_verified_here() {
        let stored = sha2_hash(b"secret", Env::in_memory(2).random.as_ref());
        assert_eq!(stored.len(), 70);
        assert!(stored.starts_with(b"$A$005$"));
        assert!(sha2_verify(&stored, b"secret"));
        assert!(!sha2_verify(&stored, b"Secret"));
        assert!(!sha2_verify(&stored, b""));
    }

    #[test]
    fn passwords_travel_through_rsa() {
        let env = Env::in_memory(3);
        let random = env.random.as_ref();
        let keys = RsaKeys::generate(random).unwrap();
        let keys = RsaKeys::from_pem(&keys.to_pem().unwrap()).unwrap();
        let scramble = new_scramble(random);
        for password in [&b"secret"[..], b"", &[b'x'; 100]] {
            let sent =
                rsa_encrypt(password, &scramble, keys.public_pem().as_bytes(), random).unwrap();
            assert_eq!(keys.decrypt(&sent, &scramble, random).as_deref(), Some(password));
        }
        assert_eq!(keys.decrypt(b"rubbish", &scramble, random), None);
    }

    proptest! {
        #[test]
        fn any_stored_bytes_are_refused_or_read(stored: Vec<u8>, proof: Vec<u8>) {
            let scramble = [9; SCRAMBLE];
            prop_assert!(!native_verify(&stored, &scramble, &proof));
            prop_assert!(!is_sha2_hash(&stored));
            let _ = sha2_verify_fast(&[0; 32], &scramble, &proof);
        }
    }
}
