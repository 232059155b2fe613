//! Python code from a model (`pyautogui.click(x=644, y=364)`), parsed as typed actions and never run.
//!
//! The text is parsed as Python. Only an allow list is then accepted: calls of known functions of `pyautogui`, `computer`
//! and `time` with literal arguments, imports of these three modules, and comments. Anything else is an error that names
//! the line, for the model to read.
//!
//! - [`literal`]: arguments, and their assignment to parameters
//! - [`calls`]: the meaning of each function
//! - [`held_keys`]: keys that are held, and released in the same code
//!
//! Invariant: no key stays down after the parsed actions.

mod calls;
mod held_keys;
mod literal;

use motorium_proto::domain::action::Action;
use ruff_python_ast::token::TokenKind;
use ruff_python_ast::{Alias, Stmt, StmtImport};
use ruff_python_parser::lexer::lex;
use ruff_python_parser::{Mode, parse_module};
use ruff_text_size::{Ranged, TextRange};

use super::model_actions::{ModelActions, TaskEnding};

/// Maximum length of code, in characters: a single step needs far less.
pub const MAX_CODE_CHARS: usize = 16_384;
/// Maximum number of statements: a single step needs far less.
pub const MAX_STATEMENTS: usize = 64;
/// Maximum number of tokens that can nest code: far more than plain calls need, far fewer than would exhaust the parser's
/// stack.
const MAX_NESTING_TOKENS: usize = 1024;
/// Modules that may be imported and called.
const MODULES: &[&str] = &["pyautogui", "computer", "time"];

/// Code that is not a list of actions. The message is for the model that wrote it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line} of the code: {problem}")]
pub struct CodeError {
    /// Line number, from 1.
    pub line: usize,
    pub problem: String,
}

/// Parses the actions in Python code.
///
/// # Errors
/// Fails if the text is not Python, contains anything that is not supported, or has no action.
pub fn read(code: &str) -> Result<ModelActions, CodeError> {
    if let Some(actions) = special_code(code.trim()) {
        return Ok(actions);
    }
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
    let mut steps = calls::ActionBuilder::default();
    for statement in statements {
        read_statement(statement, &mut steps)
            .map_err(|problem| at_line(line_of(code, statement.range()), problem))?;
    }
    let last = code.lines().count().max(1);
    steps
        .into_commands()
        .map_err(|problem| at_line(last, problem))
}

/// Returns the meaning of a code that is one word alone, as the agents that the models were trained in have it.
fn special_code(code: &str) -> Option<ModelActions> {
    let ended = |ending| ModelActions {
        actions: Vec::new(),
        ending: Some(ending),
    };
    match code {
        "DONE" => Some(ended(TaskEnding::Done(String::new()))),
        "FAIL" => Some(ended(TaskEnding::Fail(String::new()))),
        "WAIT" => Some(ModelActions {
            actions: vec![Action::Wait {
                duration: calls::DEFAULT_WAIT,
            }],
            ending: None,
        }),
        _ => None,
    }
}

/// Rejects code that is too large to be parsed safely.
fn check_size(code: &str) -> Result<(), CodeError> {
    if code.chars().count() > MAX_CODE_CHARS {
        let problem = format!("at most {MAX_CODE_CHARS} characters of code are read");
        return Err(at_line(1, problem));
    }
    let mut tokens = lex(code, Mode::Module);
    let kinds = std::iter::from_fn(|| Some(tokens.next_token()))
        .take_while(|kind| *kind != TokenKind::EndOfFile)
        // Bounds the lexer: a token has at least one character, except at the ends of lines and blocks.
        .take(3 * MAX_CODE_CHARS);
    if kinds.filter(|kind| !is_flat(*kind)).count() > MAX_NESTING_TOKENS {
        return Err(at_line(1, "this is too much code for one step"));
    }
    Ok(())
}

/// Returns whether tokens of this kind make code longer but not deeper.
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

fn read_statement(statement: &Stmt, steps: &mut calls::ActionBuilder) -> Result<(), String> {
    match statement {
        Stmt::Import(import) => check_import(import),
        Stmt::Expr(expression) => {
            let call = literal::PythonCall::of(&expression.value)?;
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

/// Returns the line number of a range, from 1.
fn line_of(code: &str, range: TextRange) -> usize {
    let before = code.as_bytes().iter().take(range.start().to_usize());
    before.filter(|byte| **byte == b'\n').count() + 1
}
