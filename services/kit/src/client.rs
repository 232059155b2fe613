//! Channels to other services: lazily connected, kept alive, with the caller's deadline and one clear error.
//!
//! A [`Channel`] is what a generated client takes. It hands the deadline of the call being served on to the calls made
//! for it, bounds streams as well as heads, and refuses a message that the other side would refuse. It does not retry.

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use http::{HeaderValue, Request, Response, header};
use motorium_proto::error::{ErrorReport, reason};
use tonic::body::Body;
use tonic::transport::{Certificate, ClientTlsConfig, Endpoint, Identity};
use tonic::{Code, Status};
use tower::{Service, ServiceExt as _};

use crate::config::Secret;
use crate::deadline::{Deadline, cut, header as timeout, passed};
use crate::error_info::{self, deadline_exceeded};
use crate::limits::Limits;

mod guard;

/// How to reach a service, as meant.
#[derive(Debug, Clone)]
pub struct Config {
    /// `http://host:port`, or `https://host:port` for TLS.
    pub uri: String,
    /// PEM of the authority that signed the server's certificate. TLS needs it.
    pub ca: Option<String>,
    /// PEM of our own certificate and key, where the server asks for them.
    pub identity: Option<(String, Secret)>,
    /// Sent as `authorization: Bearer …`.
    pub token: Option<Secret>,
    /// What bounds the connection and its messages.
    pub limits: Limits,
    /// How long a call may take that has no deadline of its own or of its caller.
    pub default_timeout: Option<Duration>,
}

impl Config {
    /// The service at `uri`, without TLS or token.
    pub fn new(uri: impl Into<String>) -> Self {
        Self {
            uri: uri.into(),
            ca: None,
            identity: None,
            token: None,
            limits: Limits::default(),
            default_timeout: None,
        }
    }
}

/// Why a channel cannot be made. That the other side cannot be reached shows only when it is called.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The address cannot be understood.
    #[error("`{uri}` is not an address of a service, such as http://127.0.0.1:7411: {problem}")]
    Uri {
        /// As it was given.
        uri: String,
        /// What is wrong with it.
        problem: String,
    },
    /// The certificates cannot be used.
    #[error("the TLS settings for {uri} cannot be used: {problem}")]
    Tls {
        /// The service in question.
        uri: String,
        /// What is wrong.
        problem: String,
    },
    /// The token cannot be sent.
    #[error("the token for {uri} has characters that a header cannot carry")]
    Token {
        /// The service in question.
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
    authorization: Option<HeaderValue>,
    message_bytes: usize,
    default_timeout: Option<Duration>,
}

impl Channel {
    /// A channel that connects when it is first called, and again whenever the connection is lost.
    ///
    /// # Errors
    /// If the address, the certificates or the token cannot be used.
    pub fn connect_lazy(config: &Config) -> Result<Self, Error> {
        let inner = endpoint(config)?.connect_lazy();
        let authorization = config
            .token
            .as_ref()
            .map(|token| bearer(token, &config.uri))
            .transpose()?;
        let shared = Shared {
            uri: config.uri.clone(),
            authorization,
            message_bytes: config.limits.message_bytes,
            default_timeout: config.default_timeout,
        };
        Ok(Self {
            inner,
            shared: Arc::new(shared),
        })
    }
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
                "it begins with neither http:// nor https://".to_owned(),
            ));
        }
    };
    let limits = &config.limits;
    let endpoint = endpoint
        .connect_timeout(limits.connect_timeout)
        .http2_keep_alive_interval(limits.keepalive_interval)
        .keep_alive_timeout(limits.keepalive_timeout)
        .keep_alive_while_idle(true)
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

fn bearer(token: &Secret, uri: &str) -> Result<HeaderValue, Error> {
    let mut value =
        HeaderValue::from_str(&format!("Bearer {}", token.expose())).map_err(|_| Error::Token {
            uri: uri.to_owned(),
        })?;
    value.set_sensitive(true);
    Ok(value)
}

impl Service<Request<Body>> for Channel {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        // The call itself waits for the connection, so that the wait counts towards its deadline.
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let deadline = deadline_of(&request, self.shared.default_timeout);
        let channel = self.clone();
        Box::pin(async move { Ok(channel.bounded(request, deadline).await) })
    }
}

/// The earliest of what the call itself asks for and what its caller's deadline leaves.
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
        if let Some(authorization) = &self.shared.authorization {
            request
                .headers_mut()
                .insert(header::AUTHORIZATION, authorization.clone());
        }
        let moment = Box::pin(async move {
            passed(deadline).await;
            deadline_exceeded(&method)
        });
        cut(self.send(request), None, moment).await
    }

    async fn send(self, request: Request<Body>) -> Response<Body> {
        let limit = self.shared.message_bytes;
        let (guarded, mut refused) = guard::request(request, limit);
        let answer = self.inner.oneshot(guarded);
        tokio::select! {
            biased;
            Ok(report) = &mut refused => error_info::response(report),
            answer = answer => match answer {
                Ok(response) => guard::response(response, self.shared),
                Err(error) => error_info::response(unreachable(error, &self.shared.uri)),
            },
        }
    }
}

/// The call was lost on the way; the transport says why.
fn unreachable(error: tonic::transport::Error, uri: &str) -> ErrorReport {
    let cause = crate::chain(&error);
    lost(Status::from_error(Box::new(error)).code(), &cause, uri)
}

/// The call, or the rest of its answer, was lost on the way.
fn lost(code: Code, cause: &str, uri: &str) -> ErrorReport {
    // What the transport cannot name is a connection that broke, and what it calls cancelled was not cancelled by us
    // but reset on the way. Both are worth another try.
    let code = match code {
        Code::Unknown | Code::Cancelled => Code::Unavailable,
        code => code,
    };
    let text = format!("calling {uri}: {cause}; is the service running there?");
    ErrorReport::new(code, reason::TRANSPORT, text).with("endpoint", uri)
}
