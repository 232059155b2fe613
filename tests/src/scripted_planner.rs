//! A planner whose decisions the test makes, served on the loopback address in place of a model.
//!
//! The test receives the plan requests ([`PendingPlanRequest`]) and decides when and what to answer; an unanswered request acts
//! like a model that hangs. All other calls are forwarded to a real Planner.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use bytes::Bytes;
use futures::future::BoxFuture;
use motorium_client::Channel;
use motorium_proto::domain::action::{
    Action, Button, ControlCharacters, ScrollAmount, Target, Text, TextAnchor,
};
use motorium_proto::domain::decision::{
    Decision, Next, PlannedAction, SafetyCheck, SuspectedInjection, Usage,
};
use motorium_proto::domain::geometry::{CapturePoint, CaptureRect};
use motorium_proto::domain::key::Key;
use motorium_proto::error::ErrorReport;
use motorium_proto::service::{
    BackendInfo, ExtractRequest, Extraction, PlanRequest, PlannedDecision, Planner, PlannerClient,
    PlannerServer, PointerCheck, PointerRequest, ResolveRequest, ResolvedTarget, Result,
    SummarizeRequest, Summary,
};
use motorium_proto::v1::common as wire_common;
use tokio::net::TcpListener;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio_stream::wrappers::TcpListenerStream;
use tonic::Code;
use tonic::transport::Server;

/// Backend name of the test's decisions.
const BACKEND: &str = "script";

/// Answers pointer checks in place of a model.
type PointerLocator = Arc<dyn Fn(PointerRequest) -> BoxFuture<'static, PointerCheck> + Send + Sync>;

/// Returns a small box around a point.
fn around(point: CapturePoint) -> CaptureRect {
    let reach = CapturePoint::new(4, 4).to_vector();
    CaptureRect::new(point - reach, point + reach)
}

/// A plan request that awaits a decision.
#[derive(Debug)]
pub struct PendingPlanRequest {
    /// The request.
    pub request: PlanRequest,
    answer: oneshot::Sender<Decision>,
}

impl PendingPlanRequest {
    /// Answers with a decision.
    ///
    /// # Panics
    /// If the caller has given up.
    pub fn decide(self, next: Next) {
        self.send(decision(next));
    }

    /// Answers with a decision and a safety check of the model's provider.
    ///
    /// # Panics
    /// Panics under the conditions of [`PendingPlanRequest::decide`].
    pub fn decide_with_safety_check(self, next: Next, check: SafetyCheck) {
        self.send(Decision {
            safety_checks: vec![check],
            ..decision(next)
        });
    }

    /// Answers with a decision and a suspected prompt injection in the element that contains `quote`.
    ///
    /// # Panics
    /// Panics under the conditions of [`PendingPlanRequest::decide`], and if no element contains `quote`.
    pub fn decide_with_injection(self, next: Next, quote: &str) {
        let mut elements = self.request.scene.elements.iter();
        // Which text recognition model is used depends on the processor, and not all of them recognise every space.
        let letters = |text: &str| text.split_whitespace().collect::<String>();
        let element = elements
            .find(|element| letters(&element.content).contains(&letters(quote)))
            .unwrap_or_else(|| panic!("no element contains {quote:?}"));
        let injection = SuspectedInjection {
            quote: quote.to_owned(),
            bounds: Some(around(element.centre)),
        };
        self.send(Decision {
            suspected_injections: vec![injection],
            ..decision(next)
        });
    }

    fn send(self, decision: Decision) {
        let sent = self.answer.send(decision);
        sent.expect("the plan request is pending");
    }

    /// Waits until the caller gives up.
    pub async fn cancelled(&mut self) {
        self.answer.closed().await;
    }
}

/// A planner that the test controls.
#[derive(Debug)]
pub struct ScriptedPlanner {
    /// URL of the server.
    pub url: String,
    stand_in: PlannerStub,
    questions: mpsc::UnboundedReceiver<PendingPlanRequest>,
    serving: JoinHandle<()>,
}

impl Drop for ScriptedPlanner {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

impl ScriptedPlanner {
    /// Serves the planner; calls other than `plan` are forwarded to `real`.
    ///
    /// # Panics
    /// If no port is free.
    pub async fn serve(real: Channel) -> Self {
        let (asks, questions) = mpsc::unbounded_channel();
        let stand_in = PlannerStub {
            real: PlannerClient::new(real),
            asks,
            eye: PointerLocatorSlot::default(),
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

    /// Waits for the next plan request, skipping those whose caller has given up.
    ///
    /// # Panics
    /// Never: the stub holds the sender.
    pub async fn next_request(&mut self) -> PendingPlanRequest {
        loop {
            let asked = self.questions.recv().await;
            let asked = asked.expect("the stub holds the sender");
            if !asked.answer.is_closed() {
                return asked;
            }
        }
    }

    /// Returns whether no plan request is pending.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.questions.is_empty()
    }

    /// Answers pointer checks with `look` from now on.
    pub fn set_pointer_locator(
        &self,
        look: impl Fn(PointerRequest) -> BoxFuture<'static, PointerCheck> + Send + Sync + 'static,
    ) {
        *self.stand_in.eye.look() = Some(Arc::new(look));
    }
}

#[derive(Clone, Default)]
struct PointerLocatorSlot(Arc<Mutex<Option<PointerLocator>>>);

impl PointerLocatorSlot {
    fn look(&self) -> MutexGuard<'_, Option<PointerLocator>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for PointerLocatorSlot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Eye").finish_non_exhaustive()
    }
}

#[derive(Debug, Clone)]
struct PlannerStub {
    real: PlannerClient<Channel>,
    asks: mpsc::UnboundedSender<PendingPlanRequest>,
    eye: PointerLocatorSlot,
}

#[async_trait]
impl Planner for PlannerStub {
    async fn plan(&self, request: PlanRequest) -> Result<PlannedDecision> {
        let (answer, decided) = oneshot::channel();
        let asked = self.asks.send(PendingPlanRequest { request, answer });
        let decision = match asked {
            Ok(()) => decided.await.ok(),
            Err(_) => None,
        };
        let decision = decision.ok_or_else(|| {
            let message = "the test has no decision for this";
            ErrorReport::new(Code::FailedPrecondition, "NO_DECISION", message)
        })?;
        Ok(PlannedDecision {
            decision,
            attempts: Vec::new(),
            annotated_image: None,
            requests: Vec::new(),
            responses: Vec::new(),
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

    async fn resolve_target(&self, request: ResolveRequest) -> Result<ResolvedTarget> {
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

/// Returns the declarations of functions of a tool, without descriptions and arguments.
#[must_use]
pub fn functions_named<const N: usize>(names: [&str; N]) -> Vec<wire_common::FunctionDeclaration> {
    let declared = |name: &str| wire_common::FunctionDeclaration {
        name: name.to_owned(),
        ..wire_common::FunctionDeclaration::default()
    };
    names.map(declared).into()
}

/// Returns a repeatable click on the element with this text.
#[must_use]
pub fn click(text: &str) -> PlannedAction {
    click_at(Target::Text(anchor(text)), text)
}

/// Returns a repeatable click on this point.
#[must_use]
pub fn click_point(point: CapturePoint) -> PlannedAction {
    click_at(Target::Point(point), &format!("({}, {})", point.x, point.y))
}

/// Returns a click on the element with this text, with verification of the pointer.
#[must_use]
pub fn click_verified(text: &str) -> PlannedAction {
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

/// Returns a repeatable scroll down over the element with this text.
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

/// Returns a press of these keys together.
#[must_use]
pub fn chord(keys: &[Key]) -> PlannedAction {
    PlannedAction {
        action: Action::KeyChord {
            keys: keys.to_vec(),
            repeat: 1,
        },
        intent: "press keys".to_owned(),
        verify_pointer: false,
        repeatable: false,
    }
}

/// Returns typing into the focused element.
#[must_use]
pub fn typing(text: &str) -> PlannedAction {
    PlannedAction {
        action: Action::TypeText {
            text: Text::Literal(text.to_owned()),
            control_characters: ControlCharacters::AsKeys,
        },
        intent: "type a text".to_owned(),
        verify_pointer: false,
        // Typing must not be repeated, even if a planner calls it repeatable.
        repeatable: true,
    }
}

/// Returns a step of one action.
#[must_use]
pub fn act(action: PlannedAction) -> Next {
    Next::Act(vec![action])
}

/// Returns a declaration of success.
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
