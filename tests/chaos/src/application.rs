//! What is on a desktop: eight buttons, each with the number of times it was pressed beside it, and a clock.
//!
//! It reads what the desktop received from the file that its executor writes. It is no perfect application: some
//! clicks it never notices, most it answers after a moment, a few late. Which, the seed and the action's id say.

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
/// Of the screen; what the recording driver pretends.
pub(crate) const SIZE: CaptureSize = CaptureSize::new(1920, 1080);
/// How often it looks for what it has received.
const TURN: Duration = Duration::from_millis(10);
/// One click of so many is not noticed.
const UNNOTICED: u64 = 12;
/// One of so many is answered late.
const LATE: u64 = 10;

/// What the desktop received.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct Received {
    pub(crate) action_id: Option<String>,
    pub(crate) kind: String,
    points: Vec<(i32, i32)>,
}

/// A button went down.
#[derive(Debug, Clone)]
pub(crate) struct Press {
    pub(crate) button: usize,
    /// By which action; `None` if a person did it.
    pub(crate) action_id: Option<String>,
    /// When it shows.
    shows_at: Instant,
}

#[derive(Debug, Default)]
struct State {
    read: u64,
    /// The beginning of a line whose end is not there yet.
    rest: Vec<u8>,
    received: Vec<Received>,
    presses: Vec<Press>,
}

/// What a look at the screen shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Shown {
    pub(crate) counts: [usize; BUTTONS.len()],
    /// The time of day in UTC, in seconds.
    pub(crate) clock: u64,
}

/// The application of one desktop.
#[derive(Debug)]
pub(crate) struct Application {
    seed: u64,
    file: PathBuf,
    state: Mutex<State>,
}

/// Where a button is.
pub(crate) fn button(number: usize) -> CaptureRect {
    let row = i32::try_from(number).unwrap_or(0);
    rect(300, 60 + 110 * row, 160, 44)
}

/// Where the number beside it is.
pub(crate) fn count(number: usize) -> CaptureRect {
    let beside = button(number);
    rect(beside.max.x + 12, beside.min.y, 120, 44)
}

/// Where the clock is.
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
    /// It takes what it receives whether anybody looks or not; until nobody holds it any more.
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
                sleep(TURN).await;
            }
        });
        application
    }

    /// What it shows now.
    pub(crate) fn shown(&self) -> Shown {
        let now = Instant::now();
        let state = self.up_to_date();
        let mut counts = [0; BUTTONS.len()];
        for press in state.presses.iter().filter(|press| press.shows_at <= now) {
            counts[press.button] += 1;
        }
        Shown {
            counts,
            clock: time_of_day(),
        }
    }

    /// Everything that its desktop received.
    pub(crate) fn received(&self) -> Vec<Received> {
        self.up_to_date().received.clone()
    }

    /// Every press, also those that do not show yet.
    pub(crate) fn presses(&self) -> Vec<Press> {
        self.up_to_date().presses.clone()
    }

    /// A person presses a button.
    pub(crate) fn press_by_hand(&self, button: usize) {
        self.up_to_date().presses.push(Press {
            button,
            action_id: None,
            shows_at: Instant::now(),
        });
    }

    fn up_to_date(&self) -> std::sync::MutexGuard<'_, State> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let mut more = std::mem::take(&mut state.rest);
        let from = state.read;
        // Until the executor writes its first line there is no file.
        if let Ok(mut file) = File::open(&self.file) {
            file.seek(SeekFrom::Start(from)).expect("it is a file");
            let read = file.read_to_end(&mut more).expect("it can be read");
            state.read += read as u64;
        }
        while let Some(end) = more.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = more.drain(..=end).collect();
            let received: Received = serde_json::from_slice(&line).expect("the driver wrote it");
            state.presses.extend(self.press(&received));
            state.received.push(received);
        }
        state.rest = more;
        state
    }

    /// What becomes of what was received.
    fn press(&self, received: &Received) -> Option<Press> {
        if received.kind != "click" {
            return None;
        }
        let &(x, y) = received.points.last()?;
        let point = CapturePoint::new(x, y);
        let button = (0..BUTTONS.len()).find(|number| button(*number).contains(point))?;
        let id = received.action_id.as_deref().unwrap_or_default();
        let chance = |what: &str| hash(self.seed, what, id);
        if chance("unnoticed").is_multiple_of(UNNOTICED) {
            return None;
        }
        let delay = if chance("late").is_multiple_of(LATE) {
            200 + chance("delay") % 300
        } else {
            5 + chance("delay") % 60
        };
        Some(Press {
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

/// How often each button was pressed, by its name.
pub(crate) fn by_name<'a>(
    presses: impl Iterator<Item = &'a Press>,
) -> BTreeMap<&'static str, usize> {
    let mut counts = BTreeMap::new();
    for press in presses {
        *counts.entry(BUTTONS[press.button]).or_default() += 1;
    }
    counts
}
