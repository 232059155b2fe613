//! Dependencies between the crates of the workspace, and the layers that allow them.

use std::fs;
use std::path::Path;

/// A crate with its place in the order of layers.
#[derive(Debug)]
pub(crate) struct Layer {
    pub(crate) name: &'static str,
    pub(crate) folder: &'static str,
    kind: Kind,
}

/// Kind of a crate, which says what it may depend on besides the layers below it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// May be used by every crate above it.
    Shared,
    /// May be used by the program and by tests only.
    Service,
    /// The one program; it may use everything below it.
    Program,
    /// For callers; knows the contract and what servers and clients share.
    Client,
    /// Tests; may use everything.
    Tests,
}

/// All crates, from the bottom up. A crate may depend on shared crates above its own line only.
pub(crate) const LAYERS: [Layer; 21] = [
    layer("motorium-proto", "proto", Kind::Shared),
    layer("motorium-text", "services/text", Kind::Shared),
    layer("motorium-messages", "services/messages", Kind::Shared),
    layer("motorium-imaging", "services/imaging", Kind::Shared),
    layer("motorium-kit", "services/kit", Kind::Shared),
    layer("motorium-x11", "services/x11", Kind::Shared),
    layer("motorium-store", "services/store", Kind::Shared),
    layer("motorium-phrasebook", "services/phrasebook", Kind::Shared),
    layer("motorium-task", "services/task", Kind::Shared),
    layer("motorium-policy", "services/policy", Kind::Shared),
    layer("motorium-recording", "services/recording", Kind::Shared),
    layer("motorium-client", "clients/rust", Kind::Client),
    layer("motorium-perception", "services/perception", Kind::Service),
    layer("motorium-planner", "services/planner", Kind::Service),
    layer("motorium-executor", "services/executor", Kind::Service),
    layer(
        "motorium-orchestrator",
        "services/orchestrator",
        Kind::Service,
    ),
    layer("motorium-gateway", "services/gateway", Kind::Service),
    layer("motorium", "services/motorium", Kind::Program),
    layer("motorium-tests", "tests", Kind::Tests),
    layer("motorium-chaos", "tests/chaos", Kind::Tests),
    layer("motorium-effects", "tests/effects", Kind::Tests),
];

/// Crates that a client may use: it must build without the services.
const CLIENT_MAY_USE: [&str; 2] = ["motorium-proto", "motorium-kit"];

const fn layer(name: &'static str, folder: &'static str, kind: Kind) -> Layer {
    Layer { name, folder, kind }
}

/// The part of a crate's manifest that matters here.
#[derive(Debug)]
pub(crate) struct Manifest {
    pub(crate) folder: String,
    pub(crate) name: String,
    /// Crates of the workspace that the product code depends on; test dependencies are left out.
    dependencies: Vec<String>,
}

impl Manifest {
    /// Reads the manifests of all members of the workspace.
    pub(crate) fn all(root: &Path) -> Vec<Self> {
        let workspace = table(&root.join("Cargo.toml"));
        let members = workspace["workspace"]["members"].as_array();
        let members = members.expect("the workspace lists its members").iter();
        let folders = members.filter_map(|member| member.as_str());
        folders.map(|folder| Self::read(root, folder)).collect()
    }

    fn read(root: &Path, folder: &str) -> Self {
        let manifest = table(&root.join(folder).join("Cargo.toml"));
        let names = |manifest: &toml::Table, section: &str| {
            let section = manifest.get(section).and_then(toml::Value::as_table);
            let names = section.into_iter().flat_map(|section| section.keys());
            names.cloned().collect::<Vec<_>>()
        };
        let targets = manifest.get("target").and_then(toml::Value::as_table);
        let targets = targets.into_iter().flat_map(|targets| targets.values());
        let for_targets = targets.filter_map(toml::Value::as_table);
        let all: Vec<_> = std::iter::once(&manifest)
            .chain(for_targets)
            .flat_map(|table| {
                [
                    names(table, "dependencies"),
                    names(table, "build-dependencies"),
                ]
            })
            .flatten()
            .collect();
        let own = all.into_iter().filter(|name| name.starts_with("motorium"));
        let name = manifest["package"]["name"].as_str();
        Self {
            folder: folder.to_owned(),
            name: name.expect("a package has a name").to_owned(),
            dependencies: own.collect(),
        }
    }

    /// Returns the dependencies that the layers do not allow, as sentences.
    pub(crate) fn forbidden(&self) -> Vec<String> {
        let dependencies = self.dependencies.iter();
        let forbidden = dependencies.filter(|dependency| !is_allowed(&self.name, dependency));
        let sentence = |dependency| {
            format!(
                "{} may not depend on {dependency}: it is not below it, or it is a service",
                self.name
            )
        };
        forbidden.map(sentence).collect()
    }
}

fn is_allowed(name: &str, dependency: &str) -> bool {
    let place = |name: &str| LAYERS.iter().position(|layer| layer.name == name);
    let (Some(own), Some(other)) = (place(name), place(dependency)) else {
        return false;
    };
    let (user, used) = (LAYERS[own].kind, LAYERS[other].kind);
    match user {
        Kind::Client => CLIENT_MAY_USE.contains(&dependency),
        Kind::Shared | Kind::Service => other < own && used == Kind::Shared,
        Kind::Program => other < own,
        Kind::Tests => true,
    }
}

fn table(path: &Path) -> toml::Table {
    let text = fs::read_to_string(path).expect("a manifest is readable");
    text.parse().expect("a manifest is TOML")
}

#[test]
fn layers_depend_only_on_lower_layers_and_no_service() {
    for (name, dependency, expected) in [
        ("motorium-planner", "motorium-phrasebook", true),
        ("motorium-planner", "motorium-executor", false),
        ("motorium-task", "motorium-orchestrator", false),
        ("motorium-text", "motorium-task", false),
        ("motorium-executor", "motorium-executor", false),
        ("motorium", "motorium-planner", true),
        ("motorium-client", "motorium-store", false),
        ("motorium-planner", "motorium-unknown", false),
    ] {
        assert_eq!(
            is_allowed(name, dependency),
            expected,
            "{name} {dependency}"
        );
    }
}
