//! The sessions page: many pages cost little more than one, and an older page of a long session no
//! more than one of a short session.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use crate::print;
use crate::project::Project;

/// Requests for one figure.
const REQUESTS: usize = 20;

/// Pages that follow a session whose iterations take a tenth of a second, with two hooks each.
pub(crate) fn following(is_test: bool) {
    let sizes: &[usize] = if is_test { &[1, 2] } else { &[1, 10, 50] };
    let seconds = Duration::from_secs(if is_test { 1 } else { 20 });
    let cost = |size: usize| {
        let project = Project::new();
        project.write(
            "loop.yaml",
            "agent: {command: sleep 0.1}\nprompt: x\ntermination: {type: fixed, iterations: 10000}\n\
             hooks: {iteration:complete: [{command: ':'}, {command: ':'}]}\n",
        );
        let _session = Ended(start(&project, &["run", "loop.yaml", "--session", "s"]));
        let serve = Serve::start(&project);
        // Until there are as many rows as a page shows.
        while serve.get("/sessions/s").matches("<li class=\"row").count() < 59 && !is_test {
            std::thread::sleep(Duration::from_millis(100));
        }
        while !serve.get("/sessions/s").contains(" 200 OK") {}
        let pages: Vec<TcpStream> = (0..size).map(|_| serve.ask("/sessions/s/stream")).collect();
        for mut page in pages {
            std::thread::spawn(move || {
                let mut bytes = vec![0; 64 * 1024];
                while page.read(&mut bytes).is_ok_and(|number| number > 0) {}
            });
        }
        std::thread::sleep(Duration::from_secs(1));
        let (before, began) = (serve.processor_ms(), Instant::now());
        std::thread::sleep(seconds);
        let used = serve.processor_ms() - before;
        (size, used / began.elapsed().as_secs_f64() / 10.0)
    };
    let costs: Vec<(usize, f64)> = sizes.iter().map(|size| cost(*size)).collect();
    print("pages that follow one session", "% of a core", &costs, "under 5 % for 50");
}

/// Pages of sessions of different lengths, with one hook for each iteration.
pub(crate) fn older(is_test: bool) {
    let sizes: &[usize] = if is_test { &[3, 6] } else { &[100, 1_000, 10_000] };
    let requests = if is_test { 1 } else { REQUESTS };
    let mut costs = [const { Vec::new() }; 3];
    for size in sizes {
        let project = Project::new();
        project.write("turns.yaml", "turns: [[{say: x}]]\nthen: repeat\n");
        project.write(
            "loop.yaml",
            &format!(
                "agent: {{script: turns.yaml}}\nprompt: x\n\
                 termination: {{type: fixed, iterations: {size}}}\n\
                 hooks: {{iteration:complete: [{{command: ':'}}]}}\n"
            ),
        );
        assert!(start(&project, &["run", "loop.yaml", "--session", "s"]).wait().unwrap().success());
        let first: f64 =
            (0..3).map(|_| Serve::start(&project).cost_of(1, |_| "/sessions/s".into())).sum();
        let serve = Serve::start(&project);
        serve.cost_of(1, |_| "/sessions/s".into());
        let newest = serve.cost_of(requests, |_| "/sessions/s".into());
        // Each request is for another page, from the whole session.
        let older = serve.cost_of(requests, |number| {
            let before = (number + 1) * (size - 1) / requests;
            format!("/sessions/s?before={before}")
        });
        for (costs, cost) in costs.iter_mut().zip([first / 3.0, newest, older]) {
            costs.push((*size, cost));
        }
    }
    let [first, newest, older] = costs;
    print("the first page after the start, of a session of", "ms", &first, "once for each session");
    print("its newest page after that", "ms", &newest, "at most 1.5 x");
    print("an older page", "ms", &older, "under 20 ms");
}

fn start(project: &Project, arguments: &[&str]) -> Child {
    project.command(arguments).spawn().unwrap()
}

/// A process that is killed when this is dropped.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A running `serve`.
struct Serve {
    process: Ended,
    port: u16,
    cookie: String,
}

impl Serve {
    fn start(project: &Project) -> Self {
        let mut command = project.command(&["serve", "--port", "0"]);
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut url = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut url).unwrap();
        let (port, path) = url.split(':').nth(2).unwrap().trim_end().split_once('/').unwrap();
        let mut serve =
            Self { process: Ended(child), port: port.parse().unwrap(), cookie: String::new() };
        let opened = serve.get(&format!("/{path}"));
        let cookie = opened.split("set-cookie: ").nth(1).unwrap().split(';').next().unwrap();
        cookie.clone_into(&mut serve.cookie);
        serve
    }

    fn ask(&self, path: &str) -> TcpStream {
        let Self { port, cookie, .. } = self;
        let mut stream = TcpStream::connect(("127.0.0.1", *port)).unwrap();
        write!(stream, "GET {path} HTTP/1.0\r\nHost: localhost\r\nCookie: {cookie}\r\n\r\n")
            .unwrap();
        stream
    }

    fn get(&self, path: &str) -> String {
        let mut answer = String::new();
        self.ask(path).read_to_string(&mut answer).unwrap();
        answer
    }

    /// Its CPU time in milliseconds, with a resolution of hundredths of a second.
    fn processor_ms(&self) -> f64 {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.process.0.id())).unwrap();
        let ticks = stat.rsplit(')').next().unwrap().split_whitespace().skip(11).take(2);
        ticks.map(|ticks| ticks.parse::<f64>().unwrap() * 10.0).sum()
    }

    /// The exact CPU time of the threads that have not ended; none does within ten seconds.
    fn threads_ms(&self) -> f64 {
        let tasks = fs::read_dir(format!("/proc/{}/task", self.process.0.id())).unwrap();
        let used = tasks.map(|task| fs::read_to_string(task.unwrap().path().join("schedstat")));
        let ns = used.map(|used| used.unwrap().split(' ').next().unwrap().parse::<f64>().unwrap());
        ns.sum::<f64>() / 1e6
    }

    /// The CPU time of one of this many requests, in milliseconds.
    fn cost_of(&self, requests: usize, path: impl Fn(usize) -> String) -> f64 {
        let before = self.threads_ms();
        for number in 0..requests {
            let page = self.get(&path(number));
            assert!(page.contains(" 200 OK"), "{page}");
        }
        (self.threads_ms() - before) / requests as f64
    }
}
