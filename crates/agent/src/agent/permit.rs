//! [`Permit`]: whether a call may run. Hooks, rules and questions come in this order, one call after the
//! other.

use std::sync::Arc;

use hookwright_events::TurnEvent;
use hookwright_process::faults;
use serde_json::{Value, json};

use super::life::AgentLife;
use super::model_call::ModelCall;
use super::{AgentNews, AgentStatus, CallQuestion, UserReply};
use crate::hooks::{CallVerdict, Next};
use crate::input_schema;
use crate::journal::{call_in_words, shortened};
use crate::permissions::{JudgedCall, Judgement, PermissionLevel};
use crate::tool::{Tool, Touches};

/// What a call needs to run.
pub(super) struct Permit {
    pub(super) tool: Arc<dyn Tool>,
    /// What the call would touch, as it was judged.
    pub(super) touches: Touches,
}

impl AgentLife {
    /// Hooks, rules and questions of one call: the tool that may run, or why it may not.
    pub(super) async fn plan(
        &mut self,
        call: &mut ModelCall,
    ) -> Result<Result<Permit, String>, AgentStatus> {
        let tools = self.agent.tools.iter();
        let found = tools.clone().find(|tool| tool.spec().name == call.tool).cloned();
        let Some(tool) = found else {
            let names: Vec<&str> = tools.map(|tool| tool.spec().name.as_str()).collect();
            let names = names.join(", ");
            return Ok(Err(format!("There is no tool `{}`. The tools are: {names}.", call.tool)));
        };
        if let Some(why) = &call.broken {
            return Ok(Err(format!(
                "The input of this call is no JSON object: {why}. Send it again."
            )));
        }
        if let Err(why) = input_schema::validate(tool.spec(), &Value::Object(call.input.clone())) {
            return Ok(Err(format!("The input of this call is invalid: {why}")));
        }
        let answer = self.unless_cancelled(self.agent.hooks.tool(call.facts())).await?;
        self.pass_on(answer.said);
        if let Some(rewritten) = answer.rewritten_input
            && let Err(why) = call.rewrite(&*tool, rewritten)
        {
            return Ok(Err(why));
        }
        if let CallVerdict::End(reason) = answer.verdict {
            return Err(AgentStatus::EndedByHook(reason));
        }
        let mut judged = self.judge(&*tool, call, &answer.verdict);
        let rule = judged.rule.clone();
        let checked = self.agent.hooks.check(call.facts(), judged.level.word(), rule.as_deref());
        match self.unless_cancelled(checked).await? {
            Next::GoOn(said) => self.pass_on(said),
            Next::Blocked { reason, said } => {
                self.pass_on(said);
                if judged.level != PermissionLevel::Deny {
                    judged = Judgement { level: PermissionLevel::Deny, rule: None, reason };
                }
            }
            Next::End { reason, said } => return Err(self.ended(reason, said)),
        }
        if judged.level == PermissionLevel::Ask {
            judged = self.question(&*tool, call, judged).await?;
        }
        let rule = judged.rule.as_deref();
        let hooks = &self.agent.hooks;
        let observed = match judged.level {
            PermissionLevel::Allow => {
                self.unless_cancelled(hooks.granted(call.facts(), "allow", rule)).await?
            }
            PermissionLevel::Ask | PermissionLevel::Deny => {
                let denied = hooks.denied(call.facts(), rule, &judged.reason);
                self.unless_cancelled(denied).await?
            }
        };
        self.heed(observed)?;
        match judged.level {
            PermissionLevel::Allow => {
                let touches = tool.touches(&call.input);
                Ok(Ok(Permit { tool, touches }))
            }
            PermissionLevel::Ask | PermissionLevel::Deny => {
                Ok(Err(format!("This call was denied: {}", judged.reason)))
            }
        }
    }

    fn judge(&self, tool: &dyn Tool, call: &ModelCall, hooks: &CallVerdict) -> Judgement {
        let touches = tool.touches(&call.input);
        let judged = JudgedCall { tool: &call.tool, touches: &touches };
        self.agent.permissions.judge(judged, hooks)
    }

    /// Asks the hooks that can answer in place of the user, then the user.
    async fn question(
        &mut self,
        tool: &dyn Tool,
        call: &mut ModelCall,
        judged: Judgement,
    ) -> Result<Judgement, AgentStatus> {
        let deny = |reason: String| Judgement {
            level: PermissionLevel::Deny,
            rule: judged.rule.clone(),
            reason,
        };
        let allow =
            |reason: String| Judgement { level: PermissionLevel::Allow, rule: None, reason };
        let asked = self.agent.hooks.permission(call.facts(), suggestions(call));
        let answer = self.unless_cancelled(asked).await?;
        self.pass_on(answer.said);
        if let Some(rewritten) = answer.rewritten_input
            && let Err(why) = call.rewrite(tool, rewritten)
        {
            return Ok(deny(why));
        }
        // What a hook wrote is judged again: the user's yes gets it past no deny rule either.
        let again = self.judge(tool, call, &CallVerdict::NoOpinion);
        if again.level == PermissionLevel::Deny {
            return Ok(again);
        }
        match answer.verdict {
            CallVerdict::Allow => {
                if let Some(updates) = &answer.updated_permissions {
                    for refused in self.agent.permissions.update(updates) {
                        self.agent.audience.see(AgentNews::Notice(&refused.to_string()));
                    }
                    self.agent.hooks.set_permission_mode(self.agent.permissions.mode().name());
                }
                // What the hook changed is judged again: no hook gets past a deny rule.
                let again = self.judge(tool, call, &CallVerdict::Allow);
                return Ok(match again.level {
                    PermissionLevel::Deny => again,
                    PermissionLevel::Allow | PermissionLevel::Ask => {
                        allow("a hook permits it".to_owned())
                    }
                });
            }
            CallVerdict::Deny(reason) => return Ok(deny(reason)),
            CallVerdict::End(reason) => return Err(AgentStatus::EndedByHook(reason)),
            CallVerdict::NoOpinion | CallVerdict::Ask(_) => {}
        }
        if !self.agent.user.is_there() {
            return Ok(deny(format!("{}; no one can be asked here", judged.reason)));
        }
        self.record_waiting().await?;
        // One question at a time, also of several agents.
        let session = Arc::clone(&self.session);
        let _asking = self.unless_cancelled(session.questions.lock()).await?;
        // Rules may have changed while others were asked.
        let again = self.judge(tool, call, &CallVerdict::NoOpinion);
        if again.level == PermissionLevel::Deny {
            return Ok(again);
        }
        let message = format!("May {} run? {}", call.tool, judged.reason);
        let shown = self.agent.hooks.notification("permission_prompt", "Permission", &message);
        let observed = self.unless_cancelled(shown).await?;
        self.heed(observed)?;
        self.record(TurnEvent::QuestionAsked {
            call: call.id.clone(),
            tool: call.tool.clone(),
            what: call_in_words(&call.input),
            reason: shortened(&judged.reason),
            agent_id: self.agent_id(),
        })
        .await?;
        let user = Arc::clone(&self.agent.user);
        let question = CallQuestion {
            tool: &call.tool,
            input: &call.input,
            reason: &judged.reason,
            subagent: self.agent.hooks.subagent().map(|facts| &**facts),
        };
        faults::point("question is asked");
        let reply = self.unless_cancelled(user.may_run(question)).await?;
        faults::point("question answered");
        let words = match &reply {
            Some(UserReply::No(words)) => words.as_deref().map(shortened),
            Some(UserReply::Yes) | None => None,
        };
        self.record(TurnEvent::QuestionAnswered {
            call: call.id.clone(),
            allowed: reply == Some(UserReply::Yes),
            words,
            agent_id: self.agent_id(),
        })
        .await?;
        Ok(match reply {
            Some(UserReply::Yes) => allow("the user permits it".to_owned()),
            Some(UserReply::No(None)) => deny("the user does not permit it".to_owned()),
            Some(UserReply::No(Some(words))) => {
                deny(format!("the user does not permit it: {words}"))
            }
            None => deny(format!("{}; no one can be asked here", judged.reason)),
        })
    }
}

/// Rules that would permit the call from now on, for hooks that answer in place of the user.
fn suggestions(call: &ModelCall) -> Value {
    let mut rule = json!({ "toolName": call.tool });
    if let Some(command) = call.input.get("command").and_then(Value::as_str) {
        rule["ruleContent"] = command.into();
    }
    json!([{ "type": "addRules", "rules": [rule], "behavior": "allow", "destination": "session" }])
}
