//! From what a model says of its screenshot to actions of ours, each with words that say what it is for.

use std::time::Duration;

use motorium_proto::domain::action::{Action, Button, ControlCharacters, Target};
use motorium_proto::domain::decision::PlannedAction;
use motorium_proto::domain::element::Scene;
use motorium_proto::domain::geometry::{CapturePoint, CaptureSize};
use motorium_proto::domain::key::Key;
use motorium_proto::service::PlanRequest;

use super::intent::Intents;
use crate::answer::commands::entered;
use crate::picture::{SaidPoint, SentPicture};
use crate::prompt::Language;

/// Longest pause, and longest time for which a key is held.
const LONGEST: Duration = Duration::from_secs(300);

/// A screenshot that a model was sent, and what is on it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sight<'a> {
    view: SentPicture,
    scene: &'a Scene,
    frame: CaptureSize,
    cursor: Option<CapturePoint>,
    /// Of words for people.
    language: Language,
}

impl<'a> Sight<'a> {
    pub(crate) fn new(view: SentPicture, request: &'a PlanRequest) -> Self {
        Self {
            view,
            scene: &request.scene,
            frame: request.frame.size,
            cursor: request.frame.cursor.map(|cursor| cursor.position),
            language: Language::of(request.language.as_deref(), &request.goal),
        }
    }

    /// The pixel of the frame that a model means. Outside the screenshot it means none: nothing is moved inside.
    pub(crate) fn point(&self, x: f64, y: f64) -> Result<CapturePoint, String> {
        let said = SaidPoint::new(x, y);
        let found = self.view.to_capture(said);
        found.map_err(|off| format!("Coordinate outside the screen: {off}."))
    }

    pub(crate) fn target(&self, [x, y]: [f64; 2]) -> Result<Target, String> {
        self.point(x, y).map(Target::Point)
    }

    /// The box of the frame that a model means, as left, top, right, bottom.
    pub(crate) fn region(&self, [x1, y1, x2, y2]: [f64; 4]) -> Result<[i32; 4], String> {
        let area = self
            .view
            .area(SaidPoint::new(x1, y1), SaidPoint::new(x2, y2));
        let area = area.map_err(|off| format!("Region outside the screen: {off}."))?;
        Ok([area.min.x, area.min.y, area.max.x, area.max.y])
    }

    /// Where the mouse cursor is.
    pub(crate) fn cursor(&self) -> Option<Target> {
        self.cursor.map(Target::Point)
    }

    /// The same, as the model counts.
    pub(crate) fn cursor_said(&self) -> Option<(i64, i64)> {
        let said = self.view.to_said(self.cursor?).ok()?;
        Some((whole(said.x), whole(said.y)))
    }

    /// The action with words that say what it is for.
    pub(crate) fn planned(&self, action: Action<Target>) -> PlannedAction {
        PlannedAction {
            intent: Intents::new(self.scene, self.frame, self.language).of(&action),
            verify_pointer: false,
            repeatable: matches!(
                action,
                Action::Move { .. }
                    | Action::Click { .. }
                    | Action::Scroll { .. }
                    | Action::Wait { .. }
            ),
            action,
        }
    }
}

/// A click.
pub(crate) fn click(
    at: Option<Target>,
    button: Button,
    count: u8,
    modifiers: Vec<Key>,
) -> Action<Target> {
    Action::Click {
        at,
        button,
        count,
        modifiers,
    }
}

/// A text, with line ends as the Return key, or a secret by its name.
pub(crate) fn type_text(text: &str) -> Action<Target> {
    Action::TypeText {
        text: entered(text),
        control_characters: ControlCharacters::AsKeys,
    }
}

/// A time in seconds, as a model says it.
pub(crate) fn seconds(said: f64) -> Result<Duration, String> {
    Duration::try_from_secs_f64(said)
        .ok()
        .filter(|time| *time <= LONGEST)
        .ok_or_else(|| format!("A duration of {said} seconds is not possible: 0 to 300 are."))
}

/// Whether an action asks for no more than one may, in words for the model.
pub(crate) fn within_limits(action: Action<Target>) -> Result<Action<Target>, String> {
    match action.check_limits() {
        Ok(()) => Ok(action),
        Err(field) => Err(format!("{} {}.", field.field, field.description)),
    }
}

fn whole(coordinate: f64) -> i64 {
    // A coordinate of a picture: far within the range.
    coordinate.round() as i64
}
