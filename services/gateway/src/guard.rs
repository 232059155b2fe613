//! Checks of every request before anything else happens: its host, its origin, and the headers of the response.
//!
//! It does not identify callers: `access` does. Other pages that a browser shows can make requests to this address. They are
//! refused here, also those that reach it under a name of their own (DNS rebinding).

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use http::uri::Authority;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Version, header};
use http_body::Body as _;

use crate::config::{Config, Origin, is_local_host};
use crate::error::Error;

/// Prefixes of paths that only the gateway's own page and programs use.
pub(crate) const INTERFACES: [&str; 3] = ["/api/", "/motorium.", MCP];
/// Path of the Model Context Protocol, which demands a check of the origin whatever the method.
pub(crate) const MCP: &str = "/mcp";

/// Headers of every response that does not have them already.
static SECURITY_HEADERS: [(HeaderName, &str); 7] = [
    (
        header::CONTENT_SECURITY_POLICY,
        "default-src 'none'; frame-ancestors 'none'",
    ),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (header::REFERRER_POLICY, "no-referrer"),
    (
        HeaderName::from_static("cross-origin-opener-policy"),
        "same-origin",
    ),
    (
        HeaderName::from_static("cross-origin-resource-policy"),
        "same-origin",
    ),
    (
        HeaderName::from_static("permissions-policy"),
        "camera=(), microphone=(), geolocation=()",
    ),
];

/// The name under which a request reached the gateway. Every request that is served has one as an extension.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Entrance {
    /// The host of the page, for which browsers keep the cookie.
    Page,
    /// Another name of this machine, for programs with a token.
    Programs,
}

/// Hosts and origins that requests may name.
#[derive(Debug)]
pub(crate) struct RequestRules {
    public_url: Option<Origin>,
    /// Host name of the page.
    page_host: String,
    /// The address of the listener, unless it is that of every network.
    listener: Option<String>,
    allowed_origins: Vec<HeaderValue>,
}

impl RequestRules {
    pub(crate) fn new(config: &Config, page_host: &str) -> Self {
        let ip = config.listen.ip();
        let listener = (!ip.is_unspecified()).then(|| match ip.is_ipv6() {
            true => format!("[{ip}]"),
            false => ip.to_string(),
        });
        Self {
            public_url: config.public_url.clone(),
            page_host: page_host.to_owned(),
            listener,
            allowed_origins: config.allowed_origins.clone(),
        }
    }

    fn check(&self, request: &Request) -> Result<Entrance, Error> {
        let host = host(request);
        let authority = host.and_then(|host| host.parse::<Authority>().ok());
        let entered = authority.and_then(|authority| Some((self.entrance(&authority)?, authority)));
        let (entrance, authority) = entered.ok_or_else(|| Error::HostDenied {
            host: host.unwrap_or_default().to_owned(),
        })?;
        let headers = request.headers();
        let is_interface = INTERFACES
            .iter()
            .any(|prefix| request.uri().path().starts_with(prefix));
        if is_interface {
            check_fetch_site(headers)?;
        }
        let may_change = !matches!(*request.method(), Method::GET | Method::HEAD);
        let is_mcp = request.uri().path() == MCP;
        if may_change || is_mcp || headers.contains_key(header::UPGRADE) {
            self.check_origin(headers, &authority)?;
        }
        Ok(entrance)
    }

    /// Returns the entrance with this name; `None` for hosts that are not this gateway.
    fn entrance(&self, authority: &Authority) -> Option<Entrance> {
        let host = authority.host();
        let is_allowed = |origin: &HeaderValue| {
            let origin = origin.to_str().ok().and_then(Origin::parse);
            origin.is_some_and(|origin| origin.authority == *authority)
        };
        if host.eq_ignore_ascii_case(&self.page_host) || self.allowed_origins.iter().any(is_allowed)
        {
            return Some(Entrance::Page);
        }
        let is_own = is_local_host(authority) || self.listener.as_deref() == Some(host);
        is_own.then_some(Entrance::Programs)
    }

    /// Requires that a page, if one makes the request, is of this gateway. Programs send no origin.
    fn check_origin(&self, headers: &HeaderMap, authority: &Authority) -> Result<(), Error> {
        let Some(value) = headers.get(header::ORIGIN) else {
            return Ok(());
        };
        let origin = value.to_str().ok().and_then(Origin::parse);
        let is_own = origin.as_ref().is_some_and(|origin| {
            origin.authority == *authority || self.public_url.as_ref() == Some(origin)
        });
        if is_own || self.allowed_origins.contains(value) {
            return Ok(());
        }
        let origin = String::from_utf8_lossy(value.as_bytes()).into_owned();
        Err(Error::OriginDenied { origin })
    }
}

/// Returns the host that a request names.
fn host(request: &Request) -> Option<&str> {
    // HTTP/2 has it in the URI, HTTP/1.1 in a header.
    let of_uri = request.uri().authority().map(Authority::as_str);
    let of_header = || request.headers().get(header::HOST)?.to_str().ok();
    of_uri.or_else(of_header)
}

/// Refuses requests that a browser makes for another page. Pages of other ports of this machine count as of the same site,
/// so their requests have the cookie.
fn check_fetch_site(headers: &HeaderMap) -> Result<(), Error> {
    let site = headers.get("sec-fetch-site").map(HeaderValue::as_bytes);
    if matches!(site, None | Some(b"same-origin" | b"none")) {
        return Ok(());
    }
    let origin = headers.get(header::ORIGIN).map(HeaderValue::as_bytes);
    let origin = String::from_utf8_lossy(origin.unwrap_or(b"another site")).into_owned();
    Err(Error::OriginDenied { origin })
}

/// Middleware: refuses requests for other hosts and of other origins, and adds headers to every response.
pub(crate) async fn check_request(
    State(rules): State<Arc<RequestRules>>,
    mut request: Request,
    next: Next,
) -> Response {
    // In HTTP/2, a request is a stream of its own.
    let may_leave_body = request.version() < Version::HTTP_2 && !request.body().is_end_stream();
    let mut response = match rules.check(&request) {
        Ok(entrance) => {
            request.extensions_mut().insert(entrance);
            next.run(request).await
        }
        Err(error) => error.into_response(),
    };
    // The body may not have been read, and then the connection cannot be used again: its client has to know.
    let is_refused = response.status().is_client_error() || response.status().is_server_error();
    if may_leave_body && is_refused {
        let close = HeaderValue::from_static("close");
        response.headers_mut().insert(header::CONNECTION, close);
    }
    for (name, value) in &SECURITY_HEADERS {
        let headers = response.headers_mut();
        let entry = headers.entry(name);
        entry.or_insert(HeaderValue::from_static(value));
    }
    response
}

#[cfg(test)]
mod tests {
    use axum::body::Body;

    use super::*;
    use crate::config::Settings;

    fn rules(public_url: Option<&str>) -> RequestRules {
        let settings = Settings {
            public_url: public_url.map(str::to_owned),
            allowed_origins: vec!["http://localhost:5173".to_owned()],
            ..Settings::default()
        };
        let page_host = match public_url {
            Some(_) => "motorium.example.com",
            None => "motorium-1a.localhost",
        };
        RequestRules::new(&settings.resolve().unwrap(), page_host)
    }

    fn is_accepted(
        rules: &RequestRules,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
    ) -> bool {
        let builder = headers.iter().fold(
            http::Request::builder().method(method).uri(path),
            |builder, (name, value)| builder.header(*name, *value),
        );
        rules.check(&builder.body(Body::empty()).unwrap()).is_ok()
    }

    #[test]
    fn only_own_hosts_are_served() {
        let own = rules(Some("https://motorium.example.com"));
        let check = |host: &str, expected: bool| {
            let accepted = is_accepted(&own, "GET", "/", &[("host", host)]);
            assert_eq!(accepted, expected, "{host}");
        };
        check("127.0.0.1:7780", true);
        check("localhost:7780", true);
        check("[::1]:7780", true);
        check("motorium.example.com", true);
        check("evil.example", false);
        check("localhost.evil.example", false);
        check("127.0.0.1.evil.example:7780", false);
        check("0.0.0.0:7780", false);
        check("", false);
        assert!(!is_accepted(&own, "GET", "/", &[]));
    }

    #[test]
    fn only_the_host_of_the_page_has_a_cookie() {
        let check = |host: &str, expected: Option<Entrance>| {
            let request = http::Request::builder().header("host", host);
            let request = request.body(Body::empty()).unwrap();
            assert_eq!(rules(None).check(&request).ok(), expected, "{host}");
        };
        check("motorium-1a.localhost:7780", Some(Entrance::Page));
        check("Motorium-1A.localhost:7781", Some(Entrance::Page));
        // An allowed origin is that of a page in development.
        check("localhost:5173", Some(Entrance::Page));
        check("localhost:7780", Some(Entrance::Programs));
        check("127.0.0.1:7780", Some(Entrance::Programs));
        check("[::1]:7780", Some(Entrance::Programs));
        check("motorium-2b.localhost:7780", None);
        check("a.motorium-1a.localhost:7780", None);
        check("motorium-1a.localhost.evil.example:7780", None);
    }

    #[test]
    fn other_pages_cannot_change_anything() {
        let own = rules(None);
        let check = |method: &str, origin: &str, expected: bool| {
            let headers = [("host", "127.0.0.1:7780"), ("origin", origin)];
            let accepted = is_accepted(&own, method, "/api/uploads", &headers);
            assert_eq!(accepted, expected, "{method} {origin}");
        };
        check("POST", "http://127.0.0.1:7780", true);
        check("POST", "http://localhost:5173", true);
        check("GET", "https://evil.example", true);
        for origin in [
            "https://evil.example",
            "null",
            "http://127.0.0.1:3000",
            "http://localhost:7780",
            "file://",
            "x",
        ] {
            check("POST", origin, false);
            check("DELETE", origin, false);
        }
        let foreign = [
            ("host", "127.0.0.1:7780"),
            ("origin", "https://evil.example"),
        ];
        assert!(!is_accepted(&own, "GET", "/mcp", &foreign));
        let upgrade = [
            ("host", "127.0.0.1:7780"),
            ("upgrade", "websocket"),
            ("origin", "https://evil.example"),
        ];
        assert!(!is_accepted(
            &own,
            "GET",
            "/api/desktops/local/live",
            &upgrade
        ));
    }

    #[test]
    fn other_pages_cannot_embed_files() {
        let own = rules(None);
        let check = |site: &str, path: &str, expected: bool| {
            let headers = [("host", "127.0.0.1:7780"), ("sec-fetch-site", site)];
            assert_eq!(
                is_accepted(&own, "GET", path, &headers),
                expected,
                "{site} {path}"
            );
        };
        check("same-origin", "/api/artifacts/tasks/a/artifacts/1", true);
        check("none", "/api/artifacts/tasks/a/artifacts/1", true);
        check("same-site", "/api/artifacts/tasks/a/artifacts/1", false);
        check("cross-site", "/api/artifacts/tasks/a/artifacts/1", false);
        check("cross-site", "/", true);
    }
}
