//! `pullwright rbac`: both formats are the same objects, whatever the names look like.

use pullwright_documents::{DocumentNode, yaml_documents};
use serde_json::Value;

use crate::program::command;

fn rbac(arguments: &[&str]) -> String {
    let output = command(&[&["rbac"], arguments].concat()).output().unwrap();
    assert_eq!((output.status.code(), output.stderr.as_slice()), (Some(0), &b""[..]), "{arguments:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// Names that YAML without quotes takes for numbers, dates or truth values.
#[test]
fn a_name_stays_a_text() {
    let names = [
        "0.1.0",
        "012",
        "0b1",
        "0o17",
        "0x1f",
        "1",
        "1.5",
        "1e3",
        "2001-01-01",
        "n",
        "no",
        "null",
        "on",
        "true",
        "y",
    ];
    let options: Vec<_> =
        names.iter().flat_map(|&name| ["--secret", name, "--service-account", name]).collect();
    let yaml = rbac(&[&["123"], &options[..]].concat());
    let objects: Vec<_> = yaml_documents(&yaml).unwrap().iter().map(DocumentNode::value).collect();
    assert_eq!(objects[0]["rules"][0]["resourceNames"], serde_json::json!(names));
    assert_eq!(objects[1]["metadata"]["namespace"], "123");
    let list: Value = serde_json::from_str(&rbac(&[&["123", "-o", "json"], &options[..]].concat())).unwrap();
    assert_eq!(list["items"], Value::Array(objects));
}

#[test]
fn what_is_wrong_is_refused_before_anything_is_printed() {
    for arguments in [
        &["rbac"][..],
        &["rbac", "team", "-o", "text"],
        &["rbac", "team", "--secret", ""],
        &["rbac", "team", "--service-account", "*"],
        &["rbac", "kube-system/x"],
    ] {
        let output = command(arguments).output().unwrap();
        assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(2), &b""[..]), "{arguments:?}");
    }
}
