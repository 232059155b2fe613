//! Files that are saved and chosen through the dialogs of a browser: success means that the file is there.

use motorium_tests::desktop::TestDesktop;
use motorium_tests::page_server::PageServer;
use motorium_tests::programs::ProgramResult;
use motorium_tests::services::{AllInOne, TestSetup};

/// Preferences of a browser that asks where a file is to be saved.
const ASKING: &str = r#"{"download": {"prompt_for_download": true}}"#;

/// Asserts that a task claims success exactly if its effect is there. Otherwise it names the dialog that is left, or says that it has
/// closed without the file, or leaves it to a person (exit code 3).
///
/// Not every dialog of this browser accepts a name with Enter, so both happen.
#[track_caller]
fn assert_true_claim(ended: &ProgramResult, effect: bool, dialog: &str) {
    let output = format!("{}\n{}", ended.stdout, ended.stderr);
    assert_eq!(ended.code == Some(0), effect, "{output}");
    let names_dialog = output.contains(&format!("\"{dialog}\" is still open"));
    let names_file = output.contains("the dialog closed without choosing");
    let is_explained = names_dialog || names_file || ended.code == Some(3);
    assert!(effect || is_explained, "{output}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dialog_is_carried_through_to_its_file() {
    let mut desktop = TestDesktop::start().await;
    let profile = desktop.path("browser/Default");
    std::fs::create_dir_all(&profile).unwrap();
    std::fs::write(profile.join("Preferences"), ASKING).unwrap();
    let attachment = desktop.path("receipt.txt");
    std::fs::write(&attachment, "paid").unwrap();
    // What the path begins like: the dialog completes it to a list, which the first Enter closes.
    std::fs::write(desktop.path("receipts.txt"), "all").unwrap();
    let saved = desktop.path("mine.csv");
    let site = PageServer::serve().await;
    site.show("files.html", &mut desktop).await;
    let up = AllInOne::start(TestSetup::on(&desktop), &[]).await;

    let download = |accept: &str| {
        let name = saved.display();
        format!("click \"Download report\" then press ctrl+a then type \"{name}\" then {accept}")
    };
    let run = ["run", "--server", &up.url, &download("press Enter")];
    let ended = up.setup.motorium(&run).await;
    assert_true_claim(&ended, saved.exists(), "Save File");
    if !saved.exists() {
        // Closes the dialog if it is left.
        let cancel = ["run", "--server", &up.url, "press Escape"];
        up.setup.motorium(&cancel).await;
        let run = ["run", "--server", &up.url, &download("click \"Save\"")];
        let ended = up.setup.motorium(&run).await;
        assert_true_claim(&ended, saved.exists(), "Save File");
    }
    assert!(saved.exists(), "a click on its button saves the file");
    let is_chosen = || {
        let mut inputs = site.inputs().into_iter();
        inputs.any(|event| event.text == "receipt.txt")
    };
    // The dialog closes at Enter, without the file.
    for accept in [
        "press Enter",
        // Not the last clause, and after it a text is waited for that was there before.
        "press Enter, wait until \"chosen\" appears",
        "click \"Open\"",
    ] {
        let choose = format!(
            "click \"Choose File\", then type \"{}\" then {accept}",
            attachment.display()
        );
        let run = ["run", "--server", &up.url, &choose];
        let ended = up.setup.motorium(&run).await;
        assert_true_claim(&ended, is_chosen(), "Open File");
    }
    assert!(is_chosen(), "a click on its button chooses the file");
}

/// The browser asks before unsaved changes are lost, and its answer is the user's.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_with_unsaved_changes_is_not_left_unasked() {
    let mut desktop = TestDesktop::start().await;
    let site = PageServer::serve().await;
    site.show("misleading.html?kind=unsaved&seed=3", &mut desktop)
        .await;
    let up = AllInOne::start(
        TestSetup::on(&desktop),
        &["--set=orchestrator.policy=careful"],
    )
    .await;
    let goal = "type \"a note\" into \"Draft\" then refresh the page";
    let run = ["run", "--server", &up.url, goal];
    let ended = up.setup.motorium(&run).await;
    let output = format!("{}\n{}", ended.stdout, ended.stderr);
    assert_eq!(ended.code, Some(3), "{output}");
    // The page has a window of its own, as an application has.
    assert!(output.contains("Reload app?"), "{output}");
    // Whatever answers it, a person allows what throws work away.
    for (answer, code) in [("Reload", 3), ("Cancel", 0)] {
        let goal = format!("click \"{answer}\"");
        let answer = ["run", "--server", &up.url, &goal];
        let ended = up.setup.motorium(&answer).await;
        assert_eq!(ended.code, Some(code), "{ended:?}");
    }
}
