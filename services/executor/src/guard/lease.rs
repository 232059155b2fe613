//! Who may act on a desktop: epochs that grow for ever, and leases that end unless they are renewed.
//!
//! The book is a pure function of what happened and the time; [`LeaseFile`] makes it survive. Invariant: no epoch is
//! minted twice, because the next one is on the disk before anybody is told of it.

use std::time::{Duration, SystemTime};

use motorium_proto::domain::id::DesktopEpoch;
use serde::{Deserialize, Serialize};

use super::storage::{Folder, StorageError};

/// A lease that ends later would keep a desktop of a dead holder busy.
pub const LONGEST_TTL: Duration = Duration::from_secs(3600);

/// Why a lease was not given, or an epoch is not accepted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// Somebody else has the desktop.
    #[error("the desktop is leased by `{holder}` for another {} s; wait, or take it over", remaining.as_secs())]
    Leased { holder: String, remaining: Duration },
    /// A newer lease has been given out.
    #[error("epoch {given} has been superseded by epoch {highest}; acquire the desktop again")]
    Superseded { given: u64, highest: u64 },
    /// The lease has ended, by time or because it was given back.
    #[error("the lease of epoch {given} has ended; acquire the desktop again")]
    Ended { given: u64 },
    /// No such epoch was ever given out here.
    #[error("epoch {given} was never given out by this executor (the highest is {highest})")]
    NeverMinted { given: u64, highest: u64 },
}

/// The leases of one desktop. Times are the caller's.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Book {
    /// The highest epoch that was ever minted; 0 before the first.
    highest: u64,
    /// The lease of that epoch, until it is given back.
    current: Option<Current>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Current {
    holder: String,
    ends_at: SystemTime,
}

impl Book {
    /// Mints the next epoch for `holder`.
    ///
    /// # Errors
    /// [`Error::Leased`] while somebody else holds a lease that has not ended, unless it is to be taken over.
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
        self.highest += 1;
        self.current = Some(Current {
            holder: holder.to_owned(),
            ends_at: now + ttl,
        });
        Ok(DesktopEpoch(self.highest))
    }

    /// Lets the lease of `epoch` last for `ttl` from now.
    ///
    /// # Errors
    /// As [`Book::check`].
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

    /// Gives the lease of `epoch` back; says whether it was still current. May be repeated.
    ///
    /// # Errors
    /// [`Error::NeverMinted`] for an epoch that is none.
    pub fn release(&mut self, epoch: DesktopEpoch) -> Result<bool, Error> {
        match self.highest.cmp(&epoch.0) {
            std::cmp::Ordering::Less => Err(Error::NeverMinted {
                given: epoch.0,
                highest: self.highest,
            }),
            std::cmp::Ordering::Greater => Ok(false),
            std::cmp::Ordering::Equal => Ok(self.current.take().is_some()),
        }
    }

    /// Whether whoever has `epoch` may act now.
    ///
    /// # Errors
    /// If the epoch is not the highest, or its lease has ended.
    pub fn check(&self, epoch: DesktopEpoch, now: SystemTime) -> Result<(), Error> {
        let (given, highest) = (epoch.0, self.highest);
        if given < highest {
            return Err(Error::Superseded { given, highest });
        }
        if given > highest || given == 0 {
            return Err(Error::NeverMinted { given, highest });
        }
        match self
            .current
            .as_ref()
            .and_then(|current| remaining(current, now))
        {
            Some(_) => Ok(()),
            None => Err(Error::Ended { given }),
        }
    }

    /// When the current lease ends, if there is one. It may have ended already.
    #[must_use]
    pub fn ends_at(&self) -> Option<SystemTime> {
        self.current.as_ref().map(|current| current.ends_at)
    }
}

/// What is left of a lease; `None` if it has ended.
fn remaining(current: &Current, now: SystemTime) -> Option<Duration> {
    current
        .ends_at
        .duration_since(now)
        .ok()
        .filter(|left| !left.is_zero())
}

/// The book's file within a folder.
const FILE: &str = "lease.json";

/// Reads the book; an empty one if there is none yet. Where the clock was set back meanwhile no lease lasts for longer
/// than it can have been given.
///
/// # Errors
/// If the file cannot be read or is damaged: beginning at epoch 1 again would let an old holder back in.
pub fn load(folder: &Folder, now: SystemTime) -> Result<Book, StorageError> {
    let Some(content) = folder.read(FILE)? else {
        return Ok(Book::default());
    };
    let read = serde_json::from_slice(&content);
    let mut book: Book = read.map_err(|error| StorageError::Damaged {
        path: folder.path(FILE),
        what: error.to_string(),
    })?;
    if let Some(current) = &mut book.current {
        current.ends_at = current.ends_at.min(now + LONGEST_TTL);
    }
    Ok(book)
}

/// Writes the book, so that it survives a power cut.
///
/// # Errors
/// If the file cannot be written.
pub fn save(folder: &Folder, book: &Book) -> Result<(), StorageError> {
    let content = serde_json::to_vec(book).expect("a book has text keys and plain values");
    folder.replace(FILE, &content)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TTL: Duration = Duration::from_secs(30);

    fn at(seconds: u64) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)
    }

    fn acquire(book: &mut Book, holder: &str, second: u64) -> Result<u64, Error> {
        book.acquire(holder, TTL, false, at(second))
            .map(|epoch| epoch.0)
    }

    #[test]
    fn one_holder_at_a_time() {
        let mut book = Book::default();
        assert_eq!(acquire(&mut book, "a", 0), Ok(1));
        let refused = Error::Leased {
            holder: "a".to_owned(),
            remaining: Duration::from_secs(20),
        };
        assert_eq!(acquire(&mut book, "b", 10), Err(refused));
        assert_eq!(acquire(&mut book, "b", 30), Ok(2), "a's lease has ended");
        assert_eq!(
            acquire(&mut book, "b", 31),
            Ok(3),
            "the same holder may ask again"
        );
        assert_eq!(
            book.acquire("c", TTL, true, at(32)).unwrap(),
            DesktopEpoch(4)
        );
    }

    #[test]
    fn only_the_highest_epoch_acts() {
        let mut book = Book::default();
        assert_eq!(
            book.check(DesktopEpoch(0), at(0)),
            Err(Error::NeverMinted {
                given: 0,
                highest: 0
            })
        );
        acquire(&mut book, "a", 0).unwrap();
        acquire(&mut book, "a", 0).unwrap();
        assert_eq!(book.check(DesktopEpoch(2), at(29)), Ok(()));
        assert_eq!(
            book.check(DesktopEpoch(2), at(30)),
            Err(Error::Ended { given: 2 })
        );
        assert_eq!(
            book.check(DesktopEpoch(1), at(1)),
            Err(Error::Superseded {
                given: 1,
                highest: 2
            })
        );
        assert_eq!(
            book.check(DesktopEpoch(3), at(1)),
            Err(Error::NeverMinted {
                given: 3,
                highest: 2
            })
        );
    }

    #[test]
    fn a_lease_lasts_as_long_as_it_is_renewed() {
        let mut book = Book::default();
        acquire(&mut book, "a", 0).unwrap();
        book.renew(DesktopEpoch(1), TTL, at(20)).unwrap();
        assert_eq!(book.check(DesktopEpoch(1), at(45)), Ok(()));
        assert_eq!(
            book.renew(DesktopEpoch(1), TTL, at(50)),
            Err(Error::Ended { given: 1 })
        );
    }

    #[test]
    fn what_is_given_back_is_given_back() {
        let mut book = Book::default();
        acquire(&mut book, "a", 0).unwrap();
        assert_eq!(book.release(DesktopEpoch(1)), Ok(true));
        assert_eq!(book.release(DesktopEpoch(1)), Ok(false), "may be repeated");
        assert_eq!(
            book.check(DesktopEpoch(1), at(1)),
            Err(Error::Ended { given: 1 })
        );
        assert_eq!(acquire(&mut book, "b", 1), Ok(2));
        assert_eq!(
            book.release(DesktopEpoch(1)),
            Ok(false),
            "an old lease takes nothing from the new one"
        );
        assert_eq!(book.check(DesktopEpoch(2), at(2)), Ok(()));
    }

    #[test]
    fn a_clock_that_was_set_back_makes_no_lease_last() {
        let parent = tempfile::tempdir().unwrap();
        let folder = Folder::open(parent.path()).unwrap();
        let mut book = Book::default();
        acquire(&mut book, "a", 1_000_000).unwrap();
        save(&folder, &book).unwrap();
        let again = load(&folder, at(0)).unwrap();
        assert_eq!(again.ends_at(), Some(at(0) + LONGEST_TTL));
    }

    #[test]
    fn epochs_grow_across_restarts() {
        let parent = tempfile::tempdir().unwrap();
        let folder = Folder::open(parent.path()).unwrap();
        let mut book = load(&folder, at(0)).unwrap();
        acquire(&mut book, "a", 0).unwrap();
        save(&folder, &book).unwrap();
        let mut again = load(&folder, at(0)).unwrap();
        assert_eq!(again, book);
        assert_eq!(acquire(&mut again, "a", 100), Ok(2));
        folder.replace(FILE, b"{").unwrap();
        assert!(matches!(
            load(&folder, at(0)),
            Err(StorageError::Damaged { .. })
        ));
    }
}
