//! Rewrites a store into the form that an earlier version of the program gave it, for tests of upgrades.
//!
//! Tables, columns and indexes that came later are gone with their content; everything else is as it was. Deliberately without
//! the statements of a downgrade, which could leave something that the earlier version never had.

use std::path::Path;

use sqlx::postgres::PgConnection;
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{AssertSqlSafe, Connection as _};

/// Rewrites an SQLite database, which no process may have open.
///
/// # Panics
/// If it cannot be rewritten.
pub async fn rewrite_sqlite(file: &Path, schema: i64) {
    let older = file.with_extension("older");
    let options = SqliteConnectOptions::new().filename(&older);
    let mut connection = SqliteConnection::connect_with(&options.create_if_missing(true))
        .await
        .expect("the folder can be written");
    let migrations = crate::sqlite::migrations();
    let migrated = migrations.run_direct(Some(schema), &mut connection, false);
    migrated.await.expect("the migrations fit a new database");
    let attach = format!("ATTACH '{}' AS newer", file.display());
    let mut statements = vec![attach, "PRAGMA foreign_keys = OFF".to_owned()];
    let tables: Vec<String> = sqlx::query_scalar(
        "SELECT name FROM sqlite_schema
         WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND name <> '_sqlx_migrations'",
    )
    .fetch_all(&mut connection)
    .await
    .expect("a database has a schema");
    for table in tables {
        let columns: Vec<String> =
            sqlx::query_scalar("SELECT name FROM pragma_table_info($1) ORDER BY cid")
                .bind(&table)
                .fetch_all(&mut connection)
                .await
                .expect("a table has columns");
        let columns = columns.join(", ");
        statements.push(format!(
            "INSERT INTO main.{table} ({columns}) SELECT {columns} FROM newer.{table}"
        ));
    }
    for statement in statements {
        sqlx::query(AssertSqlSafe(statement))
            .execute(&mut connection)
            .await
            .expect("the newer database has every column of the older one");
    }
    connection.close().await.expect("it was open");
    std::fs::rename(&older, file).expect("both are in one folder");
    for log in ["db-wal", "db-shm"] {
        let _ = std::fs::remove_file(file.with_extension(log));
    }
}

/// Rewrites a PostgreSQL database, which no process may be connected to.
///
/// # Panics
/// If it cannot be rewritten.
pub async fn rewrite_postgres(url: &str, schema: i64) {
    let mut connection = PgConnection::connect(url).await.expect("the server runs");
    let aside = "ALTER SCHEMA public RENAME TO newer; CREATE SCHEMA public";
    execute(&mut connection, aside.to_owned()).await;
    let migrations = crate::postgres::migrations();
    let migrated = migrations.run_direct(Some(schema), &mut connection, false);
    migrated.await.expect("the migrations fit a new database");
    let columns: Vec<(String, String, bool)> = sqlx::query_as(
        "SELECT table_name, string_agg(column_name, ', ' ORDER BY ordinal_position), bool_or(is_identity = 'YES')
         FROM information_schema.columns
         WHERE table_schema = 'public' AND table_name <> '_sqlx_migrations'
         GROUP BY table_name ORDER BY table_name = 'task' DESC",
    )
    .fetch_all(&mut connection)
    .await
    .expect("a database has a schema");
    for (table, columns, numbered) in columns {
        execute(
            &mut connection,
            format!(
                "INSERT INTO public.{table} ({columns}) OVERRIDING SYSTEM VALUE SELECT {columns} FROM newer.{table}"
            ),
        )
        .await;
        if numbered {
            let next = format!(
                "SELECT setval(pg_get_serial_sequence('public.{table}', 'id'), (SELECT coalesce(max(id), 0) + 1 FROM public.{table}))"
            );
            execute(&mut connection, next).await;
        }
    }
    execute(&mut connection, "DROP SCHEMA newer CASCADE".to_owned()).await;
    connection.close().await.expect("it was open");
}

async fn execute(connection: &mut PgConnection, statements: String) {
    sqlx::raw_sql(AssertSqlSafe(statements))
        .execute(connection)
        .await
        .expect("the newer database has every column of the older one");
}
