//! What is known of each model: data, in a table that a user can correct and extend.
//!
//! - [`table`]: the table that Motorium brings along, and a user's own entries over it
//! - [`prices`]: what tokens cost
//!
//! Providers change their models every few weeks; what differs from model to model is looked up here and decided
//! nowhere else. A model that the table does not know gets settings that every model accepts, and a warning.

pub mod prices;
pub mod table;

use serde::{Deserialize, Serialize};

use crate::picture::Taste;

pub use prices::Prices;
pub use table::{Entry, Models};

/// Whose protocol a model is spoken to in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Api {
    /// `POST /v1/messages` of Anthropic.
    AnthropicMessages,
    /// `POST /v1/responses` of OpenAI.
    OpenaiResponses,
    /// `POST /v1/chat/completions`, as vLLM, Ollama, llama.cpp, DashScope and many others serve it.
    OpenaiChat,
}

/// The tool by which a model operates a computer, as its provider defines it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
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

/// Whether a model thinks before it answers, and how that is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Thinking {
    /// Nothing is said about it.
    Unsaid,
    /// `{"type": "adaptive"}`: the model decides how much. The default of such a model is not to think.
    Adaptive,
    /// It thinks unless it is told not to.
    On,
    /// It always thinks; asking for less is refused.
    Always,
    /// `{"type": "enabled", "budget_tokens": …}`; adaptive thinking is refused.
    Budgeted,
}

/// A model, with everything about it that a request or an answer depends on.
#[derive(Debug, Clone, PartialEq)]
pub struct Model {
    /// As its provider calls it.
    pub name: String,
    /// Whether the table knows it.
    pub known: bool,
    /// Pictures: how large, how coordinates are counted, how many bytes.
    pub taste: Taste,
    pub computer_tool: ComputerTool,
    pub thinking: Thinking,
    /// `output_config.effort` or `reasoning.effort`; `None` leaves it to the provider.
    pub effort: Option<String>,
    /// Whether a tool may be forced on it.
    pub forced_tool_choice: bool,
    /// Whether the beginning of its answer may be given.
    pub prefill: bool,
    /// Whether `temperature` and `top_p` may be sent. Never to a model of Anthropic.
    pub sampling: bool,
    /// Whether its thinking is bound to everything before it, so that no earlier turn may be changed.
    pub thinking_binds_prefix: bool,
    /// Fewest tokens that are cached; `None` where it is not known.
    pub cache_minimum: Option<u64>,
    /// Most tokens of a request and its answer; `None` where it is not known.
    pub context: Option<u64>,
    /// Most tokens of an answer that are asked for.
    pub max_output: u64,
    /// Most pictures in one request.
    pub max_images: usize,
    /// `None` is unknown, which is not free.
    pub prices: Option<Prices>,
}

impl Model {
    /// Whether steps may show pictures of earlier steps beside their own.
    #[must_use]
    pub fn takes_history_images(&self) -> bool {
        self.max_images > 1
    }
}
