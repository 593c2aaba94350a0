//! The texts of the API and of the library, read letter by letter: what is a source, a mirror, a name; what matches.

/// `host[:port][/path]`, as the pattern of the API's mirrors has it.
pub(super) fn is_mirror(text: &str) -> bool {
    let mut parts = text.split('/');
    let host = parts.next().unwrap_or_default();
    is_host(host, true) && parts.all(is_component)
}

/// The same, or `*.host`.
pub(super) fn is_source(text: &str) -> bool {
    is_mirror(text) || text.strip_prefix("*.").is_some_and(|host| is_host(host, false))
}

fn is_host(text: &str, may_have_port: bool) -> bool {
    let mut halves = text.split(':');
    let name = halves.next().unwrap_or_default();
    let good_port = match halves.next() {
        None => true,
        Some(port) => may_have_port && !port.is_empty() && port.chars().all(|c| c.is_ascii_digit()),
    };
    let good_label = |label: &str| {
        !label.is_empty()
            && !label.starts_with('-')
            && !label.ends_with('-')
            && label.chars().all(|c| c.is_ascii_alphanumeric() || c == '-')
    };
    good_port && halves.next().is_none() && name.split('.').all(good_label)
}

/// Runs of lower-case letters and digits, with `.`, `_`, `__` or dashes between two runs.
fn is_component(text: &str) -> bool {
    let is_word = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let joints: Vec<&str> = text.split(is_word).filter(|joint| !joint.is_empty()).collect();
    let good = |joint: &&str| matches!(*joint, "." | "_" | "__") || joint.chars().all(|c| c == '-');
    text.starts_with(is_word) && text.ends_with(is_word) && joints.iter().all(good)
}

/// The name of an image, without tag and digest.
pub(super) fn name_of(image: &str) -> &str {
    let image = image.split('@').next().unwrap_or_default();
    let last = image.rfind('/').unwrap_or(0);
    image[last..].find(':').map_or(image, |tag| &image[..last + tag])
}

/// Whether the library takes this text for an image's name with its host and in full.
pub(super) fn is_full_image(image: &str) -> bool {
    let name = name_of(image);
    let Some((host, path)) = name.split_once('/') else { return false };
    let has_host = (host.contains('.') || host.contains(':') || host == "localhost") && is_host(host, true);
    let in_full = host != "index.docker.io" && (host != "docker.io" || path.contains('/'));
    has_host && in_full && path.split('/').all(is_component) && name.len() <= 255
}

/// How much of a name the library takes an entry's scope to match.
pub(super) fn matched(name: &str, scope: &str) -> Option<usize> {
    let end = match scope.strip_prefix('*') {
        Some(suffix) => {
            let start = name.find(suffix)?;
            if name[..start].contains('/') {
                return None;
            }
            start + suffix.len()
        }
        None if name.starts_with(scope) => scope.len(),
        None => return None,
    };
    let next = name[end..].chars().next();
    matches!(next, None | Some(':' | '/' | '@')).then_some(end)
}

/// Whether `inner` is `outer` or lies inside it. Another port is another registry.
pub(super) fn is_inside(inner: &str, outer: &str) -> bool {
    if inner == outer || inner.starts_with(&format!("{outer}/")) {
        return true;
    }
    let host = inner.split(['/', ':']).next().unwrap_or_default();
    outer.strip_prefix('*').is_some_and(|suffix| host.ends_with(suffix))
}

/// What is left of `inner` behind the part that `outer`, which it lies inside, stands for.
pub(super) fn behind<'a>(inner: &'a str, outer: &str) -> &'a str {
    match (inner.starts_with('*'), outer.starts_with('*')) {
        (_, false) => &inner[outer.len()..],
        (true, true) => "",
        (false, true) => &inner[inner.find(['/', ':']).unwrap_or(inner.len())..],
    }
}
