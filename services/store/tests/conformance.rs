//! The suite, run for every back end.

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
