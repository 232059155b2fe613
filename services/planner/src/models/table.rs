//! The table of models: the one in `models.toml` beside this file, and a user's entries over it.
//!
//! An entry names its models exactly or by the beginning of their names (`qwen3-vl*`). Case does not matter, and
//! neither does an organisation before a slash, as servers of open models put one there. The longest name that
//! matches wins; a user's entry changes only what it says.

use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

use super::{Api, ComputerTool, Model, Prices, Thinking};
use crate::picture::sizes::{ClaudeTier, OpenAiDetail, SmartResize};
use crate::picture::{Convention, SizeRule, Taste};

/// What Motorium knows by itself.
static BUILT_IN: LazyLock<Vec<Entry>> = LazyLock::new(|| {
    let file: File = toml::from_str(include_str!("models.toml"))
        .expect("a test reads the table that is part of the program");
    file.model
});

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    model: Vec<Entry>,
}

/// What is said of some models; what is absent is as in the entry below it, or safe.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Entry {
    pub names: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub picture: Option<PictureEntry>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub coordinates: Option<Coordinates>,
    /// Most bytes of one picture, in Base64.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_base64: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub computer_tool: Option<ComputerTool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thinking: Option<Thinking>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effort: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub forced_tool_choice: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prefill: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sampling: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thinking_binds_prefix: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_minimum: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_output: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_images: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prices: Option<Prices>,
}

/// Which pictures a model takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PictureEntry {
    Unchanged,
    Claude(ClaudeTier),
    Openai(OpenAiDetail),
    SmartResize(SmartResize),
    Within { side: u32, pixels: u64 },
}

impl PictureEntry {
    fn rule(self) -> SizeRule {
        match self {
            PictureEntry::Unchanged => SizeRule::Unchanged,
            PictureEntry::Claude(tier) => SizeRule::Claude(tier),
            PictureEntry::Openai(detail) => SizeRule::OpenAi(detail),
            PictureEntry::SmartResize(rule) => SizeRule::Smart(rule),
            PictureEntry::Within { side, pixels } => SizeRule::Within { side, pixels },
        }
    }
}

/// How a model counts coordinates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Coordinates {
    SentPixels,
    SeenPixels,
    Thousandths,
    Fractions,
}

impl From<Coordinates> for Convention {
    fn from(coordinates: Coordinates) -> Self {
        match coordinates {
            Coordinates::SentPixels => Convention::SentPixels,
            Coordinates::SeenPixels => Convention::SeenPixels,
            Coordinates::Thousandths => Convention::Thousandths,
            Coordinates::Fractions => Convention::Fractions,
        }
    }
}

impl Entry {
    /// What is wrong with it, if anything: numbers that nothing could be sent with.
    #[must_use]
    pub fn problem(&self) -> Option<&'static str> {
        let is_none = |number: Option<u64>| number == Some(0);
        let count = |number: Option<usize>| number.map(|number| number as u64);
        if self.names.iter().all(|name| name.trim().is_empty()) {
            return Some("an entry has no `names`, so that it is about no model");
        }
        if self.prices.is_some_and(|prices| !prices.is_sound()) {
            return Some("the `prices` are no amounts that one can pay");
        }
        if is_none(self.max_output) {
            return Some("`max_output` is 0, so that no answer would have room");
        }
        if is_none(count(self.max_images)) || is_none(count(self.max_base64)) {
            return Some(
                "`max_images` or `max_base64` is 0, so that not even the screen could be sent",
            );
        }
        self.picture.and_then(PictureEntry::problem)
    }
}

impl PictureEntry {
    fn problem(self) -> Option<&'static str> {
        match self {
            PictureEntry::Within { side, pixels } if side == 0 || pixels == 0 => {
                Some("`picture` has a `side` or `pixels` of 0, so that nothing would be left of it")
            }
            PictureEntry::SmartResize(rule)
                if rule.factor == 0
                    || rule.max_pixels == 0
                    || rule.min_pixels > rule.max_pixels =>
            {
                Some(
                    "`picture`: `factor` and `max_pixels` are at least 1, and `min_pixels` is not above `max_pixels`",
                )
            }
            _ => None,
        }
    }
}

/// The table with a user's entries over it.
#[derive(Debug, Clone, Default)]
pub struct Models {
    own: Vec<Entry>,
}

impl Models {
    /// The built-in table, with these entries over it.
    #[must_use]
    pub fn with(own: Vec<Entry>) -> Self {
        Self { own }
    }

    /// What is known of the model of that name, spoken to by that protocol.
    #[must_use]
    pub fn get(&self, name: &str, api: Api) -> Model {
        let built_in = best(&BUILT_IN, name);
        let own = best(&self.own, name);
        let mut model = unknown(name, api);
        model.known = built_in.is_some() || own.is_some();
        for entry in [built_in, own].into_iter().flatten() {
            apply(&mut model, entry);
        }
        model.prices = model.prices.map(|prices| prices.completed(api));
        model
    }
}

/// The entry that names the model most exactly; of several equal ones the last.
fn best<'a>(entries: &'a [Entry], model: &str) -> Option<&'a Entry> {
    let exactness = |entry: &Entry| {
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

/// How exactly a name or a beginning with `*` means a model; `None` if it does not.
fn matches(name: &str, model: &str) -> Option<usize> {
    let (name, model) = (name.to_lowercase(), model.to_lowercase());
    let model = model.rsplit('/').next().unwrap_or(&model);
    match name.strip_suffix('*') {
        Some(beginning) => model.starts_with(beginning).then_some(beginning.len()),
        None => (model == name).then_some(usize::MAX),
    }
}

/// What any model of that protocol puts up with.
fn unknown(name: &str, api: Api) -> Model {
    let rule = match api {
        Api::AnthropicMessages => SizeRule::Claude(ClaudeTier::Standard),
        Api::OpenaiResponses => SizeRule::OpenAi(OpenAiDetail::High),
        // As large as Claude's smaller tier: legible, and cheap on any server.
        Api::OpenaiChat => SizeRule::Within {
            side: 1568,
            pixels: 1568 * 28 * 28,
        },
    };
    Model {
        name: name.to_owned(),
        known: false,
        taste: Taste {
            rule,
            convention: Convention::SentPixels,
            max_base64: 5_000_000,
        },
        computer_tool: ComputerTool::None,
        thinking: Thinking::Unsaid,
        effort: None,
        forced_tool_choice: false,
        prefill: false,
        // An endpoint of its own usually serves an open model, which is best asked without chance; one that refuses
        // the setting is not sent it again.
        sampling: api == Api::OpenaiChat,
        thinking_binds_prefix: false,
        cache_minimum: None,
        context: None,
        max_output: 4096,
        max_images: 4,
        prices: None,
    }
}

fn apply(model: &mut Model, entry: &Entry) {
    let set = |target: &mut bool, value: Option<bool>| *target = value.unwrap_or(*target);
    let rule = entry.picture.map(PictureEntry::rule);
    model.taste.rule = rule.unwrap_or(model.taste.rule);
    let convention = entry.coordinates.map(Convention::from);
    model.taste.convention = convention.unwrap_or(model.taste.convention);
    model.taste.max_base64 = entry.max_base64.unwrap_or(model.taste.max_base64);
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
    model.cache_minimum = entry.cache_minimum.or(model.cache_minimum);
    model.context = entry.context.or(model.context);
    model.max_output = entry.max_output.unwrap_or(model.max_output);
    model.max_images = entry.max_images.unwrap_or(model.max_images);
    model.prices = entry.prices.or(model.prices);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn get(name: &str, api: Api) -> Model {
        Models::default().get(name, api)
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
    fn a_beginning_means_all_that_begin_so_and_the_longest_wins() {
        let convention = |name| get(name, Api::OpenaiChat).taste.convention;
        for name in ["Qwen/Qwen3-VL-8B-Instruct", "qwen3.5-27b", "qwen3.8-plus"] {
            assert_eq!(convention(name), Convention::Thousandths, "{name}");
        }
        assert_eq!(
            convention("qwen2.5-vl-72b-instruct"),
            Convention::SeenPixels
        );
        assert_eq!(convention("xlangai/OpenCUA-7B"), Convention::SeenPixels);
        assert_eq!(convention("opencua-a3b"), Convention::Fractions);
    }

    #[test]
    fn an_unknown_model_gets_what_every_model_accepts() {
        let model = get("claude-nobody-9", Api::AnthropicMessages);
        assert!(!model.known);
        assert_eq!(model.computer_tool, ComputerTool::None);
        assert_eq!(model.thinking, Thinking::Unsaid);
        assert!(!model.sampling && !model.prefill && !model.forced_tool_choice);
        assert_eq!(model.prices, None);
    }

    #[test]
    fn an_entry_of_the_user_changes_only_what_it_says() {
        let prices = Prices {
            input: 1.0,
            output: 2.0,
            cached_input: Some(0.25),
            cache_write: Some(1.5),
        };
        let own = Entry {
            names: vec!["claude-opus-4-6".to_owned()],
            prices: Some(prices),
            ..Entry::default()
        };
        let model = Models::with(vec![own]).get("claude-opus-4-6", Api::AnthropicMessages);
        assert_eq!(model.prices, Some(prices));
        assert_eq!(model.computer_tool, ComputerTool::Anthropic20251124);
    }
}
