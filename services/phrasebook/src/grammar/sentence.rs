//! Splits a goal into fragments, one for each clause. Full stops, semicolons, line ends and words like `then` always
//! split; commas and words like `and` split only before a verb, because otherwise they join the items of a list.
//! Quoted text is one token and is never split.

use super::phrase::{self, longest, lookup, phrase_length};
use super::reader::{Reader, joiner_length};
use super::token::{Token, TokenKind};
use super::vocabulary::{self, Verb};
use motorium_text::characters::is_ideograph;

/// Relation of a fragment to the previous one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Join {
    /// A new sentence.
    Sentence,
    /// A continuation of the same sentence (`then`, `and`, a comma): the verb may be omitted.
    Continued,
}

/// A part of the goal that is expected to be one clause.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fragment<'a> {
    pub(super) words: Reader<'a>,
    pub(super) join: Join,
}

/// Marks that end a clause.
const STOPS: &[char] = &[';', '；', '。', '.', '!', '！', '?', '？', '\n'];
const BULLETS: &[&str] = &["-", "*", "•", "·", "–"];

/// Splits the goal into fragments.
pub(super) fn fragments<'a>(goal: &'a str, tokens: &'a [Token]) -> Vec<Fragment<'a>> {
    let mut fragments = Vec::new();
    let mut start = 0;
    let mut at = 0;
    let mut join = Join::Sentence;
    while at < tokens.len() {
        if at == start {
            at += introduction(&tokens[at..]);
            start = at;
            // The verb is skipped as a whole: some contain a joiner (`drag and drop`).
            at += verb_at(&tokens[at..]).map_or(0, |(_, length)| length);
            if at >= tokens.len() {
                break;
            }
        }
        match cut(tokens, start, at) {
            Some((length, next_join)) => {
                fragments.push(Fragment {
                    words: Reader::new(goal, &tokens[start..at]),
                    join,
                });
                at += length;
                start = at;
                join = next_join;
            }
            None => at += 1,
        }
    }
    fragments.push(Fragment {
        words: Reader::new(goal, &tokens[start.min(tokens.len())..]),
        join,
    });
    fragments.retain(|fragment| !fragment.words.trimmed().is_empty());
    fragments
}

/// Returns the number of separator tokens if the goal is split at `at`, and the relation of the next fragment.
fn cut(tokens: &[Token], start: usize, at: usize) -> Option<(usize, Join)> {
    let rest = &tokens[at..];
    if rest[0].is_mark(STOPS) {
        return Some((1, Join::Sentence));
    }
    let comma = usize::from(rest[0].is_mark(&[',', '，', '、']));
    if let Some(length) = longest(&rest[comma..], vocabulary::SEQUENCE)
        && at > start
    {
        return Some((comma + length, Join::Continued));
    }
    let length = joiner_length(rest)?;
    let follows = begins_clause(&rest[length..]) && !is_only_a_place(&tokens[start..at]);
    follows.then_some((length, Join::Continued))
}

/// Returns the number of leading tokens without meaning: numbering, bullets, politeness.
pub(super) fn introduction(tokens: &[Token]) -> usize {
    let mut at = 0;
    loop {
        let rest = &tokens[at..];
        let filler = longest(rest, vocabulary::FILLERS)
            .filter(|filler| verb_at(rest).is_none_or(|(_, verb)| verb <= *filler));
        let length = numbering(rest).or(filler).or_else(|| loose_mark(rest));
        match length {
            Some(length) if length < rest.len() => at += length,
            _ => return at,
        }
    }
}

fn loose_mark(tokens: &[Token]) -> Option<usize> {
    tokens
        .first()
        .filter(|token| token.is_mark(&[',', '，', ':', '：', '、']))
        .map(|_| 1)
}

/// Returns the length of a list number or bullet: `1.`, `2)`, `3、`, `step 4:`, `第五步`.
fn numbering(tokens: &[Token]) -> Option<usize> {
    let step = phrase_length(tokens, "step").unwrap_or(0);
    let word = tokens.get(step).and_then(Token::word);
    if word.is_some_and(|word| BULLETS.contains(&word)) {
        return Some(step + 1);
    }
    let digits = word.map(|word| word.trim_end_matches(')'));
    let is_number = digits.is_some_and(|digits| {
        !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
    });
    let has_bracket = word.is_some_and(|word| word.ends_with(')'));
    let has_mark = tokens
        .get(step + 1)
        .is_some_and(|token| token.is_mark(&['.', ':', '、', '：']));
    if is_number && (has_bracket || has_mark) {
        return Some(step + 1 + usize::from(has_mark));
    }
    let chinese = phrase_length(tokens, "第")?;
    let length = tokens[chinese..]
        .iter()
        // Step numbers of at most two characters (`第十二步`); further away `步` belongs to the sentence.
        .take(3)
        .position(|token| token.kind == TokenKind::Ideograph('步'))?;
    Some(chinese + length + 1)
}

/// Returns the verb at the start of the tokens, with its length.
pub(super) fn verb_at(tokens: &[Token]) -> Option<(Verb, usize)> {
    lookup(tokens, vocabulary::VERBS).or_else(|| modified_click(tokens).map(|(_, verb)| (verb, 1)))
}

/// Parses `ctrl+click`, `shift-click` into the modifier's name and the verb.
pub(super) fn modified_click(tokens: &[Token]) -> Option<(String, Verb)> {
    let word = tokens.first()?.word()?;
    let split = word.rfind(['+', '-'])?;
    let (modifiers, rest) = (&word[..split], &word[split + 1..]);
    let is_modifier = modifiers.split(['+', '-']).all(|name| {
        matches!(
            name,
            "ctrl" | "control" | "shift" | "alt" | "cmd" | "command" | "super" | "meta" | "win"
        )
    });
    let verb = vocabulary::VERBS
        .iter()
        .find(|(_, phrases)| phrases.contains(&rest))
        .map(|(verb, _)| *verb)?;
    (is_modifier && matches!(verb, Verb::Click(..))).then(|| (modifiers.replace('-', "+"), verb))
}

/// Returns whether a clause starts here: a verb with an object, or a location followed by a verb.
fn begins_clause(tokens: &[Token]) -> bool {
    let rest = &tokens[introduction(tokens)..];
    match verb_at(rest) {
        Some((verb, length)) => may_follow(verb, &rest[..length], &rest[length..]),
        None => split_place(rest).is_some(),
    }
}

/// Returns whether `behind` can be the object of the verb. An ambiguous word (a single Chinese character, a verb without the
/// object it needs) is treated as a name.
fn may_follow(verb: Verb, verb_tokens: &[Token], behind: &[Token]) -> bool {
    let Some(next) = behind.first().filter(|token| {
        !token.is_mark(STOPS) && joiner_length(std::slice::from_ref(token)).is_none()
    }) else {
        return stands_alone(verb)
            || matches!(verb_tokens, [token] if token.word() == Some("enter"));
    };
    let is_single_character = matches!(
        verb_tokens,
        [Token {
            kind: TokenKind::Ideograph(_),
            ..
        }]
    );
    !is_single_character
        || !matches!(next.kind, TokenKind::Ideograph(_))
        || longest(behind, vocabulary::AFTER_VERB).is_some()
        || verb == Verb::Press
        // `等` before `待` or `级` is part of a longer word (`等待`, `等级`).
        || matches!(verb, Verb::Wait)
            && phrase_length(behind, "待").is_none()
            && phrase_length(behind, "级").is_none()
}

/// Returns whether the verb needs no object.
fn stands_alone(verb: Verb) -> bool {
    matches!(
        verb,
        Verb::Back
            | Verb::Forward
            | Verb::Refresh
            | Verb::Undo
            | Verb::Redo
            | Verb::SelectAll
            | Verb::Copy
            | Verb::Cut
            | Verb::Paste
            | Verb::Wait
            | Verb::Scroll(_)
    )
}

/// A location phrase before its verb (`in the "Name" field, type …`, `在姓名中输入…`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LeadingLocation {
    /// Number of tokens of the introducing word.
    pub(super) coverb: usize,
    /// Index of the token after the element's name.
    pub(super) end: usize,
    /// Index of the verb.
    pub(super) verb: usize,
}

/// Finds a leading location phrase and the verb that it belongs to.
pub(super) fn split_place(tokens: &[Token]) -> Option<LeadingLocation> {
    let coverb = longest(tokens, vocabulary::COVERBS)?;
    let is_chinese = matches!(tokens[0].kind, TokenKind::Ideograph(_));
    let last = tokens
        .iter()
        .position(|token| token.is_mark(STOPS))
        .unwrap_or(tokens.len());
    let candidates = (coverb + 1..last).filter(|&at| verb_at(&tokens[at..last]).is_some());
    let places: Vec<LeadingLocation> = candidates
        .filter_map(|verb| place_until(tokens, coverb, verb, is_chinese))
        .collect();
    // A locative, a comma or a quote right before the verb is the most reliable sign of the end of the name.
    places
        .iter()
        .find(|place| place.is_marked(tokens))
        .or_else(|| places.first().filter(|_| is_chinese))
        .copied()
}

impl LeadingLocation {
    fn is_marked(&self, tokens: &[Token]) -> bool {
        self.end < self.verb
            || tokens[self.end - 1].is_quoted()
            || ends_in_noun(&tokens[..self.end])
    }
}

fn ends_in_noun(tokens: &[Token]) -> bool {
    phrase::lookup_at_end(tokens, vocabulary::NOUNS).is_some()
}

/// Returns the location phrase that ends before `verb`, unless the verb is part of a longer name.
fn place_until(
    tokens: &[Token],
    coverb: usize,
    verb: usize,
    is_chinese: bool,
) -> Option<LeadingLocation> {
    let inside_noun = (coverb..=verb).any(|from| {
        lookup(&tokens[from..], vocabulary::NOUNS)
            .is_some_and(|(_, length)| from + length > verb && from <= verb && length > 1)
    });
    let commas = tokens[coverb..verb]
        .iter()
        .filter(|token| token.is_mark(&[',', '，']))
        .count();
    let comma_before = tokens[verb - 1].is_mark(&[',', '，']);
    if is_chinese && inside_noun || commas > usize::from(comma_before) {
        return None;
    }
    let mut end = verb - usize::from(comma_before);
    if !is_chinese && phrase_length(&tokens[end - 1..], "to").is_some() {
        end -= 1;
    }
    end -= phrase::longest_at_end(&tokens[coverb..end], vocabulary::LOCATIVES).unwrap_or(0);
    (end > coverb).then_some(LeadingLocation { coverb, end, verb })
}

/// Returns whether the tokens are a location phrase without a verb yet.
fn is_only_a_place(tokens: &[Token]) -> bool {
    let rest = &tokens[introduction(tokens).min(tokens.len())..];
    let begins_with_one = longest(rest, vocabulary::COVERBS).is_some();
    let has_verb = (1..rest.len()).any(|at| verb_at(&rest[at..]).is_some());
    begins_with_one && !has_verb && verb_at(rest).is_none()
}

/// Returns the known verb most similar to a misspelled word.
pub(super) fn similar_verb(word: &str) -> Option<&'static str> {
    // Shorter words are one edit away from too many verbs; a single ideograph has no spelling to correct.
    let is_word = word.chars().count() >= 3 && !word.starts_with(is_ideograph);
    let phrases = vocabulary::VERBS
        .iter()
        .flat_map(|(_, phrases)| phrases.iter())
        .filter(|phrase| phrase.is_ascii());
    phrases
        .map(|phrase| (strsim::damerau_levenshtein(word, phrase), *phrase))
        // One edit for short verbs, two from 8 letters on: more would suggest unrelated verbs.
        .filter(|(distance, phrase)| is_word && *distance <= 1 + phrase.len() / 8)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, phrase)| phrase)
}
