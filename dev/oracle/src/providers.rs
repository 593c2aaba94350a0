//! `CredentialProviderConfig` documents: mostly such that the kubelet starts with them.

use crate::json::{list, object, string, value};
use crate::random::Random;
use crate::vocabulary::{self, mutate};

/// A configuration as JSON, which always begins with a brace: anything else the kubelet takes for YAML.
pub fn config(random: &mut Random) -> String {
    let text = document(random);
    if random.odd(6) {
        let mutated = mutate(random, &text);
        if mutated.starts_with('{') {
            return mutated;
        }
    }
    text
}

fn document(random: &mut Random) -> String {
    let version = match random.below(30) {
        0 if random.odd(1) => random.pick(&[
            "kubelet.config.k8s.io/v2",
            "v1",
            "",
            "kubelet.config.k8s.io",
            "a/b/c",
            "foobar/v1alpha1",
        ]),
        1..=4 => "kubelet.config.k8s.io/v1alpha1",
        5..=8 => "kubelet.config.k8s.io/v1beta1",
        _ => "kubelet.config.k8s.io/v1",
    };
    let kind = if random.odd(20) {
        random.pick(&[
            "WrongKind",
            "",
            "KubeletConfiguration",
            "credentialproviderconfig",
            "SerializedNodeConfigSource",
        ])
    } else {
        "CredentialProviderConfig"
    };
    let mut members = Vec::new();
    for (name, text) in [("kind", kind), ("apiVersion", version)] {
        if !random.odd(40) {
            members.push((name.to_owned(), string_or_odd(random, text)));
        }
    }
    let names = ["crio-credential-provider", "ecr", "gcr"];
    let names = &names[..=random.below(names.len())];
    let mut providers: Vec<String> = names.iter().map(|name| provider(random, name, version)).collect();
    if random.odd(20) {
        providers.clear();
    }
    let providers = odd(random, list(&providers));
    members.push(("providers".to_owned(), providers));
    unknown(random, &mut members);
    object(random, members)
}

fn provider(random: &mut Random, name: &str, config_version: &str) -> String {
    let mut members = Vec::new();
    if !random.odd(40) {
        let name = if random.odd(6) {
            random.pick(&[
                "",
                ".",
                "..",
                "a/b",
                "a b",
                "foo/../bar",
                "a\\b",
                "ä",
                "...",
                "a\tb",
                "/ ",
                "ecr",
                "gcr",
            ])
        } else {
            name
        };
        members.push(("name".to_owned(), string_or_odd(random, name)));
    }
    if !random.odd(40) {
        let patterns: Vec<String> = (0..1 + random.below(3) - usize::from(random.odd(10)))
            .map(|_| {
                let pattern = pattern(random);
                string_or_odd(random, &pattern)
            })
            .collect();
        let patterns = odd(random, list(&patterns));
        members.push(("matchImages".to_owned(), patterns));
    }
    if !random.odd(25) {
        let duration = duration(random);
        members.push(("defaultCacheDuration".to_owned(), duration));
    }
    let api_version = match random.below(40) {
        0 | 1 if random.odd(1) => random.pick(&[
            "",
            "v1",
            "credentialprovider.kubelet.k8s.io/v1alpha0",
            "credentialprovider.kubelet.k8s.io/V1",
        ]),
        1..=6 => "credentialprovider.kubelet.k8s.io/v1alpha1",
        7..=12 => "credentialprovider.kubelet.k8s.io/v1beta1",
        _ => "credentialprovider.kubelet.k8s.io/v1",
    };
    members.push(("apiVersion".to_owned(), string_or_odd(random, api_version)));
    if random.one_in(4) {
        let args = random.several(2, |random| string_or_odd(random, "--verbose"));
        members.push(("args".to_owned(), odd(random, list(&args))));
    }
    if random.one_in(4) {
        let env = random.several(2, |random| {
            let members = vec![
                ("name".to_owned(), string(random, "A")),
                ("value".to_owned(), string_or_odd(random, "b")),
            ];
            object(random, members)
        });
        members.push(("env".to_owned(), odd(random, list(&env))));
    }
    // Only a configuration of version 1 has it, and only for the protocol of version 1.
    let fits = config_version.ends_with("/v1") && api_version.ends_with("/v1");
    if fits && random.one_in(2) || random.odd(20) {
        let token = token_attributes(random);
        members.push(("tokenAttributes".to_owned(), odd(random, token)));
    }
    unknown(random, &mut members);
    object(random, members)
}

fn token_attributes(random: &mut Random) -> String {
    let mut members = Vec::new();
    if !random.odd(10) {
        let audience = if random.odd(10) { "" } else { "registry" };
        members.push(("serviceAccountTokenAudience".to_owned(), string_or_odd(random, audience)));
    }
    if !random.odd(10) {
        let kind = if random.odd(6) {
            random.pick(&["", "invalid", "token"])
        } else {
            random.pick(&["ServiceAccount", "Token"])
        };
        members.push(("cacheType".to_owned(), string_or_odd(random, kind)));
    }
    if !random.odd(10) {
        let required = random.pick(&["true", "true", "false"]).to_owned();
        members.push(("requireServiceAccount".to_owned(), odd(random, required)));
    }
    for name in ["requiredServiceAccountAnnotationKeys", "optionalServiceAccountAnnotationKeys"] {
        if random.one_in(3) {
            let keys = random.several(3, |random| {
                let key = annotation_key(random);
                string_or_odd(random, &key)
            });
            members.push((name.to_owned(), odd(random, list(&keys))));
        }
    }
    unknown(random, &mut members);
    object(random, members)
}

fn annotation_key(random: &mut Random) -> String {
    let key = match random.below(12) {
        0 | 3 if random.odd(1) => random
            .pick(&["", "/", "a/", "/a", "a/b/c", "-a", "a-", "UPPER/Case", "a..b/c", "a_b/c", "ä", "a b"])
            .to_owned(),
        1 if random.odd(1) => format!("{}/x", "p".repeat(251 + random.below(5))),
        2 if random.odd(1) => "n".repeat(62 + random.below(4)),
        _ => {
            random.pick(&["simple", "now-with-dashes/simple", "example.com/key", "1/2", "A.b_C-d"]).to_owned()
        }
    };
    if random.odd(12) { mutate(random, &key) } else { key }
}

fn pattern(random: &mut Random) -> String {
    match random.below(8) {
        0 if random.odd(1) => {
            let text = vocabulary::place(random);
            mutate(random, &text)
        }
        1 => random
            .pick(&[
                "%invalid%",
                "registry.io:*",
                "a b",
                "[a-z].io",
                "https://a.io",
                "",
                "a.io?x",
                "::1",
                "\u{7f}",
                "a%zz",
                "%C3%A4.io",
            ])
            .to_owned(),
        _ => random
            .pick(&["docker.io", "*.example.com", "quay.io/team", "*.*.registry.io:8080", "127.0.0.*:5000"])
            .to_owned(),
    }
}

fn duration(random: &mut Random) -> String {
    if random.odd(30) {
        return value(random, 1);
    }
    if !random.odd(6) {
        let text = random.pick(&["5m", "0s", "0", "1h30m", "1.5h", "300ms", "10m", "1us", "12h"]);
        return string(random, text);
    }
    let text = random.pick(&[
        "5m",
        "0s",
        "0",
        "1h30m",
        "-1m",
        "1.5h",
        "300ms",
        "",
        "5",
        "5 m",
        "1d",
        "1us",
        "1µs",
        "1μs",
        "+5m",
        "9223372036854775807ns",
        "9223372036854775808ns",
        "-9223372036854775808ns",
        "2562047h47m16.854775807s",
        "2562048h",
        ".5s",
        "1.s",
        ".s",
        "1h1h",
        "10m",
        "1m",
        "1s",
        "12h",
        "0.000000001s",
        "1e3s",
        "--5m",
        "m",
        "5M",
        "1hh",
        "3.0.0s",
        "00005m",
    ]);
    string(random, text)
}

fn unknown(random: &mut Random, members: &mut Vec<(String, String)>) {
    if random.odd(30) {
        let name = random.pick(&["unknownField", "metadata", "x.y", "a\"b", "items", ""]);
        let any = value(random, 1);
        let place = random.below(members.len() + 1);
        members.insert(place, (name.to_owned(), any));
    }
}

fn string_or_odd(random: &mut Random, text: &str) -> String {
    let text = string(random, text);
    odd(random, text)
}

/// The value, rarely another one.
fn odd(random: &mut Random, written: String) -> String {
    if random.odd(100) { value(random, 2) } else { written }
}
