//! The HTTP server: routes, middleware, and its start and end.

use std::future::IntoFuture as _;
use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::{DefaultBodyLimit, FromRef};
use axum::middleware::from_fn_with_state;
use axum::routing::{get, post};
use axum::serve::ListenerExt as _;
use motorium_kit::clock::SystemClock;
use motorium_kit::config::Secret;
use motorium_kit::shutdown::Shutdown;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use crate::access::{self, Access, GatewayUrl, LocalToken};
use crate::chat;
use crate::config::{Config, Origin, Surroundings};
use crate::files;
use crate::guard::{RequestRules, check_request};
use crate::json::MAX_JSON_BYTES;
use crate::live::{Screens, ViewerContext, watch_screen};
use crate::openapi;
use crate::page;
use crate::proxy::{ORCHESTRATOR, Proxy};
use crate::quota::Quotas;
use crate::sessions::Sessions;
use crate::streams::StreamContext;
use crate::upstream::Upstream;
use crate::watches::{watch_session, watch_task};

/// Time that open requests have to finish after a shutdown was requested. Streams end at once.
const GRACE_PERIOD: Duration = Duration::from_secs(5);

/// An error that keeps a gateway from starting, or ends it.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error(
        "{address} is taken by another program; stop it, or choose another address for gateway.listen (port 0 selects a \
         free port)"
    )]
    AddressInUse { address: SocketAddr },
    #[error("cannot listen on {address}: {source}; choose another address for gateway.listen")]
    Bind {
        address: SocketAddr,
        source: io::Error,
    },
    #[error("the folder of the gateway cannot be used: {0}")]
    Folder(io::Error),
    #[error("the gateway failed: {0}")]
    Serve(io::Error),
}

/// State of all handlers.
#[derive(Debug, Clone)]
struct App {
    access: Arc<Access>,
    upstream: Arc<Upstream>,
    viewers: ViewerContext,
    streams: StreamContext,
}

macro_rules! parts {
    ($($field:ident: $part:ty),+ $(,)?) => {$(
        impl FromRef<App> for $part {
            fn from_ref(app: &App) -> Self {
                app.$field.clone()
            }
        }
    )+};
}

parts!(
    access: Arc<Access>,
    upstream: Arc<Upstream>,
    viewers: ViewerContext,
    streams: StreamContext,
);

/// A running gateway.
#[derive(Debug)]
pub struct Gateway {
    address: SocketAddr,
    access: Arc<Access>,
    serving: JoinHandle<Result<(), StartError>>,
}

impl Gateway {
    /// Opens the address and serves until `shutdown`.
    ///
    /// # Errors
    /// If the address is taken or not of this machine, or the folder cannot be written.
    pub async fn start(
        config: &Config,
        surroundings: Surroundings,
        shutdown: &Shutdown,
    ) -> Result<Self, StartError> {
        let address = config.listen;
        let listener = TcpListener::bind(address).await;
        let listener = listener.map_err(|source| match source.kind() {
            io::ErrorKind::AddrInUse => StartError::AddressInUse { address },
            _ => StartError::Bind { address, source },
        })?;
        let address = listener.local_addr().map_err(StartError::Serve)?;
        let app = app(config, surroundings, address, shutdown)?;
        let access = Arc::clone(&app.access);
        let router = router(config, app);
        let shutdown = shutdown.child();
        let serving = tokio::spawn(serve(listener, router, shutdown));
        tracing::info!(%address, "the gateway is ready");
        Ok(Self {
            address,
            access,
            serving,
        })
    }

    /// Returns the address with the actual port, also if port 0 was configured.
    #[must_use]
    pub fn local_address(&self) -> SocketAddr {
        self.address
    }

    /// Creates a link that logs a browser in, once and within ten minutes, as the programs of this machine's user. `None` if the
    /// services know only callers with names: each of them makes a link with its own token.
    #[must_use]
    pub fn login_link(&self) -> Option<String> {
        self.access.local_login_link()
    }

    /// Waits until the gateway has ended.
    ///
    /// # Errors
    /// If it ended on its own.
    pub async fn join(self) -> Result<(), StartError> {
        let ended = self.serving.await;
        ended.unwrap_or_else(|error| Err(StartError::Serve(io::Error::other(error))))
    }
}

/// Returns the token that the gateway in this folder accepts although the services demand none, if it has been started.
///
/// # Errors
/// If its file cannot be read.
pub fn own_token(folder: &Path) -> io::Result<Option<Secret>> {
    access::read_own_token(folder)
}

async fn serve(
    listener: TcpListener,
    router: Router,
    shutdown: Shutdown,
) -> Result<(), StartError> {
    // Otherwise the system would hold small messages back, such as acknowledgements of input.
    let listener = listener.tap_io(|connection| {
        if let Err(error) = connection.set_nodelay(true) {
            tracing::debug!(%error, "a connection cannot send without delay");
        }
    });
    let draining = shutdown.clone();
    let serving = axum::serve(listener, router)
        .with_graceful_shutdown(async move { draining.draining().await });
    let overdue = async {
        shutdown.draining().await;
        tokio::select! {
            () = tokio::time::sleep(GRACE_PERIOD) => {}
            () = shutdown.stopping() => {}
        }
    };
    tokio::select! {
        served = serving.into_future() => served.map_err(StartError::Serve),
        () = overdue => {
            tracing::warn!("cutting off open requests of the gateway");
            Ok(())
        }
    }
}

fn app(
    config: &Config,
    surroundings: Surroundings,
    address: SocketAddr,
    shutdown: &Shutdown,
) -> Result<App, StartError> {
    let folder = surroundings.folder.clone();
    let local = LocalToken::open(&surroundings);
    let local = local.map_err(StartError::Folder)?;
    let upstream = Arc::new(Upstream::new(surroundings));
    let quotas = Arc::new(Quotas::default());
    let public = config.public_url.as_ref();
    let url = GatewayUrl {
        base: public.map_or_else(|| format!("http://{address}"), Origin::to_string),
        port: address.port(),
        is_encrypted: public.is_some_and(Origin::is_encrypted),
    };
    let sessions = Sessions::open(folder, Arc::new(SystemClock));
    let access = Access::new(
        sessions,
        local,
        Arc::clone(&upstream),
        Arc::clone(&quotas),
        url,
    );
    let access = Arc::new(access);
    let viewers = ViewerContext {
        screens: Arc::new(Screens::new(Arc::clone(&upstream))),
        access: Arc::clone(&access),
        quotas: Arc::clone(&quotas),
        shutdown: shutdown.clone(),
    };
    let streams = StreamContext {
        upstream: Arc::clone(&upstream),
        quotas,
        shutdown: shutdown.clone(),
    };
    Ok(App {
        access,
        upstream,
        viewers,
        streams,
    })
}

fn router(config: &Config, app: App) -> Router {
    let proxy = Proxy::for_browsers(Arc::clone(&app.upstream), Arc::clone(&app.streams.quotas));
    let orchestrator = format!("/{ORCHESTRATOR}/{{method}}");
    let authenticated = Router::new()
        .route("/api/session", get(access::describe_session))
        .route("/api/login-links", post(access::create_link))
        .route("/api/logout", post(access::log_out))
        .route(
            "/api/uploads",
            post(files::upload).layer(DefaultBodyLimit::disable()),
        )
        .route(
            "/api/artifacts/tasks/{task}/artifacts/{artifact}",
            get(files::artifact),
        )
        .route("/api/export/tasks/{task}", get(files::export_task))
        .route("/api/export/sessions/{session}", get(files::export_session))
        .route("/api/watch/tasks/{task}", get(watch_task))
        .route("/api/watch/sessions/{session}", get(watch_session))
        .route("/api/chat/send", post(chat::send))
        .route("/api/chat/stop", post(chat::stop))
        .route("/api/chat/ack-user-action", post(chat::acknowledge))
        .route("/api/chat/stream", get(chat::follow))
        .route("/task", post(chat::create))
        .route("/task/{id}", get(chat::get))
        .route("/api/openapi.json", get(openapi::describe))
        .route("/api/desktops/{desktop}/live", get(watch_screen))
        .route_service("/api/desktops/{desktop}/{service}/{method}", proxy.clone())
        .route_service(&orchestrator, proxy)
        .route_layer(from_fn_with_state(
            Arc::clone(&app.access),
            access::require_caller,
        ));
    let rules = Arc::new(RequestRules::new(config));
    Router::new()
        .route("/login", get(access::follow_link))
        .route("/api/login", post(access::log_in))
        .merge(authenticated)
        .fallback(page::serve)
        .layer(DefaultBodyLimit::max(MAX_JSON_BYTES))
        .layer(from_fn_with_state(rules, check_request))
        .with_state(app)
}
