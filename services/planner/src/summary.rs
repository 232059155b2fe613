//! A final answer for the user from what was done, without a model: the last decision's own words, and for a goal
//! that was not reached, how far it came.

use motorium_proto::domain::decision::{PastStep, Usage};
use motorium_proto::domain::effect::ActionResult;
use motorium_proto::service::{SummarizeRequest, Summary};

/// Sums a task up.
#[must_use]
pub fn summarise(request: &SummarizeRequest) -> Summary {
    let is_chinese = match request.language.as_deref() {
        Some(language) if !language.is_empty() => language.to_lowercase().starts_with("zh"),
        _ => request
            .goal
            .chars()
            .any(|character| ('\u{4E00}'..='\u{9FFF}').contains(&character)),
    };
    let performed = performed(&request.history);
    let text = match (request.succeeded, request.answer.trim()) {
        (true, "") => done(&performed, is_chinese),
        (true, answer) => answer.to_owned(),
        (false, answer) => not_done(answer, &performed, is_chinese),
    };
    Summary {
        text,
        usage: Usage::default(),
    }
}

/// What was performed, each intent once in a row.
fn performed(history: &[PastStep]) -> Vec<&str> {
    let actions = history.iter().flat_map(|step| &step.actions);
    let performed = actions.filter(|action| action.outcome.result == ActionResult::Performed);
    let mut intents: Vec<&str> = performed
        .map(|action| action.planned.intent.as_str())
        .filter(|intent| !intent.is_empty())
        .collect();
    intents.dedup();
    intents
}

fn done(performed: &[&str], is_chinese: bool) -> String {
    match (performed.is_empty(), is_chinese) {
        (true, false) => "Done; nothing had to be changed.".to_owned(),
        (true, true) => "已完成，无需任何操作。".to_owned(),
        (false, false) => format!("Done: {}.", performed.join("; ")),
        (false, true) => format!("已完成：{}。", performed.join("；")),
    }
}

fn not_done(answer: &str, performed: &[&str], is_chinese: bool) -> String {
    let nothing = if is_chinese { "无" } else { "nothing" };
    let until_then = if performed.is_empty() {
        nothing.to_owned()
    } else {
        performed.join(if is_chinese { "；" } else { "; " })
    };
    match (answer.is_empty(), is_chinese) {
        (true, false) => format!("Not done. Until then: {until_then}."),
        (false, false) => format!("Not done: {answer} Until then: {until_then}."),
        (true, true) => format!("未完成。在此之前：{until_then}。"),
        (false, true) => format!("未完成：{answer}在此之前：{until_then}。"),
    }
}
