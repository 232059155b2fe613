//! X keysyms of keys and characters.
//!
//! A pure table. Keycodes are resolved by the keymap.

use motorium_proto::domain::key::Key;
use xkeysym::{Keysym, key};

/// Returns the keysyms of `key`, in order of preference.
pub(super) fn of_key(key: Key) -> Vec<u32> {
    let one = match key {
        Key::Control => key::Control_L,
        Key::Shift => key::Shift_L,
        Key::Alt => return vec![key::Alt_L, key::Meta_L],
        Key::AltGr => return vec![key::ISO_Level3_Shift, key::Alt_R],
        Key::Super => key::Super_L,
        Key::Enter => key::Return,
        Key::Tab => key::Tab,
        Key::Space => key::space,
        Key::Backspace => key::BackSpace,
        Key::Delete => key::Delete,
        Key::Insert => key::Insert,
        Key::Escape => key::Escape,
        Key::Home => key::Home,
        Key::End => key::End,
        Key::PageUp => key::Page_Up,
        Key::PageDown => key::Page_Down,
        Key::Left => key::Left,
        Key::Right => key::Right,
        Key::Up => key::Up,
        Key::Down => key::Down,
        Key::Menu => key::Menu,
        Key::CapsLock => key::Caps_Lock,
        Key::NumLock => key::Num_Lock,
        Key::ScrollLock => key::Scroll_Lock,
        Key::PrintScreen => key::Print,
        Key::Pause => key::Pause,
        Key::Keypad0 => key::KP_0,
        Key::Keypad1 => key::KP_1,
        Key::Keypad2 => key::KP_2,
        Key::Keypad3 => key::KP_3,
        Key::Keypad4 => key::KP_4,
        Key::Keypad5 => key::KP_5,
        Key::Keypad6 => key::KP_6,
        Key::Keypad7 => key::KP_7,
        Key::Keypad8 => key::KP_8,
        Key::Keypad9 => key::KP_9,
        Key::KeypadAdd => key::KP_Add,
        Key::KeypadSubtract => key::KP_Subtract,
        Key::KeypadMultiply => key::KP_Multiply,
        Key::KeypadDivide => key::KP_Divide,
        Key::KeypadDecimal => key::KP_Decimal,
        Key::KeypadEqual => key::KP_Equal,
        Key::KeypadEnter => key::KP_Enter,
        Key::Character(character) => return of_character(character),
        // The keysyms of F1 to F24 are consecutive.
        Key::Function(number) => key::F1 + u32::from(number.saturating_sub(1)),
    };
    vec![one]
}

/// Returns whether a key with these keysyms opens a menu of the desktop or the application when it is pressed alone.
pub(super) fn opens_menu(symbols: &[u32]) -> bool {
    const MENU_MODIFIERS: [u32; 6] = [
        key::Super_L,
        key::Super_R,
        key::Alt_L,
        key::Alt_R,
        key::Meta_L,
        key::Meta_R,
    ];
    symbols.iter().any(|symbol| MENU_MODIFIERS.contains(symbol))
}

/// The letters of a US keyboard by row, each with the keycode of its first key (evdev's plus 8 for X).
const LETTER_ROWS: &[(u8, &str)] = &[(24, "qwertyuiop"), (38, "asdfghjkl"), (52, "zxcvbnm")];

/// Returns the keycode of the key with this letter on a US keyboard.
pub(super) fn physical_keycode(letter: char) -> Option<u8> {
    let letter = letter.to_ascii_lowercase();
    LETTER_ROWS.iter().find_map(|(first, row)| {
        let column = row.chars().position(|one| one == letter)?;
        Some(first + u8::try_from(column).ok()?)
    })
}

/// Keys with a name, without the function keys.
const NAMED: &[Key] = &[
    Key::Control,
    Key::Shift,
    Key::Alt,
    Key::AltGr,
    Key::Super,
    Key::Enter,
    Key::Tab,
    Key::Space,
    Key::Backspace,
    Key::Delete,
    Key::Insert,
    Key::Escape,
    Key::Home,
    Key::End,
    Key::PageUp,
    Key::PageDown,
    Key::Left,
    Key::Right,
    Key::Up,
    Key::Down,
    Key::Menu,
    Key::CapsLock,
    Key::NumLock,
    Key::ScrollLock,
    Key::PrintScreen,
    Key::Pause,
    Key::Keypad0,
    Key::Keypad1,
    Key::Keypad2,
    Key::Keypad3,
    Key::Keypad4,
    Key::Keypad5,
    Key::Keypad6,
    Key::Keypad7,
    Key::Keypad8,
    Key::Keypad9,
    Key::KeypadAdd,
    Key::KeypadSubtract,
    Key::KeypadMultiply,
    Key::KeypadDivide,
    Key::KeypadDecimal,
    Key::KeypadEqual,
    Key::KeypadEnter,
];

/// Returns the key of a keysym. The right key of a pair is reported as the left one.
pub(super) fn to_key(keysym: u32) -> Option<Key> {
    let left = match keysym {
        key::Control_R => key::Control_L,
        key::Shift_R => key::Shift_L,
        key::Meta_R => key::Meta_L,
        key::Super_R => key::Super_L,
        other => other,
    };
    let named = NAMED
        .iter()
        .copied()
        .find(|key| of_key(*key).contains(&left));
    let function = (1..=24)
        .map(Key::Function)
        .find(|key| of_key(*key).contains(&left));
    let character = || Keysym::new(keysym).key_char().map(Key::Character);
    named.or(function).or_else(character)
}

/// Returns the keysyms of `character`: the legacy one that layouts use, then the Unicode one, which every toolkit
/// supports.
pub(super) fn of_character(character: char) -> Vec<u32> {
    let named = Keysym::from_char(character).raw();
    let unicode = unicode(character);
    if named == unicode {
        vec![named]
    } else {
        vec![named, unicode]
    }
}

/// Returns the Unicode keysym. Latin-1 characters are their own keysym.
fn unicode(character: char) -> u32 {
    /// Offset of the Unicode keysyms (X protocol, appendix A).
    const UNICODE_OFFSET: u32 = 0x0100_0000;
    match u32::from(character) {
        code @ (0x20..=0x7e | 0xa0..=0xff) => code,
        code => UNICODE_OFFSET + code,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(key: Key, expected: &[u32]) {
        assert_eq!(of_key(key), expected, "{key}");
    }

    #[test]
    fn keysyms_have_their_keys() {
        for key in NAMED.iter().copied().chain([
            Key::Function(7),
            Key::Character('a'),
            Key::Character('ä'),
            Key::Character('€'),
            Key::Character('你'),
        ]) {
            assert!(
                of_key(key)
                    .iter()
                    .all(|&keysym| to_key(keysym) == Some(key)),
                "{key}"
            );
        }
        assert_eq!(to_key(key::Control_R), Some(Key::Control));
        assert_eq!(to_key(key::NoSymbol), None);
    }

    #[test]
    fn keys_have_their_keysyms() {
        check(Key::Enter, &[0xff0d]);
        check(Key::PageUp, &[0xff55]);
        check(Key::Function(1), &[0xffbe]);
        check(Key::Function(24), &[0xffd5]);
        check(Key::Character('a'), &[0x61]);
        check(Key::Character('ä'), &[0xe4]);
        check(Key::Character('€'), &[0x20ac, 0x0100_20ac]);
        check(Key::Character('你'), &[0x0100_4f60]);
    }
}
