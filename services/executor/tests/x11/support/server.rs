//! Another client of the display server, which observes and interferes.

use std::collections::HashMap;

use x11rb::connection::Connection as _;
use x11rb::protocol::Event;
use x11rb::protocol::xkb::{ConnectionExt as _, Group};
use x11rb::protocol::xproto::{
    AtomEnum, BUTTON_PRESS_EVENT, BUTTON_RELEASE_EVENT, ConnectionExt as _, CreateWindowAux,
    EventMask, KEY_PRESS_EVENT, KEY_RELEASE_EVENT, MOTION_NOTIFY_EVENT, ModMask, Window,
    WindowClass,
};
use x11rb::protocol::xtest::ConnectionExt as _;
use x11rb::rust_connection::RustConnection;

/// The core keyboard's device id in XKB requests.
const CORE_KEYBOARD: u16 = 0x100;
/// Modifier bit of Caps Lock.
pub(crate) const LOCK: u8 = 2;
/// Evdev keycode of the left Shift key.
const SHIFT: u8 = 50;
/// Evdev keycode of the left Super key.
const SUPER: u8 = 133;
/// Evdev keycode of F8.
const F8: u8 = 74;

/// Another client of the display.
pub(crate) struct OtherClient {
    x: RustConnection,
    root: Window,
}

impl OtherClient {
    pub(crate) fn connect(display: &str) -> Self {
        let (x, screen) = x11rb::connect(Some(display)).unwrap();
        x.xkb_use_extension(1, 0).unwrap().reply().unwrap();
        let root = x.setup().roots[screen].root;
        Self { x, root }
    }

    /// Returns the names of all pressed keys and buttons.
    pub(crate) fn pressed(&self) -> Vec<String> {
        let keys = self.x.query_keymap().unwrap().reply().unwrap().keys;
        let keys = (0..=255u8).filter(|key| keys[usize::from(key / 8)] & (1 << (key % 8)) != 0);
        let mask = u16::from(
            self.x
                .query_pointer(self.root)
                .unwrap()
                .reply()
                .unwrap()
                .mask,
        );
        let buttons = (1..=5).filter(|button| mask & (1 << (7 + button)) != 0);
        keys.map(|key| format!("key {key}"))
            .chain(buttons.map(|button| format!("button {button}")))
            .collect()
    }

    pub(crate) fn locked(&self) -> u8 {
        (u16::from(
            self.x
                .xkb_get_state(CORE_KEYBOARD)
                .unwrap()
                .reply()
                .unwrap()
                .locked_mods,
        ) & 0xff) as u8
    }

    pub(crate) fn group(&self) -> u8 {
        self.x
            .xkb_get_state(CORE_KEYBOARD)
            .unwrap()
            .reply()
            .unwrap()
            .group
            .into()
    }

    pub(crate) fn lock_group(&self, group: u8) {
        let none = ModMask::from(0u8);
        self.x
            .xkb_latch_lock_state(
                CORE_KEYBOARD,
                none,
                none,
                true,
                Group::from(group),
                none,
                false,
                0,
            )
            .unwrap()
            .check()
            .unwrap();
    }

    /// Returns the remapped keycodes recorded on the root window: pairs of keycode and keysym.
    pub(crate) fn lent(&self) -> Vec<u32> {
        let name = self
            .x
            .intern_atom(false, b"_MOTORIUM_LENT_KEYS")
            .unwrap()
            .reply()
            .unwrap()
            .atom;
        let property = self
            .x
            .get_property(false, self.root, name, AtomEnum::CARDINAL, 0, 1000)
            .unwrap();
        property
            .reply()
            .unwrap()
            .value32()
            .into_iter()
            .flatten()
            .collect()
    }

    /// Returns the keysyms of every key.
    pub(crate) fn keymap(&self) -> Vec<Vec<u32>> {
        let setup = self.x.setup();
        let (first, last) = (setup.min_keycode, setup.max_keycode);
        let asked = self.x.get_keyboard_mapping(first, last - first + 1);
        let mapping = asked.unwrap().reply().unwrap();
        let trimmed = |symbols: &[u32]| {
            let used = symbols.iter().rposition(|&symbol| symbol != 0);
            symbols[..used.map_or(0, |last| last + 1)].to_vec()
        };
        let keys = mapping.keysyms.chunks(mapping.keysyms_per_keycode.into());
        keys.map(trimmed).collect()
    }

    /// Returns whether an input method is running on this display.
    pub(crate) fn has_input_method(&self) -> bool {
        let atom = |name: &[u8]| {
            self.x
                .intern_atom(false, name)
                .unwrap()
                .reply()
                .unwrap()
                .atom
        };
        let servers = self
            .x
            .get_property(false, self.root, atom(b"XIM_SERVERS"), AtomEnum::ATOM, 0, 9)
            .unwrap();
        let servers: Vec<u32> = servers
            .reply()
            .unwrap()
            .value32()
            .into_iter()
            .flatten()
            .collect();
        let owned = |server: &u32| {
            let owner = self
                .x
                .get_selection_owner(*server)
                .unwrap()
                .reply()
                .unwrap();
            owner.owner != x11rb::NONE
        };
        servers.iter().any(owned)
    }

    /// Presses keys of a US keyboard, without normalising the keyboard.
    pub(crate) async fn strike(&self, text: &str) {
        for character in text.chars() {
            let keycode = match character {
                'i' => 31,
                'n' => 57,
                ' ' => 65,
                other => panic!("no key is known for {other}"),
            };
            self.tap(keycode);
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
    }

    /// Presses F8, to which the test pages respond.
    pub(crate) fn call(&self) {
        self.tap(F8);
    }

    pub(crate) fn press_shift(&self) {
        self.press_key(SHIFT);
    }

    pub(crate) fn press_super(&self) {
        self.press_key(SUPER);
    }

    pub(crate) fn press_button(&self, button: u8) {
        self.fake(BUTTON_PRESS_EVENT, button);
    }

    pub(crate) fn move_to(&self, x: i16, y: i16) {
        self.fake_at(MOTION_NOTIFY_EVENT, 0, x, y);
    }

    pub(crate) fn click(&self, button: u8) {
        self.fake(BUTTON_PRESS_EVENT, button);
        self.fake(BUTTON_RELEASE_EVENT, button);
    }

    pub(crate) fn press_key(&self, keycode: u8) {
        self.fake(KEY_PRESS_EVENT, keycode);
    }

    pub(crate) fn release_key(&self, keycode: u8) {
        self.fake(KEY_RELEASE_EVENT, keycode);
    }

    pub(crate) fn tap(&self, keycode: u8) {
        self.press_key(keycode);
        self.release_key(keycode);
    }

    fn fake(&self, kind: u8, detail: u8) {
        self.fake_at(kind, detail, 0, 0);
    }

    fn fake_at(&self, kind: u8, detail: u8, x: i16, y: i16) {
        self.x
            .xtest_fake_input(kind, detail, 0, self.root, x, y, 0)
            .unwrap()
            .check()
            .unwrap();
    }
}

/// Records all button presses on a display by position.
pub(crate) struct Presses {
    x: RustConnection,
}

impl Presses {
    /// Covers the display with a window that receives every click.
    pub(crate) fn watch(display: &str) -> Self {
        let (x, screen) = x11rb::connect(Some(display)).unwrap();
        let screen = &x.setup().roots[screen];
        let window = x.generate_id().unwrap();
        let look = CreateWindowAux::new()
            .override_redirect(1)
            .event_mask(EventMask::BUTTON_PRESS);
        let (width, height) = (screen.width_in_pixels, screen.height_in_pixels);
        x.create_window(
            screen.root_depth,
            window,
            screen.root,
            0,
            0,
            width,
            height,
            0,
            WindowClass::INPUT_OUTPUT,
            screen.root_visual,
            &look,
        )
        .unwrap()
        .check()
        .unwrap();
        x.map_window(window).unwrap().check().unwrap();
        Self { x }
    }

    /// Returns the number of presses per point so far.
    pub(crate) fn so_far(&self) -> HashMap<(i32, i32), u32> {
        // The reply arrives after all earlier events.
        self.x.get_input_focus().unwrap().reply().unwrap();
        let mut presses = HashMap::new();
        while let Some(event) = self.x.poll_for_event().unwrap() {
            if let Event::ButtonPress(press) = event {
                let at = (press.root_x.into(), press.root_y.into());
                *presses.entry(at).or_default() += 1;
            }
        }
        presses
    }
}
