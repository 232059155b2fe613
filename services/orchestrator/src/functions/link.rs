//! A connection to one tool of a task, for as long as the task is carried out.
//!
//! To the loop both kinds are alike but for one thing: a ToolService may be asked again for a call that it may have
//! carried out, with the same id; an MCP server knows no such ids.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Map, Value};

use super::mcp::Server;
use super::offer::Declared;
use super::outcome::{self, Outcome};
use super::service::Service;
use super::settings::{Place, Tool};

const ONLY_RECORDED: &str = "the tool belongs to a recorded task";

/// Why a tool cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// It may be there later.
    #[error("{0}")]
    Away(String),
    /// Asking again does not help.
    #[error("{0}")]
    Unusable(String),
}

/// A function to be called.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    /// The task that calls.
    pub task: String,
    /// The same for the same call of the task, and for no other.
    pub id: String,
    /// What the tool calls the function.
    pub name: String,
    pub arguments: Map<String, Value>,
}

/// A connection to a tool.
#[derive(Debug)]
pub struct Link {
    tool: Tool,
    end: End,
}

#[derive(Debug)]
enum End {
    Service(Service),
    Mcp(Server),
    /// Nowhere: what it would answer is told from a record.
    Recorded {
        may_ask_again: bool,
    },
}

impl Link {
    /// A connection that is made when it is first used.
    ///
    /// # Errors
    /// If the address, the token or the certificates cannot be used.
    pub fn new(tool: Tool) -> Result<Self, Problem> {
        let end = match &tool.place {
            Place::Service(uri) => End::Service(Service::new(uri, &tool)?),
            Place::Mcp(_) | Place::Program(_) => End::Mcp(Server::new(&tool)),
        };
        Ok(Self { tool, end })
    }

    /// A tool of a recorded task, which is never called.
    #[must_use]
    pub fn recorded(label: String, prefix: Option<String>, may_ask_again: bool) -> Self {
        let tool = Tool {
            label,
            prefix,
            place: Place::Program(Vec::new()),
            environment: BTreeMap::new(),
            token: None,
            ca_file: None,
            timeout: Duration::ZERO,
        };
        Self {
            tool,
            end: End::Recorded { may_ask_again },
        }
    }

    /// What it leads to.
    #[must_use]
    pub fn tool(&self) -> &Tool {
        &self.tool
    }

    /// Whether a call that may have been carried out may be made once more, with the same id.
    #[must_use]
    pub fn may_ask_again(&self) -> bool {
        match self.end {
            End::Service(_) => true,
            End::Mcp(_) => false,
            End::Recorded { may_ask_again } => may_ask_again,
        }
    }

    /// The functions of the tool.
    ///
    /// # Errors
    /// If it cannot be reached, does not answer in time, or answers what cannot be understood.
    pub async fn list(&self, task: &str) -> Result<Vec<Declared>, Problem> {
        let listed = async {
            match &self.end {
                End::Service(service) => service.list(task).await,
                End::Mcp(server) => server.list().await,
                End::Recorded { .. } => Err(Problem::Unusable(ONLY_RECORDED.to_owned())),
            }
        };
        let in_time = tokio::time::timeout(self.tool.timeout, listed).await;
        in_time.unwrap_or_else(|_| Err(Problem::Away(self.no_answer())))
    }

    /// Calls a function once. Whatever goes wrong is an outcome too. Dropped, it cancels the call at the tool.
    pub async fn call(&self, call: &Call) -> Outcome {
        let called = async {
            match &self.end {
                End::Service(service) => service.call(call).await,
                End::Mcp(server) => server.call(call).await,
                End::Recorded { .. } => Err(ONLY_RECORDED.to_owned()),
            }
        };
        match tokio::time::timeout(self.tool.timeout, called).await {
            Ok(outcome) => outcome::fitting(outcome),
            Err(_) => Err(format!(
                "{}; whether it happened is not known",
                self.no_answer()
            )),
        }
    }

    fn no_answer(&self) -> String {
        let patience = self.tool.timeout.as_secs_f64();
        format!("no answer came within {patience} s")
    }
}
