//! One table for the three formats: a path, and the text that it stands for.

use pullwright_findings::DocPath;
use serde_json::json;

use super::*;

/// `registry[0].location` as a path. Keys with dots are given in quotes.
fn path(text: &str) -> DocPath {
    let mut path = DocPath::root();
    let mut rest = text;
    while !rest.is_empty() {
        if let Some(quoted) = rest.strip_prefix('\'') {
            let (key, after) = quoted.split_once('\'').unwrap();
            (path, rest) = (path.key(key), after);
        } else if let Some(index) = rest.strip_prefix('[') {
            let (index, after) = index.split_once(']').unwrap();
            (path, rest) = (path.index(index.parse().unwrap()), after);
        } else {
            let end = rest.find(['.', '[']).unwrap_or(rest.len());
            (path, rest) = (path.key(&rest[..end]), &rest[end..]);
        }
        rest = rest.strip_prefix('.').unwrap_or(rest);
    }
    path
}

fn assert_places(text: &str, document: &DocumentNode, cases: &[(&str, &str, &str)]) {
    let locator = Locator::new(document);
    for (at, name, value) in cases {
        let place = locator.locate(&path(at));
        assert_eq!(&text[place.of_name()], *name, "the name at {at}");
        assert_eq!(&text[place.of_value()], *value, "the value at {at}");
    }
}

#[test]
fn places_in_toml() {
    let text = r#"
unqualified-search-registries = ["docker.io", "quay.io"]
[[registry]]
location = "a.io" # first
blocked = false
[[registry]]
location = 'b.io'
[[registry.mirror]]
Location = "m.io"
[aliases]
"x" = "a.io/x"
"#;
    let document = toml_document(text).ok().unwrap();
    let cases = [
        ("registry[0].location", "location", "\"a.io\""),
        ("registry[0].blocked", "blocked", "false"),
        ("registry[1].location", "location", "'b.io'"),
        ("registry[1].mirror[0].location", "Location", "\"m.io\""),
        ("unqualified-search-registries[1]", "\"quay.io\"", "\"quay.io\""),
        ("aliases.x", "\"x\"", "\"a.io/x\""),
        ("registry[1]", "[[registry]]", "[[registry]]"),
        ("registry[1].insecure", "[[registry]]", "[[registry]]"),
        ("registry[1].mirror[0].insecure", "[[registry.mirror]]", "[[registry.mirror]]"),
        ("registry[7].location", "registry", "registry"),
    ];
    assert_places(text, &document, &cases);
    let second = Locator::new(&document).locate(&path("registry[1]"));
    assert_eq!(Text::new(text.to_owned()).position(second.value.start).line, 6);
}

const JSON: &str = r#"{
	"auths" : {
		"quay.io": {"auth":"dTpw"},
		"qu\u0061y.io/\"x\"" : {}
	},
	"credHelpers": {"a.io": "ecr"}, "list": [1, {"a":[ ]}]
}"#;

#[test]
fn places_in_json() {
    let documents = documents(JSON).ok().unwrap();
    let cases = [
        ("auths.'quay.io'.auth", "\"auth\"", "\"dTpw\""),
        ("AUTHS.'quay.io'.Auth", "\"auth\"", "\"dTpw\""),
        ("auths.'quay.io/\"x\"'", r#""qu\u0061y.io/\"x\"""#, r#""qu\u0061y.io/\"x\"""#),
        ("auths", "\"auths\"", "\"auths\""),
        ("credHelpers.'a.io'", "\"a.io\"", "\"ecr\""),
        ("credHelpers.'b.io'", "\"credHelpers\"", "\"credHelpers\""),
        ("list[1].a", "\"a\"", "\"a\""),
        ("list[0]", "1", "1"),
    ];
    assert_places(JSON, &documents[0], &cases);
    assert_eq!(documents[0].value()["list"], json!([1, {"a": []}]));
}

const YAML: &str = "\
# a comment
apiVersion: v1
metadata: {name: \"a b\", labels: {}}
data:
  .dockerconfigjson: |
    one
    two
  other: >-
    folded
list:
- first
- name: second
  env: [x, 'y']
---
kind: 'Secret'
stringData:
  empty:
";

#[test]
fn names_of_a_large_map_are_found_as_in_a_small_one() {
    for others in [0, 100] {
        let others: String = (0..others).map(|name| format!("\"n{name}\":0,")).collect();
        let text = format!("{{{others}\"a\":1,\"A\":2,\"a\":3,\"Bc\":4,\"bC\":5}}");
        let document = json_document(&text).ok().unwrap();
        let locator = Locator::new(&document);
        for (key, value) in [("a", "3"), ("A", "2"), ("bc", "5"), ("Bc", "4")] {
            assert_eq!(&text[locator.locate(&path(key)).value], value, "{key} beside {others}");
        }
        assert_eq!(locator.locate(&path("d")).found, 0);
    }
}

#[test]
fn places_in_yaml() {
    let documents = documents(YAML).ok().unwrap();
    let cases = [
        ("apiVersion", "apiVersion", "v1"),
        ("metadata.name", "name", "\"a b\""),
        ("metadata.labels", "labels", "labels"),
        ("data", "data", "data"),
        ("data.'.dockerconfigjson'.auths", ".dockerconfigjson", "one\n    two\n  "),
        ("list[0]", "first", "first"),
        ("list[1].name", "name", "second"),
        ("list[1].env[1]", "'y'", "'y'"),
    ];
    assert_places(YAML, &documents[0], &cases);
    let cases = [("kind", "kind", "'Secret'"), ("stringData.empty", "empty", "empty")];
    assert_places(YAML, &documents[1], &cases);
    assert_eq!(documents.len(), 2);
    assert_eq!(documents[0].value()["data"], json!({".dockerconfigjson": "one\ntwo\n", "other": "folded"}));
}

#[test]
fn yaml_words_are_what_kubernetes_takes_them_for() {
    let text = "[null, ~, yes, 'yes', off, 12, -0x1F, 0o17, 1.5, 1e3, 1.2.3, 12:30, 0s, .5, <<, !!str 5]";
    let value = documents(text).ok().unwrap()[0].value();
    let expected = json!([
        null, null, true, "yes", false, 12, -31, 15, 1.5, 1000.0, "1.2.3", "12:30", "0s", 0.5, "<<", "5"
    ]);
    assert_eq!(value, expected);
    let largest = documents("[-9223372036854775808, 18446744073709551615]").ok().unwrap()[0].value();
    assert_eq!(largest, json!([i64::MIN, u64::MAX]));
}

#[test]
fn aliases_and_merge_keys_stand_for_what_they_name() {
    let text = "base: &base {a: 1, b: 2}\nuse: {<<: *base, b: 3}\nagain: *base\n";
    let documents = documents(text).ok().unwrap();
    assert_eq!(documents[0].value()["use"], json!({"a": 1, "b": 3}));
    assert_eq!(documents[0].value()["again"], json!({"a": 1, "b": 2}));
    assert_eq!(&text[Locator::new(&documents[0]).locate(&path("again")).value], "*base");
}

#[test]
fn what_is_hostile_is_refused_and_not_suffered() {
    let bomb = (1..9).fold("a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n".to_owned(), |text, level| {
        let below = vec![format!("*a{}", level - 1); 10].join(",");
        format!("{text}a{level}: &a{level} [{below}]\n")
    });
    assert_eq!(documents(&bomb).err().unwrap().message, "the aliases stand for too much");
    assert!(documents("a: &a [*a]").is_err());
    assert!(documents(&"[".repeat(100_000)).is_err());
    let deep = format!("{}{}", "[".repeat(9_000), "]".repeat(9_000));
    assert_eq!(documents(&deep).ok().unwrap().len(), 1, "Go reads it, so do we");
    assert!(documents("? [a]\n: b\n").is_err());
}

#[test]
fn an_error_says_where() {
    let at = |text: &str| {
        let error = documents(text).err().unwrap();
        Text::new(text.to_owned()).position(error.span.start)
    };
    assert_eq!(at("{\n\t\"a\": x}\n{"), Position { line: 2, column: 7 });
    assert_eq!(at("a: 1\nb: [\n"), Position { line: 2, column: 4 });
    assert_eq!(at("{\"auths\": {"), Position { line: 1, column: 12 });
}

#[test]
fn names_that_are_there_twice() {
    let text = "a: {b: 1, b: 2}\nlist: [{c: 1}, {c: 1}]\na: 3\n";
    let documents = documents(text).ok().unwrap();
    let last = text.rfind('a').unwrap();
    assert_eq!(documents[0].repeated_names(), [last..last + 1, 10..11]);
}

/// What can be read of a text, and the lines of what cannot.
fn each(text: &str) -> (Vec<serde_json::Value>, Vec<usize>) {
    let Documents { read, unreadable } = each_document(text);
    for node in &read {
        // The places are those of the whole text.
        assert!(node.members().iter().all(|member| text[member.name_span.clone()] == member.name));
    }
    let lines = unreadable.iter().map(|error| Text::new(text.to_owned()).position(error.span.start).line);
    (read.iter().map(DocumentNode::value).collect(), lines.collect())
}

#[test]
fn a_document_that_cannot_be_read_hurts_only_itself() {
    let (a, b) = (json!({"a": 1}), json!({"b": 2}));
    for (text, read, lines) in [
        ("a: 1\n---\nb: 2\n---\nc: [\n", vec![&a, &b], vec![5]),
        ("c: [\n---\na: 1\n---\nb: 2\n", vec![&a, &b], vec![1]),
        ("a: 1\n--- # second\nc: \"x\n---\r\nb: 2\n", vec![&a, &b], vec![4]),
        ("# first\n%YAML 1.1\n---\na: 1\n---\nc: }\n", vec![&a], vec![6]),
        ("c: [\n---\nd: [\n---\na: 1", vec![&a], vec![1, 3]),
        ("c: [\n", vec![], vec![1]),
        ("{\"a\": 1,}\n{", vec![], vec![1]),
        ("a: 1\n---\nb: 2\n", vec![&a, &b], vec![]),
        ("a: 1", vec![&a], vec![]),
    ] {
        assert_eq!(each(text), (read.into_iter().cloned().collect(), lines), "{text}");
    }
}

#[test]
fn aliases_of_all_documents_together_stand_for_no_more_than_those_of_one() {
    let many = format!("a: &a [{}]\nb: [{}]\n", "x, ".repeat(300), "*a, ".repeat(300));
    assert_eq!(each_document(&many).unreadable.len(), 0);
    let twice = format!("{many}---\n{many}---\nc: [\n");
    assert_eq!((each_document(&twice).read.len(), each_document(&twice).unreadable.len()), (1, 2));
}
