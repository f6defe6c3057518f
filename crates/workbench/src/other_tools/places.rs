//! Where other coding agents keep what people set up for them.

use SourceKind::{Agents, Commands, Document, ProjectServers, Rules, Servers, Settings, Skills};

/// One place.
pub(super) struct ToolPlace {
    /// Whose it is.
    pub(super) tool: &'static str,
    pub(super) kind: SourceKind,
    /// The file or folder, relative to the workspace or the home folder.
    pub(super) path: &'static str,
}

/// What is kept in a place.
#[derive(Clone, Copy)]
pub(super) enum SourceKind {
    /// Instructions, and the name of the document they become.
    Document(&'static str),
    /// A folder of rules, each for some files or for all.
    Rules,
    /// A folder of skills.
    Skills,
    /// A folder of commands.
    Commands,
    /// A folder of agents.
    Agents,
    /// A file that names MCP servers.
    Servers,
    /// A file that names MCP servers for single folders.
    ProjectServers,
    /// A file of settings; those in this list are taken over or looked at elsewhere.
    Settings(&'static [&'static str]),
}

const fn of(tool: &'static str, kind: SourceKind, path: &'static str) -> ToolPlace {
    ToolPlace { tool, kind, path }
}

const AGENTS_MD: &str = "AGENTS.md";
const CLAUDE: &str = "Claude Code";
const CLAUDE_DESKTOP: &str = "Claude Desktop";
const CODEX: &str = "Codex";
const COPILOT: &str = "VS Code";
const CURSOR: &str = "Cursor";
const GEMINI: &str = "Gemini CLI";
const GOOSE: &str = "Goose";
const OPENCODE: &str = "opencode";
const SHARED: &str = "Any agent";
const WINDSURF: &str = "Windsurf";

/// In a workspace.
pub(super) const IN_WORKSPACE: &[ToolPlace] = &[
    of(SHARED, Document(AGENTS_MD), AGENTS_MD),
    of(SHARED, Skills, ".agents/skills"),
    of(CLAUDE, Document("claude.md"), "CLAUDE.md"),
    of(CLAUDE, Document("claude-folder.md"), ".claude/CLAUDE.md"),
    of(CLAUDE, Document("claude-local.md"), "CLAUDE.local.md"),
    of(CLAUDE, Skills, ".claude/skills"),
    of(CLAUDE, Commands, ".claude/commands"),
    of(CLAUDE, Agents, ".claude/agents"),
    of(CLAUDE, Servers, ".mcp.json"),
    of(CLAUDE, Settings(&[]), ".claude/settings.json"),
    of(CLAUDE, Settings(&[]), ".claude/settings.local.json"),
    of(CODEX, Skills, ".codex/skills"),
    of(CODEX, Servers, ".codex/config.toml"),
    of(CODEX, Settings(&["mcp_servers"]), ".codex/config.toml"),
    of(CURSOR, Document("cursorrules.md"), ".cursorrules"),
    of(CURSOR, Rules, ".cursor/rules"),
    of(CURSOR, Skills, ".cursor/skills"),
    of(CURSOR, Commands, ".cursor/commands"),
    of(CURSOR, Agents, ".cursor/agents"),
    of(CURSOR, Servers, ".cursor/mcp.json"),
    of(GEMINI, Document("gemini.md"), "GEMINI.md"),
    of(GEMINI, Skills, ".gemini/skills"),
    of(GEMINI, Commands, ".gemini/commands"),
    of(GEMINI, Agents, ".gemini/agents"),
    of(GEMINI, Servers, ".gemini/settings.json"),
    of(GEMINI, Settings(&["mcpServers", "mcp"]), ".gemini/settings.json"),
    of(GOOSE, Document("goosehints.md"), ".goosehints"),
    of(OPENCODE, Skills, ".opencode/skill"),
    of(OPENCODE, Skills, ".opencode/skills"),
    of(OPENCODE, Commands, ".opencode/command"),
    of(OPENCODE, Commands, ".opencode/commands"),
    of(OPENCODE, Agents, ".opencode/agent"),
    of(OPENCODE, Agents, ".opencode/agents"),
    of(OPENCODE, Servers, "opencode.json"),
    of(OPENCODE, Settings(&["mcp", "$schema"]), "opencode.json"),
    of(OPENCODE, Servers, "opencode.jsonc"),
    of(OPENCODE, Settings(&["mcp", "$schema"]), "opencode.jsonc"),
    of(COPILOT, Document("copilot-instructions.md"), ".github/copilot-instructions.md"),
    of(COPILOT, Rules, ".github/instructions"),
    of(COPILOT, Skills, ".github/skills"),
    of(COPILOT, Commands, ".github/prompts"),
    of(COPILOT, Servers, ".vscode/mcp.json"),
    of(WINDSURF, Document("windsurfrules.md"), ".windsurfrules"),
    of(WINDSURF, Rules, ".windsurf/rules"),
];

/// In the user's home, for this workspace alone.
pub(super) const OF_PROJECT: &[ToolPlace] = &[of(CLAUDE, ProjectServers, ".claude.json")];

/// In the user's home.
pub(super) const IN_HOME: &[ToolPlace] = &[
    of(SHARED, Skills, ".agents/skills"),
    of(CLAUDE, Document("CLAUDE.md"), ".claude/CLAUDE.md"),
    of(CLAUDE, Skills, ".claude/skills"),
    of(CLAUDE, Commands, ".claude/commands"),
    of(CLAUDE, Agents, ".claude/agents"),
    of(CLAUDE, Servers, ".claude.json"),
    of(CLAUDE, Settings(&[]), ".claude/settings.json"),
    of(CLAUDE_DESKTOP, Servers, ".config/Claude/claude_desktop_config.json"),
    of(CLAUDE_DESKTOP, Servers, "Library/Application Support/Claude/claude_desktop_config.json"),
    of(CODEX, Document(AGENTS_MD), ".codex/AGENTS.md"),
    of(CODEX, Skills, ".codex/skills"),
    of(CODEX, Commands, ".codex/prompts"),
    of(CODEX, Servers, ".codex/config.toml"),
    of(CODEX, Settings(&["mcp_servers"]), ".codex/config.toml"),
    of(CURSOR, Skills, ".cursor/skills"),
    of(CURSOR, Commands, ".cursor/commands"),
    of(CURSOR, Agents, ".cursor/agents"),
    of(CURSOR, Servers, ".cursor/mcp.json"),
    of(GEMINI, Document("GEMINI.md"), ".gemini/GEMINI.md"),
    of(GEMINI, Skills, ".gemini/skills"),
    of(GEMINI, Commands, ".gemini/commands"),
    of(GEMINI, Agents, ".gemini/agents"),
    of(GEMINI, Servers, ".gemini/settings.json"),
    of(GEMINI, Settings(&["mcpServers", "mcp"]), ".gemini/settings.json"),
    of(GOOSE, Document(".goosehints"), ".config/goose/.goosehints"),
    of(GOOSE, Servers, ".config/goose/config.yaml"),
    of(GOOSE, Settings(&["extensions"]), ".config/goose/config.yaml"),
    of(OPENCODE, Document(AGENTS_MD), ".config/opencode/AGENTS.md"),
    of(OPENCODE, Skills, ".config/opencode/skill"),
    of(OPENCODE, Skills, ".config/opencode/skills"),
    of(OPENCODE, Commands, ".config/opencode/command"),
    of(OPENCODE, Commands, ".config/opencode/commands"),
    of(OPENCODE, Agents, ".config/opencode/agent"),
    of(OPENCODE, Agents, ".config/opencode/agents"),
    of(OPENCODE, Servers, ".config/opencode/opencode.json"),
    of(OPENCODE, Settings(&["mcp", "$schema"]), ".config/opencode/opencode.json"),
    of(COPILOT, Servers, ".config/Code/User/mcp.json"),
    of(COPILOT, Servers, "Library/Application Support/Code/User/mcp.json"),
    of(WINDSURF, Servers, ".codeium/windsurf/mcp_config.json"),
];
