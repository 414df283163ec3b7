//! [`Rendered`]: a request with its values filled in, but secrets and the callback's address still
//! by name. It can be stored, and is rendered once: after a crash the stored request is sent.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::actions::HookAttempt;
use crate::hook::{Body, Webhook};
use crate::http::HttpRequest;
use crate::limits::SECRET_BYTES_MIN;
use crate::secrets::{Redaction, Secrets};
use crate::template::{
    FilledJson, FilledText, Filling, JsonTemplate, Revealing, TextTemplate, ValueWriting,
};
use crate::variables::is_ours;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Rendered {
    /// The same for all attempts.
    id: String,
    method: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    url: Option<FilledText>,
    headers: Vec<(String, FilledText)>,
    body: Option<RenderedBody>,
    secret: Option<FilledText>,
    allow_http: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum RenderedBody {
    Json(FilledJson),
    Text(String),
}

impl Rendered {
    /// Renders the request of this attempt; the error says which text cannot be filled.
    pub(super) fn new(
        attempt: &HookAttempt,
        webhook: &Webhook,
        has_callback: bool,
    ) -> Result<Self, String> {
        let filling = Filling { has_callback, ..attempt.filling() };
        let fill = |text: &TextTemplate, writing, what: &str| {
            check_callback(text.names(), has_callback, what)?;
            text.fill(&filling, writing).map_err(|error| error.within(what))
        };
        let method = webhook.method.clone().unwrap_or_else(|| "POST".to_owned());
        let headers = webhook.headers.iter().map(|(name, value)| {
            let what = format!("header `{name}`");
            Ok((name.clone(), fill(value, ValueWriting::Header, &what)?))
        });
        let body = match &webhook.body {
            Body::Json(template) if is_left_out(&method, template) => None,
            Body::Json(template) => {
                check_callback(template.names().into_iter(), has_callback, "`body`")?;
                let filled = template.fill(&filling).map_err(|error| error.within("`body`"))?;
                Some(RenderedBody::Json(filled))
            }
            Body::Event => {
                let wire = attempt.policy.wire;
                let text = wire.input(&attempt.reader()).stdin;
                Some(RenderedBody::Text(text.trim_end().to_owned()))
            }
        };
        let secret = webhook.secret.as_ref();
        Ok(Self {
            id: message_id(attempt),
            url: webhook
                .url
                .as_ref()
                .map(|url| fill(url, ValueWriting::Url, "`url`"))
                .transpose()?,
            headers: headers.collect::<Result<_, String>>()?,
            body,
            secret: secret.map(|text| fill(text, ValueWriting::Plain, "`secret`")).transpose()?,
            allow_http: webhook.allow_http,
            method,
        })
    }

    /// Whether it has an address.
    pub(super) fn is_sent(&self) -> bool {
        self.url.is_some()
    }

    /// The request to send now.
    pub(super) fn request(
        &self,
        secrets: &Secrets,
        callback_url: &str,
    ) -> Result<HttpRequest, String> {
        let revealing = Revealing { secrets, callback_url };
        let reveal = |text: &FilledText, what: &str| {
            text.reveal_all(revealing).map_err(|error| error.within(what))
        };
        let body = self.body.as_ref().map(|body| match body {
            RenderedBody::Json(json) => {
                let value = json.reveal_all(revealing).map_err(|error| error.within("`body`"))?;
                Ok::<_, String>(value.to_string())
            }
            RenderedBody::Text(text) => Ok(text.clone()),
        });
        let body = body.transpose()?;
        let mut headers = vec![("webhook-id".to_owned(), self.id.clone())];
        if body.is_some() {
            headers.push(("content-type".to_owned(), "application/json".to_owned()));
        }
        for (name, value) in &self.headers {
            headers.push((name.clone(), reveal(value, &format!("header `{name}`"))?));
        }
        if let Some(secret) = &self.secret {
            let secret = reveal(secret, "`secret`")?;
            headers.extend(signature(&secret, &self.id, body.as_deref().unwrap_or_default())?);
        }
        Ok(HttpRequest {
            method: self.method.clone(),
            url: match &self.url {
                Some(url) => reveal(url, "`url`")?,
                None => return Err("the request has no address".to_owned()),
            },
            headers,
            body: body.map(String::into_bytes),
            allow_http: self.allow_http,
        })
    }

    /// What must be redacted in the response: secrets, the callback's address, and values from the
    /// environment in the address and headers, since any of them may be a token.
    pub(super) fn hidden(&self, secrets: &Secrets, callback_url: &str) -> Arc<Redaction> {
        let texts = self.headers.iter().map(|(_, text)| text).chain(&self.url).chain(&self.secret);
        let values = texts
            .flat_map(FilledText::values)
            .filter(|(name, value)| !is_ours(name) && value.len() >= SECRET_BYTES_MIN);
        let token = callback_url.rsplit('/').next().filter(|token| !token.is_empty());
        let token = token.map(|token| ("CALLBACK_TOKEN", token));
        secrets.and_values(values.chain(token))
    }

    /// Whether it contains the address at which a person can answer.
    pub(super) fn names_callback(&self) -> bool {
        let texts = self.headers.iter().map(|(_, text)| text).chain(&self.url);
        let in_body = match &self.body {
            Some(RenderedBody::Json(json)) => json.names_callback(),
            Some(RenderedBody::Text(_)) | None => false,
        };
        in_body || texts.into_iter().any(FilledText::names_callback)
    }

    /// The question, if the body contains one.
    pub(super) fn text(&self) -> Option<String> {
        let RenderedBody::Json(body) = self.body.as_ref()? else { return None };
        // A body without references is one constant, whatever its structure.
        match body.redacted().get_mut("text")?.take() {
            Value::String(text) => Some(text),
            _ => None,
        }
    }
}

/// Whether the request has no body, since it carries nothing.
fn is_left_out(method: &str, template: &JsonTemplate) -> bool {
    matches!(method, "GET" | "DELETE") && template.source() == Value::Object(Map::new())
}

/// Refuses to send a callback address if no person can answer there.
fn check_callback<'a>(
    mut names: impl Iterator<Item = &'a str>,
    has_callback: bool,
    what: &str,
) -> Result<(), String> {
    if !has_callback && names.any(|name| name.ends_with("CALLBACK_URL") && is_ours(name)) {
        return Err(format!("`CALLBACK_URL` in {what} has a value only with `await: true`"));
    }
    Ok(())
}

/// The same for every attempt of a hook in one firing, also after a crash, and unique otherwise.
fn message_id(attempt: &HookAttempt) -> String {
    let (place, event) = (&attempt.place, &attempt.event);
    let engine = if place.is_kept { 0 } else { place.engine };
    let when = event.text("timestamp").unwrap_or_default();
    let session = event.text("session_id").unwrap_or_default();
    let digest = attempt.hook.digest();
    let parts = [&*place.session, session, &*place.firing, when, &*digest];
    // Two halves of FNV-1a: no protection against deliberate collisions is needed.
    let half = |start: u64| {
        let bytes = parts.iter().flat_map(|part| part.bytes().chain([0]));
        bytes.fold(start ^ engine, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        })
    };
    format!("msg_{:016x}{:016x}", half(0xcbf2_9ce4_8422_2325), half(0x6c62_272e_07bb_0142))
}

/// The headers by which a receiver that knows the secret can verify the sender.
fn signature(secret: &str, id: &str, body: &str) -> Result<[(String, String); 2], String> {
    let key = standardwebhooks::Webhook::new(secret)
        .map_err(|_| "`secret` is not a signing secret, expected `whsec_` and base64".to_owned())?;
    let now = jiff::Timestamp::now().as_second();
    let signature = key
        .sign(id, now, body.as_bytes())
        .map_err(|_| "the request cannot be signed with `secret`".to_owned())?;
    Ok([
        ("webhook-timestamp".to_owned(), now.to_string()),
        ("webhook-signature".to_owned(), signature),
    ])
}
