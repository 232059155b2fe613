//! Where on the screen something is done, and what is written there and around it.
//!
//! - `keyboard`: where keys and text go, and what is pressed or filled in by them
//! - `terminal`: what a line that is sent off answers
//! - `address`: where a browser takes and shows addresses
//!
//! All of it comes from one screen. What a text means is the word lists' business ([`super::words`]); what becomes of it,
//! the situation's ([`super::situation`]).

mod address;
mod keyboard;
mod terminal;

use std::collections::BTreeSet;

use motorium_proto::domain::element::{Element, ElementKind};
use motorium_proto::domain::frame::{Frame, Window};
use motorium_proto::domain::geometry::{CapturePoint, CaptureRect};

use self::address::of_address;
use super::situation::{Circumstances, Sort, sort};
use super::text::{self, Plain};
use super::words::{AFFIRM, Meanings, PAY, Words};
use crate::task::screen::{bounds_on_display, timeless};

/// How far around a target its surroundings reach, in pixels of a screen at scale 1: a dialog's width to both sides, its
/// height above, and a note below.
const AROUND: (i32, i32, i32) = (360, 300, 90);
/// How far to the sides and above a heading of one word stands, at most.
const HEADING: (i32, i32) = (160, 150);
/// Kinds of elements that may be pictograms, and then are called by what they look like.
const PICTOGRAMS: [ElementKind; 3] = [ElementKind::Icon, ElementKind::Button, ElementKind::Image];
/// Fewer words than these beside a button are another button, and no sentence about it.
const WORDS_OF_A_SENTENCE: usize = 2;
/// The same in a script without spaces: characters.
const CHARACTERS_OF_A_SENTENCE: usize = 5;

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
            Sort::Strikes | Sort::Enters => {
                keyboard::focused(circumstances).or(circumstances.pointed_at)
            }
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

    fn in_window(&self) -> impl Iterator<Item = (&'a Element, CaptureRect)> {
        let window = self.circumstances.frame.active_window();
        let window = window.map(|window| window.bounds);
        self.elements()
            .filter(move |(_, bounds)| window.is_none_or(|window| window.contains(bounds.center())))
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

    /// Whether a text stands right above it, as the heading of a question does.
    fn heads(&self, text: CaptureRect) -> bool {
        let Some(own) = self.bounds else {
            return false;
        };
        let scale = self.circumstances.frame.scale;
        let (aside, above) = HEADING;
        let reach = |length: i32| (f64::from(length) * scale).round() as i32;
        let is_above = text.max.y <= own.min.y && own.min.y - text.max.y <= reach(above);
        is_above && text.min.x <= own.max.x + reach(aside) && text.max.x >= own.min.x - reach(aside)
    }

    fn of_press(&self, words: &Words) -> Meanings {
        let text = self.text();
        let mut meanings = self.of_text(words, &text);
        meanings.extend(words.of_sentence(&self.circumstances.planned.intent));
        if says_nothing(&text) || meanings.contains(AFFIRM) {
            meanings.extend(self.surroundings(words));
        }
        // To press a field for passwords enters nothing into it.
        meanings.remove("password");
        meanings
    }

    /// What is written on it, or what it is called: a price is a button that buys.
    fn of_text(&self, words: &Words, text: &str) -> Meanings {
        let mut meanings = words.of_label(text);
        let kind = self.element.map(|element| element.kind);
        if kind.is_some_and(|kind| PICTOGRAMS.contains(&kind)) {
            meanings.extend(words.of_icon(text));
        }
        if text::is_price(text) {
            meanings.insert(PAY.to_owned());
        }
        meanings
    }

    /// What is said around it: sentences near it, headings above it, and the title of a dialog.
    fn surroundings(&self, words: &Words) -> Meanings {
        let near = self.near();
        let said = near
            .filter(|(element, bounds)| is_sentence(&element.content) || self.heads(*bounds))
            .map(|(element, _)| element.content.as_str());
        let mut meanings: Meanings = said
            .chain(self.title())
            .flat_map(|text| words.of_sentence(text))
            .collect();
        meanings.remove(AFFIRM);
        meanings
    }

    /// What stands around it, in the window in front.
    fn near(&self) -> impl Iterator<Item = (&'a Element, CaptureRect)> {
        let scale = self.circumstances.frame.scale;
        let area = self.bounds.map(|bounds| around(bounds, scale));
        self.in_window()
            .filter(move |(_, bounds)| area.is_none_or(|area| area.contains(bounds.center())))
    }

    /// Of the window in front, if it asks something.
    fn title(&self) -> Option<&'a str> {
        let frame = self.circumstances.frame;
        let window = frame.active_window()?;
        is_dialog(window, frame).then_some(window.title.as_str())
    }

    /// What was read beside the target to judge it.
    pub(super) fn beside(
        &self,
        words: &Words,
        sort: Sort,
        applications: &BTreeSet<String>,
        argument: &str,
    ) -> Vec<String> {
        let in_terminal = applications.contains("terminal");
        match sort {
            Sort::Presses if self.leans_on_surroundings(words) => self.question(words),
            Sort::Strikes if in_terminal && self.presses_a_button() => texts(self.last_lines()),
            Sort::Strikes if self.answers() => self.question(words),
            Sort::Enters if in_terminal => texts(self.last_lines()),
            Sort::Enters if argument.contains('\n') => {
                [vec![self.label()], self.question(words)].concat()
            }
            Sort::Enters => vec![self.label()],
            Sort::Reads | Sort::Presses | Sort::Drops | Sort::Strikes | Sort::Goes => Vec::new(),
        }
    }

    /// Whether what is pressed only says yes, or says nothing, so that what is around it counts.
    fn leans_on_surroundings(&self, words: &Words) -> bool {
        let text = self.text();
        says_nothing(&text) || self.of_text(words, &text).contains(AFFIRM)
    }

    /// What is around it that may be asked about: what means something to the lists, and figures, which may be amounts. Where
    /// it is not known what is pressed, figures of the whole window would be too many.
    fn question(&self, words: &Words) -> Vec<String> {
        let counts = |text: &str| {
            let is_figure = text.contains(|letter: char| letter.is_numeric());
            (self.bounds.is_some() && is_figure) || !words.of_sentence(text).is_empty()
        };
        let near = self.near().map(|(element, _)| element.content.as_str());
        let near = near.filter(|text| counts(text));
        texts(near.chain(self.title()))
    }
}

/// As they are compared later. A clock among them does not count.
fn texts<'t>(texts: impl IntoIterator<Item = &'t str>) -> Vec<String> {
    texts.into_iter().map(timeless).collect()
}

/// Whether nothing can be read in a text but a sign or a letter: `✓`, `Y`.
fn says_nothing(text: &str) -> bool {
    let plain = Plain::of(text);
    plain.characters.is_empty() && plain.words.iter().map(String::len).sum::<usize>() < 2
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

/// How far what stands around a target may count, at this scale of the screen.
pub(crate) fn around(bounds: CaptureRect, scale: f64) -> CaptureRect {
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
