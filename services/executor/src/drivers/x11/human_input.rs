//! Observes user input: the raw events of XInput 2, without those sent by this driver.
//!
//! Raw events are delivered regardless of focus and grabs, and name their device. Events of the XTest devices may come
//! from this driver or from another program: own events are recorded before they are sent, and matched when they come
//! back. Typed text is only counted, never reported: a key is only checked for being part of a chord.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use motorium_imaging::space::InputPoint;
use motorium_proto::domain::geometry::CapturePoint;
use motorium_proto::domain::key::Key;
use motorium_proto::service::{HumanInput, HumanInputKind};
use motorium_x11::Connection;
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;
use x11rb::connection::{Connection as _, RequestConnection as _};
use x11rb::protocol::Event;
use x11rb::protocol::xinput::{self, ConnectionExt as _, Device, DeviceId, EventMask, XIEventMask};
use x11rb::protocol::xproto::{
    BUTTON_PRESS_EVENT, KEY_PRESS_EVENT, KEY_RELEASE_EVENT, Keycode, MOTION_NOTIFY_EVENT,
};

use super::buttons::numbered_button;
use super::connection::{self, OrDisplayError};
use super::keymap::Keymap;
use super::pointer::{WHEEL_DOWN, WHEEL_LEFT, WHEEL_RIGHT, WHEEL_UP};
use super::synthetic_input::{MAX_WATCHERS, PendingEvents, SyntheticInput};
use super::xtest::read_space;
use super::{keysym, session};
use crate::drivers::{Error, HumanInputReceiver};

/// Part of the name of every XTest device.
const XTEST_DEVICE: &str = "XTEST";
/// Keys and notches within this time are merged into one report.
// Longer than the gap between two keys of fast typing, so that a word is one report.
const COALESCE_WINDOW: Duration = Duration::from_millis(300);
/// Time without motion after which a move is complete.
const POINTER_IDLE: Duration = Duration::from_millis(150);
/// Interval for checking whether the receiver still exists.
// The thread ends this long after its receiver, which nothing waits for.
const POLL_INTERVAL: Duration = Duration::from_millis(250);
/// Queue length per watcher. Events beyond it are dropped.
const BACKLOG: usize = 1024;

/// Starts to report user input on `display`; `None` if the server has no XInput. Reporting is active when this
/// returns.
///
/// # Errors
/// If the display cannot be reached, or the limit of watchers is reached.
pub(super) async fn watch(
    display: String,
    timeout: Duration,
    scale: Option<f64>,
    own: &SyntheticInput,
) -> Result<Option<HumanInputReceiver>, Error> {
    let ledger = own
        .subscribe()
        .ok_or(Error::TooManyWatchers { max: MAX_WATCHERS })?;
    let (sender, receiver) = mpsc::channel(BACKLOG);
    let (begun, has_begun) = oneshot::channel();
    let thread = std::thread::Builder::new().name(format!("x11-human {display}"));
    let watching = move || match HumanInputWatcher::begin(&display, timeout, scale, ledger) {
        Ok(None) => {
            let _ = begun.send(Ok(false));
        }
        Ok(Some(mut watcher)) => {
            let _ = begun.send(Ok(true));
            if let Err(error) = watcher.run(&sender) {
                let _ = sender.blocking_send(Err(error));
            }
        }
        Err(error) => {
            let _ = begun.send(Err(error));
        }
    };
    thread
        .spawn(watching)
        .map_err(|_| Error::DriverTerminated)?;
    let tells = has_begun.await.map_err(|_| Error::DriverTerminated)??;
    Ok(tells.then_some(receiver))
}

/// Receives events on its own connection.
struct HumanInputWatcher {
    link: Connection,
    scale: Option<f64>,
    keymap: Keymap,
    ledger: Arc<PendingEvents>,
    /// Ids of the XTest devices.
    xtest: HashSet<DeviceId>,
    /// Modifiers that the user holds, with their meaning at the press: the keymap may change before the release.
    held: Vec<(Keycode, Key)>,
    /// The input that is being merged and not reported yet.
    pending: Option<(HumanInputKind, Instant)>,
    /// Time of the last motion while the pointer moves.
    moving: Option<Instant>,
}

impl HumanInputWatcher {
    /// Connects and selects the events; `None` if the server has no XInput.
    fn begin(
        display: &str,
        timeout: Duration,
        scale: Option<f64>,
        ledger: Arc<PendingEvents>,
    ) -> Result<Option<Self>, Error> {
        let link = connection::connect(display, timeout)?;
        session::enable_extensions(&link)?;
        let name = xinput::X11_EXTENSION_NAME;
        if link
            .x
            .extension_information(name)
            .or_display_error(&link)?
            .is_none()
        {
            return Ok(None);
        }
        link.x
            .xinput_xi_query_version(2, 2)
            .or_display_error(&link)?
            .reply()
            .or_display_error(&link)?;
        let mask = XIEventMask::RAW_KEY_PRESS
            | XIEventMask::RAW_KEY_RELEASE
            | XIEventMask::RAW_BUTTON_PRESS
            | XIEventMask::RAW_MOTION;
        let wanted = EventMask {
            deviceid: Device::ALL_MASTER.into(),
            mask: vec![mask],
        };
        link.x
            .xinput_xi_select_events(link.root, &[wanted])
            .or_display_error(&link)?
            .check()
            .or_display_error(&link)?;
        let devices = link
            .x
            .xinput_xi_query_device(u16::from(Device::ALL))
            .or_display_error(&link)?
            .reply()
            .or_display_error(&link)?;
        let stands_for_xtest = |name: &[u8]| String::from_utf8_lossy(name).contains(XTEST_DEVICE);
        let xtest = devices
            .infos
            .iter()
            .filter(|info| stands_for_xtest(&info.name));
        Ok(Some(Self {
            xtest: xtest.map(|info| info.deviceid).collect(),
            keymap: Keymap::read(&link)?,
            link,
            scale,
            ledger,
            held: Vec::new(),
            pending: None,
            moving: None,
        }))
    }

    /// Reports until the receiver is dropped or the display is lost.
    fn run(&mut self, sender: &mpsc::Sender<Result<HumanInput, Error>>) -> Result<(), Error> {
        while !sender.is_closed() {
            self.link.flush().or_display_error(&self.link)?;
            // Events read together with a reply are queued already, so they are drained before waiting.
            if !self.drain_events(sender)? {
                self.link
                    .wait(None, Some(self.next_wakeup(Instant::now())))
                    .or_display_error(&self.link)?;
                self.drain_events(sender)?;
            }
            for input in self.flush_idle(Instant::now())? {
                emit(sender, input);
            }
        }
        Ok(())
    }

    /// Handles all queued events and returns whether there were any.
    fn drain_events(
        &mut self,
        sender: &mpsc::Sender<Result<HumanInput, Error>>,
    ) -> Result<bool, Error> {
        let mut any = false;
        while let Some(event) = self.link.x.poll_for_event().or_display_error(&self.link)? {
            any = true;
            for input in self.handle_event(&event, Instant::now())? {
                emit(sender, input);
            }
        }
        Ok(any)
    }

    fn next_wakeup(&self, now: Instant) -> Duration {
        let pending = self
            .pending
            .as_ref()
            .map(|(_, last)| *last + COALESCE_WINDOW);
        let moving = self.moving.map(|last| last + POINTER_IDLE);
        let due = pending.into_iter().chain(moving).min();
        due.map_or(POLL_INTERVAL, |due| {
            due.saturating_duration_since(now).min(POLL_INTERVAL)
        })
    }

    /// Handles an event and returns the input that it completes.
    fn handle_event(&mut self, event: &Event, now: Instant) -> Result<Vec<HumanInputKind>, Error> {
        match event {
            Event::MappingNotify(_) => {
                self.keymap = Keymap::read(&self.link)?;
                Ok(Vec::new())
            }
            Event::XinputRawKeyPress(press) => {
                let keycode = Keycode::try_from(press.detail).unwrap_or_default();
                if self.is_own(press.sourceid, KEY_PRESS_EVENT, keycode, now) {
                    return Ok(Vec::new());
                }
                self.key(keycode, now)
            }
            Event::XinputRawKeyRelease(release) => {
                let keycode = Keycode::try_from(release.detail).unwrap_or_default();
                if !self.is_own(release.sourceid, KEY_RELEASE_EVENT, keycode, now) {
                    self.held.retain(|(held, _)| *held != keycode);
                }
                Ok(Vec::new())
            }
            Event::XinputRawButtonPress(press) => {
                let button = u8::try_from(press.detail).unwrap_or_default();
                if self.is_own(press.sourceid, BUTTON_PRESS_EVENT, button, now) {
                    return Ok(Vec::new());
                }
                self.button(button, now)
            }
            Event::XinputRawMotion(motion) => {
                // Axes from the third on are scroll axes.
                let moves = motion
                    .valuator_mask
                    .first()
                    .is_some_and(|axes| axes & 0b11 != 0);
                if moves && !self.is_own(motion.sourceid, MOTION_NOTIFY_EVENT, 0, now) {
                    self.moving = Some(now);
                }
                Ok(Vec::new())
            }
            _ => Ok(Vec::new()),
        }
    }

    fn is_own(&self, device: DeviceId, kind: u8, detail: u8, now: Instant) -> bool {
        self.xtest.contains(&device) && self.ledger.take(kind, detail, now)
    }

    fn key_of(&self, keycode: Keycode) -> Option<Key> {
        keysym::to_key(self.keymap.plain_symbol(keycode)?)
    }

    fn key(&mut self, keycode: Keycode, now: Instant) -> Result<Vec<HumanInputKind>, Error> {
        let key = self.key_of(keycode);
        if let Some(modifier) = key.filter(|key| key.is_modifier()) {
            self.held.retain(|(held, _)| *held != keycode);
            self.held.push((keycode, modifier));
            return Ok(Vec::new());
        }
        let makes_a_chord = |(_, held): &(Keycode, Key)| !matches!(held, Key::Shift | Key::AltGr);
        if let Some(key) = key.filter(|_| self.held.iter().any(makes_a_chord)) {
            let held = self.held.iter().map(|(_, key)| *key);
            let keys = held.chain([key]).collect();
            return Ok(self.flush_and_emit(HumanInputKind::Chord { keys }));
        }
        Ok(self.coalesce(HumanInputKind::Typing { characters: 1 }, now))
    }

    fn button(&mut self, button: u8, now: Instant) -> Result<Vec<HumanInputKind>, Error> {
        let at = self.pointer()?;
        let (x, y) = match button {
            WHEEL_UP => (0, -1),
            WHEEL_DOWN => (0, 1),
            WHEEL_LEFT => (-1, 0),
            WHEEL_RIGHT => (1, 0),
            other => {
                let Some(button) = numbered_button(other) else {
                    return Ok(Vec::new());
                };
                // A click ends a move.
                self.moving = None;
                return Ok(self.flush_and_emit(HumanInputKind::Click { at, button }));
            }
        };
        Ok(self.coalesce(HumanInputKind::Scroll { at, x, y }, now))
    }

    /// Merges into the pending input, or completes that if it is of another kind.
    fn coalesce(&mut self, more: HumanInputKind, now: Instant) -> Vec<HumanInputKind> {
        if let Some((known, last)) = &mut self.pending
            && merge(known, &more)
        {
            *last = now;
            return Vec::new();
        }
        let ended = self.pending.replace((more, now));
        ended.into_iter().map(|(kind, _)| kind).collect()
    }

    /// Completes the pending input and adds one that is complete in itself.
    fn flush_and_emit(&mut self, kind: HumanInputKind) -> Vec<HumanInputKind> {
        let ended = self.pending.take().map(|(kind, _)| kind);
        ended.into_iter().chain([kind]).collect()
    }

    /// Returns the input that is complete because nothing followed.
    fn flush_idle(&mut self, now: Instant) -> Result<Vec<HumanInputKind>, Error> {
        let mut ended = Vec::new();
        let is_over = |last: Instant, pause| now.saturating_duration_since(last) >= pause;
        if let Some((kind, _)) = self
            .pending
            .take_if(|(_, last)| is_over(*last, COALESCE_WINDOW))
        {
            ended.push(kind);
        }
        if self
            .moving
            .take_if(|last| is_over(*last, POINTER_IDLE))
            .is_some()
        {
            ended.push(HumanInputKind::Move {
                to: self.pointer()?,
            });
        }
        Ok(ended)
    }

    fn pointer(&self) -> Result<CapturePoint, Error> {
        let (x, y) = self.link.pointer().or_display_error(&self.link)?;
        let at = InputPoint::new(x.into(), y.into());
        Ok(read_space(&self.link, self.scale)?.to_capture(at, None))
    }
}

/// Merges typing with typing and scrolling with scrolling; returns false for different kinds.
fn merge(known: &mut HumanInputKind, more: &HumanInputKind) -> bool {
    match (known, more) {
        (HumanInputKind::Typing { characters }, HumanInputKind::Typing { characters: added }) => {
            *characters = characters.saturating_add(*added)
        }
        (
            HumanInputKind::Scroll { x, y, .. },
            HumanInputKind::Scroll {
                x: right, y: down, ..
            },
        ) => {
            *x = x.saturating_add(*right);
            *y = y.saturating_add(*down);
        }
        _ => return false,
    }
    true
}

fn emit(sender: &mpsc::Sender<Result<HumanInput, Error>>, kind: HumanInputKind) {
    let at = SystemTime::now();
    if sender.try_send(Ok(HumanInput { at, kind })).is_err() {
        tracing::debug!("a watcher of user input is too slow; events are dropped");
    }
}
