//! The version of the program.

/// The text of `--version`, with the line by which scripts recognise the Go plugin's version.
pub(crate) fn text() -> String {
    let version = env!("CARGO_PKG_VERSION");
    format!("crio-credential-provider (pullwright) {version}\nVersion: {version}\n")
}

/// The text of `--version-json`.
pub(crate) fn json() -> String {
    let version = serde_json::json!({
        "version": env!("CARGO_PKG_VERSION"),
        "implementation": "pullwright",
        "platform": format!("{}/{}", std::env::consts::OS, std::env::consts::ARCH),
    });
    format!("{version}\n")
}
