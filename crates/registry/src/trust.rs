//! Which servers a TLS connection trusts: those certified by the machine's or the given authorities, or any server at
//! all.

use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{self, CryptoProvider, WebPkiSupportedAlgorithms};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};

/// Which certificate authorities to trust in addition to the given ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Roots {
    /// Those that the machine's administrator trusts, as in the runtime.
    #[default]
    System,
    /// None.
    OnlyGiven,
}

/// Why connections cannot be verified.
#[derive(Debug, thiserror::Error)]
pub enum TrustError {
    /// A text has no PEM certificate, or a broken one.
    #[error("reading certificates: {0}")]
    Pem(String),
    /// A certificate cannot be used as an authority.
    #[error("using a certificate as an authority: {0}")]
    Authority(rustls::Error),
    /// The TLS library has no protocol version for its cipher suites.
    #[error("setting up TLS: {0}")]
    Setup(rustls::Error),
}

/// Reads the certificates of a PEM file, which must have at least one.
///
/// # Errors
/// If there is none, or one of them is broken.
pub fn certificates(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, TrustError> {
    let certificates: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    let certificates = certificates.map_err(|error| TrustError::Pem(error.to_string()))?;
    if certificates.is_empty() {
        return Err(TrustError::Pem("there is none in the text".to_owned()));
    }
    Ok(certificates)
}

/// Connects to servers whose certificate is valid for their name and issued by a trusted authority.
pub(crate) fn verified(
    roots: Roots,
    authorities: &[CertificateDer<'static>],
) -> Result<ClientConfig, TrustError> {
    let mut store = RootCertStore::empty();
    if roots == Roots::System {
        // Skip broken system certificates: they are the machine's problem. Without any, connections fail and say why.
        store.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    }
    for authority in authorities {
        store.add(authority.clone()).map_err(TrustError::Authority)?;
    }
    Ok(builder()?.with_root_certificates(store).with_no_client_auth())
}

/// Connects to any server, for sources that `registries.conf` marks as insecure.
pub(crate) fn unverified() -> Result<ClientConfig, TrustError> {
    let algorithms = provider().signature_verification_algorithms;
    Ok(builder()?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Anybody(algorithms)))
        .with_no_client_auth())
}

fn provider() -> CryptoProvider {
    crypto::ring::default_provider()
}

/// Sets the provider explicitly, so that another crate's choice of a process-wide one does not matter.
fn builder() -> Result<rustls::ConfigBuilder<ClientConfig, rustls::WantsVerifier>, TrustError> {
    ClientConfig::builder_with_provider(Arc::new(provider()))
        .with_safe_default_protocol_versions()
        .map_err(TrustError::Setup)
}

/// Accepts every certificate, but still requires proof that the server has its key.
#[derive(Debug)]
struct Anybody(WebPkiSupportedAlgorithms);

impl ServerCertVerifier for Anybody {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        crypto::verify_tls12_signature(message, certificate, signature, &self.0)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        crypto::verify_tls13_signature(message, certificate, signature, &self.0)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_without_a_certificate_is_refused() {
        for text in ["", "hello", "-----BEGIN CERTIFICATE-----\n!\n-----END CERTIFICATE-----\n"] {
            assert!(matches!(certificates(text.as_bytes()), Err(TrustError::Pem(_))));
        }
    }
}
