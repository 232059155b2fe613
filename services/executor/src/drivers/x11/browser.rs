//! Browser actions by keyboard, in the focused browser window.
//!
//! Works with any browser, but cannot report the page. It does not check URLs and does not wait for a page to load.

use std::time::Duration;

use motorium_proto::domain::frame::is_browser;
use motorium_proto::domain::key::Key;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::key_remap::KeyRemaps;
use super::windows::{self, TextTarget};
use super::xtest::XTestInput;
use crate::drivers::Error;
use crate::drivers::pause::pause;

/// Multiple of the browser's own response time that the page gets to handle a chord.
const PAGE_RESPONSE_FACTOR: u32 = 4;
/// Minimum of that time.
// A response time of a few milliseconds may be much longer the next time.
const MIN_PAGE_RESPONSE: Duration = Duration::from_millis(200);
/// Maximum of that time.
// A browser that is still starting must not block the action for longer.
const MAX_PAGE_RESPONSE: Duration = Duration::from_secs(2);

/// A browser command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BrowserCommand<'a> {
    GoTo(&'a str),
    Back,
    Forward,
    Refresh,
}

impl XTestInput {
    /// Runs a command in the focused browser window.
    pub(super) fn run_browser_command(
        &mut self,
        verb: BrowserCommand<'_>,
        remaps: &mut KeyRemaps,
        stop: &CancellationToken,
    ) -> Result<(), Error> {
        self.require_browser()?;
        let mut chord = |keys: &[Key]| self.chord(keys, 1, remaps, stop);
        match verb {
            BrowserCommand::Back => chord(&[Key::Alt, Key::Left]),
            BrowserCommand::Forward => chord(&[Key::Alt, Key::Right]),
            BrowserCommand::Refresh => chord(&[Key::Function(5)]),
            BrowserCommand::GoTo(url) => {
                chord(&[Key::Control, Key::Character('l')])?;
                self.wait_for_address_bar(stop)?;
                // A parsed URL is ASCII. Characters that the layout lacks are remapped.
                self.remap_missing(url, remaps, stop)?;
                let window = windows::focused(&self.link)?;
                let recipient = TextTarget {
                    window: window.as_ref(),
                    secret: None,
                };
                self.type_characters(url, recipient, stop)?;
                // Delete removes an inline completion that the address bar may have added.
                self.chord(&[Key::Delete], 1, remaps, stop)?;
                self.chord(&[Key::Enter], 1, remaps, stop)
            }
        }
    }

    /// Waits until the browser has moved the focus to its address bar.
    ///
    /// The browser offers the chord to the page first, which runs in another process. Text typed before the page has
    /// declined it goes into the page, and the display shows no sign of when that is done. So the browser is pinged,
    /// and then gets a multiple of its response time, which grows on a busy machine.
    fn wait_for_address_bar(&self, stop: &CancellationToken) -> Result<(), Error> {
        let since = Instant::now();
        windows::wait_for_application(&self.link, stop)?;
        let took = since.elapsed() * PAGE_RESPONSE_FACTOR;
        pause(took.clamp(MIN_PAGE_RESPONSE, MAX_PAGE_RESPONSE), stop)
    }

    fn require_browser(&self) -> Result<(), Error> {
        let application = windows::focused(&self.link)?
            .map(|focused| focused.application)
            .unwrap_or_default();
        if is_browser(&application) {
            return Ok(());
        }
        Err(Error::NotABrowser { application })
    }
}
