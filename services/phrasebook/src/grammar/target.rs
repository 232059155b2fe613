//! Parser for the names of elements: `the second "Delete" button in the row of "Bob"`, `右上角的"设置"图标`.
//!
//! Unquoted words may belong to the text or qualify it (`First Name`, `Search button`); both readings are kept, and
//! the matcher decides between them on the screen.
//!
//! The screen is not known here.

use motorium_proto::domain::action::FramePart;

use crate::matcher::Relation;

use super::instruction::TargetPhrase;
use super::number::eat_ordinal;
use super::phrase::{lookup, phrase_length};
use super::reader::Reader;
use super::vocabulary::{self, Noun};
use motorium_text::characters::is_ideograph;

/// A target with the noun that names it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct NamedTarget {
    pub(super) aim: TargetPhrase,
    pub(super) noun: Option<Noun>,
}

/// Returns whether the words are a pronoun for the target named last.
pub(super) fn is_pronoun(reader: Reader<'_>) -> bool {
    let length = vocabulary::PRONOUNS
        .iter()
        .find_map(|pronoun| phrase_length(reader.tokens(), pronoun));
    length.is_some_and(|length| length == reader.len())
}

/// Parses the name of an element. `None` if there are no words, or a quoted text stands among unknown words.
pub(super) fn read(reader: Reader<'_>) -> Option<NamedTarget> {
    let reader = reader.trimmed();
    if reader.is_empty() {
        return None;
    }
    with_label(reader).or_else(|| without_bearing(reader))
}

fn without_bearing(reader: Reader<'_>) -> Option<NamedTarget> {
    placed_behind(reader)
        .or_else(|| related(reader))
        .or_else(|| head(reader))
}

/// Parses `the button labelled "OK"`, `写着"确定"的按钮`.
fn with_label(reader: Reader<'_>) -> Option<NamedTarget> {
    if let Some((before, behind)) = reader.around_first(vocabulary::LABEL_PHRASES) {
        let mut named = without_bearing(before).filter(|named| named.aim.text.is_none())?;
        let (text, rest) = match behind.leading_quoted() {
            Some((text, rest)) => (text.to_owned(), rest),
            None => (behind.content()?, behind.skip(behind.len())),
        };
        named.aim.text = Some(text);
        named.aim.literals.clear();
        return with_suffix(named, rest);
    }
    let mut rest = reader;
    rest.eat(vocabulary::DETERMINERS);
    let ordinal = eat_ordinal(&mut rest);
    if !rest.eat(vocabulary::LABEL_PHRASES_CHINESE) {
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

/// Parses what may follow a labelled element: a place, or a relation to another element.
fn with_suffix(mut named: NamedTarget, rest: Reader<'_>) -> Option<NamedTarget> {
    if rest.is_empty() {
        return Some(named);
    }
    if let Some((place, before)) = place_at_end(rest) {
        named.aim.place = Some(place);
        return with_suffix(named, before);
    }
    let mut rest = rest;
    let relation = rest.eat_entry(vocabulary::RELATIONS_BEFORE)?;
    Some(relate(named, relation, read(rest)?))
}

/// Parses `the checkbox next to "Alice"`, `"Alice"旁边的复选框`.
fn related(reader: Reader<'_>) -> Option<NamedTarget> {
    (1..reader.len()).find_map(|at| {
        let (before, behind) = reader.split_at(at);
        if let Some((relation, length)) = lookup(behind.tokens(), vocabulary::RELATIONS_BEFORE) {
            let other = behind.skip(length);
            if is_relation(relation, other) {
                return Some(relate(read_simple(before)?, relation, read(other)?));
            }
        }
        let (relation, length) = lookup(behind.tokens(), vocabulary::RELATIONS_BETWEEN)?;
        let main = behind.skip(length);
        if main.is_empty() {
            return None;
        }
        Some(relate(read_simple(main)?, relation, read_simple(before)?))
    })
}

/// Adds a relation, unless the other element is the screen or a window: everything is in those, so it restricts nothing.
fn relate(mut named: NamedTarget, relation: Relation, other: NamedTarget) -> NamedTarget {
    let is_everywhere = matches!(
        other.noun,
        Some(Noun::Screen | Noun::Window | Noun::Address)
    ) && other.aim.text.is_none();
    if !is_everywhere {
        named.aim.relation = Some((relation, Box::new(other.aim)));
    }
    named
}

/// Returns whether the words after a preposition form a relation. `in`, `on` and `of` occur in many names (`Terms of
/// Service`, `Log in`), so the other side must clearly be an element, and not a place (`on the left`).
fn is_relation(relation: Relation, other: Reader<'_>) -> bool {
    if other.is_empty() || place_alone(other).is_some() {
        return false;
    }
    relation != Relation::Inside || is_unambiguous_target(other)
}

/// Returns whether the words can only name an element: they are quoted, or end in a noun after an article.
pub(super) fn is_unambiguous_target(reader: Reader<'_>) -> bool {
    let mut rest = reader.trimmed();
    if rest
        .leading_quoted()
        .is_some_and(|(_, behind)| behind.is_empty())
    {
        return true;
    }
    let has_article = rest.eat(vocabulary::DETERMINERS)
        | rest.eat(vocabulary::ALL_OF)
        | eat_ordinal(&mut rest).is_some();
    let mut without_noun = rest;
    let has_noun = without_noun.eat_entry_at_end(vocabulary::NOUNS).is_some()
        || rest.eat_entry(vocabulary::NOUNS).is_some();
    has_noun && (has_article || reader.has_quoted() || without_noun.is_empty())
}

fn read_simple(reader: Reader<'_>) -> Option<NamedTarget> {
    placed_behind(reader).or_else(|| head(reader))
}

/// Parses `the icon at the top right of the page`.
fn placed_behind(reader: Reader<'_>) -> Option<NamedTarget> {
    let (place, before) = place_at_end(reader)?;
    let mut named = read(before)?;
    named.aim.place = Some(place);
    Some(named)
}

/// Splits a trailing place off.
fn place_at_end(reader: Reader<'_>) -> Option<(FramePart, Reader<'_>)> {
    (0..reader.len()).find_map(|at| {
        let (before, mut behind) = reader.split_at(at);
        if !behind.eat(&["at", "in", "on", "from", "near"]) {
            return None;
        }
        place_alone(behind).map(|place| (place, before))
    })
}

/// Parses an ordinal or a place alone: `the last`, `第二个`, `at the bottom right`.
pub(super) fn order_or_place(reader: Reader<'_>) -> Option<TargetPhrase> {
    let mut order = reader.trimmed();
    order.eat(vocabulary::DETERMINERS);
    if let Some(ordinal) = eat_ordinal(&mut order).filter(|_| order.is_empty()) {
        return Some(TargetPhrase {
            ordinal: Some(ordinal),
            ..TargetPhrase::default()
        });
    }
    let mut place = reader.trimmed();
    place.eat(&["at", "in", "on"]);
    place_alone(place).map(|place| TargetPhrase {
        place: Some(place),
        ..TargetPhrase::default()
    })
}

/// Parses the words as a place and nothing else.
fn place_alone(reader: Reader<'_>) -> Option<FramePart> {
    let mut rest = reader;
    rest.eat(vocabulary::DETERMINERS);
    let place = rest.eat_entry(vocabulary::PLACES)?;
    rest.eat_all(vocabulary::PLACE_NOUNS);
    rest.is_empty().then_some(place)
}

/// Parses an element without suffixes: article, ordinal, place, text and noun.
fn head(reader: Reader<'_>) -> Option<NamedTarget> {
    let mut rest = reader.trimmed();
    let mut aim = TargetPhrase::default();
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
        // `File`, `Address`: the only word is a noun without a kind, so it is the text.
        return text_of(whole)?.map(|text| NamedTarget {
            aim: TargetPhrase::text(text),
            noun: None,
        });
    }
    if !reader.has_quoted() {
        aim.literals = literals(whole, without_properties, rest);
    }
    Some(NamedTarget { aim, noun })
}

/// Consumes an article, unless it is the whole name (`a`).
fn eat_article(rest: &mut Reader<'_>) -> bool {
    let mut without = *rest;
    let found = without.eat(vocabulary::DETERMINERS) && !without.is_empty();
    if found {
        *rest = without;
    }
    found
}

fn eat_all_of(rest: &mut Reader<'_>, aim: &mut TargetPhrase) -> bool {
    let mut without = *rest;
    let found = without.eat(vocabulary::ALL_OF) && !without.is_empty();
    if found {
        *rest = without;
        aim.all = true;
    }
    found
}

/// Consumes leading ordinals and places.
fn eat_properties(rest: &mut Reader<'_>, aim: &mut TargetPhrase) {
    loop {
        let mut next = *rest;
        let ordinal = eat_ordinal(&mut next);
        let place = if ordinal.is_none() {
            eat_place_before(&mut next)
        } else {
            None
        };
        // `第三项` is an ordinal; `second` and `top` alone are an element's text.
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

/// Consumes `top right`, `页面右上角的`. Chinese requires `的`; without it the words belong to a name (`上方向键`).
fn eat_place_before(rest: &mut Reader<'_>) -> Option<FramePart> {
    let mut next = *rest;
    next.eat(vocabulary::BEFORE_PLACE);
    let start = next;
    let place = next.eat_entry(vocabulary::PLACES)?;
    let is_chinese = start.raw().starts_with(is_ideograph);
    if is_chinese && !next.eat(&["的"]) {
        return None;
    }
    next.eat(&["corner"]);
    *rest = next;
    Some(place)
}

/// Consumes the noun after the text, or before it.
fn eat_noun(rest: &mut Reader<'_>) -> Option<Noun> {
    let (mut behind, mut before) = (*rest, *rest);
    let last = behind.eat_entry_at_end(vocabulary::NOUNS);
    let first = before
        .eat_entry(vocabulary::NOUNS)
        .filter(|_| !before.is_empty());
    // A noun with a kind is more specific than one without (`button ONE`).
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

/// Returns the remaining text of a name: `Some(None)` if there is none, `None` if it is ambiguous.
#[expect(
    clippy::option_option,
    reason = "no text and an ambiguous text are different results, and both end parsing early"
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

/// Returns the alternative texts for unquoted words, longest first.
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

/// Returns whether the target is the mouse pointer itself.
pub(super) fn is_pointer(aim: &TargetPhrase) -> bool {
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
