//! Decides whether an action may be performed or a function called, by policy and, where required, by approval
//! ([`super::approvals`]).
//!
//! It does not perform anything.

use std::sync::Arc;

use motorium_messages::{Language, Message, join_clauses, join_list};
use motorium_proto::domain::action::Action;
use motorium_proto::domain::decision::{FunctionCall, SafetyCheck};
use motorium_proto::domain::geometry::CaptureRect;
use motorium_proto::v1::common as wire;
use prost::Message as _;

use super::approval_evidence::ApprovalScope;
use super::approvals::{ApprovalReasons, Approvals, judged_target};
use super::attempt::{ActionAttempt, ResolvedAction, TypedAddresses};
use super::context::RunContext;
use super::policy_context::{
    IntendedFunctionCall, action_context, call_context, is_in_a_browser, page_url,
};
use super::provenance::Provenance;
use super::screen::Screen;
use super::target_changes::target_area;
use super::{RunConfig, RunResult, hooks};
use crate::hooks::HookPoint;
use motorium_policy::{
    ActionContext, Creator, Judgement, PRIVATE_ADDRESS_RULE, Policy, PolicyDecision, PolicyRule,
    PolicySource, Requester, private_hosts_of,
};
use motorium_task::{Approval, ApprovalState, ApprovalSubject, Task, risk};

/// Maximum number of characters of a function's arguments shown to the approver.
// An approver reads about a page.
const MAX_SHOWN_ARGUMENT_CHARS: usize = 2_000;

/// Decision about an action.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ActionPermission {
    Granted(Grant),
    /// An approval is to be requested or used, and the pointer does not rest on the target yet.
    ApprovalDue,
    /// A recorded event tells why, or which approval is pending.
    Refused,
}

/// Conditions of a permission.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Grant {
    /// True if the policy demands that the pointer is verified before this click.
    pub(super) verify_pointer: bool,
    /// True if the action may do what cannot be undone, so that its target is looked at right before it.
    pub(super) is_risky: bool,
    /// Box of the keyboard focus, if the action goes there and it is known.
    pub(super) focus: Option<CaptureRect>,
    pub(super) addresses: TypedAddresses,
}

/// Decision about a function call.
pub(super) enum CallPermission {
    Granted,
    /// Approval was requested.
    PendingApproval,
    /// The call is not made, for this reason.
    Refused(String),
}

/// State of the pointer that rests on a target while an approval is requested and used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PointerRest {
    Due,
    /// It rests there, or the action has no such place.
    Done,
}

/// Decides about actions and function calls.
#[derive(Debug)]
pub(super) struct Gate {
    policy: PolicySource,
    approvals: Approvals,
    /// True if no creator of a task may approve its actions.
    second_person: bool,
    /// False in a replay of a recording from before: the task's labels name its creator.
    authenticated_creator: bool,
    pub(super) provenance: Provenance,
}

impl Gate {
    pub(super) fn rules(&self) -> Arc<Policy> {
        self.policy.rules()
    }

    pub(super) fn new(config: &RunConfig) -> Self {
        Self {
            policy: config.policy.clone(),
            approvals: Approvals {
                timeout: config.approval_timeout,
            },
            second_person: config.second_person,
            authenticated_creator: config.features.authenticated_creator,
            provenance: Provenance::default(),
        }
    }

    /// Returns what the policy says about an action or a call of this task.
    fn judge(&self, task: &Task, rules: &Policy, context: &ActionContext) -> Judgement {
        let owner = &task.spec.owner;
        let creator = match self.authenticated_creator {
            true => Creator::Principal {
                name: &owner.creator,
                tenant: &owner.tenant,
                roles: &owner.roles,
            },
            false => Creator::Labels(&task.spec.labels),
        };
        let requester = Requester {
            task: &task.spec.name.to_string(),
            creator,
        };
        let judgement = rules.judge(requester, context);
        Judgement {
            second_person: self.second_person || judgement.second_person,
            ..judgement
        }
    }

    /// Applies the policy and requests approval where required, once the pointer is where it rests for one: what an approver is
    /// shown is the target as the action meets it.
    pub(super) async fn permission(
        &self,
        run: &mut RunContext,
        screen: &mut Screen,
        attempt: &ActionAttempt,
        resolved: &ResolvedAction,
        pointer: PointerRest,
    ) -> RunResult<ActionPermission> {
        let rules = self.policy.rules();
        let foreign = self.provenance.foreign_in_action(run, &resolved.action);
        let tainted = !foreign.is_empty();
        let url = page_url(run, screen, &rules).await;
        let url = url.as_deref();
        let context = action_context(run, screen, &rules, attempt, resolved, url, tainted);
        let Some(context) = context else {
            let message = run.task().text(Message::ScreenNotObservedForPolicy);
            run.refuse(message).await?;
            return Ok(ActionPermission::Refused);
        };
        let judgement = self.judge(run.task(), &rules, &context);
        let is_approved = run.task().is_approved(attempt.index);
        let granted = Grant {
            verify_pointer: matches!(resolved.action, Action::Click { .. })
                && judgement.verify_pointer,
            is_risky: run.config.features.last_look
                && (is_approved || risk::of_meanings(&context.meanings).is_some()),
            focus: context.keyboard_target,
            addresses: TypedAddresses {
                opened: context.typed_addresses.iter().cloned().collect(),
                approved_hosts: Vec::new(),
            },
        };
        let safety_checks = safety_checks(run.task());
        let required = match judgement.decision {
            PolicyDecision::Deny(rules) => {
                hooks::after_policy_denial(run, &rules).await;
                let message = refusal(run.task(), &attempt.planned.intent, &rules);
                run.refuse(message).await?;
                return Ok(ActionPermission::Refused);
            }
            PolicyDecision::Allow if safety_checks.is_empty() && !is_approved => {
                return Ok(ActionPermission::Granted(granted));
            }
            PolicyDecision::Allow => Vec::new(),
            PolicyDecision::RequireApproval(rules) => rules,
        };
        if pointer == PointerRest::Due {
            return Ok(ActionPermission::ApprovalDue);
        }
        // The question says that the address is private and that the user did not name it, so an approval names it.
        let names_hosts = required.iter().any(|rule| rule.id == PRIVATE_ADDRESS_RULE);
        let reasons = ApprovalReasons {
            rules: required,
            safety_checks,
            foreign,
            second_person: judgement.second_person,
        };
        let scope = scope_of_action(run, screen, attempt, resolved, context);
        let approved = self.approvals.obtain(run, screen, &scope, &rules, reasons);
        Ok(match approved.await? {
            true if names_hosts => ActionPermission::Granted(granted.naming_its_hosts()),
            true => ActionPermission::Granted(granted),
            false => ActionPermission::Refused,
        })
    }

    /// Asks the hooks about an action that the policy allows (`permission`). An approval is compared with the screen once more,
    /// because the hooks may have taken time.
    pub(super) async fn hooks_permit(
        &self,
        run: &mut RunContext,
        screen: &mut Screen,
        attempt: &ActionAttempt,
        resolved: &ResolvedAction,
        permission: ActionPermission,
    ) -> RunResult<ActionPermission> {
        let ActionAttempt {
            id, index, planned, ..
        } = attempt;
        if !run.wants(HookPoint::BeforeAction) {
            return Ok(permission);
        }
        let denial = hooks::before_action(run, id, planned, &resolved.action).await?;
        if let Some(denial) = denial {
            let message = run.task().text(Message::HookDeniesAction {
                intent: &planned.intent,
                denial: &denial.message(run.task().spec.message_language()),
            });
            run.refuse(message).await?;
            return Ok(ActionPermission::Refused);
        }
        match run.task().approval_of_action(*index) {
            Some(_) => {
                let pointer = PointerRest::Done;
                self.permission(run, screen, attempt, resolved, pointer)
                    .await
            }
            None => Ok(permission),
        }
    }

    /// Applies the policy to a function call and requests approval where required.
    pub(super) async fn permission_to_call(
        &self,
        run: &mut RunContext,
        screen: &mut Screen,
        intended: IntendedFunctionCall<'_>,
    ) -> RunResult<CallPermission> {
        let asked = run.task().approval_of_action(intended.index);
        if let Some(ended) = asked.filter(|asked| !may_go_on(asked)) {
            let message = ended.planner_message(run.task().spec.message_language());
            return Ok(CallPermission::Refused(message));
        }
        let was_asked = asked.is_some();
        let rules = self.policy.rules();
        let arguments = &intended.call.arguments_json;
        let foreign = self.provenance.foreign_in_call(run.task(), arguments);
        let context = call_context(run, &rules, intended, !foreign.is_empty());
        let safety_checks = safety_checks(run.task());
        let judgement = self.judge(run.task(), &rules, &context);
        let required = match judgement.decision {
            PolicyDecision::Deny(rules) => {
                hooks::after_policy_denial(run, &rules).await;
                let name = &intended.call.name;
                let call = run.task().text(Message::CallingFunction { name });
                let message = refusal(run.task(), &call, &rules);
                return Ok(CallPermission::Refused(message));
            }
            PolicyDecision::Allow if safety_checks.is_empty() && !was_asked => {
                return Ok(CallPermission::Granted);
            }
            PolicyDecision::Allow => Vec::new(),
            PolicyDecision::RequireApproval(rules) => rules,
        };
        let reasons = ApprovalReasons {
            rules: required,
            safety_checks,
            foreign,
            second_person: judgement.second_person,
        };
        let scope = intended.scope(run.task().spec.message_language());
        let approved = self.approvals.obtain(run, screen, &scope, &rules, reasons);
        Ok(match approved.await? {
            true => CallPermission::Granted,
            false => CallPermission::PendingApproval,
        })
    }

    /// Returns whether the target still has the text that was judged. A target without text cannot be verified this
    /// way.
    pub(super) async fn has_same_text(
        &self,
        run: &mut RunContext,
        screen: &mut Screen,
        attempt: &ActionAttempt,
        resolved: &ResolvedAction,
    ) -> RunResult<bool> {
        let rules = self.policy.rules();
        let judged = action_context(run, screen, &rules, attempt, resolved, None, false);
        screen.mark_stale_if(true);
        screen.refresh_if_stale(run).await?;
        let now = action_context(run, screen, &rules, attempt, resolved, None, false);
        Ok(judged.is_some_and(|judged| !judged.text.is_empty() && Some(judged) == now))
    }

    /// Returns whether judging the action calls another service, so that the screen may change meanwhile.
    pub(super) fn may_judge_slowly(&self, run: &RunContext, screen: &Screen, index: usize) -> bool {
        run.task().is_approved(index) || is_in_a_browser(screen, &self.policy.rules())
    }
}

impl Grant {
    /// Returns the grant of a person who was told that the action opens a private address.
    fn naming_its_hosts(mut self) -> Self {
        let addresses = &mut self.addresses;
        let hosts = addresses
            .opened
            .iter()
            .flat_map(|address| private_hosts_of(address));
        addresses.approved_hosts = hosts.collect();
        self
    }
}

/// Returns what an approval of the action covers.
fn scope_of_action(
    run: &RunContext,
    screen: &Screen,
    attempt: &ActionAttempt,
    resolved: &ResolvedAction,
    context: ActionContext,
) -> ApprovalScope {
    let place = judged_target(run, screen, resolved, &context);
    let place = place.filter(|_| run.config.features.last_look);
    let content = match place {
        // Where it is performed is compared with the target, whose box may be a pixel off.
        Some(_) => wire::PlannedAction::from(attempt.planned.clone()).encode_to_vec(),
        None => wire::Action::from(resolved.action.clone()).encode_to_vec(),
    };
    ApprovalScope {
        index: attempt.index,
        subject: ApprovalSubject::Action(attempt.planned.clone()),
        target_area: target_area(resolved, run.task().pointed_at()),
        keyboard_focus: context.keyboard_target,
        nearby_text: context.context_texts,
        place,
        content,
        is_repeated: attempt.is_repeated(),
    }
}

/// Returns true if a call may still be made with its approval. A pending one is requested again: the task was paused before
/// it was answered.
fn may_go_on(asked: &Approval) -> bool {
    matches!(
        asked.state,
        ApprovalState::Approved | ApprovalState::Pending
    )
}

/// Returns the provider's safety checks on the open step's decision. They apply to each of its actions, because
/// approving one does not show where the next one goes.
fn safety_checks(task: &Task) -> Vec<SafetyCheck> {
    let step = task.open_step();
    let decision = step.and_then(|step| step.decision.as_ref());
    decision.map_or_else(Vec::new, |decision| decision.safety_checks.clone())
}

fn refusal(task: &Task, what: &str, rules: &[PolicyRule]) -> String {
    let language = task.spec.message_language();
    let names: Vec<&str> = rules.iter().map(|rule| rule.id.as_str()).collect();
    let why: Vec<&str> = rules.iter().map(|rule| rule.reason(language)).collect();
    let message = Message::PolicyDenial {
        action: what,
        rules: &join_list(&names, language),
        reasons: &join_clauses(&why, language),
    };
    message.text(language)
}

impl IntendedFunctionCall<'_> {
    /// Returns the call as shown to the approver, with truncated arguments.
    fn words(&self, language: Language) -> String {
        let FunctionCall {
            name,
            arguments_json,
            ..
        } = self.call;
        let mut shown: String = arguments_json
            .chars()
            .take(MAX_SHOWN_ARGUMENT_CHARS)
            .collect();
        if shown.len() < arguments_json.len() {
            shown += " …";
        }
        let message = Message::CallWithArguments {
            name,
            tool: self.tool,
            arguments: &shown,
        };
        message.text(language)
    }

    /// Returns what an approval of the call covers.
    fn scope(&self, language: Language) -> ApprovalScope {
        ApprovalScope {
            index: self.index,
            subject: ApprovalSubject::Call {
                intent: self.words(language),
            },
            target_area: None,
            keyboard_focus: None,
            nearby_text: Vec::new(),
            place: None,
            content: wire::FunctionCall::from(self.call.clone()).encode_to_vec(),
            is_repeated: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_approver_is_shown_a_long_argument_up_to_a_limit() {
        let shown = |arguments: String| {
            let call = FunctionCall {
                call_id: "1".to_owned(),
                name: "send".to_owned(),
                arguments_json: arguments,
            };
            let intended = IntendedFunctionCall {
                index: 0,
                call: &call,
                function_in_tool: "send",
                destructive: false,
                tool: "mail",
            };
            intended.words(Language::English)
        };
        let short = "x".repeat(MAX_SHOWN_ARGUMENT_CHARS);
        assert!(shown(short.clone()).contains(&short));
        let long = shown(format!("{short}SECRET"));
        assert!(long.contains(" …") && !long.contains("SECRET"));
    }
}
