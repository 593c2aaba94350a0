//! What is not a pull goes through as it is, in both directions.

use bytes::Bytes;
use http_body_util::BodyExt as _;
use hyper::body::Frame;
use hyper::header::HeaderMap;

use crate::caller::{framed, whole};
use crate::containerd::{Containerd, Reply, status};
use crate::running::Place;

fn names(headers: &HeaderMap) -> Vec<String> {
    let mut names: Vec<_> = headers.keys().map(|name| name.as_str().to_owned()).collect();
    names.sort();
    names
}

#[tokio::test]
async fn a_method_of_the_future_arrives_with_its_bytes_metadata_and_deadline() {
    let place = Place::new();
    let containerd = Containerd::start(&place.containerd(), |_| Reply::Message(b"\x92\x4e\x03new"));
    let _running = place.start(&[]).await;
    let caller = place.caller().await;
    let sent = [("grpc-timeout", "119999870u"), ("x-meta", "some value"), ("trace-bin", "AAEC/w")];
    let body = framed(b"\x92\x4e\x05field");
    let answer = whole(caller.send("PinImage", &sent, body.clone()).await.unwrap()).await.unwrap();

    let seen = &containerd.seen()[0];
    assert_eq!((seen.path.as_str(), &seen.body), ("/runtime.v1.ImageService/PinImage", &body));
    for (name, value) in sent {
        assert_eq!(seen.headers[name], value, "{name}");
    }
    assert_eq!((answer.data.clone(), answer.code()), (framed(b"\x92\x4e\x03new"), 0));
    assert_eq!(answer.headers["x-from-containerd"], "yes");
    assert_eq!(names(&answer.headers), ["content-type", "x-from-containerd"], "nothing is added");
}

#[tokio::test]
async fn a_call_without_a_deadline_gets_none() {
    let place = Place::new();
    let containerd = Containerd::start(&place.containerd(), |_| Reply::Message(b""));
    let _running = place.start(&[]).await;
    let caller = place.caller().await;
    caller.call("ListImages", b"").await;
    // A pull is sent anew, and must say no more than the caller did.
    caller.call("PullImage", b"\x0a\x03\x0a\x01x").await;
    for seen in containerd.seen() {
        // The caller's own library says the length of a body that it knows.
        let names: Vec<_> =
            names(&seen.headers).into_iter().filter(|name| name != "content-length").collect();
        assert_eq!(names, ["content-type", "te", "user-agent"], "{}", seen.path);
    }
}

#[tokio::test]
async fn a_stream_arrives_message_by_message() {
    let (to_test, mut from_containerd) = tokio::sync::mpsc::unbounded_channel();
    let place = Place::new();
    let _containerd = Containerd::start(&place.containerd(), move |_| {
        let to_test = to_test.clone();
        Reply::Stream(Box::new(move |frames| to_test.send(frames).unwrap()))
    });
    let _running = place.start(&[]).await;
    let caller = place.caller().await;
    let mut body = caller.send("StreamImages", &[], framed(b"")).await.unwrap().into_body();
    let frames = from_containerd.recv().await.unwrap();
    for message in [&b"first"[..], b"second"] {
        frames.send(Ok(Frame::data(framed(message)))).unwrap();
        // The stream is still open: whoever waited for its end would wait for ever.
        let frame = body.frame().await.unwrap().unwrap();
        assert_eq!(frame.into_data().unwrap(), framed(message));
    }
    frames.send(Ok(Frame::trailers(status(5, "gone")))).unwrap();
    let trailers = body.frame().await.unwrap().unwrap().into_trailers().unwrap();
    assert_eq!(trailers, status(5, "gone"));
}

#[tokio::test]
async fn an_error_arrives_with_code_message_and_details() {
    let place = Place::new();
    let _containerd = Containerd::start(&place.containerd(), |seen| match seen.path.as_str() {
        "/runtime.v1.ImageService/RemoveImage" => Reply::Error(9, "in use by 100%25 of %E2%82%AC"),
        _ => Reply::Stream(Box::new(|frames| frames.send(Ok(Frame::trailers(status(13, "late")))).unwrap())),
    });
    let _running = place.start(&[]).await;
    let caller = place.caller().await;
    let early = caller.call("RemoveImage", b"").await;
    assert_eq!((early.code(), early.message()), (9, "in use by 100%25 of %E2%82%AC".to_owned()));
    assert_eq!(early.headers["grpc-status-details-bin"], "CAI");
    let late = caller.call("ImageStatus", b"").await;
    assert_eq!(late.trailers.as_ref(), Some(&status(13, "late")));
}

#[tokio::test]
async fn a_call_that_containerd_resets_is_reset_with_the_same_code() {
    let place = Place::new();
    let _containerd = Containerd::start(&place.containerd(), |_| Reply::Reset(h2::Reason::ENHANCE_YOUR_CALM));
    let _running = place.start(&[]).await;
    let caller = place.caller().await;
    let error = caller.send("ListImages", &[], framed(b"")).await.unwrap_err();
    let reset = std::error::Error::source(&error).unwrap().downcast_ref::<h2::Error>().unwrap();
    assert_eq!(reset.reason(), Some(h2::Reason::ENHANCE_YOUR_CALM));
}

#[tokio::test]
async fn a_large_answer_arrives_whole() {
    let large: Bytes = (0..8_000_000u32).map(|at| at.to_le_bytes()[1]).collect();
    let place = Place::new();
    let answered = large.clone();
    let _containerd = Containerd::start(&place.containerd(), move |_| {
        let large = answered.clone();
        Reply::Stream(Box::new(move |frames| {
            for part in large.chunks(1 << 16) {
                frames.send(Ok(Frame::data(Bytes::copy_from_slice(part)))).unwrap();
            }
            frames.send(Ok(Frame::trailers(status(0, "")))).unwrap();
        }))
    });
    let _running = place.start(&[]).await;
    let answer = place.caller().await.call("ListImages", b"").await;
    assert!(answer.data == large, "{} of {} bytes", answer.data.len(), large.len());
}

#[tokio::test]
async fn a_pull_that_cannot_be_read_is_passed_on_as_it_is() {
    let place = Place::new();
    let containerd = Containerd::start(&place.containerd(), |_| Reply::Message(b"ok"));
    let mut running = place.start(&[]).await;
    let caller = place.caller().await;
    let compressed = Bytes::from_static(b"\x01\0\0\0\x04gzip");
    for body in [compressed, framed(b"\x0b"), Bytes::from_static(b"\0\0\0")] {
        let answer = whole(caller.send("PullImage", &[], body.clone()).await.unwrap()).await.unwrap();
        assert_eq!((answer.code(), answer.data), (0, framed(b"ok")));
        assert_eq!(containerd.seen().last().unwrap().body, body);
    }
    running.until_log("a pull request that cannot be read is passed on as it is").await;
}

#[tokio::test]
async fn a_thousand_calls_at_once_are_a_thousand_calls_at_containerd() {
    let place = Place::new();
    let (go, _) = tokio::sync::broadcast::channel::<()>(1);
    let going = go.clone();
    let containerd = Containerd::start(&place.containerd(), move |seen| {
        if seen.path.ends_with("ImageFsInfo") {
            return Reply::Message(b"info");
        }
        let mut going = going.subscribe();
        Reply::Stream(Box::new(move |frames| {
            tokio::spawn(async move {
                going.recv().await.unwrap();
                frames.send(Ok(Frame::data(framed(b"done")))).unwrap();
                frames.send(Ok(Frame::trailers(status(0, "")))).unwrap();
            });
        }))
    });
    let _running = place.start(&[]).await;
    let caller = place.caller().await;
    let calls: Vec<_> = (0..1000)
        .map(|at| {
            let caller = caller.clone();
            let method = if at % 2 == 0 { "ImageStatus" } else { "PullImage" };
            tokio::spawn(async move { caller.call(method, b"\x0a\x03\x0a\x01x").await })
        })
        .collect();
    while containerd.seen().len() < 1000 {
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    // All of them wait, and none is in the way of another.
    assert_eq!(caller.call("ImageFsInfo", b"").await.data, framed(b"info"));
    go.send(()).unwrap();
    for call in calls {
        let answer = call.await.unwrap();
        assert_eq!((answer.code(), answer.data), (0, framed(b"done")));
    }
}
