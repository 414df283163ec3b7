//! Responses for programs, as JSON.

use hookwright_events::Wait;
use hookwright_events::wait::WaitState;
use serde_json::{Value, json};

use crate::approvals::{iso, offered_words};
use crate::limits;
use crate::reply::NoReply;
use crate::routes::RequestRefusal;

/// The response to a request that decided.
pub(crate) fn decided(wait: &Wait, is_attended: bool) -> String {
    let mut result = json!({ "version": 1, "status": "decided", "id": wait.id });
    add_decision(&mut result, wait);
    result["session"] = json!(wait.session);
    result["running"] = json!(is_attended);
    line(&result)
}

/// The response to a request that did not decide.
pub(crate) fn refusal(refusal: &RequestRefusal) -> String {
    let error =
        |status: &str, reason: String| json!({ "version": 1, "status": status, "error": reason });
    let result = match refusal {
        RequestRefusal::OtherHost => {
            error("refused", "this server does not answer to the name in `Host`".into())
        }
        RequestRefusal::Unknown => error("unknown", "there is no question at this address".into()),
        RequestRefusal::Ended(wait) => ended(wait),
        RequestRefusal::CrossSite => {
            error("refused", "a page of another site may not decide here".into())
        }
        RequestRefusal::FromInside => error(
            "refused",
            "this answer comes from inside the session that asks, or its sender hung up; a person \
             outside has to answer"
                .into(),
        ),
        RequestRefusal::Method => error("refused", "expected GET or POST".into()),
        RequestRefusal::TooLarge => {
            let most = limits::BODY_BYTES_MAX;
            error("refused", format!("the body has more than {most} bytes"))
        }
        RequestRefusal::TooSlow => {
            let most = limits::BODY_WAIT.as_secs();
            error("refused", format!("the body did not arrive within {most} seconds"))
        }
        RequestRefusal::BrokenOff => error("refused", "the body is incomplete".into()),
        RequestRefusal::NoReply(NoReply::NoAction) => {
            error("refused", "expected an `action` in the body or in the query".into())
        }
        RequestRefusal::NoReply(NoReply::NotJson) => {
            error("refused", "expected a JSON object like {\"action\": \"approve\"}".into())
        }
        RequestRefusal::NoReply(NoReply::UnknownFormat) => {
            error("refused", "expected a form or a JSON object".into())
        }
        RequestRefusal::UnknownWord(wait) => {
            let words: Vec<String> =
                offered_words(wait).into_iter().map(|(word, _)| word).collect();
            let mut result = error("refused", "this question does not accept this action".into());
            result["expected"] = json!(words);
            result
        }
        RequestRefusal::Broken => {
            error("failed", "the decision could not be stored; try again later".into())
        }
    };
    line(&result)
}

fn ended(wait: &Wait) -> Value {
    let (status, error) = match wait.state {
        WaitState::Waiting | WaitState::Decided(_) | WaitState::Used(_) => {
            ("used", "this has already been decided")
        }
        WaitState::Expired => ("expired", "the time to decide is over"),
        WaitState::Abandoned => ("abandoned", "the process that asked no longer waits"),
    };
    let mut result = json!({ "version": 1, "status": status, "error": error, "id": wait.id });
    add_decision(&mut result, wait);
    if wait.state == WaitState::Expired {
        result["until"] = json!(iso(wait.until_ms));
    }
    result
}

fn add_decision(result: &mut Value, wait: &Wait) {
    if let Some(decision) = wait.state.decision() {
        result["action"] = json!(decision.action);
        result["message"] = json!(decision.message);
        result["by"] = json!(decision.by);
        result["at"] = json!(iso(decision.at_ms));
    }
}

fn line(value: &Value) -> String {
    format!("{value}\n")
}
