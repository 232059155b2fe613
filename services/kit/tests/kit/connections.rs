//! Connections: a flood of them is cut off, and takes nothing from those that are open.

use std::time::Duration;

use motorium_kit::limits::Limits;
use motorium_kit::server::{Config, RunningServer};
use motorium_kit::shutdown::Shutdown;
use tokio::io::AsyncReadExt as _;
use tokio::net::TcpStream;

use crate::access::Authority;
use crate::probe::{self, Probe, call, channel, foreign, with_timeout};

const MAX: usize = 5;

async fn serve(config: Config) -> RunningServer {
    let config = Config {
        limits: Limits {
            connections: MAX,
            ..Limits::default()
        },
        ..config
    };
    let shutdown = Shutdown::new();
    probe::serve(config, Probe::new(&shutdown), &shutdown).await
}

/// Opens a connection and says nothing. Returns it if the server does not close it.
async fn open(server: &RunningServer) -> Option<TcpStream> {
    let mut connection = TcpStream::connect(server.local_address()).await.unwrap();
    let mut bytes = [0; 64];
    // A server of HTTP/2 speaks first; one with TLS waits.
    match tokio::time::timeout(Duration::from_millis(300), connection.read(&mut bytes)).await {
        Ok(Ok(0) | Err(_)) => None,
        Ok(Ok(_)) | Err(_) => Some(connection),
    }
}

#[tokio::test]
async fn further_connections_are_closed_and_open_ones_go_on() {
    let server = serve(probe::config()).await;
    let known = foreign(&server).await;
    call(known.clone(), "Echo", b"before").await.unwrap();
    let mut silent = Vec::new();
    for _ in 1..MAX {
        silent.push(open(&server).await.expect("below the limit"));
    }
    for _ in 0..3 {
        assert!(open(&server).await.is_none(), "one more is closed");
    }
    assert!(call(channel(&server), "Echo", b"new").await.is_err());
    assert_eq!(call(known, "Echo", b"known").await.unwrap(), b"known");
    silent.pop();
    let reached = async {
        while call(channel(&server), "Echo", b"again").await.is_err() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    with_timeout(reached).await;
}

#[tokio::test]
async fn connections_count_before_their_handshake() {
    let authority = Authority::new();
    let server = serve(Config {
        tls: authority.server(None).tls,
        ..probe::config()
    })
    .await;
    let mut silent = Vec::new();
    for _ in 0..MAX {
        silent.push(open(&server).await.expect("below the limit"));
    }
    assert!(open(&server).await.is_none(), "one more is closed");
    // Those that do not shake hands are closed after a while, too: here they go away.
    drop(silent);
    let reached = async {
        while open(&server).await.is_none() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    with_timeout(reached).await;
}
