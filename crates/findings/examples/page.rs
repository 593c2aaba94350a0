//! Writes the documentation of all rules into a file, or compares the file with it (`--check`): part of `cargo xtask gen`.

use std::fs;
use std::process::ExitCode;

use pullwright_findings::page::page;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let result = match arguments.as_slice() {
        [path] => write(path),
        [path, "--check"] => check(path),
        _ => Err("usage: page FILE [--check]".to_owned()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}

fn write(path: &str) -> Result<(), String> {
    println!("{path}");
    fs::write(path, page()).map_err(|error| format!("writing {path}: {error}"))
}

fn check(path: &str) -> Result<(), String> {
    match fs::read_to_string(path) {
        Ok(text) if text == page() => Ok(()),
        Ok(_) => Err(format!("{path} is out of date: run `cargo xtask gen`")),
        Err(error) => Err(format!("reading {path}: {error}; run `cargo xtask gen`")),
    }
}
