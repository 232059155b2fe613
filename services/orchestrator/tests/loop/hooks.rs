//! Hooks: what they are told, what their verdicts do, and how their failures are treated.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use motorium_kit::config::HumanDuration;
use motorium_kit::server::{Builder, Config as ServerConfig, RunningServer};
use motorium_kit::shutdown::Shutdown;
use motorium_orchestrator::hooks::event::{HookText, HookTextKind, ModelCallPurpose};
use motorium_orchestrator::hooks::settings::HookSettings;
use motorium_orchestrator::hooks::{
    Amendment, Error, Hook, HookContext, HookErrorPolicy, HookEvent, HookPoint, HookPoints,
    HookVerdict, ModelCallAmendment, activity_log, budget, image_retention, redaction, service,
    trajectory,
};
use motorium_proto::FILE_DESCRIPTOR_SET;
use motorium_proto::domain::decision::{Next, PlannedAction, Usage};
use motorium_proto::domain::geometry::{CapturePoint, CaptureRect};
use motorium_proto::service::Redaction;
use motorium_proto::v1::hook as wire;
use motorium_proto::v1::hook::call_hook_request::Subject;
use motorium_proto::v1::hook::call_hook_response::Verdict as WireVerdict;
use motorium_proto::v1::hook::hook_service_server::{HookService, HookServiceServer};
use motorium_proto::v1::orchestrator as api;
use motorium_proto::v1::orchestrator::event::Kind;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tonic::{Request, Response, Status};

use crate::support::cluster::Cluster;
use crate::support::in_time;
use crate::support::script::{act, call, click, click_once, done, typing, typing_secret};
use crate::support::task_events::TaskEvents;
use crate::support::tools::Tools;
use crate::{functions, replay};

/// Behaviour of a test hook when it is called.
enum HookBehaviour {
    Says(HookVerdict),
    Fails,
    Panics,
    Hangs,
}

type Behaviour = dyn Fn(&HookEvent<'_>) -> HookBehaviour + Send + Sync;

/// A test hook that records the points at which it was called.
struct ScriptedHook {
    name: &'static str,
    points: HookPoints,
    on_error: HookErrorPolicy,
    timeout: Duration,
    behaviour: Box<Behaviour>,
    calls: watch::Sender<Vec<(HookPoint, String)>>,
}

impl ScriptedHook {
    fn new(
        name: &'static str,
        points: impl Into<HookPoints>,
        behaviour: impl Fn(&HookEvent<'_>) -> HookBehaviour + Send + Sync + 'static,
    ) -> Self {
        Self {
            name,
            points: points.into(),
            on_error: HookErrorPolicy::Deny,
            timeout: Duration::from_millis(300),
            behaviour: Box::new(behaviour),
            calls: watch::Sender::default(),
        }
    }

    fn seen(&self) -> Vec<HookPoint> {
        self.calls
            .borrow()
            .iter()
            .map(|(point, _)| *point)
            .collect()
    }

    /// Waits until it was called at this point.
    async fn called(&self, point: HookPoint) {
        let mut calls = self.calls.subscribe();
        let called = calls.wait_for(|calls| calls.iter().any(|(one, _)| *one == point));
        in_time("a hook to be called", called).await.unwrap();
    }
}

#[async_trait]
impl Hook for ScriptedHook {
    fn name(&self) -> &str {
        self.name
    }

    async fn points(&self) -> Result<HookPoints, Error> {
        Ok(self.points)
    }

    async fn call(
        &self,
        context: &HookContext<'_>,
        hook_event: &HookEvent<'_>,
    ) -> Result<HookVerdict, Error> {
        let call = (hook_event.point(), context.call.to_owned());
        self.calls.send_modify(|calls| calls.push(call));
        match (self.behaviour)(hook_event) {
            HookBehaviour::Says(verdict) => Ok(verdict),
            HookBehaviour::Fails => Err(Error::Failed("out of order".to_owned())),
            HookBehaviour::Panics => panic!("this hook is broken"),
            HookBehaviour::Hangs => std::future::pending().await,
        }
    }

    fn on_error(&self) -> HookErrorPolicy {
        self.on_error
    }

    fn timeout(&self) -> Duration {
        self.timeout
    }
}

fn deny(reason: &str) -> HookBehaviour {
    HookBehaviour::Says(HookVerdict::Deny {
        reason: reason.to_owned(),
    })
}

fn nothing() -> HookBehaviour {
    HookBehaviour::Says(HookVerdict::Continue)
}

fn amend(amendment: Amendment) -> HookBehaviour {
    HookBehaviour::Says(HookVerdict::Amend(amendment))
}

/// Returns the interventions recorded as events: hook, point, and whether it denied.
fn interventions(story: &TaskEvents) -> Vec<(String, String, bool)> {
    story.all(|kind| match kind {
        Kind::HookIntervened(event) => {
            Some((event.hook.clone(), event.point.clone(), event.denied))
        }
        _ => None,
    })
}

fn intervention(hook: &str, point: &str, denied: bool) -> (String, String, bool) {
    (hook.to_owned(), point.to_owned(), denied)
}

fn progress(story: &TaskEvents) -> Vec<String> {
    story.all(|kind| match kind {
        Kind::ProgressAdded(event) => Some(event.text.clone()),
        _ => None,
    })
}

/// Runs a task and replays it: recorded verdicts are reused, and no hook is called.
async fn carry_out(cluster: &Cluster) -> TaskEvents {
    let name = cluster.create().await;
    let story = cluster.follow(&name).await;
    replay::check(cluster, &name).await;
    story
}

#[tokio::test]
async fn every_hook_point_is_called_in_order() {
    let hook = Arc::new(ScriptedHook::new("ears", HookPoints::all(), |_| nothing()));
    let script = vec![act([click(1)]), done("it is done")];
    let cluster = Cluster::start_hooked(script, [hook.clone()]).await;
    let story = carry_out(&cluster).await;
    assert_eq!(interventions(&story), []);
    hook.called(HookPoint::AfterRun).await;
    let step = [
        HookPoint::AfterScreenshot,
        HookPoint::BeforeModelCall,
        HookPoint::Usage,
        HookPoint::AfterModelCall,
        HookPoint::BeforeText,
        HookPoint::AfterText,
    ];
    let action = [
        HookPoint::BeforeAction,
        // The observation for the next step starts while the action is judged.
        HookPoint::BeforeScreenshot,
        HookPoint::AfterAction,
    ];
    let expected = [
        [HookPoint::BeforeRun, HookPoint::BeforeScreenshot].as_slice(),
        &step,
        &action,
        &step,
        &[
            HookPoint::BeforeText,
            HookPoint::AfterText,
            HookPoint::AfterRun,
        ],
    ];
    assert_eq!(hook.seen(), expected.concat());
    let calls = hook.calls.borrow().clone();
    let names: BTreeSet<&str> = calls.iter().map(|(_, call)| call.as_str()).collect();
    assert_eq!(names.len(), calls.len(), "each has a name of its own");
}

#[tokio::test]
async fn hook_denied_action_is_skipped_with_a_notice() {
    let hook = ScriptedHook::new(
        "guard",
        [HookPoint::BeforeAction],
        |hook_event| match hook_event {
            HookEvent::BeforeAction(act) if act.planned.intent.contains("Button 1") => {
                deny("not that one")
            }
            _ => nothing(),
        },
    );
    let script = vec![act([click(1)]), act([click(2)]), done("done otherwise")];
    let cluster = Cluster::start_hooked(script, [Arc::new(hook)]).await;
    let story = carry_out(&cluster).await;
    assert_eq!(story.answer(), "done otherwise");
    assert_eq!(cluster.world.clicks(), [(220, 100)]);
    assert_eq!(
        interventions(&story),
        [intervention("guard", "BEFORE_ACTION", true)]
    );
    let notices = cluster.world.plans()[1].notices.join("\n");
    assert!(
        notices.contains("denied by the hook guard: not that one"),
        "{notices}"
    );
}

#[tokio::test]
async fn hook_denies_one_function_and_observes_the_others() {
    let returned = Arc::new(Mutex::new(Vec::new()));
    let recorded = returned.clone();
    let around = [HookPoint::BeforeFunction, HookPoint::AfterFunction];
    let hook = ScriptedHook::new("guard", around, move |hook_event| match hook_event {
        HookEvent::BeforeFunction(call) if call.name == "notes_fail" => deny("keep them"),
        HookEvent::AfterFunction(call, result) => {
            let outcome = result.outcome.clone();
            recorded.lock().unwrap().push((call.name.clone(), outcome));
            nothing()
        }
        _ => nothing(),
    });
    let calls = call([("notes_note", "{\"text\": \"milk\"}"), ("notes_fail", "{}")]);
    let tools = Tools::service().await;
    let address = tools.address();
    let script = vec![calls, done("noted")];
    let cluster = Cluster::start_hooked_with(script, [Arc::new(hook)], |settings| {
        functions::with_notes(settings, &address);
    });
    let cluster = cluster.await;
    let story = cluster.carry_out_with(functions::notes()).await;
    assert_eq!(story.answer(), "noted");
    assert_eq!(tools.notes.names(), ["note"], "the other was not called");
    let returned = returned.lock().unwrap().clone();
    assert_eq!(
        returned,
        [("notes_note".to_owned(), Ok("{\"notes\":1}".to_owned()))]
    );
    let denied = interventions(&story);
    assert_eq!(denied, [intervention("guard", "BEFORE_FUNCTION", true)]);
    let results = &cluster.world.plans()[1].history[0].function_results;
    let why = results[1].outcome.clone().unwrap_err();
    assert!(why.contains("denied by the hook guard: keep them"), "{why}");
}

#[tokio::test]
async fn denied_run_fails_naming_the_hook() {
    for (point, words) in [
        (
            HookPoint::BeforeRun,
            "the task may not run: denied by the hook guard: closed today",
        ),
        (HookPoint::BeforeModelCall, "no model may be called"),
        (HookPoint::BeforeScreenshot, "no screenshot may be taken"),
    ] {
        let hook = ScriptedHook::new("guard", [point], |_| deny("closed today"));
        let cluster = Cluster::start_hooked(vec![act([click(1)])], [Arc::new(hook)]).await;
        let story = carry_out(&cluster).await;
        story.check_failure("HOOK_DENIED", words);
        assert_eq!(cluster.world.done(), []);
        assert_eq!(cluster.world.plans().len(), 0);
        assert_eq!(
            interventions(&story),
            [intervention("guard", point.as_str(), true)]
        );
    }
}

#[tokio::test]
async fn screenshot_hook_also_guards_the_end_screen() {
    let asked = Arc::new(AtomicUsize::new(0));
    let hook = ScriptedHook::new("guard", [HookPoint::BeforeScreenshot], move |event| {
        let is_screenshot = matches!(event, HookEvent::BeforeScreenshot(_));
        let times = asked.fetch_add(usize::from(is_screenshot), Ordering::SeqCst);
        // The first screenshot shows nothing secret; those after the click do.
        match times {
            0 => nothing(),
            _ => deny("closed today"),
        }
    });
    let cluster = Cluster::start_hooked(vec![act([click(1)])], [Arc::new(hook)]).await;
    let name = cluster.create().await;
    let story = cluster.follow(&name).await;
    assert_eq!(cluster.world.done().len(), 1);
    story.check_failure("HOOK_DENIED", "no screenshot may be taken");
    assert_eq!(story.count("end_screen_captured"), 0);
    let steps = cluster.client().list_steps(&name).await.unwrap();
    assert_eq!(steps.last().unwrap().frame_after, "");
}

#[tokio::test]
async fn a_denied_decision_is_not_carried_out() {
    let hook = ScriptedHook::new(
        "guard",
        [HookPoint::AfterModelCall],
        |hook_event| match hook_event {
            HookEvent::AfterModelCall(answer)
                if answer
                    .decision
                    .is_some_and(|one| matches!(one.next, Next::Act(_))) =>
            {
                deny("look first")
            }
            _ => nothing(),
        },
    );
    let script = vec![act([click(1)]), done("looked")];
    let cluster = Cluster::start_hooked(script, [Arc::new(hook)]).await;
    let story = carry_out(&cluster).await;
    assert_eq!(story.answer(), "looked");
    assert_eq!(cluster.world.done(), []);
    let notices = cluster.world.plans()[1].notices.join("\n");
    assert!(
        notices.contains("is not carried out: denied by the hook guard: look first"),
        "{notices}"
    );
    assert_eq!(
        progress(&story),
        ["progress 1"],
        "what is not done is no progress"
    );
}

#[tokio::test]
async fn text_hooks_chain_amendments_and_can_withhold_text() {
    let first = ScriptedHook::new(
        "first",
        [HookPoint::BeforeText],
        |hook_event| match hook_event {
            HookEvent::BeforeText(HookText { text, .. }) => {
                amend(Amendment::Text(format!("[{text}]")))
            }
            _ => nothing(),
        },
    );
    let second = ScriptedHook::new(
        "second",
        [HookPoint::BeforeText],
        |hook_event| match hook_event {
            HookEvent::BeforeText(HookText { text, .. }) if text == "[secret]" => deny("too much"),
            HookEvent::BeforeText(HookText {
                kind: HookTextKind::Progress,
                text,
            }) => amend(Amendment::Text(format!("{text}!"))),
            _ => nothing(),
        },
    );
    let hooks: [Arc<dyn Hook>; 2] = [Arc::new(first), Arc::new(second)];
    let cluster = Cluster::start_hooked(vec![act([click(1)]), done("secret")], hooks).await;
    let story = carry_out(&cluster).await;
    assert_eq!(progress(&story), ["[progress 0]!", "[progress 1]!"]);
    assert_eq!(
        story.answer(),
        "(withheld: denied by the hook second: too much)"
    );
}

#[tokio::test]
async fn a_corrected_line_of_progress_is_replaced_too() {
    let hook = ScriptedHook::new("starred", [HookPoint::BeforeText], |event| match event {
        HookEvent::BeforeText(HookText {
            kind: HookTextKind::Progress,
            ..
        }) => amend(Amendment::Text("***".to_owned())),
        _ => nothing(),
    });
    let hooks: [Arc<dyn Hook>; 1] = [Arc::new(hook)];
    let cluster = Cluster::start_hooked(vec![act([click(99)])], hooks).await;
    let story = carry_out(&cluster).await;
    assert_eq!(story.count("progress_corrected"), 1);
    let name = &story.0[0].task;
    let steps = cluster.client().list_steps(name).await.unwrap();
    assert!(steps.iter().all(|step| step.progress == "***"));
}

#[tokio::test]
async fn denial_stops_the_hook_chain() {
    let first = ScriptedHook::new("first", [HookPoint::BeforeAction], |_| deny("no"));
    let second = Arc::new(ScriptedHook::new(
        "second",
        [HookPoint::BeforeAction],
        |_| nothing(),
    ));
    let hooks: [Arc<dyn Hook>; 2] = [Arc::new(first), second.clone()];
    let cluster = Cluster::start_hooked(vec![act([click(1)]), done("left")], hooks).await;
    assert_eq!(carry_out(&cluster).await.answer(), "left");
    assert_eq!(second.seen(), []);
}

/// Runs a task with a hook that misbehaves before actions.
async fn with_misbehaviour(
    on_error: HookErrorPolicy,
    behaviour: impl Fn(&HookEvent<'_>) -> HookBehaviour + Send + Sync + 'static,
) -> (Cluster, TaskEvents) {
    let hook = ScriptedHook {
        on_error,
        ..ScriptedHook::new("broken", [HookPoint::BeforeAction], behaviour)
    };
    let script = vec![act([click_once(1)]), done("it is done")];
    let cluster = Cluster::start_hooked(script, [Arc::new(hook)]).await;
    let story = carry_out(&cluster).await;
    (cluster, story)
}

#[tokio::test]
async fn failing_hook_follows_its_error_policy() {
    type Misbehaves = fn() -> HookBehaviour;
    let cases: [(Misbehaves, &str); 4] = [
        (|| HookBehaviour::Fails, "the hook failed: out of order"),
        (
            || HookBehaviour::Panics,
            "the hook panicked: this hook is broken",
        ),
        (
            || HookBehaviour::Hangs,
            "the hook did not answer within 300 ms",
        ),
        (
            || amend(Amendment::Text("x".to_owned())),
            "invalid amendment at BEFORE_ACTION",
        ),
    ];
    for (misbehaves, words) in cases {
        let (cluster, story) =
            with_misbehaviour(HookErrorPolicy::Deny, move |_| misbehaves()).await;
        assert_eq!(cluster.world.done(), [], "{words}");
        let notices = cluster.world.plans()[1].notices.join("\n");
        assert!(
            notices.contains("the required hook broken failed"),
            "{notices}"
        );
        assert!(notices.contains(words), "{notices}");
        assert_eq!(
            interventions(&story),
            [intervention("broken", "BEFORE_ACTION", true)]
        );

        let (cluster, story) =
            with_misbehaviour(HookErrorPolicy::Continue, move |_| misbehaves()).await;
        assert_eq!(cluster.world.done().len(), 1, "{words}");
        assert_eq!(
            interventions(&story),
            [intervention("broken", "BEFORE_ACTION", false)]
        );
    }
}

#[tokio::test]
async fn hook_errors_are_in_the_language_of_the_task() {
    type Misbehaves = fn() -> HookBehaviour;
    let cases: [(Misbehaves, &str); 4] = [
        (|| deny(""), "没有说明理由"),
        (
            || HookBehaviour::Panics,
            "该钩子崩溃了：this hook is broken",
        ),
        (|| HookBehaviour::Hangs, "该钩子在 300 毫秒内没有答复"),
        (
            || amend(Amendment::Text("x".to_owned())),
            "在 BEFORE_ACTION 处的修改无效：此处不能修改 text",
        ),
    ];
    for (misbehaves, expected) in cases {
        let hook = ScriptedHook::new("guard", [HookPoint::BeforeAction], move |_| misbehaves());
        let script = vec![act([click_once(1)]), done("好了")];
        let cluster = Cluster::start_hooked(script, [Arc::new(hook)]).await;
        let task = api::Task {
            goal: "点击“保存”".to_owned(),
            ..api::Task::default()
        };
        let story = cluster.carry_out_with(task).await;
        let messages = story.all(|kind| match kind {
            Kind::HookIntervened(event) => Some(event.message.clone()),
            _ => None,
        });
        assert_eq!(messages, [expected]);
        let notices = cluster.world.plans()[1].notices.join("\n");
        assert!(notices.contains(expected), "{notices}");
    }
}

#[tokio::test]
async fn cancellation_does_not_wait_for_a_hook() {
    let hook = Arc::new(ScriptedHook {
        timeout: Duration::from_secs(600),
        ..ScriptedHook::new(
            "slow",
            [HookPoint::BeforeAction, HookPoint::AfterRun],
            |hook_event| match hook_event {
                HookEvent::BeforeAction(_) => HookBehaviour::Hangs,
                _ => nothing(),
            },
        )
    });
    let cluster = Cluster::start_hooked(vec![act([click(1)])], [hook.clone()]).await;
    let name = cluster.create().await;
    hook.called(HookPoint::BeforeAction).await;
    cluster.cancel(&name).await;
    let story = cluster.follow(&name).await;
    assert_eq!(interventions(&story), [], "it had no time to be late");
    assert_eq!(cluster.world.done(), []);
    hook.called(HookPoint::AfterRun).await;
}

#[tokio::test]
async fn configured_redactions_apply_to_every_capture() {
    let region = CaptureRect::new(CapturePoint::new(150, 40), CapturePoint::new(180, 60));
    let wanted = vec![
        Redaction::Region(region),
        Redaction::Window("mail".to_owned()),
    ];
    let configured = HookSettings::Redaction(redaction::Settings {
        redact: vec!["region:150,40,30,20".to_owned(), "window:mail".to_owned()],
        ..redaction::Settings::default()
    });
    let script = vec![act([click(1)]), act([click(2)]), done("it is done")];
    let cluster = Cluster::start_with(script, |settings| {
        settings.hooks = vec![configured];
        settings.retry.trust_kinds = true;
    })
    .await;
    // A click without effect on what is no command makes the loop observe its surroundings again.
    cluster.world.make_text_field(1);
    cluster.world.ignore_actions(3);
    let story = carry_out(&cluster).await;
    assert_eq!(interventions(&story), [], "what is configured is no news");
    for capture in cluster.world.captures() {
        assert_eq!(capture.redactions, wanted);
    }
    let looks = cluster.world.looks();
    let (whole, parts): (Vec<_>, Vec<_>) = looks
        .iter()
        .partition(|(_, capture)| capture.area == Default::default());
    assert!(whole.len() >= 3 && !parts.is_empty(), "{looks:?}");
    for (_, capture) in whole {
        assert_eq!(capture.redactions, wanted);
    }
    for (_, capture) in parts {
        let part = capture.redactions.first();
        assert!(
            matches!(part, Some(Redaction::Region(moved)) if *moved != region),
            "{part:?}"
        );
    }
}

/// Returns how many earlier images each planner call contained, with or without a continued conversation.
async fn past_image_counts(hooks: Vec<HookSettings>, converses: bool) -> Vec<usize> {
    let clicks = (1..=6).map(|element| act([click(element)]));
    let script = clicks.chain([done("it is done")]).collect();
    let cluster = Cluster::start_with(script, |settings| settings.hooks = hooks).await;
    cluster.world.set_conversational(converses);
    carry_out(&cluster).await;
    let plans = cluster.world.plans();
    let shown = |images: &[motorium_proto::domain::decision::PastStep]| {
        images.iter().filter(|step| step.image.is_some()).count()
    };
    plans.iter().map(|plan| shown(&plan.history)).collect()
}

fn retention(max_images: u32, eviction_batch: u32) -> Vec<HookSettings> {
    vec![HookSettings::ImageRetention(image_retention::Settings {
        max_images,
        eviction_batch,
        ..image_retention::Settings::default()
    })]
}

#[tokio::test]
async fn past_image_count_follows_the_retention_setting() {
    assert_eq!(
        past_image_counts(vec![], false).await,
        [0, 1, 2, 3, 3, 3, 3]
    );
    assert_eq!(past_image_counts(retention(1, 1), false).await, [0; 7]);
}

#[tokio::test]
async fn conversation_images_grow_until_dropped_in_chunks() {
    assert_eq!(past_image_counts(vec![], true).await, [0, 1, 2, 3, 4, 5, 6]);
    let few = past_image_counts(retention(2, 3), true).await;
    assert_eq!(few, [0, 1, 2, 3, 1, 2, 3]);
}

#[tokio::test]
async fn hook_notices_and_image_limits_reach_the_planner() {
    let hook = ScriptedHook::new("advice", [HookPoint::BeforeModelCall], |_| {
        amend(Amendment::ModelCall(ModelCallAmendment {
            notices: vec!["be gentle".to_owned()],
            max_past_images: Some(0),
        }))
    });
    let script = vec![act([click(1)]), done("it is done")];
    let cluster = Cluster::start_hooked(script, [Arc::new(hook)]).await;
    let story = carry_out(&cluster).await;
    for plan in cluster.world.plans() {
        assert_eq!(plan.notices, ["be gentle"]);
        assert!(plan.history.iter().all(|step| step.image.is_none()));
    }
    assert_eq!(
        interventions(&story),
        [
            intervention("advice", "BEFORE_MODEL_CALL", false),
            intervention("advice", "BEFORE_MODEL_CALL", false)
        ]
    );
}

#[tokio::test]
async fn planner_is_notified_when_most_tokens_are_used() {
    let script = (1..=5).map(|element| act([click(element)])).collect();
    let configured = HookSettings::Ledger(budget::Settings::default());
    let cluster = Cluster::start_with(script, |settings| settings.hooks = vec![configured]).await;
    cluster.world.charge(Usage {
        input_tokens: Some(280),
        output_tokens: Some(0),
        calls: 1,
        ..Usage::default()
    });
    let task = api::Task {
        limits: Some(api::Limits {
            max_tokens: 1000,
            ..api::Limits::default()
        }),
        ..api::Task::default()
    };
    let story = cluster.carry_out_with(task).await;
    story.check_failure("TOKEN_LIMIT", "1000 tokens");
    let notices: Vec<Vec<String>> = cluster
        .world
        .plans()
        .into_iter()
        .map(|plan| plan.notices)
        .collect();
    let [first, second, third, fourth] = notices.try_into().unwrap();
    assert!(first.is_empty() && second.is_empty() && third.is_empty());
    assert!(fourth[0].contains("840 of 1000 tokens"), "{fourth:?}");
}

/// Returns the lines of an activity log without values that differ between runs.
fn written(path: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(path).unwrap();
    let line = |line: &str| {
        let mut line: BTreeMap<String, serde_json::Value> = serde_json::from_str(line).unwrap();
        let at = line.remove("at").unwrap();
        assert!(at.as_str().unwrap().ends_with('Z'), "{at}");
        let task = line.remove("task").unwrap().as_str().unwrap().to_owned();
        let task = task.strip_prefix("tasks/").unwrap();
        serde_json::to_string(&line).unwrap().replace(task, "T")
    };
    text.lines().map(line).collect()
}

#[tokio::test]
async fn activity_log_records_actions_without_typed_text() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("activity.jsonl");
    let configured = HookSettings::ActivityLog(activity_log::Settings {
        path: path.clone(),
        required: true,
        ..activity_log::Settings::default()
    });
    let script = vec![
        act([click_once(1), typing("hunter2"), typing_secret("PIN")]),
        done("the password is hunter2"),
    ];
    let cluster = Cluster::start_with(script, |settings| settings.hooks = vec![configured]).await;
    let task = api::Task {
        labels: [("user".to_owned(), "ann".to_owned())].into(),
        ..api::Task::default()
    };
    cluster.carry_out_with(task).await;
    let is_whole = async {
        while written(&path).len() < 8 {
            tokio::task::yield_now().await;
        }
    };
    in_time("the last line", is_whole).await;
    insta::assert_snapshot!(written(&path).join("\n"));
}

#[tokio::test]
async fn activity_log_uses_enum_names_of_the_api() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("activity.jsonl");
    let configured = HookSettings::ActivityLog(activity_log::Settings {
        path: path.clone(),
        ..activity_log::Settings::default()
    });
    let script = vec![act([click_once(1)]), done("in vain")];
    let cluster = Cluster::start_with(script, |settings| settings.hooks = vec![configured]).await;
    cluster.world.ignore_actions(1);
    carry_out(&cluster).await;
    let is_whole = async {
        while written(&path).len() < 4 {
            tokio::task::yield_now().await;
        }
    };
    in_time("the last line", is_whole).await;
    let lines = written(&path);
    assert!(
        lines[2].contains("\"EFFECT_VERDICT_NO_EFFECT\""),
        "{lines:?}"
    );
    assert!(
        lines[2].contains("\"ACTION_RESULT_PERFORMED\""),
        "{lines:?}"
    );
}

#[tokio::test]
async fn required_activity_log_that_cannot_be_written_fails_tasks() {
    let configured = |required| {
        HookSettings::ActivityLog(activity_log::Settings {
            path: "/nowhere/activity.jsonl".into(),
            required,
            ..activity_log::Settings::default()
        })
    };
    let script = || vec![act([click(1)]), done("it is done")];
    let required = Cluster::start_with(script(), |settings| {
        settings.hooks = vec![configured(true)];
    });
    let story = required.await.carry_out().await;
    story.check_failure(
        "HOOK_FAILED",
        "the activity log /nowhere/activity.jsonl cannot be written",
    );
    let wanted = Cluster::start_with(script(), |settings| {
        settings.hooks = vec![configured(false)];
    });
    assert_eq!(wanted.await.carry_out().await.answer(), "it is done");
}

#[tokio::test]
async fn a_task_that_has_ended_is_written_into_a_folder_and_can_be_replayed_from_it() {
    let folder = tempfile::tempdir().unwrap();
    let configured = HookSettings::Trajectory(trajectory::Settings {
        folder: folder.path().join("trajectories"),
        ..trajectory::Settings::default()
    });
    let script = vec![act([click(1)]), done("it is done")];
    let cluster = Cluster::start_with(script, |settings| settings.hooks = vec![configured]).await;
    let name = cluster.create().await;
    cluster.follow(&name).await;
    let segment = name.strip_prefix("tasks/").unwrap();
    let written = folder.path().join("trajectories").join(segment);
    let is_whole = async {
        // The manifest is written last.
        let is_json = |text: Vec<u8>| serde_json::from_slice::<serde_json::Value>(&text).is_ok();
        while !std::fs::read(written.join("manifest.json")).is_ok_and(is_json) {
            tokio::task::yield_now().await;
        }
    };
    in_time("the trajectory", is_whole).await;
    assert!(written.join("trajectory.html").exists());
    let verdict = crate::replay::replayed(&written).await;
    assert!(verdict.is_same(), "{}", verdict.lines().join("\n"));
}

// === Remote hooks ===

/// A hook service that denies the first click, redacts a window, and records its calls.
#[derive(Clone, Default)]
struct Guard(Arc<Mutex<Vec<wire::CallHookRequest>>>);

impl Guard {
    fn calls(&self) -> Vec<wire::CallHookRequest> {
        self.0.lock().unwrap().clone()
    }
}

#[tonic::async_trait]
impl HookService for Guard {
    async fn describe_hook(
        &self,
        _: Request<wire::DescribeHookRequest>,
    ) -> Result<Response<wire::DescribeHookResponse>, Status> {
        let points = [
            wire::HookPoint::BeforeAction,
            wire::HookPoint::AfterAction,
            wire::HookPoint::BeforeScreenshot,
            wire::HookPoint::AfterScreenshot,
            wire::HookPoint::AfterRun,
        ];
        Ok(Response::new(wire::DescribeHookResponse {
            name: "guard".to_owned(),
            points: points.map(i32::from).into(),
            wants_images: true,
        }))
    }

    async fn call_hook(
        &self,
        request: Request<wire::CallHookRequest>,
    ) -> Result<Response<wire::CallHookResponse>, Status> {
        let request = request.into_inner();
        let verdict = match (request.point(), &request.subject) {
            (wire::HookPoint::BeforeAction, Some(Subject::Action(action))) => {
                let planned = action.planned.as_ref().unwrap();
                let denied = planned.intent.contains("Button 1");
                denied.then(|| {
                    WireVerdict::Deny(wire::Deny {
                        reason: "that one is mine".to_owned(),
                    })
                })
            }
            (wire::HookPoint::BeforeScreenshot, _) => Some(WireVerdict::Amend(wire::Amend {
                redact_windows: vec!["mail".to_owned()],
                ..wire::Amend::default()
            })),
            _ => None,
        };
        self.0.lock().unwrap().push(request);
        Ok(Response::new(wire::CallHookResponse { verdict }))
    }
}

/// Serves it on a listener.
async fn serve(guard: &Guard, listener: TcpListener) -> RunningServer {
    let config = ServerConfig {
        grace_period: Duration::ZERO,
        ..ServerConfig::loopback()
    };
    let service = HookServiceServer::new(guard.clone());
    let server = Builder::new(config).service(service, FILE_DESCRIPTOR_SET);
    server.start_on(listener, &Shutdown::new()).await.unwrap()
}

async fn bound(address: &str) -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind(address).await.unwrap();
    let address = listener.local_addr().unwrap();
    (listener, address)
}

fn at(address: SocketAddr, on_error: HookErrorPolicy) -> HookSettings {
    HookSettings::Service(service::Settings {
        name: "guard".to_owned(),
        address: format!("http://{address}"),
        timeout: HumanDuration(Duration::from_secs(5)),
        on_error,
        ..service::Settings::default()
    })
}

#[tokio::test]
async fn hook_service_can_deny_and_redact() {
    let guard = Guard::default();
    let (listener, address) = bound("127.0.0.1:0").await;
    let _serving = serve(&guard, listener).await;
    let script = vec![act([click(1)]), act([click(2)]), done("done otherwise")];
    let hooks = vec![at(address, HookErrorPolicy::Deny)];
    let cluster = Cluster::start_with(script, |settings| settings.hooks = hooks).await;
    let story = carry_out(&cluster).await;
    assert_eq!(story.answer(), "done otherwise");
    assert_eq!(cluster.world.clicks(), [(220, 100)]);
    let notices = cluster.world.plans()[1].notices.join("\n");
    assert!(notices.contains("that one is mine"), "{notices}");
    for (_, capture) in cluster.world.looks() {
        assert_eq!(capture.redactions, [Redaction::Window("mail".to_owned())]);
    }
    let calls = guard.calls();
    let seen = calls.iter().find_map(|call| match &call.subject {
        Some(Subject::Screenshot(seen)) if call.point() == wire::HookPoint::AfterScreenshot => {
            Some(seen)
        }
        _ => None,
    });
    assert!(seen.unwrap().image.is_some(), "it wants the images");
    let outcome = calls.iter().find_map(|call| match &call.subject {
        Some(Subject::Action(action)) if call.point() == wire::HookPoint::AfterAction => {
            action.effect.as_ref()
        }
        _ => None,
    });
    assert!(outcome.is_some(), "it is told what the action did");
    assert!(calls.iter().all(|call| call.task.starts_with("tasks/")));
}

#[tokio::test]
async fn unreachable_hook_service_follows_its_error_policy() {
    let guard = Guard::default();
    let (listener, address) = bound("127.0.0.1:0").await;
    drop(listener);
    let script = || vec![act([click(1)]), done("it is done")];
    let needed = vec![at(address, HookErrorPolicy::Deny)];
    let cluster = Cluster::start_with(script(), |settings| settings.hooks = needed).await;
    let story = carry_out(&cluster).await;
    story.check_failure(
        "HOOK_FAILED",
        "the required hook guard failed: the hook cannot be reached",
    );
    // The orchestrator needs no restart.
    let (listener, _) = bound(&address.to_string()).await;
    let serving = serve(&guard, listener).await;
    assert_eq!(carry_out(&cluster).await.answer(), "it is done");
    in_time("the service to end", serving.stop()).await.unwrap();
    let story = carry_out(&cluster).await;
    story.check_failure("HOOK_FAILED", "cannot be reached");

    let optional = vec![at(address, HookErrorPolicy::Continue)];
    let cluster = Cluster::start_with(script(), |settings| settings.hooks = optional).await;
    let story = carry_out(&cluster).await;
    assert_eq!(story.answer(), "it is done");
    assert_eq!(cluster.world.done().len(), 1);
    let missed = interventions(&story);
    assert_eq!(
        missed,
        [intervention("guard", "BEFORE_RUN", false)],
        "it is said once"
    );
}

#[tokio::test]
async fn hook_service_restarted_mid_task_is_used_again() {
    let guard = Guard::default();
    let (listener, address) = bound("127.0.0.1:0").await;
    let serving = serve(&guard, listener).await;
    let script = vec![act([click(2)]), act([click(1)]), done("it is done")];
    let hooks = vec![at(address, HookErrorPolicy::Deny)];
    let cluster = Cluster::start_with(script, |settings| settings.hooks = hooks).await;
    cluster.world.hold("plan");
    let name = cluster.create().await;
    cluster.world.called("plan", 1).await;
    in_time("the service to end", serving.stop()).await.unwrap();
    let (listener, _) = bound(&address.to_string()).await;
    let _serving = serve(&guard, listener).await;
    cluster.world.release("plan");
    let story = cluster.follow(&name).await;
    replay::check(&cluster, &name).await;
    assert_eq!(story.answer(), "it is done");
    assert_eq!(
        cluster.world.clicks(),
        [(220, 100)],
        "it still denies the other one"
    );
}

// === Other model calls ===

/// Creates a hook that denies a model call before it is made, or its response.
fn against(point: HookPoint, purpose: ModelCallPurpose) -> Arc<ScriptedHook> {
    let denies = move |hook_event: &HookEvent<'_>| match hook_event {
        HookEvent::BeforeModelCall(call) if call.purpose == purpose => deny("not this"),
        HookEvent::AfterModelCall(answer) if answer.purpose == purpose => deny("not this"),
        _ => nothing(),
    };
    Arc::new(ScriptedHook::new("guard", [point], denies))
}

fn extraction() -> Next {
    Next::Extract {
        json_schema: "{}".to_owned(),
        instruction: "all prices".to_owned(),
    }
}

#[tokio::test]
async fn data_that_a_hook_denies_is_neither_asked_for_nor_used() {
    let before = against(HookPoint::BeforeModelCall, ModelCallPurpose::Extract);
    let cluster = Cluster::start_hooked(vec![extraction(), done("no")], [before]).await;
    cluster.world.extract(Ok(r#"{"prices": [3]}"#));
    let story = carry_out(&cluster).await;
    story.check_failure("HOOK_DENIED", "no model may be called");
    assert_eq!(cluster.world.count("extract"), 0);

    let after = against(HookPoint::AfterModelCall, ModelCallPurpose::Extract);
    let cluster = Cluster::start_hooked(vec![extraction(), done("without")], [after]).await;
    cluster.world.extract(Ok(r#"{"prices": [3]}"#));
    let story = carry_out(&cluster).await;
    assert_eq!(story.answer(), "without");
    assert_eq!(story.count("extracted"), 0);
    assert!(!story.text().contains("prices"), "{}", story.text());
    let plans = cluster.world.plans();
    let notices = plans[1].notices.join("\n");
    assert!(
        notices.contains("denied by the hook guard: not this"),
        "{notices}"
    );
    assert_eq!(plans[1].history[0].extracted_json, None);
}

#[tokio::test]
async fn denied_pointer_check_prevents_the_click() {
    let verified = || PlannedAction {
        verify_pointer: true,
        ..click(1)
    };
    let before = against(HookPoint::BeforeModelCall, ModelCallPurpose::LocatePointer);
    let cluster = Cluster::start_hooked(vec![act([verified()]), done("no")], [before]).await;
    cluster.world.locate([(true, 0, 0)]);
    let story = carry_out(&cluster).await;
    story.check_failure("HOOK_DENIED", "no model may be called");
    assert_eq!(cluster.world.clicks(), []);

    let after = against(HookPoint::AfterModelCall, ModelCallPurpose::LocatePointer);
    let cluster = Cluster::start_hooked(vec![act([verified()]), done("left")], [after]).await;
    cluster.world.locate([(true, 0, 0)]);
    let name = cluster.create().await;
    let story = cluster.follow(&name).await;
    replay::check(&cluster, &name).await;
    assert_eq!(story.answer(), "left");
    assert_eq!(cluster.world.clicks(), []);
    let notices = cluster.world.plans()[1].notices.join("\n");
    assert!(
        notices.contains("denied by the hook guard: not this"),
        "{notices}"
    );
    let used = cluster.get(&name).await.usage.unwrap();
    assert_eq!(used.input_tokens, Some(1000), "what it has cost is counted");
}

// === Interruptions while a service is thinking ===

/// A hook service that blocks at one point until released. A caller that waited gets a denial; later callers get a
/// `Continue`.
#[derive(Clone)]
struct SlowHook {
    point: wire::HookPoint,
    asked: watch::Sender<Vec<String>>,
    given_up: watch::Sender<bool>,
    goes_on: watch::Sender<bool>,
}

impl SlowHook {
    fn at(point: wire::HookPoint) -> Self {
        Self {
            point,
            asked: watch::Sender::default(),
            given_up: watch::Sender::default(),
            goes_on: watch::Sender::default(),
        }
    }
}

/// Signals when the caller no longer waits.
struct DropSignal(watch::Sender<bool>);

impl Drop for DropSignal {
    fn drop(&mut self) {
        self.0.send_replace(true);
    }
}

#[tonic::async_trait]
impl HookService for SlowHook {
    async fn describe_hook(
        &self,
        _: Request<wire::DescribeHookRequest>,
    ) -> Result<Response<wire::DescribeHookResponse>, Status> {
        Ok(Response::new(wire::DescribeHookResponse {
            name: "slow".to_owned(),
            points: vec![self.point.into()],
            wants_images: false,
        }))
    }

    async fn call_hook(
        &self,
        request: Request<wire::CallHookRequest>,
    ) -> Result<Response<wire::CallHookResponse>, Status> {
        let call = request.into_inner().call_id;
        self.asked.send_modify(|asked| asked.push(call));
        if *self.goes_on.borrow() {
            return Ok(Response::new(wire::CallHookResponse::default()));
        }
        // The service continues even if the caller is gone.
        let mut goes_on = self.goes_on.subscribe();
        let thinking = tokio::spawn(async move {
            let _ = goes_on.wait_for(|goes_on| *goes_on).await;
        });
        let _waited = DropSignal(self.given_up.clone());
        let _ = thinking.await;
        let verdict = WireVerdict::Deny(wire::Deny {
            reason: "too late".to_owned(),
        });
        Ok(Response::new(wire::CallHookResponse {
            verdict: Some(verdict),
        }))
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Interruption {
    Cancels,
    Pauses,
    TakesOver,
}

async fn interrupt(cluster: &Cluster, name: &str, how: Interruption) {
    let name = name.to_owned();
    let mut client = cluster.client().raw();
    match how {
        Interruption::Cancels => {
            cluster.cancel(&name).await;
        }
        Interruption::Pauses => {
            let pause = api::PauseTaskRequest {
                name,
                ..api::PauseTaskRequest::default()
            };
            client.pause_task(pause).await.unwrap();
        }
        Interruption::TakesOver => {
            let take = api::TakeOverRequest {
                name,
                ..api::TakeOverRequest::default()
            };
            client.take_over(take).await.unwrap();
        }
    }
}

async fn let_go_on(cluster: &Cluster, name: &str, how: Interruption) {
    let name = name.to_owned();
    let mut client = cluster.client().raw();
    match how {
        Interruption::Cancels => {}
        Interruption::Pauses => {
            let resume = api::ResumeTaskRequest {
                name,
                ..api::ResumeTaskRequest::default()
            };
            client.resume_task(resume).await.unwrap();
        }
        Interruption::TakesOver => {
            let back = api::HandBackRequest {
                name,
                ..api::HandBackRequest::default()
            };
            client.hand_back(back).await.unwrap();
        }
    }
}

/// Interrupts a task while a service blocks at this point. Returns how many actions are performed in the end.
async fn done_after_interruption(point: wire::HookPoint, how: Interruption) -> usize {
    let slow = SlowHook::at(point);
    let (listener, address) = bound("127.0.0.1:0").await;
    let config = ServerConfig {
        grace_period: Duration::ZERO,
        ..ServerConfig::loopback()
    };
    let service = HookServiceServer::new(slow.clone());
    let server = Builder::new(config).service(service, FILE_DESCRIPTOR_SET);
    let _serving = server.start_on(listener, &Shutdown::new()).await.unwrap();
    let hook = HookSettings::Service(service::Settings {
        name: "slow".to_owned(),
        address: format!("http://{address}"),
        timeout: HumanDuration(Duration::from_secs(600)),
        on_error: HookErrorPolicy::Deny,
        ..service::Settings::default()
    });
    let script = vec![act([click_once(1)]), done("it is done")];
    let cluster = Cluster::start_with(script, |settings| settings.hooks = vec![hook]).await;
    let name = cluster.create().await;
    let mut asked = slow.asked.subscribe();
    let is_asked = asked.wait_for(|asked| !asked.is_empty());
    in_time("the service to be asked", is_asked).await.unwrap();
    interrupt(&cluster, &name, how).await;
    let mut given_up = slow.given_up.subscribe();
    let is_given_up = given_up.wait_for(|given_up| *given_up);
    in_time("the call to be given up", is_given_up)
        .await
        .unwrap();
    assert_eq!(cluster.world.done(), [], "{point:?} {how:?}");
    // The answer arrives after the caller is gone.
    slow.goes_on.send_replace(true);
    let_go_on(&cluster, &name, how).await;
    let story = cluster.follow(&name).await;
    replay::check(&cluster, &name).await;
    let context = format!("{point:?} {how:?}:\n{}", story.text());
    match how {
        Interruption::Cancels => {
            assert_eq!(story.kinds().last().unwrap(), "cancelled", "{context}")
        }
        _ => assert_eq!(story.answer(), "it is done", "{context}"),
    }
    assert_eq!(interventions(&story), [], "{context}");
    assert!(!story.text().contains("too late"), "{context}");
    cluster.world.done().len()
}

#[tokio::test]
async fn interruptions_do_not_wait_for_a_slow_hook_service() {
    use Interruption::{Cancels, Pauses, TakesOver};
    use wire::HookPoint::{AfterModelCall, BeforeAction, BeforeModelCall};

    for (point, how, expected) in [
        (BeforeModelCall, Cancels, 0),
        (BeforeModelCall, Pauses, 1),
        (BeforeModelCall, TakesOver, 1),
        // A decision that the hook has not judged is not carried out: the planner is asked again.
        (AfterModelCall, Cancels, 0),
        (AfterModelCall, Pauses, 0),
        (AfterModelCall, TakesOver, 0),
        (BeforeAction, Cancels, 0),
        (BeforeAction, Pauses, 1),
        // The screen differs from the one of the decision.
        (BeforeAction, TakesOver, 0),
    ] {
        let done = done_after_interruption(point, how).await;
        assert_eq!(done, expected, "{point:?} {how:?}");
    }
}
