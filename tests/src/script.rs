//! A planner whose decisions a test makes: served on the loopback address, where no model is.
//!
//! The test is asked as a model would be ([`Script::asked`]) and decides when and what it wants; what it never answers is
//! a model that never answers. Targets are found by a real Planner, which the calls are passed on to. Nothing is decided
//! here.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use bytes::Bytes;
use futures::future::BoxFuture;
use motorium_proto::domain::action::{
    Action, Button, ControlCharacters, ScrollAmount, Target, Text, TextAnchor,
};
use motorium_proto::domain::decision::{
    Decision, Next, PlannedAction, SafetyCheck, SuspectedInjection, Usage,
};
use motorium_proto::domain::geometry::{CapturePoint, CaptureRect};
use motorium_proto::error::ErrorReport;
use motorium_proto::service::{
    BackendInfo, ExtractRequest, Extraction, PlanRequest, Planned, Planner, PlannerClient,
    PlannerServer, PointerCheck, PointerRequest, ResolveRequest, Resolved, Result,
    SummarizeRequest, Summary,
};
use tokio::net::TcpListener;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio_stream::wrappers::TcpListenerStream;
use tonic::Code;
use tonic::transport::{Channel, Server};

/// What the decisions of a test are said to come from.
const BACKEND: &str = "script";

/// Says of a pointer what a model would that looks at the picture.
type Look = Arc<dyn Fn(PointerRequest) -> BoxFuture<'static, PointerCheck> + Send + Sync>;

/// A small box around a point.
fn around(point: CapturePoint) -> CaptureRect {
    let reach = CapturePoint::new(4, 4).to_vector();
    CaptureRect::new(point - reach, point + reach)
}

/// Somebody waits for a decision.
#[derive(Debug)]
pub struct Asked {
    /// What it is to be made on.
    pub request: PlanRequest,
    answer: oneshot::Sender<Decision>,
}

impl Asked {
    /// Decides.
    ///
    /// # Panics
    /// If nobody waits for it any more.
    pub fn decide(self, next: Next) {
        self.send(decision(next));
    }

    /// Decides, with warnings of the model's provider.
    ///
    /// # Panics
    /// As [`Asked::decide`].
    pub fn decide_with_warning(self, next: Next, check: SafetyCheck) {
        self.send(Decision {
            safety_checks: vec![check],
            ..decision(next)
        });
    }

    /// Decides, having found orders on the screen, in the element that says so.
    ///
    /// # Panics
    /// As [`Asked::decide`]; if nothing on the screen says so.
    pub fn decide_under_orders(self, next: Next, quote: &str) {
        let mut elements = self.request.scene.elements.iter();
        // Which of the models for reading is used depends on the processor, and not all of them see every space.
        let letters = |text: &str| text.split_whitespace().collect::<String>();
        let element = elements
            .find(|element| letters(&element.content).contains(&letters(quote)))
            .unwrap_or_else(|| panic!("nothing says {quote:?}"));
        let suspicion = SuspectedInjection {
            quote: quote.to_owned(),
            bounds: Some(around(element.centre)),
        };
        self.send(Decision {
            suspected_injections: vec![suspicion],
            ..decision(next)
        });
    }

    fn send(self, decision: Decision) {
        let sent = self.answer.send(decision);
        sent.expect("somebody waits for the decision");
    }

    /// Waits until nobody waits for the decision any more.
    pub async fn given_up(&mut self) {
        self.answer.closed().await;
    }
}

/// The planner's end that the test holds.
#[derive(Debug)]
pub struct Script {
    /// Where it answers.
    pub url: String,
    stand_in: StandIn,
    questions: mpsc::UnboundedReceiver<Asked>,
    serving: JoinHandle<()>,
}

impl Drop for Script {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

impl Script {
    /// Serves a planner that passes on to `real` what needs no decision.
    ///
    /// # Panics
    /// If no port is free.
    pub async fn serve(real: Channel) -> Self {
        let (asks, questions) = mpsc::unbounded_channel();
        let stand_in = StandIn {
            real: PlannerClient::new(real),
            asks,
            eye: Eye::default(),
        };
        let listener = TcpListener::bind("127.0.0.1:0")
            .await
            .expect("a port is free");
        let address = listener.local_addr().expect("it is bound");
        let service = PlannerServer::tonic(Arc::new(stand_in.clone()));
        let serving = tokio::spawn(async move {
            Server::builder()
                .add_service(service)
                .serve_with_incoming(TcpListenerStream::new(listener))
                .await
                .expect("a bound listener serves");
        });
        Self {
            url: format!("http://{address}"),
            stand_in,
            questions,
            serving,
        }
    }

    /// Waits until a decision is wanted. One that nobody waits for any more is not.
    ///
    /// # Panics
    /// Never: the stand-in can always be asked.
    pub async fn asked(&mut self) -> Asked {
        loop {
            let asked = self.questions.recv().await;
            let asked = asked.expect("the stand-in holds the other end");
            if !asked.answer.is_closed() {
                return asked;
            }
        }
    }

    /// Whether nobody waits for a decision.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.questions.is_empty()
    }

    /// From now on, whoever asks for the pointer is told what `look` says.
    pub fn look_for_pointer(
        &self,
        look: impl Fn(PointerRequest) -> BoxFuture<'static, PointerCheck> + Send + Sync + 'static,
    ) {
        *self.stand_in.eye.look() = Some(Arc::new(look));
    }
}

#[derive(Clone, Default)]
struct Eye(Arc<Mutex<Option<Look>>>);

impl Eye {
    fn look(&self) -> MutexGuard<'_, Option<Look>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Eye {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Eye").finish_non_exhaustive()
    }
}

#[derive(Debug, Clone)]
struct StandIn {
    real: PlannerClient<Channel>,
    asks: mpsc::UnboundedSender<Asked>,
    eye: Eye,
}

#[async_trait]
impl Planner for StandIn {
    async fn plan(&self, request: PlanRequest) -> Result<Planned> {
        let (answer, decided) = oneshot::channel();
        let asked = self.asks.send(Asked { request, answer });
        let decision = match asked {
            Ok(()) => decided.await.ok(),
            Err(_) => None,
        };
        let decision = decision.ok_or_else(|| {
            let message = "the test has no decision for this";
            ErrorReport::new(Code::FailedPrecondition, "NO_DECISION", message)
        })?;
        Ok(Planned {
            decision,
            attempts: Vec::new(),
        })
    }

    async fn summarize(&self, request: SummarizeRequest) -> Result<Summary> {
        self.real.summarize(request).await
    }

    async fn extract(&self, request: ExtractRequest) -> Result<Extraction> {
        self.real.extract(request).await
    }

    async fn locate_pointer(&self, request: PointerRequest) -> Result<PointerCheck> {
        let look = self.eye.look().clone();
        match look {
            Some(look) => Ok(look(request).await),
            None => self.real.locate_pointer(request).await,
        }
    }

    async fn resolve_target(&self, request: ResolveRequest) -> Result<Resolved> {
        self.real.resolve_target(request).await
    }

    async fn list_backends(&self) -> Result<Vec<BackendInfo>> {
        self.real.list_backends().await
    }
}

fn decision(next: Next) -> Decision {
    Decision {
        thought: String::new(),
        progress: String::new(),
        next,
        safety_checks: Vec::new(),
        conversation: Bytes::new(),
        backend: BACKEND.to_owned(),
        model: String::new(),
        usage: Usage::default(),
        suspected_injections: Vec::new(),
        conversation_images: Vec::new(),
    }
}

/// A click on what says this. It may be repeated.
#[must_use]
pub fn click(text: &str) -> PlannedAction {
    click_at(Target::Text(anchor(text)), text)
}

/// A click on this point. It may be repeated.
#[must_use]
pub fn click_point(point: CapturePoint) -> PlannedAction {
    click_at(Target::Point(point), &format!("({}, {})", point.x, point.y))
}

/// A click on what says this, where the pointer's place is made sure of before.
#[must_use]
pub fn click_surely(text: &str) -> PlannedAction {
    PlannedAction {
        verify_pointer: true,
        ..click(text)
    }
}

fn click_at(target: Target, words: &str) -> PlannedAction {
    PlannedAction {
        action: Action::Click {
            at: Some(target),
            button: Button::Left,
            count: 1,
            modifiers: Vec::new(),
        },
        intent: format!("click \"{words}\""),
        verify_pointer: false,
        repeatable: true,
    }
}

/// Turning the wheel down over what says this. It may be repeated.
#[must_use]
pub fn scroll_down(over: &str) -> PlannedAction {
    PlannedAction {
        action: Action::Scroll {
            at: Some(Target::Text(anchor(over))),
            amount: ScrollAmount::Notches { x: 0, y: 3 },
            modifiers: Vec::new(),
        },
        intent: format!("scroll down at \"{over}\""),
        verify_pointer: false,
        repeatable: true,
    }
}

/// A text for whatever has the keyboard.
#[must_use]
pub fn typing(text: &str) -> PlannedAction {
    PlannedAction {
        action: Action::TypeText {
            text: Text::Literal(text.to_owned()),
            control_characters: ControlCharacters::AsKeys,
        },
        intent: "type a text".to_owned(),
        verify_pointer: false,
        // Even where a planner calls it repeatable.
        repeatable: true,
    }
}

/// A step of one action.
#[must_use]
pub fn act(action: PlannedAction) -> Next {
    Next::Act(vec![action])
}

/// The claim of success.
#[must_use]
pub fn done(answer: &str) -> Next {
    Next::Done {
        answer: answer.to_owned(),
        evidence: Vec::new(),
    }
}

fn anchor(text: &str) -> TextAnchor {
    TextAnchor {
        text: text.to_owned(),
        ..TextAnchor::default()
    }
}
