//! Calling the functions that a task brings.
//!
//! What holds of actions holds of calls: the intent is stored before, the result after, and a call of which only the
//! intent is known is never simply made again. A ToolService is asked again for it, with the same id, as its contract
//! allows; of an MCP server the planner is told that nobody knows. Each call of a decision gets exactly one result, in
//! order, and none of them ends the task.

mod recorded;

use std::time::Duration;

use motorium_proto::convert::require;
use motorium_proto::domain::decision::{FunctionCall, FunctionDeclaration, FunctionResult};
use motorium_proto::v1::tool as wire;
use serde_json::{Map, Value};
use tokio::time::Instant;

use self::recorded::INVOKE;
use super::permission::{CallPermission, IntendedCall};
use super::{FIRST_PAUSE, Flow, Halt, PATIENCE, Runner};
use crate::error::reason;
use crate::functions::link::Call;
use crate::functions::offer::{Declared, Listed};
use crate::functions::outcome::Outcome;
use crate::functions::{Link, Offer, Problem, Tool};
use crate::recording::{FUNCTIONS, Tape};
use crate::task::event::{Event, Failure};
use crate::task::{Lifecycle, machine};

/// What is said of a call that may have been carried out.
const NOT_KNOWN: &str = "whether it happened is not known; look before you call it again";

/// The functions of a task, and the ways to their tools.
#[derive(Debug, Default)]
pub(super) struct Functions {
    offer: Offer,
    /// In the order of the task's endpoints.
    links: Vec<std::sync::Arc<Link>>,
}

/// A call that can be made.
struct Ready {
    link: std::sync::Arc<Link>,
    own_name: String,
    may_destroy: bool,
    arguments: Map<String, Value>,
}

impl Functions {
    /// As the planner is told.
    pub(super) fn declarations(&self) -> Vec<FunctionDeclaration> {
        self.offer.declarations()
    }

    fn ready(&self, call: &FunctionCall) -> Result<Ready, String> {
        let (function, arguments) = self.offer.read(call)?;
        Ok(Ready {
            link: self.links[function.tool].clone(),
            own_name: function.own_name.clone(),
            may_destroy: function.may_destroy,
            arguments,
        })
    }
}

impl Runner {
    /// Asks the task's tools what functions they have. What is the matter with one is the user's to know at once.
    pub(super) async fn learn_about_functions(&mut self) -> Flow {
        if self.task.spec.tool_endpoints.is_empty() {
            return Ok(());
        }
        if let Tape::Playing(playback) = &self.tape {
            let (links, listed) = recorded::read(&playback.functions());
            let offer = Offer::of(&listed);
            let offer = offer.map_err(|problem| failed(reason::TOOL_UNUSABLE, problem))?;
            self.functions = Functions { offer, links };
            return Ok(());
        }
        let mut links = Vec::new();
        let mut listed = Vec::new();
        for endpoint in self.task.spec.tool_endpoints.clone() {
            let tool = self.conduct.tools.find(&endpoint);
            let tool = tool.map_err(|problem| failed(reason::TOOL_NOT_FOUND, problem))?;
            let link = Link::new(tool.clone());
            let link = link.map_err(|problem| unusable(&tool, &problem))?;
            listed.push(Listed {
                label: tool.label.clone(),
                prefix: tool.prefix.clone(),
                functions: self.listed(&tool, &link).await?,
            });
            links.push(std::sync::Arc::new(link));
        }
        let offer = Offer::of(&listed).map_err(|problem| failed(reason::TOOL_UNUSABLE, problem))?;
        if let Tape::Recording(recorder) = &self.tape {
            recorder.noted(FUNCTIONS, recorded::written(&links, &listed));
        }
        self.functions = Functions { offer, links };
        Ok(())
    }

    /// The functions of one tool, which may take a moment to be there.
    async fn listed(&mut self, tool: &Tool, link: &Link) -> Flow<Vec<Declared>> {
        let began = Instant::now();
        let name = self.task.spec.name.to_string();
        let mut pause = FIRST_PAUSE;
        loop {
            let problem = match self.guard(link.list(&name)).await? {
                Ok(functions) => return Ok(functions),
                Err(problem) => problem,
            };
            if matches!(problem, Problem::Unusable(_)) || began.elapsed() + pause > PATIENCE {
                return Err(unusable(tool, &problem));
            }
            tracing::warn!(task = %name, tool = tool.label, %problem, "asking again");
            if pause == FIRST_PAUSE {
                let disturbed = Event::Disturbed {
                    reason: reason::TOOL_UNREACHABLE.to_owned(),
                    message: format!(
                        "asking the tool {} for its functions: {problem}",
                        tool.label
                    ),
                };
                self.record(vec![disturbed]).await?;
            }
            self.guard(self.tape.pause(pause)).await?;
            pause *= 2;
        }
    }

    /// Makes the call that was decided at this place, or says why it is not made.
    pub(super) async fn call_function(&mut self, index: usize) -> Flow {
        let Some(step) = self.task.open_step() else {
            return Ok(());
        };
        let Some(call) = step.decided_call(index).cloned() else {
            return Ok(());
        };
        let number = step.number;
        let was_called = step.open_call().is_some();
        if let Some(missed) = step.missed.clone() {
            return self.not_called(call, was_called, &missed).await;
        }
        let ready = match self.functions.ready(&call) {
            Ok(ready) => ready,
            Err(problem) => return self.not_called(call, was_called, &problem).await,
        };
        if was_called && !ready.link.may_ask_again() {
            let why = "it was being called when the task was interrupted";
            return self.not_called(call, was_called, why).await;
        }
        if !was_called {
            let intended = IntendedCall {
                index,
                call: &call,
                own_name: &ready.own_name,
                may_destroy: ready.may_destroy,
                tool: &ready.link.tool().label,
            };
            match self.permission_to_call(intended).await? {
                CallPermission::Given => {}
                CallPermission::Awaited => return Ok(()),
                CallPermission::Refused(why) => return self.not_called(call, false, &why).await,
            }
            if let Some(why) = self.before_function(&call).await? {
                return self.not_called(call, false, &why).await;
            }
            if !self.nobody_has_said_stop() {
                return Ok(());
            }
            self.record(vec![Event::FunctionCalled(call.clone())])
                .await?;
            if !self.may_act() {
                let why = "the task was interrupted just before";
                return self.not_called(call, false, why).await;
            }
        }
        self.make(
            call,
            machine::call_id(&self.task.spec.name, number, index),
            ready,
        )
        .await
    }

    /// Calls it, and stores what came of it.
    async fn make(&mut self, call: FunctionCall, id: String, ready: Ready) -> Flow {
        let began = Instant::now();
        let made = Call {
            task: self.task.spec.name.to_string(),
            id,
            name: ready.own_name,
            arguments: ready.arguments,
        };
        let called = tokio::select! {
            biased;
            _ = self.stop.paused() => {
                self.tape.stopped();
                Err(Halt::LookAgain)
            }
            called = self.guard(self.called(&ready.link, &made)) => called,
        };
        self.timed("call", began);
        match called {
            Ok(outcome) => {
                self.returned(call.clone(), outcome.clone(), began).await?;
                let call_id = call.call_id.clone();
                let result = FunctionResult { call_id, outcome };
                self.after_function(&call, &result).await;
                Ok(())
            }
            // Who may be asked again is, when the task goes on; for others there is no later.
            Err(Halt::LookAgain) if !ready.link.may_ask_again() => {
                let outcome = Err(format!("the task was interrupted; {NOT_KNOWN}"));
                self.returned(call, outcome, began).await?;
                Err(Halt::LookAgain)
            }
            Err(halt) => Err(halt),
        }
    }

    /// What the tool answers, over the tape.
    async fn called(&self, link: &Link, made: &Call) -> Outcome {
        let asked = FunctionCall {
            call_id: made.id.clone(),
            name: made.name.clone(),
            arguments_json: Value::Object(made.arguments.clone()).to_string(),
        };
        let asked = wire::InvokeRequest {
            task: made.task.clone(),
            call: Some(asked.into()),
        };
        // A connection that is being made is large; few steps call a function.
        let work = Box::pin(async {
            Ok(FunctionResult {
                call_id: made.id.clone(),
                outcome: link.call(made).await,
            })
        });
        let told = |result: FunctionResult| wire::InvokeResponse {
            result: Some(result.into()),
        };
        let read = |answer: wire::InvokeResponse| require("result", answer.result);
        let result: Result<FunctionResult, _> =
            self.tape.exchange(INVOKE, asked, work, told, read).await;
        result.map_err(|report| report.message)?.outcome
    }

    /// Whether the task runs as far as anybody here knows.
    fn nobody_has_said_stop(&self) -> bool {
        self.task.lifecycle == Lifecycle::Running && self.task.cancel_requested.is_none()
    }

    /// Says why there is no result. What was called may have happened.
    async fn not_called(&mut self, call: FunctionCall, was_called: bool, why: &str) -> Flow {
        let words = if was_called {
            format!("{why}; {NOT_KNOWN}")
        } else {
            format!("it was not called: {why}")
        };
        self.returned(call, Err(words), Instant::now()).await
    }

    async fn returned(&mut self, call: FunctionCall, outcome: Outcome, began: Instant) -> Flow {
        self.record(vec![result_of(call, outcome, began.elapsed())])
            .await
    }

    /// The result of a call that the end of the task breaks off: no call is left without one.
    pub(super) fn broken_off_call(&self) -> Option<Event> {
        let call = self.task.open_step()?.open_call()?.clone();
        let outcome = Err(format!("the task ended before it answered; {NOT_KNOWN}"));
        Some(result_of(call, outcome, Duration::ZERO))
    }
}

fn result_of(call: FunctionCall, outcome: Outcome, elapsed: Duration) -> Event {
    Event::FunctionReturned {
        result: FunctionResult {
            call_id: call.call_id,
            outcome,
        },
        elapsed,
    }
}

fn unusable(tool: &Tool, problem: &Problem) -> Halt {
    let reason = match problem {
        Problem::Away(_) => reason::TOOL_UNREACHABLE,
        Problem::Unusable(_) => reason::TOOL_UNUSABLE,
    };
    failed(reason, format!("the tool {}: {problem}", tool.label))
}

fn failed(reason: &str, message: String) -> Halt {
    Halt::Fail(Failure::new(reason, message))
}
