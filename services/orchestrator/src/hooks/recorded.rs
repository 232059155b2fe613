//! Recorded form of hook calls: their interventions and amendments at a point.
//!
//! A replay calls no hook. A call in which every hook agreed and changed nothing is not recorded.

use bytes::Bytes;
use motorium_proto::service::Redaction;
use motorium_proto::v1::perception as eyes;
use prost::Message;

use crate::hooks::{HookChainOutcome, HookDenial, HookEvent, HookIntervention, HookPoint};

/// Name of the exchange at the start of a run in which hooks return their points.
pub(crate) const POINTS_CALL: &str = "WHERE";

#[derive(Clone, PartialEq, Message)]
struct RecordedHookCall {
    #[prost(message, repeated, tag = "1")]
    interventions: Vec<RecordedIntervention>,
    #[prost(message, optional, tag = "2")]
    denial: Option<RecordedDenial>,
    #[prost(message, optional, tag = "3")]
    changed: Option<AmendableState>,
}

#[derive(Clone, PartialEq, Message)]
struct RecordedIntervention {
    #[prost(string, tag = "1")]
    hook: String,
    #[prost(string, tag = "2")]
    point: String,
    #[prost(string, tag = "3")]
    message: String,
    #[prost(bool, tag = "4")]
    denied: bool,
}

#[derive(Clone, PartialEq, Message)]
struct RecordedDenial {
    #[prost(string, tag = "1")]
    hook: String,
    #[prost(string, tag = "2")]
    reason: String,
    #[prost(bool, tag = "3")]
    by_default: bool,
}

/// The part of an event that hooks can amend.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct AmendableState {
    #[prost(uint32, tag = "1")]
    past_images: u32,
    #[prost(string, repeated, tag = "2")]
    notices: Vec<String>,
    #[prost(message, repeated, tag = "3")]
    hidden: Vec<eyes::Redaction>,
    #[prost(string, tag = "4")]
    text: String,
}

impl AmendableState {
    pub(crate) fn of(hook_event: &HookEvent<'_>) -> Self {
        let nothing = Self::default();
        match hook_event {
            HookEvent::BeforeModelCall(call) => Self {
                past_images: call.past_images,
                notices: call.notices.clone(),
                ..nothing
            },
            HookEvent::BeforeScreenshot(hidden) => Self {
                hidden: hidden.iter().cloned().map(Into::into).collect(),
                ..nothing
            },
            HookEvent::BeforeText(words) => Self {
                text: words.text.clone(),
                ..nothing
            },
            _ => nothing,
        }
    }

    fn put_into(self, hook_event: &mut HookEvent<'_>) {
        match hook_event {
            HookEvent::BeforeModelCall(call) => {
                call.past_images = self.past_images;
                call.notices = self.notices;
            }
            HookEvent::BeforeScreenshot(hidden) => {
                let read = |one: eyes::Redaction| Redaction::try_from(one).ok();
                *hidden = self.hidden.into_iter().filter_map(read).collect();
            }
            HookEvent::BeforeText(words) => words.text = self.text,
            _ => {}
        }
    }
}

/// Encodes the result of calling the hooks; `None` if all agreed and changed nothing.
pub(crate) fn encode_call(
    outcome: &HookChainOutcome,
    before: &AmendableState,
    hook_event: &HookEvent<'_>,
) -> Option<Bytes> {
    let after = AmendableState::of(hook_event);
    let changed = (after != *before).then_some(after);
    // For an approved action, whether any hook was called decides whether the screen is compared again, so that is
    // always recorded.
    let counts = hook_event.point() == HookPoint::BeforeAction;
    (counts || changed.is_some() || *outcome != HookChainOutcome::default())
        .then(|| encoded(outcome, changed))
}

/// Encodes the result of requesting the hooks' points; `None` if all answered.
pub(crate) fn encode_points_call(outcome: &HookChainOutcome) -> Option<Bytes> {
    (*outcome != HookChainOutcome::default()).then(|| encoded(outcome, None))
}

fn encoded(outcome: &HookChainOutcome, changed: Option<AmendableState>) -> Bytes {
    let intervention = |one: &HookIntervention| RecordedIntervention {
        hook: one.hook.clone(),
        point: one.point.as_str().to_owned(),
        message: one.message.clone(),
        denied: one.denied,
    };
    let denial = outcome.denial.as_ref().map(|denial| RecordedDenial {
        hook: denial.hook.clone(),
        reason: denial.reason.clone(),
        by_default: denial.is_hook_failure,
    });
    let noted = RecordedHookCall {
        interventions: outcome.interventions.iter().map(intervention).collect(),
        denial,
        changed,
    };
    noted.encode_to_vec().into()
}

/// Decodes a recorded call and applies its amendments to the event.
pub(crate) fn replay_call(noted: Bytes, hook_event: &mut HookEvent<'_>) -> HookChainOutcome {
    // An unreadable record counts as no intervention; the replay then differs and reports where.
    let noted = RecordedHookCall::decode(noted).unwrap_or_default();
    if let Some(changed) = noted.changed {
        changed.put_into(hook_event);
    }
    let interventions = noted.interventions.into_iter();
    HookChainOutcome {
        interventions: interventions.filter_map(intervention).collect(),
        denial: noted.denial.map(|denial| HookDenial {
            hook: denial.hook,
            reason: denial.reason,
            is_hook_failure: denial.by_default,
        }),
    }
}

fn intervention(noted: RecordedIntervention) -> Option<HookIntervention> {
    let mut points = HookPoint::ALL.into_iter();
    Some(HookIntervention {
        point: points.find(|point| point.as_str() == noted.point)?,
        hook: noted.hook,
        message: noted.message,
        denied: noted.denied,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hooks::event::{HookText, HookTextKind, ModelCall, ModelCallPurpose};

    fn denied() -> HookChainOutcome {
        HookChainOutcome {
            interventions: vec![HookIntervention {
                hook: "guard".to_owned(),
                point: HookPoint::BeforeText,
                message: "no".to_owned(),
                denied: true,
            }],
            denial: Some(HookDenial {
                hook: "guard".to_owned(),
                reason: "no".to_owned(),
                is_hook_failure: true,
            }),
        }
    }

    fn check(begun: HookEvent<'_>, changed: HookEvent<'_>, outcome: &HookChainOutcome) {
        let noted = encode_call(outcome, &AmendableState::of(&begun), &changed).unwrap();
        let mut again = begun;
        assert_eq!(replay_call(noted, &mut again), *outcome);
        assert_eq!(format!("{again:?}"), format!("{changed:?}"));
    }

    #[test]
    fn amendments_and_denials_survive_recording() {
        let words = |text: &str| {
            HookEvent::BeforeText(HookText {
                kind: HookTextKind::Progress,
                text: text.to_owned(),
            })
        };
        let call = |past_images, notices: &[&str]| {
            HookEvent::BeforeModelCall(ModelCall {
                purpose: ModelCallPurpose::Plan,
                images: 1,
                past_images,
                conversation_images: 0,
                notices: notices.iter().map(|&notice| notice.to_owned()).collect(),
            })
        };
        check(words("a"), words("b"), &HookChainOutcome::default());
        check(words("a"), words("a"), &denied());
        check(
            call(3, &[]),
            call(1, &["be brief"]),
            &HookChainOutcome::default(),
        );
        let window = Redaction::Window("mail".to_owned());
        check(
            HookEvent::BeforeScreenshot(vec![]),
            HookEvent::BeforeScreenshot(vec![window]),
            &HookChainOutcome::default(),
        );
    }

    #[test]
    fn unchanged_hook_calls_are_not_recorded() {
        let before = HookEvent::BeforeScreenshot(vec![]);
        let nothing = HookChainOutcome::default();
        assert_eq!(
            encode_call(&nothing, &AmendableState::of(&before), &before),
            None
        );
        assert_eq!(encode_points_call(&nothing), None);
        assert!(encode_points_call(&denied()).is_some());
    }
}
