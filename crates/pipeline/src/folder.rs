//! A session's folder and the files in it.
