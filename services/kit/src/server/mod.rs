//! A gRPC server around a service: health, reflection, TLS, tokens, limits, deadlines, and an orderly end.
//!
//! [`Builder`] collects services together with their descriptors, so that reflection and health list exactly what is
//! mounted. It serves four programs of their own and one that runs all of them; it does not know what they do, and
//! keeps no state between calls. Invariant: once [`Builder::start`] has returned, the port is open and health answers.

mod call;
mod registry;

use std::fmt;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use futures::StreamExt as _;
use futures::stream::FuturesUnordered;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tonic::transport::server::TcpIncoming;
use tonic::transport::{Certificate, Identity, ServerTlsConfig};
use tonic_health::ServingStatus;
use tonic_health::server::HealthReporter;
use tower::layer::layer_fn;
use tracing::{info, warn};

use crate::config::{Listen, Secret};
use crate::limits::Limits;
use crate::shutdown::Shutdown;
use call::{Calls, Stops};
pub use registry::Mountable;
use registry::Registry;

/// How long connections may take to close after every call on them has been ended.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// How long a client may take for its TLS handshake.
const TLS_HANDSHAKE: Duration = Duration::from_secs(10);

/// What a server is to be like, as meant; see [`crate::config::Common::server`].
#[derive(Debug, Clone)]
pub struct Config {
    /// Where to listen.
    pub listen: Listen,
    /// Encryption, and perhaps the clients' certificates.
    pub tls: Option<Tls>,
    /// What callers must present as `authorization: Bearer …`; health checks need not.
    pub token: Option<Secret>,
    /// What bounds connections and calls.
    pub limits: Limits,
    /// How long calls may go on after the server was asked to end.
    pub grace: Duration,
}

/// What TLS needs, as PEM.
#[derive(Debug, Clone)]
pub struct Tls {
    /// The server's certificate and those between it and a known authority.
    pub certificate: String,
    /// The private key of the first of them.
    pub key: Secret,
    /// With it, only clients with a certificate of this authority get in.
    pub client_ca: Option<String>,
}

impl Config {
    /// A server on a free port of the loopback address, without TLS or token.
    #[must_use]
    pub fn loopback() -> Self {
        Self {
            listen: Listen::default(),
            tls: None,
            token: None,
            limits: Limits::default(),
            grace: Duration::from_secs(20),
        }
    }

    /// Refuses what would let anyone on the network use this computer.
    pub(crate) fn check_exposure(&self, address: SocketAddr) -> Result<(), Error> {
        let client_certificates = self.tls.is_some();
        if address.ip().is_loopback() || client_certificates || self.token.is_some() {
            return Ok(());
        }
        Err(Error::Exposed { address })
    }
}

/// Why a server cannot start, or ended badly.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The address can be reached from other machines, and nothing protects it.
    #[error(
        "refusing to listen on {address} without TLS or a token, because other machines can reach it; set \
         server.tls_certificate and server.tls_key, or server.token_file, or listen on 127.0.0.1"
    )]
    Exposed {
        /// The address in question.
        address: SocketAddr,
    },
    /// Another program listens there.
    #[error(
        "{address} is taken by another program; end it, or choose another address (port 0 takes a free one)"
    )]
    AddressInUse {
        /// The address in question.
        address: SocketAddr,
    },
    /// The system does not let us listen there.
    #[error(
        "listening on {address}: {source}; choose an address of this machine and a port this user may open"
    )]
    Bind {
        /// The address in question.
        address: SocketAddr,
        /// What the system says.
        source: io::Error,
    },
    /// The certificate or the key cannot be used.
    #[error("the TLS certificate and key cannot be used: {0}")]
    Tls(String),
    /// A service was mounted with descriptors that do not describe it, or twice.
    #[error("mounting {service}: {problem}")]
    Mount {
        /// Full name of the service.
        service: String,
        /// What is wrong.
        problem: String,
    },
    /// The server ended by itself.
    #[error("serving on {address}: {problem}")]
    Serve {
        /// Where it listened.
        address: SocketAddr,
        /// What happened.
        problem: String,
    },
}

/// Collects services and starts them on one listener.
#[derive(Debug)]
pub struct Builder {
    config: Config,
    registry: Registry,
    warming: Vec<Warming>,
}

/// A service that is not ready at once.
struct Warming {
    service: &'static str,
    /// Whether it is, in the end. Locked by nobody: a builder, which holds it, is shared between threads by futures.
    ready: Mutex<Pin<Box<dyn Future<Output = bool> + Send>>>,
}

impl fmt::Debug for Warming {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Warming")
            .field("service", &self.service)
            .finish_non_exhaustive()
    }
}

impl Builder {
    /// A server like this, with nothing on it yet.
    #[must_use]
    pub fn new(config: Config) -> Self {
        Self {
            config,
            registry: Registry::default(),
            warming: Vec::new(),
        }
    }

    /// Mounts a generated service. `descriptors` is an encoded `FileDescriptorSet` that describes it; several
    /// services may bring the same one.
    ///
    /// The largest message it accepts is set on the service itself (`max_decoding_message_size`).
    #[must_use]
    pub fn service(mut self, service: impl Mountable, descriptors: &'static [u8]) -> Self {
        self.registry.mount(service, descriptors);
        self
    }

    /// As [`Self::service`], and lets health say of it, and of the whole, that it does not serve until `ready` says it
    /// does; if that says it never will, for good. Calls are answered all the same.
    #[must_use]
    pub fn service_with_readiness<S: Mountable>(
        mut self,
        service: S,
        descriptors: &'static [u8],
        ready: impl Future<Output = bool> + Send + 'static,
    ) -> Self {
        self.warming.push(Warming {
            service: S::NAME,
            ready: Mutex::new(Box::pin(ready)),
        });
        self.service(service, descriptors)
    }

    /// Opens the configured address and serves until `shutdown`.
    ///
    /// # Errors
    /// If the address is exposed, taken or not ours, TLS cannot be set up, or a service does not match its
    /// descriptors.
    pub async fn start(self, shutdown: &Shutdown) -> Result<Running, Error> {
        let address = self.config.listen.0;
        self.config.check_exposure(address)?;
        let listener = TcpListener::bind(address)
            .await
            .map_err(|source| match source.kind() {
                io::ErrorKind::AddrInUse => Error::AddressInUse { address },
                _ => Error::Bind { address, source },
            })?;
        self.start_on(listener, shutdown).await
    }

    /// Serves on a listener that is already open, until `shutdown`.
    ///
    /// # Errors
    /// As for [`Builder::start`].
    pub async fn start_on(
        self,
        listener: TcpListener,
        shutdown: &Shutdown,
    ) -> Result<Running, Error> {
        let Self {
            config,
            registry,
            warming,
        } = self;
        let address = listener.local_addr().map_err(|source| Error::Bind {
            address: config.listen.0,
            source,
        })?;
        config.check_exposure(address)?;

        let shutdown = shutdown.child();
        let health = HealthReporter::new();
        let is_warming = |name: &str| warming.iter().any(|one| one.service == name);
        for service in registry.names() {
            let status = match is_warming(service) {
                true => ServingStatus::NotServing,
                false => ServingStatus::Serving,
            };
            health.set_service_status(service, status).await;
        }
        if !warming.is_empty() {
            health
                .set_service_status("", ServingStatus::NotServing)
                .await;
        }
        let names = registry.names().to_vec();
        let routes = registry.into_routes(&health)?;
        if !warming.is_empty() {
            tokio::spawn(warm_up(warming, health.clone(), shutdown.clone()));
        }

        let stops = Stops::default();
        let calls = Calls::new(config.token.clone(), stops.clone());
        let mut server =
            transport(&config)?.layer(layer_fn(move |routes| calls.clone().serving(routes)));
        let incoming = TcpIncoming::from(listener)
            .with_nodelay(Some(true))
            .with_keepalive(Some(config.limits.keepalive_interval));
        let closing = stops.draining.clone();
        let serving = tokio::spawn(
            server
                .add_routes(routes)
                .serve_with_incoming_shutdown(incoming, closing.cancelled_owned()),
        );

        info!(%address, services = names.join(","), tls = config.tls.is_some(), token = config.token.is_some(), "ready");
        let life = Life {
            address,
            serving,
            health,
            names,
            stops,
            grace: config.grace,
        };
        let ended = tokio::spawn(life.run(shutdown.clone()));
        Ok(Running {
            address,
            shutdown,
            ended,
        })
    }
}

/// Waits until everything is ready, and lets health say so of each service as soon as it is.
async fn warm_up(warming: Vec<Warming>, health: HealthReporter, shutdown: Shutdown) {
    let mut warming: FuturesUnordered<_> = warming
        .into_iter()
        .map(|one| async move {
            let ready = one.ready.into_inner();
            (
                one.service,
                ready.unwrap_or_else(PoisonError::into_inner).await,
            )
        })
        .collect();
    let mut all_ready = true;
    loop {
        let next = tokio::select! {
            biased;
            () = shutdown.draining() => return,
            next = warming.next() => next,
        };
        let Some((service, is_ready)) = next else {
            break;
        };
        all_ready &= is_ready;
        if is_ready {
            serve(&health, service, &shutdown).await;
        }
    }
    if all_ready {
        serve(&health, "", &shutdown).await;
    }
}

/// Says that a service serves, unless the server is on its way out: then it has said otherwise, or is about to.
async fn serve(health: &HealthReporter, service: &str, shutdown: &Shutdown) {
    health
        .set_service_status(service, ServingStatus::Serving)
        .await;
    if shutdown.is_draining() {
        health
            .set_service_status(service, ServingStatus::NotServing)
            .await;
    }
}

/// The transport with the configured limits and TLS.
fn transport(config: &Config) -> Result<tonic::transport::Server, Error> {
    let limits = &config.limits;
    let server = tonic::transport::Server::builder()
        .http2_keepalive_interval(Some(limits.keepalive_interval))
        .http2_keepalive_timeout(Some(limits.keepalive_timeout))
        .max_concurrent_streams(limits.concurrent_streams)
        .http2_max_header_list_size(limits.header_bytes);
    let Some(tls) = &config.tls else {
        return Ok(server);
    };
    let mut settings = ServerTlsConfig::new()
        .identity(Identity::from_pem(&tls.certificate, tls.key.expose()))
        .timeout(TLS_HANDSHAKE);
    if let Some(authority) = &tls.client_ca {
        settings = settings.client_ca_root(Certificate::from_pem(authority));
    }
    server
        .tls_config(settings)
        .map_err(|error| Error::Tls(crate::chain(&error)))
}

/// A server that is up.
#[derive(Debug)]
pub struct Running {
    address: SocketAddr,
    shutdown: Shutdown,
    ended: JoinHandle<Result<(), Error>>,
}

impl Running {
    /// Where it listens; the real port also where 0 was asked for.
    #[must_use]
    pub fn local_address(&self) -> SocketAddr {
        self.address
    }

    /// The signal that ends this server alone.
    #[must_use]
    pub fn shutdown(&self) -> &Shutdown {
        &self.shutdown
    }

    /// Waits until it has ended.
    ///
    /// # Errors
    /// If it ended by itself. Calls that had to be cut off are no error; they are logged.
    pub async fn join(self) -> Result<(), Error> {
        let address = self.address;
        self.ended.await.unwrap_or_else(|error| {
            Err(Error::Serve {
                address,
                problem: error.to_string(),
            })
        })
    }

    /// Asks it to end and waits.
    ///
    /// # Errors
    /// As for [`Running::join`].
    pub async fn end(self) -> Result<(), Error> {
        self.shutdown.drain();
        self.join().await
    }
}

/// What happens from "ready" to the end.
struct Life {
    address: SocketAddr,
    serving: JoinHandle<Result<(), tonic::transport::Error>>,
    health: HealthReporter,
    names: Vec<String>,
    stops: Stops,
    grace: Duration,
}

impl Life {
    async fn run(mut self, shutdown: Shutdown) -> Result<(), Error> {
        tokio::select! {
            ended = &mut self.serving => return self.ended_by_itself(&ended),
            () = shutdown.draining() => {}
        }
        info!(address = %self.address, grace = ?self.grace, "draining");
        // Health first, so that whoever watches it hears of the end before the connection goes away.
        for name in std::iter::once("").chain(self.names.iter().map(String::as_str)) {
            self.health
                .set_service_status(name, ServingStatus::NotServing)
                .await;
        }
        self.stops.draining.cancel();

        let in_time = tokio::select! {
            done = until(self.grace, &mut self.serving) => done,
            () = shutdown.stopping() => false,
        };
        if !in_time {
            warn!(address = %self.address, "ending the calls that are still running");
            self.stops.stopping.cancel();
            if !until(LAST_WORDS, &mut self.serving).await {
                // A peer that does not read holds its connection open; it goes with the process.
                warn!(address = %self.address, "connections are still open");
                self.serving.abort();
            }
        }
        info!(address = %self.address, "ended");
        Ok(())
    }

    fn ended_by_itself(&self, ended: &impl fmt::Debug) -> Result<(), Error> {
        Err(Error::Serve {
            address: self.address,
            problem: format!("the listener ended: {ended:?}"),
        })
    }
}

/// Whether `task` ends within `time`.
async fn until<T>(time: Duration, task: &mut (impl Future<Output = T> + Unpin)) -> bool {
    tokio::time::timeout(time, task).await.is_ok()
}
