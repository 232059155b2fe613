//! `motorium act`: performs one action on a display, under the same rules and leases as a task.
//!
//! A running Executor is used if there is one, so a desktop that is leased by a task is refused, unless its user has taken the
//! task over. A person who means the display of this session is told if it acts on another one. Otherwise the action is
//! performed in this process; a folder lock prevents two such commands at the same time. Pressing a button without releasing it
//! is not available, because it would have to outlive the command.

use std::process::ExitCode;
use std::sync::Arc;

use motorium_executor::config::Settings;
use motorium_executor::drivers::clipboard_content::ClipboardContent;
use motorium_executor::{ExecutorService, InProcessExecutor};
use motorium_kit::config::{LayeredConfig, ListenAddress};
use motorium_kit::shutdown::Shutdown;
use motorium_messages::{Language, Message};
use motorium_proto::domain::action::{
    Action, ActionKind, Button, ControlCharacters, ScrollAmount, Text, WindowSelector,
};
use motorium_proto::domain::desktop::Lease;
use motorium_proto::domain::effect::{ActionOutcome, ActionResult, Verdict};
use motorium_proto::domain::geometry::CapturePoint;
use motorium_proto::domain::id::{ActionId, DisplayId};
use motorium_proto::domain::key::Key;
use motorium_proto::error::{ErrorReport, FieldError, reason};
use motorium_proto::service::{
    AcquireRequest, ActionProgress, Executor, ExecutorClient, LookUpRequest, PerformRequest,
    ReleaseRequest, RenewRequest,
};
use motorium_task::{effect, words};
use uuid::Uuid;

use super::drag_effect::DragLook;
use super::operate::operate;
use super::running::{self, is_other_display, listens};
use crate::cli::{Act, ActAt, ActionCommand, Direction, MouseButton};
use crate::error::Error;
use crate::exit::Exit;
use crate::output;
use crate::process;
use crate::show::{terminal_language, text, with_detail};

/// Performs the action and prints its outcome. The exit code is 0 only if it was performed, and of a drag not if nothing changed.
pub(crate) async fn act(loaded: &LayeredConfig, args: Act) -> Result<ExitCode, Error> {
    let (action, server) = (action_of(args.action)?, args.server);
    let handle = ExecutorHandle::connect(loaded, args.executor.as_deref(), args.in_process).await?;
    let named_display = args.display.as_deref();
    let display = named_display.map(DisplayId::new);
    let announce = |lease: &Lease| {
        let own = std::env::var("DISPLAY").unwrap_or_default();
        // A display that was named is the one that is meant.
        let note = named_display
            .is_none()
            .then(|| handle.note_on(&lease.display, &own));
        if let Some(note) = note.flatten() {
            output::remark(&format!("{note}\n"));
        }
    };
    // Perception of this machine sees the desktop of a named Executor only by chance.
    let mut look = match args.executor {
        None => DragLook::before(loaded, &action, display.clone(), args.in_process).await,
        Some(_) => None,
    };
    let outcome = perform(handle.executor.as_ref(), display, action.clone(), announce).await;
    let outcome = match outcome {
        // Waiting for the lease would not help: it lasts until the desktop is handed back.
        Err(Error::Leased { holder, .. }) if is_task(&holder) => {
            // The desktop of a task may be another one.
            look = None;
            operate(loaded, &server, &holder, action.clone()).await
        }
        outcome => outcome,
    };
    let losses = handle.close().await;
    let outcome = outcome?;
    let dragged = drag_result(&action, look, &outcome).await;
    let language = terminal_language();
    output::line(&outcome_line(&outcome, dragged.as_ref(), language));
    for loss in losses {
        output::line(&loss);
    }
    Ok(match outcome.result {
        ActionResult::Performed if dragged.is_some_and(|it| it.in_vain) => Exit::Failed.into(),
        ActionResult::Performed => Exit::Done.into(),
        ActionResult::Cancelled => Exit::Cancelled.into(),
        _ => Exit::Failed.into(),
    })
}

/// The Executor that performs the action.
pub(super) struct ExecutorHandle {
    pub(super) executor: Arc<dyn Executor>,
    /// Address of a running Executor that was found without `--executor`.
    found_at: Option<String>,
    /// Set if it runs in this process, where it must be closed to restore the display.
    own: Option<Arc<ExecutorService>>,
}

impl ExecutorHandle {
    pub(super) async fn connect(
        loaded: &LayeredConfig,
        named: Option<&str>,
        in_process: bool,
    ) -> Result<Self, Error> {
        let found_at = match named {
            None if !in_process => local_executor_url(loaded).await?,
            _ => None,
        };
        let named = named.filter(|_| !in_process).map(str::to_owned);
        if let Some(address) = named.or_else(|| found_at.clone()) {
            let channel = running::channel(loaded, &address)?;
            return Ok(Self {
                executor: Arc::new(ExecutorClient::new(channel)),
                found_at,
                own: None,
            });
        }
        let own = process::local_executor(loaded).await?;
        Ok(Self {
            executor: Arc::new(InProcessExecutor::new(Arc::clone(&own))),
            found_at: None,
            own: Some(own),
        })
    }

    /// Returns a note for a person if this Executor, which was found and not named, acts on another display than that of
    /// the session, which `own` names.
    fn note_on(&self, display: &DisplayId, own: &str) -> Option<String> {
        let executor = self.found_at.as_deref()?;
        let display = display.as_str();
        let is_other = is_other_display(display, own);
        is_other.then(|| {
            text(Message::ActOnOtherDesktop {
                display,
                executor,
                own,
            })
        })
    }

    /// Closes an Executor of this process, and returns what is lost with it, as sentences.
    ///
    /// Its clipboard is passed on to a process that outlives this one.
    pub(super) async fn close(self) -> Vec<String> {
        let Some(own) = self.own else {
            return Vec::new();
        };
        let mut losses = Vec::new();
        for (display, content) in own.remaining_clipboards().await {
            let held = match content {
                Ok(content) => hold(&display, &content).await,
                Err(error) => Err(error.to_string()),
            };
            if let Err(cause) = held {
                losses.push(text(Message::ClipboardLost { cause: &cause }));
            }
        }
        own.close().await;
        losses
    }
}

/// Starts a process that holds what this one has on the clipboard.
#[cfg(target_os = "linux")]
async fn hold(display: &DisplayId, content: &ClipboardContent) -> Result<(), String> {
    super::hold_clipboard::start(display, content).await
}

/// Other platforms keep the content themselves.
#[cfg(not(target_os = "linux"))]
async fn hold(_: &DisplayId, _: &ClipboardContent) -> Result<(), String> {
    Ok(())
}

/// Returns the URL of the configured Executor, if something listens there.
async fn local_executor_url(loaded: &LayeredConfig) -> Result<Option<String>, Error> {
    let ListenAddress(address) = loaded.section::<Settings>()?.listen;
    if !listens(address).await {
        return Ok(None);
    }
    if loaded.is_set("server.tls_certificate") {
        return Err(Error::Usage(text(Message::ExecutorWithTls {
            address: &address.to_string(),
        })));
    }
    Ok(Some(format!("http://{address}")))
}

/// Returns the private host of the address that an action opens, with its ports.
fn named_hosts(action: &Action<CapturePoint>) -> Vec<String> {
    match action {
        Action::OpenUrl { url } | Action::GoToUrl { url } => motorium_policy::private_hosts_of(url),
        _ => Vec::new(),
    }
}

/// Performs an action under a lease of its own. `announce` is called with the lease before anything is sent.
pub(super) async fn perform(
    executor: &dyn Executor,
    display: Option<DisplayId>,
    action: Action<CapturePoint>,
    announce: impl FnOnce(&Lease),
) -> Result<ActionOutcome, Error> {
    let interrupted = Shutdown::on_signals().map_err(motorium_kit::Error::from)?;
    let id = Uuid::new_v4();
    let action_id = ActionId::new(format!("act/{id}"));
    let lease = executor
        .acquire_desktop(AcquireRequest {
            display,
            holder: format!("motorium act {id}"),
            ttl: AcquireRequest::DEFAULT_TTL,
            take_over: false,
            tenant: None,
        })
        .await
        .map_err(not_leased)?;
    announce(&lease);
    let request = PerformRequest {
        display: lease.display.clone(),
        epoch: lease.epoch,
        action_id: action_id.clone(),
        retry_of: None,
        // A person gave the address.
        named_hosts: named_hosts(&action),
        action,
        creator: None,
        tenant: None,
        // A caller without a task has no screen on which an address bar could be found.
        addresses: Vec::new(),
    };
    let performed = tokio::select! {
        biased;
        // Dropping the call stops its action and releases what it pressed.
        () = interrupted.draining() => None,
        performed = with_lease_renewal(executor, &lease, executor.perform(request)) => Some(performed),
    };
    let release = ReleaseRequest {
        display: lease.display.clone(),
        epoch: lease.epoch,
    };
    // Released in any case, so that the next command need not wait until the lease expires. A second signal stops
    // waiting.
    let released = tokio::select! {
        released = executor.release_desktop(release) => released,
        () = interrupted.stopping() => Ok(()),
    };
    let performed = match performed {
        Some(performed) => performed,
        // The journal of the Executor knows how far the action came, although its call was dropped.
        None => tokio::select! {
            ended = interrupted_outcome(executor, lease.display, action_id) => ended,
            () = interrupted.stopping() => {
                Ok(ActionOutcome::new(ActionResult::Unknown, text(Message::ActInterrupted)))
            }
        },
    };
    let outcome = performed.map_err(Error::Service)?;
    if let Err(report) = released {
        tracing::warn!(%report, "the desktop could not be released");
    }
    Ok(outcome)
}

/// Returns the error of a desktop that was not leased.
fn not_leased(report: ErrorReport) -> Error {
    match report.metadata.get("holder") {
        Some(holder) if report.reason == reason::DESKTOP_LEASED => Error::Leased {
            holder: holder.clone(),
            remaining: report.retry_after.unwrap_or_default(),
        },
        _ => Error::Service(report),
    }
}

/// Returns whether the holder of a lease is a task.
fn is_task(holder: &str) -> bool {
    holder.starts_with("tasks/")
}

/// Returns the outcome of an action whose call was interrupted.
async fn interrupted_outcome(
    executor: &dyn Executor,
    display: DisplayId,
    action_id: ActionId,
) -> motorium_proto::service::Result<ActionOutcome> {
    let request = LookUpRequest {
        display: Some(display),
        action_id,
    };
    Ok(match executor.look_up_action(request).await? {
        ActionProgress::Finished(outcome) => outcome,
        ActionProgress::NotStarted => {
            ActionOutcome::cancelled_unsent(text(Message::ActInterruptedBefore))
        }
        ActionProgress::Running | ActionProgress::Unknown => {
            ActionOutcome::new(ActionResult::Unknown, text(Message::ActInterrupted))
        }
    })
}

/// Runs `work` while renewing the lease: some actions take longer than its duration.
async fn with_lease_renewal<T>(
    executor: &dyn Executor,
    lease: &Lease,
    work: impl Future<Output = T>,
) -> T {
    tokio::pin!(work);
    loop {
        tokio::select! {
            done = &mut work => return done,
            // A third of the duration: one failed renewal does not lose the lease.
            () = tokio::time::sleep(AcquireRequest::DEFAULT_TTL / 3) => {
                let request = RenewRequest {
                    display: lease.display.clone(),
                    epoch: lease.epoch,
                    ttl: AcquireRequest::DEFAULT_TTL,
                };
                // If the lease is lost, the action fails with that error.
                let _ = executor.renew_lease(request).await;
            }
        }
    }
}

fn action_of(command: ActionCommand) -> Result<Action<CapturePoint>, Error> {
    Ok(match command {
        ActionCommand::Move { x, y } => Action::Move {
            to: CapturePoint::new(x, y),
        },
        ActionCommand::Click {
            at,
            button,
            count,
            with,
        } => Action::Click {
            at: at.point(),
            button: button.into(),
            count,
            modifiers: keys_of("--with", with.as_deref())?,
        },
        ActionCommand::Drag {
            points,
            button,
            with,
            duration,
            hold,
        } => Action::Drag {
            path: path_of(&points)?,
            button: button.into(),
            modifiers: keys_of("--with", with.as_deref())?,
            duration,
            hold,
        },
        ActionCommand::Scroll {
            direction,
            amount,
            pixels,
            at,
            with,
        } => Action::Scroll {
            at: at.map(|at| CapturePoint::new(at.0, at.1)),
            amount: amount_of(direction, amount, pixels),
            modifiers: keys_of("--with", with.as_deref())?,
        },
        ActionCommand::Type {
            text,
            secret,
            as_text,
        } => Action::TypeText {
            text: match secret {
                Some(name) => Text::Secret(name),
                None => Text::Literal(text.unwrap_or_default()),
            },
            control_characters: match as_text {
                true => ControlCharacters::AsText,
                false => ControlCharacters::AsKeys,
            },
        },
        ActionCommand::Key { chord, repeat } => Action::KeyChord {
            keys: keys_of("chord", Some(&chord))?,
            repeat,
        },
        ActionCommand::Hold { chord, duration } => Action::HoldKey {
            keys: keys_of("chord", Some(&chord))?,
            duration,
        },
        ActionCommand::Wait { duration } => Action::Wait { duration },
        ActionCommand::Paste { text } => Action::Paste {
            text: text.map(Text::Literal),
        },
        ActionCommand::Open { name } => Action::OpenApplication { name },
        ActionCommand::Url { url } => Action::OpenUrl { url },
        ActionCommand::Focus { title } => Action::FocusWindow {
            window: WindowSelector::Title(title),
        },
        ActionCommand::Go { url } => Action::GoToUrl { url },
        ActionCommand::Back => Action::GoBack,
        ActionCommand::Forward => Action::GoForward,
        ActionCommand::Refresh => Action::Refresh,
    })
}

fn keys_of(field: &str, chord: Option<&str>) -> Result<Vec<Key>, Error> {
    let keys = chord.map_or(Ok(Vec::new()), |chord| Key::parse_chord(field, chord));
    keys.map_err(|FieldError { field, description }| {
        Error::Usage(format!("{field}: {description}"))
    })
}

fn path_of(numbers: &[i32]) -> Result<Vec<CapturePoint>, Error> {
    let (points, rest) = numbers.as_chunks::<2>();
    if points.len() < 2 || !rest.is_empty() {
        return Err(Error::Usage(text(Message::DragNeedsPoints)));
    }
    Ok(points
        .iter()
        .map(|&[x, y]| CapturePoint::new(x, y))
        .collect())
}

fn amount_of(direction: Direction, amount: u16, pixels: bool) -> ScrollAmount {
    let amount = i32::from(amount);
    let (x, y) = match direction {
        Direction::Up => (0, -amount),
        Direction::Down => (0, amount),
        Direction::Left => (-amount, 0),
        Direction::Right => (amount, 0),
    };
    if pixels {
        ScrollAmount::Pixels { x, y }
    } else {
        ScrollAmount::Notches { x, y }
    }
}

/// Effect of a drag that was sent.
struct DragResult {
    /// The effect in words.
    explanation: String,
    /// Nothing on the screen changed.
    in_vain: bool,
}

/// Judges a drag that was sent completely; `None` for everything else.
async fn drag_result(
    action: &Action<CapturePoint>,
    look: Option<DragLook>,
    outcome: &ActionOutcome,
) -> Option<DragResult> {
    let is_sent_drag =
        action.kind() == ActionKind::Drag && outcome.result == ActionResult::Performed;
    if !is_sent_drag {
        return None;
    }
    let effect = match look {
        Some(look) => look.effect(action).await,
        None => None,
    };
    let effect = effect.unwrap_or_else(|| effect::unknown(text(Message::EffectNotObserved)));
    Some(DragResult {
        in_vain: effect.verdict == Verdict::NoEffect,
        explanation: effect.explanation,
    })
}

/// Formats the outcome as one line for people. Of a drag, "performed" would say more than is known.
fn outcome_line(
    outcome: &ActionOutcome,
    dragged: Option<&DragResult>,
    language: Language,
) -> String {
    let mut line = match dragged {
        Some(DragResult { explanation, .. }) => Message::ActDragSent {
            effect: explanation,
        }
        .text(language),
        None => words::outcome(Some(outcome), language),
    };
    if let Some(rule) = &outcome.rule {
        let outcome = &line;
        line = Message::ActRule { outcome, rule }.text(language);
    }
    let line = with_detail(&line, &outcome.detail, language);
    match outcome.pointer {
        Some(CapturePoint { x, y, .. }) => {
            let outcome = &line;
            Message::ActPointer { outcome, x, y }.text(language)
        }
        None => line,
    }
}

impl From<MouseButton> for Button {
    fn from(button: MouseButton) -> Self {
        match button {
            MouseButton::Left => Self::Left,
            MouseButton::Right => Self::Right,
            MouseButton::Middle => Self::Middle,
            MouseButton::Back => Self::Back,
            MouseButton::Forward => Self::Forward,
        }
    }
}

impl ActAt {
    fn point(&self) -> Option<CapturePoint> {
        Some(CapturePoint::new(self.x?, self.y?))
    }
}
