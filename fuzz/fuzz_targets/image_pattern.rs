//! Patterns match or do not, whatever they and the image are.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pullwright_engine::kubelet::ImagePattern;

fuzz_target!(|data: (&str, &str)| {
    let (pattern, image) = data;
    if let Ok(pattern) = ImagePattern::parse(pattern) {
        let _ = pattern.matches(image);
        let _ = pattern.matches("docker.io/library/nginx");
    }
});
