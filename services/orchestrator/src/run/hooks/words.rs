//! Hooks around words for people.

use super::{Flow, Runner};
use crate::hooks::happening::{Words, WordsKind};
use crate::hooks::{Denial, Happening, Point};
use crate::task::Lifecycle;
use crate::task::event::{Event, Failure, UserRequest};

impl Runner {
    /// Shows a line of progress.
    pub(in crate::run) async fn show_progress(&mut self, text: String) -> Flow {
        let text = self.before_text(WordsKind::Progress, text).await?;
        let shown = self.for_hooks(&text);
        self.journal
            .defer(&mut self.task, Event::ProgressAdded { text });
        self.after_text(WordsKind::Progress, shown).await;
        Ok(())
    }

    /// Asks the user, after these events.
    pub(in crate::run) async fn ask_user(
        &mut self,
        before: Vec<Event>,
        request: UserRequest,
    ) -> Flow {
        let message = self
            .before_text(WordsKind::Question, request.message)
            .await?;
        let shown = self.for_hooks(&message);
        let asked = Event::UserAsked(UserRequest { message, ..request });
        self.record(before.into_iter().chain([asked]).collect())
            .await?;
        self.after_text(WordsKind::Question, shown).await;
        Ok(())
    }

    /// The end in the words that may be shown. Whoever cancels has said why, and waits for nobody.
    pub(in crate::run) async fn before_answer(&mut self, event: Event) -> Event {
        match event {
            Event::Succeeded { answer } => Event::Succeeded {
                answer: self.last_words(answer).await,
            },
            Event::Failed(failure) => Event::Failed(Failure {
                message: self.last_words(failure.message).await,
                ..failure
            }),
            other => other,
        }
    }

    /// Tells what was answered.
    pub(in crate::run) async fn after_answer(&mut self) {
        let shown = match &self.task.lifecycle {
            Lifecycle::Succeeded { answer } => self.for_hooks(answer),
            Lifecycle::Failed(failure) => self.for_hooks(&failure.message),
            _ => None,
        };
        self.after_text(WordsKind::Answer, shown).await;
    }

    async fn before_text(&mut self, kind: WordsKind, text: String) -> Flow<String> {
        if !self.wants(Point::BeforeText) {
            return Ok(text);
        }
        let mut happening = Happening::BeforeText(Words { kind, text });
        let denial = self.ask_hooks(&mut happening, None).await?;
        Ok(said(happening, denial))
    }

    /// Also where the time of the task is up. What nobody has agreed to is not shown.
    async fn last_words(&mut self, text: String) -> String {
        if !self.wants(Point::BeforeText) {
            return text;
        }
        let kind = WordsKind::Answer;
        let mut happening = Happening::BeforeText(Words { kind, text });
        let passage = tokio::select! {
            biased;
            passage = self.pass(&mut happening, None) => Some(passage),
            _ = self.stop.requested() => {
                self.tape.stopped();
                None
            }
        };
        match passage {
            Some(passage) => {
                let denial = self.note(passage);
                said(happening, denial)
            }
            None => "(withheld: the task was stopped before the hooks had their say)".to_owned(),
        }
    }

    /// A copy, where somebody wants one.
    fn for_hooks(&self, text: &str) -> Option<String> {
        self.wants(Point::AfterText).then(|| text.to_owned())
    }

    async fn after_text(&mut self, kind: WordsKind, shown: Option<String>) {
        if let Some(text) = shown {
            let words = Words { kind, text };
            self.tell_hooks(Happening::AfterText(words), None).await;
        }
    }
}

/// The words as they are now, or that there are none.
fn said(happening: Happening<'_>, denial: Option<Denial>) -> String {
    match (happening, denial) {
        (_, Some(denial)) => format!("(withheld: {})", denial.words()),
        (Happening::BeforeText(words), None) => words.text,
        _ => unreachable!("a happening stays what it is"),
    }
}
