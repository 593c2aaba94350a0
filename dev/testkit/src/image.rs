//! Test images, as OCI layouts: one static program, or programs of this machine with their libraries.

use std::{
    collections::{BTreeMap, BTreeSet},
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

/// The search path that most images have.
const PATH: &str = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
/// The folders of every image.
const FOLDERS: [&str; 7] = ["dev", "proc", "sys", "etc", "tmp", "var", "run"];

/// What is in an image, and what runs in its containers.
#[derive(Clone, Debug, Default)]
pub struct Image {
    /// Each file: its path in the image, its content, its mode.
    files: BTreeMap<PathBuf, (Content, u32)>,
    entrypoint: Vec<String>,
    user: Option<String>,
}

#[derive(Clone, Debug)]
enum Content {
    Text(String),
    CopyOf(PathBuf),
}

impl Image {
    /// An image whose containers run this command.
    #[must_use]
    pub fn running(entrypoint: &[&str]) -> Self {
        Self { entrypoint: entrypoint.iter().map(|&word| word.to_owned()).collect(), ..Self::default() }
    }

    /// The user of its containers, as a number: Kubernetes takes a name for root.
    #[must_use]
    pub fn user(mut self, id: u32) -> Self {
        self.user = Some(id.to_string());
        self
    }

    /// Adds a copy of the file `from` of this machine, as `path`.
    #[must_use]
    pub fn file(mut self, path: &str, from: &Path, mode: u32) -> Self {
        self.files.insert(path.into(), (Content::CopyOf(from.to_owned()), mode));
        self
    }

    /// Adds a copy of the program `from` of this machine, as `path`, and the loader and libraries that it is linked with.
    pub fn program(mut self, path: &str, from: &Path) -> Result<Self, Error> {
        for library in linked_with(from)? {
            self = self.file(&library, Path::new(&library), 0o755);
        }
        Ok(self.file(path, from, 0o755))
    }

    /// Writes it as an OCI layout in `layout`.
    pub fn write(&self, layout: &Path) -> Result<(), Error> {
        let layer = self.layer()?;
        let layer_digest = put(layout, &layer)?;
        let config = json!({
            "architecture": if cfg!(target_arch = "aarch64") { "arm64" } else { "amd64" },
            "os": "linux",
            "config": {"Entrypoint": self.entrypoint, "Env": [PATH], "User": self.user.as_deref().unwrap_or_default()},
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
        for (file, content) in [("index.json", index), ("oci-layout", json!({"imageLayoutVersion": "1.0.0"}))]
        {
            let path = layout.join(file);
            fs::write(&path, content.to_string()).doing("writing", &path)?;
        }
        Ok(())
    }

    fn layer(&self) -> Result<Vec<u8>, Error> {
        let mut archive = tar::Builder::new(Vec::new());
        // All folders above a file must be there before it, and a folder comes before what is in it.
        let above = self.files.keys().flat_map(|path| path.ancestors().skip(1));
        let folders: BTreeSet<_> = above.map(inside).chain(FOLDERS.map(Path::new)).collect();
        for folder in folders.into_iter().filter(|folder| !folder.as_os_str().is_empty()) {
            let mut header = tar::Header::new_gnu();
            header.set_entry_type(tar::EntryType::Directory);
            header.set_mode(if folder == Path::new("tmp") { 0o1777 } else { 0o755 });
            header.set_size(0);
            archive.append_data(&mut header, folder, std::io::empty()).doing("packing", folder)?;
        }
        for (path, (content, mode)) in &self.files {
            let content = match content {
                Content::Text(text) => text.as_bytes().to_vec(),
                Content::CopyOf(from) => fs::read(from).doing("reading", from)?,
            };
            let mut header = tar::Header::new_gnu();
            header.set_mode(*mode);
            header.set_size(content.len() as u64);
            archive.append_data(&mut header, inside(path), content.as_slice()).doing("packing", path)?;
        }
        archive.into_inner().doing("packing", Path::new("a layer"))
    }
}

/// Returns a path of an image as archives have it.
fn inside(path: &Path) -> &Path {
    path.strip_prefix("/").unwrap_or(path)
}

/// Returns the absolute paths of the loader and the libraries that a program is linked with: none if it is static.
fn linked_with(program: &Path) -> Result<Vec<String>, Error> {
    let mut command = Place::Host.command("ldd")?;
    let output = command.arg(program).output().doing("reading", program)?;
    let listed = String::from_utf8_lossy(&output.stdout);
    // `libc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x…)`, or the path alone for the loader.
    let paths = listed.lines().filter_map(|line| line.split_whitespace().find(|word| word.starts_with('/')));
    Ok(paths.map(str::to_owned).collect())
}

/// Writes an image with `program` as its entry point, as an OCI layout in `layout`. `label` makes its digest unique.
pub fn write(layout: &Path, program: &Path, label: &str) -> Result<(), Error> {
    let mut image = Image::running(&["/program"]).file("/program", program, 0o755);
    image.files.insert("/label".into(), (Content::Text(label.to_owned()), 0o644));
    image.write(layout)
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

#[cfg(test)]
mod tests {
    use super::{Image, Path};

    #[test]
    fn a_program_comes_with_its_loader_and_its_libraries_and_folders_come_first() {
        let image = Image::running(&["/bin/sh"]).program("/bin/sh", Path::new("/bin/sh")).unwrap();
        let layer = image.layer().unwrap();
        let mut archive = tar::Archive::new(layer.as_slice());
        let entries = archive.entries().unwrap().map(|entry| entry.unwrap());
        let paths: Vec<_> = entries.map(|entry| entry.path().unwrap().display().to_string()).collect();
        let position = |path: &str| paths.iter().position(|other| other == path);
        assert!(position("bin").unwrap() < position("bin/sh").unwrap(), "{paths:?}");
        assert!(paths.iter().any(|path| path.contains("/ld-linux")), "{paths:?}");
        assert!(paths.iter().any(|path| path.ends_with("/libc.so.6")), "{paths:?}");
    }
}
