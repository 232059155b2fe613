//! What a model with a computer tool is told in words: how it shall work, what the task is and what has been done before
//! it was asked, and what is new.

use motorium_proto::domain::decision::PastStep;
use serde::Serialize;

use crate::backends::dialect::Step;
use crate::prompt::history::Places;
use crate::prompt::situation::Situation;
use crate::prompt::{Error, Language};

#[derive(Serialize)]
struct News<'a> {
    user_messages: Vec<&'a str>,
    notices: &'a [String],
}

/// How it shall work. The same through a whole task, and without a word from the screen.
pub(crate) fn system(step: &Step<'_>) -> Result<String, Error> {
    step.prompts
        .render("computer_system", language(step), situation(step))
}

/// The task, and what has been done for it so far.
pub(crate) fn first(step: &Step<'_>) -> Result<String, Error> {
    step.prompts
        .render("computer_first", language(step), situation(step))
}

/// What the user and the loop have said since the last decision; empty if nothing. An answer to a question of the model
/// is told as such, and not again here.
pub(crate) fn news(
    step: &Step<'_>,
    last: Option<&PastStep>,
    answered: bool,
) -> Result<String, Error> {
    let request = step.request;
    let before = last.map(|step| step.user_messages.as_slice());
    let said = before
        .unwrap_or_default()
        .iter()
        .chain(&request.user_messages);
    let values = News {
        user_messages: said.map(String::as_str).filter(|_| !answered).collect(),
        notices: &request.notices,
    };
    let text = step
        .prompts
        .render("computer_news", language(step), values)?;
    Ok(text.trim().to_owned())
}

/// The model looks for itself: it is not told of elements.
fn situation(step: &Step<'_>) -> Situation {
    let places = Places::Seen {
        taste: step.model.taste,
        frame: step.request.frame.size,
        numbered: false,
    };
    Situation::of(step.request, [], step.prompts, places)
}

fn language(step: &Step<'_>) -> Language {
    Language::of(step.request.language.as_deref(), &step.request.goal)
}
