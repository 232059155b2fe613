//! A user's hook in its own process, on a real desktop.

use std::collections::BTreeMap;

use motorium_proto::domain::action::Action;
use motorium_proto::domain::decision::PlannedAction;
use motorium_proto::service::PlanRequest;
use motorium_proto::v1::orchestrator::event::Kind;
use motorium_tests::programs::{self, Process};
use motorium_tests::scripted_planner::{act, click, done, typing};
use motorium_tests::testbed::Testbed;

use super::task;

/// A text that is nowhere else on the screen.
const SECRET: &str = "sesame";

/// Starts the hook; returns its process and URL.
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

/// Returns whether the request to the planner contains the secret.
fn shows_secret(request: &PlanRequest) -> bool {
    let elements = request.scene.elements.iter();
    let texts = elements.map(|element| &element.content);
    let titles = request.frame.windows.iter().map(|window| &window.title);
    texts.chain(titles).any(|text| text.contains(SECRET))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hook_in_another_process_denies_a_click_and_hides_a_window() {
    let mut stage = Testbed::start().await;
    let (mut hook, address) = guard().await;
    let hooks =
        format!(r#"orchestrator.hooks=[{{kind="service",name="guard",address="{address}"}}]"#);
    // The default policy would require approval for typing into a field without a name.
    let settings = [hooks.as_str(), "orchestrator.policy=free"];
    stage.services.restart_orchestrator(&settings).await;

    let run = stage
        .run_task(task("finish"), [act(click("Finish")), done("left")])
        .await;
    assert_eq!(stage.presses(), [], "{}", run.events.text());
    let notices = run.plan_requests[1].notices.join("\n");
    assert!(
        notices.contains("denied by the hook guard: a person finishes"),
        "{notices}"
    );
    let denied = run.events.filter_map(|kind| match kind {
        Kind::HookIntervened(event) if event.denied => Some(event.point.clone()),
        _ => None,
    });
    assert_eq!(denied, ["BEFORE_ACTION"]);

    let decisions = [act(open_editor()), act(typing(SECRET)), done("written")];
    let run = stage.run_task(task("write it down"), decisions).await;
    stage.save_screenshots("hidden-window", &run.events).await;
    let last = run.plan_requests.last().unwrap();
    let windows = &last.frame.windows;
    let editor = windows
        .iter()
        .find(|window| window.application.eq_ignore_ascii_case("mousepad"));
    assert!(editor.is_some(), "the editor is open: {windows:?}");
    assert!(!shows_secret(last), "redacted content is not recognised");

    // Without the hook the text is recognised: it was on the screen all along.
    hook.kill();
    let settings = ["orchestrator.policy=free"];
    stage.services.restart_orchestrator(&settings).await;
    let run = stage.run_task(task("read it"), [done("read")]).await;
    assert!(
        shows_secret(&run.plan_requests[0]),
        "{:?}",
        run.plan_requests[0].scene
    );
}
