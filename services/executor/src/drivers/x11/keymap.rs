//! The keyboard's map: which keycode, with which modifiers and in which layout group, gives a keysym.
//!
//! Made from XKB's own tables (key types and levels), so that capitals, AltGr and layouts with more levels come out
//! as the server will see them. Pure once it has been read; the map is a snapshot and is read again before use.

use std::collections::HashMap;

use x11rb::protocol::xkb::{self, ConnectionExt as _, GetMapReply, MapPart, VMod};
use x11rb::protocol::xproto::{ConnectionExt as _, Keycode, ModMask};
use xkeysym::key;

use super::link::{Link, OrLost};
use crate::drivers::Error;

/// The device that stands for the core keyboard in XKB requests.
pub(super) const CORE_KEYBOARD: u16 = 0x100;

/// Evdev's first keycode. Some programs take it as "no key", so that it must never be lent.
const FIRST_KEYCODE: Keycode = 8;

/// A key and what has to be held while it is struck.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stroke {
    pub(super) keycode: Keycode,
    /// Real modifiers (bits of the core protocol's mask).
    pub(super) modifiers: u8,
    /// The layout group that has to be locked, 0 for the first.
    pub(super) group: u8,
}

impl Stroke {
    /// Less is plainer: the first group before the others, few modifiers before many.
    fn effort(self) -> (u8, u32) {
        (self.group, self.modifiers.count_ones())
    }
}

/// A snapshot of the keyboard's map.
#[derive(Debug)]
pub(super) struct Keymap {
    strokes: HashMap<u32, Stroke>,
    /// Keycodes with their keysyms, those of the first group and the lowest level first.
    keys: Vec<(Keycode, Vec<u32>)>,
    /// For each of the eight real modifiers, the key to hold.
    holders: [Option<Keycode>; 8],
    /// Keycodes that are modifiers themselves.
    modifier_keys: Vec<Keycode>,
}

impl Keymap {
    /// Reads the map that is in force.
    pub(super) fn read(link: &Link) -> Result<Self, Error> {
        let parts = MapPart::KEY_TYPES | MapPart::KEY_SYMS | MapPart::MODIFIER_MAP;
        let none = MapPart::from(0u16);
        let map = link
            .x
            .xkb_get_map(
                CORE_KEYBOARD,
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
            .or_lost(link)?;
        let modifiers = link.x.get_modifier_mapping().or_lost(link)?;
        let map = map.reply().or_lost(link)?;
        let modifiers = modifiers.reply().or_lost(link)?;
        Ok(Self::new(&map, &modifiers.keycodes))
    }

    /// What a key gives without any modifier.
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
        for ((keycode, _), symbols) in keys.iter().zip(key_syms) {
            for (symbol, stroke) in strokes_of_key(*keycode, symbols, types, &holders) {
                // The plainest way to a keysym wins; among equals the lower keycode, which is the main block.
                let known = strokes.entry(symbol).or_insert(stroke);
                if stroke.effort() < known.effort() {
                    *known = stroke;
                }
            }
        }
        strokes.remove(&key::NoSymbol);
        let modifier_keys = modifier_keycodes
            .iter()
            .copied()
            .filter(|&keycode| keycode != 0)
            .collect();
        Self {
            strokes,
            keys,
            holders,
            modifier_keys,
        }
    }

    /// How to enter the first of `symbols` that the layout has.
    pub(super) fn stroke(&self, symbols: &[u32]) -> Option<Stroke> {
        symbols
            .iter()
            .find_map(|symbol| self.strokes.get(symbol))
            .copied()
    }

    /// The keys to hold for a set of modifiers.
    pub(super) fn holders(&self, modifiers: u8) -> impl Iterator<Item = Keycode> {
        (0..8)
            .filter(move |bit| modifiers & (1 << bit) != 0)
            .filter_map(|bit| self.holders[bit])
    }

    /// Whether a keycode is a modifier's.
    pub(super) fn is_modifier(&self, keycode: Keycode) -> bool {
        self.modifier_keys.contains(&keycode)
    }

    /// Keycodes that no key of this layout uses, so that they can be lent to characters it lacks.
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

    /// What a keycode gives without modifiers, for people and for comparisons.
    pub(super) fn symbols(&self, keycode: Keycode) -> &[u32] {
        self.keys
            .iter()
            .find(|(code, _)| *code == keycode)
            .map_or(&[], |(_, symbols)| symbols)
    }
}

/// Every keysym of a key, with how it is struck.
fn strokes_of_key(
    keycode: Keycode,
    symbols: &xkb::KeySymMap,
    types: &[xkb::KeyType],
    holders: &[Option<Keycode>; 8],
) -> Vec<(u32, Stroke)> {
    /// The low four bits count the groups.
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

/// For each real modifier the key that holds it while it is down.
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

/// Whether a modifier's key works while it is held, other than one that locks.
fn is_momentary(symbol: u32) -> bool {
    !matches!(
        symbol,
        key::NoSymbol | key::Caps_Lock | key::Shift_Lock | key::Num_Lock | key::Scroll_Lock
    )
}

/// The fewest modifiers that lead to a level of a key type, or nothing if no key can hold them.
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
        .filter(|modifiers| (0..8).all(|bit| modifiers & (1 << bit) == 0 || holders[bit].is_some()))
        .min_by_key(|modifiers| modifiers.count_ones())
}

/// What is locked, latched and held, and which group is in force.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct KeyboardState {
    pub(super) held: u8,
    pub(super) latched: u8,
    pub(super) locked: u8,
    pub(super) group: u8,
    pub(super) locked_group: u8,
}

impl KeyboardState {
    /// Reads the state of the core keyboard.
    pub(super) fn read(link: &Link) -> Result<Self, Error> {
        let state = link
            .x
            .xkb_get_state(CORE_KEYBOARD)
            .or_lost(link)?
            .reply()
            .or_lost(link)?;
        Ok(Self {
            held: bits(state.base_mods),
            latched: bits(state.latched_mods),
            locked: bits(state.locked_mods),
            group: u8::from(state.group),
            locked_group: u8::from(state.locked_group),
        })
    }
}

/// The low byte of a modifier mask: the eight real modifiers.
fn bits(mask: ModMask) -> u8 {
    (u16::from(mask) & 0xff) as u8
}
