//! The API server: slow, broken, unwilling, or in the best of health.

use std::net::TcpListener;

use pullwright_testkit::standin::{Fault, Trouble};

use crate::cluster::{Cluster, PULL_SECRET, USER, WHAT};
use crate::inputs::{auths, request, request_with, token};
use crate::journal::Listener;
use crate::stage::{IMAGE, MIRROR, MIRRORED, NAMESPACE};

const LIST: &str = "/api/v1/namespaces/team-a/secrets?fieldSelector=type%21%3DOpaque%2Ctype%21%3D";

#[test]
fn the_list_is_asked_for_with_the_pod_s_token() {
    let cluster = Cluster::with_secret();
    cluster.wrote_for(&cluster.ask(), "puller");
    let asked = cluster.asked();
    assert!(
        asked.len() == 1 && asked[0].0.starts_with(LIST) && asked[0].0.ends_with("&limit=500"),
        "{asked:?}"
    );
    assert!(cluster.api.log().iter().all(|access| access.user.as_deref() == Some(USER)));
}

#[test]
fn secrets_of_both_types_are_one_list_by_name() {
    let cluster = Cluster::new();
    cluster.allow(&["list"], "secrets", &[]);
    cluster.put("b", &auths(&[(MIRROR, "b"), ("docker.io", "b")]));
    let legacy = auths(&[(MIRROR, "a")]).replace("{\"auths\":", "");
    let legacy = legacy.strip_suffix('}').unwrap();
    cluster.api.put_secret(NAMESPACE, "a", "kubernetes.io/dockercfg", ".dockercfg", legacy.as_bytes());
    cluster.put("c", "broken");
    cluster.api.put_secret(NAMESPACE, "opaque", "Opaque", "password", b"canary-password");
    cluster.api.put_secret(
        NAMESPACE,
        "a-rare-type",
        "example.com/rare",
        ".dockerconfigjson",
        b"canary-password",
    );
    cluster.api.put_secret(
        "team-b",
        "theirs",
        PULL_SECRET,
        ".dockerconfigjson",
        auths(&[(MIRROR, "x")]).as_bytes(),
    );
    assert!(cluster.ask().answered().1.ends_with(" with 2 number of entries"));
    let users = ["a", "b"].map(|user| Some(user.to_owned()));
    assert_eq!(cluster.stage.users_for(&[MIRRORED, IMAGE]), users);
}

#[test]
fn ten_thousand_secrets_come_in_pages() {
    let cluster = Cluster::new();
    cluster.allow(&["list"], "secrets", &[]);
    for number in 0..10_000 {
        cluster.put(&format!("s{number:05}"), &auths(&[(&format!("r{number}.example"), "other")]));
    }
    cluster.put("t-the-last", &auths(&[(MIRROR, "puller")]));
    cluster.wrote_for(&cluster.ask(), "puller");
    let pages = cluster.asked().iter().filter(|(path, _)| path.starts_with(LIST)).count();
    assert_eq!(pages, 21);
}

#[test]
fn who_may_not_list_is_told_what_is_missing() {
    let cluster = Cluster::new();
    let ran = cluster.ask();
    cluster.failed_with(
        &ran,
        "secrets is forbidden: User \"system:serviceaccount:team-a:default\" cannot list resource \"secrets\" in API \
         group \"\" in the namespace \"team-a\" (403): give the Pod's service account a Role that allows it",
    );
    assert_eq!(cluster.asked().len(), 1, "asking again would not help");
}

#[test]
fn a_token_for_another_audience_is_told_apart() {
    let cluster = Cluster::with_secret();
    let ran = cluster.plugin().run(request(&token("team-b")));
    let what = "the list of pull secrets in namespace team-b";
    cluster.failed_with(
        &ran,
        &format!(
            "SERVER does not accept the service account's token (401 for {what}): is serviceAccountTokenAudience one of \
             its --api-audiences?"
        ),
    );
}

#[test]
fn a_server_that_never_answers_is_not_waited_for_long() {
    for trouble in [Trouble::NeverAnswers, Trouble::StallAfter(10)] {
        let cluster = Cluster::with_secret();
        cluster.api.inject(Fault::always("", trouble));
        let ran = cluster.plugin().args(&["--api-timeout", "1"]).run(request(&cluster.token));
        cluster.failed_with(&ran, &format!("SERVER did not answer in time for {WHAT}"));
    }
}

/// Nor one that does not even speak TLS, or takes the connection and is silent.
#[test]
fn a_silent_port_is_not_waited_for_long() {
    let cluster = Cluster::with_secret();
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let server = format!("https://{}", silent.local_addr().unwrap());
    let ran =
        cluster.plugin().args(&["--server", &server, "--api-timeout", "1"]).run(request(&cluster.token));
    assert_eq!(ran.failed(), format!("{server} did not answer in time for {WHAT}"));
}

#[test]
fn a_busy_server_is_asked_once_more() {
    for trouble in [Trouble::Status(429, Some(1)), Trouble::Status(503, None), Trouble::Status(500, Some(0))]
    {
        let cluster = Cluster::with_secret();
        cluster.api.inject(Fault::new("", 1, trouble));
        cluster.wrote_for(&cluster.ask(), "puller");
        assert_eq!(cluster.asked().len(), 2);
    }
}

#[test]
fn a_server_that_stays_busy_is_not_asked_for_ever() {
    let cluster = Cluster::with_secret();
    cluster.api.inject(Fault::new("", 2, Trouble::Status(503, None)));
    let ran = cluster.ask();
    let said = "SERVER answered 503 for WHAT: no reason given by SERVER for refusing WHAT";
    cluster.failed_with(&ran, &said.replace("WHAT", WHAT));
    assert_eq!(cluster.asked().len(), 2);
}

/// Longer than anybody would wait: the kubelet asks again by itself.
#[test]
fn a_server_that_is_busy_for_an_hour_is_not_waited_for() {
    let cluster = Cluster::with_secret();
    cluster.api.inject(Fault::always("", Trouble::Status(429, Some(3600))));
    assert!(cluster.ask().failed().contains(" answered 429 "));
    assert_eq!(cluster.asked().len(), 1);
}

#[test]
fn what_is_no_answer_of_an_api_server_is_refused() {
    for body in ["", "{", "<html>canary-password</html>", "[]", "{}", "{\"items\": [{}]}", "{\"items\": {}}"]
    {
        let cluster = Cluster::with_secret();
        cluster.api.inject(Fault::always("", Trouble::Body(body.to_owned())));
        let ran = cluster.ask();
        cluster.failed_with(
            &ran,
            &format!("SERVER answered something that is not {WHAT}: is it an API server?"),
        );
    }
}

#[test]
fn what_is_not_what_it_says_it_is_is_refused() {
    let cluster = Cluster::with_secret();
    let protobuf = Trouble::Header("Content-Type", "application/vnd.kubernetes.protobuf".to_owned());
    cluster.api.inject(Fault::always("", protobuf));
    let ran = cluster.ask();
    cluster.failed_with(&ran, &format!("SERVER answered something that is not {WHAT}: is it an API server?"));
}

/// Servers end connections that they have kept for a while, also between two of our requests.
#[test]
fn a_connection_that_was_kept_and_broke_is_made_again() {
    let cluster = Cluster::with_secret();
    for number in 0..500 {
        cluster.put(&format!("s{number:05}"), &auths(&[(&format!("r{number}.example"), "other")]));
    }
    cluster.api.inject(Fault::new("continue", 1, Trouble::CutAfter(0)));
    cluster.wrote_for(&cluster.ask(), "puller");
    assert_eq!(cluster.asked().len(), 3);
}

#[test]
fn the_words_of_a_server_cannot_break_the_line() {
    let cluster = Cluster::with_secret();
    let message = format!("no\nforged line\u{1b}[2J{}", "x".repeat(10_000));
    let body = serde_json::json!({ "message": message }).to_string();
    cluster.api.inject(Fault::always("", Trouble::Says(403, body)));
    assert!(cluster.ask().failed().starts_with("noforged line[2Jxxx"));
}

/// Some servers repeat what they do not accept. A canary is in the token's signature, and no output may hold it.
#[test]
fn a_token_that_the_server_repeats_is_not_told() {
    for status in [403, 409] {
        let cluster = Cluster::with_secret();
        let (half, _) = cluster.token.split_at(cluster.token.len() - 4);
        let message = format!("token {} and {half}… are not good", cluster.token);
        let body = serde_json::json!({ "message": message }).to_string();
        cluster.api.inject(Fault::always("", Trouble::Says(status, body)));
        let journal = Listener::new(&cluster.stage);
        let ran = cluster.ask();
        let (said, last) = (ran.failed(), journal.entries());
        assert!(
            said.contains("token e30.[redacted].[redacted] and e30.[redacted].[redacted]… are"),
            "{said}"
        );
        let told = &last.last().expect("an entry")["MESSAGE"];
        assert!(told.ends_with(said), "{told}");
        for part in cluster.token.split('.').skip(1) {
            assert!(!told.contains(part) && !said.contains(part), "{told}");
        }
    }
}

/// A value that is `null` is none, in every encoding that the API server has.
#[test]
fn a_value_that_is_null_hurts_nobody() {
    for in_protobuf in [false, true] {
        let cluster = Cluster::with_secret();
        cluster.allow(&["get"], "secrets", &[]);
        let null = |name: &str, data: serde_json::Value| {
            let metadata = serde_json::json!({"name": name, "namespace": NAMESPACE});
            let secret = serde_json::json!({"metadata": metadata, "type": PULL_SECRET, "data": data});
            cluster.api.put("secrets", secret);
        };
        let content = pullwright_golang::base64::encode(auths(&[("docker.io", "hub")]).as_bytes());
        null("a", serde_json::json!({".dockerconfigjson": null}));
        null("b", serde_json::json!({".dockerconfigjson": content, "other": null}));
        null("c", serde_json::Value::Null);
        if in_protobuf {
            cluster.api.speak_protobuf();
        }
        let users = ["puller", "hub"].map(|user| Some(user.to_owned()));
        assert!(cluster.ask().answered().1.ends_with(" with 2 number of entries"));
        assert_eq!(cluster.stage.users_for(&[MIRRORED, IMAGE]), users);
        let named = [("pullwright.dev/pull-secrets", "a,b,c")];
        let stage = crate::stage::Stage::new();
        let plugin = cluster.plugin_on(&stage).args(&["--secrets", "named"]);
        assert!(
            plugin
                .run(request_with(&cluster.token, &named))
                .answered()
                .1
                .ends_with(" with 1 number of entries")
        );
    }
}

#[test]
fn an_answer_without_end_is_not_read_to_its_end() {
    let cluster = Cluster::with_secret();
    cluster.api.inject(Fault::always("", Trouble::Huge(1 << 40)));
    let ran = cluster.ask();
    cluster.failed_with(&ran, &format!("{WHAT} has more than 8 MiB"));
    assert!(cluster.asked()[1].0.ends_with("&limit=4"), "few Secrets may be less");
    cluster.allow(&["get"], "serviceaccounts", &["default"]);
    let ran = cluster.plugin().args(&["--secrets", "named"]).run(request(&cluster.token));
    cluster.failed_with(&ran, "ServiceAccount team-a/default has more than 4 MiB");
}

#[test]
fn an_answer_that_breaks_off_is_not_half_used() {
    let cluster = Cluster::with_secret();
    cluster.api.inject(Fault::always("", Trouble::CutAfter(100)));
    let ran = cluster.ask();
    assert!(ran.failed().starts_with(&format!("asking {} for {WHAT}: ", cluster.api.url())), "{ran:?}");
    assert!(!cluster.stage.auth_dir().exists());
}
