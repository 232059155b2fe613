//! Folds messages, approvals and manual actions of people into a task.
//!
//! Pure: times come with the events.

use std::time::SystemTime;

use motorium_messages::{Language, Message, join_list, join_sentences};
use motorium_proto::domain::decision::SafetyCheck;
use motorium_proto::domain::effect::ActionResult;
use motorium_proto::domain::session::MessageRole;

use super::{Lifecycle, Task};
use crate::approval::{Approval, ApprovalState, ApprovalSubject};
use crate::event::{UserRequest, UserRequestKind};
use crate::spec::Attachment;

/// Maximum number of manual actions that are described to the planner. Bounds the prompt; the screen shows the result anyway.
const MAX_MANUAL_ACTIONS: usize = 30;

/// A text that was written to a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statement {
    pub text: String,
    /// A model wrote it, and not a person.
    pub written_by_model: bool,
}

impl Task {
    /// Handles a take-over. The open step is dropped, because its decision was made on another screen than the one handed back.
    pub(super) fn taken_over(&mut self, user: &str, at: SystemTime) {
        let language = self.spec.message_language();
        self.abandon_step(
            &Message::StepAbandoned.text(language),
            ActionResult::Cancelled,
        );
        self.close_pending_approvals(ApprovalState::Invalidated);
        self.interruptions += 1;
        user.clone_into(&mut self.operator);
        self.manual_actions.clear();
        let message = if user.is_empty() {
            Message::TakenOver
        } else {
            Message::TakenOverBy { user }
        };
        self.enter(
            Lifecycle::AwaitingUser(UserRequest::new(
                UserRequestKind::TakeOver,
                message.text(language),
            )),
            at,
        );
    }

    pub(super) fn record_manual_action(&mut self, description: &str) {
        if !self.is_taken_over() {
            // The event arrived after the desktop was handed back.
            let message = Message::PersonAlso {
                action: description,
            };
            let text = message.text(self.spec.message_language());
            self.pending_messages.push(text);
        } else if self.manual_actions.len() < MAX_MANUAL_ACTIONS {
            self.manual_actions.push(description.to_owned());
        }
    }

    /// Returns true if a person has taken over the desktop.
    #[must_use]
    pub fn is_taken_over(&self) -> bool {
        matches!(
            &self.lifecycle,
            Lifecycle::AwaitingUser(request) if request.kind == UserRequestKind::TakeOver
        )
    }

    /// Handles the resolution or expiry of an approval.
    pub(super) fn approval_resolved(&mut self, resolved: &Approval, at: SystemTime) {
        let known = self.approvals.iter_mut();
        let Some(approval) = known.rev().find(|known| known.id == resolved.id) else {
            return;
        };
        *approval = resolved.clone();
        // A denied function call gets a result instead, and the other calls of the step are still made.
        let is_action = matches!(resolved.subject, ApprovalSubject::Action(_));
        if resolved.state != ApprovalState::Approved && is_action {
            let message = resolved.planner_message(self.spec.message_language());
            self.abandon_step(&message, ActionResult::Refused);
        }
        if matches!(&self.lifecycle, Lifecycle::AwaitingUser(request) if request.approval.as_ref() == Some(&resolved.id))
        {
            self.first_step_after_user_input = self.next_step();
            self.enter(Lifecycle::Running, at);
        }
    }

    /// Moves all pending approvals to this state.
    pub(super) fn close_pending_approvals(&mut self, state: ApprovalState) {
        let waiting = self.approvals.iter_mut();
        for approval in waiting.filter(|approval| approval.state == ApprovalState::Pending) {
            approval.state = state;
        }
    }

    /// Returns the approval that the task waits for.
    #[must_use]
    pub fn pending_approval(&self) -> Option<&Approval> {
        let Lifecycle::AwaitingUser(request) = &self.lifecycle else {
            return None;
        };
        let wanted = request.approval.as_ref()?;
        let mut approvals = self.approvals.iter().rev();
        approvals
            .find(|approval| approval.id == *wanted && approval.state == ApprovalState::Pending)
    }

    /// Returns the provider's safety checks of this step's decision that a person has approved, each once.
    #[must_use]
    pub fn acknowledged_checks(&self, step: u32) -> Vec<&SafetyCheck> {
        let beginning = format!("{step}-");
        let given = self.approvals.iter().filter(|approval| {
            approval.state == ApprovalState::Approved && approval.id.starts_with(&beginning)
        });
        let mut checks: Vec<&SafetyCheck> = Vec::new();
        for check in given.flat_map(|approval| &approval.safety_checks) {
            if !checks.contains(&check) {
                checks.push(check);
            }
        }
        checks
    }

    /// Handles a new approval request. An earlier one that was left pending by a pause is invalidated.
    pub(super) fn approval_requested(&mut self, approval: &Approval) {
        self.close_pending_approvals(ApprovalState::Invalidated);
        self.approvals.push(approval.clone());
    }

    /// Records a text that was written to the task.
    pub(super) fn stated(&mut self, text: &str, written_by_model: bool) {
        self.user_statements.push(Statement {
            text: text.to_owned(),
            written_by_model,
        });
    }

    /// Returns true if a model wrote the goal or a message in the place of a person.
    #[must_use]
    pub fn is_written_by_model(&self) -> bool {
        let mut stated = self.user_statements.iter();
        self.spec.written_by_model || stated.any(|statement| statement.written_by_model)
    }

    /// Returns every text that people wrote, also in earlier tasks of the session. Excludes descriptions of manual actions, which
    /// quote labels from the screen, and what a model wrote in the place of a person, which may have it from a page.
    pub fn user_texts(&self) -> impl Iterator<Item = &str> {
        let answered = self.approvals.iter().filter(|approval| {
            let is_answered = matches!(
                approval.state,
                ApprovalState::Approved | ApprovalState::Denied
            );
            is_answered && !approval.written_by_model
        });
        let answers = answered.map(|approval| &approval.message);
        let imported = self.spec.earlier_messages.iter();
        let imported = imported.filter(|message| message.role == MessageRole::User);
        let imported = imported.map(|message| &message.text);
        let created = [&self.spec.goal, &self.spec.instructions].into_iter();
        let created = created.chain(imported);
        let created = created.filter(|_| !self.spec.written_by_model);
        let earlier = self.context.earlier_tasks.iter();
        let earlier = earlier.filter(|task| !task.written_by_model);
        let earlier =
            earlier.flat_map(|task| std::iter::once(&task.goal).chain(&task.user_messages));
        let stated = self.user_statements.iter();
        let stated = stated.filter(|statement| !statement.written_by_model);
        let stated = stated.map(|statement| &statement.text);
        created
            .chain(stated)
            .chain(answers)
            .chain(earlier)
            .map(String::as_str)
    }

    /// Returns the latest approval for an action of the open step.
    #[must_use]
    pub fn approval_of_action(&self, index: usize) -> Option<&Approval> {
        let step = self.open_step().map_or(0, |step| step.number);
        let mut approvals = self.approvals.iter().rev();
        approvals.find(|approval| approval.is_for(step, index))
    }

    /// Returns true if this action of the open step was approved. An approval stays bound to what the approver saw, even if
    /// the policy would allow the current screen without one.
    #[must_use]
    pub fn is_approved(&self, index: usize) -> bool {
        let asked = self.approval_of_action(index);
        asked.is_some_and(|asked| asked.state == ApprovalState::Approved)
    }
}

/// Returns the planner's message about a desktop that was handed back.
pub(super) fn handed_back(done: &[String], message: &str, language: Language) -> String {
    let handed_back = if done.is_empty() {
        Message::HandedBack.text(language)
    } else {
        let actions = &join_list(done, language);
        Message::HandedBackAfter { actions }.text(language)
    };
    match message.trim() {
        "" => handed_back,
        message => {
            let user_message = Message::HandedBackMessage { message }.text(language);
            join_sentences(&[handed_back, user_message], language)
        }
    }
}

/// Returns a message for the planner. A message of files alone names them.
pub(super) fn message_text(text: &str, attachments: &[Attachment], language: Language) -> String {
    if !text.trim().is_empty() || attachments.is_empty() {
        return text.to_owned();
    }
    let names: Vec<&str> = attachments.iter().map(|file| file.name.as_str()).collect();
    let names = &join_list(&names, language);
    Message::FilesSent { names }.text(language)
}

pub(super) fn acknowledgement(message: &str, language: Language) -> String {
    if message.is_empty() {
        Message::Acknowledged.text(language)
    } else {
        message.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use motorium_proto::domain::decision::Next;

    use super::*;
    use crate::event::Event;
    use crate::machine::{Directive, directive};
    use crate::samples::{at, decided, finished, observed, planned, started, with_limits};
    use crate::spec::Limits;

    fn task(events: Vec<Event>) -> Task {
        with_limits(Limits::default(), events)
    }

    fn next(events: Vec<Event>) -> Directive {
        directive(&task(events), at(1))
    }

    /// A step with two decided actions, followed by these events.
    fn about_to_act(events: Vec<Event>) -> Vec<Event> {
        let act = decided(Next::Act(vec![planned(), planned()]));
        [vec![started(), observed(), act], events].concat()
    }

    fn approval(id: &str, state: ApprovalState) -> Box<Approval> {
        Box::new(Approval {
            id: id.to_owned(),
            state,
            subject: ApprovalSubject::Action(planned()),
            rules: vec!["provider".to_owned()],
            reason: "it warns".to_owned(),
            safety_checks: vec![SafetyCheck {
                id: "1".to_owned(),
                code: "malicious_instructions".to_owned(),
                message: "be careful".to_owned(),
            }],
            evidence: None,
            fingerprint: [7; 32],
            context: None,
            created_at: at(0),
            expires_at: at(600),
            resolved_by: String::new(),
            message: String::new(),
            stated_user: String::new(),
            written_by_model: false,
            second_person: false,
        })
    }

    fn asked(id: &str) -> Vec<Event> {
        let request = UserRequest {
            kind: UserRequestKind::Approval,
            message: "read it".to_owned(),
            approval: Some(id.to_owned()),
        };
        let requested = approval(id, ApprovalState::Pending);
        vec![
            Event::ApprovalRequested(requested),
            Event::UserAsked(request),
        ]
    }

    fn resolved(id: &str, state: ApprovalState) -> Event {
        Event::ApprovalResolved(approval(id, state))
    }

    #[test]
    fn safety_check_awaits_approval_and_is_acknowledged_once() {
        let waits = about_to_act(asked("1-0-1"));
        assert_eq!(next(waits.clone()), Directive::AwaitUser);
        assert_eq!(
            task(waits.clone()).acknowledged_checks(1),
            [] as [&SafetyCheck; 0]
        );
        let given = [waits, vec![resolved("1-0-1", ApprovalState::Approved)]].concat();
        assert_eq!(next(given.clone()), Directive::Act { index: 0 });
        assert_eq!(task(given.clone()).acknowledged_checks(1).len(), 1);
        let both = [
            given,
            asked("1-1-1"),
            vec![resolved("1-1-1", ApprovalState::Approved)],
        ];
        assert_eq!(task(both.concat()).acknowledged_checks(1).len(), 1);
    }

    #[test]
    fn message_reaches_the_next_step_without_stopping_the_task() {
        let message = Event::MessageReceived {
            text: "be quick".to_owned(),
            attachments: vec![],
            written_by_model: false,
        };
        let events = about_to_act(vec![message]);
        assert_eq!(next(events.clone()), Directive::Act { index: 0 });
        let task = task([events, vec![finished(), observed()]].concat());
        assert_eq!(task.current_messages, ["be quick"]);
        assert!(task.user_texts().any(|words| words == "be quick"));
    }

    #[test]
    fn texts_of_a_model_are_told_to_the_planner_and_are_no_words_of_the_user() {
        let say = |text: &str, written_by_model| Event::MessageReceived {
            text: text.to_owned(),
            attachments: vec![],
            written_by_model,
        };
        let messages = vec![say("of a person", false), say("of a model", true)];
        let mut denied = approval("1-0-1", ApprovalState::Denied);
        denied.message = "reason of a model".to_owned();
        denied.written_by_model = true;
        let denied = Event::ApprovalResolved(denied);
        let events = [about_to_act(messages), asked("1-0-1"), vec![denied]].concat();
        let mut task = task(events);
        assert!(task.pending_messages.join(" ").contains("of a model"));
        task.spec.instructions = "instructions of a model".to_owned();
        task.spec.written_by_model = true;
        let of_user: Vec<&str> = task.user_texts().collect();
        assert_eq!(of_user, ["of a person"]);
    }

    #[test]
    fn take_over_discards_the_decision_and_records_user_actions() {
        let taken = Event::TakenOver {
            user: "ann".to_owned(),
        };
        let acted = Event::HumanActed {
            description: "clicked \"Save\" at (1, 2)".to_owned(),
            at: None,
        };
        let events = about_to_act(vec![taken, acted]);
        assert_eq!(next(events.clone()), Directive::AwaitUser);
        let back = Event::HandedBack {
            message: "it is saved".to_owned(),
        };
        let events = [events, vec![back]].concat();
        assert_eq!(next(events.clone()), Directive::FinishStep);
        let task = task(events);
        let messages = task.pending_messages.join("\n");
        assert!(
            messages.contains("clicked \"Save\"") && messages.contains("it is saved"),
            "{messages}"
        );
        // The label of the clicked button is not the user's text.
        assert!(!task.user_texts().any(|words| words.contains("clicked")));
    }

    #[test]
    fn human_input_pauses_without_losing_the_decision() {
        let paused = Event::Paused {
            reason: "somebody uses the mouse or the keyboard".to_owned(),
        };
        let events = about_to_act(vec![paused]);
        assert_eq!(next(events.clone()), Directive::AwaitUser);
        let resumed = [events, vec![Event::Resumed]].concat();
        assert_eq!(next(resumed.clone()), Directive::Act { index: 0 });
        assert_eq!(task(resumed).interruptions, 1);
    }

    #[test]
    fn approval_requested_during_a_pause_is_superseded() {
        let paused = Event::Paused {
            reason: String::new(),
        };
        let events = [vec![paused], asked("1-0-1"), vec![Event::Resumed]].concat();
        let events = about_to_act(events);
        // The task does not wait for it, so it is requested again.
        assert_eq!(next(events.clone()), Directive::Act { index: 0 });
        let task = task([events, asked("1-0-2")].concat());
        let states: Vec<_> = task.approvals.iter().map(|one| one.state).collect();
        assert_eq!(states, [ApprovalState::Invalidated, ApprovalState::Pending]);
        assert_eq!(
            task.pending_approval().map(|one| one.id.as_str()),
            Some("1-0-2")
        );
    }

    #[test]
    fn hook_denial_ends_the_step_with_a_notice() {
        let intervened = Event::HookIntervened {
            hook: "guard".to_owned(),
            point: "BEFORE_ACTION".to_owned(),
            message: "a person finishes".to_owned(),
            denied: true,
        };
        let missed = Event::TargetNotResolved {
            message: "refused: a person finishes".to_owned(),
        };
        let events = about_to_act(vec![intervened, missed]);
        assert_eq!(next(events.clone()), Directive::FinishStep);
        assert!(task(events).notices[0].contains("a person finishes"));
    }
}
