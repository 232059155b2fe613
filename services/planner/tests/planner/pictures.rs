//! Pictures as they are sent: sharp where there is room for that, and never larger than a provider takes them.

use image::{Rgba, RgbaImage};
use motorium_imaging::picture;
use motorium_planner::models::{Api, Models};
use motorium_planner::picture::{Error, Pictures, Taste};
use motorium_proto::domain::frame::Image;
use motorium_proto::service::ImageFormat;

/// A picture that does not compress: every pixel is another.
fn noise() -> Image {
    let pixels = RgbaImage::from_fn(300, 200, |x, y| {
        let mixed = (x * 7919 + y * 104_729).wrapping_mul(2_654_435_761);
        Rgba([mixed as u8, (mixed >> 8) as u8, (mixed >> 16) as u8, 255])
    });
    picture::encode(&pixels, ImageFormat::Png).unwrap()
}

fn taste(max_base64: usize) -> Taste {
    let model = Models::default().get("local-vl", Api::OpenaiChat);
    Taste {
        max_base64,
        ..model.taste
    }
}

#[test]
fn a_picture_that_is_too_large_is_sent_as_a_jpeg() {
    let pictures = Pictures::of_image(&noise());
    let whole = pictures.current(taste(usize::MAX)).unwrap();
    assert_eq!(whole.media_type, "image/png");
    let limit = whole.base64.len() - 1;
    let smaller = pictures.current(taste(limit)).unwrap();
    assert_eq!(smaller.media_type, "image/jpeg");
    assert!(smaller.base64.len() <= limit);
    assert!(
        smaller
            .data_url()
            .starts_with("data:image/jpeg;base64,/9j/")
    );
    assert_eq!(smaller.view, whole.view, "points mean the same on it");
}

#[test]
fn a_picture_that_is_too_large_even_then_is_not_sent() {
    let error = Pictures::of_image(&noise())
        .current(taste(1000))
        .unwrap_err();
    assert!(
        matches!(error, Error::TooManyBytes { limit: 1000, .. }),
        "{error}"
    );
}
