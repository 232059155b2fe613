//! The owner side of the selection protocol (ICCCM, section 2): acquires selections, answers requests, reads the
//! content of other owners.
//!
//! Large content is transferred incrementally (`INCR`) in both directions. Every wait has a timeout: an unresponsive
//! owner or requestor delays the thread only briefly.

use std::os::fd::AsFd as _;
use std::sync::{MutexGuard, PoisonError};
use std::time::Duration;

use motorium_proto::service::ClipboardText;
use motorium_x11::{Connection, Waker, ignore_gone};
use tokio::time::Instant;
use x11rb::connection::{Connection as _, RequestConnection as _};
use x11rb::protocol::Event;
use x11rb::protocol::xfixes::{self, ConnectionExt as _, SelectionEventMask};
use x11rb::protocol::xproto::{
    Atom, AtomEnum, ChangeWindowAttributesAux, ConnectionExt as _, CreateWindowAux, EventMask,
    PropMode, Property, PropertyNotifyEvent, SELECTION_NOTIFY_EVENT, SelectionClearEvent,
    SelectionNotifyEvent, SelectionRequestEvent, Timestamp, Window, WindowClass,
};
use x11rb::wrapper::ConnectionExt as _;

use super::atoms::{Atoms, look_up};
use super::content::{Content, Representation, is_metadata_target};
use super::paste::{self, PasteLog, RequestKind};
use super::portable_content;
use super::{Selection, SharedPasteLog};
use crate::drivers::Error;
use crate::drivers::clipboard_content::{
    ClipboardContent, ClipboardRepresentation, SelectionContent,
};
use crate::drivers::x11::connection::OrDisplayError;

/// Maximum size of a single transfer. Safely below the smallest request limit of the core protocol (256 KiB).
const MAX_SINGLE_TRANSFER_BYTES: usize = 200_000;
/// Chunk size of incremental transfers.
// Below the request limit of every server, with few round trips for a usual image.
const CHUNK_BYTES: usize = 64 * 1024;
/// Timeout for another owner to deliver one representation.
// A hanging owner must not delay every paste noticeably.
const OWNER_TIMEOUT: Duration = Duration::from_millis(500);
/// Timeout for all representations. What has not been delivered by then is not restored.
const SAVE_TIMEOUT: Duration = Duration::from_millis(1500);
/// Maximum number of saved bytes. A copied video is not kept in memory for the sake of one paste.
const MAX_SAVED_BYTES: usize = 32 * 1024 * 1024;
/// Delay after the paste, or after a later request, before the previous content is restored.
// An application that fetches late must still get the text and not what was there before.
const RESTORE_DELAY: Duration = Duration::from_secs(1);
/// Maximum delay after the paste, however often the text is requested.
// A clipboard manager that asks again and again must not keep the former content away.
const MAX_RESTORE_DELAY: Duration = Duration::from_secs(3);
/// Title of the window with which Chromium, and applications based on it, request selections.
const CHROMIUM: &[u8] = b"Chromium clipboard";
/// Number of fetches of one paste in Chromium: by its window and by its page.
const CHROMIUM_FETCHES: u32 = 2;
/// Timeout of an incremental transfer without progress.
// A busy requestor may pause between two chunks; one that was killed never continues.
const TRANSFER_TIMEOUT: Duration = Duration::from_secs(5);

/// State of one selection.
#[derive(Debug)]
struct SelectionState {
    selection: Selection,
    atom: Atom,
    /// The current offer; `None` if another program owns the selection.
    offered: Option<Offer>,
    /// Content before a text was offered temporarily; `None` if there is no temporary offer. Empty content stands for
    /// no owner.
    previous: Option<Content>,
    /// The temporary offer that another program replaced.
    replaced: Option<Content>,
}

#[derive(Debug)]
struct Offer {
    content: Content,
    since: Timestamp,
}

/// An incremental transfer to a requestor.
#[derive(Debug)]
struct Transfer {
    requestor: Window,
    property: Atom,
    form: Representation,
    sent: usize,
    last_progress: Instant,
}

/// Owner of the selections of one display.
#[derive(Debug)]
pub(super) struct Owner {
    link: Connection,
    window: Window,
    atoms: Atoms,
    held: [SelectionState; 2],
    transfers: Vec<Transfer>,
    /// Mask of the client part of a window id.
    client_bits: u32,
    seen: SharedPasteLog,
    restore_at: Option<Instant>,
    restore_latest: Option<Instant>,
    copies: Copies,
}

/// Copies by other programs.
#[derive(Debug)]
enum Copies {
    /// Number of copies, and of those before the last keys that may copy.
    Counted { all: u64, before_keys: u64 },
    /// The server has no XFIXES.
    Unknown,
}

impl Owner {
    pub(super) fn new(
        link: Connection,
        client_bits: u32,
        seen: SharedPasteLog,
    ) -> Result<Self, Error> {
        let atoms = look_up(&link)?;
        let window = link.x.generate_id().or_display_error(&link)?;
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
            .or_display_error(&link)?;
        let copies = count_copies(&link, window, atoms.CLIPBOARD)?;
        let held = Selection::ALL.map(|selection| {
            let atom = match selection {
                Selection::Clipboard => atoms.CLIPBOARD,
                Selection::Primary => atoms.PRIMARY,
            };
            SelectionState {
                selection,
                atom,
                offered: None,
                previous: None,
                replaced: None,
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
            copies,
        })
    }

    /// Notes that keys follow that may copy. What was copied before them is no copy of theirs.
    pub(super) fn expect_copy(&mut self) -> Result<(), Error> {
        self.catch_up()?;
        if let Copies::Counted { all, before_keys } = &mut self.copies {
            *before_keys = *all;
        }
        Ok(())
    }

    /// Returns whether another program has copied something since then; `None` if the server does not report it.
    pub(super) fn has_copied(&mut self) -> Result<Option<bool>, Error> {
        self.catch_up()?;
        Ok(match self.copies {
            Copies::Counted { all, before_keys } => Some(all > before_keys),
            Copies::Unknown => None,
        })
    }

    /// Handles everything that the server has reported until now.
    fn catch_up(&mut self) -> Result<(), Error> {
        self.server_time().map(|_| ())
    }

    /// Offers a text for one paste.
    pub(super) fn offer_temporarily(
        &mut self,
        selection: Selection,
        text: &str,
    ) -> Result<(), Error> {
        let slot = self.slot(selection);
        if self.held[slot].previous.is_none() {
            self.held[slot].previous = Some(self.save(slot)?);
        }
        self.cancel_restore();
        let content = Content::text(text, &self.atoms);
        self.take(slot, content)
    }

    /// Offers a text permanently.
    pub(super) fn offer(&mut self, text: &str) -> Result<(), Error> {
        let content = Content::text(text, &self.atoms);
        self.offer_content(Selection::Clipboard, content)
    }

    /// Offers a content permanently.
    pub(super) fn offer_content(
        &mut self,
        selection: Selection,
        content: Content,
    ) -> Result<(), Error> {
        let slot = self.slot(selection);
        self.held[slot].previous = None;
        self.take(slot, content)
    }

    /// Converts the content of another process for this connection.
    pub(super) fn import(
        &self,
        representations: Vec<ClipboardRepresentation>,
    ) -> Result<Content, Error> {
        portable_content::import(&self.link, representations)
    }

    /// Returns the content of every selection that this owner has.
    pub(super) fn export(&self) -> Result<ClipboardContent, Error> {
        let mut content = ClipboardContent::default();
        for held in &self.held {
            let Some(offer) = &held.offered else {
                continue;
            };
            content.selections.push(SelectionContent {
                selection: held.selection.name().to_owned(),
                representations: portable_content::export(&self.link, &offer.content)?,
            });
        }
        Ok(content)
    }

    /// Returns whether other programs have not taken over everything, or a transfer is still running.
    pub(super) fn offers_something(&self) -> bool {
        self.is_transferring() || self.held.iter().any(|held| held.offered.is_some())
    }

    /// Returns whether a requestor is still fetching a large content.
    pub(super) fn is_transferring(&self) -> bool {
        !self.transfers.is_empty()
    }

    /// Schedules restoring the previous content, because the paste is complete.
    pub(super) fn release(&mut self) -> Result<(), Error> {
        if self.is_lent() {
            let now = Instant::now();
            self.restore_at = Some(now + RESTORE_DELAY);
            self.restore_latest = Some(now + MAX_RESTORE_DELAY);
        }
        Ok(())
    }

    /// Returns whether the program that replaced a temporary offer offers the same text.
    pub(super) fn is_offered_elsewhere(&mut self) -> Result<bool, Error> {
        for slot in 0..self.held.len() {
            let Some(lent) = self.held[slot].replaced.take() else {
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
        self.held.iter().any(|held| held.previous.is_some())
    }

    /// Restores the previous content of every selection with a temporary offer.
    pub(super) fn restore(&mut self) -> Result<(), Error> {
        self.cancel_restore();
        for slot in 0..self.held.len() {
            let Some(former) = self.held[slot].previous.take() else {
                continue;
            };
            // Content that another program has copied in the meantime is kept.
            if self.held[slot].offered.is_none() {
                continue;
            }
            if former.is_empty() {
                self.release_ownership(slot)?;
            } else {
                self.take(slot, former)?;
            }
        }
        Ok(())
    }

    /// Handles the queued events and returns when to run again without events.
    pub(super) fn process_events(&mut self) -> Result<Option<Instant>, Error> {
        while let Some(event) = self.link.x.poll_for_event().or_display_error(&self.link)? {
            self.handle(&event)?;
        }
        if self.restore_at.is_some_and(|due| due <= Instant::now()) {
            self.restore()?;
        }
        self.transfers
            .retain(|transfer| transfer.last_progress.elapsed() < TRANSFER_TIMEOUT);
        self.link.flush().or_display_error(&self.link)?;
        Ok(self.restore_at)
    }

    /// Waits for the server, the waker, or the due time.
    pub(super) fn wait(&self, waker: &Waker, due: Option<Instant>) -> Result<(), Error> {
        let limit = due.map(|due| due.saturating_duration_since(Instant::now()));
        self.link
            .wait(Some(waker.as_fd()), limit)
            .or_display_error(&self.link)
    }

    fn cancel_restore(&mut self) {
        self.restore_at = None;
        self.restore_latest = None;
    }

    fn slot(&self, selection: Selection) -> usize {
        self.held
            .iter()
            .position(|held| held.selection == selection)
            .expect("every selection has a slot")
    }

    // === Owning ===

    fn take(&mut self, slot: usize, content: Content) -> Result<(), Error> {
        let since = self.server_time()?;
        let atom = self.held[slot].atom;
        self.link
            .x
            .set_selection_owner(self.window, atom, since)
            .or_display_error(&self.link)?;
        let owner = self.owner_of(atom)?;
        if owner != self.window {
            return Err(Error::ClipboardRefused {
                cause: "another program keeps its ownership".to_owned(),
            });
        }
        self.held[slot].offered = Some(Offer { content, since });
        self.held[slot].replaced = None;
        self.lock_seen().taken_over = false;
        Ok(())
    }

    fn release_ownership(&mut self, slot: usize) -> Result<(), Error> {
        let time = self.server_time()?;
        self.link
            .x
            .set_selection_owner(x11rb::NONE, self.held[slot].atom, time)
            .or_display_error(&self.link)?;
        self.held[slot].offered = None;
        self.link.flush().or_display_error(&self.link)
    }

    fn owner_of(&self, atom: Atom) -> Result<Window, Error> {
        Ok(self
            .link
            .x
            .get_selection_owner(atom)
            .or_display_error(&self.link)?
            .reply()
            .or_display_error(&self.link)?
            .owner)
    }

    /// Returns the server's time, which the protocol requires for acquiring a selection.
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
            .or_display_error(&self.link)?;
        let window = self.window;
        let time = self.pump(OWNER_TIMEOUT, |event| match event {
            Event::PropertyNotify(notify) if notify.window == window && notify.atom == property => {
                Some(notify.time)
            }
            _ => None,
        })?;
        time.ok_or_else(|| Error::ClipboardRefused {
            cause: "the server did not report its time".to_owned(),
        })
    }

    // === Answering ===

    fn handle(&mut self, event: &Event) -> Result<(), Error> {
        match event {
            Event::SelectionRequest(request) => self.answer(request),
            Event::SelectionClear(clear) => {
                self.ownership_lost(clear);
                Ok(())
            }
            Event::PropertyNotify(notify) if notify.state == Property::DELETE => {
                self.continue_transfer(notify)
            }
            // A program that copies again takes the selection again, also if it has it already.
            Event::XfixesSelectionNotify(notify) if notify.owner != self.window => {
                if let Copies::Counted { all, .. } = &mut self.copies {
                    *all += u64::from(notify.owner != x11rb::NONE);
                }
                Ok(())
            }
            // A requestor may disappear at any time. Requests to it then fail, which is ignored.
            _ => Ok(()),
        }
    }

    fn ownership_lost(&mut self, clear: &SelectionClearEvent) {
        let concerned = self.held.iter_mut().find(|h| h.atom == clear.selection);
        // A clear event older than the current offer belongs to an earlier ownership.
        let Some((held, offer)) = concerned.and_then(|held| {
            let offer = held.offered.take_if(|o| !is_before(clear.time, o.since))?;
            Some((held, offer))
        }) else {
            return;
        };
        if held.previous.take().is_some() {
            held.replaced = Some(offer.content);
            self.lock_seen().taken_over = true;
        }
    }

    fn answer(&mut self, request: &SelectionRequestEvent) -> Result<(), Error> {
        // Obsolete clients omit the property and expect one named like the target.
        let property = if request.property == x11rb::NONE {
            request.target
        } else {
            request.property
        };
        let given = self.write_reply(request, property)?;
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
            .or_display_error(&self.link)?;
        match given {
            Some(ReplyKind::Complete) => self.note_text(request.requestor),
            _ => {
                self.note(request.requestor, RequestKind::Other);
                Ok(())
            }
        }
    }

    /// Writes the requested representation to the requestor's property, or starts an incremental transfer.
    fn write_reply(
        &mut self,
        request: &SelectionRequestEvent,
        property: Atom,
    ) -> Result<Option<ReplyKind>, Error> {
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
            .or_display_error(&self.link)?;
            return Ok(Some(ReplyKind::Description));
        }
        if request.target == self.atoms.TIMESTAMP {
            x.change_property32(
                PropMode::REPLACE,
                requestor,
                property,
                AtomEnum::INTEGER,
                &[offer.since],
            )
            .or_display_error(&self.link)?;
            return Ok(Some(ReplyKind::Description));
        }
        let Some(form) = offer.content.form(request.target).cloned() else {
            return Ok(None);
        };
        if form.data.len() <= MAX_SINGLE_TRANSFER_BYTES {
            put(&self.link, requestor, property, &form, &form.data)?;
            return Ok(Some(ReplyKind::Complete));
        }
        let events = ChangeWindowAttributesAux::new().event_mask(EventMask::PROPERTY_CHANGE);
        x.change_window_attributes(requestor, &events)
            .or_display_error(&self.link)?;
        let size = u32::try_from(form.data.len()).unwrap_or(u32::MAX);
        x.change_property32(
            PropMode::REPLACE,
            requestor,
            property,
            self.atoms.INCR,
            &[size],
        )
        .or_display_error(&self.link)?;
        let transfer = Transfer {
            requestor,
            property,
            form,
            sent: 0,
            last_progress: Instant::now(),
        };
        self.transfers.push(transfer);
        Ok(Some(ReplyKind::Incremental))
    }

    /// Sends the next chunk after the requestor has read one, or an empty one at the end.
    fn continue_transfer(&mut self, notify: &PropertyNotifyEvent) -> Result<(), Error> {
        let is_it = |transfer: &Transfer| {
            transfer.requestor == notify.window && transfer.property == notify.atom
        };
        let Some(position) = self.transfers.iter().position(is_it) else {
            return Ok(());
        };
        let transfer = &mut self.transfers[position];
        let piece = &transfer.form.data
            [transfer.sent..transfer.form.data.len().min(transfer.sent + CHUNK_BYTES)];
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
        self.note(notify.window, RequestKind::Other);
        Ok(())
    }

    /// Records that a requestor has received the whole text.
    fn note_text(&mut self, requestor: Window) -> Result<(), Error> {
        let name = self
            .link
            .x
            // 16 words (64 bytes) are enough to compare with the title.
            .get_property(false, requestor, AtomEnum::WM_NAME, AtomEnum::ANY, 0, 16)
            .or_display_error(&self.link)?;
        // The injector may press the next key on its own connection as soon as it sees this record. Waiting for the
        // reply ensures that the server has processed our requests before; an error reply does too.
        let name = ignore_gone(name.reply()).or_display_error(&self.link)?;
        let is_chromium = name.is_some_and(|name| name.value == CHROMIUM);
        let times = if is_chromium { CHROMIUM_FETCHES } else { 1 };
        self.note(requestor, RequestKind::Text { times });
        Ok(())
    }

    fn note(&mut self, requestor: Window, asked: RequestKind) {
        let now = Instant::now();
        let client = requestor & self.client_bits;
        paste::note(&mut self.lock_seen().askers, client, asked, now);
        if let Some(latest) = self.restore_latest {
            self.restore_at = Some(latest.min(now + RESTORE_DELAY));
        }
    }

    fn lock_seen(&self) -> MutexGuard<'_, PasteLog> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    // === Reading other owners ===

    /// Reads everything that the current owner offers, in all representations; empty if there is no owner or it does
    /// not respond.
    fn save(&mut self, slot: usize) -> Result<Content, Error> {
        if let Some(offer) = &self.held[slot].offered {
            return Ok(offer.content.clone());
        }
        let selection = self.held[slot].atom;
        if self.owner_of(selection)? == x11rb::NONE {
            return Ok(Content::default());
        }
        let end = Instant::now() + SAVE_TIMEOUT;
        let names = self.atoms.TARGETS;
        let targets = self
            .fetch(selection, names)?
            .map(|form| atoms_of(&form.data))
            .unwrap_or_default();
        let (mut forms, mut bytes, mut left_out) = (Vec::new(), 0, 0);
        for target in targets {
            if is_metadata_target(target, &self.atoms) {
                continue;
            }
            let has_room = bytes < MAX_SAVED_BYTES && Instant::now() < end;
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
                "some representations of the previous clipboard content cannot be restored"
            );
        }
        Ok(Content::of_forms(forms))
    }

    /// Returns the text of the clipboard. That of a temporary offer is not what the user has copied, so the content before it
    /// counts.
    pub(super) fn read_text(&mut self) -> Result<ClipboardText, Error> {
        let slot = self.slot(Selection::Clipboard);
        let (held, target) = (&self.held[slot], self.atoms.UTF8_STRING);
        let offered = held.offered.as_ref().map(|offer| &offer.content);
        if let Some(content) = held.previous.as_ref().or(offered) {
            return Ok(match content.form(self.atoms.PASSWORD_HINT) {
                Some(_) => withheld(),
                None => text_of(content.form(target)),
            });
        }
        let selection = held.atom;
        if self.owner_of(selection)? == x11rb::NONE {
            return Ok(ClipboardText::default());
        }
        let targets = self.fetch(selection, self.atoms.TARGETS)?;
        let targets = targets.map(|form| atoms_of(&form.data)).unwrap_or_default();
        if targets.contains(&self.atoms.PASSWORD_HINT) {
            return Ok(withheld());
        }
        // Some programs answer a request for a text with an image.
        let is_text = targets.is_empty() || targets.contains(&target);
        let form = match is_text {
            true => self.fetch(selection, target)?,
            false => None,
        };
        Ok(text_of(form.as_ref()))
    }

    /// Reads one representation from the current owner; `None` if it does not have it or does not respond.
    fn fetch(&mut self, selection: Atom, target: Atom) -> Result<Option<Representation>, Error> {
        let property = self.atoms._MOTORIUM_SELECTION;
        let time = self.server_time()?;
        self.link
            .x
            .delete_property(self.window, property)
            .or_display_error(&self.link)?;
        self.link
            .x
            .convert_selection(self.window, selection, target, property, time)
            .or_display_error(&self.link)?;
        let window = self.window;
        let answer = self.pump(OWNER_TIMEOUT, |event| match event {
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
            return Ok(Some(Representation {
                target,
                kind,
                format,
                data: data.into(),
            }));
        }
        self.fetch_pieces(target, property)
    }

    fn fetch_pieces(
        &mut self,
        target: Atom,
        property: Atom,
    ) -> Result<Option<Representation>, Error> {
        let mut whole = Vec::new();
        loop {
            let window = self.window;
            let arrived = self.pump(OWNER_TIMEOUT, |event| match event {
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
                return Ok(Some(Representation {
                    target,
                    kind,
                    format,
                    data: whole.into(),
                }));
            }
            whole.extend(piece);
            if whole.len() > MAX_SAVED_BYTES {
                return Ok(None);
            }
        }
    }

    /// Reads and deletes a property of our window, which also requests the next chunk.
    fn take_property(&self, property: Atom) -> Result<(Atom, u8, Vec<u8>), Error> {
        let max_words = u32::try_from(MAX_SAVED_BYTES / 4).unwrap_or(u32::MAX);
        let reply = self
            .link
            .x
            .get_property(true, self.window, property, AtomEnum::ANY, 0, max_words)
            .or_display_error(&self.link)?
            .reply()
            .or_display_error(&self.link)?;
        Ok((reply.type_, reply.format, reply.value))
    }

    /// Handles events until `is_it` matches one; `None` after `limit`.
    fn pump<T>(
        &mut self,
        limit: Duration,
        mut is_it: impl FnMut(&Event) -> Option<T>,
    ) -> Result<Option<T>, Error> {
        let end = Instant::now() + limit;
        self.link.flush().or_display_error(&self.link)?;
        loop {
            while let Some(event) = self.link.x.poll_for_event().or_display_error(&self.link)? {
                if let Some(found) = is_it(&event) {
                    return Ok(Some(found));
                }
                self.handle(&event)?;
            }
            self.link.flush().or_display_error(&self.link)?;
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(None);
            }
            self.link
                .wait(None, Some(left))
                .or_display_error(&self.link)?;
        }
    }
}

/// The kind of reply that a requestor was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ReplyKind {
    /// Metadata of the selection.
    Description,
    /// The complete content.
    Complete,
    /// The start of an incremental transfer.
    Incremental,
}

/// Asks the server to report each copy of a program.
fn count_copies(link: &Connection, window: Window, clipboard: Atom) -> Result<Copies, Error> {
    let extension = link
        .x
        .extension_information(xfixes::X11_EXTENSION_NAME)
        .or_display_error(link)?;
    if extension.is_none() {
        return Ok(Copies::Unknown);
    }
    link.x
        .xfixes_query_version(5, 0)
        .or_display_error(link)?
        .reply()
        .or_display_error(link)?;
    link.x
        .xfixes_select_selection_input(window, clipboard, SelectionEventMask::SET_SELECTION_OWNER)
        .or_display_error(link)?;
    Ok(Copies::Counted {
        all: 0,
        before_keys: 0,
    })
}

/// Compares server times, which wrap around every 49 days.
fn is_before(time: Timestamp, other: Timestamp) -> bool {
    time.wrapping_sub(other).cast_signed() < 0
}

fn put(
    link: &Connection,
    requestor: Window,
    property: Atom,
    form: &Representation,
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
        .or_display_error(link)?;
    Ok(())
}

/// Returns the answer to a text that stays on the desktop, such as one that a password manager has marked.
fn withheld() -> ClipboardText {
    ClipboardText {
        withheld: true,
        ..ClipboardText::default()
    }
}

/// Returns the text of a representation; empty without one.
fn text_of(form: Option<&Representation>) -> ClipboardText {
    let text = form.map(|form| String::from_utf8_lossy(&form.data).into_owned());
    ClipboardText {
        text: text.unwrap_or_default(),
        ..ClipboardText::default()
    }
}

fn atoms_of(data: &[u8]) -> Vec<Atom> {
    data.as_chunks()
        .0
        .iter()
        .map(|bytes| Atom::from_ne_bytes(*bytes))
        .collect()
}
