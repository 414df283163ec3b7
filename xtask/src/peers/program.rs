//! [`Program`]: the four agents with presets, from npm, and the settings that redirect each to a
//! local server.

use std::fs;
use std::path::{Path, PathBuf};

/// One agent's program.
pub(crate) struct Program {
    /// The name of its preset and its program.
    pub(crate) name: &'static str,
    pub(crate) package: &'static str,
    /// The version that was recorded.
    pub(crate) version: &'static str,
    /// Its arguments, as in its preset. The recordings keep them, and a test compares.
    pub(crate) arguments: &'static [&'static str],
    /// The model that a test requests.
    pub(crate) model: &'static str,
    environment: &'static [(&'static str, &'static str)],
    /// A file of its settings below the home folder.
    settings: Option<(&'static str, &'static str)>,
    /// The folder below the home directory in which it records its sessions, if its preset reads
    /// that.
    pub(crate) session_files: Option<&'static str>,
}

/// Placeholder for the model's address in environment and settings.
const URL: &str = "MODEL_URL";

pub(crate) const ALL: &[Program] = &[
    Program {
        name: "claude",
        package: "@anthropic-ai/claude-code",
        version: "2.1.197",
        arguments: &[
            "-p",
            "--output-format",
            "stream-json",
            "--verbose",
            "--dangerously-skip-permissions",
        ],
        model: "claude-opus-4-5",
        environment: &[
            ("ANTHROPIC_BASE_URL", URL),
            ("ANTHROPIC_API_KEY", "sk-ant-not-a-key"),
            ("DISABLE_TELEMETRY", "1"),
            ("DISABLE_ERROR_REPORTING", "1"),
            ("DISABLE_AUTOUPDATER", "1"),
            ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
            ("CLAUDE_CODE_MAX_RETRIES", "1"),
            // It refuses to skip permissions for root unless this says that it runs in a container.
            ("IS_SANDBOX", "1"),
        ],
        settings: None,
        session_files: None,
    },
    Program {
        name: "codex",
        package: "@openai/codex",
        version: "0.166.0",
        arguments: &[
            "exec",
            "--json",
            "--skip-git-repo-check",
            "--dangerously-bypass-approvals-and-sandbox",
        ],
        model: "gpt-5",
        environment: &[("OPENAI_API_KEY", "sk-not-a-key")],
        settings: Some((
            ".codex/config.toml",
            "model_provider = \"script\"\ncheck_for_update_on_startup = false\n\n\
             [analytics]\nenabled = false\n\n\
             [model_providers.script]\nname = \"script\"\nbase_url = \"MODEL_URL/v1\"\n\
             wire_api = \"responses\"\nenv_key = \"OPENAI_API_KEY\"\nrequest_max_retries = 1\n\
             stream_max_retries = 1\n",
        )),
        session_files: Some(".codex/sessions"),
    },
    Program {
        name: "gemini",
        package: "@google/gemini-cli",
        version: "0.61.0",
        arguments: &["--output-format", "stream-json", "--approval-mode", "yolo", "--skip-trust"],
        model: "gemini-2.5-pro",
        environment: &[
            ("GOOGLE_GEMINI_BASE_URL", URL),
            ("GEMINI_API_KEY", "not-a-key"),
            ("GEMINI_TELEMETRY_ENABLED", "false"),
        ],
        settings: Some((
            ".gemini/settings.json",
            r#"{"privacy":{"usageStatisticsEnabled":false},
                "general":{"maxAttempts":2,"enableAutoUpdate":false},
                "security":{"auth":{"selectedType":"gemini-api-key"}}}"#,
        )),
        session_files: None,
    },
    Program {
        name: "opencode",
        package: "opencode-ai",
        version: "1.18.33",
        arguments: &["run", "--format", "json", "--auto"],
        model: "script/model",
        environment: &[
            ("OPENCODE_DISABLE_AUTOUPDATE", "1"),
            ("OPENCODE_DISABLE_MODELS_FETCH", "1"),
            ("OPENCODE_DISABLE_LSP_DOWNLOAD", "1"),
            ("npm_config_fetch_retries", "0"),
        ],
        settings: Some((
            ".config/opencode/opencode.json",
            r#"{"$schema":"https://opencode.ai/config.json","autoupdate":false,"share":"disabled",
                "provider":{"script":{"npm":"@ai-sdk/openai-compatible","name":"script",
                  "options":{"baseURL":"MODEL_URL/v1","apiKey":"not-a-key"},
                  "models":{"model":{"name":"model","cost":{"input":1.25,"output":10,"cache_read":0.125}}}}}}"#,
        )),
        session_files: None,
    },
];

impl Program {
    /// Redirects it to this address, and returns its environment.
    pub(crate) fn point_at(&self, url: &str, home: &Path) -> Result<Vec<(String, String)>, String> {
        if let Some((name, text)) = self.settings {
            let path = home.join(name);
            let folder = path.parent().ok_or("a folder")?;
            fs::create_dir_all(folder).map_err(|error| error.to_string())?;
            fs::write(&path, text.replace(URL, url)).map_err(|error| error.to_string())?;
        }
        let strings = self.environment.iter();
        Ok(strings.map(|(name, value)| ((*name).to_owned(), value.replace(URL, url))).collect())
    }
}

/// The folder with the programs, installed if they are missing.
pub(crate) fn installed(folder: &Path) -> Result<PathBuf, String> {
    let programs = folder.join("node_modules/.bin");
    if ALL.iter().all(|program| programs.join(program.name).exists()) {
        return Ok(programs);
    }
    fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let prefix = folder.to_string_lossy();
    let packages: Vec<String> =
        ALL.iter().map(|program| format!("{}@{}", program.package, program.version)).collect();
    let mut args = vec!["install", "--prefix", &prefix, "--no-save", "--no-audit", "--no-fund"];
    args.extend(packages.iter().map(String::as_str));
    crate::run("npm", &args)?;
    Ok(programs)
}
