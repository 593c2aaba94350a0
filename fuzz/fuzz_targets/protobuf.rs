//! Any bytes are fields of a message or are none, and what is taken off is what was there.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pullwright_protobuf::{Fields, last};

fuzz_target!(|data: &[u8]| {
    let mut fields = Fields::of(data);
    let mut seen = 0;
    loop {
        let before = fields.rest().len();
        match fields.next() {
            None => break,
            Some(Err(_)) => return assert!(last(data, 1).is_err()),
            Some(Ok((_, value))) => {
                let taken = before - fields.rest().len();
                assert!(taken > value.len());
                seen += taken;
            }
        }
    }
    assert_eq!(seen, data.len());
    assert!(last(data, 1).is_ok());
});
