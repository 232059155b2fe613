//! Access: sessions, links, tokens, hosts and origins, attacked as other pages and users would.

use http::header;
use motorium_gateway::Settings;
use serde_json::{Value, json};

use crate::support::{TOKEN, TestGateway, until};

/// Paths and methods of all interfaces.
const INTERFACES: [(&str, &str); 19] = [
    ("GET", "/api/session"),
    ("POST", "/api/login-links"),
    ("POST", "/api/logout"),
    ("POST", "/api/uploads"),
    ("GET", "/api/artifacts/tasks/t1/artifacts/image"),
    ("GET", "/api/export/tasks/t1"),
    ("GET", "/api/desktops/local/live"),
    ("GET", "/api/watch/sessions/s1"),
    ("GET", "/api/operate/tasks/t1"),
    ("GET", "/api/live/tasks/t1"),
    (
        "POST",
        "/api/desktops/local/motorium.perception.v1.PerceptionService/Capture",
    ),
    (
        "POST",
        "/motorium.orchestrator.v1.OrchestratorService/ListTasks",
    ),
    ("POST", "/api/chat/send"),
    ("GET", "/api/chat/stream?session_id=s1"),
    ("POST", "/task"),
    ("GET", "/api/openapi.json"),
    ("GET", "/api/v1/tasks/t1/frame"),
    ("POST", "/mcp"),
    ("GET", "/mcp"),
];

async fn assert_all_refused(gateway: &TestGateway, headers: &[(&str, &str)]) {
    for (method, path) in INTERFACES {
        let request = gateway
            .client
            .request(method.parse().unwrap(), gateway.url(path));
        let request = headers.iter().fold(request, |request, (name, value)| {
            request.header(*name, *value)
        });
        let response = request.send().await.unwrap();
        assert_eq!(response.status(), 401, "{method} {path} with {headers:?}");
        let error: Value = response.json().await.unwrap();
        assert!(
            !error["error"]["message"].as_str().unwrap().is_empty(),
            "{path}"
        );
    }
}

#[tokio::test]
async fn nothing_is_served_without_a_session_or_a_token() {
    let gateway = TestGateway::start().await;
    assert_all_refused(&gateway, &[]).await;
    let cookie = format!("motorium_session_{}=guessed", gateway.address.port());
    assert_all_refused(&gateway, &[("cookie", &cookie)]).await;
    assert_all_refused(&gateway, &[("authorization", "Bearer wrong")]).await;
    let acting = ["CreateTask", "UploadFile", "StreamFrames", "GetArtifact"];
    let called = gateway.services.methods.lock().unwrap().clone();
    assert!(
        called
            .iter()
            .all(|method| !acting.contains(&method.as_str())),
        "{called:?}"
    );
}

#[tokio::test]
async fn a_link_opens_one_session_and_the_caller_is_passed_on() {
    let gateway = TestGateway::start().await;
    let link = gateway.gateway.login_link().unwrap();
    let preview = gateway.client.head(&link).send().await.unwrap();
    assert_eq!(
        preview.status(),
        405,
        "a preview of the link must not use it up"
    );
    let response = gateway.client.get(&link).send().await.unwrap();
    assert_eq!(response.headers()[header::LOCATION], "/");
    let cookie = response.headers()[header::SET_COOKIE]
        .to_str()
        .unwrap()
        .to_owned();
    for part in ["HttpOnly", "SameSite=Strict", "Path=/"] {
        assert!(cookie.contains(part), "{cookie}");
    }
    assert!(!cookie.contains(TOKEN));
    let pair = cookie.split(';').next().unwrap();

    let again = gateway.client.get(&link).send().await.unwrap();
    assert_eq!(again.headers()[header::LOCATION], "/?login=expired");
    assert!(!again.headers().contains_key(header::SET_COOKIE));

    let created = gateway
        .post("/task")
        .header("cookie", pair)
        .json(&json!({"instruction": "click"}));
    assert_eq!(created.send().await.unwrap().status(), 201);
    let expected = Some(format!("Bearer {TOKEN}"));
    let authorizations = gateway.services.authorizations.lock().unwrap().clone();
    assert_eq!(authorizations.last().unwrap(), &expected);
}

#[tokio::test]
async fn a_page_cannot_log_its_visitor_in_to_a_session_of_its_own() {
    let gateway = TestGateway::start().await;
    let link = gateway.gateway.login_link().unwrap();
    let code = link.rsplit('=').next().unwrap();
    for site in ["cross-site", "same-site"] {
        let request = gateway.client.get(&link).header("sec-fetch-site", site);
        let response = request.send().await.unwrap();
        assert_eq!(response.status(), 200, "{site}");
        assert!(
            !response.headers().contains_key(header::SET_COOKIE),
            "{site}"
        );
        assert_eq!(response.headers()["x-frame-options"], "DENY");
        let text = response.text().await.unwrap();
        assert!(
            text.contains(&format!("href=\"/login?code={code}\"")),
            "{text}"
        );
    }
    let hostile = "/login?code=%22%3E%3Cscript%3E";
    let request = gateway.get(hostile).header("sec-fetch-site", "cross-site");
    assert_eq!(request.send().await.unwrap().status(), 303);
    // The person follows the link of the question, or opens the link from a terminal.
    let asked = gateway.client.get(&link);
    let asked = asked.header("sec-fetch-site", "same-origin").send();
    assert!(
        asked
            .await
            .unwrap()
            .headers()
            .contains_key(header::SET_COOKIE)
    );
    let opened = gateway.client.get(gateway.gateway.login_link().unwrap());
    let opened = opened.header("sec-fetch-site", "none").send();
    assert!(
        opened
            .await
            .unwrap()
            .headers()
            .contains_key(header::SET_COOKIE)
    );
}

#[tokio::test]
async fn a_link_is_of_no_use_under_another_name() {
    let gateway = TestGateway::start().await;
    let link = gateway.gateway.login_link().unwrap();
    let local = gateway.address.to_string();
    let request = gateway.client.get(&link).header("host", &local);
    let response = request.send().await.unwrap();
    assert_eq!(response.status(), 403);
    assert!(!response.headers().contains_key(header::SET_COOKIE));
    let request = gateway.post("/api/login").header("host", &local);
    let response = request.json(&json!({"code": "x"})).send().await.unwrap();
    assert_eq!(response.status(), 403);
    // It was not used up.
    let opened = gateway.client.get(&link).send().await.unwrap();
    assert!(opened.headers().contains_key(header::SET_COOKIE));
}

#[tokio::test]
async fn a_login_works_while_others_guess() {
    let gateway = TestGateway::start().await;
    let guess = || {
        gateway
            .post("/api/login")
            .json(&json!({"code": "guess"}))
            .send()
    };
    let guesses = futures::future::join_all((0..100).map(|_| guess())).await;
    let slowed = guesses.iter().flatten();
    assert!(slowed.filter(|response| response.status() == 429).count() > 0);
    gateway.log_in().await;
}

#[tokio::test]
async fn programs_find_the_gateway_while_it_runs() {
    let mut gateway = TestGateway::start().await;
    let folder = gateway.folder();
    assert_eq!(
        motorium_gateway::running_address(&folder),
        Some(gateway.address)
    );
    gateway.restart().await;
    let address = gateway.address;
    until("the address of the new one is noted", || {
        motorium_gateway::running_address(&folder) == Some(address)
    })
    .await;
}

#[tokio::test]
async fn a_session_outlives_a_restart_but_not_its_end() {
    let mut gateway = TestGateway::start().await;
    let cookie = gateway.log_in().await;
    let value = cookie.split_once('=').unwrap().1.to_owned();
    gateway.restart().await;
    // The name of the cookie has the port, which the test's gateway changes.
    let cookie = format!("motorium_session_{}={value}", gateway.address.port());
    let session = gateway.get("/api/session").header("cookie", &cookie);
    assert_eq!(session.send().await.unwrap().status(), 200);
    let logout = gateway.post("/api/logout").header("cookie", &cookie);
    assert_eq!(logout.send().await.unwrap().status(), 204);
    assert_all_refused(&gateway, &[("cookie", &cookie)]).await;
    let stored = std::fs::read_to_string(gateway.folder().join("sessions.json")).unwrap();
    assert!(!stored.contains(TOKEN) && !stored.contains(&value));
}

#[tokio::test]
async fn programs_use_a_token_and_make_links() {
    let gateway = TestGateway::start().await;
    let response = gateway
        .post("/api/login-links")
        .bearer_auth(TOKEN)
        .send()
        .await
        .unwrap();
    let link: Value = response.json().await.unwrap();
    let opened = gateway
        .client
        .get(link["url"].as_str().unwrap())
        .send()
        .await
        .unwrap();
    assert!(opened.headers().contains_key(header::SET_COOKIE));

    let code = json!({"code": "guessed"});
    let guessed = gateway.post("/api/login").json(&code).send().await.unwrap();
    assert_eq!(guessed.status(), 401);
    let error: Value = guessed.json().await.unwrap();
    assert_eq!(error["error"]["reason"], "LOGIN_CODE_INVALID");
}

#[tokio::test]
async fn a_gateway_of_services_without_a_token_has_one_of_its_own() {
    let gateway = TestGateway::start_with(None, Settings::default()).await;
    assert_all_refused(&gateway, &[]).await;
    assert_all_refused(&gateway, &[("authorization", "Bearer wrong")]).await;
    let own = motorium_gateway::own_token(&gateway.folder())
        .unwrap()
        .unwrap();
    let session = gateway.get("/api/session").bearer_auth(own.expose());
    assert_eq!(session.send().await.unwrap().status(), 200);
    let cookie = gateway.log_in().await;
    let desktops = gateway
        .post("/task")
        .header("cookie", cookie)
        .json(&json!({"instruction": "click"}));
    assert_eq!(desktops.send().await.unwrap().status(), 201);
    let authorizations = gateway.services.authorizations.lock().unwrap().clone();
    assert!(
        authorizations.iter().all(Option::is_none),
        "its own token goes nowhere"
    );
}

#[tokio::test]
async fn other_pages_get_nothing() {
    let gateway = TestGateway::start().await;
    let cookie = gateway.log_in().await;
    let send = |path: &str, headers: &[(&str, &str)]| {
        let request = match path.starts_with("/task") {
            true => gateway.post(path).json(&json!({"instruction": "click"})),
            false => gateway.get(path),
        };
        let request = headers.iter().fold(request, |request, (name, value)| {
            request.header(*name, *value)
        });
        request.header("cookie", &cookie).send()
    };
    let image = "/api/artifacts/tasks/t1/artifacts/image";
    let own = gateway.url("");
    // Other servers of this machine receive the cookies of these names.
    let local = gateway.address.to_string();
    for (path, headers, expected) in [
        ("/task", vec![("origin", own.as_str())], 201),
        ("/task", vec![("origin", "https://evil.example")], 403),
        ("/task", vec![("origin", "null")], 403),
        ("/task", vec![("origin", "http://127.0.0.1:1")], 403),
        ("/task", vec![("host", local.as_str())], 401),
        ("/task", vec![("host", "localhost")], 401),
        ("/task", vec![("host", "motorium.localhost")], 403),
        ("/task", vec![("host", "evil.example")], 403),
        ("/", vec![("host", "evil.example")], 403),
        ("/login?code=x", vec![("host", "evil.example:7780")], 403),
        (image, vec![("sec-fetch-site", "same-origin")], 200),
        (image, vec![("sec-fetch-site", "cross-site")], 403),
        (image, vec![("sec-fetch-site", "same-site")], 403),
    ] {
        let response = send(path, &headers).await.unwrap();
        assert_eq!(response.status(), expected, "{path} {headers:?}");
        let allowed = response.headers().get("access-control-allow-origin");
        assert_eq!(allowed, None, "no other origin may read anything");
    }
    let preflight = gateway
        .client
        .request("OPTIONS".parse().unwrap(), gateway.url("/task"));
    let preflight = preflight
        .header("origin", "https://evil.example")
        .send()
        .await
        .unwrap();
    assert!(!preflight.status().is_success());
    assert!(
        !preflight
            .headers()
            .contains_key("access-control-allow-origin")
    );
}

#[tokio::test]
async fn a_form_of_another_page_cannot_create_a_task() {
    let gateway = TestGateway::start().await;
    let cookie = gateway.log_in().await;
    // Older browsers send no origin with forms, but cannot send JSON without asking either.
    let form = gateway
        .post("/task")
        .header("cookie", cookie)
        .header("content-type", "text/plain")
        .body("{\"instruction\": \"click\"}");
    assert_eq!(form.send().await.unwrap().status(), 400);
    assert!(gateway.services.goal.lock().unwrap().is_empty());
}

#[tokio::test]
async fn a_caller_that_loops_is_slowed_down() {
    let gateway = TestGateway::start().await;
    let cookie = gateway.log_in().await;
    let requests = (0..2500).map(|_| gateway.get("/api/session").header("cookie", &cookie).send());
    let responses = futures::future::join_all(requests).await;
    let refused = responses
        .into_iter()
        .filter(|response| {
            response
                .as_ref()
                .is_ok_and(|response| response.status() == 429)
        })
        .count();
    assert!(refused > 0);
}

#[tokio::test]
async fn the_page_has_a_strict_policy_and_needs_no_session() {
    let gateway = TestGateway::start().await;
    let page = gateway
        .get("/")
        .header("accept", "text/html")
        .send()
        .await
        .unwrap();
    assert_eq!(page.status(), 200);
    let policy = page.headers()["content-security-policy"]
        .to_str()
        .unwrap()
        .to_owned();
    let scripts = policy
        .split(';')
        .find(|part| part.trim().starts_with("script-src"));
    assert!(
        scripts.is_none_or(|scripts| scripts.trim() == "script-src 'self'"),
        "{policy}"
    );
    assert!(policy.contains("default-src 'none'"));
    assert_eq!(page.headers()["x-content-type-options"], "nosniff");
    for path in [
        "/../Cargo.toml",
        "/%2e%2e/Cargo.toml",
        "/..%2fCargo.toml",
        "/assets/../../package.json",
    ] {
        let response = gateway
            .get(path)
            .header("accept", "*/*")
            .send()
            .await
            .unwrap();
        let text = response.text().await.unwrap();
        assert!(
            !text.contains("[package]") && !text.contains("dependencies"),
            "{path}"
        );
    }
    assert_eq!(
        gateway.get("/api/nothing").send().await.unwrap().status(),
        404
    );
}

#[tokio::test]
async fn a_session_tells_who_the_caller_is() {
    let gateway = TestGateway::start().await;
    let cookie = gateway.log_in().await;
    let session = gateway.get("/api/session").header("cookie", &cookie);
    let session: Value = session.send().await.unwrap().json().await.unwrap();
    assert_eq!(session["name"], "ann");
    assert_eq!(session["roles"], json!(["author"]));
}

#[tokio::test]
async fn a_client_whose_body_was_not_read_is_told_that_its_connection_ends() {
    let gateway = TestGateway::start().await;
    // Refused for the form of its body, for its caller, and for its origin.
    let refused = [
        ("/task", "text/plain", TOKEN, None, 400),
        ("/task", "application/json", "wrong", None, 401),
        (
            "/task",
            "application/json",
            TOKEN,
            Some("https://evil.example"),
            403,
        ),
    ];
    for (path, media_type, token, origin, status) in refused {
        let request = gateway
            .post(path)
            .bearer_auth(token)
            .header(header::CONTENT_TYPE, media_type);
        let request = origin.into_iter().fold(request, |request, origin| {
            request.header(header::ORIGIN, origin)
        });
        let response = request.body("{}").send().await.unwrap();
        assert_eq!(response.status(), status);
        let close = response.headers().get(header::CONNECTION);
        assert_eq!(close.unwrap(), "close", "{status}");
    }
    let without_body = gateway.get("/api/v1/tasks").send().await.unwrap();
    assert_eq!(without_body.status(), 401);
    assert_eq!(without_body.headers().get(header::CONNECTION), None);
}
