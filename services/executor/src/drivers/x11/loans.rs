//! Keycodes that no key uses, lent for a while to characters that the layout lacks.
//!
//! A change of the map is announced to every client of the display, which costs some window managers dearly and
//! takes clients a moment to notice. So loans are made in one batch, kept for later texts, and given back in one
//! batch when the display has been idle. What is lent is written on the root window first: a successor of a killed
//! process finds it there and takes exactly that back, leaving the user's own changes alone.

use std::time::Duration;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use x11rb::protocol::xproto::{AtomEnum, ConnectionExt as _, Keycode, PropMode};
use x11rb::wrapper::ConnectionExt as _;
use xkeysym::key;

use super::keymap::Keymap;
use super::link::{Link, OrLost};
use crate::drivers::Error;
use crate::drivers::pause::pause;

/// How many characters are lent keys in one text. Xvfb's layouts leave 18 keycodes empty.
pub(super) const MOST_LOANS: usize = 16;
/// How long clients are given to load a changed map before its keys are struck.
const CLIENTS_LOAD_MAP: Duration = Duration::from_millis(40);
/// After so long without use the keys are given back. Clients have read everything typed with them by then.
pub(super) const KEPT_IDLE: Duration = Duration::from_secs(5);
/// The root window's record of what is lent: pairs of keycode and keysym.
const RECORD: &[u8] = b"_MOTORIUM_LENT_KEYS";
/// Both levels get the same keysym: with one alone the server would make up a capital for the second.
const LEVELS: u8 = 2;

/// What is lent at present.
#[derive(Debug, Default)]
pub(super) struct Loans {
    lent: Vec<Loan>,
    last_use: Option<Instant>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Loan {
    keycode: Keycode,
    symbol: u32,
}

impl Loans {
    /// Takes back what a killed predecessor has left lent.
    pub(super) fn recover(link: &Link) -> Result<Self, Error> {
        let mut leaked = Self {
            lent: read_record(link)?,
            last_use: None,
        };
        leaked.give_back(link)?;
        Ok(leaked)
    }

    /// How many characters can be lent keys in one go.
    pub(super) fn room(&self, keymap: &Keymap) -> usize {
        (keymap.empty_keycodes().len() + self.lent.len()).min(MOST_LOANS)
    }

    /// Lends keys to `symbols`, none of which the map may have, and waits until clients have noticed.
    pub(super) fn lend(
        &mut self,
        link: &Link,
        keymap: &Keymap,
        symbols: &[u32],
        stop: &CancellationToken,
    ) -> Result<(), Error> {
        let free = keymap.empty_keycodes();
        if free.len() < symbols.len() {
            return Err(Error::TextNotTypable {
                why: "the keyboard's layout leaves no keys free for it".to_owned(),
            });
        }
        let loans: Vec<Loan> = free
            .into_iter()
            .zip(symbols)
            .map(|(keycode, &symbol)| Loan { keycode, symbol })
            .collect();
        self.lent.extend(&loans);
        self.last_use = Some(Instant::now());
        write_record(link, &self.lent)?;
        change(link, &loans)?;
        link.flush()?;
        pause(CLIENTS_LOAD_MAP, stop)
    }

    /// Whether a keycode is lent.
    pub(super) fn includes(&self, keycode: Keycode) -> bool {
        self.lent.iter().any(|loan| loan.keycode == keycode)
    }

    /// Notes that lent keys have just been struck.
    pub(super) fn used(&mut self) {
        if !self.lent.is_empty() {
            self.last_use = Some(Instant::now());
        }
    }

    /// When the loans are due, if there are any.
    pub(super) fn due(&self) -> Option<Instant> {
        let last_use = self.last_use.filter(|_| !self.lent.is_empty())?;
        Some(last_use + KEPT_IDLE)
    }

    /// Gives everything back that is still as it was lent.
    pub(super) fn give_back(&mut self, link: &Link) -> Result<(), Error> {
        if self.lent.is_empty() {
            return Ok(());
        }
        let keymap = Keymap::read(link)?;
        let returned: Vec<Loan> = self
            .lent
            .iter()
            .filter(|loan| keymap.symbols(loan.keycode).first() == Some(&loan.symbol))
            .map(|loan| Loan {
                symbol: key::NoSymbol,
                ..*loan
            })
            .collect();
        change(link, &returned)?;
        self.lent.clear();
        write_record(link, &self.lent)?;
        link.flush()
    }
}

/// Changes the map; neighbouring keycodes go in one request, which clients hear of once.
fn change(link: &Link, loans: &[Loan]) -> Result<(), Error> {
    let mut sorted = loans.to_vec();
    sorted.sort_unstable_by_key(|loan| loan.keycode);
    for run in sorted.chunk_by(|one, next| one.keycode + 1 == next.keycode) {
        let symbols: Vec<u32> = run
            .iter()
            .flat_map(|loan| [loan.symbol; LEVELS as usize])
            .collect();
        let count = u8::try_from(run.len()).expect("there are fewer keycodes than 256");
        link.x
            .change_keyboard_mapping(count, run[0].keycode, LEVELS, &symbols)
            .or_lost(link)?;
    }
    Ok(())
}

fn record_atom(link: &Link) -> Result<u32, Error> {
    Ok(link
        .x
        .intern_atom(false, RECORD)
        .or_lost(link)?
        .reply()
        .or_lost(link)?
        .atom)
}

fn write_record(link: &Link, loans: &[Loan]) -> Result<(), Error> {
    let atom = record_atom(link)?;
    let pairs: Vec<u32> = loans
        .iter()
        .flat_map(|loan| [u32::from(loan.keycode), loan.symbol])
        .collect();
    link.x
        .change_property32(
            PropMode::REPLACE,
            link.root,
            atom,
            AtomEnum::CARDINAL,
            &pairs,
        )
        .or_lost(link)?;
    Ok(())
}

fn read_record(link: &Link) -> Result<Vec<Loan>, Error> {
    let atom = record_atom(link)?;
    let most = 2 * u32::from(Keycode::MAX);
    let property = link
        .x
        .get_property(false, link.root, atom, AtomEnum::CARDINAL, 0, most)
        .or_lost(link)?
        .reply()
        .or_lost(link)?;
    let values: Vec<u32> = property.value32().into_iter().flatten().collect();
    let loan = |pair: &[u32]| {
        Some(Loan {
            keycode: Keycode::try_from(pair[0]).ok()?,
            symbol: pair[1],
        })
    };
    Ok(values.chunks_exact(2).filter_map(loan).collect())
}
