//! Tokens in the `authorization` header, with the scheme `Bearer` of RFC 6750.
//!
//! It does not judge tokens: [`server`](crate::server) does.

use http::{HeaderMap, HeaderValue, header};

use crate::secret::Secret;

/// Returns the token of a request. The scheme is case-insensitive.
#[must_use]
pub fn token(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = value.split_once(' ')?;
    scheme
        .eq_ignore_ascii_case("bearer")
        .then_some(token.trim())
}

/// Returns the header with a token, which libraries do not log. `None` if the token has characters that no header may have.
#[must_use]
pub fn header(token: &Secret) -> Option<HeaderValue> {
    let mut value = HeaderValue::from_str(&format!("Bearer {}", token.expose())).ok()?;
    value.set_sensitive(true);
    Some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_read_as_it_was_written() {
        let check = |value: &str, expected: Option<&str>| {
            let headers: HeaderMap =
                [(header::AUTHORIZATION, HeaderValue::from_str(value).unwrap())]
                    .into_iter()
                    .collect();
            assert_eq!(token(&headers), expected, "{value}");
        };
        check("Bearer abc", Some("abc"));
        check("bearer  abc ", Some("abc"));
        check("Basic abc", None);
        check("abc", None);
        assert_eq!(token(&HeaderMap::new()), None);
        let written = header(&Secret::new("abc")).unwrap();
        assert!(written.is_sensitive());
        check(written.to_str().unwrap(), Some("abc"));
        assert_eq!(header(&Secret::new("a\nb")), None);
    }
}
