//! The lowest layer of input: presses, releases and moves through XTest, and the record of what is still pressed.
//!
//! Events are buffered and sent together at a flush. A chord is one write: killing the process takes effect before or
//! after it, not in between. Delays inside a chord are done by the server (the delay field of XTest).
//!
//! Invariant: [`XTestInput::held`] is what this connection has pressed and not released.

use std::sync::Arc;
use std::time::Duration;

use motorium_imaging::space::{InputPoint, PlatformMonitor};
use motorium_proto::domain::geometry::{CapturePoint, CaptureSize, LogicalSize};
use motorium_proto::domain::key::Key;
use motorium_x11::Connection;
use x11rb::connection::Connection as _;
use x11rb::protocol::Event;
use x11rb::protocol::xproto::{
    ConnectionExt as _, GrabMode, GrabStatus, Keycode, MOTION_NOTIFY_EVENT,
};
use x11rb::protocol::xtest::ConnectionExt as _;

use super::connection::OrDisplayError;
use super::held_input::Pressable;
use super::keymap::{Keymap, SavedKeyboardState};
use super::keysym;
use super::release_guard::ReleaseGuard;
use super::synthetic_input::SyntheticInput;
use crate::drivers::Error;
use crate::drivers::input_space::InputSpace;
use crate::guard::rules::Chord;

x11rb::atom_manager! {
    /// Atoms of selections that tell whether input can be sent now, and of the record of the last press.
    pub(super) InputAtoms: InputAtomsCookie {
        XdndSelection,
        XIM_SERVERS,
        _MOTORIUM_LAST_PRESS,
    }
}

/// Synthetic input on one display.
#[derive(Debug)]
pub(super) struct XTestInput {
    pub(super) link: Connection,
    pub(super) atoms: InputAtoms,
    /// Record of the sent events, which user input monitoring filters out.
    own: Arc<SyntheticInput>,
    /// Learns what is pressed before the display does.
    guard: Arc<ReleaseGuard>,
    scale: Option<f64>,
    /// Pixel that the pointer was last sent to.
    aim: Option<CapturePoint>,
    held: Vec<Pressable>,
    input_sent: bool,
    /// Chords that the current action must not press.
    forbidden_chords: Arc<[Chord]>,
    /// The original keyboard state while it is normalised for typing.
    pub(super) keyboard_to_restore: Option<SavedKeyboardState>,
}

impl XTestInput {
    pub(super) fn new(
        link: Connection,
        scale: Option<f64>,
        own: Arc<SyntheticInput>,
        guard: Arc<ReleaseGuard>,
    ) -> Result<Self, Error> {
        let atoms = InputAtoms::new(&link.x)
            .or_display_error(&link)?
            .reply()
            .or_display_error(&link)?;
        Ok(Self {
            link,
            atoms,
            own,
            guard,
            scale,
            aim: None,
            held: Vec::new(),
            input_sent: false,
            forbidden_chords: Arc::new([]),
            keyboard_to_restore: None,
        })
    }

    /// Resets `input_sent` at the start of an action that must not press these chords.
    pub(super) fn start_action(&mut self, forbidden_chords: &Arc<[Chord]>) {
        self.input_sent = false;
        self.forbidden_chords = Arc::clone(forbidden_chords);
    }

    /// Returns the chords that the current action must not press.
    pub(super) fn forbidden_chords(&self) -> &[Chord] {
        &self.forbidden_chords
    }

    /// Returns whether the current action has sent any input.
    pub(super) fn input_sent(&self) -> bool {
        self.input_sent
    }

    /// Returns what this connection has pressed.
    pub(super) fn held(&self) -> &[Pressable] {
        &self.held
    }

    /// Presses after `delay`, which the server applies. Sent with the next flush.
    pub(super) fn press(&mut self, what: Pressable, delay: Duration) -> Result<(), Error> {
        // Recorded first: if the request fails, one release too many is harmless, one too few is not.
        self.held.push(what);
        self.guard.announce(|held| held.hold(what));
        self.fake(what.press_event(), delay, InputPoint::zero())
    }

    /// Releases after `delay`, which the server applies. Sent with the next flush.
    pub(super) fn release(&mut self, what: Pressable, delay: Duration) -> Result<(), Error> {
        self.fake(what.release_event(), delay, InputPoint::zero())?;
        if let Some(position) = self.held.iter().rposition(|held| *held == what) {
            self.held.remove(position);
        }
        Ok(())
    }

    /// Moves the pointer. Points outside the display are rejected, because the server would silently clamp them.
    pub(super) fn move_to(&mut self, point: CapturePoint) -> Result<(), Error> {
        let to = self.space()?.to_input(point)?;
        self.aim = Some(point);
        self.fake((MOTION_NOTIFY_EVENT, 0), Duration::ZERO, to)
    }

    fn fake(
        &mut self,
        (kind, detail): (u8, u8),
        delay: Duration,
        point: InputPoint,
    ) -> Result<(), Error> {
        self.input_sent = true;
        self.own.note(kind, detail);
        let delay = u32::try_from(delay.as_millis()).unwrap_or(u32::MAX);
        // Points inside the display fit the protocol's 16 bits.
        let (x, y) = (point.x as i16, point.y as i16);
        self.link
            .x
            .xtest_fake_input(kind, detail, delay, self.link.root, x, y, 0)
            .or_display_error(&self.link)?;
        Ok(())
    }

    /// Flushes and waits until the server has processed everything, including delays.
    ///
    /// Fails if the server rejected any request since the last call.
    pub(super) fn sync(&self) -> Result<(), Error> {
        self.link
            .x
            .get_input_focus()
            .or_display_error(&self.link)?
            .reply()
            .or_display_error(&self.link)?;
        while let Some(event) = self.link.x.poll_for_event().or_display_error(&self.link)? {
            if let Event::Error(error) = event {
                return Err(error).or_display_error(&self.link);
            }
        }
        self.confirm();
        Ok(())
    }

    /// Records that the display has processed everything so far.
    pub(super) fn confirm(&self) {
        self.guard.confirm(|held| {
            held.set_pressed(&self.held);
            held.keyboard = self.keyboard_to_restore;
        });
    }

    /// Records what of the keyboard has to be put back. Called before it is changed.
    pub(super) fn set_keyboard_to_restore(&mut self, saved: SavedKeyboardState) {
        self.keyboard_to_restore = Some(saved);
        self.guard.announce(|held| held.keyboard = Some(saved));
    }

    /// Releases what this connection still holds, except for the first `keep` presses.
    pub(super) fn release_held(&mut self, keep: usize) -> Result<(), Error> {
        while self.held.len() > keep {
            let what = self.held[self.held.len() - 1];
            self.release(what, Duration::ZERO)?;
        }
        self.sync()
    }

    /// Releases every pressed key and button, whichever program pressed it.
    pub(super) fn release_everything(&mut self) -> Result<Vec<Pressable>, Error> {
        let mut down = self.pressed_now()?;
        // Buttons of other programs that are not reported stay.
        let held = self.held.iter().copied();
        down.extend(held.filter(|held| !held.is_reported()));
        self.release_pressed(&down)?;
        Ok(down)
    }

    /// Releases these keys and buttons, whichever program pressed them. Nothing is held afterwards.
    pub(super) fn release_pressed(&mut self, down: &[Pressable]) -> Result<(), Error> {
        self.mask_lone_modifiers(down)?;
        for &what in down {
            self.fake(what.release_event(), Duration::ZERO, InputPoint::zero())?;
        }
        self.held.clear();
        self.sync()
    }

    /// Keeps the release of a held Super or Alt from opening a menu, which would take the keyboard: window managers open
    /// one only if no other key was pressed meanwhile.
    pub(super) fn mask_lone_modifiers(&mut self, pressed: &[Pressable]) -> Result<(), Error> {
        if !pressed.iter().any(|what| matches!(what, Pressable::Key(_))) {
            return Ok(());
        }
        let keymap = Keymap::read(&self.link)?;
        let opens_menu = |what: &Pressable| match what {
            Pressable::Key(keycode) => keysym::opens_menu(keymap.symbols(*keycode)),
            Pressable::Button(_) => false,
        };
        let mask = keymap.stroke(&keysym::of_key(Key::Control));
        let Some(mask) = mask.filter(|_| pressed.iter().any(opens_menu)) else {
            return Ok(());
        };
        self.press(Pressable::Key(mask.keycode), Duration::ZERO)?;
        self.release(Pressable::Key(mask.keycode), Duration::ZERO)
    }

    /// Returns whether another program has grabbed the keyboard, as menus do. Applications are notified of the
    /// attempt to grab it, so this is only called where there is reason to suspect one.
    pub(super) fn is_keyboard_grabbed(&self) -> Result<bool, Error> {
        let grab = self.link.x.grab_keyboard(
            false,
            self.link.root,
            x11rb::CURRENT_TIME,
            GrabMode::ASYNC,
            GrabMode::ASYNC,
        );
        let status = grab
            .or_display_error(&self.link)?
            .reply()
            .or_display_error(&self.link)?
            .status;
        let ungrab = self.link.x.ungrab_keyboard(x11rb::CURRENT_TIME);
        ungrab.or_display_error(&self.link)?;
        Ok(status == GrabStatus::ALREADY_GRABBED)
    }

    /// Returns every pressed key and button.
    pub(super) fn pressed_now(&self) -> Result<Vec<Pressable>, Error> {
        let keys = self.link.x.query_keymap().or_display_error(&self.link)?;
        let pointer = self
            .link
            .x
            .query_pointer(self.link.root)
            .or_display_error(&self.link)?;
        let keys = keys.reply().or_display_error(&self.link)?.keys;
        let mask = u16::from(pointer.reply().or_display_error(&self.link)?.mask);
        /// Bit of button 1 in the core protocol's mask; buttons 2 to 5 follow.
        const BUTTON_1: u32 = 8;
        let keys = (0..=Keycode::MAX)
            .filter(|keycode| keys[usize::from(keycode / 8)] & (1 << (keycode % 8)) != 0)
            .map(Pressable::Key);
        let buttons =
            (1..=5u8).filter(|button| mask & (1 << (BUTTON_1 + u32::from(*button) - 1)) != 0);
        Ok(keys.chain(buttons.map(Pressable::Button)).collect())
    }

    /// Returns the position of the pointer.
    pub(super) fn pointer(&self) -> Result<CapturePoint, Error> {
        let (x, y) = self.link.pointer().or_display_error(&self.link)?;
        let at = InputPoint::new(x.into(), y.into());
        Ok(self.space()?.to_capture(at, self.aim))
    }

    /// Returns the current size of the display.
    pub(super) fn size(&self) -> Result<CaptureSize, Error> {
        Ok(self.space()?.size())
    }

    /// Returns the current coordinates of the display.
    pub(super) fn space(&self) -> Result<InputSpace, Error> {
        read_space(&self.link, self.scale)
    }
}

/// Reads the coordinates of a display. RandR may have changed its size since the connection was made.
///
/// All monitors share one root window, so for input they are one.
pub(super) fn read_space(link: &Connection, scale: Option<f64>) -> Result<InputSpace, Error> {
    let root = link.x.get_geometry(link.root).or_display_error(link)?;
    let root = root.reply().or_display_error(link)?;
    let size = LogicalSize::new(root.width.into(), root.height.into());
    InputSpace::new(&[PlatformMonitor::at_zero(size, 1.0)], scale)
}
