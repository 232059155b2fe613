//! Detects text on the screen that gives the agent orders (prompt injection), without a model and for every backend.
//! Reports of the model about the same screen are kept too.
//!
//! - [`rules`]: the lists and rules of `words.toml`
//! - [`mod@paragraphs`]: joins lines, since an order may span several
//!
//! It decides and hides nothing. As a word list, it misses whatever the lists do not contain: `docs/policy.md` has its
//! precision and recall. Invariant: no text beside an order exempts it. Only words that a person wrote to the task do.

pub mod paragraphs;
pub mod rules;

use std::ops::{Range, RangeInclusive};
use std::sync::LazyLock;

use motorium_proto::domain::decision::SuspectedInjection;
use motorium_proto::domain::geometry::CaptureRect;
use motorium_proto::service::PlanRequest;
use motorium_text::fold::{without_leetspeak, without_letter_spacing, words};

use paragraphs::{Line, paragraphs};
use rules::Rules;

/// Maximum length of a quote, in characters: it is shown to the user.
const MAX_QUOTE_CHARS: usize = 300;
/// Maximum number of quotes per screen: they are shown to the user.
const MAX_SUSPECTS: usize = 8;

static RULES: LazyLock<Rules> = LazyLock::new(Rules::default);

/// Another form of a line, which may be disguised; `None` if it is the same.
type TextForm = fn(&str) -> Option<String>;
/// Forms in which an order is searched: as written, with letters for digits, and without spaces between letters.
const TEXT_FORMS: [TextForm; 3] = [
    |line| Some(line.to_owned()),
    without_leetspeak,
    without_letter_spacing,
];

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
    // Long paragraphs overlap, so that an order may be found in two of them.
    let found = on_screen.chain(in_titles).collect();
    let mut found = union(Vec::new(), found);
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

/// Returns the texts that people wrote to the task. What a model wrote in their place is none: it may have it from a page.
fn own_words(request: &PlanRequest) -> Vec<Vec<String>> {
    if request.written_by_model {
        return request
            .person_texts
            .iter()
            .map(|text| words(text))
            .collect();
    }
    let texts = [&request.goal, &request.instructions].into_iter();
    let texts = texts.chain(&request.user_messages);
    texts.map(|text| words(text)).collect()
}

/// Returns the lines of a paragraph that contain an order.
fn suspect(paragraph: &[Line<'_>], own: &[Vec<String>]) -> Option<SuspectedInjection> {
    let mut forms = TEXT_FORMS.iter();
    let lines = forms.find_map(|form| order_in(paragraph, *form, own))?;
    let lines = &paragraph[lines];
    let quote: Vec<&str> = lines.iter().map(|line| line.text.trim()).collect();
    let bounds = lines.iter().map(|line| line.bounds);
    Some(SuspectedInjection {
        quote: cut(&quote.join(" ")),
        bounds: bounds.reduce(|one, other| one.union(&other)),
    })
}

/// Returns the numbers of the lines that contain an order that is not the user's, if they are read this way.
fn order_in(
    paragraph: &[Line<'_>],
    form: TextForm,
    own: &[Vec<String>],
) -> Option<RangeInclusive<usize>> {
    let forms: Vec<Option<String>> = paragraph.iter().map(|line| form(line.text)).collect();
    if forms.iter().all(Option::is_none) {
        return None;
    }
    let mut all = Vec::new();
    let mut line_of = Vec::new();
    for (number, (line, form)) in paragraph.iter().zip(&forms).enumerate() {
        all.extend(words(form.as_deref().unwrap_or(line.text)));
        line_of.resize(all.len(), number);
    }
    let is_own = |order: &Range<usize>| own.iter().any(|own| holds(own, &all[order.clone()]));
    let order = RULES.find(&all).find(|order| !is_own(order))?;
    Some(line_of[order.start]..=line_of[order.end - 1])
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
