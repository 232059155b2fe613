//! Describes an action's purpose in a few words for the user, in the language of the task: `click "Save"`.
//!
//! A place is described by the text at it or by its part of the screen, never by coordinates: they mean nothing to the
//! user, and another model may use different units.

use motorium_imaging::marks::prompt;
use motorium_imaging::space::denormalise;
use motorium_messages::Message;
use motorium_phrasebook::target::part_name;
use motorium_proto::domain::action::{Action, Button, ScrollAmount, Target, Text};
use motorium_proto::domain::element::{Element, Scene};
use motorium_proto::domain::geometry::{CapturePoint, CaptureSize};
use motorium_proto::domain::key::Key;

use crate::prompt::Language;

/// Maximum length of a quoted text, in characters: the description has to fit one line.
const MAX_TEXT_CHARS: usize = 40;

/// Describes actions on one screen.
#[derive(Debug, Clone, Copy)]
pub(super) struct IntentDescriber<'a> {
    scene: &'a Scene,
    frame: CaptureSize,
    language: Language,
}

impl<'a> IntentDescriber<'a> {
    pub(super) fn new(scene: &'a Scene, frame: CaptureSize, language: Language) -> Self {
        Self {
            scene,
            frame,
            language,
        }
    }

    /// Returns the description of an action.
    pub(super) fn of(self, action: &Action<Target>) -> String {
        match action {
            Action::Move { to } => self.text(Message::IntentMove {
                place: &self.place(to),
            }),
            Action::Click {
                at,
                button,
                count,
                modifiers,
            } => self.click(at.as_ref(), *button, *count, modifiers),
            Action::MouseDown { at, .. } => self.text(Message::IntentMouseDown {
                place: &self.place_or_here(at.as_ref()),
            }),
            Action::MouseUp { at, .. } => self.text(Message::IntentMouseUp {
                place: &self.place_or_here(at.as_ref()),
            }),
            Action::Drag { path, .. } => match (path.first(), path.last()) {
                (Some(from), Some(to)) => self.text(Message::IntentDragTo {
                    from: &self.place(from),
                    to: &self.place(to),
                }),
                _ => self.text(Message::IntentDrag),
            },
            Action::Scroll { amount, .. } => self.text(Message::IntentScroll {
                direction: direction(*amount),
            }),
            Action::TypeText { text, .. } => self.text(Message::IntentType {
                text: &entered(text),
            }),
            Action::KeyChord { keys, .. } => self.text(Message::IntentPress { keys: &chord(keys) }),
            Action::HoldKey { keys, .. } => self.text(Message::IntentHold { keys: &chord(keys) }),
            // Their names are in the message.
            Action::Wait { .. }
            | Action::SetClipboard { .. }
            | Action::Paste { .. }
            | Action::OpenApplication { .. }
            | Action::OpenUrl { .. }
            | Action::FocusWindow { .. }
            | Action::GoToUrl { .. }
            | Action::GoBack
            | Action::GoForward
            | Action::Refresh => self.text(Message::IntentOther {
                // Keys of a choice in a Fluent text have hyphens.
                kind: &action.kind().as_str().replace('_', "-"),
            }),
        }
    }

    fn click(self, at: Option<&Target>, button: Button, count: u8, modifiers: &[Key]) -> String {
        let gesture = match (button, count) {
            (Button::Left, 2) => "double",
            (Button::Left, 3) => "triple",
            (Button::Left, _) => "single",
            (Button::Right, _) => "right",
            (Button::Middle, _) => "middle",
            (Button::Back, _) => "back",
            (Button::Forward, _) => "forward",
        };
        let action = self.text(Message::IntentClick {
            gesture,
            place: &self.place_or_here(at),
        });
        if modifiers.is_empty() {
            return action;
        }
        self.text(Message::IntentWhileHolding {
            keys: &chord(modifiers),
            action: &action,
        })
    }

    fn place_or_here(self, target: Option<&Target>) -> String {
        target.map_or_else(
            || self.text(Message::PlaceAtPointer),
            |target| self.place(target),
        )
    }

    fn text(self, message: Message<'_>) -> String {
        message.text(self.language)
    }

    /// Returns the text of the smallest element around a point, or the part of the screen.
    fn place(self, target: &Target) -> String {
        let Target::Point(point) = target else {
            return self.text(Message::PlaceElement);
        };
        let around = |element: &&Element| {
            !element.content.trim().is_empty()
                && denormalise(&element.bounds, self.frame).contains(*point)
        };
        let area = |element: &&Element| denormalise(&element.bounds, self.frame).area();
        match self.scene.elements.iter().filter(around).min_by_key(area) {
            Some(element) => format!("\"{}\"", shortened(element.content.trim())),
            None => self.part(*point),
        }
    }

    fn part(self, point: CapturePoint) -> String {
        let part = part_name(prompt::part_at(point, self.frame), self.language);
        self.text(Message::PlaceInPart { part: &part })
    }
}

/// Returns the direction in which content is scrolled.
fn direction(amount: ScrollAmount) -> &'static str {
    let (ScrollAmount::Notches { x, y } | ScrollAmount::Pixels { x, y }) = amount;
    match (x.signum(), y.signum()) {
        (_, 1) => "down",
        (_, -1) => "up",
        (1, _) => "right",
        _ => "left",
    }
}

fn entered(text: &Text) -> String {
    match text {
        Text::Literal(text) => format!("\"{}\"", shortened(text)),
        Text::Secret(name) => format!("secret:{name}"),
    }
}

fn chord(keys: &[Key]) -> String {
    let names: Vec<String> = keys.iter().map(ToString::to_string).collect();
    names.join("+")
}

fn shortened(text: &str) -> String {
    let line = text.replace('\n', " ");
    match line.char_indices().nth(MAX_TEXT_CHARS) {
        None => line,
        Some((end, _)) => format!("{}…", &line[..end]),
    }
}

#[cfg(test)]
mod tests {
    use motorium_proto::domain::id::FrameId;

    use super::*;

    #[test]
    fn intents_of_chinese_tasks_are_described_in_chinese() {
        let scene = Scene {
            frame: FrameId::new("f"),
            elements: Vec::new(),
            relations: Vec::new(),
        };
        let intents = IntentDescriber::new(&scene, CaptureSize::new(1000, 800), Language::Chinese);
        let at = |x, y| Some(Target::Point(CapturePoint::new(x, y)));
        let click = |button, count, modifiers| Action::Click {
            at: at(999, 400),
            button,
            count,
            modifiers,
        };
        let cases = [
            (click(Button::Left, 1, Vec::new()), "点击右侧的一点"),
            (click(Button::Left, 2, Vec::new()), "双击右侧的一点"),
            (
                click(Button::Left, 1, vec![Key::parse("keys", "shift").unwrap()]),
                "按住 shift 点击右侧的一点",
            ),
            (
                Action::MouseDown {
                    at: None,
                    button: Button::Left,
                },
                "在指针所在处按下鼠标键",
            ),
            (
                Action::Scroll {
                    at: at(5, 5),
                    amount: ScrollAmount::Notches { x: 0, y: -3 },
                    modifiers: Vec::new(),
                },
                "向上滚动",
            ),
        ];
        for (action, words) in cases {
            assert_eq!(intents.of(&action), words);
        }
    }
}
