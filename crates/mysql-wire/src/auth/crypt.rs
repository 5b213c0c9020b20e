//! SHA-256 crypt with the long salt that `caching_sha2_password` gives it.
//!
//! Source: Ulrich Drepper, "Unix crypt using SHA-256 and SHA-512" (version 0.6). MySQL differs in
//! the salt, of which it uses 20 bytes rather than 16.

use ring::digest::{Context, SHA256};

use super::sha256;

/// Bytes of the salt.
pub const CRYPT_SALT: usize = 20;

const ALPHABET: &[u8; 64] = b"./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// The 43 characters of the digest.
pub fn sha256_crypt(password: &[u8], salt: &[u8], rounds: u32) -> [u8; 43] {
    let stretched = |digest: &[u8; 32], length: usize| -> Vec<u8> {
        digest.iter().copied().cycle().take(length).collect()
    };
    let inner = sha256(&[password, salt, password]);
    let mut first = [password, salt, &stretched(&inner, password.len())].concat();
    // The bits of the length choose what follows.
    let mut bits = password.len();
    while bits > 0 {
        first.extend_from_slice(if bits & 1 == 1 { &inner } else { password });
        bits >>= 1;
    }
    let mut digest = sha256(&[&first]);

    let password = stretched(&repeated(password, password.len()), password.len());
    let salt = stretched(&repeated(salt, 16 + usize::from(digest[0])), salt.len());

    for round in 0..rounds {
        let odd = round % 2 == 1;
        let start: &[u8] = if odd { &password } else { &digest };
        let third: &[u8] = if round % 3 == 0 { &[] } else { &salt };
        let seventh: &[u8] = if round % 7 == 0 { &[] } else { &password };
        let end: &[u8] = if odd { &digest } else { &password };
        digest = sha256(&[start, third, seventh, end]);
    }
    encode(&digest)
}

/// The digest of bytes that are written `times` times, which takes no memory for them.
fn repeated(bytes: &[u8], times: usize) -> [u8; 32] {
    let mut context = Context::new(&SHA256);
    for _ in 0..times {
        context.update(bytes);
    }
    let mut out = [0; 32];
    out.copy_from_slice(context.finish().as_ref());
    out
}

/// The scheme's own order of bytes and its own base 64.
fn encode(digest: &[u8; 32]) -> [u8; 43] {
    let mut out = [0; 43];
    let (mut first, mut second, mut third) = (0_usize, 10_usize, 20_usize);
    for group in out[..40].chunks_exact_mut(4) {
        let bits = u32::from_be_bytes([0, digest[first], digest[second], digest[third]]);
        put(group, bits);
        (first, second, third) = (third + 1, first + 1, second + 1);
    }
    put(&mut out[40..], u32::from_be_bytes([0, 0, digest[31], digest[30]]));
    out
}

fn put(group: &mut [u8], mut bits: u32) {
    for character in group {
        *character = ALPHABET[(bits & 63) as usize];
        bits >>= 6;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_repeated_is_hashed_as_if_it_were_written_out() {
        for bytes in [&b"abc"[..], b"", &[7; 300]] {
            assert_eq!(repeated(bytes, 3), sha256(&[&bytes.repeat(3)]));
        }
    }

    /// Made by MySQL 9.7 with `CREATE USER`.
    #[test]
    fn digests_are_mysqls() {
        let salt = b"v\x1f\x16\x14C\x12\x1e!8\x19JK5\x01XBy\x1dPL";
        assert_eq!(
            sha256_crypt("Sesame, öffne dich".as_bytes(), salt, 10_000),
            *b"7irbycsqdrKRPZQwlBpzWBzEKDgVF10DjY4mMwqKLD4"
        );
        let salt = b"@Y%/\x13R\x0f\x1aKt_=\x13S9\\tN\n\x0c";
        assert_eq!(
            sha256_crypt(b"s", salt, 10_000),
            *b"BD7A3FybkDeWXg/mD9TGNgdd/ANGg5z1BWcqB4T8zr4"
        );
    }
}
