//! The closed list of input actions, and their targets.
//!
//! An action is generic in its target: a planner decides an `Action<Target>`, the orchestrator resolves it against the
//! scene, and only an `Action<CapturePoint>` can be performed. Decisions without input (done, ask, call a function …)
//! are not actions.

use std::fmt;
use std::time::Duration;

use super::element::ElementKind;
use super::geometry::CapturePoint;
use super::id::ElementId;
use super::key::Key;
use crate::field_error::FieldError;
use crate::limits::{MAX_CHORD_KEYS, MAX_CHORD_REPEATS, MAX_DRAG_POINTS, MAX_TEXT_CHARS};

/// Target of an action, before the orchestrator has resolved it.
#[derive(Debug, Clone, PartialEq)]
pub enum Target {
    Element(ElementId),
    Point(CapturePoint),
    Text(TextAnchor),
}

/// An element described by its text, kind, position and order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TextAnchor {
    /// Text of the element, matched tolerantly.
    pub text: String,
    pub kind: Option<ElementKind>,
    /// Part of the frame to search (`top left` … `bottom right`); `None` for the whole frame.
    pub place: Option<FramePart>,
    /// Index among several matches; `None` for the only or best match.
    pub ordinal: Option<Ordinal>,
}

/// Index among several matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Ordinal {
    /// Number in reading order, starting at 1.
    Nth(u32),
    Last,
}

/// Declares [`FramePart`] with its names.
macro_rules! places {
    ($($variant:ident = $words:literal,)*) => {
        /// One of the nine equal parts of a frame.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum FramePart {
            $($variant,)*
        }

        impl FramePart {
            /// All nine parts, row by row.
            pub const ALL: &'static [FramePart] = &[$(FramePart::$variant,)*];

            /// Returns the name used in prompt lines.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self {
                    $(FramePart::$variant => $words,)*
                }
            }
        }
    };
}

places! {
    TopLeft = "top left",
    Top = "top",
    TopRight = "top right",
    Left = "left",
    Centre = "centre",
    Right = "right",
    BottomLeft = "bottom left",
    Bottom = "bottom",
    BottomRight = "bottom right",
}

impl fmt::Display for FramePart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A mouse button.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Button {
    #[default]
    Left,
    Right,
    Middle,
    /// The back button at the side of the mouse.
    Back,
    /// The forward button at the side of the mouse.
    Forward,
}

/// Text to enter. Only the Executor resolves the name of a secret.
#[derive(Clone, PartialEq, Eq, Hash)]
pub enum Text {
    Literal(String),
    Secret(String),
}

impl fmt::Debug for Text {
    // Shows only the length, because the text may be private.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Text::Literal(text) => write!(f, "Literal({} characters)", text.chars().count()),
            Text::Secret(name) => write!(f, "Secret({name})"),
        }
    }
}

/// A text of an action, by the way in which the Executor passes it on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ActionText<'a> {
    /// Typed with keys.
    Typed(&'a Text),
    /// Put on the clipboard and pasted.
    Pasted(&'a Text),
    /// Put on the clipboard only.
    Copied(&'a Text),
}

impl<'a> ActionText<'a> {
    /// Returns the text.
    #[must_use]
    pub fn text(self) -> &'a Text {
        let (Self::Typed(text) | Self::Pasted(text) | Self::Copied(text)) = self;
        text
    }
}

/// Handling of newline and tab characters in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum ControlCharacters {
    /// Press the Return and Tab keys.
    #[default]
    AsKeys,
    /// Insert the characters as text (pasted), so that they neither submit a form nor move the focus.
    AsText,
    /// Insert a text of several lines, except in a terminal and with a driver without a clipboard; otherwise press keys.
    ByWindow,
}

/// Amount to scroll. Positive is right and down.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ScrollAmount {
    /// Notches of a mouse wheel.
    Notches { x: i32, y: i32 },
    /// Pixels of content, rounded to whole notches where the platform has no finer step.
    Pixels { x: i32, y: i32 },
}

/// Selector of a window.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum WindowSelector {
    Id(String),
    /// Part of the title, case-insensitive.
    Title(String),
    /// Class of the application, case-insensitive.
    Application(String),
}

/// An input action with targets of type `T`.
#[derive(Debug, Clone, PartialEq)]
pub enum Action<T> {
    Move {
        to: T,
    },
    Click {
        /// `None` for the current pointer position.
        at: Option<T>,
        button: Button,
        /// 1, 2 or 3.
        count: u8,
        modifiers: Vec<Key>,
    },
    MouseDown {
        at: Option<T>,
        button: Button,
    },
    MouseUp {
        at: Option<T>,
        button: Button,
    },
    Drag {
        /// At least two points. The button is pressed at the first and released at the last.
        path: Vec<T>,
        button: Button,
        modifiers: Vec<Key>,
        /// Duration of the movement; `None` lets the Executor choose.
        duration: Option<Duration>,
        /// Time for which the button is held before the pointer moves; `None` lets the Executor choose.
        hold: Option<Duration>,
    },
    Scroll {
        at: Option<T>,
        amount: ScrollAmount,
        modifiers: Vec<Key>,
    },
    TypeText {
        text: Text,
        control_characters: ControlCharacters,
    },
    KeyChord {
        /// Pressed in this order, released in reverse order.
        keys: Vec<Key>,
        /// Number of repetitions, at least 1.
        repeat: u32,
    },
    HoldKey {
        keys: Vec<Key>,
        duration: Duration,
    },
    Wait {
        duration: Duration,
    },
    SetClipboard {
        text: Text,
    },
    Paste {
        /// Text to put on the clipboard first; `None` pastes its current content.
        text: Option<Text>,
    },
    OpenApplication {
        /// Name of a configured application.
        name: String,
    },
    OpenUrl {
        url: String,
    },
    FocusWindow {
        window: WindowSelector,
    },
    GoToUrl {
        url: String,
    },
    GoBack,
    GoForward,
    Refresh,
}

/// Parts of an action that several kinds have, so that one match says which kind has which.
struct ActionParts<'a, T> {
    target: Option<&'a T>,
    /// Points of a drag.
    path: &'a [T],
    button: Option<Button>,
    keys: &'a [Key],
    text: Option<ActionText<'a>>,
}

/// Declares [`ActionKind`] with its names, so that a new kind is in every list of kinds.
macro_rules! action_kinds {
    ($($variant:ident = $name:literal,)*) => {
        /// Kinds of action, as named in the allow list and the risk table.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum ActionKind {
            $($variant,)*
        }

        impl ActionKind {
            /// All kinds.
            pub const ALL: &'static [ActionKind] = &[$(ActionKind::$variant,)*];

            /// Returns the name used in the configuration and in events.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self {
                    $(ActionKind::$variant => $name,)*
                }
            }
        }
    };
}

action_kinds! {
    Move = "move",
    Click = "click",
    MouseDown = "mouse_down",
    MouseUp = "mouse_up",
    Drag = "drag",
    Scroll = "scroll",
    TypeText = "type_text",
    KeyChord = "key_chord",
    HoldKey = "hold_key",
    Wait = "wait",
    SetClipboard = "set_clipboard",
    Paste = "paste",
    OpenApplication = "open_application",
    OpenUrl = "open_url",
    FocusWindow = "focus_window",
    GoToUrl = "go_to_url",
    GoBack = "go_back",
    GoForward = "go_forward",
    Refresh = "refresh",
}

impl ActionKind {
    /// Returns the kind with this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|kind| kind.as_str() == name)
    }
}

impl fmt::Display for ActionKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

fn check_text(text: &Text) -> Result<(), FieldError> {
    match text {
        Text::Literal(text) => check_max("text", text.chars().count(), MAX_TEXT_CHARS),
        Text::Secret(_) => Ok(()),
    }
}

fn check_max(field: &str, given: usize, max: usize) -> Result<(), FieldError> {
    if given <= max {
        return Ok(());
    }
    let problem = format!("{given} exceeds the maximum of {max}");
    Err(FieldError::new(field, problem))
}

impl<T> Action<T> {
    /// Checks the lengths of texts, chords and paths, and the number of repetitions.
    ///
    /// # Errors
    /// If a limit is exceeded; the error names the field.
    pub fn check_limits(&self) -> Result<(), FieldError> {
        match self {
            Self::Click { modifiers, .. } | Self::Scroll { modifiers, .. } => {
                check_max("modifiers", modifiers.len(), MAX_CHORD_KEYS)
            }
            Self::Drag {
                path, modifiers, ..
            } => {
                check_max("path", path.len(), MAX_DRAG_POINTS)?;
                check_max("modifiers", modifiers.len(), MAX_CHORD_KEYS)
            }
            Self::KeyChord { keys, repeat } => {
                check_max("keys", keys.len(), MAX_CHORD_KEYS)?;
                check_max("repeat", *repeat as usize, MAX_CHORD_REPEATS as usize)
            }
            Self::HoldKey { keys, .. } => check_max("keys", keys.len(), MAX_CHORD_KEYS),
            Self::TypeText { text, .. }
            | Self::SetClipboard { text }
            | Self::Paste { text: Some(text) } => check_text(text),
            Self::Move { .. }
            | Self::MouseDown { .. }
            | Self::MouseUp { .. }
            | Self::Wait { .. }
            | Self::Paste { text: None }
            | Self::OpenApplication { .. }
            | Self::OpenUrl { .. }
            | Self::FocusWindow { .. }
            | Self::GoToUrl { .. }
            | Self::GoBack
            | Self::GoForward
            | Self::Refresh => Ok(()),
        }
    }

    /// Returns whether the action may be sent again after it had no effect.
    ///
    /// A single plain click that comes twice does little harm. A double click, a click with a modifier or with another button
    /// opens, selects or pastes once more; keys, text and drags act twice.
    #[must_use]
    pub fn is_repeatable(&self) -> bool {
        match self {
            Self::Click {
                button,
                count,
                modifiers,
                ..
            } => *button == Button::Left && *count == 1 && modifiers.is_empty(),
            Self::Move { .. } | Self::Scroll { .. } | Self::Wait { .. } => true,
            Self::MouseDown { .. }
            | Self::MouseUp { .. }
            | Self::Drag { .. }
            | Self::TypeText { .. }
            | Self::KeyChord { .. }
            | Self::HoldKey { .. }
            | Self::SetClipboard { .. }
            | Self::Paste { .. }
            | Self::OpenApplication { .. }
            | Self::OpenUrl { .. }
            | Self::FocusWindow { .. }
            | Self::GoToUrl { .. }
            | Self::GoBack
            | Self::GoForward
            | Self::Refresh => false,
        }
    }

    /// Returns the text of the action, if it has one. Names, URLs and keys are not texts.
    #[must_use]
    pub fn text(&self) -> Option<ActionText<'_>> {
        self.parts().text
    }

    /// Returns the text that the action types or pastes; `None` for a secret.
    #[must_use]
    pub fn entered_text(&self) -> Option<&str> {
        match self.text()? {
            ActionText::Typed(Text::Literal(text)) | ActionText::Pasted(Text::Literal(text)) => {
                Some(text)
            }
            ActionText::Typed(Text::Secret(_))
            | ActionText::Pasted(Text::Secret(_))
            | ActionText::Copied(_) => None,
        }
    }

    /// Returns the address that the action has a browser open. In a browser, an entered text counts as well if it may be one: a
    /// single word with a full stop or a colon.
    #[must_use]
    pub fn opened_address(&self, in_browser: bool) -> Option<&str> {
        match self {
            Self::OpenUrl { url } | Self::GoToUrl { url } => Some(url),
            _ => self.entered_text().map(str::trim).filter(|text| {
                in_browser && text.contains(['.', ':']) && !text.contains(char::is_whitespace)
            }),
        }
    }

    /// Returns the name of the secret that the action types, if any.
    #[must_use]
    pub fn entered_secret(&self) -> Option<&str> {
        match self.text()? {
            ActionText::Typed(Text::Secret(name)) => Some(name),
            ActionText::Typed(Text::Literal(_)) | ActionText::Pasted(_) | ActionText::Copied(_) => {
                None
            }
        }
    }

    /// Returns the keys that the action presses, without the modifiers of a click, drag or scroll; empty for other actions.
    #[must_use]
    pub fn keys(&self) -> &[Key] {
        self.parts().keys
    }

    /// Returns the mouse button that the action presses or releases, if any.
    #[must_use]
    pub fn button(&self) -> Option<Button> {
        self.parts().button
    }

    /// Returns the kind of the action.
    #[must_use]
    pub fn kind(&self) -> ActionKind {
        match self {
            Action::Move { .. } => ActionKind::Move,
            Action::Click { .. } => ActionKind::Click,
            Action::MouseDown { .. } => ActionKind::MouseDown,
            Action::MouseUp { .. } => ActionKind::MouseUp,
            Action::Drag { .. } => ActionKind::Drag,
            Action::Scroll { .. } => ActionKind::Scroll,
            Action::TypeText { .. } => ActionKind::TypeText,
            Action::KeyChord { .. } => ActionKind::KeyChord,
            Action::HoldKey { .. } => ActionKind::HoldKey,
            Action::Wait { .. } => ActionKind::Wait,
            Action::SetClipboard { .. } => ActionKind::SetClipboard,
            Action::Paste { .. } => ActionKind::Paste,
            Action::OpenApplication { .. } => ActionKind::OpenApplication,
            Action::OpenUrl { .. } => ActionKind::OpenUrl,
            Action::FocusWindow { .. } => ActionKind::FocusWindow,
            Action::GoToUrl { .. } => ActionKind::GoToUrl,
            Action::GoBack => ActionKind::GoBack,
            Action::GoForward => ActionKind::GoForward,
            Action::Refresh => ActionKind::Refresh,
        }
    }

    /// Returns the targets, in the order in which the pointer visits them.
    pub fn targets(&self) -> impl Iterator<Item = &T> {
        let ActionParts { target, path, .. } = self.parts();
        target.into_iter().chain(path)
    }

    /// Returns the first of several targets, such as the start of a drag; `None` for an action with one target or none.
    pub fn start(&self) -> Option<&T> {
        let mut targets = self.targets();
        let first = targets.next();
        targets.next().and(first)
    }

    fn parts(&self) -> ActionParts<'_, T> {
        let none = ActionParts {
            target: None,
            path: &[],
            button: None,
            keys: &[],
            text: None,
        };
        match self {
            Self::Move { to } => ActionParts {
                target: Some(to),
                ..none
            },
            Self::Click { at, button, .. }
            | Self::MouseDown { at, button }
            | Self::MouseUp { at, button } => ActionParts {
                target: at.as_ref(),
                button: Some(*button),
                ..none
            },
            Self::Drag { path, button, .. } => ActionParts {
                path,
                button: Some(*button),
                ..none
            },
            Self::Scroll { at, .. } => ActionParts {
                target: at.as_ref(),
                ..none
            },
            Self::KeyChord { keys, .. } | Self::HoldKey { keys, .. } => {
                ActionParts { keys, ..none }
            }
            Self::TypeText { text, .. } => ActionParts {
                text: Some(ActionText::Typed(text)),
                ..none
            },
            Self::Paste { text } => ActionParts {
                text: text.as_ref().map(ActionText::Pasted),
                ..none
            },
            Self::SetClipboard { text } => ActionParts {
                text: Some(ActionText::Copied(text)),
                ..none
            },
            Self::Wait { .. }
            | Self::OpenApplication { .. }
            | Self::OpenUrl { .. }
            | Self::FocusWindow { .. }
            | Self::GoToUrl { .. }
            | Self::GoBack
            | Self::GoForward
            | Self::Refresh => none,
        }
    }

    /// Maps every target.
    ///
    /// # Errors
    /// The first error of `resolve`.
    pub fn try_map<U, E>(self, mut resolve: impl FnMut(T) -> Result<U, E>) -> Result<Action<U>, E> {
        Ok(match self {
            Action::Move { to } => Action::Move { to: resolve(to)? },
            Action::Click {
                at,
                button,
                count,
                modifiers,
            } => Action::Click {
                at: at.map(resolve).transpose()?,
                button,
                count,
                modifiers,
            },
            Action::MouseDown { at, button } => Action::MouseDown {
                at: at.map(resolve).transpose()?,
                button,
            },
            Action::MouseUp { at, button } => Action::MouseUp {
                at: at.map(resolve).transpose()?,
                button,
            },
            Action::Drag {
                path,
                button,
                modifiers,
                duration,
                hold,
            } => {
                let path = path.into_iter().map(resolve).collect::<Result<_, _>>()?;
                Action::Drag {
                    path,
                    button,
                    modifiers,
                    duration,
                    hold,
                }
            }
            Action::Scroll {
                at,
                amount,
                modifiers,
            } => Action::Scroll {
                at: at.map(resolve).transpose()?,
                amount,
                modifiers,
            },
            Action::TypeText {
                text,
                control_characters,
            } => Action::TypeText {
                text,
                control_characters,
            },
            Action::KeyChord { keys, repeat } => Action::KeyChord { keys, repeat },
            Action::HoldKey { keys, duration } => Action::HoldKey { keys, duration },
            Action::Wait { duration } => Action::Wait { duration },
            Action::SetClipboard { text } => Action::SetClipboard { text },
            Action::Paste { text } => Action::Paste { text },
            Action::OpenApplication { name } => Action::OpenApplication { name },
            Action::OpenUrl { url } => Action::OpenUrl { url },
            Action::FocusWindow { window } => Action::FocusWindow { window },
            Action::GoToUrl { url } => Action::GoToUrl { url },
            Action::GoBack => Action::GoBack,
            Action::GoForward => Action::GoForward,
            Action::Refresh => Action::Refresh,
        })
    }
}
