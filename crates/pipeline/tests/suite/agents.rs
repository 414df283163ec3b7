//! Agents at work: what reaches them, what they print, how their turns end.

mod command;
mod scripted;
mod situation;
