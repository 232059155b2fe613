//! A model's turn: several calls, of which one decision is made.
//!
//! Actions are carried out in order up to the first call that cannot be. A decision of another kind (a question, the
//! end, a function) is only taken if it comes first: what is asked for after an action was asked for without having
//! seen what the action does.

use motorium_proto::domain::decision::{FunctionCall, Next, PlannedAction};
use serde_json::Value;

use super::calls::{Call, Fate};
use super::shown::Shown;

/// Most actions of one turn.
const MOST_ACTIONS: usize = 200;

/// One call, as it was understood.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Heard {
    pub(crate) id: String,
    pub(crate) detail: Value,
    pub(crate) meaning: Meaning,
}

/// What a call means.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Meaning {
    /// Input, up to what is wrong with the rest of it. Not both empty.
    Acts {
        actions: Vec<PlannedAction>,
        problem: Option<String>,
    },
    /// Nothing to be done: it wants to see the screen, or a region of it.
    Look(Option<[i32; 4]>),
    Pointer,
    Function(FunctionCall),
    Next(Next),
    /// Text on the screen that seems to give it orders.
    Suspect(String),
    Invalid(String),
}

impl Meaning {
    /// Input, if it could be read.
    pub(crate) fn acts(read: Result<Vec<PlannedAction>, String>) -> Self {
        match read {
            Ok(actions) => Meaning::Acts {
                actions,
                problem: None,
            },
            Err(problem) => Meaning::Invalid(problem),
        }
    }
}

/// What a turn comes to.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Turn {
    /// `None`: nothing is to be done; the model only wants to see something, or `problem` says what is wrong.
    pub(crate) next: Option<Next>,
    pub(crate) calls: Vec<Call>,
    pub(crate) problem: Option<String>,
    /// Text on the screen that seems to give the model orders.
    pub(crate) suspected: Vec<String>,
}

#[derive(Default)]
struct Making {
    actions: Vec<PlannedAction>,
    functions: Vec<FunctionCall>,
    other: Option<Next>,
    problem: Option<String>,
    suspected: Vec<String>,
    /// What becomes of every further call.
    closed: Option<Fate>,
}

/// The decision of a turn. `current` is the screenshot that it was made on.
pub(crate) fn decide(heard: Vec<Heard>, current: Option<&Shown>) -> Turn {
    let mut making = Making::default();
    let calls = heard
        .into_iter()
        .map(|heard| Call {
            fate: making.take(&heard.id, heard.meaning, current),
            id: heard.id,
            detail: heard.detail,
        })
        .collect();
    Turn {
        problem: making.problem.take(),
        suspected: std::mem::take(&mut making.suspected),
        next: making.next(),
        calls,
    }
}

impl Making {
    fn take(&mut self, id: &str, meaning: Meaning, current: Option<&Shown>) -> Fate {
        if let Meaning::Suspect(quote) = meaning {
            self.suspected.push(quote);
            return Fate::Noted;
        }
        if let Some(fate) = &self.closed {
            return fate.clone();
        }
        match meaning {
            Meaning::Acts { actions, problem } if self.may_act() => self.act(actions, problem),
            Meaning::Look(region) => self.look(region, current),
            Meaning::Pointer => Fate::Pointer,
            Meaning::Function(call) if self.actions.is_empty() => {
                self.functions.push(FunctionCall {
                    call_id: id.to_owned(),
                    ..call
                });
                Fate::Function
            }
            Meaning::Next(next) if self.actions.is_empty() && self.functions.is_empty() => {
                self.closed = Some(Fate::NotNow);
                let fate = fate_of(&next);
                self.other = Some(next);
                fate
            }
            Meaning::Invalid(problem) => self.invalid(problem),
            _ => {
                self.closed = Some(Fate::NotNow);
                Fate::NotNow
            }
        }
    }

    fn may_act(&self) -> bool {
        self.functions.is_empty()
    }

    fn act(&mut self, actions: Vec<PlannedAction>, problem: Option<String>) -> Fate {
        let asked = self.actions.len() + actions.len();
        if asked > MOST_ACTIONS {
            return self.invalid(format!(
                "{asked} actions in one turn are too many: at most {MOST_ACTIONS}."
            ));
        }
        if let (true, Some(problem)) = (actions.is_empty(), &problem) {
            return self.invalid(problem.clone());
        }
        if problem.is_some() {
            self.closed = Some(Fate::AfterFailure);
        }
        let first = self.actions.len();
        let count = actions.len();
        self.actions.extend(actions);
        Fate::Acts {
            first,
            count,
            problem,
        }
    }

    fn invalid(&mut self, problem: String) -> Fate {
        self.closed = Some(Fate::AfterFailure);
        self.problem.get_or_insert_with(|| problem.clone());
        Fate::Invalid { problem }
    }

    /// Before anything is done, the screen is as it is now; after it, as it will be.
    fn look(&self, region: Option<[i32; 4]>, current: Option<&Shown>) -> Fate {
        let shown = current
            .filter(|_| self.actions.is_empty() && self.functions.is_empty())
            .map(|current| Shown {
                region,
                ..current.clone()
            });
        Fate::Look { shown, region }
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

fn fate_of(next: &Next) -> Fate {
    match next {
        Next::Ask { .. } => Fate::Asked,
        Next::Extract { .. } => Fate::Extracted,
        _ => Fate::Ended,
    }
}
