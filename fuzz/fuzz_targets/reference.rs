//! A reference that parses displays as a text that parses to it.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pullwright_engine::reference::{Dialect, Reference};

fuzz_target!(|text: &str| {
    for dialect in [Dialect::Kubelet, Dialect::Runtime] {
        if let Ok(reference) = Reference::parse(dialect, text) {
            assert_eq!(Reference::parse(dialect, &reference.to_string()).as_ref(), Ok(&reference));
            assert!(reference.name().starts_with(reference.domain()));
        }
    }
});
