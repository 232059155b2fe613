//! Lists: newest first, paginated and filtered. Sessions, which tasks belong to.

use motorium_proto::error::ErrorReport;
use motorium_proto::v1::orchestrator as wire;
use motorium_proto::v1::orchestrator::task::State;
use tonic::Code;

use crate::completion::expecting_text;
use crate::support::cluster::Cluster;
use crate::support::script::{act, click};

async fn page(cluster: &Cluster, list: wire::ListTasksRequest) -> wire::ListTasksResponse {
    let page = cluster.client().raw().list_tasks(list).await;
    page.unwrap().into_inner()
}

fn names(tasks: &[wire::Task]) -> Vec<String> {
    tasks.iter().map(|task| task.name.clone()).collect()
}

/// Creates tasks that no orchestrator starts, the oldest first.
async fn waiting_tasks(cluster: &Cluster, count: usize) -> Vec<String> {
    cluster.world.hold("acquire_desktop");
    let mut names = Vec::new();
    for _ in 0..count {
        names.push(cluster.create().await);
    }
    names
}

#[tokio::test]
async fn pages_together_are_the_whole_list() {
    let cluster = Cluster::start(Vec::new()).await;
    let mut expected = waiting_tasks(&cluster, 7).await;
    expected.reverse();
    for page_size in [1, 2, 3, 7, 100, 5000] {
        let mut seen = Vec::new();
        let mut page_token = String::new();
        loop {
            let list = wire::ListTasksRequest {
                page_size,
                page_token,
                ..wire::ListTasksRequest::default()
            };
            let page = page(&cluster, list).await;
            assert!(page.tasks.len() <= page_size as usize);
            seen.extend(names(&page.tasks));
            page_token = page.next_page_token;
            if page_token.is_empty() {
                break;
            }
        }
        assert_eq!(seen, expected, "pages of {page_size}");
    }
}

#[tokio::test]
async fn a_list_of_large_tasks_comes_in_small_pages() {
    let cluster = Cluster::start(Vec::new()).await;
    cluster.world.hold("acquire_desktop");
    let expectation = expecting_text(&"word ".repeat(12_000)).expectations;
    let mut created = Vec::new();
    for count in [20, 20, 50, 20] {
        let task = wire::Task {
            expectations: vec![expectation[0].clone(); count],
            ..wire::Task::default()
        };
        created.push(cluster.create_with(task).await);
    }
    let mut list = wire::ListTasksRequest::default();
    let mut pages = Vec::new();
    loop {
        let page = page(&cluster, list.clone()).await;
        pages.push(names(&page.tasks));
        list.page_token = page.next_page_token;
        if list.page_token.is_empty() {
            break;
        }
    }
    let [a, b, c, d] = created.try_into().unwrap();
    // One that is larger than a page makes one.
    assert_eq!(pages, [vec![d], vec![c], vec![b], vec![a]]);
}

#[tokio::test]
async fn a_new_task_does_not_shift_the_pages() {
    let cluster = Cluster::start(Vec::new()).await;
    let tasks = waiting_tasks(&cluster, 4).await;
    let list = wire::ListTasksRequest {
        page_size: 2,
        ..wire::ListTasksRequest::default()
    };
    let first = page(&cluster, list.clone()).await;
    cluster.create().await;
    let second = wire::ListTasksRequest {
        page_token: first.next_page_token,
        ..list
    };
    let second = page(&cluster, second).await;
    assert_eq!(names(&second.tasks), [tasks[1].clone(), tasks[0].clone()]);
}

#[tokio::test]
async fn a_page_token_belongs_to_its_list() {
    let cluster = Cluster::start(Vec::new()).await;
    waiting_tasks(&cluster, 3).await;
    let list = wire::ListTasksRequest {
        page_size: 1,
        ..wire::ListTasksRequest::default()
    };
    let token = page(&cluster, list).await.next_page_token;
    let with_states = wire::ListTasksRequest {
        page_token: token.clone(),
        states: vec![State::Pending.into()],
        ..wire::ListTasksRequest::default()
    };
    let damaged = wire::ListTasksRequest {
        page_token: format!("{token}x"),
        ..wire::ListTasksRequest::default()
    };
    for list in [with_states, damaged] {
        let refused = cluster.client().raw().list_tasks(list).await.unwrap_err();
        let report = ErrorReport::from_status(&refused);
        assert_eq!(report.code, Code::InvalidArgument);
        assert_eq!(report.reason, "PAGE_TOKEN_INVALID");
        assert!(
            report.message.contains("start again without one"),
            "{report}"
        );
    }
}

#[tokio::test]
async fn by_state() {
    let cluster = Cluster::start(Vec::new()).await;
    let ended = cluster.create().await;
    cluster.follow(&ended).await;
    let waiting = waiting_tasks(&cluster, 2).await;
    let in_states = async |states: &[State]| {
        let list = wire::ListTasksRequest {
            states: states.iter().map(|&state| state.into()).collect(),
            ..wire::ListTasksRequest::default()
        };
        names(&page(&cluster, list).await.tasks)
    };
    assert_eq!(in_states(&[State::Succeeded]).await, [ended]);
    assert_eq!(
        in_states(&[State::Pending]).await,
        [waiting[1].clone(), waiting[0].clone()]
    );
    assert_eq!(in_states(&[State::Failed]).await, [""; 0]);
    assert_eq!(
        in_states(&[State::Succeeded, State::Pending]).await.len(),
        3
    );
    let shown = page(&cluster, wire::ListTasksRequest::default())
        .await
        .tasks;
    assert_eq!(
        shown[2].answer, "it is done",
        "a list shows tasks as they are"
    );
}

#[tokio::test]
async fn by_labels_and_session() {
    let cluster = Cluster::start(Vec::new()).await;
    cluster.world.hold("acquire_desktop");
    let begin = wire::CreateSessionRequest {
        session_id: "trip".to_owned(),
        ..wire::CreateSessionRequest::default()
    };
    cluster.client().raw().create_session(begin).await.unwrap();
    let label = |value: &str| [("team".to_owned(), value.to_owned())].into();
    let red = cluster
        .create_with(wire::Task {
            labels: label("red"),
            session: "sessions/trip".to_owned(),
            ..wire::Task::default()
        })
        .await;
    let blue = cluster
        .create_with(wire::Task {
            labels: label("blue"),
            ..wire::Task::default()
        })
        .await;
    let labelled = wire::ListTasksRequest {
        labels: label("blue"),
        ..wire::ListTasksRequest::default()
    };
    assert_eq!(names(&page(&cluster, labelled).await.tasks), [blue]);
    let of_the_session = wire::ListTasksRequest {
        session: "sessions/trip".to_owned(),
        ..wire::ListTasksRequest::default()
    };
    assert_eq!(
        names(&page(&cluster, of_the_session.clone()).await.tasks),
        [red]
    );
    let neither = wire::ListTasksRequest {
        labels: label("blue"),
        ..of_the_session
    };
    assert_eq!(page(&cluster, neither).await.tasks, []);
}

#[tokio::test]
async fn steps_come_in_pages_too() {
    let script = (1..5).map(|number| act([click(number)])).collect();
    let cluster = Cluster::start(script).await;
    let name = cluster.create().await;
    cluster.follow(&name).await;
    let mut numbers = Vec::new();
    let mut page_token = String::new();
    loop {
        let list = wire::ListStepsRequest {
            parent: name.clone(),
            page_size: 2,
            page_token,
        };
        let page = cluster.client().raw().list_steps(list).await.unwrap();
        let page = page.into_inner();
        numbers.extend(page.steps.iter().map(|step| step.number));
        page_token = page.next_page_token;
        if page_token.is_empty() {
            break;
        }
    }
    assert_eq!(numbers, [1, 2, 3, 4, 5]);
}

#[tokio::test]
async fn sessions_are_there_after_a_crash() {
    let mut cluster = Cluster::start(Vec::new()).await;
    let mut created = Vec::new();
    for name in ["first", "second"] {
        let request = wire::CreateSessionRequest {
            session: Some(wire::Session {
                display_name: name.to_uppercase(),
                ..wire::Session::default()
            }),
            session_id: name.to_owned(),
            ..wire::CreateSessionRequest::default()
        };
        let answer = cluster.client().raw().create_session(request).await;
        created.push(answer.unwrap().into_inner().session.unwrap());
    }
    assert_eq!(created[0].name, "sessions/first");
    assert!(created[0].create_time.is_some());
    cluster.crash().await;
    let list = wire::ListSessionsRequest {
        page_size: 1,
        ..wire::ListSessionsRequest::default()
    };
    let mut client = cluster.client().raw();
    let newest = client
        .list_sessions(list.clone())
        .await
        .unwrap()
        .into_inner();
    assert_eq!(newest.sessions, [created[1].clone()]);
    let rest = wire::ListSessionsRequest {
        page_token: newest.next_page_token,
        ..list
    };
    let rest = client.list_sessions(rest).await.unwrap().into_inner();
    assert_eq!(
        (rest.sessions, rest.next_page_token),
        (vec![created[0].clone()], String::new())
    );
    let get = wire::GetSessionRequest {
        name: "sessions/second".to_owned(),
    };
    let got = client.get_session(get).await.unwrap().into_inner();
    assert_eq!(got.session, Some(created[1].clone()));
}
