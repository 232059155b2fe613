//! The keymap: the keycode, modifiers and layout group that produce a keysym.
//!
//! Built from XKB's tables (key types and levels), so that capitals, AltGr and further levels are resolved as the
//! server does. Pure after reading. A keymap is a snapshot and must be read again before use.

use std::collections::HashMap;

use motorium_x11::Connection;
use x11rb::protocol::xkb::{self, ConnectionExt as _, GetMapReply, MapPart, VMod};
use x11rb::protocol::xproto::{ConnectionExt as _, Keycode, ModMask};
use xkeysym::key;

use super::connection::OrDisplayError;
use crate::drivers::Error;

/// The core keyboard's device id in XKB requests.
pub(super) const CORE_KEYBOARD_DEVICE: u16 = 0x100;

/// Num Lock: modifier 2 of the core protocol in every XKB layout.
pub(super) const NUM_LOCK: u8 = 1 << 4;

/// Shift: modifier 0 of the core protocol.
pub(super) const SHIFT: u8 = 1;

/// Evdev's first keycode. It must never be remapped, because some programs treat it as "no key".
const FIRST_KEYCODE: Keycode = 8;

/// A keycode with the modifiers and layout group that it needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stroke {
    pub(super) keycode: Keycode,
    /// Real modifiers as bits of the core protocol's mask.
    pub(super) modifiers: u8,
    /// Layout group to lock; 0 is the first.
    pub(super) group: u8,
}

impl Stroke {
    /// Cost of a stroke: the first group is preferred, then few modifiers.
    fn effort(self) -> (u8, u32) {
        (self.group, self.modifiers.count_ones())
    }
}

/// The keyboard state before normalisation, and the group locked since.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SavedKeyboardState {
    pub(super) saved_locks: u8,
    pub(super) saved_group: u8,
    pub(super) group: u8,
    /// Num Lock was locked for a key of the keypad.
    pub(super) has_set_num_lock: bool,
}

/// A snapshot of the keymap.
#[derive(Debug)]
pub(super) struct Keymap {
    strokes: HashMap<u32, Stroke>,
    /// Every keysym of every keycode with its stroke, in the order of the keycodes.
    every_stroke: Vec<(u32, Stroke)>,
    /// Keycodes with their keysyms, starting with the first group's lowest level.
    keys: Vec<(Keycode, Vec<u32>)>,
    /// Key to hold for each of the eight real modifiers.
    holders: [Option<Keycode>; 8],
    /// Keycodes of modifier keys, each with the real modifiers that it sets.
    modifier_keys: Vec<(Keycode, u8)>,
}

impl Keymap {
    /// Reads the current keymap.
    pub(super) fn read(link: &Connection) -> Result<Self, Error> {
        let parts = MapPart::KEY_TYPES | MapPart::KEY_SYMS | MapPart::MODIFIER_MAP;
        let none = MapPart::from(0u16);
        let map = link
            .x
            .xkb_get_map(
                CORE_KEYBOARD_DEVICE,
                parts,
                none,
                0,
                0,
                0,
                0,
                0,
                0,
                0,
                0,
                VMod::from(0u16),
                0,
                0,
                0,
                0,
                0,
                0,
            )
            .or_display_error(link)?;
        let modifiers = link.x.get_modifier_mapping().or_display_error(link)?;
        let map = map.reply().or_display_error(link)?;
        let modifiers = modifiers.reply().or_display_error(link)?;
        Ok(Self::new(&map, &modifiers.keycodes))
    }

    /// Returns the keysym of a key without modifiers.
    pub(super) fn plain_symbol(&self, keycode: Keycode) -> Option<u32> {
        let mut keys = self.keys.iter();
        let (_, symbols) = keys.find(|(known, _)| *known == keycode)?;
        symbols.first().copied()
    }

    fn new(map: &GetMapReply, modifier_keycodes: &[Keycode]) -> Self {
        let types = map.map.types_rtrn.as_deref().unwrap_or_default();
        let key_syms = map.map.syms_rtrn.as_deref().unwrap_or_default();
        let keys: Vec<(Keycode, Vec<u32>)> = (map.first_key_sym..=Keycode::MAX)
            .zip(key_syms)
            .map(|(keycode, symbols)| (keycode, symbols.syms.clone()))
            .collect();
        let holders = modifier_holders(&keys, modifier_keycodes);
        let mut strokes: HashMap<u32, Stroke> = HashMap::new();
        let mut every_stroke = Vec::new();
        for ((keycode, _), symbols) in keys.iter().zip(key_syms) {
            for (symbol, stroke) in strokes_of_key(*keycode, symbols, types, &holders) {
                every_stroke.push((symbol, stroke));
                // The cheapest stroke wins. Among equals it is the lower keycode, which is in the main block.
                let known = strokes.entry(symbol).or_insert(stroke);
                if stroke.effort() < known.effort() {
                    *known = stroke;
                }
            }
        }
        strokes.remove(&key::NoSymbol);
        let per_modifier = (modifier_keycodes.len() / 8).max(1);
        let modifier_keys = modifier_keycodes
            .iter()
            .enumerate()
            .filter(|(_, keycode)| **keycode != 0)
            .map(|(nth, &keycode)| (keycode, 1 << (nth / per_modifier)))
            .collect();
        Self {
            strokes,
            every_stroke,
            keys,
            holders,
            modifier_keys,
        }
    }

    /// Returns the stroke of the first of `symbols` that the keymap has.
    pub(super) fn stroke(&self, symbols: &[u32]) -> Option<Stroke> {
        symbols
            .iter()
            .find_map(|symbol| self.strokes.get(symbol))
            .copied()
    }

    /// Returns the keys to hold for a set of modifiers.
    pub(super) fn holders(&self, modifiers: u8) -> impl Iterator<Item = Keycode> {
        (0..8)
            .filter(move |bit| modifiers & (1 << bit) != 0)
            .filter_map(|bit| self.holders[bit])
    }

    /// Returns whether a keycode is a modifier key.
    pub(super) fn is_modifier(&self, keycode: Keycode) -> bool {
        self.modifier_keys
            .iter()
            .any(|(known, _)| *known == keycode)
    }

    /// Returns the real modifiers that a keycode sets.
    pub(super) fn modifiers_of(&self, keycode: Keycode) -> u8 {
        let own = self.modifier_keys.iter();
        own.filter(|(known, _)| *known == keycode)
            .fold(0, |all, (_, modifiers)| all | modifiers)
    }

    /// Returns the real modifiers that are set by keys with one of these keysyms on their lowest level.
    pub(super) fn modifiers_with(&self, symbols: &[u32]) -> u8 {
        let with_symbol = |keycode: Keycode| {
            let plain = self.symbols(keycode).first();
            plain.is_some_and(|plain| symbols.contains(plain))
        };
        let keys = self.modifier_keys.iter();
        keys.filter(|(keycode, _)| with_symbol(*keycode))
            .fold(0, |all, (_, modifiers)| all | modifiers)
    }

    /// Returns every keysym of a keycode with its stroke.
    pub(super) fn strokes_of(&self, keycode: Keycode) -> impl Iterator<Item = (u32, Stroke)> {
        let all = self.every_stroke.iter().copied();
        all.filter(move |(_, stroke)| stroke.keycode == keycode)
    }

    /// Returns the unused keycodes, which can be remapped.
    pub(super) fn empty_keycodes(&self) -> Vec<Keycode> {
        let is_empty = |symbols: &[u32]| symbols.iter().all(|&symbol| symbol == key::NoSymbol);
        self.keys
            .iter()
            .filter(|(keycode, symbols)| {
                *keycode > FIRST_KEYCODE && is_empty(symbols) && !self.is_modifier(*keycode)
            })
            .map(|&(keycode, _)| keycode)
            .collect()
    }

    /// Returns all keysyms of a keycode.
    pub(super) fn symbols(&self, keycode: Keycode) -> &[u32] {
        self.keys
            .iter()
            .find(|(code, _)| *code == keycode)
            .map_or(&[], |(_, symbols)| symbols)
    }
}

/// Returns every keysym of a key with its stroke.
fn strokes_of_key(
    keycode: Keycode,
    symbols: &xkb::KeySymMap,
    types: &[xkb::KeyType],
    holders: &[Option<Keycode>; 8],
) -> Vec<(u32, Stroke)> {
    /// Mask of the group count in `group_info`.
    const GROUPS: u8 = 0x0f;
    let mut found = Vec::new();
    let groups = (0..symbols.group_info & GROUPS).zip(symbols.kt_index);
    for ((group, type_index), levels) in
        groups.zip(symbols.syms.chunks(usize::from(symbols.width).max(1)))
    {
        let Some(key_type) = types.get(usize::from(type_index)) else {
            continue;
        };
        for (level, &symbol) in levels.iter().enumerate() {
            if let Some(modifiers) = modifiers_of_level(key_type, level, holders) {
                found.push((
                    symbol,
                    Stroke {
                        keycode,
                        modifiers,
                        group,
                    },
                ));
            }
        }
    }
    found
}

/// Returns for each real modifier a key that is active while held.
fn modifier_holders(
    keys: &[(Keycode, Vec<u32>)],
    modifier_keycodes: &[Keycode],
) -> [Option<Keycode>; 8] {
    let per_modifier = modifier_keycodes.len() / 8;
    let symbol = |keycode: Keycode| {
        keys.iter()
            .find(|(code, _)| *code == keycode)
            .and_then(|(_, symbols)| symbols.first())
            .copied()
    };
    std::array::from_fn(|bit| {
        modifier_keycodes[bit * per_modifier..(bit + 1) * per_modifier]
            .iter()
            .copied()
            .find(|&keycode| keycode != 0 && symbol(keycode).is_some_and(is_momentary))
    })
}

/// Returns whether a modifier key is active while held, in contrast to a lock.
fn is_momentary(symbol: u32) -> bool {
    !matches!(
        symbol,
        key::NoSymbol | key::Caps_Lock | key::Shift_Lock | key::Num_Lock | key::Scroll_Lock
    )
}

/// Returns the smallest set of modifiers for a level of a key type; `None` if a modifier has no key.
fn modifiers_of_level(
    key_type: &xkb::KeyType,
    level: usize,
    holders: &[Option<Keycode>; 8],
) -> Option<u8> {
    if level == 0 {
        return Some(0);
    }
    key_type
        .map
        .iter()
        .filter(|entry| entry.active && usize::from(entry.level) == level)
        .map(|entry| bits(entry.mods_mask))
        // Num Lock cannot be held, and is locked for the keys of the keypad that need it.
        .filter(|modifiers| {
            let held = modifiers & !NUM_LOCK;
            (0..8).all(|bit| held & (1 << bit) == 0 || holders[bit].is_some())
        })
        .min_by_key(|modifiers| modifiers.count_ones())
}

/// Held, latched and locked modifiers, and the effective group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct KeyboardState {
    pub(super) held: u8,
    pub(super) latched: u8,
    pub(super) locked: u8,
    pub(super) group: u8,
    pub(super) locked_group: u8,
}

impl KeyboardState {
    /// Returns all active modifiers.
    pub(super) fn modifiers(self) -> u8 {
        self.held | self.latched | self.locked
    }

    /// Reads the state of the core keyboard.
    pub(super) fn read(link: &Connection) -> Result<Self, Error> {
        let state = link
            .x
            .xkb_get_state(CORE_KEYBOARD_DEVICE)
            .or_display_error(link)?
            .reply()
            .or_display_error(link)?;
        Ok(Self {
            held: bits(state.base_mods),
            latched: bits(state.latched_mods),
            locked: bits(state.locked_mods),
            group: u8::from(state.group),
            locked_group: u8::from(state.locked_group),
        })
    }
}

/// Returns the low byte of a modifier mask: the eight real modifiers.
fn bits(mask: ModMask) -> u8 {
    (u16::from(mask) & 0xff) as u8
}
