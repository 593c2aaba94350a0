use serde::Deserialize;

use super::*;

/// A document and what the kubelet says to it; the texts were asked of the kubelet's own code.
#[derive(Deserialize)]
struct Refused {
    claim: String,
    document: String,
    refusal: String,
}

const REFUSALS: &str = include_str!("../../../testdata/kubelet/configs-the-kubelet-refuses.json");
const COMPLETE: &str = include_str!("../../../testdata/kubelet/config-v1-with-every-field.json");

fn load(json: &str) -> Result<CredentialProviderConfig, ConfigError> {
    CredentialProviderConfig::load(&[ConfigFile { path: "providers.json", json: json.as_bytes() }])
}

#[test]
fn the_kubelets_refusals_are_repeated_word_for_word() {
    let refusals: Vec<Refused> = serde_json::from_str(REFUSALS).unwrap();
    assert_eq!(refusals.len(), 55);
    for Refused { claim, document, refusal } in refusals {
        let found = load(&document).expect_err(&claim);
        assert_eq!(found.to_string(), refusal, "{claim}");
    }
}

#[test]
fn every_field_is_read() {
    let config = load(COMPLETE).unwrap();
    let [ecr, other] = &config.providers[..] else { panic!("two providers") };
    assert_eq!(ecr.name, "ecr-credential-provider");
    assert_eq!(
        ecr.match_images.iter().map(ImagePattern::as_str).collect::<Vec<_>>(),
        ["*.dkr.ecr.*.amazonaws.com", "quay.io"]
    );
    assert_eq!(ecr.default_cache_duration.to_string(), "12h0m0s");
    assert_eq!((ecr.api_version, &ecr.args[..]), (ApiVersion::V1, &["get-credentials".to_owned()][..]));
    assert_eq!((ecr.env[0].name.as_str(), ecr.env[0].value.expose().as_str()), ("AWS_PROFILE", "hush"));
    let attributes = ecr.token_attributes.as_ref().unwrap();
    assert_eq!(attributes.audience, "sts.amazonaws.com");
    assert_eq!(attributes.cache_type, TokenCacheType::Token);
    assert!(attributes.require_service_account);
    assert_eq!(attributes.required_annotation_keys, ["eks.amazonaws.com/role-arn"]);
    assert_eq!(attributes.optional_annotation_keys, ["eks.amazonaws.com/Region"]);
    assert_eq!((other.api_version, &other.token_attributes), (ApiVersion::V1Alpha1, &None));
    assert!(!format!("{config:?}").contains("hush"));
}

#[test]
fn all_three_versions_of_the_file_are_read() {
    for version in ["v1alpha1", "v1beta1", "v1"] {
        let document = format!(
            r#"{{"apiVersion":"kubelet.config.k8s.io/{version}","kind":"CredentialProviderConfig","providers":[{{"name":"a",
            "matchImages":["a.io"],"defaultCacheDuration":"0","apiVersion":"credentialprovider.kubelet.k8s.io/v1beta1"}}]}}"#
        );
        assert_eq!(load(&document).unwrap().providers[0].name, "a");
    }
}

#[test]
fn files_of_a_folder_are_read_in_order_and_share_one_set_of_names() {
    let file =
        |name: &str| COMPLETE.replace("ecr-credential-provider", name).replace("other", &format!("{name}2"));
    let (first, second) = (file("z"), file("a"));
    let files = [&first, &second].map(|json| ConfigFile { path: "x", json: json.as_bytes() });
    let config = CredentialProviderConfig::load(&files).unwrap();
    assert_eq!(
        config.providers.iter().map(|it| it.name.as_str()).collect::<Vec<_>>(),
        ["z", "z2", "a", "a2"]
    );
    let twice = CredentialProviderConfig::load(&[files[0], files[0]]).unwrap_err();
    assert_eq!(twice.to_string(), r#"duplicate provider name "z" found in configuration file(s)"#);
}

#[test]
fn only_three_endings_count_and_order_is_by_byte() {
    let names =
        ["b.yaml", "a.yml", "README", "c.YAML", ".json", "10.json", "9.json", "x.json.bak", ".hidden.yaml"];
    assert_eq!(config_files(names), [".hidden.yaml", ".json", "10.json", "9.json", "a.yml", "b.yaml"]);
    assert_eq!(
        ConfigError::NoFiles("/etc/kubelet".into()).to_string(),
        r#"no configuration files found in directory "/etc/kubelet""#
    );
}

#[test]
fn the_providers_that_run_are_named_with_their_first_matching_pattern() {
    let config = load(COMPLETE).unwrap();
    let invoked = |image| -> Vec<_> {
        config
            .invoked(image)
            .iter()
            .map(|(provider, pattern)| (provider.name.as_str(), pattern.as_str()))
            .collect()
    };
    assert_eq!(invoked("quay.io/a/b"), [("ecr-credential-provider", "quay.io"), ("other", "*.io")]);
    assert_eq!(
        invoked("1.dkr.ecr.eu.amazonaws.com/a"),
        [("ecr-credential-provider", "*.dkr.ecr.*.amazonaws.com")]
    );
    assert_eq!(invoked("ghcr.io:443/a"), []);
    assert_eq!(invoked("not an image"), []);
}
