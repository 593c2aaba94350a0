//! Decides whether two patterns can match the same image, so that the kubelet would run two providers for it.

use pullwright_golang::glob;

use super::matching::ImagePattern;

impl ImagePattern {
    /// Whether there may be an image that both patterns match, by the kubelet's own matching: equal ports, the same number
    /// of labels in the host, each pair of labels compatible, and one path a prefix of the other.
    ///
    /// Two labels that both mix globs and text, such as `a*` and `*b`, count as compatible: this never misses an overlap,
    /// and nobody writes such patterns.
    #[must_use]
    pub fn overlaps(&self, other: &Self) -> bool {
        let (host, port) = self.url().split_host();
        let (other_host, other_port) = other.url().split_host();
        let (path, other_path) = (self.url().path(), other.url().path());
        port == other_port
            && (path.starts_with(other_path) || other_path.starts_with(path))
            && labels(host).count() == labels(other_host).count()
            && labels(host).zip(labels(other_host)).all(|(label, other)| may_be_one(label, other))
    }
}

fn labels(host: &[u8]) -> impl Iterator<Item = &[u8]> {
    host.split(|byte| *byte == b'.')
}

/// Whether there may be a label that both globs match.
fn may_be_one(glob: &[u8], other: &[u8]) -> bool {
    match (is_text(glob), is_text(other)) {
        (true, _) => glob::matches(other, glob) == Ok(true),
        (_, true) => glob::matches(glob, other) == Ok(true),
        (false, false) => true,
    }
}

/// Whether a glob is plain text and so matches only itself.
fn is_text(glob: &[u8]) -> bool {
    !glob.iter().any(|byte| matches!(byte, b'*' | b'?' | b'[' | b'\\'))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ECR: &str = "*.dkr.ecr.*.amazonaws.com";

    fn overlap(left: &str, right: &str) -> bool {
        let [left, right] = [left, right].map(|text| ImagePattern::parse(text).unwrap());
        let found = left.overlaps(&right);
        assert_eq!(found, right.overlaps(&left), "{left} and {right}, in both directions");
        found
    }

    #[test]
    fn patterns_overlap_where_an_image_matches_both() {
        for (left, right) in [
            ("gcr.io", "gcr.io"),
            ("gcr.io/project", "gcr.io"),
            ("gcr.io/pro", "gcr.io/project"),
            ("*.cloud.google.com", "container.cloud.google.com"),
            ("123456789.dkr.ecr.us-east-1.amazonaws.com", ECR),
            ("*.*.*.*.*.com/team", ECR),
            ("a*.io", "*b.io"),
            ("registry.io:5000", "*.io:5000/path"),
        ] {
            assert!(overlap(left, right), "{left} and {right}");
        }
    }

    #[test]
    fn patterns_do_not_overlap_where_the_kubelet_tells_them_apart() {
        for (left, right) in [
            // OpenShift's controller leaves these out, though no image matches both.
            ("*.com", ECR),
            ("*.amazonaws.com", ECR),
            ("gcr.io:443", "gcr.io"),
            ("registry.io:5000", "registry.io:5001"),
            ("gcr.io/a", "gcr.io/b"),
            ("*.gcr.io", "gcr.io"),
            ("google.com", "container.cloud.google.com"),
        ] {
            assert!(!overlap(left, right), "{left} and {right}");
        }
    }

    fn pattern() -> impl Strategy<Value = String> {
        "(\\*|a|b|a\\*|\\?)(\\.(\\*|a|b)){0,2}(:1|:2)?(/a|/b|/a/b){0,1}"
    }

    proptest! {
        #[test]
        fn patterns_that_match_one_image_overlap(
            left in pattern(), right in pattern(), image in "[ab]{1,2}(\\.[ab]){0,2}(:1|:2)?(/[ab]){0,3}",
        ) {
            let [left, right] = [left, right].map(|text| ImagePattern::parse(text).unwrap());
            if left.matches(&image) && right.matches(&image) {
                prop_assert!(left.overlaps(&right), "{left} and {right} both match {image}");
            }
        }
    }
}
