//! Who is shown the Pod's token: the API server that is known by its certificate, and nobody else.

use std::io::Read as _;
use std::net::{Shutdown, TcpListener};
use std::thread;

use pullwright_testkit::certificates::Authority;
use pullwright_testkit::standin::{ApiServer, Fault, Trouble};

use crate::cluster::{Cluster, USER, WHAT};
use crate::inputs::request;

/// The whole point of a certificate authority: whoever holds the port of the API server gets no token.
#[test]
fn a_server_with_another_authority_gets_no_token() {
    let cluster = Cluster::with_secret();
    let other = Authority::new(&cluster.stage.path("other-pki")).unwrap();
    let impostor = ApiServer::start(&other.server("api", &["127.0.0.1"]).unwrap()).unwrap();
    let ran = cluster.plugin().args(&["--server", &impostor.url()]).run(request(&cluster.token));
    let said = "is not the server that its certificate authority knows (invalid peer certificate: ";
    assert!(ran.failed().starts_with(&format!("{} {said}", impostor.url())), "{ran:?}");
    assert!(ran.failed().ends_with("): check --server and --certificate-authority"), "{ran:?}");
    assert_eq!(impostor.log(), []);
    assert!(!cluster.stage.auth_dir().exists());
}

#[test]
fn a_server_under_another_name_gets_no_token() {
    let cluster = Cluster::with_secret();
    let other = ApiServer::start(&cluster.authority.server("other", &["other.example"]).unwrap()).unwrap();
    let ran = cluster.plugin().args(&["--server", &other.url()]).run(request(&cluster.token));
    assert!(
        ran.failed().contains("(invalid peer certificate: certificate not valid for name \"127.0.0.1\""),
        "{ran:?}"
    );
    assert_eq!(other.log(), []);
}

#[test]
fn a_server_without_tls_gets_no_token() {
    let cluster = Cluster::with_secret();
    let plain = TcpListener::bind("127.0.0.1:0").unwrap();
    let server = format!("https://{}", plain.local_addr().unwrap());
    let received = thread::spawn(move || {
        let (mut stream, _) = plain.accept().unwrap();
        let mut hello = [0; 1024];
        let length = stream.read(&mut hello).unwrap();
        stream.shutdown(Shutdown::Both).unwrap();
        hello[..length].to_vec()
    });
    let ran = cluster.plugin().args(&["--server", &server]).run(request(&cluster.token));
    ran.failed();
    // A TLS handshake, and nothing else.
    let received = received.join().unwrap();
    assert_eq!(received[..2], [0x16, 0x03]);
    assert!(!String::from_utf8_lossy(&received).contains("Bearer"));
}

#[test]
fn a_redirect_takes_the_token_nowhere() {
    let cluster = Cluster::with_secret();
    let other = ApiServer::start(&cluster.authority.server("other", &["127.0.0.1"]).unwrap()).unwrap();
    cluster.api.inject(Fault::always("", Trouble::Redirect(other.url())));
    let ran = cluster.ask();
    assert!(ran.failed().starts_with(&format!("{} answered 307 for {WHAT}: ", cluster.api.url())), "{ran:?}");
    assert_eq!(other.log(), []);
}

/// The kubelet's unit often has a proxy for images; it must not see tokens unless somebody says so.
#[test]
fn a_proxy_in_the_environment_is_used_only_if_asked_for() {
    let cluster = Cluster::with_secret();
    let proxy = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", proxy.local_addr().unwrap());
    let plugin = || {
        let variables = ["HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"];
        variables.iter().fold(cluster.plugin(), |plugin, variable| plugin.env(variable, &url))
    };
    cluster.wrote_for(&plugin().run(request(&cluster.token)), "puller");
    proxy.set_nonblocking(true).unwrap();
    assert!(proxy.accept().is_err(), "nobody came to the proxy");
    proxy.set_nonblocking(false).unwrap();

    let seen = thread::spawn(move || {
        let (mut stream, _) = proxy.accept().unwrap();
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            let mut byte = [0];
            stream.read_exact(&mut byte).unwrap();
            head.push(byte[0].into());
        }
        stream.shutdown(Shutdown::Both).unwrap();
        head
    });
    // Another image: for this one a file was handed over before.
    let other = request(&cluster.token).replace("library/nginx", "library/redis");
    let ran = plugin().arg("--proxy-from-environment").run(other);
    ran.failed();
    let seen = seen.join().unwrap();
    assert!(seen.starts_with("CONNECT 127.0.0.1:") && !seen.contains("Bearer"), "{seen}");
}

/// A slash, a letter or a colon too many, and a password is where an address should be.
#[test]
fn a_proxy_that_is_no_address_is_not_told_with_its_password() {
    let cluster = Cluster::with_secret();
    for url in ["http://u:canary-password", "http://u:canary-password/x@proxy:3128", "canary-password:x"] {
        let plugin = cluster.plugin().env("HTTPS_PROXY", url).arg("--proxy-from-environment");
        let ran = plugin.run(request(&cluster.token));
        assert!(ran.failed().contains("the proxy ") && !ran.stderr.contains("http://u:"), "{ran:?}");
    }
}

/// The node's own credentials could read far more than the Pod's.
#[test]
fn a_kubeconfig_gives_the_server_and_never_its_credentials() {
    let cluster = Cluster::with_secret();
    cluster.api.know("node-token", "system:node:n");
    let kubeconfig = serde_json::json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "c", "cluster": {"server": cluster.api.url(), "certificate-authority": "pki/ca.crt"}}],
        "users": [{"name": "u", "user": {"token": "node-token", "tokenFile": "/nowhere", "client-key": "/nowhere"}}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "x",
    });
    cluster.stage.write("kubeconfig", &kubeconfig.to_string());
    let plugin = cluster.stage.plugin().arg("--kubeconfig").arg(cluster.stage.path("kubeconfig"));
    cluster.wrote_for(&plugin.run(request(&cluster.token)), "puller");
    let users = cluster.api.log().into_iter().map(|access| access.user);
    assert_eq!(users.collect::<Vec<_>>(), [Some(USER.to_owned())]);
}

#[test]
fn a_server_without_an_authority_is_not_asked() {
    let cluster = Cluster::with_secret();
    let kubeconfig =
        serde_json::json!({"clusters": [{"name": "c", "cluster": {"server": cluster.api.url()}}]});
    cluster.stage.write("kubeconfig", &kubeconfig.to_string());
    let plugin = cluster.stage.plugin().arg("--kubeconfig").arg(cluster.stage.path("kubeconfig"));
    let ran = plugin.run(request(&cluster.token));
    cluster
        .failed_with(&ran, "the certificate authority of SERVER is not known: set --certificate-authority");
    cluster.stage.write("empty.crt", "");
    let plugin = cluster.plugin().arg("--certificate-authority").arg(cluster.stage.path("empty.crt"));
    let ran = plugin.run(request(&cluster.token));
    cluster.failed_with(
        &ran,
        "the certificate authority of SERVER holds no certificate in PEM: check --certificate-authority",
    );
    assert_eq!(cluster.api.log(), []);
}

#[test]
fn a_token_that_is_no_header_is_not_sent_and_not_shown() {
    let cluster = Cluster::with_secret();
    let forged = format!("{}\r\nX-Forged: canary-password", cluster.token);
    let ran = cluster.plugin().run(request(&forged));
    assert!(ran.failed().starts_with("asking "), "{ran:?}");
    assert_eq!(cluster.api.log(), []);
}
