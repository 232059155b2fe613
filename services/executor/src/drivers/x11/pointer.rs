//! Pointer gestures: moves, clicks, drags, scrolling.
//!
//! Timing and drag paths come from [`crate::drivers::gesture`].

use std::time::Duration;

use motorium_proto::domain::action::{Button, ScrollAmount};
use motorium_proto::domain::geometry::CapturePoint;
use motorium_proto::domain::key::Key;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use x11rb::protocol::xproto::{ConnectionExt as _, Window};

use super::connection::OrDisplayError as _;
use super::keyboard;
use super::xtest::{Pressable, XTestInput};
use crate::drivers::Error;
use crate::drivers::gesture::{
    CLICK_GAP, CLICK_HOLD, DRAG_DWELL, DRAG_START_DELAY, DRAG_STEP, NOTCHES_PER_WRITE, SCROLL_STEP,
    adjacent_point, check_clicks, drag_path, notches,
};
use crate::drivers::pause::{check, pause};

/// Additional delay on the target of a drag between applications (XDND), which takes several messages between them.
const DROP_DWELL: Duration = Duration::from_millis(250);
/// Timeout for an application to accept a drop (XDND).
const DROP_TIMEOUT: Duration = Duration::from_secs(2);
/// Polling interval for the drop.
const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// Wheel buttons of the core protocol.
pub(super) const WHEEL_UP: u8 = 4;
pub(super) const WHEEL_DOWN: u8 = 5;
pub(super) const WHEEL_LEFT: u8 = 6;
pub(super) const WHEEL_RIGHT: u8 = 7;

impl XTestInput {
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
        let way = drag_path(path, duration)?;
        let size = self.size()?;
        if let Some(&point) = path
            .iter()
            .find(|point| !super::xtest::contains(size, **point))
        {
            return Err(Error::OutOfBounds { point, size });
        }
        let modifiers = keyboard::modifier_keycodes(&self.link, modifiers)?;
        let button = of_button(button);
        let dragged_before = self.drag_source()?;
        self.move_to(way.first)?;
        self.press_keys(&modifiers)?;
        self.press(button, Duration::ZERO)?;
        self.sync()?;
        pause(DRAG_START_DELAY, stop)?;
        self.move_along(&way.steps, stop)?;
        self.move_along(&[adjacent_point(way.last), way.last], stop)?;
        pause(DRAG_DWELL, stop)?;
        let dragging = self
            .drag_source()?
            .filter(|source| dragged_before != Some(*source));
        if dragging.is_some() {
            // The target only sees moves made after the source application has started the drag, so the last ones are
            // repeated.
            self.move_along(&[adjacent_point(way.last), way.last], stop)?;
            pause(DROP_DWELL, stop)?;
        }
        self.release(button, Duration::ZERO)?;
        self.release_keys(&modifiers)?;
        self.sync()?;
        dragging.map_or(Ok(()), |source| self.await_drop(source, stop))
    }

    fn move_along(
        &mut self,
        points: &[CapturePoint],
        stop: &CancellationToken,
    ) -> Result<(), Error> {
        for &point in points {
            self.move_to(point)?;
            self.link.flush().or_display_error(&self.link)?;
            pause(DRAG_STEP, stop)?;
        }
        Ok(())
    }

    /// Returns the source window of a drag between applications (XDND), if there is one.
    fn drag_source(&self) -> Result<Option<Window>, Error> {
        let selection = self.atoms.XdndSelection;
        let asked = self.link.x.get_selection_owner(selection);
        let owner = asked
            .or_display_error(&self.link)?
            .reply()
            .or_display_error(&self.link)?
            .owner;
        Ok(Some(owner).filter(|&owner| owner != x11rb::NONE))
    }

    /// Waits until the drop from `source` was accepted. Until then the application grabs the keyboard. A timeout is
    /// not an error, because some applications never report it.
    fn await_drop(&self, source: Window, stop: &CancellationToken) -> Result<(), Error> {
        let end = Instant::now() + DROP_TIMEOUT;
        while self.drag_source()? == Some(source) && Instant::now() < end {
            pause(POLL_INTERVAL, stop)?;
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
        self.turn_wheel(
            if y < 0 { WHEEL_UP } else { WHEEL_DOWN },
            y.unsigned_abs(),
            stop,
        )?;
        self.turn_wheel(
            if x < 0 { WHEEL_LEFT } else { WHEEL_RIGHT },
            x.unsigned_abs(),
            stop,
        )?;
        self.release_keys(&modifiers)?;
        self.sync()
    }

    fn turn_wheel(
        &mut self,
        wheel: u8,
        notches: u32,
        stop: &CancellationToken,
    ) -> Result<(), Error> {
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
