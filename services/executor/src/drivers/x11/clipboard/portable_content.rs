//! Converts the content of a selection to and from a form that does not depend on the connection: atoms become names.

use motorium_x11::Connection;
use x11rb::protocol::xproto::{Atom, ConnectionExt as _};

use super::content::{Content, Representation};
use crate::drivers::Error;
use crate::drivers::clipboard_content::ClipboardRepresentation;
use crate::drivers::x11::connection::OrDisplayError as _;

/// Converts a content to a form that does not depend on the connection.
pub(super) fn export(
    link: &Connection,
    content: &Content,
) -> Result<Vec<ClipboardRepresentation>, Error> {
    let name = |atom: Atom| -> Result<String, Error> {
        let reply = link.x.get_atom_name(atom).or_display_error(link)?;
        let name = reply.reply().or_display_error(link)?.name;
        Ok(String::from_utf8_lossy(&name).into_owned())
    };
    let representation = |form: &Representation| {
        Ok(ClipboardRepresentation {
            target: name(form.target)?,
            kind: name(form.kind)?,
            format: form.format,
            data: form.data.to_vec(),
        })
    };
    content.forms().map(representation).collect()
}

/// Converts a content back.
pub(super) fn import(
    link: &Connection,
    representations: Vec<ClipboardRepresentation>,
) -> Result<Content, Error> {
    let atom = |name: &str| -> Result<Atom, Error> {
        let reply = link.x.intern_atom(false, name.as_bytes());
        Ok(reply
            .or_display_error(link)?
            .reply()
            .or_display_error(link)?
            .atom)
    };
    let form = |one: ClipboardRepresentation| {
        Ok(Representation {
            target: atom(&one.target)?,
            kind: atom(&one.kind)?,
            format: one.format,
            data: one.data.into(),
        })
    };
    let forms = representations.into_iter().map(form);
    forms.collect::<Result<_, _>>().map(Content::of_forms)
}
