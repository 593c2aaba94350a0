//! Hands the name of the host to the program, which builds for it by name.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-env=XTASK_HOST={}", std::env::var("HOST").unwrap_or_default());
}
