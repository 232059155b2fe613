//! Limits for each caller: requests per second, and open streams.
//!
//! They protect the gateway and the desktops behind it from a page that loops, not from an attacker on the network.

use std::collections::HashMap;
use std::net::IpAddr;
use std::num::NonZeroU32;
use std::sync::{Arc, Mutex, PoisonError};

use governor::clock::MonotonicClock;
use governor::state::keyed::DashMapStateStore;
use governor::{Quota, RateLimiter};

use crate::caller::Fingerprint;
use crate::error::Error;

/// Requests per second that a caller may make continuously.
// A person who steers a desktop by hand sends about 60 movements of the pointer a second.
const REQUESTS_PER_SECOND: NonZeroU32 = NonZeroU32::new(200).expect("not zero");
/// Requests that a caller may make at once.
// A page that shows a task of 500 steps fetches as many small images.
const BURST: NonZeroU32 = NonZeroU32::new(1000).expect("not zero");
/// Unauthenticated requests per second of one peer: failed logins and unknown tokens.
const LOGINS_PER_SECOND: NonZeroU32 = NonZeroU32::new(20).expect("not zero");
/// Streams that a caller may have open: events, live screens and watches over gRPC-Web.
// Twenty viewers of one desktop, each with a few watches.
pub(crate) const MAX_STREAMS: usize = 100;

/// Number of remembered peers above which those are forgotten that have not tried for a while.
const MAX_PEERS: usize = 10_000;

type Limiter<K> = RateLimiter<K, DashMapStateStore<K>, MonotonicClock>;

/// The limits and their state.
pub(crate) struct Quotas {
    requests: Limiter<Fingerprint>,
    logins: Limiter<IpAddr>,
    streams: Arc<Mutex<HashMap<Fingerprint, usize>>>,
}

impl std::fmt::Debug for Quotas {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Quotas").finish_non_exhaustive()
    }
}

impl Default for Quotas {
    fn default() -> Self {
        let requests = Quota::per_second(REQUESTS_PER_SECOND).allow_burst(BURST);
        let logins = Quota::per_second(LOGINS_PER_SECOND);
        Self {
            requests: RateLimiter::new(requests, DashMapStateStore::default(), MonotonicClock),
            logins: RateLimiter::new(logins, DashMapStateStore::default(), MonotonicClock),
            streams: Arc::default(),
        }
    }
}

impl Quotas {
    /// Counts a request of an authenticated caller.
    pub(crate) fn count_request(&self, caller: Fingerprint) -> Result<(), Error> {
        let counted = self.requests.check_key(&caller);
        counted.map_err(|_| Error::RateLimited)
    }

    /// Counts a failed attempt of a peer to identify itself.
    pub(crate) fn count_login(&self, peer: IpAddr) -> Result<(), Error> {
        if self.logins.len() > MAX_PEERS {
            self.logins.retain_recent();
        }
        let counted = self.logins.check_key(&peer);
        counted.map_err(|_| Error::RateLimited)
    }

    /// Counts an open stream until the permit is dropped.
    pub(crate) fn open_stream(&self, caller: Fingerprint) -> Result<StreamPermit, Error> {
        let mut streams = self.streams.lock().unwrap_or_else(PoisonError::into_inner);
        let open = streams.entry(caller).or_default();
        if *open >= MAX_STREAMS {
            return Err(Error::StreamLimit { limit: MAX_STREAMS });
        }
        *open += 1;
        Ok(StreamPermit {
            streams: Arc::clone(&self.streams),
            caller,
        })
    }
}

/// An open stream.
#[derive(Debug)]
pub(crate) struct StreamPermit {
    streams: Arc<Mutex<HashMap<Fingerprint, usize>>>,
    caller: Fingerprint,
}

impl Drop for StreamPermit {
    fn drop(&mut self) {
        let mut streams = self.streams.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(open) = streams.get_mut(&self.caller) {
            *open -= 1;
            if *open == 0 {
                streams.remove(&self.caller);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_are_counted_for_each_caller_until_they_are_closed() {
        let quotas = Quotas::default();
        let (one, other) = (Fingerprint::of("one"), Fingerprint::of("other"));
        let mut open: Vec<_> = (0..MAX_STREAMS)
            .map(|_| quotas.open_stream(one).unwrap())
            .collect();
        assert!(quotas.open_stream(one).is_err());
        assert!(quotas.open_stream(other).is_ok());
        open.pop();
        assert!(quotas.open_stream(one).is_ok());
    }

    #[test]
    fn a_peer_that_guesses_does_not_keep_others_out() {
        let quotas = Quotas::default();
        let (one, other) = (IpAddr::from([192, 0, 2, 1]), IpAddr::from([192, 0, 2, 2]));
        let accepted = (0..500).filter(|_| quotas.count_login(one).is_ok()).count();
        assert!((20..100).contains(&accepted), "{accepted}");
        assert!(quotas.count_login(other).is_ok());
    }

    #[test]
    fn a_caller_that_loops_is_slowed_down() {
        let quotas = Quotas::default();
        let caller = Fingerprint::of("one");
        let accepted = (0..5000)
            .filter(|_| quotas.count_request(caller).is_ok())
            .count();
        assert!((1000..3000).contains(&accepted), "{accepted}");
        assert!(quotas.count_request(Fingerprint::of("other")).is_ok());
    }
}
