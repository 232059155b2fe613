//! A ToolService, over gRPC.
//!
//! A call whose connection breaks is made again with the same id, as the contract allows, until the time of the call is
//! over. Any other status is told to the planner and never repeated.

use std::time::Duration;

use motorium_kit::client::{Channel, Config};
use motorium_kit::outbound;
use motorium_proto::domain::decision::FunctionCall;
use motorium_proto::error::{ErrorReport, FieldError, reason};
use motorium_proto::v1::common as wire;
use motorium_proto::v1::tool::tool_service_client::ToolServiceClient;
use motorium_proto::v1::tool::{InvokeRequest, ListFunctionsRequest};
use serde_json::Value;
use tonic::{Code, Status};

use super::link::{Call, Problem};
use super::offer::{Declared, MOST_FUNCTIONS};
use super::outcome::{self, Outcome};
use super::settings::Tool;

/// Pause before a call is made again, doubled each time.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
/// The longest one.
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// What our channel adds to the report of a call that was lost on the way.
const ENDPOINT: &str = "endpoint";

/// A ToolService.
#[derive(Debug)]
pub(super) struct Service {
    client: ToolServiceClient<Channel>,
}

impl Service {
    pub(super) fn new(uri: &str, tool: &Tool) -> Result<Self, Problem> {
        let unusable = |problem: String| Problem::Unusable(problem);
        let ca = if uri.starts_with("https://") {
            let trusted = outbound::trusted(tool.ca_file.as_deref());
            Some(trusted.map_err(|error| unusable(error.to_string()))?)
        } else {
            None
        };
        let config = Config {
            ca,
            token: tool.token.clone(),
            default_timeout: Some(tool.timeout),
            ..Config::new(uri.trim_end_matches('/'))
        };
        let channel =
            Channel::connect_lazy(&config).map_err(|error| unusable(error.to_string()))?;
        Ok(Self {
            client: ToolServiceClient::new(channel),
        })
    }

    pub(super) async fn list(&self, task: &str) -> Result<Vec<Declared>, Problem> {
        let request = ListFunctionsRequest {
            task: task.to_owned(),
        };
        let listed = self.client.clone().list_functions(request).await;
        let functions = listed
            .map_err(|status| problem(&status))?
            .into_inner()
            .functions;
        if functions.len() > MOST_FUNCTIONS {
            let many = functions.len();
            let problem =
                format!("it has {many} functions; at most {MOST_FUNCTIONS} can be offered");
            return Err(Problem::Unusable(problem));
        }
        let functions: Result<_, _> = functions.into_iter().map(declared).collect();
        functions.map_err(|error| Problem::Unusable(error.to_string()))
    }

    pub(super) async fn call(&self, call: &Call) -> Outcome {
        let mut pause = FIRST_PAUSE;
        loop {
            let answered = self.client.clone().invoke(request(call)).await;
            let report = match answered {
                Ok(answer) => return value(answer.into_inner().result),
                Err(status) => ErrorReport::from_status(&status),
            };
            if !is_broken_off(&report) {
                return Err(refusal(&report));
            }
            tracing::debug!(%report, "a function is called again with the same id");
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }
}

fn declared(function: wire::FunctionDeclaration) -> Result<Declared, FieldError> {
    Ok(Declared {
        may_destroy: function.destructive,
        declaration: function.try_into()?,
    })
}

fn request(call: &Call) -> InvokeRequest {
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

fn value(result: Option<wire::FunctionResult>) -> Outcome {
    use wire::function_result::Outcome as Wire;

    match result.and_then(|result| result.outcome) {
        Some(Wire::ResultJson(json)) => outcome::value(&json),
        Some(Wire::Error(error)) if error.trim().is_empty() => {
            Err("it failed and does not say why".to_owned())
        }
        Some(Wire::Error(error)) => Err(error),
        None => Err("it answered with neither a result nor an error".to_owned()),
    }
}

/// Whether the connection broke, as opposed to an answer of the service: then our own channel says to where it led.
fn is_broken_off(report: &ErrorReport) -> bool {
    report.reason == reason::TRANSPORT && report.metadata.contains_key(ENDPOINT)
}

/// A status, as the planner is told. A server that keeps to the time that we allow may say so before we do, and some call that
/// cancelled; nobody has cancelled a call of which the answer is still awaited.
fn refusal(report: &ErrorReport) -> String {
    let message = &report.message;
    match report.code {
        Code::DeadlineExceeded | Code::Cancelled => {
            format!("no answer came in time ({message}); whether it happened is not known")
        }
        code => format!("it failed with {code:?}: {message}"),
    }
}

fn problem(status: &Status) -> Problem {
    let report = ErrorReport::from_status(status);
    let words = match report.code {
        Code::Unimplemented => {
            "there is no motorium.tool.v1.ToolService at this address; is it an MCP server \
             (then write mcp+http://…)?"
                .to_owned()
        }
        _ if is_broken_off(&report) => report.message.clone(),
        code => format!(
            "listing its functions failed with {code:?}: {}",
            report.message
        ),
    };
    let may_pass = matches!(
        report.code,
        Code::Unavailable | Code::DeadlineExceeded | Code::ResourceExhausted
    );
    if may_pass || is_broken_off(&report) {
        Problem::Away(words)
    } else {
        Problem::Unusable(words)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_that_ran_out_of_time_may_have_happened_whoever_says_so_first() {
        let refused = |status: Status| refusal(&ErrorReport::from_status(&status));
        for late in [
            Status::deadline_exceeded("too slow"),
            Status::cancelled("Timeout expired"),
        ] {
            let words = refused(late);
            assert!(words.contains("is not known"), "{words}");
        }
        let words = refused(Status::internal("it broke"));
        assert!(words.contains("it failed with Internal"), "{words}");
    }
}
