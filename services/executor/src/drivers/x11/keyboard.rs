//! What the keyboard does: chords, held keys, and the strokes of a text.
//!
//! Before anything is struck the keyboard is put into the one state in which the map means what it says: first
//! layout group, no lock, no latch, no modifier held by somebody else. Locks and group are put back afterwards;
//! applications do not notice, because every key event carries the state it was made in.

use std::time::Duration;

use motorium_proto::domain::frame::is_browser;
use motorium_proto::domain::key::Key;
use tokio_util::sync::CancellationToken;
use x11rb::protocol::xkb::{ConnectionExt as _, Group};
use x11rb::protocol::xproto::{Keycode, ModMask};

use super::hands::{Hands, Pressable};
use super::keymap::{CORE_KEYBOARD, KeyboardState, Keymap, Stroke};
use super::keysym;
use super::link::{Link, OrLost};
use super::loans::Loans;
use super::windows::{self, Recipient};
use crate::drivers::Error;
use crate::drivers::pause::{check, pause};

/// How long the keys of a chord stay down. Programs that poll the keyboard miss shorter ones.
const CHORD_HOLD: Duration = Duration::from_millis(10);
/// Between repetitions of a chord.
const CHORD_GAP: Duration = Duration::from_millis(10);
/// Strokes that go out in one write, between two looks at the stop.
const STROKES_PER_WRITE: usize = 20;
/// Between two such writes: about as fast as applications take text, so that little is under way when a stop comes.
const WRITE_GAP: Duration = Duration::from_millis(8);

/// The locks that change what keys mean. Num Lock is not one of them: it matters to the keypad alone.
const MEANINGFUL_LOCKS: u8 = !NUM_LOCK;
/// Modifier 2 of the core protocol, where every XKB layout has Num Lock.
const NUM_LOCK: u8 = 1 << 4;

/// The keycodes of modifier keys that are to be held during a click.
pub(super) fn modifier_keycodes(link: &Link, modifiers: &[Key]) -> Result<Vec<Keycode>, Error> {
    if modifiers.is_empty() {
        return Ok(Vec::new());
    }
    let keymap = Keymap::read(link)?;
    modifiers
        .iter()
        .map(|&key| {
            if !key.is_modifier() {
                return Err(Error::Malformed {
                    what: format!("`{key}` is not a modifier"),
                });
            }
            let stroke = keymap.stroke(&keysym::of_key(key));
            stroke
                .map(|stroke| stroke.keycode)
                .ok_or_else(|| Error::UnknownKey {
                    key: key.to_string(),
                })
        })
        .collect()
}

/// A chord's keycodes in the order in which they are pressed, and the layout group in which they mean it.
#[derive(Debug)]
struct Chord {
    keycodes: Vec<Keycode>,
    group: u8,
}

/// What was found before the keyboard was put right, and which group is locked since.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PutRight {
    found_locks: u8,
    found_group: u8,
    group: u8,
}

impl Hands {
    /// Strikes a chord `repeat` times.
    pub(super) fn chord(
        &mut self,
        keys: &[Key],
        repeat: u32,
        loans: &mut Loans,
        stop: &CancellationToken,
    ) -> Result<(), Error> {
        let Chord { keycodes, group } = self.resolve_chord(keys, loans, stop)?;
        // A lock that the chord itself turns must not be turned back.
        if !keys.iter().any(|key| is_lock(*key)) {
            self.put_right()?;
            self.select_group(group)?;
        }
        for nth in 0..repeat.max(1) {
            if nth > 0 {
                pause(CHORD_GAP, stop)?;
            }
            check(stop)?;
            self.strike(&keycodes, CHORD_HOLD)?;
            self.sync()?;
        }
        self.put_back()
    }

    /// Holds keys for a while.
    pub(super) fn hold(
        &mut self,
        keys: &[Key],
        duration: Duration,
        loans: &mut Loans,
        stop: &CancellationToken,
    ) -> Result<(), Error> {
        let Chord { keycodes, group } = self.resolve_chord(keys, loans, stop)?;
        self.put_right()?;
        self.select_group(group)?;
        let before = self.held().len();
        for &keycode in &keycodes {
            self.press(Pressable::Key(keycode), Duration::ZERO)?;
        }
        self.sync()?;
        let paused = pause(duration, stop);
        self.release_held(before)?;
        self.put_back()?;
        paused
    }

    /// Enters characters that the map (with what it was lent) has, as long as their recipient has the keyboard. Newline
    /// is Return, tab is Tab.
    pub(super) fn strokes(
        &mut self,
        text: &str,
        recipient: Recipient<'_>,
        stop: &CancellationToken,
    ) -> Result<(), Error> {
        let characters: Vec<char> = text.chars().collect();
        for (nth, chunk) in characters.chunks(STROKES_PER_WRITE).enumerate() {
            if nth > 0 {
                pause(WRITE_GAP, stop)?;
            }
            check(stop)?;
            recipient.check(&self.link, &self.atoms)?;
            // Read anew each time: a layout may be changed, a lock pressed, in the middle of a long text.
            let keymap = Keymap::read(&self.link)?;
            let strokes = chunk
                .iter()
                .map(|&character| stroke_of(&keymap, character))
                .collect::<Result<Vec<_>, _>>()?;
            self.put_right()?;
            for stroke in strokes {
                self.select_group(stroke.group)?;
                self.strike(&with_modifiers(&keymap, stroke), Duration::ZERO)?;
            }
            self.put_back()?;
            self.sync()?;
        }
        Ok(())
    }

    /// Lends keys to those characters of `text` that the map lacks.
    pub(super) fn lend_missing(
        &mut self,
        text: &str,
        loans: &mut Loans,
        stop: &CancellationToken,
    ) -> Result<(), Error> {
        let wanted = text
            .chars()
            .filter(|character| !matches!(character, '\n' | '\t'));
        self.lend(wanted.map(keysym::of_character).collect(), loans, stop)
    }

    /// Sees to it that the map has each of the wanted, which are given by their keysyms, best last.
    fn lend(
        &mut self,
        wanted: Vec<Vec<u32>>,
        loans: &mut Loans,
        stop: &CancellationToken,
    ) -> Result<(), Error> {
        let mut keymap = Keymap::read(&self.link)?;
        let mut lacking = missing(&keymap, &wanted);
        if lacking.len() > keymap.empty_keycodes().len() {
            // What is lent at present is needed until the application has read what was typed with it.
            windows::await_application(&self.link, &self.atoms, stop)?;
            loans.give_back(&self.link)?;
            keymap = Keymap::read(&self.link)?;
            lacking = missing(&keymap, &wanted);
        }
        if lacking.is_empty() {
            return Ok(());
        }
        loans.lend(&self.link, &keymap, &lacking, stop)
    }

    /// Presses in order, releases in reverse order, all in one write.
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

    /// Which keycodes a chord presses, in order. Keys that the map lacks are lent.
    fn resolve_chord(
        &mut self,
        keys: &[Key],
        loans: &mut Loans,
        stop: &CancellationToken,
    ) -> Result<Chord, Error> {
        if keys.is_empty() {
            return Err(Error::Malformed {
                what: "a chord has at least one key".to_owned(),
            });
        }
        let places = self.places(keys, loans)?;
        let wanted = keys.iter().zip(&places).map(|(&key, place)| match place {
            Some(_) => Vec::new(),
            None => keysym::of_key(in_chord(key, keys)),
        });
        let wanted: Vec<Vec<u32>> = wanted.collect();
        let to_have = wanted.iter().filter(|symbols| !symbols.is_empty());
        self.lend(to_have.cloned().collect(), loans, stop)?;
        let keymap = Keymap::read(&self.link)?;
        let mut chord = Chord {
            keycodes: Vec::new(),
            group: 0,
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
            for keycode in with_modifiers(&keymap, stroke) {
                if !chord.keycodes.contains(&keycode) {
                    chord.keycodes.push(keycode);
                }
            }
        }
        Ok(chord)
    }

    /// For each key of a chord the one that is struck instead of a lent one: browsers take a chord with a Latin letter on
    /// a layout that has none by the place of its key, as people strike it, and take no notice of lent keys.
    fn places(&self, keys: &[Key], loans: &Loans) -> Result<Vec<Option<Keycode>>, Error> {
        let none = vec![None; keys.len()];
        if !keys.iter().any(|key| key.is_modifier()) {
            return Ok(none);
        }
        let keymap = Keymap::read(&self.link)?;
        let place = |key: &Key| match key {
            Key::Character(letter) if !is_in_layout(&keymap, loans, *letter) => {
                keysym::place_of(*letter)
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

    /// Puts group, locks, latches and foreign modifiers right.
    fn put_right(&mut self) -> Result<(), Error> {
        let mut state = KeyboardState::read(&self.link)?;
        if state.held != 0 {
            self.release_foreign_modifiers()?;
            state = KeyboardState::read(&self.link)?;
        }
        if state.held != 0 {
            return Err(Error::ModifierHeld);
        }
        let found_locks = state.locked & MEANINGFUL_LOCKS;
        if found_locks != 0 || state.group != 0 || state.latched != 0 {
            self.lock(0, 0)?;
        }
        self.put_right = Some(PutRight {
            found_locks,
            found_group: state.locked_group,
            group: 0,
        });
        Ok(())
    }

    /// Locks another group of the layout, if it is not locked already.
    fn select_group(&mut self, group: u8) -> Result<(), Error> {
        match &self.put_right {
            Some(now) if now.group != group => {
                self.put_right = Some(PutRight { group, ..*now });
                self.lock(0, group)
            }
            _ => Ok(()),
        }
    }

    /// Puts back the locks and the group that were found, if that has not been done. They go out with the next flush.
    pub(super) fn put_back(&mut self) -> Result<(), Error> {
        match self.put_right.take() {
            Some(now) if now.found_locks != 0 || now.found_group != now.group => {
                self.lock(now.found_locks, now.found_group)
            }
            _ => Ok(()),
        }
    }

    fn lock(&self, locks: u8, group: u8) -> Result<(), Error> {
        let mask = |bits: u8| ModMask::from(u16::from(bits));
        self.link
            .x
            .xkb_latch_lock_state(
                CORE_KEYBOARD,
                mask(MEANINGFUL_LOCKS),
                mask(locks),
                true,
                Group::from(group),
                mask(0xff),
                true,
                0,
            )
            .or_lost(&self.link)?;
        Ok(())
    }

    /// Releases modifiers that a person or a killed program holds: with them every key would mean something else.
    fn release_foreign_modifiers(&mut self) -> Result<(), Error> {
        let keymap = Keymap::read(&self.link)?;
        for pressed in self.pressed_now()? {
            if let Pressable::Key(keycode) = pressed
                && keymap.is_modifier(keycode)
            {
                self.release(pressed, Duration::ZERO)?;
            }
        }
        self.sync()
    }
}

/// Letters in a chord with a modifier are meant without their case: `ctrl+S` is ctrl and the key of s.
fn in_chord(key: Key, chord: &[Key]) -> Key {
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

fn is_lock(key: Key) -> bool {
    matches!(key, Key::CapsLock | Key::NumLock | Key::ScrollLock)
}

/// Whether the layout itself, without what it was lent, has a key for a character.
pub(super) fn is_in_layout(keymap: &Keymap, loans: &Loans, character: char) -> bool {
    let stroke = keymap.stroke(&keysym::of_character(character));
    stroke.is_some_and(|stroke| !loans.includes(stroke.keycode))
}

/// The keysyms to lend keys to: one for each of the wanted that the map lacks.
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
            why: "the keyboard's layout was changed while it was being typed".to_owned(),
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
            in_chord(*keys.last().unwrap(), &keys),
            Key::Character(expected),
            "{chord}"
        );
    }

    #[test]
    fn letters_lose_their_case_beside_a_modifier() {
        check_case("ctrl+S", 's');
        check_case("ctrl+shift+T", 't');
        check_case("ctrl++", '+');
        check_case("A", 'A');
        check_case("alt+ß", 'ß');
    }
}
