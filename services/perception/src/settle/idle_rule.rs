//! Decides when a screen is idle. Pure: time and changes are passed in.
//!
//! The wait has two bounded phases: until the first change, then until nothing changes for the idle duration. Small
//! changes (a caret) are excluded and reported as background motion as long as they stay small and rare. They are
//! compared with the same reference again, so gradual growth eventually counts, and many small changes in a short time
//! count as an animation. For the defaults, measured on applications, see
//! [`WaitForIdleRequest`](motorium_proto::service::WaitForIdleRequest).

use std::collections::VecDeque;
use std::time::Duration;

use motorium_proto::domain::effect::ChangedRegion;
use motorium_proto::domain::geometry::CaptureRect;
use motorium_proto::service::IdleReport;
use tokio::time::Instant;

/// Maximum size of a text caret, in pixels at scale 1 (measured: 1×15 in Chromium, 3×18 in GTK).
const MAX_CARET_SIZE: (f64, f64) = (4.0, 40.0);

/// Number of small changes within a duration that counts as an animation. Carets and clocks change at most a few times
/// per second.
const ANIMATION_RATE: (usize, Duration) = (3, Duration::from_millis(150));

/// Maximum number of regions in a result.
const MAX_REGIONS: usize = 32;

/// Parameters of a wait.
#[derive(Debug, Clone, PartialEq)]
pub struct IdleRule {
    /// Timeout of the first change.
    pub first_change_timeout: Duration,
    /// Duration without changes after which the screen is idle.
    pub idle_duration: Duration,
    /// Total timeout.
    pub timeout: Duration,
    /// Changes of up to this number of pixels are ignored.
    pub ignore_pixels: u64,
    /// Capture pixels per logical point; the caret size is scaled with it.
    pub scale: f64,
}

/// State of a wait.
#[derive(Debug)]
pub struct IdleWait {
    rule: IdleRule,
    start: Instant,
    first_change: Option<Instant>,
    last_change: Option<Instant>,
    /// Recent changes, newest last.
    recent: Vec<(Instant, CaptureRect)>,
    /// Small changes with the number of observations.
    small_changes: Vec<(CaptureRect, u32)>,
    /// Times of the latest small changes, each moment once.
    small_change_times: VecDeque<Instant>,
}

impl IdleWait {
    /// Starts a wait at `start`.
    #[must_use]
    pub fn new(rule: IdleRule, start: Instant) -> Self {
        Self {
            rule,
            start,
            first_change: None,
            last_change: None,
            recent: Vec::new(),
            small_changes: Vec::new(),
            small_change_times: VecDeque::new(),
        }
    }

    /// Processes changed regions. Returns those that count.
    pub fn observe(&mut self, at: Instant, regions: &[ChangedRegion]) -> Vec<CaptureRect> {
        let mut counted = Vec::new();
        self.recent
            .retain(|&(then, _)| at.saturating_duration_since(then) < self.rule.idle_duration);
        if regions.iter().any(|region| self.is_small(region)) {
            self.small_change_times.push_back(at);
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
        let mut known = self.small_changes.iter_mut();
        if let Some((known, count)) = known.find(|(known, _)| known.intersects(&bounds)) {
            *known = known.union(&bounds);
            *count += 1;
        } else if self.small_changes.len() < MAX_REGIONS {
            self.small_changes.push((bounds, 1));
        }
    }

    fn is_animated(&mut self, at: Instant) -> bool {
        let (moments, time) = ANIMATION_RATE;
        self.small_change_times
            .retain(|&then| at.saturating_duration_since(then) <= time);
        self.small_change_times.len() >= moments
    }

    fn is_small(&self, region: &ChangedRegion) -> bool {
        let size = region.bounds.size().to_f64();
        let is_caret = size.width <= MAX_CARET_SIZE.0 * self.rule.scale
            && size.height <= MAX_CARET_SIZE.1 * self.rule.scale;
        is_caret || region.changed_pixels <= self.rule.ignore_pixels
    }

    /// Returns when the wait ends if nothing else changes.
    #[must_use]
    pub fn ends_at(&self) -> Instant {
        let quiet_at = match self.last_change {
            Some(last) => last + self.rule.idle_duration,
            None => self.start + self.rule.first_change_timeout.max(self.rule.idle_duration),
        };
        quiet_at.min(self.deadline())
    }

    /// Returns when the wait times out.
    #[must_use]
    pub fn deadline(&self) -> Instant {
        self.start + self.rule.timeout
    }

    /// Returns the result of a wait that has ended.
    #[must_use]
    pub fn outcome(self, now: Instant) -> IdleReport {
        let silent_since = self.last_change.unwrap_or(self.start);
        let settled = now.saturating_duration_since(silent_since) >= self.rule.idle_duration;
        let mut still_changing = Vec::new();
        if !settled {
            for (_, bounds) in self.recent {
                join(&mut still_changing, bounds);
            }
        }
        IdleReport {
            settled,
            changed: self.first_change.is_some(),
            elapsed: now.saturating_duration_since(self.start),
            first_change_after: self
                .first_change
                .map(|at| at.saturating_duration_since(self.start)),
            still_changing,
            // A single small change may be the awaited effect; a repeated one is background motion.
            background_motion: self
                .small_changes
                .into_iter()
                .filter(|&(_, count)| count > 1)
                .map(|(bounds, _)| bounds)
                .collect(),
        }
    }
}

/// Adds a box to a list of disjoint boxes.
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

    fn rule() -> IdleRule {
        IdleRule {
            first_change_timeout: ms(300),
            idle_duration: ms(120),
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

    /// Replays changes at their times (in ms) and ends the wait as a caller would.
    fn play(rule: IdleRule, changes: &[(u64, ChangedRegion)]) -> IdleReport {
        let start = Instant::now();
        let mut waiting = IdleWait::new(rule, start);
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
        rule: IdleRule,
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
    fn waits_for_the_first_change_then_for_idle() {
        check(rule(), &[], (true, false, 300, None));
        check(rule(), &[(7, button())], (true, true, 127, Some(7)));
        check(
            rule(),
            &[(10, button()), (100, button()), (219, button())],
            (true, true, 339, Some(10)),
        );
        // The wait ended before the second change.
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
        let patient = IdleRule {
            first_change_timeout: ms(1000),
            ..rule()
        };
        check(patient.clone(), &blinking, (true, false, 1000, None));
        assert_eq!(
            play(patient.clone(), &blinking).background_motion,
            [caret().bounds]
        );
        assert_eq!(play(patient, &blinking[..1]).background_motion, []);
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
            IdleRule {
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
        // The animation ends.
        check(rule(), &wheel[..10], (true, true, 480, Some(80)));
    }

    #[test]
    fn continuously_changing_screen_times_out_with_its_regions() {
        let film: Vec<_> = (0..300).map(|frame| (frame * 10, button())).collect();
        check(rule(), &film, (false, true, 2000, Some(0)));
        let outcome = play(rule(), &film);
        assert_eq!(outcome.still_changing, [button().bounds]);
        // A change that stopped earlier is not reported.
        let mut with_dialog = film;
        with_dialog.insert(0, (0, region(500, 500, 50, 50)));
        assert_eq!(play(rule(), &with_dialog).still_changing, [button().bounds]);
    }

    #[test]
    fn idle_rule_handles_extreme_timeouts() {
        let no_first = IdleRule {
            first_change_timeout: ms(0),
            ..rule()
        };
        check(no_first, &[], (true, false, 120, None));
        let hasty = IdleRule {
            timeout: ms(50),
            ..rule()
        };
        check(hasty.clone(), &[], (false, false, 50, None));
        check(hasty, &[(10, button())], (false, true, 50, Some(10)));
        let patient = IdleRule {
            first_change_timeout: ms(5000),
            ..rule()
        };
        check(patient, &[], (true, false, 2000, None));
    }

    #[test]
    fn reported_regions_are_merged_and_limited() {
        let mut boxes = Vec::new();
        for index in 0..100 {
            join(&mut boxes, region(index * 10, 0, 5, 5).bounds);
        }
        assert_eq!(boxes.len(), MAX_REGIONS);
        join(&mut boxes, region(0, 0, 1000, 10).bounds);
        assert_eq!(boxes, [region(0, 0, 1000, 10).bounds]);
    }
}
