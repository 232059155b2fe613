//! The phrasebook backend: carries out imperative sentences in English and Chinese without a model, key or network.
//! `docs/phrasebook.md` lists the sentences that it understands.
//!
//! A goal is parsed as a whole before anything is changed; one that is not understood is declined, so that another
//! backend can take it. Then each call decides the actions of one clause. The position is stored in `conversation`;
//! the backend itself keeps no state.
//!
//! Invariant: a clause is only left when its actions were performed and were not found to have no effect, when its result
//! is there already, or when the user says so.

mod actions;
mod candidates;
mod clause_planner;
mod cursor;
mod locate;
mod messages;
mod values;

use async_trait::async_trait;
use bytes::Bytes;
use motorium_proto::domain::action::{ActionKind, Text};
use motorium_proto::domain::decision::{
    Decision, Next, PastAction, PastStep, PlannedAction, Usage,
};
use motorium_proto::domain::effect::{ActionOutcome, ActionResult, Verdict};
use motorium_proto::domain::key::Key;
use motorium_proto::domain::session::{MessageRole, TaskContext};
use motorium_proto::service::{BackendInfo, PlanRequest};

use super::{Backend, BackendDecision, BackendError, CallContext};
use crate::text_entry;
use clause_planner::{ClauseDecision, ClausePlanner, RETRY_INTERVAL, plan_clause};
use cursor::{ClauseCursor, OpenQuestion};
use messages::{Messages, Reply};
use motorium_phrasebook::grammar::{self, Clause, Instruction, Language};
use motorium_phrasebook::matcher::{Interaction, MatchResult, ScreenIndex};
use motorium_text::browser_words::{BrowserWords, answers_leave_question};

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
        BackendInfo::without_model(NAME)
    }

    async fn plan(
        &self,
        request: &PlanRequest,
        _: &CallContext,
    ) -> Result<BackendDecision, BackendError> {
        plan(request).map(BackendDecision::from)
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
    let mut user_words = UserWords::after(&request.context);
    user_words
        .add(&request.goal)
        .map_err(|error| declined(request, &error))?;
    let voice = Messages(language(request, &user_words.clauses));
    if request.conversation.is_empty() && request.history.iter().any(changed_desktop) {
        return Err(BackendError::Declined {
            clause: request.goal.clone(),
            reason: voice.cannot_take_over(),
        });
    }
    for added in &cursor.added {
        // It was understood when it was added.
        let _ = user_words.add(added);
    }
    let unused = apply_user_messages(request, &mut cursor, &mut user_words);
    let screen = ScreenIndex::new(&request.frame, &request.scene);
    let screen = screen.without_words(browser_words(request));
    let mut planning = PlanCall {
        request,
        screen: &screen,
        voice,
        user_words: &user_words.clauses,
        cursor,
        unclear_reply: unused.unclear_reply,
    };
    let next = planning.next()?;
    Ok(planning.decision(next, unused.ignored))
}

/// Returns the words of a browser about the pages that the task has opened.
fn browser_words(request: &PlanRequest) -> BrowserWords {
    let actions = request.history.iter().flat_map(|step| &step.actions);
    let in_browser = request.frame.is_browser_in_front();
    let opened = actions.filter_map(|action| action.planned.action.opened_address(in_browser));
    let elements = request.scene.elements.iter();
    BrowserWords::new(
        opened.chain(request.current_url.as_deref()),
        elements.map(|element| element.content.as_str()),
    )
}

/// The words of the user: the clauses of the goal and of the goals that were added, and the texts that they may refer to.
#[derive(Debug, Default)]
struct UserWords {
    /// Texts of the user, the oldest first, also from earlier tasks of the session.
    texts: Vec<String>,
    clauses: Vec<ParsedClause>,
}

impl UserWords {
    fn after(context: &TaskContext) -> Self {
        let messages = context.messages.iter();
        let messages = messages.filter(|message| message.role == MessageRole::User);
        let tasks = context.earlier_tasks.iter();
        let task_texts =
            tasks.flat_map(|task| std::iter::once(&task.goal).chain(&task.user_messages));
        Self {
            texts: messages
                .map(|message| &message.text)
                .chain(task_texts)
                .cloned()
                .collect(),
            clauses: Vec::new(),
        }
    }

    /// Parses a goal into clauses with their words, and adds them.
    fn add(&mut self, goal: &str) -> Result<(), grammar::ParseError> {
        let parsed = |clause: Clause| ParsedClause {
            words: clause.words(goal),
            joined_words: clause
                .joined
                .as_ref()
                .map(|joined| goal[joined.span.clone()].trim().to_owned()),
            clause,
        };
        let clauses = grammar::parse_following(self.texts.iter().map(String::as_str), goal)?;
        self.clauses.extend(clauses.into_iter().map(parsed));
        self.texts.push(goal.to_owned());
        Ok(())
    }
}

fn declined(request: &PlanRequest, error: &grammar::ParseError) -> BackendError {
    let voice = Messages(requested_language(request).unwrap_or(error.language));
    BackendError::Declined {
        clause: error.fragment.clone(),
        reason: voice.not_understood(error),
    }
}

/// Returns the language of messages: the requested one, or the goal's.
fn language(request: &PlanRequest, user_words: &[ParsedClause]) -> Language {
    requested_language(request)
        .or_else(|| {
            user_words
                .first()
                .map(|user_words| user_words.clause.language)
        })
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

/// Messages of the user that change nothing.
#[derive(Debug, Default)]
struct UnusedMessages {
    /// Messages that are neither a goal nor an answer.
    ignored: Vec<String>,
    /// The reply to the question whether an action took effect, if it does not answer it.
    unclear_reply: Option<String>,
}

/// Applies the user's messages: an answer to the open question, or additional goals. Returns those that are neither.
fn apply_user_messages(
    request: &PlanRequest,
    cursor: &mut ClauseCursor,
    user_words: &mut UserWords,
) -> UnusedMessages {
    let mut unused = UnusedMessages::default();
    for message in request
        .user_messages
        .iter()
        .filter(|message| !message.trim().is_empty())
    {
        match (cursor.asked, messages::meaning(message)) {
            (Some(_), Reply::Done) => {
                cursor.asked = None;
                cursor.advance();
            }
            (Some(asked), Reply::GoOn) if asked.is_about_outcome() => {
                cursor.asked = None;
                cursor.leave_out();
            }
            (Some(asked), Reply::Retry) if asked.is_about_outcome() => {
                cursor.asked = None;
                cursor.work = cursor::ClauseProgress::default();
            }
            // No answer: the question is repeated.
            (Some(asked), Reply::Other) if asked.is_about_outcome() => {
                unused.unclear_reply = Some(message.clone());
            }
            // A reply that names none of the matches repeats the question as well.
            (Some(_), _) => {
                cursor.asked = None;
                cursor.work.answer = Some(message.clone());
            }
            (None, Reply::Done | Reply::GoOn) => {}
            (None, _) if user_words.add(message).is_ok() => {
                cursor.added.push(message.clone());
            }
            (None, _) => unused.ignored.push(message.clone()),
        }
    }
    unused
}

fn changed_desktop(step: &PastStep) -> bool {
    step.actions.iter().any(|action| {
        action.planned.action.kind() != ActionKind::Wait
            && !matches!(action.outcome.result, ActionResult::Refused)
    })
}

/// Returns whether an instruction may have an application load something.
fn may_load(instruction: &Instruction) -> bool {
    matches!(
        instruction,
        Instruction::Click { .. } | Instruction::Press { .. }
    )
}

/// Returns the texts that these clauses type.
fn texts_typed(clauses: &[ParsedClause]) -> Vec<&str> {
    let typed = clauses
        .iter()
        .filter_map(|parsed| match &parsed.clause.instruction {
            Instruction::Type { text, .. } | Instruction::PasteText { text, .. } => match text {
                Text::Literal(text) => Some(text.as_str()),
                Text::Secret(_) => None,
            },
            _ => None,
        });
    typed.collect()
}

/// State of one call.
struct PlanCall<'a> {
    request: &'a PlanRequest,
    screen: &'a ScreenIndex<'a>,
    voice: Messages,
    user_words: &'a [ParsedClause],
    cursor: ClauseCursor,
    /// A reply that did not answer the open question.
    unclear_reply: Option<String>,
}

impl PlanCall<'_> {
    /// Decides what to do next: the first decision other than the end of a clause.
    fn next(&mut self) -> Result<Next, BackendError> {
        let user_words = self.user_words;
        match self.cursor.asked {
            Some(OpenQuestion::WhetherDone) => return Ok(self.ask_whether_done()),
            Some(OpenQuestion::Unconfirmed) => return Ok(self.ask_unconfirmed()),
            Some(OpenQuestion::Which) | None => {}
        }
        // Without an answer the clause is located again, which repeats the question if it is still open.
        self.cursor.asked = None;
        if let Some(ending) = self.check_last_step() {
            return Ok(ending);
        }
        while let Some(parsed) = user_words.get(self.cursor.clause) {
            let was_opening = self.cursor.opening;
            let (words, joined_words) = (parsed.words_for(false), parsed.words_for(true));
            let turn = ClausePlanner {
                request: self.request,
                screen: self.screen,
                voice: self.voice,
                clause: &parsed.clause,
                is_last: self.cursor.clause + 1 == user_words.len(),
                words,
                joined_words,
                typed: texts_typed(&user_words[..self.cursor.clause]),
            };
            match plan_clause(&turn, &mut self.cursor) {
                ClauseDecision::Done => {
                    self.cursor.advance();
                    self.cursor.loading = may_load(&parsed.clause.instruction);
                }
                ClauseDecision::AlreadySo => self.cursor.advance_already_so(),
                ClauseDecision::Act(actions) => return Ok(self.act(actions, was_opening)),
                ClauseDecision::Wait => {
                    self.cursor.work.decided = 1;
                    return Ok(Next::Act(vec![actions::wait(
                        RETRY_INTERVAL,
                        &self.voice.waiting(words),
                    )]));
                }
                ClauseDecision::Ask { question } => {
                    self.cursor.asked = Some(OpenQuestion::Which);
                    self.cursor.work.answer = None;
                    self.cursor.work.decided = 0;
                    return Ok(Next::Ask {
                        question,
                        requires_manual_action: false,
                    });
                }
                ClauseDecision::AskWhetherDone => return Ok(self.ask_unconfirmed()),
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
        self.cursor.work.decided = actions.len();
        self.cursor.work.looks = 0;
        // Opening has finished as soon as an action inside could be decided.
        self.cursor.opening &= !was_opening;
        let changes = actions
            .iter()
            .any(|action| action.action.kind() != ActionKind::Wait);
        if changes {
            self.cursor.touched = true;
            self.cursor.shown_before = self.awaited_lines();
        }
        Next::Act(actions)
    }

    /// Returns the lines on the screen with a text whose appearance the next clauses wait for.
    fn awaited_lines(&self) -> Vec<String> {
        let next = self.cursor.clause + self.cursor.work.covers.max(1);
        let following = self.user_words.iter().skip(next);
        let looks = following
            .map(|parsed| &parsed.clause.instruction)
            .take_while(|instruction| {
                matches!(
                    instruction,
                    Instruction::Wait { .. }
                        | Instruction::WaitForText { .. }
                        | Instruction::Verify { .. }
                )
            });
        let awaited = looks.filter_map(|instruction| match instruction {
            Instruction::WaitForText {
                text, shown: true, ..
            } => Some(text),
            _ => None,
        });
        awaited
            .flat_map(|text| self.screen.lines_with(text))
            .map(str::to_owned)
            .collect()
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

    /// Returns the decision for an action that was not performed. A refused clause ends the goal, unless the user who refused
    /// it says that the rest is still wanted.
    fn check_last_step(&mut self) -> Option<Next> {
        if self.cursor.work.stage == 0 {
            return None;
        }
        let request = self.request;
        let step = request.history.last()?;
        let unwatched = |action: &PastAction| {
            let effect = action.effect.as_ref();
            effect.is_some_and(|effect| !effect.was_observed())
        };
        if step.actions.last().is_some_and(unwatched) {
            return Some(self.ask_whether_done());
        }
        if let Some(question) = self.unanswered_leave_question() {
            let question = self.voice.ask_to_leave(self.words(), question);
            self.cursor.asked = Some(OpenQuestion::WhetherDone);
            return Some(Next::Ask {
                question,
                requires_manual_action: true,
            });
        }
        let has_moved = |action: &PastAction| {
            let effect = action.effect.as_ref();
            effect.is_some_and(|effect| effect.verdict == Verdict::TargetMoved)
        };
        if step.actions.iter().any(has_moved) {
            self.cursor.asked = Some(OpenQuestion::WhetherDone);
            return Some(Next::Ask {
                question: self.voice.ask_whether_hit(self.words()),
                requires_manual_action: true,
            });
        }
        let mut outcomes = step.actions.iter().map(|action| &action.outcome);
        let Some(outcome) = outcomes.find(|outcome| outcome.result != ActionResult::Performed)
        else {
            let is_complete = step.actions.len() >= self.cursor.work.decided;
            return (!is_complete).then(|| self.fail_unperformed());
        };
        let words = self.words();
        Some(match outcome.result {
            ActionResult::Refused if says_to_go_on(step, request) => {
                self.cursor.leave_out();
                return None;
            }
            ActionResult::Refused => Next::Fail {
                reason: self.voice.refused(words, &detail(outcome)),
            },
            ActionResult::Failed | ActionResult::Performed => Next::Fail {
                reason: self.voice.failed(words, &outcome.detail),
            },
            // Nothing that could be done twice has happened.
            ActionResult::Unknown | ActionResult::Cancelled if may_simply_redo(step, outcome) => {
                self.cursor.work = cursor::ClauseProgress::default();
                return None;
            }
            ActionResult::Unknown | ActionResult::Cancelled => self.ask_whether_done(),
        })
    }

    /// Returns the question of the browser whether unsaved changes may be lost, unless the next clause answers it. That is for the
    /// user to decide, and until then nothing has come of the clause.
    fn unanswered_leave_question(&self) -> Option<&str> {
        let question = self.screen.leave_question()?;
        let next = self.cursor.clause + self.cursor.work.covers.max(1);
        let next = self
            .user_words
            .get(next)
            .map(|next| &next.clause.instruction);
        let is_answer = match next {
            Some(Instruction::Click { target, .. }) => {
                let name = target.as_ref().and_then(|target| target.text.as_deref());
                name.is_some_and(answers_leave_question)
            }
            Some(Instruction::Press { keys, .. }) => {
                matches!(keys.as_slice(), [Key::Enter | Key::Escape])
            }
            _ => false,
        };
        (!is_answer).then_some(question)
    }

    /// Fails because the last decision has fewer outcomes than actions.
    fn fail_unperformed(&self) -> Next {
        let (words, notices) = (self.words(), self.request.notices.join("; "));
        let reason = match notices.is_empty() {
            true => self.voice.not_performed(words),
            false => self.voice.failed(words, &notices),
        };
        Next::Fail { reason }
    }

    /// Returns the words of the current clause.
    fn words(&self) -> &str {
        let user_words = self.user_words.get(self.cursor.clause);
        user_words.map_or("", |user_words| user_words.words.as_str())
    }

    fn ask_whether_done(&mut self) -> Next {
        self.cursor.asked = Some(OpenQuestion::WhetherDone);
        let question = self.voice.ask_whether_performed(self.words());
        let question = match &self.unclear_reply {
            Some(reply) => self.voice.reply_unclear(reply, &question),
            None => question,
        };
        Next::Ask {
            question,
            requires_manual_action: true,
        }
    }

    /// Asks about an action whose effect is not seen.
    fn ask_unconfirmed(&mut self) -> Next {
        self.cursor.asked = Some(OpenQuestion::Unconfirmed);
        let file = self.cursor.work.chosen_file.as_deref();
        let question = match file {
            Some(file) => self.voice.ask_whether_chosen(self.words(), file),
            None => self.voice.ask_whether_effective(self.words()),
        };
        let question = match &self.unclear_reply {
            Some(reply) => self.voice.reply_unclear(reply, &question),
            None => question,
        };
        Next::Ask {
            question,
            requires_manual_action: true,
        }
    }

    /// Returns the answer: the goals in the user's words, or for long ones the number of steps and the last one.
    fn answer(&self) -> String {
        let asked = std::iter::once(&self.request.goal).chain(&self.cursor.added);
        let asked: Vec<&str> = asked.map(|words| words.trim()).collect();
        let last = self
            .user_words
            .last()
            .map(|user_words| user_words.words.as_str());
        let done = self
            .voice
            .done(&asked, self.user_words.len(), last.unwrap_or_default());
        let already = self.words_of(&self.cursor.already_so);
        let left_out = self.words_of(&self.cursor.left_out);
        let remarks = [
            (!already.is_empty()).then(|| self.voice.already_so(&already)),
            (!left_out.is_empty()).then(|| self.voice.left_out(&left_out)),
        ];
        let page_errors = self.cursor.page_errors.iter();
        let parts: Vec<String> = std::iter::once(done)
            .chain(page_errors.map(|line| self.voice.page_says(line)))
            .chain(remarks.into_iter().flatten())
            .collect();
        parts.join(" ")
    }

    /// Returns the words of these clauses.
    fn words_of(&self, clauses: &[usize]) -> Vec<&str> {
        let user_words = clauses
            .iter()
            .filter_map(|clause| self.user_words.get(*clause));
        user_words
            .map(|user_words| user_words.words.as_str())
            .collect()
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
                .user_words
                .last()
                .and_then(|user_words| visible_text(&user_words.clause.instruction))
                .into_iter()
                .collect();
            evidence.retain(|text| self.screen.find_text(text).is_some());
        }
        evidence
    }

    fn decision(&self, next: Next, ignored: Vec<String>) -> Decision {
        let total = self.user_words.len();
        let number = (self.cursor.clause + 1).min(total);
        let covers = self.cursor.work.covers > 1;
        let words = self
            .user_words
            .get(number.saturating_sub(1))
            .map(|user_words| user_words.words_for(covers))
            .unwrap_or_default();
        let step = self
            .user_words
            .get(self.cursor.clause)
            .map(|user_words| user_words.clause.instruction.to_string());
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
            next: text_entry::leave_to_executor(next),
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

/// Returns whether the user answered the refusal with the wish to go on without the clause.
fn says_to_go_on(step: &PastStep, request: &PlanRequest) -> bool {
    let user_messages = step.user_messages.iter().chain(&request.user_messages);
    user_messages
        .into_iter()
        .any(|message| messages::meaning(message) == Reply::GoOn)
}

/// Returns whether an interrupted step can be performed again without asking: nothing of it was sent, or it only waited.
fn may_simply_redo(step: &PastStep, interrupted: &ActionOutcome) -> bool {
    let mut actions = step.actions.iter();
    if actions.all(|action| action.planned.action.kind() == ActionKind::Wait) {
        return true;
    }
    let mut outcomes = step.actions.iter().map(|action| &action.outcome);
    let is_first = outcomes.all(|outcome| outcome.result != ActionResult::Performed);
    is_first && interrupted.result == ActionResult::Cancelled && interrupted.sent_nothing
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
