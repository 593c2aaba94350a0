//! `pullwright-agent`: brings a configuration onto the node that it runs on.

use std::process::ExitCode;

fn main() -> ExitCode {
    pullwright_agent::program::main(std::env::args_os().skip(1), &|name| std::env::var_os(name))
}
