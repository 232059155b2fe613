//! Exclusive leases of a desktop: monotonically increasing epochs, and leases that expire unless they are renewed.
//!
//! [`LeaseState`] is pure: its methods take the current time. [`load`] and [`save`] persist it. Invariant: no epoch is
//! issued twice, because it is on disk before a caller learns it. Each process continues above the time of its start, so that
//! this also holds after the state was lost or replaced by an older copy, unless the clock was set back as well: a late call of
//! a holder from before is never taken for one of a new holder.

use std::time::{Duration, SystemTime};

use motorium_proto::domain::id::DesktopEpoch;
use serde::{Deserialize, Serialize};

use super::storage::{StateFolder, StorageError};

/// Maximum lease duration. A longer lease would block a desktop after its holder has died.
pub const MAX_TTL: Duration = Duration::from_secs(3600);

/// The reason a lease was not granted or an epoch was rejected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// Another holder has a valid lease.
    #[error("the desktop is leased by `{holder}` for another {} s; wait, or set `take_over`", remaining.as_secs())]
    Leased { holder: String, remaining: Duration },
    /// A newer lease has been issued.
    #[error("epoch {given} was superseded by epoch {highest}; acquire the desktop again")]
    Superseded { given: u64, highest: u64 },
    /// The lease has expired or was released.
    #[error("the lease of epoch {given} has ended; acquire the desktop again")]
    Expired { given: u64 },
    /// This executor never issued the epoch.
    #[error("epoch {given} was never issued by this executor (highest: {highest})")]
    UnknownEpoch { given: u64, highest: u64 },
}

/// Lease state of one desktop. Times are passed in by the caller.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LeaseState {
    /// Highest epoch issued so far; 0 before the first.
    highest: u64,
    /// Lease of the highest epoch, until it is released.
    current: Option<CurrentLease>,
    /// Lowest epoch that this process issues: the milliseconds from 1970 to its start. It issues fewer than one in a millisecond.
    #[serde(skip)]
    floor: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct CurrentLease {
    holder: String,
    ends_at: SystemTime,
}

impl LeaseState {
    /// Issues the next epoch to `holder`.
    ///
    /// # Errors
    /// [`Error::Leased`] while another holder has an unexpired lease, unless `take_over` is set.
    pub fn acquire(
        &mut self,
        holder: &str,
        ttl: Duration,
        take_over: bool,
        now: SystemTime,
    ) -> Result<DesktopEpoch, Error> {
        if let Some(current) = &self.current
            && current.holder != holder
            && !take_over
            && let Some(remaining) = remaining(current, now)
        {
            return Err(Error::Leased {
                holder: current.holder.clone(),
                remaining,
            });
        }
        self.highest = self.floor.max(self.highest + 1);
        self.current = Some(CurrentLease {
            holder: holder.to_owned(),
            ends_at: now + ttl,
        });
        Ok(DesktopEpoch(self.highest))
    }

    /// Extends the lease of `epoch` to `ttl` from now.
    ///
    /// # Errors
    /// Fails under the conditions of [`LeaseState::check`].
    pub fn renew(
        &mut self,
        epoch: DesktopEpoch,
        ttl: Duration,
        now: SystemTime,
    ) -> Result<(), Error> {
        self.check(epoch, now)?;
        if let Some(current) = &mut self.current {
            current.ends_at = now + ttl;
        }
        Ok(())
    }

    /// Releases the lease of `epoch` and returns whether it was current. Idempotent.
    ///
    /// # Errors
    /// [`Error::UnknownEpoch`] for an epoch that was never issued.
    pub fn release(&mut self, epoch: DesktopEpoch) -> Result<bool, Error> {
        match self.highest.cmp(&epoch.0) {
            std::cmp::Ordering::Less => Err(Error::UnknownEpoch {
                given: epoch.0,
                highest: self.highest,
            }),
            std::cmp::Ordering::Greater => Ok(false),
            std::cmp::Ordering::Equal => Ok(self.current.take().is_some()),
        }
    }

    /// Checks that `epoch` is valid now.
    ///
    /// # Errors
    /// If the epoch is not the highest, or its lease has ended.
    pub fn check(&self, epoch: DesktopEpoch, now: SystemTime) -> Result<(), Error> {
        let (given, highest) = (epoch.0, self.highest);
        if given < highest {
            return Err(Error::Superseded { given, highest });
        }
        if given > highest || given == 0 {
            return Err(Error::UnknownEpoch { given, highest });
        }
        match self
            .current
            .as_ref()
            .and_then(|current| remaining(current, now))
        {
            Some(_) => Ok(()),
            None => Err(Error::Expired { given }),
        }
    }

    /// Returns the expiry of the current lease, which may be in the past.
    #[must_use]
    pub fn expires_at(&self) -> Option<SystemTime> {
        self.current.as_ref().map(|current| current.ends_at)
    }
}

/// Returns the remaining time of a lease; `None` if it has expired.
fn remaining(current: &CurrentLease, now: SystemTime) -> Option<Duration> {
    current
        .ends_at
        .duration_since(now)
        .ok()
        .filter(|left| !left.is_zero())
}

/// Name of the state file.
const FILE: &str = "lease.json";

/// Reads the lease state; an empty one if there is no file. The remaining time is capped at [`MAX_TTL`], in case the
/// system clock was set back. The lease in a copy has ended: a late call under it could be one that the copy has forgotten.
///
/// # Errors
/// If the file cannot be read or is damaged. Restarting at epoch 1 would accept an old holder again.
pub fn load(folder: &StateFolder, now: SystemTime) -> Result<LeaseState, StorageError> {
    let mut state = match folder.read(FILE)? {
        None => LeaseState::default(),
        Some(content) => {
            let read = serde_json::from_slice(&content);
            read.map_err(|error| StorageError::Damaged {
                path: folder.path(FILE),
                what: error.to_string(),
            })?
        }
    };
    let since_1970 = now.duration_since(SystemTime::UNIX_EPOCH);
    let floor = u64::try_from(since_1970.unwrap_or_default().as_millis());
    state.floor = floor.unwrap_or_default();
    if folder.is_copy()? {
        state.current = None;
        save(folder, &state)?;
    }
    if let Some(current) = &mut state.current {
        current.ends_at = current.ends_at.min(now + MAX_TTL);
    }
    Ok(state)
}

/// Writes the lease state durably.
///
/// # Errors
/// If the file cannot be written.
pub fn save(folder: &StateFolder, state: &LeaseState) -> Result<(), StorageError> {
    let content = serde_json::to_vec(state).expect("the lease state is always serialisable");
    folder.replace(FILE, &content)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TTL: Duration = Duration::from_secs(30);

    fn at(seconds: u64) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)
    }

    fn acquire(state: &mut LeaseState, holder: &str, second: u64) -> Result<u64, Error> {
        state
            .acquire(holder, TTL, false, at(second))
            .map(|epoch| epoch.0)
    }

    #[test]
    fn one_holder_at_a_time() {
        let mut state = LeaseState::default();
        assert_eq!(acquire(&mut state, "a", 0), Ok(1));
        let refused = Error::Leased {
            holder: "a".to_owned(),
            remaining: Duration::from_secs(20),
        };
        assert_eq!(acquire(&mut state, "b", 10), Err(refused));
        assert_eq!(acquire(&mut state, "b", 30), Ok(2), "a's lease has ended");
        assert_eq!(
            acquire(&mut state, "b", 31),
            Ok(3),
            "the same holder may ask again"
        );
        assert_eq!(
            state.acquire("c", TTL, true, at(32)).unwrap(),
            DesktopEpoch(4)
        );
    }

    #[test]
    fn only_the_highest_epoch_is_valid() {
        let mut state = LeaseState::default();
        assert_eq!(
            state.check(DesktopEpoch(0), at(0)),
            Err(Error::UnknownEpoch {
                given: 0,
                highest: 0
            })
        );
        acquire(&mut state, "a", 0).unwrap();
        acquire(&mut state, "a", 0).unwrap();
        assert_eq!(state.check(DesktopEpoch(2), at(29)), Ok(()));
        assert_eq!(
            state.check(DesktopEpoch(2), at(30)),
            Err(Error::Expired { given: 2 })
        );
        assert_eq!(
            state.check(DesktopEpoch(1), at(1)),
            Err(Error::Superseded {
                given: 1,
                highest: 2
            })
        );
        assert_eq!(
            state.check(DesktopEpoch(3), at(1)),
            Err(Error::UnknownEpoch {
                given: 3,
                highest: 2
            })
        );
    }

    #[test]
    fn a_lease_lasts_as_long_as_it_is_renewed() {
        let mut state = LeaseState::default();
        acquire(&mut state, "a", 0).unwrap();
        state.renew(DesktopEpoch(1), TTL, at(20)).unwrap();
        assert_eq!(state.check(DesktopEpoch(1), at(45)), Ok(()));
        assert_eq!(
            state.renew(DesktopEpoch(1), TTL, at(50)),
            Err(Error::Expired { given: 1 })
        );
    }

    #[test]
    fn released_lease_ends_and_release_is_idempotent() {
        let mut state = LeaseState::default();
        acquire(&mut state, "a", 0).unwrap();
        assert_eq!(state.release(DesktopEpoch(1)), Ok(true));
        assert_eq!(state.release(DesktopEpoch(1)), Ok(false), "may be repeated");
        assert_eq!(
            state.check(DesktopEpoch(1), at(1)),
            Err(Error::Expired { given: 1 })
        );
        assert_eq!(acquire(&mut state, "b", 1), Ok(2));
        assert_eq!(
            state.release(DesktopEpoch(1)),
            Ok(false),
            "an old lease takes nothing from the new one"
        );
        assert_eq!(state.check(DesktopEpoch(2), at(2)), Ok(()));
    }

    #[test]
    fn clock_set_back_does_not_extend_a_lease() {
        let parent = tempfile::tempdir().unwrap();
        let folder = StateFolder::open(parent.path()).unwrap();
        let mut state = LeaseState::default();
        acquire(&mut state, "a", 1_000_000).unwrap();
        save(&folder, &state).unwrap();
        let again = load(&folder, at(0)).unwrap();
        assert_eq!(again.expires_at(), Some(at(0) + MAX_TTL));
    }

    #[test]
    fn epochs_grow_although_the_state_was_lost_or_is_an_older_copy() {
        let parent = tempfile::tempdir().unwrap();
        let folder = StateFolder::open(parent.path()).unwrap();
        let mut state = load(&folder, at(100)).unwrap();
        acquire(&mut state, "a", 100).unwrap();
        save(&folder, &state).unwrap();
        let issued = [
            acquire(&mut state, "a", 101).unwrap(),
            acquire(&mut state, "a", 102).unwrap(),
        ];
        assert_eq!(issued[1], issued[0] + 1, "without a gap in one process");
        let mut older = load(&folder, at(103)).unwrap();
        assert!(acquire(&mut older, "b", 140).unwrap() > issued[1]);
        folder
            .replace(FILE, b"{\"highest\":0,\"current\":null}")
            .unwrap();
        let mut lost = load(&folder, at(103)).unwrap();
        assert!(acquire(&mut lost, "b", 140).unwrap() > issued[1]);
        for epoch in issued {
            let late = lost.check(DesktopEpoch(epoch), at(140));
            assert!(matches!(late, Err(Error::Superseded { .. })), "{late:?}");
        }
    }

    #[test]
    fn epochs_grow_across_restarts() {
        let parent = tempfile::tempdir().unwrap();
        let folder = StateFolder::open(parent.path()).unwrap();
        let mut state = load(&folder, at(0)).unwrap();
        acquire(&mut state, "a", 0).unwrap();
        save(&folder, &state).unwrap();
        let mut again = load(&folder, at(0)).unwrap();
        assert_eq!(again, state);
        assert_eq!(acquire(&mut again, "a", 100), Ok(2));
        folder.replace(FILE, b"{").unwrap();
        assert!(matches!(
            load(&folder, at(0)),
            Err(StorageError::Damaged { .. })
        ));
    }
}
