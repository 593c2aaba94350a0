//! The documentation shows what the program prints: every `console` block that begins with `$ pullwright` is run.

use crate::program::{command, differs, top};

#[test]
fn every_example_in_the_documentation_is_true() {
    let mut wrong = Vec::new();
    for name in ["docs/quickstart.md", "docs/cli.md", "docs/migrate.md", "docs/containerd.md"] {
        let file = top().join(name);
        let text = std::fs::read_to_string(&file).unwrap();
        let mut blocks = 0;
        let mut actual = String::new();
        let mut rest = text.as_str();
        while let Some((before, block)) = rest.split_once("```console\n$ pullwright ") {
            let (shown, after) = block.split_once("```\n").unwrap();
            actual.push_str(before);
            actual.push_str("```console\n");
            actual.push_str(&run(shown));
            actual.push_str("```\n");
            (rest, blocks) = (after, blocks + 1);
        }
        actual.push_str(rest);
        assert!(blocks > 0, "{name} has no examples");
        wrong.extend(differs(&file, &actual));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The block as it should be. A command goes on behind a backslash.
fn run(block: &str) -> String {
    let mut lines = block.lines();
    let mut typed = Vec::new();
    for line in &mut lines {
        typed.push(line);
        if !line.ends_with('\\') {
            break;
        }
    }
    let arguments = typed.join("\n").replace("\\\n", " ");
    let output = command(&arguments.split_whitespace().collect::<Vec<_>>()).output().unwrap();
    let printed = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
    format!("$ pullwright {}\n{printed}", typed.join("\n"))
}
