//! While a person has the desktop: what they do is written down, without what they type.
//!
//! Nothing is done meanwhile. A desktop that cannot tell what people do is asked again and again, and handed back without
//! a report; then the screen says it all.

use std::time::Duration;

use futures::StreamExt as _;
use motorium_proto::domain::action::Button;
use motorium_proto::domain::geometry::CapturePoint;
use motorium_proto::service::{AnswerStream, HumanInput, HumanInputKind};

use super::{Flow, Runner};
use crate::task::event::Event;

/// Pause before somebody who does not tell any more is asked again.
const ASK_AGAIN: Duration = Duration::from_secs(2);

/// What a person does, as it is told.
pub(super) type Deeds = AnswerStream<HumanInput>;

impl Runner {
    /// Writes down what the person does until the desktop is handed back.
    pub(super) async fn watch_the_person(&mut self) -> Flow {
        // Whatever was still under way when they took over is over now.
        self.let_go().await;
        let mut deeds = self.deeds();
        while self.task.is_taken_over() {
            tokio::select! {
                biased;
                stop = self.stop.requested() => return Err(stop.into()),
                deed = deeds.next() => {
                    match deed {
                        Some(Ok(input)) => self.note_deed(&input).await?,
                        Some(Err(report)) => {
                            tracing::info!(task = %self.task.spec.name, %report, "what the person does is not told");
                        }
                        None => {}
                    }
                    // The other branch may have been given up just when somebody rang.
                    self.journal.take_in(&mut self.task).await?;
                }
                changed = self.journal.changed(&mut self.task) => changed?,
            }
        }
        Ok(())
    }

    /// What the person does, asked for again whenever it breaks off. It never ends.
    pub(super) fn deeds(&self) -> Deeds {
        let (executor, display) = (self.ports.executor.clone(), self.display());
        let watched = futures::stream::unfold(true, move |is_first| {
            let (executor, display) = (executor.clone(), display.clone());
            async move {
                if !is_first {
                    tokio::time::sleep(ASK_AGAIN).await;
                }
                let deeds = executor.watch_human_input(display).await;
                let deeds = deeds.unwrap_or_else(|report| {
                    Box::pin(futures::stream::once(async { Err(report) })) as Deeds
                });
                Some((deeds, false))
            }
        });
        Box::pin(watched.flatten())
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
