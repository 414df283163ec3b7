//! [`Plan`]: what a session will do, worked out from its [`Sources`] and checked whole before
//! anything starts.

mod candidates;
mod silent_hooks;
mod unfired_hooks;

pub use candidates::StageAgent;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use hookwright_agents::AgentFactory;
use hookwright_config::limits::ITERATIONS_MAX;
use hookwright_config::{
    AgentDefinition, CallbackAddress, ConfigFile, Fault, FaultKind, FilePlace, Inputs, Loaded,
    LoopFile, PromptSpec, QueueSpec, Scope, StageBody, StageSpec, Termination, load_texts,
};
use hookwright_dialects::hosts::Connection;
use hookwright_engine::HookSet;
use hookwright_engine::hook::Hook;
use hookwright_engine::template::TextTemplate;
use hookwright_engine::variables::Environment;

use crate::limits::ITERATIONS_BY_DEFAULT;
use crate::queue::Queue;
use crate::sources::{Source, SourceRole, Sources, default_prompt, fault_at, folder_of};

/// What a session will do.
pub struct Plan {
    /// The loop's or pipeline's name.
    pub name: String,
    /// The stages, in order. A loop by itself is one.
    pub stages: Vec<Stage>,
    /// The hooks of the session itself, outside of its stages.
    pub hooks: HookSet,
    /// Faults of foreign files, which do not stop the session.
    pub left_out: Vec<Arc<Fault>>,
    /// Hooks that no event of the session fires, nor of the sessions that its hooks start.
    pub unfired: Vec<Arc<Hook>>,
    /// The address for people's answers.
    pub callback: CallbackAddress,
    /// The session pauses for a person when it has cost this many US dollars.
    pub max_cost: Option<f64>,
    /// The kinds of all agents, also of those in sessions that hooks start.
    pub agent_kinds: BTreeSet<String>,
}

/// A stage of a plan.
pub struct Stage {
    /// The stage's name.
    pub name: String,
    /// The loop that it runs.
    pub template: String,
    /// The agents: the first one that can work does. There is at least one.
    pub agents: Vec<StageAgent>,
    /// The agent's prompt.
    pub prompt: TextTemplate,
    /// When it is done.
    pub until: Until,
    /// The maximum number of iterations.
    pub iterations_max: u32,
    /// The reason if that maximum is reached.
    pub at_the_latest: Reason,
    /// The loop's own maximum, whatever else would continue.
    pub hard_max: Option<u32>,
    /// The maximum time.
    pub max_runtime: Option<Duration>,
    /// The session pauses for a person when this stage has cost this many US dollars.
    pub max_cost: Option<f64>,
    /// The delay between iterations.
    pub delay: Duration,
    /// Its inputs from an earlier stage.
    pub inputs: Option<Inputs>,
    /// The hooks of this stage: its loop's, then those of the session.
    pub hooks: HookSet,
}

impl Stage {
    /// The maximum number of iterations, if there is one: a queue of issues has none unless its
    /// loop sets one.
    pub fn bound(&self) -> Option<u32> {
        let is_bound = self.hard_max.is_some() || self.iterations_max < ITERATIONS_MAX;
        is_bound.then_some(self.iterations_max)
    }

    /// The agent that is asked first: its name if its user gave it one, else its kind.
    pub fn first_agent(&self) -> &str {
        self.agents.first().map_or("", StageAgent::shown_name)
    }
}

/// Why a stage ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// Its work is done.
    Completed,
    /// It reached its maximum number of iterations.
    MaxIterations,
    /// It reached its maximum time.
    MaxRuntime,
}

impl Reason {
    /// The name in hooks and journals.
    pub fn as_str(self) -> &'static str {
        match self {
            Reason::Completed => "completed",
            Reason::MaxIterations => "max_iterations",
            Reason::MaxRuntime => "max_runtime",
        }
    }

    /// The reason with this name; an unknown one counts as completed.
    pub(crate) fn named(name: &str) -> Self {
        [Reason::MaxIterations, Reason::MaxRuntime]
            .into_iter()
            .find(|reason| reason.as_str() == name)
            .unwrap_or(Reason::Completed)
    }
}

/// When a stage is done before it reaches its maximum.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Until {
    /// After its iterations.
    Fixed,
    /// When the agent says stop several times in a row, after a minimum of iterations.
    Judgment {
        /// How many times in a row.
        consensus: u32,
        /// The minimum of iterations.
        min_iterations: u32,
    },
    /// When the queue is empty.
    Queue {
        /// The source of work items.
        queue: Queue,
        /// The maximum number of iterations for one work item.
        per_item: u32,
    },
}

/// The input of a plan besides the files.
pub struct PlanContext<'a> {
    /// The project root.
    pub root: &'a Path,
    /// The host's environment.
    pub environment: &'a Environment,
    /// The events for which settings of agents call this program.
    pub connections: &'a [Connection],
    /// Makes the drivers of agents.
    pub agents: &'a AgentFactory,
}

impl Plan {
    /// Works the plan out, or returns all faults, including those of what its hooks start. Missing
    /// sources were reported by the code that gathered them.
    pub fn new(sources: &Sources, around: &PlanContext<'_>) -> Result<Self, Vec<Fault>> {
        let plan = Self::alone(sources, around);
        let (children, of_children) = Self::children(sources, around);
        match plan {
            Ok(mut plan) if of_children.is_empty() => {
                let all: Vec<&Self> = std::iter::once(&plan).chain(&children).collect();
                let kinds: BTreeSet<String> = all.iter().flat_map(|plan| plan.kinds()).collect();
                plan.unfired = unfired_hooks::find(&all, around.connections);
                plan.agent_kinds = kinds;
                Ok(plan)
            }
            Ok(_) => Err(of_children),
            Err(mut faults) => {
                let news = of_children.into_iter().filter(|fault| !faults.contains(fault));
                let news: Vec<Fault> = news.collect();
                faults.extend(news);
                Err(faults)
            }
        }
    }

    /// The faults of the loops and pipelines that hooks start.
    pub fn faults_of_children(sources: &Sources, around: &PlanContext<'_>) -> Vec<Fault> {
        Self::children(sources, around).1
    }

    /// The loops and pipelines that hooks start, and their faults.
    fn children(sources: &Sources, around: &PlanContext<'_>) -> (Vec<Self>, Vec<Fault>) {
        let (mut plans, mut faults): (Vec<Self>, Vec<Fault>) = (Vec::new(), Vec::new());
        for child in &sources.children {
            let Some(child) = sources.of_child(&child.name, &child.from) else { continue };
            match Self::alone(&child, around) {
                Ok(plan) => plans.push(plan),
                // A fault of the project's own file is a fault of each of them.
                Err(found) => {
                    for fault in found {
                        if !faults.contains(&fault) {
                            faults.push(fault);
                        }
                    }
                }
            }
        }
        (plans, faults)
    }

    /// The same without checking what its hooks start.
    pub(crate) fn alone(sources: &Sources, around: &PlanContext<'_>) -> Result<Self, Vec<Fault>> {
        let main = &sources.all[0];
        let (faults, left_out, named) = (Vec::new(), Vec::new(), Vec::new());
        let reads_agents_own = false;
        let with_agents_own = None;
        let mut planning = Planning {
            sources,
            around,
            faults,
            left_out,
            named,
            reads_agents_own,
            with_agents_own,
        };
        let whole = planning.load(None, None);
        let plan = match main.role {
            SourceRole::Pipeline => planning.pipeline(&whole),
            _ => planning.single_loop(&whole),
        };
        if planning.faults.is_empty()
            && let Some(stages) = plan
        {
            let name = whole
                .pipelines
                .first()
                .and_then(|(_, pipeline)| pipeline.name.clone())
                .or_else(|| whole.loops.first().and_then(|(_, read)| read.name.clone()))
                .unwrap_or_else(|| name_of(&main.path));
            let max_cost = whole.pipelines.first().and_then(|(_, pipeline)| pipeline.max_cost);
            let Loaded { hooks, mut left_out, callback, .. } = whole;
            left_out.append(&mut planning.left_out);
            let unfired = Vec::new();
            let mut plan = Self {
                name,
                stages,
                hooks,
                left_out,
                unfired,
                callback,
                max_cost,
                agent_kinds: BTreeSet::new(),
            };
            plan.agent_kinds = plan.kinds().collect();
            return Ok(plan);
        }
        Err(planning.faults)
    }
}

impl Plan {
    /// Sets another cost limit for the session, in place of those of the files.
    #[must_use]
    pub fn with_max_cost(mut self, dollars: Option<f64>) -> Self {
        if dollars.is_some() {
            self.max_cost = dollars;
            self.stages.iter_mut().for_each(|stage| stage.max_cost = None);
        }
        self
    }

    /// The kinds of the agents of its stages.
    fn kinds(&self) -> impl Iterator<Item = String> {
        let agents = self.stages.iter().flat_map(|stage| &stage.agents);
        agents.map(|agent| agent.agent.kind().to_owned())
    }

    /// The number of hooks of the session, each counted once.
    pub fn hook_count(&self) -> usize {
        unfired_hooks::distinct(self)
    }

    /// The hooks of a stage that no event of the session fires.
    pub fn unfired_of<'p>(&'p self, stage: &'p Stage) -> impl Iterator<Item = &'p Arc<Hook>> {
        let is_of_stage =
            |hook: &&Arc<Hook>| stage.hooks.hooks().iter().any(|own| own.id == hook.id);
        self.unfired.iter().filter(is_of_stage)
    }

    /// The same without hooks.
    #[must_use]
    pub fn without_hooks(mut self) -> Self {
        self.hooks = HookSet::default();
        self.unfired.clear();
        for stage in &mut self.stages {
            stage.hooks = HookSet::default();
        }
        self
    }
}

/// Whether another agent runs the hooks of this file itself.
fn runs_by_itself(file: &ConfigFile) -> bool {
    let foreign = file.dialect.and_then(|dialect| hookwright_dialects::named(dialect.name()));
    foreign.is_some_and(|foreign| foreign.runs_by_itself())
}

/// The name of a loop or pipeline without one: that of its file, or of its file's folder.
pub(crate) fn name_of(path: &Path) -> String {
    let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned());
    match stem.as_deref() {
        Some("loop" | "pipeline") | None => folder_of(path)
            .file_name()
            .map_or_else(|| "session".to_owned(), |name| name.to_string_lossy().into_owned()),
        Some(stem) => stem.to_owned(),
    }
}

/// When a stage ends.
struct StageEndRules {
    until: Until,
    iterations_max: u32,
    at_the_latest: Reason,
}

struct Planning<'a> {
    sources: &'a Sources,
    around: &'a PlanContext<'a>,
    faults: Vec<Fault>,
    /// Faults that do not stop the session, but are probably mistakes.
    left_out: Vec<Arc<Fault>>,
    /// The agents that already have a name.
    named: Vec<(AgentDefinition, PathBuf, String)>,
    /// Whether files are read whose hooks other agents run themselves.
    reads_agents_own: bool,
    /// The session's keys, with those of such files; read for the first agent that needs them.
    with_agents_own: Option<Arc<Loaded>>,
}

impl<'a> Planning<'a> {
    /// The hooks of a stage whose agent fires the events of its life through the session: with those
    /// that other agents read from their settings and run themselves.
    fn hooks_with_agents_own(&mut self, spec: &StageSpec, source: &Source, alone: bool) -> HookSet {
        self.reads_agents_own = true;
        let loaded = match &spec.body {
            StageBody::Inline(_) if alone => self.load(None, None),
            StageBody::Inline(_) => self.load(Some(&spec.name), None),
            StageBody::Named { .. } => self.load(None, Some(&source.path)),
        };
        self.reads_agents_own = false;
        loaded.hooks
    }

    /// What the session's files say for an agent that fires the events of its life through the
    /// session: also those that other agents read themselves.
    fn loaded_with_agents_own(&mut self) -> Arc<Loaded> {
        if let Some(loaded) = &self.with_agents_own {
            return Arc::clone(loaded);
        }
        self.reads_agents_own = true;
        let loaded = Arc::new(self.load(None, None));
        self.reads_agents_own = false;
        self.with_agents_own = Some(Arc::clone(&loaded));
        loaded
    }

    /// The hooks and keys of one stage's loop, or of none, above those of the whole session.
    fn load(&mut self, stage: Option<&str>, loop_file: Option<&Path>) -> Loaded {
        let is_read = |source: &&Source| match source.role {
            SourceRole::Loop => match loop_file {
                Some(path) => source.path == path,
                // A loop by itself is the session.
                None => std::ptr::eq(*source, &raw const self.sources.all[0]),
            },
            SourceRole::Pipeline
            | SourceRole::Project
            | SourceRole::Global
            | SourceRole::Worker => true,
            SourceRole::Prompt | SourceRole::Script => false,
        };
        let files: Vec<(ConfigFile, &str)> = self
            .sources
            .all
            .iter()
            .filter(is_read)
            .filter_map(|source| Some((source.config_file()?, source.text.as_str())))
            .filter(|(file, _)| self.reads_agents_own || !runs_by_itself(file))
            .collect();
        let texts = files.iter().map(|(file, text)| (file, *text));
        let mut loaded = load_texts(texts, self.around.environment, Scope::Stage(stage));
        for fault in &loaded.faults {
            if !self.faults.contains(fault) {
                self.faults.push(Fault::clone(fault));
            }
        }
        loaded.hooks = std::mem::take(&mut loaded.hooks).with_unique_ids();
        loaded
    }

    fn single_loop(&mut self, whole: &Loaded) -> Option<Vec<Stage>> {
        let main = &self.sources.all[0];
        let (_, read) = whole.loops.first()?;
        let name = read.name.clone().unwrap_or_else(|| name_of(&main.path));
        let spec = StageSpec {
            name: plain(&name),
            body: StageBody::Inline(Box::new(read.clone())),
            runs: None,
            inputs: None,
            place: whole_file(),
        };
        let stage = self.stage(&spec, read, main, whole.hooks.clone(), whole, true)?;
        Some(vec![stage])
    }

    fn pipeline(&mut self, whole: &Loaded) -> Option<Vec<Stage>> {
        let main = &self.sources.all[0];
        let (_, pipeline) = whole.pipelines.first()?;
        let stages: Vec<Option<Stage>> = pipeline
            .stages
            .iter()
            .map(|spec| match &spec.body {
                StageBody::Inline(read) => {
                    let loaded = self.load(Some(&spec.name), None);
                    self.look_at_hooks(&loaded.hooks, main);
                    self.stage(spec, read, main, loaded.hooks, whole, false)
                }
                StageBody::Named { name, .. } => {
                    let (_, path) =
                        self.sources.loops.iter().find(|(known, _)| known == name)?.clone();
                    let loaded = self.load(None, Some(&path));
                    let source = self.sources.all.iter().find(|source| source.path == path)?;
                    self.look_at_hooks(&loaded.hooks, source);
                    let (_, read) = loaded.loops.first()?;
                    self.stage(spec, read, source, loaded.hooks.clone(), whole, false)
                }
            })
            .collect();
        stages.into_iter().collect()
    }

    fn stage(
        &mut self,
        spec: &StageSpec,
        read: &LoopFile,
        source: &'a Source,
        hooks: HookSet,
        whole: &Loaded,
        alone: bool,
    ) -> Option<Stage> {
        let bounds = self.bounds(spec, read, source, alone);
        let prompt = self.prompt(spec, read, source);
        let agents = self.agents(spec, read, source, whole);
        let hosts = agents.iter().flatten().any(|candidate| candidate.agent.is_host());
        let hooks = if hosts { self.hooks_with_agents_own(spec, source, alone) } else { hooks };
        let template = match &spec.body {
            StageBody::Named { name, .. } => name.clone(),
            StageBody::Inline(_) => read.name.clone().unwrap_or_else(|| spec.name.clone()),
        };
        Some(Stage {
            name: spec.name.clone(),
            template,
            agents: agents?,
            prompt: prompt?,
            until: bounds.until,
            iterations_max: bounds.iterations_max,
            at_the_latest: bounds.at_the_latest,
            hard_max: read.max_iterations,
            max_runtime: read.max_runtime,
            max_cost: read.max_cost,
            delay: read.delay.unwrap_or_default(),
            inputs: spec.inputs.clone(),
            hooks,
        })
    }

    fn bounds(
        &mut self,
        spec: &StageSpec,
        read: &LoopFile,
        source: &Source,
        alone: bool,
    ) -> StageEndRules {
        let most = read.max_iterations;
        let fixed = |asked: Option<u32>| {
            let (number, at_the_latest) = match (spec.runs.or(asked), most) {
                (Some(asked), Some(most)) if most < asked => (most, Reason::MaxIterations),
                (Some(asked), _) => (asked, Reason::Completed),
                (None, Some(most)) => (most, Reason::MaxIterations),
                (None, None) if alone => (ITERATIONS_BY_DEFAULT, Reason::MaxIterations),
                (None, None) => (1, Reason::Completed),
            };
            StageEndRules { until: Until::Fixed, iterations_max: number, at_the_latest }
        };
        match &read.termination {
            None => fixed(None),
            Some(Termination::Fixed { iterations }) => fixed(*iterations),
            Some(Termination::Judgment { consensus, min_iterations }) => StageEndRules {
                until: Until::Judgment { consensus: *consensus, min_iterations: *min_iterations },
                iterations_max: most
                    .unwrap_or(ITERATIONS_BY_DEFAULT)
                    .min(spec.runs.unwrap_or(u32::MAX)),
                at_the_latest: Reason::MaxIterations,
            },
            Some(Termination::Queue { source: spec_of_queue, per_item }) => {
                let queue = Queue::new(spec_of_queue, self.around.root);
                self.look_at(&queue, spec_of_queue, source);
                // A folder of issues is finite; a command or an agent that adds tasks may not be.
                let by_default = match queue {
                    Queue::Issues(_) => ITERATIONS_MAX,
                    Queue::Command(_) | Queue::Tasks => ITERATIONS_BY_DEFAULT,
                };
                StageEndRules {
                    until: Until::Queue { queue, per_item: *per_item },
                    iterations_max: most.unwrap_or(by_default).min(spec.runs.unwrap_or(u32::MAX)),
                    at_the_latest: Reason::MaxIterations,
                }
            }
        }
    }

    /// Finds issues that cannot be worked on before anything starts, as far as possible without
    /// opening their files.
    fn look_at(&mut self, queue: &Queue, spec: &QueueSpec, source: &Source) {
        let (Queue::Issues(folder), QueueSpec::Issues(_, place)) = (queue, spec) else { return };
        let kind = if !folder.path().is_dir() {
            FaultKind::NotFound {
                what: "folder of issues",
                name: folder.shown().to_owned(),
                looked_in: Box::default(),
                nearest: None,
            }
        } else if let Err(error) = folder.check() {
            FaultKind::BadQueue { problem: error.to_string() }
        } else {
            if let Some(problem) = folder.misnamed() {
                let fault = fault_at(source, place, FaultKind::Misnamed { problem });
                self.left_out.push(Arc::new(fault));
            }
            return;
        };
        self.faults.push(fault_at(source, place, kind));
    }

    fn prompt(
        &mut self,
        spec: &StageSpec,
        read: &LoopFile,
        source: &Source,
    ) -> Option<TextTemplate> {
        let path = match &read.prompt {
            Some(PromptSpec::Text(text)) => return Some(TextTemplate::new(text)),
            Some(PromptSpec::File(path, _)) => folder_of(&source.path).join(path),
            None => default_prompt(&source.path),
        };
        let found = self.sources.all.iter().find(|known| known.path == path);
        if found.is_none() && read.prompt.is_some() {
            // The code that gathered the files has reported that it is missing.
            return None;
        }
        match found.map(|found| found.text.as_str()).filter(|text| !text.trim().is_empty()) {
            Some(text) => Some(TextTemplate::new(text)),
            None => {
                self.faults.push(fault_at(source, &place_of_loop(spec), FaultKind::NoPrompt));
                None
            }
        }
    }
}

/// The place of a stage's loop in its file.
fn place_of_loop(spec: &StageSpec) -> FilePlace {
    match &spec.body {
        StageBody::Inline(_) => spec.place.clone(),
        StageBody::Named { .. } => whole_file(),
    }
}

fn whole_file() -> FilePlace {
    FilePlace { line: 1, column: 1, range: 0..0 }
}

/// A name for folders and events.
fn plain(name: &str) -> String {
    let kept = |c: char| if c.is_ascii_alphanumeric() || "_-".contains(c) { c } else { '-' };
    name.chars().take(64).map(kept).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_without_a_name_is_named_after_its_file_or_folder() {
        for (path, name) in [
            ("/p/loops/work.yaml", "work"),
            ("/p/work/loop.yaml", "work"),
            ("/p/full/pipeline.json", "full"),
            ("/loop.yaml", "session"),
        ] {
            assert_eq!(name_of(Path::new(path)), name);
        }
    }

    #[test]
    fn names_of_loops_become_names_of_folders() {
        assert_eq!(plain("Fix it: now/äh"), "Fix-it--now--h");
        assert_eq!(plain(&"x".repeat(100)).len(), 64);
    }

    #[test]
    fn reasons_are_found_by_their_names() {
        for reason in [Reason::Completed, Reason::MaxIterations, Reason::MaxRuntime] {
            assert_eq!(Reason::named(reason.as_str()), reason);
        }
    }
}
