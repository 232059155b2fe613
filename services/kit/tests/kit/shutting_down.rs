//! A server that shuts down finishes running calls, accepts no new ones, and ends.

use std::time::Duration;

use motorium_kit::server::{Config, RunningServer};
use motorium_kit::shutdown::Shutdown;
use motorium_proto::error::reason;
use tonic::Code;

use crate::probe::{self, Probe, call, code_and_reason, foreign, open, with_timeout};

async fn with_grace(grace: Duration) -> (RunningServer, Probe, Shutdown) {
    let shutdown = Shutdown::new();
    let probe = Probe::new(&shutdown);
    let server = probe::serve(
        Config {
            grace_period: grace,
            ..probe::config()
        },
        probe.clone(),
        &shutdown,
    )
    .await;
    (server, probe, shutdown)
}

fn nothing() -> tonic::Request<Vec<u8>> {
    tonic::Request::new(Vec::new())
}

#[tokio::test]
async fn a_call_in_flight_is_finished() {
    let (server, probe, shutdown) = with_grace(Duration::from_secs(60)).await;
    let flight = tokio::spawn(call(foreign(&server).await, "Drain", b"".as_slice()));
    with_timeout(probe.seen().wait_for(|seen| seen.entered == 1))
        .await
        .unwrap();
    shutdown.drain();
    assert_eq!(with_timeout(flight).await.unwrap().unwrap(), b"drained");
    with_timeout(server.join()).await.unwrap();
}

#[tokio::test]
async fn stream_that_observes_draining_ends_cleanly() {
    let (server, _, shutdown) = with_grace(Duration::from_secs(60)).await;
    let mut stream = open(foreign(&server).await, "UntilDrained", nothing())
        .await
        .unwrap();
    assert_eq!(stream.message().await.unwrap(), Some(vec![0]));
    shutdown.drain();
    assert_eq!(with_timeout(stream.message()).await.unwrap(), Some(vec![1]));
    assert_eq!(with_timeout(stream.message()).await.unwrap(), None);
    with_timeout(server.join()).await.unwrap();
}

#[tokio::test]
async fn unfinished_calls_are_cut_after_the_grace_period() {
    let (server, probe, shutdown) = with_grace(Duration::from_millis(100)).await;
    let foreign = foreign(&server).await;
    let mut stream = open(foreign.clone(), "Endless", nothing()).await.unwrap();
    assert_eq!(stream.message().await.unwrap(), Some(vec![0]));
    let hanging = tokio::spawn(call(foreign, "Hang", b"".as_slice()));
    with_timeout(probe.seen().wait_for(|seen| seen.entered == 2))
        .await
        .unwrap();
    shutdown.drain();
    let expected = (Code::Unavailable, reason::SHUTTING_DOWN.to_owned());
    assert_eq!(
        code_and_reason(with_timeout(stream.message()).await),
        expected
    );
    assert_eq!(
        code_and_reason(with_timeout(hanging).await.unwrap()),
        expected
    );
    with_timeout(server.join()).await.unwrap();
    assert_eq!(probe.seen().borrow().dropped, 2);
}

#[tokio::test]
async fn stop_after_drain_skips_the_grace_period() {
    let (server, probe, shutdown) = with_grace(Duration::from_secs(3600)).await;
    let hanging = tokio::spawn(call(foreign(&server).await, "Hang", b"".as_slice()));
    with_timeout(probe.seen().wait_for(|seen| seen.entered == 1))
        .await
        .unwrap();
    shutdown.drain();
    shutdown.stop();
    assert_eq!(
        code_and_reason(with_timeout(hanging).await.unwrap()),
        (Code::Unavailable, reason::SHUTTING_DOWN.to_owned())
    );
    with_timeout(server.join()).await.unwrap();
}

#[tokio::test]
async fn port_is_closed_after_draining() {
    let (server, probe, shutdown) = with_grace(Duration::from_secs(60)).await;
    let address = server.local_address();
    let flight = tokio::spawn(call(foreign(&server).await, "Drain", b"".as_slice()));
    with_timeout(probe.seen().wait_for(|seen| seen.entered == 1))
        .await
        .unwrap();
    shutdown.drain();
    with_timeout(flight).await.unwrap().unwrap();
    with_timeout(server.join()).await.unwrap();
    assert!(
        tokio::net::TcpStream::connect(address).await.is_err(),
        "the port is still open"
    );
}

#[tokio::test]
async fn one_server_ends_without_the_others() {
    let (first, _, shutdown) = with_grace(Duration::from_secs(60)).await;
    let second = probe::serve(probe::config(), Probe::new(&shutdown), &shutdown).await;
    with_timeout(first.stop()).await.unwrap();
    assert_eq!(
        call(foreign(&second).await, "Echo", b"here").await.unwrap(),
        b"here"
    );
    shutdown.drain();
    with_timeout(second.join()).await.unwrap();
}

#[tokio::test]
async fn peer_that_does_not_read_cannot_block_shutdown() {
    let (server, probe, shutdown) = with_grace(Duration::from_millis(50)).await;
    let stream = open(foreign(&server).await, "Flood", nothing())
        .await
        .unwrap();
    with_timeout(probe.seen().wait_for(|seen| seen.entered == 1))
        .await
        .unwrap();
    shutdown.drain();
    with_timeout(server.join()).await.unwrap();
    drop(stream);
}

#[cfg(unix)]
#[tokio::test]
async fn a_signal_is_a_shutdown() {
    use rustix::process::{Signal, getpid, kill_process};
    for signal in [Signal::TERM, Signal::INT, Signal::QUIT, Signal::HUP] {
        let shutdown = Shutdown::on_signals().unwrap();
        let server = probe::serve(probe::config(), Probe::new(&shutdown), &shutdown).await;
        kill_process(getpid(), signal).unwrap();
        with_timeout(server.join()).await.unwrap();
    }
}
