//! Benchmarks of imaging on one 1920×1080 frame. Run: `cargo bench -p motorium-imaging`.
//!
//! The frame is synthetic, so results are comparable between machines: windows, lines of text-like strokes and a
//! gradient. The second frame differs by one typed line.

use divan::counter::ItemsCount;
use divan::{Bencher, black_box};
use image::{Rgba, RgbaImage};
use motorium_imaging::codec::{decode, encode, refill_from_bgrx};
use motorium_imaging::difference::{CompareOptions, compare};
use motorium_imaging::grey::GreyFrame;
use motorium_imaging::marks::{Mark, draw};
use motorium_imaging::resize::render;
use motorium_imaging::space::{ImageSize, ModelRect, ModelSpace};
use motorium_proto::domain::frame::ImageContent;
use motorium_proto::domain::geometry::{CaptureSize, ModelPoint};
use motorium_proto::domain::id::ElementId;
use motorium_proto::service::ImageFormat;

const WIDTH: u32 = 1920;
const HEIGHT: u32 = 1080;

fn main() {
    divan::main();
}

/// Draws a desktop: a gradient behind a window full of lines.
fn desktop() -> RgbaImage {
    RgbaImage::from_fn(WIDTH, HEIGHT, |x, y| {
        let in_window = (100..1500).contains(&x) && (60..1000).contains(&y);
        if !in_window {
            return Rgba([(y / 8) as u8, 60, 90 + (y / 12) as u8, 255]);
        }
        if is_stroke(x, y) {
            Rgba([30, 30, 30, 255])
        } else {
            Rgba([250, 250, 250, 255])
        }
    })
}

/// Returns whether a pixel belongs to a letter stroke: lines of 14 pixels every 24, with words of different lengths.
fn is_stroke(x: u32, y: u32) -> bool {
    let (line, row) = (y / 24, y % 24);
    let word = (x / 9)
        .wrapping_mul(2_654_435_761)
        .wrapping_add(line.wrapping_mul(40_503))
        >> 13;
    (5..19).contains(&row)
        && !word.is_multiple_of(5)
        && (x.wrapping_mul(word | 1) >> 2)
            .wrapping_add(row / 3)
            .is_multiple_of(4)
}

/// Draws the same desktop after a line was typed.
fn typed() -> RgbaImage {
    let mut pixels = desktop();
    for y in 700..714 {
        for x in 300..700 {
            pixels.put_pixel(
                x,
                y,
                if x % 5 < 2 {
                    Rgba([0, 0, 0, 255])
                } else {
                    Rgba([255, 255, 255, 255])
                },
            );
        }
    }
    pixels
}

#[divan::bench]
fn grey(bencher: Bencher<'_, '_>) {
    let pixels = desktop();
    bencher
        .counter(ItemsCount::new(WIDTH * HEIGHT))
        .bench_local(|| GreyFrame::from_rgba(black_box(&pixels)));
}

/// Fraction and regions of two images.
#[divan::bench(args = ["unchanged", "typed line", "everything"])]
fn difference(bencher: Bencher<'_, '_>, what: &str) {
    let before = desktop();
    let after = match what {
        "unchanged" => before.clone(),
        "typed line" => typed(),
        _ => RgbaImage::from_pixel(WIDTH, HEIGHT, Rgba([140, 0, 140, 255])),
    };
    bencher.bench(|| {
        compare(
            black_box(&before),
            black_box(&after),
            &CompareOptions::default(),
        )
    });
}

#[divan::bench]
fn bgrx_to_rgba(bencher: Bencher<'_, '_>) {
    let data = desktop().into_raw();
    let mut pixels = RgbaImage::new(WIDTH, HEIGHT);
    bencher.bench_local(|| refill_from_bgrx(&mut pixels, black_box(&data), WIDTH as usize * 4));
}

#[divan::bench(args = [ImageFormat::Png, ImageFormat::WebpLossless, ImageFormat::Jpeg { quality: 80 }])]
fn encoding(bencher: Bencher<'_, '_>, format: ImageFormat) {
    let pixels = desktop();
    bencher.bench(|| encode(black_box(&pixels), format));
}

#[divan::bench(args = [ImageFormat::Png, ImageFormat::WebpLossless])]
fn decoding(bencher: Bencher<'_, '_>, format: ImageFormat) {
    let ImageContent::Bytes(data) = encode(&desktop(), format)
        .expect("the desktop can be encoded")
        .content
    else {
        unreachable!("encoding gives bytes");
    };
    bencher.bench(|| decode(black_box(&data)));
}

#[divan::bench]
fn resize_to_1280(bencher: Bencher<'_, '_>) {
    let pixels = desktop();
    let frame = CaptureSize::new(WIDTH as i32, HEIGHT as i32);
    let space =
        ModelSpace::whole(frame, ImageSize::new(1280, 720)).expect("both sizes have an inside");
    bencher.bench(|| render(black_box(&pixels), &space));
}

/// Drawing of 150 numbered boxes around close lines, without copying the image.
#[divan::bench]
fn drawing_150_marks(bencher: Bencher<'_, '_>) {
    let lines = (0..150).map(|index| {
        let corner = ModelPoint::new(
            f64::from(110 + index % 4 * 340),
            f64::from(64 + index / 4 * 24),
        );
        Mark {
            id: ElementId(index + 1),
            bounds: ModelRect::from_origin_and_size(corner, euclid::size2(300.0, 23.0)),
        }
    });
    let (lines, pixels): (Vec<Mark>, _) = (lines.collect(), desktop());
    bencher
        .with_inputs(|| pixels.clone())
        .bench_local_values(|mut image| draw(&mut image, black_box(&lines)));
}
