//! What people read of a decision.

use motorium_proto::domain::decision::Next;

/// Longest line of progress, in characters.
const LONGEST: usize = 160;

/// One line for people: the first that the model says, or what is done.
pub(crate) fn progress(said: &str, next: &Next) -> String {
    let first = said.lines().map(str::trim).find(|line| !line.is_empty());
    let line = first.map_or_else(|| done(next), ToOwned::to_owned);
    match line.char_indices().nth(LONGEST) {
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
