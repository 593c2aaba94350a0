//! The story, told step by step: what happens, and why.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, ensure};

use crate::scene::{ALPHA, BETA, IMAGE, Scene};
use crate::{kubelet, runtime};

pub(crate) fn tell(plugin: &Path) -> Result<()> {
    let scene = Scene::set()?;
    println!("A node pulls {IMAGE}. docker.io is mirrored to a private registry and blocked itself:\n");
    for line in fs::read_to_string(&scene.registries_conf).context("reading registries.conf")?.lines() {
        println!("    {line}");
    }
    println!(
        "\nNamespace {ALPHA} has a Secret for the mirror, {BETA} has none. The node has no global pull secret."
    );
    served(plugin, &scene)?;
    refused(plugin, &scene)?;
    println!("\nThat is all: no credential is left on the node.");
    println!("    {} is {}", scene.auth_dir.display(), if is_empty(&scene)? { "empty" } else { "NOT empty" });
    ensure!(is_empty(&scene)?, "a credential was left in {}", scene.auth_dir.display());
    Ok(())
}

fn served(plugin: &Path, scene: &Scene) -> Result<()> {
    println!("\n1. A Pod of {ALPHA} starts. The kubelet runs the plugin with the Pod's own token.");
    let said = kubelet::ask(plugin, scene, ALPHA)?;
    for access in scene.api_server.log() {
        let user = access.user.unwrap_or_else(|| "nobody".to_owned());
        println!("    API server: {user} lists secrets: {}", access.status);
    }
    println!("    plugin: {}", said.line);
    ensure!(said.line.starts_with("Wrote auth file to "), "the plugin wrote no auth file: {}", said.line);
    println!(
        "    answer to the kubelet: entries for {:?}, with no user and no password.",
        said.answer.auth.keys()
    );
    println!("      CRI-O passes them over, and the kubelet records the image as this service account's:");
    println!("      no other namespace may use it from the node's cache.");

    println!("\n2. CRI-O claims the file and pulls through the mirror.");
    let tried = runtime::pull(scene, ALPHA)?;
    let claimed = tried.claimed.context("there was no auth file to claim")?;
    println!("    claimed as {}", claimed.file_name().unwrap_or_default().to_string_lossy());
    let pulled = tried.pulled.context("the pull with the namespace's credential")?;
    println!("    pulled {} ({})", pulled.source, pulled.digest);
    let by_user = scene.mirror.log().into_iter().find_map(|access| access.user);
    println!("    mirror: requests by {}", by_user.context("the mirror saw no user")?);
    ensure!(!claimed.exists(), "the claimed file is still there");
    println!("    the file is gone");
    Ok(())
}

fn refused(plugin: &Path, scene: &Scene) -> Result<()> {
    println!("\n3. A Pod of {BETA} asks for the same image.");
    let said = kubelet::ask(plugin, scene, BETA)?;
    println!("    plugin: {}", said.line);
    ensure!(said.answer.auth.is_empty(), "the plugin answered with entries for a namespace without a Secret");
    let tried = runtime::pull(scene, BETA)?;
    ensure!(tried.claimed.is_none(), "an auth file was there for a namespace without a Secret");
    let error = tried.pulled.err().context("the second namespace pulled a private image")?;
    println!("    CRI-O finds no auth file and is refused:");
    println!("      {error}");
    println!("    The Secret of one namespace serves that namespace only.");
    Ok(())
}

fn is_empty(scene: &Scene) -> Result<bool> {
    let mut left = 0;
    for folder in [scene.auth_dir.clone(), scene.auth_dir.join("in-use")] {
        for entry in fs::read_dir(&folder).with_context(|| format!("listing {}", folder.display()))? {
            left += usize::from(entry?.file_type()?.is_file());
        }
    }
    Ok(left == 0)
}
