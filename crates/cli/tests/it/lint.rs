//! `testdata/lint/*`: each file is linted, and what must come out stands beside it in `expected/`.

use crate::program::{command, differs, files, testdata, top, transcript};

#[test]
fn every_fixture_has_its_findings() {
    let folder = testdata("lint");
    let mut wrong = Vec::new();
    let mut exits = std::collections::BTreeMap::<_, u32>::new();
    for file in files(&folder).into_iter().filter(|file| file.is_file()) {
        let name = file.file_name().unwrap().to_str().unwrap();
        let path = file.strip_prefix(top()).unwrap().to_str().unwrap();
        let output = command(&["lint", path]).output().unwrap();
        let code = output.status.code().unwrap();
        *exits.entry(code).or_default() += 1;
        if name.starts_with("good-") != (code == 0) {
            wrong.push(format!("{name}: exit {code}"));
        }
        wrong.extend(differs(&folder.join("expected").join(format!("{name}.txt")), &transcript(&output)));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!([0, 1, 2].iter().all(|code| exits.contains_key(code)), "not every exit code is shown: {exits:?}");
}
