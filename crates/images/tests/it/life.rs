//! How it begins and how it ends.

use std::fs;
use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _};
use std::os::unix::net::{UnixDatagram, UnixListener};
use std::time::Duration;

use pullwright_handover::AuthFolder;
use rustix::process::Signal;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::caller::{Caller, PULL, framed};
use crate::containerd::{Containerd, Reply};
use crate::running::{Place, Running, auth_file, pull, pull_with_ticket};

#[tokio::test]
async fn the_socket_is_for_its_owner_only() {
    let place = Place::new();
    let _running = place.start(&[]).await;
    let metadata = fs::symlink_metadata(place.socket()).unwrap();
    assert!(metadata.file_type().is_socket());
    assert_eq!(metadata.permissions().mode() & 0o777, 0o600);
}

#[tokio::test]
async fn a_socket_that_a_killed_service_left_is_replaced_and_a_living_one_is_not() {
    let place = Place::new();
    let mut killed = place.start(&[]).await;
    killed.signal(Signal::KILL);
    killed.ended().await;
    assert!(place.socket().exists(), "nobody removed it");
    let living = place.start(&[]).await;

    let mut second = place.command().stderr(std::process::Stdio::piped()).spawn().unwrap();
    assert_eq!(second.wait().unwrap().code(), Some(1));
    let said = std::io::read_to_string(second.stderr.take().unwrap()).unwrap();
    assert!(said.contains("somebody listens on"), "{said}");
    Caller::connect(&place.socket()).await;
    drop(living);
}

#[tokio::test]
async fn a_service_that_ends_leaves_the_socket_of_its_successor() {
    let place = Place::new();
    let mut first = place.start(&[]).await;
    fs::remove_file(place.socket()).unwrap();
    let _second = place.start(&[]).await;
    first.signal(Signal::TERM);
    first.ended().await;
    Caller::connect(&place.socket()).await;
}

#[tokio::test]
async fn what_is_no_socket_is_left_alone() {
    let place = Place::new();
    fs::write(place.socket(), "precious").unwrap();
    let output = place.command().output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("is not a socket: remove it"));
    assert_eq!(fs::read_to_string(place.socket()).unwrap(), "precious");
}

#[tokio::test]
async fn on_sigterm_pulls_end_other_calls_are_served_and_no_pull_begins() {
    let (to_test, mut from_containerd) = tokio::sync::mpsc::unbounded_channel();
    let place = Place::new();
    let _containerd = Containerd::start(&place.containerd(), move |seen| {
        if !seen.path.ends_with(PULL) {
            return Reply::Message(b"served");
        }
        let to_test = to_test.clone();
        Reply::Stream(Box::new(move |frames| to_test.send(frames).unwrap()))
    });
    let mut running = place.start(&["--drain", "600"]).await;
    let caller = place.caller().await;
    let calling = caller.clone();
    let pulling = tokio::spawn(async move { calling.call(PULL, b"").await });
    let frames = from_containerd.recv().await.unwrap();
    running.signal(Signal::TERM);
    running.until_log("stopping on SIGTERM").await;

    assert_eq!(caller.call("ImageStatus", b"").await.data, framed(b"served"));
    // Who comes only now is served as well.
    assert_eq!(place.caller().await.call("ImageStatus", b"").await.data, framed(b"served"));
    place.put("team-a", "docker.io/library/nginx", &auth_file(&[("docker.io", "u")]));
    let late = caller.call(PULL, &pull_with_ticket("nginx", "team-a")).await;
    assert_eq!(late.code(), 14);
    assert!(place.credentials().is_empty(), "a pull that is refused leaves no file");
    assert!(late.message().contains("is being stopped"), "{}", late.message());

    frames.send(Ok(hyper::body::Frame::data(framed(b"pulled")))).unwrap();
    frames.send(Ok(hyper::body::Frame::trailers(crate::containerd::status(0, "")))).unwrap();
    let pulled = pulling.await.unwrap();
    assert_eq!((pulled.code(), pulled.data), (0, framed(b"pulled")));
    assert_eq!(running.ended().await.code(), Some(0));
    assert!(!place.socket().exists());
}

#[tokio::test]
async fn a_pull_that_takes_longer_than_the_bound_is_cut_off() {
    let place = Place::new();
    let containerd = Containerd::start(&place.containerd(), |_| Reply::Hang);
    let mut running = place.start(&["--drain", "0"]).await;
    let caller = place.caller().await;
    let pulling = tokio::spawn(async move { caller.send(PULL, &[], framed(b"")).await });
    containerd.until_waiting(1).await;
    running.signal(Signal::TERM);
    assert_eq!(running.ended().await.code(), Some(0));
    assert!(pulling.await.unwrap().is_err(), "the connection is gone");
    containerd.until_waiting(0).await;
}

#[tokio::test]
async fn without_calls_it_ends_at_once_whatever_the_bound() {
    let place = Place::new();
    let mut running = place.start(&["--drain", "86400"]).await;
    let _idle = place.caller().await;
    running.signal(Signal::INT);
    assert_eq!(running.ended().await.code(), Some(0));
}

#[tokio::test]
async fn systemd_is_told_when_it_is_ready_alive_and_stopping() {
    let place = Place::new();
    let path = place.path("notify.sock");
    let systemd = UnixDatagram::bind(&path).unwrap();
    systemd.set_read_timeout(Some(Duration::from_mins(1))).unwrap();
    let next = || {
        let mut text = [0; 64];
        let length = systemd.recv(&mut text).unwrap();
        String::from_utf8_lossy(&text[..length]).into_owned()
    };
    let mut command = place.command();
    command.env("NOTIFY_SOCKET", &path).env("WATCHDOG_USEC", "20000").env("JOURNAL_STREAM", "1:2");
    let mut running = Running::start(command).await;
    let mut said = vec![next(), next(), next(), next()];
    assert!(said.contains(&"READY=1".to_owned()), "{said:?}");
    assert!(said.iter().filter(|said| *said == "WATCHDOG=1").count() >= 2, "{said:?}");
    assert!(running.log().contains("<6>serving on"), "with its level for the journal: {}", running.log());
    running.signal(Signal::TERM);
    while said.last().unwrap() != "STOPPING=1" {
        said.push(next());
    }
    assert_eq!(running.ended().await.code(), Some(0));
}

#[tokio::test]
async fn what_a_killed_service_had_taken_is_removed_at_the_start() {
    let place = Place::new();
    place.put_without_ticket("team-a", "docker.io/library/nginx", &auth_file(&[("docker.io", "left")]));
    let folder = AuthFolder::open(&place.path("auth")).unwrap();
    let name = place.credentials()[0].file_name().unwrap().to_str().unwrap().to_owned();
    let claim = folder.claim(&pullwright_handover::AuthFileName::parse(&name).unwrap()).unwrap().unwrap();
    // Killed between taking and removing.
    std::mem::forget(claim);
    assert_eq!(place.credentials().len(), 1);
    let fresh = place.put("team-b", "docker.io/library/nginx", &auth_file(&[("docker.io", "fresh")]));
    let mut running = place.start(&[]).await;
    running.until_log("removed").await;
    assert_eq!(place.credentials(), [fresh], "one that waits for its pull stays");
}

#[tokio::test]
async fn killed_in_the_middle_of_a_pull_it_leaves_no_credential_and_serves_again() {
    let place = Place::new();
    let containerd = Containerd::start(&place.containerd(), |_| Reply::Hang);
    let mut running = place.start(&[]).await;
    place.put("team-a", "docker.io/library/nginx", &auth_file(&[("docker.io", "u")]));
    let caller = place.caller().await;
    let pulling =
        tokio::spawn(
            async move { caller.send(PULL, &[], framed(&pull_with_ticket("nginx", "team-a"))).await },
        );
    containerd.until_waiting(1).await;
    running.signal(Signal::KILL);
    running.ended().await;
    assert!(place.credentials().is_empty());
    assert!(pulling.await.unwrap().is_err());
    containerd.until_waiting(0).await;
    let _again = place.start(&[]).await;
    let caller = place.caller().await;
    let pulling = tokio::spawn(async move { caller.call(PULL, b"").await });
    containerd.until_waiting(1).await;
    pulling.abort();
}

#[tokio::test]
async fn counters_are_on_their_own_socket() {
    let place = Place::new();
    let _containerd = Containerd::start(&place.containerd(), |seen| {
        if seen.path.ends_with(PULL) { Reply::Error(2, "denied") } else { Reply::Message(b"") }
    });
    let socket = place.path("metrics.sock");
    let _running = place.start(&["--metrics", socket.to_str().unwrap()]).await;
    assert_eq!(fs::metadata(&socket).unwrap().permissions().mode() & 0o777, 0o600);
    let caller = place.caller().await;
    caller.call("ListImages", b"").await;
    place.put("team-a", "docker.io/library/nginx", &auth_file(&[("docker.io", "u")]));
    caller.call(PULL, &pull_with_ticket("nginx", "team-a")).await;
    caller.call(PULL, &pull("nginx", "team-a", None)).await;
    let mut stream = tokio::net::UnixStream::connect(&socket).await.unwrap();
    stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n").await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
    for line in [
        "calls_total{method=\"ListImages\",code=\"0\"} 1",
        "calls_total{method=\"PullImage\",code=\"2\"} 2",
        "claims_total{result=\"taken\"} 1",
        "claims_total{result=\"absent\"} 1",
        "pulls_total{outcome=\"failed\",source=\"docker.io\"} 1",
        "calls_in_flight 0",
        "containerd_connections_total 1",
    ] {
        assert!(answer.contains(&format!("\npullwright_images_{line}\n")), "{line} is not in {answer}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn check_says_what_is_wrong_and_what_to_do() {
    let place = Place::new();
    place.mirror_docker_io();
    let checked = || {
        let output = place.command().arg("--check").output().unwrap();
        (output.status.code(), String::from_utf8(output.stdout).unwrap())
    };
    let (code, said) = checked();
    assert_eq!(code, Some(1));
    assert!(said.contains("WRONG cannot connect to containerd"), "{said}");

    let containerd = Containerd::start(&place.containerd(), |_| Reply::Message(b""));
    let fine = tokio::task::block_in_place(checked);
    assert_eq!(fine.0, Some(0), "{}", fine.1);
    assert!(fine.1.contains("ok    containerd answers"), "{}", fine.1);
    assert!(!fine.1.contains("look"), "{}", fine.1);

    fs::write(place.path("certs.d/docker.io/hosts.toml"), "server = 1").unwrap();
    let (code, said) = tokio::task::block_in_place(checked);
    assert_eq!(code, Some(1));
    assert!(said.contains("WRONG") && said.contains("hosts.toml"), "{said}");
    assert!(said.contains("look  registries.conf has the mirror two.example for docker.io"), "{said}");
    assert!(containerd.seen().iter().all(|seen| seen.path.ends_with("ImageFsInfo")));
    drop(UnixListener::bind(place.path("images.sock")).unwrap());
    let (_, said) = tokio::task::block_in_place(checked);
    assert!(said.contains("was left by a service that died"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hosts_toml_that_cannot_be_read_is_reported_by_check_and_in_the_log() {
    let place = Place::new();
    place.mirror_docker_io();
    let hosts = place.path("certs.d/docker.io/hosts.toml");
    fs::remove_file(&hosts).unwrap();
    fs::create_dir(&hosts).unwrap();
    let _containerd = Containerd::start(&place.containerd(), |_| Reply::Message(b""));
    let output = tokio::task::block_in_place(|| place.command().arg("--check").output().unwrap());
    let (code, said) = (output.status.code(), String::from_utf8(output.stdout).unwrap());
    let unreadable = format!("cannot read {}: is a directory", hosts.display());
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains(&format!("WRONG {unreadable}; containerd goes on without it")), "{said}");

    let mut running = place.start(&[]).await;
    place.caller().await.call(PULL, &pull("nginx:1", "team-a", None)).await;
    running.until_log(&unreadable).await;
}
