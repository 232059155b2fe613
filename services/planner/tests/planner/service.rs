//! The service as clients call it: in process and over gRPC, with backends that decide, decline and fail.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use motorium_kit::client::{self, Channel};
use motorium_kit::config::{HumanDuration, ListenAddress};
use motorium_kit::server;
use motorium_kit::shutdown::Shutdown;
use motorium_planner::backends::phrasebook::Phrasebook;
use motorium_planner::backends::recorded::{self, RecordedBackend};
use motorium_planner::backends::{Backend, BackendDecision, BackendError, CallContext};
use motorium_planner::prompt::Prompts;
use motorium_planner::router::{Router, RouterConfig};
use motorium_planner::{PlannerService, Settings};
use motorium_proto::FILE_DESCRIPTOR_SET;
use motorium_proto::domain::action::{Ordinal, Target, TextAnchor};
use motorium_proto::domain::decision::{Next, PastAction, PastStep, RemainingLimits};
use motorium_proto::domain::effect::{ActionOutcome, ActionResult};
use motorium_proto::domain::geometry::CapturePoint;
use motorium_proto::domain::id::ElementId;
use motorium_proto::service::{
    BackendInfo, ExtractRequest, PlanRequest, Planner, PlannerClient, PlannerServer,
    ResolveRequest, SummarizeRequest, TargetQuery,
};
use tonic::Code;

use crate::request::request;
use motorium_phrasebook::screens::{DescribedScreen, screen};

/// A backend with a fixed behaviour.
#[derive(Debug, Clone)]
enum FakeBackend {
    Fails(BackendError),
    NeverAnswers,
}

#[async_trait]
impl Backend for FakeBackend {
    fn name(&self) -> &str {
        match self {
            FakeBackend::Fails(_) => "fails",
            FakeBackend::NeverAnswers => "never-answers",
        }
    }

    fn info(&self) -> BackendInfo {
        Phrasebook.info()
    }

    async fn plan(
        &self,
        _: &PlanRequest,
        _: &CallContext,
    ) -> Result<BackendDecision, BackendError> {
        match self {
            FakeBackend::Fails(error) => Err(error.clone()),
            FakeBackend::NeverAnswers => std::future::pending().await,
        }
    }
}

fn declines() -> Arc<dyn Backend> {
    Arc::new(FakeBackend::Fails(BackendError::Declined {
        clause: "it".to_owned(),
        reason: "no".to_owned(),
    }))
}

fn breaks() -> Arc<dyn Backend> {
    Arc::new(FakeBackend::Fails(BackendError::Permanent {
        message: "no key".to_owned(),
    }))
}

fn service(backends: Vec<Arc<dyn Backend>>) -> PlannerService {
    let prompts = Arc::new(Prompts::built_in().unwrap());
    PlannerService::new(Router::new(backends, Duration::from_secs(5)), prompts)
}

fn reasons(planned: &motorium_proto::service::PlannedDecision) -> Vec<(&str, &str)> {
    planned
        .attempts
        .iter()
        .map(|attempt| (attempt.backend.as_str(), attempt.reason.as_str()))
        .collect()
}

const SCREEN: &str = r#"button 20,20 80x30 "Save""#;

#[tokio::test(start_paused = true)]
async fn the_first_backend_that_decides_is_taken() {
    let planner = service(vec![
        Arc::new(FakeBackend::NeverAnswers),
        breaks(),
        Arc::new(Phrasebook),
    ]);
    let planned = planner
        .plan(request(r#"click "Save""#, SCREEN))
        .await
        .unwrap();
    assert_eq!(planned.decision.backend, "phrasebook");
    assert_eq!(
        reasons(&planned),
        [("never-answers", "TIMED_OUT"), ("fails", "PERMANENT")]
    );

    let named = PlanRequest {
        backends: vec!["phrasebook".to_owned()],
        ..request(r#"click "Save""#, SCREEN)
    };
    assert!(planner.plan(named).await.unwrap().attempts.is_empty());
}

#[tokio::test]
async fn goal_declined_by_all_backends_fails_with_their_reasons() {
    let planned = service(vec![Arc::new(Phrasebook)])
        .plan(request("make me a sandwich", SCREEN))
        .await
        .unwrap();
    let Next::Fail { reason } = &planned.decision.next else {
        panic!("it fails")
    };
    assert_eq!(
        reason,
        "`make me a sandwich`: it does not start with a known verb; examples of supported sentences: `click \"Save\"`, \
         `type \"Alice\" into \"Name\" then press Enter`"
    );
    let planned = service(vec![declines(), Arc::new(Phrasebook)])
        .plan(request("foo", SCREEN))
        .await
        .unwrap();
    let Next::Fail { reason } = &planned.decision.next else {
        panic!("it fails")
    };
    assert!(
        reason.starts_with("fails: `it`: no\nphrasebook: `foo`: "),
        "{reason}"
    );
}

#[tokio::test]
async fn error_lists_the_reason_of_each_failed_backend() {
    let error = service(vec![breaks(), Arc::new(Phrasebook)])
        .plan(request("foo", SCREEN))
        .await
        .unwrap_err();
    assert_eq!(
        (error.code, error.reason.as_str()),
        (Code::FailedPrecondition, "ALL_BACKENDS_FAILED")
    );
    assert!(
        error.message.contains("no key") && error.message.contains("`foo`"),
        "{}",
        error.message
    );
    let error = service(vec![breaks()])
        .plan(PlanRequest {
            backends: vec!["x".to_owned()],
            ..request("foo", SCREEN)
        })
        .await
        .unwrap_err();
    assert_eq!(
        (error.code, error.reason.as_str()),
        (Code::NotFound, "BACKEND_NOT_FOUND")
    );
}

#[tokio::test]
async fn a_backend_does_not_see_the_conversation_of_another() {
    let planner = service(vec![Arc::new(Phrasebook)]);
    let foreign = PlanRequest {
        conversation: bytes::Bytes::from_static(b"\xff other"),
        conversation_backend: "claude_som".to_owned(),
        ..request(r#"click "Save""#, SCREEN)
    };
    assert!(matches!(
        planner.plan(foreign).await.unwrap().decision.next,
        Next::Act(_)
    ));
}

#[tokio::test]
async fn recorded_decisions_are_replayed_in_order() {
    let first = Phrasebook
        .plan(&request(r#"click "Save""#, SCREEN), &CallContext::default())
        .await
        .unwrap()
        .decision;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("decisions");
    std::fs::write(&path, recorded::encode(&[first.clone(), first.clone()])).unwrap();
    let name = format!("recorded:{}", path.display());
    let settings = Settings {
        backends: vec![name.clone()],
        ..Settings::default()
    };
    let planner = settings.resolve().unwrap();
    let mut next = request("anything", "");
    for _ in 0..2 {
        let decision = planner.plan(next.clone()).await.unwrap().decision;
        assert_eq!(decision.next, first.next);
        (next.conversation, next.conversation_backend) = (decision.conversation, name.clone());
    }
    assert!(
        planner
            .plan(next)
            .await
            .unwrap_err()
            .message
            .contains("the recording ends after 2 decisions")
    );
    assert!(recorded::decode(b"\x05abc").is_err());
    assert_eq!(RecordedBackend::new("r", Vec::new()).info().name, "r");
}

#[tokio::test]
async fn the_whole_text_is_read_without_a_model() {
    let planner = service(vec![Arc::new(Phrasebook)]);
    let seen = screen("button 20,40 80x30 \"Save\"\nlabel 20,90 80x30 \"7 items\"");
    let asked = |page_text: Option<&str>| ExtractRequest {
        json_schema: String::new(),
        instruction: String::new(),
        frame: seen.frame.clone(),
        image: None,
        scene: seen.scene.clone(),
        page_text: page_text.map(str::to_owned),
        backends: Vec::new(),
        remaining: RemainingLimits::default(),
    };
    let text = planner.extract(asked(Some("Cart\n7 items"))).await.unwrap();
    assert_eq!(text.json, "\"Cart\\n7 items\"");
    assert_eq!(text.usage.calls, 0);
    let text = planner.extract(asked(None)).await.unwrap();
    assert_eq!(text.json, "\"Save\\n7 items\"");
}

/// A backend that counts concurrent calls, and takes a short time for each.
#[derive(Debug, Default)]
struct Counter {
    now: AtomicUsize,
    max_concurrent: AtomicUsize,
}

#[async_trait]
impl Backend for Counter {
    fn name(&self) -> &str {
        "counter"
    }

    fn info(&self) -> BackendInfo {
        Phrasebook.info()
    }

    async fn plan(
        &self,
        _: &PlanRequest,
        _: &CallContext,
    ) -> Result<BackendDecision, BackendError> {
        let now = self.now.fetch_add(1, Ordering::SeqCst) + 1;
        self.max_concurrent.fetch_max(now, Ordering::SeqCst);
        for _ in 0..20 {
            tokio::task::yield_now().await;
        }
        self.now.fetch_sub(1, Ordering::SeqCst);
        let (clause, reason) = (String::new(), String::new());
        Err(BackendError::Declined { clause, reason })
    }
}

#[tokio::test]
async fn concurrent_calls_per_backend_are_limited() {
    let counter = Arc::new(Counter::default());
    let mut rules = RouterConfig::with_timeout(Duration::from_secs(5));
    rules.limits.concurrency = 3;
    let backends: Vec<Arc<dyn Backend>> = vec![Arc::clone(&counter) as Arc<dyn Backend>];
    let router = Router::with_config(backends, &rules);
    let planner = PlannerService::new(router, Arc::new(Prompts::built_in().unwrap()));
    let calls = (0..12).map(|_| planner.plan(request("g", SCREEN)));
    let planned = futures::future::join_all(calls).await;
    assert!(planned.iter().all(Result::is_ok), "all are answered");
    assert_eq!(counter.max_concurrent.load(Ordering::SeqCst), 3);
}

#[test]
fn invalid_backend_lists_are_refused() {
    let resolve = |backends: &[&str]| {
        let backends = backends.iter().map(|name| (*name).to_owned()).collect();
        Settings {
            backends,
            timeout: HumanDuration::seconds(1),
            listen: ListenAddress::default(),
            ..Settings::default()
        }
        .resolve()
        .map(|_| ())
        .map_err(|error| error.to_string())
    };
    assert_eq!(resolve(&["phrasebook"]), Ok(()));
    for (backends, expected) in [
        (
            &[][..],
            "planner.backends is empty; name at least one of: phrasebook, recorded:FILE, claude_som, qwen_vl",
        ),
        (
            &["gpt"],
            "planner.backends: unknown backend `gpt`; known backends: phrasebook, recorded:FILE, claude_som, qwen_vl",
        ),
        (
            &["phrasebook", "phrasebook"],
            "planner.backends: `phrasebook` is listed twice",
        ),
    ] {
        let error = resolve(backends).unwrap_err();
        assert!(error.starts_with(expected), "{error}");
    }
    assert!(
        resolve(&["recorded:/nowhere/at-all"])
            .unwrap_err()
            .contains("/nowhere/at-all")
    );
}

fn resolve(seen: &str, target: Target) -> ResolveRequest {
    let DescribedScreen { frame, scene } = screen(seen);
    ResolveRequest {
        target: TargetQuery::Target(target),
        frame,
        scene,
    }
}

#[tokio::test]
async fn targets_are_resolved_against_the_scene() {
    let planner = service(vec![Arc::new(Phrasebook)]);
    let seen = r#"
        button 20,20 80x30 "Edit"
        button 20,60 80x30 "Edit"
        text 200,20 120x20 "File Edit View"
    "#;
    let element = planner
        .resolve_target(resolve(seen, Target::Element(ElementId(2))))
        .await
        .unwrap();
    assert_eq!(
        (element.point, element.element),
        (CapturePoint::new(60, 75), Some(ElementId(2)))
    );
    let gone = planner
        .resolve_target(resolve(seen, Target::Element(ElementId(9))))
        .await
        .unwrap_err();
    assert_eq!(gone.reason, "ELEMENT_NOT_FOUND");

    let inside = planner
        .resolve_target(resolve(seen, Target::Point(CapturePoint::new(30, 30))))
        .await
        .unwrap();
    assert_eq!(
        (inside.bounds.min, inside.bounds.max),
        (CapturePoint::new(20, 20), CapturePoint::new(100, 50))
    );
    let blank = planner
        .resolve_target(resolve(seen, Target::Point(CapturePoint::new(500, 500))))
        .await
        .unwrap();
    assert!(blank.bounds.contains(blank.point) && blank.bounds.width() == 6);
    let outside = planner
        .resolve_target(resolve(seen, Target::Point(CapturePoint::new(-1, 5))))
        .await
        .unwrap_err();
    assert_eq!(outside.code, Code::InvalidArgument);

    let anchor = |text: &str, ordinal| {
        Target::Text(TextAnchor {
            text: text.to_owned(),
            ordinal,
            ..TextAnchor::default()
        })
    };
    let second = planner
        .resolve_target(resolve(seen, anchor("Edit", Some(Ordinal::Nth(2)))))
        .await
        .unwrap();
    assert_eq!(
        (second.element, second.candidates.len()),
        (Some(ElementId(2)), 1)
    );
    let word = planner
        .resolve_target(resolve(seen, anchor("View", None)))
        .await
        .unwrap();
    assert_eq!(word.element, None);
    assert!((285..320).contains(&word.point.x), "{:?}", word.point);
    let several = planner
        .resolve_target(resolve(seen, anchor("Edit", None)))
        .await
        .unwrap_err();
    assert_eq!(several.reason, "TARGET_AMBIGUOUS");
    let none = planner
        .resolve_target(resolve(seen, anchor("Ebit all", None)))
        .await
        .unwrap_err();
    assert_eq!(none.reason, "TARGET_NOT_FOUND");
    assert!(none.message.contains("\"Edit\""), "{}", none.message);
}

#[tokio::test]
async fn a_task_is_summed_up_without_a_model() {
    let planner = service(vec![Arc::new(Phrasebook)]);
    let decision = Phrasebook
        .plan(&request(r#"click "Save""#, SCREEN), &CallContext::default())
        .await
        .unwrap()
        .decision;
    let Next::Act(actions) = decision.next else {
        panic!("it acts")
    };
    let past = |planned| PastAction {
        planned,
        outcome: ActionOutcome::new(ActionResult::Performed, ""),
        effect: None,
        retries: 0,
        target_label: None,
    };
    let history = vec![PastStep {
        actions: actions.into_iter().map(past).collect(),
        ..PastStep::default()
    }];
    let sum = |goal: &str, answer: &str, succeeded| SummarizeRequest {
        goal: goal.to_owned(),
        history: history.clone(),
        answer: answer.to_owned(),
        succeeded,
        language: None,
        backends: Vec::new(),
        remaining: RemainingLimits::default(),
        fallback: String::new(),
    };
    for (request, expected) in [
        (sum("g", "It is saved.", true), "It is saved."),
        (sum("g", "", true), "Done: click \"Save\"."),
        (
            sum("g", "\"OK\" is not there.", false),
            "Not done: \"OK\" is not there. Done so far: click \"Save\".",
        ),
        (sum("目标", "", false), "到目前为止已完成：click \"Save\"。"),
    ] {
        assert_eq!(planner.summarize(request).await.unwrap().text, expected);
    }
}

#[tokio::test]
async fn the_service_answers_over_grpc_as_in_the_same_process() {
    let shutdown = Shutdown::new();
    let inner = Arc::new(service(vec![Arc::new(Phrasebook)]));
    let running = server::Builder::new(server::Config::loopback())
        .service(
            PlannerServer::tonic(Arc::clone(&inner) as Arc<dyn Planner>),
            FILE_DESCRIPTOR_SET,
        )
        .start(&shutdown)
        .await
        .unwrap();
    let uri = format!("http://{}", running.local_address());
    let client = PlannerClient::new(Channel::connect_lazy(&client::Config::new(uri)).unwrap());
    let planners: [&dyn Planner; 2] = [&*inner, &client];

    let mut answers = Vec::new();
    for planner in planners {
        let planned = planner
            .plan(request(r#"在“Name”中输入“张三”，然后点击“Save”"#, SCREEN))
            .await
            .unwrap();
        let declined = planner.plan(request("写诗", SCREEN)).await.unwrap();
        let mut listed = planner.list_backends().await.unwrap();
        for backend in &mut listed {
            let measured = backend.median_latency.take();
            assert!(
                measured.is_some(),
                "it has answered, and no two times are alike"
            );
        }
        let DescribedScreen { frame, scene } = screen(SCREEN);
        let extract = ExtractRequest {
            json_schema: "{}".to_owned(),
            instruction: "the total".to_owned(),
            frame,
            image: None,
            scene,
            page_text: None,
            backends: Vec::new(),
            remaining: RemainingLimits::default(),
        };
        let extracted = planner.extract(extract).await.unwrap_err();
        assert_eq!(
            (extracted.code, extracted.reason.as_str()),
            (Code::FailedPrecondition, "MODEL_REQUIRED")
        );
        answers.push((planned, declined, listed));
    }
    assert_eq!(answers[0], answers[1]);
    running.stop().await.unwrap();
}
