//! Decides which images a pattern matches: the kubelet's `URLsMatch`, for `matchImages` and for keys of credentials.

use std::fmt;

use pullwright_golang::glob;
use pullwright_golang::url::{Url, UrlError};

/// A pattern `host[:port][/path]`, with globs in the labels of the host.
///
/// It matches an image if the ports are equal (or both absent), the hosts have the same number of labels and each label
/// matches, and the path begins with the pattern's path, byte for byte and even in the middle of a path component.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ImagePattern {
    text: String,
    url: Url<'static>,
}

impl ImagePattern {
    /// Parses a pattern as the kubelet does.
    ///
    /// # Errors
    /// If the kubelet refuses the pattern. It accepts many patterns that never match, see [`super::lint`].
    pub fn parse(text: impl Into<String>) -> Result<Self, UrlError> {
        let text = text.into();
        let url = Url::parse_schemeless(&text)?.into_owned();
        Ok(Self { text, url })
    }

    /// The pattern as written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The pattern for display: without a user and password before the host, which the kubelet drops and nobody should read.
    #[must_use]
    pub fn shown(&self) -> &str {
        let authority = self.text.find(['/', '?', '#']).unwrap_or(self.text.len());
        self.text[..authority].rfind('@').map_or(&self.text, |at| &self.text[at + 1..])
    }

    /// Whether the pattern matches the image, a name without tag and digest. An image that cannot be parsed never matches.
    #[must_use]
    pub fn matches(&self, image: &str) -> bool {
        Url::parse_schemeless(image).is_ok_and(|image| urls_match(&self.url, &image))
    }

    /// Like [`Self::matches`], for an image that is already parsed, to test it against many patterns.
    #[must_use]
    pub fn matches_url(&self, image: &Url<'_>) -> bool {
        urls_match(&self.url, image)
    }

    /// The parts of the pattern that are compared.
    #[must_use]
    pub fn url(&self) -> &Url<'static> {
        &self.url
    }
}

impl fmt::Display for ImagePattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Whether `glob` matches `image`. A malformed glob matches nothing.
pub(super) fn urls_match(glob: &Url<'_>, image: &Url<'_>) -> bool {
    let (glob_host, glob_port) = glob.split_host();
    let (image_host, image_port) = image.split_host();
    glob_port == image_port
        && image.path().starts_with(glob.path())
        && labels(glob_host).count() == labels(image_host).count()
        && labels(glob_host)
            .zip(labels(image_host))
            .all(|(glob, label)| glob::matches(glob, label) == Ok(true))
}

fn labels(host: &[u8]) -> impl Iterator<Item = &[u8]> {
    host.split(|byte| *byte == b'.')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// `pattern image yes|no` on each line; `#` begins a comment.
    const VECTORS: &str = include_str!("../../testdata/kubelet/patterns-and-the-images-they-match.txt");

    #[test]
    fn patterns_match_as_in_the_kubelet() {
        let mut seen = 0;
        for line in VECTORS.lines().filter(|line| !line.starts_with('#') && !line.is_empty()) {
            let fields: Vec<_> = line.split_whitespace().collect();
            let [pattern, image, expected @ ("yes" | "no")] = fields[..] else {
                panic!("not a vector: {line}")
            };
            let found = ImagePattern::parse(pattern).unwrap().matches(image);
            assert_eq!(found, expected == "yes", "{line}");
            seen += 1;
        }
        assert_eq!(seen, 43);
    }

    #[test]
    fn a_glob_in_the_port_is_refused() {
        let refusal = ImagePattern::parse("registry.io:*").unwrap_err().to_string();
        assert_eq!(refusal, r#"parse "https://registry.io:*": invalid port ":*" after host"#);
    }

    proptest! {
        #[test]
        fn a_pattern_without_globs_matches_itself_and_all_below(
            image in "[a-z0-9-]{1,9}(\\.[a-z0-9-]{1,9}){0,3}(:[0-9]{1,5})?(/[a-z0-9._-]{1,9}){0,3}",
            below in "(/[a-z0-9]{1,9}){0,2}",
        ) {
            let pattern = ImagePattern::parse(image.as_str()).unwrap();
            prop_assert!(pattern.matches(&image));
            prop_assert!(pattern.matches(&(image + &below)));
        }

        #[test]
        fn an_image_of_another_port_is_never_meant(
            host in "[a-z0-9]{1,9}(\\.[a-z0-9]{1,9}){0,3}", port in 0..65536_u32, other in 0..65536_u32,
        ) {
            prop_assume!(port != other);
            let pattern = ImagePattern::parse(format!("{host}:{port}")).unwrap();
            prop_assert!(!pattern.matches(&format!("{host}/x")) && !pattern.matches(&format!("{host}:{other}/x")), "{}", pattern);
        }
    }
}
