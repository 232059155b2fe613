//! Detects text on the screen that gives the agent orders (prompt injection), without a model and for every backend.
//! Reports of the model about the same screen are kept too.
//!
//! - [`rules`]: the lists and rules of `words.toml`
//! - [`paragraphs`]: joins lines, since an order may span several
//!
//! It decides and hides nothing. As a word list, it misses whatever the lists do not contain.

pub mod paragraphs;
pub mod rules;

use std::sync::LazyLock;

use motorium_proto::domain::decision::SuspectedInjection;
use motorium_proto::domain::geometry::CaptureRect;
use motorium_proto::service::PlanRequest;
use motorium_text::fold::words;

use paragraphs::{Line, paragraphs};
use rules::Rules;

/// Maximum length of a quote, in characters: it is shown to the user.
const MAX_QUOTE_CHARS: usize = 300;
/// Maximum number of quotes per screen: they are shown to the user.
const MAX_SUSPECTS: usize = 8;

static RULES: LazyLock<Rules> = LazyLock::new(Rules::default);

/// Returns the suspected injections on the request's screen. Text that the user wrote in the task is exempt.
#[must_use]
pub fn suspected_injections(request: &PlanRequest) -> Vec<SuspectedInjection> {
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
    found.truncate(MAX_SUSPECTS);
    found
}

/// Merges both lists without duplicates.
#[must_use]
pub fn union(
    mut reported: Vec<SuspectedInjection>,
    found: Vec<SuspectedInjection>,
) -> Vec<SuspectedInjection> {
    for suspect in found {
        if !reported.iter().any(|other| is_same(other, &suspect)) {
            reported.push(suspect);
        }
    }
    reported
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

/// Returns the lines of a paragraph that contain an order.
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

/// Checks a window title, which has no bounding box on the screen.
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
    match quote.char_indices().nth(MAX_QUOTE_CHARS) {
        Some((end, _)) => format!("{}…", &quote[..end]),
        None => quote.to_owned(),
    }
}
