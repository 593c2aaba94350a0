//! Auth documents in every form found in the wild: `auth.json`, `config.json`, `.dockercfg`, and their mishaps.

use pullwright_golang::base64;

use crate::json::{object, string, value};
use crate::random::Random;
use crate::vocabulary::{self, mutate, path};

/// The text of a document; `legacy` is the map without `auths` around it. Its keys are added to `keys`.
pub fn document(random: &mut Random, legacy: bool, keys: &mut Vec<String>) -> String {
    let entries = random.several(6, |random| (key(random), entry(random)));
    keys.extend(entries.iter().map(|(key, _)| key.clone()));
    let entries = object(random, entries);
    let text = if legacy { entries } else { around(random, entries) };
    if !random.odd(6) {
        return text;
    }
    match random.below(6) {
        0 | 1 => mutate(random, &text),
        2 => value(random, 2),
        3 => random.pick(&["", " ", "null", "{}", "[]", "\"\"", "{", "\u{feff}{}"]).to_owned(),
        4 => format!("{text}\n"),
        _ => format!("{text}{{}}"),
    }
}

/// Everything that stands beside the entries.
fn around(random: &mut Random, entries: String) -> String {
    let entries = if random.odd(50) { value(random, 2) } else { entries };
    let mut members = vec![("auths".to_owned(), entries)];
    if random.one_in(6) {
        let helpers = random.several(2, |random| (host(random), helper(random)));
        members.push(("credHelpers".to_owned(), object(random, helpers)));
    }
    if random.one_in(6) {
        let field = random.pick(&["credsStore", "auth", "x", "psFormat"]);
        let field = if random.odd(4) { "HttpHeaders" } else { field };
        let any = if random.odd(1) { value(random, 2) } else { "\"x\"".to_owned() };
        members.push((field.to_owned(), any));
    }
    object(random, members)
}

/// What a repository or a credential's key begins with.
pub fn host(random: &mut Random) -> String {
    random
        .pick(&[
            "a.io",
            "quay.io",
            "docker.io",
            "index.docker.io",
            "registry-1.docker.io",
            "example.com",
            "example.com:5000",
            "sub.example.com",
            "localhost:5000",
            "registry",
        ])
        .to_owned()
}

/// A repository to look up, often one below a key that there is.
pub fn repository(random: &mut Random, keys: &[String]) -> String {
    if random.odd(8) {
        let text = format!("{}/{}", host(random), path(random, 3));
        return if random.one_in(2) { vocabulary::place(random) } else { mutate(random, &text) };
    }
    let place = if !keys.is_empty() && random.one_in(2) {
        let key = &keys[random.below(keys.len())];
        key.trim_start_matches("https://").trim_start_matches("http://").trim_end_matches("/v1/").to_owned()
    } else {
        host(random)
    };
    if random.one_in(6) { place } else { format!("{}/{}", place.trim_end_matches('/'), path(random, 2)) }
}

/// A key as programs and people have written them.
pub fn key(random: &mut Random) -> String {
    let host = host(random);
    match random.below(14) {
        0 => format!("https://{host}"),
        1 => format!("https://{host}/v1/"),
        2 => format!("https://{host}/v2/"),
        3 => format!("http://{host}/{}", path(random, 2)),
        4 => format!("{host}/"),
        5 if random.odd(1) => vocabulary::place(random),
        6 if random.odd(1) => mutate(random, &host),
        7 => format!("*.{host}"),
        8 => format!("https://{host}/v1"),
        9..=11 => format!("{host}/{}", path(random, 2)),
        _ => host,
    }
}

/// An entry: its `auth` in good and bad base64, or the fields that only some readers take.
fn entry(random: &mut Random) -> String {
    if random.odd(40) {
        return value(random, 2);
    }
    let mut members = Vec::new();
    if !random.one_in(8) {
        members.push(("auth".to_owned(), auth(random)));
    }
    for (name, rarity) in
        [("username", 5), ("password", 5), ("email", 12), ("identitytoken", 10), ("registrytoken", 30)]
    {
        if random.one_in(rarity) {
            members.push((name.to_owned(), field(random)));
        }
    }
    object(random, members)
}

fn field(random: &mut Random) -> String {
    if random.odd(20) {
        return value(random, 1);
    }
    let text = if random.odd(8) { "\u{0}" } else { random.pick(&["", "ada", "grace", "p:q", "t0ken", "ä"]) };
    string(random, text)
}

fn auth(random: &mut Random) -> String {
    if random.odd(30) {
        return value(random, 1);
    }
    let user = random.pick(&["ada", "grace", "u", "<token>", "ä"]);
    let password = random.pick(&["p", "secret", "p:q", "", "pä", "pp"]);
    let password = if random.odd(10) { "\u{0}p\u{0}\u{0}" } else { password };
    let mut bytes = format!("{user}:{password}").into_bytes();
    if random.odd(20) {
        bytes = random.pick(&[&b":"[..], b"ada", b"", b":p", b"u:\xff", b"\xffu:p"]).to_vec();
    }
    let mut encoded = base64::encode(&bytes);
    if random.odd(4) {
        encoded = match random.below(7) {
            0 => encoded.trim_end_matches('=').to_owned(),
            1 => format!("{encoded}="),
            2 => format!("{encoded}\n"),
            3 => format!("{encoded} "),
            4 => encoded.replace('+', "-").replace('/', "_"),
            5 if encoded.len() > 4 => format!("{}\r\n{}", &encoded[..4], &encoded[4..]),
            _ => mutate(random, &encoded),
        };
    }
    string(random, &encoded)
}

fn helper(random: &mut Random) -> String {
    if random.odd(10) {
        return value(random, 1);
    }
    let name = random.pick(&["ecr-login", "pass", "gcloud"]);
    string(random, name)
}
