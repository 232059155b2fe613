//! Data about each model, in a table that a user can correct and extend.
//!
//! - [`table`]: the built-in table, and a user's own entries over it
//! - [`prices`]: token prices
//! - [`tokens`]: the token usage that a response reports
//!
//! Providers change their models every few weeks. Whatever differs between models is looked up here and decided nowhere
//! else. A model that is not in the table gets settings that every model accepts, and a warning.

pub mod prices;
pub mod table;
pub mod tokens;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::screenshot::ImageSpec;

pub use prices::Prices;
pub use table::{ModelEntry, ModelTable};
pub use tokens::TokenUsage;

/// Protocol of a model's API.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Api {
    /// `POST /v1/messages` of Anthropic.
    AnthropicMessages,
    /// `POST /v1/responses` of OpenAI.
    OpenaiResponses,
    /// `POST /v1/chat/completions`, as served by vLLM, Ollama, llama.cpp, DashScope and many others.
    OpenaiChat,
}

/// Provider-defined tool with which a model operates a computer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum ComputerTool {
    #[serde(rename = "none")]
    None,
    #[serde(rename = "computer_20250124")]
    Anthropic20250124,
    #[serde(rename = "computer_20251124")]
    Anthropic20251124,
    #[serde(rename = "computer_toolset_20260801")]
    AnthropicToolset20260801,
    /// OpenAI's `computer`.
    #[serde(rename = "computer")]
    Openai,
    /// OpenAI's `computer_use_preview`.
    #[serde(rename = "computer_use_preview")]
    OpenaiPreview,
}

/// Thinking mode of a model, and how it is requested.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Thinking {
    /// No parameter is sent.
    Unspecified,
    /// `{"type": "adaptive"}`: the model decides how much. Without it such a model does not think.
    Adaptive,
    /// The model thinks unless a request turns that off.
    On,
    /// The model always thinks; requests for less are rejected.
    Always,
    /// `{"type": "enabled", "budget_tokens": …}`; adaptive thinking is rejected.
    Budgeted,
}

/// A model, with everything that requests and responses depend on.
#[derive(Debug, Clone, PartialEq)]
pub struct Model {
    /// The provider's name of the model.
    pub name: String,
    /// `true` if the table contains it.
    pub known: bool,
    /// Images: maximum size, coordinate convention, maximum bytes.
    pub image_spec: ImageSpec,
    pub computer_tool: ComputerTool,
    pub thinking: Thinking,
    /// `output_config.effort` or `reasoning.effort`; `None` leaves it to the provider.
    pub effort: Option<String>,
    /// `true` if a tool call may be forced.
    pub forced_tool_choice: bool,
    /// `true` if the start of the response may be prefilled.
    pub prefill: bool,
    /// `true` if `temperature` and `top_p` may be sent. Never for Anthropic's models.
    pub sampling: bool,
    /// `true` if its thinking is bound to all earlier content, so that no earlier turn may change.
    pub thinking_binds_prefix: bool,
    /// Minimum number of tokens that are cached; `None` if unknown.
    pub min_cache_tokens: Option<u64>,
    /// Context window in tokens, including the response; `None` if unknown.
    pub context_tokens: Option<u64>,
    /// Maximum number of output tokens to request.
    pub max_output_tokens: u64,
    /// Maximum number of images per request.
    pub max_images: usize,
    /// `None` means unknown, not free.
    pub prices: Option<Prices>,
}

impl Model {
    /// Returns whether steps may show images of earlier steps besides their own.
    #[must_use]
    pub fn takes_history_images(&self) -> bool {
        self.max_images > 1
    }
}
