//! Limits end a task in a clear state, before an action exceeds them.

use std::time::Duration;

use motorium_kit::config::HumanDuration;
use motorium_proto::domain::decision::{Next, PlannedAction, Usage};
use motorium_proto::error::ErrorReport;
use motorium_proto::v1::orchestrator as wire;
use motorium_proto::v1::orchestrator::task::State;
use tonic::Code;

use crate::replay;
use crate::support::cluster::Cluster;
use crate::support::script::{act, ask, call, click, click_text, done};
use crate::support::tools::Tools;

fn limited(limits: wire::Limits) -> wire::Task {
    wire::Task {
        limits: Some(limits),
        ..wire::Task::default()
    }
}

fn milliseconds(count: i32) -> Option<prost_types::Duration> {
    Some(prost_types::Duration {
        seconds: 0,
        nanos: count * 1_000_000,
    })
}

#[tokio::test]
async fn steps() {
    let cluster = Cluster::start((1..9).map(|number| act([click(number)])).collect()).await;
    let limits = wire::Limits {
        max_steps: 2,
        ..wire::Limits::default()
    };
    let story = cluster.carry_out_with(limited(limits)).await;
    story.check_failure("STEP_LIMIT", "raise limits.max_steps");
    assert_eq!(cluster.world.done().len(), 2);
    assert_eq!(story.count("observed"), 2, "nothing is looked at in vain");
}

#[tokio::test]
async fn a_success_within_the_last_step_counts() {
    let cluster = Cluster::start(vec![act([click(1)]), done("saved")]).await;
    let limits = wire::Limits {
        max_steps: 2,
        ..wire::Limits::default()
    };
    assert_eq!(
        cluster.carry_out_with(limited(limits)).await.answer(),
        "saved"
    );
}

#[tokio::test]
async fn no_question_is_asked_in_the_last_step() {
    let cluster = Cluster::start(vec![ask("which one?")]).await;
    let limits = wire::Limits {
        max_steps: 1,
        ..wire::Limits::default()
    };
    let story = cluster.carry_out_with(limited(limits)).await;
    story.check_failure("STEP_LIMIT", "1 steps");
    assert_eq!(story.count("user_asked"), 0);
}

/// Exceeds the time limit while this call is held.
async fn check_time(held: &'static str) {
    let cluster = Cluster::start(vec![act([click(1)])]).await;
    cluster.world.hold(held);
    let limits = wire::Limits {
        max_duration: milliseconds(400),
        ..wire::Limits::default()
    };
    let story = cluster.carry_out_with(limited(limits)).await;
    story.check_failure("TIME_LIMIT", "raise limits.max_duration");
    cluster.world.called("released", 1).await;
    cluster.world.release(held);
    assert_eq!(cluster.world.done(), [], "held at {held}");
}

#[tokio::test]
async fn time_while_the_screen_is_looked_at() {
    check_time("observe").await;
}

#[tokio::test]
async fn time_while_the_planner_thinks() {
    check_time("plan").await;
}

#[tokio::test]
async fn time_while_an_action_is_performed() {
    check_time("perform").await;
}

/// A task that the careful policy stops before its click on "Pay now".
async fn shop() -> Cluster {
    let cluster = Cluster::start_with(vec![act([click(1)])], |settings| {
        settings.policy = "careful".to_owned();
    })
    .await;
    cluster.world.label(1, "Pay now");
    cluster
}

#[tokio::test]
async fn time_while_a_person_is_waited_for() {
    let question = Cluster::start(vec![ask("which one?")]).await;
    let approval = shop().await;
    for (cluster, request) in [(question, "which one?"), (approval, "pays, buys or orders")] {
        let limits = wire::Limits {
            max_duration: milliseconds(400),
            ..wire::Limits::default()
        };
        let story = cluster.carry_out_with(limited(limits)).await;
        story.check_failure("TIME_LIMIT", request);
        story.check_failure("TIME_LIMIT", "while waiting for a person");
        assert_eq!(story.count("user_asked"), 1);
        assert_eq!(cluster.world.done(), [], "{request}");
        cluster.world.called("released", 1).await;
    }
}

/// A cluster whose tasks keep their desktop for a moment only while they wait for an answer.
async fn sharing(script: Vec<Next>) -> Cluster {
    Cluster::start_with(script, |settings| {
        settings.release_desktop_after = Some(HumanDuration::milliseconds(100));
    })
    .await
}

#[tokio::test]
async fn a_desktop_is_free_while_its_task_waits_for_an_answer() {
    let cluster = sharing(vec![ask("which one?"), done("ok")]).await;
    let first = cluster.create().await;
    let story = cluster.happened(&first, "desktop_released").await;
    assert_eq!(story.count("user_asked"), 1);
    assert!(cluster.get(&first).await.desktop_released);
    let second = cluster.create().await;
    cluster.happened(&second, "user_asked").await;
    assert_eq!(cluster.get(&first).await.state(), State::AwaitingUser);
    let request = wire::AcknowledgeUserActionRequest {
        name: first.clone(),
        message: "the left one".to_owned(),
        ..wire::AcknowledgeUserActionRequest::default()
    };
    let mut client = cluster.client().raw();
    client.acknowledge_user_action(request).await.unwrap();
    let story = cluster.follow(&first).await;
    assert_eq!(story.answer(), "ok");
    assert_eq!(story.count("recovered"), 1);
    assert!(!cluster.get(&first).await.desktop_released);
}

#[tokio::test]
async fn time_passes_also_without_a_desktop() {
    let cluster = sharing(vec![ask("which one?")]).await;
    let limits = wire::Limits {
        max_duration: milliseconds(700),
        ..wire::Limits::default()
    };
    let story = cluster.carry_out_with(limited(limits)).await;
    story.check_failure("TIME_LIMIT", "which one?");
    assert_eq!(story.count("desktop_released"), 1);
}

#[tokio::test]
async fn time_does_not_pass_while_a_person_uses_the_desktop() {
    let cluster = Cluster::start(vec![ask("which one?"), done("ok")]).await;
    let limits = wire::Limits {
        max_duration: milliseconds(1500),
        ..wire::Limits::default()
    };
    let name = cluster.create_with(limited(limits)).await;
    cluster.happened(&name, "user_asked").await;
    let request = wire::TakeOverRequest {
        name: name.clone(),
        ..wire::TakeOverRequest::default()
    };
    let mut client = cluster.client().raw();
    client.take_over(request).await.unwrap();
    // Longer than the limit: what is tested is that time passes without an effect.
    tokio::time::sleep(std::time::Duration::from_millis(1800)).await;
    assert_eq!(cluster.get(&name).await.state(), State::AwaitingUser);
    let request = wire::HandBackRequest {
        name: name.clone(),
        ..wire::HandBackRequest::default()
    };
    client.hand_back(request).await.unwrap();
    assert_eq!(cluster.follow(&name).await.answer(), "ok");
}

#[tokio::test]
async fn tokens_and_money() {
    let tokens = wire::Limits {
        max_tokens: 100,
        ..wire::Limits::default()
    };
    let money = wire::Limits {
        max_cost_micros_usd: 5000,
        ..wire::Limits::default()
    };
    for (limits, reason, words) in [
        (tokens, "TOKEN_LIMIT", "raise limits.max_tokens"),
        (money, "COST_LIMIT", "raise limits.max_cost_micros_usd"),
    ] {
        let cluster = Cluster::start((1..9).map(|number| act([click(number)])).collect()).await;
        cluster.world.charge(Usage {
            input_tokens: Some(40),
            output_tokens: Some(20),
            cost_micros_usd: Some(3000),
            calls: 1,
            ..Usage::default()
        });
        let name = cluster.create_with(limited(limits)).await;
        let story = cluster.follow(&name).await;
        story.check_failure(reason, words);
        assert_eq!(
            cluster.world.plans().len(),
            2,
            "{reason}: a third call would be too much"
        );
        assert_eq!(cluster.world.done().len(), 2, "what was paid for is done");
        let usage = cluster.get(&name).await.usage.unwrap();
        assert_eq!((usage.input_tokens, usage.calls), (Some(80), 2));
    }
}

#[tokio::test]
async fn a_call_of_unknown_usage_does_not_reset_the_tokens_of_a_task() {
    let cluster = Cluster::start((1..9).map(|number| act([click(number)])).collect()).await;
    let charged = Usage {
        input_tokens: Some(5900),
        output_tokens: Some(100),
        calls: 1,
        ..Usage::default()
    };
    let unreported = Usage {
        calls: 1,
        ..Usage::default()
    };
    cluster.world.charge(charged);
    let broken = ErrorReport::new(Code::Unavailable, "ALL_BACKENDS_FAILED", "it broke off")
        .with_usage(unreported)
        .retry_after(Duration::from_millis(10));
    cluster.world.fail("plan", 1, &broken);
    let limits = wire::Limits {
        max_tokens: 20_000,
        ..wire::Limits::default()
    };
    let name = cluster.create_with(limited(limits)).await;
    let story = cluster.follow(&name).await;
    story.check_failure("TOKEN_LIMIT", "raise limits.max_tokens");
    let usage = cluster.get(&name).await.usage.unwrap();
    assert_eq!(
        usage.input_tokens, None,
        "people see that a part is unknown"
    );
    let left: Vec<Option<u64>> = cluster
        .world
        .plans()
        .iter()
        .map(|plan| plan.remaining.tokens)
        .collect();
    // The mean of the known calls stands for the unknown one.
    assert!(left.ends_with(&[Some(8000), Some(2000)]), "{left:?}");
    replay::check(&cluster, &name).await;
}

#[tokio::test]
async fn a_task_may_not_ask_for_more_than_the_operator_allows() {
    let cluster = Cluster::start_with(vec![done("ok")], |settings| {
        settings.max_limits.max_steps = Some(5);
    })
    .await;
    let create = |max_steps| {
        let mut client = cluster.client().raw();
        let request = wire::CreateTaskRequest {
            task: Some(wire::Task {
                goal: "do it".to_owned(),
                ..limited(wire::Limits {
                    max_steps,
                    ..wire::Limits::default()
                })
            }),
            ..wire::CreateTaskRequest::default()
        };
        async move { client.create_task(request).await }
    };
    let refused = ErrorReport::from_status(&create(6).await.unwrap_err());
    assert_eq!(refused.code, Code::InvalidArgument);
    let expected = "task.limits.max_steps: is 6; this server accepts at most 5";
    assert_eq!(refused.message, expected);
    let unset = create(0).await.unwrap().into_inner().task.unwrap();
    assert_eq!(unset.limits.unwrap().max_steps, 5);
}

#[tokio::test]
async fn usage_of_failed_calls_is_counted() {
    let used = Usage {
        input_tokens: Some(40),
        output_tokens: Some(20),
        calls: 1,
        ..Usage::default()
    };
    for (call, code, reason) in [
        ("plan", Code::Unavailable, "ALL_BACKENDS_FAILED"),
        (
            "resolve_target",
            Code::FailedPrecondition,
            "TARGET_AMBIGUOUS",
        ),
    ] {
        let script = vec![act([click_text("Button 1")]), act([click(2)])];
        let cluster = Cluster::start(script).await;
        let failure = ErrorReport::new(code, reason, "it came to nothing")
            .with_usage(used)
            .retry_after(Duration::from_millis(10));
        cluster.world.fail(call, 1, &failure);
        let name = cluster.create().await;
        assert_eq!(cluster.follow(&name).await.answer(), "it is done", "{call}");
        let usage = cluster.get(&name).await.usage.unwrap();
        assert_eq!((usage.input_tokens, usage.calls), (Some(40), 1), "{call}");
    }
}

#[tokio::test]
async fn risky_actions() {
    let send = |element| PlannedAction {
        intent: "click \"Send\"".to_owned(),
        ..click(element)
    };
    // A risky click has its pointer checked; the pointer move itself is not a risky action.
    let cluster = Cluster::start(vec![act([send(1)]), act([click(2)]), act([send(3)])]).await;
    let limits = wire::Limits {
        max_risky_actions: 1,
        ..wire::Limits::default()
    };
    let story = cluster.carry_out_with(limited(limits)).await;
    story.check_failure("RISK_LIMIT", "raise limits.max_risky_actions");
    assert_eq!(cluster.world.done().len(), 2);
}

#[tokio::test]
async fn risky_function_calls() {
    let send = PlannedAction {
        intent: "click \"Send\"".to_owned(),
        ..click(1)
    };
    let remove = ("notes_remove_note", r#"{"text": "milk"}"#);
    let note = ("notes_note", r#"{"text": "milk"}"#);
    for before in [act([send]), call([remove])] {
        let tools = Tools::service().await;
        let script = vec![before, call([note]), call([remove]), done("no")];
        let cluster = Cluster::start_with(script, |settings| {
            crate::functions::with_notes(settings, &tools.address());
            settings.policy = "free".to_owned();
        })
        .await;
        let limits = wire::Limits {
            max_risky_actions: 1,
            ..wire::Limits::default()
        };
        let task = wire::Task {
            limits: Some(limits),
            ..crate::functions::notes()
        };
        let story = cluster.carry_out_with(task).await;
        story.check_failure("RISK_LIMIT", "raise limits.max_risky_actions");
        let done = cluster.world.clicks().len() + tools.notes.names().len();
        assert_eq!(done, 2, "one that is risky and one that is not");
        assert_eq!(tools.notes.names().last().unwrap(), "note");
    }
}

#[tokio::test]
async fn default_limits_apply_to_a_task_without_limits() {
    let cluster = Cluster::start(Vec::new()).await;
    let name = cluster.create().await;
    let task = cluster.get(&name).await;
    let limits = task.limits.unwrap();
    assert_eq!(limits.max_steps, 80);
    assert_eq!(limits.max_duration.unwrap().seconds, 480);
    cluster.follow(&name).await;
    assert_eq!(cluster.get(&name).await.state(), State::Succeeded);
}
