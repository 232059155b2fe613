//! When a screen counts as quiet. Pure: time and changes are told, nothing is looked at.
//!
//! First a change is waited for, then silence after the last one; both are bounded. Changes too small to matter (a
//! caret) are set aside and named as noise, as long as they stay small and seldom: they are told again together with
//! what comes after them, so that something that grows by little counts in the end, and many in a short time are an
//! animation. Defaults and reasons: measured settle times of applications, see
//! [`AwaitQuiet`](motorium_proto::service::AwaitQuiet).

use std::collections::VecDeque;
use std::time::Duration;

use motorium_proto::domain::effect::ChangedRegion;
use motorium_proto::domain::geometry::CaptureRect;
use motorium_proto::service::Quiet;
use tokio::time::Instant;

/// A text caret is at most this wide and high, in pixels at scale 1 (seen: 1×15 in Chromium, 3×18 in GTK).
const CARET: (f64, f64) = (4.0, 40.0);

/// Small changes at so many moments within such a time are those of an animation: carets and clocks change at most a few
/// times a second.
const ANIMATION: (usize, Duration) = (3, Duration::from_millis(150));

/// How many regions an answer names at most.
const MAX_REGIONS: usize = 32;

/// How long to wait, and for what.
#[derive(Debug, Clone, PartialEq)]
pub struct Rule {
    /// How long to wait for the first change.
    pub first_change: Duration,
    /// How long nothing may change.
    pub quiet: Duration,
    /// How long to wait altogether.
    pub timeout: Duration,
    /// Changes of up to so many pixels do not count.
    pub ignore_pixels: u64,
    /// Capture pixels per logical point: carets grow with it.
    pub scale: f64,
}

/// A wait that goes on.
#[derive(Debug)]
pub struct Waiting {
    rule: Rule,
    start: Instant,
    first_change: Option<Instant>,
    last_change: Option<Instant>,
    /// What changed lately, newest last.
    recent: Vec<(Instant, CaptureRect)>,
    /// Small changes, and how often they were seen.
    small: Vec<(CaptureRect, u32)>,
    /// When the latest of them were seen, each moment once.
    small_at: VecDeque<Instant>,
}

impl Waiting {
    /// Begins to wait at `start`.
    #[must_use]
    pub fn new(rule: Rule, start: Instant) -> Self {
        Self {
            rule,
            start,
            first_change: None,
            last_change: None,
            recent: Vec::new(),
            small: Vec::new(),
            small_at: VecDeque::new(),
        }
    }

    /// These regions have changed. Returns those that count.
    pub fn observe(&mut self, at: Instant, regions: &[ChangedRegion]) -> Vec<CaptureRect> {
        let mut counted = Vec::new();
        self.recent
            .retain(|&(then, _)| at.saturating_duration_since(then) < self.rule.quiet);
        if regions.iter().any(|region| self.is_small(region)) {
            self.small_at.push_back(at);
        }
        let is_animated = self.is_animated(at);
        for region in regions {
            if self.is_small(region) && !is_animated {
                self.count_small(region.bounds);
                continue;
            }
            self.first_change.get_or_insert(at);
            self.last_change = Some(at);
            self.recent.push((at, region.bounds));
            counted.push(region.bounds);
        }
        counted
    }

    fn count_small(&mut self, bounds: CaptureRect) {
        let mut known = self.small.iter_mut();
        if let Some((known, count)) = known.find(|(known, _)| known.intersects(&bounds)) {
            *known = known.union(&bounds);
            *count += 1;
        } else if self.small.len() < MAX_REGIONS {
            self.small.push((bounds, 1));
        }
    }

    fn is_animated(&mut self, at: Instant) -> bool {
        let (moments, time) = ANIMATION;
        self.small_at
            .retain(|&then| at.saturating_duration_since(then) <= time);
        self.small_at.len() >= moments
    }

    fn is_small(&self, region: &ChangedRegion) -> bool {
        let size = region.bounds.size().to_f64();
        let is_caret =
            size.width <= CARET.0 * self.rule.scale && size.height <= CARET.1 * self.rule.scale;
        is_caret || region.changed_pixels <= self.rule.ignore_pixels
    }

    /// When the wait ends if nothing changes until then.
    #[must_use]
    pub fn ends_at(&self) -> Instant {
        let quiet_at = match self.last_change {
            Some(last) => last + self.rule.quiet,
            None => self.start + self.rule.first_change.max(self.rule.quiet),
        };
        quiet_at.min(self.gives_up_at())
    }

    /// When the wait ends at the latest.
    #[must_use]
    pub fn gives_up_at(&self) -> Instant {
        self.start + self.rule.timeout
    }

    /// How the wait ended, now that it has.
    #[must_use]
    pub fn outcome(self, now: Instant) -> Quiet {
        let silent_since = self.last_change.unwrap_or(self.start);
        let settled = now.saturating_duration_since(silent_since) >= self.rule.quiet;
        let mut still_changing = Vec::new();
        if !settled {
            for (_, bounds) in self.recent {
                join(&mut still_changing, bounds);
            }
        }
        Quiet {
            settled,
            changed: self.first_change.is_some(),
            elapsed: now.saturating_duration_since(self.start),
            first_change_after: self
                .first_change
                .map(|at| at.saturating_duration_since(self.start)),
            still_changing,
            // What changed by little once may be the very effect that is waited for; what does it again and again is not.
            noise: self
                .small
                .into_iter()
                .filter(|&(_, count)| count > 1)
                .map(|(bounds, _)| bounds)
                .collect(),
        }
    }
}

/// Adds a box to a list in which no two boxes overlap.
fn join(boxes: &mut Vec<CaptureRect>, added: CaptureRect) {
    let mut added = added;
    while let Some(overlapping) = boxes.iter().position(|known| known.intersects(&added)) {
        added = added.union(&boxes.swap_remove(overlapping));
    }
    if boxes.len() == MAX_REGIONS {
        let last = boxes.pop().expect("the list is full");
        added = added.union(&last);
    }
    boxes.push(added);
}

#[cfg(test)]
mod tests {
    use motorium_proto::domain::geometry::{CapturePoint, CaptureSize};

    use super::*;

    fn ms(count: u64) -> Duration {
        Duration::from_millis(count)
    }

    fn rule() -> Rule {
        Rule {
            first_change: ms(300),
            quiet: ms(120),
            timeout: ms(2000),
            ignore_pixels: 64,
            scale: 1.0,
        }
    }

    fn region(x: i32, y: i32, width: i32, height: i32) -> ChangedRegion {
        let bounds = CaptureRect::from_origin_and_size(
            CapturePoint::new(x, y),
            CaptureSize::new(width, height),
        );
        ChangedRegion {
            bounds,
            changed_pixels: u64::try_from(width * height).unwrap(),
        }
    }

    fn button() -> ChangedRegion {
        region(100, 100, 80, 30)
    }

    fn caret() -> ChangedRegion {
        region(10, 10, 3, 38)
    }

    /// Plays the changes at their times (in ms) and lets the wait end as a caller would.
    fn play(rule: Rule, changes: &[(u64, ChangedRegion)]) -> Quiet {
        let start = Instant::now();
        let mut waiting = Waiting::new(rule, start);
        for &(at, region) in changes {
            let at = start + ms(at);
            if at >= waiting.ends_at() {
                break;
            }
            waiting.observe(at, &[region]);
        }
        let end = waiting.ends_at();
        waiting.outcome(end)
    }

    /// `(settled, changed, elapsed in ms, first change in ms)`.
    fn check(
        rule: Rule,
        changes: &[(u64, ChangedRegion)],
        expected: (bool, bool, u64, Option<u64>),
    ) {
        let got = play(rule, changes);
        let (settled, changed, elapsed, first) = expected;
        assert_eq!(
            (
                got.settled,
                got.changed,
                got.elapsed,
                got.first_change_after
            ),
            (settled, changed, ms(elapsed), first.map(ms)),
            "{changes:?}"
        );
    }

    #[test]
    fn waits_for_the_first_change_and_then_for_silence() {
        check(rule(), &[], (true, false, 300, None));
        check(rule(), &[(7, button())], (true, true, 127, Some(7)));
        check(
            rule(),
            &[(10, button()), (100, button()), (219, button())],
            (true, true, 339, Some(10)),
        );
        // Silence ended the wait before the second change came.
        check(
            rule(),
            &[(10, button()), (131, button())],
            (true, true, 130, Some(10)),
        );
        check(rule(), &[(299, button())], (true, true, 419, Some(299)));
    }

    #[test]
    fn small_changes_are_noise() {
        let blinking: Vec<_> = (0..20).map(|blink| (blink * 250, caret())).collect();
        let patient = Rule {
            first_change: ms(1000),
            ..rule()
        };
        check(patient.clone(), &blinking, (true, false, 1000, None));
        assert_eq!(play(patient.clone(), &blinking).noise, [caret().bounds]);
        assert_eq!(play(patient, &blinking[..1]).noise, []);
        check(
            rule(),
            &[(5, button()), (60, caret())],
            (true, true, 125, Some(5)),
        );
        // A dot of eight by eight is small, one more row is not.
        check(rule(), &[(5, region(0, 0, 8, 8))], (true, false, 300, None));
        check(
            rule(),
            &[(5, region(0, 0, 8, 9))],
            (true, true, 125, Some(5)),
        );
        // A caret on a display of twice the density.
        check(
            Rule {
                scale: 2.0,
                ..rule()
            },
            &[(5, region(0, 0, 7, 70))],
            (true, false, 300, None),
        );
    }

    #[test]
    fn many_small_changes_in_a_short_time_are_an_animation() {
        let wheel: Vec<_> = (0..100)
            .map(|turn| (turn * 40, region(50 + turn as i32 % 4 * 20, 50, 6, 6)))
            .collect();
        check(rule(), &wheel, (false, true, 2000, Some(80)));
        // It comes to rest.
        check(rule(), &wheel[..10], (true, true, 480, Some(80)));
    }

    #[test]
    fn a_screen_that_never_rests_is_given_up_and_named() {
        let film: Vec<_> = (0..300).map(|frame| (frame * 10, button())).collect();
        check(rule(), &film, (false, true, 2000, Some(0)));
        let outcome = play(rule(), &film);
        assert_eq!(outcome.still_changing, [button().bounds]);
        // What had come to rest before is not named.
        let mut with_dialog = film;
        with_dialog.insert(0, (0, region(500, 500, 50, 50)));
        assert_eq!(play(rule(), &with_dialog).still_changing, [button().bounds]);
    }

    #[test]
    fn the_bounds_may_be_odd() {
        let no_first = Rule {
            first_change: ms(0),
            ..rule()
        };
        check(no_first, &[], (true, false, 120, None));
        let hasty = Rule {
            timeout: ms(50),
            ..rule()
        };
        check(hasty.clone(), &[], (false, false, 50, None));
        check(hasty, &[(10, button())], (false, true, 50, Some(10)));
        let patient = Rule {
            first_change: ms(5000),
            ..rule()
        };
        check(patient, &[], (true, false, 2000, None));
    }

    #[test]
    fn named_regions_are_joined_and_few() {
        let mut boxes = Vec::new();
        for index in 0..100 {
            join(&mut boxes, region(index * 10, 0, 5, 5).bounds);
        }
        assert_eq!(boxes.len(), MAX_REGIONS);
        join(&mut boxes, region(0, 0, 1000, 10).bounds);
        assert_eq!(boxes, [region(0, 0, 1000, 10).bounds]);
    }
}
