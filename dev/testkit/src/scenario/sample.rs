//! The sample in the documentation of the node, so that tests run exactly what people are told to run.

/// The documentation.
const DOCUMENTATION: &str = include_str!("../../../../docs/test-node.md");
/// The name of the sample's Pod, which is in the namespace `default`.
pub const SAMPLE_POD: &str = "first";
/// The image of the sample's Pod, as a repository of the registry `mirror`.
pub const SAMPLE_IMAGE: &str = "library/first:1";

/// The sample from the documentation: the objects that a Pod needs, and the Pod.
#[must_use]
pub fn sample() -> &'static str {
    let behind = DOCUMENTATION.split_once("```yaml\n").map_or("", |(_, behind)| behind);
    behind.split_once("```").map_or("", |(sample, _)| sample)
}

#[cfg(test)]
mod tests {
    use super::{SAMPLE_IMAGE, SAMPLE_POD, sample};

    #[test]
    fn the_sample_is_the_one_that_is_waited_for() {
        assert!(
            sample().contains(&format!("kind: Pod\nmetadata: {{name: {SAMPLE_POD}, namespace: default}}"))
        );
        assert!(sample().contains(&format!("image: \"docker.io/{SAMPLE_IMAGE}\"")));
    }
}
