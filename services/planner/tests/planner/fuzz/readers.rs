//! What is fuzzed: readers of what models say, and what has to hold of everything that they let through. They take any
//! text at all. Each function is a target of `services/planner/fuzz`; the tests beside this give all of them damaged
//! answers in every run.
//!
//! What is let through as a decision
//! - keeps the contract: it comes back as it was from the message that it travels in;
//! - names only elements of the screen, points on it, and functions of the task;
//! - is bounded: so many actions, each of them so long.
//!
//! Nothing is let through of an answer that its provider calls cut off or refused.

use std::collections::BTreeSet;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use motorium_planner::answer::commands::Commands;
use motorium_planner::answer::tool_calls::computer_use;
use motorium_planner::answer::{pyautogui as python, tool_calls as calls};
use motorium_planner::backends::claude_computer::ClaudeComputer;
use motorium_planner::backends::claude_som::ClaudeSom;
use motorium_planner::backends::concessions::Concessions;
use motorium_planner::backends::dialect::{Answer, Asked, Dialect, Misread, Step};
use motorium_planner::backends::openai_computer::{Keeping, OpenAiComputer};
use motorium_planner::backends::opencua::OpenCua;
use motorium_planner::backends::operator::Operator;
use motorium_planner::backends::question::{Answered, Question};
use motorium_planner::backends::qwen_vl::QwenVl;
use motorium_planner::models::{Api, Model, Models};
use motorium_planner::picture::{Pictures, SentPicture};
use motorium_planner::prompt::Prompts;
use motorium_planner::target::described::{self, Described};
use motorium_planner::{extract, pointer};
use motorium_proto::domain::action::{Action, Target};
use motorium_proto::domain::decision::{
    Decision, FunctionDeclaration, Next, RemainingLimits, Usage,
};
use motorium_proto::domain::geometry::{CapturePoint, CaptureRect};
use motorium_proto::domain::id::ElementId;
use motorium_proto::service::{ExtractRequest, PlanRequest, PointerRequest};
use motorium_proto::v1::common::Decision as Wire;
use serde_json::{Map, Value, json};

use crate::request::{picture_of, request};

/// Most actions that any answer may come to.
const MOST_ACTIONS: usize = 200;
/// The longest that one action may wait or hold.
const LONGEST: Duration = Duration::from_secs(300);

const SCREEN: &str = r#"
    window 0,0 1000x800 "Notes" active
    button 20,40 80x30 "Save"
    text_field 20,90 400x30 "Name"
    label 20,140 400x20 "Total: 12.50"
"#;
const SCHEMA: &str = r#"{"type": "object", "required": ["total"], "properties": {"total": {"type": "string"}, "lines": {"type": "array"}}}"#;

static DESK: LazyLock<Desk> = LazyLock::new(Desk::new);

/// Python, as code and as the answer that has it in it.
pub(crate) fn pyautogui(text: &str) {
    if let Ok(commands) = python::read(text) {
        check_commands(&commands);
    }
    DESK.hear_said("opencua", text);
}

/// Calls in JSON and XML, as such and as the answer that has them in it.
pub(crate) fn tool_calls(text: &str) {
    if let Ok(read) = calls::read(text) {
        assert!(!read.is_empty() && text.contains(calls::words_before(text)));
        if let Ok(commands) = computer_use::read(&read) {
            check_commands(&commands);
        }
    }
    DESK.hear_said("qwen_vl", text);
}

/// The object of an answer to a numbered screen.
pub(crate) fn numbered(text: &str) {
    DESK.hear_said("claude_som", text);
    DESK.hear_said("operator", text);
}

/// Whole answers of providers, to every way of asking.
pub(crate) fn bodies(text: &str) {
    let Ok(answer) = serde_json::from_str::<Value>(text) else {
        return;
    };
    for way in &DESK.ways {
        DESK.hear(way, &answer);
    }
}

/// Answers to the questions beside a task's steps.
pub(crate) fn questions(text: &str) {
    DESK.ask_extract(text);
    DESK.ask_pointer(text);
    DESK.ask_target(text);
}

/// What an answer of that text means, first to last; `None` if it is no decision. Of ways with several models, the first.
pub(crate) fn understood(name: &str, text: &str) -> Option<Next> {
    let way = DESK.ways.iter().find(|way| way.dialect.name() == name)?;
    let answer = said(way.dialect.api(), text, "stop");
    match way.dialect.read(&DESK.step(way), &way.asked, &answer) {
        Ok(Answer::Decided(reading)) => Some(reading.next),
        _ => None,
    }
}

/// A step with everything in it that an answer can name.
struct Desk {
    request: PlanRequest,
    pictures: Pictures,
    prompts: Arc<Prompts>,
    view: SentPicture,
    ways: Vec<Way>,
}

/// A way of asking, and its request.
struct Way {
    dialect: Box<dyn Dialect>,
    model: Model,
    asked: Asked,
}

impl Desk {
    fn new() -> Self {
        let mut request = request("save the file", SCREEN);
        request.image = Some(picture_of(40));
        request.applications = vec!["Files".to_owned()];
        request.functions = vec![FunctionDeclaration {
            name: "billing.lookup".to_owned(),
            description: "Looks an invoice up.".to_owned(),
            parameters_json_schema: r#"{"type": "object", "required": ["id"], "properties": {"id": {"type": "integer"}}}"#.to_owned(),
        }];
        let taste = Models::default().get("local-vl", Api::OpenaiChat).taste;
        let view = SentPicture::whole(request.frame.size, taste.rule, taste.convention);
        let mut desk = Self {
            pictures: Pictures::of(&request),
            request,
            prompts: Arc::new(Prompts::built_in().unwrap()),
            view: view.unwrap(),
            ways: Vec::new(),
        };
        let sent = OpenAiComputer {
            keeping: Keeping::Sent,
        };
        desk.add(ClaudeSom::default(), "claude-opus-4-6");
        desk.add(Operator::default(), "local-vl");
        // Pixels and fractions; pixels and thousandths.
        desk.add(OpenCua::default(), "opencua-7b");
        desk.add(OpenCua::default(), "opencua-a3b");
        desk.add(QwenVl, "qwen2.5-vl-7b");
        desk.add(QwenVl, "qwen3-vl-plus");
        // One action a call, and one tool an action; several actions a call, and one.
        desk.add(ClaudeComputer, "claude-opus-4-6");
        desk.add(ClaudeComputer, "claude-opus-5-5");
        desk.add(OpenAiComputer::default(), "gpt-5.6-sol");
        desk.add(sent, "computer-use-preview");
        desk
    }

    fn add(&mut self, dialect: impl Dialect, model: &str) {
        let mut way = Way {
            model: Models::default().get(model, dialect.api()),
            dialect: Box::new(dialect),
            asked: Asked::default(),
        };
        way.asked = way.dialect.ask(&self.step(&way)).unwrap();
        self.ways.push(way);
    }

    fn step<'a>(&'a self, way: &'a Way) -> Step<'a> {
        Step {
            request: &self.request,
            model: &way.model,
            pictures: &self.pictures,
            prompts: &self.prompts,
            concessions: Concessions::default(),
        }
    }

    /// An answer of that text, whole and cut off.
    fn hear_said(&self, name: &str, text: &str) {
        for way in self.ways.iter().filter(|way| way.dialect.name() == name) {
            for end in ["stop", "length"] {
                self.hear(way, &said(way.dialect.api(), text, end));
            }
        }
    }

    fn hear(&self, way: &Way, answer: &Value) {
        let step = self.step(way);
        match way.dialect.read(&step, &way.asked, answer) {
            Ok(Answer::Decided(reading)) => {
                assert!(is_whole(way.dialect.api(), answer), "a part of an answer");
                self.check(&Decision {
                    thought: reading.thought,
                    progress: reading.progress,
                    next: reading.next,
                    safety_checks: reading.safety_checks,
                    conversation: reading.conversation,
                    conversation_images: Vec::new(),
                    backend: way.dialect.name().to_owned(),
                    model: way.model.name.clone(),
                    usage: Usage::default(),
                    suspected_injections: reading.suspected_injections,
                });
            }
            Ok(Answer::Again(again)) => {
                assert!(is_whole(way.dialect.api(), answer), "a part of an answer");
                assert!(again.body.is_object());
            }
            Err(Misread::Refused { .. }) => {}
            Err(misread) => {
                let repair = way.dialect.repair(&step, &way.asked, answer, &misread);
                assert!(repair.body.is_object());
            }
        }
    }

    fn check(&self, decision: &Decision) {
        let there_and_back = Decision::try_from(Wire::from(decision.clone()));
        assert_eq!(there_and_back.as_ref(), Ok(decision));
        match &decision.next {
            Next::Act(actions) => {
                assert!((1..=MOST_ACTIONS).contains(&actions.len()));
                for planned in actions {
                    check_action(&planned.action);
                    let targets = planned.action.targets();
                    targets.for_each(|target| self.check_target(target));
                }
            }
            Next::CallFunctions(calls) => {
                let ids: BTreeSet<&str> = calls.iter().map(|call| call.call_id.as_str()).collect();
                assert!(!calls.is_empty() && ids.len() == calls.len(), "{calls:?}");
                for call in calls {
                    assert_eq!(call.name, self.request.functions[0].name);
                    let arguments: Value = serde_json::from_str(&call.arguments_json).unwrap();
                    assert!(arguments["id"].is_number(), "{arguments}");
                }
            }
            Next::Extract { json_schema, .. } => {
                serde_json::from_str::<Map<String, Value>>(json_schema).unwrap();
            }
            _ => {}
        }
    }

    fn check_target(&self, target: &Target) {
        let is_there = match target {
            Target::Element(id) => self.request.scene.element(*id).is_some(),
            Target::Point(point) => self.is_on_screen(*point),
            Target::Text(_) => false,
        };
        assert!(is_there, "{target:?}");
    }

    fn is_on_screen(&self, point: CapturePoint) -> bool {
        CaptureRect::from_size(self.request.frame.size).contains(point)
    }

    /// What holds of an answer in the eyes of its question.
    fn answer(&self, question: &Question, text: &str) -> Option<Answered> {
        let value = (question.check)(text, Some(&self.view)).ok()?;
        let usage = Usage::default();
        Some(Answered { value, usage })
    }

    fn ask_extract(&self, text: &str) {
        let request = ExtractRequest {
            json_schema: SCHEMA.to_owned(),
            instruction: "the total".to_owned(),
            frame: self.request.frame.clone(),
            image: None,
            scene: self.request.scene.clone(),
            page_text: None,
            backends: Vec::new(),
            remaining: RemainingLimits::default(),
        };
        let question = extract::question(&request, &self.prompts).unwrap();
        let Some(answered) = self.answer(&question, text) else {
            return;
        };
        let extraction = extract::extraction(&request, answered);
        let data: Value = serde_json::from_str(&extraction.json).unwrap();
        assert!(data["total"].is_string(), "{data}");
        for source in &extraction.sources {
            assert!(data.pointer(&source.pointer).is_some(), "{source:?}");
            assert!(self.request.scene.element(source.element).is_some());
        }
    }

    fn ask_pointer(&self, text: &str) {
        let request = PointerRequest {
            intent: "save".to_owned(),
            target: CapturePoint::new(60, 55),
            target_bounds: None,
            pointer: CapturePoint::new(90, 90),
            marked_image: self.request.image.clone(),
            backends: Vec::new(),
            remaining: RemainingLimits::default(),
        };
        let question = pointer::question(&request, &self.prompts).unwrap().unwrap();
        let Some(answered) = self.answer(&question, text) else {
            return;
        };
        let seen = pointer::seen(&answered.value, answered.usage).unwrap();
        let size = self.request.frame.size;
        assert!(seen.dx.abs() <= size.width && seen.dy.abs() <= size.height);
    }

    fn ask_target(&self, text: &str) {
        let (frame, scene) = (&self.request.frame, &self.request.scene);
        let description = "the thing that keeps my changes";
        let sought = Described {
            description,
            image: None,
            frame,
            scene,
            remaining: RemainingLimits::default(),
        };
        let question = described::question(sought, &self.prompts).unwrap();
        let Some(answered) = self.answer(&question, text) else {
            return;
        };
        if let Ok(resolved) = described::resolved(description, answered, frame, scene) {
            assert!(self.is_on_screen(resolved.point));
            assert!(
                resolved
                    .element
                    .is_some_and(|id: ElementId| scene.element(id).is_some())
            );
        }
    }
}

/// A whole answer of that text, with that end.
fn said(api: Api, text: &str, end: &str) -> Value {
    match api {
        Api::AnthropicMessages => {
            let end = if end == "length" {
                "max_tokens"
            } else {
                "end_turn"
            };
            json!({"stop_reason": end, "content": [{"type": "text", "text": text}]})
        }
        Api::OpenaiResponses | Api::OpenaiChat => {
            json!({"choices": [{"finish_reason": end, "message": {"content": text}}]})
        }
    }
}

/// Whether the provider calls it neither cut off nor refused.
fn is_whole(api: Api, answer: &Value) -> bool {
    let is =
        |value: &Value, words: &[&str]| value.as_str().is_some_and(|word| words.contains(&word));
    match api {
        Api::AnthropicMessages => {
            let ends = ["max_tokens", "model_context_window_exceeded", "refusal"];
            !is(&answer["stop_reason"], &ends)
        }
        Api::OpenaiResponses => {
            let reason = &answer["incomplete_details"]["reason"];
            let is_over = answer["status"]
                .as_str()
                .is_none_or(|status| status == "completed");
            is_over && !is(reason, &["max_output_tokens", "content_filter"])
        }
        Api::OpenaiChat => {
            let choice = &answer["choices"][0];
            let refusal = choice["message"]["refusal"].as_str().unwrap_or_default();
            refusal.is_empty() && !is(&choice["finish_reason"], &["length", "content_filter"])
        }
    }
}

fn check_commands(commands: &Commands) {
    assert!(!commands.actions.is_empty() || commands.ending.is_some());
    for action in &commands.actions {
        check_action(action);
        let mut points = action.targets();
        assert!(points.all(|point| point.x.is_finite() && point.y.is_finite()));
    }
}

fn check_action<T: std::fmt::Debug>(action: &Action<T>) {
    assert!(action.check_limits().is_ok(), "{action:?}");
    if let Action::Wait { duration } | Action::HoldKey { duration, .. } = action {
        assert!(*duration <= LONGEST, "{action:?}");
    }
}
