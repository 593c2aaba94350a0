//! Decodes a manifest into the engine's values as strictly as the API server does: a value of the wrong type refuses the object, an
//! unknown field is ignored.

use pullwright_engine::mirrors::{MirrorSet, MirrorSetKind, MirrorSetRule, RegistrySources, SourcePolicy};
use pullwright_findings::{DocPath, Finding, rules};
use serde_json::{Map, Value};

/// What an object says, if it can be used at all, and what is wrong with how it is written.
pub(super) struct Decoded<T> {
    pub(super) value: Option<T>,
    pub(super) findings: Vec<Finding>,
}

const KINDS: [MirrorSetKind; 3] = [
    MirrorSetKind::ImageDigestMirrorSet,
    MirrorSetKind::ImageTagMirrorSet,
    MirrorSetKind::ImageContentSourcePolicy,
];
const OBJECT: [&str; 5] = ["apiVersion", "kind", "metadata", "spec", "status"];

pub(super) fn mirror_set(kind: MirrorSetKind, name: &str, object: &Value) -> Decoded<MirrorSet> {
    let mut reader = Reader::default();
    let rules = reader.rules(kind, object);
    reader.decoded(MirrorSet { kind, name: name.to_owned(), rules })
}

pub(super) fn registry_sources(object: &Value) -> Decoded<RegistrySources> {
    let mut reader = Reader::default();
    let sources = reader.sources(object);
    reader.decoded(sources)
}

/// Follows a document and notes what is not as it must be.
#[derive(Default)]
struct Reader {
    findings: Vec<Finding>,
    refused: bool,
}

impl Reader {
    /// What was read, unless a part of it had to be left out: the API server takes an object whole or not at all.
    fn decoded<T>(self, value: T) -> Decoded<T> {
        Decoded { value: (!self.refused).then_some(value), findings: self.findings }
    }

    fn rules(&mut self, kind: MirrorSetKind, object: &Value) -> Vec<MirrorSetRule> {
        let Some((at, spec)) = self.spec(object) else { return Vec::new() };
        let field = kind.rules_field();
        self.known(&at, spec, &[field], |name| {
            match KINDS.into_iter().find(|kind| kind.rules_field() == name) {
                Some(other) => {
                    format!("{name} is the list of {}; that of {} is {field}", other.as_str(), kind.as_str())
                }
                None => format!("{} has only {field}", kind.as_str()),
            }
        });
        let items = self.list(&at.key(field), spec.get(field));
        items.into_iter().filter_map(|(at, item)| self.rule(kind, &at, item)).collect()
    }

    fn rule(&mut self, kind: MirrorSetKind, at: &DocPath, item: &Value) -> Option<MirrorSetRule> {
        let item = self.map(at, item)?;
        let fields: &[_] = match kind {
            MirrorSetKind::ImageContentSourcePolicy => &["source", "mirrors"],
            MirrorSetKind::ImageDigestMirrorSet | MirrorSetKind::ImageTagMirrorSet => {
                &["source", "mirrors", "mirrorSourcePolicy"]
            }
        };
        self.known(at, item, fields, |name| match name {
            "mirrorSourcePolicy" => "ImageDigestMirrorSet has it".to_owned(),
            _ => format!("known here: {}", fields.join(", ")),
        });
        let source =
            self.required(at, item, "source").and_then(|source| self.text(&at.key("source"), source));
        let mirrors = self.texts(&at.key("mirrors"), item.get("mirrors"));
        let policy = present(item.get("mirrorSourcePolicy"))
            .filter(|_| fields.contains(&"mirrorSourcePolicy"))
            .and_then(|policy| self.policy(&at.key("mirrorSourcePolicy"), policy));
        Some(MirrorSetRule { source: source?, mirrors, policy })
    }

    fn policy(&mut self, at: &DocPath, value: &Value) -> Option<SourcePolicy> {
        match self.text(at, value)?.as_str() {
            "NeverContactSource" => Some(SourcePolicy::NeverContactSource),
            "AllowContactingSource" => Some(SourcePolicy::AllowContactingSource),
            other => {
                let message = format!("there is no mirrorSourcePolicy {other:?}");
                self.refuse(Finding::new(&rules::mirrors::POLICY_VALUE, at.clone(), message));
                None
            }
        }
    }

    fn sources(&mut self, object: &Value) -> RegistrySources {
        const LISTS: [&str; 4] = [
            "insecureRegistries",
            "blockedRegistries",
            "allowedRegistries",
            "containerRuntimeSearchRegistries",
        ];
        let mut sources = RegistrySources::default();
        let Some((at, spec)) = self.spec(object) else { return sources };
        self.rest_of_image(&at, spec);
        let at = at.key("registrySources");
        let Some(lists) = present(spec.get("registrySources")) else { return sources };
        let Some(lists) = self.map(&at, lists) else { return sources };
        self.known(&at, lists, &LISTS, |_| format!("known here: {}", LISTS.join(", ")));
        let [insecure, blocked, allowed, search] =
            LISTS.map(|list| present(lists.get(list)).map(|value| self.texts(&at.key(list), Some(value))));
        sources.insecure = insecure.unwrap_or_default();
        sources.blocked = blocked.unwrap_or_default();
        sources.allowed = allowed.unwrap_or_default();
        sources.search = search;
        sources
    }

    /// The fields of an Image that mean nothing here. The API server checks them all the same, and refuses the object for one.
    fn rest_of_image(&mut self, at: &DocPath, spec: &Map<String, Value>) {
        if let Some(config_map) = present(spec.get("additionalTrustedCA")) {
            let at = at.key("additionalTrustedCA");
            let name = self.map(&at, config_map).and_then(|map| self.required(&at, map, "name"));
            name.map(|name| self.text(&at.key("name"), name));
        }
        let at_locations = at.key("allowedRegistriesForImport");
        for (at, location) in self.list(&at_locations, spec.get("allowedRegistriesForImport")) {
            let Some(location) = self.map(&at, location) else { continue };
            present(location.get("domainName")).map(|name| self.text(&at.key("domainName"), name));
            present(location.get("insecure")).map(|flag| self.flag(&at.key("insecure"), flag));
        }
        self.texts(&at.key("externalRegistryHostnames"), spec.get("externalRegistryHostnames"));
        if let Some(mode) = present(spec.get("imageStreamImportMode")) {
            let at = at.key("imageStreamImportMode");
            let mode = self.text(&at, mode);
            if let Some(mode) =
                mode.filter(|mode| !["", "Legacy", "PreserveOriginal"].contains(&mode.as_str()))
            {
                let message = format!("there is no imageStreamImportMode {mode:?}");
                let finding = Finding::new(&rules::mirrors::TYPE, at, message);
                self.refuse(finding.with_help("use Legacy or PreserveOriginal, or remove the field"));
            }
        }
    }

    /// Labels and annotations are texts, which the API server insists on.
    fn metadata(&mut self, object: &Map<String, Value>) {
        let at = DocPath::root().key("metadata");
        let Some(metadata) = present(object.get("metadata")).and_then(Value::as_object) else { return };
        for field in ["labels", "annotations"] {
            let at = at.key(field);
            let Some(texts) = present(metadata.get(field)).and_then(|texts| self.map(&at, texts)) else {
                continue;
            };
            // At the map, because a message does not show the name: any text can be one.
            for text in texts.values().filter(|text| !text.is_string()) {
                self.wrong_type::<()>(&at, "text for each name", text);
            }
        }
    }

    /// The `spec`, with its place.
    fn spec<'v>(&mut self, object: &'v Value) -> Option<(DocPath, &'v Map<String, Value>)> {
        let root = DocPath::root();
        let object = self.map(&root, object)?;
        self.known(&root, object, &OBJECT, |_| format!("known here: {}", OBJECT.join(", ")));
        self.metadata(object);
        let spec = self.required(&root, object, "spec")?;
        let at = root.key("spec");
        self.map(&at, spec).map(|spec| (at, spec))
    }

    fn required<'v>(&mut self, at: &DocPath, map: &'v Map<String, Value>, name: &str) -> Option<&'v Value> {
        let value = present(map.get(name));
        if value.is_none() {
            let missing = Finding::new(&rules::mirrors::REQUIRED, at.clone(), format!("{name} is missing"));
            self.refuse(match name {
                "source" => missing.with_help("name the registry or repository that the mirrors stand for"),
                _ => missing,
            });
        }
        value
    }

    /// A name that nothing reads is a mistake, and kubectl refuses it; what is beside it still counts.
    fn known(
        &mut self,
        at: &DocPath,
        map: &Map<String, Value>,
        names: &[&str],
        help: impl Fn(&str) -> String,
    ) {
        for name in map.keys().filter(|name| !names.contains(&name.as_str())) {
            let at = at.key(name);
            let message = format!("unknown field \"{at}\"");
            self.findings
                .push(Finding::new(&rules::mirrors::UNKNOWN_FIELD, at, message).with_help(help(name)));
        }
    }

    fn map<'v>(&mut self, at: &DocPath, value: &'v Value) -> Option<&'v Map<String, Value>> {
        value.as_object().or_else(|| self.wrong_type(at, "an object", value))
    }

    fn text(&mut self, at: &DocPath, value: &Value) -> Option<String> {
        value.as_str().map(str::to_owned).or_else(|| self.wrong_type(at, "text", value))
    }

    fn flag(&mut self, at: &DocPath, value: &Value) -> Option<bool> {
        value.as_bool().or_else(|| self.wrong_type(at, "true or false", value))
    }

    fn texts(&mut self, at: &DocPath, value: Option<&Value>) -> Vec<String> {
        self.list(at, value).into_iter().filter_map(|(at, item)| self.text(&at, item)).collect()
    }

    /// The items with their places; empty if the field is absent.
    fn list<'v>(&mut self, at: &DocPath, value: Option<&'v Value>) -> Vec<(DocPath, &'v Value)> {
        let Some(value) = present(value) else { return Vec::new() };
        let items = value.as_array().or_else(|| self.wrong_type(at, "a list", value));
        items.into_iter().flatten().enumerate().map(|(index, item)| (at.index(index), item)).collect()
    }

    fn wrong_type<T>(&mut self, at: &DocPath, expected: &str, found: &Value) -> Option<T> {
        let found = match found {
            Value::Null => "nothing",
            Value::Bool(_) => "a boolean",
            Value::Number(_) => "a number",
            Value::String(_) => "text",
            Value::Array(_) => "a list",
            Value::Object(_) => "an object",
        };
        let finding =
            Finding::new(&rules::mirrors::TYPE, at.clone(), format!("expected {expected}, found {found}"));
        let quotes = expected.starts_with("text") && ["a boolean", "a number"].contains(&found);
        self.refuse(if quotes { finding.with_help("put it in quotes") } else { finding });
        None
    }

    fn refuse(&mut self, finding: Finding) {
        self.findings.push(finding);
        self.refused = true;
    }
}

/// The API server takes null for absent.
fn present(value: Option<&Value>) -> Option<&Value> {
    value.filter(|value| !value.is_null())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn told<T>(decoded: &Decoded<T>) -> Vec<String> {
        decoded.findings.iter().map(|finding| format!("{}: {}", finding.at, finding.message)).collect()
    }

    #[test]
    fn an_object_is_read_with_the_places_of_its_list() {
        let set = mirror_set(
            MirrorSetKind::ImageTagMirrorSet,
            "a",
            &json!({"spec": {"imageTagMirrors": [
                {"source": "a.io", "mirrors": ["b.io", "c.io"], "mirrorSourcePolicy": "NeverContactSource"},
                {"source": "d.io", "mirrors": null},
            ]}}),
        );
        assert_eq!(told(&set), [""; 0]);
        let rules = set.value.unwrap().rules;
        assert_eq!(rules[0].mirrors, ["b.io", "c.io"]);
        assert_eq!(rules[0].policy, Some(SourcePolicy::NeverContactSource));
        assert_eq!((rules[1].mirrors.len(), rules[1].policy), (0, None));
    }

    #[test]
    fn what_has_the_wrong_type_refuses_the_object_and_says_where() {
        for (spec, expected) in [
            (json!(null), ": spec is missing"),
            (json!([]), "spec: expected an object, found a list"),
            (json!({"imageDigestMirrors": {}}), "spec.imageDigestMirrors: expected a list, found an object"),
            (
                json!({"imageDigestMirrors": ["a.io"]}),
                "spec.imageDigestMirrors[0]: expected an object, found text",
            ),
            (
                json!({"imageDigestMirrors": [{"mirrors": []}]}),
                "spec.imageDigestMirrors[0]: source is missing",
            ),
            (
                json!({"imageDigestMirrors": [{"source": "a.io", "mirrors": ["b.io", 5000]}]}),
                "spec.imageDigestMirrors[0].mirrors[1]: expected text, found a number",
            ),
            (
                json!({"imageDigestMirrors": [{"source": "a.io", "mirrorSourcePolicy": "Never"}]}),
                "spec.imageDigestMirrors[0].mirrorSourcePolicy: there is no mirrorSourcePolicy \"Never\"",
            ),
        ] {
            let set = mirror_set(MirrorSetKind::ImageDigestMirrorSet, "a", &json!({"spec": spec}));
            assert_eq!(told(&set), [expected]);
            assert!(set.value.is_none(), "{expected}");
        }
    }

    #[test]
    fn a_name_that_nothing_reads_leaves_the_rest() {
        let rule = json!({"source": "a.io", "mirrors": ["b.io"], "mirrorSourcePolicy": "NeverContactSource"});
        let spec = json!({"spec": {"repositoryDigestMirrors": [rule], "imageDigestMirrors": []}});
        let digests = mirror_set(MirrorSetKind::ImageDigestMirrorSet, "a", &spec);
        assert_eq!(
            told(&digests),
            ["spec.repositoryDigestMirrors: unknown field \"spec.repositoryDigestMirrors\""]
        );
        assert_eq!(
            digests.findings[0].help.as_deref(),
            Some(
                "repositoryDigestMirrors is the list of ImageContentSourcePolicy; that of ImageDigestMirrorSet is imageDigestMirrors"
            )
        );
        assert_eq!(digests.value.unwrap().rules, []);

        let policy = mirror_set(
            MirrorSetKind::ImageContentSourcePolicy,
            "a",
            &json!({"spec": {"repositoryDigestMirrors": [rule]}}),
        );
        assert_eq!(policy.findings[0].at.to_string(), "spec.repositoryDigestMirrors[0].mirrorSourcePolicy");
        assert_eq!(policy.value.unwrap().rules[0].policy, None, "an unknown field says nothing");
    }

    #[test]
    fn an_image_says_only_what_its_registry_sources_say() {
        let image =
            registry_sources(&json!({"spec": {"externalRegistryHostnames": ["x"], "registrySources": {
                "insecureRegistries": ["a.io"], "containerRuntimeSearchRegistries": ["b.io"], "allowed": [],
            }}}));
        assert_eq!(
            told(&image),
            ["spec.registrySources.allowed: unknown field \"spec.registrySources.allowed\""]
        );
        let sources = image.value.unwrap();
        assert_eq!(
            (sources.insecure, sources.search),
            (vec!["a.io".to_owned()], Some(vec!["b.io".to_owned()]))
        );
    }
}
