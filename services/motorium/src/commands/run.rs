//! `motorium run`: submits a task, shows every step and prints its answer.

use std::fs;
use std::io::{BufRead as _, IsTerminal as _, Write as _};
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use futures::StreamExt as _;
use indicatif::{ProgressBar, ProgressStyle};
use motorium_client::{Client, Update};
use motorium_kit::client::Channel;
use motorium_kit::config::LayeredConfig;
use motorium_messages::{Language, Message};
use motorium_proto::convert::wire_duration;
use motorium_proto::v1::orchestrator as wire;

use super::{connect, service_error};
use crate::cli::Run;
use crate::error::Error;
use crate::process::{Process, ProcessOptions};
use crate::show::progress::{ProgressUpdate, TaskOutcome, TaskProgress};

/// Exit code of a task that did not succeed.
const TASK_FAILED: u8 = 1;
/// Exit code of a task that was cancelled with Ctrl-C: 128 + SIGINT, as in shells.
const INTERRUPTED: u8 = 130;

/// Runs a task to its end.
pub(crate) async fn run(loaded: &LayeredConfig, args: Run) -> Result<ExitCode, Error> {
    let request = request(&args)?;
    if !args.in_process {
        let client = connect(&args.server)?;
        return carry_out(&client, &args.server.server, request, &args).await;
    }
    let process = Process::start(loaded, ProcessOptions::in_process()).await?;
    let code = match process.client() {
        Ok(client) => carry_out(&client, "this process", request, &args).await,
        Err(error) => Err(error),
    };
    process.shut_down().await;
    code
}

fn request(args: &Run) -> Result<wire::CreateTaskRequest, Error> {
    let attachments = args
        .attachments
        .iter()
        .map(|path| attachment(path))
        .collect::<Result<_, _>>()?;
    let expectation = |text: &String| wire::Expectation {
        expectation: Some(wire::expectation::Expectation::TextOnScreen(text.clone())),
    };
    let task = wire::Task {
        goal: args.goal.clone(),
        backends: args.planners.clone(),
        limits: Some(wire::Limits {
            max_steps: args.max_steps.unwrap_or_default(),
            max_duration: args.max_time.map(wire_duration),
            ..wire::Limits::default()
        }),
        desktop_selector: args.desktop.as_ref().map(|name| wire::DesktopSelector {
            desktop: full_desktop_name(name),
            ..wire::DesktopSelector::default()
        }),
        attachments,
        results: args.results.clone(),
        tool_endpoints: args.tools.clone(),
        expectations: args.expected_texts.iter().map(expectation).collect(),
        language: args.language.clone().unwrap_or_default(),
        ..wire::Task::default()
    };
    let request_id = uuid::Uuid::new_v4().to_string();
    Ok(wire::CreateTaskRequest {
        task: Some(task),
        task_id: String::new(),
        request_id,
    })
}

fn full_desktop_name(name: &str) -> String {
    if name.contains('/') {
        name.to_owned()
    } else {
        format!("desktops/{name}")
    }
}

fn attachment(path: &Path) -> Result<wire::Attachment, Error> {
    let data = fs::read(path).map_err(|source| Error::File {
        path: path.to_owned(),
        source,
    })?;
    let name = path
        .file_name()
        .map(|name| name.to_string_lossy().into_owned());
    let name = name.ok_or_else(|| Error::Usage(format!("{} is not a file", path.display())))?;
    Ok(wire::Attachment {
        name,
        data: data.into(),
    })
}

async fn carry_out(
    client: &Client<Channel>,
    server: &str,
    request: wire::CreateTaskRequest,
    args: &Run,
) -> Result<ExitCode, Error> {
    let task = client
        .create(request)
        .await
        .map_err(|report| service_error(server, report))?;
    let language = Language::of(args.language.as_deref(), &args.goal);
    let code = watch(client, &task.name, args.json, language).await?;
    if let Some(folder) = &args.save {
        super::saved_files::save(client, &task.name, folder).await?;
    }
    Ok(code)
}

/// Watches a task until it ends. Ctrl-C cancels it.
pub(crate) async fn watch(
    client: &Client<Channel>,
    task: &str,
    json: bool,
    language: Language,
) -> Result<ExitCode, Error> {
    let mut updates = client.watch(task);
    let mut screen = Screen::new(json, language);
    let mut interrupted = false;
    loop {
        let update = tokio::select! {
            update = updates.next() => update,
            _ = tokio::signal::ctrl_c(), if !interrupted => {
                interrupted = true;
                client.cancel_task(task, "Ctrl-C").await.map_err(Error::Service)?;
                continue;
            }
        };
        let Some(update) = update else {
            return Err(Error::Usage(format!(
                "the event stream of {task} ended before the task"
            )));
        };
        let Update::Event { event, .. } = update.map_err(Error::Service)? else {
            continue;
        };
        match screen.show(&event) {
            ProgressUpdate::Question {
                message,
                wants_words,
            } => ask(client, task, &message, wants_words, language).await?,
            ProgressUpdate::Approval { message, name } => {
                ask_to_approve(client, &name, &message, language).await?
            }
            ProgressUpdate::Finished(_) if interrupted => return Ok(ExitCode::from(INTERRUPTED)),
            ProgressUpdate::Finished(ending) if ending.is_success() => {
                return Ok(ExitCode::SUCCESS);
            }
            ProgressUpdate::Finished(_) => return Ok(ExitCode::from(TASK_FAILED)),
            _ => {}
        }
    }
}

/// Asks the user at the terminal for approval. Without a terminal it prints how to answer.
async fn ask_to_approve(
    client: &Client<Channel>,
    approval: &str,
    message: &str,
    language: Language,
) -> Result<(), Error> {
    if !std::io::stdin().is_terminal() {
        let hint = Message::HintApprove { approval }.text(language);
        eprintln!("  ? {message}\n    {hint}");
        return Ok(());
    }
    let prompt = Message::PromptApprove.text(language);
    let line = read_line(format!("  ? {message}\n    {prompt} ")).await?;
    let approve = matches!(
        line.to_lowercase().as_str(),
        "y" | "yes" | "j" | "ja" | "是" | "好"
    );
    super::approval::resolve(client, approval, approve, "", language).await
}

async fn read_line(question: String) -> Result<String, Error> {
    let read = move || {
        eprint!("{question}");
        let _ = std::io::stderr().flush();
        let mut line = String::new();
        std::io::stdin().lock().read_line(&mut line).map(|_| line)
    };
    let line = tokio::task::spawn_blocking(read)
        .await
        .map_err(|error| Error::Usage(error.to_string()))?;
    let line = line.map_err(|error| Error::Usage(error.to_string()))?;
    Ok(line.trim().to_owned())
}

/// Asks a task's question at the terminal. Without a terminal it prints how to answer.
async fn ask(
    client: &Client<Channel>,
    task: &str,
    message: &str,
    wants_words: bool,
    language: Language,
) -> Result<(), Error> {
    if !std::io::stdin().is_terminal() {
        let hint = Message::HintAnswer { task }.text(language);
        eprintln!("  ? {message}\n    {hint}");
        return Ok(());
    }
    let prompt = if wants_words {
        Message::PromptAnswer
    } else {
        Message::PromptDone
    };
    let prompt = prompt.text(language);
    let message = read_line(format!("  ? {message}\n    {prompt}: ")).await?;
    let request = wire::AcknowledgeUserActionRequest {
        name: task.to_owned(),
        message,
        request_id: String::new(),
    };
    let answered = client.raw().acknowledge_user_action(request).await;
    answered.map_err(|status| {
        Error::Service(motorium_proto::error::ErrorReport::from_status(&status))
    })?;
    Ok(())
}

/// The terminal output: permanent lines, and a spinner if standard error is a terminal.
struct Screen {
    json: bool,
    language: Language,
    progress: TaskProgress,
    spinner: Option<ProgressBar>,
}

impl Screen {
    fn new(json: bool, language: Language) -> Self {
        let spinner = (!json && std::io::stderr().is_terminal()).then(|| {
            let style = ProgressStyle::with_template("  {spinner} {elapsed:>3} {msg}");
            let spinner = ProgressBar::new_spinner()
                .with_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()));
            spinner.enable_steady_tick(Duration::from_millis(100));
            spinner
        });
        Self {
            json,
            language,
            progress: TaskProgress::new(language),
            spinner,
        }
    }

    fn show(&mut self, event: &wire::Event) -> ProgressUpdate {
        let shown = self.progress.apply(event);
        if self.json {
            crate::output::line(&crate::show::json::event(event));
            return shown;
        }
        match &shown {
            ProgressUpdate::Nothing => {}
            ProgressUpdate::Status(words) => {
                if let Some(spinner) = &self.spinner {
                    spinner.set_message(words.clone());
                }
            }
            ProgressUpdate::Line(line) => self.line(line),
            ProgressUpdate::Question { .. } | ProgressUpdate::Approval { .. } => self.finish(),
            ProgressUpdate::Finished(ending) => {
                self.finish();
                crate::output::line(&outcome_line(ending, self.language));
            }
        }
        shown
    }

    fn line(&self, line: &str) {
        match &self.spinner {
            Some(spinner) => spinner.suspend(|| crate::output::line(line)),
            None => crate::output::line(line),
        }
    }

    fn finish(&self) {
        if let Some(spinner) = &self.spinner {
            spinner.set_message(String::new());
            spinner.tick();
        }
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        if let Some(spinner) = &self.spinner {
            spinner.finish_and_clear();
        }
    }
}

/// Returns the last line of a task.
pub(super) fn outcome_line(ending: &TaskOutcome, language: Language) -> String {
    let message = match ending {
        TaskOutcome::Succeeded { answer } => return answer.clone(),
        TaskOutcome::Failed { reason, message } => Message::TaskFailed { reason, message },
        TaskOutcome::Cancelled { reason } if reason.is_empty() => Message::TaskCancelled,
        TaskOutcome::Cancelled { reason } => Message::TaskCancelledBecause { reason },
    };
    message.text(language)
}
