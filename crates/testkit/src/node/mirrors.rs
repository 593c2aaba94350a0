//! Which registry stands in for which, said the way each runtime reads it.

use std::{fmt::Write as _, fs, path::Path};

use crate::{Error, error::Doing, registry::Registry};

/// A source whose images are pulled from one of the node's registries.
#[derive(Clone, Copy, Debug)]
pub struct Mirror {
    /// The registry in the image's name.
    pub source: &'static str,
    /// The name of the registry that has it.
    pub registry: &'static str,
}

/// Writes `registries.conf` for CRI-O and plugins, and `certs.d` for both runtimes, into `containers`. `extra` are
/// further lines of `registries.conf`.
pub(super) fn write(
    containers: &Path,
    registries: &[Registry],
    mirrors: &[Mirror],
    extra: &str,
    ca: &Path,
) -> Result<(), Error> {
    let put = |file: &str, content: &str| {
        let path = containers.join(file);
        let folder = path.parent().unwrap_or(containers);
        fs::create_dir_all(folder).doing("creating", folder)?;
        fs::write(&path, content).doing("writing", &path)
    };
    put("registries.conf", &format!("{}\n{extra}", registries_conf(registries, mirrors)))?;
    put("policy.json", r#"{"default": [{"type": "insecureAcceptAnything"}]}"#)?;
    for registry in registries {
        let address = registry.address();
        put(
            &format!("certs.d/{address}/hosts.toml"),
            &hosts_toml(&format!("https://{address}"), &[registry], ca),
        )?;
        if registry.tls {
            let certificate = fs::read_to_string(ca).doing("reading", ca)?;
            put(&format!("certs.d/{address}/ca.crt"), &certificate)?;
        }
    }
    for (index, mirror) in mirrors.iter().enumerate() {
        let first = mirrors.iter().position(|other| other.source == mirror.source) == Some(index);
        if first {
            let content = hosts_toml(
                &format!("https://{}", mirror.source),
                &of(mirror.source, registries, mirrors),
                ca,
            );
            put(&format!("certs.d/{}/hosts.toml", mirror.source), &content)?;
        }
    }
    Ok(())
}

/// The registries that mirror `source`, in order.
fn of<'r>(source: &str, registries: &'r [Registry], mirrors: &[Mirror]) -> Vec<&'r Registry> {
    let names = mirrors.iter().filter(|mirror| mirror.source == source).map(|mirror| mirror.registry);
    names.filter_map(|name| registries.iter().find(|registry| registry.name == name)).collect()
}

fn registries_conf(registries: &[Registry], mirrors: &[Mirror]) -> String {
    let mut text = "unqualified-search-registries = [\"docker.io\"]\n".to_owned();
    let mut sources: Vec<_> = mirrors.iter().map(|mirror| mirror.source).collect();
    sources.dedup();
    for source in sources {
        let _ = writeln!(text, "\n[[registry]]\nlocation = \"{source}\"");
        for registry in of(source, registries, mirrors) {
            let (address, insecure) = (registry.address(), !registry.tls);
            let _ = writeln!(text, "\n[[registry.mirror]]\nlocation = \"{address}\"\ninsecure = {insecure}");
        }
    }
    for registry in registries.iter().filter(|registry| !registry.tls) {
        let _ = writeln!(text, "\n[[registry]]\nlocation = \"{}\"\ninsecure = true", registry.address());
    }
    text
}

fn hosts_toml(server: &str, hosts: &[&Registry], ca: &Path) -> String {
    let mut text = format!("server = \"{server}\"\n");
    for registry in hosts {
        let scheme = if registry.tls { "https" } else { "http" };
        let _ = writeln!(
            text,
            "\n[host.\"{scheme}://{}\"]\ncapabilities = [\"pull\", \"resolve\"]",
            registry.address()
        );
        if registry.tls {
            let _ = writeln!(text, "ca = \"{}\"", ca.display());
        }
    }
    text
}
