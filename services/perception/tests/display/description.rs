//! Icons of a real page get names and controls get states where the models are confident; a wrong name is never given.
//! Accuracy on many icons is measured in training and stated in the model card.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use image::RgbaImage;
use motorium_perception::capture::{CaptureOptions, Screen as _};
use motorium_perception::error::Error;
use motorium_perception::parse::describe::{DescribeSettings, DescribingDetector};
use motorium_perception::parse::detect::{Detection, Detector};
use motorium_perception::parse::read::ModelFiles;
use motorium_proto::domain::element::{ElementKind, ElementState};
use motorium_proto::domain::geometry::{CapturePoint, CaptureRect};
use tokio_util::sync::CancellationToken;

use crate::support::{Desktop, TEST_TIMEOUT, at};
use crate::text_reading::data_folder;

/// Icons of 24 by 24 drawn for this test, with their meanings.
const PICTOGRAMS: [(&str, &str); 10] = [
    (
        "search",
        "<circle cx='10' cy='10' r='6.5'/><path d='M15 15l6 6'/>",
    ),
    ("close", "<path d='M5 5l14 14M19 5L5 19'/>"),
    ("menu", "<path d='M3 6h18M3 12h18M3 18h18'/>"),
    ("add", "<path d='M12 4v16M4 12h16'/>"),
    ("check", "<path d='M4 13l5 5L20 7'/>"),
    ("back", "<path d='M20 12H4M11 5l-7 7 7 7'/>"),
    ("download", "<path d='M12 3v12M7 10l5 5 5-5M4 17v4h16v-4'/>"),
    ("mail", "<path d='M3 5h18v14H3zM3 6l9 7 9-7'/>"),
    (
        "home",
        "<path d='M3 11l9-8 9 8M5 10v11h14V10M10 21v-6h4v6'/>",
    ),
    ("lock", "<path d='M5 11h14v10H5zM8 11V7a4 4 0 0 1 8 0v4'/>"),
];

/// Position of the first icon on the page and distance to the next, in pixels.
const FIRST: CapturePoint = CapturePoint::new(40, 40);
const STEP: i32 = 48;
const SIDE: i32 = 24;

/// Colour of a mark in a corner of the page, used to locate the page.
const MARK: [u8; 3] = [255, 0, 170];
/// Time between two captures of a page that is being painted; several of its frames.
const PAINT_INTERVAL: Duration = Duration::from_millis(100);

/// Controls with their positions on the page and their visible states.
fn controls() -> [(ElementKind, &'static str, CaptureRect, ElementState); 5] {
    let nothing = ElementState::default();
    let checked = |value| ElementState {
        checked: Some(value),
        ..nothing
    };
    let hint = |value| ElementState {
        placeholder: Some(value),
        ..nothing
    };
    let check_box = |y| at(40, y, 16, 16);
    let field = |y| at(200, y, 240, 30);
    [
        (
            ElementKind::Checkbox,
            "type=checkbox checked",
            check_box(140),
            checked(true),
        ),
        (
            ElementKind::Checkbox,
            "type=checkbox",
            check_box(180),
            checked(false),
        ),
        (
            ElementKind::Radio,
            "type=radio checked",
            check_box(220),
            checked(true),
        ),
        (
            ElementKind::TextField,
            "value='Alice Wonderland'",
            field(140),
            hint(false),
        ),
        (
            ElementKind::TextField,
            "placeholder='Search the catalogue'",
            field(190),
            hint(true),
        ),
    ]
}

fn page() -> String {
    let mut page = format!(
        "<!DOCTYPE html><meta charset=utf-8><title>Pictograms</title>
        <style>body {{ margin: 0; background: #fff }} body > * {{ position: absolute; margin: 0; box-sizing: border-box }}</style>
        <div style='left:0;top:0;width:8px;height:8px;background:rgb({},{},{})'></div>",
        MARK[0], MARK[1], MARK[2]
    );
    for (index, (_, shape)) in PICTOGRAMS.iter().enumerate() {
        let left = FIRST.x + STEP * index as i32;
        write!(
            page,
            "<svg style='left:{left}px;top:{}px' width={SIDE} height={SIDE} viewBox='0 0 24 24' fill=none stroke='#333'
            stroke-width=2>{shape}</svg>",
            FIRST.y
        )
        .unwrap();
    }
    for (_, attributes, place, _) in controls() {
        write!(
            page,
            "<input {attributes} style='left:{}px;top:{}px;width:{}px;height:{}px'>",
            place.min.x,
            place.min.y,
            place.width(),
            place.height()
        )
        .unwrap();
    }
    page
}

/// Detector that returns given detections.
#[derive(Debug)]
struct FixedDetector(Vec<Detection>);

impl Detector for FixedDetector {
    fn detect(
        &self,
        _: &RgbaImage,
        _: CaptureRect,
        _: &CancellationToken,
    ) -> Result<Vec<Detection>, Error> {
        Ok(self.0.clone())
    }

    fn warm_up(&self) -> Result<(), Error> {
        Ok(())
    }
}

/// Shows the page on a display and returns the position of its upper left corner.
async fn shown() -> (Desktop, Arc<RgbaImage>, CapturePoint) {
    let mut desktop = Desktop::start_large().await;
    let file = desktop.path("page.html");
    std::fs::write(&file, page()).unwrap();
    desktop.open_browser(&file, [64, 64, 900, 700]);
    let screen = desktop.screen();
    let deadline = tokio::time::Instant::now() + TEST_TIMEOUT;
    let mut last: Option<Arc<RgbaImage>> = None;
    loop {
        let frame = screen.capture(CaptureOptions::default()).await.unwrap();
        let is_mark = |(_, _, pixel): &(u32, u32, &image::Rgba<u8>)| pixel.0[..3] == MARK;
        let corner = frame.pixels.enumerate_pixels().find(is_mark);
        // The browser paints a page in parts; the mark alone does not say that all of it is there.
        let is_painted = last.replace(frame.pixels.clone()) == Some(frame.pixels.clone());
        if let Some((x, y, _)) = corner.filter(|_| is_painted) {
            let corner = CapturePoint::new(x as i32, y as i32);
            return (desktop, frame.pixels, corner);
        }
        assert!(
            tokio::time::Instant::now() < deadline,
            "the page did not appear"
        );
        tokio::time::sleep(PAINT_INTERVAL).await;
    }
}

fn described(pixels: &RgbaImage, found: Vec<Detection>) -> Vec<Detection> {
    let settings = DescribeSettings {
        runtime: ModelFiles::in_folder(&data_folder()).runtime,
        threads: 2,
    };
    let describing = DescribingDetector::new(Arc::new(FixedDetector(found)), settings);
    let whole = at(0, 0, pixels.width() as i32, pixels.height() as i32);
    describing
        .detect(pixels, whole, &CancellationToken::new())
        .unwrap()
}

#[tokio::test]
async fn pictograms_have_names_and_controls_states() {
    let (_desktop, pixels, corner) = shown().await;
    let on_screen = |place: CaptureRect| place.translate(corner.to_vector());
    let pictogram = |index| {
        let place = at(FIRST.x + STEP * index, FIRST.y, SIDE, SIDE);
        Detection::new(on_screen(place), ElementKind::Icon, 0.9)
    };
    let mut found: Vec<Detection> = (0..PICTOGRAMS.len() as i32).map(pictogram).collect();
    let controls = controls();
    let control =
        |(kind, _, place, _): &(_, _, _, _)| Detection::new(on_screen(*place), *kind, 0.9);
    found.extend(controls.iter().map(control));
    let described = described(&pixels, found);

    let names = described.iter().map(|found| found.name.as_deref());
    let names: Vec<_> = names.take(PICTOGRAMS.len()).collect();
    let mut right = 0;
    for ((meaning, _), name) in PICTOGRAMS.iter().zip(&names) {
        assert!(
            name.is_none_or(|name| name == *meaning),
            "{meaning}: {names:?}"
        );
        right += usize::from(name.is_some());
    }
    assert!(right >= 8, "{names:?}");

    let states = described[PICTOGRAMS.len()..].iter();
    for ((kind, attributes, _, expected), found) in controls.iter().zip(states) {
        let (state, expected) = (found.state, *expected);
        assert_eq!(state.checked, expected.checked, "{kind} {attributes}");
        // Placeholders are not always recognised with confidence.
        let is_right = state.placeholder.is_none() || state.placeholder == expected.placeholder;
        assert!(is_right, "{kind} {attributes}: {state:?}");
        // Text fields get no name.
        assert_eq!(found.name, None);
    }
}

#[test]
fn description_handles_no_detections_and_image_edges() {
    let pixels = RgbaImage::from_pixel(60, 40, image::Rgba([240, 240, 240, 255]));
    assert_eq!(described(&pixels, vec![]), []);
    let corners = [
        at(0, 0, 1, 1),
        at(50, 30, 10, 10),
        at(0, 0, 60, 40),
        at(59, 0, 1, 40),
    ];
    for kind in [
        ElementKind::Icon,
        ElementKind::Checkbox,
        ElementKind::TextField,
    ] {
        let found = corners.map(|place| Detection::new(place, kind, 0.5));
        assert_eq!(described(&pixels, found.to_vec()).len(), corners.len());
    }
}
