//! Remote hook: calls a user's implementation of `motorium.hook.v1` in another process.
//!
//! An unreachable hook is not an error until a task starts. A call whose connection breaks is retried once, with the
//! same idempotency key; more retries would keep the user waiting.

use std::path::PathBuf;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use motorium_kit::client::{self, Channel};
use motorium_kit::config::{HumanDuration, Secret};
use motorium_proto::error::{ErrorReport, FieldError};
use motorium_proto::limits::MAX_MESSAGE_BYTES;
use motorium_proto::v1::hook as wire;
use motorium_proto::v1::hook::hook_service_client::HookServiceClient;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tonic::{Request, Response, Status};

use super::event::{HookEvent, HookPoints};
use super::{DEFAULT_TIMEOUT, Error, Hook, HookContext, HookErrorPolicy, HookVerdict, messages};
use crate::error::is_transient;

/// Settings of the hook.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Name of the hook in events and errors. Unique among the hooks.
    pub name: String,
    /// Address of the HookService: `http://host:port`, or `https://host:port` for TLS. Required.
    pub address: String,
    /// Timeout of a call.
    pub timeout: HumanDuration,
    /// Consequence of a failed call: deny the event, or continue without the hook.
    pub on_error: HookErrorPolicy,
    /// Token sent as `authorization: Bearer …`.
    pub token: Option<Secret>,
    /// PEM file of the certificate authority to trust, for TLS.
    #[schemars(extend("format" = "path"), example = "/etc/motorium/ca.crt")]
    pub ca_file: Option<PathBuf>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            name: "service".to_owned(),
            address: String::new(),
            timeout: HumanDuration(DEFAULT_TIMEOUT),
            on_error: HookErrorPolicy::Deny,
            token: None,
            ca_file: None,
        }
    }
}

/// Client of a hook service.
#[derive(Debug)]
pub struct RemoteHook {
    name: String,
    on_error: HookErrorPolicy,
    timeout: Duration,
    config: client::Config,
    /// Created at the first call, because it needs a runtime.
    channel: OnceLock<Channel>,
    wants_images: AtomicBool,
}

type Client = HookServiceClient<Channel>;

impl RemoteHook {
    /// # Errors
    /// If the address is invalid, the certificate cannot be read, or the timeout is zero.
    pub fn new(settings: Settings) -> Result<Self, FieldError> {
        if settings.timeout.0.is_zero() {
            let problem = "must not be zero; give a duration such as 5s";
            return Err(FieldError::new("timeout", problem));
        }
        let mut config = client::Config::foreign(address(settings.address)?);
        config.token = settings.token;
        config.default_timeout = Some(settings.timeout.0);
        if let Some(path) = settings.ca_file {
            let read = std::fs::read_to_string(&path);
            config.ca = Some(read.map_err(|error| {
                FieldError::new(
                    "ca_file",
                    format!("{} cannot be read: {error}", path.display()),
                )
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
        Ok(Client::new(channel).max_decoding_message_size(MAX_MESSAGE_BYTES))
    }

    /// Calls the service, and once more if the connection was broken.
    async fn call_with_retry<T, F>(&self, call: impl Fn(Client) -> F) -> Result<T, Error>
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
impl Hook for RemoteHook {
    fn name(&self) -> &str {
        &self.name
    }

    async fn points(&self) -> Result<HookPoints, Error> {
        let described = self
            .call_with_retry(|mut client| async move {
                client.describe_hook(wire::DescribeHookRequest {}).await
            })
            .await?;
        self.wants_images
            .store(described.wants_images, Ordering::Relaxed);
        messages::points(&described)
    }

    async fn call(
        &self,
        context: &HookContext<'_>,
        hook_event: &HookEvent<'_>,
    ) -> Result<HookVerdict, Error> {
        let wants_images = self.wants_images.load(Ordering::Relaxed);
        let request = messages::request(context, hook_event, wants_images);
        let response = self
            .call_with_retry(|mut client| {
                let request = Request::new(request.clone());
                async move { client.call_hook(request).await }
            })
            .await?;
        if !hook_event.point().accepts_verdict() {
            return Ok(HookVerdict::Continue);
        }
        messages::verdict(response, hook_event.point())
    }

    fn on_error(&self) -> HookErrorPolicy {
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
    fn hook_service_address_must_be_http() {
        for good in ["http://127.0.0.1:7801", "https://hooks.example:443"] {
            assert_eq!(address(good.to_owned()).as_deref(), Ok(good));
        }
        for bad in ["", "127.0.0.1:7801", "unix:/tmp/hook", "ftp://host"] {
            let error = address(bad.to_owned()).unwrap_err();
            assert!(error.description.contains("such as http://"), "{error:?}");
        }
    }
}
