//! Detects controls that the backdrop of a modal dialog blocks.
//!
//! A modal dialog often dims the page behind it and takes its clicks. The detector sees only a few hundred pixels of
//! context and reports the controls there as usable: 281 cells of a spreadsheet behind one dialog on one evaluation
//! screen.
//!
//! A backdrop lets only a part of the contrast through. If there is enough content around a dialog and none of it is
//! nearly as bright as the dialog (dark backdrop), or as dark (light backdrop), the controls there are blocked.
//! Elements above the backdrop (a menu, the pointer) and beyond it (other windows, the browser's toolbar) are not.
//!
//! Text behind a backdrop is kept, because it can still be read. A barely visible backdrop is not detected. Pure.
//! The constants were chosen on 330 training screens: on screens with a dialog they remove 121 of 625 false positives
//! and no true positive.

use std::sync::Arc;

use euclid::default::{Box2D, Point2D};
use image::RgbaImage;
use motorium_imaging::grey::GreyFrame;
use motorium_proto::domain::element::ElementKind;
use motorium_proto::domain::geometry::{CapturePoint, CaptureRect};

use super::detect::Detection;

/// Minimum difference between the darkest and the brightest pixel of a dialog, of 255. With less contrast, "dim" is
/// undefined.
const MIN_DIALOG_CONTRAST: u8 = 140;

/// Maximum fraction of the dialog's brightness behind a dark backdrop. Usual backdrops let 0.4 to 0.6 through.
const MAX_DARK_TRANSMISSION: f64 = 0.68;
/// Maximum fraction of the dialog's brightness behind a light backdrop, on the inverted image. Lower, because light
/// pages without a backdrop have grey text.
const MAX_LIGHT_TRANSMISSION: f64 = 0.4;

/// Side of a tile in pixels. Small enough to separate lines of text, large enough to be cheap.
const TILE_SIZE: i32 = 16;
/// Margin around a dialog that is ignored, in pixels: its shadow, and the error of its box.
const DIALOG_MARGIN: i32 = 40;
/// Inset of a dialog's box in pixels; the border may belong to the page.
const DIALOG_INSET: i32 = 6;
/// Maximum fraction of bright tiles in a row or column into which the backdrop is extended. Not 0, because menus can be
/// above a backdrop.
const MAX_BRIGHT_STRIP: f64 = 0.3;
/// Number of bright tiles that a mouse pointer can cause.
const POINTER_TILES: usize = 2;
/// Minimum contrast within a tile that counts as content.
// Grey text behind a backdrop has more; gradients and noise have less.
const MIN_TILE_CONTRAST: u8 = 24;
/// Minimum number of content tiles for a decision.
// With less content, a dark empty page looks like a backdrop.
const MIN_CONTENT_TILES: usize = 24;
/// Maximum fraction of bright content tiles behind a backdrop.
// Above 0, because menus and notifications lie above a backdrop.
const MAX_BRIGHT_CONTENT: f64 = 0.12;
/// Minimum number of controls for a decision.
// With fewer, one wrong detection decides.
const MIN_CONTROLS: usize = 4;
/// Minimum fraction of dim controls around the dialog.
// Two thirds: some controls around a dialog belong to other windows.
const MIN_DIM_FRACTION: f64 = 0.66;

/// Removes the detections on `pixels` that a backdrop blocks. Those with less confidence than `min_confidence` are
/// removed like the others, but are not evidence for a backdrop.
pub(super) fn without_obscured(
    pixels: &RgbaImage,
    detections: Arc<[Detection]>,
    min_confidence: f32,
) -> Arc<[Detection]> {
    let dialogs: Vec<CaptureRect> = detections
        .iter()
        .filter(|found| found.kind == ElementKind::Dialog && found.confidence >= min_confidence)
        .map(|found| found.bounds)
        .collect();
    if dialogs.is_empty() || detections.len() < MIN_CONTROLS {
        return detections;
    }
    let mut obscured = vec![false; detections.len()];
    let mut look = |brightness: &LumaTiles, through: f64| {
        for &dialog in &dialogs {
            let backdrop = Backdrop { dialog, through };
            for index in obscured_by(brightness, &backdrop, &detections, min_confidence) {
                obscured[index] = true;
            }
        }
    };
    let mut brightness = LumaTiles::from_frame(&GreyFrame::from_rgba(pixels));
    look(&brightness, MAX_DARK_TRANSMISSION);
    // In the inverted image a light backdrop is a dark one.
    brightness.invert();
    look(&brightness, MAX_LIGHT_TRANSMISSION);
    if !obscured.contains(&true) {
        return detections;
    }
    let seen = detections.iter().zip(obscured);
    seen.filter(|(_, obscured)| !obscured)
        .map(|(found, _)| found.clone())
        .collect()
}

/// Possible backdrop around a dialog.
struct Backdrop {
    dialog: CaptureRect,
    /// Maximum fraction of the dialog's brightness behind it.
    through: f64,
}

/// Returns the indices of the detections blocked by a backdrop, if it exists.
fn obscured_by(
    brightness: &LumaTiles,
    &Backdrop { dialog, through }: &Backdrop,
    detections: &[Detection],
    min_confidence: f32,
) -> Vec<usize> {
    let inside = dialog.inflate(-DIALOG_INSET, -DIALOG_INSET);
    // Quantiles instead of extremes: single outlier pixels must not decide.
    let (darkest, brightest) = (
        brightness.quantile(inside, 0.005),
        brightness.quantile(inside, 0.995),
    );
    if brightest.saturating_sub(darkest) < MIN_DIALOG_CONTRAST {
        return Vec::new();
    }
    let limit = (through * f64::from(brightest)) as u8;
    let hole = brightness.tiles_under(dialog.inflate(DIALOG_MARGIN, DIALOG_MARGIN));
    let backdrop = brightness.grow(hole, limit);
    if !brightness.is_dim_around(hole, backdrop, limit) {
        return Vec::new();
    }
    let around: Vec<usize> = (0..detections.len())
        .filter(|&index| {
            let middle = detections[index].bounds.center();
            backdrop.contains(tile_of(middle)) && !dialog.contains(middle)
        })
        .collect();
    // A quantile for a control as well: 2 % of its pixels may be brighter, so that a pointer above it or a box that
    // reaches slightly too far does not decide. A higher share would take bright controls with little text for dimmed
    // ones.
    let is_dim = |&index: &usize| brightness.quantile(detections[index].bounds, 0.98) <= limit;
    let dim: Vec<usize> = around.iter().copied().filter(is_dim).collect();
    let is_evidence = |index: &&usize| detections[**index].confidence >= min_confidence;
    let [dim_evidence, all_evidence] =
        [&dim, &around].map(|found| found.iter().filter(is_evidence).count());
    let are_enough = dim_evidence >= MIN_CONTROLS
        && dim_evidence as f64 >= MIN_DIM_FRACTION * all_evidence as f64;
    if are_enough { dim } else { Vec::new() }
}

/// Tiles of an image, counted from its upper left corner; `max` is exclusive.
type Tiles = Box2D<i32>;

fn tile_of(pixel: CapturePoint) -> Point2D<i32> {
    Point2D::new(pixel.x.div_euclid(TILE_SIZE), pixel.y.div_euclid(TILE_SIZE))
}

/// Brightness of an image, per pixel and per tile.
struct LumaTiles {
    width: usize,
    pixels: Vec<u8>,
    across: usize,
    /// Minimum and maximum brightness of each tile, row by row.
    extremes: Vec<(u8, u8)>,
    whole: CaptureRect,
}

impl LumaTiles {
    fn from_frame(frame: &GreyFrame) -> Self {
        let whole = CaptureRect::from_size(frame.size());
        let (width, tile) = (whole.width().max(0) as usize, TILE_SIZE as usize);
        let across = width.div_ceil(tile);
        let mut extremes = Vec::with_capacity(across * whole.height().max(0) as usize / tile);
        for rows in frame.luma().chunks(width.max(1) * tile) {
            let mut row_of_tiles = vec![(u8::MAX, u8::MIN); across];
            for row in rows.chunks(width.max(1)) {
                for ((darkest, brightest), pixels) in row_of_tiles.iter_mut().zip(row.chunks(tile))
                {
                    for &pixel in pixels {
                        *darkest = pixel.min(*darkest);
                        *brightest = pixel.max(*brightest);
                    }
                }
            }
            extremes.append(&mut row_of_tiles);
        }
        Self {
            width,
            pixels: frame.luma().to_vec(),
            across,
            extremes,
            whole,
        }
    }

    /// Inverts the brightness.
    fn invert(&mut self) {
        for pixel in &mut self.pixels {
            *pixel = u8::MAX - *pixel;
        }
        for (darkest, brightest) in &mut self.extremes {
            (*darkest, *brightest) = (u8::MAX - *brightest, u8::MAX - *darkest);
        }
    }

    /// Returns the brightness quantile `share` of a region; 0 if the region is outside the image.
    fn quantile(&self, part: CaptureRect, share: f64) -> u8 {
        let Some(part) = part.intersection(&self.whole) else {
            return 0;
        };
        let mut counts = [0u32; 256];
        for y in part.y_range() {
            let row = y as usize * self.width;
            for &pixel in &self.pixels[row + part.min.x as usize..row + part.max.x as usize] {
                counts[usize::from(pixel)] += 1;
            }
        }
        let wanted = share * f64::from(part.area());
        let mut counted = 0;
        let reaches = |count: &u32| {
            counted += count;
            f64::from(counted) >= wanted
        };
        counts.iter().position(reaches).unwrap_or(255) as u8
    }

    fn all_tiles(&self) -> Tiles {
        let down = self.extremes.len() / self.across.max(1);
        Tiles::new(
            Point2D::zero(),
            Point2D::new(self.across as i32, down as i32),
        )
    }

    /// Returns the tiles that a region touches.
    fn tiles_under(&self, part: CaptureRect) -> Tiles {
        let last = tile_of(part.max + euclid::vec2(TILE_SIZE - 1, TILE_SIZE - 1));
        Tiles::new(tile_of(part.min), last).intersection_unchecked(&self.all_tiles())
    }

    fn extremes_of(&self, tiles: Tiles) -> impl Iterator<Item = (Point2D<i32>, (u8, u8))> {
        tiles.y_range().flat_map(move |y| {
            tiles.x_range().map(move |x| {
                let index = y as usize * self.across + x as usize;
                (Point2D::new(x, y), self.extremes[index])
            })
        })
    }

    /// Grows `hole` to the largest rectangle in which almost nothing is brighter than `limit`.
    fn grow(&self, hole: Tiles, limit: u8) -> Tiles {
        let may_go_on = |strip: Tiles| {
            let bright = |(_, (_, brightest)): &(_, (_, u8))| *brightest > limit;
            let bright = self.extremes_of(strip).filter(bright).count();
            bright <= POINTER_TILES || bright as f64 <= MAX_BRIGHT_STRIP * f64::from(strip.area())
        };
        let mut grown = hole;
        loop {
            let before = grown;
            for side in ADJACENT_STRIPS {
                let strip = side(grown);
                if self.all_tiles().contains_box(&strip) && may_go_on(strip) {
                    grown = grown.union(&strip);
                }
            }
            if grown == before {
                return grown;
            }
        }
    }

    /// Returns whether the backdrop has enough content and almost none of it is bright.
    fn is_dim_around(&self, hole: Tiles, backdrop: Tiles, limit: u8) -> bool {
        let seen: Vec<bool> = self
            .extremes_of(backdrop)
            .filter(|(tile, _)| !hole.contains(*tile))
            .filter(|(_, (darkest, brightest))| brightest - darkest >= MIN_TILE_CONTRAST)
            .map(|(_, (_, brightest))| brightest > limit)
            .collect();
        let bright = seen.iter().filter(|bright| **bright).count();
        seen.len() >= MIN_CONTENT_TILES && bright as f64 <= MAX_BRIGHT_CONTENT * seen.len() as f64
    }
}

/// Functions that return the strip of tiles adjacent to a rectangle, one per side.
const ADJACENT_STRIPS: [fn(Tiles) -> Tiles; 4] = [
    |of| {
        Tiles::new(
            of.min - euclid::vec2(1, 0),
            Point2D::new(of.min.x, of.max.y),
        )
    },
    |of| {
        Tiles::new(
            of.min - euclid::vec2(0, 1),
            Point2D::new(of.max.x, of.min.y),
        )
    },
    |of| {
        Tiles::new(
            Point2D::new(of.max.x, of.min.y),
            of.max + euclid::vec2(1, 0),
        )
    },
    |of| {
        Tiles::new(
            Point2D::new(of.min.x, of.max.y),
            of.max + euclid::vec2(0, 1),
        )
    },
];

#[cfg(test)]
mod tests {
    use image::Rgba;

    use super::*;

    const INK: u8 = 20;
    const PAPER: u8 = 250;
    const MIN_CONFIDENCE: f32 = 0.22;

    fn at(x: i32, y: i32, width: i32, height: i32) -> CaptureRect {
        CaptureRect::new(
            CapturePoint::new(x, y),
            CapturePoint::new(x + width, y + height),
        )
    }

    /// Test image of controls with texts.
    struct TestPage {
        pixels: RgbaImage,
        detections: Vec<Detection>,
    }

    impl TestPage {
        fn new(paper: u8) -> Self {
            Self {
                pixels: RgbaImage::from_pixel(1280, 800, grey(paper)),
                detections: Vec::new(),
            }
        }

        fn fill(&mut self, part: CaptureRect, shade: u8) {
            for y in part.y_range() {
                for x in part.x_range() {
                    self.pixels.put_pixel(x as u32, y as u32, grey(shade));
                }
            }
        }

        /// Draws a control with text in colour `ink`.
        fn control(&mut self, bounds: CaptureRect, paper: u8, ink: u8, kind: ElementKind) {
            self.fill(bounds, paper);
            for x in (bounds.min.x + 8..bounds.max.x - 8).step_by(6) {
                self.fill(at(x, bounds.min.y + 6, 3, 10), ink);
            }
            self.detections.push(Detection::new(bounds, kind, 0.8));
        }

        fn buttons(&mut self, rows: std::ops::Range<i32>, paper: u8, ink: u8) {
            for row in rows {
                for column in 0..9 {
                    let bounds = at(20 + column * 140, 20 + row * 40, 100, 24);
                    self.control(bounds, paper, ink, ElementKind::Button);
                }
            }
        }

        /// Draws a backdrop over a region with opacity `share`.
        fn backdrop(&mut self, part: CaptureRect, shade: u8, share: f64) {
            for y in part.y_range() {
                for x in part.x_range() {
                    let under = self.pixels.get_pixel(x as u32, y as u32).0[0];
                    let mixed = f64::from(shade) * share + f64::from(under) * (1.0 - share);
                    self.pixels.put_pixel(x as u32, y as u32, grey(mixed as u8));
                }
            }
        }

        /// Removes the detections that a box covers.
        fn cover(&mut self, bounds: CaptureRect) {
            self.detections
                .retain(|found| !found.bounds.intersects(&bounds));
        }

        fn dialog(&mut self, bounds: CaptureRect) {
            self.cover(bounds);
            self.control(bounds, PAPER, INK, ElementKind::Dialog);
            let answer = at(bounds.max.x - 120, bounds.max.y - 40, 100, 24);
            self.control(answer, PAPER, INK, ElementKind::Button);
        }

        /// Returns the number of detections before and after filtering.
        fn count(self) -> (usize, usize) {
            let all = self.detections.len();
            let left = without_obscured(&self.pixels, self.detections.into(), MIN_CONFIDENCE);
            (all, left.len())
        }
    }

    fn grey(shade: u8) -> Rgba<u8> {
        Rgba([shade, shade, shade, 255])
    }

    fn whole() -> CaptureRect {
        at(0, 0, 1280, 800)
    }

    fn dialog() -> CaptureRect {
        at(440, 300, 400, 200)
    }

    #[test]
    fn only_the_dialog_is_reachable_above_a_backdrop() {
        for (paper, ink, shade, share) in [
            (PAPER, INK, 0, 0.5),
            (PAPER, INK, 0, 0.4),
            (INK, PAPER, 0, 0.6),
            (PAPER, INK, 255, 0.7),
            (PAPER, INK, 40, 0.6),
        ] {
            let mut page = TestPage::new(paper);
            page.buttons(0..18, paper, ink);
            page.backdrop(whole(), shade, share);
            page.dialog(dialog());
            let (all, left) = page.count();
            assert!(all > 100);
            assert_eq!(left, 2, "{shade} {share}");
        }
    }

    #[test]
    fn all_elements_are_reachable_without_a_backdrop() {
        for (paper, ink) in [(PAPER, INK), (INK, PAPER), (PAPER, 100), (60, 200)] {
            let mut page = TestPage::new(paper);
            page.buttons(0..18, paper, ink);
            page.dialog(dialog());
            let (all, left) = page.count();
            assert_eq!(left, all, "{paper} {ink}");
        }
    }

    #[test]
    fn elements_above_or_outside_a_backdrop_are_reachable() {
        let mut page = TestPage::new(PAPER);
        page.buttons(0..18, PAPER, INK);
        // The toolbar of the browser has no backdrop; a menu and a pointer are above the backdrop.
        page.backdrop(at(0, 100, 1280, 700), 0, 0.5);
        page.dialog(dialog());
        page.cover(at(860, 300, 160, 6 * 26));
        for entry in 0..6 {
            let bounds = at(860, 300 + entry * 26, 160, 26);
            page.control(bounds, PAPER, INK, ElementKind::MenuItem);
        }
        page.fill(at(136, 600, 16, 20), 255);
        let (all, left) = page.count();
        assert!(all > 100);
        assert_eq!(left, 2 * 9 + 2 + 6);
    }

    #[test]
    fn uncertain_detections_do_not_indicate_a_backdrop() {
        let page = |dialog_confidence: f32, confidence_behind: f32| {
            let mut page = TestPage::new(PAPER);
            page.buttons(0..18, PAPER, INK);
            page.backdrop(whole(), 0, 0.5);
            page.dialog(dialog());
            let behind = page.detections.len() - 2;
            for found in &mut page.detections[4..behind] {
                found.confidence = confidence_behind;
            }
            page.detections[behind].confidence = dialog_confidence;
            page.count()
        };
        let below = MIN_CONFIDENCE - 0.01;
        // The dialog and its button stay; four confident buttons behind it are enough.
        assert_eq!(page(0.8, below).1, 2);
        // An uncertain dialog has no backdrop.
        let (all, left) = page(below, 0.8);
        assert_eq!(left, all);
        let nothing = Arc::from(Vec::<Detection>::new());
        let nothing = without_obscured(&RgbaImage::new(1, 1), nothing, MIN_CONFIDENCE);
        assert!(nothing.is_empty());
    }

    #[test]
    fn faint_content_is_not_mistaken_for_a_backdrop() {
        let mut page = TestPage::new(120);
        page.control(at(20, 20, 100, 24), 120, 100, ElementKind::Button);
        page.dialog(dialog());
        assert_eq!(page.count(), (3, 3));
        // An image without a dialog has no backdrop, nor has one that a dialog fills.
        let mut page = TestPage::new(120);
        page.buttons(0..18, 120, 90);
        assert_eq!(page.count(), (162, 162));
        let mut page = TestPage::new(PAPER);
        page.dialog(whole());
        page.buttons(0..18, PAPER, INK);
        assert_eq!(page.count(), (2 + 162, 2 + 162));
    }
}
