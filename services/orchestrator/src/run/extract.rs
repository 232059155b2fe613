//! Taking data from the screen, because the planner wants it.

use motorium_proto::service::ExtractRequest;
use tokio::time::Instant;

use super::decide::stored_picture;
use super::hooks::PictureCounts;
use super::{Flow, Runner, View, halt, is_transient};
use crate::hooks::happening::Purpose;
use crate::task::event::Event;
use crate::task::limits;

/// How much of a page's text is given along, in characters: more than a model reads with profit.
const PAGE_TEXT: usize = 50_000;

impl Runner {
    /// Asks for the data. That there is none is told to the planner and does not end the task.
    pub(super) async fn extract(&mut self, json_schema: String, instruction: String) -> Flow {
        let began = Instant::now();
        if self.view.is_none() {
            // The step was begun by a run that has gone away.
            let observation = self.look(true).await?;
            self.view = Some(View::of(observation));
        }
        let page_text = self.page_text().await?;
        let pictures = PictureCounts {
            present: usize::from(self.needs_image),
            ..PictureCounts::default()
        };
        let call = self.before_model_call(Purpose::Extract, pictures).await?;
        let instruction = with_notices(instruction, &call.notices);
        let Some(view) = &self.view else {
            return Ok(());
        };
        let observation = &view.observation;
        let stored = self.task.open_step().and_then(stored_picture);
        let image = match (&observation.image, stored) {
            _ if !self.needs_image => None,
            (Some(image), _) => Some(image.clone()),
            (None, Some(stored)) => {
                let read = stored.read(&self.blobs).await;
                Some(read.map_err(|report| halt("reading a picture", report))?)
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
            backends: self.task.spec.backends.clone(),
            remaining: limits::remaining(&self.task, self.now()),
        };
        let extracted = self
            .ask_for_answer("taking data from the screen", move |ports| {
                let request = request.clone();
                async move { ports.planner.extract(request).await }
            })
            .await?;
        self.timed("extract", began);
        let used = extracted.as_ref().ok().map(|extraction| extraction.usage);
        let event = match extracted {
            Ok(extraction) => match self.after_model_call(&call, None, began).await? {
                None => Event::Extracted {
                    json: extraction.json,
                    usage: extraction.usage,
                    sources: extraction.sources,
                },
                Some(message) => {
                    self.count_in_vain("extract", &message, extraction.usage);
                    Event::TargetMissed { message }
                }
            },
            Err(report) if is_transient(&report) => {
                return Err(halt("taking data from the screen", report));
            }
            Err(report) => Event::TargetMissed {
                message: format!("no data could be taken from the screen: {}", report.message),
            },
        };
        self.record(vec![event]).await?;
        if let Some(used) = used {
            self.after_usage(used).await;
        }
        Ok(())
    }

    /// The text of the page in front, where a browser driver gives it.
    async fn page_text(&mut self) -> Flow<Option<String>> {
        let display = self.display();
        let page = self
            .ask_for_answer("reading the page", move |ports| {
                let display = display.clone();
                async move { ports.executor.read_page(display, PAGE_TEXT).await }
            })
            .await?;
        Ok(page.ok().map(|page| page.text))
    }
}

/// The instruction, and what hooks have to say.
fn with_notices(instruction: String, notices: &[String]) -> String {
    let words = [instruction].into_iter().chain(notices.iter().cloned());
    let words: Vec<String> = words.filter(|words| !words.is_empty()).collect();
    words.join("\n")
}
