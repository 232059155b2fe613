//! A local provider that fails in every way. It writes HTTP by hand, so that it can also stop in the middle of a
//! response.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

/// Reaction to one request.
#[derive(Debug, Clone)]
pub(super) enum Reply {
    /// A complete response.
    Whole {
        status: u16,
        headers: &'static str,
        body: String,
    },
    /// Starts a response and then stalls forever.
    Stall,
    /// Starts a response and resets the connection.
    Reset,
    /// Starts a response and closes the connection properly.
    Short,
    /// Never responds.
    Silence,
}

impl Reply {
    pub(super) fn of(status: u16, headers: &'static str, body: impl ToString) -> Self {
        Self::Whole {
            status,
            headers,
            body: body.to_string(),
        }
    }

    pub(super) fn success(body: &Value) -> Self {
        Self::of(200, "", body)
    }
}

/// A fake provider.
#[derive(Debug, Clone)]
pub(super) struct Server {
    pub(super) address: SocketAddr,
    received: Arc<Mutex<Vec<Value>>>,
}

impl Server {
    /// Starts a provider that follows the script and repeats its last line.
    pub(super) async fn start(script: Vec<Reply>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let server = Self {
            address: listener.local_addr().unwrap(),
            received: Arc::default(),
        };
        let (received, script) = (Arc::clone(&server.received), Arc::new(script));
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, Arc::clone(&received), Arc::clone(&script)));
            }
        });
        server
    }

    /// Returns every request so far.
    pub(super) fn received(&self) -> Vec<Value> {
        self.received.lock().unwrap().clone()
    }
}

async fn serve(mut stream: TcpStream, received: Arc<Mutex<Vec<Value>>>, script: Arc<Vec<Reply>>) {
    while let Some(body) = request(&mut stream).await {
        let index = {
            let mut received = received.lock().unwrap();
            received.push(body);
            received.len() - 1
        };
        let reply = &script[index.min(script.len() - 1)];
        match reply {
            Reply::Whole {
                status,
                headers,
                body,
            } => {
                let answer = format!(
                    "HTTP/1.1 {status} X\r\ncontent-type: application/json\r\ncontent-length: {}\r\n{headers}\r\n{body}",
                    body.len()
                );
                stream.write_all(answer.as_bytes()).await.unwrap();
            }
            Reply::Stall => {
                begin(&mut stream).await;
                return std::future::pending().await;
            }
            Reply::Reset => {
                begin(&mut stream).await;
                // Closing with unsent data makes the client see a reset or an early end.
                return stream.set_zero_linger().unwrap();
            }
            Reply::Short => return begin(&mut stream).await,
            Reply::Silence => return std::future::pending().await,
        }
    }
}

async fn begin(stream: &mut TcpStream) {
    let beginning =
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 1000\r\n\r\n{\"a\":";
    stream.write_all(beginning.as_bytes()).await.unwrap();
    stream.flush().await.unwrap();
}

/// Reads the body of the next request; `None` at the end of the connection.
async fn request(stream: &mut TcpStream) -> Option<Value> {
    let mut bytes = Vec::new();
    let head = loop {
        if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break end + 4;
        }
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    };
    let text = String::from_utf8_lossy(&bytes[..head]).to_lowercase();
    let length = text
        .lines()
        .find_map(|line| line.strip_prefix("content-length:"))
        .map(|length| length.trim().parse::<usize>().unwrap())?;
    while bytes.len() < head + length {
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    }
    serde_json::from_slice(&bytes[head..head + length]).ok()
}
