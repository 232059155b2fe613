//! The owner's side of the selection protocol (ICCCM, section 2): takes selections, answers requests, reads others'.
//!
//! Large content goes piece by piece (`INCR`), in both directions. Everything waits with a limit: a foreign owner or
//! requestor that falls silent costs a moment, never the thread.

use std::sync::{MutexGuard, PoisonError};
use std::time::Duration;

use rustix::fd::BorrowedFd;
use tokio::time::Instant;
use x11rb::connection::Connection as _;
use x11rb::errors::ReplyError;
use x11rb::protocol::Event;
use x11rb::protocol::xproto::{
    Atom, AtomEnum, ChangeWindowAttributesAux, ConnectionExt as _, CreateWindowAux, EventMask,
    PropMode, Property, PropertyNotifyEvent, SELECTION_NOTIFY_EVENT, SelectionClearEvent,
    SelectionNotifyEvent, SelectionRequestEvent, Timestamp, Window, WindowClass,
};
use x11rb::wrapper::ConnectionExt as _;

use super::content::{Content, Form, is_about_the_selection, look_up};
use super::paste::{self, Asked, Seen};
use super::{Selection, SharedSeen};
use crate::drivers::Error;
use crate::drivers::x11::link::{Link, OrLost};

x11rb::atom_manager! {
    /// Names of selections, of forms and of the protocol's own properties.
    pub(super) Atoms: AtomsCookie {
        CLIPBOARD,
        PRIMARY,
        TARGETS,
        TIMESTAMP,
        MULTIPLE,
        SAVE_TARGETS,
        DELETE,
        INCR,
        UTF8_STRING,
        TEXT,
        PLAIN_UTF8: b"text/plain;charset=utf-8",
        _MOTORIUM_SELECTION,
        _MOTORIUM_TIME,
    }
}

/// More than this goes piece by piece. Safely below the smallest request limit of the core protocol (256 KiB).
const LARGEST_WHOLE: usize = 200_000;
/// One piece.
const PIECE: usize = 64 * 1024;
/// How long a foreign owner is given to hand over one form of its content.
const OWNER_PATIENCE: Duration = Duration::from_millis(500);
/// How long it is given in all. What has not been handed over by then is not put back.
const SAVING_PATIENCE: Duration = Duration::from_millis(1500);
/// What is saved at most, in bytes. A copied film is not held in memory for the sake of a paste.
const LARGEST_SAVED: usize = 32 * 1024 * 1024;
/// So long after a paste, and after whatever is asked for later, the former content is put back.
const RESTORE_AFTER: Duration = Duration::from_secs(1);
/// However often it is asked for, a lent text is not offered longer than this after its paste.
const RESTORE_LATEST: Duration = Duration::from_secs(3);
/// The name of the window with which Chromium, and whatever is built on it, asks for selections.
const CHROMIUM: &[u8] = b"Chromium clipboard";
/// How many times Chromium fetches the text in one paste: for its window, and for its page.
const CHROMIUM_FETCHES: u32 = 2;
/// A transfer whose requestor has fallen silent.
const TRANSFER_PATIENCE: Duration = Duration::from_secs(5);

/// One selection, as far as it is ours.
#[derive(Debug)]
struct Held {
    selection: Selection,
    atom: Atom,
    /// What we offer; `None` if somebody else owns it.
    offered: Option<Offer>,
    /// What was there before a text was lent; `None` if nothing is lent. Empty content stands for no owner.
    former: Option<Content>,
    /// What was lent when somebody else became the owner.
    taken_over: Option<Content>,
}

#[derive(Debug)]
struct Offer {
    content: Content,
    since: Timestamp,
}

/// Content on its way to a requestor, piece by piece.
#[derive(Debug)]
struct Transfer {
    requestor: Window,
    property: Atom,
    form: Form,
    sent: usize,
    last_progress: Instant,
}

/// Owns the selections of one display.
#[derive(Debug)]
pub(super) struct Owner {
    link: Link,
    window: Window,
    atoms: Atoms,
    held: [Held; 2],
    transfers: Vec<Transfer>,
    /// The bits of a window's identifier that tell which client it belongs to.
    client_bits: u32,
    seen: SharedSeen,
    restore_at: Option<Instant>,
    restore_latest: Option<Instant>,
}

impl Owner {
    pub(super) fn new(link: Link, client_bits: u32, seen: SharedSeen) -> Result<Self, Error> {
        let atoms = look_up(&link)?;
        let window = link.x.generate_id().or_lost(&link)?;
        let events = CreateWindowAux::new().event_mask(EventMask::PROPERTY_CHANGE);
        link.x
            .create_window(
                0,
                window,
                link.root,
                0,
                0,
                1,
                1,
                0,
                WindowClass::INPUT_ONLY,
                0,
                &events,
            )
            .or_lost(&link)?;
        let held = Selection::ALL.map(|selection| {
            let atom = match selection {
                Selection::Clipboard => atoms.CLIPBOARD,
                Selection::Primary => atoms.PRIMARY,
            };
            Held {
                selection,
                atom,
                offered: None,
                former: None,
                taken_over: None,
            }
        });
        Ok(Self {
            link,
            window,
            atoms,
            held,
            transfers: Vec::new(),
            client_bits,
            seen,
            restore_at: None,
            restore_latest: None,
        })
    }

    /// Offers a text for one paste.
    pub(super) fn lend(&mut self, selection: Selection, text: &str) -> Result<(), Error> {
        let slot = self.slot(selection);
        if self.held[slot].former.is_none() {
            self.held[slot].former = Some(self.save(slot)?);
        }
        self.forget_restore();
        let content = Content::text(text, &self.atoms);
        self.take(slot, content)
    }

    /// Offers a text for good.
    pub(super) fn set(&mut self, text: &str) -> Result<(), Error> {
        let slot = self.slot(Selection::Clipboard);
        self.held[slot].former = None;
        let content = Content::text(text, &self.atoms);
        self.take(slot, content)
    }

    /// Lets the former content be put back after a while, because the paste it was lent for is over.
    pub(super) fn release(&mut self) -> Result<(), Error> {
        if self.is_lent() {
            let now = Instant::now();
            self.restore_at = Some(now + RESTORE_AFTER);
            self.restore_latest = Some(now + RESTORE_LATEST);
        }
        Ok(())
    }

    /// Whether whoever has taken a lent text over offers the same text.
    pub(super) fn is_offered_elsewhere(&mut self) -> Result<bool, Error> {
        for slot in 0..self.held.len() {
            let Some(lent) = self.held[slot].taken_over.take() else {
                continue;
            };
            let atom = self.held[slot].atom;
            let text = self.atoms.UTF8_STRING;
            let offered = self.fetch(atom, text)?;
            let is_same = offered
                .zip(lent.form(text))
                .is_some_and(|(a, b)| a.data == b.data);
            if !is_same {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn is_lent(&self) -> bool {
        self.held.iter().any(|held| held.former.is_some())
    }

    /// Puts the former content of every lent selection back.
    pub(super) fn restore(&mut self) -> Result<(), Error> {
        self.forget_restore();
        for slot in 0..self.held.len() {
            let Some(former) = self.held[slot].former.take() else {
                continue;
            };
            // Somebody who has copied something in the meantime is not interfered with.
            if self.held[slot].offered.is_none() {
                continue;
            }
            if former.is_empty() {
                self.renounce(slot)?;
            } else {
                self.take(slot, former)?;
            }
        }
        Ok(())
    }

    /// Handles what has come in; says when there is something to do without anything coming in.
    pub(super) fn turn(&mut self) -> Result<Option<Instant>, Error> {
        while let Some(event) = self.link.x.poll_for_event().or_lost(&self.link)? {
            self.handle(&event)?;
        }
        if self.restore_at.is_some_and(|due| due <= Instant::now()) {
            self.restore()?;
        }
        self.transfers
            .retain(|transfer| transfer.last_progress.elapsed() < TRANSFER_PATIENCE);
        self.link.flush()?;
        Ok(self.restore_at)
    }

    /// Waits for the server, the bell, or the due time.
    pub(super) fn wait(&self, bell: BorrowedFd<'_>, due: Option<Instant>) -> Result<(), Error> {
        let limit = due.map(|due| due.saturating_duration_since(Instant::now()));
        self.link.wait(Some(bell), limit)
    }

    fn forget_restore(&mut self) {
        self.restore_at = None;
        self.restore_latest = None;
    }

    fn slot(&self, selection: Selection) -> usize {
        self.held
            .iter()
            .position(|held| held.selection == selection)
            .expect("there is a slot for each selection")
    }

    // === Owning ===

    fn take(&mut self, slot: usize, content: Content) -> Result<(), Error> {
        let since = self.server_time()?;
        let atom = self.held[slot].atom;
        self.link
            .x
            .set_selection_owner(self.window, atom, since)
            .or_lost(&self.link)?;
        let owner = self.owner_of(atom)?;
        if owner != self.window {
            return Err(Error::ClipboardRefused {
                cause: "another program keeps it".to_owned(),
            });
        }
        self.held[slot].offered = Some(Offer { content, since });
        self.held[slot].taken_over = None;
        self.lock_seen().taken_over = false;
        Ok(())
    }

    fn renounce(&mut self, slot: usize) -> Result<(), Error> {
        let time = self.server_time()?;
        self.link
            .x
            .set_selection_owner(x11rb::NONE, self.held[slot].atom, time)
            .or_lost(&self.link)?;
        self.held[slot].offered = None;
        self.link.flush()
    }

    fn owner_of(&self, atom: Atom) -> Result<Window, Error> {
        Ok(self
            .link
            .x
            .get_selection_owner(atom)
            .or_lost(&self.link)?
            .reply()
            .or_lost(&self.link)?
            .owner)
    }

    /// The server's clock, which the protocol wants selections to be taken at.
    fn server_time(&mut self) -> Result<Timestamp, Error> {
        let property = self.atoms._MOTORIUM_TIME;
        self.link
            .x
            .change_property8(
                PropMode::APPEND,
                self.window,
                property,
                AtomEnum::STRING,
                &[],
            )
            .or_lost(&self.link)?;
        let window = self.window;
        let time = self.pump(OWNER_PATIENCE, |event| match event {
            Event::PropertyNotify(notify) if notify.window == window && notify.atom == property => {
                Some(notify.time)
            }
            _ => None,
        })?;
        time.ok_or_else(|| Error::ClipboardRefused {
            cause: "the display does not tell the time".to_owned(),
        })
    }

    // === Answering ===

    fn handle(&mut self, event: &Event) -> Result<(), Error> {
        match event {
            Event::SelectionRequest(request) => self.answer(request),
            Event::SelectionClear(clear) => {
                self.lose(clear);
                Ok(())
            }
            Event::PropertyNotify(notify) if notify.state == Property::DELETE => {
                self.continue_transfer(notify)
            }
            // A requestor may vanish at any time; requests that concern it then fail, and that is all.
            _ => Ok(()),
        }
    }

    fn lose(&mut self, clear: &SelectionClearEvent) {
        let concerned = self.held.iter_mut().find(|h| h.atom == clear.selection);
        // A clear that is older than our own taking concerns an earlier ownership.
        let Some((held, offer)) = concerned.and_then(|held| {
            let offer = held.offered.take_if(|o| !is_before(clear.time, o.since))?;
            Some((held, offer))
        }) else {
            return;
        };
        if held.former.take().is_some() {
            held.taken_over = Some(offer.content);
            self.lock_seen().taken_over = true;
        }
    }

    fn answer(&mut self, request: &SelectionRequestEvent) -> Result<(), Error> {
        // Old clients leave the property out and mean one of the target's name.
        let property = if request.property == x11rb::NONE {
            request.target
        } else {
            request.property
        };
        let given = self.give(request, property)?;
        let notify = SelectionNotifyEvent {
            response_type: SELECTION_NOTIFY_EVENT,
            sequence: 0,
            time: request.time,
            requestor: request.requestor,
            selection: request.selection,
            target: request.target,
            property: if given.is_some() {
                property
            } else {
                x11rb::NONE
            },
        };
        self.link
            .x
            .send_event(false, request.requestor, EventMask::NO_EVENT, notify)
            .or_lost(&self.link)?;
        match given {
            Some(Given::Whole) => self.note_text(request.requestor),
            _ => {
                self.note(request.requestor, Asked::Else);
                Ok(())
            }
        }
    }

    /// Puts the form that is asked for where the requestor wants it, or the first sign of a transfer in pieces.
    fn give(
        &mut self,
        request: &SelectionRequestEvent,
        property: Atom,
    ) -> Result<Option<Given>, Error> {
        let Some(offer) = self
            .held
            .iter()
            .find(|held| held.atom == request.selection)
            .and_then(|held| held.offered.as_ref())
        else {
            return Ok(None);
        };
        let (x, requestor) = (&self.link.x, request.requestor);
        if request.target == self.atoms.TARGETS {
            let targets: Vec<Atom> = [self.atoms.TARGETS, self.atoms.TIMESTAMP]
                .into_iter()
                .chain(offer.content.targets())
                .collect();
            x.change_property32(
                PropMode::REPLACE,
                requestor,
                property,
                AtomEnum::ATOM,
                &targets,
            )
            .or_lost(&self.link)?;
            return Ok(Some(Given::Description));
        }
        if request.target == self.atoms.TIMESTAMP {
            x.change_property32(
                PropMode::REPLACE,
                requestor,
                property,
                AtomEnum::INTEGER,
                &[offer.since],
            )
            .or_lost(&self.link)?;
            return Ok(Some(Given::Description));
        }
        let Some(form) = offer.content.form(request.target).cloned() else {
            return Ok(None);
        };
        if form.data.len() <= LARGEST_WHOLE {
            put(&self.link, requestor, property, &form, &form.data)?;
            return Ok(Some(Given::Whole));
        }
        let events = ChangeWindowAttributesAux::new().event_mask(EventMask::PROPERTY_CHANGE);
        x.change_window_attributes(requestor, &events)
            .or_lost(&self.link)?;
        let size = u32::try_from(form.data.len()).unwrap_or(u32::MAX);
        x.change_property32(
            PropMode::REPLACE,
            requestor,
            property,
            self.atoms.INCR,
            &[size],
        )
        .or_lost(&self.link)?;
        let transfer = Transfer {
            requestor,
            property,
            form,
            sent: 0,
            last_progress: Instant::now(),
        };
        self.transfers.push(transfer);
        Ok(Some(Given::Announced))
    }

    /// The requestor has taken a piece away: the next one, or the empty one that says that it was all.
    fn continue_transfer(&mut self, notify: &PropertyNotifyEvent) -> Result<(), Error> {
        let is_it = |transfer: &Transfer| {
            transfer.requestor == notify.window && transfer.property == notify.atom
        };
        let Some(position) = self.transfers.iter().position(is_it) else {
            return Ok(());
        };
        let transfer = &mut self.transfers[position];
        let piece =
            &transfer.form.data[transfer.sent..transfer.form.data.len().min(transfer.sent + PIECE)];
        put(
            &self.link,
            transfer.requestor,
            transfer.property,
            &transfer.form,
            piece,
        )?;
        transfer.sent += piece.len();
        transfer.last_progress = Instant::now();
        if piece.is_empty() {
            let done = self.transfers.swap_remove(position);
            return self.note_text(done.requestor);
        }
        self.note(notify.window, Asked::Else);
        Ok(())
    }

    /// Notes that somebody has the whole text now.
    fn note_text(&mut self, requestor: Window) -> Result<(), Error> {
        let name = self
            .link
            .x
            .get_property(false, requestor, AtomEnum::WM_NAME, AtomEnum::ANY, 0, 16)
            .or_lost(&self.link)?;
        // The injector may strike the next key as soon as it sees the note, on another connection. The server has to
        // have done ours before, which the answer shows; an error is one too.
        let is_chromium = match name.reply() {
            Ok(name) => name.value == CHROMIUM,
            Err(ReplyError::X11Error(_)) => false,
            Err(error) => return Err(self.link.error(error)),
        };
        let times = if is_chromium { CHROMIUM_FETCHES } else { 1 };
        self.note(requestor, Asked::Text { times });
        Ok(())
    }

    fn note(&mut self, requestor: Window, asked: Asked) {
        let now = Instant::now();
        let client = requestor & self.client_bits;
        paste::note(&mut self.lock_seen().askers, client, asked, now);
        if let Some(latest) = self.restore_latest {
            self.restore_at = Some(latest.min(now + RESTORE_AFTER));
        }
    }

    fn lock_seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    // === Reading what somebody else offers ===

    /// Everything that the present owner offers, in all its forms; empty if there is no owner or it does not answer.
    fn save(&mut self, slot: usize) -> Result<Content, Error> {
        if let Some(offer) = &self.held[slot].offered {
            return Ok(offer.content.clone());
        }
        let selection = self.held[slot].atom;
        if self.owner_of(selection)? == x11rb::NONE {
            return Ok(Content::default());
        }
        let end = Instant::now() + SAVING_PATIENCE;
        let names = self.atoms.TARGETS;
        let targets = self
            .fetch(selection, names)?
            .map(|form| atoms_of(&form.data))
            .unwrap_or_default();
        let (mut forms, mut bytes, mut left_out) = (Vec::new(), 0, 0);
        for target in targets {
            if is_about_the_selection(target, &self.atoms) {
                continue;
            }
            let has_room = bytes < LARGEST_SAVED && Instant::now() < end;
            match if has_room {
                self.fetch(selection, target)?
            } else {
                None
            } {
                Some(form) => {
                    bytes += form.data.len();
                    forms.push(form);
                }
                None => left_out += 1,
            }
        }
        if left_out > 0 {
            tracing::debug!(
                left_out,
                "some forms of the former clipboard cannot be put back"
            );
        }
        Ok(Content::of_forms(forms))
    }

    /// One form of what the present owner offers; `None` if it does not have it or does not answer.
    fn fetch(&mut self, selection: Atom, target: Atom) -> Result<Option<Form>, Error> {
        let property = self.atoms._MOTORIUM_SELECTION;
        let time = self.server_time()?;
        self.link
            .x
            .delete_property(self.window, property)
            .or_lost(&self.link)?;
        self.link
            .x
            .convert_selection(self.window, selection, target, property, time)
            .or_lost(&self.link)?;
        let window = self.window;
        let answer = self.pump(OWNER_PATIENCE, |event| match event {
            Event::SelectionNotify(notify)
                if notify.requestor == window && notify.target == target =>
            {
                Some(notify.property)
            }
            _ => None,
        })?;
        if answer.is_none_or(|property| property == x11rb::NONE) {
            return Ok(None);
        }
        let (kind, format, data) = self.take_property(property)?;
        if kind != self.atoms.INCR {
            return Ok(Some(Form {
                target,
                kind,
                format,
                data: data.into(),
            }));
        }
        self.fetch_pieces(target, property)
    }

    fn fetch_pieces(&mut self, target: Atom, property: Atom) -> Result<Option<Form>, Error> {
        let mut whole = Vec::new();
        loop {
            let window = self.window;
            let arrived = self.pump(OWNER_PATIENCE, |event| match event {
                Event::PropertyNotify(notify)
                    if notify.window == window
                        && notify.atom == property
                        && notify.state == Property::NEW_VALUE =>
                {
                    Some(())
                }
                _ => None,
            })?;
            if arrived.is_none() {
                return Ok(None);
            }
            let (kind, format, piece) = self.take_property(property)?;
            if piece.is_empty() {
                return Ok(Some(Form {
                    target,
                    kind,
                    format,
                    data: whole.into(),
                }));
            }
            whole.extend(piece);
            if whole.len() > LARGEST_SAVED {
                return Ok(None);
            }
        }
    }

    /// Reads a property of our window and deletes it, which also asks for the next piece.
    fn take_property(&self, property: Atom) -> Result<(Atom, u8, Vec<u8>), Error> {
        let most = u32::try_from(LARGEST_SAVED / 4).unwrap_or(u32::MAX);
        let reply = self
            .link
            .x
            .get_property(true, self.window, property, AtomEnum::ANY, 0, most)
            .or_lost(&self.link)?
            .reply()
            .or_lost(&self.link)?;
        Ok((reply.type_, reply.format, reply.value))
    }

    /// Handles events until one is what is waited for; `None` after `limit`.
    fn pump<T>(
        &mut self,
        limit: Duration,
        mut is_it: impl FnMut(&Event) -> Option<T>,
    ) -> Result<Option<T>, Error> {
        let end = Instant::now() + limit;
        self.link.flush()?;
        loop {
            while let Some(event) = self.link.x.poll_for_event().or_lost(&self.link)? {
                if let Some(found) = is_it(&event) {
                    return Ok(Some(found));
                }
                self.handle(&event)?;
            }
            self.link.flush()?;
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(None);
            }
            self.link.wait(None, Some(left))?;
        }
    }
}

/// What a requestor was given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Given {
    /// Facts about the selection.
    Description,
    /// The content.
    Whole,
    /// The announcement that the content will come in pieces.
    Announced,
}

/// The server's clock wraps around every 49 days.
fn is_before(time: Timestamp, other: Timestamp) -> bool {
    time.wrapping_sub(other).cast_signed() < 0
}

fn put(
    link: &Link,
    requestor: Window,
    property: Atom,
    form: &Form,
    data: &[u8],
) -> Result<(), Error> {
    let units = data.len() / usize::from(form.format / 8).max(1);
    let units = u32::try_from(units).expect("a piece is far smaller than that");
    link.x
        .change_property(
            PropMode::REPLACE,
            requestor,
            property,
            form.kind,
            form.format,
            units,
            data,
        )
        .or_lost(link)?;
    Ok(())
}

fn atoms_of(data: &[u8]) -> Vec<Atom> {
    data.as_chunks()
        .0
        .iter()
        .map(|bytes| Atom::from_ne_bytes(*bytes))
        .collect()
}
