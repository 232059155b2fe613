//! Clicks on controls that answer late, or never: none is clicked again while its answer may still come, and a look under the
//! pointer is not taken for an answer.

use std::collections::BTreeMap;

use motorium_proto::v1::common::EffectVerdict;
use motorium_tests::scripted_planner::{act, click, done};
use motorium_tests::tasks;
use motorium_tests::testbed::{TaskRun, Testbed};

use super::task;

/// Clicks these buttons in order, a step each.
async fn click_all(stage: &mut Testbed, names: &[&str]) -> TaskRun {
    stage.site.reload_page().await;
    let decisions = names.iter().map(|name| act(click(name)));
    let run = stage
        .run_task(task("click"), decisions.chain([done("all are clicked")]))
        .await;
    stage
        .save_screenshots(&format!("late-{}", names[0]), &run.events)
        .await;
    stage.assert_clicks_match(&run.events).await;
    run
}

/// Returns the number of clicks that each button received.
fn click_counts(stage: &Testbed) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for entry in stage.site.inputs() {
        if entry.kind == "click" {
            *counts.entry(entry.target).or_default() += 1;
        }
    }
    counts
}

fn is_effect(verdict: EffectVerdict) -> bool {
    matches!(
        verdict,
        EffectVerdict::Confirmed | EffectVerdict::ChangedElsewhere
    )
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_button_that_answers_late_is_clicked_once() {
    let mut stage = Testbed::start_with_page("late.html").await;

    // Within the no-effect window of a click, which is a second. The last two are clicked a second time: one with the pointer
    // elsewhere meanwhile, one with the pointer already there.
    let names = [
        "Amber", "Birch", "Cedar", "Damson", "Elder", "Fennel", "Ginger", "Hazel", "Juniper",
        "Saffron", "Sorrel", "Walnut", "Willow", "Yarrow", "Acacia", "Clover", "Basil", "Fennel",
        "Aster", "Aster",
    ];
    let run = click_all(&mut stage, &names).await;
    assert_eq!(run.events.retry_strategies(), [], "\n{}", run.events.text());
    assert!(
        run.events.verdicts().into_iter().all(is_effect),
        "\n{}",
        run.events.text()
    );
    let counts = click_counts(&stage);
    assert_eq!((counts["fennel"], counts["aster"]), (2, 2));
    assert_eq!(counts.values().sum::<usize>(), names.len(), "{counts:?}");

    // Beyond it: a longer look first, then one more click at most, and the answer is found. The last opens a tab, which covers the others.
    let names = [
        "Lavender", "Mulberry", "Nutmeg", "Orchid", "Zinnia", "Borage", "Tansy",
    ];
    let run = click_all(&mut stage, &names).await;
    let counts = click_counts(&stage);
    assert!(counts.values().all(|count| *count <= 2), "{counts:?}");
    assert_eq!(counts["lavender"], 1, "it answers during the longer look");
    assert_eq!(
        counts["orchid"], 1,
        "the highlight shows that the click arrived"
    );
    assert_eq!(
        (counts["nutmeg"], counts["zinnia"]),
        (1, 1),
        "their pressed looks show that as well"
    );
    assert_eq!(counts["borage"], 1, "a second click would undo the first");
    assert_eq!(counts["tansy"], 1, "one tab is opened");
    let found = run
        .events
        .verdicts()
        .into_iter()
        .filter(|verdict| is_effect(*verdict));
    assert_eq!(found.count(), names.len(), "\n{}", run.events.text());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hover_look_is_no_effect_but_a_toggle_is() {
    let mut stage = Testbed::start_with_page("late.html").await;
    let run = click_all(&mut stage, &["Pepper", "Quince", "Rosemary"]).await;
    assert_eq!(
        run.events.verdicts(),
        [
            EffectVerdict::NoEffect,
            EffectVerdict::NoEffect,
            EffectVerdict::Confirmed
        ],
        "\n{}",
        run.events.text()
    );
    assert_eq!(run.events.retry_strategies(), [], "\n{}", run.events.text());
    assert!(click_counts(&stage).values().all(|count| *count == 1));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn notice_that_passes_beside_a_hover_look_is_no_effect() {
    let mut stage = Testbed::start_with_page("late.html").await;
    let run = click_all(&mut stage, &["Umber"]).await;
    // On a busy machine the notice may be gone at the first look.
    let last = run.events.verdicts().pop();
    assert_eq!(
        last,
        Some(EffectVerdict::NoEffect),
        "\n{}",
        run.events.text()
    );
    let (reason, _) = run.events.failure();
    assert_eq!(reason, "EXPECTATION_NOT_MET", "\n{}", run.events.text());
    assert_eq!(click_counts(&stage)["umber"], 1);

    // A toggle that the notice came beside has changed itself.
    let run = click_all(&mut stage, &["Violet"]).await;
    assert!(run.events.verdicts().into_iter().all(is_effect));
    assert!(tasks::answer(&run.events.0).starts_with("all are clicked"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_that_moves_under_a_click_is_not_its_effect() {
    let mut stage = Testbed::start_with_page("shifting.html").await;
    stage.site.send_command("focus").await;
    let run = stage
        .run_task(task("save"), [act(click("Save")), done("it is saved")])
        .await;
    stage.save_screenshots("shifting-save", &run.events).await;
    assert_eq!(
        run.events.verdicts(),
        [EffectVerdict::TargetMoved],
        "\n{}",
        run.events.text()
    );
    assert_eq!(run.events.retry_strategies(), []);
    let saved = stage.site.inputs().into_iter();
    let saved = saved.filter(|entry| entry.kind == "click" && entry.target == "save");
    assert_eq!(saved.count(), 0, "the button had moved away from the click");

    // What a button inserts above itself is its effect.
    let run = stage
        .run_task(task("more"), [act(click("More")), done("there is more")])
        .await;
    stage.save_screenshots("shifting-more", &run.events).await;
    let verdicts = run.events.verdicts();
    assert!(
        matches!(verdicts[..], [verdict] if is_effect(verdict)),
        "\n{}",
        run.events.text()
    );
}
