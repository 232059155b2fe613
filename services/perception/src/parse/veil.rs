//! What lies behind a veil.
//!
//! A dialog that has to be answered first often dims what is behind it, and takes its clicks. A network that sees no
//! further than some hundred pixels finds the controls there as if one could act on them: 281 cells of a spreadsheet
//! behind one dialog, on a screen that the detector is judged by.
//!
//! A veil lets a part of the contrast through. So if around a dialog there is much to see and nothing of it is nearly as
//! bright as the dialog is (a dark veil), or as dark (a light one), the controls there are out of reach. What stands
//! over the veil, a menu or the pointer, is not; nor is what lies beyond it: other windows, the head of the browser.
//!
//! What it does not do: it does not remove text, which can still be read; and a veil so thin that one could overlook it
//! stays unseen. Pure. `training/detector/veil.py` does the same for what is measured there; the constants were
//! chosen on 330 training screens: of 625 boxes that stand for nothing on screens with a dialog 121 go, and of
//! those that stand for something none.

use std::sync::Arc;

use euclid::default::{Box2D, Point2D};
use image::RgbaImage;
use motorium_imaging::difference::GreyFrame;
use motorium_proto::domain::element::ElementKind;
use motorium_proto::domain::geometry::{CapturePoint, CaptureRect};

use super::detect::Detection;

/// Brightness between the darkest and the brightest of a dialog, of 255: with less one cannot say what is dim.
const CONTRAST: u8 = 140;

/// Share of a dialog's brightness that a dark veil lets through at most. Usual ones let 0.4 to 0.6 through.
const THROUGH_DARK: f64 = 0.68;
/// The same of a light veil, on the negative. Light pages without one have grey text, so it is less.
const THROUGH_LIGHT: f64 = 0.4;

/// Side of a tile in pixels.
const TILE: i32 = 16;
/// Pixels around a dialog that say nothing: its shadow, and what its box misses.
const SURROUNDINGS: i32 = 40;
/// Pixels at the rim of a dialog's box that need not be its own.
const RIM: i32 = 6;
/// A veil goes on over a row or column of tiles of which no more than this share is bright; menus stand over veils.
const MOST_BRIGHT: f64 = 0.3;
/// So many bright tiles are a pointer.
const POINTER: usize = 2;
/// Brightness within a tile from which on something is to be seen on it.
const SOMETHING: u8 = 24;
/// Tiles with something on them that it takes to judge.
const LEAST_SEEN: usize = 24;
/// Share of those that may be bright.
const MOST_SEEN_BRIGHT: f64 = 0.12;
/// Controls that it takes to judge.
const LEAST_CONTROLS: usize = 4;
/// Share of the controls around the dialog that have to be dim.
const MOSTLY: f64 = 0.66;

/// Those of `detections`, found on `pixels`, that no veil lies over.
pub(super) fn without_veiled(pixels: &RgbaImage, detections: Arc<[Detection]>) -> Arc<[Detection]> {
    let dialogs: Vec<CaptureRect> = detections
        .iter()
        .filter(|found| found.kind == ElementKind::Dialog)
        .map(|found| found.bounds)
        .collect();
    if dialogs.is_empty() || detections.len() < LEAST_CONTROLS {
        return detections;
    }
    let mut veiled = vec![false; detections.len()];
    let mut look = |brightness: &Brightness, through: f64| {
        for &dialog in &dialogs {
            for index in behind(brightness, dialog, through, &detections) {
                veiled[index] = true;
            }
        }
    };
    let mut brightness = Brightness::of(&GreyFrame::of(pixels));
    look(&brightness, THROUGH_DARK);
    // On the negative a light veil is a dark one.
    brightness.invert();
    look(&brightness, THROUGH_LIGHT);
    if !veiled.contains(&true) {
        return detections;
    }
    let seen = detections.iter().zip(veiled);
    seen.filter(|(_, veiled)| !veiled)
        .map(|(found, _)| found.clone())
        .collect()
}

/// Indices of the detections behind the veil that is around the dialog, if there is one.
fn behind(
    brightness: &Brightness,
    dialog: CaptureRect,
    through: f64,
    detections: &[Detection],
) -> Vec<usize> {
    let inside = dialog.inflate(-RIM, -RIM);
    let (darkest, brightest) = (
        brightness.at_share(inside, 0.005),
        brightness.at_share(inside, 0.995),
    );
    if brightest.saturating_sub(darkest) < CONTRAST {
        return Vec::new();
    }
    let limit = (through * f64::from(brightest)) as u8;
    let hole = brightness.tiles_under(dialog.inflate(SURROUNDINGS, SURROUNDINGS));
    let veil = brightness.grown(hole, limit);
    if !brightness.is_dim_around(hole, veil, limit) {
        return Vec::new();
    }
    let around: Vec<usize> = (0..detections.len())
        .filter(|&index| {
            let middle = detections[index].bounds.center();
            veil.contains(tile_of(middle)) && !dialog.contains(middle)
        })
        .collect();
    let is_dim = |&index: &usize| brightness.at_share(detections[index].bounds, 0.98) <= limit;
    let dim: Vec<usize> = around.iter().copied().filter(is_dim).collect();
    let are_enough =
        dim.len() >= LEAST_CONTROLS && dim.len() as f64 >= MOSTLY * around.len() as f64;
    if are_enough { dim } else { Vec::new() }
}

/// Tiles of a picture, counted from its upper left corner; `max` is the first outside.
type Tiles = Box2D<i32>;

fn tile_of(pixel: CapturePoint) -> Point2D<i32> {
    Point2D::new(pixel.x.div_euclid(TILE), pixel.y.div_euclid(TILE))
}

/// How bright a picture is, pixel by pixel and tile by tile.
struct Brightness {
    width: usize,
    pixels: Vec<u8>,
    across: usize,
    /// The darkest and the brightest of each tile, row by row.
    extremes: Vec<(u8, u8)>,
    whole: CaptureRect,
}

impl Brightness {
    fn of(frame: &GreyFrame) -> Self {
        let whole = CaptureRect::from_size(frame.size());
        let (width, tile) = (whole.width().max(0) as usize, TILE as usize);
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

    /// Becomes the negative.
    fn invert(&mut self) {
        for pixel in &mut self.pixels {
            *pixel = u8::MAX - *pixel;
        }
        for (darkest, brightest) in &mut self.extremes {
            (*darkest, *brightest) = (u8::MAX - *brightest, u8::MAX - *darkest);
        }
    }

    /// The brightness that `share` of the pixels in a part do not exceed; 0 where there is no part.
    fn at_share(&self, part: CaptureRect, share: f64) -> u8 {
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

    /// Those that a part lies on.
    fn tiles_under(&self, part: CaptureRect) -> Tiles {
        let last = tile_of(part.max + euclid::vec2(TILE - 1, TILE - 1));
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

    /// The rectangle around `hole` over which nearly nothing is brighter than `limit`.
    fn grown(&self, hole: Tiles, limit: u8) -> Tiles {
        let may_go_on = |strip: Tiles| {
            let bright = |(_, (_, brightest)): &(_, (_, u8))| *brightest > limit;
            let bright = self.extremes_of(strip).filter(bright).count();
            bright <= POINTER || bright as f64 <= MOST_BRIGHT * f64::from(strip.area())
        };
        let mut veil = hole;
        loop {
            let before = veil;
            for side in SIDES {
                let strip = side(veil);
                if self.all_tiles().contains_box(&strip) && may_go_on(strip) {
                    veil = veil.union(&strip);
                }
            }
            if veil == before {
                return veil;
            }
        }
    }

    /// Whether there is enough to be seen on the veil, and next to nothing of it bright.
    fn is_dim_around(&self, hole: Tiles, veil: Tiles, limit: u8) -> bool {
        let seen: Vec<bool> = self
            .extremes_of(veil)
            .filter(|(tile, _)| !hole.contains(*tile))
            .filter(|(_, (darkest, brightest))| brightest - darkest >= SOMETHING)
            .map(|(_, (_, brightest))| brightest > limit)
            .collect();
        let bright = seen.iter().filter(|bright| **bright).count();
        seen.len() >= LEAST_SEEN && bright as f64 <= MOST_SEEN_BRIGHT * seen.len() as f64
    }
}

/// The strip of tiles beside a rectangle, on each side.
const SIDES: [fn(Tiles) -> Tiles; 4] = [
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

    fn at(x: i32, y: i32, width: i32, height: i32) -> CaptureRect {
        CaptureRect::new(
            CapturePoint::new(x, y),
            CapturePoint::new(x + width, y + height),
        )
    }

    /// A picture of boxes with some words on each.
    struct Page {
        pixels: RgbaImage,
        detections: Vec<Detection>,
    }

    impl Page {
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

        /// A control with words in `ink`.
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

        /// Over what is inside, as a share of what is seen.
        fn veil(&mut self, part: CaptureRect, shade: u8, share: f64) {
            for y in part.y_range() {
                for x in part.x_range() {
                    let under = self.pixels.get_pixel(x as u32, y as u32).0[0];
                    let mixed = f64::from(shade) * share + f64::from(under) * (1.0 - share);
                    self.pixels.put_pixel(x as u32, y as u32, grey(mixed as u8));
                }
            }
        }

        /// What is covered is not seen.
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

        /// How many there are, and how many of them are in reach.
        fn count(self) -> (usize, usize) {
            let all = self.detections.len();
            let left = without_veiled(&self.pixels, self.detections.into());
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
    fn behind_a_dark_veil_and_a_light_one_only_the_dialog_is_in_reach() {
        for (paper, ink, shade, share) in [
            (PAPER, INK, 0, 0.5),
            (PAPER, INK, 0, 0.4),
            (INK, PAPER, 0, 0.6),
            (PAPER, INK, 255, 0.7),
            (PAPER, INK, 40, 0.6),
        ] {
            let mut page = Page::new(paper);
            page.buttons(0..18, paper, ink);
            page.veil(whole(), shade, share);
            page.dialog(dialog());
            let (all, left) = page.count();
            assert!(all > 100);
            assert_eq!(left, 2, "{shade} {share}");
        }
    }

    #[test]
    fn around_a_dialog_without_a_veil_everything_is_in_reach() {
        for (paper, ink) in [(PAPER, INK), (INK, PAPER), (PAPER, 100), (60, 200)] {
            let mut page = Page::new(paper);
            page.buttons(0..18, paper, ink);
            page.dialog(dialog());
            let (all, left) = page.count();
            assert_eq!(left, all, "{paper} {ink}");
        }
    }

    #[test]
    fn what_stands_over_a_veil_or_beyond_it_is_in_reach() {
        let mut page = Page::new(PAPER);
        page.buttons(0..18, PAPER, INK);
        // The head of the browser has no veil, and over it stand a menu and a pointer.
        page.veil(at(0, 100, 1280, 700), 0, 0.5);
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
    fn nearly_nothing_to_be_seen_is_no_veil() {
        let mut page = Page::new(120);
        page.control(at(20, 20, 100, 24), 120, 100, ElementKind::Button);
        page.dialog(dialog());
        assert_eq!(page.count(), (3, 3));
        // Nor does a picture without a dialog have one, or one with a dialog over all of it.
        let mut page = Page::new(120);
        page.buttons(0..18, 120, 90);
        assert_eq!(page.count(), (162, 162));
        let mut page = Page::new(PAPER);
        page.dialog(whole());
        page.buttons(0..18, PAPER, INK);
        assert_eq!(page.count(), (2 + 162, 2 + 162));
    }
}
