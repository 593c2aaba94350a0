//! `registries.conf` files: half of them good, the others nearly good or broken.

use std::fmt::Write;

use crate::random::Random;
use crate::toml::{inline_table, key, list, string, value};
use crate::vocabulary::{self, mutate, path, place};

/// The text of a main file or a drop-in. The prefixes and locations in it are added to `places`.
pub fn conf(random: &mut Random, places: &mut Vec<String>) -> String {
    if random.odd(12) {
        return redefinitions(random);
    }
    let mut out = String::new();
    if random.one_in(30) {
        out.push_str("# registries of this node\n\n");
    }
    top_level(random, &mut out);
    let entries = random.below(7);
    if random.one_in(12) {
        let tables: Vec<String> = (0..entries)
            .map(|_| {
                let pairs = registry_pairs(random, places, true);
                inline_table(random, &pairs)
            })
            .collect();
        let _ = writeln!(out, "{} = {}", key(random, "registry"), list(random, &tables));
    } else {
        for _ in 0..entries {
            registry(random, places, &mut out);
        }
    }
    if random.one_in(6) {
        aliases(random, &mut out);
    }
    if random.odd(30) {
        version1(random, &mut out);
    }
    if random.odd(12) {
        let header = random.pick(&["unknown", "a.b", "registry", "aliases", "\"\""]);
        let _ = writeln!(out, "[{header}]\nx = {}", value(random, 2));
    }
    if random.odd(15) {
        second_spelling(random, places, &mut out);
    }
    if random.one_in(12) {
        out = out.replace('\n', "\r\n");
    }
    if random.odd(4) { mutate(random, &out) } else { out }
}

fn top_level(random: &mut Random, out: &mut String) {
    if random.one_in(3) {
        let hosts = random.several(3, |random| {
            let text = if random.odd(8) { place(random) } else { search_host(random) };
            string(random, &text)
        });
        let hosts = list(random, &hosts);
        pair(random, out, "unqualified-search-registries", &hosts);
    }
    if random.one_in(6) {
        let helpers = random.several(2, |random| {
            let name = random.pick(&["containers-auth.json", "pass", "", "a b"]);
            string(random, name)
        });
        let helpers = list(random, &helpers);
        pair(random, out, "credential-helpers", &helpers);
    }
    if random.one_in(5) {
        let mode = if random.odd(4) {
            random.pick(&["Enforcing", "x\"y", "permissive "])
        } else {
            random.pick(&["enforcing", "permissive", "disabled", ""])
        };
        let mode = string(random, mode);
        pair(random, out, "short-name-mode", &mode);
    }
    if random.one_in(20) {
        let helper = string(random, "helper");
        pair(random, out, "additional-layer-store-auth-helper", &helper);
    }
    if random.one_in(20) {
        let name = random.pick(&["unknown", "registry-x", "a.b.c", "unqualified_search_registries", "\"\""]);
        let any = match random.below(8) {
            0 => nested(random),
            _ if random.odd(1) => value(random, 3),
            _ => "1".to_owned(),
        };
        let _ = writeln!(out, "{name} = {any}");
    }
}

fn search_host(random: &mut Random) -> String {
    random.pick(&["a.io", "docker.io", "example.com:5000", "localhost", "quay.io/", "registry"]).to_owned()
}

/// `key = value`, rarely of the wrong type.
fn pair(random: &mut Random, out: &mut String, name: &str, written: &str) {
    let _ = writeln!(out, "{}", pair_text(random, name, written));
}

fn pair_text(random: &mut Random, name: &str, written: &str) -> String {
    let written = if random.odd(60) { value(random, 2) } else { written.to_owned() };
    let space = random.pick(&[" ", " ", " ", " ", "", "\t"]);
    let note = if random.odd(40) { " # note" } else { "" };
    format!("{}{space}={space}{written}{note}", key(random, name))
}

fn registry(random: &mut Random, places: &mut Vec<String>, out: &mut String) {
    let header = if random.odd(40) {
        random.pick(&["[[ registry ]]", "[registry]", "[[Registry]]", "[[\"registry\"]]"])
    } else {
        "[[registry]]"
    };
    let _ = writeln!(out, "{header}");
    let inline_mirrors = random.one_in(10);
    for pair in registry_pairs(random, places, inline_mirrors) {
        let indent = random.pick(&["", "", "  ", "\t"]);
        let _ = writeln!(out, "{indent}{pair}");
    }
    if inline_mirrors {
        return;
    }
    for _ in 0..mirrors(random) {
        let header = if random.odd(40) {
            random.pick(&["[registry.mirror]", "[[registry . mirror]]", "[[mirror]]"])
        } else {
            "[[registry.mirror]]"
        };
        let _ = writeln!(out, "{header}");
        for pair in mirror_pairs(random, places, false) {
            let _ = writeln!(out, "{pair}");
        }
    }
}

fn mirrors(random: &mut Random) -> usize {
    if random.one_in(3) { 0 } else { 1 + random.below(3) }
}

fn registry_pairs(random: &mut Random, places: &mut Vec<String>, inline_mirrors: bool) -> Vec<String> {
    let mut pairs = Vec::new();
    let prefix = random.one_in(2).then(|| prefix(random));
    if let Some(prefix) = &prefix {
        let written = string(random, prefix);
        pairs.push(pair_text(random, "prefix", &written));
        places.push(prefix.clone());
    }
    let can_do_without = prefix.is_some_and(|prefix| prefix.starts_with("*."));
    if !(random.odd(12) || can_do_without && random.one_in(2)) {
        pairs.push(location(random, places));
    }
    let digest_only = random.one_in(6);
    for (name, wanted) in
        [("insecure", random.odd(5)), ("blocked", random.odd(6)), ("mirror-by-digest-only", digest_only)]
    {
        if wanted {
            let written = if random.one_in(4) { "false" } else { "true" };
            pairs.push(pair_text(random, name, written));
        }
    }
    if random.odd(40) {
        pairs.push(pull_from_mirror(random));
    }
    if random.one_in(30) {
        let name = random.pick(&["url", "namespace-proxy", "unqualified-search"]);
        pairs.push(pair_text(random, name, "\"x.io\""));
    }
    if inline_mirrors && random.one_in(2) {
        let tables: Vec<String> = (0..mirrors(random))
            .map(|_| {
                let pairs = mirror_pairs(random, places, digest_only);
                inline_table(random, &pairs)
            })
            .collect();
        let written = list(random, &tables);
        pairs.push(pair_text(random, "mirror", &written));
    }
    if random.odd(30) && !pairs.is_empty() {
        let again = pairs[random.below(pairs.len())].clone();
        pairs.push(again);
    }
    if random.odd(25) {
        let (name, written) = match random.below(4) {
            0 => ("Prefix", "\"a.io\""),
            1 => ("LOCATION", "\"b.io/x\""),
            2 => ("inSecure", "true"),
            _ => ("Blocked", "false"),
        };
        pairs.push(pair_text(random, name, written));
    }
    pairs
}

fn mirror_pairs(random: &mut Random, places: &mut Vec<String>, digest_only: bool) -> Vec<String> {
    let mut pairs = Vec::new();
    if !random.odd(30) {
        pairs.push(location(random, places));
    }
    if random.one_in(4) {
        pairs.push(pair_text(random, "insecure", "true"));
    }
    // Both at once is an error; a table does not know of the key above it, so it is met often enough.
    if random.one_in(if digest_only { 40 } else { 4 }) {
        pairs.push(pull_from_mirror(random));
    }
    if random.one_in(30) {
        pairs.push(pair_text(random, "namespace-proxy", "\"a.io\""));
    }
    pairs
}

fn location(random: &mut Random, places: &mut Vec<String>) -> String {
    let text = if random.odd(15) { mutated_place(random) } else { usual_place(random) };
    let written = string(random, &text);
    places.push(text);
    pair_text(random, "location", &written)
}

fn prefix(random: &mut Random) -> String {
    if random.odd(4) {
        return match random.below(3) {
            0 => vocabulary::image(random),
            1 => mutated_place(random),
            _ => random
                .pick(&[
                    "*.example.com/x",
                    "*.example.com:5000",
                    "**.example.com",
                    "*.*.com",
                    "*",
                    "*.",
                    "/",
                    "http://",
                    "",
                ])
                .to_owned(),
        };
    }
    if random.one_in(3) {
        random.pick(&["*.example.com", "*.com", "*.io", "*.docker.io", "*.y.example.com", "*.org"]).to_owned()
    } else {
        usual_place(random)
    }
}

/// A place that loads and can be rewritten to, most of the time.
fn usual_place(random: &mut Random) -> String {
    if random.odd(12) {
        return place(random);
    }
    let host = random.pick(vocabulary::HOSTS);
    match random.below(3) {
        0 => {
            let team = random.pick(&["team", "team/app", "library", "library/busybox", "x/", "team//"]);
            format!("{host}/{team}")
        }
        1 => format!("{host}/{}", path(random, 2)),
        _ => host.to_owned(),
    }
}

fn mutated_place(random: &mut Random) -> String {
    let text = place(random);
    mutate(random, &text)
}

fn pull_from_mirror(random: &mut Random) -> String {
    let value = if random.odd(6) {
        random.pick(&["Digest-Only", "none", " all"])
    } else {
        random.pick(&["all", "digest-only", "tag-only", "digest-only", "tag-only", ""])
    };
    let written = string(random, value);
    pair_text(random, "pull-from-mirror", &written)
}

/// What podman writes, and what people make of it.
pub fn recorded(random: &mut Random) -> String {
    let mut out = String::new();
    if random.odd(12) {
        return redefinitions(random);
    }
    aliases(random, &mut out);
    if random.odd(4) { mutate(random, &out) } else { out }
}

/// Lists and tables in each other, around the depths at which parsers give up.
fn nested(random: &mut Random) -> String {
    let depth = random.pick(&[&2, &50, &90, &130, &199, &200, &201, &300]);
    let open = random.pick(&["[", "{a=", "[{a="]);
    let close: String = open
        .chars()
        .rev()
        .filter_map(|c| [('[', ']'), ('{', '}')].iter().find(|(open, _)| *open == c))
        .map(|(_, close)| *close)
        .collect();
    let depth = if open.len() > 3 { depth / 2 } else { *depth };
    format!("{}1{}", open.repeat(depth), close.repeat(depth))
}

/// A field that is there already once more, in other letters, now and then of another type.
fn second_spelling(random: &mut Random, places: &mut Vec<String>, out: &mut String) {
    match random.below(5) {
        0 => {
            for _ in 0..=random.below(3) {
                let header = random.pick(&["[[Registry]]", "[[REGISTRY]]", "[[regiſtry]]"]);
                let _ = writeln!(out, "{header}");
                for pair in registry_pairs(random, places, true) {
                    let _ = writeln!(out, "{pair}");
                }
            }
        }
        1 => {
            let header = random.pick(&["[Aliases]", "[aliaſes]", "[[ALIASES]]"]);
            let _ = writeln!(out, "{header}\nbusybox = \"b.io/busybox\"");
        }
        _ => {
            let name = random.pick(&[
                "Unqualified-Search-Registries",
                "Short-Name-Mode",
                "CREDENTIAL-HELPERS",
                "Registry",
                "Aliases",
                "Registries",
            ]);
            let any = match random.below(6) {
                0 => "[\"c.io\"]".to_owned(),
                1 => "\"disabled\"".to_owned(),
                2 => "{ search = { registries = [] } }".to_owned(),
                3 => "[{ location = \"c.io\", mirror = [{ location = \"m.io\" }] }]".to_owned(),
                4 => "{ busybox = \"c.io/x\" }".to_owned(),
                _ => value(random, 2),
            };
            *out = format!("{name} = {any}\n{out}");
        }
    }
}

/// Keys and tables that are named again, in every notation that there is for them.
fn redefinitions(random: &mut Random) -> String {
    let mut out = String::new();
    for _ in 0..2 + random.below(6) {
        let name = random.pick(&["aliases", "aliases", "registry", "a", "\"\""]);
        let inner = random.pick(&["busybox", "x", "mirror", "b", "\"\""]);
        let text = string(random, "a.io/x");
        let _ = match random.below(16) {
            0 | 1 => writeln!(out, "[{name}]"),
            2 => writeln!(out, "[{name}.{inner}]"),
            3 => writeln!(out, "[[{name}]]"),
            4 => writeln!(out, "[[{name}.{inner}]]"),
            5 | 6 => writeln!(out, "{name}.{inner} = {text}"),
            7 => writeln!(out, "{name}.{inner}.c = {text}"),
            8 => writeln!(out, "{name} = {{ {inner} = {text} }}"),
            9 => writeln!(out, "{name} = {{ {inner}.c = {text}, {inner}.d = {text} }}"),
            10 => writeln!(out, "{name} = [{{ {inner} = {text} }}, {{ {inner}.c = [] }}]"),
            11 => writeln!(out, "{name} = [1]"),
            12 => writeln!(out, "{inner} = {text}"),
            13 => writeln!(out, "{inner}.c = {text}"),
            14 => writeln!(out, "{name} = {{ {inner} = [1], {inner}.c = 1 }}"),
            _ => writeln!(out, "{name} = {}", value(random, 2)),
        };
    }
    out
}

fn aliases(random: &mut Random, out: &mut String) {
    let header = if random.odd(6) {
        random.pick(&[
            "[[aliases]]\n",
            "aliases = \"\"\n",
            "aliases.x = \"a.io/x\"\n[aliases]\n",
            "aliases = 1\n[x]\n",
        ])
    } else {
        "[aliases]\n"
    };
    out.push_str(header);
    for name in ["busybox", "team/app", "x", "a_b"] {
        if random.one_in(2) {
            let name = if random.odd(20) { vocabulary::image(random) } else { name.to_owned() };
            let host = random.pick(&["a.io", "docker.io", "localhost", "example.com:5000"]);
            let target = match random.below(6) {
                0 => String::new(),
                1 if random.odd(3) => vocabulary::image(random),
                _ => format!("{host}/{}", path(random, 2)),
            };
            let _ = writeln!(out, "{} = {}", string(random, &name), string(random, &target));
        }
    }
}

fn version1(random: &mut Random, out: &mut String) {
    let section = random.pick(&["search", "insecure", "block", "other"]);
    let _ = writeln!(out, "[registries.{section}]");
    if random.one_in(2) {
        let items = random.several(2, |random| string(random, "a.io"));
        let _ = writeln!(out, "registries = {}", list(random, &items));
    }
}
