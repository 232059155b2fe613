//! How a backend has been: how fast, what went wrong last, what it has cost since the start.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use motorium_proto::domain::decision::Usage;

use crate::backends::BackendError;

/// Of so many answers the median is taken.
const REMEMBERED: usize = 64;

/// The record of one backend.
#[derive(Debug, Default)]
pub(super) struct Health(Mutex<Record>);

#[derive(Debug, Default)]
struct Record {
    latencies: VecDeque<Duration>,
    last_error: Option<String>,
    usage: Usage,
}

/// What there is to tell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Report {
    pub(super) median_latency: Option<Duration>,
    pub(super) last_error: Option<String>,
    pub(super) usage: Usage,
}

impl Health {
    /// Counts what a call has used, whatever came of it.
    pub(super) fn used(&self, usage: Usage) {
        self.change(|record| record.usage = record.usage.plus(usage));
    }

    pub(super) fn answered(&self, latency: Duration) {
        self.change(|record| {
            if record.latencies.len() == REMEMBERED {
                record.latencies.pop_front();
            }
            record.latencies.push_back(latency);
        });
    }

    pub(super) fn failed(&self, error: &BackendError) {
        self.change(|record| {
            // That a goal or a budget is not for it says nothing about how it is.
            let is_well = matches!(
                error,
                BackendError::Declined { .. }
                    | BackendError::OverBudget { .. }
                    | BackendError::Resting { .. }
            );
            if !is_well {
                record.last_error = Some(error.to_string());
            }
        });
    }

    pub(super) fn report(&self) -> Report {
        let record = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut latencies: Vec<Duration> = record.latencies.iter().copied().collect();
        latencies.sort();
        Report {
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
    fn tells_the_median_of_the_last_answers_and_the_sum_of_all() {
        let health = Health::default();
        assert_eq!(health.report().median_latency, None);
        let usage = Usage {
            calls: 1,
            input_tokens: Some(10),
            ..Usage::default()
        };
        for seconds in [9, 1, 2] {
            health.answered(Duration::from_secs(seconds));
            health.used(usage);
        }
        let report = health.report();
        assert_eq!(report.median_latency, Some(Duration::from_secs(2)));
        assert_eq!(report.usage.input_tokens, Some(30));
        for _ in 0..REMEMBERED {
            health.answered(Duration::from_secs(7));
        }
        assert_eq!(health.report().median_latency, Some(Duration::from_secs(7)));
    }

    #[test]
    fn remembers_what_went_wrong_with_it_and_not_with_the_goal() {
        let health = Health::default();
        health.failed(&BackendError::TimedOut { limit_ms: 5 });
        health.failed(&BackendError::OverBudget {
            message: String::new(),
        });
        assert_eq!(
            health.report().last_error.as_deref(),
            Some("did not answer within 5 ms")
        );
    }
}
