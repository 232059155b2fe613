//! A task on paper: a desktop whose screen has another colour at each step, an Orchestrator's bookkeeping, and a model
//! that says what the test wants.

use std::collections::BTreeSet;
use std::sync::LazyLock;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use motorium_planner::backends::concessions::Concessions;
use motorium_planner::backends::dialect::{Answer, Asked, Dialect, Misread, Reading, Step};
use motorium_planner::models::{Api, Model, Models};
use motorium_planner::picture::Pictures;
use motorium_planner::prompt::Prompts;
use motorium_proto::domain::decision::{
    FunctionDeclaration, FunctionResult, Next, PastAction, PastStep, SafetyCheck,
};
use motorium_proto::domain::effect::{ActionOutcome, ActionResult, ChangeMap, Effect, Verdict};
use motorium_proto::domain::frame::{Cursor, Image, ImageContent};
use motorium_proto::domain::geometry::CapturePoint;
use motorium_proto::service::PlanRequest;
use serde_json::Value;

use super::sound;
use crate::request::{picture_of, request};

/// Pictures that are shown, with the present one, and how many are taken away at once.
const USUAL_RETENTION: (usize, usize) = (3, 1);

/// Screens that differ.
static SCREENS: LazyLock<Vec<Image>> =
    LazyLock::new(|| (0..24).map(|look| picture_of(look * 10)).collect());

/// A task under way.
pub(super) struct World {
    pub(super) request: PlanRequest,
    dialect: Box<dyn Dialect>,
    model: Model,
    prompts: Prompts,
    /// What the model has said, word for word, in answers that were decisions.
    pub(super) said: Vec<Value>,
    /// The warnings that a person accepted.
    pub(super) accepted: BTreeSet<String>,
    /// Whether the request at hand is the first one of its step.
    pub(super) begins: bool,
    retention: (usize, usize),
    looks: usize,
    name: Option<&'static str>,
    sent: usize,
    /// The body of the last request.
    pub(super) last_sent: Option<Value>,
}

/// What came of asking a model.
#[derive(Debug)]
pub(super) enum Outcome {
    Decided(Box<Reading>),
    /// Neither the answer nor the one after a repair was a decision.
    Gave(Misread),
}

impl World {
    /// A task for that model. `name`: the requests are left for the check against the provider's types.
    pub(super) fn new(dialect: impl Dialect, model: &str, name: Option<&'static str>) -> Self {
        let screen = r#"
            window 0,0 1000x800 "Notes" active
            button 20,40 80x30 "Save"
        "#;
        let mut request = PlanRequest {
            functions: vec![FunctionDeclaration {
                name: "billing.lookup".to_owned(),
                description: "Looks an invoice up.".to_owned(),
                parameters_json_schema:
                    r#"{"type": "object", "properties": {"id": {"type": "integer"}}}"#.to_owned(),
            }],
            applications: vec!["Files".to_owned()],
            ..request("save the file", screen)
        };
        request.frame.cursor = Some(Cursor {
            position: CapturePoint::new(40, 50),
            drawn: false,
        });
        let api = dialect.api();
        let mut world = Self {
            request,
            model: Models::default().get(model, api),
            dialect: Box::new(dialect),
            prompts: Prompts::built_in().unwrap(),
            said: Vec::new(),
            accepted: BTreeSet::new(),
            begins: true,
            retention: USUAL_RETENTION,
            looks: 0,
            name,
            sent: 0,
            last_sent: None,
        };
        world.look();
        world
    }

    /// The screen as it is, as it is sent.
    pub(super) fn screen(&self) -> String {
        match &self.request.image.as_ref().unwrap().content {
            ImageContent::Bytes(bytes) => STANDARD.encode(bytes),
            ImageContent::BlobUri(uri) => panic!("{uri}"),
        }
    }

    pub(super) fn model(&mut self) -> &mut Model {
        &mut self.model
    }

    /// Pictures are kept as the Orchestrator's hook of that name does it.
    pub(super) fn retain_pictures(&mut self, images: usize, chunk: usize) {
        self.retention = (images, chunk);
    }

    /// A new look at the screen.
    pub(super) fn look(&mut self) {
        let image = SCREENS[self.looks % SCREENS.len()].clone();
        self.request.image = Some(image);
        self.looks += 1;
    }

    /// The request of the present step.
    pub(super) fn ask(&mut self) -> Asked {
        let pictures = Pictures::of(&self.request);
        let asked = self.dialect.ask(&self.step(&pictures)).unwrap();
        self.begins = true;
        self.check(&asked);
        self.begins = false;
        asked
    }

    /// Asks, and gives these answers one after the other, for as long as there is something to answer. What comes after
    /// the last of them is not asked.
    pub(super) fn plan(&mut self, answers: &[Value]) -> Outcome {
        let mut asked = self.ask();
        let mut repaired = false;
        let mut last = Misread::Invalid {
            message: "not answered".to_owned(),
        };
        for answer in answers {
            let pictures = Pictures::of(&self.request);
            let read = self.dialect.read(&self.step(&pictures), &asked, answer);
            let next = match read {
                Ok(Answer::Decided(reading)) => {
                    self.said.push(answer.clone());
                    return Outcome::Decided(reading);
                }
                Ok(Answer::Again(again)) => {
                    self.said.push(answer.clone());
                    *again
                }
                Err(Misread::Refused { message }) => {
                    return Outcome::Gave(Misread::Refused { message });
                }
                Err(misread) if repaired => return Outcome::Gave(misread),
                Err(misread) => {
                    repaired = true;
                    self.said.push(answer.clone());
                    let repair =
                        self.dialect
                            .repair(&self.step(&pictures), &asked, answer, &misread);
                    last = misread;
                    repair
                }
            };
            self.check(&next);
            asked = next;
        }
        Outcome::Gave(last)
    }

    /// A decision that has to come.
    pub(super) fn decide(&mut self, answers: &[Value]) -> Reading {
        match self.plan(answers) {
            Outcome::Decided(reading) => *reading,
            Outcome::Gave(misread) => panic!("{misread}"),
        }
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

    /// Whatever has happened: what is sent is sound.
    fn check(&mut self, asked: &Asked) {
        let problems = match self.dialect.api() {
            Api::AnthropicMessages => sound::anthropic(&asked.body, self),
            _ => sound::openai(&asked.body, self),
        };
        assert!(
            problems.is_empty(),
            "{problems:#?}\n{:#}",
            sound::short(&asked.body)
        );
        self.sent += 1;
        self.last_sent = Some(asked.body.clone());
        if let Some(name) = self.name {
            let kind = match self.dialect.api() {
                Api::AnthropicMessages if asked.headers.is_empty() => "anthropic",
                Api::AnthropicMessages => "anthropic-beta",
                _ => "openai-responses",
            };
            crate::contract::leave(kind, &format!("{name}-{}", self.sent), &asked.body);
        }
    }

    /// The decision is stored; its actions come to that. Fewer results than actions: the rest was never begun.
    pub(super) fn carry_out(
        &mut self,
        reading: &Reading,
        results: &[ActionResult],
    ) -> &mut PastStep {
        self.stored(reading);
        let mut step = self.begun();
        step.thought = reading.thought.clone();
        match &reading.next {
            Next::Act(actions) => {
                let past = actions
                    .iter()
                    .zip(results)
                    .map(|(planned, result)| PastAction {
                        planned: planned.clone(),
                        outcome: ActionOutcome::new(*result, "said by the test"),
                        effect: (*result == ActionResult::Performed).then(seen),
                        retries: 0,
                    });
                step.actions = past.collect();
            }
            Next::CallFunctions(calls) => {
                step.function_calls = calls.clone();
                let results = calls
                    .iter()
                    .zip(results)
                    .map(|(call, result)| FunctionResult {
                        call_id: call.call_id.clone(),
                        outcome: match result {
                            ActionResult::Performed => Ok("{\"paid\":true}".to_owned()),
                            _ => Err("it is not reachable".to_owned()),
                        },
                    });
                step.function_results = results.collect();
            }
            Next::Extract { .. } if results.first() == Some(&ActionResult::Performed) => {
                step.extracted_json = Some("{\"total\":7}".to_owned());
            }
            _ => {}
        }
        self.finish(step)
    }

    /// A person accepts the warnings of the last step.
    pub(super) fn accept(&mut self, checks: &[SafetyCheck]) {
        self.accepted
            .extend(checks.iter().map(|check| check.id.clone()));
        if let Some(step) = self.request.history.last_mut() {
            step.acknowledged_safety_checks = checks.to_vec();
        }
    }

    /// Another backend has decided a step.
    pub(super) fn decided_by_another(&mut self, conversation: &'static [u8]) {
        // The router hands no backend the conversation of another one.
        self.request.conversation = Bytes::from_static(conversation);
        self.request.conversation_backend = "another".to_owned();
        let mut step = self.begun();
        step.thought = "decided by another".to_owned();
        self.finish(step);
    }

    /// A step that was begun, and whose decision was lost.
    pub(super) fn crashed(&mut self) {
        let step = self.begun();
        self.finish(step);
    }

    fn stored(&mut self, reading: &Reading) {
        self.request.conversation = reading.conversation.clone();
        self.request.conversation_backend = self.dialect.name().to_owned();
        self.request.notices.clear();
        let said = std::mem::take(&mut self.request.user_messages);
        if let Some(previous) = self.request.history.last_mut() {
            previous.user_messages.extend(said);
        }
    }

    fn begun(&self) -> PastStep {
        PastStep {
            step: self.request.history.last().map_or(0, |step| step.step) + 1,
            image: self.request.image.clone(),
            frame_size: Some(self.request.frame.size),
            ..PastStep::default()
        }
    }

    fn finish(&mut self, step: PastStep) -> &mut PastStep {
        self.request.history.push(step);
        let (images, chunk) = self.retention;
        let too_many = (self.request.history.len() + 1).saturating_sub(images);
        let without = too_many - too_many % chunk;
        for old in &mut self.request.history[..without] {
            old.image = None;
        }
        self.look();
        self.request.history.last_mut().unwrap()
    }
}

fn seen() -> Effect {
    Effect {
        verdict: Verdict::Confirmed,
        change: ChangeMap::default(),
        share_near_target: 1.0,
        window_changed: false,
        explanation: String::new(),
        settled: true,
        settle_time: Duration::ZERO,
    }
}
