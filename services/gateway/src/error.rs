//! Errors of the gateway, and their form over HTTP: a status code and JSON with a reason and words.
//!
//! Errors of services pass through with their own reasons.

use axum::response::{IntoResponse, Response};
use http::{HeaderValue, StatusCode, header};
use motorium_proto::error::{ErrorReport, FieldError, reason as common};
use serde_json::{Value, json};
use tonic::{Code, Status};

/// Reasons of the gateway, each with a page in `docs/errors/`.
pub mod reason {
    /// The request has neither the cookie of a browser that is logged in nor a token.
    pub const LOGIN_REQUIRED: &str = "LOGIN_REQUIRED";
    /// The login code is unknown, used or expired.
    pub const LOGIN_CODE_INVALID: &str = "LOGIN_CODE_INVALID";
    /// The request names a host that is not this gateway.
    pub const HOST_DENIED: &str = "HOST_DENIED";
    /// A page of another origin made the request.
    pub const ORIGIN_DENIED: &str = "ORIGIN_DENIED";
    /// The caller makes requests too fast.
    pub const RATE_LIMITED: &str = "RATE_LIMITED";
    /// The caller has too many streams open.
    pub const STREAM_LIMIT: &str = "STREAM_LIMIT";
    /// The body of the request is too large.
    pub const BODY_TOO_LARGE: &str = "BODY_TOO_LARGE";
    /// There is nothing at this path.
    pub const ROUTE_NOT_FOUND: &str = "ROUTE_NOT_FOUND";
    /// There is no desktop with this name that the caller may see.
    pub const DESKTOP_NOT_FOUND: &str = "DESKTOP_NOT_FOUND";
    /// The session of MCP has ended, or is another caller's.
    pub const MCP_SESSION_NOT_FOUND: &str = "MCP_SESSION_NOT_FOUND";

    /// Every reason of the gateway.
    pub const ALL: [&str; 10] = [
        LOGIN_REQUIRED,
        LOGIN_CODE_INVALID,
        HOST_DENIED,
        ORIGIN_DENIED,
        RATE_LIMITED,
        STREAM_LIMIT,
        BODY_TOO_LARGE,
        ROUTE_NOT_FOUND,
        DESKTOP_NOT_FOUND,
        MCP_SESSION_NOT_FOUND,
    ];
}

/// An error of a request.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error(
        "log in first: `motorium page` prints a link; programs send `authorization: Bearer TOKEN`"
    )]
    LoginRequired,
    #[error(
        "the token is wrong; send the token of the Orchestrator, or log in: `motorium page` prints a link"
    )]
    TokenRejected,
    #[error("the login code was used before, or has expired; `motorium page` prints a new link")]
    LoginCodeInvalid,
    #[error(
        "this gateway is not `{host}`; open the page with a link of `motorium page`, use http://127.0.0.1 in programs, or set \
         gateway.public_url if a proxy stands in front"
    )]
    HostDenied { host: String },
    #[error(
        "browsers log in at the host of the login link, as it was printed; `motorium page` prints a new link"
    )]
    LoginHost,
    #[error("pages of {origin} may not make this request; open the page of the gateway itself")]
    OriginDenied { origin: String },
    #[error("too many requests; wait a moment and try again")]
    RateLimited,
    #[error("{limit} streams of this caller are open already; close one first")]
    StreamLimit { limit: usize },
    #[error("the body is too large: the maximum is {limit} bytes")]
    BodyTooLarge { limit: usize },
    #[error("there is nothing at {path}; docs/gateway.md lists the paths")]
    RouteNotFound { path: String },
    #[error("this session of MCP has ended; initialize a new one")]
    McpSessionNotFound,
    #[error("there are several desktops; name one of them: {names}")]
    DesktopUnclear { names: String },
    #[error("there is no desktop `{name}`; ListDesktops lists the existing ones")]
    DesktopNotFound { name: String },
    #[error(transparent)]
    Field(#[from] FieldError),
    #[error(transparent)]
    Service(#[from] ErrorReport),
}

impl From<Status> for Error {
    fn from(status: Status) -> Self {
        Self::Service(ErrorReport::from_status(&status))
    }
}

impl Error {
    /// Creates an error for a field of a request.
    pub(crate) fn field(field: &str, problem: &str) -> Self {
        Self::Field(FieldError::new(field, problem))
    }

    /// Returns the code, the reason and the message of the error.
    pub(crate) fn report(self) -> ErrorReport {
        let text = self.to_string();
        let new = |code, reason: &str| ErrorReport::new(code, reason, text.as_str());
        match self {
            Self::LoginRequired => new(Code::Unauthenticated, reason::LOGIN_REQUIRED),
            Self::TokenRejected => new(Code::Unauthenticated, common::UNAUTHENTICATED),
            Self::LoginCodeInvalid => new(Code::Unauthenticated, reason::LOGIN_CODE_INVALID),
            Self::HostDenied { host } => {
                new(Code::PermissionDenied, reason::HOST_DENIED).with("host", host)
            }
            Self::LoginHost => new(Code::PermissionDenied, reason::HOST_DENIED),
            Self::OriginDenied { origin } => {
                new(Code::PermissionDenied, reason::ORIGIN_DENIED).with("origin", origin)
            }
            Self::RateLimited => new(Code::ResourceExhausted, reason::RATE_LIMITED),
            Self::StreamLimit { limit } => {
                new(Code::ResourceExhausted, reason::STREAM_LIMIT).with("limit", limit)
            }
            Self::BodyTooLarge { limit } => {
                new(Code::ResourceExhausted, reason::BODY_TOO_LARGE).with("limit", limit)
            }
            Self::RouteNotFound { path } => {
                new(Code::NotFound, reason::ROUTE_NOT_FOUND).with("path", path)
            }
            Self::DesktopNotFound { name } => {
                new(Code::NotFound, reason::DESKTOP_NOT_FOUND).with("desktop", name)
            }
            Self::McpSessionNotFound => new(Code::NotFound, reason::MCP_SESSION_NOT_FOUND),
            Self::DesktopUnclear { .. } => ErrorReport::invalid(FieldError::new("desktop", text)),
            Self::Field(error) => ErrorReport::invalid(error),
            Self::Service(report) => report,
        }
    }
}

impl IntoResponse for Error {
    fn into_response(self) -> Response {
        let report = self.report();
        let body = axum::Json(error_body(&report));
        let mut response = (http_status(&report), body).into_response();
        let no_store = HeaderValue::from_static("no-store");
        response
            .headers_mut()
            .insert(header::CACHE_CONTROL, no_store);
        response
    }
}

/// Returns the JSON of an error, over HTTP and WebSockets.
pub(crate) fn error_body(report: &ErrorReport) -> Value {
    json!({"error": {
        "code": report.code as i32, "reason": report.reason, "message": report.message,
    }})
}

/// Returns the HTTP status code of an error, as google.rpc.Code documents it.
fn http_status(report: &ErrorReport) -> StatusCode {
    if [reason::BODY_TOO_LARGE, common::MESSAGE_TOO_LARGE].contains(&report.reason.as_str()) {
        return StatusCode::PAYLOAD_TOO_LARGE;
    }
    match report.code {
        Code::Ok => StatusCode::OK,
        Code::InvalidArgument | Code::FailedPrecondition | Code::OutOfRange => {
            StatusCode::BAD_REQUEST
        }
        Code::Unauthenticated => StatusCode::UNAUTHORIZED,
        Code::PermissionDenied => StatusCode::FORBIDDEN,
        Code::NotFound => StatusCode::NOT_FOUND,
        Code::AlreadyExists | Code::Aborted => StatusCode::CONFLICT,
        Code::ResourceExhausted => StatusCode::TOO_MANY_REQUESTS,
        Code::Unimplemented => StatusCode::NOT_IMPLEMENTED,
        Code::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
        Code::DeadlineExceeded => StatusCode::GATEWAY_TIMEOUT,
        Code::Cancelled | Code::Unknown | Code::Internal | Code::DataLoss => {
            StatusCode::INTERNAL_SERVER_ERROR
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn each_reason_has_a_page() {
        let pages = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/errors");
        for reason in reason::ALL {
            let page = pages.join(format!("{reason}.md"));
            let text = std::fs::read_to_string(&page).unwrap_or_default();
            let title = format!("# {reason}\n");
            assert!(text.starts_with(&title), "{}", page.display());
        }
    }

    #[test]
    fn errors_have_fitting_status_codes() {
        let check = |error: Error, status: u16| {
            let text = error.to_string();
            assert_eq!(error.into_response().status().as_u16(), status, "{text}");
        };
        check(Error::LoginRequired, 401);
        check(Error::LoginCodeInvalid, 401);
        let host = "evil.example".to_owned();
        check(Error::HostDenied { host: host.clone() }, 403);
        check(
            Error::OriginDenied {
                origin: host.clone(),
            },
            403,
        );
        check(Error::RateLimited, 429);
        check(Error::BodyTooLarge { limit: 1 }, 413);
        check(Error::RouteNotFound { path: host }, 404);
        check(Error::field("text", "is missing"), 400);
        check(Error::from(Status::unavailable("")), 503);
    }
}
