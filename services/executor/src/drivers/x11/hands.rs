//! The lowest layer of input: presses, releases and moves through XTest, and what of them is still down.
//!
//! Events are buffered and go out together at a flush, so that a chord is one write: whoever kills the process kills
//! it before or after the chord, not inside. Pauses inside a chord are the server's (the delay field of XTest).
//!
//! Invariant: [`Hands::held`] is what this connection has pressed and not released.

use std::sync::Arc;
use std::time::Duration;

use motorium_proto::domain::geometry::{CapturePoint, CaptureSize};
use x11rb::connection::Connection as _;
use x11rb::protocol::Event;
use x11rb::protocol::xproto::{
    BUTTON_PRESS_EVENT, BUTTON_RELEASE_EVENT, ConnectionExt as _, KEY_PRESS_EVENT,
    KEY_RELEASE_EVENT, Keycode, MOTION_NOTIFY_EVENT,
};
use x11rb::protocol::xtest::ConnectionExt as _;

use super::human::OwnInput;
use super::keyboard::PutRight;
use super::link::{Link, OrLost};
use super::windows;
use crate::drivers::Error;

/// Something that can be pressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pressable {
    Key(Keycode),
    /// A button of the core protocol: 1 left, 2 middle, 3 right, 4 to 7 the wheel.
    Button(u8),
}

impl Pressable {
    fn press_event(self) -> (u8, u8) {
        match self {
            Pressable::Key(keycode) => (KEY_PRESS_EVENT, keycode),
            Pressable::Button(button) => (BUTTON_PRESS_EVENT, button),
        }
    }

    fn release_event(self) -> (u8, u8) {
        match self {
            Pressable::Key(keycode) => (KEY_RELEASE_EVENT, keycode),
            Pressable::Button(button) => (BUTTON_RELEASE_EVENT, button),
        }
    }
}

/// The pointer and the keys of one display.
#[derive(Debug)]
pub(super) struct Hands {
    pub(super) link: Link,
    pub(super) atoms: windows::Atoms,
    /// Whoever watches what a person does has to know what is ours.
    own: Arc<OwnInput>,
    held: Vec<Pressable>,
    input_sent: bool,
    /// What the keyboard was found like, while it is put right for typing.
    pub(super) put_right: Option<PutRight>,
}

impl Hands {
    pub(super) fn new(link: Link, own: Arc<OwnInput>) -> Result<Self, Error> {
        let atoms = windows::look_up(&link)?;
        Ok(Self {
            link,
            atoms,
            own,
            held: Vec::new(),
            input_sent: false,
            put_right: None,
        })
    }

    /// Forgets whether input was sent, at the start of an action.
    pub(super) fn start_action(&mut self) {
        self.input_sent = false;
    }

    /// Whether the present action has sent anything.
    pub(super) fn input_sent(&self) -> bool {
        self.input_sent
    }

    /// What is down by our doing.
    pub(super) fn held(&self) -> &[Pressable] {
        &self.held
    }

    /// Presses after `delay`, which the server waits out. Goes out with the next flush.
    pub(super) fn press(&mut self, what: Pressable, delay: Duration) -> Result<(), Error> {
        // Noted first: should the request fail half way, it is released once too often rather than once too little.
        self.held.push(what);
        self.fake(what.press_event(), delay, CapturePoint::zero())
    }

    /// Releases after `delay`, which the server waits out. Goes out with the next flush.
    pub(super) fn release(&mut self, what: Pressable, delay: Duration) -> Result<(), Error> {
        self.fake(what.release_event(), delay, CapturePoint::zero())?;
        if let Some(position) = self.held.iter().rposition(|held| *held == what) {
            self.held.remove(position);
        }
        Ok(())
    }

    /// Moves the pointer. Points outside of the display are refused, because the server would move them to its edge
    /// without a word.
    pub(super) fn move_to(&mut self, point: CapturePoint) -> Result<(), Error> {
        let size = self.size()?;
        if !contains(size, point) {
            return Err(Error::OutOfFrame { point, size });
        }
        self.fake((MOTION_NOTIFY_EVENT, 0), Duration::ZERO, point)
    }

    fn fake(
        &mut self,
        (kind, detail): (u8, u8),
        delay: Duration,
        point: CapturePoint,
    ) -> Result<(), Error> {
        self.input_sent = true;
        self.own.note(kind, detail);
        let delay = u32::try_from(delay.as_millis()).unwrap_or(u32::MAX);
        // Inside the display, and therefore inside the protocol's 16 bits.
        let (x, y) = (point.x as i16, point.y as i16);
        self.link
            .x
            .xtest_fake_input(kind, detail, delay, self.link.root, x, y, 0)
            .or_lost(&self.link)?;
        Ok(())
    }

    /// Sends what is buffered and waits until the server has done it, delays included.
    ///
    /// Fails if the server refused any request since the last time.
    pub(super) fn sync(&self) -> Result<(), Error> {
        self.link
            .x
            .get_input_focus()
            .or_lost(&self.link)?
            .reply()
            .or_lost(&self.link)?;
        while let Some(event) = self.link.x.poll_for_event().or_lost(&self.link)? {
            if let Event::Error(error) = event {
                return Err(Error::Rejected {
                    cause: format!("{error:?}"),
                });
            }
        }
        Ok(())
    }

    /// Releases whatever this connection still holds, down to the first `keep` presses.
    pub(super) fn release_held(&mut self, keep: usize) -> Result<(), Error> {
        while self.held.len() > keep {
            let what = self.held[self.held.len() - 1];
            self.release(what, Duration::ZERO)?;
        }
        self.sync()
    }

    /// Releases every key and button that the server counts as pressed, whoever pressed it.
    pub(super) fn release_everything(&mut self) -> Result<Vec<Pressable>, Error> {
        let down = self.pressed_now()?;
        for &what in &down {
            self.fake(what.release_event(), Duration::ZERO, CapturePoint::zero())?;
        }
        self.sync()?;
        self.held.clear();
        Ok(down)
    }

    /// What the server counts as pressed.
    pub(super) fn pressed_now(&self) -> Result<Vec<Pressable>, Error> {
        let keys = self.link.x.query_keymap().or_lost(&self.link)?;
        let pointer = self
            .link
            .x
            .query_pointer(self.link.root)
            .or_lost(&self.link)?;
        let keys = keys.reply().or_lost(&self.link)?.keys;
        let mask = u16::from(pointer.reply().or_lost(&self.link)?.mask);
        /// The bit of button 1 in the core protocol's mask; the four after it are buttons 2 to 5.
        const BUTTON_1: u32 = 8;
        let keys = (0..=Keycode::MAX)
            .filter(|keycode| keys[usize::from(keycode / 8)] & (1 << (keycode % 8)) != 0)
            .map(Pressable::Key);
        let buttons =
            (1..=5u8).filter(|button| mask & (1 << (BUTTON_1 + u32::from(*button) - 1)) != 0);
        Ok(keys.chain(buttons.map(Pressable::Button)).collect())
    }

    /// Where the pointer is.
    pub(super) fn pointer(&self) -> Result<CapturePoint, Error> {
        let reply = self
            .link
            .x
            .query_pointer(self.link.root)
            .or_lost(&self.link)?
            .reply()
            .or_lost(&self.link)?;
        Ok(CapturePoint::new(reply.root_x.into(), reply.root_y.into()))
    }

    /// The extent of the screen, as it is now: RandR may have changed it since the connection was made.
    pub(super) fn size(&self) -> Result<CaptureSize, Error> {
        let reply = self
            .link
            .x
            .get_geometry(self.link.root)
            .or_lost(&self.link)?
            .reply()
            .or_lost(&self.link)?;
        Ok(CaptureSize::new(reply.width.into(), reply.height.into()))
    }
}

/// Whether a point is one of the display's pixels.
pub(super) fn contains(size: CaptureSize, point: CapturePoint) -> bool {
    (0..size.width).contains(&point.x) && (0..size.height).contains(&point.y)
}
