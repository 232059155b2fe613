//! What the dialects share that show a model a numbered picture with a list of elements and want one JSON object: the
//! prompt, the pictures, the reading of the answer. How it is wrapped up is each dialect's own.

use motorium_imaging::marks;
use motorium_proto::domain::element::Element;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json as value};

use super::concessions::Form;
use super::dialect::{Asked, Misread, Reading, Step, Unasked};
use crate::answer::said::Said;
use crate::answer::validate::Ground;
use crate::answer::{json, som};
use crate::models::Api;
use crate::picture::{Checksum, Rendered};
use crate::prompt::history::Places;
use crate::prompt::{Error as PromptError, Language, Situation};

/// What a user can choose.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    /// Most elements that are numbered; those that can be acted on come first.
    pub max_elements: usize,
    /// Of so many last steps the screen is shown.
    pub history_images: usize,
    /// Whether the model is shown pictures at all.
    pub images: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            max_elements: marks::DEFAULT_MAX_ELEMENTS,
            history_images: 3,
            images: true,
        }
    }
}

/// What a step is asked with.
#[derive(Debug)]
pub(super) struct Numbered {
    pub(super) system: String,
    pub(super) text: String,
    /// Earlier screens, each with the words before it.
    pub(super) past: Vec<(String, Rendered)>,
    /// The screen now, with its numbers.
    pub(super) picture: Option<Rendered>,
}

impl Numbered {
    /// What a step is asked with.
    ///
    /// # Errors
    /// If its picture cannot be rendered, or a template cannot.
    pub(super) fn of(step: &Step<'_>, options: Options, form: Form) -> Result<Self, Unasked> {
        let request = step.request;
        let language = Language::of(request.language.as_deref(), &request.goal);
        let shown: Vec<Element> =
            marks::select(&request.scene.elements, Some(options.max_elements))
                .into_iter()
                .cloned()
                .collect();
        let is_shown = options.images && step.pictures.has_current();
        let picture = is_shown
            .then(|| step.pictures.marked(step.model.taste, &shown))
            .transpose()?;
        let places = Places::Seen {
            taste: step.model.taste,
            frame: request.frame.size,
            numbered: true,
        };
        let situation = Situation::of(request, &shown, step.prompts, places);
        let values = minijinja::context! {
            picture => picture.as_ref().map(size),
            ..minijinja::Value::from(minijinja::value::Serde(&situation))
        };
        let past = if is_shown {
            past(step, options, language)
        } else {
            Vec::new()
        };
        Ok(Self {
            system: system(step, &situation, form, options.images)?,
            text: step.prompts.render("som_step", language, values)?,
            past,
            picture,
        })
    }
}

impl Numbered {
    /// The parts of the user's turn: the words, then the screens, each with the words before it.
    pub(super) fn content(
        &self,
        step: &Step<'_>,
        image: impl Fn(&Rendered) -> Value,
    ) -> Vec<Value> {
        let now = self.picture.as_ref();
        let now = now.map(|picture| (caption(step), picture));
        let past = self.past.iter();
        let screens = past.map(|(words, picture)| (words.as_str(), picture));
        let screens = screens
            .chain(now)
            .flat_map(|(words, picture)| [text(words), image(picture)]);
        std::iter::once(text(&self.text)).chain(screens).collect()
    }
}

fn text(text: &str) -> Value {
    value!({"type": "text", "text": text})
}

fn system(
    step: &Step<'_>,
    situation: &Situation,
    form: Form,
    images: bool,
) -> Result<String, PromptError> {
    let request = step.request;
    let language = Language::of(request.language.as_deref(), &request.goal);
    let values = minijinja::context! {
        language => situation.language.as_str(),
        images => images,
        functions => !situation.functions.is_empty(),
        most_actions => som::MOST_ACTIONS,
        form => match form {
            Form::Schema => "schema",
            Form::Json => "json",
            Form::Plain => "plain",
        },
        schema => som::schema::schema().to_string(),
    };
    step.prompts.render("som_system", language, values)
}

fn size(picture: &Rendered) -> String {
    let (width, height) = picture.view.extent();
    format!("{width}×{height}")
}

/// The screens of the last steps. One that can no longer be shown is left out: its line of text is there all the same.
fn past(step: &Step<'_>, options: Options, language: Language) -> Vec<(String, Rendered)> {
    let most = options
        .history_images
        .min(step.model.max_images.saturating_sub(1));
    let history = &step.request.history;
    let recent = history[history.len().saturating_sub(most)..].iter();
    let shown = recent.filter_map(|past| {
        let checksum = Checksum(past.image.as_ref()?.sha256);
        let picture = step.pictures.past(step.model.taste, checksum);
        let picture = picture
            .inspect_err(
                |error| tracing::debug!(%error, step = past.step, "an earlier screen is not shown"),
            )
            .ok()?;
        let words = match language {
            Language::English => format!("The screen before step {}:", past.step),
            Language::Chinese => format!("第{}步之前的屏幕：", past.step),
        };
        Some((words, picture))
    });
    shown.collect()
}

/// The words before the picture of the screen now.
fn caption(step: &Step<'_>) -> &'static str {
    match Language::of(step.request.language.as_deref(), &step.request.goal) {
        Language::English => "The screen now, numbered:",
        Language::Chinese => "现在的屏幕，已编号：",
    }
}

/// Reads an answer in JSON.
///
/// # Errors
/// If it is no decision that can be carried out on this screen.
pub(super) fn read(
    api: Api,
    step: &Step<'_>,
    asked: &Asked,
    answer: &Value,
) -> Result<Reading, Misread> {
    let said = Said::of(api, answer)?;
    let object = json::object(&said.text).or_else(|| json::object(&said.reasoning));
    let object = object.ok_or_else(|| {
        Misread::invalid(if said.text.trim().is_empty() {
            "the answer is empty; one JSON object is wanted"
        } else {
            "the answer has no whole JSON object in it"
        })
    })?;
    let ground = Ground {
        request: step.request,
        view: asked.view,
    };
    som::read(&object, &ground)
}

/// What a model is told of an answer that is none.
pub(super) fn complaint(step: &Step<'_>, misread: &Misread) -> String {
    let request = step.request;
    let language = Language::of(request.language.as_deref(), &request.goal);
    let problem = misread.to_string();
    let values = minijinja::context! { problem => problem.as_str() };
    step.prompts
        .render("som_repair", language, values)
        // A user's template may be broken; what is wrong must be told all the same.
        .unwrap_or(problem)
}

/// The answer's text, to be shown to the model again; `None` if there is none.
pub(super) fn echo(api: Api, answer: &Value) -> Option<String> {
    let text = Said::of(api, answer).ok()?.into_text();
    (!text.trim().is_empty()).then_some(text)
}

/// Twice the room for an answer that was cut off.
pub(super) fn make_room(body: &mut Value, key: &str, misread: &Misread) {
    /// Above it, providers refuse to answer in one piece.
    const MOST: u64 = 21_000;
    if let (Misread::Truncated { .. }, Some(room)) = (misread, body[key].as_u64()) {
        body[key] = room.saturating_mul(2).min(MOST).max(room).into();
    }
}

/// Adds words to the last turn: two turns of the same side are not taken everywhere.
pub(super) fn append(turns: &mut [Value], words: &str) {
    let content = turns
        .last_mut()
        .and_then(|turn| turn["content"].as_array_mut());
    if let Some(content) = content {
        content.push(text(words));
    }
}
