//! A backend that asks a model: one for all dialects. It sends what a dialect writes, reads what it is answered with the
//! dialect's eyes, counts what that used, and asks once more where an answer is none.
//!
//! It does not retry what failed on the way and keeps no state of any task: only what its endpoint does not take is
//! remembered.

use std::num::NonZeroUsize;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use async_trait::async_trait;
use bytes::Bytes;
use motorium_kit::blocking;
use motorium_proto::domain::decision::{Decision, Usage};
use motorium_proto::domain::geometry::CaptureSize;
use motorium_proto::service::{BackendInfo, BackendState, PlanRequest};
use serde_json::Value;
use tokio::sync::{AcquireError, Semaphore, SemaphorePermit};
use tokio::time::Instant;

use super::concessions::Concessions;
use super::dialect::{Answer, Asked, Dialect, Misread, Reading, Step, Unasked};
use super::estimate::Estimate;
use super::question::{self, Question};
use super::{Backend, BackendError, Spent, estimate};
use crate::answer::said::Said;
use crate::models::{Model, Prices};
use crate::picture::{Pictures, SentPicture};
use crate::prompt::Prompts;
use crate::provider::{Endpoint, Failure, Tokens};

/// How often a model may ask for a closer look before it decides.
const MOST_LOOKS: u32 = 4;

/// As many requests are written at once as there are processors: more would not be ready sooner, and each has a whole
/// screen in memory meanwhile.
static TURNS: LazyLock<Semaphore> = LazyLock::new(|| {
    Semaphore::new(std::thread::available_parallelism().map_or(2, NonZeroUsize::get))
});

/// What a model backend is made of.
#[derive(Debug)]
pub struct Parts {
    pub name: String,
    pub dialect: Arc<dyn Dialect>,
    pub model: Model,
    /// Where the model is, or what is missing.
    pub endpoint: Result<Endpoint, String>,
    pub prompts: Arc<Prompts>,
}

/// Asks a model what to do next.
#[derive(Debug)]
pub struct ModelBackend {
    name: String,
    endpoint: Result<Endpoint, String>,
    asker: Arc<Asker>,
    concessions: Mutex<Concessions>,
}

/// The pure part, which works on threads of its own: pictures are large.
#[derive(Debug)]
struct Asker {
    dialect: Arc<dyn Dialect>,
    model: Model,
    prompts: Arc<Prompts>,
}

/// A request on its way to a decision.
#[derive(Debug)]
struct Task {
    request: PlanRequest,
    pictures: Pictures,
}

impl Task {
    fn new(request: PlanRequest) -> Self {
        Self {
            pictures: Pictures::of(&request),
            request,
        }
    }

    /// The same without its conversation, if the provider may have refused because of that: it no longer has it, or does
    /// not take it in this form.
    fn anew_after(&self, failure: &Failure) -> Option<Self> {
        let refused = failure.refused.as_ref()?;
        let is_about_content = matches!(refused.status, 400 | 404 | 413 | 422);
        if self.request.conversation.is_empty() || !is_about_content {
            return None;
        }
        Some(Self::new(PlanRequest {
            conversation: Bytes::new(),
            ..self.request.clone()
        }))
    }
}

/// A request as it was sent, and what came back.
#[derive(Debug)]
struct Exchange {
    asked: Asked,
    answer: Value,
}

impl ModelBackend {
    /// A backend of these parts.
    #[must_use]
    pub fn new(parts: Parts) -> Self {
        Self {
            name: parts.name,
            endpoint: parts.endpoint,
            asker: Arc::new(Asker {
                dialect: parts.dialect,
                model: parts.model,
                prompts: parts.prompts,
            }),
            concessions: Mutex::default(),
        }
    }

    fn endpoint(&self) -> Result<&Endpoint, BackendError> {
        self.endpoint
            .as_ref()
            .map_err(|missing| BackendError::NotConfigured {
                message: missing.clone(),
            })
    }

    fn concessions(&self) -> Concessions {
        *self
            .concessions
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn concede(&self, made: Concessions) {
        tracing::info!(
            backend = self.name,
            ?made,
            "the endpoint does not take all of it"
        );
        *self
            .concessions
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = made;
    }

    /// Sends the request of a step; where the endpoint refuses a part of it that can be left out, once more without, and
    /// where it refuses to go on with a conversation, once more with a new one.
    async fn open(
        &self,
        task: &mut Arc<Task>,
        spent: &Spent,
    ) -> Result<Arc<Exchange>, BackendError> {
        loop {
            let made = self.concessions();
            let asked = self.asker.ask(task, made).await?;
            self.check_limits(&asked, task, spent)?;
            match self.send(&asked, spent).await {
                Ok(answer) => return Ok(Arc::new(Exchange { asked, answer })),
                Err(failure) => {
                    let refused = failure.refused.as_ref();
                    let conceded =
                        refused.and_then(|refused| self.asker.dialect.concede(refused, made));
                    if let Some(conceded) = conceded {
                        self.concede(conceded);
                    } else if let Some(anew) = task.anew_after(&failure) {
                        tracing::info!(backend = self.name, "the conversation begins anew");
                        *task = Arc::new(anew);
                    } else {
                        return Err(failure.into());
                    }
                }
            }
        }
    }

    /// Whether the request of a step may be sent with what is left of the task's limits.
    fn check_limits(&self, asked: &Asked, task: &Task, spent: &Spent) -> Result<(), BackendError> {
        let PlanRequest {
            frame, remaining, ..
        } = &task.request;
        let model = &self.asker.model;
        let estimate = Estimate::of(&asked.body, asked.kept_tokens, model, frame.size);
        estimate::check(estimate, *remaining, spent)
    }

    /// Sends a request that goes on from an answer.
    async fn go_on(&self, asked: Asked, spent: &Spent) -> Result<Arc<Exchange>, BackendError> {
        let answer = self.send(&asked, spent).await?;
        Ok(Arc::new(Exchange { asked, answer }))
    }

    async fn send(&self, asked: &Asked, spent: &Spent) -> Result<Value, Failure> {
        let missing = |missing: &String| Failure::unsendable(missing.clone());
        let endpoint = self.endpoint.as_ref().map_err(missing)?;
        let began = Instant::now();
        let answer = endpoint.post(&asked.body, &asked.headers).await?;
        spent.add(self.asker.usage_of(&answer, began));
        Ok(answer)
    }

    /// From the first request to a decision: at most one repair, and a few closer looks.
    async fn decide(&self, mut task: Arc<Task>, spent: &Spent) -> Result<Reading, BackendError> {
        let mut exchange = self.open(&mut task, spent).await?;
        let task = &task;
        let (mut looks, mut is_repaired) = (0, false);
        loop {
            let made = self.concessions();
            let asked = match self.asker.read(task, made, &exchange).await {
                Ok(Answer::Decided(reading)) => return Ok(*reading),
                Ok(Answer::Again(asked)) if looks < MOST_LOOKS => {
                    looks += 1;
                    *asked
                }
                Ok(Answer::Again(_)) => return Err(no_decision("it only wants to look again")),
                Err(Misread::Refused { message }) => return Err(BackendError::Refused { message }),
                Err(misread) if is_repaired => return Err(no_decision(&misread.to_string())),
                Err(misread) => {
                    tracing::debug!(backend = self.name, %misread, "the model is asked to repair its answer");
                    is_repaired = true;
                    self.asker.repair(task, made, &exchange, misread).await
                }
            };
            self.check_limits(&asked, task, spent)?;
            exchange = self.go_on(asked, spent).await?;
        }
    }

    fn decision(&self, reading: Reading) -> Decision {
        Decision {
            thought: reading.thought,
            progress: reading.progress,
            next: reading.next,
            safety_checks: reading.safety_checks,
            conversation: reading.conversation,
            backend: self.name.clone(),
            model: self.asker.model.name.clone(),
            usage: Usage::default(),
            suspected_injections: reading.suspected_injections,
            conversation_images: reading
                .conversation_images
                .iter()
                .map(|image| image.0)
                .collect(),
        }
    }

    /// Asks a question, and once more if the answer does not hold.
    async fn put(&self, question: &Question, spent: &Spent) -> Result<Value, BackendError> {
        let (mut body, view) = self.asker.question(question).await?;
        let api = self.asker.dialect.api();
        let nothing = CaptureSize::new(0, 0);
        let screen = view.map_or(nothing, |view| view.region().size());
        let mut is_repaired = false;
        loop {
            let estimate = Estimate::of(&body, 0, &self.asker.model, screen);
            estimate::check(estimate, question.remaining, spent)?;
            let asked = Asked {
                body,
                ..Asked::default()
            };
            let answer = self.send(&asked, spent).await?;
            let text = match Said::of(api, &answer) {
                Ok(said) => said.into_text(),
                Err(Misread::Refused { message }) => return Err(BackendError::Refused { message }),
                Err(misread) => return Err(no_decision(&misread.to_string())),
            };
            match (question.check)(&text, view.as_ref()) {
                Ok(value) => return Ok(value),
                Err(problem) if is_repaired => return Err(no_decision(&problem)),
                Err(problem) => {
                    is_repaired = true;
                    body = question::ask_again(api, asked.body, &text, &problem);
                }
            }
        }
    }
}

fn no_decision(message: &str) -> BackendError {
    BackendError::InvalidAnswer {
        message: message.to_owned(),
    }
}

impl Asker {
    async fn ask(
        self: &Arc<Self>,
        task: &Arc<Task>,
        made: Concessions,
    ) -> Result<Asked, BackendError> {
        let turn = TURNS.acquire().await;
        let (asker, asked_of) = (Arc::clone(self), Arc::clone(task));
        let asked = blocking::run(move || asker.dialect.ask(&asker.step(&asked_of, made))).await;
        tokio::spawn(self.clone().put_away(Arc::clone(task), turn));
        Ok(asked?)
    }

    /// While the model thinks, nobody looks at the pixels: what later steps will show of them is kept, and the rest let go.
    async fn put_away(
        self: Arc<Self>,
        task: Arc<Task>,
        _turn: Result<SemaphorePermit<'static>, AcquireError>,
    ) {
        let shows_history = self.model.takes_history_images();
        blocking::run(move || {
            if shows_history {
                task.pictures.keep_for_later(self.model.taste);
            }
            task.pictures.release();
        })
        .await;
    }

    async fn read(
        self: &Arc<Self>,
        task: &Arc<Task>,
        made: Concessions,
        exchange: &Arc<Exchange>,
    ) -> Result<Answer, Misread> {
        let (asker, task) = (Arc::clone(self), Arc::clone(task));
        let exchange = Arc::clone(exchange);
        blocking::run(move || {
            let step = asker.step(&task, made);
            let read = asker.dialect.read(&step, &exchange.asked, &exchange.answer);
            task.pictures.release();
            read
        })
        .await
    }

    async fn repair(
        self: &Arc<Self>,
        task: &Arc<Task>,
        made: Concessions,
        exchange: &Arc<Exchange>,
        misread: Misread,
    ) -> Asked {
        let (asker, task) = (Arc::clone(self), Arc::clone(task));
        let exchange = Arc::clone(exchange);
        blocking::run(move || {
            let step = asker.step(&task, made);
            let dialect = &asker.dialect;
            let repair = dialect.repair(&step, &exchange.asked, &exchange.answer, &misread);
            task.pictures.release();
            repair
        })
        .await
    }

    fn step<'a>(&'a self, task: &'a Task, concessions: Concessions) -> Step<'a> {
        Step {
            request: &task.request,
            model: &self.model,
            pictures: &task.pictures,
            prompts: &self.prompts,
            concessions,
        }
    }

    /// The request of a question, and its picture as it is sent.
    async fn question(
        self: &Arc<Self>,
        question: &Question,
    ) -> Result<(Value, Option<SentPicture>), BackendError> {
        let (asker, question) = (Arc::clone(self), question.clone());
        let rendered = blocking::run(move || {
            let picture = question
                .image
                .as_ref()
                .map(|image| Pictures::of_image(image).marked(asker.model.taste, &question.marked))
                .transpose()?;
            let api = asker.dialect.api();
            let body = question::ask(api, &asker.model, &question, picture.as_ref())?;
            Ok::<_, Unasked>((body, picture.map(|picture| picture.view)))
        });
        Ok(rendered.await?)
    }

    fn usage_of(&self, answer: &Value, began: Instant) -> Usage {
        let tokens = Tokens::of(self.dialect.api(), answer);
        let price = |prices: &Prices| prices.cost_micros_usd(tokens);
        Usage {
            input_tokens: tokens.input,
            output_tokens: tokens.output,
            cached_tokens: tokens.cached,
            reasoning_tokens: tokens.reasoning,
            cost_micros_usd: self.model.prices.as_ref().and_then(price),
            calls: 1,
            inference_time: began.elapsed(),
        }
    }
}

#[async_trait]
impl Backend for ModelBackend {
    fn name(&self) -> &str {
        &self.name
    }

    fn info(&self) -> BackendInfo {
        let (state, last_error) = match &self.endpoint {
            Ok(_) => (BackendState::Ready, None),
            Err(missing) => (BackendState::NotConfigured, Some(missing.clone())),
        };
        BackendInfo {
            name: self.name.clone(),
            state,
            model: self.asker.model.name.clone(),
            last_error,
            median_latency: None,
            usage: Usage::default(),
            needs_image: self.asker.dialect.needs_image(),
        }
    }

    fn has_model(&self) -> bool {
        true
    }

    async fn plan(&self, request: &PlanRequest, spent: &Spent) -> Result<Decision, BackendError> {
        self.endpoint()?;
        let task = Arc::new(Task::new(request.clone()));
        let reading = self.decide(task, spent).await?;
        Ok(self.decision(reading))
    }

    async fn answer(&self, question: &Question, spent: &Spent) -> Result<Value, BackendError> {
        self.endpoint()?;
        self.put(question, spent).await
    }
}
