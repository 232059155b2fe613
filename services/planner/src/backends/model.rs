//! A backend that calls a model, for all dialects. It sends the dialect's request, parses the response with the dialect,
//! counts usage, and requests repairs of invalid responses.
//!
//! A request that fails temporarily is sent again within the limits of the call; what was paid for before it is kept. It
//! keeps no task state and only remembers features that its endpoint rejects.

use std::num::NonZeroUsize;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use async_trait::async_trait;
use bytes::Bytes;
use motorium_kit::blocking;
use motorium_proto::domain::decision::{Decision, Usage};
use motorium_proto::domain::frame::Image;
use motorium_proto::domain::geometry::CaptureSize;
use motorium_proto::service::{BackendInfo, BackendState, PlanRequest};
use serde_json::{Value, json};
use tokio::sync::{AcquireError, Semaphore, SemaphorePermit};
use tokio::time::Instant;

use super::call::{RequestLimits, exchange};
use super::degraded_features::DegradedFeatures;
use super::dialect::{Dialect, ModelRequest, ParsedResponse, RequestError, StepContext};
use super::estimate::Estimate;
use super::question::{self, Question};
use super::{Backend, BackendDecision, BackendError, CallContext, estimate};
use crate::models::TokenUsage;
use crate::models::{Model, Prices};
use crate::prompt::Prompts;
use crate::provider::{Endpoint, ProviderFailure, RejectedRequest};
use crate::response::text::ResponseText;
use crate::response::{ParsedDecision, ResponseError};
use crate::screenshot::{RenderedImage, RequestImages, SentImage};
use crate::text_entry;

/// Maximum number of observations (zoom, screenshot) per step: enough to compare a few regions, and it bounds the cost.
const MAX_FOLLOW_UPS: u32 = 4;

/// Maximum number of requests of a decision that are sent again in another form: without the schema, without any JSON
/// mode, without sampling parameters, without storage at the provider, without the URL of the page, and with a new
/// conversation.
const MAX_OTHER_FORMS: u32 = 6;

/// Returns the maximum number of requests that one decision of a model backend sends. See `docs/planner.md`.
#[must_use]
pub const fn max_requests(limits: RequestLimits) -> u32 {
    1 + MAX_FOLLOW_UPS + limits.max_repairs + limits.retry.max_retries + MAX_OTHER_FORMS
}

/// Permits for building requests, one per processor: more would not finish sooner, and each holds a decoded screen in
/// memory.
static RENDER_PERMITS: LazyLock<Semaphore> = LazyLock::new(|| {
    Semaphore::new(std::thread::available_parallelism().map_or(2, NonZeroUsize::get))
});

/// Parts of a model backend.
#[derive(Debug)]
pub struct ModelBackendParts {
    pub name: String,
    pub dialect: Arc<dyn Dialect>,
    pub model: Model,
    /// The endpoint, or a description of what is missing.
    pub endpoint: Result<Endpoint, String>,
    pub prompts: Arc<Prompts>,
}

/// Backend that calls a model.
#[derive(Debug)]
pub struct ModelBackend {
    name: String,
    endpoint: Result<Endpoint, String>,
    runner: Arc<DialectRunner>,
    degraded: Mutex<DegradedFeatures>,
}

/// The pure part. It runs on blocking threads, because images are large.
#[derive(Debug)]
struct DialectRunner {
    dialect: Arc<dyn Dialect>,
    model: Model,
    prompts: Arc<Prompts>,
}

/// A plan request in progress.
#[derive(Debug)]
struct PlanTask {
    request: PlanRequest,
    images: RequestImages,
}

impl PlanTask {
    fn new(request: PlanRequest) -> Self {
        Self {
            images: RequestImages::of(&request),
            request,
        }
    }

    /// Returns the task without its conversation, if the provider may have rejected that: it no longer has it, or does
    /// not accept this form.
    fn without_conversation_after(&self, failure: &ProviderFailure) -> Option<Self> {
        let refused = failure.rejected.as_ref()?;
        // The statuses with which providers reject the content of a request, as opposed to its key or rate.
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

/// A request and its response.
#[derive(Debug)]
struct Exchange {
    request: ModelRequest,
    response: Value,
}

impl ModelBackend {
    /// Creates a backend from its parts.
    #[must_use]
    pub fn new(parts: ModelBackendParts) -> Self {
        Self {
            name: parts.name,
            endpoint: parts.endpoint,
            runner: Arc::new(DialectRunner {
                dialect: parts.dialect,
                model: parts.model,
                prompts: parts.prompts,
            }),
            degraded: Mutex::default(),
        }
    }

    fn endpoint(&self) -> Result<&Endpoint, BackendError> {
        self.endpoint
            .as_ref()
            .map_err(|missing| BackendError::NotConfigured {
                message: missing.clone(),
            })
    }

    fn degraded_features(&self) -> DegradedFeatures {
        *self.degraded.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set_degraded(&self, made: DegradedFeatures) {
        tracing::info!(
            backend = self.name,
            ?made,
            "the endpoint rejected a feature; continuing without it"
        );
        *self.degraded.lock().unwrap_or_else(PoisonError::into_inner) = made;
    }

    /// Sends the first request of a step. If the endpoint rejects an optional feature, it is sent again without it; if it
    /// rejects the conversation, it is sent again with a new one.
    async fn send_first(
        &self,
        task: &mut Arc<PlanTask>,
        call: &CallContext,
    ) -> Result<Arc<Exchange>, BackendError> {
        loop {
            let made = self.degraded_features();
            let model_request = self.runner.ask(task, made).await?;
            self.check_limits(&model_request, task, call)?;
            let degraded = |failure: &ProviderFailure| {
                let rejected = failure.rejected.as_ref()?;
                self.runner.dialect.degrade(rejected, made)
            };
            // A feature that the endpoint rejects is rejected again.
            let may_repeat = |failure: &ProviderFailure| degraded(failure).is_none();
            let images = Some(&task.images);
            match self.send(&model_request, images, call, may_repeat).await {
                Ok(answer) => {
                    return Ok(Arc::new(Exchange {
                        request: model_request,
                        response: answer,
                    }));
                }
                Err(failure) => {
                    if let Some(conceded) = degraded(&failure) {
                        self.set_degraded(conceded);
                    } else if let Some(anew) = task.without_conversation_after(&failure) {
                        tracing::info!(
                            backend = self.name,
                            "the provider rejected the conversation; starting a new one"
                        );
                        *task = Arc::new(anew);
                    } else {
                        return Err(failure.into());
                    }
                }
            }
        }
    }

    /// Checks the request of a step against the task's remaining budget.
    fn check_limits(
        &self,
        model_request: &ModelRequest,
        task: &PlanTask,
        call: &CallContext,
    ) -> Result<(), BackendError> {
        let PlanRequest {
            frame, remaining, ..
        } = &task.request;
        let model = &self.runner.model;
        let estimate = Estimate::of(
            &model_request.body,
            model_request.kept_tokens,
            model,
            frame.size,
        );
        estimate::check(estimate, *remaining, &call.usage)
    }

    /// Sends a follow-up request to a response.
    async fn send_follow_up(
        &self,
        model_request: ModelRequest,
        images: &RequestImages,
        call: &CallContext,
    ) -> Result<Arc<Exchange>, BackendError> {
        let images = Some(images);
        let answer = self.send(&model_request, images, call, |_| true).await?;
        Ok(Arc::new(Exchange {
            request: model_request,
            response: answer,
        }))
    }

    /// Sends a request; after a temporary failure again, if `may_repeat` holds. `images` are those that it was rendered from.
    async fn send(
        &self,
        model_request: &ModelRequest,
        images: Option<&RequestImages>,
        call: &CallContext,
        may_repeat: impl Fn(&ProviderFailure) -> bool,
    ) -> Result<Value, ProviderFailure> {
        let missing = |missing: &String| ProviderFailure::permanent(missing.clone());
        let endpoint = self.endpoint.as_ref().map_err(missing)?;
        let name_of = |content: &str| images?.name_of(content);
        let keep = |response: Value| {
            let request = exchange::without_images(&model_request.body, &name_of);
            call.keep(endpoint.masked(&request), response);
        };
        let post = || async {
            let began = Instant::now();
            let posted = endpoint.post(&model_request.body, &model_request.headers);
            let answer = posted.await.inspect_err(|failure| {
                if let Some(rejection) = failure.rejected.as_ref().and_then(rejection_as_kept) {
                    keep(rejection);
                }
            })?;
            keep(endpoint.masked(&answer));
            call.usage.add(self.runner.usage_of(&answer, began));
            Ok(answer)
        };
        call.send(post, may_repeat).await
    }

    /// Runs a step to its decision, with a limited number of repairs and observations. Returns also the annotated screenshot
    /// that was sent.
    async fn decide(
        &self,
        mut task: Arc<PlanTask>,
        call: &CallContext,
    ) -> Result<(ParsedDecision, Option<Image>), BackendError> {
        let mut exchange = self.send_first(&mut task, call).await?;
        let annotated = exchange.request.annotated.as_ref();
        let annotated = annotated.and_then(RenderedImage::to_image);
        let task = &task;
        let (mut looks, mut repairs) = (0, Repairs::up_to(call.max_repairs()));
        loop {
            let made = self.degraded_features();
            let model_request = match self.runner.read(task, made, &exchange).await {
                Ok(ParsedResponse::Decision(reading)) => return Ok((*reading, annotated)),
                Ok(ParsedResponse::FollowUp(model_request)) if looks < MAX_FOLLOW_UPS => {
                    looks += 1;
                    *model_request
                }
                Ok(ParsedResponse::FollowUp(_)) => {
                    return Err(no_decision("the model only asked for further screenshots"));
                }
                Err(ResponseError::Refused { message }) => {
                    return Err(BackendError::Refused { message });
                }
                Err(response_error) => {
                    let problem = response_error.to_string();
                    if !repairs.take(&problem) {
                        return Err(no_decision(&problem));
                    }
                    tracing::debug!(backend = self.name, %response_error, "requesting a repair of an invalid response");
                    self.runner
                        .repair(task, made, &exchange, response_error)
                        .await
                }
            };
            self.check_limits(&model_request, task, call)?;
            exchange = self
                .send_follow_up(model_request, &task.images, call)
                .await?;
        }
    }

    fn decision(&self, reading: ParsedDecision) -> Decision {
        Decision {
            thought: reading.thought,
            progress: reading.progress,
            next: text_entry::leave_to_executor(reading.next),
            safety_checks: reading.safety_checks,
            conversation: reading.conversation,
            backend: self.name.clone(),
            model: self.runner.model.name.clone(),
            usage: Usage::default(),
            suspected_injections: reading.suspected_injections,
            conversation_images: reading
                .conversation_images
                .iter()
                .map(|image| image.0)
                .collect(),
        }
    }

    /// Asks a question, and again if the answer fails its check.
    async fn ask_question(
        &self,
        question: &Question,
        call: &CallContext,
    ) -> Result<Value, BackendError> {
        let (mut body, shown) = self.runner.question(question).await?;
        let (images, view) = shown.unzip();
        let api = self.runner.dialect.api();
        let nothing = CaptureSize::new(0, 0);
        let screen = view.map_or(nothing, |view| view.region().size());
        let mut repairs = Repairs::up_to(call.max_repairs());
        loop {
            let estimate = Estimate::of(&body, 0, &self.runner.model, screen);
            estimate::check(estimate, question.remaining, &call.usage)?;
            let model_request = ModelRequest {
                body,
                ..ModelRequest::default()
            };
            let answer = self
                .send(&model_request, images.as_ref(), call, |_| true)
                .await?;
            let text = match ResponseText::of(api, &answer) {
                Ok(response) => response.into_text(),
                Err(ResponseError::Refused { message }) => {
                    return Err(BackendError::Refused { message });
                }
                Err(response_error) => return Err(no_decision(&response_error.to_string())),
            };
            match (question.check)(&text, view.as_ref()) {
                Ok(value) => return Ok(value),
                Err(problem) if !repairs.take(&problem) => return Err(no_decision(&problem)),
                Err(problem) => {
                    body = question::ask_again(api, model_request.body, &text, &problem);
                }
            }
        }
    }
}

/// Repairs of one call. A model that repeats its mistake is not told of it a second time: another backend does better.
#[derive(Debug)]
struct Repairs {
    left: u32,
    last_problem: String,
}

impl Repairs {
    fn up_to(max: u32) -> Self {
        Self {
            left: max,
            last_problem: String::new(),
        }
    }

    /// Takes a repair for this problem; false if there is none.
    fn take(&mut self, problem: &str) -> bool {
        let is_repeated = self.last_problem == problem;
        if self.left == 0 || is_repeated {
            return false;
        }
        self.left -= 1;
        problem.clone_into(&mut self.last_problem);
        true
    }
}

/// Returns the response of a provider that rejected a request, as it is kept; `None` if there was none.
fn rejection_as_kept(rejected: &RejectedRequest) -> Option<Value> {
    let RejectedRequest { status, body, .. } = rejected;
    (!body.is_null()).then(|| json!({"status": status, "body": body}))
}

fn no_decision(message: &str) -> BackendError {
    BackendError::InvalidAnswer {
        message: message.to_owned(),
    }
}

impl DialectRunner {
    async fn ask(
        self: &Arc<Self>,
        task: &Arc<PlanTask>,
        made: DegradedFeatures,
    ) -> Result<ModelRequest, BackendError> {
        let turn = RENDER_PERMITS.acquire().await;
        let (asker, asked_of) = (Arc::clone(self), Arc::clone(task));
        let model_request =
            blocking::run(move || asker.dialect.build_request(&asker.step(&asked_of, made))).await;
        tokio::spawn(self.clone().release_images(Arc::clone(task), turn));
        Ok(model_request?)
    }

    /// Caches the images that later steps show and releases the rest, while the model thinks and no pixels are needed.
    async fn release_images(
        self: Arc<Self>,
        task: Arc<PlanTask>,
        _turn: Result<SemaphorePermit<'static>, AcquireError>,
    ) {
        let shows_history = self.model.takes_history_images();
        blocking::run(move || {
            if shows_history {
                task.images.cache_current(self.model.image_spec);
            }
            task.images.release();
        })
        .await;
    }

    async fn read(
        self: &Arc<Self>,
        task: &Arc<PlanTask>,
        made: DegradedFeatures,
        exchange: &Arc<Exchange>,
    ) -> Result<ParsedResponse, ResponseError> {
        let (asker, task) = (Arc::clone(self), Arc::clone(task));
        let exchange = Arc::clone(exchange);
        blocking::run(move || {
            let step = asker.step(&task, made);
            let read = asker
                .dialect
                .parse_response(&step, &exchange.request, &exchange.response);
            task.images.release();
            read
        })
        .await
    }

    async fn repair(
        self: &Arc<Self>,
        task: &Arc<PlanTask>,
        made: DegradedFeatures,
        exchange: &Arc<Exchange>,
        response_error: ResponseError,
    ) -> ModelRequest {
        let (asker, task) = (Arc::clone(self), Arc::clone(task));
        let exchange = Arc::clone(exchange);
        blocking::run(move || {
            let step = asker.step(&task, made);
            let dialect = &asker.dialect;
            let repair = dialect.repair_request(
                &step,
                &exchange.request,
                &exchange.response,
                &response_error,
            );
            task.images.release();
            repair
        })
        .await
    }

    fn step<'a>(&'a self, task: &'a PlanTask, degraded: DegradedFeatures) -> StepContext<'a> {
        StepContext {
            request: &task.request,
            model: &self.model,
            images: &task.images,
            prompts: &self.prompts,
            degraded,
        }
    }

    /// Builds the request of a question, and returns the image it was rendered from, and as sent.
    async fn question(
        self: &Arc<Self>,
        question: &Question,
    ) -> Result<(Value, Option<(RequestImages, SentImage)>), BackendError> {
        let (asker, question) = (Arc::clone(self), question.clone());
        let rendered = blocking::run(move || {
            let images = question.image.as_ref().map(RequestImages::of_image);
            let rendered = images
                .as_ref()
                .map(|images| images.annotated(asker.model.image_spec, &question.marked))
                .transpose()?;
            let api = asker.dialect.api();
            let body = question::ask(api, &asker.model, &question, rendered.as_ref())?;
            let view = rendered.map(|rendered| rendered.view);
            // The model takes seconds, and needs no pixels.
            images.iter().for_each(RequestImages::release);
            Ok::<_, RequestError>((body, images.zip(view)))
        });
        Ok(rendered.await?)
    }

    fn usage_of(&self, answer: &Value, began: Instant) -> Usage {
        let tokens = TokenUsage::of(self.dialect.api(), answer);
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
            model: self.runner.model.name.clone(),
            last_error,
            median_latency: None,
            usage: Usage::default(),
            needs_image: self.runner.dialect.needs_image(),
        }
    }

    fn has_model(&self) -> bool {
        true
    }

    async fn plan(
        &self,
        request: &PlanRequest,
        call: &CallContext,
    ) -> Result<BackendDecision, BackendError> {
        self.endpoint()?;
        let task = Arc::new(PlanTask::new(request.clone()));
        let (reading, annotated_image) = self.decide(task, call).await?;
        Ok(BackendDecision {
            decision: self.decision(reading),
            annotated_image,
        })
    }

    async fn answer(&self, question: &Question, call: &CallContext) -> Result<Value, BackendError> {
        self.endpoint()?;
        self.ask_question(question, call).await
    }
}
