//! SHA-256 as FIPS 180-4 describes it: what a file's content is known by.

/// Bytes of a digest.
const DIGEST_BYTES: usize = 32;

/// Bytes that are worked in at a time.
const BLOCK_BYTES: usize = 64;

/// The digest of a text, by which no other text can pass for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Sha256([u8; DIGEST_BYTES]);

impl Sha256 {
    /// Hexadecimal digits of a digest.
    pub(crate) const DIGITS: usize = 2 * DIGEST_BYTES;

    /// The digest of these bytes.
    pub(crate) fn of(bytes: &[u8]) -> Self {
        let mut state = FIRST_STATE;
        let (blocks, rest) = bytes.as_chunks::<BLOCK_BYTES>();
        blocks.iter().for_each(|block| work_in(&mut state, block));

        // The rest is closed by a one bit, zeros, and the length in bits at the end of a block.
        let mut last = [0; 2 * BLOCK_BYTES];
        last[..rest.len()].copy_from_slice(rest);
        last[rest.len()] = 0x80;
        let length = (bytes.len() as u64).wrapping_mul(8).to_be_bytes();
        let end =
            if rest.len() + 1 + length.len() <= BLOCK_BYTES { BLOCK_BYTES } else { last.len() };
        last[end - length.len()..end].copy_from_slice(&length);
        let (blocks, _) = last[..end].as_chunks::<BLOCK_BYTES>();
        blocks.iter().for_each(|block| work_in(&mut state, block));

        let mut digest = [0; DIGEST_BYTES];
        for (bytes, word) in digest.chunks_exact_mut(4).zip(state) {
            bytes.copy_from_slice(&word.to_be_bytes());
        }
        Self(digest)
    }

    /// In 64 hexadecimal digits, as `sha256sum` prints it.
    pub(crate) fn to_hex(self) -> String {
        self.0.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// Whether [`Sha256::to_hex`] could have written it.
    pub(crate) fn is_hex(text: &str) -> bool {
        text.len() == Self::DIGITS && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
    }

    /// The digest that [`Sha256::to_hex`] wrote, if it is one.
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

/// One block more.
fn work_in(state: &mut [u32; 8], block: &[u8; BLOCK_BYTES]) {
    let mut words = [0_u32; 64];
    let (given, _) = block.as_chunks::<4>();
    for (word, bytes) in words.iter_mut().zip(given) {
        *word = u32::from_be_bytes(*bytes);
    }
    for at in 16..64 {
        let (near, far) = (words[at - 2], words[at - 15]);
        let near = near.rotate_right(17) ^ near.rotate_right(19) ^ (near >> 10);
        let far = far.rotate_right(7) ^ far.rotate_right(18) ^ (far >> 3);
        words[at] = words[at - 16].wrapping_add(far).wrapping_add(words[at - 7]).wrapping_add(near);
    }
    let [mut a, mut b, mut c, mut d, mut e, mut f, mut g, mut h] = *state;
    for (word, constant) in words.iter().zip(CONSTANTS) {
        let mixed = e.rotate_right(6) ^ e.rotate_right(11) ^ e.rotate_right(25);
        let chosen = (e & f) ^ (!e & g);
        let one =
            h.wrapping_add(mixed).wrapping_add(chosen).wrapping_add(constant).wrapping_add(*word);
        let mixed = a.rotate_right(2) ^ a.rotate_right(13) ^ a.rotate_right(22);
        let most = (a & b) ^ (a & c) ^ (b & c);
        let two = mixed.wrapping_add(most);
        (h, g, f, e, d, c, b, a) = (g, f, e, d.wrapping_add(one), c, b, a, one.wrapping_add(two));
    }
    for (word, change) in state.iter_mut().zip([a, b, c, d, e, f, g, h]) {
        *word = word.wrapping_add(change);
    }
}

/// The fractions of the square roots of the first eight primes.
const FIRST_STATE: [u32; 8] = [
    0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19,
];

/// The fractions of the cube roots of the first 64 primes.
const CONSTANTS: [u32; 64] = [
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
];

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
            assert_eq!(Sha256::of(text.as_bytes()).to_hex(), digest, "{text}");
            assert_eq!(Sha256::from_hex(digest), Some(Sha256::of(text.as_bytes())));
        }
        let million = vec![b'a'; 1_000_000];
        assert_eq!(
            Sha256::of(&million).to_hex(),
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
            assert_eq!(said, format!("{}  -\n", Sha256::of(&bytes).to_hex()), "{length} bytes");
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
