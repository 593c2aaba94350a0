//! OCI and Docker manifests and indexes, parsed from the bytes whose digest was checked.

use serde::Deserialize;

use crate::digest::Digest;
use crate::platform::Platform;

/// Every kind of manifest that we accept, the newest first.
pub(crate) const ACCEPTED: &str = "application/vnd.oci.image.manifest.v1+json, \
     application/vnd.oci.image.index.v1+json, \
     application/vnd.docker.distribution.manifest.v2+json, \
     application/vnd.docker.distribution.manifest.list.v2+json";
/// The largest manifest that we read, as in containers/image.
pub(crate) const MAX_BYTES: u64 = 4 << 20;

const OCI_IMAGE: &str = "application/vnd.oci.image.manifest.v1+json";
const OCI_INDEX: &str = "application/vnd.oci.image.index.v1+json";
const DOCKER_IMAGE: &str = "application/vnd.docker.distribution.manifest.v2+json";
const DOCKER_LIST: &str = "application/vnd.docker.distribution.manifest.list.v2+json";

/// A manifest with the media type under which it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Manifest {
    pub(crate) media_type: String,
    pub(crate) content: Content,
}

/// What a manifest lists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Content {
    /// The blobs of one image: its configuration, then its layers.
    Image(Vec<Descriptor>),
    /// One manifest for each platform.
    Index(Vec<Descriptor>),
}

/// An entry in a manifest.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Descriptor {
    pub(crate) media_type: String,
    pub(crate) digest: Digest,
    pub(crate) size: u64,
    #[serde(default)]
    pub(crate) platform: Option<Platform>,
}

/// Why bytes are not a manifest that can be pulled.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ManifestError {
    /// It is not JSON, or a field has the wrong type or occurs twice.
    #[error("parsing the manifest: {0}")]
    Json(String),
    /// It has the format that Docker used before 2016.
    #[error("it is in Docker's schema 1, which is not supported; push the image again with a current tool")]
    Schema1,
    /// It can be read both as an image and as an index, so two programs may see two images.
    #[error("it lists both layers and manifests; refused, because two programs could read two images in it")]
    Ambiguous,
    /// It lists nothing that we know.
    #[error("it is neither an image manifest nor an index")]
    Neither,
    /// Its media type does not match what it holds.
    #[error("its media type is {media_type:?}, but it holds {holds}")]
    MediaType {
        /// What it claims to be.
        media_type: String,
        /// What it is.
        holds: &'static str,
    },
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Raw {
    schema_version: Option<u64>,
    media_type: Option<String>,
    config: Option<Descriptor>,
    layers: Option<Vec<Descriptor>>,
    manifests: Option<Vec<Descriptor>>,
}

impl Manifest {
    /// Parses a manifest that came with `content_type`.
    pub(crate) fn parse(bytes: &[u8], content_type: Option<&str>) -> Result<Self, ManifestError> {
        let raw: Raw =
            serde_json::from_slice(bytes).map_err(|error| ManifestError::Json(error.to_string()))?;
        if raw.schema_version == Some(1) {
            return Err(ManifestError::Schema1);
        }
        let image = raw.config.is_some() || raw.layers.is_some();
        let (content, holds, kinds) = match (image, raw.manifests) {
            (true, Some(_)) => return Err(ManifestError::Ambiguous),
            (false, Some(manifests)) => (Content::Index(manifests), "an index", [OCI_INDEX, DOCKER_LIST]),
            (_, None) => {
                let config = raw.config.ok_or(ManifestError::Neither)?;
                let layers = raw.layers.unwrap_or_default();
                let blobs = std::iter::once(config).chain(layers).collect();
                (Content::Image(blobs), "an image manifest", [OCI_IMAGE, DOCKER_IMAGE])
            }
        };
        // The digest covers the document's own media type. It does not cover the header, and many servers send a
        // generic one.
        let media_type = match raw.media_type.filter(|text| !text.is_empty()) {
            Some(media_type) if kinds.contains(&media_type.as_str()) => media_type,
            Some(media_type) => return Err(ManifestError::MediaType { media_type, holds }),
            None => {
                let header = content_type.and_then(|text| text.split(';').next()).map(str::trim);
                let known = [OCI_IMAGE, OCI_INDEX, DOCKER_IMAGE, DOCKER_LIST];
                match header.filter(|header| known.contains(header)) {
                    Some(header) if !kinds.contains(&header) => {
                        let media_type = header.to_owned();
                        return Err(ManifestError::MediaType { media_type, holds });
                    }
                    Some(header) => header.to_owned(),
                    None => kinds[0].to_owned(),
                }
            }
        };
        Ok(Self { media_type, content })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn descriptor(kind: &str) -> String {
        format!(r#"{{"mediaType": "{kind}", "digest": "{}", "size": 7}}"#, Digest::of(kind.as_bytes()))
    }

    fn image(media_type: &str) -> String {
        let (config, layer) = (descriptor("config"), descriptor("layer"));
        format!(r#"{{"schemaVersion": 2, {media_type} "config": {config}, "layers": [{layer}]}}"#)
    }

    fn parse(text: &str, content_type: Option<&str>) -> Result<Manifest, ManifestError> {
        Manifest::parse(text.as_bytes(), content_type)
    }

    #[test]
    fn an_image_lists_its_configuration_and_its_layers() {
        let manifest = parse(&image(&format!(r#""mediaType": "{DOCKER_IMAGE}","#)), None).unwrap();
        assert_eq!(manifest.media_type, DOCKER_IMAGE);
        let Content::Image(blobs) = manifest.content else { panic!("an index") };
        let types: Vec<&str> = blobs.iter().map(|blob| blob.media_type.as_str()).collect();
        assert_eq!(types, ["config", "layer"]);
    }

    #[test]
    fn without_a_media_type_the_header_says_and_then_the_shape() {
        let with = |header| parse(&image(""), header).map(|manifest| manifest.media_type);
        assert_eq!(with(None).as_deref(), Ok(OCI_IMAGE));
        assert_eq!(with(Some("application/json")).as_deref(), Ok(OCI_IMAGE));
        assert_eq!(
            with(Some("application/vnd.docker.distribution.manifest.v2+json; charset=utf-8")).as_deref(),
            Ok(DOCKER_IMAGE)
        );
        assert!(matches!(with(Some(OCI_INDEX)), Err(ManifestError::MediaType { .. })));
    }

    #[test]
    fn an_index_lists_manifests_with_their_platforms() {
        let entry = descriptor(OCI_IMAGE)
            .replace('}', r#", "platform": {"os": "linux", "architecture": "arm64", "os.version": "1"}}"#);
        let manifest = parse(&format!(r#"{{"schemaVersion": 2, "manifests": [{entry}]}}"#), None).unwrap();
        let Content::Index(entries) = manifest.content else { panic!("an image") };
        assert_eq!(entries[0].platform.as_ref().map(ToString::to_string).as_deref(), Some("linux/arm64"));
    }

    // CVE-2021-41190: one document that is an image to one program and an index to another.
    #[test]
    fn a_document_of_two_kinds_is_refused() {
        let both = image("").replacen('{', r#"{"manifests": [], "#, 1);
        assert_eq!(parse(&both, None), Err(ManifestError::Ambiguous));
        let lying = image(&format!(r#""mediaType": "{OCI_INDEX}","#));
        assert!(matches!(parse(&lying, None), Err(ManifestError::MediaType { .. })));
        let twice = image("").replacen('{', r#"{"layers": [], "#, 1);
        assert!(matches!(parse(&twice, None), Err(ManifestError::Json(_))));
    }

    #[test]
    fn what_is_no_manifest_says_so() {
        assert_eq!(parse("{}", None), Err(ManifestError::Neither));
        assert_eq!(parse(r#"{"schemaVersion": 1, "fsLayers": []}"#, None), Err(ManifestError::Schema1));
        assert!(matches!(parse("<html>", None), Err(ManifestError::Json(_))));
        let negative = image("").replace('7', "-7");
        assert!(matches!(parse(&negative, None), Err(ManifestError::Json(_))));
        let evil = image("").replace("sha256:", "sha256:../");
        assert!(matches!(parse(&evil, None), Err(ManifestError::Json(_))));
    }
}
