//! `motorium run`: submits a task, shows every step and prints its answer.
//!
//! The task belongs to the command: it ends with it, unless it is detached.
//!
//! It does not show the events itself: `watch` does.

use std::process::ExitCode;
use std::time::Duration;

use motorium_kit::config::LayeredConfig;
use motorium_kit::end_signals::EndSignals;
use motorium_messages::{Language, Message};
use motorium_proto::convert::wire_duration;
use motorium_proto::domain::id::TaskName;
use motorium_proto::error::ErrorReport;
use motorium_proto::v1::orchestrator as wire;
use motorium_proto::v1::orchestrator::task::State;
use tonic::Code;
use uuid::Uuid;

use super::connection::Connection;
use super::full_name;
use super::history::{History, HistoryImage};
use super::watch::{Responder, WatchOptions, watch};
use crate::cli::{OnApproval, Run, Specification};
use crate::error::Error;
use crate::exit::Exit;
use crate::output;
use crate::process::{Process, ProcessOptions};
use crate::show::{task_language, terminal_language, text};

/// Time to cancel a task whose creation was interrupted.
// A reachable server answers in milliseconds; an unreachable one has no task to cancel.
const CANCEL_TIMEOUT: Duration = Duration::from_secs(2);

/// States of tasks that have not ended.
const UNFINISHED: [State; 4] = [
    State::Pending,
    State::Running,
    State::Paused,
    State::AwaitingUser,
];

/// Runs a task to its end.
pub(crate) async fn run(loaded: &LayeredConfig, args: Run) -> Result<ExitCode, Error> {
    let mut signals = EndSignals::listen().map_err(motorium_kit::Error::from)?;
    if let Some(folder) = &args.save {
        super::saved_files::prepare(folder)?;
    }
    let exit = if args.in_process {
        run_in_process(loaded, &args, &mut signals).await
    } else {
        let connection = Connection::open(loaded, &args.server)?;
        let task = new_task_name();
        create_and_watch(&connection, &task, &args, &mut signals).await
    };
    exit.map(ExitCode::from)
}

/// Starts every service in this process for one task: a new one, or one that an earlier run left unfinished.
async fn run_in_process(
    loaded: &LayeredConfig,
    args: &Run,
    signals: &mut EndSignals,
) -> Result<Exit, Error> {
    if args.on_approval == Some(OnApproval::Wait) {
        return Err(Error::Usage(text(Message::WaitNeedsServer)));
    }
    let task = match &args.resume {
        Some(name) => TaskName::parse("--resume", &full_name("tasks", name))
            .map_err(|error| Error::Usage(error.to_string()))?,
        None => new_task_name(),
    };
    let starting = Process::start(loaded, ProcessOptions::in_process(task.clone()));
    // Starting may take long, and Ctrl-C has to work meanwhile.
    let process = tokio::select! {
        process = starting => process?,
        _ = signals.next() => return Ok(Exit::Cancelled),
    };
    let exit = match process.client() {
        Ok(client) => {
            let connection = Connection::in_process(client);
            carry_out_in_process(&connection, &task, args, signals).await
        }
        Err(error) => Err(error),
    };
    tokio::select! {
        () = process.shut_down() => {}
        _ = signals.next() => {}
    }
    exit
}

async fn carry_out_in_process(
    connection: &Connection,
    task: &TaskName,
    args: &Run,
    signals: &mut EndSignals,
) -> Result<Exit, Error> {
    if args.resume.is_some() {
        return resume(connection, task, args, signals).await;
    }
    report_unfinished(connection).await?;
    create_and_watch(connection, task, args, signals).await
}

/// Continues a task of an earlier run.
async fn resume(
    connection: &Connection,
    task: &TaskName,
    args: &Run,
    signals: &mut EndSignals,
) -> Result<Exit, Error> {
    let name = task.to_string();
    let found = match connection.client.get_task(&name).await {
        Err(report) if report.code == Code::NotFound => {
            return Err(unknown_to_resume(connection, &name).await?);
        }
        found => found.map_err(|report| connection.error(report))?,
    };
    let language = task_language(&found);
    finish(connection, &name, args, language, signals).await
}

/// Returns the error for a name that no earlier run left. Other commands list the tasks of a server, and not these.
async fn unknown_to_resume(connection: &Connection, task: &str) -> Result<Error, Error> {
    let names = unfinished(connection).await?;
    let names = match names.is_empty() {
        true => text(Message::ListEmpty),
        false => names.join(", "),
    };
    let names = &names;
    Ok(Error::Usage(text(Message::ResumeUnknown { task, names })))
}

/// Returns the names of the unfinished tasks that earlier runs in this process's folder left.
async fn unfinished(connection: &Connection) -> Result<Vec<String>, Error> {
    let request = wire::ListTasksRequest {
        states: UNFINISHED.map(i32::from).into(),
        ..wire::ListTasksRequest::default()
    };
    let page = connection.client.raw().list_tasks(request).await;
    let page = page.map_err(|status| connection.status(&status))?;
    let tasks = page.into_inner().tasks;
    Ok(tasks.into_iter().map(|task| task.name).collect())
}

/// Lists the unfinished tasks of earlier runs. This run does not touch them.
async fn report_unfinished(connection: &Connection) -> Result<(), Error> {
    let names = unfinished(connection).await?;
    let Some(first) = names.first() else {
        return Ok(());
    };
    let language = terminal_language();
    let count = Message::UnfinishedTasks {
        count: names.len() as u64,
        names: &names.join(", "),
    };
    let hint = Message::HintResume { task: first };
    output::remark(&format!(
        "{}\n  {}\n",
        count.text(language),
        hint.text(language)
    ));
    Ok(())
}

/// Returns the name of a new task. The command chooses it, so that it can cancel a task whose creation it did not see.
fn new_task_name() -> TaskName {
    TaskName::from_segment(&Uuid::now_v7().to_string()).expect("a UUID is a valid segment")
}

async fn create_and_watch(
    connection: &Connection,
    task: &TaskName,
    args: &Run,
    signals: &mut EndSignals,
) -> Result<Exit, Error> {
    let goal = args.goal.as_deref().unwrap_or_default();
    let specification = &args.specification;
    let history = match &specification.history {
        Some(path) => super::history::read(path)?,
        None => History::default(),
    };
    let mut attachments = Vec::new();
    for HistoryImage { name, content } in history.images {
        attachments.push(super::attachments::of_content(connection, name, content).await?);
    }
    attachments.extend(super::attachments::read(connection, &specification.attachments).await?);
    let mut request = request(goal, task, specification, attachments);
    if let Some(new) = &mut request.task {
        new.earlier_messages = history.messages;
    }
    let language = Language::of(args.specification.language.as_deref(), goal);
    let name = task.to_string();
    let creating = create(connection, request);
    let created = tokio::select! {
        created = creating => created.map_err(|report| connection.error(report))?,
        signal = signals.next() => {
            let cause = Message::RunCancelCause { cause: signal }.text(language);
            let cancelling = connection.client.cancel_task(&name, &cause);
            let _ = tokio::time::timeout(CANCEL_TIMEOUT, cancelling).await;
            return Ok(Exit::Cancelled);
        }
    };
    if args.detach {
        output::line(&created.name);
        let (task, flags) = (created.name.as_str(), connection.flags.as_str());
        let hint = Message::RunDetached { task, flags }.text(terminal_language());
        output::remark(&format!("{hint}\n"));
        return Ok(Exit::Done);
    }
    finish(connection, &created.name, args, language, signals).await
}

/// Creates the task, and first its session if there is none of that name.
async fn create(
    connection: &Connection,
    request: wire::CreateTaskRequest,
) -> Result<wire::Task, ErrorReport> {
    let session = request.task.as_ref().map(|task| task.session.as_str());
    let session = session.and_then(|session| session.strip_prefix("sessions/"));
    if let Some(session) = session {
        let new = wire::CreateSessionRequest {
            session_id: session.to_owned(),
            ..wire::CreateSessionRequest::default()
        };
        match connection.client.raw().create_session(new).await {
            Err(status) if status.code() != Code::AlreadyExists => {
                return Err(ErrorReport::from_status(&status));
            }
            _ => {}
        }
    }
    connection.client.create(request).await
}

/// Watches the task to its end and saves what was asked for.
async fn finish(
    connection: &Connection,
    task: &str,
    args: &Run,
    language: Language,
    signals: &mut EndSignals,
) -> Result<Exit, Error> {
    let options = WatchOptions {
        json: args.json,
        language,
        responder: Responder::chosen(args.on_approval),
        owns_task: true,
        in_process: args.in_process,
    };
    let exit = watch(connection, task, options, signals).await?;
    if let Some(folder) = &args.save {
        super::saved_files::save(connection, task, folder).await?;
    }
    Ok(exit)
}

fn request(
    goal: &str,
    name: &TaskName,
    args: &Specification,
    attachments: Vec<wire::Attachment>,
) -> wire::CreateTaskRequest {
    let expectation = |text: &String| wire::Expectation {
        expectation: Some(wire::expectation::Expectation::TextOnScreen(text.clone())),
    };
    let session = args.session.as_ref();
    let task = wire::Task {
        goal: goal.to_owned(),
        instructions: args.instructions.clone().unwrap_or_default(),
        session: session
            .map(|name| full_name("sessions", name))
            .unwrap_or_default(),
        labels: args.labels.iter().cloned().collect(),
        backends: args.planners.clone(),
        limits: Some(wire::Limits {
            max_steps: args.max_steps.unwrap_or_default(),
            max_duration: args.max_time.map(wire_duration),
            max_tokens: args.max_tokens.unwrap_or_default(),
            max_cost_micros_usd: args.max_cost.unwrap_or_default(),
            ..wire::Limits::default()
        }),
        desktop_selector: args.desktop.as_ref().map(|name| wire::DesktopSelector {
            desktop: full_name("desktops", name),
            ..wire::DesktopSelector::default()
        }),
        attachments,
        results: args.results.clone(),
        tool_endpoints: args.tools.clone(),
        verify_clicks: args.verify_clicks,
        expectations: args.expected_texts.iter().map(expectation).collect(),
        language: args.language.clone().unwrap_or_default(),
        ..wire::Task::default()
    };
    wire::CreateTaskRequest {
        task: Some(task),
        task_id: name.segment().to_owned(),
        request_id: Uuid::new_v4().to_string(),
    }
}
