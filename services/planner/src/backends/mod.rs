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

use async_trait::async_trait;
use motorium_proto::domain::decision::Decision;
use motorium_proto::service::{BackendInfo, PlanRequest};

pub use error::BackendError;
use question::{Answered, Question};

/// Something that decides.
#[async_trait]
pub trait Backend: std::fmt::Debug + Send + Sync + 'static {
    /// The name in configurations and requests.
    fn name(&self) -> &str;

    /// What it is and how it is.
    fn info(&self) -> BackendInfo;

    /// Decides what to do next. `conversation` is empty unless this backend wrote it.
    ///
    /// # Errors
    /// If it does not decide; the next backend is asked then.
    async fn plan(&self, request: &PlanRequest) -> Result<Decision, BackendError>;

    /// Whether it can be asked questions beside the steps of a task.
    fn has_model(&self) -> bool {
        false
    }

    /// Answers a question.
    ///
    /// # Errors
    /// If it has no model, or the model does not answer.
    async fn answer(&self, _: &Question) -> Result<Answered, BackendError> {
        Err(BackendError::NotConfigured {
            message: "it has no model".to_owned(),
        })
    }
}
