//! Passes the content of the clipboard on to another process, and holds it there until another program copies.

use std::time::Duration;

use motorium_x11::Waker;
use tokio::time::Instant;

use super::owner::Owner;
use super::{Selection, SharedPasteLog};
use crate::drivers::Error;
use crate::drivers::clipboard_content::{ClipboardContent, SelectionContent};
use crate::drivers::x11::connection;

/// Interval for checking whether a requestor has abandoned a transfer.
// Only abandoned transfers wait for it, and they hold nothing but memory.
const TRANSFER_CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// Offers a content on `display` until another program has taken every selection of it. Calls `ready` once it is
/// offered.
///
/// # Errors
/// If the display cannot be reached or is lost, or a selection cannot be acquired.
pub(crate) fn hold(
    display: &str,
    timeout: Duration,
    content: ClipboardContent,
    ready: impl FnOnce(),
) -> Result<(), Error> {
    use x11rb::connection::Connection as _;
    let link = connection::connect(display, timeout)?;
    let client_bits = !link.x.setup().resource_id_mask;
    let waker = Waker::new().map_err(|cause| Error::ClipboardRefused {
        cause: cause.to_string(),
    })?;
    let mut owner = Owner::new(link, client_bits, SharedPasteLog::default())?;
    for SelectionContent {
        selection,
        representations,
    } in content.selections
    {
        let Some(selection) = Selection::named(&selection) else {
            continue;
        };
        let content = owner.import(representations)?;
        owner.offer_content(selection, content)?;
    }
    ready();
    // Each round handles what has arrived, also before the first wait.
    let mut due = owner.process_events()?;
    while owner.offers_something() {
        // A requestor that ended in the middle of a transfer sends nothing more.
        let transfer_end = owner
            .is_transferring()
            .then(|| Instant::now() + TRANSFER_CHECK_INTERVAL);
        owner.wait(&waker, due.or(transfer_end))?;
        due = owner.process_events()?;
    }
    Ok(())
}
