//! Pure functions on pixels: coordinate spaces, codecs, resizing, frame difference, and the Set of Marks as a picture
//! and as lines of text.
//!
//! Nothing here does I/O, waits, or keeps anything between calls; time and randomness do not occur. Pixels are
//! [`image::RgbaImage`] throughout, and opaque: alpha is carried, never blended with.

pub mod changes;
pub mod difference;
pub mod marks;
pub mod picture;
pub mod resize;
pub mod space;
