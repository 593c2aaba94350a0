//! Which objects decide where images are pulled from, and under which name the API server has them.

use pullwright_documents::DocumentNode;
use pullwright_engine::mirrors::{MirrorSetKind, ObjectName, RegistrySources};
use pullwright_findings::{DocPath, Finding, rules};

use super::decode::{self, Decoded};
use super::{MirrorObject, Says};
use crate::inputs::manifests::{ManifestFile, Object};
use crate::inputs::object_name;

const CONFIG: &str = "config.openshift.io/v1";
const OPERATOR: &str = "operator.openshift.io/v1alpha1";

/// Reads a manifest about mirrors and registries; `None` for all other kinds.
pub(super) fn object<'f>(file: &'f ManifestFile, object: Object<'f>) -> Option<MirrorObject<'f>> {
    let kind = kind_of(object)?;
    let metadata = object.node.get("metadata");
    let name =
        metadata.and_then(|metadata| metadata.get("name")).and_then(DocumentNode::text).unwrap_or_default();
    let mut read = MirrorObject {
        name: ObjectName { kind: kind.as_str(), name: name.to_owned() },
        file,
        line: 1,
        node: object.node,
        says: Says::Nothing,
        findings: Vec::new(),
    };
    if let Some(refusal) = kind.refusal(object.api_version, name) {
        read.refuse(refusal);
    } else if let Some(repeated) = repeated(object.node) {
        read.refuse(repeated);
    } else {
        let value = object.node.value();
        (read.says, read.findings) = match kind {
            Recognised::Mirrors(kind) => says(decode::mirror_set(kind, name, &value), Says::Mirrors),
            Recognised::Image => says(decode::registry_sources(&value), Says::Registries),
            Recognised::ContentPolicy => (Says::Nothing, Vec::new()),
        };
    }
    Some(read)
}

fn says<T>(decoded: Decoded<T>, says: impl FnOnce(T) -> Says) -> (Says, Vec<Finding>) {
    (decoded.value.map_or(Says::Nothing, says), decoded.findings)
}

#[derive(Clone, Copy)]
enum Recognised {
    Mirrors(MirrorSetKind),
    Image,
    /// A kind that OpenShift defines and nothing reads.
    ContentPolicy,
}

fn kind_of(object: Object<'_>) -> Option<Recognised> {
    // Others have kinds with such common names.
    let of_config = object.api_version.starts_with("config.openshift.io/");
    match object.kind {
        "ImageDigestMirrorSet" => Some(Recognised::Mirrors(MirrorSetKind::ImageDigestMirrorSet)),
        "ImageTagMirrorSet" => Some(Recognised::Mirrors(MirrorSetKind::ImageTagMirrorSet)),
        "ImageContentSourcePolicy" => Some(Recognised::Mirrors(MirrorSetKind::ImageContentSourcePolicy)),
        "ImageContentPolicy" if of_config => Some(Recognised::ContentPolicy),
        "Image" if of_config => Some(Recognised::Image),
        _ => None,
    }
}

impl Recognised {
    fn as_str(self) -> &'static str {
        match self {
            Self::Mirrors(kind) => kind.as_str(),
            Self::Image => "Image",
            Self::ContentPolicy => "ImageContentPolicy",
        }
    }

    fn api_version(self) -> &'static str {
        match self {
            Self::Mirrors(MirrorSetKind::ImageContentSourcePolicy) => OPERATOR,
            Self::Mirrors(_) | Self::Image | Self::ContentPolicy => CONFIG,
        }
    }

    /// Why nobody reads an object of this version and name.
    fn refusal(self, api_version: &str, name: &str) -> Option<Finding> {
        let root = DocPath::root();
        let (kind, served) = (self.as_str(), self.api_version());
        if let Self::ContentPolicy = self {
            let message = "no runtime and no operator reads ImageContentPolicy";
            return Some(Finding::new(&rules::mirrors::KIND, root.key("kind"), message));
        }
        if api_version != served {
            let message = format!("there is no {kind} in {api_version:?}");
            let finding = Finding::new(&rules::mirrors::API_VERSION, root.key("apiVersion"), message);
            return Some(finding.with_help(format!("write apiVersion: {served}")));
        }
        if name.is_empty() {
            return Some(Finding::new(
                &rules::mirrors::REQUIRED,
                root.key("metadata"),
                "metadata.name is missing",
            ));
        }
        if !object_name::is_valid(name) {
            let at = root.key("metadata").key("name");
            let finding = Finding::new(&rules::mirrors::NAME, at, object_name::refusal(name));
            return Some(finding.with_help(object_name::HELP));
        }
        let singleton = RegistrySources::object().name;
        if matches!(self, Self::Image) && name != singleton {
            let message = format!("an Image named {name:?} has no effect");
            let finding = Finding::new(&rules::mirrors::NAME, root.key("metadata").key("name"), message);
            return Some(finding.with_help(format!("name it {singleton}")));
        }
        None
    }
}

/// A name that its map has twice: most often a forgotten dash, which would lose a whole rule. No client sends such an object.
fn repeated(object: &DocumentNode) -> Option<Finding> {
    let at = repeated_below(object, &DocPath::root())?;
    Some(Finding::new(&rules::mirrors::DUPLICATE_FIELD, at.clone(), format!("duplicate field \"{at}\"")))
}

fn repeated_below(node: &DocumentNode, at: &DocPath) -> Option<DocPath> {
    let mut seen = std::collections::HashSet::new();
    let in_map = node.members().iter().find_map(|member| {
        let at = at.key(&member.name);
        if seen.insert(member.name.as_str()) { repeated_below(&member.node, &at) } else { Some(at) }
    });
    let mut items = node.items().iter().enumerate();
    in_map.or_else(|| items.find_map(|(index, item)| repeated_below(item, &at.index(index))))
}
