//! Calls the functions of a task's tools.
//!
//! Calls follow the rules of actions: the intent is stored before and the result after, and a call of which only the
//! intent is known is never blindly repeated. A ToolService is asked again with the same id, as its API allows; for an
//! MCP server the planner is told that the outcome is unknown. Each call of a decision gets exactly one result, in
//! order, and no failure ends the task.

mod recording;

use std::time::Duration;

use motorium_messages::Message;
use motorium_proto::convert::require;
use motorium_proto::domain::decision::{FunctionCall, FunctionDeclaration, FunctionResult};
use motorium_proto::v1::tool as wire;
use serde_json::{Map, Value};
use tokio::time::Instant;

use self::recording::INVOKE;
use super::actuator::may_act;
use super::context::RunContext;
use super::gate::{CallPermission, Gate};
use super::policy_context::IntendedFunctionCall;
use super::screen::Screen;
use super::{Backoff, Halt, RunResult, hooks};
use crate::error::reason;
use crate::functions::ToolCall;
use crate::functions::catalog::{DeclaredFunction, ToolFunctions};
use crate::functions::outcome::FunctionOutcome;
use crate::functions::{FunctionCatalog, Tool, ToolConnection, ToolError};
use motorium_recording::recording::{FUNCTIONS, RecordingMode};
use motorium_task::Task;
use motorium_task::event::{Event, Failure};
use motorium_task::{Lifecycle, machine};

/// The functions of a task and the connections to its tools.
#[derive(Debug, Default)]
pub(super) struct Functions {
    offer: FunctionCatalog,
    /// In the order of the task's tool endpoints.
    links: Vec<std::sync::Arc<ToolConnection>>,
}

/// A validated call and its connection.
struct PreparedCall {
    link: std::sync::Arc<ToolConnection>,
    function_in_tool: String,
    destructive: bool,
    arguments: Map<String, Value>,
}

impl Functions {
    /// Returns the declarations for the planner.
    pub(super) fn declarations(&self) -> Vec<FunctionDeclaration> {
        self.offer.declarations()
    }

    fn ready(&self, call: &FunctionCall) -> Result<PreparedCall, String> {
        let (function, arguments) = self.offer.resolve(call)?;
        Ok(PreparedCall {
            link: self.links[function.tool].clone(),
            function_in_tool: function.function_in_tool.clone(),
            destructive: function.destructive,
            arguments,
        })
    }

    /// Lists the functions of the task's tools. A tool that cannot be used fails the task at once.
    pub(super) async fn load_functions(&mut self, run: &mut RunContext) -> RunResult {
        if run.task().spec.tool_endpoints.is_empty() {
            return Ok(());
        }
        let language = run.task().spec.message_language();
        if let RecordingMode::Replaying(playback) = &run.recording() {
            let (links, listed) = recording::decode(&playback.functions(), language);
            let offer = FunctionCatalog::from_tools(&listed, language);
            let offer = offer.map_err(|problem| failed(reason::TOOL_UNUSABLE, problem))?;
            *self = Functions { offer, links };
            return Ok(());
        }
        let mut links = Vec::new();
        let mut listed = Vec::new();
        for endpoint in run.task().spec.tool_endpoints.clone() {
            let tool = run.config.tools.find(&endpoint, language);
            let tool = tool.map_err(|problem| failed(reason::TOOL_NOT_FOUND, problem))?;
            let link = ToolConnection::new(tool.clone(), language);
            let link = link.map_err(|problem| unusable(run.task(), &tool, &problem))?;
            listed.push(ToolFunctions {
                label: tool.label.clone(),
                prefix: tool.prefix.clone(),
                functions: list_functions(run, &tool, &link).await?,
            });
            links.push(std::sync::Arc::new(link));
        }
        let offer = FunctionCatalog::from_tools(&listed, language)
            .map_err(|problem| failed(reason::TOOL_UNUSABLE, problem))?;
        if let RecordingMode::Recording(recorder) = &run.recording() {
            recorder.note_content(FUNCTIONS, recording::encode(&links, &listed));
        }
        *self = Functions { offer, links };
        Ok(())
    }

    /// Makes the decided call with this index, or records why it is not made.
    pub(super) async fn call_function(
        &self,
        run: &mut RunContext,
        gate: &Gate,
        screen: &mut Screen,
        index: usize,
    ) -> RunResult {
        let Some(step) = run.task().open_step() else {
            return Ok(());
        };
        let Some(call) = step.decided_call(index).cloned() else {
            return Ok(());
        };
        let number = step.number;
        let was_called = step.open_call().is_some();
        if let Some(abandonment) = step.abandonment.clone() {
            return not_called(run, call, was_called, &abandonment.reason).await;
        }
        let ready = match self.ready(&call) {
            Ok(ready) => ready,
            Err(problem) => return not_called(run, call, was_called, &problem).await,
        };
        if was_called && !ready.link.is_retryable() {
            let why = run.task().text(Message::CallInterrupted);
            return not_called(run, call, was_called, &why).await;
        }
        if !was_called {
            let intended = IntendedFunctionCall {
                index,
                call: &call,
                function_in_tool: &ready.function_in_tool,
                destructive: ready.destructive,
                tool: &ready.link.tool().label,
            };
            match gate.permission_to_call(run, screen, intended).await? {
                CallPermission::Granted => {}
                CallPermission::PendingApproval => return Ok(()),
                CallPermission::Refused(why) => return not_called(run, call, false, &why).await,
            }
            if let Some(why) = hooks::before_function(run, &call).await? {
                return not_called(run, call, false, &why).await;
            }
            if !is_running(run.task()) {
                return Ok(());
            }
            run.record(vec![Event::FunctionCalled(call.clone())])
                .await?;
            if !may_act(run.task()) {
                let why = run.task().text(Message::CallInterruptedBefore);
                return not_called(run, call, false, &why).await;
            }
        }
        let id = machine::call_id(&run.task().spec.name, number, index);
        invoke(run, call, id, ready).await
    }
}

/// Lists the functions of one tool, with retries while it is unavailable.
async fn list_functions(
    run: &mut RunContext,
    tool: &Tool,
    link: &ToolConnection,
) -> RunResult<Vec<DeclaredFunction>> {
    let began = Instant::now();
    let name = run.task().spec.name.to_string();
    let mut backoff = Backoff::of(&name);
    loop {
        // Boxed: the future of a client of MCP is large.
        let problem = match run.guard(Box::pin(link.list(&name))).await? {
            Ok(functions) => return Ok(functions),
            Err(problem) => problem,
        };
        let is_first = backoff.is_first();
        let pause = match problem {
            ToolError::Unusable(_) => None,
            _ => backoff.next(began.elapsed()),
        };
        let Some(pause) = pause else {
            return Err(unusable(run.task(), tool, &problem));
        };
        tracing::warn!(task = %name, tool = tool.label, %problem, "tool is unavailable; retrying");
        if is_first {
            let failure = Event::TransientFailure {
                reason: reason::TOOL_UNREACHABLE.to_owned(),
                message: run.task().text(Message::WithDetail {
                    text: &run
                        .task()
                        .text(Message::OperationListFunctions { tool: &tool.label }),
                    detail: &problem.to_string(),
                }),
            };
            run.record(vec![failure]).await?;
        }
        run.sleep(pause).await?;
    }
}

/// Makes the call and records its result.
async fn invoke(
    run: &mut RunContext,
    call: FunctionCall,
    id: String,
    ready: PreparedCall,
) -> RunResult {
    let began = Instant::now();
    let made = ToolCall {
        task: run.task().spec.name.to_string(),
        id,
        name: ready.function_in_tool,
        arguments: ready.arguments,
    };
    let called = invoke_recorded(run, &ready.link, &made);
    let called = run.guard_unless_paused(called).await;
    run.record_timing("call", began);
    match called {
        Ok(outcome) => {
            returned(run, call.clone(), outcome.clone(), began).await?;
            let call_id = call.call_id.clone();
            let result = FunctionResult { call_id, outcome };
            hooks::after_function(run, &call, &result).await;
            Ok(())
        }
        // A retryable call is made again when the task continues; others need a result now.
        Err(Halt::Reevaluate) if !ready.link.is_retryable() => {
            let reason = &run.task().text(Message::TaskInterrupted);
            let outcome = Err(run.task().text(Message::CallOutcomeUnknown { reason }));
            returned(run, call, outcome, began).await?;
            Err(Halt::Reevaluate)
        }
        Err(halt) => Err(halt),
    }
}

/// Makes the call through the recording ports.
async fn invoke_recorded(
    run: &RunContext,
    link: &ToolConnection,
    made: &ToolCall,
) -> FunctionOutcome {
    let asked = FunctionCall {
        call_id: made.id.clone(),
        name: made.name.clone(),
        arguments_json: Value::Object(made.arguments.clone()).to_string(),
    };
    let asked = wire::InvokeRequest {
        task: made.task.clone(),
        call: Some(asked.into()),
    };
    // Boxed: a future that connects is large, and few steps call a function.
    let work = Box::pin(async {
        Ok(FunctionResult {
            call_id: made.id.clone(),
            outcome: link.call(made).await,
        })
    });
    let to_wire = |result: FunctionResult| wire::InvokeResponse {
        result: Some(result.into()),
    };
    let read = |answer: wire::InvokeResponse| require("result", answer.result);
    let result: Result<FunctionResult, _> = run
        .recording()
        .exchange(INVOKE, asked, work, to_wire, read)
        .await;
    result.map_err(|report| report.message)?.outcome
}

/// Returns whether the task is running and not being cancelled.
fn is_running(task: &Task) -> bool {
    task.lifecycle == Lifecycle::Running && task.cancel_requested.is_none()
}

/// Records why a call has no result. A call that had started may have been carried out.
async fn not_called(
    run: &mut RunContext,
    call: FunctionCall,
    was_called: bool,
    why: &str,
) -> RunResult {
    let message = if was_called {
        Message::CallOutcomeUnknown { reason: why }
    } else {
        Message::CallNotMade { reason: why }
    };
    let text = run.task().text(message);
    returned(run, call, Err(text), Instant::now()).await
}

async fn returned(
    run: &mut RunContext,
    call: FunctionCall,
    outcome: FunctionOutcome,
    began: Instant,
) -> RunResult {
    run.record(vec![result_of(call, outcome, began.elapsed())])
        .await
}

/// Returns the result of a call that is interrupted by the end of the task, so that no call is left without one.
pub(super) fn interrupted_call_result(task: &Task) -> Option<Event> {
    let call = task.open_step()?.open_call()?.clone();
    let reason = &task.text(Message::TaskEndedBeforeResult);
    let outcome = Err(task.text(Message::CallOutcomeUnknown { reason }));
    Some(result_of(call, outcome, Duration::ZERO))
}

fn result_of(call: FunctionCall, outcome: FunctionOutcome, elapsed: Duration) -> Event {
    Event::FunctionReturned {
        result: FunctionResult {
            call_id: call.call_id,
            outcome,
        },
        elapsed,
    }
}

fn unusable(task: &Task, tool: &Tool, problem: &ToolError) -> Halt {
    let reason = match problem {
        ToolError::Unavailable(_) => reason::TOOL_UNREACHABLE,
        ToolError::Unusable(_) => reason::TOOL_UNUSABLE,
    };
    let message = Message::ToolFailed {
        tool: &tool.label,
        problem: &problem.to_string(),
    };
    failed(reason, task.text(message))
}

fn failed(reason: &str, message: String) -> Halt {
    Halt::Fail(Failure::new(reason, message))
}
