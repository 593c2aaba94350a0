//! `pullwright status` without a cluster: what it says if it cannot ask one, and that no credential is in it.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Command, Output};
use std::sync::mpsc::{self, Receiver};
use std::thread;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::program::command;

const TOKEN: &str = "canary-5b1f";

/// A kubeconfig for a server that nobody runs, with credentials.
fn kubeconfig(user: &Value) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "here",
        "clusters": [{"name": "here", "cluster": {"server": "http://127.0.0.1:9"}}],
        "contexts": [{"name": "here", "context": {"cluster": "here", "user": "me"}}],
        "users": [{"name": "me", "user": user}],
    })
}

/// Runs it with a kubeconfig. It fails, and says why without the token.
fn refused(kubeconfig: &str, more: &[&str]) -> String {
    refused_with(kubeconfig, more, |command| command)
}

/// The same, with an environment.
fn refused_with(kubeconfig: &str, more: &[&str], with: impl Fn(&mut Command) -> &mut Command) -> String {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("kubeconfig");
    fs::write(&file, kubeconfig).unwrap();
    let arguments = [&["status", "--kubeconfig", file.to_str().unwrap()], more].concat();
    let said = failed(&with(command(&arguments).env("PATH", "/usr/bin:/bin")).output().unwrap());
    said.replace(file.to_str().unwrap(), "FILE")
}

fn failed(output: &Output) -> String {
    let said = String::from_utf8(output.stderr.clone()).unwrap();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert_eq!(output.stdout, b"");
    assert!(!said.contains(TOKEN), "{said}");
    said
}

#[test]
fn a_server_that_nobody_runs_is_named_as_the_reason() {
    let config = kubeconfig(&json!({"token": TOKEN})).to_string();
    for more in [&[][..], &["-w"], &["-o", "json"]] {
        let said = refused(&config, more);
        assert!(said.starts_with("error: asking the API server: "), "{said}");
        assert!(said.contains("Connection refused"), "{said}");
        assert!(said.contains("help: "), "{said}");
    }
}

#[test]
fn a_kubeconfig_that_cannot_be_used_is_named_with_the_reason() {
    let good = kubeconfig(&json!({"token": TOKEN}));
    let said = refused(&good.to_string(), &["--context", "elsewhere"]);
    assert!(said.starts_with("error: FILE: it has no context \"elsewhere\"\n"), "{said}");

    let mut without = good.clone();
    without.as_object_mut().unwrap().remove("current-context");
    assert!(refused(&without.to_string(), &[]).starts_with("error: FILE: it has no current context\n"));

    // The token is where a list should be, so whoever quotes the place quotes the token.
    let mut wrong = good;
    wrong["users"][0]["user"] = json!({"exec": {"args": TOKEN}});
    let said = refused(&wrong.to_string(), &[]);
    assert!(said.starts_with("error: FILE: not a kubeconfig: line 1, column "), "{said}");

    let missing = command(&["status", "--kubeconfig", "/nonexistent/kubeconfig"]).output().unwrap();
    assert!(failed(&missing).starts_with("error: reading /nonexistent/kubeconfig: No such file"));
    let nowhere = failed(&command(&["status"]).output().unwrap());
    assert!(nowhere.contains("--kubeconfig"), "{nowhere}");
}

#[test]
fn what_a_credential_program_prints_stays_unsaid() {
    for (script, reason) in [
        (format!("echo {TOKEN}; echo {TOKEN} >&2; exit 3"), "exit status: 3"),
        (format!("echo '{{\"status\": \"{TOKEN}\"}}'"), "the credentials of the kubeconfig cannot be used"),
    ] {
        let exec = json!({"exec": {
            "apiVersion": "client.authentication.k8s.io/v1", "command": "sh", "args": ["-c", script],
            "interactiveMode": "Never",
        }});
        let said = refused(&kubeconfig(&exec).to_string(), &[]);
        assert!(said.contains(reason), "{said}");
    }
}

/// A proxy that takes one line from each client and hangs up.
struct Proxy {
    address: SocketAddr,
    asked: Receiver<String>,
}

impl Proxy {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (sender, asked) = mpsc::channel();
        thread::spawn(move || {
            for client in listener.incoming() {
                let mut line = String::new();
                // Who has gone again asks nothing.
                let _ = BufReader::new(client.unwrap()).read_line(&mut line);
                let _ = sender.send(line);
            }
        });
        Self { address, asked }
    }

    fn url(&self) -> String {
        format!("http://me:{TOKEN}@{}", self.address)
    }

    /// What it was asked first: by this, if by nobody else before.
    fn asked_first(self) -> String {
        TcpStream::connect(self.address).unwrap().write_all(b"nothing\n").unwrap();
        self.asked.recv().unwrap()
    }
}

#[test]
fn a_proxy_is_asked_for_servers_that_need_it() {
    let at = |server: &str, proxy: Option<String>| {
        let mut config = kubeconfig(&json!({"token": TOKEN}));
        config["clusters"][0]["cluster"] = json!({"server": server, "proxy-url": proxy});
        config.to_string()
    };
    let (distant, local) = ("https://api.cluster.invalid:6443", "https://127.0.0.1:9");
    for (server, no_proxy, asked) in [
        (distant, "", "CONNECT api.cluster.invalid:6443 HTTP/1.1\r\n"),
        (distant, ".cluster.invalid", "nothing\n"),
        (local, "", "nothing\n"),
    ] {
        let proxy = Proxy::start();
        refused_with(&at(server, None), &[], |command| {
            command.env("HTTPS_PROXY", proxy.url()).env("NO_PROXY", no_proxy)
        });
        assert_eq!(proxy.asked_first(), asked, "{server} {no_proxy}");
    }
    let proxy = Proxy::start();
    refused(&at(local, Some(proxy.url())), &[]);
    let odd = refused(&at(local, Some(proxy.url().replace("http:", "gopher:"))), &[]);
    assert!(odd.contains("a scheme other than http, https and socks5"), "{odd}");
    assert_eq!(proxy.asked_first(), "CONNECT 127.0.0.1:9 HTTP/1.1\r\n");
}
