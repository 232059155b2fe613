//! Prompts for a model with a computer tool: instructions, the task with its earlier steps, and new messages.

use motorium_proto::domain::decision::PastStep;
use serde::Serialize;

use crate::backends::dialect::StepContext;
use crate::backends::step_prompt;
use crate::prompt::{Error, Language, context};

#[derive(Serialize)]
struct NewMessages<'a> {
    user_messages: Vec<&'a str>,
    notices: &'a [String],
    /// Address of the page in the browser, delimited; empty if there is none.
    page: String,
}

/// Returns the system prompt. It is the same during a whole task and contains no text from the screen.
pub(crate) fn system(step: &StepContext<'_>) -> Result<String, Error> {
    step.prompts.render(
        "computer_system",
        language(step),
        step_prompt::values(step)?,
    )
}

/// Returns the task and what has been done for it.
pub(crate) fn first(step: &StepContext<'_>) -> Result<String, Error> {
    step.prompts
        .render("computer_first", language(step), step_prompt::values(step)?)
}

/// Returns the user messages and notices since the last decision, and the address of the page; empty if none. An answer to the model's question is
/// sent as the result of that call, and not repeated here.
pub(crate) fn new_messages(
    step: &StepContext<'_>,
    last: Option<&PastStep>,
    answered: bool,
) -> Result<String, Error> {
    let request = step.request;
    let before = last.map(|step| step.user_messages.as_slice());
    let user_messages = before
        .unwrap_or_default()
        .iter()
        .chain(&request.user_messages);
    let values = NewMessages {
        user_messages: user_messages
            .map(String::as_str)
            .filter(|_| !answered)
            .collect(),
        notices: &request.notices,
        page: context::page(request),
    };
    let text = step
        .prompts
        .render("computer_update", language(step), values)?;
    Ok(text.trim().to_owned())
}

fn language(step: &StepContext<'_>) -> Language {
    Language::of(step.request.language.as_deref(), &step.request.goal)
}
