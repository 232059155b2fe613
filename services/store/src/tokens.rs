//! Opaque tokens for watches and lists. Only this module formats and parses them.
//!
//! A token has no secret and grants no access. It is opaque so that its format may change.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use motorium_proto::domain::id::EventSeq;
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
    fn a_resume_token_goes_on_where_it_was_given() {
        for seq in [0, 1, 7] {
            let text = ResumeToken::at("g", &task("u", 7), EventSeq(seq)).format();
            let token = ResumeToken::parse(&text).unwrap();
            assert_eq!(token.resume("g", &task("u", 7)).unwrap(), EventSeq(seq));
        }
    }

    #[test]
    fn a_resume_token_of_elsewhere_is_not_taken() {
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
    fn what_is_no_resume_token_is_refused() {
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
