//! `crio-credential-provider`: reads a request from the kubelet on standard input and answers on standard output.

use std::process::ExitCode;

fn main() -> ExitCode {
    pullwright_provider::main(std::env::args_os().skip(1), |name| std::env::var_os(name))
}
