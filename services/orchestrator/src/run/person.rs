//! While a person has the desktop: what they do is written down, without what they type.
//!
//! Nothing is done meanwhile. A desktop that cannot tell what people do is handed back without a report; then the screen
//! says it all.

use futures::StreamExt as _;
use motorium_proto::domain::action::Button;
use motorium_proto::domain::geometry::CapturePoint;
use motorium_proto::service::{AnswerStream, HumanInput, HumanInputKind};

use super::{Flow, Runner};
use crate::task::Lifecycle;
use crate::task::event::{Event, UserRequestKind};

impl Runner {
    /// Whether a person has the desktop.
    pub(super) fn is_taken_over(&self) -> bool {
        matches!(
            &self.task.lifecycle,
            Lifecycle::AwaitingUser(request) if request.kind == UserRequestKind::TakeOver
        )
    }

    /// Writes down what the person does until the desktop is handed back.
    pub(super) async fn watch_the_person(&mut self) -> Flow {
        // Whatever was still under way when they took over is over now.
        self.let_go().await;
        let watched = self.ports.executor.watch_human_input(self.display());
        let mut deeds = match self.guard_while_taken(watched).await? {
            Ok(deeds) => deeds,
            Err(report) => {
                tracing::info!(task = %self.task.spec.name, %report, "what the person does is not told");
                Box::pin(futures::stream::pending()) as AnswerStream<HumanInput>
            }
        };
        while self.is_taken_over() {
            tokio::select! {
                biased;
                stop = self.stop.requested() => return Err(stop.into()),
                changed = self.journal.changed(&mut self.task) => changed?,
                deed = deeds.next() => match deed {
                    Some(Ok(input)) => self.note_deed(&input).await?,
                    // It is told again when there is something to tell; until then the screen has to do.
                    Some(Err(_)) | None => deeds = Box::pin(futures::stream::pending()),
                },
            }
        }
        Ok(())
    }

    async fn guard_while_taken<T>(&self, work: impl Future<Output = T>) -> Flow<T> {
        tokio::select! {
            biased;
            stop = self.stop.requested() => Err(stop.into()),
            done = work => Ok(done),
        }
    }

    async fn note_deed(&mut self, input: &HumanInput) -> Flow {
        let Some((description, at)) = described(&input.kind) else {
            return Ok(());
        };
        self.record(vec![Event::HumanActed { description, at }])
            .await
    }
}

/// A deed in words, and where it was done; nothing for a pointer that only moves.
fn described(kind: &HumanInputKind) -> Option<(String, Option<CapturePoint>)> {
    Some(match kind {
        HumanInputKind::Click { at, button } => {
            let with = match button {
                Button::Left => "",
                Button::Right => " with the right button",
                Button::Middle => " with the middle button",
            };
            (format!("clicked at ({}, {}){with}", at.x, at.y), Some(*at))
        }
        HumanInputKind::Typing { characters: 1 } => ("typed 1 character".to_owned(), None),
        HumanInputKind::Typing { characters } => (format!("typed {characters} characters"), None),
        HumanInputKind::Chord { keys } => {
            let keys: Vec<String> = keys.iter().map(ToString::to_string).collect();
            (format!("pressed {}", keys.join("+")), None)
        }
        HumanInputKind::Scroll { at, .. } => {
            (format!("scrolled at ({}, {})", at.x, at.y), Some(*at))
        }
        HumanInputKind::Move { .. } => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_typed_is_counted_and_not_told() {
        let words = |kind| described(&kind).map(|(words, _)| words);
        assert_eq!(
            words(HumanInputKind::Typing { characters: 12 }).unwrap(),
            "typed 12 characters"
        );
        let at = CapturePoint::new(3, 4);
        let button = Button::Right;
        assert_eq!(
            words(HumanInputKind::Click { at, button }).unwrap(),
            "clicked at (3, 4) with the right button"
        );
        assert_eq!(words(HumanInputKind::Move { to: at }), None);
    }
}
