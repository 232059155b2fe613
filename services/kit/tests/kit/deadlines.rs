//! A deadline ends unary calls and streams, on the server and on the client alone, and shrinks from hop to hop.

use motorium_kit::client::{self, Channel};
use motorium_kit::deadline::Deadline;
use motorium_kit::shutdown::Shutdown;
use motorium_proto::error::reason;
use std::time::Duration;
use tonic::Code;

use crate::probe::{
    self, Probe, call, channel, code_and_reason, foreign, plain, read, send, with_timeout, within,
};

const PASSED: (Code, &str) = (Code::DeadlineExceeded, reason::DEADLINE_EXCEEDED);

#[tokio::test]
async fn the_server_cuts_a_unary_call_and_drops_its_handler() {
    let (server, probe) = plain().await;
    // Sets only the header: tonic's own client would time out at the same moment with its own CANCELLED.
    let mut request = tonic::Request::new(Vec::new());
    request
        .metadata_mut()
        .insert("grpc-timeout", "300m".parse().unwrap());
    let answer = raw::call(&server, "Hang", request).await;
    assert_eq!((answer.0, answer.1.as_str()), PASSED);
    with_timeout(probe.seen().wait_for(|seen| seen.dropped == 1))
        .await
        .unwrap();
}

#[tokio::test]
async fn the_server_cuts_a_stream() {
    let (server, probe) = plain().await;
    let (items, end) = read(foreign(&server).await, "Drip", within(300)).await;
    assert!(items.len() < 40, "{} items", items.len());
    assert_eq!(code_and_reason(end), (PASSED.0, PASSED.1.to_owned()));
    with_timeout(probe.seen().wait_for(|seen| seen.dropped == 1))
        .await
        .unwrap();
}

#[tokio::test]
async fn the_server_cuts_a_stream_that_always_has_something_ready() {
    let (server, probe) = plain().await;
    let (items, end) = read(foreign(&server).await, "Flood", within(300)).await;
    assert!(!items.is_empty());
    assert_eq!(code_and_reason(end), (PASSED.0, PASSED.1.to_owned()));
    with_timeout(probe.seen().wait_for(|seen| seen.dropped == 1))
        .await
        .unwrap();
}

#[tokio::test]
async fn client_enforces_deadlines_that_the_server_ignores() {
    let (address, probe) = raw::server().await;
    let ours = || Channel::connect_lazy(&client::Config::new(format!("http://{address}"))).unwrap();
    let (items, end) = read(ours(), "Drip", within(300)).await;
    assert!(items.len() < 40, "{} items", items.len());
    assert_eq!(code_and_reason(end), (PASSED.0, PASSED.1.to_owned()));
    assert_eq!(
        code_and_reason(send(ours(), "Hang", within(100)).await),
        (PASSED.0, PASSED.1.to_owned())
    );
    with_timeout(probe.seen().wait_for(|seen| seen.dropped == 2))
        .await
        .unwrap();
}

#[tokio::test]
async fn a_stream_within_its_deadline_is_whole() {
    let (server, _) = plain().await;
    let (items, end) = read(channel(&server), "Drip", within(60_000)).await;
    assert_eq!((items.len(), end.is_ok()), (40, true));
}

#[tokio::test]
async fn handlers_and_their_streams_know_the_deadline() {
    let (server, _) = plain().await;
    let left = send(channel(&server), "Left", within(10_000))
        .await
        .unwrap();
    assert!((1..=10_000_000).contains(&micros(&left)));
    assert_eq!(
        micros(&call(channel(&server), "Left", b"").await.unwrap()),
        0
    );
    let (items, _) = read(channel(&server), "Deadlines", within(10_000)).await;
    assert_eq!(items, [[1], [1]]);
    let (items, _) = read(
        channel(&server),
        "Deadlines",
        tonic::Request::new(Vec::new()),
    )
    .await;
    assert_eq!(items, [[0], [0]]);
}

#[tokio::test]
async fn second_hop_gets_a_shorter_deadline() {
    let (last, _) = plain().await;
    let shutdown = Shutdown::new();
    let relay = Probe::new(&shutdown).relaying_to(channel(&last));
    let first = probe::serve(probe::config(), relay, &shutdown).await;

    let own = micros(&send(channel(&first), "Left", within(10_000)).await.unwrap());
    let nested = micros(
        &send(channel(&first), "Relay", within(10_000))
            .await
            .unwrap(),
    );
    assert!(
        nested > 0 && nested <= 10_000_000 - 20_000,
        "{nested} µs are left at the second hop"
    );
    assert!(nested < own);
    // Without a deadline there is none to propagate.
    assert_eq!(
        micros(&call(channel(&first), "Relay", b"").await.unwrap()),
        0
    );
}

#[tokio::test]
async fn the_tightest_of_own_and_callers_deadline_counts() {
    let (server, _) = plain().await;
    for (own, callers, max_ms) in [(5_000, 60_000, 5_000), (60_000, 5_000, 4_980)] {
        let deadline = Deadline::after(Duration::from_millis(callers));
        let left = deadline
            .scope(send(channel(&server), "Left", within(own)))
            .await
            .unwrap();
        assert!(
            (1..=max_ms * 1000).contains(&micros(&left)),
            "own {own} ms, caller's {callers} ms: {} µs",
            micros(&left)
        );
    }
}

#[tokio::test]
async fn a_call_after_the_deadline_is_not_sent() {
    let (server, probe) = plain().await;
    let answer = Deadline::after(Duration::ZERO)
        .scope(call(channel(&server), "Echo", b"x"))
        .await;
    assert_eq!(code_and_reason(answer), (PASSED.0, PASSED.1.to_owned()));
    assert_eq!(probe.seen().borrow().entered, 0);
}

#[tokio::test]
async fn a_default_bounds_calls_that_have_no_deadline() {
    let (server, _) = plain().await;
    let config = client::Config {
        default_timeout: Some(Duration::from_millis(100)),
        ..client::Config::new(probe::uri(&server))
    };
    let channel = Channel::connect_lazy(&config).unwrap();
    assert_eq!(
        code_and_reason(call(channel, "Hang", b"").await),
        (PASSED.0, PASSED.1.to_owned())
    );
}

#[tokio::test]
async fn waiting_for_a_connection_counts() {
    // The listener's backlog accepts the connection, but no one ever responds.
    let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let uri = format!("http://{}", silent.local_addr().unwrap());
    let channel = Channel::connect_lazy(&client::Config::new(uri)).unwrap();
    assert_eq!(
        code_and_reason(send(channel, "Echo", within(200)).await),
        (PASSED.0, PASSED.1.to_owned())
    );
}

fn micros(text: &[u8]) -> u64 {
    std::str::from_utf8(text).unwrap().parse().unwrap()
}

/// The other side of a call, without the kit.
mod raw {
    use super::*;
    use bytes::{BufMut as _, Bytes};
    use http_body_util::{BodyExt as _, Full};
    use motorium_kit::server::RunningServer;
    use motorium_proto::error::ErrorReport;
    use std::net::SocketAddr;
    use tonic::Status;
    use tonic::body::Body;

    /// Starts the probe behind a plain tonic server.
    pub(super) async fn server() -> (SocketAddr, Probe) {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let probe = Probe::new(&Shutdown::new());
        let service = probe.clone();
        let incoming = tonic::transport::server::TcpIncoming::from(listener);
        tokio::spawn(async move {
            tonic::transport::Server::builder()
                .add_service(service)
                .serve_with_incoming(incoming)
                .await
        });
        (address, probe)
    }

    /// Makes a unary call from a client that enforces no deadline of its own.
    pub(super) async fn call(
        server: &RunningServer,
        method: &str,
        request: tonic::Request<Vec<u8>>,
    ) -> (Code, String) {
        let stream = tokio::net::TcpStream::connect(server.local_address())
            .await
            .unwrap();
        let io = hyper_util::rt::TokioIo::new(stream);
        let executor = hyper_util::rt::TokioExecutor::new();
        let (mut sender, connection) = hyper::client::conn::http2::handshake(executor, io)
            .await
            .unwrap();
        tokio::spawn(connection);
        let mut message = bytes::BytesMut::new();
        message.put_bytes(0, 5);
        let (metadata, _, _) = request.into_parts();
        let mut http = http::Request::new(Body::new(Full::<Bytes>::new(message.freeze())));
        *http.uri_mut() = format!("http://{}/{}/{method}", server.local_address(), probe::NAME)
            .parse()
            .unwrap();
        *http.method_mut() = http::Method::POST;
        *http.headers_mut() = metadata.into_headers();
        http.headers_mut()
            .insert("content-type", "application/grpc".parse().unwrap());
        let response = with_timeout(sender.send_request(http)).await.unwrap();
        let head = response.headers().clone();
        let trailers = response
            .into_body()
            .collect()
            .await
            .unwrap()
            .trailers()
            .cloned()
            .unwrap_or_default();
        let headers = if head.contains_key("grpc-status") {
            head
        } else {
            trailers
        };
        let report = ErrorReport::from_status(&Status::from_header_map(&headers).unwrap());
        (report.code, report.reason)
    }
}
