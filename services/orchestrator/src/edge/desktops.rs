//! The pool as the contract has it. What registers itself is kept in the store, so that it is still known after a
//! restart.

use std::time::SystemTime;

use motorium_proto::convert::wire_time;
use motorium_proto::domain::desktop::Desktop;
use motorium_proto::domain::id::DesktopName;
use motorium_proto::error::FieldError;
use motorium_proto::v1::common;
use motorium_proto::v1::orchestrator as wire;
use motorium_store::{Collection, PutResource, RequestId};
use prost::Message as _;

use super::commands::request_id;
use super::{Edge, page};
use crate::desktops::Entry;
use crate::error::Error;
use crate::task::spec::DesktopSelector;

impl Edge {
    pub(super) async fn register(
        &self,
        request: wire::RegisterDesktopRequest,
    ) -> Result<common::Desktop, Error> {
        let id = request_id("RegisterDesktop", &request.request_id, &request)?;
        let message = request
            .desktop
            .ok_or_else(|| FieldError::missing("desktop"))?;
        let desktop = Desktop::try_from(message).map_err(|error| error.within("desktop"))?;
        let ports = self.desktops.connect(&desktop);
        let ports = ports.map_err(|error| error.within("desktop"))?;
        self.keep(&desktop, false, id).await?;
        let entry = self.desktops.admit(desktop, ports);
        self.news.notify_one();
        Ok(message_of(entry))
    }

    pub(super) fn listed_desktops(
        &self,
        request: &wire::ListDesktopsRequest,
    ) -> Result<wire::ListDesktopsResponse, Error> {
        let labelled = |entry: &Entry| {
            request
                .labels
                .iter()
                .all(|(key, value)| entry.desktop.labels.get(key) == Some(value))
        };
        let entries = self.desktops.list().into_iter().filter(labelled);
        let desktops = entries.map(message_of).collect();
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
        let id = request_id("DrainDesktop", &request.request_id, &request)?;
        let name = DesktopName::parse("name", &request.name)?;
        let known = self.desktops.get(&name);
        let known = known.ok_or_else(|| self.no_desktop(&name))?;
        self.keep(&known.desktop, true, id).await?;
        let drained = self.desktops.drain(&name);
        drained
            .map(message_of)
            .ok_or_else(|| self.no_desktop(&name))
    }

    /// Refuses a selector that names a desktop which cannot be meant.
    pub(super) fn check_selector(&self, selector: &DesktopSelector) -> Result<(), Error> {
        let Some(name) = &selector.desktop else {
            return Ok(());
        };
        if self.desktops.get(name).is_none() {
            return Err(self.no_desktop(name));
        }
        if !self.desktops.could_serve(selector) {
            let description = format!("{name} does not have all of these labels");
            return Err(FieldError::new("task.desktop_selector.labels", description).into());
        }
        Ok(())
    }

    async fn keep(
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
            body: message.encode_to_vec().into(),
            labels: desktop.labels.clone(),
            replace: true,
            request,
            now: SystemTime::now(),
        };
        self.store.put_resource(put).await?;
        Ok(())
    }

    fn no_desktop(&self, name: &DesktopName) -> Error {
        let known: Vec<String> = self
            .desktops
            .list()
            .iter()
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

fn message_of(entry: Entry) -> common::Desktop {
    use common::desktop::State;

    let state = match &entry.task {
        _ if entry.draining => State::Draining,
        Some(_) => State::Leased,
        None if !entry.reachable => State::Unreachable,
        None => State::Available,
    };
    common::Desktop {
        state: state.into(),
        task: entry.task.map(|task| task.to_string()).unwrap_or_default(),
        create_time: Some(wire_time(entry.created_at)),
        ..entry.desktop.into()
    }
}
