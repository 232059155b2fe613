//! The HTML page of an export: one self-contained file that works without network and without scripts.
//!
//! - `view`: the data of the templates, in the task's language
//! - `images`: downscaled images as data URIs
//!
//! The page is written step by step, so that only one image at a time is in memory. Everything from the log is escaped by the
//! template engine. The `Content-Security-Policy` allows only the page's own script, by its hash, and loads nothing. Targets
//! are drawn over the screenshot as SVG; the image itself is not changed.

mod images;
mod view;

use std::fs::File as Disk;
use std::io::{BufWriter, Write as _};
use std::sync::LazyLock;

use minijinja::{AutoEscape, Environment, UndefinedBehavior};
use motorium_store::BlobStore;
use serde::Serialize;

use self::images::data_uri;
use self::view::{PageFooter, PageHeader, StepView};
use super::steps::Steps;
use super::{Error, rewound};
use motorium_task::Task;
use motorium_task::event::Artifact;

static TEMPLATES: LazyLock<Environment<'static>> = LazyLock::new(|| {
    let mut templates = Environment::new();
    templates.set_auto_escape_callback(|_| AutoEscape::Html);
    templates.set_undefined_behavior(UndefinedBehavior::Strict);
    let parts = [
        ("header", include_str!("page/header.html.jinja")),
        ("step", include_str!("page/step.html.jinja")),
        ("footer", include_str!("page/footer.html.jinja")),
    ];
    for (name, text) in parts {
        templates
            .add_template(name, text)
            .expect("the templates of the page are sound");
    }
    templates
});

/// Writes the page into an unnamed temporary file.
pub(super) async fn write(task: &Task, steps: &Steps, blobs: &BlobStore) -> Result<Disk, Error> {
    let file = tempfile::tempfile().map_err(Error::file(&std::env::temp_dir()))?;
    let mut page = BufWriter::new(file);
    let language = task.spec.message_language();
    put(&mut page, "header", &PageHeader::of(task, steps))?;
    for step in &steps.steps {
        let shown = shown(blobs, step.image.as_ref()).await;
        let shown_after = self::shown(blobs, step.image_after.as_ref()).await;
        let view = StepView::of(step, language, shown, shown_after);
        put(&mut page, "step", &view)?;
    }
    put(&mut page, "footer", &PageFooter::of(task))?;
    let file = page
        .into_inner()
        .map_err(|error| Error::Page(error.to_string()))?;
    rewound(file).map_err(|error| Error::Page(error.to_string()))
}

/// Returns an image as the page shows it; `None` if there is none, or it is gone.
async fn shown(blobs: &BlobStore, image: Option<&Artifact>) -> Option<String> {
    let stored = blobs.get(image?.sha256).await.ok()?;
    data_uri(stored).await
}

fn put(page: &mut BufWriter<Disk>, template: &str, values: &impl Serialize) -> Result<(), Error> {
    let failed = |error: minijinja::Error| Error::Page(error.to_string());
    let template = TEMPLATES.get_template(template).map_err(failed)?;
    let values = minijinja::value::Serde(values);
    let text = template.render(values).map_err(failed)?;
    page.write_all(text.as_bytes())
        .map_err(|error| Error::Page(error.to_string()))
}

#[cfg(test)]
mod tests;
