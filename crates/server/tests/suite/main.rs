//! What `hookwright-server` promises: the router called as a function, listeners over real sockets,
//! the page in a real browser.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod answers;
mod attacks;
mod board;
mod board_attacks;
mod board_browser;
mod board_feeds;
mod browser;
mod client;
mod desk;
mod driver;
mod listeners;
mod pages;
mod played;
mod situation;
mod visitor;
mod wanted;
