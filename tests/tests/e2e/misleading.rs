//! Instructions on pages that mislead: dead, covered and disabled buttons, moving layouts, fields that take other text,
//! editors and lists that complete. A task that ends in success has done what it was told.
//!
//! `MOTORIUM_CASES=200` draws that many pages of all kinds (default: one of each kind without a known fault), and
//! `--nocapture` shows the outcomes.

use std::collections::BTreeMap;

use motorium_tests::desktop::TestDesktop;
use motorium_tests::page_server::PageServer;
use motorium_tests::services::{AllInOne, TestSetup};

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
    ("slow", "type \"Lisbon\" into \"City\""),
];
/// Kinds on which the goal can be reached.
const REACHABLE: &[&str] = &["editor", "reverting", "slow"];
/// Kinds on some of whose pages success is claimed where it is not so: a look under the pointer can still pass for an effect,
/// and can hide that the button has moved. `make soak` shows them until that is mended.
const KNOWN_FAULTS: &[&str] = &["dead", "moved"];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[expect(
    clippy::print_stdout,
    reason = "the outcomes are what a long run is for"
)]
async fn success_is_claimed_only_where_it_is_so() {
    let cases = std::env::var("MOTORIUM_CASES").map(|number| number.parse().unwrap());
    let is_tried = |(kind, _): &&(&str, &str)| cases.is_ok() || !KNOWN_FAULTS.contains(kind);
    let kinds: Vec<(&str, &str)> = KINDS.iter().filter(is_tried).copied().collect();
    let cases: usize = cases.clone().unwrap_or(kinds.len());
    let mut desktop = TestDesktop::start().await;
    let site = PageServer::serve().await;
    site.show("misleading.html?kind=dead&seed=0", &mut desktop)
        .await;
    let up = AllInOne::start(TestSetup::on(&desktop), &[]).await;
    let mut outcomes: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    let mut failures = Vec::new();
    for case in 0..cases {
        let (kind, goal) = kinds[case % kinds.len()];
        let seed = case / kinds.len() + 1;
        site.go_to(&format!("misleading.html?kind={kind}&seed={seed}"))
            .await;
        let run = ["run", "--server", &up.url, goal];
        let ended = up.setup.motorium(&run).await;
        let is_done = ended.code == Some(0);
        let is_reached = site
            .inputs()
            .last()
            .is_some_and(|event| event.kind == "reached");
        let outcome = format!("done {is_done}, so {is_reached}");
        if is_done && !is_reached || !is_done && REACHABLE.contains(&kind) {
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
