//! The network: a link passes bytes on to an address, until it is cut, slowed down or stalled.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::time::sleep;

/// Bytes that are passed on at once.
const CHUNK: usize = 16 * 1024;

/// How a link is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Condition {
    #[default]
    Open,
    /// Connections break, and new ones break at once.
    Cut,
    /// Everything takes so much longer.
    Slow(Duration),
    /// Nothing arrives, and nobody is told.
    Stalled,
}

/// A link to one address.
#[derive(Debug)]
pub(crate) struct Link {
    address: SocketAddr,
    condition: watch::Sender<Condition>,
}

impl Link {
    /// A link to `target`. It passes on for as long as the runtime lives.
    pub(crate) async fn to(target: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("it is bound");
        let (condition, seen) = watch::channel(Condition::Open);
        tokio::spawn(accept(listener, target, seen));
        Self { address, condition }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(crate) fn set(&self, condition: Condition) {
        self.condition.send_replace(condition);
    }
}

async fn accept(listener: TcpListener, target: SocketAddr, condition: watch::Receiver<Condition>) {
    while let Ok((near, _)) = listener.accept().await {
        if *condition.borrow() == Condition::Cut {
            continue;
        }
        let condition = condition.clone();
        tokio::spawn(async move {
            // Whoever is not there refuses the connection here as well: it is closed at once.
            if let Ok(far) = TcpStream::connect(target).await {
                connect(near, far, condition).await;
            }
        });
    }
}

async fn connect(near: TcpStream, far: TcpStream, condition: watch::Receiver<Condition>) {
    let _ = (near.set_nodelay(true), far.set_nodelay(true));
    let (near_in, near_out) = near.into_split();
    let (far_in, far_out) = far.into_split();
    let mut cut = condition.clone();
    tokio::select! {
        () = pass(near_in, far_out, condition.clone()) => {}
        () = pass(far_in, near_out, condition) => {}
        _ = cut.wait_for(|condition| *condition == Condition::Cut) => {}
    }
}

/// Passes bytes on until one side ends.
async fn pass(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    mut condition: watch::Receiver<Condition>,
) {
    let mut buffer = vec![0; CHUNK];
    loop {
        let Ok(length @ 1..) = from.read(&mut buffer).await else {
            return;
        };
        let stalled = condition.wait_for(|condition| *condition != Condition::Stalled);
        let Ok(now) = stalled.await.map(|condition| *condition) else {
            return;
        };
        if let Condition::Slow(delay) = now {
            sleep(delay).await;
        }
        if to.write_all(&buffer[..length]).await.is_err() {
            return;
        }
    }
}
