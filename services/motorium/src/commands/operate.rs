//! One input of `motorium act` on the desktop of a task that its user has taken over.
//!
//! The Orchestrator passes it on and records it as input of the person, as it does for the web page. It takes nothing over:
//! `motorium tasks take-over` does.

use futures::channel::mpsc;
use motorium_kit::config::LayeredConfig;
use motorium_messages::Message;
use motorium_proto::domain::action::Action;
use motorium_proto::domain::effect::ActionOutcome;
use motorium_proto::domain::geometry::CapturePoint;
use motorium_proto::error::{ErrorReport, FieldError};
use motorium_proto::v1::orchestrator as wire;
use motorium_proto::v1::orchestrator::operate_desktop_request::Part;
use motorium_proto::v1::orchestrator::operate_desktop_response::Part as ResponsePart;
use motorium_task::reason;
use tonic::Code;

use super::approval::user;
use super::connection::Connection;
use crate::cli::ConnectionOptions;
use crate::error::Error;
use crate::output;
use crate::show::text;

/// Number of messages that are sent: the task, and the input.
const MESSAGES: usize = 2;

/// Performs an action on the desktop of a task. Fails if this user has not taken it over, or a mouse and a keyboard could not
/// perform the action.
pub(super) async fn operate(
    loaded: &LayeredConfig,
    server: &ConnectionOptions,
    task: &str,
    action: Action<CapturePoint>,
) -> Result<ActionOutcome, Error> {
    let connection = Connection::open(loaded, server)?;
    let (mut inputs, requests) = mpsc::channel(MESSAGES);
    let start = wire::OperateDesktopStart {
        name: task.to_owned(),
        user: user(),
    };
    let input = wire::OperatorInput {
        sequence: 1,
        action: Some(action.into()),
        ..wire::OperatorInput::default()
    };
    for part in [Part::Start(start), Part::Input(input)] {
        // The channel has room for both.
        let _ = inputs.try_send(wire::OperateDesktopRequest { part: Some(part) });
    }
    let opened = connection.client.raw().operate_desktop(requests).await;
    let refused = |status| explain(ErrorReport::from_status(&status), &connection, task);
    let mut responses = opened.map_err(refused)?.into_inner();
    loop {
        let response = responses.message().await.map_err(refused)?;
        match response.map(|response| response.part) {
            Some(Some(ResponsePart::Task(_))) => {
                output::remark(&format!("{}\n", text(Message::ActForTask { task })));
            }
            Some(Some(ResponsePart::Outcome(outcome))) => {
                // Until here, so that the input is not dropped with the stream.
                drop(inputs);
                let outcome = outcome.outcome.unwrap_or_default();
                let unreadable = |error: FieldError| Error::Start(error.to_string());
                return ActionOutcome::try_from(outcome).map_err(unreadable);
            }
            // It was handed back before the input arrived.
            Some(None) | None => return Err(not_taken_over(task)),
        }
    }
}

fn explain(report: ErrorReport, connection: &Connection, task: &str) -> Error {
    // The task may have ended, but the desktop was leased for it just now.
    if report.reason == reason::WRONG_STATE {
        return not_taken_over(task);
    }
    if report.code == Code::InvalidArgument && names_action(&report) {
        return Error::Usage(text(Message::ActInputOnly { task }));
    }
    connection.error(report)
}

fn names_action(report: &ErrorReport) -> bool {
    let mut fields = report.fields.iter();
    fields.any(|field| field.field == "input.action")
}

fn not_taken_over(task: &str) -> Error {
    Error::Usage(text(Message::ActDesktopOfTask { task }))
}
