//! What a clause means, as data. Every step prints as the plainest sentence that means it (`type "Alice" into the
//! text field "Name"`), and that sentence is understood as the same step again.

use std::fmt;
use std::time::Duration;

use motorium_proto::domain::action::{Button, Ordinal, Place, Text};
use motorium_proto::domain::element::ElementKind;
use motorium_proto::domain::key::Key;

use super::token::Span;
pub use super::words::Direction;
use crate::matcher::Relation;

/// A part of the goal that asks for one thing.
#[derive(Debug, Clone, PartialEq)]
pub struct Clause {
    /// Where it stands in the goal, in bytes.
    pub span: Span,
    /// Where its verb stands, if that is not in the span because several clauses share it (`select A, B and C`).
    pub verb: Option<Span>,
    pub step: Step,
    /// The language it is written in.
    pub language: Language,
    /// Set on the first of several things that were named together without quotes (`click Terms and Conditions`):
    /// they may be one name after all.
    pub joined: Option<Joined>,
}

impl Clause {
    /// Its own words, out of the goal that it was read from.
    #[must_use]
    pub fn words(&self, goal: &str) -> String {
        let said = goal[self.span.clone()].trim();
        match &self.verb {
            Some(verb) => format!("{}{said}", &goal[verb.clone()]),
            None => said.to_owned(),
        }
    }
}

/// Several names, read as one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Joined {
    pub aim: Aim,
    /// How many clauses, from this one on, it stands for.
    pub clauses: usize,
    /// Where all of them stand, with their verb.
    pub span: Span,
}

/// A language the phrasebook speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Language {
    #[default]
    English,
    Chinese,
}

/// A thing on the screen, as it was named.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Aim {
    /// What it says; `None` where it is named by its kind alone.
    pub text: Option<String>,
    /// Other readings of words that were not in quotes, the fullest first: what was taken for a kind or an ordinal
    /// may belong to the text (`Search button`, `First Name`).
    pub literals: Vec<String>,
    pub kind: Option<ElementKind>,
    pub place: Option<Place>,
    pub ordinal: Option<Ordinal>,
    /// Every such thing is meant.
    pub all: bool,
    /// Where it lies, seen from another thing.
    pub beside: Option<(Relation, Box<Aim>)>,
}

/// What is done with the text or the selection that has the keyboard.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Edit {
    Copy,
    Cut,
    Paste,
    SelectAll,
    Undo,
    Redo,
}

/// How far a scroll goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Extent {
    /// As far as one usually turns a wheel.
    Some,
    Notches(u32),
    Pixels(u32),
    /// Until nothing moves any more.
    End,
    UntilShown(String),
}

/// One thing to do.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    Click {
        /// `None`: where the pointer is.
        target: Option<Aim>,
        button: Button,
        count: u8,
        modifiers: Vec<Key>,
    },
    /// Tick a box, or take its tick away.
    Toggle {
        target: Aim,
        on: bool,
    },
    Hover {
        target: Aim,
    },
    /// Pick one entry of a list that may have to be opened.
    Choose {
        option: Aim,
        list: Aim,
    },
    Type {
        text: Text,
        /// `None`: where the keyboard's focus is.
        into: Option<Aim>,
        /// What was in the field is replaced.
        replace: bool,
    },
    Clear {
        field: Option<Aim>,
    },
    Press {
        keys: Vec<Key>,
        repeat: u32,
    },
    Hold {
        keys: Vec<Key>,
        /// `None` where the next click is meant.
        duration: Option<Duration>,
    },
    Scroll {
        direction: Direction,
        extent: Extent,
        inside: Option<Aim>,
    },
    Wait {
        duration: Duration,
    },
    /// Wait for a text to come or to go.
    Await {
        text: String,
        shown: bool,
        /// `None`: as long as usual.
        at_most: Option<Duration>,
    },
    Drag {
        from: Aim,
        to: Aim,
    },
    Edit {
        command: Edit,
        /// `None`: what has the focus.
        field: Option<Aim>,
    },
    /// Put this text on the clipboard and paste it.
    PasteText {
        text: Text,
        into: Option<Aim>,
    },
    OpenUrl {
        url: String,
    },
    Launch {
        name: String,
    },
    FocusWindow {
        title: String,
    },
    GoBack,
    GoForward,
    Refresh,
    /// Fail unless the text is (not) on the screen.
    Verify {
        text: String,
        shown: bool,
    },
}

impl Aim {
    /// A thing that says `text`.
    pub fn text(text: impl Into<String>) -> Self {
        Self {
            text: Some(text.into()),
            ..Self::default()
        }
    }

    /// The same thing, said to be of this kind unless it was said of which already.
    #[must_use]
    pub fn or_kind(mut self, kind: ElementKind) -> Self {
        self.kind = self.kind.or(Some(kind));
        self
    }

    /// Whether it was named by a kind alone.
    #[must_use]
    pub fn is_bare_kind(&self) -> bool {
        self.text.is_none()
            && self.ordinal.is_none()
            && !self.all
            && self.place.is_none()
            && self.beside.is_none()
    }
}

impl Step {
    /// The thing that the step is about, if it is about one.
    #[must_use]
    pub fn target(&self) -> Option<&Aim> {
        match self {
            Step::Click { target, .. } => target.as_ref(),
            Step::Toggle { target, .. } | Step::Hover { target } => Some(target),
            Step::Choose { option, .. } => Some(option),
            Step::Type { into, .. } | Step::PasteText { into, .. } => into.as_ref(),
            Step::Clear { field } | Step::Edit { field, .. } => field.as_ref(),
            Step::Scroll { inside, .. } => inside.as_ref(),
            Step::Drag { to, .. } => Some(to),
            _ => None,
        }
    }
}

/// Text between double quotes, so that the grammar reads it back.
struct Quoted<'a>(&'a str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\"", self.0.replace('"', "\\\""))
    }
}

impl fmt::Display for Direction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Direction::Up => "up",
            Direction::Down => "down",
            Direction::Left => "left",
            Direction::Right => "right",
        })
    }
}

/// The words for a relation.
fn relation_words(relation: Relation) -> &'static str {
    match relation {
        Relation::NextTo => "next to",
        Relation::LeftOf => "to the left of",
        Relation::RightOf => "to the right of",
        Relation::Above => "above",
        Relation::Below => "below",
        Relation::RowOf => "in the row of",
        Relation::Inside => "in",
    }
}

impl fmt::Display for Aim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut words: Vec<String> = Vec::new();
        if self.all {
            words.push("all".to_owned());
        } else if self.text.is_none() || self.ordinal.is_some() || self.kind.is_some() {
            words.push("the".to_owned());
        }
        match self.ordinal {
            Some(Ordinal::Nth(number)) => words.push(ordinal_digits(number)),
            Some(Ordinal::Last) => words.push("last".to_owned()),
            None => {}
        }
        if let Some(kind) = self.kind {
            words.push(kind.as_str().replace('_', " "));
        } else if self.text.is_none() {
            words.push("item".to_owned());
        }
        words.extend(self.text.as_deref().map(|text| Quoted(text).to_string()));
        if let Some((relation, other)) = &self.beside {
            words.push(format!("{} {other}", relation_words(*relation)));
        }
        words.extend(self.place.map(|place| format!("at the {place}")));
        f.write_str(&words.join(" "))
    }
}

fn ordinal_digits(number: u32) -> String {
    let suffix = match (number % 10, number % 100) {
        (1, tens) if tens != 11 => "st",
        (2, tens) if tens != 12 => "nd",
        (3, tens) if tens != 13 => "rd",
        _ => "th",
    };
    format!("{number}{suffix}")
}

/// A chord as one writes it: `ctrl+s`.
#[must_use]
pub fn chord(keys: &[Key]) -> String {
    keys.iter()
        .map(Key::to_string)
        .collect::<Vec<_>>()
        .join("+")
}

fn said(text: &Text) -> String {
    match text {
        Text::Literal(text) => Quoted(text).to_string(),
        Text::Secret(name) => format!("secret:{name}"),
    }
}

/// ` into the field`, if there is one.
fn into(field: Option<&Aim>) -> String {
    field
        .map(|field| format!(" into {field}"))
        .unwrap_or_default()
}

fn seconds(duration: Duration) -> String {
    format!("{} seconds", duration.as_secs_f64())
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Step::Click {
                target,
                button,
                count,
                modifiers,
            } => {
                f.write_str(click_verb(*button, *count))?;
                if let Some(target) = target {
                    write!(f, " {target}")?;
                }
                if modifiers.is_empty() {
                    Ok(())
                } else {
                    write!(f, " while holding {}", chord(modifiers))
                }
            }
            Step::Toggle { target, on } => {
                write!(f, "{} {target}", if *on { "check" } else { "uncheck" })
            }
            Step::Hover { target } => write!(f, "hover over {target}"),
            Step::Choose { option, list } => write!(f, "choose {option} from {list}"),
            Step::Type {
                text,
                into: Some(field),
                replace: true,
            } => write!(f, "fill {field} with {}", said(text)),
            Step::Type {
                text, into: field, ..
            } => write!(f, "type {}{}", said(text), into(field.as_ref())),
            Step::Clear { field: Some(field) } => write!(f, "clear {field}"),
            Step::Clear { field: None } => f.write_str("clear the field"),
            Step::Press { keys, repeat: 1 } => write!(f, "press {}", chord(keys)),
            Step::Press { keys, repeat } => write!(f, "press {} {repeat} times", chord(keys)),
            Step::Hold {
                keys,
                duration: None,
            } => write!(f, "hold {}", chord(keys)),
            Step::Hold {
                keys,
                duration: Some(duration),
            } => write!(f, "hold {} for {}", chord(keys), seconds(*duration)),
            Step::Scroll {
                direction,
                extent,
                inside,
            } => write_scroll(f, *direction, extent, inside.as_ref()),
            Step::Wait { duration } => write!(f, "wait {}", seconds(*duration)),
            Step::Await {
                text,
                shown,
                at_most,
            } => {
                let predicate = if *shown { "appears" } else { "disappears" };
                write!(f, "wait until {} {predicate}", Quoted(text))?;
                at_most.map_or(Ok(()), |bound| write!(f, " for up to {}", seconds(bound)))
            }
            Step::Drag { from, to } => write!(f, "drag {from} to {to}"),
            Step::Edit { command, field } => write_edit(f, *command, field.as_ref()),
            Step::PasteText { text, into: field } => {
                write!(f, "paste {}{}", said(text), into(field.as_ref()))
            }
            Step::OpenUrl { url } => write!(f, "open {url}"),
            Step::Launch { name } => write!(f, "launch {}", Quoted(name)),
            Step::FocusWindow { title } => write!(f, "switch to the window {}", Quoted(title)),
            Step::GoBack => f.write_str("go back"),
            Step::GoForward => f.write_str("go forward"),
            Step::Refresh => f.write_str("refresh"),
            Step::Verify { text, shown: true } => write!(f, "check that {} is shown", Quoted(text)),
            Step::Verify { text, shown: false } => {
                write!(f, "check that {} is not shown", Quoted(text))
            }
        }
    }
}

fn click_verb(button: Button, count: u8) -> &'static str {
    match (button, count) {
        (Button::Left, 2) => "double-click",
        (Button::Left, 3) => "triple-click",
        (Button::Left, _) => "click",
        (Button::Right, _) => "right-click",
        (Button::Middle, _) => "middle-click",
    }
}

fn write_scroll(
    f: &mut fmt::Formatter<'_>,
    direction: Direction,
    extent: &Extent,
    inside: Option<&Aim>,
) -> fmt::Result {
    write!(f, "scroll {direction}")?;
    if let Some(inside) = inside {
        write!(f, " in {inside}")?;
    }
    match (extent, direction) {
        (Extent::Some, _) => Ok(()),
        (Extent::Notches(number), _) => write!(f, " by {number} notches"),
        (Extent::Pixels(number), _) => write!(f, " by {number} pixels"),
        (Extent::End, Direction::Down) => f.write_str(" to the bottom"),
        (Extent::End, Direction::Up) => f.write_str(" to the top"),
        (Extent::End, Direction::Left) => f.write_str(" to the far left"),
        (Extent::End, Direction::Right) => f.write_str(" to the far right"),
        (Extent::UntilShown(text), _) => write!(f, " until {} appears", Quoted(text)),
    }
}

fn write_edit(f: &mut fmt::Formatter<'_>, command: Edit, field: Option<&Aim>) -> fmt::Result {
    let (verb, of_a_field) = match command {
        Edit::Copy => ("copy", "copy the text in"),
        Edit::Cut => ("cut", "cut the text in"),
        Edit::Paste => ("paste", "paste into"),
        Edit::SelectAll => ("select all", "select all in"),
        Edit::Undo => ("undo", "undo in"),
        Edit::Redo => ("redo", "redo in"),
    };
    match field {
        Some(field) => write!(f, "{of_a_field} {field}"),
        None => f.write_str(verb),
    }
}
