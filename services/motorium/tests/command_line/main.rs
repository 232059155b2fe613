//! The program `motorium` as a person at a terminal meets it, without a display and without a server: what it says and
//! refuses. What it does on a desktop is tested end to end, in `tests/`.

mod act;
mod audit;
mod backup;
mod documents;
mod errors;
mod scripts;
mod support;
