//! Sizes and times that servers and clients agree on. One place, used by both sides.

use std::time::Duration;

/// Largest message a receiver accepts where pictures travel.
pub const MAX_MESSAGE_WITH_IMAGES: usize = 16 * 1024 * 1024;
/// Largest message a receiver accepts elsewhere.
pub const MAX_MESSAGE: usize = 4 * 1024 * 1024;
/// Size of a piece when a file or picture is streamed.
pub const CHUNK: usize = 256 * 1024;

/// How long a client waits for a connection.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);
/// How often an idle connection is probed.
pub const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(30);
/// How long a probe may stay unanswered.
pub const KEEPALIVE_TIMEOUT: Duration = Duration::from_secs(10);
/// Streams on one connection.
pub const MAX_CONCURRENT_STREAMS: u32 = 256;
/// What is kept back from a deadline for the way home when a call is made on behalf of another.
pub const DEADLINE_MARGIN: Duration = Duration::from_millis(20);

/// Longest goal, in characters.
pub const MAX_GOAL: usize = 16_384;
/// Longest text that one action enters, in characters.
pub const MAX_TEXT: usize = 100_000;
/// Most keys that are struck or held together.
pub const MAX_CHORD: usize = 8;
/// Most repetitions of a chord.
pub const MAX_REPEAT: u32 = 1_000;
/// Most points of a drag's path.
pub const MAX_PATH: usize = 1_000;
/// Largest attachment within a request.
pub const MAX_ATTACHMENT: usize = 1024 * 1024;
/// Largest file that is put on a desktop or fetched from it.
pub const MAX_FILE: usize = 64 * 1024 * 1024;
/// Largest page of a list.
pub const MAX_PAGE_SIZE: i32 = 1000;
/// Page of a list if the caller does not say.
pub const DEFAULT_PAGE_SIZE: i32 = 50;

/// Pause between heartbeats of a watch on which nothing happens.
pub const HEARTBEAT_INTERVAL: Duration = Duration::from_secs(15);
/// For how long a request id is remembered.
pub const REQUEST_ID_WINDOW: Duration = Duration::from_secs(24 * 3600);
