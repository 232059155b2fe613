//! The chain's words in those of the contract, and back.

use motorium_proto::convert::wire_duration;
use motorium_proto::domain::decision::Usage;
use motorium_proto::domain::geometry::CaptureRect;
use motorium_proto::service::Redaction;
use motorium_proto::v1::hook as wire;
use motorium_proto::v1::hook::call_hook_request::Subject;
use motorium_proto::v1::hook::call_hook_response::Verdict as WireVerdict;

use super::happening::{
    Act, Amendment, Done, Ended, Happening, ModelAnswer, ModelCall, ModelCallAmendment, Point,
    Points, Purpose, Seen, Words, WordsKind,
};
use super::redaction;
use super::{Context, Error, Verdict};

/// Where a service wants to be called.
pub(super) fn points(described: &wire::DescribeHookResponse) -> Result<Points, Error> {
    let known = |number: &i32| {
        let wire = wire::Point::try_from(*number).ok();
        let point = wire.and_then(from_wire);
        point.ok_or_else(|| {
            Error::Failed(format!(
                "it wants to be called at point {number}, which there is not; check that both sides have the same version"
            ))
        })
    };
    described.points.iter().map(known).collect()
}

fn from_wire(point: wire::Point) -> Option<Point> {
    Point::ALL
        .into_iter()
        .find(|candidate| to_wire(*candidate) == point)
}

fn to_wire(point: Point) -> wire::Point {
    match point {
        Point::BeforeRun => wire::Point::BeforeRun,
        Point::AfterRun => wire::Point::AfterRun,
        Point::BeforeModelCall => wire::Point::BeforeModelCall,
        Point::AfterModelCall => wire::Point::AfterModelCall,
        Point::BeforeAction => wire::Point::BeforeAction,
        Point::AfterAction => wire::Point::AfterAction,
        Point::BeforeFunction => wire::Point::BeforeFunction,
        Point::AfterFunction => wire::Point::AfterFunction,
        Point::BeforeScreenshot => wire::Point::BeforeScreenshot,
        Point::AfterScreenshot => wire::Point::AfterScreenshot,
        Point::Usage => wire::Point::Usage,
        Point::BeforeText => wire::Point::BeforeText,
        Point::AfterText => wire::Point::AfterText,
    }
}

/// What a service is told.
pub(super) fn request(
    context: &Context<'_>,
    happening: &Happening<'_>,
    wants_images: bool,
) -> wire::CallHookRequest {
    let spec = &context.task.spec;
    wire::CallHookRequest {
        call: context.call.to_owned(),
        task: spec.name.to_string(),
        step: context.step,
        labels: spec.labels.clone(),
        point: to_wire(happening.point()).into(),
        subject: Some(subject(context, happening, wants_images)),
    }
}

fn subject(context: &Context<'_>, happening: &Happening<'_>, wants_images: bool) -> Subject {
    let goal = || context.task.spec.goal.clone();
    match happening {
        Happening::BeforeRun => Subject::Run(wire::Run {
            goal: goal(),
            ..wire::Run::default()
        }),
        Happening::AfterRun(Ended { state, message, .. }) => Subject::Run(wire::Run {
            goal: goal(),
            state: (*state).to_owned(),
            message: (*message).to_owned(),
        }),
        Happening::BeforeModelCall(call) => Subject::ModelCall(call_to_wire(call)),
        Happening::AfterModelCall(answer) => Subject::ModelCall(answer_to_wire(answer)),
        Happening::BeforeAction(act) => Subject::Action(act_to_wire(act)),
        Happening::AfterAction(Done {
            act,
            outcome,
            effect,
        }) => Subject::Action(wire::ActionSubject {
            outcome: Some((*outcome).clone().into()),
            effect: effect.cloned().map(Into::into),
            ..act_to_wire(act)
        }),
        Happening::BeforeFunction(call) => Subject::Function(wire::FunctionSubject {
            call: Some((*call).clone().into()),
            result: None,
        }),
        Happening::AfterFunction(call, result) => Subject::Function(wire::FunctionSubject {
            call: Some((*call).clone().into()),
            result: Some((*result).clone().into()),
        }),
        Happening::BeforeScreenshot(_) => Subject::Screenshot(wire::Screenshot::default()),
        Happening::AfterScreenshot(Seen { frame, image }) => {
            let image = image.filter(|_| wants_images);
            Subject::Screenshot(wire::Screenshot {
                frame: Some((*frame).clone().into()),
                image: image.cloned().map(Into::into),
            })
        }
        Happening::Usage(added) => Subject::Usage(usage_to_wire(*added, context.task.usage)),
        Happening::BeforeText(words) | Happening::AfterText(words) => {
            Subject::Text(words_to_wire(words))
        }
    }
}

fn purpose_to_wire(purpose: Purpose) -> i32 {
    match purpose {
        Purpose::Plan => wire::model_call::Purpose::Plan,
        Purpose::Extract => wire::model_call::Purpose::Extract,
        Purpose::Summarize => wire::model_call::Purpose::Summarize,
        Purpose::LocatePointer => wire::model_call::Purpose::LocatePointer,
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

/// Without what the planner wants to see again verbatim, which is nobody else's.
fn answer_to_wire(answer: &ModelAnswer<'_>) -> wire::ModelCall {
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

fn act_to_wire(act: &Act<'_>) -> wire::ActionSubject {
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

fn words_to_wire(words: &Words) -> wire::TextSubject {
    let kind = match words.kind {
        WordsKind::Progress => wire::text_subject::Kind::Progress,
        WordsKind::Question => wire::text_subject::Kind::Question,
        WordsKind::Answer => wire::text_subject::Kind::Answer,
    };
    wire::TextSubject {
        kind: kind.into(),
        text: words.text.clone(),
    }
}

/// What a service says at a point where it is asked.
pub(super) fn verdict(response: wire::CallHookResponse, point: Point) -> Result<Verdict, Error> {
    match response.verdict {
        None => Ok(Verdict::Continue),
        Some(WireVerdict::Deny(wire::Deny { reason })) => Ok(Verdict::Deny {
            reason: if reason.is_empty() {
                "it gives no reason".to_owned()
            } else {
                reason
            },
        }),
        Some(WireVerdict::Amend(amend)) => amendment(amend, point),
    }
}

fn amendment(amend: wire::Amend, point: Point) -> Result<Verdict, Error> {
    let rest = |amend: &wire::Amend| *amend == wire::Amend::default();
    let misfit = |problem: &str| Error::Misfit {
        point,
        problem: problem.to_owned(),
    };
    if rest(&amend) {
        return Ok(Verdict::Continue);
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
        (Point::BeforeModelCall, true, false, None) => Amendment::ModelCall(ModelCallAmendment {
            notices,
            max_past_images,
        }),
        (Point::BeforeText, false, false, Some(text)) => Amendment::Text(text),
        (Point::BeforeScreenshot, false, true, None) => {
            let regions = redact_regions.into_iter().map(|region| {
                let region = CaptureRect::try_from(region);
                region.map_err(|error| misfit(&format!("redact_regions: {error}")))
            });
            let regions = regions.map(|region| region.map(Redaction::Region));
            let patterns = redact_patterns.iter().map(|pattern| {
                let text = redaction::text(pattern);
                text.map_err(|problem| misfit(&format!("redact_patterns: {problem}")))
            });
            let windows = redact_windows.into_iter().map(Redaction::Window).map(Ok);
            let hidden = regions.chain(patterns).chain(windows);
            Amendment::Screenshot(hidden.collect::<Result<_, Error>>()?)
        }
        (_, _, _, text) => {
            let mut given = Vec::new();
            given.extend(is_call.then_some("notices or max_past_images"));
            given.extend(is_screenshot.then_some("something to be painted over"));
            given.extend(text.map(|_| "text"));
            return Err(misfit(&format!("it gives {}", given.join(" and "))));
        }
    };
    Ok(Verdict::Amend(amendment))
}

#[cfg(test)]
mod tests {
    use motorium_proto::domain::geometry::CapturePoint;

    use super::*;

    fn said(amend: wire::Amend, point: Point) -> Result<Verdict, Error> {
        let response = wire::CallHookResponse {
            verdict: Some(WireVerdict::Amend(amend)),
        };
        verdict(response, point)
    }

    #[test]
    fn every_point_of_the_contract_is_one_of_ours() {
        for number in 1..=13 {
            let point = wire::Point::try_from(number).unwrap();
            let ours = from_wire(point).unwrap();
            assert_eq!(point.as_str_name(), format!("POINT_{}", ours.as_str()));
        }
        let described = wire::DescribeHookResponse {
            points: vec![99],
            ..wire::DescribeHookResponse::default()
        };
        let error = points(&described).unwrap_err();
        assert!(error.to_string().contains("point 99"), "{error}");
    }

    #[test]
    fn what_is_painted_over_is_checked_before_perception_is_asked() {
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
            said(amend, Point::BeforeScreenshot),
            Ok(Verdict::Amend(Amendment::Screenshot(hidden)))
        );
        let broken = wire::Amend {
            redact_patterns: vec!["(".to_owned()],
            ..wire::Amend::default()
        };
        let error = said(broken, Point::BeforeScreenshot).unwrap_err();
        assert!(
            error.to_string().contains("is no regular expression"),
            "{error}"
        );
    }

    #[test]
    fn what_does_not_fit_its_point_is_an_error_of_the_hook() {
        let text = wire::Amend {
            text: Some("hello".to_owned()),
            ..wire::Amend::default()
        };
        let error = said(text.clone(), Point::BeforeAction).unwrap_err();
        assert_eq!(
            error.to_string(),
            "what it wants to change does not fit BEFORE_ACTION: it gives text"
        );
        let both = wire::Amend {
            notices: vec!["listen".to_owned()],
            ..text
        };
        let error = said(both, Point::BeforeText).unwrap_err();
        assert!(
            error
                .to_string()
                .contains("notices or max_past_images and text")
        );
        let nothing = said(wire::Amend::default(), Point::BeforeAction);
        assert_eq!(nothing, Ok(Verdict::Continue));
    }
}
