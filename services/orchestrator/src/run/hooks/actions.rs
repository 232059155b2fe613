//! Hooks around actions and function calls.

use motorium_messages::Message;
use motorium_proto::domain::action::Action;
use motorium_proto::domain::decision::{FunctionCall, FunctionResult, PlannedAction};
use motorium_proto::domain::geometry::CapturePoint;
use motorium_proto::domain::id::ActionId;

use super::RunResult;
use crate::hooks::event::{HookAction, HookActionResult};
use crate::hooks::{HookDenial, HookEvent, HookIntervention, HookPoint};
use crate::run::context::RunContext;
use motorium_task::ActionRecord;

/// Asks whether an action that the policy allows may be performed.
pub(in crate::run) async fn before_action(
    run: &mut RunContext,
    action_id: &ActionId,
    planned: &PlannedAction,
    action: &Action<CapturePoint>,
) -> RunResult<Option<HookDenial>> {
    let mut event = HookEvent::BeforeAction(HookAction {
        action_id,
        planned,
        action,
    });
    let id = action_id.to_string();
    run.ask_hooks(&mut event, Some(&id)).await
}

/// Notifies the hooks of an action's outcome, and of its effect if it is judged.
pub(in crate::run) async fn after_action(run: &mut RunContext, action_id: &ActionId) {
    if !run.wants(HookPoint::AfterAction) {
        return;
    }
    let records = run.task().steps.iter().flat_map(|step| &step.actions);
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
    run.tell_hooks(done, Some(&action_id.to_string())).await;
}

/// Notifies the hooks that the policy denied an action.
pub(in crate::run) async fn after_policy_denial(
    run: &mut RunContext,
    rules: &[motorium_policy::PolicyRule],
) {
    let names: Vec<&str> = rules.iter().map(|rule| rule.id.as_str()).collect();
    let refused = [HookIntervention {
        hook: format!("rules: {}", names.join(", ")),
        point: HookPoint::BeforeAction,
        message: String::new(),
        denied: true,
    }];
    tokio::select! {
        biased;
        () = run.hooks.notify(run.task(), &refused) => {}
        () = run.interrupts.interrupted() => {}
    }
}

/// Asks whether a function may be called. Otherwise returns the reason for the planner.
pub(in crate::run) async fn before_function(
    run: &mut RunContext,
    call: &FunctionCall,
) -> RunResult<Option<String>> {
    if !run.wants(HookPoint::BeforeFunction) {
        return Ok(None);
    }
    let id = id_of_function(run, call);
    let mut hook_event = HookEvent::BeforeFunction(call);
    let denial = run.ask_hooks(&mut hook_event, Some(&id)).await?;
    Ok(denial.map(|denial| {
        run.task().text(Message::HookDeniesFunction {
            name: &call.name,
            denial: &denial.message(run.task().spec.message_language()),
        })
    }))
}

/// Notifies the hooks of a function's result.
pub(in crate::run) async fn after_function(
    run: &mut RunContext,
    call: &FunctionCall,
    result: &FunctionResult,
) {
    if run.wants(HookPoint::AfterFunction) {
        let id = id_of_function(run, call);
        run.tell_hooks(HookEvent::AfterFunction(call, result), Some(&id))
            .await;
    }
}

fn id_of_function(run: &RunContext, call: &FunctionCall) -> String {
    let task = run.task().spec.name.segment();
    let step = run.task().steps.last().map_or(0, |step| step.number);
    format!("{task}/{step}/{}", call.call_id)
}
