//! What hooks said at a point, as it is noted: what came of asking them, and what they changed.
//!
//! A replay asks no hook. Where they agreed and changed nothing, nothing is noted and nothing is told again.

use bytes::Bytes;
use motorium_proto::service::Redaction;
use motorium_proto::v1::perception as eyes;
use prost::Message;

use crate::hooks::{Denial, Happening, Intervention, Passage, Point};

/// What hooks are asked at the beginning of a run: where they want to be called.
pub(crate) const WHERE: &str = "WHERE";

#[derive(Clone, PartialEq, Message)]
struct Noted {
    #[prost(message, repeated, tag = "1")]
    interventions: Vec<NotedIntervention>,
    #[prost(message, optional, tag = "2")]
    denial: Option<NotedDenial>,
    #[prost(message, optional, tag = "3")]
    changed: Option<Changeable>,
}

#[derive(Clone, PartialEq, Message)]
struct NotedIntervention {
    #[prost(string, tag = "1")]
    hook: String,
    #[prost(string, tag = "2")]
    point: String,
    #[prost(string, tag = "3")]
    message: String,
    #[prost(bool, tag = "4")]
    denied: bool,
}

#[derive(Clone, PartialEq, Message)]
struct NotedDenial {
    #[prost(string, tag = "1")]
    hook: String,
    #[prost(string, tag = "2")]
    reason: String,
    #[prost(bool, tag = "3")]
    by_default: bool,
}

/// What can be changed of something that is about to happen.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Changeable {
    #[prost(uint32, tag = "1")]
    past_images: u32,
    #[prost(string, repeated, tag = "2")]
    notices: Vec<String>,
    #[prost(message, repeated, tag = "3")]
    hidden: Vec<eyes::Redaction>,
    #[prost(string, tag = "4")]
    text: String,
}

impl Changeable {
    pub(crate) fn of(happening: &Happening<'_>) -> Self {
        let nothing = Self::default();
        match happening {
            Happening::BeforeModelCall(call) => Self {
                past_images: call.past_images,
                notices: call.notices.clone(),
                ..nothing
            },
            Happening::BeforeScreenshot(hidden) => Self {
                hidden: hidden.iter().cloned().map(Into::into).collect(),
                ..nothing
            },
            Happening::BeforeText(words) => Self {
                text: words.text.clone(),
                ..nothing
            },
            _ => nothing,
        }
    }

    fn put_into(self, happening: &mut Happening<'_>) {
        match happening {
            Happening::BeforeModelCall(call) => {
                call.past_images = self.past_images;
                call.notices = self.notices;
            }
            Happening::BeforeScreenshot(hidden) => {
                let read = |one: eyes::Redaction| Redaction::try_from(one).ok();
                *hidden = self.hidden.into_iter().filter_map(read).collect();
            }
            Happening::BeforeText(words) => words.text = self.text,
            _ => {}
        }
    }
}

/// What came of asking; `None` where all agreed and changed nothing.
pub(crate) fn noted(
    passage: &Passage,
    before: &Changeable,
    happening: &Happening<'_>,
) -> Option<Bytes> {
    let after = Changeable::of(happening);
    let changed = (after != *before).then_some(after);
    // Where a person has approved an action, whether anybody was asked decides whether the screen is looked at once more.
    let counts = happening.point() == Point::BeforeAction;
    (counts || changed.is_some() || *passage != Passage::default())
        .then(|| encoded(passage, changed))
}

/// What came of asking where they want to be called; `None` where all have said so.
pub(crate) fn noted_beginning(passage: &Passage) -> Option<Bytes> {
    (*passage != Passage::default()).then(|| encoded(passage, None))
}

fn encoded(passage: &Passage, changed: Option<Changeable>) -> Bytes {
    let intervention = |one: &Intervention| NotedIntervention {
        hook: one.hook.clone(),
        point: one.point.as_str().to_owned(),
        message: one.message.clone(),
        denied: one.denied,
    };
    let denial = passage.denial.as_ref().map(|denial| NotedDenial {
        hook: denial.hook.clone(),
        reason: denial.reason.clone(),
        by_default: denial.by_default,
    });
    let noted = Noted {
        interventions: passage.interventions.iter().map(intervention).collect(),
        denial,
        changed,
    };
    noted.encode_to_vec().into()
}

/// What came of asking then, and what they changed.
pub(crate) fn told(noted: Bytes, happening: &mut Happening<'_>) -> Passage {
    // What cannot be read is as if nothing had been said; the replay then differs, and says where.
    let noted = Noted::decode(noted).unwrap_or_default();
    if let Some(changed) = noted.changed {
        changed.put_into(happening);
    }
    let interventions = noted.interventions.into_iter();
    Passage {
        interventions: interventions.filter_map(intervention).collect(),
        denial: noted.denial.map(|denial| Denial {
            hook: denial.hook,
            reason: denial.reason,
            by_default: denial.by_default,
        }),
    }
}

fn intervention(noted: NotedIntervention) -> Option<Intervention> {
    let mut points = Point::ALL.into_iter();
    Some(Intervention {
        point: points.find(|point| point.as_str() == noted.point)?,
        hook: noted.hook,
        message: noted.message,
        denied: noted.denied,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hooks::happening::{ModelCall, Purpose, Words, WordsKind};

    fn denied() -> Passage {
        Passage {
            interventions: vec![Intervention {
                hook: "guard".to_owned(),
                point: Point::BeforeText,
                message: "no".to_owned(),
                denied: true,
            }],
            denial: Some(Denial {
                hook: "guard".to_owned(),
                reason: "no".to_owned(),
                by_default: true,
            }),
        }
    }

    fn check(begun: Happening<'_>, changed: Happening<'_>, passage: &Passage) {
        let noted = noted(passage, &Changeable::of(&begun), &changed).unwrap();
        let mut again = begun;
        assert_eq!(told(noted, &mut again), *passage);
        assert_eq!(format!("{again:?}"), format!("{changed:?}"));
    }

    #[test]
    fn what_was_changed_and_denied_is_told_again() {
        let words = |text: &str| {
            Happening::BeforeText(Words {
                kind: WordsKind::Progress,
                text: text.to_owned(),
            })
        };
        let call = |past_images, notices: &[&str]| {
            Happening::BeforeModelCall(ModelCall {
                purpose: Purpose::Plan,
                images: 1,
                past_images,
                held_images: 0,
                notices: notices.iter().map(|&notice| notice.to_owned()).collect(),
            })
        };
        check(words("a"), words("b"), &Passage::default());
        check(words("a"), words("a"), &denied());
        check(call(3, &[]), call(1, &["be brief"]), &Passage::default());
        let window = Redaction::Window("mail".to_owned());
        check(
            Happening::BeforeScreenshot(vec![]),
            Happening::BeforeScreenshot(vec![window]),
            &Passage::default(),
        );
    }

    #[test]
    fn agreement_is_not_noted() {
        let before = Happening::BeforeScreenshot(vec![]);
        let nothing = Passage::default();
        assert_eq!(noted(&nothing, &Changeable::of(&before), &before), None);
        assert_eq!(noted_beginning(&nothing), None);
        assert!(noted_beginning(&denied()).is_some());
    }
}
