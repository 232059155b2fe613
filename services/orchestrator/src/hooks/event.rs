//! The points of a task at which hooks are called, the data passed there, and the possible amendments.
//!
//! Everything except amendable data is borrowed from the loop. Pure.

use std::time::Duration;

use motorium_messages::{Language, Message, join_clauses};
use motorium_proto::domain::action::Action;
use motorium_proto::domain::decision::{
    Decision, FunctionCall, FunctionResult, PlannedAction, Usage,
};
use motorium_proto::domain::effect::{ActionOutcome, Effect};
use motorium_proto::domain::frame::{Frame, Image};
use motorium_proto::domain::geometry::CapturePoint;
use motorium_proto::domain::id::ActionId;
use motorium_proto::service::Redaction;

use super::{Error, TaskArchive};

/// A point of a task at which hooks are called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum HookPoint {
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

impl HookPoint {
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

    /// Returns the name of the wire enum without its prefix.
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

    /// Returns whether the hook's verdict is applied at this point: before an event, and after a model's decision.
    #[must_use]
    pub fn accepts_verdict(self) -> bool {
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
pub struct HookPoints(u16);

impl HookPoints {
    /// The empty set.
    pub const NONE: Self = Self(0);

    #[must_use]
    pub fn contains(self, point: HookPoint) -> bool {
        self.0 & (1 << point as u16) != 0
    }

    #[must_use]
    pub fn all() -> Self {
        HookPoint::ALL.into_iter().collect()
    }
}

impl FromIterator<HookPoint> for HookPoints {
    fn from_iter<T: IntoIterator<Item = HookPoint>>(points: T) -> Self {
        let bits = points.into_iter().map(|point| 1 << point as u16);
        Self(bits.fold(0, |all, bit: u16| all | bit))
    }
}

impl<const N: usize> From<[HookPoint; N]> for HookPoints {
    fn from(points: [HookPoint; N]) -> Self {
        points.into_iter().collect()
    }
}

/// An event that is about to happen or has happened.
#[derive(Debug, Clone)]
pub enum HookEvent<'a> {
    BeforeRun,
    AfterRun(HookRunEnd<'a>),
    BeforeModelCall(ModelCall),
    AfterModelCall(ModelResponse<'a>),
    BeforeAction(HookAction<'a>),
    AfterAction(HookActionResult<'a>),
    BeforeFunction(&'a FunctionCall),
    AfterFunction(&'a FunctionCall, &'a FunctionResult),
    /// Redactions collected so far.
    BeforeScreenshot(Vec<Redaction>),
    AfterScreenshot(HookScreenshot<'a>),
    /// Usage of one call, already included in the task's total.
    Usage(Usage),
    BeforeText(HookText),
    AfterText(HookText),
}

/// A task that has ended.
#[derive(Debug, Clone, Copy)]
pub struct HookRunEnd<'a> {
    /// `SUCCEEDED`, `FAILED` or `CANCELLED`.
    pub state: &'static str,
    /// The answer, or the reason for failure or cancellation.
    pub message: &'a str,
    /// Its log, images and files.
    pub archive: &'a TaskArchive,
}

/// Purpose of a model call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ModelCallPurpose {
    Plan,
    Extract,
    Summarize,
    LocatePointer,
}

/// A model call that is about to be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelCall {
    pub purpose: ModelCallPurpose,
    /// Number of images of the current step.
    pub images: u32,
    /// Number of images of earlier steps, the latest ones.
    pub past_images: u32,
    /// Number of those that the model's conversation already contains, or that are newer than the oldest it contains.
    pub conversation_images: u32,
    /// Additional notices for the model. Only available for [`ModelCallPurpose::Plan`] and
    /// [`ModelCallPurpose::Extract`].
    pub notices: Vec<String>,
}

/// A model's response.
#[derive(Debug, Clone, Copy)]
pub struct ModelResponse<'a> {
    pub purpose: ModelCallPurpose,
    /// Number of images sent with the call.
    pub images: u32,
    /// Set for [`ModelCallPurpose::Plan`].
    pub decision: Option<&'a Decision>,
    pub elapsed: Duration,
}

/// An action, before it is performed.
#[derive(Debug, Clone, Copy)]
pub struct HookAction<'a> {
    pub action_id: &'a ActionId,
    pub planned: &'a PlannedAction,
    /// The resolved action. Secrets are referred to by name.
    pub action: &'a Action<CapturePoint>,
}

/// An action, after it was performed.
#[derive(Debug, Clone, Copy)]
pub struct HookActionResult<'a> {
    pub act: HookAction<'a>,
    pub outcome: &'a ActionOutcome,
    /// `None` if the effect has not been judged.
    pub effect: Option<&'a Effect>,
}

/// A screenshot that was taken.
#[derive(Debug, Clone, Copy)]
pub struct HookScreenshot<'a> {
    pub frame: &'a Frame,
    /// `None` if only metadata was captured.
    pub image: Option<&'a Image>,
}

/// Kind of a text shown to the user.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum HookTextKind {
    Progress,
    Question,
    Answer,
}

/// A text shown to the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookText {
    pub kind: HookTextKind,
    pub text: String,
}

/// A change that a hook makes to an event, for the points that allow one.
#[derive(Debug, Clone, PartialEq)]
pub enum Amendment {
    /// For [`HookPoint::BeforeModelCall`].
    ModelCall(ModelCallAmendment),
    /// For [`HookPoint::BeforeScreenshot`]: additional redactions.
    Screenshot(Vec<Redaction>),
    /// For [`HookPoint::BeforeText`]: the text to show instead.
    Text(String),
}

/// Amendment of a model call.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ModelCallAmendment {
    /// Additional notices for the model.
    pub notices: Vec<String>,
    /// Maximum number of images of earlier steps; the latest are kept.
    pub max_past_images: Option<u32>,
}

impl HookEvent<'_> {
    #[must_use]
    pub fn point(&self) -> HookPoint {
        match self {
            Self::BeforeRun => HookPoint::BeforeRun,
            Self::AfterRun(_) => HookPoint::AfterRun,
            Self::BeforeModelCall(_) => HookPoint::BeforeModelCall,
            Self::AfterModelCall(_) => HookPoint::AfterModelCall,
            Self::BeforeAction(_) => HookPoint::BeforeAction,
            Self::AfterAction(_) => HookPoint::AfterAction,
            Self::BeforeFunction(_) => HookPoint::BeforeFunction,
            Self::AfterFunction(..) => HookPoint::AfterFunction,
            Self::BeforeScreenshot(_) => HookPoint::BeforeScreenshot,
            Self::AfterScreenshot(_) => HookPoint::AfterScreenshot,
            Self::Usage(_) => HookPoint::Usage,
            Self::BeforeText(_) => HookPoint::BeforeText,
            Self::AfterText(_) => HookPoint::AfterText,
        }
    }

    /// Applies an amendment. Returns a description of the change, or `None` if it changed nothing.
    pub(super) fn amend(
        &mut self,
        amendment: Amendment,
        language: Language,
    ) -> Result<Option<String>, Error> {
        match (self, amendment) {
            (Self::BeforeModelCall(call), Amendment::ModelCall(amendment)) => {
                Ok(call.amend(amendment, language))
            }
            (Self::BeforeScreenshot(hidden), Amendment::Screenshot(more)) => {
                let before = hidden.len();
                for one in more {
                    if !hidden.contains(&one) {
                        hidden.push(one);
                    }
                }
                let count = hidden.len() - before;
                Ok((count > 0).then(|| Message::RedactionsAdded { count }.text(language)))
            }
            (Self::BeforeText(words), Amendment::Text(text)) => {
                let is_new = words.text != text;
                words.text = text;
                Ok(is_new.then(|| Message::TextReplaced.text(language)))
            }
            (hook_event, amendment) => Err(Error::MisplacedAmendment {
                point: hook_event.point(),
                fields: amendment.fields(),
            }),
        }
    }
}

impl Amendment {
    /// Returns what it amends, by the names of the contract.
    fn fields(&self) -> Vec<&'static str> {
        match self {
            Self::ModelCall(_) => vec!["notices", "max_past_images"],
            Self::Screenshot(_) => vec!["redact_regions", "redact_patterns", "redact_windows"],
            Self::Text(_) => vec!["text"],
        }
    }
}

impl ModelCall {
    fn amend(&mut self, amendment: ModelCallAmendment, language: Language) -> Option<String> {
        let ModelCallAmendment {
            notices,
            max_past_images,
        } = amendment;
        let mut changed = Vec::new();
        let shown = self.past_images.min(max_past_images.unwrap_or(u32::MAX));
        if shown < self.past_images {
            changed.push(Message::PastImagesSent { count: shown }.text(language));
            self.past_images = shown;
        }
        let has_notices = matches!(
            self.purpose,
            ModelCallPurpose::Plan | ModelCallPurpose::Extract
        );
        if !notices.is_empty() && has_notices {
            let joined = &join_clauses(&notices, language);
            changed.push(Message::ModelNotices { notices: joined }.text(language));
            self.notices.extend(notices);
        }
        (!changed.is_empty()).then(|| join_clauses(&changed, language))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(past_images: u32) -> ModelCall {
        ModelCall {
            purpose: ModelCallPurpose::Plan,
            images: 1,
            past_images,
            conversation_images: 0,
            notices: Vec::new(),
        }
    }

    fn amended(mut hook_event: HookEvent<'_>, amendment: Amendment) -> (String, String) {
        match hook_event.amend(amendment, Language::English) {
            Ok(words) => (words.unwrap_or_default(), format!("{hook_event:?}")),
            Err(error) => (error.to_string(), String::new()),
        }
    }

    #[test]
    fn hooks_can_only_lower_the_image_limit() {
        let limited_to = |max| {
            Amendment::ModelCall(ModelCallAmendment {
                notices: vec![],
                max_past_images: Some(max),
            })
        };
        let mut hook_event = HookEvent::BeforeModelCall(call(5));
        hook_event.amend(limited_to(2), Language::English).unwrap();
        assert_eq!(hook_event.amend(limited_to(4), Language::English), Ok(None));
        let HookEvent::BeforeModelCall(call) = hook_event else {
            unreachable!()
        };
        assert_eq!(call.past_images, 2);
    }

    #[test]
    fn amendment_of_the_wrong_kind_is_a_clear_error() {
        let (words, _) = amended(
            HookEvent::BeforeModelCall(call(0)),
            Amendment::Text("hello".to_owned()),
        );
        assert_eq!(
            words,
            "invalid amendment at BEFORE_MODEL_CALL: text cannot be amended there"
        );
    }

    #[test]
    fn repeated_redaction_is_not_a_change() {
        let window = Redaction::Window("mail".to_owned());
        let mut hook_event = HookEvent::BeforeScreenshot(vec![window.clone()]);
        let again = Amendment::Screenshot(vec![window]);
        assert_eq!(hook_event.amend(again, Language::English), Ok(None));
    }

    #[test]
    fn hook_point_set_distinguishes_every_point() {
        for point in HookPoint::ALL {
            let only = HookPoints::from([point]);
            let within = HookPoint::ALL.into_iter().filter(|one| only.contains(*one));
            assert_eq!(within.collect::<Vec<_>>(), [point]);
            assert!(HookPoints::all().contains(point) && !HookPoints::NONE.contains(point));
        }
    }
}
