//! An approval covers what was shown around the target: amounts, recipients, texts, window and page.

use motorium_proto::domain::decision::Next;
use motorium_proto::v1::orchestrator as wire;
use motorium_proto::v1::orchestrator::approval::State;

use crate::approvals::{resolve_saying, shop_with, states, waiting};
use crate::support::cluster::Cluster;
use crate::support::script::{act, click, done, enter};
use crate::support::simulated_desktop::SimulatedDesktop;

/// Elements near the button, and outside of the screenshot for the approver but in its dialog.
const NEAR: u32 = 2;
const FAR: u32 = 5;

/// Carries out a script that begins with an action that needs approval, changes the screen, approves, and returns the states of
/// all approvals, the number of performed actions, and the approval that is asked for again, if any.
async fn approve_after(
    script: Vec<Next>,
    before: impl FnOnce(&SimulatedDesktop),
    change: impl FnOnce(&SimulatedDesktop),
) -> (Vec<State>, usize, Option<wire::Approval>) {
    let timeout = std::time::Duration::from_secs(60);
    let cluster: Cluster = shop_with(script, timeout).await;
    before(&cluster.world);
    let name = cluster.create().await;
    cluster.happened(&name, "user_asked").await;
    let [approval] = waiting(&cluster, &name).await.try_into().unwrap();
    change(&cluster.world);
    resolve_saying(&cluster, &approval.name, true, "")
        .await
        .unwrap();
    cluster.happened_times(&name, "approval_resolved", 1).await;
    // Either the action is performed, or the person is asked again.
    let again = tokio::select! {
        _ = cluster.happened(&name, "action_performed") => None,
        _ = cluster.happened_times(&name, "user_asked", 2) => {
            waiting(&cluster, &name).await.pop()
        }
    };
    if again.is_some() {
        cluster.cancel(&name).await;
    }
    let story = cluster.follow(&name).await;
    (states(&story), cluster.world.done().len(), again)
}

async fn voids(
    what: &str,
    before: impl FnOnce(&SimulatedDesktop),
    change: impl FnOnce(&SimulatedDesktop),
    words: &str,
) {
    let script = vec![act([click(1)]), act([click(1)]), done("paid")];
    let (states, performed, again) = approve_after(script, before, change).await;
    assert_eq!(performed, 0, "{what}");
    assert!(states.contains(&State::Invalidated), "{what}: {states:?}");
    let again = again.expect("the person is asked again");
    assert!(again.reason.contains(words), "{what}: {}", again.reason);
    assert!(
        again.reason.contains("asked again"),
        "{what}: {}",
        again.reason
    );
}

async fn holds(
    what: &str,
    before: impl FnOnce(&SimulatedDesktop),
    change: impl FnOnce(&SimulatedDesktop),
) {
    let script = vec![act([click(1)]), done("paid")];
    let (states, performed, _) = approve_after(script, before, change).await;
    assert_eq!(states, [State::Pending, State::Approved], "{what}");
    assert_eq!(performed, 1, "{what}");
}

#[tokio::test]
async fn another_amount_in_the_dialog_voids_the_approval() {
    for element in [NEAR, FAR] {
        voids(
            "amount",
            |world| world.say(element, "Total 100 EUR"),
            |world| world.say(element, "Total 1000 EUR"),
            "before \"100eur\", now \"1000eur\"",
        )
        .await;
    }
}

#[tokio::test]
async fn another_recipient_in_the_dialog_voids_the_approval() {
    voids(
        "name",
        |world| world.say(FAR, "收款人：张三"),
        |world| world.say(FAR, "收款人：李四"),
        "before \"张三\", now \"李四\"",
    )
    .await;
    voids(
        "account beside its caption",
        |world| {
            world.say(4, "IBAN");
            world.say(FAR, "DE89 3704 0044 0532 0130 00");
        },
        |world| world.say(FAR, "DE02 1203 0000 0000 2020 51"),
        "account has changed",
    )
    .await;
}

#[tokio::test]
async fn another_window_or_page_voids_the_approval() {
    voids(
        "window",
        |world| world.retitle("Shop"),
        |world| world.retitle("Bank"),
        "before \"Shop\", now \"Bank\"",
    )
    .await;
    voids(
        "origin",
        |world| world.show_page("https://shop.example/cart"),
        |world| world.show_page("https://shop.example.evil.test/cart"),
        "now \"https://shop.example.evil.test\"",
    )
    .await;
}

#[tokio::test]
async fn another_dialog_with_the_same_button_voids_the_approval() {
    voids(
        "question",
        |world| world.say(NEAR, "Delete the draft?"),
        |world| world.say(NEAR, "Delete the account?"),
        "a text beside the target has changed",
    )
    .await;
}

#[tokio::test]
async fn something_laid_over_the_button_voids_the_approval() {
    voids(
        "overlay",
        |_| {},
        |world| {
            world.turn_into(1, "Pay now, allow all");
            world.redraw();
        },
        "the text of the target has changed",
    )
    .await;
}

#[tokio::test]
async fn changes_without_a_meaning_void_no_approval() {
    holds(
        "clock",
        |world| world.say(NEAR, "Sat Nov 28, 12:30"),
        |world| world.say(NEAR, "Sat Nov 28, 12:31"),
    )
    .await;
    holds(
        "countdown",
        |world| world.say(NEAR, "Expires in 59 s"),
        |world| world.say(NEAR, "Expires in 41 s"),
    )
    .await;
    holds(
        "caret beside a name",
        |world| world.say(NEAR, "Ann"),
        |world| world.say(NEAR, "Ann|"),
    )
    .await;
    holds(
        "unread messages",
        |world| world.retitle("(3) Inbox"),
        |world| world.retitle("(4) Inbox"),
    )
    .await;
    holds("spinner", |world| world.animate(9), |_| {}).await;
    holds(
        "another page of the site",
        |world| world.show_page("https://shop.example/cart"),
        |world| world.show_page("https://shop.example/cart#total"),
    )
    .await;
}

#[tokio::test]
async fn keys_are_bound_to_the_dialog_of_their_field() {
    let script = vec![
        act([click(2)]),
        act([enter("send the message")]),
        done("left"),
    ];
    let cluster = shop_with(script, std::time::Duration::from_secs(60)).await;
    cluster.world.say(4, "To: Ann");
    let name = cluster.create().await;
    cluster.happened(&name, "user_asked").await;
    let [approval] = waiting(&cluster, &name).await.try_into().unwrap();
    cluster.world.say(4, "To: Eve");
    resolve_saying(&cluster, &approval.name, true, "")
        .await
        .unwrap();
    let story = cluster.follow(&name).await;
    assert!(states(&story).contains(&State::Invalidated), "{story:?}");
    assert_eq!(cluster.world.done().len(), 1, "the click into the field");
    let notices = &cluster.world.plans()[2].notices;
    assert!(notices[0].contains("now \"eve\""), "{notices:?}");
}

#[tokio::test]
async fn the_approver_is_told_the_surroundings() {
    let script = vec![act([click(1)])];
    let cluster = shop_with(script, std::time::Duration::from_secs(60)).await;
    cluster.world.show_page("https://shop.example/cart?id=7");
    cluster.world.say(NEAR, "Total 100 EUR");
    cluster.world.say(FAR, "To: Ann");
    let name = cluster.create().await;
    cluster.happened(&name, "user_asked").await;
    let [approval] = waiting(&cluster, &name).await.try_into().unwrap();
    let context = approval.context.unwrap();
    assert_eq!(context.page_origin, "https://shop.example");
    assert_eq!(context.target_texts, ["Pay now"]);
    assert_eq!(context.amounts, ["100eur"]);
    assert_eq!(context.recipients, ["ann"]);
    assert!(context.texts.contains(&"Total 100 EUR".to_owned()));
    cluster.cancel(&name).await;
}
