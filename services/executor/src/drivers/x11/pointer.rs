//! What the mouse does: moves, clicks, drags, scrolling.
//!
//! Times and ways are those of [`crate::drivers::gesture`].

use std::time::Duration;

use motorium_proto::domain::action::{Button, ScrollAmount};
use motorium_proto::domain::geometry::CapturePoint;
use motorium_proto::domain::key::Key;
use tokio_util::sync::CancellationToken;

use super::hands::{Hands, Pressable};
use super::keyboard;
use crate::drivers::Error;
use crate::drivers::gesture::{
    CLICK_GAP, CLICK_HOLD, DRAG_DWELL, DRAG_GRIP, DRAG_STEP, NOTCHES_PER_WRITE, SCROLL_STEP,
    beside, check_clicks, notches, way_of_drag,
};
use crate::drivers::pause::{check, pause};

/// The wheel's buttons in the core protocol.
const WHEEL_UP: u8 = 4;
const WHEEL_DOWN: u8 = 5;
const WHEEL_LEFT: u8 = 6;
const WHEEL_RIGHT: u8 = 7;

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
        self.move_to(way.first)?;
        self.press_keys(&modifiers)?;
        self.press(button, Duration::ZERO)?;
        self.sync()?;
        pause(DRAG_GRIP, stop)?;
        for &point in &way.steps {
            self.move_to(point)?;
            self.link.flush()?;
            pause(DRAG_STEP, stop)?;
        }
        for point in [beside(way.last), way.last] {
            self.move_to(point)?;
            self.link.flush()?;
            pause(DRAG_STEP, stop)?;
        }
        pause(DRAG_DWELL, stop)?;
        self.release(button, Duration::ZERO)?;
        self.release_keys(&modifiers)?;
        self.sync()
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
