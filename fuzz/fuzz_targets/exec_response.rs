//! An answer that the kubelet takes renders to one that it takes for the same.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pullwright_engine::kubelet::{ApiVersion, Response};

fuzz_target!(|data: &[u8]| {
    if let Ok(response) = Response::parse(data, ApiVersion::V1) {
        let again = Response::parse(response.render().as_bytes(), ApiVersion::V1);
        assert_eq!(again.as_ref(), Ok(&response));
    }
});
