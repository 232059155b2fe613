//! The token of a server, and the one that replaces it while the server runs.
//!
//! After a change of its file the former token is accepted for a while, so that clients can follow without a failed call. A token
//! that was stolen is withdrawn at once by a restart.

use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use tokio::time::Instant;

use crate::secret::Secret;
use crate::watched_file;

/// Time for which a replaced token is still accepted.
// A mounted secret of Kubernetes reaches all machines within about a minute, and clients send it after 75 s.
const OVERLAP: Duration = Duration::from_secs(180);

/// A token whose file is followed. Clones share it.
#[derive(Debug, Clone)]
pub(super) struct OwnToken(Arc<RwLock<Tokens>>);

#[derive(Debug)]
struct Tokens {
    current: Secret,
    /// The token before it, and when it was replaced.
    former: Option<(Secret, Instant)>,
}

impl Tokens {
    /// Replaces the token. Returns false if it is the same, or is empty.
    fn replace(&mut self, token: Secret, now: Instant) -> bool {
        if token.expose().is_empty() || self.current.matches(token.expose()) {
            return false;
        }
        let former = std::mem::replace(&mut self.current, token);
        self.former = Some((former, now));
        true
    }

    fn accept(&self, token: &str, now: Instant) -> bool {
        let former = self.former.as_ref();
        let is_former = former.is_some_and(|(former, since)| {
            now.duration_since(*since) < OVERLAP && former.matches(token)
        });
        self.current.matches(token) || is_former
    }
}

impl OwnToken {
    pub(super) fn new(token: Secret) -> Self {
        Self(Arc::new(RwLock::new(Tokens {
            current: token,
            former: None,
        })))
    }

    pub(super) fn accepts(&self, token: &str) -> bool {
        let tokens = self.0.read().unwrap_or_else(PoisonError::into_inner);
        tokens.accept(token, Instant::now())
    }

    /// Applies changes of the file until it is dropped. A token without a file never changes.
    pub(super) async fn follow(self) {
        let (file, known) = {
            let tokens = self.0.read().unwrap_or_else(PoisonError::into_inner);
            let Some(file) = tokens.current.file() else {
                return;
            };
            (file.to_owned(), tokens.current.expose().to_owned())
        };
        let name = file.display().to_string();
        watched_file::follow(vec![file], vec![known], |contents| {
            let token = Secret::new(contents.concat().trim());
            if token.expose().is_empty() {
                tracing::error!(
                    file = name,
                    "the file of the token is empty; the former token stays active"
                );
                return;
            }
            let mut tokens = self.0.write().unwrap_or_else(PoisonError::into_inner);
            if tokens.replace(token, Instant::now()) {
                tracing::info!(file = name, "token reloaded");
            }
        })
        .await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_replaced_token_is_accepted_for_a_while() {
        let mut tokens = Tokens {
            current: Secret::new("one"),
            former: None,
        };
        let start = Instant::now();
        assert!(!tokens.replace(Secret::new("one"), start), "no change");
        assert!(!tokens.replace(Secret::new(""), start), "no token");
        assert!(tokens.replace(Secret::new("two"), start));
        let accepted = |tokens: &Tokens, after: Duration| {
            ["one", "two", ""].map(|token| tokens.accept(token, start + after))
        };
        assert_eq!(accepted(&tokens, OVERLAP / 2), [true, true, false]);
        assert_eq!(accepted(&tokens, OVERLAP), [false, true, false]);
        assert!(tokens.replace(Secret::new("three"), start + OVERLAP / 2));
        assert_eq!(
            accepted(&tokens, OVERLAP / 2),
            [false, true, false],
            "only the last one"
        );
    }
}
