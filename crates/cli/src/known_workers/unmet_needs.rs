//! Why a session waits that no worker can take, and what to do about it: the words of `run`,
//! `status` and `sessions show`.

use hookwright_pipeline::submission::{Needs, Submission, UnmetNeeds};

/// "no worker has the label gpu; start one with `hookwright worker --label gpu`"
pub(crate) fn in_words(unmet: &UnmetNeeds, submission: &Submission) -> String {
    let start = start_command(&submission.needs);
    match unmet {
        UnmetNeeds::NoWorker => {
            format!("no worker of this project runs; start one in a checkout with `{start}`")
        }
        UnmetNeeds::Nowhere(needs) => {
            let names = listed(&names(needs, submission), "or");
            format!("no worker has {names}; {}", listed(&advice(needs, submission), "and"))
        }
        UnmetNeeds::NotTogether(needs) => {
            let names = listed(&names(needs, submission), "and");
            format!("no worker has {names} together; start one that has all with `{start}`")
        }
    }
}

/// Starts a worker that has the labels.
fn start_command(needs: &Needs) -> String {
    let labels = needs.labels.iter().map(|label| format!(" --label {label}"));
    format!("hookwright worker{}", labels.collect::<String>())
}

fn names(needs: &Needs, submission: &Submission) -> Vec<String> {
    let labels = needs.labels.iter().map(|name| format!("the label {name}"));
    let agents = needs.agents.iter().map(|name| format!("the agent {name}"));
    let secrets = needs.secrets.iter().map(|name| format!("the secret {name}"));
    let folder = needs.folder.iter().map(|folder| match submission.folder {
        Some(_) => format!("the folder {}", folder.display()),
        None => format!("a checkout at {}", folder.display()),
    });
    labels.chain(agents).chain(secrets).chain(folder).collect()
}

/// What to do so that a worker has these, as imperatives.
fn advice(needs: &Needs, submission: &Submission) -> Vec<String> {
    let mut advice = Vec::new();
    if !needs.labels.is_empty() {
        advice.push(format!("start one with `{}`", start_command(needs)));
    }
    // A worker looks for agents, secrets and folders when it starts.
    let mut restarted = Vec::new();
    if !needs.agents.is_empty() {
        let agents = listed(&needs.agents, "and");
        restarted.push(format!("install {agents} on a worker's machine"));
    }
    if !needs.secrets.is_empty() {
        let secrets = listed(&needs.secrets, "and");
        restarted.push(format!("add {secrets} to secrets.env of a worker's user"));
    }
    match (&needs.folder, &submission.folder) {
        (None, _) => {}
        (Some(_), Some(_)) => restarted.push("let a worker's user write there".to_owned()),
        (Some(_), None) => {
            advice.push("start one there, or set `worker.folder` in hookwright.yaml".to_owned());
        }
    }
    if !restarted.is_empty() {
        advice.append(&mut restarted);
        advice.push("start that worker again".to_owned());
    }
    advice
}

/// "a, b and c"
fn listed(parts: &[String], last: &str) -> String {
    match parts {
        [] => String::new(),
        [only] => only.clone(),
        [first @ .., end] => format!("{} {last} {end}", first.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    fn needs(labels: &[&str], agents: &[&str], secrets: &[&str], folder: Option<&str>) -> Needs {
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        Needs {
            labels: owned(labels),
            agents: owned(agents),
            secrets: owned(secrets),
            folder: folder.map(PathBuf::from),
        }
    }

    #[test]
    fn each_need_that_no_worker_meets_is_named_with_what_to_do() {
        let in_checkout = Submission::default();
        let in_folder = Submission { folder: Some("/t".into()), ..Submission::default() };
        for (needs, submission, expected) in [
            (
                needs(&["gpu", "big"], &[], &[], None),
                &in_checkout,
                "no worker has the label gpu or the label big; start one with `hookwright worker \
                 --label gpu --label big`",
            ),
            (
                needs(&[], &["codex"], &["A", "B"], None),
                &in_checkout,
                "no worker has the agent codex, the secret A or the secret B; install codex on a \
                 worker's machine, add A and B to secrets.env of a worker's user and start that \
                 worker again",
            ),
            (
                needs(&[], &[], &[], Some("/p")),
                &in_checkout,
                "no worker has a checkout at /p; start one there, or set `worker.folder` in \
                 hookwright.yaml",
            ),
            (
                needs(&[], &[], &[], Some("/t")),
                &in_folder,
                "no worker has the folder /t; let a worker's user write there and start that \
                 worker again",
            ),
        ] {
            assert_eq!(in_words(&UnmetNeeds::Nowhere(needs), submission), expected);
        }
    }

    #[test]
    fn the_worker_to_start_has_the_labels() {
        let needs = needs(&["gpu"], &["codex"], &[], None);
        let submission = Submission { needs: needs.clone(), ..Submission::default() };
        assert_eq!(
            in_words(&UnmetNeeds::NoWorker, &submission),
            "no worker of this project runs; start one in a checkout with `hookwright worker \
             --label gpu`"
        );
        assert_eq!(
            in_words(&UnmetNeeds::NotTogether(needs), &submission),
            "no worker has the label gpu and the agent codex together; start one that has all \
             with `hookwright worker --label gpu`"
        );
    }
}
