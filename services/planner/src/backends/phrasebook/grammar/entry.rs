//! Reads the clauses that put text into fields, and take it out of them.

use motorium_proto::domain::action::Text;
use motorium_proto::domain::element::ElementKind;
use motorium_proto::domain::key::Key;

use super::Why;
use super::clause::{Arguments, Reading, Result, Role};
use super::reader::{Reader, joiner_length};
use super::step::{Aim, Edit, Step};
use super::target;
use super::words;

/// Words for a text that say nothing of the field it belongs to (`the word "x"`, `数字"5"`).
const TEXT_NOUNS: &[&str] = &[
    "text",
    "word",
    "words",
    "string",
    "phrase",
    "number",
    "value",
    "following",
    "following text",
    "sentence",
    "letters",
    "文字",
    "文本",
    "内容",
    "数字",
    "字符",
    "单词",
];

/// Words between a verb and the field it empties (`the text in "Name"`).
const CONTENT_OF: &[&str] = &[
    "the text in",
    "the text of",
    "the text from",
    "the text inside",
    "the contents of",
    "the content of",
    "the value of",
    "the value in",
    "text in",
    "text from",
    "everything in",
];
const CONTENT: &[&str] = &[
    "的内容",
    "中的内容",
    "里的内容",
    "的文字",
    "中的文字",
    "里的文字",
    "的文本",
    "中的文本",
    "里的文本",
];

/// `type "Alice" into "Name"`, `在"姓名"中输入"张三"`, `enter the username "a" and the password "b"`.
pub(super) fn type_text(arguments: &Arguments<'_>) -> Result<Vec<Reading>> {
    let rest = arguments.rest.trimmed();
    if let Some(text) = arguments.before(Role::Object) {
        let mut field = rest;
        field.eat(words::INTO_CHINESE);
        return typed(
            arguments,
            text.entered_text(),
            Some(field_aim(arguments, field)?),
        );
    }
    if rest.is_empty() {
        // `hit Save, then enter`: the verb's only word is a key.
        return if arguments.clause.tokens().len() == 1
            && arguments.clause.raw().eq_ignore_ascii_case("enter")
        {
            arguments.one(Step::Press {
                keys: vec![Key::Enter],
                repeat: 1,
            })
        } else {
            arguments.fail(Why::NoText)
        };
    }
    if begins_with_field(rest) {
        return arguments.fail(Why::NoText);
    }
    if let Some(readings) = each_with_field_behind(arguments, rest) {
        return readings;
    }
    let place = arguments
        .before(Role::Where)
        .or(arguments.before(Role::OutOf));
    let into = place.map(|place| field_aim(arguments, place)).transpose()?;
    let (what, field) = text_and_field(rest);
    let field = match (into, field) {
        (Some(into), _) => Some(into),
        (None, Some(field)) => Some(field_aim(arguments, field)?),
        (None, None) => None,
    };
    let parts = parts(what);
    if parts.len() > 1 {
        return each_into_its_field(arguments, &parts, field.as_ref());
    }
    let (label, text) = label_and_text(what);
    let label = label.map(|label| field_aim(arguments, label)).transpose()?;
    typed(arguments, text.entered_text(), merged(label, field))
}

/// `into "Name"`: the text is missing.
fn begins_with_field(mut rest: Reader<'_>) -> bool {
    rest.eat(words::INTO)
}

/// `"Alice" in "Name", "a@b.org" in "E-mail"`.
fn each_with_field_behind(
    arguments: &Arguments<'_>,
    rest: Reader<'_>,
) -> Option<Result<Vec<Reading>>> {
    let items = rest.list_items();
    let pairs: Option<Vec<_>> = items
        .iter()
        .map(|item| {
            item.leading_quoted()
                .and_then(|_| behind_quoted_first(*item))
        })
        .collect();
    let pairs = pairs.filter(|pairs| pairs.len() > 1)?;
    let reading = |(item, (text, field)): (&Reader<'_>, (Reader<'_>, Reader<'_>))| {
        let Some(text) = text.entered_text() else {
            return arguments.fail(Why::NoText);
        };
        let into = Some(field_aim_of(arguments, field)?);
        Ok(arguments.item(
            Step::Type {
                text,
                into,
                replace: false,
            },
            item.span(),
        ))
    };
    Some(items.iter().zip(pairs).map(reading).collect())
}

/// The quoted text at the beginning, and the field behind it.
fn behind_quoted_first(item: Reader<'_>) -> Option<(Reader<'_>, Reader<'_>)> {
    let (text, mut field) = item.split_at(1);
    let leads =
        field.eat(words::INTO) || field.eat(words::PERHAPS_INTO) || field.eat(words::INTO_CHINESE);
    (leads && !field.is_empty()).then_some((text, field))
}

/// `write "x" into "Notes"`. Without quotes and without a field it is no typing (`write an essay`).
pub(super) fn write_text(arguments: &Arguments<'_>) -> Result<Vec<Reading>> {
    let says_where = arguments.before.is_some() || text_and_field(arguments.rest).1.is_some();
    let says_what = arguments.rest.has_quoted()
        || matches!(arguments.rest.entered_text(), Some(Text::Secret(_)));
    if says_where || says_what {
        type_text(arguments)
    } else {
        arguments.fail(Why::NotQuoted)
    }
}

fn typed(arguments: &Arguments<'_>, text: Option<Text>, into: Option<Aim>) -> Result<Vec<Reading>> {
    match text {
        Some(text) => arguments.one(Step::Type {
            text,
            into,
            replace: false,
        }),
        None => arguments.fail(Why::NoText),
    }
}

/// Several texts, each with the name of its field before it.
fn each_into_its_field(
    arguments: &Arguments<'_>,
    parts: &[Reader<'_>],
    field: Option<&Aim>,
) -> Result<Vec<Reading>> {
    let reading = |part: &Reader<'_>| {
        let (Some(label), text) = label_and_text(*part) else {
            return arguments.fail(Why::NoField);
        };
        let Some(text) = text.entered_text() else {
            return arguments.fail(Why::NoText);
        };
        let into = merged(Some(field_aim_of(arguments, label)?), field.cloned());
        Ok(arguments.item(
            Step::Type {
                text,
                into,
                replace: false,
            },
            part.span(),
        ))
    };
    parts.iter().map(reading).collect()
}

fn field_aim_of(arguments: &Arguments<'_>, words: Reader<'_>) -> Result<Aim> {
    Ok(target::read(words).map_or_else(|| Aim::text(words.raw()), |named| named.aim)).and_then(
        |aim| {
            if aim.text.is_none() && aim.kind.is_none() {
                arguments.fail(Why::NoField)
            } else {
                Ok(aim.or_kind(ElementKind::TextField))
            }
        },
    )
}

/// Of the name before the text and the field behind it, the one that says more: `the password "x" into the text
/// fields` means the password's field, `the number "5" into the 3rd field` the third.
fn merged(label: Option<Aim>, field: Option<Aim>) -> Option<Aim> {
    match (label, field) {
        (Some(label), Some(field)) if field.is_bare_kind() => Some(label),
        (_, Some(field)) => Some(field),
        (label, None) => label,
    }
}

/// What is typed, and the field it goes into if one is named behind it.
fn text_and_field(rest: Reader<'_>) -> (Reader<'_>, Option<Reader<'_>>) {
    if let Some((text, field)) = rest.around_last(words::INTO) {
        return (text, Some(field));
    }
    let certain = rest
        .around_last(words::PERHAPS_INTO)
        .filter(|(_, field)| target::is_plainly_a_thing(*field));
    let named = rest.around_last(&["as the", "for the"]);
    if let Some((text, field)) = certain.or_else(|| behind_quoted(rest)).or(named) {
        return (text, Some(field));
    }
    if let Some((text, field)) = rest
        .around_last(words::INTO_CHINESE)
        .filter(|_| !rest.has_quoted())
    {
        return (text, Some(field));
    }
    (rest, None)
}

/// Behind a quoted text, every word of direction leads to the field.
fn behind_quoted(rest: Reader<'_>) -> Option<(Reader<'_>, Reader<'_>)> {
    let quote = rest
        .tokens()
        .iter()
        .rposition(super::token::Token::is_quoted)?;
    let (text, mut field) = rest.split_at(quote + 1);
    let leads = field.eat(words::PERHAPS_INTO) || field.eat(words::INTO_CHINESE);
    (leads && !field.is_empty()).then_some((text, field))
}

/// The texts of `the username "a" and the password "b"`.
fn parts(what: Reader<'_>) -> Vec<Reader<'_>> {
    let quotes = what
        .tokens()
        .iter()
        .filter(|token| token.is_quoted())
        .count();
    let joined = (0..what.len()).any(|at| joiner_length(&what.tokens()[at..]).is_some());
    let items = if quotes > 1 && joined {
        what.list_items()
    } else {
        Vec::new()
    };
    if items.iter().all(|item| item.has_quoted()) {
        items
    } else {
        Vec::new()
    }
}

/// The field's name before a quoted text or a secret (`the username "alice"`), if it names one.
fn label_and_text(what: Reader<'_>) -> (Option<Reader<'_>>, Reader<'_>) {
    let last = what.len().saturating_sub(1);
    let (label, text) = what.split_at(last);
    let is_value =
        text.sole_quoted().is_some() || matches!(text.entered_text(), Some(Text::Secret(_)));
    if !is_value || label.trimmed().is_empty() || label.has_quoted() {
        return (None, what);
    }
    let mut name = label.trimmed();
    name.eat(words::DETERMINERS);
    name.eat_end(&["of", "as", "为", "是"]);
    let says_nothing = {
        let mut rest = name;
        rest.eat(TEXT_NOUNS) && rest.is_empty() || name.is_empty()
    };
    (if says_nothing { None } else { Some(name) }, text)
}

/// The field that the words name.
fn field_aim(arguments: &Arguments<'_>, words: Reader<'_>) -> Result<Aim> {
    let mut words = words.trimmed();
    words.eat_end(words::LOCATIVES);
    Ok(arguments.aim(words)?.or_kind(ElementKind::TextField))
}

/// `fill "Name" with "Alice"`, `填写"姓名"为"张三"`; also `fill in "Alice" in "Name"`.
pub(super) fn fill(arguments: &Arguments<'_>) -> Result<Vec<Reading>> {
    let says_with = arguments.before.is_some() || filled_with(arguments.rest).is_some();
    if says_with {
        set(arguments)
    } else {
        write_text(arguments)
    }
}

/// The field and what it is filled with.
fn filled_with(rest: Reader<'_>) -> Option<(Reader<'_>, Reader<'_>)> {
    rest.around_last(words::FILLED_WITH)
}

/// `set the Country to China`, `将"姓名"设置为"张三"`.
pub(super) fn set(arguments: &Arguments<'_>) -> Result<Vec<Reading>> {
    let mut rest = arguments.rest;
    rest.eat(CONTENT_OF);
    if let Some(field) = arguments.before(Role::Object) {
        rest.eat(words::FILLED_WITH);
        rest.eat(words::INTO_CHINESE);
        return filled(arguments, field, rest);
    }
    if let Some(place) = arguments.before(Role::Where) {
        return filled(arguments, place, rest);
    }
    match filled_with(rest) {
        Some((field, text)) => filled(arguments, field, text),
        None => arguments.fail(Why::NoText),
    }
}

fn filled<'a>(
    arguments: &Arguments<'a>,
    field: Reader<'a>,
    text: Reader<'a>,
) -> Result<Vec<Reading>> {
    let Some(text) = text.trimmed().entered_text() else {
        return arguments.fail(Why::NoText);
    };
    let aim = arguments.aim(field)?;
    if aim.kind == Some(ElementKind::DropDown) {
        let Text::Literal(option) = text else {
            return arguments.fail(Why::NotAThing);
        };
        return arguments.one(Step::Choose {
            option: Aim::text(option),
            list: aim,
        });
    }
    arguments.one(Step::Type {
        text,
        into: Some(aim.or_kind(ElementKind::TextField)),
        replace: true,
    })
}

/// `clear the "Name" field`, `清空"姓名"`.
pub(super) fn clear(arguments: &Arguments<'_>) -> Result<Vec<Reading>> {
    let field = field_of(arguments)?;
    let bare = field.as_ref().is_some_and(Aim::is_bare_kind);
    arguments.one(Step::Clear {
        field: field.filter(|_| !bare),
    })
}

/// The field whose content the words speak of; `None` if they speak of what has the focus.
fn field_of(arguments: &Arguments<'_>) -> Result<Option<Aim>> {
    let mut rest = arguments
        .before
        .map_or(arguments.rest, |before| before.words);
    rest.eat(CONTENT_OF);
    rest.eat(&["in", "into", "from", "inside", "到", "进", "入"]);
    rest.eat_end(CONTENT);
    rest.eat_end(words::LOCATIVES);
    let names_nothing = {
        let mut words = rest;
        words.eat_all(&[
            "the",
            "all",
            "text",
            "selection",
            "selected",
            "it",
            "this",
            "content",
            "contents",
            "everything",
            "文本",
            "内容",
            "文字",
            "选中的",
            "选中",
        ]);
        words.is_empty()
    };
    if names_nothing {
        Ok(None)
    } else {
        field_aim(arguments, rest).map(Some)
    }
}

/// Copy, cut, select all, undo and redo, where the focus is or in a field that is named.
pub(super) fn edit(arguments: &Arguments<'_>, command: Edit) -> Result<Vec<Reading>> {
    let field = field_of(arguments)?;
    arguments.one(Step::Edit { command, field })
}

/// What is on the clipboard, or a text that is named.
pub(super) fn paste(arguments: &Arguments<'_>) -> Result<Vec<Reading>> {
    let rest = arguments.rest.trimmed();
    let (what, field) = match rest.leading_quoted() {
        Some(_) => text_and_field(rest),
        None => return paste_clipboard(arguments, rest),
    };
    let place = arguments.before(Role::Where).or(field);
    let into = place.map(|place| field_aim(arguments, place)).transpose()?;
    match what.entered_text() {
        Some(text) => arguments.one(Step::PasteText { text, into }),
        None => arguments.fail(Why::NoText),
    }
}

fn paste_clipboard<'a>(arguments: &Arguments<'a>, mut rest: Reader<'a>) -> Result<Vec<Reading>> {
    rest.eat_all(&[
        "it",
        "the",
        "text",
        "clipboard",
        "copied",
        "它",
        "剪贴板",
        "内容",
        "的",
    ]);
    let leads =
        rest.eat(words::INTO) || rest.eat(words::PERHAPS_INTO) || rest.eat(words::INTO_CHINESE);
    if !rest.is_empty() && !leads {
        return arguments.fail(Why::TooMuch {
            words: rest.raw().to_owned(),
        });
    }
    let place = arguments
        .before(Role::Where)
        .or((!rest.is_empty()).then_some(rest));
    let field = place.map(|place| field_aim(arguments, place)).transpose()?;
    arguments.one(Step::Edit {
        command: Edit::Paste,
        field,
    })
}
