//! runc for CRI-O, which gives a privileged container every capability that there is, not every one that it has itself.

use std::{
    fs::{self, Permissions},
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

use rustix::thread::{CapabilitySet, capabilities};

use crate::{Error, error::Doing as _, programs::find};

/// Runs runc after taking from a new container what the machine lacks: runc would refuse to start it.
const SCRIPT: &str = r#"#!/bin/sh
bundle= previous=
for word; do
    if [ "$previous" = --bundle ]; then bundle=$word; fi
    previous=$word
done
if [ -n "$bundle" ]; then sed -i '@TAKE@' "$bundle/config.json"; fi
exec @RUNC@ "$@"
"#;

/// Returns runc, or where this process lacks capabilities, a script in `root` that starts it without them.
pub(super) fn for_crio(root: &Path) -> Result<PathBuf, Error> {
    let runc = find("runc")?;
    let own = capabilities(None).map_err(Into::into).doing("reading", Path::new("capabilities"))?.permitted;
    let lacking: Vec<_> =
        (CapabilitySet::all() - own).iter_names().map(|(name, _)| format!("CAP_{name}")).collect();
    if lacking.is_empty() {
        return Ok(runc);
    }
    let script = root.join("runc");
    let values = [("TAKE", take(&lacking)), ("RUNC", runc.display().to_string())];
    fs::write(&script, super::render(SCRIPT, &values)).doing("writing", &script)?;
    fs::set_permissions(&script, Permissions::from_mode(0o755)).doing("writing", &script)?;
    Ok(script)
}

/// Returns an expression for `sed` that takes words out of the lists of a JSON document without spaces. Whoever lacks the capability for
/// it cannot protect a container from the lack of memory either, so none is.
fn take(words: &[String]) -> String {
    let each = words.iter().map(|word| format!(r#"s/"{word}",//g;s/,"{word}"//g;s/"{word}"//g"#));
    let protection = r#"s/"oomScoreAdj": *-[0-9]*/"oomScoreAdj":0/g"#.to_owned();
    each.chain([protection]).collect::<Vec<_>>().join(";")
}

#[cfg(test)]
mod tests {
    use crate::process::Place;

    #[test]
    fn a_word_is_taken_from_wherever_it_stands_in_a_list() {
        for (list, left) in [
            (r#"["CAP_A","CAP_B"]"#, r#"["CAP_B"]"#),
            (r#"["CAP_B","CAP_A","CAP_AB"]"#, r#"["CAP_B","CAP_AB"]"#),
            (r#"["CAP_B","CAP_A"]"#, r#"["CAP_B"]"#),
            (r#"["CAP_A"]"#, "[]"),
        ] {
            let script = format!("echo '{list}' | sed '{}'", super::take(&["CAP_A".to_owned()]));
            assert_eq!(Place::Host.run("sh", &["-c", &script]).unwrap().trim(), left);
        }
    }
}
