//! Tells a highlight from another content: the same shapes in other colours.
//!
//! An application highlights what the pointer is on: it tints a button, swaps its colours, underlines a link. The shapes stay, so
//! that each colour of the one image stands for one colour of the other, in both directions. A mark that comes or goes, another
//! word or another symbol breaks that: its pixels do not do what others of their colour do.
//!
//! It reads no text, and cannot know which of two recolourings is a highlight: a lamp that turns from green to red passes.

use std::collections::HashMap;

use image::{Rgba, RgbaImage};
use motorium_proto::domain::geometry::CapturePoint;

/// Maximum difference of a colour channel within one colour. A gradient differs from its middle by less, and so does an edge of a
/// letter from its neighbour in brightness.
const MAX_SHADE_DIFFERENCE: u8 = 32;
/// Width of the rim of the area in which anything may change: a focus ring or a border, and no sign that a person reads.
const RIM_PX: u32 = 2;
/// Width of the edge of the area in which a border may become another one: a detected box is a pixel or so off its control.
const EDGE_PX: usize = 3;
/// Minimum share of the width and of the height of the area that a highlight takes, in percent. The dot of a radio button and the
/// tick of a check box take half of them and less.
const MIN_SPAN_PERCENT: usize = 60;
/// Minimum share of the height for what is wider than a sign: the letters of a link, above and below which there is room.
const MIN_LINE_HEIGHT_PERCENT: usize = 40;
/// Number of pixels from which on a colour has to stand for one other colour. Edges of letters have rarer ones.
const MIN_COLOUR_PIXELS: usize = 6;
/// Maximum number of pixels that differ otherwise. No sign has so few.
const MAX_SPECKS: usize = 4;
/// Maximum number of pixels that differ otherwise in all corners of a box together: the edges of round ones, where border, box and
/// what is behind it meet.
const MAX_CORNER_SPECKS: usize = 16;
/// Maximum height of the line under a link.
const UNDERLINE_PX: usize = 3;

/// Colour channels without transparency, which screens do not have.
type Colour = [u8; 3];

/// Returns true if `part` shows the same as the part of `whole` whose upper left corner is at `corner`, in the same colours or with a
/// highlight that came or went. False if it is not within `whole`.
#[must_use]
pub fn is_same_or_highlighted(whole: &RgbaImage, corner: CapturePoint, part: &RgbaImage) -> bool {
    let (Ok(left), Ok(top)) = (u32::try_from(corner.x), u32::try_from(corner.y)) else {
        return false;
    };
    let (width, height) = part.dimensions();
    let ends_within = |start: u32, length: u32, whole: u32| {
        start.checked_add(length).is_some_and(|end| end <= whole)
    };
    if !ends_within(left, width, whole.width()) || !ends_within(top, height, whole.height()) {
        return false;
    }
    let area = Area {
        before: part_of(whole, left, top, width, height),
        now: part_of(part, 0, 0, width, height),
        width: width as usize,
        height: height as usize,
    };
    area.is_recoloured()
}

/// Two images of one area, without its rim.
struct Area {
    before: Vec<Colour>,
    now: Vec<Colour>,
    width: usize,
    height: usize,
}

/// Part of an area, from the first to the last row and column.
#[derive(Clone, Copy)]
struct Span {
    left: usize,
    top: usize,
    right: usize,
    bottom: usize,
}

impl Span {
    fn width(self) -> usize {
        self.right - self.left + 1
    }

    fn height(self) -> usize {
        self.bottom - self.top + 1
    }

    /// Returns true for a point within, and nearer than `rim` to an edge.
    fn has_in_rim(self, x: usize, y: usize, rim: usize) -> bool {
        let is_within = |rim: usize| {
            let columns = self.left + rim..(self.right + 1).saturating_sub(rim);
            let rows = self.top + rim..(self.bottom + 1).saturating_sub(rim);
            columns.contains(&x) && rows.contains(&y)
        };
        is_within(0) && !is_within(rim)
    }

    /// Returns the smallest span with these points; `None` without a point.
    fn of(points: impl Iterator<Item = (usize, usize)>) -> Option<Self> {
        points
            .map(|(x, y)| Self {
                left: x,
                top: y,
                right: x,
                bottom: y,
            })
            .reduce(|one, other| Self {
                left: one.left.min(other.left),
                top: one.top.min(other.top),
                right: one.right.max(other.right),
                bottom: one.bottom.max(other.bottom),
            })
    }
}

impl Area {
    fn is_recoloured(&self) -> bool {
        let changed: Vec<bool> = self
            .pairs()
            .map(|(before, now)| !is_same_shade(before, now))
            .collect();
        let Some(span) = Span::of(self.points_of(&changed)) else {
            return true;
        };
        let takes = |length: usize, whole: usize, percent: usize| 100 * length >= percent * whole;
        // A detected box may be larger than the control in it, and the rim of that is its border.
        let control = self.control();
        let is_in_rim = |(x, y): (usize, usize)| control.has_in_rim(x, y, RIM_PX as usize);
        if self.points_of(&changed).all(is_in_rim) {
            return true;
        }
        let is_wide = |span: Span| takes(span.width(), control.width(), MIN_SPAN_PERCENT);
        if is_wide(span) && self.is_underline(span) {
            return true;
        }
        let is_line = span.width() >= 2 * span.height();
        let min_height = match is_line {
            true => MIN_LINE_HEIGHT_PERCENT,
            false => MIN_SPAN_PERCENT,
        };
        if !is_wide(span) || !takes(span.height(), control.height(), min_height) {
            return false;
        }
        let odd = self.odd_pixels(&changed, span, control);
        let is_odd = |mask: &[bool]| mask.iter().filter(|odd| **odd).count() > MAX_SPECKS;
        if !is_odd(&odd) {
            return true;
        }
        // A link that changes its colour and is underlined as well.
        Span::of(self.points_of(&odd)).is_some_and(|odd| is_wide(odd) && self.is_underline(odd))
    }

    /// Returns the part of the area that is not a plain background around it: all of it, if there is none.
    fn control(&self) -> Span {
        let rim = RIM_PX as usize;
        let all = Span {
            left: 0,
            top: 0,
            right: self.width - 1,
            bottom: self.height - 1,
        };
        if self.width <= 2 * rim || self.height <= 2 * rim {
            return all;
        }
        let (right, bottom) = (self.width - 1 - rim, self.height - 1 - rim);
        let background = self.before[rim * self.width + rim];
        let corners = [(rim, rim), (right, rim), (rim, bottom), (right, bottom)];
        // A sign that comes is no part of the control that was shown.
        let is_plain = |index: usize| is_same_shade(self.before[index], background);
        if !corners.iter().all(|(x, y)| is_plain(y * self.width + x)) {
            return all;
        }
        let is_content: Vec<bool> = (0..self.before.len())
            .map(|index| {
                let (x, y) = (index % self.width, index / self.width);
                let is_inner = (rim..=right).contains(&x) && (rim..=bottom).contains(&y);
                is_inner && !is_plain(index)
            })
            .collect();
        Span::of(self.points_of(&is_content)).unwrap_or(all)
    }

    fn pairs(&self) -> impl Iterator<Item = (Colour, Colour)> + '_ {
        self.before.iter().copied().zip(self.now.iter().copied())
    }

    fn points_of<'a>(&self, mask: &'a [bool]) -> impl Iterator<Item = (usize, usize)> + 'a {
        let width = self.width;
        let marked = mask.iter().enumerate().filter(|(_, is_marked)| **is_marked);
        marked.map(move |(index, _)| (index % width, index / width))
    }

    /// Returns true for a line in the lower half. A minus sign or a dash in a box is higher up.
    fn is_underline(&self, span: Span) -> bool {
        span.height() <= UNDERLINE_PX && 2 * span.top >= self.height
    }

    /// Returns the pixels that do not do what the others of their colour do.
    fn odd_pixels(&self, changed: &[bool], span: Span, control: Span) -> Vec<bool> {
        let corners = self.corners(span);
        // A button that is styled under the pointer gets a border of another width. A small one is a sign itself.
        let takes = |length: usize, whole: usize| 100 * length >= MIN_SPAN_PERCENT * whole;
        let has_border = takes(control.width(), self.width) && takes(control.height(), self.height);
        let is_edge = |x: usize, y: usize| {
            let (right, bottom) = (self.width - 1 - x, self.height - 1 - y);
            x.min(y).min(right).min(bottom) < EDGE_PX
        };
        let is_border = |x: usize, y: usize| {
            is_edge(x, y) || has_border && control.has_in_rim(x, y, RIM_PX as usize)
        };
        let inside = |x: usize, y: usize| {
            let index = y * self.width + x;
            (span.left..=span.right).contains(&x)
                && (span.top..=span.bottom).contains(&y)
                && !is_border(x, y)
                // Outside of its round corners a highlighted box shows what is behind it.
                && (changed[index] || !corners[index])
        };
        let is_inside: Vec<bool> = (0..self.before.len())
            .map(|index| inside(index % self.width, index / self.width))
            .collect();
        let becomes = Recolouring::of(self.pairs(), &is_inside);
        let came_from =
            Recolouring::of(self.pairs().map(|(before, now)| (now, before)), &is_inside);
        let verdicts: Vec<Verdict> = self
            .pairs()
            .map(|(before, now)| {
                becomes
                    .judge(before, now)
                    .worse(came_from.judge(now, before))
            })
            .collect();
        let rare: Vec<bool> = verdicts
            .iter()
            .zip(changed)
            .map(|(verdict, changed)| *changed && *verdict == Verdict::Rare)
            .collect();
        let mut odd: Vec<bool> = (0..verdicts.len())
            .map(|index| match verdicts[index] {
                _ if !is_inside[index] => false,
                Verdict::Follows => false,
                Verdict::Deviates => true,
                // Edges are thin. A patch of rare colours is a photo.
                Verdict::Rare => self.is_in_patch(&rare, index),
            })
            .collect();
        let in_corners = odd
            .iter()
            .zip(&corners)
            .filter(|(odd, corner)| **odd && **corner);
        if in_corners.count() <= MAX_CORNER_SPECKS {
            odd.iter_mut()
                .zip(&corners)
                .for_each(|(odd, corner)| *odd &= !corner);
        }
        odd
    }

    /// Returns the pixels that are outside of a box with round corners, be they as round as they can.
    fn corners(&self, span: Span) -> Vec<bool> {
        let radius = span.width().min(span.height()) as f64 / 2.0;
        let is_outside = |x: usize, y: usize| {
            if x < span.left || x > span.right || y < span.top || y > span.bottom {
                return false;
            }
            // From the centre of the pixel to the nearest sides.
            let across = (x - span.left).min(span.right - x) as f64 + 0.5;
            let down = (y - span.top).min(span.bottom - y) as f64 + 0.5;
            let (across, down) = (radius - across, radius - down);
            across > 0.0 && down > 0.0 && across.hypot(down) > radius
        };
        (0..self.before.len())
            .map(|index| is_outside(index % self.width, index / self.width))
            .collect()
    }

    /// Returns true if a pixel and all around it are of rare colours.
    fn is_in_patch(&self, rare: &[bool], index: usize) -> bool {
        let (x, y) = (index % self.width, index / self.width);
        let rows = y.saturating_sub(1)..=(y + 1).min(self.height - 1);
        rows.flat_map(|row| {
            let columns = x.saturating_sub(1)..=(x + 1).min(self.width - 1);
            columns.map(move |column| (column, row))
        })
        .all(|(column, row)| rare[row * self.width + column])
    }
}

/// Relation of a pixel to the others of its colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Verdict {
    Follows,
    /// Its colour is too rare to say.
    Rare,
    Deviates,
}

impl Verdict {
    fn worse(self, other: Self) -> Self {
        self.max(other)
    }
}

/// The colour that each frequent colour of one image stands for in the other one.
struct Recolouring(HashMap<Colour, Colour>);

impl Recolouring {
    fn of(pairs: impl Iterator<Item = (Colour, Colour)>, is_inside: &[bool]) -> Self {
        let mut others: HashMap<Colour, Vec<Colour>> = HashMap::new();
        for ((colour, other), _) in pairs.zip(is_inside).filter(|(_, inside)| **inside) {
            others.entry(coarse(colour)).or_default().push(other);
        }
        let frequent = others
            .into_iter()
            .filter(|(_, others)| others.len() >= MIN_COLOUR_PIXELS);
        Self(
            frequent
                .map(|(colour, others)| (colour, median(others)))
                .collect(),
        )
    }

    fn judge(&self, colour: Colour, other: Colour) -> Verdict {
        match self.0.get(&coarse(colour)) {
            None => Verdict::Rare,
            Some(usual) if is_same_shade(*usual, other) => Verdict::Follows,
            Some(_) => Verdict::Deviates,
        }
    }
}

/// Returns the colour in 16 steps of each channel: fewer would mix text with its background, more would leave every edge alone.
fn coarse(colour: Colour) -> Colour {
    colour.map(|channel| channel >> 4)
}

fn median(mut colours: Vec<Colour>) -> Colour {
    let middle = colours.len() / 2;
    let mut of_channel = |channel: usize| {
        colours.select_nth_unstable_by_key(middle, |colour| colour[channel]);
        colours[middle][channel]
    };
    [of_channel(0), of_channel(1), of_channel(2)]
}

fn is_same_shade(one: Colour, other: Colour) -> bool {
    let differs = |(one, other): (u8, u8)| one.abs_diff(other) > MAX_SHADE_DIFFERENCE;
    !one.into_iter().zip(other).any(differs)
}

/// Returns the pixels of a part of an image. Those of its rim are black.
fn part_of(image: &RgbaImage, left: u32, top: u32, width: u32, height: u32) -> Vec<Colour> {
    let is_inner = |at: u32, length: u32| at >= RIM_PX && at + RIM_PX < length;
    let pixels = (0..height).flat_map(|y| (0..width).map(move |x| (x, y)));
    pixels
        .map(|(x, y)| {
            let Rgba([red, green, blue, _]) = *image.get_pixel(left + x, top + y);
            match is_inner(x, width) && is_inner(y, height) {
                true => [red, green, blue],
                false => [0; 3],
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use image::imageops;

    use super::*;
    use crate::codec;

    /// Size of a cell of the sheet.
    const CELL: (u32, u32) = (180, 60);

    /// Returns a cell of the sheet of controls, as Chromium draws them: as they are, under the pointer, and another control under
    /// the pointer.
    fn cell(column: u32, row: u32) -> RgbaImage {
        let sheet = codec::decode(include_bytes!("../fixtures/highlights.png")).unwrap();
        let (width, height) = CELL;
        imageops::crop_imm(&sheet, column * width, row * height, width, height).to_image()
    }

    /// A plain button of Chromium: its border darkens under the pointer, and edges of its letters have the grey that it had.
    #[test]
    fn border_that_darkens_is_a_highlight_and_a_mark_is_none() {
        let button = |border: u8, has_mark: bool| {
            RgbaImage::from_fn(55, 38, |x, y| {
                let is_out = !(4..51).contains(&x) || !(5..34).contains(&y);
                let is_border = x == 4 || x == 50 || y == 5 || y == 33;
                let is_letter = (15..19).contains(&x) && (12..26).contains(&y);
                let is_mark = has_mark && (30..44).contains(&x) && (10..28).contains(&y);
                let grey = match (is_out, is_border, is_letter || is_mark) {
                    (true, ..) => 255,
                    (_, true, _) => border,
                    (_, _, true) => 0x76,
                    _ => 0xef,
                };
                Rgba([grey, grey, grey, 255])
            })
        };
        let at = CapturePoint::new(0, 0);
        let shown = button(0x76, false);
        // Filled under the pointer, with a border twice as wide.
        let filled = |has_mark: bool| {
            let mut filled = button(0x76, has_mark);
            for (x, y, pixel) in filled.enumerate_pixels_mut() {
                let is_inner = (6..49).contains(&x) && (7..32).contains(&y);
                *pixel = match pixel.0[0] {
                    255 => *pixel,
                    _ if !is_inner => Rgba([0xa8, 0xa8, 0xa8, 255]),
                    0x76 => Rgba([255, 255, 255, 255]),
                    _ => Rgba([0x33, 0x99, 0xff, 255]),
                };
            }
            filled
        };
        assert!(is_same_or_highlighted(&shown, at, &filled(false)));
        assert!(!is_same_or_highlighted(&shown, at, &filled(true)));
        assert!(is_same_or_highlighted(&shown, at, &button(0x4f, false)));
        assert!(!is_same_or_highlighted(&shown, at, &button(0x4f, true)));
    }

    /// Checks a control in a row of the sheet, whose box is `(left, top, width, height)`.
    fn check(row: u32, control: &str, (left, top, width, height): (u32, u32, u32, u32)) {
        let shown = cell(0, row);
        let corner = CapturePoint::new(left.cast_signed(), top.cast_signed());
        let verdict = |whole: &RgbaImage, column: u32| {
            let now = cell(column, row);
            let now = imageops::crop_imm(&now, left, top, width, height).to_image();
            is_same_or_highlighted(whole, corner, &now)
        };
        assert!(verdict(&shown, 0), "{control}: the same");
        assert!(verdict(&shown, 1), "{control}: highlighted");
        assert!(!verdict(&shown, 2), "{control}: another one, highlighted");
        // The pointer leaves what the approver saw highlighted.
        let highlighted = cell(1, row);
        assert!(verdict(&highlighted, 0), "{control}: no longer highlighted");
        assert!(!verdict(&highlighted, 2), "{control}: another one");
    }

    #[test]
    fn controls_of_a_browser_are_recognised_under_the_pointer_and_others_are_not() {
        check(0, "button with another amount", (10, 10, 160, 40));
        check(1, "round button with a tick", (10, 10, 160, 40));
        check(
            2,
            "button that is filled, with another word",
            (10, 10, 160, 40),
        );
        check(
            3,
            "link that is underlined, with another letter",
            (8, 18, 140, 24),
        );
        check(4, "check box that is checked", (10, 18, 150, 20));
        check(5, "radio button that is selected", (10, 18, 100, 20));
        check(6, "button with another symbol", (10, 10, 160, 40));
    }

    #[test]
    fn a_mark_is_seen_at_every_place_and_in_every_size() {
        let plain = RgbaImage::from_pixel(60, 24, Rgba([240, 240, 240, 255]));
        let lit = RgbaImage::from_pixel(60, 24, Rgba([40, 90, 200, 255]));
        let origin = CapturePoint::new(0, 0);
        assert!(is_same_or_highlighted(&plain, origin, &lit));
        for size in [3, 5, 10, 18] {
            for (left, top) in [(10, 2), (20, 3), (32, 2)] {
                let mut marked = lit.clone();
                for (x, y) in (0..size).flat_map(|y| (0..size).map(move |x| (x, y))) {
                    marked.put_pixel(left + x, top + y, Rgba([255, 255, 255, 255]));
                }
                assert!(
                    !is_same_or_highlighted(&plain, origin, &marked),
                    "{size} px at {left}, {top}"
                );
                // The mark of the approver's screenshot is gone.
                assert!(
                    !is_same_or_highlighted(&marked, origin, &plain),
                    "{size} px at {left}, {top}, gone"
                );
            }
        }
    }

    #[test]
    fn another_photograph_is_no_highlight() {
        let photograph = |seed: u32| {
            RgbaImage::from_fn(60, 40, |x, y| {
                let noise = |channel: u32| {
                    let mixed = (x * 7919 + y * 104_729 + channel * 1_299_709 + seed)
                        .wrapping_mul(2_654_435_761);
                    (mixed >> 24) as u8
                };
                Rgba([noise(0), noise(1), noise(2), 255])
            })
        };
        let origin = CapturePoint::new(0, 0);
        assert!(is_same_or_highlighted(
            &photograph(1),
            origin,
            &photograph(1)
        ));
        assert!(!is_same_or_highlighted(
            &photograph(1),
            origin,
            &photograph(2)
        ));
    }

    #[test]
    fn an_area_outside_of_the_screenshot_is_not_the_same() {
        let whole = RgbaImage::new(10, 10);
        let part = RgbaImage::new(5, 5);
        for (x, y) in [(-1, 0), (6, 0), (0, 6), (i32::MAX, 0)] {
            assert!(!is_same_or_highlighted(
                &whole,
                CapturePoint::new(x, y),
                &part
            ));
        }
    }
}
