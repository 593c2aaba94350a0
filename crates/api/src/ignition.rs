//! Ignition configurations: files for a node as the Machine Config Operator writes and reads them.

use pullwright_golang::base64;
use pullwright_golang::quote::quote;
use pullwright_golang::url;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::null_is_default;

/// The version that is written: the newest that OpenShift's Machine Config Operator reads.
pub const VERSION: &str = "3.5.0";

/// The versions that are read.
const READ: [&str; 6] = ["3.0.0", "3.1.0", "3.2.0", "3.3.0", "3.4.0", VERSION];

/// What stands before the content of a file that is written.
const TEXT: &str = "data:text/plain;charset=utf-8;base64,";

/// A configuration that writes these files: path, mode and content of each.
///
/// `compression` is empty rather than absent, because a merge of two configurations would otherwise keep an older `gzip`.
#[must_use]
pub fn ignition_config<'f>(files: impl IntoIterator<Item = (&'f str, i32, &'f str)>) -> Value {
    let files: Vec<_> = files.into_iter().map(file).collect();
    let mut config = json!({"ignition": {"version": VERSION}});
    if !files.is_empty() {
        config["storage"] = json!({"files": files});
    }
    config
}

fn file((path, mode, content): (&str, i32, &str)) -> Value {
    let source = format!("{TEXT}{}", base64::encode(content.as_bytes()));
    json!({"path": path, "overwrite": true, "mode": mode, "contents": {"compression": "", "source": source}})
}

/// The files of a configuration, in its order. Their contents are decoded when they are asked for, because a file that cannot be
/// read says nothing about the others.
///
/// # Errors
/// If the value is not a configuration of version 3.0 to 3.5.
pub fn ignition_files(config: &Value) -> Result<Vec<IgnitionFile>, IgnitionError> {
    let config = Config::deserialize(config).map_err(|_| IgnitionError::Shape)?;
    if READ.contains(&&*config.ignition.version) {
        Ok(config.storage.files)
    } else {
        Err(IgnitionError::Version { version: config.ignition.version })
    }
}

/// Why there are no files.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IgnitionError {
    /// It is something else. The decoder's own words may quote what is in a file, which may be secret.
    #[error(
        "not an Ignition configuration: it needs `ignition.version`, and every file in `storage.files` a `path`"
    )]
    Shape,
    /// It has a version that is not read.
    #[error("Ignition version {} is not supported; versions 3.0.0 to {VERSION} are", quote(.version))]
    Version {
        /// Which.
        version: String,
    },
}

/// A file in a configuration.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct IgnitionFile {
    /// Its path on the node.
    pub path: String,
    /// Its permissions, if the configuration has them.
    #[serde(default)]
    pub mode: Option<i32>,
    #[serde(default, deserialize_with = "null_is_default")]
    contents: Contents,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
struct Contents {
    source: Option<String>,
    compression: Option<String>,
}

/// Why the contents of a file are not known.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ContentsError {
    /// It is compressed.
    #[error("{path} is compressed with gzip, which is not read")]
    Gzip {
        /// The file.
        path: String,
    },
    /// It is compressed in a way that Ignition does not know.
    #[error("{path}: unsupported compression type {}", quote(.compression))]
    Compression {
        /// The file.
        path: String,
        /// How.
        compression: String,
    },
    /// It is elsewhere.
    #[error("{path} is not a data URL; only what is in the configuration itself is read")]
    Elsewhere {
        /// The file.
        path: String,
    },
    /// It cannot be decoded.
    #[error("{path} has a data URL that cannot be decoded: {error}")]
    Encoding {
        /// The file.
        path: String,
        /// Why not.
        error: String,
    },
}

impl IgnitionFile {
    /// What the file has in it. A file without a source is empty.
    ///
    /// # Errors
    /// If the contents are compressed, elsewhere, or badly encoded.
    pub fn contents(&self) -> Result<Vec<u8>, ContentsError> {
        let path = || self.path.clone();
        match self.contents.compression.as_deref() {
            None | Some("") => {}
            Some("gzip") => return Err(ContentsError::Gzip { path: path() }),
            Some(other) => {
                return Err(ContentsError::Compression { path: path(), compression: other.to_owned() });
            }
        }
        let Some(source) = self.contents.source.as_deref().filter(|source| !source.is_empty()) else {
            return Ok(Vec::new());
        };
        let data = source.strip_prefix("data:").ok_or_else(|| ContentsError::Elsewhere { path: path() })?;
        decode(data).map_err(|error| ContentsError::Encoding { path: path(), error })
    }
}

/// Decodes what follows `data:`. Go's errors about it show a position or the bad escape, and no content.
fn decode(data: &str) -> Result<Vec<u8>, String> {
    let (kind, data) = data.split_once(',').ok_or_else(|| "it has no comma".to_owned())?;
    if kind.ends_with(";base64") {
        base64::decode(data).map_err(|error| error.to_string())
    } else {
        url::unescape_path(data.as_bytes()).map(Into::into).map_err(|error| error.to_string())
    }
}

#[derive(Deserialize)]
struct Config {
    ignition: Header,
    #[serde(default, deserialize_with = "null_is_default")]
    storage: Storage,
}

#[derive(Deserialize)]
struct Header {
    version: String,
}

#[derive(Default, Deserialize)]
struct Storage {
    #[serde(default, deserialize_with = "null_is_default")]
    files: Vec<IgnitionFile>,
}

#[cfg(test)]
mod tests {
    use sha2::{Digest as _, Sha256};

    use super::*;

    /// The kubelet's drop-in on platforms without a provider of their own.
    const DROP_IN: &str = "[Service]\n\
        # Prepends the credential provider flags to the existing Kubelet arguments\n\
        Environment=\"KUBELET_CRIO_IMAGE_CREDENTIAL_PROVIDER_FLAGS=\
        --image-credential-provider-bin-dir=/usr/libexec/kubelet-image-credential-provider-plugins \
        --image-credential-provider-config=/etc/kubernetes/credential-providers/generic-credential-provider.yaml\"\n";

    fn read(contents: &Value) -> Result<Vec<u8>, ContentsError> {
        let config = json!({
            "ignition": {"version": "3.2.0"}, "storage": {"files": [{"path": "/etc/a", "contents": contents}]},
        });
        ignition_files(&config).unwrap()[0].contents()
    }

    #[test]
    fn a_file_is_written_as_the_machine_config_operator_writes_it() {
        assert_eq!(
            ignition_config([("/etc/a", 0o644, "a\n")]),
            json!({
                "ignition": {"version": "3.5.0"},
                "storage": {"files": [{
                    "path": "/etc/a", "overwrite": true, "mode": 420,
                    "contents": {"compression": "", "source": "data:text/plain;charset=utf-8;base64,YQo="},
                }]},
            })
        );
    }

    #[test]
    fn without_files_there_is_only_the_version() {
        assert_eq!(ignition_config([]).to_string(), r#"{"ignition":{"version":"3.5.0"}}"#);
    }

    #[test]
    fn what_is_written_is_read() {
        let path = "/etc/systemd/system/kubelet.service.d/40-kubelet-crio-image-credential-provider.conf";
        let files = ignition_files(&ignition_config([(path, 0o644, DROP_IN), ("/b", 0o600, "")])).unwrap();
        assert_eq!((&*files[0].path, files[0].mode), (path, Some(420)));
        let contents = files[0].contents().unwrap();
        assert_eq!(contents.len(), 340);
        assert_eq!(
            Sha256::digest(&contents).iter().map(|byte| format!("{byte:02x}")).collect::<String>(),
            "8019a54635df925703719d94a0daf30b2828f49862234de2c5e15c04dc7193f1"
        );
        assert_eq!(
            (&*files[1].path, files[1].mode, files[1].contents()),
            ("/b", Some(0o600), Ok(Vec::new()))
        );
    }

    #[test]
    fn contents_of_every_form_are_read() {
        for (contents, text) in [
            (json!({}), ""),
            (json!(null), ""),
            (json!({"source": null, "compression": null}), ""),
            (json!({"source": ""}), ""),
            (json!({"source": "data:,"}), ""),
            (json!({"source": "data:,a%20b%0A+c"}), "a b\n+c"),
            (json!({"source": "data:text/plain;charset=utf-8,a,b"}), "a,b"),
            (json!({"source": "data:;base64,YQo=", "compression": ""}), "a\n"),
            (json!({"source": "data:text/plain;charset=utf-8;base64,YQo="}), "a\n"),
        ] {
            assert_eq!(read(&contents), Ok(text.as_bytes().to_vec()), "{contents}");
        }
    }

    #[test]
    fn what_is_not_read_says_so() {
        for (contents, message) in [
            (
                json!({"source": "data:,a", "compression": "gzip"}),
                "/etc/a is compressed with gzip, which is not read",
            ),
            (
                json!({"source": "data:,a", "compression": "xz"}),
                "/etc/a: unsupported compression type \"xz\"",
            ),
            (
                json!({"source": "https://secret.example.com/a"}),
                "/etc/a is not a data URL; only what is in the configuration itself is read",
            ),
            (json!({"source": "data:a"}), "/etc/a has a data URL that cannot be decoded: it has no comma"),
            (
                json!({"source": "data:,%zz"}),
                "/etc/a has a data URL that cannot be decoded: invalid URL escape \"%zz\"",
            ),
            (
                json!({"source": "data:;base64,s3cret!"}),
                "/etc/a has a data URL that cannot be decoded: illegal base64 data at input byte 6",
            ),
        ] {
            assert_eq!(read(&contents).unwrap_err().to_string(), message);
        }
    }

    #[test]
    fn versions_from_3_0_to_3_5_are_read() {
        for version in READ {
            assert_eq!(ignition_files(&json!({"ignition": {"version": version}})), Ok(Vec::new()));
        }
        for version in ["2.2.0", "3.6.0", "3.6.0-experimental", "3", ""] {
            let error = ignition_files(&json!({"ignition": {"version": version}})).unwrap_err();
            assert_eq!(error, IgnitionError::Version { version: version.to_owned() });
        }
        for value in [json!(null), json!({}), json!({"ignition": {"version": 3}}), json!([])] {
            let error = ignition_files(&value).unwrap_err();
            assert!(matches!(error, IgnitionError::Shape), "{value}: {error}");
        }
    }
}
