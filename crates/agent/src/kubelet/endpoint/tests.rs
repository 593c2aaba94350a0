//! The endpoint against servers on the loopback, with TLS and without.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};

use rustls::crypto::ring;
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer};
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use rustls::{ServerConfig, ServerConnection, StreamOwned};

use super::*;
use crate::kubelet::NoPin;

const TOKEN: &str = "eyJhbGciOiJub25lIn0.secret.";
const HASH: &str = "kubelet_credential_provider_config_info{hash=\"sha256:\
                    55a8ac8e9d708ebd7925e3e2c9624510f6516a3f2c5b3212cb482fceb6315e1f\"} 1\n";

/// A certificate that its owner signed, and its key.
struct Identity {
    pem: String,
    certificate: CertificateDer<'static>,
    key: Vec<u8>,
    tls: Arc<ServerConfig>,
}

fn identity() -> Identity {
    let made = rcgen::generate_simple_self_signed(["node-1".to_owned()]).unwrap();
    let (certificate, key) = (made.cert.der().clone(), made.signing_key.serialize_der());
    // As the kubelet writes `kubelet-server-current.pem`: the certificate, and then its key.
    let pem = made.cert.pem() + &made.signing_key.serialize_pem();
    Identity { pem, tls: server(&certificate, &key), certificate, key }
}

/// A server with a certificate and a key, whether or not they belong together.
fn server(certificate: &CertificateDer<'static>, key: &[u8]) -> Arc<ServerConfig> {
    let key = ring::sign::any_supported_type(&PrivatePkcs8KeyDer::from(key.to_vec()).into()).unwrap();
    let both = CertifiedKey::new(vec![certificate.clone()], key);
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_cert_resolver(Arc::new(SingleCertAndKey::from(both)));
    Arc::new(config)
}

/// Answers one connection, and tells what it read.
fn serve(tls: Option<Arc<ServerConfig>>, answer: impl Into<String>) -> (SocketAddr, Receiver<String>) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let (address, answer) = (listener.local_addr().unwrap(), answer.into());
    let (tell, told) = channel();
    std::thread::spawn(move || {
        let (tcp, _) = listener.accept().unwrap();
        let read = match tls {
            Some(tls) => {
                talk(StreamOwned::<_, TcpStream>::new(ServerConnection::new(tls).unwrap(), tcp), &answer)
            }
            None => talk(tcp, &answer),
        };
        tell.send(read).unwrap();
    });
    (address, told)
}

fn talk(mut stream: impl Read + Write, answer: &str) -> String {
    let (mut read, mut buffer) = (Vec::new(), [0; 4096]);
    // A request, or the greeting of TLS where none is spoken.
    while !read.ends_with(b"\r\n\r\n") && read.first() != Some(&0x16) {
        match stream.read(&mut buffer) {
            Ok(0) | Err(_) => break,
            Ok(length) => read.extend_from_slice(&buffer[..length]),
        }
    }
    // The client may have enough before the end.
    let _ = stream.write_all(answer.as_bytes()).and_then(|()| stream.flush());
    String::from_utf8_lossy(&read).into_owned()
}

fn ok(body: &str) -> String {
    format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len())
}

/// A kubelet at an address, and the folder with the agent's token.
fn at(address: SocketAddr) -> (KubeletEndpoint, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let token = folder.path().join("token");
    std::fs::write(&token, format!("{TOKEN}\n")).unwrap();
    (KubeletEndpoint { api: address, token }, folder)
}

fn wait<T>(call: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(call)
}

fn pins(identities: &[&Identity]) -> Pins {
    Pins::from_pem(identities.iter().map(|identity| &identity.pem)).unwrap()
}

#[test]
fn the_kubelet_with_a_pinned_certificate_gets_the_token_and_tells_its_hash() {
    let (kubelet, other) = (identity(), identity());
    let (address, read) = serve(Some(kubelet.tls.clone()), ok(&format!("a 1\n{HASH}b 1\n")));
    let (endpoint, _folder) = at(address);
    let hash = wait(endpoint.provider_hash(pins(&[&other, &kubelet]))).unwrap();
    assert_eq!(hash, Some(ConfigHash::of(["kind: CredentialProviderConfig\n"])));
    let read = read.recv().unwrap();
    assert!(read.starts_with("GET /metrics HTTP/1.1\r\n"), "{read}");
    assert!(read.contains(&format!("authorization: Bearer {TOKEN}\r\n")), "{read}");
}

#[test]
fn another_certificate_never_sees_the_token() {
    let (kubelet, impostor) = (identity(), identity());
    let (address, read) = serve(Some(impostor.tls), ok(HASH));
    let (endpoint, _folder) = at(address);
    let error = wait(endpoint.provider_hash(pins(&[&kubelet]))).unwrap_err();
    assert!(matches!(error, EndpointError::NotTheKubelet { .. }), "{error}");
    assert_eq!(read.recv().unwrap(), "");
}

#[test]
fn a_copy_of_the_certificate_without_its_key_never_sees_the_token() {
    let (kubelet, impostor) = (identity(), identity());
    let (address, read) = serve(Some(server(&kubelet.certificate, &impostor.key)), ok(HASH));
    let (endpoint, _folder) = at(address);
    let error = wait(endpoint.provider_hash(pins(&[&kubelet]))).unwrap_err();
    assert!(error.to_string().contains("BadSignature"), "{error}");
    assert_eq!(read.recv().unwrap(), "");
}

#[test]
fn a_server_without_tls_never_sees_the_token() {
    let (address, read) = serve(None, ok(HASH));
    let (endpoint, _folder) = at(address);
    let error = wait(endpoint.provider_hash(pins(&[&identity()]))).unwrap_err();
    assert!(matches!(error, EndpointError::Unreachable { .. }), "{error}");
    let read = read.recv().unwrap();
    assert!(read.starts_with('\x16') && !read.contains("secret"), "{read:?}");
}

#[test]
fn a_certificate_that_a_pinned_one_issued_is_not_pinned() {
    let leaf = identity();
    let chain = leaf.pem.clone() + &identity().pem;
    assert_eq!(Pins::from_pem([chain]), Pins::from_pem([leaf.pem]));
    assert_eq!(Pins::from_pem(["", "no certificate"]), Err(NoPin));
}

#[test]
fn a_kubelet_without_the_metric_has_no_hash() {
    let kubelet = identity();
    let (address, _read) = serve(Some(kubelet.tls.clone()), ok("a 1\n"));
    let (endpoint, _folder) = at(address);
    assert_eq!(wait(endpoint.provider_hash(pins(&[&kubelet]))).unwrap(), None);
}

#[test]
fn a_redirect_is_not_followed_and_a_refusal_says_what_to_do() {
    let kubelet = identity();
    let answer = |status: &str| format!("HTTP/1.1 {status}\r\nLocation: https://127.0.0.1:1/\r\n\r\n");
    for (status, expected) in [
        ("302 Found", "answered 302"),
        ("403 Forbidden", "needs the permission to get nodes/metrics"),
        ("401 Unauthorized", "does not accept the agent's token"),
    ] {
        let (address, _read) = serve(Some(kubelet.tls.clone()), answer(status));
        let (endpoint, _folder) = at(address);
        let error = wait(endpoint.provider_hash(pins(&[&kubelet]))).unwrap_err();
        let (shown, debug) = (error.to_string(), format!("{error:?}"));
        assert!(shown.contains(expected) && !(shown + &debug).contains("secret"), "{error}");
    }
}

#[test]
fn health_is_an_answer_and_silence_is_none() {
    for (status, well) in [("200 OK", true), ("500 Internal Server Error", false), ("302 Found", false)] {
        let (address, read) = serve(None, format!("HTTP/1.1 {status}\r\nContent-Length: 2\r\n\r\nok"));
        assert_eq!(wait(healthz(address)).unwrap(), well, "{status}");
        assert!(!read.recv().unwrap().contains("uthorization"));
    }
    let nobody = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap();
    let error = wait(healthz(nobody)).unwrap_err();
    assert!(
        error.to_string().starts_with(&format!("cannot ask the kubelet at http://{nobody}/healthz: ")),
        "{error}"
    );
}

#[test]
fn a_kubelet_that_accepts_and_says_nothing_is_given_up() {
    let limit = Duration::from_millis(20);
    let error = wait(in_time("http://kubelet", limit, std::future::pending::<Result<(), _>>())).unwrap_err();
    assert!(matches!(error, EndpointError::Silent { waited, .. } if waited == limit), "{error}");
}

#[test]
fn a_token_that_is_missing_or_nonsense_is_an_error_without_it() {
    let (endpoint, folder) = at((Ipv4Addr::LOCALHOST, 1).into());
    for nonsense in ["", "\n", "secret\u{1}\ncontent"] {
        std::fs::write(&endpoint.token, nonsense).unwrap();
        let error = wait(endpoint.provider_hash(pins(&[&identity()]))).unwrap_err();
        assert!(matches!(error, EndpointError::Token { .. }), "{error}");
        assert!(!format!("{error} {error:?}").contains("secret"), "{error}");
    }
    drop(folder);
    let error = wait(endpoint.provider_hash(pins(&[&identity()]))).unwrap_err();
    assert!(matches!(error, EndpointError::Token { .. }), "{error}");
}
