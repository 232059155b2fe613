//! Opaque tokens: where a watcher goes on, and where a list goes on. They are made and read here and nowhere else.
//!
//! A token holds no secret and gives no right; it is opaque so that its content may change.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use motorium_proto::domain::id::EventSeq;
use sha2::{Digest as _, Sha256};

use crate::{Error, TaskRow};

/// Marks the form of a resume token, so that another form can be told from it.
const RESUME_VERSION: &str = "v1";

/// Which event a watcher has seen last.
///
/// It names the task by its uid and the store by its generation, so that neither a task of the same name elsewhere nor
/// a store restored from a backup takes it for its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResumeToken {
    /// The store's generation.
    pub generation: String,
    /// The task's uid.
    pub task: String,
    /// The last event that was seen; 0 if none was.
    pub seq: EventSeq,
}

impl ResumeToken {
    /// The token of a watcher that has seen `seq` of this task.
    #[must_use]
    pub fn at(generation: &str, task: &TaskRow, seq: EventSeq) -> Self {
        Self {
            generation: generation.to_owned(),
            task: task.uid.clone(),
            seq,
        }
    }

    /// The token's text.
    #[must_use]
    pub fn format(&self) -> String {
        let Self {
            generation,
            task,
            seq,
        } = self;
        URL_SAFE_NO_PAD.encode(format!("{RESUME_VERSION}|{generation}|{task}|{}", seq.0))
    }

    /// Reads a token.
    ///
    /// # Errors
    /// `BadResumeToken` if it is none.
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

    /// The event after which a watcher with this token goes on.
    ///
    /// # Errors
    /// `ResumeTokenExpired` if it is another task's or another generation's; `ResumeTokenAhead` if there are not so
    /// many events.
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

/// Where a list goes on, bound to everything else that was asked.
#[derive(Debug)]
pub(crate) struct PageToken {
    arguments: [u8; 8],
    /// The last row of the page before.
    pub(crate) after: i64,
}

impl PageToken {
    /// The token of the page after the row `after`.
    pub(crate) fn new(arguments: Arguments, after: i64) -> Self {
        Self {
            arguments: arguments.digest(),
            after,
        }
    }

    pub(crate) fn format(&self) -> String {
        URL_SAFE_NO_PAD.encode([self.arguments, self.after.to_be_bytes()].concat())
    }

    /// The row to go on after; `None` for the first page.
    pub(crate) fn after(token: Option<&str>, arguments: Arguments) -> Result<Option<i64>, Error> {
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

/// Collects the arguments that a page token is bound to. The size of the page is not among them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Arguments(Sha256);

impl Arguments {
    pub(crate) fn of(list: &str) -> Self {
        Self::default().with(list)
    }

    pub(crate) fn with(mut self, argument: &str) -> Self {
        // The length keeps neighbours apart.
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
        let arguments = || Arguments::of("tasks").with("sessions/a").with("");
        let token = PageToken::new(arguments(), 42).format();
        assert_eq!(
            PageToken::after(Some(&token), arguments()).unwrap(),
            Some(42)
        );
        assert_eq!(PageToken::after(None, arguments()).unwrap(), None);
        for other in [
            Arguments::of("tasks").with("sessions/").with("a"),
            Arguments::of("tasks"),
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
