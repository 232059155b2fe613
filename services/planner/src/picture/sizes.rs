//! How large a picture each provider takes, and at which size its model then sees it. Pure arithmetic.
//!
//! A provider that gets a picture larger than it likes makes it smaller without a word, and every coordinate of the
//! answer is off by the same factor. Pictures are therefore sent at a size that the provider leaves alone, and where
//! it resizes in any case (Qwen-VL and its descendants) the size that it comes to is computed here as it does.
//!
//! All rounding is half to even, as in the providers' own arithmetic. This module neither touches pixels nor knows
//! which model follows which rule: the model table does.

use motorium_imaging::space::PictureSize;
use motorium_proto::domain::geometry::CaptureSize;
use serde::{Deserialize, Serialize};

/// Which pictures a provider takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SizeRule {
    /// Any size, seen as it is.
    Unchanged,
    Claude(ClaudeTier),
    OpenAi(OpenAiDetail),
    Smart(SmartResize),
    /// At most so many pixels a side, so many pixels in all.
    Within {
        side: u32,
        pixels: u64,
    },
}

impl SizeRule {
    /// The size at which to send a picture of that extent.
    #[must_use]
    pub fn sent(self, original: CaptureSize) -> PictureSize {
        let size = PictureSize::new(side(original.width), side(original.height));
        match self {
            SizeRule::Unchanged => size,
            SizeRule::Claude(tier) => tier.size(size),
            SizeRule::OpenAi(detail) => detail.size(size),
            SizeRule::Smart(rule) => rule.sent(size),
            SizeRule::Within { side, pixels } => shrunk(size, &|fitting| {
                longest(fitting) <= side && area(fitting) <= pixels
            }),
        }
    }

    /// The size at which the model sees a picture that was sent at that one.
    #[must_use]
    pub fn seen(self, sent: PictureSize) -> PictureSize {
        match self {
            SizeRule::Smart(rule) => rule.size(sent),
            _ => sent,
        }
    }
}

/// Claude's two tiers of image input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClaudeTier {
    /// Up to Claude 4.6, and Haiku 4.5.
    Standard,
    /// Claude 4.7 and newer.
    High,
}

/// Claude sees a picture in squares of this many pixels a side; each costs a token.
const CLAUDE_SQUARE: u32 = 28;

impl ClaudeTier {
    /// The longest side in pixels and the most tokens of a picture that is not resized.
    fn limits(self) -> (u32, u64) {
        match self {
            ClaudeTier::Standard => (1568, 1568),
            ClaudeTier::High => (2576, 4784),
        }
    }

    /// The size to which Claude resizes a picture; the same one if it leaves it alone.
    #[must_use]
    pub fn size(self, original: PictureSize) -> PictureSize {
        let (side, tokens) = self.limits();
        shrunk(original, &|size| {
            padded(longest(size), CLAUDE_SQUARE) <= side && claude_tokens(size) <= tokens
        })
    }
}

/// What a picture of that size costs Claude, in tokens.
#[must_use]
pub fn claude_tokens(size: PictureSize) -> u64 {
    squares(size, CLAUDE_SQUARE)
}

/// How much of a picture OpenAI's models look at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OpenAiDetail {
    /// `high`, and `auto` on gpt-5.4.
    High,
    /// `original` on gpt-5.4 and 5.5: made smaller above the limit.
    Original,
    /// `original` on gpt-5.6 and later: refused above the limit.
    OriginalUnresized,
}

/// OpenAI counts pictures in squares of this many pixels a side.
const OPENAI_PATCH: u32 = 32;

impl OpenAiDetail {
    /// The longest side in pixels and the most patches.
    fn limits(self) -> (u32, u64) {
        match self {
            OpenAiDetail::High => (2048, 2500),
            OpenAiDetail::Original => (6000, 10_000),
            OpenAiDetail::OriginalUnresized => (u32::MAX, 30_000),
        }
    }

    /// The largest size with the same proportions that is neither resized nor refused.
    #[must_use]
    pub fn size(self, original: PictureSize) -> PictureSize {
        let (side, patches) = self.limits();
        shrunk(original, &|size| {
            longest(size) <= side && openai_patches(size) <= patches
        })
    }
}

/// In how many patches OpenAI counts a picture of that size.
#[must_use]
pub fn openai_patches(size: PictureSize) -> u64 {
    squares(size, OPENAI_PATCH)
}

/// The resizing that Qwen-VL and its descendants do to every picture: both sides become multiples of `factor`, and
/// the area is brought between two bounds. A server's `preprocessor_config.json` decides the numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SmartResize {
    pub factor: u32,
    pub min_pixels: u64,
    pub max_pixels: u64,
}

impl Default for SmartResize {
    fn default() -> Self {
        Self::QWEN_2_5
    }
}

impl SmartResize {
    /// Qwen2.5-VL and OpenCUA.
    pub const QWEN_2_5: Self = Self {
        factor: 28,
        min_pixels: 3136,
        max_pixels: 12_845_056,
    };
    /// Qwen3-VL and Qwen3.5.
    pub const QWEN_3: Self = Self {
        factor: 32,
        min_pixels: 65_536,
        max_pixels: 13_107_200,
    };

    /// The size at which the model sees a picture.
    #[must_use]
    pub fn size(self, original: PictureSize) -> PictureSize {
        let factor = f64::from(self.factor);
        let with_sides = |factors: &dyn Fn(f64) -> f64| {
            let side = |length: u32| self.multiple(factors(f64::from(length)));
            PictureSize::new(side(original.width), side(original.height))
        };
        let rounded = with_sides(&|length| (length / factor).round_ties_even());
        if area(rounded) > self.max_pixels {
            let times = (area(original) as f64 / self.max_pixels as f64).sqrt();
            return with_sides(&|length| (length / times / factor).floor());
        }
        if area(rounded) < self.min_pixels {
            let times = (self.min_pixels as f64 / area(original) as f64).sqrt();
            return with_sides(&|length| (length * times / factor).ceil());
        }
        rounded
    }

    /// So many factors in pixels, at least one.
    fn multiple(self, factors: f64) -> u32 {
        (factors as u32).max(1).saturating_mul(self.factor)
    }

    /// As it is, as the model was trained on pictures that its own preprocessing resized; but nothing is sent that
    /// would only be thrown away.
    fn sent(self, original: PictureSize) -> PictureSize {
        let seen = self.size(original);
        if area(seen) < area(original) && area(original) > self.max_pixels {
            seen
        } else {
            original
        }
    }
}

/// The largest size with about the proportions of `original` that fits; `original` itself if it does. Searched by
/// the longer side, as Claude's documentation does it, so that the result is the same to the pixel.
fn shrunk(original: PictureSize, fits: &dyn Fn(PictureSize) -> bool) -> PictureSize {
    if fits(original) {
        return original;
    }
    if original.height > original.width {
        let turned = |size: PictureSize| PictureSize::new(size.height, size.width);
        return turned(shrunk(turned(original), &|size| fits(turned(size))));
    }
    let proportion = f64::from(original.width) / f64::from(original.height);
    let of_width = |width: u32| {
        let height = (f64::from(width) / proportion).round_ties_even() as u32;
        PictureSize::new(width, height.max(1))
    };
    let (mut fitting, mut too_large) = (1, original.width);
    while too_large - fitting > 1 {
        let middle = fitting.midpoint(too_large);
        if fits(of_width(middle)) {
            fitting = middle;
        } else {
            too_large = middle;
        }
    }
    of_width(fitting)
}

fn side(length: i32) -> u32 {
    u32::try_from(length).unwrap_or(0).max(1)
}

fn longest(size: PictureSize) -> u32 {
    size.width.max(size.height)
}

fn area(size: PictureSize) -> u64 {
    u64::from(size.width) * u64::from(size.height)
}

fn padded(length: u32, square: u32) -> u32 {
    length.div_ceil(square).saturating_mul(square)
}

fn squares(size: PictureSize, square: u32) -> u64 {
    u64::from(size.width.div_ceil(square)) * u64::from(size.height.div_ceil(square))
}
