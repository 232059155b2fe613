//! A process that starts programs in its own surroundings, such as a sandbox: the end in it, and the end of its owner.
//!
//! Each request is one line of JSON, and so is its answer. The socket between the two ends is inherited: there is nothing
//! to connect to, so that no other program can have anything started. This module does not build the sandbox.
//!
//! Invariant: requests and answers alternate. After a missing answer the session is given up: a late one would be taken
//! for the answer to the next request.

use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use super::{Error, Launch, start};

/// Timeout of an answer. A program is started within milliseconds, on a busy machine within a second.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);

/// Maximum bytes of an answer. The programs in a sandbox may take over the process that answers.
const MAX_ANSWER_BYTES: usize = 4096;
/// Maximum characters of a cause in an error, which people and models read.
const MAX_CAUSE_CHARS: usize = 200;

/// The owner's end.
#[derive(Debug)]
pub struct LaunchSession(Mutex<Option<BufReader<UnixStream>>>);

#[derive(Debug, Serialize, Deserialize)]
enum Answer {
    Started,
    LaunchFailed { cause: String },
    ProfileInUse { profile: String, host: String },
}

impl LaunchSession {
    /// Creates the owner's end of a socket whose other end is served by [`serve`].
    ///
    /// # Errors
    /// If the socket takes no timeout.
    pub fn new(socket: BufReader<UnixStream>) -> io::Result<Self> {
        socket.get_ref().set_write_timeout(Some(ANSWER_TIMEOUT))?;
        Ok(Self(Mutex::new(Some(socket))))
    }

    /// Starts a program at the other end.
    ///
    /// # Errors
    /// As there, or [`Error::LaunchFailed`] if the session has ended.
    pub fn start(&self, launch: &Launch) -> Result<(), Error> {
        let mut socket = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let answer = match socket.as_mut() {
            Some(open) => ask(open, launch),
            None => Err(io::ErrorKind::BrokenPipe.into()),
        };
        match answer {
            Ok(Answer::Started) => Ok(()),
            Ok(Answer::LaunchFailed { cause }) => Err(Error::LaunchFailed {
                program: launch.program.program.clone(),
                cause: shortened(&cause),
            }),
            Ok(Answer::ProfileInUse { profile, host }) => Err(Error::ProfileInUse {
                profile: shortened(&profile),
                host: shortened(&host),
            }),
            Err(error) => {
                *socket = None;
                Err(Error::LaunchFailed {
                    program: launch.program.program.clone(),
                    cause: format!(
                        "the session of the desktop has ended ({error}); restart the desktop"
                    ),
                })
            }
        }
    }
}

fn ask(socket: &mut BufReader<UnixStream>, launch: &Launch) -> io::Result<Answer> {
    let mut request = serde_json::to_vec(launch)?;
    request.push(b'\n');
    socket.get_mut().write_all(&request)?;
    let line = read_line(socket, Instant::now() + ANSWER_TIMEOUT)?;
    Ok(serde_json::from_slice(&line)?)
}

/// Reads a line until `deadline`. A timeout of the socket alone would begin anew with each byte.
fn read_line(socket: &mut BufReader<UnixStream>, deadline: Instant) -> io::Result<Vec<u8>> {
    let mut line = Vec::new();
    while !line.ends_with(b"\n") {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(timed_out(io::ErrorKind::WouldBlock.into()));
        }
        socket.get_ref().set_read_timeout(Some(left))?;
        let read = match socket.fill_buf() {
            // A signal arrived, for example of a child that has ended.
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            read => read.map_err(timed_out)?,
        };
        let end = read.iter().position(|byte| *byte == b'\n');
        let length = end.map_or(read.len(), |end| end + 1);
        line.extend(&read[..length]);
        socket.consume(length);
        if length == 0 || line.len() > MAX_ANSWER_BYTES {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
    Ok(line)
}

/// Explains the error of a socket whose timeout has passed, which the system reports as one that would block.
fn timed_out(error: io::Error) -> io::Error {
    match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => io::Error::new(
            io::ErrorKind::TimedOut,
            format!("no answer within {} s", ANSWER_TIMEOUT.as_secs()),
        ),
        _ => error,
    }
}

fn shortened(cause: &str) -> String {
    cause.chars().take(MAX_CAUSE_CHARS).collect()
}

/// Starts the programs that the owner requests, until the owner closes the socket. Blocks; needs a Tokio runtime.
///
/// # Errors
/// If the socket fails or a request is malformed: both ends are the same program.
pub fn serve(mut requests: impl BufRead, mut answers: impl Write) -> io::Result<()> {
    let mut line = String::new();
    while requests.read_line(&mut line)? > 0 {
        let launch: Launch = serde_json::from_str(&line)?;
        let answer = match start(&launch) {
            Ok(()) => Answer::Started,
            Err(Error::ProfileInUse { profile, host }) => Answer::ProfileInUse { profile, host },
            Err(Error::LaunchFailed { cause, .. }) => Answer::LaunchFailed { cause },
            Err(other) => Answer::LaunchFailed {
                cause: other.to_string(),
            },
        };
        let mut bytes = serde_json::to_vec(&answer)?;
        bytes.push(b'\n');
        answers.write_all(&bytes)?;
        answers.flush()?;
        line.clear();
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drivers::launch::Program;

    fn launch(program: &str) -> Launch {
        Launch {
            program: Program {
                program: program.to_owned(),
                arguments: Vec::new(),
                environment: std::collections::BTreeMap::new(),
            },
            last_argument: None,
            display: ":0".to_owned(),
        }
    }

    fn session() -> (LaunchSession, UnixStream) {
        let (owner, inner) = UnixStream::pair().unwrap();
        (LaunchSession::new(BufReader::new(owner)).unwrap(), inner)
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_program_is_started_at_the_other_end_and_a_failure_is_told_in_its_words() {
        let (session, inner) = session();
        let requests = BufReader::new(inner.try_clone().unwrap());
        let served = tokio::task::spawn_blocking(move || serve(requests, inner));
        let asked = tokio::task::spawn_blocking(move || {
            assert_eq!(session.start(&launch("true")), Ok(()));
            let error = session.start(&launch("/nowhere/editor")).unwrap_err();
            assert!(
                error
                    .to_string()
                    .starts_with("`/nowhere/editor` cannot be started"),
                "{error}"
            );
            assert_eq!(
                session.start(&launch("true")),
                Ok(()),
                "the session goes on"
            );
        });
        asked.await.unwrap();
        served.await.unwrap().unwrap();
    }

    #[test]
    fn a_session_that_does_not_answer_is_told_as_such() {
        let (owner, _inner) = UnixStream::pair().unwrap();
        let mut socket = BufReader::new(owner);
        let soon = Instant::now() + Duration::from_millis(20);
        let error = read_line(&mut socket, soon).unwrap_err();
        assert_eq!(error.to_string(), "no answer within 10 s");
    }

    #[test]
    fn an_ended_session_is_an_error_and_stays_one() {
        let (session, inner) = session();
        drop(inner);
        for _ in 0..2 {
            let error = session.start(&launch("true")).unwrap_err();
            assert!(
                error
                    .to_string()
                    .contains("the session of the desktop has ended"),
                "{error}"
            );
        }
    }
}
