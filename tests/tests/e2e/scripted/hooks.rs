//! A hook of a user, in a process of its own, has a say on a real desktop.

use std::collections::BTreeMap;

use motorium_proto::domain::action::Action;
use motorium_proto::domain::decision::PlannedAction;
use motorium_proto::service::PlanRequest;
use motorium_proto::v1::orchestrator::event::Kind;
use motorium_tests::programs::{self, Process};
use motorium_tests::script::{act, click, done, typing};
use motorium_tests::stage::Stage;

use super::task;

/// Nowhere else on the screen.
const SECRET: &str = "sesame";

/// The hook, and where it is.
async fn guard() -> (Process, String) {
    let program = env!("CARGO_BIN_EXE_guard-hook");
    let mut process = Process::start(programs::command(program, &BTreeMap::new()));
    let output = process.stdout.clone();
    let address = |line: &str| line.starts_with("http://").then(|| line.to_owned());
    let address = process
        .line("the address of the hook", &output, address)
        .await;
    (process, address)
}

fn open_editor() -> PlannedAction {
    PlannedAction {
        action: Action::OpenApplication {
            name: "editor".to_owned(),
        },
        intent: "open the editor".to_owned(),
        verify_pointer: false,
        repeatable: false,
    }
}

/// Whether the planner could read it.
fn shows_secret(request: &PlanRequest) -> bool {
    let elements = request.scene.elements.iter();
    let texts = elements.map(|element| &element.content);
    let titles = request.frame.windows.iter().map(|window| &window.title);
    texts.chain(titles).any(|text| text.contains(SECRET))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hook_in_another_process_denies_a_click_and_hides_a_window() {
    let mut stage = Stage::start().await;
    let (mut hook, address) = guard().await;
    let hooks =
        format!(r#"orchestrator.hooks=[{{kind="service",name="guard",address="{address}"}}]"#);
    // Typing into a field without a name would want approval.
    let settings = [hooks.as_str(), "orchestrator.rules=free"];
    stage.services.restart_orchestrator(&settings).await;

    let told = stage
        .carry_out(task("finish"), [act(click("Finish")), done("left")])
        .await;
    assert_eq!(stage.presses(), [], "{}", told.story.text());
    let notices = told.asked[1].notices.join("\n");
    assert!(
        notices.contains("the hook guard denies it: a person finishes"),
        "{notices}"
    );
    let denied = told.story.all(|kind| match kind {
        Kind::HookIntervened(event) if event.denied => Some(event.point.clone()),
        _ => None,
    });
    assert_eq!(denied, ["BEFORE_ACTION"]);

    let decisions = [act(open_editor()), act(typing(SECRET)), done("written")];
    let told = stage.carry_out(task("write it down"), decisions).await;
    stage.keep_pictures("hidden-window", &told.story).await;
    let last = told.asked.last().unwrap();
    let windows = &last.frame.windows;
    let editor = windows
        .iter()
        .find(|window| window.application.eq_ignore_ascii_case("mousepad"));
    assert!(editor.is_some(), "the editor is open: {windows:?}");
    assert!(!shows_secret(last), "what is hidden is not read");

    // Without the hook it can be read: it was there all the time.
    hook.kill();
    let settings = ["orchestrator.rules=free"];
    stage.services.restart_orchestrator(&settings).await;
    let told = stage.carry_out(task("read it"), [done("read")]).await;
    assert!(shows_secret(&told.asked[0]), "{:?}", told.asked[0].scene);
}
