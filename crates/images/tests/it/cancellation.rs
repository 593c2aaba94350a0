//! Who gives up, gives up for containerd as well.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;

use crate::caller::{PULL, framed};
use crate::containerd::{Containerd, Reply};
use crate::running::{Place, auth_file, pull_with_ticket};

#[tokio::test]
async fn a_call_that_is_cancelled_is_cancelled_at_containerd() {
    let place = Place::new();
    let containerd = Containerd::start(&place.containerd(), |_| Reply::Hang);
    let _running = place.start(&[]).await;
    let caller = place.caller().await;
    for method in ["ListImages", PULL] {
        let calling = caller.clone();
        let call = tokio::spawn(async move { calling.call(method, b"").await });
        containerd.until_waiting(1).await;
        call.abort();
        containerd.until_waiting(0).await;
    }
}

#[tokio::test]
async fn a_pull_that_is_cancelled_leaves_no_credential_and_calls_nobody_again() {
    let place = Place::new();
    place.mirror_docker_io();
    let containerd = Containerd::start(&place.containerd(), |_| Reply::Hang);
    let _running = place.start(&[]).await;
    let caller = place.caller().await;
    place.put(
        "team-a",
        "docker.io/library/nginx",
        &auth_file(&[("one.example:5000", "a"), ("two.example", "b")]),
    );
    let call = tokio::spawn({
        let caller = caller.clone();
        async move { caller.call(PULL, &pull_with_ticket("nginx:1", "team-a")).await }
    });
    containerd.until_waiting(1).await;
    assert_eq!(place.credentials(), Vec::<std::path::PathBuf>::new(), "gone while the pull runs");
    call.abort();
    containerd.until_waiting(0).await;
    // The service is not busy with it any more, and made no call with the other credential.
    let next = tokio::spawn(async move { caller.call("ListImages", b"").await });
    containerd.until_waiting(1).await;
    next.abort();
    assert_eq!(containerd.seen().iter().filter(|seen| seen.path.ends_with(PULL)).count(), 1);
}

#[tokio::test]
async fn a_caller_that_is_gone_gives_up_all_its_calls() {
    let place = Place::new();
    let containerd = Containerd::start(&place.containerd(), |_| Reply::Hang);
    let _running = place.start(&[]).await;
    let calls: Vec<_> = {
        let caller = place.caller().await;
        (0..20)
            .map(|_| {
                let caller = caller.clone();
                tokio::spawn(async move { caller.call("ListImages", b"").await })
            })
            .collect()
    };
    containerd.until_waiting(20).await;
    calls.iter().for_each(tokio::task::JoinHandle::abort);
    containerd.until_waiting(0).await;
}

/// A pull for which there is a login for each of two mirrors, so that containerd is called twice.
fn pull_with_two_logins(place: &Place) -> Bytes {
    let logins = auth_file(&[("one.example:5000", "a"), ("two.example", "b")]);
    place.put("team-a", "docker.io/library/nginx", &logins);
    framed(&pull_with_ticket("nginx:1", "team-a"))
}

#[tokio::test]
async fn each_call_of_a_pull_gets_the_time_that_is_left() {
    let place = Place::new();
    place.mirror_docker_io();
    let containerd = Containerd::start(&place.containerd(), |_| {
        std::thread::sleep(std::time::Duration::from_millis(60));
        Reply::Error(2, "denied")
    });
    let _running = place.start(&[]).await;
    let message = pull_with_two_logins(&place);
    let response = place.caller().await.send(PULL, &[("grpc-timeout", "20S")], message).await.unwrap();
    assert!(response.headers().contains_key("grpc-status"));
    let micros: Vec<u64> = containerd
        .seen()
        .iter()
        .map(|seen| {
            let value = seen.headers["grpc-timeout"].to_str().unwrap().to_owned();
            value.strip_suffix('u').unwrap_or_else(|| panic!("{value}")).parse().unwrap()
        })
        .collect();
    assert_eq!(micros.len(), 2);
    assert!(micros[0] <= 20_000_000 && micros[1] <= micros[0] - 60_000, "{micros:?}");
}

#[tokio::test]
async fn a_pull_without_time_left_ends_and_says_what_was_tried() {
    let place = Place::new();
    place.mirror_docker_io();
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&calls);
    let _containerd = Containerd::start(&place.containerd(), move |_| {
        counted.fetch_add(1, Ordering::SeqCst);
        // Longer than the caller has.
        std::thread::sleep(std::time::Duration::from_millis(2100));
        Reply::Error(2, "denied")
    });
    let _running = place.start(&[]).await;
    let message = pull_with_two_logins(&place);
    let response = place.caller().await.send(PULL, &[("grpc-timeout", "2S")], message).await.unwrap();
    assert_eq!(response.headers()["grpc-status"], "4");
    let said = response.headers()["grpc-message"].to_str().unwrap();
    assert!(said.contains("one.example:5000/library/nginx: denied"), "{said}");
    assert_eq!(calls.load(Ordering::SeqCst), 1);
}
