//! The built-in model finds the buttons of a real page, and an invalid model is rejected with instructions. Accuracy on
//! many screens is measured in training and stated in the model card.

use std::path::Path;
use std::sync::Arc;

use image::RgbaImage;
use motorium_perception::capture::{CaptureOptions, Screen as _};
use motorium_perception::config::DEFAULT_CONFIDENCE_THRESHOLD;
use motorium_perception::error::Error;
use motorium_perception::marks::MergedElement;
use motorium_perception::marks::merge::merge;
use motorium_perception::parse::Parser as _;
use motorium_perception::parse::detect::{
    DetectSettings, Detection, Detector as _, DetectorModel, YoloDetector,
};
use motorium_perception::parse::embedded::EmbeddedParser;
use motorium_perception::parse::read::ModelFiles;
use motorium_proto::domain::element::ElementKind;
use motorium_proto::domain::geometry::CaptureRect;
use tokio_util::sync::CancellationToken;

use crate::support::{Desktop, TEST_TIMEOUT, at};
use crate::text_reading::{data_folder, reader};

const PAGE: &str = r#"<!DOCTYPE html><meta charset="utf-8"><title>Orders</title>
<body style="font: 16px sans-serif; margin: 24px">
<h2>New order</h2>
<p>Name <input value="Alice Wonderland" size="30"></p>
<p><button style="padding: 8px 20px">Save changes</button> <button style="padding: 8px 20px">Discard</button></p>
<p>The quick brown fox jumps over the lazy dog.</p></body>"#;

fn settings(model: DetectorModel) -> DetectSettings {
    DetectSettings {
        model,
        runtime: ModelFiles::in_folder(&data_folder()).runtime,
        threads: 2,
        confidence_threshold: DEFAULT_CONFIDENCE_THRESHOLD,
    }
}

fn detect(detector: &YoloDetector, pixels: &RgbaImage, within: CaptureRect) -> Vec<Detection> {
    detector
        .detect(pixels, within, &CancellationToken::new())
        .unwrap()
}

/// Parses a display until the text appears; returns the last capture and its elements.
async fn look_for(desktop: &Desktop, text: &str) -> (Arc<RgbaImage>, Vec<MergedElement>) {
    let detector = YoloDetector::new(settings(DetectorModel::BuiltIn));
    let parser = EmbeddedParser::new(Arc::new(detector), reader());
    let screen = desktop.screen();
    let deadline = tokio::time::Instant::now() + TEST_TIMEOUT;
    loop {
        let pixels = screen
            .capture(CaptureOptions::default())
            .await
            .unwrap()
            .pixels;
        let parse = parser.parse(&pixels, &CancellationToken::new()).unwrap();
        let size = motorium_imaging::codec::size_of(&pixels);
        let found = merge(&parse.detections, &parse.lines, size);
        if found.iter().any(|found| found.content.contains(text)) {
            return (pixels, found);
        }
        assert!(
            tokio::time::Instant::now() < deadline,
            "`{text}` is not among {found:#?}"
        );
    }
}

#[tokio::test]
async fn buttons_of_a_page_are_found_with_their_labels() {
    let mut desktop = Desktop::start_large().await;
    let page = desktop.path("page.html");
    std::fs::write(&page, PAGE).unwrap();
    desktop.open_browser(&page, [64, 64, 900, 700]);
    let (pixels, found) = look_for(&desktop, "The quick brown fox").await;

    let kind_of = |text: &str| {
        let of_text = found.iter().find(|found| found.content.contains(text));
        of_text.unwrap_or_else(|| panic!("no `{text}` in {found:#?}"))
    };
    for (text, kind) in [
        ("Save changes", ElementKind::Button),
        ("Discard", ElementKind::Button),
    ] {
        assert_eq!(kind_of(text).kind, kind, "{text}: {found:#?}");
        assert!(kind_of(text).interactable, "{text}");
    }
    assert!(!kind_of("The quick brown fox").interactable);

    // Boxes found in a region have the same position as in the whole image.
    let detector = YoloDetector::new(settings(DetectorModel::BuiltIn));
    let save = kind_of("Save changes").bounds;
    let part = at(
        (save.min.x - 96).max(0) / 32 * 32,
        (save.min.y - 96) / 32 * 32,
        384,
        256,
    );
    let in_part = detect(&detector, &pixels, part);
    let near = |found: &Detection| {
        let moved = found.bounds.min - save.min;
        found.kind == ElementKind::Button && moved.x.abs() <= 3 && moved.y.abs() <= 3
    };
    assert!(in_part.iter().any(near), "{save:?}: {in_part:#?}");
}

#[test]
fn detector_accepts_images_of_any_size() {
    let detector = YoloDetector::new(settings(DetectorModel::BuiltIn));
    for (width, height) in [(1, 1), (3, 900), (31, 33), (3840, 2160), (4000, 40)] {
        let blank = RgbaImage::from_pixel(width, height, image::Rgba([240, 240, 240, 255]));
        let whole = at(0, 0, width as i32, height as i32);
        assert_eq!(detect(&detector, &blank, whole), [], "{width}×{height}");
    }
    let blank = RgbaImage::new(64, 64);
    assert_eq!(detect(&detector, &blank, at(5, 5, 0, 10)), []);
}

#[test]
fn cancelled_detection_is_not_run() {
    let cancel = CancellationToken::new();
    cancel.cancel();
    let detector = YoloDetector::new(settings(DetectorModel::BuiltIn));
    let error = detector
        .detect(&RgbaImage::new(640, 480), at(0, 0, 640, 480), &cancel)
        .unwrap_err();
    assert_eq!(error, Error::Cancelled);
}

#[test]
fn detector_with_invalid_metadata_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("own.onnx");
    let mut model = include_bytes!("../../models/detector.onnx").to_vec();
    let declared = b"large_from\x12\x03400";
    let place = model
        .windows(declared.len())
        .position(|bytes| bytes == declared);
    let place = place.expect("the built-in model declares `large_from`");
    model[place..][..declared.len()].copy_from_slice(b"large_from\x12\x03all");
    std::fs::write(&file, model).unwrap();
    let detector = YoloDetector::new(settings(DetectorModel::File(file)));
    let text = detector.warm_up().unwrap_err().to_string();
    assert!(
        text.contains("own.onnx") && text.contains("\"all\" under \"large_from\""),
        "{text}"
    );
}

#[test]
fn non_detector_model_error_states_the_expected_output() {
    let folder = tempfile::tempdir().unwrap();
    let broken = folder.path().join("broken.onnx");
    std::fs::write(&broken, "no model").unwrap();
    let check = |path: &Path, part: &str| {
        let detector = YoloDetector::new(settings(DetectorModel::File(path.to_owned())));
        let text = detector.warm_up().unwrap_err().to_string();
        assert!(
            text.contains(path.to_str().unwrap()) && text.contains(part),
            "{text}"
        );
        assert!(text.contains("`detector`"), "{text}");
    };
    check(&broken, "cannot be used");
    // The text detection model is not a UI detector.
    check(
        &ModelFiles::in_folder(&data_folder()).text_detection,
        "one output [1, 4 + classes, cells]",
    );
}
