//! Colours of the marks.
//!
//! Consecutive numbers get different hues, and a number keeps its hue between images. Each hue has a dark variant for
//! light screens and a bright one for dark screens, so that boxes are visible on both.

use image::Rgba;

/// Colour of a mark and of the number on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ColourScheme {
    pub(super) fill: Rgba<u8>,
    pub(super) text: Rgba<u8>,
}

/// Numbers on dark fills.
const WHITE: Rgba<u8> = rgb(0xffffff);
/// Numbers on bright fills.
const BLACK: Rgba<u8> = rgb(0x000000);

/// Red used only for the pointer overlay.
pub(super) const POINTER: ColourScheme = ColourScheme {
    fill: rgb(0xff3b30),
    text: WHITE,
};

/// Hues: for light surroundings (white numbers) and for dark ones (black numbers).
const HUES: [(Rgba<u8>, Rgba<u8>); 10] = [
    (rgb(0xc62828), rgb(0xff8a80)),
    (rgb(0x1565c0), rgb(0x64b5f6)),
    (rgb(0x2e7d32), rgb(0x81c784)),
    (rgb(0x7b1fa2), rgb(0xce93d8)),
    (rgb(0xa84300), rgb(0xffb74d)),
    (rgb(0x00695c), rgb(0x4db6ac)),
    (rgb(0xad1457), rgb(0xf48fb1)),
    (rgb(0x4527a0), rgb(0xb39ddb)),
    (rgb(0x5d4037), rgb(0xbcaaa4)),
    (rgb(0x5f6300), rgb(0xdce775)),
];

/// Returns the colours of a number for surroundings of brightness 0 (black) to 255 (white).
pub(super) fn scheme_for(number: u32, surroundings: u8) -> ColourScheme {
    let (dark, bright) = HUES[number as usize % HUES.len()];
    // 110, below the middle of 255: dark fills keep enough contrast on medium backgrounds (WCAG 4.5:1 is tested on
    // white and black).
    if surroundings >= 110 {
        ColourScheme {
            fill: dark,
            text: WHITE,
        }
    } else {
        ColourScheme {
            fill: bright,
            text: BLACK,
        }
    }
}

const fn rgb(hex: u32) -> Rgba<u8> {
    Rgba([(hex >> 16) as u8, (hex >> 8) as u8, hex as u8, 255])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Contrast ratio according to WCAG 2.
    fn contrast(a: Rgba<u8>, b: Rgba<u8>) -> f64 {
        let luminance = |colour: Rgba<u8>| {
            let linear = |value: u8| {
                let value = f64::from(value) / 255.0;
                if value <= 0.040_45 {
                    value / 12.92
                } else {
                    ((value + 0.055) / 1.055).powf(2.4)
                }
            };
            let [red, green, blue, _] = colour.0;
            0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue)
        };
        let (a, b) = (luminance(a) + 0.05, luminance(b) + 0.05);
        a.max(b) / a.min(b)
    }

    #[test]
    fn number_and_box_colours_have_sufficient_contrast() {
        for number in 0..HUES.len() as u32 {
            for (surroundings, ground) in [(255, WHITE), (0, BLACK)] {
                let scheme = scheme_for(number, surroundings);
                assert!(
                    contrast(scheme.fill, scheme.text) >= 4.5,
                    "number on {number} {scheme:?}"
                );
                assert!(
                    contrast(scheme.fill, ground) >= 4.5,
                    "box {number} {scheme:?}"
                );
            }
        }
    }
}
