//! `testdata/transcripts/*.txt`: a command after `$ pullwright`, then what it prints and its exit code. The name of a file is its
//! claim. A new case is a file with the first line, completed by `PULLWRIGHT_BLESS=1`.

use crate::program::{command, differs, files, testdata, transcript};

#[test]
fn every_transcript_is_true() {
    let mut wrong = Vec::new();
    let files = files(&testdata("transcripts"));
    assert!(files.len() > 20, "the transcripts are not found");
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        let first = text.lines().next().unwrap_or_default();
        let arguments =
            first.strip_prefix("$ pullwright ").unwrap_or_else(|| panic!("no command in {}", file.display()));
        let arguments: Vec<_> = arguments.split_whitespace().collect();
        let output = command(&arguments).output().unwrap();
        wrong.extend(differs(&file, &format!("{first}\n{}", transcript(&output))));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
