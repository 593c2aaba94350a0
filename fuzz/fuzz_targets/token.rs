//! Whatever stands where a token should be, its claims are read or refused, and no refusal repeats it.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pullwright_engine::credentials::Sensitive;
use pullwright_golang::base64;
use pullwright_engine::kubelet::Claims;

fuzz_target!(|payload: &[u8]| {
    let encoded = base64::encode(payload).trim_end_matches('=').replace('+', "-").replace('/', "_");
    if let Ok(claims) = Claims::read(&Sensitive::new(format!("e30.{encoded}.x"))) {
        assert!(!claims.namespace.as_str().contains(['/', '.']));
    }
    if let Ok(text) = std::str::from_utf8(payload) {
        let _ = Claims::read(&Sensitive::new(text.to_owned()));
    }
});
