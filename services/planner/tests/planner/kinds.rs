//! Every kind of backend with a model, as the configuration knows them.

use std::sync::Arc;

use motorium_planner::backends::dialect::Dialect;
use motorium_planner::config::dialects;

/// Returns each dialect with a model that it is used with.
pub(crate) fn all() -> impl Iterator<Item = (Arc<dyn Dialect>, &'static str)> {
    dialects().map(|dialect| {
        let model = model(dialect.name());
        (dialect, model)
    })
}

fn model(kind: &str) -> &'static str {
    match kind {
        "claude_som" => "claude-opus-4-6",
        "operator" => "local-vl",
        "opencua" => "opencua-7b",
        "qwen_vl" => "qwen3-vl-plus",
        "claude_computer" => "claude-opus-5-5",
        "openai_computer" => "gpt-5.6-sol",
        _ => panic!("name a model for the backend `{kind}` in tests/planner/kinds.rs"),
    }
}

/// Checks that a list of a test has every kind for which this holds.
#[track_caller]
pub(crate) fn check_listed(listed: &[&str], is_needed: impl Fn(&dyn Dialect) -> bool) {
    let needed = dialects().filter(|dialect| is_needed(dialect.as_ref()));
    let missing: Vec<&str> = needed
        .map(|dialect| dialect.name())
        .filter(|name| !listed.contains(name))
        .collect();
    assert!(missing.is_empty(), "add these backends: {missing:?}");
}
