//! Reads how a thing on the screen is named: `the second "Delete" button in the row of "Bob"`, `右上角的"设置"图标`.
//!
//! Words that are not in quotes may belong to the text or say something about it (`First Name`, `Search button`);
//! both readings are kept, and the screen decides between them.

use motorium_proto::domain::action::Place;

use crate::matcher::Relation;

use super::number::eat_ordinal;
use super::phrase::{lookup, phrase_length};
use super::reader::Reader;
use super::step::Aim;
use super::token::is_ideograph;
use super::words::{self, Noun};

/// A thing as it was named, with the noun that was used.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Named {
    pub(super) aim: Aim,
    pub(super) noun: Option<Noun>,
}

/// Whether the words only point back at the thing named last.
pub(super) fn is_pronoun(reader: Reader<'_>) -> bool {
    let length = words::PRONOUNS
        .iter()
        .find_map(|pronoun| phrase_length(reader.tokens(), pronoun));
    length.is_some_and(|length| length == reader.len())
}

/// Reads the name of a thing. `None` if the words are not one: nothing is there, or a quoted text stands among
/// words that say nothing the phrasebook knows.
pub(super) fn read(reader: Reader<'_>) -> Option<Named> {
    let reader = reader.trimmed();
    if reader.is_empty() {
        return None;
    }
    bearing(reader).or_else(|| without_bearing(reader))
}

fn without_bearing(reader: Reader<'_>) -> Option<Named> {
    placed_behind(reader)
        .or_else(|| related(reader))
        .or_else(|| head(reader))
}

/// `the button labelled "OK"`, `写着"确定"的按钮`.
fn bearing(reader: Reader<'_>) -> Option<Named> {
    if let Some((before, behind)) = reader.around_first(words::BEARING) {
        let mut named = without_bearing(before).filter(|named| named.aim.text.is_none())?;
        let (text, rest) = match behind.leading_quoted() {
            Some((text, rest)) => (text.to_owned(), rest),
            None => (behind.content()?, behind.skip(behind.len())),
        };
        named.aim.text = Some(text);
        named.aim.literals.clear();
        return continued(named, rest);
    }
    let mut rest = reader;
    rest.eat(words::DETERMINERS);
    let ordinal = eat_ordinal(&mut rest);
    if !rest.eat(words::BEARING_CHINESE) {
        return None;
    }
    let (text, mut rest) = rest.leading_quoted()?;
    rest.eat(&["的"]);
    let mut named = head(rest).filter(|named| named.aim.text.is_none())?;
    named.aim.text = Some(text.to_owned());
    named.aim.ordinal = named.aim.ordinal.or(ordinal);
    named.aim.literals.clear();
    Some(named)
}

/// What may follow a thing whose text has been read: a place, or another thing.
fn continued(mut named: Named, rest: Reader<'_>) -> Option<Named> {
    if rest.is_empty() {
        return Some(named);
    }
    if let Some((place, before)) = place_at_end(rest) {
        named.aim.place = Some(place);
        return continued(named, before);
    }
    let mut rest = rest;
    let relation = rest.eat_entry(words::RELATIONS_BEFORE)?;
    Some(relate(named, relation, read(rest)?))
}

/// `the checkbox next to "Alice"`, `"Alice"旁边的复选框`.
fn related(reader: Reader<'_>) -> Option<Named> {
    (1..reader.len()).find_map(|at| {
        let (before, behind) = reader.split_at(at);
        if let Some((relation, length)) = lookup(behind.tokens(), words::RELATIONS_BEFORE) {
            let other = behind.skip(length);
            if relates(relation, other) {
                return Some(relate(read_simple(before)?, relation, read(other)?));
            }
        }
        let (relation, length) = lookup(behind.tokens(), words::RELATIONS_BETWEEN)?;
        let main = behind.skip(length);
        if main.is_empty() {
            return None;
        }
        Some(relate(read_simple(main)?, relation, read_simple(before)?))
    })
}

/// Everything is on the screen and in a window: that says nothing of where a thing lies.
fn relate(mut named: Named, relation: Relation, other: Named) -> Named {
    let is_everywhere = matches!(
        other.noun,
        Some(Noun::Screen | Noun::Window | Noun::Address)
    ) && other.aim.text.is_none();
    if !is_everywhere {
        named.aim.beside = Some((relation, Box::new(other.aim)));
    }
    named
}

/// `in`, `on` and `of` stand in many names (`Terms of Service`, `Log in`): they relate two things only if the
/// other one is plainly a thing. It must not be a place either (`on the left`).
fn relates(relation: Relation, other: Reader<'_>) -> bool {
    if other.is_empty() || place_alone(other).is_some() {
        return false;
    }
    relation != Relation::Inside || is_plainly_a_thing(other)
}

/// Whether the words can only be the name of a thing: they are quoted, or end in a noun behind an article.
pub(super) fn is_plainly_a_thing(reader: Reader<'_>) -> bool {
    let mut rest = reader.trimmed();
    if rest
        .leading_quoted()
        .is_some_and(|(_, behind)| behind.is_empty())
    {
        return true;
    }
    let has_article =
        rest.eat(words::DETERMINERS) | rest.eat(words::ALL_OF) | eat_ordinal(&mut rest).is_some();
    let mut without_noun = rest;
    let has_noun = without_noun.eat_entry_at_end(words::NOUNS).is_some()
        || rest.eat_entry(words::NOUNS).is_some();
    has_noun && (has_article || reader.has_quoted() || without_noun.is_empty())
}

fn read_simple(reader: Reader<'_>) -> Option<Named> {
    placed_behind(reader).or_else(|| head(reader))
}

/// `the icon at the top right of the page`.
fn placed_behind(reader: Reader<'_>) -> Option<Named> {
    let (place, before) = place_at_end(reader)?;
    let mut named = read(before)?;
    named.aim.place = Some(place);
    Some(named)
}

/// The place that the words end with, and what stands before it.
fn place_at_end(reader: Reader<'_>) -> Option<(Place, Reader<'_>)> {
    (0..reader.len()).find_map(|at| {
        let (before, mut behind) = reader.split_at(at);
        if !behind.eat(&["at", "in", "on", "from", "near"]) {
            return None;
        }
        place_alone(behind).map(|place| (place, before))
    })
}

/// An aim that says only which one or where: `the last`, `第二个`, `at the bottom right`.
pub(super) fn order_or_place(reader: Reader<'_>) -> Option<Aim> {
    let mut order = reader.trimmed();
    order.eat(words::DETERMINERS);
    if let Some(ordinal) = eat_ordinal(&mut order).filter(|_| order.is_empty()) {
        return Some(Aim {
            ordinal: Some(ordinal),
            ..Aim::default()
        });
    }
    let mut place = reader.trimmed();
    place.eat(&["at", "in", "on"]);
    place_alone(place).map(|place| Aim {
        place: Some(place),
        ..Aim::default()
    })
}

/// The place, if the words are one and nothing else.
fn place_alone(reader: Reader<'_>) -> Option<Place> {
    let mut rest = reader;
    rest.eat(words::DETERMINERS);
    let place = rest.eat_entry(words::PLACES)?;
    rest.eat_all(words::PLACE_NOUNS);
    rest.is_empty().then_some(place)
}

/// A thing without anything behind it: article, ordinal, place, text and noun.
fn head(reader: Reader<'_>) -> Option<Named> {
    let mut rest = reader.trimmed();
    let mut aim = Aim::default();
    while eat_article(&mut rest) || eat_all_of(&mut rest, &mut aim) {}
    let has_article = rest.len() < reader.trimmed().len();
    let whole = rest;
    eat_properties(&mut rest, &mut aim);
    let without_properties = rest;
    let noun = eat_noun(&mut rest);
    aim.kind = match noun {
        Some(Noun::Kind(kind)) => Some(kind),
        _ => None,
    };
    aim.text = text_of(rest)?;
    let has_properties = aim.ordinal.is_some() || aim.place.is_some();
    let is_name = noun.is_none()
        || aim.kind.is_none()
            && !has_article
            && !has_properties
            && !matches!(noun, Some(Noun::Screen));
    if aim.text.is_none() && is_name && !(has_properties && rest.is_empty()) {
        // `File`, `Address`: the only word is a noun that names no kind, so it is the text.
        return text_of(whole)?.map(|text| Named {
            aim: Aim::text(text),
            noun: None,
        });
    }
    if !reader.has_quoted() {
        aim.literals = literals(whole, without_properties, rest);
    }
    Some(Named { aim, noun })
}

/// Eats an article, unless it is the whole name (`a`).
fn eat_article(rest: &mut Reader<'_>) -> bool {
    let mut without = *rest;
    let found = without.eat(words::DETERMINERS) && !without.is_empty();
    if found {
        *rest = without;
    }
    found
}

fn eat_all_of(rest: &mut Reader<'_>, aim: &mut Aim) -> bool {
    let mut without = *rest;
    let found = without.eat(words::ALL_OF) && !without.is_empty();
    if found {
        *rest = without;
        aim.all = true;
    }
    found
}

/// Eats ordinals and places that stand before the thing.
fn eat_properties(rest: &mut Reader<'_>, aim: &mut Aim) {
    loop {
        let mut next = *rest;
        let ordinal = eat_ordinal(&mut next);
        let place = if ordinal.is_none() {
            eat_place_before(&mut next)
        } else {
            None
        };
        // `第三项` counts things; `second` and `top` alone are the text of one.
        let is_whole_name = next.is_empty() && !rest.raw().starts_with(is_ideograph);
        if ordinal.is_none() && place.is_none() || is_whole_name {
            return;
        }
        aim.ordinal = aim.ordinal.or(ordinal);
        aim.place = aim.place.or(place);
        *rest = next;
        eat_article(rest);
    }
}

/// `top right`, `页面右上角的`. Chinese wants its `的`, without which the words belong to a name (`上方向键`).
fn eat_place_before(rest: &mut Reader<'_>) -> Option<Place> {
    let mut next = *rest;
    next.eat(words::BEFORE_PLACE);
    let start = next;
    let place = next.eat_entry(words::PLACES)?;
    let is_chinese = start.raw().starts_with(is_ideograph);
    if is_chinese && !next.eat(&["的"]) {
        return None;
    }
    next.eat(&["corner"]);
    *rest = next;
    Some(place)
}

/// Eats the noun behind the text, or before it.
fn eat_noun(rest: &mut Reader<'_>) -> Option<Noun> {
    let (mut behind, mut before) = (*rest, *rest);
    let last = behind.eat_entry_at_end(words::NOUNS);
    let first = before
        .eat_entry(words::NOUNS)
        .filter(|_| !before.is_empty());
    // A word that names a kind says more than one that does not (`button ONE`).
    let last_is_kind = matches!(last, Some(Noun::Kind(_)));
    if last.is_some() && (last_is_kind || !matches!(first, Some(Noun::Kind(_)))) {
        behind.eat_end(&["的"]);
        *rest = behind;
        return last;
    }
    if first.is_some() {
        *rest = before.trimmed();
    }
    first
}

/// The text that is left of a name: `Some(None)` if there is none, `None` if it cannot be told.
#[expect(
    clippy::option_option,
    reason = "no text and no answer are two things, and both end a reading early"
)]
fn text_of(rest: Reader<'_>) -> Option<Option<String>> {
    let rest = rest.trimmed();
    if rest.is_empty() {
        return Some(None);
    }
    let text = rest.content()?;
    let is_mixed = rest.has_quoted() && rest.sole_quoted().is_none();
    (!is_mixed && !text.trim().is_empty()).then_some(Some(text))
}

/// The other readings of unquoted words, the fullest first.
fn literals(whole: Reader<'_>, without_properties: Reader<'_>, text: Reader<'_>) -> Vec<String> {
    let mut readings = vec![whole];
    if !text.is_empty() {
        let behind_text = whole
            .tokens()
            .iter()
            .filter(|token| token.span.start >= text.span().end);
        readings.push(whole.split_at(whole.len() - behind_text.count()).0);
        readings.push(without_properties);
    }
    let mut literals: Vec<String> = Vec::new();
    for literal in readings.into_iter().filter_map(Reader::content) {
        if Some(&literal) != text.content().as_ref() && !literals.contains(&literal) {
            literals.push(literal);
        }
    }
    literals
}

/// Whether the thing is the mouse pointer itself.
pub(super) fn is_pointer(aim: &Aim) -> bool {
    let text = aim.text.as_deref().unwrap_or_default().to_lowercase();
    [
        "mouse",
        "pointer",
        "cursor",
        "mouse pointer",
        "mouse cursor",
        "鼠标",
        "光标",
        "指针",
        "鼠标指针",
    ]
    .contains(&text.as_str())
}
