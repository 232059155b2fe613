//! Identifies the caller of a request, by the cookie of a session or by a token. Login and logout.
//!
//! It decides nothing about what a caller may do.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use axum::extract::{Extension, Query, Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use motorium_kit::config::Secret;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::caller::{Caller, random_secret};
use crate::config::Surroundings;
use crate::error::Error;
use crate::json::JsonBody;
use crate::login::{CODE_LIFETIME, LoginCodes};
use crate::quota::Quotas;
use crate::sessions::{LIFETIME, Session, Sessions, replace_private_file};
use crate::time::rfc3339;
use crate::upstream::Upstream;

/// Name of the file with the token of a gateway whose services demand none.
const TOKEN_FILE: &str = "token";

/// Sessions, login codes and tokens.
#[derive(Debug)]
pub(crate) struct Access {
    sessions: Sessions,
    codes: LoginCodes,
    local: LocalToken,
    upstream: Arc<Upstream>,
    quotas: Arc<Quotas>,
    cookie_name: String,
    is_encrypted: bool,
    base_url: String,
}

/// Addresses of the gateway, which the cookie and the links depend on.
#[derive(Debug)]
pub(crate) struct GatewayUrl {
    /// URL for browsers, without a slash at its end.
    pub(crate) base: String,
    pub(crate) port: u16,
    pub(crate) is_encrypted: bool,
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
    pub(crate) fn open(surroundings: &Surroundings) -> io::Result<Self> {
        if surroundings.services_demand_token {
            return Ok(Self::OfServices(surroundings.token.clone()));
        }
        let folder = &surroundings.folder;
        if let Some(token) = read_own_token(folder)? {
            return Ok(Self::Own(token));
        }
        let token = random_secret();
        replace_private_file(folder, TOKEN_FILE, token.expose().as_bytes())?;
        Ok(Self::Own(token))
    }
}

/// Returns the token of a gateway whose services demand none.
pub(crate) fn read_own_token(folder: &Path) -> io::Result<Option<Secret>> {
    match std::fs::read_to_string(folder.join(TOKEN_FILE)) {
        Ok(text) => Ok(Some(Secret::new(text.trim())).filter(|token| !token.expose().is_empty())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

impl Access {
    pub(crate) fn new(
        sessions: Sessions,
        local: LocalToken,
        upstream: Arc<Upstream>,
        quotas: Arc<Quotas>,
        url: GatewayUrl,
    ) -> Self {
        Self {
            sessions,
            codes: LoginCodes::default(),
            local,
            upstream,
            quotas,
            // Cookies do not depend on the port: two gateways of one machine would end each other's sessions.
            cookie_name: format!("motorium_session_{}", url.port),
            is_encrypted: url.is_encrypted,
            base_url: url.base,
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

    fn login_link(&self, caller: Caller) -> String {
        let code = self.codes.create(caller);
        format!("{}/login?code={}", self.base_url, code.expose())
    }

    /// Identifies the caller of a request.
    pub(crate) async fn authenticate(&self, headers: &HeaderMap) -> Result<Caller, Error> {
        if let Some(token) = bearer(headers) {
            return self.check_token(token).await;
        }
        self.session(headers).map(|session| session.caller)
    }

    fn session(&self, headers: &HeaderMap) -> Result<Session, Error> {
        let secret = self.cookie(headers).ok_or(Error::SessionRequired)?;
        self.sessions.find(secret).ok_or(Error::SessionRequired)
    }

    async fn check_token(&self, token: &str) -> Result<Caller, Error> {
        match &self.local {
            LocalToken::Own(own) if own.matches(token) => Ok(Caller::new(None)),
            LocalToken::OfServices(Some(own)) if own.matches(token) => {
                Ok(Caller::new(Some(own.clone())))
            }
            LocalToken::Own(_) => {
                self.quotas.count_login()?;
                Err(Error::TokenRejected)
            }
            LocalToken::OfServices(_) => {
                let caller = Caller::new(Some(Secret::new(token)));
                if !self.upstream.is_known(&caller) {
                    self.quotas.count_login()?;
                }
                self.upstream.check_token(&caller).await?;
                Ok(caller)
            }
        }
    }

    fn cookie<'a>(&self, headers: &'a HeaderMap) -> Option<&'a str> {
        let values = headers.get_all(header::COOKIE).into_iter();
        let mut pairs = values
            .filter_map(|value| value.to_str().ok())
            .flat_map(|value| value.split(';'))
            .filter_map(|pair| pair.trim().split_once('='));
        pairs
            .find(|(name, _)| *name == self.cookie_name)
            .map(|(_, value)| value)
    }

    fn log_in(&self, code: &str) -> Result<HeaderValue, Error> {
        self.quotas.count_login()?;
        let caller = self.codes.redeem(code).ok_or(Error::LoginCodeInvalid)?;
        let secret = self.sessions.create(&caller);
        Ok(self.set_cookie(secret.expose(), LIFETIME.as_secs()))
    }

    /// Returns the header that sets the cookie. Scripts cannot read it, and pages of other sites cannot use it.
    fn set_cookie(&self, value: &str, max_age: u64) -> HeaderValue {
        let secure = if self.is_encrypted { "; Secure" } else { "" };
        let name = &self.cookie_name;
        let text =
            format!("{name}={value}; Path=/; HttpOnly; SameSite=Strict; Max-Age={max_age}{secure}");
        HeaderValue::try_from(text).expect("a secret consists of characters of a header")
    }
}

/// Returns the token of an `authorization` header.
fn bearer(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = value.split_once(' ')?;
    let is_bearer = scheme.eq_ignore_ascii_case("bearer");
    is_bearer.then_some(token.trim())
}

/// Middleware: identifies the caller, counts the request, and refuses requests without a caller.
pub(crate) async fn require_caller(
    State(access): State<Arc<Access>>,
    mut request: Request,
    next: Next,
) -> Response {
    let caller = match access.authenticate(request.headers()).await {
        Ok(caller) => caller,
        Err(error) => return refuse(error, request.headers()),
    };
    if let Err(error) = access.quotas.count_request(caller.identity()) {
        return refuse(error, request.headers());
    }
    request.extensions_mut().insert(caller);
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

/// A login code.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct LoginRequest {
    /// Code of a login link.
    code: String,
}

/// Parameters of a login link.
#[derive(Debug, Deserialize)]
pub(crate) struct LoginQuery {
    #[serde(default)]
    code: String,
}

/// `GET /login?code=…`: turns a link into a session and shows the page.
pub(crate) async fn follow_link(
    State(access): State<Arc<Access>>,
    method: Method,
    headers: HeaderMap,
    Query(query): Query<LoginQuery>,
) -> Response {
    // Programs that preview links, and browsers that load pages ahead, would use the code up.
    if method == Method::HEAD || headers.contains_key("sec-purpose") {
        return StatusCode::METHOD_NOT_ALLOWED.into_response();
    }
    let (target, cookie) = match access.log_in(&query.code) {
        Ok(cookie) => ("/", Some(cookie)),
        Err(Error::LoginCodeInvalid) => ("/?login=expired", None),
        Err(error) => return error.into_response(),
    };
    let location = HeaderValue::from_static(target);
    let mut response = (StatusCode::SEE_OTHER, [(header::LOCATION, location)]).into_response();
    let headers = response.headers_mut();
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.extend(cookie.map(|cookie| (header::SET_COOKIE, cookie)));
    response
}

/// Logs in with a code.
#[utoipa::path(post, path = "/api/login", request_body = LoginRequest, responses(
    (status = 204, description = "The cookie of the session is set"),
    (status = 401, description = "LOGIN_CODE_INVALID"),
))]
pub(crate) async fn log_in(
    State(access): State<Arc<Access>>,
    JsonBody(request): JsonBody<LoginRequest>,
) -> Result<Response, Error> {
    let cookie = access.log_in(request.code.trim())?;
    Ok((StatusCode::NO_CONTENT, [(header::SET_COOKIE, cookie)]).into_response())
}

/// A login link.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct LoginLink {
    /// Link to open in a browser. It works once.
    url: String,
    /// Time at which it expires, RFC 3339.
    expire_time: String,
}

/// Creates a login link for the caller.
#[utoipa::path(post, path = "/api/login-links", responses(
    (status = 200, body = LoginLink),
    (status = 401, description = "SESSION_REQUIRED"),
))]
pub(crate) async fn create_link(
    State(access): State<Arc<Access>>,
    Extension(caller): Extension<Caller>,
) -> axum::Json<LoginLink> {
    axum::Json(LoginLink {
        url: access.login_link(caller),
        expire_time: rfc3339(SystemTime::now() + CODE_LIFETIME),
    })
}

/// The session of the caller.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct SessionInfo {
    /// Version of the server.
    version: String,
    /// Time at which the session ends unless it is used, RFC 3339. Absent for callers with a token.
    #[serde(skip_serializing_if = "Option::is_none")]
    expire_time: Option<String>,
}

/// Describes the session of the caller, and prolongs its cookie.
#[utoipa::path(get, path = "/api/session", responses(
    (status = 200, body = SessionInfo),
    (status = 401, description = "SESSION_REQUIRED"),
))]
pub(crate) async fn describe_session(
    State(access): State<Arc<Access>>,
    headers: HeaderMap,
) -> Response {
    let session = access.session(&headers).ok();
    let info = SessionInfo {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        expire_time: session.map(|session| rfc3339(session.expires)),
    };
    let cookie = access
        .cookie(&headers)
        .filter(|_| info.expire_time.is_some())
        .map(|secret| access.set_cookie(secret, LIFETIME.as_secs()));
    let mut response = axum::Json(info).into_response();
    let cookie = cookie.map(|cookie| (header::SET_COOKIE, cookie));
    response.headers_mut().extend(cookie);
    response
}

/// Ends the session of the caller.
#[utoipa::path(post, path = "/api/logout", responses((status = 204, description = "The session has ended")))]
pub(crate) async fn log_out(State(access): State<Arc<Access>>, headers: HeaderMap) -> Response {
    if let Some(secret) = access.cookie(&headers) {
        access.sessions.end(secret);
    }
    let cookie = access.set_cookie("", 0);
    (StatusCode::NO_CONTENT, [(header::SET_COOKIE, cookie)]).into_response()
}
