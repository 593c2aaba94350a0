//! `cargo xtask`: the developer commands. `cargo xtask test` runs every test and prints a summary at the end.

mod bench;
mod beside;
mod cargo;
mod demo;
mod deny;
mod fuzz;
mod r#gen;
mod go;
mod machine;
mod node;
mod oracle;
mod programs;
mod test;
mod tier;

use std::process::ExitCode;

const USAGE: &str = "\
cargo xtask COMMAND

  demo                      the product's main job on this machine, with no cluster at hand
  test [--fast]             every test, installing what it needs, Go too; --fast leaves out what needs Go or root
  oracle [--cases N] [--seed S] [--only OPERATION]
                            compare the engine with the Go libraries on N generated cases
  fuzz [--seconds N] [TARGET…]
                            fuzz the parsers, each for N seconds (default 60)
  gen [--check]             write the files that are made from the source (deploy/crds, docs/findings.md), or compare them
  bench engine [--json]     the engine beside the Go libraries, as ratios
  bench images [--rounds N] [--json]
                            pulls through the image service beside pulls from containerd itself
  bench mirrors [--json]    what merging mirror sets costs, and that it does not grow with their number
  bench operator [--json]   memory and API calls of the operator in a large cluster, and that they stay bounded
  bench plugin [--rounds N] [--json]
                            the plugin beside the Go plugin and a bare exchange of the same requests, on a real
                            kube-apiserver
  node up [--runtime containerd|containerd-with-images|crio] | down | status | kubectl … | logs NAME
                            a real Kubernetes node on this machine, for developing
  programs [control-plane]  build and install what the real components need, and say where it is
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let result = match words.split_first() {
        Some((&"demo", rest)) => demo::run(rest),
        Some((&"test", rest)) => test::run(rest),
        Some((&"oracle", rest)) => oracle::run(rest),
        Some((&"fuzz", rest)) => fuzz::run(rest),
        Some((&"gen", rest)) => r#gen::run(rest),
        Some((&"bench", rest)) => bench::run(rest),
        Some((&"node", rest)) => node::run(rest),
        Some((&"programs", rest)) => programs::run(rest),
        Some((&("help" | "--help" | "-h"), _)) => {
            print!("{USAGE}");
            return ExitCode::SUCCESS;
        }
        Some((other, _)) => Err(format!("unknown command {other:?}\n\n{USAGE}")),
        None => Err(USAGE.to_owned()),
    };
    match result {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(message) => {
            eprintln!("{message}");
            ExitCode::from(2)
        }
    }
}
