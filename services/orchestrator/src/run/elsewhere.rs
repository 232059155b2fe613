//! Looks once more, at the end of a task, at a change elsewhere than at the target of its last action, if its success rests on
//! nothing else. What may be the look of the target under the pointer is nothing else. A notice that came by itself and went again is no effect of a button; one that stays is named in the answer, so
//! that a person can judge it. A short text that came after the action and reports a failure is no success, wherever it is.
//!
//! Deliberately not here: whether a change that stays has come from the action. Nothing on a screen tells that.

use motorium_messages::Message;
use motorium_phrasebook::matcher::is_same_text;
use motorium_proto::domain::action::ActionKind;
use motorium_proto::domain::effect::{Effect, Verdict};
use motorium_proto::domain::element::{Element, ElementSource};
use motorium_proto::domain::frame::Frame;
use motorium_proto::domain::geometry::CaptureRect;
use motorium_proto::service::{CompareRequest, Observation, WaitForIdleRequest};
use motorium_task::effect::look;
use motorium_task::screen::bounds_on_display;
use motorium_task::shown_text::{contains_words, folded};
use motorium_task::{ActionRecord, completion, effect};
use motorium_text::characters::is_ideograph;
use motorium_text::{fold, replies};
use tokio::time::Duration;

use super::actuator::Actuator;
use super::context::RunContext;
use super::look::LookCheck;
use super::screen::Screen;
use super::{RunResult, capture, hooks};

/// Time within which a change that only passes is to go.
// As long as the no-effect window of a click: a wait at the end of a task, and only of one with nothing else to show. Notices that
// stay longer are named.
const PASSING_TIME: Duration = Duration::from_secs(1);
/// Time within which a notice is to go that says nothing about the action.
// Notices stay for 5 s in web pages with Bootstrap, for 4 s on GNOME, and for 2 or 3.5 s on Android. One that replies to the
// action is not waited for, because a success that passes is one.
const NOTICE_TIME: Duration = Duration::from_secs(6);
/// Time that a wait has for the screen to settle after its last change.
const SETTLE_TIME: Duration = Duration::from_secs(1);
/// Shortest wait that is counted, so that a series of empty ones ends.
const MIN_WAIT: Duration = Duration::from_millis(50);
/// Width of a clock of which only the end was read as one, in pixels.
const CLOCK_WIDTH_PX: i32 = 80;
/// Number of letters by which words are compared, so that their endings make no difference.
const STEM_CHARS: usize = 4;
/// Maximum number of texts that are named, and of their characters: one line of a terminal.
const MAX_TEXTS: usize = 3;
const MAX_TEXT_CHARS: usize = 40;
/// Maximum number of texts that may have come with one that reports a failure: those of a message and its buttons. A whole page that came
/// is one that may be about failures.
const MAX_REPLY_TEXTS: usize = 6;
/// Maximum length of a text that reports a failure, in characters: two lines of a message.
const MAX_REPLY_CHARS: usize = 160;

/// A change elsewhere, looked at once more.
#[derive(Debug)]
pub(super) enum SecondLook {
    /// Everything is as it was before the action.
    Passed(Box<Effect>),
    Stays(ChangedTexts),
    /// The target itself is another than before, and what changed elsewhere has passed.
    AtTarget,
}

/// Texts that came and went where something changed.
#[derive(Debug, Default, PartialEq)]
pub(super) struct ChangedTexts {
    appeared: Vec<String>,
    disappeared: Vec<String>,
}

impl ChangedTexts {
    /// Returns an answer together with these texts.
    pub(super) fn named_in(&self, run: &RunContext, answer: &str) -> String {
        let joined = |texts: &[String]| quoted(run, texts);
        let message = match (self.appeared.as_slice(), self.disappeared.as_slice()) {
            ([], []) => Message::AnswerChangeElsewhere { answer },
            ([], texts) => Message::AnswerTextGoneElsewhere {
                answer,
                texts: &joined(texts),
            },
            (texts, _) => Message::AnswerTextElsewhere {
                answer,
                texts: &joined(texts),
            },
        };
        run.task().text(message)
    }

    /// Returns true if a text came that replies to the action: one that says that something is done, or shares a word with it.
    fn has_reply_to(&self, record: &ActionRecord) -> bool {
        let label = record.target_label.as_deref().unwrap_or_default();
        let words = [label, &record.planned.intent].join(" ");
        let named: Vec<String> = significant_words(&words).collect();
        self.appeared.iter().any(|text| {
            let mut words = significant_words(text);
            replies::acknowledges(text) || words.any(|word| named.contains(&word))
        })
    }

    /// Returns true if all that is known to have changed is that texts came.
    fn only_appeared(&self) -> bool {
        !self.appeared.is_empty() && self.disappeared.is_empty()
    }
}

/// Returns the beginnings of the words that tell one text from another: `Delete` and `Deleting` are the same.
fn significant_words(text: &str) -> impl Iterator<Item = String> {
    let words = fold::words(text).into_iter();
    let is_significant =
        |word: &String| word.chars().count() >= STEM_CHARS || word.chars().all(is_ideograph);
    words
        .filter(is_significant)
        .map(|word| word.chars().take(STEM_CHARS).collect())
}

fn quoted(run: &RunContext, texts: &[String]) -> String {
    let quoted = texts
        .iter()
        .map(|text| run.task().text(Message::QuotedLabel { text }));
    quoted.collect::<Vec<_>>().join(", ")
}

/// Returns a text that came after the last action and reports that it failed, with what was intended; `None` if none did, if much
/// more came with it, or if the evidence of the claim came as well.
pub(super) fn reported_failure(
    run: &RunContext,
    screen: &Screen,
    evidence: &[String],
) -> Option<(String, String)> {
    let last = completion::last_acting(run.task()).filter(|_| run.config.features.heed_failures)?;
    let effect = last.effect.as_ref()?;
    let before = &screen.acted_on(&last.action_id)?.observation;
    let now = screen.observation()?;
    let areas: Vec<CaptureRect> = effect.change.regions.iter().map(|it| it.bounds).collect();
    let came: Vec<&Element> = texts_only_in(now, before, &areas).collect();
    let is_failure =
        |text: &str| text.chars().count() <= MAX_REPLY_CHARS && replies::reports_failure(text);
    let mut texts = came.iter().map(|element| element.content.trim());
    let reported = texts
        .find(|text| is_failure(text))
        .filter(|_| came.len() <= MAX_REPLY_TEXTS)?;
    let is_evidence = |text: &String| {
        let mut came = came.iter();
        came.any(|element| contains_words([element.content.as_str()], text))
    };
    if evidence.iter().any(is_evidence) {
        return None;
    }
    Some((last.planned.intent.clone(), reported.to_owned()))
}

/// Returns the last action if a success rests on a change elsewhere: nothing changed at its target, or only what may be its look.
pub(super) fn acted_elsewhere(run: &RunContext, screen: &Screen) -> Option<ActionRecord> {
    changed_elsewhere(run).or_else(|| changed_beside_look(run, screen))
}

/// Returns the last action if its only known effect is a change elsewhere.
fn changed_elsewhere(run: &RunContext) -> Option<ActionRecord> {
    let is_elsewhere = |effect: &Effect| effect.verdict == Verdict::ChangedElsewhere;
    let last =
        completion::last_acting(run.task()).filter(|_| run.config.features.recheck_elsewhere);
    last.filter(|record| record.effect.as_ref().is_some_and(is_elsewhere))
        .cloned()
}

/// Returns the last action if it is a click of which nothing has changed at the target but what may be its look, and something
/// elsewhere.
fn changed_beside_look(run: &RunContext, screen: &Screen) -> Option<ActionRecord> {
    let last =
        completion::last_acting(run.task()).filter(|_| run.config.features.recheck_beside_look);
    let record = last.filter(|record| record.action.kind() == ActionKind::Click)?;
    let (effect, target) = (record.effect.as_ref()?, record.target?);
    let met = &screen.acted_on(&record.action_id)?.observation;
    let (element, _) = look::element_at(&met.scene, &met.frame, record.point()?)?;
    let may_be_look =
        !look::shows_state_in_itself(element.kind) || look::opens_something(element.kind);
    (may_be_look && look::is_beside_own_look(effect, target)).then(|| record.clone())
}

/// Returns the last action if it is a click of which nothing shows but another look of its target: a toggle that is pressed, or a button
/// without a function that has the focus. Nothing on the screen tells them apart.
pub(super) fn changed_own_look(run: &RunContext, screen: &Screen) -> Option<ActionRecord> {
    let is_only_look = |record: &ActionRecord| {
        let (effect, target) = (record.effect.as_ref()?, record.target?);
        let met = &screen.acted_on(&record.action_id)?.observation;
        let now = screen.observation()?;
        let (element, _) = look::element_at(&met.scene, &met.frame, record.point()?)?;
        let has_look = look::looks_otherwise_with_focus(element.kind);
        let near = effect::near_area(target);
        let text = |seen: &Observation| effect::text_within(&seen.scene, &seen.frame, near, &[]);
        Some(has_look && look::is_within_own_look(effect, target) && text(met) == text(now))
    };
    let last = completion::last_acting(run.task()).filter(|_| run.config.features.name_own_look);
    let click = last.filter(|record| record.action.kind() == ActionKind::Click);
    click
        .filter(|record| is_only_look(record).unwrap_or(false))
        .cloned()
}

/// Looks at the screen once more after an action whose change is elsewhere.
pub(super) async fn look_again(
    run: &mut RunContext,
    screen: &mut Screen,
    actuator: &mut Actuator,
    record: &ActionRecord,
) -> RunResult<SecondLook> {
    let judged = record.effect.clone();
    let acted = screen.acted_on(&record.action_id).cloned();
    let (Some(acted), Some(judged)) = (acted, judged) else {
        // Another run has performed it.
        return Ok(SecondLook::Stays(ChangedTexts::default()));
    };
    let areas: Vec<CaptureRect> = judged.change.regions.iter().map(|it| it.bounds).collect();
    let texts = screen
        .observation()
        .map(|now| changed_texts(&acted.observation, now, &areas));
    let now = screen.observation();
    let screens = [Some(&acted.observation), now].into_iter().flatten();
    let clocks: Vec<CaptureRect> = screens
        .flat_map(|seen| effect::clocks(&seen.scene, &seen.frame, &[]))
        .map(|clock| clock.inflate(CLOCK_WIDTH_PX, 0))
        .collect();
    let is_of_clock = |area: &CaptureRect| {
        effect::is_small(*area) && clocks.iter().any(|clock| clock.intersects(area))
    };
    let is_only_clock =
        !judged.change.size_differs && !areas.is_empty() && areas.iter().all(is_of_clock);
    if judged.verdict == Verdict::ChangedElsewhere && is_only_clock {
        let language = run.task().spec.message_language();
        return Ok(SecondLook::Passed(Box::new(effect::only_clock(
            judged, language,
        ))));
    }
    // What changed there is the look of the target under the pointer: its effect is elsewhere.
    let target = record.target.map(effect::near_area);
    let moving = screen.background_motion_areas();
    // A change that goes on is taken for motion by now, and what is ignored cannot be seen to pass.
    let goes_on = |area: &CaptureRect| moving.iter().any(|moving| moving.intersects(area));
    if areas.iter().any(goes_on) {
        return Ok(SecondLook::Stays(texts.unwrap_or_default()));
    }
    let ignore = moving.into_iter().chain(target).collect();
    let was_at_target = judged.verdict == Verdict::Confirmed;
    let texts = texts.unwrap_or_default();
    let tells_notices = run.config.features.outwait_notices;
    // It may pass, and has been an answer all the same.
    if tells_notices && texts.has_reply_to(record) {
        return Ok(SecondLook::Stays(texts));
    }
    let notice = Some(&texts).filter(|texts| tells_notices && texts.only_appeared());
    let time = match notice {
        Some(notice) => {
            let shown = quoted(run, &notice.appeared);
            let waiting = Message::NoticeAwaited { texts: &shown };
            hooks::show_progress(run, run.task().text(waiting)).await?;
            run.flush().await?;
            NOTICE_TIME
        }
        None => PASSING_TIME,
    };
    let passed = await_passing(run, screen, &acted.frame, judged, ignore, time).await?;
    let Some(effect) = passed else {
        return Ok(SecondLook::Stays(texts));
    };
    if was_at_target {
        let moving = screen.background_motion_areas();
        let ignore = [moving, run.task().secret_fields.boxes()].concat();
        let check = LookCheck::of_last_click(screen, record, &acted.frame);
        let was_look = match check {
            Some(check) => {
                check
                    .is_only_look(
                        run,
                        screen,
                        actuator,
                        &record.action_id,
                        &acted.frame,
                        &ignore,
                    )
                    .await?
            }
            None => false,
        };
        if !was_look {
            return Ok(SecondLook::AtTarget);
        }
    }
    Ok(SecondLook::Passed(Box::new(effect)))
}

/// Waits until the screen is as it was before the action, and returns its effect then; `None` if it is not within the time. Whatever
/// cannot be compared has not passed.
async fn await_passing(
    run: &mut RunContext,
    screen: &Screen,
    before: &Frame,
    judged: Effect,
    ignore: Vec<CaptureRect>,
    time: Duration,
) -> RunResult<Option<Effect>> {
    let hidden = run.task().secret_fields.boxes();
    let ignore = [hidden.clone(), ignore].concat();
    let language = run.task().spec.message_language();
    let mut since = screen.view().map(|view| view.latest_frame.id.clone());
    let mut left = time;
    loop {
        let request = WaitForIdleRequest {
            display: run.display(),
            since_frame: since,
            first_change_timeout: left,
            timeout: left + SETTLE_TIME,
            ignore: ignore.clone(),
            ..WaitForIdleRequest::default()
        };
        let waiting = Message::OperationAwaitLateChange;
        let idle = capture::wait_for_idle(run, waiting, request).await?;
        let Ok(now) = capture::try_capture_frame(run, &hidden).await? else {
            return Ok(None);
        };
        let request = CompareRequest {
            ignore: ignore.clone(),
            ..CompareRequest::new(before.id.clone(), now.id.clone())
        };
        let Ok(comparison) = capture::compare(run, request).await? else {
            return Ok(None);
        };
        let change = comparison.change;
        let passed = effect::passed_elsewhere(judged.clone(), change, before, &now, language);
        // Something else may have ended the wait.
        let rest = idle.ok().filter(|idle| idle.changed);
        let rest = rest.and_then(|idle| left.checked_sub(idle.elapsed.max(MIN_WAIT)));
        match rest.filter(|rest| passed.is_none() && !rest.is_zero()) {
            Some(rest) => left = rest,
            None => return Ok(passed),
        }
        since = Some(now.id);
    }
}

/// Returns the texts in these areas, in display pixels, that only one of the screens shows.
fn changed_texts(before: &Observation, now: &Observation, areas: &[CaptureRect]) -> ChangedTexts {
    ChangedTexts {
        appeared: only_in(now, before, areas),
        disappeared: only_in(before, now, areas),
    }
}

/// Returns the first texts that only one of the screens shows, shortened.
fn only_in(screen: &Observation, other: &Observation, areas: &[CaptureRect]) -> Vec<String> {
    let texts = texts_only_in(screen, other, areas);
    texts
        .map(|element| shortened(element.content.trim()))
        .take(MAX_TEXTS)
        .collect()
}

/// Returns the texts in these areas that the other screen does not show, also not with other signs. Names of icons are no texts.
fn texts_only_in<'a>(
    screen: &'a Observation,
    other: &Observation,
    areas: &[CaptureRect],
) -> impl Iterator<Item = &'a Element> {
    let others: Vec<String> = other
        .scene
        .elements
        .iter()
        .map(|element| folded(&element.content))
        .collect();
    let elements = screen.scene.elements.iter();
    elements.filter(move |element| {
        let text = folded(&element.content);
        let bounds = bounds_on_display(element, &screen.frame);
        !text.is_empty()
            && element.source != ElementSource::Detector
            && !others.iter().any(|other| is_same_text(other, &text))
            && areas.iter().any(|area| area.intersects(&bounds))
    })
}

fn shortened(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(MAX_TEXT_CHARS) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}
