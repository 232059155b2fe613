//! The instruction that a clause gives, as data. Every instruction prints as a canonical sentence (`type "Alice" into the
//! text field "Name"`) that parses to the same instruction.
//!
//! It does not know the screen: the matcher finds the targets.

use std::fmt;
use std::time::Duration;

use motorium_messages::Language;
use motorium_proto::domain::action::{Button, FramePart, Ordinal, Text};
use motorium_proto::domain::element::ElementKind;
use motorium_proto::domain::key::Key;

use super::token::Span;
pub use super::vocabulary::Direction;
use crate::matcher::Relation;

/// A part of the goal that gives one instruction.
#[derive(Debug, Clone, PartialEq)]
pub struct Clause {
    /// Byte range within the goal.
    pub span: Span,
    /// Byte range of the verb if several clauses share it and it is outside the span (`select A, B and C`).
    pub verb: Option<Span>,
    pub instruction: Instruction,
    /// Language of the clause.
    pub language: Language,
    /// Alternative reading as one name, set on the first of several targets that were joined without quotes
    /// (`click Terms and Conditions`).
    pub joined: Option<JoinedName>,
}

impl Clause {
    /// Returns the words of the clause, given the goal that it was parsed from.
    #[must_use]
    pub fn words(&self, goal: &str) -> String {
        let words = goal[self.span.clone()].trim();
        match &self.verb {
            Some(verb) => format!("{}{words}", &goal[verb.clone()]),
            None => words.to_owned(),
        }
    }
}

/// Several targets, read as one name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JoinedName {
    pub target: TargetPhrase,
    /// Number of clauses, from this one on, that it replaces.
    pub clause_count: usize,
    /// Byte range of all of them with their verb.
    pub span: Span,
}

/// An element as the sentence names it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TargetPhrase {
    /// Text of the element; `None` if it is named by its kind alone.
    pub text: Option<String>,
    /// Alternative texts for unquoted words, longest first: words parsed as a kind or an ordinal may belong to the text
    /// (`Search button`, `First Name`).
    pub literals: Vec<String>,
    pub kind: Option<ElementKind>,
    pub place: Option<FramePart>,
    pub ordinal: Option<Ordinal>,
    /// All matching elements are meant.
    pub all: bool,
    /// Position relative to another element.
    pub relation: Option<(Relation, Box<TargetPhrase>)>,
}

/// Edit command for the focused text or selection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EditCommand {
    Copy,
    Cut,
    Paste,
    SelectAll,
    Undo,
    Redo,
}

/// Distance of a scroll.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ScrollExtent {
    /// A default distance.
    Default,
    Notches(u32),
    Pixels(u32),
    /// Until the end of the scroll range.
    End,
    UntilShown(String),
}

/// One instruction of a goal.
#[derive(Debug, Clone, PartialEq)]
pub enum Instruction {
    Click {
        /// `None`: at the pointer.
        target: Option<TargetPhrase>,
        button: Button,
        count: u8,
        modifiers: Vec<Key>,
    },
    /// Check or uncheck a checkbox, radio button or switch.
    Toggle {
        target: TargetPhrase,
        on: bool,
    },
    Hover {
        target: TargetPhrase,
    },
    /// Choose an option of a list, opening it if necessary.
    Choose {
        option: TargetPhrase,
        list: TargetPhrase,
    },
    Type {
        text: Text,
        /// `None`: the focused field.
        into: Option<TargetPhrase>,
        /// Replace the field's content.
        replace: bool,
    },
    Clear {
        field: Option<TargetPhrase>,
    },
    Press {
        keys: Vec<Key>,
        repeat: u32,
    },
    Hold {
        keys: Vec<Key>,
        /// `None`: during the next click.
        duration: Option<Duration>,
    },
    Scroll {
        direction: Direction,
        extent: ScrollExtent,
        inside: Option<TargetPhrase>,
    },
    Wait {
        duration: Duration,
    },
    /// Wait for a text to appear or to disappear.
    WaitForText {
        text: String,
        shown: bool,
        /// `None`: the default timeout.
        timeout: Option<Duration>,
    },
    Drag {
        from: TargetPhrase,
        to: TargetPhrase,
    },
    Edit {
        command: EditCommand,
        /// `None`: the focused element.
        field: Option<TargetPhrase>,
    },
    /// Put a text on the clipboard and paste it.
    PasteText {
        text: Text,
        into: Option<TargetPhrase>,
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
    /// Fail unless the text is on the screen (or is not, if `shown` is false).
    Verify {
        text: String,
        shown: bool,
    },
}

impl TargetPhrase {
    /// Returns a target with this text.
    pub fn text(text: impl Into<String>) -> Self {
        Self {
            text: Some(text.into()),
            ..Self::default()
        }
    }

    /// Returns the target with this kind, unless it has one already.
    #[must_use]
    pub fn with_default_kind(mut self, kind: ElementKind) -> Self {
        self.kind = self.kind.or(Some(kind));
        self
    }

    /// Returns whether it is named by a kind alone.
    #[must_use]
    pub fn is_bare_kind(&self) -> bool {
        self.text.is_none()
            && self.ordinal.is_none()
            && !self.all
            && self.place.is_none()
            && self.relation.is_none()
    }
}

impl Instruction {
    /// Returns the target of the instruction, if it has one.
    #[must_use]
    pub fn target(&self) -> Option<&TargetPhrase> {
        match self {
            Instruction::Click { target, .. } => target.as_ref(),
            Instruction::Toggle { target, .. } | Instruction::Hover { target } => Some(target),
            Instruction::Choose { option, .. } => Some(option),
            Instruction::Type { into, .. } | Instruction::PasteText { into, .. } => into.as_ref(),
            Instruction::Clear { field } | Instruction::Edit { field, .. } => field.as_ref(),
            Instruction::Scroll { inside, .. } => inside.as_ref(),
            Instruction::Drag { to, .. } => Some(to),
            _ => None,
        }
    }
}

/// Text in double quotes, escaped so that the grammar parses it back.
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

/// Returns the English words for a relation.
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

impl fmt::Display for TargetPhrase {
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
        if let Some((relation, other)) = &self.relation {
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

/// Formats a chord, for example `ctrl+s`.
#[must_use]
pub fn format_chord(keys: &[Key]) -> String {
    keys.iter()
        .map(Key::to_string)
        .collect::<Vec<_>>()
        .join("+")
}

fn format_text(text: &Text) -> String {
    match text {
        Text::Literal(text) => Quoted(text).to_string(),
        Text::Secret(name) => format!("secret:{name}"),
    }
}

/// Formats ` into FIELD`, or an empty string without a field.
fn into(field: Option<&TargetPhrase>) -> String {
    field
        .map(|field| format!(" into {field}"))
        .unwrap_or_default()
}

fn seconds(duration: Duration) -> String {
    format!("{} seconds", duration.as_secs_f64())
}

impl fmt::Display for Instruction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Instruction::Click {
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
                    write!(f, " while holding {}", format_chord(modifiers))
                }
            }
            Instruction::Toggle { target, on } => {
                write!(f, "{} {target}", if *on { "check" } else { "uncheck" })
            }
            Instruction::Hover { target } => write!(f, "hover over {target}"),
            Instruction::Choose { option, list } => write!(f, "choose {option} from {list}"),
            Instruction::Type {
                text,
                into: Some(field),
                replace: true,
            } => write!(f, "fill {field} with {}", format_text(text)),
            Instruction::Type {
                text, into: field, ..
            } => write!(f, "type {}{}", format_text(text), into(field.as_ref())),
            Instruction::Clear { field: Some(field) } => write!(f, "clear {field}"),
            Instruction::Clear { field: None } => f.write_str("clear the field"),
            Instruction::Press { keys, repeat: 1 } => write!(f, "press {}", format_chord(keys)),
            Instruction::Press { keys, repeat } => {
                write!(f, "press {} {repeat} times", format_chord(keys))
            }
            Instruction::Hold {
                keys,
                duration: None,
            } => write!(f, "hold {}", format_chord(keys)),
            Instruction::Hold {
                keys,
                duration: Some(duration),
            } => write!(f, "hold {} for {}", format_chord(keys), seconds(*duration)),
            Instruction::Scroll {
                direction,
                extent,
                inside,
            } => write_scroll(f, *direction, extent, inside.as_ref()),
            Instruction::Wait { duration } => write!(f, "wait {}", seconds(*duration)),
            Instruction::WaitForText {
                text,
                shown,
                timeout,
            } => {
                let predicate = if *shown { "appears" } else { "disappears" };
                write!(f, "wait until {} {predicate}", Quoted(text))?;
                timeout.map_or(Ok(()), |bound| write!(f, " for up to {}", seconds(bound)))
            }
            Instruction::Drag { from, to } => write!(f, "drag {from} to {to}"),
            Instruction::Edit { command, field } => write_edit(f, *command, field.as_ref()),
            Instruction::PasteText { text, into: field } => {
                write!(f, "paste {}{}", format_text(text), into(field.as_ref()))
            }
            Instruction::OpenUrl { url } => write!(f, "open {url}"),
            Instruction::Launch { name } => write!(f, "launch {}", Quoted(name)),
            Instruction::FocusWindow { title } => {
                write!(f, "switch to the window {}", Quoted(title))
            }
            Instruction::GoBack => f.write_str("go back"),
            Instruction::GoForward => f.write_str("go forward"),
            Instruction::Refresh => f.write_str("refresh"),
            Instruction::Verify { text, shown: true } => {
                write!(f, "check that {} is shown", Quoted(text))
            }
            Instruction::Verify { text, shown: false } => {
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
        (Button::Back, _) => "back-click",
        (Button::Forward, _) => "forward-click",
    }
}

fn write_scroll(
    f: &mut fmt::Formatter<'_>,
    direction: Direction,
    extent: &ScrollExtent,
    inside: Option<&TargetPhrase>,
) -> fmt::Result {
    write!(f, "scroll {direction}")?;
    if let Some(inside) = inside {
        write!(f, " in {inside}")?;
    }
    match (extent, direction) {
        (ScrollExtent::Default, _) => Ok(()),
        (ScrollExtent::Notches(number), _) => write!(f, " by {number} notches"),
        (ScrollExtent::Pixels(number), _) => write!(f, " by {number} pixels"),
        (ScrollExtent::End, Direction::Down) => f.write_str(" to the bottom"),
        (ScrollExtent::End, Direction::Up) => f.write_str(" to the top"),
        (ScrollExtent::End, Direction::Left) => f.write_str(" to the far left"),
        (ScrollExtent::End, Direction::Right) => f.write_str(" to the far right"),
        (ScrollExtent::UntilShown(text), _) => write!(f, " until {} appears", Quoted(text)),
    }
}

fn write_edit(
    f: &mut fmt::Formatter<'_>,
    command: EditCommand,
    field: Option<&TargetPhrase>,
) -> fmt::Result {
    let (verb, of_a_field) = match command {
        EditCommand::Copy => ("copy", "copy the text in"),
        EditCommand::Cut => ("cut", "cut the text in"),
        EditCommand::Paste => ("paste", "paste into"),
        EditCommand::SelectAll => ("select all", "select all in"),
        EditCommand::Undo => ("undo", "undo in"),
        EditCommand::Redo => ("redo", "redo in"),
    };
    match field {
        Some(field) => write!(f, "{of_a_field} {field}"),
        None => f.write_str(verb),
    }
}
