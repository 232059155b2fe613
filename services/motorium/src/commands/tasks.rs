//! `motorium tasks`: lists, shows and controls tasks.
//!
//! It does not create tasks: `motorium run` does.

use std::process::ExitCode;

use motorium_kit::config::LayeredConfig;
use motorium_kit::end_signals::EndSignals;
use motorium_messages::Message;
use motorium_proto::v1::orchestrator as wire;
use motorium_task::words;

use super::connection::Connection;
use super::watch::{Responder, WatchOptions, watch};
use super::{approval, attachments, saved_files};
use crate::cli::{Tasks, TasksCommand};
use crate::error::Error;
use crate::output;
use crate::show::{table, task_language, terminal_language, text};
use crate::terminal::is_interactive;

/// Number of tasks that `motorium tasks --session` lists: more than a conversation usually has.
const DEFAULT_TASKS: i32 = 100;

/// Runs a subcommand of `motorium tasks`.
pub(crate) async fn tasks(loaded: &LayeredConfig, args: Tasks) -> Result<ExitCode, Error> {
    let connection = Connection::open(loaded, &args.server)?;
    let mut raw = connection.client.raw();
    let request_id = String::new();
    let command = match (args.command, args.session) {
        (Some(command), None) => command,
        (None, session) => TasksCommand::List {
            limit: DEFAULT_TASKS,
            session,
            names: false,
        },
        (Some(_), Some(_)) => {
            let problem = Message::SessionBeforeSubcommand.text(terminal_language());
            return Err(Error::Usage(problem));
        }
    };
    match command {
        TasksCommand::List {
            limit,
            session,
            names,
        } => {
            list(&connection, limit, session, names).await?;
        }
        TasksCommand::Show { name } => show(&connection, &full_name(&name)).await?,
        TasksCommand::Steps { name } => {
            let name = full_name(&name);
            let (task, steps) = task_with_steps(&connection, &name).await?;
            output::line(&table::steps(&steps, task_language(&task)));
        }
        TasksCommand::Watch {
            session: Some(session),
            ..
        } => return super::watch_session::watch(&connection, &session).await,
        TasksCommand::Watch { name, .. } => {
            return watch_one(&connection, &full_name(&name.unwrap_or_default())).await;
        }
        TasksCommand::Cancel { name } => {
            refuse_ended(&connection, &full_name(&name)).await?;
            let request = wire::CancelTaskRequest {
                name: full_name(&name),
                reason: String::new(),
                request_id,
            };
            state(connection.answer(raw.cancel_task(request).await)?.task);
        }
        TasksCommand::Pause { name } => {
            let request = wire::PauseTaskRequest {
                name: full_name(&name),
                request_id,
            };
            state(connection.answer(raw.pause_task(request).await)?.task);
        }
        TasksCommand::Resume { name } => {
            let request = wire::ResumeTaskRequest {
                name: full_name(&name),
                request_id,
            };
            state(connection.answer(raw.resume_task(request).await)?.task);
        }
        TasksCommand::Answer { name, message } => {
            let message = message.unwrap_or_default();
            let request = wire::AcknowledgeUserActionRequest {
                name: full_name(&name),
                message,
                request_id,
            };
            state(
                connection
                    .answer(raw.acknowledge_user_action(request).await)?
                    .task,
            );
        }
        TasksCommand::Tell {
            name,
            message,
            attachments,
        } => {
            let request = wire::SendMessageRequest {
                name: full_name(&name),
                text: message.unwrap_or_default(),
                request_id,
                attachments: attachments::read(&connection, &attachments).await?,
                ..wire::SendMessageRequest::default()
            };
            state(connection.answer(raw.send_message(request).await)?.task);
        }
        TasksCommand::Approvals { name } => {
            let parent = name.map_or_else(|| "tasks/-".to_owned(), |name| full_name(&name));
            let approvals = waiting(&connection, &parent).await?;
            output::line(&table::approvals(&approvals, terminal_language()));
        }
        TasksCommand::Approve { name } => {
            let name = approval_name(&connection, &name).await?;
            resolve(&connection, &name, true, "").await?;
        }
        TasksCommand::Deny { name, message } => {
            let name = approval_name(&connection, &name).await?;
            let message = message.unwrap_or_default();
            resolve(&connection, &name, false, &message).await?;
        }
        TasksCommand::TakeOver { name } => {
            let request = wire::TakeOverRequest {
                name: full_name(&name),
                user: approval::user(),
                request_id,
            };
            state(connection.answer(raw.take_over(request).await)?.task);
        }
        TasksCommand::HandBack { name, message } => {
            let request = wire::HandBackRequest {
                name: full_name(&name),
                message: message.unwrap_or_default(),
                request_id,
            };
            state(connection.answer(raw.hand_back(request).await)?.task);
        }
        TasksCommand::Export { name, to, html } => {
            super::export::export(&connection, &full_name(&name), to, html).await?;
        }
        TasksCommand::Save { name, folder } => {
            saved_files::save(&connection, &full_name(&name), &folder).await?
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Prints the tasks, or only those of a session: a table, or their names alone.
async fn list(
    connection: &Connection,
    limit: i32,
    session: Option<String>,
    names: bool,
) -> Result<(), Error> {
    let session = session.map(|name| super::full_name("sessions", &name));
    if let Some(name) = session.clone() {
        // A list of none would not tell a wrong name from an empty session.
        let request = wire::GetSessionRequest { name };
        connection.answer(connection.client.raw().get_session(request).await)?;
    }
    let request = wire::ListTasksRequest {
        page_size: limit,
        session: session.unwrap_or_default(),
        ..wire::ListTasksRequest::default()
    };
    let page = connection.answer(connection.client.raw().list_tasks(request).await)?;
    if names {
        page.tasks.iter().for_each(|task| output::line(&task.name));
    } else {
        output::line(&table::task_list(&page.tasks, terminal_language()));
    }
    Ok(())
}

/// Returns an error if a task has ended: it is left as it is, and the user may mean another one.
async fn refuse_ended(connection: &Connection, task: &str) -> Result<(), Error> {
    let found = connection.client.get_task(task).await;
    let found = found.map_err(|report| connection.error(report))?;
    if !motorium_client::ENDED_STATES.contains(&found.state()) {
        return Ok(());
    }
    let state = &words::state(found.state(), terminal_language());
    Err(Error::Usage(text(Message::TaskEndedAlready {
        task,
        state,
    })))
}

/// Lists the pending approvals.
async fn waiting(connection: &Connection, parent: &str) -> Result<Vec<wire::Approval>, Error> {
    let mut approvals = Vec::new();
    let mut page_token = String::new();
    loop {
        let request = wire::ListApprovalsRequest {
            parent: parent.to_owned(),
            page_token,
            ..wire::ListApprovalsRequest::default()
        };
        let listed = connection.client.raw().list_approvals(request).await;
        let listed = connection.answer(listed)?;
        approvals.extend(listed.approvals);
        page_token = listed.next_page_token;
        if page_token.is_empty() {
            return Ok(approvals);
        }
    }
}

/// Returns the approval with this name, or the pending one of the task with this name.
async fn approval_name(connection: &Connection, name: &str) -> Result<String, Error> {
    if name.contains("/approvals/") {
        return Ok(full_name(name));
    }
    let task = full_name(name);
    let waiting = waiting(connection, &task).await?;
    let first = waiting.into_iter().next();
    let first =
        first.ok_or_else(|| Error::Usage(text(Message::NoPendingApproval { task: &task })))?;
    Ok(first.name)
}

fn full_name(name: &str) -> String {
    super::full_name("tasks", name)
}

/// Watches a task until it ends. The task does not belong to the watch: questions without a terminal wait.
async fn watch_one(connection: &Connection, name: &str) -> Result<ExitCode, Error> {
    let mut signals = EndSignals::listen().map_err(motorium_kit::Error::from)?;
    let task = connection.client.get_task(name).await;
    let task = task.map_err(|report| connection.error(report))?;
    let options = WatchOptions {
        json: false,
        language: task_language(&task),
        responder: if is_interactive() {
            Responder::Terminal
        } else {
            Responder::Elsewhere
        },
        owns_task: false,
        in_process: false,
    };
    let exit = watch(connection, name, options, &mut signals).await?;
    Ok(exit.into())
}

/// Approves or denies an action and prints which.
async fn resolve(
    connection: &Connection,
    approval: &str,
    approve: bool,
    message: &str,
) -> Result<(), Error> {
    use wire::approval::State;

    let (client, user) = (&connection.client, approval::user());
    let resolved = approval::resolve(client, approval, approve, message, user).await;
    resolved.map_err(|report| connection.error(report))?;
    let outcome = if approve {
        State::Approved
    } else {
        State::Denied
    };
    output::line(&words::approval(outcome, terminal_language()));
    Ok(())
}

fn state(task: Option<wire::Task>) {
    let task = task.unwrap_or_default();
    let state = words::state(task.state(), terminal_language());
    output::line(&format!("{} {state}", task.name));
}

async fn task_with_steps(
    connection: &Connection,
    name: &str,
) -> Result<(wire::Task, Vec<wire::Step>), Error> {
    let task = connection.client.get_task(name).await;
    let task = task.map_err(|report| connection.error(report))?;
    let steps = connection.client.list_steps(name).await;
    let steps = steps.map_err(|report| connection.error(report))?;
    Ok((task, steps))
}

async fn show(connection: &Connection, name: &str) -> Result<(), Error> {
    let (task, steps) = task_with_steps(connection, name).await?;
    let language = task_language(&task);
    output::line(&table::tasks(std::slice::from_ref(&task), language));
    if let Some(wait) = &task.desktop_wait {
        output::line(&wait.message);
    }
    if let Some(request) = &task.user_request {
        output::line(&format!("? {}", request.message));
    }
    output::line(&table::steps(&steps, language));
    Ok(())
}
