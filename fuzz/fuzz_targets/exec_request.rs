//! A request that parses renders to one that parses to it.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pullwright_engine::kubelet::Request;

fuzz_target!(|data: &[u8]| {
    if let Ok(request) = Request::parse(data) {
        let again = Request::parse(request.render().as_bytes()).expect("what is rendered parses");
        assert_eq!(request, again);
    }
});
