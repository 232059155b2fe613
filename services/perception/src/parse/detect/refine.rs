//! Turns the candidates of all passes into detections.
//!
//! Applies the steps of this module in their order; none of them runs the model. Pure.

use image::RgbaImage;
use motorium_proto::domain::geometry::{CaptureRect, CaptureSize};

use super::postprocess::{Candidate, detection, suppress_duplicates};
use super::{Detection, caption_filter, edge_snapping, page_filter, row_alignment, series_boost};

/// Regions of an image, in image pixels.
#[derive(Debug, Clone, Copy)]
pub(super) struct Regions {
    /// Region that the model saw. Candidates are relative to its upper left corner.
    pub(super) seen: CaptureRect,
    /// Region whose controls are returned.
    pub(super) within: CaptureRect,
}

/// Returns the controls among `found` with a score of at least `min_score`, in image pixels. `found` must include
/// candidates with lower scores, because a series raises some of them.
pub(super) fn refine(
    mut found: Vec<Candidate>,
    pixels: &RgbaImage,
    Regions { seen, within }: Regions,
    min_score: f32,
) -> Vec<Detection> {
    // Before duplicates are dropped: two boxes of one row overlap only once both are on its text.
    row_alignment::align_to_text(&mut found, pixels, seen);
    let mut found = suppress_duplicates(found, CaptureSize::new(seen.width(), seen.height()));
    series_boost::boost_scores(&mut found);
    found.retain(|found| found.score >= min_score);
    let sure = caption_filter::without_captions(&found).into_iter();
    let on_edges = sure.filter_map(detection).map(|found| Detection {
        bounds: edge_snapping::snap_to_edges(pixels, found.bounds.translate(seen.min.to_vector())),
        ..found
    });
    let on_edges: Vec<Detection> = on_edges.collect();
    page_filter::without_pages(&on_edges)
        .into_iter()
        .filter(|found| within.contains(found.bounds.center()))
        .filter_map(|found| {
            // Clipping at the edge of the region tells the caller that the control continues beyond it.
            let bounds = found.bounds.intersection(&within)?;
            Some(Detection { bounds, ..found })
        })
        .collect()
}
