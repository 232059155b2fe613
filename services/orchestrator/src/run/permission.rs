//! Whether an action may be performed, or a function called: the rules are asked, and where they want it, a person.
//!
//! What a person approves is one action at one place on one screen, for what the rules have found in it ([`super::evidence`]).
//! Right before it is used the place is looked at once more; if anything of it differs, the approval holds no longer, and
//! the planner sees the screen as it is. Nothing is performed here.

use std::time::Duration;

use motorium_proto::domain::action::Action;
use motorium_proto::domain::decision::{FunctionCall, PlannedAction, SafetyCheck};
use motorium_proto::domain::geometry::{CapturePoint, CaptureRect};
use motorium_proto::service::{CaptureArea, CaptureRequest, Captured, ImageFormat, ImageOptions};
use motorium_proto::v1::common as wire;
use prost::Message as _;

use super::act::Resolved;
use super::evidence::{Evidence, Matter};
use super::{Flow, Runner};
use crate::policy::provenance::Foreign;
use crate::policy::{CallCircumstances, Circumstances, Rule, Rules, Ruling, Situation};
use crate::task::event::{Event, UserRequest, UserRequestKind};
use crate::task::{Approval, ApprovalState, Subject};

/// Half the side of what counts as the place of a point that no element is known at, in pixels.
const AT_A_POINT: i32 = 24;
/// How much around a target a person is shown, to each side, in pixels.
const SHOWN: (i32, i32) = (240, 120);
/// How long the address of a page may be waited for; without it, what the screen shows of it has to do.
const ADDRESS_PATIENCE: Duration = Duration::from_millis(700);
/// How much of a function's arguments a person is shown, in characters.
const SHOWN_OF_ARGUMENTS: usize = 2_000;
/// So many parts of an argument that are not the user's are named.
const SHOWN_PARTS: usize = 8;
/// The rule of checks that a model's provider wants a person to read.
const PROVIDER: &str = "provider";

/// What is to become of an action.
pub(super) enum Permission {
    Given,
    /// It is not performed; what is written down says why, or what is waited for.
    Withheld,
}

/// What is to become of a function call.
pub(super) enum CallPermission {
    Given,
    /// A person has been asked.
    Awaited,
    /// It is not made, and this is why.
    Refused(String),
}

/// An action that is about to be performed.
#[derive(Clone, Copy)]
pub(super) struct Intended<'a> {
    pub(super) index: usize,
    pub(super) planned: &'a PlannedAction,
    pub(super) resolved: &'a Resolved,
    /// It was performed before, in vain.
    pub(super) is_repeated: bool,
}

/// A function call that is about to be made.
#[derive(Clone, Copy)]
pub(super) struct IntendedCall<'a> {
    pub(super) index: usize,
    pub(super) call: &'a FunctionCall,
    /// What its tool calls the function.
    pub(super) own_name: &'a str,
    /// Its tool says that it may destroy something.
    pub(super) may_destroy: bool,
    /// For people.
    pub(super) tool: &'a str,
}

/// What wants a person to look.
struct Concern {
    rules: Vec<Rule>,
    safety_checks: Vec<SafetyCheck>,
    /// What of it is not the user's.
    foreign: Vec<Foreign>,
}

impl Runner {
    /// Asks the rules, and a person where they want one.
    pub(super) async fn permission(&mut self, intended: Intended<'_>) -> Flow<Permission> {
        let rules = self.conduct.rules.rules();
        let foreign = self.foreign_in_action(&intended.resolved.action);
        let tainted = !foreign.is_empty();
        let Some(situation) = self.situation(&rules, intended, tainted).await else {
            let message = "nobody has looked at the screen that it would meet".to_owned();
            self.record(vec![Event::TargetMissed { message }]).await?;
            return Ok(Permission::Withheld);
        };
        let name = self.task.spec.name.to_string();
        let ruling = rules.judge(&name, &self.task.spec.labels, &situation);
        let safety_checks = self.safety_checks();
        let concern = match ruling {
            Ruling::Refused(rules) => {
                self.refused_by_rules(&rules).await;
                let message = self.refusal(&intended.planned.intent, &rules);
                self.record(vec![Event::TargetMissed { message }]).await?;
                return Ok(Permission::Withheld);
            }
            Ruling::Allowed if safety_checks.is_empty() && !self.is_approved(intended.index) => {
                return Ok(Permission::Given);
            }
            Ruling::Allowed => Concern {
                rules: Vec::new(),
                safety_checks,
                foreign,
            },
            Ruling::NeedsApproval(rules) => Concern {
                rules,
                safety_checks,
                foreign,
            },
        };
        let matter = Matter {
            index: intended.index,
            subject: Subject::Action(intended.planned.clone()),
            place: place(intended.resolved, self.task.pointed_at()),
            keyboard_at: situation.keyboard_at,
            beside: situation.beside,
            content: wire::Action::from(intended.resolved.action.clone()).encode_to_vec(),
            is_repeated: intended.is_repeated,
        };
        self.with_approval(&matter, &rules, concern).await
    }

    /// The same for a function call.
    pub(super) async fn permission_to_call(
        &mut self,
        intended: IntendedCall<'_>,
    ) -> Flow<CallPermission> {
        let step = self.task.open_step().map_or(0, |step| step.number);
        let asked = self.task.approval_for(step, intended.index).cloned();
        // One that still waits is asked for again: the task was paused before anybody could wait for it.
        if let Some(asked) = &asked
            && !matches!(
                asked.state,
                ApprovalState::Approved | ApprovalState::Pending
            )
        {
            return Ok(CallPermission::Refused(asked.words_for_planner()));
        }
        let rules = self.conduct.rules.rules();
        let name = self.task.spec.name.to_string();
        let foreign = self.foreign_in_call(&intended.call.arguments_json);
        let situation = self.situation_of_call(&rules, intended, !foreign.is_empty());
        let safety_checks = self.safety_checks();
        let wanted = match rules.judge(&name, &self.task.spec.labels, &situation) {
            Ruling::Refused(rules) => {
                self.refused_by_rules(&rules).await;
                let message = self.refusal(&format!("calling {}", intended.call.name), &rules);
                return Ok(CallPermission::Refused(message));
            }
            Ruling::Allowed if safety_checks.is_empty() && asked.is_none() => {
                return Ok(CallPermission::Given);
            }
            Ruling::Allowed => Vec::new(),
            Ruling::NeedsApproval(rules) => rules,
        };
        let concern = Concern {
            rules: wanted,
            safety_checks,
            foreign,
        };
        let matter = Matter {
            index: intended.index,
            subject: Subject::Call {
                intent: intended.words(),
            },
            place: None,
            keyboard_at: None,
            beside: Vec::new(),
            content: wire::FunctionCall::from(intended.call.clone()).encode_to_vec(),
            is_repeated: false,
        };
        match self.with_approval(&matter, &rules, concern).await? {
            Permission::Given => Ok(CallPermission::Given),
            Permission::Withheld => Ok(CallPermission::Awaited),
        }
    }

    /// Whether a person was asked about this action and agreed. That holds for what they saw: also where the rules would
    /// let pass what is there now, it is not what was agreed to.
    pub(super) fn is_approved(&self, index: usize) -> bool {
        let step = self.task.open_step().map_or(0, |step| step.number);
        let asked = self.task.approval_for(step, index);
        asked.is_some_and(|asked| asked.state == ApprovalState::Approved)
    }

    async fn with_approval(
        &mut self,
        matter: &Matter,
        rules: &Rules,
        concern: Concern,
    ) -> Flow<Permission> {
        let step = self.task.open_step().map_or(0, |step| step.number);
        let given = self.task.approval_for(step, matter.index).cloned();
        match given {
            Some(given) if given.state == ApprovalState::Approved => {
                self.use_approval(&given, matter, rules, &concern).await
            }
            _ => self.ask_for_approval(step, matter, rules, concern).await,
        }
    }

    /// It holds for what was shown and why it was asked for, for a while, and once.
    async fn use_approval(
        &mut self,
        given: &Approval,
        matter: &Matter,
        rules: &Rules,
        concern: &Concern,
    ) -> Flow<Permission> {
        let look = self.look_at_place(matter, rules).await?;
        let wants_more = concern
            .names()
            .iter()
            .any(|name| !given.rules.contains(name));
        let problem = if matter.is_repeated {
            "it was performed once and had no effect; it is not repeated by itself"
        } else if self.now() >= given.expires_at {
            "it has expired before it could be used"
        } else if !look.agrees_with(&given.fingerprint) {
            "the screen under the target has changed since it was asked for, or the rules have"
        } else if wants_more {
            "by now it would do more than what it was asked for"
        } else {
            return Ok(Permission::Given);
        };
        let lapsed = given.resolved(ApprovalState::Invalidated, &given.resolved_by, problem);
        self.record(vec![Event::ApprovalResolved(Box::new(lapsed))])
            .await?;
        Ok(Permission::Withheld)
    }

    async fn ask_for_approval(
        &mut self,
        step: u32,
        matter: &Matter,
        rules: &Rules,
        concern: Concern,
    ) -> Flow<Permission> {
        let before = self.task.approvals.iter();
        let number = before.filter(|one| one.is_for(step, matter.index)).count() + 1;
        let id = Approval::id(step, matter.index, number);
        let Evidence { fingerprint, shown } = self.evidence_for(matter, rules).await?;
        let picture = self
            .keep(shown.image.as_ref(), &format!("approval-{id}"))
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
            expires_at: now + self.conduct.approval_timeout,
            resolved_by: String::new(),
            message: String::new(),
            id: id.clone(),
        };
        let asked = UserRequest {
            kind: UserRequestKind::Approval,
            message: format!("{}: {}", approval.subject.intent(), approval.reason),
            approval: Some(id),
        };
        let requested = Event::ApprovalRequested(Box::new(approval));
        self.ask_user(vec![requested], asked).await?;
        Ok(Permission::Withheld)
    }

    /// Says that nobody has answered in time.
    pub(super) async fn expire(&mut self, approval: &Approval) -> Flow {
        let expired = approval.resolved(ApprovalState::Expired, "", "");
        self.record(vec![Event::ApprovalResolved(Box::new(expired))])
            .await
    }

    /// The provider's checks on the decision of the open step. They are about each of its actions: a person who has agreed to
    /// one has not seen where the next one goes.
    fn safety_checks(&self) -> Vec<SafetyCheck> {
        let step = self.task.open_step();
        let decision = step.and_then(|step| step.decision.as_ref());
        decision.map_or_else(Vec::new, |decision| decision.safety_checks.clone())
    }

    /// `None` if there is no screen to judge by.
    async fn situation(
        &mut self,
        rules: &Rules,
        intended: Intended<'_>,
        tainted: bool,
    ) -> Option<Situation> {
        let url = self.address_of_the_page(rules).await;
        self.situation_on(rules, intended, url.as_deref(), tainted)
    }

    /// The same, on the page that has this address.
    pub(super) fn situation_on(
        &self,
        rules: &Rules,
        intended: Intended<'_>,
        url: Option<&str>,
        tainted: bool,
    ) -> Option<Situation> {
        let observation = &self.view.as_ref()?.observation;
        let action = &intended.resolved.action;
        Some(Situation::of(
            rules.words(),
            &Circumstances {
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
        rules: &Rules,
        intended: IntendedCall<'_>,
        tainted: bool,
    ) -> Situation {
        let IntendedCall {
            call,
            own_name,
            may_destroy,
            ..
        } = intended;
        Situation::of_call(
            rules.words(),
            &CallCircumstances {
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

    /// Whether text on one of the screens gives orders to the planner.
    fn suspects_injection(&self) -> bool {
        let step = self.task.open_step();
        let decision = step.and_then(|step| step.decision.as_ref());
        self.task.suspected_injection
            || decision.is_some_and(|decision| !decision.suspected_injections.is_empty())
    }

    /// What the browser's driver says, if a browser is in front and somebody listens to it.
    ///
    /// It is asked right before the action and not while the planner thinks, which would be free: a page may lead
    /// elsewhere meanwhile, and an address from before would permit what is not permitted on the page that the action
    /// meets.
    async fn address_of_the_page(&self, rules: &Rules) -> Option<String> {
        if !self.is_in_a_browser(rules) {
            return None;
        }
        let asked = self.ports.executor.read_page(self.display(), 1);
        let page = tokio::time::timeout(ADDRESS_PATIENCE, asked).await;
        Some(page.ok()?.ok()?.url).filter(|url| !url.is_empty())
    }

    fn is_in_a_browser(&self, rules: &Rules) -> bool {
        let frame = self.view.as_ref().map(|view| &view.observation.frame);
        let window = frame.and_then(|frame| frame.active_window());
        let applications = window.map(|window| rules.words().applications(&window.application));
        applications.is_some_and(|kinds| kinds.contains("browser"))
    }

    /// Whether somebody else is asked what an action would meet, so that the screen may have changed when they have answered.
    pub(super) fn judging_takes_time(&self, index: usize) -> bool {
        self.is_approved(index) || self.is_in_a_browser(&self.conduct.rules.rules())
    }

    pub(super) async fn picture_of(&mut self, area: Option<CaptureRect>) -> Flow<Captured> {
        let area = area.map_or(CaptureArea::Display, CaptureArea::Region);
        let capture = CaptureRequest {
            display: self.display(),
            redactions: self.painted_over_on(&area),
            area,
            omit_cursor: true,
            image: Some(ImageOptions {
                format: ImageFormat::Png,
                fit: None,
            }),
            ..CaptureRequest::default()
        };
        self.ask("looking at what is to be approved", move |ports| {
            let request = capture.clone();
            async move { ports.perception.capture(request).await }
        })
        .await
    }

    fn refusal(&self, what: &str, rules: &[Rule]) -> String {
        let names: Vec<&str> = rules.iter().map(|rule| rule.id.as_str()).collect();
        let why: Vec<&str> = rules.iter().map(|rule| self.because(rule)).collect();
        format!(
            "{what} is refused by the rules ({}): {}",
            names.join(", "),
            why.join("; ")
        )
    }

    /// For the person who is asked.
    fn reason(&self, concern: &Concern) -> String {
        let rules = concern
            .rules
            .iter()
            .map(|rule| self.because(rule).to_owned());
        let checks = concern.safety_checks.iter().map(|check| {
            let message = check.message.trim();
            format!("the model's provider warns ({}): {message}", check.code)
        });
        let in_chinese = self.task.spec.speaks_chinese();
        let foreign = concern.foreign.iter().take(SHOWN_PARTS);
        let foreign = foreign.map(|part| part.words(in_chinese));
        let reasons = rules.chain(checks).chain(foreign);
        reasons.collect::<Vec<_>>().join("; ")
    }

    fn because<'a>(&self, rule: &'a Rule) -> &'a str {
        if self.task.spec.speaks_chinese() {
            &rule.because_zh
        } else {
            &rule.because
        }
    }
}

impl IntendedCall<'_> {
    /// For the person who is asked: all of it that can be read at a glance.
    fn words(&self) -> String {
        let FunctionCall {
            name,
            arguments_json,
            ..
        } = self.call;
        let mut shown: String = arguments_json.chars().take(SHOWN_OF_ARGUMENTS).collect();
        if shown.len() < arguments_json.len() {
            shown += " …";
        }
        format!("call {name} ({}) with {shown}", self.tool)
    }
}

impl Concern {
    fn names(&self) -> Vec<String> {
        let provider = (!self.safety_checks.is_empty()).then(|| PROVIDER.to_owned());
        let rules = self.rules.iter().map(|rule| rule.id.clone());
        rules.chain(provider).collect()
    }
}

/// So much around it that a person recognises the place.
pub(super) fn with_surroundings(area: CaptureRect) -> CaptureRect {
    area.inflate(SHOWN.0, SHOWN.1)
}

/// The box that an action is done in, if it has one. A click without a place goes to where the pointer is.
pub(super) fn place(resolved: &Resolved, pointed_at: Option<CaptureRect>) -> Option<CaptureRect> {
    if matches!(resolved.action, Action::Click { at: None, .. }) {
        return pointed_at;
    }
    let around = |point: CapturePoint| {
        CaptureRect::new(
            CapturePoint::new(point.x - AT_A_POINT, point.y - AT_A_POINT),
            CapturePoint::new(point.x + AT_A_POINT, point.y + AT_A_POINT),
        )
    };
    let point = resolved.action.targets().last().copied();
    point.map(|point| resolved.target.unwrap_or_else(|| around(point)))
}
