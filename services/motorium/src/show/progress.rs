//! A task's events as lines for people.
//!
//! A [`Progress`] is fed events in order and says what to print: one line per finished step, a few words meanwhile.

use std::time::Duration;

use motorium_proto::v1::common::{self, ActionResult, EffectVerdict};
use motorium_proto::v1::orchestrator as wire;
use motorium_proto::v1::orchestrator::action_retried::Way;
use motorium_proto::v1::orchestrator::event::Kind;

use super::shortened;

/// How a task ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Ending {
    Succeeded { answer: String },
    Failed { reason: String, message: String },
    Cancelled { reason: String },
}

impl Ending {
    /// Whether the goal was reached.
    #[must_use]
    pub(crate) fn is_success(&self) -> bool {
        matches!(self, Ending::Succeeded { .. })
    }
}

/// What an event makes visible.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Shown {
    /// Nothing.
    Nothing,
    /// What is going on, until the next one.
    Now(String),
    /// A line that stays.
    Line(String),
    /// The user is needed.
    Question { message: String, wants_words: bool },
    /// An action waits for the user's approval, which has this name.
    Approval { message: String, name: String },
    /// It has ended.
    Ended(Ending),
}

/// What was seen of the step that is under way.
#[derive(Debug, Default)]
struct Step {
    number: u32,
    began: Duration,
    text: String,
    outcome: String,
    trouble: bool,
    retries: u32,
    acted: bool,
    /// The function calls that were decided.
    calls: Vec<common::FunctionCall>,
}

/// Turns events into what to show.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    step: Step,
}

impl Progress {
    /// Takes the next event in.
    pub(crate) fn take(&mut self, event: &wire::Event) -> Shown {
        let Some(kind) = &event.kind else {
            return Shown::Nothing;
        };
        match kind {
            Kind::Started(_) => Shown::Now("starting".to_owned()),
            Kind::Recovered(_) => {
                Shown::Line("    the orchestrator was restarted; going on".to_owned())
            }
            Kind::Observed(observed) => self.begin(event, observed),
            Kind::ProgressAdded(progress) => self.now(&progress.text),
            Kind::BackendSkipped(skipped) => Shown::Line(format!(
                "    {} did not decide: {}",
                skipped.backend, skipped.message
            )),
            Kind::ActionIntended(intended) => {
                self.step.acted = true;
                let intent = intended
                    .planned
                    .as_ref()
                    .map(|planned| planned.intent.clone());
                self.now(&intent.unwrap_or_default())
            }
            Kind::ActionPerformed(performed) => self.performed(performed),
            Kind::EffectJudged(judged) => self.judged(judged),
            Kind::ActionRetried(retried) if retried.way() == Way::LookedAgain => {
                Shown::Now(format!("{} (looking once more)", self.step.text))
            }
            Kind::ActionRetried(_) => {
                self.step.retries += 1;
                Shown::Now(format!("{} (again)", self.step.text))
            }
            Kind::Decided(decided) => self.decided(decided),
            Kind::FunctionCalled(called) => self.called(called),
            Kind::FunctionReturned(returned) => self.returned(returned),
            Kind::LoopNoticed(noticed) => self.trouble(&noticed.message),
            Kind::TargetMissed(missed) => self.trouble(&missed.message),
            Kind::StepFinished(_) => self.finish(event),
            Kind::AttachmentPut(put) => Shown::Line(format!("    put {} on the desktop", put.name)),
            Kind::ResultFetched(fetched) if fetched.error.is_empty() => {
                let name = fetched
                    .artifact
                    .as_ref()
                    .map(|artifact| artifact.file_name.as_str());
                Shown::Line(format!("    fetched {}", name.unwrap_or_default()))
            }
            Kind::ResultFetched(fetched) => {
                Shown::Line(format!("    not fetched: {}", fetched.error))
            }
            Kind::CompletionChecked(checked) if !checked.passed => {
                Shown::Line(format!("    not done yet: {}", checked.missing.join("; ")))
            }
            Kind::Disturbed(disturbed) => {
                Shown::Line(format!("    trying again: {}", disturbed.message))
            }
            Kind::UserAsked(asked) => question(asked),
            Kind::ApprovalResolved(resolved) => resolved_words(resolved),
            Kind::InjectionSuspected(suspected) => Shown::Line(suspicion(suspected)),
            Kind::TakenOver(_) => Shown::Line("    a person has taken over".to_owned()),
            Kind::HandedBack(_) => Shown::Line("    the desktop was handed back".to_owned()),
            Kind::Paused(paused) => Shown::Line(format!("    paused: {}", paused.reason)),
            Kind::CancelRequested(_) => Shown::Now("stopping".to_owned()),
            Kind::Succeeded(end) => Shown::Ended(Ending::Succeeded {
                answer: end.answer.clone(),
            }),
            Kind::Failed(end) => {
                let failure = end.failure.clone().unwrap_or_default();
                Shown::Ended(Ending::Failed {
                    reason: failure.reason,
                    message: failure.message,
                })
            }
            Kind::Cancelled(end) => Shown::Ended(Ending::Cancelled {
                reason: end.reason.clone(),
            }),
            _ => Shown::Nothing,
        }
    }

    fn begin(&mut self, event: &wire::Event, observed: &wire::Observed) -> Shown {
        // The event comes when the screen has been looked at; looking is part of the step.
        let looking = observed.elapsed.and_then(|elapsed| elapsed.try_into().ok());
        self.step = Step {
            number: event.step,
            began: time(event).saturating_sub(looking.unwrap_or_default()),
            ..Step::default()
        };
        Shown::Now("looking".to_owned())
    }

    fn now(&mut self, text: &str) -> Shown {
        if self.step.text.is_empty() && !text.is_empty() {
            self.step.text = text.to_owned();
        }
        Shown::Now(self.step.text.clone())
    }

    fn decided(&mut self, decided: &wire::Decided) -> Shown {
        use common::decision::Next;

        let next = decided
            .decision
            .as_ref()
            .and_then(|decision| decision.next.as_ref());
        if let Some(Next::CallFunctions(functions)) = next {
            self.step.acted = true;
            self.step.calls.clone_from(&functions.calls);
        }
        Shown::Nothing
    }

    fn called(&mut self, called: &wire::FunctionCalled) -> Shown {
        let call = called.call.clone().unwrap_or_default();
        let words = format!("calling {} {}", call.name, call.arguments_json);
        Shown::Now(shortened(&words))
    }

    /// Results come in the order of the calls.
    fn returned(&mut self, returned: &wire::FunctionReturned) -> Shown {
        use common::function_result::Outcome;

        let call = if self.step.calls.is_empty() {
            common::FunctionCall::default()
        } else {
            self.step.calls.remove(0)
        };
        let result = returned.result.clone().unwrap_or_default();
        let line = match result.outcome {
            Some(Outcome::ResultJson(json)) => format!("{} gave {}", call.name, shortened(&json)),
            Some(Outcome::Error(error)) => {
                self.step.trouble = true;
                format!("{} gave no result: {error}", call.name)
            }
            None => format!("{} gave nothing", call.name),
        };
        Shown::Line(format!("    {line}"))
    }

    fn performed(&mut self, performed: &wire::ActionPerformed) -> Shown {
        let Some(outcome) = &performed.outcome else {
            return Shown::Nothing;
        };
        match outcome.result() {
            ActionResult::Performed => Shown::Nothing,
            ActionResult::Refused => {
                self.trouble(&format!("refused by {}: {}", outcome.rule, outcome.detail))
            }
            _ => self.trouble(&outcome.detail),
        }
    }

    fn judged(&mut self, judged: &wire::EffectJudged) -> Shown {
        let Some(effect) = &judged.effect else {
            return Shown::Nothing;
        };
        self.step.outcome.clone_from(&effect.explanation);
        self.step.trouble = effect.verdict() == EffectVerdict::NoEffect;
        Shown::Nothing
    }

    fn trouble(&mut self, message: &str) -> Shown {
        self.step.outcome = message.to_owned();
        self.step.trouble = true;
        Shown::Nothing
    }

    fn finish(&mut self, event: &wire::Event) -> Shown {
        let step = std::mem::take(&mut self.step);
        // A step that only concluded is told by the ending.
        if !step.acted && step.outcome.is_empty() {
            return Shown::Nothing;
        }
        let mark = if step.trouble { '!' } else { '✓' };
        let milliseconds = time(event).saturating_sub(step.began).as_millis();
        let retries = match step.retries {
            0 => String::new(),
            1 => " (tried twice)".to_owned(),
            more => format!(" (tried {} times)", more + 1),
        };
        let outcome = if step.outcome.is_empty() {
            String::new()
        } else {
            format!(" → {}", step.outcome)
        };
        Shown::Line(format!(
            "  {mark} {:>2}  {}{outcome}{retries}  [{milliseconds} ms]",
            step.number,
            shortened(&step.text)
        ))
    }
}

fn question(asked: &wire::UserAsked) -> Shown {
    use wire::user_request::Kind as Wanted;

    let request = asked.request.clone().unwrap_or_default();
    if request.kind() == Wanted::Approval {
        return Shown::Approval {
            message: request.message,
            name: request.approval,
        };
    }
    Shown::Question {
        wants_words: request.kind() == Wanted::Question,
        message: request.message,
    }
}

fn resolved_words(resolved: &wire::ApprovalResolved) -> Shown {
    use wire::approval::State;

    let approval = resolved.approval.clone().unwrap_or_default();
    let words = match approval.state() {
        State::Approved => "approved",
        State::Denied => "refused",
        State::Expired => "nobody approved it in time",
        _ => "the approval holds no longer",
    };
    let said = match approval.message.as_str() {
        "" => String::new(),
        said => format!(": {said}"),
    };
    Shown::Line(format!("    {words}{said}"))
}

fn suspicion(suspected: &wire::InjectionSuspected) -> String {
    let quotes = suspected.suspicions.iter();
    let quotes: Vec<String> = quotes
        .map(|one| format!("\u{201c}{}\u{201d}", one.quote))
        .collect();
    format!("    ! the screen gives orders: {}", quotes.join(", "))
}

/// Since the epoch.
fn time(event: &wire::Event) -> Duration {
    let time = event.time.unwrap_or_default();
    Duration::new(
        u64::try_from(time.seconds).unwrap_or_default(),
        u32::try_from(time.nanos).unwrap_or_default(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(step: u32, milliseconds: i64, kind: Kind) -> wire::Event {
        let time = prost_types::Timestamp {
            seconds: milliseconds / 1000,
            nanos: i32::try_from(milliseconds % 1000).unwrap() * 1_000_000,
        };
        wire::Event {
            step,
            time: Some(time),
            kind: Some(kind),
            ..Default::default()
        }
    }

    fn judged(verdict: EffectVerdict, explanation: &str) -> Kind {
        let effect = common::Effect {
            verdict: verdict.into(),
            explanation: explanation.into(),
            ..Default::default()
        };
        Kind::EffectJudged(wire::EffectJudged {
            effect: Some(effect),
            ..Default::default()
        })
    }

    #[test]
    fn a_step_is_one_line() {
        let mut progress = Progress::default();
        let lines: Vec<Shown> = [
            event(2, 1000, Kind::Observed(wire::Observed::default())),
            event(
                2,
                1100,
                Kind::ProgressAdded(wire::ProgressAdded {
                    text: "click \"Save\"".into(),
                }),
            ),
            event(
                2,
                1100,
                Kind::ActionIntended(wire::ActionIntended::default()),
            ),
            event(2, 1400, judged(EffectVerdict::NoEffect, "nothing changed")),
            event(2, 1400, Kind::ActionRetried(wire::ActionRetried::default())),
            event(
                2,
                1700,
                judged(EffectVerdict::Confirmed, "12 pixels changed at the target"),
            ),
            event(2, 1700, Kind::StepFinished(wire::StepFinished::default())),
        ]
        .iter()
        .map(|event| progress.take(event))
        .collect();
        let expected =
            "  ✓  2  click \"Save\" → 12 pixels changed at the target (tried twice)  [700 ms]";
        assert_eq!(lines.last(), Some(&Shown::Line(expected.to_owned())));
        assert_eq!(lines[1], Shown::Now("click \"Save\"".into()));
    }

    #[test]
    fn a_function_is_told_with_what_it_gave() {
        use common::function_result::Outcome;

        let mut progress = Progress::default();
        progress.take(&event(1, 0, Kind::Observed(wire::Observed::default())));
        let call = |id: &str, name: &str| common::FunctionCall {
            call_id: id.to_owned(),
            name: name.to_owned(),
            arguments_json: "{}".to_owned(),
        };
        let calls = common::CallFunctionsDecision {
            calls: vec![call("1", "notes_note"), call("2", "notes_fail")],
        };
        let decision = common::Decision {
            next: Some(common::decision::Next::CallFunctions(calls)),
            ..Default::default()
        };
        let decided = wire::Decided {
            decision: Some(decision),
            ..Default::default()
        };
        progress.take(&event(1, 0, Kind::Decided(decided)));
        let returned = |outcome| {
            let result = common::FunctionResult {
                outcome: Some(outcome),
                ..Default::default()
            };
            Kind::FunctionReturned(wire::FunctionReturned {
                result: Some(result),
                ..Default::default()
            })
        };
        let mut told = |outcome| progress.take(&event(1, 5, returned(outcome)));
        assert_eq!(
            told(Outcome::ResultJson("{\"notes\":1}".to_owned())),
            Shown::Line("    notes_note gave {\"notes\":1}".to_owned())
        );
        assert_eq!(
            told(Outcome::Error("it is full".to_owned())),
            Shown::Line("    notes_fail gave no result: it is full".to_owned())
        );
    }

    #[test]
    fn a_step_that_only_concludes_is_not_told_twice() {
        let mut progress = Progress::default();
        progress.take(&event(3, 0, Kind::Observed(wire::Observed::default())));
        assert_eq!(
            progress.take(&event(
                3,
                9,
                Kind::StepFinished(wire::StepFinished::default())
            )),
            Shown::Nothing
        );
    }
}
