//! What a person does with mouse and keyboard: the raw events of XInput 2, without those that this driver made.
//!
//! Raw events come whoever has the focus or a grab, and say which device they are of. Those of the devices that stand
//! for XTest may be ours or another program's: ours are noted before they are sent and taken off the list as they
//! come back. Typed text is counted and never told: of a key only whether it is one of a chord is looked at.

use std::collections::{HashSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, SystemTime};

use motorium_proto::domain::action::Button;
use motorium_proto::domain::geometry::CapturePoint;
use motorium_proto::domain::key::Key;
use motorium_proto::service::{HumanInput, HumanInputKind};
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;
use x11rb::connection::{Connection as _, RequestConnection as _};
use x11rb::protocol::Event;
use x11rb::protocol::xinput::{self, ConnectionExt as _, Device, DeviceId, EventMask, XIEventMask};
use x11rb::protocol::xproto::{
    BUTTON_PRESS_EVENT, BUTTON_RELEASE_EVENT, ConnectionExt as _, KEY_PRESS_EVENT,
    KEY_RELEASE_EVENT, Keycode, MOTION_NOTIFY_EVENT,
};

use super::keymap::Keymap;
use super::link::{Link, OrLost};
use super::pointer::{WHEEL_DOWN, WHEEL_LEFT, WHEEL_RIGHT, WHEEL_UP};
use super::{keysym, session};
use crate::drivers::{Error, HumanWatch};

/// What the names of the devices have in them that stand for XTest.
const XTEST: &str = "XTEST";
/// Keys and notches that follow each other within this time are told as one.
const PAUSE: Duration = Duration::from_millis(300);
/// A pointer that rests so long has come to rest.
const REST: Duration = Duration::from_millis(150);
/// How often it is looked whether anybody still listens.
const LOOK: Duration = Duration::from_millis(250);
/// What has not come back by then never will: a move to where the pointer was makes no event.
const FORGOTTEN: Duration = Duration::from_secs(10);
/// What was sent longer ago than this has reached the server, delays included.
const ON_ITS_WAY: Duration = Duration::from_secs(1);
/// Most events of ours that are remembered; a text of 5,000 characters makes about 20,000.
const MOST_NOTED: usize = 65_536;
/// Most who watch at a time; each has a thread.
const MOST_WATCHERS: usize = 16;
/// What waits for a watcher that is slow; afterwards it is left out.
const BACKLOG: usize = 1024;

/// The input that this driver makes, as every watcher has to know it.
#[derive(Debug, Default)]
pub(super) struct OwnInput(Mutex<Noted>);

#[derive(Debug, Default)]
struct Noted {
    /// What was sent lately: whoever begins to watch while it is on its way has to know it too.
    recent: Sent,
    ledgers: Vec<Weak<Ledger>>,
}

impl OwnInput {
    /// This event is about to be sent. Its kind is that of the core protocol.
    pub(super) fn note(&self, kind: u8, detail: u8) {
        // Nobody is told of these.
        if kind == BUTTON_RELEASE_EVENT {
            return;
        }
        let now = Instant::now();
        let mut noted = lock(&self.0);
        noted.recent.note(kind, detail, now, ON_ITS_WAY);
        for ledger in noted.ledgers.iter().filter_map(Weak::upgrade) {
            lock(&ledger.0).note(kind, detail, now, FORGOTTEN);
        }
    }

    fn subscribe(&self) -> Option<Arc<Ledger>> {
        let mut noted = lock(&self.0);
        noted.ledgers.retain(|ledger| ledger.strong_count() > 0);
        if noted.ledgers.len() >= MOST_WATCHERS {
            return None;
        }
        let now = Instant::now();
        noted.recent.forget(now, ON_ITS_WAY);
        // Most of it has arrived: what has not been seen in a moment is forgotten.
        let mut sent = noted.recent.clone();
        sent.age(FORGOTTEN.saturating_sub(ON_ITS_WAY));
        let ledger = Arc::new(Ledger(Mutex::new(sent)));
        noted.ledgers.push(Arc::downgrade(&ledger));
        Some(ledger)
    }
}

/// What one watcher knows to be ours.
#[derive(Debug, Default)]
struct Ledger(Mutex<Sent>);

/// Events that were sent and have not been seen to come back, oldest first.
#[derive(Debug, Clone, Default)]
struct Sent(VecDeque<(u8, u8, Instant)>);

impl Sent {
    fn note(&mut self, kind: u8, detail: u8, now: Instant, kept: Duration) {
        self.0.push_back((kind, detail, now));
        self.forget(now, kept);
    }

    fn forget(&mut self, now: Instant, kept: Duration) {
        let is_old = |(_, _, at): &(u8, u8, Instant)| now.saturating_duration_since(*at) > kept;
        while self.0.len() > MOST_NOTED || self.0.front().is_some_and(is_old) {
            self.0.pop_front();
        }
    }

    /// Makes everything older.
    fn age(&mut self, by: Duration) {
        for (_, _, at) in &mut self.0 {
            *at = at.checked_sub(by).unwrap_or(*at);
        }
    }

    /// Whether an event that has come is one of those, which is then taken off.
    fn take(&mut self, kind: u8, detail: u8, now: Instant) -> bool {
        self.forget(now, FORGOTTEN);
        let mut sent = self.0.iter();
        let found = sent.position(|&(sent, of, _)| (sent, of) == (kind, detail));
        found.is_some_and(|index| self.0.remove(index).is_some())
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Begins to tell what a person does on `display`, from when this returns; `None` if its server cannot tell.
///
/// # Errors
/// If the display cannot be reached, or too many watch already.
pub(super) async fn watch(
    display: String,
    patience: Duration,
    own: &OwnInput,
) -> Result<Option<HumanWatch>, Error> {
    let ledger = own.subscribe().ok_or(Error::TooManyWatchers {
        most: MOST_WATCHERS,
    })?;
    let (sender, receiver) = mpsc::channel(BACKLOG);
    let (begun, has_begun) = oneshot::channel();
    let thread = std::thread::Builder::new().name(format!("x11-human {display}"));
    let watching = move || match Watcher::begin(&display, patience, ledger) {
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
    thread.spawn(watching).map_err(|_| Error::DriverGone)?;
    let tells = has_begun.await.map_err(|_| Error::DriverGone)??;
    Ok(tells.then_some(receiver))
}

/// Listens on a connection of its own.
struct Watcher {
    link: Link,
    keymap: Keymap,
    ledger: Arc<Ledger>,
    /// The devices that stand for XTest.
    xtest: HashSet<DeviceId>,
    /// Modifiers that a person holds. A key is let go of as what it was pressed as, whatever the map says by then.
    held: Vec<(Keycode, Key)>,
    /// What goes on and has not been told yet.
    pending: Option<(HumanInputKind, Instant)>,
    /// The pointer is being moved.
    moving: Option<Instant>,
}

impl Watcher {
    /// `None` if the server has no XInput.
    fn begin(
        display: &str,
        patience: Duration,
        ledger: Arc<Ledger>,
    ) -> Result<Option<Self>, Error> {
        let link = Link::connect(display, patience)?;
        session::enable_extensions(&link)?;
        let name = xinput::X11_EXTENSION_NAME;
        if link.x.extension_information(name).or_lost(&link)?.is_none() {
            return Ok(None);
        }
        link.x
            .xinput_xi_query_version(2, 2)
            .or_lost(&link)?
            .reply()
            .or_lost(&link)?;
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
            .or_lost(&link)?
            .check()
            .or_lost(&link)?;
        let devices = link
            .x
            .xinput_xi_query_device(u16::from(Device::ALL))
            .or_lost(&link)?
            .reply()
            .or_lost(&link)?;
        let stands_for_xtest = |name: &[u8]| String::from_utf8_lossy(name).contains(XTEST);
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

    /// Tells until nobody listens or the display is lost.
    fn run(&mut self, told: &mpsc::Sender<Result<HumanInput, Error>>) -> Result<(), Error> {
        while !told.is_closed() {
            self.link.flush()?;
            // What a reply brought along is there without anything to wait for.
            if !self.take_in_all(told)? {
                self.link.wait(None, Some(self.next_look(Instant::now())))?;
                self.take_in_all(told)?;
            }
            for input in self.rest(Instant::now())? {
                tell(told, input);
            }
        }
        Ok(())
    }

    /// Takes in every event that is there, and says whether there was one.
    fn take_in_all(
        &mut self,
        told: &mpsc::Sender<Result<HumanInput, Error>>,
    ) -> Result<bool, Error> {
        let mut any = false;
        while let Some(event) = self.link.x.poll_for_event().or_lost(&self.link)? {
            any = true;
            for input in self.take_in(&event, Instant::now())? {
                tell(told, input);
            }
        }
        Ok(any)
    }

    fn next_look(&self, now: Instant) -> Duration {
        let pending = self.pending.as_ref().map(|(_, last)| *last + PAUSE);
        let moving = self.moving.map(|last| last + REST);
        let due = pending.into_iter().chain(moving).min();
        due.map_or(LOOK, |due| due.saturating_duration_since(now).min(LOOK))
    }

    /// What an event ends or is.
    fn take_in(&mut self, event: &Event, now: Instant) -> Result<Vec<HumanInputKind>, Error> {
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
                // The third axis and those after it scroll.
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
            return Ok(self.at_once(HumanInputKind::Chord { keys }));
        }
        Ok(self.goes_on(HumanInputKind::Typing { characters: 1 }, now))
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
                // Where a click is, the pointer has come to rest.
                self.moving = None;
                return Ok(self.at_once(HumanInputKind::Click { at, button }));
            }
            // The thumb's buttons have no name in the contract.
            _ => return Ok(Vec::new()),
        };
        Ok(self.goes_on(HumanInputKind::Scroll { at, x, y }, now))
    }

    /// Adds to what goes on; what cannot be added to that ends it.
    fn goes_on(&mut self, more: HumanInputKind, now: Instant) -> Vec<HumanInputKind> {
        if let Some((known, last)) = &mut self.pending
            && add(known, &more)
        {
            *last = now;
            return Vec::new();
        }
        let ended = self.pending.replace((more, now));
        ended.into_iter().map(|(kind, _)| kind).collect()
    }

    /// What went on before, and what is whole by itself.
    fn at_once(&mut self, kind: HumanInputKind) -> Vec<HumanInputKind> {
        let ended = self.pending.take().map(|(kind, _)| kind);
        ended.into_iter().chain([kind]).collect()
    }

    /// What has ended by nothing more coming.
    fn rest(&mut self, now: Instant) -> Result<Vec<HumanInputKind>, Error> {
        let mut ended = Vec::new();
        let is_over = |last: Instant, pause| now.saturating_duration_since(last) >= pause;
        if let Some((kind, _)) = self.pending.take_if(|(_, last)| is_over(*last, PAUSE)) {
            ended.push(kind);
        }
        if self.moving.take_if(|last| is_over(*last, REST)).is_some() {
            ended.push(HumanInputKind::Move {
                to: self.pointer()?,
            });
        }
        Ok(ended)
    }

    fn pointer(&self) -> Result<CapturePoint, Error> {
        let pointer = self
            .link
            .x
            .query_pointer(self.link.root)
            .or_lost(&self.link)?;
        let pointer = pointer.reply().or_lost(&self.link)?;
        Ok(CapturePoint::new(
            pointer.root_x.into(),
            pointer.root_y.into(),
        ))
    }
}

/// Adds typing to typing and scrolling to scrolling; false if the two are not of a kind.
fn add(known: &mut HumanInputKind, more: &HumanInputKind) -> bool {
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

fn tell(told: &mpsc::Sender<Result<HumanInput, Error>>, kind: HumanInputKind) {
    let at = SystemTime::now();
    if told.try_send(Ok(HumanInput { at, kind })).is_err() {
        tracing::debug!("a watcher of human input is too slow, and misses something");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_event_of_ours_comes_back_once() {
        let mut sent = Sent::default();
        let now = Instant::now();
        sent.note(KEY_PRESS_EVENT, 38, now, FORGOTTEN);
        sent.note(KEY_PRESS_EVENT, 38, now, FORGOTTEN);
        let mut check =
            |kind, detail, at, expected| assert_eq!(sent.take(kind, detail, at), expected);
        check(KEY_PRESS_EVENT, 39, now, false);
        check(KEY_RELEASE_EVENT, 38, now, false);
        check(KEY_PRESS_EVENT, 38, now, true);
        check(KEY_PRESS_EVENT, 38, now, true);
        check(KEY_PRESS_EVENT, 38, now, false);
        // What never came back is not waited for for ever.
        sent.note(MOTION_NOTIFY_EVENT, 0, now, FORGOTTEN);
        assert!(!sent.take(MOTION_NOTIFY_EVENT, 0, now + FORGOTTEN * 2));
        assert!(sent.0.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_on_its_way_is_known_to_who_begins_to_watch() {
        let own = OwnInput::default();
        own.note(KEY_PRESS_EVENT, 24);
        tokio::time::advance(ON_ITS_WAY * 2).await;
        own.note(KEY_PRESS_EVENT, 38);
        let ledger = own.subscribe().unwrap();
        own.note(KEY_RELEASE_EVENT, 38);
        let take = |kind, detail| lock(&ledger.0).take(kind, detail, Instant::now());
        assert!(take(KEY_PRESS_EVENT, 38) && take(KEY_RELEASE_EVENT, 38));
        assert!(!take(KEY_PRESS_EVENT, 24), "that has arrived long ago");
        let many: Vec<_> = (1..MOST_WATCHERS)
            .map(|_| own.subscribe().unwrap())
            .collect();
        assert!(own.subscribe().is_none(), "{} watch", many.len());
        drop(ledger);
        assert!(own.subscribe().is_some());
    }
}
