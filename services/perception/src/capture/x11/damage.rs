//! Word of what was drawn, by the DAMAGE extension.
//!
//! The server is asked to say only *that* something was drawn (`NonEmpty`); the boxes are then fetched at most once
//! per [`INTERVAL`]. So a film costs no more than a hundred small requests a second, and nothing is lost.

use std::time::Duration;

use motorium_proto::domain::geometry::{CapturePoint, CaptureRect, CaptureSize};
use tokio::sync::mpsc;
use tokio::sync::mpsc::error::TrySendError;
use tokio::time::Instant;
use x11rb::connection::Connection as _;
use x11rb::protocol::damage::{ConnectionExt as _, Damage, ReportLevel};
use x11rb::protocol::xfixes::{ConnectionExt as _, Region};
use x11rb::protocol::xproto::Rectangle;

use super::connection::{Connection, Fault};
use crate::capture::Change;
use crate::error::Error;

/// Shortest time between two reports.
const INTERVAL: Duration = Duration::from_millis(8);

/// How many reports wait for a watcher before they are joined into one.
pub(super) const BACKLOG: usize = 64;

/// Most boxes that are held for a watcher that does not take its reports; of more, only what encloses them all is kept.
const MOST_HELD: usize = 256;

#[derive(Debug)]
pub(super) struct DamageWatch {
    damage: Damage,
    region: Region,
    /// Drawn, and not yet fetched.
    dirty: bool,
    reported_at: Instant,
    watchers: Vec<Watcher>,
}

#[derive(Debug)]
struct Watcher {
    sender: mpsc::Sender<Result<Change, Error>>,
    /// What a slow watcher has not taken yet.
    held: Vec<CaptureRect>,
}

impl DamageWatch {
    pub(super) fn begin(connection: &Connection) -> Result<Self, Fault> {
        let x = &connection.x;
        let damage = x.generate_id()?;
        let region = x.generate_id()?;
        x.damage_create(damage, connection.root, ReportLevel::NON_EMPTY)?;
        x.xfixes_create_region(region, &[])?;
        Ok(Self {
            damage,
            region,
            dirty: true,
            reported_at: Instant::now(),
            watchers: Vec::new(),
        })
    }

    pub(super) fn add(&mut self, sender: mpsc::Sender<Result<Change, Error>>) {
        self.watchers.push(Watcher {
            sender,
            held: Vec::new(),
        });
    }

    /// The server says of this damage that it is no longer empty.
    pub(super) fn something_was_drawn(&mut self, damage: Damage) {
        self.dirty |= damage == self.damage;
    }

    pub(super) fn is_unwatched(&self) -> bool {
        self.watchers.is_empty()
    }

    /// Reports what is due. Returns when to come back, if something is not due yet.
    pub(super) fn attend(
        &mut self,
        connection: &Connection,
        now: Instant,
    ) -> Result<Option<Instant>, Fault> {
        self.watchers.retain(|watcher| !watcher.sender.is_closed());
        let due = self.reported_at + INTERVAL;
        if self.dirty && now >= due {
            self.report(connection, now)?;
        }
        // A watcher that was slow gets what is held for it also if nothing more is drawn.
        let mut is_held = false;
        for watcher in &mut self.watchers {
            watcher.tell(&[]);
            is_held |= !watcher.held.is_empty();
        }
        let waiting = self.dirty || is_held;
        Ok(waiting.then_some(self.reported_at.max(now) + INTERVAL))
    }

    /// Fetches what was drawn since the last report and hands it to every watcher.
    pub(super) fn report(&mut self, connection: &Connection, now: Instant) -> Result<(), Fault> {
        let x = &connection.x;
        x.damage_subtract(self.damage, x11rb::NONE, self.region)?;
        let fetched = x.xfixes_fetch_region(self.region)?.reply()?;
        self.dirty = false;
        self.reported_at = now;
        let whole = CaptureRect::from_size(connection.size);
        let regions = boxes_of(&fetched.rectangles, whole);
        for watcher in &mut self.watchers {
            watcher.tell(&regions);
        }
        Ok(())
    }

    pub(super) fn stop(&self, connection: &Connection) -> Result<(), Fault> {
        connection.x.damage_destroy(self.damage)?;
        connection.x.xfixes_destroy_region(self.region)?;
        Ok(connection.x.flush()?)
    }

    pub(super) fn end(self, why: &Error) {
        for watcher in self.watchers {
            let _ = watcher.sender.try_send(Err(why.clone()));
        }
    }
}

/// The rectangles of a region as far as they lie in `whole`.
pub(super) fn boxes_of(rectangles: &[Rectangle], whole: CaptureRect) -> Vec<CaptureRect> {
    let boxed = |drawn: &Rectangle| {
        let origin = CapturePoint::new(drawn.x.into(), drawn.y.into());
        let size = CaptureSize::new(drawn.width.into(), drawn.height.into());
        CaptureRect::from_origin_and_size(origin, size).intersection(&whole)
    };
    rectangles.iter().filter_map(boxed).collect()
}

impl Watcher {
    fn tell(&mut self, regions: &[CaptureRect]) {
        self.held.extend_from_slice(regions);
        if self.held.is_empty() {
            return;
        }
        let change = Change {
            regions: std::mem::take(&mut self.held),
        };
        if let Err(TrySendError::Full(Ok(change))) = self.sender.try_send(Ok(change)) {
            self.held = at_most(MOST_HELD, change.regions);
        }
    }
}

/// The boxes, or the one that encloses them if there are too many.
fn at_most(most: usize, boxes: Vec<CaptureRect>) -> Vec<CaptureRect> {
    if boxes.len() <= most {
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
    fn a_slow_watcher_is_told_all_of_it_in_little_room() {
        let (sender, mut receiver) = mpsc::channel(1);
        let mut watcher = Watcher {
            sender,
            held: Vec::new(),
        };
        for x in 0..10_000 {
            watcher.tell(&[at(x)]);
        }
        assert!(watcher.held.len() <= MOST_HELD, "{}", watcher.held.len());
        assert_eq!(receiver.try_recv().unwrap().unwrap().regions, [at(0)]);
        // Nothing more is drawn: what is held is told all the same, and once.
        watcher.tell(&[]);
        watcher.tell(&[]);
        let told = receiver.try_recv().unwrap().unwrap().regions;
        let enclosing = told.into_iter().reduce(|all, one| all.union(&one)).unwrap();
        assert_eq!(enclosing, at(1).union(&at(9_999)));
        assert!(receiver.try_recv().is_err());
    }
}
