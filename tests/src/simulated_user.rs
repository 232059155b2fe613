//! A simulated user at the desktop's mouse and keyboard, through XTest.

use x11rb::connection::Connection as _;
use x11rb::protocol::xproto::{
    BUTTON_PRESS_EVENT, BUTTON_RELEASE_EVENT, ConnectionExt as _, KEY_PRESS_EVENT,
    KEY_RELEASE_EVENT, Keycode, Keysym, MOTION_NOTIFY_EVENT, Window,
};
use x11rb::protocol::xtest::ConnectionExt as _;
use x11rb::rust_connection::RustConnection;

/// The left button.
const LEFT: u8 = 1;

/// A simulated user of the desktop.
#[derive(Debug)]
pub struct SimulatedUser {
    x: RustConnection,
    root: Window,
}

impl SimulatedUser {
    pub(crate) fn at(display: &str) -> Self {
        let (x, screen) = x11rb::connect(Some(display)).expect("the display is reachable");
        let root = x.setup().roots[screen].root;
        Self { x, root }
    }

    /// Clicks with the left button.
    ///
    /// # Panics
    /// If the display is not reachable, as all methods.
    pub fn click(&self, (x, y): (i32, i32)) {
        let place = |length: i32| i16::try_from(length).expect("the point is on the screen");
        self.send(MOTION_NOTIFY_EVENT, 0, (place(x), place(y)));
        self.send(BUTTON_PRESS_EVENT, LEFT, (0, 0));
        self.send(BUTTON_RELEASE_EVENT, LEFT, (0, 0));
        self.arrive();
    }

    /// Types letters that need no modifier.
    ///
    /// # Panics
    /// If the keyboard lacks one of them.
    pub fn type_letters(&self, letters: &str) {
        for letter in letters.chars() {
            let key = self.key_of(letter);
            self.send(KEY_PRESS_EVENT, key, (0, 0));
            self.send(KEY_RELEASE_EVENT, key, (0, 0));
        }
        self.arrive();
    }

    fn key_of(&self, letter: char) -> Keycode {
        let setup = self.x.setup();
        let (first, last) = (setup.min_keycode, setup.max_keycode);
        let mapping = self.x.get_keyboard_mapping(first, last - first + 1);
        let mapping = mapping.expect("the display is reachable").reply();
        let mapping = mapping.expect("the display replies");
        // A Latin letter is its own keysym.
        let wanted = Keysym::from(letter);
        let per_key = usize::from(mapping.keysyms_per_keycode);
        let mut keys = (first..=last).zip(mapping.keysyms.chunks(per_key));
        let found = keys.find(|(_, keysyms)| keysyms.first() == Some(&wanted));
        found
            .map(|(key, _)| key)
            .unwrap_or_else(|| panic!("the keyboard has no {letter}"))
    }

    fn send(&self, kind: u8, detail: u8, (x, y): (i16, i16)) {
        self.x
            .xtest_fake_input(kind, detail, x11rb::CURRENT_TIME, self.root, x, y, 0)
            .expect("the display is reachable");
    }

    /// Returns once the display server has processed all input.
    fn arrive(&self) {
        let answered = self.x.get_input_focus().expect("the display is reachable");
        answered.reply().expect("the display replies");
    }
}
