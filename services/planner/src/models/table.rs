//! The model table: the built-in one in `models.toml`, and a user's entries over it.
//!
//! An entry names its models exactly or by prefix (`qwen3-vl*`). Case is ignored, and so is an organisation before a
//! slash, as servers of open models add it. The longest matching name wins. A user's entry changes only the fields that
//! it sets.

use std::sync::LazyLock;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Api, ComputerTool, Model, Prices, Thinking};
use crate::screenshot::sizes::{ClaudeTier, OpenAiDetail, SmartResize};
use crate::screenshot::{CoordinateConvention, ImageSpec, SizeRule};

/// The built-in table.
static BUILT_IN: LazyLock<Vec<ModelEntry>> = LazyLock::new(|| {
    let file: ModelsFile = toml::from_str(include_str!("models.toml"))
        .expect("a test reads the table that is part of the program");
    file.model
});

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ModelsFile {
    model: Vec<ModelEntry>,
}

/// Settings of some models; absent fields are taken from the entry below, or are safe defaults.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ModelEntry {
    /// Model names, exact or as a prefix with `*`. Case and an organisation before a slash are ignored. Required.
    #[schemars(example = ["qwen3-vl*"])]
    pub names: Vec<String>,
    /// Size to which images are scaled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image_size: Option<ImageSizeEntry>,
    /// Coordinate convention of the model: pixels of the image as sent, pixels after the provider's own resizing,
    /// thousandths (0 to 1000) or fractions (0 to 1) of the image.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub coordinates: Option<Coordinates>,
    /// Maximum size of one image, in bytes of base64.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(example = 5_000_000)]
    pub max_base64_bytes: Option<usize>,
    /// Computer tool of the provider.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub computer_tool: Option<ComputerTool>,
    /// Thinking mode, and how it is requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thinking: Option<Thinking>,
    /// Effort to request: `output_config.effort` or `reasoning.effort`. Default: the provider's.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(example = &"high")]
    pub effort: Option<String>,
    /// A tool call may be forced after a response without one, unless the model thinks.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(example = true)]
    pub forced_tool_choice: Option<bool>,
    /// The start of a response may be prefilled; used if the endpoint rejects schemas.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(example = true)]
    pub prefill: Option<bool>,
    /// `temperature` and `top_p` may be sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(example = true)]
    pub sampling: Option<bool>,
    /// The model's thinking is bound to all earlier content, which must not change.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(example = true)]
    pub thinking_binds_prefix: Option<bool>,
    /// Minimum number of tokens that are cached. A shorter system prompt is not marked.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(example = 1024)]
    pub min_cache_tokens: Option<u64>,
    /// Context window, including the response. A longer conversation restarts.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(example = 200_000)]
    pub context_tokens: Option<u64>,
    /// Maximum number of output tokens to request.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(example = 8192)]
    pub max_output_tokens: Option<u64>,
    /// Maximum number of images per request.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(example = 20)]
    pub max_images: Option<usize>,
    /// Prices for budgets. Without them the cost is unknown, not zero.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-unit" = "US dollars per million tokens"))]
    pub prices: Option<Prices>,
}

/// Image sizes that a model accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ImageSizeEntry {
    /// The size of the screenshot.
    Unchanged,
    /// A tier of Claude.
    Claude(ClaudeTier),
    /// A detail level of OpenAI.
    Openai(OpenAiDetail),
    /// Both sides multiples of a factor, and a bounded area, as for Qwen-VL.
    SmartResize(SmartResize),
    /// Bounded side and area.
    Within { max_side: u32, max_pixels: u64 },
}

impl ImageSizeEntry {
    fn rule(self) -> SizeRule {
        match self {
            ImageSizeEntry::Unchanged => SizeRule::Unchanged,
            ImageSizeEntry::Claude(tier) => SizeRule::Claude(tier),
            ImageSizeEntry::Openai(detail) => SizeRule::OpenAi(detail),
            ImageSizeEntry::SmartResize(rule) => SizeRule::SmartResize(rule),
            ImageSizeEntry::Within {
                max_side: side,
                max_pixels: pixels,
            } => SizeRule::Within {
                max_side: side,
                max_pixels: pixels,
            },
        }
    }
}

/// Coordinate convention of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Coordinates {
    /// Pixels of the image as sent.
    SentPixels,
    /// Pixels of the image after the provider's own resizing.
    ResizedPixels,
    /// Thousandths of the image, 0 to 1000 on both axes.
    Thousandths,
    /// Fractions of the image, 0 to 1 on both axes.
    Fractions,
}

impl From<Coordinates> for CoordinateConvention {
    fn from(coordinates: Coordinates) -> Self {
        match coordinates {
            Coordinates::SentPixels => CoordinateConvention::SentPixels,
            Coordinates::ResizedPixels => CoordinateConvention::ResizedPixels,
            Coordinates::Thousandths => CoordinateConvention::Thousandths,
            Coordinates::Fractions => CoordinateConvention::Fractions,
        }
    }
}

impl ModelEntry {
    /// Returns the first invalid value, if any.
    #[must_use]
    pub fn problem(&self) -> Option<&'static str> {
        let is_none = |number: Option<u64>| number == Some(0);
        let count = |number: Option<usize>| number.map(|number| number as u64);
        if self.names.iter().all(|name| name.trim().is_empty()) {
            return Some("an entry has no `names`");
        }
        if self.prices.is_some_and(|prices| !prices.is_valid()) {
            return Some("`prices` must be finite and not negative");
        }
        if is_none(self.max_output_tokens) {
            return Some("`max_output_tokens` must be greater than 0");
        }
        if is_none(count(self.max_images)) || is_none(count(self.max_base64_bytes)) {
            return Some("`max_images` and `max_base64_bytes` must be greater than 0");
        }
        self.image_size.and_then(ImageSizeEntry::problem)
    }
}

impl ImageSizeEntry {
    fn problem(self) -> Option<&'static str> {
        match self {
            ImageSizeEntry::Within {
                max_side: side,
                max_pixels: pixels,
            } if side == 0 || pixels == 0 => {
                Some("`image_size`: `max_side` and `max_pixels` must be greater than 0")
            }
            ImageSizeEntry::SmartResize(rule)
                if rule.factor == 0
                    || rule.max_pixels == 0
                    || rule.min_pixels > rule.max_pixels =>
            {
                Some(
                    "`image_size`: `factor` and `max_pixels` must be at least 1, and `min_pixels` at most `max_pixels`",
                )
            }
            _ => None,
        }
    }
}

/// The built-in table with a user's entries over it.
#[derive(Debug, Clone, Default)]
pub struct ModelTable {
    own: Vec<ModelEntry>,
}

impl ModelTable {
    /// Returns the built-in table with these entries over it.
    #[must_use]
    pub fn with(own: Vec<ModelEntry>) -> Self {
        Self { own }
    }

    /// Returns the settings of a model with this name and protocol.
    #[must_use]
    pub fn get(&self, name: &str, api: Api) -> Model {
        let built_in = best(&BUILT_IN, name);
        let own = best(&self.own, name);
        let mut model = unknown(name, api);
        model.known = built_in.is_some() || own.is_some();
        for entry in [built_in, own].into_iter().flatten() {
            apply(&mut model, entry);
        }
        model.prices = model.prices.map(|prices| prices.with_cache_defaults(api));
        model
    }
}

/// Returns the entry with the most specific match; the last of several equal ones.
fn best<'a>(entries: &'a [ModelEntry], model: &str) -> Option<&'a ModelEntry> {
    let exactness = |entry: &ModelEntry| {
        let names = entry.names.iter();
        names.filter_map(|name| matches(name, model)).max()
    };
    let matching = entries
        .iter()
        .filter_map(|entry| Some((exactness(entry)?, entry)));
    matching
        .max_by_key(|(exactness, _)| *exactness)
        .map(|(_, entry)| entry)
}

/// Returns how specifically a name or a prefix with `*` matches a model; `None` if it does not.
fn matches(name: &str, model: &str) -> Option<usize> {
    let (name, model) = (name.to_lowercase(), model.to_lowercase());
    let model = model.rsplit('/').next().unwrap_or(&model);
    match name.strip_suffix('*') {
        Some(beginning) => model.starts_with(beginning).then_some(beginning.len()),
        None => (model == name).then_some(usize::MAX),
    }
}

/// Returns settings that any model with this protocol accepts.
fn unknown(name: &str, api: Api) -> Model {
    let rule = match api {
        Api::AnthropicMessages => SizeRule::Claude(ClaudeTier::Standard),
        Api::OpenaiResponses => SizeRule::OpenAi(OpenAiDetail::High),
        // As large as Claude's smaller tier: text stays legible, and any server can afford it.
        Api::OpenaiChat => SizeRule::Within {
            max_side: 1568,
            max_pixels: 1568 * 28 * 28,
        },
    };
    Model {
        name: name.to_owned(),
        known: false,
        image_spec: ImageSpec {
            rule,
            convention: CoordinateConvention::SentPixels,
            // Below the 10 MB of the known providers, because other servers may accept less.
            max_base64_bytes: 5_000_000,
        },
        computer_tool: ComputerTool::None,
        thinking: Thinking::Unspecified,
        effort: None,
        forced_tool_choice: false,
        prefill: false,
        sampling: match api {
            // A chat endpoint usually serves an open model, which is most reliable at temperature 0. An endpoint that
            // rejects the setting does not get it again.
            Api::OpenaiChat => true,
            Api::AnthropicMessages | Api::OpenaiResponses => false,
        },
        thinking_binds_prefix: false,
        min_cache_tokens: None,
        context_tokens: None,
        // Small enough for the models that common servers run: their limits are not known.
        max_output_tokens: 4096,
        max_images: 4,
        prices: None,
    }
}

fn apply(model: &mut Model, entry: &ModelEntry) {
    let set = |target: &mut bool, value: Option<bool>| *target = value.unwrap_or(*target);
    let rule = entry.image_size.map(ImageSizeEntry::rule);
    model.image_spec.rule = rule.unwrap_or(model.image_spec.rule);
    let convention = entry.coordinates.map(CoordinateConvention::from);
    model.image_spec.convention = convention.unwrap_or(model.image_spec.convention);
    model.image_spec.max_base64_bytes = entry
        .max_base64_bytes
        .unwrap_or(model.image_spec.max_base64_bytes);
    model.computer_tool = entry.computer_tool.unwrap_or(model.computer_tool);
    model.thinking = entry.thinking.unwrap_or(model.thinking);
    model.effort = entry.effort.clone().or(model.effort.take());
    set(&mut model.forced_tool_choice, entry.forced_tool_choice);
    set(&mut model.prefill, entry.prefill);
    set(&mut model.sampling, entry.sampling);
    set(
        &mut model.thinking_binds_prefix,
        entry.thinking_binds_prefix,
    );
    model.min_cache_tokens = entry.min_cache_tokens.or(model.min_cache_tokens);
    model.context_tokens = entry.context_tokens.or(model.context_tokens);
    model.max_output_tokens = entry.max_output_tokens.unwrap_or(model.max_output_tokens);
    model.max_images = entry.max_images.unwrap_or(model.max_images);
    model.prices = entry.prices.or(model.prices);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn get(name: &str, api: Api) -> Model {
        ModelTable::default().get(name, api)
    }

    #[test]
    fn the_table_of_the_program_can_be_read_and_contradicts_nothing() {
        assert!(!BUILT_IN.is_empty());
        let mut names: Vec<&String> = BUILT_IN.iter().flat_map(|entry| &entry.names).collect();
        let all = names.len();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), all, "a model is named twice");
        for entry in BUILT_IN.iter() {
            assert_eq!(entry.problem(), None, "{entry:?}");
        }
    }

    #[track_caller]
    fn tool(name: &str, expected: ComputerTool) {
        let model = get(name, Api::AnthropicMessages);
        assert!(model.known, "{name}");
        assert_eq!(model.computer_tool, expected, "{name}");
    }

    #[test]
    fn the_computer_tool_depends_on_the_model() {
        tool("claude-opus-4-6", ComputerTool::Anthropic20251124);
        tool(
            "claude-sonnet-4-5-20250929",
            ComputerTool::Anthropic20250124,
        );
        tool("claude-opus-5-5", ComputerTool::AnthropicToolset20260801);
    }

    #[test]
    fn no_model_of_anthropic_is_sent_a_temperature() {
        for entry in BUILT_IN.iter() {
            for name in entry.names.iter().filter(|name| name.starts_with("claude")) {
                assert!(!get(name, Api::AnthropicMessages).sampling, "{name}");
            }
        }
    }

    #[test]
    fn longest_matching_model_prefix_wins() {
        let convention = |name| get(name, Api::OpenaiChat).image_spec.convention;
        for name in ["Qwen/Qwen3-VL-8B-Instruct", "qwen3.5-27b", "qwen3.8-plus"] {
            assert_eq!(
                convention(name),
                CoordinateConvention::Thousandths,
                "{name}"
            );
        }
        assert_eq!(
            convention("qwen2.5-vl-72b-instruct"),
            CoordinateConvention::ResizedPixels
        );
        assert_eq!(
            convention("xlangai/OpenCUA-7B"),
            CoordinateConvention::ResizedPixels
        );
        assert_eq!(convention("opencua-a3b"), CoordinateConvention::Fractions);
    }

    #[test]
    fn unknown_model_gets_conservative_defaults() {
        let model = get("claude-nobody-9", Api::AnthropicMessages);
        assert!(!model.known);
        assert_eq!(model.computer_tool, ComputerTool::None);
        assert_eq!(model.thinking, Thinking::Unspecified);
        assert!(!model.sampling && !model.prefill && !model.forced_tool_choice);
        assert_eq!(model.prices, None);
    }

    #[test]
    fn user_model_entry_overrides_only_its_fields() {
        let prices = Prices {
            input: 1.0,
            output: 2.0,
            cached_input: Some(0.25),
            cache_write: Some(1.5),
        };
        let own = ModelEntry {
            names: vec!["claude-opus-4-6".to_owned()],
            prices: Some(prices),
            ..ModelEntry::default()
        };
        let model = ModelTable::with(vec![own]).get("claude-opus-4-6", Api::AnthropicMessages);
        assert_eq!(model.prices, Some(prices));
        assert_eq!(model.computer_tool, ComputerTool::Anthropic20251124);
    }
}
