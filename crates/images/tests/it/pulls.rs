//! Pulls: whose credential goes where, in which order, and that its file is gone on every way out.

use std::fs;

use pullwright_protobuf::{Fields, last, text};

use crate::caller::{PULL, framed};
use crate::containerd::{Containerd, Reply, Seen};
use crate::running::{Place, auth_file, pull, pull_with_ticket};

const NGINX: &str = "docker.io/library/nginx";

fn three() -> String {
    auth_file(&[("one.example:5000", "a"), ("two.example", "b"), ("docker.io", "own")])
}

/// `user:password -> server address` of a call that containerd got.
fn credential(seen: &Seen) -> String {
    let auth = last(&seen.body[5..], 2).unwrap();
    let field = |number| text(last(auth, number).unwrap()).unwrap();
    format!("{}:{} -> {}", field(1), field(2), field(4))
}

fn credentials(containerd: &Containerd) -> Vec<String> {
    containerd.seen().iter().map(credential).collect()
}

#[tokio::test]
async fn without_a_file_the_request_is_passed_on_byte_for_byte() {
    let place = Place::new();
    place.mirror_docker_io();
    let containerd = Containerd::start(&place.containerd(), |_| Reply::Message(b"\x0a\x02id"));
    let _running = place.start(&[]).await;
    let other = place.put("team-b", NGINX, &three());
    let caller = place.caller().await;
    let auth = Some(&b"\x0a\x01u\x12\x01p"[..]);
    for sent in
        [pull("quay.io/x:1", "team-a", auth), pull("nginx:1", "team-b", None), pull("no name", "b", None)]
    {
        let answer = caller.call(PULL, &sent).await;
        assert_eq!((answer.code(), answer.data), (0, framed(b"\x0a\x02id")));
        assert_eq!(containerd.seen().last().unwrap().body, framed(&sent));
    }
    assert_eq!(place.credentials(), [other], "that of a ticket stays");
}

#[tokio::test]
async fn each_credential_goes_to_its_own_host_in_order_until_one_works() {
    let place = Place::new();
    place.mirror_docker_io();
    let containerd = Containerd::start(&place.containerd(), |seen| match credential(seen).as_str() {
        "b:pw-b -> https://two.example" => Reply::Message(b"\x0a\x02id"),
        _ => Reply::Error(2, "denied"),
    });
    let mut running = place.start(&[]).await;
    place.put("team-a", NGINX, &three());
    let answer = place.caller().await.call(PULL, &pull_with_ticket("nginx:1", "team-a")).await;
    assert_eq!((answer.code(), answer.data), (0, framed(b"\x0a\x02id")));
    assert_eq!(
        credentials(&containerd),
        ["a:pw-a -> http://one.example:5000", "b:pw-b -> https://two.example"]
    );
    assert!(place.credentials().is_empty());
    running
        .until_log("\"nginx:1\" for \"team-a\": pulled with the credential for two.example/library/nginx")
        .await;
    let log = running.log();
    assert!(!log.contains("pw-"), "{log}");
}

#[tokio::test]
async fn all_other_fields_arrive_as_the_kubelet_sent_them() {
    let place = Place::new();
    let containerd = Containerd::start(&place.containerd(), |_| Reply::Message(b""));
    let _running = place.start(&[]).await;
    place.put("team-a", NGINX, &three());
    let sent = pull_with_ticket("nginx:1", "team-a");
    place.caller().await.call(PULL, &sent).await;
    let others = |message: &[u8]| -> Vec<(u64, Vec<u8>)> {
        let fields = Fields::of(message).map(|field| field.unwrap());
        fields.filter(|(number, _)| *number != 2).map(|(number, value)| (number, value.to_vec())).collect()
    };
    let seen = containerd.seen();
    assert_eq!(others(&seen[0].body[5..]), others(&sent));
    assert_eq!(others(&sent).last().unwrap(), &(77, b"of a newer version".to_vec()));
}

#[tokio::test]
async fn when_none_works_the_answer_has_the_last_error_and_every_reason() {
    let place = Place::new();
    place.mirror_docker_io();
    let containerd =
        Containerd::start(&place.containerd(), |seen| match credential(seen).split(':').next() {
            Some("a") => Reply::Error(2, "one: 401"),
            _ => Reply::Error(5, "own: not found"),
        });
    let _running = place.start(&[]).await;
    place.put("team-a", NGINX, &auth_file(&[("one.example:5000", "a"), ("docker.io", "own")]));
    let answer = place.caller().await.call(PULL, &pull_with_ticket("nginx:1", "team-a")).await;
    assert_eq!(
        credentials(&containerd),
        ["a:pw-a -> http://one.example:5000", "own:pw-own -> https://registry-1.docker.io"]
    );
    assert_eq!(answer.code(), 5);
    assert_eq!(
        answer.message(),
        "own: not found (tried the credentials for one.example:5000/library/nginx: one: 401; then for \
         docker.io/library/nginx: the error above; none for two.example/library/nginx: no credential)"
    );
    assert!(
        !answer.headers.contains_key("grpc-status-details-bin"),
        "a client would believe the old message"
    );
    assert!(place.credentials().is_empty());
}

#[tokio::test]
async fn a_file_that_is_none_fails_the_pull_as_with_cri_o_and_is_gone() {
    let place = Place::new();
    let containerd = Containerd::start(&place.containerd(), |_| Reply::Message(b""));
    let _running = place.start(&[]).await;
    place.put("team-a", NGINX, "wrong");
    let answer = place.caller().await.call(PULL, &pull_with_ticket("nginx", "team-a")).await;
    assert_eq!(answer.code(), 9);
    assert!(
        answer.message().contains("the auth file of namespace team-a for docker.io/library/nginx"),
        "{answer:?}"
    );
    assert!(containerd.seen().is_empty() && place.credentials().is_empty());
}

#[tokio::test]
async fn a_broken_registries_conf_fails_only_pulls_with_a_file() {
    let place = Place::new();
    fs::write(place.path("registries.conf"), "[[registry]\n").unwrap();
    let _containerd = Containerd::start(&place.containerd(), |_| Reply::Message(b""));
    let global = place.path("config.json");
    fs::write(&global, three()).unwrap();
    let mut running = place.start(&["--global-auth-file", global.to_str().unwrap()]).await;
    let caller = place.caller().await;
    assert_eq!(caller.call(PULL, &pull("nginx", "team-a", None)).await.code(), 0);
    running.until_log("pulling without the global auth file").await;
    place.put("team-a", NGINX, &three());
    let answer = caller.call(PULL, &pull_with_ticket("nginx", "team-a")).await;
    assert_eq!(answer.code(), 9);
    assert!(answer.message().contains("registries.conf"), "{}", answer.message());
    assert!(place.credentials().is_empty());
}

#[tokio::test]
async fn an_auth_folder_that_cannot_be_used_stops_no_pull() {
    use std::os::unix::fs::PermissionsExt as _;
    let place = Place::new();
    fs::set_permissions(place.path("auth"), fs::Permissions::from_mode(0o777)).unwrap();
    let _containerd = Containerd::start(&place.containerd(), |_| Reply::Message(b""));
    let mut running = place.start(&[]).await;
    let answer = place.caller().await.call(PULL, &pull("nginx", "team-a", None)).await;
    assert_eq!(answer.code(), 0);
    running.until_log("pulling without auth files").await;
}

#[tokio::test]
async fn the_nodes_own_file_serves_pulls_without_an_auth_file_and_is_read_anew() {
    let place = Place::new();
    place.mirror_docker_io();
    let containerd = Containerd::start(&place.containerd(), |_| Reply::Message(b""));
    let global = place.path("config.json");
    let _running = place.start(&["--global-auth-file", global.to_str().unwrap()]).await;
    let caller = place.caller().await;
    let sent = pull("nginx:1", "team-a", None);
    caller.call(PULL, &sent).await;
    assert_eq!(containerd.seen()[0].body, framed(&sent), "it is not there yet");
    fs::write(&global, auth_file(&[("two.example", "node")])).unwrap();
    caller.call(PULL, &sent).await;
    assert_eq!(credential(&containerd.seen()[1]), "node:pw-node -> https://two.example");
    place.put("team-a", NGINX, &auth_file(&[("two.example", "team")]));
    caller.call(PULL, &pull_with_ticket("nginx:1", "team-a")).await;
    assert_eq!(
        credential(&containerd.seen()[2]),
        "team:pw-team -> https://two.example",
        "the Pod's comes first"
    );
    let own = pull("nginx:1", "team-a", Some(b"\x0a\x01k"));
    caller.call(PULL, &own).await;
    assert_eq!(
        credential(&containerd.seen()[3]),
        "k: -> https://registry-1.docker.io",
        "so do its imagePullSecrets"
    );
    let quay = pull("quay.io/x/y", "team-a", None);
    caller.call(PULL, &quay).await;
    assert_eq!(containerd.seen()[4].body, framed(&quay), "it has nothing for that one");
    assert!(global.exists());
}

#[tokio::test]
async fn many_pulls_of_one_image_each_take_a_file_of_their_own() {
    let place = Place::new();
    let containerd = Containerd::start(&place.containerd(), |_| Reply::Message(b""));
    let _running = place.start(&[]).await;
    let caller = place.caller().await;
    for at in 0..50 {
        let user = format!("u{at}");
        place.put("team-a", NGINX, &auth_file(&[("docker.io", &user)]));
        caller.call(PULL, &pull_with_ticket("nginx", "team-a")).await;
        assert!(place.credentials().is_empty());
        let seen = containerd.seen();
        assert_eq!(
            credential(seen.last().unwrap()),
            format!("{user}:pw-{user} -> https://registry-1.docker.io")
        );
    }
}
