//! Converts model coordinates into actions, each with a description of its purpose.

use std::time::Duration;

use motorium_proto::domain::action::{Action, Button, ControlCharacters, Target};
use motorium_proto::domain::decision::PlannedAction;
use motorium_proto::domain::element::Scene;
use motorium_proto::domain::geometry::{CapturePoint, CaptureSize};
use motorium_proto::domain::key::Key;
use motorium_proto::service::PlanRequest;

use super::intent::IntentDescriber;
use crate::prompt::Language;
use crate::response::model_actions::parse_text;
use crate::screenshot::{ReportedPoint, SentImage};

/// Maximum duration of a wait or a held key: bounds how long one call can block a step.
const MAX_DURATION: Duration = Duration::from_secs(300);

/// The screenshot that a model was sent, and the elements on it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ScreenshotContext<'a> {
    view: SentImage,
    scene: &'a Scene,
    frame: CaptureSize,
    cursor: Option<CapturePoint>,
    /// Language of texts for the user.
    language: Language,
}

impl<'a> ScreenshotContext<'a> {
    pub(crate) fn new(view: SentImage, request: &'a PlanRequest) -> Self {
        Self {
            view,
            scene: &request.scene,
            frame: request.frame.size,
            cursor: request.frame.cursor.map(|cursor| cursor.position),
            language: Language::of(request.language.as_deref(), &request.goal),
        }
    }

    /// Converts a point into a frame pixel. A point outside the screenshot is an error; it is not clamped.
    pub(crate) fn point(&self, x: f64, y: f64) -> Result<CapturePoint, String> {
        let said = ReportedPoint::new(x, y);
        let found = self.view.to_capture(said);
        found.map_err(|off| format!("Coordinate outside the screen: {off}."))
    }

    pub(crate) fn target(&self, [x, y]: [f64; 2]) -> Result<Target, String> {
        self.point(x, y).map(Target::Point)
    }

    /// Converts a region into frame pixels: left, top, right, bottom.
    pub(crate) fn region(&self, [x1, y1, x2, y2]: [f64; 4]) -> Result<[i32; 4], String> {
        let area = self
            .view
            .area(ReportedPoint::new(x1, y1), ReportedPoint::new(x2, y2));
        let area = area.map_err(|off| format!("Region outside the screen: {off}."))?;
        Ok([area.min.x, area.min.y, area.max.x, area.max.y])
    }

    /// Returns the position of the mouse cursor.
    pub(crate) fn cursor(&self) -> Option<Target> {
        self.cursor.map(Target::Point)
    }

    /// Returns the cursor position in the model's coordinates.
    pub(crate) fn cursor_reported(&self) -> Option<(i64, i64)> {
        let said = self.view.to_reported(self.cursor?).ok()?;
        Some((whole(said.x), whole(said.y)))
    }

    /// Returns the action with a description of its purpose.
    pub(crate) fn planned(&self, action: Action<Target>) -> PlannedAction {
        PlannedAction {
            intent: IntentDescriber::new(self.scene, self.frame, self.language).of(&action),
            verify_pointer: false,
            repeatable: action.is_repeatable(),
            action,
        }
    }
}

/// A click action.
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

/// An action that types text, with line breaks as the Return key, or a secret by its name.
pub(crate) fn type_text(text: &str) -> Action<Target> {
    Action::TypeText {
        text: parse_text(text),
        control_characters: ControlCharacters::AsKeys,
    }
}

/// Parses a duration in seconds.
pub(crate) fn seconds(said: f64) -> Result<Duration, String> {
    Duration::try_from_secs_f64(said)
        .ok()
        .filter(|time| *time <= MAX_DURATION)
        .ok_or_else(|| format!("A duration of {said} seconds is not possible: 0 to 300 are."))
}

/// Checks the action's limits; the error is a message for the model.
pub(crate) fn within_limits(action: Action<Target>) -> Result<Action<Target>, String> {
    match action.check_limits() {
        Ok(()) => Ok(action),
        Err(field) => Err(format!("{} {}.", field.field, field.description)),
    }
}

fn whole(coordinate: f64) -> i64 {
    // Lossless: image coordinates are far within the range.
    coordinate.round() as i64
}
