//! [`IssueFolder`]: a folder of files `N-title.md`, one per issue. A plan for issue 3 is a file
//! `3.md` or `3-….md` in the folder `plans` beside it, or within it.
//!
//! The files are read and never changed. The title is the first heading, else the file's name.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read as _};
use std::path::{Component, Path, PathBuf};

use hookwright_events::{WorkItem, WorkSource};

use super::folder_listing::{FolderListing, IssueFiles};
use super::without_nul;
use crate::limits::{ISSUE_HEAD_BYTES_MAX, ISSUES_MAX, MISNAMED_TOLD_MAX};

/// A folder of issues.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IssueFolder {
    root: PathBuf,
    /// Relative to the root, without a trailing slash.
    shown: String,
}

/// One issue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Issue {
    /// The issue's number.
    pub number: u64,
    /// Its first heading, else its file's name.
    pub title: String,
    /// Its file, relative to the root.
    pub file: String,
    /// Its plan, relative to the root.
    pub plan_file: Option<String>,
}

/// The content of a folder of issues.
#[derive(Debug, Default)]
pub struct FoundIssues {
    /// The valid issues, in the order of their numbers.
    pub issues: Vec<Issue>,
    /// The faults of the others.
    pub faults: Vec<IssueError>,
}

impl FoundIssues {
    /// All issues, if none has a fault.
    pub fn whole(self) -> Result<Vec<Issue>, IssueError> {
        match self.faults.into_iter().next() {
            Some(fault) => Err(fault),
            None => Ok(self.issues),
        }
    }
}

/// Why issues cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum IssueError {
    /// The folder or a file of it cannot be read.
    #[error("{path} cannot be read: {cause}")]
    NotRead {
        /// The path, relative to the root.
        path: String,
        /// The system's error.
        cause: io::Error,
    },
    /// A file that is not text.
    #[error("{path} is not text: an issue is Markdown in UTF-8")]
    NotText {
        /// The path, relative to the root.
        path: String,
    },
    /// A title too long to read.
    #[error(
        "{path} has a title of more than {ISSUE_HEAD_BYTES_MAX} bytes; shorten its first heading"
    )]
    LongTitle {
        /// The path, relative to the root.
        path: String,
    },
    /// Two files with one number.
    #[error("two issues have the number {number}: {first} and {second}; rename one of them")]
    SameNumber {
        /// The shared number.
        number: u64,
        /// One file.
        first: String,
        /// The other.
        second: String,
    },
    /// More issues than the limit.
    #[error("{folder} has more than {ISSUES_MAX} issues")]
    TooMany {
        /// The folder, relative to the root.
        folder: String,
    },
}

impl IssueFolder {
    /// The folder of this name in a project.
    pub fn new(root: &Path, folder: &Path) -> Self {
        let folder = folder.strip_prefix(root).unwrap_or(folder);
        let shown: PathBuf =
            folder.components().filter(|part| *part != Component::CurDir).collect();
        Self { root: root.to_owned(), shown: shown.to_string_lossy().into_owned() }
    }

    /// Relative to the project root, for people.
    pub fn shown(&self) -> &str {
        &self.shown
    }

    /// The folder's path.
    pub fn path(&self) -> PathBuf {
        self.root.join(&self.shown)
    }

    /// Its files, without opening any.
    pub(crate) fn list(&self) -> Result<FolderListing, IssueError> {
        FolderListing::read(self)
    }

    /// The first fault that can be found without opening a file: two issues or plans with one
    /// number, a name that is not a file, a file that may not be read.
    pub fn check(&self) -> Result<(), IssueError> {
        for files in self.list()?.into_files() {
            let file = below(&self.shown, &files?.1.name);
            let path = self.root.join(&file);
            rustix::fs::access(path, rustix::fs::Access::READ_OK)
                .map_err(|cause| IssueError::NotRead { path: file, cause: cause.into() })?;
        }
        Ok(())
    }

    /// Its issues with their titles, which are read from the files. Invalid issues do not affect
    /// the others.
    pub fn read(&self) -> Result<FoundIssues, IssueError> {
        let mut found = FoundIssues::default();
        for files in self.list()?.into_files() {
            match files.and_then(|(number, files)| self.issue(number, &files)) {
                Ok(issue) => found.issues.push(issue),
                Err(fault) => found.faults.push(fault),
            }
        }
        Ok(found)
    }

    /// The issue of these files. Its own file is opened for the title.
    pub(crate) fn issue(&self, number: u64, files: &IssueFiles) -> Result<Issue, IssueError> {
        let file = below(&self.shown, &files.name);
        let title = title_of(&self.root.join(&file), &file, &files.name)?;
        Ok(Issue { number, title, file, plan_file: files.plan_file.clone() })
    }

    /// The folders of plans, relative to the root: the second one has precedence.
    pub(super) fn plan_folders(&self) -> [String; 2] {
        let beside = match self.shown.rsplit_once('/') {
            Some((above, _)) => format!("{above}/plans"),
            None => "plans".to_owned(),
        };
        [below(&self.shown, "plans"), beside]
    }

    /// The path of a folder or file of the project.
    pub(super) fn at(&self, from_root: &str) -> PathBuf {
        self.root.join(from_root)
    }

    /// Describes files that are probably meant as issues but misnamed. Files without a number
    /// (`README.md`) are not.
    pub fn misnamed(&self) -> Option<String> {
        let files = self.misnamed_files();
        let first = files[..files.len().min(MISNAMED_TOLD_MAX)].join(", ");
        let more = files.len().saturating_sub(MISNAMED_TOLD_MAX);
        let more = if more == 0 { String::new() } else { format!(" and {more} more") };
        let are = if files.len() == 1 { "is not an issue" } else { "are not issues" };
        let expected = "expected a name like `6-title.md`";
        (!files.is_empty()).then(|| format!("{first}{more} {are}: {expected}"))
    }

    /// Relative to the root, sorted by name.
    fn misnamed_files(&self) -> Vec<String> {
        let Ok(entries) = self.path().read_dir() else { return Vec::new() };
        let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        let misnamed = names.filter(|name| number_of(name).is_none() && looks_like_an_issue(name));
        let mut misnamed: Vec<String> = misnamed.map(|name| below(&self.shown, &name)).collect();
        misnamed.sort();
        misnamed
    }
}

impl Issue {
    /// The issue as a work item.
    pub fn item(&self) -> WorkItem {
        WorkItem {
            source: WorkSource::Issues,
            key: self.number.to_string(),
            title: self.title.clone(),
            content: None,
            file: Some(self.file.clone()),
            plan_file: self.plan_file.clone(),
        }
    }
}

/// A file of a folder, relative to the root, which itself has no name.
pub(super) fn below(folder: &str, name: &str) -> String {
    if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") }
}

/// The number of `7-title.md` or `7.md`; `None` for other files.
pub(super) fn number_of(name: &str) -> Option<u64> {
    let stem = name.strip_suffix(".md")?;
    let (number, title) = stem.split_once('-').unwrap_or((stem, "-"));
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    if !is_number || title.is_empty() {
        return None;
    }
    number.parse().ok()
}

/// `6_title.md`, `6-.md`, `6-title.MD`, `issue-6.md`.
fn looks_like_an_issue(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let Some(stem) = name.strip_suffix(".md") else { return false };
    let number =
        stem.strip_prefix("issue").map_or(stem, |rest| rest.trim_start_matches(['-', '_', ' ']));
    number.starts_with(|first: char| first.is_ascii_digit())
}

/// The first heading of a file, else the part of its name after the number.
fn title_of(path: &Path, shown: &str, name: &str) -> Result<String, IssueError> {
    let failed = |cause: io::Error| IssueError::NotRead { path: shown.to_owned(), cause };
    let mut head = Vec::new();
    // Opening a pipe would wait for a writer.
    let kind = path.metadata().map_err(failed)?.file_type();
    if !kind.is_file() && !kind.is_dir() {
        return Err(failed(io::Error::other("it is not a file")));
    }
    let mut file = BufReader::new(File::open(path).map_err(failed)?);
    (&mut file).take(ISSUE_HEAD_BYTES_MAX).read_to_end(&mut head).map_err(failed)?;
    // The last line is read to its end: a title must be complete.
    let mut more = 0;
    if head.len() as u64 == ISSUE_HEAD_BYTES_MAX && !head.ends_with(b"\n") {
        let rest = (&mut file).take(ISSUE_HEAD_BYTES_MAX).read_until(b'\n', &mut head);
        more = rest.map_err(failed)? as u64;
    }
    let is_cut = more == ISSUE_HEAD_BYTES_MAX && !head.ends_with(b"\n");
    let text = match std::str::from_utf8(&head) {
        Ok(text) => text,
        // Reading may have stopped in the middle of a character.
        Err(error) if is_cut && error.error_len().is_none() => {
            std::str::from_utf8(&head[..error.valid_up_to()]).unwrap_or_default()
        }
        Err(_) => return Err(IssueError::NotText { path: shown.to_owned() }),
    };
    let text = text.trim_start_matches('\u{feff}');
    let heading = heading_of(text);
    let before_cut = &text[..text.rfind('\n').map_or(0, |at| at + 1)];
    if is_cut && heading.is_some() && heading_of(before_cut).is_none() {
        return Err(IssueError::LongTitle { path: shown.to_owned() });
    }
    Ok(heading.as_deref().map(without_nul).unwrap_or_else(|| {
        let stem = name.strip_suffix(".md").unwrap_or(name);
        let title = stem.split_once('-').map_or(stem, |(_, title)| title);
        title.replace(['-', '_'], " ")
    }))
}

/// The first heading outside of code blocks.
fn heading_of(text: &str) -> Option<String> {
    let mut fence: Option<&str> = None;
    for line in text.lines() {
        let trimmed = line.trim();
        let mark = ["```", "~~~"].into_iter().find(|mark| trimmed.starts_with(mark));
        match (fence, mark) {
            (None, Some(mark)) => fence = Some(mark),
            (Some(open), Some(mark)) if open == mark => fence = None,
            (None, None) => {
                let behind = trimmed.trim_start_matches('#');
                let level = trimmed.len() - behind.len();
                let title = behind.trim().trim_end_matches('#').trim_end();
                if (1..=6).contains(&level) && behind.starts_with([' ', '\t']) && !title.is_empty()
                {
                    return Some(title.to_owned());
                }
            }
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn project(files: &[(&str, &str)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().expect("a folder");
        for (path, text) in files {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().expect("a folder above")).expect("made");
            fs::write(path, text).expect("written");
        }
        root
    }

    #[test]
    fn issues_come_in_the_order_of_their_numbers_with_titles_and_plans() {
        let root = project(&[
            ("issues/10-last.md", "no heading\n"),
            ("issues/2-two.md", "\u{feff}text\n```\n# no title\n```\n## The second ##\n# later\n"),
            ("issues/1.md", "#no heading\n"),
            ("issues/03-fix_the-login.md", ""),
            ("issues/README.md", "# Issues\n"),
            ("issues/4-.md", ""),
            ("issues/x-1.md", ""),
            ("issues/plans/3.md", ""),
            ("plans/2-two.md", ""),
        ]);
        let issue = |number, title: &str, file: &str, plan: Option<&str>| Issue {
            number,
            title: title.to_owned(),
            file: file.to_owned(),
            plan_file: plan.map(str::to_owned),
        };
        let found = IssueFolder::new(root.path(), Path::new("./issues/"))
            .read()
            .and_then(FoundIssues::whole)
            .expect("read");
        assert_eq!(
            found,
            [
                issue(1, "1", "issues/1.md", None),
                issue(2, "The second", "issues/2-two.md", Some("plans/2-two.md")),
                issue(3, "fix the login", "issues/03-fix_the-login.md", Some("issues/plans/3.md")),
                issue(10, "last", "issues/10-last.md", None),
            ]
        );
    }

    #[test]
    fn misnamed_issues_are_reported() {
        let root = project(&[
            ("issues/1-a.md", ""),
            ("issues/2.md", ""),
            ("issues/6_a.md", ""),
            ("issues/4-.md", ""),
            ("issues/7-b.MD", ""),
            ("issues/Issue 9.md", ""),
            ("issues/issue-8.md", ""),
            ("issues/99999999999999999999-c.md", ""),
            ("issues/README.md", ""),
            ("issues/issue-template.md", ""),
            ("issues/notes-2.md", ""),
            ("issues/3-data.json", ""),
            ("issues/plans/5_a.md", ""),
        ]);
        let said = |folder: &str| IssueFolder::new(root.path(), Path::new(folder)).misnamed();
        let names = "issues/4-.md, issues/6_a.md, issues/7-b.MD, \
                     issues/99999999999999999999-c.md, issues/Issue 9.md and 1 more";
        let expected = format!("{names} are not issues: expected a name like `6-title.md`");
        assert_eq!(said("issues"), Some(expected));
        let expected = "issues/plans/5_a.md is not an issue: expected a name like `6-title.md`";
        assert_eq!(said("issues/plans").as_deref(), Some(expected));
        assert_eq!(said("nowhere"), None);
    }

    #[test]
    fn the_project_root_may_be_a_folder_of_issues() {
        let root = project(&[("1-a.md", "# A\n"), ("plans/1.md", "")]);
        let found = IssueFolder::new(root.path(), Path::new("."))
            .read()
            .and_then(FoundIssues::whole)
            .expect("read");
        let issue = Issue {
            number: 1,
            title: "A".to_owned(),
            file: "1-a.md".to_owned(),
            plan_file: Some("plans/1.md".to_owned()),
        };
        assert_eq!(found, [issue]);
    }

    #[test]
    fn invalid_issues_are_reported_with_their_names() {
        let said = |files: &[(&str, &str)]| {
            let root = project(files);
            fs::create_dir_all(root.path().join("issues/9-folder.md")).expect("made");
            IssueFolder::new(root.path(), Path::new("issues"))
                .read()
                .and_then(FoundIssues::whole)
                .expect_err("it cannot be")
                .to_string()
        };
        assert_eq!(
            said(&[("issues/1-a.md", ""), ("issues/01-b.md", "")]),
            "two issues have the number 1: issues/01-b.md and issues/1-a.md; rename one of them"
        );
        assert_eq!(said(&[]), "issues/9-folder.md cannot be read: Is a directory (os error 21)");
        let root = project(&[]);
        fs::create_dir(root.path().join("issues")).expect("made");
        fs::write(root.path().join("issues/1-a.md"), b"# \xff\xfe").expect("written");
        let folder = IssueFolder::new(root.path(), Path::new("issues"));
        let error = folder.read().and_then(FoundIssues::whole).expect_err("no text").to_string();
        assert_eq!(error, "issues/1-a.md is not text: an issue is Markdown in UTF-8");
        let root = project(&[("issues/README.md", "")]);
        let pipe = root.path().join("issues/1-a.md");
        let made = std::process::Command::new("mkfifo").arg(pipe).status().expect("started");
        assert!(made.success());
        let folder = IssueFolder::new(root.path(), Path::new("issues"));
        let error = folder.read().and_then(FoundIssues::whole).expect_err("no file").to_string();
        assert_eq!(error, "issues/1-a.md cannot be read: it is not a file");
    }

    #[test]
    fn invalid_issues_do_not_affect_the_others() {
        let root = project(&[
            ("issues/1-a.md", ""),
            ("issues/2-b.md", ""),
            ("issues/02-c.md", ""),
            ("issues/002-d.md", ""),
            ("issues/3-e.md", ""),
            ("issues/4-f.md/x", ""),
            ("plans/3-one.md", ""),
            ("plans/3-two.md", ""),
        ]);
        let found = IssueFolder::new(root.path(), Path::new("issues")).read().expect("read");
        let numbers: Vec<u64> = found.issues.iter().map(|issue| issue.number).collect();
        let faults: Vec<String> = found.faults.iter().map(ToString::to_string).collect();
        let same = |number: u64, first: &str, second: &str| {
            format!("two issues have the number {number}: {first} and {second}; rename one of them")
        };
        let expected = [
            same(2, "issues/002-d.md", "issues/02-c.md"),
            same(3, "plans/3-one.md", "plans/3-two.md"),
            "issues/4-f.md cannot be read: Is a directory (os error 21)".to_owned(),
        ];
        assert_eq!((numbers.as_slice(), faults.as_slice()), (&[1][..], &expected[..]));
    }

    #[test]
    fn a_long_issue_is_read_as_far_as_its_title_may_be() {
        let text = format!("# Title\n{}", "é".repeat(ISSUE_HEAD_BYTES_MAX as usize));
        let root = project(&[("issues/1-a.md", &text)]);
        let found = IssueFolder::new(root.path(), Path::new("issues"))
            .read()
            .and_then(FoundIssues::whole)
            .expect("read");
        assert_eq!(found[0].title, "Title");
    }

    #[test]
    fn a_title_is_whole_or_a_fault_and_never_cut() {
        let most = usize::try_from(ISSUE_HEAD_BYTES_MAX).expect("it is small");
        let text_before = |bytes: usize| format!("{}\n", "x".repeat(bytes - 1));
        let long = "é".repeat(most / 2 + 5);
        let root = project(&[
            ("issues/1-a.md", &*format!("# {long}\nmore\n")),
            ("issues/2-b.md", &*format!("{}# Over the edge\nmore\n", text_before(most - 5))),
            ("issues/3-c.md", &*format!("# {long}")),
            ("issues/4-d.md", &*format!("# {}\n", long.repeat(2))),
            ("issues/5-e.md", &*format!("{}{}\n", text_before(most - 5), "x".repeat(most * 3))),
        ]);
        let found = IssueFolder::new(root.path(), Path::new("issues")).read().expect("read");
        let titles: Vec<&str> = found.issues.iter().map(|issue| issue.title.as_str()).collect();
        assert!(titles == [&*long, "Over the edge", &*long, "e"], "{:?}", found.issues.len());
        let faults: Vec<String> = found.faults.iter().map(ToString::to_string).collect();
        let fault = "issues/4-d.md has a title of more than 65536 bytes; shorten its first heading";
        assert_eq!(faults, [fault]);
    }
}
