//! Loop detection: the planner is told, then held to another way, then the user is asked.

use motorium_proto::domain::decision::Next;
use motorium_proto::v1::orchestrator::event::Kind;
use motorium_proto::v1::orchestrator::loop_detected::{Mitigation, Pattern};
use motorium_proto::v1::orchestrator::task::State;

use crate::support::cluster::Cluster;
use crate::support::script::{act, call, click, click_once, done, typing};
use crate::support::task_events::TaskEvents;
use crate::support::tools::Tools;

fn notices(story: &TaskEvents) -> Vec<(Pattern, Mitigation)> {
    story.all(|kind| match kind {
        Kind::LoopDetected(noticed) => Some((noticed.pattern(), noticed.mitigation())),
        _ => None,
    })
}

fn repeated_clicks(times: usize) -> Vec<Next> {
    vec![act([click_once(1)]); times]
}

#[tokio::test]
async fn repeated_ineffective_action_escalates_to_the_user() {
    let cluster = Cluster::start(repeated_clicks(20)).await;
    cluster.world.ignore_actions(99);
    let name = cluster.create().await;
    let story = cluster.happened(&name, "user_asked").await;
    let repetition = |measure| (Pattern::Repetition, measure);
    assert_eq!(
        notices(&story),
        [
            repetition(Mitigation::NotifyPlanner),
            repetition(Mitigation::BlockActions),
            repetition(Mitigation::AskUser)
        ]
    );
    // Performed three times, and twice more after the planner was told; from then on refused.
    assert_eq!(cluster.world.done().len(), 5);
    let plans = cluster.world.plans();
    assert!(
        plans[3].notices[0].contains("consider another way"),
        "{:?}",
        plans[3].notices
    );
    assert!(
        plans[5].notices[0].contains("choose another way"),
        "{:?}",
        plans[5].notices
    );
    assert_eq!(cluster.get(&name).await.state(), State::AwaitingUser);

    // A message from the user resets the count.
    let before = cluster.world.done().len();
    cluster.acknowledge(&name, "try it again").await;
    cluster.happened_times(&name, "user_asked", 2).await;
    assert_eq!(cluster.world.done().len(), before + 5);
    cluster.cancel(&name).await;
}

#[tokio::test]
async fn different_action_ends_the_repetition() {
    let script = [
        repeated_clicks(6),
        vec![act([click_once(2)]), done("the other way")],
    ]
    .concat();
    let cluster = Cluster::start(script).await;
    cluster.world.ignore_actions(5);
    let story = cluster.carry_out().await;
    assert_eq!(story.answer(), "the other way");
    assert_eq!(cluster.world.done().len(), 6);
    assert_eq!(story.count("user_asked"), 0);
}

#[tokio::test]
async fn alternating_screens_are_detected_as_a_cycle() {
    let turns: Vec<Next> = (0..20).map(|turn| act([click(1 + turn % 2)])).collect();
    let cluster = Cluster::start(turns).await;
    cluster.world.turn_pages();
    let name = cluster.create().await;
    let story = cluster.happened(&name, "loop_detected").await;
    assert_eq!(
        notices(&story),
        [(Pattern::Cycle, Mitigation::NotifyPlanner)]
    );
    assert_eq!(story.count("action_performed"), 6);
    let story = cluster.happened(&name, "user_asked").await;
    assert_eq!(notices(&story).last().unwrap().1, Mitigation::AskUser);
    cluster.cancel(&name).await;
}

#[tokio::test]
async fn varied_ineffective_actions_are_detected_as_stagnation() {
    let ways: Vec<Next> = (1..9).map(|number| act([click_once(number)])).collect();
    let cluster = Cluster::start(ways).await;
    cluster.world.ignore_actions(6);
    let story = cluster.carry_out().await;
    assert_eq!(
        notices(&story),
        [(Pattern::Stagnation, Mitigation::NotifyPlanner)]
    );
}

#[tokio::test]
async fn alternating_effective_input_is_not_a_cycle() {
    let keys: Vec<Next> = (0..12)
        .map(|turn| act([typing(["x", "y"][turn % 2])]))
        .collect();
    let cluster = Cluster::start(keys).await;
    let story = cluster.carry_out().await;
    assert_eq!(notices(&story), []);
    assert_eq!(cluster.world.done().len(), 12);
}

#[tokio::test]
async fn repeated_effective_action_is_not_a_loop() {
    // The same key is pressed repeatedly, each time with an effect.
    let keys = vec![act([typing("x")]); 12];
    let cluster = Cluster::start(keys).await;
    let story = cluster.carry_out().await;
    assert_eq!(notices(&story), []);
    assert_eq!(cluster.world.done().len(), 12);
}

/// Runs a script of function calls until the user is asked. Also returns how often the tool was called.
async fn calls_until_the_user_is_asked(script: Vec<Next>) -> (Cluster, TaskEvents, usize) {
    let tools = Tools::service().await;
    let cluster = crate::functions::with(&tools, script).await;
    let name = cluster.create_with(crate::functions::notes()).await;
    let story = cluster.happened(&name, "user_asked").await;
    cluster.cancel(&name).await;
    let calls = tools.notes.names().len();
    (cluster, story, calls)
}

#[tokio::test]
async fn repeated_failing_function_call_escalates_to_the_user() {
    // Arguments with different formatting are equal.
    let arguments = ["{}", " { } "];
    let script = (0..20).map(|turn| call([("notes_fail", arguments[turn % 2])]));
    let (cluster, story, calls) = calls_until_the_user_is_asked(script.collect()).await;
    let repetition = |measure| (Pattern::Repetition, measure);
    assert_eq!(
        notices(&story),
        [
            repetition(Mitigation::NotifyPlanner),
            repetition(Mitigation::BlockActions),
            repetition(Mitigation::AskUser)
        ]
    );
    assert_eq!(calls, 5, "from then on it is not made any more");
    let plans = cluster.world.plans();
    let notices = plans[3].notices.join("\n");
    assert!(
        notices.contains("call notes_fail has been tried"),
        "{notices}"
    );
    let refused = plans[6].history.last().unwrap();
    let result = refused.function_results[0].outcome.clone().unwrap_err();
    assert!(
        result.contains("the function was not called: ") && result.contains("choose another way"),
        "each call has its result, also where it is not made: {result}"
    );
}

#[tokio::test]
async fn changing_function_results_delay_repetition_detection() {
    let again = call([("notes_note", r#"{"text": "what time is it"}"#)]);
    let (_, story, calls) = calls_until_the_user_is_asked(vec![again; 30]).await;
    assert_eq!(
        notices(&story).last(),
        Some(&(Pattern::Repetition, Mitigation::AskUser))
    );
    // Eight results count as progress, three more as a repetition, and two more are tolerated.
    assert_eq!(calls, 13);
}

#[tokio::test]
async fn calls_with_different_arguments_are_not_a_loop() {
    let tools = Tools::service().await;
    let texts = (0..12).map(|number| format!(r#"{{"text": "customer {number}"}}"#));
    let script = texts.map(|text| call([("notes_note", text.as_str())]));
    let script = script.chain([done("all noted")]).collect();
    let cluster = crate::functions::with(&tools, script).await;
    let story = cluster.carry_out_with(crate::functions::notes()).await;
    assert_eq!(story.answer(), "all noted");
    assert_eq!(notices(&story), []);
    assert_eq!(tools.notes.names().len(), 12);
}
