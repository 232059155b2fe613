//! The Planner service: hands each call to what answers it. It holds no state of any task.

use std::sync::Arc;

use async_trait::async_trait;
use motorium_proto::domain::decision::Usage;
use motorium_proto::service::{
    BackendInfo, ExtractRequest, Extraction, PlanRequest, Planned, Planner, PointerCheck,
    PointerRequest, ResolveRequest, Resolved, Result, Sought, SummarizeRequest, Summary,
};
use serde_json::Value;

use crate::backends::question::{Answered, Question};
use crate::error::Error;
use crate::prompt::Prompts;
use crate::router::Router;
use crate::target::described::{self, Described, Known};
use crate::{extract, injection, pointer, summary, target};

/// Decides, by the backends of its router.
#[derive(Debug)]
pub struct PlannerService {
    router: Router,
    prompts: Arc<Prompts>,
}

impl PlannerService {
    /// A service over a router, with these prompts for the questions beside a task's steps.
    #[must_use]
    pub fn new(router: Router, prompts: Arc<Prompts>) -> Self {
        Self { router, prompts }
    }

    /// Asks a model what could also be answered without one, and says what that took. `None` if none is there, or none
    /// answers: what is known without one is then true all the same.
    async fn ask(
        &self,
        call: &'static str,
        backends: &[String],
        question: Question,
    ) -> std::result::Result<(Option<Value>, Usage), Error> {
        if !self.router.has_model(backends)? {
            return Ok((None, Usage::default()));
        }
        match self.router.answer(call, backends, question).await {
            Ok(Answered { value, usage }) => Ok((Some(value), usage)),
            Err(error) => {
                tracing::warn!(call, %error, "no model answers; it is answered without one");
                Ok((None, error.usage()))
            }
        }
    }

    /// Finds what is described: by its words where they are enough, and else by a model.
    async fn described(
        &self,
        sought: Described<'_>,
        backends: &[String],
    ) -> std::result::Result<Resolved, Error> {
        const CALL: &str = "ResolveTarget";
        let Described {
            description,
            frame,
            scene,
            ..
        } = sought;
        let several = match described::known(description, frame, scene) {
            Known::One(resolved) => return Ok(resolved),
            Known::Several(candidates) => Some(candidates),
            Known::Nothing => None,
        };
        if let (Some(candidates), false) = (several, self.router.has_model(backends)?) {
            return Err(Error::TargetAmbiguous {
                description: format!("`{description}`"),
                candidates,
                usage: Box::default(),
            });
        }
        let question = described::question(sought, &self.prompts)?;
        let answered = self.router.answer(CALL, backends, question).await?;
        described::resolved(description, answered, frame, scene)
    }
}

#[async_trait]
impl Planner for PlannerService {
    async fn plan(&self, request: PlanRequest) -> Result<Planned> {
        let found = injection::suspects(&request);
        let mut planned = self.router.plan(request).await?;
        let said = std::mem::take(&mut planned.decision.suspected_injections);
        planned.decision.suspected_injections = injection::union(said, found);
        Ok(planned)
    }

    async fn summarize(&self, request: SummarizeRequest) -> Result<Summary> {
        let question = summary::question(&request, &self.prompts).map_err(Error::from)?;
        let (said, usage) = self.ask("Summarize", &request.backends, question).await?;
        let said = said.as_ref().and_then(Value::as_str).map(str::to_owned);
        let text = said.unwrap_or_else(|| summary::summarise(&request));
        Ok(Summary { text, usage })
    }

    async fn extract(&self, request: ExtractRequest) -> Result<Extraction> {
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
        let (said, usage) = match question {
            Some(question) => {
                self.ask("LocatePointer", &request.backends, question)
                    .await?
            }
            None => (None, Usage::default()),
        };
        let seen = said.and_then(|said| pointer::seen(&said, usage));
        Ok(seen.unwrap_or_else(|| PointerCheck {
            usage,
            ..pointer::check(&request)
        }))
    }

    async fn resolve_target(&self, request: ResolveRequest) -> Result<Resolved> {
        let ResolveRequest {
            target,
            frame,
            scene,
        } = request;
        Ok(match target {
            Sought::Target(target) => target::resolve(&target, &frame, &scene)?,
            Sought::Described {
                description,
                image,
                backends,
                remaining,
            } => {
                let sought = Described {
                    description: &description,
                    image: image.as_ref(),
                    frame: &frame,
                    scene: &scene,
                    remaining,
                };
                self.described(sought, &backends).await?
            }
        })
    }

    async fn list_backends(&self) -> Result<Vec<BackendInfo>> {
        Ok(self.router.list())
    }
}
