//! Keys and their names.
//!
//! Accepts every spelling that planners use: xdotool's (`Return`, `Page_Down`, `super`), pyautogui's (`pagedown`,
//! `altleft`), the upper-case names of computer-use tools (`CTRL`, `ARROWLEFT`) and `cmd`. Drivers decide how to press
//! a key.
//!
//! Keyboard layouts are not known here.

use std::fmt;

use crate::field_error::FieldError;

/// Declares the named keys of [`Key`]: the canonical name, then its aliases (lower case, without `_` and `-`).
macro_rules! named_keys {
    ($($variant:ident = $name:literal $(| $alias:literal)*,)*) => {
        /// A key: a named key, or the key that produces a character.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Key {
            $($variant,)*
            /// The key with this unshifted character; if there is none, with this shifted character.
            Character(char),
            /// F1 to F24.
            Function(u8),
        }

        impl Key {
            /// Names and aliases of the named keys. Excludes characters and F1 to F24.
            pub const NAMES: &[(&str, Key)] = &[
                $(($name, Key::$variant), $(($alias, Key::$variant),)*)*
            ];
        }

        impl fmt::Display for Key {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self {
                    $(Key::$variant => f.write_str($name),)*
                    Key::Character(character) => write!(f, "{character}"),
                    Key::Function(number) => write!(f, "f{number}"),
                }
            }
        }
    };
}

named_keys! {
    Control = "ctrl" | "control" | "controll" | "controlr" | "ctrlleft" | "ctrlright" | "controlleft" | "controlright",
    Shift = "shift" | "shiftl" | "shiftr" | "shiftleft" | "shiftright",
    Alt = "alt" | "altl" | "altleft" | "option" | "optionleft" | "opt",
    AltGr = "altgr" | "altr" | "altright" | "optionright" | "iso3levelshift" | "isolevel3shift",
    Super = "super" | "superl" | "superr" | "win" | "winleft" | "winright" | "windows" | "meta" | "metal" | "metar" | "cmd" | "command",
    Enter = "enter" | "return" | "\n" | "\r",
    Tab = "tab" | "\t",
    Space = "space" | "spacebar" | " ",
    Backspace = "backspace" | "back",
    Delete = "delete" | "del",
    Insert = "insert" | "ins",
    Escape = "escape" | "esc",
    Home = "home",
    End = "end",
    PageUp = "pageup" | "pgup" | "prior",
    PageDown = "pagedown" | "pgdn" | "pgdown" | "next",
    Left = "left" | "arrowleft" | "leftarrow",
    Right = "right" | "arrowright" | "rightarrow",
    Up = "up" | "arrowup" | "uparrow",
    Down = "down" | "arrowdown" | "downarrow",
    Menu = "menu" | "apps" | "contextmenu",
    CapsLock = "capslock",
    NumLock = "numlock",
    ScrollLock = "scrolllock",
    PrintScreen = "printscreen" | "print" | "prtsc" | "prtscr" | "prntscrn",
    Pause = "pause" | "break",
    Keypad0 = "kp0" | "numpad0" | "num0",
    Keypad1 = "kp1" | "numpad1" | "num1",
    Keypad2 = "kp2" | "numpad2" | "num2",
    Keypad3 = "kp3" | "numpad3" | "num3",
    Keypad4 = "kp4" | "numpad4" | "num4",
    Keypad5 = "kp5" | "numpad5" | "num5",
    Keypad6 = "kp6" | "numpad6" | "num6",
    Keypad7 = "kp7" | "numpad7" | "num7",
    Keypad8 = "kp8" | "numpad8" | "num8",
    Keypad9 = "kp9" | "numpad9" | "num9",
    KeypadAdd = "kpadd" | "numpadadd" | "add",
    KeypadSubtract = "kpsubtract" | "numpadsubtract" | "subtract",
    KeypadMultiply = "kpmultiply" | "numpadmultiply" | "multiply",
    KeypadDivide = "kpdivide" | "numpaddivide" | "divide",
    KeypadDecimal = "kpdecimal" | "numpaddecimal" | "decimal",
    KeypadEqual = "kpequal" | "numpadequal",
    KeypadEnter = "kpenter" | "numpadenter" | "numenter",
}

impl Key {
    /// Names of punctuation keys, from X11 and other systems.
    pub const PUNCTUATION: &[(&str, Key)] = &[
        ("plus", Key::Character('+')),
        ("minus", Key::Character('-')),
        ("equal", Key::Character('=')),
        ("equals", Key::Character('=')),
        ("comma", Key::Character(',')),
        ("period", Key::Character('.')),
        ("dot", Key::Character('.')),
        ("slash", Key::Character('/')),
        ("backslash", Key::Character('\\')),
        ("semicolon", Key::Character(';')),
        ("colon", Key::Character(':')),
        ("apostrophe", Key::Character('\'')),
        ("quote", Key::Character('\'')),
        ("grave", Key::Character('`')),
        ("backquote", Key::Character('`')),
        ("backtick", Key::Character('`')),
        ("bracketleft", Key::Character('[')),
        ("bracketright", Key::Character(']')),
        ("asterisk", Key::Character('*')),
        ("underscore", Key::Character('_')),
    ];

    /// Parses the name of a key, in any spelling of the table.
    ///
    /// # Errors
    /// If no key has this name; the error quotes it.
    pub fn parse(field: &str, name: &str) -> Result<Key, FieldError> {
        let mut characters = name.chars();
        // A single character is itself and keeps its case; names are folded below.
        if let (Some(character), None) = (characters.next(), characters.next())
            && !character.is_control()
            && character != ' '
        {
            return Ok(Key::Character(character));
        }
        let folded: String = name
            .to_lowercase()
            .chars()
            .filter(|c| !matches!(c, '_' | '-'))
            .collect();
        let function = folded
            .strip_prefix('f')
            .and_then(|digits| digits.parse::<u8>().ok());
        // After the single characters, so that `f` is a letter. Keyboards and X11 have no more than F24.
        if let Some(number @ 1..=24) = function {
            return Ok(Key::Function(number));
        }
        named(Key::NAMES, &folded)
            .or_else(|| named(Key::PUNCTUATION, &folded))
            .ok_or_else(|| FieldError::new(field, format!("no key is called `{name}`; use names like ctrl, enter, pagedown, f5 or a character")))
    }

    /// Parses a chord: keys joined by `+` (`ctrl+shift+t`, `ctrl++`).
    ///
    /// # Errors
    /// If a key is unknown or the chord is empty.
    pub fn parse_chord(field: &str, chord: &str) -> Result<Vec<Key>, FieldError> {
        let chord = chord.trim();
        if chord.is_empty() {
            return Err(FieldError::new(field, "the chord is empty"));
        }
        if chord == "+" {
            return Ok(vec![Key::Character('+')]);
        }
        // A plus at the end of a chord is the plus key itself, not a separator.
        let (names, plus) = match chord.strip_suffix("++") {
            Some(rest) => (rest, true),
            None => (chord, false),
        };
        let mut keys = names
            .split('+')
            .map(|name| Key::parse(field, name.trim()))
            .collect::<Result<Vec<_>, _>>()?;
        if plus {
            keys.push(Key::Character('+'));
        }
        Ok(keys)
    }

    /// Returns the key of the main block that does the same as a key of the keypad, and any other key unchanged. Rules
    /// about keys apply to both.
    #[must_use]
    pub fn in_main_block(self) -> Key {
        match self {
            Key::Keypad0 => Key::Character('0'),
            Key::Keypad1 => Key::Character('1'),
            Key::Keypad2 => Key::Character('2'),
            Key::Keypad3 => Key::Character('3'),
            Key::Keypad4 => Key::Character('4'),
            Key::Keypad5 => Key::Character('5'),
            Key::Keypad6 => Key::Character('6'),
            Key::Keypad7 => Key::Character('7'),
            Key::Keypad8 => Key::Character('8'),
            Key::Keypad9 => Key::Character('9'),
            Key::KeypadAdd => Key::Character('+'),
            Key::KeypadSubtract => Key::Character('-'),
            Key::KeypadMultiply => Key::Character('*'),
            Key::KeypadDivide => Key::Character('/'),
            Key::KeypadDecimal => Key::Character('.'),
            Key::KeypadEqual => Key::Character('='),
            Key::KeypadEnter => Key::Enter,
            other => other,
        }
    }

    /// Returns true for modifier keys.
    #[must_use]
    pub fn is_modifier(self) -> bool {
        matches!(
            self,
            Key::Control | Key::Shift | Key::Alt | Key::AltGr | Key::Super
        )
    }
}

fn named(names: &[(&str, Key)], wanted: &str) -> Option<Key> {
    let found = names.iter().find(|(name, _)| *name == wanted);
    found.map(|(_, key)| *key)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(chord: &str, expected: &[Key]) {
        assert_eq!(
            Key::parse_chord("keys", chord).unwrap(),
            expected,
            "{chord}"
        );
    }

    #[test]
    fn every_spelling_means_the_same_key() {
        check("ctrl+s", &[Key::Control, Key::Character('s')]);
        check("Control_L+S", &[Key::Control, Key::Character('S')]);
        check(
            "CTRL+SHIFT+T",
            &[Key::Control, Key::Shift, Key::Character('T')],
        );
        check("cmd + a", &[Key::Super, Key::Character('a')]);
        check("ARROWLEFT", &[Key::Left]);
        check("Page_Down", &[Key::PageDown]);
        check("pgdn", &[Key::PageDown]);
        check("Return", &[Key::Enter]);
        check("F12", &[Key::Function(12)]);
        check("f", &[Key::Character('f')]);
        check("ctrl++", &[Key::Control, Key::Character('+')]);
        check("ctrl+minus", &[Key::Control, Key::Character('-')]);
        check("+", &[Key::Character('+')]);
        check("你", &[Key::Character('你')]);
        check("KP_7", &[Key::Keypad7]);
        check("ctrl+KP_Add", &[Key::Control, Key::KeypadAdd]);
        check("KP_Enter", &[Key::KeypadEnter]);
    }

    #[test]
    fn unknown_key_names_are_errors() {
        for bad in ["ctrl+flurb", "", "f25", "ctrl+", "+a"] {
            let error = Key::parse_chord("keys", bad).unwrap_err();
            assert_eq!(error.field, "keys", "{bad}");
        }
        assert!(
            Key::parse("keys", "flurb")
                .unwrap_err()
                .description
                .contains("`flurb`")
        );
    }

    #[test]
    fn names_round_trip() {
        for chord in [
            "ctrl",
            "altgr",
            "pagedown",
            "f5",
            "a",
            "enter",
            "printscreen",
            "kp0",
            "kpenter",
            "+",
        ] {
            let keys = Key::parse_chord("keys", chord).unwrap();
            assert_eq!(Key::parse("keys", &keys[0].to_string()).unwrap(), keys[0]);
        }
    }
}
