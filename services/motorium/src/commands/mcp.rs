//! `motorium mcp`: serves the Model Context Protocol on standard input and output, for agents that start their tools as programs.
//!
//! It passes messages on between its standard streams and the gateway that runs, in the name of the user. It has no tools of
//! its own, and reads no message.

use std::process::ExitCode;

use futures::StreamExt as _;
use futures::stream::FuturesUnordered;
use motorium_kit::config::LayeredConfig;
use rmcp::transport::streamable_http_client::{
    StreamableHttpClientTransport, StreamableHttpClientTransportConfig,
};
use rmcp::transport::{IntoTransport, Transport, stdio};
use rmcp::{RoleClient, RoleServer};

use super::running_gateway::RunningGateway;
use crate::cli::Page;
use crate::error::Error;

/// Maximum size of an event of the gateway, in bytes: an image of a large screen, in Base64.
const MAX_EVENT_BYTES: usize = 32 * 1024 * 1024;

/// Passes messages on until the agent closes the standard input.
pub(crate) async fn mcp(loaded: &LayeredConfig, args: Page) -> Result<ExitCode, Error> {
    let token_file = args.token_file.as_deref();
    let gateway = RunningGateway::find(loaded, args.gateway.as_deref(), token_file)?;
    let client = gateway.client().await;
    let client = client.map_err(|problem| gateway.not_served(&problem))?;
    let mut config = StreamableHttpClientTransportConfig::with_uri(format!("{}/mcp", gateway.url))
        .max_sse_event_size(MAX_EVENT_BYTES);
    if let Some(token) = &gateway.token {
        config = config.auth_header(token.expose());
    }
    let server = StreamableHttpClientTransport::with_client(client, config);
    let agent = IntoTransport::<RoleServer, _, _>::into_transport(stdio());
    let Err(problem) = pass_on(agent, server).await else {
        return Ok(ExitCode::SUCCESS);
    };
    // The error of a request does not tell that the server is one of another user by now.
    let reason = gateway.check().await.err().unwrap_or(problem);
    Err(gateway.not_served(&reason))
}

/// Passes messages on in both directions, until the agent or the gateway ends. Returns what is wrong in words.
async fn pass_on(
    mut agent: impl Transport<RoleServer>,
    mut server: impl Transport<RoleClient>,
) -> Result<(), String> {
    // A request is sent when its response begins, and others must not wait for it.
    let mut to_server = FuturesUnordered::new();
    let ended = loop {
        tokio::select! {
            message = agent.receive() => match message {
                Some(message) => to_server.push(server.send(message)),
                None => break Ok(()),
            },
            Some(sent) = to_server.next() => {
                if let Err(error) = sent {
                    break Err(error.to_string());
                }
            }
            message = server.receive() => match message {
                Some(message) => {
                    let sent = agent.send(message).await;
                    if let Err(error) = sent {
                        break Err(error.to_string());
                    }
                }
                None => break Err("it has ended the session".to_owned()),
            },
        }
    };
    // Ends the session; the process ends in any case.
    let _ = server.close().await;
    ended
}
