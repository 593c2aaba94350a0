//! Secrets that the ServiceAccount names.

use crate::cluster::Cluster;
use crate::inputs::{auths, request, request_with};
use crate::stage::{MIRROR, NAMESPACE};

/// A Role with `resourceNames` suffices, and no Pod can list what is not its own.
#[test]
fn named_by_an_annotation_they_are_got_one_by_one() {
    let cluster = Cluster::new();
    cluster.allow(&["get"], "secrets", &["second", "first"]);
    cluster.put("first", &auths(&[(MIRROR, "first")]));
    cluster.put("second", &auths(&[(MIRROR, "second")]));
    let annotations = [("pullwright.dev/pull-secrets", "missing, second,first, ../../pods, second")];
    let ran = cluster.plugin().args(&["--secrets", "named"]).run(request_with(&cluster.token, &annotations));
    cluster.wrote_for(&ran, "second");
    let path = |name: &str| format!("/api/v1/namespaces/team-a/secrets/{name}");
    assert_eq!(cluster.asked(), [(path("missing"), 403), (path("second"), 200), (path("first"), 200)]);
}

#[test]
fn named_by_the_service_account_they_are_got_one_by_one() {
    let cluster = Cluster::new();
    cluster.allow(&["get"], "serviceaccounts", &["default"]);
    cluster.allow(&["get"], "secrets", &["pull"]);
    cluster.put("pull", &auths(&[(MIRROR, "puller")]));
    cluster.api.put(
        "serviceaccounts",
        serde_json::json!({
            "metadata": {"name": "default", "namespace": NAMESPACE},
            "imagePullSecrets": [{"name": "pull"}],
        }),
    );
    let ran = cluster.plugin().args(&["--secrets", "named"]).run(request(&cluster.token));
    cluster.wrote_for(&ran, "puller");
    assert_eq!(cluster.asked()[0].0, "/api/v1/namespaces/team-a/serviceaccounts/default");
}

#[test]
fn if_none_of_the_named_can_be_had_the_reasons_are_told() {
    let cluster = Cluster::new();
    cluster.allow(&["get"], "secrets", &["opaque", "gone"]);
    cluster.api.put_secret(NAMESPACE, "opaque", "Opaque", "x", b"canary-password");
    let ask = |names: &str| {
        let stdin = request_with(&cluster.token, &[("mine.example/names", names)]);
        let plugin =
            cluster.plugin().args(&["--secrets", "named", "--secrets-annotation", "mine.example/names"]);
        plugin.run(stdin)
    };
    let ran = ask("opaque,gone");
    cluster.failed_with(
        &ran,
        "none of the pull secrets that ServiceAccount team-a/default names can be used: Secret team-a/opaque: its type \
         Opaque is not one of pull secrets; Secret team-a/gone is not there (404)",
    );
    let ran = ask(&["gone"; 9]
        .iter()
        .enumerate()
        .map(|(at, name)| format!("{name}-{at}"))
        .collect::<Vec<_>>()
        .join(","));
    assert!(ran.failed().ends_with("; and 6 more"), "{ran:?}");
    ask(" , ").answered_nothing("None of 0 secret(s) of the namespace fits, will not write any auth file");
}

/// Each name is a request on every start of a Pod, and an annotation has room for many.
#[test]
fn a_megabyte_of_names_is_not_a_megabyte_of_requests() {
    let cluster = Cluster::new();
    cluster.allow(&["get"], "secrets", &[]);
    cluster.put("n1", &auths(&[(MIRROR, "puller")]));
    let names: Vec<_> = (0..150_000).map(|number| format!("n{number}")).collect();
    let annotations = [("pullwright.dev/pull-secrets", names.join(","))];
    let annotations = annotations.each_ref().map(|(key, value)| (*key, value.as_str()));
    assert!(annotations[0].1.len() > 1_000_000);
    let ran = cluster.plugin().args(&["--secrets", "named"]).run(request_with(&cluster.token, &annotations));
    cluster.wrote_for(&ran, "puller");
    assert_eq!(cluster.asked().len(), 64);
}
