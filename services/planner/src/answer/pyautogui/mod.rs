//! Python that a model writes (`pyautogui.click(x=644, y=364)`), read as typed actions and never run.
//!
//! The text is parsed as Python; then only a closed list is understood: calls of known functions of `pyautogui`,
//! `computer` and `time` with literal arguments, `import` lines of these three, and comments. Anything else is an
//! error that names the line, for the model to read.
//!
//! - [`literal`]: arguments, and how they belong to parameters
//! - [`calls`]: what each function means
//! - [`held`]: keys that are put down, and released in the same text
//!
//! Invariant: no key stays down after what is read here.

mod calls;
mod held;
mod literal;

use ruff_python_ast::token::TokenKind;
use ruff_python_ast::{Alias, Stmt, StmtImport};
use ruff_python_parser::lexer::lex;
use ruff_python_parser::{Mode, parse_module};
use ruff_text_size::{Ranged, TextRange};

use super::commands::Commands;

/// Most characters of code that are read: a page of it is no single step.
pub const MAX_CODE: usize = 16_384;
/// Most statements that are read.
pub const MAX_STATEMENTS: usize = 64;
/// Most signs in all of those by which code nests: far more than plain calls need, far fewer than exhaust a stack.
const MAX_NESTING_SIGNS: usize = 1024;
/// What may be imported, and whose functions may be called.
const MODULES: &[&str] = &["pyautogui", "computer", "time"];

/// Why code is no list of actions. The words are for the model that wrote it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line} of the code: {problem}")]
pub struct CodeError {
    /// From 1.
    pub line: usize,
    pub problem: String,
}

/// Reads the actions that some code asks for.
///
/// # Errors
/// If it is no Python, says anything that is not understood, or asks for nothing.
pub fn read(code: &str) -> Result<Commands, CodeError> {
    check_size(code)?;
    let module = parse_module(code).map_err(|error| CodeError {
        line: line_of(code, error.location),
        problem: format!("this is no Python: {}", error.error),
    })?;
    let statements = module.suite();
    if statements.len() > MAX_STATEMENTS {
        return Err(at_line(
            1,
            format!("at most {MAX_STATEMENTS} statements are read at once"),
        ));
    }
    let mut steps = calls::Steps::default();
    for statement in statements {
        read_statement(statement, &mut steps)
            .map_err(|problem| at_line(line_of(code, statement.range()), problem))?;
    }
    let last = code.lines().count().max(1);
    steps
        .into_commands()
        .map_err(|problem| at_line(last, problem))
}

/// Refuses what is too much to be parsed safely, before it is parsed.
fn check_size(code: &str) -> Result<(), CodeError> {
    if code.chars().count() > MAX_CODE {
        let problem = format!("at most {MAX_CODE} characters of code are read");
        return Err(at_line(1, problem));
    }
    let mut tokens = lex(code, Mode::Module);
    let kinds = std::iter::from_fn(|| Some(tokens.next_token()))
        .take_while(|kind| *kind != TokenKind::EndOfFile)
        // A token has at least one character, but for the ends of lines and of blocks.
        .take(3 * MAX_CODE);
    if kinds.filter(|kind| !is_flat(*kind)).count() > MAX_NESTING_SIGNS {
        return Err(at_line(1, "this is too much code for one step"));
    }
    Ok(())
}

/// Whether any number of such tokens makes code longer and not deeper.
fn is_flat(kind: TokenKind) -> bool {
    matches!(
        kind,
        TokenKind::Name
            | TokenKind::Int
            | TokenKind::Float
            | TokenKind::String
            | TokenKind::Comma
            | TokenKind::Equal
            | TokenKind::Rpar
            | TokenKind::Rsqb
            | TokenKind::Newline
            | TokenKind::NonLogicalNewline
            | TokenKind::Comment
            | TokenKind::Semi
    )
}

fn read_statement(statement: &Stmt, steps: &mut calls::Steps) -> Result<(), String> {
    match statement {
        Stmt::Import(import) => check_import(import),
        Stmt::Expr(expression) => {
            let call = literal::Call::of(&expression.value)?;
            steps.add(&call)
        }
        _ => Err("only plain calls such as pyautogui.click(x=1, y=2) are understood".to_owned()),
    }
}

fn check_import(import: &StmtImport) -> Result<(), String> {
    let is_known = |alias: &Alias| alias.asname.is_none() && MODULES.contains(&alias.name.as_str());
    if import.names.iter().all(is_known) {
        return Ok(());
    }
    Err(format!(
        "only {} can be imported, under their own names",
        MODULES.join(", ")
    ))
}

fn at_line(line: usize, problem: impl Into<String>) -> CodeError {
    CodeError {
        line,
        problem: problem.into(),
    }
}

/// From 1.
fn line_of(code: &str, range: TextRange) -> usize {
    let before = code.as_bytes().iter().take(range.start().to_usize());
    before.filter(|byte| **byte == b'\n').count() + 1
}
