//! Reads one fragment: finds its verb and hands its arguments to the reading of that verb.

use motorium_proto::domain::action::Button;
use motorium_proto::domain::element::ElementKind;
use motorium_proto::domain::key::Key;

use crate::matcher::Relation;

use super::reader::Reader;
use super::sentence::{self, Fragment, Join, PlaceBefore, modified_click, verb_at};
use super::step::{Aim, Edit, Extent, Joined, Language, Step};
use super::target::{self, Named};
use super::token::{Span, Token, is_ideograph};
use super::words::{self, Noun, Verb};
use super::{Why, acts, address, entry, keys, number, phrase};

/// What earlier clauses leave to later ones: the verb that may be left out, and what `it` is.
#[derive(Debug, Clone, Default)]
pub(super) struct Context {
    verb: Option<(Verb, Vec<Key>)>,
    /// Whether the last clause had its texts in quotes.
    quoted: bool,
    /// Keys that are held until the next click.
    held: Vec<Key>,
    last: Option<Aim>,
}

/// A step and the words that ask for it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Reading {
    pub(super) step: Step,
    pub(super) span: Span,
    /// The verb that stands before the first of several things; see [`Clause::verb`](super::Clause::verb).
    pub(super) verb: Option<Span>,
    pub(super) joined: Option<Joined>,
}

/// Why a fragment is not understood, and which of its words are at fault.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Misreading {
    pub(super) span: Span,
    pub(super) why: Why,
}

pub(super) type Result<T> = std::result::Result<T, Misreading>;

/// The arguments of a verb.
#[derive(Debug, Clone)]
pub(super) struct Arguments<'a> {
    /// The whole clause, for errors.
    pub(super) clause: Reader<'a>,
    /// What follows the verb.
    pub(super) rest: Reader<'a>,
    /// The thing that was named before the verb.
    pub(super) before: Option<Before<'a>>,
    /// Keys held meanwhile.
    pub(super) modifiers: Vec<Key>,
    last: Option<Aim>,
}

/// A phrase before the verb, and how it is introduced.
#[derive(Debug, Clone, Copy)]
pub(super) struct Before<'a> {
    pub(super) words: Reader<'a>,
    pub(super) role: Role,
}

/// What the phrase before the verb does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// It is acted on (`把`, `将`, `对`).
    Object,
    /// It says where (`in`, `在`).
    Where,
    /// It says out of what (`from`, `从`).
    OutOf,
}

impl<'a> Arguments<'a> {
    /// The same clause with other words behind its verb.
    pub(super) fn with_rest(&self, rest: Reader<'a>) -> Self {
        Self {
            rest,
            ..self.clone()
        }
    }

    pub(super) fn fail<T>(&self, why: Why) -> Result<T> {
        Err(Misreading {
            span: self.clause.span(),
            why,
        })
    }

    /// The thing that the words name.
    pub(super) fn named(&self, words: Reader<'a>) -> Result<Named> {
        let words = without_locative(words.trimmed());
        if words.is_empty() {
            return self.fail(Why::NothingNamed);
        }
        if let Some(last) = self.last.clone().filter(|_| target::is_pronoun(words)) {
            return Ok(Named {
                aim: last,
                noun: None,
            });
        }
        target::read(words).ok_or(Misreading {
            span: words.span(),
            why: Why::NotAThing,
        })
    }

    /// The thing that the words name, without the noun.
    pub(super) fn aim(&self, words: Reader<'a>) -> Result<Aim> {
        Ok(self.named(words)?.aim)
    }

    /// The thing named before the verb, if it has that role.
    pub(super) fn before(&self, role: Role) -> Option<Reader<'a>> {
        self.before
            .filter(|before| before.role == role)
            .map(|before| before.words)
    }

    /// The things that the words name, one by one, each with its words.
    fn list(&self, words: Reader<'a>) -> Result<Vec<(Aim, Span)>> {
        let items = words.list_items();
        if items.is_empty() {
            return self.fail(Why::NothingNamed);
        }
        items
            .into_iter()
            .map(|item| Ok((self.aim(item)?, item.span())))
            .collect()
    }

    /// One reading for the whole clause.
    pub(super) fn one(&self, step: Step) -> Result<Vec<Reading>> {
        Ok(vec![Reading {
            step,
            span: self.clause.span(),
            verb: None,
            joined: None,
        }])
    }

    /// A reading for one of several things, which shares the verb with the others.
    pub(super) fn item(&self, step: Step, span: Span) -> Reading {
        let verb = self.clause.span().start..self.rest.span().start;
        let stands_apart = !self.rest.is_empty() && verb.start < verb.end && verb.end <= span.start;
        Reading {
            step,
            span,
            verb: stands_apart.then_some(verb),
            joined: None,
        }
    }

    /// A reading for each thing of a list.
    pub(super) fn each(
        &self,
        words: Reader<'a>,
        step: impl Fn(Aim) -> Step,
    ) -> Result<Vec<Reading>> {
        let mut items = self.list(words)?;
        if items.len() == 1 {
            return self.one(step(self.placed(items.remove(0).0)));
        }
        let mut readings: Vec<Reading> = items
            .into_iter()
            .map(|(aim, span)| self.item(step(self.placed(aim)), span))
            .collect();
        if let Some(name) = words.content().filter(|_| !words.has_quoted()) {
            readings[0].joined = Some(Joined {
                aim: Aim::text(name),
                clauses: readings.len(),
                span: self.clause.span(),
            });
        }
        Ok(readings)
    }

    /// The thing, inside what was named before the verb.
    fn placed(&self, mut aim: Aim) -> Aim {
        let place = self
            .before(Role::Where)
            .or(self.before(Role::OutOf))
            .and_then(target::read);
        if let (None, Some(place)) = (&aim.beside, place) {
            aim.beside = Some((Relation::Inside, Box::new(place.aim)));
        }
        aim
    }
}

/// Without a Chinese word of place behind a quoted name (`"帮助"上`).
fn without_locative(words: Reader<'_>) -> Reader<'_> {
    let mut name = words;
    name.eat_end(words::LOCATIVES);
    if name.tokens().last().is_some_and(Token::is_quoted) {
        name
    } else {
        words
    }
}

/// Reads a fragment. A run-on sentence (`scroll to the bottom hit Submit`) is cut before a verb if both halves can
/// be read so, and if it cannot be read as a whole.
pub(super) fn read(fragment: &Fragment<'_>, context: &mut Context) -> Result<Vec<Reading>> {
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

/// Both halves of a run-on sentence, and the context behind it.
fn read_run_on(fragment: &Fragment<'_>, context: &Context) -> Option<(Vec<Reading>, Context)> {
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

fn read_one(fragment: &Fragment<'_>, context: &mut Context) -> Result<Vec<Reading>> {
    let words = fragment
        .words
        .skip(sentence::introduction(fragment.words.tokens()));
    let mut words = words.trimmed();
    while words.len() > 1 && words.eat_end(words::TRAILERS) {}
    let clause = words.trimmed();
    if phrase::longest(clause.tokens(), words::FALSE_VERBS).is_some() {
        return Err(Misreading {
            span: clause.span(),
            why: Why::NoVerb { suggestion: None },
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
        .find_map(|reading| subject(&reading.step))
        .or(context.last.take());
    Ok(readings)
}

/// What `it` in the next clause means.
fn subject(step: &Step) -> Option<Aim> {
    match step {
        Step::Await { text, .. } | Step::Verify { text, .. } => Some(Aim::text(text)),
        Step::Scroll {
            extent: Extent::UntilShown(text),
            ..
        } => Some(Aim::text(text)),
        _ => step.target().cloned(),
    }
}

/// The keys that the next click is made with (`hold Ctrl and click "A"`).
fn held(step: &Step) -> Option<Vec<Key>> {
    match step {
        Step::Hold {
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
        before,
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

/// Whether words without quotes may stand for a thing where the verb is left out. They must look like a name
/// (`then Save As`), because a verb that is not known looks like this, too (`then do something nice`).
fn looks_like_a_name(clause: Reader<'_>, context: &Context) -> bool {
    let mut words = clause;
    let has_article = words.eat(words::DETERMINERS);
    let is_kind = target::read(clause).is_some_and(|named| named.noun.is_some());
    let first = clause.raw().chars().next();
    let is_short_chinese = first.is_some_and(is_ideograph) && clause.len() <= 6;
    let is_capital = first.is_some_and(|c| c.is_uppercase() || c.is_numeric());
    !context.quoted && (is_capital || is_short_chinese)
        || has_article && is_kind
        || is_kind && words.len() <= 3
}

fn after_verb(mut rest: Reader<'_>) -> Reader<'_> {
    rest.eat_all(words::AFTER_VERB);
    rest
}

fn with_place<'a>(
    clause: Reader<'a>,
    place: PlaceBefore,
    arguments: impl Fn(Reader<'a>, Option<Before<'a>>, Vec<Key>) -> Arguments<'a>,
) -> (Verb, Arguments<'a>) {
    let coverb = clause.split_at(place.coverb).0.raw();
    let role = match coverb {
        "把" | "将" | "对" => Role::Object,
        "从" => Role::OutOf,
        _ if coverb.eq_ignore_ascii_case("from") => Role::OutOf,
        _ => Role::Where,
    };
    let words = clause.split_at(place.end).0.skip(place.coverb);
    let behind = clause.skip(place.verb);
    let (verb, length) = verb_at(behind.tokens()).unwrap_or((Verb::Type, 0));
    (
        verb,
        arguments(
            after_verb(behind.skip(length)),
            Some(Before { words, role }),
            Vec::new(),
        ),
    )
}

fn no_verb(clause: Reader<'_>) -> Misreading {
    let first = clause.tokens().first().and_then(|token| token.word());
    let suggestion = first.and_then(sentence::similar_verb);
    Misreading {
        span: clause.span(),
        why: Why::NoVerb { suggestion },
    }
}

fn dispatch(verb: Verb, arguments: &Arguments<'_>) -> Result<Vec<Reading>> {
    match verb {
        Verb::Click(button, count) => click(arguments, button, count),
        Verb::Press => acts::press(arguments),
        Verb::Select => select(arguments),
        Verb::Toggle(on) => toggle(arguments, on),
        Verb::Hover => arguments.each(arguments.rest, |target| Step::Hover { target }),
        Verb::Type => entry::type_text(arguments),
        Verb::Write => entry::write_text(arguments),
        Verb::Fill => entry::fill(arguments),
        Verb::Set => entry::set(arguments),
        Verb::Clear => entry::clear(arguments),
        Verb::Hold => acts::hold(arguments),
        Verb::Scroll(direction) => acts::scroll(arguments, direction),
        Verb::Wait => acts::wait(arguments),
        Verb::Drag => acts::drag(arguments),
        Verb::Move => acts::drag(arguments),
        Verb::Copy => entry::edit(arguments, Edit::Copy),
        Verb::Cut => entry::edit(arguments, Edit::Cut),
        Verb::Paste => entry::paste(arguments),
        Verb::SelectAll => entry::edit(arguments, Edit::SelectAll),
        Verb::Undo => entry::edit(arguments, Edit::Undo),
        Verb::Redo => entry::edit(arguments, Edit::Redo),
        Verb::Open => open(arguments),
        Verb::Launch => launch(arguments, arguments.rest),
        Verb::Visit => visit(arguments),
        Verb::SwitchTo => switch_to(arguments),
        Verb::Focus => focus(arguments),
        Verb::Back => turn_page(arguments, Step::GoBack),
        Verb::Forward => turn_page(arguments, Step::GoForward),
        Verb::Refresh => turn_page(arguments, Step::Refresh),
        Verb::Verify => acts::verify(arguments, arguments.rest),
    }
}

/// A click on everything that is named, as often as is said.
pub(super) fn click(arguments: &Arguments<'_>, button: Button, count: u8) -> Result<Vec<Reading>> {
    let mut rest = arguments.rest;
    let mut modifiers = arguments.modifiers.clone();
    modifiers.extend(held_meanwhile(&mut rest));
    let times = number::eat_times_at_end(&mut rest)
        .or_else(|| number::eat_times(&mut rest))
        .unwrap_or(1);
    if let Some(object) = arguments.before(Role::Object).filter(|_| rest.is_empty()) {
        rest = object;
    }
    let click = |target| Step::Click {
        target,
        button,
        count,
        modifiers: modifiers.clone(),
    };
    let once = if rest.is_empty() {
        arguments.one(click(None))?
    } else {
        arguments.each(rest, |aim| click(Some(aim)))?
    };
    Ok(once
        .iter()
        .cycle()
        .take(once.len() * times as usize)
        .cloned()
        .collect())
}

/// Eats `while holding ctrl` and its like at the end.
fn held_meanwhile(rest: &mut Reader<'_>) -> Vec<Key> {
    let found = (1..rest.len()).find_map(|at| {
        let (before, mut names) = rest.split_at(at);
        if !names.eat(&[
            "while holding",
            "while holding down",
            "holding",
            "holding down",
            "with",
        ]) {
            return None;
        }
        names.eat_end(&["held down", "held", "pressed", "down"]);
        names.eat_end(&["key", "keys"]);
        keys::chord(names, true)
            .filter(|keys| keys::is_modifiers(keys))
            .map(|keys| (before, keys))
    });
    let Some((before, keys)) = found else {
        return Vec::new();
    };
    *rest = before;
    keys
}

/// One of a list if the list is named, otherwise a click on each.
fn select(arguments: &Arguments<'_>) -> Result<Vec<Reading>> {
    if let Some(list) = arguments
        .before(Role::OutOf)
        .or(arguments.before(Role::Where))
    {
        let list = arguments.aim(list)?;
        return choose(arguments, arguments.rest, &list);
    }
    let split = arguments.rest.around_last(words::OUT_OF).or_else(|| {
        arguments
            .rest
            .around_last(words::PERHAPS_OUT_OF)
            .filter(|(_, list)| names_a_list(*list))
    });
    if let Some((option, list)) = split {
        let list = arguments.aim(list)?;
        return choose(arguments, option, &list);
    }
    click(arguments, Button::Left, 1)
}

/// `in`, `on` and `of` say where a thing lies; they name a list only before a word for one, or a bare quote.
fn names_a_list(list: Reader<'_>) -> bool {
    let is_bare_quote = list.sole_quoted().is_some();
    let noun = target::read(list).and_then(|named| named.noun);
    is_bare_quote || matches!(noun, Some(Noun::List | Noun::Kind(ElementKind::DropDown)))
}

fn choose<'a>(arguments: &Arguments<'a>, option: Reader<'a>, list: &Aim) -> Result<Vec<Reading>> {
    let list = if list.text.is_none() {
        list.clone().or_kind(ElementKind::DropDown)
    } else {
        list.clone()
    };
    let step = |option| Step::Choose {
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

/// A tick, unless it is a sentence about what is shown (`check "Done" is visible`).
fn toggle(arguments: &Arguments<'_>, on: bool) -> Result<Vec<Reading>> {
    if on && acts::ends_in_predicate(arguments.rest) {
        return acts::verify(arguments, arguments.rest);
    }
    let rest = arguments
        .before(Role::Object)
        .filter(|_| arguments.rest.is_empty())
        .unwrap_or(arguments.rest);
    // What is ticked and called a box is no text field.
    let kind = |kind| {
        if kind == ElementKind::TextField {
            ElementKind::Checkbox
        } else {
            kind
        }
    };
    arguments.each(rest, |target| Step::Toggle {
        target: Aim {
            kind: target.kind.map(kind),
            ..target
        },
        on,
    })
}

/// The URL in `https://…`, `example.com` or `the website example.com`, if there is one. With `surely`, any host
/// will do.
fn said_address(words: Reader<'_>, surely: bool) -> Option<String> {
    let mut words = words;
    words.eat(words::DETERMINERS);
    let mut behind_noun = words;
    let says_address =
        behind_noun.eat_entry(words::NOUNS) == Some(Noun::Address) && !behind_noun.is_empty();
    let address = if says_address { behind_noun } else { words };
    address
        .content()
        .and_then(|word| address::url(&word, surely || says_address))
}

/// An address, an application, or something on the screen, by what is said of it.
fn open(arguments: &Arguments<'_>) -> Result<Vec<Reading>> {
    if let Some(url) = said_address(arguments.rest, false) {
        return arguments.one(Step::OpenUrl { url });
    }
    match arguments.named(arguments.rest)?.noun {
        Some(Noun::Kind(ElementKind::Switch)) => toggle(arguments, true),
        Some(Noun::File) => click(arguments, Button::Left, 2),
        Some(Noun::Kind(_) | Noun::Thing | Noun::List | Noun::Key) => {
            click(arguments, Button::Left, 1)
        }
        Some(Noun::Address | Noun::Screen) => arguments.fail(Why::NotAnAddress),
        Some(Noun::Window) => switch_to(arguments),
        Some(Noun::Application) | None => launch(arguments, arguments.rest),
    }
}

fn launch<'a>(arguments: &Arguments<'a>, words: Reader<'a>) -> Result<Vec<Reading>> {
    let named = arguments.named(words)?;
    let name = match (&named.noun, named.aim.text) {
        (None | Some(Noun::Application), Some(name)) => name,
        // The noun was a part of the name (`Calendar page`).
        (Some(_), Some(_)) => words.content().unwrap_or_default(),
        (_, None) => return arguments.fail(Why::NothingNamed),
    };
    arguments.one(Step::Launch { name })
}

fn visit(arguments: &Arguments<'_>) -> Result<Vec<Reading>> {
    if let Some(url) = said_address(arguments.rest, true) {
        return arguments.one(Step::OpenUrl { url });
    }
    match arguments.named(arguments.rest)?.noun {
        Some(Noun::Kind(_) | Noun::Thing | Noun::List | Noun::File) => {
            click(arguments, Button::Left, 1)
        }
        Some(Noun::Window) => switch_to(arguments),
        _ => arguments.fail(Why::NotAnAddress),
    }
}

fn switch_to(arguments: &Arguments<'_>) -> Result<Vec<Reading>> {
    let named = arguments.named(arguments.rest)?;
    match (named.noun, named.aim.text) {
        (Some(Noun::Kind(_)), _) => click(arguments, Button::Left, 1),
        (_, Some(title)) => arguments.one(Step::FocusWindow { title }),
        (_, None) => arguments.fail(Why::NothingNamed),
    }
}

/// A field gets the keyboard by a click; a window by its title.
fn focus(arguments: &Arguments<'_>) -> Result<Vec<Reading>> {
    if arguments.named(arguments.rest)?.noun == Some(Noun::Window) {
        return switch_to(arguments);
    }
    arguments.each(arguments.rest, |aim| Step::Click {
        target: Some(aim.or_kind(ElementKind::TextField)),
        button: Button::Left,
        count: 1,
        modifiers: Vec::new(),
    })
}

/// Back, forward, refresh: nothing may follow but words for the page.
fn turn_page(arguments: &Arguments<'_>, step: Step) -> Result<Vec<Reading>> {
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
        arguments.fail(Why::TooMuch {
            words: rest.raw().to_owned(),
        })
    }
}

/// The language of the clause: Chinese if its verb or any of its words outside quotes is.
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
