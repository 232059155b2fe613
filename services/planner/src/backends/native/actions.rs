//! Converts model coordinates into actions, each with a description of its purpose.
//!
//! It does not parse responses: each dialect does.

use std::time::Duration;

use motorium_proto::domain::action::{Action, Button, ControlCharacters, Target};
use motorium_proto::domain::decision::{Next, PlannedAction};
use motorium_proto::domain::element::Scene;
use motorium_proto::domain::geometry::{CapturePoint, CaptureSize};
use motorium_proto::domain::key::Key;
use motorium_proto::service::PlanRequest;
use serde::Deserialize;

use super::intent::IntentDescriber;
use super::turn::CallMeaning;
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
        let reported = ReportedPoint::new(x, y);
        let found = self.view.to_capture(reported);
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
        let reported = self.view.to_reported(self.cursor?).ok()?;
        Some((whole(reported.x), whole(reported.y)))
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

/// Returns the actions that type a text, after a click on the place that it goes to, if one is given.
pub(crate) fn type_into(at: Option<Target>, text: &str) -> Vec<Action<Target>> {
    let focus = at.map(|at| click(Some(at), Button::Left, 1, Vec::new()));
    focus.into_iter().chain([type_text(text)]).collect()
}

/// Returns the end of the task that a model declares as an action, as tools of other providers have it.
pub(crate) fn ending(action: &str, status: Option<&str>, text: Option<&str>) -> CallMeaning {
    let text = text.unwrap_or_default().trim().to_owned();
    let succeeds = match status.map(|status| status.trim().to_lowercase()).as_deref() {
        _ if action == "done" => true,
        _ if action == "fail" => false,
        Some("success") => true,
        Some("failure" | "fail") => false,
        _ => {
            return CallMeaning::Invalid(
                "terminate needs a status: success or failure.".to_owned(),
            );
        }
    };
    match succeeds {
        true => CallMeaning::Next(Next::Done {
            answer: text,
            evidence: Vec::new(),
        }),
        false if text.is_empty() => {
            CallMeaning::Invalid(format!("{action} needs a text that says why."))
        }
        false => CallMeaning::Next(Next::Fail { reason: text }),
    }
}

/// Names of keys: a list, or one text.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub(crate) enum KeyNames {
    List(Vec<String>),
    One(String),
}

impl KeyNames {
    /// Returns the names.
    pub(crate) fn names(&self) -> Vec<&str> {
        match self {
            KeyNames::List(names) => names.iter().map(String::as_str).collect(),
            KeyNames::One(name) => vec![name],
        }
    }

    /// Returns the names as one chord.
    pub(crate) fn chord(&self) -> String {
        self.names().join("+")
    }
}

/// Parses a duration in seconds.
pub(crate) fn seconds(value: f64) -> Result<Duration, String> {
    Duration::try_from_secs_f64(value)
        .ok()
        .filter(|time| *time <= MAX_DURATION)
        .ok_or_else(|| format!("A duration of {value} seconds is not possible: 0 to 300 are."))
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
