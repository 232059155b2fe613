//! A call of a tool, with what it is carried out with, and its results.

use motorium_proto::error::ErrorReport;
use rmcp::RoleServer;
use rmcp::model::{CallToolResponse, CallToolResult, ContentBlock};
use rmcp::service::RequestContext;
use serde::Serialize;

use super::input::{Input, Seal};
use crate::caller::Caller;
use crate::error::Error;
use crate::upstream::{OrchestratorClient, Upstream};

/// A call of a tool.
pub(super) struct CallContext<'a> {
    pub(super) upstream: &'a Upstream,
    pub(super) seal: &'a Seal,
    pub(super) caller: Caller,
    pub(super) request: RequestContext<RoleServer>,
    /// Answer of a person that the client brings back.
    pub(super) input: Option<Input>,
}

/// Outcome of a call: a result, or the error of a service, which the model reads.
pub(super) type Answered = Result<CallToolResponse, Error>;

impl CallContext<'_> {
    pub(super) fn orchestrator(&self) -> Result<OrchestratorClient, Error> {
        self.upstream.orchestrator(&self.caller)
    }

    /// Name of the client's program, as it states it.
    pub(super) fn client_name(&self) -> String {
        let client = self.request.client_info();
        client.map_or_else(|| "an MCP client".to_owned(), |client| client.name)
    }
}

/// Returns the error of a service, for the model.
pub(super) fn failure(report: &ErrorReport) -> CallToolResult {
    problem(format!("{}: {}", report.reason, report.message))
}

/// Returns an error in words.
pub(super) fn problem(text: String) -> CallToolResult {
    CallToolResult::error(vec![ContentBlock::text(text)])
}

/// Returns a result with a text, and the same for programs.
pub(super) fn structured(text: String, value: &impl Serialize, is_error: bool) -> CallToolResult {
    let content = vec![ContentBlock::text(text)];
    let mut result = match is_error {
        true => CallToolResult::error(content),
        false => CallToolResult::success(content),
    };
    let value = serde_json::to_value(value);
    result.structured_content = Some(value.expect("reports have text keys only"));
    result
}
