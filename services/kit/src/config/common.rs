//! Settings common to all servers: the data folder, logging, and the protection of listeners.
//!
//! The settings of a single service are not here: each service has its own section.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use reqwest::Url;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{AddressPattern, Environment, Error, HumanDuration, ListenAddress, Secret};
use crate::authorisation::AuthorisationTable;
use crate::callers::CallersFile;
use crate::client::{self, Audiences};
use crate::http_client::is_loopback;
use crate::jwt::{self, KeySource, RoleNames};
use crate::limits::Limits;
use crate::loopback_token::LoopbackToken;
use crate::principal::Role;
use crate::shutdown::DEFAULT_GRACE_PERIOD;
use crate::{server, telemetry};

/// Settings common to all servers, as written.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct CommonSettings {
    /// Folder for the task store, files of tasks, ONNX Runtime, models and fonts; the last three may be links. Default:
    /// `$XDG_DATA_HOME/motorium`, or `~/.local/share/motorium`.
    #[schemars(extend("format" = "path"), example = "/var/lib/motorium")]
    pub(super) data: Option<PathBuf>,
    /// Logs on standard error.
    pub(super) log: telemetry::Settings,
    /// Protection and shutdown of all listeners.
    pub(super) server: ServerSettings,
    /// Calls to other services.
    pub(super) client: ClientSettings,
}

/// Settings of the section `[server]`, as written: the protection and shutdown of listeners.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ServerSettings {
    /// Bearer token that callers must send. Prefer `token_file`.
    pub token: Option<Secret>,
    /// File with the token. Surrounding white space is ignored.
    #[schemars(extend("format" = "path"), example = "/etc/motorium/token")]
    pub token_file: Option<PathBuf>,
    /// File with the names, tenants, roles and tokens or certificates of callers (docs/security.md). Changes are applied
    /// without a restart.
    #[schemars(extend("format" = "path"), example = "/etc/motorium/callers.toml")]
    pub callers_file: Option<PathBuf>,
    /// Access tokens of an OpenID Connect issuer.
    pub jwt: Option<JwtSettings>,
    /// A server on the loopback address without other client authentication demands a token that it creates for its user
    /// (`motorium token` prints it; clients find it by themselves). Set to false only where a proxy in front authenticates
    /// callers: every user and every page on this machine can otherwise call the services.
    pub loopback_token: bool,
    /// PEM file with the server's certificate chain.
    #[schemars(extend("format" = "path"), example = "/etc/motorium/tls.crt")]
    pub tls_certificate: Option<PathBuf>,
    /// PEM file with the certificate's private key.
    #[schemars(extend("format" = "path"), example = "/etc/motorium/tls.key")]
    pub tls_key: Option<PathBuf>,
    /// PEM file with the certificate authorities of accepted clients (mutual TLS). The callers file says who they are and what
    /// they may do, so that it or a token is needed as well.
    #[schemars(extend("format" = "path"), example = "/etc/motorium/clients.crt")]
    pub tls_client_ca: Option<PathBuf>,
    /// Time that running calls have to finish after a shutdown was requested.
    pub grace_period: HumanDuration,
}

impl Default for ServerSettings {
    fn default() -> Self {
        Self {
            token: None,
            token_file: None,
            callers_file: None,
            jwt: None,
            loopback_token: true,
            tls_certificate: None,
            tls_key: None,
            tls_client_ca: None,
            grace_period: HumanDuration(DEFAULT_GRACE_PERIOD),
        }
    }
}

/// Settings of the table `[server.jwt]`, as written: access tokens of an OpenID Connect issuer. Only asymmetric signatures are
/// accepted.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct JwtSettings {
    /// Issuer, as in the claim `iss`.
    #[schemars(example = "https://login.example.com/")]
    pub issuer: String,
    /// Audience that tokens must have, as in the claim `aud`.
    #[schemars(example = &"motorium")]
    pub audience: String,
    /// Address of the issuer's keys (JSON Web Key Set), with `https:`.
    #[schemars(example = "https://login.example.com/.well-known/jwks.json")]
    pub jwks: Option<String>,
    /// File with the issuer's keys, in place of `jwks`.
    #[schemars(extend("format" = "path"), example = "/etc/motorium/jwks.json")]
    pub jwks_file: Option<PathBuf>,
    /// Difference of clocks that is tolerated for expiry times.
    pub clock_skew: HumanDuration,
    /// Claim with the names of the caller's roles, a list or a text with spaces; dots lead into nested claims.
    pub roles_claim: String,
    /// Beginning of the names of roles: with `motorium:`, a caller with `motorium:author` is an author. Names without it give
    /// no role, because an issuer uses names such as `admin` for every application.
    pub role_prefix: String,
    /// Roles for other names of the issuer.
    #[schemars(example = BTreeMap::from([("desk-users", ["author", "viewer"])]))]
    pub roles: BTreeMap<String, Vec<String>>,
    /// Claim with the tenant, which tokens then must have. Without it, callers belong to the tenant `default`.
    #[schemars(example = &"tenant")]
    pub tenant_claim: Option<String>,
}

impl Default for JwtSettings {
    fn default() -> Self {
        Self {
            issuer: String::new(),
            audience: String::new(),
            jwks: None,
            jwks_file: None,
            // Clocks of synchronised machines differ by less.
            clock_skew: HumanDuration(Duration::from_secs(30)),
            roles_claim: "roles".to_owned(),
            role_prefix: "motorium:".to_owned(),
            roles: BTreeMap::new(),
            tenant_claim: None,
        }
    }
}

/// Longest clock skew. A longer one would let expired tokens in rather than tolerate clocks.
const MAX_CLOCK_SKEW: Duration = Duration::from_secs(10 * 60);

impl JwtSettings {
    fn resolve(&self) -> Result<jwt::Config, Error> {
        let wrong = |text: String| Err(Error::Inconsistent(text));
        if self.issuer.is_empty() || self.audience.is_empty() {
            return wrong("server.jwt requires `issuer` and `audience`".to_owned());
        }
        if self.clock_skew.0 > MAX_CLOCK_SKEW {
            return wrong("server.jwt.clock_skew is longer than 10m; use at most 10m".to_owned());
        }
        let keys = match (&self.jwks, &self.jwks_file) {
            (None, Some(path)) => KeySource::File(path.clone()),
            (Some(address), None) => KeySource::Url(key_address(address)?),
            _ => {
                return wrong("set either server.jwt.jwks or server.jwt.jwks_file".to_owned());
            }
        };
        Ok(jwt::Config {
            issuer: self.issuer.clone(),
            audience: self.audience.clone(),
            keys,
            clock_skew: self.clock_skew.0,
            roles_claim: self.roles_claim.clone(),
            roles: self.role_names()?,
            tenant_claim: self.tenant_claim.clone(),
        })
    }

    fn role_names(&self) -> Result<RoleNames, Error> {
        if self.role_prefix.is_empty() {
            let text = "server.jwt.role_prefix is empty, so that every name such as `admin` would give its role; set a prefix such as \
                        `motorium:`, or list names in server.jwt.roles";
            return Err(Error::Inconsistent(text.to_owned()));
        }
        let mut map = BTreeMap::new();
        for (name, roles) in &self.roles {
            let roles = roles.iter().map(|role| role.parse()).collect();
            let roles: Result<BTreeSet<Role>, String> = roles;
            let wrong =
                |problem| Error::Inconsistent(format!("server.jwt.roles, `{name}`: {problem}"));
            map.insert(name.clone(), roles.map_err(wrong)?);
        }
        Ok(RoleNames {
            prefix: Some(self.role_prefix.clone()),
            map,
        })
    }
}

/// Parses the address of keys. Over an unencrypted network, anyone could send keys of their own.
fn key_address(address: &str) -> Result<Url, Error> {
    let url = Url::parse(address).ok();
    let is_safe = |url: &Url| match url.scheme() {
        "https" => true,
        scheme => scheme == "http" && is_loopback(url),
    };
    url.filter(is_safe).ok_or_else(|| {
        Error::Inconsistent(format!(
            "server.jwt.jwks must be an https: address, such as https://login.example.com/.well-known/jwks.json, and not \
             `{address}`"
        ))
    })
}

/// Settings of the section `[client]`, as written: calls to other services.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ClientSettings {
    /// PEM file with the certificate authority of the services.
    #[schemars(extend("format" = "path"), example = "/etc/motorium/ca.crt")]
    pub tls_ca: Option<PathBuf>,
    /// PEM file with the client certificate, for services that require one.
    #[schemars(extend("format" = "path"), example = "/etc/motorium/tls.crt")]
    pub tls_certificate: Option<PathBuf>,
    /// PEM file with the private key of the client certificate.
    #[schemars(extend("format" = "path"), example = "/etc/motorium/tls.key")]
    pub tls_key: Option<PathBuf>,
    /// Bearer token for the configured services. Defaults to the token of this process's own servers.
    pub token: Option<Secret>,
    /// File with the token. Surrounding white space is ignored.
    #[schemars(extend("format" = "path"), example = "/etc/motorium/token")]
    pub token_file: Option<PathBuf>,
    /// Servers that may receive the token although no setting names them, such as those of registered desktops: hosts,
    /// networks or addresses. The token is sent over TLS or within this machine; an entry with `http://` permits an
    /// unencrypted connection to the server, which everybody on the network can read.
    #[schemars(example = ["*.desks.example.com", "10.1.0.0/16", "http://planner:7702"])]
    pub audiences: Vec<AddressPattern>,
}

/// Resolved configuration common to all servers.
#[derive(Debug, Clone)]
pub struct Common {
    data: Option<PathBuf>,
    /// Logging configuration.
    pub log: telemetry::Config,
    protection: ListenerSecurity,
    client: client::Config,
}

/// Security and shutdown configuration shared by all listeners of a process.
#[derive(Debug, Clone)]
struct ListenerSecurity {
    token: Option<Secret>,
    loopback_token: Option<LoopbackToken>,
    callers_file: Option<PathBuf>,
    jwt: Option<jwt::Config>,
    tls: Option<server::Tls>,
    grace: Duration,
}

impl Common {
    pub(super) fn resolve(
        settings: CommonSettings,
        environment: &Environment,
    ) -> Result<Self, Error> {
        let ServerSettings {
            token: own,
            token_file: own_file,
            ..
        } = &settings.server;
        let own_token = token("server", own.as_ref(), own_file.as_deref())?;
        let ClientSettings {
            token: theirs,
            token_file: their_file,
            tls_ca,
            audiences,
            ..
        } = &settings.client;
        let their_token = token("client", theirs.as_ref(), their_file.as_deref())?;
        let ca = tls_ca
            .as_deref()
            .map(|path| read("client.tls_ca", path))
            .transpose()?;
        let of_user = || LoopbackToken::of_user(|name| environment.get(name));
        let loopback_token = settings.server.loopback_token.then(of_user);
        Ok(Self {
            data: settings.data.or_else(|| default_data_folder(environment)),
            log: resolved_log(settings.log)?,
            client: client::Config {
                ca,
                identity: identity(&settings.client)?,
                token: their_token.or_else(|| own_token.clone()),
                loopback_token: loopback_token.clone(),
                audiences: Some(Audiences::new(audiences.clone())),
                ..client::Config::new("")
            },
            protection: ListenerSecurity {
                token: own_token,
                loopback_token,
                callers_file: settings.server.callers_file.clone(),
                jwt: settings
                    .server
                    .jwt
                    .as_ref()
                    .map(JwtSettings::resolve)
                    .transpose()?,
                tls: tls(&settings.server)?,
                grace: settings.server.grace_period.0,
            },
        })
    }

    /// Returns the data folder, which may not exist yet.
    ///
    /// # Errors
    /// If none is configured and there is no home folder.
    pub fn data(&self) -> Result<&Path, Error> {
        self.data.as_deref().ok_or_else(|| {
            let text = "no data folder: there is no home folder; set MOTORIUM_DATA to a folder";
            Error::Inconsistent(text.to_owned())
        })
    }

    /// Returns the configuration of a server on `listen`.
    ///
    /// # Errors
    /// If the address can be reached from other machines and clients are not authenticated, or the callers file is invalid.
    pub fn server(&self, listen: ListenAddress) -> Result<server::Config, Error> {
        // Read here and not with the other settings: commands share these, and need not be able to read the file.
        let callers = self.protection.callers_file.as_deref();
        let callers = callers.map(CallersFile::load).transpose();
        let callers = callers.map_err(|error| Error::Inconsistent(error.to_string()))?;
        let config = server::Config {
            callers,
            jwt: self.protection.jwt.clone(),
            authorisation: AuthorisationTable::motorium(),
            listen,
            tls: self.protection.tls.clone(),
            token: self.protection.token.clone(),
            loopback_token: self.protection.loopback_token.clone(),
            limits: Limits::default(),
            grace_period: self.protection.grace,
        };
        config
            .check_authentication(listen.0)
            .map_err(|error| Error::Inconsistent(error.to_string()))?;
        Ok(config)
    }

    /// Returns the client configuration for the service at `uri`, which the operator named.
    #[must_use]
    pub fn client(&self, uri: impl Into<String>) -> client::Config {
        client::Config {
            uri: uri.into(),
            ..self.client.clone()
        }
    }

    /// Returns true if callers have names of their own, and so can belong to several tenants.
    #[must_use]
    pub fn names_callers(&self) -> bool {
        self.protection.callers_file.is_some() || self.protection.jwt.is_some()
    }

    /// Returns the token of this process's servers, for parts of the process that call them.
    #[must_use]
    pub fn token(&self) -> Option<&Secret> {
        self.protection.token.as_ref()
    }
}

fn resolved_log(settings: telemetry::Settings) -> Result<telemetry::Config, Error> {
    settings
        .resolve()
        .map_err(|error| Error::Inconsistent(error.to_string()))
}

/// `$XDG_DATA_HOME/motorium`, or `~/.local/share/motorium`.
fn default_data_folder(environment: &Environment) -> Option<PathBuf> {
    let xdg = environment
        .get("XDG_DATA_HOME")
        .map(PathBuf::from)
        .filter(|path| path.is_absolute());
    let home = || Some(Path::new(environment.get("HOME")?).join(".local/share"));
    Some(xdg.or_else(home)?.join("motorium"))
}

fn identity(settings: &ClientSettings) -> Result<Option<(String, Secret)>, Error> {
    match (&settings.tls_certificate, &settings.tls_key) {
        (Some(certificate), Some(key)) => Ok(Some((
            read("client.tls_certificate", certificate)?,
            Secret::new(read("client.tls_key", key)?),
        ))),
        (None, None) => Ok(None),
        _ => {
            let text =
                "a client certificate requires both client.tls_certificate and client.tls_key";
            Err(Error::Inconsistent(text.to_owned()))
        }
    }
}

fn token(key: &str, token: Option<&Secret>, file: Option<&Path>) -> Result<Option<Secret>, Error> {
    let token = match (token, file) {
        (Some(_), Some(_)) => {
            return Err(Error::Inconsistent(format!(
                "both {key}.token and {key}.token_file are set; remove one"
            )));
        }
        (Some(token), None) => token.clone(),
        (None, Some(path)) => Secret::of_file(path).map_err(|source| Error::NamedFile {
            key: format!("{key}.token_file"),
            path: path.to_owned(),
            source,
        })?,
        (None, None) => return Ok(None),
    };
    if token.expose().is_empty() {
        return Err(Error::Inconsistent(format!(
            "{key}.token is empty; set a token or remove the setting"
        )));
    }
    Ok(Some(token))
}

fn tls(settings: &ServerSettings) -> Result<Option<server::Tls>, Error> {
    let (certificate, key) = match (
        &settings.tls_certificate,
        &settings.tls_key,
        &settings.tls_client_ca,
    ) {
        (Some(certificate), Some(key), _) => (certificate, key),
        (None, None, None) => return Ok(None),
        _ => {
            let text = "TLS requires both server.tls_certificate and server.tls_key; server.tls_client_ca also requires them";
            return Err(Error::Inconsistent(text.to_owned()));
        }
    };
    let client_ca = settings
        .tls_client_ca
        .as_deref()
        .map(|path| read("server.tls_client_ca", path))
        .transpose()?;
    Ok(Some(server::Tls {
        certificate: read("server.tls_certificate", certificate)?,
        key: Secret::new(read("server.tls_key", key)?),
        client_ca,
        files: Some(server::TlsFiles {
            certificate: certificate.clone(),
            key: key.clone(),
            client_ca: settings.tls_client_ca.clone(),
        }),
    }))
}

fn read(key: &str, path: &Path) -> Result<String, Error> {
    fs::read_to_string(path).map_err(|source| Error::NamedFile {
        key: key.to_owned(),
        path: path.to_owned(),
        source,
    })
}
