//! Shared parts of the dialects that show a model an annotated screenshot with a list of elements and expect one JSON
//! object: prompt, images and parser. The request format is up to each dialect.
//!
//! No request is sent here.

use motorium_imaging::marks;
use motorium_proto::domain::element::Element;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json as value};

use super::degraded_features::OutputFormat;
use super::dialect::{ModelRequest, RequestError, StepContext};
use super::user_images::{self, LabelledImage};
use crate::models::Api;
use crate::prompt::history::CoordinateFormat;
use crate::prompt::{Error as PromptError, Language, PromptContext};
use crate::response::text::ResponseText;
use crate::response::validate::ValidationContext;
use crate::response::{ParsedDecision, ResponseError};
use crate::response::{json, som};
use crate::screenshot::{Checksum, RenderedImage};

/// User-configurable options.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    /// Maximum number of annotated elements; interactable ones come first.
    pub max_elements: usize,
    /// Number of earlier steps whose screenshots are shown.
    pub history_images: usize,
    /// `false` shows the model only the list of elements.
    pub images: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            max_elements: marks::DEFAULT_MAX_ELEMENTS,
            // Enough to see the effect of the last actions; each image costs over a thousand tokens.
            history_images: 3,
            images: true,
        }
    }
}

/// Prompt and images of a step.
#[derive(Debug)]
pub(super) struct SomPrompt {
    pub(super) system: String,
    pub(super) text: String,
    /// Images of the user.
    of_user: Vec<LabelledImage>,
    /// Earlier screenshots, each with its caption.
    pub(super) past: Vec<(String, RenderedImage)>,
    /// The current annotated screenshot.
    pub(super) image: Option<RenderedImage>,
}

impl SomPrompt {
    /// Renders the prompt and images of a step.
    ///
    /// # Errors
    /// Fails if an image or a template cannot be rendered.
    pub(super) fn of(
        step: &StepContext<'_>,
        options: Options,
        form: OutputFormat,
    ) -> Result<Self, RequestError> {
        let request = step.request;
        let language = Language::of(request.language.as_deref(), &request.goal);
        let shown: Vec<Element> =
            marks::select(&request.scene.elements, Some(options.max_elements))
                .into_iter()
                .cloned()
                .collect();
        let is_shown = options.images && step.images.has_current();
        let image = is_shown
            .then(|| step.images.annotated(step.model.image_spec, &shown))
            .transpose()?;
        let places = CoordinateFormat::Model {
            image_spec: step.model.image_spec,
            frame: request.frame.size,
            numbered: true,
        };
        let of_user = match options.images {
            true => user_images::shown(request, step.model),
            false => Vec::new(),
        };
        let situation = PromptContext::of(request, &shown, step.prompts, places, &of_user)?;
        let values = minijinja::context! {
            screenshot_size => image.as_ref().map(size),
            ..minijinja::Value::from(minijinja::value::Serde(&situation))
        };
        let past = if is_shown {
            past(step, options, of_user.len(), language)
        } else {
            Vec::new()
        };
        let of_user = match options.images {
            true => user_images::rendered(step)?,
            false => Vec::new(),
        };
        Ok(Self {
            of_user,
            system: system(step, &situation, form, options.images)?,
            text: step.prompts.render("som_step", language, values)?,
            past,
            image,
        })
    }
}

impl SomPrompt {
    /// Returns the request with this body. Its image is the coordinate system of the response.
    pub(super) fn into_request(self, body: Value) -> ModelRequest {
        ModelRequest {
            body,
            view: self.image.as_ref().map(|image| image.view),
            annotated: self.image,
            ..ModelRequest::default()
        }
    }

    /// Returns the content of the user turn: the text, then the user's images and the screenshots, each with its caption.
    pub(super) fn content(
        &self,
        step: &StepContext<'_>,
        image: impl Fn(&RenderedImage) -> Value,
    ) -> Vec<Value> {
        let now = self.image.as_ref();
        let now = now.map(|screenshot| (caption(step), screenshot));
        let of_user = self.of_user.iter();
        let of_user = of_user.map(|one| (one.label.as_str(), &one.image));
        let past = self.past.iter();
        let past = past.map(|(words, screenshot)| (words.as_str(), screenshot));
        let images = of_user.chain(past).chain(now);
        let images = images.flat_map(|(words, rendered)| [text(words), image(rendered)]);
        std::iter::once(text(&self.text)).chain(images).collect()
    }
}

fn text(text: &str) -> Value {
    value!({"type": "text", "text": text})
}

fn system(
    step: &StepContext<'_>,
    situation: &PromptContext,
    form: OutputFormat,
    images: bool,
) -> Result<String, PromptError> {
    let request = step.request;
    let language = Language::of(request.language.as_deref(), &request.goal);
    let values = minijinja::context! {
        language => situation.language.as_str(),
        images => images,
        functions => !situation.functions.is_empty(),
        most_actions => som::MAX_ACTIONS,
        form => match form {
            OutputFormat::Schema => "schema",
            OutputFormat::Json => "json",
            OutputFormat::PromptOnly => "plain",
        },
        schema => som::schema::schema().to_string(),
    };
    step.prompts.render("som_system", language, values)
}

fn size(image: &RenderedImage) -> String {
    let (width, height) = image.view.extent();
    format!("{width}×{height}")
}

/// Returns the screenshots of the last steps, as many as there is room for beside the current one and the user's images.
/// One that is no longer available is left out; its line of text remains.
fn past(
    step: &StepContext<'_>,
    options: Options,
    user_images: usize,
    language: Language,
) -> Vec<(String, RenderedImage)> {
    let max_images = options
        .history_images
        .min(step.model.max_images.saturating_sub(1 + user_images));
    let history = &step.request.history;
    let recent = history[history.len().saturating_sub(max_images)..].iter();
    let shown = recent.filter_map(|past| {
        let checksum = Checksum(past.image.as_ref()?.sha256);
        let image = step.images.whole(step.model.image_spec, checksum);
        let image = image
            .inspect_err(
                |error| tracing::debug!(%error, step = past.step, "an earlier screenshot is left out"),
            )
            .ok()?;
        let words = match language {
            Language::English => format!("The screen before step {}:", past.step),
            Language::Chinese => format!("第{}步之前的屏幕：", past.step),
        };
        Some((words, image))
    });
    shown.collect()
}

/// Returns the caption of the current screenshot.
fn caption(step: &StepContext<'_>) -> &'static str {
    match Language::of(step.request.language.as_deref(), &step.request.goal) {
        Language::English => "The screen now, numbered:",
        Language::Chinese => "现在的屏幕，已编号：",
    }
}

/// Parses a JSON response.
///
/// # Errors
/// Fails if it is not a decision that can be performed on this screen.
pub(super) fn read(
    api: Api,
    step: &StepContext<'_>,
    model_request: &ModelRequest,
    answer: &Value,
) -> Result<ParsedDecision, ResponseError> {
    let response = ResponseText::of(api, answer)?;
    let object = decision_object(&response)?;
    let ground = ValidationContext {
        request: step.request,
        view: model_request.view,
    };
    som::read(&object, &ground)
}

/// Returns the JSON object that is the decision, in the text or else in the reasoning.
fn decision_object(response: &ResponseText) -> Result<Map<String, Value>, ResponseError> {
    let mut objects = json::objects(&response.text);
    if objects.is_empty() {
        objects = json::objects(&response.reasoning);
    }
    let mut decisions: Vec<_> = objects.iter().filter(|one| som::is_decision(one)).collect();
    // Some servers repeat the answer.
    decisions.dedup();
    match (decisions.as_slice(), objects.as_slice()) {
        ([decision], _) => Ok(Map::clone(decision)),
        ([], []) => Err(ResponseError::invalid(if response.text.trim().is_empty() {
            "the answer is empty; one JSON object is wanted"
        } else {
            "the answer has no whole JSON object in it"
        })),
        // Its parser says what is missing.
        ([], [object, ..]) => Ok(object.clone()),
        (several, _) => Err(ResponseError::invalid(format!(
            "the answer has {} decisions, and only one can be carried out; give one JSON object with all actions of this step in `actions`",
            several.len()
        ))),
    }
}

/// Returns the message that reports an invalid response to the model.
pub(super) fn repair_message(step: &StepContext<'_>, response_error: &ResponseError) -> String {
    let request = step.request;
    let language = Language::of(request.language.as_deref(), &request.goal);
    let problem = response_error.to_string();
    let values = minijinja::context! { problem => problem.as_str() };
    step.prompts
        .render("som_repair", language, values)
        // The model has to learn the problem even if a user's template is broken.
        .unwrap_or(problem)
}

/// Returns the text of a response, to be shown to the model again; `None` if there is none.
pub(super) fn response_text(api: Api, answer: &Value) -> Option<String> {
    let text = ResponseText::of(api, answer).ok()?.into_text();
    (!text.trim().is_empty()).then_some(text)
}

/// Doubles the output limit after a truncated response.
pub(super) fn raise_output_limit(body: &mut Value, key: &str, response_error: &ResponseError) {
    /// Above about this limit, Anthropic's API requires streaming.
    const MAX_TOKENS: u64 = 21_000;
    if let (ResponseError::Truncated { .. }, Some(room)) = (response_error, body[key].as_u64()) {
        body[key] = room.saturating_mul(2).min(MAX_TOKENS).max(room).into();
    }
}

/// Appends text to the last turn, because some APIs reject two consecutive turns of the same role.
pub(super) fn append(turns: &mut [Value], words: &str) {
    let content = turns
        .last_mut()
        .and_then(|turn| turn["content"].as_array_mut());
    if let Some(content) = content {
        content.push(text(words));
    }
}
