//! Lexicon: the meanings of texts, from word lists in `lexicon.toml` or a user's file.
//!
//! Word lists miss whatever they do not contain. Callers therefore also look up the surroundings of a target and the planner's
//! intent, and users can replace the lists. Decisions are made by the policy, not here.

use std::collections::{BTreeMap, BTreeSet};

use motorium_proto::domain::key::Key;
use serde::Deserialize;

use crate::commands;
use crate::fold::{self, NormalisedText};

/// The built-in lexicon.
pub const DEFAULT: &str = include_str!("lexicon.toml");

/// Names of meanings as policies refer to them, for example `pay` or `delete`.
pub type Meanings = BTreeSet<String>;

/// Meaning of affirmations such as `OK`, which take their effect from the surrounding text.
pub const AFFIRM: &str = "affirm";
/// Meaning of texts that run a program or grant a permission.
pub const GRANT: &str = "grant";
/// Meaning of texts that delete something.
pub const DELETE: &str = "delete";
/// Meaning of texts that cost money.
pub const PAY: &str = "pay";

/// Entry of `[icons]` for icons that control what is shown or played.
const CONTROL_ICON: &str = "control";

/// Minimum length of a word that is recognised in pieces, in characters. Shorter ones arise from ordinary adjacent words.
const MIN_SPLIT_CHARS: usize = 6;
/// Minimum length if one piece is a single letter, which is rarely a word of its own.
const MIN_SPLIT_CHARS_WITH_LETTER: usize = 4;
/// Minimum length of a stem and of the rest of the word, in bytes.
const MIN_STEM_BYTES: usize = 4;
/// Suffixes that form a noun, which does not request an action.
const NOUN_SUFFIXES: [&str; 6] = ["ation", "ance", "ment", "able", "ings", "ness"];
/// Maximum number of pieces of a split word.
// Two cuts, as disguises have them; with each further piece, ordinary words side by side make up a listed one more often.
const MAX_PIECES: usize = 3;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct LexiconFile {
    meanings: BTreeMap<String, PhraseLists>,
    #[serde(default)]
    commands: BTreeMap<String, Vec<String>>,
    #[serde(default)]
    shell: Shell,
    #[serde(default)]
    drops: BTreeMap<String, Vec<String>>,
    #[serde(default)]
    icons: BTreeMap<String, Vec<String>>,
    #[serde(default)]
    keys: Vec<KeyBindingEntry>,
    #[serde(default)]
    sites: BTreeMap<String, Vec<String>>,
    #[serde(default)]
    applications: BTreeMap<String, Vec<String>>,
}

#[derive(Debug, Deserialize, Default)]
#[serde(default, deny_unknown_fields)]
struct PhraseLists {
    anywhere: Vec<String>,
    first: Vec<String>,
    whole: Vec<String>,
    phrases: Vec<String>,
    not: Vec<String>,
}

#[derive(Debug, Deserialize, Default)]
#[serde(default, deny_unknown_fields)]
struct Shell {
    runners: Vec<String>,
    arguments: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct KeyBindingEntry {
    chord: String,
    meaning: String,
    #[serde(default)]
    applications: Vec<String>,
}

/// An error in a lexicon file.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{0}")]
    Malformed(#[from] toml::de::Error),
    #[error("`{written}` in [[keys]] is not a valid key chord: {problem}")]
    InvalidChord { written: String, problem: String },
}

/// A parsed lexicon.
#[derive(Debug, Clone)]
pub struct Lexicon {
    meanings: Vec<(String, PhraseMatcher)>,
    commands: Vec<(String, Vec<NormalisedText>)>,
    /// Programs that run the command in their arguments.
    runners: Vec<String>,
    /// Names of function arguments that contain commands.
    command_arguments: Vec<NormalisedText>,
    drops: Vec<(String, Vec<NormalisedText>)>,
    icons: Vec<(String, Vec<NormalisedText>)>,
    keys: Vec<KeyBinding>,
    sites: Vec<(String, Vec<String>)>,
    applications: Vec<(String, Vec<String>)>,
}

#[derive(Debug, Clone, Default)]
struct PhraseMatcher {
    anywhere: BTreeSet<String>,
    first: Vec<NormalisedText>,
    whole: Vec<NormalisedText>,
    phrases: Vec<NormalisedText>,
    not: Vec<NormalisedText>,
}

#[derive(Debug, Clone)]
struct KeyBinding {
    keys: BTreeSet<String>,
    meaning: String,
    applications: Vec<String>,
}

impl Default for Lexicon {
    fn default() -> Self {
        Self::read(DEFAULT).expect("the lists of the crate are read by its tests")
    }
}

impl Lexicon {
    /// Parses a lexicon file.
    ///
    /// # Errors
    /// If it does not have the format of `lexicon.toml`.
    pub fn read(text: &str) -> Result<Self, Error> {
        let file: LexiconFile = toml::from_str(text)?;
        let plain = |lists: BTreeMap<String, Vec<String>>| {
            let lists = lists.into_iter();
            lists
                .map(|(meaning, list)| (meaning, normalise_all(&list)))
                .collect::<Vec<_>>()
        };
        Ok(Self {
            meanings: file
                .meanings
                .into_iter()
                .map(|(meaning, lists)| (meaning, PhraseMatcher::of(&lists)))
                .collect(),
            commands: plain(file.commands),
            runners: file.shell.runners,
            command_arguments: normalise_all(&file.shell.arguments),
            drops: plain(file.drops),
            icons: plain(file.icons),
            keys: file
                .keys
                .into_iter()
                .map(KeyBinding::of)
                .collect::<Result<_, _>>()?,
            sites: lower(file.sites),
            applications: lower(file.applications),
        })
    }

    /// Returns the meanings of a label.
    #[must_use]
    pub fn meanings_of_label(&self, text: &str) -> Meanings {
        self.meanings_of(text, true)
    }

    /// Returns the meanings of a sentence. Unlike in a label, a first word such as `order` may be a noun and is ignored.
    #[must_use]
    pub fn meanings_of_sentence(&self, text: &str) -> Meanings {
        self.meanings_of(text, false)
    }

    /// Returns the meanings of an icon by its name. A bin icon deletes, while a link with the text `Trash` only navigates.
    #[must_use]
    pub fn meanings_of_icon(&self, name: &str) -> Meanings {
        let plain = NormalisedText::of(name);
        matching(&self.icons, |list| list.contains(&plain))
    }

    /// Returns true for the name of an icon that controls what is shown or played, and confirms nothing.
    #[must_use]
    pub fn is_control_icon(&self, name: &str) -> bool {
        self.meanings_of_icon(name).contains(CONTROL_ICON)
    }

    /// Returns the meanings of a function's name. A word may be a prefix there, as in `deletefile`.
    #[must_use]
    pub fn meanings_of_function(&self, name: &str) -> Meanings {
        let plain = NormalisedText::of(name);
        let mut meanings = self.meanings_of_label(name);
        let begin = self.meanings.iter().filter(|(_, known)| {
            let words = plain.words.iter();
            let mut stems = words.filter_map(|word| known.stem_of(word));
            stems.next().is_some()
        });
        meanings.extend(begin.map(|(meaning, _)| meaning.clone()));
        meanings
    }

    /// Returns true if a function argument of this name contains a command.
    #[must_use]
    pub fn is_command(&self, argument: &str) -> bool {
        self.command_arguments
            .contains(&NormalisedText::of(argument))
    }

    /// Returns the meanings of a text as written, and with digits and signs read as letters (`D3lete`).
    fn meanings_of(&self, text: &str, is_label: bool) -> Meanings {
        // Both readings count, so that a digit can only add a meaning: `4` in `Delete 4 files` takes none away.
        let mut meanings = self.found_in(&NormalisedText::of(text), is_label);
        if let Some(undisguised) = fold::without_leetspeak(text) {
            meanings.extend(self.found_in(&NormalisedText::of(&undisguised), is_label));
        }
        meanings
    }

    fn found_in(&self, plain: &NormalisedText, is_label: bool) -> Meanings {
        let found = self.meanings.iter().filter(|(_, known)| {
            let plain = known
                .not
                .iter()
                // Exceptions are removed and do not end the search, because the same text may have another word: `Pay
                // for order history`.
                .fold(plain.clone(), |plain, not| plain.without(not));
            known.matches(&plain, is_label)
        });
        found.map(|(meaning, _)| meaning.clone()).collect()
    }

    /// Returns the meanings of a terminal command.
    #[must_use]
    pub fn meanings_of_command(&self, line: &str) -> Meanings {
        let commands = commands::commands(line, &self.runners);
        let is_meant = |list: &[NormalisedText]| {
            commands
                .iter()
                .any(|command| list.iter().any(|known| commands::matches(command, known)))
        };
        matching(&self.commands, is_meant)
    }

    /// Returns the meanings of a line that is certainly a command. Unlike for other terminal text, hidden programs and
    /// overwritten files count, too.
    #[must_use]
    pub fn meanings_of_typed_command(&self, line: &str) -> Meanings {
        let hidden = commands::has_hidden_program(line, &self.runners).then_some(GRANT);
        let lost = commands::overwrites(line).then_some(DELETE);
        let mut meanings = self.meanings_of_command(line);
        meanings.extend(hidden.into_iter().chain(lost).map(str::to_owned));
        meanings
    }

    /// Returns the meanings of dropping something on a target with this text.
    #[must_use]
    pub fn meanings_of_drop(&self, text: &str) -> Meanings {
        let plain = NormalisedText::of(text);
        matching(&self.drops, |list| {
            list.iter().any(|known| plain.contains(known))
        })
    }

    /// Returns the meanings of a key chord in an application of these categories.
    #[must_use]
    pub fn meanings_of_keys(&self, keys: &[Key], applications: &BTreeSet<String>) -> Meanings {
        let struck = chord_keys(keys);
        let known = self.keys.iter().filter(|known| {
            let there = known.applications.is_empty()
                || known
                    .applications
                    .iter()
                    .any(|kind| applications.contains(kind));
            there && known.keys == struck
        });
        known.map(|known| known.meaning.clone()).collect()
    }

    /// Returns the categories of a host.
    #[must_use]
    pub fn sites(&self, host: &str) -> BTreeSet<String> {
        let host = host.trim_end_matches('.').to_lowercase();
        let is_there = |list: &[String]| list.iter().any(|pattern| covers(pattern, &host));
        matching(&self.sites, is_there)
    }

    /// Returns the categories of an application.
    #[must_use]
    pub fn applications(&self, name: &str) -> BTreeSet<String> {
        let name = name.to_lowercase();
        let name = name.strip_suffix(".exe").unwrap_or(&name);
        // The last part of an application id such as `org.kde.konsole`.
        let own = name.rsplit('.').next().unwrap_or(name);
        matching(&self.applications, |list| {
            let begins = |known: &String| {
                name.starts_with(known.as_str()) || own.starts_with(known.as_str())
            };
            list.iter().any(begins)
        })
    }
}

impl PhraseMatcher {
    fn of(lists: &PhraseLists) -> Self {
        Self {
            anywhere: normalise_all(&lists.anywhere)
                .into_iter()
                .flat_map(|plain| plain.words)
                .collect(),
            first: normalise_all(&lists.first),
            whole: normalise_all(&lists.whole),
            phrases: normalise_all(&lists.phrases),
            not: normalise_all(&lists.not),
        }
    }

    fn matches(&self, plain: &NormalisedText, is_label: bool) -> bool {
        let stands = plain.words.iter().any(|word| self.anywhere.contains(word));
        let is_split = (2..=MAX_PIECES)
            .flat_map(|pieces| plain.words.windows(pieces))
            .any(|pieces| self.matches_split_word(pieces));
        let is_all = is_label && self.whole.contains(plain);
        let begins_so = is_label && self.first.iter().any(|first| begins(plain, first));
        let says = self.phrases.iter().any(|phrase| plain.contains(phrase));
        stands || is_split || is_all || begins_so || says
    }

    fn matches_split_word(&self, pieces: &[String]) -> bool {
        let word = pieces.concat();
        let has_a_letter = pieces.iter().any(|piece| piece.chars().nth(1).is_none());
        let min_chars = if has_a_letter {
            MIN_SPLIT_CHARS_WITH_LETTER
        } else {
            MIN_SPLIT_CHARS
        };
        word.chars().count() >= min_chars && self.anywhere.contains(&word)
    }

    /// Returns the listed word that is a prefix of a compound: `delete` in `deletefile`, but not `install` in `installation`.
    fn stem_of(&self, word: &str) -> Option<&String> {
        let mut stems = self.anywhere.iter();
        stems.find(|stem| {
            let rest = word.strip_prefix(stem.as_str()).unwrap_or_default();
            stem.len() >= MIN_STEM_BYTES
                && rest.len() >= MIN_STEM_BYTES
                && !NOUN_SUFFIXES.iter().any(|ending| rest.starts_with(ending))
        })
    }
}

impl KeyBinding {
    fn of(written: KeyBindingEntry) -> Result<Self, Error> {
        let chord = Key::parse_chord("chord", &written.chord);
        let chord = chord.map_err(|problem| Error::InvalidChord {
            written: written.chord.clone(),
            problem: problem.description,
        })?;
        Ok(Self {
            keys: chord_keys(&chord),
            meaning: written.meaning,
            applications: written.applications,
        })
    }
}

fn normalise_all(list: &[String]) -> Vec<NormalisedText> {
    list.iter().map(|text| NormalisedText::of(text)).collect()
}

fn lower(lists: BTreeMap<String, Vec<String>>) -> Vec<(String, Vec<String>)> {
    let lower = |list: Vec<String>| list.iter().map(|text| text.to_lowercase()).collect();
    lists
        .into_iter()
        .map(|(name, list)| (name, lower(list)))
        .collect()
}

fn matching<T>(lists: &[(String, Vec<T>)], is_meant: impl Fn(&[T]) -> bool) -> Meanings {
    let meant = lists.iter().filter(|(_, list)| is_meant(list));
    meant.map(|(meaning, _)| meaning.clone()).collect()
}

/// Returns true if a text begins with a phrase. A phrase without words never matches.
fn begins(plain: &NormalisedText, phrase: &NormalisedText) -> bool {
    !phrase.words.is_empty() && plain.words.starts_with(&phrase.words)
}

/// Returns true if a pattern matches a host or a parent domain of it.
fn covers(pattern: &str, host: &str) -> bool {
    let (wanted, labels): (Vec<&str>, Vec<&str>) =
        (pattern.split('.').collect(), host.split('.').collect());
    match wanted.as_slice() {
        // `*bank*`: any label except the top-level domain.
        [one] => labels[..labels.len().saturating_sub(1)]
            .iter()
            .any(|label| matches_wildcard(one, label)),
        // `pay.*`: the first label of a host with at least three labels.
        [first, "*"] => labels.len() > 2 && matches_wildcard(first, labels[0]),
        ["*", rest @ .., "*"] if !rest.is_empty() => {
            labels.windows(rest.len()).skip(1).any(|row| {
                row.iter()
                    .zip(rest)
                    .all(|(label, one)| matches_wildcard(one, label))
            })
        }
        ["*", rest @ ..] => ends_with(&labels, rest),
        all => ends_with(&labels, all),
    }
}

fn ends_with(labels: &[&str], wanted: &[&str]) -> bool {
    let Some(skipped) = labels.len().checked_sub(wanted.len()) else {
        return false;
    };
    labels[skipped..]
        .iter()
        .zip(wanted)
        .all(|(label, one)| matches_wildcard(one, label))
}

/// Matches a label. `*` at the start or end of a pattern matches anything.
fn matches_wildcard(pattern: &str, label: &str) -> bool {
    match (pattern.strip_prefix('*'), pattern.strip_suffix('*')) {
        (Some(_), Some(_)) => label.contains(pattern.trim_matches('*')),
        (Some(end), None) => label.ends_with(end),
        (None, Some(beginning)) => label.starts_with(beginning),
        (None, None) => label == pattern,
    }
}

/// Returns the keys of a chord as a US keyboard has them, as a set. A planner may write `ctrl+V` or `ctrl+м` for `ctrl+v`.
pub fn chord_keys(keys: &[Key]) -> BTreeSet<String> {
    Key::on_us_keyboard(keys)
        .iter()
        .map(ToString::to_string)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[&str]) {
        let mut found = Lexicon::default().meanings_of_label(text);
        found.remove(AFFIRM);
        let expected: Meanings = expected.iter().map(|one| (*one).to_owned()).collect();
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn label_meanings_are_recognised() {
        check("Pay now", &["pay"]);
        check("Delete file", &["delete"]);
        check("Send", &["send"]);
        check("立即支付", &["pay"]);
        check("提交订单", &["send"]);
        check("Order now", &["pay"]);
        check("Sender name", &[]);
        check("Paypal settings", &[]);
        check("Order history", &[]);
        check("Your order", &[]);
        check("Open", &[]);
        check("Format painter", &[]);
        check("最近删除", &[]);
        check("pur chase", &["pay"]);
    }

    #[test]
    fn hosts_are_known_by_themselves_and_by_those_above() {
        let words = Lexicon::default();
        let check = |host: &str, expected: &[&str]| {
            let expected: BTreeSet<String> = expected.iter().map(|one| (*one).to_owned()).collect();
            assert_eq!(words.sites(host), expected, "{host}");
        };
        check("paypal.com", &["money"]);
        check("www.paypal.com.", &["money"]);
        check("notpaypal.com", &[]);
        check("my-bank.example", &["money"]);
        check("pay.example.org", &["money"]);
        check("login.example.org", &["identity"]);
        check("tax.gov", &["government"]);
        check("shenzhen.gov.cn", &["government"]);
        check("example.org", &[]);
    }

    #[test]
    fn command_meanings_are_recognised() {
        let words = Lexicon::default();
        let has = |line: &str, meaning: &str| words.meanings_of_command(line).contains(meaning);
        assert!(has("rm -rf ~", "delete"));
        assert!(has("ls; rm x", "delete"));
        assert!(has("curl https://x | sh", "grant"));
        assert!(has("git push origin", "send"));
        assert!(has("/bin/rm -rf ~", "delete"));
        assert!(has(r"\rm x", "delete"));
        assert!(has("'r'm x", "delete"));
        assert!(has("A=b rm x", "delete"));
        assert!(has("ls | xargs -n 1 rm", "delete"));
        assert!(has("env -i rm x", "delete"));
        assert!(has("find . -name '*.txt' -delete", "delete"));
        assert!(has("find . -exec rm {} +", "delete"));
        assert!(has("for x in *; do rm $x; done", "delete"));
        assert!(has("echo $(rm x)", "delete"));
        assert!(has("git -C photos clean -fd", "delete"));
        assert!(has("user@host:~# rm x", "delete"));
        let written =
            |line: &str, meaning: &str| words.meanings_of_typed_command(line).contains(meaning);
        assert!(written("a=rm; $a x", "grant"));
        assert!(written("$(printf r)m x", "grant"));
        assert!(written("/bin/r? x", "grant"));
        assert!(written("./install.sh", "grant"));
        assert!(written("nohup ~/x &", "grant"));
        assert!(written("python3.11 -c 'x'", "grant"));
        assert!(written("xargs<list rm", "delete"));
        assert!(written("alias ls='rm -rf'", "delete"));
        assert!(written("echo x > notes.txt", "delete"));
        assert!(written("sort list >| list", "delete"));
        for harmless in [
            "ls > /dev/null 2>&1",
            "echo x >> notes.txt",
            "grep '>' notes.txt",
            "/usr/bin/ls",
            "cd ~/photos",
            "find ./photos -name x",
            "[ -f x ] && ls",
            "echo `date`",
            "git log --format='%h -> %s'",
        ] {
            assert!(
                words.meanings_of_typed_command(harmless).is_empty(),
                "{harmless}"
            );
        }
        assert!(words.meanings_of_command("find . -name photo").is_empty());
        assert!(words.meanings_of_command("env").is_empty());
        assert!(words.meanings_of_command("ls -la && echo rm").is_empty());
        assert!(words.meanings_of_command("git status").is_empty());
    }
}
