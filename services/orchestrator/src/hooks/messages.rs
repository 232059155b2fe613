//! Conversion between hook types and their proto messages.
//!
//! No hook is called here.

use motorium_proto::convert::wire_duration;
use motorium_proto::domain::decision::Usage;
use motorium_proto::domain::geometry::CaptureRect;
use motorium_proto::service::Redaction;
use motorium_proto::v1::hook as wire;
use motorium_proto::v1::hook::call_hook_request::Subject;
use motorium_proto::v1::hook::call_hook_response::Verdict as WireVerdict;

use super::event::{
    Amendment, HookAction, HookActionResult, HookEvent, HookPoint, HookPoints, HookRunEnd,
    HookScreenshot, HookText, HookTextKind, ModelCall, ModelCallAmendment, ModelCallPurpose,
    ModelResponse,
};
use super::redaction;
use super::{Error, HookContext, HookVerdict};

/// Parses the points that a service subscribes to.
pub(super) fn points(described: &wire::DescribeHookResponse) -> Result<HookPoints, Error> {
    let known = |number: &i32| {
        let wire = wire::HookPoint::try_from(*number).ok();
        let point = wire.and_then(from_wire);
        point.ok_or(Error::UnknownPoint(*number))
    };
    described.points.iter().map(known).collect()
}

fn from_wire(point: wire::HookPoint) -> Option<HookPoint> {
    HookPoint::ALL
        .into_iter()
        .find(|candidate| to_wire(*candidate) == point)
}

fn to_wire(point: HookPoint) -> wire::HookPoint {
    match point {
        HookPoint::BeforeRun => wire::HookPoint::BeforeRun,
        HookPoint::AfterRun => wire::HookPoint::AfterRun,
        HookPoint::BeforeModelCall => wire::HookPoint::BeforeModelCall,
        HookPoint::AfterModelCall => wire::HookPoint::AfterModelCall,
        HookPoint::BeforeAction => wire::HookPoint::BeforeAction,
        HookPoint::AfterAction => wire::HookPoint::AfterAction,
        HookPoint::BeforeFunction => wire::HookPoint::BeforeFunction,
        HookPoint::AfterFunction => wire::HookPoint::AfterFunction,
        HookPoint::BeforeScreenshot => wire::HookPoint::BeforeScreenshot,
        HookPoint::AfterScreenshot => wire::HookPoint::AfterScreenshot,
        HookPoint::Usage => wire::HookPoint::Usage,
        HookPoint::BeforeText => wire::HookPoint::BeforeText,
        HookPoint::AfterText => wire::HookPoint::AfterText,
    }
}

/// Builds the request for an event.
pub(super) fn request(
    context: &HookContext<'_>,
    hook_event: &HookEvent<'_>,
    wants_images: bool,
) -> wire::CallHookRequest {
    let spec = &context.task.spec;
    wire::CallHookRequest {
        call_id: context.call.to_owned(),
        task: spec.name.to_string(),
        step: context.step,
        labels: spec.labels.clone(),
        point: to_wire(hook_event.point()).into(),
        subject: Some(subject(context, hook_event, wants_images)),
    }
}

fn subject(context: &HookContext<'_>, hook_event: &HookEvent<'_>, wants_images: bool) -> Subject {
    let goal = || context.task.spec.goal.clone();
    match hook_event {
        HookEvent::BeforeRun => Subject::Run(wire::Run {
            goal: goal(),
            ..wire::Run::default()
        }),
        HookEvent::AfterRun(HookRunEnd { state, message, .. }) => Subject::Run(wire::Run {
            goal: goal(),
            state: (*state).to_owned(),
            message: (*message).to_owned(),
        }),
        HookEvent::BeforeModelCall(call) => Subject::ModelCall(call_to_wire(call)),
        HookEvent::AfterModelCall(answer) => Subject::ModelCall(answer_to_wire(answer)),
        HookEvent::BeforeAction(act) => Subject::Action(act_to_wire(act)),
        HookEvent::AfterAction(HookActionResult {
            act,
            outcome,
            effect,
        }) => Subject::Action(wire::ActionSubject {
            outcome: Some((*outcome).clone().into()),
            effect: effect.cloned().map(Into::into),
            ..act_to_wire(act)
        }),
        HookEvent::BeforeFunction(call) => Subject::Function(wire::FunctionSubject {
            call: Some((*call).clone().into()),
            result: None,
        }),
        HookEvent::AfterFunction(call, result) => Subject::Function(wire::FunctionSubject {
            call: Some((*call).clone().into()),
            result: Some((*result).clone().into()),
        }),
        HookEvent::BeforeScreenshot(_) => Subject::Screenshot(wire::Screenshot::default()),
        HookEvent::AfterScreenshot(HookScreenshot { frame, image }) => {
            let image = image.filter(|_| wants_images);
            Subject::Screenshot(wire::Screenshot {
                frame: Some((*frame).clone().into()),
                image: image.cloned().map(Into::into),
            })
        }
        HookEvent::Usage(added) => Subject::Usage(usage_to_wire(*added, context.task.usage)),
        HookEvent::BeforeText(words) | HookEvent::AfterText(words) => {
            Subject::Text(words_to_wire(words))
        }
    }
}

fn purpose_to_wire(purpose: ModelCallPurpose) -> i32 {
    match purpose {
        ModelCallPurpose::Plan => wire::model_call::Purpose::Plan,
        ModelCallPurpose::Extract => wire::model_call::Purpose::Extract,
        ModelCallPurpose::Summarize => wire::model_call::Purpose::Summarize,
        ModelCallPurpose::LocatePointer => wire::model_call::Purpose::LocatePointer,
    }
    .into()
}

fn call_to_wire(call: &ModelCall) -> wire::ModelCall {
    wire::ModelCall {
        purpose: purpose_to_wire(call.purpose),
        images: call.images + call.past_images,
        ..wire::ModelCall::default()
    }
}

/// Omits the opaque conversation, which only the planner needs.
fn answer_to_wire(answer: &ModelResponse<'_>) -> wire::ModelCall {
    let decision = answer.decision.map(|decision| {
        let mut decision = motorium_proto::v1::common::Decision::from(decision.clone());
        decision.conversation.clear();
        decision
    });
    wire::ModelCall {
        purpose: purpose_to_wire(answer.purpose),
        images: answer.images,
        decision,
        elapsed: Some(wire_duration(answer.elapsed)),
    }
}

fn act_to_wire(act: &HookAction<'_>) -> wire::ActionSubject {
    wire::ActionSubject {
        action_id: act.action_id.to_string(),
        planned: Some(act.planned.clone().into()),
        action: Some(act.action.clone().into()),
        ..wire::ActionSubject::default()
    }
}

fn usage_to_wire(added: Usage, total: Usage) -> wire::UsageSubject {
    wire::UsageSubject {
        added: Some(added.into()),
        total: Some(total.into()),
    }
}

fn words_to_wire(words: &HookText) -> wire::TextSubject {
    let kind = match words.kind {
        HookTextKind::Progress => wire::text_subject::Kind::Progress,
        HookTextKind::Question => wire::text_subject::Kind::Question,
        HookTextKind::Answer => wire::text_subject::Kind::Answer,
    };
    wire::TextSubject {
        kind: kind.into(),
        text: words.text.clone(),
    }
}

/// Parses a service's verdict at a point that accepts one.
pub(super) fn verdict(
    response: wire::CallHookResponse,
    point: HookPoint,
) -> Result<HookVerdict, Error> {
    match response.verdict {
        None => Ok(HookVerdict::Continue),
        Some(WireVerdict::Deny(wire::Deny { reason })) => Ok(HookVerdict::Deny { reason }),
        Some(WireVerdict::Amend(amend)) => amendment(amend, point),
    }
}

fn amendment(amend: wire::Amend, point: HookPoint) -> Result<HookVerdict, Error> {
    let rest = |amend: &wire::Amend| *amend == wire::Amend::default();
    let misfit = |problem: &str| Error::InvalidAmendment {
        point,
        problem: problem.to_owned(),
    };
    if rest(&amend) {
        return Ok(HookVerdict::Continue);
    }
    let wire::Amend {
        notices,
        max_past_images,
        redact_regions,
        redact_patterns,
        redact_windows,
        text,
    } = amend;
    let is_call = !notices.is_empty() || max_past_images.is_some();
    let is_screenshot =
        !(redact_regions.is_empty() && redact_patterns.is_empty() && redact_windows.is_empty());
    let amendment = match (point, is_call, is_screenshot, text) {
        (HookPoint::BeforeModelCall, true, false, None) => {
            Amendment::ModelCall(ModelCallAmendment {
                notices,
                max_past_images,
            })
        }
        (HookPoint::BeforeText, false, false, Some(text)) => Amendment::Text(text),
        (HookPoint::BeforeScreenshot, false, true, None) => {
            let regions = redact_regions.into_iter().map(|region| {
                let region = CaptureRect::try_from(region);
                region.map_err(|error| misfit(&format!("redact_regions: {error}")))
            });
            let regions = regions.map(|region| region.map(Redaction::Region));
            let patterns = redact_patterns.iter().map(|pattern| {
                let text = redaction::text_pattern(pattern);
                text.map_err(|problem| misfit(&format!("redact_patterns: {problem}")))
            });
            let windows = redact_windows.into_iter().map(Redaction::Window).map(Ok);
            let hidden = regions.chain(patterns).chain(windows);
            Amendment::Screenshot(hidden.collect::<Result<_, Error>>()?)
        }
        (_, _, _, text) => {
            let mut fields = Vec::new();
            fields.extend((!notices.is_empty()).then_some("notices"));
            fields.extend(max_past_images.map(|_| "max_past_images"));
            fields.extend((!redact_regions.is_empty()).then_some("redact_regions"));
            fields.extend((!redact_patterns.is_empty()).then_some("redact_patterns"));
            fields.extend((!redact_windows.is_empty()).then_some("redact_windows"));
            fields.extend(text.map(|_| "text"));
            return Err(Error::MisplacedAmendment { point, fields });
        }
    };
    Ok(HookVerdict::Amend(amendment))
}

#[cfg(test)]
mod tests {
    use motorium_messages::Language;
    use motorium_proto::domain::geometry::CapturePoint;

    use super::*;

    fn amend_verdict(amend: wire::Amend, point: HookPoint) -> Result<HookVerdict, Error> {
        let response = wire::CallHookResponse {
            verdict: Some(WireVerdict::Amend(amend)),
        };
        verdict(response, point)
    }

    #[test]
    fn every_wire_hook_point_maps_to_the_domain() {
        for number in 1..=13 {
            let point = wire::HookPoint::try_from(number).unwrap();
            let ours = from_wire(point).unwrap();
            assert_eq!(point.as_str_name(), format!("HOOK_POINT_{}", ours.as_str()));
        }
        let described = wire::DescribeHookResponse {
            points: vec![99],
            ..wire::DescribeHookResponse::default()
        };
        let error = points(&described).unwrap_err();
        assert!(error.to_string().contains("point 99"), "{error}");
    }

    #[test]
    fn invalid_redactions_are_refused_before_perception_is_called() {
        let rect = CaptureRect::new(CapturePoint::new(1, 2), CapturePoint::new(3, 4));
        let amend = wire::Amend {
            redact_regions: vec![rect.into()],
            redact_patterns: vec!["a+".to_owned()],
            redact_windows: vec!["mail".to_owned()],
            ..wire::Amend::default()
        };
        let hidden = vec![
            Redaction::Region(rect),
            Redaction::TextPattern("a+".to_owned()),
            Redaction::Window("mail".to_owned()),
        ];
        assert_eq!(
            amend_verdict(amend, HookPoint::BeforeScreenshot),
            Ok(HookVerdict::Amend(Amendment::Screenshot(hidden)))
        );
        let broken = wire::Amend {
            redact_patterns: vec!["(".to_owned()],
            ..wire::Amend::default()
        };
        let error = amend_verdict(broken, HookPoint::BeforeScreenshot).unwrap_err();
        assert!(
            error.to_string().contains("is not a regular expression"),
            "{error}"
        );
    }

    #[test]
    fn fields_not_allowed_at_a_hook_point_are_errors() {
        let text = wire::Amend {
            text: Some("hello".to_owned()),
            ..wire::Amend::default()
        };
        let error = amend_verdict(text.clone(), HookPoint::BeforeAction).unwrap_err();
        assert_eq!(
            error.to_string(),
            "invalid amendment at BEFORE_ACTION: text cannot be amended there"
        );
        let both = wire::Amend {
            notices: vec!["listen".to_owned()],
            ..text
        };
        let error = amend_verdict(both, HookPoint::BeforeText).unwrap_err();
        assert!(error.to_string().contains("notices, text"), "{error}");
        assert_eq!(
            error.text(Language::Chinese),
            "在 BEFORE_TEXT 处的修改无效：此处不能修改 notices、text"
        );
        let nothing = amend_verdict(wire::Amend::default(), HookPoint::BeforeAction);
        assert_eq!(nothing, Ok(HookVerdict::Continue));
    }
}
