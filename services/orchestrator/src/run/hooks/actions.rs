//! Hooks around actions and function calls.

use motorium_messages::Message;
use motorium_proto::domain::decision::{FunctionCall, FunctionResult};
use motorium_proto::domain::id::ActionId;

use super::{RunResult, Runner};
use crate::hooks::event::{HookAction, HookActionResult};
use crate::hooks::{HookContext, HookEvent, HookIntervention, HookPoint};
use crate::run::act::ResolvedAction;
use crate::run::permission::{ActionPermission, IntendedAction};
use motorium_task::ActionRecord;
use motorium_task::event::Event;

impl Runner {
    /// Asks whether an action that the policy allows may be performed. An approval is compared with the screen once
    /// more, because the hooks may have taken time.
    pub(in crate::run) async fn before_action(
        &mut self,
        action_id: &ActionId,
        intended: IntendedAction<'_>,
    ) -> RunResult<ActionPermission> {
        if !self.wants(HookPoint::BeforeAction) {
            return Ok(ActionPermission::Granted);
        }
        let IntendedAction {
            index,
            planned,
            resolved: ResolvedAction { action, .. },
            ..
        } = intended;
        let mut happening = HookEvent::BeforeAction(HookAction {
            action_id,
            planned,
            action,
        });
        let id = action_id.to_string();
        if let Some(denial) = self.ask_hooks(&mut happening, Some(&id)).await? {
            let message = self.task.text(Message::HookDeniesAction {
                intent: &planned.intent,
                denial: &denial.message(self.task.spec.message_language()),
            });
            self.record(vec![Event::TargetNotResolved { message }])
                .await?;
            return Ok(ActionPermission::Withheld);
        }
        let step = self.task.open_step().map_or(0, |step| step.number);
        match self.task.approval_for(step, index) {
            Some(_) => self.permission(intended).await,
            None => Ok(ActionPermission::Granted),
        }
    }

    /// Notifies the hooks of an action's outcome, and of its effect if it is judged.
    pub(in crate::run) async fn after_action(&mut self, action_id: &ActionId) {
        if !self.wants(HookPoint::AfterAction) {
            return;
        }
        let records = self.task.steps.iter().flat_map(|step| &step.actions);
        let record = records.rev().find(|record| record.action_id == *action_id);
        let Some(record) = record.cloned() else {
            return;
        };
        let ActionRecord {
            planned,
            action,
            outcome: Some(outcome),
            effect,
            ..
        } = &record
        else {
            return;
        };
        let done = HookEvent::AfterAction(HookActionResult {
            act: HookAction {
                action_id,
                planned,
                action,
            },
            outcome,
            effect: effect.as_ref(),
        });
        self.tell_hooks(done, Some(&action_id.to_string())).await;
    }

    /// Notifies the hooks that the policy denied an action.
    pub(in crate::run) async fn after_policy_denial(
        &mut self,
        rules: &[motorium_policy::PolicyRule],
    ) {
        let names: Vec<&str> = rules.iter().map(|rule| rule.id.as_str()).collect();
        let refused = [HookIntervention {
            hook: format!("rules: {}", names.join(", ")),
            point: HookPoint::BeforeAction,
            message: String::new(),
            denied: true,
        }];
        let step = self.step_at(HookPoint::BeforeAction);
        let context = HookContext {
            call: "",
            step,
            task: &self.task,
        };
        tokio::select! {
            biased;
            () = self.hooks.chain.notify(&context, &refused) => {}
            () = self.interrupted() => {}
        }
    }

    /// Asks whether a function may be called. Otherwise returns the reason for the planner.
    pub(in crate::run) async fn before_function(
        &mut self,
        call: &FunctionCall,
    ) -> RunResult<Option<String>> {
        if !self.wants(HookPoint::BeforeFunction) {
            return Ok(None);
        }
        let id = self.id_of_function(call);
        let mut happening = HookEvent::BeforeFunction(call);
        let denial = self.ask_hooks(&mut happening, Some(&id)).await?;
        Ok(denial.map(|denial| {
            self.task.text(Message::HookDeniesFunction {
                name: &call.name,
                denial: &denial.message(self.task.spec.message_language()),
            })
        }))
    }

    /// Notifies the hooks of a function's result.
    pub(in crate::run) async fn after_function(
        &mut self,
        call: &FunctionCall,
        result: &FunctionResult,
    ) {
        if self.wants(HookPoint::AfterFunction) {
            let id = self.id_of_function(call);
            self.tell_hooks(HookEvent::AfterFunction(call, result), Some(&id))
                .await;
        }
    }

    fn id_of_function(&self, call: &FunctionCall) -> String {
        let task = self.task.spec.name.segment();
        let step = self.task.steps.last().map_or(0, |step| step.number);
        format!("{task}/{step}/{}", call.call_id)
    }
}
