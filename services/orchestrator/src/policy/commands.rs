//! The programs that a line for a terminal starts, as far as its words show.
//!
//! Not a shell: nothing is expanded, and what a variable or a script of its own holds is not known. Quotes, paths,
//! assignments and programs that run another one are seen through, because they are the cheapest ways around a list; where
//! the program itself is a variable, a pattern or a file of somebody's own, that is said.

use super::text::Plain;

/// What ends one command and begins another, brackets and substitutions among it; and ends of prompts.
const ENDS: [char; 9] = ['|', ';', '&', '\n', '(', ')', '`', '$', '{'];
const PROMPTS: [&str; 3] = ["# ", "> ", "% "];
/// Paint of a shell that changes nothing about which program is meant.
const QUOTES: [char; 3] = ['\'', '"', '\\'];
/// What ends a command where the next one may be hidden.
const JOINTS: [char; 6] = ['|', ';', '&', '\n', '(', '`'];
/// What stands for letters that are not written.
const PATTERNS: [char; 3] = ['*', '?', '['];
/// Programs of which the name is a pattern.
const TESTS: [&str; 2] = ["[", "[["];
/// What puts the output of another command in its place.
const SUBSTITUTIONS: [&str; 2] = ["$(", "`"];
/// Run what is behind them, somewhere behind the folder that they look into.
const SEARCHES: [&str; 2] = ["find", "fd"];
/// Folders of programs that come with the machine.
const PROGRAMS: [&str; 6] = ["/bin/", "/usr/", "/sbin/", "/opt/", "/snap/", "/nix/"];
/// What runs the lines of a file.
const SOURCE: &str = ".";
/// Where what is written is lost.
const NOWHERE: &str = "/dev/null";

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

/// Whether a command is started whose program is not written: a variable or a pattern stands for it, or it is a file that
/// is no program of the machine.
pub(super) fn hides_a_program(line: &str, runners: &[String]) -> bool {
    let commands = line.split(JOINTS).map(str::trim_start);
    let mut programs = commands.filter_map(|command| first_word(command, runners));
    is_put_together(line) || programs.any(|word| is_hidden(&word))
}

fn is_hidden(word: &str) -> bool {
    let names_a_file = word.contains('/') && !word.contains("//");
    let is_the_machines = PROGRAMS.iter().any(|folder| word.starts_with(folder));
    let is_pattern = word.contains(PATTERNS) && !TESTS.contains(&word);
    word == SOURCE || word.contains('$') || is_pattern || (names_a_file && !is_the_machines)
}

/// Whether what another command prints is the program.
fn is_put_together(line: &str) -> bool {
    let begins = |at: usize| {
        let before = line[..at].trim_end();
        before.is_empty() || before.ends_with(JOINTS)
    };
    SUBSTITUTIONS
        .iter()
        .flat_map(|substitution| line.match_indices(substitution))
        .any(|(at, _)| begins(at))
}

/// What is run by a line as it was shown behind a prompt.
pub(super) fn behind_prompt(line: &str) -> Option<&str> {
    let mut words = line.split_inclusive(char::is_whitespace);
    let prompt = words.next().filter(|word| is_prompt(word.trim_end()))?;
    Some(&line[prompt.len()..]).filter(|command| !command.trim().is_empty())
}

/// Whether what a line writes into a file takes the place of what is in it.
pub(super) fn overwrites(line: &str) -> bool {
    let quoted = line.split(['\'', '"']).step_by(2);
    quoted
        .flat_map(|plain| plain.match_indices('>').map(move |(at, _)| (plain, at)))
        .any(|(plain, at)| {
            let (before, after) = (&plain[..at], &plain[at + 1..]);
            let is_arrow =
                before.ends_with(['>', '-', '=', '<']) || after.starts_with(['>', '&', '=']);
            let target = after.trim_start_matches('|').trim_start();
            !is_arrow
                && !before.trim().is_empty()
                && !target.is_empty()
                && !target.starts_with(NOWHERE)
        })
}

/// The first word that is no assignment, and nothing that runs what is behind it.
fn first_word(command: &str, runners: &[String]) -> Option<String> {
    let words = command.split_whitespace();
    let mut words = words.map(|word| word.replace(['\'', '"'], ""));
    let runs = |word: &String| {
        !SEARCHES.contains(&word.as_str()) && runners.iter().any(|runner| runner == program(word))
    };
    let is_of_a_runner =
        |word: &String| word.starts_with('-') || word.chars().all(|letter| letter.is_ascii_digit());
    words.find(|word| !is_assignment(word) && !runs(word) && !is_of_a_runner(word))
}

/// `user@host:~/photos$`, `$`, `#`
fn is_prompt(word: &str) -> bool {
    word.ends_with(['$', '#', '%', '>']) || (word.contains('@') && word.contains(':'))
}

fn split<'a>(pieces: &[&'a str], prompt: &str) -> Vec<&'a str> {
    pieces
        .iter()
        .flat_map(|piece| piece.split(prompt))
        .collect()
}

fn in_piece(piece: &str, runners: &[String]) -> Vec<Plain> {
    let words: Vec<String> = piece
        .split(|letter: char| letter.is_whitespace() || "<>".contains(letter))
        .filter(|word| !word.is_empty())
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

/// `rm` of `/bin/rm`, and `python` of `python3.11`.
fn program(word: &str) -> &str {
    let name = word.rsplit(['/', '=']).next().unwrap_or(word);
    let without = name.trim_end_matches(|letter: char| letter.is_ascii_digit() || letter == '.');
    if without.is_empty() { name } else { without }
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
