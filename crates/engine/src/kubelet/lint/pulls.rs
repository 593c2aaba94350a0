//! Checks whether a `KubeletConfiguration` makes pulls wait for one another. A plugin that hands over a file cannot know how
//! long the pull will wait, and the file is removed after a while.

use pullwright_findings::{DocPath, Finding, rules};

/// The settings of a `KubeletConfiguration` that limit how many pulls run at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Pulls {
    /// `serializeImagePulls`, which is true by default.
    pub serialize: Option<bool>,
    /// `maxParallelImagePulls`; without it there is no limit.
    pub at_once: Option<i64>,
}

/// Reports why the file for a pull may be gone on a node with CRI-O.
#[must_use]
pub fn pulls(pulls: Pulls) -> Option<Finding> {
    let (key, how_many) = match pulls {
        Pulls { serialize: Some(false), at_once: None } => return None,
        Pulls { serialize: Some(false), at_once: Some(most) } => {
            ("maxParallelImagePulls", format!("at most {most} images at a time"))
        }
        Pulls { serialize, .. } => {
            let said = if serialize.is_none() { ", which is its default" } else { "" };
            ("serializeImagePulls", format!("one image at a time{said}"))
        }
    };
    let message = format!(
        "the kubelet pulls {how_many}: a pull that waits for more than 2 s finds the auth file that was handed over for it gone"
    );
    Some(Finding::new(&rules::kubelet::PULLS_WAIT, DocPath::root().key(key), message))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pulls_that_wait_for_one_another_are_reported_with_the_line_that_says_so() {
        for (serialize, at_once, expected) in [
            (Some(false), None, None),
            (None, None, Some("serializeImagePulls")),
            (Some(true), None, Some("serializeImagePulls")),
            (Some(false), Some(5), Some("maxParallelImagePulls")),
        ] {
            let found = pulls(Pulls { serialize, at_once }).map(|finding| finding.at.to_string());
            assert_eq!(found.as_deref(), expected, "{serialize:?} {at_once:?}");
        }
    }
}
