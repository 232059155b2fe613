//! Keys and buttons that are held, and what else of the keyboard has to be put back.
//!
//! It sends nothing. The bytes of [`HeldInput`] are read by another process of the same program only, so that their
//! form may change with any version.

use x11rb::protocol::xproto::{
    BUTTON_PRESS_EVENT, BUTTON_RELEASE_EVENT, KEY_PRESS_EVENT, KEY_RELEASE_EVENT, Keycode,
};

use super::keymap::SavedKeyboardState;

/// Length of [`HeldInput`] in bytes: a head, then a bit for each keycode and each button.
pub(super) const HELD_INPUT_BYTES: usize = HEAD_BYTES + 2 * BITMAP_BYTES;
/// Flags, saved locks, saved group, and one byte that is not used.
const HEAD_BYTES: usize = 4;
const BITMAP_BYTES: usize = 32;
/// Flag: the keyboard is normalised, and its saved state is set.
const NORMALISED: u8 = 1;
/// Flag: Num Lock was locked.
const HAS_SET_NUM_LOCK: u8 = 2;
/// Flag: keycodes are remapped.
const REMAPPED: u8 = 4;

/// A key or button.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pressable {
    Key(Keycode),
    /// A button of the core protocol: 1 left, 2 middle, 3 right, 4 to 7 the wheel, 8 back, 9 forward.
    Button(u8),
}

impl Pressable {
    pub(super) fn press_event(self) -> (u8, u8) {
        match self {
            Pressable::Key(keycode) => (KEY_PRESS_EVENT, keycode),
            Pressable::Button(button) => (BUTTON_PRESS_EVENT, button),
        }
    }

    pub(super) fn release_event(self) -> (u8, u8) {
        match self {
            Pressable::Key(keycode) => (KEY_RELEASE_EVENT, keycode),
            Pressable::Button(button) => (BUTTON_RELEASE_EVENT, button),
        }
    }

    /// Returns whether the core protocol reports that this is pressed. It reports buttons 1 to 5 only.
    pub(super) fn is_reported(self) -> bool {
        matches!(self, Pressable::Key(_) | Pressable::Button(..=5))
    }
}

/// Keys and buttons that a driver holds, and changes that it has made to the keyboard of its display.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct HeldInput {
    keys: Bitmap,
    buttons: Bitmap,
    /// Locks and group to restore; `None` while the keyboard is as it was found. Its current group is not kept.
    pub(super) keyboard: Option<SavedKeyboardState>,
    /// Keycodes are remapped, or may be.
    pub(super) is_remapped: bool,
}

impl HeldInput {
    /// Adds a key or button.
    pub(super) fn hold(&mut self, what: Pressable) {
        match what {
            Pressable::Key(keycode) => self.keys.insert(keycode),
            Pressable::Button(button) => self.buttons.insert(button),
        }
    }

    /// Replaces the keys and buttons.
    pub(super) fn set_pressed(&mut self, pressed: &[Pressable]) {
        self.keys = Bitmap::default();
        self.buttons = Bitmap::default();
        for &what in pressed {
            self.hold(what);
        }
    }

    /// Returns the keys and buttons.
    pub(super) fn pressed(&self) -> impl Iterator<Item = Pressable> {
        let keys = self.keys.members().map(Pressable::Key);
        keys.chain(self.buttons.members().map(Pressable::Button))
    }

    /// Returns whether nothing has to be put back.
    pub(super) fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Returns the bytes for another process.
    pub(super) fn to_bytes(&self) -> [u8; HELD_INPUT_BYTES] {
        let mut bytes = [0; HELD_INPUT_BYTES];
        if let Some(saved) = &self.keyboard {
            bytes[0] |= NORMALISED;
            bytes[0] |= if saved.has_set_num_lock {
                HAS_SET_NUM_LOCK
            } else {
                0
            };
            bytes[1] = saved.saved_locks;
            bytes[2] = saved.saved_group;
        }
        bytes[0] |= if self.is_remapped { REMAPPED } else { 0 };
        bytes[HEAD_BYTES..][..BITMAP_BYTES].copy_from_slice(&self.keys.0);
        bytes[HEAD_BYTES + BITMAP_BYTES..].copy_from_slice(&self.buttons.0);
        bytes
    }

    /// Reads the bytes of another process. `group` is the current layout group of the keyboard.
    pub(super) fn from_bytes(bytes: &[u8; HELD_INPUT_BYTES], group: u8) -> Self {
        let flags = bytes[0];
        let keyboard = (flags & NORMALISED != 0).then_some(SavedKeyboardState {
            saved_locks: bytes[1],
            saved_group: bytes[2],
            group,
            has_set_num_lock: flags & HAS_SET_NUM_LOCK != 0,
        });
        Self {
            keys: Bitmap::from_bytes(&bytes[HEAD_BYTES..][..BITMAP_BYTES]),
            buttons: Bitmap::from_bytes(&bytes[HEAD_BYTES + BITMAP_BYTES..]),
            keyboard,
            is_remapped: flags & REMAPPED != 0,
        }
    }
}

/// A set of numbers from 0 to 255.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Bitmap([u8; BITMAP_BYTES]);

impl Bitmap {
    fn from_bytes(bytes: &[u8]) -> Self {
        Self(bytes.try_into().unwrap_or_default())
    }

    fn insert(&mut self, number: u8) {
        self.0[usize::from(number / 8)] |= 1 << (number % 8);
    }

    fn members(self) -> impl Iterator<Item = u8> {
        (0..=u8::MAX)
            .filter(move |number| self.0[usize::from(number / 8)] & (1 << (number % 8)) != 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn held_input_survives_the_way_to_another_process() {
        let mut held = HeldInput::default();
        assert!(held.is_empty());
        assert_eq!(HeldInput::from_bytes(&held.to_bytes(), 0), held);
        let pressed = [
            Pressable::Key(0),
            Pressable::Key(37),
            Pressable::Key(255),
            Pressable::Button(9),
        ];
        held.set_pressed(&pressed);
        held.is_remapped = true;
        held.keyboard = Some(SavedKeyboardState {
            saved_locks: 2,
            saved_group: 1,
            group: 3,
            has_set_num_lock: true,
        });
        let read = HeldInput::from_bytes(&held.to_bytes(), 3);
        assert_eq!(read, held);
        assert_eq!(read.pressed().collect::<Vec<_>>(), pressed);
    }
}
