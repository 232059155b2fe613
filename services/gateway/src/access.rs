//! Identifies the caller of a request, by the cookie of a session or by a token, for as long as the request is served.
//!
//! It decides nothing about what a caller may do.

use std::io;
use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use futures::FutureExt as _;
use futures::future::BoxFuture;
use http::{Extensions, HeaderMap, HeaderValue, StatusCode, header};
use motorium_kit::bearer;
use motorium_kit::config::Secret;
use motorium_kit::private_file;
use motorium_kit::server::{RefusalObserver, RefusedCall};
use tokio::time::{MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;

use crate::address::PageAddress;
use crate::browser_sessions::{BrowserSession, BrowserSessions, LIFETIME};
use crate::caller::{Caller, random_secret};
use crate::config::LocalAccess;
use crate::error::Error;
use crate::guard::Entrance;
use crate::login::LoginCodes;
use crate::peer;
use crate::quota::Quotas;
use crate::upstream::Upstream;

/// Name of the file with the token of a gateway whose services demand none.
const TOKEN_FILE: &str = "token";
/// Interval at which the caller of a stream is checked again, because its token may have been revoked.
const CHECK_INTERVAL: Duration = Duration::from_secs(15);

/// Names under which refusals are recorded: of a request, whose path is any text of the caller's choice, and of a login.
const REQUEST: &str = "Request";
const LOGIN: &str = "Login";

/// Sessions, login codes and tokens.
#[derive(Debug)]
pub(crate) struct Access {
    sessions: BrowserSessions,
    codes: LoginCodes,
    local: LocalToken,
    upstream: Arc<Upstream>,
    quotas: Arc<Quotas>,
    cookie_name: String,
    page: PageAddress,
    refusals: Option<Arc<dyn RefusalObserver>>,
}

/// The token of programs on this machine.
#[derive(Debug)]
pub(crate) enum LocalToken {
    /// The services demand a token and check it. `None` if only callers with names have one.
    OfServices(Option<Secret>),
    /// The services demand none, so the gateway has one of its own: pages and other users must not use it all the same.
    Own(Secret),
}

impl LocalToken {
    /// Returns the token of the services, or that of the gateway in `folder` if they demand none. It is created if there is none.
    pub(crate) fn open(access: LocalAccess, folder: &Path) -> io::Result<Self> {
        if let LocalAccess::OfServices(token) = access {
            return Ok(Self::OfServices(token));
        }
        if let Some(token) = read_own_token(folder)? {
            return Ok(Self::Own(token));
        }
        let token = random_secret();
        private_file::create_folder(folder)?;
        private_file::replace(&folder.join(TOKEN_FILE), token.expose().as_bytes())?;
        Ok(Self::Own(token))
    }
}

/// Returns the token of a gateway whose services demand none.
pub(crate) fn read_own_token(folder: &Path) -> io::Result<Option<Secret>> {
    let token = private_file::read_text(&folder.join(TOKEN_FILE))?;
    Ok(token.filter(|token| !token.is_empty()).map(Secret::new))
}

/// Proof of identity that a request carries.
#[derive(Debug, Clone)]
enum Credentials {
    Token(Secret),
    /// Secret of a session.
    Session(Secret),
}

/// An identified caller, for as long as it may be served.
#[derive(Debug, Clone)]
pub(crate) struct Admission {
    access: Arc<Access>,
    credentials: Credentials,
    peer: IpAddr,
    /// Cancelled when the session of the caller ends.
    ended: CancellationToken,
}

impl Admission {
    /// Waits until the caller may no longer be served, and returns the reason: the session ended, which is noticed at once, or
    /// the token is no longer accepted.
    pub(crate) fn revoked(&self) -> BoxFuture<'static, Error> {
        let admission = self.clone();
        async move {
            let mut checks = interval(CHECK_INTERVAL);
            checks.set_missed_tick_behavior(MissedTickBehavior::Delay);
            checks.reset();
            loop {
                tokio::select! {
                    () = admission.ended.cancelled() => return Error::LoginRequired,
                    _ = checks.tick() => {}
                }
                // Other errors pass; the stream itself tells of a service that does not answer.
                if let Err(error @ (Error::LoginRequired | Error::TokenRejected)) =
                    admission.check().await
                {
                    return error;
                }
            }
        }
        .boxed()
    }

    async fn check(&self) -> Result<(), Error> {
        let access = &self.access;
        let (caller, _) = access.identify(&self.credentials, self.peer).await?;
        match access.local {
            LocalToken::OfServices(_) => access.upstream.check_token(&caller).await,
            LocalToken::Own(_) => Ok(()),
        }
    }
}

impl Access {
    pub(crate) fn new(
        sessions: BrowserSessions,
        local: LocalToken,
        upstream: Arc<Upstream>,
        quotas: Arc<Quotas>,
        page: PageAddress,
        refusals: Option<Arc<dyn RefusalObserver>>,
    ) -> Self {
        Self {
            sessions,
            codes: LoginCodes::default(),
            local,
            upstream,
            quotas,
            // Cookies do not depend on the port: two gateways of one host would end each other's sessions.
            cookie_name: format!("motorium_session_{}", page.port),
            page,
            refusals,
        }
    }

    /// Tells that a caller is not known. What a service has refused, it has recorded.
    fn record_refusal(&self, method: &str, error: &Error) {
        let own = match error {
            Error::LoginRequired => Error::LoginRequired,
            Error::LoginCodeInvalid => Error::LoginCodeInvalid,
            Error::TokenRejected if matches!(self.local, LocalToken::Own(_)) => {
                Error::TokenRejected
            }
            _ => return,
        };
        if let Some(refusals) = &self.refusals {
            refusals.refused(RefusedCall {
                method: Some(method.to_owned()),
                caller: None,
                reason: own.report().reason,
            });
        }
    }

    /// Creates a login link for the caller that programs on this machine are. `None` if the services know only callers with names.
    pub(crate) fn local_login_link(&self) -> Option<String> {
        let token = match &self.local {
            LocalToken::OfServices(token) => Some(token.clone()?),
            LocalToken::Own(_) => None,
        };
        Some(self.login_link(Caller::new(token)))
    }

    /// Creates a login link for a caller.
    pub(crate) fn login_link(&self, caller: Caller) -> String {
        let code = self.codes.create(caller);
        format!("{}/login?code={}", self.page.url, code.expose())
    }

    /// Identifies the caller of a request.
    async fn admit(
        self: &Arc<Self>,
        extensions: &Extensions,
        headers: &HeaderMap,
    ) -> Result<(Caller, Admission), Error> {
        let credentials = self.credentials(extensions, headers)?;
        let peer = self.peer(extensions, headers);
        let (caller, ended) = self.identify(&credentials, peer).await?;
        let admission = Admission {
            access: Arc::clone(self),
            credentials,
            peer,
            ended,
        };
        Ok((caller, admission))
    }

    fn credentials(
        &self,
        extensions: &Extensions,
        headers: &HeaderMap,
    ) -> Result<Credentials, Error> {
        if let Some(token) = bearer::token(headers) {
            return Ok(Credentials::Token(Secret::new(token)));
        }
        let cookie = self.cookie(extensions, headers);
        let cookie = cookie.map(|secret| Credentials::Session(Secret::new(secret)));
        cookie.ok_or(Error::LoginRequired)
    }

    async fn identify(
        &self,
        credentials: &Credentials,
        peer: IpAddr,
    ) -> Result<(Caller, CancellationToken), Error> {
        match credentials {
            Credentials::Token(token) => {
                let caller = self.check_token(token, peer).await?;
                Ok((caller, CancellationToken::new()))
            }
            Credentials::Session(secret) => {
                let session = self.sessions.find(secret.expose());
                let session = session.ok_or(Error::LoginRequired)?;
                Ok((session.caller, session.ended))
            }
        }
    }

    async fn check_token(&self, token: &Secret, peer: IpAddr) -> Result<Caller, Error> {
        match &self.local {
            LocalToken::Own(own) if own.matches(token.expose()) => Ok(Caller::new(None)),
            LocalToken::OfServices(Some(own)) if own.matches(token.expose()) => {
                Ok(Caller::new(Some(own.clone())))
            }
            LocalToken::Own(_) => {
                self.quotas.count_login(peer)?;
                Err(Error::TokenRejected)
            }
            LocalToken::OfServices(_) => {
                let caller = Caller::new(Some(token.clone()));
                if !self.upstream.is_known(&caller) {
                    self.quotas.count_login(peer)?;
                }
                self.upstream.check_token(&caller).await?;
                Ok(caller)
            }
        }
    }

    /// Returns the peer of a request.
    pub(crate) fn peer(&self, extensions: &Extensions, headers: &HeaderMap) -> IpAddr {
        peer::of(extensions, headers, self.page.is_proxied)
    }

    /// Returns the secret of the session that a request carries. Only requests to the host of the page have one: another
    /// server of this machine could have taken it from requests to `127.0.0.1`.
    pub(crate) fn cookie<'a>(
        &self,
        extensions: &Extensions,
        headers: &'a HeaderMap,
    ) -> Option<&'a str> {
        if extensions.get() != Some(&Entrance::Page) {
            return None;
        }
        let values = headers.get_all(header::COOKIE).into_iter();
        let mut pairs = values
            .filter_map(|value| value.to_str().ok())
            .flat_map(|value| value.split(';'))
            .filter_map(|pair| pair.trim().split_once('='));
        pairs
            .find(|(name, _)| *name == self.cookie_name)
            .map(|(_, value)| value)
    }

    /// Returns the session with this secret.
    pub(crate) fn session(&self, secret: &str) -> Option<BrowserSession> {
        self.sessions.find(secret)
    }

    /// Ends the session with this secret, and everything that it has open.
    pub(crate) fn end_session(&self, secret: &str) {
        self.sessions.end(secret);
    }

    /// Uses a login code. Returns the header that sets the cookie of the new session.
    pub(crate) fn log_in(&self, code: &str, peer: IpAddr) -> Result<HeaderValue, Error> {
        let Some(caller) = self.codes.redeem(code) else {
            // Only failures count: a code cannot be guessed, and a right one works however many others fail.
            self.record_refusal(LOGIN, &Error::LoginCodeInvalid);
            self.quotas.count_login(peer)?;
            return Err(Error::LoginCodeInvalid);
        };
        let secret = self.sessions.create(&caller);
        Ok(self.set_cookie(secret.expose(), LIFETIME.as_secs()))
    }

    /// Returns the header that sets the cookie. Scripts cannot read it, and pages of other sites cannot use it.
    pub(crate) fn set_cookie(&self, value: &str, max_age: u64) -> HeaderValue {
        let secure = if self.page.is_encrypted {
            "; Secure"
        } else {
            ""
        };
        let name = &self.cookie_name;
        let text =
            format!("{name}={value}; Path=/; HttpOnly; SameSite=Strict; Max-Age={max_age}{secure}");
        HeaderValue::try_from(text).expect("a secret consists of characters of a header")
    }
}

/// Middleware: identifies the caller, counts the request, and refuses requests without a caller.
pub(crate) async fn require_caller(
    State(access): State<Arc<Access>>,
    mut request: Request,
    next: Next,
) -> Response {
    let admitted = access.admit(request.extensions(), request.headers()).await;
    let (caller, admission) = match admitted {
        Ok(admitted) => admitted,
        Err(error) => {
            access.record_refusal(REQUEST, &error);
            return refuse(error, request.headers());
        }
    };
    if let Err(error) = access.quotas.count_request(caller.identity()) {
        return refuse(error, request.headers());
    }
    request.extensions_mut().insert(caller);
    request.extensions_mut().insert(admission);
    next.run(request).await
}

/// Returns the error in the form that the client understands: gRPC-Web reads it in headers.
fn refuse(error: Error, headers: &HeaderMap) -> Response {
    let content_type = headers.get(header::CONTENT_TYPE);
    let grpc = content_type.filter(|value| value.as_bytes().starts_with(b"application/grpc"));
    let Some(content_type) = grpc.cloned() else {
        return error.into_response();
    };
    let report = error.report();
    let unauthenticated = report.code == tonic::Code::Unauthenticated;
    let mut response = report
        .into_status()
        .into_http::<axum::body::Body>()
        .into_response();
    if unauthenticated {
        // Clients of gRPC read the status above, everything else this one.
        *response.status_mut() = StatusCode::UNAUTHORIZED;
    }
    response
        .headers_mut()
        .insert(header::CONTENT_TYPE, content_type);
    response
}
