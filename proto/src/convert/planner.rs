//! Conversion of the requests and responses of the Planner. Checks goals, and the number and sizes of the images of the
//! user.
//!
//! It does not choose a backend: the Planner does.

use super::decision::usage;
use super::session::user_images;
use super::{desktop, into_messages, non_empty, optional, require, try_from_messages};
use crate::domain::decision::{PastAction, PastStep, RemainingLimits};
use crate::domain::desktop::Platform;
use crate::domain::id::ElementId;
use crate::domain::session::TaskContext;
use crate::error::FieldError;
use crate::limits::MAX_GOAL_CHARS;
use crate::service::{
    BackendAttempt, BackendInfo, BackendState, ExtractRequest, Extraction, PlanRequest,
    PlannedDecision, PointerCheck, PointerRequest, ResolveRequest, ResolvedTarget,
    SummarizeRequest, Summary, TargetCandidate, TargetQuery,
};
use crate::v1::common as common_wire;
use crate::v1::planner as wire;

/// Checks that a goal is not empty and not longer than the contract allows.
pub(super) fn goal(text: String) -> Result<String, FieldError> {
    if text.trim().is_empty() {
        return Err(FieldError::new(
            "goal",
            "is empty; give a goal, for example: click \"Save\"",
        ));
    }
    let length = text.chars().count();
    if length > MAX_GOAL_CHARS {
        return Err(FieldError::new(
            "goal",
            format!("has {length} characters; at most {MAX_GOAL_CHARS} are accepted"),
        ));
    }
    Ok(text)
}

/// Converts a platform; never fails.
fn platform(number: i32) -> Result<Platform, FieldError> {
    Ok(desktop::platform(number))
}

conversions! {
    wire::PastAction => PastAction {
        planned: required,
        outcome: required,
        effect: optional,
        retries: same,
        target_label: text,
    }

    wire::PastStep => PastStep {
        step: same,
        thought: same,
        actions: repeated,
        image: optional,
        frame_size: optional,
        function_calls: repeated,
        function_results: repeated,
        extracted_json: text,
        user_messages: same,
        acknowledged_safety_checks: repeated,
    }

    wire::RemainingLimits => RemainingLimits {
        steps: same,
        time: duration,
        tokens: same,
        cost_micros_usd: same,
    }

    wire::TaskContext => TaskContext {
        earlier_tasks: repeated,
        files: repeated,
        messages: repeated,
        images: bounded(user_images),
    }

    wire::PlanRequest => PlanRequest {
        goal: checked(goal),
        instructions: same,
        frame: required,
        image: optional,
        scene: required,
        history: repeated,
        user_messages: same,
        remaining: default,
        functions: repeated,
        conversation: same,
        conversation_backend: same,
        backends: same,
        platform: enumeration(platform, common_wire::Platform),
        language: text,
        notices: same,
        applications: same,
        current_url: text,
        context: default,
        written_by_model: same,
        person_texts: same,
    }

    wire::BackendAttempt => BackendAttempt {
        backend: same,
        reason: same,
        message: same,
        usage: default,
    }

    wire::PlanResponse => PlannedDecision {
        decision: required,
        attempts: repeated,
        annotated_image: optional,
        responses: same,
        requests: same,
    }

    wire::SummarizeRequest => SummarizeRequest {
        goal: checked(goal),
        history: repeated,
        answer: same,
        succeeded: same,
        language: text,
        backends: same,
        remaining: default,
        fallback: same,
    }

    wire::SummarizeResponse => Summary {
        text: same,
        usage: default,
        responses: same,
        requests: same,
    }

    wire::ExtractRequest => ExtractRequest {
        json_schema: same,
        instruction: same,
        frame: required,
        image: optional,
        scene: required,
        page_text: text,
        backends: same,
        remaining: default,
    }

    wire::ExtractResponse => Extraction {
        json: same,
        usage: default,
        sources: repeated,
        responses: same,
        requests: same,
    }

    wire::LocatePointerRequest => PointerRequest {
        intent: same,
        target: required,
        target_bounds: optional,
        pointer: required,
        annotated_image: optional,
        backends: same,
        remaining: default,
        tolerance_px: same,
    }

    wire::LocatePointerResponse => PointerCheck {
        on_target: same,
        dx: same,
        dy: same,
        usage: default,
        responses: same,
        requests: same,
    }
}

impl TryFrom<wire::ResolveTargetRequest> for ResolveRequest {
    type Error = FieldError;

    fn try_from(request: wire::ResolveTargetRequest) -> Result<Self, FieldError> {
        let image = optional("image", request.image)?;
        let target = match (request.target, non_empty(request.description)) {
            (None, Some(description)) => TargetQuery::Described {
                description,
                image,
                backends: request.backends,
                remaining: optional("remaining", request.remaining)?.unwrap_or_default(),
            },
            (Some(_), Some(_)) => {
                let problem = "must not be set together with `target`";
                return Err(FieldError::new("description", problem));
            }
            (target, None) => TargetQuery::Target(require("target", target)?),
        };
        Ok(Self {
            target,
            frame: require("frame", request.frame)?,
            scene: require("scene", request.scene)?,
        })
    }
}

impl From<ResolveRequest> for wire::ResolveTargetRequest {
    fn from(request: ResolveRequest) -> Self {
        let mut message = Self {
            frame: Some(request.frame.into()),
            scene: Some(request.scene.into()),
            ..Self::default()
        };
        match request.target {
            TargetQuery::Target(target) => message.target = Some(target.into()),
            TargetQuery::Described {
                description,
                image,
                backends,
                remaining,
            } => {
                message.description = description;
                message.image = image.map(Into::into);
                message.backends = backends;
                message.remaining = Some(remaining.into());
            }
        }
        message
    }
}

impl TryFrom<wire::TargetCandidate> for TargetCandidate {
    type Error = FieldError;

    fn try_from(candidate: wire::TargetCandidate) -> Result<Self, FieldError> {
        Ok(Self {
            element: ElementId(candidate.element_id),
            content: candidate.content,
            score: candidate.score,
        })
    }
}

impl From<TargetCandidate> for wire::TargetCandidate {
    fn from(candidate: TargetCandidate) -> Self {
        Self {
            element_id: candidate.element.0,
            content: candidate.content,
            score: candidate.score,
        }
    }
}

impl TryFrom<wire::ResolveTargetResponse> for ResolvedTarget {
    type Error = FieldError;

    fn try_from(response: wire::ResolveTargetResponse) -> Result<Self, FieldError> {
        Ok(Self {
            point: require("point", response.point)?,
            bounds: require("bounds", response.bounds)?,
            element: response.element_id.map(ElementId),
            candidates: try_from_messages("candidates", response.candidates)?,
            usage: usage(response.usage)?,
            responses: response.responses,
            requests: response.requests,
        })
    }
}

impl From<ResolvedTarget> for wire::ResolveTargetResponse {
    fn from(resolved: ResolvedTarget) -> Self {
        Self {
            point: Some(resolved.point.into()),
            bounds: Some(resolved.bounds.into()),
            element_id: resolved.element.map(|id| id.0),
            candidates: into_messages(resolved.candidates),
            usage: Some(resolved.usage.into()),
            responses: resolved.responses,
            requests: resolved.requests,
        }
    }
}

one_field_messages! {
    repeated ListBackendsResponse.backends: Vec<BackendInfo>;
}

enumerations! {
    required backend_state("state"): wire::backend::State => BackendState { Ready, CircuitOpen, NotConfigured }
}

conversions! {
    wire::Backend => BackendInfo {
        name: same,
        state: enumeration(backend_state, wire::backend::State),
        model: same,
        last_error: text,
        median_latency: duration,
        usage: default,
        needs_image: same,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::decision::SafetyCheck;

    fn context(images: Vec<common_wire::UserImage>) -> Result<TaskContext, FieldError> {
        TaskContext::try_from(wire::TaskContext {
            images,
            ..wire::TaskContext::default()
        })
    }

    #[test]
    fn images_of_the_user_are_limited_in_number_and_size() {
        let image = |size: usize| common_wire::UserImage {
            name: "photo.png".to_owned(),
            image: Some(common_wire::Image {
                content: Some(common_wire::image::Content::Data(vec![0; size].into())),
                sha256: vec![0; 32].into(),
                ..common_wire::Image::default()
            }),
            step: 1,
        };
        assert_eq!(context(vec![image(9); 4]).unwrap().images.len(), 4);
        let check = |images, field: &str, problem: &str| {
            let error = context(images).unwrap_err();
            assert_eq!(
                (error.field.as_str(), error.description.as_str()),
                (field, problem)
            );
        };
        let problem = "has 5 images; at most 4 are accepted";
        check(vec![image(9); 5], "images", problem);
        let problem = "has 1572865 bytes; at most 1572864 are accepted";
        check(vec![image(9), image(1_572_865)], "images[1].image", problem);
        let nameless = common_wire::UserImage::default();
        let error = context(vec![nameless]).unwrap_err();
        assert_eq!(error.field, "images[0].name");
    }

    #[test]
    fn acknowledged_safety_checks_round_trip() {
        let step = PastStep {
            step: 3,
            acknowledged_safety_checks: vec![SafetyCheck {
                id: "sc_1".to_owned(),
                code: "sensitive_domain".to_owned(),
                message: "This page is about money.".to_owned(),
            }],
            ..PastStep::default()
        };
        let message = wire::PastStep::from(step.clone());
        assert_eq!(PastStep::try_from(message), Ok(step));
    }
}
