//! Draws the mouse cursor into an image, because window systems capture pixels without it.
//!
//! Pure: independent of the source of the cursor image.

use image::RgbaImage;
use motorium_proto::domain::geometry::{CapturePoint, CaptureRect, CaptureSize};

/// Image of a cursor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CursorImage {
    /// Position of the hot spot on the display.
    pub position: CapturePoint,
    /// Position of the hot spot within the image.
    pub hot_spot: (i32, i32),
    pub width: i32,
    pub height: i32,
    /// Rows of `0xAARRGGBB`, the colours already multiplied by alpha (the form of `XFixesGetCursorImage`).
    pub argb: Vec<u32>,
}

impl CursorImage {
    /// Creates a cursor with a known position and no image.
    #[must_use]
    pub fn invisible(position: CapturePoint) -> Self {
        Self {
            position,
            hot_spot: (0, 0),
            width: 0,
            height: 0,
            argb: Vec::new(),
        }
    }

    /// Box of the display that the cursor covers.
    #[must_use]
    pub fn bounds(&self) -> CaptureRect {
        let corner = CapturePoint::new(
            self.position.x - self.hot_spot.0,
            self.position.y - self.hot_spot.1,
        );
        CaptureRect::from_origin_and_size(corner, CaptureSize::new(self.width, self.height))
    }

    /// Returns whether the cursor intersects the box `bounds` of the display.
    #[must_use]
    pub fn shows_in(&self, bounds: CaptureRect) -> bool {
        self.bounds().intersects(&bounds)
    }
}

/// Draws `cursor` over `image`, which shows the box `bounds` of the display. Returns whether anything was drawn.
pub fn draw(image: &mut RgbaImage, bounds: CaptureRect, cursor: &CursorImage) -> bool {
    let corner = cursor.bounds().min - bounds.min.to_vector();
    let mut drawn = false;
    for row in 0..cursor.height {
        for column in 0..cursor.width {
            let (Ok(x), Ok(y)) = (
                u32::try_from(corner.x + column),
                u32::try_from(corner.y + row),
            ) else {
                continue;
            };
            let Some(pixel) = image.get_pixel_mut_checked(x, y) else {
                continue;
            };
            let index = usize::try_from(row * cursor.width + column).unwrap_or(usize::MAX);
            let Some(&argb) = cursor.argb.get(index) else {
                continue;
            };
            let [alpha, red, green, blue] = argb.to_be_bytes();
            if alpha == 0 {
                continue;
            }
            drawn = true;
            for (under, over) in pixel.0.iter_mut().zip([red, green, blue]) {
                *under = blend(*under, over, alpha);
            }
        }
    }
    drawn
}

/// Blends one channel of a premultiplied colour over an opaque one.
fn blend(under: u8, over: u8, alpha: u8) -> u8 {
    let rest = u32::from(under) * u32::from(255 - alpha);
    let sum = u32::from(over) + (rest + 127) / 255;
    u8::try_from(sum).unwrap_or(u8::MAX)
}

#[cfg(test)]
mod tests {
    use image::Rgba;
    use motorium_proto::domain::geometry::CapturePoint;

    use super::*;

    /// A 2×1 cursor, hot spot on its left pixel: opaque red, then half of black.
    fn cursor(x: i32, y: i32) -> CursorImage {
        CursorImage {
            position: CapturePoint::new(x, y),
            hot_spot: (0, 0),
            width: 2,
            height: 1,
            argb: vec![0xFFFF_0000, 0x8000_0000],
        }
    }

    fn check(position: (i32, i32), origin: (i32, i32), expected: [[u8; 3]; 3]) {
        let mut image = RgbaImage::from_pixel(3, 1, Rgba([200, 200, 200, 255]));
        let bounds = CaptureRect::new(
            CapturePoint::new(origin.0, origin.1),
            CapturePoint::new(origin.0 + 3, origin.1 + 1),
        );
        let drawn = draw(&mut image, bounds, &cursor(position.0, position.1));
        let got: Vec<[u8; 3]> = image.pixels().map(|p| [p[0], p[1], p[2]]).collect();
        assert_eq!(got, expected, "cursor at {position:?}, image at {origin:?}");
        assert_eq!(drawn, expected.iter().any(|p| *p != [200; 3]));
        assert!(image.pixels().all(|p| p[3] == 255));
    }

    #[test]
    fn cursor_is_drawn_at_its_hot_spot_and_clipped() {
        let plain = [200; 3];
        let red = [255, 0, 0];
        let shaded = [100; 3];
        check((0, 0), (0, 0), [red, shaded, plain]);
        check((1, 0), (0, 0), [plain, red, shaded]);
        check((2, 0), (0, 0), [plain, plain, red]);
        check((-1, 0), (0, 0), [shaded, plain, plain]);
        check((-2, 0), (0, 0), [plain; 3]);
        check((0, 1), (0, 0), [plain; 3]);
        check((101, 50), (100, 50), [plain, red, shaded]);
    }
}
