//! Fuzz targets: the parsers of model responses, and the invariants of everything that they accept. They take any text.
//! Each function is a target of `services/planner/fuzz`; the tests next to this file run all of them on mutated
//! responses.
//!
//! An accepted decision
//! - survives the conversion to its message and back;
//! - names only elements of the screen, points on it, and functions of the task;
//! - has a bounded number of actions and bounded durations.
//!
//! A response that its provider marks as truncated or refused is never accepted.

use std::collections::BTreeSet;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use motorium_planner::backends::call::exchange::ExchangeTexts;
use motorium_planner::backends::chat_som::ChatSom;
use motorium_planner::backends::claude_computer::ClaudeComputer;
use motorium_planner::backends::claude_som::ClaudeSom;
use motorium_planner::backends::degraded_features::DegradedFeatures;
use motorium_planner::backends::dialect::{Dialect, ModelRequest, ParsedResponse, StepContext};
use motorium_planner::backends::openai_computer::{ConversationStorage, OpenAiComputer};
use motorium_planner::backends::opencua::OpenCua;
use motorium_planner::backends::question::{Question, QuestionResult};
use motorium_planner::backends::qwen_vl::QwenVl;
use motorium_planner::models::{Api, Model, ModelTable};
use motorium_planner::prompt::Prompts;
use motorium_planner::response::ResponseError;
use motorium_planner::response::model_actions::ModelActions;
use motorium_planner::response::tool_calls::computer_use;
use motorium_planner::response::{pyautogui as python, tool_calls as calls};
use motorium_planner::screenshot::{RequestImages, SentImage};
use motorium_planner::target::{self, DescribedTarget};
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

use crate::request::{request, solid_screenshot};

/// Maximum number of actions of any response.
const MAX_ACTIONS: usize = 200;
/// Maximum duration of one action.
const MAX_DURATION: Duration = Duration::from_secs(300);

const SCREEN: &str = r#"
    window 0,0 1000x800 "Notes" active
    button 20,40 80x30 "Save"
    text_field 20,90 400x30 "Name"
    label 20,140 400x20 "Total: 12.50"
"#;
const SCHEMA: &str = r#"{"type": "object", "required": ["total"], "properties": {"total": {"type": "string"}, "lines": {"type": "array"}}}"#;

static DESK: LazyLock<ParserFixture> = LazyLock::new(ParserFixture::new);

/// Python, as code and inside a response.
pub(crate) fn pyautogui(text: &str) {
    if let Ok(commands) = python::read(text) {
        check_commands(&commands);
    }
    DESK.parse_text("opencua", text);
}

/// Tool calls in JSON and XML, alone and inside a response.
pub(crate) fn tool_calls(text: &str) {
    if let Ok(read) = calls::read(text) {
        assert!(!read.is_empty() && text.contains(calls::words_before(text)));
        if let Ok(commands) = computer_use::read(&read) {
            check_commands(&commands);
        }
    }
    DESK.parse_text("qwen_vl", text);
}

/// The JSON object of a response to an annotated screenshot.
pub(crate) fn numbered(text: &str) {
    DESK.parse_text("claude_som", text);
    DESK.parse_text("operator", text);
}

/// Complete provider responses, for every dialect.
pub(crate) fn bodies(text: &str) {
    let Ok(answer) = serde_json::from_str::<Value>(text) else {
        return;
    };
    for way in &DESK.ways {
        DESK.parse_answer(way, &answer);
    }
}

/// Answers to the questions besides a task's steps.
pub(crate) fn questions(text: &str) {
    DESK.ask_extract(text);
    DESK.ask_pointer(text);
    DESK.ask_target(text);
}

/// Returns the names of the dialects whose responses are fuzzed.
pub(crate) fn dialects() -> Vec<&'static str> {
    DESK.ways.iter().map(|way| way.dialect.name()).collect()
}

/// Returns the meaning of a response with this text; `None` if it is not a decision. For dialects with several models,
/// the first is used.
pub(crate) fn understood(name: &str, text: &str) -> Option<Next> {
    let way = DESK.ways.iter().find(|way| way.dialect.name() == name)?;
    let answer = answer_with(way.dialect.api(), text, "stop");
    match way
        .dialect
        .parse_response(&DESK.step(way), &way.asked, &answer)
    {
        Ok(ParsedResponse::Decision(reading)) => Some(reading.next),
        _ => None,
    }
}

/// A step with everything that a response can refer to.
struct ParserFixture {
    request: PlanRequest,
    images: RequestImages,
    prompts: Arc<Prompts>,
    view: SentImage,
    ways: Vec<FuzzedDialect>,
}

/// A dialect and its request.
struct FuzzedDialect {
    dialect: Box<dyn Dialect>,
    model: Model,
    asked: ModelRequest,
}

impl ParserFixture {
    fn new() -> Self {
        let mut request = request("save the file", SCREEN);
        request.image = Some(solid_screenshot(40));
        request.applications = vec!["Files".to_owned()];
        request.functions = vec![FunctionDeclaration {
            name: "billing.lookup".to_owned(),
            description: "Looks an invoice up.".to_owned(),
            parameters_json_schema: r#"{"type": "object", "required": ["id"], "properties": {"id": {"type": "integer"}}}"#.to_owned(),
        }];
        let image_spec = ModelTable::default()
            .get("local-vl", Api::OpenaiChat)
            .image_spec;
        let view = SentImage::whole(request.frame.size, image_spec.rule, image_spec.convention);
        let mut desk = Self {
            images: RequestImages::of(&request),
            request,
            prompts: Arc::new(Prompts::built_in().unwrap()),
            view: view.unwrap(),
            ways: Vec::new(),
        };
        let sent = OpenAiComputer {
            conversation_storage: ConversationStorage::Stateless,
        };
        desk.add(ClaudeSom::default(), "claude-opus-4-6");
        desk.add(ChatSom::default(), "local-vl");
        // Pixels and fractions; pixels and thousandths.
        desk.add(OpenCua::default(), "opencua-7b");
        desk.add(OpenCua::default(), "opencua-a3b");
        desk.add(QwenVl, "qwen2.5-vl-7b");
        desk.add(QwenVl, "qwen3-vl-plus");
        // One action per call, and one tool per action; several actions per call, and one.
        desk.add(ClaudeComputer, "claude-opus-4-6");
        desk.add(ClaudeComputer, "claude-opus-5-5");
        desk.add(OpenAiComputer::default(), "gpt-5.6-sol");
        desk.add(sent, "computer-use-preview");
        desk
    }

    fn add(&mut self, dialect: impl Dialect, model: &str) {
        let mut way = FuzzedDialect {
            model: ModelTable::default().get(model, dialect.api()),
            dialect: Box::new(dialect),
            asked: ModelRequest::default(),
        };
        // OpenCUA takes no task with functions; its answers are read like those of others.
        let asked_of = PlanRequest {
            functions: Vec::new(),
            ..self.request.clone()
        };
        let asked_of = if model.starts_with("opencua") {
            &asked_of
        } else {
            &self.request
        };
        let step = StepContext {
            request: asked_of,
            ..self.step(&way)
        };
        way.asked = way.dialect.build_request(&step).unwrap();
        self.ways.push(way);
    }

    fn step<'a>(&'a self, way: &'a FuzzedDialect) -> StepContext<'a> {
        StepContext {
            request: &self.request,
            model: &way.model,
            images: &self.images,
            prompts: &self.prompts,
            degraded: DegradedFeatures::default(),
        }
    }

    /// Parses a response with this text, complete and truncated.
    fn parse_text(&self, name: &str, text: &str) {
        for way in self.ways.iter().filter(|way| way.dialect.name() == name) {
            for end in ["stop", "length"] {
                self.parse_answer(way, &answer_with(way.dialect.api(), text, end));
            }
        }
    }

    fn parse_answer(&self, way: &FuzzedDialect, answer: &Value) {
        let step = self.step(way);
        match way.dialect.parse_response(&step, &way.asked, answer) {
            Ok(ParsedResponse::Decision(reading)) => {
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
            Ok(ParsedResponse::FollowUp(again)) => {
                assert!(is_whole(way.dialect.api(), answer), "a part of an answer");
                assert!(again.body.is_object());
            }
            Err(ResponseError::Refused { .. }) => {}
            Err(response_error) => {
                let repair = way
                    .dialect
                    .repair_request(&step, &way.asked, answer, &response_error);
                assert!(repair.body.is_object());
            }
        }
    }

    fn check(&self, decision: &Decision) {
        let there_and_back = Decision::try_from(Wire::from(decision.clone()));
        assert_eq!(there_and_back.as_ref(), Ok(decision));
        match &decision.next {
            Next::Act(actions) => {
                assert!((1..=MAX_ACTIONS).contains(&actions.len()));
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
            // Without a schema, the whole text is read.
            Next::Extract { json_schema, .. } if !json_schema.is_empty() => {
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

    /// Returns the result of the question's check.
    fn answer(&self, question: &Question, text: &str) -> Option<QuestionResult> {
        let value = (question.check)(text, Some(&self.view)).ok()?;
        let usage = Usage::default();
        let exchange = ExchangeTexts::default();
        Some(QuestionResult {
            value,
            usage,
            exchange,
        })
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
            assert!(data.pointer(&source.json_pointer).is_some(), "{source:?}");
            assert!(self.request.scene.element(source.element).is_some());
        }
    }

    fn ask_pointer(&self, text: &str) {
        let request = PointerRequest {
            intent: "save".to_owned(),
            target: CapturePoint::new(60, 55),
            target_bounds: None,
            pointer: CapturePoint::new(90, 90),
            annotated_image: self.request.image.clone(),
            backends: Vec::new(),
            remaining: RemainingLimits::default(),
            tolerance_px: None,
        };
        let question = pointer::question(&request, &self.prompts).unwrap().unwrap();
        let Some(answered) = self.answer(&question, text) else {
            return;
        };
        let seen = pointer::parse_check(&answered.value).unwrap();
        let size = self.request.frame.size;
        assert!(seen.dx.abs() <= size.width && seen.dy.abs() <= size.height);
    }

    fn ask_target(&self, text: &str) {
        let (frame, scene) = (&self.request.frame, &self.request.scene);
        let description = "the thing that keeps my changes";
        let sought = DescribedTarget {
            description,
            image: None,
            frame,
            scene,
            remaining: RemainingLimits::default(),
        };
        let question = target::question(sought, &self.prompts).unwrap();
        let Some(answered) = self.answer(&question, text) else {
            return;
        };
        if let Ok(resolved) = target::resolved(description, answered, frame, scene) {
            assert!(self.is_on_screen(resolved.point));
            assert!(
                resolved
                    .element
                    .is_some_and(|id: ElementId| scene.element(id).is_some())
            );
        }
    }
}

/// Builds a complete response with this text and stop reason.
fn answer_with(api: Api, text: &str, end: &str) -> Value {
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

/// Returns whether the provider marks the response as neither truncated nor refused.
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

fn check_commands(commands: &ModelActions) {
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
        assert!(*duration <= MAX_DURATION, "{action:?}");
    }
}
