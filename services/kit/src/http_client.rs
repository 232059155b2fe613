//! HTTP clients for external services, and for those of this user on this machine.
//!
//! The clients follow no redirects and use no proxy from the environment: requests may have secrets, and only the
//! configuration decides where they are sent. The clients do not retry.

use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use base64::Engine as _;
use reqwest::redirect::Policy;
use reqwest::{ClientBuilder, Url};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::{Error as PemError, PemObject as _};
use rustls::{ClientConfig, RootCertStore};

use crate::own_connections::OwnConnections;

/// An error while building a client.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("cannot read the certificates in {}: {source}", path.display())]
    Unreadable { path: PathBuf, source: PemError },
    #[error("unusable certificate in {}: {source}", path.display())]
    Unusable {
        path: PathBuf,
        source: rustls::Error,
    },
    #[error("there is no certificate in {}", path.display())]
    NoCertificate { path: PathBuf },
    #[error(transparent)]
    Tls(#[from] rustls::Error),
}

/// Creates a client for this machine or a trusted network. It trusts no certificate, so that only `http:` works.
///
/// # Errors
/// Never with the cryptography provider that Motorium is built with.
pub fn plaintext() -> Result<ClientBuilder, Error> {
    builder(RootCertStore::empty())
}

/// Creates a client that trusts the certificates of the system and those in a PEM file.
///
/// # Errors
/// If the file cannot be read or has no certificate in it.
pub fn with_root_certificates(file: Option<&Path>) -> Result<ClientBuilder, Error> {
    let mut roots = RootCertStore::empty();
    let native = rustls_native_certs::load_native_certs();
    for error in native.errors {
        tracing::warn!(%error, "cannot read some certificates of the system");
    }
    roots.add_parsable_certificates(native.certs);
    if let Some(path) = file {
        add(&mut roots, path)?;
    }
    builder(roots)
}

/// Returns the certificates of the system and those in a PEM file, as PEM, for clients that accept no certificate store.
///
/// # Errors
/// If the file cannot be read or has no certificate in it.
pub fn root_certificates_pem(file: Option<&Path>) -> Result<String, Error> {
    let native = rustls_native_certs::load_native_certs();
    let mut certificates = native.certs;
    if let Some(path) = file {
        certificates.extend(certificates_in(path)?);
    }
    Ok(certificates.iter().map(pem).collect())
}

/// Lets a client connect to servers of this user and of root alone, for requests with the token of the user. On other systems than
/// Linux the owner of a server is not known, and every one is connected to.
pub fn to_own_servers(client: ClientBuilder) -> ClientBuilder {
    client.connector_layer(OwnConnections)
}

/// Returns an error with its causes on one line: the one of a connection is only among the latter.
#[must_use]
pub fn described(error: &reqwest::Error) -> String {
    crate::chain(error)
}

/// Returns whether a URL names this machine, which no proxy may come between.
#[must_use]
pub fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default().trim_end_matches('.');
    let address = host.trim_matches(['[', ']']).parse::<IpAddr>();
    // Names below `localhost` are left to DNS by some systems.
    host == "localhost" || address.is_ok_and(|address| address.to_canonical().is_loopback())
}

fn pem(certificate: &CertificateDer<'_>) -> String {
    let encoded = base64::engine::general_purpose::STANDARD.encode(certificate);
    format!("-----BEGIN CERTIFICATE-----\n{encoded}\n-----END CERTIFICATE-----\n")
}

fn add(roots: &mut RootCertStore, path: &Path) -> Result<(), Error> {
    for certificate in certificates_in(path)? {
        let added = roots.add(certificate);
        added.map_err(|source| Error::Unusable {
            path: path.to_owned(),
            source,
        })?;
    }
    Ok(())
}

/// Reads the certificates of a file, at least one.
fn certificates_in(path: &Path) -> Result<Vec<CertificateDer<'static>>, Error> {
    let unreadable = |source| Error::Unreadable {
        path: path.to_owned(),
        source,
    };
    let read = CertificateDer::pem_file_iter(path).map_err(unreadable)?;
    let certificates: Vec<_> = read.collect::<Result<_, _>>().map_err(unreadable)?;
    if certificates.is_empty() {
        return Err(Error::NoCertificate {
            path: path.to_owned(),
        });
    }
    Ok(certificates)
}

fn builder(roots: RootCertStore) -> Result<ClientBuilder, Error> {
    // Selected explicitly: a process may link several cryptography providers, and then rustls has no default.
    let cryptography = Arc::new(rustls::crypto::ring::default_provider());
    let tls = ClientConfig::builder_with_provider(cryptography)
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(reqwest::Client::builder()
        .tls_backend_preconfigured(tls)
        .redirect(Policy::none())
        .no_proxy())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_file(content: &str) -> Result<ClientBuilder, Error> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ca.pem");
        std::fs::write(&path, content).unwrap();
        with_root_certificates(Some(&path))
    }

    #[test]
    fn loopback_hosts_are_recognised_by_any_name() {
        let is_loopback = |url: &str| is_loopback(&url.parse().unwrap());
        for own in [
            "localhost:1",
            "LOCALHOST.",
            "127.1.2.3",
            "[::1]:8",
            "[::ffff:127.0.0.1]",
        ] {
            assert!(is_loopback(&format!("http://{own}/v1")), "{own}");
        }
        for other in [
            "localhost.example.com",
            "notlocalhost",
            "models.localhost",
            "128.0.0.1",
            "[::2]",
            "10.0.0.1",
        ] {
            assert!(!is_loopback(&format!("http://{other}/v1")), "{other}");
        }
    }

    #[test]
    fn a_client_can_be_built_without_any_default_cryptography() {
        plaintext().unwrap().build().unwrap();
        with_root_certificates(None).unwrap().build().unwrap();
    }

    #[test]
    fn a_file_of_certificates_is_trusted() {
        let issued = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        with_file(&issued.cert.pem()).unwrap().build().unwrap();
    }

    #[test]
    fn a_file_without_certificates_is_an_error() {
        assert!(matches!(
            with_file("nothing"),
            Err(Error::NoCertificate { .. })
        ));
        let missing = with_root_certificates(Some(Path::new("/nowhere/ca.pem")));
        assert!(matches!(missing, Err(Error::Unreadable { .. })));
    }
}
