//! Dependency graph of the modules within one module, and its cycles.

use std::collections::{BTreeMap, BTreeSet};

use super::modules::ModulePath;

/// References between the direct children of one module.
#[derive(Debug, Default, Clone)]
pub(crate) struct Graph {
    edges: BTreeMap<String, BTreeSet<String>>,
}

impl Graph {
    /// Returns a graph for every module with children, by the path of the module.
    ///
    /// The module itself is no node: it declares its children and re-exports what they define.
    pub(crate) fn of_levels(
        references: &BTreeSet<(ModulePath, ModulePath)>,
    ) -> BTreeMap<ModulePath, Self> {
        let mut graphs = BTreeMap::<ModulePath, Self>::new();
        for (from, to) in references {
            let common = from.iter().zip(to).take_while(|(one, other)| one == other);
            let level = common.count();
            if let (Some(source), Some(target)) = (from.get(level), to.get(level)) {
                let graph = graphs.entry(from[..level].to_vec()).or_default();
                graph.add(source, target);
            }
        }
        graphs
    }

    fn add(&mut self, from: &str, to: &str) {
        self.edges
            .entry(from.to_owned())
            .or_default()
            .insert(to.to_owned());
        self.edges.entry(to.to_owned()).or_default();
    }

    /// Returns the sets of modules that depend on each other, in alphabetical order.
    pub(crate) fn cycles(&self) -> BTreeSet<BTreeSet<String>> {
        let reachable: BTreeMap<&str, BTreeSet<&str>> = self
            .edges
            .keys()
            .map(|node| (node.as_str(), self.reachable(node)))
            .collect();
        let is_mutual = |one: &str, other: &str| {
            reachable[one].contains(other) && reachable[other].contains(one)
        };
        let components = self.edges.keys().map(|node| {
            let members = self.edges.keys().filter(|other| is_mutual(node, other));
            members.cloned().collect::<BTreeSet<_>>()
        });
        components.filter(|members| members.len() > 1).collect()
    }

    /// Returns the edges within a set of modules.
    pub(crate) fn edges_within(&self, members: &BTreeSet<String>) -> Vec<(String, String)> {
        let edges = self
            .edges
            .iter()
            .flat_map(|(from, targets)| targets.iter().map(|to| (from.clone(), to.clone())));
        edges
            .filter(|(from, to)| members.contains(from) && members.contains(to))
            .collect()
    }

    fn reachable(&self, start: &str) -> BTreeSet<&str> {
        let mut reached = BTreeSet::new();
        let mut pending = vec![start];
        while let Some(node) = pending.pop() {
            for target in &self.edges[node] {
                if reached.insert(target.as_str()) {
                    pending.push(target);
                }
            }
        }
        reached
    }
}

#[test]
fn cycles_are_sets_of_modules_that_reach_each_other() {
    let path = |path: &str| path.split("::").map(str::to_owned).collect::<ModulePath>();
    let references = [
        ("a", "b"),
        ("b", "c::x"),
        ("c::y", "a"),
        ("a", "d"),
        ("c::x", "c::y"),
    ];
    let references = references.map(|(from, to)| (path(from), path(to)));
    let graphs = Graph::of_levels(&BTreeSet::from(references));
    let root = &graphs[&ModulePath::new()];
    let members = BTreeSet::from(["a", "b", "c"].map(str::to_owned));
    assert_eq!(root.cycles(), BTreeSet::from([members]));
    assert!(graphs[&path("c")].cycles().is_empty());
}
