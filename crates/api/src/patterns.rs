//! The patterns for texts. Those for places that images come from are exactly OpenShift's, since the API server quotes them in
//! errors.

/// A mirror: `host[:port][/namespace…][/repository]`, without tag, digest or wildcard.
pub(crate) const MIRROR: &str = r"^((?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])(?:(?:\.(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9]))+)?(?::[0-9]+)?)(?:(?:/[a-z0-9]+(?:(?:(?:[._]|__|[-]*)[a-z0-9]+)+)?)+)?$";

/// A source: `*.host`, or what a mirror may be.
pub(crate) const SOURCE: &str = r"^\*(?:\.(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9]))+$|^((?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])(?:(?:\.(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9]))+)?(?::[0-9]+)?)(?:(?:/[a-z0-9]+(?:(?:(?:[._]|__|[-]*)[a-z0-9]+)+)?)+)?$";

/// An image the plugin is asked for: lower case, `*` only for whole labels of the host.
pub(crate) const MATCH_IMAGE: &str = r"^((\*|[a-z0-9]([a-z0-9-]*[a-z0-9])?)(\.(\*|[a-z0-9]([a-z0-9-]*[a-z0-9])?))*)(:[0-9]+)?(/[-a-z0-9._/]*)?$";

/// The absolute path of a file: no empty component, no `.` or `..`, no control character.
pub(crate) const FILE_PATH: &str = r"^(/([^/.\x00-\x1f\x7f][^/\x00-\x1f\x7f]*|\.[^/.\x00-\x1f\x7f][^/\x00-\x1f\x7f]*|\.\.[^/\x00-\x1f\x7f]+))+$";

/// The name of a `NodeConfiguration`: its runtime and a digest.
pub(crate) const NODE_CONFIGURATION: &str = "^[a-z0-9]+-[0-9a-f]{10}$";

/// The CEL rule that a text matches a pattern.
pub(crate) fn matches(pattern: &str) -> String {
    // A backslash is an escape in CEL's strings.
    format!("self.matches('{}')", pattern.replace('\\', r"\\"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_may_be_whatever_a_mirror_may_be() {
        assert!(SOURCE.ends_with(&format!("|{MIRROR}")));
    }

    #[test]
    fn a_pattern_survives_the_strings_of_cel() {
        assert_eq!(matches(r"^a\.b$"), r"self.matches('^a\\.b$')");
    }
}
