//! Where two things differ, in words.
//!
//! Times and what measures them are left out: when something happened, how long it took, how much of the time limit is left.

use bytes::Bytes;
use motorium_proto::v1::common::{Element, Scene};
use motorium_proto::v1::orchestrator as wire;
use motorium_proto::v1::orchestrator::event::Kind;
use motorium_proto::v1::planner::{
    ExtractRequest, LocatePointerRequest, PlanRequest, RemainingLimits,
};
use prost::Message;
use serde_json::Value;

use crate::recording::HOOKS;
use crate::task::event::public;
use crate::trajectory::json;

/// As much of a value is shown, in characters.
const SHOWN: usize = 300;

/// What of an event has to be the same.
pub(super) fn essence(event: wire::Event) -> wire::Event {
    let mut event = public(event);
    event.time = None;
    match &mut event.kind {
        Some(Kind::Observed(observed)) => observed.elapsed = None,
        Some(Kind::Decided(decided)) => decided.elapsed = None,
        Some(Kind::StepFinished(finished)) => finished.timings.clear(),
        Some(Kind::FunctionReturned(returned)) => returned.elapsed = None,
        Some(Kind::ApprovalRequested(wire::ApprovalRequested { approval: Some(it) })) => {
            it.create_time = None;
            it.expire_time = None;
        }
        Some(Kind::ApprovalResolved(wire::ApprovalResolved { approval: Some(it) })) => {
            it.create_time = None;
            it.expire_time = None;
        }
        // A task as it was created has no times of a run.
        Some(Kind::Created(created)) => {
            if let Some(task) = &mut created.task {
                task.create_time = None;
            }
        }
        _ => {}
    }
    event
}

/// Where two events differ: what, as recorded, as now.
pub(super) fn events(recorded: &wire::Event, now: &wire::Event) -> (String, String, String) {
    let (recorded, now) = (json::of(json::EVENT, recorded), json::of(json::EVENT, now));
    let (was, is) = (kind(&recorded), kind(&now));
    if was != is {
        return (
            format!("another event was written: {is} in place of {was}"),
            shown(&recorded),
            shown(&now),
        );
    }
    let (path, recorded, now) = first(&recorded, &now, String::new());
    (
        format!("the event {was} is another one at `{path}`"),
        recorded,
        now,
    )
}

/// The name of an event's kind.
fn kind(event: &Value) -> String {
    let known = ["task", "sequence", "time", "step"];
    let fields = event.as_object().into_iter().flatten();
    let mut kinds = fields.filter(|(name, _)| !known.contains(&name.as_str()));
    kinds
        .next()
        .map(|(name, _)| name.clone())
        .unwrap_or_default()
}

/// A question that tells what is left of the task's limits.
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

limited!(PlanRequest, ExtractRequest, LocatePointerRequest);

/// Whether two questions are the same. What of the time limit is left when the planner is asked is left out; and its
/// conversation, where an earlier run has lost it with its record: events come without it.
pub(super) fn is_same_question(method: &str, recorded: &[u8], now: &[u8]) -> bool {
    if recorded == now {
        return true;
    }
    match method.rsplit('/').next() {
        Some("Plan") => is_same_plan(without_time(recorded), without_time(now)),
        Some("Extract") => {
            without_time::<ExtractRequest>(recorded) == without_time::<ExtractRequest>(now)
        }
        Some("LocatePointer") => {
            without_time::<LocatePointerRequest>(recorded)
                == without_time::<LocatePointerRequest>(now)
        }
        _ => false,
    }
}

fn is_same_plan(recorded: Option<PlanRequest>, now: Option<PlanRequest>) -> bool {
    match (recorded, now) {
        (Some(mut recorded), Some(now)) if now.conversation.is_empty() => {
            recorded.conversation = Bytes::new();
            recorded == now
        }
        (recorded, now) => recorded == now,
    }
}

fn without_time<Q: Limited>(question: &[u8]) -> Option<Q> {
    let mut question = Q::decode(question).ok()?;
    if let Some(remaining) = question.limits() {
        remaining.time = None;
    }
    Some(question)
}

/// Where two questions differ.
pub(super) fn questions(method: &str, recorded: &[u8], now: &[u8]) -> (String, String, String) {
    let asked = asked(method);
    let name = json::message_of(method, false).unwrap_or_default();
    let (Some(recorded), Some(now)) = (json::of_bytes(&name, recorded), json::of_bytes(&name, now))
    else {
        let what = format!("{asked} something else, which cannot be read");
        return (what, String::new(), String::new());
    };
    let (path, recorded, now) = first(&recorded, &now, String::new());
    (format!("{asked} something else: `{path}`"), recorded, now)
}

/// What a method asks, in words.
pub(super) fn asked(method: &str) -> String {
    if method == HOOKS {
        return "the hooks were asked".to_owned();
    }
    let service = match method.split('.').nth(1) {
        Some("planner") => "the planner",
        Some("perception") => "Perception",
        Some("executor") => "the Executor",
        _ => "a service",
    };
    let method = method.rsplit('/').next().unwrap_or(method);
    format!("{service} was asked ({method})")
}

/// The first place where two values differ.
fn first(recorded: &Value, now: &Value, path: String) -> (String, String, String) {
    match (recorded, now) {
        (Value::Object(was), Value::Object(is)) => {
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
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

/// How one screen differs from another, by the first element that does.
pub(super) fn scenes(recorded: &Scene, now: &Scene) -> Option<(String, String, String)> {
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
                    format!("{} is another one", words(element)),
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
