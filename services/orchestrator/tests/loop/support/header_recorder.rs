//! A desktop on a real socket that records the headers of every call, as an attacker's server would.

use std::net::SocketAddr;
use std::sync::Arc;

use motorium_proto::service::{ExecutorServer, PerceptionServer};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tonic::service::InterceptorLayer;
use tonic::transport::Server;
use tonic::transport::server::TcpIncoming;
use tonic::{Request, Status};

use super::in_time;
use super::simulated_desktop::{FakeServices, SimulatedDesktop};

/// Headers of one call, as lines of text.
type Headers = Vec<String>;

/// A Perception and an Executor that record what they receive.
pub(crate) struct HeaderRecorder {
    pub(crate) world: Arc<SimulatedDesktop>,
    address: SocketAddr,
    received: Arc<watch::Sender<Vec<Headers>>>,
    server: JoinHandle<()>,
}

impl HeaderRecorder {
    pub(crate) async fn start() -> Self {
        let world = SimulatedDesktop::new(Vec::new());
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let received = Arc::new(watch::Sender::new(Vec::new()));
        let log = received.clone();
        let record = move |request: Request<()>| -> Result<Request<()>, Status> {
            let lines = request.metadata().as_ref().iter();
            let lines = lines.map(|(name, value)| {
                format!("{name}: {}", String::from_utf8_lossy(value.as_bytes()))
            });
            let lines: Headers = lines.collect();
            log.send_modify(|received: &mut Vec<Headers>| received.push(lines));
            Ok(request)
        };
        let services = Arc::new(FakeServices(world.clone()));
        let server = Server::builder()
            .layer(InterceptorLayer::new(record))
            .add_service(PerceptionServer::tonic(services.clone()))
            .add_service(ExecutorServer::tonic(services))
            .serve_with_incoming(TcpIncoming::from(listener));
        let server = tokio::spawn(async move { server.await.unwrap() });
        Self {
            world,
            address,
            received,
            server,
        }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Returns the headers of all calls so far.
    pub(crate) fn received(&self) -> Vec<Headers> {
        self.received.borrow().clone()
    }

    /// Returns the headers that contain this text.
    pub(crate) fn containing(&self, text: &str) -> Headers {
        let headers = self.received().into_iter().flatten();
        headers.filter(|line| line.contains(text)).collect()
    }

    /// Waits until it has received this many calls.
    pub(crate) async fn called(&self, times: usize) {
        let mut calls = self.received.subscribe();
        let often = |received: &Vec<Headers>| received.len() >= times;
        let waited = calls.wait_for(often);
        in_time("calls to the recorder", waited).await.unwrap();
    }
}

impl Drop for HeaderRecorder {
    fn drop(&mut self) {
        self.server.abort();
    }
}
