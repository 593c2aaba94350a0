//! containerd killed and started again while calls run.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::time::timeout;

use crate::world::World;

#[tokio::test(flavor = "multi_thread")]
async fn when_containerd_is_killed_under_load_no_call_hangs_and_the_service_finds_it_again() {
    let mut world = World::start(|_| {}).await;
    let stop = Arc::new(AtomicBool::new(false));
    let calling: Vec<_> = (0..16)
        .map(|_| {
            let (caller, stop) = (world.through.clone(), Arc::clone(&stop));
            tokio::spawn(async move {
                let mut codes = [0u32; 17];
                while !stop.load(Ordering::Relaxed) {
                    let call = timeout(Duration::from_mins(1), caller.call("ListImages", b""));
                    let code = call.await.unwrap().code();
                    codes[usize::try_from(code).unwrap()] += 1;
                    if code != 0 {
                        tokio::time::sleep(Duration::from_millis(1)).await;
                    }
                }
                codes
            })
        })
        .collect();
    for _ in 0..2 {
        tokio::time::sleep(Duration::from_millis(200)).await;
        tokio::task::block_in_place(|| world.containerd.restart()).unwrap();
    }
    assert_eq!(world.through.call("ListImages", b"").await.code(), 0);
    stop.store(true, Ordering::Relaxed);
    let (mut answered, mut unavailable) = (0, 0);
    for calls in calling {
        let codes = calls.await.unwrap();
        answered += codes[0];
        unavailable += codes[14];
        assert_eq!(codes.iter().sum::<u32>(), codes[0] + codes[14], "no other code: {codes:?}");
    }
    assert!(answered > 0 && unavailable > 0, "{answered} answered, {unavailable} unavailable");
    println!("{answered} calls answered, {unavailable} unavailable, none hung");
}
