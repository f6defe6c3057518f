//! The names of OpenTelemetry's conventions for generative AI that we use, as of version 1.44.0. All of them are still in
//! development there; a test compares them with the published list.

/// The version, for the scope of our spans.
pub(crate) const SCHEMA: &str = "https://opentelemetry.io/schemas/1.44.0";

pub(crate) const OPERATION: &str = "gen_ai.operation.name";
pub(crate) const PROVIDER: &str = "gen_ai.provider.name";
pub(crate) const REQUEST_MODEL: &str = "gen_ai.request.model";
pub(crate) const RESPONSE_MODEL: &str = "gen_ai.response.model";
pub(crate) const FINISH_REASONS: &str = "gen_ai.response.finish_reasons";
pub(crate) const INPUT_TOKENS: &str = "gen_ai.usage.input_tokens";
pub(crate) const OUTPUT_TOKENS: &str = "gen_ai.usage.output_tokens";
pub(crate) const CACHE_READ_TOKENS: &str = "gen_ai.usage.cache_read.input_tokens";
pub(crate) const CACHE_CREATION_TOKENS: &str = "gen_ai.usage.cache_creation.input_tokens";
pub(crate) const REASONING_TOKENS: &str = "gen_ai.usage.reasoning.output_tokens";
pub(crate) const AGENT_NAME: &str = "gen_ai.agent.name";
pub(crate) const CONVERSATION: &str = "gen_ai.conversation.id";
pub(crate) const WORKFLOW_NAME: &str = "gen_ai.workflow.name";
pub(crate) const TOOL_NAME: &str = "gen_ai.tool.name";
pub(crate) const TOOL_TYPE: &str = "gen_ai.tool.type";
pub(crate) const TOOL_CALL_ID: &str = "gen_ai.tool.call.id";
pub(crate) const TOOL_ARGUMENTS: &str = "gen_ai.tool.call.arguments";
pub(crate) const TOOL_RESULT: &str = "gen_ai.tool.call.result";
pub(crate) const INPUT_MESSAGES: &str = "gen_ai.input.messages";
pub(crate) const OUTPUT_MESSAGES: &str = "gen_ai.output.messages";
pub(crate) const ERROR_TYPE: &str = "error.type";

/// What the conventions have no name for.
pub(crate) const COST: &str = "updraft.cost.usd";
pub(crate) const RUN: &str = "updraft.run.id";
pub(crate) const STEP: &str = "updraft.step.id";
pub(crate) const VISIT: &str = "updraft.step.visit";
pub(crate) const ADDRESS: &str = "updraft.effect.address";
pub(crate) const ATTEMPTS: &str = "updraft.attempts";
pub(crate) const STATUS: &str = "updraft.status";

/// The conventions' name of a provider; ours if they have none.
pub(crate) fn provider_name(ours: &str) -> &str {
    match ours {
        "gemini" => "gcp.gemini",
        "vertex" => "gcp.vertex_ai",
        "azure" => "azure.ai.openai",
        "mistral" => "mistral_ai",
        "xai" => "x_ai",
        "bedrock" => "aws.bedrock",
        other => other,
    }
}
