//! Converts screenshots for users: they are stored as lossless WebP and saved as PNG, which every viewer opens.

use std::io::Cursor;

use bytes::Bytes;
use image::ImageFormat;

/// Converts a WebP image to PNG and changes its file extension. Other files are returned unchanged.
#[must_use]
pub(crate) fn to_png(file_name: &str, content: Bytes) -> (String, Bytes) {
    let converted = file_name.strip_suffix(".webp").and_then(|stem| {
        let image = image::load_from_memory_with_format(&content, ImageFormat::WebP).ok()?;
        let mut png = Cursor::new(Vec::new());
        image.write_to(&mut png, ImageFormat::Png).ok()?;
        Some((format!("{stem}.png"), Bytes::from(png.into_inner())))
    });
    converted.unwrap_or_else(|| (file_name.to_owned(), content))
}
