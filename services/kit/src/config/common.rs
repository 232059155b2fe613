//! The settings that every server has: where data lies, how it logs, how its listener is protected.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Environment, Error, Listen, Secret, Span};
use crate::limits::Limits;
use crate::{client, server, telemetry};

/// The part common to all servers, as written.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct CommonSettings {
    pub(super) data: Option<PathBuf>,
    pub(super) log: telemetry::Settings,
    pub(super) server: ServerSettings,
    pub(super) client: ClientSettings,
}

/// How listeners are protected and how they end, as written: the section `[server]`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ServerSettings {
    /// The bearer token that callers must present. Prefer `token_file`.
    pub token: Option<Secret>,
    /// A file with the token; white space around it does not count.
    pub token_file: Option<PathBuf>,
    /// PEM file with the server's certificate chain.
    pub tls_certificate: Option<PathBuf>,
    /// PEM file with the certificate's private key.
    pub tls_key: Option<PathBuf>,
    /// PEM file with the authorities whose clients are let in (mutual TLS).
    pub tls_client_ca: Option<PathBuf>,
    /// How long calls may go on after the server was asked to end.
    pub grace: Span,
}

impl Default for ServerSettings {
    fn default() -> Self {
        Self {
            token: None,
            token_file: None,
            tls_certificate: None,
            tls_key: None,
            tls_client_ca: None,
            grace: Span(Duration::from_secs(20)),
        }
    }
}

/// How other services are called, as written: the section `[client]`.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ClientSettings {
    /// PEM file with the authority that signed the services' certificates.
    pub tls_ca: Option<PathBuf>,
    /// PEM file with our own certificate, where services ask for one.
    pub tls_certificate: Option<PathBuf>,
    /// PEM file with the private key of that.
    pub tls_key: Option<PathBuf>,
    /// The bearer token that the services want. Without one, the token of our own server is sent.
    pub token: Option<Secret>,
    /// A file with the token; white space around it does not count.
    pub token_file: Option<PathBuf>,
}

/// The part common to all servers, as meant.
#[derive(Debug, Clone)]
pub struct Common {
    data: Option<PathBuf>,
    /// How to log.
    pub log: telemetry::Config,
    protection: Protection,
    client: client::Config,
}

/// What every listener of a process shares.
#[derive(Debug, Clone)]
struct Protection {
    token: Option<Secret>,
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
            ..
        } = &settings.client;
        let their_token = token("client", theirs.as_ref(), their_file.as_deref())?;
        let ca = tls_ca
            .as_deref()
            .map(|path| read("client.tls_ca", path))
            .transpose()?;
        Ok(Self {
            data: settings.data.or_else(|| default_data_folder(environment)),
            log: settings.log.resolve()?,
            client: client::Config {
                ca,
                identity: identity(&settings.client)?,
                token: their_token.or_else(|| own_token.clone()),
                ..client::Config::new("")
            },
            protection: Protection {
                token: own_token,
                tls: tls(&settings.server)?,
                grace: settings.server.grace.0,
            },
        })
    }

    /// The folder for everything that is kept. It exists only once something made it.
    ///
    /// # Errors
    /// If none is configured and there is no home folder to have it in.
    pub fn data(&self) -> Result<&Path, Error> {
        self.data.as_deref().ok_or_else(|| {
            let text = "there is no home folder to keep data in; set MOTORIUM_DATA to a folder";
            Error::Inconsistent(text.to_owned())
        })
    }

    /// What a server on `listen` is to be like.
    ///
    /// # Errors
    /// If the address can be reached from other machines and neither TLS nor a token protects it.
    pub fn server(&self, listen: Listen) -> Result<server::Config, Error> {
        let config = server::Config {
            listen,
            tls: self.protection.tls.clone(),
            token: self.protection.token.clone(),
            limits: Limits::default(),
            grace: self.protection.grace,
        };
        config
            .check_exposure(listen.0)
            .map_err(|error| Error::Inconsistent(error.to_string()))?;
        Ok(config)
    }

    /// How the service at `uri` is called.
    #[must_use]
    pub fn client(&self, uri: impl Into<String>) -> client::Config {
        client::Config {
            uri: uri.into(),
            ..self.client.clone()
        }
    }

    /// The token that callers of this process's servers must present, for those of its parts that call them.
    #[must_use]
    pub fn token(&self) -> Option<&Secret> {
        self.protection.token.as_ref()
    }
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
                "a client's certificate needs both client.tls_certificate and client.tls_key";
            Err(Error::Inconsistent(text.to_owned()))
        }
    }
}

fn token(key: &str, token: Option<&Secret>, file: Option<&Path>) -> Result<Option<Secret>, Error> {
    let token = match (token, file) {
        (Some(_), Some(_)) => {
            return Err(Error::Inconsistent(format!(
                "both {key}.token and {key}.token_file are set; keep one"
            )));
        }
        (Some(token), None) => token.clone(),
        (None, Some(path)) => Secret::new(read(&format!("{key}.token_file"), path)?.trim()),
        (None, None) => return Ok(None),
    };
    if token.expose().is_empty() {
        return Err(Error::Inconsistent(format!(
            "the token of {key} is empty; give one or unset it"
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
            let text = "TLS needs both server.tls_certificate and server.tls_key (and server.tls_client_ca only with them)";
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
    }))
}

fn read(key: &str, path: &Path) -> Result<String, Error> {
    fs::read_to_string(path).map_err(|source| Error::NamedFile {
        key: key.to_owned(),
        path: path.to_owned(),
        source,
    })
}
