//! The layers of docs/ARCHITECTURE.md: dependencies between crates, and cycles between the modules of each crate.
//!
//! Both are read from the manifests and the source, so the test needs no build of what it checks.

mod crates;
mod graph;
mod modules;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crates::{LAYERS, Manifest};
use graph::Graph;
use modules::Crate;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

#[test]
fn modules_have_no_cycles() {
    let mut problems = Vec::new();
    for manifest in Manifest::all(&root()) {
        let source = root().join(&manifest.folder).join("src");
        let references = Crate::read(&source).references();
        for (within, graph) in Graph::of_levels(&references) {
            let within = within.join("::");
            for members in graph.cycles() {
                problems.push(description(&manifest.folder, &within, &graph, &members));
            }
        }
    }
    assert!(
        problems.is_empty(),
        "modules depend on each other; move what both sides need into a module below them:\n{}",
        problems.join("\n")
    );
}

fn description(folder: &str, within: &str, graph: &Graph, members: &BTreeSet<String>) -> String {
    let edges = graph.edges_within(members).into_iter();
    let edges: Vec<String> = edges.map(|(from, to)| format!("{from} -> {to}")).collect();
    let place = if within.is_empty() {
        "the root"
    } else {
        within
    };
    format!("{folder}, in {place}: {}", edges.join(", "))
}

#[test]
fn crates_depend_only_on_layers_below() {
    let manifests = Manifest::all(&root());
    let problems: Vec<String> = manifests.iter().flat_map(Manifest::forbidden).collect();
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn every_crate_has_a_layer() {
    let known: BTreeSet<&str> = LAYERS.iter().map(|layer| layer.name).collect();
    let unknown: Vec<String> = Manifest::all(&root())
        .into_iter()
        .filter(|manifest| !known.contains(manifest.name.as_str()))
        .map(|manifest| manifest.folder)
        .collect();
    assert!(
        unknown.is_empty(),
        "without a layer in this test and in docs/ARCHITECTURE.md: {unknown:?}"
    );
}

#[test]
fn code_map_lists_the_crates_in_the_order_of_the_layers() {
    let page = std::fs::read_to_string(root().join("docs/ARCHITECTURE.md"))
        .expect("the page is part of the repository");
    let place = |folder: &str| {
        page.find(&format!("| `{folder}`"))
            .or(page.find(&format!("| `{folder}/`")))
    };
    let folders = LAYERS.iter().map(|layer| layer.folder);
    let listed: Vec<(&str, Option<usize>)> = folders
        .filter(|folder| folder.starts_with("services/") || *folder == "proto")
        .map(|folder| (folder, place(folder)))
        .collect();
    for (folder, place) in &listed {
        assert!(
            place.is_some(),
            "docs/ARCHITECTURE.md does not list {folder}"
        );
    }
    assert!(
        listed.is_sorted_by_key(|(_, place)| *place),
        "docs/ARCHITECTURE.md lists the crates in another order than this test: {listed:?}"
    );
}
