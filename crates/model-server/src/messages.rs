//! Anthropic's Messages: a script's turns, and the vendor's refusals of what is not in order.

mod refused;

use hookwright_model_script::{
    Ending, ForeignReply, ModelScript, ScriptProgress, ScriptedAnswer, ScriptedError, ScriptedTurn,
    sse,
};

use serde_json::Value;

use crate::http::{Answer, EventsEnd, ReceivedRequest, SentBody, SentEvents};
use crate::vendor::Vendor;

/// The answer to a request. A request that is refused uses up no turn.
pub(crate) fn answer(
    vendor: Vendor,
    request: &ReceivedRequest,
    script: &ModelScript,
    turns_used: &mut ScriptProgress,
) -> Answer {
    if vendor != Vendor::Messages {
        let message = "A script is for the Messages API only.";
        return refusal(&invalid(message));
    }
    if let Some(error) = refused::why(request, script) {
        return refusal(&error);
    }
    let first_message = text_of(&request.body["messages"][0]["content"]);
    let (number, turn) = turns_used.next(script, &first_message);
    match turn {
        ScriptedTurn::Answer(answer) => {
            let model = request.body["model"].as_str().unwrap_or_default();
            streamed(&answer, number, model)
        }
        ScriptedTurn::Error(error) => refusal(&error),
        ScriptedTurn::Reply(ForeignReply { status, content_type, body }) => {
            Answer::whole(&status_line(status), Vec::new(), &content_type, body)
        }
    }
}

/// The texts of a message, one below the other.
fn text_of(content: &Value) -> String {
    if let Some(text) = content.as_str() {
        return text.to_owned();
    }
    let blocks = content.as_array().into_iter().flatten();
    blocks.filter_map(|block| block["text"].as_str()).collect::<Vec<_>>().join("\n")
}

fn streamed(answer: &ScriptedAnswer, number: usize, model: &str) -> Answer {
    let end = match answer.ending {
        Ending::Complete | Ending::Error(_) => EventsEnd::Complete,
        Ending::Cut(bytes) => EventsEnd::Cut(bytes),
        Ending::Short(bytes) => EventsEnd::Short(bytes),
        Ending::Silence(bytes) => EventsEnd::Silence(bytes),
    };
    let events = answer.events(number, model).iter().map(sse).collect();
    Answer {
        status: status_line(200),
        headers: vec![("request-id", format!("req_{number}"))],
        kind: "text/event-stream; charset=utf-8".to_owned(),
        body: SentBody::SentEvents(SentEvents { events, byte_by_byte: answer.byte_by_byte, end }),
    }
}

fn refusal(error: &ScriptedError) -> Answer {
    let headers = error.retry_after.iter().map(|after| ("retry-after", after.clone())).collect();
    let body = error.body().to_string();
    Answer::whole(&status_line(error.status), headers, "application/json", body)
}

fn invalid(message: impl Into<String>) -> ScriptedError {
    ScriptedError { message: message.into(), ..ScriptedError::of_status(400) }
}

fn status_line(status: u16) -> String {
    let words = match status {
        200 => "OK",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        429 => "Too Many Requests",
        500 => "Internal Server Error",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        529 => "Overloaded",
        _ => "Scripted",
    };
    format!("{status} {words}")
}
