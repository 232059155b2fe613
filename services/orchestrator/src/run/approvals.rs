//! Approvals of a running task: requested, compared with the screen right before use, and used once.
//!
//! An approval covers one action at one place on one screen, for the policy rules that required it
//! ([`super::approval_evidence`]), and what stands around the place ([`motorium_task::approval_context`]). Both are compared
//! once more right before the approval is used. If anything that matters differs, the approval is invalidated, the planner sees
//! the current screen, and the next request tells the person what has changed.
//!
//! It does not decide whether an approval is needed: the gate does.

use std::time::{Duration, SystemTime};

use motorium_messages::{Message, join_clauses};
use motorium_policy::provenance::TaintedSpan;
use motorium_policy::{ActionContext, Policy, PolicyRule};
use motorium_proto::domain::decision::SafetyCheck;
use motorium_proto::domain::frame::Frame;
use motorium_task::approval_context::{Comparison, JudgedTarget, harmless_motion, tooltip};
use motorium_task::effect::CARET_BLINK_INTERVAL;
use motorium_task::effect::look::element_at;
use motorium_task::event::{Event, UserRequest, UserRequestKind};
use motorium_task::{Approval, ApprovalContext, ApprovalState, Task, limits};
use url::Url;

use super::approval_evidence::{ApprovalEvidence, ApprovalScope, evidence_for, looks_as_approved};
use super::attempt::ResolvedAction;
use super::context::RunContext;
use super::screen::Screen;
use super::target_changes::{judged_area, refresh_if_changed_within, target_area};
use super::{RunResult, hooks};

/// Maximum number of looks for what was approved. Text recognition takes a caret for a letter, and a page may be in transition.
const MAX_APPROVAL_LOOKS: u32 = 3;
/// Maximum number of parts from untrusted sources listed in a reason.
// A reason stays readable; the rule applies whatever their number.
const MAX_SHOWN_FOREIGN_PARTS: usize = 8;
/// Rule id for safety checks of a model's provider.
const PROVIDER_RULE_ID: &str = "provider";

/// Reasons for requesting approval.
pub(super) struct ApprovalReasons {
    pub(super) rules: Vec<PolicyRule>,
    pub(super) safety_checks: Vec<SafetyCheck>,
    /// Parts that come from untrusted sources.
    pub(super) foreign: Vec<TaintedSpan>,
    /// True if the creator of the task may not approve it.
    pub(super) second_person: bool,
}

/// Requests and uses approvals.
#[derive(Debug)]
pub(super) struct Approvals {
    /// Time within which an approval has to be given.
    pub(super) timeout: Duration,
}

impl Approvals {
    /// Uses the approval that was given for this action, or requests one. Returns whether the action is approved.
    pub(super) async fn obtain(
        &self,
        run: &mut RunContext,
        screen: &mut Screen,
        scope: &ApprovalScope,
        rules: &Policy,
        reasons: ApprovalReasons,
    ) -> RunResult<bool> {
        let given = run.task().approval_of_action(scope.index).cloned();
        match given {
            Some(given) if given.state == ApprovalState::Approved => {
                Self::use_approval(run, screen, &given, scope, rules, &reasons).await
            }
            _ => self.request(run, screen, scope, rules, reasons).await,
        }
    }

    /// Uses an approval: once, before it expires, for unchanged evidence and no additional rules.
    async fn use_approval(
        run: &mut RunContext,
        screen: &mut Screen,
        given: &Approval,
        scope: &ApprovalScope,
        rules: &Policy,
        reasons: &ApprovalReasons,
    ) -> RunResult<bool> {
        let changed = differences_to_approval(run, screen, given, scope, rules).await?;
        let wants_more = reasons
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

    async fn request(
        &self,
        run: &mut RunContext,
        screen: &mut Screen,
        scope: &ApprovalScope,
        rules: &Policy,
        reasons: ApprovalReasons,
    ) -> RunResult<bool> {
        let step = run.task().open_step().map_or(0, |step| step.number);
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
            rules: reasons.names(),
            reason: reason(run.task(), &reasons),
            safety_checks: reasons.safety_checks,
            evidence,
            fingerprint,
            created_at: now,
            expires_at: now + self.time_to_approve(run, now),
            resolved_by: String::new(),
            message: String::new(),
            context,
            stated_user: String::new(),
            written_by_model: false,
            second_person: reasons.second_person,
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

    /// Returns the time in which an approval has to be given: it ends with the task's own time, so that the expiry that
    /// people see is the true one.
    fn time_to_approve(&self, run: &RunContext, now: SystemTime) -> Duration {
        let left = limits::remaining(run.task(), now).time;
        left.map_or(self.timeout, |left| left.min(self.timeout))
    }
}

/// Returns the current surroundings of a place, `None` without an observation. `shown`: those at the time of the request, whose areas
/// of motion count, or `None` for the request itself.
async fn read_context(
    run: &mut RunContext,
    screen: &mut Screen,
    place: &JudgedTarget,
    shown: Option<&ApprovalContext>,
) -> RunResult<Option<ApprovalContext>> {
    let Some(view) = screen.view() else {
        return Ok(None);
    };
    let (scene, frame) = view.scene();
    let area = judged_area(scene, frame, place);
    refresh_if_changed_within(run, screen, area).await?;
    let motion = screen.background_motion_areas();
    let rests = run.config.features.rest_before_approval;
    Ok(screen.view().map(|view| {
        let (scene, parsed) = view.scene();
        // The pointer may have come since the screen was parsed.
        let cursor = match rests {
            true => view.latest_frame.cursor,
            false => parsed.cursor,
        };
        let frame = &Frame {
            cursor,
            ..parsed.clone()
        };
        let unpointed = || {
            let before = screen.unpointed().filter(|_| rests)?;
            Some(ApprovalContext {
                pointer_on_target: true,
                ..ApprovalContext::of(&before.scene, &before.frame, place, &[])
            })
        };
        let mut passing = match shown {
            Some(shown) => shown.moving.clone(),
            None => harmless_motion(&motion, scene, frame, place.area),
        };
        // What has come with the pointer, before the request or since.
        let before = shown.cloned().filter(|_| rests).or_else(unpointed);
        passing.extend(
            before
                .iter()
                .flat_map(|before| tooltip(scene, frame, before)),
        );
        ApprovalContext::of(scene, frame, place, &passing)
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
    let place = JudgedTarget {
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
        let read = read_context(run, screen, &place, Some(shown)).await?;
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
        run.sleep(CARET_BLINK_INTERVAL).await?;
        // A caret is too narrow to count as a change, and may have been read as a letter.
        screen.mark_stale_if(true);
        screen.refresh_if_stale(run).await?;
    }
}

/// Returns the place whose surroundings count for an action.
pub(super) fn judged_target(
    run: &RunContext,
    screen: &Screen,
    resolved: &ResolvedAction,
    context: &ActionContext,
) -> Option<JudgedTarget> {
    let (scene, frame) = screen.view()?.scene();
    // What is dragged counts as well as where it is dropped.
    let dragged = resolved
        .action
        .start()
        .and_then(|start| element_at(scene, frame, *start));
    let dragged = dragged.map(|(element, _)| element.content.clone());
    let area = target_area(resolved, run.task().pointed_at());
    Some(JudgedTarget {
        with_toggles: run.config.features.compare_toggles,
        area: area.or(context.keyboard_target),
        page_origin: origin(&context.url),
        question: context
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

/// Records that an approval expired.
pub(super) async fn expire(run: &mut RunContext, approval: &Approval) -> RunResult {
    let expired = approval.resolved(ApprovalState::Expired, "", "");
    run.record(vec![Event::ApprovalResolved(Box::new(expired))])
        .await
}

/// Returns the reason shown to the approver.
fn reason(task: &Task, reasons: &ApprovalReasons) -> String {
    let language = task.spec.message_language();
    let rules = reasons
        .rules
        .iter()
        .map(|rule| rule.reason(language).to_owned());
    let checks = reasons.safety_checks.iter().map(|check| {
        let warning = Message::ProviderWarning {
            code: &check.code,
            message: check.message.trim(),
        };
        warning.text(language)
    });
    let foreign = reasons.foreign.iter().take(MAX_SHOWN_FOREIGN_PARTS);
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
