//! Knowledge of the files of a desktop beyond the folder itself: the tenant that they belong to, the holder in whose lease they
//! came, and when they changed before they were put aside.
//!
//! Files of other tenants lie in a folder that programs in the sandbox do not see. A lease for another tenant exchanges them; what a
//! program has open stays open. It reads no content.
//!
//! Tasks of one tenant share the folder: a task of a session goes on with the files of the one before it, and file dialogs and open
//! programs know one folder. The record tells their files apart where that counts, for deletion and for results.
//!
//! Invariant: the desktop's folder never has files of two tenants. After a crash midway the next lease does the rest.

use std::collections::BTreeMap;
use std::fs::{self, Metadata};
use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use motorium_kit::principal::DEFAULT_TENANT;
use motorium_kit::private_file;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// Name of the folder beside those of the desktops, in which files of tenants are aside.
const ASIDE: &str = ".tenants";
/// Name of the file in it with the record.
const RECORD: &str = "record.json";

/// The files of one desktop, by tenant.
#[derive(Debug)]
pub(super) struct Ledger {
    /// Folder of the desktop.
    folder: PathBuf,
    /// Folder of the files that are aside.
    aside: PathBuf,
    record: Record,
}

/// The stored form.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Record {
    /// Tenant whose files are in the desktop's folder.
    shown: String,
    lease: Option<LeaseRecord>,
    /// Files by tenant and name.
    tenants: BTreeMap<String, BTreeMap<String, FileRecord>>,
}

/// The lease that began last, until it ends.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct LeaseRecord {
    holder: String,
    /// Times at which the files that were there at its beginning were last changed, in nanoseconds.
    before: BTreeMap<String, u64>,
}

#[derive(Debug, Default, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct FileRecord {
    /// Holder in whose lease it came or was changed last.
    holder: Option<String>,
    /// Time of its content and its size then. Moving it changes neither.
    written_at: u64,
    size: u64,
    /// Time of its last change before it was put aside.
    changed_at: u64,
    /// Time at which it was put back, which counts as a change for the file system.
    put_back_at: Option<u64>,
}

impl Default for Record {
    fn default() -> Self {
        Self {
            // Everything from before there were tenants.
            shown: DEFAULT_TENANT.to_owned(),
            lease: None,
            tenants: BTreeMap::new(),
        }
    }
}

impl Ledger {
    /// Reads what is known of the files of a folder.
    pub(super) fn open(folder: &Path) -> io::Result<Self> {
        let name = folder.file_name().unwrap_or_default();
        let aside = folder.with_file_name(ASIDE).join(name);
        let path = aside.join(RECORD);
        let record = match fs::read(&path) {
            Ok(record) => {
                serde_json::from_slice(&record).map_err(|error| damaged(&path, &error))?
            }
            Err(error) if error.kind() == ErrorKind::NotFound => Record::default(),
            Err(error) => return Err(error),
        };
        Ok(Self {
            folder: folder.to_owned(),
            aside,
            record,
        })
    }

    /// Begins a lease: ends the one before, and exchanges the files if it is for another tenant.
    pub(super) fn begin_lease(&mut self, holder: &str, tenant: Option<&str>) -> io::Result<()> {
        self.attribute()?;
        if let Some(tenant) = tenant {
            self.show(tenant)?;
        }
        let files = entries(&self.folder)?;
        let before = files
            .into_iter()
            .map(|(name, metadata)| (name, changed_at(&metadata)));
        self.record.lease = Some(LeaseRecord {
            holder: holder.to_owned(),
            before: before.collect(),
        });
        self.save()
    }

    /// Ends the current lease: the files that came or changed in it are its holder's.
    pub(super) fn end_lease(&mut self) -> io::Result<()> {
        if self.record.lease.is_none() {
            return Ok(());
        }
        self.attribute()?;
        self.save()
    }

    /// Deletes the files of a tenant that came or changed last in leases of this holder and were not changed since.
    pub(super) fn delete_of(&mut self, holder: &str, tenant: &str) -> io::Result<()> {
        let is_current = |lease: &LeaseRecord| lease.holder == holder;
        if self.record.lease.as_ref().is_some_and(is_current) {
            self.attribute()?;
        }
        let folder = match self.record.shown == tenant {
            true => self.folder.clone(),
            false => self.aside_of(tenant),
        };
        let known = self.record.tenants.entry(tenant.to_owned()).or_default();
        let is_of_holder = |file: &FileRecord| file.holder.as_deref() == Some(holder);
        let own: Vec<String> = known
            .iter()
            .filter(|(_, file)| is_of_holder(file))
            .map(|(name, _)| name.clone())
            .collect();
        for name in own {
            let path = folder.join(&name);
            let file = known.remove(&name).unwrap_or_default();
            match fs::symlink_metadata(&path) {
                Ok(now) if written_at(&now) == file.written_at && now.size() == file.size => {
                    remove(&path, &now)?;
                }
                // A person or a program has changed it without a lease.
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        self.save()
    }

    /// Returns the time of the last change of a file or of its name, in nanoseconds. That it was put aside and back is no change.
    pub(super) fn changed_at(&self, name: &str, metadata: &Metadata) -> u64 {
        let now = changed_at(metadata);
        let known = self.record.tenants.get(&self.record.shown);
        let known = known.and_then(|files| files.get(name));
        match known {
            Some(file) if file.put_back_at == Some(now) => file.changed_at,
            _ => now,
        }
    }

    /// Records the files that came or changed since the current lease began as its holder's, and ends it.
    fn attribute(&mut self) -> io::Result<()> {
        let Some(lease) = self.record.lease.take() else {
            return Ok(());
        };
        let found = entries(&self.folder)?;
        let known = self
            .record
            .tenants
            .entry(self.record.shown.clone())
            .or_default();
        known.retain(|name, _| found.contains_key(name));
        for (name, metadata) in found {
            if lease.before.get(&name) != Some(&changed_at(&metadata)) {
                let file = FileRecord {
                    holder: Some(lease.holder.clone()),
                    written_at: written_at(&metadata),
                    size: metadata.size(),
                    ..FileRecord::default()
                };
                known.insert(name, file);
            }
        }
        Ok(())
    }

    /// Has the desktop's folder show the files of a tenant.
    fn show(&mut self, tenant: &str) -> io::Result<()> {
        if self.record.shown != tenant {
            let shown = self.record.shown.clone();
            for (name, metadata) in entries(&self.folder)? {
                let changed = self.changed_at(&name, &metadata);
                let known = self.record.tenants.entry(shown.clone()).or_default();
                let file = known.entry(name).or_default();
                file.changed_at = changed;
                file.put_back_at = None;
            }
            // Before a file is moved, because moving it changes its time.
            self.save()?;
            let aside = self.aside_of(&shown);
            move_all(&self.folder, &aside)?;
            // While the folder is empty: what a crash leaves in it belongs to the tenant that the record names.
            self.record.shown = tenant.to_owned();
            self.save()?;
        }
        let aside = self.aside_of(tenant);
        let returning: Vec<String> = match aside.exists() {
            true => entries(&aside)?.into_keys().collect(),
            false => return Ok(()),
        };
        move_all(&aside, &self.folder)?;
        let known = self.record.tenants.entry(tenant.to_owned()).or_default();
        for name in returning {
            let metadata = fs::symlink_metadata(self.folder.join(&name))?;
            if let Some(file) = known.get_mut(&name) {
                file.put_back_at = Some(changed_at(&metadata));
            }
        }
        Ok(())
    }

    /// Returns the folder of a tenant's files while they are aside. The name of a tenant may be a path.
    fn aside_of(&self, tenant: &str) -> PathBuf {
        let hash = Sha256::digest(tenant);
        let name: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
        self.aside.join(name)
    }

    fn save(&self) -> io::Result<()> {
        private_file::create_folder(&self.aside)?;
        private_file::replace(&self.aside.join(RECORD), &serde_json::to_vec(&self.record)?)
    }
}

/// Returns the error of a record that cannot be read: without it, the files of two tenants might be mixed.
fn damaged(path: &Path, error: &serde_json::Error) -> io::Error {
    let path = path.display();
    let text = format!(
        "{path} is damaged ({error}); put the files of the desktop's folder where they belong, and remove it"
    );
    io::Error::new(ErrorKind::InvalidData, text)
}

/// Returns what is in a folder. Names that are no text are left out: no task can name them.
fn entries(folder: &Path) -> io::Result<BTreeMap<String, Metadata>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let (Ok(name), metadata) = (entry.file_name().into_string(), entry.metadata()) else {
            continue;
        };
        match metadata {
            Ok(metadata) => drop(found.insert(name, metadata)),
            // A program has removed it meanwhile.
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(found)
}

/// Moves everything in a folder to another one, which is created. Links are moved and not followed. Nothing if there is no folder.
fn move_all(from: &Path, to: &Path) -> io::Result<()> {
    let found = match fs::read_dir(from) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        found => found?,
    };
    private_file::create_folder(to)?;
    for entry in found {
        let entry = entry?;
        let target = to.join(entry.file_name());
        match fs::symlink_metadata(&target) {
            // Left over from a crash; the one that is moved is newer.
            Ok(old) => remove(&target, &old)?,
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        fs::rename(entry.path(), target)?;
    }
    Ok(())
}

/// Removes a file, a link, or a folder with everything in it. Links are not followed.
fn remove(path: &Path, metadata: &Metadata) -> io::Result<()> {
    match metadata.is_dir() {
        true => fs::remove_dir_all(path),
        false => fs::remove_file(path),
    }
}

/// Returns the time of the last change of a file or of its name, which no program can set, in nanoseconds.
fn changed_at(metadata: &Metadata) -> u64 {
    nanoseconds(metadata.ctime(), metadata.ctime_nsec())
}

fn written_at(metadata: &Metadata) -> u64 {
    nanoseconds(metadata.mtime(), metadata.mtime_nsec())
}

fn nanoseconds(seconds: i64, nanoseconds: i64) -> u64 {
    let whole = u64::try_from(seconds).unwrap_or_default();
    let part = u64::try_from(nanoseconds).unwrap_or_default();
    whole.saturating_mul(1_000_000_000).saturating_add(part)
}
