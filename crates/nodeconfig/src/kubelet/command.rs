//! The command line of a running kubelet.

use std::path::PathBuf;

/// The flags of a kubelet that matter for pulls.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KubeletCommand {
    /// `--config`: its main configuration file.
    pub config: Option<PathBuf>,
    /// `--config-dir`: the folder with drop-ins for it.
    pub config_dir: Option<PathBuf>,
    /// `--image-credential-provider-config`: a file, or a folder since 1.34.
    pub provider_config: Option<PathBuf>,
    /// `--image-credential-provider-bin-dir`: where the providers' programs are.
    pub provider_bin_dir: Option<PathBuf>,
    /// `--container-runtime-endpoint`
    pub runtime_endpoint: Option<String>,
    /// `--image-service-endpoint`
    pub image_service_endpoint: Option<String>,
}

impl KubeletCommand {
    /// Reads the arguments of the process, without its name. As with Go's pflag, a value follows `=` or is the next argument, the last
    /// flag of a name counts, and nothing after `--` is a flag.
    pub fn parse<'a>(arguments: impl IntoIterator<Item = &'a str>) -> Self {
        let mut this = Self::default();
        let mut arguments = arguments.into_iter();
        while let Some(argument) = arguments.next() {
            if argument == "--" {
                break;
            }
            let Some(flag) = argument.strip_prefix("--") else { continue };
            let (name, value) =
                flag.split_once('=').map_or((flag, None), |(name, value)| (name, Some(value)));
            this.set(name, value, &mut arguments);
        }
        this
    }

    fn set<'a>(&mut self, name: &str, value: Option<&'a str>, rest: &mut impl Iterator<Item = &'a str>) {
        let mut value = || value.or_else(|| rest.next()).filter(|value| !value.is_empty());
        match name {
            "config" => self.config = value().map(PathBuf::from),
            "config-dir" => self.config_dir = value().map(PathBuf::from),
            "image-credential-provider-config" => self.provider_config = value().map(PathBuf::from),
            "image-credential-provider-bin-dir" => self.provider_bin_dir = value().map(PathBuf::from),
            "container-runtime-endpoint" => self.runtime_endpoint = value().map(str::to_owned),
            "image-service-endpoint" => self.image_service_endpoint = value().map(str::to_owned),
            // Whether another flag takes a value is not known here. If it does, that value does not begin with dashes.
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_are_read_as_the_kubelet_reads_them() {
        let command = KubeletCommand::parse([
            "--config=/var/lib/kubelet/config.yaml",
            "--v",
            "2",
            "--image-credential-provider-config",
            "/old",
            "--image-credential-provider-config=/etc/providers",
            "--container-runtime-endpoint=unix:///run/containerd/containerd.sock",
            "--image-service-endpoint=",
            "--",
            "--config=/other",
        ]);
        assert_eq!(command.config, Some("/var/lib/kubelet/config.yaml".into()));
        assert_eq!(command.provider_config, Some("/etc/providers".into()));
        assert_eq!(command.provider_bin_dir, None);
        assert_eq!(command.runtime_endpoint.as_deref(), Some("unix:///run/containerd/containerd.sock"));
        assert_eq!(command.image_service_endpoint, None);
    }
}
