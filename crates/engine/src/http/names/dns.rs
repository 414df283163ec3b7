//! Queries DNS servers: in order, both kinds of addresses at once, over TCP if an answer does not
//! fit into a packet.

use std::io;
use std::net::{IpAddr, SocketAddr};

use rustls::crypto::ring;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpStream, UdpSocket};
use tokio::time::{Instant, timeout_at};

use super::NameError;
use super::message::{AddressKind, DnsQuestion, DnsReply};
use super::resolver_file::ResolverFile;

/// A packet without extensions has at most 512 bytes; some servers send more anyway.
const PACKET_BYTES_MAX: usize = 4096;

/// The addresses of this host, at least one.
pub(super) async fn addresses(
    host: &str,
    file: &ResolverFile,
    port: u16,
) -> Result<Vec<IpAddr>, NameError> {
    let mut error = NameError::Unknown;
    for name in file.candidates(host) {
        match from_servers(&name, file, port).await {
            Ok(found) if found.is_empty() => {}
            Ok(found) => return Ok(found),
            // Queries for the other names would be as slow and fail too.
            Err(NameError::NoServer) => return Err(NameError::NoServer),
            Err(failed) => error = failed,
        }
    }
    Err(error)
}

/// The answer of the first server that has one; empty if the name is unknown.
async fn from_servers(
    name: &str,
    file: &ResolverFile,
    port: u16,
) -> Result<Vec<IpAddr>, NameError> {
    let mut error = NameError::NoServer;
    for _ in 0..file.attempts {
        for server in file.servers(port) {
            let Some(mut lookup) = Lookup::new(name) else { return Ok(Vec::new()) };
            let until = Instant::now() + file.timeout;
            // An unreachable server counts as one that does not answer.
            let _ = timeout_at(until, lookup.ask(server)).await;
            match lookup.end() {
                DnsEnd::Known(found) => return Ok(found),
                DnsEnd::Failed => error = NameError::ServerFailed,
                DnsEnd::Silent => {}
            }
        }
    }
    Err(error)
}

/// Both queries about one name to one server.
struct Lookup<'a> {
    questions: [DnsQuestion<'a>; 2],
    packets: [Vec<u8>; 2],
    replies: [Option<DnsReply>; 2],
}

enum DnsEnd {
    /// All addresses that the server knows; empty if it knows that there are none.
    Known(Vec<IpAddr>),
    Failed,
    Silent,
}

impl<'a> Lookup<'a> {
    /// `None` if no server can know this name.
    fn new(name: &'a str) -> Option<Self> {
        let mut ids = [0; 4];
        // Without randomness TLS would not work either.
        ring::default_provider().secure_random.fill(&mut ids).ok()?;
        let question =
            |high, low, kind| DnsQuestion { id: u16::from_be_bytes([high, low]), name, kind };
        let questions =
            [question(ids[0], ids[1], AddressKind::V4), question(ids[2], ids[3], AddressKind::V6)];
        let packets = [questions[0].encode()?, questions[1].encode()?];
        Some(Self { questions, packets, replies: [None, None] })
    }

    async fn ask(&mut self, server: SocketAddr) -> io::Result<()> {
        self.ask_by_packets(server).await?;
        for number in 0..2 {
            if self.replies[number] == Some(DnsReply::Truncated) {
                let message = connected(server, &self.packets[number]).await?;
                self.replies[number] = self.questions[number].reply(&message);
            }
        }
        Ok(())
    }

    async fn ask_by_packets(&mut self, server: SocketAddr) -> io::Result<()> {
        let any = if server.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" };
        // The system picks a port that is hard to guess, and accepts packets from this server only.
        let socket = UdpSocket::bind(any).await?;
        socket.connect(server).await?;
        for packet in &self.packets {
            socket.send(packet).await?;
        }
        let mut buffer = [0; PACKET_BYTES_MAX];
        while self.replies.iter().any(Option::is_none) {
            let length = socket.recv(&mut buffer).await?;
            for (question, reply) in self.questions.iter().zip(&mut self.replies) {
                if reply.is_none() {
                    *reply = question.reply(&buffer[..length]);
                }
            }
        }
        Ok(())
    }

    fn end(self) -> DnsEnd {
        let mut found = Vec::new();
        let (mut is_silent, mut is_failed) = (false, false);
        for reply in self.replies {
            match reply {
                Some(DnsReply::Addresses(addresses)) => found.extend(addresses),
                Some(DnsReply::NoSuchName) => {}
                Some(DnsReply::Failed) => is_failed = true,
                Some(DnsReply::Truncated) | None => is_silent = true,
            }
        }
        // Half an answer is better than none: some servers never answer one of the queries.
        match (found.is_empty(), is_failed, is_silent) {
            (false, _, _) | (true, false, false) => DnsEnd::Known(found),
            (true, true, _) => DnsEnd::Failed,
            (true, false, true) => DnsEnd::Silent,
        }
    }
}

/// The answer over TCP, where it may be longer.
async fn connected(server: SocketAddr, question: &[u8]) -> io::Result<Vec<u8>> {
    let mut stream = TcpStream::connect(server).await?;
    let length = u16::try_from(question.len()).map_err(io::Error::other)?;
    stream.write_all(&[&length.to_be_bytes(), question].concat()).await?;
    let mut message = vec![0; stream.read_u16().await?.into()];
    stream.read_exact(&mut message).await?;
    Ok(message)
}
