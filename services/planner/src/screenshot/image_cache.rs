//! Recently rendered images. Each step shows the images of earlier steps again; without the cache they would be decoded,
//! resized and encoded in every step.
//!
//! The key is the checksum of the original and the rendering parameters; tasks are unknown here. The size in bytes is
//! limited, and the least recently used image is evicted first.

use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use lru::LruCache;
use motorium_imaging::space::ImageSize;

use super::Checksum;

/// Maximum size in bytes: holds the images of some dozen tasks.
const MAX_CACHE_BYTES: usize = 64 << 20;

/// Original and rendering parameters of an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Key {
    pub(super) original: Checksum,
    pub(super) sent: ImageSize,
    pub(super) max_base64: usize,
}

/// An image as sent.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Encoded {
    pub(super) media_type: &'static str,
    pub(super) base64: String,
}

/// Returns the image of this key, rendering it if it is not cached.
pub(super) fn get<E>(
    key: Key,
    make: impl FnOnce() -> Result<Encoded, E>,
) -> Result<Arc<Encoded>, E> {
    let cache = || CACHE.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(kept) = cache().entries.get(&key) {
        return Ok(Arc::clone(kept));
    }
    // Rendered without the lock: concurrent callers with the same key both render.
    let made = Arc::new(make()?);
    cache().put(key, Arc::clone(&made));
    Ok(made)
}

static CACHE: LazyLock<Mutex<ImageCache>> =
    LazyLock::new(|| Mutex::new(ImageCache::new(MAX_CACHE_BYTES)));

#[derive(Debug)]
struct ImageCache {
    entries: LruCache<Key, Arc<Encoded>>,
    bytes: usize,
    max_bytes: usize,
}

impl ImageCache {
    fn new(max_bytes: usize) -> Self {
        Self {
            entries: LruCache::unbounded(),
            bytes: 0,
            max_bytes,
        }
    }

    fn put(&mut self, key: Key, encoded: Arc<Encoded>) {
        self.bytes += encoded.base64.len();
        if let Some(before) = self.entries.put(key, encoded) {
            self.bytes -= before.base64.len();
        }
        while self.bytes > self.max_bytes
            && let Some((_, oldest)) = self.entries.pop_lru()
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
            sent: ImageSize::new(8, 6),
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
    fn least_recently_used_images_are_evicted_by_bytes() {
        let mut cache = ImageCache::new(100);
        for number in 1..=4 {
            cache.put(key(number), of_length(25));
        }
        assert!(cache.entries.get(&key(1)).is_some());
        cache.put(key(5), of_length(30));
        let kept =
            |cache: &ImageCache| [1, 2, 3, 4, 5].map(|number| cache.entries.contains(&key(number)));
        assert_eq!(kept(&cache), [true, false, false, true, true]);
        assert_eq!(cache.bytes, 80);
        cache.put(key(5), of_length(10));
        assert_eq!(cache.bytes, 60);
        cache.put(key(1), of_length(101));
        assert_eq!((cache.bytes, cache.entries.len()), (0, 0));
    }

    #[test]
    fn failed_encoding_is_not_cached() {
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
