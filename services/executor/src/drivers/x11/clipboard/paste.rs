//! When a paste is over, judged by what applications ask the owner of the clipboard for. Pure.
//!
//! Nothing tells the owner that an application has done with it. Most fetch the text once. Chromium (and whatever is
//! built on it) fetches it twice for one paste: its window at the chord, and then its page, by way of another process
//! and therefore some time later on a busy machine. What the page is given is what is pasted.

use std::time::Duration;

use tokio::time::Instant;

/// How long nothing is asked for after the last fetch of a paste that is over. One that took longer is given as long
/// again as it took: the machine is busy.
const QUIET: Duration = Duration::from_millis(50);
/// A longer time than this is not waited, however long the paste took.
const LONGEST_QUIET: Duration = Duration::from_secs(1);
/// How long an application that usually fetches once more is given to do it.
const ONCE_MORE_PATIENCE: Duration = Duration::from_secs(1);
/// A fetch by another program than the one with the keyboard (a clipboard manager, perhaps) counts as the paste only
/// if the right one has not come by then.
const OTHERS_COUNT_AFTER: Duration = Duration::from_secs(1);
/// More programs than this do not take part in one paste.
const MOST_ASKERS: usize = 64;

/// A program that has asked for something since the paste began.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Asker {
    pub(super) client: u32,
    /// Texts delivered whole.
    pub(super) texts: u32,
    /// How many it fetches in one paste.
    pub(super) texts_in_a_paste: u32,
    pub(super) first: Instant,
    pub(super) last: Instant,
}

/// What the owner of the clipboard has seen of a paste.
#[derive(Debug, Default)]
pub(super) struct Seen {
    pub(super) askers: Vec<Asker>,
    /// Somebody else has become the owner of what was lent for the paste.
    pub(super) taken_over: bool,
}

/// What somebody has asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Asked {
    /// Which forms there are, and the like; or a part of a text.
    Else,
    /// The whole text, which was delivered.
    Text {
        /// How many times it is fetched in one paste.
        times: u32,
    },
}

/// Notes what `client` has asked for.
pub(super) fn note(askers: &mut Vec<Asker>, client: u32, asked: Asked, now: Instant) {
    let position = askers.iter().position(|asker| asker.client == client);
    let position = position.unwrap_or_else(|| {
        askers.truncate(MOST_ASKERS - 1);
        askers.push(Asker {
            client,
            texts: 0,
            texts_in_a_paste: 1,
            first: now,
            last: now,
        });
        askers.len() - 1
    });
    let asker = &mut askers[position];
    asker.last = now;
    if let Asked::Text { times } = asked {
        asker.texts += 1;
        asker.texts_in_a_paste = times;
    }
}

/// A paste that was asked for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Paste {
    /// Who is expected to paste; `None` stands for anybody.
    pub(super) client: Option<u32>,
    pub(super) since: Instant,
}

/// How far a paste has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Progress {
    NotTaken,
    UnderWay,
    Over,
}

impl Paste {
    /// How far it has come, as far as `askers` tell.
    pub(super) fn progress(&self, askers: &[Asker], now: Instant) -> Progress {
        let is_expected = |asker: &&Asker| self.client.is_none_or(|client| asker.client == client);
        if let Some(expected) = askers.iter().find(is_expected) {
            return self.progress_of(expected, now);
        }
        let late = askers
            .iter()
            .filter(|asker| now >= asker.first + OTHERS_COUNT_AFTER);
        late.map(|asker| self.progress_of(asker, now))
            .max()
            .unwrap_or(Progress::NotTaken)
    }

    fn progress_of(&self, asker: &Asker, now: Instant) -> Progress {
        if asker.texts == 0 {
            return Progress::NotTaken;
        }
        let quiet = if asker.texts < asker.texts_in_a_paste {
            ONCE_MORE_PATIENCE
        } else {
            (asker.last - self.since).clamp(QUIET, LONGEST_QUIET)
        };
        if now >= asker.last + quiet {
            Progress::Over
        } else {
            Progress::UnderWay
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EXPECTED: u32 = 0x40_0000;
    const OTHER: u32 = 0x60_0000;
    const ONCE: Asked = Asked::Text { times: 1 };
    const TWICE: Asked = Asked::Text { times: 2 };

    /// What was asked for, by whom, how many milliseconds after the paste began; and how it looks at `now`.
    fn check(asked: &[(u32, Asked, u64)], now: u64, expected: Progress) {
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
        check(&[], 9_000, Progress::NotTaken);
        check(&[(EXPECTED, Asked::Else, 5)], 900, Progress::NotTaken);
        check(&[(EXPECTED, ONCE, 5)], 54, Progress::UnderWay);
        check(&[(EXPECTED, ONCE, 5)], 55, Progress::Over);
    }

    #[test]
    fn whoever_fetches_twice_is_waited_for() {
        let once = [(EXPECTED, Asked::Else, 5), (EXPECTED, TWICE, 6)];
        check(&once, 1_005, Progress::UnderWay);
        check(&once, 1_006, Progress::Over);
        let twice = [once[0], once[1], (EXPECTED, TWICE, 20)];
        check(&twice, 69, Progress::UnderWay);
        check(&twice, 70, Progress::Over);
        let asks_on = [twice[0], twice[1], twice[2], (EXPECTED, Asked::Else, 60)];
        check(&asks_on, 119, Progress::UnderWay);
        check(&asks_on, 120, Progress::Over);
    }

    #[test]
    fn a_slow_paste_is_given_as_long_again() {
        check(&[(EXPECTED, ONCE, 400)], 799, Progress::UnderWay);
        check(&[(EXPECTED, ONCE, 400)], 800, Progress::Over);
        check(&[(EXPECTED, ONCE, 3_000)], 4_000, Progress::Over);
    }

    #[test]
    fn others_count_only_if_nobody_else_comes() {
        check(&[(OTHER, ONCE, 5)], 900, Progress::NotTaken);
        check(&[(OTHER, ONCE, 5)], 1_005, Progress::Over);
        check(
            &[(OTHER, ONCE, 5), (EXPECTED, ONCE, 1_000)],
            1_010,
            Progress::UnderWay,
        );
    }
}
