//! Writes the definitions into a folder, or with `--check` compares the folder with them: what `cargo xtask gen` runs.

use std::fs;
use std::path::Path;
use std::process::ExitCode;

use pullwright_api::crds::{Manifest, manifests};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let result = match arguments.as_slice() {
        [folder] => each(Path::new(folder), write),
        [folder, "--check"] => each(Path::new(folder), check),
        _ => Err("usage: crds FOLDER [--check]".to_owned()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}

fn each(folder: &Path, what: fn(&Path, &Manifest) -> Result<(), String>) -> Result<(), String> {
    let manifests = manifests().map_err(|error| error.to_string())?;
    manifests.iter().try_for_each(|manifest| what(&folder.join(&manifest.file), manifest))
}

fn write(path: &Path, manifest: &Manifest) -> Result<(), String> {
    println!("{}", path.display());
    fs::write(path, &manifest.text).map_err(|error| format!("writing {}: {error}", path.display()))
}

fn check(path: &Path, manifest: &Manifest) -> Result<(), String> {
    match fs::read_to_string(path) {
        Ok(text) if text == manifest.text => Ok(()),
        Ok(_) => Err(format!("{} is out of date: run `cargo xtask gen`", path.display())),
        Err(error) => Err(format!("reading {}: {error}; run `cargo xtask gen`", path.display())),
    }
}
