//! Parsing of sentences, and matching of queries on screens.

mod grammar;
mod matcher;
