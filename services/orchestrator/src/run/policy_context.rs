//! Contexts of actions and function calls that the policy judges, read from the screen and from the task.
//!
//! It decides nothing: the gate asks the policy.

use motorium_policy::{ActionContext, ActionInputs, CallInputs, Policy, named_private_hosts};
use motorium_proto::domain::decision::FunctionCall;
use motorium_task::Task;

use super::attempt::{ActionAttempt, ResolvedAction};
use super::context::RunContext;
use super::page::read_url;
use super::provenance::clipboard;
use super::screen::Screen;

/// A function call that is about to be made.
#[derive(Clone, Copy)]
pub(super) struct IntendedFunctionCall<'a> {
    pub(super) index: usize,
    pub(super) call: &'a FunctionCall,
    /// Name of the function as its tool knows it.
    pub(super) function_in_tool: &'a str,
    /// True if the tool declares it destructive.
    pub(super) destructive: bool,
    /// Name of the tool for messages.
    pub(super) tool: &'a str,
}

/// Returns the context of an action on a page with this URL; `None` without an observation.
pub(super) fn action_context(
    run: &RunContext,
    screen: &Screen,
    rules: &Policy,
    attempt: &ActionAttempt,
    resolved: &ResolvedAction,
    url: Option<&str>,
    tainted: bool,
) -> Option<ActionContext> {
    let observation = screen.observation()?;
    let action = &resolved.action;
    let named_hosts = named_private_hosts(run.task().user_texts());
    Some(ActionContext::of(
        rules.lexicon(),
        &ActionInputs {
            named_hosts: &named_hosts,
            planned: &attempt.planned,
            action,
            target: resolved.target,
            pointed_at: run.task().pointed_at(),
            keyboard: &run.task().keyboard(),
            frame: &observation.frame,
            scene: &observation.scene,
            url,
            labels: &run.task().spec.labels,
            pasted: clipboard(run),
            tainted,
            suspected_injection: suspects_injection(run.task()),
        },
    ))
}

/// Returns the context of a function call.
pub(super) fn call_context(
    run: &RunContext,
    rules: &Policy,
    intended: IntendedFunctionCall<'_>,
    tainted: bool,
) -> ActionContext {
    let IntendedFunctionCall {
        call,
        function_in_tool,
        destructive,
        ..
    } = intended;
    ActionContext::of_call(
        rules.lexicon(),
        &CallInputs {
            name: &call.name,
            function_in_tool,
            destructive,
            arguments: &call.arguments_json,
            labels: &run.task().spec.labels,
            tainted,
            suspected_injection: suspects_injection(run.task()),
        },
    )
}

/// Returns the page's URL from the browser driver, if a browser is in front.
///
/// It is read right before the action and not while the planner thinks, although that would cost no time: the page
/// may navigate meanwhile, and an outdated URL would permit an action on the wrong page.
pub(super) async fn page_url(run: &RunContext, screen: &Screen, rules: &Policy) -> Option<String> {
    if !is_in_a_browser(screen, rules) {
        return None;
    }
    read_url(run).await
}

/// Returns whether the window in front is a browser, by the policy's lexicon.
pub(super) fn is_in_a_browser(screen: &Screen, rules: &Policy) -> bool {
    let frame = screen.view().map(|view| &view.observation.frame);
    let window = frame.and_then(|frame| frame.active_window());
    let applications = window.map(|window| rules.lexicon().applications(&window.application));
    applications.is_some_and(|kinds| kinds.contains("browser"))
}

/// Returns whether a prompt injection is suspected on any of the task's screens.
fn suspects_injection(task: &Task) -> bool {
    let step = task.open_step();
    let decision = step.and_then(|step| step.decision.as_ref());
    task.suspected_injection
        || decision.is_some_and(|decision| !decision.suspected_injections.is_empty())
}
