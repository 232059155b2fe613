//! What texts mean, by lists of words: the file `words.toml`, or one that a user wrote.
//!
//! A list is no understanding: what it does not know it does not find. That is why the surroundings and the purpose that
//! the planner gives are looked at as well, and why the lists are the user's to change. Nothing is decided here.

use std::collections::{BTreeMap, BTreeSet};

use motorium_proto::domain::key::Key;
use serde::Deserialize;

use super::text::{self, Plain};
use super::{commands, situation};

/// The lists that come with Motorium.
pub(super) const DEFAULT: &str = include_str!("words.toml");

/// A meaning, as the rules call it: `pay`, `delete` …
pub type Meanings = BTreeSet<String>;

/// The meaning of words that say yes to whatever stands beside them.
pub(super) const AFFIRM: &str = "affirm";
/// The meaning of what lets something run or gives a right away.
pub(super) const GRANT: &str = "grant";
/// The meaning of what throws something away.
pub(super) const DELETE: &str = "delete";
/// The meaning of what costs money.
pub(super) const PAY: &str = "pay";

/// Words in pieces are known from so many letters on.
const LEAST_SPLIT: usize = 6;
/// The same where one piece is a single letter, which is seldom a word.
const LEAST_SPLIT_AT_A_LETTER: usize = 4;
/// A word that another one begins with, and what is left of that one, have at least so many letters.
const LEAST_STEM: usize = 4;
/// Endings that make a noun of a word.
const ENDINGS: [&str; 6] = ["ation", "ance", "ment", "able", "ings", "ness"];
/// Into so many pieces a word may be split.
const MOST_PIECES: usize = 3;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    meanings: BTreeMap<String, Lists>,
    #[serde(default)]
    commands: BTreeMap<String, Vec<String>>,
    #[serde(default)]
    shell: Shell,
    #[serde(default)]
    drops: BTreeMap<String, Vec<String>>,
    #[serde(default)]
    icons: BTreeMap<String, Vec<String>>,
    #[serde(default)]
    keys: Vec<KeysAsWritten>,
    #[serde(default)]
    sites: BTreeMap<String, Vec<String>>,
    #[serde(default)]
    applications: BTreeMap<String, Vec<String>>,
}

#[derive(Debug, Deserialize, Default)]
#[serde(default, deny_unknown_fields)]
struct Lists {
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
struct KeysAsWritten {
    chord: String,
    meaning: String,
    #[serde(default)]
    applications: Vec<String>,
}

/// What is wrong with a file of words.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{0}")]
    Malformed(#[from] toml::de::Error),
    #[error("`{written}` of [[keys]] is no chord: {problem}")]
    NoChord { written: String, problem: String },
}

/// The lists, ready to be asked.
#[derive(Debug, Clone)]
pub struct Words {
    meanings: Vec<(String, Known)>,
    commands: Vec<(String, Vec<Plain>)>,
    /// Programs that run what is named behind them.
    runners: Vec<String>,
    /// Arguments of functions that hold commands.
    command_arguments: Vec<Plain>,
    drops: Vec<(String, Vec<Plain>)>,
    icons: Vec<(String, Vec<Plain>)>,
    keys: Vec<KnownKeys>,
    sites: Vec<(String, Vec<String>)>,
    applications: Vec<(String, Vec<String>)>,
}

#[derive(Debug, Clone, Default)]
struct Known {
    anywhere: BTreeSet<String>,
    first: Vec<Plain>,
    whole: Vec<Plain>,
    phrases: Vec<Plain>,
    not: Vec<Plain>,
}

#[derive(Debug, Clone)]
struct KnownKeys {
    keys: BTreeSet<String>,
    meaning: String,
    applications: Vec<String>,
}

impl Default for Words {
    fn default() -> Self {
        Self::read(DEFAULT).expect("the lists of the crate are read by its tests")
    }
}

impl Words {
    /// Reads a file of words.
    ///
    /// # Errors
    /// If it is not of the form of `words.toml`.
    pub fn read(text: &str) -> Result<Self, Error> {
        let file: File = toml::from_str(text)?;
        let plain = |lists: BTreeMap<String, Vec<String>>| {
            let lists = lists.into_iter();
            lists
                .map(|(meaning, list)| (meaning, all(&list)))
                .collect::<Vec<_>>()
        };
        Ok(Self {
            meanings: file
                .meanings
                .into_iter()
                .map(|(meaning, lists)| (meaning, Known::of(&lists)))
                .collect(),
            commands: plain(file.commands),
            runners: file.shell.runners,
            command_arguments: all(&file.shell.arguments),
            drops: plain(file.drops),
            icons: plain(file.icons),
            keys: file
                .keys
                .into_iter()
                .map(KnownKeys::of)
                .collect::<Result<_, _>>()?,
            sites: lower(file.sites),
            applications: lower(file.applications),
        })
    }

    /// What the words on something mean.
    #[must_use]
    pub fn of_label(&self, text: &str) -> Meanings {
        self.meanings_of(text, true)
    }

    /// What a sentence means: there a word that begins it is no order.
    #[must_use]
    pub fn of_sentence(&self, text: &str) -> Meanings {
        self.meanings_of(text, false)
    }

    /// What a pictogram means, by the name that it was given: that of a bin deletes, where a link that says `Trash` only leads
    /// there.
    #[must_use]
    pub fn of_icon(&self, name: &str) -> Meanings {
        let plain = Plain::of(name);
        meant(&self.icons, |list| list.contains(&plain))
    }

    /// What the name of a function means: there a word may begin another one, `deletefile`.
    #[must_use]
    pub fn of_function(&self, name: &str) -> Meanings {
        let plain = Plain::of(name);
        let mut meanings = self.of_label(name);
        let begin = self.meanings.iter().filter(|(_, known)| {
            let words = plain.words.iter();
            let mut stems = words.filter_map(|word| known.begun_by(word));
            stems.next().is_some()
        });
        meanings.extend(begin.map(|(meaning, _)| meaning.clone()));
        meanings
    }

    /// Whether an argument of a function holds commands, by its name.
    #[must_use]
    pub fn is_command(&self, argument: &str) -> bool {
        self.command_arguments.contains(&Plain::of(argument))
    }

    /// What is written, and what it reads like where figures and signs stand for letters: `D3lete`.
    fn meanings_of(&self, text: &str, is_label: bool) -> Meanings {
        let mut meanings = self.found_in(&Plain::of(text), is_label);
        if let Some(undisguised) = text::undisguised(text) {
            meanings.extend(self.found_in(&Plain::of(&undisguised), is_label));
        }
        meanings
    }

    fn found_in(&self, plain: &Plain, is_label: bool) -> Meanings {
        let found = self.meanings.iter().filter(|(_, known)| {
            let plain = known
                .not
                .iter()
                .fold(plain.clone(), |plain, not| plain.without(not));
            known.is_in(&plain, is_label)
        });
        found.map(|(meaning, _)| meaning.clone()).collect()
    }

    /// What a command means that is entered into a terminal.
    #[must_use]
    pub fn of_command(&self, line: &str) -> Meanings {
        let commands = commands::commands(line, &self.runners);
        let is_meant = |list: &[Plain]| {
            commands
                .iter()
                .any(|command| list.iter().any(|known| commands::is(command, known)))
        };
        meant(&self.commands, is_meant)
    }

    /// The same for a line that somebody has written as a command, and not for what else a terminal shows: then it counts
    /// as well what it hides, and what it writes over.
    #[must_use]
    pub fn of_written_command(&self, line: &str) -> Meanings {
        let hidden = commands::hides_a_program(line, &self.runners).then_some(GRANT);
        let lost = commands::overwrites(line).then_some(DELETE);
        let mut meanings = self.of_command(line);
        meanings.extend(hidden.into_iter().chain(lost).map(str::to_owned));
        meanings
    }

    /// What it means to drop something on what is called so.
    #[must_use]
    pub fn of_drop(&self, text: &str) -> Meanings {
        let plain = Plain::of(text);
        meant(&self.drops, |list| {
            list.iter().any(|known| plain.contains(known))
        })
    }

    /// What a chord means in an application of these kinds.
    #[must_use]
    pub fn of_keys(&self, keys: &[Key], applications: &BTreeSet<String>) -> Meanings {
        let struck = situation::struck(keys);
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

    /// What a host is for.
    #[must_use]
    pub fn sites(&self, host: &str) -> BTreeSet<String> {
        let host = host.trim_end_matches('.').to_lowercase();
        let is_there = |list: &[String]| list.iter().any(|pattern| covers(pattern, &host));
        meant(&self.sites, is_there)
    }

    /// What an application is for.
    #[must_use]
    pub fn applications(&self, name: &str) -> BTreeSet<String> {
        let name = name.to_lowercase();
        let name = name.strip_suffix(".exe").unwrap_or(&name);
        // `org.kde.konsole`
        let own = name.rsplit('.').next().unwrap_or(name);
        meant(&self.applications, |list| {
            let begins = |known: &String| {
                name.starts_with(known.as_str()) || own.starts_with(known.as_str())
            };
            list.iter().any(begins)
        })
    }
}

impl Known {
    fn of(lists: &Lists) -> Self {
        Self {
            anywhere: all(&lists.anywhere)
                .into_iter()
                .flat_map(|plain| plain.words)
                .collect(),
            first: all(&lists.first),
            whole: all(&lists.whole),
            phrases: all(&lists.phrases),
            not: all(&lists.not),
        }
    }

    fn is_in(&self, plain: &Plain, is_label: bool) -> bool {
        let stands = plain.words.iter().any(|word| self.anywhere.contains(word));
        let is_split = (2..=MOST_PIECES)
            .flat_map(|pieces| plain.words.windows(pieces))
            .any(|pieces| self.is_in_pieces(pieces));
        let is_all = is_label && self.whole.contains(plain);
        let begins_so = is_label && self.first.iter().any(|first| begins(plain, first));
        let says = self.phrases.iter().any(|phrase| plain.contains(phrase));
        stands || is_split || is_all || begins_so || says
    }

    fn is_in_pieces(&self, pieces: &[String]) -> bool {
        let word = pieces.concat();
        let has_a_letter = pieces.iter().any(|piece| piece.chars().nth(1).is_none());
        let least = if has_a_letter {
            LEAST_SPLIT_AT_A_LETTER
        } else {
            LEAST_SPLIT
        };
        word.chars().count() >= least && self.anywhere.contains(&word)
    }

    /// The word of the list that another one begins with, and that is a word of its own there: `delete` in `deletefile`, not
    /// `install` in `installation`.
    fn begun_by(&self, word: &str) -> Option<&String> {
        let mut stems = self.anywhere.iter();
        stems.find(|stem| {
            let rest = word.strip_prefix(stem.as_str()).unwrap_or_default();
            stem.len() >= LEAST_STEM
                && rest.len() >= LEAST_STEM
                && !ENDINGS.iter().any(|ending| rest.starts_with(ending))
        })
    }
}

impl KnownKeys {
    fn of(written: KeysAsWritten) -> Result<Self, Error> {
        let chord = Key::parse_chord("chord", &written.chord);
        let chord = chord.map_err(|problem| Error::NoChord {
            written: written.chord.clone(),
            problem: problem.description,
        })?;
        Ok(Self {
            keys: situation::struck(&chord),
            meaning: written.meaning,
            applications: written.applications,
        })
    }
}

fn all(list: &[String]) -> Vec<Plain> {
    list.iter().map(|text| Plain::of(text)).collect()
}

fn lower(lists: BTreeMap<String, Vec<String>>) -> Vec<(String, Vec<String>)> {
    let lower = |list: Vec<String>| list.iter().map(|text| text.to_lowercase()).collect();
    lists
        .into_iter()
        .map(|(name, list)| (name, lower(list)))
        .collect()
}

fn meant<T>(lists: &[(String, Vec<T>)], is_meant: impl Fn(&[T]) -> bool) -> Meanings {
    let meant = lists.iter().filter(|(_, list)| is_meant(list));
    meant.map(|(meaning, _)| meaning.clone()).collect()
}

/// Whether a text begins so; a phrase without words begins nothing.
fn begins(plain: &Plain, phrase: &Plain) -> bool {
    !phrase.words.is_empty() && plain.words.starts_with(&phrase.words)
}

/// Whether a pattern means a host or one above it.
fn covers(pattern: &str, host: &str) -> bool {
    let (wanted, labels): (Vec<&str>, Vec<&str>) =
        (pattern.split('.').collect(), host.split('.').collect());
    match wanted.as_slice() {
        // `*bank*`: in any label but the last, which is no name.
        [one] => labels[..labels.len().saturating_sub(1)]
            .iter()
            .any(|label| is_like(one, label)),
        // `pay.*`: the first label, of a host with a name behind it.
        [first, "*"] => labels.len() > 2 && is_like(first, labels[0]),
        ["*", rest @ .., "*"] if !rest.is_empty() => labels
            .windows(rest.len())
            .skip(1)
            .any(|row| row.iter().zip(rest).all(|(label, one)| is_like(one, label))),
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
        .all(|(label, one)| is_like(one, label))
}

/// `*` at the ends of a pattern stands for anything.
fn is_like(pattern: &str, label: &str) -> bool {
    match (pattern.strip_prefix('*'), pattern.strip_suffix('*')) {
        (Some(_), Some(_)) => label.contains(pattern.trim_matches('*')),
        (Some(end), None) => label.ends_with(end),
        (None, Some(beginning)) => label.starts_with(beginning),
        (None, None) => label == pattern,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[&str]) {
        let mut found = Words::default().of_label(text);
        found.remove(AFFIRM);
        let expected: Meanings = expected.iter().map(|one| (*one).to_owned()).collect();
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn labels_mean_what_they_say() {
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
        let words = Words::default();
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
    fn commands_mean_what_their_programs_do() {
        let words = Words::default();
        let has = |line: &str, meaning: &str| words.of_command(line).contains(meaning);
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
        let written = |line: &str, meaning: &str| words.of_written_command(line).contains(meaning);
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
            assert!(words.of_written_command(harmless).is_empty(), "{harmless}");
        }
        assert!(words.of_command("find . -name photo").is_empty());
        assert!(words.of_command("env").is_empty());
        assert!(words.of_command("ls -la && echo rm").is_empty());
        assert!(words.of_command("git status").is_empty());
    }
}
