//! The real programs on a real desktop.

mod crashes;
