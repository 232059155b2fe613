//! The files of the web page: inside the binary, or in development builds in their folder.
//!
//! A build without them works, and serves a page that says how to get them.

use axum::extract::Request;
use axum::response::{IntoResponse as _, Response};
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use rust_embed::{EmbeddedFile, RustEmbed};
use sha2::{Digest as _, Sha256};

use crate::error::Error;
use crate::guard::INTERFACES;

#[derive(RustEmbed)]
#[folder = "../../clients/web/dist"]
#[allow_missing = true]
struct Files;

/// The page that paths of the page's own views show.
const INDEX: &str = "index.html";
/// Folder of files with a hash of their content in their name.
const HASHED: &str = "assets/";
/// Encodings of files beside the originals, the smallest first.
const ENCODINGS: [(&str, &str); 2] = [("br", ".br"), ("gzip", ".gz")];

/// Policy of the page: scripts are files of the page, and nothing is loaded from elsewhere. Styles may also be in elements,
/// because popups are positioned so.
const PAGE_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; \
    img-src 'self' blob: data:; font-src 'self'; media-src 'self' blob:; connect-src 'self'; worker-src 'self' blob:; \
    manifest-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// Shown if the page was not built.
const MISSING_PAGE: &str = include_str!("missing_page.html");

/// Serves the file that a path names, or else the page, whose scripts know its views.
pub(crate) async fn serve(request: Request) -> Response {
    let path = request.uri().path().to_owned();
    let is_interface = INTERFACES.iter().any(|prefix| path.starts_with(prefix));
    let reads = matches!(*request.method(), Method::GET | Method::HEAD);
    if is_interface || !reads {
        return Error::RouteNotFound { path }.into_response();
    }
    let headers = request.headers();
    let name = path.trim_start_matches('/');
    if !name.is_empty()
        && let Some(response) = file(name, headers)
    {
        return response;
    }
    if !accepts_html(headers) && !name.is_empty() {
        return Error::RouteNotFound { path }.into_response();
    }
    file(INDEX, headers).unwrap_or_else(missing_page)
}

fn accepts_html(headers: &HeaderMap) -> bool {
    let accept = headers
        .get(header::ACCEPT)
        .and_then(|value| value.to_str().ok());
    accept.is_some_and(|accept| accept.contains("text/html"))
}

fn missing_page() -> Response {
    let html = HeaderValue::from_static("text/html; charset=utf-8");
    let policy = HeaderValue::from_static("default-src 'none'; style-src 'unsafe-inline'");
    let headers = [
        (header::CONTENT_TYPE, html),
        (header::CONTENT_SECURITY_POLICY, policy),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
    ];
    (StatusCode::OK, headers, MISSING_PAGE).into_response()
}

/// Returns the response with a file, in an encoding that the browser accepts.
fn file(name: &str, headers: &HeaderMap) -> Option<Response> {
    let original = Files::get(name)?;
    let (encoding, file) =
        encoded(name, headers).map_or((None, original), |(encoding, file)| (Some(encoding), file));
    let tag = entity_tag(&file);
    let mut response = match headers.get(header::IF_NONE_MATCH) {
        Some(known) if *known == tag => StatusCode::NOT_MODIFIED.into_response(),
        _ => file.data.into_owned().into_response(),
    };
    let cache = match name.starts_with(HASHED) {
        true => "public, max-age=31536000, immutable",
        false => "no-cache",
    };
    let mut set = |name: HeaderName, value: &'static str| {
        response
            .headers_mut()
            .insert(name, HeaderValue::from_static(value));
    };
    set(header::CONTENT_TYPE, media_type(name));
    set(header::CACHE_CONTROL, cache);
    set(header::VARY, "accept-encoding");
    if let Some(encoding) = encoding {
        set(header::CONTENT_ENCODING, encoding);
    }
    if name.ends_with(".html") {
        set(header::CONTENT_SECURITY_POLICY, PAGE_POLICY);
    }
    response.headers_mut().insert(header::ETAG, tag);
    Some(response)
}

fn encoded(name: &str, headers: &HeaderMap) -> Option<(&'static str, EmbeddedFile)> {
    let accepted = headers.get(header::ACCEPT_ENCODING)?.to_str().ok()?;
    let accepts = |encoding: &str| accepted.split(',').any(|one| one.trim() == encoding);
    let mut known = ENCODINGS
        .into_iter()
        .filter(|(encoding, _)| accepts(encoding));
    known.find_map(|(encoding, suffix)| Some((encoding, Files::get(&format!("{name}{suffix}"))?)))
}

/// The encodings of a file have tags of their own.
fn entity_tag(file: &EmbeddedFile) -> HeaderValue {
    let hash = Sha256::digest(&file.data);
    let hex: String = hash
        .iter()
        .take(16)
        .map(|byte| format!("{byte:02x}"))
        .collect();
    HeaderValue::try_from(format!("\"{hex}\"")).expect("hexadecimal digits may be in a header")
}

fn media_type(name: &str) -> &'static str {
    let extension = name.rsplit('.').next().unwrap_or_default();
    match extension {
        "html" => "text/html; charset=utf-8",
        "js" | "mjs" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "json" | "map" => "application/json",
        "webmanifest" => "application/manifest+json",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "webp" => "image/webp",
        "jpg" | "jpeg" => "image/jpeg",
        "ico" => "image/x-icon",
        "woff2" => "font/woff2",
        "wasm" => "application/wasm",
        "txt" => "text/plain; charset=utf-8",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use axum::body::to_bytes;

    use super::*;

    /// The response alone: the files of this build are not chosen by a test.
    #[tokio::test]
    async fn a_build_without_the_page_says_how_to_get_it() {
        let response = missing_page();
        assert_eq!(response.status(), StatusCode::OK);
        let policy = &response.headers()[header::CONTENT_SECURITY_POLICY];
        assert!(policy.to_str().unwrap().starts_with("default-src 'none'"));
        let body = to_bytes(response.into_body(), 1 << 20).await.unwrap();
        let text = String::from_utf8(body.to_vec()).unwrap();
        for words in [
            "tools/setup page",
            "does not contain the web page",
            "此构建不含网页",
        ] {
            assert!(text.contains(words), "{text}");
        }
        assert!(!text.contains("<script"), "{text}");
    }
}
