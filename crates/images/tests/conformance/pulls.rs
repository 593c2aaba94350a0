//! Pulls with an auth file: containerd shows each credential to the one host that it is for.

use std::fs;
use std::time::Duration;

use pullwright_testkit::standin::{Fault, Login, Registry, Setup, Trouble};

use crate::running::{auth_file, pull_with_ticket};
use crate::world::{World, registry};

fn private(login: Login, user: &str, password: &str) -> Registry {
    registry(Setup { login, users: &[(user, password)], ..Setup::default() }, 2)
}

/// Mirrors for `docker.io/app`, in both files.
fn mirrored(place: &crate::running::Place, mirrors: &[&Registry]) {
    let conf =
        mirrors.iter().map(|mirror| format!("[[registry.mirror]]\nlocation = \"{}\"\n", mirror.address()));
    let conf = format!(
        "[[registry]]\nprefix = \"registry.example\"\nlocation = \"registry.example\"\n{}",
        conf.collect::<String>()
    );
    fs::write(place.path("registries.conf"), conf).unwrap();
    let hosts = mirrors.iter().map(|mirror| format!("[host.\"http://{}\"]\n", mirror.address()));
    // The registry itself is a port of this machine that nobody listens on: no test leaves the machine.
    let hosts = format!("server = \"http://127.0.0.1:9\"\n{}", hosts.collect::<String>());
    fs::create_dir(place.path("certs.d/registry.example")).unwrap();
    fs::write(place.path("certs.d/registry.example/hosts.toml"), hosts).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn each_mirror_is_shown_its_own_credential_and_no_other() {
    for login in [Login::Basic, Login::Token] {
        // The first mirror does not have the image that is pulled second.
        let (first, second) = (private(login, "a", "pw-a"), private(login, "b", "pw-b"));
        let world = World::start(|place| mirrored(place, &[&first, &second])).await;
        let file = auth_file(&[(&first.address(), "a"), (&second.address(), "b")]);
        world.place.put("team-a", "registry.example/app", &file);
        let answer =
            world.through.call("PullImage", &pull_with_ticket("registry.example/app:0", "team-a")).await;
        assert_eq!(answer.code(), 0, "{login:?}: {}", answer.message());
        assert!(world.place.credentials().is_empty());
        let shown =
            |registry: &Registry| registry.log().iter().filter(|access| access.shown.is_some()).count();
        assert!(shown(&first) > 0 && shown(&second) == 0, "{login:?}: {:?}", second.log());

        // Only the second has a credential: the first is asked without one, and refuses.
        let before = shown(&first);
        world.place.put("team-a", "registry.example/app", &auth_file(&[(&second.address(), "b")]));
        let answer =
            world.through.call("PullImage", &pull_with_ticket("registry.example/app:1", "team-a")).await;
        assert_eq!(answer.code(), 0, "{login:?}: {}", answer.message());
        assert_eq!(shown(&first), before, "{login:?}: {:?}", first.log());
        assert!(shown(&second) > 0);
        let log = world.service.log();
        assert!(!log.contains("pw-"), "{log}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_credential_is_followed_by_the_next_and_every_reason_is_told() {
    let (first, second) = (private(Login::Basic, "a", "other"), private(Login::Basic, "b", "other"));
    let world = World::start(|place| mirrored(place, &[&first, &second])).await;
    let file = auth_file(&[(&first.address(), "a"), (&second.address(), "b")]);
    world.place.put("team-a", "registry.example/app", &file);
    let answer = world.through.call("PullImage", &pull_with_ticket("registry.example/app:0", "team-a")).await;
    assert_ne!(answer.code(), 0);
    let said = answer.message();
    for mirror in [&first, &second] {
        assert!(said.contains(&format!("for {}/app: ", mirror.address())), "{said}");
        assert!(mirror.log().iter().any(|access| access.shown.is_some() && access.status == 401));
    }
    assert!(said.contains("none for registry.example/app: no credential"), "{said}");
    assert!(!said.contains("pw-"), "{said}");
    assert!(world.place.credentials().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pull_that_is_cancelled_stops_containerd_as_well() {
    let registry = private(Login::Basic, "a", "pw-a");
    registry.inject(Fault { path: "/blobs/".to_owned(), times: u32::MAX, trouble: Trouble::NeverAnswers });
    let world = World::start(|place| mirrored(place, &[&registry])).await;
    world.place.put("team-a", "registry.example/app", &auth_file(&[(&registry.address(), "a")]));
    let caller = world.through.clone();
    let pulling = tokio::spawn(async move {
        caller.call("PullImage", &pull_with_ticket("registry.example/app:0", "team-a")).await
    });
    let until = async |waiting: bool| {
        let begun = std::time::Instant::now();
        while (registry.outwaited() > 0) != waiting {
            assert!(begun.elapsed() < Duration::from_mins(1), "{:?}", registry.log());
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    until(true).await;
    assert!(world.place.credentials().is_empty());
    pulling.abort();
    // containerd hangs up: nobody waits for the layer any more.
    until(false).await;
}
