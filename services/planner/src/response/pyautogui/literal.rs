//! Calls with literal arguments, and their assignment to parameters.
//!
//! No expression is evaluated: anything but a literal is refused.

use motorium_proto::error::FieldError;
use ruff_python_ast::{Expr, ExprCall, ExprUnaryOp, Number, UnaryOp};

/// A literal value.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Literal {
    None,
    Bool,
    Number(f64),
    Text(String),
    List(Vec<Literal>),
}

/// A call of a module's function, such as `pyautogui.click(644, y=364)`.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct PythonCall {
    pub(super) module: String,
    pub(super) function: String,
    positional: Vec<Literal>,
    named: Vec<(String, Literal)>,
}

impl PythonCall {
    /// Converts an expression into a call.
    pub(super) fn of(expression: &Expr) -> Result<Self, String> {
        let Expr::Call(call) = expression else {
            return Err(
                "only plain calls such as pyautogui.click(x=1, y=2) are understood".to_owned(),
            );
        };
        let (module, function) = called(call)?;
        let arguments = &call.arguments;
        let positional = arguments.args.iter().map(literal);
        let named = arguments.keywords.iter().map(|keyword| {
            let name = keyword.arg.as_ref().ok_or("`**` is not understood")?;
            Ok((name.to_string(), literal(&keyword.value)?))
        });
        Ok(Self {
            module: module.to_owned(),
            function: function.to_owned(),
            positional: positional.collect::<Result<_, _>>()?,
            named: named.collect::<Result<_, String>>()?,
        })
    }

    /// Assigns the arguments to the function's parameters.
    pub(super) fn arguments(&self, parameters: &[&'static str]) -> Result<CallArguments, String> {
        let whole = format!("{}.{}", self.module, self.function);
        if self.positional.len() > parameters.len() {
            return Err(format!(
                "{whole} takes at most {} arguments",
                parameters.len()
            ));
        }
        let mut given: Vec<(&'static str, Literal)> = parameters
            .iter()
            .copied()
            .zip(self.positional.iter().cloned())
            .collect();
        for (name, value) in &self.named {
            let parameter = parameters
                .iter()
                .find(|parameter| **parameter == usual_name(name, parameters))
                .ok_or_else(|| format!("{whole} has no argument `{name}`"))?;
            if given.iter().any(|(known, _)| known == parameter) {
                return Err(format!("`{name}` is given twice"));
            }
            given.push((parameter, value.clone()));
        }
        given.retain(|(_, value)| *value != Literal::None);
        Ok(CallArguments { given })
    }

    /// Returns all positional arguments.
    pub(super) fn positional(&self) -> &[Literal] {
        &self.positional
    }
}

/// Argument names that models use by mistake, with the correct name.
const ARGUMENT_ALIASES: &[(&str, &str)] = &[
    ("text", "message"),
    ("content", "message"),
    ("key", "keys"),
    ("amount", "clicks"),
    ("time", "seconds"),
    ("duration", "seconds"),
];

/// Returns the parameter that a name refers to, resolving aliases.
fn usual_name<'a>(name: &'a str, parameters: &[&'static str]) -> &'a str {
    if parameters.contains(&name) {
        return name;
    }
    let slip = ARGUMENT_ALIASES.iter().find(|(slip, _)| *slip == name);
    slip.map_or(name, |(_, usual)| usual)
}

fn called(call: &ExprCall) -> Result<(&str, &str), String> {
    if let Expr::Attribute(attribute) = &*call.func
        && let Expr::Name(module) = &*attribute.value
    {
        return Ok((module.id.as_str(), attribute.attr.as_str()));
    }
    Err(
        "only functions of pyautogui, computer and time can be called, by their full names"
            .to_owned(),
    )
}

fn literal(expression: &Expr) -> Result<Literal, String> {
    match expression {
        Expr::NoneLiteral(_) => Ok(Literal::None),
        Expr::BooleanLiteral(_) => Ok(Literal::Bool),
        Expr::StringLiteral(text) => Ok(Literal::Text(text.value.to_str().to_owned())),
        Expr::NumberLiteral(number) => value(&number.value).map(Literal::Number),
        Expr::UnaryOp(ExprUnaryOp { op, operand, .. }) => signed(*op, operand),
        Expr::List(list) => list
            .elts
            .iter()
            .map(literal)
            .collect::<Result<_, _>>()
            .map(Literal::List),
        Expr::Tuple(tuple) => tuple
            .elts
            .iter()
            .map(literal)
            .collect::<Result<_, _>>()
            .map(Literal::List),
        _ => {
            Err("arguments must be written out: numbers, texts in quotes, lists of them".to_owned())
        }
    }
}

fn signed(sign: UnaryOp, operand: &Expr) -> Result<Literal, String> {
    match (sign, literal(operand)?) {
        (UnaryOp::USub, Literal::Number(number)) => Ok(Literal::Number(-number)),
        (UnaryOp::UAdd, Literal::Number(number)) => Ok(Literal::Number(number)),
        _ => Err("a sign stands only before a number".to_owned()),
    }
}

fn value(number: &Number) -> Result<f64, String> {
    match number {
        // Integers beyond 32 bits have no meaning as coordinates, counts or times.
        Number::Int(whole) => whole
            .as_i32()
            .map(f64::from)
            .ok_or_else(|| format!("{whole} is too large")),
        Number::Float(fraction) if fraction.is_finite() => Ok(*fraction),
        Number::Float(_) | Number::Complex { .. } => Err("this is no usable number".to_owned()),
    }
}

/// Arguments of a call by parameter name. `None` counts as not given.
#[derive(Debug)]
pub(super) struct CallArguments {
    given: Vec<(&'static str, Literal)>,
}

impl CallArguments {
    pub(super) fn get(&self, name: &str) -> Option<&Literal> {
        let found = self.given.iter().find(|(known, _)| *known == name);
        found.map(|(_, value)| value)
    }

    pub(super) fn number(&self, name: &str) -> Result<Option<f64>, String> {
        match self.get(name) {
            None => Ok(None),
            Some(Literal::Number(number)) => Ok(Some(*number)),
            Some(_) => Err(format!("`{name}` must be a number")),
        }
    }

    pub(super) fn whole_number(&self, name: &str) -> Result<Option<i32>, String> {
        match self.number(name)? {
            None => Ok(None),
            Some(number) if number.fract() == 0.0 => Ok(Some(number as i32)),
            Some(number) => Err(format!("`{name}` must be a whole number, not {number}")),
        }
    }

    pub(super) fn text(&self, name: &str) -> Result<Option<&str>, String> {
        match self.get(name) {
            None => Ok(None),
            Some(Literal::Text(text)) => Ok(Some(text)),
            Some(_) => Err(format!("`{name}` must be a text in quotes")),
        }
    }
}

/// Returns the texts of values and of nested lists.
pub(super) fn texts(values: &[Literal]) -> Result<Vec<&str>, String> {
    let mut all = Vec::new();
    for value in values {
        match value {
            Literal::Text(text) => all.push(text.as_str()),
            Literal::List(inner) => all.extend(texts(inner)?),
            _ => return Err("the names of keys must be texts in quotes".to_owned()),
        }
    }
    Ok(all)
}

/// Returns the description of an error, as a message for the model.
pub(super) fn words(error: FieldError) -> String {
    error.description
}
