//! Maps the classes of a model to kinds, from the names in its metadata.
//!
//! Exporters store them under the key `names`, as JSON (`{"0": "button"}`) or as a Python dict (`{0: 'button'}`).

use std::sync::LazyLock;

use motorium_proto::domain::element::ElementKind;
use regex::Regex;

/// Metadata key of the class names.
pub(super) const METADATA_KEY: &str = "names";

/// Number and name in either syntax.
static ENTRY: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r#"["']?(\d+)["']?\s*:\s*(?:"([^"]*)"|'([^']*)')"#).expect("the expression is valid")
});

/// Returns the kind of each of `count` classes. Unknown names become generic controls, and so does the only class of a
/// single-class model, whose name carries no information.
pub(super) fn kinds(names: Option<&str>, count: usize) -> Vec<ElementKind> {
    let mut kinds = vec![ElementKind::Control; count];
    if count == 1 {
        return kinds;
    }
    for entry in ENTRY.captures_iter(names.unwrap_or_default()) {
        let name = entry.get(2).or_else(|| entry.get(3));
        let name = name.map_or("", |name| name.as_str());
        let known = kind(name);
        let place = entry[1]
            .parse()
            .ok()
            .and_then(|index: usize| kinds.get_mut(index));
        if let (Some(place), Some(known)) = (place, known) {
            *place = known;
        }
    }
    kinds
}

/// Returns the kinds of classes that are given as a list, like [`kinds`].
pub(super) fn kinds_of_list(names: &[String]) -> Vec<ElementKind> {
    if names.len() == 1 {
        return vec![ElementKind::Control];
    }
    let kinds = names.iter().map(|name| kind(name));
    kinds
        .map(|kind| kind.unwrap_or(ElementKind::Control))
        .collect()
}

fn kind(name: &str) -> Option<ElementKind> {
    ElementKind::from_name(&name.trim().to_lowercase().replace([' ', '-'], "_"))
}

#[cfg(test)]
mod tests {
    use ElementKind::{Button, Control, TextField};

    use super::*;

    #[test]
    fn kinds_are_named_in_either_way_of_writing() {
        let check = |names: Option<&str>, expected: &[ElementKind]| {
            assert_eq!(kinds(names, expected.len()), expected, "{names:?}");
        };
        check(
            Some(r#"{"0": "button", "1": "text_field"}"#),
            &[Button, TextField],
        );
        check(Some("{0: 'Button', 1: 'text field'}"), &[Button, TextField]);
        check(
            Some(r#"{1: "button", 7: 'link', x: 'tab'}"#),
            &[Control, Button],
        );
        check(Some("{0: 'poodle', 1: 'button'}"), &[Control, Button]);
        check(Some("{0: 'icon'}"), &[Control]);
        check(Some("nonsense"), &[Control, Control]);
        check(None, &[Control, Control]);
    }

    #[test]
    fn lists_of_names_give_the_same_kinds() {
        let check = |names: &[&str], expected: &[ElementKind]| {
            let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
            assert_eq!(kinds_of_list(&names), expected, "{names:?}");
        };
        check(
            &["Button", "text field", "poodle"],
            &[Button, TextField, Control],
        );
        check(&["button"], &[Control]);
        check(&[], &[]);
    }
}
