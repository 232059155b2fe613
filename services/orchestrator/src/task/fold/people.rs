//! What people have said and done.

use std::time::SystemTime;

use motorium_proto::domain::decision::SafetyCheck;

use super::{Lifecycle, Task};
use crate::task::approval::{Approval, ApprovalState, Subject};
use crate::task::event::{UserRequest, UserRequestKind};

/// So many deeds of a person are told to the planner; the screen tells the rest.
const MOST_BY_HAND: usize = 30;

impl Task {
    /// Whatever was decided was decided on another screen than the one that is handed back.
    pub(super) fn taken_over(&mut self, user: &str, at: SystemTime) {
        self.miss("a person took over");
        self.lapse(ApprovalState::Invalidated);
        self.interruptions += 1;
        self.by_hand.clear();
        let who = if user.is_empty() { "somebody" } else { user };
        self.enter(
            Lifecycle::AwaitingUser(UserRequest::new(
                UserRequestKind::TakeOver,
                format!("{who} has taken over; hand the desktop back to go on"),
            )),
            at,
        );
    }

    pub(super) fn acted_by_hand(&mut self, description: &str) {
        if !self.is_taken_over() {
            // It was still on its way when the desktop was handed back.
            self.messages
                .push(format!("The person also {description}."));
        } else if self.by_hand.len() < MOST_BY_HAND {
            self.by_hand.push(description.to_owned());
        }
    }

    /// Whether a person has the desktop.
    #[must_use]
    pub fn is_taken_over(&self) -> bool {
        matches!(
            &self.lifecycle,
            Lifecycle::AwaitingUser(request) if request.kind == UserRequestKind::TakeOver
        )
    }

    /// What a person has said of an action, or that nobody has.
    pub(super) fn approval_resolved(&mut self, resolved: &Approval, at: SystemTime) {
        let known = self.approvals.iter_mut();
        let Some(approval) = known.rev().find(|known| known.id == resolved.id) else {
            return;
        };
        *approval = resolved.clone();
        // Of a function that is not called its result says so, and the other calls of the step are made.
        let is_action = matches!(resolved.subject, Subject::Action(_));
        if resolved.state != ApprovalState::Approved && is_action {
            self.miss(&resolved.words_for_planner());
        }
        if matches!(&self.lifecycle, Lifecycle::AwaitingUser(request) if request.approval.as_ref() == Some(&resolved.id))
        {
            self.heard_from_step = self.next_step();
            self.enter(Lifecycle::Running, at);
        }
    }

    /// The approvals that wait, and those that were given and not used: they hold no longer.
    pub(super) fn lapse(&mut self, state: ApprovalState) {
        let waiting = self.approvals.iter_mut();
        for approval in waiting.filter(|approval| approval.state == ApprovalState::Pending) {
            approval.state = state;
        }
    }

    /// The approval that the task waits for.
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

    /// Checks of the model's provider that a person has read and agreed to, of the decision of this step.
    pub fn acknowledged_checks(&self, step: u32) -> impl Iterator<Item = &SafetyCheck> {
        let beginning = format!("{step}-");
        let given = self.approvals.iter().filter(move |approval| {
            approval.state == ApprovalState::Approved && approval.id.starts_with(&beginning)
        });
        given.flat_map(|approval| &approval.safety_checks)
    }

    /// Everything that the user has said, and nothing that was read elsewhere: a deed of a person names what they clicked.
    pub fn users_words(&self) -> impl Iterator<Item = &str> {
        let answered = self.approvals.iter().filter(|approval| {
            matches!(
                approval.state,
                ApprovalState::Approved | ApprovalState::Denied
            )
        });
        let answers = answered.map(|approval| &approval.message);
        [&self.spec.goal, &self.spec.instructions]
            .into_iter()
            .chain(&self.said)
            .chain(answers)
            .map(String::as_str)
    }

    /// The approval that was asked for last for an action of a step.
    #[must_use]
    pub fn approval_for(&self, step: u32, index: usize) -> Option<&Approval> {
        let mut approvals = self.approvals.iter().rev();
        approvals.find(|approval| approval.is_for(step, index))
    }
}

/// What the planner is told of a desktop that is handed back.
pub(super) fn handed_back(done: &[String], message: &str) -> String {
    let mut words = "A person had taken over and has handed the desktop back".to_owned();
    if !done.is_empty() {
        words += &format!(", having {}", done.join(", "));
    }
    words.push('.');
    if !message.trim().is_empty() {
        words += &format!(" They say: {}", message.trim());
    }
    words
}

pub(super) fn acknowledgement(message: &str) -> String {
    if message.is_empty() {
        "I have done it".to_owned()
    } else {
        message.to_owned()
    }
}
