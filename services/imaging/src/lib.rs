//! Pure functions on pixels: coordinate spaces, codecs, resizing, frame difference, set-of-marks as images and
//! prompt lines, and the images of users.
//!
//! Nothing here does I/O, waits, or keeps state between calls; time and randomness are not used. Pixels are opaque
//! [`image::RgbaImage`] values: alpha is carried but never blended.

pub mod codec;
pub mod difference;
pub mod exact_diff;
pub mod grey;
pub mod highlight;
pub mod marks;
pub mod resize;
pub mod shift;
pub mod space;
pub mod user_image;
