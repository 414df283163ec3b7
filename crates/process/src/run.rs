//! One run from start to end: every choice about a child is made here.
//!
//! There are two ways out.
//!
//! - The leader ends by itself. Its output is read, with a short wait for the end of output, and
//!   its background children live on: neither the deadline nor a cancel ends a run whose leader has
//!   ended; a cancel only ends the wait.
//! - The deadline, the host or an attempt to use the terminal ends it. Then the whole tree is
//!   ended, and output is read until it is gone.
//!
//! Dropping the future kills the tree at once (`end_of_leader.rs`).

use std::pin::pin;
use std::time::Duration;

use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use crate::clock::far;
use crate::end_of_leader::OwnedLeader;
use crate::pipes::Pipes;
use crate::start::start;
use crate::{Captured, Ended, How, Launch, Leader, StartFailure, Watch, faults, orphans, terminal};

/// The shortest interval between two questions to a watch whether the output is enough.
const ENOUGH_EVERY: Duration = Duration::from_millis(20);

/// Runs a child to its end. Needs a tokio runtime with io and time, of any flavour.
pub async fn run(launch: Launch, watch: &mut dyn Watch, cancel: &CancellationToken) -> Ended {
    let called = Instant::now();
    if cancel.is_cancelled() {
        return Ended::without_child(How::Cancelled, called);
    }
    let limits = Limits::from_launch(&launch);
    faults::point("child starts");
    let (mut leader, mut pipes) = match start(launch).await {
        Ok(started) => started,
        Err(cause) => return Ended::not_started(cause, called),
    };
    faults::point("child runs");
    pipes.set_filters(watch);
    watch.started(&Leader { pid: leader.pid() });

    let how = match attend(&mut leader, &mut pipes, watch, cancel, limits.timeout).await {
        TreeEnd::Alone(how) => {
            linger(&mut pipes, watch, cancel, limits.linger).await;
            how
        }
        TreeEnd::Ended(how) => {
            end(&mut leader, &mut pipes, watch, limits.kill_grace).await;
            how
        }
    };
    faults::point("child ended");
    let output_held = !pipes.output_ended();
    pipes.finish(watch);
    let (stdout, stderr) = pipes.into_captured();
    Ended { how, stdout, stderr, output_held, duration: called.elapsed() }
}

struct Limits {
    timeout: Duration,
    kill_grace: Duration,
    linger: Duration,
}

impl Limits {
    fn from_launch(launch: &Launch) -> Self {
        let Launch { timeout, kill_grace, linger, .. } = *launch;
        Limits { timeout, kill_grace, linger }
    }
}

enum TreeEnd {
    /// The leader has ended; its background children stay.
    Alone(How),
    /// They must be ended.
    Ended(How),
}

/// Feeds and reads the child until its leader ends or something ends it.
async fn attend(
    leader: &mut OwnedLeader,
    pipes: &mut Pipes,
    watch: &mut dyn Watch,
    cancel: &CancellationToken,
    timeout: Duration,
) -> TreeEnd {
    let started = Instant::now();
    let mut deadline = pin!(sleep_until(far(started, timeout)));
    let mut terminal_wanted = pin!(terminal::wanted(leader.pid()));
    let mut cancelled = pin!(cancel.cancelled());
    loop {
        tokio::select! {
            // In this order: a child that prints without end must not outrun its deadline.
            biased;
            () = &mut cancelled => return TreeEnd::Ended(How::Cancelled),
            how = leader.ended() => return TreeEnd::Alone(how),
            () = &mut deadline => {
                let after = deadline.deadline() - started;
                return TreeEnd::Ended(How::TimedOut { after });
            }
            () = &mut terminal_wanted => return TreeEnd::Ended(How::WantedTerminal),
            stream = pipes.next() => {
                if let Some(from_now) = new_output(watch, stream, pipes) {
                    deadline.as_mut().reset(far(Instant::now(), from_now));
                }
            }
        }
    }
}

/// Reads the rest of the output, and waits a little for its end.
async fn linger(
    pipes: &mut Pipes,
    watch: &mut dyn Watch,
    cancel: &CancellationToken,
    linger: Duration,
) {
    pipes.drain(watch);
    if pipes.output_ended() {
        return;
    }
    pipes.watch();
    let until = far(Instant::now(), linger);
    let mut over = pin!(sleep_until(until));
    let mut ask_again = Instant::now();
    while !pipes.output_ended() {
        let now = Instant::now();
        if now >= ask_again {
            if watch.enough(pipes.stdout()) {
                return;
            }
            // Reading a lot of output takes a while; most of the time is left to others.
            ask_again = Instant::now() + ENOUGH_EVERY.max(now.elapsed() * 10);
        }
        // A child that prints without end keeps this task busy, and then no timer ends it.
        if now >= until {
            return;
        }
        tokio::select! {
            biased;
            () = cancel.cancelled() => return,
            () = &mut over => return,
            () = sleep_until(ask_again) => {}
            stream = pipes.next() => {
                new_output(watch, stream, pipes);
                tokio::task::yield_now().await;
            }
        }
    }
}

/// Ends the whole tree and keeps reading: its last output counts too.
async fn end(
    leader: &mut OwnedLeader,
    pipes: &mut Pipes,
    watch: &mut dyn Watch,
    kill_grace: Duration,
) {
    {
        let mut ending = pin!(leader.end_tree(kill_grace));
        loop {
            tokio::select! {
                biased;
                _ = &mut ending => break,
                stream = pipes.next() => { new_output(watch, stream, pipes); }
            }
        }
    }
    pipes.drain(watch);
    // If we are a subreaper, killed orphans are ours to reap.
    orphans::reap_orphans();
}

fn new_output(watch: &mut dyn Watch, stream: crate::Stream, pipes: &Pipes) -> Option<Duration> {
    match pipes.chunk() {
        [] => None,
        bytes => watch.output(stream, bytes),
    }
}

impl Ended {
    fn not_started(cause: StartFailure, called: Instant) -> Self {
        Ended::without_child(How::NotStarted { cause }, called)
    }

    fn without_child(how: How, called: Instant) -> Self {
        let (stdout, stderr) = (Captured::default(), Captured::default());
        Ended { how, stdout, stderr, output_held: false, duration: called.elapsed() }
    }
}
