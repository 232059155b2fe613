//! Client of a ToolService over gRPC.
//!
//! A call whose connection breaks is retried with the same id, as the API allows, until the timeout of the call. Any
//! other status is reported to the planner and never retried.

use std::time::Duration;

use motorium_kit::client::{Channel, Config};
use motorium_kit::http_client;
use motorium_messages::{Language, Message};
use motorium_proto::domain::decision::FunctionCall;
use motorium_proto::error::{ErrorReport, FieldError, reason};
use motorium_proto::v1::common as wire;
use motorium_proto::v1::tool::tool_service_client::ToolServiceClient;
use motorium_proto::v1::tool::{InvokeRequest, ListFunctionsRequest};
use serde_json::Value;
use tonic::{Code, Status};

use super::call::{ToolCall, ToolError};
use super::catalog::{DeclaredFunction, MAX_FUNCTIONS};
use super::outcome::{self, FunctionOutcome};
use super::settings::Tool;
use crate::backoff::Backoff;

/// Maximum backoff between retries.
// A tool that comes back is used again within seconds.
const MAX_BACKOFF: Duration = Duration::from_secs(5);

/// Metadata key that our channel adds to the report of a call that failed in transport.
const ENDPOINT: &str = "endpoint";

/// Client of a ToolService.
#[derive(Debug)]
pub(super) struct ToolService {
    client: ToolServiceClient<Channel>,
    /// Language of the messages about the service and its calls.
    language: Language,
}

impl ToolService {
    pub(super) fn new(uri: &str, tool: &Tool, language: Language) -> Result<Self, ToolError> {
        let unusable = |problem: String| ToolError::Unusable(problem);
        let ca = if uri.starts_with("https://") {
            let trusted = http_client::root_certificates_pem(tool.ca_file.as_deref());
            Some(trusted.map_err(|error| unusable(error.to_string()))?)
        } else {
            None
        };
        let config = Config {
            ca,
            token: tool.token.clone(),
            default_timeout: Some(tool.timeout),
            ..Config::foreign(uri.trim_end_matches('/'))
        };
        let channel =
            Channel::connect_lazy(&config).map_err(|error| unusable(error.to_string()))?;
        Ok(Self {
            client: ToolServiceClient::new(channel),
            language,
        })
    }

    pub(super) async fn list(&self, task: &str) -> Result<Vec<DeclaredFunction>, ToolError> {
        let request = ListFunctionsRequest {
            task: task.to_owned(),
        };
        let listed = self.client.clone().list_functions(request).await;
        let functions = listed
            .map_err(|status| list_error(&status, self.language))?
            .into_inner()
            .functions;
        if functions.len() > MAX_FUNCTIONS {
            let max = MAX_FUNCTIONS;
            let problem = Message::ToolTooManyFunctions { max }.text(self.language);
            return Err(ToolError::Unusable(problem));
        }
        let functions: Result<_, _> = functions.into_iter().map(declared).collect();
        functions.map_err(|error| ToolError::Unusable(error.to_string()))
    }

    pub(super) async fn call(&self, call: &ToolCall) -> FunctionOutcome {
        let mut backoff = Backoff::of(&(&call.task, &call.id));
        loop {
            let answered = self.client.clone().invoke(request(call)).await;
            let report = match answered {
                Ok(answer) => return value(answer.into_inner().result, self.language),
                Err(status) => ErrorReport::from_status(&status),
            };
            if !is_connection_lost(&report) {
                return Err(call_error(&report, self.language));
            }
            tracing::debug!(%report, "retrying a function call with the same id");
            tokio::time::sleep(backoff.next_up_to(MAX_BACKOFF)).await;
        }
    }
}

fn declared(function: wire::FunctionDeclaration) -> Result<DeclaredFunction, FieldError> {
    Ok(DeclaredFunction {
        destructive: function.destructive,
        declaration: function.try_into()?,
    })
}

fn request(call: &ToolCall) -> InvokeRequest {
    let function = FunctionCall {
        call_id: call.id.clone(),
        name: call.name.clone(),
        arguments_json: Value::Object(call.arguments.clone()).to_string(),
    };
    InvokeRequest {
        task: call.task.clone(),
        call: Some(function.into()),
    }
}

fn value(result: Option<wire::FunctionResult>, language: Language) -> FunctionOutcome {
    use wire::function_result::Outcome as Wire;

    match result.and_then(|result| result.outcome) {
        Some(Wire::ResultJson(json)) => outcome::from_json(&json),
        Some(Wire::Error(error)) if error.trim().is_empty() => {
            Err(Message::FunctionFailedSilently.text(language))
        }
        Some(Wire::Error(error)) => Err(error),
        None => Err(Message::ToolWithoutResult.text(language)),
    }
}

/// Returns whether the connection broke, as opposed to an error from the service: only our own channel adds the
/// endpoint.
fn is_connection_lost(report: &ErrorReport) -> bool {
    report.reason == reason::TRANSPORT && report.metadata.contains_key(ENDPOINT)
}

/// Returns the message for the user and the planner. A server that enforces our deadline may report it before we do, and some report
/// it as `CANCELLED`; a call whose answer is still awaited was not cancelled by us. `UNAVAILABLE` comes from proxies whose
/// connection to the service broke, possibly after the function had begun.
fn call_error(report: &ErrorReport, language: Language) -> String {
    let problem = &report.message;
    let reason = match report.code {
        Code::DeadlineExceeded | Code::Cancelled => Message::CallNotAnswered { problem },
        Code::Unavailable => Message::CallBroken { problem },
        code => {
            let code = &format!("{code:?}");
            return Message::FunctionFailedWith { code, problem }.text(language);
        }
    };
    let reason = &reason.text(language);
    Message::CallOutcomeUnknown { reason }.text(language)
}

fn list_error(status: &Status, language: Language) -> ToolError {
    let report = ErrorReport::from_status(status);
    let problem = &report.message;
    let words = match report.code {
        Code::Unimplemented => Message::ToolServiceMissing.text(language),
        _ if is_connection_lost(&report) => problem.clone(),
        code => {
            let code = &format!("{code:?}");
            Message::ToolListingFailedWith { code, problem }.text(language)
        }
    };
    let may_pass = matches!(
        report.code,
        Code::Unavailable | Code::DeadlineExceeded | Code::ResourceExhausted
    );
    if may_pass || is_connection_lost(&report) {
        ToolError::Unavailable(words)
    } else {
        ToolError::Unusable(words)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timed_out_or_broken_calls_have_an_unknown_outcome() {
        let refused =
            |status: Status| call_error(&ErrorReport::from_status(&status), Language::English);
        for late in [
            Status::deadline_exceeded("too slow"),
            Status::cancelled("Timeout expired"),
            Status::unavailable("upstream connect error or disconnect/reset before headers"),
        ] {
            let words = refused(late);
            assert!(words.contains("it is unknown"), "{words}");
        }
        let words = refused(Status::internal("it broke"));
        assert!(
            words.contains("the function failed with Internal"),
            "{words}"
        );
    }
}
