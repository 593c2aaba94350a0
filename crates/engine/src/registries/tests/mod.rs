//! The loader's and the matcher's behaviour, from the test data of the Go library and from its quirks.

mod loading;
mod matching;
mod properties;
mod short_names;
mod sources;

use std::fs;
use std::path::Path;

use super::*;
use crate::reference::{Dialect, Reference};

const SHA: &str = "sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";

fn testdata(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/registries").join(name);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn conf(texts: &[&str]) -> RegistriesConf {
    let file =
        |(index, text): (usize, &&str)| (format!("/{index}.conf").into(), ConfFile::parse(text).unwrap());
    RegistriesConf::merge(texts.iter().enumerate().map(file))
}

fn reference(text: &str) -> Reference {
    Reference::parse(Dialect::Runtime, text).unwrap()
}
