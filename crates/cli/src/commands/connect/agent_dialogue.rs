//! [`AgentDialogue`]: requests to an agent's own program, and its answers: one JSON value a line.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use hookwright_dialects::hosts::HostRequest;
use hookwright_process::{ChildStreams, InteractiveChild, InteractiveLaunch};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::unix::pipe;
use tokio::time::timeout;

use super::limits::{ANSWER_BYTES_MAX, ANSWER_WAIT_MAX, KILL_GRACE, STDERR_BYTES_MAX};

/// A running program that answers requests.
pub(super) struct AgentDialogue {
    child: InteractiveChild,
    stdin: pipe::Sender,
    stdout: BufReader<pipe::Receiver>,
}

impl AgentDialogue {
    /// Starts the program, in the root folder, so that it finds no project of its own accord.
    pub(super) async fn start(program: &Path, arguments: &[&str]) -> Result<Self, String> {
        let launch = InteractiveLaunch {
            program: program.to_owned(),
            args: arguments.iter().map(OsString::from).collect(),
            shared_env: std::env::vars_os().collect(),
            env: Vec::new(),
            working_dir: PathBuf::from("/"),
            kill_grace: KILL_GRACE,
            stderr_bytes_max: STDERR_BYTES_MAX,
            run_id: format!("connect-{}", std::process::id()),
        };
        let started = InteractiveChild::start(launch).await;
        let (child, ChildStreams { stdin, stdout }) = started.map_err(|error| error.to_string())?;
        Ok(Self { child, stdin, stdout: BufReader::new(stdout) })
    }

    /// Sends a message that has no answer.
    pub(super) async fn tell(&mut self, message: &Value) -> Result<(), String> {
        let line = format!("{message}\n");
        let sent = timeout(ANSWER_WAIT_MAX, self.stdin.write_all(line.as_bytes())).await;
        match sent {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) => Err(self.ended().await),
            Err(_) => Err("it does not read what it is asked".to_owned()),
        }
    }

    /// The result that it answers with. Its own messages in between are skipped.
    pub(super) async fn ask(&mut self, request: &HostRequest) -> Result<Value, String> {
        self.tell(&request.message).await?;
        let answer = timeout(ANSWER_WAIT_MAX, self.answer(request.id)).await;
        let mut answer = answer
            .map_err(|_| format!("it did not answer within {} s", ANSWER_WAIT_MAX.as_secs()))??;
        match answer.get("error") {
            Some(error) => {
                let message = error["message"].as_str().map(str::to_owned);
                Err(message.unwrap_or_else(|| error.to_string()))
            }
            None => Ok(answer["result"].take()),
        }
    }

    /// Ends the program.
    pub(super) async fn end(self) {
        let Self { child, stdin, .. } = self;
        // It ends by itself when its input does.
        drop(stdin);
        child.end().await;
    }

    async fn answer(&mut self, id: u64) -> Result<Value, String> {
        let mut line = Vec::new();
        loop {
            line.clear();
            let mut limited = (&mut self.stdout).take(ANSWER_BYTES_MAX);
            let read = limited.read_until(b'\n', &mut line).await;
            if !matches!(read, Ok(1..)) {
                return Err(self.ended().await);
            }
            if line.last() != Some(&b'\n') {
                return Err(format!("its answer has no end within {ANSWER_BYTES_MAX} bytes"));
            }
            let value: Value = serde_json::from_slice(&line)
                .map_err(|_| "it printed something other than its answer".to_owned())?;
            if value["id"] == id {
                return Ok(value);
            }
        }
    }

    /// Why there is no answer: the last line that it printed as an error.
    async fn ended(&mut self) -> String {
        let _ = timeout(KILL_GRACE, self.child.wait()).await;
        let said = self.child.stderr().text().into_owned();
        match said.lines().rev().find(|line| !line.trim().is_empty()) {
            Some(line) => format!("it ended: {}", line.trim()),
            None => "it ended without an answer".to_owned(),
        }
    }
}
