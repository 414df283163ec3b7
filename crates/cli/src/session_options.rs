//! [`SessionOptions`]: options of `run` and `resume` about running and showing a session.

use clap::Args;

use crate::config_files::ConfigOptions;
use crate::hook_switches::HookSwitches;
use crate::view::LiveView;

/// How a session is run and shown. Both commands take these.
#[derive(Debug, Args)]
pub(crate) struct SessionOptions {
    #[command(flatten)]
    pub(crate) shown: OutputOptions,

    /// Pause when the session has cost this many US dollars; overrides `max_cost` in the files
    #[arg(long, value_name = "DOLLARS", value_parser = dollars)]
    pub(crate) max_cost: Option<f64>,

    #[command(flatten)]
    pub(crate) switches: HookSwitches,

    #[command(flatten)]
    pub(crate) options: ConfigOptions,
}

fn dollars(text: &str) -> Result<f64, String> {
    let amount = text.trim_start_matches('$').parse::<f64>().ok();
    amount
        .filter(|amount| amount.is_finite() && *amount > 0.0)
        .ok_or_else(|| "expected an amount of US dollars above 0, like 5 or 0.5".to_owned())
}

/// How the session is shown.
#[derive(Debug, Args)]
pub(crate) struct OutputOptions {
    /// Print every run event as one line of JSON on standard output
    #[arg(long)]
    pub(crate) json: bool,

    /// Show what the agent prints
    #[arg(long)]
    pub(crate) agent_output: bool,

    /// Print plain lines on a terminal too, without the live view
    #[arg(long)]
    pub(crate) plain: bool,
}

impl OutputOptions {
    /// Whether to show the live view.
    pub(crate) fn is_live(&self) -> bool {
        !self.json && !self.plain && LiveView::is_possible()
    }
}
