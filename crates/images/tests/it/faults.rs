//! containerd that is not there, goes away, or does not answer.

use std::time::Duration;

use bytes::Bytes;
use hyper::body::Frame;
use tokio::time::timeout;

use crate::caller::{PULL, framed};
use crate::containerd::{Containerd, Reply};
use crate::running::{Place, auth_file, pull_with_ticket};

/// Far more than any of it takes: these tests are about calls that would never end.
const EVER: Duration = Duration::from_mins(1);

#[tokio::test]
async fn it_serves_before_containerd_is_there_and_finds_it_when_it_comes() {
    let place = Place::new();
    let mut running = place.start(&[]).await;
    let caller = place.caller().await;
    let absent = timeout(EVER, caller.call("ImageFsInfo", b"")).await.unwrap();
    assert_eq!(absent.code(), 14);
    assert!(absent.message().contains("containerd.sock"), "{}", absent.message());
    let _containerd = Containerd::start(&place.containerd(), |_| Reply::Message(b"here"));
    assert_eq!(caller.call("ImageFsInfo", b"").await.data, framed(b"here"));
    running.until_log("calls are answered Unavailable until it is there").await;
    running.until_log("connected to containerd at").await;
}

#[tokio::test]
async fn when_containerd_is_restarted_under_load_every_call_ends_and_the_next_ones_work() {
    let place = Place::new();
    let mut containerd = Containerd::start(&place.containerd(), |_| Reply::Hang);
    let _running = place.start(&[]).await;
    let caller = place.caller().await;
    for round in 0..3 {
        let calls: Vec<_> = (0..200)
            .map(|at| {
                let caller = caller.clone();
                let method = if at % 2 == 0 { "ListImages" } else { PULL };
                tokio::spawn(async move { caller.call(method, b"").await })
            })
            .collect();
        containerd.until_waiting(200).await;
        let socket = containerd.kill().await;
        for call in calls {
            let answer = timeout(EVER, call).await.unwrap().unwrap();
            assert_eq!(answer.code(), 14, "round {round}: {}", answer.message());
        }
        containerd = Containerd::start(&socket, |seen| {
            if seen.path.ends_with("ImageFsInfo") { Reply::Message(b"again") } else { Reply::Hang }
        });
        assert_eq!(caller.call("ImageFsInfo", b"").await.data, framed(b"again"), "round {round}");
    }
}

#[tokio::test]
async fn an_answer_that_breaks_off_is_unavailable_as_it_would_be_without_us() {
    let (to_test, mut from_containerd) = tokio::sync::mpsc::unbounded_channel();
    let place = Place::new();
    let containerd = Containerd::start(&place.containerd(), move |_| {
        let to_test = to_test.clone();
        Reply::Stream(Box::new(move |frames| {
            frames.send(Ok(Frame::data(framed(b"first")))).unwrap();
            to_test.send(frames).unwrap();
        }))
    });
    let _running = place.start(&[]).await;
    let caller = place.caller().await;
    let response = caller.send("StreamImages", &[], framed(b"")).await.unwrap();
    let _open = from_containerd.recv().await.unwrap();
    containerd.kill().await;
    let answer = timeout(EVER, crate::caller::whole(response)).await.unwrap().unwrap();
    assert_eq!((answer.code(), answer.data), (14, framed(b"first")));
}

#[tokio::test]
async fn a_pull_whose_containerd_goes_away_ends_without_another_call_and_without_its_file() {
    let place = Place::new();
    place.mirror_docker_io();
    let containerd = Containerd::start(&place.containerd(), |_| Reply::Hang);
    let _running = place.start(&[]).await;
    let caller = place.caller().await;
    let file = auth_file(&[("one.example:5000", "a"), ("two.example", "b")]);
    place.put("team-a", "docker.io/library/nginx", &file);
    let call = tokio::spawn({
        let caller = caller.clone();
        async move { caller.call(PULL, &pull_with_ticket("nginx", "team-a")).await }
    });
    containerd.until_waiting(1).await;
    let socket = containerd.kill().await;
    assert_eq!(timeout(EVER, call).await.unwrap().unwrap().code(), 14);
    assert!(place.credentials().is_empty());
    // And one that finds none at all.
    std::fs::remove_file(socket).unwrap();
    place.put("team-a", "docker.io/library/nginx", &file);
    assert_eq!(caller.call(PULL, &pull_with_ticket("nginx", "team-a")).await.code(), 14);
    assert!(place.credentials().is_empty());
}

#[tokio::test]
async fn a_call_that_hangs_holds_up_no_other() {
    let place = Place::new();
    let containerd = Containerd::start(&place.containerd(), |seen| {
        if seen.path.ends_with(PULL) { Reply::Hang } else { Reply::Message(b"ok") }
    });
    let _running = place.start(&[]).await;
    let caller = place.caller().await;
    let calling = caller.clone();
    let pulling = tokio::spawn(async move { calling.call(PULL, b"").await });
    containerd.until_waiting(1).await;
    assert_eq!(caller.call("ImageStatus", b"").await.data, framed(b"ok"));
    pulling.abort();
}

#[tokio::test]
async fn a_caller_that_speaks_no_http2_hurts_only_itself() {
    use tokio::io::AsyncWriteExt as _;
    let place = Place::new();
    let _containerd = Containerd::start(&place.containerd(), |_| Reply::Message(b"ok"));
    let _running = place.start(&[]).await;
    for nonsense in
        [&b"GET / HTTP/1.1\r\n\r\n"[..], b"", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\xff\xff\xff\xff\xff\xff"]
    {
        let mut stream = tokio::net::UnixStream::connect(place.socket()).await.unwrap();
        stream.write_all(&Bytes::from_static(nonsense)).await.unwrap();
    }
    assert_eq!(place.caller().await.call("ListImages", b"").await.data, framed(b"ok"));
}
