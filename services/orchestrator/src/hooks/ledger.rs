//! The reading side of a task's budget: the planner is told when most of it is used.
//!
//! It reads what the task has used and what its limits are; both are kept by the task itself, and that a limit ends the
//! task is said in [`crate::task::machine`]. What has been said is remembered in memory alone: after a crash it is said once
//! more.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use async_trait::async_trait;
use motorium_proto::domain::decision::Usage;
use motorium_proto::domain::id::TaskName;
use motorium_proto::error::FieldError;
use serde::{Deserialize, Serialize};

use super::happening::{Amendment, Happening, ModelCallAmendment, Point, Points, Purpose};
use super::{Context, Error, Hook, Verdict};
use crate::task::limits;
use crate::task::spec::Limits;

/// As written.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    pub name: String,
    /// Shares of the tokens or the money of a task, in percent, at which its planner is told.
    pub tell_at: Vec<u32>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            name: "ledger".to_owned(),
            tell_at: vec![80, 100],
        }
    }
}

/// Tells how much of a budget is used.
#[derive(Debug)]
pub struct Ledger {
    name: String,
    /// The smallest first.
    tell_at: Vec<u32>,
    told: Mutex<HashMap<TaskName, Told>>,
}

#[derive(Debug, Default)]
struct Told {
    /// The last share that was reached, for each budget.
    reached: [u32; 2],
    /// Not told yet.
    due: Vec<String>,
}

impl Ledger {
    /// # Errors
    /// If a share is none.
    pub fn new(settings: Settings) -> Result<Self, FieldError> {
        let mut tell_at = settings.tell_at;
        tell_at.sort_unstable();
        if let Some(share) = tell_at.iter().find(|share| !(1..=100).contains(*share)) {
            let problem = format!("{share} is no share; give percent, from 1 to 100");
            return Err(FieldError::new("tell_at", problem));
        }
        Ok(Self {
            name: settings.name,
            tell_at,
            told: Mutex::default(),
        })
    }

    fn used(&self, task: &TaskName, usage: Usage, limits: &Limits) {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        let told = told.entry(task.clone()).or_default();
        for (budget, reached) in budgets(usage, limits).iter().zip(&mut told.reached) {
            let Some(budget) = budget else { continue };
            let shares = self.tell_at.iter().rev();
            let Some(share) = shares.copied().find(|share| budget.reaches(*share)) else {
                continue;
            };
            if share > *reached {
                *reached = share;
                told.due.push(budget.words());
            }
        }
    }

    fn due(&self, task: &TaskName) -> Vec<String> {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        told.get_mut(task)
            .map(|told| std::mem::take(&mut told.due))
            .unwrap_or_default()
    }

    fn forget(&self, task: &TaskName) {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        told.remove(task);
    }
}

#[async_trait]
impl Hook for Ledger {
    fn name(&self) -> &str {
        &self.name
    }

    async fn points(&self) -> Result<Points, Error> {
        Ok([Point::Usage, Point::BeforeModelCall, Point::AfterRun].into())
    }

    async fn call(
        &self,
        context: &Context<'_>,
        happening: &Happening<'_>,
    ) -> Result<Verdict, Error> {
        let spec = &context.task.spec;
        match happening {
            Happening::Usage(_) => self.used(&spec.name, context.task.usage, &spec.limits),
            Happening::AfterRun(_) => self.forget(&spec.name),
            // Only the planner can do something about it.
            Happening::BeforeModelCall(call) if call.purpose == Purpose::Plan => {
                let notices = self.due(&spec.name);
                if !notices.is_empty() {
                    let amendment = ModelCallAmendment {
                        notices,
                        max_past_images: None,
                    };
                    return Ok(Verdict::Amend(Amendment::ModelCall(amendment)));
                }
            }
            _ => {}
        }
        Ok(Verdict::Continue)
    }
}

/// One budget, and what of it is used.
struct Budget {
    what: String,
    used: u64,
    limit: u64,
}

/// The tokens and the money. What nobody has limited or nobody can tell is none.
fn budgets(usage: Usage, limits: &Limits) -> [Option<Budget>; 2] {
    let tokens = limits::tokens(usage);
    let usd = |micros: u64| micros as f64 / 1e6;
    [
        limits.max_tokens.map(|limit| Budget {
            what: format!("{tokens} of {limit} tokens"),
            used: tokens,
            limit,
        }),
        limits
            .max_cost_micros_usd
            .zip(usage.cost_micros_usd)
            .map(|(limit, used)| Budget {
                what: format!("{:.2} of {:.2} USD", usd(used), usd(limit)),
                used,
                limit,
            }),
    ]
}

impl Budget {
    fn reaches(&self, share: u32) -> bool {
        u128::from(self.used) * 100 >= u128::from(self.limit) * u128::from(share)
    }

    fn words(&self) -> String {
        let what = &self.what;
        if self.reaches(100) {
            format!("the budget of this task is used up: {what}")
        } else {
            format!(
                "most of the budget of this task is used: {what}; come to an end with what is left, \
                 or say what is missing"
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ledger() -> Ledger {
        Ledger::new(Settings::default()).unwrap()
    }

    fn check(calls: &[u64], limits: &Limits, expected: &[&str]) {
        let (ledger, task) = (ledger(), TaskName::from_segment("t").unwrap());
        let mut said = Vec::new();
        for tokens in calls {
            let usage = Usage {
                input_tokens: Some(*tokens),
                cost_micros_usd: Some(*tokens * 10_000),
                calls: 1,
                ..Usage::default()
            };
            ledger.used(&task, usage, limits);
            said.extend(ledger.due(&task));
        }
        let said: Vec<&str> = said
            .iter()
            .map(|words| words.split(';').next().unwrap())
            .collect();
        assert_eq!(said, expected);
    }

    #[test]
    fn each_share_is_told_once() {
        let limits = Limits {
            max_tokens: Some(100),
            ..Limits::default()
        };
        check(
            &[79, 80, 90, 100, 120],
            &limits,
            &[
                "most of the budget of this task is used: 80 of 100 tokens",
                "the budget of this task is used up: 100 of 100 tokens",
            ],
        );
        check(
            &[150],
            &limits,
            &["the budget of this task is used up: 150 of 100 tokens"],
        );
    }

    #[test]
    fn money_is_a_budget_of_its_own_and_what_is_not_limited_is_none() {
        let limits = Limits {
            max_cost_micros_usd: Some(1_000_000),
            ..Limits::default()
        };
        check(
            &[90],
            &limits,
            &["most of the budget of this task is used: 0.90 of 1.00 USD"],
        );
        check(&[1_000_000], &Limits::default(), &[]);
    }

    #[test]
    fn a_share_is_from_1_to_100() {
        let settings = Settings {
            tell_at: vec![50, 120],
            ..Settings::default()
        };
        let error = Ledger::new(settings).unwrap_err();
        assert!(error.description.contains("120 is no share"));
    }
}
