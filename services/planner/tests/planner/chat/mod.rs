//! Models on chat endpoints with their own prompt formats: the requests, and the meaning of responses.

mod opencua;
mod qwen_vl;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use motorium_imaging::codec;
use motorium_planner::backends::degraded_features::DegradedFeatures;
use motorium_planner::backends::dialect::{Dialect, ModelRequest, ParsedResponse, StepContext};
use motorium_planner::backends::opencua::OpenCua;
use motorium_planner::backends::qwen_vl::QwenVl;
use motorium_planner::models::{Api, Model, ModelTable};
use motorium_planner::prompt::Prompts;
use motorium_planner::response::{ParsedDecision, ResponseError};
use motorium_planner::screenshot::RequestImages;
use motorium_proto::domain::action::{Action, Button, Target};
use motorium_proto::domain::decision::{Next, PastAction, PastStep, PlannedAction};
use motorium_proto::domain::effect::{ActionOutcome, ActionResult, Effect, Verdict};
use motorium_proto::domain::geometry::CapturePoint;
use motorium_proto::service::PlanRequest;
use serde_json::{Value, json};

use crate::request::{request, solid_screenshot};

/// A task in progress, and the model that is asked.
struct FakeTask {
    request: PlanRequest,
    model: Model,
    prompts: Prompts,
}

impl FakeTask {
    /// The first step of a task for this model.
    fn new(model: &str) -> Self {
        let request = PlanRequest {
            image: Some(solid_screenshot(0)),
            ..request("Save the file.", "button 20,40 80x30 \"Save\"")
        };
        Self {
            request,
            model: ModelTable::default().get(model, Api::OpenaiChat),
            prompts: Prompts::built_in().unwrap(),
        }
    }

    fn ask(&self, dialect: &dyn Dialect) -> ModelRequest {
        let images = RequestImages::of(&self.request);
        let asked = dialect.build_request(&self.step(&images)).unwrap();
        self.leave(dialect, &asked);
        asked
    }

    /// Dumps the request under a name derived from its content, because several tests send the same one.
    fn leave(&self, dialect: &dyn Dialect, asked: &ModelRequest) {
        let checksum = codec::sha256(asked.body.to_string().as_bytes());
        let name = format!("{}-{:02x}{:02x}", dialect.name(), checksum[0], checksum[1]);
        crate::request_dump::leave("openai-chat", &name, &asked.body);
    }

    /// Parses a response to the current request.
    fn read(&self, dialect: &dyn Dialect, answer: &Value) -> Result<ParsedDecision, ResponseError> {
        let asked = self.ask(dialect);
        let images = RequestImages::of(&self.request);
        match dialect.parse_response(&self.step(&images), &asked, answer)? {
            ParsedResponse::Decision(reading) => Ok(*reading),
            ParsedResponse::FollowUp(_) => panic!("it asks again"),
        }
    }

    fn repair(
        &self,
        dialect: &dyn Dialect,
        answer: &Value,
        response_error: &ResponseError,
    ) -> ModelRequest {
        let asked = self.ask(dialect);
        let images = RequestImages::of(&self.request);
        let repaired = dialect.repair_request(&self.step(&images), &asked, answer, response_error);
        self.leave(dialect, &repaired);
        repaired
    }

    fn step<'a>(&'a self, images: &'a RequestImages) -> StepContext<'a> {
        StepContext {
            request: &self.request,
            model: &self.model,
            images,
            prompts: &self.prompts,
            degraded: DegradedFeatures::default(),
        }
    }

    /// Performs the model's decision with this verdict.
    fn go_on(&mut self, dialect: &dyn Dialect, answer: &str, verdict: Verdict) {
        let reading = self.read(dialect, &chat(answer)).unwrap();
        self.request.conversation = reading.conversation.clone();
        self.request.conversation_backend = dialect.name().to_owned();
        let actions = match reading.next {
            Next::Act(actions) => actions,
            other => panic!("{other:?}"),
        };
        self.happened(&reading.thought, actions, verdict);
    }

    /// Adds a step that another backend decided.
    fn another(&mut self, thought: &str, intent: &str) {
        self.request.conversation = Bytes::new();
        let click = PlannedAction {
            action: Action::Click {
                at: Some(Target::Point(CapturePoint::new(5, 5))),
                button: Button::Left,
                count: 1,
                modifiers: Vec::new(),
            },
            intent: intent.to_owned(),
            verify_pointer: false,
            repeatable: true,
        };
        self.happened(thought, vec![click], Verdict::Confirmed);
    }

    fn happened(&mut self, thought: &str, actions: Vec<PlannedAction>, verdict: Verdict) {
        let number = self.request.history.len() as u32 + 1;
        let done = |planned| PastAction {
            planned,
            outcome: ActionOutcome::new(ActionResult::Performed, ""),
            effect: Some(effect(verdict)),
            retries: 0,
            target_label: None,
        };
        self.request.history.push(PastStep {
            step: number,
            thought: thought.to_owned(),
            actions: actions.into_iter().map(done).collect(),
            image: self.request.image.clone(),
            frame_size: Some(self.request.frame.size),
            ..PastStep::default()
        });
        self.request.image = Some(solid_screenshot(number as u8));
    }
}

fn effect(verdict: Verdict) -> Effect {
    Effect {
        verdict,
        change: Default::default(),
        share_near_target: 0.0,
        window_changed: false,
        explanation: String::new(),
        settled: true,
        settle_time: Default::default(),
    }
}

#[test]
fn an_application_of_the_task_is_opened_by_its_name() {
    let code = "## Action:\nOpen it.\n\n## Code:\n```python\ncomputer.open_application(name='files')\n```\n";
    let call = "Action: Open it.\n<tool_call>\n{\"name\": \"computer_use\", \"arguments\": \
                {\"action\": \"open_application\", \"text\": \"files\"}}\n</tool_call>";
    for (model, dialect, answer) in [
        ("opencua-7b", &OpenCua::default() as &dyn Dialect, code),
        ("qwen3-vl-plus", &QwenVl, call),
    ] {
        let mut world = FakeTask::new(model);
        assert!(!transcript(&world.ask(dialect).body).contains("open_application"));
        let response_error = world.read(dialect, &chat(answer)).unwrap_err().to_string();
        assert!(
            response_error.contains("no application can be opened"),
            "{response_error}"
        );

        world.request.applications = vec!["Files".to_owned(), "Calculator".to_owned()];
        let text = transcript(&world.ask(dialect).body);
        assert!(text.contains("opens: Files, Calculator"), "{text}");
        let Next::Act(actions) = world.read(dialect, &chat(answer)).unwrap().next else {
            panic!("it acts")
        };
        let name = "Files".to_owned();
        assert_eq!(actions[0].action, Action::OpenApplication { name });

        let other = answer.replace("files", "shell");
        let response_error = world.read(dialect, &chat(&other)).unwrap_err().to_string();
        assert!(
            response_error.contains("these can: Files, Calculator"),
            "{response_error}"
        );
    }
}

/// Returns a response with this text.
fn chat(text: &str) -> Value {
    json!({
        "id": "chatcmpl-1", "object": "chat.completion", "created": 1_763_683_200, "model": "m",
        "choices": [{"index": 0, "finish_reason": "stop", "logprobs": null,
            "message": {"role": "assistant", "refusal": null, "content": text}}],
        "usage": {"prompt_tokens": 1400, "completion_tokens": 40, "total_tokens": 1440},
    })
}

/// Formats the messages as text; an image as its step and size.
fn transcript(body: &Value) -> String {
    let messages = body["messages"].as_array().unwrap();
    let texts = messages.iter().map(|message| {
        let content = match &message["content"] {
            Value::Array(parts) => parts.iter().map(part_text).collect::<Vec<_>>().join("\n"),
            content => content.as_str().unwrap().to_owned(),
        };
        format!("--- {}\n{content}\n", message["role"].as_str().unwrap())
    });
    texts.collect()
}

fn part_text(part: &Value) -> String {
    let Some(url) = part["image_url"]["url"].as_str() else {
        return part["text"].as_str().unwrap().to_owned();
    };
    let data = url.strip_prefix("data:image/png;base64,").unwrap();
    let pixels = codec::decode(&STANDARD.decode(data).unwrap()).unwrap();
    let step = pixels.get_pixel(500, 400).0[0];
    format!("<screen {step} at {}x{}>", pixels.width(), pixels.height())
}

/// Returns the click position of a decision, in frame pixels.
fn clicked(reading: &ParsedDecision) -> (i32, i32) {
    let Next::Act(actions) = &reading.next else {
        panic!("{:?}", reading.next);
    };
    match &actions[0].action {
        Action::Click {
            at: Some(Target::Point(point)),
            ..
        } => (point.x, point.y),
        other => panic!("{other:?}"),
    }
}
