//! Go's `path.Clean`, which containerd applies to the path of a host.

/// Returns the shortest equivalent path: without empty parts and `.`, and with `..` resolved where possible.
pub(super) fn clean(path: &str) -> String {
    let rooted = path.starts_with('/');
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => match parts.last() {
                Some(last) if *last != ".." => drop(parts.pop()),
                _ if rooted => {}
                _ => parts.push(part),
            },
            part => parts.push(part),
        }
    }
    let joined = parts.join("/");
    match (rooted, joined.is_empty()) {
        (true, _) => format!("/{joined}"),
        (false, true) => ".".to_owned(),
        (false, false) => joined,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_become_as_short_as_go_makes_them() {
        for (path, cleaned) in [
            ("", "."),
            ("/", "/"),
            ("//v2//a/", "/v2/a"),
            ("/v2/./a/../b", "/v2/b"),
            ("/../v2", "/v2"),
            ("../a/..", ".."),
            ("a/..", "."),
        ] {
            assert_eq!(clean(path), cleaned, "{path}");
        }
    }
}
