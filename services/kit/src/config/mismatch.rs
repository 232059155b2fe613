//! Words for a value of the wrong type, with the place of its key in the file.
//!
//! A key of the wrong type is often a misspelt one: `planner.backend` is a table, and `planner.backends` a list.
//!
//! It does not read values: its parent does.

use std::collections::BTreeSet;

use figment::error::Actual;
use toml::de::{DeTable, DeValue};

use super::reference::{NAME_PLACEHOLDER, TableReference};

/// Serde's name for a list that it expects.
pub(super) const LIST: &str = "a sequence";

/// Describes a value of the wrong type: what it is, what is expected, and the key that may be meant.
pub(super) fn describe(
    found: &Actual,
    expected: &str,
    key: &str,
    tables: &[TableReference],
) -> String {
    let remedy = match found {
        Actual::Str(text) if expected == LIST => format!("; write {}", list_of(text)),
        _ => {
            let form = table_form(expected, key, tables);
            let meant = meant_key(key, tables);
            let question = meant.map(|name| format!("; did you mean the setting `{name}`?"));
            form.unwrap_or_default() + &question.unwrap_or_default()
        }
    };
    let (found, expected) = (found_words(found), expected_words(expected));
    format!("{found} was found, and {expected} is expected{remedy}")
}

/// Returns how the table is written that is expected at a key.
fn table_form(expected: &str, key: &str, tables: &[TableReference]) -> Option<String> {
    let table = tables.iter().find(|table| is_at(table, key));
    let table = table.filter(|_| expected != LIST)?;
    Some(format!(", such as {}", table.header()))
}

/// Returns the line of a key in a TOML file, from 1, or that of the table that would have it.
pub(super) fn line_of(content: &str, key: &str) -> Option<usize> {
    let document = DeTable::parse(content).ok()?;
    let mut table = document.get_ref();
    let mut parts = key.split('.').peekable();
    let mut start = None;
    while let Some(part) = parts.next() {
        let entry = table.iter().find(|(name, _)| name.get_ref() == part);
        let Some((name, mut value)) = entry else {
            break;
        };
        start = Some(name.span().start);
        // The path of an element of a list has its index.
        while let (DeValue::Array(elements), Some(index)) = (value.get_ref(), parts.peek()) {
            value = elements.get(index.parse::<usize>().ok()?)?;
            start = Some(value.span().start);
            parts.next();
        }
        let DeValue::Table(inner) = value.get_ref() else {
            break;
        };
        table = inner;
    }
    start.map(|start| content[..start].matches('\n').count() + 1)
}

/// Returns true if a table is written at this key, also under a name of the user's own.
fn is_at(table: &TableReference, key: &str) -> bool {
    let rest = table.path.strip_prefix(key);
    rest.is_some_and(|rest| rest.is_empty() || rest.strip_prefix('.') == Some(NAME_PLACEHOLDER))
}

fn list_of(text: &str) -> String {
    match text {
        "" => "[]".to_owned(),
        text => format!("[\"{text}\"]"),
    }
}

fn found_words(found: &Actual) -> String {
    match found {
        Actual::Bool(value) => format!("`{value}`"),
        Actual::Unsigned(number) => format!("the number {number}"),
        Actual::Signed(number) => format!("the number {number}"),
        Actual::Float(number) => format!("the number {number}"),
        Actual::Str(text) => format!("the text \"{text}\""),
        Actual::Seq => "a list".to_owned(),
        Actual::Map => "a table".to_owned(),
        other => other.to_string(),
    }
}

fn expected_words(expected: &str) -> &str {
    match expected {
        LIST => "a list",
        "a map" => "a table",
        "a string" => "a text",
        "a boolean" => "`true` or `false`",
        "u8" | "u16" | "u32" | "u64" | "usize" | "i32" | "i64" => "a whole number",
        "f32" | "f64" => "a number",
        table if table.starts_with("struct ") => "a table",
        other => other,
    }
}

/// Returns the key of the same table that differs from this one by a typing error.
fn meant_key<'a>(key: &str, tables: &'a [TableReference]) -> Option<&'a str> {
    let (parent, own) = key.rsplit_once('.')?;
    let keys = tables.iter().flat_map(|table| &table.keys);
    let paths = tables.iter().map(|table| &table.path);
    let names: BTreeSet<&str> = paths
        .chain(keys.map(|key| &key.path))
        .filter_map(|path| {
            path.strip_prefix(parent)?
                .strip_prefix('.')?
                .split('.')
                .next()
        })
        .filter(|name| *name != own)
        .collect();
    closest(own, names)
}

/// Returns the name that another one is a misspelling of, if there is one.
pub(super) fn closest<'a>(
    misspelt: &str,
    names: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let distances = names
        .into_iter()
        .map(|name| (strsim::damerau_levenshtein(name, misspelt), name));
    let (distance, name) = distances.min()?;
    // Farther than two edits is more likely another word than a typing error. Names of three letters differ by two without
    // being meant for each other.
    (distance <= 2 && distance * 3 <= misspelt.len()).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_closest_name_differs_by_a_typing_error() {
        let names = ["listen", "log", "tls"];
        let check = |misspelt: &str, expected| assert_eq!(closest(misspelt, names), expected);
        check("lisetn", Some("listen"));
        check("listens", Some("listen"));
        check("list", None);
        check("lgo", Some("log"));
        check("tsl", Some("tls"));
        check("abc", None);
        assert_eq!(closest("x", []), None);
    }

    #[test]
    fn the_line_of_a_key_is_found_however_it_is_written() {
        let file = "a = 1\n[planner]\n# first\nbackend = ['x']\nx.y = 3\n[[planner.models]]\nname = 'n'\n[p.q]\nr = { s = 1 }\n";
        let check = |key: &str, line: Option<usize>| assert_eq!(line_of(file, key), line, "{key}");
        check("a", Some(1));
        check("planner", Some(2));
        check("planner.backend", Some(4));
        check("planner.x.y", Some(5));
        check("planner.models.0.name", Some(7));
        check("p.q.r.s", Some(9));
        check("planner.unset", Some(2));
        check("unset", None);
        assert_eq!(line_of("not TOML", "not"), None);
    }
}
