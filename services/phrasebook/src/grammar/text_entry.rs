//! Parsers for the clauses that enter, replace, clear, copy and paste text.
//!
//! Pure: the fields are not looked up on a screen here, the matcher does that.

use motorium_proto::domain::action::Text;
use motorium_proto::domain::element::ElementKind;
use motorium_proto::domain::key::Key;

use super::ParseErrorKind;
use super::arguments::{Arguments, ClauseError, ParsedInstruction, PhraseRole, Result};
use super::instruction::{EditCommand, Instruction, TargetPhrase};
use super::phrase;
use super::reader::{Reader, joiner_length};
use super::sentence;
use super::target;
use super::token::Token;
use super::vocabulary;

/// Nouns for a text that do not identify a field (`the word "x"`, `数字"5"`).
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

/// Phrases between a verb and the field it applies to (`the text in "Name"`).
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

/// Parses `type "Alice" into "Name"`, `在"姓名"中输入"张三"`, `enter the username "a" and the password "b"`.
pub(super) fn type_text(arguments: &Arguments<'_>) -> Result<Vec<ParsedInstruction>> {
    let rest = arguments.rest.trimmed();
    if let Some(text) = arguments.before(PhraseRole::Object) {
        let mut field = rest;
        field.eat(vocabulary::INTO_CHINESE);
        return typed(arguments, text, Some(field_aim(arguments, field)?));
    }
    if rest.is_empty() {
        // `hit Save, then enter`: a bare `enter` is the key, not the verb.
        return if arguments.clause.tokens().len() == 1
            && arguments.clause.raw().eq_ignore_ascii_case("enter")
        {
            arguments.one(Instruction::Press {
                keys: vec![Key::Enter],
                repeat: 1,
            })
        } else {
            arguments.fail(ParseErrorKind::MissingText)
        };
    }
    if begins_with_field(rest) {
        return arguments.fail(ParseErrorKind::MissingText);
    }
    if let Some(readings) = each_with_field_behind(arguments, rest) {
        return readings;
    }
    let place = arguments
        .before(PhraseRole::Location)
        .or(arguments.before(PhraseRole::Source));
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
    typed(arguments, text, merged(label, field))
}

/// Returns whether the text is missing, as in `type into "Name"`.
fn begins_with_field(mut rest: Reader<'_>) -> bool {
    rest.eat(vocabulary::INTO)
}

/// Parses `"Alice" in "Name", "a@b.org" in "E-mail"`.
fn each_with_field_behind(
    arguments: &Arguments<'_>,
    rest: Reader<'_>,
) -> Option<Result<Vec<ParsedInstruction>>> {
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
        let text = value(arguments, text)?;
        let into = Some(field_aim_of(arguments, field)?);
        Ok(arguments.item(
            Instruction::Type {
                text,
                into,
                replace: false,
            },
            item.span(),
        ))
    };
    Some(items.iter().zip(pairs).map(reading).collect())
}

/// Splits a leading quoted text from the field after it.
fn behind_quoted_first(item: Reader<'_>) -> Option<(Reader<'_>, Reader<'_>)> {
    let (text, mut field) = item.split_at(1);
    let leads = field.eat(vocabulary::INTO)
        || field.eat(vocabulary::POSSIBLE_INTO)
        || field.eat(vocabulary::INTO_CHINESE);
    (leads && !field.is_empty()).then_some((text, field))
}

/// Parses `write "x" into "Notes"`. Without quotes or a field it is not a typing clause (`write an essay`).
pub(super) fn write_text(arguments: &Arguments<'_>) -> Result<Vec<ParsedInstruction>> {
    let says_where = arguments.leading.is_some() || text_and_field(arguments.rest).1.is_some();
    let says_what = arguments.rest.has_quoted()
        || matches!(arguments.rest.entered_text(), Some(Text::Secret(_)));
    if says_where || says_what {
        type_text(arguments)
    } else {
        arguments.fail(ParseErrorKind::UnquotedText)
    }
}

fn typed(
    arguments: &Arguments<'_>,
    text: Reader<'_>,
    into: Option<TargetPhrase>,
) -> Result<Vec<ParsedInstruction>> {
    let text = value(arguments, text)?;
    arguments.one(Instruction::Type {
        text,
        into,
        replace: false,
    })
}

/// Parses the text to enter. Words after a quoted text are never typed: they are a clause of their own (`and save`), or the
/// goal is not understood.
fn value(arguments: &Arguments<'_>, words: Reader<'_>) -> Result<Text> {
    let words = words.trimmed();
    if let Some((_, rest)) = words.leading_quoted()
        && !rest.trimmed().is_empty()
    {
        return Err(unexpected(rest));
    }
    words
        .entered_text()
        .map_or_else(|| arguments.fail(ParseErrorKind::MissingText), Ok)
}

/// Returns the error for words after a quoted text.
fn unexpected(rest: Reader<'_>) -> ClauseError {
    let joiner = joiner_length(rest.tokens())
        .or_else(|| phrase::longest(rest.tokens(), vocabulary::SEQUENCE));
    let clause = rest.skip(joiner.unwrap_or(0)).trimmed();
    let verb = clause.tokens().first().and_then(Token::word);
    let kind = match joiner {
        Some(_) => ParseErrorKind::UnknownVerb {
            suggestion: verb.and_then(sentence::similar_verb),
        },
        None => ParseErrorKind::TrailingWords {
            words: clause.raw().to_owned(),
        },
    };
    ClauseError {
        span: clause.span(),
        kind,
    }
}

/// Parses several texts, each preceded by the name of its field.
fn each_into_its_field(
    arguments: &Arguments<'_>,
    parts: &[Reader<'_>],
    field: Option<&TargetPhrase>,
) -> Result<Vec<ParsedInstruction>> {
    let reading = |part: &Reader<'_>| {
        let (Some(label), text) = label_and_text(*part) else {
            return arguments.fail(ParseErrorKind::MissingField);
        };
        let text = value(arguments, text)?;
        let into = merged(Some(field_aim_of(arguments, label)?), field.cloned());
        Ok(arguments.item(
            Instruction::Type {
                text,
                into,
                replace: false,
            },
            part.span(),
        ))
    };
    parts.iter().map(reading).collect()
}

fn field_aim_of(arguments: &Arguments<'_>, words: Reader<'_>) -> Result<TargetPhrase> {
    Ok(target::read(words).map_or_else(|| TargetPhrase::text(words.raw()), |named| named.aim))
        .and_then(|aim| {
            if aim.text.is_none() && aim.kind.is_none() {
                arguments.fail(ParseErrorKind::MissingField)
            } else {
                Ok(aim.with_default_kind(ElementKind::TextField))
            }
        })
}

/// Returns the more specific of the label before the text and the field after it: the label in `the password "x" into the
/// text fields`, the field in `the number "5" into the 3rd field`.
fn merged(label: Option<TargetPhrase>, field: Option<TargetPhrase>) -> Option<TargetPhrase> {
    match (label, field) {
        (Some(label), Some(field)) if field.is_bare_kind() => Some(label),
        (_, Some(field)) => Some(field),
        (label, None) => label,
    }
}

/// Splits the words into the text and the field named after it.
fn text_and_field(rest: Reader<'_>) -> (Reader<'_>, Option<Reader<'_>>) {
    if let Some((text, field)) = rest.around_last(vocabulary::INTO) {
        return (text, Some(field));
    }
    let certain = rest
        .around_last(vocabulary::POSSIBLE_INTO)
        .filter(|(_, field)| target::is_unambiguous_target(*field));
    let named = rest.around_last(&["as the", "for the"]);
    let quoted = behind_quoted(rest).or_else(|| behind_quoted_first(rest));
    if let Some((text, field)) = certain.or(quoted).or(named) {
        return (text, Some(field));
    }
    if let Some((text, field)) = rest
        .around_last(vocabulary::INTO_CHINESE)
        .filter(|_| !rest.has_quoted())
    {
        return (text, Some(field));
    }
    (rest, None)
}

/// Splits at a quoted text. After a quote, any preposition introduces the field.
fn behind_quoted(rest: Reader<'_>) -> Option<(Reader<'_>, Reader<'_>)> {
    let quote = rest.tokens().iter().rposition(Token::is_quoted)?;
    let (text, mut field) = rest.split_at(quote + 1);
    let leads = field.eat(vocabulary::POSSIBLE_INTO) || field.eat(vocabulary::INTO_CHINESE);
    (leads && !field.is_empty()).then_some((text, field))
}

/// Splits `the username "a" and the password "b"` into its texts.
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

/// Splits off the field's name before a quoted text or a secret (`the username "alice"`).
fn label_and_text(what: Reader<'_>) -> (Option<Reader<'_>>, Reader<'_>) {
    let last = what.len().saturating_sub(1);
    let (label, text) = what.split_at(last);
    let is_value =
        text.sole_quoted().is_some() || matches!(text.entered_text(), Some(Text::Secret(_)));
    if !is_value || label.trimmed().is_empty() || label.has_quoted() {
        return (None, what);
    }
    let mut name = label.trimmed();
    name.eat(vocabulary::DETERMINERS);
    name.eat_end(&["of", "as", "为", "是"]);
    let says_nothing = {
        let mut rest = name;
        rest.eat(TEXT_NOUNS) && rest.is_empty() || name.is_empty()
    };
    (if says_nothing { None } else { Some(name) }, text)
}

/// Parses the words as a field.
fn field_aim(arguments: &Arguments<'_>, words: Reader<'_>) -> Result<TargetPhrase> {
    let mut words = words.trimmed();
    words.eat_end(vocabulary::LOCATIVES);
    Ok(arguments
        .aim(words)?
        .with_default_kind(ElementKind::TextField))
}

/// Parses `fill "Name" with "Alice"`, `填写"姓名"为"张三"`; also `fill in "Alice" in "Name"`.
pub(super) fn fill(arguments: &Arguments<'_>) -> Result<Vec<ParsedInstruction>> {
    let says_with = arguments.leading.is_some() || filled_with(arguments.rest).is_some();
    if says_with {
        set(arguments)
    } else {
        write_text(arguments)
    }
}

/// Splits the words into the field and its new text.
fn filled_with(rest: Reader<'_>) -> Option<(Reader<'_>, Reader<'_>)> {
    rest.around_last(vocabulary::FILLED_WITH)
}

/// Parses `set the Country to China`, `将"姓名"设置为"张三"`.
pub(super) fn set(arguments: &Arguments<'_>) -> Result<Vec<ParsedInstruction>> {
    let mut rest = arguments.rest;
    rest.eat(CONTENT_OF);
    if let Some(field) = arguments.before(PhraseRole::Object) {
        rest.eat(vocabulary::FILLED_WITH);
        rest.eat(vocabulary::INTO_CHINESE);
        return filled(arguments, field, rest);
    }
    if let Some(place) = arguments.before(PhraseRole::Location) {
        return filled(arguments, place, rest);
    }
    match filled_with(rest) {
        Some((field, text)) => filled(arguments, field, text),
        None => arguments.fail(ParseErrorKind::MissingText),
    }
}

fn filled<'a>(
    arguments: &Arguments<'a>,
    field: Reader<'a>,
    text: Reader<'a>,
) -> Result<Vec<ParsedInstruction>> {
    let text = value(arguments, text)?;
    let aim = arguments.aim(field)?;
    if aim.kind == Some(ElementKind::DropDown) {
        let Text::Literal(option) = text else {
            return arguments.fail(ParseErrorKind::InvalidTarget);
        };
        return arguments.one(Instruction::Choose {
            option: TargetPhrase::text(option),
            list: aim,
        });
    }
    arguments.one(Instruction::Type {
        text,
        into: Some(aim.with_default_kind(ElementKind::TextField)),
        replace: true,
    })
}

/// Parses `clear the "Name" field`, `清空"姓名"`.
pub(super) fn clear(arguments: &Arguments<'_>) -> Result<Vec<ParsedInstruction>> {
    let field = field_of(arguments)?;
    let bare = field.as_ref().is_some_and(TargetPhrase::is_bare_kind);
    arguments.one(Instruction::Clear {
        field: field.filter(|_| !bare),
    })
}

/// Returns the field whose content is meant; `None` for the focused one.
fn field_of(arguments: &Arguments<'_>) -> Result<Option<TargetPhrase>> {
    let mut rest = arguments
        .leading
        .map_or(arguments.rest, |before| before.words);
    rest.eat(CONTENT_OF);
    rest.eat(&["in", "into", "from", "inside", "到", "进", "入"]);
    rest.eat_end(CONTENT);
    rest.eat_end(vocabulary::LOCATIVES);
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

/// Parses copy, cut, select all, undo and redo, for the focused or a named field.
pub(super) fn edit(
    arguments: &Arguments<'_>,
    command: EditCommand,
) -> Result<Vec<ParsedInstruction>> {
    let field = field_of(arguments)?;
    arguments.one(Instruction::Edit { command, field })
}

/// Parses a paste of the clipboard or of a given text.
pub(super) fn paste(arguments: &Arguments<'_>) -> Result<Vec<ParsedInstruction>> {
    let rest = arguments.rest.trimmed();
    let (what, field) = match rest.leading_quoted() {
        Some(_) => text_and_field(rest),
        None => return paste_clipboard(arguments, rest),
    };
    let place = arguments.before(PhraseRole::Location).or(field);
    let into = place.map(|place| field_aim(arguments, place)).transpose()?;
    let text = value(arguments, what)?;
    arguments.one(Instruction::PasteText { text, into })
}

fn paste_clipboard<'a>(
    arguments: &Arguments<'a>,
    mut rest: Reader<'a>,
) -> Result<Vec<ParsedInstruction>> {
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
    let leads = rest.eat(vocabulary::INTO)
        || rest.eat(vocabulary::POSSIBLE_INTO)
        || rest.eat(vocabulary::INTO_CHINESE);
    if !rest.is_empty() && !leads {
        return arguments.fail(ParseErrorKind::TrailingWords {
            words: rest.raw().to_owned(),
        });
    }
    let place = arguments
        .before(PhraseRole::Location)
        .or((!rest.is_empty()).then_some(rest));
    let field = place.map(|place| field_aim(arguments, place)).transpose()?;
    arguments.one(Instruction::Edit {
        command: EditCommand::Paste,
        field,
    })
}
