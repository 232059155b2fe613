//! Detections from the outputs of a model that another program ran.
//!
//! Training and evaluation run models in Python; their outputs get the same post-processing as those of
//! [`super::yolo`]. Does not run a model. Pure.

use image::RgbaImage;
use motorium_imaging::codec::size_of;
use motorium_proto::domain::element::ElementKind;
use motorium_proto::domain::geometry::CaptureRect;

use super::postprocess::{Candidate, decode_output};
use super::refine::{Regions, refine};
use super::{Detection, class_names, multiscale};

/// Number of output rows before the scores: the box.
const BOX_ROWS: usize = 4;

/// Outputs of a model for one whole image.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelOutputs {
    /// Names of the classes, in the order of the outputs.
    pub classes: Vec<String>,
    /// Outputs `[4 + classes, cells]` of the full-size pass and, if they were run, of the passes at half and at a quarter
    /// of its size.
    pub passes: Vec<Vec<f32>>,
    /// Number of input pixels per image pixel in the full-size pass.
    pub scale: f64,
    /// Length in input pixels from which elements are taken from the smaller scales. `None`: a single pass.
    pub large_from: Option<f64>,
}

/// Reason why outputs cannot be processed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OutputError {
    #[error("the model has no classes")]
    NoClasses,
    #[error("the scale and the length of large elements must be numbers above 0")]
    InvalidScale,
    #[error("output {pass} has {values} values, which is not a multiple of {rows} rows")]
    UnexpectedSize {
        pass: usize,
        values: usize,
        rows: usize,
    },
    #[error("an image of this size needs more than {count} outputs")]
    MissingPass { count: usize },
}

impl ModelOutputs {
    /// Returns the controls on `pixels` with a score of at least `min_score`, in image pixels.
    ///
    /// # Errors
    /// If the outputs do not fit the image or the classes.
    pub fn detections(
        &self,
        pixels: &RgbaImage,
        min_score: f32,
    ) -> Result<Vec<Detection>, OutputError> {
        let kinds = self.kinds()?;
        let large = self.large_from.map(|shown| (shown / self.scale) as f32);
        let longer_side = pixels.width().max(pixels.height()) as f32;
        let lowest = min_score.min(multiscale::MIN_SCORE);
        let mut pass = 0;
        let found = multiscale::run_passes(longer_side, large, |share| {
            let found = self.decode(pass, &kinds, lowest, share * self.scale);
            pass += 1;
            found
        })?;
        let whole = CaptureRect::from_size(size_of(pixels));
        let regions = Regions {
            seen: whole,
            within: whole,
        };
        Ok(refine(found, pixels, regions, min_score))
    }

    fn kinds(&self) -> Result<Vec<ElementKind>, OutputError> {
        if self.classes.is_empty() {
            return Err(OutputError::NoClasses);
        }
        let is_usable = |number: f64| number.is_finite() && number > 0.0;
        if !is_usable(self.scale) || !self.large_from.is_none_or(is_usable) {
            return Err(OutputError::InvalidScale);
        }
        Ok(class_names::kinds_of_list(&self.classes))
    }

    fn decode(
        &self,
        pass: usize,
        kinds: &[ElementKind],
        lowest: f32,
        scale: f64,
    ) -> Result<Vec<Candidate>, OutputError> {
        let count = self.passes.len();
        let values = self.passes.get(pass);
        let values = values.ok_or(OutputError::MissingPass { count })?;
        let rows = BOX_ROWS + kinds.len();
        if !values.len().is_multiple_of(rows) {
            return Err(OutputError::UnexpectedSize {
                pass,
                values: values.len(),
                rows,
            });
        }
        Ok(decode_output(values, kinds, lowest, scale))
    }
}

#[cfg(test)]
mod tests {
    use image::Rgba;

    use super::*;

    /// x, y, width, height and score of a button.
    type Cell = [f32; 5];

    /// Output of a model with the classes button and link.
    fn output(cells: &[Cell]) -> Vec<f32> {
        let rows = (0..5).flat_map(|row| cells.iter().map(move |cell| cell[row]));
        rows.chain(cells.iter().map(|_| 0.0)).collect()
    }

    fn outputs(passes: &[&[Cell]], scale: f64) -> ModelOutputs {
        ModelOutputs {
            classes: vec!["button".to_owned(), "link".to_owned()],
            passes: passes.iter().map(|cells| output(cells)).collect(),
            scale,
            large_from: Some(400.0),
        }
    }

    fn blank(width: u32, height: u32) -> RgbaImage {
        RgbaImage::from_pixel(width, height, Rgba([0, 0, 0, 255]))
    }

    #[track_caller]
    fn check(outputs: &ModelOutputs, pixels: &RgbaImage, expected: &[[i32; 4]]) {
        let found = outputs.detections(pixels, 0.5).expect("valid outputs");
        let boxes: Vec<_> = found
            .iter()
            .map(|found| {
                let (min, max) = (found.bounds.min, found.bounds.max);
                [min.x, min.y, max.x, max.y]
            })
            .collect();
        assert_eq!(boxes, expected);
    }

    const SMALL: Cell = [20.0, 10.0, 8.0, 4.0, 0.9];

    #[test]
    fn boxes_are_in_image_pixels() {
        check(
            &outputs(&[&[SMALL]], 1.0),
            &blank(200, 100),
            &[[16, 8, 24, 12]],
        );
        check(
            &outputs(&[&[SMALL]], 0.5),
            &blank(200, 100),
            &[[32, 16, 48, 24]],
        );
        // The last output is not needed for an image of this size.
        let cells: &[Cell] = &[SMALL];
        check(
            &outputs(&[cells, cells, cells], 1.0),
            &blank(500, 100),
            &[[16, 8, 24, 12]],
        );
    }

    #[test]
    fn large_elements_come_from_the_smaller_scales() {
        let cells: &[Cell] = &[SMALL, [400.0, 200.0, 300.0, 50.0, 0.8]];
        let expected = [[16, 8, 24, 12], [250, 175, 550, 225], [500, 350, 1100, 450]];
        check(
            &outputs(&[cells, cells, cells], 1.0),
            &blank(1280, 640),
            &expected,
        );
    }

    #[test]
    fn outputs_that_do_not_fit_are_refused() {
        let check = |outputs: ModelOutputs, expected: OutputError| {
            assert_eq!(outputs.detections(&blank(1280, 640), 0.5), Err(expected));
        };
        let cells: &[Cell] = &[SMALL];
        let whole = || outputs(&[cells, cells, cells], 1.0);
        let classes = Vec::new();
        check(ModelOutputs { classes, ..whole() }, OutputError::NoClasses);
        check(
            ModelOutputs {
                scale: 0.0,
                ..whole()
            },
            OutputError::InvalidScale,
        );
        check(
            outputs(&[cells, cells], 1.0),
            OutputError::MissingPass { count: 2 },
        );
        let mut cut = whole();
        cut.passes[1].pop();
        check(
            cut,
            OutputError::UnexpectedSize {
                pass: 1,
                values: 5,
                rows: 6,
            },
        );
    }
}
