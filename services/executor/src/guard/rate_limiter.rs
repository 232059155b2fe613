//! Rate limiter for actions: a token bucket.
//!
//! Pure: the caller passes the time. It makes no action wait.

use tokio::time::Instant;

/// Limits actions per second, with a burst of one second's worth.
#[derive(Debug)]
pub struct RateLimiter {
    per_second: f64,
    tokens: f64,
    refilled_at: Instant,
}

impl RateLimiter {
    /// Creates a full bucket. `per_second` must be positive.
    #[must_use]
    pub fn new(per_second: f64, now: Instant) -> Self {
        Self {
            per_second,
            // At least one token: rates below 1 per second would otherwise never allow an action.
            tokens: per_second.max(1.0),
            refilled_at: now,
        }
    }

    /// Takes a token if one is available.
    pub fn try_acquire(&mut self, now: Instant) -> bool {
        let gained = now
            .saturating_duration_since(self.refilled_at)
            .as_secs_f64()
            * self.per_second;
        self.tokens = (self.tokens + gained).min(self.per_second.max(1.0));
        self.refilled_at = now;
        if self.tokens < 1.0 {
            return false;
        }
        self.tokens -= 1.0;
        true
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn check(per_second: f64, pauses_ms: &[u64], expected: &[bool]) {
        let mut now = Instant::now();
        let mut rate = RateLimiter::new(per_second, now);
        let taken: Vec<bool> = pauses_ms
            .iter()
            .map(|&pause| {
                now += Duration::from_millis(pause);
                rate.try_acquire(now)
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
