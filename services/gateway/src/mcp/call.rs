//! A call of a tool, with what it is carried out with, and its results.

use motorium_proto::error::ErrorReport;
use rmcp::RoleServer;
use rmcp::model::{CallToolResponse, CallToolResult, ContentBlock};
use rmcp::service::RequestContext;
use serde::Serialize;

use super::input::{Input, Seal};
use super::plain_text::on_one_line;
use crate::caller::Caller;
use crate::error::Error;
use crate::upstream::{OrchestratorClient, Upstream};

/// Maximum length of the name of a client's program.
const MAX_NAME_CHARS: usize = 64;

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

    /// Name of the client's program, as it states it, on one short line: others see it as the holder of a desktop.
    pub(super) fn client_name(&self) -> String {
        let client = self.request.client_info();
        let stated = client.map(|client| on_one_line(&client.name, MAX_NAME_CHARS));
        let stated = stated.filter(|name| !name.is_empty());
        stated.unwrap_or_else(|| "an MCP client".to_owned())
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
