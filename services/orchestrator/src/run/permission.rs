//! Decides whether an action may be performed or a function called, by policy and, where required, by approval.
//!
//! An approval covers one action at one place on one screen, for the policy rules that required it
//! ([`super::approval_evidence`]). The place is compared once more right before the approval is used. If anything
//! differs, the approval is invalidated and the planner sees the current screen. Nothing is performed here.

use std::time::Duration;

use motorium_messages::{Language, Message, join_clauses, join_list};
use motorium_proto::domain::action::Action;
use motorium_proto::domain::decision::{FunctionCall, PlannedAction, SafetyCheck};
use motorium_proto::domain::geometry::{CapturePoint, CaptureRect};
use motorium_proto::service::{
    CaptureArea, CaptureRequest, CapturedFrame, ImageFormat, ImageOptions, ReadPageRequest,
};
use motorium_proto::v1::common as wire;
use prost::Message as _;

use super::act::ResolvedAction;
use super::approval_evidence::{ApprovalEvidence, ApprovalScope};
use super::{RunResult, Runner};
use motorium_policy::provenance::TaintedSpan;
use motorium_policy::{
    ActionContext, ActionInputs, CallInputs, Policy, PolicyDecision, PolicyRule,
};
use motorium_task::event::{Event, UserRequest, UserRequestKind};
use motorium_task::{Approval, ApprovalState, ApprovalSubject};

/// Half the side of the area around a point without a known element, in pixels.
// About the size of a button, so that the approval covers what a click would hit.
const POINT_TARGET_RADIUS_PX: i32 = 24;
/// Margin around a target in the screenshot for the approver: horizontal and vertical, in pixels.
// Shows the row or dialog around the target, so that a person recognises the place.
const EVIDENCE_MARGIN_PX: (i32, i32) = (240, 120);
/// Timeout for reading a page's URL; without it, the address bar on the screen is used.
// The action waits for it, and a page that hangs must not delay every action.
const PAGE_URL_TIMEOUT: Duration = Duration::from_millis(700);
/// Maximum number of characters of a function's arguments shown to the approver.
const MAX_SHOWN_ARGUMENT_CHARS: usize = 2_000;
/// Maximum number of parts from untrusted sources listed in a reason.
const MAX_SHOWN_FOREIGN_PARTS: usize = 8;
/// Rule id for safety checks of a model's provider.
const PROVIDER_RULE_ID: &str = "provider";

/// Decision about an action.
pub(super) enum ActionPermission {
    Granted,
    /// The action is not performed; the recorded event tells why, or what is pending.
    Withheld,
}

/// Decision about a function call.
pub(super) enum CallPermission {
    Granted,
    /// Approval was requested.
    PendingApproval,
    /// The call is not made, for this reason.
    Refused(String),
}

/// An action that is about to be performed.
#[derive(Clone, Copy)]
pub(super) struct IntendedAction<'a> {
    pub(super) index: usize,
    pub(super) planned: &'a PlannedAction,
    pub(super) resolved: &'a ResolvedAction,
    /// True if it was performed before without effect.
    pub(super) is_retry: bool,
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
}

impl Runner {
    /// Applies the policy and requests approval where required.
    pub(super) async fn permission(
        &mut self,
        intended: IntendedAction<'_>,
    ) -> RunResult<ActionPermission> {
        let rules = self.config.policy.rules();
        let foreign = self.foreign_in_action(&intended.resolved.action);
        let tainted = !foreign.is_empty();
        let Some(situation) = self.situation(&rules, intended, tainted).await else {
            let message = self.task.text(Message::ScreenNotObservedForPolicy);
            self.record(vec![Event::TargetNotResolved { message }])
                .await?;
            return Ok(ActionPermission::Withheld);
        };
        let name = self.task.spec.name.to_string();
        let ruling = rules.evaluate(&name, &self.task.spec.labels, &situation);
        let safety_checks = self.safety_checks();
        let concern = match ruling {
            PolicyDecision::Deny(rules) => {
                self.after_policy_denial(&rules).await;
                let message = self.refusal(&intended.planned.intent, &rules);
                self.record(vec![Event::TargetNotResolved { message }])
                    .await?;
                return Ok(ActionPermission::Withheld);
            }
            PolicyDecision::Allow
                if safety_checks.is_empty() && !self.is_approved(intended.index) =>
            {
                return Ok(ActionPermission::Granted);
            }
            PolicyDecision::Allow => ApprovalReasons {
                rules: Vec::new(),
                safety_checks,
                foreign,
            },
            PolicyDecision::RequireApproval(rules) => ApprovalReasons {
                rules,
                safety_checks,
                foreign,
            },
        };
        let matter = ApprovalScope {
            index: intended.index,
            subject: ApprovalSubject::Action(intended.planned.clone()),
            target_area: target_area(intended.resolved, self.task.pointed_at()),
            keyboard_focus: situation.keyboard_target,
            nearby_text: situation.context_texts,
            content: wire::Action::from(intended.resolved.action.clone()).encode_to_vec(),
            is_repeated: intended.is_retry,
        };
        self.with_approval(&matter, &rules, concern).await
    }

    /// As [`Runner::permission`], for a function call.
    pub(super) async fn permission_to_call(
        &mut self,
        intended: IntendedFunctionCall<'_>,
    ) -> RunResult<CallPermission> {
        let step = self.task.open_step().map_or(0, |step| step.number);
        let asked = self.task.approval_for(step, intended.index).cloned();
        // A pending approval is requested again: the task was paused before anyone could answer.
        if let Some(asked) = &asked
            && !matches!(
                asked.state,
                ApprovalState::Approved | ApprovalState::Pending
            )
        {
            return Ok(CallPermission::Refused(
                asked.planner_message(self.task.spec.message_language()),
            ));
        }
        let rules = self.config.policy.rules();
        let name = self.task.spec.name.to_string();
        let foreign = self.foreign_in_call(&intended.call.arguments_json);
        let situation = self.situation_of_call(&rules, intended, !foreign.is_empty());
        let safety_checks = self.safety_checks();
        let wanted = match rules.evaluate(&name, &self.task.spec.labels, &situation) {
            PolicyDecision::Deny(rules) => {
                self.after_policy_denial(&rules).await;
                let name = &intended.call.name;
                let call = self.task.text(Message::CallingFunction { name });
                let message = self.refusal(&call, &rules);
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
        };
        let matter = ApprovalScope {
            index: intended.index,
            subject: ApprovalSubject::Call {
                intent: intended.words(self.task.spec.message_language()),
            },
            target_area: None,
            keyboard_focus: None,
            nearby_text: Vec::new(),
            content: wire::FunctionCall::from(intended.call.clone()).encode_to_vec(),
            is_repeated: false,
        };
        match self.with_approval(&matter, &rules, concern).await? {
            ActionPermission::Granted => Ok(CallPermission::Granted),
            ActionPermission::Withheld => Ok(CallPermission::PendingApproval),
        }
    }

    /// Returns whether the action was approved. An approval stays bound to what the approver saw, even if the policy
    /// would allow the current screen without one.
    pub(super) fn is_approved(&self, index: usize) -> bool {
        let step = self.task.open_step().map_or(0, |step| step.number);
        let asked = self.task.approval_for(step, index);
        asked.is_some_and(|asked| asked.state == ApprovalState::Approved)
    }

    async fn with_approval(
        &mut self,
        matter: &ApprovalScope,
        rules: &Policy,
        concern: ApprovalReasons,
    ) -> RunResult<ActionPermission> {
        let step = self.task.open_step().map_or(0, |step| step.number);
        let given = self.task.approval_for(step, matter.index).cloned();
        match given {
            Some(given) if given.state == ApprovalState::Approved => {
                self.use_approval(&given, matter, rules, &concern).await
            }
            _ => self.ask_for_approval(step, matter, rules, concern).await,
        }
    }

    /// Uses an approval: once, before it expires, for unchanged evidence and no additional rules.
    async fn use_approval(
        &mut self,
        given: &Approval,
        matter: &ApprovalScope,
        rules: &Policy,
        concern: &ApprovalReasons,
    ) -> RunResult<ActionPermission> {
        let look = self.area_fingerprint(matter, rules).await?;
        let wants_more = concern
            .names()
            .iter()
            .any(|name| !given.rules.contains(name));
        let problem = if matter.is_repeated {
            Message::ApprovalNotRepeated
        } else if self.now() >= given.expires_at {
            Message::ApprovalUsedTooLate
        } else if !look.agrees_with(&given.fingerprint) {
            Message::ApprovalScreenChanged
        } else if wants_more {
            Message::ApprovalMoreRules
        } else {
            return Ok(ActionPermission::Granted);
        };
        let problem = self.task.text(problem);
        let lapsed = given.resolved(ApprovalState::Invalidated, &given.resolved_by, &problem);
        self.record(vec![Event::ApprovalResolved(Box::new(lapsed))])
            .await?;
        Ok(ActionPermission::Withheld)
    }

    async fn ask_for_approval(
        &mut self,
        step: u32,
        matter: &ApprovalScope,
        rules: &Policy,
        concern: ApprovalReasons,
    ) -> RunResult<ActionPermission> {
        let before = self.task.approvals.iter();
        let number = before.filter(|one| one.is_for(step, matter.index)).count() + 1;
        let id = Approval::id(step, matter.index, number);
        let ApprovalEvidence { fingerprint, shown } = self.evidence_for(matter, rules).await?;
        let picture = self
            .store_image(shown.image.as_ref(), &format!("approval-{id}"))
            .await?;
        let now = self.now();
        let approval = Approval {
            state: ApprovalState::Pending,
            subject: matter.subject.clone(),
            rules: concern.names(),
            reason: self.reason(&concern),
            safety_checks: concern.safety_checks,
            evidence: picture,
            fingerprint,
            created_at: now,
            expires_at: now + self.config.approval_timeout,
            resolved_by: String::new(),
            message: String::new(),
            id: id.clone(),
        };
        let asked = UserRequest {
            kind: UserRequestKind::Approval,
            message: self.task.text(Message::WithDetail {
                text: approval.subject.intent(),
                detail: &approval.reason,
            }),
            approval: Some(id),
        };
        let requested = Event::ApprovalRequested(Box::new(approval));
        self.ask_user(vec![requested], asked).await?;
        Ok(ActionPermission::Withheld)
    }

    /// Records that an approval expired.
    pub(super) async fn expire(&mut self, approval: &Approval) -> RunResult {
        let expired = approval.resolved(ApprovalState::Expired, "", "");
        self.record(vec![Event::ApprovalResolved(Box::new(expired))])
            .await
    }

    /// Returns the provider's safety checks on the open step's decision. They apply to each of its actions, because
    /// approving one does not show where the next one goes.
    fn safety_checks(&self) -> Vec<SafetyCheck> {
        let step = self.task.open_step();
        let decision = step.and_then(|step| step.decision.as_ref());
        decision.map_or_else(Vec::new, |decision| decision.safety_checks.clone())
    }

    /// Returns the situation that the policy judges; `None` without an observation.
    async fn situation(
        &mut self,
        rules: &Policy,
        intended: IntendedAction<'_>,
        tainted: bool,
    ) -> Option<ActionContext> {
        let url = self.page_url(rules).await;
        self.situation_on(rules, intended, url.as_deref(), tainted)
    }

    /// As [`Runner::situation`], for a page with this URL.
    pub(super) fn situation_on(
        &self,
        rules: &Policy,
        intended: IntendedAction<'_>,
        url: Option<&str>,
        tainted: bool,
    ) -> Option<ActionContext> {
        let observation = &self.view.as_ref()?.observation;
        let action = &intended.resolved.action;
        Some(ActionContext::of(
            rules.lexicon(),
            &ActionInputs {
                planned: intended.planned,
                action,
                target: intended.resolved.target,
                pointed_at: self.task.pointed_at(),
                keyboard: &self.task.keyboard(),
                frame: &observation.frame,
                scene: &observation.scene,
                url,
                labels: &self.task.spec.labels,
                pasted: self.pasted(),
                tainted,
                suspected_injection: self.suspects_injection(),
            },
        ))
    }

    fn situation_of_call(
        &self,
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
                labels: &self.task.spec.labels,
                tainted,
                suspected_injection: self.suspects_injection(),
            },
        )
    }

    /// Returns whether a prompt injection is suspected on any of the task's screens.
    fn suspects_injection(&self) -> bool {
        let step = self.task.open_step();
        let decision = step.and_then(|step| step.decision.as_ref());
        self.task.suspected_injection
            || decision.is_some_and(|decision| !decision.suspected_injections.is_empty())
    }

    /// Returns the page's URL from the browser driver, if a browser is in front.
    ///
    /// It is read right before the action and not while the planner thinks, although that would cost no time: the page
    /// may navigate meanwhile, and an outdated URL would permit an action on the wrong page.
    async fn page_url(&self, rules: &Policy) -> Option<String> {
        if !self.is_in_a_browser(rules) {
            return None;
        }
        let request = ReadPageRequest {
            display: self.display(),
            max_characters: 1,
        };
        let asked = self.ports.executor.read_page(request);
        let page = tokio::time::timeout(PAGE_URL_TIMEOUT, asked).await;
        Some(page.ok()?.ok()?.url).filter(|url| !url.is_empty())
    }

    fn is_in_a_browser(&self, rules: &Policy) -> bool {
        let frame = self.view.as_ref().map(|view| &view.observation.frame);
        let window = frame.and_then(|frame| frame.active_window());
        let applications = window.map(|window| rules.lexicon().applications(&window.application));
        applications.is_some_and(|kinds| kinds.contains("browser"))
    }

    /// Returns whether judging the action calls another service, so that the screen may change meanwhile.
    pub(super) fn may_judge_slowly(&self, index: usize) -> bool {
        self.is_approved(index) || self.is_in_a_browser(&self.config.policy.rules())
    }

    pub(super) async fn capture_area(
        &mut self,
        area: Option<CaptureRect>,
    ) -> RunResult<CapturedFrame> {
        let area = area.map_or(CaptureArea::Display, CaptureArea::Region);
        let capture = CaptureRequest {
            display: self.display(),
            redactions: self.redactions_in(&area),
            area,
            omit_cursor: true,
            image: Some(ImageOptions {
                format: ImageFormat::Png,
                fit: None,
            }),
            ..CaptureRequest::default()
        };
        self.call("capturing what is to be approved", move |ports| {
            let request = capture.clone();
            async move { ports.perception.capture(request).await }
        })
        .await
    }

    fn refusal(&self, what: &str, rules: &[PolicyRule]) -> String {
        let language = self.task.spec.message_language();
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
    fn reason(&self, concern: &ApprovalReasons) -> String {
        let language = self.task.spec.message_language();
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
        let reasons = rules.chain(checks).chain(foreign);
        join_clauses(&reasons.collect::<Vec<_>>(), language)
    }
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

/// Returns the area with a margin that lets a person recognise the place.
pub(super) fn with_surroundings(area: CaptureRect) -> CaptureRect {
    area.inflate(EVIDENCE_MARGIN_PX.0, EVIDENCE_MARGIN_PX.1)
}

/// Returns the bounding box in which an action takes place, if any. A click without a target goes to the pointer's
/// position.
pub(super) fn target_area(
    resolved: &ResolvedAction,
    pointed_at: Option<CaptureRect>,
) -> Option<CaptureRect> {
    if matches!(resolved.action, Action::Click { at: None, .. }) {
        return pointed_at;
    }
    let around = |point: CapturePoint| {
        CaptureRect::new(
            CapturePoint::new(
                point.x - POINT_TARGET_RADIUS_PX,
                point.y - POINT_TARGET_RADIUS_PX,
            ),
            CapturePoint::new(
                point.x + POINT_TARGET_RADIUS_PX,
                point.y + POINT_TARGET_RADIUS_PX,
            ),
        )
    };
    let point = resolved.action.targets().last().copied();
    point.map(|point| resolved.target.unwrap_or_else(|| around(point)))
}
