//! Ending well: what must hold is checked before success is declared, results are fetched, the user is waited for.

use motorium_proto::domain::action::{Target, TextAnchor};
use motorium_proto::domain::decision::Next;
use motorium_proto::service::{AwaitQuiet, Observation, ResolveRequest, Sought};
use tokio::time::Duration;
use tonic::Code;

use super::{Flow, Halt, Runner, Stop, halt, is_transient};
use crate::error::reason;
use crate::task::completion::{self, LastScreen};
use crate::task::event::{Event, Failure};
use crate::task::machine::MAX_REFUSED_CLAIMS;
use crate::task::spec::Expectation;

/// How long fetching one result may take.
const FETCH_PATIENCE: Duration = Duration::from_secs(60);
/// How long something that is claimed may take to show, as after a click.
const LATE_CHANGE: Duration = Duration::from_secs(1);

impl Runner {
    /// The planner says it is done. A claim that does not hold goes back to it once, then the task fails honestly.
    pub(super) async fn conclude(&mut self, answer: String) -> Flow {
        let mut missing = self.missing().await?;
        let is_refused = |missing: &Option<Vec<String>>| {
            missing.as_ref().is_some_and(|missing| !missing.is_empty())
        };
        if is_refused(&missing) && self.screen_goes_on().await? {
            missing = self.missing().await?;
        }
        let Some(missing) = missing else {
            return self.end(Event::Succeeded { answer }).await;
        };
        if missing.is_empty() {
            let checked = Event::CompletionChecked {
                passed: true,
                missing: Vec::new(),
            };
            self.journal.defer(&mut self.task, checked);
            return self.end(Event::Succeeded { answer }).await;
        }
        let refused = self.task.refused_claims;
        let message = format!("the planner claims success, but {}", missing.join("; "));
        self.record(vec![Event::CompletionChecked {
            passed: false,
            missing,
        }])
        .await?;
        if refused >= MAX_REFUSED_CLAIMS {
            return Err(Halt::Fail(Failure::new(
                reason::EXPECTATION_NOT_MET,
                message,
            )));
        }
        Ok(())
    }

    /// Whether the screen changes after the claim was made: what is in a window may be there before the window's title is
    /// (a browser takes 200 ms for it), and a planner that needs no model claims success sooner than that.
    async fn screen_goes_on(&mut self) -> Flow<bool> {
        let Some(claimed_on) = self.view.as_ref().map(|view| view.latest.id.clone()) else {
            return Ok(false);
        };
        let request = AwaitQuiet {
            display: self.display(),
            since_frame: Some(claimed_on),
            first_change_timeout: LATE_CHANGE,
            ..AwaitQuiet::default()
        };
        let quiet = self
            .ask_for_answer("waiting for what is claimed", move |ports| {
                let request = request.clone();
                async move { ports.perception.await_quiet(request).await }
            })
            .await?;
        match quiet {
            Ok(quiet) => Ok(quiet.changed),
            // The frame is not known any more.
            Err(report) if report.code == Code::NotFound => Ok(false),
            Err(report) => Err(halt("waiting for what is claimed", report)),
        }
    }

    /// What does not hold; `None` if there is nothing to hold the claim against.
    async fn missing(&mut self) -> Flow<Option<Vec<String>>> {
        let expectations = self.task.spec.expectations.clone();
        let evidence = self.evidence();
        if expectations.is_empty() && evidence.is_empty() {
            return Ok(None);
        }
        if expectations.is_empty() {
            return self.missing_evidence(&evidence).await.map(Some);
        }
        let observation = self.look(false).await?;
        let screen = LastScreen::of(&observation);
        let mut missing = Vec::new();
        for expectation in expectations {
            let holds = match &expectation {
                Expectation::TextOnScreen(text) => screen.shows(text),
                Expectation::WindowTitle(title) => screen.is_titled(title),
                Expectation::FileExists(name) => self.has_file(name.clone()).await?,
                Expectation::ExtractedJson(json) => completion::has_extracted(&self.task, json),
            };
            if !holds {
                missing.push(completion::words(&expectation));
            }
        }
        Ok(Some(missing))
    }

    /// What of the evidence cannot be seen: on the screen that the claim was made on, which may have changed since (a
    /// note that passes), nor on the one that is there now, nor by the Planner's own way to find a text.
    async fn missing_evidence(&mut self, evidence: &[String]) -> Flow<Vec<String>> {
        let claimed_on = self.view.as_ref().map(|view| view.observation.clone());
        let mut missing = evidence.to_vec();
        if let Some(claimed_on) = &claimed_on {
            missing = completion::missing_evidence(evidence, LastScreen::of(claimed_on));
        }
        if missing.is_empty() {
            return Ok(missing);
        }
        let now = self.look(false).await?;
        let missing = completion::missing_evidence(evidence, LastScreen::of(&now));
        if missing.is_empty() {
            return Ok(missing);
        }
        for observation in claimed_on.iter().chain([&now]) {
            for text in evidence {
                if self.planner_finds(text, observation).await? {
                    return Ok(Vec::new());
                }
            }
        }
        Ok(missing)
    }

    /// Whether the Planner finds a text, which it reads with more tolerance than we do.
    async fn planner_finds(&mut self, text: &str, on: &Observation) -> Flow<bool> {
        let request = ResolveRequest {
            target: Sought::Target(Target::Text(TextAnchor {
                text: text.to_owned(),
                ..TextAnchor::default()
            })),
            frame: on.frame.clone(),
            scene: on.scene.clone(),
        };
        let found = self
            .ask_for_answer("looking for evidence", move |ports| {
                let request = request.clone();
                async move { ports.planner.resolve_target(request).await }
            })
            .await?;
        match found {
            Ok(_) => Ok(true),
            // That nobody could look does not mean that it is not there.
            Err(report) if is_transient(&report) => Err(halt("looking for evidence", report)),
            // In several places is there too.
            Err(report) => Ok(report.reason == "TARGET_AMBIGUOUS"),
        }
    }

    /// What the planner says shows its success, if that is to be looked for.
    fn evidence(&self) -> Vec<String> {
        let decision = self
            .task
            .steps
            .last()
            .and_then(|step| step.decision.as_ref());
        match decision.map(|decision| &decision.next) {
            Some(Next::Done { evidence, .. }) if self.conduct.check_evidence => evidence.clone(),
            _ => Vec::new(),
        }
    }

    async fn has_file(&mut self, name: String) -> Flow<bool> {
        let display = self.display();
        let file = self
            .ask("looking for a file", move |ports| {
                let (display, name) = (display.clone(), name.clone());
                async move { ports.executor.stat_file(display, &name).await }
            })
            .await?;
        Ok(file.is_some())
    }

    /// Fetches the files that the task names. One that is not there does not undo what was done.
    pub(super) async fn fetch_results(&mut self) -> Flow<Vec<Event>> {
        let names = self.task.spec.results.clone();
        let mut events = Vec::new();
        for name in names.into_iter().skip(self.task.results_fetched as usize) {
            events.push(self.fetch_result(&name).await?);
        }
        Ok(events)
    }

    /// Neither the time limit nor a long file keeps the task from its end; a user who cancels does not wait either.
    async fn fetch_result(&self, name: &str) -> Flow<Event> {
        let failed = |error: &str| Event::ResultFetched {
            artifact: None,
            error: format!("{name}: {error}"),
        };
        tokio::select! {
            biased;
            stop = self.stop.requested() => match stop {
                Stop::Cancelled => Ok(failed("the task was cancelled")),
                stop => Err(stop.into()),
            },
            event = self.fetch(name) => Ok(event),
            () = tokio::time::sleep(FETCH_PATIENCE) => Ok(failed("it took too long")),
        }
    }

    async fn fetch(&self, name: &str) -> Event {
        let failed = |error: String| Event::ResultFetched {
            artifact: None,
            error: format!("{name}: {error}"),
        };
        let content = match self.ports.executor.get_file(self.display(), name).await {
            Ok((_, content)) => content,
            Err(report) => return failed(report.message),
        };
        match self
            .store_blob(content, "application/octet-stream", name.to_owned())
            .await
        {
            Ok(artifact) => Event::ResultFetched {
                artifact: Some(artifact),
                error: String::new(),
            },
            Err(_) => failed("it could not be stored".to_owned()),
        }
    }

    /// Stands still until something was said.
    pub(super) async fn await_user(&mut self) -> Flow {
        self.flush().await?;
        self.forget_the_screen();
        if self.task.is_taken_over() {
            return self.watch_the_person().await;
        }
        let waiting = self.task.pending_approval().cloned();
        let expires_at = waiting.as_ref().map(|approval| approval.expires_at);
        let left = expires_at.map_or(Duration::MAX, |at| {
            at.duration_since(self.now()).unwrap_or_default()
        });
        tokio::select! {
            stop = self.stop.requested() => Err(stop.into()),
            changed = self.journal.changed(&mut self.task) => changed,
            () = self.tape.time_up(left) => {
                self.tape.timed_out();
                match waiting {
                    Some(approval) => self.expire(&approval).await,
                    None => Ok(()),
                }
            }
        }
    }
}
