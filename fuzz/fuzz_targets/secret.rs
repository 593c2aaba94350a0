//! For any Secret, the auth file that is written gives each source exactly the credential that was chosen.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pullwright_engine::credentials::{AuthFile, Choice, Lookup, PullSecret, Secret, select};

fuzz_target!(|data: &[u8]| {
    let Ok(manifest) = serde_json::from_slice(data) else { return };
    let Ok(secret) = Secret::from_manifest(&manifest, "default") else { return };
    let Ok(secret) = PullSecret::read(&secret) else { return };
    let sources: Vec<String> = secret
        .entries()
        .iter()
        .flat_map(|entry| [entry.scope.as_str().to_owned(), format!("{}/image", entry.scope.as_str())])
        .collect();
    let secrets = [secret];
    let selection = select(&secrets, None, sources.iter().map(String::as_str));
    let Some(content) = selection.auth_file() else { return };
    let written = AuthFile::parse(content.bytes.expose()).expect("what we write can be read");
    for (position, (source, choice)) in selection.iter().enumerate() {
        if let Choice::Namespace { .. } = choice {
            let Lookup::Found { credential, .. } = written.lookup(source) else {
                panic!("{source} is not found")
            };
            assert_eq!(Some(credential), selection.credential(position));
        }
    }
});
