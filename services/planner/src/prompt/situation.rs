//! Everything that a request has to say, as values that a template can use. What comes from the screen is already between
//! its delimiters, so that no template can forget them.

use motorium_imaging::marks::prompt;
use motorium_proto::domain::decision::{PastStep, RemainingLimits};
use motorium_proto::domain::desktop::Platform;
use motorium_proto::domain::element::Element;
use motorium_proto::domain::frame::Frame;
use motorium_proto::service::PlanRequest;
use serde::Serialize;

use super::history::Places;
use super::untrusted::untrusted;
use super::{Language, Prompts, history};

/// Longest data of an earlier step that is shown, in characters.
const LONGEST_DATA: usize = 4000;
/// Longest name of a language (`zh-Hant-TW`), in bytes.
const LONGEST_TAG: usize = 35;
/// Of so many last steps the data that they brought is shown.
const STEPS_WITH_DATA: usize = 3;

/// The values of a template.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Situation {
    pub goal: String,
    /// The user's own; empty if there are none.
    pub instructions: String,
    pub platform: &'static str,
    /// The lines of the elements, delimited; empty if there are none.
    pub elements: String,
    /// The open windows, delimited; empty if none is known.
    pub windows: String,
    /// Earlier steps, a line for each.
    pub history: Vec<String>,
    /// Data that the last steps brought, delimited.
    pub data: Vec<String>,
    /// What the loop noticed.
    pub notices: Vec<String>,
    /// What the user said since the last step.
    pub user_messages: Vec<String>,
    /// What is left of the limits; empty if nothing is limited.
    pub limits: Vec<String>,
    pub applications: Vec<String>,
    pub functions: Vec<Function>,
    /// For the application whose window is active.
    pub advice: Vec<String>,
    /// In which language words for people are wanted.
    pub language: String,
}

/// A function that may be called.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Function {
    pub name: String,
    pub description: String,
    pub parameters: String,
}

impl Situation {
    /// What a request has to say, with these elements of its scene, to one who knows places in that way.
    #[must_use]
    pub fn of<'a>(
        request: &PlanRequest,
        elements: impl IntoIterator<Item = &'a Element>,
        prompts: &Prompts,
        places: Places,
    ) -> Self {
        let language = Language::of(request.language.as_deref(), &request.goal);
        let lines = prompt::lines(elements);
        Self {
            goal: request.goal.clone(),
            instructions: request.instructions.trim().to_owned(),
            platform: platform(request.platform, language),
            elements: delimited("elements of the screen, as they were read", &lines),
            windows: delimited("titles of the open windows", &windows(&request.frame)),
            history: past(&request.history, language, places),
            data: data(&request.history),
            notices: request.notices.clone(),
            user_messages: request.user_messages.clone(),
            limits: limits(&request.remaining, language),
            applications: request.applications.clone(),
            functions: functions(request),
            advice: prompts.advice(&request.frame, language),
            language: spoken(request.language.as_deref(), &request.goal),
        }
    }
}

/// The language of words for people, as a prompt names it.
#[must_use]
pub fn spoken(wanted: Option<&str>, goal: &str) -> String {
    let is_tag = |wanted: &&str| {
        let is_part = |character: char| character.is_ascii_alphanumeric() || character == '-';
        !wanted.is_empty() && wanted.len() <= LONGEST_TAG && wanted.chars().all(is_part)
    };
    match (Language::of(wanted, goal), wanted.filter(is_tag)) {
        // The prompt is then in Chinese itself.
        (Language::Chinese, _) => "中文".to_owned(),
        (Language::English, Some(tag)) if tag.to_lowercase().starts_with("en") => {
            "English".to_owned()
        }
        // There are no prompts in it, and the model may speak it all the same.
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

/// One line for each window, the active one marked.
fn windows(frame: &Frame) -> String {
    let line = |window: &motorium_proto::domain::frame::Window| {
        let active = if window.active { " (active)" } else { "" };
        let minimised = if window.minimised { " (minimised)" } else { "" };
        let title = window.title.replace(['\n', '\r'], " ");
        let application = window.application.replace(['\n', '\r'], " ");
        format!("\"{title}\" — {application}{active}{minimised}\n")
    };
    frame.windows.iter().map(line).collect()
}

/// The steps as lines, and what the user said in between.
#[must_use]
pub fn past(history: &[PastStep], language: Language, places: Places) -> Vec<String> {
    let said = match language {
        Language::English => "The user said then:",
        Language::Chinese => "用户随后说：",
    };
    let lines = history.iter().flat_map(|step| {
        let messages = step.user_messages.iter();
        let messages = messages.map(|message| format!("{said} {}", message.trim()));
        std::iter::once(history::line(step, language, places)).chain(messages)
    });
    lines.collect()
}

/// What functions gave back and what was taken from the screen.
#[must_use]
pub fn data(history: &[PastStep]) -> Vec<String> {
    let recent = &history[history.len().saturating_sub(STEPS_WITH_DATA)..];
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
    recent.iter().flat_map(of_step).collect()
}

fn name_of<'a>(step: &'a PastStep, call_id: &str) -> &'a str {
    let call = step
        .function_calls
        .iter()
        .find(|call| call.call_id == call_id);
    call.map_or("a function", |call| call.name.as_str())
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(LONGEST_DATA) {
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
