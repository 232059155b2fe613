//! Address bars of browsers, and the meaning of opening an address.

use std::collections::BTreeSet;

use motorium_proto::domain::action::Action;
use motorium_proto::domain::geometry::CaptureRect;
use motorium_proto::domain::key::Key;
use percent_encoding::percent_decode_str;
use url::Url;

use super::TargetContext;
use super::typed_address::{completed, completing_suffixes, typed_addresses, unwrapped};
use crate::action::{ActionCategory, category, pastes, pastes_selection};
use motorium_text::lexicon::{GRANT, Lexicon, Meanings};

/// URL schemes that execute their content.
const SCRIPT_SCHEMES: [&str; 3] = ["javascript", "data", "vbscript"];
/// The empty page.
const BLANK: &str = "about:blank";

impl TargetContext<'_> {
    /// Returns the addresses that an action opens, or may open: an address that is opened as such, and text that is, or may be,
    /// in a browser's address bar. Text is judged when it is entered, before Enter opens it. Addresses that another one wraps
    /// (`view-source:`) follow it. A text that can be read in several ways counts as each of them.
    pub(super) fn opened_addresses(
        &self,
        applications: &BTreeSet<String>,
        argument: &str,
    ) -> Vec<Url> {
        let found = match self.inputs.action {
            Action::OpenUrl { .. } | Action::GoToUrl { .. } => typed_addresses(argument),
            action => match category(action) {
                ActionCategory::TextEntry => self.addresses_entered(applications, argument),
                // Text that was entered key by key is judged when it is opened.
                ActionCategory::KeyPress if self.opens_the_line() => {
                    let mut found = self.addresses_entered(applications, "");
                    found.extend(self.completed_addresses(applications));
                    found
                }
                ActionCategory::KeyPress
                | ActionCategory::ReadOnly
                | ActionCategory::Press
                | ActionCategory::Drop
                | ActionCategory::Navigation => Vec::new(),
            },
        };
        found.into_iter().flat_map(unwrapped).collect()
    }

    /// Returns true if an unknown text, such as a clipboard that the task did not set, is or may be pasted into an address bar.
    pub(crate) fn may_open_unknown_text(
        &self,
        applications: &BTreeSet<String>,
        argument: &str,
    ) -> bool {
        let action = self.inputs.action;
        let pastes_unknown = pastes(action) && argument.is_empty();
        // The middle button closes tabs, too, which the upper part of the window also holds.
        let pastes_selection = pastes_selection(action) && self.is_field();
        (pastes_unknown || pastes_selection) && self.may_be_in_address_bar(applications)
    }

    fn opens_the_line(&self) -> bool {
        let keys = self.inputs.action.keys();
        keys.iter().any(|key| key.in_main_block() == Key::Enter)
    }

    /// Returns the addresses to which a browser completes the line, if Enter is pressed with keys for it.
    fn completed_addresses(&self, applications: &BTreeSet<String>) -> Vec<Url> {
        let keys = self.inputs.action.keys();
        let holds = |key: Key| keys.iter().any(|held| held.in_main_block() == key);
        let suffixes = completing_suffixes(holds(Key::Control), holds(Key::Shift));
        if suffixes.is_empty() || !self.may_be_in_address_bar(applications) {
            return Vec::new();
        }
        let line = &self.inputs.keyboard.line;
        let completed = suffixes.iter().filter_map(|suffix| completed(line, suffix));
        completed.collect()
    }

    fn addresses_entered(&self, applications: &BTreeSet<String>, argument: &str) -> Vec<Url> {
        if !self.may_be_in_address_bar(applications) || argument.starts_with("secret:") {
            return Vec::new();
        }
        // The bar may have been empty, or hold what was entered before.
        let line = format!("{}{argument}", self.inputs.keyboard.line);
        // A browser joins the lines of a pasted text. Typed, each line and each text after a tab is one of its own.
        let texts = [argument, line.as_str()].into_iter();
        let texts = texts.flat_map(|text| text.split(['\n', '\t']).chain([text]));
        let mut found: Vec<Url> = texts.flat_map(typed_addresses).collect();
        found.sort();
        found.dedup();
        found
    }

    fn may_be_in_address_bar(&self, applications: &BTreeSet<String>) -> bool {
        let is_there = |bar: CaptureRect| {
            self.is_focus_unknown() || self.bounds.is_some_and(|own| bar.contains(own.center()))
        };
        // A dialog of the browser, such as one that saves a file, has no address bar; a small window of it has.
        let window = self.inputs.frame.active_window();
        let is_modal = window.is_some_and(|window| window.modal);
        applications.contains("browser") && !is_modal && self.address_bar().is_some_and(is_there)
    }

    /// Returns the area of the address bar: the upper sixth of the window. Toolbar heights differ; a sixth covers tabs,
    /// address bar and bookmarks without reaching far into the page.
    fn address_bar(&self) -> Option<CaptureRect> {
        let mut bar = self.inputs.frame.active_window()?.bounds;
        bar.max.y = bar.min.y + bar.height() / 6;
        Some(bar)
    }

    /// Returns the page's address from the browser driver. Without it the address is unknown: on a screenshot, the title of a tab
    /// looks like an address, too.
    pub(crate) fn url(&self) -> Option<Url> {
        Url::parse(self.inputs.url?).ok()
    }

    /// Returns the categories of the page's host. If the host is unknown, those of every address at the top of the window
    /// count, so that a title can add a category and hide none.
    pub(crate) fn sites(
        &self,
        words: &Lexicon,
        applications: &BTreeSet<String>,
    ) -> BTreeSet<String> {
        if let Some(url) = self.url() {
            return words.sites(url.host_str().unwrap_or_default());
        }
        let bar = self.address_bar();
        let bar = bar.filter(|_| applications.contains("browser"));
        self.elements()
            .filter(|(_, bounds)| bar.is_some_and(|bar| bar.contains(bounds.center())))
            .flat_map(|(element, _)| typed_addresses(&element.content))
            .flat_map(|url| words.sites(url.host_str().unwrap_or_default()))
            .collect()
    }
}

/// Returns the schemes of addresses, without that of the empty page.
pub(crate) fn schemes(addresses: &[Url]) -> BTreeSet<String> {
    let addresses = addresses.iter().filter(|url| url.as_str() != BLANK);
    addresses.map(|url| url.scheme().to_owned()).collect()
}

/// Returns the hosts of addresses in their canonical form: `127.0.0.1` for `0x7f.1`, and without a full stop at the end.
pub(crate) fn hosts(addresses: &[Url]) -> BTreeSet<String> {
    let hosts = addresses.iter().filter_map(Url::host_str);
    hosts
        .map(|host| host.trim_end_matches('.').to_lowercase())
        .filter(|host| !host.is_empty())
        .collect()
}

/// Returns addresses without what rules about hosts do not need: a text of thousands of lines, or one that wraps an address as often,
/// yields few, and neither a password nor a path leaves the task.
pub(crate) fn origins(addresses: &[Url]) -> BTreeSet<String> {
    addresses.iter().map(origin).collect()
}

fn origin(address: &Url) -> String {
    let scheme = address.scheme();
    match address.host_str().filter(|host| !host.is_empty()) {
        Some(host) => {
            let port = address.port().map(|port| format!(":{port}"));
            format!("{scheme}://{host}{}/", port.unwrap_or_default())
        }
        None if address.as_str() == BLANK => BLANK.to_owned(),
        None if address.cannot_be_a_base() => format!("{scheme}:"),
        None => format!("{scheme}:///"),
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
