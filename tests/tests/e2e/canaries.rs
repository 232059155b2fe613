//! Secrets of each class, planted in one running product, each with a value that is nowhere else: after a task that uses them they
//! are searched for wherever Motorium and the programs on its desktop leave something.
//!
//! Not searched: pixels. That screenshots are redacted is shown by what is read in them, which is in the events and requests.

use std::collections::BTreeMap;
use std::fs;
use std::net::SocketAddr;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse as _, Response};
use axum::{Json, Router};
use motorium_kit::http_client;
use motorium_tests::desktop::TestDesktop;
use motorium_tests::page_server::{PageServer, serve_application};
use motorium_tests::programs::{self, ProgramResult};
use motorium_tests::services::{AllInOne, Server, TestSetup};
use reqwest::RequestBuilder;
use serde_json::{Value, json};

const PROVIDER_KEY: &str = "juniperwalrus";
const SECRET_OF_VARIABLE: &str = "thimbleotter";
const SECRET_OF_FILE: &str = "pewterheron";
const DESKTOP_TOKEN: &str = "saffronbadger";
const TOOL_KEY: &str = "turnipgazelle";
const PROXY_PASSWORD: &str = "velvetmarmot";
/// Typed by the model itself into the field for passwords.
const TYPED_PASSWORD: &str = "gravelpigeon";
/// Shown by `canaries.html`, and redacted: the number of a card and an address of mail.
const CARD: &str = "4111 1111";
const EMAIL: &str = "marigold@";
/// Shown by `canaries.html` to everybody: the search is of use only where it finds this.
const PUBLIC: &str = "Lighthouse keeper";

/// Answer of the task to the user.
const ANSWER: &str = "It is signed in.";

/// Time between two looks at the processes.
const LOOK_INTERVAL: Duration = Duration::from_millis(250);

/// A value that is searched for.
struct Canary {
    class: &'static str,
    value: String,
    /// Places where it is on purpose, by their beginnings. It is found in each of them.
    kept: &'static [&'static str],
    /// Places where it may be.
    tolerated: &'static [&'static str],
}

fn canary(class: &'static str, value: impl Into<String>, kept: &'static [&'static str]) -> Canary {
    Canary {
        class,
        value: value.into(),
        kept,
        tolerated: &[],
    }
}

/// Returns a canary on a page. The browser may keep pages that it has loaded in its own profile.
fn on_page(class: &'static str, value: &str) -> Canary {
    Canary {
        tolerated: &["file data/desktop/"],
        ..canary(class, value, &[])
    }
}

/// Each canary, with the places that have to have it.
fn canaries(loopback_token: &str, browser: &LoggedIn) -> Vec<Canary> {
    // The service has it from its environment, which only this user and programs outside of the desktop can read.
    const OWN_ENVIRONMENT: &[&str] = &["environment of motorium up"];
    vec![
        canary("key of a provider", PROVIDER_KEY, OWN_ENVIRONMENT),
        canary("secret of a variable", SECRET_OF_VARIABLE, OWN_ENVIRONMENT),
        canary("token for other services", DESKTOP_TOKEN, OWN_ENVIRONMENT),
        // Its file, which no other user can read.
        canary("secret of a file", SECRET_OF_FILE, &["file secrets/vault"]),
        canary(
            "token of the user",
            loopback_token,
            &["file of the user .local/state/motorium/token"],
        ),
        // The program that it is for, and the service that starts it.
        canary(
            "key of a tool's program",
            TOOL_KEY,
            &["environment of motorium up", "environment of python3"],
        ),
        Canary {
            // Without it the browser reaches nothing (docs/threat-model.md, "Not defended").
            tolerated: &["environment of "],
            ..canary("password of a proxy", PROXY_PASSWORD, OWN_ENVIRONMENT)
        },
        // The model's own words are the record of its task: people approve them, and a replay repeats them.
        canary(
            "text typed into a field for passwords",
            TYPED_PASSWORD,
            &[
                "events",
                "answer to GET /api/v1/tasks/",
                "answer to GET /api/export/tasks/",
                "requests to the provider",
                "export events.jsonl",
                "export steps.jsonl",
                "export requests/",
                "export responses/",
                "export recording/",
                "file data/blobs/",
                "file data/tasks.db",
            ],
        ),
        // Printed for the user, who opens it once.
        canary(
            "code of a login link",
            &browser.code,
            &["output of motorium up"],
        ),
        canary("secret of a browser's session", &browser.session, &[]),
        on_page("number of a card on a page", CARD),
        on_page("address of mail on a page", EMAIL),
        Canary {
            tolerated: &[""],
            ..canary(
                "text for everybody",
                PUBLIC,
                &[
                    "events",
                    "requests to the provider",
                    "export requests/",
                    "export scenes/",
                    "export recording/",
                    "file data/blobs/",
                    "file data/desktop/",
                ],
            )
        },
        // What the task ended with, to see that the answers of the gateway are those of this task.
        Canary {
            tolerated: &[""],
            ..canary(
                "answer of the task",
                ANSWER,
                &["answer to GET /api/v1/tasks/", "answer to MCP get_task"],
            )
        },
    ]
}

/// Texts by the places where they were found.
#[derive(Default)]
struct Places(BTreeMap<String, String>);

impl Places {
    /// Adds a content without its zeros, so that texts of two bytes per letter are found too.
    fn add(&mut self, place: impl Into<String>, content: &[u8]) {
        let text = String::from_utf8_lossy(content).replace('\0', "");
        self.0.entry(place.into()).or_default().push_str(&text);
    }

    /// Adds all files below a folder that are on its device, and follows no links.
    fn add_folder(&mut self, place: &str, folder: &Path) {
        let device = fs::metadata(folder).expect("the folder exists").dev();
        let mut rest = vec![folder.to_owned()];
        while let Some(path) = rest.pop() {
            // Programs that still run may remove their files meanwhile.
            let Ok(found) = path.symlink_metadata() else {
                continue;
            };
            let kind = found.file_type();
            if kind.is_dir() && found.dev() == device {
                let entries = fs::read_dir(&path).into_iter().flatten().flatten();
                rest.extend(entries.map(|entry| entry.path()));
            }
            let is_read = kind.is_file().then(|| fs::read(&path).ok()).flatten();
            let Some(mut content) = is_read else { continue };
            let below = path.strip_prefix(folder).expect("it is below the folder");
            if path.extension().is_some_and(|ending| ending == "zst") {
                content = zstd::stream::decode_all(&content[..]).expect("the recording is whole");
            }
            self.add(format!("{place} {}", below.display()), &content);
        }
    }

    /// Adds what the processes of `motorium up` were started with, which other programs can read.
    fn add_processes(&mut self, up: &AllInOne) {
        let read = |id: u32, file: &str| fs::read(format!("/proc/{id}/{file}")).unwrap_or_default();
        let own_id = up.process.id();
        let own_arguments = read(own_id, "cmdline");
        self.add("arguments of motorium up", &own_arguments);
        self.add("environment of motorium up", &read(own_id, "environ"));
        for (id, name) in programs::descendants(own_id) {
            // The arguments first: a process that has those of `up` is not yet the program that it will be.
            let arguments = read(id, "cmdline");
            if arguments != own_arguments {
                self.add(format!("arguments of {name}"), &arguments);
                self.add(format!("environment of {name}"), &read(id, "environ"));
            }
        }
    }

    /// Adds the folders for temporary files that programs on the desktop have for themselves.
    fn add_temporary_files(&mut self, up: &AllInOne) {
        let of_machine = fs::metadata("/tmp").expect("there is /tmp");
        let mut known = vec![(of_machine.dev(), of_machine.ino())];
        for id in programs::descendants(up.process.id()).into_keys() {
            let folder = Path::new("/proc").join(id.to_string()).join("root/tmp");
            let Ok(found) = fs::metadata(&folder) else {
                continue;
            };
            let identity = (found.dev(), found.ino());
            if !known.contains(&identity) {
                known.push(identity);
                self.add_folder("temporary file of the desktop", &folder);
            }
        }
        assert!(
            known.len() > 1,
            "the desktop has temporary files of its own"
        );
    }

    /// Returns where a canary is although it should not be, and the places that lack it.
    fn findings(&self, canary: &Canary) -> Vec<String> {
        let holding = self.0.iter();
        let holding = holding.filter(|(_, text)| text.contains(&canary.value));
        let holding: Vec<&String> = holding.map(|(place, _)| place).collect();
        let leaks = holding.iter().filter(|place| {
            let mut allowed = canary.kept.iter().chain(canary.tolerated);
            !allowed.any(|allowed| place.starts_with(allowed))
        });
        let leaks = leaks.map(|place| format!("{}: leaked to {place}", canary.class));
        let missing = canary.kept.iter();
        let missing = missing.filter(|kept| !holding.iter().any(|place| place.starts_with(*kept)));
        let missing = missing.map(|kept| format!("{}: not found in {kept}", canary.class));
        leaks.chain(missing).collect()
    }
}

/// A provider that repeats the key of each request, and whose model signs in on the page.
#[derive(Debug)]
struct Provider {
    url: String,
    record: Arc<Mutex<Record>>,
}

#[derive(Debug)]
struct Record {
    page: String,
    requests: Vec<String>,
    decisions: usize,
}

fn locked(record: &Mutex<Record>) -> MutexGuard<'_, Record> {
    record.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Provider {
    async fn start(page: String) -> Self {
        let record = Record {
            page,
            requests: Vec::new(),
            decisions: 0,
        };
        let record = Arc::new(Mutex::new(record));
        let application = Router::new()
            .fallback(answer)
            .with_state(Arc::clone(&record));
        let (address, _) = serve_application(application).await;
        let url = format!("http://{address}/v1");
        Self { url, record }
    }
}

async fn answer(
    State(record): State<Arc<Mutex<Record>>>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let mut record = locked(&record);
    let request = String::from_utf8_lossy(&body).into_owned();
    record.requests.push(request.clone());
    let key = headers["authorization"].to_str().unwrap();
    assert!(key.contains(PROVIDER_KEY), "the task uses the key");
    if record.requests.len() == 1 {
        let words = format!("{key} asks too often");
        let error = json!({"error": {"type": "rate_limit_error", "message": words}});
        let wait = [("retry-after", "1")];
        return (StatusCode::TOO_MANY_REQUESTS, wait, Json(error)).into_response();
    }
    let text = match request.contains("You check where the mouse pointer is") {
        true => json!({"on_target": true, "dx": 0, "dy": 0}),
        false => record.decision(&request),
    };
    let message = json!({"finish_reason": "stop", "message": {"content": text.to_string()}});
    let usage = json!({"prompt_tokens": 100, "completion_tokens": 10});
    Json(json!({"choices": [message], "usage": usage, "authorization": key})).into_response()
}

impl Record {
    fn decision(&mut self, request: &str) -> Value {
        let act = |actions: &[Value]| json!({"next": "act", "actions": actions});
        let is_shown = request.contains("Reference");
        if self.decisions == 1 && !is_shown {
            return act(&[json!({"intent": "wait", "action": "wait", "amount": 500})]);
        }
        self.decisions += 1;
        let enter = |field: &str, text: &str| {
            let element = element_called(request, field);
            act(&[
                json!({"intent": format!("click {field}"), "action": "click", "element_id": element}),
                json!({"intent": format!("fill {field}"), "action": "type_text", "text": text}),
            ])
        };
        match self.decisions {
            1 => {
                act(&[json!({"intent": "open the page", "action": "open_url", "text": self.page})])
            }
            2 => enter("Password", TYPED_PASSWORD),
            3 => enter("Account", "secret:bank"),
            4 => enter("Reference", "secret:vault"),
            5 => {
                json!({"next": "call_function", "function": "notes_note", "arguments": r#"{"text": "signed in"}"#})
            }
            _ => json!({"next": "done", "message": ANSWER, "evidence": [PUBLIC]}),
        }
    }
}

/// Returns the number of the element with this text in the list of a request.
fn element_called(request: &str, label: &str) -> u32 {
    let request: Value = serde_json::from_str(request).unwrap();
    let text = request["messages"][1]["content"][0]["text"]
        .as_str()
        .unwrap();
    let is_label = |line: &&str| line.starts_with('[') && line.contains(label);
    let line = text.lines().find(is_label);
    let line = line.unwrap_or_else(|| panic!("{label} is not in\n{text}"));
    line[1..].split(']').next().unwrap().parse().unwrap()
}

/// Returns the setup with a secret of each class.
fn setup(desktop: &TestDesktop) -> TestSetup {
    let mut setup = TestSetup::on(desktop);
    let proxy = format!("http://ann:{PROXY_PASSWORD}@127.0.0.1:9");
    let folder = setup.data().parent().unwrap().to_owned();
    let temporary = folder.join("temporary");
    for (name, value) in [
        ("KEY_OF_PROVIDER", PROVIDER_KEY),
        ("MOTORIUM_SECRET_BANK", SECRET_OF_VARIABLE),
        ("MOTORIUM_CLIENT__TOKEN", DESKTOP_TOKEN),
        ("MOTORIUM_LOG__LEVEL", "debug"),
        ("HTTP_PROXY", proxy.as_str()),
        ("NO_PROXY", "127.0.0.1,localhost"),
        ("TMPDIR", temporary.to_str().unwrap()),
    ] {
        setup.environment.insert(name.to_owned(), value.to_owned());
    }
    let environment = format!("{{ NOTES_KEY = \"{TOOL_KEY}\" }}");
    let name = "MOTORIUM_ORCHESTRATOR__TOOLS__NOTES__ENVIRONMENT".to_owned();
    setup.environment.insert(name, environment);
    for created in [&temporary, &folder.join("secrets")] {
        fs::create_dir(created).unwrap();
        fs::set_permissions(created, fs::Permissions::from_mode(0o700)).unwrap();
    }
    let vault = folder.join("secrets/vault");
    fs::write(&vault, SECRET_OF_FILE).unwrap();
    fs::set_permissions(&vault, fs::Permissions::from_mode(0o600)).unwrap();
    setup
}

async fn start(setup: TestSetup, provider: &Provider) -> AllInOne {
    let secrets = setup.data().parent().unwrap().join("secrets");
    let notes = motorium_tests::root().join("services/orchestrator/tests/loop/support/notes.py");
    let settings = [
        "planner.backends=[\"operator\"]".to_owned(),
        "planner.backend.operator.provider=own".to_owned(),
        "planner.backend.operator.model=local-vl".to_owned(),
        "planner.providers.own.key_env=KEY_OF_PROVIDER".to_owned(),
        format!("planner.providers.own.base_url={}", provider.url),
        format!("executor.secrets={}", secrets.display()),
        "executor.secret_allowed_windows={ \"*\" = [\"anywhere\"] }".to_owned(),
        format!(
            "orchestrator.tools.notes.command=[\"python3\", \"{}\"]",
            notes.display()
        ),
        "orchestrator.hooks=[{ kind = \"redaction\", redact = [\"card_numbers\", \"email_addresses\"] }]"
            .to_owned(),
        "desktop.isolation=required".to_owned(),
    ];
    let settings = settings.map(|setting| format!("--set={setting}"));
    let mut arguments: Vec<&str> = settings.iter().map(String::as_str).collect();
    arguments.push("--virtual-desktop");
    AllInOne::start(setup, &arguments).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_secret_leaves_the_places_that_it_is_for() {
    let other = TestDesktop::start().await;
    let site = PageServer::serve().await;
    let provider = Provider::start(site.url("canaries.html")).await;
    let mut up = start(setup(&other), &provider).await;
    // Commands find the token of the user, and have none of these.
    let of_service = [
        "MOTORIUM_CLIENT__TOKEN",
        "MOTORIUM_SECRET_BANK",
        "KEY_OF_PROVIDER",
    ];
    up.setup
        .environment
        .retain(|name, _| !of_service.contains(&name.as_str()));

    let mut places = Places::default();
    let run = [
        "run",
        "--server",
        &up.url,
        "--json",
        "--tool",
        "notes",
        "--session",
        "sessions/canaries",
        "--max-time",
        "90s",
        "Sign in",
    ];
    let running = up.setup.motorium(&run);
    tokio::pin!(running);
    let ended = loop {
        tokio::select! {
            ended = &mut running => break ended,
            () = tokio::time::sleep(LOOK_INTERVAL) => places.add_processes(&up),
        }
    };
    assert_eq!(ended.code, Some(0), "{ended:?}");
    places.add_processes(&up);
    places.add_temporary_files(&up);
    places.add("events", ended.stdout.as_bytes());
    places.add("log of motorium run", ended.stderr.as_bytes());
    places.add(
        "requests to the provider",
        locked(&provider.record).requests.concat().as_bytes(),
    );
    add_exports(&mut places, &up).await;
    let browser = LoggedIn::by_link(&up).await;
    browser.add_answers(&mut places).await;
    for (place, output) in [("log", &up.process.stderr), ("output", &up.process.stdout)] {
        let lines = output.lines().join("\n");
        places.add(format!("{place} of motorium up"), lines.as_bytes());
    }
    let folder = up.setup.data().parent().unwrap().to_owned();
    places.add_folder("file", &folder);
    places.add_folder("file of the user", other.home());

    let token = fs::read_to_string(other.home().join(".local/state/motorium/token")).unwrap();
    let findings = canaries(token.trim(), &browser).into_iter();
    let findings: Vec<String> = findings
        .flat_map(|canary| places.findings(&canary))
        .collect();
    assert!(findings.is_empty(), "{findings:#?}");
    assert!(
        places
            .0
            .keys()
            .any(|place| place.starts_with("file data/desktop"))
    );
    assert!(places.0.keys().any(|place| place.contains("journal")));
}

/// Adds what commands print and export of the task and its session.
async fn add_exports(places: &mut Places, up: &AllInOne) {
    let names = ["tasks", "list", "--names", "--server", &up.url];
    let names = up.setup.motorium(&names).await;
    let task = names.stdout.trim();
    let folder = tempfile::tempdir().unwrap();
    let to = folder.path().join("task");
    let to = to.to_str().unwrap();
    for command in [
        &["tasks", "show", task][..],
        &["tasks", "export", task, "--to", to],
        &["sessions", "export", "sessions/canaries"],
    ] {
        let server = ["--server", &up.url];
        let ended = up.setup.motorium(&[command, &server].concat()).await;
        assert_eq!(ended.code, Some(0), "{ended:?}");
        let words = command[..2].join(" ");
        places.add(format!("output of {words}"), ended.stdout.as_bytes());
        places.add(format!("log of {words}"), ended.stderr.as_bytes());
    }
    places.add_folder("export", Path::new(to));
}

/// A browser that is logged in, and what it holds.
struct LoggedIn {
    client: reqwest::Client,
    base: String,
    code: String,
    cookie: String,
    /// Secret in the cookie.
    session: String,
}

impl LoggedIn {
    async fn by_link(up: &AllInOne) -> Self {
        let (base, code) = up.login_link.split_once("/login?code=").unwrap();
        let (host, _) = base.split_once("://").unwrap().1.split_once(':').unwrap();
        // Browsers resolve names below `localhost` themselves.
        let loopback = SocketAddr::from(([127, 0, 0, 1], 0));
        let client = http_client::plaintext().unwrap().resolve(host, loopback);
        let client = client.build().unwrap();
        let response = client.get(&up.login_link).send().await.unwrap();
        let cookie = response.headers()["set-cookie"].to_str().unwrap();
        let cookie = cookie.split(';').next().unwrap();
        let (_, session) = cookie.split_once('=').unwrap();
        Self {
            client,
            base: base.to_owned(),
            code: code.to_owned(),
            cookie: cookie.to_owned(),
            session: session.to_owned(),
        }
    }

    fn with_session(&self, request: RequestBuilder) -> RequestBuilder {
        request
            .header("cookie", &self.cookie)
            .header("origin", &self.base)
    }

    async fn get(&self, path: &str) -> String {
        let request = self.client.get(format!("{}{path}", self.base));
        let response = self.with_session(request).send().await.unwrap();
        assert!(response.status().is_success(), "{path}: {response:?}");
        response.text().await.unwrap()
    }

    /// Calls a tool of the MCP server, in the version of the protocol without sessions.
    async fn call_tool(&self, name: &str, arguments: Value) -> String {
        const VERSION: &str = "2026-07-28";
        let about = json!({
            "io.modelcontextprotocol/protocolVersion": VERSION,
            "io.modelcontextprotocol/clientCapabilities": {},
            "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        });
        let params = json!({"name": name, "arguments": arguments, "_meta": about});
        let message = json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params});
        let request = self.client.post(format!("{}/mcp", self.base));
        let request = self.with_session(request);
        let request = request
            .header("accept", "application/json, text/event-stream")
            .header("mcp-protocol-version", VERSION)
            .header("mcp-method", "tools/call")
            .header("mcp-name", name);
        let response = request.json(&message).send().await.unwrap();
        response.text().await.unwrap()
    }

    /// Adds what the gateway answers about the task, its session and the desktop.
    async fn add_answers(&self, places: &mut Places) {
        let tasks = self.get("/api/v1/tasks").await;
        let tasks: Value = serde_json::from_str(&tasks).unwrap();
        let task = tasks["tasks"][0]["name"].as_str().unwrap();
        let of_task = format!("/api/v1/{task}");
        for path in [
            "/api/v1/tasks",
            &of_task,
            &format!("{of_task}/steps"),
            &format!("{of_task}/approvals"),
            "/api/v1/sessions/canaries",
            "/api/v1/desktops",
            "/api/v1/policy",
            "/api/session",
            &format!("/api/export/{task}"),
        ] {
            places.add(
                format!("answer to GET {path}"),
                self.get(path).await.as_bytes(),
            );
        }
        let arguments = json!({"task": task, "wait_seconds": 0});
        let answer = self.call_tool("get_task", arguments).await;
        places.add("answer to MCP get_task", answer.as_bytes());
        let answer = self.call_tool("list_tasks", json!({})).await;
        places.add("answer to MCP list_tasks", answer.as_bytes());
    }
}

const CALLER_TOKEN: &str = "cobaltferret-of-a-caller";
const SERVER_TOKEN: &str = "maplelynx-of-the-server";
/// Signature of an access token that no issuer has signed.
const ACCESS_TOKEN: &str = "e30.e30.sorrelstork";
const DATABASE_PASSWORD: &str = "umberquail";

/// Writes a file that only this user can read.
fn write_private(path: &Path, content: &str) {
    fs::write(path, content).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o600)).unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn secrets_of_callers_and_of_the_server_are_in_no_record_and_no_output() {
    let mut setup = TestSetup::without_display();
    let level = ("MOTORIUM_LOG__LEVEL".to_owned(), "debug".to_owned());
    setup.environment.extend([level]);
    let folder = setup.data().parent().unwrap().join("secrets");
    fs::create_dir(&folder).unwrap();
    let file = |name: &str| folder.join(name);
    let pair = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
    let key = pair.signing_key.serialize_pem();
    let line_of_key = key.lines().nth(1).unwrap().to_owned();
    let callers = format!(
        "[[caller]]\nname = 'one'\nroles = ['author', 'viewer']\ntoken = '{CALLER_TOKEN}'\n"
    );
    for (name, content) in [
        ("callers.toml", callers.as_str()),
        ("token", SERVER_TOKEN),
        ("caller", CALLER_TOKEN),
        ("access", ACCESS_TOKEN),
        ("tls.key", &key),
        ("tls.crt", &pair.cert.pem()),
        ("jwks.json", "{\"keys\": []}"),
    ] {
        write_private(&file(name), content);
    }
    let path = |name: &str| file(name).display().to_string();
    let settings = [
        format!("server.callers_file={}", path("callers.toml")),
        format!("server.token_file={}", path("token")),
        format!("server.tls_key={}", path("tls.key")),
        format!("server.tls_certificate={}", path("tls.crt")),
        "server.jwt.issuer=https://issuer.example/".to_owned(),
        "server.jwt.audience=motorium".to_owned(),
        format!("server.jwt.jwks_file={}", path("jwks.json")),
    ];
    let server = Server::start(&setup, "orchestrator", &settings).await;
    let url = format!("https://{}", server.address);
    let authority = format!("--set=client.tls_ca={}", path("tls.crt"));
    let mut places = Places::default();
    let mut add = |what: String, ended: ProgramResult| {
        places.add(format!("output of {what}"), ended.stdout.as_bytes());
        places.add(format!("log of {what}"), ended.stderr.as_bytes());
        ended.code
    };
    for (token, expected) in [("caller", 0), ("token", 0), ("access", 2)] {
        let token_file = format!("--set=client.token_file={}", path(token));
        let run = ["run", "--detach", "click \"Save\"", "--server", &url];
        let command = [&[token_file.as_str(), &authority][..], &run].concat();
        let ended = setup.motorium(&command).await;
        assert_eq!(ended.code, Some(expected), "{token}: {ended:?}");
        add(format!("motorium run with {token}"), ended);
    }
    let given: Vec<String> = settings.iter().map(|one| format!("--set={one}")).collect();
    let given: Vec<&str> = given.iter().map(String::as_str).collect();
    let shown = setup.motorium(&[&given[..], &["config"]].concat()).await;
    assert_eq!(add("motorium config".to_owned(), shown), Some(0));
    let exported = setup.motorium(&["audit", "export"]).await;
    assert_eq!(add("motorium audit export".to_owned(), exported), Some(0));

    // A database that is not there: its address is named in errors.
    let address = format!("postgres://ann:{DATABASE_PASSWORD}@127.0.0.1:9/motorium");
    write_private(&file("store"), &address);
    let database = ("MOTORIUM_STORE__TASKS".to_owned(), address);
    setup.environment.extend([database]);
    let mut orchestrator = setup.command("motorium-orchestrator");
    orchestrator.arg("--set=orchestrator.listen=127.0.0.1:0");
    let ended = programs::run(orchestrator).await;
    assert_ne!(ended.code, Some(0), "{ended:?}");
    assert!(ended.stderr.contains("127.0.0.1:9"), "{ended:?}");
    add("motorium-orchestrator".to_owned(), ended);
    let shown = setup.motorium(&["config"]).await;
    assert!(shown.stdout.contains("127.0.0.1:9"), "{shown:?}");
    add("motorium config of the database".to_owned(), shown);

    let id = server.process.id();
    for (place, output) in [
        ("log of the server", &server.process.stderr),
        ("output of the server", &server.process.stdout),
    ] {
        places.add(place, output.lines().join("\n").as_bytes());
    }
    for of_process in ["cmdline", "environ"] {
        let content = fs::read(format!("/proc/{id}/{of_process}")).unwrap();
        places.add(format!("{of_process} of the server"), &content);
    }
    places.add_folder("file", setup.data().parent().unwrap());
    let check = |class, value: &str, kept| {
        let found = places.findings(&canary(class, value, kept));
        assert!(found.is_empty(), "{found:#?}");
    };
    check(
        "token of a caller",
        CALLER_TOKEN,
        &["file secrets/callers.toml", "file secrets/caller"],
    );
    check("token of the server", SERVER_TOKEN, &["file secrets/token"]);
    check("access token", "sorrelstork", &["file secrets/access"]);
    check(
        "key of a certificate",
        &line_of_key,
        &["file secrets/tls.key"],
    );
    check(
        "password of a database",
        DATABASE_PASSWORD,
        &["file secrets/store"],
    );
    // The calls are recorded, and the search is of use.
    let audit = &places.0["output of motorium audit export"];
    assert!(
        audit.contains("CreateTask") && audit.contains("\"one\""),
        "{audit}"
    );
}
