//! Values of a request for templates. Text from the screen is already delimited, so that no template can forget it.

use motorium_imaging::marks::prompt;
use motorium_proto::domain::decision::{PastStep, RemainingLimits};
use motorium_proto::domain::desktop::Platform;
use motorium_proto::domain::element::Element;
use motorium_proto::domain::frame::Frame;
use motorium_proto::domain::session::UserImage;
use motorium_proto::service::PlanRequest;
use serde::Serialize;

use super::history::CoordinateFormat;
use super::untrusted::untrusted;
use super::{Error, Language, Prompts, background, history};

/// Maximum length of an earlier step's data, in characters: bounds the prompt.
const MAX_DATA_CHARS: usize = 4000;
/// Maximum length of a language tag (`zh-Hant-TW`), in bytes: the longest that RFC 5646 asks implementations to support.
const MAX_LANGUAGE_TAG_BYTES: usize = 35;
/// Maximum tokens of all data of earlier steps together. Extracted data stays available for the whole task; of more than
/// this, the latest is kept.
const MAX_DATA_TOKENS: usize = 8000;
/// Bytes of text per token: English has about four, JSON and Chinese about three.
const BYTES_PER_TOKEN: usize = 3;
/// Number of latest steps whose thoughts are shown: older ones are in the line of their step.
const STEPS_WITH_THOUGHTS: usize = 8;
/// Maximum length of the thought of an earlier step, in characters: keeps each on about two lines.
const MAX_THOUGHT_CHARS: usize = 240;
/// Stands for data that is left out of a prompt.
const LEFT_OUT: &str = "…";

/// Values of a template.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct PromptContext {
    pub goal: String,
    /// The user's instructions; empty if there are none.
    pub instructions: String,
    /// Earlier tasks of the session, delimited where they may quote the screen; empty if there are none.
    pub background: String,
    pub platform: &'static str,
    /// Lines of the elements, delimited; empty if there are none.
    pub elements: String,
    /// Open windows, delimited; empty if none is known.
    pub windows: String,
    /// URL of the page that the browser in front shows, delimited; empty if there is none.
    pub page: String,
    /// Number of the step that is being decided.
    pub step: u32,
    /// Earlier steps, one line each.
    pub history: Vec<String>,
    /// Result data of the last steps, delimited.
    pub data: Vec<String>,
    /// Notices of the orchestrator.
    pub notices: Vec<String>,
    /// User messages since the last step.
    pub user_messages: Vec<String>,
    /// Remaining limits; empty if nothing is limited.
    pub limits: Vec<String>,
    pub applications: Vec<String>,
    pub functions: Vec<Function>,
    /// Advice for the application of the active window.
    pub advice: Vec<String>,
    /// Language of texts for the user.
    pub language: String,
}

/// A function that the model may call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Function {
    pub name: String,
    pub description: String,
    pub parameters: String,
}

impl PromptContext {
    /// Returns the values of a request, with these elements of its scene, this format of places, and these images of the
    /// user beside the prompt.
    ///
    /// # Errors
    /// Fails if the template of the background cannot be rendered.
    pub fn of<'a>(
        request: &PlanRequest,
        elements: impl IntoIterator<Item = &'a Element>,
        prompts: &Prompts,
        places: CoordinateFormat,
        shown_images: &[&UserImage],
    ) -> Result<Self, Error> {
        let language = Language::of(request.language.as_deref(), &request.goal);
        let lines = prompt::lines_in(elements, language == Language::Chinese);
        Ok(Self {
            goal: request.goal.clone(),
            instructions: request.instructions.trim().to_owned(),
            background: background(&request.context, shown_images, prompts, language)?,
            platform: platform(request.platform, language),
            elements: delimited("elements of the screen, as they were read", &lines),
            windows: delimited(
                "titles of the open windows",
                &windows(&request.frame, language),
            ),
            page: page(request),
            step: step_number(request),
            history: past(&request.history, language, places),
            data: data(&request.history),
            notices: request.notices.clone(),
            user_messages: request.user_messages.clone(),
            limits: limits(&request.remaining, language),
            applications: request.applications.clone(),
            functions: functions(request),
            advice: prompts.advice(&request.frame, language),
            language: output_language(request.language.as_deref(), &request.goal),
        })
    }
}

/// Returns the language of texts for the user, as a prompt names it.
#[must_use]
pub fn output_language(wanted: Option<&str>, goal: &str) -> String {
    let is_tag = |wanted: &&str| {
        let is_part = |character: char| character.is_ascii_alphanumeric() || character == '-';
        !wanted.is_empty() && wanted.len() <= MAX_LANGUAGE_TAG_BYTES && wanted.chars().all(is_part)
    };
    match (Language::of(wanted, goal), wanted.filter(is_tag)) {
        // The prompt itself is in Chinese.
        (Language::Chinese, _) => "中文".to_owned(),
        (Language::English, Some(tag)) if tag.to_lowercase().starts_with("en") => {
            "English".to_owned()
        }
        // There are no templates in this language, but the model may know it.
        (Language::English, Some(tag)) => format!("the language with the code \"{tag}\""),
        (Language::English, None) => "the language of the task".to_owned(),
    }
}

fn delimited(source: &str, text: &str) -> String {
    if text.is_empty() {
        return String::new();
    }
    untrusted(source, text)
}

fn platform(platform: Platform, language: Language) -> &'static str {
    match (platform, language) {
        (Platform::Linux, _) => "Linux",
        (Platform::Windows, _) => "Windows",
        (Platform::Macos, _) => "macOS",
        (Platform::Browser, Language::English) => "a browser alone",
        (Platform::Browser, Language::Chinese) => "只有浏览器",
        (Platform::Unknown, Language::English) => "platform unknown",
        (Platform::Unknown, Language::Chinese) => "平台未知",
    }
}

/// Returns one line per window, with the active one marked.
fn windows(frame: &Frame, language: Language) -> String {
    let (active_words, minimised_words) = match language {
        Language::English => (" (active)", " (minimised)"),
        Language::Chinese => ("（当前窗口）", "（已最小化）"),
    };
    let line = |window: &motorium_proto::domain::frame::Window| {
        let active = if window.active { active_words } else { "" };
        let minimised = if window.minimised {
            minimised_words
        } else {
            ""
        };
        let title = window.title.replace(['\n', '\r'], " ");
        let application = window.application.replace(['\n', '\r'], " ");
        format!("\"{title}\" — {application}{active}{minimised}\n")
    };
    frame.windows.iter().map(line).collect()
}

/// Returns the URL of the page that the browser in front shows, delimited because a page chooses it.
#[must_use]
pub fn page(request: &PlanRequest) -> String {
    let url = request.current_url.as_deref().unwrap_or_default();
    delimited("address of the page in the browser", url)
}

/// Returns the number of the step that is being decided.
#[must_use]
pub fn step_number(request: &PlanRequest) -> u32 {
    let last = request.history.last();
    last.map_or(1, |last| last.step.saturating_add(1))
}

/// Returns the steps as lines, with the thoughts of the latest ones and the user messages in between.
#[must_use]
pub fn past(history: &[PastStep], language: Language, places: CoordinateFormat) -> Vec<String> {
    let prefix = match language {
        Language::English => "The user said then:",
        Language::Chinese => "用户随后说：",
    };
    let without_thoughts = history.len().saturating_sub(STEPS_WITH_THOUGHTS);
    let lines = history.iter().enumerate().flat_map(|(index, step)| {
        let messages = step.user_messages.iter();
        let messages = messages.map(|message| format!("{prefix} {}", message.trim()));
        let line = history::line(step, language, places);
        let thought = thought(step, language).filter(|_| index >= without_thoughts);
        std::iter::once(line).chain(thought).chain(messages)
    });
    lines.collect()
}

/// Returns the thought of an earlier step on one line; `None` if there is none.
fn thought(step: &PastStep, language: Language) -> Option<String> {
    let line = step.thought.split_whitespace().collect::<Vec<_>>();
    let line = line.join(" ");
    let line = match line.char_indices().nth(MAX_THOUGHT_CHARS) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    };
    let thought = match language {
        Language::English => format!("  Your thought then: {line}"),
        Language::Chinese => format!("  你当时的想法：{line}"),
    };
    (!line.is_empty()).then_some(thought)
}

/// Returns function results and extracted data of the whole task, delimited. If they are too long together, the latest
/// are kept.
#[must_use]
pub fn data(history: &[PastStep]) -> Vec<String> {
    let of_step = |step: &PastStep| {
        let number = step.step;
        let results = step.function_results.iter().map(move |result| {
            let name = name_of(step, &result.call_id);
            let (source, text) = match &result.outcome {
                Ok(value) => (format!("result of {name} in step {number}"), value),
                Err(error) => (format!("error of {name} in step {number}"), error),
            };
            untrusted(&source, &cut(text))
        });
        let extracted = step.extracted_json.iter().map(move |json| {
            let source = format!("data taken from the screen in step {number}");
            untrusted(&source, &cut(json))
        });
        results.chain(extracted).collect::<Vec<_>>()
    };
    let mut left = MAX_DATA_TOKENS * BYTES_PER_TOKEN;
    let latest_first = history.iter().rev().flat_map(|step| {
        let mut of_step = of_step(step);
        of_step.reverse();
        of_step
    });
    let mut kept: Vec<String> = latest_first
        .take_while(|text| match left.checked_sub(text.len()) {
            Some(rest) => {
                left = rest;
                true
            }
            None => false,
        })
        .collect();
    kept.reverse();
    kept
}

/// Returns the steps with their function results and extracted data bounded like [`data`]: each is cut, and if all are too long
/// together, the latest are kept and the others emptied.
#[must_use]
pub fn with_bounded_data(history: &[PastStep]) -> Vec<PastStep> {
    let mut left = MAX_DATA_TOKENS * BYTES_PER_TOKEN;
    let mut bound = |text: &str| {
        let text = cut(text);
        match left.checked_sub(text.len()) {
            Some(rest) => {
                left = rest;
                text
            }
            None => {
                left = 0;
                LEFT_OUT.to_owned()
            }
        }
    };
    let latest_first = history.iter().rev().map(|step| {
        let mut step = step.clone();
        step.extracted_json = step.extracted_json.as_deref().map(&mut bound);
        for result in step.function_results.iter_mut().rev() {
            result.outcome = match &result.outcome {
                Ok(value) => Ok(bound(value)),
                Err(reason) => Err(bound(reason)),
            };
        }
        step
    });
    let mut steps: Vec<PastStep> = latest_first.collect();
    steps.reverse();
    steps
}

fn name_of<'a>(step: &'a PastStep, call_id: &str) -> &'a str {
    let call = step
        .function_calls
        .iter()
        .find(|call| call.call_id == call_id);
    call.map_or("a function", |call| call.name.as_str())
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(MAX_DATA_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

fn limits(remaining: &RemainingLimits, language: Language) -> Vec<String> {
    let steps = remaining.steps.map(|steps| match language {
        Language::English => format!("{steps} steps"),
        Language::Chinese => format!("{steps} 步"),
    });
    let time = remaining.time.map(|time| {
        let seconds = time.as_secs();
        match language {
            Language::English => format!("{seconds} seconds"),
            Language::Chinese => format!("{seconds} 秒"),
        }
    });
    steps.into_iter().chain(time).collect()
}

fn functions(request: &PlanRequest) -> Vec<Function> {
    let functions = request.functions.iter();
    functions
        .map(|function| Function {
            name: function.name.clone(),
            description: function.description.clone(),
            parameters: function.parameters_json_schema.clone(),
        })
        .collect()
}
