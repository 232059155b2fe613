//! How many actions a second are let through: a bucket that fills steadily and is emptied by one an action.

use tokio::time::Instant;

/// Lets at most so many actions a second through, with a burst of one second's worth.
#[derive(Debug)]
pub struct Rate {
    per_second: f64,
    left: f64,
    since: Instant,
}

impl Rate {
    /// A full bucket. `per_second` is positive.
    #[must_use]
    pub fn new(per_second: f64, now: Instant) -> Self {
        Self {
            per_second,
            left: per_second.max(1.0),
            since: now,
        }
    }

    /// Takes one, if there is one.
    pub fn take(&mut self, now: Instant) -> bool {
        let gained = now.saturating_duration_since(self.since).as_secs_f64() * self.per_second;
        self.left = (self.left + gained).min(self.per_second.max(1.0));
        self.since = now;
        if self.left < 1.0 {
            return false;
        }
        self.left -= 1.0;
        true
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn check(per_second: f64, pauses_ms: &[u64], expected: &[bool]) {
        let mut now = Instant::now();
        let mut rate = Rate::new(per_second, now);
        let taken: Vec<bool> = pauses_ms
            .iter()
            .map(|&pause| {
                now += Duration::from_millis(pause);
                rate.take(now)
            })
            .collect();
        assert_eq!(taken, expected, "{per_second}/s after {pauses_ms:?}");
    }

    #[test]
    fn the_bucket_fills_steadily() {
        check(2.0, &[0, 0, 0, 500, 0], &[true, true, false, true, false]);
        check(0.5, &[0, 1000, 1000], &[true, false, true]);
        check(2.0, &[0, 0, 60_000, 0, 0], &[true, true, true, true, false]);
    }
}
