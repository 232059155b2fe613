//! The Set of Marks: elements as numbered boxes on the picture, and as one line of text each.
//!
//! Both Perception (for people who look at what it sees) and the Planner (for each model anew, at its size) make
//! them, therefore they are here. Neither finds elements nor numbers them.
//!
//! [`draw`] paints the boxes, [`pointer`] shows where the mouse pointer is, [`prompt`] writes the lines and
//! [`select`] decides which elements get a place where there is not room for all.

mod colour;
mod draw;
mod frame;
mod ground;
mod ink;
mod layout;
pub mod pointer;
pub mod prompt;
mod select;

pub use draw::{Mark, draw, marks};
pub use select::{DEFAULT_MAX_ELEMENTS, select};
