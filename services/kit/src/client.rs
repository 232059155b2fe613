//! Channels to other services: lazily connected, kept alive, with deadline propagation and uniform errors.
//!
//! Generated clients accept a [`Channel`]. It propagates the deadline of the current call, enforces it on streams as well
//! as heads, and rejects messages that the other side would reject. It does not retry.

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use http::{Request, Response, header};
use hyper_util::rt::TokioIo;
use motorium_proto::error::{ErrorReport, reason};
use tonic::body::Body;
use tonic::transport::{Certificate, ClientTlsConfig, Endpoint, Identity};
use tonic::{Code, Status};
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::health_client::HealthClient;
use tower::{Service, ServiceExt as _, service_fn};

use crate::address::ServiceAddress;
use crate::deadline::{Deadline, header as timeout, wait_for_deadline, with_cutoff};
use crate::error_info::{self, deadline_exceeded};
use crate::limits::Limits;
use crate::loopback_token::LoopbackToken;
use crate::secret::Secret;
use crate::server::MemoryConnector;

mod audiences;
mod authorization;
mod own_server;
mod size_limit;

pub use audiences::Audiences;
use authorization::Authorization;

/// Interval of the TCP probes on an idle connection.
const TCP_PROBE_INTERVAL: Duration = Duration::from_secs(10);
/// Number of unanswered TCP probes after which a connection counts as lost.
// With the idle time before them, a lost connection is noticed within about a minute. The system's own defaults take
// more than ten.
const TCP_PROBES: u32 = 3;

/// The code UNAUTHENTICATED as the header `grpc-status` has it.
const UNAUTHENTICATED_CODE: &[u8] = b"16";

/// Resolved configuration of a channel.
#[derive(Debug, Clone)]
pub struct Config {
    /// Address: `http://host:port`, or `https://host:port` for TLS.
    pub uri: String,
    /// Certificate authority of the server, as PEM. Required for TLS.
    pub ca: Option<String>,
    /// Client certificate and private key, as PEM, for servers that require them.
    pub identity: Option<(String, Secret)>,
    /// Token, sent as `authorization: Bearer …`.
    pub token: Option<Secret>,
    /// Token of the user, sent in place of a missing `token` to servers of this user on this machine.
    pub loopback_token: Option<LoopbackToken>,
    /// Calls carry the token of the user in another way, so that a server on this machine must be one of this user.
    pub own_server: bool,
    /// Servers that may receive the token, beside those that the operator configured. `None` for a token that belongs to the
    /// server at `uri` alone.
    pub audiences: Option<Audiences>,
    /// Limits of the connection and its messages.
    pub limits: Limits,
    /// Timeout for calls that have neither a deadline of their own nor one of their caller.
    pub default_timeout: Option<Duration>,
}

impl Config {
    /// Creates a configuration for the service at `uri`, without TLS or token.
    pub fn new(uri: impl Into<String>) -> Self {
        Self {
            uri: uri.into(),
            ca: None,
            identity: None,
            token: None,
            loopback_token: None,
            own_server: false,
            audiences: None,
            limits: Limits::default(),
            default_timeout: None,
        }
    }

    /// Creates a configuration for a server that a user provides, which may not accept frequent pings.
    pub fn foreign(uri: impl Into<String>) -> Self {
        Self {
            limits: Limits::of_foreign_server(),
            ..Self::new(uri)
        }
    }

    /// Returns the configuration for an address from a request instead of the operator's settings. It has a token only if the
    /// audiences include the address.
    #[must_use]
    pub fn for_address_of_others(&self, uri: &str) -> Self {
        let address = ServiceAddress::parse(uri);
        let is_audience = self
            .audiences
            .as_ref()
            .zip(address.as_ref())
            .is_some_and(|(audiences, address)| audiences.include(address));
        Self {
            uri: uri.to_owned(),
            token: self.token.clone().filter(|_| is_audience),
            loopback_token: self.loopback_token.clone().filter(|_| is_audience),
            ..self.clone()
        }
    }

    /// Returns an error if a shared token would be sent over a network without encryption.
    fn check_encryption(&self) -> Result<(), Error> {
        let (Some(_), Some(audiences)) = (&self.token, &self.audiences) else {
            return Ok(());
        };
        let is_safe = |address: &ServiceAddress| {
            address.is_encrypted() || address.is_loopback() || audiences.permit_plaintext(address)
        };
        let address = ServiceAddress::parse(&self.uri);
        if address.as_ref().is_some_and(is_safe) {
            return Ok(());
        }
        Err(Error::Unencrypted {
            uri: self.uri.clone(),
        })
    }
}

/// An error while creating a channel. An unreachable server is only detected when it is called.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The address is malformed.
    #[error("`{uri}` is not an address of a service such as http://127.0.0.1:7411: {problem}")]
    Uri {
        /// Address as it was given.
        uri: String,
        /// Problem with the address.
        problem: String,
    },
    /// The certificates are unusable.
    #[error("unusable TLS settings for {uri}: {problem}")]
    Tls {
        /// Address of the service.
        uri: String,
        /// Problem with the certificates.
        problem: String,
    },
    /// The token would be sent over a network without encryption.
    #[error(
        "the token is not sent to {uri} without encryption; use https://, or add {uri} to client.audiences if the network \
         is trusted"
    )]
    Unencrypted {
        /// Address of the service.
        uri: String,
    },
    /// The token is not a valid header value.
    #[error("the token for {uri} has characters that are not allowed in a header")]
    Token {
        /// Address of the service.
        uri: String,
    },
}

/// A channel to one service. Clones share the connection.
#[derive(Debug, Clone)]
pub struct Channel {
    inner: tonic::transport::Channel,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    uri: String,
    authorization: Authorization,
    message_bytes: usize,
    default_timeout: Option<Duration>,
}

impl Channel {
    /// Creates a channel that connects on its first call, and reconnects after the connection is lost.
    ///
    /// # Errors
    /// If the address, the certificates or the token are unusable, or a shared token would be sent unencrypted over a network.
    pub fn connect_lazy(config: &Config) -> Result<Self, Error> {
        let endpoint = endpoint(config)?;
        config.check_encryption()?;
        let authorization = Authorization::new(config)?;
        let inner = match authorization.own_server(config) {
            Some(own) => endpoint.connect_with_connector_lazy(own.connector()),
            None => endpoint.connect_lazy(),
        };
        Ok(Self::over(inner, authorization, config))
    }

    /// Creates a channel to a server of this process.
    ///
    /// # Errors
    /// If the token is unusable. The address only names the server in messages.
    pub fn in_memory(connector: MemoryConnector, config: &Config) -> Result<Self, Error> {
        let authorization = Authorization::new(config)?;
        let connect = service_fn(move |_: http::Uri| {
            let connector = connector.clone();
            async move { connector.connect().await.map(TokioIo::new) }
        });
        let inner = endpoint(config)?.connect_with_connector_lazy(connect);
        Ok(Self::over(inner, authorization, config))
    }

    fn over(
        inner: tonic::transport::Channel,
        authorization: Authorization,
        config: &Config,
    ) -> Self {
        let shared = Shared {
            uri: config.uri.clone(),
            authorization,
            message_bytes: config.limits.message_bytes,
            default_timeout: config.default_timeout,
        };
        Self {
            inner,
            shared: Arc::new(shared),
        }
    }
}

/// Asks the server whether it serves: all of its services (`""`), one of them by its full name, or
/// [`LIVENESS`](crate::server::LIVENESS).
///
/// # Errors
/// The status of the call: `NOT_FOUND` for an unknown name, `UNAVAILABLE` if the server cannot be reached.
pub async fn is_serving(channel: Channel, service: &str) -> Result<bool, Status> {
    let request = HealthCheckRequest {
        service: service.to_owned(),
    };
    let answer = HealthClient::new(channel).check(request).await?;
    Ok(answer.into_inner().status() == ServingStatus::Serving)
}

fn endpoint(config: &Config) -> Result<Endpoint, Error> {
    let unusable = |problem: String| Error::Uri {
        uri: config.uri.clone(),
        problem,
    };
    let endpoint = Endpoint::from_shared(config.uri.clone())
        .map_err(|error| unusable(crate::chain(&error)))?;
    let tls = match endpoint.uri().scheme_str() {
        Some("http") => None,
        Some("https") => Some(client_tls(config)),
        _ => {
            return Err(unusable(
                "it must start with http:// or https://".to_owned(),
            ));
        }
    };
    let limits = &config.limits;
    let endpoint = endpoint
        .connect_timeout(limits.connect_timeout)
        .http2_keep_alive_interval(limits.keepalive_interval)
        .keep_alive_timeout(limits.keepalive_timeout)
        .keep_alive_while_idle(limits.keepalive_while_idle)
        // Finds out about a lost host where pings are rare, without a word to the server.
        .tcp_keepalive(Some(motorium_proto::limits::KEEPALIVE_INTERVAL))
        .tcp_keepalive_interval(Some(TCP_PROBE_INTERVAL))
        .tcp_keepalive_retries(Some(TCP_PROBES))
        .http2_max_header_list_size(limits.header_bytes)
        .tcp_nodelay(true);
    match tls {
        Some(tls) => endpoint.tls_config(tls).map_err(|error| Error::Tls {
            uri: config.uri.clone(),
            problem: crate::chain(&error),
        }),
        None => Ok(endpoint),
    }
}

fn client_tls(config: &Config) -> ClientTlsConfig {
    let mut tls = ClientTlsConfig::new();
    if let Some(authority) = &config.ca {
        tls = tls.ca_certificate(Certificate::from_pem(authority));
    }
    if let Some((certificate, key)) = &config.identity {
        tls = tls.identity(Identity::from_pem(certificate, key.expose()));
    }
    tls
}

impl Service<Request<Body>> for Channel {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        // Always ready: the call itself waits for the connection, so that the wait counts towards its deadline.
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let deadline = deadline_of(&request, self.shared.default_timeout);
        let channel = self.clone();
        Box::pin(async move { Ok(channel.bounded(request, deadline).await) })
    }
}

/// Returns the earlier of the call's own deadline and the one left by its caller.
fn deadline_of(request: &Request<Body>, default: Option<Duration>) -> Option<Deadline> {
    let own = timeout::parse(request.headers()).map(Deadline::after);
    let callers = request
        .extensions()
        .get::<Deadline>()
        .copied()
        .or_else(Deadline::current);
    let inherited = callers.map(Deadline::for_nested_call);
    own.into_iter()
        .chain(inherited)
        .min()
        .or_else(|| default.map(Deadline::after))
}

impl Channel {
    async fn bounded(
        self,
        mut request: Request<Body>,
        deadline: Option<Deadline>,
    ) -> Response<Body> {
        let method = request.uri().path().to_owned();
        if let Some(deadline) = deadline {
            let left = deadline.remaining();
            if left.is_zero() {
                return error_info::response(deadline_exceeded(&method));
            }
            request
                .headers_mut()
                .insert(timeout::NAME, timeout::format(left));
        }
        match self.shared.authorization.header().await {
            Ok(Some(value)) => {
                request.headers_mut().insert(header::AUTHORIZATION, value);
            }
            Ok(None) => {}
            Err(report) => return error_info::response(report),
        }
        let cutoff = Box::pin(async move {
            wait_for_deadline(deadline).await;
            deadline_exceeded(&method)
        });
        let shared = Arc::clone(&self.shared);
        let response = with_cutoff(self.send(request), None, cutoff).await;
        if is_unauthenticated(&response) {
            shared.authorization.forget();
        }
        response
    }

    async fn send(self, request: Request<Body>) -> Response<Body> {
        let limit = self.shared.message_bytes;
        let (guarded, mut refused) = size_limit::request(request, limit);
        let answer = self.inner.oneshot(guarded);
        tokio::select! {
            biased;
            Ok(report) = &mut refused => error_info::response(report),
            answer = answer => match answer {
                Ok(response) => size_limit::response(response, self.shared),
                Err(error) => error_info::response(unreachable(error, &self.shared.uri)),
            },
        }
    }
}

/// Returns true if the server has refused the call without a message, because it does not know the caller.
fn is_unauthenticated(response: &Response<Body>) -> bool {
    let status = response.headers().get("grpc-status");
    status.is_some_and(|code| code.as_bytes() == UNAUTHENTICATED_CODE)
}

/// Creates the report for a call that the transport failed to send.
fn unreachable(error: tonic::transport::Error, uri: &str) -> ErrorReport {
    if let Some(refusal) = own_server::refusal(&error) {
        return authorization::refused(refusal);
    }
    let cause = crate::chain(&error);
    connection_lost(Status::from_error(Box::new(error)).code(), &cause, uri)
}

/// Creates the report for a call whose connection was lost before or during the response.
fn connection_lost(code: Code, cause: &str, uri: &str) -> ErrorReport {
    // UNKNOWN from the transport is a broken connection, and CANCELLED is a reset by a peer or proxy (this side did not
    // cancel). Both may succeed when retried.
    let code = match code {
        Code::Unknown | Code::Cancelled => Code::Unavailable,
        code => code,
    };
    let text = format!("calling {uri}: {cause}; is the service running there?");
    ErrorReport::new(code, reason::TRANSPORT, text)
        .with("endpoint", uri)
        .with("cause", cause)
}
