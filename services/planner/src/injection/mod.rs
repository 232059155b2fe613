//! Words on the screen that seem to give the agent orders, found without a model, for every backend alike. What a model
//! says of the same screen is kept beside it.
//!
//! - [`rules`]: the lists and rules of `words.toml`
//! - [`paragraphs`]: lines that belong together, as an order may go over several
//!
//! It decides nothing and hides nothing: it is a list of words, and what the lists do not know it does not find.

pub mod paragraphs;
pub mod rules;
mod text;

use std::sync::LazyLock;

use motorium_proto::domain::decision::SuspectedInjection;
use motorium_proto::domain::geometry::CaptureRect;
use motorium_proto::service::PlanRequest;

use paragraphs::{Line, paragraphs};
use rules::Rules;
use text::words;

/// Longest quote, in characters.
const LONGEST_QUOTE: usize = 300;
/// Most quotes of one screen: they are shown to people.
const MOST: usize = 8;

static RULES: LazyLock<Rules> = LazyLock::new(Rules::default);

/// What on the screen of a request seems to give orders. What the user wrote in the task themselves does not.
#[must_use]
pub fn suspects(request: &PlanRequest) -> Vec<SuspectedInjection> {
    let own = own_words(request);
    let on_screen = paragraphs(&request.scene, request.frame.size)
        .into_iter()
        .filter_map(|paragraph| suspect(&paragraph, &own));
    // A page chooses its title, and a title bar may show only the beginning of it.
    let in_titles = request
        .frame
        .windows
        .iter()
        .filter_map(|window| suspect_title(&window.title, &own));
    let mut found = union(on_screen.collect(), in_titles.collect());
    found.truncate(MOST);
    found
}

/// What is suspected, and what is not among it yet.
#[must_use]
pub fn union(
    mut said: Vec<SuspectedInjection>,
    found: Vec<SuspectedInjection>,
) -> Vec<SuspectedInjection> {
    for suspect in found {
        if !said.iter().any(|other| is_same(other, &suspect)) {
            said.push(suspect);
        }
    }
    said
}

fn is_same(one: &SuspectedInjection, other: &SuspectedInjection) -> bool {
    let (one, other) = (words(&one.quote), words(&other.quote));
    holds(&one, &other) || holds(&other, &one)
}

fn holds(long: &[String], short: &[String]) -> bool {
    short.is_empty() || long.windows(short.len()).any(|part| part == short)
}

fn own_words(request: &PlanRequest) -> Vec<Vec<String>> {
    let texts = [&request.goal, &request.instructions].into_iter();
    let texts = texts.chain(&request.user_messages);
    texts.map(|text| words(text)).collect()
}

/// The lines of a paragraph in which the order stands.
fn suspect(paragraph: &[Line<'_>], own: &[Vec<String>]) -> Option<SuspectedInjection> {
    let mut all = Vec::new();
    let mut line_of = Vec::new();
    for (number, line) in paragraph.iter().enumerate() {
        all.extend(words(line.text));
        line_of.resize(all.len(), number);
    }
    let range = RULES.find(&all)?;
    if own.iter().any(|own| holds(own, &all[range.clone()])) {
        return None;
    }
    let lines = &paragraph[line_of[range.start]..=line_of[range.end - 1]];
    let quote: Vec<&str> = lines.iter().map(|line| line.text.trim()).collect();
    let bounds = lines.iter().map(|line| line.bounds);
    Some(SuspectedInjection {
        quote: cut(&quote.join(" ")),
        bounds: bounds.reduce(|one, other| one.union(&other)),
    })
}

/// A title whose words stand nowhere that could be pointed at.
fn suspect_title(title: &str, own: &[Vec<String>]) -> Option<SuspectedInjection> {
    let line = Line {
        text: title,
        bounds: CaptureRect::zero(),
    };
    let suspected = suspect(&[line], own)?;
    Some(SuspectedInjection {
        bounds: None,
        ..suspected
    })
}

fn cut(quote: &str) -> String {
    match quote.char_indices().nth(LONGEST_QUOTE) {
        Some((end, _)) => format!("{}…", &quote[..end]),
        None => quote.to_owned(),
    }
}
