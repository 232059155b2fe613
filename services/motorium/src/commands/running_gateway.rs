//! The gateway that runs: its address, and the token of the user for it.
//!
//! It starts none: `motorium up` does.

use std::net::SocketAddr;
use std::path::Path;

use motorium_gateway::{Settings, folder as gateway_folder, own_token, running_address};
use motorium_kit::config::{LayeredConfig, ListenAddress, Secret};
use motorium_kit::{http_client, socket_owner};
use motorium_messages::Message;
use reqwest::{Client, Url};

use crate::error::Error;
use crate::show::text;

/// A gateway that a command calls.
pub(super) struct RunningGateway {
    /// URL, without a slash at its end.
    pub(super) url: String,
    pub(super) token: Option<Secret>,
    /// The source of the token, in words.
    token_origin: String,
    /// The token was given for it, by a flag or the configuration.
    is_given: bool,
}

impl RunningGateway {
    /// Finds the gateway of the flags and the configuration, or else the one that has said that it runs. Sends nothing yet.
    ///
    /// # Errors
    /// If the gateway is disabled, or the token cannot be read.
    pub(super) fn find(
        loaded: &LayeredConfig,
        url: Option<&str>,
        token_file: Option<&Path>,
    ) -> Result<Self, Error> {
        let url = gateway_url(loaded, url)?;
        let found = token(loaded, token_file, &url)?;
        let is_given = token_file.is_some() || loaded.common()?.client("").token.is_some();
        Ok(Self {
            url,
            token: found.token,
            token_origin: found.origin,
            is_given,
        })
    }

    /// Returns what is wrong, in words, if the gateway is one of another user that must not receive the token.
    pub(super) async fn check(&self) -> Result<(), String> {
        self.find_own().await.map(drop)
    }

    /// Creates an HTTP client for it, or says what is wrong in words. A gateway on this machine must be one of this user, on every
    /// connection, unless its token was given for it.
    pub(super) async fn client(&self) -> Result<Client, String> {
        let builder = match self.url.starts_with("https:") {
            true => http_client::with_root_certificates(None),
            false => http_client::plaintext(),
        };
        let mut builder = builder.map_err(|error| error.to_string())?;
        if let Some((host, address)) = self.find_own().await? {
            // A name may lead to servers of others as well.
            builder = http_client::to_own_servers(builder.resolve(&host, address));
        }
        builder.build().map_err(|error| error.to_string())
    }

    /// Finds the server of this user behind the host of the gateway, if it must be one.
    async fn find_own(&self) -> Result<Option<(String, SocketAddr)>, String> {
        let url = Url::parse(&self.url).map_err(|error| error.to_string())?;
        if self.is_given || !http_client::is_loopback(&url) {
            return Ok(None);
        }
        let host = url.host_str().unwrap_or_default();
        let host = host.trim_start_matches('[').trim_end_matches(']');
        let port = url.port_or_known_default().unwrap_or_default();
        let connected = socket_owner::connect(host, port).await;
        let connected = connected.map_err(|error| error.to_string())?;
        let address = connected.peer_addr().map_err(|error| error.to_string())?;
        Ok(Some((host.to_owned(), address)))
    }

    /// Returns the error of a gateway that does not do what it should, with advice.
    pub(super) fn not_served(&self, problem: &str) -> Error {
        let url = self.url.as_str();
        Error::Start(text(Message::PageNotServed { url, problem }))
    }

    /// Returns the error of a gateway that does not accept the token.
    pub(super) fn refused_token(&self) -> Error {
        let (url, origin) = (self.url.as_str(), self.token_origin.as_str());
        Error::Start(text(Message::PageTokenRefused { url, origin }))
    }
}

/// A token and its source in words.
struct FoundToken {
    token: Option<Secret>,
    origin: String,
}

fn gateway_url(loaded: &LayeredConfig, given: Option<&str>) -> Result<String, Error> {
    let settings: Settings = loaded.section()?;
    if let Some(url) = given.or(settings.public_url.as_deref()) {
        return Ok(at_loopback(url.trim_end_matches('/')));
    }
    if !settings.enabled {
        return Err(Error::Usage(text(Message::PageDisabled)));
    }
    // Another program may have had the configured port when it started.
    if let Some(address) = running_address(&gateway_folder(loaded.common()?.data()?)) {
        return Ok(format!("http://{address}"));
    }
    let ListenAddress(listen) = settings.listen;
    let address = match listen.ip().is_unspecified() {
        true => SocketAddr::from(([127, 0, 0, 1], listen.port())),
        false => listen,
    };
    Ok(format!("http://{address}"))
}

/// Returns the token of the flags or the configuration, or else that of the user or of the gateway of this data folder.
fn token(
    loaded: &LayeredConfig,
    token_file: Option<&Path>,
    url: &str,
) -> Result<FoundToken, Error> {
    if let Some(path) = token_file {
        let read = std::fs::read_to_string(path).map_err(|source| Error::File {
            path: path.to_owned(),
            source,
        });
        return Ok(FoundToken {
            token: Some(Secret::new(read?.trim())),
            origin: path.display().to_string(),
        });
    }
    let common = loaded.common()?;
    let of_user = common.client(url).effective_token();
    if let Some(token) = of_user.map_err(|error| Error::Usage(error.to_string()))? {
        return Ok(FoundToken {
            token: Some(token),
            origin: text(Message::TokenOfConfiguration),
        });
    }
    let folder = gateway_folder(common.data()?);
    let token = own_token(&folder).map_err(|source| Error::File {
        path: folder.clone(),
        source,
    })?;
    let path = &folder.to_string_lossy();
    let origin = text(Message::TokenOfDataFolder { path });
    Ok(FoundToken { token, origin })
}

/// Returns a URL below `localhost`, as the page has one, with the address in place of the name. Browsers resolve such names
/// themselves; this system may not, and they are not known to be of this machine, which alone receives the user's token.
fn at_loopback(url: &str) -> String {
    let parts = url.strip_prefix("http://").map(|authority| {
        let port = authority.find(':').unwrap_or(authority.len());
        authority.split_at(port)
    });
    match parts {
        Some((host, port)) if host.ends_with(".localhost") => format!("http://127.0.0.1{port}"),
        _ => url.to_owned(),
    }
}
