//! What the Go decoder lets a text say twice. Each was asked of the decoder itself.

use super::*;

fn accepted(text: &str) -> bool {
    Document::parse(text).is_ok()
}

/// The tree as JSON would have it, with `_` for numbers and times.
fn tree(text: &str) -> String {
    fn show(value: Value<'_, '_>) -> String {
        if let Some(items) = value.items() {
            return format!("[{}]", items.map(show).collect::<Vec<_>>().join(","));
        }
        if let Some(table) = value.table() {
            let entries = table.entries().map(|(name, _, value)| format!("{name}:{}", show(value)));
            return format!("{{{}}}", entries.collect::<Vec<_>>().join(","));
        }
        value.text().map_or_else(|| "_".to_owned(), |text| format!("{text:?}"))
    }
    show(Document::parse(text).unwrap().root())
}

#[test]
fn a_table_may_be_added_to_after_its_end() {
    assert_eq!(tree("a.b = 1\n[a]\nc = 'x'"), "{a:{b:_,c:\"x\"}}");
    assert_eq!(tree("a = {}\n[a.b]"), "{a:{b:{}}}");
    assert_eq!(tree("a = { b = 1 }\na.c = 2"), "{a:{b:_,c:_}}");
    assert_eq!(tree("a.b.c = 1\n[a.b]\nd = 1"), "{a:{b:{c:_,d:_}}}");
    assert_eq!(tree("[x]\na = [1]\na.b = 2"), "{x:{a:{b:_}}}", "a list gives way to a dotted key");
}

#[test]
fn but_not_twice() {
    for text in [
        "a = 1\na = 1",
        "a.b = 1\na.c = 1\n[a]",
        "a.b = 1\n[a]\n[a]",
        "[a]\n[a]",
        "a = {}\n[a]",
        "a = 1\n[a]",
        "a = 1\na.b = 1",
        "a = { b = 1, b = 1 }",
        "a = { b = [1], b.c = 1 }",
        "a = []\n[[a]]",
        "a = [{}]\n[[a]]",
        "a = [1]\na = [1]",
        "[[a]]\n[a]",
        "[a]\n[[a]]",
    ] {
        assert!(!accepted(text), "{text}");
    }
}

#[test]
fn items_of_a_list_share_what_is_remembered_of_their_keys() {
    assert_eq!(tree("[[r]]\na.b = 1\n[[r]]\n[r.a]\n[r.a]\nc = 1"), "{r:[{a:{b:_}},{a:{c:_}}]}");
    assert!(!accepted("[[r]]\n[r.a]\n[r.a]"));
}

#[test]
fn a_value_stands_beside_its_key() {
    assert!(accepted("a = {\n b = 1,\n c = [\n 1 # x\n ],\n}"));
    for text in ["a = { b =\n1 }", "a = { b\n= 1 }", "a = { b = # x\n1 }", "a =\n1"] {
        assert!(!accepted(text), "{text}");
    }
}

#[test]
fn numbers_and_times_that_there_are_not_are_refused_wherever_they_stand() {
    for text in ["a = 9223372036854775808", "a = [{ b = 1e400 }]", "a = 07:32:60"] {
        assert!(
            matches!(Document::parse(text), Err(TomlRefusal { fault: Fault::OutOfRange(_), span: Some(_) })),
            "{text}"
        );
    }
    assert!(accepted("a = [inf, -9223372036854775808, 0xff, 1979-05-27T07:32:00Z]"));
}

#[test]
fn nesting_has_a_limit_that_no_stack_notices() {
    let lists = |depth: usize| format!("a = {}{}", "[".repeat(depth), "]".repeat(depth));
    let tables = |depth: usize| format!("a = {}1{}", "{a=".repeat(depth), "}".repeat(depth));
    let dotted = |depth: usize| format!("a{} = 1", ".a".repeat(depth));
    for nested in [lists, tables, dotted] as [fn(usize) -> String; 3] {
        assert!(accepted(&nested(90)));
        assert!(accepted(&nested(190)));
        assert_eq!(Document::parse(&nested(100_000)).unwrap_err().fault, Fault::Depth);
    }
}
