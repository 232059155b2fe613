//! Pointer gestures: moves, clicks, drags, scrolling.
//!
//! Timing and drag paths come from [`crate::drivers::gesture`].
//!
//! It does not check whether a gesture is allowed: the guard does.

use std::time::{Duration, SystemTime};

use motorium_proto::domain::action::{Button, ScrollAmount};
use motorium_proto::domain::geometry::CapturePoint;
use motorium_proto::domain::key::Key;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use x11rb::protocol::xproto::{ConnectionExt as _, Window};

use super::buttons::button_number;
use super::connection::OrDisplayError as _;
use super::held_input::Pressable;
use super::last_press;
use super::xtest::XTestInput;
use crate::drivers::Error;
use crate::drivers::gesture::{
    CLICK_GAP, CLICK_HOLD, DRAG_DWELL, DRAG_STEP, LastPress, NOTCHES_PER_WRITE, SCROLL_STEP,
    adjacent_point, check_clicks, drag_path, notches,
};
use crate::drivers::pause::{check, pause};

/// Additional delay on the target of a drag between applications (XDND), which takes several messages between them.
const DROP_DWELL: Duration = Duration::from_millis(250);
/// Timeout for an application to accept a drop (XDND).
const DROP_TIMEOUT: Duration = Duration::from_secs(2);
/// Polling interval for the drop.
// A drop takes several messages of some milliseconds each.
const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// Button by which the core protocol reports a notch of the wheel upwards.
pub(super) const WHEEL_UP: u8 = 4;
/// Button of a notch downwards.
pub(super) const WHEEL_DOWN: u8 = 5;
/// Button of a notch to the left.
pub(super) const WHEEL_LEFT: u8 = 6;
/// Button of a notch to the right.
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
        stop: &CancellationToken,
    ) -> Result<(), Error> {
        check_clicks(count)?;
        let modifiers = self.modifier_keycodes(modifiers)?;
        let place = self.separate(at, button, stop)?;
        self.point_at(at)?;
        self.press_keys(&modifiers)?;
        for nth in 0..count {
            let gap = if nth == 0 { Duration::ZERO } else { CLICK_GAP };
            self.press(of_button(button), gap)?;
            self.release(of_button(button), CLICK_HOLD)?;
        }
        self.release_keys(&modifiers)?;
        self.sync()?;
        self.remember_press(place, button)
    }

    /// Waits until a press at this place is not taken for the second one of a double click, and returns the place.
    fn separate(
        &self,
        at: Option<CapturePoint>,
        button: Button,
        stop: &CancellationToken,
    ) -> Result<CapturePoint, Error> {
        let place = at.map_or_else(|| self.pointer(), Ok)?;
        let Some(last) = last_press::read(&self.link, self.atoms._MOTORIUM_LAST_PRESS)? else {
            return Ok(place);
        };
        let interval = last_press::double_click_interval(&self.link)?;
        pause(
            last.separation(place, button, interval, SystemTime::now()),
            stop,
        )?;
        Ok(place)
    }

    /// Records a press for the next gesture, also one of another process.
    fn remember_press(&self, at: CapturePoint, button: Button) -> Result<(), Error> {
        let press = LastPress {
            at,
            button,
            time: SystemTime::now(),
        };
        last_press::write(&self.link, self.atoms._MOTORIUM_LAST_PRESS, &press)?;
        self.sync()
    }

    pub(super) fn mouse_down(
        &mut self,
        at: Option<CapturePoint>,
        button: Button,
        stop: &CancellationToken,
    ) -> Result<(), Error> {
        if self.held().contains(&of_button(button)) {
            self.point_at(at)?;
            return self.sync();
        }
        let place = self.separate(at, button, stop)?;
        self.point_at(at)?;
        self.press(of_button(button), Duration::ZERO)?;
        self.sync()?;
        self.remember_press(place, button)
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
        timing: DragTiming,
        stop: &CancellationToken,
    ) -> Result<Option<String>, Error> {
        let way = drag_path(path, timing.duration, timing.hold)?;
        let space = self.space()?;
        // Before the button is pressed: a drag that ends halfway drops what it holds.
        for &point in path {
            space.to_input(point)?;
        }
        let modifiers = self.modifier_keycodes(modifiers)?;
        let dragged_before = self.drag_source()?;
        self.separate(Some(way.first), button, stop)?;
        self.move_to(way.first)?;
        self.press_keys(&modifiers)?;
        self.press(of_button(button), Duration::ZERO)?;
        self.sync()?;
        self.remember_press(way.first, button)?;
        pause(way.hold, stop)?;
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
        self.release(of_button(button), Duration::ZERO)?;
        self.release_keys(&modifiers)?;
        self.sync()?;
        let Some(source) = dragging else {
            // Most drags move something without the display noticing: nothing is known about this one.
            return Ok(None);
        };
        self.await_drop(source, stop)?;
        Ok(Some(
            "the application started a drag and drop; it was dropped at the end of the path"
                .to_owned(),
        ))
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
        let modifiers = self.modifier_keycodes(modifiers)?;
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

/// Timing of a drag; `None` stands for the defaults.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct DragTiming {
    pub(super) duration: Option<Duration>,
    pub(super) hold: Option<Duration>,
}

fn of_button(button: Button) -> Pressable {
    Pressable::Button(button_number(button))
}
