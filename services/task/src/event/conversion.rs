//! Conversion of events to and from their stored form, the API message `Event`. Values are converted, not validated.

use std::time::Duration;

use motorium_proto::convert::{self, optional, require};
use motorium_proto::domain::id::{ActionId, DesktopEpoch, DesktopName, EventSeq, TaskName};
use motorium_proto::error::FieldError;
use motorium_proto::service::{BackendAttempt, StageTiming};
use motorium_proto::v1::{common, orchestrator as wire};

use super::super::approval::approval_name;
use super::super::artifact::{StoredExchange, optional_artifact, required_artifact, wire_artifact};
use super::super::loop_notice::{LoopNotice, LoopPattern, Mitigation};
use super::super::retry_strategy::RetryStrategy;
use super::super::screen::Fingerprint;
use super::super::spec::{Attachment, TaskSpec, attachments};
use super::{
    ActionIntended, Event, Failure, Observed, PointerChecked, RecordedEvent, ResultFile,
    UserImageArtifact, UserRequest, UserRequestKind,
};

impl RecordedEvent {
    /// Returns the API message. The state after the event is not part of the event and is left unspecified.
    #[must_use]
    pub fn to_wire(&self, task: &TaskName) -> wire::Event {
        wire::Event {
            task: task.to_string(),
            sequence: self.seq.0,
            time: Some(convert::wire_time(self.at)),
            step: self.step,
            state: wire::task::State::Unspecified.into(),
            kind: wire_kind(task, self.event.clone()),
        }
    }
}

impl TryFrom<wire::Event> for RecordedEvent {
    type Error = FieldError;

    fn try_from(event: wire::Event) -> Result<Self, FieldError> {
        Ok(Self {
            seq: EventSeq(event.sequence),
            at: convert::time("time", event.time)?,
            step: event.step,
            // Decoding drops the content of kinds that this build does not know.
            event: event.kind.map_or(Ok(Event::Unknown), domain_event)?,
        })
    }
}

/// Returns false for the placeholder of a missing artifact, which has no name.
fn is_stored(artifact: &wire::Artifact) -> bool {
    !artifact.name.is_empty()
}

fn user_image(
    image: Option<wire::Artifact>,
    size: Option<common::PixelSize>,
) -> Result<Option<UserImageArtifact>, FieldError> {
    let Some(artifact) = optional_artifact("image", image)? else {
        return Ok(None);
    };
    let size = require("image_size", size)?;
    Ok(Some(UserImageArtifact { artifact, size }))
}

fn elapsed(message: Option<prost_types::Duration>) -> Result<Duration, FieldError> {
    Ok(convert::duration("elapsed", message)?.unwrap_or_default())
}

pub(crate) fn wire_request(task: &TaskName, request: UserRequest) -> wire::UserRequest {
    use wire::user_request::Kind;

    let kind = match request.kind {
        UserRequestKind::Question => Kind::Question,
        UserRequestKind::ManualAction => Kind::ManualAction,
        UserRequestKind::Approval => Kind::Approval,
        UserRequestKind::TakeOver => Kind::TakeOver,
    };
    wire::UserRequest {
        kind: kind.into(),
        message: request.message,
        approval: request
            .approval
            .map(|id| approval_name(task, &id))
            .unwrap_or_default(),
    }
}

fn user_request(request: wire::UserRequest) -> UserRequest {
    use wire::user_request::Kind;

    let kind = match request.kind() {
        Kind::Unspecified | Kind::Question => UserRequestKind::Question,
        Kind::ManualAction => UserRequestKind::ManualAction,
        Kind::Approval => UserRequestKind::Approval,
        Kind::TakeOver => UserRequestKind::TakeOver,
    };
    let approval = request.approval.rsplit_once("/approvals/");
    UserRequest {
        kind,
        approval: approval.map(|(_, id)| id.to_owned()),
        message: request.message,
    }
}

fn wire_kind(task: &TaskName, event: Event) -> Option<wire::event::Kind> {
    use wire::event::Kind;

    Some(match event {
        Event::Created(spec) => Kind::Created(wire::TaskCreated {
            task: Some(spec.to_wire(false)),
        }),
        Event::Started { orchestrator } => Kind::Started(wire::TaskStarted { orchestrator }),
        Event::Recovered {
            orchestrator,
            unknown_actions,
        } => Kind::Recovered(wire::TaskRecovered {
            orchestrator,
            unknown_actions: unknown_actions.iter().map(ToString::to_string).collect(),
        }),
        Event::DesktopAcquired {
            desktop,
            epoch,
            journal_checkpoint,
        } => Kind::DesktopAcquired(wire::DesktopAcquired {
            desktop: desktop.to_string(),
            epoch: epoch.0,
            journal_checkpoint: journal_checkpoint.unwrap_or_default(),
        }),
        Event::LiveFrame { desktop } => Kind::LiveFrame(wire::LiveFrame {
            desktop: desktop.to_string(),
        }),
        Event::DesktopReleased { desktop } => Kind::DesktopReleased(wire::DesktopReleased {
            desktop: desktop.to_string(),
        }),
        Event::DesktopAwaited { wait, message } => Kind::DesktopAwaited(wire::DesktopAwaited {
            wait: Some(wait.to_wire(message)),
        }),
        Event::SessionLoaded { tasks } => Kind::SessionLoaded(wire::SessionLoaded {
            tasks: convert::into_messages(tasks),
        }),
        Event::AttachmentPut {
            name,
            size_bytes,
            path,
            error,
            image,
            image_error,
        } => {
            let (image, image_size) = image.map(|shown| (shown.artifact, shown.size)).unzip();
            Kind::AttachmentPut(wire::AttachmentPut {
                name,
                size_bytes,
                path,
                error,
                image: image.map(|image| wire_artifact(task, image)),
                image_size: image_size.map(Into::into),
                image_error,
            })
        }
        Event::Observed(observed) => Kind::Observed(wire::Observed {
            frame: Some(observed.frame.into()),
            image: observed.image.map(|image| wire_artifact(task, image)),
            element_count: observed.element_count,
            elapsed: Some(convert::wire_duration(observed.elapsed)),
            fingerprint: observed.fingerprint.0.to_vec().into(),
            scene: observed.scene.map(|scene| wire_artifact(task, scene)),
            current_url: observed.current_url.unwrap_or_default(),
        }),
        Event::Decided {
            decision,
            elapsed,
            annotated_image,
            exchange,
        } => {
            let (requests, responses) = exchange.into_wire(task);
            Kind::Decided(wire::Decided {
                decision: Some((*decision).into()),
                elapsed: Some(convert::wire_duration(elapsed)),
                annotated_image: annotated_image.map(|image| wire_artifact(task, image)),
                responses,
                requests,
            })
        }
        Event::ProgressAdded { text } => Kind::ProgressAdded(wire::ProgressAdded { text }),
        Event::ProgressCorrected { sequence, text } => {
            Kind::ProgressCorrected(wire::ProgressCorrected {
                sequence: sequence.0,
                text,
            })
        }
        Event::BackendSkipped { attempt, exchange } => {
            let (requests, responses) = exchange.into_wire(task);
            Kind::BackendSkipped(wire::BackendSkipped {
                backend: attempt.backend,
                reason: attempt.reason,
                message: attempt.message,
                usage: Some(attempt.usage.into()),
                responses,
                requests,
            })
        }
        Event::ActionIntended(intended) => Kind::ActionIntended(wire::ActionIntended {
            action_id: intended.action_id.to_string(),
            retry_of: intended
                .retry_of
                .map(|id| id.to_string())
                .unwrap_or_default(),
            planned: Some(intended.planned.into()),
            action: Some(intended.action.into()),
            target: intended.target.map(Into::into),
            target_label: intended.target_label.unwrap_or_default(),
        }),
        Event::ActionPerformed { action_id, outcome } => {
            Kind::ActionPerformed(wire::ActionPerformed {
                action_id: action_id.to_string(),
                outcome: Some(outcome.into()),
            })
        }
        Event::EffectJudged {
            action_id,
            effect,
            screenshot,
        } => Kind::EffectJudged(wire::EffectJudged {
            action_id: action_id.to_string(),
            effect: Some((*effect).into()),
            screenshot: screenshot.map(|screenshot| wire_artifact(task, screenshot)),
        }),
        Event::ActionRetried {
            action_id,
            attempts,
            reason,
            strategy,
        } => Kind::ActionRetried(wire::ActionRetried {
            action_id: action_id.to_string(),
            attempts,
            reason,
            strategy: wire_strategy(strategy).into(),
        }),
        Event::PointerChecked(checked) => {
            let (requests, responses) = checked.exchange.into_wire(task);
            Kind::PointerChecked(wire::PointerChecked {
                action_id: checked.action_id.to_string(),
                target: Some(checked.target.into()),
                pointer: Some(checked.pointer.into()),
                on_target: checked.on_target,
                corrections: checked.corrections,
                image: checked.image.map(|image| wire_artifact(task, image)),
                usage: Some(checked.usage.into()),
                responses,
                requests,
            })
        }
        Event::TargetNotResolved { message } => {
            Kind::TargetNotResolved(wire::TargetNotResolved { message })
        }
        Event::StepFinished { timings, outcome } => Kind::StepFinished(wire::StepFinished {
            timings: timings.into_iter().map(wire_timing).collect(),
            outcome,
        }),
        Event::FunctionCalled(call) => Kind::FunctionCalled(wire::FunctionCalled {
            call: Some(call.into()),
        }),
        Event::FunctionReturned { result, elapsed } => {
            Kind::FunctionReturned(wire::FunctionReturned {
                result: Some(result.into()),
                elapsed: Some(convert::wire_duration(elapsed)),
            })
        }
        Event::Extracted {
            json,
            usage,
            sources,
            exchange,
        } => {
            let (requests, responses) = exchange.into_wire(task);
            Kind::Extracted(wire::Extracted {
                json,
                usage: Some(usage.into()),
                sources: convert::into_messages(sources),
                responses,
                requests,
            })
        }
        Event::UserAsked(request) => Kind::UserAsked(wire::UserAsked {
            request: Some(wire_request(task, request)),
        }),
        Event::ApprovalRequested(approval) => Kind::ApprovalRequested(wire::ApprovalRequested {
            approval: Some(approval.to_wire(task)),
        }),
        Event::ApprovalResolved(approval) => Kind::ApprovalResolved(wire::ApprovalResolved {
            approval: Some(approval.to_wire(task)),
        }),
        Event::InjectionSuspected {
            suspected_injections,
            evidence,
        } => Kind::InjectionSuspected(wire::InjectionSuspected {
            suspected_injections: convert::into_messages(suspected_injections),
            evidence: evidence
                .into_iter()
                .map(|crop| crop.map_or_else(Default::default, |crop| wire_artifact(task, crop)))
                .collect(),
        }),
        Event::UserAcknowledged {
            message,
            attachments,
            written_by_model,
        } => Kind::UserAcknowledged(wire::UserAcknowledged {
            message,
            attachments: wire_attachments(&attachments),
            written_by_model,
        }),
        Event::MessageReceived {
            text,
            attachments,
            written_by_model,
        } => Kind::MessageReceived(wire::MessageReceived {
            text,
            attachments: wire_attachments(&attachments),
            written_by_model,
        }),
        Event::TakenOver { user } => Kind::TakenOver(wire::TakenOver { user }),
        Event::HumanActed { description, at } => Kind::HumanActed(wire::HumanActed {
            description,
            at: at.map(Into::into),
        }),
        Event::HandedBack { message } => Kind::HandedBack(wire::HandedBack { message }),
        Event::Paused { reason } => Kind::Paused(wire::Paused { reason }),
        Event::Resumed => Kind::Resumed(wire::Resumed {}),
        Event::CancelRequested { reason } => {
            Kind::CancelRequested(wire::CancelRequested { reason })
        }
        Event::LoopDetected(notice) => Kind::LoopDetected(wire_notice(notice)),
        Event::CompletionChecked {
            passed,
            second_look,
            missing,
        } => Kind::CompletionChecked(wire::CompletionChecked {
            passed,
            unmet_expectations: missing,
            second_look,
        }),
        Event::ResultFetched(file) => Kind::ResultFetched(wire::ResultFetched {
            artifact: file.artifact.map(|artifact| wire_artifact(task, artifact)),
            error: file.error,
            name: file.name,
            path: file.path,
        }),
        Event::TransientFailure { reason, message } => {
            Kind::TransientFailure(wire::TransientFailure { reason, message })
        }
        Event::HookIntervened {
            hook,
            point,
            message,
            denied,
        } => Kind::HookIntervened(wire::HookIntervened {
            hook,
            point,
            message,
            denied,
        }),
        Event::Summarized {
            text,
            usage,
            by_model,
            exchange,
        } => {
            let (requests, responses) = exchange.into_wire(task);
            Kind::Summarized(wire::TaskSummarized {
                text,
                usage: Some(usage.into()),
                by_model,
                responses,
                requests,
            })
        }
        Event::EndScreenCaptured { image } => Kind::EndScreenCaptured(wire::EndScreenCaptured {
            image: Some(wire_artifact(task, image)),
        }),
        Event::Succeeded { answer } => Kind::Succeeded(wire::TaskSucceeded { answer }),
        Event::Failed(failure) => Kind::Failed(wire::TaskFailed {
            failure: Some(wire_failure(failure)),
        }),
        Event::Cancelled { reason } => Kind::Cancelled(wire::TaskCancelled { reason }),
        Event::Unknown => return None,
    })
}

fn wire_attachments(attachments: &[Attachment]) -> Vec<wire::Attachment> {
    let attachments = attachments.iter();
    attachments
        .map(|attachment| attachment.to_wire(false))
        .collect()
}

fn wire_strategy(strategy: RetryStrategy) -> wire::action_retried::RetryStrategy {
    use wire::action_retried::RetryStrategy as Wire;

    match strategy {
        RetryStrategy::Unchanged => Wire::Unchanged,
        RetryStrategy::OffsetPoint => Wire::OffsetPoint,
        RetryStrategy::OtherPoint => Wire::OtherPoint,
        RetryStrategy::RelocatedTarget => Wire::RelocatedTarget,
        RetryStrategy::ReversedScroll => Wire::ReversedScroll,
        RetryStrategy::ReobservedEffect => Wire::ReobservedEffect,
    }
}

/// Reads a retry strategy. Logs from before strategies existed only had the offset click.
fn strategy(strategy: wire::action_retried::RetryStrategy) -> RetryStrategy {
    use wire::action_retried::RetryStrategy as Wire;

    match strategy {
        Wire::Unchanged => RetryStrategy::Unchanged,
        Wire::Unspecified | Wire::OffsetPoint => RetryStrategy::OffsetPoint,
        Wire::OtherPoint => RetryStrategy::OtherPoint,
        Wire::RelocatedTarget => RetryStrategy::RelocatedTarget,
        Wire::ReversedScroll => RetryStrategy::ReversedScroll,
        Wire::ReobservedEffect => RetryStrategy::ReobservedEffect,
    }
}

fn wire_notice(notice: LoopNotice) -> wire::LoopDetected {
    use wire::loop_detected::{Mitigation as WireMitigation, Pattern as WirePattern};

    let pattern = match notice.pattern {
        LoopPattern::Repetition => WirePattern::Repetition,
        LoopPattern::Cycle => WirePattern::Cycle,
        LoopPattern::Stagnation => WirePattern::Stagnation,
    };
    let measure = match notice.mitigation {
        Mitigation::NotifyPlanner => WireMitigation::NotifyPlanner,
        Mitigation::BlockActions => WireMitigation::BlockActions,
        Mitigation::AskUser => WireMitigation::AskUser,
    };
    wire::LoopDetected {
        message: notice.message,
        pattern: pattern.into(),
        mitigation: measure.into(),
    }
}

fn notice(noticed: wire::LoopDetected) -> LoopNotice {
    use wire::loop_detected::{Mitigation as WireMitigation, Pattern as WirePattern};

    let pattern = match noticed.pattern() {
        WirePattern::Unspecified | WirePattern::Repetition => LoopPattern::Repetition,
        WirePattern::Cycle => LoopPattern::Cycle,
        WirePattern::Stagnation => LoopPattern::Stagnation,
    };
    let measure = match noticed.mitigation() {
        WireMitigation::Unspecified | WireMitigation::NotifyPlanner => Mitigation::NotifyPlanner,
        WireMitigation::BlockActions => Mitigation::BlockActions,
        WireMitigation::AskUser => Mitigation::AskUser,
    };
    LoopNotice {
        pattern,
        mitigation: measure,
        message: noticed.message,
    }
}

pub(crate) fn wire_failure(failure: Failure) -> wire::Failure {
    wire::Failure {
        reason: failure.reason,
        message: failure.message,
    }
}

pub(crate) fn wire_timing(timing: StageTiming) -> wire::StageTiming {
    wire::StageTiming {
        stage: timing.stage,
        elapsed: Some(convert::wire_duration(timing.elapsed)),
    }
}

fn timing(timing: wire::StageTiming) -> Result<StageTiming, FieldError> {
    Ok(StageTiming {
        stage: timing.stage,
        elapsed: elapsed(timing.elapsed)?,
    })
}

fn observed(observed: wire::Observed) -> Result<Event, FieldError> {
    Ok(Event::Observed(Box::new(Observed {
        frame: require("frame", observed.frame)?,
        image: optional_artifact("image", observed.image)?,
        element_count: observed.element_count,
        elapsed: elapsed(observed.elapsed)?,
        // Older logs have no fingerprint, so all their screens compare equal. Steps with an effect still do not count as a
        // loop, so loops are detected late rather than too early.
        fingerprint: observed
            .fingerprint
            .as_ref()
            .try_into()
            .map(Fingerprint)
            .unwrap_or_default(),
        scene: optional_artifact("scene", observed.scene)?,
        current_url: given(observed.current_url),
    })))
}

/// Returns a text that is empty if it is absent.
fn given(text: String) -> Option<String> {
    Some(text).filter(|text| !text.is_empty())
}

fn pointer_checked(checked: wire::PointerChecked) -> Result<Event, FieldError> {
    Ok(Event::PointerChecked(Box::new(PointerChecked {
        action_id: ActionId::new(checked.action_id),
        target: require("target", checked.target)?,
        pointer: require("pointer", checked.pointer)?,
        on_target: checked.on_target,
        corrections: checked.corrections,
        image: optional_artifact("image", checked.image)?,
        usage: optional("usage", checked.usage)?.unwrap_or_default(),
        exchange: StoredExchange::from_wire(checked.requests, checked.responses)?,
    })))
}

fn intended(intended: wire::ActionIntended) -> Result<Event, FieldError> {
    let retry_of = given(intended.retry_of);
    Ok(Event::ActionIntended(Box::new(ActionIntended {
        action_id: ActionId::new(intended.action_id),
        retry_of: retry_of.map(ActionId::new),
        planned: require("planned", intended.planned)?,
        action: require("action", intended.action)?,
        target: optional("target", intended.target)?,
        target_label: given(intended.target_label),
    })))
}

fn created(created: wire::TaskCreated) -> Result<Event, FieldError> {
    let task = created.task.ok_or_else(|| FieldError::missing("task"))?;
    let name = TaskName::parse("task.name", &task.name)?;
    let uid = task.uid.clone();
    let spec = TaskSpec::from_record(name, uid, task)?;
    Ok(Event::Created(Box::new(spec)))
}

fn domain_event(kind: wire::event::Kind) -> Result<Event, FieldError> {
    use wire::event::Kind;

    Ok(match kind {
        Kind::Created(event) => created(event)?,
        Kind::Started(event) => Event::Started {
            orchestrator: event.orchestrator,
        },
        Kind::Recovered(event) => Event::Recovered {
            orchestrator: event.orchestrator,
            unknown_actions: event
                .unknown_actions
                .into_iter()
                .map(ActionId::new)
                .collect(),
        },
        Kind::DesktopAcquired(event) => Event::DesktopAcquired {
            desktop: DesktopName::parse("desktop", &event.desktop)?,
            epoch: DesktopEpoch(event.epoch),
            journal_checkpoint: given(event.journal_checkpoint),
        },
        Kind::SessionLoaded(event) => Event::SessionLoaded {
            tasks: convert::try_from_messages("tasks", event.tasks)?,
        },
        Kind::DesktopReleased(event) => Event::DesktopReleased {
            desktop: DesktopName::parse("desktop", &event.desktop)?,
        },
        Kind::DesktopAwaited(event) => Event::DesktopAwaited {
            message: event
                .wait
                .as_ref()
                .map(|wait| wait.message.clone())
                .unwrap_or_default(),
            wait: require("wait", event.wait)?,
        },
        Kind::LiveFrame(event) => Event::LiveFrame {
            desktop: DesktopName::parse("desktop", &event.desktop)?,
        },
        Kind::AttachmentPut(event) => Event::AttachmentPut {
            name: event.name,
            size_bytes: event.size_bytes,
            path: event.path,
            error: event.error,
            image: user_image(event.image, event.image_size)?,
            image_error: event.image_error,
        },
        Kind::Observed(event) => observed(event)?,
        Kind::Decided(event) => Event::Decided {
            decision: Box::new(require("decision", event.decision)?),
            elapsed: elapsed(event.elapsed)?,
            annotated_image: optional_artifact("annotated_image", event.annotated_image)?,
            exchange: StoredExchange::from_wire(event.requests, event.responses)?,
        },
        Kind::ProgressAdded(event) => Event::ProgressAdded { text: event.text },
        Kind::ProgressCorrected(event) => Event::ProgressCorrected {
            sequence: EventSeq(event.sequence),
            text: event.text,
        },
        Kind::BackendSkipped(event) => Event::BackendSkipped {
            attempt: BackendAttempt {
                backend: event.backend,
                reason: event.reason,
                message: event.message,
                usage: optional("usage", event.usage)?.unwrap_or_default(),
            },
            exchange: StoredExchange::from_wire(event.requests, event.responses)?,
        },
        Kind::ActionIntended(event) => intended(event)?,
        Kind::ActionPerformed(event) => Event::ActionPerformed {
            action_id: ActionId::new(event.action_id),
            outcome: require("outcome", event.outcome)?,
        },
        Kind::EffectJudged(event) => Event::EffectJudged {
            action_id: ActionId::new(event.action_id),
            effect: Box::new(require("effect", event.effect)?),
            screenshot: optional_artifact("screenshot", event.screenshot)?,
        },
        Kind::ActionRetried(event) => Event::ActionRetried {
            strategy: strategy(event.strategy()),
            action_id: ActionId::new(event.action_id),
            attempts: event.attempts,
            reason: event.reason,
        },
        Kind::PointerChecked(event) => pointer_checked(event)?,
        Kind::TargetNotResolved(event) => Event::TargetNotResolved {
            message: event.message,
        },
        Kind::StepFinished(event) => Event::StepFinished {
            timings: event
                .timings
                .into_iter()
                .map(timing)
                .collect::<Result<_, _>>()?,
            outcome: event.outcome,
        },
        Kind::FunctionCalled(event) => Event::FunctionCalled(require("call", event.call)?),
        Kind::FunctionReturned(event) => Event::FunctionReturned {
            result: require("result", event.result)?,
            elapsed: elapsed(event.elapsed)?,
        },
        Kind::Extracted(event) => Event::Extracted {
            json: event.json,
            usage: optional("usage", event.usage)?.unwrap_or_default(),
            sources: convert::try_from_messages("sources", event.sources)?,
            exchange: StoredExchange::from_wire(event.requests, event.responses)?,
        },
        Kind::UserAsked(event) => Event::UserAsked(user_request(event.request.unwrap_or_default())),
        Kind::ApprovalRequested(event) => {
            Event::ApprovalRequested(Box::new(require("approval", event.approval)?))
        }
        Kind::ApprovalResolved(event) => {
            Event::ApprovalResolved(Box::new(require("approval", event.approval)?))
        }
        Kind::InjectionSuspected(event) => Event::InjectionSuspected {
            suspected_injections: convert::try_from_messages(
                "suspected_injections",
                event.suspected_injections,
            )?,
            evidence: event
                .evidence
                .into_iter()
                .map(|crop| optional_artifact("evidence", Some(crop).filter(is_stored)))
                .collect::<Result<_, _>>()?,
        },
        Kind::UserAcknowledged(event) => Event::UserAcknowledged {
            message: event.message,
            attachments: attachments("attachments", event.attachments)?,
            written_by_model: event.written_by_model,
        },
        Kind::MessageReceived(event) => Event::MessageReceived {
            text: event.text,
            attachments: attachments("attachments", event.attachments)?,
            written_by_model: event.written_by_model,
        },
        Kind::TakenOver(event) => Event::TakenOver { user: event.user },
        Kind::HumanActed(event) => Event::HumanActed {
            description: event.description,
            at: event.at.map(TryInto::try_into).transpose()?,
        },
        Kind::HandedBack(event) => Event::HandedBack {
            message: event.message,
        },
        Kind::Paused(event) => Event::Paused {
            reason: event.reason,
        },
        Kind::Resumed(_) => Event::Resumed,
        Kind::CancelRequested(event) => Event::CancelRequested {
            reason: event.reason,
        },
        Kind::LoopDetected(event) => Event::LoopDetected(notice(event)),
        Kind::CompletionChecked(event) => Event::CompletionChecked {
            passed: event.passed,
            second_look: event.second_look,
            missing: event.unmet_expectations,
        },
        Kind::ResultFetched(event) => Event::ResultFetched(ResultFile {
            artifact: optional_artifact("artifact", event.artifact)?,
            error: event.error,
            name: event.name,
            path: event.path,
        }),
        Kind::TransientFailure(event) => Event::TransientFailure {
            reason: event.reason,
            message: event.message,
        },
        Kind::HookIntervened(event) => Event::HookIntervened {
            hook: event.hook,
            point: event.point,
            message: event.message,
            denied: event.denied,
        },
        Kind::Summarized(event) => Event::Summarized {
            text: event.text,
            usage: optional("usage", event.usage)?.unwrap_or_default(),
            by_model: event.by_model,
            exchange: StoredExchange::from_wire(event.requests, event.responses)?,
        },
        Kind::EndScreenCaptured(event) => Event::EndScreenCaptured {
            image: required_artifact("image", event.image)?,
        },
        Kind::Succeeded(event) => Event::Succeeded {
            answer: event.answer,
        },
        Kind::Failed(event) => {
            let failure = event.failure.unwrap_or_default();
            Event::Failed(Failure {
                reason: failure.reason,
                message: failure.message,
            })
        }
        Kind::Cancelled(event) => Event::Cancelled {
            reason: event.reason,
        },
    })
}
