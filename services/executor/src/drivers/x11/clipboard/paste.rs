//! Determines when a paste is complete from the requests to the clipboard owner. Pure.
//!
//! Applications do not report the end of a paste. Most fetch the text once. Chromium, and applications based on it,
//! fetch it twice per paste: first by the window at the chord, then by the page through another process, which is
//! later on a busy machine. The page's fetch is what gets pasted.

use std::time::Duration;

use tokio::time::Instant;

/// Time without requests after which a paste is complete. A slow paste gets as long again as it took, because the
/// machine is busy.
const SETTLE_TIME: Duration = Duration::from_millis(50);
/// Maximum of that time, however slow the paste was.
// The action would otherwise last twice as long as a paste that took seconds.
const MAX_SETTLE_TIME: Duration = Duration::from_secs(1);
/// Timeout for the second fetch of an application that normally makes two.
const SECOND_FETCH_TIMEOUT: Duration = Duration::from_secs(1);
/// Delay before a fetch by another program than the focused one (a clipboard manager, perhaps) counts as the paste.
const OTHER_CLIENT_DELAY: Duration = Duration::from_secs(1);
/// Maximum number of recorded requestors per paste.
// Bounds the memory: a paste has one or two, and a clipboard manager adds one.
const MAX_REQUESTORS: usize = 64;

/// A client that has made requests since the paste started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Requestor {
    pub(super) client: u32,
    /// Number of completely delivered texts.
    pub(super) texts: u32,
    /// Number of fetches that the client makes per paste.
    pub(super) texts_per_paste: u32,
    pub(super) first: Instant,
    pub(super) last: Instant,
}

/// The owner's record of a paste.
#[derive(Debug, Default)]
pub(super) struct PasteLog {
    pub(super) askers: Vec<Requestor>,
    /// Another program has replaced the temporary offer.
    pub(super) taken_over: bool,
}

/// The kind of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RequestKind {
    /// The list of targets or other metadata, or a chunk of a text.
    Other,
    /// The whole text, which was delivered.
    Text {
        /// Number of fetches that the client makes per paste.
        times: u32,
    },
}

/// Records a request of `client`.
pub(super) fn note(askers: &mut Vec<Requestor>, client: u32, asked: RequestKind, now: Instant) {
    let position = askers.iter().position(|asker| asker.client == client);
    let position = position.unwrap_or_else(|| {
        askers.truncate(MAX_REQUESTORS - 1);
        askers.push(Requestor {
            client,
            texts: 0,
            texts_per_paste: 1,
            first: now,
            last: now,
        });
        askers.len() - 1
    });
    let asker = &mut askers[position];
    asker.last = now;
    if let RequestKind::Text { times } = asked {
        asker.texts += 1;
        asker.texts_per_paste = times;
    }
}

/// A paste in progress.
#[derive(Debug, Clone, Copy)]
pub(super) struct Paste {
    /// The client that is expected to paste; `None` stands for any.
    pub(super) client: Option<u32>,
    pub(super) since: Instant,
}

/// Progress of a paste.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum PasteProgress {
    NotStarted,
    InProgress,
    Complete,
}

impl Paste {
    /// Returns the progress according to `requestors`.
    pub(super) fn progress(&self, askers: &[Requestor], now: Instant) -> PasteProgress {
        let is_expected =
            |asker: &&Requestor| self.client.is_none_or(|client| asker.client == client);
        if let Some(expected) = askers.iter().find(is_expected) {
            return self.progress_of(expected, now);
        }
        let late = askers
            .iter()
            .filter(|asker| now >= asker.first + OTHER_CLIENT_DELAY);
        late.map(|asker| self.progress_of(asker, now))
            .max()
            .unwrap_or(PasteProgress::NotStarted)
    }

    fn progress_of(&self, asker: &Requestor, now: Instant) -> PasteProgress {
        if asker.texts == 0 {
            return PasteProgress::NotStarted;
        }
        let quiet = if asker.texts < asker.texts_per_paste {
            SECOND_FETCH_TIMEOUT
        } else {
            (asker.last - self.since).clamp(SETTLE_TIME, MAX_SETTLE_TIME)
        };
        if now >= asker.last + quiet {
            PasteProgress::Complete
        } else {
            PasteProgress::InProgress
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EXPECTED: u32 = 0x40_0000;
    const OTHER: u32 = 0x60_0000;
    const ONCE: RequestKind = RequestKind::Text { times: 1 };
    const TWICE: RequestKind = RequestKind::Text { times: 2 };

    /// Requests with client and milliseconds since the start of the paste, and the expected progress at `now`.
    fn check(asked: &[(u32, RequestKind, u64)], now: u64, expected: PasteProgress) {
        let since = Instant::now();
        let at = |milliseconds| since + Duration::from_millis(milliseconds);
        let mut askers = Vec::new();
        for &(client, what, when) in asked {
            note(&mut askers, client, what, at(when));
        }
        let paste = Paste {
            client: Some(EXPECTED),
            since,
        };
        assert_eq!(
            paste.progress(&askers, at(now)),
            expected,
            "{asked:?} at {now}"
        );
    }

    #[test]
    fn a_text_that_is_fetched_once_is_pasted_after_a_moment() {
        check(&[], 9_000, PasteProgress::NotStarted);
        check(
            &[(EXPECTED, RequestKind::Other, 5)],
            900,
            PasteProgress::NotStarted,
        );
        check(&[(EXPECTED, ONCE, 5)], 54, PasteProgress::InProgress);
        check(&[(EXPECTED, ONCE, 5)], 55, PasteProgress::Complete);
    }

    #[test]
    fn paste_waits_for_applications_that_fetch_twice() {
        let once = [(EXPECTED, RequestKind::Other, 5), (EXPECTED, TWICE, 6)];
        check(&once, 1_005, PasteProgress::InProgress);
        check(&once, 1_006, PasteProgress::Complete);
        let twice = [once[0], once[1], (EXPECTED, TWICE, 20)];
        check(&twice, 69, PasteProgress::InProgress);
        check(&twice, 70, PasteProgress::Complete);
        let asks_on = [
            twice[0],
            twice[1],
            twice[2],
            (EXPECTED, RequestKind::Other, 60),
        ];
        check(&asks_on, 119, PasteProgress::InProgress);
        check(&asks_on, 120, PasteProgress::Complete);
    }

    #[test]
    fn slow_paste_gets_a_longer_settle_time() {
        check(&[(EXPECTED, ONCE, 400)], 799, PasteProgress::InProgress);
        check(&[(EXPECTED, ONCE, 400)], 800, PasteProgress::Complete);
        check(&[(EXPECTED, ONCE, 3_000)], 4_000, PasteProgress::Complete);
    }

    #[test]
    fn other_clients_count_only_without_an_expected_fetch() {
        check(&[(OTHER, ONCE, 5)], 900, PasteProgress::NotStarted);
        check(&[(OTHER, ONCE, 5)], 1_005, PasteProgress::Complete);
        check(
            &[(OTHER, ONCE, 5), (EXPECTED, ONCE, 1_000)],
            1_010,
            PasteProgress::InProgress,
        );
    }
}
