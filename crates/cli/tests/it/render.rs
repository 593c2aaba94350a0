//! Rendering mirror sets: the same bytes from the same objects, and files that are written whole and nowhere else.

use std::fs;
use std::path::Path;
use std::process::{Output, Stdio};

use pullwright_engine::containerd::HEADER;

use crate::program::{command, testdata, top};

fn run(arguments: &[&str]) -> Output {
    command(arguments).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// Renders the examples for containerd into a folder.
fn to_certs_d(folder: &Path, more: &[&str]) -> Output {
    let folder = folder.to_str().unwrap();
    run(&[&["render", "examples/mirror-sets", "--for", "containerd", "--to", folder], more].concat())
}

#[test]
fn the_order_of_files_does_not_change_a_byte() {
    let files = ["digests", "image", "tags"].map(|name| format!("examples/mirror-sets/{name}.yaml"));
    let [digests, image, tags] = files.each_ref().map(String::as_str);
    let folder = run(&["render", "examples/mirror-sets"]);
    assert!(folder.stdout.starts_with(b"short-name-mode"), "{folder:?}");
    for order in [[digests, image, tags], [tags, image, digests], [image, tags, digests]] {
        assert_eq!(run(&[&["render"][..], &order].concat()).stdout, folder.stdout, "{order:?}");
    }
}

#[test]
fn objects_come_from_standard_input_too() {
    let file = fs::File::open(testdata("mirror-sets/in-a-list/list.json")).unwrap();
    let piped = command(&["render", "-"]).stdin(file).output().unwrap();
    assert_eq!(piped.status.code(), Some(0));
    assert_eq!(piped.stdout, run(&["render", "crates/cli/testdata/mirror-sets/in-a-list/list.json"]).stdout);

    let empty = command(&["render", "-"]).stdin(Stdio::null()).output().unwrap();
    assert_eq!((empty.status.code(), text(&empty.stdout)), (Some(2), String::new()));
    assert!(text(&empty.stderr).contains("no mirror set in -"), "{empty:?}");
}

#[test]
fn a_file_that_cannot_be_read_is_an_error_and_hurts_only_itself() {
    let folder = tempfile::tempdir().unwrap();
    let good = folder.path().join("good.json");
    let bad = folder.path().join("latin1.yaml");
    fs::copy(testdata("mirror-sets/in-a-list/list.json"), &good).unwrap();
    let [folder, good, bad] = [folder.path(), &good, &bad].map(|path| path.to_str().unwrap());
    let alone = run(&["render", folder]);
    fs::write(bad, b"kind: \xe9").unwrap();
    for arguments in [&["render", folder][..], &["render", good, bad], &["render", bad, good]] {
        let output = run(arguments);
        assert_eq!((output.status.code(), &output.stdout), (Some(1), &alone.stdout));
        assert!(text(&output.stderr).contains("latin1.yaml: not UTF-8 text"), "{output:?}");
    }
    // Alone there is nothing to render.
    let output = run(&["render", bad]);
    assert_eq!((output.status.code(), text(&output.stdout)), (Some(2), String::new()));
}

#[test]
fn a_document_that_cannot_be_read_hurts_only_itself() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("sets.yaml");
    let [good, broken] = ["digests.yaml", "tags.yaml"]
        .map(|name| fs::read_to_string(top().join("examples/mirror-sets").join(name)).unwrap());
    let broken = format!("{broken}  - source: [\n");
    let file = file.to_str().unwrap();
    fs::write(file, &good).unwrap();
    let alone = run(&["render", file]);
    assert_eq!(alone.status.code(), Some(0), "{alone:?}");
    for documents in [format!("{good}---\n{broken}"), format!("{broken}---\n{good}")] {
        fs::write(file, documents).unwrap();
        let output = run(&["render", file]);
        assert_eq!((output.status.code(), text(&output.stdout)), (Some(1), text(&alone.stdout)));
        assert!(text(&output.stderr).contains("error[manifests/unreadable]"), "{output:?}");
        assert!(text(&output.stderr).contains("sets.yaml:"), "{output:?}");
    }
}

#[test]
fn a_path_that_is_not_there_means_the_same_for_every_runtime() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    for (runtime, file) in
        [("crio", "registries.conf"), ("containerd", "docker.io/hosts.toml"), ("k3s", "registries.yaml")]
    {
        let output =
            run(&["render", "examples/mirror-sets", "--for", runtime, "--to", at(runtime).to_str().unwrap()]);
        assert!(at(runtime).join(file).is_file(), "{runtime}: {output:?}");
    }
    for (runtime, one) in [("crio", true), ("containerd", false), ("k3s", true)] {
        let to = at(&format!("{runtime}.yaml"));
        let output = run(&["render", "examples/mirror-sets", "--for", runtime, "--to", to.to_str().unwrap()]);
        assert_eq!((to.is_file(), to.exists()), (one, one), "{runtime}: {output:?}");
        assert_eq!(text(&output.stderr).contains("name a folder"), !one, "{runtime}: {output:?}");
    }
}

#[test]
fn what_an_earlier_run_wrote_is_replaced_and_removed_and_nothing_else() {
    let certs_d = tempfile::tempdir().unwrap();
    let path = |name: &str| certs_d.path().join(name);
    for (folder, hosts) in [
        ("gone.example.com", format!("{HEADER}\nserver = \"https://gone.example.com\"\n")),
        ("hand.example.com", "server = \"https://hand.example.com\"\n".to_owned()),
        ("quay.io", format!("{HEADER}\nserver = \"https://old.example.com\"\n")),
    ] {
        fs::create_dir(path(folder)).unwrap();
        fs::write(path(folder).join("hosts.toml"), hosts).unwrap();
    }
    let first = to_certs_d(certs_d.path(), &[]);
    let said = text(&first.stdout);
    assert_eq!(said.matches("wrote ").count(), 4, "{first:?}");
    assert!(said.contains("removed ") && !path("gone.example.com").exists(), "{said}");
    assert!(path("hand.example.com/hosts.toml").exists());
    assert!(fs::read_to_string(path("quay.io/hosts.toml")).unwrap().contains("mirror.example.com"));
    assert_eq!(text(&to_certs_d(certs_d.path(), &[]).stdout), "", "a second run has nothing to do");
    let left: Vec<_> =
        fs::read_dir(path("quay.io")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["hosts.toml"], "nothing temporary is left");
}

#[test]
fn a_file_of_somebody_else_stops_everything_before_anything_is_written() {
    let certs_d = tempfile::tempdir().unwrap();
    let theirs = certs_d.path().join("registry.example.net/hosts.toml");
    fs::create_dir(theirs.parent().unwrap()).unwrap();
    fs::write(&theirs, "# by hand\n").unwrap();
    let refused = to_certs_d(certs_d.path(), &[]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(
        text(&refused.stderr)
            .contains("registry.example.net/hosts.toml already exists and has other content")
    );
    assert_eq!(fs::read_to_string(&theirs).unwrap(), "# by hand\n");
    assert_eq!(fs::read_dir(certs_d.path()).unwrap().count(), 1);

    let forced = to_certs_d(certs_d.path(), &["--force"]);
    assert_eq!(text(&forced.stdout).matches("wrote ").count(), 4, "{forced:?}");
    assert!(fs::read_to_string(&theirs).unwrap().starts_with(HEADER));
}

#[test]
fn a_node_s_configuration_is_not_replaced_by_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let conf = folder.path().join("registries.conf");
    let to = conf.to_str().unwrap();
    let rejected = "crates/cli/testdata/mirror-sets/all-rejected";
    let output = run(&["render", rejected, "--to", to, "--force"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("no object is valid"), "{output:?}");
    assert!(!conf.exists());
}

#[test]
fn one_file_goes_where_it_is_named_and_several_below_a_folder() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let one = run(&["render", "examples/mirror-sets", "--to", at("any.conf").to_str().unwrap()]);
    assert_eq!(one.status.code(), Some(0), "{one:?}");
    assert_eq!(fs::read(at("any.conf")).unwrap(), run(&["render", "examples/mirror-sets"]).stdout);

    let search = "crates/cli/testdata/mirror-sets/search-registries";
    let containers = at("containers");
    let two = run(&["render", search, "--to", containers.to_str().unwrap()]);
    assert_eq!(two.status.code(), Some(0), "{two:?}");
    let drop_in = containers.join("registries.conf.d/01-image-searchRegistries.conf");
    assert!(containers.join("registries.conf").exists());
    assert!(fs::read_to_string(&drop_in).unwrap().contains("registry.example.com"));

    // Objects that say nothing of search registries do not want that file any more.
    let arguments = ["render", "examples/mirror-sets", "--to", containers.to_str().unwrap()];
    assert_eq!(run(&arguments).status.code(), Some(2));
    assert!(drop_in.exists());
    assert_eq!(run(&[&arguments[..], &["--force"]].concat()).status.code(), Some(0));
    assert!(!drop_in.exists());
}

#[test]
fn what_was_rendered_is_no_difference_any_more() {
    let node = tempfile::tempdir().unwrap();
    let root = node.path().to_str().unwrap();
    for (runtime, folder) in [("crio", "etc/containers"), ("containerd", "etc/containerd/certs.d")] {
        let to = node.path().join(folder);
        fs::create_dir_all(&to).unwrap();
        let diff = ["diff", "examples/mirror-sets", "--for", runtime, "--root", root, "-o", "json"];
        let before: serde_json::Value = serde_json::from_slice(&run(&diff).stdout).unwrap();
        assert_ne!(before["files"], serde_json::json!([]), "{runtime}");
        run(&["render", "examples/mirror-sets", "--for", runtime, "--to", to.to_str().unwrap()]);
        let after: serde_json::Value = serde_json::from_slice(&run(&diff).stdout).unwrap();
        assert_eq!((&after["files"], &after["notice"]), (&serde_json::json!([]), &serde_json::Value::Null));
    }
}

#[test]
fn a_policy_is_written_beside_the_registries_and_stays_when_nothing_is_said_about_it() {
    let folder = tempfile::tempdir().unwrap();
    let (to, policy) = (folder.path().to_str().unwrap(), folder.path().join("policy.json"));
    let blocking = "crates/cli/testdata/mirror-sets/the-release-image-is-blocked";
    let written = run(&["render", blocking, "--policy", "--to", to]);
    assert_eq!(written.status.code(), Some(0), "{written:?}");
    let text = fs::read_to_string(&policy).unwrap();
    assert!(text.starts_with("{\n  \"default\"") && text.ends_with("\n}"), "{text}");
    assert!(folder.path().join("registries.conf").exists());

    fs::write(&policy, "somebody's").unwrap();
    let refused = run(&["render", blocking, "--policy", "--to", to]);
    assert_eq!(refused.status.code(), Some(2), "{refused:?}");
    let silent = run(&["render", &format!("{blocking}/mirrored.yaml"), "--policy", "--to", to, "--force"]);
    assert_eq!(silent.status.code(), Some(0), "{silent:?}");
    assert_eq!(fs::read_to_string(&policy).unwrap(), "somebody's");
}
