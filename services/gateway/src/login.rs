//! One-time login codes: links that turn into a session once, within a limited time.
//!
//! Codes are kept in memory only, as hashes. A restart invalidates them.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use motorium_kit::config::Secret;
use tokio::time::Instant;

use crate::caller::{Caller, Fingerprint, random_secret};

/// Time within which a code must be used.
// Long enough to copy the link from a terminal, short enough that a link in a log is of no use the next day.
pub(crate) const CODE_LIFETIME: Duration = Duration::from_secs(10 * 60);

/// Maximum number of unused codes. The oldest makes room.
// More than a person makes; bounds the memory.
const MAX_CODES: usize = 100;

/// Unused login codes.
#[derive(Debug, Default)]
pub(crate) struct LoginCodes {
    unused: Mutex<HashMap<Fingerprint, UnusedCode>>,
}

#[derive(Debug)]
struct UnusedCode {
    caller: Caller,
    expires: Instant,
}

impl LoginCodes {
    /// Creates a code for a session of this caller.
    pub(crate) fn create(&self, caller: Caller) -> Secret {
        let code = random_secret();
        let now = Instant::now();
        let mut unused = self.unused.lock().unwrap_or_else(PoisonError::into_inner);
        unused.retain(|_, code| code.expires > now);
        if unused.len() >= MAX_CODES {
            let oldest = unused.iter().min_by_key(|(_, code)| code.expires);
            let oldest = oldest.map(|(key, _)| *key);
            oldest.and_then(|key| unused.remove(&key));
        }
        let expires = now + CODE_LIFETIME;
        unused.insert(
            Fingerprint::of(code.expose()),
            UnusedCode { caller, expires },
        );
        code
    }

    /// Uses a code. Returns its caller, or `None` if the code is unknown, used or expired.
    pub(crate) fn redeem(&self, code: &str) -> Option<Caller> {
        let mut unused = self.unused.lock().unwrap_or_else(PoisonError::into_inner);
        let code = unused.remove(&Fingerprint::of(code))?;
        (code.expires > Instant::now()).then_some(code.caller)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_code_works_once_and_within_its_time() {
        let codes = LoginCodes::default();
        let code = codes.create(Caller::new(Some(Secret::new("token"))));
        assert!(codes.redeem("other").is_none());
        let caller = codes.redeem(code.expose()).unwrap();
        assert_eq!(caller.token().unwrap().expose(), "token");
        assert!(codes.redeem(code.expose()).is_none());

        let late = codes.create(Caller::new(None));
        tokio::time::advance(CODE_LIFETIME).await;
        assert!(codes.redeem(late.expose()).is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn many_codes_displace_the_oldest() {
        let codes = LoginCodes::default();
        let first = codes.create(Caller::new(None));
        tokio::time::advance(Duration::from_secs(1)).await;
        let others: Vec<Secret> = (0..MAX_CODES)
            .map(|_| codes.create(Caller::new(None)))
            .collect();
        assert!(codes.redeem(first.expose()).is_none());
        assert!(
            others
                .iter()
                .all(|code| codes.redeem(code.expose()).is_some())
        );
    }
}
