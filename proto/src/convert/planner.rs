use super::decision::usage;
use super::{
    desktop, duration, into_messages, non_empty, optional, require, required_enum,
    try_from_messages, wire_duration,
};
use crate::domain::decision::{PastAction, PastStep, RemainingLimits};
use crate::domain::id::ElementId;
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

impl TryFrom<wire::PastAction> for PastAction {
    type Error = FieldError;

    fn try_from(past: wire::PastAction) -> Result<Self, FieldError> {
        Ok(Self {
            planned: require("planned", past.planned)?,
            outcome: require("outcome", past.outcome)?,
            effect: optional("effect", past.effect)?,
            retries: past.retries,
        })
    }
}

impl From<PastAction> for wire::PastAction {
    fn from(past: PastAction) -> Self {
        Self {
            planned: Some(past.planned.into()),
            outcome: Some(past.outcome.into()),
            effect: past.effect.map(Into::into),
            retries: past.retries,
        }
    }
}

impl TryFrom<wire::PastStep> for PastStep {
    type Error = FieldError;

    fn try_from(step: wire::PastStep) -> Result<Self, FieldError> {
        Ok(Self {
            step: step.step,
            thought: step.thought,
            actions: try_from_messages("actions", step.actions)?,
            image: optional("image", step.image)?,
            frame_size: optional("frame_size", step.frame_size)?,
            function_calls: try_from_messages("function_calls", step.function_calls)?,
            function_results: try_from_messages("function_results", step.function_results)?,
            extracted_json: non_empty(step.extracted_json),
            user_messages: step.user_messages,
            acknowledged_safety_checks: try_from_messages(
                "acknowledged_safety_checks",
                step.acknowledged_safety_checks,
            )?,
        })
    }
}

impl From<PastStep> for wire::PastStep {
    fn from(step: PastStep) -> Self {
        Self {
            step: step.step,
            thought: step.thought,
            actions: into_messages(step.actions),
            image: step.image.map(Into::into),
            frame_size: step.frame_size.map(Into::into),
            function_calls: into_messages(step.function_calls),
            function_results: into_messages(step.function_results),
            extracted_json: step.extracted_json.unwrap_or_default(),
            user_messages: step.user_messages,
            acknowledged_safety_checks: into_messages(step.acknowledged_safety_checks),
        }
    }
}

impl TryFrom<wire::RemainingLimits> for RemainingLimits {
    type Error = FieldError;

    fn try_from(limits: wire::RemainingLimits) -> Result<Self, FieldError> {
        Ok(Self {
            steps: limits.steps,
            time: duration("time", limits.time)?,
            tokens: limits.tokens,
            cost_micros_usd: limits.cost_micros_usd,
        })
    }
}

impl From<RemainingLimits> for wire::RemainingLimits {
    fn from(limits: RemainingLimits) -> Self {
        Self {
            steps: limits.steps,
            time: limits.time.map(wire_duration),
            tokens: limits.tokens,
            cost_micros_usd: limits.cost_micros_usd,
        }
    }
}

impl TryFrom<wire::PlanRequest> for PlanRequest {
    type Error = FieldError;

    fn try_from(request: wire::PlanRequest) -> Result<Self, FieldError> {
        Ok(Self {
            goal: goal(request.goal)?,
            instructions: request.instructions,
            frame: require("frame", request.frame)?,
            image: optional("image", request.image)?,
            scene: require("scene", request.scene)?,
            history: try_from_messages("history", request.history)?,
            user_messages: request.user_messages,
            remaining: optional("remaining", request.remaining)?.unwrap_or_default(),
            functions: try_from_messages("functions", request.functions)?,
            conversation: request.conversation,
            conversation_backend: request.conversation_backend,
            backends: request.backends,
            platform: desktop::platform(request.platform),
            language: non_empty(request.language),
            notices: request.notices,
            applications: request.applications,
        })
    }
}

impl From<PlanRequest> for wire::PlanRequest {
    fn from(request: PlanRequest) -> Self {
        Self {
            goal: request.goal,
            instructions: request.instructions,
            frame: Some(request.frame.into()),
            image: request.image.map(Into::into),
            scene: Some(request.scene.into()),
            history: into_messages(request.history),
            user_messages: request.user_messages,
            remaining: Some(request.remaining.into()),
            functions: into_messages(request.functions),
            conversation: request.conversation,
            conversation_backend: request.conversation_backend,
            backends: request.backends,
            platform: common_wire::Platform::from(request.platform).into(),
            language: request.language.unwrap_or_default(),
            notices: request.notices,
            applications: request.applications,
        }
    }
}

impl TryFrom<wire::BackendAttempt> for BackendAttempt {
    type Error = FieldError;

    fn try_from(attempt: wire::BackendAttempt) -> Result<Self, FieldError> {
        Ok(Self {
            backend: attempt.backend,
            reason: attempt.reason,
            message: attempt.message,
            usage: usage(attempt.usage)?,
        })
    }
}

impl From<BackendAttempt> for wire::BackendAttempt {
    fn from(attempt: BackendAttempt) -> Self {
        Self {
            backend: attempt.backend,
            reason: attempt.reason,
            message: attempt.message,
            usage: Some(attempt.usage.into()),
        }
    }
}

impl TryFrom<wire::PlanResponse> for PlannedDecision {
    type Error = FieldError;

    fn try_from(response: wire::PlanResponse) -> Result<Self, FieldError> {
        Ok(Self {
            decision: require("decision", response.decision)?,
            attempts: try_from_messages("attempts", response.attempts)?,
        })
    }
}

impl From<PlannedDecision> for wire::PlanResponse {
    fn from(planned: PlannedDecision) -> Self {
        Self {
            decision: Some(planned.decision.into()),
            attempts: into_messages(planned.attempts),
        }
    }
}

impl TryFrom<wire::SummarizeRequest> for SummarizeRequest {
    type Error = FieldError;

    fn try_from(request: wire::SummarizeRequest) -> Result<Self, FieldError> {
        Ok(Self {
            goal: goal(request.goal)?,
            history: try_from_messages("history", request.history)?,
            answer: request.answer,
            succeeded: request.succeeded,
            language: non_empty(request.language),
            backends: request.backends,
            remaining: optional("remaining", request.remaining)?.unwrap_or_default(),
        })
    }
}

impl From<SummarizeRequest> for wire::SummarizeRequest {
    fn from(request: SummarizeRequest) -> Self {
        Self {
            goal: request.goal,
            history: into_messages(request.history),
            answer: request.answer,
            succeeded: request.succeeded,
            language: request.language.unwrap_or_default(),
            backends: request.backends,
            remaining: Some(request.remaining.into()),
        }
    }
}

impl TryFrom<wire::SummarizeResponse> for Summary {
    type Error = FieldError;

    fn try_from(response: wire::SummarizeResponse) -> Result<Self, FieldError> {
        Ok(Self {
            text: response.text,
            usage: usage(response.usage)?,
        })
    }
}

impl From<Summary> for wire::SummarizeResponse {
    fn from(summary: Summary) -> Self {
        Self {
            text: summary.text,
            usage: Some(summary.usage.into()),
        }
    }
}

impl TryFrom<wire::ExtractRequest> for ExtractRequest {
    type Error = FieldError;

    fn try_from(request: wire::ExtractRequest) -> Result<Self, FieldError> {
        Ok(Self {
            json_schema: request.json_schema,
            instruction: request.instruction,
            frame: require("frame", request.frame)?,
            image: optional("image", request.image)?,
            scene: require("scene", request.scene)?,
            page_text: non_empty(request.page_text),
            backends: request.backends,
            remaining: optional("remaining", request.remaining)?.unwrap_or_default(),
        })
    }
}

impl From<ExtractRequest> for wire::ExtractRequest {
    fn from(request: ExtractRequest) -> Self {
        Self {
            json_schema: request.json_schema,
            instruction: request.instruction,
            frame: Some(request.frame.into()),
            image: request.image.map(Into::into),
            scene: Some(request.scene.into()),
            page_text: request.page_text.unwrap_or_default(),
            backends: request.backends,
            remaining: Some(request.remaining.into()),
        }
    }
}

impl TryFrom<wire::ExtractResponse> for Extraction {
    type Error = FieldError;

    fn try_from(response: wire::ExtractResponse) -> Result<Self, FieldError> {
        Ok(Self {
            json: response.json,
            usage: usage(response.usage)?,
            sources: try_from_messages("sources", response.sources)?,
        })
    }
}

impl From<Extraction> for wire::ExtractResponse {
    fn from(extraction: Extraction) -> Self {
        Self {
            json: extraction.json,
            usage: Some(extraction.usage.into()),
            sources: into_messages(extraction.sources),
        }
    }
}

impl TryFrom<wire::LocatePointerRequest> for PointerRequest {
    type Error = FieldError;

    fn try_from(request: wire::LocatePointerRequest) -> Result<Self, FieldError> {
        Ok(Self {
            intent: request.intent,
            target: require("target", request.target)?,
            target_bounds: optional("target_bounds", request.target_bounds)?,
            pointer: require("pointer", request.pointer)?,
            annotated_image: optional("annotated_image", request.annotated_image)?,
            backends: request.backends,
            remaining: optional("remaining", request.remaining)?.unwrap_or_default(),
        })
    }
}

impl From<PointerRequest> for wire::LocatePointerRequest {
    fn from(request: PointerRequest) -> Self {
        Self {
            intent: request.intent,
            target: Some(request.target.into()),
            target_bounds: request.target_bounds.map(Into::into),
            pointer: Some(request.pointer.into()),
            annotated_image: request.annotated_image.map(Into::into),
            backends: request.backends,
            remaining: Some(request.remaining.into()),
        }
    }
}

impl TryFrom<wire::LocatePointerResponse> for PointerCheck {
    type Error = FieldError;

    fn try_from(response: wire::LocatePointerResponse) -> Result<Self, FieldError> {
        Ok(Self {
            on_target: response.on_target,
            dx: response.dx,
            dy: response.dy,
            usage: usage(response.usage)?,
        })
    }
}

impl From<PointerCheck> for wire::LocatePointerResponse {
    fn from(check: PointerCheck) -> Self {
        Self {
            on_target: check.on_target,
            dx: check.dx,
            dy: check.dy,
            usage: Some(check.usage.into()),
        }
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
        }
    }
}

impl TryFrom<wire::Backend> for BackendInfo {
    type Error = FieldError;

    fn try_from(backend: wire::Backend) -> Result<Self, FieldError> {
        use wire::backend::State;

        let state = required_enum("state", backend.state, |state| match state {
            State::Unspecified => None,
            State::Ready => Some(BackendState::Ready),
            State::CircuitOpen => Some(BackendState::CircuitOpen),
            State::NotConfigured => Some(BackendState::NotConfigured),
        })?;
        Ok(Self {
            name: backend.name,
            state,
            model: backend.model,
            last_error: non_empty(backend.last_error),
            median_latency: duration("median_latency", backend.median_latency)?,
            usage: usage(backend.usage)?,
            needs_image: backend.needs_image,
        })
    }
}

impl From<BackendInfo> for wire::Backend {
    fn from(backend: BackendInfo) -> Self {
        use wire::backend::State;

        let state = match backend.state {
            BackendState::Ready => State::Ready,
            BackendState::CircuitOpen => State::CircuitOpen,
            BackendState::NotConfigured => State::NotConfigured,
        };
        Self {
            name: backend.name,
            state: state.into(),
            model: backend.model,
            last_error: backend.last_error.unwrap_or_default(),
            median_latency: backend.median_latency.map(wire_duration),
            usage: Some(backend.usage.into()),
            needs_image: backend.needs_image,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::decision::SafetyCheck;

    #[test]
    fn what_a_person_accepted_comes_back() {
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
