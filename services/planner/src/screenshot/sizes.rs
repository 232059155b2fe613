//! Image sizes that each provider accepts, and at which its model sees them. Pure arithmetic.
//!
//! A provider downscales an image that is too large without notice, and every coordinate of the response is off by the
//! same factor. So images are sent at a size that the provider does not change. If it always resizes (Qwen-VL and its
//! descendants), the resulting size is computed here in the same way.
//!
//! All rounding is half to even, as in the providers' own arithmetic. This module neither touches pixels nor knows which
//! model follows which rule; the model table does.

use motorium_imaging::space::ImageSize;
use motorium_proto::domain::geometry::CaptureSize;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Size rule of a provider's images.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SizeRule {
    /// Any size, seen unchanged.
    Unchanged,
    Claude(ClaudeTier),
    OpenAi(OpenAiDetail),
    SmartResize(SmartResize),
    /// Maximum pixels per side and in total.
    Within {
        max_side: u32,
        max_pixels: u64,
    },
}

impl SizeRule {
    /// Returns the size at which to send an image of this extent.
    #[must_use]
    pub fn sent_size(self, original: CaptureSize) -> ImageSize {
        let size = ImageSize::new(side(original.width), side(original.height));
        match self {
            SizeRule::Unchanged => size,
            SizeRule::Claude(tier) => tier.size(size),
            SizeRule::OpenAi(detail) => detail.size(size),
            SizeRule::SmartResize(rule) => rule.sent(size),
            SizeRule::Within {
                max_side: side,
                max_pixels: pixels,
            } => shrunk(size, &|fitting| {
                longest(fitting) <= side && area(fitting) <= pixels
            }),
        }
    }

    /// Returns the size at which the model sees an image of this sent size.
    #[must_use]
    pub fn resized_size(self, sent: ImageSize) -> ImageSize {
        match self {
            SizeRule::SmartResize(rule) => rule.size(sent),
            _ => sent,
        }
    }
}

/// Claude's two tiers of image input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ClaudeTier {
    /// Up to Claude 4.6, and Haiku 4.5.
    Standard,
    /// Claude 4.7 and newer.
    High,
}

/// Side of the square patches, in pixels, that Claude splits an image into; each costs one token.
const CLAUDE_PATCH: u32 = 28;

impl ClaudeTier {
    /// Returns the maximum side in pixels and the maximum tokens of an image that is not resized.
    fn limits(self) -> (u32, u64) {
        // As documented by Anthropic for each tier of image input.
        match self {
            ClaudeTier::Standard => (1568, 1568),
            ClaudeTier::High => (2576, 4784),
        }
    }

    /// Returns the size to which Claude resizes an image; unchanged if it fits.
    #[must_use]
    pub fn size(self, original: ImageSize) -> ImageSize {
        let (side, tokens) = self.limits();
        shrunk(original, &|size| {
            padded(longest(size), CLAUDE_PATCH) <= side && claude_tokens(size) <= tokens
        })
    }
}

/// Returns the tokens of an image of this size.
#[must_use]
pub fn claude_tokens(size: ImageSize) -> u64 {
    squares(size, CLAUDE_PATCH)
}

/// Detail level of images for OpenAI's models.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OpenAiDetail {
    /// `high`, and `auto` on gpt-5.4.
    High,
    /// `original` on gpt-5.4 and 5.5: downscaled above the limit.
    Original,
    /// `original` on gpt-5.6 and later: rejected above the limit.
    OriginalUnresized,
}

/// Side of the square patches, in pixels, by which OpenAI counts an image.
const OPENAI_PATCH: u32 = 32;

impl OpenAiDetail {
    /// Returns the maximum side in pixels and the maximum number of patches.
    fn limits(self) -> (u32, u64) {
        // As documented by OpenAI for each detail level. The last one has no limit per side.
        match self {
            OpenAiDetail::High => (2048, 2500),
            OpenAiDetail::Original => (6000, 10_000),
            OpenAiDetail::OriginalUnresized => (u32::MAX, 30_000),
        }
    }

    /// Returns the largest size with the same proportions that is neither resized nor rejected.
    #[must_use]
    pub fn size(self, original: ImageSize) -> ImageSize {
        let (side, patches) = self.limits();
        shrunk(original, &|size| {
            longest(size) <= side && openai_patches(size) <= patches
        })
    }
}

/// Returns the number of patches of an image of this size.
#[must_use]
pub fn openai_patches(size: ImageSize) -> u64 {
    squares(size, OPENAI_PATCH)
}

/// Resizing that Qwen-VL and its descendants apply to every image: both sides become multiples of `factor`, and the area
/// is brought between two bounds. The server's `preprocessor_config.json` defines the values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SmartResize {
    /// Divisor of both sides.
    pub factor: u32,
    /// Minimum area.
    pub min_pixels: u64,
    /// Maximum area.
    pub max_pixels: u64,
}

impl Default for SmartResize {
    fn default() -> Self {
        Self::QWEN_2_5
    }
}

impl SmartResize {
    /// Values in the `preprocessor_config.json` of Qwen2.5-VL and OpenCUA.
    pub const QWEN_2_5: Self = Self {
        factor: 28,
        min_pixels: 3136,
        max_pixels: 12_845_056,
    };
    /// Values in the `preprocessor_config.json` of Qwen3-VL and Qwen3.5.
    pub const QWEN_3: Self = Self {
        factor: 32,
        min_pixels: 65_536,
        max_pixels: 13_107_200,
    };

    /// Returns the size at which the model sees an image.
    #[must_use]
    pub fn size(self, original: ImageSize) -> ImageSize {
        let factor = f64::from(self.factor);
        let with_sides = |factors: &dyn Fn(f64) -> f64| {
            let side = |length: u32| self.multiple(factors(f64::from(length)));
            ImageSize::new(side(original.width), side(original.height))
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

    /// Returns `factors` times the factor in pixels, at least one factor.
    fn multiple(self, factors: f64) -> u32 {
        (factors as u32).max(1).saturating_mul(self.factor)
    }

    /// Returns the size to send: unchanged, because the model was trained on images resized by its own preprocessing,
    /// unless it would only be downscaled.
    fn sent(self, original: ImageSize) -> ImageSize {
        let seen = self.size(original);
        if area(seen) < area(original) && area(original) > self.max_pixels {
            seen
        } else {
            original
        }
    }
}

/// Returns the largest size with about the proportions of `original` that fits; `original` itself if it does. The search
/// runs over the longer side, as in Claude's documentation, so that the result is identical to the pixel.
fn shrunk(original: ImageSize, fits: &dyn Fn(ImageSize) -> bool) -> ImageSize {
    if fits(original) {
        return original;
    }
    if original.height > original.width {
        let turned = |size: ImageSize| ImageSize::new(size.height, size.width);
        return turned(shrunk(turned(original), &|size| fits(turned(size))));
    }
    let proportion = f64::from(original.width) / f64::from(original.height);
    let of_width = |width: u32| {
        let height = (f64::from(width) / proportion).round_ties_even() as u32;
        ImageSize::new(width, height.max(1))
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

fn longest(size: ImageSize) -> u32 {
    size.width.max(size.height)
}

fn area(size: ImageSize) -> u64 {
    u64::from(size.width) * u64::from(size.height)
}

fn padded(length: u32, square: u32) -> u32 {
    length.div_ceil(square).saturating_mul(square)
}

fn squares(size: ImageSize, square: u32) -> u64 {
    u64::from(size.width.div_ceil(square)) * u64::from(size.height.div_ceil(square))
}
