//! Conversations with models that have a computer tool of their own.
//!
//! - [`world`]: a desktop on paper that carries decisions out, or does not
//! - [`sound`]: what has to hold of every request, whatever has happened
//! - [`faults`]: any order of answers, outcomes, stops, crashes and changes of backend
//! - [`claude`], [`openai`]: what one says to the other, word for word; [`claude_tool`]: the tool in its versions

mod claude;
mod claude_tool;
mod faults;
mod openai;
mod sound;
mod world;
