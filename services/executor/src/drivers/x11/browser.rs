//! Browser verbs by keyboard, on the browser window that has the keyboard.
//!
//! Works with any browser and tells nothing of the page. Not here: whether an address is allowed, and waiting for a
//! page to load.

use motorium_proto::domain::key::Key;
use tokio_util::sync::CancellationToken;

use super::hands::Hands;
use super::loans::Loans;
use super::windows;
use crate::drivers::Error;

/// Classes of windows that understand a browser's keys, in lower case.
const BROWSERS: &[&str] = &[
    "brave-browser",
    "chromium",
    "chromium-browser",
    "epiphany",
    "falkon",
    "firefox",
    "firefox-esr",
    "google-chrome",
    "librewolf",
    "microsoft-edge",
    "midori",
    "navigator",
    "opera",
    "org.gnome.epiphany",
    "vivaldi-stable",
];

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
                // A parsed address is ASCII, which every layout has or is lent.
                self.lend_missing(url, loans, stop)?;
                self.strokes(url, stop)?;
                // The address bar may have completed what was typed to an address it knows better.
                self.chord(&[Key::Delete], 1, loans, stop)?;
                self.chord(&[Key::Enter], 1, loans, stop)
            }
        }
    }

    fn require_browser(&self) -> Result<(), Error> {
        let application = windows::focused(&self.link)?
            .map(|focused| focused.application)
            .unwrap_or_default();
        if BROWSERS.contains(&application.to_lowercase().as_str()) {
            return Ok(());
        }
        Err(Error::NoBrowser { application })
    }
}
