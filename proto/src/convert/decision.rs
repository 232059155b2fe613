use super::{duration, into_messages, optional, require, sha256, try_from_messages, wire_duration};
use crate::domain::decision::{
    Decision, FunctionCall, FunctionDeclaration, FunctionResult, Next, PlannedAction, SafetyCheck,
    SuspectedInjection, Usage, ValueSource,
};
use crate::domain::id::ElementId;
use crate::error::FieldError;
use crate::v1::common as wire;

impl TryFrom<wire::Usage> for Usage {
    type Error = FieldError;

    fn try_from(usage: wire::Usage) -> Result<Self, FieldError> {
        Ok(Self {
            input_tokens: usage.input_tokens,
            output_tokens: usage.output_tokens,
            cached_tokens: usage.cached_tokens,
            reasoning_tokens: usage.reasoning_tokens,
            cost_micros_usd: usage.cost_micros_usd,
            calls: usage.calls,
            inference_time: duration("inference_time", usage.inference_time)?.unwrap_or_default(),
        })
    }
}

impl From<Usage> for wire::Usage {
    fn from(usage: Usage) -> Self {
        Self {
            input_tokens: usage.input_tokens,
            output_tokens: usage.output_tokens,
            cached_tokens: usage.cached_tokens,
            reasoning_tokens: usage.reasoning_tokens,
            cost_micros_usd: usage.cost_micros_usd,
            calls: usage.calls,
            inference_time: Some(wire_duration(usage.inference_time)),
        }
    }
}

/// Converts the usage of a response; absent means that no resources were used.
pub(super) fn usage(message: Option<wire::Usage>) -> Result<Usage, FieldError> {
    Ok(optional("usage", message)?.unwrap_or_default())
}

impl TryFrom<wire::SafetyCheck> for SafetyCheck {
    type Error = FieldError;

    fn try_from(check: wire::SafetyCheck) -> Result<Self, FieldError> {
        Ok(Self {
            id: check.id,
            code: check.code,
            message: check.message,
        })
    }
}

impl From<SafetyCheck> for wire::SafetyCheck {
    fn from(check: SafetyCheck) -> Self {
        Self {
            id: check.id,
            code: check.code,
            message: check.message,
        }
    }
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

impl TryFrom<wire::FunctionCall> for FunctionCall {
    type Error = FieldError;

    fn try_from(call: wire::FunctionCall) -> Result<Self, FieldError> {
        if call.name.is_empty() {
            return Err(FieldError::missing("name"));
        }
        Ok(Self {
            call_id: call.call_id,
            name: call.name,
            arguments_json: call.arguments_json,
        })
    }
}

impl From<FunctionCall> for wire::FunctionCall {
    fn from(call: FunctionCall) -> Self {
        Self {
            call_id: call.call_id,
            name: call.name,
            arguments_json: call.arguments_json,
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

impl TryFrom<wire::PlannedAction> for PlannedAction {
    type Error = FieldError;

    fn try_from(planned: wire::PlannedAction) -> Result<Self, FieldError> {
        Ok(Self {
            action: require("action", planned.action)?,
            intent: planned.intent,
            verify_pointer: planned.verify_pointer,
            repeatable: planned.repeatable,
        })
    }
}

impl From<PlannedAction> for wire::PlannedAction {
    fn from(planned: PlannedAction) -> Self {
        Self {
            action: Some(planned.action.into()),
            intent: planned.intent,
            verify_pointer: planned.verify_pointer,
            repeatable: planned.repeatable,
        }
    }
}

impl TryFrom<wire::SuspectedInjection> for SuspectedInjection {
    type Error = FieldError;

    fn try_from(suspicion: wire::SuspectedInjection) -> Result<Self, FieldError> {
        Ok(Self {
            quote: suspicion.quote,
            bounds: optional("bounds", suspicion.bounds)?,
        })
    }
}

impl From<SuspectedInjection> for wire::SuspectedInjection {
    fn from(suspicion: SuspectedInjection) -> Self {
        Self {
            quote: suspicion.quote,
            bounds: suspicion.bounds.map(Into::into),
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
