//! `motorium page`: prints a link that opens the web page of a running gateway.
//!
//! The link is made for the caller whose token this command finds. It does not start a gateway: `motorium up` does.

use std::process::ExitCode;

use motorium_kit::config::LayeredConfig;
use motorium_kit::http_client;
use motorium_messages::Message;
use reqwest::StatusCode;
use serde_json::Value;

use super::running_gateway::RunningGateway;
use crate::cli::Page;
use crate::error::Error;
use crate::output;
use crate::show::text;

/// Path of the interface that makes links.
const LINKS: &str = "/api/login-links";
/// Minutes within which a link must be used.
const MINUTES: u64 = 10;

/// Asks the gateway for a link and prints it.
pub(crate) async fn page(loaded: &LayeredConfig, args: Page) -> Result<ExitCode, Error> {
    let token_file = args.token_file.as_deref();
    let gateway = RunningGateway::find(loaded, args.gateway.as_deref(), token_file)?;
    let link = request_link(&gateway)
        .await
        .map_err(|refusal| match refusal {
            Refusal::WrongToken => gateway.refused_token(),
            Refusal::Other(problem) => gateway.not_served(&problem),
        })?;
    let minutes = MINUTES;
    output::line(&text(Message::PageLink {
        url: &link,
        minutes,
    }));
    Ok(ExitCode::SUCCESS)
}

/// The reason a gateway gave no link.
enum Refusal {
    /// It does not accept the token.
    WrongToken,
    /// Another one, in words.
    Other(String),
}

impl From<String> for Refusal {
    fn from(problem: String) -> Self {
        Self::Other(problem)
    }
}

/// Asks for the link.
async fn request_link(gateway: &RunningGateway) -> Result<String, Refusal> {
    let url = &gateway.url;
    let mut request = gateway.client().await?.post(format!("{url}{LINKS}"));
    if let Some(token) = &gateway.token {
        request = request.bearer_auth(token.expose());
    }
    let response = request.send().await;
    let response = response.map_err(|error| http_client::described(&error))?;
    let status = response.status();
    if status == StatusCode::UNAUTHORIZED && gateway.token.is_some() {
        return Err(Refusal::WrongToken);
    }
    let answer: Value = response
        .json()
        .await
        .map_err(|_| format!("it answers {status}; is it a gateway of Motorium?"))?;
    match answer["url"].as_str() {
        Some(link) => Ok(link.to_owned()),
        None => Err(answer["error"]["message"]
            .as_str()
            .unwrap_or("it sent no link")
            .to_owned()
            .into()),
    }
}
