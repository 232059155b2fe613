//! Invalid or malicious settings. The Planner refuses to start, with a message that names the setting, the problem and
//! the fix, and that never quotes a possible key. A missing key or address only disables its backend.

use std::cell::RefCell;
use std::io;
use std::path::Path;
use std::sync::Once;

use motorium_kit::config::{Environment, Section as _};
use motorium_kit::server::HealthCheck as _;
use motorium_planner::Settings;
use motorium_proto::service::{BackendState, Planner as _};

use crate::request::request;

fn refusal(settings: &str) -> String {
    let settings: Settings = match toml::from_str(settings) {
        Ok(settings) => settings,
        Err(error) => return error.to_string(),
    };
    match settings.resolve_in(&Environment::default()) {
        Ok(_) => panic!("it is accepted"),
        Err(error) => error.to_string(),
    }
}

#[track_caller]
fn check(settings: &str, parts: &[&str]) {
    let refusal = refusal(settings);
    for part in parts {
        assert!(refusal.contains(part), "`{part}` is not in {refusal}");
    }
    assert!(!refusal.contains("hunter2"), "{refusal}");
}

/// A self-hosted model with these provider settings.
fn own(provider: &str) -> String {
    format!(
        r#"
        backends = ["operator"]
        [backend.operator]
        provider = "own"
        model = "local-vl"
        [providers.own]
        {provider}
        "#
    )
}

#[test]
fn kinds_of_the_documented_examples_exist() {
    for example in Settings::EXAMPLES {
        let file: toml::Table = toml::from_str(example.toml).unwrap();
        let section = &file["planner"];
        let backends = section.get("backend").and_then(toml::Value::as_table);
        for (name, backend) in backends.into_iter().flatten() {
            let kind = backend["kind"].as_str().unwrap();
            let settings = format!("backends = [\"{name}\"]\nbackend.{name}.kind = \"{kind}\"");
            let refused = refusal(&settings);
            assert!(!refused.contains("unknown kind"), "{kind}: {refused}");
        }
    }
}

#[test]
fn backends_that_are_not_there() {
    check(
        r#"backends = ["claude-som"]"#,
        &[
            "planner.backends: unknown backend `claude-som`; known backends: phrasebook, recorded:FILE, claude_som",
            "define others in [planner.backend.NAME]",
        ],
    );
    check(
        r#"backends = ["operator"]"#,
        &[
            "planner.backend.operator: `provider` is missing; define one in [planner.providers.NAME] with its base_url",
        ],
    );
    check(
        r#"
        backends = ["local"]
        [backend.local]
        kind = "gpt"
        "#,
        &[
            "planner.backend.local.kind: unknown kind `gpt`; known kinds: claude_som (Claude with an annotated screenshot)",
        ],
    );
    check(
        r#"
        backends = ["operator"]
        [backend.operator]
        provider = "own"
        "#,
        &["planner.backend.operator: `model` is missing"],
    );
    check(
        r#"
        backends = ["operator"]
        [backend.operator]
        provider = "ownn"
        model = "m"
        [providers.own]
        base_url = "http://127.0.0.1:1"
        "#,
        &[
            "planner.backend.operator.provider: unknown provider `ownn`; known providers: anthropic, dashscope, openai, own",
        ],
    );
    check(
        r#"
        backends = ["claude_som"]
        [backend.claude_som]
        options = { max_element = 3 }
        "#,
        &[
            "planner.backend.claude_som.options: unknown field `max_element`, expected one of `max_elements`",
        ],
    );
    check(
        r#"
        backends = ["claude_computer"]
        [backend.claude_computer]
        options = { keeping = "sent" }
        "#,
        &["planner.backend.claude_computer.options: unknown field `keeping`"],
    );
}

#[test]
fn invalid_planner_numbers_are_refused() {
    check(
        "concurrency = 0",
        &["planner.concurrency must be greater than 0"],
    );
    check(
        "concurrency = 9223372036854775807",
        &["planner.concurrency must be at most 1000000"],
    );
    check("concurrency = -1", &["concurrency", "-1"]);
    check(
        "timeout = \"0s\"",
        &["planner.timeout must be greater than 0"],
    );
    check(
        "attempt_timeout = \"0ms\"",
        &["planner.attempt_timeout must be greater than 0"],
    );
    check(
        "timeout = \"5 parsecs\"",
        &["`5 parsecs` is not a duration", "such as 30s"],
    );
    check("retries = 2", &["unknown field `retries`"]);
}

#[test]
fn unusable_model_entries_are_refused() {
    let model = |what: &str| format!("[[models]]\nnames = [\"m\"]\n{what}");
    check(
        "[[models]]\nmax_output_tokens = 5",
        &["planner.models", "an entry has no `names`"],
    );
    for (what, part) in [
        (
            "max_output_tokens = 0",
            "(m): `max_output_tokens` must be greater than 0",
        ),
        (
            "max_images = 0",
            "`max_images` and `max_base64_bytes` must be greater than 0",
        ),
        (
            "max_base64_bytes = 0",
            "`max_images` and `max_base64_bytes` must be greater than 0",
        ),
        (
            "prices = { input = -1.0, output = 1.0 }",
            "(m): `prices` must be finite",
        ),
        (
            "prices = { input = nan, output = 1.0 }",
            "(m): `prices` must be finite",
        ),
        (
            "image_size = { smart_resize = { factor = 0 } }",
            "`factor` and `max_pixels` must be at least 1",
        ),
        (
            "image_size = { smart_resize = { min_pixels = 9, max_pixels = 8 } }",
            "`min_pixels` at most `max_pixels`",
        ),
        (
            "image_size = { within = { max_side = 0, max_pixels = 9 } }",
            "`max_side` and `max_pixels` must be greater than 0",
        ),
        (
            "computer_tool = \"computer_2030\"",
            "unknown variant `computer_2030`, expected one of `none`, `computer_20250124`",
        ),
        ("thinking = \"hard\"", "unknown variant `hard`"),
    ] {
        check(&model(what), &[part]);
    }
}

#[test]
fn invalid_provider_addresses_are_refused() {
    for (provider, part) in [
        (
            r#"base_url = "api.example.org/v1""#,
            "planner.providers.own.base_url: `api.example.org/v1` is not a valid URL (relative URL without a base); expected a URL such as https://host/v1",
        ),
        (
            r#"base_url = "localhost:8000/v1""#,
            "base_url has the scheme `localhost`; expected an http or https URL such as https://host/v1",
        ),
        (
            r#"base_url = "https://me:hunter2@example.org/v1""#,
            "planner.providers.own.base_url: it contains a user name or a password; put the key into a variable (key_env) or a file (key_file)",
        ),
        (
            r#"base_url = "//example.org/v1?key=hunter2""#,
            "planner.providers.own.base_url: not a valid URL",
        ),
        (
            "base_url = \"http://127.0.0.1:1\"\nproxy = \"http://me:hunter2@:x\"",
            "planner.providers.own: the proxy cannot be used: not a valid URL such as http://host:3128",
        ),
        (
            "base_url = \"http://127.0.0.1:1\"\nca_file = \"/nowhere/ca.pem\"",
            "planner.providers.own: cannot read the certificates in /nowhere/ca.pem",
        ),
    ] {
        check(&own(provider), &[part]);
    }
    check(
        r#"
        backends = ["claude_som"]
        [providers.anthropic]
        base_url = "http://127.0.0.1:1"
        anthropic_version = "2023-06-01\n"
        "#,
        &[
            "planner.providers.anthropic: anthropic_version or the key contains characters that are not allowed in a header",
        ],
    );
}

fn key_in(path: &Path) -> String {
    own(&format!(
        "base_url = \"http://127.0.0.1:1\"\nkey_file = \"{}\"",
        path.display()
    ))
}

#[test]
fn keys_that_cannot_be_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("key");
    check(
        &key_in(&path),
        &["the key in /", "/key cannot be read: No such file"],
    );
    check(&key_in(folder.path()), &["cannot be read: Is a directory"]);
    for (content, part) in [
        (&b"\n \n"[..], "is empty"),
        (b"hunter2\nhunter2\n", "one line of printable ASCII"),
        (b"\xEF\xBB\xBFhunter2", "contains invalid characters"),
        (
            b"\xFFhunter2",
            "cannot be read: stream did not contain valid UTF-8",
        ),
    ] {
        std::fs::write(&path, content).unwrap();
        check(&key_in(&path), &["planner.providers.own: the key", part]);
    }
    // The key itself in place of its variable or path.
    check(
        &own("base_url = \"http://127.0.0.1:1\"\nkey_env = \"sk-hunter2\""),
        &[
            "planner.providers.own.key_env must be the name of an environment variable",
            "not the key itself",
        ],
    );
    check(
        &own("base_url = \"http://127.0.0.1:1\"\nkey_file = \"sk-hunter2\""),
        &["the file in key_file cannot be read", "not the key itself"],
    );
}

#[test]
fn invalid_certificates_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ca.pem");
    std::fs::write(&path, "not a certificate").unwrap();
    let provider = format!(
        "base_url = \"https://127.0.0.1:1\"\nca_file = \"{}\"",
        path.display()
    );
    check(&own(&provider), &["there is no certificate in", "ca.pem"]);
}

#[test]
fn templates_that_cannot_be_used() {
    let folder = tempfile::tempdir().unwrap();
    let system = folder.path().join("en/som_system.jinja");
    std::fs::create_dir(folder.path().join("en")).unwrap();
    let settings = format!("prompts = \"{}\"", folder.path().display());
    for (text, part) in [
        ("{{ language", "en/som_system cannot be used: syntax error"),
        (
            "{{ langauge }}",
            "en/som_system.jinja uses the unknown value `langauge`",
        ),
        (
            "{% include \"../../etc/passwd\" %}{{ langauge }}",
            "uses the unknown value `langauge`",
        ),
    ] {
        std::fs::write(&system, text).unwrap();
        check(&settings, &["planner.prompts: the prompt template", part]);
    }
    check(
        "prompts = \"/nowhere/prompts\"",
        &["planner.prompts: the prompts in /nowhere/prompts cannot be read: No such file"],
    );
}

#[tokio::test]
async fn backend_without_a_key_does_not_disable_the_others() {
    let settings: Settings =
        toml::from_str(r#"backends = ["claude_som", "openai_computer", "phrasebook"]"#).unwrap();
    let planner = settings.resolve_in(&Environment::default()).unwrap();
    let listed = planner.list_backends().await.unwrap();
    let states: Vec<_> = listed
        .iter()
        .map(|backend| {
            (
                backend.state,
                backend.last_error.as_deref().unwrap_or_default(),
            )
        })
        .collect();
    assert_eq!(
        states,
        [
            (
                BackendState::NotConfigured,
                "no key found: set $ANTHROPIC_API_KEY, or planner.providers.anthropic.key_file"
            ),
            (
                BackendState::NotConfigured,
                "no key found: set $OPENAI_API_KEY, or planner.providers.openai.key_file"
            ),
            (BackendState::Ready, ""),
        ]
    );
    let planned = planner
        .plan(request(r#"click "Save""#, r#"button 20,20 80x30 "Save""#))
        .await
        .unwrap();
    assert_eq!(planned.decision.backend, "phrasebook");
    let reasons: Vec<&str> = planned
        .attempts
        .iter()
        .map(|attempt| &*attempt.reason)
        .collect();
    assert_eq!(reasons, ["NOT_CONFIGURED", "NOT_CONFIGURED"]);
}

thread_local! {
    /// The log of this thread, as the user sees it.
    static LOG: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Writes to the log of this thread.
struct ThreadLog;

impl io::Write for ThreadLog {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        LOG.with_borrow_mut(|log| log.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Returns the log of using these settings.
fn logged(settings: &str) -> String {
    // One subscriber for all tests: lines that a test meets while there is none stay switched off for a while.
    static SUBSCRIBER: Once = Once::new();
    SUBSCRIBER.call_once(|| {
        let subscriber = tracing_subscriber::fmt()
            .with_ansi(false)
            .with_writer(|| ThreadLog)
            .finish();
        tracing::subscriber::set_global_default(subscriber).unwrap();
    });
    let settings: Settings = toml::from_str(settings).unwrap();
    LOG.take();
    settings.resolve_in(&Environment::default()).unwrap();
    String::from_utf8(LOG.take()).unwrap()
}

#[test]
fn unknown_model_is_used_with_a_warning() {
    let log = logged(&own("base_url = \"http://127.0.0.1:9/v1\""));
    assert!(
        log.contains("WARN")
            && log.contains("the model is not in the model table")
            && log.contains("backend=\"operator\"")
            && log.contains("model=\"local-vl\""),
        "{log}"
    );
    let known = format!(
        "{}\n[[models]]\nnames = [\"local-vl\"]",
        own("base_url = \"http://127.0.0.1:9/v1\"")
    );
    assert_eq!(logged(&known), "");
}

#[tokio::test]
async fn a_planner_without_a_configured_backend_cannot_work() {
    let settings: Settings =
        toml::from_str(r#"backends = ["claude_som", "openai_computer"]"#).unwrap();
    let planner = settings.resolve_in(&Environment::default()).unwrap();
    let problem = planner.check().await.unwrap_err();
    for key in [
        "claude_som: no key found",
        "$ANTHROPIC_API_KEY",
        "$OPENAI_API_KEY",
    ] {
        assert!(problem.contains(key), "{problem}");
    }
    let settings: Settings = toml::from_str(r#"backends = ["claude_som", "phrasebook"]"#).unwrap();
    let planner = settings.resolve_in(&Environment::default()).unwrap();
    assert_eq!(planner.check().await, Ok(()));
}
