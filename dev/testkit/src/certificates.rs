//! A certificate authority for one test, and the certificates it signs.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer,
    KeyPair, KeyUsagePurpose,
};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject as _};

use crate::{Error, error::Doing};

/// A certificate authority. Its files, and those of everything that it signs, are in one folder.
#[derive(Debug)]
pub struct Authority {
    folder: PathBuf,
    issuer: Issuer<'static, KeyPair>,
}

/// A certificate and its key, as files in PEM.
#[derive(Clone, Debug)]
pub struct Identity {
    /// The certificate.
    pub certificate: PathBuf,
    /// The private key.
    pub key: PathBuf,
}

impl Identity {
    /// Reads both, for rustls.
    pub(crate) fn load(&self) -> Result<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>), Error> {
        let Self { certificate, key } = self;
        let chain = CertificateDer::pem_file_iter(certificate).and_then(Iterator::collect);
        let chain = chain.map_err(io::Error::other).doing("reading", certificate)?;
        let key = PrivateKeyDer::from_pem_file(key).map_err(io::Error::other).doing("reading", key)?;
        Ok((chain, key))
    }
}

/// A private key and its public half, as files in PEM.
#[derive(Clone, Debug)]
pub struct Keys {
    /// The key that signs.
    pub private: PathBuf,
    /// The key that verifies.
    pub public: PathBuf,
}

impl Authority {
    /// Makes an authority with its files in `folder`.
    pub fn new(folder: &Path) -> Result<Self, Error> {
        fs::create_dir_all(folder).doing("creating", folder)?;
        let mut params = CertificateParams::default();
        params.distinguished_name = subject("pullwright-test-ca", None);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let key = KeyPair::generate()?;
        let certificate = params.self_signed(&key)?;
        let authority = Self { folder: folder.to_owned(), issuer: Issuer::new(params, key) };
        write(&authority.certificate(), &certificate.pem())?;
        Ok(authority)
    }

    /// The file of the authority's own certificate.
    #[must_use]
    pub fn certificate(&self) -> PathBuf {
        self.folder.join("ca.crt")
    }

    /// Makes a certificate for a server with these `names` (host names or addresses).
    pub fn server(&self, file: &str, names: &[&str]) -> Result<Identity, Error> {
        let names: Vec<_> = names.iter().map(|&name| name.to_owned()).collect();
        let mut params = CertificateParams::new(names)?;
        params.distinguished_name = subject(file, None);
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        self.sign(file, &params)
    }

    /// Makes a certificate for a client: the API server uses the common name as the user, and the organisation as a group.
    pub fn client(&self, file: &str, user: &str, group: Option<&str>) -> Result<Identity, Error> {
        let mut params = CertificateParams::default();
        params.distinguished_name = subject(user, group);
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        self.sign(file, &params)
    }

    /// Makes a pair of keys without a certificate, for signing service account tokens.
    pub fn keys(&self, file: &str) -> Result<Keys, Error> {
        let pair = KeyPair::generate()?;
        let keys = Keys {
            private: self.folder.join(format!("{file}.key")),
            public: self.folder.join(format!("{file}.pub")),
        };
        write(&keys.private, &pair.serialize_pem())?;
        write(&keys.public, &pair.public_key_pem())?;
        Ok(keys)
    }

    fn sign(&self, file: &str, params: &CertificateParams) -> Result<Identity, Error> {
        let key = KeyPair::generate()?;
        let certificate = params.signed_by(&key, &self.issuer)?;
        let identity = Identity {
            certificate: self.folder.join(format!("{file}.crt")),
            key: self.folder.join(format!("{file}.key")),
        };
        write(&identity.certificate, &certificate.pem())?;
        write(&identity.key, &key.serialize_pem())?;
        Ok(identity)
    }
}

fn subject(name: &str, group: Option<&str>) -> DistinguishedName {
    let mut subject = DistinguishedName::new();
    subject.push(DnType::CommonName, name);
    if let Some(group) = group {
        subject.push(DnType::OrganizationName, group);
    }
    subject
}

fn write(path: &Path, pem: &str) -> Result<(), Error> {
    fs::write(path, pem).doing("writing", path)
}
