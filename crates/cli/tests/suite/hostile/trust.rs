//! An agent that tries to make its own hooks trusted.

use crate::runs::lines;
use crate::support::Sandbox;

#[test]
fn an_agent_trusts_no_file_whatever_it_does_to_its_environment() {
    let does = "cat > /dev/null
        try() { \"$@\" >> said 2>&1; echo $? >> codes; }
        echo 'hooks: {}' > hookwright.yaml
        try $HOOKWRIGHT_BIN trust --yes
        try env -u HOOKWRIGHT_RUN $HOOKWRIGHT_BIN trust --yes --json
        (env -i HOME=$HOME PATH=$PATH setsid sh -c '
            '$HOOKWRIGHT_BIN' trust --yes >> said 2>&1; echo $? >> codes; touch left' &)
        until [ -e left ]; do sleep 0.01; done";
    let sandbox = Sandbox::new().file("does", does).file(
        "loop.yaml",
        "prompt: work\ntermination: {type: fixed, iterations: 1}\nagent: {command: '. ./does'}\n",
    );
    let ran = sandbox.run(&["run", "loop.yaml"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let said = lines(&sandbox, "said");
    assert_eq!(lines(&sandbox, "codes"), ["1"; 3], "{said:?}");
    let refusal = "error: files cannot be trusted from inside a session or a hook";
    assert_eq!(said.iter().filter(|line| *line == refusal).count(), 3, "{said:?}");
    // A person can do it outside.
    let listed = sandbox.run(&["trust", "--list"]);
    assert!(!listed.stdout.contains("hookwright.yaml"), "{listed:?}");
    assert_eq!(sandbox.run(&["trust", "--yes"]).code, 0);
}
