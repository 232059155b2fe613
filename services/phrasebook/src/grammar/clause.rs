//! Parser for one fragment: finds the verb and passes the arguments to that verb's parser.
//!
//! Sentences are not split into fragments here: `sentence` does that.

use motorium_messages::Language;
use motorium_proto::domain::action::Button;
use motorium_proto::domain::element::ElementKind;
use motorium_proto::domain::key::Key;

use super::arguments::{
    Arguments, ClauseError, LeadingPhrase, ParsedInstruction, PhraseRole, Result,
};
use super::click::click;
use super::instruction::{EditCommand, Instruction, ScrollExtent, TargetPhrase};
use super::reader::Reader;
use super::sentence::{self, Fragment, Join, LeadingLocation, modified_click, verb_at};
use super::target;
use super::token::Span;
use super::vocabulary::{self, Noun, Verb};
use super::{ParseErrorKind, actions, address, keys, phrase, text_entry};
use motorium_text::characters::is_ideograph;

/// State carried from one clause to the next: the verb that may be omitted, and the referent of `it`.
#[derive(Debug, Clone, Default)]
pub(super) struct Context {
    verb: Option<(Verb, Vec<Key>)>,
    /// The previous clause had quoted texts.
    quoted: bool,
    /// Keys held for the next click.
    held: Vec<Key>,
    last: Option<TargetPhrase>,
}

impl Context {
    /// Returns the context of another goal: only what `it` stands for goes on.
    pub(super) fn with_referent_only(self) -> Self {
        Self {
            last: self.last,
            ..Self::default()
        }
    }
}

/// Parses a fragment. If the whole fails, a run-on sentence (`scroll to the bottom hit Submit`) is split before a verb
/// where both halves parse.
pub(super) fn read(
    fragment: &Fragment<'_>,
    context: &mut Context,
) -> Result<Vec<ParsedInstruction>> {
    let mut own_context = context.clone();
    let whole = read_one(fragment, &mut own_context);
    let readings = match whole {
        Ok(readings) => Ok(readings),
        Err(error) => read_run_on(fragment, context)
            .map(|(readings, after)| {
                own_context = after;
                readings
            })
            .ok_or(error),
    }?;
    *context = own_context;
    Ok(readings)
}

/// Parses both halves of a run-on sentence; returns their instructions and the context after them.
fn read_run_on(
    fragment: &Fragment<'_>,
    context: &Context,
) -> Option<(Vec<ParsedInstruction>, Context)> {
    (2..fragment.words.len()).find_map(|at| {
        let (before, behind) = fragment.words.split_at(at);
        verb_at(behind.tokens())?;
        let mut context = context.clone();
        let mut readings = read_one(
            &Fragment {
                words: before,
                ..*fragment
            },
            &mut context,
        )
        .ok()?;
        readings.extend(
            read(
                &Fragment {
                    words: behind,
                    join: Join::Sentence,
                },
                &mut context,
            )
            .ok()?,
        );
        Some((readings, context))
    })
}

fn read_one(fragment: &Fragment<'_>, context: &mut Context) -> Result<Vec<ParsedInstruction>> {
    let words = fragment
        .words
        .skip(sentence::introduction(fragment.words.tokens()));
    let mut words = words.trimmed();
    while words.len() > 1 && words.eat_end(vocabulary::TRAILERS) {}
    let clause = words.trimmed();
    if phrase::longest(clause.tokens(), vocabulary::NON_VERBS).is_some() {
        return Err(ClauseError {
            span: clause.span(),
            kind: ParseErrorKind::UnknownVerb { suggestion: None },
        });
    }
    let (verb, arguments) = verb_and_arguments(clause, fragment.join, context)?;
    let readings = dispatch(verb, &arguments)?;
    context.held = readings
        .last()
        .and_then(|reading| held(&reading.step))
        .unwrap_or_default();
    context.quoted = clause.has_quoted();
    context.verb = Some((verb, arguments.modifiers));
    context.last = readings
        .iter()
        .rev()
        .find_map(|reading| antecedent(&reading.step))
        .or(context.last.take());
    Ok(readings)
}

/// Returns the referent of `it` in the next clause.
fn antecedent(step: &Instruction) -> Option<TargetPhrase> {
    match step {
        Instruction::WaitForText { text, .. } | Instruction::Verify { text, .. } => {
            Some(TargetPhrase::text(text))
        }
        Instruction::Scroll {
            extent: ScrollExtent::UntilShown(text),
            ..
        } => Some(TargetPhrase::text(text)),
        _ => step.target().cloned(),
    }
}

/// Returns the keys to hold during the next click (`hold Ctrl and click "A"`).
fn held(step: &Instruction) -> Option<Vec<Key>> {
    match step {
        Instruction::Hold {
            keys,
            duration: None,
        } if keys::is_modifiers(keys) => Some(keys.clone()),
        _ => None,
    }
}

fn verb_and_arguments<'a>(
    clause: Reader<'a>,
    join: Join,
    context: &Context,
) -> Result<(Verb, Arguments<'a>)> {
    let arguments = |rest, before, modifiers| Arguments {
        clause,
        rest,
        leading: before,
        modifiers,
        last: context.last.clone(),
    };
    if let Some((modifier, verb)) = modified_click(clause.tokens()) {
        let keys = Key::parse_chord("keys", &modifier).unwrap_or_default();
        return Ok((verb, arguments(clause.skip(1), None, keys)));
    }
    if let Some((verb, length)) = verb_at(clause.tokens()) {
        let held = if matches!(verb, Verb::Click(..)) {
            context.held.clone()
        } else {
            Vec::new()
        };
        return Ok((verb, arguments(after_verb(clause.skip(length)), None, held)));
    }
    if let Some(place) = sentence::split_place(clause.tokens()) {
        return Ok(with_place(clause, place, arguments));
    }
    let may_inherit = clause.leading_quoted().is_some()
        || join == Join::Continued && looks_like_a_name(clause, context);
    match &context.verb {
        Some((verb, modifiers)) if may_inherit => {
            Ok((*verb, arguments(clause, None, modifiers.clone())))
        }
        _ => Err(no_verb(clause)),
    }
}

/// Returns whether unquoted words can be a target where the verb is omitted. They must look like a name (`then Save As`),
/// because an unknown verb has the same form (`then do something nice`).
fn looks_like_a_name(clause: Reader<'_>, context: &Context) -> bool {
    let mut words = clause;
    let has_article = words.eat(vocabulary::DETERMINERS);
    let is_kind = target::read(clause).is_some_and(|named| named.noun.is_some());
    let first = clause.raw().chars().next();
    // Chinese has no capitals, so only the length tells a name from a clause; six characters cover common button texts.
    let is_short_chinese = first.is_some_and(is_ideograph) && clause.len() <= 6;
    let is_capital = first.is_some_and(|c| c.is_uppercase() || c.is_numeric());
    // After quoted targets an unquoted capitalised word is more likely a new, unknown verb.
    !context.quoted && (is_capital || is_short_chinese)
        || has_article && is_kind
        || is_kind && words.len() <= 3
}

fn after_verb(mut rest: Reader<'_>) -> Reader<'_> {
    rest.eat_all(vocabulary::AFTER_VERB);
    rest
}

fn with_place<'a>(
    clause: Reader<'a>,
    place: LeadingLocation,
    arguments: impl Fn(Reader<'a>, Option<LeadingPhrase<'a>>, Vec<Key>) -> Arguments<'a>,
) -> (Verb, Arguments<'a>) {
    let coverb = clause.split_at(place.coverb).0.raw();
    let role = match coverb {
        "把" | "将" | "对" => PhraseRole::Object,
        "从" => PhraseRole::Source,
        _ if coverb.eq_ignore_ascii_case("from") => PhraseRole::Source,
        _ => PhraseRole::Location,
    };
    let words = clause.split_at(place.end).0.skip(place.coverb);
    let behind = clause.skip(place.verb);
    let (verb, length) = verb_at(behind.tokens()).unwrap_or((Verb::Type, 0));
    (
        verb,
        arguments(
            after_verb(behind.skip(length)),
            Some(LeadingPhrase { words, role }),
            Vec::new(),
        ),
    )
}

fn no_verb(clause: Reader<'_>) -> ClauseError {
    let first = clause.tokens().first().and_then(|token| token.word());
    let suggestion = first.and_then(sentence::similar_verb);
    ClauseError {
        span: clause.span(),
        kind: ParseErrorKind::UnknownVerb { suggestion },
    }
}

fn dispatch(verb: Verb, arguments: &Arguments<'_>) -> Result<Vec<ParsedInstruction>> {
    match verb {
        Verb::Click(button, count) => click(arguments, button, count),
        Verb::Press => actions::press(arguments),
        Verb::Select => select(arguments),
        Verb::Toggle(on) => toggle(arguments, on),
        Verb::Hover => arguments.each(arguments.rest, |target| Instruction::Hover { target }),
        Verb::Type => text_entry::type_text(arguments),
        Verb::Write => text_entry::write_text(arguments),
        Verb::Fill => text_entry::fill(arguments),
        Verb::Set => text_entry::set(arguments),
        Verb::Clear => text_entry::clear(arguments),
        Verb::Hold => actions::hold(arguments),
        Verb::Scroll(direction) => actions::scroll(arguments, direction),
        Verb::Wait => actions::wait(arguments),
        Verb::Drag => actions::drag(arguments),
        Verb::Move => actions::drag(arguments),
        Verb::Copy => text_entry::edit(arguments, EditCommand::Copy),
        Verb::Cut => text_entry::edit(arguments, EditCommand::Cut),
        Verb::Paste => text_entry::paste(arguments),
        Verb::SelectAll => text_entry::edit(arguments, EditCommand::SelectAll),
        Verb::Undo => text_entry::edit(arguments, EditCommand::Undo),
        Verb::Redo => text_entry::edit(arguments, EditCommand::Redo),
        Verb::Open => open(arguments),
        Verb::Launch => launch(arguments, arguments.rest),
        Verb::Visit => visit(arguments),
        Verb::SwitchTo => switch_to(arguments),
        Verb::Focus => focus(arguments),
        Verb::Back => turn_page(arguments, Instruction::GoBack),
        Verb::Forward => turn_page(arguments, Instruction::GoForward),
        Verb::Refresh => turn_page(arguments, Instruction::Refresh),
        Verb::Verify => actions::verify(arguments, arguments.rest),
    }
}

/// Parses a choice from a list if the list is named, otherwise a click on each target.
fn select(arguments: &Arguments<'_>) -> Result<Vec<ParsedInstruction>> {
    if let Some(list) = arguments
        .before(PhraseRole::Source)
        .or(arguments.before(PhraseRole::Location))
    {
        let list = arguments.aim(list)?;
        return choose(arguments, arguments.rest, &list);
    }
    let split = arguments.rest.around_last(vocabulary::SOURCE).or_else(|| {
        arguments
            .rest
            .around_last(vocabulary::POSSIBLE_SOURCE)
            .filter(|(_, list)| names_a_list(*list))
    });
    if let Some((option, list)) = split {
        let list = arguments.aim(list)?;
        return choose(arguments, option, &list);
    }
    click(arguments, Button::Left, 1)
}

/// Returns whether the words name a list. `in`, `on` and `of` usually state a location; they introduce a list only before
/// a noun for one or a bare quoted text.
fn names_a_list(list: Reader<'_>) -> bool {
    let is_bare_quote = list.sole_quoted().is_some();
    let noun = target::read(list).and_then(|named| named.noun);
    is_bare_quote || matches!(noun, Some(Noun::List | Noun::Kind(ElementKind::DropDown)))
}

fn choose<'a>(
    arguments: &Arguments<'a>,
    option: Reader<'a>,
    list: &TargetPhrase,
) -> Result<Vec<ParsedInstruction>> {
    let list = if list.text.is_none() {
        list.clone().with_default_kind(ElementKind::DropDown)
    } else {
        list.clone()
    };
    let step = |option| Instruction::Choose {
        option,
        list: list.clone(),
    };
    let mut options = arguments.list(option)?;
    if options.len() == 1 {
        return arguments.one(step(options.remove(0).0));
    }
    Ok(options
        .into_iter()
        .map(|(option, span)| arguments.item(step(option), span))
        .collect())
}

/// Parses a toggle, unless the clause is a check of visible text (`check "Done" is visible`).
fn toggle(arguments: &Arguments<'_>, on: bool) -> Result<Vec<ParsedInstruction>> {
    if on && actions::ends_in_predicate(arguments.rest) {
        return actions::verify(arguments, arguments.rest);
    }
    let rest = arguments
        .before(PhraseRole::Object)
        .filter(|_| arguments.rest.is_empty())
        .unwrap_or(arguments.rest);
    // `box` parses as a text field, but something that is checked is a checkbox.
    let kind = |kind| {
        if kind == ElementKind::TextField {
            ElementKind::Checkbox
        } else {
            kind
        }
    };
    arguments.each(rest, |target| Instruction::Toggle {
        target: TargetPhrase {
            kind: target.kind.map(kind),
            ..target
        },
        on,
    })
}

/// Parses the URL in `https://…`, `example.com` or `the website example.com`. With `surely`, any host is accepted.
fn parse_address(words: Reader<'_>, surely: bool) -> Option<String> {
    let mut words = words;
    words.eat(vocabulary::DETERMINERS);
    let mut behind_noun = words;
    let says_address =
        behind_noun.eat_entry(vocabulary::NOUNS) == Some(Noun::Address) && !behind_noun.is_empty();
    let address = if says_address { behind_noun } else { words };
    address
        .content()
        .and_then(|word| address::url(&word, surely || says_address))
}

/// Parses `open`: a URL, an application, or an element, depending on the noun.
fn open(arguments: &Arguments<'_>) -> Result<Vec<ParsedInstruction>> {
    if let Some(url) = parse_address(arguments.rest, false) {
        return arguments.one(Instruction::OpenUrl { url });
    }
    match arguments.named(arguments.rest)?.noun {
        Some(Noun::Kind(ElementKind::Switch)) => toggle(arguments, true),
        Some(Noun::File) => click(arguments, Button::Left, 2),
        Some(Noun::Kind(_) | Noun::Element | Noun::List | Noun::Key) => {
            click(arguments, Button::Left, 1)
        }
        Some(Noun::Address | Noun::Screen) => arguments.fail(ParseErrorKind::InvalidAddress),
        Some(Noun::Window) => switch_to(arguments),
        Some(Noun::Application) | None => launch(arguments, arguments.rest),
    }
}

fn launch<'a>(arguments: &Arguments<'a>, words: Reader<'a>) -> Result<Vec<ParsedInstruction>> {
    let named = arguments.named(words)?;
    let name = match (&named.noun, named.aim.text) {
        (None | Some(Noun::Application), Some(name)) => name,
        // The noun is part of the name (`Calendar page`).
        (Some(_), Some(_)) => words.content().unwrap_or_default(),
        (_, None) => return arguments.fail(ParseErrorKind::MissingTarget),
    };
    arguments.one(Instruction::Launch { name })
}

fn visit(arguments: &Arguments<'_>) -> Result<Vec<ParsedInstruction>> {
    if let Some(url) = parse_address(arguments.rest, true) {
        return arguments.one(Instruction::OpenUrl { url });
    }
    match arguments.named(arguments.rest)?.noun {
        Some(Noun::Kind(_) | Noun::Element | Noun::List | Noun::File) => {
            click(arguments, Button::Left, 1)
        }
        Some(Noun::Window) => switch_to(arguments),
        _ => arguments.fail(ParseErrorKind::InvalidAddress),
    }
}

fn switch_to(arguments: &Arguments<'_>) -> Result<Vec<ParsedInstruction>> {
    let named = arguments.named(arguments.rest)?;
    match (named.noun, named.aim.text) {
        (Some(Noun::Kind(_)), _) => click(arguments, Button::Left, 1),
        (_, Some(title)) => arguments.one(Instruction::FocusWindow { title }),
        (_, None) => arguments.fail(ParseErrorKind::MissingTarget),
    }
}

/// Parses `focus`: a click for a field, a window switch for a window.
fn focus(arguments: &Arguments<'_>) -> Result<Vec<ParsedInstruction>> {
    if arguments.named(arguments.rest)?.noun == Some(Noun::Window) {
        return switch_to(arguments);
    }
    arguments.each(arguments.rest, |aim| Instruction::Click {
        target: Some(aim.with_default_kind(ElementKind::TextField)),
        button: Button::Left,
        count: 1,
        modifiers: Vec::new(),
    })
}

/// Parses back, forward and refresh, which may only be followed by words for the page.
fn turn_page(arguments: &Arguments<'_>, step: Instruction) -> Result<Vec<ParsedInstruction>> {
    let mut rest = arguments.rest;
    rest.eat_all(&[
        "to", "the", "previous", "next", "last", "this", "current", "one", "a", "到", "上一",
        "下一", "上", "下", "个", "一", "当前",
    ]);
    rest.eat(&[
        "page", "site", "website", "screen", "tab", "页面", "页", "网页",
    ]);
    if rest.is_empty() {
        arguments.one(step)
    } else {
        arguments.fail(ParseErrorKind::TrailingWords {
            words: rest.raw().to_owned(),
        })
    }
}

/// Returns the language of the clause: Chinese if any word outside quotes is.
pub(super) fn language(words: Reader<'_>) -> Language {
    let unquoted = words.tokens().iter().filter(|token| !token.is_quoted());
    let goal_text = |span: &Span| {
        words
            .raw()
            .get(span.start - words.span().start..span.end - words.span().start)
            .unwrap_or_default()
    };
    let is_chinese = unquoted
        .map(|token| goal_text(&token.span))
        .any(|text| text.contains(is_ideograph));
    if is_chinese {
        Language::Chinese
    } else {
        Language::English
    }
}
