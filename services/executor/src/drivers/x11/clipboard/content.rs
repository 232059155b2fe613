//! What can be on a clipboard: one thing in several forms.

use std::sync::Arc;

use x11rb::protocol::xproto::{Atom, AtomEnum};

use super::super::link::Link;
use super::owner::Atoms;
use crate::drivers::Error;

/// One form of the content, under the name by which it is asked for.
#[derive(Debug, Clone)]
pub(super) struct Form {
    pub(super) target: Atom,
    pub(super) kind: Atom,
    /// Bits of a unit: 8, 16 or 32.
    pub(super) format: u8,
    pub(super) data: Arc<[u8]>,
}

/// What is offered.
#[derive(Debug, Clone, Default)]
pub(super) struct Content {
    forms: Vec<Form>,
}

impl Content {
    /// A text, in the forms in which applications ask for text.
    pub(super) fn text(text: &str, atoms: &Atoms) -> Self {
        let utf8: Arc<[u8]> = Arc::from(text.as_bytes());
        let form = |target: Atom, kind: Atom, data: &Arc<[u8]>| Form {
            target,
            kind,
            format: 8,
            data: data.clone(),
        };
        let mut forms = vec![
            form(atoms.UTF8_STRING, atoms.UTF8_STRING, &utf8),
            form(atoms.PLAIN_UTF8, atoms.PLAIN_UTF8, &utf8),
            form(atoms.TEXT, atoms.UTF8_STRING, &utf8),
        ];
        // STRING is Latin-1 by definition, and left out rather than falsified.
        if let Some(latin) = latin1(text) {
            let string = Atom::from(AtomEnum::STRING);
            forms.push(form(string, string, &Arc::from(latin)));
        }
        Self { forms }
    }

    pub(super) fn of_forms(forms: Vec<Form>) -> Self {
        Self { forms }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.forms.is_empty()
    }

    pub(super) fn form(&self, target: Atom) -> Option<&Form> {
        self.forms.iter().find(|form| form.target == target)
    }

    pub(super) fn targets(&self) -> impl Iterator<Item = Atom> {
        self.forms.iter().map(|form| form.target)
    }
}

fn latin1(text: &str) -> Option<Vec<u8>> {
    text.chars()
        .map(|character| u8::try_from(u32::from(character)).ok())
        .collect()
}

/// Names of targets that describe a selection instead of giving it.
pub(super) fn is_about_the_selection(target: Atom, atoms: &Atoms) -> bool {
    [
        atoms.TARGETS,
        atoms.TIMESTAMP,
        atoms.MULTIPLE,
        atoms.SAVE_TARGETS,
        atoms.DELETE,
    ]
    .contains(&target)
}

/// The atoms' names are looked up once per connection.
pub(super) fn look_up(link: &Link) -> Result<Atoms, Error> {
    let lost = |error: x11rb::errors::ReplyError| link.error(error);
    Atoms::new(&link.x)
        .map_err(|error| link.error(error))?
        .reply()
        .map_err(lost)
}
