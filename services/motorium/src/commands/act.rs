//! `motorium act`: one action on a display, under the same rules and the same lease as those of a task.
//!
//! A running Executor is asked, so that nobody is interfered with: a desktop that a task holds is refused. Without one
//! the action is performed in this process, unless another command does so already: they share a folder, and its lock.
//! Pressing a button and leaving it down is no action here: it would have to outlive the command.

use std::io::ErrorKind;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use motorium_executor::ExecutorService;
use motorium_executor::config::Settings;
use motorium_kit::client::{self, Channel};
use motorium_kit::config::{Listen, Loaded};
use motorium_kit::shutdown::Shutdown;
use motorium_proto::domain::action::{
    Action, Button, ControlCharacters, ScrollAmount, Text, WindowSelector,
};
use motorium_proto::domain::desktop::Lease;
use motorium_proto::domain::effect::{ActionOutcome, ActionResult};
use motorium_proto::domain::geometry::CapturePoint;
use motorium_proto::domain::id::{ActionId, DisplayId};
use motorium_proto::domain::key::Key;
use motorium_proto::error::FieldError;
use motorium_proto::service::{
    AcquireRequest, ActionProgress, Executor, ExecutorClient, PerformRequest,
};
use tokio::net::TcpStream;
use uuid::Uuid;

use crate::cli::{Act, ActAt, Deed, Direction, MouseButton};
use crate::error::Error;
use crate::output;
use crate::process;

/// Whether something listens on this machine is known at once, or it is not there.
const LISTENING: Duration = Duration::from_millis(300);

/// Performs the action and says what became of it. Success only if it was performed.
pub(crate) async fn act(loaded: &Loaded, args: Act) -> Result<ExitCode, Error> {
    let action = action_of(args.deed)?;
    let hands = Hands::reach(loaded, args.executor.as_deref(), args.in_process).await?;
    let display = args.display.map(DisplayId::new);
    let outcome = perform(hands.executor.as_ref(), display, action).await;
    hands.let_go().await;
    let outcome = outcome?;
    output::line(&said(&outcome));
    Ok(match outcome.result {
        ActionResult::Performed => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    })
}

/// Who acts.
struct Hands {
    executor: Arc<dyn Executor>,
    /// If it is of this process: it leaves the display as it was found.
    own: Option<Arc<ExecutorService>>,
}

impl Hands {
    async fn reach(loaded: &Loaded, named: Option<&str>, in_process: bool) -> Result<Self, Error> {
        let address = match named {
            _ if in_process => None,
            Some(address) => Some(address.to_owned()),
            None => running_here(loaded).await?,
        };
        if let Some(address) = address {
            let config = client::Config {
                uri: address,
                ..loaded.common()?.client("")
            };
            let channel =
                Channel::connect_lazy(&config).map_err(|error| Error::Usage(error.to_string()))?;
            return Ok(Self {
                executor: Arc::new(ExecutorClient::new(channel)),
                own: None,
            });
        }
        let own = process::executor_here(loaded).await?;
        Ok(Self {
            executor: own.clone(),
            own: Some(own),
        })
    }

    async fn let_go(self) {
        if let Some(own) = self.own {
            own.close().await;
        }
    }
}

/// The address of the Executor that the configuration describes, if something listens there.
async fn running_here(loaded: &Loaded) -> Result<Option<String>, Error> {
    let Listen(address) = loaded.section::<Settings>()?.listen;
    let connecting = TcpStream::connect(address);
    match tokio::time::timeout(LISTENING, connecting).await {
        Ok(Err(error)) if error.kind() == ErrorKind::ConnectionRefused => Ok(None),
        // Whatever is there is asked: what is wrong with it, the call says. Nobody acts beside it.
        _ if loaded.is_set("server.tls_certificate") => Err(Error::Usage(format!(
            "an Executor may be running at {address} behind TLS: name it by --executor https://…"
        ))),
        _ => Ok(Some(format!("http://{address}"))),
    }
}

async fn perform(
    executor: &dyn Executor,
    display: Option<DisplayId>,
    action: Action<CapturePoint>,
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
        })
        .await
        .map_err(Error::Service)?;
    let request = PerformRequest {
        display: lease.display.clone(),
        epoch: lease.epoch,
        action_id: action_id.clone(),
        retry_of: None,
        action,
    };
    let performed = tokio::select! {
        biased;
        // Whoever drops a call stops its action, and what it pressed is released.
        () = interrupted.draining() => None,
        performed = keeping(executor, &lease, executor.perform(request)) => Some(performed),
    };
    let released = tokio::select! {
        released = executor.release_desktop(lease.display.clone(), lease.epoch) => released,
        () = interrupted.stopping() => Ok(()),
    };
    let performed = match performed {
        Some(performed) => performed,
        None => tokio::select! {
            ended = how_it_ended(executor, lease.display, action_id) => ended,
            () = interrupted.stopping() => {
                Ok(ActionOutcome::new(ActionResult::Unknown, "interrupted; look at the screen"))
            }
        },
    };
    let outcome = performed.map_err(Error::Service)?;
    if let Err(report) = released {
        tracing::warn!(%report, "the desktop was not given back");
    }
    Ok(outcome)
}

/// What became of an action whose call was given up.
async fn how_it_ended(
    executor: &dyn Executor,
    display: DisplayId,
    action: ActionId,
) -> motorium_proto::service::Result<ActionOutcome> {
    Ok(
        match executor.look_up_action(Some(display), action).await? {
            ActionProgress::Finished(outcome) => outcome,
            ActionProgress::NotStarted => {
                ActionOutcome::new(ActionResult::Cancelled, "interrupted before it had begun")
            }
            ActionProgress::Running | ActionProgress::Unknown => {
                ActionOutcome::new(ActionResult::Unknown, "interrupted; look at the screen")
            }
        },
    )
}

/// Does `work` while the lease is kept: some actions take longer than one lasts.
async fn keeping<T>(executor: &dyn Executor, lease: &Lease, work: impl Future<Output = T>) -> T {
    tokio::pin!(work);
    loop {
        tokio::select! {
            done = &mut work => return done,
            () = tokio::time::sleep(AcquireRequest::DEFAULT_TTL / 3) => {
                let ttl = AcquireRequest::DEFAULT_TTL;
                // If it is lost, the action says so.
                let _ = executor.renew_lease(lease.display.clone(), lease.epoch, ttl).await;
            }
        }
    }
}

fn action_of(deed: Deed) -> Result<Action<CapturePoint>, Error> {
    Ok(match deed {
        Deed::Move { x, y } => Action::Move {
            to: CapturePoint::new(x, y),
        },
        Deed::Click {
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
        Deed::Drag {
            points,
            button,
            with,
            duration,
        } => Action::Drag {
            path: path_of(&points)?,
            button: button.into(),
            modifiers: keys_of("--with", with.as_deref())?,
            duration,
        },
        Deed::Scroll {
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
        Deed::Type {
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
        Deed::Key { chord, repeat } => Action::KeyChord {
            keys: keys_of("chord", Some(&chord))?,
            repeat,
        },
        Deed::Hold { chord, duration } => Action::HoldKey {
            keys: keys_of("chord", Some(&chord))?,
            duration,
        },
        Deed::Wait { duration } => Action::Wait { duration },
        Deed::Paste { text } => Action::Paste {
            text: text.map(Text::Literal),
        },
        Deed::Open { name } => Action::OpenApplication { name },
        Deed::Url { url } => Action::OpenUrl { url },
        Deed::Focus { title } => Action::FocusWindow {
            window: WindowSelector::Title(title),
        },
        Deed::Go { url } => Action::GoToUrl { url },
        Deed::Back => Action::GoBack,
        Deed::Forward => Action::GoForward,
        Deed::Refresh => Action::Refresh,
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
        let problem = "a drag is written as at least two points: X1 Y1 X2 Y2";
        return Err(Error::Usage(problem.to_owned()));
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

/// What became of it, in a line for people.
fn said(outcome: &ActionOutcome) -> String {
    let word = match outcome.result {
        ActionResult::Performed => "performed",
        ActionResult::Refused => "refused",
        ActionResult::Failed => "failed",
        ActionResult::Unknown => "unknown",
        ActionResult::Cancelled => "stopped",
    };
    let rule = outcome.rule.as_ref().map(|rule| format!(" by {rule}"));
    let detail = Some(&outcome.detail).filter(|detail| !detail.is_empty());
    let detail = detail.map(|detail| format!(": {detail}"));
    let pointer = outcome
        .pointer
        .map(|pointer| format!("; pointer at {}, {}", pointer.x, pointer.y));
    [Some(word.to_owned()), rule, detail, pointer]
        .into_iter()
        .flatten()
        .collect()
}

impl From<MouseButton> for Button {
    fn from(button: MouseButton) -> Self {
        match button {
            MouseButton::Left => Self::Left,
            MouseButton::Right => Self::Right,
            MouseButton::Middle => Self::Middle,
        }
    }
}

impl ActAt {
    fn point(&self) -> Option<CapturePoint> {
        Some(CapturePoint::new(self.x?, self.y?))
    }
}
