//! What must hold for every configuration.

use proptest::prelude::*;

use super::*;
use crate::registries::index::matched;

/// The algorithm of the Go library: every entry is tried on the name.
fn find_by_scanning<'a>(conf: &'a RegistriesConf, name: &str) -> Option<&'a Registry> {
    let mut best: Option<&Registry> = None;
    for entry in conf.registries() {
        if matched(name, &entry.prefix).is_some()
            && entry.prefix.len() > best.map_or(0, |best| best.prefix.len())
        {
            best = Some(entry);
        }
    }
    best
}

prop_compose! {
    fn name()(text in "([ab*]\\.){0,3}[ab.*]{1,3}(:[12])?(/[ab.]{1,2}){0,3}([:@][ab])?") -> String { text }
}

proptest! {
    #[test]
    fn the_index_finds_what_scanning_finds(
        prefixes in proptest::collection::vec(name(), 0..12),
        names in proptest::collection::vec(name(), 1..8),
    ) {
        let tables: String = prefixes.iter()
            .filter(|prefix| !(prefix.starts_with("*.") && prefix.contains(['/', '@', ':'])))
            .map(|prefix| format!("[[registry]]\nprefix = '{prefix}'\nlocation = 'l.com'\n"))
            .collect();
        let loaded = conf(&[&tables]);
        for name in &names {
            prop_assert_eq!(loaded.find(name), find_by_scanning(&loaded, name), "{}", name);
        }
    }

    /// parse∘render is the identity.
    #[test]
    fn a_rendered_configuration_loads_to_itself(
        prefixes in proptest::collection::vec((name(), any::<bool>(), any::<bool>(), "[a-z\"\\\\\u{0}-\u{20}é]{0,6}"), 0..6),
        search in proptest::option::of(proptest::collection::vec("[a-z]{1,5}", 0..3)),
    ) {
        let mut text = search.map(|hosts| format!("unqualified-search-registries = {hosts:?}\n")).unwrap_or_default();
        for (prefix, insecure, digest_only, proxy) in prefixes {
            if !(prefix.starts_with("*.") && prefix.contains(['/', '@', ':'])) {
                let proxy: String = proxy.chars().map(|c| format!("\\u{:04x}", c as u32)).collect();
                text += &format!("[[registry]]\nprefix = '{prefix}'\nlocation = '{prefix}x'\ninsecure = {insecure}\n\
                    mirror-by-digest-only = {digest_only}\nnamespace-proxy = \"{proxy}\"\n\
                    [[registry.mirror]]\nlocation = 'm.com'\n");
            }
        }
        let Ok(file) = ConfFile::parse(&text) else { return Ok(()) };
        let loaded = RegistriesConf::merge([("/a.conf".into(), file)]);
        let again = conf(&[&loaded.render()]);
        prop_assert_eq!(again.registries(), loaded.registries());
        prop_assert_eq!(again.unqualified_search_registries(), loaded.unqualified_search_registries());
        prop_assert_eq!(again.render(), loaded.render());
    }

    #[test]
    fn no_text_makes_the_loader_fall_over(text in any::<String>()) {
        let _ = ConfFile::parse(&text);
    }
}
