//! Transport failures. Each test is a row of the failure matrix.

use std::time::Duration;

use tokio::net::{TcpSocket, TcpStream};
use tokio::time::Instant;

use motorium_proto::service::Planner as _;

use super::expected::{Expected, check, error, for_good, for_now, good, judge, repaired, says};
use super::server::{Reply, Server};
use super::{ATTEMPT_TIMEOUT, CONNECT_TIMEOUT, STALL_TIMEOUT, Setup, chat, decision};

#[tokio::test]
async fn status_400() {
    let body = error("invalid_request_error", "max_tokens: required");
    check(
        vec![Reply::of(400, "", body)],
        for_good(
            "PERMANENT",
            "HTTP 400; invalid_request_error: max_tokens: required",
        ),
    )
    .await;
}

#[tokio::test]
async fn status_401() {
    let body = error("authentication_error", "invalid x-api-key");
    check(
        vec![Reply::of(401, "", body)],
        for_good("PERMANENT", "does not accept the key"),
    )
    .await;
}

#[tokio::test]
async fn status_402() {
    let body = error("billing_error", "no credit");
    check(
        vec![Reply::of(402, "", body)],
        for_good("PERMANENT", "requires payment"),
    )
    .await;
}

#[tokio::test]
async fn status_404() {
    let body = error("not_found_error", "model: claude-opus-4-6");
    check(
        vec![Reply::of(404, "", body)],
        for_good("PERMANENT", "has no such model"),
    )
    .await;
}

#[tokio::test]
async fn status_413_without_json() {
    check(
        vec![Reply::of(413, "", "<html>too large</html>")],
        for_good("PERMANENT", "the request is too large"),
    )
    .await;
}

#[tokio::test]
async fn status_429_with_a_time_to_wait() {
    let body = error("rate_limit_error", "slow down");
    check(
        vec![Reply::of(429, "retry-after: 7\r\n", &body), good()],
        Expected {
            requests: 2,
            waited: &[7000],
            backend: "claude_som",
            failure: None,
        },
    )
    .await;
}

#[tokio::test]
async fn status_429_with_a_time_in_milliseconds() {
    let body = error("rate_limit_error", "slow down");
    let headers = "retry-after-ms: 1250\r\nretry-after: 7\r\n";
    check(
        vec![Reply::of(429, headers, &body), good()],
        Expected {
            requests: 2,
            waited: &[1250],
            backend: "claude_som",
            failure: None,
        },
    )
    .await;
}

/// Lets time pass. A paused clock would also run ahead while a request is on its way through a socket.
async fn pass(time: Duration) {
    tokio::time::pause();
    tokio::time::advance(time).await;
    tokio::time::resume();
}

#[tokio::test]
async fn status_429_with_too_long_a_time_is_not_waited_for_and_not_ignored() {
    let body = error("rate_limit_error", "slow down");
    let stage = Setup::with(vec![Reply::of(429, "retry-after: 3600\r\n", &body), good()]).await;
    let expected = for_good("TRANSIENT", "the provider asks to retry after 3600 s");
    judge(&stage, expected).await;
    // No request is sent to the provider before then, and the next backend decides.
    let again = stage.plan().await.unwrap();
    assert_eq!(again.attempts[0].reason, "CIRCUIT_OPEN");
    assert_eq!(again.decision.backend, "operator");
    pass(Duration::from_secs(3590)).await;
    stage.plan().await.unwrap();
    assert_eq!(stage.claude.received().len(), 1);
    pass(Duration::from_secs(10)).await;
    assert_eq!(stage.plan().await.unwrap().decision.backend, "claude_som");
    assert_eq!(stage.claude.received().len(), 2);
}

#[tokio::test]
async fn shortest_retry_after_reaches_the_caller() {
    let body = error("rate_limit_error", "slow down");
    let stage = Setup::with_both(
        vec![Reply::of(429, "retry-after: 3600\r\n", &body)],
        vec![Reply::of(429, "retry-after: 1800\r\n", &body)],
    )
    .await;
    let failed = stage.plan().await.unwrap_err();
    assert_eq!(failed.reason, "ALL_BACKENDS_FAILED");
    let wait = failed.retry_after.unwrap().as_secs();
    assert!((1790..=1800).contains(&wait), "the shorter one: {wait}");
    assert!(failed.message.contains("slow down"), "{}", failed.message);
}

#[tokio::test]
async fn gateway_statuses_are_transient() {
    for status in [520, 522, 524] {
        check(
            vec![Reply::of(status, "", "<html>")],
            for_now("the provider failed"),
        )
        .await;
    }
}

#[tokio::test]
async fn error_body_with_status_200_is_a_failure() {
    let body = error("overloaded_error", "Overloaded");
    check(
        vec![Reply::of(200, "", &body)],
        for_now("overloaded_error: Overloaded"),
    )
    .await;
    let body = error("invalid_request_error", "no such tool");
    check(
        vec![Reply::of(200, "", &body)],
        for_good("PERMANENT", "invalid_request_error: no such tool"),
    )
    .await;
}

#[tokio::test]
async fn status_429_without_a_time() {
    let body = error("rate_limit_error", "slow down");
    check(
        vec![Reply::of(429, "", body)],
        for_now("rate limit of the provider is reached"),
    )
    .await;
}

#[tokio::test]
async fn a_spent_budget() {
    let body = error(
        "rate_limit_error",
        "You have reached your monthly spend limit",
    );
    check(
        vec![Reply::of(429, "", body)],
        for_good("PERMANENT", "the spending limit of the account is reached"),
    )
    .await;
}

#[tokio::test]
async fn status_500() {
    let body = error("api_error", "internal");
    check(
        vec![Reply::of(500, "", body)],
        for_now("the provider failed"),
    )
    .await;
}

#[tokio::test]
async fn status_500_that_asks_not_to_be_repeated() {
    check(
        vec![Reply::of(500, "x-should-retry: false\r\n", "{}")],
        for_good("PERMANENT", "the provider failed"),
    )
    .await;
}

#[tokio::test]
async fn status_503() {
    check(vec![Reply::of(503, "", "{}")], for_now("overloaded")).await;
}

#[tokio::test]
async fn status_529() {
    let body = error("overloaded_error", "Overloaded");
    check(
        vec![Reply::of(529, "", body)],
        for_now("HTTP 529; overloaded_error"),
    )
    .await;
}

#[tokio::test]
async fn transient_failure_is_retried() {
    check(
        vec![Reply::of(529, "", "{}"), good()],
        Expected {
            requests: 2,
            waited: &[500],
            backend: "claude_som",
            failure: None,
        },
    )
    .await;
}

/// Returns the duration of a step on the paused clock, which stands still while any I/O is in progress.
async fn time_of(step: impl Future<Output = ()>) -> Duration {
    let began = Instant::now();
    step.await;
    began.elapsed()
}

#[tokio::test(start_paused = true)]
async fn no_connection_in_time() {
    // The listener accepts nothing, and its backlog is full.
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let listener = socket.listen(1).unwrap();
    let address = listener.local_addr().unwrap();
    let mut waiting = Vec::new();
    while let Ok(connected) =
        tokio::time::timeout(Duration::from_millis(200), TcpStream::connect(address)).await
    {
        waiting.push(connected.unwrap());
    }
    let claude = Server::start(vec![good()]).await;
    let other = Server::start(vec![Reply::success(&chat(&decision("click", 1)))]).await;
    let stage = Setup::at(&format!("http://{address}"), claude, other);
    let expected = Expected {
        requests: 0,
        ..for_now("127.0.0.1 cannot be reached")
    };
    let waited = time_of(judge(&stage, expected)).await;
    assert_eq!(waited, 3 * CONNECT_TIMEOUT);
}

#[tokio::test(start_paused = true)]
async fn no_answer_in_time() {
    let expected = Expected {
        failure: Some(("TIMED_OUT", "did not respond within 1500 ms")),
        ..for_now("")
    };
    let waited = time_of(check(vec![Reply::Silence], expected)).await;
    assert_eq!(waited, 3 * ATTEMPT_TIMEOUT);
}

#[tokio::test(start_paused = true)]
async fn a_body_that_stops() {
    let expected = for_now("stalled in the middle of its response");
    let waited = time_of(check(vec![Reply::Stall], expected)).await;
    assert_eq!(waited, 3 * STALL_TIMEOUT);
}

#[tokio::test]
async fn a_connection_that_breaks() {
    check(vec![Reply::Reset], for_now("broke the connection")).await;
}

#[tokio::test]
async fn body_that_is_not_json() {
    check(
        vec![Reply::of(200, "", "{\"content\": [")],
        for_now("is not JSON: EOF while parsing a list at line 1 column 13; it begins with `{\"content\": [`"),
    )
    .await;
}

#[tokio::test]
async fn a_page_instead_of_an_answer() {
    let page = "<!DOCTYPE html>\n<html><head><title>Sign in to the network</title></head></html>";
    check(
        vec![Reply::of(200, "", page)],
        for_now(
            "is a web page instead of JSON (`<!DOCTYPE html> <html><head><title>Sign…`); check base_url",
        ),
    )
    .await;
}

#[tokio::test]
async fn an_empty_body() {
    check(vec![Reply::of(200, "", "")], for_now("is empty")).await;
}

#[tokio::test]
async fn a_body_that_ends_too_early() {
    check(vec![Reply::Short], for_now("broke the connection")).await;
}

#[tokio::test]
async fn ten_megabytes_of_answer() {
    let endless = says(&"word ".repeat(2_000_000));
    check(
        vec![endless],
        for_good(
            "PERMANENT",
            "is longer than 4 MiB, which no model returns; check base_url",
        ),
    )
    .await;
}

#[tokio::test]
async fn a_megabyte_of_text_is_neither_searched_nor_sent_back() {
    let endless = format!("{} {}", "{".repeat(1 << 20), decision("click", 1));
    let stage = Setup::with(vec![says(&endless), good()]).await;
    judge(&stage, repaired()).await;
    let repair = stage.claude.received()[1].to_string();
    assert!(
        repair.contains("the answer is far too long: "),
        "it is told"
    );
    assert!(!repair.contains("{{{{"), "and not shown");
}

#[tokio::test]
async fn a_failure_with_ten_megabytes_of_explanation() {
    check(
        vec![Reply::of(500, "", "a".repeat(10_000_000))],
        for_good("PERMANENT", "is longer than 4 MiB"),
    )
    .await;
}

#[tokio::test]
async fn status_302() {
    check(
        vec![Reply::of(
            302,
            "location: https://elsewhere.example/v1\r\n",
            "",
        )],
        for_good(
            "PERMANENT",
            "redirects the request, and redirects are not followed; correct its base_url (HTTP 302)",
        ),
    )
    .await;
}

#[tokio::test]
async fn status_403() {
    let body = error("permission_error", "not for this workspace");
    check(
        vec![Reply::of(403, "", body)],
        for_good("PERMANENT", "the key is not allowed to do this"),
    )
    .await;
}

#[tokio::test]
async fn a_key_that_is_repeated_is_not_passed_on() {
    // Some gateways quote the rejected key. Truncated in the middle, it would still be half a key.
    for filler in [0, 250, 290] {
        let provider_message = format!("{} received key: sk-of-the-test", "a".repeat(filler));
        let body = error("authentication_error", &provider_message);
        let stage = Setup::with(vec![Reply::of(401, "", body)]).await;
        let planned = stage.plan().await.unwrap();
        let message = &planned.attempts[0].message;
        assert!(!message.contains("sk-"), "{message}");
        let backends = stage.service.list_backends().await.unwrap();
        let last_error = backends[0].last_error.as_ref().unwrap();
        assert!(
            !last_error.contains("sk-") && last_error.contains("does not accept the key"),
            "{last_error}"
        );
    }
}
