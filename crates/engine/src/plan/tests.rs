//! Plans for whole situations, and what must hold for every plan.

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::credentials::{Absence, Because, Lookup, Secret};
use crate::kubelet::ConfigFile;
use crate::registries::{ConfFile, ShortNameMode};

const MIRRORED: &str = "unqualified-search-registries = ['quay.io']\n\
    [[registry]]\nlocation = 'docker.io'\nblocked = true\n\
    [[registry.mirror]]\nlocation = 'mirror.local/hub'\n\
    [[registry.mirror]]\nlocation = 'digests.local'\npull-from-mirror = 'digest-only'\n";

const ENFORCING: ShortNameRule = ShortNameRule { mode: ShortNameMode::Enforcing, origin: None };

fn registries(text: &str) -> RegistriesConf {
    RegistriesConf::merge([("/etc/containers/registries.conf".into(), ConfFile::parse(text).unwrap())])
}

/// A Secret `name` of namespace `ns` with username `user` for each key.
fn secret(name: &str, keys: &[(&str, &str)]) -> PullSecret {
    let auths: serde_json::Map<_, _> = keys
        .iter()
        .map(|(key, user)| ((*key).to_owned(), json!({"username": user, "password": "canary"})))
        .collect();
    let manifest = json!({
        "apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/dockerconfigjson",
        "metadata": {"name": name, "namespace": "ns"},
        "stringData": {".dockerconfigjson": json!({"auths": auths}).to_string()},
    });
    PullSecret::read(&Secret::from_manifest(&manifest, "ns").unwrap()).unwrap()
}

fn inputs<'a>(image: &'a str, registries: &'a RegistriesConf, secrets: &'a [PullSecret]) -> PullInputs<'a> {
    PullInputs {
        image,
        namespace: "ns",
        secrets,
        global: None,
        registries,
        short_names: &ENFORCING,
        providers: None,
        plugin: "crio-credential-provider",
    }
}

fn provider_config(token: bool) -> CredentialProviderConfig {
    let mut config = json!({
        "kind": "CredentialProviderConfig", "apiVersion": "kubelet.config.k8s.io/v1",
        "providers": [
            {"name": "other", "matchImages": ["*.io"], "defaultCacheDuration": "1m",
             "apiVersion": "credentialprovider.kubelet.k8s.io/v1"},
            {"name": "crio-credential-provider", "matchImages": ["quay.io", "docker.io"],
             "defaultCacheDuration": "0s", "apiVersion": "credentialprovider.kubelet.k8s.io/v1"}
        ]
    });
    if token {
        config["providers"][1]["tokenAttributes"] = json!({
            "serviceAccountTokenAudience": "https://kubernetes.default.svc", "cacheType": "Token",
            "requireServiceAccount": false
        });
    }
    CredentialProviderConfig::load(&[ConfigFile { path: "/c.json", json: config.to_string().as_bytes() }])
        .unwrap()
}

#[test]
fn a_mirror_gets_the_namespace_s_credential_and_every_step_has_its_reason() {
    let registries = registries(MIRRORED);
    let secrets = [
        secret("a", &[("https://mirror.local/v2/", "wide")]),
        secret("b", &[("mirror.local/hub", "narrow")]),
        secret("c", &[("mirror.local/hub", "later")]),
    ];
    let config = provider_config(true);
    let plan =
        plan(&PullInputs { providers: Some(&config), ..inputs("docker.io/nginx:1", &registries, &secrets) })
            .unwrap();

    assert_eq!(plan.asked_as, "docker.io/library/nginx");
    let ProviderMatch { pattern, .. } = match &plan.plugin {
        Invocation::Runs(matched) => matched,
        other => panic!("{other:?}"),
    };
    assert_eq!(pattern, "docker.io");
    assert_eq!(plan.other_providers.len(), 1);
    let [candidate] = plan.candidates.as_slice() else { panic!("{plan:?}") };
    assert_eq!(candidate.governed_by.as_ref().unwrap().prefix, "docker.io");
    let [mirror, by_digest, source] = candidate.sources.as_slice() else { panic!("{candidate:?}") };

    assert_eq!(mirror.source.reference.to_string(), "mirror.local/hub/library/nginx:1");
    let Choice::Namespace { secret, key } = &mirror.credential else { panic!("{mirror:?}") };
    assert_eq!((secret.name.as_str(), key.as_str()), ("b", "mirror.local/hub"));
    let passed_over: Vec<Because> = mirror.shadowed.iter().map(|shadowed| shadowed.because).collect();
    assert_eq!(passed_over, [Because::LaterSecret, Because::LessSpecific]);
    assert!(!by_digest.serves_this_pull);
    assert_eq!(by_digest.credential, Choice::None(Absence::NoKey));
    assert_eq!(source.source.blocked_by.as_deref(), Some("docker.io"));
}

#[test]
fn without_the_plugin_the_namespace_has_no_say() {
    let registries = registries(MIRRORED);
    let secrets = [secret("a", &[("mirror.local", "user")])];
    let config = provider_config(false);
    let without_token =
        PullInputs { providers: Some(&config), ..inputs("docker.io/nginx:1", &registries, &secrets) };
    let planned = plan(&without_token).unwrap();
    assert!(matches!(planned.plugin, Invocation::RunsWithoutToken(_)));
    assert_eq!(planned.candidates[0].sources[0].credential, Choice::None(Absence::NoKey));

    let elsewhere = PullInputs { image: "gcr.io/x/y:1", ..without_token };
    assert!(matches!(plan(&elsewhere).unwrap().plugin, Invocation::NoPatternMatches { .. }));
    let renamed = PullInputs { plugin: "mine", ..without_token };
    assert!(matches!(plan(&renamed).unwrap().plugin, Invocation::NotConfigured { .. }));
}

#[test]
fn a_short_name_is_planned_as_the_runtime_pulls_it() {
    let registries = registries(MIRRORED);
    let plan = plan(&inputs("nginx", &registries, &[])).unwrap();
    assert_eq!(plan.asked_as, "docker.io/library/nginx");
    assert_eq!(plan.candidates[0].sources[0].source.reference.to_string(), "quay.io/nginx:latest");
}

#[test]
fn a_source_that_cannot_be_rewritten_fails_the_pull() {
    let registries =
        registries("[[registry]]\nlocation = 'a.com'\n[[registry.mirror]]\nlocation = 'mirror'\n");
    let plan = plan(&inputs("a.com/x:1", &registries, &[])).unwrap();
    assert_eq!(
        plan.candidates[0].fails.as_deref(),
        Some("rewriting reference: repository name must be canonical")
    );
}

#[test]
fn names_that_are_refused_say_by_whom() {
    let registries = RegistriesConf::default();
    let refused = |image: &str| plan(&inputs(image, &registries, &[])).unwrap_err().to_string();
    assert!(refused("UPPER").starts_with("the kubelet refuses the image name \"UPPER\": "));
    assert!(refused("nginx").starts_with("the runtime refuses the image name: short-name \"nginx\""));
}

/// The auth file as the plugin makes it.
fn auth_file(image: &str, registries: &RegistriesConf, secrets: &[PullSecret]) -> Option<AuthFile> {
    let AnyPull { sources, .. } = any_pull(registries, &Reference::parse(Dialect::Kubelet, image).unwrap());
    let names = sources.iter().map(|source| source.reference.name());
    let content = select(secrets, None, names).auth_file()?;
    Some(AuthFile::parse(content.bytes.expose()).unwrap())
}

#[test]
fn only_what_is_pulled_from_elsewhere_needs_the_plugin() {
    let elsewhere = |conf: &str, image: &str| {
        any_pull(&registries(conf), &Reference::parse(Dialect::Kubelet, image).unwrap()).elsewhere
    };
    assert!(elsewhere(MIRRORED, "docker.io/library/nginx"));
    assert!(!elsewhere(MIRRORED, "quay.io/x/y"));
    assert!(!elsewhere(
        "unqualified-search-registries = ['quay.io', 'docker.io']\n",
        "docker.io/library/nginx"
    ));
    assert!(
        elsewhere("[[registry]]\nprefix = 'a.com'\nlocation = 'b.com'\n", "a.com/x"),
        "a rewrite without mirrors"
    );
}

#[test]
fn the_plugin_s_file_serves_short_names_and_both_kinds_of_pull() {
    let registries = registries(MIRRORED);
    let keys = [("mirror.local", "hub"), ("digests.local", "digests"), ("quay.io", "search")];
    let secrets = [secret("a", &keys)];
    let file = auth_file("docker.io/library/nginx", &registries, &secrets).unwrap();
    for (source, user) in [
        ("mirror.local/hub/library/nginx", "hub"),
        ("digests.local/library/nginx", "digests"),
        ("quay.io/nginx", "search"),
    ] {
        let Lookup::Found { credential, .. } = file.lookup(source) else { panic!("{source}") };
        assert_eq!(credential.username, user.as_bytes());
    }
}

#[test]
fn nothing_of_a_plan_shows_a_password() {
    let registries = registries(MIRRORED);
    let secrets = [secret("a", &[("mirror.local", "user")])];
    let plan = plan(&inputs("nginx", &registries, &secrets)).unwrap();
    let shown = format!("{plan:?} {} {secrets:?}", serde_json::to_string(&plan).unwrap());
    assert!(!shown.contains("canary") && !shown.contains("Y2FuYXJ5"), "{shown}");
}

proptest! {
    /// A Secret's keys are a map: their order in the document says nothing.
    #[test]
    fn the_plan_does_not_depend_on_the_order_of_a_secret_s_keys(
        keys in proptest::collection::vec("(https://)?(mirror\\.local|docker\\.io|quay\\.io)(/hub|/library|/v1/)?", 1..6)
            .prop_map(|mut keys| { keys.sort(); keys.dedup(); keys })
            .prop_flat_map(|keys| (Just(keys.clone()), Just(keys).prop_shuffle())),
    ) {
        let registries = registries(MIRRORED);
        let planned = |keys: &[String]| {
            let pairs: Vec<String> = keys.iter()
                .map(|key| format!("{}:{}", json!(key), json!({"username": key, "password": "p"})))
                .collect();
            let manifest = json!({
                "apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/dockerconfigjson",
                "metadata": {"name": "s", "namespace": "ns"},
                "stringData": {".dockerconfigjson": format!("{{\"auths\":{{{}}}}}", pairs.join(","))},
            });
            let secrets = [PullSecret::read(&Secret::from_manifest(&manifest, "ns").unwrap()).unwrap()];
            let plan = plan(&inputs("docker.io/nginx:1", &registries, &secrets)).unwrap();
            let file = auth_file("docker.io/nginx", &registries, &secrets);
            (plan, file.map(|file| file.document().render()))
        };
        prop_assert_eq!(planned(&keys.0), planned(&keys.1));
    }
}

#[test]
fn a_mirror_is_named_with_the_objects_that_list_it() {
    use crate::mirrors::{self, MirrorSet, MirrorSetKind, MirrorSetRule, RegistrySources};
    let set = |kind, name: &str, source: &str, mirrors: &[&str]| MirrorSet {
        kind,
        name: name.to_owned(),
        rules: vec![MirrorSetRule {
            source: source.to_owned(),
            mirrors: mirrors.iter().map(|mirror| (*mirror).to_owned()).collect(),
            policy: None,
        }],
    };
    let sets = [
        set(MirrorSetKind::ImageDigestMirrorSet, "vendor", "quay.io", &["m.local/quay"]),
        set(MirrorSetKind::ImageDigestMirrorSet, "lab", "quay.io", &["n.local", "m.local/quay"]),
        set(MirrorSetKind::ImageTagMirrorSet, "tags", "quay.io", &["m.local/quay"]),
        set(MirrorSetKind::ImageDigestMirrorSet, "elsewhere", "quay.io/other", &["m.local/quay/team"]),
    ];
    let sources = RegistrySources { insecure: vec!["quay.io/team".to_owned()], ..RegistrySources::default() };
    let file = std::path::Path::new("/etc/containers/registries.conf");
    let conf = mirrors::merge(&mirrors::MergeInputs { sets: &sets, sources: &sources })
        .registries_conf(file.to_owned())
        .unwrap();
    let objects = |image: &str, file: &std::path::Path| {
        let mut plan = plan(&inputs(image, &conf, &[])).unwrap();
        plan.name_objects(&sets, &sources, file);
        let candidate = &plan.candidates[0];
        let names = |objects: &[ObjectName]| objects.iter().map(ToString::to_string).collect::<Vec<_>>();
        let entry = names(&candidate.governed_by.as_ref().unwrap().objects);
        let sources = candidate
            .sources
            .iter()
            .map(|source| format!("{} {:?}", source.source.reference, names(&source.objects)));
        (entry, sources.collect::<Vec<_>>())
    };
    let (entry, by_source) = objects("quay.io/x", file);
    assert_eq!(entry, ["ImageDigestMirrorSet/vendor", "ImageDigestMirrorSet/lab", "ImageTagMirrorSet/tags"]);
    assert_eq!(
        by_source,
        [
            r#"n.local/x:latest ["ImageDigestMirrorSet/lab"]"#,
            r#"m.local/quay/x:latest ["ImageDigestMirrorSet/vendor", "ImageDigestMirrorSet/lab"]"#,
            r#"m.local/quay/x:latest ["ImageTagMirrorSet/tags"]"#,
            r"quay.io/x:latest []",
        ]
    );
    // The entry that only makes a part insecure takes over the mirrors around it.
    let (entry, by_source) = objects("quay.io/team/x", file);
    assert_eq!(entry, ["Image/cluster"]);
    assert_eq!(by_source[2], r#"m.local/quay/team/x:latest ["ImageTagMirrorSet/tags"]"#);
    assert!(
        objects("quay.io/x", std::path::Path::new("/etc/other.conf")).0.is_empty(),
        "another file's entry"
    );
}
