//! Pure functions on text, shared by everything that compares what people wrote with what a screen shows.
//!
//! - [`browser_words`]: words that a browser shows about a page whether it came or not
//! - [`characters`]: classes of characters: ideographs, and characters that are not visible
//! - [`fold`]: one plain form for texts that a person reads alike
//! - [`hex`]: bytes as hexadecimal digits
//! - [`numbers`]: numbers that are written in groups
//! - [`replies`]: words in which applications say that something is done, or that it failed
//! - [`rfc3339`]: times as texts
//! - [`lexicon`]: word lists that give texts a meaning, and that a user can change
//! - [`commands`]: the programs that a terminal line starts
//! - [`sensitive`]: numbers of cards and addresses of mail
//! - [`values`]: amounts of money, and recipients
//! - `disguises`: ways to write a text past a list, for tests (feature `disguises`)
//!
//! No I/O and no decisions: callers decide what a match means. Invariant: each character class is defined once, here.

pub mod browser_words;
pub mod characters;
pub mod commands;
#[cfg(feature = "disguises")]
pub mod disguises;
pub mod fold;
pub mod hex;
pub mod lexicon;
pub mod numbers;
pub mod replies;
pub mod rfc3339;
pub mod sensitive;
pub mod values;
