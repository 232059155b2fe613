//! `motorium tasks watch --session`: shows all tasks of a session as they run.
//!
//! It does not answer requests: it shows the command that does.

use std::collections::BTreeMap;
use std::process::ExitCode;

use futures::StreamExt as _;
use motorium_client::SessionUpdate;
use motorium_messages::{Language, Message};
use motorium_proto::v1::orchestrator as wire;
use motorium_proto::v1::orchestrator::event::Kind;

use super::connection::Connection;
use super::full_name;
use super::watch::{outcome_line, silent_server};
use crate::error::Error;
use crate::output;
use crate::show::progress::{ProgressUpdate, TaskProgress};
use crate::show::{task_language, terminal_language};

/// Shows the tasks of a session until Ctrl-C. It only watches: questions are shown with the command that answers them.
pub(crate) async fn watch(connection: &Connection, session: &str) -> Result<ExitCode, Error> {
    let mut updates = connection
        .client
        .watch_session(&full_name("sessions", session));
    let mut is_silent = false;
    let mut tasks: BTreeMap<String, TaskProgress> = BTreeMap::new();
    loop {
        let update = tokio::select! {
            update = updates.next() => update,
            _ = tokio::signal::ctrl_c() => return Ok(ExitCode::SUCCESS),
        };
        let Some(update) = update else {
            return Ok(ExitCode::SUCCESS);
        };
        let event = match update.map_err(|report| connection.error(report))? {
            SessionUpdate::Event { event, .. } => event,
            SessionUpdate::Snapshot(_) => continue,
            SessionUpdate::Silent { silence } => {
                let warning = silent_server(&connection.address, silence, terminal_language());
                if !std::mem::replace(&mut is_silent, true) {
                    output::remark(&format!("{warning}\n"));
                }
                continue;
            }
            SessionUpdate::Restored => {
                is_silent = false;
                let server = &connection.address;
                let notice = Message::ServerAnswersAgain { server }.text(terminal_language());
                output::remark(&format!("{notice}\n"));
                continue;
            }
        };
        let progress = tasks
            .entry(event.task.clone())
            .or_insert_with(|| TaskProgress::new(language_of(&event)));
        let language = progress.language();
        let update = progress.apply(&event);
        if !matches!(update, ProgressUpdate::Nothing | ProgressUpdate::Status(_))
            && let Some(wait) = progress.take_held()
        {
            let update = ProgressUpdate::Line(wait);
            line(&event, update, &connection.flags, language)
                .iter()
                .for_each(|line| output::line(line));
        }
        if let ProgressUpdate::Finished(_) = update {
            tasks.remove(&event.task);
        }
        if let Some(line) = line(&event, update, &connection.flags, language) {
            output::line(&line);
        }
    }
}

/// Returns the line of an event, which begins with the task, or `None` if the event shows nothing.
fn line(
    event: &wire::Event,
    update: ProgressUpdate,
    flags: &str,
    language: Language,
) -> Option<String> {
    let task = event.task.strip_prefix("tasks/").unwrap_or(&event.task);
    let text = match update {
        ProgressUpdate::Nothing | ProgressUpdate::Status(_) => goal(event)?,
        ProgressUpdate::Line(line) => line.trim_start().to_owned(),
        ProgressUpdate::Asked(request) => {
            let hint = request.hint(task, flags, language);
            format!("? {}; {hint}", request.message())
        }
        ProgressUpdate::Finished(outcome) => outcome_line(&outcome, language),
    };
    Some(format!("{task}  {text}"))
}

/// Returns the language of a task: that of its creation, or of the terminal if the watch began later.
fn language_of(event: &wire::Event) -> Language {
    match &event.kind {
        Some(Kind::Created(wire::TaskCreated { task: Some(task) })) => task_language(task),
        _ => terminal_language(),
    }
}

/// Returns the goal of a task that was created.
fn goal(event: &wire::Event) -> Option<String> {
    match &event.kind {
        Some(Kind::Created(created)) => Some(created.task.as_ref()?.goal.clone()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::show::prompt::Request;

    fn event(kind: Kind) -> wire::Event {
        wire::Event {
            task: "tasks/one".to_owned(),
            kind: Some(kind),
            ..wire::Event::default()
        }
    }

    #[test]
    fn each_line_begins_with_its_task() {
        let task = wire::Task {
            goal: "click \"Save\"".to_owned(),
            ..wire::Task::default()
        };
        let created = event(Kind::Created(wire::TaskCreated { task: Some(task) }));
        let shown = line(&created, ProgressUpdate::Nothing, "", Language::English);
        assert_eq!(shown.as_deref(), Some("one  click \"Save\""));
        let question = ProgressUpdate::Asked(Request::Question {
            message: "which one?".to_owned(),
        });
        let shown = line(
            &event(Kind::Resumed(wire::Resumed {})),
            question,
            " --server http://b:1",
            Language::English,
        );
        let expected =
            "one  ? which one?; answer with `motorium tasks answer one \"…\" --server http://b:1`";
        assert_eq!(shown.as_deref(), Some(expected));
        let status = ProgressUpdate::Status("observing the screen".to_owned());
        assert_eq!(
            line(
                &event(Kind::Resumed(wire::Resumed {})),
                status,
                "",
                Language::English
            ),
            None
        );
    }

    #[test]
    fn a_line_is_in_the_language_of_its_task() {
        let task = wire::Task {
            goal: "点击“保存”".to_owned(),
            ..wire::Task::default()
        };
        let created = event(Kind::Created(wire::TaskCreated { task: Some(task) }));
        assert_eq!(language_of(&created), Language::Chinese);
    }
}
