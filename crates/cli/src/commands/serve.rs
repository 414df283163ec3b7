//! `hookwright serve`: serves the sessions page until the user stops it.

use std::net::{IpAddr, Ipv4Addr};

use clap::Args;
use hookwright_server::Board;
use hookwright_server::board::serving::{PORT, serve as show};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::error::Failure;
use crate::interrupts::{Interrupts, check_descriptors};
use crate::known_session::{ProjectOption, Sessions};
use crate::screen::Screen;
use crate::text::visible;
use crate::{approvals, exit_code, state};

/// Show sessions in the browser, as they happen
///
/// Prints the address that opens the page. Everyone who has the address can see the sessions and
/// answer their questions. The page shows running sessions, each session's stages, iterations and
/// hooks with how long they took, what hooks reported, and open questions. It updates itself, also
/// for sessions of other processes. Only this machine can reach it unless `--bind` says otherwise.
/// Ctrl-C stops the server; sessions are not affected.
#[derive(Debug, Args)]
pub(crate) struct ServeArguments {
    /// Port to listen on; default: 8766, or a free one if that is taken. 0 means any free port
    #[arg(long, value_name = "PORT")]
    port: Option<u16>,

    /// Address to listen on: others can then reach the page, unencrypted
    #[arg(long, value_name = "ADDRESS", default_value_t = IpAddr::V4(Ipv4Addr::LOCALHOST))]
    bind: IpAddr,

    /// Include the sessions of every project
    #[arg(long, visible_alias = "all")]
    all_projects: bool,

    /// Print the address as one JSON value
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    project: ProjectOption,
}

pub(crate) fn serve(arguments: &ServeArguments, screen: &Screen) -> Result<u8, Failure> {
    debug_assert_eq!(PORT, 8766, "the help says so");
    let Sessions { found, project, .. } = Sessions::find(&arguments.project)?;
    let store = state::store()?;
    let approvals = approvals::of_store(store.clone())?;
    let of_project = (!arguments.all_projects).then(|| project.clone());
    let board = Board::new(
        state::with_traces(Some(store), &found.project_root, &project)?,
        approvals,
        of_project,
    );
    check_descriptors().map_err(|cause| Failure::NoRuntime { cause })?;
    let shown = show(board, arguments.bind, arguments.port).map_err(Failure::Serve)?;
    for note in &shown.notes {
        screen.talk(&format!("note: {note}\n"));
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(|cause| Failure::NoRuntime { cause })?.block_on(async {
        // Before the address is printed: a reader of it may already send the signal.
        let mut interrupts = Interrupts::new().map_err(|cause| Failure::NoRuntime { cause })?;
        if arguments.json {
            screen.json(&json!({ "version": 1, "url": shown.url }))?;
        } else {
            screen.result(&format!("{}\n", shown.url))?;
            let which = match arguments.all_projects {
                true => "the sessions of every project".to_owned(),
                false => format!("the sessions of {}", visible(&project)),
            };
            screen.talk(&format!("open it to see {which}; press Ctrl-C to stop\n"));
        }
        let ended = CancellationToken::new();
        interrupts.or_else(&|| ended.cancel(), ended.cancelled()).await;
        Ok(exit_code::GO_ON)
    })
}
