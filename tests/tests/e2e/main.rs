//! The whole product, as a person or an operator uses it.

mod act;
mod arrangements;
mod bad_input;
mod cancelling;
mod command_line;
mod crashes;
mod scripted;
