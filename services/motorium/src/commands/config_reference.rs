//! Renders the reference of the settings as docs/configuration.md.

use std::fmt::Write as _;

use motorium_kit::config::reference::{KeyReference, TableReference};

const INTRODUCTION: &str = "\
# Configuration

<!-- Generated from the settings types by `motorium config --reference`. Do not edit: run `make docs`. -->

Later sources override earlier ones:

1. the defaults below
2. a TOML file: `--config FILE`, or the one that `MOTORIUM_CONFIG` names
3. environment variables
4. flags: `--set KEY=VALUE`, `--data FOLDER`

`motorium config` prints the active values with their sources. `motorium config --all` also prints
the keys that are not set, with examples. One file may configure all services; each reads its own
section and the common ones.

| type | how it is written |
|---|---|
| text | a string: `\"careful\"` |
| path | a file or folder as a string; a relative one starts at the working directory |
| duration | a whole number with `ms`, `s`, `m`, `h` or `d`, as a string: `\"250ms\"`, `\"30s\"`, `\"8m\"`, `\"24h\"`, `\"30d\"` |
| address | IP address and port, as a string: `\"127.0.0.1:7700\"`, `\"[::1]:7700\"`, `\"localhost:7700\"`; port 0 selects a free one |
| secret | a string that is always printed as `<secret>` |
| list | `[\"a\", \"b\"]`, also in an environment variable; there and with `--set`, one entry needs no brackets |
| table | `{ key = \"value\" }`, also in an environment variable |

The environment variable of a key is `MOTORIUM_` and the key in capitals, with `__` for each dot.
Replace `NAME` by a name of your own; names in variables become lower case. Elements of an array
(`[[…]]`) have no variables, but the array has: `MOTORIUM_PLANNER__MODELS`.
";

/// Returns the document. Each section is the list of its tables, beginning with the section itself.
pub(super) fn document(sections: &[Vec<TableReference>]) -> String {
    let mut text = INTRODUCTION.to_owned();
    for table in sections.iter().flatten() {
        // A section that consists of tables only needs no heading of its own, and an empty table no columns.
        if !table.keys.is_empty() {
            write_table(&mut text, table).expect("writing to a string succeeds");
        }
    }
    text
}

fn write_table(text: &mut String, table: &TableReference) -> std::fmt::Result {
    let level = if table.path.contains('.') {
        "###"
    } else {
        "##"
    };
    let header = match (&table.variant, table.path.as_str()) {
        (_, "") => "Top level".to_owned(),
        (Some(variant), _) => format!("`{}`, kind `{variant}`", table.header()),
        (None, _) => format!("`{}`", table.header()),
    };
    writeln!(text, "\n{level} {header}\n\n{}\n", table.description)?;
    writeln!(
        text,
        "| key | type | default | unit | environment variable | description |"
    )?;
    writeln!(text, "|---|---|---|---|---|---|")?;
    for key in &table.keys {
        writeln!(text, "{}", row(key))?;
    }
    if let Some(example) = table.example {
        writeln!(text, "\n```toml\n{}\n```", example.trim())?;
    }
    Ok(())
}

fn row(key: &KeyReference) -> String {
    let code = |text: &String| format!("`{text}`");
    let default = match &key.default {
        Some(default) => code(default),
        None if key.is_required => "required".to_owned(),
        None => "not set".to_owned(),
    };
    let description = match &key.example {
        Some(example) => format!("{} Example: `{example}`", key.description),
        None => key.description.clone(),
    };
    let cells = [
        code(&key.path),
        key.kind.clone(),
        default,
        key.unit.clone().unwrap_or_default(),
        key.variable.as_ref().map(code).unwrap_or_default(),
        description,
    ];
    format!(
        "| {} |",
        cells.map(|cell| cell.replace('|', "\\|")).join(" | ")
    )
}
