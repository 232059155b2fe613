//! The closed list of input actions, and what they aim at.
//!
//! An action is generic in its target: a planner decides an `Action<Target>`, the orchestrator resolves it
//! against the scene, and only an `Action<CapturePoint>` can be performed. Decisions that are no input (done,
//! ask, call a function …) are not actions.

use std::fmt;
use std::time::Duration;

use super::element::ElementKind;
use super::geometry::CapturePoint;
use super::id::ElementId;
use super::key::Key;
use crate::error::FieldError;
use crate::limits::{MAX_CHORD, MAX_PATH, MAX_REPEAT, MAX_TEXT};

/// What an action aims at, before the orchestrator has resolved it.
#[derive(Debug, Clone, PartialEq)]
pub enum Target {
    Element(ElementId),
    Point(CapturePoint),
    Text(TextAnchor),
}

/// An element described by what it says: text, kind, place and order of appearance.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TextAnchor {
    /// The text to look for, compared tolerantly.
    pub text: String,
    pub kind: Option<ElementKind>,
    /// One of the nine places (`top left` … `bottom right`), if it matters.
    pub place: Option<Place>,
    /// 1 for the first match in reading order; `None` where the match must be the only or the best one.
    pub ordinal: Option<Ordinal>,
}

/// Which of several matches is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Ordinal {
    /// From 1, in reading order.
    Nth(u32),
    Last,
}

/// Declares [`Place`] with its words.
macro_rules! places {
    ($($variant:ident = $words:literal,)*) => {
        /// A ninth of the frame.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Place {
            $($variant,)*
        }

        impl Place {
            /// All nine, row by row.
            pub const ALL: &'static [Place] = &[$(Place::$variant,)*];

            /// The words of a prompt line.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Place::$variant => $words,)*
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

impl fmt::Display for Place {
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
}

/// Text to be entered. A secret is named here and resolved by the Executor alone.
#[derive(Clone, PartialEq, Eq, Hash)]
pub enum Text {
    Literal(String),
    Secret(String),
}

impl fmt::Debug for Text {
    // Literal text may be private: only its length is shown.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Text::Literal(text) => write!(f, "Literal({} characters)", text.chars().count()),
            Text::Secret(name) => write!(f, "Secret({name})"),
        }
    }
}

/// How newline and tab inside a text are entered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum ControlCharacters {
    /// As the Return and Tab keys.
    #[default]
    AsKeys,
    /// As characters of the text (pasted), so that they neither send a form nor move the focus.
    AsText,
}

/// How far to scroll.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ScrollAmount {
    /// Wheel clicks; positive is right and down.
    Notches { x: i32, y: i32 },
    /// Pixels of content; positive is right and down. Rounded to whole notches where the platform has no finer step.
    Pixels { x: i32, y: i32 },
}

/// Which window is meant.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum WindowSelector {
    Id(String),
    /// A part of the title, compared without case.
    Title(String),
    /// The application's class, compared without case.
    Application(String),
}

/// One thing a hand can do. `T` is what it aims at.
#[derive(Debug, Clone, PartialEq)]
pub enum Action<T> {
    Move {
        to: T,
    },
    Click {
        /// `None`: where the pointer is.
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
        /// At least two points; the button goes down at the first and up at the last.
        path: Vec<T>,
        button: Button,
        modifiers: Vec<Key>,
        /// How long the way takes; `None` leaves it to the Executor.
        duration: Option<Duration>,
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
        /// Pressed in this order, released in the reverse one.
        keys: Vec<Key>,
        /// How often the chord is struck, at least 1.
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
        /// Put on the clipboard first; `None` pastes what is there.
        text: Option<Text>,
    },
    OpenApplication {
        /// A name of the configured list.
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

/// The kinds of action, as the whitelist and the risk table name them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ActionKind {
    Move,
    Click,
    MouseDown,
    MouseUp,
    Drag,
    Scroll,
    TypeText,
    KeyChord,
    HoldKey,
    Wait,
    SetClipboard,
    Paste,
    OpenApplication,
    OpenUrl,
    FocusWindow,
    GoToUrl,
    GoBack,
    GoForward,
    Refresh,
}

impl ActionKind {
    /// Every kind there is.
    pub const ALL: &'static [ActionKind] = &[
        ActionKind::Move,
        ActionKind::Click,
        ActionKind::MouseDown,
        ActionKind::MouseUp,
        ActionKind::Drag,
        ActionKind::Scroll,
        ActionKind::TypeText,
        ActionKind::KeyChord,
        ActionKind::HoldKey,
        ActionKind::Wait,
        ActionKind::SetClipboard,
        ActionKind::Paste,
        ActionKind::OpenApplication,
        ActionKind::OpenUrl,
        ActionKind::FocusWindow,
        ActionKind::GoToUrl,
        ActionKind::GoBack,
        ActionKind::GoForward,
        ActionKind::Refresh,
    ];

    /// The name that configuration and events use.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            ActionKind::Move => "move",
            ActionKind::Click => "click",
            ActionKind::MouseDown => "mouse_down",
            ActionKind::MouseUp => "mouse_up",
            ActionKind::Drag => "drag",
            ActionKind::Scroll => "scroll",
            ActionKind::TypeText => "type_text",
            ActionKind::KeyChord => "key_chord",
            ActionKind::HoldKey => "hold_key",
            ActionKind::Wait => "wait",
            ActionKind::SetClipboard => "set_clipboard",
            ActionKind::Paste => "paste",
            ActionKind::OpenApplication => "open_application",
            ActionKind::OpenUrl => "open_url",
            ActionKind::FocusWindow => "focus_window",
            ActionKind::GoToUrl => "go_to_url",
            ActionKind::GoBack => "go_back",
            ActionKind::GoForward => "go_forward",
            ActionKind::Refresh => "refresh",
        }
    }

    /// The kind of that name.
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
        Text::Literal(text) => at_most("text", text.chars().count(), MAX_TEXT),
        Text::Secret(_) => Ok(()),
    }
}

fn at_most(field: &str, given: usize, most: usize) -> Result<(), FieldError> {
    if given <= most {
        return Ok(());
    }
    let problem = format!("asks for {given}, and at most {most} are allowed");
    Err(FieldError::new(field, problem))
}

impl<T> Action<T> {
    /// Whether it asks for no more than one action may: a text, a chord, its repetitions and a path have an end.
    ///
    /// # Errors
    /// Which field asks for too much.
    pub fn check_limits(&self) -> Result<(), FieldError> {
        match self {
            Self::Click { modifiers, .. } | Self::Scroll { modifiers, .. } => {
                at_most("modifiers", modifiers.len(), MAX_CHORD)
            }
            Self::Drag {
                path, modifiers, ..
            } => {
                at_most("path", path.len(), MAX_PATH)?;
                at_most("modifiers", modifiers.len(), MAX_CHORD)
            }
            Self::KeyChord { keys, repeat } => {
                at_most("keys", keys.len(), MAX_CHORD)?;
                at_most("repeat", *repeat as usize, MAX_REPEAT as usize)
            }
            Self::HoldKey { keys, .. } => at_most("keys", keys.len(), MAX_CHORD),
            Self::TypeText { text, .. }
            | Self::SetClipboard { text }
            | Self::Paste { text: Some(text) } => check_text(text),
            _ => Ok(()),
        }
    }

    /// The name of the secret that it enters, if it enters one.
    #[must_use]
    pub fn entered_secret(&self) -> Option<&str> {
        match self {
            Self::TypeText {
                text: Text::Secret(name),
                ..
            } => Some(name),
            _ => None,
        }
    }

    /// Which kind of action this is.
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

    /// The targets, in the order in which the pointer visits them.
    pub fn targets(&self) -> impl Iterator<Item = &T> {
        let (one, path): (Option<&T>, &[T]) = match self {
            Action::Move { to } => (Some(to), &[]),
            Action::Click { at, .. }
            | Action::MouseDown { at, .. }
            | Action::MouseUp { at, .. }
            | Action::Scroll { at, .. } => (at.as_ref(), &[]),
            Action::Drag { path, .. } => (None, path),
            _ => (None, &[]),
        };
        one.into_iter().chain(path)
    }

    /// The same action with every target replaced.
    ///
    /// # Errors
    /// The first error that `resolve` gives.
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
            } => {
                let path = path.into_iter().map(resolve).collect::<Result<_, _>>()?;
                Action::Drag {
                    path,
                    button,
                    modifiers,
                    duration,
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
