//! Decodes TOML into raw fields, the way the Go decoder fills a struct.

mod plain;
mod tree;

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::problem::ConfError;
use pullwright_findings::Finding;

/// The unchecked fields of a file. Borrows from the text wherever possible.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct RawConf<'t> {
    pub(super) registries: Vec<RawRegistry<'t>>,
    pub(super) search: Option<Vec<Cow<'t, str>>>,
    pub(super) credential_helpers: Option<Vec<Cow<'t, str>>>,
    pub(super) short_name_mode: Cow<'t, str>,
    pub(super) additional_layer_store_auth_helper: Cow<'t, str>,
    pub(super) aliases: BTreeMap<String, Cow<'t, str>>,
    pub(super) version1: Version1<'t>,
}

#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct RawRegistry<'t> {
    pub(super) prefix: Cow<'t, str>,
    pub(super) endpoint: RawEndpoint<'t>,
    pub(super) blocked: bool,
    pub(super) mirror_by_digest_only: bool,
    pub(super) mirrors: Vec<RawEndpoint<'t>>,
}

#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct RawEndpoint<'t> {
    pub(super) location: Cow<'t, str>,
    pub(super) insecure: bool,
    pub(super) pull_from_mirror: Cow<'t, str>,
    pub(super) namespace_proxy: Cow<'t, str>,
}

/// The lists of the old format. If any of them is present, even if empty, the file is version 1.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Version1<'t> {
    pub(super) search: Option<Vec<Cow<'t, str>>>,
    pub(super) insecure: Option<Vec<Cow<'t, str>>>,
    pub(super) block: Option<Vec<Cow<'t, str>>>,
}

/// Decodes `text` and adds what it ignores to `findings`.
pub(super) fn decode<'t>(text: &'t str, findings: &mut Vec<Finding>) -> Result<RawConf<'t>, ConfError> {
    match plain::decode(text) {
        Some(conf) => Ok(conf),
        None => tree::decode(text, findings),
    }
}

/// Decodes a file that contains only aliases.
pub(super) fn decode_aliases(text: &str) -> Result<BTreeMap<String, Cow<'_, str>>, ConfError> {
    tree::decode_aliases(text)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn both(text: &str) -> (Option<RawConf<'_>>, Option<RawConf<'_>>) {
        let mut findings = Vec::new();
        let tree = tree::decode(text, &mut findings).ok().filter(|_| findings.is_empty());
        (plain::decode(text), tree)
    }

    #[test]
    fn what_programs_write_is_plain() {
        let text = "# by the operator\nunqualified-search-registries = [\"a.io\", 'b.io',]\nshort-name-mode = \"\"\n\n\
            [[registry]]\n  prefix = \"\"\n  location = \"a.io/x\"\n  blocked = true\n\n\
            \t[[registry.mirror]]\n    location = 'm.io'\n    insecure = false\n    pull-from-mirror = \"tag-only\"\n\
            [[registry]]\nlocation=\"b.io\"\nmirror-by-digest-only = true";
        let (plain, tree) = both(text);
        assert_eq!(plain, tree);
        assert_eq!(plain.unwrap().registries.len(), 2);
    }

    #[test]
    fn what_is_not_plain_is_left_to_the_tree() {
        for text in [
            "a = 1",
            "[[registry]]\nprefix = \"a\\u0041\"",
            "[[registry]]\nprefix = 'a' # note",
            "[[registry]]\nprefix = 'a'\nprefix = 'a'",
            "[[registry]]\nmirror = []",
            "[[registry.mirror]]",
            "[[registry]]\n[registry.mirror]",
            "[aliases]",
            "[[registry]]\r\nprefix = 'a'",
            "[[registry]]\nprefix = \"\"\"a\"\"\"",
            "[[registry]]\nblocked = \"true\"",
            "# \u{1}",
            "[[registry]]\nprefix = \"\u{7f}\"",
            "\u{feff}[[registry]]",
            "unqualified-search-registries = [\n]",
            "unqualified-search-registries = [,]",
            "unqualified-search-registries = ['a' 'b']",
        ] {
            assert_eq!(plain::decode(text), None, "{text}");
        }
    }

    proptest! {
        /// The plain way is a short cut, not another opinion.
        #[test]
        fn both_ways_agree(lines in prop::collection::vec(prop::sample::select(&LINES[..]), 0..12), cut in 0..400usize) {
            let text = lines.join("\n");
            let cut = (0..=cut.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
            for text in [&text[..], &text[cut..], &text[..cut]] {
                let (plain, tree) = both(text);
                if plain.is_some() {
                    prop_assert_eq!(plain, tree);
                }
            }
        }
    }

    const LINES: [&str; 36] = [
        "[[registry]]",
        "[[registry]]",
        "[[registry]]",
        " [[registry.mirror]]\t",
        "[[registry.mirror]]",
        "[registry]",
        "[[ registry ]]",
        "prefix = \"a.io\"",
        "prefix='a.io'",
        "location = \"b.io/x\"",
        "location\t=\t\"ä\"",
        "location = \"\"",
        "location = \"a'b\"",
        "location = 'a\"b'",
        "location = 'a\\b'",
        "location = \"a#b\"",
        "location = \"a=b\"",
        "insecure = true",
        "insecure = false",
        "blocked = true # x",
        "blocked=true",
        "mirror-by-digest-only = true",
        "pull-from-mirror = \"all\"",
        "namespace-proxy = \"n.io\"",
        "unqualified-search-registries = []",
        "unqualified-search-registries = [ 'a', \"b\" ]",
        "credential-helpers = ['x',]",
        "short-name-mode = \"x\"",
        "additional-layer-store-auth-helper = \"x\"",
        "",
        "  # note",
        "#\t",
        "location = \"\"\"",
        "location = \"a\" \"b\"",
        "location",
        "= \"a\"",
    ];
}
