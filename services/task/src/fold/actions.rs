//! Folds decisions, actions, retries and effects into a task.

use motorium_proto::domain::action::{Action, Text};
use motorium_proto::domain::decision::Decision;
use motorium_proto::domain::effect::{ActionOutcome, ActionResult, Effect};
use motorium_proto::domain::geometry::{CapturePoint, CaptureRect};
use motorium_proto::domain::id::ActionId;
use motorium_proto::domain::key::Key;

use super::Task;
use crate::artifact::{Artifact, StoredExchange};
use crate::event::ActionIntended;
use crate::record::{ActionRecord, expects_effect};
use crate::retry_strategy::RetryStrategy;
use crate::risk;

impl Task {
    pub(super) fn decided(
        &mut self,
        decision: &Decision,
        annotated_image: Option<&Artifact>,
        exchange: &StoredExchange,
    ) {
        self.count(decision.usage);
        self.conversation = decision.conversation.clone();
        self.conversation_backend.clone_from(&decision.backend);
        self.notices.clear();
        let messages = std::mem::take(&mut self.current_messages);
        match self.steps.as_mut_slice() {
            [.., previous, _] => previous.user_messages.extend(messages),
            _ => self.initial_messages.extend(messages),
        }
        if let Some(step) = self.open_step_mut() {
            step.decision = Some(decision.clone());
            step.exchange = exchange.clone();
            step.annotated_image = annotated_image.cloned();
        }
    }

    pub(super) fn intended(&mut self, intended: &ActionIntended) {
        let retried = intended.retry_of.as_ref();
        let risky = risk::assess(&intended.planned).is_some();
        let Some(step) = self.open_step_mut() else {
            return;
        };
        if let Some(action) = step.actions.last_mut()
            && retried == Some(&action.action_id)
        {
            action.action_id = intended.action_id.clone();
            action.action = intended.action.clone();
            action.outcome = None;
            action.effect = None;
            action.retries += 1;
            action.retry_due = None;
            return;
        }
        step.actions.push(ActionRecord {
            action_id: intended.action_id.clone(),
            planned: intended.planned.clone(),
            action: intended.action.clone(),
            target: intended.target,
            target_label: intended.target_label.clone(),
            outcome: None,
            effect: None,
            retries: 0,
            retry_strategies: Vec::new(),
            retry_due: None,
        });
        self.risky_actions += u32::from(risky);
    }

    pub(super) fn performed(&mut self, action_id: &ActionId, outcome: &ActionOutcome) {
        if let Some(action) = self.last_action_mut(action_id) {
            action.outcome = Some(outcome.clone());
            let is_acting = action.performed() && expects_effect(&action.action);
            // A claim after another action is about what that one did.
            self.looked_again &= !is_acting;
        }
        // Of other results the Executor may not have begun with the action.
        if matches!(
            outcome.result,
            ActionResult::Performed | ActionResult::Unknown
        ) {
            self.journal_action = Some(action_id.clone());
        }
        if !outcome.sent_nothing && self.entered_secret(action_id) {
            let pointed_at = self.pointed_at();
            self.secret_fields.record_entry(pointed_at);
        }
    }

    pub(super) fn judged(&mut self, action_id: &ActionId, effect: &Effect) {
        // It may be judged once more after its step.
        if let Some(action) = self.acted_last_mut(action_id) {
            action.effect = Some(effect.clone());
            // The effect appeared while the retry was being prepared, so the retry is no longer due.
            action.retry_due = None;
        }
        if self.entered_secret(action_id) {
            let frame = self.steps.last().and_then(|step| step.frame_size);
            self.secret_fields.record_effect(effect, frame);
        }
    }

    pub(super) fn retried(&mut self, action_id: &ActionId, strategy: RetryStrategy) {
        if let Some(action) = self.last_action_mut(action_id) {
            action.retry_strategies.push(strategy);
            action.retry_due = Some(strategy).filter(|strategy| strategy.performs_action());
        }
    }

    fn last_action_mut(&mut self, id: &ActionId) -> Option<&mut ActionRecord> {
        let action = self.steps.last_mut()?.actions.last_mut()?;
        (action.action_id == *id).then_some(action)
    }

    fn acted_last_mut(&mut self, id: &ActionId) -> Option<&mut ActionRecord> {
        let mut steps = self.steps.iter_mut().rev();
        let action = steps.find_map(|step| step.actions.last_mut())?;
        (action.action_id == *id).then_some(action)
    }

    pub fn actions(&self) -> impl DoubleEndedIterator<Item = &ActionRecord> {
        self.steps.iter().flat_map(|step| &step.actions)
    }

    fn entered_secret(&self, action_id: &ActionId) -> bool {
        self.actions().any(|action| {
            action.action_id == *action_id && action.action.entered_secret().is_some()
        })
    }

    /// Returns the bounding box of the field that a text is entered into, as far as that is known: that of the last target, unless the
    /// focus may have moved since.
    #[must_use]
    pub fn entry_field(&self) -> Option<CaptureRect> {
        let mut actions = self.actions().rev();
        let last = actions.find(|action| action.target.is_some() || moves_focus(&action.action))?;
        last.target
    }

    /// Returns the bounding box of the field that a click at this target leaves: the text before the click went there.
    #[must_use]
    pub fn field_left_for(&self, target: CaptureRect) -> Option<CaptureRect> {
        // The click itself may be the last action already, with its retries.
        let is_click = |action: &&ActionRecord| action.target == Some(target);
        let mut before = self.actions().rev().skip_while(is_click);
        let entry = before
            .next()
            .filter(|action| action.action.entered_text().is_some())?;
        let field = entry
            .target
            .or_else(|| before.find_map(|action| action.target))?;
        (!field.intersects(&target)).then_some(field)
    }

    /// Returns the bounding box of the last target.
    #[must_use]
    pub fn pointed_at(&self) -> Option<CaptureRect> {
        self.actions().rev().find_map(|action| action.target)
    }
}

/// Returns whether an action without a target may move the keyboard's focus.
fn moves_focus(action: &Action<CapturePoint>) -> bool {
    match action {
        Action::KeyChord { keys, .. } | Action::HoldKey { keys, .. } => keys.iter().any(|key| {
            let is_editing = matches!(
                key,
                Key::Control
                    | Key::Shift
                    | Key::Backspace
                    | Key::Delete
                    | Key::Home
                    | Key::End
                    | Key::Left
                    | Key::Right
                    | Key::Character(_)
            );
            !is_editing
        }),
        Action::TypeText {
            text: Text::Literal(text),
            ..
        } => text.contains(['\t', '\n']),
        Action::TypeText { .. }
        | Action::Paste { .. }
        | Action::SetClipboard { .. }
        | Action::Scroll { .. }
        | Action::Move { .. }
        | Action::Wait { .. } => false,
        _ => true,
    }
}
