//! Instructions on pages that mislead: dead, covered and disabled buttons, layouts and pictures that move, fields that take
//! other text, editors and lists that complete, controls that want more than a click. A task that ends in success has done what its goal asks for.
//!
//! `MOTORIUM_CASES=200` draws that many pages of all kinds (default: one of each kind), from the number
//! `MOTORIUM_FIRST_CASE` (0) on, `MOTORIUM_KINDS=reverting,notice` those kinds alone, and `--nocapture` shows the outcomes.

use std::collections::BTreeMap;
use std::time::Duration;

use motorium_tests::desktop::TestDesktop;
use motorium_tests::page_server::PageServer;
use motorium_tests::services::{AllInOne, TestSetup};
use tokio::time::Instant;

/// Time within which a page has reported what it has reached.
const REPORT_TIMEOUT: Duration = Duration::from_secs(3);

/// Kinds of pages of `misleading.html` with their instructions.
const KINDS: &[(&str, &str)] = &[
    ("dead", "click \"Lantern\""),
    ("disabled", "click \"Lantern\""),
    ("covered", "click \"Lantern\""),
    ("moved", "click \"Lantern\""),
    ("reverting", "click \"Lantern\""),
    ("masked", "type \"forty\" into \"Age\""),
    ("replacing", "enter \"SPRING10\" into \"Voucher\""),
    (
        "editor",
        "type \"def total(items):\n    table = {\\\"a\\\": [1, 2]}\n    return sum(items)\" into \"Snippet\"",
    ),
    (
        "completing",
        "type \"Lisbon\" into \"City\" then press Enter then check that \"Sent Lisbon\" is shown",
    ),
    (
        "slow",
        "type \"Lisbon\" into \"City\" then type \"Rua Augusta\" into \"Street\"",
    ),
    ("feed", "click \"Lantern\""),
    ("notice", "click \"Lantern\""),
    ("failing", "click \"Save\""),
    ("saving", "click \"Save\""),
    ("setback", "choose \"China\" from \"Country\""),
    (
        "suggesting",
        "type \"Lis\" into \"City\" then click \"Lisbon\"",
    ),
    ("cell", "double-click \"Apples\" then type \"Quinces\""),
    ("keeping", "change \"Full name\" to \"Eva Langer\""),
    ("late", "type \"Ann\" into \"Name\" then click \"Save\""),
    (
        "boxes",
        "check \"Two-factor login\" then uncheck Newsletter",
    ),
    ("date", "enter \"1990-05-17\" into \"Date of birth\""),
    ("slider", "set the \"Volume\" slider to 80"),
    ("reorder", "drag \"Alpha\" to \"Gamma\""),
    ("refusing", "type \"12ab34\" into \"Zip\""),
    ("emptying", "type \"forty2\" into \"Code\""),
    ("evading", "click \"Lantern\""),
    ("inner", "scroll to the bottom"),
    ("row", "click \"Room 2\""),
    ("unnumbered", "set the \"Volume\" slider to 80"),
    (
        "leaving",
        "type \"12ab\" into \"Code\" then type \"Ann\" into \"Name\"",
    ),
    ("longer", "click \"Add\" in the row of \"Washer\""),
    ("links", "click \"Terms of use\""),
    (
        "renamed",
        "change \"Full name\" to \"Eva Langer\" then click \"Save\"",
    ),
];
/// Kinds of which nothing may tell whether the goal is reached: a page that moves at the time of a click, and shows no reaction
/// to it. A person is asked then, or is told that nothing was seen to change.
const UNCLEAR: &[&str] = &["late"];
/// Kinds on which the goal can be reached.
const REACHABLE: &[&str] = &[
    "editor",
    "reverting",
    "saving",
    "slow",
    "late",
    "boxes",
    "date",
    "slider",
    "reorder",
    "renamed",
    "suggesting",
    "inner",
    "row",
    "longer",
    "links",
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[expect(
    clippy::print_stdout,
    reason = "the outcomes are what a long run is for"
)]
async fn success_is_claimed_only_where_it_is_so() {
    let wanted = std::env::var("MOTORIUM_KINDS").unwrap_or_default();
    let wanted: Vec<&str> = wanted.split(',').filter(|kind| !kind.is_empty()).collect();
    let kinds = KINDS
        .iter()
        .filter(|(kind, _)| wanted.is_empty() || wanted.contains(kind));
    let kinds: Vec<&(&str, &str)> = kinds.collect();
    let cases = std::env::var("MOTORIUM_CASES").map(|number| number.parse().unwrap());
    let cases: usize = cases.unwrap_or(kinds.len());
    let first = std::env::var("MOTORIUM_FIRST_CASE").map_or(0, |number| number.parse().unwrap());
    let mut desktop = TestDesktop::start().await;
    let site = PageServer::serve().await;
    site.show("misleading.html?kind=dead&seed=0", &mut desktop)
        .await;
    let up = AllInOne::start(TestSetup::on(&desktop), &[]).await;
    let mut outcomes: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    let mut failures = Vec::new();
    for case in first..first + cases {
        let (kind, goal) = *kinds[case % kinds.len()];
        let seed = case / kinds.len() + 1;
        site.go_to(&format!("misleading.html?kind={kind}&seed={seed}"))
            .await;
        let run = ["run", "--server", &up.url, goal];
        let ended = up.setup.motorium(&run).await;
        let is_done = ended.code == Some(0);
        let is_reached = is_reached(&site, is_done).await;
        let outcome = format!("done {is_done}, so {is_reached}");
        let leaves_it_open = match ended.code {
            Some(3) => true,
            Some(1) => ended.stdout.contains("nothing on the screen changed"),
            _ => false,
        };
        let is_left_open = leaves_it_open && UNCLEAR.contains(&kind);
        if is_done && !is_reached || !is_done && !is_left_open && REACHABLE.contains(&kind) {
            failures.push(format!("{kind} {seed}: {outcome}\n{ended:?}"));
        }
        outcomes.entry(kind).or_default().push(outcome);
    }
    for (kind, outcomes) in &outcomes {
        let mut counts = BTreeMap::new();
        for outcome in outcomes {
            *counts.entry(outcome).or_insert(0) += 1;
        }
        println!("{kind:12} {counts:?}");
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// The browser names the address in its address bar, in the tab and on its error page, all of which show the text.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_that_does_not_come_is_no_success() {
    let mut desktop = TestDesktop::start().await;
    desktop.open_browser(&[], "about:blank");
    let up = AllInOne::start(TestSetup::on(&desktop), &[]).await;
    // Nothing listens there.
    let goal = "switch to chromium, press ctrl+l, type \"127.0.0.1:9/welcome\", press Enter, \
                wait until \"Welcome\" appears for up to 5 seconds";
    let run = ["run", "--server", &up.url, "--on-approval", "approve", goal];
    let ended = up.setup.motorium(&run).await;
    assert_eq!(ended.code, Some(1), "{ended:?}");
    let output = format!("{}{}", ended.stdout, ended.stderr);
    assert!(output.contains("Welcome"), "{output}");
}

/// Returns whether the page has reached its goal. Its reports arrive after its reactions, so a claimed success is waited for.
pub(crate) async fn is_reached(site: &PageServer, is_claimed: bool) -> bool {
    let is_last = || {
        let inputs = site.inputs();
        inputs.last().is_some_and(|event| event.kind == "reached")
    };
    let deadline = Instant::now() + REPORT_TIMEOUT;
    while is_claimed && !is_last() && Instant::now() < deadline {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    is_last()
}
