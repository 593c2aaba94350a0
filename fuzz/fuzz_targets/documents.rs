//! Any text is a document or is refused, with a place that lies in the text; what aliases stand for is bounded.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pullwright_documents::{documents, position, toml_document};

fuzz_target!(|text: &str| {
    match documents(text) {
        Ok(documents) => documents.iter().for_each(|document| drop(document.value())),
        Err(error) => drop(position(text, error.span.start)),
    }
    if let Err(error) = toml_document(text) {
        let _ = position(text, error.span.start);
    }
});
