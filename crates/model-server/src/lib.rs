//! [`ModelServer`]: a local server that replaces the models of four vendors, for probes and tests.
//!
//! Its [`ModelBehaviour`] selects what it does: it follows a script, plays turns for real agents in
//! the format of the requested vendor, or refuses everything in that vendor's format. It keeps all
//! requests.
//!
//! With a script (`script.rs`) it speaks Anthropic's Messages (`messages.rs`) and chat completions
//! (`chat.rs`), and refuses what the vendors' own servers refuse (`refused.rs` below each).
//! `vendor.rs` has the formats of all four vendors, `refusal.rs` their refusals.

mod chat;
mod gate;
mod http;
mod messages;
mod refusal;
mod script;
mod vendor;

use std::io::{self, BufRead as _, BufReader, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

pub use gate::StreamGate;
use hookwright_model_script::ScriptProgress;
pub use hookwright_model_script::{ModelScript, ScriptFault, ScriptedTurn};
pub use http::ReceivedRequest;
pub use refusal::ModelRefusal;
use serde_json::Value;

use http::{SILENCE_MAX, ServerAnswer};
use vendor::Vendor;

/// Conversations kept for [`ModelServer::conversations`]. An agent that never ends would fill the memory.
const CONVERSATIONS_KEPT_MAX: usize = 2_000;

/// The model's output to a real agent in one turn.
#[derive(Debug, Clone)]
pub enum ModelTurn {
    /// A text that ends the model's work.
    Text(&'static str),
    /// A command to run.
    Bash(&'static str),
    /// A call of any tool.
    Call {
        /// The tool's name. In OpenAI's Responses it may begin with a namespace: `namespace.name`.
        tool: String,
        /// Its input.
        input: Value,
    },
    /// A call of a tool whose input is one text. Only OpenAI's Responses have such tools.
    TextCall {
        /// The tool's name.
        tool: String,
        /// Its input.
        input: String,
    },
}

/// The turns of one conversation among several.
#[derive(Debug, Clone)]
pub struct ToldConversation {
    /// A text by which its requests are known, such as a part of its prompt.
    pub told: String,
    /// Its turns.
    pub turns: Vec<ModelTurn>,
}

/// How a model answers.
#[derive(Debug, Clone)]
pub enum ModelBehaviour {
    /// One turn of the script for each request, over the Messages protocol or chat completions.
    Script(ModelScript),
    /// One turn after the other, in the format of the requested vendor. The conversation in the
    /// request determines the next turn.
    Turns(Vec<ModelTurn>),
    /// The same for several conversations, such as those of subagents. Of those whose text is in the
    /// request, the first counts.
    Conversations(Vec<ToldConversation>),
    /// Refuses everything.
    Refuse(ModelRefusal),
    /// Refuses requests for this long after the first one, then plays the turns.
    RefuseAtFirst(ModelRefusal, Duration, Vec<ModelTurn>),
}

/// The server. It ends when it is dropped.
#[derive(Debug)]
pub struct ModelServer {
    address: SocketAddr,
    state: Arc<ServerState>,
}

#[derive(Debug)]
struct ServerState {
    manner: ModelBehaviour,
    gate: StreamGate,
    requests: Mutex<Vec<ReceivedRequest>>,
    times: Mutex<Vec<RequestTimes>>,
    /// Notified when a request has come or is answered.
    arrived: Condvar,
    conversations: Mutex<Vec<Value>>,
    /// Turns of the script that are used up.
    turns_used: Mutex<ScriptProgress>,
    first_asked: OnceLock<Instant>,
    is_over: AtomicBool,
}

/// When a request began and ended.
#[derive(Debug, Clone, Copy)]
pub struct RequestTimes {
    /// It was read completely.
    pub arrived: Instant,
    /// The last byte of its answer was written.
    pub answered: Option<Instant>,
}

impl ModelServer {
    /// Starts a model with this behaviour, on a free port of the loopback address.
    pub fn start(manner: ModelBehaviour) -> io::Result<Self> {
        Self::with_gate(manner, StreamGate::open())
    }

    /// The same, but each event of a script's answer waits for [`StreamGate::allow`].
    pub fn start_held(manner: ModelBehaviour) -> io::Result<(Self, StreamGate)> {
        let gate = StreamGate::closed();
        Ok((Self::with_gate(manner, gate.clone())?, gate))
    }

    fn with_gate(manner: ModelBehaviour, gate: StreamGate) -> io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0))?;
        let address = listener.local_addr()?;
        let state = Arc::new(ServerState {
            manner,
            gate,
            requests: Mutex::default(),
            times: Mutex::default(),
            arrived: Condvar::new(),
            conversations: Mutex::default(),
            turns_used: Mutex::default(),
            first_asked: OnceLock::new(),
            is_over: AtomicBool::new(false),
        });
        let shared = Arc::clone(&state);
        thread::spawn(move || {
            for (number, connection) in listener.incoming().enumerate() {
                if shared.is_over.load(Ordering::SeqCst) {
                    break;
                }
                let Ok(connection) = connection else { continue };
                let shared = Arc::clone(&shared);
                // A client that leaves in the middle of a request needs no answer.
                thread::spawn(move || drop(serve(connection, number, &shared)));
            }
        });
        Ok(Self { address, state })
    }

    /// Its base URL.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Every request to a model, including refused ones, oldest first.
    pub fn requests(&self) -> Vec<ReceivedRequest> {
        locked(&self.state.requests).clone()
    }

    /// Forgets the requests so far. Each contains its whole conversation, which is a lot in a long
    /// session.
    pub fn forget_requests(&self) {
        locked(&self.state.requests).clear();
    }

    /// When each request began and ended, in the order of their beginnings.
    pub fn request_times(&self) -> Vec<RequestTimes> {
        locked(&self.state.times).clone()
    }

    /// Waits until so many requests have come and all before the last one are answered, for so long at
    /// most: when each of them came and went.
    pub fn wait_for_requests(&self, number: usize, longest: Duration) -> Option<Vec<RequestTimes>> {
        let times = locked(&self.state.times);
        let is_missing = |times: &mut Vec<RequestTimes>| {
            let before = times.get(..number.saturating_sub(1));
            times.len() < number
                || before.is_some_and(|all| all.iter().any(|times| times.answered.is_none()))
        };
        let waited = self.state.arrived.wait_timeout_while(times, longest, is_missing);
        let (times, waited) = waited.unwrap_or_else(PoisonError::into_inner);
        (!waited.timed_out()).then(|| times.clone())
    }

    /// The conversations that had tools, oldest first.
    pub fn conversations(&self) -> Vec<Value> {
        locked(&self.state.conversations).clone()
    }
}

impl Drop for ModelServer {
    fn drop(&mut self) {
        self.state.is_over.store(true, Ordering::SeqCst);
        self.state.gate.release();
        // The thread waits for a connection; this one lets it notice the end.
        drop(TcpStream::connect(self.address));
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Serves one connection until one side closes it.
fn serve(connection: TcpStream, number: usize, state: &ServerState) -> io::Result<()> {
    connection.set_read_timeout(Some(SILENCE_MAX))?;
    // A piece is sent when it is written, and not with the next one.
    connection.set_nodelay(true)?;
    let mut reader = BufReader::new(connection.try_clone()?);
    let mut writer = connection;
    // Refuse a client that wants TLS at once.
    if reader.fill_buf()?.first().is_some_and(|byte| !byte.is_ascii_uppercase()) {
        return writer.write_all(b"HTTP/1.1 400 Bad Request\r\nconnection: close\r\n\r\n");
    }
    while let Some(request) = http::read_request(&mut reader, number)? {
        let times = RequestTimes { arrived: Instant::now(), answered: None };
        let place = {
            let mut all = locked(&state.times);
            all.push(times);
            all.len() - 1
        };
        state.arrived.notify_all();
        let answer = answer(&request, state);
        let goes_on = answer.write(&mut writer, &state.gate)?;
        locked(&state.times)[place].answered = Some(Instant::now());
        state.arrived.notify_all();
        if !goes_on {
            break;
        }
    }
    Ok(())
}

fn answer(request: &ReceivedRequest, state: &ServerState) -> ServerAnswer {
    let Some(vendor) = Vendor::of_path(&request.path) else {
        return ServerAnswer::json(&vendor::aside(&request.path));
    };
    // A probe looks at conversations only.
    if !matches!(state.manner, ModelBehaviour::Conversations(_)) {
        locked(&state.requests).push(request.clone());
    }
    let turns = match &state.manner {
        ModelBehaviour::Script(script) => {
            return script::answer(vendor, request, script, &mut locked(&state.turns_used));
        }
        ModelBehaviour::Refuse(refusal) => return refusal.answer(vendor),
        ModelBehaviour::RefuseAtFirst(refusal, time, turns) => {
            if state.first_asked.get_or_init(Instant::now).elapsed() < *time {
                return refusal.answer(vendor);
            }
            &turns[..]
        }
        ModelBehaviour::Turns(turns) => turns,
        ModelBehaviour::Conversations(all) => {
            let said = vendor.conversation(&request.body).to_string();
            let told = all.iter().find(|conversation| said.contains(&conversation.told));
            told.map_or(&[][..], |conversation| &conversation.turns)
        }
    };
    // Requests for titles, summaries and the like have no tools.
    let body = &request.body;
    let tools = vendor.tools(body);
    let turn = if tools.is_empty() {
        ModelTurn::Text("a title")
    } else {
        let mut conversations = locked(&state.conversations);
        if conversations.len() < CONVERSATIONS_KEPT_MAX {
            conversations.push(vendor.conversation(body).clone());
        }
        drop(conversations);
        turns.get(vendor.turns_done(body)).cloned().unwrap_or(ModelTurn::Text("done"))
    };
    vendor.says(&turn, &request.path, body, &tools)
}
