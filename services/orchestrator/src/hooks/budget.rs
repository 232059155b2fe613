//! Budget hook: tells the planner when most of a task's budget is used.
//!
//! It reads the task's usage and limits. Both are kept by the task itself, and [`motorium_task::machine`] enforces the
//! limits. Sent notices are remembered in memory only, so after a crash a notice is sent once more.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use async_trait::async_trait;
use motorium_messages::{Language, Message};
use motorium_proto::domain::id::TaskName;
use motorium_proto::error::FieldError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::event::{
    Amendment, HookEvent, HookPoint, HookPoints, ModelCallAmendment, ModelCallPurpose,
};
use super::{Error, Hook, HookContext, HookVerdict};
use motorium_task::limits::{self, CountedUsage};
use motorium_task::spec::Limits;

/// Settings of the hook.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Name of the hook in events and errors. Unique among the hooks.
    pub name: String,
    /// Percentages of the token or cost budget at which the planner is told.
    pub notify_at_percent: Vec<u32>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            name: "ledger".to_owned(),
            notify_at_percent: vec![80, 100],
        }
    }
}

/// Tells the planner how much of a budget is used.
#[derive(Debug)]
pub struct BudgetHook {
    name: String,
    /// Percentages, in ascending order.
    notify_at_percent: Vec<u32>,
    notified: Mutex<HashMap<TaskName, BudgetNotices>>,
}

#[derive(Debug, Default)]
struct BudgetNotices {
    /// The highest percentage reported, for each budget.
    reached: [u32; 2],
    /// Notices that have not been sent yet.
    due: Vec<String>,
}

impl BudgetHook {
    /// # Errors
    /// If a percentage is not between 1 and 100.
    pub fn new(settings: Settings) -> Result<Self, FieldError> {
        let mut notify_at_percent = settings.notify_at_percent;
        notify_at_percent.sort_unstable();
        if let Some(share) = notify_at_percent
            .iter()
            .find(|share| !(1..=100).contains(*share))
        {
            let problem = format!("{share} is not a percentage; give a number from 1 to 100");
            return Err(FieldError::new("notify_at_percent", problem));
        }
        Ok(Self {
            name: settings.name,
            notify_at_percent,
            notified: Mutex::default(),
        })
    }

    fn record_usage(
        &self,
        task: &TaskName,
        usage: CountedUsage,
        limits: &Limits,
        language: Language,
    ) {
        let mut notified = self.notified.lock().unwrap_or_else(PoisonError::into_inner);
        let notices = notified.entry(task.clone()).or_default();
        for (budget, reached) in budgets(usage, limits, language)
            .iter()
            .zip(&mut notices.reached)
        {
            let Some(budget) = budget else { continue };
            let shares = self.notify_at_percent.iter().rev();
            let Some(share) = shares.copied().find(|share| budget.reaches(*share)) else {
                continue;
            };
            if share > *reached {
                *reached = share;
                notices.due.push(budget.message(language));
            }
        }
    }

    fn take_due(&self, task: &TaskName) -> Vec<String> {
        let mut notified = self.notified.lock().unwrap_or_else(PoisonError::into_inner);
        notified
            .get_mut(task)
            .map(|notices| std::mem::take(&mut notices.due))
            .unwrap_or_default()
    }

    fn forget(&self, task: &TaskName) {
        let mut notified = self.notified.lock().unwrap_or_else(PoisonError::into_inner);
        notified.remove(task);
    }
}

#[async_trait]
impl Hook for BudgetHook {
    fn name(&self) -> &str {
        &self.name
    }

    async fn points(&self) -> Result<HookPoints, Error> {
        Ok([
            HookPoint::Usage,
            HookPoint::BeforeModelCall,
            HookPoint::AfterRun,
        ]
        .into())
    }

    async fn call(
        &self,
        context: &HookContext<'_>,
        hook_event: &HookEvent<'_>,
    ) -> Result<HookVerdict, Error> {
        let spec = &context.task.spec;
        match hook_event {
            HookEvent::Usage(_) => self.record_usage(
                &spec.name,
                limits::counted(context.task),
                &spec.limits,
                spec.message_language(),
            ),
            HookEvent::AfterRun(_) => self.forget(&spec.name),
            // Only the planner can act on the notice.
            HookEvent::BeforeModelCall(call) if call.purpose == ModelCallPurpose::Plan => {
                let notices = self.take_due(&spec.name);
                if !notices.is_empty() {
                    let amendment = ModelCallAmendment {
                        notices,
                        max_past_images: None,
                    };
                    return Ok(HookVerdict::Amend(Amendment::ModelCall(amendment)));
                }
            }
            _ => {}
        }
        Ok(HookVerdict::Continue)
    }
}

/// A budget and its usage.
struct Budget {
    description: String,
    used: u64,
    limit: u64,
}

/// Returns the token and the cost budget. `None` if a budget is unlimited or its usage is unknown.
fn budgets(usage: CountedUsage, limits: &Limits, language: Language) -> [Option<Budget>; 2] {
    let tokens = usage.tokens;
    let usd = |micros: u64| format!("{:.2}", micros as f64 / 1e6);
    [
        limits.max_tokens.map(|limit| Budget {
            description: Message::BudgetTokens {
                used: &tokens.to_string(),
                limit: &limit.to_string(),
            }
            .text(language),
            used: tokens,
            limit,
        }),
        limits
            .max_cost_micros_usd
            .zip(usage.cost_micros_usd)
            .map(|(limit, used)| Budget {
                description: Message::BudgetCost {
                    used: &usd(used),
                    limit: &usd(limit),
                }
                .text(language),
                used,
                limit,
            }),
    ]
}

impl Budget {
    fn reaches(&self, share: u32) -> bool {
        u128::from(self.used) * 100 >= u128::from(self.limit) * u128::from(share)
    }

    fn message(&self, language: Language) -> String {
        let usage = &self.description;
        let message = if self.reaches(100) {
            Message::BudgetUsedUp { usage }
        } else {
            Message::BudgetNearlyUsed { usage }
        };
        message.text(language)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ledger() -> BudgetHook {
        BudgetHook::new(Settings::default()).unwrap()
    }

    fn check(calls: &[u64], limits: &Limits, expected: &[&str]) {
        let (ledger, task) = (ledger(), TaskName::from_segment("t").unwrap());
        let mut notices = Vec::new();
        for tokens in calls {
            let usage = CountedUsage {
                tokens: *tokens,
                cost_micros_usd: Some(*tokens * 10_000),
            };
            ledger.record_usage(&task, usage, limits, Language::English);
            notices.extend(ledger.take_due(&task));
        }
        let notices: Vec<&str> = notices
            .iter()
            .map(|words| words.split(';').next().unwrap())
            .collect();
        assert_eq!(notices, expected);
    }

    #[test]
    fn each_budget_threshold_is_reported_once() {
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
    fn cost_budget_is_separate_and_unlimited_tasks_have_none() {
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
            notify_at_percent: vec![50, 120],
            ..Settings::default()
        };
        let error = BudgetHook::new(settings).unwrap_err();
        assert!(error.description.contains("120 is not a percentage"));
    }
}
