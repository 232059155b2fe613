//! The HTTP server: routes, middleware, and its start and end.
//!
//! It has no TLS: a proxy in front has. What a route does is in the module of its handler.

use std::future::IntoFuture as _;
use std::io;
use std::net::{Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::{DefaultBodyLimit, FromRef};
use axum::middleware::from_fn_with_state;
use axum::routing::{get, post};
use axum::serve::ListenerExt as _;
use motorium_kit::clock::SystemClock;
use motorium_kit::config::Secret;
use motorium_kit::limits::Limits;
use motorium_kit::shutdown::Shutdown;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use crate::access::{self, Access, LocalToken};
use crate::address::{self, PageAddress};
use crate::browser_sessions::BrowserSessions;
use crate::chat;
use crate::config::{Config, LocalAccess, Services};

use crate::connections::ConnectionSlots;
use crate::files;
use crate::guard::{MCP, RequestRules, check_request};
use crate::json::MAX_JSON_BYTES;
use crate::live::frame::{frame_of_desktop, frame_of_task};
use crate::live::{Screens, watch_screen, watch_screen_of_task};
use crate::mcp::{McpService, check_session};
use crate::openapi;
use crate::operate::operate;
use crate::page;
use crate::proxy::{ORCHESTRATOR, Proxy};
use crate::quota::Quotas;
use crate::resources;
use crate::session_api;
use crate::socket::StreamContext;
use crate::upstream::Upstream;
use crate::watches::{watch_session, watch_task};

/// Time that open requests have to finish after a shutdown was requested. Streams end at once.
const GRACE_PERIOD: Duration = Duration::from_secs(5);

/// Number of further ports that are tried where one is taken.
const FURTHER_PORTS: u16 = 20;
/// Number of attempts to find a port that is free on both loopback addresses.
const PORT_ATTEMPTS: usize = 5;

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
    page: PageAddress,
    access: Arc<Access>,
    upstream: Arc<Upstream>,
    screens: Arc<Screens>,
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
    screens: Arc<Screens>,
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
        services: Services,
        access: LocalAccess,
        folder: PathBuf,
        shutdown: &Shutdown,
    ) -> Result<Self, StartError> {
        let listeners = Listeners::bind(config.listen).await?;
        Self::serve(config, services, access, folder, listeners, shutdown)
    }

    /// As [`start`](Self::start), but serves on one of the next ports if the configured one is taken. Not behind a proxy, which
    /// knows the configured one only.
    ///
    /// # Errors
    /// As [`start`](Self::start); `AddressInUse` if none of the ports is free.
    pub async fn start_nearby(
        config: &Config,
        services: Services,
        access: LocalAccess,
        folder: PathBuf,
        shutdown: &Shutdown,
    ) -> Result<Self, StartError> {
        let further = match config.public_url {
            Some(_) => 0,
            None => FURTHER_PORTS,
        };
        let listeners = Listeners::bind_nearby(config.listen, further).await?;
        Self::serve(config, services, access, folder, listeners, shutdown)
    }

    fn serve(
        config: &Config,
        services: Services,
        access: LocalAccess,
        folder: PathBuf,
        listeners: Listeners,
        shutdown: &Shutdown,
    ) -> Result<Self, StartError> {
        let address = listeners.address;
        let local = LocalToken::open(access, &folder).map_err(StartError::Folder)?;
        let app = app(config, services, local, &folder, address, shutdown)?;
        address::announce(&folder, address).map_err(StartError::Folder)?;
        let access = Arc::clone(&app.access);
        let router = router(config, app);
        let serving = tokio::spawn(serve(listeners, router, folder, shutdown.child()));
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

/// Returns the address of the gateway that runs with this folder, if one has said so.
#[must_use]
pub fn running_address(folder: &Path) -> Option<SocketAddr> {
    address::announced(folder)
}

/// The sockets of a gateway.
#[derive(Debug)]
struct Listeners {
    address: SocketAddr,
    listener: TcpListener,
    /// The other loopback address. Without it, another program could answer there in the name of the page.
    twin: Option<TcpListener>,
}

impl Listeners {
    async fn bind(address: SocketAddr) -> Result<Self, StartError> {
        let attempts = if address.port() == 0 {
            PORT_ATTEMPTS
        } else {
            1
        };
        let mut bound = Self::bind_once(address).await;
        for _ in 1..attempts {
            if !matches!(bound, Err(StartError::AddressInUse { .. })) {
                break;
            }
            bound = Self::bind_once(address).await;
        }
        bound
    }

    async fn bind_once(address: SocketAddr) -> Result<Self, StartError> {
        let listener = listen(address).await?;
        let address = listener.local_addr().map_err(StartError::Serve)?;
        let twin = match address::has_two_loopbacks(address) {
            true => Self::bind_twin(address.port()).await?,
            false => None,
        };
        Ok(Self {
            address,
            listener,
            twin,
        })
    }

    async fn bind_twin(port: u16) -> Result<Option<TcpListener>, StartError> {
        match listen(SocketAddr::from((Ipv6Addr::LOCALHOST, port))).await {
            Ok(listener) => Ok(Some(listener)),
            Err(error @ StartError::AddressInUse { .. }) => Err(error),
            Err(error) => {
                tracing::debug!(%error, "this machine has no IPv6");
                Ok(None)
            }
        }
    }

    /// Binds the address, or else the first free one of this many further ports.
    async fn bind_nearby(address: SocketAddr, further: u16) -> Result<Self, StartError> {
        let mut bound = Self::bind(address).await;
        // Port 0 selects a free one by itself.
        let further = if address.port() == 0 { 0 } else { further };
        for step in 1..=further {
            let port = address.port().checked_add(step);
            let (Err(StartError::AddressInUse { .. }), Some(port)) = (&bound, port) else {
                break;
            };
            if let Ok(free) = Self::bind(SocketAddr::new(address.ip(), port)).await {
                bound = Ok(free);
            }
        }
        bound
    }

    async fn serve(self, router: Router, shutdown: &Shutdown) -> Result<(), StartError> {
        let slots = ConnectionSlots::new(Limits::default().connections);
        let first = serve_listener(self.listener, slots.clone(), router.clone(), shutdown);
        let Some(twin) = self.twin else {
            return first.await;
        };
        let served = tokio::try_join!(first, serve_listener(twin, slots, router, shutdown));
        served.map(|_| ())
    }
}

async fn listen(address: SocketAddr) -> Result<TcpListener, StartError> {
    let listener = TcpListener::bind(address).await;
    listener.map_err(|source| match source.kind() {
        io::ErrorKind::AddrInUse => StartError::AddressInUse { address },
        _ => StartError::Bind { address, source },
    })
}

async fn serve_listener(
    listener: TcpListener,
    slots: ConnectionSlots,
    router: Router,
    shutdown: &Shutdown,
) -> Result<(), StartError> {
    // Otherwise the system would hold small messages back, such as acknowledgements of input.
    let listener = slots.limit(listener).tap_io(|connection| {
        if let Err(error) = connection.set_nodelay(true) {
            tracing::debug!(%error, "a connection cannot send without delay");
        }
    });
    let draining = shutdown.clone();
    let service = router.into_make_service_with_connect_info::<SocketAddr>();
    let serving = axum::serve(listener, service)
        .with_graceful_shutdown(async move { draining.draining().await });
    serving.into_future().await.map_err(StartError::Serve)
}

async fn serve(
    listeners: Listeners,
    router: Router,
    folder: PathBuf,
    shutdown: Shutdown,
) -> Result<(), StartError> {
    let overdue = async {
        shutdown.draining().await;
        tokio::select! {
            () = tokio::time::sleep(GRACE_PERIOD) => {}
            () = shutdown.stopping() => {}
        }
    };
    let address = listeners.address;
    let served = tokio::select! {
        served = listeners.serve(router, &shutdown) => served,
        () = overdue => {
            tracing::warn!("cutting off open requests of the gateway");
            Ok(())
        }
    };
    address::withdraw(&folder, address);
    served
}

fn app(
    config: &Config,
    services: Services,
    local: LocalToken,
    folder: &Path,
    address: SocketAddr,
    shutdown: &Shutdown,
) -> Result<App, StartError> {
    let refusals = services.refusals.clone();
    let upstream = Arc::new(Upstream::new(services));
    let quotas = Arc::new(Quotas::default());
    let page = PageAddress::open(config, folder, address).map_err(StartError::Folder)?;
    let sessions = BrowserSessions::open(folder.to_owned(), Arc::new(SystemClock));
    let access = Access::new(
        sessions,
        local,
        Arc::clone(&upstream),
        Arc::clone(&quotas),
        page.clone(),
        refusals,
    );
    let access = Arc::new(access);
    let screens = Arc::new(Screens::new(Arc::clone(&upstream)));
    let streams = StreamContext {
        upstream: Arc::clone(&upstream),
        quotas,
        shutdown: shutdown.clone(),
    };
    Ok(App {
        page,
        access,
        upstream,
        screens,
        streams,
    })
}

fn router(config: &Config, app: App) -> Router {
    let proxy = Proxy::for_browsers(Arc::clone(&app.upstream), Arc::clone(&app.streams.quotas));
    let orchestrator = format!("/{ORCHESTRATOR}/{{method}}");
    let mcp = McpService::new(app.streams.clone(), config.direct_actions);
    let mcp = Router::new()
        .route_service(MCP, mcp.http())
        .route_layer(from_fn_with_state(mcp, check_session));
    let authenticated = Router::new()
        .route("/api/session", get(session_api::describe_session))
        .route("/api/login-links", post(session_api::create_link))
        .route("/api/logout", post(session_api::log_out))
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
        .route("/api/operate/tasks/{task}", get(operate))
        .route("/api/live/tasks/{task}", get(watch_screen_of_task))
        .route("/api/chat/send", post(chat::send))
        .route("/api/chat/stop", post(chat::stop))
        .route("/api/chat/ack-user-action", post(chat::acknowledge))
        .route("/api/chat/stream", get(chat::follow))
        .route("/task", post(chat::create))
        .route("/task/{id}", get(chat::get))
        .route(
            "/api/v1/tasks",
            get(resources::list_tasks).post(resources::create_task),
        )
        .route(
            "/api/v1/tasks/{task}",
            get(resources::get_task).delete(resources::delete_task),
        )
        .route("/api/v1/tasks/{task}/steps", get(resources::list_steps))
        .route("/api/v1/tasks/{task}/frame", get(frame_of_task))
        .route(
            "/api/v1/tasks/{task}/approvals",
            get(resources::list_approvals_of_task),
        )
        .route(
            "/api/v1/tasks/{task}/approvals/{approval}",
            get(resources::get_approval),
        )
        .route("/api/v1/tasks/{task}/cancel", post(resources::cancel_task))
        .route("/api/v1/tasks/{task}/pause", post(resources::pause_task))
        .route("/api/v1/tasks/{task}/resume", post(resources::resume_task))
        .route("/api/v1/tasks/{task}/take-over", post(resources::take_over))
        .route("/api/v1/tasks/{task}/hand-back", post(resources::hand_back))
        .route(
            "/api/v1/tasks/{task}/messages",
            post(resources::send_message),
        )
        .route(
            "/api/v1/tasks/{task}/approvals/{approval}/approve",
            post(resources::approve),
        )
        .route(
            "/api/v1/tasks/{task}/approvals/{approval}/deny",
            post(resources::deny),
        )
        .route(
            "/api/v1/desktops/{desktop}/drain",
            post(resources::drain_desktop),
        )
        .route(
            "/api/v1/desktops/{desktop}/undrain",
            post(resources::undrain_desktop),
        )
        .route("/api/v1/policy", get(resources::get_policy))
        .route("/api/v1/policy/test", post(resources::test_policy))
        .route("/api/v1/approvals", get(resources::list_approvals))
        .route("/api/v1/desktops", get(resources::list_desktops))
        .route("/api/v1/desktops/{desktop}", get(resources::get_desktop))
        .route("/api/v1/desktops/{desktop}/frame", get(frame_of_desktop))
        .route(
            "/api/v1/sessions",
            get(resources::list_sessions).post(resources::create_session),
        )
        .route(
            "/api/v1/sessions/{session}",
            get(resources::get_session).delete(resources::delete_session),
        )
        .route("/api/openapi.json", get(openapi::describe))
        .route("/api/desktops/{desktop}/live", get(watch_screen))
        .route_service("/api/desktops/{desktop}/{service}/{method}", proxy.clone())
        .route_service(&orchestrator, proxy)
        .merge(mcp)
        .route_layer(from_fn_with_state(
            Arc::clone(&app.access),
            access::require_caller,
        ));
    let rules = Arc::new(RequestRules::new(config, &app.page.host));
    Router::new()
        .route("/login", get(session_api::follow_link))
        .route("/api/login", post(session_api::log_in))
        .merge(authenticated)
        .fallback(page::serve)
        .layer(DefaultBodyLimit::max(MAX_JSON_BYTES))
        .layer(from_fn_with_state(rules, check_request))
        .with_state(app)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_taken_port_is_stepped_over() {
        let taken = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = taken.local_addr().unwrap();
        let refused = Listeners::bind(address).await;
        assert!(matches!(refused, Err(StartError::AddressInUse { .. })));
        let refused = Listeners::bind_nearby(address, 0).await;
        assert!(matches!(refused, Err(StartError::AddressInUse { .. })));
        let nearby = Listeners::bind_nearby(address, FURTHER_PORTS)
            .await
            .unwrap();
        let distance = nearby.address.port() - address.port();
        assert!((1..=FURTHER_PORTS).contains(&distance), "{nearby:?}");
    }

    #[tokio::test]
    async fn no_other_program_answers_at_the_other_loopback_address() {
        let Ok(other) = TcpListener::bind("[::1]:0").await else {
            // Without IPv6 there is none.
            return;
        };
        let port = other.local_addr().unwrap().port();
        let refused = Listeners::bind(SocketAddr::from(([127, 0, 0, 1], port))).await;
        assert!(
            matches!(refused, Err(StartError::AddressInUse { .. })),
            "{refused:?}"
        );
        let own = Listeners::bind("127.0.0.1:0".parse().unwrap())
            .await
            .unwrap();
        let twin = SocketAddr::from((Ipv6Addr::LOCALHOST, own.address.port()));
        assert!(TcpListener::bind(twin).await.is_err());
    }
}
