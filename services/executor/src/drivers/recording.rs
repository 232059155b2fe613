//! A driver that records every action instead of performing it, for dry runs and for tests of the guard.
//!
//! The file survives the process: it shows what a display would have received, even from a process that was killed.
//! Secrets appear by name.
//!
//! It never touches a display.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use motorium_imaging::space::{InputPoint, PlatformMonitor};
use motorium_proto::domain::action::{Action, ActionKind, Text};
use motorium_proto::domain::geometry::{CapturePoint, CaptureSize};
use motorium_proto::domain::id::{ActionId, DisplayId};
use serde::Serialize;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::input_space::InputSpace;
use super::{Capabilities, Driver, DriverFailure, DriverOutcome, Error, PreparedAction};

/// The driver's name in configuration.
pub const NAME: &str = "recording";

/// Options of the driver.
#[derive(Debug, Clone)]
pub struct Options {
    pub display: DisplayId,
    /// Monitors of the simulated display, in input coordinates.
    pub monitors: Vec<PlatformMonitor>,
    /// Capture pixels per input coordinate. `None` stands for the monitors' own scales.
    pub scale: Option<f64>,
    /// File to which each action is appended as a line of JSON.
    pub file: Option<PathBuf>,
    /// Simulated duration of an action. A stop ends it early.
    pub action_duration: Duration,
}

impl Options {
    /// Returns options of a display with one monitor of this size at scale 1, without a file and without delay.
    #[must_use]
    pub fn of_size(size: CaptureSize) -> Self {
        Self {
            display: DisplayId::new(""),
            monitors: vec![PlatformMonitor::at_zero(size.to_f64().cast_unit(), 1.0)],
            scale: None,
            file: None,
            action_duration: Duration::ZERO,
        }
    }
}

/// Records actions instead of performing them.
#[derive(Debug)]
pub struct RecordingDriver {
    options: Options,
    space: InputSpace,
    file: Option<File>,
    state: Mutex<DriverState>,
}

#[derive(Debug, Default)]
struct DriverState {
    actions: Vec<Action<CapturePoint>>,
    pointer: CapturePoint,
    releases: usize,
}

/// An action as written to the file.
#[derive(Debug, Serialize)]
struct ActionLine<'a> {
    display: &'a str,
    action_id: Option<&'a str>,
    kind: String,
    /// Points in capture pixels of the whole display.
    points: Vec<(i32, i32)>,
    /// The same points in input coordinates, as a platform would be sent them.
    input: Vec<(i32, i32)>,
    text: Option<String>,
}

impl RecordingDriver {
    /// Creates a driver with a simulated display.
    ///
    /// # Errors
    /// If the file cannot be opened, or the display has no pixels.
    pub fn start(options: Options) -> io::Result<Self> {
        let append = |path: &PathBuf| append_to(path);
        let space = InputSpace::new(&options.monitors, options.scale).map_err(io::Error::other)?;
        Ok(Self {
            space,
            file: options.file.as_ref().map(append).transpose()?,
            options,
            state: Mutex::default(),
        })
    }

    /// Returns the recorded actions in order, if they are not written to a file. Secrets appear by name.
    #[must_use]
    pub fn actions(&self) -> Vec<Action<CapturePoint>> {
        self.lock().actions.clone()
    }

    /// Clears the recorded actions.
    pub fn clear(&self) {
        self.lock().actions.clear();
    }

    /// Returns the number of `release_all` calls.
    #[must_use]
    pub fn release_count(&self) -> usize {
        self.lock().releases
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, DriverState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Appends an action in a single write. `input` are its targets in input coordinates.
    fn write(
        &self,
        id: Option<&ActionId>,
        action: &Action<CapturePoint>,
        input: &[InputPoint],
    ) -> Result<(), Error> {
        let Some(mut file) = self.file.as_ref() else {
            return Ok(());
        };
        let line = ActionLine {
            display: self.options.display.as_str(),
            action_id: id.map(ActionId::as_str),
            kind: action.kind().to_string(),
            points: action.targets().map(|point| (point.x, point.y)).collect(),
            input: input.iter().map(|point| (point.x, point.y)).collect(),
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

/// Waits, unless stopped.
async fn wait(time: Duration, stop: &CancellationToken) -> Result<(), Error> {
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
        Ok(self.space.size())
    }

    async fn perform(
        &self,
        work: PreparedAction,
        stop: &CancellationToken,
    ) -> Result<DriverOutcome, DriverFailure> {
        let input = work
            .action
            .targets()
            .map(|&point| self.space.to_input(point));
        let input = input.collect::<Result<Vec<_>, _>>()?;
        // Half of the delay before and half after, as on a display that receives the input in between.
        wait(self.options.action_duration / 2, stop).await?;
        // `Wait` takes its real time, so that a dry run can be stopped like a real one.
        if let Action::Wait { duration } = work.action {
            wait(duration, stop).await?;
        }
        self.write(work.id.as_ref(), &work.action, &input)?;
        let pointer = {
            let mut state = self.lock();
            if let Some(&last) = work.action.targets().last() {
                state.pointer = last;
            }
            // With a file the actions are not kept in memory: a dry run may be long.
            if self.file.is_none() {
                state.actions.push(work.action);
            }
            state.pointer
        };
        let sent = |error| DriverFailure {
            input_sent: true,
            error,
        };
        wait(self.options.action_duration / 2, stop)
            .await
            .map_err(sent)?;
        Ok(DriverOutcome {
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
