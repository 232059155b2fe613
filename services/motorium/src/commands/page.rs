//! `motorium page`: prints a link that opens the web page of a running gateway.
//!
//! The link is made for the caller whose token this command finds. It does not start a gateway: `motorium up` does.

use std::net::SocketAddr;
use std::process::ExitCode;

use motorium_gateway::{Settings, own_token, running_address};
use motorium_kit::config::{LayeredConfig, ListenAddress, Secret};
use motorium_kit::{http_client, socket_owner};
use motorium_messages::Message;
use reqwest::Url;
use serde_json::Value;

use crate::cli::Page;
use crate::error::Error;
use crate::output;
use crate::process::gateway_folder;
use crate::show::text;

/// Path of the interface that makes links.
const LINKS: &str = "/api/login-links";
/// Minutes within which a link must be used.
const MINUTES: u64 = 10;

/// Asks the gateway for a link and prints it.
pub(crate) async fn page(loaded: &LayeredConfig, args: Page) -> Result<ExitCode, Error> {
    let url = gateway_url(loaded, args.gateway.as_deref())?;
    let token = token(loaded, &args, &url)?;
    let is_given = args.token_file.is_some() || loaded.common()?.client("").token.is_some();
    let may_ask = match is_given {
        true => Ok(()),
        false => check_gateway(&url).await,
    };
    let answer = match may_ask {
        Ok(()) => request_link(&url, token.as_ref()).await,
        Err(problem) => Err(problem),
    };
    let link = answer.map_err(|problem| {
        let (url, problem) = (url.as_str(), problem.as_str());
        Error::Start(text(Message::PageNotServed { url, problem }))
    })?;
    let minutes = MINUTES;
    output::line(&text(Message::PageLink {
        url: &link,
        minutes,
    }));
    Ok(ExitCode::SUCCESS)
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
fn token(loaded: &LayeredConfig, args: &Page, url: &str) -> Result<Option<Secret>, Error> {
    if let Some(path) = &args.token_file {
        let read = std::fs::read_to_string(path).map_err(|source| Error::File {
            path: path.clone(),
            source,
        });
        return Ok(Some(Secret::new(read?.trim())));
    }
    let common = loaded.common()?;
    let of_user = common.client(url).effective_token();
    if let Some(token) = of_user.map_err(|error| Error::Usage(error.to_string()))? {
        return Ok(Some(token));
    }
    let folder = gateway_folder(common.data()?);
    own_token(&folder).map_err(|source| Error::File {
        path: folder.clone(),
        source,
    })
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

/// Checks that the gateway on this machine is of this user, before it receives a token that was not meant for another.
async fn check_gateway(url: &str) -> Result<(), String> {
    let url = Url::parse(url).map_err(|error| error.to_string())?;
    if !http_client::is_loopback(&url) {
        return Ok(());
    }
    let host = url.host_str().unwrap_or_default();
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let port = url.port_or_known_default().unwrap_or_default();
    let connected = socket_owner::connect(host, port).await;
    connected.map(drop).map_err(|error| error.to_string())
}

/// Returns the link, or what is wrong in words.
async fn request_link(url: &str, token: Option<&Secret>) -> Result<String, String> {
    let builder = match url.starts_with("https:") {
        true => http_client::with_root_certificates(None),
        false => http_client::plaintext(),
    };
    let client = builder.map_err(|error| error.to_string())?.build();
    let client = client.map_err(|error| error.to_string())?;
    let mut request = client.post(format!("{url}{LINKS}"));
    if let Some(token) = token {
        request = request.bearer_auth(token.expose());
    }
    let response = request.send().await.map_err(|error| error.to_string())?;
    let status = response.status();
    let answer: Value = response
        .json()
        .await
        .map_err(|_| format!("it answers {status}; is it a gateway of Motorium?"))?;
    match answer["url"].as_str() {
        Some(link) => Ok(link.to_owned()),
        None => Err(answer["error"]["message"]
            .as_str()
            .unwrap_or("it sent no link")
            .to_owned()),
    }
}
