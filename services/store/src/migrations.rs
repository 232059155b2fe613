//! Schema migrations of a database, which are part of the program.
//!
//! Deliberately not the macro of sqlx, which builds the same value: with it, both database drivers are compiled twice.

use std::borrow::Cow;

use sqlx::SqlSafeStr as _;
use sqlx::migrate::{Migration, MigrationType, Migrator};

/// Returns the migrations of the files with these names and contents, such as `0001_tasks.sql`.
///
/// Version and description come from the name and the checksum from the content, as sqlx takes them from a folder: an
/// existing database knows a migration by them.
pub(crate) fn migrator(files: &[(&'static str, &'static str)]) -> Migrator {
    Migrator::with_migrations(
        files
            .iter()
            .map(|(name, sql)| migration(name, sql))
            .collect(),
    )
}

fn migration(name: &'static str, sql: &'static str) -> Migration {
    let (version, description) = name
        .trim_end_matches(".sql")
        .split_once('_')
        .expect("the name is NUMBER_DESCRIPTION.sql");
    Migration::new(
        version.parse().expect("the name begins with a number"),
        Cow::Owned(description.replace('_', " ")),
        MigrationType::Simple,
        sql.into_sql_str(),
        false,
    )
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    /// Compares with the library's own reading of the folders: the checks of existing databases depend on it.
    #[tokio::test]
    async fn the_migrations_are_those_of_the_folders() {
        for (folder, migrations) in [
            ("migrations/sqlite", crate::sqlite::migrations()),
            ("migrations/postgres", crate::postgres::migrations()),
        ] {
            let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
            let expected = Migrator::new(path).await.unwrap();
            let values = |migrator: &Migrator| -> Vec<_> {
                let one = |migration: &Migration| {
                    let text = migration.description.to_string();
                    (migration.version, text, migration.checksum.to_vec())
                };
                migrator.iter().map(one).collect()
            };
            assert_eq!(values(&migrations), values(&expected), "{folder}");
        }
    }
}
