//! Browser verbs by keyboard, on the browser window that has the keyboard.
//!
//! Works with any browser and tells nothing of the page. Not here: whether an address is allowed, and waiting for a
//! page to load.

use std::time::Duration;

use motorium_proto::domain::frame::is_browser;
use motorium_proto::domain::key::Key;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::hands::Hands;
use super::loans::Loans;
use super::windows::{self, Recipient};
use crate::drivers::Error;
use crate::drivers::pause::pause;

/// How many times as long as the browser takes to read a chord the page may take to decline it.
const PAGE_DECLINES_IN: u32 = 4;
/// The least that it is given.
const SHORTEST_DECLINE: Duration = Duration::from_millis(200);
/// The most that it is given.
const LONGEST_DECLINE: Duration = Duration::from_secs(2);

/// A verb.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verb<'a> {
    GoTo(&'a str),
    Back,
    Forward,
    Refresh,
}

impl Hands {
    /// Does what the verb says, in the browser window that has the keyboard.
    pub(super) fn browse(
        &mut self,
        verb: Verb<'_>,
        loans: &mut Loans,
        stop: &CancellationToken,
    ) -> Result<(), Error> {
        self.require_browser()?;
        let mut chord = |keys: &[Key]| self.chord(keys, 1, loans, stop);
        match verb {
            Verb::Back => chord(&[Key::Alt, Key::Left]),
            Verb::Forward => chord(&[Key::Alt, Key::Right]),
            Verb::Refresh => chord(&[Key::Function(5)]),
            Verb::GoTo(url) => {
                chord(&[Key::Control, Key::Character('l')])?;
                self.await_address_bar(stop)?;
                // A parsed address is ASCII, which every layout has or is lent.
                self.lend_missing(url, loans, stop)?;
                let window = windows::focused(&self.link)?;
                let recipient = Recipient {
                    window: window.as_ref(),
                    secret: None,
                };
                self.strokes(url, recipient, stop)?;
                // The address bar may have completed what was typed to an address it knows better.
                self.chord(&[Key::Delete], 1, loans, stop)?;
                self.chord(&[Key::Enter], 1, loans, stop)
            }
        }
    }

    /// Gives the browser time to move the keyboard to its address bar.
    ///
    /// It offers the chord to the page first, which is another process, and what is typed before the page has
    /// declined it falls into the page. Nothing on the display shows when that is done. So the browser is asked whether
    /// it has read the chord, and then given a multiple of the time that took, which is long on a busy machine.
    fn await_address_bar(&self, stop: &CancellationToken) -> Result<(), Error> {
        let since = Instant::now();
        windows::await_application(&self.link, &self.atoms, stop)?;
        let took = since.elapsed() * PAGE_DECLINES_IN;
        pause(took.clamp(SHORTEST_DECLINE, LONGEST_DECLINE), stop)
    }

    fn require_browser(&self) -> Result<(), Error> {
        let application = windows::focused(&self.link)?
            .map(|focused| focused.application)
            .unwrap_or_default();
        if is_browser(&application) {
            return Ok(());
        }
        Err(Error::NoBrowser { application })
    }
}
