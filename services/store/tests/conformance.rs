//! The conformance suite, run for every backend.

mod sqlite {
    use std::sync::Arc;

    use motorium_store::{Durability, SqliteStore, TaskStore};
    use tempfile::TempDir;

    async fn new() -> (Arc<dyn TaskStore>, TempDir) {
        let folder = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(&folder.path().join("motorium.db"), Durability::Normal).await;
        (Arc::new(store.unwrap()), folder)
    }

    motorium_store::task_store_conformance!(new);
}

mod postgres {
    use std::sync::{Arc, OnceLock};

    use motorium_store::local_postgres::LocalPostgres;
    use motorium_store::{PostgresStore, TaskStore};

    /// One server for all cases. It is not tied to the runtime of any of them.
    static SERVER: OnceLock<LocalPostgres> = OnceLock::new();

    async fn new() -> (Arc<dyn TaskStore>, ()) {
        let database = SERVER.get_or_init(LocalPostgres::start).database().await;
        let store = PostgresStore::open(&database).await;
        (Arc::new(store.unwrap()), ())
    }

    motorium_store::task_store_conformance!(new);
}
