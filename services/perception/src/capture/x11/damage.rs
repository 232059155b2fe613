//! Change notifications through the DAMAGE extension.
//!
//! The server reports only *that* something was drawn (`NonEmpty`); the boxes are fetched at most once per
//! [`MIN_REPORT_INTERVAL`]. A playing video then costs at most about a hundred small requests a second, and no change
//! is lost.

use std::time::Duration;

use motorium_proto::domain::geometry::{CapturePoint, CaptureRect, CaptureSize};
use tokio::sync::mpsc;
use tokio::sync::mpsc::error::TrySendError;
use tokio::time::Instant;
use x11rb::connection::Connection as _;
use x11rb::protocol::damage::{ConnectionExt as _, Damage, ReportLevel};
use x11rb::protocol::xfixes::{ConnectionExt as _, Region};
use x11rb::protocol::xproto::Rectangle;

use super::connection::{ScreenConnection, X11Fault};
use crate::capture::ScreenChange;
use crate::error::Error;

/// Minimum time between two reports.
///
/// Half a frame at 60 Hz: short enough for the stream, long enough to bound the requests.
const MIN_REPORT_INTERVAL: Duration = Duration::from_millis(8);

/// Capacity of a subscriber's channel. Further reports are merged into one.
pub(super) const CHANNEL_CAPACITY: usize = 64;

/// Maximum number of boxes kept for a slow subscriber. Beyond it, only their bounding box is kept.
const MAX_PENDING_BOXES: usize = 256;

#[derive(Debug)]
pub(super) struct DamageWatch {
    damage: Damage,
    region: Region,
    /// True if something was drawn that has not been fetched yet.
    dirty: bool,
    reported_at: Instant,
    watchers: Vec<ChangeSubscriber>,
}

#[derive(Debug)]
struct ChangeSubscriber {
    sender: mpsc::Sender<Result<ScreenChange, Error>>,
    /// Boxes that a slow subscriber has not received yet.
    pending: Vec<CaptureRect>,
}

impl DamageWatch {
    pub(super) fn begin(connection: &ScreenConnection) -> Result<Self, X11Fault> {
        let x = &connection.server.x;
        let damage = x.generate_id()?;
        let region = x.generate_id()?;
        x.damage_create(damage, connection.server.root, ReportLevel::NON_EMPTY)?;
        x.xfixes_create_region(region, &[])?;
        Ok(Self {
            damage,
            region,
            dirty: true,
            reported_at: Instant::now(),
            watchers: Vec::new(),
        })
    }

    pub(super) fn add(&mut self, sender: mpsc::Sender<Result<ScreenChange, Error>>) {
        self.watchers.push(ChangeSubscriber {
            sender,
            pending: Vec::new(),
        });
    }

    /// Records that this damage object is no longer empty.
    pub(super) fn mark_dirty(&mut self, damage: Damage) {
        self.dirty |= damage == self.damage;
    }

    pub(super) fn is_unwatched(&self) -> bool {
        self.watchers.is_empty()
    }

    /// Sends the reports that are due. Returns when to call again, if something is pending.
    pub(super) fn report_due(
        &mut self,
        connection: &ScreenConnection,
        now: Instant,
    ) -> Result<Option<Instant>, X11Fault> {
        self.watchers.retain(|watcher| !watcher.sender.is_closed());
        let due = self.reported_at + MIN_REPORT_INTERVAL;
        if self.dirty && now >= due {
            self.report(connection, now)?;
        }
        // A slow subscriber receives its pending boxes even if nothing more is drawn.
        let mut is_held = false;
        for watcher in &mut self.watchers {
            watcher.send(&[]);
            is_held |= !watcher.pending.is_empty();
        }
        let waiting = self.dirty || is_held;
        Ok(waiting.then_some(self.reported_at.max(now) + MIN_REPORT_INTERVAL))
    }

    /// Fetches the boxes drawn since the last report and sends them to every subscriber.
    pub(super) fn report(
        &mut self,
        connection: &ScreenConnection,
        now: Instant,
    ) -> Result<(), X11Fault> {
        let x = &connection.server.x;
        x.damage_subtract(self.damage, x11rb::NONE, self.region)?;
        let fetched = x.xfixes_fetch_region(self.region)?.reply()?;
        self.dirty = false;
        self.reported_at = now;
        let whole = CaptureRect::from_size(connection.size);
        let regions = clipped_boxes(&fetched.rectangles, whole);
        for watcher in &mut self.watchers {
            watcher.send(&regions);
        }
        Ok(())
    }

    pub(super) fn stop(&self, connection: &ScreenConnection) -> Result<(), X11Fault> {
        connection.server.x.damage_destroy(self.damage)?;
        connection.server.x.xfixes_destroy_region(self.region)?;
        Ok(connection.server.x.flush()?)
    }

    pub(super) fn close(self, why: &Error) {
        for watcher in self.watchers {
            let _ = watcher.sender.try_send(Err(why.clone()));
        }
    }
}

/// Returns the rectangles of a region, clipped to `whole`.
pub(super) fn clipped_boxes(rectangles: &[Rectangle], whole: CaptureRect) -> Vec<CaptureRect> {
    let clipped = |drawn: &Rectangle| capture_rect(drawn).intersection(&whole);
    rectangles.iter().filter_map(clipped).collect()
}

/// Converts a rectangle of the server.
pub(super) fn capture_rect(rectangle: &Rectangle) -> CaptureRect {
    let origin = CapturePoint::new(rectangle.x.into(), rectangle.y.into());
    let size = CaptureSize::new(rectangle.width.into(), rectangle.height.into());
    CaptureRect::from_origin_and_size(origin, size)
}

impl ChangeSubscriber {
    fn send(&mut self, regions: &[CaptureRect]) {
        self.pending.extend_from_slice(regions);
        if self.pending.is_empty() {
            return;
        }
        let change = ScreenChange {
            regions: std::mem::take(&mut self.pending),
        };
        if let Err(TrySendError::Full(Ok(change))) = self.sender.try_send(Ok(change)) {
            self.pending = merge_beyond(MAX_PENDING_BOXES, change.regions);
        }
    }
}

/// Returns the boxes, or their bounding box if there are more than `max`.
fn merge_beyond(max: usize, boxes: Vec<CaptureRect>) -> Vec<CaptureRect> {
    if boxes.len() <= max {
        return boxes;
    }
    let enclosing = boxes.iter().copied().reduce(|all, one| all.union(&one));
    enclosing.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(x: i32) -> CaptureRect {
        CaptureRect::from_origin_and_size(CapturePoint::new(x, 0), CaptureSize::new(1, 1))
    }

    #[test]
    fn slow_subscriber_gets_all_changes_in_merged_boxes() {
        let (sender, mut receiver) = mpsc::channel(1);
        let mut watcher = ChangeSubscriber {
            sender,
            pending: Vec::new(),
        };
        for x in 0..10_000 {
            watcher.send(&[at(x)]);
        }
        assert!(
            watcher.pending.len() <= MAX_PENDING_BOXES,
            "{}",
            watcher.pending.len()
        );
        assert_eq!(receiver.try_recv().unwrap().unwrap().regions, [at(0)]);
        // Nothing more is drawn: pending boxes are still sent, once.
        watcher.send(&[]);
        watcher.send(&[]);
        let regions = receiver.try_recv().unwrap().unwrap().regions;
        let enclosing = regions
            .into_iter()
            .reduce(|all, one| all.union(&one))
            .unwrap();
        assert_eq!(enclosing, at(1).union(&at(9_999)));
        assert!(receiver.try_recv().is_err());
    }
}
