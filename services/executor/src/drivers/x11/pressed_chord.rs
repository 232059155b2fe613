//! Compares chords by what they do on the current layout: by keycodes and modifiers instead of names.
//!
//! Pure. Applications read a keycode in different ways: as the keysym of the current or another layout group, as a letter
//! or digit of any level, or, on layouts without Latin letters, as the key of a US keyboard. A forbidden chord is
//! pressed if any of them reads it. Which keycodes a chord presses is the keyboard's matter.

use motorium_proto::domain::key::Key;
use x11rb::protocol::xproto::Keycode;
use xkeysym::{Keysym, key};

use super::keymap::{Keymap, NUM_LOCK, SHIFT};
use super::keysym;
use crate::guard::rules::Chord;

/// Keycodes that are pressed together.
#[derive(Debug)]
pub(super) struct PressedChord<'a> {
    keymap: &'a Keymap,
    keycodes: &'a [Keycode],
    modifiers: u8,
}

impl<'a> PressedChord<'a> {
    /// Creates the chord of these keycodes. `held` are the modifiers that are active besides.
    pub(super) fn new(keymap: &'a Keymap, keycodes: &'a [Keycode], held: u8) -> Self {
        let own = keycodes.iter().map(|&keycode| keymap.modifiers_of(keycode));
        Self {
            keymap,
            keycodes,
            modifiers: own.fold(held, |all, one| all | one),
        }
    }

    /// Returns the first of `chords` that this one presses, alone or as a part.
    pub(super) fn first_of<'c>(
        &self,
        chords: impl IntoIterator<Item = &'c Chord>,
    ) -> Option<&'c Chord> {
        let mut chords = chords.into_iter();
        chords.find(|chord| chord.keys.iter().all(|&key| self.presses(key)))
    }

    fn presses(&self, key: Key) -> bool {
        if key.is_modifier() {
            return self.keymap.modifiers_with(modifier_symbols(key)) & self.modifiers != 0;
        }
        let key = key.in_main_block();
        let symbols = symbols(key);
        self.keycodes
            .iter()
            .any(|&keycode| self.is_read_as(keycode, key, &symbols))
    }

    fn is_read_as(&self, keycode: Keycode, key: Key, symbols: &[u32]) -> bool {
        // Num Lock changes at any time. Shortcuts with letters and digits ignore whether the layout has them shifted.
        let ignored = match key {
            Key::Character(character) if character.is_alphanumeric() => NUM_LOCK | SHIFT,
            _ => NUM_LOCK,
        };
        let mut strokes = self.keymap.strokes_of(keycode);
        let as_symbol = strokes.any(|(symbol, stroke)| {
            symbols.contains(&symbol) && stroke.modifiers & !ignored & !self.modifiers == 0
        });
        as_symbol || self.is_read_as_letter(keycode, key)
    }

    /// Returns whether browsers take a key without Latin letters for this letter.
    fn is_read_as_letter(&self, keycode: Keycode, key: Key) -> bool {
        let Key::Character(letter) = key else {
            return false;
        };
        let mut symbols = self.keymap.symbols(keycode).iter();
        keysym::physical_keycode(letter) == Some(keycode)
            && !symbols.any(|&symbol| is_latin_letter(symbol))
    }
}

fn is_latin_letter(symbol: u32) -> bool {
    Keysym::new(symbol)
        .key_char()
        .is_some_and(|character| character.is_ascii_alphabetic())
}

/// Returns the keysyms of the keys that act as a modifier.
fn modifier_symbols(modifier: Key) -> &'static [u32] {
    match modifier {
        Key::Control => &[key::Control_L, key::Control_R],
        Key::Shift => &[key::Shift_L, key::Shift_R],
        Key::Alt => &[key::Alt_L, key::Alt_R, key::Meta_L, key::Meta_R],
        Key::AltGr => &[key::ISO_Level3_Shift, key::Mode_switch, key::Alt_R],
        Key::Super => &[key::Super_L, key::Super_R, key::Hyper_L, key::Hyper_R],
        _ => &[],
    }
}

/// Returns every keysym that does the same as a key of the main block.
fn symbols(key: Key) -> Vec<u32> {
    let mut symbols = keysym::of_key(key);
    match key {
        Key::Character(character) => {
            let other_case = character.to_lowercase().chain(character.to_uppercase());
            symbols.extend(other_case.flat_map(keysym::of_character));
            symbols.extend(of_keypad(character));
        }
        Key::Enter => symbols.push(key::KP_Enter),
        Key::Tab => symbols.extend([key::KP_Tab, key::ISO_Left_Tab]),
        Key::Space => symbols.push(key::KP_Space),
        // The keypad's key deletes unless Num Lock is on, which each program and the system read for themselves.
        Key::Delete => symbols.extend([key::KP_Delete, key::KP_Decimal]),
        Key::Insert => symbols.push(key::KP_Insert),
        Key::Home => symbols.push(key::KP_Home),
        Key::End => symbols.push(key::KP_End),
        Key::PageUp => symbols.push(key::KP_Page_Up),
        Key::PageDown => symbols.push(key::KP_Page_Down),
        Key::Left => symbols.push(key::KP_Left),
        Key::Right => symbols.push(key::KP_Right),
        Key::Up => symbols.push(key::KP_Up),
        Key::Down => symbols.push(key::KP_Down),
        Key::PrintScreen => symbols.push(key::Sys_Req),
        Key::Pause => symbols.push(key::Break),
        _ => {}
    }
    symbols
}

/// Returns the keysym of the keypad's key with a character.
fn of_keypad(character: char) -> Option<u32> {
    Some(match character {
        // The keysyms of the digits are consecutive.
        '0'..='9' => key::KP_0 + (u32::from(character) - u32::from('0')),
        '+' => key::KP_Add,
        '-' => key::KP_Subtract,
        '*' => key::KP_Multiply,
        '/' => key::KP_Divide,
        '.' => key::KP_Decimal,
        '=' => key::KP_Equal,
        _ => return None,
    })
}
