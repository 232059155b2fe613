//! A connection to one tool, for the duration of a task run.
//!
//! Both kinds of tool look the same to the loop except for retries: a ToolService may be called again with the same
//! call id when the outcome is unknown; an MCP server has no call ids.

use std::collections::BTreeMap;
use std::time::Duration;

use motorium_messages::{Language, Message};

use super::call::{ToolCall, ToolError};
use super::catalog::DeclaredFunction;
use super::mcp::McpServer;
use super::outcome::{self, FunctionOutcome};
use super::service::ToolService;
use super::settings::{Tool, ToolEndpoint};

/// A connection to a tool.
#[derive(Debug)]
pub struct ToolConnection {
    tool: Tool,
    /// Language of the messages about the tool and its calls.
    language: Language,
    backend: ToolBackend,
}

#[derive(Debug)]
enum ToolBackend {
    Service(ToolService),
    Mcp(McpServer),
    /// No connection: results come from a recording.
    Recorded {
        may_ask_again: bool,
    },
}

impl ToolConnection {
    /// Creates a connection that is opened on first use, with messages in this language.
    ///
    /// # Errors
    /// If the address, the token or the certificates are invalid.
    pub fn new(tool: Tool, language: Language) -> Result<Self, ToolError> {
        let backend = match &tool.endpoint {
            ToolEndpoint::Service(uri) => {
                ToolBackend::Service(ToolService::new(uri, &tool, language)?)
            }
            ToolEndpoint::Mcp(_) | ToolEndpoint::Command(_) => {
                ToolBackend::Mcp(McpServer::new(&tool, language))
            }
        };
        Ok(Self {
            tool,
            language,
            backend,
        })
    }

    /// Creates a stand-in for a tool of a recorded task, which is never called.
    #[must_use]
    pub fn recorded(
        label: String,
        prefix: Option<String>,
        may_ask_again: bool,
        language: Language,
    ) -> Self {
        let tool = Tool {
            label,
            prefix,
            endpoint: ToolEndpoint::Command(Vec::new()),
            environment: BTreeMap::new(),
            token: None,
            ca_file: None,
            timeout: Duration::ZERO,
        };
        Self {
            tool,
            language,
            backend: ToolBackend::Recorded { may_ask_again },
        }
    }

    /// Returns the tool that this connects to.
    #[must_use]
    pub fn tool(&self) -> &Tool {
        &self.tool
    }

    /// Returns whether a call with an unknown outcome may be retried with the same id.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        match self.backend {
            ToolBackend::Service(_) => true,
            ToolBackend::Mcp(_) => false,
            ToolBackend::Recorded { may_ask_again } => may_ask_again,
        }
    }

    /// Lists the functions of the tool.
    ///
    /// # Errors
    /// If the tool is unreachable, times out or sends an invalid answer.
    pub async fn list(&self, task: &str) -> Result<Vec<DeclaredFunction>, ToolError> {
        let listed = async {
            match &self.backend {
                ToolBackend::Service(service) => service.list(task).await,
                ToolBackend::Mcp(server) => server.list().await,
                ToolBackend::Recorded { .. } => Err(ToolError::Unusable(self.recorded_message())),
            }
        };
        let in_time = tokio::time::timeout(self.tool.timeout, listed).await;
        in_time.unwrap_or_else(|_| Err(ToolError::Unavailable(self.timeout_message())))
    }

    /// Calls a function once. Failures are outcomes too. Dropping the future cancels the call at the tool.
    pub async fn call(&self, call: &ToolCall) -> FunctionOutcome {
        let called = async {
            match &self.backend {
                ToolBackend::Service(service) => service.call(call).await,
                ToolBackend::Mcp(server) => server.call(call).await,
                ToolBackend::Recorded { .. } => Err(self.recorded_message()),
            }
        };
        match tokio::time::timeout(self.tool.timeout, called).await {
            Ok(outcome) => outcome::truncated(outcome, self.language),
            Err(_) => {
                let reason = &self.timeout_message();
                Err(Message::CallOutcomeUnknown { reason }.text(self.language))
            }
        }
    }

    fn timeout_message(&self) -> String {
        let seconds = &self.tool.timeout.as_secs_f64().to_string();
        Message::ToolTimedOut { seconds }.text(self.language)
    }

    fn recorded_message(&self) -> String {
        Message::ToolRecorded.text(self.language)
    }
}
