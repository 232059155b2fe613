//! Messages to a task, with and without files: they answer its question, reach its desktop, and its planner.

use bytes::Bytes;
use image::{Rgba, RgbaImage};
use motorium_imaging::codec;
use motorium_proto::domain::frame::ImageContent;
use motorium_proto::domain::session::{FileOrigin, TaskFile};
use motorium_proto::limits::{MAX_ATTACHMENT_BYTES, MAX_FILE_BYTES};
use motorium_proto::service::{ImageFormat, PlanRequest};
use motorium_proto::v1::orchestrator as wire;
use motorium_proto::v1::orchestrator::task::State;
use tonic::{Code, Status};

use crate::approvals::{shop_with, waiting};
use crate::replay;
use crate::support::cluster::Cluster;
use crate::support::script::{act, ask, click, done};

fn message(task: &str, text: &str, attachments: Vec<wire::Attachment>) -> wire::SendMessageRequest {
    wire::SendMessageRequest {
        name: task.to_owned(),
        text: text.to_owned(),
        attachments,
        ..wire::SendMessageRequest::default()
    }
}

fn file(name: &str, data: &'static [u8]) -> wire::Attachment {
    wire::Attachment {
        name: name.to_owned(),
        data: Bytes::from_static(data),
        ..wire::Attachment::default()
    }
}

async fn send(cluster: &Cluster, request: wire::SendMessageRequest) -> Result<wire::Task, Status> {
    let sent = cluster.client().raw().send_message(request).await?;
    Ok(sent.into_inner().task.unwrap())
}

#[tokio::test]
async fn a_message_answers_the_question_that_a_task_waits_with() {
    let cluster = Cluster::start(vec![ask("which one?"), done("the left one")]).await;
    let name = cluster.create().await;
    cluster.happened(&name, "user_asked").await;
    let task = send(&cluster, message(&name, "the left one", vec![])).await;
    assert_eq!(task.unwrap().state(), State::Running);
    let story = cluster.follow(&name).await;
    assert_eq!(story.answer(), "the left one");
    assert_eq!(cluster.world.plans()[1].user_messages, ["the left one"]);
    assert_eq!(story.count("user_acknowledged"), 1);
}

#[tokio::test]
async fn a_message_approves_nothing() {
    let cluster = shop_with(vec![act([click(1)])], std::time::Duration::from_secs(60)).await;
    let name = cluster.create().await;
    cluster.happened(&name, "user_asked").await;
    let task = send(&cluster, message(&name, "yes, pay", vec![])).await;
    assert_eq!(task.unwrap().state(), State::AwaitingUser);
    assert_eq!(waiting(&cluster, &name).await.len(), 1);
    assert_eq!(cluster.world.done(), []);
}

#[tokio::test]
async fn planner_receives_paths_of_requested_results() {
    let cluster = Cluster::start(vec![act([click(1)]), done("ok")]).await;
    let task = wire::Task {
        results: vec!["report.csv".to_owned()],
        ..wire::Task::default()
    };
    let name = cluster.create_with(task).await;
    cluster.follow(&name).await;
    for plan in cluster.world.plans() {
        let expected = TaskFile {
            name: "report.csv".to_owned(),
            path: "/home/ann/files/report.csv".to_owned(),
            origin: FileOrigin::Wanted,
        };
        assert_eq!(plan.context.files, [expected]);
    }
    replay::check(&cluster, &name).await;
}

#[tokio::test]
async fn message_attachments_are_uploaded_and_announced() {
    let cluster = Cluster::start(vec![ask("which file?"), done("ok")]).await;
    let name = cluster.create().await;
    cluster.happened(&name, "user_asked").await;
    let request = message(&name, "", vec![file("a.txt", b"content")]);
    send(&cluster, request).await.unwrap();
    let story = cluster.follow(&name).await;
    assert_eq!(story.count("attachment_put"), 1);
    let plan = cluster.world.plans().pop().unwrap();
    let [attached] = plan.context.files.clone().try_into().unwrap();
    assert_eq!(
        (attached.name.as_str(), attached.origin),
        ("a.txt", FileOrigin::Attached)
    );
    assert!(!attached.path.is_empty());
    let notices = plan.notices.join("\n");
    assert!(
        notices.contains("a.txt") && notices.contains(&attached.path),
        "{notices}"
    );
    assert_eq!(plan.user_messages, ["I have attached a.txt."]);
    replay::check(&cluster, &name).await;
    // Events leave the process without the content.
    let contents = story.all(|kind| match kind {
        wire::event::Kind::UserAcknowledged(answer) => Some(answer.attachments[0].data.len()),
        _ => None,
    });
    assert_eq!(contents, [0]);
}

/// Returns a PNG of one colour, as a file.
fn png(name: &str, width: u32, height: u32) -> wire::Attachment {
    let pixels = RgbaImage::from_pixel(width, height, Rgba([200, 30, 30, 255]));
    let encoded = codec::encode(&pixels, ImageFormat::Png).unwrap();
    let ImageContent::Bytes(data) = encoded.content else {
        panic!("it is encoded");
    };
    wire::Attachment {
        name: name.to_owned(),
        data,
        ..wire::Attachment::default()
    }
}

fn with_attachments(attachments: Vec<wire::Attachment>) -> wire::Task {
    wire::Task {
        attachments,
        ..wire::Task::default()
    }
}

/// Returns the name, the first step and the width of each image of the user in a request.
fn shown(plan: &PlanRequest) -> Vec<(&str, u32, Option<u32>)> {
    let images = plan.context.images.iter();
    images
        .map(|one| {
            let width = one.image.as_ref().map(|image| image.width);
            (one.name.as_str(), one.step, width)
        })
        .collect()
}

#[tokio::test]
async fn attached_images_are_shown_to_the_planner_in_every_step() {
    let script = vec![act([click(1)]), ask("which one?"), done("ok")];
    let cluster = Cluster::start(script).await;
    let plan = png("plan.png", 60, 40);
    let attachments = vec![
        file("notes.txt", b"text"),
        plan.clone(),
        png("wide.png", 4000, 20),
    ];
    let name = cluster.create_with(with_attachments(attachments)).await;
    cluster.happened(&name, "user_asked").await;
    let request = message(&name, "this one", vec![png("photo.png", 70, 50)]);
    send(&cluster, request).await.unwrap();
    let story = cluster.follow(&name).await;
    let plans = cluster.world.plans();
    // An image is scaled down to what models take.
    let first = [("plan.png", 1, Some(60)), ("wide.png", 1, Some(2576))];
    assert_eq!(shown(&plans[0]), first);
    assert_eq!(shown(&plans[1]), first);
    let with_photo = [first.as_slice(), &[("photo.png", 3, Some(70))]].concat();
    assert_eq!(shown(&plans[2]), with_photo);
    let sent = plans[2].context.images[0].image.clone().unwrap();
    assert_eq!(sent.content, ImageContent::Bytes(plan.data.clone()));
    // What models are shown is kept with the task, and exported.
    let artifacts = story.all(|kind| match kind {
        wire::event::Kind::AttachmentPut(put) => put.image.clone(),
        _ => None,
    });
    assert_eq!(artifacts.len(), 3);
    let client = cluster.client();
    let (_, content) = client.get_artifact(&artifacts[0].name).await.unwrap();
    assert_eq!(content, plan.data);
    let folder = replay::check(&cluster, &name).await;
    let exported = std::fs::read(folder.path().join("user-images/attachment-2.png")).unwrap();
    assert_eq!(exported, plan.data.as_ref());
}

#[tokio::test]
async fn the_planner_is_shown_the_latest_four_images() {
    let cluster = Cluster::start(vec![done("ok")]).await;
    let images = (1..=5).map(|number| png(&format!("{number}.png"), 10 + number, 10));
    let again = png("3.png", 30, 10);
    let attachments = images.chain([again]).collect();
    let name = cluster.create_with(with_attachments(attachments)).await;
    cluster.follow(&name).await;
    let plan = cluster.world.plans().pop().unwrap();
    // The second file of a name takes the place of the first, as it does on the desktop.
    let expected = [
        ("2.png", 1, Some(12)),
        ("4.png", 1, Some(14)),
        ("5.png", 1, Some(15)),
        ("3.png", 1, Some(30)),
    ];
    assert_eq!(shown(&plan), expected);
}

#[tokio::test]
async fn an_image_that_cannot_be_shown_is_told_and_ends_nothing() {
    let cluster = Cluster::start(vec![done("ok")]).await;
    let mut damaged = png("photo.png", 60, 40);
    damaged.data.truncate(60);
    let name = cluster.create_with(with_attachments(vec![damaged])).await;
    let story = cluster.follow(&name).await;
    assert_eq!(story.answer(), "ok");
    let plan = cluster.world.plans().pop().unwrap();
    assert_eq!(shown(&plan), []);
    let [notice] = plan.notices.try_into().unwrap();
    let expected = "the attached image photo.png cannot be shown to the model, which only has the file: \
                    the PNG image cannot be decoded";
    assert!(notice.starts_with(expected), "{notice}");
    replay::check(&cluster, &name).await;
}

#[tokio::test]
async fn a_planner_that_sees_nothing_is_told_that_there_are_images() {
    let cluster = Cluster::start(vec![done("ok")]).await;
    cluster.world.see_nothing();
    let attachments = vec![png("plan.png", 60, 40)];
    let name = cluster.create_with(with_attachments(attachments)).await;
    cluster.follow(&name).await;
    let plan = cluster.world.plans().pop().unwrap();
    assert_eq!(plan.image, None);
    assert_eq!(shown(&plan), [("plan.png", 1, None)]);
    replay::check(&cluster, &name).await;
}

#[tokio::test]
async fn a_large_file_is_uploaded_in_chunks_and_attached_by_name() {
    let cluster = Cluster::start(Vec::new()).await;
    let size = 5 * MAX_ATTACHMENT_BYTES;
    let upload = cluster.client().upload(vec![7_u8; size]).await.unwrap();
    let attached = wire::Attachment {
        name: "large.bin".to_owned(),
        upload: upload.clone(),
        ..wire::Attachment::default()
    };
    let task = wire::Task {
        attachments: vec![attached.clone()],
        results: vec!["large.bin".to_owned()],
        ..wire::Task::default()
    };
    let name = cluster.create_with(task).await;
    let story = cluster.follow(&name).await;
    let sizes = story.all(|kind| match kind {
        wire::event::Kind::AttachmentPut(put) => Some(put.size_bytes),
        _ => None,
    });
    assert_eq!(sizes, [size as u64]);
    let files = cluster.world.plans().pop().unwrap().context.files;
    assert!(matches!(&files[..], [TaskFile { name, .. }] if name == "large.bin"));
    // The result names the file that was saved, and where.
    let [saved] = cluster.get(&name).await.result_files.try_into().unwrap();
    assert_eq!(saved.name, "large.bin");
    assert!(saved.path.ends_with("large.bin"), "{}", saved.path);
    assert_eq!(saved.artifact.unwrap().size_bytes, size as u64);
    replay::check(&cluster, &name).await;
}

#[tokio::test]
async fn invalid_attachments_are_refused_by_field() {
    let cluster = Cluster::start(vec![ask("which file?")]).await;
    let name = cluster.create().await;
    cluster.happened(&name, "user_asked").await;
    let unknown = wire::Attachment {
        upload: format!("uploads/{}", "0".repeat(64)),
        ..file("a.txt", b"")
    };
    let both = wire::Attachment {
        upload: unknown.upload.clone(),
        ..file("a.txt", b"x")
    };
    for (attachment, part) in [
        (unknown, "attachments[0].upload: does not exist"),
        (both, "attachments[0].upload: must not be set together"),
        (file("../a.txt", b"x"), "attachments[0].name"),
    ] {
        let refused = send(&cluster, message(&name, "", vec![attachment])).await;
        let status = refused.unwrap_err();
        assert_eq!(status.code(), Code::InvalidArgument);
        assert!(status.message().contains(part), "{}", status.message());
    }
    let empty = send(&cluster, message(&name, " ", vec![]))
        .await
        .unwrap_err();
    assert!(empty.message().contains("is empty"), "{}", empty.message());
    let too_large = cluster
        .client()
        .upload(vec![0_u8; MAX_FILE_BYTES + 1])
        .await;
    let report = too_large.unwrap_err();
    assert_eq!(report.code, Code::InvalidArgument, "{report}");
    assert_eq!(cluster.get(&name).await.state(), State::AwaitingUser);
}

#[tokio::test]
async fn failed_attachment_upload_is_reported_and_the_task_continues() {
    let cluster = Cluster::start(vec![ask("which file?"), done("without it")]).await;
    let name = cluster.create().await;
    cluster.happened(&name, "user_asked").await;
    let full = motorium_proto::error::ErrorReport::new(
        Code::InvalidArgument,
        "INVALID_FIELD",
        "the file is larger than 3 bytes",
    );
    cluster.world.fail("put_file", 1, &full);
    let request = message(&name, "this one", vec![file("a.txt", b"content")]);
    send(&cluster, request).await.unwrap();
    assert_eq!(cluster.follow(&name).await.answer(), "without it");
    let plan = cluster.world.plans().pop().unwrap();
    let notices = plan.notices.join("\n");
    assert!(notices.contains("larger than 3 bytes"), "{notices}");
    assert_eq!(plan.context.files, []);
}
