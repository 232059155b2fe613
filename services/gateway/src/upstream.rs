//! Connections to the services, each with the token of its caller.
//!
//! Which service may receive a token is decided by the rules of `motorium_kit::client`: the configured ones do, and those of
//! registered desktops only if `client.audiences` lists them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::extract::{FromRef, FromRequestParts};
use http::request::Parts;
use motorium_kit::client::{Channel, Config};
use motorium_proto::error::{ErrorReport, reason};
use motorium_proto::limits::{MAX_IMAGE_MESSAGE_BYTES, MAX_PAGE_SIZE};
use motorium_proto::v1::common::Desktop;
use motorium_proto::v1::orchestrator as wire;
use motorium_proto::v1::orchestrator::orchestrator_service_client::OrchestratorServiceClient;
use tokio::time::Instant;
use tonic::Code;

use crate::caller::{Caller, Fingerprint};
use crate::config::Services;
use crate::error::Error;

/// Time for which the addresses of a desktop are remembered.
// A person who steers a desktop sends many calls a second. A desktop that moves is found again after this time.
const DESKTOP_CACHE: Duration = Duration::from_secs(5);
/// Time for which a token counts as accepted by the Orchestrator.
// A revoked token is refused by the services at once in any case.
const TOKEN_CACHE: Duration = Duration::from_secs(30);
/// Maximum number of entries of each cache.
// Callers and desktops are few. When a cache is full, it starts anew.
const MAX_CACHED: usize = 256;
/// Client of the Orchestrator, on behalf of one caller.
pub(crate) type OrchestratorClient = OrchestratorServiceClient<Channel>;

/// The services behind the gateway.
#[derive(Debug)]
pub(crate) struct Upstream {
    services: Services,
    channels: Mutex<HashMap<(Fingerprint, String), Channel>>,
    desktops: Mutex<HashMap<(Fingerprint, String), (Instant, DesktopAddress)>>,
    accepted: Mutex<HashMap<Fingerprint, Instant>>,
    callers: Mutex<HashMap<Fingerprint, (Instant, wire::GetCallerResponse)>>,
}

/// A service of a desktop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DesktopService {
    Perception,
    Executor,
}

/// Addresses of a desktop.
#[derive(Debug, Clone)]
pub(crate) struct DesktopAddress {
    /// Display, empty for the default one.
    pub(crate) display: String,
    perception: String,
    executor: String,
}

impl Upstream {
    pub(crate) fn new(services: Services) -> Self {
        Self {
            services,
            channels: Mutex::default(),
            desktops: Mutex::default(),
            accepted: Mutex::default(),
            callers: Mutex::default(),
        }
    }

    /// Returns the client of the Orchestrator on behalf of a caller.
    pub(crate) fn orchestrator(&self, caller: &Caller) -> Result<OrchestratorClient, Error> {
        let client = OrchestratorServiceClient::new(self.orchestrator_channel(caller)?);
        Ok(client.max_decoding_message_size(MAX_IMAGE_MESSAGE_BYTES))
    }

    /// Returns the channel to the Orchestrator on behalf of a caller.
    pub(crate) fn orchestrator_channel(&self, caller: &Caller) -> Result<Channel, Error> {
        self.channel(caller, &self.services.orchestrator, true)
    }

    /// Returns the channel to a service of a desktop on behalf of a caller.
    pub(crate) fn desktop_channel(
        &self,
        caller: &Caller,
        desktop: &DesktopAddress,
        service: DesktopService,
    ) -> Result<Channel, Error> {
        let (named, own) = match service {
            DesktopService::Perception => (&desktop.perception, &self.services.perception),
            DesktopService::Executor => (&desktop.executor, &self.services.executor),
        };
        match named.as_str() {
            "" => self.channel(caller, own, true),
            uri => self.channel(caller, uri, false),
        }
    }

    /// Returns the addresses of a desktop that the caller may see. `name` is the last segment of its name.
    pub(crate) async fn desktop(
        &self,
        caller: &Caller,
        name: &str,
    ) -> Result<DesktopAddress, Error> {
        let key = (caller.identity(), name.to_owned());
        if let Some((found, address)) = lock(&self.desktops).get(&key)
            && found.elapsed() < DESKTOP_CACHE
        {
            return Ok(address.clone());
        }
        let desktop = self.get_desktop(caller, name).await?;
        let address = DesktopAddress {
            display: desktop.display,
            perception: desktop.perception_endpoint,
            executor: desktop.executor_endpoint,
        };
        remember(&self.desktops, key, (Instant::now(), address.clone()));
        Ok(address)
    }

    /// Returns the last segment of the name of the only desktop that the caller may see.
    pub(crate) async fn only_desktop(&self, caller: &Caller) -> Result<String, Error> {
        let listed = self.list_desktops(caller).await?;
        let mut names = listed.iter().map(|desktop| desktop.name.as_str());
        match (names.next(), names.next()) {
            (Some(name), None) => Ok(name.trim_start_matches("desktops/").to_owned()),
            (None, _) => Err(Error::DesktopNotFound {
                name: String::new(),
            }),
            _ => {
                let names: Vec<&str> = listed.iter().map(|one| one.name.as_str()).collect();
                let names = names.join(", ");
                Err(Error::DesktopUnclear { names })
            }
        }
    }

    /// Returns a desktop as the Orchestrator lists it to the caller, by the last segment of its name.
    ///
    /// # Errors
    /// `DESKTOP_NOT_FOUND`, or those of the call.
    pub(crate) async fn get_desktop(&self, caller: &Caller, name: &str) -> Result<Desktop, Error> {
        let name = format!("desktops/{name}");
        let listed = self.list_desktops(caller).await?;
        let desktop = listed.into_iter().find(|one| one.name == name);
        desktop.ok_or(Error::DesktopNotFound { name })
    }

    /// Returns all desktops that the caller may see.
    pub(crate) async fn list_desktops(&self, caller: &Caller) -> Result<Vec<Desktop>, Error> {
        let mut client = self.orchestrator(caller)?;
        let mut desktops = Vec::new();
        let mut page_token = String::new();
        loop {
            let request = wire::ListDesktopsRequest {
                page_size: MAX_PAGE_SIZE,
                page_token,
                ..Default::default()
            };
            let page = client.list_desktops(request).await?.into_inner();
            desktops.extend(page.desktops);
            page_token = page.next_page_token;
            if page_token.is_empty() {
                return Ok(desktops);
            }
        }
    }

    /// Returns true if the Orchestrator has accepted the token of a caller a short time ago.
    pub(crate) fn is_known(&self, caller: &Caller) -> bool {
        let known = lock(&self.accepted).get(&caller.identity()).copied();
        known.is_some_and(|since| since.elapsed() < TOKEN_CACHE)
    }

    /// Checks that the Orchestrator knows the token of a caller. What the caller may do is decided with each call.
    pub(crate) async fn check_token(&self, caller: &Caller) -> Result<(), Error> {
        if self.is_known(caller) {
            return Ok(());
        }
        let request = wire::ListDesktopsRequest {
            page_size: 1,
            ..Default::default()
        };
        match self.orchestrator(caller)?.list_desktops(request).await {
            Err(status) if status.code() == Code::Unauthenticated => Err(Error::TokenRejected),
            Err(status) if status.code() != Code::PermissionDenied => Err(status.into()),
            _ => {
                remember(&self.accepted, caller.identity(), Instant::now());
                Ok(())
            }
        }
    }

    /// Returns who a caller is. For display: what the caller may do is decided with each call.
    pub(crate) async fn describe(&self, caller: &Caller) -> Result<wire::GetCallerResponse, Error> {
        let key = caller.identity();
        let known = lock(&self.callers).get(&key).cloned();
        if let Some((since, known)) = known
            && since.elapsed() < TOKEN_CACHE
        {
            return Ok(known);
        }
        let request = wire::GetCallerRequest {};
        let described = self.orchestrator(caller)?.get_caller(request).await?;
        let described = described.into_inner();
        remember(&self.callers, key, (Instant::now(), described.clone()));
        Ok(described)
    }

    /// Returns a channel with the token of the caller. `is_configured` is false for addresses from registrations.
    fn channel(&self, caller: &Caller, uri: &str, is_configured: bool) -> Result<Channel, Error> {
        let key = (caller.identity(), uri.to_owned());
        if let Some(channel) = lock(&self.channels).get(&key) {
            return Ok(channel.clone());
        }
        let config = Config {
            uri: uri.to_owned(),
            token: caller.token().cloned(),
            own_server: self.services.are_own,
            ..self.services.client.clone()
        };
        let config = match is_configured {
            true => config,
            false => config.for_address_of_others(uri),
        };
        let channel = Channel::connect_lazy(&config).map_err(|error| {
            ErrorReport::new(Code::Unavailable, reason::TRANSPORT, error.to_string())
        })?;
        remember(&self.channels, key, channel.clone());
        Ok(channel)
    }
}

/// The Orchestrator on behalf of the caller of a request.
#[derive(Debug)]
pub(crate) struct Client(pub(crate) OrchestratorClient);

impl<S> FromRequestParts<S> for Client
where
    Arc<Upstream>: FromRef<S>,
    S: Send + Sync,
{
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Error> {
        // The middleware has identified the caller of every request that arrives here.
        let caller = parts.extensions.get::<Caller>();
        let caller = caller.ok_or(Error::LoginRequired)?;
        Arc::<Upstream>::from_ref(state)
            .orchestrator(caller)
            .map(Self)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn remember<K: Eq + std::hash::Hash, V>(cache: &Mutex<HashMap<K, V>>, key: K, value: V) {
    let mut cache = lock(cache);
    if cache.len() >= MAX_CACHED {
        cache.clear();
    }
    cache.insert(key, value);
}
