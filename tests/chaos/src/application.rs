//! Simulated application of a desktop: eight buttons with their press counts, and a clock.
//!
//! It reads the desktop's input from the file that its executor writes. It is deliberately imperfect: some clicks are
//! ignored, most show an effect after a moment, a few late. The seed and the action's id determine which.

use std::collections::BTreeMap;
use std::fs::File;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use motorium_proto::domain::geometry::{CapturePoint, CaptureRect, CaptureSize};
use serde::Deserialize;
use tokio::time::{Instant, sleep};

pub(crate) const BUTTONS: [&str; 8] = [
    "Anchor", "Bridge", "Candle", "Dragon", "Engine", "Feather", "Garden", "Hammer",
];
/// Size of the screen, the same as the recording driver's.
pub(crate) const SIZE: CaptureSize = CaptureSize::new(1920, 1080);
/// Interval for polling the input file.
const POLL_INTERVAL: Duration = Duration::from_millis(10);
/// One in this many clicks is ignored.
const IGNORED_CLICK_RATIO: u64 = 12;
/// One in this many clicks shows its effect late.
const LATE_CLICK_RATIO: u64 = 10;

/// Input received by the desktop.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct ReceivedInput {
    pub(crate) action_id: Option<String>,
    pub(crate) kind: String,
    points: Vec<(i32, i32)>,
}

/// A press of a button.
#[derive(Debug, Clone)]
pub(crate) struct ButtonPress {
    pub(crate) button: usize,
    /// Id of the action; `None` for a manual press.
    pub(crate) action_id: Option<String>,
    /// Time at which the effect is visible.
    shows_at: Instant,
}

#[derive(Debug, Default)]
struct ApplicationState {
    read: u64,
    /// An incomplete last line.
    rest: Vec<u8>,
    received: Vec<ReceivedInput>,
    presses: Vec<ButtonPress>,
}

/// Visible state of the screen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ScreenState {
    pub(crate) counts: [usize; BUTTONS.len()],
    /// Time of day in UTC, in seconds.
    pub(crate) clock: u64,
}

/// Application of one desktop.
#[derive(Debug)]
pub(crate) struct Application {
    seed: u64,
    file: PathBuf,
    state: Mutex<ApplicationState>,
}

/// Returns the box of a button.
pub(crate) fn button(number: usize) -> CaptureRect {
    let row = i32::try_from(number).unwrap_or(0);
    rect(300, 60 + 110 * row, 160, 44)
}

/// Returns the box of a button's count.
pub(crate) fn count(number: usize) -> CaptureRect {
    let beside = button(number);
    rect(beside.max.x + 12, beside.min.y, 120, 44)
}

/// Returns the box of the clock.
pub(crate) fn clock() -> CaptureRect {
    rect(1760, 1040, 120, 28)
}

fn rect(x: i32, y: i32, width: i32, height: i32) -> CaptureRect {
    CaptureRect::new(
        CapturePoint::new(x, y),
        CapturePoint::new(x + width, y + height),
    )
}

impl Application {
    /// Starts the application. It processes input in the background until the last reference is dropped.
    pub(crate) fn start(seed: u64, file: PathBuf) -> Arc<Self> {
        let application = Arc::new(Self {
            seed,
            file,
            state: Mutex::default(),
        });
        let running = Arc::downgrade(&application);
        tokio::spawn(async move {
            while let Some(application) = running.upgrade() {
                drop(application.up_to_date());
                drop(application);
                sleep(POLL_INTERVAL).await;
            }
        });
        application
    }

    /// Returns the visible state.
    pub(crate) fn shown(&self) -> ScreenState {
        let now = Instant::now();
        let state = self.up_to_date();
        let mut counts = [0; BUTTONS.len()];
        for press in state.presses.iter().filter(|press| press.shows_at <= now) {
            counts[press.button] += 1;
        }
        ScreenState {
            counts,
            clock: time_of_day(),
        }
    }

    /// Returns all input that the desktop received.
    pub(crate) fn received(&self) -> Vec<ReceivedInput> {
        self.up_to_date().received.clone()
    }

    /// Returns all presses, including those without a visible effect yet.
    pub(crate) fn presses(&self) -> Vec<ButtonPress> {
        self.up_to_date().presses.clone()
    }

    /// Presses a button manually.
    pub(crate) fn press_manually(&self, button: usize) {
        self.up_to_date().presses.push(ButtonPress {
            button,
            action_id: None,
            shows_at: Instant::now(),
        });
    }

    fn up_to_date(&self) -> std::sync::MutexGuard<'_, ApplicationState> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let mut more = std::mem::take(&mut state.rest);
        let from = state.read;
        // The executor creates the file with its first line.
        if let Ok(mut file) = File::open(&self.file) {
            file.seek(SeekFrom::Start(from)).expect("it is a file");
            let read = file.read_to_end(&mut more).expect("it can be read");
            state.read += read as u64;
        }
        while let Some(end) = more.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = more.drain(..=end).collect();
            let received: ReceivedInput =
                serde_json::from_slice(&line).expect("the driver wrote it");
            state.presses.extend(self.press(&received));
            state.received.push(received);
        }
        state.rest = more;
        state
    }

    /// Returns the button press that an input causes.
    fn press(&self, received: &ReceivedInput) -> Option<ButtonPress> {
        if received.kind != "click" {
            return None;
        }
        let &(x, y) = received.points.last()?;
        let point = CapturePoint::new(x, y);
        let button = (0..BUTTONS.len()).find(|number| button(*number).contains(point))?;
        let id = received.action_id.as_deref().unwrap_or_default();
        let chance = |what: &str| hash(self.seed, what, id);
        if chance("unnoticed").is_multiple_of(IGNORED_CLICK_RATIO) {
            return None;
        }
        let delay = if chance("late").is_multiple_of(LATE_CLICK_RATIO) {
            200 + chance("delay") % 300
        } else {
            5 + chance("delay") % 60
        };
        Some(ButtonPress {
            button,
            action_id: received.action_id.clone(),
            shows_at: Instant::now() + Duration::from_millis(delay),
        })
    }
}

fn time_of_day() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.unwrap_or_default().as_secs() % (24 * 3600)
}

fn hash(seed: u64, what: &str, id: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    (seed, what, id).hash(&mut hasher);
    hasher.finish()
}

/// Returns the number of presses by button name.
pub(crate) fn by_name<'a>(
    presses: impl Iterator<Item = &'a ButtonPress>,
) -> BTreeMap<&'static str, usize> {
    let mut counts = BTreeMap::new();
    for press in presses {
        *counts.entry(BUTTONS[press.button]).or_default() += 1;
    }
    counts
}
