//! Hooks around texts for the user.

use super::{RunResult, Runner};
use crate::hooks::event::{HookText, HookTextKind};
use crate::hooks::{HookDenial, HookEvent, HookPoint};
use motorium_messages::{Language, Message};
use motorium_task::Lifecycle;
use motorium_task::event::{Event, Failure, UserRequest};

impl Runner {
    /// Adds a progress line.
    pub(in crate::run) async fn show_progress(&mut self, text: String) -> RunResult {
        let text = self.before_text(HookTextKind::Progress, text).await?;
        let shown = self.copy_for_hooks(&text);
        self.journal
            .defer(&mut self.task, Event::ProgressAdded { text });
        self.after_text(HookTextKind::Progress, shown).await;
        Ok(())
    }

    /// Asks the user, after recording these events.
    pub(in crate::run) async fn ask_user(
        &mut self,
        before: Vec<Event>,
        request: UserRequest,
    ) -> RunResult {
        let message = self
            .before_text(HookTextKind::Question, request.message)
            .await?;
        let shown = self.copy_for_hooks(&message);
        let asked = Event::UserAsked(UserRequest { message, ..request });
        self.record(before.into_iter().chain([asked]).collect())
            .await?;
        self.after_text(HookTextKind::Question, shown).await;
        Ok(())
    }

    /// Returns the final event with the text that may be shown. A cancellation keeps the user's own reason.
    pub(in crate::run) async fn before_answer(&mut self, event: Event) -> Event {
        match event {
            Event::Succeeded { answer } => Event::Succeeded {
                answer: self.final_text(answer).await,
            },
            Event::Failed(failure) => Event::Failed(Failure {
                message: self.final_text(failure.message).await,
                ..failure
            }),
            other => other,
        }
    }

    /// Notifies the hooks of the final text.
    pub(in crate::run) async fn after_answer(&mut self) {
        let shown = match &self.task.lifecycle {
            Lifecycle::Succeeded { answer } => self.copy_for_hooks(answer),
            Lifecycle::Failed(failure) => self.copy_for_hooks(&failure.message),
            _ => None,
        };
        self.after_text(HookTextKind::Answer, shown).await;
    }

    async fn before_text(&mut self, kind: HookTextKind, text: String) -> RunResult<String> {
        if !self.wants(HookPoint::BeforeText) {
            return Ok(text);
        }
        let mut happening = HookEvent::BeforeText(HookText { kind, text });
        let denial = self.ask_hooks(&mut happening, None).await?;
        Ok(shown_text(
            happening,
            denial,
            self.task.spec.message_language(),
        ))
    }

    /// Runs the final text past the hooks, even when the task's time is up. Text that the hooks did not approve is
    /// withheld.
    async fn final_text(&mut self, text: String) -> String {
        if !self.wants(HookPoint::BeforeText) {
            return text;
        }
        let kind = HookTextKind::Answer;
        let mut happening = HookEvent::BeforeText(HookText { kind, text });
        let passage = tokio::select! {
            biased;
            passage = self.dispatch_hooks(&mut happening, None) => Some(passage),
            _ = self.stop.requested() => {
                self.recording.stopped();
                None
            }
        };
        match passage {
            Some(passage) => {
                let denial = self.record_interventions(passage);
                shown_text(happening, denial, self.task.spec.message_language())
            }
            None => self.task.text(Message::TextWithheld),
        }
    }

    /// Returns a copy if a hook wants it.
    fn copy_for_hooks(&self, text: &str) -> Option<String> {
        self.wants(HookPoint::AfterText).then(|| text.to_owned())
    }

    async fn after_text(&mut self, kind: HookTextKind, shown: Option<String>) {
        if let Some(text) = shown {
            let words = HookText { kind, text };
            self.tell_hooks(HookEvent::AfterText(words), None).await;
        }
    }
}

/// Returns the amended text, or a note that it is withheld.
fn shown_text(happening: HookEvent<'_>, denial: Option<HookDenial>, language: Language) -> String {
    match (happening, denial) {
        (_, Some(denial)) => {
            let denial = &denial.message(language);
            Message::HookDeniesText { denial }.text(language)
        }
        (HookEvent::BeforeText(words), None) => words.text,
        _ => unreachable!("a hook cannot change an event's kind"),
    }
}
