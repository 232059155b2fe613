//! TLS of a listener: accepts connections with the current certificates, and follows the files of these.
//!
//! A certificate is renewed while the server runs: new connections get the new one, open ones go on. It authenticates no caller:
//! rustls checks that a client certificate is of the authority, and `authentication` says whose it is.

use std::io;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use futures::stream::unfold;
use futures::{Stream, StreamExt as _};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::mpsc;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use super::{Error, Tls};
use crate::secret::Secret;
use crate::watched_file;

/// Timeout for the TLS handshake of a client.
// Bounds how long an unauthenticated peer can occupy a connection.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);
/// Connections that may wait for the server after their handshake.
const BACKLOG: usize = 16;
/// Protocol of gRPC in the handshake.
const HTTP_2: &[u8] = b"h2";

/// The current certificates of a listener. Clones share them.
#[derive(Debug, Clone)]
pub(super) struct Certificates(Arc<RwLock<Arc<ServerConfig>>>);

impl Certificates {
    /// # Errors
    /// If the certificates or the key are unusable.
    pub(super) fn new(tls: &Tls) -> Result<Self, Error> {
        let config = rustls_config(tls).map_err(Error::Tls)?;
        Ok(Self(Arc::new(RwLock::new(Arc::new(config)))))
    }

    fn current(&self) -> Arc<ServerConfig> {
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Applies changes of the files until it is dropped. Certificates without files never change.
    pub(super) async fn follow(self, tls: Tls) {
        let Some(files) = tls.files.clone() else {
            return;
        };
        let paths = [&files.certificate, &files.key];
        let paths = paths.into_iter().chain(&files.client_ca);
        let known = [tls.certificate.clone(), tls.key.expose().to_owned()];
        let known = known.into_iter().chain(tls.client_ca.clone());
        let apply = |contents: &[String]| {
            let [certificate, key, authorities @ ..] = contents else {
                return;
            };
            let renewed = Tls {
                certificate: certificate.clone(),
                key: Secret::new(key.as_str()),
                client_ca: authorities.first().cloned(),
                files: None,
            };
            match rustls_config(&renewed) {
                Ok(config) => {
                    *self.0.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(config);
                    tracing::info!("certificates reloaded");
                }
                // A renewal replaces the files one after the other: certificate and key then match again at the next poll.
                Err(error) => tracing::warn!(
                    error,
                    "the changed certificates are unusable; the former ones stay active"
                ),
            }
        };
        watched_file::follow(paths.cloned().collect(), known.collect(), apply).await;
    }

    /// Returns the connections after their handshakes. One that fails is dropped, and delays no other.
    pub(super) fn accept<IO>(
        self,
        incoming: impl Stream<Item = io::Result<IO>> + Send + 'static,
    ) -> impl Stream<Item = io::Result<TlsStream<IO>>> + Send + 'static
    where
        IO: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let (accept, accepted) = mpsc::channel(BACKLOG);
        tokio::spawn(async move {
            let mut incoming = Box::pin(incoming);
            loop {
                let next = tokio::select! {
                    // The server takes no more connections: this closes the port.
                    () = accept.closed() => return,
                    next = incoming.next() => next,
                };
                match next {
                    None => return,
                    Some(Ok(connection)) => {
                        tokio::spawn(shake_hands(self.current(), connection, accept.clone()));
                    }
                    Some(Err(error)) => {
                        if accept.send(Err(error)).await.is_err() {
                            return;
                        }
                    }
                }
            }
        });
        unfold(accepted, |mut accepted| async move {
            Some((accepted.recv().await?, accepted))
        })
    }
}

async fn shake_hands<IO>(
    config: Arc<ServerConfig>,
    connection: IO,
    accepted: mpsc::Sender<io::Result<TlsStream<IO>>>,
) where
    IO: AsyncRead + AsyncWrite + Unpin,
{
    let handshake = TlsAcceptor::from(config).accept(connection);
    match tokio::time::timeout(HANDSHAKE_TIMEOUT, handshake).await {
        // An error means that the server has ended.
        Ok(Ok(stream)) => drop(accepted.send(Ok(stream)).await),
        Ok(Err(error)) => tracing::debug!(%error, "TLS handshake failed"),
        Err(_) => tracing::debug!("TLS handshake timed out"),
    }
}

fn rustls_config(tls: &Tls) -> Result<ServerConfig, String> {
    // Selected explicitly: a process may link several cryptography providers, and then rustls has no default.
    let cryptography = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ServerConfig::builder_with_provider(Arc::clone(&cryptography))
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?;
    let builder = match &tls.client_ca {
        None => builder.with_no_client_auth(),
        Some(authorities) => {
            let mut roots = RootCertStore::empty();
            for authority in certificates(authorities)? {
                roots.add(authority).map_err(|error| error.to_string())?;
            }
            let verifier = WebPkiClientVerifier::builder_with_provider(roots.into(), cryptography);
            let verifier = verifier.build().map_err(|error| error.to_string())?;
            builder.with_client_cert_verifier(verifier)
        }
    };
    let key = PrivateKeyDer::from_pem_slice(tls.key.expose().as_bytes());
    let key = key.map_err(|error| format!("the key: {error}"))?;
    let mut config = builder
        .with_single_cert(certificates(&tls.certificate)?, key)
        .map_err(|error| error.to_string())?;
    config.alpn_protocols = vec![HTTP_2.to_vec()];
    Ok(config)
}

fn certificates(pem: &str) -> Result<Vec<CertificateDer<'static>>, String> {
    let parsed = CertificateDer::pem_slice_iter(pem.as_bytes()).collect::<Result<Vec<_>, _>>();
    let parsed = parsed.map_err(|error| format!("the certificate: {error}"))?;
    if parsed.is_empty() {
        return Err("the file has no certificate in it".to_owned());
    }
    Ok(parsed)
}
