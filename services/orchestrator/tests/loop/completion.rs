//! Claims of success are verified.

use bytes::Bytes;
use motorium_proto::domain::action::Action;
use motorium_proto::domain::decision::{Next, PlannedAction};
use motorium_proto::domain::key::Key;
use motorium_proto::error::ErrorReport;
use motorium_proto::v1::common::EffectVerdict;
use motorium_proto::v1::orchestrator as wire;
use motorium_proto::v1::orchestrator::expectation::Expectation;
use tonic::Code;

use crate::replay;
use crate::support::cluster::Cluster;
use crate::support::script::{act, click, done, done_because};
use crate::support::task_events::TaskEvents;

fn extract() -> Next {
    Next::Extract {
        json_schema: "{}".to_owned(),
        instruction: "all prices".to_owned(),
    }
}

fn with_expectation(expectation: Expectation) -> wire::Task {
    wire::Task {
        expectations: vec![wire::Expectation {
            expectation: Some(expectation),
        }],
        ..wire::Task::default()
    }
}

fn expecting(json: &str) -> wire::Task {
    with_expectation(Expectation::ExtractedJson(json.to_owned()))
}

/// Returns a task that wants this text on the screen.
pub(crate) fn expecting_text(text: &str) -> wire::Task {
    with_expectation(Expectation::TextOnScreen(text.to_owned()))
}

/// Asserts that an expected text is not found on a screen with these labels.
async fn check_not_shown(labels: [&'static str; 2], expected: &str) {
    let cluster = Cluster::start(vec![done("saved"), done("saved")]).await;
    cluster.world.say(1, labels[0]);
    cluster.world.say(2, labels[1]);
    let story = cluster.carry_out_with(expecting_text(expected)).await;
    story.check_failure("EXPECTATION_NOT_MET", "is not on the screen");
}

#[tokio::test]
async fn an_expected_text_is_neither_a_part_of_a_word_nor_gathered_from_several_buttons() {
    check_not_shown(["Unsaved changes", "Save"], "saved").await;
    check_not_shown(["Not yet", "saved today"], "yet saved").await;
}

#[tokio::test]
async fn evidence_is_read_with_a_few_misread_letters_but_not_in_other_words() {
    for (shown, evidence, is_believed) in [
        ("Settlngs", "Settings", true),
        ("Saved", "Save", false),
        ("Unsaved changes", "saved", false),
    ] {
        let claim = || done_because("done", evidence);
        let cluster = Cluster::start(vec![claim(), claim()]).await;
        cluster.world.say(3, shown);
        let story = cluster.carry_out().await;
        match is_believed {
            true => assert_eq!(story.answer(), "done", "{shown}"),
            false => story.check_failure("EXPECTATION_NOT_MET", evidence),
        }
    }
}

#[tokio::test]
async fn an_address_that_the_browser_shows_is_no_evidence_for_its_page() {
    for (shown, is_believed) in [
        ("example.org/welcome", false),
        ("example.org's server IP address could not be found.", false),
        ("Welcome to the Example Domain", true),
    ] {
        let open = || {
            let url = "https://example.org/welcome".to_owned();
            act([PlannedAction {
                action: Action::OpenUrl { url },
                intent: "open the page".to_owned(),
                verify_pointer: false,
                repeatable: false,
            }])
        };
        let claim = || done_because("it is open", "Example");
        let cluster = Cluster::start(vec![open(), claim(), claim()]).await;
        cluster.world.show_page("https://example.org/welcome");
        cluster.world.say(3, shown);
        let story = cluster.carry_out().await;
        match is_believed {
            true => assert_eq!(story.answer(), "it is open", "{shown}"),
            false => story.check_failure("EXPECTATION_NOT_MET", "Example"),
        }
    }
}

#[tokio::test]
async fn one_letter_on_the_screen_is_no_evidence() {
    let claim = || done_because("it is 7", "7");
    let cluster = Cluster::start(vec![act([click(1)]), claim(), claim()]).await;
    cluster.world.say(3, "7");
    cluster.world.decide_by_model("m");
    assert_eq!(cluster.carry_out().await.answer(), "it is 7");
    let notices = &cluster.world.plans()[2].notices;
    assert!(notices[0].contains("name a text"), "{notices:?}");
}

#[tokio::test]
async fn a_file_of_an_earlier_task_is_no_success() {
    let cluster = Cluster::start(vec![done("saved"), done("saved")]).await;
    cluster.world.add_old_file("report.txt", b"old");
    let task = with_expectation(Expectation::FileExists("report.txt".to_owned()));
    let story = cluster.carry_out_with(task).await;
    story.check_failure("EXPECTATION_NOT_MET", "report.txt");
    story.check_failure("EXPECTATION_NOT_MET", "is older than this task");
}

#[tokio::test]
async fn a_file_of_an_earlier_task_is_no_result_unless_it_is_attached() {
    let cluster = Cluster::start(vec![done("saved")]).await;
    cluster.world.add_old_file("secret.pdf", b"of another task");
    cluster.world.add_old_file("form.txt", b"of another task");
    let task = wire::Task {
        attachments: vec![wire::Attachment {
            name: "form.txt".to_owned(),
            data: Bytes::from_static(b"of this task"),
            ..wire::Attachment::default()
        }],
        results: vec!["secret.pdf".to_owned(), "form.txt".to_owned()],
        ..wire::Task::default()
    };
    let name = cluster.create_with(task).await;
    cluster.follow(&name).await.answer();
    let files = cluster.get(&name).await.result_files;
    let [secret, form] = &files[..] else {
        panic!("{files:?}");
    };
    assert_eq!(secret.artifact, None, "nothing of it is handed out");
    let problem = &secret.error;
    assert!(problem.contains("older than this task"), "{problem}");
    let artifact = &form.artifact.as_ref().unwrap().name;
    let (_, content) = cluster.client().get_artifact(artifact).await.unwrap();
    assert_eq!(content.as_ref(), b"of this task");
}

#[tokio::test]
async fn evidence_is_looked_for_on_the_last_screen() {
    let cluster = Cluster::start(vec![done_because("seen", "Button 3")]).await;
    let story = cluster.carry_out().await;
    assert_eq!(story.answer(), "seen");
    assert_eq!(story.count("completion_checked"), 1);
}

#[tokio::test]
async fn a_false_claim_goes_back_once_and_then_the_task_fails() {
    let claim = || done_because("done", "the text \"Thank you\" is shown");
    let cluster = Cluster::start(vec![claim(), act([click(1)]), claim()]).await;
    let story = cluster.carry_out().await;
    story.check_failure("EXPECTATION_NOT_MET", "Thank you");
    let notices = &cluster.world.plans()[1].notices;
    assert!(notices[0].contains("Thank you"), "{notices:?}");
    assert_eq!(cluster.world.done().len(), 1);
}

#[tokio::test]
async fn evidence_is_not_looked_for_where_that_is_configured() {
    let cluster = Cluster::start_with(vec![done_because("done", "Thank you")], |settings| {
        settings.verify_evidence = false;
    })
    .await;
    assert_eq!(cluster.carry_out().await.answer(), "done");
}

#[tokio::test]
async fn success_without_evidence_requires_a_second_look() {
    let named = || done_because("sent", "Button 3");
    let cluster = Cluster::start(vec![act([click(1)]), done("sent"), named()]).await;
    cluster.world.decide_by_model("m");
    let story = cluster.carry_out().await;
    assert_eq!(story.answer(), "sent");
    assert_eq!(story.count("completion_checked"), 2);
    let notices = &cluster.world.plans()[2].notices;
    assert!(notices[0].contains("Look at the screen"), "{notices:?}");
    assert!(notices[0].contains("name a text"), "{notices:?}");
}

#[tokio::test]
async fn a_claim_may_be_repeated_without_evidence_if_the_last_action_had_an_effect() {
    let cluster = Cluster::start(vec![act([click(1)]), done("sent"), done("sent")]).await;
    cluster.world.decide_by_model("m");
    let story = cluster.carry_out().await;
    assert_eq!(story.answer(), "sent");
    assert_eq!(cluster.world.plans().len(), 3);
}

#[tokio::test]
async fn success_after_an_ineffective_action_is_rejected() {
    let cluster = Cluster::start(vec![act([click(1)]), done("sent"), done("sent")]).await;
    cluster.world.decide_by_model("m");
    cluster.world.ignore_actions(9);
    let story = cluster.carry_out().await;
    story.check_failure("EXPECTATION_NOT_MET", "had no visible effect");
    let notices = &cluster.world.plans()[2].notices;
    assert!(notices[0].contains("had no visible effect"), "{notices:?}");
}

#[tokio::test]
async fn text_from_before_an_action_without_effect_is_no_evidence_for_it() {
    for evidence in ["Button 3", "the text \"Button 3\" is shown"] {
        let named = || done_because("sent", evidence);
        let cluster = Cluster::start(vec![act([click(1)]), named(), named()]).await;
        cluster.world.decide_by_model("m");
        cluster.world.ignore_actions(9);
        let name = cluster.create().await;
        let story = cluster.follow(&name).await;
        story.check_failure("EXPECTATION_NOT_MET", "had no visible effect");
        let notices = &cluster.world.plans()[2].notices;
        assert!(notices[0].contains("had no visible effect"), "{notices:?}");
        assert!(notices[0].contains("was not there before"), "{notices:?}");
        replay::check(&cluster, &name).await;
    }
}

/// A copy shows nothing where it works.
#[tokio::test]
async fn text_from_before_a_copy_is_evidence_for_it() {
    let copy = PlannedAction {
        action: Action::KeyChord {
            keys: vec![Key::Control, Key::Character('c')],
            repeat: 1,
        },
        intent: "copy the number".to_owned(),
        verify_pointer: false,
        repeatable: false,
    };
    let named = || done_because("copied", "Button 3");
    let cluster = Cluster::start(vec![act([copy]), named(), named()]).await;
    cluster.world.decide_by_model("m");
    cluster.world.ignore_actions(9);
    assert_eq!(cluster.carry_out().await.answer(), "copied");
}

/// A second look at what one action did says nothing about the next one.
#[tokio::test]
async fn each_action_is_looked_at_a_second_time() {
    let script = vec![
        act([click(1)]),
        done("opened"),
        act([click(2)]),
        done("sent"),
        done_because("sent indeed", "Button 3"),
    ];
    let cluster = Cluster::start(script).await;
    cluster.world.decide_by_model("m");
    let name = cluster.create().await;
    let story = cluster.follow(&name).await;
    assert_eq!(story.answer(), "sent indeed");
    assert_eq!(cluster.world.plans().len(), 5);
    assert_eq!(story.count("completion_checked"), 3);
    replay::check(&cluster, &name).await;
}

#[tokio::test]
async fn success_without_evidence_after_an_effect_that_nothing_tells_is_rejected() {
    let cluster = Cluster::start(vec![act([click(1)]), done("sent"), done("sent")]).await;
    cluster.world.decide_by_model("m");
    cluster.world.animate(1);
    cluster.world.ignore_actions(9);
    let story = cluster.carry_out().await;
    assert_eq!(story.verdicts(), [EffectVerdict::Unknown]);
    story.check_failure("EXPECTATION_NOT_MET", "background motion");
    // A text that was there before the action is no evidence of it.
    let named = || done_because("sent", "Button 3");
    let cluster = Cluster::start(vec![act([click(1)]), named(), named()]).await;
    cluster.world.decide_by_model("m");
    cluster.world.animate(1);
    cluster.world.ignore_actions(9);
    let story = cluster.carry_out().await;
    story.check_failure("EXPECTATION_NOT_MET", "background motion");
}

/// Clicks a dead button while a notice pops up elsewhere, which is gone once a second decision was asked for, or stays.
async fn click_beside_a_notice(
    is_passing: bool,
    script: Option<Vec<Next>>,
) -> (Cluster, String, TaskEvents) {
    click_beside("New message", is_passing, script).await
}

/// The same with another notice.
async fn click_beside(
    notice: &'static str,
    is_passing: bool,
    script: Option<Vec<Next>>,
) -> (Cluster, String, TaskEvents) {
    let with_phrasebook = script.is_none();
    let cluster = Cluster::start(script.unwrap_or_default()).await;
    match with_phrasebook {
        true => cluster.world.use_phrasebook(),
        false => cluster.world.decide_by_model("m"),
    }
    cluster.world.pop_up(7, notice, is_passing.then_some(2));
    cluster.world.ignore_actions(9);
    let task = wire::Task {
        goal: "click \"Button 1\"".to_owned(),
        ..wire::Task::default()
    };
    let name = cluster.create_with(task).await;
    let story = cluster.follow(&name).await;
    replay::check(&cluster, &name).await;
    (cluster, name, story)
}

#[tokio::test]
async fn a_notice_that_came_and_went_is_no_effect_of_a_dead_button() {
    use EffectVerdict::{ChangedElsewhere, NoEffect};

    let (_, _, story) = click_beside_a_notice(true, None).await;
    assert_eq!(story.verdicts(), [ChangedElsewhere, NoEffect]);
    story.check_failure("EXPECTATION_NOT_MET", "had no visible effect");

    let claims = vec![act([click(1)]), done("sent"), done("sent")];
    let (cluster, _, story) = click_beside_a_notice(true, Some(claims)).await;
    assert_eq!(story.verdicts(), [ChangedElsewhere, NoEffect]);
    story.check_failure("EXPECTATION_NOT_MET", "had no visible effect");
    let notices = &cluster.world.plans()[2].notices;
    let is_explained = notices[0].contains("changed elsewhere and was as before again");
    assert!(is_explained, "{notices:?}");
}

#[tokio::test]
async fn a_message_that_the_action_failed_is_no_success() {
    let refusal = "Could not save: the server does not answer";
    for is_passing in [true, false] {
        let (_, _, story) = click_beside(refusal, is_passing, None).await;
        story.check_failure("EXPECTATION_NOT_MET", refusal);
    }

    let claims = || vec![act([click(1)]), done("saved"), done("saved")];
    let (cluster, _, story) = click_beside(refusal, false, Some(claims())).await;
    story.check_failure("EXPECTATION_NOT_MET", "Could not save");
    let notices = &cluster.world.plans()[2].notices;
    assert!(notices[0].contains("Could not save"), "{notices:?}");

    // Wanted by whoever names it as the evidence.
    let claims = vec![act([click(1)]), done_because("refused", "Could not save")];
    let (_, _, story) = click_beside(refusal, false, Some(claims)).await;
    assert_eq!(story.answer(), "refused");
}

#[tokio::test]
async fn a_message_that_the_action_is_done_counts_although_it_passes() {
    for reply in ["Your message was sent", "Button 1 is on"] {
        let (_, _, story) = click_beside(reply, true, None).await;
        let answer = story.answer();
        assert!(answer.contains(reply), "{answer}");
    }
}

#[tokio::test]
async fn an_answer_says_that_only_the_look_of_the_target_has_changed() {
    for (changes_beside, expected) in [(true, false), (false, true)] {
        let cluster = Cluster::start(vec![]).await;
        cluster.world.use_phrasebook();
        if !changes_beside {
            cluster.world.change_only_targets();
        }
        let task = wire::Task {
            goal: "click \"Button 1\"".to_owned(),
            ..wire::Task::default()
        };
        let name = cluster.create_with(task).await;
        let answer = cluster.follow(&name).await.answer().to_owned();
        assert_eq!(answer.contains("looks different"), expected, "{answer}");
        replay::check(&cluster, &name).await;
    }
}

#[tokio::test]
async fn an_answer_names_the_change_elsewhere_that_it_rests_on() {
    let (_, _, story) = click_beside_a_notice(false, None).await;
    assert_eq!(story.verdicts(), [EffectVerdict::ChangedElsewhere]);
    let answer = story.answer();
    assert!(
        answer.contains("where \"New message\" appeared"),
        "{answer}"
    );

    let old = || done_because("sent", "Button 3");
    let claims = vec![act([click(1)]), old(), old()];
    let (cluster, _, story) = click_beside_a_notice(false, Some(claims)).await;
    assert_eq!(
        cluster.world.plans().len(),
        3,
        "an old text is looked at twice"
    );
    let answer = story.answer();
    assert!(
        answer.starts_with("sent (") && answer.contains("New message"),
        "{answer}"
    );

    // A model that names the new text itself needs no second look, also if the text passes.
    for is_passing in [true, false] {
        let claims = vec![act([click(1)]), done_because("sent", "New message")];
        let (_, _, story) = click_beside_a_notice(is_passing, Some(claims)).await;
        assert_eq!(story.answer(), "sent");
        assert_eq!(story.verdicts(), [EffectVerdict::ChangedElsewhere]);
    }
}

#[tokio::test]
async fn label_of_an_ineffective_click_is_not_evidence() {
    let named = || done_because("sent", "Button 1");
    let cluster = Cluster::start(vec![act([click(1)]), named(), named()]).await;
    cluster.world.decide_by_model("m");
    cluster.world.ignore_actions(9);
    let story = cluster.carry_out().await;
    story.check_failure("EXPECTATION_NOT_MET", "had no visible effect");
}

#[tokio::test]
async fn a_click_whose_target_moved_is_looked_at_again() {
    let cluster = Cluster::start(vec![act([click(1)]), done("sent"), done("sent")]).await;
    cluster.world.decide_by_model("m");
    cluster.world.shift();
    let story = cluster.carry_out().await;
    story.check_failure("EXPECTATION_NOT_MET", "moved");
}

#[tokio::test]
async fn a_second_look_may_be_switched_off() {
    let cluster = Cluster::start_with(vec![done("sent")], |settings| {
        settings.second_look = false;
    })
    .await;
    cluster.world.decide_by_model("m");
    assert_eq!(cluster.carry_out().await.answer(), "sent");
    assert_eq!(cluster.world.plans().len(), 1);
}

#[tokio::test]
async fn extracted_data_can_fulfil_an_expectation() {
    let cluster = Cluster::start(vec![extract(), done("taken")]).await;
    cluster
        .world
        .extract(Ok(r#"{"prices": [3, 5], "currency": "EUR"}"#));
    let story = cluster
        .carry_out_with(expecting(r#"{"prices": [5]}"#))
        .await;
    assert_eq!(story.answer(), "taken");
    assert_eq!(story.count("extracted"), 1);
    let extracted = cluster.world.plans()[1].history[0].extracted_json.clone();
    assert!(extracted.unwrap().contains("EUR"));
    let task = cluster.get(&story.0[0].task).await;
    assert_eq!(task.usage.unwrap().input_tokens, Some(500));
}

#[tokio::test]
async fn data_that_was_not_extracted_is_missing() {
    let cluster = Cluster::start(vec![extract(), done("taken"), done("taken")]).await;
    cluster.world.extract(Ok(r#"{"prices": []}"#));
    let story = cluster
        .carry_out_with(expecting(r#"{"prices": [5]}"#))
        .await;
    story.check_failure("EXPECTATION_NOT_MET", "nothing was extracted that has");
}

#[tokio::test]
async fn failed_extraction_is_reported_to_the_planner() {
    let cluster = Cluster::start(vec![extract(), done("anyway")]).await;
    let report = ErrorReport::new(Code::NotFound, "NOTHING_FOUND", "there are no prices");
    cluster.world.extract(Err(report));
    let story = cluster.carry_out().await;
    assert_eq!(story.answer(), "anyway");
    let notices = &cluster.world.plans()[1].notices;
    assert!(notices[0].contains("there are no prices"), "{notices:?}");
}
