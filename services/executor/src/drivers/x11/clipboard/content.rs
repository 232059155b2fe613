//! Clipboard content in one or more representations.

use std::sync::Arc;

use x11rb::protocol::xproto::{Atom, AtomEnum};

use super::atoms::Atoms;

/// One representation of the content, with its target atom.
#[derive(Debug, Clone)]
pub(super) struct Representation {
    pub(super) target: Atom,
    pub(super) kind: Atom,
    /// Bits per unit: 8, 16 or 32.
    pub(super) format: u8,
    pub(super) data: Arc<[u8]>,
}

/// Content of a selection.
#[derive(Debug, Clone, Default)]
pub(super) struct Content {
    forms: Vec<Representation>,
}

impl Content {
    /// Creates text content in the representations that applications request.
    pub(super) fn text(text: &str, atoms: &Atoms) -> Self {
        let utf8: Arc<[u8]> = Arc::from(text.as_bytes());
        let form = |target: Atom, kind: Atom, data: &Arc<[u8]>| Representation {
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
        // STRING is Latin-1 by definition. It is left out if the text cannot be encoded so.
        if let Some(latin) = latin1(text) {
            let string = Atom::from(AtomEnum::STRING);
            forms.push(form(string, string, &Arc::from(latin)));
        }
        Self { forms }
    }

    pub(super) fn of_forms(forms: Vec<Representation>) -> Self {
        Self { forms }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.forms.is_empty()
    }

    pub(super) fn form(&self, target: Atom) -> Option<&Representation> {
        self.forms.iter().find(|form| form.target == target)
    }

    pub(super) fn forms(&self) -> impl Iterator<Item = &Representation> {
        self.forms.iter()
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

/// Returns whether a target describes a selection instead of containing its data.
pub(super) fn is_metadata_target(target: Atom, atoms: &Atoms) -> bool {
    [
        atoms.TARGETS,
        atoms.TIMESTAMP,
        atoms.MULTIPLE,
        atoms.SAVE_TARGETS,
        atoms.DELETE,
    ]
    .contains(&target)
}
