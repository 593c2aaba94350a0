//! Tickets: a pull gets the file of its own ticket, and a ticket reaches nobody else.

use pullwright_handover::Ticket;

use crate::caller::PULL;
use crate::containerd::{Containerd, Reply};
use crate::running::{Place, TICKET, auth_file, pull, pull_with_ticket, ticket};

const NGINX: &str = "docker.io/library/nginx";
const OTHER: &str = "ffeeddccbbaa99887766554433221100";

/// Nothing that containerd was sent has a ticket in it.
fn no_ticket_reached(containerd: &Containerd) {
    for seen in containerd.seen() {
        let body = String::from_utf8_lossy(&seen.body).into_owned();
        assert!(
            !body.contains(TICKET) && !body.contains(OTHER) && !body.contains(Ticket::USERNAME),
            "{body}"
        );
    }
}

#[tokio::test]
async fn a_pull_without_a_ticket_gets_no_file() {
    let place = Place::new();
    let containerd = Containerd::start(&place.containerd(), |_| Reply::Message(b""));
    let _running = place.start(&[]).await;
    let path = place.put("team-a", NGINX, &auth_file(&[("docker.io", "u")]));
    for auth in [None, Some(&b""[..]), Some(b"\x0a\0\x12\0")] {
        assert_eq!(place.caller().await.call(PULL, &pull("nginx", "team-a", auth)).await.code(), 0);
        let seen = containerd.seen();
        assert!(!String::from_utf8_lossy(&seen.last().unwrap().body).contains("pw-u"));
    }
    assert_eq!(place.credentials(), [path]);
}

#[tokio::test]
async fn each_of_many_at_once_gets_the_file_of_its_own_ticket() {
    let place = Place::new();
    let containerd = Containerd::start(&place.containerd(), |_| Reply::Message(b""));
    let _running = place.start(&[]).await;
    let caller = place.caller().await;
    let tickets: Vec<_> = (0..50).map(|at| format!("{at:032x}")).collect();
    for own in &tickets {
        place.put_for(own, "team-a", NGINX, &auth_file(&[("docker.io", own)]));
    }
    let pulls: Vec<_> = tickets
        .iter()
        .rev()
        .map(|own| {
            // The tag says whose pull it is.
            let request = pull(&format!("nginx:{own}"), "team-a", Some(&ticket(own)));
            let caller = caller.clone();
            tokio::spawn(async move { caller.call(PULL, &request).await.code() })
        })
        .collect();
    for pulling in pulls {
        assert_eq!(pulling.await.unwrap(), 0);
    }
    let seen = containerd.seen();
    assert_eq!(seen.len(), tickets.len());
    for seen in seen {
        let body = String::from_utf8_lossy(&seen.body).into_owned();
        let own = tickets.iter().find(|own| body.contains(&format!("nginx:{own}"))).unwrap();
        assert!(body.contains(&format!("pw-{own}")), "{body}");
    }
    assert!(place.credentials().is_empty());
}

#[tokio::test]
async fn a_ticket_whose_file_is_gone_says_so_and_reaches_nobody() {
    let place = Place::new();
    let containerd = Containerd::start(&place.containerd(), |_| Reply::Message(b""));
    let running = place.start(&[]).await;
    let caller = place.caller().await;
    place.put("team-a", NGINX, &auth_file(&[("docker.io", "u")]));
    assert_eq!(caller.call(PULL, &pull_with_ticket("nginx", "team-a")).await.code(), 0, "the first time");
    place.put_for(OTHER, "team-a", NGINX, &auth_file(&[("docker.io", "u")]));
    for (image, namespace) in [("nginx", "team-a"), ("nginx", "team-b"), ("redis", "team-a")] {
        let answer = caller.call(PULL, &pull_with_ticket(image, namespace)).await;
        assert_eq!(answer.code(), 9);
        assert!(answer.message().contains("the credentials for this pull are gone"), "{}", answer.message());
        assert!(!answer.message().contains(TICKET));
    }
    assert_eq!(containerd.seen().len(), 1);
    assert_eq!(place.credentials().len(), 1, "that of another ticket stays");
    no_ticket_reached(&containerd);
    assert!(!running.log().contains(TICKET), "{}", running.log());
}

#[tokio::test]
async fn a_ticket_is_never_passed_on_also_where_its_file_has_nothing_for_the_pull() {
    let place = Place::new();
    let containerd = Containerd::start(&place.containerd(), |_| Reply::Message(b""));
    let _running = place.start(&[]).await;
    let caller = place.caller().await;
    place.put("team-a", NGINX, &auth_file(&[("elsewhere.example", "u")]));
    assert_eq!(caller.call(PULL, &pull_with_ticket("nginx", "team-a")).await.code(), 0);
    assert_eq!(caller.call(PULL, &pull_with_ticket("not a name", "team-a")).await.code(), 0);
    let not_one = pull("nginx", "team-a", Some(&ticket("hunter2")));
    let answer = caller.call(PULL, &not_one).await;
    assert_eq!(answer.code(), 9);
    assert!(answer.message().contains("is not one") && !answer.message().contains("hunter2"), "{answer:?}");
    assert_eq!(containerd.seen().len(), 2);
    no_ticket_reached(&containerd);
}

#[tokio::test]
async fn a_plugin_that_works_as_for_cri_o_is_found_out() {
    let place = Place::new();
    let containerd = Containerd::start(&place.containerd(), |_| Reply::Message(b""));
    let _running = place.start(&[]).await;
    place.put_without_ticket("team-a", NGINX, &auth_file(&[("docker.io", "u")]));
    let answer = place.caller().await.call(PULL, &pull("nginx", "team-a", Some(b"\x0a\0\x12\0"))).await;
    assert_eq!(answer.code(), 9);
    assert!(answer.message().contains("add --deliver ticket"), "{}", answer.message());
    assert!(containerd.seen().is_empty() && place.credentials().is_empty());
}

#[tokio::test]
async fn image_pull_secrets_are_shown_to_the_images_own_registry_only() {
    let place = Place::new();
    place.mirror_docker_io();
    let containerd = Containerd::start(&place.containerd(), |_| Reply::Message(b""));
    let _running = place.start(&[]).await;
    let auth = b"\x0a\x01u\x12\x01p";
    assert_eq!(place.caller().await.call(PULL, &pull("nginx", "team-a", Some(auth))).await.code(), 0);
    let seen = containerd.seen();
    assert!(String::from_utf8_lossy(&seen[0].body).contains("https://registry-1.docker.io"));
}
