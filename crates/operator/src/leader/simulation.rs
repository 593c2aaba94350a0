//! Replicas with clocks of their own, an API server and a network that loses and delays: at no moment do two of them write.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

use fastrand::Rng;
use proptest::prelude::*;

use super::{ElectionStep, Elector, LeaseRecord, LeaseVersion, Timing, WriteFailure};

/// A moment of the simulation's own time, in milliseconds. No replica knows it.
type Tick = u64;

/// How long faults happen, and how long the replicas then have to agree.
const TROUBLE: Tick = 240_000;
const CALM: Tick = 90_000;
/// How often a leader writes.
const EVERY: Tick = 150;

/// What happens at a moment.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// The replica looks what to do.
    Wake(usize),
    /// The replica would like to write.
    Work(usize),
    /// A request reaches the API server.
    Arrives(usize),
    /// An answer reaches the replica.
    Answered(usize),
    /// The replica gives up on a request.
    TimesOut(usize),
    /// The replica stands still for a while, as under a debugger.
    Pauses(usize, Tick),
    /// Somebody deletes the Lease.
    Deleted,
    /// Somebody takes the holder out of the Lease.
    Emptied,
    /// The API server is away for a while.
    Away(Tick),
}

/// A request on its way.
#[derive(Debug, Clone)]
struct Request {
    replica: usize,
    /// Of which life of the replica: a process that has ended hears nothing.
    life: u32,
    sent: Duration,
    step: ElectionStep,
    answer: Option<Answered>,
}

#[derive(Debug, Clone)]
enum Answered {
    Read(Option<(LeaseRecord, LeaseVersion)>),
    Wrote(Result<LeaseVersion, WriteFailure>),
}

struct Replica {
    elector: Elector,
    life: u32,
    /// Its clock: what it showed at the beginning, and how fast it runs.
    offset: Duration,
    rate: f64,
    pending: Option<usize>,
    paused_until: Tick,
    /// Until when its last write may still be under way.
    writing_until: Tick,
}

impl Replica {
    fn local(&self, tick: Tick) -> Duration {
        self.offset + Duration::from_millis(tick).mul_f64(self.rate)
    }

    /// When its clock will show this.
    fn tick_of(&self, local: Duration) -> Tick {
        let passed = local.saturating_sub(self.offset).div_f64(self.rate);
        Tick::try_from(passed.as_millis()).unwrap() + 1
    }
}

struct World {
    rng: Rng,
    now: Tick,
    queue: BinaryHeap<Reverse<(Tick, u64, Event)>>,
    events: u64,
    replicas: Vec<Replica>,
    requests: Vec<Request>,
    lease: Option<(LeaseRecord, u64)>,
    versions: u64,
    away_until: Tick,
    writes: u64,
    leaders: Vec<(usize, u32)>,
}

impl World {
    fn new(seed: u64) -> Self {
        let mut rng = Rng::with_seed(seed);
        let replicas = (0..rng.usize(2..=4))
            .map(|number| Replica {
                elector: Elector::new(format!("replica-{number}-0"), Timing::DEFAULT),
                life: 0,
                offset: Duration::from_millis(rng.u64(0..10_000_000)),
                // Clocks of real machines differ by less than a thousandth.
                rate: 0.96 + rng.f64() * 0.08,
                pending: None,
                paused_until: 0,
                writing_until: 0,
            })
            .collect();
        let mut world = Self {
            rng,
            now: 0,
            queue: BinaryHeap::new(),
            events: 0,
            replicas,
            requests: Vec::new(),
            lease: None,
            versions: 0,
            away_until: 0,
            writes: 0,
            leaders: Vec::new(),
        };
        for replica in 0..world.replicas.len() {
            let start = world.rng.u64(0..20_000);
            world.at(start, Event::Wake(replica));
            world.at(start, Event::Work(replica));
        }
        for _ in 0..world.rng.usize(0..6) {
            let (at, long) = (world.rng.u64(0..TROUBLE), world.rng.u64(0..40_000));
            let replica = world.rng.usize(0..world.replicas.len());
            let event = match world.rng.u8(0..5) {
                0 => Event::Deleted,
                1 => Event::Away(long),
                2 => Event::Emptied,
                _ => Event::Pauses(replica, long),
            };
            world.at(at, event);
        }
        world
    }

    fn at(&mut self, tick: Tick, event: Event) {
        self.events += 1;
        self.queue.push(Reverse((tick, self.events, event)));
    }

    /// In trouble a message may be lost, or take longer than anybody waits for it.
    fn delay(&mut self) -> Option<Tick> {
        if self.now > TROUBLE {
            return Some(self.rng.u64(1..50));
        }
        match self.rng.u8(0..20) {
            0..=2 => None,
            3..=4 => Some(self.rng.u64(1_000..30_000)),
            _ => Some(self.rng.u64(1..800)),
        }
    }

    fn run(&mut self) {
        while let Some(Reverse((tick, _, event))) = self.queue.pop() {
            if tick > TROUBLE + CALM {
                break;
            }
            self.now = tick;
            match event {
                Event::Wake(replica) => self.wake(replica),
                Event::Work(replica) => self.work(replica),
                Event::Arrives(request) => self.arrives(request),
                Event::Answered(request) | Event::TimesOut(request) => self.settle(request, &event),
                Event::Pauses(replica, long) => self.replicas[replica].paused_until = tick + long,
                Event::Deleted => self.lease = None,
                Event::Emptied => {
                    self.versions += 1;
                    if let Some((record, version)) = &mut self.lease {
                        (record.holder, *version) = (None, self.versions);
                    }
                }
                Event::Away(long) => self.away_until = tick + long,
            }
        }
    }

    /// Puts an event off while its replica stands still.
    fn is_paused(&mut self, replica: usize, event: &Event) -> bool {
        let until = self.replicas[replica].paused_until;
        let paused = self.now < until;
        if paused {
            self.at(until, event.clone());
        }
        paused
    }

    fn wake(&mut self, number: usize) {
        if self.is_paused(number, &Event::Wake(number)) || self.replicas[number].pending.is_some() {
            return;
        }
        let replica = &mut self.replicas[number];
        let now = replica.local(self.now);
        match replica.elector.step(now) {
            ElectionStep::Wait(until) => {
                let until = replica.tick_of(until);
                self.at(until.max(self.now + 1), Event::Wake(number));
            }
            ElectionStep::Leave => {
                replica.life += 1;
                replica.elector = Elector::new(format!("replica-{number}-{}", replica.life), Timing::DEFAULT);
                self.at(self.now + 1_000, Event::Wake(number));
            }
            step => {
                let request = self.requests.len();
                let (life, timeout) = (replica.life, replica.tick_of(now + Timing::DEFAULT.write_timeout()));
                replica.pending = Some(request);
                self.requests.push(Request { replica: number, life, sent: now, step, answer: None });
                self.at(timeout, Event::TimesOut(request));
                if let Some(delay) = self.delay() {
                    self.at(self.now + delay, Event::Arrives(request));
                }
            }
        }
    }

    fn arrives(&mut self, request: usize) {
        if self.now < self.away_until {
            return;
        }
        let found = || self.lease.as_ref().map(|(record, at)| (record.clone(), LeaseVersion(at.to_string())));
        let answer = match self.requests[request].step.clone() {
            ElectionStep::Write { record, over } if over == found().map(|(_, version)| version) => {
                self.versions += 1;
                self.lease = Some((record, self.versions));
                Answered::Wrote(Ok(LeaseVersion(self.versions.to_string())))
            }
            ElectionStep::Write { .. } => Answered::Wrote(Err(WriteFailure::Conflict)),
            _ => Answered::Read(found()),
        };
        self.requests[request].answer = Some(answer);
        if let Some(delay) = self.delay() {
            self.at(self.now + delay, Event::Answered(request));
        }
    }

    fn settle(&mut self, number: usize, event: &Event) {
        let request = self.requests[number].clone();
        let replica = &self.replicas[request.replica];
        if replica.life != request.life || replica.pending != Some(number) {
            return;
        }
        if self.is_paused(request.replica, event) {
            return;
        }
        let replica = &mut self.replicas[request.replica];
        replica.pending = None;
        let now = replica.local(self.now);
        let answer = request.answer.filter(|_| matches!(event, Event::Answered(_)));
        match (request.step, answer) {
            (ElectionStep::Write { record, .. }, Some(Answered::Wrote(result))) => {
                replica.elector.wrote(request.sent, now, record, result);
            }
            (ElectionStep::Write { record, .. }, _) => {
                replica.elector.wrote(request.sent, now, record, Err(WriteFailure::Unknown));
            }
            (_, Some(Answered::Read(found))) => replica.elector.read(now, found),
            _ => replica.elector.could_not_read(now),
        }
        self.at(self.now, Event::Wake(request.replica));
    }

    /// A leader begins a write, which lasts for as long as its client lets it. Nobody else's may be under way.
    fn work(&mut self, number: usize) {
        if self.is_paused(number, &Event::Work(number)) {
            return;
        }
        let replica = &self.replicas[number];
        let now = replica.local(self.now);
        if replica.elector.leads(now) {
            let ends = replica.tick_of(now + Timing::DEFAULT.write_timeout());
            let life = (number, replica.life);
            for (other, replica) in self.replicas.iter().enumerate().filter(|(other, _)| *other != number) {
                assert!(replica.writing_until < self.now, "{number} and {other} write at {}", self.now);
            }
            self.replicas[number].writing_until = ends;
            self.writes += 1;
            if self.leaders.last() != Some(&life) {
                self.leaders.push(life);
            }
        }
        self.at(self.now + EVERY, Event::Work(number));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn never_do_two_replicas_write_and_in_calm_one_does(seed in any::<u64>()) {
        let mut world = World::new(seed);
        world.run();
        let before = world.writes;
        prop_assert!(before > 0);
        let leading = world.replicas.iter().filter(|replica| replica.elector.leads(replica.local(world.now))).count();
        prop_assert_eq!(leading, 1, "after the calm, {:?}", world.leaders);
    }
}

#[test]
fn the_simulation_changes_leaders() {
    let changes: usize = (0..40)
        .map(|seed| {
            let mut world = World::new(seed);
            world.run();
            world.leaders.len()
        })
        .sum();
    assert!(changes > 100, "{changes} leaders in 40 runs: the faults are too mild to show anything");
}
