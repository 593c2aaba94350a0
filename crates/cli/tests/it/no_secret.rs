//! No password leaves the program, in any format, from good files and from broken ones.
//!
//! Every fixture holds one password, plain or in base64. No eight characters of it may be printed, whatever is asked, and
//! also when the file is damaged at any place: a damaged file is where a tool shows what it found.

use std::collections::HashSet;
use std::path::Path;

use clap::Parser as _;
use pullwright::{Arguments, Streams};

use crate::program::{files, testdata, top};

const PASSWORD: &str = "hunter2hunter2";
const WINDOW: usize = 8;

/// The texts in a file that hold the password: itself, and words in base64 that hold it.
fn secrets(text: &str) -> Vec<String> {
    let is_base64 = |c: char| c.is_ascii_alphanumeric() || "+/".contains(c);
    let words =
        text.split(|c: char| !is_base64(c)).filter(|word| word.len() > WINDOW && holds_password(word));
    text.contains(PASSWORD).then_some(PASSWORD).into_iter().chain(words).map(str::to_owned).collect()
}

/// Whether decoding gives the password, perhaps after decoding a second time.
fn holds_password(word: &str) -> bool {
    let decoded = decode(word);
    let text = String::from_utf8_lossy(&decoded);
    text.contains(PASSWORD)
        || text
            .split(|c: char| !c.is_ascii_alphanumeric())
            .any(|inner| inner.len() > WINDOW && String::from_utf8_lossy(&decode(inner)).contains(PASSWORD))
}

fn decode(word: &str) -> Vec<u8> {
    const ALPHABET: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let (mut bytes, mut bits, mut held) = (Vec::new(), 0_u32, 0);
    for value in word.bytes().filter_map(|byte| ALPHABET.iter().position(|letter| *letter == byte)) {
        bits = (bits << 6) | u32::try_from(value).unwrap();
        held += 6;
        if held >= 8 {
            held -= 8;
            bytes.push(u8::try_from((bits >> held) & 0xff).unwrap());
        }
    }
    bytes
}

#[test]
fn the_words_with_a_password_are_found() {
    assert!(holds_password("cm9ib3Q6aHVudGVyMmh1bnRlcjI"));
    assert!(!holds_password("kubernetes"));
}

/// What a command prints on both streams.
fn printed(arguments: &[&str]) -> String {
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let arguments = Arguments::try_parse_from(std::iter::once(&"pullwright").chain(arguments)).unwrap();
    let _ = pullwright::run(&arguments, Streams { out: &mut out, err: &mut err });
    String::from_utf8([out, err].concat()).unwrap()
}

fn assert_silent(printed: &str, secrets: &[String], about: &str) {
    let windows: HashSet<_> = secrets.iter().flat_map(|secret| secret.as_bytes().windows(WINDOW)).collect();
    // The fixtures are named by their claims and not by their secrets, so any window found is a leak.
    if let Some(window) = printed.as_bytes().windows(WINDOW).find(|window| windows.contains(window)) {
        let window = String::from_utf8_lossy(window);
        panic!("{about}: {window:?} of a secret is printed:\n{printed}");
    }
}

/// Asks everything that can be asked about a file.
fn ask_everything(path: &Path, secrets: &[String], about: &str) {
    let file = path.to_str().unwrap();
    let folder = path.parent().unwrap().to_str().unwrap();
    for format in ["text", "json", "yaml"] {
        for kind in [
            "registries",
            "provider-config",
            "auth-file",
            "dockercfg",
            "manifests",
            "hosts-toml",
            "containerd-config",
        ] {
            // Sooner or later somebody says that a file is what it is not.
            assert_silent(&printed(&["lint", file, "--as", kind, "-o", format]), secrets, about);
        }
        assert_silent(&printed(&["lint", file, "-o", format]), secrets, about);
        assert_silent(&printed(&["diff", file, "--root", folder, "-o", format]), secrets, about);
        for runtime in ["containerd", "k3s"] {
            let arguments = ["import", file, "--from", runtime, "--registry", "quay.io", "-o", format];
            assert_silent(&printed(&arguments), secrets, about);
        }
        // YAML is made of the same value as JSON, so one of the two is enough here.
        for runtime in ["crio", "containerd", "k3s"].into_iter().filter(|_| format != "yaml") {
            let arguments = ["render", "--for", runtime, "-o", format];
            assert_silent(&printed(&[&arguments[..], &[file]].concat()), secrets, about);
            let base = path.file_name().unwrap().to_str().unwrap();
            let node = ["--root", folder, "--registries-conf", base];
            assert_silent(&printed(&[&arguments[..], &node].concat()), secrets, about);
            let examples = top().join("examples/mirror-sets");
            let arguments = ["diff", "--for", runtime, "-o", format, examples.to_str().unwrap()];
            assert_silent(&printed(&[&arguments[..], &node].concat()), secrets, about);
        }
        for image in ["quay.io/team/app", "nginx", "gcr.io/x"] {
            let arguments = ["explain", image, "-n", "default", "--root", folder, "-o", format];
            for (option, value) in
                [("--global-auth-file", file), ("--provider-config", file), ("--manifests", folder)]
            {
                let base = path.file_name().unwrap().to_str().unwrap();
                let value = if option == "--manifests" { value } else { base };
                let arguments = [&arguments[..], &[option, value]].concat();
                assert_silent(&printed(&arguments), secrets, about);
            }
        }
    }
}

fn fixtures() -> Vec<(String, String)> {
    let lint = files(&testdata("lint")).into_iter().filter(|file| file.is_file());
    let examples = files(&top().join("examples/manifests"));
    let others = [
        testdata("bare-node/var/lib/kubelet/config.json"),
        testdata("manifests/twice.yaml"),
        testdata("k3s-node/etc/rancher/k3s/registries.yaml"),
    ];
    lint.chain(examples)
        .chain(others)
        .map(|file| {
            let name = file.file_name().unwrap().to_str().unwrap().to_owned();
            let text = String::from_utf8_lossy(&std::fs::read(file).unwrap()).into_owned();
            (name, text.replace("not-a-real-password", PASSWORD))
        })
        .collect()
}

#[test]
fn whole_files_give_nothing_away() {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in fixtures() {
        let path = folder.path().join(&name);
        std::fs::write(&path, &text).unwrap();
        ask_everything(&path, &secrets(&text), &name);
        std::fs::remove_file(path).unwrap();
    }
}

#[test]
fn damaged_files_give_nothing_away() {
    let folder = tempfile::tempdir().unwrap();
    // A URL without its `@` is no longer one with a password, so these files are only asked about whole.
    let urls = [
        "a-password-in-a-pattern.yaml",
        "a-password-in-a-mirror.yaml",
        "a-password-in-the-url-of-a-host.toml",
    ];
    let may_be_damaged = |name: &str| !name.contains(".conf") && !urls.contains(&name);
    for (name, text) in fixtures() {
        if !may_be_damaged(&name) || secrets(&text).is_empty() {
            continue;
        }
        let path = folder.path().join(&name);
        let secrets = secrets(&text);
        for at in (0..text.len()).filter(|at| text.is_char_boundary(*at)) {
            let (before, after) = text.split_at(at);
            let without = after.chars().next().map_or(after, |c| &after[c.len_utf8()..]);
            let damages = [
                before.to_owned(),
                format!("{before}{without}"),
                format!("{before}\n{without}"),
                format!("{before}\"{after}"),
                format!("{before}: {after}"),
                format!("{before} #{after}"),
                format!("{before}, {after}"),
                format!("{before}{{{after}"),
            ];
            // Two at each place: all eight at all places take a minute and found nothing more.
            for damaged in damages.into_iter().skip(at % 4).step_by(4) {
                std::fs::write(&path, &damaged).unwrap();
                let file = path.to_str().unwrap();
                let command = if name == "registries.yaml" { "import" } else { "lint" };
                assert_silent(&printed(&[command, file]), &secrets, &damaged);
            }
        }
        std::fs::remove_file(path).unwrap();
    }
}
