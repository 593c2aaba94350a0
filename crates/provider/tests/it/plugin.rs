//! One run of the plugin, as the kubelet would have it, and what came of it.

use std::ffi::OsStr;
use std::io::Write as _;
use std::process::{Child, Command, Output, Stdio};

use pullwright_engine::kubelet::{ApiVersion, Response};
use pullwright_golang::base64;

use crate::inputs::{request, token};
use crate::stage::{NAMESPACE, PASSWORD, SIGNATURE};

/// One run of the plugin, while it is being prepared.
pub(crate) struct Plugin {
    pub(crate) command: Command,
    pub(crate) shows_credentials: bool,
}

impl Plugin {
    pub(crate) fn arg(mut self, arg: impl AsRef<OsStr>) -> Self {
        self.command.arg(arg);
        self
    }

    pub(crate) fn args(mut self, args: &[&str]) -> Self {
        self.command.args(args);
        self
    }

    pub(crate) fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    /// Runs it with so much memory and no more: what it asks for beyond that it does not get, and it ends.
    pub(crate) fn with_memory(mut self, bytes: usize) -> Self {
        let mut command = Command::new("sh");
        let kilobytes = (bytes >> 10).to_string();
        command.args(["-c", "ulimit -d \"$0\" && exec \"$@\"", &kilobytes]);
        command.arg(self.command.get_program()).args(self.command.get_args()).env_clear();
        self.command = command;
        self
    }

    /// Lets standard output hold passwords, as it must where the answer delivers them.
    pub(crate) fn shows_credentials(mut self) -> Self {
        self.shows_credentials = true;
        self
    }

    /// Runs it with a request for [`IMAGE`] on behalf of [`NAMESPACE`].
    pub(crate) fn ask(self) -> Ran {
        self.run(request(&token(NAMESPACE)))
    }

    /// Runs it with this on its standard input.
    pub(crate) fn run(self, stdin: impl AsRef<[u8]>) -> Ran {
        let shows_credentials = self.shows_credentials;
        let output = self.start(stdin).wait_with_output().expect("it ends");
        Ran::new(output, shows_credentials)
    }

    /// Starts it, and gives it all of its standard input.
    pub(crate) fn start(mut self, stdin: impl AsRef<[u8]>) -> Child {
        self.command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = self.command.spawn().expect("it starts");
        // It may end without reading: the kubelet does not mind either.
        let _ = child.stdin.take().expect("its input").write_all(stdin.as_ref());
        child
    }
}

/// What came of a run.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Ran {
    pub(crate) fn new(output: Output, shows_credentials: bool) -> Self {
        let text = |bytes| String::from_utf8(bytes).expect("it writes text");
        let ran =
            Self { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) };
        assert_no_canary(&ran.stderr);
        if !shows_credentials {
            assert_no_canary(&ran.stdout);
        }
        ran
    }

    /// The line that it ends with when there was nothing wrong, and an answer of version 1 that the kubelet accepts.
    pub(crate) fn answered(&self) -> (Response, &str) {
        self.answered_in(ApiVersion::V1)
    }

    pub(crate) fn answered_in(&self, version: ApiVersion) -> (Response, &str) {
        assert_eq!(self.code, Some(0), "{self:?}");
        let response = Response::parse(self.stdout.as_bytes(), version).expect("the kubelet accepts it");
        assert_eq!(response.cache_duration.map(|duration| duration.to_string()).as_deref(), Some("0s"));
        (response, self.line())
    }

    /// The answer is empty, and the line is this one.
    pub(crate) fn answered_nothing(&self, line: &str) {
        let (response, said) = self.answered();
        assert!(response.auth.is_empty(), "{self:?}");
        assert_eq!(said, line);
    }

    /// The line that it ends with when there was something wrong: no answer, and the kubelet pulls without it.
    pub(crate) fn failed(&self) -> &str {
        assert_eq!((self.code, self.stdout.as_str()), (Some(1), ""), "{self:?}");
        self.line().strip_prefix("crio-credential-provider: ").expect("it says who it is")
    }

    /// The only line of standard error.
    pub(crate) fn line(&self) -> &str {
        let line = self.stderr.strip_suffix('\n').expect("a line");
        assert!(!line.is_empty() && !line.contains('\n') && line.len() < 1000, "{self:?}");
        line
    }
}

/// Looks for the password and the token, also as base64 has them.
pub(crate) fn assert_no_canary(text: &str) {
    for canary in [PASSWORD, SIGNATURE] {
        assert!(!text.contains(canary), "{canary} in {text}");
        // Wherever it begins in a group of three bytes, the middle of its base64 is the same.
        for before in ["", "x", "xx"] {
            let encoded = base64::encode(format!("{before}{canary}").as_bytes());
            let middle = &encoded[4..encoded.len() - 4];
            assert!(!text.contains(middle), "{canary} in base64 in {text}");
        }
    }
}
