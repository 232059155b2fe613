//! The programs that a line for a terminal starts, as far as its words show.
//!
//! Not a shell: nothing is expanded, and what a variable or a script of its own holds is not known. Quotes, paths,
//! assignments and programs that run another one are seen through, because they are the cheapest ways around a list.

use super::text::Plain;

/// What ends one command and begins another, brackets and substitutions among it; and ends of prompts.
const ENDS: [char; 9] = ['|', ';', '&', '\n', '(', ')', '`', '$', '{'];
const PROMPTS: [&str; 3] = ["# ", "> ", "% "];
/// Paint of a shell that changes nothing about which program is meant.
const QUOTES: [char; 3] = ['\'', '"', '\\'];

/// Every command in a line, each from its program on: also those that are started by another one, such as `xargs`.
pub(super) fn commands(line: &str, runners: &[String]) -> Vec<Plain> {
    let pieces = line.split(ENDS);
    let pieces = pieces.flat_map(|piece| {
        PROMPTS
            .iter()
            .fold(vec![piece], |pieces, prompt| split(&pieces, prompt))
    });
    pieces.flat_map(|piece| in_piece(piece, runners)).collect()
}

fn split<'a>(pieces: &[&'a str], prompt: &str) -> Vec<&'a str> {
    pieces
        .iter()
        .flat_map(|piece| piece.split(prompt))
        .collect()
}

fn in_piece(piece: &str, runners: &[String]) -> Vec<Plain> {
    let words: Vec<String> = piece
        .split_whitespace()
        .map(|word| word.replace(QUOTES, ""))
        .skip_while(|word| is_assignment(word))
        .collect();
    let is_run_by_another = |before: &[String]| {
        before
            .iter()
            .any(|word| runners.iter().any(|runner| runner == program(word)))
    };
    (0..words.len())
        .filter(|&start| start == 0 || is_run_by_another(&words[..start]))
        .map(|start| from(&words[start..]))
        .collect()
}

fn from(words: &[String]) -> Plain {
    let rest = words[1..].join(" ");
    Plain::of(&format!("{} {rest}", program(&words[0])))
}

/// `rm` of `/bin/rm`.
fn program(word: &str) -> &str {
    word.rsplit(['/', '=']).next().unwrap_or(word)
}

fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty()
            && name
                .chars()
                .all(|letter| letter.is_alphanumeric() || letter == '_')
    })
}

/// Whether a command is one of a list: its program, and all else that is named there, in this order and with whatever
/// options between.
pub(super) fn is(command: &Plain, known: &Plain) -> bool {
    let Some((program, rest)) = known.words.split_first() else {
        return false;
    };
    let mut words = command.words.iter();
    words.next() == Some(program) && rest.iter().all(|wanted| words.any(|word| word == wanted))
}
