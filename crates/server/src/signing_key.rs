//! [`SigningKey`]: makes the address of a wait unguessable.
//!
//! A token is the wait's id with a signature, so it can be made again after a crash and is not
//! stored. The key is a file in the state folder that other users cannot read.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use hmac_sha256::HMAC;
use hookwright_events::wait::WaitKey;

/// The key's file in the state folder.
const FILE: &str = "callback.key";

/// 32 characters that are hard to confuse and need no escaping in a URL.
const LETTERS: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";

/// Characters of an id: 40 bits.
const ID_LETTERS: usize = 8;

/// Signs the addresses of waits.
#[derive(Clone)]
pub struct SigningKey([u8; 32]);

/// Why the key cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    /// Other users can read it, so they could answer in anybody's name.
    #[error("other users can read the key `{}` (mode {mode:o})", path.display())]
    NotPrivate {
        /// The key's file.
        path: PathBuf,
        /// Its mode.
        mode: u32,
    },
    /// It belongs to another user.
    #[error("the key `{}` belongs to another user", path.display())]
    OfOthers {
        /// The key's file.
        path: PathBuf,
    },
    /// The file does not contain a key.
    #[error("the key `{}` does not have 32 bytes", path.display())]
    NoKey {
        /// The key's file.
        path: PathBuf,
    },
    /// It can be neither read nor created.
    #[error("the key `{}` cannot be used: {cause}", path.display())]
    Io {
        /// The key's file.
        path: PathBuf,
        /// The system's error.
        cause: io::Error,
    },
}

impl SigningKey {
    /// The key of a folder, created if there is none.
    pub fn of_folder(folder: &Path) -> Result<Self, KeyError> {
        let path = folder.join(FILE);
        let because = |cause| KeyError::Io { path: path.clone(), cause };
        match read(&path) {
            Err(KeyError::Io { cause, .. }) if cause.kind() == io::ErrorKind::NotFound => {}
            there => return there,
        }
        make(folder, &path).map_err(because)?;
        // Another process may have created the key first; use that one.
        read(&path)
    }

    /// A key that is no secret, for ids that every machine has to find. Ids are no secret either: a
    /// token has a signature besides.
    pub(crate) fn of_all_machines() -> Self {
        Self([0; 32])
    }

    /// The token of a wait.
    pub fn token(&self, id: &str) -> String {
        format!("{id}-{}", letters(&self.sign(&["wait", id])))
    }

    /// The id in a token, if the signature is valid.
    pub fn id_in<'t>(&self, token: &'t str) -> Option<&'t str> {
        let (id, signature) = token.split_once('-')?;
        let is_id = id.len() == ID_LETTERS && id.bytes().all(|letter| LETTERS.contains(&letter));
        (is_id && same(signature, &letters(&self.sign(&["wait", id])))).then_some(id)
    }

    /// The id of a wait that can be found again: always the same for this key and attempt.
    pub fn id_of(&self, project: &str, key: &WaitKey, attempt: u32) -> String {
        let WaitKey { session, firing, hook, digest } = key;
        let attempt = attempt.to_string();
        let id = self.sign(&["id", project, session, firing, hook, digest, &attempt]);
        letters(&id)[..ID_LETTERS].to_owned()
    }

    /// Proof that a listener at this port has the same key, and so the same store. The port is part
    /// of it, so that no program can pass on another listener's proof as its own.
    pub fn proof(&self, port: u16, challenge: &str) -> String {
        letters(&self.sign(&["listener", &port.to_string(), challenge]))
    }

    /// Checks such a proof.
    pub fn is_proof(&self, proof: &str, port: u16, challenge: &str) -> bool {
        same(proof, &self.proof(port, challenge))
    }

    /// The token that signs a visitor in to one process's board, or that marks one of its forms.
    pub(crate) fn board_token(&self, purpose: &str, visit: &str, about: &str) -> String {
        letters(&self.sign(&["board", purpose, visit, about]))
    }

    fn sign(&self, parts: &[&str]) -> [u8; 32] {
        let mut mac = HMAC::new(self.0);
        for part in parts {
            // With lengths, so that different lists of parts never read the same.
            mac.update((part.len() as u64).to_le_bytes());
            mac.update(part);
        }
        mac.finalize()
    }
}

/// An id for a wait that does not have to be found again.
pub(crate) fn random_id() -> io::Result<String> {
    Ok(letters(&random()?)[..ID_LETTERS].to_owned())
}

/// An unpredictable text.
pub(crate) fn random_text() -> io::Result<String> {
    random().map(|bytes| letters(&bytes))
}

fn random() -> io::Result<[u8; 32]> {
    let mut bytes = [0; 32];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes)
}

/// Encodes five bits per character; the last one is filled with zeros.
fn letters(bytes: &[u8]) -> String {
    let bit = |at: usize| bytes.get(at / 8).is_some_and(|byte| byte & (0x80 >> (at % 8)) != 0);
    let letter = |first: usize| {
        let value = (first..first + 5).fold(0, |value, at| value << 1 | usize::from(bit(at)));
        char::from(LETTERS[value])
    };
    (0..bytes.len() * 8).step_by(5).map(letter).collect()
}

/// Compares two texts in constant time.
pub(crate) fn same(given: &str, expected: &str) -> bool {
    let pairs = given.bytes().zip(expected.bytes());
    let difference = pairs.fold(0, |difference, (a, b)| std::hint::black_box(difference | a ^ b));
    given.len() == expected.len() && difference == 0
}

fn read(path: &Path) -> Result<SigningKey, KeyError> {
    let because = |cause| KeyError::Io { path: path.to_owned(), cause };
    let mut file = File::open(path).map_err(because)?;
    // Metadata of the opened file, since its name may lead elsewhere by now.
    let metadata = file.metadata().map_err(because)?;
    if metadata.uid() != rustix::process::geteuid().as_raw() {
        return Err(KeyError::OfOthers { path: path.to_owned() });
    }
    let mode = metadata.mode() & 0o7777;
    if mode & 0o077 != 0 {
        return Err(KeyError::NotPrivate { path: path.to_owned(), mode });
    }
    let mut bytes = [0; 32];
    let whole = metadata.is_file() && metadata.len() == 32 && file.read_exact(&mut bytes).is_ok();
    if whole { Ok(SigningKey(bytes)) } else { Err(KeyError::NoKey { path: path.to_owned() }) }
}

/// Writes the key before it gets its name, so that no process reads half of one.
fn make(folder: &Path, path: &Path) -> io::Result<()> {
    let unfinished = folder.join(format!("{FILE}.{}", random_text()?));
    let made = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&unfinished);
    let linked = made.and_then(|mut file| {
        file.write_all(&random()?)?;
        file.sync_all()?;
        match fs::hard_link(&unfinished, path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            linked => linked,
        }
    });
    let _ = fs::remove_file(&unfinished);
    linked?;
    File::open(folder)?.sync_all()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn key() -> WaitKey {
        let [session, firing, hook, digest] = ["s", "1", "h", "d"].map(str::to_owned);
        WaitKey { session, firing, hook, digest }
    }

    #[test]
    fn a_folder_has_one_key_that_only_its_user_can_read() {
        let folder = tempfile::tempdir().unwrap();
        let made = SigningKey::of_folder(folder.path()).unwrap();
        assert_eq!(SigningKey::of_folder(folder.path()).unwrap().0, made.0);
        let names: Vec<_> =
            fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(names, [FILE]);
        let mode = fs::metadata(folder.path().join(FILE)).unwrap().mode();
        assert_eq!(mode & 0o7777, 0o600);
        let other = tempfile::tempdir().unwrap();
        assert_ne!(SigningKey::of_folder(other.path()).unwrap().0, made.0);
    }

    #[test]
    fn many_at_once_make_one_key() {
        let folder = tempfile::tempdir().unwrap();
        let keys: Vec<[u8; 32]> = std::thread::scope(|scope| {
            let make = |_| scope.spawn(|| SigningKey::of_folder(folder.path()).unwrap().0);
            let all: Vec<_> = (0..8).map(make).collect();
            all.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert_eq!(keys, [keys[0]; 8]);
    }

    #[test]
    fn a_key_that_is_readable_by_others_or_invalid_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        SigningKey::of_folder(folder.path()).unwrap();
        let path = folder.path().join(FILE);
        for mode in [0o640, 0o604, 0o620] {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            let refused = SigningKey::of_folder(folder.path()).err().unwrap().to_string();
            let path = path.display();
            assert_eq!(refused, format!("other users can read the key `{path}` (mode {mode:o})"));
        }
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        fs::write(&path, "short").unwrap();
        let refused = SigningKey::of_folder(folder.path()).err().unwrap().to_string();
        assert_eq!(refused, format!("the key `{}` does not have 32 bytes", path.display()));
    }

    // Conformance: agent-pipelines-086
    #[test]
    fn a_token_leads_to_its_wait_and_any_other_to_none() {
        let folder = tempfile::tempdir().unwrap();
        let signing = SigningKey::of_folder(folder.path()).unwrap();
        let id = signing.id_of("/p", &key(), 0);
        let token = signing.token(&id);
        assert_eq!(token.len(), ID_LETTERS + 1 + 52);
        assert_eq!(signing.id_in(&token), Some(id.as_str()));
        for cut in 0..token.len() {
            assert_eq!(signing.id_in(&token[..cut]), None, "{cut}");
        }
        for at in 0..token.len() {
            let other = if &token[at..=at] == "0" { "1" } else { "0" };
            let changed = format!("{}{other}{}", &token[..at], &token[at + 1..]);
            assert_eq!(signing.id_in(&changed), None, "{at}");
        }
        assert_eq!(signing.id_in(&format!("{token}0")), None);
        assert_eq!(signing.id_in(&token.to_uppercase()), None);
        let elsewhere = tempfile::tempdir().unwrap();
        let stranger = SigningKey::of_folder(elsewhere.path()).unwrap();
        assert_eq!(stranger.id_in(&token), None);
    }

    #[test]
    fn the_id_is_the_same_for_the_same_place_and_another_for_every_other() {
        let signing = SigningKey([7; 32]);
        let id = signing.id_of("/p", &key(), 0);
        assert_eq!(signing.id_of("/p", &key(), 0), id);
        let others = [
            signing.id_of("/q", &key(), 0),
            signing.id_of("/p", &key(), 1),
            signing.id_of("/p", &WaitKey { firing: "2".into(), ..key() }, 0),
            signing.id_of("/p", &WaitKey { digest: "e".into(), ..key() }, 0),
            signing.id_of("/p", &WaitKey { session: "s1".into(), firing: "".into(), ..key() }, 0),
        ];
        assert!(!others.contains(&id), "{others:?}");
    }

    #[test]
    fn a_proof_holds_for_its_port_and_challenge_alone() {
        let signing = SigningKey([7; 32]);
        let proof = signing.proof(8765, "abc");
        assert!(signing.is_proof(&proof, 8765, "abc"));
        assert!(!signing.is_proof(&proof, 8766, "abc"));
        assert!(!signing.is_proof(&proof, 8765, "abd"));
        assert!(!SigningKey([8; 32]).is_proof(&proof, 8765, "abc"));
        assert_ne!(proof, signing.token("8765")[5..]);
    }

    #[test]
    fn bytes_become_letters_five_bits_each() {
        assert_eq!(letters(&[0xff, 0x00]), "zw00");
        assert_eq!(letters(&[0; 32]).len(), 52);
    }
}
