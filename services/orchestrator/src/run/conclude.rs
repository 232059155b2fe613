//! Ending well: what must hold is checked before success is declared, results are fetched, the user is waited for.

use motorium_proto::domain::element::Scene;
use motorium_proto::domain::frame::Frame;
use tokio::time::Duration;

use super::{Flow, Halt, Runner, Stop};
use crate::error::reason;
use crate::task::event::{Event, Failure};
use crate::task::machine::MAX_REFUSED_CLAIMS;
use crate::task::spec::Expectation;

/// How long fetching one result may take.
const FETCH_PATIENCE: Duration = Duration::from_secs(60);

impl Runner {
    /// The planner says it is done. A claim that does not hold goes back to it once, then the task fails honestly.
    pub(super) async fn conclude(&mut self, answer: String) -> Flow {
        let missing = self.missing_expectations().await?;
        if missing.is_empty() {
            if !self.task.spec.expectations.is_empty() {
                let checked = Event::CompletionChecked {
                    passed: true,
                    missing: Vec::new(),
                };
                self.journal.defer(&mut self.task, checked);
            }
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

    async fn missing_expectations(&mut self) -> Flow<Vec<String>> {
        let mut missing = Vec::new();
        let expectations = self.task.spec.expectations.clone();
        if expectations.is_empty() {
            return Ok(missing);
        }
        let observation = self.look(false).await?;
        for expectation in expectations {
            let holds = match &expectation {
                Expectation::TextOnScreen(text) => shows(&observation.scene, text),
                Expectation::WindowTitle(title) => is_titled(&observation.frame, title),
                Expectation::FileExists(name) => self.has_file(name.clone()).await?,
            };
            if !holds {
                missing.push(words(&expectation));
            }
        }
        Ok(missing)
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
        self.journal.flush(&mut self.task).await?;
        // Whatever is on the screen afterwards, it need not be what was there before.
        self.view = None;
        tokio::select! {
            stop = self.stop.requested() => Err(stop.into()),
            () = self.journal.changed() => Ok(()),
        }
    }
}

fn folded(text: &str) -> String {
    text.chars()
        .filter(|character| !character.is_whitespace())
        .flat_map(char::to_lowercase)
        .collect()
}

fn shows(scene: &Scene, text: &str) -> bool {
    let wanted = folded(text);
    scene
        .elements
        .iter()
        .any(|element| folded(&element.content).contains(&wanted))
}

fn is_titled(frame: &Frame, title: &str) -> bool {
    frame
        .active_window()
        .is_some_and(|window| folded(&window.title).contains(&folded(title)))
}

fn words(expectation: &Expectation) -> String {
    match expectation {
        Expectation::TextOnScreen(text) => format!("the text \"{text}\" is not on the screen"),
        Expectation::WindowTitle(title) => format!("the active window is not titled \"{title}\""),
        Expectation::FileExists(name) => format!("there is no file {name} in the desktop's folder"),
    }
}
