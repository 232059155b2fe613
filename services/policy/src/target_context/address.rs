//! Address bars of browsers, and the meaning of opening an address.

use std::collections::BTreeSet;

use motorium_proto::domain::geometry::CaptureRect;
use percent_encoding::percent_decode_str;
use url::Url;

use super::TargetContext;
use motorium_text::lexicon::{GRANT, Lexicon, Meanings};

/// URL schemes that execute their content.
const SCRIPT_SCHEMES: [&str; 3] = ["javascript", "data", "vbscript"];

impl TargetContext<'_> {
    /// Returns the address that is, or may be, entered into a browser's address bar.
    pub(crate) fn address_entered(
        &self,
        applications: &BTreeSet<String>,
        argument: &str,
    ) -> Option<Url> {
        if !applications.contains("browser") || argument.starts_with("secret:") {
            return None;
        }
        let bar = self.address_bar()?;
        let may_be_there =
            self.is_focus_unknown() || self.bounds.is_some_and(|own| bar.contains(own.center()));
        let written = argument.trim();
        let runs = |url: &Url| SCRIPT_SCHEMES.contains(&url.scheme());
        let url = || {
            Url::parse(written)
                .ok()
                .filter(runs)
                .or_else(|| address(written))
        };
        may_be_there.then(url).flatten()
    }

    /// Returns the area of the address bar: the upper sixth of the window. Toolbar heights differ; a sixth covers tabs,
    /// address bar and bookmarks without reaching far into the page.
    fn address_bar(&self) -> Option<CaptureRect> {
        let mut bar = self.circumstances.frame.active_window()?.bounds;
        bar.max.y = bar.min.y + bar.height() / 6;
        Some(bar)
    }

    /// Returns the page's address from the browser driver, or else from the address bar.
    pub(crate) fn url(&self, is_browser: bool) -> Option<Url> {
        if let Some(url) = self.circumstances.url {
            return Url::parse(url).ok();
        }
        if !is_browser {
            return None;
        }
        let bar = self.address_bar()?;
        let mut texts = self
            .elements()
            .filter(|(_, bounds)| bar.contains(bounds.center()))
            .map(|(element, _)| element.content.as_str());
        texts.find_map(address)
    }
}

/// Returns the meanings of opening an address, from the words in it.
pub(super) fn meanings_of_address(words: &Lexicon, address: &str) -> Meanings {
    let Ok(url) = Url::parse(address) else {
        return words.meanings_of_label(address);
    };
    let whole = SCRIPT_SCHEMES
        .contains(&url.scheme())
        .then(|| url.path().to_owned());
    let runs = whole.as_ref().map(|_| GRANT.to_owned());
    let pieces = url.path_segments().into_iter().flatten();
    let pieces = pieces.chain(url.fragment()).map(str::to_owned).chain(whole);
    let query = url
        .query_pairs()
        .flat_map(|(key, value)| [key.into_owned(), value.into_owned()])
        .collect::<Vec<_>>();
    pieces
        .chain(query)
        .map(|piece| percent_decode_str(&piece).decode_utf8_lossy().into_owned())
        .flat_map(|piece| words.meanings_of_sentence(&piece))
        // An address names a password page without asking for a password.
        .filter(|meaning| meaning != "password")
        .chain(runs)
        .collect()
}

/// Parses a text that is an address, with or without a scheme.
fn address(text: &str) -> Option<Url> {
    let text = text.trim();
    if text.contains(char::is_whitespace) {
        return None;
    }
    let url = match text.split_once("://") {
        Some(_) => Url::parse(text),
        None => Url::parse(&format!("https://{text}")),
    };
    url.ok().filter(|url| {
        let host = url.host_str().unwrap_or_default();
        let ending = host.rsplit_once('.').map(|(_, ending)| ending);
        // The shortest top-level domains have two letters. A file name or a number with a point is no address.
        ending.is_some_and(|ending| ending.len() >= 2 && ending.chars().all(char::is_alphabetic))
    })
}
