//! Decides whether an action may be performed or a function called, by policy and, where required, by approval.
//!
//! An approval covers one action at one place on one screen, for the policy rules that required it
//! ([`super::approval_evidence`]), and what stands around the place ([`motorium_task::approval_context`]). Both are compared
//! once more right before the approval is used. If anything that matters differs, the approval is invalidated, the planner sees
//! the current screen, and the next request tells the person what has changed. It does not perform anything.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use motorium_messages::{Language, Message, join_clauses, join_list};
use motorium_proto::domain::action::Action;
use motorium_proto::domain::decision::{FunctionCall, SafetyCheck};
use motorium_proto::domain::geometry::CaptureRect;
use motorium_proto::v1::common as wire;
use prost::Message as _;
use url::Url;

use super::approval_evidence::{ApprovalEvidence, ApprovalScope, evidence_for, looks_as_approved};
use super::attempt::{ActionAttempt, ResolvedAction};
use super::context::RunContext;
use super::page::read_url;
use super::provenance::{Provenance, clipboard};
use super::screen::Screen;
use super::target_changes::{refresh_if_changed_within, surroundings, target_area};
use super::{RunConfig, RunResult, hooks};
use crate::hooks::HookPoint;
use motorium_policy::named_private_hosts;
use motorium_policy::provenance::TaintedSpan;
use motorium_policy::{
    ActionContext, ActionInputs, CallInputs, Creator, Policy, PolicyDecision, PolicyRule,
    PolicySource, Requester,
};
use motorium_task::approval_context::{Comparison, JudgedPlace, dialog_area, harmless_motion};
use motorium_task::effect::look::element_at;
use motorium_task::event::{Event, UserRequest, UserRequestKind};
use motorium_task::{
    Approval, ApprovalContext, ApprovalState, ApprovalSubject, Task, limits, risk,
};

/// Maximum number of looks for what was approved. Text recognition takes a caret for a letter, and a page may be in transition.
const MAX_APPROVAL_LOOKS: u32 = 3;
/// Time between two of them.
// Carets blink every 300 to 600 ms.
const APPROVAL_LOOK_INTERVAL: Duration = Duration::from_millis(400);
/// Maximum number of characters of a function's arguments shown to the approver.
// An approver reads about a page.
const MAX_SHOWN_ARGUMENT_CHARS: usize = 2_000;
/// Maximum number of parts from untrusted sources listed in a reason.
// A reason stays readable; the rule applies whatever their number.
const MAX_SHOWN_FOREIGN_PARTS: usize = 8;
/// Rule id for safety checks of a model's provider.
const PROVIDER_RULE_ID: &str = "provider";

/// Decision about an action.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ActionPermission {
    Granted(Grant),
    /// A recorded event tells why, or which approval is pending.
    Refused,
}

/// Conditions of a permission.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Grant {
    /// True if the policy demands that the pointer is verified before this click.
    pub(super) verify_pointer: bool,
    /// True if the action may do what cannot be undone, so that its target is looked at right before it.
    pub(super) is_risky: bool,
    /// Box of the keyboard focus, if the action goes there and it is known.
    pub(super) focus: Option<CaptureRect>,
}

/// Decision about a function call.
pub(super) enum CallPermission {
    Granted,
    /// Approval was requested.
    PendingApproval,
    /// The call is not made, for this reason.
    Refused(String),
}

/// A function call that is about to be made.
#[derive(Clone, Copy)]
pub(super) struct IntendedFunctionCall<'a> {
    pub(super) index: usize,
    pub(super) call: &'a FunctionCall,
    /// Name of the function as its tool knows it.
    pub(super) tool_function_name: &'a str,
    /// True if the tool declares it destructive.
    pub(super) destructive: bool,
    /// Name of the tool for messages.
    pub(super) tool: &'a str,
}

/// Reasons for requesting approval.
struct ApprovalReasons {
    rules: Vec<PolicyRule>,
    safety_checks: Vec<SafetyCheck>,
    /// Parts that come from untrusted sources.
    foreign: Vec<TaintedSpan>,
    /// True if the creator of the task may not approve it.
    second_person: bool,
}

/// Decides about actions and function calls.
#[derive(Debug)]
pub(super) struct Gate {
    policy: PolicySource,
    /// Time within which an approval has to be given.
    approval_timeout: Duration,
    /// True if no creator of a task may approve its actions.
    second_person: bool,
    /// False in a replay of a recording from before: the task's labels name its creator.
    authenticated_creator: bool,
    pub(super) provenance: Provenance,
}

impl Gate {
    /// Returns the time in which an approval has to be given: it ends with the task's own time, so that the expiry that
    /// people see is the true one.
    fn time_to_approve(&self, run: &RunContext, now: SystemTime) -> Duration {
        let left = limits::remaining(run.task(), now).time;
        left.map_or(self.approval_timeout, |left| {
            left.min(self.approval_timeout)
        })
    }

    pub(super) fn rules(&self) -> Arc<Policy> {
        self.policy.rules()
    }

    pub(super) fn new(config: &RunConfig) -> Self {
        Self {
            policy: config.policy.clone(),
            approval_timeout: config.approval_timeout,
            second_person: config.second_person,
            authenticated_creator: config.authenticated_creator,
            provenance: Provenance::default(),
        }
    }

    /// Returns the task, which has this name, with its creator as the policy sees it.
    fn requester<'a>(&self, task: &'a Task, name: &'a str) -> Requester<'a> {
        let owner = &task.spec.owner;
        let creator = match self.authenticated_creator {
            true => Creator::Principal {
                name: &owner.creator,
                tenant: &owner.tenant,
                roles: &owner.roles,
            },
            false => Creator::Labels(&task.spec.labels),
        };
        Requester {
            task: name,
            creator,
        }
    }

    /// Applies the policy and requests approval where required.
    pub(super) async fn permission(
        &self,
        run: &mut RunContext,
        screen: &mut Screen,
        attempt: &ActionAttempt,
        resolved: &ResolvedAction,
    ) -> RunResult<ActionPermission> {
        let rules = self.policy.rules();
        let foreign = self.provenance.foreign_in_action(run, &resolved.action);
        let tainted = !foreign.is_empty();
        let Some(situation) = self
            .situation(run, screen, &rules, attempt, resolved, tainted)
            .await
        else {
            let message = run.task().text(Message::ScreenNotObservedForPolicy);
            run.refuse(message).await?;
            return Ok(ActionPermission::Refused);
        };
        let name = run.task().spec.name.to_string();
        let requester = self.requester(run.task(), &name);
        let decision = rules.evaluate(requester, &situation);
        let may_click = matches!(resolved.action, Action::Click { .. })
            && !matches!(decision, PolicyDecision::Deny(_));
        let granted = ActionPermission::Granted(Grant {
            verify_pointer: may_click && rules.demands_pointer_check(requester, &situation),
            is_risky: run.config.last_look
                && (is_approved(run.task(), attempt.index)
                    || risk::of_meanings(&situation.meanings).is_some()),
            focus: situation.keyboard_target,
        });
        let second_person =
            self.second_person || rules.demands_second_person(requester, &situation);
        let safety_checks = safety_checks(run.task());
        let concern = match decision {
            PolicyDecision::Deny(rules) => {
                hooks::after_policy_denial(run, &rules).await;
                let message = refusal(run.task(), &attempt.planned.intent, &rules);
                run.refuse(message).await?;
                return Ok(ActionPermission::Refused);
            }
            PolicyDecision::Allow
                if safety_checks.is_empty() && !is_approved(run.task(), attempt.index) =>
            {
                return Ok(granted);
            }
            PolicyDecision::Allow => ApprovalReasons {
                rules: Vec::new(),
                safety_checks,
                foreign,
                second_person,
            },
            PolicyDecision::RequireApproval(rules) => ApprovalReasons {
                rules,
                safety_checks,
                foreign,
                second_person,
            },
        };
        let place = judged_place(run, screen, resolved, &situation);
        let place = place.filter(|_| run.config.last_look);
        let content = match place {
            // Where it is performed is compared with the target, whose box may be a pixel off.
            Some(_) => wire::PlannedAction::from(attempt.planned.clone()).encode_to_vec(),
            None => wire::Action::from(resolved.action.clone()).encode_to_vec(),
        };
        let scope = ApprovalScope {
            index: attempt.index,
            subject: ApprovalSubject::Action(attempt.planned.clone()),
            target_area: target_area(resolved, run.task().pointed_at()),
            keyboard_focus: situation.keyboard_target,
            nearby_text: situation.context_texts,
            place,
            content,
            is_repeated: attempt.is_repeated(),
        };
        let is_approved = self
            .with_approval(run, screen, &scope, &rules, concern)
            .await?;
        Ok(if is_approved {
            granted
        } else {
            ActionPermission::Refused
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
        let step = run.task().open_step().map_or(0, |step| step.number);
        match run.task().approval_for(step, *index) {
            Some(_) => self.permission(run, screen, attempt, resolved).await,
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
        let step = run.task().open_step().map_or(0, |step| step.number);
        let asked = run.task().approval_for(step, intended.index).cloned();
        // A pending approval is requested again: the task was paused before anyone could answer.
        if let Some(asked) = &asked
            && !matches!(
                asked.state,
                ApprovalState::Approved | ApprovalState::Pending
            )
        {
            return Ok(CallPermission::Refused(
                asked.planner_message(run.task().spec.message_language()),
            ));
        }
        let rules = self.policy.rules();
        let name = run.task().spec.name.to_string();
        let foreign = self
            .provenance
            .foreign_in_call(run.task(), &intended.call.arguments_json);
        let situation = self.situation_of_call(run, &rules, intended, !foreign.is_empty());
        let safety_checks = safety_checks(run.task());
        let requester = self.requester(run.task(), &name);
        let second_person =
            self.second_person || rules.demands_second_person(requester, &situation);
        let wanted = match rules.evaluate(requester, &situation) {
            PolicyDecision::Deny(rules) => {
                hooks::after_policy_denial(run, &rules).await;
                let name = &intended.call.name;
                let call = run.task().text(Message::CallingFunction { name });
                let message = refusal(run.task(), &call, &rules);
                return Ok(CallPermission::Refused(message));
            }
            PolicyDecision::Allow if safety_checks.is_empty() && asked.is_none() => {
                return Ok(CallPermission::Granted);
            }
            PolicyDecision::Allow => Vec::new(),
            PolicyDecision::RequireApproval(rules) => rules,
        };
        let concern = ApprovalReasons {
            rules: wanted,
            safety_checks,
            foreign,
            second_person,
        };
        let scope = ApprovalScope {
            index: intended.index,
            subject: ApprovalSubject::Call {
                intent: intended.words(run.task().spec.message_language()),
            },
            target_area: None,
            keyboard_focus: None,
            nearby_text: Vec::new(),
            place: None,
            content: wire::FunctionCall::from(intended.call.clone()).encode_to_vec(),
            is_repeated: false,
        };
        match self
            .with_approval(run, screen, &scope, &rules, concern)
            .await?
        {
            true => Ok(CallPermission::Granted),
            false => Ok(CallPermission::PendingApproval),
        }
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
        let judged = situation_on(run, screen, &rules, attempt, resolved, None, false);
        screen.mark_stale_if(true);
        screen.refresh_if_stale(run).await?;
        let now = situation_on(run, screen, &rules, attempt, resolved, None, false);
        Ok(judged.is_some_and(|judged| !judged.text.is_empty() && Some(judged) == now))
    }

    async fn with_approval(
        &self,
        run: &mut RunContext,
        screen: &mut Screen,
        scope: &ApprovalScope,
        rules: &Policy,
        concern: ApprovalReasons,
    ) -> RunResult<bool> {
        let step = run.task().open_step().map_or(0, |step| step.number);
        let given = run.task().approval_for(step, scope.index).cloned();
        match given {
            Some(given) if given.state == ApprovalState::Approved => {
                self.use_approval(run, screen, &given, scope, rules, &concern)
                    .await
            }
            _ => {
                self.ask_for_approval(run, screen, step, scope, rules, concern)
                    .await
            }
        }
    }

    /// Uses an approval: once, before it expires, for unchanged evidence and no additional rules.
    async fn use_approval(
        &self,
        run: &mut RunContext,
        screen: &mut Screen,
        given: &Approval,
        scope: &ApprovalScope,
        rules: &Policy,
        concern: &ApprovalReasons,
    ) -> RunResult<bool> {
        let changed = differences_to_approval(run, screen, given, scope, rules).await?;
        let wants_more = concern
            .names()
            .iter()
            .any(|name| !given.rules.contains(name));
        let problem = if scope.is_repeated {
            run.task().text(Message::ApprovalNotRepeated)
        } else if run.now() >= given.expires_at {
            run.task().text(Message::ApprovalUsedTooLate)
        } else if let Some(changed) = changed {
            changed
        } else if wants_more {
            run.task().text(Message::ApprovalMoreRules)
        } else {
            return Ok(true);
        };
        let lapsed = given.resolved(ApprovalState::Invalidated, &given.resolved_by, &problem);
        run.record(vec![Event::ApprovalResolved(Box::new(lapsed))])
            .await?;
        Ok(false)
    }

    async fn ask_for_approval(
        &self,
        run: &mut RunContext,
        screen: &mut Screen,
        step: u32,
        scope: &ApprovalScope,
        rules: &Policy,
        concern: ApprovalReasons,
    ) -> RunResult<bool> {
        let before = run.task().approvals.iter();
        let number = before.filter(|one| one.is_for(step, scope.index)).count() + 1;
        let id = Approval::id(step, scope.index, number);
        let ApprovalEvidence { fingerprint, shown } =
            evidence_for(run, screen, scope, rules).await?;
        let evidence = run
            .store_image(shown.image.as_ref(), &format!("approval-{id}"))
            .await?;
        let context = match &scope.place {
            Some(place) => read_context(run, screen, place, None).await?,
            None => None,
        };
        let now = run.now();
        let approval = Approval {
            state: ApprovalState::Pending,
            subject: scope.subject.clone(),
            rules: concern.names(),
            reason: reason(run.task(), &concern),
            safety_checks: concern.safety_checks,
            evidence,
            fingerprint,
            created_at: now,
            expires_at: now + self.time_to_approve(run, now),
            resolved_by: String::new(),
            message: String::new(),
            context,
            stated_user: String::new(),
            second_person: concern.second_person,
            id: id.clone(),
        };
        let asked = UserRequest {
            kind: UserRequestKind::Approval,
            message: run.task().text(Message::WithDetail {
                text: approval.subject.intent(),
                detail: &approval.reason,
            }),
            approval: Some(id),
        };
        let requested = Event::ApprovalRequested(Box::new(approval));
        hooks::ask_user(run, vec![requested], asked).await?;
        Ok(false)
    }

    /// Returns the situation that the policy judges; `None` without an observation.
    async fn situation(
        &self,
        run: &mut RunContext,
        screen: &Screen,
        rules: &Policy,
        attempt: &ActionAttempt,
        resolved: &ResolvedAction,
        tainted: bool,
    ) -> Option<ActionContext> {
        let url = self.page_url(run, screen, rules).await;
        situation_on(
            run,
            screen,
            rules,
            attempt,
            resolved,
            url.as_deref(),
            tainted,
        )
    }

    fn situation_of_call(
        &self,
        run: &RunContext,
        rules: &Policy,
        intended: IntendedFunctionCall<'_>,
        tainted: bool,
    ) -> ActionContext {
        let IntendedFunctionCall {
            call,
            tool_function_name: own_name,
            destructive: may_destroy,
            ..
        } = intended;
        ActionContext::of_call(
            rules.lexicon(),
            &CallInputs {
                name: &call.name,
                own_name,
                may_destroy,
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
    async fn page_url(&self, run: &RunContext, screen: &Screen, rules: &Policy) -> Option<String> {
        if !is_in_a_browser(screen, rules) {
            return None;
        }
        read_url(run).await
    }

    /// Returns whether judging the action calls another service, so that the screen may change meanwhile.
    pub(super) fn may_judge_slowly(&self, run: &RunContext, screen: &Screen, index: usize) -> bool {
        is_approved(run.task(), index) || is_in_a_browser(screen, &self.policy.rules())
    }
}

/// Returns the current surroundings of a place, `None` without an observation. `moving`: areas of motion at the time of the request,
/// or `None` for those that are known now.
async fn read_context(
    run: &mut RunContext,
    screen: &mut Screen,
    place: &JudgedPlace,
    moving: Option<&[CaptureRect]>,
) -> RunResult<Option<ApprovalContext>> {
    let Some(view) = screen.view() else {
        return Ok(None);
    };
    let (scene, frame) = view.scene();
    let dialog = dialog_area(scene, frame, place.area);
    let around = place.area.map(|area| surroundings(area, frame.scale));
    let area = around.map_or(dialog, |around| dialog.union(&around));
    refresh_if_changed_within(run, screen, area).await?;
    let motion = screen.background_motion_areas();
    Ok(screen.view().map(|view| {
        let (scene, frame) = view.scene();
        let known = || harmless_motion(&motion, scene, frame, place.area);
        let moving = moving.map_or_else(known, <[CaptureRect]>::to_vec);
        ApprovalContext::of(scene, frame, place, &moving)
    }))
}

/// Returns what has changed since approval was requested, in words; `None` if nothing that matters has.
async fn differences_to_approval(
    run: &mut RunContext,
    screen: &mut Screen,
    given: &Approval,
    scope: &ApprovalScope,
    rules: &Policy,
) -> RunResult<Option<String>> {
    let (Some(shown), Some(place)) = (&given.context, &scope.place) else {
        let is_same = looks_as_approved(run, screen, scope, rules, given, None).await?;
        return Ok((!is_same).then(|| run.task().text(Message::ApprovalScreenChanged)));
    };
    if !shown.is_at(place.area) {
        return Ok(Some(run.task().text(Message::ApprovalTargetMoved)));
    }
    // The same boxes as then, although the target may have been found a pixel beside.
    let place = JudgedPlace {
        area: shown.target,
        ..place.clone()
    };
    let scope = ApprovalScope {
        target_area: scope.target_area.and(shown.target),
        keyboard_focus: scope.keyboard_focus.and(shown.target),
        ..scope.clone()
    };
    let mut looks = 0;
    loop {
        let read = read_context(run, screen, &place, Some(&shown.moving)).await?;
        let Some(read) = read else {
            return Ok(Some(run.task().text(Message::ApprovalScreenChanged)));
        };
        let language = run.task().spec.message_language();
        let problem = match shown.difference(&read, Comparison::Full) {
            Some(change) => change.text(language),
            None if looks_as_approved(run, screen, &scope, rules, given, Some(&read)).await? => {
                return Ok(None);
            }
            None => Message::ApprovalLookChanged.text(language),
        };
        looks += 1;
        if looks == MAX_APPROVAL_LOOKS {
            return Ok(Some(problem));
        }
        run.sleep(APPROVAL_LOOK_INTERVAL).await?;
        // A caret is too narrow to count as a change, and may have been read as a letter.
        screen.mark_stale_if(true);
        screen.refresh_if_stale(run).await?;
    }
}

/// Returns the place whose surroundings count for an action.
fn judged_place(
    run: &RunContext,
    screen: &Screen,
    resolved: &ResolvedAction,
    situation: &ActionContext,
) -> Option<JudgedPlace> {
    let (scene, frame) = screen.view()?.scene();
    // What is dragged counts as well as where it is dropped.
    let dragged = match &resolved.action {
        Action::Drag { .. } => resolved.action.targets().next(),
        _ => None,
    };
    let dragged = dragged.and_then(|start| element_at(scene, frame, *start));
    let dragged = dragged.map(|(element, _)| element.content.clone());
    let area = target_area(resolved, run.task().pointed_at());
    Some(JudgedPlace {
        area: area.or(situation.keyboard_target),
        page_origin: origin(&situation.url),
        question: situation
            .context_texts
            .iter()
            .cloned()
            .chain(dragged)
            .collect(),
    })
}

/// Returns the origin of a page, or the whole address of one without, such as a file.
fn origin(url: &str) -> String {
    let Ok(parsed) = Url::parse(url) else {
        return url.to_owned();
    };
    let origin = parsed.origin();
    match origin.is_tuple() {
        true => origin.unicode_serialization(),
        false => url.to_owned(),
    }
}

/// Returns the situation that the policy judges, on a page with this URL; `None` without an observation.
pub(super) fn situation_on(
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

/// Returns whether the action was approved. An approval stays bound to what the approver saw, even if the policy
/// would allow the current screen without one.
pub(super) fn is_approved(task: &Task, index: usize) -> bool {
    let step = task.open_step().map_or(0, |step| step.number);
    let asked = task.approval_for(step, index);
    asked.is_some_and(|asked| asked.state == ApprovalState::Approved)
}

/// Records that an approval expired.
pub(super) async fn expire(run: &mut RunContext, approval: &Approval) -> RunResult {
    let expired = approval.resolved(ApprovalState::Expired, "", "");
    run.record(vec![Event::ApprovalResolved(Box::new(expired))])
        .await
}

/// Returns the provider's safety checks on the open step's decision. They apply to each of its actions, because
/// approving one does not show where the next one goes.
fn safety_checks(task: &Task) -> Vec<SafetyCheck> {
    let step = task.open_step();
    let decision = step.and_then(|step| step.decision.as_ref());
    decision.map_or_else(Vec::new, |decision| decision.safety_checks.clone())
}

/// Returns whether a prompt injection is suspected on any of the task's screens.
fn suspects_injection(task: &Task) -> bool {
    let step = task.open_step();
    let decision = step.and_then(|step| step.decision.as_ref());
    task.suspected_injection
        || decision.is_some_and(|decision| !decision.suspected_injections.is_empty())
}

fn is_in_a_browser(screen: &Screen, rules: &Policy) -> bool {
    let frame = screen.view().map(|view| &view.observation.frame);
    let window = frame.and_then(|frame| frame.active_window());
    let applications = window.map(|window| rules.lexicon().applications(&window.application));
    applications.is_some_and(|kinds| kinds.contains("browser"))
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

/// Returns the reason shown to the approver.
fn reason(task: &Task, concern: &ApprovalReasons) -> String {
    let language = task.spec.message_language();
    let rules = concern
        .rules
        .iter()
        .map(|rule| rule.reason(language).to_owned());
    let checks = concern.safety_checks.iter().map(|check| {
        let warning = Message::ProviderWarning {
            code: &check.code,
            message: check.message.trim(),
        };
        warning.text(language)
    });
    let foreign = concern.foreign.iter().take(MAX_SHOWN_FOREIGN_PARTS);
    let foreign = foreign.map(|part| part.description(language));
    let before = task.approvals.last();
    let before = before.filter(|before| {
        before.state == ApprovalState::Invalidated
            && before.context.is_some()
            && !before.message.is_empty()
    });
    let again = before.map(|before| {
        let problem = before.message.as_str();
        Message::ApprovalAskedAgain { problem }.text(language)
    });
    let reasons = rules.chain(checks).chain(foreign).chain(again);
    join_clauses(&reasons.collect::<Vec<_>>(), language)
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
}

impl ApprovalReasons {
    fn names(&self) -> Vec<String> {
        let provider = (!self.safety_checks.is_empty()).then(|| PROVIDER_RULE_ID.to_owned());
        let rules = self.rules.iter().map(|rule| rule.id.clone());
        rules.chain(provider).collect()
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
                tool_function_name: "send",
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

    #[test]
    fn a_safety_check_of_the_provider_has_a_rule_of_its_own() {
        let check = SafetyCheck {
            id: "1".to_owned(),
            code: "malicious_instructions".to_owned(),
            message: "look again".to_owned(),
        };
        let reasons = |safety_checks| ApprovalReasons {
            rules: Vec::new(),
            safety_checks,
            foreign: Vec::new(),
            second_person: false,
        };
        assert_eq!(reasons(Vec::new()).names(), [""; 0]);
        assert_eq!(reasons(vec![check]).names(), [PROVIDER_RULE_ID]);
    }
}
