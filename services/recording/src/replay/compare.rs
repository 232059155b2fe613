//! Comparison of recorded and replayed events and requests, with a description of the first difference.
//!
//! Times are ignored: timestamps, durations, and the remaining time limit.
//!
//! It does not read recordings: `folder` does.

use bytes::Bytes;
use motorium_proto::v1::common::{Element, Scene, UserImage};
use motorium_proto::v1::orchestrator as wire;
use motorium_proto::v1::orchestrator::event::Kind;
use motorium_proto::v1::perception::ObserveRequest;
use motorium_proto::v1::planner::{
    ExtractRequest, LocatePointerRequest, PlanRequest, RemainingLimits, SummarizeRequest,
};
use prost::Message;
use serde_json::Value;

use crate::recording::HOOKS;
use crate::trajectory::json;
use motorium_task::event::public_view;

/// Maximum length of a shown value, in characters. Fits a terminal paragraph.
const MAX_SHOWN_CHARS: usize = 300;

/// Returns an event without the fields that may differ in a replay.
pub fn comparable(event: wire::Event) -> wire::Event {
    let mut event = public_view(event);
    event.time = None;
    // It follows from the events, and recordings from before the field have none.
    event.state = wire::task::State::Unspecified.into();
    match &mut event.kind {
        // They follow from the attachment, and recordings from before the fields have none.
        Some(Kind::AttachmentPut(put)) => {
            put.image = None;
            put.image_size = None;
            put.image_error.clear();
        }
        Some(Kind::Observed(observed)) => observed.elapsed = None,
        Some(Kind::Decided(decided)) => decided.elapsed = None,
        Some(Kind::StepFinished(finished)) => {
            finished.timings.clear();
            // It follows from the events, and recordings from before the field have none.
            finished.outcome.clear();
        }
        // Durations are measured anew in a replay.
        Some(Kind::FunctionReturned(returned)) => returned.elapsed = None,
        Some(Kind::ApprovalRequested(wire::ApprovalRequested { approval: Some(it) })) => {
            it.create_time = None;
            it.expire_time = None;
        }
        Some(Kind::ApprovalResolved(wire::ApprovalResolved { approval: Some(it) })) => {
            it.create_time = None;
            it.expire_time = None;
        }
        // It follows from the events, and earlier versions worded it otherwise.
        Some(Kind::Summarized(summary)) if !summary.by_model => summary.text.clear(),
        // The creation time belongs to the recorded run.
        Some(Kind::Created(created)) => {
            if let Some(task) = &mut created.task {
                task.create_time = None;
            }
        }
        _ => {}
    }
    event
}

/// Returns the first difference of two events: a description, the recorded value and the replayed value.
pub fn events(recorded: &wire::Event, now: &wire::Event) -> (String, String, String) {
    let (recorded, now) = (json::of(json::EVENT, recorded), json::of(json::EVENT, now));
    let (was, is) = (kind(&recorded), kind(&now));
    if was != is {
        return (
            format!("a different event was written: {is} instead of {was}"),
            shown(&recorded),
            shown(&now),
        );
    }
    let (path, recorded, now) = first(&recorded, &now, String::new());
    (
        format!("the event {was} differs at `{path}`"),
        recorded,
        now,
    )
}

/// Returns the name of an event's kind.
fn kind(event: &Value) -> String {
    let known = ["task", "sequence", "time", "step", "state"];
    let fields = event.as_object().into_iter().flatten();
    let mut kinds = fields.filter(|(name, _)| !known.contains(&name.as_str()));
    kinds
        .next()
        .map(|(name, _)| name.clone())
        .unwrap_or_default()
}

/// A request that contains the task's remaining limits.
trait Limited: Message + Default + PartialEq {
    fn limits(&mut self) -> Option<&mut RemainingLimits>;
}

macro_rules! limited {
    ($($question:ty),*) => {$(
        impl Limited for $question {
            fn limits(&mut self) -> Option<&mut RemainingLimits> {
                self.remaining.as_mut()
            }
        }
    )*};
}

limited!(
    PlanRequest,
    ExtractRequest,
    LocatePointerRequest,
    SummarizeRequest
);

/// Returns true if two requests are equal. The remaining time limit is ignored. So is the planner's conversation if the replay
/// has none, because exported events omit it and the recording of an earlier run may be lost.
pub fn is_same_question(method: &str, recorded: &[u8], now: &[u8]) -> bool {
    if recorded == now {
        return true;
    }
    match method.rsplit('/').next() {
        Some("Observe") => is_same_observation(recorded, now),
        Some("Plan") => is_same_plan(without_time(recorded), without_time(now)),
        Some("Extract") => {
            without_time::<ExtractRequest>(recorded) == without_time::<ExtractRequest>(now)
        }
        Some("Summarize") => is_same_summary(without_time(recorded), without_time(now)),
        Some("LocatePointer") => is_same_pointer_check(without_time(recorded), without_time(now)),
        _ => false,
    }
}

/// Compares without the text that is used if no model answers: it follows from the events, and earlier versions worded it otherwise.
fn is_same_summary(recorded: Option<SummarizeRequest>, now: Option<SummarizeRequest>) -> bool {
    let without_fallback = |request: SummarizeRequest| SummarizeRequest {
        fallback: String::new(),
        ..request
    };
    recorded.map(without_fallback) == now.map(without_fallback)
}

/// Compares without the tolerance where the recording has none: earlier versions did not send it.
fn is_same_pointer_check(
    recorded: Option<LocatePointerRequest>,
    now: Option<LocatePointerRequest>,
) -> bool {
    let (Some(recorded), Some(mut now)) = (recorded, now) else {
        return false;
    };
    if recorded.tolerance_px.is_none() {
        now.tolerance_px = None;
    }
    recorded == now
}

/// Compares without the annotated image, which earlier versions requested.
fn is_same_observation(recorded: &[u8], now: &[u8]) -> bool {
    let request = |bytes: &[u8]| {
        let mut request = ObserveRequest::decode(bytes).ok()?;
        request.annotated_image = None;
        Some(request)
    };
    request(recorded) == request(now)
}

fn is_same_plan(recorded: Option<PlanRequest>, now: Option<PlanRequest>) -> bool {
    let (Some(mut recorded), Some(mut now)) = (recorded, now) else {
        return false;
    };
    if now.conversation.is_empty() {
        recorded.conversation = Bytes::new();
    }
    if user_images(&recorded).is_empty()
        && let Some(context) = &mut now.context
    {
        // Recordings from before the field have none.
        context.images.clear();
    }
    recorded == now
}

fn user_images(request: &PlanRequest) -> &[UserImage] {
    let context = request.context.as_ref();
    context.map_or(&[], |context| &context.images)
}

fn without_time<Q: Limited>(question: &[u8]) -> Option<Q> {
    let mut question = Q::decode(question).ok()?;
    if let Some(remaining) = question.limits() {
        remaining.time = None;
    }
    Some(question)
}

/// Returns the first difference of two requests.
pub fn questions(method: &str, recorded: &[u8], now: &[u8]) -> (String, String, String) {
    let asked = asked(method);
    let name = json::message_of(method, false).unwrap_or_default();
    let (Some(recorded), Some(now)) = (json::of_bytes(&name, recorded), json::of_bytes(&name, now))
    else {
        let what = format!("{asked} with a different request, which cannot be decoded");
        return (what, String::new(), String::new());
    };
    let (path, recorded, now) = first(&recorded, &now, String::new());
    (
        format!("{asked} with a different request: `{path}`"),
        recorded,
        now,
    )
}

/// Describes a request by its method.
pub fn asked(method: &str) -> String {
    if method == HOOKS {
        return "the hooks were called".to_owned();
    }
    let service = match method.split('.').nth(1) {
        Some("planner") => "the planner",
        Some("perception") => "Perception",
        Some("executor") => "the Executor",
        _ => "a service",
    };
    let method = method.rsplit('/').next().unwrap_or(method);
    format!("{service} was called ({method})")
}

/// Returns the path of the first difference of two values, and both values there.
fn first(recorded: &Value, now: &Value, path: String) -> (String, String, String) {
    match (recorded, now) {
        (Value::Object(was), Value::Object(is)) => {
            // Names of both, because a member may be new.
            let names = was.keys().chain(is.keys());
            for name in names {
                let (one, other) = (was.get(name), is.get(name));
                if one != other {
                    let path = format!("{path}{}{name}", if path.is_empty() { "" } else { "." });
                    return inside(one, other, path);
                }
            }
        }
        (Value::Array(was), Value::Array(is)) => {
            for index in 0..was.len().max(is.len()) {
                let (one, other) = (was.get(index), is.get(index));
                if one != other {
                    return inside(one, other, format!("{path}[{index}]"));
                }
            }
        }
        _ => {}
    }
    (path, shown(recorded), shown(now))
}

fn inside(was: Option<&Value>, is: Option<&Value>, path: String) -> (String, String, String) {
    match (was, is) {
        (Some(was), Some(is)) => first(was, is, path),
        (was, is) => {
            let words = |value: Option<&Value>| value.map_or("nothing".to_owned(), shown);
            (path, words(was), words(is))
        }
    }
}

fn shown(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(MAX_SHOWN_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

/// Returns the first element in which two scenes differ.
pub fn scenes(recorded: &Scene, now: &Scene) -> Option<(String, String, String)> {
    let words = |element: &Element| format!("element {} “{}”", element.id, element.content);
    let of = |scene: &Scene, id: u32| scene.elements.iter().find(|one| one.id == id).cloned();
    for element in &recorded.elements {
        match of(now, element.id) {
            None => {
                let name = words(element);
                return Some((format!("{name} is missing"), name, "nothing".to_owned()));
            }
            Some(other) if other != *element => {
                return Some((
                    format!("{} differs", words(element)),
                    format!("{element:?}"),
                    format!("{other:?}"),
                ));
            }
            Some(_) => {}
        }
    }
    let mut added = now.elements.iter();
    let added = added.find(|element| of(recorded, element.id).is_none())?;
    let name = words(added);
    Some((format!("{name} is new"), "nothing".to_owned(), name))
}
