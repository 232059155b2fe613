//! The `motorium` command line.

use std::path::Path;

use motorium_tests::desktop::TestDesktop;
use motorium_tests::page_server::PageServer;
use motorium_tests::programs::{self, ProgramResult};
use motorium_tests::services::{AllInOne, TestSetup};
use serde_json::Value;

#[track_caller]
fn assert_code(finished: &ProgramResult, code: i32) {
    assert_eq!(
        finished.code,
        Some(code),
        "{}\n{}",
        finished.stdout,
        finished.stderr
    );
}

/// Starts a desktop with the logger page, and `motorium up` for it.
async fn prepared() -> (TestDesktop, PageServer, AllInOne) {
    let mut desktop = TestDesktop::start().await;
    let site = PageServer::serve().await;
    site.show_logger(&mut desktop).await;
    let up = AllInOne::start(TestSetup::on(&desktop), &[]).await;
    (desktop, site, up)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_task_is_run_listed_shown_and_saved() {
    let (_desktop, site, up) = prepared().await;
    let motorium = |arguments: &[&str]| {
        let all: Vec<String> = arguments.iter().copied().map(str::to_owned).collect();
        let server = up.url.clone();
        let setup = &up.setup;
        async move {
            let mut words: Vec<&str> = all.iter().map(String::as_str).collect();
            words.extend(["--server", &server]);
            setup.motorium(&words).await
        }
    };

    let folder = up.setup.data().join("saved");
    let saved = folder.to_string_lossy().into_owned();
    let done = motorium(&["run", "click \"Harbour\"", "--save", &saved]).await;
    assert_code(&done, 0);
    assert!(done.stdout.contains("Harbour"), "{}", done.stdout);
    assert_eq!(site.fields().await["harbour"], "pressed");
    let is_png = |path: &Path| path.extension().is_some_and(|end| end == "png");
    let screenshots: Vec<_> = walk(&folder)
        .into_iter()
        .filter(|path| is_png(path))
        .collect();
    assert!(!screenshots.is_empty(), "no screenshots in {saved}");

    let failed = motorium(&["run", "click \"Nothing of that name\""]).await;
    assert_code(&failed, 1);
    assert!(
        failed.stdout.contains("Nothing of that name"),
        "{}",
        failed.stdout
    );

    let events = motorium(&["run", "--json", "click \"Lantern\""]).await;
    assert_code(&events, 0);
    let kinds: Vec<Value> = events
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert!(
        kinds.last().unwrap().get("succeeded").is_some(),
        "{kinds:?}"
    );

    let names = motorium(&["tasks", "list", "--names"]).await;
    assert_code(&names, 0);
    let names: Vec<&str> = names.stdout.lines().collect();
    assert_eq!(names.len(), 3, "{names:?}");
    let shown = motorium(&["tasks", "show", names[0]]).await;
    assert_code(&shown, 0);
    assert!(shown.stdout.contains("Lantern"), "{}", shown.stdout);
    let watched = motorium(&["tasks", "watch", names[1]]).await;
    assert_code(&watched, 1);
    let output = format!("{}{}", failed.stdout, failed.stderr);
    let mentions = output.matches("is not on the screen").count();
    assert_eq!(mentions, 1, "{output}");
    assert!(!output.contains("PLANNER_GAVE_UP"), "{output}");
    let ended = motorium(&["tasks", "cancel", names[0]]).await;
    assert_code(&ended, 2);
    assert!(ended.stderr.contains("has already ended"), "{ended:?}");
    let nowhere = motorium(&["tasks", "list", "--session", "nosuch"]).await;
    assert_code(&nowhere, 2);
    assert!(
        nowhere.stderr.contains("motorium sessions list"),
        "{nowhere:?}"
    );
    let unsaved = motorium(&["run", "click \"Meadow\"", "--save", "/proc/x"]).await;
    assert_code(&unsaved, 2);
    assert!(
        unsaved.stderr.contains("cannot write /proc/x"),
        "{unsaved:?}"
    );
    let backend = motorium(&["run", "click \"Meadow\"", "--planner", "oracle"]).await;
    assert_code(&backend, 2);
    assert!(
        backend.stderr.contains("`--planner`") && backend.stderr.contains("phrasebook"),
        "{backend:?}"
    );
    assert!(
        site.fields().await["meadow"] != "pressed",
        "nothing was run"
    );
    let fetched = motorium(&["run", "wait 0.1 seconds", "--fetch", "none.txt"]).await;
    assert_code(&fetched, 4);
    assert!(
        fetched.stdout.contains("there is no file none.txt") && fetched.stderr.contains("none.txt"),
        "{fetched:?}"
    );
    let unknown = motorium(&["tasks", "show", "tasks/none"]).await;
    assert_code(&unknown, 2);
    assert!(unknown.stderr.contains("tasks/none"), "{}", unknown.stderr);
    let desktops = motorium(&["desktops"]).await;
    assert_code(&desktops, 0);
    assert!(desktops.stdout.contains("local"), "{}", desktops.stdout);
    let policy = motorium(&["policy"]).await;
    assert_code(&policy, 0);
    for part in ["policy `", "everything", "permits"] {
        assert!(policy.stdout.contains(part), "{}", policy.stdout);
    }
    let cedar = motorium(&["policy", "--text"]).await;
    assert!(cedar.stdout.contains("permit (principal"), "{cedar:?}");
    let tried = motorium(&["policy", "--try", "click \"Next page\""]).await;
    assert_code(&tried, 0);
    let judged = "click \"Next page\": would be done without asking";
    assert!(tried.stdout.contains(judged), "{tried:?}");
    let strange = motorium(&["policy", "--try", "frobnicate it"]).await;
    assert_code(&strange, 2);
    assert!(strange.stderr.contains("`frobnicate it`"), "{strange:?}");
    let whole = up.setup.motorium(&["audit", "verify"]).await;
    assert_code(&whole, 0);
    let exported = up.setup.motorium(&["audit", "export"]).await;
    assert_code(&exported, 0);
    let clicks = exported.stdout.matches("\"kind\":\"click\"").count();
    assert_eq!(clicks, 2, "{}", exported.stdout);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_browser_environment_starts_with_its_browser_open() {
    let desktop = TestDesktop::start().await;
    let arguments = [
        "--virtual-desktop",
        "--size",
        "1000x700",
        "--platform",
        "browser",
    ];
    let up = AllInOne::start(TestSetup::on(&desktop), &arguments).await;
    assert_ne!(up.display, desktop.display, "it has a desktop of its own");
    let desktops = at(&up, &["desktops"]).await;
    assert_code(&desktops, 0);
    assert!(desktops.stdout.contains("browser"), "{}", desktops.stdout);
    // The tab of a browser that was started without a page.
    let seen = at(
        &up,
        &["run", "wait until \"New Tab\" appears for up to 30 seconds"],
    )
    .await;
    assert_code(&seen, 0);
}

/// Runs a command against a server.
async fn at(up: &AllInOne, arguments: &[&str]) -> ProgramResult {
    let server: [&str; 2] = ["--server", &up.url];
    up.setup.motorium(&[arguments, &server].concat()).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_conversation_goes_on_with_files_and_is_exported() {
    let (_desktop, site, up) = prepared().await;
    // Larger than a request may be: it is uploaded in chunks.
    let large = up.setup.data().join("large.bin");
    std::fs::write(&large, vec![7_u8; 6 * 1024 * 1024]).unwrap();
    let large = large.to_string_lossy().into_owned();
    let goal = "wait for \"Harbour\"";
    let with_file = ["--attach", &large, "--fetch", "large.bin"];
    let first = ["run", "--session", "chat", goal];
    let first = at(&up, &[&first[..], &with_file].concat()).await;
    assert_code(&first, 0);
    let saved = first
        .stdout
        .contains("fetched large.bin, which is saved at /");
    assert!(saved, "{}", first.stdout);

    // "it" is known from the task before.
    let second = at(&up, &["run", "--session", "chat", "click it"]).await;
    assert_code(&second, 0);
    assert_eq!(site.fields().await["harbour"], "pressed");

    let listed = at(&up, &["tasks", "--session", "chat"]).await;
    assert_code(&listed, 0);
    let has_both = listed.stdout.contains("click it") && listed.stdout.contains("wait for");
    assert!(has_both, "{}", listed.stdout);
    let transcript = at(&up, &["sessions", "export", "chat"]).await;
    assert_code(&transcript, 0);
    let order = ["> wait for \"Harbour\"", "- file: large.bin", "> click it"];
    let places: Vec<_> = order.map(|text| transcript.stdout.find(text)).into();
    let in_order = places.iter().all(Option::is_some) && places.is_sorted();
    assert!(in_order, "{}", transcript.stdout);
    let unknown = at(&up, &["sessions", "export", "none"]).await;
    assert_code(&unknown, 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_task_needs_no_server() {
    let mut desktop = TestDesktop::start().await;
    let site = PageServer::serve().await;
    site.show_logger(&mut desktop).await;
    let setup = TestSetup::on(&desktop);
    let done = setup
        .motorium(&[
            "run",
            "--in-process",
            "--planner",
            "phrasebook",
            "click \"Meadow\"",
        ])
        .await;
    assert_code(&done, 0);
    assert_eq!(site.fields().await["meadow"], "pressed");

    let unreachable = setup
        .motorium(&["run", "click \"Meadow\"", "--server", "http://127.0.0.1:9"])
        .await;
    assert_code(&unreachable, 2);
    assert!(
        unreachable.stderr.contains("motorium up"),
        "{}",
        unreachable.stderr
    );
    let unknown = setup
        .motorium(&[
            "run",
            "--in-process",
            "--planner",
            "oracle",
            "click \"Meadow\"",
        ])
        .await;
    assert!(matches!(unknown.code, Some(1 | 2)), "{unknown:?}");
    let output = format!("{}{}", unknown.stdout, unknown.stderr);
    assert!(
        output.contains("oracle") && output.contains("phrasebook"),
        "{output}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn see_prints_the_scene() {
    let mut desktop = TestDesktop::start().await;
    let site = PageServer::serve().await;
    site.show_logger(&mut desktop).await;
    let setup = TestSetup::on(&desktop);
    let marked = setup.data().join("set-of-marks.png");
    let output = marked.to_string_lossy().into_owned();
    let seen = setup
        .motorium(&["see", "--json", "--output", &output])
        .await;
    assert_code(&seen, 0);
    let of_screen: Value = serde_json::from_str(&seen.stdout).expect("the output is JSON");
    check_scene(&of_screen);
    let image = image::open(&marked).unwrap();
    assert_eq!(
        (image.width(), image.height()),
        motorium_tests::desktop::SIZE
    );

    // An image file is parsed in the same way; here, the annotated screenshot.
    let copy = setup
        .data()
        .join("again.png")
        .to_string_lossy()
        .into_owned();
    let parsed = setup
        .motorium(&["see", "--json", "--image", &output, "--output", &copy])
        .await;
    assert_code(&parsed, 0);
    check_scene(&serde_json::from_str(&parsed.stdout).expect("the output is JSON"));

    let list = setup.motorium(&["see", "--output", &output]).await;
    assert_code(&list, 0);
    assert!(list.stdout.contains("Harbour"), "{}", list.stdout);
    let none = setup.motorium(&["see", "--image", "/nowhere.png"]).await;
    assert_code(&none, 2);
    assert!(none.stderr.contains("/nowhere.png"), "{}", none.stderr);
    let text = setup.motorium(&["see", "--image", "/etc/passwd"]).await;
    assert_code(&text, 2);
    assert!(
        text.stderr.contains("the image /etc/passwd"),
        "{}",
        text.stderr
    );
    assert_eq!(text.stderr.matches("PNG").count(), 1, "{}", text.stderr);
}

fn check_scene(scene: &Value) {
    let (width, height) = motorium_tests::desktop::SIZE;
    assert_eq!(
        (&scene["width"], &scene["height"]),
        (&width.into(), &height.into())
    );
    let elements = scene["elements"].as_array().unwrap();
    assert!(scene["timings_ms"].is_object(), "{scene}");
    let has = |text: &str| elements.iter().any(|element| element["content"] == text);
    assert!(has("Harbour") && has("Lantern") && has("Meadow"), "{scene}");
    for element in elements {
        let keys: Vec<&str> = element
            .as_object()
            .unwrap()
            .keys()
            .map(String::as_str)
            .collect();
        for key in [
            "id",
            "kind",
            "content",
            "bbox",
            "interactable",
            "confidence",
            "source",
        ] {
            assert!(keys.contains(&key), "no {key}: {element}");
        }
        let corners: Vec<f64> = element["bbox"]
            .as_array()
            .unwrap()
            .iter()
            .map(|c| c.as_f64().unwrap())
            .collect();
        assert!(
            corners.len() == 4 && corners.iter().all(|corner| (0.0..=1.0).contains(corner)),
            "{element}"
        );
        assert!(
            corners[0] < corners[2] && corners[1] < corners[3],
            "{element}"
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn doctor_and_config() {
    let setup = TestSetup::without_display();
    let sound = setup.motorium(&["doctor"]).await;
    assert!(
        sound.stdout.contains("onnxruntime") || sound.stdout.contains("ONNX"),
        "{sound:?}"
    );

    std::fs::remove_file(setup.data().join("models")).unwrap();
    let mut in_chinese = setup.command("motorium");
    in_chinese.env("LC_ALL", "zh_CN.UTF-8").arg("doctor");
    let in_chinese = programs::run(in_chinese).await;
    assert!(in_chinese.stdout.contains("不存在"), "{in_chinese:?}");
    let missing = setup.motorium(&["doctor"]).await;
    assert_ne!(missing.code, Some(0), "{missing:?}");
    assert!(missing.stdout.contains("tools/setup"), "{}", missing.stdout);

    let config = setup
        .motorium(&["config", "--set=orchestrator.max_steps=7"])
        .await;
    assert!(matches!(config.code, Some(0 | 2)), "{config:?}");
    let nonsense = setup.motorium(&["fly"]).await;
    assert_code(&nonsense, 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn doctor_tries_the_display() {
    let desktop = TestDesktop::start().await;
    let tried = TestSetup::on(&desktop).motorium(&["doctor"]).await;
    assert_code(&tried, 0);
    for finding in [
        "a window manager on",
        "a window is captured",
        "a click arrives at a window",
        "a typed word arrives at a window",
    ] {
        let line = format!("ok       {finding}");
        assert!(tried.stdout.contains(&line), "{finding}:\n{}", tried.stdout);
    }
    drop(desktop);

    let bare = TestDesktop::bare().await;
    let tried = TestSetup::on(&bare).motorium(&["doctor"]).await;
    let warning = "warning  no window manager on";
    assert!(tried.stdout.contains(warning), "{}", tried.stdout);
    assert!(
        tried
            .stdout
            .contains("ok       a click arrives at a window"),
        "{}",
        tried.stdout
    );
    assert!(
        !tried.stdout.ends_with("all requirements are met\n"),
        "{}",
        tried.stdout
    );
}

/// Returns all files below a folder.
fn walk(folder: &Path) -> Vec<std::path::PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return Vec::new();
    };
    let paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    let (folders, mut files): (Vec<_>, Vec<_>) = paths.into_iter().partition(|path| path.is_dir());
    files.extend(folders.iter().flat_map(|folder| walk(folder)));
    files
}
