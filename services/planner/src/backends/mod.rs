//! Backends, each of which turns a request into a decision. The router chooses the backend and the order.

pub mod call;
mod chat;
pub mod chat_som;
pub mod claude_computer;
pub mod claude_som;
pub mod degraded_features;
pub mod dialect;
mod embedded_image;
pub mod error;
pub mod estimate;
pub mod model;
mod native;
pub mod openai_computer;
pub mod opencua;
pub mod phrasebook;
pub mod planner_service;
pub mod question;
pub mod qwen_vl;
pub mod recorded;
pub mod som_prompt;
mod step_prompt;
mod user_images;

use async_trait::async_trait;
use motorium_proto::domain::decision::Decision;
use motorium_proto::domain::frame::Image;
use motorium_proto::service::{BackendInfo, PlanRequest};

pub use call::CallContext;
pub use call::usage_meter::UsageMeter;
pub use error::BackendError;
use question::Question;
use serde_json::Value;

/// A decision, and the annotated screenshot that it was made on.
#[derive(Debug, Clone, PartialEq)]
pub struct BackendDecision {
    pub decision: Decision,
    /// The annotated screenshot, as the model received it.
    pub annotated_image: Option<Image>,
}

impl From<Decision> for BackendDecision {
    fn from(decision: Decision) -> Self {
        Self {
            decision,
            annotated_image: None,
        }
    }
}

/// A backend that decides steps.
#[async_trait]
pub trait Backend: std::fmt::Debug + Send + Sync + 'static {
    /// Returns the name in the configuration and in requests.
    fn name(&self) -> &str;

    /// Returns its description and state.
    fn info(&self) -> BackendInfo;

    /// Decides the next step. `conversation` is empty unless this backend wrote it. Usage is counted in the context and
    /// left out of the decision.
    ///
    /// # Errors
    /// Fails if it does not decide; the next backend is then called.
    async fn plan(
        &self,
        request: &PlanRequest,
        call: &CallContext,
    ) -> Result<BackendDecision, BackendError>;

    /// Returns whether it can answer questions beside the steps of a task.
    fn has_model(&self) -> bool {
        false
    }

    /// Returns whether a decision may take long, so that it gets a share of the time. By default, if it has a model.
    fn may_be_slow(&self) -> bool {
        self.has_model()
    }

    /// Answers a question and returns the result of its check. Usage is counted in the context.
    ///
    /// # Errors
    /// Fails if it has no model, or the model does not answer.
    async fn answer(&self, _: &Question, _: &CallContext) -> Result<Value, BackendError> {
        Err(BackendError::NotConfigured {
            message: "it has no model".to_owned(),
        })
    }
}
