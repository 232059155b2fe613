//! Network links: TCP proxies that can be cut, slowed down or stalled, or lose what goes in one direction.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::time::sleep;

/// Buffer size of the proxy.
const CHUNK: usize = 16 * 1024;

/// Condition of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum LinkCondition {
    #[default]
    Open,
    /// Connections break, and new ones are closed at once.
    Cut,
    /// Every chunk is delayed.
    Slow(Duration),
    /// Nothing arrives, without an error.
    Stalled,
    /// Requests are lost without an error, and responses to earlier ones arrive.
    RequestsDropped,
    /// Requests arrive, and responses are lost without an error.
    ResponsesDropped,
}

/// Direction of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Direction {
    Requests,
    Responses,
}

impl LinkCondition {
    fn drops(self, direction: Direction) -> bool {
        match direction {
            Direction::Requests => self == Self::RequestsDropped,
            Direction::Responses => self == Self::ResponsesDropped,
        }
    }
}

/// A link to one address.
#[derive(Debug)]
pub(crate) struct NetworkLink {
    address: SocketAddr,
    condition: watch::Sender<LinkCondition>,
}

impl NetworkLink {
    /// Opens a link to `target`, which runs as long as the runtime.
    pub(crate) async fn to(target: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("it is bound");
        let (condition, seen) = watch::channel(LinkCondition::Open);
        tokio::spawn(accept(listener, target, seen));
        Self { address, condition }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(crate) fn set(&self, condition: LinkCondition) {
        self.condition.send_replace(condition);
    }
}

async fn accept(
    listener: TcpListener,
    target: SocketAddr,
    condition: watch::Receiver<LinkCondition>,
) {
    while let Ok((near, _)) = listener.accept().await {
        if *condition.borrow() == LinkCondition::Cut {
            continue;
        }
        let condition = condition.clone();
        tokio::spawn(async move {
            // If the target refuses the connection, the incoming one is closed at once.
            if let Ok(far) = TcpStream::connect(target).await {
                connect(near, far, condition).await;
            }
        });
    }
}

async fn connect(near: TcpStream, far: TcpStream, condition: watch::Receiver<LinkCondition>) {
    let _ = (near.set_nodelay(true), far.set_nodelay(true));
    let (near_in, near_out) = near.into_split();
    let (far_in, far_out) = far.into_split();
    let mut cut = condition.clone();
    tokio::select! {
        () = pass(near_in, far_out, Direction::Requests, condition.clone()) => {}
        () = pass(far_in, near_out, Direction::Responses, condition) => {}
        _ = cut.wait_for(|condition| *condition == LinkCondition::Cut) => {}
    }
}

/// Forwards bytes of one direction until one side ends. Once it has lost some it loses all, and breaks when the fault is
/// over, as a connection does whose packets were not acknowledged.
async fn pass(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    direction: Direction,
    mut condition: watch::Receiver<LinkCondition>,
) {
    let mut buffer = vec![0; CHUNK];
    loop {
        let Ok(length @ 1..) = from.read(&mut buffer).await else {
            return;
        };
        let stalled = condition.wait_for(|condition| *condition != LinkCondition::Stalled);
        let Ok(now) = stalled.await.map(|condition| *condition) else {
            return;
        };
        if now.drops(direction) {
            let _ = condition
                .wait_for(|condition| !condition.drops(direction))
                .await;
            return;
        }
        if let LinkCondition::Slow(delay) = now {
            sleep(delay).await;
        }
        if to.write_all(&buffer[..length]).await.is_err() {
            return;
        }
    }
}
