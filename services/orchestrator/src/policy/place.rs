//! Where on the screen something is done, and what is written there and around it.
//!
//! All of it comes from one screen. What a text means is the word lists' business ([`super::words`]); what becomes of it,
//! the situation's ([`super::situation`]).

use std::collections::BTreeSet;

use motorium_proto::domain::action::Action;
use motorium_proto::domain::element::{Element, RelationKind};
use motorium_proto::domain::frame::{Frame, Window};
use motorium_proto::domain::geometry::{CapturePoint, CaptureRect};
use motorium_proto::domain::key::Key;
use percent_encoding::percent_decode_str;
use url::Url;

use super::situation::{Circumstances, Sort, sort, strikes};
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

/// Schemes of addresses that run what they say.
const RUNNING: [&str; 3] = ["javascript", "data", "vbscript"];
/// Keys that only move, take back, or show something: whatever they are said to be for.
const MOVING: [&str; 20] = [
    "escape",
    "tab",
    "shift+tab",
    "left",
    "right",
    "up",
    "down",
    "pageup",
    "pagedown",
    "home",
    "end",
    "backspace",
    "ctrl+a",
    "ctrl+c",
    "ctrl+l",
    "ctrl+t",
    "ctrl+f",
    "ctrl+z",
    "f5",
    "ctrl+r",
];
/// So many texts at the foot of a terminal are its last lines.
const LAST_LINES: usize = 3;
/// No name of a field is longer, in characters.
const LONGEST_LABEL: usize = 40;

/// Where on the screen something is done.
pub(super) struct Place<'a> {
    circumstances: &'a Circumstances<'a>,
    /// What it is done to, or what has the keyboard as far as that is known.
    bounds: Option<CaptureRect>,
    pub(super) element: Option<&'a Element>,
}

impl<'a> Place<'a> {
    pub(super) fn of(circumstances: &'a Circumstances<'a>) -> Self {
        let point = circumstances.action.targets().last().copied();
        let at_point =
            point.map(|point| CaptureRect::new(point, CapturePoint::new(point.x + 1, point.y + 1)));
        let bounds = match sort(circumstances.action) {
            Sort::Strikes | Sort::Enters => focused(circumstances).or(circumstances.pointed_at),
            // A click without a place goes to where the pointer is.
            Sort::Presses => circumstances
                .target
                .or(at_point)
                .or(circumstances.pointed_at),
            Sort::Reads | Sort::Drops | Sort::Goes => circumstances.target.or(at_point),
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
    pub(super) fn text(&self) -> String {
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

    pub(super) fn meanings(
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
                if self.begins_here() {
                    meanings.extend(self.of_press(words));
                }
                meanings
            }
            Sort::Strikes => self.of_keys(words, applications),
            Sort::Enters => self.of_entry(words, applications, argument),
            Sort::Goes => of_address(words, argument),
        }
    }

    /// Whether what is dragged stays on one element: that presses it, or slides it open.
    fn begins_here(&self) -> bool {
        let first = self.circumstances.action.targets().next();
        let element = self.element.map(|element| self.bounds_of(element));
        element
            .zip(first)
            .is_some_and(|(bounds, first)| bounds.contains(*first))
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
        match (presses, applications.contains("terminal")) {
            (true, true) => {
                meanings.extend(self.of_line_end(words, &self.circumstances.keyboard.line));
            }
            (true, false) => meanings.extend(self.of_what_is_pressed_by_keys(words)),
            (false, _) if !strikes(self.circumstances.action, &MOVING) => {
                meanings.extend(words.of_sentence(&self.circumstances.planned.intent));
                meanings.extend(self.of_accelerator(words, keys));
            }
            (false, _) => {}
        }
        meanings.remove("password");
        meanings
    }

    /// A letter, or one with Alt, chooses a button of a dialog: what that asks is what is answered.
    fn of_accelerator(&self, words: &Words, keys: &[Key]) -> Meanings {
        let frame = self.circumstances.frame;
        let asks = frame
            .active_window()
            .is_some_and(|window| is_dialog(window, frame));
        match keys {
            [Key::Character(_)] | [Key::Alt, Key::Character(_)] if asks => self.surroundings(words),
            _ => Meanings::new(),
        }
    }

    /// What it means to send a line off to a terminal. A command was judged when it was entered; a yes, or nothing, is
    /// judged by what the terminal shows last: a question, or a command that was called up again.
    fn of_line_end(&self, words: &Words, line: &str) -> Meanings {
        if !is_yes(line) {
            return Meanings::new();
        }
        let mut meanings = Meanings::new();
        for text in self.last_lines() {
            meanings.extend(words.of_sentence(text));
            meanings.extend(words.of_command(text));
        }
        meanings.remove("password");
        meanings
    }

    /// What stands lowest in the window in front, from below.
    fn last_lines(&self) -> Vec<&'a str> {
        let mut lines: Vec<_> = self.in_window().collect();
        lines.sort_by_key(|(_, bounds)| std::cmp::Reverse(bounds.max.y));
        let lines = lines.into_iter().take(LAST_LINES);
        lines.map(|(element, _)| element.content.as_str()).collect()
    }

    fn in_window(&self) -> impl Iterator<Item = (&'a Element, CaptureRect)> {
        let window = self.circumstances.frame.active_window();
        let window = window.map(|window| window.bounds);
        self.elements()
            .filter(move |(_, bounds)| window.is_none_or(|window| window.contains(bounds.center())))
    }

    /// Enter and the space bar press what has the keyboard, or the button that a dialog presses by itself.
    fn of_what_is_pressed_by_keys(&self, words: &Words) -> Meanings {
        let mut meanings = words.of_sentence(&self.circumstances.planned.intent);
        meanings.extend(words.of_label(&self.text()));
        meanings.extend(self.surroundings(words));
        meanings.remove("password");
        meanings.insert(AFFIRM.to_owned());
        meanings
    }

    fn of_entry(&self, words: &Words, applications: &BTreeSet<String>, argument: &str) -> Meanings {
        let mut meanings = Meanings::new();
        let in_terminal = applications.contains("terminal");
        let line = format!("{}{argument}", self.circumstances.keyboard.line);
        let ends_line = argument.contains('\n') && !argument.starts_with("secret:");
        if in_terminal {
            meanings.extend(words.of_command(argument));
            meanings.extend(words.of_command(&line));
            if ends_line {
                meanings.extend(self.of_line_end(words, &line));
            }
        }
        if self.may_be_asked_for_a_password(words, in_terminal, argument) {
            meanings.insert("password".to_owned());
        }
        if let Some(url) = self.address_entered(applications, argument) {
            meanings.extend(of_address(words, url.as_str()));
        }
        if ends_line && !in_terminal {
            meanings.extend(words.of_keys(&[Key::Enter], applications));
            if is_one_line(argument) {
                meanings.extend(self.of_what_is_pressed_by_keys(words));
            }
        }
        meanings
    }

    /// Whether what is entered may go into a field for passwords. Where it is not known which field has the keyboard, it may
    /// be any of them.
    fn may_be_asked_for_a_password(
        &self,
        words: &Words,
        in_terminal: bool,
        argument: &str,
    ) -> bool {
        let asks = |text: &str| words.of_sentence(text).contains("password");
        if in_terminal {
            return self.last_lines().first().is_some_and(|line| asks(line));
        }
        if asks(&self.label()) {
            return true;
        }
        let moves_on = argument.contains('\t') && !argument.starts_with("secret:");
        (self.is_focus_unknown() || moves_on)
            && self
                .in_window()
                .map(|(element, _)| element.content.as_str())
                .any(|text| text.chars().count() <= LONGEST_LABEL && asks(text))
    }

    /// Whether the keyboard may be elsewhere than at what was pointed at last.
    fn is_focus_unknown(&self) -> bool {
        focused(self.circumstances).is_none()
            && (self.bounds.is_none() || self.circumstances.keyboard.moved_on)
    }

    /// The address that is entered where a browser takes addresses, or may be.
    pub(super) fn address_entered(
        &self,
        applications: &BTreeSet<String>,
        argument: &str,
    ) -> Option<Url> {
        if !applications.contains("browser") || argument.starts_with("secret:") {
            return None;
        }
        let bar = self.address_bar()?;
        let may_be_there =
            self.is_focus_unknown() || self.bounds.is_some_and(|own| bar.contains(own.center()));
        let written = argument.trim();
        let runs = |url: &Url| RUNNING.contains(&url.scheme());
        let url = || {
            Url::parse(written)
                .ok()
                .filter(runs)
                .or_else(|| address(written))
        };
        may_be_there.then(url).flatten()
    }

    /// Where a browser has its address: in the upper part of the window.
    fn address_bar(&self) -> Option<CaptureRect> {
        let mut bar = self.circumstances.frame.active_window()?.bounds;
        bar.max.y = bar.min.y + bar.height() / 6;
        Some(bar)
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
    pub(super) fn url(&self, is_browser: bool) -> Option<Url> {
        if let Some(url) = self.circumstances.url {
            return Url::parse(url).ok();
        }
        if !is_browser {
            return None;
        }
        let bar = self.address_bar()?;
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
    let whole = RUNNING
        .contains(&url.scheme())
        .then(|| url.path().to_owned());
    let runs = whole.as_ref().map(|_| "grant".to_owned());
    let pieces = url.path_segments().into_iter().flatten();
    let pieces = pieces.chain(url.fragment()).map(str::to_owned).chain(whole);
    let query = url
        .query_pairs()
        .flat_map(|(key, value)| [key.into_owned(), value.into_owned()])
        .collect::<Vec<_>>();
    pieces
        .chain(query)
        .map(|piece| percent_decode_str(&piece).decode_utf8_lossy().into_owned())
        .flat_map(|piece| words.of_sentence(&piece))
        .filter(|meaning| meaning != "password")
        .chain(runs)
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

/// Whether a line says yes, or nothing, to whatever was asked.
fn is_yes(line: &str) -> bool {
    let line = line.trim().trim_matches('\u{fffd}').to_lowercase();
    matches!(
        line.as_str(),
        "" | "y" | "yes" | "ok" | "j" | "ja" | "o" | "oui" | "是"
    )
}

/// Whether a line break is there to send the line off: several lines are a text that somebody writes.
fn is_one_line(argument: &str) -> bool {
    !argument.trim().contains('\n') && argument.trim_end_matches([' ', '\t']).ends_with('\n')
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
