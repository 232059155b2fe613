//! Formats a task's events for people.
//!
//! A [`TaskProgress`] gets the events in order and returns what to show: one line per finished step, and a short
//! status in between.
//!
//! It does not print: its callers in `commands` do.

use std::time::Duration;

use motorium_messages::{Language, Message, join_clauses, join_list};
use motorium_proto::domain::effect::ActionOutcome;
use motorium_proto::v1::common::{self, ActionResult, EffectVerdict};
use motorium_proto::v1::orchestrator as wire;
use motorium_proto::v1::orchestrator::action_retried::RetryStrategy;
use motorium_proto::v1::orchestrator::event::Kind;
use motorium_proto::v1::orchestrator::task::State;
use motorium_task::words;

use super::prompt::Request;
use super::{excerpt, shortened, with_detail};

/// The outcome of a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum TaskOutcome {
    Succeeded {
        answer: String,
    },
    Failed {
        reason: String,
        message: String,
        summary: String,
    },
    Cancelled {
        reason: String,
        summary: String,
    },
}

/// The output for an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ProgressUpdate {
    /// No output.
    Nothing,
    /// The current status, until the next one.
    Status(String),
    /// A permanent line.
    Line(String),
    /// The task asks a question, for a user action or for an approval.
    Asked(Request),
    /// The task has ended.
    Finished(TaskOutcome),
}

/// The current step.
#[derive(Debug, Default)]
struct ProgressStep {
    number: u32,
    began: Duration,
    text: String,
    /// Sequence number of the event that added the text. 0 for a text from elsewhere.
    text_from: i64,
    /// True if the text was corrected: it also says the outcome of the step.
    corrected: bool,
    outcome: String,
    trouble: bool,
    retries: u32,
    acted: bool,
    /// Number of waits among the actions.
    waits: u32,
    /// Number of other actions and calls.
    others: u32,
    /// Pending function calls of the decision.
    calls: Vec<common::FunctionCall>,
}

fn is_wait(intended: &wire::ActionIntended) -> bool {
    let action = intended.action.as_ref();
    action.is_some_and(|action| matches!(action.action, Some(common::action::Action::Wait(_))))
}

/// Converts events to output.
#[derive(Debug, Default)]
pub(crate) struct TaskProgress {
    language: Language,
    step: ProgressStep,
    /// The latest approval that was requested.
    approval: wire::Approval,
    /// The wait whose looks are shown as one line.
    wait: Option<Wait>,
    /// Answer of a task that ends without one.
    summary: String,
    /// Backends that were skipped, and are not shown yet: a failure may say the same.
    skipped: Vec<wire::BackendSkipped>,
    /// Names of the files that could not be fetched.
    not_fetched: Vec<String>,
    /// The latest that was said to be missing.
    missing: String,
}

/// Successive steps that only wait for the same thing. They become one line when another step follows.
#[derive(Debug)]
struct Wait {
    /// Number of its first step.
    number: u32,
    began: Duration,
    text: String,
    looks: u32,
    ended: Duration,
    /// The line of another wait has still to be printed before this one's.
    is_second: bool,
}

impl TaskProgress {
    pub(crate) fn language(&self) -> Language {
        self.language
    }

    /// Creates the output of a task in this language.
    #[must_use]
    pub(crate) fn new(language: Language) -> Self {
        Self {
            language,
            ..Self::default()
        }
    }

    fn status_text(&self, message: Message<'_>) -> ProgressUpdate {
        ProgressUpdate::Status(message.text(self.language))
    }

    fn line(&self, message: Message<'_>) -> ProgressUpdate {
        ProgressUpdate::Line(format!("    {}", message.text(self.language)))
    }

    /// Processes the next event.
    pub(crate) fn apply(&mut self, event: &wire::Event) -> ProgressUpdate {
        // The state decides and not the kind: the last event may have a kind that this version does not know.
        if let Some(outcome) = self.outcome(event) {
            if let TaskOutcome::Failed { message, .. } = &outcome {
                self.skipped.retain(|one| !message.contains(&one.message));
            }
            return ProgressUpdate::Finished(outcome);
        }
        let Some(kind) = &event.kind else {
            return ProgressUpdate::Nothing;
        };
        match kind {
            Kind::Started(_) => self.status_text(Message::ProgressStarting),
            Kind::DesktopReleased(released) => self.line(Message::ProgressDesktopReleased {
                desktop: &released.desktop,
            }),
            Kind::DesktopAwaited(awaited) => self.queued(awaited),
            Kind::Recovered(_) => self.line(Message::ProgressRecovered),
            Kind::Observed(observed) => self.begin(event, observed),
            Kind::ProgressAdded(progress) => self.add_progress(event.sequence, &progress.text),
            Kind::ProgressCorrected(corrected) => self.correct_progress(corrected),
            Kind::BackendSkipped(skipped) => {
                self.skipped.push(skipped.clone());
                ProgressUpdate::Nothing
            }
            Kind::ActionIntended(intended) => {
                self.step.acted = true;
                *if is_wait(intended) {
                    &mut self.step.waits
                } else {
                    &mut self.step.others
                } += 1;
                let intent = intended
                    .planned
                    .as_ref()
                    .map(|planned| planned.intent.clone());
                self.status(&intent.unwrap_or_default())
            }
            Kind::ActionPerformed(performed) => self.performed(performed),
            Kind::EffectJudged(judged) => self.judged(judged),
            Kind::ActionRetried(retried)
                if retried.strategy() == RetryStrategy::ReobservedEffect =>
            {
                self.status_text(Message::ProgressObservingAgain {
                    action: &self.step.text,
                })
            }
            Kind::ActionRetried(_) => {
                self.step.retries += 1;
                self.status_text(Message::ProgressRetrying {
                    action: &self.step.text,
                })
            }
            Kind::Decided(decided) => self.decided(decided),
            Kind::FunctionCalled(called) => self.called(called),
            Kind::FunctionReturned(returned) => self.returned(returned),
            Kind::LoopDetected(noticed) => self.set_problem(&noticed.message),
            Kind::TargetNotResolved(missed) => self.set_problem(&missed.message),
            Kind::StepFinished(_) => self.finish(event),
            Kind::AttachmentPut(put) if !put.error.is_empty() => {
                self.line(Message::FileNotAttached {
                    name: &put.name,
                    error: &put.error,
                })
            }
            Kind::AttachmentPut(put) if !put.image_error.is_empty() => {
                self.line(Message::ImageNotShown {
                    name: &put.name,
                    problem: &put.image_error,
                })
            }
            Kind::AttachmentPut(put) => self.line(Message::ProgressCopied {
                name: &put.name,
                path: &put.path,
            }),
            Kind::ResultFetched(fetched) if fetched.error.is_empty() => {
                self.line(Message::ProgressFetched {
                    name: &fetched.name,
                    path: &fetched.path,
                })
            }
            Kind::ResultFetched(fetched) => {
                self.not_fetched.push(fetched.name.clone());
                self.line(Message::ProgressNotFetched {
                    problem: &fetched.error,
                })
            }
            Kind::CompletionChecked(checked) if checked.second_look => {
                self.line(Message::ProgressSecondLook)
            }
            Kind::CompletionChecked(checked) if !checked.passed => self.not_complete(checked),
            // A task that is paused or taken over does not wait for the answer, and asks again afterwards.
            Kind::UserAsked(asked) if event.state() == State::AwaitingUser => self.asked(asked),
            Kind::ApprovalRequested(requested) => {
                self.approval = requested.approval.clone().unwrap_or_default();
                ProgressUpdate::Nothing
            }
            Kind::TransientFailure(failure) => self.line(Message::ProgressTransientFailure {
                problem: &failure.message,
            }),
            Kind::ApprovalResolved(resolved) => approval_line(resolved, self.language),
            Kind::InjectionSuspected(suspected) => {
                ProgressUpdate::Line(injection_warning(suspected, self.language))
            }
            Kind::TakenOver(_) => self.line(Message::ProgressTakenOver),
            Kind::HandedBack(_) => self.line(Message::ProgressHandedBack),
            Kind::Paused(paused) => self.line(Message::ProgressPaused {
                reason: &paused.reason,
            }),
            Kind::Summarized(summarized) => {
                self.summary.clone_from(&summarized.text);
                ProgressUpdate::Nothing
            }
            Kind::CancelRequested(_) => self.status_text(Message::ProgressStopping),
            _ => ProgressUpdate::Nothing,
        }
    }

    /// Returns the outcome of the task if it has ended with this event.
    fn outcome(&self, event: &wire::Event) -> Option<TaskOutcome> {
        let summary = self.summary.clone();
        Some(match (event.state(), event.kind.clone()) {
            (State::Succeeded, Some(Kind::Succeeded(end))) => {
                TaskOutcome::Succeeded { answer: end.answer }
            }
            (State::Succeeded, _) => TaskOutcome::Succeeded {
                answer: String::new(),
            },
            (State::Failed, kind) => {
                let failure = match kind {
                    Some(Kind::Failed(end)) => end.failure.unwrap_or_default(),
                    _ => wire::Failure::default(),
                };
                TaskOutcome::Failed {
                    reason: failure.reason,
                    message: failure.message,
                    summary,
                }
            }
            (State::Cancelled, kind) => TaskOutcome::Cancelled {
                reason: match kind {
                    Some(Kind::Cancelled(end)) => end.reason,
                    _ => String::new(),
                },
                summary,
            },
            _ => return None,
        })
    }

    /// Returns the line of what is missing; nothing if the check before missed the same.
    fn not_complete(&mut self, checked: &wire::CompletionChecked) -> ProgressUpdate {
        let missing = join_clauses(&checked.unmet_expectations, self.language);
        if self.missing == missing {
            return ProgressUpdate::Nothing;
        }
        self.missing.clone_from(&missing);
        self.line(Message::ProgressNotComplete { missing: &missing })
    }

    fn queued(&self, awaited: &wire::DesktopAwaited) -> ProgressUpdate {
        let wait = awaited.wait.clone().unwrap_or_default();
        ProgressUpdate::Line(format!("    {}", wait.message))
    }

    fn begin(&mut self, event: &wire::Event, observed: &wire::Observed) -> ProgressUpdate {
        // The event is sent after the observation, which is part of the step's duration.
        let looking = observed.elapsed.and_then(|elapsed| elapsed.try_into().ok());
        self.step = ProgressStep {
            number: event.step,
            began: time(event).saturating_sub(looking.unwrap_or_default()),
            ..ProgressStep::default()
        };
        self.status_text(Message::ProgressObserving)
    }

    fn status(&mut self, text: &str) -> ProgressUpdate {
        if self.step.text.is_empty() && !text.is_empty() {
            self.step.text = text.to_owned();
        }
        ProgressUpdate::Status(self.step.text.clone())
    }

    fn add_progress(&mut self, sequence: i64, text: &str) -> ProgressUpdate {
        if self.step.text.is_empty() {
            self.step.text_from = sequence;
        }
        self.status(text)
    }

    /// Replaces the text of the step, which turned out otherwise than announced. Lines of finished steps are printed
    /// already.
    fn correct_progress(&mut self, corrected: &wire::ProgressCorrected) -> ProgressUpdate {
        if corrected.sequence != self.step.text_from {
            return ProgressUpdate::Nothing;
        }
        self.step.text.clone_from(&corrected.text);
        self.step.corrected = true;
        self.step.outcome.clear();
        self.step.trouble = true;
        ProgressUpdate::Status(self.step.text.clone())
    }

    fn decided(&mut self, decided: &wire::Decided) -> ProgressUpdate {
        use common::decision::Next;

        let next = decided
            .decision
            .as_ref()
            .and_then(|decision| decision.next.as_ref());
        if let Some(Next::CallFunctions(functions)) = next {
            self.step.acted = true;
            self.step.others += 1;
            self.step.calls.clone_from(&functions.calls);
        }
        // The failure says the same, and follows.
        if let Some(Next::Fail(_)) = next {
            return ProgressUpdate::Nothing;
        }
        // Another backend has decided.
        match self.take_skipped() {
            lines if lines.is_empty() => ProgressUpdate::Nothing,
            lines => ProgressUpdate::Line(lines.join("\n")),
        }
    }

    /// Returns the lines of the backends that were skipped since the last call.
    fn take_skipped(&mut self) -> Vec<String> {
        let skipped = std::mem::take(&mut self.skipped);
        let line = |one: &wire::BackendSkipped| {
            let message = Message::ProgressSkipped {
                backend: &one.backend,
                // The whole of it is in the log.
                problem: &excerpt(&one.message),
            };
            format!("    {}", message.text(self.language))
        };
        skipped.iter().map(line).collect()
    }

    /// Returns the lines that precede every other line: of a wait that has ended, and of backends that were skipped.
    pub(crate) fn take_held(&mut self) -> Option<String> {
        let mut lines: Vec<String> = self.take_wait().into_iter().collect();
        lines.extend(self.take_skipped());
        (!lines.is_empty()).then(|| lines.join("\n"))
    }

    /// Returns the names of the files that the task could not fetch.
    pub(crate) fn not_fetched(&self) -> &[String] {
        &self.not_fetched
    }

    fn called(&mut self, called: &wire::FunctionCalled) -> ProgressUpdate {
        let call = called.call.clone().unwrap_or_default();
        let message = Message::ProgressCalling {
            name: &call.name,
            arguments: &call.arguments_json,
        };
        ProgressUpdate::Status(shortened(&message.text(self.language)))
    }

    /// Results arrive in the order of the calls.
    fn returned(&mut self, returned: &wire::FunctionReturned) -> ProgressUpdate {
        use common::function_result::Outcome;

        let call = if self.step.calls.is_empty() {
            common::FunctionCall::default()
        } else {
            self.step.calls.remove(0)
        };
        let result = returned.result.clone().unwrap_or_default();
        let name = &call.name;
        match &result.outcome {
            Some(Outcome::ResultJson(json)) => self.line(Message::ProgressReturned {
                name,
                result: &shortened(json),
            }),
            Some(Outcome::Error(error)) => {
                self.step.trouble = true;
                self.line(Message::ProgressCallFailed { name, error })
            }
            None => self.line(Message::ProgressReturnedNothing { name }),
        }
    }

    fn performed(&mut self, performed: &wire::ActionPerformed) -> ProgressUpdate {
        let Some(outcome) = &performed.outcome else {
            return ProgressUpdate::Nothing;
        };
        match outcome.result() {
            ActionResult::Performed => ProgressUpdate::Nothing,
            ActionResult::Refused => {
                let message = Message::ProgressRefused {
                    rule: &outcome.rule,
                    detail: &outcome.detail,
                };
                self.set_problem(&message.text(self.language))
            }
            _ => {
                let problem = match ActionOutcome::try_from(outcome.clone()) {
                    Ok(known) => {
                        let word = words::outcome(Some(&known), self.language);
                        with_detail(&word, &known.detail, self.language)
                    }
                    Err(_) => outcome.detail.clone(),
                };
                self.set_problem(&problem)
            }
        }
    }

    fn judged(&mut self, judged: &wire::EffectJudged) -> ProgressUpdate {
        let Some(effect) = &judged.effect else {
            return ProgressUpdate::Nothing;
        };
        self.step.outcome.clone_from(&effect.explanation);
        // Only this verdict is a problem for certain. A change elsewhere is often intended.
        self.step.trouble = effect.verdict() == EffectVerdict::NoEffect;
        ProgressUpdate::Nothing
    }

    fn set_problem(&mut self, message: &str) -> ProgressUpdate {
        self.step.outcome = message.to_owned();
        self.step.trouble = true;
        ProgressUpdate::Nothing
    }

    fn asked(&self, asked: &wire::UserAsked) -> ProgressUpdate {
        use wire::user_request::Kind as Wanted;

        let request = asked.request.clone().unwrap_or_default();
        let message = request.message.clone();
        ProgressUpdate::Asked(match request.kind() {
            Wanted::Approval => Request::Approval {
                message,
                safety_checks: self.safety_checks(&request.approval),
                name: request.approval,
            },
            Wanted::Question => Request::Question { message },
            _ => Request::ManualAction { message },
        })
    }

    /// Returns the provider's safety checks that an approval acknowledges.
    fn safety_checks(&self, approval: &str) -> Vec<(String, String)> {
        let known = Some(&self.approval).filter(|known| known.name == approval);
        let checks = known.map_or(&[][..], |known| &known.safety_checks);
        let described = checks.iter();
        described
            .map(|check| (check.code.clone(), check.message.clone()))
            .collect()
    }

    /// Adds a step that only waits to the wait of the steps before it, if that is for the same thing.
    fn wait_on(&mut self, step: ProgressStep, ended: Duration) -> ProgressUpdate {
        if let Some(wait) = self.wait.as_mut().filter(|wait| wait.text == step.text) {
            wait.looks += 1;
            wait.ended = ended;
            return ProgressUpdate::Status(step.text);
        }
        let before = self.take_wait();
        let status = step.text.clone();
        self.wait = Some(Wait {
            number: step.number,
            began: step.began,
            text: step.text,
            looks: 1,
            ended,
            is_second: before.is_some(),
        });
        before.map_or(ProgressUpdate::Status(status), ProgressUpdate::Line)
    }

    /// Returns the line of a wait that has ended. It precedes every other line.
    fn take_wait(&mut self) -> Option<String> {
        let pending = self.wait.as_mut()?;
        if std::mem::take(&mut pending.is_second) {
            return None;
        }
        let wait = self.wait.take()?;
        let looks = match wait.looks {
            1 => String::new(),
            looks => format!(" {}", Message::ProgressLooks { looks }.text(self.language)),
        };
        let time = self.milliseconds(wait.ended.saturating_sub(wait.began));
        let (number, text) = (wait.number, shortened(&wait.text));
        // Whether it was waited for in vain shows later, so the line has no mark of something done.
        Some(format!("  … {number:>2}  {text}{looks}  [{time}]"))
    }

    fn milliseconds(&self, duration: Duration) -> String {
        let milliseconds = &duration.as_millis().to_string();
        Message::DurationMilliseconds { milliseconds }.text(self.language)
    }

    fn finish(&mut self, event: &wire::Event) -> ProgressUpdate {
        let step = std::mem::take(&mut self.step);
        let only_waits = step.waits > 0 && step.others == 0 && !step.trouble;
        // A wait that looks again adds no line of progress.
        if only_waits
            && step.text_from == 0
            && let Some(wait) = &mut self.wait
        {
            wait.looks += 1;
            wait.ended = time(event);
            return ProgressUpdate::Status(wait.text.clone());
        }
        // A step that only ends the task is shown by the outcome.
        if !step.acted && step.outcome.is_empty() && !step.trouble {
            return ProgressUpdate::Nothing;
        }
        if only_waits {
            return self.wait_on(step, time(event));
        }
        let mark = if step.trouble { '!' } else { '✓' };
        let time = self.milliseconds(time(event).saturating_sub(step.began));
        let retries = match step.retries {
            0 => String::new(),
            retries => {
                let attempts = retries + 1;
                let message = Message::ProgressAttempts { attempts };
                format!(" {}", message.text(self.language))
            }
        };
        let outcome = if step.outcome.is_empty() {
            String::new()
        } else {
            format!(" → {}", step.outcome)
        };
        // The outcome of the step is never shortened.
        let text = if step.corrected {
            step.text
        } else {
            shortened(&step.text)
        };
        ProgressUpdate::Line(format!(
            "  {mark} {:>2}  {text}{outcome}{retries}  [{time}]",
            step.number
        ))
    }
}

fn approval_line(resolved: &wire::ApprovalResolved, language: Language) -> ProgressUpdate {
    let approval = resolved.approval.clone().unwrap_or_default();
    let word = words::approval(approval.state(), language);
    let line = with_detail(&word, &approval.message, language);
    ProgressUpdate::Line(format!("    {line}"))
}

fn injection_warning(suspected: &wire::InjectionSuspected, language: Language) -> String {
    let quotes = suspected.suspected_injections.iter();
    let quotes: Vec<String> = quotes
        .map(|one| format!("\u{201c}{}\u{201d}", one.quote))
        .collect();
    let message = Message::ProgressInjection {
        quotes: &join_list(&quotes, language),
    };
    format!("    ! {}", message.text(language))
}

/// Returns the event's time since the Unix epoch.
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
        let mut progress = TaskProgress::default();
        let lines: Vec<ProgressUpdate> = [
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
        .map(|event| progress.apply(event))
        .collect();
        let expected =
            "  ✓  2  click \"Save\" → 12 pixels changed at the target (2 attempts)  [700 ms]";
        assert_eq!(
            lines.last(),
            Some(&ProgressUpdate::Line(expected.to_owned()))
        );
        assert_eq!(lines[1], ProgressUpdate::Status("click \"Save\"".into()));
    }

    #[test]
    fn repeated_wait_adds_no_progress_line() {
        let mut progress = TaskProgress::default();
        let wait = common::Action {
            action: Some(common::action::Action::Wait(common::WaitAction::default())),
        };
        let waits = Kind::ActionIntended(wire::ActionIntended {
            action: Some(wait),
            ..Default::default()
        });
        let added = Kind::ProgressAdded(wire::ProgressAdded {
            text: "wait for it".into(),
        });
        let mut step = |number, kinds: Vec<Kind>| {
            progress.apply(&event(number, 0, Kind::Observed(wire::Observed::default())));
            for kind in kinds {
                progress.apply(&wire::Event {
                    sequence: 7,
                    ..event(number, 0, kind)
                });
            }
            let finished = Kind::StepFinished(wire::StepFinished::default());
            progress.apply(&event(number, 0, finished))
        };
        let waiting = ProgressUpdate::Status("wait for it".into());
        assert_eq!(step(1, vec![added, waits.clone()]), waiting);
        assert_eq!(step(2, vec![waits]), waiting);
    }

    #[test]
    fn function_call_is_shown_with_its_result() {
        use common::function_result::Outcome;

        let mut progress = TaskProgress::default();
        progress.apply(&event(1, 0, Kind::Observed(wire::Observed::default())));
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
        progress.apply(&event(1, 0, Kind::Decided(decided)));
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
        let mut update_for = |outcome| progress.apply(&event(1, 5, returned(outcome)));
        assert_eq!(
            update_for(Outcome::ResultJson("{\"notes\":1}".to_owned())),
            ProgressUpdate::Line("    notes_note returned {\"notes\":1}".to_owned())
        );
        assert_eq!(
            update_for(Outcome::Error("it is full".to_owned())),
            ProgressUpdate::Line("    notes_fail failed: it is full".to_owned())
        );
    }

    #[test]
    fn a_chinese_task_is_shown_in_chinese() {
        let mut progress = TaskProgress::new(Language::Chinese);
        let paused = wire::Paused {
            reason: "应用户要求".into(),
        };
        assert_eq!(
            progress.apply(&event(1, 0, Kind::Paused(paused))),
            ProgressUpdate::Line("    已暂停：应用户要求".to_owned())
        );
        progress.apply(&event(1, 0, Kind::Observed(wire::Observed::default())));
        let text = "点击“保存”".into();
        progress.apply(&event(
            1,
            0,
            Kind::ProgressAdded(wire::ProgressAdded { text }),
        ));
        progress.apply(&event(
            1,
            0,
            Kind::ActionIntended(wire::ActionIntended::default()),
        ));
        progress.apply(&event(
            1,
            2,
            Kind::ActionRetried(wire::ActionRetried::default()),
        ));
        progress.apply(&event(1, 5, judged(EffectVerdict::NoEffect, "没有变化")));
        assert_eq!(
            progress.apply(&event(
                1,
                9,
                Kind::StepFinished(wire::StepFinished::default())
            )),
            ProgressUpdate::Line(
                "  !  1  点击“保存” → 没有变化 （共 2 次尝试）  [9 毫秒]".to_owned()
            )
        );
    }

    #[test]
    fn step_without_actions_adds_no_progress_line() {
        let mut progress = TaskProgress::default();
        progress.apply(&event(3, 0, Kind::Observed(wire::Observed::default())));
        assert_eq!(
            progress.apply(&event(
                3,
                9,
                Kind::StepFinished(wire::StepFinished::default())
            )),
            ProgressUpdate::Nothing
        );
    }

    #[test]
    fn a_question_is_shown_only_while_the_task_waits_for_it() {
        let asked = |state: State| wire::Event {
            state: state.into(),
            ..event(1, 0, Kind::UserAsked(wire::UserAsked::default()))
        };
        let mut progress = TaskProgress::default();
        assert_eq!(
            progress.apply(&asked(State::Paused)),
            ProgressUpdate::Nothing
        );
        let shown = progress.apply(&asked(State::AwaitingUser));
        assert!(matches!(shown, ProgressUpdate::Asked(_)), "{shown:?}");
    }

    fn skipped(message: &str) -> Kind {
        Kind::BackendSkipped(wire::BackendSkipped {
            backend: "phrasebook".to_owned(),
            message: message.to_owned(),
            ..Default::default()
        })
    }

    #[test]
    fn a_failure_is_not_told_twice() {
        let mut progress = TaskProgress::default();
        assert_eq!(
            progress.apply(&event(1, 0, skipped("\"X\" is not on the screen."))),
            ProgressUpdate::Nothing
        );
        let failing = common::Decision {
            next: Some(common::decision::Next::Fail(common::FailDecision::default())),
            ..common::Decision::default()
        };
        let decided = Kind::Decided(wire::Decided {
            decision: Some(failing),
            ..wire::Decided::default()
        });
        assert_eq!(
            progress.apply(&event(1, 1, decided)),
            ProgressUpdate::Nothing
        );
        let failure = wire::Failure {
            reason: "PLANNER_GAVE_UP".to_owned(),
            message: "\"X\" is not on the screen.".to_owned(),
        };
        let end = wire::Event {
            state: State::Failed.into(),
            ..event(
                1,
                1,
                Kind::Failed(wire::TaskFailed {
                    failure: Some(failure),
                }),
            )
        };
        progress.apply(&end);
        assert_eq!(progress.take_held(), None);
    }

    #[test]
    fn the_same_is_not_said_to_be_missing_twice() {
        let mut progress = TaskProgress::default();
        let mut shown = |missing: &str| {
            let checked = wire::CompletionChecked {
                unmet_expectations: vec![missing.to_owned()],
                ..Default::default()
            };
            progress.apply(&event(1, 0, Kind::CompletionChecked(checked)))
        };
        let line = |missing: &str| ProgressUpdate::Line(format!("    not complete yet: {missing}"));
        assert_eq!(shown("Martians"), line("Martians"));
        assert_eq!(shown("Martians"), ProgressUpdate::Nothing);
        assert_eq!(shown("Venusians"), line("Venusians"));
    }

    #[test]
    fn a_backend_that_another_replaces_is_named() {
        let mut progress = TaskProgress::default();
        progress.apply(&event(1, 0, skipped("too long")));
        let expected = "    skipped phrasebook: too long".to_owned();
        assert_eq!(
            progress.apply(&event(1, 1, Kind::Decided(wire::Decided::default()))),
            ProgressUpdate::Line(expected)
        );
        assert_eq!(progress.take_held(), None);
    }

    #[test]
    fn an_attachment_is_shown_with_its_place() {
        let put = wire::AttachmentPut {
            name: "a.txt".to_owned(),
            path: "/d/files/_0/a.txt".to_owned(),
            ..Default::default()
        };
        let line = TaskProgress::default().apply(&event(1, 0, Kind::AttachmentPut(put)));
        let expected = "    copied a.txt to /d/files/_0/a.txt on the desktop";
        assert_eq!(line, ProgressUpdate::Line(expected.to_owned()));
    }

    #[test]
    fn the_state_ends_the_task_also_with_an_event_of_an_unknown_kind() {
        let end = wire::Event {
            state: State::Succeeded.into(),
            ..wire::Event::default()
        };
        let shown = TaskProgress::default().apply(&end);
        let answer = String::new();
        assert_eq!(
            shown,
            ProgressUpdate::Finished(TaskOutcome::Succeeded { answer })
        );
    }

    #[test]
    fn wait_of_several_steps_is_one_line() {
        let mut progress = TaskProgress::default();
        let mut step = |number: u32, text: &str, action: common::action::Action| {
            let intended = wire::ActionIntended {
                action: Some(common::Action {
                    action: Some(action),
                }),
                ..wire::ActionIntended::default()
            };
            let at = i64::from(number) * 100;
            let text = text.to_owned();
            progress.apply(&event(
                number,
                at,
                Kind::Observed(wire::Observed::default()),
            ));
            let added = wire::ProgressAdded { text };
            progress.apply(&wire::Event {
                sequence: number.into(),
                ..event(number, at, Kind::ProgressAdded(added))
            });
            progress.apply(&event(number, at, Kind::ActionIntended(intended)));
            let finished = Kind::StepFinished(wire::StepFinished::default());
            let shown = progress.apply(&event(number, at + 50, finished));
            let before = matches!(shown, ProgressUpdate::Line(_)).then(|| progress.take_wait());
            (shown, before.flatten())
        };
        let wait = || common::action::Action::Wait(common::WaitAction::default());
        let click = common::action::Action::Click(common::ClickAction::default());
        for number in 1..=3 {
            let (shown, _) = step(number, "Waiting: X", wait());
            assert_eq!(shown, ProgressUpdate::Status("Waiting: X".into()));
        }
        let (shown, before) = step(4, "click X", click.clone());
        assert_eq!(
            before.as_deref(),
            Some("  …  1  Waiting: X (3 looks)  [250 ms]")
        );
        assert_eq!(
            shown,
            ProgressUpdate::Line("  ✓  4  click X  [50 ms]".into())
        );
        // Two waits, one after the other.
        step(5, "wait 5 seconds", wait());
        let (shown, before) = step(6, "Waiting: Y", wait());
        let first = ProgressUpdate::Line("  …  5  wait 5 seconds  [50 ms]".into());
        assert_eq!((shown, before), (first, None));
        let (_, before) = step(7, "click Y", click);
        assert_eq!(before.as_deref(), Some("  …  6  Waiting: Y  [50 ms]"));
    }

    #[test]
    fn a_wait_before_the_end_of_a_failed_task_is_not_marked_as_done() {
        let mut progress = TaskProgress::default();
        let wait = common::Action {
            action: Some(common::action::Action::Wait(common::WaitAction::default())),
        };
        let intended = wire::ActionIntended {
            action: Some(wait),
            ..wire::ActionIntended::default()
        };
        let text = "Waiting: X".to_owned();
        for kind in [
            Kind::Observed(wire::Observed::default()),
            Kind::ProgressAdded(wire::ProgressAdded { text }),
            Kind::ActionIntended(intended),
            Kind::StepFinished(wire::StepFinished::default()),
        ] {
            progress.apply(&event(1, 100, kind));
        }
        let failed = wire::Event {
            state: State::Failed.into(),
            ..wire::Event::default()
        };
        let end = progress.apply(&failed);
        assert!(matches!(end, ProgressUpdate::Finished(_)), "{end:?}");
        let line = progress.take_wait();
        assert_eq!(line.as_deref(), Some("  …  1  Waiting: X  [0 ms]"));
    }

    #[test]
    fn a_corrected_line_replaces_the_text_of_its_step() {
        let added = wire::Event {
            sequence: 7,
            ..event(
                1,
                0,
                Kind::ProgressAdded(wire::ProgressAdded {
                    text: "open".into(),
                }),
            )
        };
        let corrected = |sequence| {
            event(
                1,
                0,
                Kind::ProgressCorrected(wire::ProgressCorrected {
                    sequence,
                    text: "opened".into(),
                }),
            )
        };
        let mut progress = TaskProgress::default();
        progress.apply(&added);
        assert_eq!(progress.apply(&corrected(6)), ProgressUpdate::Nothing);
        assert_eq!(
            progress.apply(&corrected(7)),
            ProgressUpdate::Status("opened".into())
        );
    }

    #[test]
    fn corrected_step_is_marked_and_states_its_outcome_once() {
        let mut progress = TaskProgress::default();
        progress.apply(&event(1, 0, Kind::Observed(wire::Observed::default())));
        progress.apply(&wire::Event {
            sequence: 7,
            ..event(
                1,
                0,
                Kind::ProgressAdded(wire::ProgressAdded {
                    text: "open the menu".into(),
                }),
            )
        });
        progress.apply(&event(
            1,
            5,
            judged(EffectVerdict::NoEffect, "nothing changed"),
        ));
        progress.apply(&event(
            1,
            6,
            Kind::ProgressCorrected(wire::ProgressCorrected {
                sequence: 7,
                text: "open the menu: nothing changed, also not after a second look at the screen"
                    .into(),
            }),
        ));
        let finished = Kind::StepFinished(wire::StepFinished::default());
        assert_eq!(
            progress.apply(&event(1, 9, finished)),
            ProgressUpdate::Line(
                "  !  1  open the menu: nothing changed, also not after a second look at the screen  [9 ms]"
                    .into()
            )
        );
    }
}
