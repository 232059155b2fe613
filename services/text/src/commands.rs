//! Extraction of the programs that a terminal line starts.
//!
//! Not a shell: nothing is expanded, and the contents of variables and scripts are not known. Quotes, paths, assignments and
//! programs that run another one are resolved, because they are the cheapest ways to evade a list. A program that is given by
//! a variable, a pattern or a script file is reported as hidden.

use crate::fold::NormalisedText;

/// Characters that separate commands, including brackets and substitutions. `$` also ends a prompt.
const COMMAND_SEPARATORS: [char; 9] = ['|', ';', '&', '\n', '(', ')', '`', '$', '{'];
const PROMPTS: [&str; 3] = ["# ", "> ", "% "];
/// Quoting characters, which do not change which program is meant.
const QUOTES: [char; 3] = ['\'', '"', '\\'];
/// Characters after which a command with a hidden program may begin.
const CHAIN_OPERATORS: [char; 6] = ['|', ';', '&', '\n', '(', '`'];
/// Glob characters.
const GLOB_CHARS: [char; 3] = ['*', '?', '['];
/// Programs whose name is itself a glob character.
const TEST_PROGRAMS: [&str; 2] = ["[", "[["];
/// Starts of command substitutions.
const SUBSTITUTIONS: [&str; 2] = ["$(", "`"];
/// Programs that run a command given after the folder they search.
const SEARCH_PROGRAMS: [&str; 2] = ["find", "fd"];
/// Directories of installed programs.
const SYSTEM_PROGRAM_DIRS: [&str; 6] = ["/bin/", "/usr/", "/sbin/", "/opt/", "/snap/", "/nix/"];
/// Shell builtin that runs the lines of a file.
const SOURCE_BUILTIN: &str = ".";
/// Device that discards its input.
const NULL_DEVICE: &str = "/dev/null";

/// Returns every command in a line, beginning with its program. Includes commands that are started by another one, such as
/// `xargs`.
pub fn commands(line: &str, runners: &[String]) -> Vec<NormalisedText> {
    let pieces = line.split(COMMAND_SEPARATORS);
    let pieces = pieces.flat_map(|piece| {
        PROMPTS
            .iter()
            .fold(vec![piece], |pieces, prompt| split(&pieces, prompt))
    });
    pieces
        .flat_map(|piece| commands_in_segment(piece, runners))
        .collect()
}

/// Returns true if a line starts a program that is not named: by a variable or a pattern, or as a file outside the directories
/// of installed programs.
pub fn has_hidden_program(line: &str, runners: &[String]) -> bool {
    let commands = line.split(CHAIN_OPERATORS).map(str::trim_start);
    let mut programs = commands.filter_map(|command| first_word(command, runners));
    is_command_substitution(line) || programs.any(|word| is_hidden(&word))
}

fn is_hidden(word: &str) -> bool {
    // A double slash belongs to an address, not to a path.
    let names_a_file = word.contains('/') && !word.contains("//");
    let is_the_machines = SYSTEM_PROGRAM_DIRS
        .iter()
        .any(|folder| word.starts_with(folder));
    let is_pattern = word.contains(GLOB_CHARS) && !TEST_PROGRAMS.contains(&word);
    word == SOURCE_BUILTIN || word.contains('$') || is_pattern || (names_a_file && !is_the_machines)
}

/// Returns true if the program is the output of another command.
fn is_command_substitution(line: &str) -> bool {
    let begins = |at: usize| {
        let before = line[..at].trim_end();
        before.is_empty() || before.ends_with(CHAIN_OPERATORS)
    };
    SUBSTITUTIONS
        .iter()
        .flat_map(|substitution| line.match_indices(substitution))
        .any(|(at, _)| begins(at))
}

/// Returns the command after a prompt.
pub fn command_after_prompt(line: &str) -> Option<&str> {
    let mut words = line.split_inclusive(char::is_whitespace);
    let prompt = words.next().filter(|word| is_prompt(word.trim_end()))?;
    Some(&line[prompt.len()..]).filter(|command| !command.trim().is_empty())
}

/// Returns true if a line overwrites a file by redirection.
pub fn overwrites(line: &str) -> bool {
    // Every second part lies outside of quotes.
    let quoted = line.split(['\'', '"']).step_by(2);
    quoted
        .flat_map(|plain| plain.match_indices('>').map(move |(at, _)| (plain, at)))
        .any(|(plain, at)| {
            let (before, after) = (&plain[..at], &plain[at + 1..]);
            let is_arrow =
                // `>>` appends, `->`, `=>` and `<>` are arrows or comparisons, and `>&` joins streams.
                before.ends_with(['>', '-', '=', '<']) || after.starts_with(['>', '&', '=']);
            let target = after.trim_start_matches('|').trim_start();
            !is_arrow
                && !before.trim().is_empty()
                && !target.is_empty()
                && !target.starts_with(NULL_DEVICE)
        })
}

/// Returns the first word that is neither an assignment nor a program that runs another one.
fn first_word(command: &str, runners: &[String]) -> Option<String> {
    let words = command.split_whitespace();
    let mut words = words.map(|word| word.replace(['\'', '"'], ""));
    let runs = |word: &String| {
        !SEARCH_PROGRAMS.contains(&word.as_str())
            && runners.iter().any(|runner| runner == program(word))
    };
    let is_of_a_runner =
        |word: &String| word.starts_with('-') || word.chars().all(|letter| letter.is_ascii_digit());
    words.find(|word| !is_assignment(word) && !runs(word) && !is_of_a_runner(word))
}

/// Returns true for prompts such as `user@host:~/photos$`, `$` and `#`.
fn is_prompt(word: &str) -> bool {
    word.ends_with(['$', '#', '%', '>']) || (word.contains('@') && word.contains(':'))
}

fn split<'a>(pieces: &[&'a str], prompt: &str) -> Vec<&'a str> {
    pieces
        .iter()
        .flat_map(|piece| piece.split(prompt))
        .collect()
}

fn commands_in_segment(piece: &str, runners: &[String]) -> Vec<NormalisedText> {
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
        .map(|start| normalised_command(&words[start..]))
        .collect()
}

fn normalised_command(words: &[String]) -> NormalisedText {
    let rest = words[1..].join(" ");
    NormalisedText::of(&format!("{} {rest}", program(&words[0])))
}

/// Returns the name of a program: `rm` for `/bin/rm`, `python` for `python3.11`.
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

/// Returns true if a command matches a listed one: the same program, and the listed words in this order, with any words
/// between them.
pub fn matches(command: &NormalisedText, known: &NormalisedText) -> bool {
    let Some((program, rest)) = known.words.split_first() else {
        return false;
    };
    let mut words = command.words.iter();
    words.next() == Some(program) && rest.iter().all(|wanted| words.any(|word| word == wanted))
}
