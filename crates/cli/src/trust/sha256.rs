//! [`Sha256`]: identifies a file's content.

/// Bytes of a digest.
const DIGEST_BYTES: usize = 32;

/// The digest of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Sha256([u8; DIGEST_BYTES]);

impl Sha256 {
    /// Hexadecimal digits of a digest.
    pub(crate) const DIGITS: usize = 2 * DIGEST_BYTES;

    /// The digest of these bytes.
    pub(crate) fn digest(bytes: &[u8]) -> Self {
        Self(hmac_sha256::Hash::hash(bytes))
    }

    /// In 64 hexadecimal digits, as `sha256sum` prints it.
    pub(crate) fn to_hex(self) -> String {
        self.0.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// Whether it has the form of [`Sha256::to_hex`].
    pub(crate) fn is_hex(text: &str) -> bool {
        text.len() == Self::DIGITS && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
    }

    /// Parses the output of [`Sha256::to_hex`].
    pub(crate) fn from_hex(text: &str) -> Option<Self> {
        let digit = |letter: u8| match letter {
            b'0'..=b'9' => Some(letter - b'0'),
            b'a'..=b'f' => Some(letter - b'a' + 10),
            _ => None,
        };
        let mut digest = [0; DIGEST_BYTES];
        let (pairs, rest) = text.as_bytes().as_chunks::<2>();
        if pairs.len() != DIGEST_BYTES || !rest.is_empty() {
            return None;
        }
        for (byte, [high, low]) in digest.iter_mut().zip(pairs) {
            *byte = digit(*high)? << 4 | digit(*low)?;
        }
        Some(Self(digest))
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn the_examples_of_the_standard_have_their_digests() {
        for (text, digest) in [
            ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
            ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
            (
                "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
                "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1",
            ),
        ] {
            assert_eq!(Sha256::digest(text.as_bytes()).to_hex(), digest, "{text}");
            assert_eq!(Sha256::from_hex(digest), Some(Sha256::digest(text.as_bytes())));
        }
        let million = vec![b'a'; 1_000_000];
        assert_eq!(
            Sha256::digest(&million).to_hex(),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"
        );
    }

    #[test]
    fn every_length_around_a_block_has_the_digest_that_sha256sum_gives_it() {
        for length in (0..=130).chain([4095, 4096, 4097]) {
            let bytes: Vec<u8> = (0..length).map(|at| (at * 7 % 256) as u8).collect();
            let mut child = Command::new("sha256sum")
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .spawn()
                .unwrap();
            child.stdin.take().unwrap().write_all(&bytes).unwrap();
            let said = String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap();
            assert_eq!(said, format!("{}  -\n", Sha256::digest(&bytes).to_hex()), "{length} bytes");
        }
    }

    #[test]
    fn only_64_small_hexadecimal_digits_are_a_digest() {
        let digest = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        let longer = format!("{digest}00");
        for text in ["", &digest[1..], &longer, &digest.to_uppercase(), &digest.replace('b', "ä")]
        {
            assert_eq!((Sha256::from_hex(text), Sha256::is_hex(text)), (None, false), "{text}");
        }
    }
}
