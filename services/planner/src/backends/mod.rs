//! Backends: each turns a request into a decision in its own way. Which one is asked, and in what order, is the
//! business of the router.

mod chat;
pub mod claude_computer;
pub mod claude_som;
pub mod concessions;
pub mod dialect;
pub mod error;
pub mod estimate;
pub mod model;
mod native;
pub mod numbered;
pub mod openai_computer;
pub mod opencua;
pub mod operator;
pub mod phrasebook;
pub mod question;
pub mod qwen_vl;
pub mod recorded;
pub mod spent;

use async_trait::async_trait;
use motorium_proto::domain::decision::Decision;
use motorium_proto::service::{BackendInfo, PlanRequest};

pub use error::BackendError;
use question::Question;
use serde_json::Value;
pub use spent::Spent;

/// Something that decides.
#[async_trait]
pub trait Backend: std::fmt::Debug + Send + Sync + 'static {
    /// The name in configurations and requests.
    fn name(&self) -> &str;

    /// What it is and how it is.
    fn info(&self) -> BackendInfo;

    /// Decides what to do next. `conversation` is empty unless this backend wrote it. What it uses is counted in `spent`
    /// and left out of the decision.
    ///
    /// # Errors
    /// If it does not decide; the next backend is asked then.
    async fn plan(&self, request: &PlanRequest, spent: &Spent) -> Result<Decision, BackendError>;

    /// Whether it can be asked questions beside the steps of a task.
    fn has_model(&self) -> bool {
        false
    }

    /// Answers a question: what its check gives back. What it uses is counted in `spent`.
    ///
    /// # Errors
    /// If it has no model, or the model does not answer.
    async fn answer(&self, _: &Question, _: &Spent) -> Result<Value, BackendError> {
        Err(BackendError::NotConfigured {
            message: "it has no model".to_owned(),
        })
    }
}
