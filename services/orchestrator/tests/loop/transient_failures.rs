//! Failures of services: the task continues, or ends with a helpful message.

use std::time::Duration;

use motorium_proto::domain::decision::{Next, Usage};
use motorium_proto::domain::effect::{ActionOutcome, ActionResult as Left};
use motorium_proto::error::ErrorReport;
use motorium_proto::service::{BackendAttempt, PlanRequest};
use motorium_proto::v1::common::{ActionResult, EffectVerdict};
use motorium_proto::v1::orchestrator::event::Kind;
use motorium_proto::v1::orchestrator::task::State;
use tokio::time::Instant;
use tonic::Code;

use crate::support::cluster::Cluster;
use crate::support::script::{act, click, click_text, typing};
use crate::support::simulated_desktop::box_of;

fn unavailable() -> ErrorReport {
    ErrorReport::new(Code::Unavailable, "OVERLOADED", "too much to do; try again")
}

fn defect() -> ErrorReport {
    ErrorReport::new(Code::Internal, "INTERNAL", "a defect")
}

fn one_click() -> Vec<Next> {
    vec![act([click(1)])]
}

#[tokio::test]
async fn a_service_that_is_unavailable_for_a_moment_is_asked_again() {
    for call in [
        "acquire_desktop",
        "list_backends",
        "get_capabilities",
        "observe",
        "plan",
        "resolve_target",
        "wait_for_idle",
        "capture",
        "compare",
    ] {
        // The planner is asked for targets in words only.
        let cluster = Cluster::start(vec![act([click_text("Button 1")])]).await;
        cluster.world.fail(call, 2, &unavailable());
        let story = cluster.carry_out().await;
        assert_eq!(story.answer(), "it is done", "{call}");
        assert_eq!(
            story.count("transient_failure"),
            1,
            "{call}: people are told once"
        );
        assert_eq!(cluster.world.done().len(), 1, "{call}");
    }
}

fn no_model(retry_after: Option<Duration>) -> ErrorReport {
    let message = "no backend decided: claude failed temporarily: the provider is overloaded";
    ErrorReport {
        retry_after,
        ..ErrorReport::new(Code::Unavailable, "ALL_BACKENDS_FAILED", message)
    }
}

/// The Planner has asked the provider again already.
#[tokio::test]
async fn a_provider_that_failed_is_not_asked_once_more_by_the_task() {
    let cluster = Cluster::start(one_click()).await;
    cluster.world.fail("plan", 1, &no_model(None));
    let story = cluster.carry_out().await;
    story.check_failure("ALL_BACKENDS_FAILED", "the provider is overloaded");
    assert_eq!(story.count("transient_failure"), 0);
}

#[tokio::test]
async fn the_task_waits_as_long_as_a_provider_asks_for() {
    let wait = Duration::from_millis(400);
    let cluster = Cluster::start(one_click()).await;
    cluster.world.fail("plan", 2, &no_model(Some(wait)));
    let began = Instant::now();
    let story = cluster.carry_out().await;
    assert!(began.elapsed() >= 2 * wait, "{:?}", began.elapsed());
    assert_eq!(story.answer(), "it is done");
    assert_eq!(story.count("transient_failure"), 2, "each wait is told");
    let messages = story.all(|kind| match kind {
        Kind::TransientFailure(failure) => Some(failure.message.clone()),
        _ => None,
    });
    let words = "the provider is overloaded; the task waits and asks again in 1 s";
    assert!(
        messages.iter().all(|message| message.contains(words)),
        "{messages:?}"
    );
}

#[tokio::test]
async fn a_wait_beyond_the_time_of_the_task_ends_it_with_the_time() {
    let cluster = Cluster::start(one_click()).await;
    let hour = Duration::from_secs(3600);
    cluster.world.fail("plan", 1, &no_model(Some(hour)));
    let story = cluster.carry_out().await;
    let words = "the provider is overloaded; it may be asked again in 3600 s";
    story.check_failure("ALL_BACKENDS_FAILED", words);
}

#[tokio::test]
async fn a_service_that_is_broken_ends_the_task_with_its_reason() {
    for (call, words) in [
        ("plan", "planning failed: a defect"),
        (
            "list_backends",
            "listing the planner's backends failed: a defect",
        ),
    ] {
        let cluster = Cluster::start(one_click()).await;
        cluster.world.fail(call, 1, &defect());
        let story = cluster.carry_out().await;
        story.check_failure("INTERNAL", words);
        cluster.world.called("released", 1).await;
    }
}

#[tokio::test]
async fn failed_observation_is_reported_and_retried() {
    let cluster = Cluster::start(one_click()).await;
    cluster.world.fail("observe", 1, &defect());
    let story = cluster.carry_out().await;
    assert_eq!(story.answer(), "it is done");
    assert_eq!(story.count("transient_failure"), 1);
    let notices = &cluster.world.plans()[0].notices;
    let words = "observing the screen failed and is tried again: a defect";
    assert_eq!(*notices, [words]);
    assert_eq!(cluster.world.clicks(), [centre(1)]);
}

fn parse_failed() -> ErrorReport {
    ErrorReport::new(Code::Internal, "PARSE_FAILED", "the model has no output")
}

#[tokio::test]
async fn a_screen_that_cannot_be_parsed_is_shown_without_elements() {
    let cluster = Cluster::start(vec![act([typing("a")]), act([click(1)])]).await;
    cluster
        .world
        .fail("observe", usize::from(u16::MAX), &parse_failed());
    let story = cluster.carry_out().await;
    assert_eq!(story.answer(), "it is done");
    assert_eq!(cluster.world.done().len(), 1, "text needs no element");
    for plan in cluster.world.plans() {
        assert!(plan.scene.elements.is_empty() && plan.image.is_some());
        let notices = plan.notices.join("; ");
        let words = "not parsed: no element is known in this step, only the screenshot";
        assert!(notices.contains(words), "{notices}");
        assert!(notices.contains("the model has no output"), "{notices}");
    }
    assert_eq!(
        story.count("target_not_resolved"),
        1,
        "the click is refused"
    );
}

#[tokio::test]
async fn a_screen_that_is_parsed_again_has_its_elements_back() {
    let script = vec![act([typing("a")]), act([click(1)])];
    let cluster = Cluster::start(script).await;
    cluster.world.fail("observe", 2, &parse_failed());
    let story = cluster.carry_out().await;
    assert_eq!(story.answer(), "it is done");
    let elements = |plan: &PlanRequest| plan.scene.elements.len();
    let known: Vec<usize> = cluster.world.plans().iter().map(elements).collect();
    assert_eq!(known, [0, 9, 9]);
    assert_eq!(cluster.world.done().len(), 2);
}

#[tokio::test]
async fn a_screen_that_is_never_seen_ends_the_task_with_the_reason() {
    let cluster =
        Cluster::start_with(one_click(), |settings| settings.max_screen_failures = 3).await;
    cluster.world.fail("observe", 9, &defect());
    cluster.world.fail("capture", 9, &defect());
    let story = cluster.carry_out().await;
    story.check_failure("INTERNAL", "observing the screen failed: a defect");
    assert_eq!(cluster.world.count("observe"), 3);
    assert_eq!(story.count("transient_failure"), 1, "people are told once");
    cluster.world.called("released", 1).await;
}

#[tokio::test]
async fn an_effect_on_a_screen_that_cannot_be_seen_is_unknown() {
    let cluster = Cluster::start(vec![act([click(1)]), act([click(2)])]).await;
    cluster.world.fail("wait_for_idle", 1, &defect());
    let story = cluster.carry_out().await;
    assert_eq!(story.answer(), "it is done");
    let verdicts = [EffectVerdict::Unknown, EffectVerdict::Confirmed];
    assert_eq!(story.verdicts(), verdicts);
    assert_eq!(cluster.world.clicks(), [centre(1), centre(2)]);
    let plans = cluster.world.plans();
    let effect = plans[1].history[0].actions[0].effect.as_ref().unwrap();
    let words = "judging an action failed: a defect";
    assert!(effect.explanation.contains(words), "{effect:?}");
}

#[tokio::test]
async fn oversize_message_is_not_retried() {
    let cluster = Cluster::start(one_click()).await;
    let message = "the message has 17 MiB; at most 16 are accepted";
    let report = ErrorReport::new(Code::ResourceExhausted, "MESSAGE_TOO_LARGE", message);
    cluster.world.fail("plan", 1, &report);
    let story = cluster.carry_out().await;
    story.check_failure("MESSAGE_TOO_LARGE", message);
}

#[tokio::test]
async fn services_go_away_and_come_back() {
    for held in ["observe", "plan", "wait_for_idle"] {
        let mut cluster = Cluster::start(one_click()).await;
        cluster.world.hold(held);
        let name = cluster.create().await;
        cluster.world.called(held, 1).await;
        cluster.services.go_away().await;
        cluster.happened(&name, "transient_failure").await;
        cluster.world.release(held);
        cluster.services.come_back().await;
        let story = cluster.follow(&name).await;
        assert_eq!(story.answer(), "it is done", "gone at {held}");
        assert_eq!(cluster.world.done().len(), 1, "gone at {held}");
    }
}

/// Takes as long as the retry timeout: about thirteen seconds.
#[tokio::test]
async fn services_that_stay_away_end_the_task() {
    let mut cluster = Cluster::start(one_click()).await;
    cluster.world.hold("observe");
    let name = cluster.create().await;
    cluster.world.called("observe", 1).await;
    cluster.services.go_away().await;
    let story = cluster.follow(&name).await;
    story.check_failure("TRANSPORT", "observing the screen failed");
    let (_, message) = story.failure();
    assert!(
        message.contains("is the service running there?"),
        "{message}"
    );
}

#[tokio::test]
async fn action_refused_by_the_executor_reaches_the_planner() {
    let script = vec![act([click(1), click(2)]), act([click(3)])];
    let cluster = Cluster::start(script).await;
    cluster.world.answer(ActionOutcome {
        rule: Some("rules.regions".to_owned()),
        ..ActionOutcome::new(Left::Refused, "the point lies in a forbidden region")
    });
    let story = cluster.carry_out().await;
    assert_eq!(
        story.results(),
        [ActionResult::Refused, ActionResult::Performed],
        "the rest of the step is dropped"
    );
    let outcome = &cluster.world.plans()[1].history[0].actions[0].outcome;
    assert_eq!(outcome.rule.as_deref(), Some("rules.regions"));
    assert!(outcome.detail.contains("forbidden region"));
    assert_eq!(cluster.world.clicks(), [centre(3)]);
}

fn centre(element: u32) -> (i32, i32) {
    let point = box_of(element).center();
    (point.x, point.y)
}

#[tokio::test]
async fn failed_action_is_reported_and_not_retried() {
    let cluster = Cluster::start(vec![act([typing("a")]), act([click(3)])]).await;
    let failed = ActionOutcome::new(Left::Failed, "no such key; nothing had been sent");
    cluster.world.answer(failed);
    let story = cluster.carry_out().await;
    assert_eq!(
        story.results(),
        [ActionResult::Failed, ActionResult::Performed]
    );
    assert_eq!(cluster.world.clicks(), [centre(3)]);
}

#[tokio::test]
async fn a_call_that_is_refused_is_an_action_that_failed() {
    let cluster = Cluster::start(vec![act([click(1)]), act([click(2)])]).await;
    cluster.world.fail("perform", 1, &defect());
    let story = cluster.carry_out().await;
    assert_eq!(
        story.results(),
        [ActionResult::Failed, ActionResult::Performed]
    );
    assert_eq!(cluster.world.clicks(), [centre(2)]);
    assert_eq!(cluster.world.lookups().len(), 1, "the journal is asked");
}

#[tokio::test]
async fn action_that_never_started_is_retried() {
    let cluster = Cluster::start(vec![act([typing("a"), click(2)])]).await;
    cluster.world.fail("perform", 2, &unavailable());
    let story = cluster.carry_out().await;
    assert_eq!(story.answer(), "it is done");
    let ids: Vec<String> = cluster
        .world
        .done()
        .iter()
        .map(|done| done.id.as_str().split_once('/').unwrap().1.to_owned())
        .collect();
    assert_eq!(ids, ["1/0/2", "1/1/0"], "under ids of their own, and once");
    assert_eq!(story.count("action_retried"), 2);
    assert_eq!(
        cluster.world.plans()[1].history[0].actions.len(),
        2,
        "the planner sees two actions, both performed"
    );
}

#[tokio::test]
async fn retries_of_an_unavailable_executor_are_limited() {
    let cluster = Cluster::start(vec![act([click(1)]), act([click(2)])]).await;
    cluster.world.fail("perform", 4, &unavailable());
    let story = cluster.carry_out().await;
    assert_eq!(story.results(), {
        let mut results = vec![ActionResult::Cancelled; 4];
        results.push(ActionResult::Performed);
        results
    });
    assert_eq!(cluster.world.clicks(), [centre(2)], "the planner went on");
}

#[tokio::test]
async fn action_stopped_before_any_input_is_retried() {
    let mut cluster = Cluster::start(vec![act([typing("a")])]).await;
    cluster.world.hold("perform");
    let name = cluster.create().await;
    cluster.world.called("perform", 1).await;
    cluster.services.go_away().await;
    cluster.world.called("stopped", 1).await;
    cluster.world.release("perform");
    cluster.services.come_back().await;
    let story = cluster.follow(&name).await;
    assert_eq!(story.answer(), "it is done");
    assert_eq!(cluster.world.done().len(), 1);
}

#[tokio::test]
async fn an_action_whose_answer_is_lost_is_not_repeated() {
    let mut cluster = Cluster::start(vec![act([typing("a"), click(2)])]).await;
    cluster.world.hold("answer");
    let name = cluster.create().await;
    cluster.world.called("answer", 1).await;
    cluster.services.go_away().await;
    cluster.world.release("answer");
    cluster.services.come_back().await;
    let story = cluster.follow(&name).await;
    assert_eq!(story.results(), [ActionResult::Performed; 2]);
    assert_eq!(cluster.world.done().len(), 2);
    assert_eq!(cluster.world.lookups().len(), 1);
}

#[tokio::test]
async fn action_missing_from_the_journal_is_not_repeated() {
    let mut cluster = Cluster::start(vec![act([typing("a"), click(2)]), act([click(3)])]).await;
    cluster.world.hold("answer");
    let name = cluster.create().await;
    cluster.world.called("answer", 1).await;
    cluster.world.forget_actions();
    cluster.services.go_away().await;
    cluster.world.release("answer");
    cluster.services.come_back().await;
    let story = cluster.follow(&name).await;
    assert_eq!(
        story.results(),
        [ActionResult::Unknown, ActionResult::Performed],
        "the rest of its step is dropped, and the planner is told"
    );
    let result = cluster.world.plans()[1].history[0].actions[0]
        .outcome
        .result;
    assert_eq!(result, Left::Unknown);
    assert_eq!(cluster.world.done().len(), 2);
}

#[tokio::test]
async fn unjudgeable_effect_is_unknown_and_not_retried() {
    let cluster = Cluster::start(vec![act([click(1), click(2)])]).await;
    cluster.world.hold("wait_for_idle");
    let name = cluster.create().await;
    cluster.world.called("wait_for_idle", 1).await;
    cluster.world.forget_frames();
    cluster.world.release("wait_for_idle");
    let story = cluster.follow(&name).await;
    assert_eq!(
        story.verdicts(),
        [EffectVerdict::Unknown, EffectVerdict::Confirmed],
        "the next action begins with a new look at the screen"
    );
    assert_eq!(cluster.world.clicks(), [centre(1), centre(2)]);
}

/// The pointer follows every click; drawn into the frames, it would look like an effect.
#[tokio::test]
async fn frames_that_are_compared_are_without_the_pointer() {
    let cluster = Cluster::start(one_click()).await;
    cluster.carry_out().await;
    let captures = cluster.world.captures();
    assert!(!captures.is_empty());
    assert!(captures.iter().all(|capture| capture.omit_cursor));
}

#[tokio::test]
async fn missing_target_is_reported_to_the_planner() {
    let cluster = Cluster::start(vec![act([click(99), click(1)]), act([click(2)])]).await;
    let story = cluster.carry_out().await;
    assert_eq!(story.count("target_not_resolved"), 1);
    assert_eq!(cluster.world.clicks(), [centre(2)]);
    let notices = &cluster.world.plans()[1].notices;
    assert!(
        notices
            .iter()
            .any(|notice| notice.contains("no element 99")),
        "{notices:?}"
    );
}

#[tokio::test]
async fn task_waits_for_a_desktop_held_elsewhere() {
    let cluster = Cluster::start(one_click()).await;
    cluster
        .world
        .set_holder(Some("tasks/of-another-orchestrator"));
    let name = cluster.create().await;
    cluster.world.called("acquire_desktop", 1).await;
    assert_eq!(cluster.get(&name).await.state(), State::Pending);
    cluster.world.set_holder(None);
    assert_eq!(cluster.follow(&name).await.answer(), "it is done");
}

#[tokio::test]
async fn skipped_backends_are_reported_and_their_usage_counted() {
    let cluster = Cluster::start(Vec::new()).await;
    cluster.world.skip_backend(BackendAttempt {
        backend: "first".to_owned(),
        reason: "TRANSIENT".to_owned(),
        message: "overloaded".to_owned(),
        usage: Usage {
            input_tokens: Some(7),
            calls: 1,
            ..Usage::default()
        },
    });
    let name = cluster.create().await;
    let story = cluster.follow(&name).await;
    assert_eq!(story.count("backend_skipped"), 1);
    let usage = cluster.get(&name).await.usage.unwrap();
    assert_eq!((usage.input_tokens, usage.calls), (Some(7), 1));
}

#[tokio::test]
async fn lost_lease_is_reacquired_without_repeating_actions() {
    let cluster = Cluster::start(vec![act([typing("a")]), act([typing("b")])]).await;
    cluster.world.hold("plan");
    let name = cluster.create().await;
    cluster.world.called("plan", 1).await;
    cluster.world.supersede();
    cluster.world.release("plan");
    let story = cluster.follow(&name).await;
    assert_eq!(story.answer(), "it is done");
    assert_eq!(story.count("recovered"), 1);
    assert_eq!(story.count("desktop_acquired"), 2);
    assert_eq!(cluster.world.done().len(), 2);
}

#[tokio::test]
async fn a_full_disk_stops_the_task_until_there_is_space() {
    let cluster = Cluster::start(vec![act([typing("a")])]).await;
    cluster.world.hold("plan");
    let name = cluster.create().await;
    cluster.world.called("plan", 1).await;
    cluster.set_full(true);
    let refused = cluster.client().create_task("do it").await.unwrap_err();
    assert_eq!(
        (refused.code, refused.reason.as_str()),
        (Code::ResourceExhausted, "STORE_FULL")
    );
    assert_eq!(refused.message, "the store's disk is full");
    cluster.world.release("plan");
    cluster.world.called("released", 1).await;
    assert_eq!(
        cluster.world.done(),
        [],
        "nothing is done that cannot be written down"
    );
    cluster.set_full(false);
    let story = cluster.follow(&name).await;
    assert_eq!(story.answer(), "it is done");
    assert_eq!(cluster.world.done().len(), 1);
}
