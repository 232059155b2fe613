//! Reads the clauses for keys, scrolling, waiting, dragging and checking.

use motorium_proto::domain::action::Button;

use super::Why;
use super::clause::{self, Arguments, Reading, Result, Role};
use super::reader::Reader;
use super::sentence::verb_at;
use super::step::{Aim, Direction, Extent, Step};
use super::target;
use super::token::TokenKind;
use super::words::{self, Noun, Verb};
use super::{keys, number};

/// Keys where the words name some, otherwise a click.
pub(super) fn press(arguments: &Arguments<'_>) -> Result<Vec<Reading>> {
    let mut rest = arguments.rest;
    let repeat = number::eat_times_at_end(&mut rest)
        .or_else(|| number::eat_times(&mut rest))
        .unwrap_or(1);
    if let Some(keys) = key_word(rest) {
        return arguments.one(Step::Press { keys, repeat });
    }
    let item = |item: Reader<'_>| {
        let keys = key_word(item)?;
        Some(arguments.item(Step::Press { keys, repeat }, item.span()))
    };
    let readings: Option<Vec<Reading>> = rest.list_items().into_iter().map(item).collect();
    match readings {
        Some(readings) if !readings.is_empty() => Ok(readings),
        _ if says_key(rest) => arguments.fail(Why::UnknownKey {
            name: rest.raw().to_owned(),
        }),
        _ => clause::click(arguments, Button::Left, 1),
    }
}

/// The chord that the words name, unless they rather name a button: one quoted character is a button's text.
fn key_word(words: Reader<'_>) -> Option<Vec<motorium_proto::domain::key::Key>> {
    if let Some(keys) = keys::chord(words, false).filter(|_| !is_quoted_character(words)) {
        return Some(keys);
    }
    let mut without_noun = words;
    let surely = without_noun.eat_entry_at_end(words::NOUNS) == Some(Noun::Key);
    if surely {
        keys::chord(without_noun, true)
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

/// Whether the words say that a key is meant. In Chinese a button is called a key as well (`确定键`).
fn says_key(words: Reader<'_>) -> bool {
    let mut words = words;
    let is_english = words
        .tokens()
        .last()
        .is_some_and(|token| token.word().is_some());
    is_english && words.eat_entry_at_end(words::NOUNS) == Some(Noun::Key)
}

/// `hold Shift for 2 seconds`, `按住Ctrl点击"A"`.
pub(super) fn hold(arguments: &Arguments<'_>) -> Result<Vec<Reading>> {
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
    let surely = names.eat_entry_at_end(words::NOUNS) == Some(Noun::Key);
    let names = if surely {
        names
    } else {
        rest_or(names, rest, duration.is_some())
    };
    match keys::chord(names, true) {
        Some(keys) => arguments.one(Step::Hold { keys, duration }),
        None => arguments.fail(Why::UnknownKey {
            name: names.raw().to_owned(),
        }),
    }
}

/// The names, or everything if no duration was taken off.
fn rest_or<'a>(names: Reader<'a>, rest: Reader<'a>, has_duration: bool) -> Reader<'a> {
    if has_duration { names } else { rest }
}

/// A click while keys are held, said in one clause.
fn held_click<'a>(arguments: &Arguments<'a>, rest: Reader<'a>) -> Option<Result<Vec<Reading>>> {
    let (at, verb, length) =
        (1..rest.len()).find_map(|at| match verb_at(&rest.tokens()[at..]) {
            Some((verb @ Verb::Click(..), length)) => Some((at, verb, length)),
            _ => None,
        })?;
    let mut names = rest.split_at(at).0;
    names.eat_end(&["and", "while", "并", "再", "同时"]);
    names.eat_entry_at_end(words::NOUNS);
    let modifiers = keys::chord(names, true).filter(|keys| keys::is_modifiers(keys))?;
    let Verb::Click(button, count) = verb else {
        return None;
    };
    let mut inner = arguments.with_rest(rest.skip(at + length));
    inner.modifiers = modifiers;
    Some(clause::click(&inner, button, count))
}

/// `Shift 3 秒`.
fn split_trailing_duration(rest: Reader<'_>) -> (Reader<'_>, Option<std::time::Duration>) {
    let found = (1..rest.len()).find_map(|at| {
        let (before, mut tail) = rest.split_at(at);
        let duration = number::eat_duration(&mut tail)?;
        tail.is_empty().then_some((before, duration))
    });
    found.map_or((rest, None), |(before, duration)| (before, Some(duration)))
}

/// `scroll down 3 notches in "List"`, `scroll until "A" appears`, `滚动到底部`.
pub(super) fn scroll(
    arguments: &Arguments<'_>,
    direction: Option<Direction>,
) -> Result<Vec<Reading>> {
    let mut rest = arguments.rest.trimmed();
    let mut direction = direction.or_else(|| rest.eat_entry(words::DIRECTIONS));
    let mut extent = Extent::Some;
    if let Some((before, end)) = end_of(rest) {
        (rest, extent) = (before, Extent::End);
        direction = Some(end);
    } else if let Some((before, text)) = until_shown(arguments, rest)? {
        (rest, extent) = (before, Extent::UntilShown(text));
    } else if let Some((before, amount)) = amount(rest) {
        (rest, extent) = (before, amount);
    }
    direction = direction.or_else(|| rest.eat_entry_at_end(words::DIRECTIONS));
    let place = arguments
        .before(Role::Where)
        .or(arguments.before(Role::Object));
    let inside = scrolled_thing(arguments, place.unwrap_or(rest))?;
    arguments.one(Step::Scroll {
        direction: direction.unwrap_or(Direction::Down),
        extent,
        inside,
    })
}

/// The end that the words name, and what stands before it.
fn end_of(rest: Reader<'_>) -> Option<(Reader<'_>, Direction)> {
    (0..rest.len()).find_map(|at| {
        let (before, mut end) = rest.split_at(at);
        let direction = end.eat_entry(words::ENDS)?;
        end.eat(&["of"]);
        end.eat_all(&[
            "the", "page", "text", "screen", "document", "window", "list",
        ]);
        end.is_empty().then_some((before, direction))
    })
}

/// The text that is scrolled to, and what stands before it.
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
    place.eat(words::DETERMINERS);
    if place.eat_entry(words::PLACES).is_some() && !condition.has_quoted() {
        return arguments.fail(Why::TooMuch {
            words: place.raw().to_owned(),
        });
    }
    let (text, shown) = predicate(arguments, condition)?;
    if shown {
        Ok(Some((before, text)))
    } else {
        arguments.fail(Why::NotAThing)
    }
}

/// How far, in notches or pixels, and what stands before it.
fn amount(rest: Reader<'_>) -> Option<(Reader<'_>, Extent)> {
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
            return Some((before, Extent::Some));
        }
        if behind.eat(&["once"]) && behind.is_empty() {
            return Some((before, Extent::Some));
        }
        let number = number::eat_count(&mut behind)?;
        let extent = if behind.eat(words::PIXELS) {
            Extent::Pixels(number)
        } else {
            Extent::Notches(number)
        };
        behind.eat(words::NOTCHES);
        behind.is_empty().then_some((before, extent))
    })
}

/// The thing that scrolls; `None` if it is the page or nothing is named.
fn scrolled_thing<'a>(arguments: &Arguments<'a>, words: Reader<'a>) -> Result<Option<Aim>> {
    let mut words = words.trimmed();
    words.eat(&["in", "inside", "within", "on", "of", "over"]);
    words.eat_end(words::LOCATIVES);
    let mut page = words;
    page.eat(words::DETERMINERS);
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

/// `wait 2 seconds`, `wait until "Done" appears`, `等待"完成"出现`.
pub(super) fn wait(arguments: &Arguments<'_>) -> Result<Vec<Reading>> {
    let mut rest = arguments.rest.trimmed();
    if rest.eat(words::UNTIL) && rest.is_empty() {
        return arguments.fail(Why::NoText);
    }
    if rest.is_empty() {
        return arguments.one(Step::Wait {
            duration: USUAL_PAUSE,
        });
    }
    let mut length = rest;
    length.eat(&["another", "about", "再", "大约"]);
    if let Some(duration) = number::eat_duration(&mut length).filter(|_| length.is_empty()) {
        return arguments.one(Step::Wait { duration });
    }
    let (condition, at_most) = bounded(rest);
    let (text, shown) = predicate(arguments, condition)?;
    arguments.one(Step::Await {
        text,
        shown,
        at_most,
    })
}

/// What `wait` alone means.
const USUAL_PAUSE: std::time::Duration = std::time::Duration::from_secs(1);

/// Takes `for up to 30 seconds` off the end.
fn bounded(rest: Reader<'_>) -> (Reader<'_>, Option<std::time::Duration>) {
    let found = (1..rest.len()).find_map(|at| {
        let (before, mut behind) = rest.split_at(at);
        if !behind.eat(words::AT_MOST) {
            return None;
        }
        let duration = number::eat_duration(&mut behind)?;
        behind.is_empty().then_some((before, duration))
    });
    found.map_or((rest, None), |(before, duration)| (before, Some(duration)))
}

/// `check that "Done" is shown`, `确认出现"完成"`.
pub(super) fn verify<'a>(arguments: &Arguments<'a>, words: Reader<'a>) -> Result<Vec<Reading>> {
    let (text, shown) = predicate(arguments, words)?;
    arguments.one(Step::Verify { text, shown })
}

/// Whether the words end in what is said of a text on the screen.
pub(super) fn ends_in_predicate(words: Reader<'_>) -> bool {
    let mut words = words.trimmed();
    words.eat_end(words::HIDDEN) || words.eat_end(words::SHOWN)
}

/// The text that a condition speaks of, and whether it shall be there.
fn predicate(arguments: &Arguments<'_>, words: Reader<'_>) -> Result<(String, bool)> {
    let mut words = words.trimmed();
    words.eat_all(words::CONDITION_FILLERS);
    let hidden_before = words.eat(words::HIDDEN_BEFORE);
    let shown_before = !hidden_before && words.eat(words::SHOWN_BEFORE);
    words.eat_all(words::CONDITION_FILLERS);
    words.eat_end(&["on the screen", "on screen", "on the page", "anywhere"]);
    let hidden_behind = words.eat_end(words::HIDDEN);
    let shown_behind = !hidden_behind && words.eat_end(words::SHOWN);
    words.eat_end(&["是否", "已经", "已", "都"]);
    let said = hidden_before || shown_before || hidden_behind || shown_behind;
    let text = if words.has_quoted() || !said {
        arguments.aim(words)?.text
    } else {
        words.content()
    };
    match text.or_else(|| unquoted_name(words)) {
        Some(text) => Ok((text, !(hidden_before || hidden_behind))),
        None => arguments.fail(Why::NoText),
    }
}

/// The words themselves, where they were taken for a noun (`wait for the results list`).
fn unquoted_name(words: Reader<'_>) -> Option<String> {
    words
        .tokens()
        .iter()
        .any(|token| !matches!(token.kind, TokenKind::Mark(_)))
        .then(|| words.content())
        .flatten()
}

/// `drag "A" onto "B"`, `把"A"拖到"B"`, `move "A" to "B"`.
pub(super) fn drag(arguments: &Arguments<'_>) -> Result<Vec<Reading>> {
    let mut rest = arguments.rest.trimmed();
    let (from, to) = if let Some(object) = arguments.before(Role::Object) {
        rest.eat(words::INTO_CHINESE);
        rest.eat(words::DRAG_TO);
        (object, rest)
    } else if let Some(source) = arguments.before(Role::OutOf) {
        rest.eat(words::DRAG_TO);
        (source, rest)
    } else if let Some((from, to)) = rest.around_last(words::DRAG_TO) {
        (from, to)
    } else {
        return arguments.fail(Why::NoDestination);
    };
    let mut to = to;
    to.eat_end(words::LOCATIVES);
    let from = arguments.aim(from)?;
    let to = arguments.aim(to)?;
    if target::is_pointer(&from) {
        return arguments.one(Step::Hover { target: to });
    }
    arguments.one(Step::Drag { from, to })
}
