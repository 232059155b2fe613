//! The Orchestrator that a command talks to: one resolution of its address for all commands.
//!
//! The address is that of `--server` or `MOTORIUM_SERVER`, or else of `orchestrator.listen` in the configuration.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use motorium_client::Client;
use motorium_kit::client::{Channel, Config};
use motorium_kit::config::{ConfigFlags, LayeredConfig, ListenAddress, Secret};
use motorium_messages::Message;
use motorium_orchestrator::Settings;
use motorium_proto::error::ErrorReport;
use tonic::{Response, Status};

use crate::cli::ConnectionOptions;
use crate::error::Error;
use crate::show::text;

/// A connection to an Orchestrator.
#[derive(Debug, Clone)]
pub(crate) struct Connection {
    pub(crate) client: Client<Channel>,
    /// Address of the Orchestrator, for messages.
    pub(crate) address: String,
    /// Flags that a pasted command needs to reach the same Orchestrator, with a leading space. Often empty.
    pub(crate) flags: String,
}

impl Connection {
    /// Connects to the Orchestrator of the flags and the configuration. Sends no request yet.
    ///
    /// # Errors
    /// If the configuration or the address cannot be used, or the token file cannot be read.
    pub(crate) fn open(loaded: &LayeredConfig, server: &ConnectionOptions) -> Result<Self, Error> {
        let config = client_config(loaded, server)?;
        let channel =
            Channel::connect_lazy(&config).map_err(|error| Error::Usage(error.to_string()))?;
        Ok(Self {
            client: Client::new(channel),
            flags: flags(&config.uri, plain_address().as_deref(), server),
            address: config.uri,
        })
    }

    /// Wraps the client of an Orchestrator in this process.
    pub(crate) fn in_process(client: Client<Channel>) -> Self {
        Self {
            client,
            address: text(Message::ThisProcess),
            flags: String::new(),
        }
    }

    /// Converts a failed call to an error with advice for the user.
    pub(crate) fn error(&self, report: ErrorReport) -> Error {
        if report.reason == motorium_proto::error::reason::TRANSPORT {
            return Error::Unreachable {
                server: self.address.clone(),
                report: Box::new(report),
            };
        }
        Error::Service(report)
    }

    /// Returns the message of a response, or the error of a failed call, as [`Connection::error`].
    pub(crate) fn answer<T>(&self, response: Result<Response<T>, Status>) -> Result<T, Error> {
        let answer = response.map(Response::into_inner);
        answer.map_err(|status| self.status(&status))
    }

    /// Converts the status of a failed call, as [`Connection::error`].
    pub(crate) fn status(&self, status: &Status) -> Error {
        self.error(ErrorReport::from_status(status))
    }
}

/// Returns the address, the token and the certificates with which commands call the Orchestrator.
///
/// # Errors
/// If the configuration cannot be used, or the token file cannot be read.
pub(super) fn client_config(
    loaded: &LayeredConfig,
    server: &ConnectionOptions,
) -> Result<Config, Error> {
    let address = address(loaded, server.server.as_deref())?;
    let mut config: Config = loaded.common()?.client(address);
    if let Some(path) = &server.token_file {
        let token = std::fs::read_to_string(path).map_err(|source| Error::File {
            path: path.clone(),
            source,
        })?;
        config.token = Some(Secret::new(token.trim()));
    }
    Ok(config)
}

pub(super) fn address(loaded: &LayeredConfig, given: Option<&str>) -> Result<String, Error> {
    if let Some(given) = given {
        return Ok(given.to_owned());
    }
    let ListenAddress(listen) = loaded.section::<Settings>()?.listen;
    let scheme = if loaded.is_set("server.tls_certificate") {
        "https"
    } else {
        "http"
    };
    Ok(format!("{scheme}://{}", reachable(listen)))
}

/// Returns the address at which this machine reaches a listener.
fn reachable(listen: SocketAddr) -> SocketAddr {
    let ip = match listen.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(ip, listen.port())
}

/// Returns the address that a command without any flags uses.
fn plain_address() -> Option<String> {
    let loaded = LayeredConfig::load(ConfigFlags::default()).ok()?;
    let variable = std::env::var("MOTORIUM_SERVER").ok();
    address(&loaded, variable.as_deref()).ok()
}

fn flags(address: &str, plain: Option<&str>, server: &ConnectionOptions) -> String {
    let mut flags = String::new();
    if plain != Some(address) {
        flags += &format!(" --server {address}");
    }
    if let Some(path) = &server.token_file
        && std::env::var_os("MOTORIUM_TOKEN_FILE").is_none_or(|variable| variable != *path)
    {
        flags += &format!(" --token-file '{}'", path.display());
    }
    flags
}

#[cfg(test)]
mod tests {
    use super::*;

    fn loaded(set: &[&str]) -> LayeredConfig {
        let flags = ConfigFlags {
            set: set.iter().map(|&one| one.to_owned()).collect(),
            ..ConfigFlags::default()
        };
        LayeredConfig::load_from(&flags, motorium_kit::config::Environment::default()).unwrap()
    }

    #[test]
    fn the_address_is_given_or_configured() {
        let check = |set: &[&str], given: Option<&str>, expected: &str| {
            assert_eq!(address(&loaded(set), given).unwrap(), expected, "{set:?}");
        };
        check(&[], None, "http://127.0.0.1:7700");
        check(&[], Some("http://far:1"), "http://far:1");
        let other = "orchestrator.listen=127.0.0.1:7710";
        check(&[other], None, "http://127.0.0.1:7710");
        check(&[other], Some("http://far:1"), "http://far:1");
        check(
            &["orchestrator.listen=0.0.0.0:80"],
            None,
            "http://127.0.0.1:80",
        );
        check(&["orchestrator.listen=[::]:80"], None, "http://[::1]:80");
        let secured = "server.tls_certificate=/etc/tls.crt";
        check(&[secured], None, "https://127.0.0.1:7700");
    }

    #[test]
    fn a_hint_names_the_server_only_where_it_is_needed() {
        let server = ConnectionOptions {
            server: None,
            token_file: None,
        };
        let check = |plain: Option<&str>, expected: &str| {
            assert_eq!(flags("http://a:1", plain, &server), expected);
        };
        check(Some("http://a:1"), "");
        check(Some("http://b:1"), " --server http://a:1");
        check(None, " --server http://a:1");
    }
}
