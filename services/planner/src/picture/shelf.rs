//! Pictures that were rendered lately. The history of a step is the steps before it, and without this each of its pictures
//! would be decoded, resized and encoded again in every step that shows it.
//!
//! They are kept by the checksum of what they were made from and by how; whose they were is not known here. Bounded in
//! bytes: what was not used for the longest time goes first.

use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use lru::LruCache;
use motorium_imaging::space::PictureSize;

use super::Checksum;

/// Most bytes that are kept: the pictures of some dozen tasks.
const MOST_BYTES: usize = 64 << 20;

/// What a picture was made from, and how.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Key {
    pub(super) original: Checksum,
    pub(super) sent: PictureSize,
    pub(super) max_base64: usize,
}

/// A picture as it is sent.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Encoded {
    pub(super) media_type: &'static str,
    pub(super) base64: String,
}

/// The picture of that key, made if it is not there.
pub(super) fn get<E>(
    key: Key,
    make: impl FnOnce() -> Result<Encoded, E>,
) -> Result<Arc<Encoded>, E> {
    let shelf = || SHELF.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(kept) = shelf().kept.get(&key) {
        return Ok(Arc::clone(kept));
    }
    // Made without the lock: two who want the same at the same time both make it.
    let made = Arc::new(make()?);
    shelf().put(key, Arc::clone(&made));
    Ok(made)
}

static SHELF: LazyLock<Mutex<Shelf>> = LazyLock::new(|| Mutex::new(Shelf::new(MOST_BYTES)));

#[derive(Debug)]
struct Shelf {
    kept: LruCache<Key, Arc<Encoded>>,
    bytes: usize,
    most: usize,
}

impl Shelf {
    fn new(most: usize) -> Self {
        Self {
            kept: LruCache::unbounded(),
            bytes: 0,
            most,
        }
    }

    fn put(&mut self, key: Key, encoded: Arc<Encoded>) {
        self.bytes += encoded.base64.len();
        if let Some(before) = self.kept.put(key, encoded) {
            self.bytes -= before.base64.len();
        }
        while self.bytes > self.most
            && let Some((_, oldest)) = self.kept.pop_lru()
        {
            self.bytes -= oldest.base64.len();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(number: u8) -> Key {
        Key {
            original: Checksum([number; 32]),
            sent: PictureSize::new(8, 6),
            max_base64: 100,
        }
    }

    fn of_length(length: usize) -> Arc<Encoded> {
        Arc::new(Encoded {
            media_type: "image/png",
            base64: "A".repeat(length),
        })
    }

    #[test]
    fn what_was_not_used_goes_first_and_the_bytes_are_counted() {
        let mut shelf = Shelf::new(100);
        for number in 1..=4 {
            shelf.put(key(number), of_length(25));
        }
        assert!(shelf.kept.get(&key(1)).is_some());
        shelf.put(key(5), of_length(30));
        let kept = |shelf: &Shelf| [1, 2, 3, 4, 5].map(|number| shelf.kept.contains(&key(number)));
        assert_eq!(kept(&shelf), [true, false, false, true, true]);
        assert_eq!(shelf.bytes, 80);
        shelf.put(key(5), of_length(10));
        assert_eq!(shelf.bytes, 60);
        shelf.put(key(1), of_length(101));
        assert_eq!((shelf.bytes, shelf.kept.len()), (0, 0));
    }

    #[test]
    fn a_failure_is_not_kept() {
        let key = key(200);
        let failed: Result<Arc<Encoded>, &str> = get(key, || Err("no"));
        assert_eq!(failed.unwrap_err(), "no");
        let make = || {
            Ok::<_, &str>(Encoded {
                media_type: "image/png",
                base64: "AA".to_owned(),
            })
        };
        assert_eq!(get(key, make).unwrap().base64, "AA");
        assert_eq!(get(key, || Err("made again")).unwrap().base64, "AA");
    }
}
