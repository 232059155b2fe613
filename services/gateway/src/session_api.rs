//! Login and logout over HTTP: links, the page that asks before a link of another site is followed, and the session.

use std::sync::Arc;
use std::time::SystemTime;

use axum::extract::{Extension, Query, State};
use axum::response::{IntoResponse as _, Response};
use http::{Extensions, HeaderMap, HeaderValue, Method, StatusCode, header};
use motorium_text::rfc3339;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::access::Access;
use crate::browser_sessions::LIFETIME;
use crate::caller::Caller;
use crate::error::Error;
use crate::guard::Entrance;
use crate::json::JsonBody;
use crate::login::CODE_LIFETIME;
use crate::upstream::Upstream;

/// Asks before a browser is logged in by a link of another site. `CODE` stands for the code.
const CONFIRMATION: &str = include_str!("confirm_login.html");

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
    extensions: Extensions,
    Query(query): Query<LoginQuery>,
) -> Response {
    // Programs that preview links, and browsers that load pages ahead, would use the code up.
    if method == Method::HEAD || headers.contains_key("sec-purpose") {
        return StatusCode::METHOD_NOT_ALLOWED.into_response();
    }
    if let Err(error) = require_page(&extensions) {
        return error.into_response();
    }
    if is_of_another_site(&headers) {
        return confirmation(&query.code);
    }
    let peer = access.peer(&extensions, &headers);
    let (target, cookie) = match access.log_in(&query.code, peer) {
        Ok(cookie) => ("/", Some(cookie)),
        Err(Error::LoginCodeInvalid) => (EXPIRED, None),
        Err(error) => return error.into_response(),
    };
    let mut response = redirect(target);
    let headers = response.headers_mut();
    headers.extend(cookie.map(|cookie| (header::SET_COOKIE, cookie)));
    response
}

/// Path for a browser whose code is of no use.
const EXPIRED: &str = "/?login=expired";

fn redirect(target: &'static str) -> Response {
    let location = HeaderValue::from_static(target);
    let no_store = HeaderValue::from_static("no-store");
    let headers = [
        (header::LOCATION, location),
        (header::CACHE_CONTROL, no_store),
    ];
    (StatusCode::SEE_OTHER, headers).into_response()
}

/// Requires that the browser keeps the cookie for the host of the page.
fn require_page(extensions: &Extensions) -> Result<(), Error> {
    let is_page = extensions.get() == Some(&Entrance::Page);
    is_page.then_some(()).ok_or(Error::LoginHost)
}

/// Returns true if another page sent the browser here. It could be logging its visitor in to a session of its own, to read
/// what is entered there. Links that a terminal or a bookmark opens have no such page.
fn is_of_another_site(headers: &HeaderMap) -> bool {
    let site = headers.get("sec-fetch-site").map(HeaderValue::as_bytes);
    !matches!(site, None | Some(b"none" | b"same-origin"))
}

/// Asks before the code is used. The link in it is one of this gateway, so following it is a decision of the person.
fn confirmation(code: &str) -> Response {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    if code.is_empty() || !code.chars().all(is_plain) {
        return redirect(EXPIRED);
    }
    let headers = [
        (header::CONTENT_TYPE, "text/html; charset=utf-8"),
        (
            header::CONTENT_SECURITY_POLICY,
            "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
        ),
        (header::CACHE_CONTROL, "no-store"),
    ];
    (headers, CONFIRMATION.replace("CODE", code)).into_response()
}

/// Logs in with a code.
#[utoipa::path(post, path = "/api/login", request_body = LoginRequest, responses(
    (status = 204, description = "The cookie of the session is set"),
    (status = 401, description = "LOGIN_CODE_INVALID"),
))]
pub(crate) async fn log_in(
    State(access): State<Arc<Access>>,
    headers: HeaderMap,
    extensions: Extensions,
    JsonBody(request): JsonBody<LoginRequest>,
) -> Result<Response, Error> {
    require_page(&extensions)?;
    let peer = access.peer(&extensions, &headers);
    let cookie = access.log_in(request.code.trim(), peer)?;
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
    (status = 401, description = "LOGIN_REQUIRED"),
))]
pub(crate) async fn create_link(
    State(access): State<Arc<Access>>,
    Extension(caller): Extension<Caller>,
) -> axum::Json<LoginLink> {
    axum::Json(LoginLink {
        url: access.login_link(caller),
        expire_time: rfc3339::format(SystemTime::now() + CODE_LIFETIME),
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
    /// Name of the caller, as tasks name their creators. Absent while the services cannot be asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    /// Roles of the caller.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    roles: Vec<String>,
}

/// Describes the session of the caller, and prolongs its cookie.
#[utoipa::path(get, path = "/api/session", responses(
    (status = 200, body = SessionInfo),
    (status = 401, description = "LOGIN_REQUIRED"),
))]
pub(crate) async fn describe_session(
    State(access): State<Arc<Access>>,
    State(upstream): State<Arc<Upstream>>,
    Extension(caller): Extension<Caller>,
    headers: HeaderMap,
    extensions: Extensions,
) -> Response {
    // The page is told of its session even while the services do not answer.
    let caller = upstream.describe(&caller).await.ok();
    let secret = access.cookie(&extensions, &headers);
    let session = secret.and_then(|secret| access.session(secret));
    let info = SessionInfo {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        expire_time: session.map(|session| rfc3339::format(session.expires)),
        name: caller.as_ref().map(|caller| caller.name.clone()),
        roles: caller.map(|caller| caller.roles).unwrap_or_default(),
    };
    let cookie = secret
        .filter(|_| info.expire_time.is_some())
        .map(|secret| access.set_cookie(secret, LIFETIME.as_secs()));
    let mut response = axum::Json(info).into_response();
    let cookie = cookie.map(|cookie| (header::SET_COOKIE, cookie));
    response.headers_mut().extend(cookie);
    response
}

/// Ends the session of the caller.
#[utoipa::path(post, path = "/api/logout", responses((status = 204, description = "The session has ended")))]
pub(crate) async fn log_out(
    State(access): State<Arc<Access>>,
    headers: HeaderMap,
    extensions: Extensions,
) -> Response {
    if let Some(secret) = access.cookie(&extensions, &headers) {
        access.end_session(secret);
    }
    let cookie = access.set_cookie("", 0);
    (StatusCode::NO_CONTENT, [(header::SET_COOKIE, cookie)]).into_response()
}
