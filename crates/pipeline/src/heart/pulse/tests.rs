use super::*;

const SECOND: Duration = Duration::from_secs(1);
const BEAT: Duration = Duration::from_secs(5);

fn id(number: u8) -> WorkerId {
    format!("{number:032x}").parse().expect("32 digits")
}

/// A worker and a server that answers at once.
struct World {
    pulse: Pulse,
    now: Moment,
    others: Vec<WatchedWorker>,
    /// When beats were sent.
    beats: Vec<Moment>,
    /// When beats that arrived were sent, as sessions are told.
    arrived: Vec<Moment>,
    given: Vec<(Moment, Order)>,
    dead: Vec<WatchedWorker>,
}

impl World {
    fn new() -> Self {
        let now = 1_000 * SECOND;
        let others = vec![WatchedWorker { id: id(1), number: 7 }];
        let pulse = Pulse::new(BEAT, now);
        Self { pulse, now, others, beats: vec![], arrived: vec![], given: vec![], dead: vec![] }
    }

    /// Advances, and returns whether a beat is to be sent.
    fn step(&mut self, happened: Happened) -> bool {
        let mut is_sent = false;
        for step in self.pulse.advance(happened, self.now) {
            match step {
                PulseStep::Beat => {
                    self.beats.push(self.now);
                    is_sent = true;
                }
                PulseStep::DeclareDead(worker) => self.dead.push(worker),
                PulseStep::Give(order) => self.given.push((self.now, order)),
                PulseStep::Arrived(sent) => self.arrived.push(sent),
                PulseStep::Lose(_)
                | PulseStep::Die
                | PulseStep::Look
                | PulseStep::Wake
                | PulseStep::Stop(_) => {}
            }
        }
        is_sent
    }

    fn answered(&mut self, sent: Moment) -> bool {
        let watched = self.others.clone();
        let reply = BeatReply { is_living: true, watched, ..BeatReply::default() };
        self.step(Happened::Answered { sent, reply })
    }

    /// The next beat is sent when it is due, and answered at once.
    fn beat(&mut self) {
        self.sent();
        self.answered(self.now);
    }

    /// Waits until the next beat is sent.
    fn sent(&mut self) {
        while !self.step(Happened::Nothing) {
            let pause = self.pulse.pause(self.now);
            assert!(pause > Duration::ZERO, "it would not sleep");
            self.now += pause;
        }
    }

    /// Time passes, in seconds.
    fn pass(&mut self, time: Duration) {
        let end = self.now + time;
        while self.now < end {
            self.now = end.min(self.now + SECOND);
            self.step(Happened::Nothing);
        }
    }
}

#[test]
fn a_beat_is_sent_an_interval_after_the_last_reply() {
    let mut world = World::new();
    world.sent();
    // The reply takes its time.
    world.pass(3 * SECOND);
    let replied = world.now;
    world.answered(world.beats[0]);
    world.sent();
    assert_eq!(world.beats[1], replied + BEAT);
}

#[test]
fn beats_are_not_sent_in_bursts_after_sleep_or_a_stalled_server() {
    let mut world = World::new();
    world.beat();
    // The machine sleeps when a beat is due.
    world.now += 20 * BEAT;
    world.beat();
    let woken = world.now;
    world.sent();
    assert_eq!(world.beats[2], woken + BEAT);
    // The server does not answer for a while.
    world.pass(5 * BEAT);
    assert_eq!(world.beats.len(), 3, "one is under way");
    let replied = world.now;
    world.answered(world.beats[2]);
    world.sent();
    assert_eq!(world.beats[3], replied + BEAT);
    // It cannot be reached at all.
    let failed = world.now;
    world.step(Happened::Failed);
    world.sent();
    assert_eq!(world.beats[4], failed + BEAT);
}

#[test]
fn a_worker_is_dead_after_36_of_our_beats_without_one_of_its_own() {
    let mut world = World::new();
    let began = world.now;
    for _ in 0..36 {
        world.beat();
        assert_eq!(world.dead, []);
    }
    world.beat();
    assert_eq!(world.dead, [WatchedWorker { id: id(1), number: 7 }]);
    assert!(world.now - began >= 36 * BEAT);
    // The declaration did not arrive, or was too late: it is made again with the next beat.
    world.beat();
    assert_eq!(world.dead.len(), 2);
    world.others[0].number = 8;
    world.beat();
    assert_eq!(world.dead.len(), 2);
}

#[test]
fn only_beats_that_arrived_are_counted() {
    let mut world = World::new();
    world.beat();
    for _ in 0..100 {
        world.sent();
        world.now += SECOND;
        world.step(Happened::Failed);
    }
    for _ in 0..35 {
        world.beat();
        assert_eq!(world.dead, []);
    }
    world.beat();
    assert_eq!(world.dead.len(), 1);
}

#[test]
fn a_change_of_the_number_starts_the_count_again() {
    let mut world = World::new();
    for _ in 0..30 {
        world.beat();
    }
    // Also to a lower one: a server that crashed may have forgotten a beat.
    world.others[0].number = 6;
    for _ in 0..36 {
        world.beat();
        assert_eq!(world.dead, []);
    }
    world.beat();
    assert_eq!(world.dead.len(), 1);
}

#[test]
fn a_worker_that_was_not_seen_for_a_while_is_counted_from_anew() {
    let mut world = World::new();
    for _ in 0..30 {
        world.beat();
    }
    // Others have joined between us and it.
    let others = std::mem::take(&mut world.others);
    world.beat();
    world.others = others;
    for _ in 0..36 {
        world.beat();
        assert_eq!(world.dead, []);
    }
    world.beat();
    assert_eq!(world.dead.len(), 1);
}

#[test]
fn a_watcher_that_sleeps_counts_one_beat() {
    let mut world = World::new();
    for _ in 0..20 {
        world.beat();
    }
    world.now += 1_000 * BEAT;
    world.beat();
    assert_eq!(world.dead, []);
}

#[test]
fn orders_follow_the_time_since_the_sending_of_the_last_beat_that_arrived() {
    let mut world = World::new();
    world.beat();
    world.sent();
    let sent = world.now;
    world.now += 3 * SECOND;
    world.answered(sent);
    world.sent();
    world.step(Happened::Failed);
    world.pass(40 * BEAT);
    let expected = [
        (sent + 12 * BEAT, Order::StartNoTurn),
        (sent + 28 * BEAT, Order::End),
        (sent + 32 * BEAT, Order::Kill),
    ];
    assert_eq!(world.given, expected);
}

#[test]
fn a_machine_that_slept_too_long_kills_before_it_beats() {
    let mut world = World::new();
    world.beat();
    world.now += 40 * BEAT;
    let steps = world.pulse.advance(Happened::Nothing, world.now);
    assert_eq!(steps, [PulseStep::Give(Order::Kill), PulseStep::Beat]);
}

#[test]
fn a_beat_that_arrives_lets_turns_start_again_also_after_an_end() {
    let mut world = World::new();
    world.beat();
    world.sent();
    world.pass(15 * BEAT);
    world.answered(world.now - SECOND);
    world.pass(SECOND);
    let orders = |world: &World| world.given.iter().map(|(_, order)| *order).collect::<Vec<_>>();
    assert_eq!(orders(&world), [Order::StartNoTurn, Order::Continue]);
    world.sent();
    world.pass(29 * BEAT);
    world.answered(world.now);
    for _ in 0..10 {
        world.beat();
    }
    // Sessions that were told to end do not listen any more. Those that begin now do.
    assert_eq!(orders(&world)[2..], [Order::StartNoTurn, Order::End, Order::Continue]);
}

#[test]
fn every_outage_gives_all_orders() {
    let mut world = World::new();
    for outages in 1..=3 {
        world.beat();
        world.sent();
        world.step(Happened::Failed);
        world.pass(40 * BEAT);
        let orders: Vec<_> = world.given.drain(..).map(|(_, order)| order).collect();
        let expected = [Order::StartNoTurn, Order::End, Order::Kill];
        assert_eq!(orders, expected, "outage {outages}");
        world.answered(world.now);
        let orders: Vec<_> = world.given.drain(..).map(|(_, order)| order).collect();
        assert_eq!(orders, [Order::Continue], "outage {outages}");
    }
}

#[test]
fn sessions_are_told_when_the_beats_that_arrived_were_sent() {
    let mut world = World::new();
    world.sent();
    let sent = world.now + BEAT;
    world.pass(BEAT);
    world.answered(sent);
    // An answer that is late, of an earlier beat.
    world.answered(sent - SECOND);
    world.sent();
    world.step(Happened::Failed);
    world.sent();
    world.answered(world.now);
    assert_eq!(world.arrived, [sent, world.now]);
}

/// Whatever both clocks show: the agents of a worker that is cut off have ended before another
/// worker declares it dead.
#[test]
fn no_agent_is_left_when_a_worker_is_declared_dead() {
    // The last beat that arrives is seen at once by a watcher whose beats are answered at once.
    let mut watcher = World::new();
    let mut cut_off = World::new();
    cut_off.beat();
    let (mut at, sent) = (watcher.now, cut_off.now);
    while watcher.dead.is_empty() {
        watcher.beat();
        at = watcher.now;
    }
    cut_off.sent();
    cut_off.pass(40 * BEAT);
    let killed = cut_off.given.iter().find(|(_, order)| *order == Order::Kill).expect("given").0;
    assert!(at - Duration::from_secs(1_000) > killed - sent, "{at:?} {killed:?}");
    assert!(at - sent >= 36 * BEAT && killed - sent == 32 * BEAT);
}

#[test]
fn lost_leases_are_told_and_a_dead_worker_does_nothing_more() {
    let mut world = World::new();
    world.sent();
    let lost = vec![Fence { lease: "run".into(), token: 1 }];
    let reply = BeatReply { is_living: true, lost: lost.clone(), ..BeatReply::default() };
    let answered = Happened::Answered { sent: world.now, reply: reply.clone() };
    assert_eq!(world.pulse.advance(answered, world.now), [PulseStep::Lose(lost)]);
    world.sent();
    let reply = BeatReply { is_living: false, ..reply };
    let answered = Happened::Answered { sent: world.now, reply };
    assert_eq!(world.pulse.advance(answered, world.now), [PulseStep::Die]);
    assert!(world.pulse.pause(world.now + 10 * BEAT) > Duration::ZERO, "it waits");
    world.now += 100 * BEAT;
    assert_eq!(world.pulse.advance(Happened::Nothing, world.now), []);
}

fn looked(reply: BeatReply) -> Happened {
    Happened::Looked { reply: Some(BeatReply { is_living: true, ..reply }) }
}

#[test]
fn a_worker_that_is_woken_looks_once_at_a_time() {
    let mut world = World::new();
    world.beat();
    let now = world.now;
    let mut advance = |happened| world.pulse.advance(happened, now);
    assert_eq!(advance(Happened::Woken), [PulseStep::Look]);
    assert_eq!(advance(Happened::Woken), [], "one look is under way");
    let woken = BeatReply { wakes: 1, ..BeatReply::default() };
    assert_eq!(advance(looked(woken.clone())), [PulseStep::Wake, PulseStep::Look]);
    assert_eq!(advance(looked(woken)), [], "it knows that already");
    assert_eq!(advance(Happened::Woken), [PulseStep::Look]);
    assert_eq!(advance(Happened::Looked { reply: None }), [], "the next beat tells");
    assert_eq!(advance(Happened::Woken), [PulseStep::Look]);
}

#[test]
fn a_look_is_no_beat() {
    let mut world = World::new();
    world.beat();
    let (due, beats) = (world.now + BEAT, world.beats.len());
    for second in 1..5 {
        world.now += SECOND;
        world.step(Happened::Woken);
        world.step(looked(BeatReply { wakes: second, ..BeatReply::default() }));
    }
    assert_eq!(world.beats.len(), beats, "looks send no beat");
    world.sent();
    assert_eq!(world.beats.last(), Some(&due));
    // Others count beats only, so looks keep no agents running.
    world.pass(40 * BEAT);
    assert_eq!(world.given.last().map(|(_, order)| *order), Some(Order::Kill));
}

#[test]
fn a_session_learns_once_how_often_it_was_asked_to_end() {
    let mut world = World::new();
    world.sent();
    let (one, other) =
        (Fence { lease: "one".into(), token: 1 }, Fence { lease: "other".into(), token: 2 });
    let stops = |stops: &[(&Fence, u64)]| BeatReply {
        is_living: true,
        stops: stops.iter().map(|(fence, times)| ((*fence).clone(), *times)).collect(),
        ..BeatReply::default()
    };
    let answered = Happened::Answered { sent: world.now, reply: stops(&[(&one, 1)]) };
    let asked = world.pulse.advance(answered, world.now);
    assert_eq!(asked, [PulseStep::Stop(vec![(one.clone(), 1)])]);
    let again = world.pulse.advance(looked(stops(&[(&one, 1)])), world.now);
    assert_eq!(again, []);
    let both = world.pulse.advance(looked(stops(&[(&one, 3), (&other, 1)])), world.now);
    assert_eq!(both, [PulseStep::Stop(vec![(one, 2), (other, 1)])]);
}
