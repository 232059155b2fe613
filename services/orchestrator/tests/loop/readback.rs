//! Reading an entered text again on the next screen: what a planner is told about a field that shows another text.

use motorium_proto::domain::action::Action;
use motorium_proto::domain::effect::Verdict;
use motorium_proto::v1::common::EffectVerdict;

use crate::replay;
use crate::support::cluster::Cluster;
use crate::support::script::{act, click, done, typing};
use crate::support::task_events::TaskEvents;

const FIELD: u32 = 1;

/// Types into a field that shows `shown` afterwards, and returns the cluster with the events of the task.
async fn typed(text: &str, shown: &'static str) -> (Cluster, TaskEvents) {
    let script = vec![act([click(FIELD)]), act([typing(text)]), done("ok")];
    let cluster = Cluster::start(script).await;
    cluster.world.make_text_field(FIELD);
    // The click is the first change, the text the second.
    cluster.world.rename_from(FIELD, 2, shown);
    let events = cluster.carry_out().await;
    (cluster, events)
}

#[tokio::test]
async fn mismatched_field_text_is_reported_to_the_planner() {
    let (cluster, events) = typed("SPRING10", "Members only").await;
    assert_eq!(
        events.verdicts(),
        [
            EffectVerdict::Confirmed,
            EffectVerdict::Confirmed,
            EffectVerdict::TextDiffers
        ]
    );
    let action = &cluster.world.plans()[2].history[1].actions[0];
    let effect = action.effect.as_ref().unwrap();
    assert_eq!(effect.verdict, Verdict::TextDiffers);
    for text in ["SPRING10", "Members only"] {
        assert!(effect.explanation.contains(text), "{}", effect.explanation);
    }
}

/// Double-clicks or clicks a field that shows `former`, types "new", and returns what the field is found to show then.
async fn typed_over(former: &'static str, count: u8, shown: &'static str) -> Vec<EffectVerdict> {
    typed_over_in(true, former, count, shown).await
}

/// Does so in a field, or in the cell of a table, which is not seen to be one.
async fn typed_over_in(
    is_field: bool,
    former: &'static str,
    count: u8,
    shown: &'static str,
) -> Vec<EffectVerdict> {
    let mut select = click(FIELD);
    if let Action::Click { count: times, .. } = &mut select.action {
        *times = count;
    }
    let cluster = Cluster::start(vec![act([select]), act([typing("new")]), done("ok")]).await;
    if is_field {
        cluster.world.make_text_field(FIELD);
    }
    cluster.world.say(FIELD, former);
    cluster.world.rename_from(FIELD, 2, shown);
    let name = cluster.create().await;
    let events = cluster.follow(&name).await;
    replay::check(&cluster, &name).await;
    events.verdicts()
}

#[tokio::test]
async fn a_field_that_keeps_its_former_text_beside_the_new_one_is_reported() {
    use EffectVerdict::{Confirmed, TextDiffers};

    let expected = [Confirmed, Confirmed, TextDiffers];
    assert_eq!(typed_over("old", 2, "oldnew").await, expected);
    assert_eq!(typed_over("old", 3, "newold").await, expected);
    for (former, count, shown) in [
        ("old", 2, "new"),
        // A label of the field, and a text that was to be appended.
        ("City", 2, "City new"),
        ("old", 1, "oldnew"),
    ] {
        let verdicts = typed_over(former, count, shown).await;
        assert_eq!(verdicts, [Confirmed, Confirmed], "{former}: {shown}");
    }
}

#[tokio::test]
async fn a_cell_that_keeps_its_former_text_beside_the_new_one_is_reported() {
    use EffectVerdict::{Confirmed, TextDiffers};

    let expected = [Confirmed, Confirmed, TextDiffers];
    assert_eq!(typed_over_in(false, "old", 2, "oldnew").await, expected);
    for (count, shown) in [(2, "new"), (2, "old"), (1, "oldnew")] {
        let verdicts = typed_over_in(false, "old", count, shown).await;
        assert_eq!(verdicts, [Confirmed, Confirmed], "{shown}");
    }
}

#[tokio::test]
async fn a_missing_line_of_a_longer_text_is_reported() {
    let text = "Dear Ms Ferreira,\nthe invoice is paid.\nKind regards, Ann Lee";
    let (_, events) = typed(text, "Dear Ms Ferreira,\nKind regards, Ann Lee").await;
    assert_eq!(events.verdicts()[2..], [EffectVerdict::TextDiffers]);
    let flat = "Dear Ms Ferreira, the invoice is paid. Kind regards, Ann Lee";
    let (_, events) = typed(text, flat).await;
    assert_eq!(events.verdicts()[2..], []);
}

#[tokio::test]
async fn nearly_matching_field_text_counts_as_entered() {
    // A character may be misread, and a field may format what it takes.
    for (text, shown) in [
        ("Ann Lee", "Ann Lee"),
        ("Ann Lee", "Ann Leo"),
        ("4111111111111111", "4111 1111 1111 1111"),
        ("secret word", "•••••••••••"),
    ] {
        let (_, events) = typed(text, shown).await;
        let expected = [EffectVerdict::Confirmed, EffectVerdict::Confirmed];
        assert_eq!(events.verdicts(), expected, "{text} as {shown}");
    }
}

#[tokio::test]
async fn a_field_that_was_sent_with_enter_may_show_something_else() {
    for text in ["See you at ten\n", "See you at ten\nor later\n"] {
        let (_, events) = typed(text, "Write a message").await;
        assert_eq!(events.verdicts()[2..], [], "{text:?}");
    }
}

#[tokio::test]
async fn a_field_that_stays_empty_is_reported() {
    let script = || vec![act([click(FIELD)]), act([typing("12a")]), done("ok")];
    for (is_emptied, expected) in [(true, 3), (false, 2)] {
        let cluster = Cluster::start(script()).await;
        cluster.world.make_text_field(FIELD);
        match is_emptied {
            true => cluster.world.empty_field(FIELD),
            // Its text cannot be read, but something is there.
            false => cluster.world.say(FIELD, ""),
        }
        let name = cluster.create().await;
        let events = cluster.follow(&name).await;
        assert_eq!(events.verdicts().len(), expected);
        let last = events.verdicts()[expected - 1];
        assert_eq!(last == EffectVerdict::TextDiffers, is_emptied);
        replay::check(&cluster, &name).await;
    }
}

#[tokio::test]
async fn a_text_is_read_again_before_what_follows_it_in_its_step() {
    for (shown, performed) in [("SPRING10", 3), ("Members only", 2)] {
        let step = act([click(FIELD), typing("SPRING10"), click(2)]);
        let cluster = Cluster::start(vec![step, done("ok")]).await;
        cluster.world.make_text_field(FIELD);
        cluster.world.rename_from(FIELD, 2, shown);
        let name = cluster.create().await;
        cluster.follow(&name).await;
        assert_eq!(cluster.world.done().len(), performed, "{shown}");
        let typed = cluster.world.plans()[1].history[0].actions[1].clone();
        let differs = typed.effect.unwrap().verdict == Verdict::TextDiffers;
        assert_eq!(differs, performed == 2, "{shown}");
        replay::check(&cluster, &name).await;
    }
}

#[tokio::test]
async fn a_text_that_is_lost_when_its_field_is_left_is_no_success() {
    for (later, is_lost) in [("SPRING10", false), ("", true), ("Members only", true)] {
        let script = vec![
            act([click(FIELD), typing("SPRING10")]),
            act([click(2), typing("Ann")]),
            done("ok"),
            done("ok"),
        ];
        let cluster = Cluster::start(script).await;
        cluster.world.make_text_field(FIELD);
        cluster.world.say(FIELD, "SPRING10");
        cluster.world.rename_from(FIELD, 3, later);
        let name = cluster.create().await;
        let events = cluster.follow(&name).await;
        match is_lost {
            true => events.check_failure("EXPECTATION_NOT_MET", "SPRING10"),
            false => assert_eq!(events.answer(), "ok"),
        }
        replay::check(&cluster, &name).await;
    }
}
