//! A node with an API server that answers as the real one does, runs of the plugin on it, and the counting of instructions.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{SystemTime, UNIX_EPOCH};

use pullwright_bench::contender::Taken;
use pullwright_bench::load::{Load, PullSecret};
use pullwright_bench::stage::Stage;
use pullwright_golang::base64;
use pullwright_testkit::certificates::Authority;
use pullwright_testkit::standin::{ApiServer, Rule};
use tempfile::TempDir;

/// The plugin as it is shipped.
pub(crate) fn plugin() -> PathBuf {
    std::env::var_os("PULLWRIGHT_PLUGIN").expect("PULLWRIGHT_PLUGIN: `cargo xtask test` sets it").into()
}

/// The command line as it is shipped.
pub(crate) fn command_line() -> PathBuf {
    std::env::var_os("PULLWRIGHT_COMMAND_LINE")
        .expect("PULLWRIGHT_COMMAND_LINE: `cargo xtask test` sets it")
        .into()
}

/// What counts the instructions of the program that is its next argument, into a file.
pub(crate) fn counting(counts: &Path) -> Command {
    let mut out = OsStr::new("--callgrind-out-file=").to_owned();
    out.push(counts);
    let mut command = Command::new("valgrind");
    command.args(["--tool=callgrind", "--quiet"]).arg(out);
    command
}

/// How many there were.
pub(crate) fn counted(counts: &Path) -> u64 {
    let counts = fs::read_to_string(counts).unwrap();
    let total = counts.lines().find_map(|line| line.strip_prefix("totals: ")).expect("a total");
    total.trim().parse().unwrap()
}

pub(crate) struct Node {
    folder: TempDir,
    api: ApiServer,
    ca: PathBuf,
    stage: Stage,
}

impl Node {
    pub(crate) fn new(load: Load) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let authority = Authority::new(&folder.path().join("pki")).unwrap();
        let api = ApiServer::start(&authority.server("api", &["127.0.0.1"]).unwrap()).unwrap();
        let (namespace, token) = (load.namespace(), token(&load.namespace()));
        api.know(&token, "robot");
        api.allow(Rule {
            user: "robot",
            verbs: &["list", "get"],
            resource: "secrets",
            namespace: &namespace,
            names: &[],
        });
        for secret in load.secrets() {
            let content = secret.content();
            api.put_secret(
                &namespace,
                &secret.name(),
                PullSecret::KIND,
                PullSecret::FIELD,
                content.as_bytes(),
            );
        }
        api.speak_protobuf();
        let stage = Stage::new(&folder.path().join("node"), load, &api.url(), &token).unwrap();
        Self { ca: authority.certificate(), folder, api, stage }
    }

    /// Runs the plugin, counts its instructions, and takes what it wrote.
    pub(crate) fn count_instructions(&self) -> u64 {
        let counts = self.folder.path().join("counts");
        self.run(counting(&counts));
        counted(&counts)
    }

    /// Runs the plugin, measures it, and takes what it wrote.
    pub(crate) fn measure(&self) -> Taken {
        serde_json::from_slice(&self.run(Command::new(env!("CARGO_BIN_EXE_pullwright-measure")))).unwrap()
    }

    /// Runs the plugin below another program.
    fn run(&self, mut command: Command) -> Vec<u8> {
        command.arg(plugin()).args(self.stage.plugin_arguments(&self.api.url(), &self.ca));
        // Below valgrind everything takes fifty times as long, and nothing here is about time.
        command.args(["--api-timeout", "19"]);
        let request = File::open(self.stage.path("request")).unwrap();
        let output = command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
        let output = output.stdin(request).stderr(Stdio::piped()).output().expect("it starts");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        self.stage.claim().unwrap();
        output.stdout
    }
}

/// A token that says its namespace, good for an hour.
fn token(namespace: &str) -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    let claims = serde_json::json!({
        "exp": now + 3600,
        "sub": format!("system:serviceaccount:{namespace}:default"),
        "kubernetes.io": {"namespace": namespace, "serviceaccount": {"name": "default", "uid": "1"}},
    });
    let url =
        |text: &str| base64::encode(text.as_bytes()).replace('+', "-").replace('/', "_").replace('=', "");
    format!("{}.{}.{}", url("{}"), url(&claims.to_string()), url("signature"))
}
