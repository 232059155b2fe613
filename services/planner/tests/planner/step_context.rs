//! Every backend with a model is told the same about a step, in the words of its own prompt.

use std::time::Duration;

use motorium_planner::backends::degraded_features::DegradedFeatures;
use motorium_planner::backends::dialect::{Dialect, StepContext};
use motorium_planner::models::ModelTable;
use motorium_planner::prompt::Prompts;
use motorium_planner::screenshot::RequestImages;
use motorium_proto::domain::decision::{PastStep, RemainingLimits};
use motorium_proto::service::PlanRequest;

use crate::kinds;
use crate::request::{request, solid_screenshot};

/// A browser and an editor.
const SCREEN: &str = r#"
    window 0,0 1000x800 "Start - Mozilla Firefox" active
    window 0,0 500x400 "letter.txt - Mousepad"
    button 20,40 80x30 "Save"
"#;

/// Returns a request at step 3 with everything that a task can tell, but no functions: some backends do not take them.
fn under_way(goal: &str) -> PlanRequest {
    let step = |number| PastStep {
        step: number,
        ..PastStep::default()
    };
    PlanRequest {
        image: Some(solid_screenshot(40)),
        instructions: "Never overwrite a file.".to_owned(),
        history: vec![step(1), step(2)],
        user_messages: vec!["Call it report.".to_owned()],
        remaining: RemainingLimits {
            steps: Some(7),
            time: Some(Duration::from_secs(95)),
            ..RemainingLimits::default()
        },
        notices: vec!["The last claim was refused.".to_owned()],
        applications: vec!["Files".to_owned(), "Calculator".to_owned()],
        current_url: Some("https://shop.example/cart".to_owned()),
        ..request(goal, SCREEN)
    }
}

/// Returns the request that a dialect sends to its model, as text.
pub(crate) fn sent(dialect: &dyn Dialect, model: &str, request: &PlanRequest) -> String {
    let model = ModelTable::default().get(model, dialect.api());
    let (images, prompts) = (RequestImages::of(request), Prompts::built_in().unwrap());
    let step = StepContext {
        request,
        model: &model,
        images: &images,
        prompts: &prompts,
        degraded: DegradedFeatures::default(),
    };
    let asked = dialect.build_request(&step).unwrap();
    serde_json::to_string(&asked.body).unwrap()
}

#[test]
fn every_backend_gets_the_same_step_context() {
    let both = [
        "Never overwrite a file.",
        "Call it report.",
        "The last claim was refused.",
        "Calculator",
        "https://shop.example/cart",
        "letter.txt - Mousepad",
    ];
    let english = [
        "save the file",
        "step 3",
        "7 steps, 95 seconds",
        "(active)",
        "Go to an address",
    ];
    let chinese = [
        "保存文件",
        "第 3 步",
        "7 步、95 秒",
        "（当前窗口）",
        "浏览器",
    ];
    for (dialect, model) in kinds::all() {
        for (goal, own) in [
            ("save the file", english.as_slice()),
            ("保存文件", &chinese),
        ] {
            let body = sent(dialect.as_ref(), model, &under_way(goal));
            for text in both.iter().chain(own) {
                assert!(body.contains(text), "{}: {text}\n{body}", dialect.name());
            }
        }
    }
}

#[test]
fn nothing_is_said_of_what_a_task_does_not_have() {
    let mut bare = request("save the file", r#"button 20,40 80x30 "Save""#);
    bare.image = Some(solid_screenshot(40));
    for (dialect, model) in kinds::all() {
        let body = sent(dialect.as_ref(), model, &bare);
        for text in [
            "Advice",
            "open_application\\\" opens",
            "What is left",
            "; left:",
        ] {
            assert!(!body.contains(text), "{}: {text}\n{body}", dialect.name());
        }
    }
}
