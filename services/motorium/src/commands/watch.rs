//! Watches one task at the terminal: shows its events, answers its requests, and ends with it.
//!
//! One loop waits for events, typed lines and signals at once, so that an open question delays none of them. While a
//! request waits for an answer there is no spinner, which would draw over the prompt. It decides nothing about a task:
//! answers are a person's, or follow the policy that the person chose.

use std::io::IsTerminal as _;
use std::time::Duration;

use futures::StreamExt as _;
use futures::stream::BoxStream;
use indicatif::{ProgressBar, ProgressStyle};
use motorium_client::Update;
use motorium_kit::end_signals::EndSignals;
use motorium_messages::{Language, Message};
use motorium_proto::error::ErrorReport;
use motorium_proto::v1::orchestrator as wire;
use motorium_proto::v1::orchestrator::task::State;
use tokio::task::JoinHandle;

use super::approval;
use super::connection::Connection;
use crate::cli::OnApproval;
use crate::error::Error;
use crate::exit::Exit;
use crate::output;
use crate::show::limits_in_flags;
use crate::show::progress::{ProgressUpdate, TaskOutcome, TaskProgress};
use crate::show::prompt::{PromptReply, Request};
use crate::terminal::{TypedLines, is_interactive};

/// The one who answers the requests of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Responder {
    /// The person at this terminal.
    Terminal,
    /// No person is available: the first request ends the task.
    Unavailable,
    /// A person at another terminal or client: the watch waits.
    Elsewhere,
    /// The person's decision in advance, which approves actions. Questions have no answer.
    Approve,
}

impl Responder {
    /// Returns the responder that the user chose, or by default the terminal, if it is interactive.
    pub(crate) fn chosen(policy: Option<OnApproval>) -> Self {
        match policy {
            Some(OnApproval::Fail) => Responder::Unavailable,
            Some(OnApproval::Wait) => Responder::Elsewhere,
            Some(OnApproval::Approve) => Responder::Approve,
            None if is_interactive() => Responder::Terminal,
            None => Responder::Unavailable,
        }
    }
}

/// Options of a watch.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WatchOptions {
    pub(crate) json: bool,
    pub(crate) language: Language,
    pub(crate) responder: Responder,
    /// The task belongs to this command: a signal cancels it. Otherwise a signal ends only the watch.
    pub(crate) owns_task: bool,
    /// The Orchestrator runs in this process, so that other clients cannot answer.
    pub(crate) in_process: bool,
}

/// Watches a task until it ends, or until a signal ends the watch.
pub(crate) async fn watch(
    connection: &Connection,
    task: &str,
    options: WatchOptions,
    signals: &mut EndSignals,
) -> Result<Exit, Error> {
    let mut updates = connection.client.watch(task);
    let mut watcher = Watcher::new(connection, task, options);
    loop {
        let ended = tokio::select! {
            biased;
            // Whatever the step awaits is dropped: a server that does not respond must not hold up a signal.
            signal = signals.next() => watcher.interrupt(signal),
            ended = watcher.step(&mut updates) => ended?,
        };
        if let Some(exit) = ended {
            return Ok(exit);
        }
    }
}

/// Events of the watched task.
type Updates = BoxStream<'static, Result<Update, ErrorReport>>;

/// A running call that cancels the task.
type Cancellation = JoinHandle<Result<(), ErrorReport>>;

/// Waits until the cancellation has been requested; for ever if there is none.
async fn finished(cancelling: &mut Option<Cancellation>) -> Result<(), ErrorReport> {
    let Some(call) = cancelling else {
        return std::future::pending().await;
    };
    let requested = call.await;
    *cancelling = None;
    requested.unwrap_or(Ok(()))
}

struct Watcher<'a> {
    connection: &'a Connection,
    task: &'a str,
    options: WatchOptions,
    screen: TerminalOutput,
    typed: TypedLines,
    /// The request that waits for an answer at the terminal.
    open: Option<Request>,
    cancelling: Option<Cancellation>,
    /// The exit code of a task that this command cancels.
    exit: Option<Exit>,
    /// A warning that the server does not answer was shown.
    is_silent: bool,
    /// The server has told something of the task.
    has_answered: bool,
}

impl<'a> Watcher<'a> {
    fn new(connection: &'a Connection, task: &'a str, options: WatchOptions) -> Self {
        Self {
            connection,
            task,
            options,
            screen: TerminalOutput::new(options.json, options.language),
            typed: TypedLines::default(),
            open: None,
            cancelling: None,
            exit: None,
            is_silent: false,
            has_answered: false,
        }
    }

    fn text(&self, message: Message<'_>) -> String {
        message.text(self.options.language)
    }

    fn is_prompting(&self) -> bool {
        self.open.is_some()
    }

    /// Waits for an event, a typed line or the end of the cancellation, and handles it.
    async fn step(&mut self, updates: &mut Updates) -> Result<Option<Exit>, Error> {
        tokio::select! {
            biased;
            // A failed cancellation comes first: no event would tell of it.
            cancelled = finished(&mut self.cancelling) => {
                cancelled.map_err(|report| self.connection.error(report))?;
                Ok(None)
            }
            line = self.typed.next(), if self.is_prompting() => Ok(self.typed_line(line).await),
            update = updates.next() => match update {
                Some(update) => {
                    let update = update.map_err(|report| self.lost(report))?;
                    self.update(update).await
                },
                None => Err(Error::Usage(self.text(Message::EventStreamEnded { task: self.task }))),
            },
        }
    }

    /// Handles a signal: the first one cancels the task, the second one leaves at once.
    fn interrupt(&mut self, signal: &str) -> Option<Exit> {
        if !self.options.owns_task {
            let message = self.text(Message::WatchEnded { task: self.task });
            self.screen.remark(&message);
            return Some(Exit::Cancelled);
        }
        // The task is being cancelled already, and the user does not want to wait for its end.
        if self.exit.is_some() {
            return Some(Exit::Cancelled);
        }
        let message = self.text(Message::RunCancelling { cause: signal });
        self.screen.remark(&message);
        let reason = self.text(Message::RunCancelCause { cause: signal });
        self.cancel(reason, Exit::Cancelled);
        None
    }

    /// Cancels the task beside the watch, which shows how it ends.
    fn cancel(&mut self, reason: String, exit: Exit) {
        self.open = None;
        self.exit = Some(exit);
        let (client, task) = (self.connection.client.clone(), self.task.to_owned());
        self.cancelling = Some(tokio::spawn(async move {
            client.cancel_task(&task, &reason).await.map(|_| ())
        }));
    }

    /// Shows an update. Returns the exit code if the task has ended.
    async fn update(&mut self, update: Update) -> Result<Option<Exit>, Error> {
        self.has_answered |= !matches!(update, Update::Silent { .. });
        let event = match update {
            Update::Event { event, .. } => event,
            Update::Snapshot(_) => return Ok(None),
            Update::Silent { silence } => {
                self.report_silence(silence);
                return Ok(None);
            }
            Update::Restored => {
                let server = &self.connection.address;
                self.screen
                    .remark(&self.text(Message::ServerAnswersAgain { server }));
                self.is_silent = false;
                return Ok(None);
            }
        };
        // The request was answered at another client, or the task stopped waiting for it.
        if self.open.is_some() && event.state() != State::AwaitingUser {
            self.open = None;
            self.screen.end_prompt();
        }
        let shown = self.screen.progress.apply(&event);
        let printed = self.screen.show(&event, &shown);
        match shown {
            ProgressUpdate::Finished(outcome) => return Ok(Some(self.end(&outcome))),
            _ if printed.is_err() => return Ok(self.output_closed()),
            ProgressUpdate::Asked(request) if self.exit.is_none() => self.asked(request).await?,
            _ => {}
        }
        Ok(None)
    }

    /// Returns the error of a watch that has broken. A server that answered before has ended, and the task is left to its next
    /// start.
    fn lost(&self, report: ErrorReport) -> Error {
        match self.connection.error(report) {
            Error::Unreachable { server, report } if self.has_answered => Error::Ended {
                server,
                task: self.task.to_owned(),
                report,
            },
            error => error,
        }
    }

    /// Warns once that the server does not answer; the watch goes on trying.
    fn report_silence(&mut self, silence: Duration) {
        if !self.is_silent {
            self.is_silent = true;
            let warning = silent_server(&self.connection.address, silence, self.options.language);
            self.screen.remark(&warning);
        }
    }

    /// Handles a closed standard output, as a command that does not catch SIGPIPE ends.
    fn output_closed(&mut self) -> Option<Exit> {
        if !self.options.owns_task {
            return Some(Exit::Done);
        }
        if self.exit.is_none() {
            let cause = "SIGPIPE";
            let reason = self.text(Message::RunCancelCause { cause });
            self.cancel(reason, Exit::Cancelled);
        }
        None
    }

    /// Returns the exit code of a task that has ended. Names the files that it should have brought.
    fn end(&mut self, outcome: &TaskOutcome) -> Exit {
        let missing = self.screen.progress.not_fetched().join(", ");
        match outcome {
            TaskOutcome::Succeeded { .. } if !missing.is_empty() => {
                let message = self.text(Message::FilesNotFetched { names: &missing });
                self.screen.remark(&message);
                Exit::FileMissing
            }
            TaskOutcome::Succeeded { .. } => Exit::Done,
            TaskOutcome::Failed { .. } => Exit::Failed,
            TaskOutcome::Cancelled { .. } => self.exit.unwrap_or(Exit::Cancelled),
        }
    }

    /// Handles a request of the task.
    async fn asked(&mut self, request: Request) -> Result<(), Error> {
        if !self.still_waits_for(&request).await? {
            return Ok(());
        }
        match self.options.responder {
            Responder::Terminal => {
                // What was typed before does not answer a request that was not shown yet.
                self.typed.discard();
                self.screen.prompt(&request);
                self.open = Some(request);
            }
            Responder::Elsewhere => {
                let hint = request.hint(self.task, &self.connection.flags, self.options.language);
                let message = request.message();
                self.screen.remark(&format!("  ? {message}\n    {hint}"));
            }
            Responder::Approve => match &request {
                Request::Approval { .. } => self.approve_in_advance(&request).await,
                _ => self.fail_unanswered(&request),
            },
            Responder::Unavailable => self.fail_unanswered(&request),
        }
        Ok(())
    }

    /// Returns whether the task waits for this request now. A watch begins with past events, whose requests may have
    /// been answered.
    async fn still_waits_for(&self, request: &Request) -> Result<bool, Error> {
        let task = self.connection.client.get_task(self.task).await;
        let task = task.map_err(|report| self.lost(report))?;
        let waiting = task.user_request.unwrap_or_default();
        // The message as well, because a question has no approval to tell it from the next one.
        Ok(waiting.message == request.message() && waiting.approval == request.approval())
    }

    /// Ends the task because no person is available to answer its request.
    fn fail_unanswered(&mut self, request: &Request) {
        let message = request.message();
        let hint = match (self.options.in_process, self.options.responder) {
            (_, Responder::Approve) => String::new(),
            (true, _) => self.text(Message::HintNoPersonAnswersInProcess),
            (false, _) => self.text(Message::HintNoPersonAnswers),
        };
        self.screen.remark(&format!("  ? {message}\n    {hint}"));
        let reason = self.text(Message::NoPersonAnswers { request: message });
        self.cancel(reason, Exit::NeedsPerson);
    }

    /// Approves an action by the decision that the user made with the command, and says so. If that fails, the task ends as
    /// without an answer: it would wait for ever.
    async fn approve_in_advance(&mut self, request: &Request) {
        let Request::Approval {
            message,
            name,
            safety_checks,
        } = request
        else {
            return;
        };
        let mut lines = vec![self.text(Message::ApprovedInAdvance { action: message })];
        lines.extend(safety_checks.iter().map(|(code, message)| {
            self.text(Message::SafetyCheckApprovedInAdvance { code, message })
        }));
        let user = format!("{} (--on-approval approve)", approval::user());
        let client = &self.connection.client;
        let resolved = approval::resolve(client, name, true, "", user).await;
        match resolved {
            Ok(()) => self.screen.remark(&format!("    {}", lines.join("\n    "))),
            // It expired or was answered elsewhere meanwhile; the task goes on by itself.
            Err(report) if report.reason == motorium_proto::error::reason::APPROVAL_ENDED => {
                self.screen.remark(&format!("    {report}"));
            }
            Err(report) => {
                self.screen.remark(&format!("    {report}"));
                self.fail_unanswered(request);
            }
        }
    }

    /// Handles a typed line, or the end of the input.
    async fn typed_line(&mut self, line: Option<String>) -> Option<Exit> {
        let request = self.open.take()?;
        let Some(line) = line else {
            self.fail_unanswered(&request);
            return None;
        };
        let reply = request.reply(&line);
        if reply == PromptReply::Repeat {
            if let Some(reason) = request.unclear(&line, self.options.language) {
                self.screen.remark(&format!("    {reason}"));
            }
            self.screen.prompt(&request);
            self.open = Some(request);
            return None;
        }
        if let Err(report) = self.send(&request, reply).await {
            // It was answered elsewhere or has expired; the event that says so follows.
            self.screen.remark(&format!("    {report}"));
        }
        self.screen.end_prompt();
        None
    }

    async fn send(&self, request: &Request, reply: PromptReply) -> Result<(), ErrorReport> {
        let client = &self.connection.client;
        let (approve, message) = match reply {
            PromptReply::Repeat => return Ok(()),
            PromptReply::Acknowledge => return self.acknowledge(String::new()).await,
            PromptReply::Words(words) => return self.acknowledge(words).await,
            PromptReply::Approve => (true, String::new()),
            PromptReply::Deny(message) => (false, message),
        };
        let (approval, user) = (request.approval(), approval::user());
        approval::resolve(client, approval, approve, &message, user).await
    }

    async fn acknowledge(&self, message: String) -> Result<(), ErrorReport> {
        let request = wire::AcknowledgeUserActionRequest {
            name: self.task.to_owned(),
            message,
            request_id: String::new(),
        };
        let mut client = self.connection.client.raw();
        let answered = client.acknowledge_user_action(request).await;
        answered.map_err(|status| ErrorReport::from_status(&status))?;
        Ok(())
    }
}

/// The terminal output: permanent lines, and a spinner if standard error is a terminal and no prompt stands there.
struct TerminalOutput {
    json: bool,
    language: Language,
    progress: TaskProgress,
    spinner: Option<ProgressBar>,
    /// The prompt that stands at the end of the output.
    prompt: Option<String>,
}

impl TerminalOutput {
    fn new(json: bool, language: Language) -> Self {
        Self {
            json,
            language,
            progress: TaskProgress::new(language),
            spinner: spinner(json),
            prompt: None,
        }
    }

    /// Shows an event.
    fn show(&mut self, event: &wire::Event, shown: &ProgressUpdate) -> std::io::Result<()> {
        if self.json {
            return output::try_line(&crate::show::json::event(event));
        }
        if !matches!(shown, ProgressUpdate::Nothing | ProgressUpdate::Status(_))
            && let Some(line) = self.progress.take_held()
        {
            self.line(&line)?;
        }
        match shown {
            ProgressUpdate::Nothing | ProgressUpdate::Asked(_) => Ok(()),
            ProgressUpdate::Status(words) => {
                if let Some(spinner) = &self.spinner {
                    spinner.set_message(output::printable(words).into_owned());
                }
                Ok(())
            }
            ProgressUpdate::Line(line) => self.line(line),
            ProgressUpdate::Finished(outcome) => {
                self.clear_spinner();
                output::try_line(&outcome_line(outcome, self.language))
            }
        }
    }

    /// Prints a line above the spinner or the prompt.
    fn line(&self, line: &str) -> std::io::Result<()> {
        if let Some(prompt) = &self.prompt {
            output::remark("\n");
            output::try_line(line)?;
            output::remark(prompt);
            return Ok(());
        }
        match &self.spinner {
            Some(spinner) => spinner.suspend(|| output::try_line(line)),
            None => output::try_line(line),
        }
    }

    /// Prints a line for the person, on standard error: also with `--json`.
    fn remark(&mut self, text: &str) {
        let begin = if self.prompt.take().is_some() {
            "\n"
        } else {
            ""
        };
        let text = format!("{begin}{}\n", text.trim_end());
        match &self.spinner {
            Some(spinner) => spinner.suspend(|| output::remark(&text)),
            None => output::remark(&text),
        }
    }

    /// Shows a prompt, which stands until [`TerminalOutput::end_prompt`].
    fn prompt(&mut self, request: &Request) {
        self.clear_spinner();
        let prompt = request.prompt(self.language);
        output::remark(&prompt);
        self.prompt = Some(prompt);
    }

    /// Ends the prompt; the spinner may draw again.
    fn end_prompt(&mut self) {
        self.prompt = None;
        if self.spinner.is_none() {
            self.spinner = spinner(self.json);
        }
    }

    fn clear_spinner(&mut self) {
        if let Some(spinner) = self.spinner.take() {
            spinner.finish_and_clear();
        }
    }
}

impl Drop for TerminalOutput {
    fn drop(&mut self) {
        self.clear_spinner();
    }
}

fn spinner(json: bool) -> Option<ProgressBar> {
    if json || !std::io::stderr().is_terminal() {
        return None;
    }
    let style = ProgressStyle::with_template("  {spinner} {elapsed:>3} {msg}");
    let spinner = ProgressBar::new_spinner()
        .with_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()));
    spinner.enable_steady_tick(Duration::from_millis(100));
    Some(spinner)
}

/// Returns the line for a server that does not answer.
pub(super) fn silent_server(server: &str, silence: Duration, language: Language) -> String {
    let seconds = silence.as_secs_f64().round() as u64;
    Message::ServerSilent { server, seconds }.text(language)
}

/// Returns the last line of a task.
pub(super) fn outcome_line(outcome: &TaskOutcome, language: Language) -> String {
    let (message, summary) = match outcome {
        TaskOutcome::Succeeded { answer } => return answer.clone(),
        // The reason is for programs, which read it with `--json`.
        TaskOutcome::Failed {
            message, summary, ..
        } => {
            if !summary.is_empty() && summary.contains(without_stop(message)) {
                return limits_in_flags(summary);
            }
            (Message::TaskFailed { message }, summary)
        }
        TaskOutcome::Cancelled { reason, summary } if reason.is_empty() => {
            (Message::TaskCancelled, summary)
        }
        TaskOutcome::Cancelled { reason, summary } => {
            (Message::TaskCancelledBecause { reason }, summary)
        }
    };
    let line = message.text(language);
    limits_in_flags(&match summary.is_empty() {
        true => line,
        false => format!("{line}\n{summary}"),
    })
}

/// Returns a text without the full stop at its end, which a summary leaves out.
fn without_stop(text: &str) -> &str {
    text.trim().trim_end_matches(['.', '。'])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failed(message: &str, summary: &str) -> TaskOutcome {
        TaskOutcome::Failed {
            reason: "PLANNER_GAVE_UP".to_owned(),
            message: message.to_owned(),
            summary: summary.to_owned(),
        }
    }

    #[test]
    fn a_failure_is_told_once_and_in_words() {
        let check = |message: &str, summary: &str, expected: &str| {
            let line = outcome_line(&failed(message, summary), Language::English);
            assert_eq!(line, expected);
        };
        check(
            "\"X\" is not on the screen.",
            "Not done: \"X\" is not on the screen. Nothing was done.",
            "Not done: \"X\" is not on the screen. Nothing was done.",
        );
        check("it broke", "", "failed: it broke");
        check("it broke", "I came far.", "failed: it broke\nI came far.");
        check(
            "raise limits.max_steps",
            "Not done: raise limits.max_steps.",
            "Not done: raise `--max-steps`.",
        );
    }
}
