//! `hookwright store`: the database that several machines share. One file for the transfer of
//! sessions, `store/transfer.rs`.

mod transfer;

use std::time::{Duration, Instant};

use clap::{Args, Subcommand};
use hookwright_store::{PostgresAccess, PostgresStore, StoreError, StoreLocation, limits};
use serde_json::json;

use crate::error::Failure;
use crate::exit_code;
use crate::screen::Screen;
use crate::{span, state};

/// Keep sessions in a Postgres database: initialise, upgrade and check it, move sessions there
///
/// Without settings, sessions are in a file on this machine, and nothing has to be done. To use a
/// database, write its address into ~/.config/hookwright/store.yaml:
/// store: postgres://USER@HOST/DATABASE
#[derive(Debug, Args)]
pub(crate) struct StoreArguments {
    #[command(subcommand)]
    command: StoreCommand,
}

#[derive(Debug, Subcommand)]
enum StoreCommand {
    /// Create the tables in an empty database
    ///
    /// They are in a schema of their own, named hookwright. If they are there already, nothing
    /// changes.
    Init(InitOptions),
    /// Change the tables of an older version to those of this one
    ///
    /// Older versions of hookwright cannot use the database afterwards. If the tables are of this
    /// version, nothing changes.
    Upgrade(OutputOption),
    /// Check that the store can be used
    Check(OutputOption),
    /// Copy sessions, tasks and the rest from the file on this machine to the database
    ///
    /// A session that runs is left out. It can be repeated: what is in the database already is not
    /// copied again and never overwritten. The file stays as it is.
    Move(OutputOption),
}

#[derive(Debug, Args)]
struct InitOptions {
    #[command(flatten)]
    output: OutputOption,

    /// The pause between two signs of life of a process that runs sessions; for tests
    #[arg(long, value_name = "DURATION", value_parser = span::parse, hide = true)]
    beat: Option<Duration>,
}

#[derive(Debug, Args)]
struct OutputOption {
    /// Print one JSON value on standard output
    #[arg(long)]
    json: bool,
}

pub(crate) fn store(arguments: &StoreArguments, screen: &Screen) -> Result<u8, Failure> {
    match &arguments.command {
        StoreCommand::Init(options) => init(options, screen),
        StoreCommand::Upgrade(output) => upgrade(output, screen),
        StoreCommand::Check(output) => check(output, screen),
        StoreCommand::Move(output) => transfer::transfer(output.json, screen),
    }
}

/// How to connect to the user's database.
fn access() -> Result<Box<PostgresAccess>, Failure> {
    match state::location()? {
        StoreLocation::Postgres(access) => Ok(access),
        StoreLocation::Folder(_) => Err(Failure::NoDatabase),
    }
}

fn init(options: &InitOptions, screen: &Screen) -> Result<u8, Failure> {
    let access = access()?;
    let before = match PostgresStore::versions(&access) {
        Ok((found, _)) => Some(found),
        Err(StoreError::NoSchema) => None,
        Err(error) => return Err(Failure::Store(error)),
    };
    let (text, version) = match before {
        Some(version) => {
            // Says what else is wrong, such as another version.
            PostgresStore::open(&access).map_err(Failure::Store)?;
            ("the store is initialised already", version)
        }
        None => {
            let beat = options.beat.unwrap_or(limits::BEAT);
            let made = PostgresStore::init_with_beat(&access, beat).map_err(Failure::Store)?;
            ("the store is initialised", made.to)
        }
    };
    tell(&options.output, screen, text, before.unwrap_or_default(), version)
}

fn upgrade(output: &OutputOption, screen: &Screen) -> Result<u8, Failure> {
    let access = access()?;
    PostgresStore::versions(&access).map_err(Failure::Store)?;
    let change = PostgresStore::init(&access).map_err(Failure::Store)?;
    let text = match change.from == change.to {
        true => "the store has this version already",
        false => "the store is upgraded",
    };
    tell(output, screen, text, change.from, change.to)
}

fn tell(
    output: &OutputOption,
    screen: &Screen,
    text: &str,
    before: i64,
    version: i64,
) -> Result<u8, Failure> {
    match output.json {
        true => screen.json(&json!({
            "version": 1, "store_version": version, "store_version_before": before,
            "changed": before != version,
        }))?,
        false => screen.result(&format!("{text} (version {version})\n"))?,
    }
    Ok(exit_code::GO_ON)
}

fn check(output: &OutputOption, screen: &Screen) -> Result<u8, Failure> {
    let location = state::location()?;
    let began = Instant::now();
    let store = location.find().map_err(Failure::Store)?;
    let opened = began.elapsed();
    let began = Instant::now();
    if let Some(store) = &store {
        store.changes().map_err(Failure::Store)?;
    }
    let answered = began.elapsed();
    let kind = match &location {
        StoreLocation::Folder(_) => "file",
        StoreLocation::Postgres(_) => "postgres",
    };
    if output.json {
        screen.json(&json!({
            "version": 1, "kind": kind, "exists": store.is_some(),
            "opened_ms": opened.as_secs_f64() * 1e3, "answered_ms": answered.as_secs_f64() * 1e3,
        }))?;
        return Ok(exit_code::GO_ON);
    }
    let text = match (&location, store) {
        (StoreLocation::Folder(_), None) => {
            format!("the store is the file {location}, which the first session creates\n")
        }
        (StoreLocation::Folder(_), Some(_)) => format!("the store is the file {location}\n"),
        (StoreLocation::Postgres(_), _) => {
            format!(
                "the store is a Postgres database: opened in {opened:.1?}, answers in {answered:.1?}\n"
            )
        }
    };
    screen.result(&crate::text::visible(&text))?;
    Ok(exit_code::GO_ON)
}
