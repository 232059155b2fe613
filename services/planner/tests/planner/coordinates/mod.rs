//! Conversion of model coordinates to the screen: against a table that `golden.py` computes independently, and as
//! properties of any screen and point.

use std::path::PathBuf;
use std::process::Command;

use motorium_imaging::space::{DisplaySpace, ImageSize};
use motorium_planner::screenshot::sizes::{
    ClaudeTier, OpenAiDetail, SizeRule, SmartResize, claude_tokens, openai_patches,
};
use motorium_planner::screenshot::{
    CoordinateConvention, CoordinateError, ReportedPoint, SentImage,
};
use motorium_proto::domain::geometry::{
    CapturePoint, CaptureRect, CaptureSize, LogicalPoint, LogicalSize,
};
use proptest::prelude::*;

/// A server that is configured for smaller images than the model supports.
const SMALL: SmartResize = SmartResize {
    max_pixels: 1_003_520,
    ..SmartResize::QWEN_2_5
};

/// The coordinate conventions, by their names in the table.
const CONVENTIONS: [(&str, SizeRule, CoordinateConvention); 8] = [
    (
        "claude_standard",
        SizeRule::Claude(ClaudeTier::Standard),
        CoordinateConvention::SentPixels,
    ),
    (
        "claude_high",
        SizeRule::Claude(ClaudeTier::High),
        CoordinateConvention::SentPixels,
    ),
    (
        "openai_high",
        SizeRule::OpenAi(OpenAiDetail::High),
        CoordinateConvention::SentPixels,
    ),
    (
        "openai_original",
        SizeRule::OpenAi(OpenAiDetail::Original),
        CoordinateConvention::SentPixels,
    ),
    (
        "qwen_2_5",
        SizeRule::SmartResize(SmartResize::QWEN_2_5),
        CoordinateConvention::ResizedPixels,
    ),
    (
        "qwen_2_5_small",
        SizeRule::SmartResize(SMALL),
        CoordinateConvention::ResizedPixels,
    ),
    (
        "thousandths",
        SizeRule::SmartResize(SmartResize::QWEN_3),
        CoordinateConvention::Thousandths,
    ),
    (
        "fractions",
        SizeRule::Unchanged,
        CoordinateConvention::Fractions,
    ),
];

fn pair<T: std::str::FromStr<Err: std::fmt::Debug>>(text: &str, between: char) -> (T, T) {
    let (first, second) = text.split_once(between).unwrap();
    (first.parse().unwrap(), second.parse().unwrap())
}

fn image_size(text: &str) -> ImageSize {
    pair(text, 'x').into()
}

/// Checks one line of the table.
fn check_line(line: &str) {
    let cells: Vec<&str> = line.split('\t').collect();
    let [way, screen, scale, frame, sent, counted, points @ ..] = &cells[..] else {
        panic!("{line}");
    };
    let (_, rule, convention) = CONVENTIONS.iter().find(|(name, ..)| name == way).unwrap();
    let frame: CaptureSize = pair(frame, 'x').into();
    let display = DisplaySpace::new(frame, scale.parse().unwrap()).unwrap();
    let screen: LogicalSize = pair(screen, 'x').into();
    // A frame has no half pixels.
    let lost = screen - display.logical_size();
    assert!(
        (0.0..1.0).contains(&lost.width) && (0.0..1.0).contains(&lost.height),
        "{line}"
    );
    let view = SentImage::whole(frame, *rule, *convention).unwrap();
    assert_eq!(view.sent(), image_size(sent), "{line}");
    assert_eq!(view.counted(), image_size(counted), "{line}");
    for point in points {
        check_point(&view, &display, point);
    }
}

fn check_point(view: &SentImage, display: &DisplaySpace, point: &str) {
    let [reported, pixel, input] = point.split('>').collect::<Vec<_>>()[..] else {
        panic!("{point}");
    };
    let pixel: CapturePoint = pair(pixel, ',').into();
    let found = view.to_capture(pair(reported, ',').into()).unwrap();
    assert_eq!(found, pixel, "{point} in {view:?}");
    let expected: LogicalPoint = pair::<f64>(input, ',').into();
    let off = display.to_logical(found) - expected;
    assert!(
        off.length() < 1e-5,
        "{point} in {view:?} is input at {off:?}"
    );
}

#[test]
fn golden_points_match_every_convention_and_scale() {
    let table = include_str!("golden.tsv");
    assert_eq!(table.lines().count(), CONVENTIONS.len() * 12 * 4);
    table.lines().for_each(check_line);
}

#[test]
fn golden_table_is_up_to_date_with_its_script() {
    let script =
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/planner/coordinates/golden.py");
    let checked = Command::new("python3")
        .arg(script)
        .arg("--check")
        .output()
        .unwrap();
    assert!(
        checked.status.success(),
        "{}",
        String::from_utf8_lossy(&checked.stderr)
    );
}

/// The example sizes in the providers' documentation, with their costs.
#[test]
fn image_token_costs_match_provider_documentation() {
    let check = |size: (i32, i32), rule: SizeRule, expected: (u32, u32), cost: u64| {
        let sent = rule.sent_size(size.into());
        assert_eq!(sent, ImageSize::from(expected), "{size:?} {rule:?}");
        let counted = match rule {
            SizeRule::OpenAi(_) => openai_patches(sent),
            _ => claude_tokens(sent),
        };
        assert_eq!(counted, cost, "{size:?} {rule:?}");
    };
    let standard = SizeRule::Claude(ClaudeTier::Standard);
    let high = SizeRule::Claude(ClaudeTier::High);
    check((1280, 800), standard, (1280, 800), 1334);
    check((1440, 900), standard, (1389, 868), 1550);
    check((1080, 1920), standard, (819, 1456), 1560);
    check((2560, 1600), high, (2420, 1512), 4698);
    check((3840, 2160), high, (2576, 1449), 4784);
    let original = SizeRule::OpenAi(OpenAiDetail::Original);
    check((3840, 2160), original, (3840, 2160), 8160);
    let unresized = SizeRule::OpenAi(OpenAiDetail::OriginalUnresized);
    check((7680, 2160), unresized, (7680, 2160), 16_320);
    assert!(openai_patches(unresized.sent_size(CaptureSize::new(16_384, 6000))) <= 30_000);
}

fn check_refused(view: &SentImage, points: &[(f64, f64)], expected: &str) {
    for point in points {
        let refused = view.to_capture((*point).into()).unwrap_err();
        assert!(
            refused.to_string().contains(expected),
            "{point:?}: {refused}"
        );
    }
}

#[test]
fn points_outside_the_image_are_refused() {
    let frame = CaptureSize::new(1920, 1080);
    let view = |index: usize| {
        let (_, rule, convention) = CONVENTIONS[index];
        SentImage::whole(frame, rule, convention).unwrap()
    };
    check_refused(
        &view(0),
        &[
            (1456.0, 3.0),
            (-1.0, 3.0),
            (3.0, 819.0),
            (f64::NAN, 3.0),
            (3.0, f64::INFINITY),
        ],
        "x goes from 0 to 1455 and y from 0 to 818",
    );
    check_refused(
        &view(4),
        &[(1932.0, 0.0), (0.0, 1092.0)],
        "x goes from 0 to 1931",
    );
    check_refused(
        &view(4),
        &[(0.5, 0.25), (0.0, 0.5), (1.0, 0.999)],
        "fractions",
    );
    check_refused(
        &view(6),
        &[(1001.0, 0.0), (0.0, -0.1)],
        "x goes from 0 to 1000",
    );
    check_refused(&view(7), &[(1.001, 0.0), (640.0, 400.0)], "from 0 to 1");
    assert_eq!(
        view(4).to_capture((0.0, 1.0).into()).unwrap(),
        CapturePoint::new(0, 1)
    );
    let beyond = view(0)
        .to_reported(CapturePoint::new(1920, 0))
        .expect_err("the frame ends there");
    assert!(
        matches!(beyond, CoordinateError::Outside { .. }),
        "{beyond}"
    );
}

#[test]
fn zoomed_image_points_are_relative_to_its_region() {
    let region = CaptureRect::new((400, 300).into(), (800, 600).into());
    let standard = SizeRule::Claude(ClaudeTier::Standard);
    let view = SentImage::sent_at(
        ImageSize::new(1200, 900),
        region,
        standard,
        CoordinateConvention::SentPixels,
    )
    .unwrap();
    let at = |x: f64, y: f64| view.to_capture((x, y).into()).unwrap();
    assert_eq!(at(0.0, 0.0), CapturePoint::new(400, 300));
    assert_eq!(at(1199.0, 899.0), CapturePoint::new(799, 599));
    assert_eq!(
        view.to_reported(CapturePoint::new(400, 300)).unwrap(),
        (1.0, 1.0).into()
    );
    assert!(view.to_reported(CapturePoint::new(399, 300)).is_err());
}

#[test]
fn a_region_that_a_model_names_is_the_pixels_it_touches() {
    let standard = SizeRule::Claude(ClaudeTier::Standard);
    let frame = CaptureSize::new(1920, 1080);
    let view = SentImage::whole(frame, standard, CoordinateConvention::SentPixels).unwrap();
    let area = |x1: f64, y1: f64, x2: f64, y2: f64| view.area((x1, y1).into(), (x2, y2).into());
    assert_eq!(
        area(0.0, 0.0, 1456.0, 819.0).unwrap(),
        CaptureRect::from_size(frame)
    );
    let part = CaptureRect::new((131, 131).into(), (396, 264).into());
    assert_eq!(area(300.0, 200.0, 100.0, 100.0).unwrap(), part);
    for (x2, y2, expected) in [
        (10.0, 500.0, "is empty"),
        (1457.0, 500.0, "outside"),
        (f64::NAN, 9.0, "outside"),
    ] {
        let refused = area(10.0, 10.0, x2, y2).unwrap_err().to_string();
        assert!(refused.contains(expected), "{refused}");
    }
}

fn ways() -> impl Strategy<Value = (SizeRule, CoordinateConvention)> {
    proptest::sample::select(CONVENTIONS.to_vec())
        .prop_map(|(_, rule, convention)| (rule, convention))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    /// Conversion back and forth stays within one unit of the coarser grid.
    #[test]
    fn pixel_round_trips_through_reported_coordinates(
        (rule, convention) in ways(),
        width in 64i32..6000,
        height in 64i32..4000,
        across in 0.0f64..1.0,
        down in 0.0f64..1.0,
    ) {
        let frame = CaptureSize::new(width, height);
        let view = SentImage::whole(frame, rule, convention).unwrap();
        let pixel = CapturePoint::new((f64::from(width) * across) as i32, (f64::from(height) * down) as i32);
        let reported = view.to_reported(pixel).unwrap();
        let found = view.to_capture(reported).unwrap();
        let units = match convention {
            CoordinateConvention::SentPixels | CoordinateConvention::ResizedPixels => view.counted().to_f64().to_tuple(),
            CoordinateConvention::Thousandths => (1000.0, 1000.0),
            CoordinateConvention::Fractions => (f64::MAX, f64::MAX),
        };
        let coarser = |side: i32, unit: f64| (f64::from(side) / unit).max(1.0);
        prop_assert!(f64::from((found.x - pixel.x).abs()) <= coarser(width, units.0), "{pixel:?} {reported:?} {found:?}");
        prop_assert!(f64::from((found.y - pixel.y).abs()) <= coarser(height, units.1), "{pixel:?} {reported:?} {found:?}");
        let again = view.to_reported(found).unwrap();
        prop_assert!((again.x - reported.x).abs() <= 1.0 && (again.y - reported.y).abs() <= 1.0, "{reported:?} {again:?}");
    }

    /// The plain proportion in the providers' documentation differs by at most one pixel of the coarser image.
    #[test]
    fn points_match_plain_proportions_within_a_pixel(
        (rule, convention) in ways(),
        width in 64i32..6000,
        height in 64i32..4000,
        across in 0.0f64..1.0,
        down in 0.0f64..1.0,
    ) {
        let view = SentImage::whole(CaptureSize::new(width, height), rule, convention).unwrap();
        let (columns, rows) = match convention {
            CoordinateConvention::SentPixels | CoordinateConvention::ResizedPixels => view.counted().to_f64().to_tuple(),
            CoordinateConvention::Thousandths => (1000.0, 1000.0),
            CoordinateConvention::Fractions => (1.0, 1.0),
        };
        let whole = |value: f64| if convention == CoordinateConvention::Fractions { value } else { value.floor() };
        let reported = ReportedPoint::new(whole(across * columns), whole(down * rows));
        let found = view.to_capture(reported).unwrap();
        let near = |found: i32, coordinate: f64, units: f64, side: i32| {
            (f64::from(found) - coordinate / units * f64::from(side)).abs() <= (f64::from(side) / units).max(1.0)
        };
        prop_assert!(near(found.x, reported.x, columns, width), "{reported:?} {found:?}");
        prop_assert!(near(found.y, reported.y, rows, height), "{reported:?} {found:?}");
    }

    /// No image is sent that its provider would downscale.
    #[test]
    fn sent_images_are_not_resized_by_the_provider(
        (rule, convention) in ways(),
        width in 1i32..16_000,
        height in 1i32..16_000,
    ) {
        let view = SentImage::whole(CaptureSize::new(width, height), rule, convention).unwrap();
        let sent = view.sent();
        prop_assert!(sent.width <= width as u32 && sent.height <= height as u32 || rule.resized_size(sent) == sent);
        let again = rule.sent_size(CaptureSize::new(sent.width as i32, sent.height as i32));
        prop_assert_eq!(again, sent);
    }
}
