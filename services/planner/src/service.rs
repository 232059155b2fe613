//! The Planner service: dispatches each call. It keeps no task state.

use std::sync::Arc;

use async_trait::async_trait;
use futures::future::BoxFuture;
use motorium_kit::server::HealthCheck;
use motorium_proto::domain::decision::Usage;
use motorium_proto::service::{
    BackendInfo, BackendState, ExtractRequest, Extraction, PlanRequest, PlannedDecision, Planner,
    PointerCheck, PointerRequest, ResolveRequest, ResolvedTarget, Result, SummarizeRequest,
    Summary, TargetQuery,
};
use serde_json::Value;

use crate::backends::call::exchange::ExchangeTexts;
use crate::backends::question::{Question, QuestionResult};
use crate::error::Error;
use crate::prompt::Prompts;
use crate::router::Router;
use crate::target::{self, DescribedTarget, NameMatch};
use crate::{extract, injection, pointer, summary};
use motorium_phrasebook::target::{TargetError, resolve};

/// Planner service over the backends of its router.
#[derive(Debug)]
pub struct PlannerService {
    router: Router,
    prompts: Arc<Prompts>,
}

impl PlannerService {
    /// Creates a service over a router, with these prompts for questions besides the steps.
    #[must_use]
    pub fn new(router: Router, prompts: Arc<Prompts>) -> Self {
        Self { router, prompts }
    }

    /// Asks a model a question that also has an answer without one. The answer is null if there is no model, or none
    /// answers; the caller then uses the other answer.
    async fn ask(
        &self,
        call: &'static str,
        backends: &[String],
        question: Question,
    ) -> std::result::Result<QuestionResult, Error> {
        if !self.router.has_model(backends)? {
            return Ok(unanswered());
        }
        match self.router.answer(call, backends, question).await {
            Ok(answered) => Ok(answered),
            Err(error) => {
                tracing::warn!(call, %error, "no model answered; using the answer without a model");
                Ok(QuestionResult {
                    usage: error.usage(),
                    exchange: error.exchange().cloned().unwrap_or_default(),
                    ..unanswered()
                })
            }
        }
    }

    /// Resolves a described target: by its text if that is unambiguous, or else by a model.
    async fn resolve_described(
        &self,
        sought: DescribedTarget<'_>,
        backends: &[String],
    ) -> std::result::Result<ResolvedTarget, Error> {
        const CALL: &str = "ResolveTarget";
        let DescribedTarget {
            description,
            frame,
            scene,
            ..
        } = sought;
        let several = match target::match_by_name(description, frame, scene) {
            NameMatch::One(resolved) => return Ok(resolved),
            NameMatch::Several(candidates) => Some(candidates),
            NameMatch::Nothing => None,
        };
        if let (Some(candidates), false) = (several, self.router.has_model(backends)?) {
            let error = TargetError::Ambiguous {
                description: format!("`{description}`"),
                candidates,
            };
            return Err(error.into());
        }
        let question = target::question(sought, &self.prompts)?;
        let answered = self.router.answer(CALL, backends, question).await?;
        target::resolved(description, answered, frame, scene)
    }
}

impl HealthCheck for PlannerService {
    /// Checks that a backend can be asked: it is configured, and its circuit is not open.
    fn check(&self) -> BoxFuture<'_, std::result::Result<(), String>> {
        let backends = self.router.list();
        let is_ready = |backend: &BackendInfo| backend.state == BackendState::Ready;
        let problem = |backend: &BackendInfo| {
            let problem = backend.last_error.as_deref().unwrap_or("not configured");
            format!("{}: {problem}", backend.name)
        };
        let checked = match backends.iter().any(is_ready) {
            true => Ok(()),
            false => Err(backends.iter().map(problem).collect::<Vec<_>>().join("; ")),
        };
        Box::pin(std::future::ready(checked))
    }
}

/// Returns the result of a question that no model answers.
fn unanswered() -> QuestionResult {
    QuestionResult {
        value: Value::Null,
        usage: Usage::default(),
        exchange: ExchangeTexts::default(),
    }
}

// Every method of the contract is served: a default would hide a forgotten one.
#[deny(clippy::missing_trait_methods)]
#[async_trait]
impl Planner for PlannerService {
    async fn plan(&self, request: PlanRequest) -> Result<PlannedDecision> {
        let found = injection::suspected_injections(&request);
        let mut planned = self.router.plan(request).await?;
        let reported = std::mem::take(&mut planned.decision.suspected_injections);
        planned.decision.suspected_injections = injection::union(reported, found);
        Ok(planned)
    }

    async fn summarize(&self, request: SummarizeRequest) -> Result<Summary> {
        let question = summary::question(&request, &self.prompts).map_err(Error::from)?;
        let answered = self.ask("Summarize", &request.backends, question).await?;
        let answer = answered.value.as_str().map(str::to_owned);
        let computed = || match request.fallback.is_empty() {
            true => summary::summarise(&request),
            false => request.fallback.clone(),
        };
        Ok(Summary {
            text: answer.unwrap_or_else(computed),
            usage: answered.usage,
            requests: answered.exchange.requests,
            responses: answered.exchange.responses,
        })
    }

    async fn extract(&self, request: ExtractRequest) -> Result<Extraction> {
        if request.json_schema.trim().is_empty() {
            return Ok(extract::whole_text(&request));
        }
        if !self.router.has_model(&request.backends)? {
            return Err(Error::NeedsModel { call: "Extract" }.into());
        }
        let question = extract::question(&request, &self.prompts)?;
        let answered = self
            .router
            .answer("Extract", &request.backends, question)
            .await?;
        Ok(extract::extraction(&request, answered))
    }

    async fn locate_pointer(&self, request: PointerRequest) -> Result<PointerCheck> {
        let question = pointer::question(&request, &self.prompts).map_err(Error::from)?;
        let answered = match question {
            Some(question) => {
                self.ask("LocatePointer", &request.backends, question)
                    .await?
            }
            None => unanswered(),
        };
        let check = pointer::parse_check(&answered.value);
        Ok(PointerCheck {
            usage: answered.usage,
            requests: answered.exchange.requests,
            responses: answered.exchange.responses,
            ..check.unwrap_or_else(|| pointer::check(&request))
        })
    }

    async fn resolve_target(&self, request: ResolveRequest) -> Result<ResolvedTarget> {
        let ResolveRequest {
            target,
            frame,
            scene,
        } = request;
        Ok(match target {
            TargetQuery::Target(target) => resolve(&target, &frame, &scene).map_err(Error::from)?,
            TargetQuery::Described {
                description,
                image,
                backends,
                remaining,
            } => {
                let sought = DescribedTarget {
                    description: &description,
                    image: image.as_ref(),
                    frame: &frame,
                    scene: &scene,
                    remaining,
                };
                self.resolve_described(sought, &backends).await?
            }
        })
    }

    async fn list_backends(&self) -> Result<Vec<BackendInfo>> {
        Ok(self.router.list())
    }
}
