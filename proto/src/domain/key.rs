//! Keys and their names.
//!
//! Accepts every spelling that planners use: xdotool's (`Return`, `Page_Down`, `super`), pyautogui's (`pagedown`,
//! `altleft`), the upper-case names of computer-use tools (`CTRL`, `ARROWLEFT`) and `cmd`. Drivers decide how to press
//! a key.
//!
//! The keyboard layout of a display is not known here: [`Key::on_us_keyboard`] compares chords by a US keyboard.

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

    /// Returns the keys of a chord as a US keyboard has them, modifiers first and without duplicates, so that different
    /// spellings of one chord are equal. Rules about chords compare these.
    ///
    /// Letters are in lower case, keys of the keypad those of the main block, and `!` is Shift and `1`. With a modifier
    /// besides Shift, a letter of another script is the Latin one on the same key, because applications read shortcuts
    /// by the key; and AltGr is Alt, which it is on layouts without a third level. A layout may make other chords of
    /// the same keys: an exact comparison needs the keymap of the display.
    #[must_use]
    pub fn on_us_keyboard(keys: &[Key]) -> Vec<Key> {
        let is_shortcut = keys
            .iter()
            .any(|key| key.is_modifier() && *key != Key::Shift);
        let mut struck: Vec<Key> = Vec::new();
        for &key in keys {
            match key.in_main_block() {
                Key::AltGr => struck.push(Key::Alt),
                Key::Character(character) => {
                    let lower = single_lower_case(character);
                    let latin = if is_shortcut {
                        on_latin_key(lower).unwrap_or(lower)
                    } else {
                        lower
                    };
                    match SHIFTED.iter().find(|(shifted, _)| *shifted == latin) {
                        Some(&(_, plain)) => struck.extend([Key::Shift, Key::Character(plain)]),
                        None => struck.push(Key::Character(latin)),
                    }
                }
                other => struck.push(other),
            }
        }
        let (modifiers, others): (Vec<Key>, Vec<Key>) =
            struck.into_iter().partition(|key| key.is_modifier());
        let ordered = [Key::Control, Key::Alt, Key::Shift, Key::Super];
        let mut keys: Vec<Key> = ordered
            .into_iter()
            .filter(|key| modifiers.contains(key))
            .collect();
        for key in others {
            if !keys.contains(&key) {
                keys.push(key);
            }
        }
        keys
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

/// Symbols of a US keyboard's shifted level, each with the key's plain character.
const SHIFTED: &[(char, char)] = &[
    ('~', '`'),
    ('!', '1'),
    ('@', '2'),
    ('#', '3'),
    ('$', '4'),
    ('%', '5'),
    ('^', '6'),
    ('&', '7'),
    ('*', '8'),
    ('(', '9'),
    (')', '0'),
    ('_', '-'),
    ('+', '='),
    ('{', '['),
    ('}', ']'),
    ('|', '\\'),
    (':', ';'),
    ('"', '\''),
    ('<', ','),
    ('>', '.'),
    ('?', '/'),
];

/// Letters of layouts without Latin ones, each with the character of the same key on a US keyboard (xkeyboard-config's
/// basic variants).
const OTHER_SCRIPTS: &[(&str, &str)] = &[
    // Russian, and the letters of Ukrainian and Belarusian that differ.
    (
        "йцукенгшщзхъфывапролджэячсмитьбюёіїєґў",
        "qwertyuiop[]asdfghjkl;'zxcvbnm,.`s]'\\o",
    ),
    // Greek.
    ("ςερτυθιοπασδφγηξκλζχψωβνμ", "wertyuiopasdfghjklzxcvbnm"),
    // Hebrew.
    ("קראטוןםפשדגכעיחלךףזסבהנמצתץ", "ertyuiopasdfghjkl;zxcvbnm,."),
    // Arabic.
    (
        "ضصثقفغعهخحجدشسيبلاتنمكطئءؤرىةوزظذ",
        "qwertyuiop[]asdfghjkl;'zxcvnm,./`",
    ),
];

/// Returns the character of a US keyboard on the key of a letter of another script.
fn on_latin_key(letter: char) -> Option<char> {
    OTHER_SCRIPTS.iter().find_map(|(letters, latin)| {
        let position = letters.chars().position(|one| one == letter)?;
        latin.chars().nth(position)
    })
}

/// Returns the lower case of a character, if it is one character.
fn single_lower_case(character: char) -> char {
    let mut lower = character.to_lowercase();
    match (lower.next(), lower.next()) {
        (Some(lower), None) => lower,
        _ => character,
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
    fn spellings_of_one_chord_are_equal_on_a_us_keyboard() {
        let on_us = |chord| Key::on_us_keyboard(&Key::parse_chord("keys", chord).unwrap());
        for (chord, spellings) in [
            ("ctrl+w", ["w+CTRL", "Control_R+W", "ctrl+ц", "ctrl+ς"]),
            (
                "ctrl+shift+1",
                [
                    "ctrl+!",
                    "shift+ctrl+KP_1",
                    "ctrl+shift+!",
                    "ctrl+shift+num1",
                ],
            ),
            (
                "ctrl+alt+q",
                ["ctrl+altgr+q", "alt+й+ctrl", "ctrl+alt+Q", "ctrl+alt+ض"],
            ),
            (
                "alt+enter",
                ["KP_Enter+alt", "alt+return", "enter+alt", "altgr+Return"],
            ),
        ] {
            for spelling in spellings {
                assert_eq!(on_us(spelling), on_us(chord), "{spelling}");
            }
        }
        for (letters, latin) in OTHER_SCRIPTS {
            assert_eq!(letters.chars().count(), latin.chars().count(), "{letters}");
        }
        // Without a modifier it is a letter of its own.
        assert_ne!(on_us("ц"), on_us("w"));
        assert_ne!(on_us("shift+ц"), on_us("shift+w"));
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
