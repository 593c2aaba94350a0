//! `--check`: reports whether the service could run here, and what to do if not. It changes nothing.

use std::ffi::OsString;
use std::fmt;
use std::io::{self, Write as _};
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use hyper::header::{CONTENT_TYPE, HeaderValue, TE};
use hyper::{Method, Request};
use pullwright_engine::containerd::{CertsD, Folder};
use pullwright_engine::credentials::AuthFile;
use pullwright_engine::registries::RegistriesConf;
use pullwright_handover::AuthFolder;
use pullwright_nodefiles::{NodeRoot, RegistryFolder};

use crate::body::RequestBody;
use crate::containerd_answer::ContainerdAnswer;
use crate::decide::is_host;
use crate::grpc::{self, Code, Status};
use crate::listen::{SocketState, look};
use crate::node;
use crate::options::Options;
use crate::upstream::{CallError, connect};

/// How long containerd may take to answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// One line of the report.
enum Line {
    /// All is well.
    Fine(String),
    /// It works, but perhaps not as intended.
    Look(String),
    /// It keeps the service from working; the text says what to do.
    Wrong(String),
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (word, text) = match self {
            Self::Fine(text) => ("ok    ", text),
            Self::Look(text) => ("look  ", text),
            Self::Wrong(text) => ("WRONG ", text),
        };
        write!(f, "{word}{text}")
    }
}

/// Runs the checks and prints the results. Returns 0 if nothing is wrong, else 1.
pub(crate) fn run(options: &Options, var: &dyn Fn(&str) -> Option<OsString>) -> ExitCode {
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            eprintln!("pullwright-images: cannot start: {error}");
            return ExitCode::FAILURE;
        }
    };
    let mut lines = vec![
        runtime.block_on(listen_line(&options.listen)),
        runtime.block_on(containerd_line(&options.containerd)),
        auth_dir_line(&options.auth_dir),
    ];
    lines.extend(options.certs_d.iter().flat_map(|root| certs_d_lines(root)));
    match NodeRoot::this_machine().registries(&options.loader(var)) {
        Ok(registries) => lines.extend(registries_lines(&registries, options)),
        Err(error) => {
            lines.push(Line::Wrong(format!("{error}: fix it, or pulls with an auth file are refused")));
        }
    }
    lines.extend(options.global_auth_file.as_deref().map(global_line));
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let wrong = lines.iter().any(|line| matches!(line, Line::Wrong(_)));
    match io::stdout().write_all(text.as_bytes()) {
        Ok(()) if !wrong => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}

async fn listen_line(path: &Path) -> Line {
    let shown = path.display();
    match look(path).await {
        Ok(SocketState::Nothing) => Line::Fine(format!("{shown} is free to listen on")),
        Ok(SocketState::Stale) => {
            Line::Fine(format!("{shown} was left by a service that died, and will be replaced"))
        }
        Ok(SocketState::Living) => Line::Fine(format!("a running service listens on {shown}")),
        Ok(SocketState::NotASocket) => {
            Line::Wrong(format!("{shown} is not a socket: remove it, or choose another path with --listen"))
        }
        Err(error) => Line::Wrong(format!("{shown} cannot be looked at: {error}")),
    }
}

/// Makes a call that every CRI image service answers.
async fn containerd_line(socket: &Path) -> Line {
    let shown = socket.display();
    let mut request = Request::new(RequestBody::Whole(Some(grpc::frame(b""))));
    *request.method_mut() = Method::POST;
    *request.uri_mut() = hyper::Uri::from_static("http://localhost/runtime.v1.ImageService/ImageFsInfo");
    request.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/grpc"));
    request.headers_mut().insert(TE, HeaderValue::from_static("trailers"));
    let answer = async {
        let failed = |source| CallError::Connect { socket: socket.to_owned(), source };
        let mut containerd = connect(socket).await.map_err(failed)?;
        ContainerdAnswer::read(containerd.send_request(request).await.map_err(CallError::Broken)?).await
    };
    match tokio::time::timeout(PATIENCE, answer).await {
        Ok(Ok(outcome)) => match outcome.status {
            Status { code: Code::OK, .. } => Line::Fine(format!("containerd answers at {shown}")),
            Status { code: Code(12), .. } => Line::Wrong(format!(
                "{shown} has no CRI image service: take \"cri\" out of disabled_plugins in containerd's config.toml"
            )),
            Status { code, message } => {
                Line::Wrong(format!("containerd at {shown} answers with code {}: {message:?}", code.0))
            }
        },
        Ok(Err(error)) => Line::Wrong(format!("{error}: is containerd running, and is --containerd right?")),
        Err(_) => {
            Line::Wrong(format!("containerd at {shown} does not answer within {} s", PATIENCE.as_secs()))
        }
    }
}

fn auth_dir_line(path: &Path) -> Line {
    let shown = path.display();
    // Opening the folder would create it.
    if path.is_absolute() && !path.exists() {
        return Line::Fine(format!("{shown} does not exist yet, and will be created"));
    }
    match AuthFolder::open(path) {
        Ok(_) => Line::Fine(format!("only this user can write to {shown}")),
        Err(error) => Line::Wrong(error.to_string()),
    }
}

/// Checks each `hosts.toml` as containerd reads it.
fn certs_d_lines(root: &Path) -> Vec<Line> {
    let shown = root.display();
    let folders = match NodeRoot::this_machine().certs_d(root) {
        Ok(folders) => folders,
        Err(error) => {
            return vec![Line::Look(format!(
                "{shown}: {error}; without it containerd asks no mirrors. Is --certs-d its config_path?"
            ))];
        }
    };
    let mut certs_d = CertsD::default();
    let mut lines = Vec::new();
    for RegistryFolder { name, path, text } in folders {
        let text = text.unwrap_or_else(|error| {
            lines.push(Line::Wrong(format!(
                "cannot read {}: {error}; containerd goes on without it, so correct it",
                path.display()
            )));
            None
        });
        certs_d.insert(name, text.as_deref());
    }
    let refused = certs_d.folders().filter_map(|(name, folder)| match folder {
        Folder::Refused(error) => Some(Line::Wrong(format!(
            "{shown}/{name}/hosts.toml: {error}; containerd ignores the file until you fix it"
        ))),
        Folder::Hosts(_) | Folder::Certificates => None,
    });
    lines.extend(refused);
    if lines.is_empty() {
        lines.push(Line::Fine(format!("{shown} has {} folders", certs_d.folders().count())));
    }
    lines
}

/// Checks the configuration, and reports each mirror in it that containerd does not ask: a credential for it would be
/// useless.
fn registries_lines(registries: &RegistriesConf, options: &Options) -> Vec<Line> {
    let entries = registries.registries();
    let files: Vec<_> = registries.files().iter().map(|path| path.display().to_string()).collect();
    let files = if files.is_empty() { "no file".to_owned() } else { files.join(", ") };
    let mut lines = vec![Line::Fine(format!("registries.conf has {} entries ({files})", entries.len()))];
    for entry in entries.iter().filter(|entry| !entry.prefix.starts_with("*.")) {
        let host = host_of(&entry.prefix);
        let endpoints = node::endpoints(&options.certs_d, host).endpoints;
        for mirror in &entry.mirrors {
            let mirror = host_of(&mirror.endpoint.location);
            if !endpoints.iter().any(|endpoint| is_host(endpoint, mirror)) {
                lines.push(Line::Look(format!(
                    "registries.conf has the mirror {mirror} for {}, and containerd does not ask it: add it to the \
                     hosts.toml of {host}",
                    entry.prefix
                )));
            }
        }
    }
    lines
}

fn host_of(location: &str) -> &str {
    location.split('/').next().unwrap_or(location)
}

fn global_line(path: &Path) -> Line {
    let shown = path.display();
    match NodeRoot::this_machine().read(path) {
        Ok(text) => match AuthFile::parse(&text) {
            Ok(file) => Line::Fine(format!("{shown} has {} entries", file.document().keys().count())),
            Err(error) => Line::Wrong(format!("{shown}: {error}; pulls go on without it")),
        },
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Line::Look(format!("{shown} does not exist; pulls go on without it"))
        }
        Err(error) => Line::Wrong(format!("{shown}: {error}; pulls go on without it")),
    }
}
