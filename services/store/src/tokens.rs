//! Opaque tokens for watches and lists. Only this module formats and parses them.
//!
//! A token has no secret and grants no access. It is opaque so that its format may change.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use motorium_proto::domain::id::{EventSeq, SessionName};
use sha2::{Digest as _, Sha256};

use crate::{Error, TaskRow};

/// Version of the format of resume tokens.
const RESUME_VERSION: &str = "v1";

/// The position of a watcher in a task's events.
///
/// It has the uid of the task and the generation of the store, so that neither a task of the same name in another store
/// nor a store restored from a backup accepts it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResumeToken {
    /// Generation of the store.
    pub generation: String,
    /// Uid of the task.
    pub task: String,
    /// Last received event; 0 for none.
    pub seq: EventSeq,
}

impl ResumeToken {
    /// Creates a token for the position after event `seq` of this task.
    #[must_use]
    pub fn at(generation: &str, task: &TaskRow, seq: EventSeq) -> Self {
        Self {
            generation: generation.to_owned(),
            task: task.uid.clone(),
            seq,
        }
    }

    /// Formats the token as text.
    #[must_use]
    pub fn format(&self) -> String {
        let Self {
            generation,
            task,
            seq,
        } = self;
        URL_SAFE_NO_PAD.encode(format!("{RESUME_VERSION}|{generation}|{task}|{}", seq.0))
    }

    /// Parses a token.
    ///
    /// # Errors
    /// `BadResumeToken` if it is malformed.
    pub fn parse(text: &str) -> Result<Self, Error> {
        Self::parts(text).ok_or(Error::BadResumeToken)
    }

    fn parts(text: &str) -> Option<Self> {
        let text = String::from_utf8(URL_SAFE_NO_PAD.decode(text).ok()?).ok()?;
        let parts: Vec<&str> = text.split('|').collect();
        let [RESUME_VERSION, generation, task, seq] = parts.as_slice() else {
            return None;
        };
        let seq: i64 = seq.parse().ok().filter(|seq| *seq >= 0)?;
        Some(Self {
            generation: (*generation).to_owned(),
            task: (*task).to_owned(),
            seq: EventSeq(seq),
        })
    }

    /// Returns the event after which a watch with this token resumes.
    ///
    /// # Errors
    /// `ResumeTokenExpired` if it belongs to another task or generation; `ResumeTokenAhead` if the event does not exist.
    pub fn resume(&self, generation: &str, task: &TaskRow) -> Result<EventSeq, Error> {
        if self.generation != generation || self.task != task.uid {
            return Err(Error::ResumeTokenExpired);
        }
        if self.seq > task.last_seq {
            return Err(Error::ResumeTokenAhead {
                task: task.name.clone(),
                seq: self.seq,
                last: task.last_seq,
            });
        }
        Ok(self.seq)
    }
}

/// Version of the format of session tokens. It differs from [`RESUME_VERSION`], so that neither token is taken for the
/// other.
const SESSION_VERSION: &str = "s1";

/// The position of a watcher in the events of all tasks of a session: one sequence number per task.
///
/// It has the name of the session and the generation of the store, for the same reason as [`ResumeToken`]. Every message
/// of a watch has a token, so a task takes only 16 bytes of it: the start of the hash of its uid, and the number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionToken {
    generation: String,
    session: String,
    /// Last received event of each task. A task without an event is not listed.
    tasks: BTreeMap<UidHash, EventSeq>,
}

/// The first bytes of the SHA-256 of a uid. Enough to tell the tasks of one session apart.
type UidHash = [u8; 8];

impl SessionToken {
    /// Creates a token for the position before all events of this session.
    #[must_use]
    pub fn start(generation: &str, session: &SessionName) -> Self {
        Self {
            generation: generation.to_owned(),
            session: session.to_string(),
            tasks: BTreeMap::new(),
        }
    }

    /// Returns the last received event of the task with this uid; 0 for none.
    #[must_use]
    pub fn last_seq(&self, uid: &str) -> EventSeq {
        let seq = self.tasks.get(&uid_hash(uid));
        seq.copied().unwrap_or(EventSeq(0))
    }

    /// Moves the position after event `seq` of the task with this uid.
    pub fn advance(&mut self, uid: &str, seq: EventSeq) {
        self.tasks.insert(uid_hash(uid), seq);
    }

    /// Formats the token as text.
    #[must_use]
    pub fn format(&self) -> String {
        let Self {
            generation,
            session,
            tasks,
        } = self;
        let mut bytes = format!("{SESSION_VERSION}|{generation}|{session}|").into_bytes();
        for (task, seq) in tasks {
            bytes.extend(task);
            bytes.extend(seq.0.to_be_bytes());
        }
        URL_SAFE_NO_PAD.encode(bytes)
    }

    /// Parses a token.
    ///
    /// # Errors
    /// `BadResumeToken` if it is malformed.
    pub fn parse(text: &str) -> Result<Self, Error> {
        Self::parts(text).ok_or(Error::BadResumeToken)
    }

    fn parts(text: &str) -> Option<Self> {
        let bytes = URL_SAFE_NO_PAD.decode(text).ok()?;
        let parts: Vec<&[u8]> = bytes.splitn(4, |byte| *byte == b'|').collect();
        let [version, generation, session, tasks] = parts.as_slice() else {
            return None;
        };
        let (tasks, []) = tasks.as_chunks::<16>() else {
            return None;
        };
        if *version != SESSION_VERSION.as_bytes() {
            return None;
        }
        let position = |task: &[u8; 16]| {
            let (hash, seq) = task.split_first_chunk()?;
            let seq = i64::from_be_bytes(seq.try_into().ok()?);
            (seq > 0).then_some((*hash, EventSeq(seq)))
        };
        Some(Self {
            generation: String::from_utf8(generation.to_vec()).ok()?,
            session: String::from_utf8(session.to_vec()).ok()?,
            tasks: tasks.iter().map(position).collect::<Option<_>>()?,
        })
    }

    /// Checks that a watch of this session can resume with this token, and forgets the tasks that were deleted. `tasks` are
    /// all tasks of the session.
    ///
    /// # Errors
    /// `ResumeTokenExpired` if it belongs to another session or generation; `ResumeTokenAhead` if one of its events does not
    /// exist.
    pub fn check<'a>(
        &mut self,
        generation: &str,
        session: &SessionName,
        tasks: impl IntoIterator<Item = &'a TaskRow>,
    ) -> Result<(), Error> {
        if self.generation != generation || self.session != session.to_string() {
            return Err(Error::ResumeTokenExpired);
        }
        let mut known = BTreeMap::new();
        for task in tasks {
            let seq = self.last_seq(&task.uid);
            if seq > EventSeq(0) {
                known.insert(uid_hash(&task.uid), seq);
            }
            if seq > task.last_seq {
                return Err(Error::ResumeTokenAhead {
                    task: task.name.clone(),
                    seq,
                    last: task.last_seq,
                });
            }
        }
        self.tasks = known;
        Ok(())
    }
}

fn uid_hash(uid: &str) -> UidHash {
    let hash: [u8; 32] = Sha256::digest(uid).into();
    hash[..8].try_into().expect("32 bytes have 8 first ones")
}

/// The position in a list, bound to the other arguments of the request.
#[derive(Debug)]
pub(crate) struct PageToken {
    arguments: [u8; 8],
    /// Last row of the previous page.
    pub(crate) after: i64,
}

impl PageToken {
    /// Creates a token for the page after the row `after`.
    pub(crate) fn new(arguments: ListArguments, after: i64) -> Self {
        Self {
            arguments: arguments.digest(),
            after,
        }
    }

    pub(crate) fn format(&self) -> String {
        URL_SAFE_NO_PAD.encode([self.arguments, self.after.to_be_bytes()].concat())
    }

    /// Parses a token and returns the last row of the previous page; `None` for the first page.
    pub(crate) fn after(
        token: Option<&str>,
        arguments: ListArguments,
    ) -> Result<Option<i64>, Error> {
        let Some(token) = token else {
            return Ok(None);
        };
        let bytes = URL_SAFE_NO_PAD
            .decode(token)
            .map_err(|_| Error::BadPageToken)?;
        let (bound, after) = bytes.split_at_checked(8).ok_or(Error::BadPageToken)?;
        let after = after
            .try_into()
            .map(i64::from_be_bytes)
            .map_err(|_| Error::BadPageToken)?;
        if bound != arguments.digest() {
            return Err(Error::BadPageToken);
        }
        Ok(Some(after))
    }
}

/// Hash of the arguments that a page token is bound to. Excludes the page size.
#[derive(Debug, Clone, Default)]
pub(crate) struct ListArguments(Sha256);

impl ListArguments {
    pub(crate) fn of(list: &str) -> Self {
        Self::default().with(list)
    }

    pub(crate) fn with(mut self, argument: &str) -> Self {
        // The length prefix separates adjacent arguments.
        self.0.update((argument.len() as u64).to_be_bytes());
        self.0.update(argument);
        self
    }

    /// Adds nothing for a list of all tenants, whose tokens are those of earlier versions.
    pub(crate) fn with_tenant(self, tenant: Option<&str>) -> Self {
        match tenant {
            Some(tenant) => self.with("tenant").with(tenant),
            None => self,
        }
    }

    pub(crate) fn with_labels(self, labels: &BTreeMap<String, String>) -> Self {
        labels.iter().fold(self, |arguments, (key, value)| {
            arguments.with(key).with(value)
        })
    }

    fn digest(self) -> [u8; 8] {
        let digest: [u8; 32] = self.0.finalize().into();
        digest[..8].try_into().expect("32 bytes have 8 first ones")
    }
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use bytes::Bytes;
    use motorium_proto::domain::id::{TaskEpoch, TaskName};

    use super::*;

    fn task(uid: &str, last: i64) -> TaskRow {
        TaskRow {
            name: TaskName::from_segment("a").unwrap(),
            uid: uid.to_owned(),
            tenant: "default".to_owned(),
            state: 1,
            snapshot: Bytes::new(),
            last_seq: EventSeq(last),
            epoch: TaskEpoch(0),
            owner: None,
            lease_until: None,
            create_time: SystemTime::UNIX_EPOCH,
            update_time: SystemTime::UNIX_EPOCH,
        }
    }

    #[test]
    fn resume_token_round_trips_to_its_position() {
        for seq in [0, 1, 7] {
            let text = ResumeToken::at("g", &task("u", 7), EventSeq(seq)).format();
            let token = ResumeToken::parse(&text).unwrap();
            assert_eq!(token.resume("g", &task("u", 7)).unwrap(), EventSeq(seq));
        }
    }

    #[test]
    fn foreign_resume_token_is_rejected() {
        let token = ResumeToken::at("g", &task("u", 7), EventSeq(7));
        assert!(matches!(
            token.resume("h", &task("u", 7)),
            Err(Error::ResumeTokenExpired)
        ));
        assert!(matches!(
            token.resume("g", &task("v", 7)),
            Err(Error::ResumeTokenExpired)
        ));
        let ahead = token.resume("g", &task("u", 6));
        assert!(matches!(
            ahead,
            Err(Error::ResumeTokenAhead {
                seq: EventSeq(7),
                last: EventSeq(6),
                ..
            })
        ));
    }

    #[test]
    fn malformed_resume_token_is_refused() {
        let encoded = |text: &str| URL_SAFE_NO_PAD.encode(text);
        for text in [
            "",
            "x",
            "!!!",
            &encoded("v2|g|u|1"),
            &encoded("v1|g|u"),
            &encoded("v1|g|u|x"),
            &encoded("v1|g|u|-1"),
            &encoded("v1|g|u|1|2"),
        ] {
            assert!(
                matches!(ResumeToken::parse(text), Err(Error::BadResumeToken)),
                "{text}"
            );
        }
    }

    fn session(name: &str) -> SessionName {
        SessionName::from_segment(name).unwrap()
    }

    fn session_token(tasks: &[(&str, i64)]) -> SessionToken {
        let mut token = SessionToken::start("g", &session("s"));
        for (uid, seq) in tasks {
            token.advance(uid, EventSeq(*seq));
        }
        token
    }

    #[test]
    fn a_session_token_has_a_position_for_each_task() {
        for tasks in [&[][..], &[("u", 1)], &[("u", 1), ("v", 70_000)]] {
            let token = session_token(tasks);
            assert_eq!(SessionToken::parse(&token.format()).unwrap(), token);
            for (uid, seq) in tasks {
                assert_eq!(token.last_seq(uid), EventSeq(*seq));
            }
            assert_eq!(token.last_seq("w"), EventSeq(0));
        }
    }

    #[test]
    fn a_malformed_session_token_is_refused() {
        let of_a_task = ResumeToken::at("g", &task("u", 7), EventSeq(7)).format();
        assert!(SessionToken::parse(&of_a_task).is_err());
        assert!(ResumeToken::parse(&session_token(&[]).format()).is_err());
        let tasks: [&[u8]; 5] = [
            b"s1|g|s",
            b"s2|g|s|",
            b"s1|g|s|12345678",
            b"s1|g|s|12345678\0\0\0\0\0\0\0\0",
            b"s1|g|s|12345678\xff\0\0\0\0\0\0\0",
        ];
        for bytes in tasks {
            let text = URL_SAFE_NO_PAD.encode(bytes);
            assert!(
                matches!(SessionToken::parse(&text), Err(Error::BadResumeToken)),
                "{bytes:?}"
            );
        }
    }

    #[test]
    fn a_session_token_resumes_only_its_own_session() {
        let rows = [task("u", 7), task("v", 2)];
        let check = |mut token: SessionToken| token.check("g", &session("s"), &rows);
        assert!(check(session_token(&[])).is_ok());
        assert!(check(session_token(&[("v", 2)])).is_ok());
        let expired = |token| matches!(check(token), Err(Error::ResumeTokenExpired));
        assert!(expired(SessionToken::start("h", &session("s"))));
        assert!(expired(SessionToken::start("g", &session("other"))));
        assert!(matches!(
            check(session_token(&[("u", 7), ("v", 3)])),
            Err(Error::ResumeTokenAhead {
                seq: EventSeq(3),
                last: EventSeq(2),
                ..
            })
        ));
    }

    #[test]
    fn a_session_token_forgets_deleted_tasks() {
        let mut token = session_token(&[("u", 7), ("deleted", 3)]);
        token.check("g", &session("s"), &[task("u", 7)]).unwrap();
        assert_eq!(token, session_token(&[("u", 7)]));
    }

    #[test]
    fn a_page_token_is_bound_to_its_arguments() {
        let arguments = || ListArguments::of("tasks").with("sessions/a").with("");
        let token = PageToken::new(arguments(), 42).format();
        assert_eq!(
            PageToken::after(Some(&token), arguments()).unwrap(),
            Some(42)
        );
        assert_eq!(PageToken::after(None, arguments()).unwrap(), None);
        for other in [
            ListArguments::of("tasks").with("sessions/").with("a"),
            ListArguments::of("tasks"),
        ] {
            assert!(matches!(
                PageToken::after(Some(&token), other),
                Err(Error::BadPageToken)
            ));
        }
        for text in ["", "AAAA", "not base64!", &token[1..]] {
            assert!(
                matches!(
                    PageToken::after(Some(text), arguments()),
                    Err(Error::BadPageToken)
                ),
                "{text}"
            );
        }
    }
}
