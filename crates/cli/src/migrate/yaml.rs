//! YAML in the shape in which oc writes it: four spaces, names in order, lists indented below their name.

use std::io;

use pullwright_api::{ImageContentSourcePolicy, ImageDigestMirrorSet};
use pullwright_documents::{DocumentNode, NodeContent, yaml_documents};
use serde_json::{Map, Value};

/// Between two documents.
pub(super) const SEPARATOR: &str = "---\n";
/// How much deeper what is below a name stands.
const STEP: usize = 4;

/// The objects that replace these, one document each.
pub(super) fn documents(policies: Vec<ImageContentSourcePolicy>) -> io::Result<String> {
    let documents = policies.into_iter().map(|policy| {
        let set = serde_json::to_value(ImageDigestMirrorSet::from(policy))?;
        document(&set)
    });
    Ok(documents.collect::<io::Result<Vec<_>>>()?.join(SEPARATOR))
}

fn document(value: &Value) -> io::Result<String> {
    let mut out = String::new();
    match value {
        Value::Object(members) if !members.is_empty() => map(members, 0, 0, &mut out)?,
        other => out = format!("{}\n", leaf(other)?),
    }
    Ok(out)
}

/// The members of a map. `column` is where names begin, `indent` what counts for what is below them: behind the dash of an
/// item the two differ. Whoever calls has written the space before the first name.
fn map(members: &Map<String, Value>, indent: usize, column: usize, out: &mut String) -> io::Result<()> {
    let below = indent + STEP;
    for (index, (name, value)) in members.iter().enumerate() {
        if index > 0 {
            out.push_str(&" ".repeat(column));
        }
        out.push_str(&text(name)?);
        match value {
            Value::Object(members) if !members.is_empty() => {
                out.push_str(&format!(":\n{:below$}", ""));
                map(members, below, below, out)?;
            }
            Value::Array(items) if !items.is_empty() => {
                out.push_str(":\n");
                list(items, below, out)?;
            }
            other => out.push_str(&format!(": {}\n", leaf(other)?)),
        }
    }
    Ok(())
}

fn list(items: &[Value], indent: usize, out: &mut String) -> io::Result<()> {
    for item in items {
        out.push_str(&format!("{:indent$}- ", ""));
        match item {
            Value::Object(members) if !members.is_empty() => map(members, indent, indent + 2, out)?,
            other => out.push_str(&format!("{}\n", leaf(other)?)),
        }
    }
    Ok(())
}

/// What fits on the line of its name. JSON is YAML, so the rest needs no shape of its own: empty collections, numbers, and
/// lists in lists, which these objects do not have.
fn leaf(value: &Value) -> io::Result<String> {
    match value {
        Value::String(value) => text(value),
        other => Ok(serde_json::to_string(other)?),
    }
}

/// A text, in quotes only where it needs them: single ones where YAML would see more than a text in it, double ones where it
/// would see something else, such as a number, or where there is something to escape.
fn text(text: &str) -> io::Result<String> {
    let options = serde_saphyr::ser_options! { prefer_block_scalars: false };
    let written = serde_saphyr::to_string_with_options(&text, options).map_err(io::Error::other)?;
    let written = written.trim_end_matches('\n');
    if written == text || text.chars().any(char::is_control) || is_one_value(text) {
        return Ok(written.to_owned());
    }
    Ok(format!("'{}'", text.replace('\'', "''")))
}

/// Whether a parser would take the bare text for one value, and so only its type is in doubt.
fn is_one_value(text: &str) -> bool {
    let bare = yaml_documents(text).unwrap_or_default();
    let whole =
        |node: &DocumentNode| matches!(node.content, NodeContent::Leaf(_)) && node.span == (0..text.len());
    text.is_empty() || matches!(bare.as_slice(), [node] if whole(node))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_shape_is_that_of_oc() {
        let set = json!({
            "apiVersion": "config.openshift.io/v1", "kind": "ImageDigestMirrorSet",
            "metadata": {"annotations": {"icspCon": "idms"}, "labels": {"icspIdx": "1"}, "name": "convert"},
            "spec": {"imageDigestMirrors": [
                {"mirrors": ["z1.example.com", "y2.example.com"], "source": "source.example.com"},
                {"source": "*.example.net"},
            ]},
        });
        assert_eq!(
            document(&set).unwrap(),
            "\
apiVersion: config.openshift.io/v1
kind: ImageDigestMirrorSet
metadata:
    annotations:
        icspCon: idms
    labels:
        icspIdx: \"1\"
    name: convert
spec:
    imageDigestMirrors:
        - mirrors:
            - z1.example.com
            - y2.example.com
          source: source.example.com
        - source: '*.example.net'
"
        );
    }

    #[test]
    fn every_text_reads_back_as_itself() {
        let texts = [
            "",
            "1",
            "1e3",
            "0777",
            "true",
            "yes",
            "on",
            "~",
            "null",
            "2026-01-01",
            "a: b",
            "a #b",
            "- a",
            "*a",
            "&a",
            "!a",
            "{\"a\":1}",
            "[a]",
            "it's",
            "'quoted'",
            "\"quoted\"",
            "a\nb",
            "a\n",
            "\ttab",
            " space",
            "space ",
            "ä",
            "a:",
            "---",
            "...",
            "%a",
            "@a",
            "`a",
            "|",
            ">",
            "?",
            ":",
            "#",
            "\u{7f}",
            "\u{85}",
            "\u{2028}",
            "\u{feff}a",
        ];
        let long = "words ".repeat(40) + "end";
        for text in texts.into_iter().chain([long.as_str()]) {
            let value = json!({"metadata": {"annotations": {"key": text, text: "value"}, "list": [text, {"a": text}]}});
            let written = document(&value).unwrap();
            let read = yaml_documents(&written)
                .unwrap_or_else(|error| panic!("{text:?}: {written}{}", error.message));
            assert!(read[0].value() == value, "{text:?} is written as {written}");
        }
    }
}
