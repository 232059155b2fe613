//! Concludes a task: verifies a claim of success, fetches results, and waits for the user.
//!
//! It does not judge single actions: [`super::judge`] does.

use motorium_messages::{Message, join_clauses};
use motorium_phrasebook::matcher::ScreenIndex;
use motorium_proto::domain::action::{Target, TextAnchor};
use motorium_proto::domain::decision::Next;
use motorium_proto::service::{
    FileInfo, FileRequest, Observation, ResolveRequest, TargetQuery, WaitForIdleRequest,
};
use tokio::time::Duration;
use tonic::Code;

use super::approvals::expire;
use super::context::RunContext;
use super::elsewhere::{self, SecondLook};
use super::held_texts::LostText;
use super::interrupts::Interrupts;
use super::recorder::PendingArtifact;
use super::screen::Screen;
use super::takeover::watch_operator;
use super::{Halt, RunResult, Runner, StopReason, capture, halt, is_transient, progress};
use crate::error::reason;
use motorium_task::Task;
use motorium_task::completion::{self, ClaimRules, LastScreen};
use motorium_task::event::{Event, Failure, ResultFile, UserRequestKind};
use motorium_task::limits;
use motorium_task::machine::MAX_REFUSED_CLAIMS;
use motorium_task::spec::Expectation;

/// Timeout for fetching one result file.
// Enough for a large file on a slow desktop; a failed fetch does not fail the task.
const FETCH_TIMEOUT: Duration = Duration::from_secs(60);
/// Time within which a claimed change may still appear on the screen.
// The same as the first-change timeout after a click.
const LATE_CHANGE_TIMEOUT: Duration = Duration::from_secs(1);

impl Runner {
    /// Handles the planner's claim of success. A claim that does not hold is returned to the planner once, then the
    /// task fails. A claim without evidence, or after an action without effect, is returned for a second look. The answer names
    /// what changed if nothing else shows an effect.
    pub(super) async fn conclude(&mut self, answer: String) -> RunResult {
        let mut missing = unmet_expectations(&mut self.run, &self.screen).await?;
        let is_refused = |missing: &Option<Vec<String>>| {
            missing.as_ref().is_some_and(|missing| !missing.is_empty())
        };
        if is_refused(&missing) && has_late_change(&mut self.run, &self.screen).await? {
            missing = unmet_expectations(&mut self.run, &self.screen).await?;
        }
        let lost = lost_texts(&self.run, &self.screen);
        if !lost.is_empty() {
            missing.get_or_insert_default().extend(lost);
        }
        let is_supported = match missing {
            Some(missing) if !missing.is_empty() => {
                let is_last = self.run.task().refused_claims >= MAX_REFUSED_CLAIMS;
                return self.refuse_claim(missing, false, is_last).await;
            }
            missing => missing.is_some() || has_unverified_evidence(&self.run),
        };
        let evidence = evidence(&self.run, &self.screen);
        let is_open = self.run.task().spec.expectations.is_empty();
        let failure = elsewhere::reported_failure(&self.run, &self.screen, &evidence);
        let failure = failure.filter(|_| is_open);
        if let Some((intent, text)) = failure {
            let (intent, text) = (&intent, &text);
            let reported = Message::LastActionReportedFailure { intent, text };
            let reported = self.run.task().text(reported);
            // The phrasebook would only say the same again.
            let is_last = self.run.task().refused_claims >= MAX_REFUSED_CLAIMS
                || !is_claimed_by_model(&self.run);
            return self.refuse_claim(vec![reported], false, is_last).await;
        }
        let own_look =
            elsewhere::changed_own_look(&self.run, &self.screen).filter(|_| !is_supported);
        let rests_on =
            elsewhere::acted_elsewhere(&self.run, &self.screen).filter(|_| !is_supported);
        let mut answer = answer;
        if own_look.is_some() {
            let named = Message::AnswerOwnLook { answer: &answer };
            answer = self.run.task().text(named);
        }
        let mut in_vain = None;
        if let Some(record) = rests_on {
            let (screen, actuator) = (&mut self.screen, &mut self.actuator);
            match elsewhere::look_again(&mut self.run, screen, actuator, &record).await? {
                SecondLook::AtTarget => {}
                SecondLook::Stays(texts) => answer = texts.named_in(&self.run, &answer),
                SecondLook::Passed(effect) => {
                    in_vain = Some(record.planned.intent.clone());
                    self.run.defer(Event::EffectJudged {
                        action_id: record.action_id,
                        effect,
                        screenshot: None,
                    });
                }
            }
        }
        let rules = self.run.config.claim_rules;
        let doubts = match self.run.config.second_look {
            true => completion::doubts(self.run.task(), is_supported, rules),
            false => Vec::new(),
        };
        if !doubts.is_empty() {
            let was_asked = completion::was_asked(self.run.task(), rules);
            return self.refuse_claim(doubts, !was_asked, was_asked).await;
        }
        // The phrasebook would only say the same again.
        if let Some(intent) = &in_vain {
            let nothing = Message::LastActionWithoutEffect { intent };
            let nothing = self.run.task().text(nothing);
            return self.refuse_claim(vec![nothing], false, true).await;
        }
        if is_supported {
            self.run.defer(Event::CompletionChecked {
                passed: true,
                second_look: false,
                missing: Vec::new(),
            });
        }
        self.end(Event::Succeeded { answer }).await
    }

    /// Returns a claim to the planner, or fails the task if it was the last one.
    async fn refuse_claim(
        &mut self,
        missing: Vec<String>,
        second_look: bool,
        is_last: bool,
    ) -> RunResult {
        let joined = join_clauses(&missing, self.run.task().spec.message_language());
        let claim = Message::ClaimNotSupported { missing: &joined };
        let message = self.run.task().text(claim);
        let checked = Event::CompletionChecked {
            passed: false,
            second_look,
            missing,
        };
        self.run.record(vec![checked]).await?;
        if !second_look {
            progress::correct(&mut self.run, &joined).await?;
        }
        if is_last {
            let failure = Failure::new(reason::EXPECTATION_NOT_MET, message);
            return Err(Halt::Fail(failure));
        }
        Ok(())
    }

    /// Waits until the user responds, a pending approval expires, or the task's time is up.
    pub(super) async fn await_user(&mut self) -> RunResult {
        self.run.flush().await?;
        self.screen.discard(self.run.task());
        if self.run.task().is_taken_over() {
            return watch_operator(&mut self.run, &self.actuator).await;
        }
        let waiting = self.run.task().pending_approval().cloned();
        let expires_at = waiting.as_ref().map(|approval| approval.expires_at);
        let until_expiry = expires_at.map_or(Duration::MAX, |at| {
            at.duration_since(self.run.now()).unwrap_or_default()
        });
        let time_left = self.time_left_for_answer();
        let until_release = self.time_until_release();
        let left = until_expiry.min(time_left).min(until_release);
        let RunContext {
            journal,
            interrupts: Interrupts {
                stop, recording, ..
            },
            ..
        } = &mut self.run;
        tokio::select! {
            stop = stop.requested() => return Err(stop.into()),
            changed = journal.wait_for_change() => return changed,
            () = recording.deadline(left) => recording.timed_out(),
        }
        if until_release <= left {
            return self.release_desktop().await;
        }
        match waiting {
            Some(approval) if until_expiry <= time_left => expire(&mut self.run, &approval).await,
            // The loop evaluates the task again, which ends it.
            _ => Ok(()),
        }
    }

    /// Returns the time for which the task keeps its desktop. Only a question does not depend on the screen.
    fn time_until_release(&self) -> Duration {
        let request = self.run.task().awaited_answer();
        let is_question = request.is_some_and(|request| request.kind == UserRequestKind::Question);
        let after = self.run.config.release_desktop_after;
        after.filter(|_| is_question).unwrap_or(Duration::MAX)
    }

    /// Lets other tasks use the desktop. The dispatcher continues the task on it after the answer.
    async fn release_desktop(&mut self) -> RunResult {
        let desktop = self.run.desktop.name.clone();
        self.run
            .record(vec![Event::DesktopReleased { desktop }])
            .await?;
        match self.run.task().desktop_released {
            true => Err(Halt::DesktopReleased),
            // The answer came first.
            false => Ok(()),
        }
    }

    /// Returns the task's remaining time while it waits for an answer. A paused task has no such limit.
    fn time_left_for_answer(&self) -> Duration {
        let task = self.run.task();
        if task.awaited_answer().is_none() {
            return Duration::MAX;
        }
        let left = limits::remaining(task, self.run.now()).time;
        left.unwrap_or(Duration::MAX)
    }
}

/// Returns whether a model decided the last step.
fn is_claimed_by_model(run: &RunContext) -> bool {
    let step = run.task().steps.last();
    let decision = step.and_then(|step| step.decision.as_ref());
    decision.is_some_and(|decision| !decision.model.is_empty())
}

/// Describes the texts that their fields have lost since they were entered.
fn lost_texts(run: &RunContext, screen: &Screen) -> Vec<String> {
    let task = run.task();
    let is_on = run.config.features.read_left_fields;
    let lost = screen.lost_texts(task).into_iter().filter(|_| is_on);
    let described = lost.map(|LostText { entered, shown }| {
        let (entered, shown) = (&entered, &shown);
        task.text(Message::EffectTextDiffers { entered, shown })
    });
    described.collect()
}

/// Returns whether the screen changes after the claim. A window's content may appear before its title (a browser
/// takes 200 ms), and a planner without a model claims success sooner than that.
async fn has_late_change(run: &mut RunContext, screen: &Screen) -> RunResult<bool> {
    let Some(claimed_on) = screen.view().map(|view| view.latest_frame.id.clone()) else {
        return Ok(false);
    };
    let request = WaitForIdleRequest {
        display: run.display(),
        since_frame: Some(claimed_on),
        first_change_timeout: LATE_CHANGE_TIMEOUT,
        ..WaitForIdleRequest::default()
    };
    let idle = capture::wait_for_idle(run, Message::OperationAwaitLateChange, request).await?;
    match idle {
        Ok(idle) => Ok(idle.changed),
        // Only in a replay of a recording from before further attempts.
        Err(report) if report.code != Code::NotFound && run.config.max_screen_failures == 0 => {
            Err(halt(run.task(), Message::OperationAwaitLateChange, report))
        }
        // Perception has dropped the frame, or cannot see the screen: the next look at it tells.
        Err(_) => Ok(false),
    }
}

/// Returns the expectations that are not met; `None` if there is nothing to verify.
async fn unmet_expectations(
    run: &mut RunContext,
    screen: &Screen,
) -> RunResult<Option<Vec<String>>> {
    let expectations = run.task().spec.expectations.clone();
    let evidence = evidence(run, screen);
    if expectations.is_empty() && evidence.is_empty() {
        return Ok(None);
    }
    if expectations.is_empty() && run.sight.is_unparsed {
        // No text of this screen can be read: the claim is as one without evidence.
        return Ok(None);
    }
    if expectations.is_empty() {
        return missing_evidence(run, screen, &evidence).await.map(Some);
    }
    let observation = capture::read_screen(run).await?;
    let rules = run.config.claim_rules;
    let browser = completion::browser_words(run.task(), &observation, rules);
    let screen = LastScreen::of(&observation, &browser, rules);
    let mut missing = Vec::new();
    for expectation in &expectations {
        missing.extend(unmet(run, screen, expectation).await?);
    }
    Ok(Some(missing))
}

/// Describes an expectation that is not met; `None` if it is.
async fn unmet(
    run: &mut RunContext,
    screen: LastScreen<'_>,
    expectation: &Expectation,
) -> RunResult<Option<String>> {
    let holds = match expectation {
        Expectation::TextOnScreen(text) => screen.shows(text),
        Expectation::WindowTitle(title) => screen.is_titled(title),
        Expectation::FileExists(name) => {
            let found = find_file(run, name.clone()).await?;
            if found.as_ref().is_some_and(|file| !is_own(run, file)) {
                let problem = run.task().text(Message::FileNotOfTask { name });
                return Ok(Some(problem));
            }
            found.is_some()
        }
        Expectation::ExtractedJson(json) => completion::has_extracted(run.task(), json),
    };
    let language = run.task().spec.message_language();
    Ok((!holds).then(|| completion::describe_unmet(expectation, language)))
}

/// Returns whether a file is the task's own. Those of other tasks are no success and no result of this one.
fn is_own(run: &RunContext, file: &FileInfo) -> bool {
    run.config.claim_rules == ClaimRules::Lenient || completion::is_own_file(run.task(), file)
}

/// Returns the evidence that is found neither on the screen of the claim, which may have changed since (a toast
/// that disappears), nor on the current one, nor in a line of one of them that has been misread a little.
async fn missing_evidence(
    run: &mut RunContext,
    screen: &Screen,
    evidence: &[String],
) -> RunResult<Vec<String>> {
    let language = run.task().spec.message_language();
    let rules = run.config.claim_rules;
    let claimed_on = screen.observation().cloned();
    let mut missing = evidence.to_vec();
    if let Some(claimed_on) = &claimed_on {
        let browser = completion::browser_words(run.task(), claimed_on, rules);
        let screen = LastScreen::of(claimed_on, &browser, rules);
        missing = completion::missing_evidence(evidence, screen, language);
    }
    if missing.is_empty() {
        return Ok(missing);
    }
    let now = capture::read_screen(run).await?;
    let browser = completion::browser_words(run.task(), &now, rules);
    let screen = LastScreen::of(&now, &browser, rules);
    let missing = completion::missing_evidence(evidence, screen, language);
    if missing.is_empty() {
        return Ok(missing);
    }
    for observation in claimed_on.iter().chain([&now]) {
        for text in evidence {
            let is_found = match rules {
                ClaimRules::Lenient => planner_finds(run, text, observation).await?,
                _ => reads(run.task(), observation, rules, text),
            };
            if is_found {
                return Ok(Vec::new());
            }
        }
    }
    Ok(missing)
}

/// Returns whether a line of the screen has these words, if misread characters and punctuation are tolerated. The beginning of a
/// longer word is another text ("Save" in "Saved"), and so is a similar word.
fn reads(task: &Task, on: &Observation, rules: ClaimRules, text: &str) -> bool {
    let browser = completion::browser_words(task, on, rules);
    let screen = ScreenIndex::new(&on.frame, &on.scene).without_words(browser);
    screen.find_text(text).is_some()
}

/// Returns whether the Planner finds a text, or one that is like it. Only in a replay of a recording from before [`reads`].
async fn planner_finds(run: &mut RunContext, text: &str, on: &Observation) -> RunResult<bool> {
    let request = ResolveRequest {
        target: TargetQuery::Target(Target::Text(TextAnchor {
            text: text.to_owned(),
            ..TextAnchor::default()
        })),
        frame: on.frame.clone(),
        scene: on.scene.clone(),
    };
    let found = run
        .try_call(Message::OperationSearchEvidence, move |ports| {
            let request = request.clone();
            async move { ports.planner.resolve_target(request).await }
        })
        .await?;
    match found {
        Ok(_) => Ok(true),
        // A service that is unavailable does not disprove the evidence.
        Err(report) if is_transient(&report) => {
            Err(halt(run.task(), Message::OperationSearchEvidence, report))
        }
        // A text in several places is present, too.
        Err(report) => Ok(report.reason == motorium_proto::error::reason::TARGET_AMBIGUOUS),
    }
}

/// Returns whether the planner gave evidence that the configuration does not have verified.
fn has_unverified_evidence(run: &RunContext) -> bool {
    let last = run.task().steps.last();
    let next = last
        .and_then(|step| step.decision.as_ref())
        .map(|decision| &decision.next);
    let is_named = matches!(next, Some(Next::Done { evidence, .. }) if !evidence.is_empty());
    is_named && !run.config.verify_evidence
}

/// Returns the evidence that the planner gave for its success, if it is to be verified. A text that the last action met is none if
/// nothing else shows an effect. The phrasebook, which names the words of its goal, has judged an action without effect itself.
fn evidence(run: &RunContext, screen: &Screen) -> Vec<String> {
    let (task, rules) = (run.task(), run.config.claim_rules);
    let decision = task.steps.last().and_then(|step| step.decision.as_ref());
    let Some(decision) = decision.filter(|_| run.config.verify_evidence) else {
        return Vec::new();
    };
    let Next::Done { evidence, .. } = &decision.next else {
        return Vec::new();
    };
    let doubtful = elsewhere::acted_elsewhere(run, screen)
        .or_else(|| elsewhere::changed_own_look(run, screen));
    let is_judged_by_planner = decision.model.is_empty() && doubtful.is_none();
    let is_new_wanted = rules == ClaimRules::Strict && !is_judged_by_planner;
    let hidden = completion::has_hidden_effect(task);
    let hidden = hidden.filter(|_| run.config.features.doubt_hidden_effects);
    let record = completion::needs_new_text(task)
        .or(hidden)
        .or(doubtful.as_ref());
    let record = record.filter(|_| is_new_wanted);
    let before = record.and_then(|record| screen.acted_on(&record.action_id));
    let was_shown = |text: &str| {
        before.is_some_and(|before| {
            let before = &before.observation;
            let browser = completion::browser_words(task, before, rules);
            let is_shown = LastScreen::of(before, &browser, rules).shows(text);
            is_shown || reads(task, before, rules, text)
        })
    };
    completion::telling_evidence(task, evidence, rules, was_shown)
}

async fn find_file(run: &mut RunContext, name: String) -> RunResult<Option<FileInfo>> {
    let request = file_request(run, name);
    run.call(Message::OperationFindFile, move |ports| {
        let request = request.clone();
        async move { ports.executor.stat_file(request).await }
    })
    .await
}

fn file_request(run: &RunContext, name: String) -> FileRequest {
    let leased = run.task().desktop.as_ref();
    let epoch = leased.filter(|_| run.config.features.lease_files);
    FileRequest {
        display: run.display(),
        name,
        epoch: epoch.map(|(_, epoch)| *epoch),
    }
}

/// Fetches the result files that the task names. A missing file does not fail the task.
pub(super) async fn fetch_results(run: &mut RunContext) -> RunResult<Vec<Event>> {
    let names = run.task().spec.results.clone();
    let mut events = Vec::new();
    for name in names.into_iter().skip(run.task().results.len()) {
        events.push(fetch_result(run, &name).await?);
    }
    Ok(events)
}

/// Fetches one result. Neither the time limit nor a large file prevents the task from ending, and a user who
/// cancels does not wait.
async fn fetch_result(run: &RunContext, name: &str) -> RunResult<Event> {
    let failed = |message: Message<'_>| {
        let detail = &run.task().text(message);
        let error = run.task().text(Message::WithDetail { text: name, detail });
        not_fetched(name, error)
    };
    tokio::select! {
        biased;
        stop = run.interrupts.stop.requested() => match stop {
            StopReason::Cancelled => Ok(failed(Message::ResultCancelled)),
            stop => Err(stop.into()),
        },
        event = fetch(run, name) => Ok(event),
        () = tokio::time::sleep(FETCH_TIMEOUT) => Ok(failed(Message::ResultTimedOut)),
    }
}

/// Returns the event of a result that could not be fetched.
fn not_fetched(name: &str, error: String) -> Event {
    Event::ResultFetched(ResultFile {
        name: name.to_owned(),
        error,
        ..ResultFile::default()
    })
}

async fn fetch(run: &RunContext, name: &str) -> Event {
    let failed = |error: String| {
        let message = Message::WithDetail {
            text: name,
            detail: &error,
        };
        not_fetched(name, run.task().text(message))
    };
    let request = file_request(run, name.to_owned());
    let file = match run.ports.executor.get_file(request).await {
        Ok(file) => file,
        // The Executor's words are English, and name a folder of its machine.
        Err(report) if report.code == Code::NotFound => {
            return failed(run.task().text(Message::FileMissing { name }));
        }
        Err(report) => return failed(report.message),
    };
    if !is_own(run, &file.info) {
        return failed(run.task().text(Message::FileNotOfTask { name }));
    }
    let pending = PendingArtifact {
        bytes: file.content,
        media_type: "application/octet-stream".to_owned(),
        file_name: name.to_owned(),
    };
    match run.store([Some(pending)]).await {
        Ok([artifact]) => Event::ResultFetched(ResultFile {
            name: name.to_owned(),
            path: file.info.path,
            artifact,
            error: String::new(),
        }),
        Err(_) => failed(run.task().text(Message::ResultNotStored)),
    }
}
