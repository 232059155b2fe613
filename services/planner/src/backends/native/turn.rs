//! A model's turn: several calls that become one decision.
//!
//! Actions are performed in order up to the first call that cannot be. A decision of another kind (a question, the end, a
//! function) is accepted only before any action: after an action it was made without seeing the action's effect.

use motorium_proto::domain::decision::{FunctionCall, Next, PlannedAction};
use serde_json::Value;

use super::calls::{CallStatus, PendingCall};
use super::conversation_image::ConversationImage;

/// Maximum number of actions per turn: bounds what one response can do.
const MAX_ACTIONS: usize = 200;

/// A parsed call.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ParsedCall {
    pub(crate) id: String,
    pub(crate) detail: Value,
    pub(crate) meaning: CallMeaning,
}

/// Meaning of a call.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum CallMeaning {
    /// Input actions, and the error of the rest. Not both empty.
    Actions {
        actions: Vec<PlannedAction>,
        problem: Option<String>,
    },
    /// No action: the model wants to see the screen, or a region of it.
    Screenshot(Option<[i32; 4]>),
    Pointer,
    Function(FunctionCall),
    Next(Next),
    /// Text on the screen that seems to address the model.
    SuspectedInjection(String),
    Invalid(String),
}

impl CallMeaning {
    /// Returns input actions, or the parse error.
    pub(crate) fn actions(read: Result<Vec<PlannedAction>, String>) -> Self {
        match read {
            Ok(actions) => CallMeaning::Actions {
                actions,
                problem: None,
            },
            Err(problem) => CallMeaning::Invalid(problem),
        }
    }
}

/// The decision and results of a turn.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Turn {
    /// `None`: no action. The model only wants to observe something, or `problem` is the error.
    pub(crate) next: Option<Next>,
    pub(crate) calls: Vec<PendingCall>,
    pub(crate) problem: Option<String>,
    /// Suspected injections that the model reported.
    pub(crate) suspected: Vec<String>,
}

#[derive(Default)]
struct TurnBuilder {
    actions: Vec<PlannedAction>,
    functions: Vec<FunctionCall>,
    other: Option<Next>,
    problem: Option<String>,
    suspected: Vec<String>,
    /// Status of every further call.
    closed: Option<CallStatus>,
}

/// Returns the decision of a turn. `current` is the screenshot that it was made on.
pub(crate) fn decide(parsed_calls: Vec<ParsedCall>, current: Option<&ConversationImage>) -> Turn {
    let mut making = TurnBuilder::default();
    let calls = parsed_calls
        .into_iter()
        .map(|call| PendingCall {
            fate: making.take(&call.id, call.meaning, current),
            id: call.id,
            detail: call.detail,
        })
        .collect();
    Turn {
        problem: making.problem.take(),
        suspected: std::mem::take(&mut making.suspected),
        next: making.next(),
        calls,
    }
}

impl TurnBuilder {
    fn take(
        &mut self,
        id: &str,
        meaning: CallMeaning,
        current: Option<&ConversationImage>,
    ) -> CallStatus {
        if let CallMeaning::SuspectedInjection(quote) = meaning {
            self.suspected.push(quote);
            return CallStatus::Noted;
        }
        if let Some(fate) = &self.closed {
            return fate.clone();
        }
        match meaning {
            CallMeaning::Actions { actions, problem } if self.may_act() => {
                self.act(actions, problem)
            }
            CallMeaning::Screenshot(region) => self.look(region, current),
            CallMeaning::Pointer => CallStatus::Pointer,
            CallMeaning::Function(call) if self.actions.is_empty() => {
                self.functions.push(FunctionCall {
                    call_id: id.to_owned(),
                    ..call
                });
                CallStatus::Function
            }
            CallMeaning::Next(next) if self.actions.is_empty() && self.functions.is_empty() => {
                self.closed = Some(CallStatus::NotNow);
                let fate = fate_of(&next);
                self.other = Some(next);
                fate
            }
            CallMeaning::Invalid(problem) => self.invalid(problem),
            _ => {
                self.closed = Some(CallStatus::NotNow);
                CallStatus::NotNow
            }
        }
    }

    fn may_act(&self) -> bool {
        self.functions.is_empty()
    }

    fn act(&mut self, actions: Vec<PlannedAction>, problem: Option<String>) -> CallStatus {
        let asked = self.actions.len() + actions.len();
        if asked > MAX_ACTIONS {
            return self.invalid(format!(
                "{asked} actions in one turn are too many: at most {MAX_ACTIONS}."
            ));
        }
        if let (true, Some(problem)) = (actions.is_empty(), &problem) {
            return self.invalid(problem.clone());
        }
        if problem.is_some() {
            self.closed = Some(CallStatus::AfterFailure);
        }
        let first = self.actions.len();
        let count = actions.len();
        self.actions.extend(actions);
        CallStatus::Acts {
            first,
            count,
            problem,
        }
    }

    fn invalid(&mut self, problem: String) -> CallStatus {
        self.closed = Some(CallStatus::AfterFailure);
        self.problem.get_or_insert_with(|| problem.clone());
        CallStatus::Invalid { problem }
    }

    /// Returns the screenshot for a look: the current one before any action, the next one after an action.
    fn look(&self, region: Option<[i32; 4]>, current: Option<&ConversationImage>) -> CallStatus {
        let shown = current
            .filter(|_| self.actions.is_empty() && self.functions.is_empty())
            .map(|current| ConversationImage {
                region,
                ..current.clone()
            });
        CallStatus::Look { shown, region }
    }

    fn next(self) -> Option<Next> {
        if !self.actions.is_empty() {
            Some(Next::Act(self.actions))
        } else if !self.functions.is_empty() {
            Some(Next::CallFunctions(self.functions))
        } else {
            self.other
        }
    }
}

fn fate_of(next: &Next) -> CallStatus {
    match next {
        Next::Ask { .. } => CallStatus::Asked,
        Next::Extract { .. } => CallStatus::Extracted,
        _ => CallStatus::Ended,
    }
}
