//! [`InMemoryWaits`]: waits that end with the program. [`NoApprover`]: no waits at all.

use std::collections::VecDeque;
use std::io;
use std::sync::Mutex;

use serde_json::Value;
use tokio::sync::Notify;
use tokio::time::Instant;

use super::{locked, written};
use crate::ports::{AnswerMeaning, NewWait, OpenWait, Promise, WaitEnd, WaitKey, Waits};

/// Waits that last as long as the program. Only the program itself answers them, with
/// [`decide`](InMemoryWaits::decide), or beforehand with
/// [`answer_next`](InMemoryWaits::answer_next).
#[derive(Debug, Default)]
pub struct InMemoryWaits {
    waits: Mutex<Vec<KeptWait>>,
    answers: Mutex<VecDeque<Value>>,
    changed: Notify,
}

#[derive(Debug)]
struct KeptWait {
    wait: NewWait,
    open: OpenWait,
    until: Instant,
    end: Option<WaitEnd>,
}

impl InMemoryWaits {
    /// Answers the next wait that is opened.
    pub fn answer_next(&self, answer: Value) {
        locked(&self.answers).push_back(answer);
    }

    /// Decides an open wait. Returns `false` if there is none with this id, if it has ended, or if
    /// the wait does not accept the answer's `action`.
    pub fn decide(&self, id: &str, answer: Value) -> bool {
        let mut waits = locked(&self.waits);
        let Some(kept) = of_id(&mut waits, id).filter(|kept| kept.end.is_none()) else {
            return false;
        };
        kept.end = decision(answer, &kept.wait.offered);
        self.changed.notify_waiters();
        kept.end.is_some()
    }

    /// The questions, oldest first, and how they ended.
    pub fn asked(&self) -> Vec<(NewWait, OpenWait, Option<WaitEnd>)> {
        let all = locked(&self.waits);
        all.iter().map(|kept| (kept.wait.clone(), kept.open.clone(), kept.end.clone())).collect()
    }

    /// How the wait has ended, or its deadline.
    fn end_of(&self, id: &str) -> io::Result<Result<WaitEnd, Instant>> {
        let mut waits = locked(&self.waits);
        let kept = of_id(&mut waits, id).ok_or_else(|| no_wait(id))?;
        if kept.end.is_none() && kept.until <= Instant::now() {
            kept.end = Some(WaitEnd::TimedOut);
        }
        Ok(kept.end.clone().ok_or(kept.until))
    }
}

impl Waits for InMemoryWaits {
    fn find<'a>(&'a self, key: &'a WaitKey) -> Promise<'a, io::Result<Option<OpenWait>>> {
        let waits = locked(&self.waits);
        let kept = waits.iter().find(|kept| kept.wait.key.as_ref() == Some(key));
        Box::pin(std::future::ready(Ok(kept.map(|kept| kept.open.clone()))))
    }

    fn open(&self, wait: NewWait) -> Promise<'_, io::Result<OpenWait>> {
        let mut waits = locked(&self.waits);
        let same = |kept: &&KeptWait| wait.key.is_some() && kept.wait.key == wait.key;
        let open = match waits.iter().find(same) {
            Some(kept) => kept.open.clone(),
            None => {
                let id = format!("wait-{}", waits.len() + 1);
                let now = jiff::Timestamp::now();
                let until = now.checked_add(wait.timeout).unwrap_or(jiff::Timestamp::MAX);
                let open = OpenWait {
                    callback_url: format!("http://localhost/callback/{id}"),
                    id,
                    since: written(now),
                    until: written(until),
                    request: wait.request.clone(),
                    was_sent: false,
                    notes: Vec::new(),
                };
                let answer = locked(&self.answers).pop_front();
                let end = answer.and_then(|answer| decision(answer, &wait.offered));
                let until = Instant::now() + wait.timeout;
                waits.push(KeptWait { wait, open: open.clone(), until, end });
                open
            }
        };
        Box::pin(std::future::ready(Ok(open)))
    }

    fn sent<'a>(&'a self, id: &'a str) -> Promise<'a, io::Result<()>> {
        let mut waits = locked(&self.waits);
        let done = match of_id(&mut waits, id) {
            Some(kept) => {
                kept.open.was_sent = true;
                Ok(())
            }
            None => Err(no_wait(id)),
        };
        Box::pin(std::future::ready(done))
    }

    fn decided<'a>(&'a self, id: &'a str) -> Promise<'a, io::Result<WaitEnd>> {
        Box::pin(async move {
            loop {
                let mut changed = std::pin::pin!(self.changed.notified());
                // From here on no change is missed.
                changed.as_mut().enable();
                match self.end_of(id)? {
                    Ok(end) => return Ok(end),
                    Err(until) => {
                        let _ = tokio::time::timeout_at(until, changed).await;
                    }
                }
            }
        })
    }

    fn abandon<'a>(&'a self, id: &'a str) -> Promise<'a, io::Result<()>> {
        let mut waits = locked(&self.waits);
        let done = match of_id(&mut waits, id) {
            Some(kept) => {
                kept.end.get_or_insert(WaitEnd::Abandoned);
                Ok(())
            }
            None => Err(no_wait(id)),
        };
        self.changed.notify_waiters();
        Box::pin(std::future::ready(done))
    }
}

/// For programs that cannot ask people: every question fails at once.
#[derive(Debug, Default)]
pub struct NoApprover;

impl NoApprover {
    fn error<T: Send + 'static>() -> Promise<'static, io::Result<T>> {
        let error = io::Error::other("this program cannot ask people");
        Box::pin(std::future::ready(Err(error)))
    }
}

impl Waits for NoApprover {
    fn find<'a>(&'a self, _key: &'a WaitKey) -> Promise<'a, io::Result<Option<OpenWait>>> {
        Self::error()
    }

    fn open(&self, _wait: NewWait) -> Promise<'_, io::Result<OpenWait>> {
        Self::error()
    }

    fn sent<'a>(&'a self, _id: &'a str) -> Promise<'a, io::Result<()>> {
        Self::error()
    }

    fn decided<'a>(&'a self, _id: &'a str) -> Promise<'a, io::Result<WaitEnd>> {
        Self::error()
    }

    fn abandon<'a>(&'a self, _id: &'a str) -> Promise<'a, io::Result<()>> {
        Self::error()
    }
}

fn of_id<'a>(waits: &'a mut [KeptWait], id: &str) -> Option<&'a mut KeptWait> {
    waits.iter_mut().find(|kept| kept.open.id == id)
}

fn no_wait(id: &str) -> io::Error {
    io::Error::new(io::ErrorKind::NotFound, format!("there is no wait `{id}`"))
}

fn decision(response: Value, offered: &[String]) -> Option<WaitEnd> {
    let action = response.get("action").and_then(Value::as_str).unwrap_or_default();
    let word = AnswerMeaning::parse(action, offered)?;
    let at = written(jiff::Timestamp::now());
    Some(WaitEnd::Decided { response, word, by: "this program".to_owned(), at })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use serde_json::json;

    use super::*;

    fn keyed(hook: &str) -> NewWait {
        let key = WaitKey {
            session: "s".into(),
            firing: "1".into(),
            hook: hook.into(),
            digest: "d".into(),
        };
        let timeout = Duration::from_secs(1);
        NewWait { key: Some(key), timeout, ..NewWait::default() }
    }

    #[tokio::test]
    async fn a_wait_is_found_by_its_key_decided_once_and_never_made_twice() {
        let waits = InMemoryWaits::default();
        let key = keyed("a").key.expect("it has one");
        assert_eq!(waits.find(&key).await.expect("asked"), None);
        let opened = waits.open(keyed("a")).await.expect("opened");
        assert_eq!(waits.open(keyed("a")).await.expect("found"), opened);
        waits.sent(&opened.id).await.expect("noted");
        let found = waits.find(&key).await.expect("asked").expect("it is there");
        assert_eq!(found, OpenWait { was_sent: true, ..opened.clone() });
        assert!(!waits.decide(&opened.id, json!({ "action": "perhaps" })));
        assert!(waits.decide(&opened.id, json!({ "action": "no" })));
        assert!(!waits.decide(&opened.id, json!({ "action": "yes" })));
        waits.abandon(&opened.id).await.expect("noted");
        let end = waits.decided(&opened.id).await.expect("decided");
        assert!(matches!(end, WaitEnd::Decided { word: AnswerMeaning::No, .. }), "{end:?}");
        let without_key = NewWait::default();
        let first = waits.open(without_key.clone()).await.expect("opened");
        assert_ne!(waits.open(without_key).await.expect("opened").id, first.id);
    }

    #[tokio::test(start_paused = true)]
    async fn a_wait_ends_by_an_answer_by_its_deadline_or_abandoned() {
        let waits = Arc::new(InMemoryWaits::default());
        let [late, left, answered] = ["late", "left", "answered"].map(keyed);
        let late = waits.open(late).await.expect("opened");
        assert_eq!(waits.decided(&late.id).await.expect("known"), WaitEnd::TimedOut);
        assert!(!waits.decide(&late.id, json!({ "action": "yes" })));
        let left = waits.open(left).await.expect("opened");
        let answered = waits.open(answered).await.expect("opened");
        let waiting = [&left.id, &answered.id].map(|id| {
            let (waits, id) = (Arc::clone(&waits), id.clone());
            tokio::spawn(async move { waits.decided(&id).await.expect("known") })
        });
        waits.abandon(&left.id).await.expect("noted");
        assert!(waits.decide(&answered.id, json!({ "action": "ok" })));
        let [left, answered] = waiting;
        assert_eq!(left.await.expect("no panic"), WaitEnd::Abandoned);
        let answered = answered.await.expect("no panic");
        assert!(
            matches!(answered, WaitEnd::Decided { word: AnswerMeaning::Yes, .. }),
            "{answered:?}"
        );
        assert!(waits.decided("nobody").await.is_err());
    }
}
