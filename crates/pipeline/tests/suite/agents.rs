//! Agents at work: what reaches them, what they print, how their turns end.

mod command;
mod preset;
mod scripted;
mod situation;
