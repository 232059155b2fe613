//! Describes an action's purpose in a few words for the user, in the language of the task: `click "Save"`.
//!
//! A place is described by the text at it or by its part of the screen, never by coordinates: they mean nothing to the
//! user, and another model may use different units.

use motorium_imaging::marks::prompt;
use motorium_imaging::space::{denormalise, normalise};
use motorium_proto::domain::action::{Action, Button, Place, ScrollAmount, Target, Text};
use motorium_proto::domain::element::{Element, Scene};
use motorium_proto::domain::geometry::{CapturePoint, CaptureRect, CaptureSize};
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
        match self.language {
            Language::English => self.english(action),
            Language::Chinese => self.chinese(action),
        }
    }

    fn english(self, action: &Action<Target>) -> String {
        match action {
            Action::Move { to } => format!("move the pointer to {}", self.place(to)),
            Action::Click {
                at,
                button,
                count,
                modifiers,
            } => {
                let verb = match (button, count) {
                    (Button::Left, 2) => "double-click",
                    (Button::Left, 3) => "triple-click",
                    (Button::Left, _) => "click",
                    (Button::Right, _) => "right-click",
                    (Button::Middle, _) => "middle-click",
                    (Button::Back, _) => "click with the back button",
                    (Button::Forward, _) => "click with the forward button",
                };
                let held = match modifiers.as_slice() {
                    [] => String::new(),
                    keys => format!("{}+", chord(keys)),
                };
                format!("{held}{verb} {}", self.place_or_here(at.as_ref()))
            }
            Action::MouseDown { at, .. } => {
                format!("press the mouse button {}", self.place_or_here(at.as_ref()))
            }
            Action::MouseUp { at, .. } => {
                let place = self.place_or_here(at.as_ref());
                format!("release the mouse button {place}")
            }
            Action::Drag { path, .. } => match (path.first(), path.last()) {
                (Some(from), Some(to)) => {
                    format!("drag from {} to {}", self.place(from), self.place(to))
                }
                _ => "drag".to_owned(),
            },
            Action::Scroll { amount, .. } => format!("scroll {}", direction(*amount).0),
            Action::TypeText { text, .. } => format!("type {}", entered(text)),
            Action::KeyChord { keys, .. } => format!("press {}", chord(keys)),
            Action::HoldKey { keys, .. } => format!("hold {}", chord(keys)),
            other => other.kind().as_str().replace('_', " "),
        }
    }

    fn chinese(self, action: &Action<Target>) -> String {
        match action {
            Action::Move { to } => format!("把指针移到{}", self.place(to)),
            Action::Click {
                at,
                button,
                count,
                modifiers,
            } => {
                let verb = match (button, count) {
                    (Button::Left, 2) => "双击",
                    (Button::Left, 3) => "三击",
                    (Button::Left, _) => "点击",
                    (Button::Right, _) => "右键点击",
                    (Button::Middle, _) => "中键点击",
                    (Button::Back, _) => "用后退侧键点击",
                    (Button::Forward, _) => "用前进侧键点击",
                };
                let held = match modifiers.as_slice() {
                    [] => String::new(),
                    keys => format!("按住 {} ", chord(keys)),
                };
                format!("{held}{verb}{}", self.place_or_here(at.as_ref()))
            }
            Action::MouseDown { at, .. } => {
                format!("在{}按下鼠标键", self.place_or_here(at.as_ref()))
            }
            Action::MouseUp { at, .. } => {
                format!("在{}松开鼠标键", self.place_or_here(at.as_ref()))
            }
            Action::Drag { path, .. } => match (path.first(), path.last()) {
                (Some(from), Some(to)) => {
                    format!("从{}拖到{}", self.place(from), self.place(to))
                }
                _ => "拖动".to_owned(),
            },
            Action::Scroll { amount, .. } => format!("{}滚动", direction(*amount).1),
            Action::TypeText { text, .. } => format!("输入{}", entered(text)),
            Action::KeyChord { keys, .. } => format!("按 {}", chord(keys)),
            Action::HoldKey { keys, .. } => format!("按住 {}", chord(keys)),
            Action::Wait { .. } => "等待".to_owned(),
            Action::GoBack => "后退".to_owned(),
            Action::GoForward => "前进".to_owned(),
            other => other.kind().as_str().replace('_', " "),
        }
    }

    fn place_or_here(self, target: Option<&Target>) -> String {
        let here = match self.language {
            Language::English => "where the pointer is",
            Language::Chinese => "指针所在处",
        };
        target.map_or_else(|| here.to_owned(), |target| self.place(target))
    }

    /// Returns the text of the smallest element around a point, or the part of the screen.
    fn place(self, target: &Target) -> String {
        let Target::Point(point) = target else {
            return match self.language {
                Language::English => "an element".to_owned(),
                Language::Chinese => "一个元素".to_owned(),
            };
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
        let at = normalise(CaptureRect::new(point, point), self.frame);
        let place = prompt::place(&at);
        match self.language {
            Language::English => format!("a point at the {place}"),
            Language::Chinese => format!("{}的一点", chinese(place)),
        }
    }
}

fn chinese(place: Place) -> &'static str {
    match place {
        Place::TopLeft => "左上",
        Place::Top => "上方",
        Place::TopRight => "右上",
        Place::Left => "左侧",
        Place::Centre => "中间",
        Place::Right => "右侧",
        Place::BottomLeft => "左下",
        Place::Bottom => "下方",
        Place::BottomRight => "右下",
    }
}

/// Returns the scroll direction in English and Chinese.
fn direction(amount: ScrollAmount) -> (&'static str, &'static str) {
    let (ScrollAmount::Notches { x, y } | ScrollAmount::Pixels { x, y }) = amount;
    match (x.signum(), y.signum()) {
        (_, 1) => ("down", "向下"),
        (_, -1) => ("up", "向上"),
        (1, _) => ("right", "向右"),
        _ => ("left", "向左"),
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
    fn people_are_spoken_to_in_chinese_where_the_task_is() {
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
