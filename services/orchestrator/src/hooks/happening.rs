//! The points in the course of a task: what hooks are told there, and what they may change.
//!
//! Everything is borrowed from the loop but what may be changed. Pure.

use std::time::Duration;

use motorium_proto::domain::action::Action;
use motorium_proto::domain::decision::{
    Decision, FunctionCall, FunctionResult, PlannedAction, Usage,
};
use motorium_proto::domain::effect::{ActionOutcome, Effect};
use motorium_proto::domain::frame::{Frame, Image};
use motorium_proto::domain::geometry::CapturePoint;
use motorium_proto::domain::id::ActionId;
use motorium_proto::service::Redaction;

use super::{Archive, Error};

/// A point in the course of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Point {
    BeforeRun,
    AfterRun,
    BeforeModelCall,
    AfterModelCall,
    BeforeAction,
    AfterAction,
    BeforeFunction,
    AfterFunction,
    BeforeScreenshot,
    AfterScreenshot,
    Usage,
    BeforeText,
    AfterText,
}

impl Point {
    pub const ALL: [Self; 13] = [
        Self::BeforeRun,
        Self::AfterRun,
        Self::BeforeModelCall,
        Self::AfterModelCall,
        Self::BeforeAction,
        Self::AfterAction,
        Self::BeforeFunction,
        Self::AfterFunction,
        Self::BeforeScreenshot,
        Self::AfterScreenshot,
        Self::Usage,
        Self::BeforeText,
        Self::AfterText,
    ];

    /// As the contract has it, without its prefix.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::BeforeRun => "BEFORE_RUN",
            Self::AfterRun => "AFTER_RUN",
            Self::BeforeModelCall => "BEFORE_MODEL_CALL",
            Self::AfterModelCall => "AFTER_MODEL_CALL",
            Self::BeforeAction => "BEFORE_ACTION",
            Self::AfterAction => "AFTER_ACTION",
            Self::BeforeFunction => "BEFORE_FUNCTION",
            Self::AfterFunction => "AFTER_FUNCTION",
            Self::BeforeScreenshot => "BEFORE_SCREENSHOT",
            Self::AfterScreenshot => "AFTER_SCREENSHOT",
            Self::Usage => "USAGE",
            Self::BeforeText => "BEFORE_TEXT",
            Self::AfterText => "AFTER_TEXT",
        }
    }

    /// Whether what a hook says here is listened to: what is about to happen, and what a model has decided.
    #[must_use]
    pub fn is_asked(self) -> bool {
        !matches!(
            self,
            Self::AfterRun
                | Self::AfterAction
                | Self::AfterFunction
                | Self::AfterScreenshot
                | Self::Usage
                | Self::AfterText
        )
    }
}

/// A set of points.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Points(u16);

impl Points {
    pub const NONE: Self = Self(0);

    #[must_use]
    pub fn contains(self, point: Point) -> bool {
        self.0 & (1 << point as u16) != 0
    }

    #[must_use]
    pub fn all() -> Self {
        Point::ALL.into_iter().collect()
    }
}

impl FromIterator<Point> for Points {
    fn from_iter<T: IntoIterator<Item = Point>>(points: T) -> Self {
        let bits = points.into_iter().map(|point| 1 << point as u16);
        Self(bits.fold(0, |all, bit: u16| all | bit))
    }
}

impl<const N: usize> From<[Point; N]> for Points {
    fn from(points: [Point; N]) -> Self {
        points.into_iter().collect()
    }
}

/// Something that is about to happen, or has happened.
#[derive(Debug, Clone)]
pub enum Happening<'a> {
    BeforeRun,
    AfterRun(Ended<'a>),
    BeforeModelCall(ModelCall),
    AfterModelCall(ModelAnswer<'a>),
    BeforeAction(Act<'a>),
    AfterAction(Done<'a>),
    BeforeFunction(&'a FunctionCall),
    AfterFunction(&'a FunctionCall, &'a FunctionResult),
    /// What is to be painted over, so far.
    BeforeScreenshot(Vec<Redaction>),
    AfterScreenshot(Seen<'a>),
    /// What a call has used; it is in the task's own sum already.
    Usage(Usage),
    BeforeText(Words),
    AfterText(Words),
}

/// A task that has ended. Whoever makes something of all of it, such as a trajectory, has its seat here.
#[derive(Debug, Clone, Copy)]
pub struct Ended<'a> {
    /// `SUCCEEDED`, `FAILED` or `CANCELLED`.
    pub state: &'static str,
    /// The answer, or why there is none.
    pub message: &'a str,
    /// Its log, its pictures and its files.
    pub archive: &'a Archive,
}

/// What a model is called for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Purpose {
    Plan,
    Extract,
    Summarize,
    LocatePointer,
}

/// A model is about to be asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelCall {
    pub purpose: Purpose,
    /// Pictures of the present.
    pub images: u32,
    /// Pictures of earlier steps, the latest ones.
    pub past_images: u32,
    /// So many of these the model's conversation shows, or has begun after.
    pub held_images: u32,
    /// What it is told in addition. Nobody can be told anything who is asked where the pointer is.
    pub notices: Vec<String>,
}

/// A model has answered.
#[derive(Debug, Clone, Copy)]
pub struct ModelAnswer<'a> {
    pub purpose: Purpose,
    /// How many pictures went along.
    pub images: u32,
    /// For [`Purpose::Plan`].
    pub decision: Option<&'a Decision>,
    pub elapsed: Duration,
}

/// An action that is about to be performed.
#[derive(Debug, Clone, Copy)]
pub struct Act<'a> {
    pub action_id: &'a ActionId,
    pub planned: &'a PlannedAction,
    /// As it is performed. Secrets stay names.
    pub action: &'a Action<CapturePoint>,
}

/// An action that was performed.
#[derive(Debug, Clone, Copy)]
pub struct Done<'a> {
    pub act: Act<'a>,
    pub outcome: &'a ActionOutcome,
    /// `None`: it is not judged.
    pub effect: Option<&'a Effect>,
}

/// What was seen.
#[derive(Debug, Clone, Copy)]
pub struct Seen<'a> {
    pub frame: &'a Frame,
    /// `None`: no picture was made.
    pub image: Option<&'a Image>,
}

/// What words are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum WordsKind {
    Progress,
    Question,
    Answer,
}

/// Words for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Words {
    pub kind: WordsKind,
    pub text: String,
}

/// What shall be otherwise, for the points where something can.
#[derive(Debug, Clone, PartialEq)]
pub enum Amendment {
    /// For [`Point::BeforeModelCall`].
    ModelCall(ModelCallAmendment),
    /// For [`Point::BeforeScreenshot`]: painted over in addition.
    Screenshot(Vec<Redaction>),
    /// For [`Point::BeforeText`]: shown instead.
    Text(String),
}

/// What shall be otherwise with the call of a model.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ModelCallAmendment {
    /// Told in addition.
    pub notices: Vec<String>,
    /// Pictures of earlier steps that are shown at most, the latest ones.
    pub max_past_images: Option<u32>,
}

impl Happening<'_> {
    #[must_use]
    pub fn point(&self) -> Point {
        match self {
            Self::BeforeRun => Point::BeforeRun,
            Self::AfterRun(_) => Point::AfterRun,
            Self::BeforeModelCall(_) => Point::BeforeModelCall,
            Self::AfterModelCall(_) => Point::AfterModelCall,
            Self::BeforeAction(_) => Point::BeforeAction,
            Self::AfterAction(_) => Point::AfterAction,
            Self::BeforeFunction(_) => Point::BeforeFunction,
            Self::AfterFunction(..) => Point::AfterFunction,
            Self::BeforeScreenshot(_) => Point::BeforeScreenshot,
            Self::AfterScreenshot(_) => Point::AfterScreenshot,
            Self::Usage(_) => Point::Usage,
            Self::BeforeText(_) => Point::BeforeText,
            Self::AfterText(_) => Point::AfterText,
        }
    }

    /// Changes what is about to happen. Gives what has changed in words; `None` if it was so before.
    pub(super) fn amend(&mut self, amendment: Amendment) -> Result<Option<String>, Error> {
        match (self, amendment) {
            (Self::BeforeModelCall(call), Amendment::ModelCall(amendment)) => {
                Ok(call.amend(amendment))
            }
            (Self::BeforeScreenshot(hidden), Amendment::Screenshot(more)) => {
                let before = hidden.len();
                for one in more {
                    if !hidden.contains(&one) {
                        hidden.push(one);
                    }
                }
                Ok(match hidden.len() - before {
                    0 => None,
                    1 => Some("one thing more is painted over".to_owned()),
                    added => Some(format!("{added} things more are painted over")),
                })
            }
            (Self::BeforeText(words), Amendment::Text(text)) => {
                let is_new = words.text != text;
                words.text = text;
                Ok(is_new.then(|| "other words are shown".to_owned()))
            }
            (happening, amendment) => Err(Error::Misfit {
                point: happening.point(),
                problem: format!("{} cannot be changed there", amendment.words()),
            }),
        }
    }
}

impl Amendment {
    fn words(&self) -> &'static str {
        match self {
            Self::ModelCall(_) => "the call of a model",
            Self::Screenshot(_) => "what is painted over",
            Self::Text(_) => "a text",
        }
    }
}

impl ModelCall {
    fn amend(&mut self, amendment: ModelCallAmendment) -> Option<String> {
        let ModelCallAmendment {
            notices,
            max_past_images,
        } = amendment;
        let mut changed = Vec::new();
        let shown = self.past_images.min(max_past_images.unwrap_or(u32::MAX));
        if shown < self.past_images {
            changed.push(format!("{shown} earlier pictures are shown"));
            self.past_images = shown;
        }
        if !notices.is_empty() && self.purpose != Purpose::LocatePointer {
            changed.push(format!("the model is told: {}", notices.join("; ")));
            self.notices.extend(notices);
        }
        (!changed.is_empty()).then(|| changed.join("; "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(past_images: u32) -> ModelCall {
        ModelCall {
            purpose: Purpose::Plan,
            images: 1,
            past_images,
            held_images: 0,
            notices: Vec::new(),
        }
    }

    fn amended(mut happening: Happening<'_>, amendment: Amendment) -> (String, String) {
        match happening.amend(amendment) {
            Ok(words) => (words.unwrap_or_default(), format!("{happening:?}")),
            Err(error) => (error.to_string(), String::new()),
        }
    }

    #[test]
    fn fewer_pictures_are_shown_and_never_more() {
        let at_most = |most| {
            Amendment::ModelCall(ModelCallAmendment {
                notices: vec![],
                max_past_images: Some(most),
            })
        };
        let mut happening = Happening::BeforeModelCall(call(5));
        happening.amend(at_most(2)).unwrap();
        assert_eq!(happening.amend(at_most(4)), Ok(None));
        let Happening::BeforeModelCall(call) = happening else {
            unreachable!()
        };
        assert_eq!(call.past_images, 2);
    }

    #[test]
    fn what_does_not_fit_its_point_is_an_error_that_says_so() {
        let (words, _) = amended(
            Happening::BeforeModelCall(call(0)),
            Amendment::Text("hello".to_owned()),
        );
        assert_eq!(
            words,
            "what it wants to change does not fit BEFORE_MODEL_CALL: a text cannot be changed there"
        );
    }

    #[test]
    fn what_is_painted_over_already_is_no_change() {
        let window = Redaction::Window("mail".to_owned());
        let mut happening = Happening::BeforeScreenshot(vec![window.clone()]);
        let again = Amendment::Screenshot(vec![window]);
        assert_eq!(happening.amend(again), Ok(None));
    }

    #[test]
    fn every_point_has_a_place_of_its_own_in_a_set() {
        for point in Point::ALL {
            let only = Points::from([point]);
            let within = Point::ALL.into_iter().filter(|one| only.contains(*one));
            assert_eq!(within.collect::<Vec<_>>(), [point]);
            assert!(Points::all().contains(point) && !Points::NONE.contains(point));
        }
    }
}
