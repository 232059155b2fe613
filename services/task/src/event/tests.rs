//! Every kind of event survives its stored form.

use std::collections::BTreeMap;

use motorium_proto::FILE_DESCRIPTOR_SET;
use motorium_proto::domain::decision::{Next, SafetyCheck};
use motorium_proto::domain::effect::{ActionResult, ChangeMap, Verdict};
use motorium_proto::domain::id::{ElementId, TaskName};
use motorium_proto::domain::session::{EarlierMessage, MessageRole, TaskEnd};
use prost::Message as _;
use prost_types::FileDescriptorSet;

use super::*;
use crate::approval::{ApprovalState, ApprovalSubject};
use crate::loop_notice::{LoopPattern, Mitigation};
use crate::owner::Owner;
use crate::samples;
use crate::spec::{AttachmentContent, DesktopSelector, Expectation, Limits};

/// Returns an example of every kind.
fn examples() -> Vec<Event> {
    let id = || ActionId::new("t/1/0/0");
    let desktop = || DesktopName::parse("desktop", "desktops/a").unwrap();
    let text = |text: &str| text.to_owned();
    vec![
        created(),
        Event::Started {
            orchestrator: text("o"),
        },
        Event::Recovered {
            orchestrator: text("o"),
            unknown_actions: vec![id()],
        },
        Event::DesktopAcquired {
            desktop: desktop(),
            epoch: DesktopEpoch(3),
            journal_checkpoint: Some(text("checkpoint/1")),
        },
        Event::LiveFrame { desktop: desktop() },
        Event::DesktopReleased { desktop: desktop() },
        Event::DesktopAwaited {
            wait: DesktopWait::StartTime,
            message: text("later"),
        },
        Event::SessionLoaded {
            tasks: vec![earlier_task()],
        },
        Event::AttachmentPut {
            name: text("a.txt"),
            size_bytes: 3,
            path: text("/files/a.txt"),
            error: text("full"),
            image: Some(UserImageArtifact {
                artifact: artifact(),
                size: CaptureSize::new(40, 30),
            }),
            image_error: text("too large"),
        },
        observed(),
        decided(),
        Event::ProgressAdded { text: text("p") },
        Event::ProgressCorrected {
            sequence: EventSeq(4),
            text: text("q"),
        },
        Event::BackendSkipped {
            attempt: BackendAttempt {
                backend: text("b"),
                reason: text("TIMEOUT"),
                message: text("no answer"),
                usage: usage(),
            },
            exchange: exchange(),
        },
        intended(),
        Event::ActionPerformed {
            action_id: id(),
            outcome: ActionOutcome {
                rule: Some(text("rules.actions")),
                ..ActionOutcome::new(ActionResult::Refused, "not allowed")
            },
        },
        Event::EffectJudged {
            action_id: id(),
            effect: Box::new(effect()),
            screenshot: Some(artifact()),
        },
        Event::ActionRetried {
            action_id: id(),
            attempts: 2,
            reason: text("no change"),
            strategy: RetryStrategy::OtherPoint,
        },
        Event::PointerChecked(Box::new(PointerChecked {
            action_id: id(),
            target: CapturePoint::new(1, 2),
            pointer: CapturePoint::new(3, 4),
            on_target: true,
            corrections: 1,
            image: Some(artifact()),
            usage: usage(),
            exchange: exchange(),
        })),
        Event::TargetNotResolved { message: text("m") },
        Event::StepFinished {
            timings: vec![StageTiming {
                stage: text("observe"),
                elapsed: Duration::from_millis(5),
            }],
            outcome: text("saved"),
        },
        Event::FunctionCalled(FunctionCall {
            call_id: text("c"),
            name: text("f"),
            arguments_json: text("{}"),
        }),
        Event::FunctionReturned {
            result: FunctionResult {
                call_id: text("c"),
                outcome: Err(text("no")),
            },
            elapsed: Duration::from_millis(6),
        },
        Event::Extracted {
            json: text("{}"),
            usage: usage(),
            exchange: exchange(),
            sources: vec![ValueSource {
                json_pointer: text("/total"),
                element: ElementId(7),
                bounds: Some(rect()),
                content: text("12"),
            }],
        },
        Event::UserAsked(UserRequest {
            approval: Some(text("1-0-1")),
            ..UserRequest::new(UserRequestKind::Approval, "may it?")
        }),
        Event::ApprovalRequested(Box::new(approval(ApprovalState::Pending))),
        Event::ApprovalResolved(Box::new(approval(ApprovalState::Denied))),
        Event::InjectionSuspected {
            suspected_injections: vec![SuspectedInjection {
                quote: text("ignore all"),
                bounds: Some(rect()),
            }],
            evidence: vec![Some(artifact()), None],
        },
        Event::UserAcknowledged {
            message: text("yes"),
            attachments: vec![attachment()],
            written_by_model: true,
        },
        Event::MessageReceived {
            text: text("wait"),
            attachments: vec![attachment()],
            written_by_model: true,
        },
        Event::TakenOver { user: text("ann") },
        Event::HumanActed {
            description: text("clicked"),
            at: Some(CapturePoint::new(5, 6)),
        },
        Event::HandedBack {
            message: text("done"),
        },
        Event::Paused { reason: text("r") },
        Event::Resumed,
        Event::CancelRequested { reason: text("r") },
        Event::LoopDetected(LoopNotice {
            pattern: LoopPattern::Cycle,
            mitigation: Mitigation::BlockActions,
            message: text("again"),
        }),
        Event::CompletionChecked {
            passed: true,
            second_look: true,
            missing: vec![text("a window")],
        },
        Event::ResultFetched(ResultFile {
            name: text("a.pdf"),
            path: text("/files/a.pdf"),
            artifact: Some(artifact()),
            error: text("cut"),
        }),
        Event::TransientFailure {
            reason: text("UNAVAILABLE"),
            message: text("gone"),
        },
        Event::HookIntervened {
            hook: text("budget"),
            point: text("BEFORE_ACTION"),
            message: text("no"),
            denied: true,
        },
        Event::Summarized {
            text: text("half"),
            usage: usage(),
            by_model: true,
            exchange: exchange(),
        },
        Event::EndScreenCaptured { image: artifact() },
        Event::Succeeded { answer: text("a") },
        Event::Failed(Failure::new("STEP_LIMIT", "too long")),
        Event::Cancelled { reason: text("r") },
    ]
}

fn exchange() -> StoredExchange {
    StoredExchange {
        requests: Some(artifact()),
        responses: Some(artifact()),
    }
}

fn artifact() -> Artifact {
    Artifact {
        sha256: [7; 32],
        media_type: "image/png".to_owned(),
        size_bytes: 9,
        file_name: "a.png".to_owned(),
    }
}

fn attachment() -> Attachment {
    Attachment {
        name: "a.txt".to_owned(),
        content: AttachmentContent::Inline(Bytes::from_static(b"abc")),
    }
}

fn rect() -> CaptureRect {
    CaptureRect::new(CapturePoint::new(1, 2), CapturePoint::new(3, 4))
}

fn usage() -> Usage {
    Usage {
        input_tokens: Some(1),
        output_tokens: Some(2),
        cached_tokens: Some(3),
        reasoning_tokens: Some(4),
        cost_micros_usd: Some(5),
        calls: 6,
        inference_time: Duration::from_millis(7),
    }
}

fn effect() -> Effect {
    Effect {
        verdict: Verdict::TargetMoved,
        change: ChangeMap::default(),
        share_near_target: 0.25,
        window_changed: true,
        explanation: "it moved".to_owned(),
        settled: true,
        settle_time: Duration::from_millis(8),
    }
}

fn earlier_task() -> EarlierTask {
    EarlierTask {
        task: "tasks/a".to_owned(),
        goal: "save it".to_owned(),
        outcome: TaskEnd::Failed,
        answer: "not saved".to_owned(),
        user_messages: vec!["now".to_owned()],
        actions: vec!["press ctrl+s".to_owned()],
        extracted_json: Some("{}".to_owned()),
        files: Vec::new(),
        written_by_model: true,
    }
}

fn created() -> Event {
    let limits = Limits {
        max_steps: 4,
        max_duration: Duration::from_secs(60),
        max_tokens: Some(1000),
        max_cost_micros_usd: Some(2000),
        max_risky_actions: Some(3),
    };
    let text = |text: &str| text.to_owned();
    let labels: BTreeMap<String, String> = [(text("team"), text("a"))].into();
    Event::Created(Box::new(TaskSpec {
        owner: Owner {
            creator: text("ann"),
            tenant: text("acme"),
            roles: vec![text("author")],
        },
        instructions: text("never pay"),
        backends: vec![text("claude_som")],
        selector: DesktopSelector {
            desktop: Some(DesktopName::parse("desktop", "desktops/a").unwrap()),
            labels: labels.clone(),
        },
        attachments: vec![attachment()],
        results: vec![text("a.pdf")],
        expectations: vec![Expectation::WindowTitle(text("Saved"))],
        tool_endpoints: vec![text("notes")],
        labels,
        display_name: text("d"),
        priority: 2,
        run_after: Some(samples::at(5)),
        language: Some(text("en")),
        earlier_messages: vec![EarlierMessage {
            role: MessageRole::Assistant,
            text: text("hello"),
        }],
        verify_clicks: true,
        written_by_model: true,
        ..samples::spec(limits)
    }))
}

fn observed() -> Event {
    let Event::Observed(observed) = samples::observed() else {
        unreachable!("an observation is observed")
    };
    Event::Observed(Box::new(Observed {
        image: Some(artifact()),
        element_count: 5,
        elapsed: Duration::from_millis(4),
        fingerprint: Fingerprint([3; 8]),
        scene: Some(artifact()),
        current_url: Some("https://example.org".to_owned()),
        ..*observed
    }))
}

fn decided() -> Event {
    let Event::Decided { decision, .. } = samples::decided(Next::Fail {
        reason: "r".to_owned(),
    }) else {
        unreachable!("a decision is decided")
    };
    Event::Decided {
        decision,
        elapsed: Duration::from_millis(9),
        annotated_image: Some(artifact()),
        exchange: exchange(),
    }
}

fn intended() -> Event {
    Event::ActionIntended(Box::new(ActionIntended {
        action_id: ActionId::new("t/1/0/1"),
        retry_of: Some(ActionId::new("t/1/0/0")),
        planned: samples::planned(),
        action: Action::Refresh,
        target: Some(rect()),
        target_label: Some("button \"OK\"".to_owned()),
    }))
}

fn approval(state: ApprovalState) -> Approval {
    Approval {
        id: "1-0-1".to_owned(),
        state,
        subject: ApprovalSubject::Action(samples::planned()),
        rules: vec!["pay".to_owned()],
        reason: "it pays".to_owned(),
        safety_checks: vec![SafetyCheck {
            id: "sc".to_owned(),
            code: "c".to_owned(),
            message: "m".to_owned(),
        }],
        evidence: Some(artifact()),
        fingerprint: [8; 32],
        context: None,
        created_at: samples::at(1),
        expires_at: samples::at(2),
        resolved_by: "ann".to_owned(),
        message: "no".to_owned(),
        stated_user: "Ann".to_owned(),
        written_by_model: true,
        second_person: true,
    }
}

/// Returns the number and name of every kind of the contract.
fn kinds_of_contract() -> Vec<(u32, String)> {
    let described = FileDescriptorSet::decode(FILE_DESCRIPTOR_SET).unwrap();
    let files = described.file.iter();
    let mut messages = files
        .filter(|file| file.package() == "motorium.orchestrator.v1")
        .flat_map(|file| &file.message_type);
    let event = messages.find(|message| message.name() == "Event").unwrap();
    let kinds = event
        .field
        .iter()
        .filter(|field| field.oneof_index.is_some());
    kinds
        .map(|field| (field.number().unsigned_abs(), field.name().to_owned()))
        .collect()
}

/// Returns the number of the field that holds the kind of a message.
fn number_of_kind(message: &wire::Event) -> u32 {
    let kind_alone = wire::Event {
        kind: message.kind.clone(),
        ..wire::Event::default()
    };
    let bytes = kind_alone.encode_to_vec();
    let (number, _) = prost::encoding::decode_key(&mut bytes.as_slice()).unwrap();
    number
}

#[test]
fn every_kind_of_event_survives_the_store() {
    let task = TaskName::from_segment("t").unwrap();
    let mut missing = kinds_of_contract();
    assert!(!missing.is_empty());
    for event in examples() {
        let recorded = RecordedEvent {
            seq: EventSeq(3),
            at: samples::at(10),
            step: 2,
            event,
        };
        let message = recorded.to_wire(&task);
        missing.retain(|(number, _)| *number != number_of_kind(&message));
        assert_eq!(RecordedEvent::try_from(message), Ok(recorded));
    }
    assert!(
        missing.is_empty(),
        "add examples of these kinds: {missing:?}"
    );
}
