//! Any text is a document or is refused, with a place that lies in the text; what aliases stand for is bounded.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pullwright_documents::{Text, documents, go_toml_document, toml_document};

fuzz_target!(|text: &str| {
    match documents(text) {
        Ok(documents) => documents.iter().for_each(|document| drop(document.value())),
        Err(error) => {
            let _ = Text::new(text.to_owned()).position(error.span.start);
        }
    }
    for document in [toml_document(text), go_toml_document(text)] {
        if let Err(error) = document {
            let _ = Text::new(text.to_owned()).position(error.span.start);
        }
    }
});
