//! Sessions of browsers: the cookie's secret stands for the token of the login.
//!
//! They survive a restart of the gateway in a file. The file has no token in the clear: each is sealed with the secret that
//! only the browser has, so the file alone opens nothing.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use motorium_kit::clock::Clock;
use motorium_kit::config::Secret;
use motorium_kit::private_file;
use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use tokio_util::sync::CancellationToken;

use crate::caller::{Caller, Fingerprint, random_secret};

/// Time after its last use at which a session ends.
// A browser that is used every week stays logged in.
pub(crate) const LIFETIME: Duration = Duration::from_secs(7 * 24 * 3600);

/// Interval between the writes that prolong a session.
// Otherwise every request would write the file.
const RENEWAL_INTERVAL: Duration = Duration::from_secs(3600);

/// Maximum number of sessions. The one that ends first makes room.
const MAX_SESSIONS: usize = 1000;

/// Name of the file with the sessions.
const FILE: &str = "sessions.json";

/// Distinguishes the key of a token from other hashes of the same secret.
const KEY_CONTEXT: &[u8] = b"motorium session token";

/// The sessions of all browsers. Its methods may write a file.
#[derive(Debug)]
pub(crate) struct BrowserSessions {
    folder: PathBuf,
    clock: Arc<dyn Clock>,
    stored: Mutex<HashMap<Fingerprint, StoredSession>>,
}

#[derive(Debug, Clone)]
struct StoredSession {
    /// Token of the caller, sealed. `None` where the services demand none.
    sealed_token: Option<Vec<u8>>,
    expires: SystemTime,
    /// Cancelled when the session ends.
    ended: CancellationToken,
}

/// A session in the file.
#[derive(Debug, Serialize, Deserialize)]
struct FileEntry {
    id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    token: Option<String>,
    /// Seconds since 1970.
    expires: u64,
}

/// An open session.
#[derive(Debug)]
pub(crate) struct BrowserSession {
    pub(crate) caller: Caller,
    pub(crate) expires: SystemTime,
    /// Cancelled when the session ends.
    pub(crate) ended: CancellationToken,
}

impl BrowserSessions {
    /// Opens the sessions in a folder. A file that cannot be read has none: browsers have to log in again.
    pub(crate) fn open(folder: PathBuf, clock: Arc<dyn Clock>) -> Self {
        let stored = read(&folder.join(FILE)).unwrap_or_else(|error| {
            tracing::warn!(%error, "the stored sessions of the gateway cannot be read");
            HashMap::new()
        });
        Self {
            folder,
            clock,
            stored: Mutex::new(stored),
        }
    }

    /// Creates a session and returns its secret, for the cookie.
    pub(crate) fn create(&self, caller: &Caller) -> Secret {
        let secret = random_secret();
        let now = self.clock.now();
        let mut stored = self.lock();
        let expired = stored.extract_if(|_, session| session.expires <= now);
        expired.for_each(|(_, session)| session.ended.cancel());
        if stored.len() >= MAX_SESSIONS {
            let first = stored.iter().min_by_key(|(_, session)| session.expires);
            let first = first.map(|(id, _)| *id);
            remove(&mut stored, first);
        }
        let session = StoredSession {
            sealed_token: caller.token().map(|token| seal(&secret, token)),
            expires: now + LIFETIME,
            ended: CancellationToken::new(),
        };
        stored.insert(Fingerprint::of(secret.expose()), session);
        self.save(&stored);
        secret
    }

    /// Returns the session with this secret and prolongs it.
    pub(crate) fn find(&self, secret: &str) -> Option<BrowserSession> {
        let now = self.clock.now();
        let mut stored = self.lock();
        let id = Fingerprint::of(secret);
        let session = stored.get_mut(&id)?;
        if session.expires <= now {
            remove(&mut stored, Some(id));
            return None;
        }
        let token = match &session.sealed_token {
            Some(sealed) => Some(open(secret, sealed)?),
            None => None,
        };
        let renewed = now + LIFETIME;
        let is_due = session.expires + RENEWAL_INTERVAL <= renewed;
        if is_due {
            session.expires = renewed;
        }
        let (expires, ended) = (session.expires, session.ended.clone());
        if is_due {
            self.save(&stored);
        }
        Some(BrowserSession {
            caller: Caller::new(token),
            expires,
            ended,
        })
    }

    /// Ends a session.
    pub(crate) fn end(&self, secret: &str) {
        let mut stored = self.lock();
        if remove(&mut stored, Some(Fingerprint::of(secret))) {
            self.save(&stored);
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Fingerprint, StoredSession>> {
        self.stored.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes the file. Sessions that cannot be written end with this process.
    fn save(&self, stored: &HashMap<Fingerprint, StoredSession>) {
        if let Err(error) = write(&self.folder, stored) {
            tracing::warn!(%error, "the sessions of the gateway cannot be stored");
        }
    }
}

/// Removes a session and ends what it has open. Returns false if there is none.
fn remove(stored: &mut HashMap<Fingerprint, StoredSession>, id: Option<Fingerprint>) -> bool {
    let removed = id.and_then(|id| stored.remove(&id));
    if let Some(session) = &removed {
        session.ended.cancel();
    }
    removed.is_some()
}

fn read(path: &Path) -> io::Result<HashMap<Fingerprint, StoredSession>> {
    let content = match std::fs::read(path) {
        Ok(content) => content,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(HashMap::new()),
        Err(error) => return Err(error),
    };
    let entries: Vec<FileEntry> = serde_json::from_slice(&content)?;
    let sessions = entries.into_iter().filter_map(|entry| {
        let sealed_token = match entry.token {
            Some(token) => Some(STANDARD.decode(token).ok()?),
            None => None,
        };
        let expires = UNIX_EPOCH.checked_add(Duration::from_secs(entry.expires))?;
        let session = StoredSession {
            sealed_token,
            expires,
            ended: CancellationToken::new(),
        };
        Some((Fingerprint::parse(&entry.id)?, session))
    });
    Ok(sessions.collect())
}

/// Replaces the file as a whole, readable by its owner only.
fn write(folder: &Path, stored: &HashMap<Fingerprint, StoredSession>) -> io::Result<()> {
    let entries: Vec<FileEntry> = stored
        .iter()
        .map(|(id, session)| FileEntry {
            id: id.to_text(),
            token: session
                .sealed_token
                .as_ref()
                .map(|token| STANDARD.encode(token)),
            expires: session
                .expires
                .duration_since(UNIX_EPOCH)
                .unwrap_or_default()
                .as_secs(),
        })
        .collect();
    private_file::create_folder(folder)?;
    private_file::replace(&folder.join(FILE), &serde_json::to_vec(&entries)?)
}

/// Returns the cipher of one session. Its key seals one text only, which is why the nonce may be constant.
fn cipher(secret: &str) -> LessSafeKey {
    let mut hash = Sha256::new();
    hash.update(KEY_CONTEXT);
    hash.update(secret.as_bytes());
    let key = UnboundKey::new(&CHACHA20_POLY1305, &hash.finalize());
    LessSafeKey::new(key.expect("the hash is as long as a key"))
}

fn nonce() -> Nonce {
    Nonce::assume_unique_for_key([0; NONCE_LEN])
}

fn seal(secret: &Secret, token: &Secret) -> Vec<u8> {
    let mut sealed = token.expose().as_bytes().to_vec();
    cipher(secret.expose())
        .seal_in_place_append_tag(nonce(), Aad::empty(), &mut sealed)
        .expect("a token is shorter than the longest text of the cipher");
    sealed
}

fn open(secret: &str, sealed: &[u8]) -> Option<Secret> {
    let mut text = sealed.to_vec();
    let opened = cipher(secret).open_in_place(nonce(), Aad::empty(), &mut text);
    let token = std::str::from_utf8(opened.ok()?).ok()?;
    Some(Secret::new(token))
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    #[derive(Debug, Default)]
    struct ManualClock(AtomicU64);

    impl ManualClock {
        fn advance(&self, time: Duration) {
            self.0.fetch_add(time.as_secs(), Ordering::Relaxed);
        }
    }

    impl Clock for ManualClock {
        fn now(&self) -> SystemTime {
            UNIX_EPOCH + Duration::from_secs(1_000_000 + self.0.load(Ordering::Relaxed))
        }
    }

    #[test]
    fn sessions_survive_a_restart_and_their_file_has_no_token() {
        let folder = tempfile::tempdir().unwrap();
        let clock = Arc::new(ManualClock::default());
        let reopen = || BrowserSessions::open(folder.path().join("gateway"), clock.clone());
        let token = "a-token-that-opens-doors";
        let secret = reopen().create(&Caller::new(Some(Secret::new(token))));

        let found = reopen().find(secret.expose()).unwrap();
        assert_eq!(found.caller.token().unwrap().expose(), token);
        let content = std::fs::read_to_string(folder.path().join("gateway").join(FILE)).unwrap();
        assert!(!content.contains(token) && !content.contains(secret.expose()));
        assert!(reopen().find("another").is_none());

        reopen().end(secret.expose());
        assert!(reopen().find(secret.expose()).is_none());
    }

    #[test]
    fn a_session_ends_after_its_last_use() {
        let folder = tempfile::tempdir().unwrap();
        let clock = Arc::new(ManualClock::default());
        let sessions = BrowserSessions::open(folder.path().to_owned(), clock.clone());
        let secret = sessions.create(&Caller::new(None));
        for _ in 0..3 {
            clock.advance(LIFETIME - Duration::from_secs(1));
            assert!(sessions.find(secret.expose()).is_some());
        }
        clock.advance(LIFETIME);
        assert!(sessions.find(secret.expose()).is_none());
    }

    #[test]
    fn streams_of_a_session_end_with_it() {
        let folder = tempfile::tempdir().unwrap();
        let clock = Arc::new(ManualClock::default());
        let sessions = BrowserSessions::open(folder.path().to_owned(), clock.clone());
        let open = || {
            let secret = sessions.create(&Caller::new(None));
            let ended = sessions.find(secret.expose()).unwrap().ended;
            assert!(!ended.is_cancelled());
            (secret, ended)
        };
        let (secret, ended) = open();
        let (other_secret, other_ended) = open();
        sessions.end(secret.expose());
        assert!(ended.is_cancelled() && !other_ended.is_cancelled());
        clock.advance(LIFETIME);
        assert!(sessions.find(other_secret.expose()).is_none());
        assert!(other_ended.is_cancelled());
        let (_, displaced) = open();
        // The session that was used last is the last one to be displaced.
        clock.advance(Duration::from_secs(1));
        (0..MAX_SESSIONS).for_each(|_| drop(sessions.create(&Caller::new(None))));
        assert!(displaced.is_cancelled());
    }

    #[test]
    fn a_damaged_file_has_no_sessions() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(FILE), "[{").unwrap();
        let clock = Arc::new(ManualClock::default());
        let sessions = BrowserSessions::open(folder.path().to_owned(), clock);
        let secret = sessions.create(&Caller::new(None));
        assert!(sessions.find(secret.expose()).is_some());
    }
}
