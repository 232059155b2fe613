//! Keyboard gestures: chords, held keys, and typing.
//!
//! Before typing the keyboard is normalised, so that the keymap is valid: first layout group, no lock, no latch, no
//! modifier held by another program. Locks and group are restored afterwards. Applications do not notice, because
//! every key event carries its state.

use std::time::Duration;

use motorium_proto::domain::frame::is_browser;
use motorium_proto::domain::key::Key;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use x11rb::protocol::xkb::{ConnectionExt as _, Group};
use x11rb::protocol::xproto::{Keycode, ModMask};

use super::connection::OrDisplayError;
use super::held_input::Pressable;
use super::key_remap::KeyRemaps;
use super::keymap::{
    CORE_KEYBOARD_DEVICE, KeyboardState, Keymap, NUM_LOCK, SavedKeyboardState, Stroke,
};
use super::keysym;
use super::pressed_chord::PressedChord;
use super::windows::{self, TextTarget};
use super::xtest::XTestInput;
use crate::drivers::Error;
use crate::drivers::pause::{check, pause};
use crate::guard::rules::Chord;

/// Press duration of a chord. Programs that poll the keyboard miss shorter ones.
const CHORD_HOLD: Duration = Duration::from_millis(10);
/// Delay between repetitions of a chord.
// As long as a press, so that repetitions are apart for programs that poll.
const CHORD_GAP: Duration = Duration::from_millis(10);
/// Keystrokes per write. The stop signal is checked between writes.
pub(super) const STROKES_PER_WRITE: usize = 20;
/// Delay between two writes. About as fast as applications read text, so that little is in flight when a stop comes.
const WRITE_GAP: Duration = Duration::from_millis(8);

/// Delay for the window manager to open what it opens at the release of a modifier. icewm opens its menu in less than
/// 75 ms.
const MENU_DELAY: Duration = Duration::from_millis(120);

/// Timeout of the release of a modifier that a person holds.
// A person who holds a key on purpose is not waited for.
const RELEASE_TIMEOUT: Duration = Duration::from_millis(500);
/// Polling interval for it.
// The release is noticed before the next key is due.
const RELEASE_POLL_INTERVAL: Duration = Duration::from_millis(5);

/// Locks that change the meaning of keys. Num Lock only affects the keypad.
const MEANINGFUL_LOCKS: u8 = !NUM_LOCK;

/// Returns the keycode of a modifier.
fn modifier_keycode(keymap: &Keymap, key: Key) -> Result<Keycode, Error> {
    if !key.is_modifier() {
        return Err(Error::InvalidAction {
            what: format!("`{key}` is not a modifier key"),
        });
    }
    let stroke = keymap.stroke(&keysym::of_key(key));
    stroke
        .map(|stroke| stroke.keycode)
        .ok_or_else(|| Error::UnknownKey {
            key: key.to_string(),
        })
}

/// The keycodes of a chord in press order, and the layout group in which they are valid.
#[derive(Debug)]
struct ChordKeys {
    keycodes: Vec<Keycode>,
    group: u8,
    /// A key of the keypad that needs Num Lock.
    num_lock: bool,
}

impl XTestInput {
    /// Returns the keycodes of modifiers to hold during a click.
    pub(super) fn modifier_keycodes(&self, modifiers: &[Key]) -> Result<Vec<Keycode>, Error> {
        if modifiers.is_empty() {
            return Ok(Vec::new());
        }
        let keymap = Keymap::read(&self.link)?;
        let keycodes = modifiers.iter().map(|&key| modifier_keycode(&keymap, key));
        let keycodes = keycodes.collect::<Result<Vec<_>, _>>()?;
        self.check_pressed(&PressedChord::new(&keymap, &keycodes, 0))?;
        Ok(keycodes)
    }

    fn check_pressed(&self, pressed: &PressedChord<'_>) -> Result<(), Error> {
        refuse_forbidden(pressed, self.forbidden_chords())
    }

    /// Fails if a forbidden chord is pressed by typing `text`.
    pub(super) fn check_typed(&self, keymap: &Keymap, text: &str) -> Result<(), Error> {
        // Typing presses no other modifiers than Shift and those of higher levels.
        let is_typable = |chord: &&Chord| {
            let keys = &chord.keys;
            ![Key::Control, Key::Alt, Key::Super]
                .iter()
                .any(|modifier| keys.contains(modifier))
        };
        let typable: Vec<&Chord> = self.forbidden_chords().iter().filter(is_typable).collect();
        if typable.is_empty() {
            return Ok(());
        }
        for character in text.chars() {
            // What the layout lacks gets a key of its own, which presses no other.
            let Ok(stroke) = stroke_of(keymap, character) else {
                continue;
            };
            let keycodes = with_modifiers(keymap, stroke);
            let pressed = PressedChord::new(keymap, &keycodes, 0);
            refuse_forbidden(&pressed, typable.iter().copied())?;
        }
        Ok(())
    }

    /// Presses a chord `repeat` times.
    pub(super) fn chord(
        &mut self,
        keys: &[Key],
        repeat: u32,
        remaps: &mut KeyRemaps,
        stop: &CancellationToken,
    ) -> Result<(), Error> {
        let chord = self.resolve_chord(keys, remaps, stop)?;
        // A chord with a lock key changes the lock, which must not be restored.
        if !keys.iter().any(|key| is_lock(*key)) {
            self.prepare_keyboard(&chord, stop)?;
        }
        for nth in 0..repeat.max(1) {
            if nth > 0 {
                pause(CHORD_GAP, stop)?;
            }
            check(stop)?;
            self.strike(&chord.keycodes, CHORD_HOLD)?;
            self.sync()?;
        }
        self.restore_keyboard()
    }

    /// Brings the keyboard into the state in which the keycodes of a chord are valid.
    fn prepare_keyboard(
        &mut self,
        chord: &ChordKeys,
        stop: &CancellationToken,
    ) -> Result<(), Error> {
        self.normalise_keyboard(stop)?;
        self.select_group(chord.group)?;
        match chord.num_lock {
            true => self.set_num_lock(),
            false => Ok(()),
        }
    }

    /// Holds keys for a duration.
    pub(super) fn hold(
        &mut self,
        keys: &[Key],
        duration: Duration,
        remaps: &mut KeyRemaps,
        stop: &CancellationToken,
    ) -> Result<(), Error> {
        let chord = self.resolve_chord(keys, remaps, stop)?;
        self.prepare_keyboard(&chord, stop)?;
        let before = self.held().len();
        for &keycode in &chord.keycodes {
            self.press(Pressable::Key(keycode), Duration::ZERO)?;
        }
        self.sync()?;
        let paused = pause(duration, stop);
        self.release_held(before)?;
        self.restore_keyboard()?;
        paused
    }

    /// Types characters that the keymap (with remapped keycodes) has, while the target window has the focus. Newline
    /// is Return, tab is Tab.
    pub(super) fn type_characters(
        &mut self,
        text: &str,
        recipient: TextTarget<'_>,
        stop: &CancellationToken,
    ) -> Result<(), Error> {
        let characters: Vec<char> = text.chars().collect();
        let mut has_interfered = false;
        for (nth, chunk) in characters.chunks(STROKES_PER_WRITE).enumerate() {
            if nth > 0 {
                pause(WRITE_GAP, stop)?;
            }
            check(stop)?;
            recipient.check(&self.link)?;
            // Read for every chunk: the layout or a lock may change in the middle of a long text.
            let keymap = Keymap::read(&self.link)?;
            let strokes = chunk
                .iter()
                .map(|&character| stroke_of(&keymap, character))
                .collect::<Result<Vec<_>, _>>()?;
            if self.normalise_keyboard(stop)? {
                has_interfered = true;
                self.settle_after_release(recipient, stop)?;
            }
            for stroke in strokes {
                self.select_group(stroke.group)?;
                self.strike(&with_modifiers(&keymap, stroke), Duration::ZERO)?;
            }
            self.restore_keyboard()?;
            self.sync()?;
            // With a modifier that a person holds, the keys were shortcuts of an unknown program.
            if KeyboardState::read(&self.link)?.held != 0 {
                return Err(Error::ModifierDuringText);
            }
        }
        match has_interfered {
            true => self.check_recipient(recipient),
            false => Ok(()),
        }
    }

    /// Waits until the window manager has handled the release of a person's modifier, and checks which window
    /// receives the keys.
    fn settle_after_release(
        &self,
        recipient: TextTarget<'_>,
        stop: &CancellationToken,
    ) -> Result<(), Error> {
        pause(MENU_DELAY, stop)?;
        self.check_recipient(recipient)
    }

    /// Fails if the keys do not reach the recipient: it has lost the focus, or a menu has taken the keyboard.
    fn check_recipient(&self, recipient: TextTarget<'_>) -> Result<(), Error> {
        recipient.check(&self.link)?;
        match self.is_keyboard_grabbed()? {
            true => Err(Error::KeyboardGrabbed),
            false => Ok(()),
        }
    }

    /// Remaps keycodes for the characters of `text` that the keymap lacks.
    pub(super) fn remap_missing(
        &mut self,
        text: &str,
        remaps: &mut KeyRemaps,
        stop: &CancellationToken,
    ) -> Result<(), Error> {
        let wanted = text
            .chars()
            .filter(|character| !matches!(character, '\n' | '\t'));
        self.remap(wanted.map(keysym::of_character).collect(), remaps, stop)
    }

    /// Ensures that the keymap has every wanted character. Each is given by its alternative keysyms, the one to remap
    /// last.
    fn remap(
        &mut self,
        wanted: Vec<Vec<u32>>,
        remaps: &mut KeyRemaps,
        stop: &CancellationToken,
    ) -> Result<(), Error> {
        let mut keymap = Keymap::read(&self.link)?;
        let mut lacking = missing(&keymap, &wanted);
        if lacking.len() > keymap.empty_keycodes().len() {
            // Remapped keycodes are in use until the application has read what was typed with them.
            windows::wait_for_application(&self.link, stop)?;
            remaps.restore(&self.link)?;
            keymap = Keymap::read(&self.link)?;
            lacking = missing(&keymap, &wanted);
        }
        if lacking.is_empty() {
            return Ok(());
        }
        remaps.remap(&self.link, &keymap, &lacking, stop)
    }

    /// Presses in order and releases in reverse order, in one write.
    fn strike(&mut self, keycodes: &[Keycode], hold: Duration) -> Result<(), Error> {
        for &keycode in keycodes {
            self.press(Pressable::Key(keycode), Duration::ZERO)?;
        }
        for (nth, &keycode) in keycodes.iter().rev().enumerate() {
            self.release(
                Pressable::Key(keycode),
                if nth == 0 { hold } else { Duration::ZERO },
            )?;
        }
        Ok(())
    }

    /// Resolves the keycodes of a chord in press order. Keys that the keymap lacks are remapped.
    fn resolve_chord(
        &mut self,
        keys: &[Key],
        remaps: &mut KeyRemaps,
        stop: &CancellationToken,
    ) -> Result<ChordKeys, Error> {
        if keys.is_empty() {
            return Err(Error::InvalidAction {
                what: "a chord needs at least one key".to_owned(),
            });
        }
        let places = self.physical_keys(keys, remaps)?;
        let wanted = keys.iter().zip(&places).map(|(&key, place)| match place {
            Some(_) => Vec::new(),
            None => keysym::of_key(chord_key(key, keys)),
        });
        let wanted: Vec<Vec<u32>> = wanted.collect();
        let to_have = wanted.iter().filter(|symbols| !symbols.is_empty());
        self.remap(to_have.cloned().collect(), remaps, stop)?;
        let keymap = Keymap::read(&self.link)?;
        let mut chord = ChordKeys {
            keycodes: Vec::new(),
            group: 0,
            num_lock: false,
        };
        for ((symbols, key), place) in wanted.iter().zip(keys).zip(places) {
            if let Some(keycode) = place {
                chord.keycodes.push(keycode);
                continue;
            }
            let stroke = keymap.stroke(symbols).ok_or_else(|| Error::UnknownKey {
                key: key.to_string(),
            })?;
            chord.group = chord.group.max(stroke.group);
            let is_of_keypad = key.in_main_block() != *key;
            if is_of_keypad && stroke.modifiers != 0 {
                chord.num_lock = true;
                chord.keycodes.push(stroke.keycode);
                continue;
            }
            for keycode in with_modifiers(&keymap, stroke) {
                if !chord.keycodes.contains(&keycode) {
                    chord.keycodes.push(keycode);
                }
            }
        }
        // Modifiers of others are released before a chord, unless it changes a lock.
        let held = if keys.iter().any(|key| is_lock(*key)) {
            KeyboardState::read(&self.link)?.modifiers()
        } else {
            0
        };
        self.check_pressed(&PressedChord::new(&keymap, &chord.keycodes, held))?;
        Ok(chord)
    }

    /// Returns for each key of a chord the physical key to press instead of a remapped one. On layouts without Latin
    /// letters browsers resolve chords with them by physical key, as people press them, and ignore remapped keycodes.
    fn physical_keys(
        &self,
        keys: &[Key],
        remaps: &KeyRemaps,
    ) -> Result<Vec<Option<Keycode>>, Error> {
        let none = vec![None; keys.len()];
        if !keys.iter().any(|key| key.is_modifier()) {
            return Ok(none);
        }
        let keymap = Keymap::read(&self.link)?;
        let place = |key: &Key| match key {
            Key::Character(letter) if !is_in_layout(&keymap, remaps, *letter) => {
                keysym::physical_keycode(*letter)
            }
            _ => None,
        };
        let places: Vec<Option<Keycode>> = keys.iter().map(place).collect();
        if places.iter().all(Option::is_none) {
            return Ok(none);
        }
        let focused = windows::focused(&self.link)?;
        let in_browser = focused.is_some_and(|focused| is_browser(&focused.application));
        Ok(if in_browser { places } else { none })
    }

    /// Normalises group, locks, latches and modifiers held by others. Returns whether a modifier was held.
    fn normalise_keyboard(&mut self, stop: &CancellationToken) -> Result<bool, Error> {
        let mut state = KeyboardState::read(&self.link)?;
        let was_held = state.held != 0;
        if was_held {
            self.release_foreign_modifiers()?;
            state = self.await_release(stop)?;
        }
        if state.held != 0 {
            return Err(Error::ModifierHeld);
        }
        let found_locks = state.locked & MEANINGFUL_LOCKS;
        self.set_keyboard_to_restore(SavedKeyboardState {
            saved_locks: found_locks,
            saved_group: state.locked_group,
            group: 0,
            has_set_num_lock: false,
        });
        if found_locks != 0 || state.group != 0 || state.latched != 0 {
            self.lock(0, 0)?;
        }
        Ok(was_held)
    }

    /// Locks Num Lock until the keyboard is restored, if it is not locked: only then the keypad has digits. Shift would
    /// do the same, but the application would take the key for a shifted one.
    fn set_num_lock(&mut self) -> Result<(), Error> {
        let state = KeyboardState::read(&self.link)?;
        if state.locked & NUM_LOCK != 0 {
            return Ok(());
        }
        if let Some(now) = self.keyboard_to_restore {
            self.set_keyboard_to_restore(SavedKeyboardState {
                has_set_num_lock: true,
                ..now
            });
            self.set_locks(NUM_LOCK, NUM_LOCK)?;
        }
        Ok(())
    }

    /// Locks another layout group, if necessary.
    fn select_group(&mut self, group: u8) -> Result<(), Error> {
        match self.keyboard_to_restore {
            Some(now) if now.group != group => {
                self.set_keyboard_to_restore(SavedKeyboardState { group, ..now });
                self.lock(0, group)
            }
            _ => Ok(()),
        }
    }

    /// Restores the saved locks and group. Sent with the next flush.
    pub(super) fn restore_keyboard(&mut self) -> Result<(), Error> {
        let Some(now) = self.keyboard_to_restore.take() else {
            return Ok(());
        };
        if now.has_set_num_lock {
            self.set_locks(NUM_LOCK, 0)?;
        }
        if now.saved_locks != 0 || now.saved_group != now.group {
            self.lock(now.saved_locks, now.saved_group)?;
        }
        Ok(())
    }

    /// Sets the locks of `affected` to `locks`.
    fn set_locks(&self, affected: u8, locks: u8) -> Result<(), Error> {
        let mask = |bits: u8| ModMask::from(u16::from(bits));
        self.link
            .x
            .xkb_latch_lock_state(
                CORE_KEYBOARD_DEVICE,
                mask(affected),
                mask(locks),
                false,
                Group::from(0u8),
                mask(0),
                false,
                0,
            )
            .or_display_error(&self.link)?;
        Ok(())
    }

    fn lock(&self, locks: u8, group: u8) -> Result<(), Error> {
        let mask = |bits: u8| ModMask::from(u16::from(bits));
        self.link
            .x
            .xkb_latch_lock_state(
                CORE_KEYBOARD_DEVICE,
                mask(MEANINGFUL_LOCKS),
                mask(locks),
                true,
                Group::from(group),
                mask(0xff),
                true,
                0,
            )
            .or_display_error(&self.link)?;
        Ok(())
    }

    /// Waits until no modifier is held, and returns the state. A window manager that has grabbed a modifier key holds
    /// back the keyboard's events until it has looked at the key.
    fn await_release(&self, stop: &CancellationToken) -> Result<KeyboardState, Error> {
        let end = Instant::now() + RELEASE_TIMEOUT;
        loop {
            let state = KeyboardState::read(&self.link)?;
            if state.held == 0 || Instant::now() >= end {
                return Ok(state);
            }
            pause(RELEASE_POLL_INTERVAL, stop)?;
        }
    }

    /// Releases modifiers held by a user or a killed program: they would change the meaning of every key.
    fn release_foreign_modifiers(&mut self) -> Result<(), Error> {
        let keymap = Keymap::read(&self.link)?;
        let down = self.pressed_now()?;
        self.mask_lone_modifiers(&down)?;
        for pressed in down {
            if let Pressable::Key(keycode) = pressed
                && keymap.is_modifier(keycode)
            {
                self.release(pressed, Duration::ZERO)?;
            }
        }
        self.sync()
    }
}

/// Folds the case of letters in a chord with a modifier: `ctrl+S` is ctrl and the key of s.
fn chord_key(key: Key, chord: &[Key]) -> Key {
    let Key::Character(character) = key else {
        return key;
    };
    let has_modifier = chord.iter().any(|key| key.is_modifier());
    let mut lower = character.to_lowercase();
    match (lower.next(), lower.next()) {
        (Some(lower), None) if has_modifier => Key::Character(lower),
        _ => key,
    }
}

fn refuse_forbidden<'c>(
    pressed: &PressedChord<'_>,
    forbidden: impl IntoIterator<Item = &'c Chord>,
) -> Result<(), Error> {
    match pressed.first_of(forbidden) {
        None => Ok(()),
        Some(chord) => Err(Error::ChordForbidden {
            chord: chord.name.clone(),
        }),
    }
}

fn is_lock(key: Key) -> bool {
    matches!(key, Key::CapsLock | Key::NumLock | Key::ScrollLock)
}

/// Returns whether the layout itself, without remapped keycodes, has a key for a character.
pub(super) fn is_in_layout(keymap: &Keymap, remaps: &KeyRemaps, character: char) -> bool {
    let stroke = keymap.stroke(&keysym::of_character(character));
    stroke.is_some_and(|stroke| !remaps.includes(stroke.keycode))
}

/// Returns the keysyms to remap: one for each wanted character that the keymap lacks.
fn missing(keymap: &Keymap, wanted: &[Vec<u32>]) -> Vec<u32> {
    let lacking = wanted
        .iter()
        .filter(|symbols| keymap.stroke(symbols).is_none());
    let mut lacking: Vec<u32> = lacking
        .filter_map(|symbols| symbols.last())
        .copied()
        .collect();
    lacking.sort_unstable();
    lacking.dedup();
    lacking
}

fn stroke_of(keymap: &Keymap, character: char) -> Result<Stroke, Error> {
    let symbols = match character {
        '\n' => keysym::of_key(Key::Enter),
        '\t' => keysym::of_key(Key::Tab),
        other => keysym::of_character(other),
    };
    keymap
        .stroke(&symbols)
        .ok_or_else(|| Error::TextNotTypable {
            why: "the keyboard layout changed during typing".to_owned(),
        })
}

fn with_modifiers(keymap: &Keymap, stroke: Stroke) -> Vec<Keycode> {
    keymap
        .holders(stroke.modifiers)
        .chain([stroke.keycode])
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_case(chord: &str, expected: char) {
        let keys = Key::parse_chord("keys", chord).unwrap();
        assert_eq!(
            chord_key(*keys.last().unwrap(), &keys),
            Key::Character(expected),
            "{chord}"
        );
    }

    #[test]
    fn letters_are_lowercased_in_chords() {
        check_case("ctrl+S", 's');
        check_case("ctrl+shift+T", 't');
        check_case("ctrl++", '+');
        check_case("A", 'A');
        check_case("alt+ß", 'ß');
    }
}
