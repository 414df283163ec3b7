//! Makes an agent trust our hooks, by its own program, and forget them again.
//!
//! Only entries that are calls of this program, in the file that was connected, are trusted.

use std::path::{Path, PathBuf};

use hookwright_dialects::hosts::{ListedHook, TrustDialogue};

use super::agent_dialogue::AgentDialogue;
use super::plan::{AgentFolders, FilePlan, PlanFailure, restored};
use super::settings_file::SettingsFile;
use super::undo_record::{LockedRecord, UndoRecord};
use crate::error::ConnectFailure;
use crate::host::runtime;
use crate::installed_agent::InstalledAgent;

/// The folder for which user-level hooks are listed: it has no project.
const NO_PROJECT: &str = "/";

/// The trust of one agent in the hooks of one file.
pub(super) struct AgentTrust<'a> {
    pub(super) agent: &'a InstalledAgent,
    pub(super) trust: &'static TrustDialogue,
    /// The file with our hooks.
    pub(super) settings: PathBuf,
    pub(super) folders: &'a AgentFolders,
}

impl AgentTrust<'_> {
    /// The commands of our hooks that the agent does not trust.
    pub(super) fn untrusted(&self) -> Result<Vec<String>, ConnectFailure> {
        let mut hooks = self
            .in_dialogue(async |dialogue: &mut AgentDialogue| self.ask_for_list(dialogue).await)?;
        hooks.retain(|hook| !hook.is_trusted);
        Ok(hooks.into_iter().map(|hook| hook.command).collect())
    }

    /// Makes the agent trust our hooks of the file, and returns how many it has to trust. `expected` is
    /// the number of hooks in the file.
    pub(super) fn give(&self, expected: usize) -> Result<usize, ConnectFailure> {
        let file = SettingsFile::read(&self.file()?).map_err(ConnectFailure::File)?;
        let given = self.in_dialogue(async |dialogue: &mut AgentDialogue| {
            let mut hooks = self.ask_for_list(dialogue).await?;
            if hooks.len() < expected {
                return Err(format!(
                    "it lists {} of {expected} hooks of {}",
                    hooks.len(),
                    self.settings.display()
                ));
            }
            hooks.retain(|hook| !hook.is_trusted);
            if hooks.is_empty() {
                return Ok(Vec::new());
            }
            dialogue.ask(&(self.trust.trust)(&hooks)).await?;
            let now = self.ask_for_list(dialogue).await?;
            match now.iter().all(|hook| hook.is_trusted) {
                true => Ok(hooks.into_iter().map(|hook| hook.name).collect()),
                false => Err("it was asked to trust them and still does not".to_owned()),
            }
        })?;
        if !given.is_empty() {
            self.remember(&file, &given)?;
        }
        Ok(given.len())
    }

    /// What `--undo` changes in the file with the trust.
    pub(super) fn plan_to_forget(&self) -> Result<Option<FilePlan>, PlanFailure> {
        let file = SettingsFile::read(&self.file()?)?;
        let record = LockedRecord::of(&self.folders.state, &file)?.read()?;
        let change = restored(record.as_ref(), file.text());
        Ok(change.map(|change| FilePlan { file, change, is_program: false }))
    }

    /// Makes the agent forget the hooks that it was asked to trust, if its file was edited since.
    pub(super) fn forget(&self) -> Result<usize, ConnectFailure> {
        let file = SettingsFile::read(&self.file()?).map_err(ConnectFailure::File)?;
        let locked = LockedRecord::of(&self.folders.state, &file)?;
        let Some(record) = locked.read()? else { return Ok(0) };
        if !record.trusted.is_empty() {
            self.in_dialogue(async |dialogue: &mut AgentDialogue| {
                dialogue.ask(&(self.trust.forget)(&record.trusted)).await.map(drop)
            })?;
        }
        locked.remove()?;
        Ok(record.trusted.len())
    }

    /// The agent's file with its trust, which is always the user's.
    fn file(&self) -> Result<PathBuf, ConnectFailure> {
        let of_user = AgentFolders { project: None, ..self.folders.clone() };
        let host = self.agent.host;
        let settings = host.files("hookwright").into_iter().next();
        let settings = settings.map(|file| of_user.path(host, &file)).transpose()?;
        Ok(settings.unwrap_or_default().with_file_name(self.trust.file))
    }

    /// Notes what the file was before the agent wrote it.
    fn remember(&self, before: &SettingsFile, given: &[String]) -> Result<(), ConnectFailure> {
        let now = SettingsFile::read(&before.named).map_err(ConnectFailure::File)?;
        let locked = LockedRecord::of(&self.folders.state, &now)?;
        let mut record = UndoRecord::for_write(locked.read()?, before, now.text());
        let new = given.iter().filter(|name| !record.trusted.contains(*name));
        let new: Vec<String> = new.cloned().collect();
        record.trusted.extend(new);
        locked.write(&record, &now.named)
    }

    async fn ask_for_list(&self, dialogue: &mut AgentDialogue) -> Result<Vec<ListedHook>, String> {
        let folder = self.folders.project.as_deref().unwrap_or(Path::new(NO_PROJECT));
        let answer = dialogue.ask(&(self.trust.list)(folder)).await?;
        let mut hooks = (self.trust.listed)(&answer)?;
        let real = |path: &Path| std::fs::canonicalize(path).unwrap_or(path.to_owned());
        let settings = real(&self.settings);
        hooks.retain(|hook| hook.is_ours && real(&hook.file) == settings);
        Ok(hooks)
    }

    fn in_dialogue<T>(
        &self,
        talk: impl AsyncFnOnce(&mut AgentDialogue) -> Result<T, String>,
    ) -> Result<T, ConnectFailure> {
        let agent = self.agent.host.display_name;
        let failed = |cause| ConnectFailure::NotTrusted { agent, cause };
        let runtime = runtime().map_err(|failure| failed(failure.message().in_one_line()))?;
        let result = runtime.block_on(async {
            let mut dialogue =
                AgentDialogue::start(&self.agent.program, self.trust.arguments).await?;
            let result = self.talk_to(&mut dialogue, talk).await;
            dialogue.end().await;
            result
        });
        result.map_err(failed)
    }

    async fn talk_to<T>(
        &self,
        dialogue: &mut AgentDialogue,
        talk: impl AsyncFnOnce(&mut AgentDialogue) -> Result<T, String>,
    ) -> Result<T, String> {
        dialogue.ask(&(self.trust.hello)()).await?;
        dialogue.tell(&(self.trust.ready)()).await?;
        talk(dialogue).await
    }
}
