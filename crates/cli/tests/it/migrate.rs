//! `pullwright migrate icsp`: the answer to each file of `testdata/migrate` stands beside it in `expected/`; and what happens to
//! files.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Output;

use crate::program::{command, differs, files, piped, testdata, top, transcript};

fn migrate(arguments: &[&str]) -> Output {
    command(&[&["migrate", "icsp"], arguments].concat()).output().unwrap()
}

fn fixture(name: &str) -> String {
    testdata("migrate").join(name).to_str().unwrap().to_owned()
}

fn stdout(output: &Output) -> &str {
    str::from_utf8(&output.stdout).unwrap()
}

fn stderr(output: &Output) -> &str {
    str::from_utf8(&output.stderr).unwrap()
}

/// The names in a folder.
fn names(folder: &Path) -> Vec<String> {
    files(folder).iter().map(|file| file.file_name().unwrap().to_str().unwrap().to_owned()).collect()
}

fn good_fixtures() -> Vec<PathBuf> {
    let all = files(&testdata("migrate")).into_iter();
    all.filter(|file| file.file_name().unwrap().to_str().unwrap().starts_with("good-")).collect()
}

#[test]
fn every_fixture_has_its_answer() {
    let folder = testdata("migrate");
    let mut wrong = Vec::new();
    for file in files(&folder).into_iter().filter(|file| file.is_file()) {
        let name = file.file_name().unwrap().to_str().unwrap();
        let path = file.strip_prefix(top()).unwrap().to_str().unwrap();
        let output = migrate(&["--to-stdout", path]);
        let code = output.status.code().unwrap();
        if code != i32::from(!name.starts_with("good-")) {
            wrong.push(format!("{name}: exit {code}"));
        }
        wrong.extend(differs(&folder.join("expected").join(format!("{name}.txt")), &transcript(&output)));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Said by the other half of the program, which knows nothing of migrations.
#[test]
fn a_node_gets_the_same_registries_conf_from_the_old_objects_and_from_the_new() {
    let folder = tempfile::tempdir().unwrap();
    let new = folder.path().join("new.yaml");
    let mut mirrors = 0;
    for old in good_fixtures() {
        fs::write(&new, migrate(&["--to-stdout", old.to_str().unwrap()]).stdout).unwrap();
        let rendered = |path: &Path| command(&["render", path.to_str().unwrap()]).output().unwrap().stdout;
        let (before, after) = (rendered(&old), rendered(&new));
        assert!(before == after, "{}", old.display());
        mirrors += String::from_utf8(before).unwrap().matches("[[registry.mirror]]").count();
    }
    assert!(mirrors > 10, "there was nothing to compare: {mirrors} mirrors");
}

#[test]
fn what_was_migrated_needs_no_migration() {
    let folder = tempfile::tempdir().unwrap();
    let new = folder.path().join("new.yaml");
    fs::write(&new, migrate(&["--to-stdout", &fixture("good-the-example-of-oc.yaml")]).stdout).unwrap();
    let output = migrate(&["--to-stdout", new.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("it needs no migration"), "{}", stderr(&output));
}

#[test]
fn files_have_the_names_of_oc_and_a_second_run_adds_none() {
    let folder = tempfile::tempdir().unwrap();
    let destination = folder.path().join("a/new/folder");
    let shown = destination.to_str().unwrap();
    let source = fixture("good-two-policies-are-two-documents.yaml");
    let first = migrate(&[&source, "--dest-dir", shown]);
    let names_then = names(&destination);
    let [name] = names_then.as_slice() else { panic!("{names_then:?}") };
    let number = name.strip_prefix("imagedigestmirrorset_first.").unwrap().strip_suffix(".yaml").unwrap();
    assert!(number.len() >= 6 && number.parse::<i64>().is_ok(), "{name}");
    assert_eq!(
        stdout(&first),
        format!(
            "wrote ImageDigestMirrorSet to {shown}/{name}\nregistries.conf unchanged: proved for 2 objects\n"
        )
    );
    assert_eq!((stderr(&first), first.status.code()), ("", Some(0)));
    let text = fs::read_to_string(destination.join(name)).unwrap();
    assert_eq!(text.matches("---\n").count(), 1);
    assert_eq!(text.as_bytes(), migrate(&["--to-stdout", &source]).stdout);

    let second = migrate(&[&source, "--dest-dir", shown]);
    assert!(stdout(&second).starts_with(&format!("ImageDigestMirrorSet is already in {shown}/{name}\n")));
    assert_eq!(second.status.code(), Some(0));
    assert_eq!(names(&destination), names_then);

    fs::write(destination.join(name), "edited\n").unwrap();
    let third = migrate(&[&source, "--dest-dir", shown]);
    assert!(
        stderr(&third).starts_with("error: error writing ImageDigestMirrorSet: ")
            && stderr(&third).contains("already exists with other content"),
        "{}",
        stderr(&third)
    );
    assert_eq!(third.status.code(), Some(1));
    assert_eq!(fs::read_to_string(destination.join(name)).unwrap(), "edited\n");
}

#[test]
fn without_a_folder_files_go_to_the_current_one_with_the_mode_of_the_umask() {
    let folder = tempfile::tempdir().unwrap();
    let source = fixture("good-the-example-of-oc.yaml");
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", "umask 027; exec \"$@\"", "sh", env!("CARGO_BIN_EXE_pullwright")]);
    let output = shell.args(["migrate", "icsp", &source]).current_dir(folder.path()).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let written = files(folder.path());
    assert_eq!(written.len(), 1, "{written:?}");
    assert_eq!(fs::metadata(&written[0]).unwrap().permissions().mode() & 0o777, 0o640);
}

#[test]
fn standard_input_is_a_file_like_any_other() {
    let folder = tempfile::tempdir().unwrap();
    let text = fs::read(fixture("good-the-example-of-oc.yaml")).unwrap();
    let shown = folder.path().to_str().unwrap();
    let done = piped(&["migrate", "icsp", "-", "--dest-dir", shown], &text);
    assert!(done.status.success(), "{done:?}");
    assert!(names(folder.path())[0].starts_with("imagedigestmirrorset_convert."));
}

#[test]
fn a_file_that_fails_does_not_stop_the_others() {
    let folder = tempfile::tempdir().unwrap();
    let output = migrate(&[
        &fixture("a-source-with-a-scheme.yaml"),
        &fixture("good-the-example-of-oc.yaml"),
        &fixture("no-such-file.yaml"),
        &fixture("good-nothing-but-a-null.yaml"),
        "--dest-dir",
        folder.path().to_str().unwrap(),
    ]);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(
        stderr(&output).lines().filter(|line| line.starts_with("error")).count(),
        2,
        "{}",
        stderr(&output)
    );
    assert_eq!(stdout(&output).matches("wrote ImageDigestMirrorSet to ").count(), 2);
    assert_eq!(names(folder.path()).len(), 2);
}

#[test]
fn objects_of_one_name_collide_across_files() {
    let copy = tempfile::NamedTempFile::with_suffix(".yaml").unwrap();
    fs::copy(fixture("good-the-example-of-oc.yaml"), copy.path()).unwrap();
    let output =
        migrate(&["--to-stdout", &fixture("good-the-example-of-oc.yaml"), copy.path().to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        stderr(&output).contains("a later ImageContentSourcePolicy/convert replaces this one"),
        "{}",
        stderr(&output)
    );
    assert_eq!(stdout(&output).matches("name: convert").count(), 1);
}

/// What scripts around `oc adm migrate icsp` may look for.
#[test]
fn errors_have_the_texts_of_oc() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    fs::write(path("a file"), "").unwrap();
    let good = fixture("good-the-example-of-oc.yaml");
    let text = |name: &str, before: &str, after: &str| {
        let fixture = fixture(name);
        (vec![fixture.clone(), "--to-stdout".to_owned()], 1, format!("{before}{fixture}{after}"))
    };
    let words = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect::<Vec<_>>();
    let rows = [
        (
            vec![],
            2,
            "convert expects at least one argument, path to an imagecontentsourcepolicy file".to_owned(),
        ),
        (
            words(&[&good, "--dest-dir", &path("a file")]),
            2,
            format!("{:?} exists and is a file", path("a file")),
        ),
        text("no-such-file.yaml", "unable to read ImageContentSourceFile ", ": "),
        text("empty.yaml", "no data found in ImageContentSourceFile ", "\n"),
        text("only-separators.yaml", "no data found in ImageContentSourceFile ", "\n"),
        text("not-yaml.yaml", "error reading ImageContentSourcePolicy from ", ": "),
        text(
            "another-kind.yaml",
            "error decoding ImageContentSourcePolicy from ",
            ": no kind \"ConfigMap\" is registered for version \"v1\"\n",
        ),
        text("no-kind.yaml", "error decoding ImageContentSourcePolicy from ", ": Object 'Kind' is missing\n"),
        text("a-mirror-that-is-a-number.yaml", "error decoding ImageContentSourcePolicy from ", ": "),
        text("another-kind-of-the-group.yaml", "could not decode ImageContentSourcePolicy from ", "\n"),
    ];
    for (arguments, code, expected) in rows {
        let output = migrate(&arguments.iter().map(String::as_str).collect::<Vec<_>>());
        assert_eq!(output.status.code(), Some(code), "{expected}");
        assert!(stderr(&output).contains(&expected), "{expected}: {}", stderr(&output));
        assert_eq!(stdout(&output), "", "{expected}");
    }
}

#[test]
fn a_folder_that_cannot_be_written_to_is_told_for_each_file() {
    let output = migrate(&[&fixture("good-the-example-of-oc.yaml"), "--dest-dir", "/proc/self"]);
    assert!(
        stderr(&output).starts_with("error: error writing ImageDigestMirrorSet: "),
        "{}",
        stderr(&output)
    );
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn programs_are_told_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let shown = folder.path().to_str().unwrap();
    let sources = [fixture("good-two-policies-are-two-documents.yaml"), fixture("a-mirror-twice.yaml")];
    let output = migrate(&[&sources[0], &sources[1], "--dest-dir", shown, "--output", "json"]);
    assert_eq!((stderr(&output), output.status.code()), ("", Some(1)));
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["registriesConfUnchanged"], true);
    assert_eq!(report["files"][0]["state"], "written");
    assert_eq!(report["files"][0]["objects"], serde_json::json!(["first", "second"]));
    assert_eq!(report["files"][0]["to"], format!("{shown}/{}", names(folder.path())[0]));
    assert_eq!(report["files"][1]["state"], "failed");
    assert_eq!(report["files"][1]["to"], serde_json::Value::Null);
    assert_eq!(report["files"][1]["findings"][0]["rule"], "mirrors/duplicate-mirror");
    assert_eq!(report["files"][1]["findings"][0]["line"], 8);
}

#[test]
fn a_folder_and_standard_output_exclude_each_other() {
    for other in [["--dest-dir", "x"], ["--output", "json"]] {
        let output =
            migrate(&[&["--to-stdout", &fixture("good-the-example-of-oc.yaml")], &other[..]].concat());
        assert_eq!(output.status.code(), Some(2));
        assert!(stderr(&output).contains("cannot be used with"), "{}", stderr(&output));
    }
}
