//! Hooks around actions and functions.

use motorium_proto::domain::decision::{FunctionCall, FunctionResult};
use motorium_proto::domain::id::ActionId;

use super::{Flow, Runner};
use crate::hooks::happening::{Act, Done};
use crate::hooks::{Context, Happening, Intervention, Point};
use crate::run::act::Resolved;
use crate::run::permission::{Intended, Permission};
use crate::task::ActionRecord;
use crate::task::event::Event;

impl Runner {
    /// Asks whether an action may be performed that the rules allow. Where a person had to approve it, that is held
    /// against the screen once more, because the hooks may have taken their time.
    pub(in crate::run) async fn before_action(
        &mut self,
        action_id: &ActionId,
        intended: Intended<'_>,
    ) -> Flow<Permission> {
        if !self.wants(Point::BeforeAction) {
            return Ok(Permission::Given);
        }
        let Intended {
            index,
            planned,
            resolved: Resolved { action, .. },
            ..
        } = intended;
        let mut happening = Happening::BeforeAction(Act {
            action_id,
            planned,
            action,
        });
        let id = action_id.to_string();
        if let Some(denial) = self.ask_hooks(&mut happening, Some(&id)).await? {
            let message = format!("{} is refused: {}", planned.intent, denial.words());
            self.record(vec![Event::TargetMissed { message }]).await?;
            return Ok(Permission::Withheld);
        }
        let step = self.task.open_step().map_or(0, |step| step.number);
        match self.task.approval_for(step, index) {
            Some(_) => self.permission(intended).await,
            None => Ok(Permission::Given),
        }
    }

    /// Tells how an action was left, and what it did if that is judged already.
    pub(in crate::run) async fn after_action(&mut self, action_id: &ActionId) {
        if !self.wants(Point::AfterAction) {
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
        let done = Happening::AfterAction(Done {
            act: Act {
                action_id,
                planned,
                action,
            },
            outcome,
            effect: effect.as_ref(),
        });
        self.tell_hooks(done, Some(&action_id.to_string())).await;
    }

    /// Tells the hooks that the rules have refused an action.
    pub(in crate::run) async fn refused_by_rules(&mut self, rules: &[crate::policy::Rule]) {
        let names: Vec<&str> = rules.iter().map(|rule| rule.id.as_str()).collect();
        let refused = [Intervention {
            hook: format!("rules: {}", names.join(", ")),
            point: Point::BeforeAction,
            message: String::new(),
            denied: true,
        }];
        let step = self.step_at(Point::BeforeAction);
        let context = Context {
            call: "",
            step,
            task: &self.task,
        };
        tokio::select! {
            biased;
            () = self.hooks.chain.tell(&context, &refused) => {}
            () = self.anybody_interferes() => {}
        }
    }

    /// Asks whether a function may be called; otherwise gives why not, for the planner.
    pub(in crate::run) async fn before_function(
        &mut self,
        call: &FunctionCall,
    ) -> Flow<Option<String>> {
        if !self.wants(Point::BeforeFunction) {
            return Ok(None);
        }
        let id = self.id_of_function(call);
        let mut happening = Happening::BeforeFunction(call);
        let denial = self.ask_hooks(&mut happening, Some(&id)).await?;
        Ok(denial.map(|denial| format!("{} is not called: {}", call.name, denial.words())))
    }

    /// Tells what a function has returned.
    pub(in crate::run) async fn after_function(
        &mut self,
        call: &FunctionCall,
        result: &FunctionResult,
    ) {
        if self.wants(Point::AfterFunction) {
            let id = self.id_of_function(call);
            self.tell_hooks(Happening::AfterFunction(call, result), Some(&id))
                .await;
        }
    }

    fn id_of_function(&self, call: &FunctionCall) -> String {
        let task = self.task.spec.name.segment();
        let step = self.task.steps.last().map_or(0, |step| step.number);
        format!("{task}/{step}/{}", call.call_id)
    }
}
