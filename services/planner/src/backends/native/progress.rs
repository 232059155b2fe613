//! Texts about a decision for the user.

use motorium_proto::domain::decision::Next;

/// Maximum length of a progress line, in characters: it has to fit one line of a terminal or page.
const MAX_PROGRESS_CHARS: usize = 160;

/// Returns one line for the user: the first line of the model's text, or what is done.
pub(crate) fn progress(text: &str, next: &Next) -> String {
    let first = text.lines().map(str::trim).find(|line| !line.is_empty());
    let line = first.map_or_else(|| done(next), ToOwned::to_owned);
    match line.char_indices().nth(MAX_PROGRESS_CHARS) {
        None => line,
        Some((end, _)) => format!("{}…", &line[..end]),
    }
}

fn done(next: &Next) -> String {
    match next {
        Next::Act(actions) => {
            let intents: Vec<&str> = actions
                .iter()
                .map(|planned| planned.intent.as_str())
                .collect();
            intents.join(", ")
        }
        Next::Done { answer, .. } => answer.clone(),
        Next::Fail { reason } => reason.clone(),
        Next::Ask { question, .. } => question.clone(),
        Next::CallFunctions(calls) => {
            let names: Vec<&str> = calls.iter().map(|call| call.name.as_str()).collect();
            format!("call {}", names.join(", "))
        }
        Next::Extract { instruction, .. } => instruction.clone(),
    }
}
