//! Set-of-marks: elements as numbered boxes on an image, and as one prompt line each.
//!
//! Used by Perception (for people who inspect its results) and by the planner (per model, at its image size). Neither
//! detection nor numbering is done here.
//!
//! [`mod@draw`] draws the boxes, [`mod@pointer`] marks the mouse pointer, [`input`] shows input to viewers, [`prompt`] writes the lines, and [`mod@select`] chooses
//! the elements if there are too many.

mod brightness_map;
mod colour;
mod draw;
pub mod input;
mod label_placement;
mod outline;
pub mod pointer;
mod primitives;
pub mod prompt;
mod select;

pub use draw::{Mark, draw, marks};
pub use select::{DEFAULT_MAX_ELEMENTS, select};
