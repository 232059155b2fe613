//! Settings of the gateway, and the configuration derived from them.
//!
//! Addresses and tokens of the services are not settings of the gateway: the process that starts it passes them in.

use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use http::uri::{Authority, Scheme};
use http::{HeaderValue, Uri};
use motorium_kit::client;
use motorium_kit::config::{ListenAddress, Secret, Section};
use motorium_kit::server::RefusalObserver;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Settings of the section `[gateway]`, as written: the web page and the interfaces for browsers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Serve the web page and the interfaces for browsers.
    pub enabled: bool,
    /// Address to listen on. Other machines reach it only if `public_url` is set.
    pub listen: ListenAddress,
    /// URL at which browsers reach the gateway, if a proxy with a certificate stands in front of it. Login links begin with
    /// it, and requests to its host are accepted beside those to this machine's own names.
    #[schemars(example = "https://motorium.example.com")]
    pub public_url: Option<String>,
    /// `listen` is an address in a container whose port is published on the loopback address of its host only, so that no other
    /// machine reaches it.
    pub published_locally: bool,
    /// Address of the Orchestrator. `motorium up` uses its own, here and below.
    pub orchestrator: String,
    /// Address of the Perception of desktops that name none.
    pub perception: String,
    /// Address of the Executor of desktops that name none.
    pub executor: String,
    /// Serve the MCP tool `act`, which performs single actions under the rules of the Executor, but without the policy and its
    /// approvals.
    pub direct_actions: bool,
    /// Further origins whose pages may change something, for the development of pages. They must be on this machine.
    #[schemars(example = ["http://localhost:5173"])]
    pub allowed_origins: Vec<String>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            enabled: true,
            listen: ListenAddress::loopback(7780),
            public_url: None,
            published_locally: false,
            orchestrator: "http://127.0.0.1:7700".to_owned(),
            perception: "http://127.0.0.1:7701".to_owned(),
            executor: "http://127.0.0.1:7703".to_owned(),
            direct_actions: false,
            allowed_origins: Vec::new(),
        }
    }
}

impl Section for Settings {
    const NAME: &'static str = "gateway";
}

/// An error in the settings.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    #[error(
        "gateway.public_url: `{url}` is not a URL of a host such as https://motorium.example.com, without a path"
    )]
    PublicUrl { url: String },
    #[error(
        "gateway.listen: other machines can reach {address}, and would send tokens unencrypted; put a proxy with a \
         certificate in front and set gateway.public_url, or listen on 127.0.0.1 (in a container whose port is published \
         on 127.0.0.1 only: set gateway.published_locally)"
    )]
    Exposed { address: SocketAddr },
    #[error(
        "gateway.allowed_origins: `{origin}` is not an origin of this machine, such as http://localhost:5173"
    )]
    Origin { origin: String },
}

/// Resolved settings.
#[derive(Debug, Clone)]
pub struct Config {
    pub(crate) listen: SocketAddr,
    pub(crate) public_url: Option<Origin>,
    pub(crate) allowed_origins: Vec<HeaderValue>,
    pub(crate) direct_actions: bool,
}

/// The services behind a gateway.
#[derive(Debug, Clone)]
pub struct Services {
    /// URL of the Orchestrator.
    pub orchestrator: String,
    /// URL of the Perception of desktops that name none.
    pub perception: String,
    /// URL of the Executor of desktops that name none.
    pub executor: String,
    /// Configuration of connections to services, without a token: each call has that of its caller.
    pub client: client::Config,
    /// Callers send the token of the user, so that services on this machine must be of this user.
    pub are_own: bool,
    /// Is told of requests without a caller and of wrong login codes, which no service sees.
    pub refusals: Option<Arc<dyn RefusalObserver>>,
}

/// The token by which the gateway knows the programs of this machine.
#[derive(Debug, Clone)]
pub enum LocalAccess {
    /// The services demand a token. Theirs, or `None` if only callers with names have one.
    OfServices(Option<Secret>),
    /// The services demand none: one of the gateway's own.
    Own,
}

/// Returns the folder of the gateway in a data folder.
#[must_use]
pub fn folder(data: &Path) -> PathBuf {
    data.join("gateway")
}

/// Scheme, host and port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Origin {
    pub(crate) scheme: Scheme,
    pub(crate) authority: Authority,
}

impl Origin {
    /// Parses `https://host:port`, without a path.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let parts = text.parse::<Uri>().ok()?.into_parts();
        let path = parts.path_and_query.map(|path| path.as_str().to_owned());
        if !matches!(path.as_deref(), None | Some("/" | "")) {
            return None;
        }
        let scheme = parts.scheme?;
        let is_http = scheme == Scheme::HTTP || scheme == Scheme::HTTPS;
        let authority = parts.authority?;
        (is_http && !authority.as_str().contains('@')).then_some(Self { scheme, authority })
    }

    /// Returns true if traffic to it is encrypted.
    pub(crate) fn is_encrypted(&self) -> bool {
        self.scheme == Scheme::HTTPS
    }
}

impl std::fmt::Display for Origin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}://{}", self.scheme, self.authority)
    }
}

impl Settings {
    /// Derives the configuration.
    ///
    /// # Errors
    /// If a URL or an origin is malformed, or other machines would reach the gateway without encryption.
    pub fn resolve(&self) -> Result<Config, ConfigError> {
        let public_url = self.public_url.as_deref().map(|url| {
            Origin::parse(url).ok_or_else(|| ConfigError::PublicUrl {
                url: url.to_owned(),
            })
        });
        let public_url = public_url.transpose()?;
        let ListenAddress(listen) = self.listen;
        let is_encrypted = public_url.as_ref().is_some_and(Origin::is_encrypted);
        if !listen.ip().is_loopback() && !is_encrypted && !self.published_locally {
            return Err(ConfigError::Exposed { address: listen });
        }
        let origins = self.allowed_origins.iter().map(|origin| {
            let parsed = Origin::parse(origin).filter(|origin| is_local_host(&origin.authority));
            let value = parsed.and_then(|origin| HeaderValue::try_from(origin.to_string()).ok());
            value.ok_or_else(|| ConfigError::Origin {
                origin: origin.clone(),
            })
        });
        Ok(Config {
            listen,
            public_url,
            allowed_origins: origins.collect::<Result<_, _>>()?,
            direct_actions: self.direct_actions,
        })
    }
}

/// Returns true for names of this machine that no DNS server can answer for.
pub(crate) fn is_local_host(authority: &Authority) -> bool {
    let host = authority.host();
    let address = host.trim_matches(['[', ']']).parse::<IpAddr>();
    host.eq_ignore_ascii_case("localhost") || address.is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(listen: &str, public_url: Option<&str>, origins: &[&str], expected: Option<&str>) {
        let settings = Settings {
            listen: listen.parse().unwrap(),
            public_url: public_url.map(str::to_owned),
            allowed_origins: origins.iter().map(|&origin| origin.to_owned()).collect(),
            ..Settings::default()
        };
        let problem = settings.resolve().err().map(|error| error.to_string());
        match (expected, &problem) {
            (None, None) => {}
            (Some(expected), Some(problem)) if problem.contains(expected) => {}
            _ => panic!("{settings:?}: {problem:?}"),
        }
    }

    #[test]
    fn a_gateway_that_others_reach_needs_encryption() {
        check("127.0.0.1:0", None, &[], None);
        check("[::1]:0", None, &[], None);
        check("0.0.0.0:7780", None, &[], Some("gateway.listen"));
        check(
            "0.0.0.0:7780",
            Some("http://m.example"),
            &[],
            Some("gateway.listen"),
        );
        check("0.0.0.0:7780", Some("https://m.example"), &[], None);
        let published = Settings {
            listen: "0.0.0.0:7780".parse().unwrap(),
            published_locally: true,
            ..Settings::default()
        };
        assert!(published.resolve().is_ok());
    }

    #[test]
    fn malformed_addresses_are_errors() {
        let listen = "127.0.0.1:0";
        for url in [
            "m.example",
            "ftp://m.example",
            "https://m.example/path",
            "https://a@m.example",
            "",
        ] {
            check(listen, Some(url), &[], Some("gateway.public_url"));
        }
        check(listen, None, &["http://localhost:5173"], None);
        for origin in [
            "null",
            "*",
            "https://evil.example",
            "http://localhost.evil.example",
        ] {
            check(listen, None, &[origin], Some("gateway.allowed_origins"));
        }
    }
}
