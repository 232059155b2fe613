//! Sizes and timeouts that servers and clients share.

use std::time::Duration;

/// Maximum size of a message that may have images, in bytes.
// Bounds the memory of one message; larger images travel as references into the blob store.
pub const MAX_IMAGE_MESSAGE_BYTES: usize = 16 * 1024 * 1024;
/// Maximum size of any other message, in bytes.
// The default of most gRPC implementations.
pub const MAX_MESSAGE_BYTES: usize = 4 * 1024 * 1024;
/// Size of one chunk of a streamed file or image, in bytes.
// Large enough to amortise the framing, far below `MAX_MESSAGE_BYTES`.
pub const CHUNK_BYTES: usize = 256 * 1024;

/// Timeout for establishing a connection.
// Services run on one machine or in one cluster; a longer wait would only delay the error.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);
/// Interval between keep-alive pings on an idle connection.
// A shorter interval finds a lost connection sooner and costs more traffic on idle ones.
pub const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(30);
/// Interval between keep-alive pings during a call of a server that a user provides.
// gRPC servers with default settings break a connection on which pings without data come more often than every 5 minutes.
pub const FOREIGN_KEEPALIVE_INTERVAL: Duration = Duration::from_secs(6 * 60);
/// Timeout for the response to a keep-alive ping.
// A busy peer answers late. A shorter timeout would break connections under load.
pub const KEEPALIVE_TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum number of connections to one server.
// Clients of one machine open a few each. Together with the streams of each connection it bounds what callers can hold open.
pub const MAX_CONNECTIONS: usize = 512;
/// Maximum number of concurrent streams on one connection.
// Watches stay open, so that a client with many tasks needs many. A higher number lets one client take more memory.
pub const MAX_CONCURRENT_STREAMS: u32 = 256;
/// Part of a caller's deadline that a nested call must leave, so that the response still arrives in time.
// Enough to send a response within one machine or cluster. A larger margin shortens every nested call.
pub const DEADLINE_MARGIN: Duration = Duration::from_millis(20);

/// Maximum length of a goal, in characters.
// Several pages of instructions. The goal is part of every prompt.
pub const MAX_GOAL_CHARS: usize = 16_384;
/// Maximum length of the text of one action, in characters.
// Bounds the time that typing can take. Longer texts can be put on the desktop as a file.
pub const MAX_TEXT_CHARS: usize = 100_000;
/// Maximum number of keys in a chord.
// More keys than a person holds at once.
pub const MAX_CHORD_KEYS: usize = 8;
/// Maximum number of repetitions of a chord.
// Enough to move through a long list. Bounds the duration of one action.
pub const MAX_CHORD_REPEATS: u32 = 1_000;
/// Maximum number of points in the path of a drag.
// Enough for a drawn line. Bounds the duration of one action.
pub const MAX_DRAG_POINTS: usize = 1_000;
/// Maximum size of an attachment within a request, in bytes.
// Several fit into `MAX_MESSAGE_BYTES`. Larger files are uploaded first.
pub const MAX_ATTACHMENT_BYTES: usize = 1024 * 1024;
/// Maximum number of images of the user in a request to the planner.
// Each costs a model about as much as a screenshot, in every step.
pub const MAX_USER_IMAGES: usize = 4;
/// Maximum size of an encoded image of the user in a request to the planner, in bytes.
// All of them take 6 of the 16 MiB of a request, which leaves room for the screenshots.
pub const MAX_USER_IMAGE_BYTES: usize = 1536 * 1024;
/// Maximum size of a file that is written to a desktop or read from it, in bytes.
// A file is held in memory while it is transferred.
pub const MAX_FILE_BYTES: usize = 64 * 1024 * 1024;
/// Maximum page size of a list.
// Bounds the memory and the duration of one query.
pub const MAX_PAGE_SIZE: i32 = 1000;
/// Size of the results from which on a page of a list is full, in bytes.
// Half of a message: the last result may be large, too.
pub const MAX_PAGE_BYTES: usize = 2 * 1024 * 1024;
/// Default page size of a list.
pub const DEFAULT_PAGE_SIZE: i32 = 50;

/// Interval between heartbeats of a watch without events.
// Clients take a server for silent when two are missing and the third is late (35 s), so this bounds how soon they say so.
pub const HEARTBEAT_INTERVAL: Duration = Duration::from_secs(15);
/// Period for which a request id is remembered.
// A shorter window lets a late repetition create a second task; a longer one keeps more records in the store.
pub const REQUEST_ID_WINDOW: Duration = Duration::from_secs(24 * 3600);
