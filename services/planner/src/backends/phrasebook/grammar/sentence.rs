//! Cuts a goal into fragments, one for each clause. Full stops, semicolons, line ends and words like `then` always
//! cut; commas and words like `and` cut only where a verb follows, because otherwise they join the things of a
//! list. What is quoted is one token and is never cut.

use super::phrase::{self, longest, lookup, phrase_length};
use super::reader::{Reader, joiner_length};
use super::token::{Token, TokenKind, is_ideograph};
use super::words::{self, Verb};

/// How a fragment hangs on the one before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Join {
    /// A sentence of its own.
    Sentence,
    /// The same sentence goes on (`then`, `and`, a comma): the verb may be left out.
    Continued,
}

/// A piece of the goal that should be a clause.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fragment<'a> {
    pub(super) words: Reader<'a>,
    pub(super) join: Join,
}

/// Marks that end a clause.
const STOPS: &[char] = &[';', '；', '。', '.', '!', '！', '?', '？', '\n'];
const BULLETS: &[&str] = &["-", "*", "•", "·", "–"];

/// Cuts the goal.
pub(super) fn fragments<'a>(goal: &'a str, tokens: &'a [Token]) -> Vec<Fragment<'a>> {
    let mut fragments = Vec::new();
    let mut start = 0;
    let mut at = 0;
    let mut join = Join::Sentence;
    while at < tokens.len() {
        if at == start {
            at += introduction(&tokens[at..]);
            start = at;
            // The verb is passed over as a whole: some hold a joining word (`drag and drop`).
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

/// Whether the goal is cut at `at`, how many tokens the cut takes away, and how the next fragment hangs on.
fn cut(tokens: &[Token], start: usize, at: usize) -> Option<(usize, Join)> {
    let rest = &tokens[at..];
    if rest[0].is_mark(STOPS) {
        return Some((1, Join::Sentence));
    }
    let comma = usize::from(rest[0].is_mark(&[',', '，', '、']));
    if let Some(length) = longest(&rest[comma..], words::SEQUENCE)
        && at > start
    {
        return Some((comma + length, Join::Continued));
    }
    let length = joiner_length(rest)?;
    let follows = begins_clause(&rest[length..]) && !is_only_a_place(&tokens[start..at]);
    follows.then_some((length, Join::Continued))
}

/// The length of what introduces a clause and says nothing: numbering, bullets, politeness.
pub(super) fn introduction(tokens: &[Token]) -> usize {
    let mut at = 0;
    loop {
        let rest = &tokens[at..];
        let filler = longest(rest, words::FILLERS)
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

/// `1.`, `2)`, `3、`, `step 4:`, `第五步`, a bullet.
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
        .take(3)
        .position(|token| token.kind == TokenKind::Ideograph('步'))?;
    Some(chinese + length + 1)
}

/// The verb at the beginning of the tokens, with its length.
pub(super) fn verb_at(tokens: &[Token]) -> Option<(Verb, usize)> {
    lookup(tokens, words::VERBS).or_else(|| modified_click(tokens).map(|(_, verb)| (verb, 1)))
}

/// `ctrl+click`, `shift-click`: the modifier's name and the verb.
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
    let verb = words::VERBS
        .iter()
        .find(|(_, phrases)| phrases.contains(&rest))
        .map(|(verb, _)| *verb)?;
    (is_modifier && matches!(verb, Verb::Click(..))).then(|| (modifiers.replace('-', "+"), verb))
}

/// Whether a clause begins here: a verb with something to act on, or a place with a verb behind it.
fn begins_clause(tokens: &[Token]) -> bool {
    let rest = &tokens[introduction(tokens)..];
    match verb_at(rest) {
        Some((verb, length)) => may_follow(verb, &rest[..length], &rest[length..]),
        None => split_place(rest).is_some(),
    }
}

/// Whether `behind` can be what the verb acts on. A word that only might be a verb (the single characters of
/// Chinese, a verb without the object it needs) is taken for a name.
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
        || longest(behind, words::AFTER_VERB).is_some()
        || verb == Verb::Press
        || matches!(verb, Verb::Wait)
            && phrase_length(behind, "待").is_none()
            && phrase_length(behind, "级").is_none()
}

/// Whether the verb needs no object.
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

/// A phrase of place before its verb (`in the "Name" field, type …`, `在姓名中输入…`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PlaceBefore {
    /// Tokens of the word that introduces it.
    pub(super) coverb: usize,
    /// Where the thing's name ends.
    pub(super) end: usize,
    /// Where the verb stands.
    pub(super) verb: usize,
}

/// Finds the phrase of place at the beginning, and the verb that it belongs to.
pub(super) fn split_place(tokens: &[Token]) -> Option<PlaceBefore> {
    let coverb = longest(tokens, words::COVERBS)?;
    let is_chinese = matches!(tokens[0].kind, TokenKind::Ideograph(_));
    let last = tokens
        .iter()
        .position(|token| token.is_mark(STOPS))
        .unwrap_or(tokens.len());
    let candidates = (coverb + 1..last).filter(|&at| verb_at(&tokens[at..last]).is_some());
    let places: Vec<PlaceBefore> = candidates
        .filter_map(|verb| place_until(tokens, coverb, verb, is_chinese))
        .collect();
    // A word of place, a comma or a quote right before the verb is the surest sign that the name is over.
    places
        .iter()
        .find(|place| place.is_marked(tokens))
        .or_else(|| places.first().filter(|_| is_chinese))
        .copied()
}

impl PlaceBefore {
    fn is_marked(&self, tokens: &[Token]) -> bool {
        self.end < self.verb
            || tokens[self.end - 1].is_quoted()
            || ends_in_noun(&tokens[..self.end])
    }
}

fn ends_in_noun(tokens: &[Token]) -> bool {
    phrase::lookup_at_end(tokens, words::NOUNS).is_some()
}

/// The phrase of place that ends before `verb`, unless the verb is a part of a longer name there.
fn place_until(
    tokens: &[Token],
    coverb: usize,
    verb: usize,
    is_chinese: bool,
) -> Option<PlaceBefore> {
    let inside_noun = (coverb..=verb).any(|from| {
        lookup(&tokens[from..], words::NOUNS)
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
    end -= phrase::longest_at_end(&tokens[coverb..end], words::LOCATIVES).unwrap_or(0);
    (end > coverb).then_some(PlaceBefore { coverb, end, verb })
}

/// Whether the tokens are a phrase of place that still waits for its verb.
fn is_only_a_place(tokens: &[Token]) -> bool {
    let rest = &tokens[introduction(tokens).min(tokens.len())..];
    let begins_with_one = longest(rest, words::COVERBS).is_some();
    let has_verb = (1..rest.len()).any(|at| verb_at(&rest[at..]).is_some());
    begins_with_one && !has_verb && verb_at(rest).is_none()
}

/// The verb's phrase that the word was probably meant to be.
pub(super) fn similar_verb(word: &str) -> Option<&'static str> {
    let is_word = word.chars().count() >= 3 && !word.starts_with(is_ideograph);
    let phrases = words::VERBS
        .iter()
        .flat_map(|(_, phrases)| phrases.iter())
        .filter(|phrase| phrase.is_ascii());
    phrases
        .map(|phrase| (strsim::damerau_levenshtein(word, phrase), *phrase))
        .filter(|(distance, phrase)| is_word && *distance <= 1 + phrase.len() / 8)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, phrase)| phrase)
}
