//! The conflict matrix with the three cloud templates, and what the file holds.

use pullwright_engine::kubelet::{ConfigFile, CredentialProviderConfig, ImagePattern};
use serde_json::{Value, json};

use super::*;

const AUDIENCE: &str = "https://kubernetes.default.svc";

fn template(platform: &str) -> Option<Value> {
    Platform::from_openshift(platform).providers()
}

/// The decision and its file, for a node whose own file gets the plugin.
#[derive(Debug, PartialEq)]
struct ProviderConfigPlan {
    file: Option<Value>,
    applied: Vec<String>,
    conflicts: Vec<Conflict>,
    invalid: Vec<InvalidEntry>,
}

fn plan(match_images: &[String], existing: Option<&Value>, audience: &str) -> ProviderConfigPlan {
    let settings =
        PluginSettings { audience: audience.to_owned(), args: Vec::new(), annotation_keys: Vec::new() };
    let ProviderEntries { applied, conflicts, invalid } =
        entries(match_images, &existing.into_iter().collect::<Vec<_>>());
    let file = provider_file(existing, &applied, &settings);
    ProviderConfigPlan { file, applied, conflicts, invalid }
}

fn planned(platform: &str, match_images: &[&str]) -> ProviderConfigPlan {
    let match_images: Vec<_> = match_images.iter().map(|&image| image.to_owned()).collect();
    plan(&match_images, template(platform).as_ref(), AUDIENCE)
}

fn left_out(plan: &ProviderConfigPlan) -> Vec<&str> {
    plan.conflicts.iter().map(|conflict| conflict.entry.as_str()).collect()
}

/// The kubelet's own reading of a file.
fn read(file: &Value) -> CredentialProviderConfig {
    let json = serde_json::to_vec(file).unwrap();
    CredentialProviderConfig::load(&[ConfigFile { path: "generated", json: &json }]).unwrap()
}

fn names(config: &CredentialProviderConfig) -> Vec<&str> {
    config.providers.iter().map(|provider| provider.name.as_str()).collect()
}

#[test]
fn on_a_platform_without_a_provider_the_plugin_is_the_only_one() {
    let plan = planned("None", &["myhost.com", "quay.io"]);
    let config = read(plan.file.as_ref().unwrap());
    let [plugin] = &config.providers[..] else { panic!("{config:?}") };
    assert_eq!(plugin.name, "crio-credential-provider");
    let patterns: Vec<_> = plugin.match_images.iter().map(ImagePattern::as_str).collect();
    assert_eq!(patterns, ["myhost.com", "quay.io"]);
    let token = plugin.token_attributes.as_ref().unwrap();
    assert_eq!((token.audience.as_str(), token.require_service_account), (AUDIENCE, false));
}

#[test]
fn the_plugin_comes_behind_the_clouds_provider_which_is_not_touched() {
    for platform in ["AWS", "GCP", "Azure"] {
        let plan = planned(platform, &["myhost.com", "quay.io"]);
        let file = plan.file.unwrap();
        assert_eq!(file["providers"][0], template(platform).unwrap()["providers"][0], "{platform}");
        assert_eq!(names(&read(&file))[1..], ["crio-credential-provider"], "{platform}");
    }
}

#[test]
fn a_plugin_that_is_there_gets_other_images_and_keeps_its_place() {
    let mut file = template("GCP").unwrap();
    let mut present = planned("None", &["docker.io", "*.example.io"]).file.unwrap()["providers"][0].take();
    present["env"] = json!([{"name": "HTTPS_PROXY", "value": "http://proxy.example.com"}]);
    file["providers"].as_array_mut().unwrap().insert(0, present.clone());
    let plan = plan(&["myhost.com".to_owned()], Some(&file), AUDIENCE);
    present["matchImages"] = json!(["myhost.com"]);
    assert_eq!(plan.file.unwrap()["providers"][0], present);
}

#[test]
fn without_images_there_is_no_file_of_ours() {
    for platform in ["None", "AWS", "GCP", "Azure"] {
        assert_eq!(planned(platform, &[]).file, None, "{platform}");
    }
}

#[test]
fn where_every_entry_conflicts_there_is_no_file_of_ours() {
    let plan = planned("GCP", &["gcr.io", "*.cloud.google.com", "*.gcr.io", "*.pkg.dev"]);
    assert_eq!((plan.file.as_ref(), plan.applied.len()), (None, 0));
    assert_eq!(left_out(&plan), ["*.cloud.google.com", "*.gcr.io", "*.pkg.dev", "gcr.io"]);
}

#[test]
fn entries_that_conflict_are_left_out_and_name_the_other_provider() {
    let plan = planned("GCP", &["gcr.io", "myhost.com", "*.cloud.google.com", "quay.io"]);
    assert_eq!(plan.applied, ["myhost.com", "quay.io"]);
    assert_eq!(left_out(&plan), ["*.cloud.google.com", "gcr.io"]);
    let Conflict { provider, pattern, .. } = &plan.conflicts[0];
    assert_eq!(
        (provider.as_str(), pattern.as_str()),
        ("gcr-credential-provider", "container.cloud.google.com")
    );
}

/// OpenShift's controller compares scopes of registries.conf in place of the kubelet's patterns: it takes the first of these, for
/// which the kubelet then runs two providers, and leaves out the others, for which it would not.
#[test]
fn conflicts_are_those_of_the_kubelets_own_matching() {
    let plan = planned(
        "AWS",
        &[
            "123456789.dkr.ecr.us-east-1.amazonaws.com",
            "*.azurecr.io",
            "*.*.registry.io",
            "registry.io:8080/path",
            "*.com",
            "*.amazonaws.com",
            "*.gov",
        ],
    );
    assert_eq!(left_out(&plan), ["123456789.dkr.ecr.us-east-1.amazonaws.com"]);
    let plan = planned("GCP", &["gcr.io:443", "gcr.io/proj", "us-docker.pkg.dev/p", "*.io", "google.com"]);
    assert_eq!(left_out(&plan), ["*.io", "gcr.io/proj", "us-docker.pkg.dev/p"]);
    let images =
        ["myacr.azurecr.io", "*.azurecr.io", "azurecr.io", "myacr.azurecr.io:443/x", "*.*.azurecr.io"];
    assert_eq!(left_out(&planned("Azure", &images)), ["*.azurecr.io", "myacr.azurecr.io"]);
}

#[test]
fn a_wildcard_for_every_host_is_refused_however_it_is_written() {
    let plan = planned("None", &["*:5000", "*/x", "quay.io"]);
    let refused: Vec<_> = plan.invalid.iter().map(|invalid| (invalid.entry.as_str(), &invalid.why)).collect();
    assert_eq!(refused, [("*/x", &WhyInvalid::EveryHost), ("*:5000", &WhyInvalid::EveryHost)]);
    assert_eq!(plan.applied, ["quay.io"]);
}

#[test]
fn the_same_images_in_another_order_give_the_same_file() {
    let one = planned("GCP", &["quay.io", "docker.io", "quay.io"]);
    assert_eq!(one, planned("GCP", &["docker.io", "quay.io"]));
}
