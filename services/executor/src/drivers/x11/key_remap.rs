//! Remaps unused keycodes temporarily to characters that the layout lacks.
//!
//! Every client is notified of a keymap change, which is expensive for some window managers and takes clients a moment
//! to load. So remappings are made in one batch, kept for later texts, and restored in one batch when idle. They are
//! recorded on the root window first: after a kill the next process finds them there and restores exactly those,
//! without touching the user's own changes.

use std::sync::Arc;
use std::time::Duration;

use motorium_x11::Connection;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use x11rb::protocol::xproto::{AtomEnum, ConnectionExt as _, Keycode, PropMode};
use x11rb::wrapper::ConnectionExt as _;
use xkeysym::key;

use super::connection::OrDisplayError;
use super::keymap::Keymap;
use super::release_guard::ReleaseGuard;
use crate::drivers::Error;
use crate::drivers::pause::pause;

/// Maximum number of remapped characters per text. Xvfb's layouts leave 18 keycodes unused.
pub(super) const MAX_REMAPS: usize = 16;
/// Delay for clients to load a changed keymap before its keys are pressed.
const KEYMAP_LOAD_DELAY: Duration = Duration::from_millis(40);
/// Idle time after which the keymap is restored. By then clients have read everything that was typed.
pub(super) const REMAP_IDLE_TIMEOUT: Duration = Duration::from_secs(5);
/// Root window property with the remapped keycodes: pairs of keycode and keysym.
const REMAP_PROPERTY: &[u8] = b"_MOTORIUM_LENT_KEYS";
/// Both levels get the same keysym: with one level the server would derive a capital for the second.
const LEVELS: u8 = 2;

/// The current remappings.
#[derive(Debug)]
pub(super) struct KeyRemaps {
    active: Vec<KeyRemap>,
    last_use: Option<Instant>,
    guard: Arc<ReleaseGuard>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct KeyRemap {
    keycode: Keycode,
    symbol: u32,
}

impl KeyRemaps {
    /// Restores the remappings that a killed process has left.
    pub(super) fn recover(link: &Connection, guard: &Arc<ReleaseGuard>) -> Result<Self, Error> {
        let mut leaked = Self {
            active: read_record(link)?,
            last_use: None,
            guard: Arc::clone(guard),
        };
        leaked.restore(link)?;
        Ok(leaked)
    }

    /// Returns the number of characters that can be remapped at once.
    pub(super) fn capacity(&self, keymap: &Keymap) -> usize {
        (keymap.empty_keycodes().len() + self.active.len()).min(MAX_REMAPS)
    }

    /// Remaps keycodes to `symbols`, which the keymap must lack, and waits until clients have loaded the keymap.
    pub(super) fn remap(
        &mut self,
        link: &Connection,
        keymap: &Keymap,
        symbols: &[u32],
        stop: &CancellationToken,
    ) -> Result<(), Error> {
        let free = keymap.empty_keycodes();
        if free.len() < symbols.len() {
            return Err(Error::TextNotTypable {
                why: "the keyboard layout has no unused keycode for it".to_owned(),
            });
        }
        let remaps: Vec<KeyRemap> = free
            .into_iter()
            .zip(symbols)
            .map(|(keycode, &symbol)| KeyRemap { keycode, symbol })
            .collect();
        self.active.extend(&remaps);
        self.last_use = Some(Instant::now());
        self.guard.announce(|held| held.is_remapped = true);
        write_record(link, &self.active)?;
        change(link, &remaps)?;
        link.flush().or_display_error(link)?;
        pause(KEYMAP_LOAD_DELAY, stop)
    }

    /// Returns whether a keycode is remapped.
    pub(super) fn includes(&self, keycode: Keycode) -> bool {
        self.active.iter().any(|remap| remap.keycode == keycode)
    }

    /// Records that remapped keys were just used.
    pub(super) fn used(&mut self) {
        if !self.active.is_empty() {
            self.last_use = Some(Instant::now());
        }
    }

    /// Returns when the keymap is to be restored, if anything is remapped.
    pub(super) fn due(&self) -> Option<Instant> {
        let last_use = self.last_use.filter(|_| !self.active.is_empty())?;
        Some(last_use + REMAP_IDLE_TIMEOUT)
    }

    /// Restores every keycode that still has the remapped keysym.
    pub(super) fn restore(&mut self, link: &Connection) -> Result<(), Error> {
        if self.active.is_empty() {
            return Ok(());
        }
        let keymap = Keymap::read(link)?;
        let returned: Vec<KeyRemap> = self
            .active
            .iter()
            .filter(|remap| keymap.symbols(remap.keycode).first() == Some(&remap.symbol))
            .map(|remap| KeyRemap {
                symbol: key::NoSymbol,
                ..*remap
            })
            .collect();
        change(link, &returned)?;
        self.active.clear();
        write_record(link, &self.active)?;
        link.flush().or_display_error(link)?;
        self.guard.confirm(|held| held.is_remapped = false);
        Ok(())
    }
}

/// Changes the keymap. Consecutive keycodes share one request, of which clients are notified once.
fn change(link: &Connection, remaps: &[KeyRemap]) -> Result<(), Error> {
    let mut sorted = remaps.to_vec();
    sorted.sort_unstable_by_key(|remap| remap.keycode);
    for run in sorted.chunk_by(|one, next| one.keycode + 1 == next.keycode) {
        let symbols: Vec<u32> = run
            .iter()
            .flat_map(|remap| [remap.symbol; LEVELS as usize])
            .collect();
        let count = u8::try_from(run.len()).expect("there are fewer than 256 keycodes");
        link.x
            .change_keyboard_mapping(count, run[0].keycode, LEVELS, &symbols)
            .or_display_error(link)?;
    }
    Ok(())
}

fn record_atom(link: &Connection) -> Result<u32, Error> {
    Ok(link
        .x
        .intern_atom(false, REMAP_PROPERTY)
        .or_display_error(link)?
        .reply()
        .or_display_error(link)?
        .atom)
}

fn write_record(link: &Connection, remaps: &[KeyRemap]) -> Result<(), Error> {
    let atom = record_atom(link)?;
    let pairs: Vec<u32> = remaps
        .iter()
        .flat_map(|remap| [u32::from(remap.keycode), remap.symbol])
        .collect();
    link.x
        .change_property32(
            PropMode::REPLACE,
            link.root,
            atom,
            AtomEnum::CARDINAL,
            &pairs,
        )
        .or_display_error(link)?;
    Ok(())
}

fn read_record(link: &Connection) -> Result<Vec<KeyRemap>, Error> {
    let atom = record_atom(link)?;
    let max_words = 2 * u32::from(Keycode::MAX);
    let property = link
        .x
        .get_property(false, link.root, atom, AtomEnum::CARDINAL, 0, max_words)
        .or_display_error(link)?
        .reply()
        .or_display_error(link)?;
    let values: Vec<u32> = property.value32().into_iter().flatten().collect();
    let remap = |pair: &[u32]| {
        Some(KeyRemap {
            keycode: Keycode::try_from(pair[0]).ok()?,
            symbol: pair[1],
        })
    };
    Ok(values.chunks_exact(2).filter_map(remap).collect())
}
