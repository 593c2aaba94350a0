//! Two replicas and everything that can happen to the one that leads: never do both write, and nothing is lost.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use pullwright_testkit::control_plane::AuditEntry;
use pullwright_testkit::process::Signal;

use crate::sets::Sets;
use crate::world::{Flavour, PATIENCE, Replica, World, eventually};
use crate::writers::{assert_one_writer, holders, of_lease, replica, strays};

const LEASE: &str = "--lease=5";
/// How often a leader is killed.
const KILLS: usize = 10;
/// So many mirror sets that a leader is most likely not done with their statuses when the first is written.
const MANY: usize = 100;

/// A cluster with nodes of one runtime.
fn world(test: &str) -> World {
    let world = World::new(test, Flavour::Plain);
    world.nodes(&["a", "b"], "cri-o://1.36.3", "");
    world
}

fn entries(world: &World) -> Vec<AuditEntry> {
    world.plane.audit_log().entries().unwrap()
}

/// Waits until a replica other than `before` holds the Lease and has written something. Returns it with its identity.
fn leader<'a>(world: &World, replicas: &'a [Replica; 2], before: &str) -> (&'a Replica, String) {
    eventually("a leader that writes", || {
        let entries = entries(world);
        let holder = holders(&entries).pop().filter(|holder| !holder.is_empty() && holder != before);
        let holder = holder.ok_or("nobody holds the lease")?;
        let wrote = entries.iter().any(|entry| {
            replica(entry) == Some(&*holder) && entry.is_write() && !of_lease(entry) && entry.succeeded()
        });
        let of = replicas.iter().find(|replica| holder.starts_with(&format!("{}_", replica.name)));
        match of.filter(|_| wrote) {
            Some(replica) => Ok((replica, holder)),
            None => Err(format!("{holder} has not written yet")),
        }
    })
}

/// Changes mirror sets without a pause while `act` runs, and returns those that there are then.
fn amid_changes(world: &World, mut sets: Sets, act: impl FnOnce()) -> Sets {
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let changes = scope.spawn(|| {
            let mut rng = fastrand::Rng::new();
            while !done.load(Ordering::Relaxed) {
                sets.churn(world, &mut rng, "always");
            }
            sets
        });
        // Also if `act` panics, or the scope would wait for ever.
        let ends = Ends(&done);
        act();
        drop(ends);
        changes.join().unwrap()
    })
}

struct Ends<'a>(&'a AtomicBool);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn leaders_killed_in_the_middle_of_a_write_lose_nothing() {
    let world = world("leaders_killed");
    let replicas = ["one", "two"].map(|name| world.start(name, &[LEASE]));
    let mut sets = Sets::default();
    sets.apply(&world, "always", "m");
    let sets = amid_changes(&world, sets, || {
        let mut killed = String::new();
        for _ in 0..KILLS {
            let (replica, identity) = leader(&world, &replicas, &killed);
            // Changes come all the time, so it has something to write at any moment.
            thread::sleep(Duration::from_millis(fastrand::u64(0..1_500)));
            replica.process.kill().unwrap();
            killed = identity;
        }
    });
    sets.wait_until_delivered(&world);
    let entries = entries(&world);
    assert_one_writer(&entries, 3 * KILLS);
    assert!(holders(&entries).len() > KILLS, "{:?}", holders(&entries));
}

#[test]
fn a_leader_that_cannot_renew_stops_and_its_late_writes_change_nothing() {
    let world = world("cannot_renew");
    let names = ["one", "two"];
    let cables = names.map(|_| world.plane.cable().unwrap());
    let [first, second] = [0, 1].map(|at| world.start_through(names[at], Some(&cables[at]), &[LEASE]));
    let replicas = [first, second];
    let mut sets = Sets::default();
    sets.apply(&world, "always", "m");
    sets.wait_until_delivered(&world);

    let cable = |of: &Replica| &cables[usize::from(of.name == names[1])];
    let late = isolate(&world, &mut sets, &replicas, "cut", |of| cable(of).cut(), |of| cable(of).mend());
    // Its requests waited in the cable, so this has shown something.
    assert!(late > 0, "nothing was delivered late");

    let stop = |leader: &Replica| leader.process.signal(Signal::STOP).unwrap();
    let go_on = |leader: &Replica| leader.process.signal(Signal::CONT).unwrap();
    isolate(&world, &mut sets, &replicas, "paused", stop, go_on);
}

/// Has a leader lose the API server in the middle of many writes, and get it back when another replica has done its work. Returns how many
/// of its requests to write, its Lease included, arrived only then.
fn isolate(
    world: &World,
    sets: &mut Sets,
    replicas: &[Replica; 2],
    how: &str,
    begin: impl Fn(&Replica),
    end: impl Fn(&Replica),
) -> usize {
    let (leader_before, old) = leader(world, replicas, "");
    let mark = world.mark();
    let known = strays(&entries(world)).len();
    let exits = leader_before.process.exits().len();
    let names: Vec<String> = (0..MANY).map(|number| format!("{how}-{number}")).collect();
    thread::scope(|scope| {
        let objects: Vec<_> = names.iter().map(|name| sets.put(name, "first")).collect();
        let creating = scope.spawn(|| world.plane.create_many(objects.into_iter()).unwrap());
        eventually("the leader to write", || {
            let statuses = world.writes_since(mark);
            if statuses.iter().any(|entry| entry.subresource.is_some()) { Ok(()) } else { Err("it does not") }
        });
        begin(leader_before);
        creating.join().unwrap();
    });
    // However slow this test was, the leader did not see all of them.
    let rest: Vec<_> = (MANY..2 * MANY).map(|number| format!("{how}-{number}")).collect();
    let objects: Vec<_> = rest.iter().map(|name| sets.put(name, "first")).collect();
    world.plane.create_many(objects.into_iter()).unwrap();
    let names: Vec<String> = names.into_iter().chain(rest).collect();
    let (_, new) = leader(world, replicas, &old);
    let log = entries(world);
    assert_eq!(strays(&log).len(), known, "{:#?}", strays(&log));
    let by_old = |entry: &&AuditEntry| replica(entry) == Some(&*old) && entry.subresource.is_some();
    let written = world.writes_since(mark).iter().filter(by_old).count();
    assert!(written < names.len(), "the leader had nothing left to write");
    // What the old leader still has in mind is now wrong for each of them.
    let changed: Vec<String> = names.iter().map(|name| sets.put(name, "second").to_string()).collect();
    world.apply(&changed.join("\n---\n"));
    sets.wait_until_delivered(world);

    let returns = world.mark();
    end(leader_before);
    // It ended by itself, either long ago or as soon as it could.
    let statuses = leader_before.process.wait_for_exits(exits + 1, PATIENCE).unwrap();
    assert_eq!(statuses[exits].code(), Some(3), "{statuses:?}");
    // Its next life takes part again, so all that was held back has arrived before.
    eventually("the replica to be back", || {
        let mut entries = world.plane.audit_log().since(mark).unwrap().into_iter();
        let host = format!("{}_", leader_before.name);
        let back = |entry: AuditEntry| {
            let identity = replica(&entry).filter(|identity| *identity != old).unwrap_or_default();
            identity.starts_with(&host) && of_lease(&entry)
        };
        if entries.any(back) { Ok(()) } else { Err("it has not asked for the lease yet") }
    });
    sets.apply(world, &format!("after-{how}"), "m");
    sets.wait_until_delivered(world);
    let log = entries(world);
    for late in &strays(&log)[known..] {
        assert_eq!(replica(late), Some(&*old), "{late:#?}");
        // No election can keep a new object from being made late. One that is named by its content changes nothing, and the leader
        // removes it again, which is what was waited for above.
        assert!(!late.succeeded() || is_new_configuration(late), "a late write took effect: {late:#?}");
    }
    let holders = holders(&log);
    let mut from_new = holders.iter().skip_while(|holder| **holder != new);
    assert!(from_new.all(|holder| *holder != old), "a late renewal took effect: {holders:?}");
    let late = world.plane.audit_log().since(returns).unwrap();
    late.iter().filter(|entry| replica(entry) == Some(&*old) && entry.is_write()).count()
}

fn is_new_configuration(entry: &AuditEntry) -> bool {
    let created = entry.completed.as_ref().is_some_and(|completed| completed.code == 201);
    created && entry.resource.as_deref() == Some("nodeconfigurations.pullwright.dev")
}

#[test]
fn a_lease_can_be_given_back_or_spoilt() {
    let world = world("given_back_or_spoilt");
    // A longer lease: no replica shall lose it only because the machine is busy.
    let replicas = ["one", "two"].map(|name| world.start(name, &["--lease=10"]));
    let mut sets = Sets::default();
    sets.apply(&world, "always", "m");

    // Told to end in the middle of its work, a leader gives the lease back, and the other need not wait.
    sets = amid_changes(&world, sets, || {
        for _ in 0..2 {
            let (replica, identity) = leader(&world, &replicas, "");
            let exits = replica.process.exits().len();
            replica.process.signal(Signal::TERM).unwrap();
            let statuses = replica.process.wait_for_exits(exits + 1, PATIENCE).unwrap();
            assert_eq!(statuses[exits].code(), Some(0), "{statuses:?}");
            let (_, next) = leader(&world, &replicas, &identity);
            let holders = holders(&entries(&world));
            assert!(holders.ends_with(&[identity, String::new(), next]), "{holders:?}");
        }
    });
    sets.wait_until_delivered(&world);
    let exits = replicas.each_ref().map(|replica| replica.process.exits().len());

    // Whatever somebody does to the Lease, one of them leads in the end.
    let namespace = "--namespace=pullwright-system";
    let foreign = r#"{"spec": {"holderIdentity": "somebody", "leaseDurationSeconds": 1}}"#;
    let nobody = r#"{"spec": {"holderIdentity": null}}"#;
    for spoil in [
        vec!["delete", "lease", "pullwright-operator", namespace],
        vec!["patch", "lease", "pullwright-operator", namespace, "--type=merge", "--patch", foreign],
        vec!["patch", "lease", "pullwright-operator", namespace, "--type=merge", "--patch", nobody],
    ] {
        let before = entries(&world).len();
        sets = amid_changes(&world, sets, || {
            world.kubectl(&spoil);
            eventually("a leader", || {
                let entries = entries(&world);
                let taken = entries[before..].iter().rposition(|entry| {
                    of_lease(entry) && replica(entry).is_some() && entry.verb == "update" && entry.succeeded()
                });
                let writes = entries[before..].iter().skip(taken.ok_or("nobody holds the lease")?);
                let writes =
                    writes.filter(|entry| entry.is_write() && !of_lease(entry) && replica(entry).is_some());
                if writes.count() > 0 { Ok(()) } else { Err("nobody writes") }
            });
        });
        sets.wait_until_delivered(&world);
    }
    assert_one_writer(&entries(&world), 10);
    let ended = replicas.each_ref().map(|replica| replica.process.exits().len());
    assert_eq!(ended, exits, "no replica had to end for it");
}
