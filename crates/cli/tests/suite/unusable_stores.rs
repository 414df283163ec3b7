//! Servers that cannot be the store: each message says what was found, what was expected, and what
//! to do, without the address.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;

use hookwright_postgres_server::{Cluster, PASSWORD, WORKER};

use crate::support::{Ran, Sandbox};

const SETTINGS: &str = "../.config/hookwright/store.yaml";

fn listing(settings: &str) -> Ran {
    Sandbox::new().file(SETTINGS, settings).run(&["sessions", "list"])
}

/// The store cannot be used, for this reason, and the message says what to do.
fn refuses(ran: &Ran, heading: &str, help: &str) {
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.stderr.contains(heading), "{}", ran.stderr);
    assert!(ran.stderr.contains(&format!("help: {help}")), "{}", ran.stderr);
    assert!(ran.stderr.contains("/hookwright/store.yaml:1:8\n"), "{}", ran.stderr);
    for secret in ["127.0.0.1", PASSWORD] {
        assert!(!ran.stderr.contains(secret), "{}", ran.stderr);
    }
}

/// A server that answers each client so; returns its port.
fn server(answer: impl Fn(TcpStream) + Send + 'static) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || listener.incoming().flatten().for_each(answer));
    port
}

#[test]
fn a_server_that_is_no_postgres_is_refused() {
    let port = server(|mut client| {
        let _ = client.read(&mut [0; 512]);
        let _ = client.write_all(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n");
    });
    let ran = listing(&format!("store: postgres://me@127.0.0.1:{port}/work\n"));
    refuses(&ran, "no Postgres answers", "check host and port");
}

/// The real server, whose version is changed on the way.
#[test]
fn a_server_that_is_too_old_is_refused() {
    let cluster = Cluster::shared();
    let (behind, database) = (cluster.port(), cluster.create_database("template1"));
    let port = server(move |client| {
        let server = TcpStream::connect(("127.0.0.1", behind)).unwrap();
        let (mut requests, mut to_server) =
            (client.try_clone().unwrap(), server.try_clone().unwrap());
        thread::spawn(move || std::io::copy(&mut requests, &mut to_server));
        thread::spawn(move || pass_as_older(server, client));
    });
    let address = cluster.address(&database).replace(&format!(":{behind}/"), &format!(":{port}/"));
    let ran = listing(&format!("store: {address}\n"));
    refuses(&ran, "is on Postgres 14.", "upgrade the server");
    assert!(ran.stderr.contains("expected at least 15"), "{}", ran.stderr);
}

/// Passes on what the server says, but for its version, which becomes 14.
fn pass_as_older(mut server: TcpStream, mut client: TcpStream) {
    let mut buffer = [0; 64 * 1024];
    while let Ok(count @ 1..) = server.read(&mut buffer) {
        let name = b"server_version\0";
        let said = &mut buffer[..count];
        let found = said.windows(name.len()).position(|window| window == name);
        if let Some(at) = found.map(|at| at + name.len()) {
            said[at..at + 2].copy_from_slice(b"14");
        }
        if client.write_all(&buffer[..count]).is_err() {
            return;
        }
    }
}

#[test]
fn a_certificate_of_another_name_or_authority_is_refused() {
    let cluster = Cluster::shared();
    let database = cluster.create_database("template1");
    let own = cluster.certificate();
    let sandbox = Sandbox::new();
    let other = sandbox.path("other.pem");
    let made = std::process::Command::new("openssl")
        .args(["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=localhost"])
        .args(["-addext", "subjectAltName=DNS:localhost", "-keyout", "/dev/null", "-out"])
        .arg(&other)
        .output()
        .unwrap();
    assert!(made.status.success(), "{made:?}");
    let address = cluster.address(&database);
    let by_name = address.replace("127.0.0.1", "localhost");
    let other_name = "its certificate is for `localhost`, expected the host of the address";
    let other_authority = "another authority has signed its certificate, expected one in the file of \
                           `root_certificate`";
    for (address, root, reason) in
        [(&address, &own, other_name), (&by_name, &other, other_authority)]
    {
        let ran = listing(&format!("store: {address}\nroot_certificate: {}\n", root.display()));
        let heading = format!("cannot be trusted: {reason}\n");
        refuses(&ran, &heading, "check the server's certificate");
    }
}

#[test]
fn a_server_without_encryption_is_refused_where_encryption_is_needed() {
    let port = server(|mut client| {
        let _ = client.read(&mut [0; 8]);
        let _ = client.write_all(b"N");
    });
    let root = Cluster::shared().certificate();
    let root = format!("root_certificate: {}\n", root.display());
    let ran = listing(&format!("store: postgres://me@127.0.0.1:{port}/work\n{root}"));
    let heading = "cannot be trusted: the server does not offer encrypted connections\n";
    refuses(&ran, heading, "turn `ssl` on in the server's settings");
}

#[test]
fn a_store_that_the_variable_names_is_refused_with_the_variable() {
    let named = |address: &str| {
        let ran = Sandbox::new().set("HOOKWRIGHT_STORE", address).run(&["sessions", "list"]);
        assert_eq!(ran.code, 1, "{ran:?}");
        assert!(ran.stderr.contains("\n --> HOOKWRIGHT_STORE\n"), "{}", ran.stderr);
        ran.stderr
    };
    let port = server(|mut client| {
        let _ = client.read(&mut [0; 512]);
        let _ = client.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n");
    });
    let said = named(&format!("postgres://me@127.0.0.1:{port}/work"));
    assert!(said.contains("no Postgres answers"), "{said}");
    for address in ["postgres://me@/work", "mysql://me@db/work", "work"] {
        let said = named(address);
        let help = "help: set `HOOKWRIGHT_STORE=postgres://USER@HOST/DATABASE`, or unset it";
        assert!(said.contains(help), "{said}");
    }
    assert!(named("postgres://me:hunter2@db/work").contains("help: remove it from the address"));
}

/// The server raises the error of a full disk, as it does when a table cannot grow.
#[test]
fn a_full_disk_of_the_server_is_not_taken_for_one_of_this_machine() {
    let cluster = Cluster::shared();
    let database = cluster.create_database("template1");
    let settings = format!("store: {}\n", cluster.address(&database));
    let sandbox = Sandbox::new().file(SETTINGS, settings);
    assert_eq!(sandbox.run(&["store", "init"]).code, 0);
    cluster.sql(
        &database,
        "CREATE OR REPLACE FUNCTION hookwright.begin_change() RETURNS void LANGUAGE plpgsql AS $$ \
         BEGIN RAISE EXCEPTION 'could not extend file' USING ERRCODE = '53100'; END $$",
    );
    let ran = sandbox.run(&["task", "add", "fix it"]);
    let heading = "no space left for the store `postgres://…`: could not extend file\n";
    refuses(&ran, heading, "free space on the disk of the database server");
}

#[test]
fn a_user_without_rights_is_told_so() {
    let cluster = Cluster::shared();
    let database = cluster.create_database("template1");
    let owners = cluster.address(&database);
    let sandbox = Sandbox::new().file(SETTINGS, format!("store: {owners}\n"));
    assert_eq!(sandbox.run(&["store", "init"]).code, 0);
    let sandbox = Sandbox::new()
        .file(SETTINGS, format!("store: {}\n", owners.replace("owner@", &format!("{WORKER}@"))))
        .file(
            "../.config/hookwright/secrets.env",
            format!("HOOKWRIGHT_STORE_PASSWORD='{PASSWORD}'\n"),
        );
    let secrets = sandbox.path("../.config/hookwright/secrets.env");
    let chmod = std::process::Command::new("chmod").arg("600").arg(&secrets).status();
    assert!(chmod.unwrap().success());
    for command in [&["sessions", "list"][..], &["task", "add", "fix it"], &["store", "check"]] {
        refuses(&sandbox.run(command), "permission denied", "check user, password and rights");
    }
}
