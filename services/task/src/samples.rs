//! Sample tasks and events for tests, with defaults for all fields that a test does not care about.

use std::time::{Duration, SystemTime};

use bytes::Bytes;
use motorium_proto::domain::action::{Action, Button, Target};
use motorium_proto::domain::decision::{Decision, Next, PlannedAction, Usage};
use motorium_proto::domain::effect::{ActionOutcome, ActionResult};
use motorium_proto::domain::element::{Element, ElementKind, ElementSource, ElementState};
use motorium_proto::domain::frame::Frame;
use motorium_proto::domain::geometry::{
    CapturePoint, CaptureSize, NormalisedPoint, NormalisedRect,
};
use motorium_proto::domain::id::{DisplayId, ElementId, EventSeq, FrameId, TaskName};

use super::Task;
use super::event::{ActionIntended, Event, Observed, RecordedEvent, StoredExchange};
use super::machine::action_id;
use super::owner::Owner;
use super::retry_strategy::RetryStrategy;
use super::screen::Fingerprint;
use super::spec::{LimitRules, Limits, TaskSpec};
use crate::effect;

pub(super) fn at(seconds: u64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)
}

pub(super) fn spec(limits: Limits) -> TaskSpec {
    let task = motorium_proto::v1::orchestrator::Task {
        goal: "click \"a\"".into(),
        ..Default::default()
    };
    let rules = LimitRules {
        defaults: limits,
        ..LimitRules::default()
    };
    TaskSpec::from_wire(
        TaskName::from_segment("t").unwrap(),
        "u".into(),
        Owner::default(),
        task,
        rules,
    )
    .unwrap()
}

pub(super) fn planned() -> PlannedAction {
    let at = Some(Target::Point(CapturePoint::new(5, 5)));
    let action = Action::Click {
        at,
        button: Button::Left,
        count: 1,
        modifiers: vec![],
    };
    PlannedAction {
        action,
        intent: "click".into(),
        verify_pointer: false,
        repeatable: true,
    }
}

pub(super) fn decided(next: Next) -> Event {
    let decision = Decision {
        thought: String::new(),
        progress: String::new(),
        next,
        safety_checks: vec![],
        conversation: Bytes::new(),
        backend: "b".into(),
        model: String::new(),
        usage: Usage::default(),
        suspected_injections: vec![],
        conversation_images: vec![],
    };
    Event::Decided {
        decision: Box::new(decision),
        elapsed: Duration::ZERO,
        annotated_image: None,
        exchange: StoredExchange::default(),
    }
}

pub(super) fn observed() -> Event {
    let frame = Frame {
        id: FrameId::new("f"),
        display: DisplayId::new(":1"),
        origin: CapturePoint::zero(),
        size: CaptureSize::new(10, 10),
        scale: 1.0,
        captured_at: at(0),
        cursor: None,
        monitors: vec![],
        windows: vec![],
    };
    Event::Observed(Box::new(Observed {
        frame,
        image: None,
        element_count: 0,
        elapsed: Duration::ZERO,
        fingerprint: Fingerprint::default(),
        scene: None,
        current_url: None,
    }))
}

pub(super) fn intended(step: u32, attempt: u32) -> Event {
    let name = TaskName::from_segment("t").unwrap();
    let retry_of = attempt
        .checked_sub(1)
        .map(|before| action_id(&name, step, 0, before));
    let at = Some(CapturePoint::new(5, 5));
    Event::ActionIntended(Box::new(ActionIntended {
        action_id: action_id(&name, step, 0, attempt),
        retry_of,
        planned: planned(),
        action: Action::Click {
            at,
            button: Button::Left,
            count: 1,
            modifiers: vec![],
        },
        target: None,
        target_label: None,
    }))
}

/// Returns the events of a step that only waits.
pub(super) fn waited(step: u32) -> Vec<Event> {
    let wait = PlannedAction {
        action: Action::Wait {
            duration: Duration::from_secs(1),
        },
        intent: "wait for \"X\"".into(),
        ..planned()
    };
    let action = Action::Wait {
        duration: Duration::from_secs(1),
    };
    let begun = Event::ActionIntended(Box::new(ActionIntended {
        action_id: action_id(&TaskName::from_segment("t").unwrap(), step, 0, 0),
        retry_of: None,
        planned: wait.clone(),
        action,
        target: None,
        target_label: None,
    }));
    vec![
        observed(),
        decided(Next::Act(vec![wait])),
        begun,
        performed(step, 0, ActionResult::Performed),
        finished(),
    ]
}

pub(super) fn performed(step: u32, attempt: u32, result: ActionResult) -> Event {
    let action_id = action_id(&TaskName::from_segment("t").unwrap(), step, 0, attempt);
    Event::ActionPerformed {
        action_id,
        outcome: ActionOutcome::new(result, ""),
    }
}

pub(super) fn judged(step: u32, attempt: u32) -> Event {
    Event::EffectJudged {
        action_id: action_id(&TaskName::from_segment("t").unwrap(), step, 0, attempt),
        effect: Box::new(effect::unknown(String::new())),
        screenshot: None,
    }
}

pub(super) fn retried(step: u32, attempt: u32) -> Event {
    let action_id = action_id(&TaskName::from_segment("t").unwrap(), step, 0, attempt);
    Event::ActionRetried {
        action_id,
        attempts: attempt + 1,
        reason: String::new(),
        strategy: RetryStrategy::OffsetPoint,
    }
}

pub(super) fn started() -> Event {
    Event::Started {
        orchestrator: "o".into(),
    }
}

pub(super) fn finished() -> Event {
    Event::StepFinished {
        timings: vec![],
        outcome: String::new(),
    }
}

pub(super) fn with_limits(limits: Limits, events: Vec<Event>) -> Task {
    let mut task = Task::new(spec(limits), EventSeq(1), at(0));
    for (index, event) in events.into_iter().enumerate() {
        let step = match &event {
            Event::Observed(_) => task.next_step(),
            _ => task.steps.last().map_or(0, |step| step.number),
        };
        let seq = EventSeq(index as i64 + 2);
        task.apply(&RecordedEvent {
            seq,
            at: at(0),
            step,
            event,
        });
    }
    task
}

/// Returns an element with its left, top, right and bottom edge.
pub(super) fn element(content: &str, [left, top, right, bottom]: [f64; 4]) -> Element {
    Element {
        id: ElementId(1),
        kind: ElementKind::Button,
        content: content.to_owned(),
        bounds: NormalisedRect::new(
            NormalisedPoint::new(left, top),
            NormalisedPoint::new(right, bottom),
        ),
        interactable: true,
        confidence: 0.9,
        centre: CapturePoint::zero(),
        source: ElementSource::Both,
        state: ElementState::default(),
    }
}
