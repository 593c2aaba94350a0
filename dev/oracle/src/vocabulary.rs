//! The words that questions are made of: few, so that they meet, and many of them at the edge of what is allowed.

use crate::random::Random;

/// Hosts as people write them, and some that only look like hosts.
pub const HOSTS: &[&str] = &[
    "a.io",
    "b.io",
    "quay.io",
    "docker.io",
    "index.docker.io",
    "registry-1.docker.io",
    "example.com",
    "example.com:5000",
    "sub.example.com",
    "a.example.com",
    "x.y.example.com",
    "a.example.com.example.com",
    "example.com.evil.org",
    "Example.com",
    "localhost",
    "localhost:5000",
    "10.0.0.1",
    "10.0.0.1:5000",
    "registry",
    "REGISTRY",
    "mirror:5000",
];

/// Hosts that one of the parsers refuses, or reads in its own way.
pub const ODD_HOSTS: &[&str] = &[
    "",
    "[::1]",
    "[::1]:5000",
    "[fe80::1%25eth0]:5000",
    "under_score.io",
    "-a.io",
    "a-.io",
    "a..io",
    "a.io.",
    ".a.io",
    "a.io:",
    "a.io:0",
    "a.io:99999",
    "a.io:5000:5000",
    "xn--bcher-kva.example",
    "bücher.example",
    "user@a.io",
    "*.example.com",
    "**.example.com",
    "a.*.com",
    "*",
    "*.",
    ".",
    "HTTP://a.io",
    "https://a.io",
    "http://a.io",
    "docker://a.io",
    "a.io//",
];

/// Parts of a repository's path.
pub const COMPONENTS: &[&str] = &[
    "library", "team", "team2", "app", "busybox", "x", "a_b", "a__b", "a.b", "a-b", "a--b", "v1", "v2", "0",
];

/// Parts that no repository may have, or only to one of the parsers.
pub const ODD_COMPONENTS: &[&str] = &[
    "", "Team", "a___b", "a..b", "-a", "a-", "_a", "a_", ".a", "a.", "a b", "ä", "%41", "*", "..", "a\u{0}b",
];

/// Tags.
pub const TAGS: &[&str] = &["latest", "1", "v1.2.3", "_x", "A-b.C_d"];

/// Texts that are no tags.
const ODD_TAGS: &[&str] = &["-bad", ".bad", "", "a/b", "ä", "1:2", "a b"];

/// Characters that separate, end or escape something somewhere.
const BOUNDARIES: &[&str] = &[
    "/", ":", "@", ".", "-", "_", "*", "?", "[", "]", "%", "#", "\\", "\"", "'", "{", "}", "=", ",", " ",
    "\t", "\n", "\r", "\r\n", "\u{0}", "\u{7f}", "\u{1b}", "é", "\u{212a}", "\u{17f}", "\u{feff}",
    "\u{2028}", "\u{fffd}", "😀", "A", "0", "~", "&", "<", "!", "|", "`", "+", "$", "(", ")", ";", "^",
];

/// A host, now and then an odd one.
pub fn host(random: &mut Random) -> String {
    if random.odd(6) { random.pick(ODD_HOSTS) } else { random.pick(HOSTS) }.to_owned()
}

/// A path of a few components, now and then with an odd one.
pub fn path(random: &mut Random, most: usize) -> String {
    let components = 1 + random.below(most);
    let parts: Vec<&str> = (0..components)
        .map(|_| if random.odd(12) { random.pick(ODD_COMPONENTS) } else { random.pick(COMPONENTS) })
        .collect();
    parts.join("/")
}

/// A host with or without a path, as registries and credentials are keyed by.
pub fn place(random: &mut Random) -> String {
    let mut place = host(random);
    if random.one_in(2) {
        place.push('/');
        place.push_str(&path(random, 3));
    }
    if random.odd(10) {
        place.push_str(random.pick(&["/", "//", ":tag", "@sha256:0", " "]));
    }
    place
}

/// A digest, mostly good.
pub fn digest(random: &mut Random) -> String {
    if random.odd(4) {
        return odd_digest(random);
    }
    match random.below(12) {
        0 => format!("sha512:{}", hex(128, random)),
        1 => format!("sha384:{}", hex(96, random)),
        _ => format!("sha256:{}", hex(64, random)),
    }
}

fn hex(length: usize, random: &mut Random) -> String {
    random.pick(&["a", "0", "e3"]).repeat(length)[..length].to_owned()
}

fn odd_digest(random: &mut Random) -> String {
    match random.below(6) {
        0 => format!("sha256:{}", hex(63, random)),
        1 => format!("sha256:{}", hex(65, random)),
        2 => format!("sha256:{}", hex(64, random).to_uppercase()),
        3 => format!("md5:{}", hex(32, random)),
        4 => format!("sha256+b64:{}", hex(64, random)),
        _ => format!("{}:{}", random.pick(&["SHA256", "sha256 ", "", "-", "a.b_c"]), hex(64, random)),
    }
}

/// An image reference as a Pod may name one.
pub fn image(random: &mut Random) -> String {
    let mut image = match random.below(8) {
        0 => path(random, 2),
        1 => long_name(random),
        _ => format!("{}/{}", host(random), path(random, 4)),
    };
    if random.one_in(2) {
        image.push(':');
        image.push_str(if random.odd(4) { random.pick(ODD_TAGS) } else { random.pick(TAGS) });
    }
    if random.one_in(4) {
        image.push('@');
        image.push_str(&digest(random));
    }
    if random.odd(30) { "a".repeat(63 + random.below(3)) } else { image }
}

/// Names around the limits of 255 bytes for a name and 128 for a tag.
fn long_name(random: &mut Random) -> String {
    let host = random.pick(&["a.io/", "localhost:5000/", "", "docker.io/", "docker.io/x/"]);
    match random.below(12) {
        0 => {
            let length = 255 - host.len() - random.below(4) + random.below(8);
            format!("{host}{}", "x".repeat(length))
        }
        1 => format!("{host}x:{}", "t".repeat(126 + random.below(5))),
        2 => format!("{}.io/x", "h".repeat(250 + random.below(8))),
        _ => format!("{host}{}", path(random, 6)),
    }
}

/// Changes a few characters of `text`.
pub fn mutate(random: &mut Random, text: &str) -> String {
    let mut text = text.to_owned();
    for _ in 0..=random.below(3) {
        let starts: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
        let from = starts[random.below(starts.len())];
        let to = starts[random.below(starts.len())].max(from);
        let next = text[from..].chars().next().map_or(from, |c| from + c.len_utf8());
        match random.below(8) {
            0..=2 => text.insert_str(from, random.pick(BOUNDARIES)),
            3 => text.replace_range(from..next, ""),
            4 => text.replace_range(from..next, random.pick(BOUNDARIES)),
            5 => {
                let part = text[from..to].to_owned();
                text.insert_str(from, &part);
            }
            6 => text.truncate(from),
            _ => {
                let swapped: String =
                    text[from..next]
                        .chars()
                        .map(|c| {
                            if c.is_ascii_lowercase() {
                                c.to_ascii_uppercase()
                            } else {
                                c.to_ascii_lowercase()
                            }
                        })
                        .collect();
                text.replace_range(from..next, &swapped);
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mutations_stay_texts() {
        for index in 0..20_000 {
            let mut random = Random::for_case(1, "mutate", index);
            let text = image(&mut random);
            mutate(&mut random, &text);
        }
    }
}
