//! The whole product, as a person or an operator uses it.

mod arrangements;
mod bad_input;
mod cancelling;
mod command_line;
mod crashes;
