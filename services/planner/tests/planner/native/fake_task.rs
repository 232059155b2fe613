//! A simulated task: a desktop whose screen has another colour at each step, the Orchestrator's bookkeeping, and a
//! scripted model.

use std::collections::BTreeSet;
use std::sync::LazyLock;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use motorium_planner::backends::degraded_features::DegradedFeatures;
use motorium_planner::backends::dialect::{Dialect, ModelRequest, ParsedResponse, StepContext};
use motorium_planner::models::{Api, Model, ModelTable};
use motorium_planner::prompt::Prompts;
use motorium_planner::response::{ParsedDecision, ResponseError};
use motorium_planner::screenshot::RequestImages;
use motorium_proto::domain::decision::{
    FunctionDeclaration, FunctionResult, Next, PastAction, PastStep, SafetyCheck,
};
use motorium_proto::domain::effect::{ActionOutcome, ActionResult, ChangeMap, Effect, Verdict};
use motorium_proto::domain::frame::{Cursor, Image, ImageContent};
use motorium_proto::domain::geometry::CapturePoint;
use motorium_proto::domain::session::TaskContext;
use motorium_proto::service::PlanRequest;
use serde_json::Value;

use super::request_checks;
use crate::request::{request, solid_screenshot};

/// Default retention: number of images including the current one, and number that is removed at once.
const USUAL_RETENTION: (usize, usize) = (3, 1);

/// Distinguishable screens.
static SCREENS: LazyLock<Vec<Image>> =
    LazyLock::new(|| (0..24).map(|look| solid_screenshot(look * 10)).collect());

/// A task in progress.
pub(super) struct FakeTask {
    pub(super) request: PlanRequest,
    dialect: Box<dyn Dialect>,
    model: Model,
    prompts: Prompts,
    /// Verbatim model turns of all accepted decisions.
    pub(super) model_turns: Vec<Value>,
    /// Safety checks that the user accepted.
    pub(super) accepted: BTreeSet<String>,
    /// `true` if the current request is the first of its step.
    pub(super) begins: bool,
    retention: (usize, usize),
    looks: usize,
    name: Option<&'static str>,
    sent: usize,
    /// Body of the last request.
    pub(super) last_sent: Option<Value>,
}

/// Result of asking the model.
#[derive(Debug)]
pub(super) enum Outcome {
    Decided(Box<ParsedDecision>),
    /// Neither the response nor its repair was a valid decision.
    Gave(ResponseError),
}

impl FakeTask {
    /// Creates a task for this model. `name` is the prefix of the dumped requests.
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
            context: TaskContext::default(),
            ..request("save the file", screen)
        };
        request.frame.cursor = Some(Cursor {
            position: CapturePoint::new(40, 50),
            drawn: false,
        });
        let api = dialect.api();
        let mut world = Self {
            request,
            model: ModelTable::default().get(model, api),
            dialect: Box::new(dialect),
            prompts: Prompts::built_in().unwrap(),
            model_turns: Vec::new(),
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

    /// Returns the current screen as sent.
    pub(super) fn screen(&self) -> String {
        match &self.request.image.as_ref().unwrap().content {
            ImageContent::Bytes(bytes) => STANDARD.encode(bytes),
            ImageContent::BlobUri(uri) => panic!("{uri}"),
        }
    }

    pub(super) fn model(&mut self) -> &mut Model {
        &mut self.model
    }

    /// Sets the image retention, as the Orchestrator's hook of that name does.
    pub(super) fn retain_images(&mut self, images: usize, chunk: usize) {
        self.retention = (images, chunk);
    }

    /// Takes a new screenshot.
    pub(super) fn look(&mut self) {
        let image = SCREENS[self.looks % SCREENS.len()].clone();
        self.request.image = Some(image);
        self.looks += 1;
    }

    /// Builds the request of the current step.
    pub(super) fn ask(&mut self) -> ModelRequest {
        let images = RequestImages::of(&self.request);
        let asked = self.dialect.build_request(&self.step(&images)).unwrap();
        self.begins = true;
        self.check(&asked);
        self.begins = false;
        asked
    }

    /// Runs the step with these responses, as far as they are requested. The request after the last one is not built.
    pub(super) fn plan(&mut self, answers: &[Value]) -> Outcome {
        let mut asked = self.ask();
        let mut repaired = false;
        let mut last = ResponseError::Invalid {
            message: "not answered".to_owned(),
        };
        for answer in answers {
            let images = RequestImages::of(&self.request);
            let read = self
                .dialect
                .parse_response(&self.step(&images), &asked, answer);
            let next = match read {
                Ok(ParsedResponse::Decision(reading)) => {
                    self.model_turns.push(answer.clone());
                    return Outcome::Decided(reading);
                }
                Ok(ParsedResponse::FollowUp(again)) => {
                    self.model_turns.push(answer.clone());
                    *again
                }
                Err(ResponseError::Refused { message }) => {
                    return Outcome::Gave(ResponseError::Refused { message });
                }
                Err(response_error) if repaired => return Outcome::Gave(response_error),
                Err(response_error) => {
                    repaired = true;
                    self.model_turns.push(answer.clone());
                    let repair = self.dialect.repair_request(
                        &self.step(&images),
                        &asked,
                        answer,
                        &response_error,
                    );
                    last = response_error;
                    repair
                }
            };
            self.check(&next);
            asked = next;
        }
        Outcome::Gave(last)
    }

    /// Runs the step, which has to yield a decision.
    pub(super) fn decide(&mut self, answers: &[Value]) -> ParsedDecision {
        match self.plan(answers) {
            Outcome::Decided(reading) => *reading,
            Outcome::Gave(response_error) => panic!("{response_error}"),
        }
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

    /// Checks the invariants of a request.
    fn check(&mut self, asked: &ModelRequest) {
        let problems = match self.dialect.api() {
            Api::AnthropicMessages => request_checks::anthropic(&asked.body, self),
            _ => request_checks::openai(&asked.body, self),
        };
        assert!(
            problems.is_empty(),
            "{problems:#?}\n{:#}",
            request_checks::short(&asked.body)
        );
        self.sent += 1;
        self.last_sent = Some(asked.body.clone());
        if let Some(name) = self.name {
            let kind = match self.dialect.api() {
                Api::AnthropicMessages if asked.headers.is_empty() => "anthropic",
                Api::AnthropicMessages => "anthropic-beta",
                _ => "openai-responses",
            };
            crate::request_dump::leave(kind, &format!("{name}-{}", self.sent), &asked.body);
        }
    }

    /// Stores the decision and its outcomes. If there are fewer outcomes than actions, the rest was never started.
    pub(super) fn carry_out(
        &mut self,
        reading: &ParsedDecision,
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
                        target_label: None,
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

    /// Accepts the safety checks of the last step as the user.
    pub(super) fn accept(&mut self, checks: &[SafetyCheck]) {
        self.accepted
            .extend(checks.iter().map(|check| check.id.clone()));
        if let Some(step) = self.request.history.last_mut() {
            step.acknowledged_safety_checks = checks.to_vec();
        }
    }

    /// Adds a step that another backend decided.
    pub(super) fn decided_by_another(&mut self, conversation: &'static [u8]) {
        // The router gives no backend the conversation of another one.
        self.request.conversation = Bytes::from_static(conversation);
        self.request.conversation_backend = "another".to_owned();
        let mut step = self.begun();
        step.thought = "decided by another".to_owned();
        self.finish(step);
    }

    /// Adds a step whose decision was lost in a crash.
    pub(super) fn crashed(&mut self) {
        let step = self.begun();
        self.finish(step);
    }

    fn stored(&mut self, reading: &ParsedDecision) {
        self.request.conversation = reading.conversation.clone();
        self.request.conversation_backend = self.dialect.name().to_owned();
        self.request.notices.clear();
        let user_messages = std::mem::take(&mut self.request.user_messages);
        if let Some(previous) = self.request.history.last_mut() {
            previous.user_messages.extend(user_messages);
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
