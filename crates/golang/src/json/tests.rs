//! What Go accepts and how it repairs; every expectation was checked against Go 1.26.

use proptest::prelude::*;

use super::*;

fn accepted(text: &[u8]) -> bool {
    RawValue::parse(text).is_ok()
}

#[test]
fn what_go_accepts_and_serde_refuses_is_accepted() {
    for text in [
        &b"{\"a\":1e999}"[..],
        b"\"\\ud800\"",
        b"\"\xff\"",
        b" {\"a\" : [ 1 , -0.5E+3, true , null ] }\r\n",
        b"\"\x7f\"",
    ] {
        assert!(accepted(text), "{}", text.escape_ascii());
    }
}

#[test]
fn what_go_refuses_is_refused() {
    for text in [
        &b""[..],
        b" ",
        b"{",
        b"[1,]",
        b"{\"a\":1,}",
        b"{,}",
        b"{\"a\"}",
        b"{a:1}",
        b"01",
        b"-",
        b"1.",
        b"1e",
        b".5",
        b"+1",
        b"tru",
        b"nul l",
        b"\"\x1f\"",
        b"\"\\x\"",
        b"\"\\u12g4\"",
        b"\"a",
        b"{} {}",
        b"\xef\xbb\xbf{}",
        b"'a'",
        b"[1 2]",
        b"{\"a\":1]",
        b"\x0c1",
    ] {
        assert!(!accepted(text), "{}", text.escape_ascii());
    }
}

#[test]
fn nesting_is_limited_where_go_limits_it() {
    let nested = |depth: usize| [b"[".repeat(depth), b"]".repeat(depth)].concat();
    assert!(accepted(&nested(10_000)));
    assert_eq!(RawValue::parse(&nested(10_001)).err(), Some(SyntaxError::Depth));
}

#[test]
fn an_error_is_a_position_without_content() {
    let error = RawValue::parse(b"{\n  \"auth\": s3cret}").err().unwrap();
    assert_eq!(error, SyntaxError::Character { line: 2, column: 11 });
    assert_eq!(error.to_string(), "invalid character at line 2, column 11");
    assert_eq!(RawValue::parse(b"{\"auth\": \"s3cr").err(), Some(SyntaxError::Truncated));
    // Inside of a word, a number or an escape, the end is a wrong character to Go.
    for text in [&b"tru"[..], b"-", b"1.", b"1e", b"\"\\", b"\"\\u12"] {
        let error = RawValue::parse(text).err();
        assert_eq!(error, Some(SyntaxError::Character { line: 1, column: text.len() + 1 }));
    }
}

#[test]
fn strings_are_repaired_as_in_go() {
    let text = |json: &[u8]| RawValue::parse(json).unwrap().text().unwrap().into_owned();
    assert_eq!(text(br#""\"\\\/\b\f\n\r\tA\u00e9""#), "\"\\/\u{8}\u{c}\n\r\tAé");
    assert_eq!(text(br#""\ud83d\ude00""#), "😀");
    assert_eq!(text(br#""\ud83dx""#), "\u{fffd}x");
    assert_eq!(text(br#""\ud83d\u0041""#), "\u{fffd}A");
    assert_eq!(text(br#""\ude00\ud83d\ude00""#), "\u{fffd}😀");
    assert_eq!(text(b"\"a\xe2\x82b\""), "a\u{fffd}\u{fffd}b", "one mark for each byte");
    assert_eq!(text(b"\"\\n\xff\""), "\n\u{fffd}");
}

#[test]
fn members_come_in_order_with_repeated_names() {
    let value =
        RawValue::parse(br#" { "a" : {"x":"}"} , "b\"":[1,"]",{}],"a":null, "c" : -1.5e3 } "#).unwrap();
    let members: Vec<_> = value.members().map(|(name, value)| (name.into_owned(), value.bytes())).collect();
    let expected: Vec<(String, &[u8])> = vec![
        ("a".into(), br#"{"x":"}"}"#),
        ("b\"".into(), br#"[1,"]",{}]"#),
        ("a".into(), b"null"),
        ("c".into(), b"-1.5e3"),
    ];
    assert_eq!(members, expected);
    assert_eq!(RawValue::parse(b"[{\"a\":1}]").unwrap().members().count(), 0);
    assert_eq!(RawValue::parse(b"{ }").unwrap().members().count(), 0);
}

#[test]
fn names_fold_as_in_go() {
    assert!(names_field("AUTHS", "auths"));
    assert!(names_field("auth\u{17f}", "auths"));
    assert!(names_field("identityTo\u{212a}en", "identitytoken"));
    assert!(names_field("CREDhelpers", "credHelpers"));
    assert!(!names_field("auth", "auths"));
    assert!(!names_field("authß", "auths"));
}

proptest! {
    /// Any text: reading it whole and by members never panics, and members are values themselves.
    #[test]
    fn reading_is_total(text in prop::collection::vec(prop_oneof![
        5 => prop::sample::select(&b"{}[]\",:\\u0e- tfn1"[..]), 1 => any::<u8>(),
    ], 0..24)) {
        if let Ok(value) = RawValue::parse(&text) {
            for (_, member) in value.members() {
                prop_assert_eq!(RawValue::parse(member.bytes()).ok().map(RawValue::bytes), Some(member.bytes()));
            }
        }
    }

    /// Whatever serde writes is read back with the same names and the same strings.
    #[test]
    fn agrees_with_serde_on_what_serde_writes(map in prop::collection::btree_map(any::<String>(), any::<String>(), 0..5)) {
        let text = serde_json::to_vec_pretty(&map).unwrap();
        let read = RawValue::parse(&text).unwrap();
        let read: std::collections::BTreeMap<_, _> =
            read.members().map(|(name, value)| (name.into_owned(), value.text().unwrap().into_owned())).collect();
        prop_assert_eq!(read, map);
    }
}
