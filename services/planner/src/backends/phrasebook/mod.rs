//! The phrasebook: understands plain imperative sentences in English and Chinese and needs no model, no key and no
//! network. `docs/phrasebook.md` says what can be said.
//!
//! A goal is read as a whole before anything is touched; one that is not understood is declined, so that another
//! backend may have it. Then each call decides the actions of one clause. How far it has come lies in
//! `conversation`; nothing is kept between calls.
//!
//! Invariant: a clause is only left when its actions were performed and nothing says that they were in vain.

mod acts;
mod cursor;
pub mod grammar;
mod look;
mod perform;
mod say;

use async_trait::async_trait;
use bytes::Bytes;
use motorium_proto::domain::action::{ActionKind, Text};
use motorium_proto::domain::decision::{
    Decision, Next, PastAction, PastStep, PlannedAction, Usage,
};
use motorium_proto::domain::effect::{ActionOutcome, ActionResult};
use motorium_proto::service::{BackendInfo, BackendState, PlanRequest};

use super::{Backend, BackendError, Spent};
use crate::matcher::{Found, Purpose, Screen};
use cursor::{Asked, Cursor};
use grammar::{Clause, Language, Step};
use perform::{Move, PAUSE, Turn, perform};
use say::Voice;

/// The name in configurations and requests.
pub const NAME: &str = "phrasebook";

/// Finds the one thing that a description names, if it names one in the phrasebook's words (`the "Save" button`).
#[must_use]
pub fn find_named(screen: &Screen<'_>, description: &str) -> Option<Found> {
    let aim = grammar::parse_name(description)?;
    // Without a text and a kind, nothing but an order or a place is left: that fits everything.
    if aim.all || aim.text.is_none() && aim.kind.is_none() {
        return None;
    }
    let purpose = Purpose::of_kind(aim.kind);
    Some(look::find(screen, &aim, purpose))
}

/// The phrasebook.
#[derive(Debug, Clone, Copy, Default)]
pub struct Phrasebook;

#[async_trait]
impl Backend for Phrasebook {
    fn name(&self) -> &str {
        NAME
    }

    fn info(&self) -> BackendInfo {
        BackendInfo {
            name: NAME.to_owned(),
            state: BackendState::Ready,
            model: String::new(),
            last_error: None,
            median_latency: None,
            usage: Usage::default(),
            needs_image: false,
        }
    }

    async fn plan(&self, request: &PlanRequest, _: &Spent) -> Result<Decision, BackendError> {
        plan(request)
    }
}

/// A clause and its own words.
#[derive(Debug)]
struct Spoken {
    clause: Clause,
    words: String,
    /// The words where this clause and the next ones name one thing together.
    joined_words: Option<String>,
}

impl Spoken {
    /// Its words, or those of all the clauses that it stands for.
    fn said(&self, for_all: bool) -> &str {
        self.joined_words
            .as_deref()
            .filter(|_| for_all)
            .unwrap_or(&self.words)
    }
}

fn plan(request: &PlanRequest) -> Result<Decision, BackendError> {
    let mut cursor =
        Cursor::decode(&request.conversation).map_err(|error| BackendError::Declined {
            clause: request.goal.clone(),
            reason: error.to_string(),
        })?;
    let mut spoken = read(&request.goal).map_err(|error| declined(request, &error))?;
    let voice = Voice(language(request, &spoken));
    if request.conversation.is_empty() && request.history.iter().any(touched_something) {
        return Err(BackendError::Declined {
            clause: request.goal.clone(),
            reason: voice.midway().to_owned(),
        });
    }
    let ignored = hear(request, &mut cursor);
    for added in &cursor.added {
        spoken.extend(read(added).unwrap_or_default());
    }
    let screen = Screen::new(&request.frame, &request.scene);
    let mut planning = Planning {
        request,
        screen: &screen,
        voice,
        spoken: &spoken,
        cursor,
    };
    let next = planning.next()?;
    Ok(planning.decision(next, ignored))
}

/// The clauses of a goal, each with its words.
fn read(goal: &str) -> Result<Vec<Spoken>, grammar::NotUnderstood> {
    let spoken = |clause: Clause| Spoken {
        words: clause.words(goal),
        joined_words: clause
            .joined
            .as_ref()
            .map(|joined| goal[joined.span.clone()].trim().to_owned()),
        clause,
    };
    Ok(grammar::parse(goal)?.into_iter().map(spoken).collect())
}

fn declined(request: &PlanRequest, error: &grammar::NotUnderstood) -> BackendError {
    let voice = Voice(asked_language(request).unwrap_or(error.language));
    BackendError::Declined {
        clause: error.fragment.clone(),
        reason: voice.not_understood(error),
    }
}

/// The language of what is said to people: the one that was asked for, or the goal's own.
fn language(request: &PlanRequest, spoken: &[Spoken]) -> Language {
    asked_language(request)
        .or_else(|| spoken.first().map(|spoken| spoken.clause.language))
        .unwrap_or_default()
}

fn asked_language(request: &PlanRequest) -> Option<Language> {
    let language = request
        .language
        .as_deref()
        .filter(|language| !language.is_empty())?;
    Some(if language.to_lowercase().starts_with("zh") {
        Language::Chinese
    } else {
        Language::English
    })
}

/// Takes in what the user said: an answer to the open question, or further sentences. Returns what is neither.
fn hear(request: &PlanRequest, cursor: &mut Cursor) -> Vec<String> {
    let mut ignored = Vec::new();
    for message in request
        .user_messages
        .iter()
        .filter(|message| !message.trim().is_empty())
    {
        match cursor.asked.take() {
            Some(_) if say::says_done(message) => cursor.advance(),
            Some(Asked::Which) => cursor.work.answer = Some(message.clone()),
            Some(Asked::WhetherDone) => cursor.work = cursor::Work::default(),
            None if say::says_done(message) => {}
            None if grammar::parse(message).is_ok() => cursor.added.push(message.clone()),
            None => ignored.push(message.clone()),
        }
    }
    ignored
}

fn touched_something(step: &PastStep) -> bool {
    step.actions.iter().any(|action| {
        action.planned.action.kind() != ActionKind::Wait
            && !matches!(action.outcome.result, ActionResult::Refused)
    })
}

/// One call at work.
struct Planning<'a> {
    request: &'a PlanRequest,
    screen: &'a Screen<'a>,
    voice: Voice,
    spoken: &'a [Spoken],
    cursor: Cursor,
}

impl Planning<'_> {
    /// What to do next: the first move that is not merely the end of a clause.
    fn next(&mut self) -> Result<Next, BackendError> {
        if let Some(ending) = self.trouble() {
            return Ok(ending);
        }
        let spoken = self.spoken;
        while let Some(said) = spoken.get(self.cursor.clause) {
            let was_opening = self.cursor.opening;
            let (words, joined_words) = (said.said(false), said.said(true));
            let turn = Turn {
                request: self.request,
                screen: self.screen,
                voice: self.voice,
                clause: &said.clause,
                words,
                joined_words,
            };
            match perform(&turn, &mut self.cursor) {
                Move::Done => self.cursor.advance(),
                Move::Act(actions) => return Ok(self.act(actions, was_opening)),
                Move::Look => {
                    return Ok(Next::Act(vec![acts::wait(
                        PAUSE,
                        &self.voice.waiting(words),
                    )]));
                }
                Move::Ask { question } => {
                    self.cursor.asked = Some(Asked::Which);
                    return Ok(Next::Ask {
                        question,
                        needs_hands: false,
                    });
                }
                Move::Fail { reason } => return self.give_up(words, reason),
            }
        }
        Ok(Next::Done {
            answer: self.answer(),
            evidence: self.evidence(),
        })
    }

    fn act(&mut self, actions: Vec<PlannedAction>, was_opening: bool) -> Next {
        self.cursor.work.stage += 1;
        self.cursor.work.looks = 0;
        // What was opened is there as soon as something in it could be used.
        self.cursor.opening &= !was_opening;
        self.cursor.touched |= actions
            .iter()
            .any(|action| action.action.kind() != ActionKind::Wait);
        Next::Act(actions)
    }

    /// As long as nothing was touched, another backend may do better.
    fn give_up(&self, words: &str, reason: String) -> Result<Next, BackendError> {
        if self.cursor.touched {
            Ok(Next::Fail { reason })
        } else {
            Err(BackendError::Declined {
                clause: words.to_owned(),
                reason,
            })
        }
    }

    /// What follows from an action that was not performed.
    fn trouble(&mut self) -> Option<Next> {
        if self.cursor.work.stage == 0 || self.cursor.asked.is_some() {
            return None;
        }
        let actions = &self.request.history.last()?.actions;
        let words = self
            .spoken
            .get(self.cursor.clause)
            .map(|spoken| spoken.words.as_str())
            .unwrap_or_default();
        let unwatched = |action: &PastAction| {
            let effect = action.effect.as_ref();
            effect.is_some_and(|effect| !effect.was_watched())
        };
        if actions.last().is_some_and(unwatched) {
            return Some(self.ask_whether_done(words));
        }
        let outcome = actions
            .iter()
            .map(|action| &action.outcome)
            .find(|outcome| outcome.result != ActionResult::Performed)?;
        Some(match outcome.result {
            ActionResult::Refused => Next::Fail {
                reason: self.voice.refused(words, &detail(outcome)),
            },
            ActionResult::Failed | ActionResult::Performed => Next::Fail {
                reason: self.voice.failed(words, &outcome.detail),
            },
            ActionResult::Unknown | ActionResult::Cancelled => self.ask_whether_done(words),
        })
    }

    fn ask_whether_done(&mut self, words: &str) -> Next {
        self.cursor.asked = Some(Asked::WhetherDone);
        Next::Ask {
            question: self.voice.whether_done(words),
            needs_hands: true,
        }
    }

    /// What was asked for, in the user's own words; of much only how many steps it was and the last one.
    fn answer(&self) -> String {
        let asked = std::iter::once(&self.request.goal).chain(&self.cursor.added);
        let asked: Vec<&str> = asked.map(|words| words.trim()).collect();
        let last = self.spoken.last().map(|spoken| spoken.words.as_str());
        self.voice
            .done(&asked, self.spoken.len(), last.unwrap_or_default())
    }

    /// Texts that are on the screen now: what was waited for or checked, or else what was done last.
    fn evidence(&self) -> Vec<String> {
        let mut evidence: Vec<String> = self
            .cursor
            .evidence
            .iter()
            .filter(|text| self.screen.shows(text).is_some())
            .cloned()
            .collect();
        evidence.dedup();
        if evidence.is_empty() {
            evidence = self
                .spoken
                .last()
                .and_then(|spoken| subject(&spoken.clause.step))
                .into_iter()
                .collect();
            evidence.retain(|text| self.screen.shows(text).is_some());
        }
        evidence
    }

    fn decision(&self, next: Next, ignored: Vec<String>) -> Decision {
        let total = self.spoken.len();
        let number = (self.cursor.clause + 1).min(total);
        let covers = self.cursor.work.covers > 1;
        let words = self
            .spoken
            .get(number.saturating_sub(1))
            .map(|spoken| spoken.said(covers))
            .unwrap_or_default();
        let step = self
            .spoken
            .get(self.cursor.clause)
            .map(|spoken| spoken.clause.step.to_string());
        let progress = match (&next, ignored.first()) {
            (_, Some(message)) => self.voice.ignored(message),
            (Next::Done { answer, .. }, None) => answer.clone(),
            (Next::Ask { question, .. }, None) => question.clone(),
            (Next::Fail { reason }, None) => reason.clone(),
            _ => self.voice.progress(words, number, total),
        };
        Decision {
            thought: step.unwrap_or_default(),
            progress,
            next,
            safety_checks: Vec::new(),
            conversation: Bytes::from(self.cursor.encode()),
            backend: NAME.to_owned(),
            model: String::new(),
            usage: Usage::default(),
            suspected_injections: Vec::new(),
            conversation_images: Vec::new(),
        }
    }
}

fn detail(outcome: &ActionOutcome) -> String {
    match &outcome.rule {
        Some(rule) => format!("{} ({rule})", outcome.detail),
        None => outcome.detail.clone(),
    }
}

/// The text that a step leaves on the screen, if it is one that may be told.
fn subject(step: &Step) -> Option<String> {
    match step {
        Step::Type {
            text: Text::Literal(text),
            ..
        } => Some(text.clone()),
        _ => step.target().and_then(|aim| aim.text.clone()),
    }
}
