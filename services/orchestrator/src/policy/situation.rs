//! What is about to be done, and where: everything that the rules may speak of.
//!
//! Made from the decision and the screen that the action will meet, without asking anybody. What an element does is not
//! known before it is used; it is guessed from what is written on it, from what the planner says it is for, and, where it
//! only says yes or says nothing, from what is written around it. Nothing is decided here.

use std::collections::{BTreeMap, BTreeSet};

use motorium_proto::domain::action::{Action, Button, Text};
use motorium_proto::domain::decision::PlannedAction;
use motorium_proto::domain::element::{Element, RelationKind, Scene};
use motorium_proto::domain::frame::{Frame, Window};
use motorium_proto::domain::geometry::{CapturePoint, CaptureRect};
use motorium_proto::domain::key::Key;
use serde_json::Value;
use url::Url;

use super::words::{AFFIRM, Meanings, Words};
use crate::task::screen::bounds_on_display;

/// How far around a target its surroundings reach, in pixels of a screen at scale 1: a dialog's width to both sides, its
/// height above, and a note below.
const AROUND: (i32, i32, i32) = (360, 300, 90);
/// How far a field's name stands from it, at most: to its left or above it.
const LABEL_REACH: (i32, i32) = (260, 50);
/// Fewer words than these beside a button are another button, and no sentence about it.
const WORDS_OF_A_SENTENCE: usize = 2;
/// The same in a script without spaces: characters.
const CHARACTERS_OF_A_SENTENCE: usize = 5;

/// An action, its place, and what it means.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Situation {
    pub kind: String,
    /// What is written on the target.
    pub text: String,
    pub element: String,
    pub application: String,
    pub window: String,
    pub url: String,
    pub host: String,
    /// What is entered; of a secret its name.
    pub argument: String,
    pub meanings: Meanings,
    pub sites: BTreeSet<String>,
    pub applications: BTreeSet<String>,
    /// The task's, each as `key=value`.
    pub labels: BTreeSet<String>,
    pub changes: bool,
    pub enters: bool,
    pub navigates: bool,
    pub unlabelled: bool,
    pub secret: bool,
    pub tainted: bool,
    pub suspected_injection: bool,
}

/// What a situation is made from.
#[derive(Debug, Clone, Copy)]
pub struct Circumstances<'a> {
    pub planned: &'a PlannedAction,
    /// With points for its targets.
    pub action: &'a Action<CapturePoint>,
    /// The box of its last target.
    pub target: Option<CaptureRect>,
    /// The box that was pointed at last, where keys and text are likely to go.
    pub pointed_at: Option<CaptureRect>,
    pub frame: &'a Frame,
    pub scene: &'a Scene,
    /// Of the page, if anybody knows it.
    pub url: Option<&'a str>,
    pub labels: &'a BTreeMap<String, String>,
    /// What is in the clipboard, where the task itself has put it there.
    pub pasted: Option<&'a str>,
    /// The argument was read from the screen.
    pub tainted: bool,
    pub suspected_injection: bool,
}

/// What the situation of a function call is made from.
#[derive(Debug, Clone, Copy)]
pub struct CallCircumstances<'a> {
    /// As it is offered to the planner.
    pub name: &'a str,
    /// What its tool calls it.
    pub own_name: &'a str,
    /// As JSON.
    pub arguments: &'a str,
    pub labels: &'a BTreeMap<String, String>,
    /// An argument was read from the screen.
    pub tainted: bool,
    pub suspected_injection: bool,
}

/// Keys that enter what is in the clipboard.
const PASTING: [&str; 3] = ["ctrl+v", "ctrl+shift+v", "shift+insert"];

/// The kind of deed that a function call is.
pub const CALL_FUNCTION: &str = "call_function";

/// What of an action matters for what it means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sort {
    /// Looks, waits, moves: nothing comes of it.
    Reads,
    /// Presses something on the screen.
    Presses,
    /// Drops something somewhere.
    Drops,
    /// Strikes keys.
    Strikes,
    /// Enters text.
    Enters,
    /// Goes to an address or opens a program.
    Goes,
}

fn sort(action: &Action<CapturePoint>) -> Sort {
    match action {
        // A menu opens, and whatever is chosen from it is an action of its own.
        Action::Click {
            button: Button::Right,
            ..
        } => Sort::Reads,
        Action::Click { .. } | Action::MouseDown { .. } | Action::MouseUp { .. } => Sort::Presses,
        Action::Drag { .. } => Sort::Drops,
        Action::KeyChord { .. } | Action::HoldKey { .. } => Sort::Strikes,
        Action::TypeText { .. } | Action::Paste { .. } => Sort::Enters,
        Action::OpenUrl { .. } | Action::GoToUrl { .. } | Action::OpenApplication { .. } => {
            Sort::Goes
        }
        Action::Move { .. }
        | Action::Scroll { .. }
        | Action::Wait { .. }
        | Action::SetClipboard { .. }
        | Action::FocusWindow { .. }
        | Action::GoBack
        | Action::GoForward
        | Action::Refresh => Sort::Reads,
    }
}

impl Situation {
    /// What the rules are asked about.
    #[must_use]
    pub fn of(words: &Words, circumstances: &Circumstances<'_>) -> Self {
        let place = Place::of(circumstances);
        let sort = sort(circumstances.action);
        let window = circumstances.frame.active_window();
        let application = window.map(|window| window.application.clone());
        let application = application.unwrap_or_default();
        let applications = words.applications(&application);
        let url = place.url(applications.contains("browser"));
        let host = url.as_ref().and_then(Url::host_str).unwrap_or_default();
        let (mut argument, secret) = argument(circumstances.action);
        if matches!(circumstances.action, Action::Paste { text: None }) {
            circumstances
                .pasted
                .unwrap_or_default()
                .clone_into(&mut argument);
        }
        let text = place.text();
        Self {
            kind: circumstances.action.kind().to_string(),
            element: place
                .element
                .map(|element| element.kind.to_string())
                .unwrap_or_default(),
            meanings: place.meanings(words, sort, &applications, &argument),
            sites: words.sites(host),
            host: host.to_owned(),
            url: url.map(String::from).unwrap_or_default(),
            labels: as_set(circumstances.labels),
            changes: !matches!(sort, Sort::Reads | Sort::Goes),
            enters: sort == Sort::Enters || pastes(circumstances.action),
            navigates: matches!(sort, Sort::Goes),
            unlabelled: sort == Sort::Presses && text.is_empty(),
            tainted: circumstances.tainted,
            suspected_injection: circumstances.suspected_injection,
            window: window
                .map(|window| window.title.clone())
                .unwrap_or_default(),
            text,
            application,
            applications,
            argument,
            secret,
        }
    }
}

impl Situation {
    /// What the rules are asked about before a function is called. It is done on no screen: what is in front then says
    /// nothing of it.
    #[must_use]
    pub fn of_call(words: &Words, call: &CallCircumstances<'_>) -> Self {
        Self {
            kind: CALL_FUNCTION.to_owned(),
            text: call.name.to_owned(),
            argument: call.arguments.to_owned(),
            meanings: words.of_label(call.own_name),
            labels: as_set(call.labels),
            // What it does is not known, so it may.
            changes: true,
            tainted: call.tainted,
            suspected_injection: call.suspected_injection,
            ..Self::default()
        }
    }
}

fn as_set(labels: &BTreeMap<String, String>) -> BTreeSet<String> {
    let labels = labels.iter();
    labels
        .map(|(key, value)| format!("{key}={value}"))
        .collect()
}

/// Everything in JSON that may have been read somewhere: texts, names and numbers, each by itself, also of JSON that
/// stands in a text.
#[must_use]
pub fn values(json: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut open: Vec<Value> = serde_json::from_str(json).into_iter().collect();
    while let Some(value) = open.pop() {
        match value {
            Value::String(text) => match serde_json::from_str(&text) {
                Ok(inner @ (Value::Array(_) | Value::Object(_) | Value::String(_))) => {
                    open.push(inner);
                }
                _ => found.push(text),
            },
            Value::Number(number) => found.push(number.to_string()),
            Value::Array(values) => open.extend(values),
            Value::Object(members) => {
                for (name, value) in members {
                    found.push(name);
                    open.push(value);
                }
            }
            Value::Null | Value::Bool(_) => {}
        }
    }
    found
}

/// Whether what is in the clipboard is entered, whatever it is.
#[must_use]
pub fn pastes<T>(action: &Action<T>) -> bool {
    match action {
        Action::Paste { text: None } => true,
        Action::KeyChord { keys, .. } | Action::HoldKey { keys, .. } => {
            PASTING.contains(&chord(keys).as_str())
        }
        _ => false,
    }
}

/// What is entered, struck or gone to, and whether it is a secret.
#[must_use]
pub fn argument(action: &Action<CapturePoint>) -> (String, bool) {
    let written = |text: &Text| match text {
        Text::Literal(text) => (text.clone(), false),
        Text::Secret(name) => (format!("secret:{name}"), true),
    };
    match action {
        Action::TypeText { text, .. }
        | Action::SetClipboard { text }
        | Action::Paste { text: Some(text) } => written(text),
        Action::KeyChord { keys, .. } | Action::HoldKey { keys, .. } => (chord(keys), false),
        Action::OpenUrl { url } | Action::GoToUrl { url } => (url.clone(), false),
        Action::OpenApplication { name } => (name.clone(), false),
        _ => Default::default(),
    }
}

fn chord(keys: &[Key]) -> String {
    let keys: Vec<String> = keys.iter().map(ToString::to_string).collect();
    keys.join("+")
}

/// Where on the screen something is done.
struct Place<'a> {
    circumstances: &'a Circumstances<'a>,
    /// What it is done to, or what has the keyboard as far as that is known.
    bounds: Option<CaptureRect>,
    element: Option<&'a Element>,
}

impl<'a> Place<'a> {
    fn of(circumstances: &'a Circumstances<'a>) -> Self {
        let is_typed = matches!(sort(circumstances.action), Sort::Strikes | Sort::Enters);
        let point = circumstances.action.targets().last().copied();
        let at_point =
            point.map(|point| CaptureRect::new(point, CapturePoint::new(point.x + 1, point.y + 1)));
        let bounds = if is_typed {
            focused(circumstances).or(circumstances.pointed_at)
        } else {
            circumstances.target.or(at_point)
        };
        let element = bounds.and_then(|bounds| element_at(circumstances, bounds));
        Self {
            circumstances,
            bounds,
            element,
        }
    }

    fn bounds_of(&self, element: &Element) -> CaptureRect {
        bounds_on_display(element, self.circumstances.frame)
    }

    /// What is written on it, in one line with what touches it: a word may have been read in two pieces.
    fn text(&self) -> String {
        let Some(element) = self.element else {
            return String::new();
        };
        let own = self.bounds_of(element);
        let mut row: Vec<_> = self
            .elements()
            .map(|(other, bounds)| (bounds, other))
            .filter(|(bounds, _)| touches(own, *bounds))
            .collect();
        row.sort_by_key(|(bounds, _)| bounds.min.x);
        let texts = row.iter().map(|(_, other)| other.content.trim());
        let texts: Vec<&str> = texts.filter(|text| !text.is_empty()).collect();
        texts.join(" ")
    }

    fn elements(&self) -> impl Iterator<Item = (&'a Element, CaptureRect)> {
        let circumstances = self.circumstances;
        let elements = circumstances.scene.elements.iter();
        elements.map(|element| (element, bounds_on_display(element, circumstances.frame)))
    }

    fn meanings(
        &self,
        words: &Words,
        sort: Sort,
        applications: &BTreeSet<String>,
        argument: &str,
    ) -> Meanings {
        match sort {
            Sort::Reads => Meanings::new(),
            Sort::Presses => self.of_press(words),
            Sort::Drops => {
                let mut meanings = words.of_drop(&self.text());
                meanings.extend(words.of_sentence(&self.circumstances.planned.intent));
                meanings
            }
            Sort::Strikes => self.of_keys(words, applications),
            Sort::Enters => self.of_entry(words, applications, argument),
            Sort::Goes => of_address(words, argument),
        }
    }

    fn of_press(&self, words: &Words) -> Meanings {
        let text = self.text();
        let mut meanings = words.of_label(&text);
        meanings.extend(words.of_sentence(&self.circumstances.planned.intent));
        if text.is_empty() || meanings.contains(AFFIRM) {
            meanings.extend(self.surroundings(words));
        }
        // To press a field for passwords enters nothing into it.
        meanings.remove("password");
        meanings
    }

    fn of_keys(&self, words: &Words, applications: &BTreeSet<String>) -> Meanings {
        let (Action::KeyChord { keys, .. } | Action::HoldKey { keys, .. }) =
            self.circumstances.action
        else {
            return Meanings::new();
        };
        let mut meanings = words.of_keys(keys, applications);
        let presses = matches!(
            keys.as_slice(),
            [Key::Enter | Key::Space] | [.., Key::Enter]
        );
        if presses && !applications.contains("terminal") {
            meanings.extend(self.of_what_is_pressed_by_keys(words));
        }
        meanings
    }

    /// Enter and the space bar press what has the keyboard, or the button that a dialog presses by itself.
    fn of_what_is_pressed_by_keys(&self, words: &Words) -> Meanings {
        let mut meanings = words.of_sentence(&self.circumstances.planned.intent);
        meanings.extend(self.surroundings(words));
        meanings.remove("password");
        meanings.insert(AFFIRM.to_owned());
        meanings
    }

    fn of_entry(&self, words: &Words, applications: &BTreeSet<String>, argument: &str) -> Meanings {
        let mut meanings = Meanings::new();
        if applications.contains("terminal") {
            meanings.extend(words.of_command(argument));
        }
        let label = self.label();
        if words.of_sentence(&label).contains("password") {
            meanings.insert("password".to_owned());
        }
        let ends_line = argument.contains('\n') && !argument.starts_with("secret:");
        if ends_line && !applications.contains("terminal") {
            meanings.extend(words.of_keys(&[Key::Enter], applications));
        }
        meanings
    }

    /// The name of a field: what stands in it, beside it, or is said to be its name.
    fn label(&self) -> String {
        let Some(own) = self.bounds else {
            return String::new();
        };
        let named = self.element.into_iter().flat_map(|element| {
            let relations = self.circumstances.scene.relations.iter();
            relations
                .filter(|relation| {
                    relation.kind == RelationKind::LabelOf && relation.to == element.id
                })
                .filter_map(|relation| self.circumstances.scene.element(relation.from))
        });
        let beside = self.elements().filter(|(_, bounds)| names(own, *bounds));
        let texts = named
            .chain(beside.map(|(element, _)| element))
            .map(|element| element.content.as_str());
        texts.collect::<Vec<_>>().join(" · ")
    }

    /// What is said around it: sentences near it, and the title of a dialog.
    fn surroundings(&self, words: &Words) -> Meanings {
        let frame = self.circumstances.frame;
        let window = frame.active_window().map(|window| window.bounds);
        let area = self.bounds.map(|bounds| around(bounds, frame.scale));
        let near = self.elements().filter(|(_, bounds)| {
            let centre = bounds.center();
            window.is_none_or(|window| window.contains(centre))
                && area.is_none_or(|area| area.contains(centre))
        });
        let said = near
            .map(|(element, _)| element.content.as_str())
            .filter(|text| is_sentence(text));
        let title = frame
            .active_window()
            .filter(|window| is_dialog(window, frame));
        let title = title.map(|window| window.title.as_str());
        let mut meanings: Meanings = said
            .chain(title)
            .flat_map(|text| words.of_sentence(text))
            .collect();
        meanings.remove(AFFIRM);
        meanings
    }

    /// The page's address: what the browser's driver says, or what stands in the address bar.
    fn url(&self, is_browser: bool) -> Option<Url> {
        if let Some(url) = self.circumstances.url {
            return Url::parse(url).ok();
        }
        if !is_browser {
            return None;
        }
        let window = self.circumstances.frame.active_window()?;
        let mut bar = window.bounds;
        bar.max.y = bar.min.y + bar.height() / 6;
        let mut texts = self
            .elements()
            .filter(|(_, bounds)| bar.contains(bounds.center()))
            .map(|(element, _)| element.content.as_str());
        texts.find_map(address)
    }
}

/// What an address does when it is opened, as far as its words tell.
fn of_address(words: &Words, address: &str) -> Meanings {
    let Ok(url) = Url::parse(address) else {
        return words.of_label(address);
    };
    let pieces = url.path_segments().into_iter().flatten();
    let pieces = pieces.map(str::to_owned);
    let query = url
        .query_pairs()
        .flat_map(|(key, value)| [key.into_owned(), value.into_owned()])
        .collect::<Vec<_>>();
    pieces
        .chain(query)
        .flat_map(|piece| words.of_sentence(&piece))
        .filter(|meaning| meaning != "password")
        .collect()
}

/// A text that is an address, with or without its scheme.
fn address(text: &str) -> Option<Url> {
    let text = text.trim();
    if text.contains(char::is_whitespace) {
        return None;
    }
    let url = match text.split_once("://") {
        Some(_) => Url::parse(text),
        None => Url::parse(&format!("https://{text}")),
    };
    url.ok().filter(|url| {
        let host = url.host_str().unwrap_or_default();
        let ending = host.rsplit_once('.').map(|(_, ending)| ending);
        ending.is_some_and(|ending| ending.len() >= 2 && ending.chars().all(char::is_alphabetic))
    })
}

/// The box of what has the keyboard, where the screen shows it.
fn focused(circumstances: &Circumstances<'_>) -> Option<CaptureRect> {
    let mut elements = circumstances.scene.elements.iter();
    let focused = elements.find(|element| element.state.focused == Some(true))?;
    Some(bounds_on_display(focused, circumstances.frame))
}

/// The smallest element that the middle of a box lies in, or that lies in the box.
fn element_at<'a>(circumstances: &Circumstances<'a>, bounds: CaptureRect) -> Option<&'a Element> {
    let centre = bounds.center();
    let placed = circumstances.scene.elements.iter();
    let placed = placed.map(|element| (element, bounds_on_display(element, circumstances.frame)));
    placed
        .filter(|(_, other)| other.contains(centre) || bounds.contains(other.center()))
        .min_by_key(|(_, other)| i64::from(other.width()) * i64::from(other.height()))
        .map(|(element, _)| element)
}

/// Whether two boxes stand in one line with hardly a space between them, or one on the other.
fn touches(own: CaptureRect, other: CaptureRect) -> bool {
    let height = own.height().min(other.height()).max(1);
    let in_line = own.min.y.max(other.min.y) + height / 2 <= own.max.y.min(other.max.y);
    let gap = own.min.x.max(other.min.x) - own.max.x.min(other.max.x);
    in_line && gap <= height / 3
}

/// Whether a text stands where the name of a field does: in it, to its left, or above it.
fn names(field: CaptureRect, text: CaptureRect) -> bool {
    let (left, above) = LABEL_REACH;
    let inside = field.contains(text.center());
    let beside = text.center().y >= field.min.y
        && text.center().y <= field.max.y
        && text.max.x <= field.min.x + 8
        && field.min.x - text.max.x <= left;
    let on_top = text.max.y <= field.min.y + 8
        && field.min.y - text.max.y <= above
        && text.min.x < field.max.x
        && text.max.x > field.min.x - left / 4;
    inside || beside || on_top
}

fn around(bounds: CaptureRect, scale: f64) -> CaptureRect {
    let scaled = |length: i32| (f64::from(length) * scale).round() as i32;
    let (aside, above, below) = AROUND;
    CaptureRect::new(
        CapturePoint::new(bounds.min.x - scaled(aside), bounds.min.y - scaled(above)),
        CapturePoint::new(bounds.max.x + scaled(aside), bounds.max.y + scaled(below)),
    )
}

fn is_sentence(text: &str) -> bool {
    text.split_whitespace().count() >= WORDS_OF_A_SENTENCE
        || text.ends_with(['?', '？', '!', '！'])
        || text.chars().filter(|letter| !letter.is_ascii()).count() >= CHARACTERS_OF_A_SENTENCE
}

/// Whether a window asks something: it says so, or is much smaller than the screen.
fn is_dialog(window: &Window, frame: &Frame) -> bool {
    let area = |bounds: CaptureRect| i64::from(bounds.width()) * i64::from(bounds.height());
    window.modal || area(window.bounds) * 2 < area(frame.bounds())
}
