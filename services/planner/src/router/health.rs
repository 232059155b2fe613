//! Statistics of a backend: latency, last error, usage since the start.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use motorium_proto::domain::decision::Usage;

use crate::backends::BackendError;

/// Number of latest responses for the median latency: recent enough to follow changes, and it bounds the memory.
const LATENCY_SAMPLES: usize = 64;

/// Statistics of one backend.
#[derive(Debug, Default)]
pub(super) struct Health(Mutex<Record>);

#[derive(Debug, Default)]
struct Record {
    latencies: VecDeque<Duration>,
    last_error: Option<String>,
    usage: Usage,
}

/// A snapshot of the statistics.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct HealthReport {
    pub(super) median_latency: Option<Duration>,
    pub(super) last_error: Option<String>,
    pub(super) usage: Usage,
}

impl Health {
    /// Adds the usage of a call, successful or not.
    pub(super) fn record_usage(&self, usage: Usage) {
        self.change(|record| record.usage = record.usage.plus(usage));
    }

    pub(super) fn record_latency(&self, latency: Duration) {
        self.change(|record| {
            if record.latencies.len() == LATENCY_SAMPLES {
                record.latencies.pop_front();
            }
            record.latencies.push_back(latency);
        });
    }

    pub(super) fn record_failure(&self, error: &BackendError) {
        self.change(|record| {
            // An unsupported goal, an exceeded budget or an open circuit is not an error of the backend.
            let is_well = matches!(
                error,
                BackendError::Declined { .. }
                    | BackendError::OverBudget { .. }
                    | BackendError::CircuitOpen { .. }
            );
            if !is_well {
                record.last_error = Some(error.to_string());
            }
        });
    }

    pub(super) fn report(&self) -> HealthReport {
        let record = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut latencies: Vec<Duration> = record.latencies.iter().copied().collect();
        latencies.sort();
        HealthReport {
            median_latency: latencies.get(latencies.len() / 2).copied(),
            last_error: record.last_error.clone(),
            usage: record.usage,
        }
    }

    fn change(&self, change: impl FnOnce(&mut Record)) {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_median_latency_and_total_usage() {
        let health = Health::default();
        assert_eq!(health.report().median_latency, None);
        let usage = Usage {
            calls: 1,
            input_tokens: Some(10),
            ..Usage::default()
        };
        for seconds in [9, 1, 2] {
            health.record_latency(Duration::from_secs(seconds));
            health.record_usage(usage);
        }
        let report = health.report();
        assert_eq!(report.median_latency, Some(Duration::from_secs(2)));
        assert_eq!(report.usage.input_tokens, Some(30));
        for _ in 0..LATENCY_SAMPLES {
            health.record_latency(Duration::from_secs(7));
        }
        assert_eq!(health.report().median_latency, Some(Duration::from_secs(7)));
    }

    #[test]
    fn last_error_ignores_request_specific_failures() {
        let health = Health::default();
        health.record_failure(&BackendError::TimedOut { limit_ms: 5 });
        health.record_failure(&BackendError::OverBudget {
            message: String::new(),
        });
        assert_eq!(
            health.report().last_error.as_deref(),
            Some("did not respond within 5 ms")
        );
    }
}
