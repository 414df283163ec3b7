//! Plays a script's turns over the protocol of the request. A request that the vendor would refuse
//! is refused, and uses up no turn.

use hookwright_model_script::{
    Ending, ForeignReply, ModelScript, ScriptProgress, ScriptedAnswer, ScriptedError, ScriptedTurn,
    ServerQuirk,
};
use serde_json::Value;

use crate::http::{EventsEnd, ReceivedRequest, SentBody, SentEvents, ServerAnswer};
use crate::vendor::Vendor;
use crate::{chat, messages};

/// A protocol over which a script can be played.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ScriptProtocol {
    Messages,
    Chat,
}

/// The answer to a request.
pub(crate) fn answer(
    vendor: Vendor,
    request: &ReceivedRequest,
    script: &ModelScript,
    turns_used: &mut ScriptProgress,
) -> ServerAnswer {
    let protocol = match vendor {
        Vendor::Messages => ScriptProtocol::Messages,
        Vendor::Chat => ScriptProtocol::Chat,
        Vendor::Responses | Vendor::Gemini => {
            let message = "A script is for the Messages API and for chat completions only.";
            return ScriptProtocol::Messages.refusal(&ScriptedError::with_message(400, message));
        }
    };
    if let Some(error) = protocol.refused(request, script) {
        return protocol.refusal(&error);
    }
    let (number, turn) = turns_used.next(script, &first_message(&request.body));
    match turn {
        ScriptedTurn::Answer(answer) => protocol.streamed(&answer, number, &request.body),
        ScriptedTurn::Error(error) => protocol.refusal(&error),
        ScriptedTurn::Reply(ForeignReply { status, content_type, body }) => {
            ServerAnswer::whole(&status_line(status), Vec::new(), &content_type, body)
        }
    }
}

impl ScriptProtocol {
    fn refused(self, request: &ReceivedRequest, script: &ModelScript) -> Option<ScriptedError> {
        match self {
            Self::Messages => messages::refused::why(request, script),
            Self::Chat => chat::refused::why(request, script),
        }
    }

    fn refusal(self, error: &ScriptedError) -> ServerAnswer {
        let retry_after = error.retry_after.iter();
        let headers = retry_after.map(|after| ("retry-after", after.clone())).collect();
        let body = match self {
            Self::Messages => error.body(),
            Self::Chat => chat::error_body(error),
        };
        ServerAnswer::whole(
            &status_line(error.status),
            headers,
            "application/json",
            body.to_string(),
        )
    }

    fn streamed(self, answer: &ScriptedAnswer, number: usize, request: &Value) -> ServerAnswer {
        if self == Self::Chat && answer.quirks.contains(&ServerQuirk::NoStream) {
            return ServerAnswer::json(&chat::whole(answer, number, request));
        }
        let end = match answer.ending {
            Ending::Complete | Ending::Error(_) => EventsEnd::Complete,
            Ending::Cut(bytes) => EventsEnd::Cut(bytes),
            Ending::Short(bytes) => EventsEnd::Short(bytes),
            Ending::Silence(bytes) => EventsEnd::Silence(bytes),
        };
        let events = match self {
            Self::Messages => messages::events(answer, number, request),
            Self::Chat => chat::events(answer, number, request),
        };
        ServerAnswer {
            status: status_line(200),
            headers: vec![("request-id", format!("req_{number}"))],
            kind: "text/event-stream; charset=utf-8".to_owned(),
            body: SentBody::SentEvents(SentEvents {
                events,
                byte_by_byte: answer.byte_by_byte,
                end,
            }),
        }
    }
}

/// The texts of the user's first message, one below the other.
fn first_message(request: &Value) -> String {
    let messages = request["messages"].as_array().into_iter().flatten();
    let mut users = messages.filter(|message| message["role"] == "user");
    let Some(content) = users.next().map(|message| &message["content"]) else {
        return String::new();
    };
    if let Some(text) = content.as_str() {
        return text.to_owned();
    }
    let blocks = content.as_array().into_iter().flatten();
    blocks.filter_map(|block| block["text"].as_str()).collect::<Vec<_>>().join("\n")
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
