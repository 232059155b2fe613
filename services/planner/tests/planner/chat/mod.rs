//! Models on chat endpoints that are asked in their own forms: what they are sent, and what their answers mean.

mod opencua;
mod qwen_vl;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use motorium_imaging::picture;
use motorium_planner::backends::concessions::Concessions;
use motorium_planner::backends::dialect::{Answer, Asked, Dialect, Misread, Reading, Step};
use motorium_planner::backends::opencua::OpenCua;
use motorium_planner::backends::qwen_vl::QwenVl;
use motorium_planner::models::{Api, Model, Models};
use motorium_planner::picture::Pictures;
use motorium_planner::prompt::Prompts;
use motorium_proto::domain::action::{Action, Button, Target};
use motorium_proto::domain::decision::{Next, PastAction, PastStep, PlannedAction};
use motorium_proto::domain::effect::{ActionOutcome, ActionResult, Effect, Verdict};
use motorium_proto::domain::geometry::CapturePoint;
use motorium_proto::service::PlanRequest;
use serde_json::{Value, json};

use crate::request::{picture_of, request};

/// A task under way, and the model that is asked.
struct World {
    request: PlanRequest,
    model: Model,
    prompts: Prompts,
}

impl World {
    /// The first step of a task, for the model of that name.
    fn new(model: &str) -> Self {
        let request = PlanRequest {
            image: Some(picture_of(0)),
            ..request("Save the file.", "button 20,40 80x30 \"Save\"")
        };
        Self {
            request,
            model: Models::default().get(model, Api::OpenaiChat),
            prompts: Prompts::built_in().unwrap(),
        }
    }

    fn ask(&self, dialect: &dyn Dialect) -> Asked {
        let pictures = Pictures::of(&self.request);
        let asked = dialect.ask(&self.step(&pictures)).unwrap();
        self.leave(dialect, &asked);
        asked
    }

    /// By what it says, as many tests ask for the same.
    fn leave(&self, dialect: &dyn Dialect, asked: &Asked) {
        let checksum = picture::sha256(asked.body.to_string().as_bytes());
        let name = format!("{}-{:02x}{:02x}", dialect.name(), checksum[0], checksum[1]);
        crate::contract::leave("openai-chat", &name, &asked.body);
    }

    /// What an answer to the present request means.
    fn read(&self, dialect: &dyn Dialect, answer: &Value) -> Result<Reading, Misread> {
        let asked = self.ask(dialect);
        let pictures = Pictures::of(&self.request);
        match dialect.read(&self.step(&pictures), &asked, answer)? {
            Answer::Decided(reading) => Ok(*reading),
            Answer::Again(_) => panic!("it asks again"),
        }
    }

    fn repair(&self, dialect: &dyn Dialect, answer: &Value, misread: &Misread) -> Asked {
        let asked = self.ask(dialect);
        let pictures = Pictures::of(&self.request);
        let repaired = dialect.repair(&self.step(&pictures), &asked, answer, misread);
        self.leave(dialect, &repaired);
        repaired
    }

    fn step<'a>(&'a self, pictures: &'a Pictures) -> Step<'a> {
        Step {
            request: &self.request,
            model: &self.model,
            pictures,
            prompts: &self.prompts,
            concessions: Concessions::default(),
        }
    }

    /// The model decides, and its actions come to that.
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

    /// A step that another backend decided.
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
        };
        self.request.history.push(PastStep {
            step: number,
            thought: thought.to_owned(),
            actions: actions.into_iter().map(done).collect(),
            image: self.request.image.clone(),
            frame_size: Some(self.request.frame.size),
            ..PastStep::default()
        });
        self.request.image = Some(picture_of(number as u8));
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
fn advice_for_the_active_window_is_given_here_too() {
    let browser = crate::screens::screen("window 0,0 1000x800 \"Start - Mozilla Firefox\" active");
    for (model, dialect) in [
        ("opencua-7b", &OpenCua::default() as &dyn Dialect),
        ("qwen3-vl-plus", &QwenVl),
    ] {
        let mut world = World::new(model);
        assert!(!told(&world.ask(dialect).body).contains("Advice:"));
        world.request.frame = browser.frame.clone();
        let text = told(&world.ask(dialect).body);
        let (_, last) = text.rsplit_once("--- user").unwrap();
        assert!(
            last.contains("Advice:\nA browser is open.\n- Go to an address"),
            "{last}"
        );
    }
}

/// An answer with that text.
fn chat(text: &str) -> Value {
    json!({
        "id": "chatcmpl-1", "object": "chat.completion", "created": 1_763_683_200, "model": "m",
        "choices": [{"index": 0, "finish_reason": "stop", "logprobs": null,
            "message": {"role": "assistant", "refusal": null, "content": text}}],
        "usage": {"prompt_tokens": 1400, "completion_tokens": 40, "total_tokens": 1440},
    })
}

/// The messages as text, a picture by the step that it is of and its size.
fn told(body: &Value) -> String {
    let messages = body["messages"].as_array().unwrap();
    let told = messages.iter().map(|message| {
        let content = match &message["content"] {
            Value::Array(parts) => parts.iter().map(told_part).collect::<Vec<_>>().join("\n"),
            content => content.as_str().unwrap().to_owned(),
        };
        format!("--- {}\n{content}\n", message["role"].as_str().unwrap())
    });
    told.collect()
}

fn told_part(part: &Value) -> String {
    let Some(url) = part["image_url"]["url"].as_str() else {
        return part["text"].as_str().unwrap().to_owned();
    };
    let data = url.strip_prefix("data:image/png;base64,").unwrap();
    let pixels = picture::decode(&STANDARD.decode(data).unwrap()).unwrap();
    let step = pixels.get_pixel(500, 400).0[0];
    format!("<screen {step} at {}x{}>", pixels.width(), pixels.height())
}

/// Where an answer clicks, in pixels of the frame.
fn clicked(reading: &Reading) -> (i32, i32) {
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
