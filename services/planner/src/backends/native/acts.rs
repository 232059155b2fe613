//! From what a model says of its screenshot to actions of ours, each with words that say what it is for.

use std::time::Duration;

use motorium_imaging::space::denormalise;
use motorium_proto::domain::action::{
    Action, Button, ControlCharacters, ScrollAmount, Target, Text,
};
use motorium_proto::domain::decision::PlannedAction;
use motorium_proto::domain::element::{Element, Scene};
use motorium_proto::domain::geometry::{CapturePoint, CaptureSize};
use motorium_proto::domain::key::Key;
use motorium_proto::service::PlanRequest;

use crate::picture::{SaidPoint, SentPicture};

/// Longest part of a text that is shown to people in an intent.
const SHOWN: usize = 40;
/// Longest pause, and longest time for which a key is held.
const LONGEST: Duration = Duration::from_secs(300);

/// A screenshot that a model was sent, and what is on it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sight<'a> {
    view: SentPicture,
    scene: &'a Scene,
    frame: CaptureSize,
    cursor: Option<CapturePoint>,
}

impl<'a> Sight<'a> {
    pub(crate) fn new(view: SentPicture, request: &'a PlanRequest) -> Self {
        Self {
            view,
            scene: &request.scene,
            frame: request.frame.size,
            cursor: request.frame.cursor.map(|cursor| cursor.position),
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
            intent: self.intent(&action),
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

    fn intent(&self, action: &Action<Target>) -> String {
        match action {
            Action::Move { to } => format!("move the pointer to {}", self.place(to)),
            Action::Click {
                at,
                button,
                count,
                modifiers,
            } => {
                let held = held(modifiers);
                let verb = verb(*button, *count);
                format!("{held}{verb} {}", self.place_or_here(at.as_ref()))
            }
            Action::MouseDown { at, .. } => {
                format!("press the mouse button {}", self.place_or_here(at.as_ref()))
            }
            Action::MouseUp { at, .. } => {
                format!(
                    "release the mouse button {}",
                    self.place_or_here(at.as_ref())
                )
            }
            Action::Drag { path, .. } => match (path.first(), path.last()) {
                (Some(from), Some(to)) => {
                    format!("drag from {} to {}", self.place(from), self.place(to))
                }
                _ => "drag".to_owned(),
            },
            Action::Scroll { amount, .. } => format!("scroll {}", direction(*amount)),
            Action::TypeText {
                text: Text::Literal(text),
                ..
            } => format!("type \"{}\"", shortened(text)),
            Action::KeyChord { keys, .. } => format!("press {}", chord(keys)),
            Action::HoldKey { keys, .. } => format!("hold {}", chord(keys)),
            other => other.kind().as_str().replace('_', " "),
        }
    }

    fn place_or_here(&self, target: Option<&Target>) -> String {
        target.map_or_else(
            || "where the pointer is".to_owned(),
            |target| self.place(target),
        )
    }

    /// The text of the smallest element around a point, or the point.
    fn place(&self, target: &Target) -> String {
        let Target::Point(point) = target else {
            return "an element".to_owned();
        };
        let around = |element: &&Element| {
            !element.content.trim().is_empty()
                && denormalise(&element.bounds, self.frame).contains(*point)
        };
        let area = |element: &&Element| denormalise(&element.bounds, self.frame).area();
        match self.scene.elements.iter().filter(around).min_by_key(area) {
            Some(element) => format!("\"{}\"", shortened(element.content.trim())),
            None => format!("({}, {})", point.x, point.y),
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

/// A text, with line ends as the Return key.
pub(crate) fn type_text(text: &str) -> Action<Target> {
    Action::TypeText {
        text: Text::Literal(text.to_owned()),
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

fn verb(button: Button, count: u8) -> &'static str {
    match (button, count) {
        (Button::Left, 2) => "double-click",
        (Button::Left, 3) => "triple-click",
        (Button::Left, _) => "click",
        (Button::Right, _) => "right-click",
        (Button::Middle, _) => "middle-click",
    }
}

fn direction(amount: ScrollAmount) -> &'static str {
    let (ScrollAmount::Notches { x, y } | ScrollAmount::Pixels { x, y }) = amount;
    match (x.signum(), y.signum()) {
        (_, 1) => "down",
        (_, -1) => "up",
        (1, _) => "right",
        _ => "left",
    }
}

fn held(modifiers: &[Key]) -> String {
    if modifiers.is_empty() {
        return String::new();
    }
    format!("{}+", chord(modifiers))
}

fn chord(keys: &[Key]) -> String {
    let names: Vec<String> = keys.iter().map(ToString::to_string).collect();
    names.join("+")
}

fn shortened(text: &str) -> String {
    let line = text.replace('\n', " ");
    match line.char_indices().nth(SHOWN) {
        None => line,
        Some((end, _)) => format!("{}…", &line[..end]),
    }
}

fn whole(coordinate: f64) -> i64 {
    // A coordinate of a picture: far within the range.
    coordinate.round() as i64
}
