//! Test images: one static program, in an OCI layout.

use std::{
    fs,
    path::{Path, PathBuf},
};

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::{Error, error::Doing, process::Place};

/// The program in every image. It is also the first process of a node's namespaces.
const PROGRAM: &str = include_str!("image/program.c");

/// Compiles the program into `folder`, with the compiler that Rust links with.
pub(crate) fn compile(folder: &Path) -> Result<PathBuf, Error> {
    fs::create_dir_all(folder).doing("creating", folder)?;
    let (source, program) = (folder.join("program.c"), folder.join("program"));
    fs::write(&source, PROGRAM).doing("writing", &source)?;
    let path = |path: &Path| path.display().to_string();
    Place::Host.run("cc", &["-static", "-O1", "-o", &path(&program), &path(&source)])?;
    Ok(program)
}

/// Writes an image with `program` as its entry point, as an OCI layout in `layout`. `label` makes its digest unique.
pub fn write(layout: &Path, program: &Path, label: &str) -> Result<(), Error> {
    let layer = layer(program, label).doing("packing", program)?;
    let layer_digest = put(layout, &layer)?;
    let config = json!({
        "architecture": if cfg!(target_arch = "aarch64") { "arm64" } else { "amd64" },
        "os": "linux",
        "config": {"Entrypoint": ["/program"], "Env": ["PATH=/"]},
        // The layer is not compressed, so its digest is that of its content.
        "rootfs": {"type": "layers", "diff_ids": [layer_digest]},
    });
    let config = config.to_string();
    let manifest = json!({
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "config": descriptor("config.v1+json", &put(layout, config.as_bytes())?, config.len()),
        "layers": [descriptor("layer.v1.tar", &layer_digest, layer.len())],
    });
    let manifest = manifest.to_string();
    let index = json!({
        "schemaVersion": 2,
        "manifests": [descriptor("manifest.v1+json", &put(layout, manifest.as_bytes())?, manifest.len())],
    });
    for (file, content) in [("index.json", index), ("oci-layout", json!({"imageLayoutVersion": "1.0.0"}))] {
        let path = layout.join(file);
        fs::write(&path, content.to_string()).doing("writing", &path)?;
    }
    Ok(())
}

fn layer(program: &Path, label: &str) -> std::io::Result<Vec<u8>> {
    let mut archive = tar::Builder::new(Vec::new());
    for folder in ["dev", "proc", "sys", "etc", "tmp", "var", "run"] {
        let mut header = tar::Header::new_ustar();
        header.set_entry_type(tar::EntryType::Directory);
        header.set_mode(0o755);
        header.set_size(0);
        archive.append_data(&mut header, folder, std::io::empty())?;
    }
    for (path, content, mode) in [("program", fs::read(program)?, 0o755), ("label", label.into(), 0o644)] {
        let mut header = tar::Header::new_ustar();
        header.set_mode(mode);
        header.set_size(content.len() as u64);
        archive.append_data(&mut header, path, content.as_slice())?;
    }
    archive.into_inner()
}

/// Stores a blob under its digest.
fn put(layout: &Path, content: &[u8]) -> Result<String, Error> {
    let folder = layout.join("blobs/sha256");
    fs::create_dir_all(&folder).doing("creating", &folder)?;
    let hex = format!("{:x}", Sha256::digest(content));
    let path = folder.join(&hex);
    fs::write(&path, content).doing("writing", &path)?;
    Ok(format!("sha256:{hex}"))
}

fn descriptor(kind: &str, digest: &str, size: usize) -> Value {
    json!({"mediaType": format!("application/vnd.oci.image.{kind}"), "digest": digest, "size": size})
}
