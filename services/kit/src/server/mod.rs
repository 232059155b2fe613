//! A gRPC server with health, reflection, TLS, tokens, limits, deadlines and graceful shutdown.
//!
//! [`Builder`] collects services together with their descriptors, so that reflection and health list exactly what is
//! mounted. The four service programs and the one that runs all of them use it. It has no domain logic and keeps no state
//! between calls. Invariant: once [`Builder::start`] has returned, the port is open and health responds.

mod authentication;
mod call;
mod connections;
mod health;
mod memory;
mod own_token;
mod refusal;
mod registry;
mod running;
mod tls;

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures::Stream;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tonic::transport::server::{Connected, TcpIncoming};
use tonic_health::server::HealthReporter;
use tower::layer::layer_fn;
use tracing::info;

use crate::authorisation::AuthorisationTable;
use crate::callers::CallersFile;
use crate::jwt;
use crate::limits::Limits;
use crate::loopback_token::{self, LoopbackToken};
use crate::secret::Secret;
use crate::shutdown::{DEFAULT_GRACE_PERIOD, Shutdown};
use crate::values::ListenAddress;
use authentication::Authentication;
use call::{CallLayer, StopSignals};
use health::Conditions;
pub use health::{HealthCheck, LIVENESS};
pub use memory::MemoryConnector;
pub use refusal::{RefusalObserver, RefusedCall};
pub use registry::Mountable;
use registry::Registry;
pub use running::RunningServer;
use running::ServerTask;
use tls::Certificates;

/// Resolved configuration of a server; see [`crate::config::Common::server`].
#[derive(Debug, Clone)]
pub struct Config {
    /// Address to listen on.
    pub listen: ListenAddress,
    /// TLS configuration, optionally with client certificates.
    pub tls: Option<Tls>,
    /// Token that callers must send as `authorization: Bearer …`. Not required for health checks.
    pub token: Option<Secret>,
    /// Token of the user, demanded on a loopback address if clients are not authenticated otherwise. `None` lets every local
    /// caller in.
    pub loopback_token: Option<LoopbackToken>,
    /// Callers with names, by their tokens and certificates.
    pub callers: Option<CallersFile>,
    /// Issuer of access tokens.
    pub jwt: Option<jwt::Config>,
    /// Roles that each method needs.
    pub authorisation: AuthorisationTable,
    /// Limits of connections and calls.
    pub limits: Limits,
    /// Time that running calls have to finish after a shutdown was requested.
    pub grace_period: Duration,
}

/// TLS certificates and keys, as PEM.
#[derive(Debug, Clone)]
pub struct Tls {
    /// Certificate chain of the server.
    pub certificate: String,
    /// Private key of the server's certificate.
    pub key: Secret,
    /// Certificate authority of clients. If set, only clients with its certificates are accepted.
    pub client_ca: Option<String>,
    /// The files that these come from. Their changes are applied to new connections.
    pub files: Option<TlsFiles>,
}

/// PEM files of certificates and keys.
#[derive(Debug, Clone)]
pub struct TlsFiles {
    /// Certificate chain of the server.
    pub certificate: PathBuf,
    /// Private key of the server's certificate.
    pub key: PathBuf,
    /// Certificate authority of clients.
    pub client_ca: Option<PathBuf>,
}

impl Config {
    /// Returns a configuration for a free port of the loopback address, without TLS or token.
    #[must_use]
    pub fn loopback() -> Self {
        Self {
            listen: ListenAddress::default(),
            tls: None,
            token: None,
            loopback_token: None,
            callers: None,
            jwt: None,
            authorisation: AuthorisationTable::motorium(),
            limits: Limits::default(),
            grace_period: DEFAULT_GRACE_PERIOD,
        }
    }

    /// Rejects an address that other machines can reach without authentication, and certificates of clients that nothing gives
    /// a name. A server certificate authenticates no client: it names the server, and lets every client in.
    pub(crate) fn check_authentication(&self, address: SocketAddr) -> Result<(), Error> {
        if self.demands_certificates() && !self.names_callers() {
            return Err(Error::UnnamedCertificates);
        }
        if address.ip().is_loopback() || self.authenticates() {
            return Ok(());
        }
        Err(Error::Exposed { address })
    }

    /// Returns the token that programs of this user call the server with: the configured one, or that of the user, which is created
    /// if there is none. `None` if the server demands none, or only those of callers with names.
    ///
    /// # Errors
    /// If the token of the user cannot be created or must not be used.
    pub fn token_of_user(&self) -> Result<Option<Secret>, Error> {
        let ListenAddress(address) = self.listen;
        Ok(self.token_source(address).token()?)
    }

    /// Returns true if callers are known by tokens.
    #[must_use]
    pub fn demands_token(&self) -> bool {
        let ListenAddress(address) = self.listen;
        let of_user = matches!(self.token_source(address), TokenSource::OfUser(_));
        of_user || self.names_callers()
    }

    /// Returns the source of the token that a server on `address` demands.
    fn token_source(&self, address: SocketAddr) -> TokenSource {
        let is_alone = address.ip().is_loopback() && !self.authenticates();
        match (&self.token, &self.loopback_token) {
            (Some(token), _) => TokenSource::Configured(token.clone()),
            (None, Some(place)) if is_alone => TokenSource::OfUser(place.clone()),
            _ => TokenSource::None,
        }
    }

    /// Returns true if the settings name a way to authenticate clients.
    fn authenticates(&self) -> bool {
        self.demands_certificates() || self.names_callers()
    }

    fn demands_certificates(&self) -> bool {
        self.tls.as_ref().is_some_and(|tls| tls.client_ca.is_some())
    }

    /// Returns true if the settings say who a caller is.
    fn names_callers(&self) -> bool {
        self.callers.is_some() || self.jwt.is_some() || self.token.is_some()
    }
}

/// Source of the one token that opens a server, beside those of callers with names.
#[derive(Debug)]
enum TokenSource {
    /// There is no such token.
    None,
    /// The settings of the server name it.
    Configured(Secret),
    /// It is that of the user, as clients on this machine are not authenticated otherwise.
    OfUser(LoopbackToken),
}

impl TokenSource {
    /// Returns the token. That of the user is created if there is none.
    fn token(self) -> Result<Option<Secret>, loopback_token::Error> {
        match self {
            Self::None => Ok(None),
            Self::Configured(token) => Ok(Some(token)),
            Self::OfUser(place) => place.find_or_create().map(Some),
        }
    }
}

/// An error that prevents a server from starting or ends it.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The address can be reached from other machines, and clients are not authenticated.
    #[error(
        "refusing to listen on {address} without client authentication, because other machines can reach it; set \
         server.token_file, server.callers_file or server.jwt, or listen on 127.0.0.1"
    )]
    Exposed {
        /// Address to listen on.
        address: SocketAddr,
    },
    /// Clients must have certificates, and nothing says who they are.
    #[error(
        "server.tls_client_ca is set, but nothing says what the clients with its certificates may do; list them by the names of \
         their certificates in server.callers_file, or set server.token_file or server.jwt beside it"
    )]
    UnnamedCertificates,
    /// Another program already listens on the address.
    #[error(
        "{address} is taken by another program; stop it, or choose another address (port 0 selects a free port)"
    )]
    AddressInUse {
        /// Address to listen on.
        address: SocketAddr,
    },
    /// The operating system does not allow listening on the address.
    #[error(
        "cannot listen on {address}: {source}; choose an address of this machine and a port that this user may open"
    )]
    Bind {
        /// Address to listen on.
        address: SocketAddr,
        /// Error of the operating system.
        source: io::Error,
    },
    /// The certificate or the key is unusable.
    #[error("unusable TLS certificate and key: {0}")]
    Tls(String),
    /// The token of the user can neither be used nor created.
    #[error(
        "cannot protect the server from other users of this machine: {0}; or set server.token_file, or server.loopback_token = \
         false if a proxy in front authenticates callers"
    )]
    LoopbackToken(#[from] loopback_token::Error),
    /// A service was mounted twice, or with descriptors that do not describe it.
    #[error("cannot mount {service}: {problem}")]
    Mount {
        /// Full name of the service.
        service: String,
        /// Problem with the service.
        problem: String,
    },
    /// The server ended unexpectedly.
    #[error("server on {address} failed: {problem}")]
    Serve {
        /// Address of the server.
        address: SocketAddr,
        /// Problem that ended it.
        problem: String,
    },
}

/// Collects services and starts them on one listener.
#[derive(Debug)]
pub struct Builder {
    config: Config,
    registry: Registry,
    conditions: Conditions,
    refusals: Option<Arc<dyn RefusalObserver>>,
}

impl Builder {
    /// Creates a builder without services.
    #[must_use]
    pub fn new(config: Config) -> Self {
        Self {
            config,
            registry: Registry::default(),
            conditions: Conditions::default(),
            refusals: None,
        }
    }

    /// Tells this observer of the calls that are refused because their caller is unknown or has no role for them.
    #[must_use]
    pub fn on_refusal(mut self, observer: Arc<dyn RefusalObserver>) -> Self {
        self.refusals = Some(observer);
        self
    }

    /// Mounts a generated service. `descriptors` is an encoded `FileDescriptorSet` that describes it; several services
    /// may share one.
    ///
    /// The maximum message size is set on the service itself (`max_decoding_message_size`).
    #[must_use]
    pub fn service(mut self, service: impl Mountable, descriptors: &'static [u8]) -> Self {
        self.registry.mount(service, descriptors);
        self
    }

    /// Mounts a service like [`Self::service`]. Health reports it, and the server as a whole, as not serving until `ready`
    /// resolves to true; if it resolves to false, permanently. Calls are served in any case.
    #[must_use]
    pub fn service_with_readiness<S: Mountable>(
        mut self,
        service: S,
        descriptors: &'static [u8],
        ready: impl Future<Output = bool> + Send + 'static,
    ) -> Self {
        self.conditions.add_readiness(S::NAME, ready);
        self.service(service, descriptors)
    }

    /// Adds a check of what the mounted service with this name needs, such as a database or a display. Health reports the
    /// service, and the server as a whole, as not serving while the check returns a problem. Calls are served in any case.
    #[must_use]
    pub fn check(mut self, service: &'static str, check: Arc<dyn HealthCheck>) -> Self {
        self.conditions.add_check(service, check);
        self
    }

    /// Opens the configured address and serves until `shutdown`.
    ///
    /// # Errors
    /// If the address is taken or not of this machine, other machines can reach it although clients are not authenticated,
    /// TLS cannot be set up, the token of the user cannot be created, or a service does not match its descriptors.
    pub async fn start(self, shutdown: &Shutdown) -> Result<RunningServer, Error> {
        let address = self.config.listen.0;
        self.config.check_authentication(address)?;
        let listener = TcpListener::bind(address)
            .await
            .map_err(|source| match source.kind() {
                io::ErrorKind::AddrInUse => Error::AddressInUse { address },
                _ => Error::Bind { address, source },
            })?;
        self.start_on(listener, shutdown).await
    }

    /// Serves on an open listener until `shutdown`.
    ///
    /// # Errors
    /// Like [`Builder::start`].
    pub async fn start_on(
        self,
        listener: TcpListener,
        shutdown: &Shutdown,
    ) -> Result<RunningServer, Error> {
        let address = listener.local_addr().map_err(|source| Error::Bind {
            address: self.config.listen.0,
            source,
        })?;
        self.config.check_authentication(address)?;
        let incoming = TcpIncoming::from(listener)
            .with_nodelay(Some(true))
            .with_keepalive(Some(self.config.limits.keepalive_interval));
        let incoming = connections::limited(incoming, self.config.limits.connections);
        let authentication = Authentication::of(&self.config, address)?;
        authentication.follow_files(shutdown);
        let Some(tls) = self.config.tls.clone() else {
            return self
                .serve(address, incoming, authentication, shutdown)
                .await;
        };
        let certificates = Certificates::new(&tls)?;
        let follower = certificates.clone().follow(tls);
        let incoming = certificates.accept(incoming);
        let running = self
            .serve(address, incoming, authentication, shutdown)
            .await?;
        let ended = running.shutdown.clone();
        tokio::spawn(async move {
            tokio::select! {
                () = ended.draining() => {}
                () = follower => {}
            }
        });
        Ok(running)
    }

    /// Serves within this process until `shutdown`, without a socket: only holders of the connector can reach the services.
    ///
    /// # Errors
    /// If a service does not match its descriptors.
    pub async fn start_in_memory(
        self,
        shutdown: &Shutdown,
    ) -> Result<(RunningServer, MemoryConnector), Error> {
        let (connector, incoming) = memory::listen();
        let address = self.config.listen.0;
        // Only this process holds the other end.
        let authentication = Authentication::default();
        let running = self
            .serve(address, incoming, authentication, shutdown)
            .await?;
        Ok((running, connector))
    }

    async fn serve<I, IO>(
        self,
        address: SocketAddr,
        incoming: I,
        authentication: Authentication,
        shutdown: &Shutdown,
    ) -> Result<RunningServer, Error>
    where
        I: Stream<Item = io::Result<IO>> + Send + 'static,
        IO: AsyncRead + AsyncWrite + Connected + Unpin + Send + 'static,
    {
        let Self {
            config,
            registry,
            conditions,
            refusals,
        } = self;
        let shutdown = shutdown.child();
        let health = HealthReporter::new();
        let names = registry.names().to_vec();
        let routes = registry.into_routes(&health, &config.authorisation)?;
        let health_task = conditions.report(&names, &health, &shutdown).await;

        let stops = StopSignals::default();
        let names_callers = authentication.names_callers();
        let calls = CallLayer::new(
            authentication,
            config.authorisation.clone(),
            refusals,
            stops.clone(),
        );
        let mut server =
            transport(&config.limits).layer(layer_fn(move |routes| calls.clone().layer(routes)));
        let closing = stops.draining.clone();
        let serving = tokio::spawn(
            server
                .add_routes(routes)
                .serve_with_incoming_shutdown(incoming, closing.cancelled_owned()),
        );

        info!(%address, services = names.join(","), tls = config.tls.is_some(), callers = names_callers, "ready");
        let life = ServerTask {
            address,
            serving,
            health: health_task,
            stops,
            grace: config.grace_period,
        };
        let ended = tokio::spawn(life.run(shutdown.clone()));
        Ok(RunningServer {
            address,
            shutdown,
            ended,
        })
    }
}

/// Creates the transport with the configured limits.
fn transport(limits: &Limits) -> tonic::transport::Server {
    tonic::transport::Server::builder()
        .http2_keepalive_interval(Some(limits.keepalive_interval))
        .http2_keepalive_timeout(Some(limits.keepalive_timeout))
        .max_concurrent_streams(limits.concurrent_streams)
        .http2_max_header_list_size(limits.header_bytes)
}
