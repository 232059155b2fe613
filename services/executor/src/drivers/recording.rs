//! Hands that move nothing: every action is written down instead. For dry runs, and for tests of what stands before a
//! driver.
//!
//! What is written into a file outlives the process, so that it says what a display would have received, also of a
//! process that was killed. Secrets appear by name.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use motorium_proto::domain::action::{Action, ActionKind, Text};
use motorium_proto::domain::geometry::{CapturePoint, CaptureSize};
use motorium_proto::domain::id::{ActionId, DisplayId};
use serde::Serialize;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::{Capabilities, Driver, Error, Failure, Performed, Work};

/// The driver's name in configuration.
pub const NAME: &str = "recording";

/// What the driver pretends, and where it writes.
#[derive(Debug, Clone)]
pub struct Options {
    pub display: DisplayId,
    /// Of the display that is pretended.
    pub size: CaptureSize,
    /// A line of JSON is added for each action.
    pub file: Option<PathBuf>,
    /// How long an action takes; a stop in this time ends it.
    pub pace: Duration,
}

impl Options {
    /// Without a file, and at once.
    #[must_use]
    pub fn of_size(size: CaptureSize) -> Self {
        Self {
            display: DisplayId::new(""),
            size,
            file: None,
            pace: Duration::ZERO,
        }
    }
}

/// Records actions instead of performing them.
#[derive(Debug)]
pub struct RecordingDriver {
    options: Options,
    file: Option<File>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    actions: Vec<Action<CapturePoint>>,
    pointer: CapturePoint,
    releases: usize,
}

/// An action, as it stands in the file.
#[derive(Debug, Serialize)]
struct Line<'a> {
    display: &'a str,
    action_id: Option<&'a str>,
    kind: String,
    /// Pixels of the whole display.
    points: Vec<(i32, i32)>,
    text: Option<String>,
}

impl RecordingDriver {
    /// A driver that pretends to have a display.
    ///
    /// # Errors
    /// If its file cannot be written.
    pub fn start(options: Options) -> io::Result<Self> {
        let append = |path: &PathBuf| append_to(path);
        Ok(Self {
            file: options.file.as_ref().map(append).transpose()?,
            options,
            state: Mutex::default(),
        })
    }

    /// What would have been performed, in order, where it is not written into a file. Secrets appear by name.
    #[must_use]
    pub fn actions(&self) -> Vec<Action<CapturePoint>> {
        self.lock().actions.clone()
    }

    /// Forgets what would have been performed so far.
    pub fn forget(&self) {
        self.lock().actions.clear();
    }

    /// How often everything would have been released.
    #[must_use]
    pub fn releases(&self) -> usize {
        self.lock().releases
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes an action down, in one piece.
    fn write(&self, id: Option<&ActionId>, action: &Action<CapturePoint>) -> Result<(), Error> {
        let Some(mut file) = self.file.as_ref() else {
            return Ok(());
        };
        let line = Line {
            display: self.options.display.as_str(),
            action_id: id.map(ActionId::as_str),
            kind: action.kind().to_string(),
            points: action.targets().map(|point| (point.x, point.y)).collect(),
            text: text_of(action),
        };
        let mut line = serde_json::to_vec(&line).unwrap_or_default();
        line.push(b'\n');
        file.write_all(&line).map_err(|cause| Error::Rejected {
            cause: format!("the recording cannot be written: {cause}"),
        })
    }
}

fn append_to(path: &Path) -> io::Result<File> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    File::options().create(true).append(true).open(path)
}

fn text_of(action: &Action<CapturePoint>) -> Option<String> {
    let (Action::TypeText { text, .. } | Action::Paste { text: Some(text) }) = action else {
        return None;
    };
    Some(match text {
        Text::Literal(text) => text.clone(),
        Text::Secret(name) => format!("secret:{name}"),
    })
}

/// Waits, unless it is stopped.
async fn take(time: Duration, stop: &CancellationToken) -> Result<(), Error> {
    tokio::select! {
        biased;
        () = stop.cancelled() => Err(Error::Stopped),
        () = sleep(time) => Ok(()),
    }
}

#[async_trait]
impl Driver for RecordingDriver {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            driver: NAME,
            kinds: ActionKind::ALL.to_vec(),
            limitations: vec!["nothing is performed: actions are recorded only".to_owned()],
        }
    }

    async fn size(&self) -> Result<CaptureSize, Error> {
        Ok(self.options.size)
    }

    async fn perform(&self, work: Work, stop: &CancellationToken) -> Result<Performed, Failure> {
        let size = self.options.size;
        let inside = |point: &CapturePoint| {
            (0..size.width).contains(&point.x) && (0..size.height).contains(&point.y)
        };
        if let Some(&point) = work.action.targets().find(|point| !inside(point)) {
            return Err(Error::OutOfFrame { point, size }.into());
        }
        // Half of the time before and half after, as with a display that has received something in between.
        take(self.options.pace / 2, stop).await?;
        // A wait is waited out, so that a dry run can be stopped like a real one.
        if let Action::Wait { duration } = work.action {
            take(duration, stop).await?;
        }
        self.write(work.id.as_ref(), &work.action)?;
        let pointer = {
            let mut state = self.lock();
            if let Some(&last) = work.action.targets().last() {
                state.pointer = last;
            }
            // What stands in a file is not kept as well: a dry run may be long.
            if self.file.is_none() {
                state.actions.push(work.action);
            }
            state.pointer
        };
        let sent = |error| Failure {
            input_sent: true,
            error,
        };
        take(self.options.pace / 2, stop).await.map_err(sent)?;
        Ok(Performed {
            pointer: Some(pointer),
            note: Some("recorded, not performed".to_owned()),
        })
    }

    async fn pointer(&self) -> Result<CapturePoint, Error> {
        Ok(self.lock().pointer)
    }

    async fn release_all(&self) -> Result<Vec<String>, Error> {
        self.lock().releases += 1;
        Ok(Vec::new())
    }

    async fn close(&self) {}
}
