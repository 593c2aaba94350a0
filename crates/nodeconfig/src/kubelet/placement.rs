//! Where the kubelet's provider configuration goes on a node.

use std::path::{Path, PathBuf};

use thiserror::Error;

use super::KubeletCommand;

/// The folder for a kubelet that had no providers.
const OWN_CONFIG_FOLDER: &str = "/etc/pullwright/credential-providers";
/// Where the plugin goes on such a node: a folder of ours, since all of it is the kubelet's to run.
const OWN_BIN_FOLDER: &str = "/opt/pullwright/credential-providers";
/// Our file among others in a folder. Providers are asked in the order of the files' names, and ours comes behind.
const FILE_IN_FOLDER: &str = "zz-pullwright.yaml";

/// Where the provider configuration and the plugin go, and what the kubelet has to be told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProviderPlacement {
    /// The kubelet has no providers: it gets both flags, and files of ours.
    New {
        /// The file with our provider.
        file: PathBuf,
        /// The folder for the plugin.
        bin_dir: PathBuf,
        /// The flags to add.
        flags: Vec<String>,
    },
    /// It reads a folder: our file joins it.
    Beside {
        /// Our file.
        file: PathBuf,
        /// The folder for the plugin.
        bin_dir: PathBuf,
    },
    /// It reads a file that belongs to somebody else, and could read a folder: it gets a folder of ours, with a link to their file in it.
    /// Their file is not touched, and what its owner changes in it still counts.
    Linked {
        /// The link, and what it leads to.
        link: (PathBuf, PathBuf),
        /// Our file.
        file: PathBuf,
        /// The folder for the plugin, which is theirs: there can be only one.
        bin_dir: PathBuf,
        /// The flag to add; the last one of its name counts.
        flags: Vec<String>,
    },
    /// It reads a file that belongs to somebody else, and cannot read a folder: our provider joins those in the file.
    Within {
        /// Their file.
        file: PathBuf,
        /// The folder for the plugin.
        bin_dir: PathBuf,
    },
}

/// Why there is no place.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum PlacementError {
    /// Only one of the two flags is set, with which no kubelet starts.
    #[error(
        "the kubelet has only one of --image-credential-provider-config and --image-credential-provider-bin-dir"
    )]
    OneFlag,
}

/// What the path in `--image-credential-provider-config` is, and could be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConfigForm {
    /// A folder, which kubelets read since 1.34.
    Folder,
    /// A file, of a kubelet that could also read a folder.
    File,
    /// A file, of a kubelet that cannot read folders.
    FileOnly,
}

/// Decides.
///
/// # Errors
/// If the kubelet's flags contradict each other.
pub fn placement(command: &KubeletCommand, form: ConfigForm) -> Result<ProviderPlacement, PlacementError> {
    let folder = PathBuf::from(OWN_CONFIG_FOLDER);
    let config_flag = |path: &Path| format!("--image-credential-provider-config={}", path.display());
    match (&command.provider_config, &command.provider_bin_dir) {
        (None, None) => {
            let file = folder.join(FILE_IN_FOLDER);
            // Others can then add theirs beside it, where the kubelet is new enough.
            let read = if form == ConfigForm::FileOnly { &file } else { &folder };
            let flags =
                vec![config_flag(read), format!("--image-credential-provider-bin-dir={OWN_BIN_FOLDER}")];
            Ok(ProviderPlacement::New { file, bin_dir: OWN_BIN_FOLDER.into(), flags })
        }
        (Some(theirs), Some(bin_dir)) => Ok(match form {
            ConfigForm::Folder => {
                ProviderPlacement::Beside { file: theirs.join(FILE_IN_FOLDER), bin_dir: bin_dir.clone() }
            }
            ConfigForm::File => ProviderPlacement::Linked {
                link: (folder.join(link_name(theirs)), theirs.clone()),
                file: folder.join(FILE_IN_FOLDER),
                bin_dir: bin_dir.clone(),
                flags: vec![config_flag(&folder)],
            },
            ConfigForm::FileOnly => {
                ProviderPlacement::Within { file: theirs.clone(), bin_dir: bin_dir.clone() }
            }
        }),
        (Some(_), None) | (None, Some(_)) => Err(PlacementError::OneFlag),
    }
}

/// The name of the link: the kubelet reads files by their ending, and whatever theirs is called, it is read as YAML, which JSON is too.
fn link_name(theirs: &Path) -> &'static str {
    if theirs.extension().is_some_and(|ending| ending == "json") {
        "00-existing.json"
    } else {
        "00-existing.yaml"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(config: Option<&str>, bin_dir: Option<&str>) -> KubeletCommand {
        KubeletCommand {
            provider_config: config.map(Into::into),
            provider_bin_dir: bin_dir.map(Into::into),
            ..KubeletCommand::default()
        }
    }

    #[test]
    fn a_kubelet_without_providers_gets_both_flags() {
        for (form, read) in [
            (ConfigForm::File, "/etc/pullwright/credential-providers"),
            (ConfigForm::FileOnly, "/etc/pullwright/credential-providers/zz-pullwright.yaml"),
        ] {
            let Ok(ProviderPlacement::New { flags, .. }) = placement(&command(None, None), form) else {
                panic!()
            };
            assert_eq!(flags[0], format!("--image-credential-provider-config={read}"));
            assert_eq!(flags.len(), 2);
        }
    }

    #[test]
    fn files_of_others_are_touched_only_if_there_is_no_other_way() {
        let eks = command(Some("/etc/eks/config.json"), Some("/etc/eks/bin"));
        let Ok(ProviderPlacement::Linked { link, bin_dir, flags, .. }) = placement(&eks, ConfigForm::File)
        else {
            panic!()
        };
        let folder = Path::new("/etc/pullwright/credential-providers");
        assert_eq!(link, (folder.join("00-existing.json"), "/etc/eks/config.json".into()));
        assert_eq!(bin_dir, Path::new("/etc/eks/bin"));
        assert_eq!(flags, ["--image-credential-provider-config=/etc/pullwright/credential-providers"]);
        assert!(matches!(placement(&eks, ConfigForm::FileOnly), Ok(ProviderPlacement::Within { .. })));
        let folder = command(Some("/etc/providers"), Some("/opt/bin"));
        let Ok(ProviderPlacement::Beside { file, .. }) = placement(&folder, ConfigForm::Folder) else {
            panic!()
        };
        assert_eq!(file, Path::new("/etc/providers/zz-pullwright.yaml"));
        assert_eq!(placement(&command(Some("/a"), None), ConfigForm::File), Err(PlacementError::OneFlag));
    }
}
