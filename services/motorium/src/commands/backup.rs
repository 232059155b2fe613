//! `motorium backup` and `motorium restore`: copies of the tasks and their files.
//!
//! Both work on the files of the configuration, not through a server. A PostgreSQL database has tools of its own.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::SystemTime;

use motorium_kit::config::LayeredConfig;
use motorium_messages::Message;
use motorium_orchestrator::storage;
use motorium_store::{BackupLabel, StoreFiles, back_up};
use motorium_text::rfc3339;

use crate::cli::{Backup, Restore};
use crate::error::Error;
use crate::output;
use crate::show::text;

/// Makes a backup.
pub(crate) async fn backup(loaded: &LayeredConfig, args: Backup) -> Result<ExitCode, Error> {
    let label = BackupLabel {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        created: rfc3339::format(SystemTime::now()),
    };
    let manifest = back_up(files(loaded)?, &absolute(&args.folder), label).await?;
    output::line(&text(Message::BackupDone {
        folder: &args.folder.display().to_string(),
        blobs: manifest.blobs,
        bytes: manifest.blob_bytes,
    }));
    if manifest.damaged_blobs > 0 {
        let blobs = manifest.damaged_blobs;
        let warning = text(Message::BackupWithoutDamaged { blobs });
        output::remark(&format!("{warning}\n"));
    }
    Ok(ExitCode::SUCCESS)
}

/// Restores a backup.
pub(crate) async fn restore(loaded: &LayeredConfig, args: Restore) -> Result<ExitCode, Error> {
    let folder = absolute(&args.folder);
    let restored = motorium_store::restore(&folder, files(loaded)?, args.force).await?;
    output::line(&text(Message::RestoreDone {
        created: &restored.manifest.created,
        blobs: restored.manifest.blobs,
    }));
    if let Some(replaced) = restored.replaced {
        let folder = &replaced.display().to_string();
        output::line(&text(Message::RestoreReplaced { folder }));
    }
    Ok(ExitCode::SUCCESS)
}

/// Returns the files of the configured store.
fn files(loaded: &LayeredConfig) -> Result<StoreFiles, Error> {
    let settings = loaded.section::<storage::Settings>()?;
    let files = settings.files(loaded.common()?.data()?);
    files.ok_or_else(|| Error::Usage(text(Message::StoreNotInFiles)))
}

fn absolute(folder: &std::path::Path) -> PathBuf {
    std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned())
}
