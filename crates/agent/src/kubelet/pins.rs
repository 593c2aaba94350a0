//! The certificates that this node's kubelet may serve with. Most kubelets sign their own, so no authority vouches for them; but the
//! agent can read the node's files, and trusts exactly the certificates that it finds there.

use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{self, CryptoProvider, WebPkiSupportedAlgorithms};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, SignatureScheme};

/// The certificates, at least one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pins(Vec<CertificateDer<'static>>);

/// The files had no certificate.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "none of the kubelet's certificate files has a certificate: is --cert-dir, tlsCertFile or --tls-cert-file set to \
     another place?"
)]
pub struct NoPin;

impl Pins {
    /// Takes the first certificate of each file: those after it are of authorities, and certify others too. Everything else in a
    /// file, such as a key, is passed over.
    ///
    /// # Errors
    /// If no file has a certificate.
    pub fn from_pem(files: impl IntoIterator<Item = impl AsRef<[u8]>>) -> Result<Self, NoPin> {
        let first = |file: &[u8]| CertificateDer::pem_slice_iter(file).next()?.ok();
        let pins: Vec<_> = files.into_iter().filter_map(|file| first(file.as_ref())).collect();
        if pins.is_empty() { Err(NoPin) } else { Ok(Self(pins)) }
    }

    /// How to connect to a server that has one of these certificates, and its key.
    pub(crate) fn client(self) -> Result<ClientConfig, rustls::Error> {
        let provider = crypto::ring::default_provider();
        let algorithms = provider.signature_verification_algorithms;
        Ok(builder(provider)?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(PinVerifier { pins: self, algorithms }))
            .with_no_client_auth())
    }
}

/// Sets the provider explicitly, so that another crate's choice of a process-wide one does not matter.
fn builder(
    provider: CryptoProvider,
) -> Result<rustls::ConfigBuilder<ClientConfig, rustls::WantsVerifier>, rustls::Error> {
    ClientConfig::builder_with_provider(Arc::new(provider)).with_safe_default_protocol_versions()
}

/// The error of a connection to a server that is not this node's kubelet.
pub(crate) const NOT_PINNED: rustls::Error =
    rustls::Error::InvalidCertificate(CertificateError::ApplicationVerificationFailure);

/// Accepts the pinned certificates and no other. Neither name nor age matter: the kubelet writes its certificate where only root
/// can, and serves with it for as long as it runs.
#[derive(Debug)]
struct PinVerifier {
    pins: Pins,
    algorithms: WebPkiSupportedAlgorithms,
}

impl ServerCertVerifier for PinVerifier {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        if self.pins.0.iter().any(|pin| pin == certificate) {
            return Ok(ServerCertVerified::assertion());
        }
        Err(NOT_PINNED)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        crypto::verify_tls12_signature(message, certificate, signature, &self.algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        crypto::verify_tls13_signature(message, certificate, signature, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}
