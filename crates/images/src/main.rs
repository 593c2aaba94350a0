//! `pullwright-images`: a CRI image service in front of containerd.

use std::process::ExitCode;

fn main() -> ExitCode {
    pullwright_images::main(std::env::args_os(), |name| std::env::var_os(name))
}
