//! An auth file that parses answers every lookup, and nothing it holds is ever printed.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pullwright_engine::credentials::{AuthFile, LegacyAuthFile};

fuzz_target!(|data: &[u8]| {
    if let Ok(file) = AuthFile::parse(data) {
        let keys: Vec<String> = file.document().keys().map(str::to_owned).collect();
        for key in keys.iter().map(String::as_str).chain(["docker.io/library/nginx", "a.io:5000/b/c"]) {
            let _ = file.lookup(key);
            let _ = file.lookup(&format!("{key}/image"));
        }
    }
    if let Ok(file) = LegacyAuthFile::parse(data) {
        let _ = file.lookup("docker.io");
    }
});
