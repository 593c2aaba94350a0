//! `cargo xtask`: the developer commands.

fn main() {}
