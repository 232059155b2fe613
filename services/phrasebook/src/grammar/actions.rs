//! Parsers for the clauses that press keys, scroll, wait, drag and check.
//!
//! Pure: no key is pressed here.

use motorium_proto::domain::action::Button;

use super::ParseErrorKind;
use super::arguments::{Arguments, ParsedInstruction, PhraseRole, Result};
use super::click::click;
use super::instruction::{Direction, Instruction, ScrollExtent, TargetPhrase};
use super::reader::Reader;
use super::sentence::verb_at;
use super::target;
use super::token::TokenKind;
use super::vocabulary::{self, Noun, Verb};
use super::{keys, number};

/// Parses a key press where the words name keys, otherwise a click.
pub(super) fn press(arguments: &Arguments<'_>) -> Result<Vec<ParsedInstruction>> {
    let mut rest = arguments.rest;
    let repeat = number::eat_times_at_end(&mut rest)
        .or_else(|| number::eat_times(&mut rest))
        .unwrap_or(1);
    if let Some(keys) = key_word(rest) {
        return arguments.one(Instruction::Press { keys, repeat });
    }
    let item = |item: Reader<'_>| {
        let keys = key_word(item)?;
        Some(arguments.item(Instruction::Press { keys, repeat }, item.span()))
    };
    let readings: Option<Vec<ParsedInstruction>> =
        rest.list_items().into_iter().map(item).collect();
    match readings {
        Some(readings) if !readings.is_empty() => Ok(readings),
        _ if ends_with_key_noun(rest) => arguments.fail(ParseErrorKind::UnknownKey {
            name: rest.raw().to_owned(),
        }),
        _ => click(arguments, Button::Left, 1),
    }
}

/// Returns the chord that the words name. A single quoted character is the text of a button, not a key.
fn key_word(words: Reader<'_>) -> Option<Vec<motorium_proto::domain::key::Key>> {
    if let Some(keys) = keys::format_chord(words, false).filter(|_| !is_quoted_character(words)) {
        return Some(keys);
    }
    let mut without_noun = words;
    let surely = without_noun.eat_entry_at_end(vocabulary::NOUNS) == Some(Noun::Key);
    if surely {
        keys::format_chord(without_noun, true)
    } else {
        None
    }
}

fn is_quoted_character(words: Reader<'_>) -> bool {
    words
        .trimmed()
        .sole_quoted()
        .is_some_and(|text| text.chars().count() == 1)
}

/// Returns whether the words end in an explicit `key`. Chinese also calls a button a key (`确定键`), so only English counts.
fn ends_with_key_noun(words: Reader<'_>) -> bool {
    let mut words = words;
    let is_english = words
        .tokens()
        .last()
        .is_some_and(|token| token.word().is_some());
    is_english && words.eat_entry_at_end(vocabulary::NOUNS) == Some(Noun::Key)
}

/// Parses `hold Shift for 2 seconds`, `按住Ctrl点击"A"`.
pub(super) fn hold(arguments: &Arguments<'_>) -> Result<Vec<ParsedInstruction>> {
    let rest = arguments.rest.trimmed();
    if let Some(readings) = held_click(arguments, rest) {
        return readings;
    }
    let (names, duration) = match rest.around_last(&["for"]) {
        Some((names, mut bound)) => (
            names,
            number::eat_duration(&mut bound).filter(|_| bound.is_empty()),
        ),
        None => split_trailing_duration(rest),
    };
    let mut names = names;
    let surely = names.eat_entry_at_end(vocabulary::NOUNS) == Some(Noun::Key);
    let names = if surely {
        names
    } else {
        rest_or(names, rest, duration.is_some())
    };
    match keys::format_chord(names, true) {
        Some(keys) => arguments.one(Instruction::Hold { keys, duration }),
        None => arguments.fail(ParseErrorKind::UnknownKey {
            name: names.raw().to_owned(),
        }),
    }
}

/// Returns the key names, or all words if no duration was split off.
fn rest_or<'a>(names: Reader<'a>, rest: Reader<'a>, has_duration: bool) -> Reader<'a> {
    if has_duration { names } else { rest }
}

/// Parses a click with held keys in one clause.
fn held_click<'a>(
    arguments: &Arguments<'a>,
    rest: Reader<'a>,
) -> Option<Result<Vec<ParsedInstruction>>> {
    let (at, verb, length) =
        (1..rest.len()).find_map(|at| match verb_at(&rest.tokens()[at..]) {
            Some((verb @ Verb::Click(..), length)) => Some((at, verb, length)),
            _ => None,
        })?;
    let mut names = rest.split_at(at).0;
    names.eat_end(&["and", "while", "并", "再", "同时"]);
    names.eat_entry_at_end(vocabulary::NOUNS);
    let modifiers = keys::format_chord(names, true).filter(|keys| keys::is_modifiers(keys))?;
    let Verb::Click(button, count) = verb else {
        return None;
    };
    let mut inner = arguments.with_rest(rest.skip(at + length));
    inner.modifiers = modifiers;
    Some(click(&inner, button, count))
}

/// Splits a trailing duration off, as in `Shift 3 秒`.
fn split_trailing_duration(rest: Reader<'_>) -> (Reader<'_>, Option<std::time::Duration>) {
    let found = (1..rest.len()).find_map(|at| {
        let (before, mut tail) = rest.split_at(at);
        let duration = number::eat_duration(&mut tail)?;
        tail.is_empty().then_some((before, duration))
    });
    found.map_or((rest, None), |(before, duration)| (before, Some(duration)))
}

/// Parses `scroll down 3 notches in "List"`, `scroll until "A" appears`, `滚动到底部`.
pub(super) fn scroll(
    arguments: &Arguments<'_>,
    direction: Option<Direction>,
) -> Result<Vec<ParsedInstruction>> {
    let mut rest = arguments.rest.trimmed();
    let mut direction = direction.or_else(|| rest.eat_entry(vocabulary::DIRECTIONS));
    let mut extent = ScrollExtent::Default;
    if let Some((before, end)) = end_of(rest) {
        (rest, extent) = (before, ScrollExtent::End);
        direction = Some(end);
    } else if let Some((before, text)) = until_shown(arguments, rest)? {
        (rest, extent) = (before, ScrollExtent::UntilShown(text));
    } else if let Some((before, amount)) = amount(rest) {
        (rest, extent) = (before, amount);
    }
    direction = direction.or_else(|| rest.eat_entry_at_end(vocabulary::DIRECTIONS));
    let place = arguments
        .before(PhraseRole::Location)
        .or(arguments.before(PhraseRole::Object));
    let inside = scrolled_thing(arguments, place.unwrap_or(rest))?;
    arguments.one(Instruction::Scroll {
        direction: direction.unwrap_or(Direction::Down),
        extent,
        inside,
    })
}

/// Returns the end of the scroll range that the words name, and the words before it.
fn end_of(rest: Reader<'_>) -> Option<(Reader<'_>, Direction)> {
    (0..rest.len()).find_map(|at| {
        let (before, mut end) = rest.split_at(at);
        let direction = end.eat_entry(vocabulary::ENDS)?;
        end.eat(&["of"]);
        end.eat_all(&[
            "the", "page", "text", "screen", "document", "window", "list",
        ]);
        end.is_empty().then_some((before, direction))
    })
}

/// Returns the text to scroll to, and the words before it.
fn until_shown<'a>(
    arguments: &Arguments<'a>,
    rest: Reader<'a>,
) -> Result<Option<(Reader<'a>, String)>> {
    if let Some((text, behind)) = rest.leading_quoted()
        && (behind.is_empty() || behind.raw().eq_ignore_ascii_case("into view"))
    {
        return Ok(Some((rest.split_at(0).0, text.to_owned())));
    }
    let found = (0..rest.len()).find_map(|at| {
        let (before, mut behind) = rest.split_at(at);
        behind
            .eat(&["until", "till", "to", "直到", "到", "至"])
            .then_some((before, behind))
    });
    let Some((before, condition)) = found else {
        return Ok(None);
    };
    let mut place = condition;
    place.eat(vocabulary::DETERMINERS);
    if place.eat_entry(vocabulary::PLACES).is_some() && !condition.has_quoted() {
        return arguments.fail(ParseErrorKind::TrailingWords {
            words: place.raw().to_owned(),
        });
    }
    let (text, shown) = predicate(arguments, condition)?;
    if shown {
        Ok(Some((before, text)))
    } else {
        arguments.fail(ParseErrorKind::InvalidTarget)
    }
}

/// Returns the scroll distance in notches or pixels, and the words before it.
fn amount(rest: Reader<'_>) -> Option<(Reader<'_>, ScrollExtent)> {
    (0..rest.len()).find_map(|at| {
        let (before, mut behind) = rest.split_at(at);
        behind.eat(&["by", "for"]);
        if behind.eat(&[
            "a bit",
            "a little",
            "a little bit",
            "a page",
            "some more",
            "more",
            "further",
            "一点",
            "一些",
            "一页",
            "一下",
        ]) && behind.is_empty()
        {
            return Some((before, ScrollExtent::Default));
        }
        if behind.eat(&["once"]) && behind.is_empty() {
            return Some((before, ScrollExtent::Default));
        }
        let number = number::eat_count(&mut behind)?;
        let extent = if behind.eat(vocabulary::PIXELS) {
            ScrollExtent::Pixels(number)
        } else {
            ScrollExtent::Notches(number)
        };
        behind.eat(vocabulary::NOTCHES);
        behind.is_empty().then_some((before, extent))
    })
}

/// Returns the element to scroll; `None` for the page, or if no element is named.
fn scrolled_thing<'a>(
    arguments: &Arguments<'a>,
    words: Reader<'a>,
) -> Result<Option<TargetPhrase>> {
    let mut words = words.trimmed();
    words.eat(&["in", "inside", "within", "on", "of", "over"]);
    words.eat_end(vocabulary::LOCATIVES);
    let mut page = words;
    page.eat(vocabulary::DETERMINERS);
    page.eat(&[
        "page",
        "screen",
        "window",
        "document",
        "web page",
        "view",
        "页面",
        "网页",
        "屏幕",
        "窗口",
        "鼠标",
        "滚轮",
        "鼠标滚轮",
    ]);
    if page.is_empty() {
        Ok(None)
    } else {
        arguments.aim(words).map(Some)
    }
}

/// Parses `wait 2 seconds`, `wait until "Done" appears`, `等待"完成"出现`.
pub(super) fn wait(arguments: &Arguments<'_>) -> Result<Vec<ParsedInstruction>> {
    let mut rest = arguments.rest.trimmed();
    if rest.eat(vocabulary::UNTIL) && rest.is_empty() {
        return arguments.fail(ParseErrorKind::MissingText);
    }
    if rest.is_empty() {
        return arguments.one(Instruction::Wait {
            duration: DEFAULT_WAIT,
        });
    }
    let mut length = rest;
    length.eat(&["another", "about", "再", "大约"]);
    if let Some(duration) = number::eat_duration(&mut length).filter(|_| length.is_empty()) {
        return arguments.one(Instruction::Wait { duration });
    }
    let (condition, timeout) = split_timeout(rest);
    let (text, shown) = predicate(arguments, condition)?;
    arguments.one(Instruction::WaitForText {
        text,
        shown,
        timeout,
    })
}

/// Duration of a bare `wait`: the same as `wait a moment`.
const DEFAULT_WAIT: std::time::Duration = std::time::Duration::from_secs(1);

/// Splits a trailing `for up to 30 seconds` off.
fn split_timeout(rest: Reader<'_>) -> (Reader<'_>, Option<std::time::Duration>) {
    let found = (1..rest.len()).find_map(|at| {
        let (before, mut behind) = rest.split_at(at);
        if !behind.eat(vocabulary::TIMEOUT) {
            return None;
        }
        let duration = number::eat_duration(&mut behind)?;
        behind.is_empty().then_some((before, duration))
    });
    found.map_or((rest, None), |(before, duration)| (before, Some(duration)))
}

/// Parses `check that "Done" is shown`, `确认出现"完成"`.
pub(super) fn verify<'a>(
    arguments: &Arguments<'a>,
    words: Reader<'a>,
) -> Result<Vec<ParsedInstruction>> {
    let (text, shown) = predicate(arguments, words)?;
    arguments.one(Instruction::Verify { text, shown })
}

/// Returns whether the words end in a predicate about visible text (`is shown`, `disappears`).
pub(super) fn ends_in_predicate(words: Reader<'_>) -> bool {
    let mut words = words.trimmed();
    words.eat_end(vocabulary::HIDDEN) || words.eat_end(vocabulary::SHOWN)
}

/// Returns the text of a condition, and whether it has to be visible.
fn predicate(arguments: &Arguments<'_>, words: Reader<'_>) -> Result<(String, bool)> {
    let mut words = words.trimmed();
    words.eat_all(vocabulary::CONDITION_FILLERS);
    let hidden_before = words.eat(vocabulary::HIDDEN_BEFORE);
    let shown_before = !hidden_before && words.eat(vocabulary::SHOWN_BEFORE);
    words.eat_all(vocabulary::CONDITION_FILLERS);
    words.eat_end(&["on the screen", "on screen", "on the page", "anywhere"]);
    let hidden_behind = words.eat_end(vocabulary::HIDDEN);
    let shown_behind = !hidden_behind && words.eat_end(vocabulary::SHOWN);
    words.eat_end(&["是否", "已经", "已", "都"]);
    let has_predicate = hidden_before || shown_before || hidden_behind || shown_behind;
    let text = if words.has_quoted() || !has_predicate {
        arguments.aim(words)?.text
    } else {
        words.content()
    };
    match text.or_else(|| unquoted_name(words)) {
        Some(text) => Ok((text, !(hidden_before || hidden_behind))),
        None => arguments.fail(ParseErrorKind::MissingText),
    }
}

/// Returns the words themselves where they were parsed as a noun (`wait for the results list`).
fn unquoted_name(words: Reader<'_>) -> Option<String> {
    words
        .tokens()
        .iter()
        .any(|token| !matches!(token.kind, TokenKind::Mark(_)))
        .then(|| words.content())
        .flatten()
}

/// Parses `drag "A" onto "B"`, `把"A"拖到"B"`, `move "A" to "B"`.
pub(super) fn drag(arguments: &Arguments<'_>) -> Result<Vec<ParsedInstruction>> {
    let mut rest = arguments.rest.trimmed();
    let (from, to) = if let Some(object) = arguments.before(PhraseRole::Object) {
        rest.eat(vocabulary::INTO_CHINESE);
        rest.eat(vocabulary::DRAG_TO);
        (object, rest)
    } else if let Some(source) = arguments.before(PhraseRole::Source) {
        rest.eat(vocabulary::DRAG_TO);
        (source, rest)
    } else if let Some((from, to)) = rest.around_last(vocabulary::DRAG_TO) {
        (from, to)
    } else {
        return arguments.fail(ParseErrorKind::MissingDestination);
    };
    let mut to = to;
    to.eat_end(vocabulary::LOCATIVES);
    let from = arguments.aim(from)?;
    let to = arguments.aim(to)?;
    if target::is_pointer(&from) {
        return arguments.one(Instruction::Hover { target: to });
    }
    arguments.one(Instruction::Drag { from, to })
}
