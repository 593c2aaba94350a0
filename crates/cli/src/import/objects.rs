//! The imported mirrors as objects of the API.

use std::io::{self, Write};

use pullwright_api::{
    Image, ImageDigestMirrorSet, ImageDigestMirrorSetSpec, ImageSpec, ImageTagMirrorSet,
    ImageTagMirrorSetSpec, MirrorRule, MirrorSourcePolicy, RegistrySources, Scope,
};
use pullwright_engine::containerd::Imported;
use pullwright_engine::mirrors::{self, MirrorSetRule, SourcePolicy};
use serde::Serialize;

/// One object.
#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Object {
    ByDigest(ImageDigestMirrorSet),
    ByTag(ImageTagMirrorSet),
    Image(Box<Image>),
}

impl Object {
    pub(super) fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        if let Self::Image(_) = self {
            writeln!(out, "# A cluster has one Image, and may have it already: add this to it.")?;
        }
        let yaml = serde_saphyr::to_string(self).map_err(io::Error::other)?;
        out.write_all(yaml.as_bytes())
    }
}

/// The objects with this name; empty objects are dropped.
pub(super) fn of(imported: &Imported, name: &str) -> Vec<Object> {
    let by_digest = (!imported.by_digest.is_empty()).then(|| {
        let spec = ImageDigestMirrorSetSpec { image_digest_mirrors: rules(&imported.by_digest) };
        Object::ByDigest(ImageDigestMirrorSet::new(name, spec))
    });
    let by_tag = (!imported.by_tag.is_empty()).then(|| {
        let spec = ImageTagMirrorSetSpec { image_tag_mirrors: rules(&imported.by_tag) };
        Object::ByTag(ImageTagMirrorSet::new(name, spec))
    });
    let image = (imported.sources != mirrors::RegistrySources::default()).then(|| {
        let scopes = |hosts: &[String]| {
            (!hosts.is_empty()).then(|| hosts.iter().cloned().map(Scope).collect::<Vec<_>>())
        };
        let sources = RegistrySources {
            insecure_registries: scopes(&imported.sources.insecure),
            blocked_registries: scopes(&imported.sources.blocked),
            ..RegistrySources::default()
        };
        let spec = ImageSpec { registry_sources: Some(sources), ..ImageSpec::default() };
        Object::Image(Box::new(Image::new("cluster", spec)))
    });
    by_digest.into_iter().chain(by_tag).chain(image).collect()
}

fn rules(rules: &[MirrorSetRule]) -> Vec<MirrorRule> {
    let rule = |rule: &MirrorSetRule| MirrorRule {
        source: rule.source.clone(),
        mirrors: rule.mirrors.clone(),
        mirror_source_policy: rule.policy.map(|policy| match policy {
            SourcePolicy::NeverContactSource => MirrorSourcePolicy::NeverContactSource,
            SourcePolicy::AllowContactingSource => MirrorSourcePolicy::AllowContactingSource,
        }),
    };
    rules.iter().map(rule).collect()
}
