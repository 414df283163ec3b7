#![expect(clippy::print_stdout, reason = "an example is a host")]
use hookwright_agent::hooks::{AgentHooks, CallFacts, CallVerdict, Next, Said, SessionFacts};
use hookwright_agent::tool::ToolEnd;
use hookwright_engine::{Answer, Engine, Hook, serde_json, serde_json::Map, serde_json::json};
use std::{error::Error, process::Command, time::Instant};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let guard = Hook::on("tool:pre_execute:bash, session:stop", |call| async move {
        let has_sudo = json!(call.event.data).to_string().contains("sudo");
        Ok(if has_sudo { Answer::deny("no sudo") } else { Answer::context("Be brief.") })
    });
    let hooks = AgentHooks::new(Engine::builder("/").hook(guard).build()?, SessionFacts::default());
    let ended = turns(&hooks).await;
    let reason = if ended.is_ok() { "completed" } else { "aborted" };
    obey((hooks.end(reason, None).await.said, None)).and(ended)
}

async fn turns(hooks: &AgentHooks) -> Result<(), Box<dyn Error>> {
    obey(hooks.prompt("Say hello.").await.into_parts())?;
    // In place of a model: commands that it wants to run (`Ok`), and texts.
    for answer in [Ok("sudo reboot"), Ok("echo hello"), Err("sudo failed"), Err("I said hello")] {
        obey(hooks.request("demo-model", 1, 1).await.into_parts())?;
        match answer {
            Ok(command) => println!("result: {}", bash(hooks, command).await?),
            Err(text) => match hooks.stop("completed", text).await {
                Next::Blocked { reason, said } => obey((said.with_context(reason), None))?,
                next => return obey(next.into_parts()),
            },
        }
    }
    Ok(())
}

async fn bash(hooks: &AgentHooks, command: &str) -> Result<String, Box<dyn Error>> {
    let own = Map::from_iter([("command".to_owned(), json!(command))]);
    let answer = hooks.tool(CallFacts { id: "call", tool: "bash", input: &own }).await;
    obey((answer.said, None))?;
    match answer.verdict {
        CallVerdict::NoOpinion | CallVerdict::Allow => {}
        CallVerdict::Ask(_) => return Ok("denied: there is no one to ask".to_owned()),
        CallVerdict::Deny(reason) => return Ok(format!("denied: {reason}")),
        CallVerdict::End(reason) => return Err(reason.into()),
    }
    let input = answer.rewritten_input.map_or(Ok(own), serde_json::from_value)?;
    let (began, command) = (Instant::now(), input["command"].as_str().ok_or("no command")?);
    let output = Command::new("sh").args(["-c", command]).output()?;
    let text = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    let end = ToolEnd::Ran { response: json!(text), text: text.clone(), took: began.elapsed() };
    let ended = hooks.tool_ended(CallFacts { id: "call", tool: "bash", input: &input }, &end).await;
    obey((ended.said, ended.end))?;
    Ok(ended.updated_output.map_or(text, |updated| updated.to_string()))
}

fn obey((said, refused): (Said, Option<String>)) -> Result<(), Box<dyn Error>> {
    said.messages.iter().for_each(|text| println!("to the user: {text}"));
    said.contexts.iter().for_each(|text| println!("to the model: {text}"));
    refused.map_or(Ok(()), |reason| Err(reason.into()))
}
