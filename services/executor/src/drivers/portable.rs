//! The portable driver, based on enigo, for platforms without a driver of our own.
//!
//! Less exact than the X11 driver. What enigo does wrong is either worked around or is an error.
//! Worked around: newline and tab are sent as keys (enigo sends a linefeed that GTK ignores); capitals are Shift plus
//! the letter; points outside the display are refused; buttons are released as well as keys; a display that hangs
//! costs a thread and not the service. Other characters are sent in small batches: on X11 enigo remaps a few keycodes
//! for them, presses a key before applications know of it, and removes it before they have read it. Here all keys of a
//! batch are remapped before the first is pressed, with a delay after the remapping and after the batch.
//! Points are converted to the input coordinates of the platform: points on macOS, device pixels elsewhere.
//! Not supported: the clipboard, windows, browser actions, and detecting what other programs have pressed. On Linux the
//! size of the display is that of its first listed mode, as enigo reports it.
//!
//! Invariant: at most one thread acts. A thread that hangs is abandoned with its stop signal set, so that it does
//! nothing more if it resumes.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use async_trait::async_trait;
use enigo::{Axis, Coordinate, Direction, Enigo, Keyboard as _, Mouse as _};
#[cfg(not(target_os = "linux"))]
use motorium_imaging::space::LogicalRect;
use motorium_imaging::space::{InputPoint, PlatformMonitor};
use motorium_proto::domain::action::{Action, ActionKind, Button, ControlCharacters, Text};
#[cfg(not(target_os = "linux"))]
use motorium_proto::domain::geometry::LogicalPoint;
use motorium_proto::domain::geometry::{CapturePoint, CaptureSize, LogicalSize};
use motorium_proto::domain::key::Key;
use secrecy::ExposeSecret as _;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::gesture::{
    CLICK_GAP, CLICK_HOLD, DRAG_DWELL, DRAG_STEP, DragPath, LastPress, MIN_DOUBLE_CLICK_INTERVAL,
    SCROLL_STEP, adjacent_point, check_clicks, drag_path, notches,
};
use super::input_space::InputSpace;
use super::launch::Launcher;
use super::pause::{check, pause};
use super::{Capabilities, Driver, DriverFailure, DriverOutcome, Error, PreparedAction};
use crate::guard::allowed_windows::WindowPattern;

/// Name of the driver in the configuration.
pub const NAME: &str = "enigo";

/// Press duration of a chord.
// As in the X11 driver: programs that poll the keyboard miss shorter presses.
const CHORD_HOLD: Duration = Duration::from_millis(10);
/// Maximum number of distinct remapped characters per batch. X11 layouts leave 18 keycodes unused, which is the upper
/// bound.
const MAX_REMAPPED_CHARACTERS: usize = 10;
/// Delay for applications to load a changed keymap. Without it a busy Chromium sometimes lost the first character.
const REMAP_DELAY: Duration = Duration::from_millis(100);
/// Delay for applications to process a batch before its keys are remapped again.
// The application cannot be asked here whether it has read the keys, unlike with X11.
const BATCH_DELAY: Duration = Duration::from_millis(400);
/// Time limit per character, in addition to the display timeout of the call.
const CHARACTER_TIMEOUT: Duration = Duration::from_millis(60);
/// Time limit of any other action, in addition to the display timeout.
// Pointer and keys take milliseconds; what takes longer hangs.
const ACTION_TIMEOUT: Duration = Duration::from_secs(2);

/// Options of the driver.
#[derive(Debug, Clone)]
pub struct Options {
    /// The display, if the platform has several.
    pub display: String,
    /// Timeout of a call to the display.
    pub display_timeout: Duration,
    /// Capture pixels per input coordinate. `None` stands for what the platform reports.
    pub scale: Option<f64>,
    /// Launcher of the configured programs.
    pub launcher: Launcher,
}

/// Driver of the display that enigo connects to.
#[derive(Debug)]
pub struct PortableDriver {
    options: Options,
    /// The worker thread; `None` until the first call, and after it has hung.
    worker: Mutex<Option<Worker>>,
}

#[derive(Debug, Clone)]
struct Worker {
    commands: Sender<Command>,
    /// Cancelled when the thread is abandoned.
    abandoned: CancellationToken,
}

type Command = Box<dyn FnOnce(&mut EnigoSession) + Send>;

impl PortableDriver {
    /// Creates the driver. It connects with the first call.
    ///
    /// # Errors
    /// Never fails; the signature matches the other drivers.
    pub fn start(options: Options) -> std::io::Result<Self> {
        Ok(Self {
            options,
            worker: Mutex::default(),
        })
    }

    fn worker(&self) -> Result<Worker, Error> {
        let mut slot = self.worker.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(worker) = &*slot {
            return Ok(worker.clone());
        }
        let (commands, inbox) = channel();
        let (display, scale) = (self.options.display.clone(), self.options.scale);
        let worker = Worker {
            commands,
            abandoned: CancellationToken::new(),
        };
        std::thread::Builder::new()
            .name("enigo".to_owned())
            .spawn(move || run(&inbox, display, scale))
            .map_err(|cause| self.no_display(&cause))?;
        *slot = Some(worker.clone());
        Ok(worker)
    }

    fn no_display(&self, cause: &dyn std::fmt::Display) -> Error {
        Error::NoDisplay {
            display: self.options.display.clone(),
            cause: cause.to_string(),
        }
    }

    /// Runs `command` on the worker thread, which is abandoned if that takes longer than `limit`.
    async fn call<T: Send + 'static>(
        &self,
        limit: Duration,
        command: impl FnOnce(&mut EnigoSession, &CancellationToken) -> T + Send + 'static,
    ) -> Result<T, Error> {
        let worker = self.worker()?;
        let abandoned = worker.abandoned.clone();
        let (answer, answered) = oneshot::channel();
        let command: Command = Box::new(move |session| {
            // The caller may have gone away.
            let _ = answer.send(command(session, &abandoned));
        });
        if worker.commands.send(command).is_err() {
            self.abandon(&worker);
            return Err(Error::DriverTerminated);
        }
        match tokio::time::timeout(limit, answered).await {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(_)) => {
                self.abandon(&worker);
                Err(Error::DriverTerminated)
            }
            Err(_) => {
                self.abandon(&worker);
                let (display, timeout) =
                    (self.options.display.clone(), self.options.display_timeout);
                Err(Error::DisplayTimedOut { display, timeout })
            }
        }
    }

    /// Abandons the worker. The next call starts a new one.
    fn abandon(&self, worker: &Worker) {
        worker.abandoned.cancel();
        let mut slot = self.worker.lock().unwrap_or_else(PoisonError::into_inner);
        // Another call may already have replaced the worker.
        slot.take_if(|current| current.abandoned.is_cancelled());
    }

    async fn wait(
        &self,
        duration: Duration,
        stop: &CancellationToken,
    ) -> Result<DriverOutcome, DriverFailure> {
        tokio::select! {
            () = stop.cancelled() => Err(Error::Stopped.into()),
            () = tokio::time::sleep(duration) => Ok(DriverOutcome { pointer: Some(self.pointer().await?), note: None }),
        }
    }
}

#[async_trait]
impl Driver for PortableDriver {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            driver: NAME,
            kinds: ActionKind::ALL
                .iter()
                .copied()
                .filter(|kind| is_possible(*kind))
                .collect(),
            limitations: vec![
                "scrolling is done in whole wheel notches; 120 pixels count as one".to_owned(),
                "there is no clipboard: text that the keyboard cannot produce is slow or an error"
                    .to_owned(),
                "keys held by others, Caps Lock and the layout are not normalised before typing"
                    .to_owned(),
                "on Linux the size of the display is that of its first listed mode".to_owned(),
            ],
        }
    }

    async fn size(&self) -> Result<CaptureSize, Error> {
        self.call(self.options.display_timeout, |session, _| {
            session.refreshed().size()
        })
        .await?
    }

    async fn perform(
        &self,
        work: PreparedAction,
        stop: &CancellationToken,
    ) -> Result<DriverOutcome, DriverFailure> {
        match &work.action {
            Action::Wait { duration } => return self.wait(*duration, stop).await,
            Action::OpenApplication { name } => {
                self.options
                    .launcher
                    .open_application(name, &self.options.display)
                    .await?;
                return Ok(DriverOutcome::default());
            }
            Action::OpenUrl { url } => {
                self.options
                    .launcher
                    .open_url(url, &self.options.display)
                    .await?;
                return Ok(DriverOutcome::default());
            }
            _ => {}
        }
        let stop = stop.child_token();
        let _stop_when_dropped = stop.clone().drop_guard();
        let limit = self.options.display_timeout + expected_duration(&work);
        self.call(limit, move |session, abandoned| {
            session.perform(&work, &stop, abandoned)
        })
        .await
        .map_err(|error| {
            // A thread that hangs may have sent part of the input, so this must not count as "nothing sent".
            DriverFailure {
                input_sent: matches!(error, Error::DisplayTimedOut { .. }),
                error,
            }
        })?
    }

    async fn pointer(&self) -> Result<CapturePoint, Error> {
        self.call(self.options.display_timeout, |session, _| {
            session.refreshed().pointer()
        })
        .await?
    }

    async fn release_all(&self) -> Result<Vec<String>, Error> {
        self.call(self.options.display_timeout, |session, _| {
            session.release_all()
        })
        .await?
    }

    async fn close(&self) {
        if let Err(error) = self.release_all().await {
            tracing::debug!(%error, "nothing to release");
        }
    }
}

fn is_possible(kind: ActionKind) -> bool {
    match kind {
        ActionKind::Move
        | ActionKind::Click
        | ActionKind::MouseDown
        | ActionKind::MouseUp
        | ActionKind::Drag
        | ActionKind::Scroll
        | ActionKind::TypeText
        | ActionKind::KeyChord
        | ActionKind::HoldKey
        | ActionKind::Wait
        | ActionKind::Paste
        | ActionKind::OpenApplication
        | ActionKind::OpenUrl => true,
        ActionKind::SetClipboard
        | ActionKind::FocusWindow
        | ActionKind::GoToUrl
        | ActionKind::GoBack
        | ActionKind::GoForward
        | ActionKind::Refresh => false,
    }
}

/// Returns the normal duration of an action.
fn expected_duration(work: &PreparedAction) -> Duration {
    match &work.action {
        Action::TypeText { text, .. } => {
            let characters = match (text, &work.secret) {
                (Text::Literal(text), _) => text.chars().count(),
                (Text::Secret(_), secret) => secret
                    .as_ref()
                    .map_or(0, |secret| secret.expose_secret().chars().count()),
            };
            CHARACTER_TIMEOUT * u32::try_from(characters).unwrap_or(u32::MAX)
        }
        Action::Drag { duration, hold, .. } => {
            ACTION_TIMEOUT + duration.unwrap_or_default() + hold.unwrap_or_default()
        }
        Action::HoldKey { duration, .. } => ACTION_TIMEOUT + *duration,
        Action::KeyChord { repeat, .. } => ACTION_TIMEOUT + 3 * CHORD_HOLD * *repeat,
        Action::Scroll { amount, .. } => {
            let (x, y) = notches(*amount).unwrap_or_default();
            ACTION_TIMEOUT + CHARACTER_TIMEOUT * (x.unsigned_abs() + y.unsigned_abs())
        }
        Action::Wait { duration } => ACTION_TIMEOUT + *duration,
        Action::Move { .. }
        | Action::Click { .. }
        | Action::MouseDown { .. }
        | Action::MouseUp { .. }
        | Action::SetClipboard { .. }
        | Action::Paste { .. }
        | Action::OpenApplication { .. }
        | Action::OpenUrl { .. }
        | Action::FocusWindow { .. }
        | Action::GoToUrl { .. }
        | Action::GoBack
        | Action::GoForward
        | Action::Refresh => ACTION_TIMEOUT,
    }
}

fn run(inbox: &Receiver<Command>, display: String, scale: Option<f64>) {
    let mut session = EnigoSession {
        display,
        scale,
        space: None,
        aim: None,
        enigo: None,
        keys: Vec::new(),
        buttons: Vec::new(),
        last_press: None,
        input_sent: false,
    };
    while let Ok(command) = inbox.recv() {
        command(&mut session);
    }
    session.release_own_input();
}

/// State owned by the worker thread.
#[derive(Debug)]
struct EnigoSession {
    display: String,
    scale: Option<f64>,
    /// Coordinates of the display during the current call.
    space: Option<InputSpace>,
    /// Pixel that the pointer was last sent to.
    aim: Option<CapturePoint>,
    enigo: Option<Enigo>,
    keys: Vec<enigo::Key>,
    buttons: Vec<enigo::Button>,
    last_press: Option<LastPress>,
    input_sent: bool,
}

impl EnigoSession {
    fn perform(
        &mut self,
        work: &PreparedAction,
        stop: &CancellationToken,
        abandoned: &CancellationToken,
    ) -> Result<DriverOutcome, DriverFailure> {
        self.input_sent = false;
        self.refreshed();
        let carried_out = check(abandoned)
            .and_then(|()| check(stop))
            .and_then(|()| self.carry_out(work, stop));
        let failed = |error, input_sent| Err(DriverFailure { error, input_sent });
        match carried_out {
            Ok(()) => Ok(DriverOutcome {
                pointer: Some(self.pointer()?),
                note: None,
            }),
            Err(error) => {
                self.release_own_input();
                failed(error, self.input_sent)
            }
        }
    }

    fn carry_out(&mut self, work: &PreparedAction, stop: &CancellationToken) -> Result<(), Error> {
        match &work.action {
            Action::Move { to } => self.point_at(Some(*to)),
            Action::Click {
                at,
                button,
                count,
                modifiers,
            } => self.click(*at, *button, *count, modifiers, stop),
            Action::MouseDown { at, button } => {
                self.separate(*at, *button, stop)?;
                self.point_at(*at)?;
                self.press_button(*button)
            }
            Action::MouseUp { at, button } => {
                self.point_at(*at)?;
                self.release_button(of_button(*button))
            }
            Action::Drag {
                path,
                button,
                modifiers,
                duration,
                hold,
            } => {
                let way = drag_path(path, *duration, *hold)?;
                self.drag(&way, *button, modifiers, stop)
            }
            Action::Scroll {
                at,
                amount,
                modifiers,
            } => {
                let (x, y) = notches(*amount)?;
                self.point_at(*at)?;
                self.with_keys(modifiers, |session| {
                    session.turn_wheel(Axis::Vertical, y, stop)?;
                    session.turn_wheel(Axis::Horizontal, x, stop)
                })
            }
            Action::TypeText {
                text,
                control_characters,
            } => self.type_text(text, *control_characters, work, stop),
            Action::KeyChord { keys, repeat } => self.chord(keys, *repeat, stop),
            Action::HoldKey { keys, duration } => self.with_keys(keys, |_| pause(*duration, stop)),
            Action::Paste { text: None } => self.chord(&PASTE, 1, stop),
            Action::Wait { .. } | Action::OpenApplication { .. } | Action::OpenUrl { .. } => {
                unreachable!("the driver handles this without its session")
            }
            Action::Paste { text: Some(_) }
            | Action::SetClipboard { .. }
            | Action::FocusWindow { .. }
            | Action::GoToUrl { .. }
            | Action::GoBack
            | Action::GoForward
            | Action::Refresh => Err(unsupported(work.action.kind().as_str())),
        }
    }

    // === Pointer ===

    fn point_at(&mut self, at: Option<CapturePoint>) -> Result<(), Error> {
        let Some(point) = at else { return Ok(()) };
        let to = self.space()?.to_input(point)?;
        self.aim = Some(point);
        self.send(|enigo| enigo.move_mouse(to.x, to.y, Coordinate::Abs))
    }

    fn click(
        &mut self,
        at: Option<CapturePoint>,
        button: Button,
        count: u8,
        modifiers: &[Key],
        stop: &CancellationToken,
    ) -> Result<(), Error> {
        check_clicks(count)?;
        self.separate(at, button, stop)?;
        self.point_at(at)?;
        self.with_keys(modifiers, |session| {
            for nth in 0..count {
                if nth > 0 {
                    pause(CLICK_GAP, stop)?;
                }
                session.press_button(button)?;
                pause(CLICK_HOLD, stop)?;
                session.release_button(of_button(button))?;
            }
            Ok(())
        })
    }

    fn drag(
        &mut self,
        way: &DragPath,
        button: Button,
        modifiers: &[Key],
        stop: &CancellationToken,
    ) -> Result<(), Error> {
        // Nothing is pressed for a drag that cannot end where it should.
        self.space()?.to_input(way.last)?;
        self.separate(Some(way.first), button, stop)?;
        self.point_at(Some(way.first))?;
        self.with_keys(modifiers, |session| {
            session.press_button(button)?;
            pause(way.hold, stop)?;
            for &point in way
                .steps
                .iter()
                .chain(&[adjacent_point(way.last), way.last])
            {
                match session.point_at(Some(point)) {
                    // The way between two monitors may lead through a gap.
                    Err(Error::OutOfBounds { .. }) if point != way.last => continue,
                    reached => reached?,
                }
                pause(DRAG_STEP, stop)?;
            }
            pause(DRAG_DWELL, stop)?;
            session.release_button(of_button(button))
        })
    }

    fn turn_wheel(
        &mut self,
        axis: Axis,
        notches: i32,
        stop: &CancellationToken,
    ) -> Result<(), Error> {
        for _ in 0..notches.unsigned_abs() {
            check(stop)?;
            self.send(|enigo| enigo.scroll(notches.signum(), axis))?;
            pause(SCROLL_STEP, stop)?;
        }
        Ok(())
    }

    /// Waits until a press at this place is not taken for the second one of a double click. Presses by others are not
    /// known.
    fn separate(
        &mut self,
        at: Option<CapturePoint>,
        button: Button,
        stop: &CancellationToken,
    ) -> Result<(), Error> {
        let Some(last) = self.last_press else {
            return Ok(());
        };
        let at = at.map_or_else(|| self.pointer(), Ok)?;
        let interval = MIN_DOUBLE_CLICK_INTERVAL;
        pause(
            last.separation(at, button, interval, SystemTime::now()),
            stop,
        )
    }

    fn press_button(&mut self, button: Button) -> Result<(), Error> {
        let theirs = of_button(button);
        self.buttons.push(theirs);
        self.send(|enigo| enigo.button(theirs, Direction::Press))?;
        self.last_press = Some(LastPress {
            at: self.pointer()?,
            button,
            time: SystemTime::now(),
        });
        Ok(())
    }

    fn release_button(&mut self, button: enigo::Button) -> Result<(), Error> {
        self.send(|enigo| enigo.button(button, Direction::Release))?;
        self.buttons.retain(|held| *held != button);
        Ok(())
    }

    // === Keyboard ===

    fn chord(&mut self, keys: &[Key], repeat: u32, stop: &CancellationToken) -> Result<(), Error> {
        for _ in 0..repeat.max(1) {
            check(stop)?;
            self.with_keys(keys, |_| pause(CHORD_HOLD, stop))?;
            pause(CHORD_HOLD, stop)?;
        }
        Ok(())
    }

    /// Runs `act` while keys are held. Letters are pressed without their case, as in chords.
    fn with_keys(
        &mut self,
        keys: &[Key],
        act: impl FnOnce(&mut Self) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let keys: Vec<enigo::Key> = keys
            .iter()
            .map(|&key| of_key(key))
            .collect::<Result<_, _>>()?;
        for &key in &keys {
            self.keys.push(key);
            self.send(|enigo| enigo.key(key, Direction::Press))?;
        }
        act(self)?;
        for &key in keys.iter().rev() {
            self.send(|enigo| enigo.key(key, Direction::Release))?;
            self.keys.retain(|held| *held != key);
        }
        Ok(())
    }

    fn type_text(
        &mut self,
        text: &Text,
        control_characters: ControlCharacters,
        work: &PreparedAction,
        stop: &CancellationToken,
    ) -> Result<(), Error> {
        let text = match (text, &work.secret) {
            (Text::Literal(text), _) => text.as_str(),
            (Text::Secret(_), Some(value)) => {
                // This driver cannot determine the focused window.
                if !work.allowed_windows.contains(&WindowPattern::Anywhere) {
                    return Err(unsupported("restrict a secret to certain windows"));
                }
                value.expose_secret()
            }
            (Text::Secret(name), None) => {
                return Err(Error::TextNotTypable {
                    why: format!("the secret `{name}` was not resolved"),
                });
            }
        };
        if control_characters == ControlCharacters::AsText && text.contains(['\n', '\r', '\t']) {
            let why =
                "newline and tab as text can only be pasted, and this driver has no clipboard"
                    .to_owned();
            return Err(Error::TextNotTypable { why });
        }
        let text = text.replace("\r\n", "\n").replace('\r', "\n");
        if text.contains(|c: char| c.is_control() && !matches!(c, '\n' | '\t')) {
            return Err(Error::TextNotTypable {
                why: "it contains a control character".to_owned(),
            });
        }
        let mut rest = text.as_str();
        while !rest.is_empty() {
            let (batch, unusual) = next_batch(rest);
            rest = &rest[batch.len()..];
            self.remap_keys(&unusual, stop)?;
            for character in batch.chars() {
                check(stop)?;
                self.type_character(character)?;
            }
            // Applications must have read the last batch before its keys may be remapped.
            if !unusual.is_empty() {
                pause(BATCH_DELAY, stop)?;
            }
        }
        Ok(())
    }

    /// Makes enigo remap a key for each character, and gives applications time to load the keymap.
    ///
    /// Releasing a key that is not pressed sends no input to an X server, but makes enigo remap a key for it. When no
    /// key is left enigo frees all remapped keys, including the most recent ones; the second round remaps those again.
    fn remap_keys(&mut self, characters: &[char], stop: &CancellationToken) -> Result<(), Error> {
        if characters.is_empty() || !cfg!(target_os = "linux") {
            return Ok(());
        }
        for _ in 0..2 {
            for &character in characters {
                let key = enigo::Key::Unicode(character);
                self.ask(|enigo| enigo.key(key, Direction::Release))?;
            }
        }
        pause(REMAP_DELAY, stop)
    }

    fn type_character(&mut self, character: char) -> Result<(), Error> {
        match character {
            '\n' => self.strike(enigo::Key::Return),
            '\t' => self.strike(enigo::Key::Tab),
            upper if upper.is_ascii_uppercase() => {
                let lower = Key::Character(upper.to_ascii_lowercase());
                self.with_keys(&[Key::Shift, lower], |_| Ok(()))
            }
            other => self.strike(enigo::Key::Unicode(other)),
        }
    }

    fn strike(&mut self, key: enigo::Key) -> Result<(), Error> {
        self.send(|enigo| enigo.key(key, Direction::Click))
    }

    // === The library ===

    fn send(
        &mut self,
        act: impl FnOnce(&mut Enigo) -> enigo::InputResult<()>,
    ) -> Result<(), Error> {
        self.input_sent = true;
        self.ask(act)
    }

    /// Connects if necessary and calls enigo. An error closes the connection.
    fn ask<T>(
        &mut self,
        act: impl FnOnce(&mut Enigo) -> enigo::InputResult<T>,
    ) -> Result<T, Error> {
        let enigo = match &mut self.enigo {
            Some(enigo) => enigo,
            empty => empty.insert(connect(&self.display)?),
        };
        act(enigo).map_err(|error| match error {
            enigo::InputError::Simulate(_) => {
                self.enigo = None;
                Error::DisplayLost {
                    display: self.display.clone(),
                    cause: error.to_string(),
                }
            }
            other => Error::Rejected {
                cause: other.to_string(),
            },
        })
    }

    fn size(&mut self) -> Result<CaptureSize, Error> {
        Ok(self.space()?.size())
    }

    /// Forgets the coordinates of the display: its monitors may have been rearranged since the last call.
    fn refreshed(&mut self) -> &mut Self {
        self.space = None;
        self
    }

    fn space(&mut self) -> Result<&InputSpace, Error> {
        let space = match self.space.take() {
            Some(space) => space,
            None => InputSpace::new(&self.monitors()?, self.scale)?,
        };
        Ok(self.space.insert(space))
    }

    /// Returns the monitors in input coordinates. X11 has one plane of device pixels, whatever its monitors.
    #[cfg(target_os = "linux")]
    fn monitors(&mut self) -> Result<Vec<PlatformMonitor>, Error> {
        let (width, height) = self.ask(|enigo| enigo.main_display())?;
        let size = LogicalSize::new(width.into(), height.into());
        Ok(vec![PlatformMonitor::at_zero(size, 1.0)])
    }

    /// Returns the monitors in input coordinates.
    #[cfg(not(target_os = "linux"))]
    fn monitors(&mut self) -> Result<Vec<PlatformMonitor>, Error> {
        let found = xcap::Monitor::all();
        let described = found.and_then(|found| found.iter().map(platform_monitor).collect());
        described.map_err(|error| Error::DisplayLost {
            display: self.display.clone(),
            cause: error.to_string(),
        })
    }

    fn pointer(&mut self) -> Result<CapturePoint, Error> {
        let (x, y) = self.ask(|enigo| enigo.location())?;
        let aim = self.aim;
        Ok(self.space()?.to_capture(InputPoint::new(x, y), aim))
    }

    fn release_own_input(&mut self) {
        if let Err(error) = self.release_all() {
            tracing::warn!(%error, "keys and buttons could not be released");
        }
    }

    /// Releases what this driver has pressed. It cannot know what others have pressed.
    fn release_all(&mut self) -> Result<Vec<String>, Error> {
        let mut released = Vec::new();
        // Removed only after the release, so that a failed release is tried again next time.
        while let Some(&key) = self.keys.last() {
            self.ask(|enigo| enigo.key(key, Direction::Release))?;
            self.keys.pop();
            released.push(format!("{key:?}"));
        }
        while let Some(&button) = self.buttons.last() {
            self.ask(|enigo| enigo.button(button, Direction::Release))?;
            self.buttons.pop();
            released.push(format!("{button:?} button"));
        }
        Ok(released)
    }
}

/// Paste shortcut of the platform.
const PASTE: [Key; 2] = [
    if cfg!(target_os = "macos") {
        Key::Super
    } else {
        Key::Control
    },
    Key::Character('v'),
];

/// Returns a monitor in the platform's coordinates, as Perception does for its frames.
#[cfg(not(target_os = "linux"))]
fn platform_monitor(monitor: &xcap::Monitor) -> xcap::XCapResult<PlatformMonitor> {
    let corner = LogicalPoint::new(monitor.x()?.into(), monitor.y()?.into());
    let size = LogicalSize::new(monitor.width()?.into(), monitor.height()?.into());
    Ok(PlatformMonitor {
        bounds: LogicalRect::from_origin_and_size(corner, size),
        // Windows describes its monitors in device pixels, and takes input in them.
        scale: if cfg!(target_os = "windows") {
            1.0
        } else {
            monitor.scale_factor()?.into()
        },
    })
}

fn connect(display: &str) -> Result<Enigo, Error> {
    // Otherwise Windows scales coordinates behind our back. It fails if the process has already chosen.
    #[cfg(target_os = "windows")]
    let _ = enigo::set_dpi_awareness();
    let settings = enigo::Settings {
        // This driver does its own delays, so that a stop can end them.
        linux_delay: 0,
        x11_display: Some(display.to_owned()),
        ..enigo::Settings::default()
    };
    Enigo::new(&settings).map_err(|error| Error::NoDisplay {
        display: display.to_owned(),
        cause: error.to_string(),
    })
}

fn unsupported(what: &str) -> Error {
    Error::Unsupported {
        driver: NAME,
        what: what.to_owned(),
    }
}

/// Returns whether a character needs no remapped key.
fn is_plain(character: char) -> bool {
    character.is_ascii_alphanumeric() || matches!(character, ' ' | '\n' | '\t')
}

/// Splits off the text that one remapping can type, and returns the distinct characters that need a key.
fn next_batch(text: &str) -> (&str, Vec<char>) {
    let mut unusual = Vec::new();
    for (at, character) in text.char_indices() {
        if is_plain(character) || unusual.contains(&character) {
            continue;
        }
        if unusual.len() == MAX_REMAPPED_CHARACTERS {
            return (&text[..at], unusual);
        }
        unusual.push(character);
    }
    (text, unusual)
}

fn of_button(button: Button) -> enigo::Button {
    match button {
        Button::Left => enigo::Button::Left,
        Button::Right => enigo::Button::Right,
        Button::Middle => enigo::Button::Middle,
        Button::Back => enigo::Button::Back,
        Button::Forward => enigo::Button::Forward,
    }
}

fn of_key(key: Key) -> Result<enigo::Key, Error> {
    use enigo::Key as EnigoKey;

    let unknown = || Error::UnknownKey {
        key: key.to_string(),
    };
    Ok(match key {
        Key::Control => EnigoKey::Control,
        Key::Shift => EnigoKey::Shift,
        Key::Alt => EnigoKey::Alt,
        Key::Super => EnigoKey::Meta,
        Key::Enter => EnigoKey::Return,
        Key::Tab => EnigoKey::Tab,
        Key::Space => EnigoKey::Space,
        Key::Backspace => EnigoKey::Backspace,
        Key::Delete => EnigoKey::Delete,
        Key::Escape => EnigoKey::Escape,
        Key::Home => EnigoKey::Home,
        Key::End => EnigoKey::End,
        Key::PageUp => EnigoKey::PageUp,
        Key::PageDown => EnigoKey::PageDown,
        Key::Left => EnigoKey::LeftArrow,
        Key::Right => EnigoKey::RightArrow,
        Key::Up => EnigoKey::UpArrow,
        Key::Down => EnigoKey::DownArrow,
        Key::CapsLock => EnigoKey::CapsLock,
        Key::Character(character) => {
            EnigoKey::Unicode(character.to_lowercase().next().unwrap_or(character))
        }
        Key::Function(number) => function(number).ok_or_else(unknown)?,
        Key::AltGr
        | Key::Insert
        | Key::Menu
        | Key::NumLock
        | Key::ScrollLock
        | Key::PrintScreen
        | Key::Pause
        | Key::Keypad0
        | Key::Keypad1
        | Key::Keypad2
        | Key::Keypad3
        | Key::Keypad4
        | Key::Keypad5
        | Key::Keypad6
        | Key::Keypad7
        | Key::Keypad8
        | Key::Keypad9
        | Key::KeypadAdd
        | Key::KeypadSubtract
        | Key::KeypadMultiply
        | Key::KeypadDivide
        | Key::KeypadDecimal
        | Key::KeypadEqual
        | Key::KeypadEnter => platform_key(key).ok_or_else(unknown)?,
    })
}

/// Returns keys that not every platform has.
#[cfg(target_os = "linux")]
fn platform_key(key: Key) -> Option<enigo::Key> {
    use xkeysym::key as keysym;

    let symbol = match key {
        Key::AltGr => keysym::ISO_Level3_Shift,
        Key::Insert => keysym::Insert,
        Key::Menu => keysym::Menu,
        Key::NumLock => keysym::Num_Lock,
        Key::ScrollLock => keysym::Scroll_Lock,
        Key::PrintScreen => keysym::Print,
        Key::Pause => keysym::Pause,
        Key::Keypad0 => keysym::KP_0,
        Key::Keypad1 => keysym::KP_1,
        Key::Keypad2 => keysym::KP_2,
        Key::Keypad3 => keysym::KP_3,
        Key::Keypad4 => keysym::KP_4,
        Key::Keypad5 => keysym::KP_5,
        Key::Keypad6 => keysym::KP_6,
        Key::Keypad7 => keysym::KP_7,
        Key::Keypad8 => keysym::KP_8,
        Key::Keypad9 => keysym::KP_9,
        Key::KeypadAdd => keysym::KP_Add,
        Key::KeypadSubtract => keysym::KP_Subtract,
        Key::KeypadMultiply => keysym::KP_Multiply,
        Key::KeypadDivide => keysym::KP_Divide,
        Key::KeypadDecimal => keysym::KP_Decimal,
        Key::KeypadEqual => keysym::KP_Equal,
        Key::KeypadEnter => keysym::KP_Enter,
        _ => return None,
    };
    Some(enigo::Key::Other(symbol))
}

/// Returns keys that not every platform has.
#[cfg(not(target_os = "linux"))]
fn platform_key(_: Key) -> Option<enigo::Key> {
    None
}

fn function(number: u8) -> Option<enigo::Key> {
    use enigo::Key as EnigoKey;

    /// Function keys that all platforms have.
    const FUNCTION_KEYS: [EnigoKey; 20] = [
        EnigoKey::F1,
        EnigoKey::F2,
        EnigoKey::F3,
        EnigoKey::F4,
        EnigoKey::F5,
        EnigoKey::F6,
        EnigoKey::F7,
        EnigoKey::F8,
        EnigoKey::F9,
        EnigoKey::F10,
        EnigoKey::F11,
        EnigoKey::F12,
        EnigoKey::F13,
        EnigoKey::F14,
        EnigoKey::F15,
        EnigoKey::F16,
        EnigoKey::F17,
        EnigoKey::F18,
        EnigoKey::F19,
        EnigoKey::F20,
    ];
    FUNCTION_KEYS
        .get(usize::from(number).checked_sub(1)?)
        .copied()
}
