//! The last look before a risky action: what changes when the pointer arrives is judged before the button is pressed.

use motorium_proto::domain::action::{Action, Button, Target};
use motorium_proto::domain::decision::{Next, PlannedAction};
use motorium_proto::domain::id::ElementId;
use motorium_proto::v1::orchestrator::approval::State;
use tempfile::TempDir;

use crate::approvals::{resolve_saying, shop_with, states, waiting};
use crate::support::cluster::Cluster;
use crate::support::script::{act, click, done};
use crate::support::simulated_desktop::box_of;

/// A policy under which only the account must not be deleted unattended.
const RULES: &str = r#"
    @id("everything") permit (principal, action, resource);
    @id("account") forbid (principal, action == Action::"performUnattended", resource)
    when { resource.text like "Delete account*" };
"#;

/// Runs a script under [`RULES`]. The second element is labelled `Delete draft`, which is risky and allowed.
async fn with_rules(script: Vec<Next>) -> (Cluster, TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let rules = folder.path().join("rules.cedar");
    std::fs::write(&rules, RULES).unwrap();
    let cluster = Cluster::start_with(script, |settings| {
        settings.policy = rules.to_string_lossy().into_owned();
    })
    .await;
    cluster.world.label(2, "Delete draft");
    (cluster, folder)
}

/// An action whose words do not tell that it is risky.
fn plain(action: Action<Target>) -> PlannedAction {
    PlannedAction {
        action,
        intent: "go on".to_owned(),
        ..click(2)
    }
}

fn target() -> Option<Target> {
    Some(Target::Element(ElementId(2)))
}

fn clicks(count: u8) -> PlannedAction {
    plain(Action::Click {
        at: target(),
        button: Button::Left,
        count,
        modifiers: Vec::new(),
    })
}

fn press() -> PlannedAction {
    plain(Action::MouseDown {
        at: target(),
        button: Button::Left,
    })
}

/// A drag between two elements.
fn drag(from: u32, to: u32) -> PlannedAction {
    PlannedAction {
        intent: "delete it".to_owned(),
        ..plain(Action::Drag {
            path: vec![
                Target::Element(ElementId(from)),
                Target::Element(ElementId(to)),
            ],
            button: Button::Left,
            modifiers: Vec::new(),
            duration: None,
            hold: None,
        })
    }
}

#[tokio::test]
async fn a_risky_target_that_changes_under_the_pointer_is_judged_again() {
    for (what, action) in [
        ("click", clicks(1)),
        ("double click", clicks(2)),
        ("press", press()),
        ("end of a drag", drag(4, 2)),
        ("drag along the target", drag(2, 2)),
    ] {
        let (cluster, _rules) = with_rules(vec![act([action]), done("left")]).await;
        let becomes = Some("Delete account");
        cluster.world.light_up_in_some_frames(2, becomes);
        let name = cluster.create().await;
        cluster.happened(&name, "user_asked").await;
        assert_eq!(cluster.world.done(), [], "{what}");
        let [approval] = waiting(&cluster, &name).await.try_into().unwrap();
        assert_eq!(approval.rules, ["account"], "{what}");
        resolve_saying(&cluster, &approval.name, false, "")
            .await
            .unwrap();
        cluster.follow(&name).await.answer();
        assert_eq!(cluster.world.done(), [], "{what}");
    }
}

#[tokio::test]
async fn a_highlight_of_a_risky_target_changes_nothing() {
    for action in [clicks(1), press(), drag(4, 2)] {
        let (cluster, _rules) = with_rules(vec![act([action]), done("deleted")]).await;
        cluster.world.light_up_in_some_frames(2, None);
        let name = cluster.create().await;
        let story = cluster.follow(&name).await;
        assert_eq!(story.answer(), "deleted");
        assert_eq!(states(&story), []);
        assert_eq!(cluster.world.done().len(), 1);
    }
}

#[tokio::test]
async fn the_pointer_rests_at_both_ends_of_a_risky_drag() {
    let (cluster, _rules) = with_rules(vec![act([drag(4, 2)]), done("deleted")]).await;
    let name = cluster.create().await;
    cluster.follow(&name).await.answer();
    let [end, start] = [2, 4].map(|element| box_of(element).center());
    assert_eq!(cluster.world.moves(), [(end.x, end.y), (start.x, start.y)]);
}

#[tokio::test]
async fn an_amount_that_changes_when_the_pointer_arrives_voids_the_approval() {
    let script = vec![act([click(1)]), done("left")];
    let cluster = shop_with(script, std::time::Duration::from_secs(60)).await;
    cluster.world.say(3, "Total 100 EUR");
    let name = cluster.create().await;
    cluster.happened(&name, "user_asked").await;
    let [approval] = waiting(&cluster, &name).await.try_into().unwrap();
    // The pointer arrives once more before the click.
    cluster.world.say_under_the_pointer(1, 3, "Total 1000 EUR");
    resolve_saying(&cluster, &approval.name, true, "")
        .await
        .unwrap();
    let story = cluster.follow(&name).await;
    assert!(states(&story).contains(&State::Invalidated), "{story:?}");
    assert_eq!(cluster.world.done(), []);
    let notices = &cluster.world.plans()[1].notices;
    assert!(notices[0].contains("now \"1000eur\""), "{notices:?}");
}

#[tokio::test]
async fn an_approver_is_shown_the_amount_that_comes_with_the_pointer() {
    let script = vec![act([click(1)]), done("left")];
    let cluster = shop_with(script, std::time::Duration::from_secs(60)).await;
    cluster.world.say(3, "Total 100 EUR");
    cluster.world.say_under_the_pointer(1, 3, "Total 1000 EUR");
    let name = cluster.create().await;
    cluster.happened(&name, "user_asked").await;
    let [approval] = waiting(&cluster, &name).await.try_into().unwrap();
    assert_eq!(approval.context.unwrap().amounts, ["1000eur"]);
    assert_eq!(cluster.world.done(), []);
}

#[tokio::test]
async fn harmless_actions_are_not_looked_at_again() {
    let harmless = PlannedAction {
        intent: "go on".to_owned(),
        ..click(3)
    };
    let (cluster, _rules) = with_rules(vec![act([harmless]), done("read")]).await;
    let name = cluster.create().await;
    cluster.follow(&name).await.answer();
    assert_eq!(cluster.world.moves(), []);
    assert_eq!(cluster.world.effect_windows().len(), 1, "the effect alone");
}
