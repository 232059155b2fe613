//! While a person has the desktop: what they do is written down, without what they type.
//!
//! Between two deeds the screen is looked at, so that a click can be told by what was clicked; a click that comes sooner is
//! told by its place. Nothing is done meanwhile. A desktop that cannot tell what people do is asked again and again, and
//! handed back without a report; then the screen says it all.

use std::time::Duration;

use futures::StreamExt as _;
use motorium_proto::domain::action::Button;
use motorium_proto::domain::element::{Element, ElementKind};
use motorium_proto::domain::geometry::CapturePoint;
use motorium_proto::service::{
    AnswerStream, AwaitQuiet, CaptureArea, HumanInput, HumanInputKind, Observation,
};
use tokio_util::task::AbortOnDropHandle;

use super::{Flow, Runner};
use crate::task::event::Event;
use crate::task::screen::bounds_on_display;

/// Pause before somebody who does not tell any more is asked again.
const ASK_AGAIN: Duration = Duration::from_secs(2);

/// So much of what is written on something names it, in characters.
const NAME: usize = 60;

/// A look at the screen as it is between two deeds.
type Glance = AbortOnDropHandle<Option<Observation>>;

/// What a person does, as it is told.
pub(super) type Deeds = AnswerStream<HumanInput>;

impl Runner {
    /// Writes down what the person does until the desktop is handed back.
    pub(super) async fn watch_the_person(&mut self) -> Flow {
        // Whatever was still under way when they took over is over now.
        self.let_go().await;
        let mut deeds = self.deeds();
        let mut glance = self.glance();
        while self.task.is_taken_over() {
            tokio::select! {
                biased;
                stop = self.stop.requested() => return Err(stop.into()),
                deed = deeds.next() => {
                    match deed {
                        Some(Ok(input)) => glance = self.note_deed(&input, glance).await?,
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

    /// Writes a deed down, and looks at what has come of it. A pointer that only moves changes nothing.
    async fn note_deed(&mut self, input: &HumanInput, glance: Glance) -> Flow<Glance> {
        // A look that is not over yet may show what came of the deed.
        let seen = if glance.is_finished() {
            glance.await.ok().flatten()
        } else if matches!(input.kind, HumanInputKind::Move { .. }) {
            return Ok(glance);
        } else {
            None
        };
        let Some((description, at)) = described(&input.kind, seen.as_ref()) else {
            let known = tokio::spawn(std::future::ready(seen));
            return Ok(AbortOnDropHandle::new(known));
        };
        self.record(vec![Event::HumanActed { description, at }])
            .await?;
        Ok(self.glance())
    }

    /// Looks at the screen as soon as it is quiet.
    fn glance(&self) -> Glance {
        let perception = self.aside.0.clone();
        let request = self.whole_screen(false, self.painted_over_on(&CaptureArea::Display));
        let quiet = AwaitQuiet {
            display: self.display(),
            first_change_timeout: Duration::from_millis(100),
            timeout: Duration::from_secs(1),
            ..AwaitQuiet::default()
        };
        let looking = tokio::spawn(async move {
            perception.await_quiet(quiet).await.ok()?;
            perception.observe(request).await.ok()
        });
        AbortOnDropHandle::new(looking)
    }
}

/// What is at a place, in words: what is written on it, but not what somebody has written into it.
fn named(at: CapturePoint, on: &Observation) -> Option<String> {
    let element = smallest_at(at, on)?;
    let content = element.content.trim();
    if element.kind == ElementKind::TextField {
        return Some("a text field".to_owned());
    }
    if content.is_empty() {
        return None;
    }
    let name: String = content.chars().take(NAME).collect();
    let rest = if name.len() < content.len() {
        "…"
    } else {
        ""
    };
    Some(format!("\"{name}{rest}\""))
}

fn smallest_at(at: CapturePoint, on: &Observation) -> Option<&Element> {
    let there = on.scene.elements.iter().filter_map(|element| {
        let bounds = bounds_on_display(element, &on.frame);
        let area = i64::from(bounds.width()) * i64::from(bounds.height());
        bounds.contains(at).then_some((area, element))
    });
    there
        .min_by_key(|(area, _)| *area)
        .map(|(_, element)| element)
}

/// A deed in words, and where it was done; nothing for a pointer that only moves.
fn described(
    kind: &HumanInputKind,
    seen: Option<&Observation>,
) -> Option<(String, Option<CapturePoint>)> {
    Some(match kind {
        HumanInputKind::Click { at, button } => {
            let with = match button {
                Button::Left => "",
                Button::Right => " with the right button",
                Button::Middle => " with the middle button",
            };
            let place = format!("at ({}, {})", at.x, at.y);
            let what = match seen.and_then(|seen| named(*at, seen)) {
                Some(name) => format!("{name} {place}"),
                None => place,
            };
            (format!("clicked {what}{with}"), Some(*at))
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
        let words = |kind| described(&kind, None).map(|(words, _)| words);
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
