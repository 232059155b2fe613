//! Observes user input: the raw events of XInput 2, without those sent by this driver.
//!
//! Raw events are delivered regardless of focus and grabs, and name their device. Events of the XTest devices may come
//! from this driver or from another program: own events are recorded before they are sent, and matched when they come
//! back. Typed text is only counted, never reported: a key is only checked for being part of a chord.

use std::collections::{HashSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, SystemTime};

use motorium_proto::domain::action::Button;
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
    BUTTON_PRESS_EVENT, BUTTON_RELEASE_EVENT, KEY_PRESS_EVENT, KEY_RELEASE_EVENT, Keycode,
    MOTION_NOTIFY_EVENT,
};

use super::connection::{self, OrDisplayError};
use super::keymap::Keymap;
use super::pointer::{WHEEL_DOWN, WHEEL_LEFT, WHEEL_RIGHT, WHEEL_UP};
use super::{keysym, session};
use crate::drivers::{Error, HumanInputReceiver};

/// Part of the name of every XTest device.
const XTEST_DEVICE: &str = "XTEST";
/// Keys and notches within this time are merged into one report.
const COALESCE_WINDOW: Duration = Duration::from_millis(300);
/// Time without motion after which a move is complete.
const POINTER_IDLE: Duration = Duration::from_millis(150);
/// Interval for checking whether the receiver still exists.
const POLL_INTERVAL: Duration = Duration::from_millis(250);
/// Age after which a sent event is dropped. Some never come back: a move to the current position makes no event.
const EVENT_EXPIRY: Duration = Duration::from_secs(10);
/// Age after which a sent event has certainly reached the server, including its delay.
const IN_FLIGHT_WINDOW: Duration = Duration::from_secs(1);
/// Maximum number of remembered events. A text of 5,000 characters makes about 20,000.
const MAX_SENT_EVENTS: usize = 65_536;
/// Maximum number of concurrent watchers. Each has a thread.
const MAX_WATCHERS: usize = 16;
/// Queue length per watcher. Events beyond it are dropped.
const BACKLOG: usize = 1024;

/// The events sent by this driver, shared with all watchers.
#[derive(Debug, Default)]
pub(super) struct SyntheticInput(Mutex<SyntheticInputState>);

#[derive(Debug, Default)]
struct SyntheticInputState {
    /// Recently sent events: a new watcher also has to filter those still in flight.
    recent: SentEvents,
    ledgers: Vec<Weak<PendingEvents>>,
}

impl SyntheticInput {
    /// Records an event that is about to be sent. `kind` is an event type of the core protocol.
    pub(super) fn note(&self, kind: u8, detail: u8) {
        // Button releases are not reported to watchers.
        if kind == BUTTON_RELEASE_EVENT {
            return;
        }
        let now = Instant::now();
        let mut noted = lock(&self.0);
        noted.recent.note(kind, detail, now, IN_FLIGHT_WINDOW);
        for ledger in noted.ledgers.iter().filter_map(Weak::upgrade) {
            lock(&ledger.0).note(kind, detail, now, EVENT_EXPIRY);
        }
    }

    fn subscribe(&self) -> Option<Arc<PendingEvents>> {
        let mut noted = lock(&self.0);
        noted.ledgers.retain(|ledger| ledger.strong_count() > 0);
        if noted.ledgers.len() >= MAX_WATCHERS {
            return None;
        }
        let now = Instant::now();
        noted.recent.forget(now, IN_FLIGHT_WINDOW);
        // Most recent events have arrived already, so they expire after the in-flight window.
        let mut sent = noted.recent.clone();
        sent.age(EVENT_EXPIRY.saturating_sub(IN_FLIGHT_WINDOW));
        let ledger = Arc::new(PendingEvents(Mutex::new(sent)));
        noted.ledgers.push(Arc::downgrade(&ledger));
        Some(ledger)
    }
}

/// The driver's own events that one watcher still expects.
#[derive(Debug, Default)]
struct PendingEvents(Mutex<SentEvents>);

/// Sent events that have not come back yet, oldest first.
#[derive(Debug, Clone, Default)]
struct SentEvents(VecDeque<(u8, u8, Instant)>);

impl SentEvents {
    fn note(&mut self, kind: u8, detail: u8, now: Instant, kept: Duration) {
        self.0.push_back((kind, detail, now));
        self.forget(now, kept);
    }

    fn forget(&mut self, now: Instant, kept: Duration) {
        let is_old = |(_, _, at): &(u8, u8, Instant)| now.saturating_duration_since(*at) > kept;
        while self.0.len() > MAX_SENT_EVENTS || self.0.front().is_some_and(is_old) {
            self.0.pop_front();
        }
    }

    /// Increases the age of every event.
    fn age(&mut self, by: Duration) {
        for (_, _, at) in &mut self.0 {
            *at = at.checked_sub(by).unwrap_or(*at);
        }
    }

    /// Removes a received event from the list and returns whether it was on it.
    fn take(&mut self, kind: u8, detail: u8, now: Instant) -> bool {
        self.forget(now, EVENT_EXPIRY);
        let mut sent = self.0.iter();
        let found = sent.position(|&(sent, of, _)| (sent, of) == (kind, detail));
        found.is_some_and(|index| self.0.remove(index).is_some())
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Starts to report user input on `display`; `None` if the server has no XInput. Reporting is active when this
/// returns.
///
/// # Errors
/// If the display cannot be reached, or the limit of watchers is reached.
pub(super) async fn watch(
    display: String,
    patience: Duration,
    own: &SyntheticInput,
) -> Result<Option<HumanInputReceiver>, Error> {
    let ledger = own
        .subscribe()
        .ok_or(Error::TooManyWatchers { most: MAX_WATCHERS })?;
    let (sender, receiver) = mpsc::channel(BACKLOG);
    let (begun, has_begun) = oneshot::channel();
    let thread = std::thread::Builder::new().name(format!("x11-human {display}"));
    let watching = move || match HumanInputWatcher::begin(&display, patience, ledger) {
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
        patience: Duration,
        ledger: Arc<PendingEvents>,
    ) -> Result<Option<Self>, Error> {
        let link = connection::connect(display, patience)?;
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
            ledger,
            held: Vec::new(),
            pending: None,
            moving: None,
        }))
    }

    /// Reports until the receiver is dropped or the display is lost.
    fn run(&mut self, told: &mpsc::Sender<Result<HumanInput, Error>>) -> Result<(), Error> {
        while !told.is_closed() {
            self.link.flush().or_display_error(&self.link)?;
            // Events read together with a reply are queued already, so they are drained before waiting.
            if !self.drain_events(told)? {
                self.link
                    .wait(None, Some(self.next_wakeup(Instant::now())))
                    .or_display_error(&self.link)?;
                self.drain_events(told)?;
            }
            for input in self.flush_idle(Instant::now())? {
                emit(told, input);
            }
        }
        Ok(())
    }

    /// Handles all queued events and returns whether there were any.
    fn drain_events(
        &mut self,
        told: &mpsc::Sender<Result<HumanInput, Error>>,
    ) -> Result<bool, Error> {
        let mut any = false;
        while let Some(event) = self.link.x.poll_for_event().or_display_error(&self.link)? {
            any = true;
            for input in self.handle_event(&event, Instant::now())? {
                emit(told, input);
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
        self.xtest.contains(&device) && lock(&self.ledger.0).take(kind, detail, now)
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
            1..=3 => {
                let button = match button {
                    1 => Button::Left,
                    2 => Button::Middle,
                    _ => Button::Right,
                };
                // A click ends a move.
                self.moving = None;
                return Ok(self.flush_and_emit(HumanInputKind::Click { at, button }));
            }
            // The contract has no names for the thumb buttons.
            _ => return Ok(Vec::new()),
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
        Ok(CapturePoint::new(x.into(), y.into()))
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

fn emit(told: &mpsc::Sender<Result<HumanInput, Error>>, kind: HumanInputKind) {
    let at = SystemTime::now();
    if told.try_send(Ok(HumanInput { at, kind })).is_err() {
        tracing::debug!("a watcher of user input is too slow; events are dropped");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_event_of_ours_comes_back_once() {
        let mut sent = SentEvents::default();
        let now = Instant::now();
        sent.note(KEY_PRESS_EVENT, 38, now, EVENT_EXPIRY);
        sent.note(KEY_PRESS_EVENT, 38, now, EVENT_EXPIRY);
        let mut check =
            |kind, detail, at, expected| assert_eq!(sent.take(kind, detail, at), expected);
        check(KEY_PRESS_EVENT, 39, now, false);
        check(KEY_RELEASE_EVENT, 38, now, false);
        check(KEY_PRESS_EVENT, 38, now, true);
        check(KEY_PRESS_EVENT, 38, now, true);
        check(KEY_PRESS_EVENT, 38, now, false);
        // An event that never came back expires.
        sent.note(MOTION_NOTIFY_EVENT, 0, now, EVENT_EXPIRY);
        assert!(!sent.take(MOTION_NOTIFY_EVENT, 0, now + EVENT_EXPIRY * 2));
        assert!(sent.0.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_on_its_way_is_known_to_who_begins_to_watch() {
        let own = SyntheticInput::default();
        own.note(KEY_PRESS_EVENT, 24);
        tokio::time::advance(IN_FLIGHT_WINDOW * 2).await;
        own.note(KEY_PRESS_EVENT, 38);
        let ledger = own.subscribe().unwrap();
        own.note(KEY_RELEASE_EVENT, 38);
        let take = |kind, detail| lock(&ledger.0).take(kind, detail, Instant::now());
        assert!(take(KEY_PRESS_EVENT, 38) && take(KEY_RELEASE_EVENT, 38));
        assert!(!take(KEY_PRESS_EVENT, 24), "that event has already arrived");
        let many: Vec<_> = (1..MAX_WATCHERS)
            .map(|_| own.subscribe().unwrap())
            .collect();
        assert!(own.subscribe().is_none(), "{} watch", many.len());
        drop(ledger);
        assert!(own.subscribe().is_some());
    }
}
