//! The whole story on a machine with nothing: an image that is mirrored to a private registry, a namespace whose Secret
//! opens the mirror, and another one that has none.
//!
//! The plugin is the real program, run as the kubelet runs it. The kubelet's and CRI-O's parts are played here; what they
//! really do is shown by the tests on real nodes.

mod kubelet;
mod runtime;
mod scene;
mod story;

use std::path::PathBuf;
use std::process::ExitCode;

fn main() -> ExitCode {
    let Some(plugin) = std::env::args_os().nth(1).map(PathBuf::from) else {
        eprintln!("usage: pullwright-demo PATH-OF-CRIO-CREDENTIAL-PROVIDER (cargo xtask demo does it)");
        return ExitCode::from(2);
    };
    match story::tell(&plugin) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("the demo did not go as it should: {error:#}");
            ExitCode::from(1)
        }
    }
}
