//! Looks for secrets in the objects that are about to be sent: contents of files, names of files and
//! messages of commits, also of commits that the last tree does not show any more.
//!
//! `git cat-file --batch` prints each object behind a line with its id and size. The objects pass
//! through, and are not kept.

use std::collections::HashMap;
use std::time::Duration;

use hookwright_engine::{SecretSearch, Secrets};
use hookwright_process::{Stream, Watch};

use super::TreeError;
use super::repository::Repositories;

const SEARCHING: &str = "search the work tree for secrets";

/// Fails if an object that this commit has, and those do not, contains a secret.
pub(super) async fn check(
    at: &Repositories,
    secrets: &Secrets,
    commit: &str,
    known: &[&str],
) -> Result<(), TreeError> {
    let Some(search) = secrets.search() else { return Ok(()) };
    let arguments = ["rev-list", "--objects", "--ignore-missing", commit, "--not"];
    let arguments: Vec<&str> = arguments.into_iter().chain(known.iter().copied()).collect();
    let listed = at.store(SEARCHING, &arguments).done().await?;
    check_listed(listed, search, |ids| {
        at.store(SEARCHING, &["cat-file", "--batch", "--buffer"]).stdin(ids)
    })
    .await
}

/// The same for objects that `git rev-list --objects` printed.
pub(super) async fn check_listed<'a>(
    listed: Vec<u8>,
    search: SecretSearch,
    cat: impl FnOnce(Vec<u8>) -> super::git_program::GitCall<'a>,
) -> Result<(), TreeError> {
    let (mut ids, mut names) = (Vec::new(), HashMap::new());
    for line in listed.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        let end = line.iter().position(|byte| *byte == b' ').unwrap_or(line.len());
        ids.extend_from_slice(&line[..end]);
        ids.push(b'\n');
        if let Some(name) = line.get(end + 1..).filter(|name| !name.is_empty()) {
            names.insert(line[..end].to_vec(), String::from_utf8_lossy(name).into_owned());
        }
    }
    if ids.is_empty() {
        return Ok(());
    }
    let mut watch =
        ObjectWatch { search, header: Vec::new(), left: 0, id: Vec::new(), found: None };
    cat(ids).streamed(&mut watch).await?;
    match watch.found {
        None => Ok(()),
        Some((id, secret)) => {
            let object = match names.get(&id) {
                Some(name) => format!("`{name}`"),
                None => format!("the commit {}", String::from_utf8_lossy(&id)),
            };
            Err(TreeError::HoldsSecret { object, secret })
        }
    }
}

/// Reads the output of `git cat-file --batch`.
struct ObjectWatch {
    search: SecretSearch,
    /// The current object's first line, as far as it was read.
    header: Vec<u8>,
    /// Bytes of the object that are left, with the line's end behind it.
    left: u64,
    id: Vec<u8>,
    /// An object with a secret, and the secret.
    found: Option<(Vec<u8>, String)>,
}

impl Watch for ObjectWatch {
    fn output(&mut self, stream: Stream, bytes: &[u8]) -> Option<Duration> {
        if stream == Stream::Stdout {
            self.read(bytes);
        }
        None
    }
}

impl ObjectWatch {
    fn read(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() && self.found.is_none() {
            if self.left > 0 {
                let now = usize::try_from(self.left).unwrap_or(usize::MAX).min(bytes.len());
                if let Some(secret) = self.search.push(&bytes[..now]) {
                    self.found = Some((self.id.clone(), secret.to_owned()));
                }
                self.left -= now as u64;
                bytes = &bytes[now..];
                continue;
            }
            let Some(end) = bytes.iter().position(|byte| *byte == b'\n') else {
                self.header.extend_from_slice(bytes);
                return;
            };
            self.header.extend_from_slice(&bytes[..end]);
            bytes = &bytes[end + 1..];
            self.begin_object();
        }
    }

    /// Reads `ID TYPE SIZE`. A missing object has no size.
    fn begin_object(&mut self) {
        let header = std::mem::take(&mut self.header);
        let mut words = header.split(|byte| *byte == b' ');
        self.id = words.next().unwrap_or_default().to_vec();
        let size = words.nth(1).and_then(|size| std::str::from_utf8(size).ok()?.parse().ok());
        self.left = size.map_or(0, |size: u64| size + 1);
        self.search.restart();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_are_told_apart_however_the_output_is_split() {
        let secrets = Secrets::new(vec![("KEY".into(), "hunter22".into())]);
        let printed = b"aa blob 6\nhunter\nbb blob 2\n22\ncc missing\ndd blob 10\n\nhunter22\n\n";
        for size in 1..=printed.len() {
            let search = secrets.search().expect("there are secrets");
            let mut watch =
                ObjectWatch { search, header: Vec::new(), left: 0, id: Vec::new(), found: None };
            printed.chunks(size).for_each(|chunk| watch.read(chunk));
            assert_eq!(watch.found, Some((b"dd".to_vec(), "[secret KEY]".to_owned())), "{size}");
        }
    }
}
