//! The promises in many small clusters. `cargo xtask bench operator` has a large one.

use fastrand::Rng;

use super::*;

#[test]
fn never_too_many_at_once_and_always_there_in_the_end() {
    let mut restarts = 0;
    for seed in 0..60 {
        let mut rng = Rng::with_seed(seed);
        let scenario = Scenario {
            seed,
            nodes: rng.usize(1..60),
            max_unavailable: rng.usize(1..6),
            chaos: 400,
            change_every: rng.usize(20..120),
        };
        let seen = play(scenario).unwrap();
        restarts += seen.restarts;
    }
    assert!(restarts > 60, "the simulation does not simulate much");
}

/// In quiet times, a configuration that nobody can take reaches the canaries only.
#[test]
fn a_bad_configuration_reaches_the_canaries_only() {
    for seed in 0..10 {
        let scenario = Scenario { seed, nodes: 30, max_unavailable: 3, chaos: 0, change_every: 1 };
        let mut world = World::new(scenario);
        while !world.is_there() {
            world.step(true).unwrap();
        }
        for (runtime, wanted) in &mut world.wanted {
            *wanted = format!("{}-bad", runtime.name());
            world.cluster.bad.insert(wanted.clone());
        }
        world.told.clear();
        for _ in 0..200 {
            world.step(true).unwrap();
        }
        let told = world.cluster.states.present.values().filter(|state| {
            state.desired.as_ref().is_some_and(|desired| world.cluster.bad.contains(desired))
        });
        assert_eq!(told.count(), RUNTIMES.len(), "seed {seed}");
    }
}
