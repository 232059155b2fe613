//! The target of an action on the screen, its label and its surroundings.
//!
//! - `content`: names of content, which are no orders
//! - `focus`: what a press carries out of the planner's intent
//! - `keyboard`: the target of keys and text, and what they press or fill in
//! - `terminal`: the question that a submitted terminal line answers
//! - `address`: address bars of browsers, and the meaning of addresses
//! - `typed_address`: the addresses that a text in an address bar may open
//!
//! Everything is derived from one screen. The meaning of a text comes from the lexicon (`motorium_text::lexicon`), and the
//! attributes for policies are assembled in [`crate::context`].
//!
//! It does not decide: `engine` does.

mod address;
mod content;
mod focus;
mod keyboard;
mod terminal;
pub(crate) mod typed_address;

use std::collections::BTreeSet;

use motorium_proto::domain::element::{Element, ElementKind};
use motorium_proto::domain::geometry::{CapturePoint, CaptureRect};
use url::Url;

use self::address::meanings_of_address;
pub(super) use self::address::{hosts, origins, schemes};
use self::content::{is_entry, is_titled, shows_content, without_name};
use self::focus::{first_step, intent_of_focusing};
use super::action::{ActionCategory, ActionInputs, category};
use motorium_task::approval_context::is_dialog;
use motorium_task::screen::{bounds_on_display, without_time_digits};
use motorium_text::browser_words::{answers_leave_question, leave_question, stays_on_page};
use motorium_text::fold::{self, NormalisedText};
use motorium_text::lexicon::{AFFIRM, DELETE, Lexicon, Meanings, PAY};

/// Reach of a target's surroundings to each side, above and below, in pixels at scale 1: the width of a dialog to both sides,
/// its height above, and a note below.
const SURROUNDINGS_REACH: (i32, i32, i32) = (360, 300, 90);
/// Maximum distance of a one-word heading to each side and above, in pixels at scale 1. Smaller than the surroundings, because
/// a single word farther away is likely another button.
const HEADING_REACH: (i32, i32) = (160, 150);
/// Kinds of elements that may be icons, whose content is a name of the icon rather than a text.
const ICON_KINDS: [ElementKind; 3] = [ElementKind::Icon, ElementKind::Button, ElementKind::Image];
/// Minimum number of words of a sentence. A single word beside a button is likely another button.
const MIN_SENTENCE_WORDS: usize = 2;
/// Minimum number of characters of a sentence in scripts without spaces.
const MIN_SENTENCE_CHARS: usize = 5;

/// Minimum length of a link that may be a sentence, in words and in ideographs.
const MIN_LONG_LINK_WORDS: usize = 5;
const MIN_LONG_LINK_IDEOGRAPHS: usize = 9;

/// The target of an action and the screen around it.
pub(super) struct TargetContext<'a> {
    inputs: &'a ActionInputs<'a>,
    /// Bounding box of the target or, for keys and text, of the keyboard focus if known.
    bounds: Option<CaptureRect>,
    pub(super) element: Option<&'a Element>,
    /// Addresses that are, or may be, opened.
    pub(super) addresses: Vec<Url>,
}

impl<'a> TargetContext<'a> {
    /// Finds the target of an action, whose argument is this one, in a window of these kinds of applications.
    pub(super) fn of(
        inputs: &'a ActionInputs<'a>,
        applications: &BTreeSet<String>,
        argument: &str,
    ) -> Self {
        let point = inputs.action.targets().last().copied();
        let at_point =
            point.map(|point| CaptureRect::new(point, CapturePoint::new(point.x + 1, point.y + 1)));
        let bounds = match category(inputs.action) {
            ActionCategory::KeyPress | ActionCategory::TextEntry => {
                keyboard::focused(inputs).or(inputs.pointed_at)
            }
            // A click without a point goes to the current pointer position.
            ActionCategory::Press => inputs.target.or(at_point).or(inputs.pointed_at),
            ActionCategory::ReadOnly | ActionCategory::Drop | ActionCategory::Navigation => {
                inputs.target.or(at_point)
            }
        };
        let element = bounds.and_then(|bounds| element_at(inputs, bounds));
        let mut target = Self {
            inputs,
            bounds,
            element,
            addresses: Vec::new(),
        };
        target.addresses = target.opened_addresses(applications, argument);
        target
    }

    fn bounds_of(&self, element: &Element) -> CaptureRect {
        bounds_on_display(element, self.inputs.frame)
    }

    /// Returns the label of the target, joined with adjacent texts on the same line. Text recognition may split a word in two.
    pub(super) fn text(&self) -> String {
        let Some(element) = self.element else {
            return String::new();
        };
        let own = self.bounds_of(element);
        let mut row: Vec<_> = self
            .elements()
            .map(|(other, bounds)| (bounds, other))
            .filter(|(bounds, other)| {
                touches(own, *bounds) && !are_two_controls(element, own, other, *bounds)
            })
            .collect();
        row.sort_by_key(|(bounds, _)| bounds.min.x);
        let texts = row.iter().map(|(_, other)| other.content.trim());
        let texts: Vec<&str> = texts.filter(|text| !text.is_empty()).collect();
        texts.join(" ")
    }

    fn elements(&self) -> impl Iterator<Item = (&'a Element, CaptureRect)> {
        let inputs = self.inputs;
        let elements = inputs.scene.elements.iter();
        elements.map(|element| (element, bounds_on_display(element, inputs.frame)))
    }

    fn in_window(&self) -> impl Iterator<Item = (&'a Element, CaptureRect)> {
        let window = self.inputs.frame.active_window();
        let window = window.map(|window| window.bounds);
        self.elements()
            .filter(move |(_, bounds)| window.is_none_or(|window| window.contains(bounds.center())))
    }

    pub(super) fn meanings(
        &self,
        words: &Lexicon,
        category: ActionCategory,
        applications: &BTreeSet<String>,
        argument: &str,
    ) -> Meanings {
        match category {
            ActionCategory::ReadOnly => Meanings::new(),
            ActionCategory::Press => self.meanings_of_press(words),
            ActionCategory::Drop => self.meanings_of_drop(words),
            ActionCategory::KeyPress => self.of_keys(words, applications),
            ActionCategory::TextEntry => self.meanings_of_entry(words, applications, argument),
            ActionCategory::Navigation => {
                let mut meanings = meanings_of_address(words, argument);
                meanings.extend(self.meanings_of_opened_addresses(words));
                meanings
            }
        }
    }

    fn meanings_of_drop(&self, words: &Lexicon) -> Meanings {
        let onto_entry = self.element.filter(|element| is_entry(element));
        let mut meanings = match onto_entry {
            // It says where something is put in a list.
            Some(entry) if is_titled(entry) => Meanings::new(),
            _ => words.meanings_of_drop(&self.text()),
        };
        let mut intent = self.inputs.planned.intent.clone();
        for entry in self.dragged().into_iter().chain(onto_entry) {
            intent = without_name(&intent, &entry.content);
        }
        meanings.extend(words.meanings_of_sentence(&intent));
        if self.drags_within_element() {
            meanings.extend(self.meanings_of_press(words));
        }
        meanings
    }

    /// Returns the element at which a drag starts.
    fn dragged(&self) -> Option<&'a Element> {
        let from = *self.inputs.action.targets().next()?;
        let start = CaptureRect::new(from, CapturePoint::new(from.x + 1, from.y + 1));
        element_at(self.inputs, start)
    }

    /// Returns true if a drag starts and ends on the same element. This presses it or moves a slider.
    fn drags_within_element(&self) -> bool {
        let first = self.inputs.action.targets().next();
        let element = self.element.map(|element| self.bounds_of(element));
        element
            .zip(first)
            .is_some_and(|(bounds, first)| bounds.contains(*first))
    }

    /// Returns true if a text is directly above the target, like the heading of a dialog.
    fn is_headed_by(&self, text: CaptureRect) -> bool {
        let Some(own) = self.bounds else {
            return false;
        };
        let scale = self.inputs.frame.scale;
        let (aside, above) = HEADING_REACH;
        let reach = |length: i32| (f64::from(length) * scale).round() as i32;
        let is_above = text.max.y <= own.min.y && own.min.y - text.max.y <= reach(above);
        is_above && text.min.x <= own.max.x + reach(aside) && text.max.x >= own.min.x - reach(aside)
    }

    fn meanings_of_press(&self, words: &Lexicon) -> Meanings {
        let text = self.text();
        if let Some(intent) = self.intent_of_viewing(&text) {
            return words.meanings_of_sentence(&intent);
        }
        let mut meanings = self.meanings_of_text(words, &text);
        let says_what_it_does = !has_no_words(&text) && !meanings.contains(AFFIRM);
        let intent = match says_what_it_does {
            true => first_step(self.intent_of_press()),
            false => self.intent_of_press(),
        };
        meanings.extend(words.meanings_of_sentence(intent));
        if self.has_no_label(&text) || meanings.contains(AFFIRM) {
            meanings.extend(self.surroundings(words));
        }
        meanings.extend(self.thrown_away_by(&text));
        // Clicking a password field enters nothing into it.
        meanings.remove("password");
        meanings
    }

    /// Returns the meaning of a button that tells a browser to leave a page with unsaved changes.
    fn thrown_away_by(&self, button: &str) -> Option<String> {
        let leaves = answers_leave_question(button) && !stays_on_page(button);
        (leaves && self.asks_to_leave()).then(|| DELETE.to_owned())
    }

    /// Returns true if a browser asks whether a page with unsaved changes may be left.
    pub(super) fn asks_to_leave(&self) -> bool {
        // The question may be a window of its own, or be drawn into the page's.
        let elements = self.inputs.scene.elements.iter();
        leave_question(elements.map(|element| element.content.as_str())).is_some()
    }

    /// Returns the intent without the name of the content that the target shows; `None` if it may be more than a name. In a
    /// dialog, an entry of a list may be an answer.
    fn intent_of_viewing(&self, text: &str) -> Option<String> {
        let intent = self.intent_of_press();
        let element = self.element.filter(|_| self.title().is_none())?;
        shows_content(element, text, intent).then(|| without_name(intent, text))
    }

    /// Returns the part of the intent that a press carries out. In a dialog, a field may be a button that looks like one.
    fn intent_of_press(&self) -> &str {
        let intent = &self.inputs.planned.intent;
        if self.is_field() && self.title().is_none() {
            intent_of_focusing(intent)
        } else {
            intent
        }
    }

    /// Returns true if the target is a text field, or a text in one.
    pub(super) fn is_field(&self) -> bool {
        let Some(element) = self.element else {
            return false;
        };
        let centre = self.bounds_of(element).center();
        let is_in_field = || {
            self.elements()
                .any(|(other, bounds)| is_text_field(other) && bounds.contains(centre))
        };
        is_text_field(element) || (element.kind == ElementKind::Label && is_in_field())
    }

    /// Returns the meanings of a label or icon name. A label that is only a price is a buy button.
    fn meanings_of_text(&self, words: &Lexicon, text: &str) -> Meanings {
        let kind = self.element.map(|element| element.kind);
        if kind == Some(ElementKind::Icon) && words.is_control_icon(text) {
            return Meanings::new();
        }
        let mut meanings = words.meanings_of_label(text);
        if kind.is_some_and(|kind| ICON_KINDS.contains(&kind)) {
            meanings.extend(words.meanings_of_icon(text));
        }
        if fold::is_price(text) {
            meanings.insert(PAY.to_owned());
        }
        meanings
    }

    /// Returns the meanings of the surroundings: nearby sentences, headings above, and the title of a dialog.
    fn surroundings(&self, words: &Lexicon) -> Meanings {
        let near = self.near().filter(|(element, bounds)| {
            !self.is_other_button(element, *bounds) && !self.explains_button_below(words, *bounds)
        });
        let texts = near
            .filter(|(element, bounds)| is_sentence(&element.content) || self.is_headed_by(*bounds))
            .map(|(element, _)| element.content.as_str());
        let mut meanings: Meanings = texts
            .chain(self.title())
            .flat_map(|text| words.meanings_of_sentence(text))
            .collect();
        meanings.remove(AFFIRM);
        meanings
    }

    /// Returns true for another button or link than the target: its label says what it does itself, and asks nothing. A question is
    /// not taken for one, however it was detected.
    fn is_other_button(&self, element: &Element, bounds: CaptureRect) -> bool {
        let is_target = self.bounds.is_some_and(|own| own.intersects(&bounds));
        let is_question = element.content.trim_end().ends_with(['?', '？']);
        (is_button(element) || is_short_link(element)) && !is_target && !is_question
    }

    /// Returns true for a text below the target that is closer to a risky button below it, and so tells what that one does.
    fn explains_button_below(&self, words: &Lexicon, text: CaptureRect) -> bool {
        let below = |upper: CaptureRect, lower: CaptureRect| {
            let overlaps = upper.min.x < lower.max.x && lower.min.x < upper.max.x;
            (overlaps && lower.min.y >= upper.max.y).then(|| lower.min.y - upper.max.y)
        };
        let Some(own) = self.bounds.filter(|own| text.min.y >= own.max.y) else {
            return false;
        };
        let distance = text.min.y - own.max.y;
        self.in_window().any(|(button, bounds)| {
            let is_closer = below(text, bounds).is_some_and(|gap| gap < distance);
            let is_risky = || {
                let mut meanings = words.meanings_of_label(&button.content);
                meanings.remove(AFFIRM);
                !meanings.is_empty()
            };
            is_button(button) && is_closer && is_risky()
        })
    }

    /// Returns the elements around the target, in the active window.
    fn near(&self) -> impl Iterator<Item = (&'a Element, CaptureRect)> {
        let scale = self.inputs.frame.scale;
        let area = self.bounds.map(|bounds| surrounding_area(bounds, scale));
        self.in_window()
            .filter(move |(_, bounds)| area.is_none_or(|area| area.contains(bounds.center())))
    }

    /// Returns the title of the active window, if it is a dialog.
    fn title(&self) -> Option<&'a str> {
        let frame = self.inputs.frame;
        let window = frame.active_window()?;
        is_dialog(window, frame).then_some(window.title.as_str())
    }

    /// Returns the texts beside the target that were used to judge it.
    pub(super) fn context_texts(
        &self,
        words: &Lexicon,
        category: ActionCategory,
        applications: &BTreeSet<String>,
        argument: &str,
    ) -> Vec<String> {
        let in_terminal = applications.contains("terminal");
        match category {
            ActionCategory::Press if self.depends_on_surroundings(words) => self.question(words),
            ActionCategory::KeyPress if in_terminal && self.ends_line_of_terminal() => {
                texts(self.last_lines())
            }
            ActionCategory::KeyPress if self.answers() => self.question(words),
            ActionCategory::TextEntry if in_terminal => texts(self.last_lines()),
            ActionCategory::TextEntry if argument.contains('\n') => {
                [vec![self.label()], self.question(words)].concat()
            }
            ActionCategory::TextEntry => vec![self.label()],
            ActionCategory::ReadOnly
            | ActionCategory::Press
            | ActionCategory::Drop
            | ActionCategory::KeyPress
            | ActionCategory::Navigation => Vec::new(),
        }
    }

    /// Returns true if the label is only an affirmation or has no words, so that the surroundings count.
    fn depends_on_surroundings(&self, words: &Lexicon) -> bool {
        let text = self.text();
        self.has_no_label(&text) || self.meanings_of_text(words, &text).contains(AFFIRM)
    }

    /// Returns true if nothing on the target tells what a press does. An empty text field of a page only takes the focus, whatever is
    /// near it; one with a sign in it, or in a dialog, may be a button that looks like a field.
    fn has_no_label(&self, text: &str) -> bool {
        let is_empty_field = self.is_field() && text.trim().is_empty() && self.title().is_none();
        has_no_words(text) && !is_empty_field
    }

    /// Returns the surrounding texts that may be part of a question: texts with a meaning, and texts with digits, which may be
    /// amounts. If the target is not known, digits are ignored, because the whole window would match.
    fn question(&self, words: &Lexicon) -> Vec<String> {
        let counts = |text: &str| {
            let is_figure = text.contains(|letter: char| letter.is_numeric());
            (self.bounds.is_some() && is_figure) || !words.meanings_of_sentence(text).is_empty()
        };
        let near = self.near().map(|(element, _)| element.content.as_str());
        let near = near.filter(|text| counts(text));
        texts(near.chain(self.title()))
    }
}

/// Returns texts in the form in which they are compared later, without the digits of clocks.
fn texts<'t>(texts: impl IntoIterator<Item = &'t str>) -> Vec<String> {
    texts.into_iter().map(without_time_digits).collect()
}

/// Returns true if a text has no words, only a symbol or a letter such as `✓` or `Y`.
fn has_no_words(text: &str) -> bool {
    let plain = NormalisedText::of(text);
    let is_number = plain.words.iter().all(|word| word.parse::<u64>().is_ok());
    // A single letter is a symbol or a mnemonic. One ideograph may be a word, such as `删`, and a digit is a page or a day.
    let is_short = plain.words.iter().map(String::len).sum::<usize>() < 2;
    plain.characters.is_empty() && is_short && (plain.words.is_empty() || !is_number)
}

/// Returns the smallest element that contains the centre of a box, or whose centre is in the box.
fn element_at<'a>(inputs: &ActionInputs<'a>, bounds: CaptureRect) -> Option<&'a Element> {
    let centre = bounds.center();
    let placed = inputs.scene.elements.iter();
    let placed = placed.map(|element| (element, bounds_on_display(element, inputs.frame)));
    placed
        .filter(|(_, other)| other.contains(centre) || bounds.contains(other.center()))
        // The smallest box is the control itself; larger ones are the panes around it.
        .min_by_key(|(_, other)| i64::from(other.width()) * i64::from(other.height()))
        .map(|(element, _)| element)
}

/// Returns true if two boxes overlap or are adjacent on one line. A gap of a third of the line height is narrower than a space
/// between separate labels.
fn touches(own: CaptureRect, other: CaptureRect) -> bool {
    let height = own.height().min(other.height()).max(1);
    // Boxes on one line share at least half of the height of the lower one; text of the next line shares less.
    let in_line = own.min.y.max(other.min.y) + height / 2 <= own.max.y.min(other.max.y);
    let gap = own.min.x.max(other.min.x) - own.max.x.min(other.max.x);
    in_line && gap <= height / 3
}

fn is_button(element: &Element) -> bool {
    element.kind == ElementKind::Button && element.interactable
}

fn is_text_field(element: &Element) -> bool {
    element.kind == ElementKind::TextField
}

/// Returns true for a link that is named like a button. A longer one may be a sentence that is to be agreed to.
fn is_short_link(element: &Element) -> bool {
    let plain = NormalisedText::of(&element.content);
    let is_short = plain.words.len() < MIN_LONG_LINK_WORDS
        && plain.characters.chars().count() < MIN_LONG_LINK_IDEOGRAPHS;
    element.kind == ElementKind::Link && element.interactable && is_short
}

/// Returns true for a control whose label is a text of its own.
fn is_control(element: &Element) -> bool {
    let kinds = [
        ElementKind::Button,
        ElementKind::Link,
        ElementKind::Tab,
        ElementKind::MenuItem,
        ElementKind::ListItem,
    ];
    kinds.contains(&element.kind) && element.interactable
}

/// Minimum distance of two buttons with a label each, in pixels. The space between two words of HTML is wider, and a label that was
/// cut in two has none.
const MIN_BUTTON_GAP: i32 = 3;

/// Returns true for two controls beside each other, as in a toolbar or a row of a table: they have a label each.
fn are_two_controls(
    element: &Element,
    own: CaptureRect,
    other: &Element,
    bounds: CaptureRect,
) -> bool {
    let gap = own.min.x.max(bounds.min.x) - own.max.x.min(bounds.max.x);
    let are_buttons = is_button(element) && is_button(other);
    let are_controls = is_control(element) && is_control(other);
    // Chinese has no spaces within a label.
    let are_chinese = is_chinese_word(&element.content) && is_chinese_word(&other.content);
    // A quarter of the height is wider than a space. A link may be found in several pieces, with a space between them.
    let wide_gap = (own.height().min(bounds.height()) / 4).max(MIN_BUTTON_GAP);
    let min_gap = match are_buttons || are_chinese {
        true => MIN_BUTTON_GAP,
        false => wide_gap,
    };
    are_controls && gap >= min_gap
}

/// Returns true for a text of two ideographs or more, and nothing else. A single one may be a part of a label that is written apart.
fn is_chinese_word(text: &str) -> bool {
    let plain = NormalisedText::of(text);
    plain.words.is_empty() && plain.characters.chars().count() >= 2
}

/// Returns the area around a target whose texts may count, for a display scale.
pub fn surrounding_area(bounds: CaptureRect, scale: f64) -> CaptureRect {
    let scaled = |length: i32| (f64::from(length) * scale).round() as i32;
    let (aside, above, below) = SURROUNDINGS_REACH;
    CaptureRect::new(
        CapturePoint::new(bounds.min.x - scaled(aside), bounds.min.y - scaled(above)),
        CapturePoint::new(bounds.max.x + scaled(aside), bounds.max.y + scaled(below)),
    )
}

fn is_sentence(text: &str) -> bool {
    text.split_whitespace().count() >= MIN_SENTENCE_WORDS
        || text.ends_with(['?', '？', '!', '！'])
        || text.chars().filter(|letter| !letter.is_ascii()).count() >= MIN_SENTENCE_CHARS
}
