//! Lookups with files in a folder of their own and a DNS server on this machine.

use std::path::Path;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, UdpSocket};

use super::*;

/// A DNS server on 127.0.0.1, over UDP and TCP.
struct Server {
    port: u16,
    asked: Arc<Mutex<Vec<Asked>>>,
}

/// A queried name, the type of record, and the transport.
type Asked = (String, u16, &'static str);

/// The server's answer to a query for a name and a type of record.
type Answer = fn(&str, u16) -> Said;

enum Said {
    /// A record of the queried type.
    Record(&'static [u8]),
    Nothing,
    Code(u8),
    /// Over UDP the answer is only that it was truncated.
    Long(&'static [u8]),
    /// First a packet with another id, then this record.
    AfterForgery(&'static [u8]),
    Silence,
}

impl Server {
    async fn new(answer: Answer) -> Self {
        let (packets, connections) = loop {
            let packets = UdpSocket::bind("127.0.0.1:0").await.unwrap();
            // The same TCP port may be taken.
            if let Ok(other) = TcpListener::bind(packets.local_addr().unwrap()).await {
                break (packets, other);
            }
        };
        let port = packets.local_addr().unwrap().port();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let noted = Arc::clone(&asked);
        tokio::spawn(async move {
            let mut buffer = [0; 512];
            while let Ok((length, from)) = packets.recv_from(&mut buffer).await {
                for message in replies(&buffer[..length], answer, "packet", &noted) {
                    packets.send_to(&message, from).await.unwrap();
                }
            }
        });
        let noted = Arc::clone(&asked);
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = connections.accept().await {
                let mut question = vec![0; stream.read_u16().await.unwrap().into()];
                stream.read_exact(&mut question).await.unwrap();
                for message in replies(&question, answer, "connection", &noted) {
                    stream.write_u16(message.len().try_into().unwrap()).await.unwrap();
                    stream.write_all(&message).await.unwrap();
                }
            }
        });
        Self { port, asked }
    }

    /// The queried names, without repetitions.
    fn names(&self) -> Vec<String> {
        let mut names: Vec<String> =
            self.asked.lock().unwrap().iter().map(|(name, ..)| name.clone()).collect();
        names.dedup();
        names
    }
}

fn replies(
    question: &[u8],
    answer: Answer,
    how: &'static str,
    asked: &Mutex<Vec<Asked>>,
) -> Vec<Vec<u8>> {
    let (mut at, mut labels) = (12, Vec::new());
    while question[at] != 0 {
        let length = usize::from(question[at]);
        labels.push(String::from_utf8(question[at + 1..=at + length].to_vec()).unwrap());
        at += length + 1;
    }
    let kind = u16::from_be_bytes([question[at + 1], question[at + 2]]);
    let name = labels.join(".");
    asked.lock().unwrap().push((name.clone(), kind, how));
    let reply = |flags: [u8; 2], data: Option<&[u8]>| {
        let mut message = question.to_vec();
        message[2..4].copy_from_slice(&flags);
        message[7] = data.is_some().into();
        if let Some(data) = data {
            message.extend([0xc0, 12, question[at + 1], question[at + 2], 0, 1, 0, 0, 0, 1, 0]);
            message.push(data.len().try_into().unwrap());
            message.extend(data);
        }
        message
    };
    match answer(&name, kind) {
        Said::Record(data) => vec![reply([0x81, 0x80], Some(data))],
        Said::Nothing => vec![reply([0x81, 0x80], None)],
        Said::Code(code) => vec![reply([0x81, 0x80 | code], None)],
        Said::Long(_) if how == "packet" => vec![reply([0x83, 0x80], None)],
        Said::Long(data) => vec![reply([0x81, 0x80], Some(data))],
        Said::AfterForgery(data) => {
            let mut forged = reply([0x81, 0x80], Some(&[6, 6, 6, 6]));
            forged[0] ^= 1;
            vec![forged, reply([0x81, 0x80], Some(data))]
        }
        Said::Silence => vec![],
    }
}

const V4: u16 = 1;

fn files(folder: &Path, hosts: &str, resolver: &str, dns_port: u16) -> NameFiles {
    let (hosts_file, resolver_file) = (folder.join("hosts"), folder.join("resolv.conf"));
    std::fs::write(&hosts_file, hosts).unwrap();
    std::fs::write(&resolver_file, resolver).unwrap();
    NameFiles { hosts: hosts_file, resolver: resolver_file, dns_port }
}

fn ips(found: Result<Vec<IpAddr>, NameError>) -> Vec<String> {
    found.expect("the host has addresses").iter().map(IpAddr::to_string).collect()
}

#[tokio::test]
async fn the_hosts_file_counts_first_and_a_change_of_it_at_once() {
    let server = Server::new(|_, kind| match kind {
        V4 => Said::Record(&[10, 0, 0, 9]),
        _ => Said::Nothing,
    })
    .await;
    let folder = tempfile::tempdir().unwrap();
    let names = files(folder.path(), "10.0.0.1 build\n", "nameserver 127.0.0.1\n", server.port);
    assert_eq!(ips(names.addresses("build").await), ["10.0.0.1"]);
    assert_eq!(server.names(), [""; 0], "no server was asked");
    std::fs::write(&names.hosts, "10.0.0.2 build\n").unwrap();
    assert_eq!(ips(names.addresses("build").await), ["10.0.0.2"]);
    std::fs::remove_file(&names.hosts).unwrap();
    assert_eq!(ips(names.addresses("build").await), ["10.0.0.9"]);
    std::fs::write(&names.resolver, "nameserver 127.0.0.1\nsearch lan\n").unwrap();
    assert_eq!(ips(names.addresses("build").await), ["10.0.0.9"]);
    assert_eq!(server.names(), ["build", "build.lan"]);
}

#[tokio::test]
async fn localhost_is_this_machine_and_no_server_is_asked() {
    let server = Server::new(|_, _| Said::Record(&[6, 6, 6, 6])).await;
    let folder = tempfile::tempdir().unwrap();
    let names = files(folder.path(), "", "nameserver 127.0.0.1\n", server.port);
    for host in ["localhost", "Localhost.", "a.localhost"] {
        assert_eq!(ips(names.addresses(host).await), ["127.0.0.1", "::1"]);
    }
    assert_eq!(server.names(), [""; 0]);
}

#[tokio::test]
async fn both_kinds_of_addresses_are_found_with_unroutable_ones_last() {
    // No machine has a route to 240.0.0.1; every machine has one to itself.
    let server = Server::new(|_, kind| match kind {
        V4 => Said::Record(&[240, 0, 0, 1]),
        _ => Said::Record(&[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255, 127, 0, 0, 1]),
    })
    .await;
    let folder = tempfile::tempdir().unwrap();
    let names = files(folder.path(), "", "nameserver 127.0.0.1\n", server.port);
    let found = ips(names.addresses("a.example").await);
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(
        found.contains(&"240.0.0.1".to_owned()) && found.contains(&"::ffff:127.0.0.1".to_owned())
    );
    let mut asked = server.asked.lock().unwrap().clone();
    asked.sort();
    assert_eq!(asked, [("a.example".into(), 1, "packet"), ("a.example".into(), 28, "packet")]);
}

#[tokio::test]
async fn a_name_that_no_domain_has_is_unknown_and_all_domains_were_tried() {
    let server = Server::new(|name, _| match name {
        "a.lan" => Said::Nothing,
        _ => Said::Code(3),
    })
    .await;
    let folder = tempfile::tempdir().unwrap();
    let resolver = "nameserver 127.0.0.1\nsearch example.com lan\n";
    let names = files(folder.path(), "", resolver, server.port);
    assert_eq!(names.addresses("a").await, Err(NameError::Unknown));
    assert_eq!(server.names(), ["a.example.com", "a.lan", "a"]);
}

#[tokio::test]
async fn an_answer_too_long_for_a_packet_is_fetched_over_tcp() {
    let server = Server::new(|_, kind| match kind {
        V4 => Said::Long(&[10, 0, 0, 1]),
        _ => Said::Nothing,
    })
    .await;
    let folder = tempfile::tempdir().unwrap();
    let names = files(folder.path(), "", "nameserver 127.0.0.1\n", server.port);
    assert_eq!(ips(names.addresses("a.example").await), ["10.0.0.1"]);
    let asked = server.asked.lock().unwrap().clone();
    assert!(asked.contains(&("a.example".into(), 1, "connection")), "{asked:?}");
}

#[tokio::test]
async fn a_server_that_is_down_or_refuses_is_passed_over() {
    let server = Server::new(|name, kind| match (name, kind) {
        ("refused.example", _) => Said::Code(2),
        (_, V4) => Said::Record(&[10, 0, 0, 1]),
        // Half an answer is enough.
        _ => Said::Code(4),
    })
    .await;
    let folder = tempfile::tempdir().unwrap();
    // Nothing listens at the first one.
    let resolver = "nameserver 127.0.0.2\nnameserver 127.0.0.1\n";
    let names = files(folder.path(), "", resolver, server.port);
    assert_eq!(ips(names.addresses("a.example").await), ["10.0.0.1"]);
    assert_eq!(names.addresses("refused.example").await, Err(NameError::ServerFailed));
}

#[tokio::test]
async fn a_packet_with_another_id_is_ignored() {
    let server = Server::new(|_, kind| match kind {
        V4 => Said::AfterForgery(&[10, 0, 0, 1]),
        _ => Said::Nothing,
    })
    .await;
    let folder = tempfile::tempdir().unwrap();
    let names = files(folder.path(), "", "nameserver 127.0.0.1\n", server.port);
    assert_eq!(ips(names.addresses("a.example").await), ["10.0.0.1"]);
}

#[tokio::test(start_paused = true)]
async fn silent_servers_are_queried_as_often_as_the_file_sets() {
    let server = Server::new(|_, _| Said::Silence).await;
    let folder = tempfile::tempdir().unwrap();
    let resolver = "nameserver 127.0.0.1\noptions timeout:3 attempts:4\nsearch lan\n";
    let names = files(folder.path(), "", resolver, server.port);
    let began = tokio::time::Instant::now();
    assert_eq!(names.addresses("a.example").await, Err(NameError::NoServer));
    assert_eq!(began.elapsed().as_secs(), 12);
}

#[tokio::test]
async fn a_file_that_cannot_be_read_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let names = NameFiles { hosts: folder.path().into(), ..files(folder.path(), "", "", 1) };
    let error = names.addresses("a").await.unwrap_err();
    let expected = format!("{} cannot be read: ", folder.path().display());
    assert!(error.to_string().contains(&expected), "{error}");
}
