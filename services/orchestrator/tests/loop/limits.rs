//! Limits end a task in a clear state, before an action exceeds them.

use motorium_proto::domain::decision::{PlannedAction, Usage};
use motorium_proto::error::ErrorReport;
use motorium_proto::v1::orchestrator as wire;
use motorium_proto::v1::orchestrator::task::State;
use tonic::Code;

use crate::support::cluster::Cluster;
use crate::support::script::{act, ask, call, click, done};
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
async fn nobody_is_asked_when_the_answer_could_not_be_used() {
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
async fn what_failed_calls_have_used_is_counted() {
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
        let cluster = Cluster::start(vec![act([click(1)]), act([click(2)])]).await;
        let failure = ErrorReport::new(code, reason, "it came to nothing").with_usage(used);
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
async fn a_task_that_says_nothing_has_the_configured_ones() {
    let cluster = Cluster::start(Vec::new()).await;
    let name = cluster.create().await;
    let task = cluster.get(&name).await;
    let limits = task.limits.unwrap();
    assert_eq!(limits.max_steps, 80);
    assert_eq!(limits.max_duration.unwrap().seconds, 480);
    cluster.follow(&name).await;
    assert_eq!(cluster.get(&name).await.state(), State::Succeeded);
}
