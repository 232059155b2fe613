//! Carries one clause out: from the step, the screen and what is known of the clause to the next move. Pure.
//!
//! A clause is decided in stages, one call each: most need one decision and a look at what came of it, a choice
//! from a list needs two, a scroll goes on until it is over. `stage` counts the decisions made so far.

use std::time::Duration;

use motorium_proto::domain::action::{Action, ActionKind, Button, Target, Text, WindowSelector};
use motorium_proto::domain::decision::{PastStep, PlannedAction};
use motorium_proto::domain::desktop::Platform;
use motorium_proto::domain::effect::{Effect, Verdict};
use motorium_proto::domain::element::ElementKind;
use motorium_proto::domain::geometry::CapturePoint;
use motorium_proto::domain::key::Key;
use motorium_proto::service::PlanRequest;

use super::acts::{self, Amount};
use super::cursor::{Cursor, Spot};
use super::grammar::{Aim, Clause, Direction, Edit, Extent, Step, parse_name};
use super::look;
use super::say::Voice;
use crate::matcher::{Found, Hit, Purpose, Screen};

/// How long the screen is given before one looks again for what is not there.
pub(super) const PAUSE: Duration = Duration::from_millis(600);
/// How often one looks again.
const LOOKS: u32 = 2;
/// How often after something was opened: applications and pages take their time.
const LOOKS_WHILE_OPENING: u32 = 20;
/// How long a text is waited for if the sentence does not say.
const USUAL_PATIENCE: Duration = Duration::from_secs(20);
/// How long a key is held if the sentence does not say.
const USUAL_HOLD: Duration = Duration::from_secs(1);
/// Wheel notches of a scroll if the sentence does not say: about half a window.
const USUAL_NOTCHES: u32 = 5;
/// Wheel notches at once on the way to an end.
const NOTCHES_TO_END: u32 = 15;
/// A scroll that is not over after so many turns never will be.
const MAX_TURNS: u32 = 60;

/// What a clause comes to.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Move {
    Act(Vec<PlannedAction>),
    /// Something is not there yet: wait, and look again.
    Look,
    /// The clause is done.
    Done,
    Ask {
        question: String,
    },
    Fail {
        reason: String,
    },
}

/// A clause at work.
#[derive(Debug)]
pub(super) struct Turn<'a> {
    pub(super) request: &'a PlanRequest,
    pub(super) screen: &'a Screen<'a>,
    pub(super) voice: Voice,
    pub(super) clause: &'a Clause,
    /// The clause's own words.
    pub(super) words: &'a str,
    /// The same where several clauses turn out to name one thing.
    pub(super) joined_words: &'a str,
}

/// What is found, or the move that ends the attempt.
type Looked<T> = Result<T, Move>;

/// The next move of a clause.
pub(super) fn perform(turn: &Turn<'_>, cursor: &mut Cursor) -> Move {
    let outcome = match &turn.clause.step {
        Step::Click {
            target,
            button,
            count,
            modifiers,
        } => turn.click(cursor, target.as_ref(), *button, *count, modifiers),
        Step::Toggle { target, on } => turn.toggle(cursor, target, *on),
        Step::Hover { target } => turn.hover(cursor, target),
        Step::Choose { option, list } => turn.choose(cursor, option, list),
        Step::Type {
            text,
            into,
            replace,
        } => turn.type_text(cursor, text, into.as_ref(), *replace),
        Step::Clear { field } => turn.clear(cursor, field.as_ref()),
        Step::Press { keys, repeat } => turn.single(cursor, |words| {
            acts::once(
                Action::KeyChord {
                    keys: keys.clone(),
                    repeat: *repeat,
                },
                words,
            )
        }),
        Step::Hold { keys, duration } => turn.single(cursor, |words| {
            acts::once(
                Action::HoldKey {
                    keys: keys.clone(),
                    duration: duration.unwrap_or(USUAL_HOLD),
                },
                words,
            )
        }),
        Step::Scroll {
            direction,
            extent,
            inside,
        } => turn.scroll(cursor, *direction, extent, inside.as_ref()),
        Step::Wait { duration } => turn.single(cursor, |words| acts::wait(*duration, words)),
        Step::Await {
            text,
            shown,
            at_most,
        } => turn.wait_for(cursor, text, *shown, at_most.unwrap_or(USUAL_PATIENCE)),
        Step::Drag { from, to } => turn.drag(cursor, from, to),
        Step::Edit { command, field } => turn.edit(cursor, *command, field.as_ref()),
        Step::PasteText { text, into } => turn.paste(cursor, text, into.as_ref()),
        Step::OpenUrl { url } => turn.open_url(cursor, url),
        Step::Launch { name } => turn.launch(cursor, name),
        Step::FocusWindow { title } => turn.focus_window(cursor, title),
        Step::GoBack => turn.single(cursor, |words| acts::once(Action::GoBack, words)),
        Step::GoForward => turn.single(cursor, |words| acts::once(Action::GoForward, words)),
        Step::Refresh => turn.single(cursor, |words| acts::once(Action::Refresh, words)),
        Step::Verify { text, shown } => turn.verify(cursor, text, *shown),
    };
    outcome.unwrap_or_else(|ending| ending)
}

impl Turn<'_> {
    /// An action without a target, whose effect is not judged.
    fn single(&self, cursor: &Cursor, action: impl FnOnce(&str) -> PlannedAction) -> Looked<Move> {
        Ok(if cursor.work.stage == 0 {
            Move::Act(vec![action(self.words)])
        } else {
            Move::Done
        })
    }

    fn fail<T>(&self, reason: String) -> Looked<T> {
        Err(Move::Fail { reason })
    }

    /// Gives the screen a little time, or says what is missing.
    fn missing<T>(&self, cursor: &mut Cursor, reason: impl FnOnce() -> String) -> Looked<T> {
        let patience = if cursor.opening {
            LOOKS_WHILE_OPENING
        } else {
            LOOKS
        };
        if cursor.work.looks >= patience {
            return Err(Move::Fail { reason: reason() });
        }
        cursor.work.looks += 1;
        Err(Move::Look)
    }

    /// The one thing that the aim names.
    fn locate(&self, cursor: &mut Cursor, aim: &Aim, purpose: Purpose) -> Looked<Hit> {
        let screen = self.screen.without(
            cursor
                .work
                .tried
                .iter()
                .map(|spot| CapturePoint::from(*spot))
                .collect(),
        );
        self.only(cursor, aim, look::find(&screen, aim, purpose))
    }

    fn only(&self, cursor: &mut Cursor, aim: &Aim, found: Found) -> Looked<Hit> {
        match found {
            Found::One(hit) => Ok(hit),
            Found::Several(hits) => self.pick(cursor, hits),
            Found::Nothing { nearest } => self.missing(cursor, || {
                self.voice.not_found(self.words, &aim.to_string(), &nearest)
            }),
        }
    }

    /// The one of several that the user's answer names; asks as long as there is none.
    fn pick(&self, cursor: &Cursor, hits: Vec<Hit>) -> Looked<Hit> {
        let chosen = cursor
            .work
            .answer
            .as_deref()
            .and_then(parse_name)
            .and_then(|answer| chosen(&hits, &answer, self));
        let question = || self.voice.which(self.words, &hits, self.request.frame.size);
        chosen.ok_or_else(|| Move::Ask {
            question: question(),
        })
    }

    /// Everything that the aim names: all of them if it says so, otherwise the one.
    fn locate_all(&self, cursor: &mut Cursor, aim: &Aim, purpose: Purpose) -> Looked<Vec<Hit>> {
        if !aim.all {
            return Ok(vec![self.locate(cursor, aim, purpose)?]);
        }
        let hits = look::find_all(self.screen, aim, purpose);
        if hits.is_empty() {
            self.missing(cursor, || {
                self.voice.not_found(self.words, &aim.to_string(), &[])
            })
        } else {
            Ok(hits)
        }
    }

    fn click(
        &self,
        cursor: &mut Cursor,
        target: Option<&Aim>,
        button: Button,
        count: u8,
        modifiers: &[Key],
    ) -> Looked<Move> {
        let click = |at: Option<Target>, words: &str| {
            let action = Action::Click {
                at,
                button,
                count,
                modifiers: modifiers.to_vec(),
            };
            if count == 1 {
                acts::repeatable(action, words)
            } else {
                acts::once(action, words)
            }
        };
        let Some(aim) = target else {
            return self.single(cursor, |words| click(None, words));
        };
        let purpose = Purpose::of_kind(aim.kind);
        if cursor.work.stage > 0 && (purpose == Purpose::Enter || !self.nothing_changed()) {
            return Ok(Move::Done);
        }
        let hits = self.clickable(cursor, aim, purpose)?;
        let words = self.intent(cursor);
        Ok(Move::Act(
            hits.into_iter()
                .map(|hit| click(Some(hit.target()), words))
                .collect(),
        ))
    }

    /// The words for what is done: those of all the clauses that it is done for.
    fn intent(&self, cursor: &Cursor) -> &str {
        if cursor.work.covers > 1 {
            self.joined_words
        } else {
            self.words
        }
    }

    /// What is to be clicked: at first what the aim names, and where that had no effect, once what comes next.
    fn clickable(&self, cursor: &mut Cursor, aim: &Aim, purpose: Purpose) -> Looked<Vec<Hit>> {
        if let Some(hit) = self.joined_name(cursor, purpose)? {
            return Ok(vec![hit]);
        }
        let hits = match cursor.work.stage {
            0 => self.locate_all(cursor, aim, purpose)?,
            1 if !aim.all => vec![self.alternative(cursor, aim, purpose)?],
            _ => return self.fail(self.voice.nothing_changed(self.words)),
        };
        cursor
            .work
            .tried
            .extend(hits.iter().map(|hit| Spot::from(hit.point)));
        Ok(hits)
    }

    /// The next best match, away from what was clicked in vain.
    fn alternative(&self, cursor: &Cursor, aim: &Aim, purpose: Purpose) -> Looked<Hit> {
        let screen = self.screen.without(
            cursor
                .work
                .tried
                .iter()
                .map(|spot| CapturePoint::from(*spot))
                .collect(),
        );
        match look::find(&screen, aim, purpose) {
            Found::One(hit) => Ok(hit),
            Found::Several(mut hits) => Ok(hits.remove(0)),
            Found::Nothing { .. } => self.fail(self.voice.nothing_changed(self.words)),
        }
    }

    /// The thing whose one name this clause and the next ones are (`Terms and Conditions`).
    fn joined_name(&self, cursor: &mut Cursor, purpose: Purpose) -> Looked<Option<Hit>> {
        let Some(joined) = self
            .clause
            .joined
            .as_ref()
            .filter(|_| cursor.work.stage == 0)
        else {
            return Ok(None);
        };
        let Some(found) = look::find_sure(self.screen, &joined.aim, purpose) else {
            return Ok(None);
        };
        let hit = self.only(cursor, &joined.aim, found)?;
        cursor.work.covers = joined.clauses;
        Ok(Some(hit))
    }

    fn toggle(&self, cursor: &mut Cursor, target: &Aim, on: bool) -> Looked<Move> {
        if cursor.work.stage > 0 && !self.nothing_changed() {
            return Ok(Move::Done);
        }
        let hits = self.clickable(cursor, target, Purpose::Toggle)?;
        let words = self.intent(cursor);
        let unlike = hits.iter().filter(|hit| hit.checked != Some(on));
        let clicks: Vec<PlannedAction> =
            unlike.map(|hit| acts::click(hit.target(), words)).collect();
        Ok(if clicks.is_empty() {
            Move::Done
        } else {
            Move::Act(clicks)
        })
    }

    fn hover(&self, cursor: &mut Cursor, target: &Aim) -> Looked<Move> {
        if cursor.work.stage > 0 {
            return Ok(Move::Done);
        }
        let hit = self.locate(cursor, target, Purpose::of_kind(target.kind))?;
        Ok(Move::Act(vec![acts::repeatable(
            Action::Move { to: hit.target() },
            self.words,
        )]))
    }

    /// Opens the list, then clicks the entry. A list without a name that stands open already needs no opening.
    fn choose(&self, cursor: &mut Cursor, option: &Aim, list: &Aim) -> Looked<Move> {
        if cursor.work.stage > 0 {
            return self.choose_opened(cursor, option);
        }
        let entry =
            look::find_sure(self.screen, option, Purpose::Press).filter(|_| list.text.is_none());
        if let Some(Found::One(entry)) = entry.filter(|found| !is_closed_list(found)) {
            cursor.work.stage = 1;
            return Ok(Move::Act(vec![acts::click(entry.target(), self.words)]));
        }
        let list = self.locate(
            cursor,
            &list.clone().or_kind(ElementKind::DropDown),
            Purpose::Enter,
        )?;
        cursor.work.set_opened(list.bounds);
        Ok(Move::Act(vec![acts::click(list.target(), self.words)]))
    }

    /// Of the entries of that name, the one nearest to the list that was opened; the list's own box shows what was
    /// chosen before.
    fn choose_opened(&self, cursor: &mut Cursor, option: &Aim) -> Looked<Move> {
        if cursor.work.stage > 1 {
            return if self.nothing_changed() {
                self.fail(self.voice.nothing_changed(self.words))
            } else {
                Ok(Move::Done)
            };
        }
        let opened = cursor.work.opened_bounds();
        let screen = self
            .screen
            .without(opened.map(|bounds| bounds.center()).into_iter().collect());
        let near =
            |hit: &Hit| opened.map_or(0, |bounds| (hit.point - bounds.center()).square_length());
        let entry = match look::find(&screen, option, Purpose::Press) {
            Found::Several(hits) => hits
                .into_iter()
                .min_by_key(near)
                .expect("several are at least two"),
            found => self.only(cursor, option, found)?,
        };
        Ok(Move::Act(vec![acts::click(entry.target(), self.words)]))
    }

    fn type_text(
        &self,
        cursor: &mut Cursor,
        text: &Text,
        into: Option<&Aim>,
        replace: bool,
    ) -> Looked<Move> {
        if cursor.work.opened.is_some() {
            return self.choose_opened(cursor, &Aim::text(literal(text)));
        }
        if cursor.work.stage > 0 {
            let in_vain = self.nothing_changed() && !replace;
            return if in_vain {
                self.fail(self.voice.nothing_changed(self.words))
            } else {
                Ok(Move::Done)
            };
        }
        let typing = acts::type_text(text.clone(), self.words);
        let Some(aim) = into else {
            return Ok(Move::Act(vec![typing]));
        };
        let fields = self.locate_all(cursor, aim, Purpose::Enter)?;
        if let [field] = fields.as_slice()
            && field.kind == ElementKind::DropDown
            && replace
        {
            cursor.work.set_opened(field.bounds);
            return Ok(Move::Act(vec![acts::click(field.target(), self.words)]));
        }
        let actions = fields.iter().flat_map(|field| {
            let mut actions = self.focus_on(field, replace);
            actions.push(typing.clone());
            actions
        });
        Ok(Move::Act(actions.collect()))
    }

    /// Clicks the field and, if wanted, selects what is in it.
    fn focus_on(&self, field: &Hit, select: bool) -> Vec<PlannedAction> {
        let mut actions = vec![acts::click(field.target(), self.words)];
        actions.extend(select.then(|| self.command('a')));
        actions
    }

    /// A keyboard command of the platform.
    fn command(&self, letter: char) -> PlannedAction {
        acts::chord(
            vec![
                acts::command_key(self.request.platform),
                Key::Character(letter),
            ],
            self.words,
        )
    }

    fn clear(&self, cursor: &mut Cursor, field: Option<&Aim>) -> Looked<Move> {
        if cursor.work.stage > 0 {
            return Ok(Move::Done);
        }
        let mut actions = match field {
            Some(aim) => self.focus_on(&self.locate(cursor, aim, Purpose::Enter)?, true),
            None => vec![self.command('a')],
        };
        actions.push(acts::chord(vec![Key::Delete], self.words));
        Ok(Move::Act(actions))
    }

    fn scroll(
        &self,
        cursor: &mut Cursor,
        direction: Direction,
        extent: &Extent,
        inside: Option<&Aim>,
    ) -> Looked<Move> {
        let turns = cursor.work.stage;
        let at_end = turns > 0 && self.at_end();
        let amount = match extent {
            Extent::Some | Extent::Notches(_) | Extent::Pixels(_) if turns > 0 => {
                return Ok(Move::Done);
            }
            Extent::Some => Amount::Notches(USUAL_NOTCHES),
            Extent::Notches(number) => Amount::Notches(*number),
            Extent::Pixels(number) => Amount::Pixels(*number),
            Extent::End if at_end => return Ok(Move::Done),
            Extent::End => Amount::Notches(NOTCHES_TO_END),
            Extent::UntilShown(text) if self.shows(cursor, text) => return Ok(Move::Done),
            Extent::UntilShown(text) if at_end => {
                return self.fail(self.voice.end_reached(self.words, text));
            }
            Extent::UntilShown(_) => Amount::Notches(USUAL_NOTCHES),
        };
        if turns >= MAX_TURNS {
            return self.fail(self.voice.never_ended(self.words));
        }
        let at = match inside {
            Some(aim) => Some(self.locate(cursor, aim, Purpose::Press)?.target()),
            None => self
                .request
                .frame
                .active_window()
                .map(|window| Target::Point(window.bounds.center())),
        };
        Ok(Move::Act(vec![acts::scroll(
            at, direction, amount, self.words,
        )]))
    }

    /// Whether the text is on the screen; if so, it is evidence.
    fn shows(&self, cursor: &mut Cursor, text: &str) -> bool {
        let line = self.screen.shows(text);
        cursor.evidence.extend(line.map(str::to_owned));
        line.is_some()
    }

    fn wait_for(
        &self,
        cursor: &mut Cursor,
        text: &str,
        shown: bool,
        at_most: Duration,
    ) -> Looked<Move> {
        if self.shows(cursor, text) == shown {
            return Ok(Move::Done);
        }
        if PAUSE * cursor.work.looks >= at_most {
            return self.fail(self.voice.waited_in_vain(self.words, text, shown, at_most));
        }
        cursor.work.looks += 1;
        Ok(Move::Look)
    }

    fn verify(&self, cursor: &mut Cursor, text: &str, shown: bool) -> Looked<Move> {
        if self.shows(cursor, text) == shown {
            return Ok(Move::Done);
        }
        self.missing(cursor, || self.voice.not_so(self.words, text, shown))
    }

    fn drag(&self, cursor: &mut Cursor, from: &Aim, to: &Aim) -> Looked<Move> {
        if cursor.work.stage > 0 {
            return if self.nothing_changed() {
                self.fail(self.voice.nothing_changed(self.words))
            } else {
                Ok(Move::Done)
            };
        }
        let from = self.locate(cursor, from, Purpose::Press)?.target();
        let to = self.locate(cursor, to, Purpose::Press)?.target();
        let drag = Action::Drag {
            path: vec![from, to],
            button: Button::Left,
            modifiers: Vec::new(),
            duration: None,
        };
        Ok(Move::Act(vec![acts::once(drag, self.words)]))
    }

    fn edit(&self, cursor: &mut Cursor, command: Edit, field: Option<&Aim>) -> Looked<Move> {
        if cursor.work.stage > 0 {
            return Ok(Move::Done);
        }
        // Copying or cutting what is in a field takes all of it.
        let takes_all = matches!(command, Edit::Copy | Edit::Cut);
        let mut actions = match field {
            Some(aim) => self.focus_on(&self.locate(cursor, aim, Purpose::Enter)?, takes_all),
            None => Vec::new(),
        };
        actions.push(match command {
            Edit::Copy => self.command('c'),
            Edit::Cut => self.command('x'),
            Edit::Paste => acts::once(Action::Paste { text: None }, self.words),
            Edit::SelectAll => self.command('a'),
            Edit::Undo => self.command('z'),
            Edit::Redo => self.redo(),
        });
        Ok(Move::Act(actions))
    }

    fn redo(&self) -> PlannedAction {
        match self.request.platform {
            Platform::Macos => acts::chord(
                vec![Key::Super, Key::Shift, Key::Character('z')],
                self.words,
            ),
            _ => self.command('y'),
        }
    }

    fn paste(&self, cursor: &mut Cursor, text: &Text, into: Option<&Aim>) -> Looked<Move> {
        if cursor.work.stage > 0 {
            return Ok(Move::Done);
        }
        let mut actions = match into {
            Some(aim) => self.focus_on(&self.locate(cursor, aim, Purpose::Enter)?, false),
            None => Vec::new(),
        };
        actions.push(acts::once(
            Action::Paste {
                text: Some(text.clone()),
            },
            self.words,
        ));
        Ok(Move::Act(actions))
    }

    fn open_url(&self, cursor: &mut Cursor, url: &str) -> Looked<Move> {
        if cursor.work.stage > 0 {
            return Ok(Move::Done);
        }
        cursor.opening = true;
        let url = url.to_owned();
        let is_browser = self.request.platform == Platform::Browser;
        let action = if is_browser {
            Action::GoToUrl { url }
        } else {
            Action::OpenUrl { url }
        };
        Ok(Move::Act(vec![acts::once(action, self.words)]))
    }

    /// Opens an application, and waits for its window where windows are known.
    fn launch(&self, cursor: &mut Cursor, name: &str) -> Looked<Move> {
        if cursor.work.stage > 0 {
            return self.opened(cursor, name);
        }
        let Some(name) = application(&self.request.applications, name) else {
            return self.fail(
                self.voice
                    .unknown_application(self.words, &self.request.applications),
            );
        };
        cursor.opening = true;
        cursor.work.windows = self
            .request
            .frame
            .windows
            .iter()
            .map(|window| window.id.clone())
            .collect();
        Ok(Move::Act(vec![acts::once(
            Action::OpenApplication { name },
            self.words,
        )]))
    }

    fn opened(&self, cursor: &mut Cursor, name: &str) -> Looked<Move> {
        let windows = &self.request.frame.windows;
        let is_new = windows
            .iter()
            .any(|window| !cursor.work.windows.contains(&window.id));
        let is_in_front = self.screen.window(name).is_some_and(|window| window.active);
        let knows_windows = !windows.is_empty() || !cursor.work.windows.is_empty();
        let changed = self.effects().any(|effect| effect.window_changed);
        if is_new || is_in_front || changed || !knows_windows && cursor.work.looks > 0 {
            return Ok(Move::Done);
        }
        self.missing(cursor, || {
            self.voice
                .no_new_window(self.words, PAUSE * LOOKS_WHILE_OPENING)
        })
    }

    fn focus_window(&self, cursor: &mut Cursor, title: &str) -> Looked<Move> {
        let Some(window) = self.screen.window(title) else {
            let titles: Vec<String> = self
                .request
                .frame
                .windows
                .iter()
                .map(|window| window.title.clone())
                .take(3)
                .collect();
            return self.missing(cursor, || {
                self.voice
                    .not_found(self.words, &format!("\"{title}\""), &titles)
            });
        };
        if window.active || cursor.work.stage > 0 {
            return Ok(Move::Done);
        }
        let window = WindowSelector::Id(window.id.clone());
        Ok(Move::Act(vec![acts::repeatable(
            Action::FocusWindow { window },
            self.words,
        )]))
    }

    /// The effects of what was decided last.
    fn effects(&self) -> impl Iterator<Item = &Effect> {
        self.last_step()
            .into_iter()
            .flat_map(|step| &step.actions)
            .filter_map(|action| action.effect.as_ref())
    }

    fn last_step(&self) -> Option<&PastStep> {
        self.request.history.last()
    }

    /// Whether the last of what was decided changed nothing. Where no effect is known, it is taken to have had one.
    fn nothing_changed(&self) -> bool {
        let last = self.last_step().and_then(|step| step.actions.last());
        let verdict = last
            .and_then(|action| action.effect.as_ref())
            .map(|effect| effect.verdict);
        verdict == Some(Verdict::NoEffect)
            && last.is_none_or(|action| action.planned.action.kind() != ActionKind::Wait)
    }

    /// Whether the last scroll moved nothing.
    fn at_end(&self) -> bool {
        self.effects()
            .last()
            .is_some_and(|effect| matches!(effect.verdict, Verdict::EndReached | Verdict::NoEffect))
    }
}

/// The hit that an answer names: by its number, its place or its text.
fn chosen(hits: &[Hit], answer: &Aim, turn: &Turn<'_>) -> Option<Hit> {
    use motorium_proto::domain::action::Ordinal;
    match answer.ordinal {
        Some(Ordinal::Nth(number)) => {
            return hits
                .get(usize::try_from(number).ok()?.checked_sub(1)?)
                .cloned();
        }
        Some(Ordinal::Last) => return hits.last().cloned(),
        None => {}
    }
    let matching = |found: &Found| match found {
        Found::One(hit) => hits.iter().find(|known| known.point == hit.point).cloned(),
        _ => None,
    };
    let text = answer
        .text
        .clone()
        .or_else(|| hits.first().map(|hit| hit.content.clone()));
    matching(&look::find(
        turn.screen,
        &Aim {
            text,
            ..answer.clone()
        },
        Purpose::Press,
    ))
}

/// Whether the text is what a closed list shows, so that it cannot be chosen by a click on it.
fn is_closed_list(found: &Found) -> bool {
    matches!(found, Found::One(hit) if hit.kind == ElementKind::DropDown)
}

fn literal(text: &Text) -> &str {
    match text {
        Text::Literal(text) | Text::Secret(text) => text,
    }
}

/// The configured name of an application; any name where none are known.
pub(super) fn application(known: &[String], name: &str) -> Option<String> {
    let folded = |name: &str| {
        name.to_lowercase()
            .chars()
            .filter(|c| c.is_alphanumeric())
            .collect::<String>()
    };
    let wanted = folded(name);
    if known.is_empty() {
        return Some(name.to_owned());
    }
    let exact = known.iter().find(|known| folded(known) == wanted);
    exact
        .or_else(|| {
            known
                .iter()
                .find(|known| folded(known).contains(&wanted) || wanted.contains(&folded(known)))
        })
        .cloned()
}
