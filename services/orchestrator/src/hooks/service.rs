//! A hook in another process: `motorium.hook.v1`, implemented by a user in any language.
//!
//! That nobody is there is no error before a task begins. A call whose connection breaks is made once more, under the same
//! name; more is not tried, because people wait.

use std::path::PathBuf;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use motorium_kit::client::{self, Channel};
use motorium_kit::config::{Secret, Span};
use motorium_proto::error::{ErrorReport, FieldError};
use motorium_proto::limits::MAX_MESSAGE;
use motorium_proto::v1::hook as wire;
use motorium_proto::v1::hook::hook_service_client::HookServiceClient;
use serde::{Deserialize, Serialize};
use tonic::{Request, Response, Status};

use super::happening::{Happening, Points};
use super::{Context, DEFAULT_TIMEOUT, Error, Hook, OnError, Verdict, wire_form};
use crate::run::is_transient;

/// As written.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    pub name: String,
    /// `http://host:port`, or `https://host:port` for TLS.
    pub address: String,
    /// How long a call may take.
    pub timeout: Span,
    /// What follows if it cannot be asked: `deny` or `continue`.
    pub on_error: OnError,
    /// Sent as `authorization: Bearer …`.
    pub token: Option<Secret>,
    /// PEM file of the authority that signed its certificate, for TLS.
    pub ca: Option<PathBuf>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            name: "service".to_owned(),
            address: String::new(),
            timeout: Span(DEFAULT_TIMEOUT),
            on_error: OnError::Deny,
            token: None,
            ca: None,
        }
    }
}

/// Asks somebody else's service.
#[derive(Debug)]
pub struct Service {
    name: String,
    on_error: OnError,
    timeout: Duration,
    config: client::Config,
    /// Made at the first call: it needs a runtime.
    channel: OnceLock<Channel>,
    wants_images: AtomicBool,
}

type Client = HookServiceClient<Channel>;

impl Service {
    /// # Errors
    /// If the address is none, the certificate cannot be read, or no time is given.
    pub fn new(settings: Settings) -> Result<Self, FieldError> {
        if settings.timeout.0.is_zero() {
            let problem = "nobody could answer in no time; give a time, such as 5s";
            return Err(FieldError::new("timeout", problem));
        }
        let mut config = client::Config::new(address(settings.address)?);
        config.token = settings.token;
        config.default_timeout = Some(settings.timeout.0);
        if let Some(path) = settings.ca {
            let read = std::fs::read_to_string(&path);
            config.ca = Some(read.map_err(|error| {
                FieldError::new("ca", format!("{} cannot be read: {error}", path.display()))
            })?);
        }
        Ok(Self {
            name: settings.name,
            on_error: settings.on_error,
            timeout: settings.timeout.0,
            config,
            channel: OnceLock::new(),
            wants_images: AtomicBool::new(false),
        })
    }

    fn client(&self) -> Result<Client, Error> {
        let channel = match self.channel.get() {
            Some(channel) => channel.clone(),
            None => {
                let made = Channel::connect_lazy(&self.config);
                let made = made.map_err(|error| Error::Failed(error.to_string()))?;
                self.channel.get_or_init(|| made).clone()
            }
        };
        Ok(Client::new(channel).max_decoding_message_size(MAX_MESSAGE))
    }

    /// Calls it, and once more if the connection was a broken one.
    async fn ask<T, F>(&self, call: impl Fn(Client) -> F) -> Result<T, Error>
    where
        F: Future<Output = Result<Response<T>, Status>>,
    {
        let client = self.client()?;
        let mut answer = call(client.clone()).await;
        if answer.as_ref().is_err_and(is_lost) {
            answer = call(client).await;
        }
        answer.map(Response::into_inner).map_err(|status| {
            let lost = is_lost(&status);
            let message = ErrorReport::from_status(&status).message;
            if lost {
                Error::Unreachable(message)
            } else {
                Error::Failed(message)
            }
        })
    }
}

fn is_lost(status: &Status) -> bool {
    is_transient(&ErrorReport::from_status(status))
}

fn address(written: String) -> Result<String, FieldError> {
    let parsed = url::Url::parse(&written).ok();
    let is_address =
        parsed.is_some_and(|url| matches!(url.scheme(), "http" | "https") && url.host().is_some());
    if is_address {
        return Ok(written);
    }
    let problem =
        format!("`{written}` is not an address of a service, such as http://127.0.0.1:7801");
    Err(FieldError::new("address", problem))
}

#[async_trait]
impl Hook for Service {
    fn name(&self) -> &str {
        &self.name
    }

    async fn points(&self) -> Result<Points, Error> {
        let described =
            self.ask(|mut client| async move {
                client.describe_hook(wire::DescribeHookRequest {}).await
            })
            .await?;
        self.wants_images
            .store(described.wants_images, Ordering::Relaxed);
        wire_form::points(&described)
    }

    async fn call(
        &self,
        context: &Context<'_>,
        happening: &Happening<'_>,
    ) -> Result<Verdict, Error> {
        let wants_images = self.wants_images.load(Ordering::Relaxed);
        let request = wire_form::request(context, happening, wants_images);
        let response = self
            .ask(|mut client| {
                let request = Request::new(request.clone());
                async move { client.call_hook(request).await }
            })
            .await?;
        if !happening.point().is_asked() {
            return Ok(Verdict::Continue);
        }
        wire_form::verdict(response, happening.point())
    }

    fn on_error(&self) -> OnError {
        self.on_error
    }

    fn timeout(&self) -> Duration {
        self.timeout
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_one_of_a_service() {
        for good in ["http://127.0.0.1:7801", "https://hooks.example:443"] {
            assert_eq!(address(good.to_owned()).as_deref(), Ok(good));
        }
        for bad in ["", "127.0.0.1:7801", "unix:/tmp/hook", "ftp://host"] {
            let error = address(bad.to_owned()).unwrap_err();
            assert!(error.description.contains("such as http://"), "{error:?}");
        }
    }
}
