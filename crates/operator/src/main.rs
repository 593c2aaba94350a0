//! `pullwright-operator`: from the objects of the API to what every node should have.

use std::process::ExitCode;

fn main() -> ExitCode {
    pullwright_operator::main(std::env::args_os().skip(1), &|name| std::env::var_os(name))
}
