//! RPCs of the desktop pool. Registered desktops are stored, so that they are still known after a restart.
//!
//! A caller cannot change a desktop of the configuration, nor register addresses that the operator has not allowed.

use std::time::SystemTime;

use motorium_kit::principal::{DEFAULT_TENANT, Principal};
use motorium_proto::convert::wire_time;
use motorium_proto::domain::desktop::Desktop;
use motorium_proto::domain::id::DesktopName;
use motorium_proto::error::FieldError;
use motorium_proto::v1::common;
use motorium_proto::v1::orchestrator as wire;
use motorium_store::{Collection, PutResource, RequestId};
use prost::Message as _;

use super::commands::request_id;
use super::{Edge, ownership, page};
use crate::desktops::{DesktopSource, PooledDesktop};
use crate::error::Error;
use motorium_recording::ports::Ports;
use motorium_task::spec::DesktopSelector;

impl Edge {
    pub(super) async fn register(
        &self,
        request: wire::RegisterDesktopRequest,
    ) -> Result<common::Desktop, Error> {
        ownership::check_deployment_admin()?;
        let id = request_id("RegisterDesktop", &request.request_id, &request)?;
        let message = request
            .desktop
            .ok_or_else(|| FieldError::missing("desktop"))?;
        let desktop = Desktop::try_from(message).map_err(|error| error.within("desktop"))?;
        self.refresh_desktops().await?;
        let known = self.desktops.get(&desktop.name);
        let configured = known.filter(|entry| entry.source == DesktopSource::Configured);
        let (ports, source) = match configured {
            None => (self.connect(&desktop)?, DesktopSource::Registered),
            // Changes nothing, and ends a drain.
            Some(entry) if entry.desktop == desktop => (entry.ports, entry.source),
            Some(_) => {
                return Err(Error::DesktopConfigured { name: desktop.name });
            }
        };
        self.store_desktop(&desktop, false, id).await?;
        let name = desktop.name.clone();
        let entry = self.desktops.put(desktop, ports, source);
        // The store kept a later drain if this call is a repeated one.
        self.refresh_desktops().await?;
        let entry = self.desktops.get(&name).unwrap_or(entry);
        self.wake_dispatcher.notify_one();
        Ok(message_of(entry, &ownership::caller()?))
    }

    /// Connects to the services of a desktop that a caller registers. Sends no request yet.
    fn connect(&self, desktop: &Desktop) -> Result<Ports, Error> {
        self.registration.check(desktop)?;
        let ports = self.desktops.connect(desktop, DesktopSource::Registered);
        Ok(ports.map_err(|error| error.within("desktop"))?)
    }

    /// Reads what other orchestrators have changed of the desktops.
    pub(super) async fn refresh_desktops(&self) -> Result<(), Error> {
        let store = self.store.as_ref();
        Ok(self
            .desktops
            .sync_with_store(store, &self.registration)
            .await?)
    }

    pub(super) async fn listed_desktops(
        &self,
        request: &wire::ListDesktopsRequest,
    ) -> Result<wire::ListDesktopsResponse, Error> {
        let principal = ownership::caller()?;
        self.refresh_desktops().await?;
        let labelled = |entry: &PooledDesktop| {
            request
                .labels
                .iter()
                .all(|(key, value)| entry.desktop.labels.get(key) == Some(value))
        };
        let visible = |entry: &PooledDesktop| is_visible(&entry.desktop, &principal);
        let entries = self.desktops.list().into_iter();
        let entries = entries.filter(labelled).filter(visible);
        let desktops = entries.map(|entry| message_of(entry, &principal)).collect();
        let (desktops, next_page_token) = page(desktops, request.page_size, &request.page_token)?;
        Ok(wire::ListDesktopsResponse {
            desktops,
            next_page_token,
        })
    }

    pub(super) async fn drain(
        &self,
        request: wire::DrainDesktopRequest,
    ) -> Result<common::Desktop, Error> {
        ownership::check_deployment_admin()?;
        let id = request_id("DrainDesktop", &request.request_id, &request)?;
        let name = DesktopName::parse("name", &request.name)?;
        self.refresh_desktops().await?;
        let known = self.desktops.get(&name);
        let known = known.ok_or_else(|| self.desktop_not_found(&name))?;
        self.store_desktop(&known.desktop, true, id).await?;
        let drained = self.desktops.drain(&name);
        let drained = drained.ok_or_else(|| self.desktop_not_found(&name))?;
        Ok(message_of(drained, &ownership::caller()?))
    }

    pub(super) async fn unregister(
        &self,
        request: wire::UnregisterDesktopRequest,
    ) -> Result<(), Error> {
        ownership::check_deployment_admin()?;
        let id = request_id("UnregisterDesktop", &request.request_id, &request)?;
        let name = DesktopName::parse("name", &request.name)?;
        self.refresh_desktops().await?;
        match self.desktops.get(&name) {
            Some(entry) if entry.source == DesktopSource::Configured => {
                return Err(Error::DesktopNotRegistered { name });
            }
            Some(entry) if entry.task.is_some() => return Err(Error::DesktopBusy { name }),
            _ => {}
        }
        let (resource, now) = (name.to_string(), SystemTime::now());
        let removed = self.store.remove_resource(&resource, id, now);
        match removed.await {
            Ok(()) => {}
            Err(motorium_store::Error::ResourceNotFound { .. }) => {
                return Err(self.desktop_not_found(&name));
            }
            Err(error) => return Err(error.into()),
        }
        self.refresh_desktops().await
    }

    /// Returns an error if the selector of a task of this tenant names an unknown desktop, one that lacks the required labels, or
    /// one that does not admit the tenant.
    pub(super) async fn check_selector(
        &self,
        selector: &DesktopSelector,
        tenant: &str,
    ) -> Result<(), Error> {
        let Some(name) = &selector.desktop else {
            return Ok(());
        };
        self.refresh_desktops().await?;
        let principal = ownership::caller()?;
        let found = self.desktops.get(name);
        let found = found.filter(|entry| is_visible(&entry.desktop, &principal));
        let found = found.ok_or_else(|| self.desktop_not_found(name))?;
        // Administrators see desktops that a task would never be given.
        if !found.desktop.admits(tenant) {
            let description = format!("{name} is not for tasks of the tenant `{tenant}`");
            return Err(FieldError::new("task.desktop_selector.desktop", description).into());
        }
        if !self.desktops.could_serve(selector) {
            let description = format!("{name} does not have all of these labels");
            return Err(FieldError::new("task.desktop_selector.labels", description).into());
        }
        Ok(())
    }

    async fn store_desktop(
        &self,
        desktop: &Desktop,
        draining: bool,
        request: Option<RequestId>,
    ) -> Result<(), Error> {
        let mut message = common::Desktop::from(desktop.clone());
        if draining {
            message.set_state(common::desktop::State::Draining);
        }
        let put = PutResource {
            collection: Collection::Desktops,
            name: desktop.name.to_string(),
            tenant: DEFAULT_TENANT.to_owned(),
            body: message.encode_to_vec().into(),
            labels: desktop.labels.clone(),
            replace: true,
            request,
            now: SystemTime::now(),
        };
        self.store.put_resource(put).await?;
        Ok(())
    }

    fn desktop_not_found(&self, name: &DesktopName) -> Error {
        let is_visible = |desktop: &Desktop| {
            ownership::caller().is_ok_and(|principal| is_visible(desktop, &principal))
        };
        let known: Vec<String> = self
            .desktops
            .list()
            .iter()
            .filter(|entry| is_visible(&entry.desktop))
            .map(|entry| entry.desktop.name.to_string())
            .collect();
        let known = if known.is_empty() {
            "none".to_owned()
        } else {
            known.join(", ")
        };
        Error::DesktopNotFound {
            name: name.to_string(),
            known,
        }
    }
}

/// Returns whether a principal sees a desktop: its tasks may use it, or it administers the deployment.
fn is_visible(desktop: &Desktop, principal: &Principal) -> bool {
    let mut tenants = desktop.tenants.iter();
    desktop.tenants.is_empty() || tenants.any(|tenant| ownership::sees(principal, tenant))
}

/// Returns a desktop as a principal sees it.
fn message_of(entry: PooledDesktop, principal: &Principal) -> common::Desktop {
    use common::desktop::State;

    let state = match &entry.task {
        _ if entry.draining => State::Draining,
        Some(_) => State::Leased,
        None if !entry.reachable => State::Unreachable,
        None => State::Available,
    };
    // The task of another tenant has no name for the caller.
    let task = entry.task.filter(|_| {
        let tenant = entry.tenant.as_deref();
        tenant.is_some_and(|tenant| ownership::sees(principal, tenant))
    });
    common::Desktop {
        state: state.into(),
        task: task.map(|task| task.to_string()).unwrap_or_default(),
        create_time: Some(wire_time(entry.created_at)),
        ..entry.desktop.into()
    }
}
