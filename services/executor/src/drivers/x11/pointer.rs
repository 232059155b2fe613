//! What the mouse does: moves, clicks, drags, scrolling.
//!
//! Times and ways are those of [`crate::drivers::gesture`].

use std::time::Duration;

use motorium_proto::domain::action::{Button, ScrollAmount};
use motorium_proto::domain::geometry::CapturePoint;
use motorium_proto::domain::key::Key;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use x11rb::protocol::xproto::{ConnectionExt as _, Window};

use super::hands::{Hands, Pressable};
use super::keyboard;
use super::link::OrLost as _;
use crate::drivers::Error;
use crate::drivers::gesture::{
    CLICK_GAP, CLICK_HOLD, DRAG_DWELL, DRAG_GRIP, DRAG_STEP, NOTCHES_PER_WRITE, SCROLL_STEP,
    beside, check_clicks, notches, way_of_drag,
};
use crate::drivers::pause::{check, pause};

/// How much longer the pointer rests on the target where something is seen to be dragged from one application to
/// another, which takes several messages between them.
const DROP_DWELL: Duration = Duration::from_millis(250);
/// How long an application is given to take what was dropped on it, where it is seen.
const DROP_PATIENCE: Duration = Duration::from_secs(2);
/// Between two looks at whether it has.
const LOOK_AGAIN: Duration = Duration::from_millis(5);

/// The wheel's buttons in the core protocol.
pub(super) const WHEEL_UP: u8 = 4;
pub(super) const WHEEL_DOWN: u8 = 5;
pub(super) const WHEEL_LEFT: u8 = 6;
pub(super) const WHEEL_RIGHT: u8 = 7;

impl Hands {
    pub(super) fn point_at(&mut self, at: Option<CapturePoint>) -> Result<(), Error> {
        at.map_or(Ok(()), |point| self.move_to(point))
    }

    pub(super) fn click(
        &mut self,
        at: Option<CapturePoint>,
        button: Button,
        count: u8,
        modifiers: &[Key],
    ) -> Result<(), Error> {
        check_clicks(count)?;
        let modifiers = keyboard::modifier_keycodes(&self.link, modifiers)?;
        let button = of_button(button);
        self.point_at(at)?;
        self.press_keys(&modifiers)?;
        for nth in 0..count {
            let gap = if nth == 0 { Duration::ZERO } else { CLICK_GAP };
            self.press(button, gap)?;
            self.release(button, CLICK_HOLD)?;
        }
        self.release_keys(&modifiers)?;
        self.sync()
    }

    pub(super) fn mouse_down(
        &mut self,
        at: Option<CapturePoint>,
        button: Button,
    ) -> Result<(), Error> {
        self.point_at(at)?;
        let button = of_button(button);
        if !self.held().contains(&button) {
            self.press(button, Duration::ZERO)?;
        }
        self.sync()
    }

    pub(super) fn mouse_up(
        &mut self,
        at: Option<CapturePoint>,
        button: Button,
    ) -> Result<(), Error> {
        self.point_at(at)?;
        self.release(of_button(button), Duration::ZERO)?;
        self.sync()
    }

    pub(super) fn drag(
        &mut self,
        path: &[CapturePoint],
        button: Button,
        modifiers: &[Key],
        duration: Option<Duration>,
        stop: &CancellationToken,
    ) -> Result<(), Error> {
        let way = way_of_drag(path, duration)?;
        let size = self.size()?;
        if let Some(&point) = path
            .iter()
            .find(|point| !super::hands::contains(size, **point))
        {
            return Err(Error::OutOfFrame { point, size });
        }
        let modifiers = keyboard::modifier_keycodes(&self.link, modifiers)?;
        let button = of_button(button);
        let dragged_before = self.dragging()?;
        self.move_to(way.first)?;
        self.press_keys(&modifiers)?;
        self.press(button, Duration::ZERO)?;
        self.sync()?;
        pause(DRAG_GRIP, stop)?;
        self.follow(&way.steps, stop)?;
        self.follow(&[beside(way.last), way.last], stop)?;
        pause(DRAG_DWELL, stop)?;
        let dragging = self
            .dragging()?
            .filter(|source| dragged_before != Some(*source));
        if dragging.is_some() {
            // Moves that were made before the application had begun it are none to what it is dropped on.
            self.follow(&[beside(way.last), way.last], stop)?;
            pause(DROP_DWELL, stop)?;
        }
        self.release(button, Duration::ZERO)?;
        self.release_keys(&modifiers)?;
        self.sync()?;
        dragging.map_or(Ok(()), |source| self.await_drop(source, stop))
    }

    fn follow(&mut self, points: &[CapturePoint], stop: &CancellationToken) -> Result<(), Error> {
        for &point in points {
            self.move_to(point)?;
            self.link.flush()?;
            pause(DRAG_STEP, stop)?;
        }
        Ok(())
    }

    /// The window that drags something from one application to another (XDND), if one does.
    fn dragging(&self) -> Result<Option<Window>, Error> {
        let selection = self.atoms.XdndSelection;
        let asked = self.link.x.get_selection_owner(selection);
        let owner = asked
            .or_lost(&self.link)?
            .reply()
            .or_lost(&self.link)?
            .owner;
        Ok(Some(owner).filter(|&owner| owner != x11rb::NONE))
    }

    /// Waits until what was dragged from `source` has been taken. Until then the application keeps the keyboard to
    /// itself. Not all applications tell, so that it is no error if that takes long.
    fn await_drop(&self, source: Window, stop: &CancellationToken) -> Result<(), Error> {
        let end = Instant::now() + DROP_PATIENCE;
        while self.dragging()? == Some(source) && Instant::now() < end {
            pause(LOOK_AGAIN, stop)?;
        }
        Ok(())
    }

    pub(super) fn scroll(
        &mut self,
        at: Option<CapturePoint>,
        amount: ScrollAmount,
        modifiers: &[Key],
        stop: &CancellationToken,
    ) -> Result<(), Error> {
        let (x, y) = notches(amount)?;
        let modifiers = keyboard::modifier_keycodes(&self.link, modifiers)?;
        self.point_at(at)?;
        self.press_keys(&modifiers)?;
        self.turn(
            if y < 0 { WHEEL_UP } else { WHEEL_DOWN },
            y.unsigned_abs(),
            stop,
        )?;
        self.turn(
            if x < 0 { WHEEL_LEFT } else { WHEEL_RIGHT },
            x.unsigned_abs(),
            stop,
        )?;
        self.release_keys(&modifiers)?;
        self.sync()
    }

    fn turn(&mut self, wheel: u8, notches: u32, stop: &CancellationToken) -> Result<(), Error> {
        for nth in 0..notches {
            if nth > 0 && nth % NOTCHES_PER_WRITE == 0 {
                self.sync()?;
                pause(SCROLL_STEP, stop)?;
            }
            check(stop)?;
            self.press(Pressable::Button(wheel), Duration::ZERO)?;
            self.release(Pressable::Button(wheel), Duration::ZERO)?;
        }
        Ok(())
    }

    fn press_keys(&mut self, keycodes: &[u8]) -> Result<(), Error> {
        keycodes
            .iter()
            .try_for_each(|&keycode| self.press(Pressable::Key(keycode), Duration::ZERO))
    }

    fn release_keys(&mut self, keycodes: &[u8]) -> Result<(), Error> {
        keycodes
            .iter()
            .rev()
            .try_for_each(|&keycode| self.release(Pressable::Key(keycode), Duration::ZERO))
    }
}

fn of_button(button: Button) -> Pressable {
    Pressable::Button(match button {
        Button::Left => 1,
        Button::Middle => 2,
        Button::Right => 3,
    })
}
