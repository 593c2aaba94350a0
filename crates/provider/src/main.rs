//! `crio-credential-provider`: reads a request of the kubelet from standard input, answers on standard output.

use std::process::ExitCode;

fn main() -> ExitCode {
    pullwright_provider::main(std::env::args_os().skip(1), |name| std::env::var_os(name))
}
