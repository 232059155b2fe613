//! Images as sent: lossless if there is room, and never above the provider's limits.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use image::{Rgba, RgbaImage};
use motorium_imaging::{codec, resize};
use motorium_planner::models::{Api, ModelTable};
use motorium_planner::screenshot::{Checksum, Error, ImageSpec, RequestImages};
use motorium_proto::domain::decision::PastStep;
use motorium_proto::domain::frame::{Image, ImageContent};
use motorium_proto::service::{ImageFormat, PlanRequest};

use crate::request::request;
use motorium_phrasebook::screens::screen;

/// An image that does not compress: every pixel differs.
fn noise() -> Image {
    let pixels = RgbaImage::from_fn(300, 200, |x, y| {
        let mixed = (x * 7919 + y * 104_729).wrapping_mul(2_654_435_761);
        Rgba([mixed as u8, (mixed >> 8) as u8, (mixed >> 16) as u8, 255])
    });
    codec::encode(&pixels, ImageFormat::Png).unwrap()
}

fn image_spec(max_base64: usize) -> ImageSpec {
    let model = ModelTable::default().get("local-vl", Api::OpenaiChat);
    ImageSpec {
        max_base64_bytes: max_base64,
        ..model.image_spec
    }
}

#[test]
fn oversize_image_is_sent_as_jpeg() {
    let images = RequestImages::of_image(&noise());
    let whole = images.current(image_spec(usize::MAX)).unwrap();
    assert_eq!(whole.media_type, "image/png");
    let limit = whole.base64.len() - 1;
    let smaller = images.current(image_spec(limit)).unwrap();
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
fn image_too_large_even_as_jpeg_is_not_sent() {
    let error = RequestImages::of_image(&noise())
        .current(image_spec(1000))
        .unwrap_err();
    assert!(
        matches!(error, Error::TooManyBytes { limit: 1000, .. }),
        "{error}"
    );
}

#[test]
fn a_marked_screen_is_kept_without_its_marks_for_the_steps_that_show_it_again() {
    let pixels = RgbaImage::from_fn(2000, 1500, |x, y| Rgba([x as u8, y as u8, 90, 255]));
    let image = codec::encode(&pixels, ImageFormat::Png).unwrap();
    let image_spec = image_spec(usize::MAX);
    let seen = screen("button 20,40 80x30 \"Save\"");
    let now = RequestImages::of_image(&image);
    let marked = now.annotated(image_spec, &seen.scene.elements).unwrap();
    now.cache_current(image_spec);
    now.release();

    let later = RequestImages::of(&PlanRequest {
        history: vec![PastStep {
            image: Some(image.clone()),
            ..PastStep::default()
        }],
        ..request("save the file", "")
    });
    let shown = later.whole(image_spec, Checksum(image.sha256)).unwrap();
    let plain = resize::render(&pixels, &shown.view.space().unwrap()).unwrap();
    let plain = codec::encode(&plain, ImageFormat::Png).unwrap();
    assert_eq!(shown.data_url(), data_url(&plain));
    assert_ne!(shown.base64, marked.base64);
    assert_eq!(shown.view, marked.view, "points mean the same on both");
}

fn data_url(image: &Image) -> String {
    match &image.content {
        ImageContent::Bytes(bytes) => {
            format!("data:image/png;base64,{}", STANDARD.encode(bytes))
        }
        ImageContent::BlobUri(uri) => panic!("{uri}"),
    }
}
