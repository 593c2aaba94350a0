//! What CRI-O's files say about short names, in the order in which CRI-O reads them.

use std::fs;

use pullwright_engine::registries::{LoaderEnv, ShortNameMode, ShortNameRule};
use pullwright_nodefiles::NodeRoot;

fn node(files: &[(&str, &str)]) -> (tempfile::TempDir, NodeRoot) {
    let folder = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = folder.path().join(path.trim_start_matches('/'));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let root = NodeRoot::at(folder.path()).unwrap();
    (folder, root)
}

fn rule(files: &[(&str, &str)]) -> Result<(ShortNameMode, Option<String>), String> {
    let (_folder, root) = node(files);
    let ShortNameRule { mode, origin } = root.short_name_rule().map_err(|error| error.to_string())?;
    Ok((mode, origin.map(|path| path.display().to_string())))
}

const ENFORCING: &str = "[crio.image]\nshort_name_mode = 'enforcing'\n";
const DISABLED: &str = "[crio.image]\nshort_name_mode = 'disabled'\n";

#[test]
fn without_a_word_from_anybody_crio_enforces() {
    assert_eq!(rule(&[]), Ok((ShortNameMode::Enforcing, None)));
    assert_eq!(rule(&[("/etc/crio/crio.conf", "[crio]\n")]), Ok((ShortNameMode::Enforcing, None)));
}

#[test]
fn the_last_file_that_says_something_decides_whatever_it_is_called() {
    let conf = "/etc/crio/crio.conf";
    let drop_in = |name: &str| format!("/etc/crio/crio.conf.d/{name}");
    assert_eq!(rule(&[(conf, DISABLED)]), Ok((ShortNameMode::Disabled, Some(conf.to_owned()))));
    let (nested, backup) = (drop_in("20/zzz"), drop_in("30.rpmsave"));
    let files = [(conf, DISABLED), (&*nested, ENFORCING), (&*backup, DISABLED)];
    assert_eq!(rule(&files), Ok((ShortNameMode::Disabled, Some(backup.clone()))));
    let files = [(conf, DISABLED), (&*nested, ENFORCING), (&*drop_in("10"), DISABLED)];
    assert_eq!(rule(&files), Ok((ShortNameMode::Enforcing, Some(nested.clone()))));
}

#[test]
fn a_file_that_crio_refuses_is_named() {
    let error = rule(&[("/etc/crio/crio.conf.d/10", "[crio.image]\nshort_name_mode = 'permissive'\n")]);
    let expected =
        "loading CRI-O's configuration \"/etc/crio/crio.conf.d/10\": invalid short name mode \"permissive\"";
    assert_eq!(error, Err(expected.to_owned()));
}

#[test]
fn recorded_aliases_are_found_where_the_library_looks() {
    let recorded = "[aliases]\nnginx = 'recorded.io/nginx'\n";
    let (_folder, root) = node(&[
        ("/var/cache/containers/short-name-aliases.conf", recorded),
        ("/etc/containers/registries.conf", "[aliases]\nnginx = 'a.io/nginx'\n"),
    ]);
    let target = |env: &LoaderEnv| {
        let loaded = root.registries(env).unwrap();
        loaded.alias("nginx").unwrap().unwrap().target.clone().unwrap().name().to_owned()
    };
    assert_eq!(target(&LoaderEnv::default()), "recorded.io/nginx");
    assert_eq!(
        target(&LoaderEnv { uid: 1000, home: Some("/home/u".into()), ..LoaderEnv::default() }),
        "a.io/nginx"
    );
}
