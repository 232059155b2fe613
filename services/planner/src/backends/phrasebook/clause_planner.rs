//! Plans one clause: from the instruction, the screen and the clause's progress to the next decision. Pure.
//!
//! A clause is decided in stages, one call each: most need one decision and a check of its effect, a choice from a list
//! needs two, a scroll repeats until it ends. `stage` counts the decisions made so far.

use std::time::Duration;

use motorium_proto::domain::action::{Action, ActionKind, Button, Target, Text, WindowSelector};
use motorium_proto::domain::decision::{PastStep, PlannedAction};
use motorium_proto::domain::desktop::Platform;
use motorium_proto::domain::effect::{Effect, Verdict};
use motorium_proto::domain::element::ElementKind;
use motorium_proto::domain::frame::Window;
use motorium_proto::domain::geometry::{CapturePoint, CaptureRect};
use motorium_proto::domain::key::Key;
use motorium_proto::service::PlanRequest;

use super::actions::{self, ScrollDistance};
use super::candidates;
use super::cursor::{ClauseCursor, FramePixel, SliderPhase, SliderProgress};
use super::locate;
use super::messages::Messages;
use super::values;
use motorium_phrasebook::calendar::CalendarValue;
use motorium_phrasebook::grammar::{
    Clause, Direction, EditCommand, Instruction, ScrollExtent, TargetPhrase, parse_target,
};
use motorium_phrasebook::matcher::{
    ElementMatch, Interaction, MatchResult, ScreenIndex, TextAtField, is_same_text,
};

/// Time between two observations while a target is missing. Covers most menu and page animations.
pub(super) const RETRY_INTERVAL: Duration = Duration::from_millis(600);
/// Maximum retries for a missing target. Bounds the delay before a misspelled name is reported.
const MAX_RETRIES: u32 = 2;
/// Maximum retries after a click or a key: 5 s in total, as results of a search take.
const MAX_RETRIES_WHILE_LOADING: u32 = 8;
/// Maximum retries after something was opened: 12 s in total, because applications and pages start slowly.
const MAX_RETRIES_WHILE_OPENING: u32 = 20;
/// Maximum looks at a field that shows nothing of its text: 8 s in total. A busy application shows typed text late, and typing it
/// again would double it. A page that needs 700 ms for a key shows none of eleven before.
const MAX_LOOKS_AT_FIELD: u32 = 14;
/// Maximum looks at a field that shows the beginning of its text and nothing more: 2 s in total.
const MAX_LOOKS_AT_BEGINNING: u32 = 3;
/// Maximum looks at a list that shows another entry, and at a field that was cleared: 4 s in total.
const MAX_LOOKS_AT_CHANGE: u32 = 7;
/// Maximum further looks at a field whose content changes from one to the next: 24 s in total. A slow application shows the text bit
/// by bit.
const MAX_LOOKS_AT_ARRIVING_TEXT: u32 = 40;
/// Maximum looks at an opened page that is blank: 12 s in total, as for other things that were opened.
const MAX_LOOKS_AT_BLANK_PAGE: u32 = MAX_RETRIES_WHILE_OPENING;
/// Maximum looks for the file that was chosen in a dialog that has closed: 2 s in total. A page shows the name of a file at once.
const MAX_LOOKS_FOR_FILE: u32 = 3;
/// Looks for a new line with an awaited text, where one was there before the last action: 3 s in total. Most answers have come by
/// then, and a text that is only there still is not worth a longer wait.
const LOOKS_FOR_NEW_LINE: u32 = 5;
/// Default timeout of a wait for a text.
// Pages and programs that take longer are better waited for with a time of the user's own.
const DEFAULT_WAIT_TIMEOUT: Duration = Duration::from_secs(20);
/// Default duration of holding a key.
// Long enough for applications that tell a long press from a short one.
const DEFAULT_HOLD: Duration = Duration::from_secs(1);
/// Default wheel notches of a scroll: about half a window, so that no content is skipped.
const DEFAULT_NOTCHES: u32 = 5;
/// Wheel notches per scroll on the way to an end. Larger than the default, because nothing is read in between.
const NOTCHES_TO_END: u32 = 15;
/// Distance of the middle of a scroll bar from the edge of its window, in pixels. Bars are 12 to 16 wide, frames 0 to 5.
const SCROLL_BAR_PX: i32 = 10;
/// Distance of a list from its caption, in heights of the caption.
const HEIGHTS_BELOW_CAPTION: i32 = 2;
/// Maximum number of scrolls for one clause. Stops at endless pages.
const MAX_SCROLLS: u32 = 60;

/// Next decision for a clause.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum ClauseDecision {
    Act(Vec<PlannedAction>),
    /// The target is not there yet: wait, then observe again.
    Wait,
    /// The clause is done.
    Done,
    /// The clause has nothing to change: its result is there already.
    AlreadySo,
    Ask {
        question: String,
    },
    /// Nothing tells whether the last action of the goal had an effect.
    AskWhetherDone,
    Fail {
        reason: String,
    },
}

/// Planner for one clause.
#[derive(Debug)]
pub(super) struct ClausePlanner<'a> {
    pub(super) request: &'a PlanRequest,
    pub(super) screen: &'a ScreenIndex<'a>,
    pub(super) voice: Messages,
    pub(super) clause: &'a Clause,
    /// No clause follows: nothing later would show that this one had no effect.
    pub(super) is_last: bool,
    /// Words of the clause.
    pub(super) words: &'a str,
    /// Words of all clauses if they are one name.
    pub(super) joined_words: &'a str,
    /// Texts that earlier clauses type.
    pub(super) typed: Vec<&'a str>,
}

/// A value, or the decision that ends the attempt.
type Attempt<T> = Result<T, ClauseDecision>;

/// Decides the next step of a clause.
pub(super) fn plan_clause(turn: &ClausePlanner<'_>, cursor: &mut ClauseCursor) -> ClauseDecision {
    let outcome = match &turn.clause.instruction {
        Instruction::Click {
            target,
            button,
            count,
            modifiers,
        } => turn.click(cursor, target.as_ref(), *button, *count, modifiers),
        Instruction::Toggle { target, on } => turn.toggle(cursor, target, *on),
        Instruction::Hover { target } => turn.hover(cursor, target),
        Instruction::Choose { option, list } => turn.choose(cursor, option, list),
        Instruction::Type {
            text,
            into,
            replace,
        } => turn.type_text(cursor, text, into.as_ref(), *replace),
        Instruction::Clear { field } => turn.clear(cursor, field.as_ref()),
        Instruction::Press { keys, repeat } => turn.press(cursor, keys, *repeat),
        Instruction::Hold { keys, duration } => turn.single(cursor, |words| {
            actions::once(
                Action::HoldKey {
                    keys: keys.clone(),
                    duration: duration.unwrap_or(DEFAULT_HOLD),
                },
                words,
            )
        }),
        Instruction::Scroll {
            direction,
            extent,
            inside,
        } => turn.scroll(cursor, *direction, extent, inside.as_ref()),
        Instruction::Wait { duration } => {
            turn.single(cursor, |words| actions::wait(*duration, words))
        }
        Instruction::WaitForText {
            text,
            shown,
            timeout,
        } => turn.wait_for(
            cursor,
            text,
            *shown,
            timeout.unwrap_or(DEFAULT_WAIT_TIMEOUT),
        ),
        Instruction::Drag { from, to } => turn.drag(cursor, from, to),
        Instruction::Edit { command, field } => turn.edit(cursor, *command, field.as_ref()),
        Instruction::PasteText { text, into } => turn.paste(cursor, text, into.as_ref()),
        Instruction::OpenUrl { url } => turn.open_url(cursor, url),
        Instruction::Launch { name } => turn.launch(cursor, name),
        Instruction::FocusWindow { title } => turn.focus_window(cursor, title),
        Instruction::GoBack => turn
            .visible(cursor, |words| actions::once(Action::GoBack, words))
            .and_then(|decision| turn.unless_page_failed(decision)),
        Instruction::GoForward => turn
            .visible(cursor, |words| actions::once(Action::GoForward, words))
            .and_then(|decision| turn.unless_page_failed(decision)),
        Instruction::Refresh => turn
            .single(cursor, |words| actions::once(Action::Refresh, words))
            .and_then(|decision| turn.unless_page_failed(decision)),
        Instruction::Verify { text, shown } => turn.verify(cursor, text, *shown),
    };
    match outcome.unwrap_or_else(|ending| ending) {
        ClauseDecision::Done => match turn.missing_file(cursor) {
            Some(decision) => decision,
            None if turn.is_unconfirmed(cursor) => ClauseDecision::AskWhetherDone,
            None => ClauseDecision::Done,
        },
        decision => decision,
    }
}

impl ClausePlanner<'_> {
    /// Returns an action without a target, whose effect is not checked.
    fn single(
        &self,
        cursor: &ClauseCursor,
        action: impl FnOnce(&str) -> PlannedAction,
    ) -> Attempt<ClauseDecision> {
        Ok(if cursor.work.stage == 0 {
            ClauseDecision::Act(vec![action(self.words)])
        } else {
            ClauseDecision::Done
        })
    }

    /// Returns an action without a target that has to show an effect if nothing follows it.
    fn visible(
        &self,
        cursor: &ClauseCursor,
        action: impl FnOnce(&str) -> PlannedAction,
    ) -> Attempt<ClauseDecision> {
        if cursor.work.stage > 0 {
            self.require_effect_at_end()?;
        }
        self.single(cursor, action)
    }

    /// Fails if the last clause of the goal changed nothing.
    fn require_effect_at_end(&self) -> Attempt<()> {
        if self.is_last && self.nothing_changed() {
            return self.fail(self.voice.nothing_changed(self.words));
        }
        Ok(())
    }

    /// Returns whether the goal ends here and nothing tells if its last action had an effect: motion or redaction hides it, or the
    /// screen did not settle. Instructions that read their own result, or that need not show any, are not concerned.
    fn is_unconfirmed(&self, cursor: &ClauseCursor) -> bool {
        let is_to_be_seen = match &self.clause.instruction {
            // A click into a field places the caret, which blinks, so that the screen does not settle.
            Instruction::Click { .. } => !self.has_clicked_field(cursor) || self.has_settled(),
            Instruction::Choose { .. }
            | Instruction::Drag { .. }
            | Instruction::GoBack
            | Instruction::GoForward => true,
            Instruction::Press { keys, .. } => !has_no_visible_effect(keys),
            Instruction::Type { into, .. } if self.is_slider(into.as_ref()) => false,
            Instruction::Type { text, .. } | Instruction::PasteText { text, .. } => {
                !self.is_shown(cursor, text)
            }
            _ => false,
        };
        let last = self.effects().last().map(|effect| effect.verdict);
        let is_hidden = is_to_be_seen && last == Some(Verdict::Unknown);
        self.is_last && cursor.work.stage > 0 && is_hidden
    }

    /// Returns the decision for a dialog that has closed without the file that was to be chosen in it, or `None` if there is none: in
    /// some dialogs, a double click and Enter press the button that cancels.
    fn missing_file(&self, cursor: &mut ClauseCursor) -> Option<ClauseDecision> {
        let file = cursor.work.chosen_file.as_deref()?;
        let windows = &self.request.frame.windows;
        let is_open = windows
            .iter()
            .any(|window| cursor.work.windows.contains(&window.id));
        let is_named = !file.is_empty();
        let mut no_file = NO_FILE_TEXTS.iter().copied();
        let no_file = no_file.find(|text| self.screen.find_text(text).is_some());
        let is_titled = |window: &Window| window.title.contains(file);
        let mut active = windows.iter().filter(|window| window.active);
        // Another application may have the file open, whose title is text on the screen as well.
        let mut others = windows.iter().filter(|window| !window.active);
        let is_open_elsewhere = no_file.is_some() && others.any(is_titled);
        let is_on_screen = !is_open_elsewhere && self.screen.find_text(file).is_some();
        let is_seen = is_named && (active.any(is_titled) || is_on_screen);
        if is_open || is_seen || !is_named && no_file.is_none() {
            return None;
        }
        if cursor.work.file_looks < MAX_LOOKS_FOR_FILE {
            cursor.work.file_looks += 1;
            return Some(ClauseDecision::Wait);
        }
        Some(match no_file {
            Some(shown) if is_named => ClauseDecision::Fail {
                reason: self.voice.not_chosen(self.words, file, shown),
            },
            _ => ClauseDecision::AskWhetherDone,
        })
    }

    /// Remembers the file that a click is for, if it is in a dialog that chooses one. A double click is to choose it.
    fn note_file(
        &self,
        cursor: &mut ClauseCursor,
        aim: &TargetPhrase,
        hits: &[ElementMatch],
        is_double: bool,
    ) {
        use ElementKind::{Icon, Image, Label, ListItem, TableRow};
        let is_entry =
            |hit: &ElementMatch| matches!(hit.kind, ListItem | TableRow | Label | Icon | Image);
        let dialog = self.open_dialog();
        let Some(dialog) = dialog.filter(|dialog| has_title(dialog, OPEN_DIALOG_TITLES)) else {
            return;
        };
        let Some(file) = aim.text.clone().filter(|_| hits.iter().all(is_entry)) else {
            return;
        };
        if is_double {
            cursor.work.windows = vec![dialog.id.clone(), dialog.title.clone()];
            cursor.work.chosen_file = Some(file.clone());
        }
        cursor.clicked_file = Some(file);
    }

    /// Returns whether the clicked row is selected, so that a click on it changes nothing. A row of a dialog that chooses a file is
    /// unless it is seen not to be: clicking there does nothing else.
    fn is_on_selected_row(&self, cursor: &ClauseCursor) -> bool {
        let dialog = self.open_dialog();
        let chooses = dialog.is_some_and(|dialog| has_title(dialog, OPEN_DIALOG_TITLES));
        let mut clicked = cursor.work.tried.iter().copied();
        clicked.any(|point| match self.screen.row_selection_at(point.into()) {
            Some(selected) => selected.unwrap_or(chooses),
            None => false,
        })
    }

    /// Returns the name of the file whose path was entered last.
    fn entered_file(&self) -> Option<String> {
        let text = self
            .last_step()?
            .actions
            .last()?
            .planned
            .action
            .entered_text()?;
        let name = text.trim().rsplit(['/', '\\']).next()?;
        (!name.is_empty()).then(|| name.to_owned())
    }

    /// Returns whether a text is read in the fields that it was entered into. A secret is redacted and counts as shown.
    fn is_shown(&self, cursor: &ClauseCursor, text: &Text) -> bool {
        let Text::Literal(content) = text else {
            return true;
        };
        let mut fields = cursor.work.field_bounds().peekable();
        let holds = |shown: TextAtField<'_>| shown.holds(content);
        fields.peek().is_some()
            && fields.all(|bounds| self.screen.text_in_field(bounds).is_some_and(holds))
    }

    fn has_settled(&self) -> bool {
        self.effects().last().is_some_and(|effect| effect.settled)
    }

    fn has_clicked_field(&self, cursor: &ClauseCursor) -> bool {
        let mut clicked = cursor.work.tried.iter().copied();
        clicked.any(|point| self.screen.is_field_at(point.into()))
    }

    fn is_slider(&self, target: Option<&TargetPhrase>) -> bool {
        target.is_some_and(|target| target.kind == Some(ElementKind::Slider))
    }

    /// Presses keys. Enter is pressed a second time if it only closed a list of completions and its dialog still stands.
    fn press(
        &self,
        cursor: &mut ClauseCursor,
        keys: &[Key],
        repeat: u32,
    ) -> Attempt<ClauseDecision> {
        let accepts = matches!(keys, [Key::Enter]) && repeat == 1;
        let chord = || {
            let action = Action::KeyChord {
                keys: keys.to_vec(),
                repeat,
            };
            ClauseDecision::Act(vec![actions::once(action, self.words)])
        };
        if cursor.work.stage == 0 {
            if let Some(dialog) = self.open_dialog().filter(|_| accepts) {
                cursor.work.windows = vec![dialog.id.clone(), dialog.title.clone()];
                let chooses = has_title(dialog, OPEN_DIALOG_TITLES);
                let file = self.entered_file().or(cursor.clicked_file.take());
                cursor.work.chosen_file = chooses.then(|| file.unwrap_or_default());
            }
            return Ok(chord());
        }
        // Another dialog of that title stands where a key that came too late has pressed the button that opens it.
        let is_noted = |text: &String| cursor.work.windows.contains(text);
        let standing = self
            .open_dialog()
            .filter(|dialog| is_noted(&dialog.id) || is_noted(&dialog.title))
            // After the wait below, nothing tells any more that the key had no effect.
            .filter(|dialog| {
                is_file_dialog(dialog) || cursor.work.looks > 0 || self.nothing_changed()
            });
        if let Some(dialog) = standing {
            if cursor.work.stage > 1 || !is_noted(&dialog.id) {
                return self.fail(self.voice.dialog_stands(self.words, &dialog.title));
            }
            // It may be closing.
            if cursor.work.looks == 0 {
                cursor.work.looks += 1;
                return Err(ClauseDecision::Wait);
            }
            return Ok(chord());
        }
        if !has_no_visible_effect(keys) {
            self.require_effect_at_end()?;
        }
        Ok(ClauseDecision::Done)
    }

    /// Returns the active window if it is a dialog.
    fn open_dialog(&self) -> Option<&Window> {
        let window = self.request.frame.active_window()?;
        (window.modal || is_file_dialog(window)).then_some(window)
    }

    fn fail<T>(&self, reason: String) -> Attempt<T> {
        Err(ClauseDecision::Fail { reason })
    }

    /// Waits for the screen, or fails after the last retry.
    fn missing<T>(&self, cursor: &mut ClauseCursor, reason: impl FnOnce() -> String) -> Attempt<T> {
        let max_retries = if cursor.opening {
            MAX_RETRIES_WHILE_OPENING
        } else if cursor.loading {
            MAX_RETRIES_WHILE_LOADING
        } else {
            MAX_RETRIES
        };
        if cursor.work.looks >= max_retries {
            return Err(ClauseDecision::Fail { reason: reason() });
        }
        cursor.work.looks += 1;
        Err(ClauseDecision::Wait)
    }

    /// Adds to a problem what may be in the way of a missing target: an open dialog, or a bubble of the browser.
    fn with_obstacle(&self, problem: String) -> String {
        let dialog = self.open_dialog().map(|window| window.title.as_str());
        let bubble = || self.screen.browser_bubble();
        match dialog.filter(|title| !title.is_empty()).or_else(bubble) {
            Some(obstacle) => self.voice.in_the_way(&problem, obstacle),
            None => problem,
        }
    }

    /// Finds the element that the target phrase names.
    fn locate(
        &self,
        cursor: &mut ClauseCursor,
        aim: &TargetPhrase,
        purpose: Interaction,
    ) -> Attempt<ElementMatch> {
        let screen = self.meant(cursor, aim, purpose);
        self.only(cursor, aim, locate::find(&screen, aim, purpose))
    }

    /// Returns the screen in which a target is looked for: without the points that were clicked without effect, and without the fields
    /// into which an earlier clause has typed the same text. What is found by it is meant, and not what it was found with.
    fn meant(
        &self,
        cursor: &ClauseCursor,
        aim: &TargetPhrase,
        purpose: Interaction,
    ) -> ScreenIndex<'_> {
        let tried = cursor.work.tried.iter();
        let mut points: Vec<CapturePoint> = tried.map(|spot| CapturePoint::from(*spot)).collect();
        let text = aim
            .text
            .as_deref()
            .filter(|_| purpose == Interaction::Click);
        let typed = text.filter(|text| self.typed.iter().any(|typed| is_same_text(typed, text)));
        points.extend(
            typed
                .into_iter()
                .flat_map(|text| self.screen.fields_showing(text)),
        );
        self.screen.excluding(points)
    }

    /// Returns the screen without the points that were clicked without effect.
    fn untried(&self, cursor: &ClauseCursor) -> ScreenIndex<'_> {
        let tried = cursor.work.tried.iter();
        let points = tried.map(|spot| CapturePoint::from(*spot)).collect();
        self.screen.excluding(points)
    }

    fn only(
        &self,
        cursor: &mut ClauseCursor,
        aim: &TargetPhrase,
        found: MatchResult,
    ) -> Attempt<ElementMatch> {
        match found {
            MatchResult::Unique(hit) => Ok(hit),
            MatchResult::Ambiguous(hits) => self.pick(cursor, hits),
            MatchResult::NotFound { nearest } => self.missing(cursor, || {
                self.with_obstacle(self.voice.not_found(self.words, aim, &nearest))
            }),
        }
    }

    /// Returns the match that the user's answer names; asks if there is no answer.
    fn pick(&self, cursor: &ClauseCursor, hits: Vec<ElementMatch>) -> Attempt<ElementMatch> {
        let chosen = cursor
            .work
            .answer
            .as_deref()
            .and_then(parse_target)
            .and_then(|answer| chosen(&hits, &answer, self));
        let answer = cursor.work.answer.as_deref();
        let chosen = chosen.or_else(|| candidates::in_named_row(&hits, answer?, self.screen));
        chosen.ok_or_else(|| {
            let size = self.request.frame.size;
            let question = self.voice.ask_which(self.words, &hits, self.screen, size);
            let question = match answer {
                Some(answer) => self.voice.answer_unknown(answer, hits.len(), &question),
                None => question,
            };
            ClauseDecision::Ask { question }
        })
    }

    /// Finds all elements that the target phrase names, or the one unless it says `all`.
    fn locate_all(
        &self,
        cursor: &mut ClauseCursor,
        aim: &TargetPhrase,
        purpose: Interaction,
    ) -> Attempt<Vec<ElementMatch>> {
        if !aim.all {
            return Ok(vec![self.locate(cursor, aim, purpose)?]);
        }
        let hits = locate::find_all(self.screen, aim, purpose);
        if hits.is_empty() {
            self.missing(cursor, || {
                self.with_obstacle(self.voice.not_found(self.words, aim, &[]))
            })
        } else {
            Ok(hits)
        }
    }

    fn click(
        &self,
        cursor: &mut ClauseCursor,
        target: Option<&TargetPhrase>,
        button: Button,
        count: u8,
        modifiers: &[Key],
    ) -> Attempt<ClauseDecision> {
        let click = |at: Option<Target>, words: &str| {
            let action = Action::Click {
                at,
                button,
                count,
                modifiers: modifiers.to_vec(),
            };
            if count == 1 {
                actions::repeatable(action, words)
            } else {
                actions::once(action, words)
            }
        };
        let Some(aim) = target else {
            return self.visible(cursor, |words| click(None, words));
        };
        let purpose = Interaction::of_kind(aim.kind);
        if cursor.work.stage > 0 {
            // A field that had the focus already shows nothing new, and a text that follows is read back. A list has to open.
            let is_field = matches!(
                aim.kind,
                Some(ElementKind::TextField | ElementKind::SpinBox)
            );
            match self.nothing_changed() {
                false => return Ok(ClauseDecision::Done),
                true if is_field && self.is_last => return Ok(ClauseDecision::AskWhetherDone),
                true if is_field => return Ok(ClauseDecision::Done),
                true => {}
            }
        }
        if cursor.work.stage > 0 && count == 1 && self.is_on_selected_row(cursor) {
            return Ok(ClauseDecision::AlreadySo);
        }
        let hits = self.clickable(cursor, aim, purpose)?;
        if button == Button::Left {
            self.note_file(cursor, aim, &hits, count > 1);
        }
        let words = self.intent(cursor);
        Ok(ClauseDecision::Act(
            hits.into_iter()
                .map(|hit| click(Some(hit.target()), words))
                .collect(),
        ))
    }

    /// Returns the words for the intent: those of all clauses that it covers.
    fn intent(&self, cursor: &ClauseCursor) -> &str {
        if cursor.work.covers > 1 {
            self.joined_words
        } else {
            self.words
        }
    }

    /// Returns the elements to click: first the best match, and once, if that had no effect, the next best. A control is what was
    /// meant: another one, such as `Delete all` after `Delete`, is not clicked in its place.
    fn clickable(
        &self,
        cursor: &mut ClauseCursor,
        aim: &TargetPhrase,
        purpose: Interaction,
    ) -> Attempt<Vec<ElementMatch>> {
        if let Some(hit) = self.joined_name(cursor, purpose)? {
            return Ok(vec![hit]);
        }
        let hits = match cursor.work.stage {
            0 => self.locate_all(cursor, aim, purpose)?,
            1 if !aim.all && cursor.work.clicked_text => {
                vec![self.alternative(cursor, aim, purpose)?]
            }
            _ => return self.fail(self.voice.nothing_changed(self.words)),
        };
        let hits = self.with_radio_button(cursor, aim, hits);
        let is_text = |hit: &ElementMatch| matches!(hit.kind, ElementKind::Label);
        cursor.work.clicked_text = hits.iter().all(is_text);
        cursor
            .work
            .tried
            .extend(hits.iter().map(|hit| FramePixel::from(hit.point)));
        Ok(hits)
    }

    /// Returns the radio button that stands beside the text that was found, in its place: the text need not be its label.
    fn with_radio_button(
        &self,
        cursor: &ClauseCursor,
        aim: &TargetPhrase,
        hits: Vec<ElementMatch>,
    ) -> Vec<ElementMatch> {
        let [hit] = hits.as_slice() else { return hits };
        if hit.kind != ElementKind::Label || cursor.work.stage > 0 {
            return hits;
        }
        match locate::find(self.screen, aim, Interaction::Toggle) {
            MatchResult::Unique(found) if found.kind == ElementKind::Radio => vec![found],
            _ => hits,
        }
    }

    /// Returns the next best match, excluding the points that were clicked without effect.
    fn alternative(
        &self,
        cursor: &ClauseCursor,
        aim: &TargetPhrase,
        purpose: Interaction,
    ) -> Attempt<ElementMatch> {
        let screen = self.untried(cursor);
        match locate::find(&screen, aim, purpose) {
            MatchResult::Unique(hit) => Ok(hit),
            MatchResult::Ambiguous(mut hits) => Ok(hits.remove(0)),
            MatchResult::NotFound { .. } => self.fail(self.voice.nothing_changed(self.words)),
        }
    }

    /// Returns the element whose name is this clause and the next ones together (`Terms and Conditions`).
    fn joined_name(
        &self,
        cursor: &mut ClauseCursor,
        purpose: Interaction,
    ) -> Attempt<Option<ElementMatch>> {
        let Some(joined) = self
            .clause
            .joined
            .as_ref()
            .filter(|_| cursor.work.stage == 0)
        else {
            return Ok(None);
        };
        let Some(found) = locate::find_exact(self.screen, &joined.target, purpose) else {
            return Ok(None);
        };
        let hit = self.only(cursor, &joined.target, found)?;
        cursor.work.covers = joined.clause_count;
        Ok(Some(hit))
    }

    fn toggle(
        &self,
        cursor: &mut ClauseCursor,
        target: &TargetPhrase,
        on: bool,
    ) -> Attempt<ClauseDecision> {
        if cursor.work.stage > 0
            && let Some(decision) = self.toggled(cursor, on)?
        {
            return Ok(decision);
        }
        let hits = self.clickable(cursor, target, Interaction::Toggle)?;
        let words = self.intent(cursor);
        let unlike = hits.iter().filter(|hit| hit.checked != Some(on));
        let clicks: Vec<PlannedAction> = unlike
            .map(|hit| actions::click(hit.target(), words))
            .collect();
        Ok(if clicks.is_empty() {
            ClauseDecision::AlreadySo
        } else {
            ClauseDecision::Act(clicks)
        })
    }

    /// Reads the clicked boxes again; `None` if the click had no effect and another match may be meant.
    fn toggled(&self, cursor: &mut ClauseCursor, on: bool) -> Attempt<Option<ClauseDecision>> {
        let clicked = cursor.work.tried.iter().copied();
        let states: Vec<Option<bool>> = clicked
            .map(|point| self.screen.checked_at(point.into()))
            .collect();
        if !states.is_empty() && states.iter().all(|state| *state == Some(on)) {
            return Ok(Some(ClauseDecision::Done));
        }
        if self.nothing_changed() {
            return Ok(None);
        }
        if states.contains(&Some(!on)) {
            return self.missing(cursor, || self.voice.not_toggled(self.words, on));
        }
        // Of what is not seen to be a toggle, only the effect tells.
        let last = self.effects().last().map(|effect| effect.verdict);
        if self.is_last && states.contains(&None) && last == Some(Verdict::Unknown) {
            return Ok(Some(ClauseDecision::AskWhetherDone));
        }
        Ok(Some(ClauseDecision::Done))
    }

    fn hover(&self, cursor: &mut ClauseCursor, target: &TargetPhrase) -> Attempt<ClauseDecision> {
        if cursor.work.stage > 0 {
            return Ok(ClauseDecision::Done);
        }
        let hit = self.locate(cursor, target, Interaction::of_kind(target.kind))?;
        Ok(ClauseDecision::Act(vec![actions::repeatable(
            Action::Move { to: hit.target() },
            self.words,
        )]))
    }

    /// Opens the list, then clicks the option. An unnamed list whose option is already visible is not opened.
    fn choose(
        &self,
        cursor: &mut ClauseCursor,
        option: &TargetPhrase,
        list: &TargetPhrase,
    ) -> Attempt<ClauseDecision> {
        if cursor.work.stage > 0 {
            return self.choose_opened(cursor, option);
        }
        let entry = locate::find_exact(self.screen, option, Interaction::Click)
            .filter(|_| list.text.is_none());
        if let Some(MatchResult::Unique(entry)) = entry.filter(|found| !is_closed_list(found)) {
            cursor.work.stage = 1;
            return Ok(ClauseDecision::Act(vec![actions::click(
                entry.target(),
                self.words,
            )]));
        }
        let named = list.text.clone();
        let list = self.locate(
            cursor,
            &list.clone().with_default_kind(ElementKind::DropDown),
            Interaction::EnterText,
        )?;
        cursor.work.set_list_bounds(list.bounds);
        cursor.work.former_value = self.value_of(&list, named.as_deref());
        Ok(ClauseDecision::Act(vec![actions::click(
            list.target(),
            self.words,
        )]))
    }

    /// Returns what a list or a field shows; `None` if it shows its name, which stays whatever is chosen.
    fn value_of(&self, field: &ElementMatch, name: Option<&str>) -> Option<String> {
        let shown = self.screen.text_in_field(field.bounds)?;
        let is_name = name.is_some_and(|name| shown.holds(name));
        (!is_name && !shown.value().is_empty()).then(|| shown.value().to_owned())
    }

    /// Clicks the matching option nearest to the opened list. The list's own box is excluded, because it shows the current
    /// value.
    fn choose_opened(
        &self,
        cursor: &mut ClauseCursor,
        option: &TargetPhrase,
    ) -> Attempt<ClauseDecision> {
        if cursor.work.stage > 1 {
            return match self.nothing_changed() {
                true => self.fail(self.voice.nothing_changed(self.words)),
                false => self.chosen_in_list(cursor, option),
            };
        }
        let opened = cursor.work.list_bounds();
        let screen = self
            .screen
            .excluding(opened.map(|bounds| bounds.center()).into_iter().collect());
        let near = |hit: &ElementMatch| {
            opened.map_or(0, |bounds| (hit.point - bounds.center()).square_length())
        };
        let entry = match locate::find(&screen, option, Interaction::Click) {
            MatchResult::Ambiguous(hits) => hits
                .into_iter()
                .min_by_key(near)
                .expect("an ambiguous result has at least two matches"),
            found => self.only(cursor, option, found)?,
        };
        Ok(ClauseDecision::Act(vec![actions::click(
            entry.target(),
            self.words,
        )]))
    }

    /// Reads a list again from which an entry was chosen, if it showed another value before. A list that has gone, or only ever shows
    /// its name, tells nothing.
    fn chosen_in_list(
        &self,
        cursor: &mut ClauseCursor,
        option: &TargetPhrase,
    ) -> Attempt<ClauseDecision> {
        let shown = cursor.work.list_bounds();
        let shown = shown.and_then(|bounds| self.screen.text_in_field(bounds));
        let wanted = option.text.as_deref();
        let Some(((shown, wanted), former)) =
            shown.zip(wanted).zip(cursor.work.former_value.as_deref())
        else {
            return Ok(ClauseDecision::Done);
        };
        if !shown.differs_from(wanted) {
            // A page may set its list back.
            if self.is_last && cursor.work.field_looks == 0 {
                cursor.work.field_looks += 1;
                return Ok(ClauseDecision::Wait);
            }
            return Ok(ClauseDecision::Done);
        }
        let is_former = shown.holds(former);
        if cursor.work.field_looks < MAX_LOOKS_AT_CHANGE {
            cursor.work.field_looks += 1;
            return Ok(ClauseDecision::Wait);
        }
        match is_former {
            true => self.fail(self.voice.not_taken(self.words, shown.value())),
            // It may be the same in other words: `US` for `United States`.
            false => Ok(ClauseDecision::AskWhetherDone),
        }
    }

    fn type_text(
        &self,
        cursor: &mut ClauseCursor,
        text: &Text,
        into: Option<&TargetPhrase>,
        replace: bool,
    ) -> Attempt<ClauseDecision> {
        if cursor.work.opened.is_some() {
            return self.choose_opened(cursor, &TargetPhrase::text(literal(text)));
        }
        if let Some(slider) = into.filter(|aim| aim.kind == Some(ElementKind::Slider)) {
            return self.slide(cursor, literal(text), slider);
        }
        if cursor.work.stage > 0 && !cursor.work.emptied {
            return self.entered(cursor, text, into, replace);
        }
        let typing = actions::type_text(text.clone(), self.words);
        let Some(aim) = into else {
            return Ok(ClauseDecision::Act(vec![typing]));
        };
        let fields = self.locate_all(cursor, aim, Interaction::EnterText)?;
        if let [field] = fields.as_slice()
            && let Some(value) = CalendarValue::parse(literal(text))
        {
            let shown = self.screen.text_in_field(field.bounds);
            let as_value = shown.is_some_and(|shown| !shown.value().is_empty());
            if let Some(entry) = values::calendar_entry(value, field, as_value, self.words) {
                cursor.work.emptied = false;
                cursor.work.add_field(field.bounds);
                return Ok(ClauseDecision::Act(entry));
            }
            let has_date = matches!(value, CalendarValue::Date(_) | CalendarValue::DateTime(..));
            if has_date && values::shows_date(field) && !cursor.work.emptied {
                cursor.work.emptied = true;
                return Ok(ClauseDecision::Act(values::clear_date(field, self.words)));
            }
        }
        cursor.work.emptied = false;
        if let [field] = fields.as_slice()
            && field.kind == ElementKind::DropDown
            && replace
        {
            cursor.work.set_list_bounds(field.bounds);
            cursor.work.former_value = self.value_of(field, aim.text.as_deref());
            return Ok(ClauseDecision::Act(vec![actions::click(
                field.target(),
                self.words,
            )]));
        }
        for field in &fields {
            cursor.work.add_field(field.bounds);
        }
        cursor.work.was_empty = fields.iter().all(|field| {
            let shown = self.screen.text_in_field(field.bounds);
            shown.is_some_and(|shown| shown.is_blank())
        });
        let actions = fields.iter().flat_map(|field| {
            let mut actions = self.focus_on(field, replace);
            actions.push(typing.clone());
            actions
        });
        Ok(ClauseDecision::Act(actions.collect()))
    }

    /// Sets a slider by keys, reads the number beside it again, and corrects it once: a key may move it by more than one.
    fn slide(
        &self,
        cursor: &mut ClauseCursor,
        text: &str,
        aim: &TargetPhrase,
    ) -> Attempt<ClauseDecision> {
        let Some(value) = values::slider_value(text) else {
            return self.fail(self.voice.no_slider_value(self.words, text));
        };
        let moved = cursor.work.field_bounds().next();
        let Some(bounds) = moved else {
            let slider = self.locate(cursor, aim, Interaction::EnterText)?;
            if self.screen.number_beside(slider.bounds) == Some(i64::from(value)) {
                return Ok(ClauseDecision::AlreadySo);
            }
            cursor.work.add_field(slider.bounds);
            cursor.work.slider.from = self.screen.number_beside(slider.bounds);
            let set = values::set_slider(&slider, value, self.words);
            return Ok(ClauseDecision::Act(set));
        };
        // Its own box is known: near the end of its track, a slider need not be found again.
        let Some(shown) = self.screen.number_beside(bounds) else {
            return match self.nothing_changed() {
                true => self.fail(self.voice.nothing_changed(self.words)),
                false if self.has_moved_to(bounds, value) => Ok(ClauseDecision::Done),
                // Keys move it by a step of its own, and stop at its end.
                false => Ok(ClauseDecision::AskWhetherDone),
            };
        };
        self.slid(&mut cursor.work.slider, i64::from(value), shown)
    }

    /// Returns whether the last action moved the thumb of a slider without a number to this value of a hundred.
    fn has_moved_to(&self, slider: CaptureRect, value: u32) -> bool {
        let moved = self.effects().last();
        let share = moved.and_then(|effect| values::thumb_share(slider, &effect.change));
        share.is_some_and(|share| {
            (share - f64::from(value) / 100.0).abs() <= values::MAX_THUMB_ERROR
        })
    }

    /// Decides what follows the number that a slider shows: if its keys do not move it by one, its step is measured, and it is set by
    /// that, or put back if it cannot take the value.
    fn slid(
        &self,
        progress: &mut SliderProgress,
        value: i64,
        shown: i64,
    ) -> Attempt<ClauseDecision> {
        let press = |key| vec![actions::key_chord(vec![key], self.words)];
        match progress.phase {
            // The number beside a slider may be rounded.
            SliderPhase::ByOne | SliderPhase::BySteps if (value - shown).abs() <= 1 => {
                Ok(ClauseDecision::Done)
            }
            SliderPhase::ByOne => {
                progress.phase = SliderPhase::ToMin;
                Ok(ClauseDecision::Act(press(Key::Home)))
            }
            SliderPhase::ToMin => {
                progress.phase = SliderPhase::OneStep;
                progress.min = shown;
                Ok(ClauseDecision::Act(press(Key::Right)))
            }
            SliderPhase::OneStep => {
                progress.step = shown - progress.min;
                let way = value - shown;
                let is_reached = progress.step > 0 && way % progress.step == 0;
                if !is_reached {
                    return self.put_slider_back(progress, shown);
                }
                progress.phase = SliderPhase::BySteps;
                match values::move_slider(way / progress.step, self.words) {
                    Some(action) => Ok(ClauseDecision::Act(vec![action])),
                    None => Ok(ClauseDecision::Done),
                }
            }
            SliderPhase::BySteps => self.put_slider_back(progress, shown),
            SliderPhase::Back => self.fail(self.voice.slider_put_back(self.words, shown)),
        }
    }

    /// Moves a slider that cannot take the value back to where it was, as near as its steps lead.
    fn put_slider_back(
        &self,
        progress: &mut SliderProgress,
        shown: i64,
    ) -> Attempt<ClauseDecision> {
        let back = progress.from.filter(|_| progress.step > 0);
        let steps = back.map_or(0, |from| (from - shown) / progress.step);
        progress.phase = SliderPhase::Back;
        match values::move_slider(steps, self.words) {
            Some(action) => Ok(ClauseDecision::Act(vec![action])),
            None if back == Some(shown) => self.fail(self.voice.slider_put_back(self.words, shown)),
            None => self.fail(self.voice.slider_shows(self.words, shown)),
        }
    }

    /// Reads the fields again that text was entered into.
    fn entered(
        &self,
        cursor: &mut ClauseCursor,
        text: &Text,
        into: Option<&TargetPhrase>,
        replace: bool,
    ) -> Attempt<ClauseDecision> {
        let in_vain = self.nothing_changed();
        let Text::Literal(content) = text else {
            // A secret is redacted on the screen, so only the effect tells.
            return match in_vain && !replace {
                true => self.fail(self.voice.nothing_changed(self.words)),
                false => Ok(ClauseDecision::Done),
            };
        };
        let mut shown: Vec<Option<TextAtField<'_>>> = cursor
            .work
            .field_bounds()
            .map(|bounds| self.screen.text_in_field(bounds))
            .collect();
        // A page that has moved has its field elsewhere.
        if let ([None], Some(aim)) = (shown.as_slice(), into)
            && let MatchResult::Unique(field) =
                locate::find(self.screen, aim, Interaction::EnterText)
        {
            cursor.work.fields.clear();
            cursor.work.add_field(field.bounds);
            shown = vec![self.screen.text_in_field(field.bounds)];
        }
        let Some(first) = shown.first().copied() else {
            return self.entered_without_field();
        };
        let not_taken = || {
            let readable = first.filter(|shown| !shown.is_blank());
            let value = readable.map_or("", |shown| shown.value());
            self.fail(self.voice.not_taken(self.words, value))
        };
        // The Orchestrator knows what the field showed before, and finds that beside the text.
        let is_told = self
            .effects()
            .last()
            .is_some_and(|effect| effect.verdict == Verdict::TextDiffers);
        let holds = |one: &Option<TextAtField<'_>>| {
            !is_told && one.is_some_and(|shown| shown.holds(content))
        };
        let is_late = cursor.work.field_looks > 0;
        let lengths = shown
            .iter()
            .flatten()
            .map(|shown| shown.value().chars().count());
        let length: usize = lengths.sum();
        // A part of the text may be all that there is room for, or all that has come yet.
        let is_growing = cursor.work.shown_length != Some(length)
            && cursor.work.field_looks < MAX_LOOKS_AT_FIELD;
        if is_late && is_growing && length < content.chars().count() {
            count_look(cursor, length);
            return Err(ClauseDecision::Wait);
        }
        if shown.iter().all(holds) && (in_vain || is_late || cursor.work.corrected) {
            return match is_late || cursor.work.corrected {
                true => Ok(ClauseDecision::Done),
                false if replace => Ok(ClauseDecision::AlreadySo),
                // It was there before, and another one was to come.
                false => not_taken(),
            };
        }
        if self.may_come_late(cursor, &shown, content, is_told) {
            count_look(cursor, length);
            return Err(ClauseDecision::Wait);
        }
        // A field with segments that shows nothing but dashes has taken no value. Of a date, letters are left.
        let value = CalendarValue::parse(content);
        let is_short = value.is_some_and(|value| !matches!(value, CalendarValue::Date(_)));
        if is_short && first.is_some_and(|shown| shown.is_blank()) {
            return not_taken();
        }
        let mut readable = shown.iter().flatten();
        // Another text that cannot be a misreading of this one: the field has changed it, or another one took it.
        match readable.find(|shown| is_told || shown.differs_from(content)) {
            _ if in_vain || is_late && first.is_none_or(|shown| !shown.differs_from(content)) => {
                not_taken()
            }
            // Only a text that was to be replaced anyway is replaced once more, or all that is in a field that was empty. One that is
            // empty again may have taken the text and sent it.
            Some(shown)
                if !cursor.work.corrected
                    && (replace || cursor.work.was_empty && !shown.is_blank()) =>
            {
                self.correct(cursor, text)
            }
            Some(shown) => self.fail(self.voice.not_taken(self.words, shown.value())),
            None => Ok(ClauseDecision::Done),
        }
    }

    /// Judges a text of a clause without a field: the one that was clicked before is read by the Orchestrator.
    fn entered_without_field(&self) -> Attempt<ClauseDecision> {
        if self.nothing_changed() {
            return self.fail(self.voice.nothing_changed(self.words));
        }
        match self.effects().last() {
            Some(effect) if effect.verdict == Verdict::TextDiffers => {
                self.fail(self.voice.failed(self.words, &effect.explanation))
            }
            _ => Ok(ClauseDecision::Done),
        }
    }

    /// Returns whether fields that do not show a text may still do so: a busy application takes it later.
    fn may_come_late(
        &self,
        cursor: &ClauseCursor,
        shown: &[Option<TextAtField<'_>>],
        content: &str,
        is_told: bool,
    ) -> bool {
        // Of a field that cannot be read now, a later look would not tell whether its text is new.
        let is_readable = shown.iter().all(Option::is_some);
        let shows_former = || {
            let mut readable = shown.iter().flatten();
            readable.any(|shown| {
                let is_empty = is_told && shown.is_blank();
                is_empty || shown.is_unrelated_to(content) || shown.may_end_in_caret(content)
            })
        };
        let looks = cursor.work.field_looks;
        let length: usize = shown
            .iter()
            .flatten()
            .map(|shown| shown.value().chars().count())
            .sum();
        let mut readable = shown.iter().flatten();
        let is_beginning = readable.all(|shown| content.starts_with(shown.value().trim()));
        // What is there and does not change is all that the field has taken.
        let max_looks = match cursor.work.shown_length == Some(length) && length > 0 {
            true if is_beginning => MAX_LOOKS_AT_BEGINNING,
            true => MAX_LOOKS_AT_CHANGE,
            false => MAX_LOOKS_AT_FIELD,
        };
        let may_come = looks > 0 || is_readable && (self.nothing_changed() || shows_former());
        may_come && looks < max_looks
    }

    /// Replaces the content of the fields once more, pasted instead of typed.
    fn correct(&self, cursor: &mut ClauseCursor, text: &Text) -> Attempt<ClauseDecision> {
        cursor.work.corrected = true;
        cursor.work.field_looks = 0;
        let pasted = actions::paste(text.clone(), self.words);
        let has_lines = literal(text).contains('\n');
        let actions = cursor.work.field_bounds().flat_map(|bounds| {
            let mut actions = self.select_all(bounds, has_lines);
            actions.push(pasted.clone());
            actions
        });
        Ok(ClauseDecision::Act(actions.collect()))
    }

    /// Selects what a field contains, in another way than at first: fields of Tk take Ctrl+A for the beginning of the line, and
    /// select the line at a triple click, as all others do.
    fn select_all(&self, field: CaptureRect, has_lines: bool) -> Vec<PlannedAction> {
        let at = Target::Point(field.center());
        match has_lines {
            true => vec![actions::click(at, self.words), self.command('a')],
            false => vec![actions::triple_click(at, self.words)],
        }
    }

    /// Clicks the field and optionally selects its content.
    fn focus_on(&self, field: &ElementMatch, select: bool) -> Vec<PlannedAction> {
        let mut actions = vec![actions::click(field.target(), self.words)];
        actions.extend(select.then(|| self.command('a')));
        actions
    }

    /// Returns a keyboard command of the platform.
    fn command(&self, letter: char) -> PlannedAction {
        actions::key_chord(
            vec![
                actions::command_key(self.request.platform),
                Key::Character(letter),
            ],
            self.words,
        )
    }

    fn clear(
        &self,
        cursor: &mut ClauseCursor,
        field: Option<&TargetPhrase>,
    ) -> Attempt<ClauseDecision> {
        if cursor.work.stage > 0 {
            return self.cleared(cursor);
        }
        let mut actions = match field {
            Some(aim) => {
                let field = self.locate(cursor, aim, Interaction::EnterText)?;
                cursor.work.add_field(field.bounds);
                cursor.work.former_value = self.value_of(&field, None);
                self.focus_on(&field, true)
            }
            None => vec![self.command('a')],
        };
        actions.push(actions::key_chord(vec![Key::Delete], self.words));
        Ok(ClauseDecision::Act(actions))
    }

    /// Reads a field again that was cleared. What it shows then may be its placeholder, but not the former text.
    fn cleared(&self, cursor: &mut ClauseCursor) -> Attempt<ClauseDecision> {
        let field = cursor.work.field_bounds().next();
        let shown = field.and_then(|bounds| self.screen.text_in_field(bounds));
        let former = cursor.work.former_value.as_deref();
        let keeps_text = |shown: &TextAtField<'_>| match former {
            Some(former) if !self.nothing_changed() => shown.is_left_of(former),
            _ => self.nothing_changed() && !shown.value().is_empty(),
        };
        match shown.filter(keeps_text).zip(field) {
            Some((_, field)) if !cursor.work.corrected => {
                cursor.work.corrected = true;
                let mut actions = self.select_all(field, false);
                actions.push(actions::key_chord(vec![Key::Delete], self.words));
                Ok(ClauseDecision::Act(actions))
            }
            Some(_) if cursor.work.field_looks < MAX_LOOKS_AT_CHANGE => {
                cursor.work.field_looks += 1;
                Ok(ClauseDecision::Wait)
            }
            Some((shown, _)) => self.fail(self.voice.not_cleared(self.words, shown.value())),
            None if self.nothing_changed() => Ok(ClauseDecision::AlreadySo),
            None => Ok(ClauseDecision::Done),
        }
    }

    fn scroll(
        &self,
        cursor: &mut ClauseCursor,
        direction: Direction,
        extent: &ScrollExtent,
        inside: Option<&TargetPhrase>,
    ) -> Attempt<ClauseDecision> {
        let turns = cursor.work.stage;
        let is_at_end = turns > 0 && self.at_end();
        cursor.work.has_scrolled |= turns > 0 && !is_at_end;
        let goes_elsewhere = is_at_end && !cursor.work.scrolls_elsewhere;
        cursor.work.scrolls_elsewhere |= is_at_end;
        let at_end = is_at_end && !goes_elsewhere;
        let amount = match extent {
            ScrollExtent::Default | ScrollExtent::Notches(_) | ScrollExtent::Pixels(_)
                if turns > 0 && !goes_elsewhere =>
            {
                return match at_end && self.is_last {
                    true => self.fail(self.voice.at_end(self.words)),
                    false => Ok(ClauseDecision::Done),
                };
            }
            ScrollExtent::Default => ScrollDistance::Notches(DEFAULT_NOTCHES),
            ScrollExtent::Notches(number) => ScrollDistance::Notches(*number),
            ScrollExtent::Pixels(number) => ScrollDistance::Pixels(*number),
            ScrollExtent::End if at_end && !cursor.work.has_scrolled => {
                return Ok(ClauseDecision::AlreadySo);
            }
            ScrollExtent::End if at_end => return Ok(ClauseDecision::Done),
            ScrollExtent::End => ScrollDistance::Notches(NOTCHES_TO_END),
            ScrollExtent::UntilShown(text) if self.shows(cursor, text) => {
                return Ok(ClauseDecision::Done);
            }
            ScrollExtent::UntilShown(text) if at_end => {
                return self.fail(self.voice.end_reached(self.words, text));
            }
            ScrollExtent::UntilShown(_) => ScrollDistance::Notches(DEFAULT_NOTCHES),
        };
        if turns >= MAX_SCROLLS {
            return self.fail(self.voice.no_scroll_end(self.words));
        }
        let elsewhere = cursor.work.scrolls_elsewhere;
        let at = match inside {
            Some(aim) => {
                let found = self.locate(cursor, aim, Interaction::Click)?;
                let is_caption = found.kind == ElementKind::Label;
                Some(match elsewhere == is_caption {
                    true => found.target(),
                    false => Target::Point(below(found.bounds)),
                })
            }
            None => self
                .request
                .frame
                .active_window()
                .map(|window| Target::Point(place_to_scroll(window.bounds, elsewhere))),
        };
        Ok(ClauseDecision::Act(vec![actions::scroll(
            at, direction, amount, self.words,
        )]))
    }

    /// Returns whether the text is on the screen, and records it as evidence.
    fn shows(&self, cursor: &mut ClauseCursor, text: &str) -> bool {
        let line = self.screen.find_text(text);
        cursor.evidence.extend(line.map(str::to_owned));
        line.is_some()
    }

    fn wait_for(
        &self,
        cursor: &mut ClauseCursor,
        text: &str,
        shown: bool,
        timeout: Duration,
    ) -> Attempt<ClauseDecision> {
        let lines = self.screen.lines_with(text);
        let is_met = lines.is_empty() != shown;
        let is_over = RETRY_INTERVAL * cursor.work.looks >= timeout;
        if is_met {
            cursor
                .evidence
                .extend(lines.first().map(|line| (*line).to_owned()));
            // A text that was there before the last action has not appeared by it.
            if !shown || cursor.is_any_new(&lines) {
                return Ok(ClauseDecision::Done);
            }
            if is_over || cursor.work.looks >= LOOKS_FOR_NEW_LINE {
                return Ok(ClauseDecision::AlreadySo);
            }
        } else if is_over {
            return self.fail(self.voice.wait_timed_out(self.words, text, shown, timeout));
        }
        cursor.work.looks += 1;
        Ok(ClauseDecision::Wait)
    }

    fn verify(
        &self,
        cursor: &mut ClauseCursor,
        text: &str,
        shown: bool,
    ) -> Attempt<ClauseDecision> {
        if self.shows(cursor, text) == shown {
            return Ok(ClauseDecision::Done);
        }
        self.missing(cursor, || self.voice.check_failed(self.words, text, shown))
    }

    fn drag(
        &self,
        cursor: &mut ClauseCursor,
        from: &TargetPhrase,
        to: &TargetPhrase,
    ) -> Attempt<ClauseDecision> {
        if cursor.work.stage > 0 {
            return if self.nothing_changed() {
                self.fail(self.voice.nothing_changed(self.words))
            } else {
                Ok(ClauseDecision::Done)
            };
        }
        let from = self.locate(cursor, from, Interaction::Click)?.target();
        let to = self.locate(cursor, to, Interaction::Click)?.target();
        let drag = Action::Drag {
            path: vec![from, to],
            button: Button::Left,
            modifiers: Vec::new(),
            duration: None,
            hold: None,
        };
        Ok(ClauseDecision::Act(vec![actions::once(drag, self.words)]))
    }

    fn edit(
        &self,
        cursor: &mut ClauseCursor,
        command: EditCommand,
        field: Option<&TargetPhrase>,
    ) -> Attempt<ClauseDecision> {
        if cursor.work.stage > 0 {
            // Copying shows nothing, and neither does selecting what is selected.
            if !matches!(command, EditCommand::Copy | EditCommand::SelectAll) {
                self.require_effect_at_end()?;
            }
            return Ok(ClauseDecision::Done);
        }
        // Copying or cutting from a field applies to its whole content.
        let takes_all = matches!(command, EditCommand::Copy | EditCommand::Cut);
        let mut actions = match field {
            Some(aim) => self.focus_on(
                &self.locate(cursor, aim, Interaction::EnterText)?,
                takes_all,
            ),
            None => Vec::new(),
        };
        actions.push(match command {
            EditCommand::Copy => self.command('c'),
            EditCommand::Cut => self.command('x'),
            EditCommand::Paste => actions::once(Action::Paste { text: None }, self.words),
            EditCommand::SelectAll => self.command('a'),
            EditCommand::Undo => self.command('z'),
            EditCommand::Redo => self.redo(),
        });
        Ok(ClauseDecision::Act(actions))
    }

    fn redo(&self) -> PlannedAction {
        match self.request.platform {
            Platform::Macos => actions::key_chord(
                vec![Key::Super, Key::Shift, Key::Character('z')],
                self.words,
            ),
            _ => self.command('y'),
        }
    }

    fn paste(
        &self,
        cursor: &mut ClauseCursor,
        text: &Text,
        into: Option<&TargetPhrase>,
    ) -> Attempt<ClauseDecision> {
        if cursor.work.stage > 0 {
            return self.entered(cursor, text, into, false);
        }
        let mut actions = match into {
            Some(aim) => {
                let field = self.locate(cursor, aim, Interaction::EnterText)?;
                cursor.work.add_field(field.bounds);
                self.focus_on(&field, false)
            }
            None => Vec::new(),
        };
        actions.push(actions::paste(text.clone(), self.words));
        Ok(ClauseDecision::Act(actions))
    }

    fn open_url(&self, cursor: &mut ClauseCursor, url: &str) -> Attempt<ClauseDecision> {
        if cursor.work.stage > 0 {
            return self.page_opened(cursor, url);
        }
        cursor.opening = true;
        let url = url.to_owned();
        let is_browser = self.request.platform == Platform::Browser;
        let action = if is_browser {
            Action::GoToUrl { url }
        } else {
            Action::OpenUrl { url }
        };
        Ok(ClauseDecision::Act(vec![actions::once(action, self.words)]))
    }

    /// Fails a clause that would be done if the browser shows an error page instead.
    fn unless_page_failed(&self, decision: ClauseDecision) -> Attempt<ClauseDecision> {
        let is_done = matches!(decision, ClauseDecision::Done | ClauseDecision::AlreadySo);
        match self.screen.browser_error().filter(|_| is_done) {
            Some(error) => self.fail(self.voice.page_failed(self.words, error)),
            None => Ok(decision),
        }
    }

    /// Waits for an opened page, and fails on the error page of a browser. A page that stays blank is only waited for at the end of
    /// the goal, where nothing later would show that it has not come.
    fn page_opened(&self, cursor: &mut ClauseCursor, url: &str) -> Attempt<ClauseDecision> {
        if !self.request.frame.is_browser_in_front() {
            return self.opened_without_browser(cursor, url);
        }
        if let Some(error) = self.screen.browser_error() {
            return self.fail(self.voice.page_failed(self.words, error));
        }
        if !self.is_last || url.starts_with("about:") || !self.screen.is_page_blank() {
            let status = self.screen.status_line().map(str::to_owned);
            cursor.page_errors.extend(status);
            return Ok(ClauseDecision::Done);
        }
        if cursor.work.looks >= MAX_LOOKS_AT_BLANK_PAGE {
            return Ok(ClauseDecision::AskWhetherDone);
        }
        cursor.work.looks += 1;
        Ok(ClauseDecision::Wait)
    }

    /// Judges an opened address while no known browser is in front. A browser may start slowly, or be one that is not known; other
    /// addresses open other applications.
    fn opened_without_browser(
        &self,
        cursor: &mut ClauseCursor,
        url: &str,
    ) -> Attempt<ClauseDecision> {
        let is_page = url.starts_with("http://") || url.starts_with("https://");
        let may_come = is_page && self.is_last && self.request.frame.active_window().is_some();
        let has_come = self.effects().any(|effect| effect.window_changed);
        match may_come && !has_come {
            // Of a page that comes slowly, the next clause waits for what it needs.
            false if self.nothing_changed() && (self.is_last || !is_page) => {
                self.fail(self.voice.nothing_changed(self.words))
            }
            false => Ok(ClauseDecision::Done),
            true if cursor.work.looks >= MAX_LOOKS_AT_BLANK_PAGE => {
                Ok(ClauseDecision::AskWhetherDone)
            }
            true => {
                cursor.work.looks += 1;
                Ok(ClauseDecision::Wait)
            }
        }
    }

    /// Opens an application and waits for its window, if windows are reported.
    fn launch(&self, cursor: &mut ClauseCursor, name: &str) -> Attempt<ClauseDecision> {
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
        Ok(ClauseDecision::Act(vec![actions::once(
            Action::OpenApplication { name },
            self.words,
        )]))
    }

    fn opened(&self, cursor: &mut ClauseCursor, name: &str) -> Attempt<ClauseDecision> {
        let windows = &self.request.frame.windows;
        let is_new = windows
            .iter()
            .any(|window| !cursor.work.windows.contains(&window.id));
        let is_in_front = self.screen.window(name).is_some_and(|window| window.active);
        let knows_windows = !windows.is_empty() || !cursor.work.windows.is_empty();
        let changed = self.effects().any(|effect| effect.window_changed);
        if is_new || is_in_front || changed || !knows_windows && cursor.work.looks > 0 {
            return Ok(ClauseDecision::Done);
        }
        self.missing(cursor, || {
            self.voice
                .no_new_window(self.words, RETRY_INTERVAL * MAX_RETRIES_WHILE_OPENING)
        })
    }

    fn focus_window(&self, cursor: &mut ClauseCursor, title: &str) -> Attempt<ClauseDecision> {
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
                    .not_found_named(self.words, &self.voice.quoted(title), &titles)
            });
        };
        match (window.active, cursor.work.stage) {
            (true, 0) => return Ok(ClauseDecision::AlreadySo),
            (true, _) => return Ok(ClauseDecision::Done),
            (false, 0) => {}
            (false, _) => {
                self.require_effect_at_end()?;
                return Ok(ClauseDecision::Done);
            }
        }
        let window = WindowSelector::Id(window.id.clone());
        Ok(ClauseDecision::Act(vec![actions::repeatable(
            Action::FocusWindow { window },
            self.words,
        )]))
    }

    /// Returns the effects of the last decision.
    fn effects(&self) -> impl Iterator<Item = &Effect> {
        self.last_step()
            .into_iter()
            .flat_map(|step| &step.actions)
            .filter_map(|action| action.effect.as_ref())
    }

    fn last_step(&self) -> Option<&PastStep> {
        self.request.history.last()
    }

    /// Returns whether the last action had no effect. An unknown effect counts as one.
    fn nothing_changed(&self) -> bool {
        let last = self.last_step().and_then(|step| step.actions.last());
        let verdict = last
            .and_then(|action| action.effect.as_ref())
            .map(|effect| effect.verdict);
        verdict == Some(Verdict::NoEffect)
            && last.is_none_or(|action| action.planned.action.kind() != ActionKind::Wait)
    }

    /// Returns whether the last scroll reached the end.
    fn at_end(&self) -> bool {
        self.effects()
            .last()
            .is_some_and(|effect| matches!(effect.verdict, Verdict::EndReached | Verdict::NoEffect))
    }
}

/// Returns a place at which a wheel scrolls a window: in its middle, or at its right edge, where its own scroll bar is. In the middle may be
/// a list that scrolls by itself.
fn place_to_scroll(window: CaptureRect, at_edge: bool) -> CapturePoint {
    let middle = window.center();
    match at_edge {
        true => CapturePoint::new((window.max.x - SCROLL_BAR_PX).max(middle.x), middle.y),
        false => middle,
    }
}

/// Returns a place below a caption, where what it names is.
fn below(caption: CaptureRect) -> CapturePoint {
    let distance = caption.height() * HEIGHTS_BELOW_CAPTION;
    CapturePoint::new(caption.center().x, caption.max.y + distance)
}

/// Returns the match that an answer names: by its number, its place or its text.
fn chosen(
    hits: &[ElementMatch],
    answer: &TargetPhrase,
    turn: &ClausePlanner<'_>,
) -> Option<ElementMatch> {
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
    let matching = |found: &MatchResult| match found {
        MatchResult::Unique(hit) => hits.iter().find(|known| known.point == hit.point).cloned(),
        _ => None,
    };
    let text = answer
        .text
        .clone()
        .or_else(|| hits.first().map(|hit| hit.content.clone()));
    matching(&locate::find(
        turn.screen,
        &TargetPhrase {
            text,
            ..answer.clone()
        },
        Interaction::Click,
    ))
}

/// Titles of dialogs that save a file. They stay open when Enter only completes a path, and close when it accepts one.
const SAVE_DIALOG_TITLES: &[&str] = &["save", "save as", "save file", "保存", "保存文件", "另存为"];

/// Titles of dialogs that choose a file. As those that save one, but some close at Enter without the file.
const OPEN_DIALOG_TITLES: &[&str] = &[
    "open",
    "open file",
    "open files",
    "file upload",
    "choose file",
    "choose files",
    "select file",
    "select files",
    "select folder",
    "打开",
    "打开文件",
    "文件上传",
    "选择文件",
    "选择文件夹",
];

/// Texts that browsers show beside a field for a file as long as none is chosen.
const NO_FILE_TEXTS: &[&str] = &[
    "No file chosen",
    "No file selected",
    "No files selected",
    "未选择任何文件",
    "未选择文件",
    "未選擇任何檔案",
];

fn is_file_dialog(window: &Window) -> bool {
    has_title(window, SAVE_DIALOG_TITLES) || has_title(window, OPEN_DIALOG_TITLES)
}

fn has_title(window: &Window, titles: &[&str]) -> bool {
    let title = window.title.trim().to_lowercase();
    titles.contains(&title.as_str())
}

/// Returns whether keys change nothing that can be seen: modifiers alone, and copying.
fn has_no_visible_effect(keys: &[Key]) -> bool {
    let is_modifier = |key: &Key| matches!(key, Key::Control | Key::Shift | Key::Alt | Key::Super);
    keys.iter().all(is_modifier)
        || matches!(keys, [Key::Control | Key::Super, Key::Character('c' | 'C')])
}

/// Returns whether the match is the value of a closed list, which a click would open instead of choosing.
fn is_closed_list(found: &MatchResult) -> bool {
    matches!(found, MatchResult::Unique(hit) if hit.kind == ElementKind::DropDown)
}

fn literal(text: &Text) -> &str {
    match text {
        Text::Literal(text) | Text::Secret(text) => text,
    }
}

/// Counts a look at fields that do not show a text yet. One that finds another content than the last look does not count at first.
fn count_look(cursor: &mut ClauseCursor, shown_length: usize) {
    let work = &mut cursor.work;
    let is_arriving = work.shown_length.is_some_and(|last| last != shown_length);
    match is_arriving && work.arriving_looks < MAX_LOOKS_AT_ARRIVING_TEXT {
        true => work.arriving_looks += 1,
        false => work.field_looks += 1,
    }
    work.shown_length = Some(shown_length);
}

/// Returns the configured name of an application; any name if none are configured.
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
