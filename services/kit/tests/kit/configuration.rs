//! Layers and sources of the configuration, and the messages for invalid ones.

use std::collections::BTreeMap;
use std::fs;

use motorium_kit::client::Channel;
use motorium_kit::config::reference::{Example, section_reference};
use motorium_kit::config::{
    Common, ConfigFlags, Environment, Error, HumanDuration, LayeredConfig, ListenAddress, Secret,
    Section,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tempfile::TempDir;

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct Settings {
    listen: ListenAddress,
    threads: u32,
    keep: bool,
    quiet: HumanDuration,
    apps: Vec<String>,
    app: BTreeMap<String, Nested>,
    api_key: Option<Secret>,
    nested: Nested,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct Nested {
    name: String,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            listen: ListenAddress::loopback(7411),
            threads: 2,
            keep: false,
            quiet: HumanDuration::milliseconds(150),
            apps: Vec::new(),
            app: BTreeMap::new(),
            api_key: None,
            nested: Nested::default(),
        }
    }
}

impl Section for Settings {
    const NAME: &'static str = "perception";
}

/// Loads a configuration from a file (if there is text for one), with a data folder.
fn load<const N: usize>(
    folder: &TempDir,
    file: &str,
    variables: [(&str, &str); N],
    set: &[&str],
) -> Result<LayeredConfig, Error> {
    let path = folder.path().join("motorium.toml");
    fs::write(&path, file).unwrap();
    let flags = ConfigFlags {
        config: Some(path),
        data: None,
        set: set.iter().map(|&flag| flag.to_owned()).collect(),
    };
    LayeredConfig::load_from(&flags, Environment::of(variables))
}

fn folder() -> TempDir {
    tempfile::tempdir().unwrap()
}

#[test]
fn later_layers_win() {
    let file = "[perception]\nlisten = '127.0.0.1:1'\nthreads = 1\nkeep = true\napps = ['a']\n";
    let loaded = load(
        &folder(),
        file,
        [
            ("MOTORIUM_PERCEPTION__THREADS", "3"),
            ("MOTORIUM_PERCEPTION__LISTEN", "127.0.0.1:2"),
            ("MOTORIUM_SOMETHING", "else"),
        ],
        &["perception.listen=127.0.0.1:3"],
    );
    let settings: Settings = loaded.unwrap().section().unwrap();
    assert_eq!(
        (settings.listen, settings.threads, settings.keep),
        (ListenAddress::loopback(3), 3, true)
    );
    assert_eq!(
        (settings.apps, settings.quiet),
        (vec!["a".to_owned()], HumanDuration::milliseconds(150))
    );
}

#[test]
fn text_numbers_and_lists_from_the_environment() {
    let variables = [
        ("MOTORIUM_PERCEPTION__API_KEY", "0123"),
        ("MOTORIUM_PERCEPTION__KEEP", "true"),
        ("MOTORIUM_PERCEPTION__QUIET", "2s"),
        ("MOTORIUM_PERCEPTION__APPS", "[firefox, mousepad]"),
        ("MOTORIUM_PERCEPTION__NESTED__NAME", "7"),
    ];
    let settings: Settings = load(&folder(), "", variables, &[])
        .unwrap()
        .section()
        .unwrap();
    assert_eq!(settings.api_key.unwrap().expose(), "0123");
    assert_eq!(
        (settings.keep, settings.quiet, settings.apps.len()),
        (true, HumanDuration::seconds(2), 2)
    );
    assert_eq!(settings.nested.name, "7");
}

#[test]
fn empty_configuration_uses_the_defaults() {
    let loaded = LayeredConfig::load_from(
        &ConfigFlags::default(),
        Environment::of([("HOME", "/home/someone")]),
    )
    .unwrap();
    assert_eq!(loaded.section::<Settings>().unwrap().threads, 2);
    assert_eq!(
        loaded.common().unwrap().data().unwrap().to_str(),
        Some("/home/someone/.local/share/motorium")
    );
}

#[test]
fn the_data_folder() {
    let home = ("HOME", "/h");
    for (variables, set, expected) in [
        ([home, ("XDG_DATA_HOME", "/x"), ("", "")], "", "/x/motorium"),
        (
            [home, ("XDG_DATA_HOME", "relative"), ("", "")],
            "",
            "/h/.local/share/motorium",
        ),
        (
            [home, ("XDG_DATA_HOME", "/x"), ("MOTORIUM_DATA", "/d")],
            "",
            "/d",
        ),
        (
            [home, ("XDG_DATA_HOME", "/x"), ("MOTORIUM_DATA", "/d")],
            "data=/f",
            "/f",
        ),
    ] {
        let flags: &[&str] = if set.is_empty() { &[] } else { &[set] };
        let common = load(&folder(), "", variables, flags)
            .unwrap()
            .common()
            .unwrap();
        assert_eq!(common.data().unwrap().to_str(), Some(expected));
    }
    let homeless = load(&folder(), "", [], &[]).unwrap().common().unwrap();
    let homeless = homeless.data().unwrap_err();
    assert!(homeless.to_string().contains("MOTORIUM_DATA"), "{homeless}");
}

/// Returns the message of the error, with the name of the folder replaced.
fn complaint<const N: usize>(file: &str, variables: [(&str, &str); N], set: &[&str]) -> String {
    let folder = folder();
    let loaded = load(&folder, file, variables, set);
    let error = loaded.and_then(|loaded| {
        loaded.section::<Settings>()?;
        loaded.common()
    });
    let text = error
        .expect_err("the configuration should be refused")
        .to_string();
    text.replace(folder.path().to_str().unwrap(), "FOLDER")
}

#[track_caller]
fn check(complaint: &str, parts: &[&str]) {
    for part in parts {
        assert!(complaint.contains(part), "`{part}` is not in: {complaint}");
    }
}

#[test]
fn errors_name_the_key_and_its_source() {
    check(
        &complaint("[perception]\nlistne = 'x'", [], &[]),
        &[
            "`perception.listne`",
            "motorium.toml",
            "did you mean `listen`",
        ],
    );
    check(
        &complaint("[perceptoin]\nlisten = 'x'", [], &[]),
        &["`perceptoin`", "motorium.toml", "did you mean `perception`"],
    );
    check(
        &complaint("[perception.nested]\nwhat = 1", [], &[]),
        &[
            "`perception.nested.what`",
            "motorium.toml",
            "known keys: name",
        ],
    );
    check(
        &complaint("[perception]\nlisten = '7411'", [], &[]),
        &[
            "`perception.listen`",
            "motorium.toml",
            "such as 127.0.0.1:7411",
        ],
    );
    check(
        &complaint("[perception]\nthreads = 'many'", [], &[]),
        &["`perception.threads`", "motorium.toml", "many"],
    );
    check(
        &complaint("", [("MOTORIUM_PERCEPTION__THREADS", "many")], &[]),
        &["`perception.threads`", "$MOTORIUM_PERCEPTION__THREADS"],
    );
    check(
        &complaint("", [("MOTORIUM_PERCEPTION__THREDS", "1")], &[]),
        &["`perception.threds`", "$MOTORIUM_PERCEPTION__THREDS"],
    );
    check(
        &complaint("", [("MOTORIUM_PLANER__X", "1")], &[]),
        &["`planer`", "did you mean `planner`"],
    );
    check(
        &complaint("", [], &["perception.quiet=soon"]),
        &["`perception.quiet`", "--set", "such as 30s"],
    );
    check(
        &complaint("", [], &["perception.quiet"]),
        &["--set perception.quiet", "key=value"],
    );
    check(
        &complaint("[log]\nformat = 'xml'", [], &[]),
        &["`log.format`", "motorium.toml", "json"],
    );
    check(
        &complaint("[log]\nlevel = '=loud='", [], &[]),
        &["log.level", "=loud="],
    );
    check(
        &complaint("[server]\ngrace_period = 3", [], &[]),
        &["`server.grace_period`", "motorium.toml"],
    );
    check(
        &complaint("[server]\ntoken_file = '/nowhere/token'", [], &[]),
        &["/nowhere/token", "`server.token_file`", "No such file"],
    );
    check(
        &complaint("[server]\ntls_key = 'x'", [], &[]),
        &["server.tls_certificate"],
    );
    check(&complaint("[server]\ntoken = ''", [], &[]), &["empty"]);
    check(
        &complaint("perception = 3", [], &[]),
        &["`perception`", "motorium.toml", "write [perception]"],
    );
    check(
        &complaint("listen = ", [], &[]),
        &["FOLDER/motorium.toml", "not TOML", "line 1"],
    );
}

#[test]
fn a_value_of_the_wrong_type_is_described_with_its_line_and_its_form() {
    check(
        &complaint("[perception]\nkeep = true\napps = 'firefox'", [], &[]),
        &[
            "`perception.apps`",
            "motorium.toml, line 3",
            "a list is expected; write [\"firefox\"]",
        ],
    );
    // A list in the place of a table: the name of the list was misspelt.
    check(
        &complaint("[perception]\napp = ['firefox']", [], &[]),
        &[
            "`perception.app`",
            "motorium.toml, line 2",
            "a list was found, and a table is expected, such as [perception.app.NAME]",
            "did you mean the setting `apps`?",
        ],
    );
    check(
        &complaint("[perception]\nnested = 3", [], &[]),
        &["the number 3 was found", "such as [perception.nested]"],
    );
    check(
        &complaint("[perception]\n\nkeep = 'often'", [], &[]),
        &["line 3", "\"often\" was found", "`true` or `false`"],
    );
    check(
        &complaint("", [], &["perception.threads=[1]"]),
        &["from --set", "a whole number is expected"],
    );
    check(
        &complaint("[perception]\napps = [\n  'a',\n  ['b'],\n]", [], &[]),
        &[
            "`perception.apps.1`",
            "motorium.toml, line 4",
            "a text is expected",
        ],
    );
}

#[test]
fn one_entry_of_a_list_needs_no_brackets_in_a_flag_and_a_variable() {
    let apps = |loaded: Result<LayeredConfig, Error>| {
        let settings: Settings = loaded.unwrap().section().unwrap();
        settings.apps
    };
    let by_flag = load(&folder(), "", [], &["perception.apps=firefox"]);
    assert_eq!(apps(by_flag), ["firefox"]);
    let variable = [("MOTORIUM_PERCEPTION__APPS", "mousepad")];
    assert_eq!(apps(load(&folder(), "", variable, &[])), ["mousepad"]);
    let loaded = load(&folder(), "", [("HOME", "/h")], &["perception.apps=a"]).unwrap();
    let printed = loaded.print_section::<Settings>().unwrap();
    assert!(
        printed.contains("perception.apps = [\"a\"]  # from --set"),
        "{printed}"
    );
}

#[test]
fn a_named_file_must_be_there() {
    let flags = ConfigFlags {
        config: Some("/nowhere/motorium.toml".into()),
        ..Default::default()
    };
    let error = LayeredConfig::load_from(&flags, Environment::default())
        .unwrap_err()
        .to_string();
    check(&error, &["/nowhere/motorium.toml", "No such file"]);
    let environment = Environment::of([("MOTORIUM_CONFIG", "/nowhere/other.toml")]);
    check(
        &LayeredConfig::load_from(&ConfigFlags::default(), environment)
            .unwrap_err()
            .to_string(),
        &["/nowhere/other.toml"],
    );
}

#[test]
fn non_loopback_listener_requires_client_authentication() {
    let folder = folder();
    let anywhere: ListenAddress = "0.0.0.0:7411".parse().unwrap();
    let home = ("HOME", "/h");
    let common =
        |file: &str| -> Common { load(&folder, file, [home], &[]).unwrap().common().unwrap() };
    check(
        &common("").server(anywhere).unwrap_err().to_string(),
        &["0.0.0.0:7411", "without client authentication"],
    );
    let local = |file: &str| common(file).server(ListenAddress::loopback(0)).unwrap();
    assert!(local("").loopback_token.is_some(), "by default");
    let explicit = local("[server]\nloopback_token = false");
    assert!(explicit.loopback_token.is_none(), "behind a proxy");

    let token = folder.path().join("token");
    fs::write(&token, "sesame\n").unwrap();
    let config = common(&format!("[server]\ntoken_file = '{}'", token.display()))
        .server(anywhere)
        .unwrap();
    assert_eq!(config.token.unwrap().expose(), "sesame");

    // A server certificate names the server, and lets every client in.
    let pem = folder.path().join("pem");
    fs::write(&pem, "PEM").unwrap();
    let path = pem.display();
    let certificate = format!("[server]\ntls_certificate = '{path}'\ntls_key = '{path}'\n");
    let error = common(&certificate).server(anywhere).unwrap_err();
    check(
        &error.to_string(),
        &["0.0.0.0:7411", "server.callers_file", "server.token_file"],
    );
    // Certificates of clients are no permission: an authority signs many, and often for other purposes.
    let certificate = format!("{certificate}tls_client_ca = '{path}'\n");
    for listen in [anywhere, ListenAddress::loopback(0)] {
        let error = common(&certificate).server(listen).unwrap_err();
        check(
            &error.to_string(),
            &["server.tls_client_ca", "server.callers_file"],
        );
    }
    common(&format!("{certificate}token = 'sesame'"))
        .server(anywhere)
        .unwrap();
}

#[test]
fn the_token_is_not_sent_unencrypted_over_a_network() {
    let folder = folder();
    let connect = |audiences: &str, uri: &str| {
        let file = format!("[server]\ntoken = 'sesame'\n[client]\naudiences = {audiences}");
        let common = load(&folder, &file, [], &[]).unwrap().common().unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap();
        let _guard = runtime.enter();
        let connected = Channel::connect_lazy(&common.client(uri));
        connected.map(drop).map_err(|error| error.to_string())
    };
    for uri in [
        "http://127.0.0.1:1",
        "http://[::1]:1",
        "http://localhost:1",
        "https://planner:1",
    ] {
        connect("[]", uri).unwrap();
    }
    for (audiences, uri) in [
        ("[]", "http://planner:1"),
        ("[]", "http://10.0.0.1:1"),
        ("[]", "http://127.0.0.1@10.0.0.1:1"),
        ("[\"planner\", \"planner:1\"]", "http://planner:1"),
        ("[\"http://planner:2\"]", "http://planner:1"),
    ] {
        check(
            &connect(audiences, uri).unwrap_err(),
            &[uri, "without encryption", "client.audiences"],
        );
    }
    connect("[\"http://planner:1\"]", "http://planner:1").unwrap();
}

#[test]
fn effective_config_is_printed_with_sources_and_without_secrets() {
    let folder = folder();
    let loaded = load(
        &folder,
        "[perception]\nthreads = 4\napi_key = 'hunter2'\n[server]\ntoken = 'sesame'\n",
        [
            ("MOTORIUM_PERCEPTION__KEEP", "true"),
            ("MOTORIUM_DATA", "/d"),
        ],
        &["perception.nested.name=n"],
    );
    let shown = loaded.unwrap().print::<Settings>().unwrap();
    for secret in ["hunter2", "sesame"] {
        assert!(!shown.contains(secret), "{shown}");
    }
    for (line, source) in [
        ("perception.threads = 4", "motorium.toml"),
        ("perception.api_key = \"<secret>\"", "motorium.toml"),
        ("perception.keep = true", "from $MOTORIUM_PERCEPTION__KEEP"),
        ("perception.listen = \"127.0.0.1:7411\"", "default"),
        ("perception.quiet = \"150ms\"", "default"),
        ("perception.nested.name = \"n\"", "from --set"),
        ("server.token = \"<secret>\"", "motorium.toml"),
        ("server.grace_period = \"20s\"", "default"),
        ("data = \"/d\"", "from $MOTORIUM_DATA"),
        ("log.format = \"auto\"", "default"),
    ] {
        let found = shown
            .lines()
            .find(|shown| shown.starts_with(line))
            .unwrap_or_else(|| panic!("`{line}` is not in:\n{shown}"));
        assert!(found.ends_with(source), "{found}");
    }
}

#[test]
fn client_config_combines_server_and_client_settings() {
    let folder = folder();
    let file = |name: &str, content: &str| {
        let path = folder.path().join(name);
        fs::write(&path, content).unwrap();
        path.display().to_string()
    };
    let (token, ca, certificate, key) = (
        file("t", "sesame\n"),
        file("a", "CA"),
        file("c", "CERT"),
        file("k", "KEY"),
    );
    let common = |text: &str| load(&folder, text, [], &[]).unwrap().common();

    let plain = common("").unwrap().client("http://127.0.0.1:1");
    assert_eq!(
        (plain.uri.as_str(), plain.token.is_none(), plain.ca),
        ("http://127.0.0.1:1", true, None)
    );
    let own = common("[server]\ntoken = 'ours'").unwrap().client("");
    assert_eq!(
        own.token.unwrap().expose(),
        "ours",
        "within one installation the token is the same"
    );
    let written = format!(
        "[server]\ntoken = 'ours'\n[client]\ntoken_file = '{token}'\ntls_ca = '{ca}'\ntls_certificate = '{certificate}'\ntls_key = '{key}'"
    );
    let full = common(&written).unwrap().client("https://planner:1");
    assert_eq!(
        (full.token.unwrap().expose(), full.ca.as_deref()),
        ("sesame", Some("CA"))
    );
    assert_eq!(
        full.identity
            .map(|(certificate, key)| (certificate, key.expose().to_owned())),
        Some(("CERT".to_owned(), "KEY".to_owned()))
    );

    let error = common("[client]\ntls_ca = '/nowhere/ca.pem'").unwrap_err();
    check(&error.to_string(), &["/nowhere/ca.pem", "client.tls_ca"]);
    let error = common("[client]\ntls_key = 'k'").unwrap_err();
    check(&error.to_string(), &["client.tls_certificate"]);
    let error = common(&format!("[client]\ntoken = 'a'\ntoken_file = '{token}'")).unwrap_err();
    check(&error.to_string(), &["client.token", "client.token_file"]);
}

/// A section with every kind of key.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct Documented {
    /// Maximum time
    /// to wait.
    wait: HumanDuration,
    /// Maximum size.
    max_file_bytes: u64,
    /// Confidence.
    threshold: f32,
    /// Log file.
    #[schemars(extend("format" = "path"), example = "/tmp/log")]
    file: Option<String>,
    /// Colour.
    colour: Colour,
    /// Programs by name.
    programs: BTreeMap<String, Program>,
    /// Steps in order.
    steps: Vec<Step>,
}

#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Colour {
    /// Like a rose.
    #[default]
    Red,
    Blue {
        /// Lightness.
        light: bool,
    },
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Program {
    /// Path of the program.
    program: String,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum Step {
    /// Runs a program.
    Run(Program),
}

impl Default for Documented {
    fn default() -> Self {
        Self {
            wait: HumanDuration::seconds(2),
            max_file_bytes: 1024,
            threshold: 0.22,
            file: None,
            colour: Colour::Red,
            programs: BTreeMap::new(),
            steps: Vec::new(),
        }
    }
}

impl Section for Documented {
    const NAME: &'static str = "planner";
    const EXAMPLES: &'static [Example] = &[Example {
        table: "programs.NAME",
        toml: "[planner.programs.editor]\nprogram = 'ed'",
    }];
}

#[test]
fn the_reference_describes_every_key() {
    let tables = section_reference::<Documented>();
    let headers: Vec<_> = tables.iter().map(|table| table.header()).collect();
    assert_eq!(
        headers,
        ["[planner]", "[planner.programs.NAME]", "[[planner.steps]]"]
    );
    let rows: Vec<_> = tables[0]
        .keys
        .iter()
        .map(|key| {
            let default = key.default.as_deref().unwrap_or("-");
            let unit = key.unit.as_deref().unwrap_or("-");
            format!(
                "{} | {} | {default} | {unit} | {}",
                key.path, key.kind, key.description
            )
        })
        .collect();
    assert_eq!(
        rows,
        [
            "planner.wait | duration | \"2s\" | ms, s, m, h, d | Maximum time to wait.",
            "planner.max_file_bytes | integer | 1024 | bytes | Maximum size.",
            "planner.threshold | number | 0.22 | - | Confidence.",
            "planner.file | path | - | - | Log file.",
            "planner.colour | \"red\" or { blue = { light = boolean } } | \"red\" | - | Colour.",
        ]
    );
    let file = &tables[0].keys[3];
    assert_eq!(file.example.as_deref(), Some("\"/tmp/log\""));
    assert_eq!(file.variable.as_deref(), Some("MOTORIUM_PLANNER__FILE"));
    let program = &tables[1].keys[0];
    assert!(program.is_required && tables[1].is_entry() && tables[1].example.is_some());
    assert_eq!(tables[2].variant.as_deref(), Some("run"));
    assert_eq!(tables[2].description, "Runs a program.");
    let keys: Vec<_> = tables[2].keys.iter().map(|key| &*key.path).collect();
    assert_eq!(keys, ["planner.steps.kind", "planner.steps.program"]);
    assert_eq!(tables[2].keys[0].variable, None);
}

#[test]
fn unset_keys_are_printed_with_examples() {
    let loaded = load(&folder(), "planner.threshold = 0.5", [], &[]).unwrap();
    let printed = loaded.print_section::<Documented>().unwrap();
    assert!(
        printed.contains("planner.threshold = 0.5  # from "),
        "{printed}"
    );
    let unset = loaded.print_unset_section::<Documented>();
    assert_eq!(
        unset,
        "# planner.file = \"/tmp/log\"  # not set; an example\n\
         # planner.programs.NAME.program = <text>  # required\n\
         #   [planner.programs.editor]\n\
         #   program = 'ed'\n\
         # planner.steps.kind = \"run\"  # required; an example\n\
         # planner.steps.program = <text>  # required\n"
    );
}
