//! Input of a person who operates the desktop of a task from elsewhere.

use futures::channel::mpsc::{self, UnboundedSender};
use motorium_client::Client;
use motorium_proto::error::ErrorReport;
use motorium_proto::v1::common::action::Action as ActionKind;
use motorium_proto::v1::common::{
    Action, ActionResult, ClickAction, KeyChordAction, OpenUrlAction, PixelPoint, Target,
    TextInput, TypeTextAction, target, text_input,
};
use motorium_proto::v1::orchestrator as wire;
use motorium_proto::v1::orchestrator::event::Kind;
use motorium_proto::v1::orchestrator::operate_desktop_request::Part;
use motorium_proto::v1::orchestrator::operate_desktop_response::Part as ResponsePart;
use motorium_store::audit;
use motorium_store::local_postgres::LocalPostgres;
use tonic::transport::Channel;
use tonic::{Code, Status, Streaming};

use crate::support::cluster::Cluster;
use crate::support::script::{act, click};

/// The person who takes over, as `Cluster::take_over` calls them.
const OPERATOR: &str = "the night shift";
const TYPED: &str = "canary-typed";
const COPIED: &str = "canary-copied";

/// An open stream of inputs.
struct Operation {
    inputs: UnboundedSender<wire::OperateDesktopRequest>,
    responses: Streaming<wire::OperateDesktopResponse>,
    sequence: u64,
}

impl Operation {
    async fn open(cluster: &Cluster, task: &str, user: &str) -> Result<Self, Status> {
        Self::open_at(&cluster.client(), task, user).await
    }

    async fn open_at(client: &Client<Channel>, task: &str, user: &str) -> Result<Self, Status> {
        let (inputs, requests) = mpsc::unbounded();
        let start = wire::OperateDesktopStart {
            name: task.to_owned(),
            user: user.to_owned(),
        };
        inputs.unbounded_send(request(Part::Start(start))).unwrap();
        let opened = client.raw().operate_desktop(requests).await?;
        let mut responses = opened.into_inner();
        let first = responses.message().await?.unwrap().part.unwrap();
        assert!(matches!(first, ResponsePart::Task(opened) if opened.name == task));
        Ok(Self {
            inputs,
            responses,
            sequence: 0,
        })
    }

    async fn perform(&mut self, action: ActionKind) -> Result<ActionResult, Status> {
        let input = wire::OperatorInput {
            action: Some(Action {
                action: Some(action),
            }),
            ..wire::OperatorInput::default()
        };
        let outcome = self.send(input).await?;
        assert_eq!(outcome.clipboard_text, None);
        Ok(outcome.outcome.unwrap().result())
    }

    /// Reads the clipboard. Returns the text, or the words of a refusal.
    async fn copy(&mut self) -> Result<String, String> {
        let input = wire::OperatorInput {
            read_clipboard: true,
            only_if_copied: true,
            ..wire::OperatorInput::default()
        };
        let read = self.send(input).await.unwrap();
        let outcome = read.outcome.unwrap();
        read.clipboard_text.ok_or(outcome.detail)
    }

    async fn send(
        &mut self,
        mut input: wire::OperatorInput,
    ) -> Result<wire::OperatorInputOutcome, Status> {
        self.sequence += 1;
        input.sequence = self.sequence;
        let _ = self.inputs.unbounded_send(request(Part::Input(input)));
        let Some(ResponsePart::Outcome(outcome)) =
            self.responses.message().await?.and_then(|it| it.part)
        else {
            panic!("an input is answered with its outcome");
        };
        assert_eq!(outcome.sequence, self.sequence);
        Ok(outcome)
    }

    async fn end(mut self) -> Status {
        loop {
            match self.responses.message().await {
                Ok(Some(_)) => {}
                Ok(None) => panic!("it ends without words"),
                Err(status) => return status,
            }
        }
    }
}

fn request(part: Part) -> wire::OperateDesktopRequest {
    wire::OperateDesktopRequest { part: Some(part) }
}

fn click_at(x: i32, y: i32) -> ActionKind {
    let at = Target {
        target: Some(target::Target::Point(PixelPoint { x, y })),
    };
    ActionKind::Click(ClickAction {
        at: Some(at),
        ..ClickAction::default()
    })
}

fn typing(source: text_input::Source) -> ActionKind {
    ActionKind::TypeText(TypeTextAction {
        text: Some(TextInput {
            source: Some(source),
        }),
        ..TypeTextAction::default()
    })
}

/// Starts a task whose desktop the person has taken over before the agent has done anything.
async fn taken_over() -> (Cluster, String) {
    let cluster = Cluster::start(vec![act([click(3)])]).await;
    cluster.world.hold("plan");
    let name = cluster.create().await;
    cluster.world.called("plan", 1).await;
    cluster.take_over(&name).await;
    (cluster, name)
}

#[tokio::test]
async fn input_reaches_the_desktop_and_is_reported_without_its_text() {
    let (cluster, name) = taken_over().await;
    let mut operation = Operation::open(&cluster, &name, OPERATOR).await.unwrap();
    let clicked = operation.perform(click_at(17, 21)).await.unwrap();
    assert_eq!(clicked, ActionResult::Performed);
    let text = text_input::Source::Literal(TYPED.to_owned());
    operation.perform(typing(text)).await.unwrap();
    let enter = KeyChordAction {
        keys: vec!["enter".to_owned()],
        repeat: 1,
    };
    operation
        .perform(ActionKind::KeyChord(enter))
        .await
        .unwrap();
    assert_eq!(cluster.world.done().len(), 3);
    assert_eq!(cluster.world.clicks(), [(17, 21)]);

    cluster.world.release("plan");
    cluster.hand_back(&name).await;
    let status = operation.end().await;
    assert_eq!(status.code(), Code::FailedPrecondition, "{status}");
    let story = cluster.follow(&name).await;
    let reports = story.all(|kind| match kind {
        Kind::HumanActed(acted) => Some(acted.description.clone()),
        _ => None,
    });
    let reports = reports.join("; ");
    assert!(reports.contains("(17, 21)"), "{reports}");
    assert!(reports.contains("typed 13 characters"), "{reports}");

    let mut log = Vec::new();
    audit::export(&cluster.audit_folder(), &mut log).unwrap();
    let log = String::from_utf8(log).unwrap();
    let periods: Vec<&str> = log
        .lines()
        .filter(|line| line.contains("OperateDesktop"))
        .collect();
    assert_eq!(periods.len(), 2, "one period: its beginning and its end");
    let counts = "clicks:1/scrolls:0/keys:1/characters:12/clipboard:0/copied:0";
    assert!(periods[1].contains(counts), "{periods:?}");
    assert!(!log.contains(TYPED) && !reports.contains(TYPED));
}

#[tokio::test]
async fn clipboard_is_read_for_the_person_who_has_the_desktop_and_by_nothing_else() {
    let (cluster, name) = taken_over().await;
    let mut operation = Operation::open(&cluster, &name, OPERATOR).await.unwrap();
    operation.perform(click_at(1, 1)).await.unwrap();
    assert_eq!(cluster.world.count("read_clipboard"), 0, "unasked");
    // A program that is slow has copied nothing yet, which is neither a text nor a failure, and is not counted.
    cluster.world.copy_late();
    assert_eq!(operation.copy().await.unwrap_err(), "");
    cluster.world.copy(COPIED, false);
    assert_eq!(operation.copy().await.unwrap(), COPIED);
    cluster.world.copy("", true);
    let refused = operation.copy().await.unwrap_err();
    assert!(refused.contains("stays on the desktop"), "{refused}");
    let both = wire::OperatorInput {
        action: Some(Action {
            action: Some(click_at(1, 1)),
        }),
        read_clipboard: true,
        ..wire::OperatorInput::default()
    };
    let status = operation.send(both).await.unwrap_err();
    assert_eq!(status.code(), Code::InvalidArgument, "{status}");

    cluster.world.copy(COPIED, false);
    let mut operation = Operation::open(&cluster, &name, OPERATOR).await.unwrap();
    cluster.world.release("plan");
    cluster.hand_back(&name).await;
    let story = cluster.follow(&name).await;
    let late = wire::OperatorInput {
        read_clipboard: true,
        ..wire::OperatorInput::default()
    };
    let late = operation.send(late).await.unwrap_err();
    assert_eq!(late.code(), Code::FailedPrecondition);
    assert_eq!(cluster.world.count("read_clipboard"), 3);
    // The text is the person's own: neither the task nor the audit log has it, which counts.
    assert!(!story.text().contains(COPIED), "{}", story.text());
    let mut log = Vec::new();
    audit::export(&cluster.audit_folder(), &mut log).unwrap();
    let log = String::from_utf8(log).unwrap();
    assert!(log.contains("/copied:2") && !log.contains(COPIED), "{log}");
}

#[tokio::test]
async fn only_the_person_who_took_over_operates_and_only_until_the_hand_back() {
    let (cluster, name) = taken_over().await;
    let refused = Operation::open(&cluster, &name, "another person").await;
    let status = refused.err().unwrap();
    assert_eq!(ErrorReport::from_status(&status).reason, "WRONG_STATE");
    let mut operation = Operation::open(&cluster, &name, OPERATOR).await.unwrap();
    operation.perform(click_at(1, 1)).await.unwrap();
    cluster.world.release("plan");
    cluster.hand_back(&name).await;
    cluster.follow(&name).await.answer();
    // The agent has clicked since; the person's input comes too late.
    let late = operation.perform(click_at(2, 2)).await;
    assert_eq!(late.unwrap_err().code(), Code::FailedPrecondition);
    assert!(!cluster.world.clicks().contains(&(2, 2)));
    let again = Operation::open(&cluster, &name, OPERATOR).await;
    assert_eq!(again.err().unwrap().code(), Code::FailedPrecondition);
}

#[tokio::test]
async fn a_desktop_is_handed_back_by_the_person_who_has_it_or_by_an_administrator() {
    const ANN: &str = "ann/default/operator";
    const BOB: &str = "bob/default/operator";
    const ROOT: &str = "root/default/admin";
    for hands_back in [ANN, ROOT] {
        let cluster = Cluster::start(vec![act([click(3)])]).await;
        cluster.world.hold("plan");
        let name = cluster.create().await;
        cluster.world.called("plan", 1).await;
        let take_over = wire::TakeOverRequest {
            name: name.clone(),
            ..wire::TakeOverRequest::default()
        };
        cluster.client_as(ANN).take_over(take_over).await.unwrap();
        let back = wire::HandBackRequest {
            name: name.clone(),
            ..wire::HandBackRequest::default()
        };
        let done = wire::AcknowledgeUserActionRequest {
            name: name.clone(),
            ..wire::AcknowledgeUserActionRequest::default()
        };
        let mut bob = cluster.client_as(BOB);
        // Both would let the agent act while Ann does.
        let refused = [
            bob.hand_back(back.clone()).await.unwrap_err(),
            bob.acknowledge_user_action(done).await.unwrap_err(),
        ];
        for status in refused {
            assert_eq!(ErrorReport::from_status(&status).reason, "WRONG_STATE");
            let words = status.message();
            assert!(words.starts_with("ann has the desktop"), "{words}");
            assert!(words.contains("or an administrator"), "{words}");
        }
        cluster.world.release("plan");
        cluster.client_as(hands_back).hand_back(back).await.unwrap();
        cluster.follow(&name).await.answer();
    }
}

#[tokio::test]
async fn another_orchestrator_names_the_one_that_has_the_desktop() {
    let server = LocalPostgres::start();
    let cluster = Cluster::start_two(vec![act([click(3)])], server.database().await).await;
    cluster.world.hold("plan");
    let name = cluster.create().await;
    cluster.world.called("plan", 1).await;
    cluster.take_over(&name).await;
    let (one, other) = (cluster.client(), cluster.other_client());
    let mut refused = Vec::new();
    let mut operated = 0;
    for (own, client) in [("one", one), ("other", other)] {
        match Operation::open_at(&client, &name, OPERATOR).await {
            Ok(mut operation) => {
                operation.perform(click_at(5, 6)).await.unwrap();
                operated += 1;
            }
            Err(status) => refused.push((own, ErrorReport::from_status(&status))),
        }
    }
    assert_eq!((operated, refused.len()), (1, 1), "{refused:?}");
    let (own, report) = &refused[0];
    assert_eq!(report.reason, "RUNS_ELSEWHERE");
    let running = if *own == "one" { "other" } else { "one" };
    assert_eq!(report.metadata["orchestrator"], running);
    assert_eq!(cluster.world.clicks(), [(5, 6)]);
    cluster.world.release("plan");
    cluster.cancel(&name).await;
}

#[tokio::test]
async fn nothing_is_operated_without_a_take_over() {
    let cluster = Cluster::start(vec![act([click(1)])]).await;
    cluster.world.hold("plan");
    let name = cluster.create().await;
    cluster.world.called("plan", 1).await;
    let status = Operation::open(&cluster, &name, "").await.err().unwrap();
    assert_eq!(status.code(), Code::FailedPrecondition);
    assert!(
        status.message().contains("take its desktop over"),
        "{status}"
    );
    assert_eq!(cluster.world.done(), []);
    cluster.world.release("plan");
    cluster.follow(&name).await.answer();
}

#[tokio::test]
async fn only_input_of_a_mouse_and_a_keyboard_is_passed_on() {
    let (cluster, name) = taken_over().await;
    let secret = text_input::Source::Secret("canary".to_owned());
    let url = OpenUrlAction {
        url: "https://example.com".to_owned(),
    };
    for action in [typing(secret), ActionKind::OpenUrl(url)] {
        let mut operation = Operation::open(&cluster, &name, OPERATOR).await.unwrap();
        let status = operation.perform(action).await.unwrap_err();
        assert_eq!(status.code(), Code::InvalidArgument, "{status}");
    }
    assert_eq!(cluster.world.done(), []);
    cluster.world.release("plan");
    cluster.cancel(&name).await;
}

#[tokio::test]
async fn the_agent_waits_for_an_input_that_is_being_performed() {
    let (cluster, name) = taken_over().await;
    let mut operation = Operation::open(&cluster, &name, OPERATOR).await.unwrap();
    cluster.world.hold("perform");
    let input = tokio::spawn(async move { operation.perform(click_at(5, 5)).await });
    cluster.world.called("perform", 1).await;
    cluster.world.release("plan");
    cluster.hand_back(&name).await;
    let plans = cluster.world.plans().len();
    tokio::time::sleep(std::time::Duration::from_millis(300)).await;
    assert_eq!(cluster.world.plans().len(), plans, "the agent waits");
    cluster.world.release("perform");
    let _ = input.await.unwrap();
    cluster.follow(&name).await.answer();
}
