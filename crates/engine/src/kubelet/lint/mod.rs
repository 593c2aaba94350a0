//! Checks a `CredentialProviderConfig`: finds what the kubelet refuses, and what it accepts although it does not do what the
//! author wants.

use std::collections::HashSet;

use super::PLUGIN;
use super::config::{CredentialProviderConfig, Provider, TokenCacheType};
use super::decode::decode;
use super::validate::validate;
use pullwright_findings::{DocPath, Finding, rules};
use pullwright_golang::duration::Duration;
use pullwright_golang::quote::quote;

mod pattern;
mod pulls;

pub use pulls::{Pulls, pulls};

/// Returns all findings about one file, given as JSON: errors if the kubelet would not start, warnings otherwise.
///
/// [`CredentialProviderConfig::load`] finds names that occur in two files.
#[must_use]
pub fn lint(json: &[u8]) -> Vec<Finding> {
    let raw = match decode(json) {
        Ok(raw) => raw,
        Err(error) => {
            let finding = |(at, message)| Finding::new(&rules::kubelet::DECODE, at, message);
            return error.faults().into_iter().map(finding).collect();
        }
    };
    let providers = DocPath::root().key("providers");
    let mut findings = Vec::new();
    let mut names = HashSet::new();
    for (index, provider) in raw.iter().enumerate() {
        if !names.insert(provider.name.as_str()) {
            let at = providers.index(index).key("name");
            let message =
                format!("duplicate provider name {} found in configuration file(s)", quote(&provider.name));
            findings.push(Finding::new(&rules::kubelet::DUPLICATE_NAME, at, message));
        }
    }
    match validate(raw) {
        Ok(config) => findings.extend(warnings(&config)),
        Err(violations) => {
            // The kubelet does not get this far if a name occurs twice.
            let told = |message: &str| message.starts_with("providers.name: Duplicate value");
            let broken = violations.into_iter().filter(|violation| !told(&violation.message));
            findings.extend(broken.map(|it| Finding::new(&rules::kubelet::INVALID, it.at, it.message)));
        }
    }
    findings
}

/// Reports settings that the kubelet accepts but that are most likely mistakes.
#[must_use]
pub fn warnings(config: &CredentialProviderConfig) -> Vec<Finding> {
    let providers = DocPath::root().key("providers");
    let mut findings = Vec::new();
    for (index, provider) in config.providers.iter().enumerate() {
        let at = providers.index(index);
        if provider.name.is_empty() {
            let message = "a provider without a name has no executable: the kubelet does not start";
            findings.push(Finding::new(&rules::kubelet::EMPTY_NAME, at.key("name"), message));
        }
        findings.extend(pattern_warnings(&at.key("matchImages"), provider));
        if provider.name == PLUGIN {
            findings.extend(our_provider_warnings(&at, provider));
        }
    }
    findings
}

fn pattern_warnings(at: &DocPath, provider: &Provider) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (index, pattern) in provider.match_images.iter().enumerate() {
        let at = at.index(index);
        if provider.match_images[..index].contains(pattern) {
            let message = format!("`{pattern}` is listed twice");
            findings.push(Finding::new(&rules::kubelet::REPEATED_PATTERN, at, message));
        } else {
            findings.extend(pattern::warning(&at, pattern));
        }
    }
    findings
}

fn our_provider_warnings(at: &DocPath, provider: &Provider) -> Vec<Finding> {
    const SECOND: Duration = Duration::from_nanos(1_000_000_000);
    let mut findings = Vec::new();
    if provider.default_cache_duration > SECOND {
        let message = format!(
            "{PLUGIN} writes a file for each pull, and for {} the kubelet may not ask it again: a second image of the same registry is then pulled without credentials",
            provider.default_cache_duration
        );
        findings.push(Finding::new(
            &rules::kubelet::CACHED_PROVIDER,
            at.key("defaultCacheDuration"),
            message,
        ));
    }
    let attributes_at = at.key("tokenAttributes");
    match &provider.token_attributes {
        None => {
            let message = format!("{PLUGIN} gets no token, and cannot read Secrets without one");
            findings.push(Finding::new(&rules::kubelet::PROVIDER_WITHOUT_TOKEN, attributes_at, message));
        }
        Some(attributes) if attributes.cache_type == TokenCacheType::ServiceAccount => {
            let message = "with cacheType ServiceAccount, the kubelet uses the answer for one Pod for the pull of another, for which no file was written";
            findings.push(Finding::new(
                &rules::kubelet::SHARED_CACHE,
                attributes_at.key("cacheType"),
                message,
            ));
        }
        Some(_) => {}
    }
    findings
}

#[cfg(test)]
mod tests;
