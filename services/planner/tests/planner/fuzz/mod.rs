//! Mutated responses, in every test run: the targets of `services/planner/fuzz`, with their seeds (`fuzz/seeds` and the
//! provider fixtures) and their dictionary (`fuzz/words.dict`).
//!
//! With `MOTORIUM_FUZZ_SECONDS` all targets together run for that time with different mutations each time. Without it,
//! every target gets the same few thousand inputs.

mod parsers;

use std::panic::{self, AssertUnwindSafe};
use std::path::{Path, PathBuf};
use std::time::Duration;

use motorium_planner::response::{pyautogui, tool_calls};
use motorium_proto::domain::action::{Action, Target};
use motorium_proto::domain::decision::Next;
use proptest::prelude::*;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom as _;
use rand::{Rng as _, SeedableRng as _};
use tokio::time::Instant;

use crate::kinds::check_listed;

/// Targets, each with its file in `fuzz/fuzz_targets` and its seeds.
const TARGETS: [&str; 5] = ["bodies", "numbered", "pyautogui", "questions", "tool_calls"];
/// Inputs per target if no time is set.
const DEFAULT_INPUTS: usize = 2000;
/// Characters that libFuzzer's dictionary cannot express: multi-byte, of another length in lower case, a byte order mark.
const MULTIBYTE: &[&str] = &["é", "世", "İ", "\u{212a}", "\u{feff}", "\u{2028}"];
/// A parser that exceeds this twice for one input counts as hanging.
const HANG_TIMEOUT: Duration = Duration::from_secs(5);

#[test]
fn damaged_python_is_read_or_refused() {
    run("pyautogui", &[], parsers::pyautogui);
}

#[test]
fn damaged_calls_are_read_or_refused() {
    run("tool_calls", &[], parsers::tool_calls);
}

#[test]
fn damaged_answers_to_a_numbered_screen_are_read_or_refused() {
    run("numbered", &[], parsers::numbered);
}

#[test]
fn damaged_answers_of_providers_are_read_or_refused() {
    let answered = ["anthropic", "openai-chat", "openai-responses"];
    run("bodies", &answered, parsers::bodies);
}

#[test]
fn damaged_answers_to_questions_are_read_or_refused() {
    run("questions", &[], parsers::questions);
}

#[test]
fn every_backend_is_fuzzed() {
    check_listed(&parsers::dialects(), |_| true);
}

/// The fuzz crate is not part of the workspace, so no other build would notice a path that is gone.
#[test]
fn the_fuzz_crate_has_every_target_and_finds_its_files() {
    let names = |folder: &str| {
        let entries = std::fs::read_dir(fuzz_folder().join(folder)).unwrap();
        let paths = entries.map(|entry| entry.unwrap().path());
        let stem = |path: PathBuf| path.file_stem().unwrap().to_string_lossy().into_owned();
        let mut names: Vec<String> = paths.map(stem).collect();
        names.sort();
        names
    };
    assert_eq!(names("fuzz_targets"), TARGETS);
    assert_eq!(names("seeds"), TARGETS);
    let source = fuzz_folder().join("src");
    let text = std::fs::read_to_string(source.join("lib.rs")).unwrap();
    let paths: Vec<&str> = text
        .lines()
        .filter_map(|line| line.strip_prefix("#[path = \"")?.strip_suffix("\"]"))
        .collect();
    assert!(!paths.is_empty());
    for path in paths {
        assert!(source.join(path).is_file(), "{path} is not there");
    }
}

/// A server may mark a truncated response as complete. The truncated response must not mean something else than the full
/// one. A response that retracts its first statement is exempt, because its start cannot know that.
#[test]
fn the_beginning_of_an_answer_is_not_another_answer() {
    let ways = [
        ("opencua", "pyautogui"),
        ("qwen_vl", "tool_calls"),
        ("operator", "numbered"),
    ];
    for (way, target) in ways {
        let seeds = texts_in(&fuzz_folder().join("seeds").join(target));
        let takes_back = |seed: &&String| seed.matches("```").count() > 2;
        let wholes = seeds
            .iter()
            .filter(|seed| !takes_back(seed))
            .filter_map(|seed| Some((seed, parsers::understood(way, seed)?)));
        let wholes: Vec<(&String, Next)> = wholes.collect();
        assert!(wholes.len() > 2, "{way}: {wholes:?}");
        for (whole, all) in wholes {
            for (end, _) in whole.char_indices() {
                if let Some(start) = parsers::understood(way, &whole[..end]) {
                    assert!(begins(&start, &all), "{start:?}\n{}", &whole[..end]);
                }
            }
        }
    }
}

proptest! {
    #[test]
    fn arbitrary_text_yields_no_action(text in any::<String>()) {
        prop_assert!(pyautogui::read(&text).is_err());
        prop_assert!(tool_calls::read(&text).is_err());
    }
}

/// Returns whether a decision equals another one, or consists of its first actions.
fn begins(start: &Next, all: &Next) -> bool {
    let (Next::Act(start), Next::Act(all)) = (start, all) else {
        return start == all;
    };
    let start: Vec<&Action<Target>> = start.iter().map(|planned| &planned.action).collect();
    let all: Vec<&Action<Target>> = all.iter().map(|planned| &planned.action).collect();
    all.starts_with(&start)
}

/// Runs a target on its seeds unchanged, then on mutated ones.
fn run(target: &str, fixtures: &[&str], reader: fn(&str)) {
    let fuzz = fuzz_folder();
    let mut seeds = texts_in(&fuzz.join("seeds").join(target));
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    for fixture in fixtures {
        seeds.extend(texts_in(&folder.join(fixture)));
    }
    let words = words(&fuzz.join("words.dict"));
    for seed in &seeds {
        give(reader, seed);
    }
    let (mut chance, until) = match time_to_spend() {
        Some(time) => (
            StdRng::from_os_rng(),
            Some(Instant::now() + time / TARGETS.len() as u32),
        ),
        None => (StdRng::seed_from_u64(1), None),
    };
    let mut given = 0;
    while until.map_or(given < DEFAULT_INPUTS, |until| Instant::now() < until) {
        give(reader, &damaged(&seeds, &words, &mut chance));
        given += 1;
    }
}

/// Runs a parser on an input, and prints the input if it fails, so that it can become a seed.
fn give(reader: fn(&str), text: &str) {
    let read = || panic::catch_unwind(AssertUnwindSafe(|| reader(text)));
    let hangs = || {
        let began = Instant::now();
        let panicked = read().is_err();
        assert!(!panicked, "the reader panics on this answer: {text:?}");
        began.elapsed() > HANG_TIMEOUT
    };
    // A single slow run may be caused by the machine.
    assert!(
        !(hangs() && hangs()),
        "the reader hangs on this answer: {text:?}"
    );
}

/// Mutates a seed: removes, inserts, repeats, or replaces parts by those of another seed.
fn damaged(seeds: &[String], words: &[String], chance: &mut StdRng) -> String {
    let any_of = |chance: &mut StdRng| seeds.choose(chance).expect("there are seeds");
    let mut text: Vec<char> = any_of(chance).chars().collect();
    for _ in 0..chance.random_range(1..=5) {
        let at = chance.random_range(0..=text.len());
        let end = (at + chance.random_range(0..12)).min(text.len());
        let put: Vec<char> = match chance.random_range(0..8) {
            0 => Vec::new(),
            1 => vec![chance.random()],
            2 => text[at..end].repeat(chance.random_range(2..50)),
            3 => {
                let other: Vec<char> = any_of(chance).chars().collect();
                let from = chance.random_range(0..=other.len());
                let to = (from + chance.random_range(0..60)).min(other.len());
                other[from..to].to_vec()
            }
            4 => chance
                .random_range(-2000..2000)
                .to_string()
                .chars()
                .collect(),
            _ => words
                .choose(chance)
                .expect("there are words")
                .chars()
                .collect(),
        };
        text.splice(at..end, put);
    }
    text.into_iter().collect()
}

fn time_to_spend() -> Option<Duration> {
    let seconds = std::env::var("MOTORIUM_FUZZ_SECONDS").ok()?;
    Some(Duration::from_secs(
        seconds.parse().expect("a number of seconds"),
    ))
}

fn fuzz_folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("fuzz")
}

fn texts_in(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{folder:?}: {error}"));
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let texts = files
        .iter()
        .map(|file| std::fs::read_to_string(file).unwrap());
    texts.collect()
}

/// Reads a libFuzzer dictionary: one quoted word per line.
fn words(file: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(file).unwrap();
    let lines = text.lines().filter(|line| line.starts_with('"'));
    let words = lines.map(|line| serde_json::from_str(line).unwrap());
    words
        .chain(MULTIBYTE.iter().map(ToString::to_string))
        .collect()
}
