//! Classifies a provider's failure: whether it is temporary, how long to wait, and the message for the user. Pure.
//!
//! The rules are the union of those in Anthropic's and OpenAI's own clients. Nothing is retried here.

use std::time::{Duration, SystemTime};

use http::{HeaderMap, StatusCode};
use serde_json::Value;

/// A failed request to a provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderFailure {
    /// Message for the user, without secrets.
    pub message: String,
    pub kind: FailureKind,
    /// The provider's own error, if it responded.
    pub rejected: Option<RejectedRequest>,
}

/// Retryability of a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailureKind {
    /// Temporary; with the wait that the provider asks for.
    Transient { retry_after: Option<Duration> },
    /// No response within the time limit of the request.
    TimedOut { limit: Duration },
    /// The request will not succeed.
    Permanent,
}

/// A request that the provider rejected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RejectedRequest {
    pub status: u16,
    /// Type, code and message of its error, as far as given.
    pub words: String,
    /// Body of its response: JSON, or a text; null if there is none.
    pub body: Value,
}

impl ProviderFailure {
    /// A temporary failure below HTTP: no connection, or one that broke.
    #[must_use]
    pub fn transient(message: String) -> Self {
        Self {
            message,
            kind: FailureKind::Transient { retry_after: None },
            rejected: None,
        }
    }

    /// A request without a response within its time limit.
    #[must_use]
    pub fn timed_out(limit: Duration) -> Self {
        Self {
            message: format!("did not respond within {} ms", limit.as_millis()),
            kind: FailureKind::TimedOut { limit },
            rejected: None,
        }
    }

    /// A permanent failure: a request that cannot be sent.
    #[must_use]
    pub fn permanent(message: String) -> Self {
        Self {
            message,
            kind: FailureKind::Permanent,
            rejected: None,
        }
    }

    /// Classifies a response other than a success.
    #[must_use]
    pub fn of(status: StatusCode, headers: &HeaderMap, body: &[u8], now: SystemTime) -> Self {
        Self::with(status, headers, body, now)
    }

    /// Classifies an error that a provider, or a gateway before it, sends with the status of a success.
    #[must_use]
    pub fn in_success(headers: &HeaderMap, body: &[u8], now: SystemTime) -> Self {
        Self::with(ProviderError::of(body).status(), headers, body, now)
    }

    fn with(status: StatusCode, headers: &HeaderMap, body: &[u8], now: SystemTime) -> Self {
        let error = ProviderError::of(body);
        let is_quota_exhausted = error.is_quota_exhausted(status, headers);
        let may_pass = should_retry(headers).unwrap_or(is_transient(status) && !is_quota_exhausted);
        let kind = if may_pass {
            FailureKind::Transient {
                retry_after: retry_after(headers, now),
            }
        } else {
            FailureKind::Permanent
        };
        let words = error.words();
        let wait = match kind {
            FailureKind::Transient {
                retry_after: Some(wait),
            } => format!(
                "; the provider asks to retry after {} s",
                wait.as_secs_f64().ceil()
            ),
            _ => String::new(),
        };
        let sentence = if is_quota_exhausted {
            "the spending limit of the account is reached"
        } else {
            sentence(status)
        };
        Self {
            message: format!("{sentence} ({}){wait}", details(status, headers, &words)),
            kind,
            rejected: Some(RejectedRequest {
                status: status.as_u16(),
                words,
                body: body_as_sent(body),
            }),
        }
    }
}

/// Returns the body of a response for the record of the task.
fn body_as_sent(body: &[u8]) -> Value {
    serde_json::from_slice(body).unwrap_or_else(|_| match String::from_utf8_lossy(body) {
        text if text.trim().is_empty() => Value::Null,
        text => Value::String(text.into_owned()),
    })
}

/// The error in a provider's body, in any of the known formats.
#[derive(Debug, Default)]
struct ProviderError {
    kind: String,
    code: String,
    message: String,
}

/// Codes of an exhausted quota, as opposed to a rate limit.
const QUOTA_EXHAUSTED_CODES: [&str; 5] = [
    "insufficient_quota",
    "credit_balance_exhausted",
    "project_spend_limit_exceeded",
    "organization_spend_limit_exceeded",
    "organization_usage_limit_exceeded",
];

/// Maximum length of a provider's message that is recorded, in characters: far longer than any that a provider writes, and
/// short enough for a message of ours. Who shows it may shorten it.
const MAX_MESSAGE_CHARS: usize = 4000;

/// Returns whether the body of a successful response is an error: it has one, and nothing that a model could have
/// returned.
pub(super) fn is_error(body: &Value) -> bool {
    let has = |key: &str| !body[key].is_null();
    let has_answer = body["choices"][0]["message"].is_object()
        || body["content"].is_array()
        || body["output"]
            .as_array()
            .is_some_and(|items| !items.is_empty());
    let is_named = has("error") || body["type"] == "error" || body["status"] == "failed";
    let in_choice = body["choices"][0]["error"].is_object();
    in_choice || is_named && !has_answer
}

/// Words in a type or code with which providers name temporary failures, and the status that they usually send with it.
const TRANSIENT_WORDS: [(&str, u16); 9] = [
    ("rate_limit", 429),
    ("too_many_requests", 429),
    ("overloaded", 529),
    ("timeout", 504),
    ("unavailable", 503),
    ("server_error", 500),
    ("internal", 500),
    ("api_error", 500),
    ("upstream", 502),
];

impl ProviderError {
    fn of(body: &[u8]) -> Self {
        let Ok(body) = serde_json::from_slice::<Value>(body) else {
            return Self::default();
        };
        // Some versions of vLLM have the fields at the top level, and some gateways have them in the choice.
        let places = [&body["error"], &body["choices"][0]["error"]];
        let error = places.into_iter().find(|error| error.is_object());
        let error = error.unwrap_or(&body);
        let text = |value: &Value| match value {
            Value::String(text) => text.clone(),
            Value::Number(number) => number.to_string(),
            _ => String::new(),
        };
        Self {
            kind: text(&error["type"]),
            code: text(&error["code"]),
            message: match &body["error"] {
                Value::String(message) => message.clone(),
                _ => text(&error["message"]),
            },
        }
    }

    /// Returns the status of an error that was sent without one: its code if that is a status, or what its words mean.
    fn status(&self) -> StatusCode {
        let code = self.code.parse().ok();
        let code = code.and_then(|code: u16| StatusCode::from_u16(code).ok());
        if let Some(code) = code.filter(|code| code.is_client_error() || code.is_server_error()) {
            return code;
        }
        let names = format!("{} {}", self.kind, self.code).to_lowercase();
        let known = TRANSIENT_WORDS
            .iter()
            .find(|(word, _)| names.contains(word));
        // Without a name that promises otherwise, the same request fails again.
        let status = known.map_or(400, |(_, status)| *status);
        StatusCode::from_u16(status).unwrap_or(StatusCode::BAD_REQUEST)
    }

    /// Returns whether a spending limit is reached, so that waiting does not help.
    fn is_quota_exhausted(&self, status: StatusCode, headers: &HeaderMap) -> bool {
        if status != StatusCode::TOO_MANY_REQUESTS {
            return false;
        }
        if QUOTA_EXHAUSTED_CODES.contains(&self.code.as_str())
            || QUOTA_EXHAUSTED_CODES.contains(&self.kind.as_str())
        {
            return true;
        }
        let message = self.message.to_lowercase();
        // Without a code, the message decides. A rate limit states when to retry; a spending limit does not.
        let names_a_limit = ["spend", "usage limit", "credit"]
            .iter()
            .any(|word| message.contains(word));
        names_a_limit && !headers.contains_key(http::header::RETRY_AFTER)
    }

    fn words(&self) -> String {
        let known = [&self.kind, &self.code, &self.message];
        let mut words: Vec<&str> = known
            .into_iter()
            .map(String::as_str)
            .filter(|text| !text.is_empty())
            .collect();
        words.dedup();
        let words = words.join(": ");
        match words.char_indices().nth(MAX_MESSAGE_CHARS) {
            Some((end, _)) => format!("{}…", &words[..end]),
            None => words,
        }
    }
}

fn is_transient(status: StatusCode) -> bool {
    // Retried by Anthropic's or OpenAI's own client. 520 to 524 are Cloudflare's, which many providers are behind: the
    // origin is down, or does not answer in time. 529 is Anthropic's status for an overload.
    matches!(
        status.as_u16(),
        408 | 409 | 429 | 500 | 502 | 503 | 504 | 520..=524 | 529
    )
}

/// Returns the provider's own hint on retries.
fn should_retry(headers: &HeaderMap) -> Option<bool> {
    match headers.get("x-should-retry")?.as_bytes() {
        b"true" => Some(true),
        b"false" => Some(false),
        _ => None,
    }
}

/// Returns the wait that the provider asks for: in milliseconds, in seconds, or until a date.
fn retry_after(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let text = |name: &str| headers.get(name)?.to_str().ok();
    let seconds = |text: &str, unit: f64| {
        let number: f64 = text.trim().parse().ok()?;
        Duration::try_from_secs_f64(number * unit).ok()
    };
    if let Some(wait) = text("retry-after-ms").and_then(|text| seconds(text, 0.001)) {
        return Some(wait);
    }
    let text = text("retry-after")?;
    seconds(text, 1.0).or_else(|| {
        let date = httpdate::parse_http_date(text.trim()).ok()?;
        Some(date.duration_since(now).unwrap_or_default())
    })
}

fn sentence(status: StatusCode) -> &'static str {
    match status.as_u16() {
        300..=399 => {
            "the provider redirects the request, and redirects are not followed; correct its base_url"
        }
        401 => "the provider does not accept the key",
        402 => "the provider requires payment",
        403 => "the key is not allowed to do this",
        404 => "the provider has no such model or URL",
        407 => "the proxy requires a name and a password",
        413 => "the request is too large for the provider",
        429 => "the rate limit of the provider is reached",
        503 | 529 => "the provider is overloaded",
        400..=499 => "the provider does not accept the request",
        500..=599 => "the provider failed",
        _ => "the provider returned an unexpected status",
    }
}

fn details(status: StatusCode, headers: &HeaderMap, words: &str) -> String {
    let id = ["request-id", "x-request-id"]
        .iter()
        .find_map(|name| headers.get(*name)?.to_str().ok());
    let status = format!("HTTP {}", status.as_u16());
    let words = (!words.is_empty()).then(|| words.to_owned());
    let id = id.map(|id| format!("request {id}"));
    [Some(status), words, id]
        .into_iter()
        .flatten()
        .collect::<Vec<_>>()
        .join("; ")
}

#[cfg(test)]
mod tests {
    use http::{HeaderName, HeaderValue};

    use super::*;

    const NOW: SystemTime = SystemTime::UNIX_EPOCH;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        let pair = |(name, value): &(&'static str, &str)| {
            (
                HeaderName::from_static(name),
                HeaderValue::from_str(value).unwrap(),
            )
        };
        pairs.iter().map(pair).collect()
    }

    #[track_caller]
    fn check(status: u16, pairs: &[(&'static str, &str)], body: &str, expected: FailureKind) {
        let status = StatusCode::from_u16(status).unwrap();
        let failure = ProviderFailure::of(status, &headers(pairs), body.as_bytes(), NOW);
        assert_eq!(failure.kind, expected, "{status} {pairs:?} {body}");
    }

    fn passes(seconds: impl Into<Option<f64>>) -> FailureKind {
        FailureKind::Transient {
            retry_after: seconds.into().map(Duration::from_secs_f64),
        }
    }

    #[test]
    fn http_statuses_are_transient_or_permanent() {
        for status in [
            408, 409, 429, 500, 502, 503, 504, 520, 521, 522, 523, 524, 529,
        ] {
            check(status, &[], "", passes(None));
        }
        for status in [300, 400, 401, 402, 403, 404, 413, 422, 501] {
            check(status, &[], "", FailureKind::Permanent);
        }
    }

    #[test]
    fn should_retry_header_overrides_the_status() {
        check(400, &[("x-should-retry", "true")], "", passes(None));
        check(
            503,
            &[("x-should-retry", "false")],
            "",
            FailureKind::Permanent,
        );
        check(503, &[("x-should-retry", "perhaps")], "", passes(None));
    }

    #[test]
    fn the_time_to_wait_is_read_in_every_form() {
        check(429, &[("retry-after", "7")], "", passes(7.0));
        check(429, &[("retry-after", "1.5")], "", passes(1.5));
        check(
            429,
            &[("retry-after-ms", "250"), ("retry-after", "7")],
            "",
            passes(0.25),
        );
        check(
            429,
            &[("retry-after", "Thu, 01 Jan 1970 00:01:00 GMT")],
            "",
            passes(60.0),
        );
        check(
            429,
            &[("retry-after", "Thu, 01 Jan 1970 00:00:00 GMT")],
            "",
            passes(0.0),
        );
        for nonsense in ["soon", "-3", "NaN", "1e400"] {
            check(429, &[("retry-after", nonsense)], "", passes(None));
        }
    }

    #[test]
    fn a_spent_budget_is_not_waited_for() {
        for code in QUOTA_EXHAUSTED_CODES {
            let in_code = format!(r#"{{"error":{{"code":"{code}"}}}}"#);
            check(429, &[], &in_code, FailureKind::Permanent);
            let in_type = format!(r#"{{"error":{{"type":"{code}"}}}}"#);
            check(
                429,
                &[("retry-after", "5")],
                &in_type,
                FailureKind::Permanent,
            );
        }
        let anthropic = r#"{"type":"error","error":{"type":"rate_limit_error","message":"This would exceed your monthly spend limit"}}"#;
        check(429, &[], anthropic, FailureKind::Permanent);
        check(429, &[("retry-after", "5")], anthropic, passes(5.0));
        let too_fast = r#"{"error":{"type":"rate_limit_error","message":"Number of requests has exceeded your rate limit"}}"#;
        check(429, &[], too_fast, passes(None));
    }

    #[test]
    fn failure_message_is_a_sentence_with_details() {
        let body = r#"{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"}}"#;
        let failure = ProviderFailure::of(
            StatusCode::UNAUTHORIZED,
            &headers(&[("request-id", "req_1")]),
            body.as_bytes(),
            NOW,
        );
        assert_eq!(
            failure.message,
            "the provider does not accept the key (HTTP 401; authentication_error: invalid x-api-key; request req_1)"
        );
        let plain = ProviderFailure::of(
            StatusCode::PAYLOAD_TOO_LARGE,
            &HeaderMap::new(),
            b"<html>",
            NOW,
        );
        assert_eq!(
            plain.message,
            "the request is too large for the provider (HTTP 413)"
        );
    }

    #[track_caller]
    fn check_in_success(body: &str, expected: FailureKind, words: &str) {
        assert!(is_error(&serde_json::from_str(body).unwrap()), "{body}");
        let failure = ProviderFailure::in_success(&HeaderMap::new(), body.as_bytes(), NOW);
        assert_eq!(failure.kind, expected, "{body}");
        assert!(failure.message.contains(words), "{}", failure.message);
    }

    #[test]
    fn error_body_with_a_success_status_is_recognised() {
        check_in_success(
            r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#,
            passes(None),
            "overloaded_error: Overloaded",
        );
        check_in_success(
            r#"{"error":{"code":502,"message":"Upstream is down"}}"#,
            passes(None),
            "Upstream is down",
        );
        check_in_success(
            r#"{"choices":[{"error":{"code":429,"message":"slow down"},"finish_reason":"error","message":{"content":""}}]}"#,
            passes(None),
            "slow down",
        );
        check_in_success(
            r#"{"status":"failed","output":[],"error":{"code":"server_error","message":"try again"}}"#,
            passes(None),
            "try again",
        );
        check_in_success(
            r#"{"status":"failed","output":[],"error":{"code":"invalid_prompt","message":"not that"}}"#,
            FailureKind::Permanent,
            "not that",
        );
        for answer in [
            r#"{"error":null,"output":[{"type":"message"}]}"#,
            r#"{"content":[],"stop_reason":"end_turn"}"#,
            r#"{"choices":[{"message":{"content":"{}"}}],"error":{}}"#,
            "[]",
            "{}",
        ] {
            assert!(
                !is_error(&serde_json::from_str(answer).unwrap()),
                "{answer}"
            );
        }
    }

    #[test]
    fn a_long_message_is_cut() {
        let body = format!(r#"{{"error":"{}"}}"#, "ä".repeat(10_000));
        let failure = ProviderFailure::of(
            StatusCode::BAD_REQUEST,
            &HeaderMap::new(),
            body.as_bytes(),
            NOW,
        );
        assert!(failure.message.chars().count() < MAX_MESSAGE_CHARS + 100);
    }
}
