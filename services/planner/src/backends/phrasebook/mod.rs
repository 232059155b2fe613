//! The phrasebook backend: carries out imperative sentences in English and Chinese without a model, key or network.
//! `docs/phrasebook.md` lists the sentences that it understands.
//!
//! A goal is parsed as a whole before anything is changed; one that is not understood is declined, so that another
//! backend can take it. Then each call decides the actions of one clause. The position is stored in `conversation`;
//! the backend itself keeps no state.
//!
//! Invariant: a clause is only left when its actions were performed and were not found to have no effect.

mod actions;
mod clause_planner;
mod cursor;
mod locate;
mod messages;

use async_trait::async_trait;
use bytes::Bytes;
use motorium_proto::domain::action::{ActionKind, Text};
use motorium_proto::domain::decision::{
    Decision, Next, PastAction, PastStep, PlannedAction, Usage,
};
use motorium_proto::domain::effect::{ActionOutcome, ActionResult};
use motorium_proto::service::{BackendInfo, BackendState, PlanRequest};

use super::{Backend, BackendError, UsageMeter};
use clause_planner::{ClauseDecision, ClausePlanner, RETRY_INTERVAL, plan_clause};
use cursor::{ClauseCursor, OpenQuestion};
use messages::Messages;
use motorium_phrasebook::grammar::{self, Clause, Instruction, Language};
use motorium_phrasebook::matcher::{Interaction, MatchResult, ScreenIndex};

/// Name of the backend in configurations and requests.
pub const NAME: &str = "phrasebook";

/// Finds the element that a description names in the phrasebook's words (`the "Save" button`).
#[must_use]
pub fn find_named(screen: &ScreenIndex<'_>, description: &str) -> Option<MatchResult> {
    let aim = grammar::parse_target(description)?;
    // An ordinal or a place alone matches everything.
    if aim.all || aim.text.is_none() && aim.kind.is_none() {
        return None;
    }
    let purpose = Interaction::of_kind(aim.kind);
    Some(locate::find(screen, &aim, purpose))
}

/// The phrasebook backend.
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

    async fn plan(&self, request: &PlanRequest, _: &UsageMeter) -> Result<Decision, BackendError> {
        plan(request)
    }
}

/// A clause with its words.
#[derive(Debug)]
struct ParsedClause {
    clause: Clause,
    words: String,
    /// Words of all clauses that may be one name.
    joined_words: Option<String>,
}

impl ParsedClause {
    /// Returns its words, or those of all clauses that it covers.
    fn words_for(&self, for_all: bool) -> &str {
        self.joined_words
            .as_deref()
            .filter(|_| for_all)
            .unwrap_or(&self.words)
    }
}

fn plan(request: &PlanRequest) -> Result<Decision, BackendError> {
    let mut cursor =
        ClauseCursor::decode(&request.conversation).map_err(|error| BackendError::Declined {
            clause: request.goal.clone(),
            reason: error.to_string(),
        })?;
    let mut spoken = read(&request.goal).map_err(|error| declined(request, &error))?;
    let voice = Messages(language(request, &spoken));
    if request.conversation.is_empty() && request.history.iter().any(changed_desktop) {
        return Err(BackendError::Declined {
            clause: request.goal.clone(),
            reason: voice.cannot_take_over().to_owned(),
        });
    }
    let ignored = apply_user_messages(request, &mut cursor);
    for added in &cursor.added {
        spoken.extend(read(added).unwrap_or_default());
    }
    let screen = ScreenIndex::new(&request.frame, &request.scene);
    let mut planning = PlanCall {
        request,
        screen: &screen,
        voice,
        spoken: &spoken,
        cursor,
    };
    let next = planning.next()?;
    Ok(planning.decision(next, ignored))
}

/// Parses a goal into clauses with their words.
fn read(goal: &str) -> Result<Vec<ParsedClause>, grammar::ParseError> {
    let spoken = |clause: Clause| ParsedClause {
        words: clause.words(goal),
        joined_words: clause
            .joined
            .as_ref()
            .map(|joined| goal[joined.span.clone()].trim().to_owned()),
        clause,
    };
    Ok(grammar::parse(goal)?.into_iter().map(spoken).collect())
}

fn declined(request: &PlanRequest, error: &grammar::ParseError) -> BackendError {
    let voice = Messages(requested_language(request).unwrap_or(error.language));
    BackendError::Declined {
        clause: error.fragment.clone(),
        reason: voice.not_understood(error),
    }
}

/// Returns the language of messages: the requested one, or the goal's.
fn language(request: &PlanRequest, spoken: &[ParsedClause]) -> Language {
    requested_language(request)
        .or_else(|| spoken.first().map(|spoken| spoken.clause.language))
        .unwrap_or_default()
}

fn requested_language(request: &PlanRequest) -> Option<Language> {
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

/// Applies the user's messages: an answer to the open question, or additional goals. Returns the messages that are neither.
fn apply_user_messages(request: &PlanRequest, cursor: &mut ClauseCursor) -> Vec<String> {
    let mut ignored = Vec::new();
    for message in request
        .user_messages
        .iter()
        .filter(|message| !message.trim().is_empty())
    {
        match cursor.asked.take() {
            Some(_) if messages::is_done_reply(message) => cursor.advance(),
            Some(OpenQuestion::Which) => cursor.work.answer = Some(message.clone()),
            Some(OpenQuestion::WhetherDone) => cursor.work = cursor::ClauseProgress::default(),
            None if messages::is_done_reply(message) => {}
            None if grammar::parse(message).is_ok() => cursor.added.push(message.clone()),
            None => ignored.push(message.clone()),
        }
    }
    ignored
}

fn changed_desktop(step: &PastStep) -> bool {
    step.actions.iter().any(|action| {
        action.planned.action.kind() != ActionKind::Wait
            && !matches!(action.outcome.result, ActionResult::Refused)
    })
}

/// State of one call.
struct PlanCall<'a> {
    request: &'a PlanRequest,
    screen: &'a ScreenIndex<'a>,
    voice: Messages,
    spoken: &'a [ParsedClause],
    cursor: ClauseCursor,
}

impl PlanCall<'_> {
    /// Decides what to do next: the first decision other than the end of a clause.
    fn next(&mut self) -> Result<Next, BackendError> {
        if let Some(ending) = self.check_last_step() {
            return Ok(ending);
        }
        let spoken = self.spoken;
        while let Some(said) = spoken.get(self.cursor.clause) {
            let was_opening = self.cursor.opening;
            let (words, joined_words) = (said.words_for(false), said.words_for(true));
            let turn = ClausePlanner {
                request: self.request,
                screen: self.screen,
                voice: self.voice,
                clause: &said.clause,
                words,
                joined_words,
            };
            match plan_clause(&turn, &mut self.cursor) {
                ClauseDecision::Done => self.cursor.advance(),
                ClauseDecision::Act(actions) => return Ok(self.act(actions, was_opening)),
                ClauseDecision::Wait => {
                    return Ok(Next::Act(vec![actions::wait(
                        RETRY_INTERVAL,
                        &self.voice.waiting(words),
                    )]));
                }
                ClauseDecision::Ask { question } => {
                    self.cursor.asked = Some(OpenQuestion::Which);
                    return Ok(Next::Ask {
                        question,
                        requires_manual_action: false,
                    });
                }
                ClauseDecision::Fail { reason } => return self.give_up(words, reason),
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
        // Opening has finished as soon as an action inside could be decided.
        self.cursor.opening &= !was_opening;
        self.cursor.touched |= actions
            .iter()
            .any(|action| action.action.kind() != ActionKind::Wait);
        Next::Act(actions)
    }

    /// Fails, or declines while nothing was changed, so that another backend can take the goal.
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

    /// Returns the decision for an action that was not performed.
    fn check_last_step(&mut self) -> Option<Next> {
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
            effect.is_some_and(|effect| !effect.was_observed())
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
        self.cursor.asked = Some(OpenQuestion::WhetherDone);
        Next::Ask {
            question: self.voice.ask_whether_performed(words),
            requires_manual_action: true,
        }
    }

    /// Returns the answer: the goals in the user's words, or for long ones the number of steps and the last one.
    fn answer(&self) -> String {
        let asked = std::iter::once(&self.request.goal).chain(&self.cursor.added);
        let asked: Vec<&str> = asked.map(|words| words.trim()).collect();
        let last = self.spoken.last().map(|spoken| spoken.words.as_str());
        self.voice
            .done(&asked, self.spoken.len(), last.unwrap_or_default())
    }

    /// Returns visible texts as evidence: those waited for or checked, or else the target of the last clause.
    fn evidence(&self) -> Vec<String> {
        let mut evidence: Vec<String> = self
            .cursor
            .evidence
            .iter()
            .filter(|text| self.screen.find_text(text).is_some())
            .cloned()
            .collect();
        evidence.dedup();
        if evidence.is_empty() {
            evidence = self
                .spoken
                .last()
                .and_then(|spoken| visible_text(&spoken.clause.instruction))
                .into_iter()
                .collect();
            evidence.retain(|text| self.screen.find_text(text).is_some());
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
            .map(|spoken| spoken.words_for(covers))
            .unwrap_or_default();
        let step = self
            .spoken
            .get(self.cursor.clause)
            .map(|spoken| spoken.clause.instruction.to_string());
        let progress = match (&next, ignored.first()) {
            (_, Some(message)) => self.voice.message_ignored(message),
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

/// Returns the text that an instruction leaves on the screen, unless it is a secret.
fn visible_text(step: &Instruction) -> Option<String> {
    match step {
        Instruction::Type {
            text: Text::Literal(text),
            ..
        } => Some(text.clone()),
        _ => step.target().and_then(|aim| aim.text.clone()),
    }
}
