//! Extracts data from the screen for the planner.

use motorium_messages::Message;
use motorium_proto::service::ExtractRequest;
use tokio::time::Instant;

use super::context::RunContext;
use super::decide::{Planning, stored_image};
use super::hooks::{self, ImageCounts};
use super::recorder::ExchangeTexts;
use super::screen::Screen;
use super::{RunResult, halt, is_transient, page};
use crate::hooks::event::ModelCallPurpose;
use motorium_task::event::{Event, StoredExchange};
use motorium_task::limits;

impl Planning {
    /// Extracts the data. A failed extraction is reported to the planner and does not end the task.
    pub(super) async fn extract(
        &self,
        run: &mut RunContext,
        screen: &mut Screen,
        json_schema: String,
        instruction: String,
    ) -> RunResult {
        let began = Instant::now();
        screen.ensure_observed(run, true).await?;
        let page_text = match screen.latest_frame() {
            Some(frame) => page::text(run, frame).await?,
            None => None,
        };
        let image_counts = ImageCounts {
            current: usize::from(self.needs_image),
            ..ImageCounts::default()
        };
        let call = hooks::before_model_call(run, ModelCallPurpose::Extract, image_counts).await?;
        let instruction = with_notices(instruction, &call.notices);
        let Some(view) = screen.view() else {
            return Ok(());
        };
        let observation = &view.observation;
        let stored = run.task().open_step().and_then(stored_image);
        let image = match (&observation.image, stored) {
            _ if !self.needs_image => None,
            (Some(image), _) => Some(image.clone()),
            (None, Some(stored)) => {
                let read = stored.read(run.recorder.blobs()).await;
                Some(read.map_err(|report| halt(run.task(), Message::OperationReadImage, report))?)
            }
            (None, None) => None,
        };
        let request = ExtractRequest {
            json_schema,
            instruction,
            frame: observation.frame.clone(),
            image,
            scene: observation.scene.clone(),
            page_text,
            backends: run.task().spec.backends.clone(),
            remaining: limits::remaining(run.task(), run.now()),
        };
        let extracted = run
            .try_call(Message::OperationExtract, move |ports| {
                let request = request.clone();
                async move { ports.planner.extract(request).await }
            })
            .await?;
        run.record_timing("extract", began);
        let used = extracted.as_ref().ok().map(|extraction| extraction.usage);
        let mut stored = Ok(StoredExchange::default());
        let event = match extracted {
            Ok(extraction) => {
                let denied = hooks::after_model_call(run, &call, None, began).await?;
                let exchange = ExchangeTexts {
                    requests: extraction.requests,
                    responses: extraction.responses,
                };
                stored = run.store_exchange(&exchange, "extract").await;
                let exchange = stored.as_ref().ok().cloned().unwrap_or_default();
                match denied {
                    None => Event::Extracted {
                        json: extraction.json,
                        usage: extraction.usage,
                        sources: extraction.sources,
                        exchange,
                    },
                    Some(message) => {
                        let usage = extraction.usage;
                        hooks::count_rejected(run, "extract", &message, usage, exchange);
                        Event::TargetNotResolved { message }
                    }
                }
            }
            Err(report) if is_transient(&report) => {
                return Err(halt(run.task(), Message::OperationExtract, report));
            }
            Err(report) => Event::TargetNotResolved {
                message: run.task().text(Message::ExtractionFailed {
                    problem: &report.message,
                }),
            },
        };
        run.record(vec![event]).await?;
        if let Some(used) = used {
            hooks::after_usage(run, used).await;
        }
        // The extraction is paid for, so it is recorded even if its exchange cannot be stored.
        stored.map(drop)
    }
}

/// Appends the hooks' notices to the instruction.
fn with_notices(instruction: String, notices: &[String]) -> String {
    let words = [instruction].into_iter().chain(notices.iter().cloned());
    let words: Vec<String> = words.filter(|words| !words.is_empty()).collect();
    words.join("\n")
}
