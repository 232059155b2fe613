//! Conversion of decisions, function calls and usage.
//!
//! It does not compare a decision with a screen: the planner does.

use super::{into_messages, optional, sha256, try_from_messages};
use crate::domain::decision::{
    Decision, FunctionCall, FunctionDeclaration, FunctionResult, Next, PlannedAction, SafetyCheck,
    SuspectedInjection, Usage, ValueSource,
};
use crate::domain::id::ElementId;
use crate::error::FieldError;
use crate::v1::common as wire;

conversions! {
    wire::Usage => Usage {
        input_tokens: same,
        output_tokens: same,
        cached_tokens: same,
        reasoning_tokens: same,
        cost_micros_usd: same,
        calls: same,
        inference_time: default_duration,
    }

    wire::SafetyCheck => SafetyCheck {
        id: same,
        code: same,
        message: same,
    }

    wire::FunctionCall => FunctionCall {
        call_id: same,
        name: required_text,
        arguments_json: same,
    }

    wire::PlannedAction => PlannedAction {
        action: required,
        intent: same,
        verify_pointer: same,
        repeatable: same,
    }

    wire::SuspectedInjection => SuspectedInjection {
        quote: same,
        bounds: optional,
    }
}

/// Converts the usage of a response; absent means that no resources were used.
pub(super) fn usage(message: Option<wire::Usage>) -> Result<Usage, FieldError> {
    Ok(optional("usage", message)?.unwrap_or_default())
}

impl TryFrom<wire::FunctionDeclaration> for FunctionDeclaration {
    type Error = FieldError;

    fn try_from(function: wire::FunctionDeclaration) -> Result<Self, FieldError> {
        if function.name.is_empty() {
            return Err(FieldError::missing("name"));
        }
        Ok(Self {
            name: function.name,
            description: function.description,
            parameters_json_schema: function.parameters_json_schema,
        })
    }
}

impl From<FunctionDeclaration> for wire::FunctionDeclaration {
    fn from(function: FunctionDeclaration) -> Self {
        Self {
            name: function.name,
            description: function.description,
            parameters_json_schema: function.parameters_json_schema,
            // Only the policy reads it; planners do not need it.
            destructive: false,
        }
    }
}

impl TryFrom<wire::FunctionResult> for FunctionResult {
    type Error = FieldError;

    fn try_from(result: wire::FunctionResult) -> Result<Self, FieldError> {
        use wire::function_result::Outcome;

        let outcome = match result.outcome {
            Some(Outcome::ResultJson(json)) => Ok(json),
            Some(Outcome::Error(error)) => Err(error),
            None => return Err(FieldError::missing("outcome")),
        };
        Ok(Self {
            call_id: result.call_id,
            outcome,
        })
    }
}

impl From<FunctionResult> for wire::FunctionResult {
    fn from(result: FunctionResult) -> Self {
        use wire::function_result::Outcome;

        let outcome = match result.outcome {
            Ok(json) => Outcome::ResultJson(json),
            Err(error) => Outcome::Error(error),
        };
        Self {
            call_id: result.call_id,
            outcome: Some(outcome),
        }
    }
}

impl TryFrom<wire::ValueSource> for ValueSource {
    type Error = FieldError;

    fn try_from(source: wire::ValueSource) -> Result<Self, FieldError> {
        Ok(Self {
            json_pointer: source.json_pointer,
            element: ElementId(source.element_id),
            bounds: optional("bounds", source.bounds)?,
            content: source.content,
        })
    }
}

impl From<ValueSource> for wire::ValueSource {
    fn from(source: ValueSource) -> Self {
        Self {
            json_pointer: source.json_pointer,
            element_id: source.element.0,
            bounds: source.bounds.map(Into::into),
            content: source.content,
        }
    }
}

fn at_least_one<T>(field: &str, values: Vec<T>) -> Result<Vec<T>, FieldError> {
    if values.is_empty() {
        Err(FieldError::missing(field))
    } else {
        Ok(values)
    }
}

fn next(next: Option<wire::decision::Next>) -> Result<Next, FieldError> {
    use wire::decision::Next as Wire;

    Ok(match next {
        // A decision to act without actions would repeat the same step for ever.
        Some(Wire::Act(act)) => Next::Act(at_least_one(
            "act.actions",
            try_from_messages("act.actions", act.actions)?,
        )?),
        Some(Wire::Done(done)) => Next::Done {
            answer: done.answer,
            evidence: done.evidence,
        },
        Some(Wire::Fail(fail)) => Next::Fail {
            reason: fail.reason,
        },
        Some(Wire::Ask(ask)) => Next::Ask {
            question: ask.question,
            requires_manual_action: ask.requires_manual_action,
        },
        Some(Wire::CallFunctions(functions)) => {
            let calls = try_from_messages("call_functions.calls", functions.calls)?;
            Next::CallFunctions(at_least_one("call_functions.calls", calls)?)
        }
        Some(Wire::Extract(extract)) => Next::Extract {
            json_schema: extract.json_schema,
            instruction: extract.instruction,
        },
        None => return Err(FieldError::missing("next")),
    })
}

fn wire_next(next: Next) -> wire::decision::Next {
    use wire::decision::Next as Wire;

    match next {
        Next::Act(actions) => Wire::Act(wire::ActDecision {
            actions: into_messages(actions),
        }),
        Next::Done { answer, evidence } => Wire::Done(wire::DoneDecision { answer, evidence }),
        Next::Fail { reason } => Wire::Fail(wire::FailDecision { reason }),
        Next::Ask {
            question,
            requires_manual_action,
        } => Wire::Ask(wire::AskDecision {
            question,
            requires_manual_action,
        }),
        Next::CallFunctions(calls) => Wire::CallFunctions(wire::CallFunctionsDecision {
            calls: into_messages(calls),
        }),
        Next::Extract {
            json_schema,
            instruction,
        } => Wire::Extract(wire::ExtractDecision {
            json_schema,
            instruction,
        }),
    }
}

impl TryFrom<wire::Decision> for Decision {
    type Error = FieldError;

    fn try_from(decision: wire::Decision) -> Result<Self, FieldError> {
        Ok(Self {
            thought: decision.thought,
            progress: decision.progress,
            next: next(decision.next)?,
            safety_checks: try_from_messages("safety_checks", decision.safety_checks)?,
            conversation: decision.conversation,
            backend: decision.backend,
            model: decision.model,
            usage: usage(decision.usage)?,
            suspected_injections: try_from_messages(
                "suspected_injections",
                decision.suspected_injections,
            )?,
            conversation_images: decision
                .conversation_images
                .iter()
                .map(|image| sha256("conversation_images", image))
                .collect::<Result<_, _>>()?,
        })
    }
}

impl From<Decision> for wire::Decision {
    fn from(decision: Decision) -> Self {
        Self {
            thought: decision.thought,
            progress: decision.progress,
            next: Some(wire_next(decision.next)),
            safety_checks: into_messages(decision.safety_checks),
            conversation: decision.conversation,
            backend: decision.backend,
            model: decision.model,
            usage: Some(decision.usage.into()),
            suspected_injections: into_messages(decision.suspected_injections),
            conversation_images: decision
                .conversation_images
                .iter()
                .map(|image| image.to_vec().into())
                .collect(),
        }
    }
}
